--
-- Up to where ids are settled.
--
SET timezone = 'UTC';
-- The bound follows the clock; and what other sessions do in the background.
CREATE PROCEDURE wait_until(condition text) LANGUAGE plpgsql AS $$
DECLARE
    is_true boolean;
BEGIN
    FOR i IN 1..1000 LOOP
        EXECUTE 'SELECT ' || condition INTO is_true;
        EXIT WHEN is_true;
        PERFORM pg_sleep(0.01);
        COMMIT;
    END LOOP;
    IF is_true IS NOT TRUE THEN
        RAISE 'still not true: %', condition;
    END IF;
END $$;

-- null before the first id; asking does not begin a generator
SELECT flake_create_generator('event_id');
SELECT flake_settled('event_id') IS NULL AS "null", flake_settled('event_id', 5) IS NULL AS "null",
       flake_tail(5, 'event_id') IS NULL AS "null";
SELECT flake_horizon('event_id') IS NULL AS "null";
SELECT flake_settled(NULL) IS NULL AS "null", flake_settled('event_id', NULL) IS NULL AS "null",
       flake_tail(NULL, 'event_id') IS NULL AS "null", flake_tail(5, NULL) IS NULL AS "null", flake_tail(5, 'event_id', NULL) IS NULL AS "null";

-- what is committed is settled some milliseconds later
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT flake_id(5, 'event_id'), what text);
INSERT INTO event (what) VALUES ('first'), ('second');
SELECT max(id) AS last FROM event \gset
CALL wait_until(format('flake_settled(''event_id'') >= %s', :last));
SELECT what FROM event WHERE id > 0 AND id <= flake_settled('event_id') ORDER BY id;
SELECT what FROM event WHERE id > :last AND id <= flake_settled('event_id') ORDER BY id;
-- by an index
EXPLAIN (COSTS OFF) SELECT * FROM event WHERE id > 5 AND id <= flake_settled('event_id') ORDER BY id LIMIT 10;

-- to the end of a tick, in the past, for all shards; of one shard as of all
SELECT flake_settled('event_id') AS bound \gset
SELECT flake_timestamp(:bound) <= clock_timestamp() AS past,
       flake_shard(:bound), flake_sequence(:bound);
SELECT flake_settled('event_id', 7) >= :bound AS "as of all", flake_shard(flake_settled('event_id', 7)),
       flake_tail(:bound, 'event_id') >= :bound AS "as of all", flake_tail(0, 'event_id', 7) >= :bound AS "as of all";
SELECT flake_id(0, 'event_id') > :bound AND flake_id(8191, 'event_id') > :bound AS "later ids are above";
-- one bound in a statement
SELECT count(*), count(DISTINCT bound) FROM (SELECT flake_settled('event_id') AS bound, pg_sleep(0.001) FROM generate_series(1, 20)) b;

-- the extension's own generator, without an argument
SELECT flake_id(5) AS mine \gset
CALL wait_until(format('flake_settled() >= %s', :mine));
SELECT flake_tail(:mine) >= :mine AS "all right";

-- An open transaction holds it back, also its own, and in a subtransaction that was
-- rolled back.  What has minted nothing does not.
BEGIN;
SELECT flake_settled('event_id') AS before \gset
SELECT pg_sleep(0.2);
SAVEPOINT a;
INSERT INTO event (what) VALUES ('third') RETURNING id AS third \gset
ROLLBACK TO a;
SELECT pg_sleep(0.02);
SELECT flake_settled('event_id') < :third AS "held back", flake_settled('event_id') >= :before AS "never below";
SELECT flake_timestamp(flake_settled('event_id')) - flake_timestamp(:before) > interval '0.1 s' AS "not further than need be";
SELECT generator, shard, pid = pg_backend_pid() AS mine, prepared, since <= clock_timestamp() AS since,
       from_id > :last AND from_id <= :third AS from_id, flake_timestamp(from_id) = from_time AS from_time, application_name
FROM flake_unsettled;
COMMIT;
CALL wait_until(format('flake_settled(''event_id'') >= %s', :third));
SELECT count(*) FROM flake_unsettled;
BEGIN;
SELECT flake_advance('event_id', :last), flake_would_exceed('event_id', 5, :last), flake_tail(:last, 'event_id') >= :third AS goes_on;
SELECT count(*) FROM flake_unsettled;
COMMIT;

-- REPEATABLE READ: a bound from before, or the latest if the snapshot is as new
SELECT flake_settled('event_id') AS before \gset
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
SELECT flake_settled('event_id') AS first \gset
SELECT :first >= :before AS known, flake_settled('event_id') >= :first AS "never below";
COMMIT;

-- Generators of other layouts: of every preset that has not ended, with a time
SELECT count(flake_create_generator('g_' || name, layout)) FROM flake_presets WHERE name <> 'uuidv7' AND ends > now() AND starts < now() - interval '1 h';
DO $$
DECLARE
    g record;
    id bigint;
BEGIN
    FOR g IN SELECT generator, layout FROM flake_generators WHERE generator::text ~ '^g_' LOOP
        EXECUTE 'SELECT flake_id(0, $1)' INTO id USING g.generator;
        COMMIT;
        CALL wait_until(format('flake_settled(%L) >= %s', g.generator, id));
        IF flake_timestamp(flake_settled(g.generator), g.layout) > clock_timestamp()
            OR flake_shard(flake_settled(g.generator), g.layout) < flake_shard(id, g.layout)
            OR flake_id(0, g.generator) <= flake_settled(g.generator)
        THEN
            RAISE '% is settled up to % of %', g.generator, flake_settled(g.generator), g.layout;
        END IF;
        COMMIT;
    END LOOP;
END $$;

-- Numbers: each shard has its own bound
SELECT flake_create_generator('number_id', 'segment'), flake_create_generator('numbers_id', 'shard:4 seq:20');
SELECT flake_settled('number_id') IS NULL AS "null", flake_settled('numbers_id', 3) IS NULL AS "null";
SELECT max(i) FROM flake_ids(0, 3, 'number_id') i;
CALL wait_until($$flake_settled('number_id') = 3$$);
SELECT flake_settled('number_id'), flake_settled('number_id', 0), flake_tail(2, 'number_id');
SELECT max(i) AS three FROM flake_ids(3, 5, 'numbers_id') i \gset
CALL wait_until(format($$flake_settled('numbers_id', 3) = %s$$, :three));
SELECT flake_settled('numbers_id', 3) = :three AS all, flake_settled('numbers_id', 4) >= 0 AS idle,
       flake_tail(:three - 1, 'numbers_id', 3) = :three AS all, flake_tail(0, 'numbers_id', 3) = :three AS all;
BEGIN;
SELECT max(i) FROM flake_ids(0, 2, 'number_id') i;
SELECT flake_settled('number_id');
SELECT count(*) FROM flake_ids(3, 2, 'numbers_id');
SELECT flake_settled('numbers_id', 3) = :three AS "held back";
SELECT generator, shard, from_id - CASE generator WHEN 'numbers_id'::regclass THEN :three ELSE 0 END AS from_id, from_time
FROM flake_unsettled ORDER BY generator::text;
COMMIT;
CALL wait_until(format($$flake_settled('number_id') > 3 AND flake_settled('numbers_id', 3) > %s$$, :three));
SELECT flake_settled('number_id'), flake_settled('numbers_id', 3) - :three AS more;

-- Wide ids
SELECT flake_uuid() AS uuid, flake_objectid() AS objectid \gset
CALL wait_until(format('flake_settled_uuid() > %L', :'uuid'));
CALL wait_until(format('flake_settled_objectid() > %L COLLATE "C"', :'objectid'));
SELECT flake_uuid() > flake_settled_uuid() AS above, flake_objectid() > flake_settled_objectid() COLLATE "C" AS above;
BEGIN;
SELECT flake_uuid() AS uuid, flake_objectid() AS objectid \gset
SELECT pg_sleep(0.01);
SELECT flake_settled_uuid() < :'uuid' AS "held back", flake_settled_objectid() < :'objectid' COLLATE "C" AS "held back";
SELECT generator, from_id, from_time < now() + interval '1 min' AS from_time FROM flake_unsettled ORDER BY generator::text;
COMMIT;

-- More generators in a transaction than it has room for: all are held back
SELECT flake_create_generator('more_' || i) FROM generate_series(1, 5) i \g /dev/null
SELECT flake_id(5, 'more_5') AS five \gset
CALL wait_until(format('flake_settled(''more_5'') >= %s', :five));
BEGIN;
SELECT count(flake_id(5, format('more_%s', i)::regclass)) FROM generate_series(1, 4) i;
SELECT generator, from_id IS NULL AS "null" FROM flake_unsettled ORDER BY generator::text;
SELECT flake_id(5, 'more_5') AS five \gset
SELECT clock_timestamp() AS minted \gset
SELECT pg_sleep(0.01);
SELECT flake_settled('more_5') < :five AS "held back", flake_timestamp(flake_settled('event_id')) < :'minted' AS "held back";
SELECT generator, shard, pid = pg_backend_pid() AS mine, since <= clock_timestamp() AS since, from_id
FROM flake_unsettled WHERE generator IS NULL;
COMMIT;
CALL wait_until(format('flake_settled(''more_5'') >= %s', :five));
SELECT count(*) FROM flake_unsettled;

-- Bad input
CREATE SEQUENCE ordinary;
\x on
SELECT * FROM attempt($$SELECT flake_settled('ordinary')$$);
SELECT * FROM attempt($$SELECT flake_settled('event')$$);
SELECT * FROM attempt($$SELECT flake_settled('ordinary', 5)$$);
SELECT * FROM attempt($$SELECT flake_tail(5, 'ordinary')$$);
SELECT * FROM attempt($$SELECT flake_settled('flake_default_uuid')$$);
SELECT * FROM attempt($$SELECT flake_tail(5, 'flake_default_objectid')$$);
SELECT * FROM attempt($$SELECT flake_settled(4294967295)$$);
SELECT * FROM attempt($$SELECT flake_settled('numbers_id')$$);
SELECT * FROM attempt($$SELECT flake_tail(0, 'numbers_id')$$);
SELECT * FROM attempt($$SELECT flake_settled('event_id', 8192)$$);
SELECT * FROM attempt($$SELECT flake_settled('event_id', -1)$$);
SELECT * FROM attempt($$SELECT flake_settled('numbers_id', 16)$$);
SELECT * FROM attempt($$SELECT flake_tail(0, 'numbers_id', 16)$$);
SELECT code, regexp_replace(message, '\d{9,}', '...') AS message, regexp_replace(detail, '\d{9,}', '...') AS detail, hint
FROM attempt(format($$SELECT flake_tail(%s, 'event_id')$$, flake_upper(now() + interval '1 min')));
SELECT * FROM attempt($$SELECT flake_tail(1000, 'number_id')$$);
SELECT * FROM attempt(format($$SELECT flake_tail(%s, 'numbers_id', 3)$$, :three + 10));
\x off
DROP SEQUENCE ordinary;
-- nor before what this transaction has changed is committed
BEGIN;
ALTER SEQUENCE event_id RESTART;
SELECT code, message FROM attempt($$SELECT flake_settled('event_id')$$);
ROLLBACK;
-- in a read-only transaction it is all right
BEGIN READ ONLY;
SELECT flake_settled('event_id') > 0 AS "all right";
COMMIT;

-- Privileges: SELECT or USAGE on the generator; the view is for pg_monitor
CREATE ROLE flake_regress_reader;
SET ROLE flake_regress_reader;
SELECT code, message FROM attempt($$SELECT flake_settled('event_id')$$);
SELECT code FROM attempt($$SELECT flake_settled('event_id', 5)$$);
SELECT code FROM attempt($$SELECT flake_tail(5, 'event_id')$$);
SELECT code FROM attempt($$SELECT flake_tail(5, 'event_id', 5)$$);
SELECT code FROM attempt($$SELECT * FROM flake_unsettled$$);
SELECT code FROM attempt($$SELECT * FROM _flake_holders()$$);
RESET ROLE;
GRANT SELECT ON event_id TO flake_regress_reader;
SET ROLE flake_regress_reader;
SELECT flake_settled('event_id') > 0 AS "all right";
SELECT code FROM attempt($$SELECT flake_id(5, 'event_id')$$);
RESET ROLE;
REVOKE SELECT ON event_id FROM flake_regress_reader;
GRANT USAGE ON event_id TO flake_regress_reader;
GRANT pg_monitor TO flake_regress_reader;
SET ROLE flake_regress_reader;
SELECT flake_settled('event_id') > 0 AS "all right", count(*) FROM flake_unsettled;
RESET ROLE;
DROP OWNED BY flake_regress_reader;
DROP ROLE flake_regress_reader;

-- A shard that is detached keeps what it has settled
SELECT flake_settled('event_id', 9) > 0 AS "all right", flake_detach(9, 'event_id') > 0 AS detached, flake_detach(3, 'numbers_id') >= :three AS detached;
\c -
SELECT flake_settled('event_id', 9) > 0 AS "all right", flake_settled('numbers_id', 3) >= :three AS "all right";

-- Below what is settled nothing is rewound unless it is forced; then the bound goes back
SELECT flake_create_generator('back_id', 'ts:41 shard:4 seq:10 epoch=2026-01-01');
CREATE TABLE back (id bigint DEFAULT flake_id(1, 'back_id'));
SELECT flake_id(1, 'back_id') AS one \gset
CALL wait_until(format('flake_settled(''back_id'') >= %s', :one));
SELECT flake_settled('back_id') AS bound \gset
\x on
SELECT code, message, regexp_replace(detail, '\d{9,}', '...') AS detail, hint
FROM attempt(format($$SELECT flake_rewind('back_id', %s)$$, flake_upper(now() - interval '1 h', flake_layout_of('back_id'))));
\x off
SELECT flake_rewind('back_id', flake_upper(now() + interval '1 s', flake_layout_of('back_id')));
SELECT flake_rewind('back_id', flake_upper(now() - interval '1 h', flake_layout_of('back_id')), force => true);
SELECT code, message LIKE 'id % is above all that is settled' AS message FROM attempt(format($$SELECT flake_tail(%s, 'back_id')$$, flake_upper(now() + interval '1 s', flake_layout_of('back_id'))));

-- In the same way once there is a bound, one has been given out of numbers
SELECT code, detail FROM attempt($$SELECT flake_rewind('number_id', 2)$$);

DROP TABLE event, back;
DO $$
DECLARE
    g regclass;
BEGIN
    FOR g IN SELECT generator FROM flake_generators WHERE generator::text !~ '^flake_' LOOP
        EXECUTE format('DROP SEQUENCE %s', g);
    END LOOP;
END $$;
DROP PROCEDURE wait_until;
SELECT count(*) FROM flake_unsettled;
