-- What flakeid is compared with, and a place for what is measured. :floor is the library of
-- growth/floor.c.

CREATE EXTENSION flakeid;

CREATE SCHEMA bench;

SELECT flake_create_generator('bench.named') \g /dev/null
SELECT flake_create_generator('bench.leased') \g /dev/null
SELECT flake_create_generator('bench.numbers', 'segment') \g /dev/null
SELECT flake_create_generator('bench.past') \g /dev/null

CREATE SERVER bench_key FOREIGN DATA WRAPPER flake_key;
SELECT flake_add_key('bench_key') \g /dev/null

CREATE SEQUENCE bench.cache_1 CACHE 1;
CREATE SEQUENCE bench.cache_32 CACHE 32;

-- The function that Instagram published ("Sharding & IDs at Instagram",
-- Instagram Engineering, 2011): the same bits, made from a sequence modulo 1024
-- and the clock. Both come in by SELECT INTO, as they do there; it matters, as
-- PL/pgSQL would do an assignment in less time.
CREATE SCHEMA insta5;

CREATE SEQUENCE insta5.table_id_seq;

CREATE FUNCTION insta5.next_id(OUT id bigint)
LANGUAGE plpgsql AS $$
DECLARE
    epoch_ms CONSTANT bigint := 1314220021721;
    shard    CONSTANT int    := 5;
    now_ms   bigint;
    seq      bigint;
BEGIN
    SELECT nextval('insta5.table_id_seq') % 1024 INTO seq;
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000) INTO now_ms;
    id := (now_ms - epoch_ms) << 23;
    id := id | (shard << 10);
    id := id | seq;
END
$$;

CREATE FUNCTION bench.floor(shard int) RETURNS bigint
AS :'floor', 'bench_floor' LANGUAGE C VOLATILE STRICT;

-- Times of rows from the past
CREATE TABLE bench.old AS
SELECT '2020-01-01Z'::timestamptz + g * interval '1 ms' AS created_at
FROM generate_series(1, 1000000) AS g;
VACUUM ANALYZE bench.old;

\ir tables.sql
