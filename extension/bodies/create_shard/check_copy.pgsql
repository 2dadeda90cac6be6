DECLARE
    minting pg_catalog.oid[] := ARRAY['@extschema@.flake_id(int)'::regprocedure, '@extschema@.flake_id()'::regprocedure,
                                      '@extschema@.flake_id(int, regclass)'::regprocedure];
    copied pg_catalog.oid[] := tables || sequences || ARRAY(SELECT indexrelid FROM pg_index WHERE indrelid = ANY (tables));
    problem pg_catalog.record;
BEGIN
    -- Whatever was executed, the copy is there, is bound to what the template is
    -- bound to, and lets nobody do more.
    WITH relation AS (
        SELECT o.oid AS original, n.oid AS copy, o.relname, o.relowner
        FROM pg_class o
        LEFT JOIN pg_class n ON n.relnamespace = target_oid AND n.relname = o.relname
         AND n.relkind = o.relkind AND n.relowner = o.relowner
        WHERE o.oid = ANY (copied)
    ), part AS (
        SELECT c.original AS relation, s.is_copy, p.*
        FROM relation c
        CROSS JOIN LATERAL (VALUES (false, c.original), (true, c.copy)) AS s (is_copy, id)
        CROSS JOIN LATERAL (
            SELECT 'pg_attrdef'::regclass, a.attname, f.oid
            FROM pg_attribute a JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
            WHERE a.attrelid = s.id
            UNION ALL
            SELECT 'pg_constraint'::regclass, k.conname, k.oid
            FROM pg_constraint k
            WHERE k.conrelid = s.id AND k.coninhcount = 0 AND k.contype IN ('c', 'f', 'p', 'u', 'x')
              AND format('%I.%I', c.relname, k.conname) <> ALL (shard_checks)
            UNION ALL
            SELECT 'pg_trigger'::regclass, t.tgname, t.oid
            FROM pg_trigger t
            WHERE t.tgrelid = s.id AND NOT t.tgisinternal AND t.tgparentid = 0) AS p (class, name, id)
    ), pair AS (
        SELECT 'pg_class'::regclass AS class, original, copy FROM relation
        UNION ALL
        SELECT class, o.id, n.id
        FROM (SELECT * FROM part WHERE NOT is_copy) AS o
        FULL JOIN (SELECT * FROM part WHERE is_copy) AS n USING (relation, class, name)
        WHERE n.id IS NOT NULL OR NOT EXISTS (SELECT FROM pg_constraint WHERE class = 'pg_constraint'::regclass AND oid = o.id AND contype = 'c')
    ), need AS (
        SELECT p.class, p.original, s.is_copy, d.refclassid,
               CASE WHEN d.refobjid = ANY (minting) THEN minting[1] ELSE coalesce(c.copy, d.refobjid) END AS refobjid,
               (SELECT attname FROM pg_attribute WHERE attrelid = d.refobjid AND attnum = d.refobjsubid AND d.refobjsubid <> 0
                AND d.refclassid = 'pg_class'::regclass) AS attname
        FROM pair p
        CROSS JOIN LATERAL (VALUES (false, p.original), (true, p.copy)) AS s (is_copy, id)
        JOIN pg_depend d ON d.classid = p.class AND d.objid = s.id AND d.deptype NOT IN ('P', 'S')
         AND d.refclassid NOT IN ('pg_namespace'::regclass, 'pg_constraint'::regclass, 'pg_extension'::regclass)
        LEFT JOIN relation c ON NOT s.is_copy AND d.refclassid = 'pg_class'::regclass AND c.original = d.refobjid
    ), difference AS (
        SELECT class, coalesce(original, copy) AS id FROM pair WHERE original IS NULL OR copy IS NULL
        UNION ALL
        (SELECT class, original FROM (SELECT class, original, refclassid, refobjid, attname FROM need WHERE NOT is_copy
                                      EXCEPT SELECT class, original, refclassid, refobjid, attname FROM need WHERE is_copy) AS n)
        UNION ALL
        (SELECT class, original FROM (SELECT class, original, refclassid, refobjid, attname FROM need WHERE is_copy
                                      EXCEPT SELECT class, original, refclassid, refobjid, attname FROM need WHERE NOT is_copy) AS n)
        UNION ALL
        SELECT 'pg_class'::regclass, c.original
        FROM unnest(shard_checks) AS name
        JOIN relation c ON starts_with(name, quote_ident(c.relname) || '.')
        LEFT JOIN pg_constraint k ON k.conrelid = c.copy AND k.contype = 'c' AND format('%I.%I', c.relname, k.conname) = name
        WHERE k.oid IS NULL
           OR ARRAY['@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure::oid] IS DISTINCT FROM (
                SELECT array_agg(DISTINCT d.refobjid) FROM pg_depend d
                WHERE d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
                  AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))
    )
    SELECT i.type, i.identity INTO problem FROM difference d, pg_identify_object(d.class, d.id, 0) AS i LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('%s %s was changed meanwhile', problem.type, problem.identity),
            DETAIL = 'Its copy would depend on other objects.',
            HINT = 'If nothing was changed, its definition has no text that means the same. Copy it by hand.';
    END IF;

    -- Owners could create objects in the schema for as long as it took.
    SELECT i.type, i.identity INTO problem
    FROM pg_depend d, pg_identify_object(d.classid, d.objid, 0) AS i
    WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = target_oid
      AND CASE d.classid
          WHEN 'pg_class'::regclass THEN NOT EXISTS (SELECT FROM pg_class o JOIN pg_class n ON n.relname = o.relname AND n.relkind = o.relkind
                                                     WHERE o.oid = ANY (copied) AND n.oid = d.objid)
          WHEN 'pg_statistic_ext'::regclass THEN NOT EXISTS (SELECT FROM pg_statistic_ext x JOIN pg_class c ON c.oid = x.stxrelid
                                                             WHERE x.oid = d.objid AND c.relnamespace = target_oid)
          WHEN 'pg_default_acl'::regclass THEN false
          ELSE true END
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('%s %s was created meanwhile', problem.type, problem.identity),
            DETAIL = format('Something that was executed, such as a function in a check or an index, has put it into schema "%s".', target);
    END IF;

    -- Options of columns, and statistics objects, can have been made since they were measured.
    PERFORM @extschema@._flake_refuse_long(ticket, tables, 'Change that, or drop it, and create it in the copy by hand.');
    WITH original AS (SELECT * FROM @extschema@._flake_traits(source)),
         copy AS (SELECT * FROM @extschema@._flake_traits(target_oid))
    SELECT d.object, d.trait INTO problem
    FROM ((SELECT * FROM original EXCEPT ALL SELECT * FROM copy)
          UNION ALL
          (SELECT * FROM copy EXCEPT ALL SELECT * FROM original)) AS d
    WHERE d.object <> ALL (other_checks)
    ORDER BY d.object, d.trait LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make an exact copy of schema "%s"', template),
            DETAIL = format('In the copy, %s would have another %s.', problem.object, problem.trait),
            HINT = 'If it was changed meanwhile, try again. Or change it in the template.';
    END IF;
END
