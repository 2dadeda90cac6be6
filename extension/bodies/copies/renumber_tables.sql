    -- the columns, and those that they inherit a check from
    WITH RECURSIVE col (relation, attribute, mints) AS (
        SELECT d.relation, d.attribute, true
        FROM @extschema@._flake_minting_defaults(generator) AS d
        WHERE d.shard = ANY (old_shards) AND pg_has_role(d.owner, 'MEMBER')
        UNION
        SELECT i.inhparent, col.attribute, false FROM col JOIN pg_inherits i ON i.inhrelid = col.relation
    )
    SELECT coalesce(array_agg(DISTINCT col.relation ORDER BY col.relation), '{}')
    FROM col
    WHERE col.mints
       OR EXISTS (SELECT FROM pg_attribute a
                  JOIN pg_constraint k ON k.conrelid = a.attrelid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum] AND k.coninhcount = 0
                  JOIN pg_depend p ON p.classid = 'pg_constraint'::regclass AND p.objid = k.oid AND p.refclassid = 'pg_proc'::regclass
                   AND p.refobjid = '@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure
                  WHERE a.attrelid = col.relation AND a.attname = col.attribute);
