    -- PostgreSQL locks a table to show an expression of it, and anybody may have locked
    -- his own.  So what names the columns is found first.
    WITH namer AS MATERIALIZED (
        SELECT DISTINCT d.classid, d.objid
        FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
    ), definition (n, what, classid, objid, relation, named) AS (
        SELECT 0, format('index %s', indexrelid::regclass), 'pg_class'::regclass, indexrelid, indrelid,
               coalesce(@extschema@._flake_named(indexprs), '{}') || coalesce(@extschema@._flake_named(indpred), '{}')
        FROM namer JOIN pg_index ON classid = 'pg_class'::regclass AND indexrelid = objid
        WHERE indexprs IS NOT NULL OR indpred IS NOT NULL
        UNION ALL
        SELECT 0, format('constraint %I of table %s', conname, conrelid::regclass), 'pg_constraint'::regclass, oid, conrelid,
               @extschema@._flake_named(conbin)
        FROM namer JOIN pg_constraint ON classid = 'pg_constraint'::regclass AND oid = objid
        WHERE contype = 'c'
        UNION ALL
        SELECT 0, format('statistics object %s', stxname), 'pg_statistic_ext'::regclass, oid, stxrelid, @extschema@._flake_named(stxexprs)
        FROM namer JOIN pg_statistic_ext ON classid = 'pg_statistic_ext'::regclass AND oid = objid
        WHERE stxexprs IS NOT NULL
        UNION ALL
        SELECT v.n, format('view %s', v.id::regclass), 'pg_rewrite'::regclass, w.oid, v.id, @extschema@._flake_named(w.ev_action)
        FROM unnest(views) WITH ORDINALITY AS v (id, n)
        JOIN pg_rewrite w ON w.ev_class = v.id AND w.rulename = '_RETURN'
    )
    SELECT f.what, f.classid, f.objid, f.relation, f.named
    FROM definition f
    ORDER BY f.n, f.what
