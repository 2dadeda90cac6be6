DECLARE
    layout pg_catalog.text := @extschema@.flake_layout_of(generator);
    shard_count bigint := (@extschema@.flake_layout_info(@extschema@.flake_layout_of(generator))).shards;
    is_default boolean := generator = '@extschema@.flake_default'::regclass;
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    minting pg_catalog.oid[] := ARRAY['@extschema@.flake_id(int)'::regprocedure, '@extschema@.flake_id()'::regprocedure,
                                      '@extschema@.flake_id(int, regclass)'::regprocedure];
    tables pg_catalog.oid[];    -- whose defaults call these
    locked pg_catalog.oid[] := '{}';
    problem pg_catalog.record;
    used pg_catalog.text[];
    steps pg_catalog.text[] := '{}';
BEGIN
    IF cardinality(old_shards) <> cardinality(new_shards) OR cardinality(old_shards) = 0
       OR array_ndims(old_shards) > 1 OR array_ndims(new_shards) > 1
       OR EXISTS (SELECT FROM unnest(old_shards || new_shards) AS s GROUP BY s HAVING s IS NULL OR count(*) > 1) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'cannot renumber shards',
            DETAIL = 'There must be a new shard for each old one, and none may be there twice.';
    END IF;
    SELECT s INTO problem FROM unnest(old_shards || new_shards) AS s WHERE s NOT BETWEEN 0 AND shard_count - 1 LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
            MESSAGE = format('shard %s is out of range', problem.s),
            DETAIL = format('Generator "%s" has shards 0 to %s.', generator, shard_count - 1);
    END IF;

    -- Nobody else changes the defaults, names or owners of these from here on.
    PERFORM @extschema@._flake_guard_relation(ticket, generator::oid, false);
    LOOP
        tables := ARRAY(SELECT DISTINCT f.adrelid
                        FROM pg_depend d
                        JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
                        JOIN pg_class c ON c.oid = f.adrelid AND c.relpersistence <> 't'
                        WHERE d.refclassid = 'pg_proc'::regclass AND d.refobjid = ANY (minting)
                        ORDER BY f.adrelid);
        EXIT WHEN tables <@ locked;
        PERFORM @extschema@._flake_guard_relation(ticket, t::oid, false) FROM unnest(tables) AS t;
        PERFORM @extschema@._flake_guard_schemas(ticket, ARRAY(SELECT DISTINCT relnamespace FROM pg_class WHERE oid = ANY (tables)));
        locked := locked || tables;
    END LOOP;

    -- What mints in a way that is not understood could go on to mint an old shard.
    used := ARRAY(
        SELECT o.object
        FROM (SELECT pg_describe_object('pg_class'::regclass, f.adrelid, f.adnum) AS object
              FROM pg_attrdef f
              WHERE f.adrelid = ANY (tables)
                AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
                                                      AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = ANY (minting))
                AND pg_get_expr(f.adbin, f.adrelid) !~ '^[^(]*flake_id\((\d+(, ''.*''::regclass)?)?\)$'
              UNION ALL
              SELECT pg_describe_object(d.classid, d.objid, 0)
              FROM pg_depend d
              WHERE d.classid = 'pg_type'::regclass AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = ANY (minting)) AS o
        ORDER BY 1);
    IF used <> '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'cannot renumber shards',
            DETAIL = format('Not understood is the default of %s.', array_to_string(used, ', ')),
            HINT = 'Let such defaults be a call of flake_id() with nothing but constants.';
    END IF;

    -- One that is in use may be the original's.
    used := ARRAY(
        SELECT u.shard || ' (' || u.why || ')'
        FROM (SELECT s.shard, 'flake_shards: ' || s.state FROM @extschema@.flake_shards s WHERE s.generator = _flake_renumber_guarded.generator
              UNION ALL
              SELECT n.shard, 'flake_shard_map: ' || m.server FROM @extschema@.flake_shard_map m JOIN unnest(new_shards) AS n (shard) ON m.shards @> n.shard
              UNION ALL
              SELECT d.shard, 'default of ' || d.relation FROM @extschema@._flake_minting_defaults(tables) AS d
              WHERE d.source = _flake_renumber_guarded.generator) AS u (shard, why)
        WHERE u.shard = ANY (new_shards)
        ORDER BY u.shard, u.why);
    IF used <> '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'cannot renumber to shards that are in use',
            DETAIL = format('In use are %s.', array_to_string(used, ', ')),
            HINT = 'Take shards that the original does not mint, nor another server.';
    END IF;

    -- Checks of the shard first: they allow both then.  Those that are inherited
    -- change with their parents'.
    steps := steps || coalesce((
        SELECT array_agg(ARRAY[k.relowner::text, k.oid::regclass::text, k.oid::text,
                   format('ALTER TABLE %s DROP CONSTRAINT %I, ADD CONSTRAINT %I CHECK (%s.flake_shard(%I%s, %L::%s.flake_layout) = ANY (%L::int[])) NOT VALID',
                          k.oid::regclass, k.conname, k.conname, '@extschema@', k.attname,
                          CASE WHEN k.atttypid <> 'bigint'::regtype THEN '::bigint' END, layout, '@extschema@', k.allowed::text)]
                   ORDER BY (SELECT count(*) FROM pg_partition_ancestors(k.oid)), k.oid, k.conname)
        FROM (SELECT DISTINCT c.oid, c.relowner, k.conname, a.attname, a.atttypid, ARRAY[u.old, u.new] AS allowed
              FROM @extschema@._flake_minting_defaults(tables) AS d
              JOIN unnest(old_shards, new_shards) AS u (old, new) ON u.old = d.shard
              -- of the table, or of what it is a partition of
              CROSS JOIN LATERAL (SELECT d.relation::oid UNION SELECT p.relid FROM pg_partition_ancestors(d.relation) AS p) AS t (relation)
              JOIN pg_class c ON c.oid = t.relation
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = d.attribute
              JOIN pg_constraint k ON k.conrelid = c.oid AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum] AND k.coninhcount = 0
              CROSS JOIN LATERAL (VALUES (format('CHECK ((%s.flake_shard(%I', '@extschema@', a.attname)),
                                         (format('CHECK ((%s.flake_shard((%I)::bigint', '@extschema@', a.attname))) AS begins (text)
              WHERE d.source = _flake_renumber_guarded.generator
                AND starts_with(pg_get_constraintdef(k.oid), begins.text)
                AND substr(pg_get_constraintdef(k.oid), length(begins.text) + 1) ~ format('^(, ''[^'']*''::.*flake_layout)?\) = %s\)\)', u.old)) AS k), '{}');

    steps := steps || coalesce((
        SELECT array_agg(ARRAY[c.relowner::text, c.oid::regclass::text, c.oid::text,
                   format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT %s.flake_id(%s%s)',
                          c.oid::regclass, d.attribute, '@extschema@', u.new,
                          CASE WHEN d.is_named THEN format(', %L::regclass', generator::text) END)]
                   ORDER BY c.oid, d.attribute)
        FROM @extschema@._flake_minting_defaults(tables) AS d
        JOIN unnest(old_shards, new_shards) AS u (old, new) ON u.old = d.shard
        JOIN pg_class c ON c.oid = d.relation
        WHERE d.source = _flake_renumber_guarded.generator), '{}');

    -- flake_id() without a shard mints from flake_default.
    IF is_default THEN
        steps := steps || coalesce((
            SELECT array_agg(ARRAY[caller::text, NULL, NULL,
                       format('ALTER %s SET flakeid.shard = %s',
                              CASE WHEN s.setrole = 0 AND s.setdatabase <> 0 THEN format('DATABASE %I', d.datname)
                                   ELSE format('ROLE %s', CASE WHEN s.setrole = 0 THEN 'ALL' ELSE quote_ident(pg_get_userbyid(s.setrole)) END)
                                        || CASE WHEN s.setdatabase <> 0 THEN format(' IN DATABASE %I', d.datname) ELSE '' END END,
                              u.new)] ORDER BY s.setdatabase, s.setrole)
            FROM pg_db_role_setting s
            LEFT JOIN pg_database d ON d.oid = s.setdatabase
            CROSS JOIN LATERAL unnest(s.setconfig) AS c (setting)
            JOIN unnest(old_shards, new_shards) AS u (old, new) ON c.setting = format('flakeid.shard=%s', u.old)
            WHERE s.setdatabase = 0 OR d.datname = current_database()), '{}');
        SELECT s.setting, u.new INTO problem
        FROM pg_settings s JOIN unnest(old_shards, new_shards) AS u (old, new) ON s.setting = u.old::text
        WHERE s.name = 'flakeid.shard' AND s.source IN ('configuration file', 'command line', 'environment variable');
        IF FOUND THEN
            RAISE WARNING USING ERRCODE = '01000',
                MESSAGE = format('setting "flakeid.shard" is still %s', problem.setting),
                DETAIL = 'It is set in a file or on the command line, which no function can change.',
                HINT = format('Set it to %s there.', problem.new);
        END IF;
    END IF;

    IF NOT dry_run THEN
        PERFORM @extschema@.flake_detach(s, generator) FROM unnest(old_shards) AS s;
        PERFORM @extschema@.flake_attach(s, NULL::bigint, generator) FROM unnest(new_shards) AS s;
        PERFORM @extschema@._flake_execute_steps(ticket, ARRAY(SELECT DISTINCT relnamespace FROM pg_class WHERE oid = ANY (tables)),
                                                 tables, '{}'::oid[], steps, false);
    END IF;
    RETURN QUERY
        SELECT format('SELECT %s.flake_detach(%s, %L)', '@extschema@', s, generator) FROM unnest(old_shards) AS s
        UNION ALL
        SELECT format('SELECT %s.flake_attach(%s, generator => %L)', '@extschema@', s, generator) FROM unnest(new_shards) AS s
        UNION ALL
        (SELECT steps[i][4] FROM generate_subscripts(steps, 1) AS i ORDER BY i);
END
