-- A server that is a copy: flake_detach_all() and flake_renumber().  With servers
-- they are tested by t/copies.pl, what a restore leaves by t/restored.pl.

\set VERBOSITY terse
\set SHOW_CONTEXT never
SELECT flake_create_generator('copies_id', 'ts:41 shard:13 seq:10 epoch=2026-01-01');
SELECT flake_id(1, 'copies_id') > 0, flake_id(2, 'copies_id') > 0;
SELECT flake_attach(3, generator => 'copies_id');
SELECT flake_id(3, 'copies_id') AS third \gset
SELECT shard AS leased FROM flake_lease('copies', '1 hour', 'copies_id') \gset

-- All or nothing
BEGIN;
SELECT flake_detach_all('copies_id');
SELECT flake_id(1, 'copies_id');
ROLLBACK;
SELECT flake_id(1, 'copies_id') > 0, flake_id(3, 'copies_id') > :third;
SELECT count(*) FROM flake_leases WHERE generator = 'copies_id'::regclass;

SELECT flake_detach_all('copies_id');
SELECT shard, state FROM flake_shards WHERE generator = 'copies_id'::regclass ORDER BY shard;
SELECT count(*) FROM flake_leases WHERE generator = 'copies_id'::regclass;
-- an attached shard keeps its bound, a leased one begins after the lease
SELECT (SELECT after >= :third FROM flake_shards WHERE generator = 'copies_id'::regclass AND shard = 3) AS attached,
       (SELECT flake_timestamp(after, flake_layout_of('copies_id')) > now() + interval '1 hour' FROM flake_shards
        WHERE generator = 'copies_id'::regclass AND shard = :leased) AS leased;
\set VERBOSITY default
SELECT flake_id(1, 'copies_id');
SELECT flake_id(3, 'copies_id');
-- one that was never used
SELECT flake_id(77, 'copies_id');
SELECT flake_lease('copies', '1 hour', 'copies_id');
SELECT flake_renew('copies', '1 hour', 'copies_id');
\set VERBOSITY terse
-- others go on
SELECT flake_id(1) > 0;
-- again
SELECT flake_detach_all('copies_id');
-- what is attached afterwards can be minted, above what was minted before
SELECT flake_id(2, 'copies_id') IS NULL;
SELECT flake_attach(3, generator => 'copies_id');
SELECT flake_id(3, 'copies_id') > :third;
CREATE TABLE copies_migrated (id bigint PRIMARY KEY);
SELECT * FROM flake_migrate('copies_migrated', 'id', 1, 'copies_id');
DROP TABLE copies_migrated;
-- by hand a superuser can undo it
DELETE FROM flake_shard_state WHERE generator = 'copies_id'::regclass AND shard = -1;
SELECT flake_id(2, 'copies_id') > 0;
INSERT INTO flake_shard_state VALUES ('copies_id', -1, false, NULL, now());
SELECT flake_id(2, 'copies_id');
DELETE FROM flake_shard_state WHERE generator = 'copies_id'::regclass AND shard = -1;

-- Who may, and where
SELECT flake_detach_all('flake_default_uuid');
SELECT flake_detach_all('pg_class');
CREATE ROLE copies_user;
GRANT USAGE ON SEQUENCE copies_id TO copies_user;
SET ROLE copies_user;
SELECT flake_detach_all('copies_id');
SELECT flake_detach_all();
SELECT flake_accept_restore();
SELECT * FROM _flake_health_elsewhere();
SELECT * FROM _flake_restored();
RESET ROLE;
BEGIN READ ONLY;
SELECT flake_detach_all('copies_id');
ROLLBACK;
BEGIN READ ONLY;
SELECT flake_accept_restore();
ROLLBACK;

-- Other numbers
GRANT CREATE ON SCHEMA public TO copies_user;
SET ROLE copies_user;
CREATE TABLE copies_a (
    id    bigint PRIMARY KEY DEFAULT flake_id(5, 'copies_id'),
    plain numeric DEFAULT flake_id(6, 'copies_id'),
    other bigint DEFAULT flake_id(5),
    CONSTRAINT is_5 CHECK (flake_shard(id, 'ts:41 shard:13 seq:10 epoch=2026-01-01') = 5));
CREATE TABLE copies_b (id bigint DEFAULT flake_id(6, 'copies_id'),
                       CONSTRAINT is_6 CHECK (flake_shard(id, 'ts:41 shard:13 seq:10 epoch=2026-01-01') = 6)) PARTITION BY RANGE (id);
CREATE TABLE copies_b1 PARTITION OF copies_b DEFAULT;
COMMENT ON CONSTRAINT is_5 ON copies_a IS E'it\\s "5"';
COMMENT ON CONSTRAINT is_6 ON copies_b IS 'of all';
COMMENT ON CONSTRAINT is_6 ON copies_b1 IS 'of one partition';
INSERT INTO copies_a DEFAULT VALUES;
INSERT INTO copies_b DEFAULT VALUES;
RESET ROLE;
SELECT * FROM flake_renumber('{5,6}', '{905,906}', 'copies_id', dry_run => true);
SELECT count(*) FROM flake_shards WHERE generator = 'copies_id'::regclass AND shard IN (5, 6, 905, 906);
-- refused, and nothing done
\set VERBOSITY default
SELECT flake_renumber('{5,6}', '{905}', 'copies_id');
SELECT flake_renumber('{5,6}', '{6,905}', 'copies_id');
SELECT flake_renumber('{5,5}', '{905,906}', 'copies_id');
SELECT flake_renumber('{}', '{}', 'copies_id');
SELECT flake_renumber('{5}', '{8192}', 'copies_id');
SELECT flake_renumber('{-1}', '{905}', 'copies_id');
INSERT INTO flake_shard_map VALUES ('[905,905]', 'elsewhere');
SELECT flake_renumber('{5,6}', '{905,3}', 'copies_id');
DELETE FROM flake_shard_map WHERE server = 'elsewhere';
SELECT flake_renumber('{5}', '{6}', 'copies_id');
ALTER TABLE copies_a ADD odd bigint DEFAULT coalesce(flake_id(5, 'copies_id'), 1);
SELECT flake_renumber('{5,6}', '{905,906}', 'copies_id');
ALTER TABLE copies_a DROP odd;
SET ROLE copies_user;
CREATE DOMAIN copies_domain AS bigint DEFAULT flake_id(5, 'copies_id');
RESET ROLE;
SELECT flake_renumber('{5,6}', '{905,906}', 'copies_id');
DROP DOMAIN copies_domain;
SELECT flake_renumber('{1}', '{2}', 'pg_class');
SET ROLE copies_user;
SELECT flake_renumber('{5,6}', '{905,906}', 'copies_id');
RESET ROLE;
BEGIN READ ONLY;
SELECT flake_renumber('{5,6}', '{905,906}', 'copies_id');
ROLLBACK;
\set VERBOSITY terse
SELECT flake_renumber(NULL, '{905}', 'copies_id');
SELECT count(*) FROM flake_shards WHERE generator = 'copies_id'::regclass AND shard IN (5, 6, 905, 906);

SELECT count(*) FROM flake_renumber('{5,6}', '{905,906}', 'copies_id');
\d copies_a
\d copies_b1
SELECT conrelid::regclass, conname, obj_description(oid, 'pg_constraint') FROM pg_constraint
WHERE contype = 'c' AND conname LIKE 'is\_%' ORDER BY conrelid::regclass::text COLLATE "C";
INSERT INTO copies_a DEFAULT VALUES RETURNING flake_shard(id, flake_layout_of('copies_id')), flake_shard(plain::bigint, flake_layout_of('copies_id')), flake_shard(other);
INSERT INTO copies_b DEFAULT VALUES RETURNING flake_shard(id, flake_layout_of('copies_id'));
SELECT flake_id(5, 'copies_id');
SELECT shard, state FROM flake_shards WHERE generator = 'copies_id'::regclass AND shard IN (5, 6, 905, 906) ORDER BY shard;

-- a second time, and other forms of a check
CREATE TABLE copies_in (id bigint DEFAULT flake_id(905, 'copies_id'),
                        CONSTRAINT is_in CHECK (flake_shard(id, 'ts:41 shard:13 seq:10 epoch=2026-01-01') IN (905, 17)) NO INHERIT);
SELECT count(*) FROM flake_renumber('{905,906}', '{1905,1906}', 'copies_id');
SELECT conrelid::regclass, connoinherit, regexp_replace(pg_get_expr(conbin, conrelid), '.* = ', '')
FROM pg_constraint WHERE contype = 'c' AND conname LIKE 'is\_%' ORDER BY conrelid::regclass::text COLLATE "C";
INSERT INTO copies_a DEFAULT VALUES;
INSERT INTO copies_b DEFAULT VALUES;
INSERT INTO copies_in DEFAULT VALUES;
DROP TABLE copies_in;

-- Defaults of others: those that do not concern it are not looked at
SELECT flake_create_generator('copies_more', 'ts:41 shard:13 seq:10 epoch=2026-01-01');
GRANT USAGE, UPDATE ON SEQUENCE copies_id TO copies_user;
CREATE ROLE copies_other;
CREATE TABLE copies_short (id bigint DEFAULT flake_id(1), odd bigint DEFAULT flake_id(1) + 0);
CREATE TABLE copies_other (id bigint DEFAULT flake_id(1, 'copies_more') + flake_id(1, 'copies_more'), unset bigint DEFAULT flake_id() + 0);
CREATE TABLE copies_elsewhere (id bigint DEFAULT flake_id(9, 'copies_id'));
ALTER TABLE copies_elsewhere OWNER TO copies_other;
SET ROLE copies_user;
SELECT count(*) FROM flake_renumber('{1905,1906}', '{2905,2906}', 'copies_id');
RESET ROLE;
-- those that do are named
\set VERBOSITY default
ALTER TABLE copies_elsewhere ADD old bigint DEFAULT flake_id(2905, 'copies_id'), ADD odd bigint DEFAULT flake_id(2905, 'copies_id') + 0,
    ADD two bigint DEFAULT flake_id(2905, 'copies_id') + flake_id(2906, 'copies_id'),
    ADD mixed bigint DEFAULT flake_id(2905, 'copies_id') + flake_id(2906, 'copies_more');
SET ROLE copies_user;
SELECT count(*) FROM flake_renumber('{2905,2906}', '{905,3906}', 'copies_id', dry_run => true);
SELECT count(*) FROM flake_renumber('{2905,2906}', '{3905,3906}', 'copies_id');
RESET ROLE;
-- to a superuser all tables count, also against a new shard, unless he says whose
ALTER TABLE copies_elsewhere DROP two, DROP mixed;
SELECT flake_renumber('{3905}', '{4905}', 'copies_id');
ALTER TABLE copies_elsewhere DROP odd, DROP old;
SELECT flake_renumber('{3905}', '{9}', 'copies_id');
SELECT flake_renumber('{3905}', '{9}', 'copies_id', owners => '{copies_user}', dry_run => true);
SELECT flake_renumber('{9}', '{4009}', 'copies_id', owners => '{copies_user}', dry_run => true);
SELECT flake_renumber('{9}', '{4009}', 'copies_id', owners => '{copies_user, copies_other}', dry_run => true);
SELECT flake_renumber('{9}', '{4009}', 'copies_id', owners => '{copies_nobody}');
SET ROLE copies_user;
SELECT flake_renumber('{9}', '{4009}', 'copies_id', owners => '{copies_other}');
RESET ROLE;
\set VERBOSITY terse
INSERT INTO copies_a DEFAULT VALUES;
INSERT INTO copies_b DEFAULT VALUES;
DROP TABLE copies_short, copies_other, copies_elsewhere;
DROP SEQUENCE copies_more;

-- Coercions that nobody has written, and casts in a check
SET ROLE copies_user;
CREATE DOMAIN copies_domain AS bigint;
CREATE TABLE copies_types (
    a copies_domain DEFAULT flake_id(5100) CONSTRAINT is_a CHECK (flake_shard(a) = 5100),
    b text DEFAULT flake_id(5100) CONSTRAINT is_b CHECK (flake_shard(b::bigint, 'instagram') = ANY ('{5100,5101}')),
    c numeric(20) DEFAULT flake_id(5100, 'flake_default') CONSTRAINT is_c CHECK (flake_shard(c::bigint) IN (5100)),
    -- those are others
    d bigint DEFAULT flake_id(5100) CONSTRAINT is_d CHECK (flake_shard(d) <> 5101),
    e bigint DEFAULT flake_id(5100) CONSTRAINT is_e CHECK (flake_shard(e) = ANY ('{5100,null}')),
    f bigint DEFAULT flake_id(5100) CONSTRAINT is_f CHECK (flake_shard(f + 0) = 5100),
    g bigint DEFAULT flake_id(5100) CONSTRAINT is_g CHECK (flake_sequence(g) <> ALL ('{5100}')));
RESET ROLE;
SELECT flake_renumber('{5100}', '{5200}', owners => '{copies_user}');
INSERT INTO copies_types (d, e, f) VALUES (flake_id(5200), NULL, NULL) RETURNING flake_shard(a), flake_shard(b::bigint), flake_shard(c::bigint), flake_shard(d);
-- What is not a call of flake_id() with constants, and what is too long to be one
SELECT _flake_minted_shard(adbin) FROM pg_attrdef WHERE adrelid = 'copies_types'::regclass AND adnum = 1;
CREATE TABLE copies_odd (a bigint DEFAULT flake_id(), b bigint DEFAULT flake_id(NULL), c bigint DEFAULT flake_id(1, NULL), d bigint DEFAULT 1,
                         e bigint DEFAULT flake_id(1)::numeric, f bigint DEFAULT flake_id(1 + 1), g bigint DEFAULT flake_id('-1'::int));
DO $$ BEGIN EXECUTE format('ALTER TABLE copies_odd ADD h bigint DEFAULT %s flake_id(1)', repeat('1 + ', 2000)); END $$;
SELECT attname, _flake_minted_shard(adbin) FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
WHERE adrelid = 'copies_odd'::regclass ORDER BY attnum;
DROP TABLE copies_odd;
-- A cast that is another one by now
CREATE FUNCTION copies_first(bigint) RETURNS point LANGUAGE sql AS 'SELECT point($1, 1)';
CREATE FUNCTION copies_second(bigint) RETURNS point LANGUAGE sql AS 'SELECT point($1, 2)';
CREATE CAST (bigint AS point) WITH FUNCTION copies_first AS ASSIGNMENT;
CREATE TABLE copies_cast (p point DEFAULT flake_id(5300));
ALTER TABLE copies_cast OWNER TO copies_other;
DROP CAST (bigint AS point);
CREATE CAST (bigint AS point) WITH FUNCTION copies_second AS ASSIGNMENT;
\set VERBOSITY default
SELECT flake_renumber('{5300}', '{5400}', owners => '{copies_other}');
\set VERBOSITY terse
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 'copies_cast'::regclass;
DROP TABLE copies_cast, copies_types;
DROP CAST (bigint AS point);
DROP FUNCTION copies_first, copies_second;
DROP DOMAIN copies_domain;
DELETE FROM flake_shard_state WHERE shard BETWEEN 5100 AND 5400;

-- A check that a table inherits from several parents, or has as its own, too
CREATE TABLE copies_p (id bigint, CONSTRAINT of_shard CHECK (flake_shard(id) = 6005));
CREATE TABLE copies_q (id bigint, CONSTRAINT of_shard CHECK (flake_shard(id) = 6005));
CREATE TABLE copies_r (CONSTRAINT of_shard CHECK (flake_shard(id) = 6005)) INHERITS (copies_p);
CREATE TABLE copies_c (id bigint DEFAULT flake_id(6005)) INHERITS (copies_r, copies_q);
\set VERBOSITY default
SELECT flake_renumber('{6005}', '{6105}', dry_run => true);
\set VERBOSITY terse
SELECT flake_renumber('{6005}', '{6105}');
ALTER TABLE copies_c NO INHERIT copies_q;
SELECT flake_renumber('{6005}', '{6105}');
ALTER TABLE copies_r NO INHERIT copies_p;
SELECT count(*) FROM flake_renumber('{6005}', '{6105}');
SELECT conrelid::regclass, pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'of_shard'
ORDER BY conrelid::regclass::text COLLATE "C";
DROP TABLE copies_c, copies_r, copies_q, copies_p;
-- A comment of one that is inherited, also if the parent is younger
CREATE TABLE copies_c (id bigint DEFAULT flake_id(6006));
CREATE TABLE copies_p (id bigint);
ALTER TABLE copies_c INHERIT copies_p;
ALTER TABLE copies_p ADD CONSTRAINT of_shard CHECK (flake_shard(id) = 6006);
COMMENT ON CONSTRAINT of_shard ON copies_c IS 'of the heir';
SELECT count(*) FROM flake_renumber('{6006}', '{6106}');
SELECT conrelid::regclass, obj_description(oid, 'pg_constraint') FROM pg_constraint WHERE conname = 'of_shard'
ORDER BY conrelid::regclass::text COLLATE "C";
DROP TABLE copies_c, copies_p;

-- Owners who cannot name what is changed
CREATE SCHEMA copies_private;
CREATE TABLE copies_private.t (id bigint DEFAULT flake_id(6205));
ALTER TABLE copies_private.t OWNER TO copies_user;
\set VERBOSITY default
SELECT flake_renumber('{6205}', '{6305}', dry_run => true);
\set VERBOSITY terse
SELECT flake_renumber('{6205}', '{6305}');
GRANT USAGE ON SCHEMA copies_private TO copies_user;
SELECT count(*) FROM flake_renumber('{6205}', '{6305}');
DROP SCHEMA copies_private CASCADE;
DELETE FROM flake_shard_state WHERE shard BETWEEN 6005 AND 6305;

-- Checks that read the shard in another way, or with another layout, and partition keys
SELECT flake_create_generator('copies_regions', 'ts:40 region:4 shard:8 seq:11 epoch=2026-01-01');
CREATE DOMAIN copies_domain AS bigint CHECK (flake_shard(VALUE) > 6000);
CREATE DOMAIN copies_domain_of_it AS copies_domain;
CREATE SCHEMA copies_checks;
CREATE TABLE copies_checks.a (id bigint DEFAULT flake_id(512, 'copies_regions'), other bigint DEFAULT flake_id(6405), x copies_domain_of_it,
    CONSTRAINT decoded CHECK ((flake_decode(id, 'ts:40 region:4 shard:8 seq:11 epoch=2026-01-01')).shard = 512),
    CONSTRAINT of_generator CHECK (flake_shard(id, flake_layout_of('copies_regions')) = 512),
    CONSTRAINT of_next_year CHECK (flake_shard(id, 'ts:40 region:4 shard:8 seq:11 epoch=2027-01-01') = 512),
    CONSTRAINT of_region CHECK (flake_shard(id, 'ts:40 region:4 seq:19 epoch=2026-01-01') = 2),
    CONSTRAINT plain CHECK (flake_shard(other) = 6405),
    CONSTRAINT of_text CHECK (flake_fields(id, 'ts:40 region:4 shard:8 seq:11 epoch=2026-01-01') ->> 'region' = '2'),
    CONSTRAINT same CHECK (flake_shard(other) = flake_shard(x)));
CREATE TABLE copies_checks.b (id bigint DEFAULT flake_id(6405)) PARTITION BY LIST (flake_shard(id));
CREATE TABLE copies_checks.b_6405 PARTITION OF copies_checks.b FOR VALUES IN (6405);
CREATE TABLE copies_checks.c (id uuid DEFAULT flake_uuidv7(6405) CONSTRAINT plain CHECK ((flake_uuidv7_decode(id)).shard = 6405));
\set VERBOSITY default
SELECT flake_renumber('{512}', '{513}', 'copies_regions', dry_run => true);
SELECT count(*) FROM flake_renumber('{6405}', '{6505}', dry_run => true);
SELECT count(*) FROM flake_renumber('{6405}', '{6505}', 'flake_default_uuidv7', dry_run => true);
ALTER TABLE copies_checks.c ALTER id DROP DEFAULT;
DROP TABLE copies_checks.b;
BEGIN;
DO $$BEGIN
    EXECUTE (SELECT 'CREATE TABLE copies_many (id bigint DEFAULT flake_id(4007), '
                    || string_agg(format('CONSTRAINT k%s CHECK (flake_shard(id) = 4007)', i), ', ') || ')'
             FROM generate_series(1, 101) AS i);
END$$;
SAVEPOINT s;
SELECT count(*) FROM flake_renumber('{4007}', '{4907}', dry_run => true);
ROLLBACK TO s;
ALTER TABLE copies_many DROP CONSTRAINT k1;
SELECT count(*) FROM flake_renumber('{4007}', '{4907}', dry_run => true);
ROLLBACK;
SELECT flake_create_shard(7, 'copies_checks');
\set VERBOSITY terse
SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
WHERE conrelid = 'copies_checks_7.a'::regclass AND conname NOT IN ('of_generator', 'decoded', 'same') ORDER BY conname;
SET client_min_messages = warning;
DROP SCHEMA copies_checks, copies_checks_7 CASCADE;
DROP SEQUENCE copies_regions;
DROP DOMAIN copies_domain CASCADE;
RESET client_min_messages;

-- The setting, of roles and databases
ALTER ROLE copies_user SET flakeid.shard = 4005;
ALTER ROLE copies_user IN DATABASE contrib_regression SET flakeid.shard = 4006;
SELECT * FROM flake_renumber('{4005,4006}', '{4905,4906}');
SELECT setconfig FROM pg_db_role_setting WHERE setrole = 'copies_user'::regrole ORDER BY setdatabase;

SELECT flake_accept_restore();
DROP TABLE copies_a, copies_b;
DROP SEQUENCE copies_id;
REVOKE CREATE ON SCHEMA public FROM copies_user;
DELETE FROM flake_shard_state WHERE shard IN (4005, 4006, 4905, 4906);
DROP ROLE copies_user, copies_other;
