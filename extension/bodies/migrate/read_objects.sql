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
    )
    SELECT d.classid, d.objid FROM named n JOIN pg_depend d ON d.refclassid = n.class AND d.refobjid = n.id
    UNION
    SELECT 'pg_class'::regclass, i.indexrelid FROM relation r JOIN pg_index i ON i.indrelid = r.oid
    UNION
    SELECT 'pg_class'::regclass, unnest(views || old_sequence)
    UNION
    SELECT 'pg_attrdef'::regclass, f.oid FROM heir h JOIN pg_attrdef f ON f.adrelid = h.oid
