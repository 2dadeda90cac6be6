--
-- Who may do what.
--
CREATE ROLE flake_anybody;

-- every object, and who has which privileges on it
CREATE VIEW privileges AS
SELECT o.kind, o.name,
       coalesce((SELECT string_agg(DISTINCT e.privilege_type, ', ' ORDER BY e.privilege_type)
                 FROM aclexplode(o.acl) e WHERE e.grantee = 0), '') AS anybody,
       coalesce((SELECT string_agg(DISTINCT e.privilege_type, ', ' ORDER BY e.privilege_type)
                 FROM aclexplode(o.acl) e WHERE e.grantee = (SELECT oid FROM pg_roles WHERE rolname = 'pg_monitor')), '') AS pg_monitor,
       (SELECT string_agg(DISTINCT e.grantee::regrole::text, ', ') FROM aclexplode(o.acl) e
        WHERE e.grantee NOT IN (0, (SELECT oid FROM pg_roles WHERE rolname = 'pg_monitor'), o.owner)) AS others
FROM pg_depend d
JOIN LATERAL (
    SELECT CASE relkind WHEN 'S' THEN 'sequence' WHEN 'v' THEN 'view' WHEN 'r' THEN 'table' ELSE relkind::text END AS kind, relname::text AS name,
           coalesce(relacl, acldefault(CASE relkind WHEN 'S' THEN 's' ELSE 'r' END::"char", relowner)) AS acl, relowner AS owner
    FROM pg_class WHERE d.classid = 'pg_class'::regclass AND oid = d.objid
    UNION ALL
    SELECT 'function', oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner)), proowner
    FROM pg_proc WHERE d.classid = 'pg_proc'::regclass AND oid = d.objid
    UNION ALL
    SELECT 'type', oid::regtype::text, coalesce(typacl, acldefault('T', typowner)), typowner
    FROM pg_type WHERE d.classid = 'pg_type'::regclass AND oid = d.objid AND typelem = 0 AND typtype <> 'c'
    UNION ALL
    SELECT 'event trigger', evtname::text, NULL, evtowner
    FROM pg_event_trigger WHERE d.classid = 'pg_event_trigger'::regclass AND oid = d.objid) AS o ON true
WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid');
-- All else that somebody may call is in surface.sql.
SELECT kind, name, anybody, pg_monitor FROM privileges
WHERE name ~ '^_' AND anybody <> CASE kind WHEN 'function' THEN 'EXECUTE' WHEN 'type' THEN 'USAGE' ELSE '' END
ORDER BY kind, name COLLATE "C";
SELECT * FROM privileges WHERE others IS NOT NULL;
-- and none has another's rights
SELECT name FROM privileges JOIN pg_proc ON oid::regprocedure::text = name WHERE kind = 'function' AND prosecdef;

-- What must not be done to the extension's objects, by somebody who may mint
SELECT flake_create_generator('not_his');
SELECT flake_id(300), flake_id(300, 'not_his') \g /dev/null
SELECT flake_detach(301) > 0 AS detached;
SELECT shard AS leased FROM flake_lease('an owner') \gset
INSERT INTO flake_shard_map VALUES ('[0,63]', 'here');
CREATE TABLE forbidden (n int GENERATED ALWAYS AS IDENTITY, command text);
INSERT INTO forbidden (command) VALUES
    -- horizons
    ($$SELECT setval('flake_default', 1125899906842623)$$),
    ($$SELECT setval('not_his', 1)$$),
    ($$SELECT nextval('flake_default')$$),
    ($$SELECT last_value FROM not_his$$),
    ($$ALTER SEQUENCE flake_default RESTART$$),
    ($$ALTER SEQUENCE flake_default INCREMENT 1$$),
    ($$ALTER SEQUENCE flake_default RENAME TO x$$),
    ($$ALTER SEQUENCE flake_default OWNER TO flake_anybody$$),
    ($$DROP SEQUENCE not_his$$),
    ($$SECURITY LABEL FOR flakeid ON SEQUENCE flake_default IS 'seq:63'$$),
    ($$SECURITY LABEL FOR flakeid ON SEQUENCE not_his IS NULL$$),
    ($$SELECT flake_rewind('flake_default', 1)$$),
    ($$SELECT flake_advance('flake_default', 1)$$),
    ($$SELECT flake_advance('not_his', 1)$$),
    ($$SELECT flake_would_exceed('not_his', 5, 1)$$),
    ($$SELECT flake_id(5, 'not_his')$$),
    ($$SELECT flake_ids(5, 0, 'not_his')$$),
    ($$SELECT flake_sibling(5, 'not_his')$$),
    ($$SELECT flake_settled('not_his')$$),
    ($$SELECT flake_settled('not_his', 5)$$),
    ($$SELECT flake_tail(5, 'not_his')$$),
    ($$SELECT flake_tail(5, 'not_his', 5)$$),
    ($$SELECT flake_create_generator('public.x')$$),
    -- shards
    ($$SELECT flake_detach(300)$$),
    ($$SELECT flake_attach(301)$$),
    ($$SELECT flake_detach(300, 'not_his')$$),
    ($$SELECT flake_lease('me')$$),
    ($$SELECT flake_renew('an owner', '1 day')$$),
    ($$SELECT flake_release('an owner')$$),
    ($$SELECT * FROM flake_leases$$),
    ($$SELECT * FROM flake_shard_state$$),
    ($$INSERT INTO flake_shard_state VALUES ('flake_default', 300, false, NULL, now())$$),
    ($$UPDATE flake_shard_state SET attached = true$$),
    ($$DELETE FROM flake_shard_state$$),
    ($$TRUNCATE flake_shard_state, flake_leases$$),
    ($$INSERT INTO flake_leases VALUES ('flake_default', 301, 'me', 'flake_anybody', now(), now(), now())$$),
    ($$UPDATE flake_leases SET role = 'flake_anybody'$$),
    ($$INSERT INTO flake_shard_map VALUES ('[64,65]', 'mine')$$),
    ($$UPDATE flake_shard_map SET server = 'mine'$$),
    ($$DELETE FROM flake_shard_map$$),
    ($$TRUNCATE flake_shard_map$$),
    ($$LOCK TABLE flake_shard_state IN EXCLUSIVE MODE$$),
    ($$LOCK TABLE flake_leases IN ACCESS EXCLUSIVE MODE$$),
    ($$SELECT flake_create_shard(5, 'not_his')$$),
    -- numbers of others, settings
    ($$SELECT * FROM flake_stat$$),
    ($$SELECT * FROM _flake_stat_slots()$$),
    ($$SELECT * FROM flake_unsettled$$),
    ($$SELECT * FROM _flake_holders()$$),
    ($$SELECT flake_stat_reset()$$),
    ($$SELECT flake_accept_clock()$$),
    ($$SELECT * FROM _flake_clock_guard()$$),
    ($$SELECT * FROM _flake_restored()$$),
    ($$SELECT * FROM _flake_restore_of('flake_default')$$),
    ($$SET flakeid.max_ahead = '1 h'$$),
    ($$SET flakeid.require_attach = on$$),
    ($$SET flakeid.worker = '08:00:2b:01:02:03'$$),
    -- traps for who uses it
    ($$CREATE TRIGGER t BEFORE INSERT ON flake_shard_state FOR EACH ROW EXECUTE FUNCTION _flake_keep_state()$$),
    ($$CREATE TRIGGER t INSTEAD OF INSERT ON flake_generators FOR EACH ROW EXECUTE FUNCTION _flake_keep_state()$$),
    ($$CREATE RULE r AS ON INSERT TO flake_shard_map DO ALSO SELECT 1$$),
    ($$CREATE POLICY p ON flake_shard_map USING (true)$$),
    ($$ALTER TABLE flake_shard_map ENABLE ROW LEVEL SECURITY$$),
    ($$ALTER TABLE flake_shard_map ADD CHECK (true)$$),
    ($$CREATE INDEX ON flake_shard_map (server)$$),
    ($$CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION _flake_load_library()$$),
    ($$ALTER EVENT TRIGGER flakeid_load_library DISABLE$$),
    ($$CREATE CAST (text AS flake_layout) WITH INOUT AS IMPLICIT$$),
    ($$CREATE OR REPLACE FUNCTION flake_id(shard int) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint'$$),
    ($$ALTER FUNCTION flake_id(int) SET search_path = x$$),
    ($$CREATE FUNCTION pg_temp.f() RETURNS bigint LANGUAGE c AS '$libdir/flakeid', 'flake_uuid'$$),
    ($$ALTER TYPE flake_layout SET (RECEIVE = _flake_layout_recv)$$),
    ($$CREATE OR REPLACE VIEW flake_generators AS SELECT 1$$),
    ($$COMMENT ON FUNCTION flake_id(int) IS 'mine'$$),
    ($$ALTER EXTENSION flakeid DROP FUNCTION flake_id()$$),
    ($$DROP EXTENSION flakeid CASCADE$$);
GRANT SELECT ON forbidden TO flake_anybody;
SET ROLE flake_anybody;
SELECT a.code, f.command FROM forbidden f, attempt(f.command) a ORDER BY n;
-- calls of what is not for calling do nothing
SELECT _flake_keep_state() IS NULL AS "null", _flake_load_library() IS NULL AS "null";
SELECT _flake_keep_state();
SELECT _flake_load_library();
SELECT _flake_forget_dropped();
SELECT _flake_keep_triggers();

-- What anybody may do
SELECT flake_shard(flake_id(300)), flake_uuid() IS NOT NULL AS uuid, length(flake_objectid()), flake_server(5);
SELECT count(*) >= 3 AS generators, count(horizon) AS "horizons that may be seen" FROM flake_generators;
SELECT generator, shard, state, after IS NOT NULL AS after FROM flake_shards WHERE shard = 301;
RESET ROLE;

-- and without SELECT
REVOKE SELECT ON SEQUENCE flake_default, flake_default_uuid, flake_default_objectid, flake_default_uuidv7 FROM PUBLIC;
SET ROLE flake_anybody;
SELECT a.code, c AS command
FROM unnest(ARRAY['SELECT flake_id(300)', 'SELECT flake_ids(300, 0)', 'SELECT flake_sibling(5)', 'SELECT flake_uuid()',
                  'SELECT flake_objectid()', $$SELECT flake_ids(0, 0, 'flake_default_uuid')$$, 'SELECT flake_uuidv7(300)']) AS c, attempt(c) AS a;
SELECT count(horizon) AS "horizons that may be seen" FROM flake_generators;
SELECT generator, shard, state, after IS NOT NULL AS after FROM flake_shards WHERE shard = 301;
SELECT flake_shard(flake_make('2030-01-01', 5, 0)) AS "reads ids still";
RESET ROLE;
GRANT SELECT ON SEQUENCE flake_default, flake_default_uuid, flake_default_objectid, flake_default_uuidv7 TO PUBLIC;

-- and without what the view of shards shows, also by way of its function
REVOKE SELECT ON flake_shards FROM PUBLIC;
SET ROLE flake_anybody;
SELECT * FROM flake_shards;
SELECT * FROM _flake_shard_rows();
RESET ROLE;
GRANT SELECT ON flake_shards TO PUBLIC;

-- A generator of one's own, and what one can do to it: ids do not repeat, and there is no crash.
CREATE SCHEMA his AUTHORIZATION flake_anybody;
SET ROLE flake_anybody;
CREATE TABLE his.got (id bigint PRIMARY KEY);
SELECT flake_create_generator('his.id', 'seq:63 block=10');
INSERT INTO his.got SELECT flake_ids(0, 25, 'his.id');
ALTER SEQUENCE his.id INCREMENT 1 MINVALUE -5 START 1 RESTART CYCLE;
INSERT INTO his.got SELECT flake_ids(0, 25, 'his.id');
SELECT nextval('his.id') > 25 AS above;
ALTER SEQUENCE his.id AS int MAXVALUE 2147483647 CACHE 1000;
INSERT INTO his.got SELECT nextval('his.id') FROM generate_series(1, 5);
INSERT INTO his.got SELECT flake_ids(0, 25, 'his.id');
SELECT setval('his.id', 2147483647);
SELECT nextval('his.id') AS "it cycles";
INSERT INTO his.got SELECT flake_ids(0, 25, 'his.id');
SELECT count(*) FROM his.got;
ALTER SEQUENCE his.id AS bigint INCREMENT 9223372036854775807 MINVALUE 1 MAXVALUE 9223372036854775807 START 1 NO CYCLE RESTART;
INSERT INTO his.got SELECT flake_ids(0, 25, 'his.id');
SELECT count(*) FROM his.got;
SELECT setval('his.id', 9223372036854775806);
\c -
SET ROLE flake_anybody;
SELECT flake_id(0, 'his.id');
SELECT code, message FROM attempt($$SELECT flake_id(0, 'his.id')$$);
-- a label put on by hand, with bounds that change afterwards
CREATE SEQUENCE his.forged AS bigint INCREMENT 9223372036854775807 MINVALUE -1125899906842625 MAXVALUE 1125899906842623;
SECURITY LABEL FOR flakeid ON SEQUENCE his.forged IS 'ts:41 shard:13 seq:10 epoch=2020-01-01';
ALTER SEQUENCE his.forged AS smallint NO MINVALUE NO MAXVALUE START 1 RESTART;
SELECT flake_shard(flake_id(8191, 'his.forged'), flake_layout_of('his.forged'));
SELECT code FROM attempt($$SELECT nextval('his.forged')$$);
ALTER SEQUENCE his.forged AS bigint INCREMENT 9223372036854775807 MINVALUE -1125899906842625 MAXVALUE 1125899906842623 RESTART;
SELECT flake_shard(flake_id(8191, 'his.forged'), flake_layout_of('his.forged'));
CREATE TABLE his.counted (id smallint GENERATED ALWAYS AS IDENTITY);
SELECT code FROM attempt($$SECURITY LABEL FOR flakeid ON SEQUENCE his.counted_id_seq IS 'seq:63'$$);
-- the extension's trigger functions on a table of his
CREATE TRIGGER t BEFORE INSERT OR UPDATE OR DELETE ON his.got FOR EACH ROW EXECUTE FUNCTION _flake_keep_state();
CREATE TRIGGER s AFTER INSERT ON his.got EXECUTE FUNCTION _flake_keep_state();
INSERT INTO his.got VALUES (-1);
SELECT count(*) FROM his.got WHERE id = -1;
-- functions for others, called after the guard that others call, too
SELECT code, message FROM attempt($$SELECT _flake_guard_relation(_flake_guard('public'), 'his.id'::regclass, true)$$);
SELECT role, relation, relation_oid, command, code, message
FROM (VALUES (NULL, 'x', NULL, 'SELECT 1'), ('10', NULL, NULL, NULL), ('10', 'x', 'new', NULL), ('10', 'x', '0', NULL),
             ('10', 'x', '0', 'SELECT 1'), ('10', NULL, '1259', NULL), ('10', 'x', NULL, NULL), ('10', 'public.forbidden', NULL, NULL),
             ('10', 'x', '1259', NULL), ('ten', 'x', NULL, NULL)) AS step (role, relation, relation_oid, command),
     attempt(format($$SELECT _flake_execute_steps(_flake_guard('public'), '{}', '{}', '{}', ARRAY[[%L, %L, %L, %L]], false)$$,
                    role, relation, relation_oid, command));
SELECT query, types, code, message
FROM (VALUES ('', '{}'), ('SELECT 1; SELECT 2', '{}'), ('DELETE FROM public.forbidden', '{}'), ('SELECT 1', '{20}')) AS bad (query, types),
     attempt(format($$SELECT _flake_rebind(_flake_guard('public'), %L, '{}', '{}', %L)$$, query, types));
SELECT code, message FROM attempt($$SELECT _flake_rebind(_flake_guard('public'), 'SELECT relname FROM pg_class', '{1259}', '{2}', '{1}')$$);
-- settings put in place before the library is loaded
\c -
SET ROLE flake_anybody;
SET flakeid.max_ahead = '1 h';
SELECT flake_id(300) > 0 AS id;
SHOW flakeid.max_ahead;
RESET ROLE;

SET client_min_messages = warning;
DROP SCHEMA his CASCADE;
DROP SEQUENCE not_his;
DROP TABLE forbidden;
DROP VIEW privileges;
UPDATE flake_leases SET expires_at = now() - interval '16 s' WHERE owner = 'an owner';
SELECT flake_attach(:leased), flake_attach(301);
DELETE FROM flake_shard_map;
DELETE FROM flake_shard_state;
DROP ROLE flake_anybody;
