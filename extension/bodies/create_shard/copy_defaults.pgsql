DECLARE
    written pg_catalog.record;
    expression pg_catalog.text;
    steps pg_catalog.text[] := '{}';
BEGIN
    -- They name their copies instead.
    FOR written IN
        SELECT f.oid, c.relname, c.relowner, a.attname, pg_get_expr(f.adbin, f.adrelid) AS expression,
               array_agg(DISTINCT r.relname) AS originals
        FROM pg_attrdef f
        JOIN pg_class c ON c.oid = f.adrelid
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
        JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables || sequences) AND d.refobjsubid = 0
        JOIN pg_class r ON r.oid = d.refobjid
        WHERE f.oid = ANY (renamed)
        GROUP BY f.oid, f.adbin, f.adrelid, c.oid, c.relname, c.relowner, a.attname, a.attnum
        ORDER BY c.oid, a.attnum
    LOOP
        FOR i IN 1 .. cardinality(written.originals) LOOP
            expression := replace(written.expression,
                                  format('''%s''::regclass', replace(format('%I.%I', template, written.originals[i]), '''', '''''')),
                                  format('''%s''::regclass', replace(format('%I.%I', target, written.originals[i]), '''', '''''')));
            IF expression = written.expression THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('cannot copy table "%s" of schema "%s"', written.relname, template),
                    DETAIL = format('The default of column "%s" is %s.', written.attname, expression),
                    HINT = 'Let it be a call of nextval() with the name of the sequence.';
            END IF;
            written.expression := expression;
        END LOOP;
        steps := steps || ARRAY[[written.relowner::text, format('%I.%I', target, written.relname), NULL,
            format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET DEFAULT %s', target, written.relname, written.attname, expression)]];
    END LOOP;
    RETURN steps;
END
