DECLARE
    steps pg_catalog.text[] := '{}';
BEGIN
    -- Sequences that belong to a column
    steps := steps || ARRAY(
        SELECT ARRAY[q.relowner::text, format('%I.%I', target, q.relname), NULL,
                     format('ALTER SEQUENCE %I.%I OWNED BY %1$I.%3$I.%4$I', target, q.relname, c.relname, a.attname)]
        FROM pg_depend d
        JOIN pg_class q ON q.oid = d.objid
        JOIN pg_class c ON c.oid = d.refobjid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.objid = ANY (sequences)
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables) AND d.deptype = 'a'
        ORDER BY q.oid);

    -- Keys, then other indexes, under their names
    steps := steps || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('SELECT %s._flake_copy_index(%L::oid, %L::regclass)', '@extschema@', i.indexrelid, format('%I.%I', target, c.relname))]
        FROM pg_index i
        JOIN pg_class c ON c.oid = i.indrelid
        LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')
        WHERE c.oid = ANY (tables)
        ORDER BY k.oid, i.indexrelid);
    steps := steps || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE ONLY %I.%I REPLICA IDENTITY %s', target, c.relname,
                            CASE c.relreplident WHEN 'n' THEN 'NOTHING' WHEN 'f' THEN 'FULL'
                            ELSE format('USING INDEX %I', (SELECT x.relname FROM pg_index i
                                                           JOIN pg_class x ON x.oid = i.indexrelid
                                                           WHERE i.indrelid = c.oid AND i.indisreplident)) END)]
        FROM pg_class c WHERE c.oid = ANY (tables) AND c.relreplident <> 'd' ORDER BY c.oid);

    steps := steps || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE %I.%I CLUSTER ON %I', target, c.relname, x.relname)]
        FROM pg_index i
        JOIN pg_class c ON c.oid = i.indrelid
        JOIN pg_class x ON x.oid = i.indexrelid
        WHERE c.oid = ANY (tables) AND i.indisclustered ORDER BY c.oid);

    -- What is set for the planner, of columns and of expressions in indexes
    steps := steps || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     CASE WHEN i.indexrelid IS NULL THEN format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET %s', target, c.relname, a.attname, v.setting)
                     ELSE format('ALTER INDEX %I.%I ALTER COLUMN %s SET %s', target, c.relname, a.attnum, v.setting) END]
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_index i ON i.indexrelid = c.oid
        CROSS JOIN LATERAL (
            SELECT 'STATISTICS ' || a.attstattarget WHERE a.attstattarget >= 0
            UNION ALL
            SELECT '(' || string_agg(format('%I = %L', option_name, option_value), ', ') || ')'
            FROM pg_options_to_table(a.attoptions) WHERE i.indexrelid IS NULL AND option_name <> 'pg_attver' HAVING count(*) > 0) AS v (setting)
        WHERE c.oid = ANY (tables) OR i.indrelid = ANY (tables)
        ORDER BY c.oid, a.attnum);

    -- Partitions, which take over what they have in common with their parents
    steps := steps || ARRAY(
        SELECT ARRAY[p.relowner::text, format('%I.%I', target, p.relname), NULL,
                     format('ALTER TABLE %I.%I ATTACH PARTITION %1$I.%3$I %4$s',
                            target, p.relname, c.relname, pg_get_expr(c.relpartbound, c.oid))]
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        JOIN pg_class p ON p.oid = i.inhparent
        WHERE c.oid = ANY (tables)
        ORDER BY c.oid);
    RETURN steps;
END
