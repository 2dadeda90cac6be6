-- Names
--
-- What the extension depends on is PostgreSQL's, or its own.  Superusers call the
-- extension, and would execute what others have made.  An update leaves this out: a
-- superuser may have added a trigger to a table.

DO $check$
DECLARE
    problem pg_catalog.record;
BEGIN
    PERFORM pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    WITH RECURSIVE part (classid, objid) AS (
        SELECT d.classid, d.objid
        FROM pg_extension x
        JOIN pg_depend d ON d.refclassid = 'pg_extension'::regclass AND d.refobjid = x.oid AND d.deptype = 'e'
        WHERE x.extname = 'flakeid'
        UNION   -- such as the rule of a view, and the indexes of a table
        SELECT d.classid, d.objid
        FROM part
        JOIN pg_depend d ON d.refclassid = part.classid AND d.refobjid = part.objid AND d.deptype IN ('a', 'i')
    ), known (classid, objid) AS (
        SELECT classid, objid FROM part
        UNION ALL
        SELECT o.classid, o.objid
        FROM pg_extension x
        CROSS JOIN LATERAL (VALUES ('pg_extension'::regclass, x.oid), ('pg_namespace'::regclass, x.extnamespace)) AS o (classid, objid)
        WHERE x.extname = 'flakeid'
        UNION ALL
        SELECT 'pg_language'::regclass, l.oid FROM pg_language l WHERE l.lanname = 'plpgsql'
    )
    SELECT n.nspname, pg_describe_object(d.classid, d.objid, d.objsubid) AS namer,
           pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) AS named
    INTO problem
    FROM part
    JOIN pg_depend d USING (classid, objid)
    JOIN pg_extension x ON x.extname = 'flakeid'
    JOIN pg_namespace n ON n.oid = x.extnamespace
    WHERE d.refobjid >= 16384   -- initdb has not made it
      AND NOT EXISTS (SELECT FROM known WHERE known.classid = d.refclassid AND known.objid = d.refobjid)
    ORDER BY namer, named LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('cannot have extension "flakeid" in schema "%s"', problem.nspname),
            DETAIL = format('The %s would name %s, which is neither PostgreSQL''s nor the extension''s.', problem.namer, problem.named),
            HINT = 'Create the extension in a new schema.';
    END IF;
END
$check$;
