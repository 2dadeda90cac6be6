-- Migration

CREATE FUNCTION @extschema@._flake_named_by(ticket @extschema@._flake_ticket, relations oid[], views oid[])
RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/named_by.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_named_by(@extschema@._flake_ticket, oid[], oid[]) IS
'what views, and the indexes, checks and statistics objects of tables, mean by the names in their definitions, to compare it with what they mean by them later; for functions of flakeid';

-- No name of the extension in these, so no need of a ticket.
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

CREATE FUNCTION @extschema@._flake_migrate_reads(target oid, relations oid[], views oid[], old_sequence oid, OUT class oid, OUT id oid)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $function$
\i bodies/migrate/read_objects.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_reads(oid, oid[], oid[], oid) IS
'the objects whose definitions or comments flake_migrate() reads, which may be anybody''s: what depends on the columns, tables and views that it changes, and on functions that take or return their rows, and defaults; for _flake_too_long()';

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

CREATE FUNCTION @extschema@._flake_definitions(ticket @extschema@._flake_ticket, relations oid[], attributes name[], views oid[],
    OUT what text, OUT class oid, OUT object oid, OUT relation oid, OUT named oid[])
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/definitions.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_definitions(@extschema@._flake_ticket, oid[], name[], oid[]) IS
'what is created again from its definition when columns change: the indexes, checks and statistics objects that name them, and then views in their order; and its _flake_named(); for functions of flakeid';

CREATE FUNCTION @extschema@._flake_record_of(relations oid[], views oid[])
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
BEGIN ATOMIC
\i bodies/migrate/record_of.sql
END;

COMMENT ON FUNCTION @extschema@._flake_record_of(oid[], oid[]) IS
'an object that has rows of joins or of several functions as a whole in its definition, with columns of relations, except views; for functions of flakeid';

-- The steps of flake_migrate(), of which each is a function

CREATE FUNCTION @extschema@._flake_migrate_columns(ticket @extschema@._flake_ticket, targets oid[], columns name[],
    OUT relations oid[], OUT attributes name[], OUT all_relations oid[], OUT all_attributes name[], OUT tables oid[])
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/columns.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_columns(@extschema@._flake_ticket, oid[], name[]) IS
'the columns that become bigint with columns, of their _flake_related_columns(): those that are not inherited, all of them, and the tables to be locked; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_migrate_views(ticket @extschema@._flake_ticket, relations oid[], attributes name[],
    OUT views oid[], OUT circular oid)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/views.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_views(@extschema@._flake_ticket, oid[], name[]) IS
'the views on columns, and the views on these, each after those that it names; and one of those that name each other; for flake_migrate(); error: 0A000 if a view is on top of 100 others';

-- No name of the extension in these, so no need of a ticket.
CREATE FUNCTION @extschema@._flake_old_sequence(target oid, attribute name)
RETURNS oid
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/old_sequence.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_old_sequence(oid, name) IS
'the sequence that a column''s values come from, an identity''s, a serial''s or another, unless it is a generator; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_named_relations(views oid[])
RETURNS oid[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $function$
\i bodies/migrate/named_relations.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_named_relations(oid[]) IS
'what PostgreSQL locks when it reads the definitions of views: the relations that they name, and those that have the types of what they name; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_migrate_locks(ticket @extschema@._flake_ticket, targets oid[], columns name[],
    generator regclass, dry_run boolean, drop_sequence boolean,
    OUT relations oid[], OUT attributes name[], OUT all_relations oid[], OUT all_attributes name[], OUT tables oid[],
    OUT views oid[], OUT circular oid, OUT types oid[], OUT trees oid[], OUT keys oid[],
    OUT named oid[], OUT schemas oid[])
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/locks.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_locks(@extschema@._flake_ticket, oid[], name[], regclass, boolean, boolean) IS
'what changes with columns: the _flake_migrate_columns(), the _flake_migrate_views() and the types that these name; and for _flake_lock_trees() what has to be locked, and the schemas of what will be named; for flake_migrate()';

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
'an error if one of the _flake_definitions() would not mean the same when columns are bigint, or takes more than 5 s to read: 0A000; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_check_minting(ticket @extschema@._flake_ticket, target oid, table_name name, attribute name,
    generator regclass, layout @extschema@.flake_layout, shard int, dry_run boolean)
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/check_minting.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_check_minting(@extschema@._flake_ticket, oid, name, name, regclass, @extschema@.flake_layout, int, boolean) IS
'sees to it that the next id of a generator exceeds those in a column, and that there is one: raises the generator, above the clock only if the table''s owner could, or waits, unless dry_run; for flake_migrate(); error: 55000 if there is none';

CREATE FUNCTION @extschema@._flake_migrate_steps(ticket @extschema@._flake_ticket, target regclass, attribute name, shard int,
    generator regclass, dry_run boolean, drop_sequence boolean, tables oid[], relations oid[], attributes name[], views oid[],
    old_sequence oid)
RETURNS text[]
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/steps.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_steps(@extschema@._flake_ticket, regclass, name, int, regclass, boolean, boolean, oid[], oid[], name[], oid[], oid) IS
'rows for _flake_execute_steps(), which migrate a column; for flake_migrate()';

CREATE FUNCTION @extschema@._flake_migrate_guarded(ticket @extschema@._flake_ticket,
    target regclass, attribute name, shard int,
    generator regclass, layout @extschema@.flake_layout, dry_run boolean, drop_sequence boolean,
    others oid[], other_attributes name[], guarded oid[])
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

COMMENT ON FUNCTION @extschema@._flake_migrate_guarded(@extschema@._flake_ticket, regclass, name, int, regclass, @extschema@.flake_layout, boolean, boolean, oid[], name[], oid[]) IS
'what flake_migrate() does, after _flake_guard(); other columns become bigint with it, as they would if they were migrated; if schemas are given, these are guarded, and all is locked, and nothing is waited for: else 55P03; not for others';

CREATE FUNCTION @extschema@.flake_migrate(target regclass, attribute name, shard int,
    generator regclass DEFAULT '@extschema@.flake_default', dry_run boolean DEFAULT false,
    drop_sequence boolean DEFAULT false)
RETURNS SETOF text
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s FROM @extschema@._flake_migrate_guarded(
        @extschema@._flake_guard('@extschema@'::text), target, attribute, shard, generator,
        @extschema@.flake_layout_of(generator), dry_run, drop_sequence, '{}'::oid[], '{}'::name[], '{}'::oid[]) s;
END;

COMMENT ON FUNCTION @extschema@.flake_migrate(regclass, name, int, regclass, boolean, boolean) IS
'lets a column that was serial, an identity or had another default take its values from flake_id(shard, generator), widens it and the columns that refer to it to bigint, and creates views on them again; a column of type uuid from flake_uuidv7(shard, generator), with flake_default_uuidv7 in the place of flake_default, and leaves its values as they are; the statements for it, which were executed unless dry_run; the old sequence is kept unless drop_sequence; errors: 42501 unless the user is the owner or may be, 55000 if new ids would not exceed those in the column or cannot be minted, 42809 if target is no table, 42P01 if it or the generator does not exist, 25006 read-only, 42703 no such column, 42804 not an integer or uuid, or the generator''s layout is for another type, 22003 no such shard, 0A000 for what it would not keep as it is, for names that would come to mean something else, and for foreign keys and inheritance that would execute what the owner of another table has written, 25001 not READ COMMITTED, 38000 if the code of a table''s owner raises the error of a canceled statement, 55P03 when lock_timeout is over, which limits all waiting for locks together, first in a dry run and then in the migration, or if others have kept a page of the table locked for two seconds';

-- Whole schemas

CREATE FUNCTION @extschema@._flake_id_columns(
    OUT relation oid, OUT attname name, OUT namespace oid, OUT minted boolean, OUT extension name)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $function$
\i bodies/migrate/id_columns.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_id_columns() IS
'the columns that are an identity, or whose default calls nextval() or, minted, a function of flakeid; of each table the schema and the extension that it belongs to; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_joined_tables(relation oid)
RETURNS oid[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $function$
\i bodies/migrate/joined_tables.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_joined_tables(oid) IS
'a table, and those that foreign keys and inheritance join with it, in any number of steps; for flake_migrate_all()';

CREATE FUNCTION @extschema@._flake_migrate_plan(ticket @extschema@._flake_ticket, schemas oid[], INOUT wanted oid[], counted boolean,
    OUT tables oid[], OUT targets oid[], OUT attributes name[], OUT extensions name[], OUT groups int)
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/plan.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_plan(@extschema@._flake_ticket, oid[], oid[], boolean) IS
'the next group of joined tables with some that are wanted: the columns of these to migrate, those that others refer to first, and the extensions that their tables belong to; what is wanted after this group; and how many groups there are, if counted; for flake_migrate_all()';

CREATE FUNCTION @extschema@._flake_migrate_group_guarded(ticket @extschema@._flake_ticket, state jsonb,
    schemas name[], shard int, generator regclass, layout @extschema@.flake_layout, dry_run boolean, drop_sequence boolean)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/group.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_group_guarded(@extschema@._flake_ticket, jsonb, name[], int, regclass, @extschema@.flake_layout, boolean, boolean) IS
'what _flake_migrate_group() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@._flake_migrate_targets(ticket @extschema@._flake_ticket, state jsonb,
    shard int, generator regclass, layout @extschema@.flake_layout, drop_sequence boolean)
RETURNS jsonb
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/migrate/targets.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_targets(@extschema@._flake_ticket, jsonb, int, regclass, @extschema@.flake_layout, boolean) IS
'migrates the columns that _flake_migrate_group() has planned to; for flake_migrate_all()';

-- Called by flake_migrate_all(), twice for each group: to plan it and to do it, each in
-- a transaction of its own
CREATE FUNCTION @extschema@._flake_migrate_group(state jsonb, schemas name[], shard int,
    generator regclass, dry_run boolean, drop_sequence boolean)
RETURNS jsonb
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT @extschema@._flake_migrate_group_guarded(
        @extschema@._flake_guard('@extschema@'::text), state, schemas, shard, generator,
        @extschema@.flake_layout_of(generator), dry_run, drop_sequence);
END;

COMMENT ON FUNCTION @extschema@._flake_migrate_group(jsonb, name[], int, regclass, boolean, boolean) IS
'plans the next group of joined tables, or migrates the one that was planned, and returns what to call it with next; null at the end; for flake_migrate_all()';

CREATE PROCEDURE @extschema@.flake_migrate_all(schemas name[], shard int,
    generator regclass DEFAULT '@extschema@.flake_default', dry_run boolean DEFAULT false,
    drop_sequence boolean DEFAULT false)
AS 'MODULE_PATHNAME', 'flake_migrate_all'
LANGUAGE C;

COMMENT ON PROCEDURE @extschema@.flake_migrate_all(name[], int, regclass, boolean, boolean) IS
'lets all columns of schemas that are serial, an identity or have DEFAULT nextval() take their values from flake_id(shard, generator), as flake_migrate() does, with a transaction for each group of tables that foreign keys or inheritance join; dry_run: says what it would do, with an estimate of the bytes to be rewritten; the old sequences are kept unless drop_sequence; notices say how far it is, warnings what it has left as it was and why; columns that were migrated before are skipped, and tables that are made meanwhile; errors: 3F000 no such schema, 0A000 for a schema of PostgreSQL, 22023 no schema, 22004 a null, 22003 no such shard, 25001 in a transaction block or function unless dry_run, or not READ COMMITTED, 25006 read-only unless dry_run, 42501 without USAGE on a schema, 42809 or 42P01 if there is no such generator, 42704 or 55000 if the extension was dropped or its schema renamed meanwhile';

CREATE VIEW @extschema@.flake_migration AS
SELECT i.relation::regclass AS relation,
       i.attname AS attribute,
       CASE WHEN w.pid IS NOT NULL THEN 'running' WHEN i.minted THEN 'done' ELSE 'to do' END AS state,
       w.pid
FROM @extschema@._flake_id_columns() i
LEFT JOIN LATERAL (
    SELECT pg_catalog.min(t.pid) AS pid
    FROM pg_catalog.pg_locks t
    JOIN pg_catalog.pg_locks x ON x.pid OPERATOR(pg_catalog.=) t.pid
     AND x.locktype OPERATOR(pg_catalog.=) 'object'::text AND x.classid OPERATOR(pg_catalog.=) 'pg_catalog.pg_extension'::regclass
     AND x.objid OPERATOR(pg_catalog.=) (SELECT e.oid FROM pg_catalog.pg_extension e WHERE e.extname OPERATOR(pg_catalog.=) 'flakeid'::name)
    WHERE t.locktype OPERATOR(pg_catalog.=) 'relation'::text AND t.relation OPERATOR(pg_catalog.=) i.relation
      AND t.database OPERATOR(pg_catalog.=) (SELECT d.oid FROM pg_catalog.pg_database d WHERE d.datname OPERATOR(pg_catalog.=) pg_catalog.current_database())
      AND t.mode OPERATOR(pg_catalog.=) 'AccessExclusiveLock'::text AND t.granted) w ON true
WHERE i.extension IS NULL;

COMMENT ON VIEW @extschema@.flake_migration IS
'the columns of this database whose values come from a sequence or from flakeid, and so how far flake_migrate_all() is';
COMMENT ON COLUMN @extschema@.flake_migration.relation IS 'the table';
COMMENT ON COLUMN @extschema@.flake_migration.attribute IS 'the column';
COMMENT ON COLUMN @extschema@.flake_migration.state IS 'to do: the column is an identity, or its default calls nextval(); running: a session is at it; done: its default is a function of flakeid';
COMMENT ON COLUMN @extschema@.flake_migration.pid IS 'the process of the session that is at it; null if none is';
