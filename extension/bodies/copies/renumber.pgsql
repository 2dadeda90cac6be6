DECLARE
    shard_count bigint := (@extschema@.flake_layout_info(@extschema@.flake_layout_of(generator))).shards;
    minting pg_catalog.text := CASE WHEN @extschema@.flake_layout_of(generator)::text LIKE '% form=uuidv7 %' THEN 'flake_uuidv7' ELSE 'flake_id' END;
    is_default boolean := generator = '@extschema@.flake_default'::regclass;
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    began pg_catalog.timestamptz := clock_timestamp();
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    max_checks CONSTANT int := 100;
    too_long_hint CONSTANT pg_catalog.text := 'Change that, or leave out its owner with the argument "owners".';
    mints pg_catalog.jsonb;     -- defaults that mint from the generator
    checks pg_catalog.jsonb;    -- checks to be changed
    other_checks pg_catalog.text[];     -- others that read the shard
    tables pg_catalog.oid[];    -- those to be changed
    schemas pg_catalog.oid[];
    now pg_catalog.record;      -- all of that, when the tables are locked
    next_shard int;
    shard_in_use int;           -- the one to wait for
    waited boolean;
    meanings pg_catalog.jsonb;
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

    -- Tables and shards are locked all at once or not at all: when one is in use, the
    -- others are let go while it is waited for, because its user may want those next.
    -- What was looked up before is looked up again, and the rest goes by that alone.
    -- Those who insert rows go on to a lock of the shard, so tables come before shards.
    SELECT r.mints, r.checks, r.other_checks, r.tables, r.schemas INTO mints, checks, other_checks, tables, schemas
    FROM @extschema@._flake_renumbered(generator, old_shards, new_shards, owners) AS r;
    LOOP
        -- PostgreSQL cannot be canceled while it reads what a table has.
        PERFORM @extschema@._flake_refuse_long(ticket, tables, too_long_hint);
        waited := false;
        BEGIN
            PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
            IF dry_run THEN
                PERFORM @extschema@._flake_guard_relation(ticket, generator::oid, false);
                EXIT;
            END IF;
            IF shard_in_use IS NOT NULL THEN
                PERFORM @extschema@._flake_lock_shard(ticket, shard_in_use, generator);
                -- With its lock, no table is waited for.
                shard_in_use := NULL;
                waited := true;
                PERFORM @extschema@._flake_lock_trees(ticket, tables, true, '{}'::oid[], ARRAY[generator]::oid[], NULL::timestamptz);
            ELSE
                PERFORM @extschema@._flake_lock_trees(ticket, tables, true, '{}'::oid[], ARRAY[generator]::oid[], began);
                waited := true;
            END IF;
            PERFORM set_config('lock_timeout', '10ms', true);
            FOR next_shard IN SELECT s FROM unnest(old_shards || new_shards) AS s ORDER BY s LOOP
                shard_in_use := next_shard;
                PERFORM @extschema@._flake_lock_shard(ticket, next_shard, generator);
            END LOOP;
            PERFORM set_config('lock_timeout', lock_timeout, true);
            SELECT r.mints, r.checks, r.other_checks, r.tables, r.schemas INTO now
            FROM @extschema@._flake_renumbered(generator, old_shards, new_shards, owners) AS r;
            mints := now.mints;
            checks := now.checks;
            other_checks := now.other_checks;
            PERFORM @extschema@._flake_refuse_long(ticket, now.tables, too_long_hint);
            EXIT WHEN now.tables = tables AND now.schemas = schemas;
            shard_in_use := NULL;
            RAISE SQLSTATE 'FL001';     -- undoes the locks
        EXCEPTION
            WHEN SQLSTATE 'FL001' THEN
                tables := now.tables;
                schemas := now.schemas;
            WHEN lock_not_available THEN
                -- the caller's own lock_timeout, also of many short waits together
                IF NOT waited OR lock_timeout <> '0' AND clock_timestamp() > began + lock_timeout::interval THEN
                    RAISE;
                END IF;
        END;
    END LOOP;

    -- Rows in flakeid's tables and settings of roles can be locked, too.
    IF NOT dry_run THEN
\i bodies/brief_waits.pgsql
    END IF;

    -- What mints in a way that is not understood could go on to mint an old shard.
    used := ARRAY(SELECT d.label FROM jsonb_to_recordset(mints) AS d (label text, shard int, counts boolean) WHERE d.counts AND d.shard IS NULL);
    IF used <> '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'cannot renumber shards',
            DETAIL = format('Not understood is the default of %s.', array_to_string(used, ', ')),
            HINT = 'Let such defaults be a call of flake_id() or flake_uuidv7() with nothing but constants. Or leave out what belongs to others with the argument "owners".';
    END IF;

    -- TimescaleDB changes a hypertable only together with its chunks.
    SELECT d.label INTO problem
    FROM jsonb_to_recordset(mints) AS d (label text, relation oid, shard int, counts boolean)
    WHERE d.counts AND d.shard = ANY (old_shards) AND @extschema@._flake_is_hypertable(d.relation)
    ORDER BY d.relation LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'cannot renumber shards',
            DETAIL = format('In a hypertable of TimescaleDB is %s.', problem.label),
            HINT = 'Drop its default before, and set it to the new shard afterwards.';
    END IF;

    -- Citus changes its tables on all nodes, or not at all.
    SELECT d.label INTO problem
    FROM jsonb_to_recordset(mints) AS d (label text, relation oid, shard int, counts boolean)
    WHERE d.counts AND d.shard = ANY (old_shards) AND @extschema@._flake_is_distributed(d.relation)
    ORDER BY d.relation LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'cannot renumber shards',
            DETAIL = format('In a table of Citus is %s.', problem.label),
            HINT = 'Use ALTER TABLE ... SET DEFAULT flake_id() before, which needs no shard.';
    END IF;

    -- To change one, PostgreSQL reads all checks of the table.
    SELECT k.relation::regclass AS relation INTO problem
    FROM jsonb_to_recordset(checks) AS k (relation oid, command text)
    WHERE k.command LIKE 'ALTER %' GROUP BY k.relation HAVING count(*) > max_checks LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'cannot renumber shards',
            DETAIL = format('Table %s has more than %s checks of the shard.', problem.relation, max_checks),
            HINT = 'Drop checks of it. Or leave out its owner with the argument "owners".';
    END IF;

    used := ARRAY(SELECT DISTINCT k.relation::regclass::text FROM jsonb_to_recordset(checks) AS k (relation oid, command text)
                  WHERE k.command IS NULL ORDER BY 1);
    IF used <> '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = 'cannot renumber shards',
            DETAIL = format('A table inherits a check of the shard from several parents, or has it as its own, too, or that check has a comment of more than 8 kB. Such tables are %s.', array_to_string(used, ', ')),
            HINT = 'Drop that check of all these tables, and add it to them afterwards, with the new shards.';
    END IF;

    -- Its owner changes a table.
    SELECT c.oid::regclass AS relation, pg_get_userbyid(c.relowner) AS owner, n.nspname INTO problem
    FROM (SELECT k.relation, false AS is_named FROM jsonb_to_recordset(checks) AS k (relation oid)
          UNION
          SELECT d.relation, d.is_named FROM jsonb_to_recordset(mints) AS d (relation oid, shard int, is_named boolean, counts boolean)
          WHERE d.counts AND d.shard = ANY (old_shards)) AS t
    JOIN pg_class c ON c.oid = t.relation
    JOIN pg_namespace n ON n.oid IN (c.relnamespace, '@extschema@'::regnamespace)
                           OR t.is_named AND n.oid = (SELECT g.relnamespace FROM pg_class g WHERE g.oid = generator)
    WHERE NOT has_schema_privilege(c.relowner, n.oid, 'USAGE')
    ORDER BY t.relation, n.nspname LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = 'cannot renumber shards',
            DETAIL = format('Role "%s", which owns table %s, lacks USAGE on schema "%s".', problem.owner, problem.relation, problem.nspname),
            HINT = 'Grant it, if only for this call. Or leave out tables of that role with the argument "owners".';
    END IF;

    IF other_checks <> '{}' THEN
        RAISE WARNING USING
            MESSAGE = 'checks that read the shard of an id stay as they are',
            DETAIL = format('They are not such as flake_renumber() changes: %s%s.', array_to_string(other_checks[1:10], ', '),
                            CASE WHEN cardinality(other_checks) > 10 THEN format(', and %s more', cardinality(other_checks) - 10) END),
            HINT = 'Change those that let only an old shard in, or new rows are errors.';
    END IF;

    -- Anybody can write a default, so those of others are no error.
    used := ARRAY(SELECT d.label FROM jsonb_to_recordset(mints) AS d (label text, shard int, counts boolean)
                  WHERE NOT d.counts AND (d.shard IS NULL OR d.shard = ANY (old_shards || new_shards)));
    IF used <> '{}' THEN
        RAISE WARNING USING
            MESSAGE = 'defaults of other owners stay as they are',
            DETAIL = format('They may mint an old or a new shard: the default of %s%s.', array_to_string(used[1:10], ', '),
                            CASE WHEN cardinality(used) > 10 THEN format(', and %s more', cardinality(used) - 10) END),
            HINT = 'The old shards are detached, so such a default is an error until its owner has changed it. Take other new shards if the original mints these.';
    END IF;

    -- One that is in use may be the original's.
    used := ARRAY(
        SELECT u.shard || ' (' || u.why || ')'
        FROM (SELECT s.shard, 'flake_shards: ' || s.state FROM @extschema@.flake_shards s WHERE s.generator = _flake_renumber_guarded.generator
              UNION ALL
              SELECT n.shard, 'flake_shard_map: ' || m.server FROM @extschema@.flake_shard_map m JOIN unnest(new_shards) AS n (shard) ON m.shards @> n.shard
              UNION ALL
              SELECT d.shard, 'default of ' || d.label
              FROM jsonb_to_recordset(mints) AS d (label text, shard int, counts boolean) WHERE d.counts) AS u (shard, why)
        WHERE u.shard = ANY (new_shards)
        ORDER BY u.shard, u.why);
    IF used <> '{}' THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = 'cannot renumber to shards that are in use',
            DETAIL = format('In use are %s.', array_to_string(used, ', ')),
            HINT = 'Take shards that the original does not mint, nor another server. Or leave out defaults of others with the argument "owners".';
    END IF;

    -- Checks of the shard first: they allow both then.  Their comments come after all of
    -- them, as a check that is inherited is made anew with its parent's.
    steps := steps || coalesce((
        SELECT array_agg(ARRAY[c.relowner::text, c.oid::regclass::text, c.oid::text, k.command]
                   ORDER BY k.command LIKE 'COMMENT %', (SELECT count(*) FROM pg_partition_ancestors(c.oid)), c.oid, k.command)
        FROM jsonb_to_recordset(checks) AS k (relation oid, command text)
        JOIN pg_class c ON c.oid = k.relation), '{}');

    steps := steps || coalesce((
        SELECT array_agg(ARRAY[c.relowner::text, c.oid::regclass::text, c.oid::text,
                   format('ALTER TABLE ONLY %s ALTER COLUMN %I SET DEFAULT %s.%s(%s%s)',
                          c.oid::regclass, d.attribute, '@extschema@', minting, u.new,
                          CASE WHEN d.is_named THEN format(', %L::regclass', generator::text) END)]
                   ORDER BY c.oid, d.attribute)
        FROM jsonb_to_recordset(mints) AS d (relation oid, attribute name, shard int, is_named boolean, counts boolean)
        JOIN unnest(old_shards, new_shards) AS u (old, new) ON u.old = d.shard
        JOIN pg_class c ON c.oid = d.relation
        WHERE d.counts), '{}');

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
            CROSS JOIN LATERAL unnest(CASE WHEN pg_column_size(s.setconfig) <= 8192 THEN s.setconfig END) AS c (setting)
            JOIN unnest(old_shards, new_shards) AS u (old, new) ON c.setting = format('flakeid.shard=%s', u.old)
            WHERE (s.setdatabase = 0 OR d.datname = current_database())
              AND (owners = '{}' OR s.setrole = 0 OR s.setrole = ANY (owners::oid[]))), '{}');
        used := ARRAY(
            SELECT DISTINCT CASE WHEN s.setrole <> 0 THEN 'role ' || s.setrole::regrole
                                 WHEN s.setdatabase <> 0 THEN 'database ' || quote_ident(d.datname)
                                 ELSE 'all roles' END
            FROM pg_db_role_setting s
            LEFT JOIN pg_database d ON d.oid = s.setdatabase
            -- Any role can have settings of a gigabyte.  It is not looked at what is in them.
            CROSS JOIN LATERAL unnest(CASE WHEN pg_column_size(s.setconfig) <= 8192 THEN s.setconfig ELSE '{flakeid.shard=?}' END) AS c (setting)
            WHERE (s.setdatabase = 0 OR d.datname = current_database())
              AND c.setting ~* '^flakeid\.shard='
              AND (c.setting !~ '^flakeid\.shard=(0|-?[1-9][0-9]*)$'
                   OR owners <> '{}' AND s.setrole <> 0 AND s.setrole <> ALL (owners::oid[])
                      AND c.setting = ANY (ARRAY(SELECT format('flakeid.shard=%s', u) FROM unnest(old_shards) AS u)))
            ORDER BY 1);
        IF used <> '{}' THEN
            RAISE WARNING USING
                MESSAGE = 'settings of flakeid.shard stay as they are',
                DETAIL = format('They are of other roles, too long to look at, or not written as "flakeid.shard" and a plain number: %s%s.', array_to_string(used[1:10], ', '),
                                CASE WHEN cardinality(used) > 10 THEN format(', and %s more', cardinality(used) - 10) END),
                HINT = 'The old shards are detached, so flake_id() is an error where one of them is set, until that is changed.';
        END IF;
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
        meanings := @extschema@._flake_meanings(tables);
        PERFORM @extschema@._flake_execute_steps(ticket, schemas, tables || generator::oid, '{}'::oid[], steps, false);
        SELECT key INTO problem
        FROM jsonb_each(meanings) AS b FULL JOIN jsonb_each(@extschema@._flake_meanings(tables)) AS a USING (key)
        WHERE b.value IS DISTINCT FROM a.value ORDER BY key LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = 'cannot renumber shards',
                DETAIL = format('A name in %s would come to mean something else.', problem.key),
                HINT = 'Change it by hand.';
        END IF;
    END IF;
    PERFORM set_config('lock_timeout', lock_timeout, true);
    RETURN QUERY
        SELECT format('SELECT %s.flake_detach(%s, %L::pg_catalog.regclass)', '@extschema@', s, generator) FROM unnest(old_shards) AS s
        UNION ALL
        SELECT format('SELECT %s.flake_attach(%s, NULL::bigint, %L::pg_catalog.regclass)', '@extschema@', s, generator) FROM unnest(new_shards) AS s
        UNION ALL
        (SELECT s.command FROM unnest(steps[:][4:4]) WITH ORDINALITY AS s (command, i) ORDER BY s.i);
END
