    -- PostgreSQL locks a table to show an expression of it, and anybody may have locked
    -- his own.  So what names the columns is found first.
    WITH namer AS MATERIALIZED (
        SELECT DISTINCT d.classid, d.objid
        FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
    ), definition (n, what, classid, objid, relation, expressions, named) AS (
        SELECT 0, format('index %s', indexrelid::regclass), 'pg_class'::regclass, indexrelid, indrelid,
               concat_ws(', ', pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid)),
               coalesce(@extschema@._flake_named(indexprs), '{}') || coalesce(@extschema@._flake_named(indpred), '{}')
        FROM namer JOIN pg_index ON classid = 'pg_class'::regclass AND indexrelid = objid
        WHERE indexprs IS NOT NULL OR indpred IS NOT NULL
        UNION ALL
        SELECT 0, format('constraint %I of table %s', conname, conrelid::regclass), 'pg_constraint'::regclass, oid, conrelid,
               pg_get_expr(conbin, conrelid), @extschema@._flake_named(conbin)
        FROM namer JOIN pg_constraint ON classid = 'pg_constraint'::regclass AND oid = objid
        WHERE contype = 'c'
        UNION ALL
        SELECT 0, format('statistics object %s', stxname), 'pg_statistic_ext'::regclass, oid, stxrelid,
               array_to_string(pg_get_statisticsobjdef_expressions(oid), ', '), @extschema@._flake_named(stxexprs)
        FROM namer JOIN pg_statistic_ext ON classid = 'pg_statistic_ext'::regclass AND oid = objid
        WHERE stxexprs IS NOT NULL
        UNION ALL
        SELECT v.n, format('view %s', v.id::regclass), 'pg_rewrite'::regclass, w.oid, v.id, NULL, @extschema@._flake_named(w.ev_action)
        FROM unnest(views) WITH ORDINALITY AS v (id, n)
        JOIN pg_rewrite w ON w.ev_class = v.id AND w.rulename = '_RETURN'
    )
    SELECT f.what, f.classid, f.objid, f.relation,
           CASE WHEN f.n > 0 THEN pg_get_viewdef(f.relation) ELSE format('SELECT %s FROM ONLY %s', f.expressions, f.relation::regclass) END,
           f.named
    FROM definition f
    ORDER BY f.n, f.what
