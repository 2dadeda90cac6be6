DECLARE
    uuids pg_catalog.oid[];         -- tables whose column is a UUID
    own_views pg_catalog.oid[];
    typed pg_catalog.oid[];         -- what has their row types
    sequences pg_catalog.oid[];
    lost pg_catalog.oid[];          -- those of them that are dropped
BEGIN
    -- Those that are not bigint yet have to be.  The type of a column cannot change
    -- under a view, nor a view's under another.  No UUID changes, also not what refers
    -- to it.
    uuids := ARRAY(SELECT u.target FROM unnest(targets, columns) AS u (target, attname)
                   JOIN pg_attribute a ON a.attrelid = u.target AND a.attname = u.attname AND a.atttypid = 'uuid'::regtype);
    SELECT c.relations, c.attributes, c.all_relations, c.all_attributes, c.tables
    INTO relations, attributes, all_relations, all_attributes, tables
    FROM (SELECT array_agg(u.target), array_agg(u.attname) FROM unnest(targets, columns) AS u (target, attname) WHERE u.target <> ALL (uuids)) AS n (targets, columns)
    CROSS JOIN LATERAL @extschema@._flake_migrate_columns(ticket, n.targets, n.columns) AS c;
    IF relations IS NULL THEN
        tables := targets;
    END IF;
    SELECT v.views, v.circular INTO views, circular
    FROM @extschema@._flake_migrate_views(ticket, all_relations, all_attributes) AS v;
    types := ARRAY(SELECT DISTINCT d.refobjid
                   FROM pg_rewrite w
                   JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_type'::regclass
                   JOIN pg_type t ON t.oid = d.refobjid AND t.typrelid <> ALL (views)
                    AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = t.typelem AND e.typrelid = ANY (views))
                   WHERE w.ev_class = ANY (views));

    -- Whoever may not change what is locked here is told so afterwards.
    own_views := ARRAY(SELECT c.oid FROM pg_class c WHERE c.oid = ANY (views) AND pg_has_role(c.relowner, 'USAGE'));
    SELECT coalesce(array_agg(DISTINCT c.oid), '{}'),
           coalesce(array_agg(DISTINCT c.oid) FILTER (WHERE (drop_sequence OR a.attidentity <> '') AND pg_has_role(c.relowner, 'USAGE')), '{}')
    INTO sequences, lost
    FROM unnest(targets, columns) AS u (target, attname)
    JOIN pg_attribute a ON a.attrelid = u.target AND a.attname = u.attname
    JOIN pg_class c ON c.oid = @extschema@._flake_old_sequence(u.target, u.attname)
    WHERE NOT dry_run OR pg_has_role(c.relowner, 'USAGE');
    -- Foreign keys are made anew.
    keys := ARRAY(SELECT DISTINCT l.other
                  FROM unnest(relations, attributes) AS u (relation, attname)
                  CROSS JOIN LATERAL unnest(@extschema@._flake_linked(u.relation, u.attname)) AS l (other)
                  JOIN pg_class c ON c.oid = l.other
                  WHERE has_any_column_privilege(l.other, 'REFERENCES') AND (NOT dry_run OR pg_has_role(c.relowner, 'USAGE'))
                  ORDER BY l.other);
    trees := ARRAY(SELECT DISTINCT c.oid
                   FROM unnest(targets || tables || own_views || lost) AS t (oid) JOIN pg_class c USING (oid)
                   WHERE NOT dry_run OR pg_has_role(c.relowner, 'USAGE') ORDER BY c.oid);
    -- What has their row types, PostgreSQL opens: a composite type, a view.
    IF NOT dry_run THEN
        typed := ARRAY(
            WITH RECURSIVE part (classid, objid) AS (
                SELECT 'pg_type'::regclass::oid, c.reltype FROM pg_class c WHERE c.oid = ANY (all_relations) AND c.reltype <> 0
                UNION
                SELECT o.classid, o.objid
                FROM part p
                CROSS JOIN LATERAL (
                    SELECT d.classid, d.objid FROM pg_depend d
                    WHERE p.classid = 'pg_type'::regclass AND d.refclassid = 'pg_type'::regclass AND d.refobjid = p.objid
                      AND d.classid IN ('pg_type'::regclass, 'pg_class'::regclass)
                    UNION ALL
                    SELECT 'pg_type'::regclass, c.reltype FROM pg_class c
                    WHERE p.classid = 'pg_class'::regclass AND c.oid = p.objid AND c.reltype <> 0) AS o (classid, objid)
            )
            SELECT objid FROM part WHERE classid = 'pg_class'::regclass);
    END IF;
    named := ARRAY(SELECT DISTINCT c.oid
                   FROM unnest(@extschema@._flake_named_relations(own_views) || typed || sequences || generator::oid
                               || CASE WHEN uuids <> '{}' THEN '@extschema@.flake_default_uuidv7'::regclass::oid END) AS t (oid)
                   JOIN pg_class c USING (oid)
                   ORDER BY c.oid);

    -- Of what will be named
    schemas := ARRAY(SELECT relnamespace FROM pg_class WHERE oid = ANY (targets || tables || sequences || generator::oid) OR oid = ANY (views)
                     UNION SELECT typnamespace FROM pg_type WHERE oid = ANY (types)
                     UNION SELECT c.relnamespace
                     FROM pg_rewrite w
                     JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_class'::regclass
                     JOIN pg_class c ON c.oid = d.refobjid
                     WHERE w.ev_class = ANY (own_views)
                     ORDER BY 1);
END
