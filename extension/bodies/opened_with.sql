        -- What a relation, operator, function or type of "opened" refers to: composite types
        -- are found through it.
        SELECT o.classid, o.objid
        FROM opened n
        CROSS JOIN LATERAL (
            SELECT 'pg_proc'::regclass::oid, p.oprcode::oid FROM pg_operator p WHERE n.classid = 'pg_operator'::regclass AND p.oid = n.objid
            UNION ALL
            SELECT 'pg_type'::regclass, u.type
            FROM pg_proc p, unnest(p.prorettype || coalesce(p.proallargtypes, p.proargtypes::oid[])) AS u (type)
            WHERE n.classid = 'pg_proc'::regclass AND p.oid = n.objid
            UNION ALL
            SELECT 'pg_type'::regclass, a.atttypid FROM pg_attribute a
            WHERE n.classid = 'pg_class'::regclass AND a.attrelid = n.objid AND a.attnum > 0 AND NOT a.attisdropped
            UNION ALL
            SELECT 'pg_type'::regclass, u.type FROM pg_type t, unnest(ARRAY[t.typelem, t.typbasetype]) AS u (type)
            WHERE n.classid = 'pg_type'::regclass AND t.oid = n.objid
            UNION ALL
            SELECT 'pg_type'::regclass, r.rngsubtype FROM pg_range r WHERE n.classid = 'pg_type'::regclass AND n.objid IN (r.rngtypid, r.rngmultitypid)
            UNION ALL
            SELECT 'pg_class'::regclass, t.typrelid FROM pg_type t WHERE n.classid = 'pg_type'::regclass AND t.oid = n.objid) AS o (classid, objid)
        WHERE o.objid <> 0
