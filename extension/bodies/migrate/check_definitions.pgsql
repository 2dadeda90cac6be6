DECLARE
    definition pg_catalog.record;
    problem pg_catalog.record;
    result_types pg_catalog.oid[];
    named pg_catalog.oid[];
    query pg_catalog.text;
    meant pg_catalog.text;
    began pg_catalog.timestamptz;
    taken pg_catalog.interval := '0';       -- by those that take more than a second
    retyped pg_catalog.int2[];  -- columns of relations, and of views, that get other types
    retyped_of pg_catalog.oid[];
    new_types pg_catalog.oid[];
BEGIN
    SELECT array_agg(u.relation), array_agg(a.attnum), array_agg('bigint'::regtype::oid) INTO retyped_of, retyped, new_types
    FROM unnest(relations, attributes) AS u (relation, attname)
    JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname;
    FOR definition IN SELECT d.* FROM @extschema@._flake_definitions(ticket, relations, attributes, views) AS d LOOP
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
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, table_name, definition.what),
                DETAIL = format('It names %s, and role "%s" could put another in its place.', problem.object, problem.stranger),
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
        BEGIN
            -- Functions that it calls can have been made again since it was measured.
            SELECT format('The %s %s.', t.object, t.what) INTO meant
            FROM @extschema@._flake_too_long(ARRAY[definition.class]::oid[], ARRAY[definition.object]::oid[]) AS t;
            IF meant IS NULL THEN
                began := clock_timestamp();
                query := CASE definition.class
                    WHEN 'pg_rewrite'::regclass THEN pg_get_viewdef(definition.relation)
                    ELSE format('SELECT %s FROM ONLY %s', CASE definition.class
                        WHEN 'pg_class'::regclass
                        THEN (SELECT concat_ws(', ', pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid)) FROM pg_index WHERE indexrelid = definition.object)
                        WHEN 'pg_constraint'::regclass THEN (SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE oid = definition.object)
                        ELSE array_to_string(pg_get_statisticsobjdef_expressions(definition.object), ', ') END, definition.relation::regclass) END;
                IF octet_length(query) > 4194304 THEN
                    meant := 'Its definition has more than 4 MB as text, which takes long to read.';
                ELSE
                    SELECT r.result_types, r.named INTO result_types, named
                    FROM @extschema@._flake_rebind(ticket, query, retyped_of, retyped, new_types) AS r;
                    IF clock_timestamp() - began > '1 s' THEN
                        taken := taken + (clock_timestamp() - began);
                    END IF;
                    -- The dry run finds what takes long in a way that nobody knows yet.
                    meant := CASE WHEN named <> definition.named
                                  THEN 'A name in its definition would come to mean something else.'
                                  WHEN taken > '5 s'
                                  THEN 'PostgreSQL has taken more than 5 s to read its definition, and others that take long.' END;
                END IF;
            END IF;
        EXCEPTION
            WHEN insufficient_privilege THEN
                RAISE;
            WHEN syntax_error_or_access_rule_violation THEN
                meant := format('PostgreSQL would say: %s.', SQLERRM);
        END;
        -- An index is on an expression of another type then.
        IF meant IS NULL AND definition.class = 'pg_class'::regclass AND EXISTS (
            SELECT FROM pg_index i
            CROSS JOIN LATERAL (SELECT u.opclass, row_number() OVER (ORDER BY u.n) AS n
                                FROM unnest(i.indkey, i.indclass) WITH ORDINALITY AS u (attnum, opclass, n) WHERE u.attnum = 0) AS k
            JOIN unnest(result_types) WITH ORDINALITY AS t (type, n) ON t.n = k.n
            JOIN pg_opclass o ON o.oid = k.opclass
            WHERE i.indexrelid = definition.object AND t.type = 'bigint'::regtype AND o.opcintype IN ('smallint'::regtype, 'int'::regtype)
              AND (NOT o.opcdefault
                   OR NOT EXISTS (SELECT FROM pg_opclass b WHERE b.opcmethod = o.opcmethod AND b.opcdefault AND b.opcintype = 'bigint'::regtype))) THEN
            meant := 'It has an operator class that bigint does not have.';
        END IF;
        IF meant IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, table_name, definition.what),
                DETAIL = meant,
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
        -- so do other columns of a view
        SELECT retyped_of || array_agg(a.attrelid), retyped || array_agg(a.attnum), new_types || array_agg(t.type)
        INTO retyped_of, retyped, new_types
        FROM unnest(result_types) WITH ORDINALITY AS t (type, n)
        JOIN pg_attribute a ON a.attrelid = definition.relation AND a.attnum = t.n AND a.atttypid <> t.type
        WHERE a.attrelid = ANY (views);
    END LOOP;
END
