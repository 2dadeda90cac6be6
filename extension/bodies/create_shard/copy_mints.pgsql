DECLARE
    minting pg_catalog.oid[] := ARRAY['@extschema@.flake_id(int)'::regprocedure, '@extschema@.flake_id()'::regprocedure,
                                      '@extschema@.flake_id(int, regclass)'::regprocedure];
    minted pg_catalog.record;
    mints pg_catalog.jsonb := '[]';
    tree pg_catalog.oid[];      -- a table and its partitions
    replaced pg_catalog.oid[];  -- checks
    relations pg_catalog.oid[] := '{}';        -- of columns that mint, with their trees
    attributes pg_catalog.name[] := '{}';
    layouts pg_catalog.text[] := '{}';
    used pg_catalog.text[];
    check_name pg_catalog.text;
    check_names pg_catalog.text[] := '{}';     -- table.constraint, of the topmost table
    written pg_catalog.record;
BEGIN
    other_checks := '{}';

    -- Columns that mint.  Such a default depends on the function, and on the
    -- generator if it names one.
    FOR minted IN
        SELECT c.oid AS relation, coalesce(pg_partition_root(c.oid)::oid, c.oid) AS root, c.relname, c.relowner, a.attname,
               pg_get_expr(f.adbin, f.adrelid) AS expression,
               g.oid::regclass::text AS generator,
               coalesce(@extschema@.flake_layout_of(g.oid::regclass), 'instagram') AS layout
        FROM pg_attrdef f
        JOIN pg_class c ON c.oid = f.adrelid
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
        LEFT JOIN (pg_depend s JOIN pg_class g ON g.oid = s.refobjid AND g.relkind = 'S')
          ON s.classid = 'pg_attrdef'::regclass AND s.objid = f.oid
         AND s.refclassid = 'pg_class'::regclass
        WHERE f.adrelid = ANY (tables)
          AND EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
                        AND d.refclassid = 'pg_proc'::regclass
                        AND d.refobjid = ANY (minting))
        ORDER BY c.oid, a.attnum
    LOOP
        -- flake_id(), flake_id(5) or flake_id(5, 'generator'), with the schema, whose name
        -- can have any characters if it is quoted
        IF minted.expression !~ '^(("([^"]|"")+"|[^("]+)\.)?flake_id\((\d+(, ''.*''::regclass)?)?\)$' THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot set the shard in the default of column "%s" of table "%s"',
                                 minted.attname, minted.relname),
                DETAIL = format('The default is %s.', minted.expression),
                HINT = 'Let it be a call of flake_id() with nothing but constants.';
        ELSIF shard NOT BETWEEN 0 AND (@extschema@.flake_layout_info(minted.layout)).shards - 1 THEN
            RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
                MESSAGE = format('shard %s is out of range', shard),
                DETAIL = format('Column "%s" of table "%s" has shards 0 to %s.', minted.attname, minted.relname,
                                (@extschema@.flake_layout_info(minted.layout)).shards - 1);
        END IF;
        defaults := defaults || ARRAY[[minted.relowner::text, format('%I.%I', target, minted.relname), NULL,
            format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET DEFAULT %s.flake_id(%s%s)',
                   target, minted.relname, minted.attname, '@extschema@', shard,
                   CASE WHEN minted.generator IS NOT NULL THEN format(', %L::regclass', minted.generator) END)]];

        mints := mints || to_jsonb(minted);
    END LOOP;

    -- A check of its shard on such a column is replaced, in the whole tree of
    -- partitions.  Partitions come first, whose checks their parents' take over.
    FOR minted IN
        SELECT m.root, m.attname, array_agg(m.relation) AS relations, bool_or(m.generator IS NOT NULL) AS is_named,
               min(m.layout) AS layout, count(DISTINCT m.layout) AS layouts
        FROM jsonb_to_recordset(mints) AS m (root oid, relation oid, attname name, generator text, layout text)
        GROUP BY m.root, m.attname ORDER BY m.root, m.attname
    LOOP
        IF minted.layouts > 1 THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot set the shard in the default of column "%s" of table %s', minted.attname, minted.root::regclass),
                DETAIL = 'Its partitions have ids of different layouts.',
                HINT = 'Let all defaults of the column name one generator.';
        END IF;
        tree := ARRAY(SELECT id FROM unnest(tables) AS id WHERE coalesce(pg_partition_root(id)::oid, id) = minted.root);
        replaced := ARRAY(
            SELECT k.oid
            FROM pg_constraint k
            JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attname = minted.attname
            CROSS JOIN LATERAL @extschema@._flake_checked_shards(k.conbin) AS e
            WHERE k.conrelid = ANY (tree) AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum] AND e.attribute = a.attnum
              AND coalesce(e.layout, 'instagram') OPERATOR(@extschema@.=) minted.layout::@extschema@.flake_layout);

        relations := relations || tree;
        attributes := attributes || array_fill(minted.attname, ARRAY[cardinality(tree)]);
        layouts := layouts || array_fill(minted.layout, ARRAY[cardinality(tree)]);

        -- In a schema of others, a flake_shard() of one argument might fit better.
        minted.is_named := minted.is_named OR EXISTS (
            SELECT FROM pg_class c
            WHERE c.oid = ANY (tree) AND @extschema@._flake_stranger(to_regnamespace('@extschema@')::oid, c.relowner) IS NOT NULL);

        -- The first name that is free, of 63 bytes at most.
        SELECT n.name INTO check_name
        FROM generate_series(0, cardinality(check_names) + (SELECT count(*) FROM pg_constraint k WHERE k.conrelid = ANY (tree))) AS i
        CROSS JOIN LATERAL (VALUES ('_shard' || CASE WHEN i > 0 THEN i::text ELSE '' END)) AS x (suffix)
        CROSS JOIN LATERAL (VALUES (substr((repeat('x', length(x.suffix)) || minted.attname)::name::text, length(x.suffix) + 1) || x.suffix)) AS n (name)
        WHERE format('%s.%s', minted.root, n.name) <> ALL (check_names)
          AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = ANY (tree) AND k.conname = n.name AND k.oid <> ALL (replaced))
        ORDER BY i LIMIT 1;
        check_names := check_names || format('%s.%s', minted.root, check_name);

        FOR written IN
            SELECT c.relname, c.relowner, a.atttypid, format('%I.%I', target, c.relname) AS copy,
                   ARRAY(SELECT k.conname FROM pg_constraint k WHERE k.conrelid = c.oid AND k.oid = ANY (replaced)) AS old_checks,
                   (SELECT d.description FROM pg_constraint k
                    JOIN pg_description d ON d.classoid = 'pg_constraint'::regclass AND d.objoid = k.oid AND d.objsubid = 0
                    WHERE k.conrelid = c.oid AND k.oid = ANY (replaced) ORDER BY k.oid LIMIT 1) AS description,
                   c.oid = ANY (minted.relations) AS mints
            FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = minted.attname
            WHERE c.oid = ANY (tree)
            ORDER BY (SELECT count(*) FROM pg_partition_ancestors(c.oid)) DESC, c.oid
        LOOP
            dropped_checks := dropped_checks || ARRAY(
                SELECT ARRAY[written.relowner::text, written.copy, NULL, format('ALTER TABLE ONLY %s DROP CONSTRAINT IF EXISTS %I', written.copy, name)]
                FROM unnest(written.old_checks) AS name);
            other_checks := other_checks || ARRAY(
                SELECT format('%I constraint %I', written.relname, name) FROM unnest(written.old_checks || check_name::name) AS name);
            CONTINUE WHEN NOT written.mints AND written.old_checks = '{}';
            shard_checks := shard_checks || format('%I.%I', written.relname, check_name);
            checks := checks || ARRAY[[written.relowner::text, written.copy, NULL,
                format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (%s.flake_shard(%I%s%s) = %s)',
                       written.copy, check_name, '@extschema@', minted.attname, CASE WHEN written.atttypid <> 'bigint'::regtype THEN '::bigint' END,
                       CASE WHEN minted.is_named THEN format(', %L::%s.flake_layout', minted.layout, '@extschema@') END, shard)]];
            IF written.description IS NOT NULL THEN
                checks := checks || ARRAY[[written.relowner::text, written.copy, NULL,
                    format('COMMENT ON CONSTRAINT %I ON %s IS %L', check_name, written.copy, written.description)]];
            END IF;
        END LOOP;
    END LOOP;
    IF checks IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_column',
            MESSAGE = format('schema "%s" has no column that defaults to flake_id()', template);
    END IF;
    used := ARRAY(SELECT c FROM @extschema@._flake_other_checks(relations, attributes, layouts::@extschema@.flake_layout[], tables) AS c);
    IF used <> '{}' THEN
        RAISE WARNING USING
            MESSAGE = 'checks that read the shard of an id stay as they are',
            DETAIL = format('The copy has them: %s%s.', array_to_string(used[1:10], ', '),
                            CASE WHEN cardinality(used) > 10 THEN format(', and %s more', cardinality(used) - 10) END),
            HINT = 'Change those that let only the template''s shard in, or new rows are errors.';
    END IF;
END
