    WITH RECURSIVE row_type (oid) AS (
        SELECT t.oid FROM pg_type t WHERE t.typrelid = ANY (relations)
        UNION
        SELECT d.objid FROM row_type r
        JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid = r.oid AND d.classid = 'pg_type'::regclass
    ), user_of (classid, objid) AS (    -- of the relations, or of functions that return rows of them
        SELECT d.classid, d.objid FROM pg_depend d WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (relations)
        UNION
        SELECT d.classid, d.objid
        FROM row_type r
        JOIN pg_depend f ON f.refclassid = 'pg_type'::regclass AND f.refobjid = r.oid AND f.classid = 'pg_proc'::regclass
        JOIN pg_depend d ON d.refclassid = 'pg_proc'::regclass AND d.refobjid = f.objid
    )
    SELECT pg_describe_object(u.classid, u.objid, 0) AS object
    FROM user_of u
    LEFT JOIN pg_rewrite w ON u.classid = 'pg_rewrite'::regclass AND w.oid = u.objid AND (w.rulename <> '_RETURN' OR w.ev_class <> ALL (views))
    LEFT JOIN pg_proc p ON u.classid = 'pg_proc'::regclass AND p.oid = u.objid
    LEFT JOIN pg_policy y ON u.classid = 'pg_policy'::regclass AND y.oid = u.objid
    -- A tree is searched as text before it is read, which cannot be canceled.
    WHERE EXISTS (SELECT FROM (VALUES (w.ev_action), (w.ev_qual), (p.prosqlbody), (y.polqual), (y.polwithcheck)) AS t (tree)
                  WHERE CASE WHEN octet_length(t.tree::text) > 4194304 THEN true      -- since it was measured
                             WHEN position(':varattno 0 :vartype 2249 ' IN t.tree::text) > 0 THEN @extschema@._flake_has_record(t.tree) END)
    ORDER BY object LIMIT 1;
