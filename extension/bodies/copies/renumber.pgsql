DECLARE
    shard_count bigint := (@extschema@.flake_layout_info(@extschema@.flake_layout_of(generator))).shards;
    is_default boolean := generator = '@extschema@.flake_default'::regclass;
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    began pg_catalog.timestamptz := clock_timestamp();
    tables pg_catalog.oid[];    -- those to be changed
    schemas pg_catalog.oid[];
    locks pg_catalog.oid[];     -- the tables to be locked
    locked pg_catalog.oid[];
    first pg_catalog.oid;       -- the one of these to wait for
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

    PERFORM @extschema@._flake_guard_relation(ticket, generator::oid, false);

    -- As in flake_migrate(): tables are locked all at once or not at all, and what was
    -- looked up before is looked up again.  Those who insert rows go on to a lock of
    -- the shard, so tables are locked before shards.
    LOOP
        tables := ARRAY(SELECT d.relation FROM @extschema@._flake_minting_defaults(generator) AS d
                        WHERE d.shard = ANY (old_shards) AND pg_has_role(d.owner, 'MEMBER')
                        UNION
                        SELECT k.relation FROM @extschema@._flake_shard_checks(generator, old_shards, new_shards) AS k);
        schemas := ARRAY(SELECT DISTINCT relnamespace FROM pg_class WHERE oid = generator OR oid = ANY (tables));
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
        -- LOCK TABLE takes no foreign tables.
        locks := ARRAY(SELECT oid::oid FROM pg_class WHERE oid = ANY (tables) AND relkind <> 'f' ORDER BY oid);
        EXIT WHEN dry_run OR locks = locked;
        first := @extschema@._flake_guard_trees(ticket, locks, first, true, began);
        locked := CASE WHEN first IS NULL THEN locks END;
    END LOOP;
    IF NOT dry_run THEN
        PERFORM @extschema@._flake_guard_relation(ticket, oid::oid, false) FROM pg_class WHERE oid = ANY (tables) AND relkind = 'f';
        FOR problem IN SELECT s FROM unnest(old_shards || new_shards) AS s ORDER BY s LOOP
            PERFORM @extschema@._flake_lock_shard(ticket, problem.s, generator);
        END LOOP;
    END IF;

    -- What mints in a way that is not understood could go on to mint an old shard.
    used := ARRAY(SELECT d.description FROM @extschema@._flake_minting_defaults(generator) AS d
                  WHERE d.shard IS NULL AND pg_has_role(d.owner, 'MEMBER') ORDER BY d.description COLLATE "C");
    IF used <> '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'cannot renumber shards',
            DETAIL = format('Not understood is the default of %s.', array_to_string(used, ', ')),
            HINT = 'Let such defaults be a call of flake_id() with nothing but constants.';
    END IF;

    -- Anybody can write a default, so those of others are no error.
    used := ARRAY(SELECT d.description FROM @extschema@._flake_minting_defaults(generator) AS d
                  WHERE (d.shard IS NULL OR d.shard = ANY (old_shards)) AND NOT pg_has_role(d.owner, 'MEMBER') ORDER BY d.description COLLATE "C");
    IF used <> '{}' THEN
        RAISE WARNING USING
            MESSAGE = 'defaults of other owners stay as they are',
            DETAIL = format('They may mint an old shard: the default of %s.', array_to_string(used, ', ')),
            HINT = 'The old shards are detached, so such a default is an error until its owner has changed it.';
    END IF;

    -- One that is in use may be the original's.
    used := ARRAY(
        SELECT u.shard || ' (' || u.why || ')'
        FROM (SELECT s.shard, 'flake_shards: ' || s.state FROM @extschema@.flake_shards s WHERE s.generator = _flake_renumber_guarded.generator
              UNION ALL
              SELECT n.shard, 'flake_shard_map: ' || m.server FROM @extschema@.flake_shard_map m JOIN unnest(new_shards) AS n (shard) ON m.shards @> n.shard
              UNION ALL
              SELECT d.shard, 'default of ' || d.relation::regclass FROM @extschema@._flake_minting_defaults(generator) AS d) AS u (shard, why)
        WHERE u.shard = ANY (new_shards)
        ORDER BY u.shard, u.why);
    IF used <> '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'cannot renumber to shards that are in use',
            DETAIL = format('In use are %s.', array_to_string(used, ', ')),
            HINT = 'Take shards that the original does not mint, nor another server.';
    END IF;

    -- Checks of the shard first: they allow both then.
    steps := steps || coalesce((
        SELECT array_agg(ARRAY[c.relowner::text, c.oid::regclass::text, c.oid::text, k.command]
                   ORDER BY (SELECT count(*) FROM pg_partition_ancestors(c.oid)), c.oid, k.command)
        FROM @extschema@._flake_shard_checks(generator, old_shards, new_shards) AS k
        JOIN pg_class c ON c.oid = k.relation), '{}');

    steps := steps || coalesce((
        SELECT array_agg(ARRAY[c.relowner::text, c.oid::regclass::text, c.oid::text,
                   format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT %s.flake_id(%s%s)',
                          c.oid::regclass, d.attribute, '@extschema@', u.new,
                          CASE WHEN d.is_named THEN format(', %L::regclass', generator::text) END)]
                   ORDER BY c.oid, d.attribute)
        FROM @extschema@._flake_minting_defaults(generator) AS d
        JOIN unnest(old_shards, new_shards) AS u (old, new) ON u.old = d.shard
        JOIN pg_class c ON c.oid = d.relation
        WHERE pg_has_role(d.owner, 'MEMBER')), '{}');

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
            RAISE WARNING USING
                MESSAGE = format('setting "flakeid.shard" is still %s', problem.setting),
                DETAIL = 'It is set in a file or on the command line, which no function can change.',
                HINT = format('Set it to %s there.', problem.new);
        END IF;
    END IF;

    IF NOT dry_run THEN
        PERFORM @extschema@.flake_detach(s, generator) FROM unnest(old_shards) AS s;
        PERFORM @extschema@.flake_attach(s, NULL::bigint, generator) FROM unnest(new_shards) AS s;
        PERFORM @extschema@._flake_execute_steps(ticket, schemas, tables || generator::oid, '{}'::oid[], steps, false);
    END IF;
    RETURN QUERY
        SELECT format('SELECT %s.flake_detach(%s, %L)', '@extschema@', s, generator) FROM unnest(old_shards) AS s
        UNION ALL
        SELECT format('SELECT %s.flake_attach(%s, generator => %L)', '@extschema@', s, generator) FROM unnest(new_shards) AS s
        UNION ALL
        (SELECT steps[i][4] FROM generate_subscripts(steps, 1) AS i ORDER BY i);
END
