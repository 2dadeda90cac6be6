    WITH RECURSIVE heir (oid) AS (
        SELECT target
        UNION
        SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid
    ), relation (oid) AS (
        SELECT unnest(relations)
        UNION
        SELECT unnest(views)
    ), row_type (oid) AS (      -- and the types that have them in them
        SELECT t.oid FROM relation r JOIN pg_type t ON t.typrelid = r.oid
        UNION
        SELECT n.type FROM row_type r
        CROSS JOIN LATERAL (
            SELECT d.objid FROM pg_depend d
            WHERE d.refclassid = 'pg_type'::regclass AND d.refobjid = r.oid AND d.classid = 'pg_type'::regclass
            UNION ALL
            SELECT c.reltype FROM pg_depend d
            JOIN pg_class c ON c.oid = d.objid AND c.reltype <> 0
            WHERE d.refclassid = 'pg_type'::regclass AND d.refobjid = r.oid AND d.classid = 'pg_class'::regclass) AS n (type)
    ), named (class, id) AS (
        SELECT 'pg_class'::regclass, oid FROM relation
        UNION
        SELECT 'pg_type'::regclass, oid FROM row_type
        UNION
        SELECT 'pg_proc'::regclass, d.objid
        FROM row_type r JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid = r.oid AND d.classid = 'pg_proc'::regclass
    ), definition (class, id) AS (
        SELECT 'pg_rewrite'::regclass::oid, w.oid FROM pg_rewrite w WHERE w.ev_class = ANY (views)
        UNION ALL
        SELECT 'pg_class'::regclass, i.indexrelid FROM relation r JOIN pg_index i ON i.indrelid = r.oid
        UNION ALL
        SELECT 'pg_constraint'::regclass, k.oid FROM relation r JOIN pg_constraint k ON k.conrelid = r.oid
        UNION ALL
        SELECT 'pg_statistic_ext'::regclass, x.oid FROM relation r JOIN pg_statistic_ext x ON x.stxrelid = r.oid
    ), opened (classid, objid) AS (     -- what these name
        SELECT d.refclassid, d.refobjid
        FROM definition f JOIN pg_depend d ON d.classid = f.class AND d.objid = f.id
        UNION
\i bodies/opened_with.sql
    )
    SELECT o.classid, o.objid FROM opened o WHERE o.classid = 'pg_class'::regclass
    UNION
    SELECT 'pg_class'::regclass, r.oid FROM relation r
    UNION       -- one of the same name might fit
    SELECT 'pg_proc'::regclass, f.oid
    FROM opened o
    JOIN pg_proc p ON o.classid = 'pg_proc'::regclass AND p.oid = o.objid AND p.oid >= 16384
    JOIN pg_proc f ON f.proname = p.proname AND f.pronamespace = p.pronamespace
    UNION
    SELECT d.classid, d.objid FROM named n JOIN pg_depend d ON d.refclassid = n.class AND d.refobjid = n.id
    UNION
    SELECT 'pg_class'::regclass, i.indexrelid FROM relation r JOIN pg_index i ON i.indrelid = r.oid
    UNION
    SELECT 'pg_class'::regclass, old_sequence
    UNION
    SELECT 'pg_attrdef'::regclass, f.oid FROM heir h JOIN pg_attrdef f ON f.adrelid = h.oid
