    -- A check without a constant, but for the layout or the generator that has it, says the
    -- same of any shard: that two ids have the same one.  A long one is not looked at.
    WITH RECURSIVE reader (classid, objid) AS MATERIALIZED (
        SELECT d.classid, d.objid
        FROM pg_depend d
        WHERE d.refclassid = 'pg_proc'::regclass
          AND d.refobjid IN ('@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure,
                             '@extschema@.flake_decode(bigint, @extschema@.flake_layout)'::regprocedure,
                             '@extschema@.flake_fields(bigint, @extschema@.flake_layout)'::regprocedure,
                             '@extschema@.flake_uuidv7_decode(uuid)'::regprocedure)
    ), domain (oid, typbasetype) AS (
        SELECT t.oid, t.typbasetype
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = ANY (tables) AND a.attnum > 0 AND t.typtype = 'd'
        UNION
        SELECT t.oid, t.typbasetype FROM domain d JOIN pg_type t ON t.oid = d.typbasetype AND t.typtype = 'd'
    ), checked AS MATERIALIZED (
        SELECT k.*
        FROM reader r JOIN pg_constraint k ON r.classid = 'pg_constraint'::regclass AND k.oid = r.objid
        WHERE k.conrelid = ANY (tables) AND k.contype = 'c' AND k.coninhcount = 0 OR k.contypid IN (SELECT d.oid FROM domain d)
    )
    SELECT o.label
    FROM (SELECT CASE WHEN k.contypid = 0 THEN format('check %I of table %s', k.conname, k.conrelid::regclass)
                      ELSE format('check %I of domain %s', k.conname, k.contypid::regtype) END
          FROM checked k
          WHERE (pg_column_size(k.conbin) > 2000
                 OR k.conbin::text ~ format('\{CONST :consttype (?!%s |%s )', '@extschema@.flake_layout'::regtype::oid, 'regclass'::regtype::oid))
            AND NOT EXISTS (SELECT FROM unnest(relations, attributes, layouts) AS m (relation, attribute, layout)
                            JOIN pg_attribute a ON a.attrelid = m.relation AND a.attname = m.attribute
                            CROSS JOIN LATERAL @extschema@._flake_checked_shards(k.conbin) AS e
                            WHERE m.relation = k.conrelid AND k.conkey = ARRAY[a.attnum] AND e.attribute = a.attnum
                              AND coalesce(e.layout, 'instagram') OPERATOR(@extschema@.=) m.layout)
          UNION ALL
          SELECT format('the partition key of table %s', p.partrelid::regclass)
          FROM reader r JOIN pg_partitioned_table p ON r.classid = 'pg_class'::regclass AND p.partrelid = r.objid
          WHERE p.partrelid = ANY (tables)) AS o (label)
    ORDER BY o.label COLLATE "C";
