    WITH RECURSIVE reference AS MATERIALIZED (
        SELECT k.conrelid AS relation, a.attname, k.confrelid AS to_relation, b.attname AS to_attname
        FROM pg_constraint k, unnest(k.conkey, k.confkey) AS u (from_key, to_key), pg_attribute a, pg_attribute b
        WHERE k.contype = 'f' AND a.attrelid = k.conrelid AND a.attnum = u.from_key
          AND b.attrelid = k.confrelid AND b.attnum = u.to_key
    ), related (relation, attname) AS (
        SELECT target, attribute
        UNION
        SELECT n.relation, n.attname
        FROM related
        CROSS JOIN LATERAL (
            SELECT r.relation, r.attname FROM reference r WHERE r.to_relation = related.relation AND r.to_attname = related.attname
            UNION ALL
            SELECT inhrelid, related.attname FROM pg_inherits WHERE inhparent = related.relation
            UNION ALL
            SELECT i.inhparent, related.attname
            FROM pg_inherits i
            JOIN pg_attribute h ON h.attrelid = i.inhrelid AND h.attname = related.attname AND h.attinhcount > 0
            JOIN pg_attribute p ON p.attrelid = i.inhparent AND p.attname = related.attname
            WHERE i.inhrelid = related.relation) AS n
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
                 WHERE t = target OR has_table_privilege(t, 'UPDATE, DELETE, TRUNCATE'))
    FROM narrow n
