    -- Only the length of what is kept is read.  It may be kept compressed to little.
    -- What is short counts for nothing: it takes less time than to make the object.
    -- So does what is usual for a table: anybody has thousands of partitions.
    WITH RECURSIVE object (class, id) AS (
        SELECT u.class, u.id FROM unnest(classes, objects) AS u (class, id)
        UNION
        SELECT h.class, h.id
        FROM object o
        CROSS JOIN LATERAL (
            SELECT o.class, i.inhrelid FROM pg_inherits i WHERE i.inhparent = o.id
            UNION ALL
            SELECT o.class, i.indexrelid FROM pg_index i WHERE i.indrelid = o.id
            UNION ALL
            SELECT 'pg_statistic_ext'::regclass::oid, x.oid FROM pg_statistic_ext x WHERE x.stxrelid = o.id) AS h (class, id)
        WHERE o.class = 'pg_class'::regclass
    ), definition (class, id, tree) AS MATERIALIZED (
        SELECT o.class, o.id, t.tree
        FROM object o
        CROSS JOIN LATERAL (
            SELECT t.tree
            FROM pg_rewrite w CROSS JOIN LATERAL (VALUES (w.ev_action), (w.ev_qual)) AS t (tree)
            WHERE o.class = 'pg_rewrite'::regclass AND w.oid = o.id
            UNION ALL
            SELECT t.tree
            FROM pg_index i CROSS JOIN LATERAL (VALUES (i.indexprs), (i.indpred)) AS t (tree)
            WHERE o.class = 'pg_class'::regclass AND i.indexrelid = o.id
            UNION ALL
            SELECT t.tree
            FROM pg_class c CROSS JOIN LATERAL (VALUES (c.relpartbound), ((SELECT p.partexprs FROM pg_partitioned_table p WHERE p.partrelid = c.oid))) AS t (tree)
            WHERE o.class = 'pg_class'::regclass AND c.oid = o.id
            UNION ALL
            SELECT k.conbin FROM pg_constraint k WHERE o.class = 'pg_constraint'::regclass AND k.oid = o.id
            UNION ALL
            SELECT f.adbin FROM pg_attrdef f WHERE o.class = 'pg_attrdef'::regclass AND f.oid = o.id
            UNION ALL
            SELECT x.stxexprs FROM pg_statistic_ext x WHERE o.class = 'pg_statistic_ext'::regclass AND x.oid = o.id
            UNION ALL
            SELECT t.tree
            FROM pg_policy y CROSS JOIN LATERAL (VALUES (y.polqual), (y.polwithcheck)) AS t (tree)
            WHERE o.class = 'pg_policy'::regclass AND y.oid = o.id
            UNION ALL
            SELECT t.tree
            FROM pg_proc p CROSS JOIN LATERAL (VALUES (p.prosqlbody), (p.proargdefaults)) AS t (tree)
            WHERE o.class = 'pg_proc'::regclass AND p.oid = o.id
            UNION ALL
            SELECT g.tgqual FROM pg_trigger g WHERE o.class = 'pg_trigger'::regclass AND g.oid = o.id) AS t (tree)
        WHERE t.tree IS NOT NULL
    ), kept AS MATERIALIZED (
        SELECT b.class, b.id, sum(b.bytes) AS bytes
        FROM (SELECT f.class, f.id, octet_length(f.tree::text) FROM definition f
              UNION ALL
              SELECT o.class, o.id, octet_length(d.description) FROM object o JOIN pg_description d ON d.classoid = o.class AND d.objoid = o.id
              UNION ALL
              SELECT o.class, o.id, greatest(@extschema@._flake_definition_size(c.oid, 4259840::bigint) - 65536, 0)
              FROM object o JOIN pg_class c ON c.oid = o.id
              WHERE o.class = 'pg_class'::regclass AND c.relkind NOT IN ('i', 'I', 'S')
              UNION ALL
              SELECT o.class, o.id, octet_length(g.tgargs) FROM object o JOIN pg_trigger g ON g.oid = o.id WHERE o.class = 'pg_trigger'::regclass) AS b (class, id, bytes)
        GROUP BY b.class, b.id
        HAVING sum(b.bytes) > 8192
    ), longest AS MATERIALIZED (
        SELECT pg_describe_object(k.class, k.id, 0),
               CASE WHEN k.bytes > 4194304 THEN 'has a definition and comments of more than 4 MB, which take long to read'
                    ELSE 'is the longest of several with long definitions and comments, which have more than 16 MB together and take long to read' END
        FROM kept k
        WHERE k.bytes > 4194304 OR (SELECT sum(s.bytes) FROM kept s) > 16777216
        ORDER BY k.bytes DESC, k.class, k.id LIMIT 1
    )
    SELECT * FROM longest
    UNION ALL
    (SELECT pg_describe_object(f.class, f.id, 0),
            'has many equal names of columns, functions or operators in its definition, many references to many columns, long defaults of functions, or what is often grouped or sorted by, which takes long to read'
     FROM definition f
     WHERE NOT EXISTS (SELECT FROM longest) AND f.class NOT IN ('pg_proc'::regclass, 'pg_policy'::regclass) AND @extschema@._flake_takes_long(f.tree)
     LIMIT 1);
