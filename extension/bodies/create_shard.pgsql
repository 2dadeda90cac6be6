DECLARE
    source pg_catalog.oid := to_regnamespace(quote_ident(template));
    target pg_catalog.text := coalesce(schema::text, template || '_' || shard);
    target_oid pg_catalog.oid;
    tables pg_catalog.oid[];
    sequences pg_catalog.oid[];
    locked pg_catalog.oid[];
    renamed pg_catalog.oid[];   -- defaults that name a relation of the template
    named pg_catalog.oid[];     -- relations
    schemas pg_catalog.oid[];
    minting pg_catalog.oid[] := ARRAY['@extschema@.flake_id(int)'::regprocedure, '@extschema@.flake_id()'::regprocedure,
                           '@extschema@.flake_id(int, regclass)'::regprocedure];
    guests pg_catalog.text[];
    problem pg_catalog.record;
    minted pg_catalog.record;
    mints pg_catalog.jsonb := '[]';
    tree pg_catalog.oid[];      -- a table and its partitions
    replaced pg_catalog.oid[];  -- checks
    check_name pg_catalog.text;
    check_names pg_catalog.text[] := '{}';     -- table.constraint, of the topmost table
    shard_checks pg_catalog.text[]; -- table.constraint
    other_checks pg_catalog.text[] := '{}';    -- what _flake_traits() calls those that are not as in the template
    written pg_catalog.record;
    expression pg_catalog.text;
    -- rows for _flake_execute_steps(): who executes it, what it is about, its OID, statement
    defaults pg_catalog.text[];
    dropped_checks pg_catalog.text[];
    checks pg_catalog.text[];
    statements pg_catalog.text[];
    grants pg_catalog.text[];
    revokes pg_catalog.text[];  -- from owners, who need it until everything is made
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
    PERFORM @extschema@._flake_guard_schemas(ticket, ARRAY[source]);
    IF to_regnamespace(quote_ident(template)) IS DISTINCT FROM source THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('schema "%s" was changed meanwhile', template);
    END IF;

    -- The tables; and the sequences, but for generators.  When all are locked, they
    -- are still those.
    LOOP
        tables := ARRAY(
            SELECT c.oid FROM pg_class c
            WHERE c.relnamespace = source AND c.relkind IN ('r', 'p', 'f')
              AND NOT EXISTS (SELECT FROM pg_depend d
                              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
            ORDER BY c.oid);
        sequences := ARRAY(
            SELECT c.oid FROM pg_class c
            WHERE c.relnamespace = source AND c.relkind = 'S'
              AND NOT EXISTS (SELECT FROM pg_depend d
                              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
              AND NOT EXISTS (SELECT FROM pg_seclabel l
                              WHERE l.classoid = 'pg_class'::regclass AND l.objoid = c.oid AND l.provider = 'flakeid')
            ORDER BY c.oid);
        EXIT WHEN locked = tables || sequences;
        locked := tables || sequences;
        PERFORM @extschema@._flake_guard_relation(ticket, id, false) FROM unnest(locked) AS id;
    END LOOP;

    -- Nothing is copied by half.
    SELECT o.kind, o.name, r.reason, coalesce(r.hint, 'Move it out of the schema, or drop it there and create it in the copy by hand.') AS hint
    INTO problem
    FROM (SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' ELSE 'table' END,
                 c.relname, 'pg_class'::regclass::oid, c.oid, c.oid
          FROM pg_class c
          WHERE c.oid = ANY (tables || sequences)
             OR c.relnamespace = source AND c.relkind IN ('v', 'm')
                AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
          UNION ALL
          SELECT 'index', c.relname, 'pg_class'::regclass, c.oid, i.indrelid
          FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = ANY (tables)
          UNION ALL
          SELECT 'constraint', k.conname, 'pg_constraint'::regclass, k.oid, k.conrelid FROM pg_constraint k WHERE k.conrelid = ANY (tables)
          UNION ALL
          SELECT 'trigger', t.tgname, 'pg_trigger'::regclass, t.oid, t.tgrelid FROM pg_trigger t WHERE t.tgrelid = ANY (tables)
          UNION ALL
          SELECT 'statistics object', x.stxname, 'pg_statistic_ext'::regclass, x.oid, x.stxrelid
          FROM pg_statistic_ext x WHERE x.stxrelid = ANY (tables) OR x.stxnamespace = source
          UNION ALL
          SELECT 'schema', template, 'pg_namespace'::regclass, source, 0) AS o (kind, name, class, oid, relation)
    LEFT JOIN pg_class c ON o.class = 'pg_class'::regclass AND c.oid = o.oid
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    LEFT JOIN pg_constraint k ON o.class = 'pg_constraint'::regclass AND k.oid = o.oid
    LEFT JOIN pg_trigger t ON o.class = 'pg_trigger'::regclass AND t.oid = o.oid
    LEFT JOIN pg_statistic_ext x ON o.class = 'pg_statistic_ext'::regclass AND x.oid = o.oid
    CROSS JOIN LATERAL (
        SELECT * FROM (VALUES
            (c.relkind IN ('v', 'm'), 'Only tables and sequences are copied.', NULL),
            (c.relkind = 'f', 'It is a foreign table.', NULL),
            (c.relpersistence = 't', 'It is temporary.', NULL),
            (c.reloftype <> 0, 'It is a table of a composite type.', 'ALTER TABLE ... NOT OF makes it one of its own.'),
            (c.relrowsecurity OR c.relforcerowsecurity OR c.relkind <> 'v' AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid),
             'It has row-level security.', 'Set that up in the copy by hand.'),
            (c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid), 'It has rules.', 'Create them in the copy by hand.'),
            (c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.oid AND NOT (c.relispartition AND h.inhparent = ANY (tables))),
             'It inherits from another table, or is a partition of a table elsewhere.', NULL),
            (EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid AND h.inhrelid <> ALL (tables) AND c.relkind IN ('r', 'p')),
             'Another table, which is elsewhere, is a partition of it or inherits from it.', 'Move that table into the schema, too.'),
            (EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.oid AND h.inhdetachpending), 'It is being detached.', 'Use ALTER TABLE ... DETACH PARTITION ... FINALIZE.'),
            (c.oid = ANY (tables || sequences) AND NOT has_schema_privilege(c.relowner, source, 'USAGE') OR c.oid = ANY (tables) AND NOT has_table_privilege(c.relowner, c.oid, 'SELECT'),
             'Its owner may not read it.', 'Grant USAGE on the schema, and SELECT on the table, to the owner.'),
            (EXISTS (SELECT FROM pg_attribute a
                     JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = a.atttypid
                      AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = ANY (minting)
                     WHERE a.attrelid = c.oid AND NOT a.attisdropped),
             'A domain of a column has a default that mints.', 'Give the column that default, not the domain.'),
            (c.relkind = 'S' AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = o.class AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
                                           AND d.deptype = 'a' AND d.refobjid <> ALL (tables)),
             'It belongs to a column of another table, which is not copied.', 'ALTER SEQUENCE ... OWNED BY NONE makes it one of its own.'),
            (NOT i.indisvalid, 'It is invalid.', 'Use REINDEX, or drop it.'),
            -- A check that is not enforced is copied as such, since PostgreSQL 18.
            (k.contype IN ('c', 'n') AND NOT k.convalidated AND coalesce(to_jsonb(k) ->> 'conenforced', 'true') = 'true',
             'It is not valid.', 'Use ALTER TABLE ... VALIDATE CONSTRAINT.'),
            (t.tgisinternal AND t.tgenabled <> 'O', 'It belongs to a constraint, and was disabled or changed.',
             format('Use ALTER TABLE %s ENABLE TRIGGER ALL.', o.relation::regclass)),
            (x.oid IS NOT NULL AND (x.stxnamespace <> source OR x.stxrelid <> ALL (tables)
                                    OR x.stxowner <> (SELECT r.relowner FROM pg_class r WHERE r.oid = x.stxrelid)),
             'Its table has another schema or owner.', 'Change them with ALTER STATISTICS, or drop it.'),
            (EXISTS (SELECT FROM pg_depend d WHERE d.classid = o.class AND d.objid = o.oid AND d.deptype = 'x'), 'It depends on an extension.',
             'Use ALTER ... NO DEPENDS ON EXTENSION.'),
            (EXISTS (SELECT FROM pg_seclabel l WHERE l.classoid = o.class AND l.objoid = o.oid), 'It has a security label.',
             'Remove that with SECURITY LABEL ... IS NULL, and set it in the copy by hand.'),
            (EXISTS (SELECT FROM pg_publication_rel WHERE prrelid = o.oid AND o.class = 'pg_class'::regclass)
             OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnnspid = o.oid AND o.class = 'pg_namespace'::regclass),
             'It is in a publication.', 'Remove it from there, and publish the copies instead.')
        ) AS v (is_so, reason, hint)
        WHERE v.is_so) AS r
    ORDER BY o.class, o.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = CASE problem.kind WHEN 'schema' THEN format('cannot copy schema "%s"', template)
                      ELSE format('cannot copy %s "%s" of schema "%s"', problem.kind, problem.name, template) END,
            DETAIL = problem.reason, HINT = problem.hint;
    END IF;

    SELECT r.role INTO problem
    FROM (SELECT n.nspowner FROM pg_namespace n WHERE n.oid = source
          UNION ALL
          SELECT c.relowner FROM pg_class c WHERE c.oid = ANY (tables || sequences)
          UNION ALL
          SELECT d.defaclrole FROM pg_default_acl d WHERE d.defaclnamespace = source
          UNION ALL
          SELECT e.grantor
          FROM (SELECT nspacl FROM pg_namespace WHERE oid = source
                UNION ALL
                SELECT relacl FROM pg_class WHERE oid = ANY (tables || sequences)
                UNION ALL
                SELECT attacl FROM pg_attribute WHERE attrelid = ANY (tables)) AS l (acl), aclexplode(l.acl) AS e) AS r (role)
    WHERE NOT @extschema@._flake_trusts(r.role, to_regrole(quote_ident(current_user))::oid)
    ORDER BY r.role LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('must be able to SET ROLE "%s"', pg_get_userbyid(problem.role)),
            DETAIL = format('Something in schema "%s" belongs to this role, or was granted by it.', template);
    END IF;

    -- What one role has written is not executed as another that does not trust it.
    SELECT c.relname, p.relname AS parent, c.relowner, p.relowner AS role INTO problem
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.oid = ANY (tables) AND NOT @extschema@._flake_trusts(p.relowner, c.relowner)
    ORDER BY c.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot copy table "%s" of schema "%s"', problem.relname, template),
            DETAIL = format('PostgreSQL would evaluate checks of role "%s" when role "%s" makes it a partition of "%s".',
                            pg_get_userbyid(problem.relowner), pg_get_userbyid(problem.role), problem.parent),
            HINT = 'Give both tables the same owner.';
    END IF;
    SELECT c.relname, k.confrelid, f.code, c.relowner INTO problem
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid
    CROSS JOIN LATERAL (SELECT @extschema@._flake_foreign_code(k.confrelid, c.relowner)
                        WHERE EXISTS (SELECT FROM pg_class r
                                      WHERE r.oid IN (SELECT k.confrelid UNION SELECT relid FROM pg_partition_tree(k.confrelid) UNION SELECT relid FROM pg_partition_ancestors(k.confrelid))
                                        AND NOT @extschema@._flake_trusts(c.relowner, r.relowner))) AS f (code)
    WHERE c.oid = ANY (tables) AND k.contype = 'f' AND k.conparentid = 0 AND f.code IS NOT NULL
    ORDER BY k.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make a foreign key of table "%s" of schema "%s" to table %s', problem.relname, template, problem.confrelid::regclass),
            DETAIL = format('PostgreSQL would evaluate %s as role "%s".', problem.code, pg_get_userbyid(problem.relowner)),
            HINT = 'Give both tables the same owner, or drop what would be evaluated.';
    END IF;

    -- What is named
    SELECT array_agg(DISTINCT d.refobjid) FILTER (WHERE d.refclassid = 'pg_class'::regclass),
           array_agg(DISTINCT to_regnamespace((pg_identify_object(d.refclassid, d.refobjid, 0)).schema)::oid)
    INTO named, schemas
    FROM (SELECT 'pg_class'::regclass, unnest(tables)
          UNION ALL
          SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = ANY (tables)
          UNION ALL
          SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid = ANY (tables)
          UNION ALL
          SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = ANY (tables)
          UNION ALL
          SELECT 'pg_trigger'::regclass, oid FROM pg_trigger WHERE tgrelid = ANY (tables)) AS w (class, id)
    JOIN pg_depend d ON d.classid = w.class AND d.objid = w.id;
    schemas := array_remove(array_remove(array_remove(schemas, NULL), source), 'pg_catalog'::regnamespace::oid);
    PERFORM @extschema@._flake_guard_schemas(ticket, schemas);

    -- Defaults that name a table or sequence that is copied
    renamed := ARRAY(
        SELECT DISTINCT f.oid
        FROM pg_attrdef f
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attgenerated = ''
        JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables || sequences) AND d.refobjsubid = 0
        WHERE f.adrelid = ANY (tables));

    -- The rest has to mean the same in the copy, where it would have to mean another.
    SELECT o.name AS relname, pg_describe_object(w.class, w.id, 0) AS part, r.name AS relation INTO problem
    FROM (SELECT 'pg_attrdef'::regclass::oid, f.oid, f.adrelid, 0::oid FROM pg_attrdef f WHERE f.adrelid = ANY (tables) AND f.oid <> ALL (renamed)
          UNION ALL
          SELECT 'pg_constraint'::regclass, k.oid, k.conrelid, 0 FROM pg_constraint k WHERE k.conrelid = ANY (tables) AND k.contype = 'c'
          UNION ALL
          SELECT 'pg_class'::regclass, i.indexrelid, i.indrelid, 0 FROM pg_index i WHERE i.indrelid = ANY (tables)
          UNION ALL
          SELECT 'pg_trigger'::regclass, t.oid, t.tgrelid, t.tgconstrrelid FROM pg_trigger t WHERE t.tgrelid = ANY (tables) AND NOT t.tgisinternal
          UNION ALL
          SELECT 'pg_class'::regclass, p.partrelid, p.partrelid, 0 FROM pg_partitioned_table p WHERE p.partrelid = ANY (tables) AND p.partexprs IS NOT NULL
          UNION ALL
          SELECT 'pg_statistic_ext'::regclass, x.oid, x.stxrelid, 0 FROM pg_statistic_ext x WHERE x.stxrelid = ANY (tables)) AS w (class, id, relation, other)
    JOIN pg_depend d ON d.classid = w.class AND d.objid = w.id AND d.deptype = 'n' AND d.refclassid = 'pg_class'::regclass
     AND d.refobjid = ANY (tables || sequences) AND d.refobjid NOT IN (w.relation, w.other)
    CROSS JOIN LATERAL (SELECT relname FROM pg_class WHERE oid = w.relation) AS o (name)
    CROSS JOIN LATERAL (SELECT relname FROM pg_class WHERE oid = d.refobjid) AS r (name)
    ORDER BY w.class, w.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot copy table "%s" of schema "%s"', problem.relname, template),
            DETAIL = format('The %s names relation "%s", and its copy would still name that of the template.', problem.part, problem.relation),
            HINT = 'Only defaults and foreign keys come to name a copy. Make the rest by hand in the copy.';
    END IF;

    -- Who might make text mean something else?  A trigger's own function has no
    -- arguments, by which another could fit better.
    SELECT c.relname, w.kind, pg_describe_object(d.refclassid, d.refobjid, 0) AS object, u.stranger
    INTO problem
    FROM (SELECT 'A default', 'pg_attrdef'::regclass, f.oid, f.adrelid, 0::oid
          FROM pg_attrdef f WHERE f.oid = ANY (renamed)
          UNION ALL
          SELECT 'The partition key', 'pg_class'::regclass, p.partrelid, p.partrelid, 0
          FROM pg_partitioned_table p WHERE p.partrelid = ANY (tables) AND p.partexprs IS NOT NULL
          UNION ALL
          SELECT 'The condition of a trigger', 'pg_trigger'::regclass, t.oid, t.tgrelid, t.tgfoid
          FROM pg_trigger t WHERE t.tgrelid = ANY (tables) AND t.tgqual IS NOT NULL AND NOT t.tgisinternal) AS w (kind, class, id, relation, other)
    JOIN pg_class c ON c.oid = w.relation
    JOIN pg_depend d ON d.classid = w.class AND d.objid = w.id AND d.objsubid = 0
     AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass) AND d.refobjid <> w.other
    CROSS JOIN LATERAL @extschema@._flake_usurper(d.refclassid, d.refobjid, c.relowner) AS u (stranger)
    WHERE u.stranger IS NOT NULL
    ORDER BY c.oid, w.kind, object LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot copy table "%s" of schema "%s"', problem.relname, template),
            DETAIL = format('%s names %s, and role "%s" could put another in its place.',
                            problem.kind, problem.object, problem.stranger),
            HINT = 'Copy the table by hand, or revoke CREATE on the schema of what is named from others than the table''s owner, and drop what they have made there under that name.';
    END IF;

    -- They name their copies instead.
    FOR written IN
        SELECT f.oid, c.relname, c.relowner, a.attname, pg_get_expr(f.adbin, f.adrelid) AS expression,
               array_agg(DISTINCT r.relname) AS originals
        FROM pg_attrdef f
        JOIN pg_class c ON c.oid = f.adrelid
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
        JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables || sequences) AND d.refobjsubid = 0
        JOIN pg_class r ON r.oid = d.refobjid
        WHERE f.oid = ANY (renamed)
        GROUP BY f.oid, f.adbin, f.adrelid, c.oid, c.relname, c.relowner, a.attname, a.attnum
        ORDER BY c.oid, a.attnum
    LOOP
        FOR i IN 1 .. cardinality(written.originals) LOOP
            expression := replace(written.expression,
                                  format('''%s''::regclass', replace(format('%I.%I', template, written.originals[i]), '''', '''''')),
                                  format('''%s''::regclass', replace(format('%I.%I', target, written.originals[i]), '''', '''''')));
            IF expression = written.expression THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('cannot copy table "%s" of schema "%s"', written.relname, template),
                    DETAIL = format('The default of column "%s" is %s.', written.attname, expression),
                    HINT = 'Let it be a call of nextval() with the name of the sequence.';
            END IF;
            written.expression := expression;
        END LOOP;
        defaults := defaults || ARRAY[[written.relowner::text, format('%I.%I', target, written.relname), NULL,
            format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET DEFAULT %s', target, written.relname, written.attname, expression)]];
    END LOOP;

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
        -- flake_id(), flake_id(5) or flake_id(5, 'generator')
        IF minted.expression !~ '^[^(]*flake_id\((\d+(, ''.*''::regclass)?)?\)$' THEN
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
            format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET DEFAULT @extschema@.flake_id(%s%s)',
                   target, minted.relname, minted.attname, shard,
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
            CROSS JOIN LATERAL (VALUES (format('CHECK ((@extschema@.flake_shard(%I', a.attname)),
                                       (format('CHECK ((@extschema@.flake_shard((%I)::bigint', a.attname))) AS begins (text)
            WHERE k.conrelid = ANY (tree) AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]
              AND starts_with(pg_get_constraintdef(k.oid), begins.text)
              AND substr(pg_get_constraintdef(k.oid), length(begins.text) + 1) ~ '^(, ''[^'']*''::.*flake_layout)?\) = \d+\)\)');

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
                format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (@extschema@.flake_shard(%I%s%s) = %s)',
                       written.copy, check_name, minted.attname, CASE WHEN written.atttypid <> 'bigint'::regtype THEN '::bigint' END,
                       CASE WHEN minted.is_named THEN format(', %L::@extschema@.flake_layout', minted.layout) END, shard)]];
        END LOOP;
    END LOOP;
    IF checks IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_column',
            MESSAGE = format('schema "%s" has no column that defaults to flake_id()', template);
    END IF;

    -- Everything is made by its owner, as he would have to: what he has written
    -- into a check or an index may be executed when it is made.  An owner that may
    -- not create anything in the schema may, for as long as this takes.
    --
    -- What owners grant by default (ALTER DEFAULT PRIVILEGES) may be more than the
    -- template's privileges, or less.
    FOR written IN
        WITH object AS (
            SELECT NULL AS relation, format('SCHEMA %I', target) AS name, NULL::name AS attname, 'n'::"char" AS type, n.nspacl AS acl, n.nspowner AS owner
            FROM pg_namespace n WHERE n.oid = source
            UNION ALL
            SELECT r.relation, k.kind || r.relation, a.attname, k.type, a.acl, c.relowner
            FROM pg_class c
            CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
            CROSS JOIN LATERAL (SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END,
                                       CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END) AS k (kind, type)
            CROSS JOIN LATERAL (SELECT NULL::name, c.relacl
                                UNION ALL
                                SELECT attname, attacl FROM pg_attribute
                                WHERE attrelid = c.oid AND attacl IS NOT NULL AND NOT attisdropped) AS a (attname, acl)
            WHERE c.oid = ANY (tables || sequences)
        ), list AS (
            SELECT o.*, d.defaclacl, acldefault(o.type, o.owner) AS all_rights
            FROM object o
            LEFT JOIN pg_default_acl d ON o.attname IS NULL AND d.defaclrole = o.owner AND d.defaclnamespace = 0
             AND d.defaclobjtype = CASE o.type WHEN 's' THEN 'S' ELSE o.type END
        ), command AS (
            SELECT DISTINCT 1 AS stage, 0::bigint AS place, l.name, l.relation, l.owner, l.owner AS role, e.grantee, 'REVOKE ALL ON %1$s FROM %3$s' AS command,
                   NULL AS rights
            FROM list l, aclexplode(l.defaclacl) AS e WHERE e.grantee <> l.owner
            UNION ALL
            SELECT 2, min(e.place), l.name, l.relation, l.owner, e.grantor, e.grantee,
                   'GRANT %2$s ON %1$s TO %3$s' || CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
                   || CASE WHEN e.grantor <> l.owner THEN ' GRANTED BY ' || quote_ident(pg_get_userbyid(e.grantor)) ELSE '' END,
                   string_agg(e.privilege_type || coalesce(' (' || quote_ident(l.attname) || ')', ''), ', ')
            FROM list l, aclexplode(CASE WHEN l.defaclacl IS NULL THEN l.acl ELSE coalesce(l.acl, l.all_rights) END)
                         WITH ORDINALITY AS e (grantor, grantee, privilege_type, is_grantable, place)
            WHERE e.grantee <> l.owner OR l.defaclacl IS NOT NULL
            GROUP BY l.name, l.relation, l.owner, e.grantor, e.grantee, e.is_grantable, l.attname
            UNION ALL
            SELECT 3, 0, l.name, l.relation, l.owner, l.owner, l.owner, 'REVOKE %2$s ON %1$s FROM %3$s', string_agg(e.privilege_type, ', ')
            FROM list l, aclexplode(l.all_rights) AS e
            WHERE e.grantee = l.owner AND l.acl IS NOT NULL AND l.attname IS NULL
              AND NOT EXISTS (SELECT FROM aclexplode(l.acl) AS h WHERE h.grantee = l.owner AND h.privilege_type = e.privilege_type)
            GROUP BY l.name, l.relation, l.owner
        )
        SELECT stage, relation IS NULL AS is_schema,
               ARRAY[role::text, CASE WHEN role = owner THEN relation END, NULL,
                     format(command, name, rights, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)] AS step
        FROM command ORDER BY stage, name, place
    LOOP
        IF written.stage = 3 THEN
            revokes := revokes || ARRAY[written.step];
        ELSIF written.is_schema THEN
            statements := statements || ARRAY[written.step];
        ELSE
            grants := grants || ARRAY[written.step];
        END IF;
    END LOOP;
    guests := ARRAY(
        SELECT DISTINCT quote_ident(pg_get_userbyid(c.relowner))
        FROM pg_class c, pg_namespace n
        WHERE c.oid = ANY (tables || sequences) AND n.oid = source
          AND NOT has_schema_privilege(c.relowner, n.oid, 'CREATE'));
    statements := statements || ARRAY(
        SELECT ARRAY[n.nspowner::text, NULL, NULL, format('GRANT CREATE ON SCHEMA %I TO %s', target, guest)]
        FROM pg_namespace n, unnest(guests) AS guest WHERE n.oid = source);

    -- Sequences; tables; then sequences of identity columns, to which LIKE would give
    -- other names.
    statements := statements || ARRAY(
        WITH sequence AS (
            SELECT c.oid, c.relowner::text AS owner, c.relpersistence, d.refobjid, d.refobjsubid, format('%I.%I', target, c.relname) AS name,
                   format('INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s%s', q.seqincrement, q.seqmin, q.seqmax, q.seqstart,
                          q.seqcache, CASE WHEN q.seqcycle THEN ' CYCLE' END) AS options, q.seqtypid
            FROM pg_sequence q
            JOIN pg_class c ON c.oid = q.seqrelid
            LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
            WHERE c.oid = ANY (sequences)
        )
        SELECT step
        FROM (SELECT 1, oid, ARRAY[owner, name, 'new',
                                   format('CREATE %sSEQUENCE %s AS %s %s', CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' END,
                                          name, seqtypid::regtype, options)]
              FROM sequence WHERE refobjid IS NULL
              UNION ALL
              SELECT 2, c.oid, ARRAY[c.relowner::text, format('%I.%I', target, c.relname), 'new',
                   format('CREATE %sTABLE %I.%I (LIKE %I.%3$I INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY)',
                          CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, target, c.relname, template)
                   || CASE c.relkind WHEN 'p' THEN ' PARTITION BY ' || pg_get_partkeydef(c.oid) ELSE '' END
                   || coalesce(' USING ' || quote_ident((SELECT amname FROM pg_am a WHERE a.oid = c.relam)), '')
                   || coalesce((SELECT ' WITH (' || string_agg(format('%s%I = %L', namespace, option_name, option_value), ', ') || ')'
                                FROM (SELECT '', * FROM pg_options_to_table(c.reloptions)
                                      UNION ALL
                                      SELECT 'toast.', o.* FROM pg_class t, pg_options_to_table(t.reloptions) AS o
                                      WHERE t.oid = c.reltoastrelid) AS o (namespace, option_name, option_value)), '')
                   || coalesce(' TABLESPACE ' || quote_ident((SELECT spcname FROM pg_tablespace s
                                                              WHERE s.oid = c.reltablespace)), '')]
              FROM pg_class c WHERE c.oid = ANY (tables)
              UNION ALL
              SELECT 3, s.oid, ARRAY[s.owner, format('%I.%I', target, c.relname), NULL,
                                     format('ALTER TABLE %I.%I ALTER COLUMN %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s)', target, c.relname,
                                            a.attname, CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, s.name, s.options)]
              FROM sequence s
              JOIN pg_class c ON c.oid = s.refobjid
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.refobjsubid
              UNION ALL     -- ADD GENERATED forgets about it.
              SELECT 4, oid, ARRAY[owner, name, NULL, format('ALTER SEQUENCE %s SET UNLOGGED', name)]
              FROM sequence WHERE refobjid IS NOT NULL AND relpersistence = 'u') AS s (stage, oid, step)
        ORDER BY stage, oid);

    -- Privileges, which foreign keys may need
    statements := statements || grants;

    statements := statements || defaults || dropped_checks;

    -- Sequences that belong to a column
    statements := statements || ARRAY(
        SELECT ARRAY[q.relowner::text, format('%I.%I', target, q.relname), NULL,
                     format('ALTER SEQUENCE %I.%I OWNED BY %1$I.%3$I.%4$I', target, q.relname, c.relname, a.attname)]
        FROM pg_depend d
        JOIN pg_class q ON q.oid = d.objid
        JOIN pg_class c ON c.oid = d.refobjid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.objid = ANY (sequences)
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables) AND d.deptype = 'a'
        ORDER BY q.oid);

    -- Keys, then other indexes, under their names
    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('SELECT @extschema@._flake_copy_index(%L::oid, %L::regclass)', i.indexrelid, format('%I.%I', target, c.relname))]
        FROM pg_index i
        JOIN pg_class c ON c.oid = i.indrelid
        LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')
        WHERE c.oid = ANY (tables)
        ORDER BY k.oid, i.indexrelid);
    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE ONLY %I.%I REPLICA IDENTITY %s', target, c.relname,
                            CASE c.relreplident WHEN 'n' THEN 'NOTHING' WHEN 'f' THEN 'FULL'
                            ELSE format('USING INDEX %I', (SELECT x.relname FROM pg_index i
                                                           JOIN pg_class x ON x.oid = i.indexrelid
                                                           WHERE i.indrelid = c.oid AND i.indisreplident)) END)]
        FROM pg_class c WHERE c.oid = ANY (tables) AND c.relreplident <> 'd' ORDER BY c.oid);

    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE %I.%I CLUSTER ON %I', target, c.relname, x.relname)]
        FROM pg_index i
        JOIN pg_class c ON c.oid = i.indrelid
        JOIN pg_class x ON x.oid = i.indexrelid
        WHERE c.oid = ANY (tables) AND i.indisclustered ORDER BY c.oid);

    -- What is set for the planner, of columns and of expressions in indexes
    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     CASE WHEN i.indexrelid IS NULL THEN format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET %s', target, c.relname, a.attname, v.setting)
                     ELSE format('ALTER INDEX %I.%I ALTER COLUMN %s SET %s', target, c.relname, a.attnum, v.setting) END]
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_index i ON i.indexrelid = c.oid
        CROSS JOIN LATERAL (
            SELECT 'STATISTICS ' || a.attstattarget WHERE a.attstattarget >= 0
            UNION ALL
            SELECT '(' || string_agg(format('%I = %L', option_name, option_value), ', ') || ')'
            FROM pg_options_to_table(a.attoptions) WHERE i.indexrelid IS NULL AND option_name <> 'pg_attver' HAVING count(*) > 0) AS v (setting)
        WHERE c.oid = ANY (tables) OR i.indrelid = ANY (tables)
        ORDER BY c.oid, a.attnum);

    -- Partitions, which take over what they have in common with their parents
    statements := statements || ARRAY(
        SELECT ARRAY[p.relowner::text, format('%I.%I', target, p.relname), NULL,
                     format('ALTER TABLE %I.%I ATTACH PARTITION %1$I.%3$I %4$s',
                            target, p.relname, c.relname, pg_get_expr(c.relpartbound, c.oid))]
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        JOIN pg_class p ON p.oid = i.inhparent
        WHERE c.oid = ANY (tables)
        ORDER BY c.oid) || checks;

    -- Foreign keys, triggers
    FOR written IN
        SELECT 1 AS kind, k.oid, k.conname AS name, c.relname, c.relowner,
               format('ALTER TABLE %I.%I ADD CONSTRAINT %I ', target, c.relname, k.conname) AS prefix,
               pg_get_constraintdef(k.oid) AS definition,
               CASE WHEN r.oid IS NOT NULL THEN format(') REFERENCES %I.%I(', template, r.relname) END AS original,
               CASE WHEN r.oid IS NOT NULL THEN format(') REFERENCES %I.%I(', target, r.relname) END AS copy,
               CASE WHEN r.oid IS NOT NULL THEN format('%I.%I', target, r.relname) ELSE k.confrelid::regclass::text END AS referenced
        FROM pg_constraint k
        JOIN pg_class c ON c.oid = k.conrelid
        LEFT JOIN pg_class r ON r.oid = k.confrelid AND r.oid = ANY (tables)
        WHERE c.oid = ANY (tables) AND k.contype = 'f' AND k.conparentid = 0
        UNION ALL
        SELECT 2, t.oid, t.tgname, c.relname, c.relowner, '',
               pg_get_triggerdef(t.oid),
               format(' ON %I.%I ', template, c.relname) || CASE WHEN r.oid IS NOT NULL THEN format('FROM %I.%I ', template, r.relname) ELSE '' END,
               format(' ON %I.%I ', target, c.relname) || CASE WHEN r.oid IS NOT NULL THEN format('FROM %I.%I ', target, r.relname) ELSE '' END, NULL
        FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid
        LEFT JOIN pg_class r ON r.oid = t.tgconstrrelid AND r.oid = ANY (tables)
        WHERE c.oid = ANY (tables) AND NOT t.tgisinternal AND t.tgparentid = 0
        ORDER BY 1, 2
    LOOP
        IF written.original IS NOT NULL AND cardinality(string_to_array(written.definition, written.original)) <> 2 THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot copy table "%s" of schema "%s"', written.relname, template),
                DETAIL = format('There is "%s" in %s.', written.original, written.definition),
                HINT = 'Give what has such a name another one.';
        END IF;
        IF written.referenced IS NOT NULL THEN
            statements := statements || ARRAY[[written.relowner::text, written.referenced, NULL, NULL]];
        END IF;
        statements := statements || ARRAY[[written.relowner::text, format('%I.%I', target, written.relname), NULL,
            written.prefix || CASE WHEN written.original IS NULL THEN written.definition
                                   ELSE replace(written.definition, written.original, written.copy) END]];
    END LOOP;
    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE ONLY %I.%I %s TRIGGER %I', target, c.relname,
                            CASE t.tgenabled WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'DISABLE' END,
                            t.tgname)]
        FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.oid = ANY (tables) AND NOT t.tgisinternal AND t.tgenabled <> 'O'
        ORDER BY t.oid);

    -- Comments, but for those that LIKE has copied
    statements := statements || ARRAY(
        SELECT ARRAY[o.owner::text, o.relation, NULL, format('COMMENT ON %s IS %L', o.name, d.description)]
        FROM (SELECT 'pg_namespace'::regclass::oid, n.oid, n.nspowner, NULL, format('SCHEMA %I', target) FROM pg_namespace n WHERE n.oid = source
              UNION ALL
              SELECT 'pg_class'::regclass, c.oid, c.relowner, r.relation,
                     CASE WHEN c.relkind = 'S' THEN 'SEQUENCE ' WHEN i.indexrelid IS NOT NULL THEN 'INDEX ' ELSE 'TABLE ' END || r.relation
              FROM pg_class c
              LEFT JOIN pg_index i ON i.indexrelid = c.oid
              CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
              WHERE c.oid = ANY (tables || sequences) OR i.indrelid = ANY (tables)
              UNION ALL
              SELECT p.class, p.oid, c.relowner, r.relation, format('%s %I ON %s', p.kind, p.name, r.relation)
              FROM pg_class c
              CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
              CROSS JOIN LATERAL (
                  SELECT 'pg_constraint'::regclass::oid, k.oid, 'CONSTRAINT', k.conname
                  FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'c' AND NOT (k.contype = 'f' AND k.conparentid <> 0)
                  UNION ALL
                  SELECT 'pg_trigger'::regclass, t.oid, 'TRIGGER', t.tgname
                  FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS p (class, oid, kind, name)
              WHERE c.oid = ANY (tables)) AS o (class, oid, owner, relation, name)
        JOIN pg_description d ON d.classoid = o.class AND d.objoid = o.oid AND d.objsubid = 0
        ORDER BY o.class, o.oid);

    statements := statements || ARRAY(
        SELECT ARRAY[d.defaclrole::text, NULL, NULL,
                     format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT %s ON %s TO %s%s', pg_get_userbyid(d.defaclrole), target,
                            string_agg(e.privilege_type, ', '),
                            CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS' ELSE 'TYPES' END,
                            CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END,
                            CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' END)]
        FROM pg_default_acl d, aclexplode(d.defaclacl) AS e
        WHERE d.defaclnamespace = source
        GROUP BY d.oid, d.defaclrole, d.defaclobjtype, e.grantee, e.is_grantable);
    statements := statements || revokes;

    statements := statements || ARRAY(
        SELECT ARRAY[n.nspowner::text, NULL, NULL, format('REVOKE CREATE ON SCHEMA %I FROM %s', target, guest)]
        FROM pg_namespace n, unnest(guests) AS guest WHERE n.oid = source);

    EXECUTE format('CREATE SCHEMA %I AUTHORIZATION %I', target,
                   (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE oid = source));
    target_oid := to_regnamespace(quote_ident(target));
    PERFORM @extschema@._flake_execute_steps(ticket, schemas || ARRAY[source, target_oid], named || tables || sequences, '{}'::oid[], statements, false);

    -- LIKE has given names to statistics objects.  They are made in the order of
    -- the originals, and two may have each other's.
    SELECT array_agg(ARRAY[role, NULL, NULL, command] ORDER BY stage, id) INTO statements
    FROM (WITH numbered AS (
              SELECT x.*, c.relname, c.relowner, row_number() OVER (PARTITION BY x.stxrelid ORDER BY x.oid) AS number
              FROM pg_statistic_ext x JOIN pg_class c ON c.oid = x.stxrelid
              WHERE x.stxrelid = ANY (tables) OR c.relnamespace = target_oid
          ), pair AS (
              SELECT n.oid AS id, n.relowner::text AS role, o.stxname AS name, o.stxstattarget AS aim, n.stxname AS given,
                     n.oid || '_of_' || target_oid AS interim
              FROM numbered o JOIN numbered n USING (relname, number) WHERE o.stxnamespace = source AND n.stxnamespace = target_oid
          )
          SELECT 1, id, role, format('ALTER STATISTICS %I.%I RENAME TO %I', target, given, interim) FROM pair WHERE given <> name
          UNION ALL
          SELECT 2, id, role, format('ALTER STATISTICS %I.%I RENAME TO %I', target, interim, name) FROM pair WHERE given <> name
          UNION ALL
          SELECT 3, id, role, format('ALTER STATISTICS %I.%I SET STATISTICS %s', target, name, aim) FROM pair WHERE aim >= 0) AS s (stage, id, role, command);
    PERFORM @extschema@._flake_execute_steps(ticket, schemas || ARRAY[source, target_oid], named || tables || sequences, '{}'::oid[],
                                            coalesce(statements, '{}'), false);

    -- Whatever was executed, the copy is there, is bound to what the template is
    -- bound to, and lets nobody do more.
    WITH copied AS (
        SELECT o.oid AS original, n.oid AS copy, o.relname, o.relowner
        FROM pg_class o
        LEFT JOIN pg_class n ON n.relnamespace = target_oid AND n.relname = o.relname
         AND n.relkind = o.relkind AND n.relowner = o.relowner
        WHERE o.oid = ANY (tables || sequences || ARRAY(SELECT indexrelid FROM pg_index WHERE indrelid = ANY (tables)))
    ), part AS (
        SELECT c.original AS relation, s.is_copy, p.*
        FROM copied c
        CROSS JOIN LATERAL (VALUES (false, c.original), (true, c.copy)) AS s (is_copy, id)
        CROSS JOIN LATERAL (
            SELECT 'pg_attrdef'::regclass, a.attname, f.oid
            FROM pg_attribute a JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
            WHERE a.attrelid = s.id
            UNION ALL
            SELECT 'pg_constraint'::regclass, k.conname, k.oid
            FROM pg_constraint k
            WHERE k.conrelid = s.id AND k.coninhcount = 0 AND k.contype IN ('c', 'f', 'p', 'u', 'x')
              AND format('%I.%I', c.relname, k.conname) <> ALL (shard_checks)
            UNION ALL
            SELECT 'pg_trigger'::regclass, t.tgname, t.oid
            FROM pg_trigger t
            WHERE t.tgrelid = s.id AND NOT t.tgisinternal AND t.tgparentid = 0) AS p (class, name, id)
    ), pair AS (
        SELECT 'pg_class'::regclass AS class, original, copy FROM copied
        UNION ALL
        SELECT class, o.id, n.id
        FROM (SELECT * FROM part WHERE NOT is_copy) AS o
        FULL JOIN (SELECT * FROM part WHERE is_copy) AS n USING (relation, class, name)
        WHERE n.id IS NOT NULL OR NOT EXISTS (SELECT FROM pg_constraint WHERE class = 'pg_constraint'::regclass AND oid = o.id AND contype = 'c')
    ), need AS (
        SELECT p.class, p.original, s.is_copy, d.refclassid,
               CASE WHEN d.refobjid = ANY (minting) THEN minting[1] ELSE coalesce(c.copy, d.refobjid) END AS refobjid,
               (SELECT attname FROM pg_attribute WHERE attrelid = d.refobjid AND attnum = d.refobjsubid AND d.refobjsubid <> 0
                AND d.refclassid = 'pg_class'::regclass) AS attname
        FROM pair p
        CROSS JOIN LATERAL (VALUES (false, p.original), (true, p.copy)) AS s (is_copy, id)
        JOIN pg_depend d ON d.classid = p.class AND d.objid = s.id AND d.deptype NOT IN ('P', 'S')
         AND d.refclassid NOT IN ('pg_namespace'::regclass, 'pg_constraint'::regclass, 'pg_extension'::regclass)
        LEFT JOIN copied c ON NOT s.is_copy AND d.refclassid = 'pg_class'::regclass AND c.original = d.refobjid
    ), difference AS (
        SELECT class, coalesce(original, copy) AS id FROM pair WHERE original IS NULL OR copy IS NULL
        UNION ALL
        (SELECT class, original FROM (SELECT class, original, refclassid, refobjid, attname FROM need WHERE NOT is_copy
                                      EXCEPT SELECT class, original, refclassid, refobjid, attname FROM need WHERE is_copy) AS n)
        UNION ALL
        (SELECT class, original FROM (SELECT class, original, refclassid, refobjid, attname FROM need WHERE is_copy
                                      EXCEPT SELECT class, original, refclassid, refobjid, attname FROM need WHERE NOT is_copy) AS n)
        UNION ALL
        SELECT 'pg_class'::regclass, c.original
        FROM unnest(shard_checks) AS name
        JOIN copied c ON starts_with(name, quote_ident(c.relname) || '.')
        LEFT JOIN pg_constraint k ON k.conrelid = c.copy AND k.contype = 'c' AND format('%I.%I', c.relname, k.conname) = name
        WHERE k.oid IS NULL
           OR ARRAY['@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure::oid] IS DISTINCT FROM (
                SELECT array_agg(DISTINCT d.refobjid) FROM pg_depend d
                WHERE d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
                  AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))
    )
    SELECT i.type, i.identity INTO problem FROM difference d, pg_identify_object(d.class, d.id, 0) AS i LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('%s %s was changed meanwhile', problem.type, problem.identity),
            DETAIL = 'Its copy would depend on other objects.',
            HINT = 'If nothing was changed, its definition has no text that means the same. Copy it by hand.';
    END IF;

    -- Owners could create objects in the schema for as long as it took.
    SELECT i.type, i.identity INTO problem
    FROM pg_depend d, pg_identify_object(d.classid, d.objid, 0) AS i
    WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = target_oid
      AND CASE d.classid
          WHEN 'pg_class'::regclass THEN NOT EXISTS (SELECT FROM pg_class o JOIN pg_class n ON n.oid = d.objid
                                                     WHERE o.relnamespace = source AND o.relname = n.relname)
          WHEN 'pg_statistic_ext'::regclass THEN NOT EXISTS (SELECT FROM pg_statistic_ext x JOIN pg_class c ON c.oid = x.stxrelid
                                                             WHERE x.oid = d.objid AND c.relnamespace = target_oid)
          WHEN 'pg_default_acl'::regclass THEN false
          ELSE true END
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('%s %s was created meanwhile', problem.type, problem.identity),
            DETAIL = format('Something that was executed, such as a function in a check or an index, has put it into schema "%s".', target);
    END IF;

    WITH original AS (SELECT * FROM @extschema@._flake_traits(source)),
         copy AS (SELECT * FROM @extschema@._flake_traits(target_oid))
    SELECT d.object, d.trait INTO problem
    FROM ((SELECT * FROM original EXCEPT ALL SELECT * FROM copy)
          UNION ALL
          (SELECT * FROM copy EXCEPT ALL SELECT * FROM original)) AS d
    WHERE d.object <> ALL (other_checks)
    ORDER BY d.object, d.trait LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make an exact copy of schema "%s"', template),
            DETAIL = format('In the copy, %s would have another %s.', problem.object, problem.trait),
            HINT = 'If it was changed meanwhile, try again. Or change it in the template.';
    END IF;
    RETURN target;
END
