-- Privileges
--
-- What is not here has PostgreSQL's own: anybody may execute functions and use
-- types, and nobody may do anything with tables, sequences and views.

-- Nobody has more, whatever ALTER DEFAULT PRIVILEGES has granted: on relations
-- nothing but what is granted below, and so on the functions that are listed.
DO $revoke$
DECLARE
    command pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    FOR command IN
        SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', o.name, CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END)
        FROM (SELECT format('%s %s', CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END, c.oid::regclass), c.relowner, c.relacl
              FROM pg_class c
              JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
              JOIN pg_extension x ON d.refclassid = 'pg_extension'::regclass AND x.oid = d.refobjid AND x.extname = 'flakeid'
              UNION ALL
              SELECT format('FUNCTION %s', p.oid::regprocedure), p.proowner, coalesce(p.proacl, acldefault('f', p.proowner))
              FROM pg_proc p
              WHERE p.oid IN (
                  '@extschema@.flake_rewind(regclass, bigint, boolean)'::regprocedure,
                  '@extschema@.flake_accept_restore()'::regprocedure,
                  '@extschema@.flake_lease(text, interval, regclass)'::regprocedure,
                  '@extschema@.flake_renew(text, interval, regclass)'::regprocedure,
                  '@extschema@.flake_release(text, regclass)'::regprocedure,
                  '@extschema@.flake_accept_clock()'::regprocedure,
                  '@extschema@._flake_clock_guard()'::regprocedure,
                  '@extschema@._flake_stat_slots()'::regprocedure,
                  '@extschema@._flake_health_elsewhere()'::regprocedure,
                  '@extschema@._flake_restore_of(regclass)'::regprocedure,
                  '@extschema@._flake_restored()'::regprocedure,
                  '@extschema@._flake_holders()'::regprocedure,
                  '@extschema@.flake_stat_reset()'::regprocedure)) AS o (name, owner, acl)
        CROSS JOIN LATERAL aclexplode(o.acl) AS e
        WHERE e.grantee <> o.owner
    LOOP
        EXECUTE command;
    END LOOP;
END
$revoke$;

-- Anybody may mint, until SELECT is revoked from PUBLIC.  Not USAGE, with which anybody
-- could lock their pages by nextval().
GRANT SELECT ON SEQUENCE @extschema@.flake_default, @extschema@.flake_default_uuid,
    @extschema@.flake_default_objectid, @extschema@.flake_default_uuidv7 TO PUBLIC;

GRANT SELECT ON @extschema@.flake_presets, @extschema@.flake_generators,
    @extschema@.flake_shards, @extschema@.flake_shard_map, @extschema@.flake_migration TO PUBLIC;

-- What other users mint
GRANT SELECT ON @extschema@.flake_leases, @extschema@.flake_stat, @extschema@.flake_unsettled,
    @extschema@.flake_health TO pg_monitor;
GRANT EXECUTE ON FUNCTION @extschema@._flake_stat_slots(), @extschema@._flake_health_elsewhere(),
    @extschema@._flake_holders(), @extschema@._flake_clock_guard(), @extschema@._flake_restore_of(regclass),
    @extschema@._flake_restored() TO pg_monitor;

-- The role that creates the extension.  PostgreSQL's mark for its name is in no script:
-- the name could have the mark for the schema, whose quotes would end it.
--
-- flake_rewind() and flake_accept_restore() are for superusers only; so is
-- flake_accept_clock(), until they grant it.
DO $grant$
DECLARE
    creator pg_catalog.text;
    granted pg_catalog.text;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    SELECT quote_ident(pg_get_userbyid(x.extowner)) INTO STRICT creator FROM pg_extension x WHERE x.extname = 'flakeid';
    FOREACH granted IN ARRAY ARRAY[
        -- It may mint, and may save and restore the horizons and the tables with pg_dump.
        'ALL ON SEQUENCE @extschema@.flake_default, @extschema@.flake_default_uuid,
            @extschema@.flake_default_objectid, @extschema@.flake_default_uuidv7',
        'SELECT, INSERT ON @extschema@.flake_shard_state, @extschema@.flake_leases',
        'INSERT, UPDATE, DELETE, TRUNCATE ON @extschema@.flake_shard_map',
        -- It may make named keys.
        'USAGE ON FOREIGN DATA WRAPPER flake_key',
        -- A lease keeps the server from minting the shard: that is for those who may.
        'EXECUTE ON FUNCTION @extschema@.flake_lease(text, interval, regclass)',
        'EXECUTE ON FUNCTION @extschema@.flake_renew(text, interval, regclass)',
        'EXECUTE ON FUNCTION @extschema@.flake_release(text, regclass)',
        -- What other users mint
        'SELECT ON @extschema@.flake_stat, @extschema@.flake_unsettled, @extschema@.flake_health',
        'EXECUTE ON FUNCTION @extschema@._flake_stat_slots(), @extschema@._flake_health_elsewhere(),
            @extschema@._flake_holders(), @extschema@._flake_clock_guard(), @extschema@._flake_restore_of(regclass),
            @extschema@._flake_restored(), @extschema@.flake_stat_reset()']
    LOOP
        EXECUTE format('GRANT %s TO %s', granted, creator);
    END LOOP;
END
$grant$;
