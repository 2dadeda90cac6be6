DECLARE
    began pg_catalog.timestamptz := clock_timestamp();
    targets pg_catalog.oid[];
    attributes pg_catalog.name[];
    tables pg_catalog.oid[];
    first pg_catalog.oid;
    migrated bigint;
    refused bigint := 0;
    is_alone boolean := false;      -- each column by itself, because it cannot be all at once
    why pg_catalog.text;
    detail pg_catalog.text;
    hint pg_catalog.text;
BEGIN
    SELECT coalesce(array_agg(c.oid ORDER BY u.i), '{}'), coalesce(array_agg(u.a::name ORDER BY u.i), '{}') INTO targets, attributes
    FROM ROWS FROM (jsonb_array_elements_text(state -> 'targets'), jsonb_array_elements_text(state -> 'attributes')) WITH ORDINALITY AS u (t, a, i)
    JOIN pg_class c ON c.oid = u.t::oid;
    SELECT coalesce(w.tables, '{}') || ARRAY(SELECT c.oid FROM unnest(v.views) AS u (view) JOIN pg_class c ON c.oid = u.view
                                             WHERE pg_has_role(c.relowner, 'USAGE') ORDER BY c.oid)
    INTO tables
    FROM @extschema@._flake_migrate_columns(ticket, targets, attributes) AS w
    CROSS JOIN LATERAL @extschema@._flake_migrate_views(ticket, w.all_relations, w.all_attributes) AS v;
    BEGIN
        -- All tables and views at once, or none.  Another session may have migrated them meanwhile.
        LOOP
            first := @extschema@._flake_guard_trees(ticket, tables, first, true, began);
            EXIT WHEN first IS NULL;
        END LOOP;
        SELECT coalesce(array_agg(u.t ORDER BY u.i), '{}'), coalesce(array_agg(u.a ORDER BY u.i), '{}') INTO targets, attributes
        FROM unnest(targets, attributes) WITH ORDINALITY AS u (t, a, i)
        JOIN @extschema@._flake_id_columns() AS c ON c.relation = u.t AND c.attname = u.a AND NOT c.minted;
        migrated := cardinality(targets);

        -- With the first one all become bigint that will have to, so that no table is
        -- rewritten twice.
        BEGIN
            FOR i IN 1 .. migrated LOOP
                PERFORM @extschema@._flake_migrate_guarded(ticket, targets[i]::regclass, attributes[i], shard, generator, layout,
                                                          false, drop_sequence,
                                                          CASE WHEN i = 1 THEN targets[2:] ELSE '{}'::oid[] END,
                                                          CASE WHEN i = 1 THEN attributes[2:] ELSE '{}'::name[] END);
            END LOOP;
        -- From here on an owner's code can raise any error, also of a lock.  A cancel and a
        -- timeout, which are for the whole, are not among these: see src/trust/execute.c.
        EXCEPTION WHEN OTHERS OR assert_failure THEN
            GET STACKED DIAGNOSTICS why = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL;
            RAISE NOTICE USING
                MESSAGE = 'the columns of this group are migrated one by one',
                DETAIL = concat_ws(' ', upper(left(why, 1)) || substr(why, 2) || '.', nullif(detail, ''));
            is_alone := true;
        END;
        FOR i IN 1 .. CASE WHEN is_alone THEN cardinality(targets) ELSE 0 END LOOP
            BEGIN
                PERFORM @extschema@._flake_migrate_guarded(ticket, targets[i]::regclass, attributes[i], shard, generator, layout,
                                                          false, drop_sequence, '{}'::oid[], '{}'::name[]);
            EXCEPTION WHEN OTHERS OR assert_failure THEN
                GET STACKED DIAGNOSTICS why = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
                migrated := migrated - 1;
                refused := refused + 1;
                RAISE WARNING USING
                    MESSAGE = format('column "%s" of table %s is left as it is', attributes[i], targets[i]::regclass),
                    DETAIL = concat_ws(' ', upper(left(why, 1)) || substr(why, 2) || '.', nullif(detail, ''), nullif(hint, ''));
            END;
        END LOOP;
    EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        GET STACKED DIAGNOSTICS why = MESSAGE_TEXT;
        refused := jsonb_array_length(state -> 'targets');
        migrated := 0;
        RAISE WARNING USING
            MESSAGE = format('group %s of %s is left as it is', state ->> 'group', state -> 'groups'),
            DETAIL = upper(left(why, 1)) || substr(why, 2) || '.',
            HINT = 'Call the procedure again. It skips columns that are migrated by then.';
    END;

    RETURN state || jsonb_build_object(
        'targets', '[]'::jsonb,
        'migrated', (state ->> 'migrated')::bigint + migrated,
        'refused', (state ->> 'refused')::bigint + refused);
END
