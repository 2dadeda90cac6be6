-- Partitions by shard

CREATE OPERATOR CLASS @extschema@.flake_shard_ops FOR TYPE bigint USING hash AS
    OPERATOR 1 pg_catalog.= (bigint, bigint),
    FUNCTION 2 @extschema@._flake_shard_hash(bigint, bigint);

COMMENT ON OPERATOR CLASS @extschema@.flake_shard_ops USING hash IS
'for PARTITION BY HASH (id flake_shard_ops): a row is in the partition whose remainder is the shard of its id modulo the modulus, in the default layout; not for indexes: while there is one, no row can be inserted';
