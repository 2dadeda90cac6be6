-- Copies and restores

CREATE FUNCTION @extschema@.flake_detach_all(generator regclass DEFAULT NULL)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_detach_all'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_detach_all(regclass) IS
'lets this server mint no shard of a generator, null for all generators of the database, but those that flake_attach() attaches after this; also shards that were never used; ends all leases, whose shards stay detached; for a server that is a copy; errors: 25006 read-only, 42501 without UPDATE on the generator and the right to mint from it, 42809 for those of wide ids and for what is no generator, 42P01 if it has been dropped, 53200 if there are more generators than max_locks_per_transaction leaves room for, 55000 while a change to it is not committed';

CREATE FUNCTION @extschema@._flake_minted_shard(expression pg_node_tree)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_minted_shard'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_minted_shard(pg_node_tree) IS
'the shard that a default flake_id(shard) or flake_id(shard, generator), or flake_uuidv7() in its place, mints, with constants; null for anything else, and for what is longer than 8 kB; locks nothing; for flake_renumber()';

CREATE FUNCTION @extschema@._flake_checked_shards(expression pg_node_tree,
    OUT attribute smallint, OUT shards int[], OUT layout @extschema@.flake_layout)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_checked_shards'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_checked_shards(pg_node_tree) IS
'the column that a check flake_shard(column, layout) = ANY (shards) is of, the shards that it allows, and the layout, null if that is left out; nulls for anything else, and for what is longer than 32 kB; locks nothing; for flake_renumber() and flake_create_shard()';

CREATE FUNCTION @extschema@._flake_minting_defaults(generator regclass,
    OUT relation oid, OUT attribute name, OUT owner oid, OUT description text, OUT shard int, OUT is_named boolean)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
\i bodies/copies/minting_defaults.sql
END;

COMMENT ON FUNCTION @extschema@._flake_minting_defaults(regclass) IS
'the defaults of columns that may mint from a generator, and of domains, which have no relation; with the shard of flake_id(shard) and flake_id(shard, generator), and null if it is not known; for flake_renumber()';

CREATE FUNCTION @extschema@._flake_shard_checks(relations oid[], attributes name[], shards int[], old_shards int[], new_shards int[],
    own_layout @extschema@.flake_layout,
    OUT relation oid, OUT command text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET standard_conforming_strings = on
BEGIN ATOMIC
\i bodies/copies/shard_checks.sql
END;

COMMENT ON FUNCTION @extschema@._flake_shard_checks(oid[], name[], int[], int[], int[], @extschema@.flake_layout) IS
'the checks of the shard on columns whose defaults mint these shards, and the commands that let them allow the new one in the place of an old one, too, and keep their comments; null if that cannot be, because a table would keep the check that it inherits, or a comment has more than 8 kB; for flake_renumber()';

CREATE FUNCTION @extschema@._flake_other_checks(relations oid[], attributes name[], layouts @extschema@.flake_layout[], tables oid[])
RETURNS SETOF text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET standard_conforming_strings = on
BEGIN ATOMIC
\i bodies/copies/other_checks.sql
END;

COMMENT ON FUNCTION @extschema@._flake_other_checks(oid[], name[], @extschema@.flake_layout[], oid[]) IS
'the checks of tables and of their columns'' domains that read the shard of an id, and compare something with a constant, other than those that _flake_checked_shards() knows of these columns with these layouts; and partition keys that read it; for flake_renumber() and flake_create_shard()';

CREATE FUNCTION @extschema@._flake_renumbered(generator regclass, old_shards int[], new_shards int[], owners regrole[],
    OUT mints jsonb, OUT checks jsonb, OUT other_checks text[], OUT tables oid[], OUT schemas oid[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
\i bodies/copies/renumbered.sql
END;

COMMENT ON FUNCTION @extschema@._flake_renumbered(regclass, int[], int[], regrole[]) IS
'what flake_renumber() has to look at: the _flake_minting_defaults(), which count if they are of these owners, or if there are none of a role that the user can become, the _flake_shard_checks() and _flake_other_checks(), the tables to be changed, and the schemas of these and of the generator; for flake_renumber()';

CREATE FUNCTION @extschema@._flake_meanings(relations oid[])
RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
\i bodies/copies/meanings.sql
END;

COMMENT ON FUNCTION @extschema@._flake_meanings(oid[]) IS
'the functions, operators and relations that defaults and checks of tables name, to compare them with what they name later; for flake_renumber()';

CREATE FUNCTION @extschema@._flake_lock_shard(ticket @extschema@._flake_ticket, shard int, generator regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_lock_shard'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_lock_shard(@extschema@._flake_ticket, int, regclass) IS
'keeps others from attaching, detaching and leasing a shard until the end of the transaction; for flake_renumber() and flakeid-move-shard; errors: 22003 no such shard, 25006 read-only, 42501 without UPDATE on the generator and the right to mint from it';

CREATE FUNCTION @extschema@._flake_renumber_guarded(ticket @extschema@._flake_ticket,
    old_shards int[], new_shards int[], generator regclass, dry_run boolean, owners regrole[])
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET quote_all_identifiers = off
SET standard_conforming_strings = on
AS $function$
\i bodies/copies/renumber.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_renumber_guarded(@extschema@._flake_ticket, int[], int[], regclass, boolean, regrole[]) IS
'what flake_renumber() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_renumber(old_shards int[], new_shards int[],
    generator regclass DEFAULT '@extschema@.flake_default', dry_run boolean DEFAULT false,
    owners regrole[] DEFAULT '{}')
RETURNS SETOF text
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s FROM @extschema@._flake_renumber_guarded(
        @extschema@._flake_guard('@extschema@'::text), old_shards, new_shards, generator, dry_run, owners) s;
END;

COMMENT ON FUNCTION @extschema@.flake_renumber(int[], int[], regclass, boolean, regrole[]) IS
'lets everything that mints the old shards of a generator mint the new ones instead: column defaults flake_id(shard), checks of the shard on such columns, which then allow both, and flakeid.shard as set for databases and roles; detaches the old shards and attaches the new ones; of the tables and settings of all roles that the user can become, or only of these owners; warnings list checks of the shard that are not understood, defaults of others, and settings of other roles or that are no plain numbers, which stay as they are; for a server that is a copy; the statements for it, which were executed unless dry_run; errors: 22023 unless there is a new shard for each old one, and none twice, 22003 no such shard, 55000 if a new shard is in use here, or is another server''s by flake_shard_map, 0A000 for defaults of the generator that are not understood, and if a name in one would come to mean something else, or a check is inherited from several parents, 42501 unless the user may set what is set, may be the owner of parents with such checks, and has USAGE and UPDATE on the generator, and he and the owners have USAGE on the schemas, 42809 for those of wide ids and for what is no generator, 42P01 if it has been dropped, 55006 if an old shard is leased, 25001 not READ COMMITTED, 25006 read-only, 55P03 when lock_timeout is over, which limits all waiting for locks together, or if what else is needed is in use when the tables are locked';

CREATE FUNCTION @extschema@._flake_restore_of(generator regclass,
    OUT accepted_timeline bigint, OUT timeline bigint, OUT reason text)
AS 'MODULE_PATHNAME', 'flake_restore_of'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_restore_of(regclass) IS
'the restore to an earlier time that a generator has gone through and nobody has accepted: the timeline on which it was made or accepted last, the present one, and where recovery ended, as PostgreSQL says it; nulls if there is none, on a standby, and if another session has locked the generator; only for pg_monitor, and for who created the extension';

CREATE FUNCTION @extschema@._flake_restored(
    OUT generator regclass, OUT numbers boolean, OUT shards boolean,
    OUT accepted_timeline bigint, OUT timeline bigint, OUT reason text)
RETURNS SETOF record
LANGUAGE sql VOLATILE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT f.generator, f.numbers, f.shards, r.accepted_timeline, r.timeline, r.reason
    FROM (SELECT g.generator, i.ends IS NULL AS numbers,
                 EXISTS (SELECT FROM @extschema@.flake_shards s WHERE s.generator::pg_catalog.oid OPERATOR(pg_catalog.=) g.generator::pg_catalog.oid)
                 OR NOT g.is_wide
                    AND (EXISTS (SELECT FROM @extschema@.flake_shard_map)
                         OR coalesce(pg_catalog.current_setting('flakeid.require_attach'::text, true), 'off'::text) = 'on'::text) AS shards
          -- not flake_generators, which waits for locks
          FROM (SELECT b.generator, b.is_wide, @extschema@.flake_layout_of(b.generator) AS layout
                FROM (VALUES ('@extschema@.flake_default'::pg_catalog.regclass, false),
                             ('@extschema@.flake_default_uuid'::pg_catalog.regclass, true),
                             ('@extschema@.flake_default_objectid'::pg_catalog.regclass, true),
                             ('@extschema@.flake_default_uuidv7'::pg_catalog.regclass, false)) b (generator, is_wide)
                UNION ALL
                SELECT l.objoid::pg_catalog.regclass, false, l.label::@extschema@.flake_layout
                FROM pg_catalog.pg_seclabel l
                WHERE l.provider = 'flakeid'
                  AND l.classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass) g,
               @extschema@.flake_layout_info(g.layout) i) f,
         LATERAL @extschema@._flake_restore_of(f.generator) r
    WHERE (f.numbers OR f.shards) AND r.timeline IS NOT NULL;
END;

COMMENT ON FUNCTION @extschema@._flake_restored() IS
'the generators that have gone through a restore to an earlier time which nobody has accepted, and that matters: numbers says that they have no time, so that numbers can come again, shards that what was detached, attached or leased may be forgotten; leaves out those that another session has locked, and does not wait; the rest, and who may call it, is as in _flake_restore_of()';

CREATE FUNCTION @extschema@.flake_accept_restore()
RETURNS void
AS 'MODULE_PATHNAME', 'flake_accept_restore'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_accept_restore() IS
'says that all of this database''s generators are right after a restore to an earlier time, so that warnings of it end; after flake_advance(), flake_detach() and so on; not undone by ROLLBACK; errors: 25006 read-only, 42501 without EXECUTE, which only superusers have at first';
