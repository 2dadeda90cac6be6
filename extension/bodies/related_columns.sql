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
    )
    SELECT relation, attname FROM related
