    WITH minting AS MATERIALIZED (
        SELECT d.relation, d.attribute, d.shard, d.is_named, format('%s of role "%s"', d.description, pg_get_userbyid(d.owner)) AS label,
               CASE WHEN cardinality(owners) > 0 THEN d.owner = ANY (owners::oid[]) ELSE pg_has_role(d.owner, 'MEMBER') END AS counts
        FROM @extschema@._flake_minting_defaults(generator) AS d
    ), changed (relations, attributes, shards) AS (
        SELECT array_agg(m.relation), array_agg(m.attribute), array_agg(m.shard)
        FROM minting m
        WHERE m.counts AND m.shard = ANY (old_shards)
    ), checks AS MATERIALIZED (
        SELECT k.relation, k.command
        FROM changed c CROSS JOIN LATERAL @extschema@._flake_shard_checks(c.relations, c.attributes, c.shards, old_shards, new_shards) AS k
    ), tab (oid) AS (
        SELECT unnest(c.relations) FROM changed c
        UNION
        SELECT k.relation FROM checks k
    )
    SELECT (SELECT coalesce(jsonb_agg(to_jsonb(m) ORDER BY m.label COLLATE "C"), '[]') FROM minting m),
           (SELECT coalesce(jsonb_agg(to_jsonb(k)), '[]') FROM checks k),
           ARRAY(SELECT t.oid FROM tab t ORDER BY t.oid),
           ARRAY(SELECT DISTINCT c.relnamespace FROM pg_class c
                 WHERE c.oid = generator OR c.oid IN (SELECT t.oid FROM tab t) ORDER BY c.relnamespace);
