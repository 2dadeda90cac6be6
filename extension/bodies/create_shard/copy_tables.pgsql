BEGIN
    -- Sequences; tables; then sequences of identity columns, to which LIKE would give
    -- other names.
    RETURN ARRAY(
        WITH sequence AS (
            SELECT c.oid, c.relowner::text AS owner, c.relpersistence, d.refobjid, d.refobjsubid, format('%I.%I', target, c.relname) AS name,
                   format('INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s%s', q.seqincrement, q.seqmin, q.seqmax, q.seqstart,
                          q.seqcache, CASE WHEN q.seqcycle THEN ' CYCLE' END) AS options, q.seqtypid
            FROM pg_sequence q
            JOIN pg_class c ON c.oid = q.seqrelid
            LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
            WHERE c.oid = ANY (sequences)
        )
        SELECT step
        FROM (SELECT 1, oid, ARRAY[owner, name, 'new',
                                   format('CREATE %sSEQUENCE %s AS %s %s', CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' END,
                                          name, seqtypid::regtype, options)]
              FROM sequence WHERE refobjid IS NULL
              UNION ALL
              SELECT 2, c.oid, ARRAY[c.relowner::text, format('%I.%I', target, c.relname), 'new',
                   format('CREATE %sTABLE %I.%I (LIKE %I.%3$I INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY)',
                          CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, target, c.relname, template)
                   || CASE c.relkind WHEN 'p' THEN ' PARTITION BY ' || pg_get_partkeydef(c.oid) ELSE '' END
                   || coalesce(' USING ' || quote_ident((SELECT amname FROM pg_am a WHERE a.oid = c.relam)), '')
                   || coalesce((SELECT ' WITH (' || string_agg(format('%s%I = %L', namespace, option_name, option_value), ', ') || ')'
                                FROM (SELECT '', * FROM pg_options_to_table(c.reloptions)
                                      UNION ALL
                                      SELECT 'toast.', o.* FROM pg_class t, pg_options_to_table(t.reloptions) AS o
                                      WHERE t.oid = c.reltoastrelid) AS o (namespace, option_name, option_value)), '')
                   || coalesce(' TABLESPACE ' || quote_ident((SELECT spcname FROM pg_tablespace s
                                                              WHERE s.oid = c.reltablespace)), '')]
              FROM pg_class c WHERE c.oid = ANY (tables)
              UNION ALL
              SELECT 3, s.oid, ARRAY[s.owner, format('%I.%I', target, c.relname), NULL,
                                     format('ALTER TABLE %I.%I ALTER COLUMN %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s)', target, c.relname,
                                            a.attname, CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, s.name, s.options)]
              FROM sequence s
              JOIN pg_class c ON c.oid = s.refobjid
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.refobjsubid
              UNION ALL     -- ADD GENERATED forgets about it.
              SELECT 4, oid, ARRAY[owner, name, NULL, format('ALTER SEQUENCE %s SET UNLOGGED', name)]
              FROM sequence WHERE refobjid IS NOT NULL AND relpersistence = 'u') AS s (stage, oid, step)
        ORDER BY stage, oid);
END
