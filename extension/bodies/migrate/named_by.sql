    WITH named_by (what, classid, objid) AS (
        SELECT format('view %s', ev_class::regclass), 'pg_rewrite'::regclass::oid, oid FROM pg_rewrite WHERE ev_class = ANY (views)
        UNION ALL
        SELECT format('index %s', indexrelid::regclass), 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = ANY (relations)
        UNION ALL
        SELECT format('constraint %I of table %s', conname, conrelid::regclass), 'pg_constraint'::regclass, oid
        FROM pg_constraint WHERE conrelid = ANY (relations) AND contype = 'c'
    )
    SELECT coalesce(jsonb_object_agg(what, names), '{}')
    FROM (SELECT n.what,
                 -- Views are other ones when they have been created again.
                 jsonb_agg(DISTINCT CASE WHEN d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (views)
                                         THEN format('view %s %s', d.refobjid::regclass, d.refobjsubid)
                                         WHEN d.refclassid = 'pg_type'::regclass AND t.typrelid = ANY (views)
                                         THEN format('type of view %s', t.typrelid::regclass)
                                         ELSE format('%s %s %s', d.refclassid::regclass, d.refobjid, d.refobjsubid) END)
                     -- nor are indexes and constraints the same ones
                     FILTER (WHERE d.refclassid <> 'pg_constraint'::regclass
                               AND (d.refclassid <> 'pg_class'::regclass OR n.classid = 'pg_rewrite'::regclass)) AS names
          FROM named_by n
          JOIN pg_depend d ON d.classid = n.classid AND d.objid = n.objid
          LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
          GROUP BY n.what) AS w
