--
-- Which shard a key belongs to, and which server a shard.
--
-- XXH64 with seed 0, as xxHash's own documentation and others' tests have it: of
-- nothing ef46db3751d8e999, of "a" d24ec4f1a98c6e5b, of "abc" 44bc2cf5ad770999.
CREATE FUNCTION modulo(hash text, shards int) RETURNS int LANGUAGE sql AS $$
    SELECT (((('x' || left(hash, 8))::bit(32)::bigint::numeric * 4294967296)
             + ('x' || right(hash, 8))::bit(32)::bigint) % shards)::int
$$;
SELECT key, shards, flake_shard_for(key, shards) AS shard, modulo(hash, shards) AS expected
FROM (VALUES ('', 'ef46db3751d8e999'), ('a', 'd24ec4f1a98c6e5b'), ('abc', '44bc2cf5ad770999')) AS v (key, hash),
     (VALUES (8192), (1000), (2147483647), (1)) AS w (shards);
-- a bigint is its bytes, the lowest first; a uuid is its bytes
SELECT flake_shard_for(x'0807060504030201'::bigint, 1000003) = flake_shard_for(E'\x01\x02\x03\x04\x05\x06\x07\x08'::text, 1000003) AS bigint,
       flake_shard_for('61626364-6566-6768-696a-6b6c6d6e6f70'::uuid, 1000003) = flake_shard_for('abcdefghijklmnop'::text, 1000003) AS uuid;
-- for who computes it elsewhere: these do not change
SELECT flake_shard_for(1), flake_shard_for(-1), flake_shard_for(31341, 64),
       flake_shard_for('alice@example.com'), flake_shard_for('507f1f77bcf86cd799439011', 64),
       flake_shard_for('00000134-d421-2d43-109a-dd5e0e8f0000'::uuid);
-- even
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
SELECT count(*) AS shards, min(count) > 100 AND max(count) < 500 AS even
FROM (SELECT flake_shard_for(i, 64), count(*) FROM generate_series(1, 16384) AS i GROUP BY 1) AS counts;
RESET debug_discard_caches;
SELECT flake_shard_for(NULL::bigint), flake_shard_for(5, NULL);
-- a text is its bytes in UTF-8, whatever the database's encoding
SET client_encoding = 'UTF8';
SELECT flake_shard_for('é') AS shard, current_database() AS database \gset
CREATE DATABASE flake_regress_latin1 TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C';
\c flake_regress_latin1
CREATE EXTENSION flakeid;
SET client_encoding = 'UTF8';
SELECT octet_length('é'), flake_shard_for('é') = :shard AS shard;
\c :database
DROP DATABASE flake_regress_latin1;
\x on
SELECT * FROM attempt('SELECT flake_shard_for(5, 0)');
SELECT * FROM attempt('SELECT flake_shard_for(''a'', -1)');
\x off

-- the map
INSERT INTO flake_shard_map VALUES ('[0,31]', 'one'), ('[32,63]', 'two');
SELECT flake_server(0), flake_server(31), flake_server(32), flake_server(63);
SELECT flake_server(flake_shard_for(31341, 64));
\x on
SELECT * FROM attempt('SELECT flake_server(64)');
SELECT code, message FROM attempt($$INSERT INTO flake_shard_map VALUES ('[60,70]', 'three')$$);
SELECT code, message FROM attempt($$INSERT INTO flake_shard_map VALUES ('empty', 'three')$$);
\x off
DELETE FROM flake_shard_map;
DROP FUNCTION modulo;
