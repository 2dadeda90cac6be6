    SELECT c.oid
    FROM pg_attribute a
    JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
                        AND d.refobjid = target AND d.refobjsubid = a.attnum AND d.deptype IN ('a', 'i')
                     OR d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass
                        AND d.objid = (SELECT f.oid FROM pg_attrdef f WHERE f.adrelid = target AND f.adnum = a.attnum)
    JOIN pg_class c ON c.oid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid ELSE d.refobjid END AND c.relkind = 'S'
    WHERE a.attrelid = target AND a.attname = attribute
      AND NOT EXISTS (SELECT FROM pg_seclabel l       -- generators are not old sequences
                      WHERE l.classoid = 'pg_class'::regclass AND l.objoid = c.oid AND l.provider = 'flakeid')
    ORDER BY d.deptype = 'i' DESC, c.oid LIMIT 1
