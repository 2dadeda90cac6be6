DECLARE
    written pg_catalog.record;
    steps pg_catalog.text[];
BEGIN
    inside := '{}';
    outside := '{}';
    -- Foreign keys, triggers
    FOR written IN
        SELECT 1 AS kind, k.oid, k.conname AS name, c.relname, c.relowner,
               format('ALTER TABLE %I.%I ADD CONSTRAINT %I ', target, c.relname, k.conname) AS prefix,
               pg_get_constraintdef(k.oid) AS definition,
               CASE WHEN r.oid IS NOT NULL THEN format(') REFERENCES %I.%I(', template, r.relname) END AS original,
               CASE WHEN r.oid IS NOT NULL THEN format(') REFERENCES %I.%I(', target, r.relname) END AS copy,
               CASE WHEN r.oid IS NOT NULL THEN format('%I.%I', target, r.relname) ELSE k.confrelid::regclass::text END AS referenced,
               r.oid IS NULL AS is_outside
        FROM pg_constraint k
        JOIN pg_class c ON c.oid = k.conrelid
        LEFT JOIN pg_class r ON r.oid = k.confrelid AND r.oid = ANY (tables)
        WHERE c.oid = ANY (tables) AND k.contype = 'f' AND k.conparentid = 0
        UNION ALL
        SELECT 2, t.oid, t.tgname, c.relname, c.relowner, '',
               pg_get_triggerdef(t.oid),
               format(' ON %I.%I ', template, c.relname) || CASE WHEN r.oid IS NOT NULL THEN format('FROM %I.%I ', template, r.relname) ELSE '' END,
               format(' ON %I.%I ', target, c.relname) || CASE WHEN r.oid IS NOT NULL THEN format('FROM %I.%I ', target, r.relname) ELSE '' END, NULL, false
        FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid
        LEFT JOIN pg_class r ON r.oid = t.tgconstrrelid AND r.oid = ANY (tables)
        WHERE c.oid = ANY (tables) AND NOT t.tgisinternal AND t.tgparentid = 0
        ORDER BY 1, 2
    LOOP
        IF written.original IS NOT NULL AND cardinality(string_to_array(written.definition, written.original)) <> 2 THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot copy table "%s" of schema "%s"', written.relname, template),
                DETAIL = format('There is "%s" in %s.', written.original, written.definition),
                HINT = 'Give what has such a name another one.';
        END IF;
        steps := '{}';
        IF written.referenced IS NOT NULL THEN
            steps := ARRAY[[written.relowner::text, written.referenced, NULL, NULL]];
        END IF;
        steps := steps || ARRAY[[written.relowner::text, format('%I.%I', target, written.relname), NULL,
            written.prefix || CASE WHEN written.original IS NULL THEN written.definition
                                   ELSE replace(written.definition, written.original, written.copy) END]];
        IF written.is_outside THEN
            outside := outside || steps;
        ELSE
            inside := inside || steps;
        END IF;
    END LOOP;
    inside := inside || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE ONLY %I.%I %s TRIGGER %I', target, c.relname,
                            CASE t.tgenabled WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'DISABLE' END,
                            t.tgname)]
        FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.oid = ANY (tables) AND NOT t.tgisinternal AND t.tgenabled <> 'O'
        ORDER BY t.oid);
END
