DECLARE
    problem pg_catalog.record;
BEGIN
    SELECT t.object, t.what INTO problem
    FROM @extschema@._flake_too_long(array_fill('pg_class'::regclass::oid, ARRAY[cardinality(relations)]), relations) AS t;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'a definition is too long to be read with tables locked',
            DETAIL = format('The %s %s.', problem.object, problem.what),
            HINT = hint;
    END IF;
END
