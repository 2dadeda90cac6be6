-- Whom a role trusts, and what others could have it execute
--
-- For the functions that execute commands: see docs/security.md.

CREATE FUNCTION @extschema@._flake_trusts(role oid, other oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_trusts'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_trusts(oid, oid) IS
'whether another role may become this one, as a superuser may, so that this one can execute what the other has written; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_is_hypertable(relation oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_is_hypertable'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_is_hypertable(oid) IS
'whether a table is a hypertable of TimescaleDB, or a chunk of one, so that nobody else sees all of its rows; for functions of flakeid; error: 0A000 if TimescaleDB has no list of them where it had it';

CREATE FUNCTION @extschema@._flake_is_distributed(relation oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_is_distributed_table'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_is_distributed(oid) IS
'whether a table is one of Citus, whose rows are in other tables and on other nodes; for functions of flakeid; error: 0A000 if Citus has no list of them where it had it';

CREATE FUNCTION @extschema@._flake_definition_size(relation oid, up_to bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_definition_size'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_definition_size(oid, bigint) IS
'the bytes that the defaults, checks, rules, policies, triggers, and missing values and options of columns of a relation have, uncompressed; more than up_to once there are more; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_takes_long(tree pg_node_tree)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_takes_long'
LANGUAGE C STABLE STRICT PARALLEL SAFE COST 10000;

COMMENT ON FUNCTION @extschema@._flake_takes_long(pg_node_tree) IS
'whether PostgreSQL takes seconds to write down a definition, or to read it again, as it has many columns of the same name, refers often to many columns, calls functions or operators of which there are many of that name, or with long defaults, or groups or sorts often by what it selects, or as it has more than 4 MB; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_too_long(classes oid[], objects oid[], OUT object text, OUT what text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
BEGIN ATOMIC
\i bodies/too_long.sql
END;

COMMENT ON FUNCTION @extschema@._flake_too_long(oid[], oid[]) IS
'the longest of objects, and of the tables that inherit from them, if what PostgreSQL keeps of its definition and comments has more than 4 MB, or that of all with more than 8 kB more than 16 MB together; or else one of which _flake_takes_long() is true; and what it has; no row otherwise; for functions that read what others may have written, with tables locked';

CREATE FUNCTION @extschema@._flake_refuse_long(ticket @extschema@._flake_ticket, relations oid[], hint text)
RETURNS void
LANGUAGE plpgsql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/refuse_long.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_refuse_long(@extschema@._flake_ticket, oid[], text) IS
'error: 0A000, with this hint, if one of these relations is _flake_too_long(); for functions of flakeid';

CREATE FUNCTION @extschema@._flake_view_maker(view oid, caller oid)
RETURNS oid
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT CASE WHEN @extschema@._flake_trusts(_flake_view_maker.caller, c.relowner)
                     OR c.relnamespace = pg_catalog.pg_my_temp_schema()
                     OR NOT pg_catalog.has_schema_privilege(c.relowner, c.relnamespace, 'CREATE'::text)
                     OR EXISTS (
                         SELECT FROM pg_catalog.pg_rewrite w
                         JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_rewrite'::regclass::oid AND d.objid = w.oid
                         CROSS JOIN LATERAL (
                             SELECT o.relnamespace FROM pg_catalog.pg_class o
                             WHERE d.refclassid = 'pg_catalog.pg_class'::regclass::oid AND o.oid = d.refobjid
                             UNION ALL
                             SELECT o.pronamespace FROM pg_catalog.pg_proc o
                             WHERE d.refclassid = 'pg_catalog.pg_proc'::regclass::oid AND o.oid = d.refobjid
                             UNION ALL
                             SELECT o.oprnamespace FROM pg_catalog.pg_operator o
                             WHERE d.refclassid = 'pg_catalog.pg_operator'::regclass::oid AND o.oid = d.refobjid
                             UNION ALL
                             SELECT o.typnamespace FROM pg_catalog.pg_type o
                             WHERE d.refclassid = 'pg_catalog.pg_type'::regclass::oid AND o.oid = d.refobjid) AS n (namespace)
                         WHERE w.ev_class = c.oid
                           AND NOT pg_catalog.has_schema_privilege(c.relowner, n.namespace, 'USAGE'::text))
                THEN _flake_view_maker.caller ELSE c.relowner END
    FROM pg_catalog.pg_class c WHERE c.oid = _flake_view_maker.view;
END;

COMMENT ON FUNCTION @extschema@._flake_view_maker(oid, oid) IS
'the role that makes a view anew: its owner, or the caller, if he trusts the owner, or the owner may not create something in the view''s schema or use a schema that the view names; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_linked(relation oid, attribute name)
RETURNS oid[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE heir (oid) AS (
        SELECT _flake_linked.relation
        UNION
        SELECT i.inhrelid FROM heir JOIN pg_catalog.pg_inherits i ON i.inhparent = heir.oid
    ), link (other) AS (
        SELECT CASE WHEN k.conrelid = a.attrelid AND a.attnum = ANY (k.conkey) THEN k.confrelid ELSE k.conrelid END
        FROM heir
        JOIN pg_catalog.pg_attribute a ON a.attrelid = heir.oid AND a.attname = _flake_linked.attribute
        JOIN pg_catalog.pg_constraint k ON k.contype = 'f'::"char"
         AND (k.conrelid = a.attrelid AND a.attnum = ANY (k.conkey) OR k.confrelid = a.attrelid AND a.attnum = ANY (k.confkey))
    )
    SELECT COALESCE(pg_catalog.array_agg(DISTINCT l.other), '{}'::oid[])
    FROM link l;
END;

COMMENT ON FUNCTION @extschema@._flake_linked(oid, name) IS
'the tables that foreign keys connect with a table through a column; for functions of flakeid';

-- PostgreSQL plans queries of a table to check a foreign key, and evaluates what is
-- constant in such expressions when it does.  What names nothing but PostgreSQL's
-- own functions and operators, or flake_shard(), can be evaluated by anybody.
CREATE FUNCTION @extschema@._flake_evaluated_code(relation oid, role oid, of_new_partition boolean)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET jit = off
BEGIN ATOMIC
    WITH RECURSIVE part_of (oid) AS (       -- pg_partition_tree() would lock them
        SELECT _flake_evaluated_code.relation
        UNION
        SELECT i.inhrelid
        FROM part_of
        JOIN pg_catalog.pg_class c ON c.oid = part_of.oid AND c.relkind = 'p'::"char"
        JOIN pg_catalog.pg_inherits i ON i.inhparent = c.oid
    ), ancestor (oid) AS (
        SELECT i.inhparent FROM pg_catalog.pg_inherits i WHERE i.inhrelid = _flake_evaluated_code.relation
        UNION
        SELECT i.inhparent FROM ancestor JOIN pg_catalog.pg_inherits i ON i.inhrelid = ancestor.oid
    ), foreigner AS (
        SELECT c.oid, c.relowner, r.is_ancestor
        FROM (SELECT part_of.oid, false FROM part_of WHERE NOT _flake_evaluated_code.of_new_partition
              UNION
              SELECT ancestor.oid, true FROM ancestor) AS r (oid, is_ancestor)
        JOIN pg_catalog.pg_class c ON c.oid = r.oid
        WHERE NOT @extschema@._flake_trusts(_flake_evaluated_code.role, c.relowner)
    ), part (relation, classid, objid, objsubid) AS (
        SELECT i.indrelid, 'pg_catalog.pg_class'::regclass::oid, i.indexrelid, 0
        FROM pg_catalog.pg_index i
        UNION ALL
        SELECT s.stxrelid, 'pg_catalog.pg_statistic_ext'::regclass::oid, s.oid, 0
        FROM pg_catalog.pg_statistic_ext s
        UNION ALL
        SELECT p.partrelid, 'pg_catalog.pg_class'::regclass::oid, p.partrelid, 0
        FROM pg_catalog.pg_partitioned_table p WHERE p.partexprs IS NOT NULL
        UNION ALL   -- with constraint_exclusion, and of partitions without it
        SELECT k.conrelid, 'pg_catalog.pg_constraint'::regclass::oid, k.oid, 0
        FROM pg_catalog.pg_constraint k WHERE k.contype = 'c'::"char"
        UNION ALL
        SELECT f.adrelid, 'pg_catalog.pg_attrdef'::regclass::oid, f.oid, 0
        FROM pg_catalog.pg_attrdef f
        JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attgenerated <> ''::"char"
        UNION ALL
        SELECT y.polrelid, 'pg_catalog.pg_policy'::regclass::oid, y.oid, 0
        FROM pg_catalog.pg_policy y
        UNION ALL   -- of a type that may have a cast
        SELECT k.conrelid, 'pg_catalog.pg_class'::regclass::oid, k.conrelid, key.attnum
        FROM pg_catalog.pg_constraint k, pg_catalog.unnest(k.conkey) AS key (attnum)
        WHERE k.contype = 'f'::"char"
    )
    SELECT pg_catalog.format('%s of role "%s"'::text, pg_catalog.pg_describe_object(p.classid, p.objid, p.objsubid),
                             pg_catalog.pg_get_userbyid(f.relowner))
    FROM foreigner f
    JOIN part p ON p.relation = f.oid
     -- of an ancestor, the partition key, and what comes down from it
     AND (NOT f.is_ancestor OR p.objsubid = 0 AND p.classid IN ('pg_catalog.pg_class'::regclass::oid, 'pg_catalog.pg_constraint'::regclass::oid, 'pg_catalog.pg_attrdef'::regclass::oid))
    WHERE p.classid = 'pg_catalog.pg_policy'::regclass::oid      -- is executed, whatever it names
       OR EXISTS (
        SELECT FROM pg_catalog.pg_depend d
        LEFT JOIN pg_catalog.pg_type t ON d.refclassid = 'pg_catalog.pg_type'::regclass::oid AND t.oid = d.refobjid
        WHERE d.classid = p.classid AND d.objid = p.objid AND d.objsubid = p.objsubid
          AND d.refobjid >= '16384'::oid    -- initdb has not made it
          AND (d.refclassid, d.refobjid) NOT IN (
              ('pg_catalog.pg_proc'::regclass::oid, '@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure::oid),
              ('pg_catalog.pg_type'::regclass::oid, '@extschema@.flake_layout'::regtype::oid))
          AND (d.refclassid IN ('pg_catalog.pg_proc'::regclass::oid, 'pg_catalog.pg_operator'::regclass::oid)
               OR t.oid IS NOT NULL AND (t.typtype <> 'e'::"char" OR p.objsubid > 0)))
    ORDER BY f.oid, p.classid, p.objid LIMIT 1;
END;

COMMENT ON FUNCTION @extschema@._flake_evaluated_code(oid, oid, boolean) IS
'what a role might execute of another that it does not trust when it makes a partition of a table, or a foreign key to or from it: an index, a check, a generated column or a partition key of an ancestor; for a foreign key also one of the table or of a partition, or a statistics object; null if there is none; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_foreign_code(relation oid, role oid)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT @extschema@._flake_evaluated_code(relation, role, false);
END;

COMMENT ON FUNCTION @extschema@._flake_foreign_code(oid, oid) IS
'_flake_evaluated_code() for a foreign key; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_stranger(namespace oid, owner oid)
RETURNS name
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT r.rolname
    FROM pg_catalog.pg_namespace n
    CROSS JOIN LATERAL (
        SELECT n.nspowner AS grantee
        UNION ALL
        SELECT e.grantee FROM pg_catalog.aclexplode(n.nspacl) e WHERE e.privilege_type = 'CREATE'::text) AS c
    JOIN pg_catalog.pg_roles r ON c.grantee = '0'::oid OR pg_catalog.pg_has_role(r.oid, c.grantee, 'MEMBER'::text)
    WHERE n.oid = _flake_stranger.namespace
      AND NOT pg_catalog.starts_with(r.rolname::text, 'pg_'::text)     -- nobody can be it; its members are in the list, too
      AND NOT @extschema@._flake_trusts(_flake_stranger.owner, r.oid)
    ORDER BY r.rolname LIMIT 1;
END;

COMMENT ON FUNCTION @extschema@._flake_stranger(oid, oid) IS
'a role that can create objects in a schema, is no superuser, and may not become the other role, who therefore should execute no text that names functions of that schema; null if there is none: for flake_create_shard()';

-- The owner of a type can rename it, and write casts to and from it and checks for it.
CREATE FUNCTION @extschema@._flake_type_owner(type oid, owner oid)
RETURNS name
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE part (oid) AS (
        SELECT _flake_type_owner.type
        UNION
        SELECT p.oid
        FROM part
        JOIN pg_catalog.pg_type t ON t.oid = part.oid
        CROSS JOIN LATERAL (
            SELECT t.typelem
            UNION ALL
            SELECT t.typbasetype
            UNION ALL
            SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0
            UNION ALL
            SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)) AS p (oid)
    )
    SELECT pg_catalog.pg_get_userbyid(t.typowner)
    FROM part
    JOIN pg_catalog.pg_type t ON t.oid = part.oid
    WHERE NOT @extschema@._flake_trusts(_flake_type_owner.owner, t.typowner)
    ORDER BY t.oid LIMIT 1;
END;

COMMENT ON FUNCTION @extschema@._flake_type_owner(oid, oid) IS
'a role that owns a type, or one that it is made of, is no superuser, and may not become the other role; null if there is none; for functions of flakeid';

-- Types of one name cannot be two in a schema; functions and operators can, and the
-- arguments say which fits best.
CREATE FUNCTION @extschema@._flake_usurper(class oid, object oid, owner oid)
RETURNS name
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH named (class, object, namespace, name, owner, types) AS (
        SELECT 'pg_catalog.pg_proc'::regclass::oid, p.oid, p.pronamespace, p.proname, p.proowner,
               pg_catalog.array_prepend(p.prorettype, COALESCE(p.proallargtypes, p.proargtypes::oid[]))
        FROM pg_catalog.pg_proc p
        UNION ALL
        SELECT 'pg_catalog.pg_operator'::regclass::oid, o.oid, o.oprnamespace, o.oprname, o.oprowner,
               ARRAY[o.oprleft, o.oprright, o.oprresult]
        FROM pg_catalog.pg_operator o
        UNION ALL
        SELECT 'pg_catalog.pg_type'::regclass::oid, t.oid, t.typnamespace, t.typname, t.typowner, ARRAY[t.oid]
        FROM pg_catalog.pg_type t
    )
    SELECT COALESCE(@extschema@._flake_stranger(n.namespace, _flake_usurper.owner),
                    (SELECT pg_catalog.pg_get_userbyid(o.owner) FROM named o
                     WHERE o.class = n.class AND o.object <> n.object AND o.namespace = n.namespace AND o.name = n.name
                       AND NOT @extschema@._flake_trusts(_flake_usurper.owner, o.owner)
                     ORDER BY o.object LIMIT 1),
                    (SELECT pg_catalog.min(@extschema@._flake_type_owner(t.oid, _flake_usurper.owner)::text)::name
                     FROM pg_catalog.unnest(n.types) AS t (oid)))
    FROM named n
    WHERE n.class = _flake_usurper.class AND n.object = _flake_usurper.object
      AND n.namespace <> 'pg_catalog'::regnamespace::oid;
END;

COMMENT ON FUNCTION @extschema@._flake_usurper(oid, oid, oid) IS
'a role that has made, or can make, a function, operator, type or cast by which text that names this one could come to mean another, is no superuser, and may not become the owner of that text; null if there is none, as for those of pg_catalog; for functions of flakeid';
