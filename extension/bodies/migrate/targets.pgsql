DECLARE
    began pg_catalog.timestamptz := clock_timestamp();
    targets pg_catalog.oid[];
    attributes pg_catalog.name[];
    wanted pg_catalog.oid[];        -- the targets that were planned
    names pg_catalog.name[];
    trees pg_catalog.oid[] := '{}';     -- what is locked, for _flake_lock_trees()
    keys pg_catalog.oid[] := '{}';
    named pg_catalog.oid[] := '{}';
    schemas pg_catalog.oid[] := '{}';   -- those that are guarded
    seen pg_catalog.record;             -- all that, as it is when that is locked
    migrated bigint;
    refused bigint := 0;
    is_alone boolean := false;      -- each column by itself, because it cannot be all at once
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    why pg_catalog.text;
    detail pg_catalog.text;
    hint pg_catalog.text;
BEGIN
    SELECT array_agg(u.t::oid ORDER BY u.i), array_agg(u.a::name ORDER BY u.i) INTO wanted, names
    FROM ROWS FROM (jsonb_array_elements_text(state -> 'targets'), jsonb_array_elements_text(state -> 'attributes')) WITH ORDINALITY AS u (t, a, i);
    BEGIN
        -- As in _flake_migrate_guarded(): all that it will need for these columns, so that
        -- it waits for nothing.
        LOOP
            BEGIN
                PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
                PERFORM @extschema@._flake_lock_trees(ticket, trees, true, keys, named, began);
                -- Another session may have dropped them meanwhile.
                SELECT coalesce(array_agg(a.attrelid ORDER BY u.i), '{}'), coalesce(array_agg(a.attname ORDER BY u.i), '{}')
                INTO targets, attributes
                FROM unnest(wanted, names) WITH ORDINALITY AS u (t, a, i)
                JOIN pg_attribute a ON a.attrelid = u.t AND a.attname = u.a;
                SELECT l.trees, l.keys, l.named,
                       ARRAY(SELECT n.oid FROM pg_namespace n
                             WHERE n.oid = ANY (l.schemas) AND (has_schema_privilege(n.oid, 'USAGE') OR has_schema_privilege(n.oid, 'CREATE'))
                             ORDER BY n.oid) AS schemas
                INTO seen
                FROM @extschema@._flake_migrate_locks(ticket, targets, attributes, generator, false, drop_sequence) AS l;
                EXIT WHEN seen.trees = trees AND seen.keys = keys AND seen.named = named AND seen.schemas = schemas;
                RAISE SQLSTATE 'FL001';     -- undoes the locks
            EXCEPTION
                WHEN SQLSTATE 'FL001' THEN
                    trees := seen.trees;
                    keys := seen.keys;
                    named := seen.named;
                    schemas := seen.schemas;
                WHEN invalid_schema_name THEN   -- dropped while it was waited for
                    trees := '{}';
                    keys := '{}';
                    named := '{}';
                    schemas := '{}';
            END;
        END LOOP;
        -- Another session may have migrated them meanwhile.
        SELECT coalesce(array_agg(u.t ORDER BY u.i), '{}'), coalesce(array_agg(u.a ORDER BY u.i), '{}') INTO targets, attributes
        FROM unnest(targets, attributes) WITH ORDINALITY AS u (t, a, i)
        JOIN @extschema@._flake_id_columns() AS c ON c.relation = u.t AND c.attname = u.a AND NOT c.minted;
        migrated := cardinality(targets);

        -- The page of the generator can be busy, for each column.  That is found before code
        -- of owners can raise the same error, and the group's locks are let go.
\i bodies/brief_waits.pgsql
        FOR i IN 1 .. migrated LOOP
            BEGIN
                PERFORM @extschema@._flake_check_minting(ticket, c.oid, c.relname, a.attname, generator, layout, shard, false)
                FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
                WHERE c.oid = targets[i] AND a.attname = attributes[i] AND a.atttypid <> 'uuid'::regtype;
            EXCEPTION
                WHEN lock_not_available THEN
                    RAISE;
                WHEN OTHERS OR assert_failure THEN
                    NULL;       -- it is said when the column is migrated
            END;
        END LOOP;

        -- With the first one all become bigint that will have to, so that no table is
        -- rewritten twice.
        BEGIN
            FOR i IN 1 .. migrated LOOP
                PERFORM @extschema@._flake_migrate_guarded(ticket, targets[i]::regclass, attributes[i], shard, generator, layout,
                                                          false, drop_sequence,
                                                          CASE WHEN i = 1 THEN targets[2:] ELSE '{}'::oid[] END,
                                                          CASE WHEN i = 1 THEN attributes[2:] ELSE '{}'::name[] END, schemas);
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
                                                          false, drop_sequence, '{}'::oid[], '{}'::name[], schemas);
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
