    -- To show a view, or to make one, PostgreSQL locks the relations that it names, and
    -- those that have the composite types of what it names.
    WITH RECURSIVE opened (classid, objid) AS (
        SELECT d.refclassid, d.refobjid
        FROM pg_rewrite w
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
        WHERE w.ev_class = ANY (views)
        UNION
\i bodies/opened_with.sql
    )
    SELECT coalesce(array_agg(c.oid), '{}')
    FROM opened n JOIN pg_class c ON c.oid = n.objid
    WHERE n.classid = 'pg_class'::regclass
