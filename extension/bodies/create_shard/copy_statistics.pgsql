DECLARE
    steps pg_catalog.text[];
BEGIN
    -- LIKE has given names to statistics objects.  They are made in the order of
    -- the originals, and two may have each other's.
    SELECT array_agg(ARRAY[role, NULL, NULL, command] ORDER BY stage, id) INTO steps
    FROM (WITH numbered AS (
              SELECT x.*, c.relname, c.relowner, row_number() OVER (PARTITION BY x.stxrelid ORDER BY x.oid) AS number
              FROM pg_statistic_ext x JOIN pg_class c ON c.oid = x.stxrelid
              WHERE x.stxrelid = ANY (tables) OR c.relnamespace = target_oid
          ), pair AS (
              SELECT n.oid AS id, n.relowner::text AS role, o.stxname AS name, o.stxstattarget AS aim, n.stxname AS given,
                     n.oid || '_of_' || target_oid AS interim
              FROM numbered o JOIN numbered n USING (relname, number) WHERE o.stxnamespace = source AND n.stxnamespace = target_oid
          )
          SELECT 1, id, role, format('ALTER STATISTICS %I.%I RENAME TO %I', target, given, interim) FROM pair WHERE given <> name
          UNION ALL
          SELECT 2, id, role, format('ALTER STATISTICS %I.%I RENAME TO %I', target, interim, name) FROM pair WHERE given <> name
          UNION ALL
          SELECT 3, id, role, format('ALTER STATISTICS %I.%I SET STATISTICS %s', target, name, aim) FROM pair WHERE aim >= 0) AS s (stage, id, role, command);
    RETURN coalesce(steps, '{}');
END
