-- Migration

-- No name of the extension in it, so no need of a ticket.
CREATE FUNCTION @extschema@._flake_named_by(relations oid[], views oid[])
RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/named_by.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_named_by(oid[], oid[]) IS
'what views, and the indexes and checks of tables, mean by the names in their definitions, to compare it with what they mean by them later; for functions of flakeid';

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
\i bodies/migrate/obstacle.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_obstacle(oid, name, oid[], name[], oid[], oid, boolean) IS
'why flake_migrate() cannot change columns: what depends on them in a way that it does not understand, or would not be the same afterwards; null if nothing; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_remade(relation oid, maker oid,
    OUT name text, OUT step int, OUT command text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/remade.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_remade(oid, oid) IS
'the commands that give a view or a sequence, when a role has made it anew, the owner, privileges and comments that it has now; in a first row, without a command, its name as CREATE has to have it; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_definitions(relations oid[], attributes name[], views oid[],
    OUT what text, OUT class oid, OUT object oid, OUT relation oid, OUT query text, OUT named oid[])
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/definitions.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_definitions(oid[], name[], oid[]) IS
'what is created again from its definition when columns change: the indexes, checks and statistics objects that name them, as a query, and then views in their order; and the functions and operators that it names; for functions of flakeid';

-- The steps of flake_migrate(), of which each is a function

CREATE FUNCTION @extschema@._flake_migrate_columns(ticket @extschema@._flake_ticket, target oid, attribute name,
    OUT relations oid[], OUT attributes name[], OUT all_relations oid[], OUT all_attributes name[], OUT tables oid[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/columns.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_columns(@extschema@._flake_ticket, oid, name) IS
'the columns that become bigint with a column, of its _flake_related_columns(): those that are not inherited, all of them, and the tables to be locked; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_migrate_views(ticket @extschema@._flake_ticket, relations oid[], attributes name[],
    OUT views oid[], OUT circular oid)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/views.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_views(@extschema@._flake_ticket, oid[], name[]) IS
'the views on columns, and the views on these, each after those that it names; and one of those that name each other; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_check_migrate_rights(ticket @extschema@._flake_ticket, target oid, table_name name, makes_sequence boolean,
    relations oid[], attributes name[], views oid[])
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/check_rights.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_check_migrate_rights(@extschema@._flake_ticket, oid, name, boolean, oid[], name[], oid[]) IS
'an error if the user may not do what flake_migrate() is to do, or if it would execute what another role has written: 42501 or 0A000; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_check_definitions(ticket @extschema@._flake_ticket, table_name name, attribute name,
    relations oid[], attributes name[], views oid[])
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/check_definitions.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_check_definitions(@extschema@._flake_ticket, name, name, oid[], name[], oid[]) IS
'an error if one of the _flake_definitions() would not mean the same when columns are bigint: 0A000; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_check_minting(ticket @extschema@._flake_ticket, target oid, table_name name, attribute name,
    generator regclass, layout @extschema@.flake_layout, shard int, dry_run boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/check_minting.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_check_minting(@extschema@._flake_ticket, oid, name, name, regclass, @extschema@.flake_layout, int, boolean) IS
'sees to it that the next id of a generator exceeds those in a column, and that there is one: raises the generator, or waits, unless dry_run; for flake_migrate(); error: 55000 if there is none';

CREATE FUNCTION @extschema@._flake_migrate_steps(ticket @extschema@._flake_ticket, target regclass, attribute name, shard int,
    generator regclass, drop_sequence boolean, tables oid[], relations oid[], attributes name[], views oid[], old_sequence oid)
RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/steps.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_steps(@extschema@._flake_ticket, regclass, name, int, regclass, boolean, oid[], oid[], name[], oid[], oid) IS
'rows for _flake_execute_steps(), which migrate a column; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_migrate_guarded(ticket @extschema@._flake_ticket,
    target regclass, attribute name, shard int,
    generator regclass, layout @extschema@.flake_layout, dry_run boolean, drop_sequence boolean)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
-- so that constants and names in text mean the same when it is read again
SET DateStyle = 'ISO, YMD'
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET array_nulls = on
SET quote_all_identifiers = off
SET standard_conforming_strings = on
SET transform_null_equals = off
SET default_tablespace = ''
AS $function$
\i bodies/migrate/migrate.pgsql
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
'lets a column that was serial, an identity or had another default take its values from flake_id(shard, generator), widens it and the columns that refer to it to bigint, and creates views on them again; a column of type uuid from flake_uuidv7(shard, generator), with flake_default_uuidv7 in the place of flake_default, and leaves its values as they are; the statements for it, which were executed unless dry_run; the old sequence is kept unless drop_sequence; errors: 42501 unless the user is the owner or may be, 55000 if new ids would not exceed those in the column or cannot be minted, 42809 if target is no table, 42P01 if it or the generator does not exist, 25006 read-only, 42703 no such column, 42804 not an integer or uuid, or the generator''s layout is for another type, 22003 no such shard, 0A000 for what it would not keep as it is, for names that would come to mean something else, and for foreign keys and inheritance that would execute what the owner of another table has written, 25001 not READ COMMITTED, 55P03 when lock_timeout is over, which limits all waiting for locks together';
