    WITH named_by (what, classid, objid, named) AS (
        SELECT format('view %s', ev_class::regclass), 'pg_rewrite'::regclass::oid, oid, @extschema@._flake_named(ev_action)
        FROM pg_rewrite WHERE ev_class = ANY (views)
        UNION ALL
        SELECT format('index %s', indexrelid::regclass), 'pg_class'::regclass, indexrelid,
               coalesce(@extschema@._flake_named(indexprs), '{}') || coalesce(@extschema@._flake_named(indpred), '{}')
        FROM pg_index WHERE indrelid = ANY (relations)
        UNION ALL
        SELECT format('constraint %I of table %s', conname, conrelid::regclass), 'pg_constraint'::regclass, oid,
               @extschema@._flake_named(conbin)
        FROM pg_constraint WHERE conrelid = ANY (relations) AND contype = 'c'
        UNION ALL
        SELECT format('statistics object %s.%I', stxnamespace::regnamespace, stxname), 'pg_statistic_ext'::regclass, oid,
               @extschema@._flake_named(stxexprs)
        FROM pg_statistic_ext WHERE stxrelid = ANY (relations) AND stxexprs IS NOT NULL
    ), view_type (oid, name) AS (
        SELECT t.oid, format('type of view %s', v::regclass) FROM unnest(views) AS v JOIN pg_type t ON t.typrelid = v
    )
    -- All that they name; and in which order, as two of a name can change places
    SELECT coalesce(jsonb_object_agg(n.what, jsonb_build_array(a.names, o.names)), '{}')
    FROM named_by n
    CROSS JOIN LATERAL (
        -- Views are other ones when they have been created again.
        SELECT jsonb_agg(DISTINCT CASE WHEN d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (views)
                                       THEN format('view %s %s', d.refobjid::regclass, d.refobjsubid)
                                       WHEN t.name IS NOT NULL THEN t.name
                                       -- that of another type, if a column gets one
                                       WHEN p.opcdefault THEN format('default operator class of access method %s', p.opcmethod)
                                       -- of two tables or columns, each can have got the other's name
                                       ELSE format('%s %s %s %s %s', d.refclassid::regclass, d.refobjid, d.refobjsubid, c.oid::regclass, b.attname) END)
        FROM pg_depend d
        LEFT JOIN pg_class c ON d.refclassid = 'pg_class'::regclass AND c.oid = d.refobjid
        LEFT JOIN pg_attribute b ON b.attrelid = c.oid AND b.attnum = d.refobjsubid
        LEFT JOIN view_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
        LEFT JOIN pg_opclass p ON d.refclassid = 'pg_opclass'::regclass AND p.oid = d.refobjid
        WHERE d.classid = n.classid AND d.objid = n.objid
          -- nor are indexes and constraints the same ones; and the elements of an array
          -- are cast as a whole, or each by itself
          AND NOT EXISTS (SELECT FROM pg_type y WHERE d.refclassid = 'pg_type'::regclass AND y.oid = d.refobjid AND y.typcategory = 'A')
          AND d.refclassid <> 'pg_constraint'::regclass
          AND (d.refclassid <> 'pg_class'::regclass OR n.classid = 'pg_rewrite'::regclass)) AS a (names)
    CROSS JOIN LATERAL (
        SELECT jsonb_agg(coalesce(t.name, u.oid::text) ORDER BY u.i)
        FROM unnest(n.named) WITH ORDINALITY AS u (oid, i)
        LEFT JOIN pg_type y ON y.oid = u.oid
        LEFT JOIN view_type t ON t.oid IN (u.oid, nullif(y.typelem, 0))) AS o (names)
