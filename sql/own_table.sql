-- The extension's own tables are used only if they are what the extension has made,
-- and nothing that somebody has attached to them is executed.
CREATE VIEW own AS
SELECT t.name, c.oid::regclass::text, c.relkind, a.amname
FROM (VALUES ('flake_shard_state'), ('flake_leases'), ('flake_shard_map')) AS t (name)
JOIN pg_class c ON c.relname = t.name JOIN pg_am a ON a.oid = c.relam;
SELECT * FROM own ORDER BY name;
SELECT flake_create_generator('owned', 'ts:41 shard:5 seq:17 epoch=2020-01-01');
CREATE FUNCTION trap() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$;
CREATE FUNCTION trap(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE 'trapped'; END$$;
CREATE FUNCTION try_all(unused_shard int DEFAULT 0) RETURNS TABLE (call text, code text, message text) LANGUAGE sql AS $$
SELECT c.call, a.code, a.message
FROM (VALUES ('flake_detach(0, $1)'), ('flake_attach(0, generator => $1)'), ('flake_id($2, $1)'),
             ('flake_lease(''a'', ''1 min'', $1)'), ('flake_renew(''a'', ''1 min'', $1)'),
             ('flake_release(''a'', $1)'), ('flake_server(5)')) AS c (call),
     attempt(replace(replace('SELECT ' || c.call, '$1', quote_literal('owned')), '$2', unused_shard::text)) a
$$;

-- Triggers, rules, policies, checks and defaults are not executed.
BEGIN;
ALTER TABLE flake_leases DROP CONSTRAINT flake_leases_shard_fkey;
CREATE TRIGGER trap BEFORE INSERT OR UPDATE OR DELETE ON flake_shard_state FOR EACH ROW EXECUTE FUNCTION trap();
CREATE TRIGGER trap BEFORE INSERT OR UPDATE OR DELETE ON flake_leases FOR EACH ROW EXECUTE FUNCTION trap();
ALTER TABLE flake_shard_state ENABLE ALWAYS TRIGGER trap;
ALTER TABLE flake_leases ENABLE ALWAYS TRIGGER trap;
CREATE RULE trap AS ON INSERT TO flake_shard_state DO INSTEAD NOTIFY trap;
CREATE RULE trap AS ON UPDATE TO flake_leases DO INSTEAD NOTIFY trap;
ALTER TABLE flake_shard_state ADD CHECK (trap(shard) > 0), ALTER changed_at SET DEFAULT trap(1)::text::timestamptz;
ALTER TABLE flake_leases ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
CREATE POLICY trap ON flake_leases USING (trap(shard) > 0);
SELECT * FROM try_all();
ROLLBACK;

-- Another table in its place, an index that calls something, another column:
-- each is an error, whatever is called.
CREATE VIEW variants AS
SELECT v.* FROM (VALUES
    (1, 'flake_shard_state', 'ALTER TABLE %1$s RENAME TO renamed; CREATE TABLE %1$s (LIKE renamed INCLUDING ALL)'),
    (2, 'flake_shard_state', 'ALTER TABLE %1$s RENAME TO renamed; CREATE VIEW %1$s AS SELECT * FROM renamed'),
    (3, 'flake_shard_state', 'ALTER TABLE %1$s RENAME TO renamed'),
    (4, 'flake_shard_state', 'CREATE INDEX ON %1$s ((shard + 1))'),
    (5, 'flake_shard_state', 'CREATE INDEX ON %1$s (after) WHERE attached'),
    (6, 'flake_shard_state', 'ALTER TABLE %1$s ADD more int'),
    (7, 'flake_leases', 'ALTER TABLE %1$s ALTER expires_at TYPE timestamp'),
    (8, 'flake_leases', 'ALTER TABLE %1$s DROP COLUMN renewed_at'),
    (9, 'flake_shard_state', 'ALTER TABLE flake_leases DROP CONSTRAINT flake_leases_shard_fkey; ALTER TABLE %1$s DROP CONSTRAINT flake_shard_state_pkey'),
    (10, 'flake_shard_state', 'ALTER EXTENSION flakeid DROP TABLE %1$s'),
    (11, 'flake_shard_state', 'ALTER TABLE %1$s OWNER TO flake_own'),
    (12, 'flake_shard_state', 'ALTER TABLE flake_leases DROP CONSTRAINT flake_leases_shard_fkey; ALTER TABLE %1$s SET UNLOGGED'),
    (13, 'flake_shard_state', 'ALTER TABLE flake_leases DROP CONSTRAINT flake_leases_shard_fkey; ALTER TABLE %1$s RENAME TO renamed; CREATE TABLE %1$s (LIKE renamed INCLUDING ALL); ALTER EXTENSION flakeid ADD TABLE %1$s; ALTER TABLE %1$s OWNER TO flake_own'),
    (14, 'flake_leases', 'ALTER TABLE %1$s RENAME TO renamed'),
    (15, 'flake_leases', 'ALTER TABLE %1$s DROP CONSTRAINT flake_leases_owner_key'),
    (16, 'flake_leases', 'ALTER TABLE %1$s ALTER owner TYPE text COLLATE "POSIX"'),
    (17, 'flake_leases', 'CREATE INDEX ON %1$s (lower(owner))'),
    (18, 'flake_shard_map', 'ALTER TABLE %1$s RENAME TO renamed; CREATE TABLE %1$s (LIKE renamed INCLUDING ALL)'),
    (19, 'flake_shard_map', 'ALTER TABLE %1$s ALTER server TYPE text'),
    (20, 'flake_leases', 'CALL free_column(); ALTER TABLE %1$s ALTER generator TYPE regclass'),
    (21, 'flake_leases', 'CALL free_column(); CREATE SCHEMA other; CREATE DOMAIN other._flake_regclass AS oid; ALTER TABLE %1$s ALTER generator TYPE other._flake_regclass'),
    (22, 'flake_leases', 'CALL free_column(); ALTER TYPE _flake_regclass RENAME TO renamed; CREATE DOMAIN _flake_regclass AS oid; ALTER TABLE %1$s ALTER generator TYPE _flake_regclass'),
    (23, 'flake_shard_state', 'ALTER EXTENSION flakeid DROP TYPE _flake_regclass'),
    (24, 'flake_shard_state', 'ALTER TYPE _flake_regclass OWNER TO flake_own')
) AS v (n, name, command);
CREATE PROCEDURE free_column() LANGUAGE sql AS $$
ALTER EXTENSION flakeid DROP FUNCTION _flake_restored();
DROP FUNCTION _flake_restored();
ALTER EXTENSION flakeid DROP VIEW flake_shards;
DROP VIEW flake_shards;
ALTER TABLE flake_leases DROP CONSTRAINT flake_leases_shard_fkey;
$$;
CREATE ROLE flake_own;
GRANT CREATE ON SCHEMA public TO flake_own;
CREATE FUNCTION try_variants() RETURNS TABLE (n int, refused text) LANGUAGE plpgsql AS $$
DECLARE
    v record;
BEGIN
    SET LOCAL client_min_messages = warning;
    FOR v IN SELECT * FROM variants ORDER BY n LOOP
        BEGIN
            ALTER EXTENSION flakeid DROP VIEW flake_health;     -- it names their columns
            DROP VIEW flake_health;
            EXECUTE format(v.command, v.name);
            n := v.n;
            SELECT string_agg(code || ' ' || substring(call from '\w+'), ', ') INTO refused
            FROM try_all(v.n) AS t WHERE code ~ '^(55000|42P01)$';
            RAISE SQLSTATE 'ROLLB';
        EXCEPTION WHEN SQLSTATE 'ROLLB' THEN
            RETURN NEXT;
        END;
    END LOOP;
END
$$;
SELECT * FROM try_variants();
\x on
BEGIN;
CREATE INDEX ON flake_leases (lower(owner));
SELECT * FROM attempt($$SELECT flake_lease('a', '1 min', 'owned')$$);
ROLLBACK;
\x off

-- More indexes of columns are no harm: REINDEX CONCURRENTLY makes some.
CREATE INDEX more ON flake_shard_state (changed_at, shard);
REINDEX TABLE CONCURRENTLY flake_shard_state;
REINDEX TABLE CONCURRENTLY flake_leases;
SELECT call, code FROM try_all();
SET enable_seqscan = off;
SELECT generator, shard, attached FROM flake_shard_state ORDER BY changed_at, shard;
RESET enable_seqscan;
DROP INDEX more;

-- Their generators are of a type that reads the names of relations as regclass
-- does, but does not mind those that do not exist.
CREATE SCHEMA "Hid den";
CREATE SEQUENCE "Hid den"."a.""b""";
SET ROLE flake_own;
SELECT t.name, t.name::_flake_regclass AS value, t.name::_flake_regclass::oid = to_regclass('owned') AS owned
FROM (VALUES ('owned'), ('public.owned'), (' "public" . OWNED '), ('"OWNED"'), ('nowhere.owned'), ('public.nothing'), ('nothing'),
             ('pg_class'), ('"Hid den"."a.""b"""'), ('1259'), ('4000000000'), ('-'), ('0')) AS t (name);
SELECT t.command, a.code, a.message
FROM (VALUES ('SELECT $$$$::_flake_regclass'), ('SELECT $$"$$::_flake_regclass'), ('SELECT $$.a$$::_flake_regclass'),
             ('SELECT $$other.public.owned$$::_flake_regclass'), ('SELECT $$a.b.c.d$$::_flake_regclass'),
             ('SELECT $$99999999999$$::_flake_regclass')) AS t (command), attempt(t.command) AS a;
SELECT _flake_regclass_send('pg_class');
RESET ROLE;
DROP SCHEMA "Hid den" CASCADE;

-- What goes with regclass goes with it.
SELECT generator, flake_layout_of(generator) AS layout, pg_typeof(generator), generator::regclass::oid = generator AS same
FROM flake_leases WHERE generator = 'owned'::regclass;
SELECT count(DISTINCT generator), max(generator)::regclass FROM flake_leases JOIN flake_shard_state USING (generator, shard)
WHERE generator IN ('owned'::regclass, 'flake_default'::regclass) AND generator <> 0;
SELECT generator FROM flake_leases UNION SELECT 'owned'::regclass;

-- A row whose generator does not exist is skipped, and no other.
INSERT INTO flake_shard_state VALUES ('nothing', 5, false, 1, now()), ('owned', 5, false, 1, now()), ('4000000000', 6, true, NULL, now());
COPY flake_shard_state (generator, shard, attached, after, changed_at) FROM stdin;
owned	6	f	1	2026-01-01 00:00:00Z
"no.Where"."a thing"	7	f	1	2026-01-01 00:00:00Z
-	8	f	1	2026-01-01 00:00:00Z
owned	7	f	1	2026-01-01 00:00:00Z
\.
INSERT INTO flake_leases SELECT '-', shard, 'x', role, not_before, expires_at, renewed_at FROM flake_leases;
SELECT code, message FROM attempt('INSERT INTO flake_shard_state VALUES (NULL, 9, false, 1, now())');
SELECT code, message FROM attempt($$INSERT INTO flake_shard_state SELECT 'owned'::regclass, NULL, false, 1, now()$$);
UPDATE flake_shard_state SET after = 2 WHERE shard = 7 RETURNING generator, shard, after;
DELETE FROM flake_shard_state WHERE shard IN (5, 6, 7, 8) RETURNING generator, shard;

-- A lease is of a shard that is detached.
UPDATE flake_shard_state SET attached = true WHERE generator = 'owned'::regclass AND shard = 31;
SELECT code, message, hint FROM attempt($$SELECT flake_renew('a', '1 min', 'owned')$$);
UPDATE flake_leases SET expires_at = now() - interval '1 h', not_before = now() - interval '2 h' WHERE generator = 'owned'::regclass;
SELECT shard <> 31 AS "another shard" FROM flake_lease('b', '1 min', 'owned');

-- nor is one whose lease is over if it is another server's by now
SELECT flake_release('b', 'owned');
UPDATE flake_leases SET expires_at = now() - interval '1 h' WHERE generator = 'owned'::regclass;
UPDATE flake_shard_state SET attached = false WHERE generator = 'owned'::regclass AND shard = 31;
INSERT INTO flake_shard_map VALUES ('[30,)', 'elsewhere');
SELECT shard FROM flake_lease('c', '1 min', 'owned');
DELETE FROM flake_shard_map;
SELECT shard FROM flake_lease('d', '1 min', 'owned');

-- The end of time is no overflow.
UPDATE flake_leases SET expires_at = '294276-12-31 23:59:59.999999Z', not_before = '294276-12-31Z',
    renewed_at = '294276-12-31 23:59:59.999999Z' WHERE generator = 'owned'::regclass;
SELECT code, message FROM attempt($$SELECT flake_lease('d', '1 min', 'owned')$$);
SELECT code, message FROM attempt($$SELECT flake_renew('d', '1 min', 'owned')$$);
SELECT code, message, detail ~ '294276' AS "at the end of time" FROM attempt($$SELECT flake_detach(31, 'owned')$$);

-- flake_server() reads the map with the caller's rights.
INSERT INTO flake_shard_map VALUES ('(,5)', 'below'), ('[7,7]', 'seven'), ('[2147483646,)', 'above');
SELECT flake_server(-5), flake_server(4), flake_server(7), flake_server(2147483647);
SELECT code FROM attempt('SELECT flake_server(5)') UNION ALL SELECT code FROM attempt('SELECT flake_server(8)');
REVOKE SELECT ON flake_shard_map FROM PUBLIC;
SET ROLE flake_own;
SELECT code, message FROM attempt('SELECT flake_server(7)');
RESET ROLE;
GRANT SELECT ON flake_shard_map TO PUBLIC;
ALTER TABLE flake_shard_map ENABLE ROW LEVEL SECURITY;
SET ROLE flake_own;
SELECT code, message, hint FROM attempt('SELECT flake_server(7)');
RESET ROLE;
ALTER TABLE flake_shard_map DISABLE ROW LEVEL SECURITY;
-- as the snapshot of the query has it
BEGIN ISOLATION LEVEL REPEATABLE READ;
DELETE FROM flake_shard_map WHERE server = 'seven';
SELECT code FROM attempt('SELECT flake_server(7)');
ROLLBACK;
SELECT flake_server(7);
DELETE FROM flake_shard_map;

DROP SEQUENCE owned;
SELECT flake_detach(5) > 0 AS bound;
SELECT flake_attach(5);
SELECT count(*) FROM flake_shard_state WHERE generator <> 'flake_default'::regclass;
DELETE FROM flake_shard_state;
REVOKE CREATE ON SCHEMA public FROM flake_own;
DROP ROLE flake_own;
DROP FUNCTION try_variants, try_all(int), trap(), trap(int);
DROP PROCEDURE free_column;
DROP VIEW variants, own;
