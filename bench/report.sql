-- What the figures of make bench are compared with, and its bars; prints them, and writes
-- the tables with tabs, for gnuplot, to the file named by :to_draw, too.

-- What a section's rows are compared with.
INSERT INTO bench.base VALUES
    ('a million calls', 'ms', 'flake_id(5)'),
    ('a million shards', 'ms', 'flake_id(one)'),
    ('a million ids of the past', 'ms', 'flake_id(5)'),
    ('decoding a million ids', 'ms', 'abs(id)'),
    ('text forms', 'us a call', 'id::text'),
    ('sealed ids', 'us a call', 'clock_timestamp()'),
    ('a session for each id, not preloaded', 'ms', 'nextval() CACHE 1'),
    ('a session for each id, preloaded', 'ms', 'nextval() CACHE 1'),
    ('a million ids, counting', 'ms of processor', 'not counted'),
    ('a million ids, flake_stat read', 'ms of processor', 'not read'),
    ('one id per transaction', 'ids/s', 'flake_id(5)'),
    ('a transaction of one id', 'us a call', 'unregistered'),
    ('one row per transaction', 'rows/s', 'nobody asks'),
    ('what is settled', 'us a call', 'one shard'),
    ('fences and leases', 'us a call', 'no change'),
    ('10,000 ids per statement', 'ids/s', 'flake_id(shard)'),
    ('inserting a million rows', 'ms', 'flake_id(5)'),
    ('inserting a million rows', 'MB of index', 'flake_id(5)'),
    ('one shard flat out', 'ids/s', 'what the layout has'),
    ('max_ahead = 0', 'ids/s', 'what the layout has');

INSERT INTO bench.bar (name, measured, low, high) VALUES
    ('a million flake_id(5), at most 1.10 x clock_timestamp()',
     bench.median('a million calls', 'flake_id(5)') /
     bench.median('a million calls', 'clock_timestamp()'),
     NULL, 1.10),
    ('a million nextval() CACHE 1, at least 2.0 x flake_id(5)',
     bench.median('a million calls', 'nextval() CACHE 1') /
     bench.median('a million calls', 'flake_id(5)'),
     2.0, NULL),
    ('a million PL/pgSQL, at least 20 x flake_id(5)',
     bench.median('a million calls', 'PL/pgSQL') /
     bench.median('a million calls', 'flake_id(5)'),
     20, NULL),
    ('flake_id() on 8,192 shards at random, at most 1.6 x one shard',
     bench.median('a million shards', 'flake_id(random of 8,192)') /
     bench.median('a million shards', 'flake_id(one)'),
     NULL, 1.6),
    ('16 clients, 10,000 ids per statement, at least 2.2 x nextval() CACHE 1',
     bench.median('10,000 ids per statement', 'flake_id(shard)', 16, 'ids/s') /
     bench.median('10,000 ids per statement', 'nextval() CACHE 1', 16, 'ids/s'),
     2.2, NULL),
    ('a million ids of a named generator, at most 1.25 x flake_id(5)',
     bench.median('a million calls', 'flake_id(5, named)') /
     bench.median('a million calls', 'flake_id(5)'),
     NULL, 1.25),
    ('16 clients, 10,000 numbers of a segment per statement, at least 2 x nextval() CACHE 1',
     bench.median('10,000 ids per statement', 'flake_id(0, segment)', 16, 'ids/s') /
     bench.median('10,000 ids per statement', 'nextval() CACHE 1', 16, 'ids/s'),
     2, NULL),
    ('a million flake_backfill(), at most 2.0 x flake_id(5)',
     bench.median('a million ids of the past', 'flake_backfill()') /
     bench.median('a million ids of the past', 'flake_id(5)'),
     NULL, 2.0),
    ('inserting a million rows, at most 0.90 x nextval() CACHE 1',
     bench.median('inserting a million rows', 'flake_id(5)') /
     bench.median('inserting a million rows', 'nextval() CACHE 1'),
     NULL, 0.90),
    ('flake_timestamp(), at most 1.15 x abs()',
     bench.median('decoding a million ids', 'flake_timestamp(id)') /
     bench.median('decoding a million ids', 'abs(id)'),
     NULL, 1.15),
    ('flake_shard(), at most 1.15 x abs()',
     bench.median('decoding a million ids', 'flake_shard(id)') /
     bench.median('decoding a million ids', 'abs(id)'),
     NULL, 1.15),
    ('flake_sequence(), at most 1.15 x abs()',
     bench.median('decoding a million ids', 'flake_sequence(id)') /
     bench.median('decoding a million ids', 'abs(id)'),
     NULL, 1.15),
    ('flake_to_text() in any base, at most 1.5 x id::text',
     (SELECT max(ratio)::numeric FROM bench.summary
      WHERE section = 'text forms' AND contender LIKE 'flake_to_text%'),
     NULL, 1.5),
    ('flake_from_text() in any base, at most 1.5 x id::text',
     (SELECT max(ratio)::numeric FROM bench.summary
      WHERE section = 'text forms' AND contender LIKE 'flake_from_text%'),
     NULL, 1.5),
    ('sealing and unsealing an id, also with a named key, at most 1 us',
     (SELECT max(median)::numeric FROM bench.summary
      WHERE section = 'sealed ids' AND contender LIKE '%seal%'),
     NULL, 1),
    ('a million flake_uuidv7(5), at most 0.4 x gen_random_uuid()',
     bench.median('a million calls', 'flake_uuidv7(5)') /
     bench.median('a million calls', 'gen_random_uuid()'),
     NULL, 0.4),
    ('inserting a million rows with flake_uuidv7(5), at most 0.5 x gen_random_uuid()',
     bench.median('inserting a million rows', 'flake_uuidv7(5)') /
     bench.median('inserting a million rows', 'gen_random_uuid()'),
     NULL, 0.5),
    ('MB of their index, at most 0.85 x gen_random_uuid()',
     bench.median('inserting a million rows', 'flake_uuidv7(5)', 1, 'MB of index') /
     bench.median('inserting a million rows', 'gen_random_uuid()', 1, 'MB of index'),
     NULL, 0.85),
    ('minting with the counting for flake_stat, at most 1.05 x without',
     bench.median('a million ids, counting', 'counted', 1, 'ms of processor') /
     bench.median('a million ids, counting', 'not counted', 1, 'ms of processor'),
     NULL, 1.05),
    ('minting while flake_stat is read ten times a second, at most 1.05 x while it is not',
     bench.median('a million ids, flake_stat read', 'read', 1, 'ms of processor') /
     bench.median('a million ids, flake_stat read', 'not read', 1, 'ms of processor'),
     NULL, 1.05),
    ('registering for flake_settled(), at most 0.02 of a transaction that inserts a row',
     (bench.median('a transaction of one id', 'registered', 1, 'us a call') -
      bench.median('a transaction of one id', 'unregistered', 1, 'us a call')) /
     (1000000 / bench.median('one row per transaction', 'nobody asks', 1, 'rows/s')),
     NULL, 0.02),
    ('flake_settled() with 90 transactions that have minted, at most 20 us',
     bench.median('what is settled', '8,192 shards, 90 transactions', 1, 'us a call'),
     NULL, 20),
    ('flake_settled() with 8,192 shards, at most 1.25 x with one',
     bench.median('what is settled', '8,192 shards', 1, 'us a call') /
     bench.median('what is settled', 'one shard', 1, 'us a call'),
     NULL, 1.25),
    ('horizon flushes per second at 1,000 ids/s, at most 0.5',
     bench.median('horizon', '1,000 ids/s', 1, 'flushes/s'),
     NULL, 0.5),
    ('horizon flushes per second flat out on one shard, at most 6',
     bench.median('horizon', 'flat out', 16, 'flushes/s'),
     NULL, 6),
    ('horizon flushes per second with max_ahead = 0, at most 6',
     bench.median('horizon', 'max_ahead = 0', 1, 'flushes/s'),
     NULL, 6),
    ('horizon flushes while idle, at most 0',
     bench.median('horizon', 'idle', 1, 'flushes/s'),
     NULL, 0),
    ('a session for its first id, at most 0.4 ms more than for nextval()',
     bench.median('a session for each id, not preloaded', 'flake_id(5)') -
     bench.median('a session for each id, not preloaded', 'nextval() CACHE 1'),
     NULL, 0.4),
    ('the same, at most 4 x as much more as a small library',
     (bench.median('a session for each id, not preloaded', 'flake_id(5)') -
      bench.median('a session for each id, not preloaded', 'nextval() CACHE 1')) /
     (bench.median('a session for each id, not preloaded', 'a small library') -
      bench.median('a session for each id, not preloaded', 'nextval() CACHE 1')),
     NULL, 4),
    ('the same with flakeid preloaded, at most 0.1 ms more',
     bench.median('a session for each id, preloaded', 'flake_id(5)') -
     bench.median('a session for each id, preloaded', 'nextval() CACHE 1'),
     NULL, 0.1),
    ('bytes of shared memory per shard, at most 192',
     bench.median('shared memory', 'a shard', 1, 'bytes'),
     NULL, 192),
    ('max_ahead = 0: share of the layout''s ids one session gets, at least 0.95',
     bench.median('max_ahead = 0', 'flake_id(shard)', 1, 'ids/s') /
     bench.median('max_ahead = 0', 'what the layout has', 1, 'ids/s'),
     0.95, NULL);

-- Where PostgreSQL has uuidv7()
INSERT INTO bench.bar (name, measured, low, high)
SELECT name, measured, NULL, high
FROM (VALUES
    ('a million flake_uuidv7(5), at most 0.4 x uuidv7()',
     bench.median('a million calls', 'flake_uuidv7(5)') /
     bench.median('a million calls', 'uuidv7()'),
     0.4),
    ('inserting a million rows with flake_uuidv7(5), at most 1.0 x uuidv7()',
     bench.median('inserting a million rows', 'flake_uuidv7(5)') /
     bench.median('inserting a million rows', 'uuidv7()'),
     1.0),
    ('MB of their index, at most 1.02 x uuidv7()',
     bench.median('inserting a million rows', 'flake_uuidv7(5)', 1, 'MB of index') /
     bench.median('inserting a million rows', 'uuidv7()', 1, 'MB of index'),
     1.02)) AS bar (name, measured, high)
WHERE measured IS NOT NULL;

\ir print.sql

-- For gnuplot
\pset format csv
\pset csv_fieldsep '\t'
\o :to_draw
TABLE bench.result;
\o
