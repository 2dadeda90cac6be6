    WITH own AS (
        SELECT c.relowner, r.rolsuper OR r.rolbypassrls AS sees_all
        FROM pg_class c JOIN pg_roles r ON r.oid = c.relowner WHERE c.oid = target
    ), member AS (
        SELECT c.*, c.oid::regclass AS name, own.sees_all, own.relowner AS executor
        FROM own, pg_class c WHERE c.oid = ANY (relations)
    ), col AS (
        SELECT u.relation, a.*, format('%s.%I', u.relation::regclass, u.attname) AS name
        FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
    ), found (n, detail, hint) AS (
        SELECT 1, format('Table %s belongs to role "%s", and its triggers would run as role "%s".',
                         m.name, pg_get_userbyid(m.relowner), pg_get_userbyid(m.executor)), 'Give all of these tables the same owner.'
        FROM member m WHERE NOT @extschema@._flake_trusts(m.executor, m.relowner)
        UNION ALL
        SELECT 2, format('Table %s is no ordinary table.', name), 'Detach it, and change its ids by hand.'
        FROM member WHERE relkind NOT IN ('r', 'p')
        UNION ALL
        SELECT 2, format('Table %s is a hypertable of TimescaleDB or a chunk of one, and its rows could be compressed.', name), 'Change its ids by hand.'
        FROM member WHERE @extschema@._flake_is_hypertable(oid)
        UNION ALL
        SELECT 2, format('Table %s is one of Citus, whose rows are in other tables.', name), 'Change its ids by hand.'
        FROM member WHERE @extschema@._flake_is_distributed(oid)
        UNION ALL
        SELECT 3, format('Table %s has a rule for UPDATE.', m.name), 'Drop the rule before, and create it again afterwards.'
        FROM member m WHERE EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = m.oid AND w.ev_type = '2')
        UNION ALL
        SELECT 4, format('Row-level security of table %s could hide rows from role "%s".', m.name, pg_get_userbyid(m.executor)),
               'Set NO FORCE ROW LEVEL SECURITY before, or give the role BYPASSRLS.'
        FROM member m
        WHERE m.relrowsecurity AND NOT m.sees_all
          AND (m.relforcerowsecurity OR NOT pg_has_role(m.executor, m.relowner, 'USAGE'))
        UNION ALL
        SELECT 5, format('Constraint "%s" of table %s is deferred, and you are not the owner, role "%s".', k.conname, k.conrelid::regclass, pg_get_userbyid(m.executor)),
               format('Type SET ROLE %I before.', pg_get_userbyid(m.executor))
        FROM member m JOIN pg_trigger t ON t.tgrelid = m.oid JOIN pg_constraint k ON k.oid = t.tgconstraint
        WHERE t.tginitdeferred AND pg_get_userbyid(m.executor) <> current_user
        UNION ALL
        SELECT 6, format('Column %s is of type %s.', c.name, format_type(c.atttypid, c.atttypmod)), 'Change it to bigint before.'
        FROM col c JOIN pg_type t ON t.oid = c.atttypid
        WHERE 'bigint'::regtype NOT IN (t.oid, t.typbasetype)
        UNION ALL
        SELECT 7, format('The type of column %s belongs to role "%s", and its check would run as role "%s".', c.name, u.stranger, pg_get_userbyid(own.relowner)),
               'Give the type and the table the same owner.'
        FROM own, col c CROSS JOIN LATERAL @extschema@._flake_type_owner(c.atttypid, own.relowner) AS u (stranger)
        WHERE u.stranger IS NOT NULL
        UNION ALL       -- what UPDATE evaluates besides
        SELECT 7, format('A type in %s belongs to role "%s", and its check would run as role "%s".',
                         pg_describe_object(part.classid, part.objid, part.objsubid), u.stranger, pg_get_userbyid(m.executor)),
               'Give the type and the table the same owner.'
        FROM member m
        CROSS JOIN LATERAL (
            SELECT 'pg_class'::regclass::oid, a.attrelid, a.attnum::int, a.atttypid
            FROM pg_attribute a WHERE a.attrelid = m.oid AND a.attgenerated <> ''
            UNION ALL
            SELECT o.classid, o.objid, 0, d.refobjid
            FROM (SELECT 'pg_attrdef'::regclass::oid, f.oid
                  FROM pg_attrdef f JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attgenerated <> ''
                  WHERE f.adrelid = m.oid
                  UNION ALL SELECT 'pg_class'::regclass, i.indexrelid FROM pg_index i WHERE i.indrelid = m.oid
                  UNION ALL SELECT 'pg_constraint'::regclass, k.oid FROM pg_constraint k WHERE k.conrelid = m.oid
                  UNION ALL SELECT 'pg_trigger'::regclass, t.oid FROM pg_trigger t WHERE t.tgrelid = m.oid
                  UNION ALL SELECT 'pg_class'::regclass, m.oid WHERE m.relkind = 'p') AS o (classid, objid)
            JOIN pg_depend d ON d.classid = o.classid AND d.objid = o.objid AND d.objsubid = 0 AND d.refclassid = 'pg_type'::regclass
            ) AS part (classid, objid, objsubid, type)
        CROSS JOIN LATERAL @extschema@._flake_type_owner(part.type, m.executor) AS u (stranger)
        WHERE u.stranger IS NOT NULL
        UNION ALL
        SELECT 8, format('Column %s is generated.', name), 'Drop the foreign key before, and create it again afterwards.'
        FROM col WHERE attgenerated <> ''
        UNION ALL
        SELECT 9, format('Column %s is GENERATED ALWAYS AS IDENTITY.', name), 'ALTER TABLE ... ALTER COLUMN ... SET GENERATED BY DEFAULT before.'
        FROM col WHERE attidentity = 'a'
        UNION ALL
        SELECT 10, format('Column %s also refers to table %s.', c.name, k.confrelid::regclass),
               'Replace the ids of that table, or drop the foreign key before.'
        FROM col c
        JOIN pg_constraint k ON k.contype = 'f' AND k.conrelid = c.relation
        JOIN LATERAL unnest(k.conkey, k.confkey) AS key (from_key, to_key) ON key.from_key = c.attnum
        WHERE NOT EXISTS (SELECT FROM col t WHERE t.relation = k.confrelid AND t.attnum = key.to_key)
        UNION ALL
        SELECT 11, format('Column %s refers to the ids, and those of other partitions of table %s do not.', c.name, p.root),
               'Detach the partition before, and attach it again afterwards.'
        FROM col c CROSS JOIN LATERAL pg_partition_root(c.relation) AS p (root)
        WHERE p.root <> c.relation AND NOT EXISTS (SELECT FROM col t WHERE t.relation = p.root AND t.attname = c.attname)
    )
    SELECT f.detail, f.hint FROM found f ORDER BY f.n, f.detail LIMIT 1
