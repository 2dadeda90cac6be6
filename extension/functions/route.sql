-- Routing

CREATE FUNCTION @extschema@.flake_shard_for(key bigint, shards int DEFAULT 8192)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_for_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard_for(bigint, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s 8 bytes, little-endian, as an unsigned number modulo shards; error: 22023 if shards is less than 1';

CREATE FUNCTION @extschema@.flake_shard_for(key text, shards int DEFAULT 8192)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_for_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard_for(text, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s bytes in UTF-8, as an unsigned number modulo shards; error: 22023 if shards is less than 1';

CREATE FUNCTION @extschema@.flake_shard_for(key uuid, shards int DEFAULT 8192)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_for_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard_for(uuid, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s 16 bytes, as an unsigned number modulo shards; error: 22023 if shards is less than 1';

CREATE FUNCTION @extschema@.flake_server(shard int)
RETURNS name
AS 'MODULE_PATHNAME', 'flake_server'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_server(int) IS
'the server that holds a shard, from flake_shard_map; errors: 02000 if there is none, 42501 if you may not read that';
