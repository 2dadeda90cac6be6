    WITH object AS (
        SELECT c.oid, c.relowner, c.relnamespace, c.relacl, k.kind, k.acl_type, CASE WHEN c.relnamespace = pg_my_temp_schema() THEN format('pg_temp.%I', c.relname) ELSE format('%s', c.oid::regclass) END AS name,
               (acldefault(k.acl_type, c.relowner))[1] AS full_rights, d.revokes
        FROM pg_class c
        CROSS JOIN LATERAL (SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'VIEW' END, CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END) AS k (kind, acl_type)
        -- what is granted by default may be less than all to the maker
        CROSS JOIN LATERAL (SELECT coalesce(bool_or(NOT (acldefault(k.acl_type, maker))[1] = ANY (defaclacl)), false)
                            FROM pg_default_acl
                            WHERE defaclrole = maker AND defaclnamespace = 0
                              AND defaclobjtype = CASE k.acl_type WHEN 's' THEN 'S' ELSE k.acl_type END) AS d (revokes)
        WHERE c.oid = relation
    ), made AS (
        SELECT o.*, format('%s%s', CASE o.kind WHEN 'SEQUENCE' THEN 'SEQUENCE ' END, o.name) AS granted,
               o.revokes OR NOT o.full_rights = ANY (o.relacl) AS restates_owner
        FROM object o
    )
    SELECT name, 0, NULL FROM made
    UNION ALL
    SELECT DISTINCT o.name, 2, format('REVOKE ALL ON %s FROM %s', o.granted, CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END)   -- what is granted by default
    FROM made o
    JOIN pg_default_acl d ON d.defaclrole = maker AND d.defaclnamespace IN (0, o.relnamespace)
     AND d.defaclobjtype = CASE o.acl_type WHEN 's' THEN 'S' ELSE o.acl_type END
    CROSS JOIN LATERAL aclexplode(d.defaclacl) AS e
    WHERE e.grantee <> maker
    UNION ALL
    SELECT name, 3, format('ALTER %s %s OWNER TO %I', kind, name, pg_get_userbyid(relowner)) FROM made WHERE relowner <> maker
    UNION ALL
    SELECT name, 4, format('REVOKE ALL ON %s FROM %s', granted, quote_ident(pg_get_userbyid(relowner))) FROM made WHERE restates_owner
    UNION ALL
    SELECT o.name, 5, format('GRANT %s%s ON %s TO %s%s', e.privilege_type, ' (' || string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) || ')', o.granted,
                     CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END, CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' END)
    FROM made o
    CROSS JOIN LATERAL (SELECT NULL::name, NULL::int2, coalesce(o.relacl, ARRAY[o.full_rights])
                        UNION ALL SELECT attname, attnum, attacl FROM pg_attribute WHERE attrelid = o.oid) AS a (attname, attnum, acl)
    CROSS JOIN LATERAL aclexplode(a.acl) AS e
    WHERE e.grantee <> o.relowner OR o.restates_owner OR a.attname IS NOT NULL
    GROUP BY o.name, o.granted, a.attname IS NULL, e.privilege_type, e.grantee, e.is_grantable
    UNION ALL
    SELECT o.name, 6, format('COMMENT ON %s IS %L', CASE d.objsubid WHEN 0 THEN format('%s %s', o.kind, o.name) ELSE format('COLUMN %s.%I', o.name, a.attname) END,
                     d.description)
    FROM made o
    JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = o.oid
    LEFT JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum = d.objsubid
