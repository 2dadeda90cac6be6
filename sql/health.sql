--
-- The view flake_health: each finding comes and goes.
--
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
SELECT severity, what, object, detail, hint FROM flake_health;
CREATE VIEW health AS SELECT severity, what, object FROM flake_health ORDER BY severity, what, object;

-- lifetime_ends: of layouts with a tick of 1 s and so many bits of time
SELECT flake_create_generator('year_id', format('ts:25 shard:4 seq:8 unit=1s epoch=%s', to_char(now(), 'YYYY-MM-DD'))::flake_layout);
SELECT flake_create_generator('month_id', format('ts:22 shard:4 seq:8 unit=1s epoch=%s', to_char(now(), 'YYYY-MM-DD'))::flake_layout);
SELECT flake_create_generator('second_id', format('ts:20 shard:4 seq:8 unit=1s epoch=%s',
    to_char(now() - interval '1048574 s', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'))::flake_layout);
SELECT regexp_replace(detail, '[0-9].*', '...') AS detail FROM flake_health WHERE object = 'year_id';
DO $$ BEGIN
    FOR i IN 1..100 LOOP
        EXIT WHEN EXISTS (SELECT FROM flake_generators WHERE generator = 'second_id'::regclass AND ends < clock_timestamp());
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;
SELECT * FROM health;
SELECT regexp_replace(detail, ' at .*:', ' at ...:') AS detail, hint FROM flake_health WHERE object = 'second_id';
DROP SEQUENCE year_id, month_id, second_id;
SELECT * FROM health;

-- horizon_ahead: by more than flakeid.max_ahead and 10 s
SELECT flake_create_generator('ahead_id', 'ts:41 shard:4 seq:10 epoch=2026-01-01');
SELECT setval('ahead_id', extract(epoch FROM clock_timestamp() + interval '24 s' - timestamptz '2026-01-01Z')::bigint * 1000 << 10) > 0;
SELECT * FROM health;
SELECT setval('ahead_id', extract(epoch FROM clock_timestamp() + interval '1 year' - timestamptz '2026-01-01Z')::bigint * 1000 << 10) > 0;
SELECT * FROM health;
SELECT regexp_replace(detail, 'is .* ahead', 'is ... ahead') AS detail, hint FROM flake_health;
SET client_min_messages = error;   -- not the warning, which has the time
SELECT flake_rewind('ahead_id', flake_lower(now() + interval '1 s', 'ts:41 shard:4 seq:10 epoch=2026-01-01'), force => true);
RESET client_min_messages;
SELECT * FROM health;

-- horizon_hidden: one who may not see it learns that
CREATE ROLE health_monitor IN ROLE pg_monitor;
SET ROLE health_monitor;
SELECT * FROM flake_health;
RESET ROLE;
GRANT SELECT ON SEQUENCE ahead_id TO health_monitor;
SET ROLE health_monitor;
SELECT count(*) FROM flake_health;
RESET ROLE;
DROP SEQUENCE ahead_id;
CREATE ROLE health_anybody;
SET ROLE health_anybody;
SELECT count(*) FROM flake_health;
RESET ROLE;
DROP ROLE health_anybody, health_monitor;

-- partitions_end
SELECT set_config('health.now', now()::text, false) IS NULL;
CREATE FUNCTION add_part(name text, since text, upto text, parent text DEFAULT 'part', clause text DEFAULT '')
RETURNS void LANGUAGE plpgsql AS $$
DECLARE
    now timestamptz := current_setting('health.now');
BEGIN
    EXECUTE format('CREATE TABLE %I PARTITION OF %I FOR VALUES FROM (%s) TO (%s) %s', name, parent,
                   CASE WHEN since = 'minvalue' THEN since ELSE flake_lower(now + since::interval)::text END,
                   CASE WHEN upto = 'maxvalue' THEN upto ELSE flake_lower(now + upto::interval)::text END, clause);
END $$;
CREATE TABLE part (id bigint PRIMARY KEY DEFAULT flake_id(2100), what text) PARTITION BY RANGE (id);
SELECT * FROM health;
SELECT detail, hint FROM flake_health;
-- the default's arguments by name, in any order
CREATE TABLE part_named (id bigint PRIMARY KEY DEFAULT flake_id(generator => 'flake_default', shard => 2100)) PARTITION BY RANGE (id);
SELECT object FROM flake_health WHERE what = 'partitions_end' ORDER BY object;
DROP TABLE part_named;
-- one that is over, or is still to come, does not help
SELECT add_part('part_1', '-2 days', '-1 day'), add_part('part_4', '1 day', '30 days');
SELECT * FROM health;
CREATE TABLE part_default PARTITION OF part DEFAULT;
SELECT severity, object, detail, hint FROM flake_health;
DROP TABLE part_default;
DROP TABLE part_4;
-- two days wide, of which one is left
SELECT add_part('part_2', '-1 day', '1 day');
SELECT severity, object, regexp_replace(detail, 'in .*', 'in ...') AS detail, hint FROM flake_health;
-- two hours wide, and a day before it
SELECT add_part('part_3', '1 day', '26 hours');
SELECT * FROM health;
-- 30 days wide, of which less than a week is left, and then more
DROP TABLE part_1, part_2, part_3;
SELECT add_part('part_2', '-24 days', '6 days');
SELECT * FROM health;
DROP TABLE part_2;
SELECT add_part('part_2', '-22 days', '8 days');
SELECT * FROM health;
-- with no end at all
SELECT add_part('part_3', '8 days', 'maxvalue');
SELECT * FROM health;
-- tables that nothing is minted for, and of ids without time, are not looked at
DROP TABLE part_2;
ALTER TABLE part ALTER id DROP DEFAULT;
SELECT * FROM health;
ALTER TABLE part ALTER id SET DEFAULT flake_sibling(5);
SELECT * FROM health;
SELECT flake_create_generator('number_id', 'segment');
ALTER TABLE part ALTER id SET DEFAULT flake_id(1, 'number_id');
SELECT * FROM health;
SELECT flake_create_generator('long_id', 'ts:41 shard:4 seq:10 epoch=2026-01-01');
ALTER TABLE part ALTER id SET DEFAULT flake_id(1, 'long_id');
SELECT * FROM health;
DROP TABLE part;
DROP SEQUENCE number_id, long_id;
-- a partition that has partitions needs them for its own ids only
CREATE TABLE part (id bigint DEFAULT flake_id(2100), what text) PARTITION BY RANGE (id);
SELECT add_part('part_past', 'minvalue', '-1 hour', clause => 'PARTITION BY RANGE (id)');
SELECT add_part('part_now', '-1 hour', '10 hours', clause => 'PARTITION BY RANGE (id)');
SELECT add_part('part_later', '10 hours', 'maxvalue', clause => 'PARTITION BY LIST (what)');
CREATE TABLE part_a PARTITION OF part_later FOR VALUES IN ('a') PARTITION BY RANGE (id);
SELECT object, regexp_replace(detail, 'in .*', 'in ...') AS detail FROM flake_health ORDER BY 1;
SELECT add_part('part_now_all', '-1 hour', '10 hours', 'part_now');
SELECT object FROM flake_health ORDER BY 1;
CREATE TABLE part_a_all PARTITION OF part_a FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
SELECT * FROM health;
DROP TABLE part;
-- also if the parent has more columns in its key: the last id can be in the next one
CREATE TABLE part (id bigint DEFAULT flake_id(2100), what int) PARTITION BY RANGE (id, what);
SELECT flake_lower(now() - interval '1 day') AS bound \gset
CREATE TABLE part_past PARTITION OF part FOR VALUES FROM (MINVALUE, MINVALUE) TO (:bound, 0) PARTITION BY RANGE (id);
CREATE TABLE part_past_all PARTITION OF part_past FOR VALUES FROM (MINVALUE) TO (:bound);
CREATE TABLE part_now PARTITION OF part FOR VALUES FROM (:bound, 0) TO (MAXVALUE, MAXVALUE);
SELECT object FROM flake_health;
DROP TABLE part;
-- those that are nested more than 16 levels deep are left out
CREATE TABLE part (id bigint DEFAULT flake_id(2100)) PARTITION BY RANGE (id);
DO $$ BEGIN
    FOR n IN 1..17 LOOP
        EXECUTE format('CREATE TABLE part_%s PARTITION OF part%s FOR VALUES FROM (MINVALUE) TO (MAXVALUE) PARTITION BY RANGE (id)', n, '_' || nullif(n - 1, 0));
    END LOOP;
END $$;
SELECT object FROM flake_health;
DROP TABLE part_17;
SELECT object FROM flake_health;
DROP TABLE part;
-- what owners make does not keep it from saying the rest: names, a default that is an
-- expression of hundreds of calls, temporary tables
CREATE TABLE "%s %1$s ""';
--" (id bigint DEFAULT flake_id(2100)) PARTITION BY RANGE (id);
DO $$ BEGIN
    EXECUTE format('CREATE TABLE long_default (id bigint DEFAULT flake_id(%s2100%s)) PARTITION BY RANGE (id)',
                   repeat('abs(', 400), repeat(')', 400));
END $$;
CREATE TEMP TABLE temp_part (id bigint DEFAULT flake_id(2100)) PARTITION BY RANGE (id);
CREATE TABLE by_expression (id bigint DEFAULT flake_id(2100)) PARTITION BY RANGE ((id + 1));
CREATE TABLE by_two (id bigint DEFAULT flake_id(2100), other int) PARTITION BY RANGE (id, other);
CREATE TABLE by_hash (id bigint DEFAULT flake_id(2100)) PARTITION BY HASH (id);
CREATE TABLE by_text (id text DEFAULT flake_id(2100)) PARTITION BY RANGE (id);
SELECT * FROM health;
DROP TABLE "%s %1$s ""';
--", long_default, temp_part, by_expression, by_two, by_hash, by_text;
SELECT * FROM health;

-- leases_used_up: more than nine tenths of those that can be leased
SELECT flake_create_generator('few_id', 'ts:41 shard:4 seq:10 epoch=2026-01-01');
SELECT count(flake_lease('process ' || i, generator => 'few_id')) FROM generate_series(1, 14) i;
SELECT * FROM health;
SELECT flake_lease('process 15', generator => 'few_id') IS NULL;
SELECT severity, object, detail, hint FROM flake_health;
SELECT flake_lease('process 16', generator => 'few_id') IS NULL;
SELECT severity, object, detail FROM flake_health;
-- what servers have cannot be leased, and does not count: minted, detached, in the map
SELECT flake_create_generator('fewer_id', 'ts:41 shard:4 seq:10 epoch=2026-01-01');
SELECT flake_id(4, 'fewer_id') > 0, flake_detach(5, 'fewer_id') > 0;
SELECT * FROM health;
INSERT INTO flake_shard_map VALUES ('[,3]', 'a'), ('[7,)', 'b');
SELECT flake_lease('process', generator => 'fewer_id') IS NULL;
SELECT severity, what, detail FROM flake_health WHERE object <> 'few_id';
DELETE FROM flake_shard_map;
DROP SEQUENCE few_id, fewer_id;
SELECT * FROM health;

-- require_attach_off: leases alone are no reason
SELECT flake_create_generator('moved_id', 'ts:41 shard:4 seq:10 epoch=2026-01-01');
SELECT flake_lease('process', generator => 'moved_id') IS NULL;
SELECT * FROM health;
SELECT flake_attach(1, generator => 'moved_id');
SELECT * FROM flake_health;
-- nor one if all shards are detached, of all generators
BEGIN;
SELECT flake_detach_all();
SELECT * FROM health;
SELECT flake_create_generator('next_id', 'ts:41 shard:4 seq:10 epoch=2026-01-01');
SELECT what FROM health;
ROLLBACK;
DROP SEQUENCE moved_id;
SELECT * FROM health;

-- shard_saturated: two ids in a millisecond, of which 25,000 take 12.5 s
-- With debug_discard_caches on, nobody would be so fast.
SET debug_discard_caches = 0;
SELECT flake_create_generator('slow_id', 'ts:41 shard:4 seq:1 epoch=2026-01-01');
SELECT count(*) FROM flake_ids(1, 10000, 'slow_id');
SELECT * FROM health;
SELECT count(*) FROM flake_ids(1, 15000, 'slow_id');
SELECT severity, what, object, regexp_replace(detail, '00:00:1[12][.0-9]*', '...') AS detail, hint FROM flake_health;
RESET debug_discard_caches;
DO $$ BEGIN
    FOR i IN 1..100 LOOP
        EXIT WHEN NOT EXISTS (SELECT FROM flake_health);
        PERFORM pg_sleep(0.1);
    END LOOP;
END $$;
SELECT * FROM health;
DROP SEQUENCE slow_id;

-- minted_elsewhere: rows that a copy of the server has minted
SELECT flake_create_generator('copied_id', 'ts:41 shard:4 seq:10 epoch=2026-01-01');
CREATE TABLE copied (id bigint PRIMARY KEY DEFAULT flake_id(5, 'copied_id'), other bigint UNIQUE);
INSERT INTO copied SELECT FROM generate_series(1, 200);
SELECT * FROM health;
CREATE FUNCTION copy_id(shard int, ahead interval) RETURNS bigint LANGUAGE sql
RETURN flake_make(now() + ahead, shard, 0, flake_layout_of('copied_id'));
-- not those of other shards, of shards that are leased, and of the past
SELECT shard AS leased FROM flake_lease('process', generator => 'copied_id') \gset
INSERT INTO copied VALUES (copy_id(:leased, '1 hour')), (copy_id(7, '1 hour'));
INSERT INTO copied VALUES (copy_id(5, '-1 day'));
SELECT * FROM health;
-- until the row is gone
INSERT INTO copied VALUES (copy_id(5, '1 hour'));
SELECT severity, what, object, regexp_replace(detail, '[0-9]{9,}', '...', 'g') AS detail, hint FROM flake_health;
SELECT generator, relation, attribute, shard, id > last_id AS above FROM _flake_health_elsewhere();
DELETE FROM copied WHERE id > copy_id(5, '30 min') AND flake_shard(id, flake_layout_of('copied_id')) = 5;
SELECT * FROM health;
-- the id is for those who may read it
CREATE ROLE copied_monitor IN ROLE pg_monitor;
GRANT USAGE ON SEQUENCE copied_id TO copied_monitor;
INSERT INTO copied VALUES (copy_id(5, '1 hour'));
CREATE FUNCTION copied_told() RETURNS boolean LANGUAGE sql RETURN (SELECT id IS NOT NULL FROM _flake_health_elsewhere());
SET ROLE copied_monitor;
SELECT copied_told(), detail LIKE '% an id is above %' AS present FROM flake_health WHERE what = 'minted_elsewhere';
RESET ROLE;
GRANT SELECT (id) ON copied TO copied_monitor;
SET ROLE copied_monitor;
SELECT copied_told();
RESET ROLE;
ALTER TABLE copied ENABLE ROW LEVEL SECURITY;
SET ROLE copied_monitor;
SELECT copied_told();
RESET ROLE;
ALTER TABLE copied DISABLE ROW LEVEL SECURITY;
DROP OWNED BY copied_monitor;
DROP ROLE copied_monitor;
-- nor if the shard is detached, or was not used since; or ids here are above
BEGIN;
SELECT flake_detach(5, 'copied_id') > 0;
SELECT * FROM health;
ROLLBACK;
SELECT * FROM health;
SELECT flake_id(5, 'copied_id') > 0;
SELECT * FROM health;
DELETE FROM copied WHERE id > copy_id(5, '30 min');
INSERT INTO copied VALUES (copy_id(5, '3 s'));
SELECT * FROM health;
SELECT flake_advance('copied_id', max(id)) FROM copied;
SELECT * FROM health;
-- below a hundred ids of other shards it is not seen
INSERT INTO copied VALUES (copy_id(5, '1 hour'));
INSERT INTO copied SELECT copy_id(7, '1 hour') + i FROM generate_series(1, 99) i;
SELECT * FROM health;
INSERT INTO copied SELECT copy_id(7, '1 hour') + 100;
SELECT * FROM health;
DELETE FROM copied WHERE id > copy_id(5, '30 min') AND flake_shard(id, flake_layout_of('copied_id')) = 7;
SELECT * FROM health;
-- an index is needed that has all rows, sorted by the id
ALTER TABLE copied DROP CONSTRAINT copied_pkey;
CREATE INDEX ON copied (id) WHERE id > 0;
CREATE INDEX ON copied (other, id);
CREATE INDEX ON copied ((id + 0));
CREATE INDEX ON copied USING hash (id);
SELECT * FROM health;
CREATE INDEX copied_id_other ON copied (id DESC, (other + 1));
SELECT * FROM health;
-- the default is the id
ALTER TABLE copied ALTER id SET DEFAULT flake_seal(flake_id(5, 'copied_id'), '\x00112233445566778899aabbccddeeff'::bytea);
SELECT * FROM health;
DROP TABLE copied;
-- in partitions and children, whether or not they have the default, and under it, and
-- each once; not in those with another generator's ids
SELECT flake_create_generator('other_id', 'ts:43 shard:10 seq:10 epoch=2026-01-01');
CREATE TABLE copied (what text, id bigint DEFAULT flake_id(5, 'copied_id')) PARTITION BY RANGE (id);
CREATE TABLE copied_1 (id bigint PRIMARY KEY, what text);
CREATE TABLE copied_2 (id bigint PRIMARY KEY DEFAULT flake_id(5, 'other_id'), what text);
ALTER TABLE copied ATTACH PARTITION copied_1 FOR VALUES FROM (MINVALUE) TO (0);
ALTER TABLE copied ATTACH PARTITION copied_2 FOR VALUES FROM (0) TO (1);
CREATE TABLE copied_3 PARTITION OF copied FOR VALUES FROM (1) TO (MAXVALUE) PARTITION BY LIST (what);
CREATE TABLE copied_3_all PARTITION OF copied_3 (PRIMARY KEY (id, what), UNIQUE (id)) DEFAULT;
INSERT INTO copied VALUES ('a', copy_id(5, '1 hour'));
SELECT relation, attribute, shard FROM _flake_health_elsewhere();
ALTER TABLE copied_3_all ALTER id DROP DEFAULT;
SELECT relation, attribute, shard FROM _flake_health_elsewhere();
DROP TABLE copied_3;
ALTER TABLE copied DETACH PARTITION copied_1;
ALTER TABLE copied DETACH PARTITION copied_2;
ALTER TABLE copied ATTACH PARTITION copied_2 FOR VALUES FROM (0) TO (MAXVALUE);
INSERT INTO copied VALUES ('a', copy_id(5, '1 hour'));
SELECT relation, attribute, shard FROM _flake_health_elsewhere();
ALTER TABLE copied_2 ALTER id SET DEFAULT flake_id(5, 'copied_id');
SELECT relation, attribute, shard FROM _flake_health_elsewhere();
DROP TABLE copied, copied_1;
-- by the default of a domain, unless that makes something else of ids
CREATE DOMAIN copied_number AS bigint DEFAULT flake_id(5, 'copied_id');
CREATE TABLE copied (id copied_number PRIMARY KEY);
CREATE TABLE copied_1 (PRIMARY KEY (id)) INHERITS (copied);
INSERT INTO copied VALUES (copy_id(5, '1 hour'));
INSERT INTO copied_1 VALUES (copy_id(5, '1 hour'));
SELECT relation, attribute, shard FROM _flake_health_elsewhere() ORDER BY relation;
ALTER DOMAIN copied_number SET DEFAULT length(flake_to_text(flake_id(5, 'copied_id')));
SELECT relation, attribute, shard FROM _flake_health_elsewhere() ORDER BY relation;
DROP TABLE copied, copied_1;
DROP DOMAIN copied_number;
-- what inherits from what inherits, on many ways
CREATE TABLE heir_0 (id bigint);
SET client_min_messages = error;
DO $$ BEGIN
    FOR i IN 1..40 LOOP
        EXECUTE format('CREATE TABLE heir_%s_a () INHERITS (%s)', i, CASE i WHEN 1 THEN 'heir_0' ELSE format('heir_%s_a, heir_%1$s_b', i - 1) END);
        EXECUTE format('CREATE TABLE heir_%s_b () INHERITS (%s)', i, CASE i WHEN 1 THEN 'heir_0' ELSE format('heir_%s_a, heir_%1$s_b', i - 1) END);
    END LOOP;
END $$;
ALTER TABLE ONLY heir_0 ALTER id SET DEFAULT flake_id(5, 'copied_id');
CREATE INDEX ON heir_40_b (id);
INSERT INTO heir_40_b VALUES (copy_id(5, '1 hour'));
SELECT relation, attribute, shard FROM _flake_health_elsewhere();
SELECT regexp_replace(detail, '[0-9]{9,}', '...', 'g') AS detail FROM flake_health;
DROP TABLE heir_0 CASCADE;
RESET client_min_messages;
DROP FUNCTION copy_id, copied_told;
DROP SEQUENCE copied_id, other_id;
SELECT * FROM health;

-- version_mismatch
BEGIN;
UPDATE pg_extension SET extversion = '0.9' WHERE extname = 'flakeid';
SELECT * FROM flake_health;
ROLLBACK;
SELECT * FROM flake_health;
DROP VIEW health;
DROP FUNCTION add_part;
RESET health.now;
