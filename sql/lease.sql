--
-- Shards leased to processes that mint outside of the database
--
SELECT flake_create_generator('leased', 'ts:41 shard:2 seq:20 epoch=2020-01-01');
CREATE FUNCTION leases() RETURNS TABLE (shard int, owner text, role name, begun boolean, expires text)
LANGUAGE sql AS $$
    SELECT shard, owner, replace(role, current_user, 'me'), not_before < clock_timestamp() + '1 s',
           CASE WHEN expires_at <= clock_timestamp() THEN 'over'
                WHEN expires_at <= clock_timestamp() + interval '1 hour 1 s' THEN 'within an hour' ELSE 'later' END
    FROM flake_leases WHERE generator = 'leased'::regclass ORDER BY shard
$$;

-- from the highest shard on; the same owner, the same shard, but only ids after the present
SELECT shard, not_before < clock_timestamp() + '1 s' AS begun, expires_at = not_before + '1 hour' AS an_hour
FROM flake_lease('a', generator => 'leased');
SELECT shard, not_before > clock_timestamp() + '10 s' AND not_before < clock_timestamp() + '20 s' AS soon,
       expires_at = not_before + '2 hours' AS two_hours
FROM flake_lease('a', '2 hours', 'leased');
SELECT shard FROM flake_lease('b', '10 minutes', 'leased');
SELECT * FROM leases();
-- a tick is whole
SELECT flake_timestamp(flake_lower(not_before, layout), layout) = not_before AS whole
FROM flake_leases, flake_layout_of('leased') AS layout WHERE generator = 'leased'::regclass;

-- the database does not mint them
SELECT shard, state FROM flake_shards WHERE generator = 'leased'::regclass ORDER BY shard;
\x on
SELECT * FROM attempt($$SELECT flake_id(3, 'leased')$$);
SELECT code, message, hint FROM attempt($$SELECT flake_attach(3, generator => 'leased')$$);
SELECT code, message, hint FROM attempt($$SELECT flake_detach(3, 'leased')$$);
\x off

-- and they are not what it mints, or detached, or has in its map
SELECT flake_id(1, 'leased') > 0 AS minted;
SELECT shard FROM flake_lease('c', generator => 'leased');
\x on
SELECT code, message, replace(detail, (SELECT to_char(min(expires_at) + '15 s', 'YYYY-MM-DD HH24:MI:SS') FROM flake_leases WHERE generator = 'leased'::regclass), 'TIME') ~ 'TIME' AS detail, hint
FROM attempt($$SELECT flake_lease('d', generator => 'leased')$$);
\x off
SELECT flake_create_generator('mapped', 'ts:41 shard:3 seq:19 epoch=2020-01-01');
INSERT INTO flake_shard_map VALUES ('[5,6]', 'elsewhere');
SELECT flake_detach(4, 'mapped') > 0 AS detached;
SELECT flake_attach(3, generator => 'mapped');
SELECT n, shard FROM generate_series(1, 4) AS n, LATERAL flake_lease('owner ' || n, generator => 'mapped');
DELETE FROM flake_shard_map;
\x on
SELECT flake_create_generator('full', 'ts:41 seq:22 epoch=2020-01-01');
SELECT flake_id(0, 'full') > 0 AS minted;
SELECT * FROM attempt($$SELECT flake_lease('d', generator => 'full')$$);
\x off

-- renewed, released
SELECT flake_renew('b', '1 day', 'leased') > clock_timestamp() + '23 hours' AS renewed;
SELECT flake_renew('b', '1 s', 'leased') > clock_timestamp() + '23 hours' AS "never shorter";
SELECT * FROM leases();
SELECT flake_release('b', 'leased'), flake_release('b', 'leased') AS again, flake_release('nobody', 'leased');
SELECT * FROM leases();
-- not given to another before the margin has passed
SELECT code FROM attempt($$SELECT flake_lease('d', generator => 'leased')$$);
SELECT code, hint FROM attempt($$SELECT flake_attach(2, generator => 'leased')$$);
-- its owner may have it again
SELECT flake_renew('b', '1 hour', 'leased') > clock_timestamp() AS renewed;
SELECT flake_release('b', 'leased');
SELECT shard, not_before > clock_timestamp() + '10 s' AS soon FROM flake_lease('b', '1 hour', 'leased');

-- over for long enough: another's, or the database's again
UPDATE flake_leases SET not_before = now() - interval '1 min', expires_at = now() - interval '16 s'
WHERE generator = 'leased'::regclass AND owner IN ('a', 'b');
SELECT shard, not_before < clock_timestamp() + '1 s' AS begun FROM flake_lease('d', generator => 'leased');
SELECT code, message FROM attempt($$SELECT flake_renew('d', '1 hour', 'leased')$$);
SELECT flake_attach(2, generator => 'leased');
SELECT code, message FROM attempt($$SELECT flake_renew('b', '1 hour', 'leased')$$);
SELECT shard, state FROM flake_shards WHERE generator = 'leased'::regclass ORDER BY shard;
SELECT flake_timestamp(after, flake_layout_of('leased')) >= now() - interval '1.5 s' AS "past the lease",
       flake_id(2, 'leased') > after AS above
FROM flake_shards WHERE generator = 'leased'::regclass AND shard = 2;
SELECT * FROM leases();

-- nor does it take long to find one among many
SELECT flake_create_generator('vast', 'ts:32 shard:31 seq:1 epoch=2020-01-01 unit=1s');
SELECT shard FROM flake_lease('a', generator => 'vast');
INSERT INTO flake_shard_map VALUES ('(,9]', 'elsewhere'), ('[1000,)', 'elsewhere');
SELECT shard FROM flake_lease('b', generator => 'vast');
UPDATE flake_shard_map SET shards = '[10,)' WHERE shards @> 1000;
SELECT code, message FROM attempt($$SELECT flake_lease('c', generator => 'vast')$$);
DELETE FROM flake_shard_map;
DROP SEQUENCE vast;

-- never before what the server had minted, whoever leases the shard
SELECT flake_create_generator('ahead', layout, flake_make(now() + '22 s', 0, 0, layout))
FROM CAST('ts:41 shard:2 seq:20 epoch=2020-01-01' AS flake_layout) AS layout;
SELECT shard, not_before > now() + '21 s' AS "not yet" FROM flake_lease('a', generator => 'ahead');
SELECT shard, not_before > now() + '21 s' AS "not yet" FROM flake_lease('a', generator => 'ahead');
SELECT flake_release('a', 'ahead');
UPDATE flake_leases SET expires_at = now() - interval '16 s' WHERE generator = 'ahead'::regclass;
SELECT shard, not_before > now() + '21 s' AS "not yet" FROM flake_lease('b', generator => 'ahead');
DROP SEQUENCE ahead;

-- A shard that the map has by now is not leased again when the lease is over, not even
-- to its owner.
SELECT flake_create_generator('moved', 'ts:41 shard:2 seq:20 epoch=2020-01-01');
SELECT owner, shard FROM unnest(ARRAY['a', 'b']) AS owner, LATERAL flake_lease(owner, generator => 'moved');
INSERT INTO flake_shard_map VALUES ('[2,4)', 'elsewhere');
SELECT shard FROM flake_lease('b', generator => 'moved');
UPDATE flake_leases SET not_before = now() - interval '1 min', expires_at = now() - interval '16 s',
    renewed_at = now() - interval '1 min' WHERE generator = 'moved'::regclass;
SELECT shard FROM flake_lease('c', generator => 'moved');
SELECT code, message FROM attempt($$SELECT flake_renew('a', '1 hour', 'moved')$$);
SELECT flake_release('a', 'moved');
SELECT shard FROM flake_lease('a', generator => 'moved');
SELECT code FROM attempt($$SELECT flake_lease('b', generator => 'moved')$$);
SELECT shard, owner FROM flake_leases WHERE generator = 'moved'::regclass ORDER BY shard;
-- one that lies between those of the map is its owner's
INSERT INTO flake_shard_map VALUES ('[0,1)', 'elsewhere');
UPDATE flake_leases SET not_before = now() - interval '1 min', expires_at = now() - interval '16 s',
    renewed_at = now() - interval '1 min' WHERE generator = 'moved'::regclass AND owner = 'c';
SELECT shard FROM flake_lease('c', generator => 'moved');
-- what was leased is heeded
SELECT shard, state, flake_timestamp(after, flake_layout_of('moved')) > now() - interval '2 s' AS "past the lease"
FROM flake_shards WHERE generator = 'moved'::regclass ORDER BY shard;
DELETE FROM flake_shard_map;
SELECT flake_attach(3, generator => 'moved');
SELECT flake_id(3, 'moved') > after AS above FROM flake_shards WHERE generator = 'moved'::regclass AND shard = 3;
DROP SEQUENCE moved;

-- undone
BEGIN;
SELECT shard FROM flake_lease('e', generator => 'mapped');
SELECT code, message FROM attempt($$SELECT flake_id(6, 'mapped')$$);
ROLLBACK;
SELECT flake_id(6, 'mapped') > 0 AS minted;
SELECT code, message FROM attempt($$SELECT flake_renew('e', '1 s', 'mapped')$$);

-- whose lease it is
CREATE ROLE flake_lessee;
CREATE ROLE flake_other;
SET ROLE flake_lessee;
SELECT code, message FROM attempt($$SELECT flake_lease('e')$$);
SELECT code, message FROM attempt($$SELECT flake_renew('e', '1 s')$$);
SELECT code, message FROM attempt($$SELECT flake_release('e')$$);
SELECT code, message FROM attempt('SELECT FROM flake_leases');
RESET ROLE;
GRANT EXECUTE ON FUNCTION flake_lease, flake_renew, flake_release TO flake_lessee, flake_other;
SET ROLE flake_lessee;
SELECT code, message FROM attempt($$SELECT flake_lease('e', generator => 'leased')$$);
SELECT shard > 8000 AS "from the top" FROM flake_lease('e');
SET ROLE flake_other;
\x on
SELECT * FROM attempt($$SELECT flake_lease('e')$$);
SELECT * FROM attempt($$SELECT flake_renew('e', '1 s')$$);
SELECT * FROM attempt($$SELECT flake_release('e')$$);
\x off
RESET ROLE;
SELECT flake_renew('e', '2 hours') > now() AS "by a superuser";
SET ROLE flake_lessee;
SELECT flake_release('e');
RESET ROLE;
UPDATE flake_leases SET expires_at = now() - interval '16 s' WHERE owner = 'e';
SELECT flake_attach(shard) FROM flake_leases WHERE owner = 'e';
-- if the role is gone, or has another name, the lease is for superusers
CREATE ROLE flake_gone;
GRANT EXECUTE ON FUNCTION flake_lease TO flake_gone;
SET ROLE flake_gone;
SELECT shard > 8000 AS "from the top" FROM flake_lease('g');
RESET ROLE;
REVOKE EXECUTE ON FUNCTION flake_lease FROM flake_gone;
DROP ROLE flake_gone;
SET ROLE flake_other;
SELECT code, message FROM attempt($$SELECT flake_renew('g', '2 hours')$$);
RESET ROLE;
CREATE ROLE flake_gone;
GRANT EXECUTE ON FUNCTION flake_renew TO flake_gone;
SET ROLE flake_gone;
SELECT flake_renew('g', '2 hours') > now() AS "by a role of that name";
RESET ROLE;
REVOKE EXECUTE ON FUNCTION flake_renew FROM flake_gone;
DROP ROLE flake_gone;
SELECT flake_renew('g', '2 hours') > now() AS "by a superuser";
SELECT role = current_user AS mine FROM flake_leases WHERE owner = 'g';
SELECT flake_release('g');
UPDATE flake_leases SET expires_at = now() - interval '16 s' WHERE owner = 'g';
SELECT flake_attach(shard) FROM flake_leases WHERE owner = 'g';

-- errors
\x on
SELECT * FROM attempt($$SELECT flake_renew('nobody', '1 hour')$$);
SELECT * FROM attempt($$SELECT flake_lease('f', '0')$$);
SELECT * FROM attempt($$SELECT flake_lease('f', '-1 day')$$);
SELECT * FROM attempt($$SELECT flake_lease('f', '1000000 years')$$);
SELECT * FROM attempt($$SELECT flake_renew('d', '0', 'leased')$$);
SELECT * FROM attempt($$SELECT flake_lease('')$$);
SELECT * FROM attempt(format('SELECT flake_lease(%L)', repeat('x', 256)));
SELECT flake_create_generator('timeless', 'segment');
SELECT * FROM attempt($$SELECT flake_lease('f', generator => 'timeless')$$);
SELECT * FROM attempt($$SELECT flake_lease('f', generator => 'flake_default_uuid')$$);
SELECT flake_create_generator('expired', 'baidu');
SELECT code, message FROM attempt($$SELECT flake_lease('f', generator => 'expired')$$);
BEGIN ISOLATION LEVEL REPEATABLE READ;
SELECT * FROM attempt($$SELECT flake_lease('f')$$);
COMMIT;
BEGIN READ ONLY;
SELECT * FROM attempt($$SELECT flake_lease('f')$$);
COMMIT;
\x off
SELECT flake_lease(NULL), flake_renew('d', NULL, 'leased'), flake_release(NULL);

-- nor does session_replication_role, which the triggers heed, hide a lease
SET session_replication_role = replica;
SELECT code, message FROM attempt($$SELECT flake_detach(3, 'leased')$$);
RESET session_replication_role;
-- A leased shard cannot be forgotten by accident, only dropped with its generator.
SELECT code, message FROM attempt($$DELETE FROM flake_shard_state WHERE generator = 'leased'::regclass$$);
-- Rows written by hand: the second lease of an owner, and one of a generator without time.
INSERT INTO flake_leases SELECT generator, shard + 1, owner, role, not_before, expires_at, renewed_at
FROM flake_leases WHERE generator = 'leased'::regclass ORDER BY shard LIMIT 1;
SELECT flake_create_generator('untimed', 'segment');
INSERT INTO flake_shard_state VALUES ('untimed', 0, false, NULL, now());
INSERT INTO flake_leases VALUES ('untimed', 0, 'o', current_user, '2020-01-01', '2020-01-02', '2020-01-01');
SELECT flake_detach(0, 'untimed') IS NOT NULL AS bound;
DROP SEQUENCE untimed;
-- It is gone with its generator, by whatever way that is dropped, and comes back with it.
CREATE FUNCTION left_behind() RETURNS TABLE (states bigint, leases bigint) LANGUAGE sql AS $$
    SELECT (SELECT count(*) FROM flake_shard_state s WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = s.generator)),
           (SELECT count(*) FROM flake_leases l WHERE NOT EXISTS (SELECT FROM pg_class WHERE oid = l.generator))
$$;
BEGIN;
SAVEPOINT s;
DROP SEQUENCE leased;
SELECT * FROM left_behind();
ROLLBACK TO SAVEPOINT s;
SELECT count(*) > 0 AS back FROM leases();
COMMIT;
SELECT code FROM attempt($$SELECT flake_id(3, 'leased')$$);
CREATE SCHEMA flake_own_schema;
CREATE TYPE flake_own_schema.mood AS ENUM ('good');
CREATE TABLE flake_own_schema.owner (a int, b int, c flake_own_schema.mood);
SELECT flake_create_generator('flake_own_schema.' || name) FROM unnest(ARRAY['alone', 'column', 'table', 'ownd']) AS name;
ALTER SEQUENCE flake_own_schema.column OWNED BY flake_own_schema.owner.c;
ALTER SEQUENCE flake_own_schema.table OWNED BY flake_own_schema.owner.a;
SELECT count(flake_lease('a', generator => g)) FROM unnest(ARRAY['alone', 'column', 'table', 'ownd']) AS name,
    LATERAL CAST('flake_own_schema.' || name AS regclass) AS g;
SELECT count(flake_detach(5, g)) FROM unnest(ARRAY['alone', 'column', 'table', 'ownd']) AS name,
    LATERAL CAST('flake_own_schema.' || name AS regclass) AS g;
-- its owner needs no right on the tables
ALTER SEQUENCE flake_own_schema.ownd OWNER TO flake_other;
SET ROLE flake_other;
SET client_min_messages = error;
DROP OWNED BY flake_other;
RESET ROLE;
SELECT *, to_regclass('flake_own_schema.ownd') FROM left_behind();
DROP TYPE flake_own_schema.mood CASCADE;
SELECT *, to_regclass('flake_own_schema.column') FROM left_behind();
ALTER TABLE flake_own_schema.owner DROP COLUMN a;
SELECT *, to_regclass('flake_own_schema.table') FROM left_behind();
-- also where triggers are off
SET session_replication_role = replica;
DROP SCHEMA flake_own_schema CASCADE;
SELECT *, to_regclass('flake_own_schema.alone') FROM left_behind();
RESET session_replication_role;
RESET client_min_messages;
-- a table that is not as it must be keeps nobody from dropping
BEGIN;
ALTER TABLE flake_leases RENAME TO renamed;
CREATE TABLE flake_leases (LIKE renamed);
DROP SEQUENCE leased;
DROP TABLE flake_leases;
ALTER TABLE flake_shard_state ADD more int;
DROP SEQUENCE mapped;
ALTER TABLE flake_shard_state DROP more;
ROLLBACK;
SELECT code, message FROM attempt('SELECT _flake_forget_dropped()');
DROP SEQUENCE leased, mapped, "full", timeless, expired;
SELECT * FROM left_behind();
SELECT count(*) FROM flake_leases;
DROP FUNCTION left_behind;
DELETE FROM flake_shard_state;
DROP FUNCTION leases;
REVOKE EXECUTE ON FUNCTION flake_lease, flake_renew, flake_release FROM flake_lessee, flake_other;
DROP ROLE flake_lessee, flake_other;
