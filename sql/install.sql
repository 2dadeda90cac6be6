--
-- What CREATE EXTENSION makes.
--
CREATE EXTENSION flakeid;

SELECT extversion, extrelocatable FROM pg_extension WHERE extname = 'flakeid';
SELECT trusted, superuser FROM pg_available_extension_versions WHERE name = 'flakeid';

-- every object
SELECT oid::regclass AS relation, relkind AS kind FROM pg_class
WHERE relname LIKE 'flake%' ORDER BY relname COLLATE "C";
SELECT oid::regprocedure AS function, pg_get_function_result(oid) AS result,
       provolatile AS volatile, proparallel AS parallel, proisstrict AS strict
FROM pg_proc WHERE proname LIKE 'flake%'
ORDER BY proname COLLATE "C", pronargs;

-- everything says what it is
SELECT proname FROM pg_proc
WHERE proname LIKE 'flake%' AND obj_description(oid, 'pg_proc') IS NULL;
SELECT attname FROM pg_attribute
WHERE attrelid = 'flake_stat'::regclass AND attnum > 0
  AND col_description(attrelid, attnum) IS NULL;

-- the settings
SELECT flake_id(5) > 0 AS "loads the library";
SELECT name, setting, unit, context, boot_val FROM pg_settings
WHERE name LIKE 'flakeid.%' ORDER BY name;
SET flakeid.shrad = 5;

-- the horizon is not for taking numbers from
SELECT nextval('flake_default');
SELECT relpersistence, relkind FROM pg_class WHERE oid = 'flake_default'::regclass;

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
