-- Migration

-- No name of the extension in it, so no need of a ticket.
CREATE FUNCTION @extschema@._flake_named_by(relations oid[], views oid[])
RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/named_by.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_named_by(oid[], oid[]) IS
'what views, and the indexes and checks of tables, mean by the names in their definitions, to compare it with what they mean by them later; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_floor(ts timestamptz, layout @extschema@.flake_layout)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_floor'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_floor(timestamptz, @extschema@.flake_layout) IS
'the smallest id of the tick that contains an instant, or of those that an instant outside of the lifetime is next to; error: 22023 if the layout has no time';

-- What stands in the way of changing columns to bigint and making views, and perhaps
-- a sequence, anew.  What is not listed as understood does: dependents of other
-- kinds, and properties that would be lost.
CREATE FUNCTION @extschema@._flake_obstacle(target oid, column_name name, relations oid[], attributes name[], views oid[],
    lost_sequence oid, is_remade boolean, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $function$
\i bodies/obstacle.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_obstacle(oid, name, oid[], name[], oid[], oid, boolean) IS
'why flake_migrate() cannot change columns: what depends on them in a way that it does not understand, or would not be the same afterwards; null if nothing; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_remade(relation oid, maker oid,
    OUT name text, OUT step int, OUT command text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/remade.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_remade(oid, oid) IS
'the commands that give a view or a sequence, when a role has made it anew, the owner, privileges and comments that it has now; in a first row, without a command, its name as CREATE has to have it; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_definitions(relations oid[], attributes name[], views oid[],
    OUT what text, OUT class oid, OUT object oid, OUT relation oid, OUT query text, OUT named oid[])
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/definitions.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_definitions(oid[], name[], oid[]) IS
'what is created again from its definition when columns change: the indexes, checks and statistics objects that name them, as a query, and then views in their order; and the functions and operators that it names; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_migrate_guarded(ticket @extschema@._flake_ticket,
    target regclass, attribute name, shard int,
    generator regclass, layout @extschema@.flake_layout, dry_run boolean, drop_sequence boolean)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_guarded(@extschema@._flake_ticket, regclass, name, int, regclass, @extschema@.flake_layout, boolean, boolean) IS
'what flake_migrate() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_migrate(target regclass, attribute name, shard int,
    generator regclass DEFAULT '@extschema@.flake_default', dry_run boolean DEFAULT false,
    drop_sequence boolean DEFAULT false)
RETURNS SETOF text
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s FROM @extschema@._flake_migrate_guarded(
        @extschema@._flake_guard('@extschema@'::text), target, attribute, shard, generator,
        @extschema@.flake_layout_of(generator), dry_run, drop_sequence) s;
END;

COMMENT ON FUNCTION @extschema@.flake_migrate(regclass, name, int, regclass, boolean, boolean) IS
'lets a column that was serial, an identity or had another default take its values from flake_id(shard, generator), widens it and the columns that refer to it to bigint, and creates views on them again; the statements for it, which were executed unless dry_run; the old sequence is kept unless drop_sequence; errors: 42501 unless the user is the owner or may be, 55000 if new ids would not exceed those in the column or cannot be minted, 42809 if target is no table, 42703 no such column, 42804 not an integer, 22003 no such shard, 0A000 for what it would not keep as it is, for names that would come to mean something else, and for foreign keys and inheritance that would execute what the owner of another table has written, 25001 not READ COMMITTED, 55P03 when lock_timeout is over, which limits all waiting for locks together';
