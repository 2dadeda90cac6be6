    WITH RECURSIVE relation AS MATERIALIZED (
        SELECT c.oid, c.relkind = 'S' AS is_sequence
        FROM pg_class c
        WHERE c.relnamespace = source AND c.relkind IN ('r', 'p', 'f', 'S')
          AND NOT EXISTS (SELECT FROM pg_depend d
                          WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
          AND NOT (c.relkind = 'S' AND EXISTS (SELECT FROM pg_seclabel l
                                               WHERE l.classoid = 'pg_class'::regclass AND l.objoid = c.oid AND l.provider = 'flakeid'))
    ), part (classid, objid) AS (
        SELECT 'pg_class'::regclass, oid FROM relation WHERE NOT is_sequence
        UNION ALL
        SELECT 'pg_class'::regclass, i.indexrelid FROM pg_index i JOIN relation r ON r.oid = i.indrelid
        UNION ALL
        SELECT 'pg_attrdef'::regclass, f.oid FROM pg_attrdef f JOIN relation r ON r.oid = f.adrelid
        UNION ALL
        SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint k JOIN relation r ON r.oid = k.conrelid
        UNION ALL
        SELECT 'pg_trigger'::regclass, t.oid FROM pg_trigger t JOIN relation r ON r.oid = t.tgrelid
    ), name AS MATERIALIZED (
        SELECT DISTINCT d.refclassid, d.refobjid
        FROM part p JOIN pg_depend d ON d.classid = p.classid AND d.objid = p.objid
    ), opened (classid, objid) AS (
        -- To make a column or to write an expression, PostgreSQL locks the relations that
        -- have the composite types in them.
        SELECT refclassid, refobjid FROM name
        UNION
\i bodies/opened_with.sql
    )
    SELECT ARRAY(SELECT oid FROM relation WHERE NOT is_sequence ORDER BY oid),
           ARRAY(SELECT oid FROM relation WHERE is_sequence ORDER BY oid),
           -- Who may not refer to a table himself cannot lock it before.
           ARRAY(SELECT DISTINCT k.confrelid
                 FROM pg_constraint k JOIN relation r ON r.oid = k.conrelid
                 WHERE k.contype = 'f' AND k.confrelid NOT IN (SELECT oid FROM relation)
                   AND has_any_column_privilege(k.confrelid, 'REFERENCES')
                 ORDER BY 1),
           ARRAY(SELECT oid FROM relation
                 UNION
                 SELECT c.oid FROM opened n JOIN pg_class c ON c.oid = n.objid WHERE n.classid = 'pg_class'::regclass
                 ORDER BY 1),
           ARRAY(SELECT DISTINCT s.oid
                 FROM name n
                 JOIN pg_namespace s ON s.oid = to_regnamespace((pg_identify_object(n.refclassid, n.refobjid, 0)).schema)
                 WHERE s.oid <> source AND s.nspname <> 'pg_catalog'
                 ORDER BY 1)
