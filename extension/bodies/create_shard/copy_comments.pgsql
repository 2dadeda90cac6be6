BEGIN
    -- Comments, but for those that LIKE has copied
    RETURN ARRAY(
        SELECT ARRAY[o.owner::text, o.relation, NULL, format('COMMENT ON %s IS %L', o.name, d.description)]
        FROM (SELECT 'pg_namespace'::regclass::oid, n.oid, n.nspowner, NULL, format('SCHEMA %I', target) FROM pg_namespace n WHERE n.oid = source
              UNION ALL
              SELECT 'pg_class'::regclass, c.oid, c.relowner, r.relation,
                     CASE WHEN c.relkind = 'S' THEN 'SEQUENCE ' WHEN i.indexrelid IS NOT NULL THEN 'INDEX ' ELSE 'TABLE ' END || r.relation
              FROM pg_class c
              LEFT JOIN pg_index i ON i.indexrelid = c.oid
              CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
              WHERE c.oid = ANY (tables || sequences) OR i.indrelid = ANY (tables)
              UNION ALL     -- of rows, and of arrays of them
              SELECT 'pg_type'::regclass, y.oid, c.relowner, r.relation, 'TYPE ' || r.relation || CASE WHEN y.typrelid = 0 THEN '[]' ELSE '' END
              FROM pg_class c
              JOIN pg_type w ON w.oid = c.reltype
              JOIN pg_type y ON y.oid IN (w.oid, w.typarray)
              CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
              WHERE c.oid = ANY (tables)
              UNION ALL
              SELECT p.class, p.oid, c.relowner, r.relation, format('%s %I ON %s', p.kind, p.name, r.relation)
              FROM pg_class c
              CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
              CROSS JOIN LATERAL (
                  SELECT 'pg_constraint'::regclass::oid, k.oid, 'CONSTRAINT', k.conname
                  FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'c' AND NOT (k.contype = 'f' AND k.conparentid <> 0)
                  UNION ALL
                  SELECT 'pg_trigger'::regclass, t.oid, 'TRIGGER', t.tgname
                  FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS p (class, oid, kind, name)
              WHERE c.oid = ANY (tables)) AS o (class, oid, owner, relation, name)
        JOIN pg_description d ON d.classoid = o.class AND d.objoid = o.oid AND d.objsubid = 0
        ORDER BY o.class, o.oid);
END
