-- What flakeid is compared with as things grow, and a place for what is measured. :floor is the
-- library of floor.c; :generators, how many generators, and as many sequences.

CREATE EXTENSION flakeid;

CREATE SCHEMA bench;

CREATE FUNCTION bench.floor(shard int) RETURNS bigint
AS :'floor', 'bench_floor' LANGUAGE C VOLATILE STRICT;
CREATE FUNCTION bench.floor(generator regclass) RETURNS bigint
AS :'floor', 'bench_floor' LANGUAGE C VOLATILE STRICT;

CREATE SEQUENCE bench.cache_1 CACHE 1;
CREATE SEQUENCE bench.cache_32 CACHE 32;

-- pgEdge snowflake keeps something else in log_cnt: sequences of its own
CREATE SEQUENCE bench.snowflake;

SELECT format('CREATE SEQUENCE bench.%s_%s', kind, i)
FROM generate_series(1, :generators) i, unnest('{sequence, snowflake}'::text[]) kind
\gexec
\o /dev/null
SELECT format('SELECT flake_create_generator(%L)', 'bench.generator_' || i) FROM generate_series(1, :generators) i
\gexec
\o

-- For transactions that stay open
CREATE TABLE bench.event (id bigint PRIMARY KEY DEFAULT flake_id(5));

\ir ../tables.sql
