--
-- Generators: sequences with layouts.
--
SELECT flake_create_generator('orders_id');
SELECT flake_create_generator('"Odd name.x"', 'snowflake');
CREATE SCHEMA shop;
SELECT flake_create_generator('shop.orders_id', 'ts:41 region:5 shard:8 seq:10 epoch=2020-01-01');
SELECT flake_create_generator('"shop"."Tickets"', layout => 'ticket', after => 1000);
SELECT generator, layout, horizon, owner = current_user AS mine FROM flake_generators
WHERE generator::text NOT LIKE 'flake%' ORDER BY generator::text COLLATE "C";
SELECT flake_layout_of('orders_id') = 'instagram' AS instagram, flake_layout_of('shop."Tickets"');
SELECT flake_layout_of('flake_default') = 'instagram' AS instagram;

-- minting
SELECT flake_shard(flake_id(5, 'orders_id')), flake_shard(flake_id(5, 'flake_default'));
SELECT flake_fields(flake_id(flake_shard_number('snowflake', 11, 26), '"Odd name.x"'), 'snowflake') - 'ts' - 'timestamp';
SELECT flake_fields(flake_id(8191, 'shop.orders_id'), flake_layout_of('shop.orders_id')) - 'ts' - 'timestamp' - 'seq';
SELECT count(DISTINCT id), min(id) = (array_agg(id))[1] AS ascending, flake_last_id() = max(id) AS last
FROM flake_ids(3, 1000, '"Odd name.x"') AS id;
SELECT flake_shard(flake_sibling(flake_id(77, '"Odd name.x"'), '"Odd name.x"'), 'snowflake');
SELECT flake_ids(1, 3, 'shop."Tickets"'), flake_ids(0, 3, 'shop."Tickets"');
SELECT generator, shard, issued, last_time IS NULL AS "no time" FROM flake_stat
WHERE generator::text NOT LIKE 'flake%' ORDER BY generator::text COLLATE "C", shard;

-- generators do not know of each other
SELECT flake_id(5, 'orders_id') > 0, flake_id(6, 'orders_id') > 0;
SELECT abs(extract(epoch FROM flake_timestamp(flake_id(5, 'orders_id')) - clock_timestamp())) < 5 AS "at the present";

-- the horizon is above
SELECT horizon >= flake_id(5, 'orders_id') AS "a bound",
       horizon_time BETWEEN now() - interval '1 minute' AND now() + interval '1 minute' AS "near the present",
       ends = (flake_layout_info('instagram')).ends AS ends
FROM flake_generators WHERE generator = 'orders_id'::regclass;

-- what is not a generator
CREATE SEQUENCE ordinary;
CREATE TEMPORARY SEQUENCE temporary_sequence;
CREATE TABLE counted (id int GENERATED ALWAYS AS IDENTITY);
CREATE TABLE a_table (id bigint);
\x on
SELECT * FROM attempt($$SELECT flake_id(5, 'ordinary')$$);
SELECT * FROM attempt($$SELECT flake_ids(5, 1, 'ordinary')$$);
SELECT * FROM attempt($$SELECT flake_sibling(5, 'temporary_sequence')$$);
SELECT * FROM attempt($$SELECT flake_layout_of('a_table')$$);
SELECT * FROM attempt($$SELECT flake_id(5, 'nowhere')$$);
SELECT * FROM attempt($$SELECT flake_id(5, 2147483647::oid::regclass)$$);
SELECT flake_horizon('ordinary') IS NULL AS "no horizon", flake_horizon_time('ordinary') IS NULL AS "no time";
SELECT * FROM attempt($$SELECT flake_id(1, '-'::regclass)$$);
SELECT * FROM attempt($$SELECT flake_id(0, 1::oid::regclass)$$);
SELECT * FROM attempt($$SELECT flake_rewind('ordinary', 1)$$);
-- shards of another layout
SELECT * FROM attempt($$SELECT flake_id(1024, '"Odd name.x"')$$);
SELECT * FROM attempt($$SELECT flake_id(2, 'shop."Tickets"')$$);

-- creation
SELECT * FROM attempt($$SELECT flake_create_generator('orders_id')$$);
SELECT * FROM attempt($$SELECT flake_create_generator('nowhere.orders_id')$$);
SELECT * FROM attempt($$SELECT flake_create_generator('a.b.c.d')$$);
SELECT * FROM attempt($$SELECT flake_create_generator('')$$);
SELECT * FROM attempt($$SELECT flake_create_generator(NULL)$$);
SELECT * FROM attempt($$SELECT flake_create_generator('x', NULL)$$);
SELECT * FROM attempt($$SELECT flake_create_generator('x', 'instagran')$$);
SELECT * FROM attempt($$SELECT flake_create_generator('x', 'instagram', 9223372036854775807)$$);
SELECT * FROM attempt($$SELECT flake_create_generator('x', 'segment', 9223372036854775807)$$);
SELECT * FROM attempt($$SELECT flake_create_generator('x', 'shard:8 seq:40', 1::bigint << 40)$$);
-- among temporary objects it would be forgotten in a crash; and nothing is left
SELECT * FROM attempt($$SELECT flake_create_generator('pg_temp.x')$$);
SET search_path = pg_temp, public;
SELECT * FROM attempt($$SELECT flake_create_generator('x')$$);
RESET search_path;
SELECT count(*) FROM pg_class WHERE relname = 'x';
BEGIN READ ONLY;
SELECT * FROM attempt($$SELECT flake_create_generator('x')$$);
SELECT * FROM attempt($$SELECT flake_id(5, 'orders_id')$$);
COMMIT;
\x off
SELECT code, regexp_replace(message, '[0-9]+', 'ID') AS message, regexp_replace(detail, 'of .*', 'of ...') AS detail, hint
FROM attempt($$SELECT flake_create_generator('x', 'instagram', flake_lower(now() + '2 years'))$$);

-- event triggers fire, as for CREATE SEQUENCE, and may do anything
CREATE FUNCTION on_creation() RETURNS event_trigger LANGUAGE plpgsql AS $$
DECLARE
    command record;
BEGIN
    IF tg_event = 'ddl_command_start' THEN
        RAISE NOTICE '% %', tg_event, tg_tag;
        RETURN;
    END IF;
    FOR command IN SELECT * FROM pg_event_trigger_ddl_commands() LOOP
        RAISE NOTICE '% % % %', tg_event, command.command_tag, command.object_type, command.object_identity;
        IF command.command_tag = 'CREATE SEQUENCE' AND current_setting('test.on_creation') <> '' THEN
            EXECUTE format(current_setting('test.on_creation'), command.object_identity);
        END IF;
    END LOOP;
END
$$;
CREATE EVENT TRIGGER on_start ON ddl_command_start WHEN TAG IN ('CREATE SEQUENCE') EXECUTE FUNCTION on_creation();
CREATE EVENT TRIGGER on_end ON ddl_command_end WHEN TAG IN ('CREATE SEQUENCE') EXECUTE FUNCTION on_creation();
SET test.on_creation = '';
SELECT flake_create_generator('"Seen by %I"', 'segment');
SELECT flake_id(0, '"Seen by %I"');
DROP SEQUENCE "Seen by %I";
CREATE ROLE flake_regress_owner;
SET test.on_creation = 'ALTER SEQUENCE %s OWNER TO flake_regress_owner';
SELECT flake_create_generator('given_away');
SELECT owner FROM flake_generators WHERE generator = 'given_away'::regclass;
DROP SEQUENCE given_away;
DROP ROLE flake_regress_owner;
SET test.on_creation = 'ALTER SEQUENCE %s RENAME TO renamed';
SELECT flake_create_generator('x', 'segment', after => 5);
SELECT flake_id(0, 'renamed');
DROP SEQUENCE renamed;
\x on
SET test.on_creation = 'DROP SEQUENCE %s';
SELECT * FROM attempt($$SELECT flake_create_generator('x', after => 5)$$);
SET test.on_creation = 'ALTER SEQUENCE %s AS int';
SELECT * FROM attempt($$SELECT flake_create_generator('x')$$);
SET test.on_creation = 'ALTER SEQUENCE %s SET UNLOGGED';
SELECT * FROM attempt($$SELECT flake_create_generator('x')$$);
SET test.on_creation = $$SECURITY LABEL FOR flakeid ON SEQUENCE %s IS 'ts:40 shard:13 seq:10 epoch=2020-01-01'$$;
SELECT * FROM attempt($$SELECT flake_create_generator('x')$$);
SET test.on_creation = 'SELECT 1/0';
SELECT * FROM attempt($$SELECT flake_create_generator('x')$$);
\x off
SELECT count(*) FROM pg_class WHERE relname = 'x';
SELECT count(*) FROM pg_seclabel WHERE objoid NOT IN (SELECT oid FROM pg_class);
DROP EVENT TRIGGER on_start;
DROP EVENT TRIGGER on_end;
DROP FUNCTION on_creation;
RESET test.on_creation;

-- after: also where the shard comes before the sequence
SELECT flake_lower(clock_timestamp() + '2 s') + 8191 * 1024 AS after \gset
SELECT flake_create_generator('later_id', after => :after);
SELECT flake_id(0, 'later_id') > :after AS exceeds;
SELECT flake_create_generator('numbers', 'segment', after => 5000);
SELECT flake_ids(0, 3, 'numbers');
SELECT flake_create_generator('negative', 'segment', after => -5000);
SELECT flake_ids(0, 3, 'negative');
DROP SEQUENCE later_id, numbers, negative;

-- flake_advance(): the same for one that has been in use
SELECT flake_create_generator('later_id');
SELECT min(flake_id(shard, 'later_id')) < :after AS "below, so far" FROM generate_series(0, 2) AS shard;
SELECT flake_lower(clock_timestamp() + '2 s') + 8191 * 1024 AS after \gset
SELECT flake_would_exceed('later_id', 1, :after), flake_would_exceed('later_id', 5, :after);
SELECT flake_advance('later_id', :after);
SELECT min(flake_id(shard, 'later_id')) > :after AS exceeds FROM generate_series(0, 4) AS shard;
SELECT flake_would_exceed('later_id', 1, :after), flake_would_exceed('later_id', 5, :after);
SELECT flake_would_exceed('later_id', 1, flake_id(1, 'later_id')) AS "its own last";
SELECT flake_would_exceed('later_id', 1, flake_lower(clock_timestamp() + '10 s')) AS "still to come";
SELECT flake_create_generator('numbers', 'shard:4 seq:40 block=10');
SELECT flake_id(1, 'numbers') & 1023, flake_id(2, 'numbers') & 1023;
BEGIN;
SELECT flake_advance('numbers', -1), flake_advance('numbers', 0);
SELECT flake_id(1, 'numbers') & 1023;
\x on
SELECT * FROM attempt($$SELECT flake_advance('numbers', 5)$$);
SELECT * FROM attempt($$SELECT flake_advance('numbers', 15::bigint << 40)$$);
\x off
ROLLBACK;
-- nor is it undone by ROLLBACK, nor does a lower one set it back
SELECT flake_create_generator('dense', 'segment');
SELECT flake_would_exceed('dense', 0, 0), flake_would_exceed('dense', 0, 1);
BEGIN;
SELECT flake_advance('dense', 5000);
SELECT flake_id(0, 'dense');
ROLLBACK;
SELECT flake_advance('dense', 4000), flake_advance('dense', -4000), flake_advance(NULL, 9000), flake_advance('dense', NULL);
SELECT flake_id(0, 'dense');
SELECT flake_would_exceed('dense', 0, 5002), flake_would_exceed('dense', 0, 5003);
SELECT flake_advance('dense', 9223372036854775805);
SELECT flake_would_exceed('dense', 0, 9223372036854775805), flake_would_exceed('dense', 0, 9223372036854775806);
SELECT flake_id(0, 'dense');
\x on
SELECT * FROM attempt($$SELECT flake_advance('dense', 9223372036854775807)$$);
SELECT code, message, hint FROM attempt(format($$SELECT flake_advance('orders_id', %s)$$, :after + (3600000::bigint << 23))) \gset
SELECT :'code' AS code, regexp_replace(:'message', '[0-9]+', 'ID') AS message, :'hint' AS hint;
SELECT * FROM attempt($$SELECT flake_advance('flake_default_uuid', 1)$$);
SELECT * FROM attempt($$SELECT flake_advance('flake_default_objectid', 1)$$);
SELECT * FROM attempt($$SELECT flake_advance('ordinary', 1)$$);
SELECT * FROM attempt($$SELECT flake_would_exceed('flake_default_uuid', 0, 1)$$);
SELECT * FROM attempt($$SELECT flake_would_exceed('dense', 1, 1)$$);
BEGIN READ ONLY;
SELECT * FROM attempt($$SELECT flake_advance('dense', 1)$$);
COMMIT;
\x off
SELECT flake_create_generator('below', 'ts:41 seq:12 epoch=1577836800000', -9223372036854775807);
DROP SEQUENCE below;
SELECT flake_advance('flake_default', flake_id(5) + 1000);
SELECT flake_would_exceed('flake_default', 5, flake_last_id() + 1000);
SELECT flake_id(0, 'dense');
\x on
SELECT * FROM attempt($$SELECT flake_id(0, 'dense')$$);
-- used up, it exceeds nothing, and need not be advanced
SELECT * FROM attempt($$SELECT flake_would_exceed('dense', 0, 1)$$);
SELECT flake_would_exceed('dense', 0, 1);
\x off
DROP SEQUENCE later_id, numbers, dense;

-- the next id must not be in a tick that is far away: so neither can today's last
-- id be exceeded, nor, where the shard comes first, an id of any but the first one
SELECT 'ts:20 shard:13 seq:30 epoch=2020-01-01 unit=1d' AS by_day \gset
SELECT flake_create_generator('daily', :'by_day');
SELECT flake_upper(now(), :'by_day') AS last, flake_id(0, 'daily') AS first, flake_id(5, 'daily') AS fifth \gset
\x on
SELECT code, regexp_replace(message, 'exceed \d+', 'exceed ID') AS message, regexp_replace(detail, 'of .*', 'of ...') AS detail, hint
FROM (VALUES (1, :last), (2, :fifth)) AS v (i, id),
     LATERAL (SELECT * FROM attempt(format($$SELECT flake_advance('daily', %s)$$, id)) UNION ALL
              SELECT * FROM attempt(format($$SELECT flake_create_generator('x', %L, %s)$$, :'by_day', id))) AS a ORDER BY i, hint;
SELECT count(*) FROM pg_class WHERE relname = 'x';
\x off
SELECT flake_advance('daily', :first + 1000);
SELECT flake_id(0, 'daily') - :first, flake_id(5, 'daily') - :fifth;
SELECT flake_advance('daily', flake_upper(now() - interval '1 day', :'by_day')), flake_id(0, 'daily') > :first;
SELECT flake_create_generator('y', :'by_day', flake_upper(now() - interval '1 day', :'by_day')), flake_create_generator('z', :'by_day', :first);
SELECT flake_id(0, 'y') - flake_upper(now() - interval '1 day', :'by_day') AS y, flake_id(0, 'z') - :first AS z;
DROP SEQUENCE daily, y, z;
-- of the present millisecond, or one that has just begun, all can be
SELECT flake_create_generator('instant', after => flake_upper(clock_timestamp()));
SELECT flake_advance('instant', flake_upper(clock_timestamp() + '1 s'));
DROP SEQUENCE instant;
\x on
SELECT code, detail FROM attempt($$SELECT flake_create_generator('x', 'ts:54 seq:10 epoch=2020-01-01 unit=1s', 9223372036854775806)$$);
\x off

-- before the epoch, ids are negative, and as good
SELECT flake_create_generator('early_id', 'ts:41 shard:13 seq:10 epoch=2045-01-01');
SELECT flake_id(5, 'early_id') AS first \gset
SELECT :first < 0 AS negative, flake_id(5, 'early_id') > :first AS ascending,
       flake_timestamp(:first, flake_layout_of('early_id')) BETWEEN now() - interval '1 s' AND now() + interval '1 s' AS "right time",
       flake_shard(:first, flake_layout_of('early_id')) AS shard;
\c -
SELECT flake_id(5, 'early_id') > :first AS "in a new session";
DROP SEQUENCE early_id;

-- a layout is for life
\x on
SELECT * FROM attempt($$SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS 'segment'$$);
SELECT * FROM attempt($$SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS 'ts:42 shard:13 seq:9 epoch=2020-01-01'$$);
SELECT * FROM attempt($$SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS NULL$$);
SELECT * FROM attempt(format('SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS %L', repeat(' ', 1000) || 'ts:41 shard:13 seq:10 epoch=1314220021721'));
SELECT * FROM attempt($$SECURITY LABEL FOR flakeid ON SEQUENCE counted_id_seq IS 'seq:63'$$);
SELECT * FROM attempt($$SECURITY LABEL FOR flakeid ON TABLE a_table IS 'seq:63'$$);
SELECT * FROM attempt($$SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS 'ts:41 shard:13 seq:10 epoch=1314220021721'$$);
\x off

-- A dump can be restored in a session that has not loaded the library, and in one
-- in which ordinary event triggers do not fire.
\c -
SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS 'ts:41 shard:13 seq:10 epoch=1314220021721';
\c -
SET session_replication_role = replica;
SECURITY LABEL FOR flakeid ON SEQUENCE orders_id IS 'ts:41 shard:13 seq:10 epoch=1314220021721';
RESET session_replication_role;

-- A label counts for others when it is committed, and only then for ids.
CREATE SEQUENCE labelled INCREMENT 9223372036854775807 MINVALUE 1;
BEGIN;
SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS 'seq:62';
SELECT flake_layout_of('labelled');
SAVEPOINT s;
SELECT * FROM attempt($$SELECT flake_id(0, 'labelled')$$);
ROLLBACK;
SELECT code FROM attempt($$SELECT flake_id(0, 'labelled')$$);
-- also if only a subtransaction has set it
BEGIN;
SAVEPOINT s;
SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS 'seq:62';
RELEASE s;
SELECT code FROM attempt($$SELECT flake_id(0, 'labelled')$$);
ROLLBACK;
BEGIN;
SAVEPOINT s;
SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS 'seq:62';
ROLLBACK TO s;
SELECT code FROM attempt($$SELECT flake_id(0, 'labelled')$$);
COMMIT;
SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS 'seq:61';
SELECT flake_id(0, 'labelled'), flake_layout_of('labelled');
DROP SEQUENCE labelled;
-- A sequence that goes with its label may mint, as in pg_restore
-- --single-transaction, which also alters it.
BEGIN;
CREATE TABLE owner (id bigint);
CREATE SEQUENCE labelled INCREMENT 9223372036854775807 MINVALUE 1;
ALTER SEQUENCE labelled OWNED BY owner.id;
SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS 'seq:62';
GRANT USAGE ON SEQUENCE labelled TO PUBLIC;
SELECT flake_id(0, 'labelled');
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT flake_create_generator('labelled', 'seq:62');
ALTER SEQUENCE labelled OWNED BY NONE;
SELECT flake_id(0, 'labelled');
RELEASE s;
SELECT flake_id(0, 'labelled');
ROLLBACK;
-- But a label can go alone, to a savepoint, whatever else is done after that.
BEGIN;
CREATE SEQUENCE labelled INCREMENT 9223372036854775807 MINVALUE 1;
SAVEPOINT s;
SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS 'shard:10 seq:40';
SELECT * FROM attempt($$SELECT flake_id(1, 'labelled')$$);
ROLLBACK TO s;
SELECT code FROM attempt($$SELECT flake_id(1, 'labelled')$$);
ALTER SEQUENCE labelled OWNED BY NONE;
GRANT SELECT (last_value) ON labelled TO PUBLIC;
SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS 'shard:10 seq:40';
SELECT code FROM attempt($$SELECT flake_id(1, 'labelled')$$);
ROLLBACK TO s;
SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS 'seq:40 shard:10';
COMMIT;
SELECT flake_id(1, 'labelled');
DROP SEQUENCE labelled;

-- nor do setval(), ALTER SEQUENCE and TRUNCATE make ids repeat
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_id(5, 'orders_id'), what text);
ALTER SEQUENCE orders_id OWNED BY orders.id;
INSERT INTO orders SELECT FROM generate_series(1, 10);
SELECT max(id) AS before FROM orders \gset
SELECT setval('orders_id', seqmin) FROM pg_sequence WHERE seqrelid = 'orders_id'::regclass;
SELECT code FROM attempt('SELECT setval(''orders_id'', max(id)) FROM orders');
-- the same bounds as those of the extension's own
SELECT count(*), count(DISTINCT (seqmin, seqmax, seqincrement)) FROM pg_sequence WHERE seqrelid IN ('orders_id'::regclass, 'flake_default'::regclass);
SELECT flake_id(5, 'orders_id') > :before AS later;
SELECT flake_id(5, 'orders_id') AS before \gset
ALTER SEQUENCE orders_id RESTART;
SELECT flake_id(5, 'orders_id') > :before AS later;
SELECT flake_id(5, 'orders_id') AS before \gset
TRUNCATE orders RESTART IDENTITY;
SELECT flake_id(5, 'orders_id') > :before AS later;
SELECT flake_id(5, 'orders_id') AS before \gset
\c -
SELECT flake_id(5, 'orders_id') > :before AS "in a new session";
SELECT nextval('orders_id');
SELECT flake_create_generator('dense', 'segment');
SELECT max(id) FROM flake_ids(0, 20000, 'dense') AS id;
SELECT setval('dense', 1), nextval('dense');
ALTER SEQUENCE dense RESTART;
SELECT flake_id(0, 'dense');
\c -
SELECT flake_id(0, 'dense');
DROP SEQUENCE dense;

-- renamed and moved, it goes on, column defaults included
INSERT INTO orders VALUES (DEFAULT, 'before') RETURNING id AS before \gset
ALTER SEQUENCE orders_id RENAME TO order_number;
CREATE SCHEMA warehouse;
ALTER TABLE orders SET SCHEMA warehouse;
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'warehouse.orders'::regclass;
INSERT INTO warehouse.orders VALUES (DEFAULT, 'after') RETURNING id > :before AS later;
SELECT generator FROM flake_generators WHERE generator::text LIKE '%order%' ORDER BY generator::text COLLATE "C";
SELECT * FROM flake_columns('warehouse.order_number');
-- each column once, however it takes its ids; those of the extension's own, too
CREATE TABLE warehouse.twice (id bigint DEFAULT flake_id(5, 'warehouse.order_number'), other bigint DEFAULT
    flake_id(1, 'warehouse.order_number') + flake_id(2, 'warehouse.order_number') + flake_id(3), third text DEFAULT flake_uuid());
CREATE VIEW warehouse.view AS SELECT id FROM warehouse.twice;
ALTER VIEW warehouse.view ALTER id SET DEFAULT flake_id();
SELECT c.* FROM flake_columns('warehouse.order_number') AS c ORDER BY c::text COLLATE "C";
SELECT c.* FROM flake_columns() AS c WHERE relation::text LIKE 'warehouse.%' ORDER BY c::text COLLATE "C";
SELECT c.* FROM flake_columns('flake_default_uuid') AS c;
SELECT c.* FROM flake_columns('flake_default_objectid') AS c;
SELECT c.* FROM flake_columns(NULL) AS c;
DROP TABLE warehouse.twice CASCADE;
-- owned by a column, it goes with the table
DROP TABLE warehouse.orders;
SELECT to_regclass('warehouse.order_number'), count(*) FILTER (WHERE generator::text LIKE '%order_number') FROM flake_generators;

-- dropped with its schema, and nothing is left behind
SELECT flake_id(5, 'shop.orders_id') > 0 AS id;
SELECT 'shop.orders_id'::regclass::oid AS oid \gset
DROP SCHEMA shop CASCADE;
SELECT code, message, detail FROM attempt(format('SELECT flake_id(5, %s::regclass)', :oid)) \gset
SELECT :'code' AS code, :'message' = 'generator with OID ' || :oid || ' does not exist' AS "says which", :'detail' AS detail;
SELECT count(*) FROM pg_seclabel WHERE objoid = :oid;
SELECT count(*) FROM flake_generators WHERE generator::oid = :oid;
SELECT count(*) FROM flake_stat WHERE generator::oid = :oid;

-- the view shows also those that are in a sorry state
SELECT flake_create_generator('sorry'), flake_create_generator('slow', 'ts:40 shard:1 seq:10 unit=1d epoch=2000-01-01');
SELECT flake_id(5, 'sorry') > 0 AS id;
ALTER SEQUENCE slow NO MAXVALUE;
SELECT setval('slow', 1::bigint << 60);
ALTER SEQUENCE sorry SET UNLOGGED;
SELECT generator, horizon, horizon_time, ends FROM flake_generators WHERE generator::text IN ('sorry', 'slow') ORDER BY generator::text;
DROP SEQUENCE sorry, slow;

-- a dropped one's name is free for another layout
SELECT flake_create_generator('again', 'segment');
SELECT flake_ids(0, 2, 'again');
DROP SEQUENCE again;
SELECT flake_create_generator('again', 'ticket');
SELECT flake_ids(1, 2, 'again');
-- in one transaction, undone
BEGIN;
DROP SEQUENCE again;
SELECT flake_create_generator('again', 'instagram');
SELECT flake_id(5, 'again') > 0 AS id;
SAVEPOINT s;
SELECT flake_create_generator('another', 'segment');
SELECT flake_id(0, 'another');
ROLLBACK TO s;
SELECT flake_create_generator('another', 'ticket');
SELECT flake_id(1, 'another');
ROLLBACK;
SELECT flake_ids(1, 2, 'again');
DROP SEQUENCE again;

-- undone again and again, with statistics of what is gone
DO $$
BEGIN
    FOR i IN 1..200 LOOP
        BEGIN
            PERFORM flake_create_generator('undone', 'segment');
            PERFORM flake_id(0, 'undone') FROM generate_series(1, 3);
            RAISE division_by_zero;
        EXCEPTION WHEN division_by_zero THEN
            PERFORM flake_id(i);
        END;
    END LOOP;
END
$$;

-- a file that a transaction has made and may yet undo is none to rely on
SELECT flake_create_generator('undone');
SELECT flake_id(5, 'undone') > 0 AS id;
BEGIN;
ALTER SEQUENCE undone RESTART;
SELECT code, message FROM attempt($$SELECT flake_id(5, 'undone')$$);
ROLLBACK;
-- but one that did not exist before will do
BEGIN;
SELECT flake_create_generator('new');
SELECT flake_id(5, 'new') > 0 AS id;
GRANT USAGE ON SEQUENCE undone TO PUBLIC;
SELECT flake_id(5, 'undone') > 0 AS id;
ROLLBACK;
DROP SEQUENCE undone;

-- rights
CREATE ROLE flake_regress_owner;
CREATE ROLE flake_regress_user;
CREATE SCHEMA closed;
SET ROLE flake_regress_owner;
\x on
SELECT * FROM attempt($$SELECT flake_create_generator('closed.orders_id')$$);
\x off
RESET ROLE;
GRANT CREATE, USAGE ON SCHEMA closed TO flake_regress_owner;
GRANT USAGE ON SCHEMA closed TO flake_regress_user;
SET ROLE flake_regress_owner;
SELECT flake_create_generator('closed.orders_id');
SELECT flake_shard(flake_id(5, 'closed.orders_id'));
SELECT generator, horizon IS NOT NULL AS horizon, owner FROM flake_generators WHERE generator::text LIKE 'closed%';
SET ROLE flake_regress_user;
\x on
SELECT * FROM attempt($$SELECT flake_id(5, 'closed.orders_id')$$);
SELECT * FROM attempt($$SECURITY LABEL FOR flakeid ON SEQUENCE closed.orders_id IS 'seq:63'$$);
SELECT * FROM attempt($$SELECT flake_rewind('closed.orders_id', 1)$$);
SELECT code, message FROM attempt($$SELECT flake_advance('closed.orders_id', 1)$$);
SELECT code, message FROM attempt($$SELECT flake_would_exceed('closed.orders_id', 5, 1)$$);
\x off
SELECT generator, horizon IS NOT NULL AS horizon FROM flake_generators WHERE generator::text LIKE 'closed%';
SET ROLE flake_regress_owner;
GRANT USAGE ON SEQUENCE closed.orders_id TO flake_regress_user;
\x on
SELECT * FROM attempt($$SELECT flake_rewind('closed.orders_id', 1)$$);
\x off
SET ROLE flake_regress_user;
SELECT flake_shard(flake_id(5, 'closed.orders_id'));
SELECT flake_would_exceed('closed.orders_id', 5, 1);
SELECT code, message FROM attempt($$SELECT flake_advance('closed.orders_id', 1)$$);
RESET ROLE;
GRANT UPDATE ON SEQUENCE closed.orders_id TO flake_regress_user;
SET ROLE flake_regress_user;
SELECT flake_advance('closed.orders_id', 1);
RESET ROLE;
REVOKE USAGE ON SEQUENCE closed.orders_id FROM flake_regress_user;
SET ROLE flake_regress_user;
SELECT code FROM attempt($$SELECT flake_id(5, 'closed.orders_id')$$);
SELECT code FROM attempt($$SELECT flake_advance('closed.orders_id', 1)$$);
RESET ROLE;
SELECT 'closed.orders_id'::regclass::oid AS oid \gset
DROP OWNED BY flake_regress_owner;
SELECT count(*) FROM pg_seclabel WHERE objoid = :oid;
DROP ROLE flake_regress_owner;
DROP SCHEMA closed;
DROP ROLE flake_regress_user;
DROP SEQUENCE "Odd name.x", ordinary;
DROP TABLE a_table, counted;
DROP SCHEMA warehouse;
SELECT generator FROM flake_generators ORDER BY generator::text COLLATE "C";

-- the ends of a layout
SELECT flake_create_generator('last_numbers', 'segment', after => 9223372036854775804);
SELECT flake_id(0, 'last_numbers') FROM generate_series(1, 2);
SELECT flake_ids(0, 1, 'last_numbers');
SELECT flake_create_generator('unborn', 'ts:10 seq:10 unit=1s epoch=2200-01-01');
\x on
SELECT * FROM attempt($$SELECT flake_id(0, 'last_numbers')$$);
SELECT code, message, hint FROM attempt($$SELECT flake_id(0, 'unborn')$$);
\x off
DROP SEQUENCE last_numbers, unborn;
