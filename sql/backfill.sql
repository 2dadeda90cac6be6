--
-- Ids of past times: flake_backfill().
--
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET client_min_messages = warning;

-- A shard that is set aside
SELECT flake_detach(7900) > 0 AS bound;
SELECT state, backfilled FROM flake_shards WHERE shard = 7900;
CREATE TABLE old (created_at timestamptz, name text);
INSERT INTO old SELECT '2019-01-01Z'::timestamptz + n * interval '1 hour', 'row ' || n FROM generate_series(1000, 1, -1) n;
CREATE TABLE item (id bigint PRIMARY KEY, name text, created_at timestamptz);
INSERT INTO item SELECT flake_backfill(created_at, 7900), name, created_at FROM old ORDER BY created_at;
SELECT count(DISTINCT id), bool_and(flake_timestamp(id) = created_at) AS "their times",
       bool_and(flake_shard(id) = 7900) AS "their shard" FROM item;
SELECT flake_timestamp(backfilled) FROM flake_shards WHERE shard = 7900;
SELECT count(*) FROM item WHERE flake_between(id, '2019-01-02Z', '2019-01-03Z');

-- again: refused, and nothing has changed
\x on
SELECT * FROM attempt('INSERT INTO item SELECT flake_backfill(created_at, 7900), name FROM old ORDER BY created_at');
\x off
SELECT count(*) FROM item;

-- Rows of one time, or a little out of order, follow each other.
SELECT d.* FROM (SELECT flake_backfill('2020-01-01Z', 7900) AS id FROM generate_series(1, 3) OFFSET 0) AS s, flake_decode(id) AS d;
SELECT flake_timestamp(flake_backfill(t::timestamptz, 7900)) FROM unnest('{2020-01-01 00:00:10Z, 2020-01-01 00:00:05Z, 2019-12-31 23:59:59Z}'::text[]) t;
SELECT code, message FROM attempt($$SELECT flake_backfill('2019-12-31 23:59:50Z', 7900)$$);
-- a tick's sequence is used up
SELECT flake_detach(7901) > 0 AS bound;
SELECT count(DISTINCT id), min(flake_timestamp(id)), max(flake_timestamp(id))
FROM (SELECT flake_backfill('2020-01-01Z', 7901) AS id FROM generate_series(1, 10000)) AS s;

-- Undone: the ids come again.
SELECT flake_detach(7902) > 0 AS bound;
BEGIN;
SELECT flake_backfill('2020-01-01Z', 7902) AS first \gset
SAVEPOINT s;
ROLLBACK TO s;
ROLLBACK;
SELECT flake_backfill('2020-01-01Z', 7902) = :first AS "the same";
SELECT flake_backfill('2020-01-01Z', 7902) - :first AS "one more";
-- of a subtransaction they are lost
BEGIN;
SELECT flake_backfill('2020-01-02Z', 7902) AS kept \gset
SAVEPOINT s;
SELECT flake_backfill('2020-01-02Z', 7902) - :kept AS undone;
ROLLBACK TO s;
SELECT flake_backfill('2020-01-02Z', 7902) - :kept AS next;
COMMIT;
SELECT flake_backfill('2020-01-02Z', 7902) - :kept AS after;
BEGIN;
SAVEPOINT s;
SELECT flake_backfill('2020-01-03Z', 7902) AS undone \gset
ROLLBACK TO s;
SELECT flake_backfill('2020-01-03Z', 7902) - :undone AS "also if it was the first";
SAVEPOINT s;
SELECT flake_detach(7906) > 0 AS bound;
SELECT flake_shard(flake_backfill('2020-01-03Z', 7906));
ROLLBACK TO s;
SELECT code, message FROM attempt($$SELECT flake_backfill('2020-01-03Z', 7906)$$);
SAVEPOINT s;
SAVEPOINT t;
SELECT flake_shard(flake_backfill('2020-01-03Z', 7901));
RELEASE t;
ROLLBACK TO s;
COMMIT;
SELECT shard, state, flake_timestamp(backfilled) FROM flake_shards WHERE shard BETWEEN 7901 AND 7906 ORDER BY shard;

-- whatever the snapshot is, several shards, several generators
SELECT flake_create_generator('backfilled', 'ts:41 shard:5 seq:17 epoch=2020-01-01 start=zero');
SELECT flake_create_generator('later', 'ts:41 shard:5 seq:17 epoch=2021-01-01');
SELECT flake_detach(3, 'backfilled') > 0 AND flake_detach(3, 'later') > 0 AS bound;
BEGIN ISOLATION LEVEL SERIALIZABLE;
SELECT flake_decode(flake_backfill('2019-06-01Z', 3, 'backfilled'), flake_layout_of('backfilled'));
SELECT flake_shard(flake_backfill('2020-01-04Z', 7902)), flake_shard(flake_backfill('2020-01-04Z', 7901)),
       flake_sequence(flake_backfill('2019-06-01Z', 3, 'backfilled'), flake_layout_of('backfilled'));
SELECT flake_shard(flake_backfill('2020-01-04Z', shard)) FROM unnest('{7901, 7902, 7901}'::int[]) AS shard;
SELECT flake_timestamp(flake_backfill('2020-06-01Z', 3, g), flake_layout_of(g)) FROM unnest('{backfilled, later, backfilled}'::regclass[]) AS g;
COMMIT;
SELECT generator, shard, flake_timestamp(backfilled, flake_layout_of(generator)) FROM flake_shards WHERE shard IN (3, 7901, 7902) ORDER BY shard;

-- The latest time of which a shard has ids.
CREATE FUNCTION latest(int) RETURNS timestamptz LANGUAGE sql STABLE SECURITY DEFINER
RETURN (SELECT flake_timestamp(after) - interval '1 s' FROM flake_shard_state WHERE shard = $1);

-- Attached: next ids are above what was backfilled, and it cannot be again.
BEGIN;
SELECT flake_backfill(latest(7902), 7902) AS last \gset
SELECT flake_attach(7902);
SELECT code, message FROM attempt($$SELECT flake_backfill('2020-01-05Z', 7902)$$);
COMMIT;
SELECT flake_id(7902) > :last AS above, state, backfilled FROM flake_shards WHERE shard = 7902;
SELECT flake_detach(7902) > :last AS bound;
\x on
SELECT * FROM attempt($$SELECT flake_backfill(clock_timestamp(), 7902)$$);
\x off
-- detached again: the bound is above, too
SELECT flake_backfill(latest(7901), 7901) AS last \gset
SELECT flake_detach(7901) >= :last AS bound;
SELECT flake_backfill(latest(7901), 7901) > :last AS "goes on";
-- in the same transaction: the row has it at once
BEGIN;
SELECT flake_backfill(latest(7901), 7901) AS last \gset
SELECT flake_detach(7901) >= :last AS bound;
SELECT backfilled = :last AS written FROM flake_shards WHERE shard = 7901;
COMMIT;
-- attached in a subtransaction that is undone
BEGIN;
SELECT flake_backfill(latest(7901), 7901) AS last \gset
SAVEPOINT s;
SELECT flake_attach(7901);
ROLLBACK TO s;
COMMIT;
SELECT backfilled = :last AS kept, flake_backfill(latest(7901), 7901) > :last AS above FROM flake_shards WHERE shard = 7901;

-- In the transaction that detaches it
BEGIN;
SELECT flake_detach(7903) > 0 AS bound;
SELECT flake_decode(flake_backfill('2020-01-01Z', 7903));
ROLLBACK;

-- Refused
\x on
SELECT * FROM attempt($$SELECT flake_backfill('2020-01-01Z', 7904)$$);
SELECT flake_id(7905) > 0 AS minted, flake_detach(7905) > 0 AS detached;
SELECT * FROM attempt($$SELECT flake_backfill('2020-01-01Z', 7905)$$);
SELECT code, message ~ '^timestamp .* is in the future$' AS message, hint FROM attempt($$SELECT flake_backfill(now() + interval '1 hour', 7901)$$);
SELECT * FROM attempt($$SELECT flake_backfill('1950-01-01Z', 7901)$$);
SELECT code, message FROM attempt($$SELECT flake_backfill('infinity', 7901)$$);
SELECT code, message FROM attempt($$SELECT flake_backfill('-infinity', 7901)$$);
SELECT code, message FROM attempt($$SELECT flake_backfill('2020-01-01Z', 8192)$$);
SELECT code, message FROM attempt($$SELECT flake_backfill('2020-01-01Z', -1)$$);
SELECT flake_create_generator('numbers', 'segment');
SELECT flake_detach(0, 'numbers');
SELECT code, message FROM attempt($$SELECT flake_backfill('2020-01-01Z', 0, 'numbers')$$);
SELECT code, message FROM attempt($$SELECT flake_backfill('2020-01-01Z', 0, 'flake_default_uuid')$$);
SELECT code, message FROM attempt($$SELECT flake_backfill('2020-01-01Z', 0, 'item')$$);
SELECT flake_backfill(NULL, 7901) IS NULL AS "null";
\x off
BEGIN READ ONLY;
SELECT code, message FROM attempt($$SELECT flake_backfill('2020-01-01Z', 7901)$$);
COMMIT;

-- whose privileges count, also within a transaction
CREATE ROLE flake_minter;
GRANT EXECUTE ON FUNCTION attempt TO flake_minter;
BEGIN;
SELECT flake_shard(flake_backfill(latest(7901), 7901));
SET LOCAL ROLE flake_minter;
SELECT code, message FROM attempt($$SELECT flake_backfill(latest(7901), 7901)$$);
RESET ROLE;
SELECT flake_shard(flake_backfill(latest(7901), 7901));
COMMIT;
GRANT UPDATE ON SEQUENCE flake_default TO flake_minter;
SET ROLE flake_minter;
SELECT flake_shard(flake_backfill(latest(7901), 7901)) AS "with UPDATE and USAGE";
RESET ROLE;
REVOKE UPDATE ON SEQUENCE flake_default FROM flake_minter;
ALTER ROLE flake_minter SUPERUSER;
BEGIN;
SET LOCAL ROLE flake_minter;
SELECT flake_shard(flake_backfill(latest(7901), 7901)) AS "as superuser";
RESET ROLE;
ALTER ROLE flake_minter NOSUPERUSER;
SET LOCAL ROLE flake_minter;
SELECT code, message FROM attempt($$SELECT flake_backfill(latest(7901), 7901)$$);
COMMIT;
REVOKE EXECUTE ON FUNCTION attempt FROM flake_minter;
DROP ROLE flake_minter;

-- what is dropped in the transaction needs no row
BEGIN;
SELECT flake_shard(flake_backfill('2021-01-01Z', 3, 'backfilled'), flake_layout_of('backfilled'));
DROP SEQUENCE backfilled;
COMMIT;
BEGIN;
SELECT flake_shard(flake_backfill(latest(7901), 7901));
DELETE FROM flake_shard_state WHERE shard = 7901;
COMMIT;
SELECT state FROM flake_shards WHERE shard = 7901;

-- a copy: what its original backfills is not backfilled here
SELECT flake_create_generator('copied_old', 'instagram');
SELECT flake_detach(5, 'copied_old') > 0 AS bound;
SELECT flake_backfill(latest(5), 5, 'copied_old') AS last \gset
BEGIN;
SELECT flake_backfill(latest(5), 5, 'copied_old') AS last \gset
SELECT flake_detach_all('copied_old');
SELECT code, message FROM attempt($$SELECT flake_backfill('2021-01-01Z', 5, 'copied_old')$$);
COMMIT;
SELECT code, message FROM attempt($$SELECT flake_backfill('2021-01-01Z', 5, 'copied_old')$$);
SELECT after >= :last AS bound, backfilled FROM flake_shards WHERE generator = 'copied_old'::regclass AND shard = 5;
SELECT flake_attach(5, generator => 'copied_old');
SELECT flake_id(5, 'copied_old') > :last AS above;

DROP SEQUENCE copied_old, later, numbers;
DROP TABLE item, old;
DROP FUNCTION latest(int);
SET client_min_messages = warning;
DELETE FROM flake_shard_state;
RESET client_min_messages;
RESET timezone;
RESET datestyle;
