DECLARE
    has_time boolean := layout::text ~ '^ts:';
    -- as flake_generator_mint_privileges() in src/mint/definition.c
    may_mint boolean := has_sequence_privilege(generator,
        CASE WHEN EXISTS (SELECT FROM pg_depend d JOIN pg_extension x ON x.oid = d.refobjid AND x.extname = 'flakeid'
                          WHERE d.classid = 'pg_class'::regclass AND d.objid = generator AND d.deptype = 'e'
                              AND d.refclassid = 'pg_extension'::regclass)
             THEN 'SELECT, USAGE' ELSE 'USAGE' END);
    may_raise boolean := may_mint AND has_sequence_privilege(generator, 'UPDATE');
    owner pg_catalog.oid := (SELECT relowner FROM pg_class WHERE oid = target);
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    raised_until pg_catalog.timestamptz;
    waits_until pg_catalog.timestamptz;
    largest bigint;
    is_refused boolean;
    problem pg_catalog.record;
    hint pg_catalog.text;
BEGIN
    -- It must be able to mint at all, here and now.
    SELECT CASE WHEN s.state IN ('detached', 'leased') THEN format('Shard %s is %s.', p.shard, s.state)
                WHEN s.state IS NULL AND EXISTS (SELECT FROM @extschema@.flake_shards a WHERE a.generator = p.generator AND a.shard = -1)
                THEN format('Shard %s is not attached, and all shards were detached by flake_detach_all().', p.shard)
                WHEN s.state IS NULL AND current_setting('flakeid.require_attach')::boolean
                THEN format('Shard %s is not attached, and the setting "flakeid.require_attach" is on.', p.shard)
                WHEN clock_timestamp() NOT BETWEEN i.starts AND i.ends THEN format('Its ids are from %s to %s.', i.starts, i.ends)
                WHEN may_mint AND NOT @extschema@.flake_would_exceed(p.generator, p.shard, (-9223372036854775808)::bigint)
                THEN 'It has handed out all of its ids.' END AS reason
    INTO problem
    FROM (VALUES (_flake_check_minting.generator, _flake_check_minting.shard)) AS p (generator, shard)
    CROSS JOIN @extschema@.flake_layout_info(layout) AS i
    LEFT JOIN @extschema@.flake_shards s ON s.generator::oid = p.generator::oid AND s.shard = p.shard;
    IF problem.reason IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('generator "%s" cannot mint ids of shard %s', generator, shard),
            DETAIL = problem.reason,
            HINT = 'Migrate to another shard or generator. Attach the shard only if no other server mints it: flake_attach(), with "after" set to what flake_detach() returned where it was minted last.';
    END IF;

    -- UUIDs that are there may be of any version, and need not be below the new ones.
    IF layout::text LIKE '% form=uuidv7 %' THEN
        RETURN;
    END IF;

    largest := @extschema@._flake_largest(ticket, target, attribute);

    IF largest IS NULL THEN
        RETURN;
    END IF;

    -- New ids must exceed those that there are, on every shard.  With UPDATE on the
    -- generator they are made to.  All who mint from it feel that if those are ahead
    -- of the clock, so this goes no further than bursts of ids do, and only if the
    -- table's owner could do it without us.  Else new ids exceed those when the clock
    -- is there, for which there is only a moment's time.
    raised_until := clock_timestamp() + CASE WHEN has_sequence_privilege(owner, generator, 'UPDATE')
        THEN (SELECT s.setting::float8 FROM pg_settings s WHERE s.name = 'flakeid.max_ahead') * interval '1 millisecond'
        ELSE interval '0' END;
    waits_until := clock_timestamp() + CASE WHEN lock_timeout = '0' THEN '1 s' ELSE least('1 s', lock_timeout::interval) END;
    IF has_time AND NOT (may_raise AND largest < @extschema@._flake_floor(raised_until, layout)) THEN
        is_refused := largest >= @extschema@._flake_floor(waits_until, layout);
        WHILE NOT is_refused AND NOT dry_run AND largest >= @extschema@._flake_floor(clock_timestamp(), layout) LOOP
            PERFORM pg_sleep(0.001);
        END LOOP;
    ELSE
        is_refused := NOT may_raise AND NOT (may_mint AND @extschema@.flake_would_exceed(generator, shard, largest));
    END IF;
    IF may_raise AND NOT is_refused AND NOT dry_run THEN
        BEGIN
            PERFORM @extschema@.flake_advance(generator, largest);
        EXCEPTION WHEN numeric_value_out_of_range OR invalid_parameter_value THEN
            is_refused := true;
        END;
    END IF;
    IF is_refused THEN
        BEGIN
            hint := format('flake_create_generator(%L, %L%s)', quote_ident(table_name || '_' || attribute || '_flake'),
                           CASE WHEN has_time THEN @extschema@.flake_layout_above(layout, largest, '1 day'::interval) ELSE layout END,
                           CASE WHEN NOT has_time THEN format(', after => %s', largest) END);
        EXCEPTION WHEN numeric_value_out_of_range OR invalid_parameter_value THEN
            hint := NULL;       -- none of these bits would do
        END;
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('ids of generator "%s" would not exceed those in column "%s" of table "%s"', generator, attribute, table_name),
            DETAIL = format('The largest there is %s.', largest),
            HINT = CASE WHEN has_time AND largest < @extschema@._flake_floor(clock_timestamp() + interval '1 h', layout)
                        THEN 'New ids exceed them once the clock is there. Migrate then, or give those rows other ids first. '
                          || 'Only ids in a table whose owner has UPDATE on the generator raise it above the clock, and by no more than "flakeid.max_ahead". ' ELSE '' END
                || coalesce('Migrate to another generator, such as ' || hint || '.', 'Give those rows other ids first.')
                || CASE WHEN has_time OR has_sequence_privilege(generator, 'UPDATE') THEN ''
                        ELSE ' Or migrate as a role with UPDATE on the generator, to let its ids begin after that.' END;
    END IF;
END
