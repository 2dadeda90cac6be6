    WITH reference AS MATERIALIZED (
        SELECT k.conrelid AS relation, a.attname, k.confrelid AS to_relation, b.attname AS to_attname
        FROM pg_constraint k, unnest(k.conkey, k.confkey) AS u (from_key, to_key), pg_attribute a, pg_attribute b
        WHERE k.contype = 'f' AND a.attrelid = k.conrelid AND a.attnum = u.from_key
          AND b.attrelid = k.confrelid AND b.attnum = u.to_key
    ), related AS MATERIALIZED (
        SELECT DISTINCT r.relation, r.attname
        FROM unnest(targets, columns) AS u (target, attname), @extschema@._flake_related_columns(u.target, u.attname) AS r
    ), narrow AS (
        SELECT r.relation, r.attname, a.attnum, a.attinhcount
        FROM related r
        JOIN pg_attribute a ON a.attrelid = r.relation AND a.attname = r.attname
        JOIN pg_type t ON t.oid = a.atttypid
        WHERE 'bigint'::regtype NOT IN (t.oid, t.typbasetype)
    )
    SELECT array_agg(n.relation ORDER BY n.relation, n.attnum) FILTER (WHERE n.attinhcount = 0),
           array_agg(n.attname ORDER BY n.relation, n.attnum) FILTER (WHERE n.attinhcount = 0),
           array_agg(n.relation ORDER BY n.relation, n.attnum),
           array_agg(n.attname ORDER BY n.relation, n.attnum),
           ARRAY(SELECT DISTINCT t
                 FROM (SELECT o.relation FROM related o JOIN pg_attribute a ON a.attrelid = o.relation AND a.attname = o.attname AND a.attinhcount = 0
                       UNION    -- those that a widened column refers to: its foreign keys are made anew
                       SELECT coalesce(pg_partition_root(f.to_relation)::oid, f.to_relation)
                       FROM related JOIN reference f USING (relation, attname)) AS r (t)
                 -- Those of others may be referred to, but not be locked beforehand.
                 WHERE t = ANY (targets) OR has_table_privilege(t, 'UPDATE, DELETE, TRUNCATE'))
    FROM narrow n
