DECLARE
    unsorted pg_catalog.oid[];
    ready pg_catalog.oid[];
    namers pg_catalog.oid[];    -- each of these views names the one at the same place below
    namees pg_catalog.oid[];
    -- Anybody can make a long chain of views, and each of its steps looks at all.
    most_levels CONSTANT int := 100;
    levels int := 0;
BEGIN
    WITH RECURSIVE naming AS MATERIALIZED (
        SELECT DISTINCT w.ev_class AS view, coalesce(nullif(t.typrelid, 0), nullif(e.typrelid, 0), d.refobjid) AS relation, d.refobjsubid AS attnum
        FROM pg_rewrite w
        JOIN pg_class c ON c.oid = w.ev_class AND c.relkind = 'v'
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
         AND (d.refclassid = 'pg_type'::regclass
              OR d.refclassid = 'pg_class'::regclass AND (d.refobjid <> c.oid OR d.refobjsubid > 0))
        LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
        LEFT JOIN pg_type e ON e.oid = t.typelem
        WHERE w.rulename = '_RETURN'
    ), dependent (view, level) AS (
        SELECT n.view, 1
        FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
        JOIN naming n ON n.relation = u.relation AND n.attnum = a.attnum
        UNION
        SELECT n.view, d.level + 1 FROM dependent d JOIN naming n ON n.relation = d.view WHERE d.level <= most_levels
    )
    SELECT ARRAY(SELECT DISTINCT view FROM dependent ORDER BY view), array_agg(n.view), array_agg(n.relation) INTO unsorted, namers, namees
    FROM naming n WHERE n.view IN (SELECT view FROM dependent) AND n.relation IN (SELECT view FROM dependent);
    LOOP
        ready := ARRAY(SELECT v FROM unnest(unsorted) AS v
                       WHERE NOT EXISTS (SELECT FROM unnest(namers) AS n WHERE n = v)
                       ORDER BY v);
        EXIT WHEN ready = '{}';
        levels := levels + 1;
        IF levels > most_levels THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = 'cannot migrate a column with views on it that are nested too deeply',
                DETAIL = format('View %s is on top of %s others.', ready[1]::regclass, most_levels),
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
        views := views || ready;
        unsorted := ARRAY(SELECT v FROM unnest(unsorted) AS v WHERE NOT EXISTS (SELECT FROM unnest(ready) AS r WHERE r = v));
        SELECT array_agg(n.view), array_agg(n.relation) INTO namers, namees
        FROM unnest(namers, namees) AS n (view, relation)
        WHERE NOT EXISTS (SELECT FROM unnest(ready) AS r WHERE r = n.relation);
    END LOOP;
    circular := unsorted[1];
END
