--
-- What CREATE EXTENSION makes.
--
CREATE EXTENSION flakeid;

SELECT extversion, extrelocatable FROM pg_extension WHERE extname = 'flakeid';
SELECT trusted, superuser FROM pg_available_extension_versions WHERE name = 'flakeid';

-- everything says what it is
SELECT pg_describe_object(d.classid, d.objid, 0) AS "without a description"
FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')
  AND obj_description(d.objid, d.classid::regclass::name) IS NULL
  AND d.classid IN ('pg_class'::regclass, 'pg_proc'::regclass, 'pg_event_trigger'::regclass)
ORDER BY d.classid, d.objid;
SELECT attrelid::regclass AS view, attname AS "without a description" FROM pg_attribute
WHERE attrelid IN (SELECT oid FROM pg_class WHERE relname ~ '^flake' AND relkind = 'v') AND attnum > 0
  AND col_description(attrelid, attnum) IS NULL;

SELECT flake_id(5) > 0 AS "loads the library";
SET flakeid.shrad = 5;

-- the horizon is not for taking numbers from
SELECT nextval('flake_default');
SELECT relpersistence, relkind FROM pg_class WHERE oid = 'flake_default'::regclass;

-- Names are bound when the extension is created.  Functions that resolve some later
-- have a settled search_path.  If these are names of the extension, they cannot be
-- called without a ticket.
SELECT p.oid::regprocedure AS "not bound"
FROM pg_proc p JOIN pg_language l ON l.oid = p.prolang
JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
WHERE d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')
  AND (p.prosecdef
       OR l.lanname NOT IN ('c', 'internal', 'sql', 'plpgsql')
       OR l.lanname NOT IN ('c', 'internal') AND p.prosqlbody IS NULL
          AND (NOT coalesce('search_path=pg_catalog, pg_temp' = ANY (p.proconfig), false)
               OR p.prosrc ~ 'flake_' AND NOT (p.proargtypes[0] = '_flake_ticket'::regtype
                                               AND (p.proisstrict OR p.prosrc ~ 'IF ticket IS NULL'))))
ORDER BY 1;
SELECT 'ticket'::_flake_ticket;
SELECT _flake_guard('pg_catalog');

-- For the tests that follow: an error, all of it but its place in the source.
CREATE FUNCTION attempt(command text, OUT code text, OUT message text, OUT detail text, OUT hint text)
LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE command;
EXCEPTION WHEN OTHERS THEN
    GET STACKED DIAGNOSTICS code = RETURNED_SQLSTATE, message = MESSAGE_TEXT,
        detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
END
$$;
