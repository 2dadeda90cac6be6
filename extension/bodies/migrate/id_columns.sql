    WITH id_column AS MATERIALIZED (
        SELECT c.oid AS relation, a.attnum, a.attname, c.relnamespace, f.minted
        FROM pg_class c
        JOIN pg_namespace n ON n.oid = c.relnamespace
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
        LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum
        CROSS JOIN LATERAL (
            SELECT EXISTS (SELECT FROM pg_depend u
                           JOIN pg_depend m ON m.classid = u.refclassid AND m.objid = u.refobjid AND m.deptype = 'e'
                           JOIN pg_extension x ON m.refclassid = 'pg_extension'::regclass AND m.refobjid = x.oid AND x.extname = 'flakeid'
                           WHERE u.classid = 'pg_attrdef'::regclass AND u.objid = d.oid AND u.refclassid = 'pg_proc'::regclass)) AS f (minted)
        WHERE c.relkind IN ('r', 'p', 'f')
          AND n.nspname <> 'information_schema' AND NOT starts_with(n.nspname::text, 'pg_')
          AND (a.attidentity <> '' OR f.minted
               -- the default of a serial is short, and others can be anybody's
               OR CASE WHEN octet_length(d.adbin::text) <= 8192
                       THEN d.adbin::text LIKE format('%%:funcid %s %%', 'nextval(regclass)'::regprocedure::oid) END)
    )
    SELECT i.relation, i.attname, i.relnamespace, i.minted,
           (SELECT x.extname FROM pg_depend m JOIN pg_extension x ON x.oid = m.refobjid
            WHERE m.classid = 'pg_class'::regclass AND m.objid = i.relation
              AND m.refclassid = 'pg_extension'::regclass AND m.deptype = 'e')
    FROM id_column i
    -- what is inherited comes with the table that it is inherited from
    WHERE NOT EXISTS (SELECT FROM pg_inherits h JOIN id_column p ON p.relation = h.inhparent AND p.attname = i.attname AND p.minted = i.minted
                      WHERE h.inhrelid = i.relation)
    ORDER BY i.relation, i.attnum
