    -- Rows of an heir are rows of the target.  But the heirs of a table that refers to it do
    -- not inherit the foreign key, if they are no partitions.
    WITH RECURSIVE reference AS MATERIALIZED (
        SELECT k.conrelid AS relation, a.attname, k.confrelid AS to_relation, b.attname AS to_attname
        FROM pg_constraint k, unnest(k.conkey, k.confkey) AS u (from_key, to_key), pg_attribute a, pg_attribute b
        WHERE k.contype = 'f' AND a.attrelid = k.conrelid AND a.attnum = u.from_key
          AND b.attrelid = k.confrelid AND b.attnum = u.to_key
    ), related (relation, attname, is_own) AS (
        SELECT target, attribute, true
        UNION
        SELECT n.relation, n.attname, n.is_own
        FROM related
        CROSS JOIN LATERAL (
            SELECT r.relation, r.attname, false FROM reference r WHERE r.to_relation = related.relation AND r.to_attname = related.attname
            UNION ALL
            SELECT i.inhrelid, related.attname, related.is_own
            FROM pg_inherits i JOIN pg_class h ON h.oid = i.inhrelid
            WHERE i.inhparent = related.relation AND (related.is_own OR h.relispartition)) AS n (relation, attname, is_own)
    )
    SELECT DISTINCT relation, attname FROM related
