DECLARE
    source pg_catalog.oid := to_regnamespace(quote_ident(template));
    target pg_catalog.text := coalesce(schema::text, template || '_' || shard);
    target_oid pg_catalog.oid;
    tables pg_catalog.oid[];
    sequences pg_catalog.oid[];
    renamed pg_catalog.oid[];   -- defaults that name a relation of the template
    keys pg_catalog.oid[] := '{}';      -- tables elsewhere that foreign keys refer to
    named pg_catalog.oid[] := '{}';     -- what is named, and the tables and sequences
    copied pg_catalog.oid[];            -- what is named, and the copies
    schemas pg_catalog.oid[] := '{}';
    seen pg_catalog.record;             -- all that, as it is when that is locked
    is_seen boolean := false;           -- that is what was locked
    were_free boolean := false;         -- the keys
    began pg_catalog.timestamptz := clock_timestamp();
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    too_long_hint CONSTANT pg_catalog.text := 'Change that, or drop what refers to it, and create it in the copy by hand.';
    -- for _flake_execute_steps()
    privileges pg_catalog.record;
    made pg_catalog.record;             -- triggers and foreign keys
    mints pg_catalog.record;
    defaults pg_catalog.text[];
    steps pg_catalog.text[];
    last_steps pg_catalog.text[];
BEGIN
    IF ticket IS NULL OR shard IS NULL OR template IS NULL THEN
        RETURN NULL;
    ELSIF source IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_schema_name',
            MESSAGE = format('schema "%s" does not exist', template);
    ELSIF octet_length(target) > 63 THEN
        RAISE EXCEPTION USING ERRCODE = 'name_too_long',
            MESSAGE = format('schema name "%s" is too long', target),
            HINT = 'Give a shorter one as the third argument.';
    ELSIF to_regnamespace(quote_ident(target)) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'duplicate_schema',
            MESSAGE = format('schema "%s" already exists', target),
            HINT = 'To make it anew, drop it first. To make another, give its name as the third argument.';
    END IF;
    -- The tables; the sequences, but for generators; and what is named.  As in
    -- flake_migrate(): all is locked at once or not at all.  When all is locked, and nobody
    -- can rename the schemas, it is still that.  The tables elsewhere are kept from being
    -- written only from when their foreign keys are made.  Before that code of owners
    -- can be executed that does not end.  But if one is in use, it is waited for now, as
    -- then it is waited for only briefly: all is locked once with these tables, and
    -- then again without them.
    LOOP
        BEGIN
            PERFORM @extschema@._flake_guard_schemas(ticket, source || schemas);
            IF to_regnamespace(quote_ident(template)) IS DISTINCT FROM source THEN
                RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
                    MESSAGE = format('schema "%s" was changed meanwhile', template);
            END IF;
            PERFORM @extschema@._flake_lock_trees(ticket, '{}'::oid[], false, CASE WHEN were_free THEN '{}' ELSE keys END, named, began);
            SELECT l.* INTO seen FROM @extschema@._flake_template_locks(source) AS l;
            is_seen := seen.keys = keys AND seen.named = named AND seen.schemas = schemas;
            EXIT WHEN is_seen AND (were_free OR keys = '{}');
            RAISE SQLSTATE 'FL001';     -- undoes the locks
        EXCEPTION WHEN SQLSTATE 'FL001' THEN
            were_free := is_seen;
            keys := seen.keys;
            named := seen.named;
            schemas := seen.schemas;
        END;
    END LOOP;
    tables := seen.tables;
    sequences := seen.sequences;

    -- All that is known to be needed is locked.  A schema of the same name can have been
    -- made this moment.
\i bodies/brief_waits.pgsql

    PERFORM @extschema@._flake_check_template(ticket, template, source, tables, sequences);
    PERFORM @extschema@._flake_refuse_long(ticket, keys || named, too_long_hint);

    -- Defaults that name a table or sequence that is copied
    renamed := ARRAY(
        SELECT DISTINCT f.oid
        FROM pg_attrdef f
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attgenerated = ''
        JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables || sequences) AND d.refobjsubid = 0
        WHERE f.adrelid = ANY (tables));

    PERFORM @extschema@._flake_check_template_names(ticket, template, tables, sequences, renamed);

    -- Everything is made by its owner, as he would have to: what he has written
    -- into a check or an index may be executed when it is made.  Foreign keys may
    -- need privileges.  Owners lose some of theirs at the end.
    defaults := @extschema@._flake_copy_defaults(ticket, template, target, tables, sequences, renamed);
    SELECT * INTO mints FROM @extschema@._flake_copy_mints(ticket, shard, template, target, tables);
    SELECT * INTO privileges FROM @extschema@._flake_copy_privileges(ticket, source, target, tables, sequences);
    steps := privileges.on_schema
        || @extschema@._flake_copy_tables(ticket, template, target, tables, sequences)
        || privileges.on_relations
        || defaults || mints.defaults || mints.dropped_checks
        || @extschema@._flake_copy_properties(ticket, target, tables, sequences)
        || mints.checks;
    SELECT * INTO made FROM @extschema@._flake_copy_keys(ticket, template, target, tables);
    last_steps := made.outside
        || @extschema@._flake_copy_comments(ticket, source, target, tables, sequences)
        || privileges.by_default || privileges.revokes;

    -- The template's tables are only kept from changes that rewrite or drop something.
    SELECT l.* INTO seen FROM @extschema@._flake_template_locks(source) AS l;
    IF seen.keys <> keys OR seen.named <> named THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('schema "%s" was changed meanwhile', template);
    END IF;

    EXECUTE format('CREATE SCHEMA %I AUTHORIZATION %I', target,
                   (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE oid = source));
    target_oid := to_regnamespace(quote_ident(target));
    PERFORM @extschema@._flake_execute_steps(ticket, schemas || ARRAY[source, target_oid], named, '{}'::oid[], steps, false);
    -- Nobody else sees the copy.
    copied := named || ARRAY(SELECT oid FROM pg_class WHERE relnamespace = target_oid);
    PERFORM @extschema@._flake_execute_steps(ticket, schemas || ARRAY[source, target_oid], copied, '{}'::oid[], made.inside, false);
    -- From now on code is executed only of owners who may lock these tables themselves.
    PERFORM @extschema@._flake_lock_trees(ticket, '{}'::oid[], false, keys, '{}'::oid[], clock_timestamp());
    PERFORM @extschema@._flake_refuse_long(ticket, keys, too_long_hint);
    PERFORM @extschema@._flake_execute_steps(ticket, schemas || ARRAY[source, target_oid], copied, '{}'::oid[], last_steps, false);
    steps := @extschema@._flake_copy_statistics(ticket, source, target, target_oid, tables);
    PERFORM @extschema@._flake_execute_steps(ticket, schemas || ARRAY[source, target_oid], named, '{}'::oid[], steps, false);

    PERFORM @extschema@._flake_check_copy(ticket, template, source, target, target_oid, tables, sequences, mints.shard_checks, mints.other_checks);
    PERFORM set_config('lock_timeout', lock_timeout, true);
    RETURN target;
END
