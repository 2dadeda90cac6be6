    SELECT c.oid,
           format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I CHECK (%s = ANY (%L::int[]))%s NOT VALID',
                  c.oid::regclass, k.conname, k.conname, r.call, array_cat(r.allowed, n.shards),
                  CASE WHEN k.connoinherit THEN ' NO INHERIT' ELSE '' END)
    FROM (-- the columns, and those that they inherit a check from
          WITH RECURSIVE col (relation, attribute, shard) AS (
              SELECT d.relation, d.attribute, d.shard
              FROM @extschema@._flake_minting_defaults(generator) AS d
              WHERE d.shard = ANY (old_shards) AND pg_has_role(d.owner, 'MEMBER')
              UNION
              SELECT i.inhparent, col.attribute, col.shard FROM col JOIN pg_inherits i ON i.inhrelid = col.relation)
          SELECT relation, attribute, array_agg(shard) AS shards FROM col GROUP BY relation, attribute) AS m
    JOIN pg_class c ON c.oid = m.relation
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = m.attribute
    -- those that are inherited change with their parents'
    JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum] AND k.coninhcount = 0
    CROSS JOIN LATERAL regexp_match(pg_get_expr(k.conbin, k.conrelid),
                                    '^\((.*) = (?:(\d+)|ANY \((?:''\{([\d,]+)\}''::integer\[\]|ARRAY\[([\d, ]+)\])\))\)$') AS e (parts)
    CROSS JOIN LATERAL (SELECT e.parts[1], string_to_array(coalesce(e.parts[2], e.parts[3], e.parts[4]), ',')::int[]) AS r (call, allowed)
    CROSS JOIN LATERAL (VALUES (format('%s.flake_shard(%I', '@extschema@', a.attname)),
                               (format('%s.flake_shard((%I)::bigint', '@extschema@', a.attname))) AS begins (text)
    CROSS JOIN LATERAL (SELECT array_agg(u.new ORDER BY u.new)
                        FROM unnest(old_shards, new_shards) AS u (old, new)
                        WHERE u.old = ANY (m.shards) AND u.old = ANY (r.allowed) AND u.new <> ALL (r.allowed)) AS n (shards)
    WHERE n.shards IS NOT NULL AND starts_with(r.call, begins.text)
      AND substr(r.call, length(begins.text) + 1) ~ '^(, ''[^'']*''::([^(]*\.)?flake_layout)?\)$';
