    -- The layout is always written: in the extension's schema a flake_shard() of one
    -- argument, whoever has made it, might fit better.
    -- A check that an heir keeps when the parent drops it is in the way of the new one.
    WITH remade (relation, name, is_own, command) AS (
        SELECT c.oid, k.conname, k.connoinherit,
               CASE WHEN k.connoinherit OR NOT EXISTS (
                             WITH RECURSIVE heir (relation) AS (
                                 SELECT c.oid
                                 UNION
                                 SELECT i.inhrelid FROM heir h JOIN pg_inherits i ON i.inhparent = h.relation)
                             SELECT FROM heir h JOIN pg_constraint o ON o.conrelid = h.relation AND o.conname = k.conname AND o.contype = 'c'
                             WHERE h.relation <> c.oid
                               AND (o.coninhcount > 1 OR o.conislocal
                                    OR to_jsonb(o.*) ->> 'conenforced' IS DISTINCT FROM to_jsonb(k.*) ->> 'conenforced')) THEN
               format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I CHECK (%s.flake_shard(%I%s, %L::%s.flake_layout) = ANY (%L::int[]))%s %s',
                      c.oid::regclass, k.conname, k.conname, '@extschema@', a.attname,
                      CASE WHEN a.atttypid <> 'bigint'::regtype THEN '::bigint' END,
                      coalesce(e.layout, 'instagram'::@extschema@.flake_layout), '@extschema@',
                      array_cat(e.shards, n.shards), CASE WHEN k.connoinherit THEN ' NO INHERIT' ELSE '' END,
                      -- a column since PostgreSQL 18
                      CASE WHEN to_jsonb(k.*) ->> 'conenforced' = 'false' THEN 'NOT ENFORCED' ELSE 'NOT VALID' END)
               END
        FROM (-- the columns, and those that they inherit a check from
              WITH RECURSIVE col (relation, attribute, shard) AS (
                  SELECT u.relation, u.attribute, u.shard FROM unnest(relations, attributes, shards) AS u (relation, attribute, shard)
                  UNION
                  SELECT i.inhparent, col.attribute, col.shard FROM col JOIN pg_inherits i ON i.inhrelid = col.relation)
              SELECT relation, attribute, array_agg(shard) AS shards FROM col GROUP BY relation, attribute) AS m
        JOIN pg_class c ON c.oid = m.relation
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = m.attribute
        -- those that are inherited change with their parents'
        JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum] AND k.coninhcount = 0
        CROSS JOIN LATERAL @extschema@._flake_checked_shards(k.conbin) AS e
        CROSS JOIN LATERAL (SELECT array_agg(u.new ORDER BY u.new)
                            FROM unnest(old_shards, new_shards) AS u (old, new)
                            WHERE u.old = ANY (m.shards) AND u.old = ANY (e.shards) AND u.new <> ALL (e.shards)) AS n (shards)
        WHERE n.shards IS NOT NULL AND e.attribute = a.attnum
          AND coalesce(e.layout, 'instagram') OPERATOR(@extschema@.=) own_layout
    )
    SELECT r.relation, r.command FROM remade r
    UNION ALL
    -- their comments, and those of the checks that inherit from them; not long ones, which can be anybody's
    SELECT k.conrelid, CASE WHEN octet_length(d.description) <= 8192
                            THEN format('COMMENT ON CONSTRAINT %I ON %s IS %L', k.conname, k.conrelid::regclass, d.description) END
    FROM remade r
    CROSS JOIN LATERAL (WITH RECURSIVE heir (relation) AS (
                            SELECT r.relation
                            UNION
                            SELECT i.inhrelid FROM heir h JOIN pg_inherits i ON i.inhparent = h.relation AND NOT r.is_own)
                        SELECT h.relation FROM heir h) AS t
    JOIN pg_constraint k ON k.conrelid = t.relation AND k.conname = r.name AND k.contype = 'c'
    JOIN pg_description d ON d.classoid = 'pg_constraint'::regclass AND d.objoid = k.oid AND d.objsubid = 0
    WHERE r.command IS NOT NULL;
