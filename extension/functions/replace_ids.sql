-- Other ids for rows, and for those that refer to them

-- No name of the extension in it, so no need of a ticket.
CREATE FUNCTION @extschema@._flake_following_columns(target oid, attribute name, OUT relation oid, OUT attname name)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/replace_ids/following_columns.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_following_columns(oid, name) IS
'the columns whose ids change with those of a column: it, those that inherit it, the columns that refer to these by foreign keys, and so on; for flake_replace_ids()';

CREATE FUNCTION @extschema@._flake_replace_obstacle(ticket @extschema@._flake_ticket, target oid, relations oid[], attributes name[],
    OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/replace_ids/obstacle.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_replace_obstacle(@extschema@._flake_ticket, oid, oid[], name[]) IS
'why the ids in columns cannot be replaced by one statement of the owner of a table; null if they can; for flake_replace_ids()';

-- No name of the extension in it, so no need of a ticket.
CREATE FUNCTION @extschema@._flake_replace_statement(target oid, relations oid[], attributes name[], old_ids bigint[], new_ids bigint[])
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/replace_ids/statement.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_replace_statement(oid, oid[], name[], bigint[], bigint[]) IS
'one statement that replaces ids in columns of several tables; it means the same with every search_path; for flake_replace_ids()';

CREATE FUNCTION @extschema@._flake_replace_ids_guarded(ticket @extschema@._flake_ticket,
    target regclass, attribute name, above bigint, shard int,
    generator regclass, layout @extschema@.flake_layout, dry_run boolean, path text,
    OUT replaced bigint, OUT replacement bigint)
RETURNS SETOF record
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/replace_ids/replace_ids.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_replace_ids_guarded(@extschema@._flake_ticket, regclass, name, bigint, int, regclass, @extschema@.flake_layout, boolean, text) IS
'what flake_replace_ids() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_replace_ids(target regclass, attribute name, above bigint, shard int DEFAULT NULL,
    generator regclass DEFAULT '@extschema@.flake_default', dry_run boolean DEFAULT true,
    OUT old_id bigint, OUT new_id bigint)
RETURNS SETOF record
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT r.replaced, r.replacement FROM @extschema@._flake_replace_ids_guarded(
        @extschema@._flake_guard('@extschema@'::text), target, attribute, above, shard, generator,
        @extschema@.flake_layout_of(generator), dry_run, pg_catalog.current_setting('search_path'::text)) r;
END;

COMMENT ON FUNCTION @extschema@.flake_replace_ids(regclass, name, bigint, int, regclass, boolean) IS
'gives the rows of a table with ids above one new ids of a generator, and changes every column that refers to them by foreign keys, in one statement; the new ids have the shard of the old ones unless another is given, and each shard''s keep their order; the old ids and the new ones, or with dry_run the old ones only, and nothing changes; triggers fire as with UPDATE, as the owner; errors: those of flake_id() and of the UPDATE, 0A000 if a table is in the way: of another owner, foreign, a hypertable, with a rule or row-level security, with a column of another type, generated or referring elsewhere, or a partition that alone refers to the ids; 22004 for null but for shard, 25001 not READ COMMITTED, 25006 read-only, 27000 if a trigger keeps an old id, 42501 unless the user is the owner or may be, 42703 no such column, 42804 not bigint, 42809 if target is no table or a partition or generator is no generator, 42P01 if one does not exist, 55000 if the column cannot be searched, 55P03 when lock_timeout is over, if others have kept a page of the table locked for two seconds, or if a row or a shard is in use when all tables are locked';
