DECLARE
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    problem pg_catalog.record;
    made_anew pg_catalog.oid[] := ARRAY(    -- the foreign keys of columns that get another type
        SELECT k.oid FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
        JOIN pg_constraint k ON k.contype = 'f' AND (k.conrelid = u.relation AND a.attnum = ANY (k.conkey)
                                                     OR k.confrelid = u.relation AND a.attnum = ANY (k.confkey)));
BEGIN
    -- What PostgreSQL would say in the midst of it: LOCK TABLE, and the check of a
    -- foreign key that is made anew, ask for privileges of the owner, too.
    SELECT CASE WHEN o.does <> 'refer' AND NOT pg_has_role(c.relowner, 'USAGE')
                THEN format('must be owner of %s', pg_describe_object('pg_class'::regclass, c.oid, 0))
                WHEN c.oid = target AND NOT has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE')
                THEN format('permission denied for table %s', c.relname)
                WHEN o.does = 'refer' AND NOT has_table_privilege(c.relowner, c.oid, 'SELECT')
                THEN format('permission denied for table %s for its owner, role "%s"', c.relname, pg_get_userbyid(c.relowner))
                WHEN o.does = 'make' AND NOT (has_schema_privilege(c.relnamespace, 'CREATE')
                     AND ((SELECT rolsuper FROM pg_roles r WHERE r.oid = caller) OR has_schema_privilege(c.relowner, c.relnamespace, 'CREATE')))
                THEN format('permission denied for schema %s', c.relnamespace::regnamespace) END AS message
    INTO problem
    FROM (SELECT target, CASE WHEN makes_sequence THEN 'make' ELSE 'change' END
          UNION SELECT unnest(relations), 'change'
          UNION SELECT unnest(ARRAY[conrelid, confrelid]), 'refer' FROM pg_constraint WHERE pg_constraint.oid = ANY (made_anew)
          UNION SELECT unnest(views), 'make') AS o (oid, does)
    JOIN pg_class c ON c.oid = o.oid
    ORDER BY 1 NULLS LAST, c.oid LIMIT 1;
    IF problem.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = problem.message;
    END IF;

    -- A type is changed as the table's owner, who names the table.  So is a foreign key
    -- made anew, which takes REFERENCES, and is checked by a query if he may read both.
    SELECT CASE WHEN NOT has_schema_privilege(c.relowner, c.relnamespace, 'USAGE')
                THEN format('permission denied for schema %s for the owner of table %s, role "%s"', c.relnamespace::regnamespace, c.relname, pg_get_userbyid(c.relowner))
                WHEN k.confrelid = o.oid AND NOT has_table_privilege(c.relowner, o.oid, 'REFERENCES')
                     AND EXISTS (SELECT FROM unnest(k.confkey) AS n WHERE NOT has_column_privilege(c.relowner, o.oid, n, 'REFERENCES'))
                THEN format('permission denied for table %s for the owner of table %s, which refers to it, role "%s"', o.relname, c.relname, pg_get_userbyid(c.relowner))
                WHEN has_any_column_privilege(c.relowner, o.oid, 'SELECT') AND NOT has_schema_privilege(c.relowner, o.relnamespace, 'USAGE')
                THEN format('permission denied for schema %s for the owner of table %s, role "%s"', o.relnamespace::regnamespace, c.relname, pg_get_userbyid(c.relowner))
           END AS message
    INTO problem
    FROM (SELECT target UNION SELECT unnest(relations)) AS p (relation)
    JOIN pg_class c ON c.oid = p.relation
    LEFT JOIN pg_constraint k ON c.oid IN (k.conrelid, k.confrelid) AND c.oid = ANY (relations) AND k.oid = ANY (made_anew)
    LEFT JOIN pg_class o ON o.oid = CASE WHEN k.conrelid = c.oid THEN k.confrelid ELSE k.conrelid END
    ORDER BY 1 NULLS LAST, c.oid LIMIT 1;
    IF problem.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = problem.message;
    END IF;

    -- What one role has written is not executed as another that does not trust it.  To
    -- change a type makes foreign keys anew.
    SELECT c.oid, p.relation, c.relowner, o.relowner AS role INTO problem
    FROM (SELECT target UNION SELECT unnest(relations)) AS p (relation)
    JOIN pg_class o ON o.oid = p.relation
    CROSS JOIN LATERAL (
        WITH RECURSIVE heir (oid) AS (SELECT p.relation
                                      UNION SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid)
        SELECT oid FROM heir) AS h
    JOIN pg_class c ON c.oid = h.oid
    WHERE NOT @extschema@._flake_trusts(o.relowner, c.relowner)
    ORDER BY p.relation <> target, p.relation, c.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot migrate "%s"', table_name),
            DETAIL = format('Table %s inherits from %s, and PostgreSQL would evaluate what role "%s" has written as role "%s".',
                            problem.oid::regclass, problem.relation::regclass, pg_get_userbyid(problem.relowner), pg_get_userbyid(problem.role)),
            HINT = 'Give both tables the same owner.';
    END IF;
    SELECT c.oid, l.other, f.code, c.relowner INTO problem
    FROM unnest(relations, attributes) AS u (relation, attname)
    JOIN pg_class c ON c.oid = u.relation
    CROSS JOIN LATERAL unnest(@extschema@._flake_linked(u.relation, u.attname)) AS l (other)
    CROSS JOIN LATERAL @extschema@._flake_foreign_code(l.other, c.relowner) AS f (code)
    WHERE f.code IS NOT NULL
    ORDER BY c.oid <> target, c.oid, l.other LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make a foreign key between tables %s and %s', problem.oid::regclass, problem.other::regclass),
            DETAIL = format('PostgreSQL would evaluate %s as role "%s".', problem.code, pg_get_userbyid(problem.relowner)),
            HINT = 'Give both tables the same owner, or drop what would be evaluated.';
    END IF;
END
