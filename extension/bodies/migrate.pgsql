DECLARE
    shards bigint := (@extschema@.flake_layout_info(layout)).shards;
    has_time boolean := layout::text ~ '^ts:';
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    col pg_catalog.record;
    relations pg_catalog.oid[]; -- the columns to be widened
    attributes pg_catalog.name[];
    all_relations pg_catalog.oid[];     -- with those that inherit them
    all_attributes pg_catalog.name[];
    tables pg_catalog.oid[];    -- the tables to be locked
    views pg_catalog.oid[];     -- views on them, those on others last
    unsorted pg_catalog.oid[];
    ready pg_catalog.oid[];
    namers pg_catalog.oid[];    -- each of these views names the one at the same place below
    namees pg_catalog.oid[];
    view_names pg_catalog.text[];
    schemas pg_catalog.oid[];
    types pg_catalog.oid[];     -- what the views name
    locks pg_catalog.oid[];     -- the tables and views, in this order
    locked pg_catalog.oid[];
    first pg_catalog.oid;       -- the one of these to wait for
    next pg_catalog.oid;
    in_use boolean;
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    began pg_catalog.timestamptz := clock_timestamp();
    waits_until pg_catalog.timestamptz;
    sequence pg_catalog.record;
    sequence_name pg_catalog.text;
    problem pg_catalog.record;
    largest bigint;
    is_refused boolean;
    hint pg_catalog.text;
    named pg_catalog.jsonb;
    definition pg_catalog.record;
    meaning pg_catalog.record;
    meant pg_catalog.text;
    retyped pg_catalog.int2[];  -- columns of all_relations, and of views, that get other types
    retyped_of pg_catalog.oid[];
    new_types pg_catalog.oid[];
    steps pg_catalog.text[];    -- for _flake_execute_steps()
BEGIN
    PERFORM @extschema@._flake_guard_relation(ticket, generator::oid, false);

    -- Tables and views are locked all at once or not at all: when one is in use, the
    -- others are let go while it is waited for, because its user may want those next.
    -- Then nobody adds a row, or refers to the column anew; and what was looked up
    -- before is looked up again.
    LOOP
        SELECT c.relname, c.relkind, c.relispartition, c.relowner, c.relnamespace, a.attnum, a.atttypid, a.attidentity, a.attgenerated INTO col
        FROM pg_class c
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = attribute AND a.attnum > 0
        WHERE c.oid = target;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'undefined_table',
                MESSAGE = format('table with OID %s does not exist', target::oid);
        ELSIF col.relkind NOT IN ('r', 'p') OR col.relispartition THEN
            RAISE EXCEPTION USING ERRCODE = 'wrong_object_type',
                MESSAGE = format('cannot migrate "%s"', col.relname),
                DETAIL = CASE WHEN col.relispartition THEN 'It is a partition; its parent must be migrated.'
                              ELSE 'It is not a table.' END;
        ELSIF col.attnum IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'undefined_column',
                MESSAGE = format('column "%s" of table "%s" does not exist', attribute, col.relname);
        ELSIF col.atttypid NOT IN ('smallint'::regtype, 'int'::regtype, 'bigint'::regtype) OR col.attgenerated <> '' THEN
            RAISE EXCEPTION USING ERRCODE = 'datatype_mismatch',
                MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
                DETAIL = CASE WHEN col.attgenerated <> '' THEN 'It is a generated column.'
                              ELSE format('Its type is %s, not an integer type.', format_type(col.atttypid, NULL)) END;
        ELSIF NOT dry_run AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
            RAISE EXCEPTION USING ERRCODE = 'active_sql_transaction',
                MESSAGE = 'cannot migrate in a transaction that does not see what others have committed meanwhile',
                HINT = 'Use isolation level READ COMMITTED.';
        ELSIF shard NOT BETWEEN 0 AND shards - 1 THEN
            RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
                MESSAGE = format('shard %s is out of range', shard),
                DETAIL = format('Generator "%s" has shards 0 to %s.', generator, shards - 1);
        END IF;

        -- It, those that inherit it, the columns that refer to these, what they are
        -- inherited from, and so on.  Those that are not bigint yet have to be.
        WITH RECURSIVE reference AS MATERIALIZED (
            SELECT k.conrelid AS relation, a.attname, k.confrelid AS to_relation, b.attname AS to_attname
            FROM pg_constraint k, unnest(k.conkey, k.confkey) AS u (from_key, to_key), pg_attribute a, pg_attribute b
            WHERE k.contype = 'f' AND a.attrelid = k.conrelid AND a.attnum = u.from_key
              AND b.attrelid = k.confrelid AND b.attnum = u.to_key
        ), related (relation, attname) AS (
            SELECT target::oid, attribute
            UNION
            SELECT n.relation, n.attname
            FROM related
            CROSS JOIN LATERAL (
                SELECT r.relation, r.attname FROM reference r WHERE r.to_relation = related.relation AND r.to_attname = related.attname
                UNION ALL
                SELECT inhrelid, related.attname FROM pg_inherits WHERE inhparent = related.relation
                UNION ALL
                SELECT i.inhparent, related.attname
                FROM pg_inherits i
                JOIN pg_attribute h ON h.attrelid = i.inhrelid AND h.attname = related.attname AND h.attinhcount > 0
                JOIN pg_attribute p ON p.attrelid = i.inhparent AND p.attname = related.attname
                WHERE i.inhrelid = related.relation) AS n
        ), narrow AS (
            SELECT r.relation, r.attname, a.attnum, a.attinhcount
            FROM related r
            JOIN pg_attribute a ON a.attrelid = r.relation AND a.attname = r.attname
            JOIN pg_type t ON t.oid = a.atttypid
            WHERE 'bigint'::regtype NOT IN (t.oid, t.typbasetype)
        )
        SELECT array_agg(n.relation ORDER BY n.relation, n.attnum) FILTER (WHERE n.attinhcount = 0),
               array_agg(n.attname ORDER BY n.relation, n.attnum) FILTER (WHERE n.attinhcount = 0),
               array_agg(n.relation ORDER BY n.relation, n.attnum),
               array_agg(n.attname ORDER BY n.relation, n.attnum),
               ARRAY(SELECT DISTINCT t
                     FROM (SELECT o.relation FROM related o JOIN pg_attribute a ON a.attrelid = o.relation AND a.attname = o.attname AND a.attinhcount = 0
                           UNION    -- those that a widened column refers to: its foreign keys are made anew
                           SELECT coalesce(pg_partition_root(f.to_relation)::oid, f.to_relation)
                           FROM related JOIN reference f USING (relation, attname)) AS r (t)
                     -- Those of others may be referred to, but not be locked beforehand.
                     WHERE t = target OR has_table_privilege(t, 'UPDATE, DELETE, TRUNCATE'))
        INTO relations, attributes, all_relations, all_attributes, tables
        FROM narrow n;
        IF relations IS NULL THEN
            tables := ARRAY[target::oid];
        END IF;

        -- The type of a column cannot change under a view, nor a view's under another.
        WITH RECURSIVE naming AS MATERIALIZED (
            SELECT DISTINCT w.ev_class AS view, coalesce(nullif(t.typrelid, 0), nullif(e.typrelid, 0), d.refobjid) AS relation, d.refobjsubid AS attnum
            FROM pg_rewrite w
            JOIN pg_class c ON c.oid = w.ev_class AND c.relkind = 'v'
            JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
             AND (d.refclassid = 'pg_type'::regclass
                  OR d.refclassid = 'pg_class'::regclass AND (d.refobjid <> c.oid OR d.refobjsubid > 0))
            LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
            LEFT JOIN pg_type e ON e.oid = t.typelem
            WHERE w.rulename = '_RETURN'
        ), dependent (view) AS (
            SELECT n.view
            FROM unnest(all_relations, all_attributes) AS u (relation, attname)
            JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
            JOIN naming n ON n.relation = u.relation AND n.attnum = a.attnum
            UNION
            SELECT n.view FROM dependent JOIN naming n ON n.relation = dependent.view
        )
        SELECT ARRAY(SELECT view FROM dependent), array_agg(n.view), array_agg(n.relation) INTO unsorted, namers, namees
        FROM naming n WHERE n.view IN (SELECT view FROM dependent) AND n.relation IN (SELECT view FROM dependent);
        views := NULL;
        LOOP
            ready := ARRAY(SELECT v FROM unnest(unsorted) AS v
                           WHERE NOT EXISTS (SELECT FROM unnest(namers, namees) AS n (view, relation)
                                             WHERE n.view = v AND n.relation = ANY (unsorted))
                           ORDER BY v);
            EXIT WHEN ready = '{}';
            views := views || ready;
            unsorted := ARRAY(SELECT v FROM unnest(unsorted) AS v WHERE v <> ALL (ready));
        END LOOP;
        IF unsorted <> '{}' THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
                DETAIL = format('View %s is one of several that are defined by each other.', unsorted[1]::regclass),
                HINT = 'Drop it before.';
        END IF;

        -- From here on nobody else renames the schemas of what will be named.
        schemas := ARRAY(SELECT DISTINCT relnamespace FROM pg_class
                         WHERE oid = target OR oid = generator OR oid = ANY (tables) OR oid = ANY (views));
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
        locks := ARRAY(SELECT t FROM unnest(tables) AS t ORDER BY t <> target, t)
              || coalesce(views, '{}');
        EXIT WHEN dry_run OR locks = locked;
        first := CASE WHEN first = ANY (locks) THEN first ELSE locks[1] END;
        BEGIN
            in_use := false;
            PERFORM @extschema@._flake_guard_tree(ticket, first);
            in_use := true;
            FOREACH next IN ARRAY array_remove(locks, first) LOOP
                PERFORM set_config('lock_timeout', '10ms', true);
                first := next;
                PERFORM @extschema@._flake_guard_tree(ticket, next);
            END LOOP;
            PERFORM set_config('lock_timeout', lock_timeout, true);
            locked := locks;
        EXCEPTION WHEN lock_not_available THEN
            -- the caller's own lock_timeout, also of many short waits together
            IF NOT in_use OR lock_timeout <> '0' AND clock_timestamp() > began + lock_timeout::interval THEN
                RAISE;
            END IF;
        END;
    END LOOP;

    -- What PostgreSQL would say in the midst of it: LOCK TABLE, and the check of a
    -- foreign key that is made anew, ask for privileges of the owner, too.
    SELECT CASE WHEN o.does <> 'refer' AND NOT pg_has_role(c.relowner, 'USAGE')
                THEN format('must be owner of %s', pg_describe_object('pg_class'::regclass, c.oid, 0))
                WHEN c.oid = target AND NOT has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE')
                THEN format('permission denied for table %s', c.relname)
                WHEN o.does = 'refer' AND NOT has_table_privilege(c.relowner, c.oid, 'SELECT')
                THEN format('permission denied for table %s for its owner, role "%s"', c.relname, pg_get_userbyid(c.relowner))
                WHEN o.does = 'make' AND NOT (has_schema_privilege(c.relnamespace, 'CREATE')
                     AND ((SELECT rolsuper FROM pg_roles r WHERE r.oid = caller) OR has_schema_privilege(c.relowner, c.relnamespace, 'CREATE')))
                THEN format('permission denied for schema %s', c.relnamespace::regnamespace) END AS message
    INTO problem
    FROM (SELECT target::oid, CASE WHEN col.attidentity <> '' AND NOT drop_sequence THEN 'make' ELSE 'change' END
          UNION SELECT unnest(relations), 'change'
          UNION SELECT unnest(ARRAY[conrelid, confrelid]), 'refer' FROM pg_constraint
                WHERE contype = 'f' AND (conrelid = ANY (relations) OR confrelid = ANY (relations))
          UNION SELECT unnest(views), 'make') AS o (oid, does)
    JOIN pg_class c ON c.oid = o.oid
    ORDER BY 1 NULLS LAST, c.oid LIMIT 1;
    IF problem.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = problem.message;
    END IF;

    -- What one role has written is not executed as another that does not trust it.  To
    -- change a type makes foreign keys anew.
    SELECT c.oid, p.relation, c.relowner, o.relowner AS role INTO problem
    FROM (SELECT target::oid UNION SELECT unnest(relations)) AS p (relation)
    JOIN pg_class o ON o.oid = p.relation
    CROSS JOIN LATERAL (
        WITH RECURSIVE heir (oid) AS (SELECT p.relation
                                      UNION SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid)
        SELECT oid FROM heir) AS h
    JOIN pg_class c ON c.oid = h.oid
    WHERE NOT @extschema@._flake_trusts(o.relowner, c.relowner)
    ORDER BY p.relation <> target, p.relation, c.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot migrate "%s"', col.relname),
            DETAIL = format('Table %s inherits from %s, and PostgreSQL would evaluate what role "%s" has written as role "%s".',
                            problem.oid::regclass, problem.relation::regclass, pg_get_userbyid(problem.relowner), pg_get_userbyid(problem.role)),
            HINT = 'Give both tables the same owner.';
    END IF;
    SELECT c.oid, l.other, f.code, c.relowner INTO problem
    FROM unnest(relations, attributes) AS u (relation, attname)
    JOIN pg_class c ON c.oid = u.relation
    CROSS JOIN LATERAL unnest(@extschema@._flake_linked(u.relation, u.attname)) AS l (other)
    CROSS JOIN LATERAL @extschema@._flake_foreign_code(l.other, c.relowner) AS f (code)
    WHERE f.code IS NOT NULL
    ORDER BY c.oid <> target, c.oid, l.other LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make a foreign key between tables %s and %s', problem.oid::regclass, problem.other::regclass),
            DETAIL = format('PostgreSQL would evaluate %s as role "%s".', problem.code, pg_get_userbyid(problem.relowner)),
            HINT = 'Give both tables the same owner, or drop what would be evaluated.';
    END IF;

    -- What the default has been: an identity's, a serial's, or another sequence
    SELECT c.oid, c.relname, c.relnamespace, c.relowner, c.relpersistence, q.* INTO sequence
    FROM pg_depend d
    JOIN pg_class c ON c.oid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid ELSE d.refobjid END AND c.relkind = 'S'
    JOIN pg_sequence q ON q.seqrelid = c.oid
    WHERE (d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
           AND d.refobjid = target AND d.refobjsubid = col.attnum AND d.deptype IN ('a', 'i')
           OR d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass
           AND d.objid = (SELECT oid FROM pg_attrdef WHERE adrelid = target AND adnum = col.attnum))
      AND NOT EXISTS (SELECT FROM pg_seclabel l       -- generators are not old sequences
                      WHERE l.classoid = 'pg_class'::regclass AND l.objoid = c.oid AND l.provider = 'flakeid')
    ORDER BY d.deptype = 'i' DESC LIMIT 1;

    IF FOUND THEN
        PERFORM @extschema@._flake_guard_relation(ticket, sequence.oid::oid, false);
        schemas := schemas || sequence.relnamespace;
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
    END IF;

    SELECT o.detail, o.hint INTO problem
    FROM @extschema@._flake_obstacle(target::oid, attribute, all_relations, all_attributes, views,
                                    CASE WHEN col.attidentity <> '' OR drop_sequence THEN sequence.oid::oid END, NOT drop_sequence) AS o;
    IF NOT FOUND THEN
        -- To read a constant of a type can be to execute a check of a domain; and what
        -- is executed meanwhile can put a domain in its place.
        SELECT format('View %s has a type in it whose owner, role "%s", can put another in its place, with a check.', c.oid::regclass, u.stranger) AS detail,
               'Migrate as that role, or drop the view before, and create it again afterwards.' AS hint
        INTO problem
        FROM unnest(views) AS v (id)
        JOIN pg_class c ON c.oid = v.id
        JOIN pg_rewrite w ON w.ev_class = c.oid
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_type'::regclass
        JOIN pg_type t ON t.oid = d.refobjid AND t.typrelid <> ALL (views)
        CROSS JOIN LATERAL @extschema@._flake_type_owner(t.oid, caller) AS u (stranger)
        WHERE u.stranger IS NOT NULL
        LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
            DETAIL = problem.detail,
            HINT = problem.hint;
    END IF;

    -- Definitions that are executed again as text must mean then what they mean now.
    SELECT array_agg(u.relation), array_agg(a.attnum), array_agg('bigint'::regtype::oid) INTO retyped_of, retyped, new_types
    FROM unnest(all_relations, all_attributes) AS u (relation, attname)
    JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname;
    FOR definition IN SELECT d.* FROM @extschema@._flake_definitions(all_relations, all_attributes, views) AS d LOOP
        -- What is evaluated at once must not come to mean something else by then.
        SELECT pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) AS object, u.stranger INTO problem
        FROM pg_depend d
        JOIN pg_class c ON c.oid = definition.relation AND c.relkind <> 'v'
        LEFT JOIN pg_attribute a ON d.refclassid = 'pg_class'::regclass AND a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        CROSS JOIN LATERAL (SELECT CASE WHEN a.attnum IS NULL THEN @extschema@._flake_usurper(d.refclassid, d.refobjid, c.relowner)
                                        ELSE @extschema@._flake_type_owner(a.atttypid, c.relowner) END) AS u (stranger)
        WHERE d.classid = definition.class AND d.objid = definition.object AND u.stranger IS NOT NULL
        ORDER BY object LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, col.relname, definition.what),
                DETAIL = format('It names %s, and role "%s" could put another in its place.', problem.object, problem.stranger),
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
        BEGIN
            SELECT r.result_types, r.named INTO meaning
            FROM @extschema@._flake_rebind(ticket, definition.query, retyped_of, retyped, new_types) AS r;
            meant := CASE WHEN NOT (meaning.named @> definition.named AND meaning.named <@ definition.named)
                          THEN 'A name in its definition would come to mean something else.' END;
        EXCEPTION
            WHEN insufficient_privilege THEN
                RAISE;
            WHEN syntax_error_or_access_rule_violation THEN
                meant := format('PostgreSQL would say: %s.', SQLERRM);
        END;
        IF meant IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, col.relname, definition.what),
                DETAIL = meant,
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
        -- so do other columns of a view
        SELECT retyped_of || array_agg(a.attrelid), retyped || array_agg(a.attnum), new_types || array_agg(t.type)
        INTO retyped_of, retyped, new_types
        FROM unnest(meaning.result_types) WITH ORDINALITY AS t (type, n)
        JOIN pg_attribute a ON a.attrelid = definition.relation AND a.attnum = t.n AND a.atttypid <> t.type
        WHERE a.attrelid = ANY (views);
    END LOOP;

    IF drop_sequence AND sequence.relowner <> col.relowner AND NOT pg_has_role(col.relowner, sequence.relowner, 'USAGE') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('cannot drop sequence "%s" with the default of column "%s" of table "%s"', sequence.relname, attribute, col.relname),
            DETAIL = format('It belongs to role "%s".', pg_get_userbyid(sequence.relowner)),
            HINT = 'Leave out drop_sequence, and drop it by hand if nothing else needs it.';
    END IF;

    -- It must be able to mint at all, here and now.
    SELECT CASE WHEN s.state IN ('detached', 'leased') THEN format('Shard %s is %s.', p.shard, s.state)
                WHEN s.state IS NULL AND current_setting('flakeid.require_attach')::boolean
                THEN format('Shard %s is not attached, and the setting "flakeid.require_attach" is on.', p.shard)
                WHEN clock_timestamp() NOT BETWEEN i.starts AND i.ends THEN format('Its ids are from %s to %s.', i.starts, i.ends)
                WHEN has_sequence_privilege(p.generator, 'USAGE')
                     AND NOT @extschema@.flake_would_exceed(p.generator, p.shard, (-9223372036854775808)::bigint)
                THEN 'It has handed out all of its ids.' END AS reason
    INTO problem
    FROM (VALUES (_flake_migrate_guarded.generator, _flake_migrate_guarded.shard)) AS p (generator, shard)
    CROSS JOIN @extschema@.flake_layout_info(layout) AS i
    LEFT JOIN @extschema@.flake_shards s ON s.generator::oid = p.generator::oid AND s.shard = p.shard;
    IF problem.reason IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('generator "%s" cannot mint ids of shard %s', generator, shard),
            DETAIL = problem.reason,
            HINT = 'Migrate to another shard or generator, or attach the shard before with flake_attach().';
    END IF;

    largest := @extschema@._flake_largest(ticket, target::oid, attribute);

    -- New ids must exceed those that there are, on every shard.  With UPDATE on the
    -- generator they are made to, if the tick after that of the largest can be
    -- minted by now; else they do when that tick has come, for which there is only
    -- a moment's time.
    waits_until := clock_timestamp() + CASE WHEN lock_timeout = '0' THEN '1 s' ELSE least('1 s', lock_timeout::interval) END;
    IF largest IS NULL THEN
        is_refused := false;
    ELSIF has_sequence_privilege(generator, 'UPDATE') AND has_sequence_privilege(generator, 'USAGE')
          AND (NOT has_time OR largest < @extschema@._flake_floor(clock_timestamp() + current_setting('flakeid.max_ahead')::interval
                                                                 + current_setting('flakeid.max_wait')::interval, layout)) THEN
        is_refused := false;
        IF NOT dry_run THEN
            BEGIN
                PERFORM @extschema@.flake_advance(generator, largest);
            EXCEPTION WHEN numeric_value_out_of_range OR invalid_parameter_value THEN
                is_refused := true;
            END;
        END IF;
    ELSIF has_time THEN
        is_refused := largest >= @extschema@._flake_floor(waits_until, layout);
        WHILE NOT is_refused AND NOT dry_run AND largest >= @extschema@._flake_floor(clock_timestamp(), layout) LOOP
            PERFORM pg_sleep(0.001);
        END LOOP;
    ELSE
        is_refused := NOT has_sequence_privilege(generator, 'USAGE')
            OR NOT @extschema@.flake_would_exceed(generator, shard, largest);
    END IF;
    IF is_refused THEN
        BEGIN
            hint := format('flake_create_generator(%L, %L%s)', quote_ident(col.relname || '_' || attribute || '_flake'),
                           CASE WHEN has_time THEN @extschema@.flake_layout_above(layout, largest, '1 day'::interval) ELSE layout END,
                           CASE WHEN NOT has_time THEN format(', after => %s', largest) END);
        EXCEPTION WHEN numeric_value_out_of_range OR invalid_parameter_value THEN
            hint := NULL;       -- none of these bits would do
        END;
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('ids of generator "%s" would not exceed those in column "%s" of table "%s"', generator, attribute, col.relname),
            DETAIL = format('The largest there is %s.', largest),
            HINT = coalesce('Migrate to another generator, such as ' || hint || '.', 'Give those rows other ids first.')
                || CASE WHEN has_time OR has_sequence_privilege(generator, 'UPDATE') THEN ''
                        ELSE ' Or migrate as a role with UPDATE on the generator, to let its ids begin after that.' END;
    END IF;

    -- The statements.  Those that can execute what somebody has written, such as
    -- the expression of an index, are executed as the table's owner; others, for
    -- which he may lack a privilege, as the caller.
    steps := ARRAY[[caller::text, NULL, NULL, format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE',
        (SELECT string_agg(t::regclass::text, ', ' ORDER BY t) FROM unnest(tables) AS t))]];
    steps := steps || (
        SELECT array_agg(ARRAY[caller::text, v::regclass::text, v::text, format('DROP VIEW %s', m.name)] ORDER BY i DESC)
        FROM unnest(views) WITH ORDINALITY AS t (v, i), @extschema@._flake_remade(v, caller) AS m WHERE m.step = 0);
    IF col.attidentity <> '' THEN
        steps := steps || ARRAY[[col.relowner::text, target::text, target::oid::text,
                                 format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY', target, attribute)]];
        IF NOT drop_sequence THEN
            EXECUTE format('SELECT last_value, is_called FROM %s', sequence.oid::regclass) INTO problem;
            SELECT m.name INTO sequence_name FROM @extschema@._flake_remade(sequence.oid, caller) AS m WHERE m.step = 0;
            steps := steps
                || ARRAY[[caller::text, NULL, NULL,
                    format('CREATE %sSEQUENCE %s AS %s INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s%s',
                           CASE sequence.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, sequence_name, sequence.seqtypid::regtype,
                           sequence.seqincrement, sequence.seqmin, sequence.seqmax, sequence.seqstart, sequence.seqcache,
                           CASE WHEN sequence.seqcycle THEN ' CYCLE' END)]]
                || ARRAY[[caller::text, sequence_name, NULL,
                    format('SELECT setval(%L, %s, %L)', sequence_name, problem.last_value, problem.is_called)]]
                || (SELECT array_agg(ARRAY[caller::text, NULL, NULL, m.command] ORDER BY m.step, m.command)
                    FROM @extschema@._flake_remade(sequence.oid, caller) AS m WHERE m.step > 0)
                || ARRAY[[caller::text, NULL, NULL, format('ALTER SEQUENCE %s OWNED BY %s.%I', sequence_name, target, attribute)]];
        END IF;
    ELSE
        steps := steps || ARRAY[[col.relowner::text, target::text, target::oid::text,
                                 format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', target, attribute)]];
    END IF;
    steps := steps || (
        SELECT array_agg(ARRAY[c.relowner::text, t.name, c.oid::text, t.command] ORDER BY c.oid <> target, c.oid, t.command NULLS FIRST)
        FROM (SELECT u.relation, u.relation::regclass::text,
                     format('ALTER TABLE %s %s', u.relation::regclass,
                            string_agg(format('ALTER COLUMN %I TYPE bigint', u.attname), ', ' ORDER BY i))
              FROM unnest(relations, attributes) WITH ORDINALITY AS u (relation, attname, i) GROUP BY u.relation
              UNION ALL
              SELECT u.relation, u.attname, NULL FROM unnest(relations, attributes) AS u (relation, attname)) AS t (relation, name, command)
        JOIN pg_class c ON c.oid = t.relation);
    steps := steps || ARRAY[[caller::text, target::text, target::oid::text,
        format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT @extschema@.flake_id(%s%s)', target, attribute, shard,
               CASE WHEN generator <> '@extschema@.flake_default'::regclass THEN format(', %L::regclass', generator) END)]];
    IF drop_sequence AND sequence.oid IS NOT NULL AND col.attidentity = '' THEN
        steps := steps || ARRAY[[caller::text, sequence.oid::regclass::text, sequence.oid::text, format('DROP SEQUENCE %s', sequence.oid::regclass)]];
    END IF;
    steps := steps || (
        -- Nothing of anybody is executed from here on, so a name cannot change its meaning.
        SELECT array_agg(ARRAY[caller::text, NULL, NULL, t.s] ORDER BY v.i, t.step, t.s)
        FROM unnest(views) WITH ORDINALITY AS v (id, i)
        JOIN pg_class c ON c.oid = v.id
        CROSS JOIN LATERAL @extschema@._flake_remade(c.oid, caller) AS m
        CROSS JOIN LATERAL (
            SELECT m.step, CASE m.step WHEN 0
                THEN format('CREATE VIEW %s%s AS %s', m.name,
                            (SELECT format(' WITH (%s)', string_agg(format('%I = %L', option_name, option_value), ', '))
                             FROM pg_options_to_table(c.reloptions) HAVING count(*) > 0),
                            rtrim(pg_get_viewdef(c.oid), ';'))
                ELSE m.command END
        ) AS t (step, s));

    IF NOT dry_run THEN
        -- Some are created again from their definitions as text.  The names in these
        -- must mean then what they mean now.
        tables := ARRAY(WITH RECURSIVE heir (oid) AS (SELECT unnest(relations)
                                                      UNION SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid)
                        SELECT oid FROM heir);
        view_names := ARRAY(SELECT m.name FROM unnest(views) WITH ORDINALITY AS t (v, i), @extschema@._flake_remade(v, caller) AS m
                            WHERE m.step = 0 ORDER BY i);
        named := @extschema@._flake_named_by(tables, coalesce(views, '{}'));
        types := ARRAY(SELECT DISTINCT d.refobjid
                       FROM pg_rewrite w
                       JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_type'::regclass
                       JOIN pg_type t ON t.oid = d.refobjid AND t.typrelid <> ALL (views)
                       WHERE w.ev_class = ANY (views));
        schemas := schemas || ARRAY(SELECT DISTINCT typnamespace FROM pg_type WHERE oid = ANY (types));
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
        PERFORM @extschema@._flake_execute_steps(ticket, schemas, relations || target::oid || generator::oid, types, steps, true);
        SELECT key INTO problem
        FROM jsonb_each(named) AS b
        FULL JOIN jsonb_each(@extschema@._flake_named_by(tables, view_names::regclass[]::oid[])) AS a USING (key)
        WHERE b.value IS DISTINCT FROM a.value ORDER BY key LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, col.relname, problem.key),
                DETAIL = 'A name in its definition would come to mean something else.',
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
    END IF;
    RETURN QUERY SELECT steps[i][4] FROM generate_subscripts(steps, 1) AS i WHERE steps[i][4] IS NOT NULL ORDER BY i;
END
