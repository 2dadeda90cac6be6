    WITH RECURSIVE heir (oid) AS (
        SELECT target
        UNION
        SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid
    ), member AS (      -- tables whose default or type changes
        SELECT c.* FROM (SELECT h.oid FROM heir h UNION SELECT unnest(relations)) AS t JOIN pg_class c USING (oid)
    ), col AS MATERIALIZED (
        SELECT u.relation, a.*
        FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
    ), idx AS MATERIALIZED (
        SELECT i.*, c.relowner, c.relispartition, c.reloptions, c.reltablespace, c.relname
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE EXISTS (SELECT FROM col
                      WHERE col.relation = i.indrelid
                        AND (col.attnum = ANY (i.indkey)
                             OR EXISTS (SELECT FROM pg_depend d
                                        WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                                          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = col.relation AND d.refobjsubid = col.attnum)))
    ), con AS MATERIALIZED (
        SELECT k.* FROM pg_constraint k
        WHERE EXISTS (SELECT FROM col
                      WHERE k.conrelid = col.relation AND col.attnum = ANY (k.conkey)
                         OR k.confrelid = col.relation AND col.attnum = ANY (k.confkey))
           OR k.contype IN ('p', 'u', 'x') AND EXISTS (SELECT FROM idx WHERE idx.indexrelid = k.conindid)
    ), view AS MATERIALIZED (
        SELECT c.*, t.typarray FROM unnest(views) AS v (id) JOIN pg_class c ON c.oid = v.id JOIN pg_type t ON t.oid = c.reltype
    ), row_type (type) AS (     -- and the types that have them in them
        SELECT t.reltype FROM pg_class t WHERE t.oid = ANY (relations) AND t.reltype <> 0
        UNION
        SELECT n.type FROM row_type r
        CROSS JOIN LATERAL (      -- in pg_depend, as anybody can have many types
            SELECT d.objid FROM pg_depend d
            WHERE d.refclassid = 'pg_type'::regclass AND d.refobjid = r.type AND d.classid = 'pg_type'::regclass
            UNION ALL
            SELECT c.reltype FROM pg_depend d
            JOIN pg_class c ON c.oid = d.objid AND c.reltype <> 0 AND c.relkind <> 'v'
            WHERE d.refclassid = 'pg_type'::regclass AND d.refobjid = r.type AND d.classid = 'pg_class'::regclass) AS n (type)
    ), blocked (n, what, classid, objid, objsubid) AS (
        SELECT 1, format('column "%s" of table %s', col.attname, col.relation::regclass), d.classid, d.objid, d.objsubid
        FROM col
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = col.relation AND d.refobjsubid = col.attnum
        WHERE CASE d.classid
            WHEN 'pg_class'::regclass THEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = d.objid AND c.relkind IN ('i', 'I', 'S'))
            WHEN 'pg_constraint'::regclass THEN NOT EXISTS (SELECT FROM con WHERE con.oid = d.objid AND con.contype IN ('c', 'f', 'n', 'p', 'u', 'x'))
            WHEN 'pg_attrdef'::regclass THEN NOT EXISTS (SELECT FROM pg_attrdef f WHERE f.oid = d.objid AND f.adrelid = col.relation AND f.adnum = col.attnum)
            WHEN 'pg_statistic_ext'::regclass THEN false
            WHEN 'pg_rewrite'::regclass THEN NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.oid = d.objid AND w.rulename = '_RETURN' AND w.ev_class = ANY (views))
            ELSE true END
        UNION ALL
        SELECT 2, format('%s of table %s', CASE d.refclassid WHEN 'pg_class'::regclass THEN 'an index' ELSE 'a constraint' END, o.relation::regclass),
               d.classid, d.objid, d.objsubid
        FROM (SELECT 'pg_class'::regclass AS classid, indexrelid AS objid, indrelid AS relation FROM idx
              UNION ALL SELECT 'pg_constraint'::regclass, oid, conrelid FROM con) AS o
        JOIN pg_depend d ON d.refclassid = o.classid AND d.refobjid = o.objid
        WHERE CASE d.classid
            WHEN 'pg_class'::regclass THEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = d.objid AND c.relkind IN ('i', 'I'))
            WHEN 'pg_constraint'::regclass THEN false
            WHEN 'pg_trigger'::regclass THEN NOT EXISTS (SELECT FROM pg_trigger g WHERE g.oid = d.objid AND g.tgisinternal)
            WHEN 'pg_rewrite'::regclass THEN NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.oid = d.objid AND w.rulename = '_RETURN' AND w.ev_class = ANY (views))
            ELSE true END
        UNION ALL
        SELECT 3, format('view %s', v.oid::regclass), d.classid, d.objid, d.objsubid
        FROM view v
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = v.oid
                         OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (v.reltype, v.typarray)
        WHERE CASE d.classid
            WHEN 'pg_type'::regclass THEN d.objid NOT IN (v.reltype, v.typarray)
            WHEN 'pg_class'::regclass THEN d.objid <> ALL (views)     -- a column of its type
            WHEN 'pg_rewrite'::regclass THEN NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.oid = d.objid AND w.rulename = '_RETURN' AND w.ev_class = ANY (views))
            ELSE true END
        UNION ALL
        SELECT 4, format('sequence %s', d.refobjid::regclass), d.classid, d.objid, d.objsubid
        FROM pg_depend d
        WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = lost_sequence
          AND NOT EXISTS (SELECT FROM pg_attrdef f
                          JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attname = column_name
                          WHERE d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid AND f.adrelid IN (SELECT h.oid FROM heir h))
    ), lost (n, property, object) AS (
        SELECT 10, 'statistics target', pg_describe_object('pg_class'::regclass, idx.indexrelid, 0)
        FROM idx JOIN pg_attribute a ON a.attrelid = idx.indexrelid AND coalesce(a.attstattarget, -1) >= 0
        UNION ALL
        SELECT 10, 'dependency on an extension', pg_describe_object(d.classid, d.objid, 0)
        FROM idx JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = idx.indexrelid AND d.deptype IN ('x', 'e')
        UNION ALL       -- it would be given to those of the partitions, too
        SELECT 10, 'comment', pg_describe_object('pg_class'::regclass, idx.indexrelid, 0)
        FROM idx
        WHERE EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = idx.indexrelid)
          AND EXISTS (SELECT FROM pg_description d WHERE d.classoid = 'pg_class'::regclass AND d.objoid = idx.indexrelid)
        UNION ALL       -- the index of a partition comes with that of the table
        SELECT 10, p.property, pg_describe_object('pg_class'::regclass, idx.indexrelid, 0)
        FROM idx
        JOIN pg_inherits i ON i.inhrelid = idx.indexrelid
        JOIN pg_class parent ON parent.oid = i.inhparent
        JOIN pg_class c ON c.oid = idx.indrelid
        LEFT JOIN pg_constraint k ON k.conindid = idx.indexrelid AND k.contype IN ('p', 'u', 'x')
        CROSS JOIN LATERAL (VALUES
            ('name', idx.relname <> c.relname || CASE WHEN k.contype = 'p' THEN '_pkey'
                     ELSE (SELECT string_agg('_' || a.attname, '' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = idx.indexrelid)
                          || CASE k.contype WHEN 'u' THEN '_key' WHEN 'x' THEN '_excl' ELSE '_idx' END END),
            ('comment', EXISTS (SELECT FROM pg_description d WHERE d.classoid = 'pg_class'::regclass AND d.objoid = idx.indexrelid)),
            ('storage parameters', idx.reloptions IS DISTINCT FROM parent.reloptions),
            ('tablespace', idx.reltablespace <> parent.reltablespace),
            ('mark as replica identity', idx.indisreplident),
            ('mark for CLUSTER', idx.indisclustered)) AS p (property, is_lost)
        WHERE idx.relispartition AND p.is_lost
        UNION ALL
        SELECT 11, 'comment', pg_describe_object('pg_constraint'::regclass, con.oid, 0)
        FROM con JOIN pg_description d ON d.classoid = 'pg_constraint'::regclass AND d.objoid = con.oid
        WHERE NOT con.conislocal
        UNION ALL
        SELECT 11, 'state of a trigger', pg_describe_object('pg_constraint'::regclass, con.oid, 0)
        FROM con JOIN pg_trigger g ON g.tgconstraint = con.oid AND g.tgisinternal AND g.tgenabled <> 'O'
        UNION ALL
        SELECT 12, p.property, pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0)
        FROM col
        JOIN pg_class c ON c.oid = col.relation
        JOIN pg_depend d ON d.classid = 'pg_statistic_ext'::regclass AND d.refclassid = 'pg_class'::regclass
         AND d.refobjid = col.relation AND d.refobjsubid = col.attnum
        JOIN pg_statistic_ext s ON s.oid = d.objid
        CROSS JOIN LATERAL (VALUES
            ('owner', s.stxowner <> c.relowner),
            ('statistics target', coalesce(s.stxstattarget, -1) >= 0)) AS p (property, is_lost)
        WHERE p.is_lost
        UNION ALL
        SELECT 13, p.property, pg_describe_object('pg_class'::regclass, o.oid, 0)
        FROM (SELECT oid, relowner, relacl FROM view
              UNION ALL SELECT oid, relowner, relacl FROM pg_class WHERE oid = lost_sequence AND is_remade) AS o
        CROSS JOIN LATERAL (VALUES
            ('privileges on the row type', EXISTS (SELECT FROM pg_type t WHERE t.typrelid = o.oid AND t.typacl IS NOT NULL)),
            ('membership in an extension', EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = o.oid AND d.deptype = 'e')),
            ('security label', EXISTS (
                SELECT FROM pg_seclabel l
                WHERE l.classoid = 'pg_class'::regclass AND l.objoid = o.oid
                   OR l.classoid = 'pg_type'::regclass AND l.objoid IN (SELECT t.oid FROM pg_type t WHERE t.typrelid = o.oid))),
            ('comment of the rule or of the row type', EXISTS (
                SELECT FROM pg_description d
                WHERE d.classoid = 'pg_rewrite'::regclass AND d.objoid IN (SELECT w.oid FROM pg_rewrite w WHERE w.ev_class = o.oid)
                   OR d.classoid = 'pg_type'::regclass AND d.objoid IN (SELECT t.oid FROM pg_type t WHERE t.typrelid = o.oid))),
            ('state of the rule', EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = o.oid AND w.ev_enabled <> 'O')),
            ('grantor of a privilege', EXISTS (
                SELECT FROM (SELECT o.relacl UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = o.oid) AS a (acl), aclexplode(a.acl) AS e
                WHERE e.grantor <> o.relowner))) AS p (property, is_lost)
        WHERE p.is_lost
    ), unlike (n, object, reason) AS (
        SELECT 20, format('column "%s" of table %s', col.attname, col.relation::regclass), p.reason
        FROM col
        JOIN pg_class c ON c.oid = col.relation
        CROSS JOIN LATERAL (VALUES
            (format('is of type %s', format_type(col.atttypid, NULL)), col.atttypid NOT IN ('smallint'::regtype, 'int'::regtype)),
            ('is inherited from several tables', col.attinhcount > 1),
            ('is of a typed table', c.reloftype <> 0),
            ('is in a partition key', EXISTS (SELECT FROM pg_depend d
                WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = col.attnum
                  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.refobjsubid = 0 AND d.deptype = 'i'))) AS p (reason, is_unlike)
        WHERE p.is_unlike
        UNION ALL
        SELECT 21, format('table %s', m.oid::regclass), p.reason
        FROM member m
        CROSS JOIN LATERAL (VALUES
            ('is a foreign table', m.relkind NOT IN ('r', 'p')),
            ('belongs to another session', pg_is_other_temp_schema(m.relnamespace)),
            ('is being detached', EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = m.oid AND i.inhdetachpending))) AS p (reason, is_unlike)
        WHERE p.is_unlike
        UNION ALL
        SELECT 21, format('view %s', oid::regclass), 'belongs to another session' FROM view WHERE pg_is_other_temp_schema(relnamespace)
        UNION ALL
        SELECT 22, pg_describe_object('pg_class'::regclass, idx.indexrelid, 0), p.reason
        FROM idx
        CROSS JOIN LATERAL (VALUES
            ('is not valid', NOT idx.indisvalid),
            ('has an operator class that bigint does not have', EXISTS (
                SELECT FROM unnest(idx.indkey, idx.indclass) AS u (attnum, opclass)
                JOIN col ON col.relation = idx.indrelid AND col.attnum = u.attnum
                JOIN pg_opclass o ON o.oid = u.opclass
                WHERE NOT o.opcdefault
                   OR NOT EXISTS (SELECT FROM pg_opclass b WHERE b.opcmethod = o.opcmethod AND b.opcdefault AND b.opcintype = 'bigint'::regtype)))) AS p (reason, is_unlike)
        WHERE p.is_unlike
        UNION ALL
        SELECT 23, pg_describe_object('pg_constraint'::regclass, con.oid, 0), p.reason
        FROM con
        CROSS JOIN LATERAL (VALUES
            ('is not valid, and inherited', con.contype IN ('c', 'n') AND NOT con.convalidated
                AND (con.coninhcount > 0 OR EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = con.conrelid))),
            ('has an operator that is not PostgreSQL''s', EXISTS (SELECT FROM unnest(con.conexclop) AS o (oid) WHERE o.oid >= 16384)),
            -- PostgreSQL checks it again with the rights of the owner, to whom rows are missing (RI_Initial_Check)
            ('refers to a table with FORCE ROW LEVEL SECURITY', con.contype = 'f' AND con.convalidated AND EXISTS (
                SELECT FROM pg_class r JOIN pg_roles o ON o.oid = r.relowner
                WHERE r.oid = con.confrelid AND r.relrowsecurity AND r.relforcerowsecurity
                  AND NOT o.rolsuper AND NOT o.rolbypassrls))) AS p (reason, is_unlike)
        WHERE p.is_unlike
        UNION ALL       -- what is stored there would be read as if it had another type
        SELECT 24, format('column "%s" of table %s', a.attname, c.oid::regclass), format('is of type %s', format_type(a.atttypid, NULL))
        FROM row_type AS part
        CROSS JOIN LATERAL (
            SELECT d.objid, d.objsubid FROM pg_depend d
            WHERE d.refclassid = 'pg_type'::regclass AND d.refobjid = part.type AND d.classid = 'pg_class'::regclass
            OFFSET 0) AS d
        JOIN pg_class c ON c.oid = d.objid AND c.relkind IN ('r', 'm', 'p', 'f')
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND a.attnum > 0 AND a.atttypid = part.type
        UNION ALL       -- so would a row in an expression; PostgreSQL refuses that in newer minor versions
        SELECT 24, pg_describe_object(d.classid, d.objid, 0), 'has the row type of a table in its definition'
        FROM row_type
        JOIN pg_depend d ON d.refclassid = 'pg_type'::regclass AND d.refobjid = row_type.type
        WHERE CASE d.classid
            WHEN 'pg_rewrite'::regclass THEN NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.oid = d.objid AND w.rulename = '_RETURN' AND w.ev_class = ANY (views))
            WHEN 'pg_proc'::regclass THEN EXISTS (
                SELECT FROM pg_proc p       -- not if only an argument or the result has the type
                WHERE p.oid = d.objid
                  AND CASE WHEN octet_length(p.prosqlbody::text) > 4194304 OR octet_length(p.proargdefaults::text) > 4194304 THEN true      -- since it was measured
                           ELSE concat(p.prosqlbody, p.proargdefaults) ~ format(':(consttype|row_typeid|resulttype) %s ', row_type.type) END)
            WHEN 'pg_class'::regclass THEN EXISTS (SELECT FROM pg_class c WHERE c.oid = d.objid AND c.relkind IN ('i', 'I'))
            ELSE d.classid IN ('pg_attrdef'::regclass, 'pg_constraint'::regclass, 'pg_policy'::regclass, 'pg_trigger'::regclass,
                               'pg_statistic_ext'::regclass, 'pg_publication_rel'::regclass) END
        UNION ALL       -- SET DEFAULT is for all of them
        SELECT 25, format('column "%s" of table %s', a.attname, h.oid::regclass), 'has a default of its own'
        FROM heir h
        JOIN pg_attribute a ON a.attrelid = h.oid AND a.attname = column_name
        JOIN pg_attribute b ON b.attrelid = target AND b.attname = column_name
        LEFT JOIN pg_attrdef f ON f.adrelid = h.oid AND f.adnum = a.attnum
        LEFT JOIN pg_attrdef g ON g.adrelid = target AND g.adnum = b.attnum
        WHERE h.oid <> target
          AND (a.attidentity NOT IN ('', b.attidentity) OR a.attgenerated <> ''
               OR f.oid IS NOT NULL AND pg_get_expr(f.adbin, h.oid) IS DISTINCT FROM pg_get_expr(g.adbin, target))
        UNION ALL
        SELECT 25, format('column "%s" of table %s', a.attname, target::regclass), 'is inherited'
        FROM pg_attribute a WHERE a.attrelid = target AND a.attname = column_name AND a.attinhcount > 0
    )
    SELECT o.detail, o.hint
    FROM (SELECT n, format('%s depends on %s.', pg_describe_object(classid, objid, objsubid), what),
                 'Drop it before, and create it again afterwards.'
          FROM blocked
          UNION ALL
          SELECT n, format('The %s of %s would be lost.', property, object), 'Change that before, and set it again afterwards.' FROM lost
          UNION ALL
          SELECT n, format('The %s %s.', object, reason), 'Change that, or drop it, before.' FROM unlike) AS o (n, detail, hint)
    ORDER BY o.n, o.detail LIMIT 1
