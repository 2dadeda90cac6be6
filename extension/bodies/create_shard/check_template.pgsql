DECLARE
    minting pg_catalog.oid[] := ARRAY['@extschema@.flake_id(int)'::regprocedure, '@extschema@.flake_id()'::regprocedure,
                                      '@extschema@.flake_id(int, regclass)'::regprocedure];
    minting_uuids pg_catalog.oid[] := ARRAY['@extschema@.flake_uuidv7(int)'::regprocedure, '@extschema@.flake_uuidv7(int, regclass)'::regprocedure];
    problem pg_catalog.record;
BEGIN
    -- What is copied is compared at the end, with tables elsewhere locked.
    SELECT t.object, t.what INTO problem
    FROM (SELECT array_agg(o.class), array_agg(o.id)
          FROM (SELECT 'pg_class'::regclass::oid, unnest(tables || sequences)
                UNION ALL
                SELECT 'pg_class'::regclass, i.indexrelid FROM pg_index i WHERE i.indrelid = ANY (tables)
                UNION ALL
                SELECT 'pg_attrdef'::regclass, f.oid FROM pg_attrdef f WHERE f.adrelid = ANY (tables)
                UNION ALL
                SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint k WHERE k.conrelid = ANY (tables)
                UNION ALL
                SELECT 'pg_trigger'::regclass, g.oid FROM pg_trigger g WHERE g.tgrelid = ANY (tables)
                UNION ALL
                SELECT 'pg_statistic_ext'::regclass, x.oid FROM pg_statistic_ext x WHERE x.stxrelid = ANY (tables)
                UNION ALL
                SELECT 'pg_type'::regclass, y.oid
                FROM pg_class c JOIN pg_type w ON w.oid = c.reltype JOIN pg_type y ON y.oid IN (w.oid, w.typarray)
                WHERE c.oid = ANY (tables)
                UNION ALL
                SELECT 'pg_namespace'::regclass, source) AS o (class, id)) AS a (classes, ids)
    CROSS JOIN LATERAL @extschema@._flake_too_long(a.classes, a.ids) AS t;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot copy schema "%s"', template),
            DETAIL = format('The %s %s.', problem.object, problem.what),
            HINT = 'Change that, or drop it, and create it in the copy by hand.';
    END IF;

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
          SELECT 'type', y.typname, 'pg_type'::regclass, y.oid, c.oid
          FROM pg_class c JOIN pg_type w ON w.oid = c.reltype JOIN pg_type y ON y.oid IN (w.oid, w.typarray) WHERE c.oid = ANY (tables)
          UNION ALL
          SELECT 'schema', template, 'pg_namespace'::regclass, source, 0) AS o (kind, name, class, oid, relation)
    LEFT JOIN pg_class c ON o.class = 'pg_class'::regclass AND c.oid = o.oid
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    LEFT JOIN pg_constraint k ON o.class = 'pg_constraint'::regclass AND k.oid = o.oid
    LEFT JOIN pg_trigger t ON o.class = 'pg_trigger'::regclass AND t.oid = o.oid
    LEFT JOIN pg_statistic_ext x ON o.class = 'pg_statistic_ext'::regclass AND x.oid = o.oid
    LEFT JOIN pg_type y ON o.class = 'pg_type'::regclass AND y.oid = o.oid
    CROSS JOIN LATERAL (
        SELECT * FROM (VALUES
            (c.relkind IN ('v', 'm'), 'Only tables and sequences are copied.', NULL),
            (c.relkind = 'f', 'It is a foreign table.', NULL),
            (c.relpersistence = 't', 'It is temporary.', NULL),
            (c.relkind = 'r' AND @extschema@._flake_is_hypertable(c.oid), 'It is a hypertable of TimescaleDB.',
             'Move it out of the schema, or drop it there, and create it in the copy with create_hypertable().'),
            (c.relkind IN ('r', 'p') AND @extschema@._flake_is_distributed(c.oid), 'It is a table of Citus.',
             'A copy would be an ordinary table. To make one of Citus, use CREATE TABLE ... (LIKE ...) and create_distributed_table().'),
            (o.class = 'pg_namespace'::regclass AND current_setting('citus.enable_schema_based_sharding', true) IN ('on', 'true')
             AND EXISTS (SELECT FROM pg_extension WHERE extname = 'citus'), 'Citus would make the new schema a tenant.',
             'SET citus.enable_schema_based_sharding = off.'),
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
            (EXISTS (SELECT FROM pg_attrdef f
                     JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
                      AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = ANY (minting_uuids)
                     WHERE f.adrelid = c.oid),
             'A column of it defaults to flake_uuidv7(), whose shard no copy would check.', 'Drop that default, and set it in the copy by hand.'),
            (c.relkind = 'S' AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = o.class AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
                                           AND d.deptype = 'a' AND d.refobjid <> ALL (tables)),
             'It belongs to a column of another table, which is not copied.', 'ALTER SEQUENCE ... OWNED BY NONE makes it one of its own.'),
            (NOT i.indisvalid, 'It is invalid.', 'Use REINDEX, or drop it.'),
            -- A check that is not enforced is copied as such, since PostgreSQL 18.
            (k.contype IN ('c', 'n') AND NOT k.convalidated AND coalesce(to_jsonb(k) ->> 'conenforced', 'true') = 'true',
             'It is not valid.', 'Use ALTER TABLE ... VALIDATE CONSTRAINT.'),
            (t.tgisinternal AND t.tgenabled <> 'O', 'It belongs to a constraint, and was disabled or changed.',
             format('Use ALTER TABLE %s ENABLE TRIGGER ALL.', o.relation::regclass)),
            -- They are made with what they belong to, under names that PostgreSQL chooses.
            ((t.tgisinternal OR k.contype = 'f' AND k.conparentid <> 0)
             AND EXISTS (SELECT FROM pg_description d WHERE d.classoid = o.class AND d.objoid = o.oid),
             'It belongs to another constraint, and has a comment.', 'Remove that with COMMENT ... IS NULL, and set it in the copy by hand.'),
            (NOT (y.typacl @> acldefault('T', y.typowner) AND y.typacl <@ acldefault('T', y.typowner)),
             'The type of the table''s rows has privileges of its own.', 'GRANT USAGE ON TYPE ... TO PUBLIC, revoke the others, and set them in the copy by hand.'),
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
    -- Those who own the type of a column in a partition key can write checks for it,
    -- which are evaluated where a partition's bounds are read.
    SELECT c.relname, a.attname, c.relowner, u.stranger INTO problem
    FROM pg_class c
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid > 0
     AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.refobjsubid = 0 AND d.deptype = 'i'
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid
    CROSS JOIN LATERAL @extschema@._flake_type_owner(a.atttypid, c.relowner) AS u (stranger)
    WHERE c.oid = ANY (tables) AND u.stranger IS NOT NULL
    ORDER BY c.oid, a.attnum LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot copy table "%s" of schema "%s"', problem.relname, template),
            DETAIL = format('PostgreSQL would evaluate checks of role "%s", which owns the type of column "%s" in the partition key, as role "%s".',
                            problem.stranger, problem.attname, pg_get_userbyid(problem.relowner)),
            HINT = 'Give the table and the type the same owner.';
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
    -- All tables elsewhere are locked while foreign keys to them are made.
    SELECT c.relname, k.confrelid, f.code, o.confrelid AS locked INTO problem
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid
    JOIN pg_constraint o ON o.conrelid = ANY (tables) AND o.contype = 'f' AND o.confrelid <> ALL (tables) AND o.confrelid <> k.confrelid
    JOIN pg_class l ON l.oid = o.confrelid
     AND NOT (has_schema_privilege(c.relowner, l.relnamespace, 'USAGE')
              AND (has_table_privilege(c.relowner, l.oid, 'UPDATE, DELETE, TRUNCATE') OR has_any_column_privilege(c.relowner, l.oid, 'REFERENCES')))
    CROSS JOIN LATERAL @extschema@._flake_foreign_code(c.oid, l.relowner) AS f (code)
    WHERE c.oid = ANY (tables) AND k.contype = 'f' AND k.conparentid = 0 AND k.confrelid <> ALL (tables) AND f.code IS NOT NULL
    ORDER BY k.oid, o.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make a foreign key of table "%s" of schema "%s" to table %s', problem.relname, template, problem.confrelid::regclass),
            DETAIL = format('PostgreSQL would evaluate %s, who may not lock table %s, while that is locked.', problem.code, problem.locked::regclass),
            HINT = 'Give both tables the same owner, or drop what would be evaluated.';
    END IF;
END
