--
-- Minting.
--
CREATE TABLE photo (
    id bigint PRIMARY KEY DEFAULT flake_id(5),
    n int
);

-- Ids in one statement increase in row order; none is ahead of the clock by
-- more than flakeid.max_ahead.
INSERT INTO photo (n) SELECT g FROM generate_series(1, 5000) AS g;
SELECT count(*), count(DISTINCT id), min(flake_shard(id)), max(flake_shard(id))
FROM photo;
SELECT count(*) AS out_of_order
FROM (SELECT n, lag(n) OVER (ORDER BY id) AS n_before FROM photo) AS ordered
WHERE n_before > n;
SELECT count(*) AS ahead FROM photo
WHERE flake_timestamp(id) > clock_timestamp() + interval '15 s';

-- every way to fill a column
TRUNCATE photo;
INSERT INTO photo (n) VALUES (1), (2), (3);
INSERT INTO photo DEFAULT VALUES;
COPY photo (n) FROM stdin;
4
5
\.
PREPARE one_photo (int) AS INSERT INTO photo (n) VALUES ($1);
EXECUTE one_photo (6);
EXECUTE one_photo (7);
EXECUTE one_photo (8);
EXECUTE one_photo (9);
EXECUTE one_photo (10);
EXECUTE one_photo (11);
EXECUTE one_photo (12);
UPDATE photo SET id = DEFAULT WHERE n = 1;
SELECT count(*), count(DISTINCT id) FROM photo;
SELECT array_agg(n ORDER BY id) FROM photo;

CREATE FUNCTION set_photo_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.id := flake_id(NEW.n);
    RETURN NEW;
END
$$;
CREATE TRIGGER set_photo_id BEFORE INSERT ON photo
    FOR EACH ROW EXECUTE FUNCTION set_photo_id();
INSERT INTO photo (n) VALUES (100), (8191), (0) RETURNING n, flake_shard(id) AS shard;
DROP TRIGGER set_photo_id ON photo;
DROP FUNCTION set_photo_id();

-- the shard from a setting
SELECT flake_id();
SET flakeid.shard = 42;
SELECT flake_shard(flake_id());
BEGIN;
SET LOCAL flakeid.shard = 43;
SELECT flake_shard(flake_id());
COMMIT;
SELECT flake_shard(flake_id());
SET flakeid.shard = 0;
SELECT flake_shard(flake_id());
SET flakeid.shard = 9000;
SELECT flake_id();
RESET flakeid.shard;

-- many at once: distinct, ascending, adjacent, of one shard
SELECT count(*), count(DISTINCT id), min(flake_shard(id)), max(flake_shard(id)),
       bool_and(id > before) AS ascending
FROM (SELECT id, lag(id, 1, 0) OVER () AS before FROM flake_ids(9, 3000) AS id) AS ids;
SELECT count(*) FROM flake_ids(9, 0);
SELECT count(*) FROM (SELECT flake_ids(9, 10) LIMIT 3) AS first_three;
SELECT (SELECT max(id) FROM flake_ids(9, 100) AS id) = flake_last_id() AS "last is the last of many";

-- a sibling is on the shard of its sibling, and later
SELECT flake_shard(s) AS shard, s > id AS later
FROM (SELECT id, flake_sibling(id) AS s FROM flake_id(77) AS id) AS pair;

-- the last id of the session
SELECT flake_id(11) = flake_last_id() AS same;
SELECT flake_sibling(flake_make('2020-01-01', 12, 0)) = flake_last_id() AS same;
BEGIN;
SELECT flake_id(13) AS id \gset
ROLLBACK;
SELECT flake_last_id() = :id AS "also after a rollback";
\c -
SELECT flake_last_id();

-- an id is used up also by who rolls back
BEGIN;
SELECT flake_id(14) AS id \gset
ROLLBACK;
SELECT flake_id(14) > :id AS later;

-- a query may be parallel, but it is its leader that mints
CREATE TABLE source AS SELECT g AS n FROM generate_series(1, 50000) AS g;
ANALYZE source;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
EXPLAIN (COSTS OFF, VERBOSE) CREATE TABLE copied AS SELECT flake_id(15) AS id, n FROM source;
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
CREATE TABLE copied AS SELECT flake_id(15) AS id, n FROM source;
SELECT count(*), count(DISTINCT id), count(DISTINCT n) FROM copied;
SELECT flake_shard(flake_last_id()) AS shard;
RESET debug_discard_caches;
-- a function that hides this from the planner is refused
CREATE FUNCTION hidden(command text) RETURNS text LANGUAGE plpgsql PARALLEL SAFE AS $$
DECLARE
    result text;
BEGIN
    EXECUTE command INTO result;
    RETURN result;
END
$$;
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
SELECT count(hidden('SELECT flake_id(15)')) FROM source;
SET flakeid.shard = 15;
\set VERBOSITY sqlstate
SELECT count(hidden('SELECT flake_id()')) FROM source;
SELECT count(hidden('SELECT flake_id(15, $$flake_default$$)')) FROM source;
SELECT count(hidden('SELECT count(*) FROM flake_ids(15, 2)')) FROM source;
SELECT count(hidden('SELECT flake_sibling(1)')) FROM source;
SELECT count(hidden('SELECT flake_objectid()')) FROM source;
\set VERBOSITY default
-- what only looks is not
SELECT count(hidden('SELECT flake_shard(1) + length(flake_layout_of($$flake_default$$)::text)')) FROM source;
SELECT count(hidden('SELECT flake_horizon($$flake_default$$)')) FROM source;
RESET debug_discard_caches;
DROP FUNCTION hidden;
RESET ALL;

DROP TABLE photo, source, copied;

-- inlined into compiled expressions, where the server has a JIT compiler
SET jit = on;
SET jit_above_cost = 0;
SET jit_inline_above_cost = 0;
SET jit_optimize_above_cost = 0;
SELECT count(DISTINCT flake_id(16)) AS ids,
       count(DISTINCT flake_shard(flake_sibling(flake_make(now(), n, 0)))) AS shards,
       count(DISTINCT flake_explain(n)) AS explained
FROM generate_series(1, 100) AS n;
RESET ALL;
