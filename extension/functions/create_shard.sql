-- Schemas for shards

CREATE FUNCTION @extschema@._flake_copy_index(index oid, target regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_copy_index'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_copy_index(oid, regclass) IS
'makes an index of a table, and the constraint that it is for, for another table with such columns, under the same name and bound to the same functions, operators and types: for flake_create_shard(); errors: 42501 unless the user owns both tables, 42704 no such index, 42P01 no such table, 0A000 for expressions of whole rows';

-- Everything that pg_dump writes of the tables and sequences in a schema, but for
-- what depends on other objects.  Names take the place of numbers.  A column of a
-- catalog that is not left out here counts, whatever it says.  pg_attver is a number
-- that PostgreSQL keeps for itself since its releases of 2026.
--
-- attmissingval holds a value of the column's type, whose owner may have written a
-- cast to json, which to_jsonb() would execute.  So it is left out before.  Trees of
-- expressions are, too: they can be long, and this is compared with tables locked.
CREATE FUNCTION @extschema@._flake_traits(namespace oid,
    OUT object text, OUT trait text, OUT value text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
BEGIN ATOMIC
    WITH relation AS (
        SELECT c.oid, pg_catalog.quote_ident(c.relname::text) AS name, c.relkind, c.relowner
        FROM pg_catalog.pg_class c
        WHERE c.relnamespace = _flake_traits.namespace AND c.relkind IN ('r'::"char", 'p'::"char", 'S'::"char", 'i'::"char", 'I'::"char")
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d      -- an index belongs to the extension of its table
                          WHERE d.classid = 'pg_catalog.pg_class'::regclass::oid AND d.deptype = 'e'::"char"
                            AND d.objid = COALESCE((SELECT i.indrelid FROM pg_catalog.pg_index i WHERE i.indexrelid = c.oid), c.oid))
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_seclabel l
                          WHERE l.classoid = 'pg_catalog.pg_class'::regclass::oid AND l.objoid = c.oid AND l.provider = 'flakeid'::text)
    ), item (class, id, number, object, line) AS (
        SELECT 'pg_catalog.pg_class'::regclass::oid, r.oid, 0, r.name, pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(c, '{"relpartbound": null}'::jsonb))
        FROM relation r JOIN pg_catalog.pg_class c ON c.oid = r.oid
        UNION ALL
        SELECT 'pg_catalog.pg_class'::regclass::oid, r.oid, a.attnum::int, pg_catalog.format('%s column %I'::text, r.name, a.attname),
               pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(a, '{"attmissingval": null}'::jsonb)) || pg_catalog.jsonb_build_object(
                   'position', pg_catalog.count(*) OVER (PARTITION BY a.attrelid ORDER BY a.attnum),
                   'expression', CASE WHEN r.relkind IN ('i'::"char", 'I'::"char") THEN pg_catalog.pg_get_indexdef(r.oid, a.attnum::int, false) END,
                   'options', ARRAY(SELECT o.text FROM pg_catalog.unnest(a.attoptions) AS o (text)
                                    WHERE NOT pg_catalog.starts_with(o.text, 'pg_attver='::text) ORDER BY o.text))
        FROM relation r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0::smallint AND NOT a.attisdropped
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name,
               pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(i, '{"indexprs": null, "indpred": null}'::jsonb)) || pg_catalog.jsonb_build_object('predicate', pg_catalog.pg_get_expr(i.indpred, i.indrelid))
        FROM relation r JOIN pg_catalog.pg_index i ON i.indexrelid = r.oid
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name, pg_catalog.to_jsonb(q)
        FROM relation r JOIN pg_catalog.pg_sequence q ON q.seqrelid = r.oid
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name,
               pg_catalog.jsonb_build_object('parent', p.name, 'bound', pg_catalog.pg_get_expr(c.relpartbound, c.oid), 'detached', i.inhdetachpending)
        FROM relation r
        JOIN pg_catalog.pg_class c ON c.oid = r.oid
        JOIN pg_catalog.pg_inherits i ON i.inhrelid = r.oid
        LEFT JOIN relation p ON p.oid = i.inhparent
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name, pg_catalog.jsonb_build_object('partition key', pg_catalog.pg_get_partkeydef(r.oid))
        FROM relation r WHERE r.relkind = 'p'::"char"
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name, pg_catalog.jsonb_build_object('toast options', t.reloptions)
        FROM relation r
        JOIN pg_catalog.pg_class c ON c.oid = r.oid
        JOIN pg_catalog.pg_class t ON t.oid = c.reltoastrelid
        UNION ALL   -- PostgreSQL names the foreign keys that a partition gets from its parent
        SELECT 'pg_catalog.pg_constraint'::regclass::oid, k.oid, 0, pg_catalog.format('%s constraint %I'::text, r.name, k.conname),
               pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(k, '{"conbin": null}'::jsonb))
                   - CASE WHEN k.contype IN ('c'::"char", 'n'::"char") THEN ''::text ELSE 'connoinherit'::text END
        FROM relation r JOIN pg_catalog.pg_constraint k ON k.conrelid = r.oid AND NOT (k.contype = 'f'::"char" AND k.conparentid <> 0::oid)
        UNION ALL
        SELECT 'pg_catalog.pg_trigger'::regclass::oid, t.oid, 0, pg_catalog.format('%s trigger %I'::text, r.name, t.tgname),
               pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(t, CASE WHEN pg_catalog.octet_length(t.tgargs) <= 8192 THEN '{"tgqual": null}'::jsonb
                                                                            ELSE '{"tgqual": null, "tgargs": null}'::jsonb END))
        FROM relation r JOIN pg_catalog.pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal
        UNION ALL
        SELECT 'pg_catalog.pg_statistic_ext'::regclass::oid, x.oid, 0, pg_catalog.format('%s statistics object %I'::text, r.name, x.stxname),
               pg_catalog.to_jsonb(pg_catalog.jsonb_populate_record(x, '{"stxexprs": null}'::jsonb)) || pg_catalog.jsonb_build_object('columns', pg_catalog.pg_get_statisticsobjdef_columns(x.oid))
        FROM relation r JOIN pg_catalog.pg_statistic_ext x ON x.stxrelid = r.oid
        UNION ALL
        SELECT 'pg_catalog.pg_type'::regclass::oid, y.oid, 0, pg_catalog.format('%s type %s'::text, r.name, CASE WHEN y.typrelid = 0::oid THEN 'of arrays'::text ELSE 'of rows'::text END),
               '{}'::jsonb
        FROM relation r JOIN pg_catalog.pg_class c ON c.oid = r.oid
        JOIN pg_catalog.pg_type w ON w.oid = c.reltype JOIN pg_catalog.pg_type y ON y.oid IN (w.oid, w.typarray)
        UNION ALL
        SELECT 'pg_catalog.pg_namespace'::regclass::oid, _flake_traits.namespace, 0, 'the schema'::text, '{}'::jsonb
    ), list (object, owner, acl) AS (
        SELECT r.name, r.relowner, COALESCE(c.relacl, pg_catalog.acldefault(CASE r.relkind WHEN 'S'::"char" THEN 's'::"char" ELSE 'r'::"char" END, r.relowner))
        FROM relation r JOIN pg_catalog.pg_class c ON c.oid = r.oid AND c.relkind NOT IN ('i'::"char", 'I'::"char")
        UNION ALL
        SELECT pg_catalog.format('%s column %I'::text, r.name, a.attname), r.relowner, a.attacl
        FROM relation r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND NOT a.attisdropped
        UNION ALL
        SELECT 'the schema'::text, n.nspowner, COALESCE(n.nspacl, pg_catalog.acldefault('n'::"char", n.nspowner))
        FROM pg_catalog.pg_namespace n WHERE n.oid = _flake_traits.namespace
        UNION ALL
        SELECT pg_catalog.format('%s type of rows'::text, r.name), r.relowner, COALESCE(y.typacl, pg_catalog.acldefault('T'::"char", r.relowner))
        FROM relation r JOIN pg_catalog.pg_class c ON c.oid = r.oid JOIN pg_catalog.pg_type y ON y.oid = c.reltype
        UNION ALL
        SELECT pg_catalog.format('default privileges of role %s for %s'::text, d.defaclrole, d.defaclobjtype), d.defaclrole, d.defaclacl
        FROM pg_catalog.pg_default_acl d WHERE d.defaclnamespace = _flake_traits.namespace
    )
    SELECT i.object, e.key, e.value
    FROM item i, pg_catalog.jsonb_each_text(i.line - '{
        oid, relname, relnamespace, reltype, relfilenode, relpages, reltuples, relallvisible, relallfrozen, reltoastrelid, relhasindex, relchecks,
        relnatts, relhasrules, relhastriggers, relhassubclass, relispopulated, relrewrite, relfrozenxid, relminmxid, relacl, relpartbound,
        attrelid, attnum, attcacheoff, attndims, atthasmissing, attmissingval, attislocal, attinhcount, attacl, attoptions,
        indexrelid, indrelid, indkey, indexprs, indpred, indcheckxmin, seqrelid,
        connamespace, conrelid, conindid, conparentid, confrelid, conkey, confkey, conbin, confdelsetcols, conislocal, coninhcount,
        tgrelid, tgparentid, tgconstrrelid, tgconstrindid, tgconstraint, tgattr, tgqual,
        stxrelid, stxnamespace, stxkeys, stxexprs}'::text[]) AS e (key, value)
    UNION ALL
    -- of a long one, which may have become so meanwhile, the length
    SELECT i.object, 'comment'::text, CASE WHEN pg_catalog.octet_length(d.description) <= 8192 THEN d.description ELSE pg_catalog.octet_length(d.description)::text END
    FROM item i JOIN pg_catalog.pg_description d ON d.classoid = i.class AND d.objoid = i.id AND d.objsubid = i.number
    UNION ALL
    SELECT l.object, 'privileges'::text, pg_catalog.format('%s %s %s %s'::text, e.grantor, e.grantee, e.privilege_type, e.is_grantable)
    FROM list l, pg_catalog.aclexplode(l.acl) AS e;
END;

COMMENT ON FUNCTION @extschema@._flake_traits(oid) IS
'what is to be the same in the tables and sequences of a schema and in copies of them, but for what they depend on: properties of relations, columns, indexes, constraints, triggers and statistics objects, comments, also on the types of rows, privileges; for flake_create_shard()';

-- No name of the extension in it, so no need of a ticket.
CREATE FUNCTION @extschema@._flake_template_locks(source oid,
    OUT tables oid[], OUT sequences oid[], OUT keys oid[], OUT named oid[], OUT schemas oid[])
RETURNS record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $function$
\i bodies/create_shard/template_locks.sql
$function$;

COMMENT ON FUNCTION @extschema@._flake_template_locks(oid) IS
'the tables of a schema, and the sequences that are no generators; and for _flake_lock_trees() the tables elsewhere that foreign keys refer to, and all of these, what they name, and the composite types in that; and the schemas of that; for flake_create_shard()';

-- The steps of flake_create_shard(), of which each is a function.  Those called copy
-- return rows for _flake_execute_steps().  The template is the schema source with
-- the tables and sequences that are locked, and the copy the schema target.
CREATE FUNCTION @extschema@._flake_check_template(ticket @extschema@._flake_ticket, template name, source oid, tables oid[], sequences oid[])
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/check_template.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_check_template(@extschema@._flake_ticket, name, oid, oid[], oid[]) IS
'an error if a schema has something in it that flake_create_shard() does not copy, that is of a role which the user may not be, or that would execute what another role has written: 0A000 or 42501; for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_check_template_names(ticket @extschema@._flake_ticket, template name, tables oid[], sequences oid[], renamed oid[])
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/check_template_names.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_check_template_names(@extschema@._flake_ticket, name, oid[], oid[], oid[]) IS
'an error if a definition in a schema would come to mean something else in a copy, but for the defaults that are renamed: 0A000; for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_copy_defaults(ticket @extschema@._flake_ticket, template name, target text, tables oid[], sequences oid[], renamed oid[])
RETURNS text[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/copy_defaults.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_copy_defaults(@extschema@._flake_ticket, name, text, oid[], oid[], oid[]) IS
'steps that let defaults name the copies of the relations that they name; for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_copy_mints(ticket @extschema@._flake_ticket, shard int, template name, target text, tables oid[],
    OUT defaults text[], OUT dropped_checks text[], OUT checks text[], OUT shard_checks text[], OUT other_checks text[])
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/copy_mints.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_copy_mints(@extschema@._flake_ticket, int, name, text, oid[]) IS
'steps that let columns mint a shard, and be checked to hold it, in the place of the checks that are dropped; shard_checks names the new checks as table.constraint, other_checks those that are not as in the template as _flake_traits() does; errors: those of flake_create_shard(); for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_copy_privileges(ticket @extschema@._flake_ticket, source oid, target text, tables oid[], sequences oid[],
    OUT on_schema text[], OUT on_relations text[], OUT by_default text[], OUT revokes text[])
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/copy_privileges.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_copy_privileges(@extschema@._flake_ticket, oid, text, oid[], oid[]) IS
'steps that give a copy the privileges of the original: revokes are those from owners, who need them until everything is made; for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_copy_tables(ticket @extschema@._flake_ticket, template name, target text, tables oid[], sequences oid[])
RETURNS text[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/copy_tables.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_copy_tables(@extschema@._flake_ticket, name, text, oid[], oid[]) IS
'steps that make sequences and tables, with what CREATE TABLE ... LIKE copies; for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_copy_properties(ticket @extschema@._flake_ticket, target text, tables oid[], sequences oid[])
RETURNS text[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/copy_properties.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_copy_properties(@extschema@._flake_ticket, text, oid[], oid[]) IS
'steps that give tables their indexes, their properties and their place among partitions; for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_copy_keys(ticket @extschema@._flake_ticket, template name, target text, tables oid[],
    OUT inside text[], OUT outside text[])
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/copy_keys.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_copy_keys(@extschema@._flake_ticket, name, text, oid[]) IS
'steps that make triggers and foreign keys within the copy, and those that make foreign keys to tables outside of it; for flake_create_shard(); error: 0A000 if a name in one is part of another';

CREATE FUNCTION @extschema@._flake_copy_comments(ticket @extschema@._flake_ticket, source oid, target text, tables oid[], sequences oid[])
RETURNS text[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/copy_comments.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_copy_comments(@extschema@._flake_ticket, oid, text, oid[], oid[]) IS
'steps that make the comments that CREATE TABLE ... LIKE does not copy; for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_copy_statistics(ticket @extschema@._flake_ticket, source oid, target text, target_oid oid, tables oid[])
RETURNS text[]
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/copy_statistics.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_copy_statistics(@extschema@._flake_ticket, oid, text, oid, oid[]) IS
'steps that give statistics objects, which CREATE TABLE ... LIKE has made, their names and targets; for flake_create_shard()';

CREATE FUNCTION @extschema@._flake_check_copy(ticket @extschema@._flake_ticket, template name, source oid, target text, target_oid oid, tables oid[], sequences oid[], shard_checks text[], other_checks text[])
RETURNS void
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/create_shard/check_copy.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_check_copy(@extschema@._flake_ticket, name, oid, text, oid, oid[], oid[], text[], text[]) IS
'an error if a copy is not what it is to be, as when what was executed has changed it: 55000 or 0A000; for flake_create_shard()';

-- What expressions of the template mean must not change on the way to the copy.
-- So indexes are copied as trees, and so is what CREATE TABLE ... LIKE copies:
-- checks, generated columns, and defaults.  The rest is text, which is bound anew:
-- partition keys, triggers, foreign keys, and defaults that name a sequence of the
-- template.  It is written with all names qualified but those of pg_catalog.  And
--
--	1	if it names a function, operator or type, none but its owner can have
--		made a better fitting one;
--	2	what it names keeps its name while it is executed: see src/trust/execute_steps.c;
--	3	afterwards the copy depends on the same objects as the template.
--
-- In the copy, only what is copied takes the place of what is in the template.
-- Afterwards _flake_traits() must find no other difference between the two, either.
CREATE FUNCTION @extschema@._flake_create_shard_guarded(ticket @extschema@._flake_ticket, shard int, template name, schema name)
RETURNS name
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET client_min_messages = warning
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
\i bodies/create_shard/create_shard.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_create_shard_guarded(@extschema@._flake_ticket, int, name, name) IS
'what flake_create_shard() does, which calls it; null without a ticket';

CREATE FUNCTION @extschema@.flake_create_shard(shard int, template name, schema name DEFAULT NULL)
RETURNS name
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT @extschema@._flake_create_shard_guarded(@extschema@._flake_guard('@extschema@'::text), shard, template, schema);
END;

COMMENT ON FUNCTION @extschema@.flake_create_shard(int, name, name) IS
'creates a schema for one shard, called template_shard unless schema is given, with the tables of the schema template and nothing in them: all their properties, comments, owners and privileges; columns that default to flake_id() mint the shard there, and are checked to hold it; the name of the schema, null if shard or template is; errors: 3F000 no such template, 42P06 the schema exists already, 42703 no column defaults to flake_id(), 22003 no such shard, 25001 not READ COMMITTED, 25006 read-only, 42501 if the user cannot be the owner of something in it, 0A000 for what cannot be copied, such as views, and foreign keys that would execute what the owner of the other table has written, 42622 the name is too long, 55000 if what was executed changed what was to be copied, 55P03 if lock_timeout is over, or a table or a name is in use when it is needed';
