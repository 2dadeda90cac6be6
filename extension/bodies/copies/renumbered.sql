    WITH RECURSIVE minting AS MATERIALIZED (
        SELECT d.relation, d.attribute, d.shard, d.is_named, format('%s of role "%s"', d.description, pg_get_userbyid(d.owner)) AS label,
               CASE WHEN cardinality(owners) > 0 THEN d.owner = ANY (owners::oid[]) ELSE pg_has_role(d.owner, 'MEMBER') END AS counts
        FROM @extschema@._flake_minting_defaults(generator) AS d
    ), changed (relations, attributes, shards, layout) AS (
        SELECT array_agg(m.relation), array_agg(m.attribute), array_agg(m.shard), @extschema@.flake_layout_of(generator)
        FROM minting m
        WHERE m.counts AND m.shard = ANY (old_shards)
    ), checks AS MATERIALIZED (
        SELECT k.relation, k.command
        FROM changed c CROSS JOIN LATERAL @extschema@._flake_shard_checks(c.relations, c.attributes, c.shards, old_shards, new_shards, c.layout) AS k
    ), tab (oid) AS (
        SELECT unnest(c.relations) FROM changed c
        UNION
        SELECT k.relation FROM checks k
    ), ancestor (relation, attribute) AS (
        SELECT u.relation, u.attribute FROM changed c, unnest(c.relations, c.attributes) AS u (relation, attribute)
        UNION
        SELECT i.inhparent, a.attribute FROM ancestor a JOIN pg_inherits i ON i.inhrelid = a.relation
    ), tree (relations, attributes) AS (
        SELECT array_agg(a.relation), array_agg(a.attribute) FROM ancestor a
    )
    SELECT (SELECT coalesce(jsonb_agg(to_jsonb(m) ORDER BY m.label COLLATE "C"), '[]') FROM minting m),
           (SELECT coalesce(jsonb_agg(to_jsonb(k)), '[]') FROM checks k),
           ARRAY(SELECT o
                 FROM tree t, changed c,
                      @extschema@._flake_other_checks(t.relations, t.attributes, array_fill(c.layout, ARRAY[coalesce(cardinality(t.relations), 0)]), t.relations) AS o),
           ARRAY(SELECT t.oid FROM tab t ORDER BY t.oid),
           ARRAY(SELECT DISTINCT c.relnamespace FROM pg_class c
                 WHERE c.oid = generator OR c.oid IN (SELECT t.oid FROM tab t) ORDER BY c.relnamespace);
