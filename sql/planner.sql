--
-- What the planner makes of ids: how many rows it expects, and which partitions it
-- leaves out.
--
SET timezone = 'UTC';

-- the plan of a query, after it was executed
CREATE FUNCTION plan_of(query text) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
    plan jsonb;
BEGIN
    EXECUTE 'EXPLAIN (ANALYZE, TIMING OFF, FORMAT JSON) ' || query INTO plan;
    RETURN plan->0->'Plan';
END
$$;
-- whether the planner expects the number of rows that there are, within a factor
CREATE FUNCTION is_expected(query text, factor float8) RETURNS boolean LANGUAGE sql
RETURN (SELECT greatest(expected, 1) BETWEEN greatest(actual, 1) / factor AND greatest(actual, 1) * factor
        FROM (SELECT (plan->>'Plan Rows')::float8, (plan->>'Actual Rows')::float8
              FROM plan_of(query) AS plan) AS rows (expected, actual));
-- the tables that a query reads
CREATE FUNCTION read_by(query text) RETURNS text LANGUAGE sql
RETURN (SELECT string_agg(DISTINCT node->>'Relation Name', ' ' ORDER BY node->>'Relation Name')
        FROM jsonb_path_query(plan_of(query), 'strict $.** ? (exists (@."Relation Name") && @."Actual Loops" > 0)') AS node);

--
-- How many rows
--
-- 30 days, 64 shards
CREATE TABLE event (id bigint PRIMARY KEY, n int);
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
INSERT INTO event
SELECT flake_make(now() - interval '30 days' + n * interval '25.92 s', n % 64, 0), n FROM generate_series(1, 100000) AS n;
RESET debug_discard_caches;
ANALYZE event;
CREATE TABLE log (LIKE event, PRIMARY KEY (id)) PARTITION BY RANGE (id);
SELECT count(*) FROM flake_create_partitions('log', '1 day', now() - interval '31 days', now() + interval '1 day') HAVING count(*) < 32;
SET debug_discard_caches = 0;
INSERT INTO log SELECT * FROM event;
RESET debug_discard_caches;
ANALYZE log;

SELECT name, query, is_expected(format(query, name), 2)
FROM unnest('{event,log}'::text[]) AS name,
     unnest(ARRAY[
         $$SELECT * FROM %I WHERE flake_between(id, '-infinity', 'infinity')$$,
         $$SELECT * FROM %I WHERE flake_between(id, now() - interval '20 days', now() - interval '10 days')$$,
         $$SELECT * FROM %I WHERE flake_between(id, now() - interval '1 day', 'infinity')$$,
         $$SELECT * FROM %I WHERE flake_between(id, now() - interval '1 day', 'infinity', flake_layout_of('flake_default'))$$,
         $$SELECT * FROM %I WHERE flake_between(id, now() - interval '2 hours', now() + interval '1 minute')$$,
         $$SELECT * FROM %I WHERE id > flake_lower(now() - interval '2 hours')$$]) AS query
ORDER BY query, name;
SELECT is_expected($$SELECT * FROM event WHERE flake_between(id, now() + interval '1 hour', 'infinity')$$, 2);
-- literals, which the planner folds
SELECT is_expected(format('SELECT * FROM event WHERE flake_between(id, %L, %L)', now() - interval '2 days', now() - interval '1 day'), 2);
-- a prepared statement of which the values are known
PREPARE since (timestamptz) AS SELECT * FROM event WHERE flake_between(id, $1, 'infinity');
SET plan_cache_mode = force_custom_plan;
SELECT is_expected('EXECUTE since (now() - interval ''1 day'')', 2);
RESET plan_cache_mode;
-- a join
SELECT is_expected($$SELECT * FROM event JOIN log USING (id) WHERE flake_between(id, now() - interval '1 day', 'infinity')$$, 5);

-- Of a shard it knows nothing, but with statistics.
SELECT is_expected('SELECT * FROM event WHERE flake_shard(id) = 5', 2) AS of_shard,
       is_expected('SELECT flake_shard(id) FROM event GROUP BY 1', 2) AS of_shards;
CREATE STATISTICS event_shard ON flake_shard(id) FROM event;
ANALYZE event;
SELECT is_expected('SELECT * FROM event WHERE flake_shard(id) = 5', 2) AS of_shard,
       is_expected('SELECT flake_shard(id) FROM event GROUP BY 1', 2) AS of_shards,
       is_expected($$SELECT * FROM event WHERE flake_shard(id) = 5 AND flake_between(id, now() - interval '10 days', 'infinity')$$, 2) AS and_time;

--
-- Partitions by shard: a condition on the id finds them
--
CREATE TABLE photo (id bigint PRIMARY KEY, n int) PARTITION BY HASH (id flake_shard_ops);
CREATE TABLE comment (
    photo_id bigint REFERENCES photo, id bigint, PRIMARY KEY (photo_id, id)
) PARTITION BY HASH (photo_id flake_shard_ops);
SELECT format('CREATE TABLE %s_%s PARTITION OF %1$s FOR VALUES WITH (MODULUS 4, REMAINDER %2$s)', name, n)
FROM unnest('{photo,comment}'::text[]) AS name, generate_series(0, 3) AS n \gexec
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
INSERT INTO photo SELECT flake_make('2026-01-01', n % 8192, n / 8192), n FROM generate_series(0, 32767) AS n;
INSERT INTO comment SELECT id, id + 512 FROM photo WHERE n < 8192;
RESET debug_discard_caches;
ANALYZE photo, comment;
-- each row is in the partition of its shard, also before the epoch
INSERT INTO photo VALUES (-9223372036854775808, 0), (9223372036854775807, 0), (-1, 0), (0, 0);
SELECT tableoid::regclass AS partition, count(*), count(DISTINCT flake_shard(id)) AS shards,
       bool_and(flake_shard(id) % 4 = split_part(tableoid::regclass::text, '_', 2)::int) AS right
FROM photo GROUP BY 1 ORDER BY 1;
SELECT tableoid::regclass AS partition, count(*)
FROM comment GROUP BY 1 ORDER BY 1;

SELECT id AS photo FROM photo WHERE n = 26 \gset
SELECT id AS beside FROM photo WHERE n = 30 \gset
SELECT id AS other FROM photo WHERE n = 27 \gset
SELECT flake_shard(:photo), flake_shard(:beside), flake_shard(:other);
SELECT read_by(format('SELECT * FROM photo WHERE id = %s', :photo)),
       read_by(format('SELECT * FROM photo WHERE id IN (%s, %s)', :photo, :beside)),
       read_by(format('SELECT * FROM photo WHERE id IN (%s, %s)', :photo, :other)),
       read_by(format('UPDATE photo SET n = n WHERE id = %s', :photo)),
       read_by(format('SELECT * FROM photo JOIN comment ON photo_id = photo.id WHERE photo.id = %s', :photo));
PREPARE find (bigint) AS SELECT * FROM photo WHERE id = $1;
SET plan_cache_mode = force_generic_plan;
SELECT read_by(format('EXECUTE find (%s)', :photo)), read_by(format('EXECUTE find (%s)', :other));
RESET plan_cache_mode;
-- a nested loop, for each row by itself
SET enable_hashjoin = off;
SET enable_mergejoin = off;
SELECT read_by(format('SELECT * FROM (VALUES (%s), (%s)) AS wanted (id) JOIN photo USING (id)', :photo, :beside));
RESET enable_hashjoin;
RESET enable_mergejoin;
-- parents and children, partition by partition
SET enable_partitionwise_join = on;
SELECT plan_of('SELECT * FROM photo JOIN comment ON photo_id = photo.id')->>'Node Type' AS "joins at the top";
RESET enable_partitionwise_join;

-- the key's foreign key, and its uniqueness
INSERT INTO comment VALUES (1, 1);
INSERT INTO photo VALUES (:photo, 0);
INSERT INTO photo_1 VALUES (:photo + 1024, 0);
INSERT INTO photo_1 VALUES (:photo, 0);
SELECT pg_get_partkeydef('photo'::regclass);

-- The operator class changes nothing for joins that have nothing to do with it: it
-- has no hash of 32 bits, which they could take.
SELECT amprocnum, amproc FROM pg_amproc
WHERE amprocfamily = (SELECT opcfamily FROM pg_opclass WHERE opcname = 'flake_shard_ops');
SET enable_mergejoin = off;
SET enable_nestloop = off;
SELECT plan_of('SELECT FROM event JOIN log USING (id)')->>'Node Type' AS node;
RESET enable_mergejoin;
RESET enable_nestloop;

DROP TABLE event, log, photo, comment;
DROP FUNCTION is_expected, read_by, plan_of;
