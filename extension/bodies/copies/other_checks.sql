    -- A check without a constant says the same of any shard: that two ids have the same one.
    WITH RECURSIVE domain (oid, typbasetype) AS (
        SELECT t.oid, t.typbasetype
        FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
        WHERE a.attrelid = ANY (tables) AND a.attnum > 0 AND t.typtype = 'd'
        UNION
        SELECT t.oid, t.typbasetype FROM domain d JOIN pg_type t ON t.oid = d.typbasetype AND t.typtype = 'd'
    ), part (label, classid, oid, has_constant) AS (
        SELECT format('check %I of table %s', k.conname, k.conrelid::regclass), k.tableoid, k.oid,
               k.conbin::text ~ '\{CONST :consttype (23|1007) '
        FROM pg_constraint k
        WHERE k.conrelid = ANY (tables) AND k.contype = 'c' AND k.coninhcount = 0
          AND NOT EXISTS (SELECT FROM unnest(relations, attributes, layouts) AS m (relation, attribute, layout)
                          JOIN pg_attribute a ON a.attrelid = m.relation AND a.attname = m.attribute
                          CROSS JOIN LATERAL @extschema@._flake_checked_shards(k.conbin) AS e
                          WHERE m.relation = k.conrelid AND k.conkey = ARRAY[a.attnum] AND e.attribute = a.attnum
                            AND coalesce(e.layout, 'instagram') OPERATOR(@extschema@.=) m.layout)
        UNION ALL
        SELECT format('check %I of domain %s', k.conname, k.contypid::regtype), k.tableoid, k.oid,
               k.conbin::text ~ '\{CONST :consttype (23|1007) '
        FROM pg_constraint k JOIN domain d ON d.oid = k.contypid
        UNION ALL
        SELECT format('the partition key of table %s', p.partrelid::regclass), 'pg_class'::regclass, p.partrelid, true
        FROM pg_partitioned_table p
        WHERE p.partrelid = ANY (tables) AND p.partexprs IS NOT NULL
    )
    SELECT p.label
    FROM part p
    WHERE p.has_constant
      AND EXISTS (SELECT FROM pg_depend d
                  WHERE d.classid = p.classid AND d.objid = p.oid AND d.refclassid = 'pg_proc'::regclass
                    AND d.refobjid IN ('@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure,
                                       '@extschema@.flake_decode(bigint, @extschema@.flake_layout)'::regprocedure,
                                       '@extschema@.flake_fields(bigint, @extschema@.flake_layout)'::regprocedure,
                                       '@extschema@.flake_uuidv7_decode(uuid)'::regprocedure))
    ORDER BY p.label COLLATE "C";
