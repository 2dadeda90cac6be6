-- The schema
--
-- This script names its schema, and while it waits for something the schema's owner
-- could rename that and put another in its place.  So the schema's row is locked: in
-- older minor versions ALTER SCHEMA ... RENAME waits for nothing else.  Until then no
-- string and no function has the name in it, which could end there: before 15.4,
-- PostgreSQL puts it in as it is.  It is looked at as the name of a column.

SELECT pg_catalog.set_config('flakeid_script.schema', k.name, true)
FROM (SELECT 1 AS @extschema@) AS e
CROSS JOIN LATERAL pg_catalog.json_object_keys(pg_catalog.row_to_json(e.*)) AS k (name);

DO $hold$
DECLARE
    named pg_catalog.text := pg_catalog.current_setting('flakeid_script.schema');
    found_name pg_catalog.text;
BEGIN
    SELECT n.nspname INTO found_name
    FROM pg_catalog.pg_extension x
    JOIN pg_catalog.pg_namespace n ON n.oid OPERATOR(pg_catalog.=) x.extnamespace
    WHERE x.extname OPERATOR(pg_catalog.=) 'flakeid'
    FOR KEY SHARE OF n;
    IF found_name IS DISTINCT FROM named THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = pg_catalog.format('schema "%s" has been renamed', named),
            HINT = 'Create the extension in a new schema of your own.';
    END IF;
    -- The backslash is not in a literal: what it means there is a setting.
    IF named OPERATOR(pg_catalog.<>) pg_catalog.translate(named, '"$''' OPERATOR(pg_catalog.||) pg_catalog.chr(92), '') THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = pg_catalog.format('cannot have extension "flakeid" in schema "%s"', named),
            DETAIL = 'Its name has a quotation mark, a dollar sign or a backslash.',
            HINT = 'Create the extension in a new schema.';
    END IF;
END
$hold$;
