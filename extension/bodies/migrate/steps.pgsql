DECLARE
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    col pg_catalog.record;
    sequence pg_catalog.record;
    sequence_name pg_catalog.text;
    problem pg_catalog.record;
    steps pg_catalog.text[];
BEGIN
    IF ticket IS NULL THEN
        RETURN NULL;
    END IF;

    SELECT c.relowner, a.attidentity, a.atttypid INTO col
    FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = attribute
    WHERE c.oid = target;
    SELECT c.oid, c.relpersistence, q.* INTO sequence
    FROM pg_class c JOIN pg_sequence q ON q.seqrelid = c.oid
    WHERE c.oid = old_sequence;

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
            -- null if a dry run cannot know it now
            SELECT q.* INTO problem FROM @extschema@._flake_sequence_state(ticket, sequence.oid::oid, dry_run) AS q;
            SELECT m.name INTO sequence_name FROM @extschema@._flake_remade(sequence.oid, caller) AS m WHERE m.step = 0;
            steps := steps
                || ARRAY[[caller::text, NULL, NULL,
                    format('CREATE %sSEQUENCE %s AS %s INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s%s',
                           CASE sequence.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, sequence_name, sequence.seqtypid::regtype,
                           sequence.seqincrement, sequence.seqmin, sequence.seqmax, sequence.seqstart, sequence.seqcache,
                           CASE WHEN sequence.seqcycle THEN ' CYCLE' END)]]
                || ARRAY[[caller::text, sequence_name, NULL,
                    format('SELECT pg_catalog.setval(%L, %s, %L)', sequence_name, coalesce(problem.last_value::text, 'NULL'), problem.is_called)]]
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
        format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT %s.%s(%s%s)', target, attribute, '@extschema@',
               CASE WHEN col.atttypid = 'uuid'::regtype THEN 'flake_uuidv7' ELSE 'flake_id' END, shard,
               CASE WHEN generator NOT IN ('@extschema@.flake_default'::regclass, '@extschema@.flake_default_uuidv7'::regclass) THEN format(', %L::regclass', generator) END)]];
    IF drop_sequence AND sequence.oid IS NOT NULL AND col.attidentity = '' THEN
        steps := steps || ARRAY[[caller::text, sequence.oid::regclass::text, sequence.oid::text, format('DROP SEQUENCE %s', sequence.oid::regclass)]];
    END IF;
    steps := steps || (
        -- Nothing of anybody is executed from here on, so a name cannot change its meaning.
        -- All the same a definition is read as the view's owner, if he can make the view.
        SELECT array_agg(ARRAY[CASE t.step WHEN 0 THEN k.maker ELSE caller END::text, NULL, NULL, t.s] ORDER BY v.i, t.step, t.s)
        FROM unnest(views) WITH ORDINALITY AS v (id, i)
        JOIN pg_class c ON c.oid = v.id
        CROSS JOIN LATERAL (SELECT @extschema@._flake_view_maker(c.oid, caller) OFFSET 0) AS k (maker)
        CROSS JOIN LATERAL @extschema@._flake_remade(c.oid, k.maker) AS m
        CROSS JOIN LATERAL (
            SELECT m.step, CASE m.step WHEN 0
                THEN format('CREATE VIEW %s%s AS %s', m.name,
                            (SELECT format(' WITH (%s)', string_agg(format('%I = %L', option_name, option_value), ', '))
                             FROM pg_options_to_table(c.reloptions) HAVING count(*) > 0),
                            rtrim(pg_get_viewdef(c.oid), ';'))
                ELSE m.command END
        ) AS t (step, s));
    RETURN steps;
END
