    -- One UPDATE for each table, with all of its columns: a row that two would change
    -- in one statement is changed by one of them only.
    WITH changed AS (
        SELECT c.oid, array_agg(quote_ident(u.attname) ORDER BY u.attname) AS columns,
               format('%s%I.%I', CASE c.relkind WHEN 'r' THEN 'ONLY ' END, n.nspname, c.relname) AS name
        FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_class c ON c.oid = u.relation AND NOT c.relispartition
        JOIN pg_namespace n ON n.oid = c.relnamespace
        GROUP BY c.oid, n.nspname
    )
    SELECT format('WITH map (old_id, new_id) AS MATERIALIZED (SELECT m.o, m.n FROM ROWS FROM (pg_catalog.unnest(%L::pg_catalog.int8[]), pg_catalog.unnest(%L::pg_catalog.int8[])) AS m (o, n))',
                  old_ids, new_ids)
        || string_agg(CASE cardinality(columns)
            WHEN 1 THEN format(', u%1$s AS (UPDATE %2$s AS t SET %3$s = m.new_id FROM map AS m WHERE t.%3$s OPERATOR(pg_catalog.=) m.old_id)',
                               oid, name, columns[1])
            ELSE (SELECT format(', u%1$s AS (UPDATE %2$s AS t SET %3$s FROM %2$s AS s%4$s WHERE t.ctid OPERATOR(pg_catalog.=) s.ctid AND t.tableoid OPERATOR(pg_catalog.=) s.tableoid AND (%5$s))',
                                oid, name,
                                string_agg(format('%s = COALESCE(m%s.new_id, s.%1$s)', c, i), ', ' ORDER BY i),
                                string_agg(format(' LEFT JOIN map AS m%s ON s.%s OPERATOR(pg_catalog.=) m%1$s.old_id', i, c), '' ORDER BY i),
                                string_agg(format('m%s.old_id IS NOT NULL', i), ' OR ' ORDER BY i))
                  FROM unnest(columns) WITH ORDINALITY AS k (c, i)) END, '' ORDER BY oid <> target, oid)
        || ' SELECT pg_catalog.count(*) FROM map'
    FROM changed
