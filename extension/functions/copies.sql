-- Copies and restores

CREATE FUNCTION @extschema@.flake_detach_all(generator regclass DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_detach_all'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_detach_all(regclass) IS
'lets this server mint no shard of a generator, null for all generators of the database, but those that flake_attach() attaches after this; also shards that were never used; ends all leases, whose shards stay detached; for a server that is a copy; errors: 25006 read-only, 42501 without USAGE and UPDATE on the generator, 42809 for those of wide ids and for what is no generator, 42P01 if it has been dropped, 55000 while a change to it is not committed';

CREATE FUNCTION @extschema@._flake_minting_defaults(tables oid[],
    OUT relation regclass, OUT attribute name, OUT shard int, OUT source regclass, OUT is_named boolean)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
    SELECT m.relation, m.attname, m.shard::int, coalesce(m.generator, '@extschema@.flake_default'::pg_catalog.regclass), m.generator IS NOT NULL
    FROM (SELECT f.adrelid::pg_catalog.regclass AS relation, a.attname,
                 substring(pg_catalog.pg_get_expr(f.adbin, f.adrelid) FROM '^[^(]*flake_id\((\d+)(?:, ''.*''::regclass)?\)$'::text) AS shard,
                 (SELECT g.oid::pg_catalog.regclass FROM pg_catalog.pg_depend s JOIN pg_catalog.pg_class g ON g.oid = s.refobjid AND g.relkind = 'S'
                  WHERE s.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass::pg_catalog.oid AND s.objid = f.oid AND s.refclassid = 'pg_catalog.pg_class'::pg_catalog.regclass::pg_catalog.oid) AS generator
          FROM pg_catalog.pg_attrdef f
          JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
          WHERE f.adrelid = ANY (tables)
            AND EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_attrdef'::pg_catalog.regclass::pg_catalog.oid AND d.objid = f.oid
                          AND d.refclassid = 'pg_catalog.pg_proc'::pg_catalog.regclass::pg_catalog.oid
                          AND d.refobjid IN ('@extschema@.flake_id(int)'::pg_catalog.regprocedure::pg_catalog.oid, '@extschema@.flake_id(int, regclass)'::pg_catalog.regprocedure::pg_catalog.oid))) AS m
    WHERE m.shard IS NOT NULL;
END;

COMMENT ON FUNCTION @extschema@._flake_minting_defaults(oid[]) IS
'the columns of tables whose default is flake_id(shard) or flake_id(shard, generator); for functions of flakeid';

CREATE FUNCTION @extschema@._flake_renumber_guarded(ticket @extschema@._flake_ticket,
    old_shards int[], new_shards int[], generator regclass, dry_run boolean)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET standard_conforming_strings = on
AS $function$
\i bodies/copies/renumber.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_renumber_guarded(@extschema@._flake_ticket, int[], int[], regclass, boolean) IS
'what flake_renumber() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_renumber(old_shards int[], new_shards int[],
    generator regclass DEFAULT '@extschema@.flake_default', dry_run boolean DEFAULT false)
RETURNS SETOF text
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s FROM @extschema@._flake_renumber_guarded(
        @extschema@._flake_guard('@extschema@'::text), old_shards, new_shards, generator, dry_run) s;
END;

COMMENT ON FUNCTION @extschema@.flake_renumber(int[], int[], regclass, boolean) IS
'lets everything that mints the old shards of a generator mint the new ones instead: column defaults flake_id(shard), checks of the shard on such columns, which then allow both, and flakeid.shard as set for databases and roles; detaches the old shards and attaches the new ones; for a server that is a copy; the statements for it, which were executed unless dry_run; errors: 22023 unless there is a new shard for each old one, and none twice, 22003 no such shard, 55000 if a new shard is in use here, or is another server''s by flake_shard_map, 0A000 for defaults that are not understood, 42501 unless the user is the owner of all tables or may be, may set what is set, and has USAGE and UPDATE on the generator, 42809 for those of wide ids and for what is no generator, 42P01 if it has been dropped, 55006 if an old shard is leased, 25001 not READ COMMITTED, 25006 read-only';

CREATE FUNCTION @extschema@._flake_restore_of(generator regclass,
    OUT accepted_timeline bigint, OUT timeline bigint, OUT reason text)
AS 'MODULE_PATHNAME', 'flake_restore_of'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_restore_of(regclass) IS
'the restore to an earlier time that a generator has gone through and nobody has accepted: the timeline on which it was made or accepted last, the present one, and where recovery ended, as PostgreSQL says it; nulls if there is none, on a standby, and if another session has locked the generator';

CREATE FUNCTION @extschema@._flake_restored(
    OUT generator regclass, OUT numbers boolean, OUT shards boolean,
    OUT accepted_timeline bigint, OUT timeline bigint, OUT reason text)
RETURNS SETOF record
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT f.generator, f.numbers, f.shards, r.accepted_timeline, r.timeline, r.reason
    FROM (SELECT g.generator, g.ends IS NULL AS numbers,
                 EXISTS (SELECT FROM @extschema@.flake_shards s WHERE s.generator::pg_catalog.oid OPERATOR(pg_catalog.=) g.generator::pg_catalog.oid)
                 OR g.generator::pg_catalog.oid NOT IN ('@extschema@.flake_default_uuid'::pg_catalog.regclass::pg_catalog.oid,
                                                        '@extschema@.flake_default_objectid'::pg_catalog.regclass::pg_catalog.oid)
                    AND (EXISTS (SELECT FROM @extschema@.flake_shard_map)
                         OR coalesce(pg_catalog.current_setting('flakeid.require_attach'::text, true), 'off'::text) = 'on'::text) AS shards
          FROM @extschema@.flake_generators g) f,
         LATERAL @extschema@._flake_restore_of(f.generator) r
    WHERE (f.numbers OR f.shards) AND r.timeline IS NOT NULL;
END;

COMMENT ON FUNCTION @extschema@._flake_restored() IS
'the generators that have gone through a restore to an earlier time which nobody has accepted, and that matters: numbers says that they have no time, so that numbers can come again, shards that what was detached, attached or leased may be forgotten; the rest is as in _flake_restore_of()';

CREATE FUNCTION @extschema@.flake_accept_restore()
RETURNS void
AS 'MODULE_PATHNAME', 'flake_accept_restore'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_accept_restore() IS
'says that all of this database''s generators are right after a restore to an earlier time, so that warnings of it end; after flake_advance(), flake_detach() and so on; not undone by ROLLBACK; errors: 25006 read-only, 42501 without EXECUTE, which only superusers have at first';
