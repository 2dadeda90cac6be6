DECLARE
    written pg_catalog.record;
    guests pg_catalog.text[];
BEGIN
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
                   NULL AS granted_by, NULL AS rights
            FROM list l, aclexplode(l.defaclacl) AS e WHERE e.grantee <> l.owner
            UNION ALL
            SELECT 2, min(e.place), l.name, l.relation, l.owner, e.grantor, e.grantee,
                   'GRANT %2$s ON %1$s TO %3$s' || CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION%4$s' ELSE '%4$s' END,
                   CASE WHEN e.grantor <> l.owner THEN ' GRANTED BY ' || quote_ident(pg_get_userbyid(e.grantor)) END,
                   string_agg(e.privilege_type || coalesce(' (' || quote_ident(l.attname) || ')', ''), ', ')
            FROM list l, aclexplode(CASE WHEN l.defaclacl IS NULL THEN l.acl ELSE coalesce(l.acl, l.all_rights) END)
                         WITH ORDINALITY AS e (grantor, grantee, privilege_type, is_grantable, place)
            WHERE e.grantee <> l.owner OR l.defaclacl IS NOT NULL
            GROUP BY l.name, l.relation, l.owner, e.grantor, e.grantee, e.is_grantable, l.attname
            UNION ALL
            SELECT 3, 0, l.name, l.relation, l.owner, l.owner, l.owner, 'REVOKE %2$s ON %1$s FROM %3$s', NULL,
                   string_agg(e.privilege_type, ', ')
            FROM list l, aclexplode(l.all_rights) AS e
            WHERE e.grantee = l.owner AND l.acl IS NOT NULL AND l.attname IS NULL
              AND NOT EXISTS (SELECT FROM aclexplode(l.acl) AS h WHERE h.grantee = l.owner AND h.privilege_type = e.privilege_type)
            GROUP BY l.name, l.relation, l.owner
        )
        SELECT stage, relation IS NULL AS is_schema,
               ARRAY[role::text, CASE WHEN role = owner THEN relation END, NULL,
                     format(command, name, rights, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END, granted_by)] AS step
        FROM command ORDER BY stage, name, place
    LOOP
        IF written.stage = 3 THEN
            revokes := revokes || ARRAY[written.step];
        ELSIF written.is_schema THEN
            on_schema := on_schema || ARRAY[written.step];
        ELSE
            on_relations := on_relations || ARRAY[written.step];
        END IF;
    END LOOP;

    -- An owner that may not create anything in the schema may, for as long as this takes.
    guests := ARRAY(
        SELECT DISTINCT quote_ident(pg_get_userbyid(c.relowner))
        FROM pg_class c, pg_namespace n
        WHERE c.oid = ANY (tables || sequences) AND n.oid = source
          AND NOT has_schema_privilege(c.relowner, n.oid, 'CREATE'));
    on_schema := on_schema || ARRAY(
        SELECT ARRAY[n.nspowner::text, NULL, NULL, format('GRANT CREATE ON SCHEMA %I TO %s', target, guest)]
        FROM pg_namespace n, unnest(guests) AS guest WHERE n.oid = source);
    revokes := revokes || ARRAY(
        SELECT ARRAY[n.nspowner::text, NULL, NULL, format('REVOKE CREATE ON SCHEMA %I FROM %s', target, guest)]
        FROM pg_namespace n, unnest(guests) AS guest WHERE n.oid = source);

    by_default := ARRAY(
        SELECT ARRAY[d.defaclrole::text, NULL, NULL,
                     format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT %s ON %s TO %s%s', pg_get_userbyid(d.defaclrole), target,
                            string_agg(e.privilege_type, ', '),
                            CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS' ELSE 'TYPES' END,
                            CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END,
                            CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' END)]
        FROM pg_default_acl d, aclexplode(d.defaclacl) AS e
        WHERE d.defaclnamespace = source
        GROUP BY d.oid, d.defaclrole, d.defaclobjtype, e.grantee, e.is_grantable);
END
