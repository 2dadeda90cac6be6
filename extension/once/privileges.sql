-- Privileges
--
-- What is not here has PostgreSQL's own: anybody may execute functions and use
-- types, and nobody may do anything with tables, sequences and views.

-- Anybody may mint, until USAGE is revoked from PUBLIC; the role that created the
-- extension may afterwards, and may save and restore the horizons with pg_dump.
GRANT USAGE ON SEQUENCE @extschema@.flake_default, @extschema@.flake_default_uuid,
    @extschema@.flake_default_objectid TO PUBLIC;
GRANT ALL ON SEQUENCE @extschema@.flake_default, @extschema@.flake_default_uuid,
    @extschema@.flake_default_objectid TO @extowner@;

-- It may save and restore the tables, too.
GRANT SELECT, INSERT ON @extschema@.flake_shard_state, @extschema@.flake_leases TO @extowner@;
GRANT INSERT, UPDATE, DELETE, TRUNCATE ON @extschema@.flake_shard_map TO @extowner@;

GRANT SELECT ON @extschema@.flake_presets, @extschema@.flake_generators,
    @extschema@.flake_shards, @extschema@.flake_shard_map TO PUBLIC;
GRANT SELECT ON @extschema@.flake_leases TO pg_monitor;
GRANT SELECT ON @extschema@.flake_stat TO pg_monitor, @extowner@;

-- Superusers only
REVOKE ALL ON FUNCTION @extschema@.flake_rewind(regclass, bigint, boolean) FROM PUBLIC;

-- A lease keeps the server from minting the shard: that is for those who may.
REVOKE ALL ON FUNCTION @extschema@.flake_lease(text, interval, regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.flake_renew(text, interval, regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.flake_release(text, regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.flake_lease(text, interval, regclass) TO @extowner@;
GRANT EXECUTE ON FUNCTION @extschema@.flake_renew(text, interval, regclass) TO @extowner@;
GRANT EXECUTE ON FUNCTION @extschema@.flake_release(text, regclass) TO @extowner@;

-- What other users mint
REVOKE ALL ON FUNCTION @extschema@._flake_stat_slots() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.flake_stat_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@._flake_stat_slots() TO pg_monitor, @extowner@;
GRANT EXECUTE ON FUNCTION @extschema@.flake_stat_reset() TO @extowner@;
