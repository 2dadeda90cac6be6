DECLARE
    shards bigint := (@extschema@.flake_layout_info(layout)).shards;
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    col pg_catalog.record;
    relations pg_catalog.oid[]; -- the columns to be widened
    attributes pg_catalog.name[];
    all_relations pg_catalog.oid[];     -- with those that inherit them
    all_attributes pg_catalog.name[];
    tables pg_catalog.oid[];    -- tables to be locked
    views pg_catalog.oid[];     -- views on them, those on others last
    is_uuid boolean;
    view_names pg_catalog.text[];
    types pg_catalog.oid[];     -- what the views name
    trees pg_catalog.oid[] := '{}';     -- what is locked, for _flake_lock_trees()
    keys pg_catalog.oid[] := '{}';
    named_relations pg_catalog.oid[] := '{}';
    schemas pg_catalog.oid[] := '{}';   -- those that are guarded
    seen pg_catalog.record;             -- all that, as it is when that is locked
    began pg_catalog.timestamptz := clock_timestamp();
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    sequence pg_catalog.record;
    problem pg_catalog.record;
    named pg_catalog.jsonb;
    steps pg_catalog.text[];    -- for _flake_execute_steps()
BEGIN
    -- PostgreSQL cannot be canceled while it reads a definition, which may be anybody's.
    -- So a dry run comes first, which keeps nobody from his tables: what it takes long to
    -- read is refused.
    IF NOT dry_run AND guarded = '{}' THEN
        BEGIN
            PERFORM set_config('client_min_messages', 'warning', true);
            PERFORM @extschema@._flake_migrate_guarded(ticket, target, attribute, shard, generator, layout,
                                                      true, drop_sequence, others, other_attributes, guarded);
            RAISE SQLSTATE 'FL001';     -- undoes the locks
        EXCEPTION WHEN SQLSTATE 'FL001' THEN
            began := clock_timestamp();
        END;
    END IF;

    -- All is locked at once or not at all: when one relation is in use, the others are let
    -- go while it is waited for, because it may be anybody's.  Then nobody adds a row, or
    -- refers to the column anew.  What was looked up is looked up again, and if it has
    -- changed, all is let go.  The first time nothing is locked yet.  A dry run keeps
    -- tables only from being changed, and waits for none on which the caller has no rights.
    LOOP
        BEGIN
            IF guarded = '{}' THEN
                PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
            ELSIF NOT schemas <@ guarded THEN
                RAISE EXCEPTION USING ERRCODE = 'lock_not_available',
                    MESSAGE = format('what depends on column "%s" of table "%s" was changed meanwhile', attribute, col.relname);
            END IF;
            PERFORM @extschema@._flake_lock_trees(ticket, trees, CASE WHEN NOT dry_run THEN true END, keys, named_relations,
                                                  CASE WHEN guarded = '{}' THEN began END);
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
            ELSIF @extschema@._flake_is_hypertable(target::oid) THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('cannot migrate "%s"', col.relname),
                    DETAIL = 'It is a hypertable of TimescaleDB or a chunk of one, and the largest id could be in a row that is compressed.',
                    HINT = 'Use ALTER TABLE ... ALTER COLUMN ... SET DEFAULT flake_id(...), and if chunks go by this column, set_chunk_time_interval() before that.';
            ELSIF @extschema@._flake_is_distributed(target::oid) THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('cannot migrate "%s"', col.relname),
                    DETAIL = 'It is a table of Citus, whose rows are in other tables and on other nodes.',
                    HINT = 'Use undistribute_table(), flake_migrate(), ALTER TABLE ... SET DEFAULT flake_id(), and distribute it again.';
            ELSIF col.attnum IS NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'undefined_column',
                    MESSAGE = format('column "%s" of table "%s" does not exist', attribute, col.relname);
            END IF;
            is_uuid := col.atttypid = 'uuid'::regtype;
            IF is_uuid AND generator = '@extschema@.flake_default'::regclass THEN
                generator := '@extschema@.flake_default_uuidv7'::regclass;
                layout := @extschema@.flake_layout_of(generator);
            END IF;
            IF col.atttypid NOT IN ('smallint'::regtype, 'int'::regtype, 'bigint'::regtype, 'uuid'::regtype) OR col.attgenerated <> '' THEN
                RAISE EXCEPTION USING ERRCODE = 'datatype_mismatch',
                    MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
                    DETAIL = CASE WHEN col.attgenerated <> '' THEN 'It is a generated column.'
                                  ELSE format('Its type is %s, not an integer type or uuid.', format_type(col.atttypid, NULL)) END;
            ELSIF is_uuid <> (layout::text LIKE '% form=uuidv7 %') THEN
                RAISE EXCEPTION USING ERRCODE = 'datatype_mismatch',
                    MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
                    DETAIL = format('Its type is %s, and ids of generator "%s" are %s.', format_type(col.atttypid, NULL), generator,
                                    CASE WHEN is_uuid THEN 'no UUIDs' ELSE 'UUIDs' END),
                    HINT = 'Name a generator whose layout is for this type.';
            ELSIF shard NOT BETWEEN 0 AND shards - 1 THEN
                RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
                    MESSAGE = format('shard %s is out of range', shard),
                    DETAIL = format('Generator "%s" has shards 0 to %s.', generator, shards - 1);
            END IF;

            SELECT l.* INTO seen
            FROM @extschema@._flake_migrate_locks(ticket, target::oid || others, attribute || other_attributes,
                                                  generator, dry_run, drop_sequence) AS l;
            IF seen.circular IS NOT NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
                    DETAIL = format('View %s is one of several that are defined by each other.', seen.circular::regclass),
                    HINT = 'Drop it before.';
            END IF;
            EXIT WHEN seen.trees = trees AND seen.keys = keys AND seen.named = named_relations AND seen.schemas = schemas;
            RAISE SQLSTATE 'FL001';     -- undoes the locks
        EXCEPTION
            WHEN SQLSTATE 'FL001' THEN
                trees := seen.trees;
                keys := seen.keys;
                named_relations := seen.named;
                schemas := seen.schemas;
            WHEN invalid_schema_name THEN       -- dropped while it was waited for
                trees := '{}';
                keys := '{}';
                named_relations := '{}';
                schemas := '{}';
        END;
    END LOOP;
    relations := seen.relations;
    attributes := seen.attributes;
    all_relations := seen.all_relations;
    all_attributes := seen.all_attributes;
    tables := CASE WHEN relations IS NULL THEN ARRAY[target::oid] ELSE seen.tables END;
    views := seen.views;
    types := seen.types;

    -- All that is known to be needed is locked.  But a type can have been made this moment,
    -- and with other types a name can mean what was not looked at.
\i bodies/brief_waits.pgsql

    PERFORM @extschema@._flake_check_migrate_rights(ticket, target::oid, col.relname::name, col.attidentity <> '' AND NOT drop_sequence,
                                                   coalesce(relations, '{}'), coalesce(attributes, '{}'), coalesce(views, '{}'));

    -- What the default has been: an identity's, a serial's, or another sequence
    SELECT c.oid, c.relname, c.relowner INTO sequence
    FROM pg_class c WHERE c.oid = @extschema@._flake_old_sequence(target::oid, attribute);

    -- PostgreSQL cannot be canceled while it reads a definition, or writes it down.
    SELECT format('The %s %s.', t.object, t.what) AS detail,
           'Change that, or drop it, before.' AS hint
    INTO problem
    FROM (SELECT array_agg(r.class), array_agg(r.id)
          FROM @extschema@._flake_migrate_reads(target::oid, coalesce(all_relations, '{}'), coalesce(views, '{}'), sequence.oid::oid) AS r) AS a (classes, ids)
    CROSS JOIN LATERAL @extschema@._flake_too_long(a.classes, a.ids) AS t;
    IF NOT FOUND THEN
        SELECT o.detail, o.hint INTO problem
        FROM @extschema@._flake_obstacle(target::oid, attribute, all_relations, all_attributes, views,
                                        CASE WHEN col.attidentity <> '' OR drop_sequence THEN sequence.oid::oid END, NOT drop_sequence) AS o;
    END IF;
    IF NOT FOUND THEN
        SELECT format('The %s has rows of a join or of several functions as a whole in its definition.', object) AS detail,
               'Change that, or drop it, before.' AS hint
        INTO problem
        FROM @extschema@._flake_record_of(coalesce(all_relations, '{}'), coalesce(views, '{}')) AS object
        WHERE object IS NOT NULL;
    END IF;
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
         AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typrelid = ANY (views))
        CROSS JOIN LATERAL @extschema@._flake_type_owner(t.oid, caller) AS u (stranger)
        WHERE u.stranger IS NOT NULL
        LIMIT 1;
    END IF;
    IF NOT FOUND THEN
        -- A view that is made anew can have columns of other types by then.
        SELECT format('View %s has a constant in it that is a row of a view.', c.oid::regclass) AS detail,
               'Drop it before, and create it again afterwards.' AS hint
        INTO problem
        FROM unnest(views) AS v (id)
        JOIN pg_class c ON c.oid = v.id
        JOIN pg_rewrite w ON w.ev_class = c.oid
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_type'::regclass
        JOIN pg_type t ON t.oid = d.refobjid
        LEFT JOIN pg_type e ON e.oid = t.typelem
        WHERE (t.typrelid = ANY (views) OR e.typrelid = ANY (views))
          AND CASE WHEN octet_length(w.ev_action::text) > 4194304 THEN true     -- since it was measured
                   ELSE position(format('{CONST :consttype %s ', t.oid) IN w.ev_action::text) > 0 END
        LIMIT 1;
    END IF;
    IF NOT FOUND THEN
        -- One without a type gets that of what a function takes by then.
        SELECT format('View %s has a constant without a type in it, and role "%s" could put another in the place of %s.',
                      c.oid::regclass, u.stranger, pg_describe_object(d.refclassid, d.refobjid, 0)) AS detail,
               'Migrate as that role, or give the constant a type, as in ''x''::text.' AS hint
        INTO problem
        FROM unnest(views) AS v (id)
        JOIN pg_class c ON c.oid = v.id
        JOIN pg_rewrite w ON w.ev_class = c.oid
         AND CASE WHEN w.ev_class = ANY (views)         -- PostgreSQL may look at all views first
                  THEN CASE WHEN octet_length(w.ev_action::text) > 4194304 THEN true       -- since it was measured
                            ELSE position('{CONST :consttype 705 ' IN w.ev_action::text) > 0 END END
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
        CROSS JOIN LATERAL @extschema@._flake_usurper(d.refclassid, d.refobjid, caller) AS u (stranger)
        WHERE u.stranger IS NOT NULL
        ORDER BY d.refclassid, d.refobjid LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
            DETAIL = problem.detail,
            HINT = problem.hint;
    END IF;

    -- Definitions that are executed again as text must mean then what they mean now.
    PERFORM @extschema@._flake_check_definitions(ticket, col.relname::name, attribute, coalesce(all_relations, '{}'), coalesce(all_attributes, '{}'),
                                                 coalesce(views, '{}'));

    IF drop_sequence AND sequence.relowner <> col.relowner AND NOT pg_has_role(col.relowner, sequence.relowner, 'USAGE') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('cannot drop sequence "%s" with the default of column "%s" of table "%s"', sequence.relname, attribute, col.relname),
            DETAIL = format('It belongs to role "%s".', pg_get_userbyid(sequence.relowner)),
            HINT = 'Leave out drop_sequence, and drop it by hand if nothing else needs it.';
    END IF;

    PERFORM @extschema@._flake_check_minting(ticket, target::oid, col.relname::name, attribute, generator, layout, shard, dry_run);
    steps := @extschema@._flake_migrate_steps(ticket, target, attribute, shard, generator, dry_run, drop_sequence,
                                             tables, relations, attributes, views, sequence.oid::oid);

    IF is_uuid AND dry_run THEN
        RAISE NOTICE USING
            MESSAGE = 'only new rows would get ids of flake_uuidv7()',
            DETAIL = 'The UUIDs that are there stay as they are, and no row is rewritten.';
    END IF;
    IF NOT dry_run THEN
        -- Some are created again from their definitions as text.  The names in these
        -- must mean then what they mean now.
        tables := ARRAY(WITH RECURSIVE heir (oid) AS (SELECT unnest(relations)
                                                      UNION SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid)
                        SELECT oid FROM heir);
        view_names := ARRAY(SELECT m.name FROM unnest(views) WITH ORDINALITY AS t (v, i), @extschema@._flake_remade(v, caller) AS m
                            WHERE m.step = 0 ORDER BY i);
        named := @extschema@._flake_named_by(ticket, tables, coalesce(views, '{}'));
        PERFORM @extschema@._flake_execute_steps(ticket, schemas, relations || target::oid || generator::oid, types, steps, true);
        SELECT key INTO problem
        FROM jsonb_each(named) AS b
        FULL JOIN jsonb_each(@extschema@._flake_named_by(ticket, tables, view_names::regclass[]::oid[])) AS a USING (key)
        WHERE b.value IS DISTINCT FROM a.value ORDER BY key LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, col.relname, problem.key),
                DETAIL = 'A name in its definition would come to mean something else.',
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
    END IF;
    PERFORM set_config('lock_timeout', lock_timeout, true);
    RETURN QUERY SELECT s.command FROM unnest(steps[:][4:4]) WITH ORDINALITY AS s (command, i) WHERE s.command IS NOT NULL ORDER BY s.i;
END
