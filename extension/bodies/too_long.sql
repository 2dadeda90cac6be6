    -- Only the length of what is kept is read.  It may be kept compressed to little.
    -- What is short counts for nothing: it takes less time than to make the object.
    -- So does what is usual for a table: anybody has thousands of partitions.
    WITH RECURSIVE object (class, id) AS (
        SELECT u.class, u.id FROM unnest(classes, objects) AS u (class, id)
        UNION
        SELECT o.class, i.inhrelid FROM object o JOIN pg_inherits i ON i.inhparent = o.id WHERE o.class = 'pg_class'::regclass
    ), kept AS MATERIALIZED (
        SELECT o.class, o.id, sum(k.bytes) AS bytes
        FROM object o
        CROSS JOIN LATERAL (
            SELECT octet_length(d.description) FROM pg_description d WHERE d.classoid = o.class AND d.objoid = o.id
            UNION ALL
            SELECT octet_length(t.tree::text)
            FROM pg_rewrite w CROSS JOIN LATERAL (VALUES (w.ev_action), (w.ev_qual)) AS t (tree)
            WHERE o.class = 'pg_rewrite'::regclass AND w.oid = o.id
            UNION ALL
            SELECT octet_length(t.tree::text)
            FROM pg_index i CROSS JOIN LATERAL (VALUES (i.indexprs), (i.indpred)) AS t (tree)
            WHERE o.class = 'pg_class'::regclass AND i.indexrelid = o.id
            UNION ALL
            SELECT greatest(@extschema@._flake_definition_size(c.oid, 4259840::bigint) - 65536, 0)
            FROM pg_class c WHERE o.class = 'pg_class'::regclass AND c.oid = o.id AND c.relkind NOT IN ('i', 'I', 'S')
            UNION ALL
            SELECT octet_length(t.tree::text)
            FROM pg_class c CROSS JOIN LATERAL (VALUES (c.relpartbound), ((SELECT p.partexprs FROM pg_partitioned_table p WHERE p.partrelid = c.oid))) AS t (tree)
            WHERE o.class = 'pg_class'::regclass AND c.oid = o.id
            UNION ALL
            SELECT octet_length(k.conbin::text) FROM pg_constraint k WHERE o.class = 'pg_constraint'::regclass AND k.oid = o.id
            UNION ALL
            SELECT octet_length(f.adbin::text) FROM pg_attrdef f WHERE o.class = 'pg_attrdef'::regclass AND f.oid = o.id
            UNION ALL
            SELECT octet_length(x.stxexprs::text) FROM pg_statistic_ext x WHERE o.class = 'pg_statistic_ext'::regclass AND x.oid = o.id
            UNION ALL
            SELECT octet_length(t.tree::text)
            FROM pg_policy y CROSS JOIN LATERAL (VALUES (y.polqual), (y.polwithcheck)) AS t (tree)
            WHERE o.class = 'pg_policy'::regclass AND y.oid = o.id
            UNION ALL
            SELECT octet_length(t.tree::text)
            FROM pg_proc p CROSS JOIN LATERAL (VALUES (p.prosqlbody), (p.proargdefaults)) AS t (tree)
            WHERE o.class = 'pg_proc'::regclass AND p.oid = o.id
            UNION ALL
            SELECT coalesce(octet_length(g.tgqual::text), 0) + octet_length(g.tgargs) FROM pg_trigger g WHERE o.class = 'pg_trigger'::regclass AND g.oid = o.id) AS k (bytes)
        GROUP BY o.class, o.id
        HAVING sum(k.bytes) > 8192
    )
    SELECT pg_describe_object(k.class, k.id, 0),
           CASE WHEN k.bytes > 4194304 THEN 'has a definition and comments of more than 4 MB, which take long to read'
                ELSE 'is the longest of several with long definitions and comments, which have more than 16 MB together and take long to read' END
    FROM kept k
    WHERE k.bytes > 4194304 OR (SELECT sum(s.bytes) FROM kept s) > 16777216
    ORDER BY k.bytes DESC, k.class, k.id LIMIT 1;
