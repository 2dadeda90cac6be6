--
-- What applications, dumps and other programs depend on.
--
-- After version 1.0, nothing of what is listed here may change or go away: there
-- may only be more.  A line that is gone or different in a diff is a mistake.
--
-- Frozen in the same way are the ids of the presets (preset.sql), the binary format
-- of layouts (layout.sql), seals (seal.sql), text forms (text.sql, wide.sql), the
-- shards of keys (route.sql), and which errors there are at all (t/install_script.pl).
--
-- What begins with _flake_ is not for others, but for what a library must have for
-- this version of the extension, which pg_upgrade brings along.
--
\pset format unaligned
\pset tuples_only on
SELECT flake_id(5) > 0 AS "loads the library";
CREATE VIEW member AS
SELECT d.classid, d.objid FROM pg_depend d
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid');
-- those who may do something, but for the owner
CREATE FUNCTION grantees(acl aclitem[], owner oid) RETURNS text LANGUAGE sql STABLE AS $$
    SELECT coalesce(string_agg(g.who || ': ' || g.rights, '; ' ORDER BY g.who COLLATE "C"), '-')
    FROM (SELECT CASE e.grantee WHEN 0 THEN 'everybody' ELSE e.grantee::regrole::text END AS who,
                 string_agg(DISTINCT e.privilege_type, ', ' ORDER BY e.privilege_type) AS rights
          FROM aclexplode(acl) e WHERE e.grantee <> owner GROUP BY 1) AS g
$$;

-- Functions: arguments, result; properties; who may execute it; the errors in its description
SELECT format('%s(%s) -> %s', p.proname, replace(pg_get_function_arguments(p.oid), quote_literal('instagram'::flake_layout), '''instagram'''), pg_get_function_result(p.oid)),
       concat_ws(' ', CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' ELSE 'volatile' END,
                 CASE WHEN p.proisstrict THEN 'strict' END,
                 'parallel ' || CASE p.proparallel WHEN 's' THEN 'safe' WHEN 'r' THEN 'restricted' ELSE 'unsafe' END),
       grantees(coalesce(p.proacl, acldefault('f', p.proowner)), p.proowner),
       (SELECT string_agg(DISTINCT code[1], ' ') FROM regexp_matches(obj_description(p.oid, 'pg_proc'), '\m[0-5][0-9A-Z]{4}\M', 'g') AS code)
FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
WHERE p.proname !~ '^_'
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- Functions in C: what they are called in the library
SELECT p.oid::regprocedure, p.prosrc
FROM member m JOIN pg_proc p ON m.classid = 'pg_proc'::regclass AND p.oid = m.objid
JOIN pg_language l ON l.oid = p.prolang AND l.lanname IN ('c', 'internal')
ORDER BY p.oid::regprocedure::text COLLATE "C";

-- Types: length, alignment, storage; functions for input, output and so on; who may use it
SELECT t.oid::regtype, t.typlen, t.typalign, t.typstorage, t.typinput, t.typoutput, t.typreceive, t.typsend,
       grantees(coalesce(t.typacl, acldefault('T', t.typowner)), t.typowner)
FROM member m JOIN pg_type t ON m.classid = 'pg_type'::regclass AND t.oid = m.objid
WHERE t.typtype = 'b' AND t.typelem = 0
ORDER BY t.oid::regtype::text COLLATE "C";
SELECT o.oid::regoperator, o.oprcode, o.oprcom::regoperator, o.oprnegate::regoperator, o.oprcanhash, o.oprcanmerge
FROM member m JOIN pg_operator o ON m.classid = 'pg_operator'::regclass AND o.oid = m.objid
ORDER BY o.oid::regoperator::text COLLATE "C";
SELECT o.opcname, a.amname, o.opcintype::regtype, o.opcdefault
FROM member m JOIN pg_opclass o ON m.classid = 'pg_opclass'::regclass AND o.oid = m.objid JOIN pg_am a ON a.oid = o.opcmethod;
SELECT format('%s AS %s', c.castsource::regtype, c.casttarget::regtype), c.castcontext, c.castmethod
FROM member m JOIN pg_cast c ON m.classid = 'pg_cast'::regclass AND c.oid = m.objid
ORDER BY c.castsource::regtype::text COLLATE "C", c.casttarget::regtype::text COLLATE "C";

-- Views, tables, sequences: columns; who may do what
SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'S' THEN 'sequence' ELSE 'table' END, c.relname,
       string_agg(concat_ws(' ', a.attname, format_type(a.atttypid, a.atttypmod), CASE WHEN a.attnotnull THEN 'not null' END,
                            (SELECT 'collate ' || l.collname FROM pg_collation l JOIN pg_type t ON t.oid = a.atttypid
                             WHERE l.oid = a.attcollation AND l.oid <> t.typcollation)), ', ' ORDER BY a.attnum) FILTER (WHERE c.relkind <> 'S'),
       grantees(c.relacl, c.relowner)
FROM member m JOIN pg_class c ON m.classid = 'pg_class'::regclass AND c.oid = m.objid
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0
WHERE c.relkind IN ('v', 'S', 'r', 'p')
GROUP BY c.oid ORDER BY c.relkind, c.relname COLLATE "C";
SELECT k.conrelid::regclass, k.conname, pg_get_constraintdef(k.oid)
FROM member m JOIN pg_constraint k ON m.classid = 'pg_class'::regclass AND k.conrelid = m.objid
WHERE k.contype <> 'n' ORDER BY k.conrelid::regclass::text COLLATE "C", k.conname COLLATE "C";
SELECT t.tgrelid::regclass, t.tgname, t.tgfoid::regproc, t.tgtype, t.tgenabled
FROM member m JOIN pg_trigger t ON m.classid = 'pg_class'::regclass AND t.tgrelid = m.objid
WHERE NOT t.tgisinternal ORDER BY t.tgrelid::regclass::text COLLATE "C", t.tgname COLLATE "C";
SELECT q.seqrelid::regclass, q.seqtypid::regtype, q.seqincrement, q.seqmin, q.seqmax, q.seqstart, q.seqcache, q.seqcycle
FROM member m JOIN pg_sequence q ON m.classid = 'pg_class'::regclass AND q.seqrelid = m.objid
ORDER BY q.seqrelid::regclass::text COLLATE "C";

-- Event triggers
SELECT e.evtname, e.evtevent, e.evttags, e.evtfoid::regproc, e.evtenabled
FROM member m JOIN pg_event_trigger e ON m.classid = 'pg_event_trigger'::regclass AND e.oid = m.objid
ORDER BY e.evtname;

-- Foreign-data wrappers: who may make servers of them
SELECT w.fdwname, w.fdwhandler::regproc, w.fdwvalidator::regproc, grantees(coalesce(w.fdwacl, acldefault('F', w.fdwowner)), w.fdwowner)
FROM member m JOIN pg_foreign_data_wrapper w ON m.classid = 'pg_foreign_data_wrapper'::regclass AND w.oid = m.objid;

-- Settings: type, unit, default, range, who may set it
SELECT name, vartype, unit, boot_val, min_val, max_val, enumvals, context FROM pg_settings
WHERE name LIKE 'flakeid.%' ORDER BY name;
-- all settings are found by their names, also the server's
SELECT count(*) - count(current_setting(name)) FROM pg_settings;

-- What a dump has of the extension
SELECT extrelocatable FROM pg_extension WHERE extname = 'flakeid';
SELECT t.id::regclass, t.condition
FROM pg_extension e, unnest(e.extconfig, e.extcondition) AS t (id, condition)
WHERE e.extname = 'flakeid' ORDER BY t.id::regclass::text COLLATE "C";

-- and of a generator: its bounds, its label, its rows
CREATE SCHEMA frozen;
SELECT flake_create_generator('frozen.timed', 'ts:41 shard:13 seq:10 epoch=2011-08-24T21:07:01.721Z');
SELECT flake_create_generator('frozen.numbered', 'shard:8 seq:55 block=100', after => 5000);
SELECT q.seqrelid::regclass, q.seqtypid::regtype, q.seqincrement, q.seqmin, q.seqmax, q.seqcache, q.seqcycle, l.provider, l.label
FROM pg_sequence q JOIN pg_seclabel l ON l.classoid = 'pg_class'::regclass AND l.objoid = q.seqrelid
WHERE q.seqrelid IN ('frozen.timed'::regclass, 'frozen.numbered'::regclass) ORDER BY q.seqrelid;
SELECT last_value, is_called FROM frozen.numbered;
SELECT flake_detach(3, 'frozen.numbered');
SELECT generator, shard, attached, after FROM flake_shard_state WHERE generator = 'frozen.numbered'::regclass;
SELECT shard FROM flake_lease('a process', '1 hour', 'frozen.timed');
SELECT generator, shard, owner, role = current_user, not_before < expires_at
FROM flake_leases WHERE generator = 'frozen.timed'::regclass;
SELECT generator, shard, attached FROM flake_shard_state WHERE generator = 'frozen.timed'::regclass;

-- Presets
SELECT name, layout FROM flake_presets;

SET client_min_messages = warning;
DROP SCHEMA frozen CASCADE;
DROP FUNCTION grantees;
DROP VIEW member;
