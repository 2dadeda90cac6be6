DECLARE
    shards bigint;
    ids pg_catalog.oid[];           -- the schemas
    is_first boolean := state IS NULL;
    wanted pg_catalog.oid[];        -- the tables to migrate, of groups that have not had their turn
    plan pg_catalog.record;
    targets pg_catalog.oid[] := '{}';       -- the columns that can be migrated
    attributes pg_catalog.name[] := '{}';
    wide pg_catalog.record;         -- what becomes bigint with them
    bytes bigint;
    refused bigint := 0;
    is_possible boolean;
    missing pg_catalog.name;
    why pg_catalog.text;
    detail pg_catalog.text;
    hint pg_catalog.text;
BEGIN
    IF ticket IS NULL THEN
        RETURN NULL;
    END IF;
    shards := (@extschema@.flake_layout_info(layout)).shards;

    -- Once, before anything is done.  From here on schemas go by their OIDs.
    IF is_first THEN
        IF cardinality(schemas) = 0 THEN
            RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
                MESSAGE = 'no schema to migrate',
                HINT = 'Name the schemas, such as ARRAY[''public''].';
        END IF;
        SELECT s INTO missing FROM unnest(schemas) AS s WHERE NOT EXISTS (SELECT FROM pg_namespace n WHERE n.nspname = s) LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'invalid_schema_name',
                MESSAGE = format('schema "%s" does not exist', missing);
        END IF;
        SELECT s INTO missing FROM unnest(schemas) AS s WHERE s = 'information_schema' OR starts_with(s::text, 'pg_') LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot migrate schema "%s"', missing),
                DETAIL = 'It belongs to PostgreSQL.';
        END IF;
        IF shard NOT BETWEEN 0 AND shards - 1 THEN
            RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
                MESSAGE = format('shard %s is out of range', shard),
                DETAIL = format('Generator "%s" has shards 0 to %s.', generator, shards - 1);
        END IF;
        state := jsonb_build_object('schemas', ARRAY(SELECT DISTINCT n.oid::bigint FROM pg_namespace n WHERE n.nspname = ANY (schemas)),
                                    'group', 0, 'migrated', 0, 'refused', 0, 'targets', '[]'::jsonb);
    END IF;

    IF state -> 'targets' <> '[]' AND NOT dry_run THEN
        RETURN @extschema@._flake_migrate_targets(ticket, state, shard, generator, layout, drop_sequence);
    END IF;

    ids := ARRAY(SELECT n.oid FROM jsonb_array_elements_text(state -> 'schemas') AS s JOIN pg_namespace n ON n.oid = s::oid);
    PERFORM @extschema@._flake_guard_schemas(ticket, ids);
    -- The tables are those of the beginning: nobody keeps this running by new ones.
    wanted := CASE WHEN is_first THEN ARRAY(SELECT DISTINCT i.relation FROM @extschema@._flake_id_columns() AS i)
                   ELSE ARRAY(SELECT w::oid FROM jsonb_array_elements_text(state -> 'wanted') AS w) END;
    SELECT p.* INTO plan FROM @extschema@._flake_migrate_plan(ticket, ids, wanted, is_first) AS p;
    IF is_first THEN
        state := state || jsonb_build_object('groups', plan.groups);
    END IF;
    IF plan.tables IS NULL THEN
        RAISE NOTICE USING
            MESSAGE = CASE WHEN dry_run THEN format('columns to be migrated: %s, to be left as they are: %s', state -> 'migrated', state -> 'refused')
                           ELSE format('columns migrated: %s, left as they were: %s', state -> 'migrated', state -> 'refused') END;
        RETURN NULL;
    END IF;

    -- What cannot be migrated is found in a transaction of its own, and the locks that it
    -- takes on tables are let go after each column: so only those of one are held while a
    -- table is waited for, and none when the tables are locked all at once.
    FOR i IN 1 .. coalesce(cardinality(plan.targets), 0) LOOP
        is_possible := false;
        BEGIN
            IF plan.extensions[i] IS NOT NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('the table belongs to extension "%s"', plan.extensions[i]);
            END IF;
            PERFORM @extschema@._flake_migrate_guarded(ticket, plan.targets[i]::regclass, plan.attributes[i], shard, generator, layout,
                                                      true, drop_sequence, '{}'::oid[], '{}'::name[], '{}'::oid[]);
            is_possible := true;
            RAISE EXCEPTION 'rolled back';
        EXCEPTION WHEN OTHERS OR assert_failure THEN
            IF is_possible THEN
                targets := targets || plan.targets[i];
                attributes := attributes || plan.attributes[i];
                CONTINUE;
            END IF;
            GET STACKED DIAGNOSTICS why = MESSAGE_TEXT, detail = PG_EXCEPTION_DETAIL, hint = PG_EXCEPTION_HINT;
            refused := refused + 1;
            RAISE WARNING USING
                MESSAGE = format('column "%s" of table %s is left as it is', plan.attributes[i], plan.targets[i]::regclass),
                DETAIL = concat_ws(' ', upper(left(why, 1)) || substr(why, 2) || '.', nullif(detail, ''), nullif(hint, ''));
        END;
    END LOOP;

    IF targets <> '{}' THEN
        SELECT w.* INTO wide FROM @extschema@._flake_migrate_columns(ticket, targets, attributes) AS w;
        BEGIN
            SELECT coalesce(sum(pg_total_relation_size(r)), 0) INTO bytes
            FROM (SELECT DISTINCT r FROM unnest(wide.all_relations) AS r) AS t (r);
        EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
            bytes := NULL;      -- somebody has locked one
        END;
        RAISE NOTICE USING
            MESSAGE = format('group %s of %s: %s to rewrite', (state ->> 'group')::bigint + 1, state -> 'groups', coalesce(pg_size_pretty(bytes), 'an unknown size')),
            DETAIL = concat_ws(E'\n', format('New ids: %s.', (SELECT string_agg(format('%s.%I', u.t::regclass, u.a), ', ' ORDER BY u.i)
                                                              FROM unnest(targets, attributes) WITH ORDINALITY AS u (t, a, i))),
                               (SELECT format('Become bigint: %s.', string_agg(format('%s.%I', u.t::regclass, u.a), ', ' ORDER BY u.i))
                                FROM unnest(wide.relations, wide.attributes) WITH ORDINALITY AS u (t, a, i)
                                HAVING count(*) > 0));
    END IF;

    RETURN state || jsonb_build_object(
        'wanted', to_jsonb(ARRAY(SELECT w::bigint FROM unnest(plan.wanted) AS w)),
        'group', (state ->> 'group')::bigint + 1,
        'targets', to_jsonb(ARRAY(SELECT t::bigint FROM unnest(targets) AS t)),
        'attributes', to_jsonb(attributes),
        'migrated', (state ->> 'migrated')::bigint + CASE WHEN dry_run THEN cardinality(targets) ELSE 0 END,
        'refused', (state ->> 'refused')::bigint + refused);
END
