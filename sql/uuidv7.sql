--
-- UUIDs of version 7 that carry a shard.
--
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET intervalstyle = 'postgres';

-- RFC 9562, A.6: its example, of 2022-02-22 14:22:22 -05:00.  What is flakeid's in rand_a
-- and rand_b is random there.
SELECT * FROM flake_uuidv7_decode('017f22e2-79b0-7cc3-98c4-dc0c0c07398f');
-- put together by hand: the first and the last, and one whose every field is known
SELECT id, d.*, flake_uuidv7_head(id) AS head, flake_uuidv7_head(id) >> 12 = extract(epoch FROM d.ts) * 1000 AS "head is ms << 12"
FROM (VALUES ('00000000-0000-7000-8000-000000000000'::uuid), ('ffffffff-ffff-7fff-bfff-ffffffffffff'),
             ('019ab5c0-4400-7007-800a-000000000001'), ('019ab5c0-4400-7007-bfff-ffffffffffff'),
             ('019ab5c0-4400-7007-8001-ffffffffffff'), ('019ab5c0-4400-7007-8002-000000000000')) AS v (id), flake_uuidv7_decode(id) AS d;
SELECT flake_uuidv7_decode(NULL), flake_uuidv7_head(NULL), flake_uuidv7(NULL), flake_uuidv7(5, NULL);

-- other versions and variants
\x on
SELECT * FROM attempt($$SELECT flake_uuidv7_decode('919108f7-52d1-4320-9bac-f847db4148a8')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7_head('c232ab00-9414-11ec-b3c8-9f6bdeced846')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7_decode('00000000-0000-0000-0000-000000000000')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7_decode('ffffffff-ffff-ffff-ffff-ffffffffffff')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7_decode('017f22e2-79b0-7cc3-c8c4-dc0c0c07398f')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7_decode('017f22e2-79b0-7cc3-58c4-dc0c0c07398f')$$);
\x off

-- Of many at once the first is above the last before, and the last is what was claimed.
SELECT flake_uuidv7(11) AS before \gset
SELECT min(id::text) > :'before' AS above, max(flake_uuidv7_head(id)) - min(flake_uuidv7_head(id)) AS width,
       max(flake_uuidv7_head(id)) = (SELECT last_id FROM flake_stat WHERE generator = 'flake_default_uuidv7'::regclass AND shard = 11) AS "last id"
FROM flake_uuidv7s(11, 5000) AS id;
-- Minted: version, variant, shard and time are right; they ascend, and so do their
-- texts; one by one and many at once; no random number comes twice.
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
CREATE TEMPORARY TABLE minted AS SELECT i, flake_uuidv7(i % 3 * 4095) AS id FROM generate_series(1, 30000) AS i;
RESET debug_discard_caches;
INSERT INTO minted SELECT 30000 + i, id FROM flake_uuidv7s(8190, 10000) WITH ORDINALITY AS u (id, i);
SELECT count(*), count(DISTINCT id) AS ids, count(DISTINCT substr(id::text, 21)) AS ends,
       bool_and(id::text ~ '^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$') AS "well formed",
       bool_and(d.ts BETWEEN now() - interval '1 min' AND now() + interval '1 min') AS "right time"
FROM minted, flake_uuidv7_decode(id) AS d;
SELECT shard, count(*), count(*) FILTER (WHERE id <= previous) AS misordered,
       count(*) FILTER (WHERE id::text COLLATE "C" <= previous::text) AS "texts misordered"
FROM (SELECT d.shard, id, lag(id) OVER (PARTITION BY d.shard ORDER BY i) AS previous FROM minted, flake_uuidv7_decode(id) AS d) AS pairs
GROUP BY shard ORDER BY shard;
-- Of each random bit about half are 1: between 45 % and 55 % of 40,000, or the chance is below 10^-80.
SELECT count(*) AS bits, count(*) FILTER (WHERE share NOT BETWEEN 0.45 AND 0.55) AS biased
FROM (SELECT bit, avg((('x' || right(replace(id::text, '-', ''), 13))::bit(52)::bigint >> bit & 1)::int) AS share
      FROM minted, generate_series(0, 48) AS bit GROUP BY bit) AS shares;
SELECT count(*) FROM flake_uuidv7s(5, 0);
SELECT generator, shard, issued, last_time > now() - interval '1 hour' AS recent,
       last_id = (SELECT max(flake_uuidv7_head(id)) FROM minted, flake_uuidv7_decode(id) AS d WHERE d.shard = s.shard) AS "last id"
FROM flake_stat s WHERE generator = 'flake_default_uuidv7'::regclass AND shard > 11;
SET flakeid.shard = 8191;
SELECT (flake_uuidv7_decode(flake_uuidv7())).shard;
RESET flakeid.shard;

-- the default generator: layout, horizon, settled
SELECT layout, horizon > flake_uuidv7_head((SELECT id FROM minted ORDER BY id DESC LIMIT 1)) - (10 << 12) AS horizon, ends
FROM flake_generators WHERE generator = 'flake_default_uuidv7'::regclass;
SELECT * FROM flake_layout_info('uuidv7');
SELECT pg_sleep(0.01);
SELECT count(*) FILTER (WHERE id <= (SELECT flake_settled_uuidv7())) AS settled, count(*) AS all,
       flake_uuidv7_head(flake_settled_uuidv7()) = flake_settled('flake_default_uuidv7') AS same FROM minted;
BEGIN;
SELECT flake_uuidv7(5) AS id \gset
SELECT flake_settled_uuidv7() < :'id'::uuid AS "not settled";
SELECT generator, from_id <= flake_uuidv7_head(:'id') AS from_id, from_time <= (flake_uuidv7_decode(:'id')).ts AS from_time FROM flake_unsettled;
COMMIT;
SELECT pg_sleep(0.01);
SELECT flake_settled_uuidv7() >= :'id'::uuid AS "settled now";

-- generators of their own
SELECT flake_create_generator('order_id', 'uuidv7');
SELECT flake_layout_of('order_id');
SELECT d.shard FROM flake_uuidv7_decode(flake_uuidv7(77, 'order_id')) AS d;
SELECT flake_create_generator('later_id', 'ts:48 seq:12 shard:13 form=uuidv7 start=random', after => flake_uuidv7_head(:'id'));
SELECT flake_layout_of('later_id'), flake_uuidv7(0, 'later_id') > :'id'::uuid AS after;
SELECT flake_uuidv7_upper(now() + interval '2 s') AS later \gset
SELECT flake_advance('order_id', flake_uuidv7_head(:'later'));
SELECT flake_uuidv7(3, 'order_id') > :'later'::uuid AS advanced;
SELECT flake_detach(77, 'order_id') AS bound \gset
SELECT count(*) FROM flake_columns('order_id');
\x on
SELECT * FROM attempt($$SELECT flake_uuidv7(77, 'order_id')$$);
\x off
SELECT flake_attach(77, :bound, 'order_id');
SELECT flake_uuidv7_head(flake_uuidv7(77, 'order_id')) > :bound AS "above the bound";

-- Bigints and UUIDs do not mix.
SELECT flake_create_generator('number_id', 'snowflake');
\x on
SELECT * FROM attempt($$SELECT flake_id(5, 'order_id')$$);
SELECT * FROM attempt($$SELECT flake_id(5, 'flake_default_uuidv7')$$);
SELECT * FROM attempt($$SELECT flake_ids(5, 5, 'order_id')$$);
SELECT * FROM attempt($$SELECT flake_sibling(5, 'order_id')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7(5, 'number_id')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7(5, 'flake_default')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7s(5, 5, 'flake_default_uuid')$$);
SELECT * FROM attempt($$SELECT flake_settled_uuidv7('number_id')$$);
SELECT * FROM attempt($$SELECT flake_shard(5, 'uuidv7')$$);
SELECT * FROM attempt($$SELECT flake_decode(5, 'uuidv7')$$);
SELECT * FROM attempt($$SELECT flake_fields(5, 'uuidv7')$$);
SELECT * FROM attempt($$SELECT flake_explain(5, 'uuidv7')$$);
SELECT * FROM attempt($$SELECT flake_make(now(), 5, 5, 'uuidv7')$$);
SELECT * FROM attempt($$SELECT flake_layout_above('uuidv7', 5)$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('pg_class', 'relname', 5, 5, 'order_id')$$);
-- also after the other kind was used in the same transaction, and found meanwhile
BEGIN;
SELECT flake_id(5, 'number_id') > 0 AND flake_uuidv7(5, 'order_id') IS NOT NULL AND flake_settled('order_id') > 0 AS minted;
SELECT * FROM attempt($$SELECT flake_id(5, 'order_id')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7(5, 'number_id')$$);
SELECT * FROM attempt($$SELECT flake_id(5, 'order_id')$$);
SELECT * FROM attempt($$SELECT flake_uuidv7(5, 'number_id')$$);
COMMIT;
-- shards, counts, read-only transactions, ordinary sequences
SELECT * FROM attempt($$SELECT flake_uuidv7(8192)$$);
SELECT * FROM attempt($$SELECT flake_uuidv7(-1)$$);
SELECT * FROM attempt($$SELECT flake_uuidv7()$$);
SELECT * FROM attempt($$SELECT flake_uuidv7s(5, -1)$$);
SELECT * FROM attempt($$SELECT flake_uuidv7s(5, 2000000000)$$);
CREATE TEMPORARY SEQUENCE ordinary;
SELECT * FROM attempt($$SELECT flake_uuidv7(5, 'ordinary')$$);
BEGIN READ ONLY;
SELECT * FROM attempt($$SELECT flake_uuidv7(5)$$);
SELECT * FROM attempt($$SELECT flake_uuidv7s(5, 1)$$);
COMMIT;
CREATE ROLE flake_regress_user;
SET ROLE flake_regress_user;
SELECT * FROM attempt($$SELECT flake_uuidv7(5, 'order_id')$$);
SELECT flake_uuidv7(5) IS NOT NULL AS "everybody may";
RESET ROLE;
GRANT USAGE ON SEQUENCE order_id TO flake_regress_user;
SET ROLE flake_regress_user;
SELECT flake_uuidv7(5, 'order_id') IS NOT NULL AS "may now";
RESET ROLE;
-- the text of the layout
SELECT * FROM attempt($$SELECT 'uuidv8'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 seq:12 shard:13 form=uuidv8'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 seq:12 shard:12 form=uuidv7'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 shard:13 seq:12 form=uuidv7'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 seq:12 node:13 form=uuidv7'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 form=uuidv7'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 seq:12 shard:13 form=uuidv7 epoch=2020-01-01'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 seq:12 shard:13 form=uuidv7 unit=1s'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 seq:12 shard:13 form=uuidv7 block=5'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 seq:12 shard:13 form=uuidv7 form=uuidv7'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'form=uuidv7 ts:48 seq:12 shard:13'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'seq:12 shard:13 form=uuidv7'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:48 seq:12 form=uuidv7'::flake_layout$$);
\x off
SELECT 'ts:48 seq:12 shard:13 form=uuidv7'::flake_layout, 'ts:48 seq:12 shard:13 start=zero unit=1ms epoch=0 form=uuidv7'::flake_layout = 'uuidv7'::flake_layout AS same;

-- ranges of time: bounds, to the microsecond; an index serves them
SELECT ts, flake_uuidv7_lower(ts), flake_uuidv7_upper(ts)
FROM unnest(ARRAY['-infinity', '1969-12-31 23:59:59.999999', '1970-01-01', '1970-01-01 00:00:00.000001', '2026-11-22 12:00:00.001',
                  '2026-11-22 12:00:00.001001', '10889-08-02 05:31:50.655', '10889-08-02 05:31:50.655999', '10889-08-02 05:31:50.656',
                  'infinity']::timestamptz[]) AS ts;
CREATE TABLE event (id uuid PRIMARY KEY, n int);
INSERT INTO event
SELECT overlay(overlay(flake_uuidv7_lower(timestamptz '2026-01-01' + g * interval '1 min')::text
                       PLACING lpad(to_hex(g % 4096), 3, '0') FROM 16) PLACING right(md5(g::text), 12) FROM 25)::uuid, g
FROM generate_series(0, 59999) AS g;
VACUUM ANALYZE event;
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE flake_uuidv7_between(id, '2026-01-05', '2026-01-06');
SELECT count(*), min((flake_uuidv7_decode(id)).ts), max((flake_uuidv7_decode(id)).ts)
FROM event WHERE flake_uuidv7_between(id, '2026-01-05', '2026-01-06');
SELECT count(*) AS tried,
       count(*) FILTER (WHERE flake_uuidv7_between(id, since, upto) IS DISTINCT FROM (since <= ts AND ts < upto)) AS different,
       count(*) FILTER (WHERE flake_uuidv7_between(id, since, upto)) AS inside
FROM (SELECT id, ts, ts + a * interval '1 us' AS since, ts + b * interval '1 us' AS upto
      FROM (SELECT id, (flake_uuidv7_decode(id)).ts FROM event LIMIT 500) AS e,
           unnest(ARRAY[-1001, -1000, -999, -1, 0, 1, 999, 1000, 1001]) AS a,
           unnest(ARRAY[-1001, -1000, -999, -1, 0, 1, 999, 1000, 1001]) AS b) AS tests;
SELECT flake_uuidv7_between(id, '-infinity', 'infinity') AS always, flake_uuidv7_between(id, 'infinity', '-infinity') AS never,
       flake_uuidv7_between(NULL, '-infinity', 'infinity') AS null
FROM (VALUES ('00000000-0000-7000-8000-000000000000'::uuid), ('ffffffff-ffff-7fff-bfff-ffffffffffff')) AS v (id);
DROP TABLE event;

-- partitions by time: the column's type says that they are of UUIDs
CREATE TABLE event (id uuid PRIMARY KEY DEFAULT flake_uuidv7(5), n int) PARTITION BY RANGE (id);
SELECT flake_create_partitions('event', '1 month', '2026-01-15', '2026-04-01');
SELECT flake_create_partitions('event', '1 month', '2026-03-15', '2026-05-01', 'uuidv7');
SELECT partition, since, upto, lower_bound FROM flake_partitions('event');
SELECT c.oid::regclass, pg_get_expr(relpartbound, 0) FROM pg_class c WHERE oid = 'event_p202602'::regclass;
INSERT INTO event SELECT flake_uuidv7_lower(ts), n FROM (VALUES ('2026-01-31 23:59:59.999'::timestamptz, 1), ('2026-02-01', 2), ('2026-03-01', 3)) AS v (ts, n);
SELECT tableoid::regclass, n FROM event ORDER BY id;
EXPLAIN (COSTS OFF) SELECT count(*) FROM event WHERE flake_uuidv7_between(id, '2026-02-03', '2026-03-01');
SELECT what, object, detail ~ 'no partition' AS "no partition" FROM flake_health WHERE object = 'event';
\x on
SELECT code, message FROM attempt($$INSERT INTO event DEFAULT VALUES$$);
SELECT * FROM attempt($$SELECT flake_create_partitions('event', '1 day', '2026-02-15', '2026-02-16')$$);
SELECT * FROM attempt($$SELECT flake_create_partitions('event', '1 month', '2026-06-01', '2026-07-01', 'snowflake')$$);
SELECT * FROM attempt($$SELECT flake_create_partitions('event', '1 month', '1969-06-01', '1969-07-01')$$);
\x off
SELECT flake_drop_partitions('event', '2026-02-15');
SELECT flake_drop_partitions('event', '2026-04-01', concurrently => true);
SELECT partition, since, upto FROM flake_partitions('event');
-- bounds that others have written
CREATE TABLE event_old PARTITION OF event FOR VALUES FROM (MINVALUE) TO ('018cc251-f400-0000-0000-000000000000');
CREATE TABLE event_new PARTITION OF event FOR VALUES FROM ('01a00000-0000-8000-0000-000000000000') TO (MAXVALUE);
SELECT partition, since, upto, lower_bound, upper_bound FROM flake_partitions('event') WHERE partition IN ('event_old'::regclass, 'event_new'::regclass);
DROP TABLE event;
CREATE TABLE event (id bigint) PARTITION BY RANGE (id);
\x on
SELECT * FROM attempt($$SELECT flake_create_partitions('event', '1 month', '2026-06-01', '2026-07-01', 'uuidv7')$$);
SELECT * FROM attempt($$SELECT * FROM flake_partitions('event', 'uuidv7')$$);
\x off
DROP TABLE event;

-- a column that has UUIDs already
CREATE TABLE doc (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), name text);
CREATE TABLE page (id uuid PRIMARY KEY, doc uuid REFERENCES doc);
INSERT INTO doc (name) SELECT 'old' FROM generate_series(1, 3);
CREATE VIEW names AS SELECT id, name FROM doc;
SELECT * FROM flake_migrate('doc', 'id', 5, dry_run => true);
SELECT pg_relation_filenode('doc') AS filenode \gset
SELECT * FROM flake_migrate('doc', 'id', 5);
SELECT pg_relation_filenode('doc') = :filenode AS "not rewritten";
INSERT INTO doc (name) VALUES ('new');
SELECT name, substr(id::text, 15, 1) AS version, count(*) FROM names GROUP BY 1, 2 ORDER BY 1 DESC;
SELECT * FROM flake_migrate('page', 'id', 6, 'order_id');
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'page'::regclass;
SELECT c.* FROM flake_columns('flake_default_uuidv7') AS c;
SELECT c.* FROM flake_columns('order_id') AS c;
\x on
SELECT * FROM attempt($$SELECT flake_migrate('doc', 'id', 5, 'number_id')$$);
SELECT * FROM attempt($$SELECT flake_migrate('doc', 'name', 5)$$);
SELECT * FROM attempt($$SELECT flake_migrate('doc', 'id', 8192)$$);
CREATE TABLE plain (id serial);
SELECT * FROM attempt($$SELECT flake_migrate('plain', 'id', 5, 'order_id')$$);
SELECT * FROM attempt($$SELECT flake_replace_ids('doc', 'id', 5, 5, 'order_id')$$);
SELECT flake_detach(7, 'order_id') IS NOT NULL AS detached;
SELECT * FROM attempt($$SELECT flake_migrate('doc', 'id', 7, 'order_id')$$);
\x off

-- defaults of both kinds are renumbered
SELECT * FROM flake_renumber('{5}', '{9}', 'flake_default_uuidv7', owners => ARRAY[current_user::regrole], dry_run => true);
SELECT * FROM flake_renumber('{6}', '{10}', 'order_id', owners => ARRAY[current_user::regrole], dry_run => false);
SELECT adrelid::regclass, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid IN ('page'::regclass, 'doc'::regclass) ORDER BY 1;

-- a copy of a schema would have the shard of its template
CREATE SCHEMA tmpl;
CREATE TABLE tmpl.doc (id bigint DEFAULT flake_id(0), token uuid DEFAULT flake_uuidv7(0));
\x on
SELECT * FROM attempt($$SELECT flake_create_shard(5, 'tmpl')$$);
\x off
DROP SCHEMA tmpl CASCADE;

-- Set back: ids that are in use are found, of version 7 only.  A head is as good as an id.
INSERT INTO page (id) VALUES (flake_uuidv7(10, 'order_id')), (gen_random_uuid()) RETURNING NULL \g (tuples_only)
SELECT max(flake_uuidv7_head(id)) AS newest FROM page WHERE substr(id::text, 15, 1) = '7' \gset
SELECT code, replace(detail, :'newest', 'NEWEST') AS detail FROM attempt(format($$SELECT flake_rewind('order_id', %s)$$, :newest - 1));
SELECT flake_rewind('order_id', :newest);
SELECT flake_uuidv7_head(flake_uuidv7(10, 'order_id')) > :newest AS "goes on";

DROP TABLE page, doc, plain CASCADE;
DROP SEQUENCE order_id, later_id, number_id;
DROP ROLE flake_regress_user;
RESET timezone;
RESET datestyle;
RESET intervalstyle;
