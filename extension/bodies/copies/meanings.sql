    SELECT coalesce(jsonb_object_agg(o.object, o.names), '{}')
    FROM (SELECT p.object,
                 ARRAY(SELECT DISTINCT format('%s %s', d.refclassid, d.refobjid) FROM pg_depend d
                       WHERE d.classid = p.classid AND d.objid = p.oid
                         AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_class'::regclass) ORDER BY 1) AS names
          FROM (SELECT 'pg_attrdef'::regclass, oid, format('the default of %s', pg_describe_object('pg_class'::regclass, adrelid, adnum))
                FROM pg_attrdef WHERE adrelid = ANY (relations)
                UNION ALL
                SELECT 'pg_constraint'::regclass, oid, format('check %I of table %s', conname, conrelid::regclass)
                FROM pg_constraint WHERE conrelid = ANY (relations) AND contype = 'c') AS p (classid, oid, object)) AS o;
