DECLARE
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    began pg_catalog.timestamptz := clock_timestamp();
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    col pg_catalog.record;
    relations pg_catalog.oid[]; -- the columns that have the ids
    attributes pg_catalog.name[];
    trees pg_catalog.oid[] := '{}';     -- the tables that are locked
    schemas pg_catalog.oid[] := '{}';   -- those that are guarded
    found_trees pg_catalog.oid[];       -- both, as they are when these are locked
    found_schemas pg_catalog.oid[];
    problem pg_catalog.record;
    old_ids bigint[];
    is_counted boolean := false;        -- how many ids are needed is known
    missing_shards int[];               -- those of new ids that are needed, one each
    minted_ids bigint[] := '{}';
    minted_shards int[] := '{}';        -- as they were asked for
    new_ids bigint[];
BEGIN
    IF ticket IS NULL THEN
        RETURN;
    END IF;
    IF num_nulls(target, attribute, above, generator, dry_run) > 0 THEN
        RAISE EXCEPTION USING ERRCODE = 'null_value_not_allowed',
            MESSAGE = 'target, attribute, above, generator and dry_run must not be null',
            HINT = 'Only "shard" can be null: then each id keeps the shard that it has.';
    END IF;

    -- As in flake_migrate(): tables are locked all at once or not at all, and what was
    -- looked up before is looked up again.  The ids are minted before, because those who
    -- use up a shard can make that take long.
    LOOP
        BEGIN
            PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
            PERFORM @extschema@._flake_lock_trees(ticket, trees, false, '{}'::oid[], '{}'::oid[], began);
            SELECT c.relname, c.relkind, c.relispartition, c.relowner, a.attnum, a.atttypid, t.typbasetype INTO col
            FROM pg_class c
            LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = attribute AND a.attnum > 0
            LEFT JOIN pg_type t ON t.oid = a.atttypid
            WHERE c.oid = target;
            IF NOT FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'undefined_table',
                    MESSAGE = format('table with OID %s does not exist', target::oid);
            ELSIF col.relkind NOT IN ('r', 'p') OR col.relispartition THEN
                RAISE EXCEPTION USING ERRCODE = 'wrong_object_type',
                    MESSAGE = format('cannot replace ids of "%s"', col.relname),
                    DETAIL = CASE WHEN col.relispartition THEN 'It is a partition; its parent is needed.'
                                  ELSE 'It is not a table.' END;
            ELSIF col.attnum IS NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'undefined_column',
                    MESSAGE = format('column "%s" of table "%s" does not exist', attribute, col.relname);
            ELSIF 'bigint'::regtype NOT IN (col.atttypid, col.typbasetype) THEN
                RAISE EXCEPTION USING ERRCODE = 'datatype_mismatch',
                    MESSAGE = format('cannot replace ids in column "%s" of table "%s"', attribute, col.relname),
                    DETAIL = format('Its type is %s, not bigint.', format_type(col.atttypid, NULL));
            ELSIF NOT pg_has_role(col.relowner, 'USAGE') THEN
                RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
                    MESSAGE = format('must be owner of %s', pg_describe_object('pg_class'::regclass, target::oid, 0));
            END IF;

            SELECT array_agg(r.relation ORDER BY r.relation, r.attname), array_agg(r.attname ORDER BY r.relation, r.attname)
            INTO relations, attributes
            FROM @extschema@._flake_following_columns(target::oid, attribute) AS r;
            found_schemas := ARRAY(SELECT DISTINCT relnamespace FROM pg_class WHERE oid = ANY (relations) ORDER BY relnamespace);
            SELECT o.detail, o.hint INTO problem
            FROM @extschema@._flake_replace_obstacle(ticket, target::oid, relations, attributes) AS o;
            IF FOUND THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('cannot replace ids in column "%s" of table "%s"', attribute, col.relname),
                    DETAIL = problem.detail,
                    HINT = problem.hint;
            END IF;
            found_trees := CASE WHEN is_counted
                                THEN ARRAY(SELECT oid::oid FROM pg_class WHERE oid = ANY (relations) AND NOT relispartition ORDER BY oid)
                                ELSE '{}'::oid[] END;
            IF found_trees = trees AND found_schemas = schemas THEN
                old_ids := ARRAY(SELECT DISTINCT i
                                 FROM unnest(@extschema@._flake_ids_above(ticket, target::oid, attribute, above)) AS i ORDER BY i);
                missing_shards := ARRAY(
                    SELECT n.shard
                    FROM (SELECT coalesce(_flake_replace_ids_guarded.shard, @extschema@.flake_shard(i, layout)) AS shard, count(*) AS needed
                          FROM unnest(old_ids) AS i GROUP BY 1) AS n
                    LEFT JOIN (SELECT m AS shard, count(*) AS minted FROM unnest(minted_shards) AS m GROUP BY 1) AS h USING (shard),
                    LATERAL generate_series(coalesce(h.minted, 0) + 1, n.needed)
                    WHERE NOT dry_run
                    ORDER BY n.shard);
                EXIT WHEN dry_run OR is_counted AND missing_shards = '{}';
                is_counted := true;
            END IF;
            RAISE SQLSTATE 'FL001';     -- undoes the locks
        EXCEPTION WHEN SQLSTATE 'FL001' THEN
            trees := found_trees;
            schemas := found_schemas;
        END;
        IF missing_shards <> '{}' THEN
            -- A shard can be locked by who leases or detaches it.
\i bodies/brief_waits.pgsql
            SELECT minted_ids || array_agg(n.id), minted_shards || array_agg(n.shard) INTO minted_ids, minted_shards
            FROM (SELECT s.shard, @extschema@.flake_id(s.shard, generator) AS id FROM unnest(missing_shards) AS s (shard)) AS n;
            PERFORM set_config('lock_timeout', lock_timeout, true);
            missing_shards := '{}';
            began := clock_timestamp();
        END IF;
    END LOOP;

    IF dry_run THEN
        RAISE NOTICE USING
            MESSAGE = format('%s ids would be replaced', cardinality(old_ids)),
            DETAIL = (SELECT format('Columns: %s.', string_agg(format('%s.%I', u.relation::regclass, u.attname), ', ' ORDER BY u.relation <> target, u.relation, u.attname))
                      FROM unnest(relations, attributes) AS u (relation, attname)
                      JOIN pg_class c ON c.oid = u.relation AND NOT c.relispartition);
        RETURN QUERY SELECT i, NULL::bigint FROM unnest(old_ids) AS i ORDER BY i;
        RETURN;
    ELSIF old_ids = '{}' THEN
        RETURN;
    END IF;

    -- Within a shard they keep their order.
    new_ids := ARRAY(
        SELECT m.id
        FROM (SELECT i AS id, row_number() OVER (PARTITION BY s.shard ORDER BY i) AS position, s.shard
              FROM unnest(old_ids) AS i, LATERAL (SELECT coalesce(_flake_replace_ids_guarded.shard, @extschema@.flake_shard(i, layout)) AS shard) AS s) AS o
        JOIN (SELECT id, row_number() OVER (PARTITION BY u.shard ORDER BY id) AS position, u.shard
              FROM unnest(minted_ids, minted_shards) AS u (id, shard)) AS m USING (shard, position)
        ORDER BY o.id);

    -- What triggers need can be locked by anybody.
\i bodies/brief_waits.pgsql

    -- Triggers of foreign keys fire at the end of a statement: with one statement for
    -- all tables, they find every row with its new id.  Other triggers find the
    -- search_path that the caller has; in the statement itself every name is
    -- qualified.
    PERFORM @extschema@._flake_execute_steps(ticket, schemas, relations, '{}'::oid[], ARRAY[
        [caller::text, NULL, NULL, format('SELECT pg_catalog.set_config(''search_path'', %L, true)', path)],
        [col.relowner::text, (SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE c.oid = target),
         target::oid::text, @extschema@._flake_replace_statement(target::oid, relations, attributes, old_ids, new_ids)],
        [caller::text, NULL, NULL, 'SELECT pg_catalog.set_config(''search_path'', ''pg_catalog, pg_temp'', true)']], false);
    PERFORM set_config('lock_timeout', lock_timeout, true);

    SELECT i INTO problem
    FROM unnest(@extschema@._flake_ids_above(ticket, target::oid, attribute, above)) AS i
    WHERE i = ANY (old_ids) ORDER BY i LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'triggered_data_change_violation',
            MESSAGE = format('cannot replace ids in column "%s" of table "%s"', attribute, col.relname),
            DETAIL = format('Id %s is still there: a trigger has kept it.', problem.i),
            HINT = 'Disable the trigger meanwhile.';
    END IF;
    RETURN QUERY SELECT o, n FROM unnest(old_ids, new_ids) AS u (o, n) ORDER BY o;
END
