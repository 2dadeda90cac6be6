DECLARE
    problem pg_catalog.record;
BEGIN
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
END
