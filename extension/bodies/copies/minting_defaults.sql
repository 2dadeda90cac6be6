    -- Nothing is locked: anybody may have a table of his own with such a default.
    WITH defaults AS MATERIALIZED (
        SELECT d.classid, d.objid, bool_or(d.refobjid = CASE _flake_minting_defaults.generator
                   WHEN '@extschema@.flake_default'::regclass THEN '@extschema@.flake_id(int)'::regprocedure
                   WHEN '@extschema@.flake_default_uuidv7'::regclass THEN '@extschema@.flake_uuidv7(int)'::regprocedure END) AS is_short,
               bool_or(d.refobjid IN ('@extschema@.flake_id(int, regclass)'::regprocedure, '@extschema@.flake_uuidv7(int, regclass)'::regprocedure)) AS is_long
        FROM pg_depend d
        WHERE d.refclassid = 'pg_proc'::regclass
          AND d.refobjid IN ('@extschema@.flake_id(int)'::regprocedure, '@extschema@.flake_id(int, regclass)'::regprocedure,
                             '@extschema@.flake_uuidv7(int)'::regprocedure, '@extschema@.flake_uuidv7(int, regclass)'::regprocedure)
          AND d.classid IN ('pg_attrdef'::regclass, 'pg_type'::regclass)
        GROUP BY d.classid, d.objid
    ), minting AS (
        SELECT n.classid, n.objid, n.is_long AS is_named
        FROM defaults n
        -- the generators that it names; one can also be computed
        CROSS JOIN LATERAL (SELECT count(*) AS count, count(*) FILTER (WHERE d.refobjid = _flake_minting_defaults.generator) AS count_of_it
                            FROM pg_depend d JOIN pg_class c ON c.oid = d.refobjid AND c.relkind = 'S'
                            WHERE d.classid = n.classid AND d.objid = n.objid AND d.refclassid = 'pg_class'::regclass) AS g
        WHERE n.is_long AND (g.count = 0 OR g.count_of_it > 0)
           OR n.is_short
    )
    SELECT c.oid, a.attname, c.relowner, pg_describe_object('pg_class'::regclass, c.oid, a.attnum),
           @extschema@._flake_minted_shard(f.adbin), m.is_named
    FROM minting m
    JOIN pg_attrdef f ON m.classid = 'pg_attrdef'::regclass AND f.oid = m.objid
    JOIN pg_class c ON c.oid = f.adrelid AND c.relpersistence <> 't'
    JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
    UNION ALL
    SELECT NULL, NULL, t.typowner, pg_describe_object(m.classid, m.objid, 0), NULL, m.is_named
    FROM minting m
    JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid;
