--
-- Which shards this server mints.
--
SELECT count(*) FROM flake_shards;
SELECT flake_id(20) AS before \gset

-- detached: nothing more, and a bound of what there was
SELECT flake_detach(20) AS bound \gset
SELECT :bound >= :before AS "a bound", flake_detach(20) = :bound AS "again the same";
SELECT generator, shard, state, after = :bound AS after, changed_at <= now() AS changed_at FROM flake_shards;
\x on
SELECT * FROM attempt('SELECT flake_id(20)');
SELECT * FROM attempt('SELECT flake_ids(20, 1)');
SELECT * FROM attempt(format('SELECT flake_sibling(%s)', :before));
\x off
SELECT flake_shard(flake_id(21)) AS "others go on";
\c -
SELECT code FROM attempt('SELECT flake_id(20)');

-- attached again: above what there was
SELECT flake_attach(20);
SELECT flake_id(20) > :bound AS above;
SELECT flake_attach(20, flake_lower(clock_timestamp() + '5 s') | 1023);
SELECT flake_id(20) > after AS above, state FROM flake_shards WHERE shard = 20;

-- undone
SELECT flake_id(20) AS before \gset
BEGIN;
SELECT flake_detach(20) >= :before AS "a bound";
SELECT code, message FROM attempt('SELECT flake_id(20)');
ROLLBACK;
SELECT flake_id(20) > :before AS "goes on", state FROM flake_shards WHERE shard = 20;
SELECT flake_detach(20) AS bound \gset
BEGIN;
SELECT flake_attach(20);
\x on
SELECT * FROM attempt('SELECT flake_id(20)');
\x off
ROLLBACK;
SELECT code, message FROM attempt('SELECT flake_id(20)');
BEGIN;
SAVEPOINT s;
SELECT flake_attach(20);
ROLLBACK TO s;
SELECT code, message FROM attempt('SELECT flake_id(20)');
COMMIT;
SELECT flake_attach(20);

-- of a generator of one's own
SELECT flake_create_generator('fenced', 'segment');
SELECT flake_ids(0, 3, 'fenced');
SELECT flake_detach(0, 'fenced');
SELECT code, message FROM attempt($$SELECT flake_id(0, 'fenced')$$);
SELECT flake_attach(0, 100, 'fenced');
SELECT flake_ids(0, 3, 'fenced');
SELECT generator, shard, state, CASE shard WHEN 0 THEN after END AS after FROM flake_shards ORDER BY generator::text, shard;
DROP SEQUENCE fenced;
SELECT generator, shard FROM flake_shards ORDER BY generator::text, shard;

-- What this transaction has done to the state is not relied on.
SELECT flake_detach(22) > 0 AS bound;
BEGIN;
DELETE FROM flake_shard_state WHERE shard = 22;
SELECT code, message FROM attempt('SELECT flake_id(22)');
ROLLBACK;
SELECT code, message FROM attempt('SELECT flake_id(22)');
SELECT code, message, hint FROM attempt('TRUNCATE flake_shard_state, flake_leases');
SELECT code, message FROM attempt('TRUNCATE flake_leases');
BEGIN;
ALTER TABLE flake_shard_state DISABLE TRIGGER keep_rows;
ALTER TABLE flake_leases DISABLE TRIGGER keep_rows;
TRUNCATE flake_shard_state, flake_leases;
SELECT code, message FROM attempt('SELECT flake_id(22)');
ROLLBACK;
-- To lock a row is not to change it.
SELECT flake_detach(23) > 0 AS bound;
SELECT flake_attach(23);
BEGIN;
SELECT attached FROM flake_shard_state WHERE shard = 23 FOR UPDATE;
SELECT flake_id(23) > 0 AS minted;
COMMIT;
SELECT code, message FROM attempt('SELECT flake_id(22)');
BEGIN;
SET LOCAL client_min_messages = warning;
DROP EXTENSION flakeid CASCADE;
CREATE EXTENSION flakeid;
SELECT flake_id(22) > 0 AS "of the new one";
SAVEPOINT s;
SELECT flake_create_generator('undone');
SELECT flake_id(22, 'undone') > 0 AS id;
ROLLBACK TO s;
SELECT flake_create_generator('another');
SELECT flake_id(22, 'another') > 0 AS id, flake_id(22) > 0 AS "of the new one";
ROLLBACK;
SELECT code, message FROM attempt('SELECT flake_id(22)');
SELECT flake_attach(22);

-- A restore brings rows, also in a session whose triggers are disabled.
SET session_replication_role = replica;
INSERT INTO flake_shard_state VALUES ('flake_default', 7028, false, 1, now());
RESET session_replication_role;
SELECT code, message FROM attempt('SELECT flake_id(7028)');
-- twice, if names of generators changed while the dump was made
INSERT INTO flake_shard_state VALUES ('flake_default', 7029, false, 1, now()), ('flake_default', 7029, true, 2, now()), ('flake_default', 7030, true, 3, now());
SELECT shard, attached FROM flake_shard_state WHERE shard IN (7029, 7030) ORDER BY shard;
-- and counts at once, also for a shard that was minted already
SELECT flake_shard(flake_id(7031));
INSERT INTO flake_shard_state VALUES ('flake_default', 7031, false, 1, now());
SELECT code, message FROM attempt('SELECT flake_id(7031)');
\setenv PGDATABASE :DBNAME
BEGIN;
INSERT INTO flake_shard_state VALUES ('flake_default', 7032, false, 1, now());
\! psql -XAtq -c 'SELECT public.flake_shard(public.flake_id(7032))'
COMMIT;
SELECT code, message FROM attempt('SELECT flake_id(7032)');
SELECT flake_shard(flake_id(7033));
ALTER TABLE flake_shard_state DISABLE TRIGGER ALL;
INSERT INTO flake_shard_state VALUES ('flake_default', 7033, false, 1, now());
ALTER TABLE flake_shard_state ENABLE TRIGGER ALL;
SELECT code, message FROM attempt('SELECT flake_id(7033)');
UPDATE flake_shard_state SET attached = true WHERE shard = 7031;
SELECT flake_shard(flake_id(7031));

-- set back, an attached shard still begins above what it was given
SELECT flake_create_generator('fenced', 'seq:40 shard:13');
SELECT flake_attach(1, 100000, 'fenced');
SELECT flake_sequence(flake_id(1, 'fenced'), flake_layout_of('fenced'));
SELECT flake_ids(2, 1, 'fenced') > 0 AS another;
SELECT flake_rewind('fenced', 5 * 8192, force => true);
SELECT flake_sequence(flake_id(1, 'fenced'), flake_layout_of('fenced'));
DROP SEQUENCE fenced;

-- a bound is one also of a generator that was set out of its layout
SELECT flake_create_generator('fenced', 'snowflake');
SELECT flake_id(3, 'fenced') AS before \gset
ALTER SEQUENCE fenced NO MAXVALUE;
SELECT setval('fenced', 4611686018427387903) > 0 AS set;
\c -
SELECT flake_detach(3, 'fenced') >= :before AS "a bound";
ALTER SEQUENCE fenced MAXVALUE 9007199254740991 RESTART;
SELECT flake_detach(3, 'fenced') >= :before AS "a bound";
DROP SEQUENCE fenced;

-- rows of a generator that was dropped without the event trigger, as in single-user mode,
-- go with the next change
SELECT flake_create_generator('unnoticed');
SELECT flake_detach(1, 'unnoticed') IS NULL AS detached, 'unnoticed'::regclass::oid AS dropped \gset
ALTER EVENT TRIGGER flakeid_forget_dropped DISABLE;
DROP SEQUENCE unnoticed;
ALTER EVENT TRIGGER flakeid_forget_dropped ENABLE ALWAYS;
SELECT count(*) AS before FROM flake_shard_state WHERE generator = :dropped;
SELECT flake_attach(20);
SELECT count(*) AS after FROM flake_shard_state WHERE generator = :dropped;

-- errors
\x on
SELECT * FROM attempt('SELECT flake_detach(8192)');
SELECT * FROM attempt('SELECT flake_attach(-1)');
SELECT * FROM attempt($$SELECT flake_detach(0, 'flake_shards')$$);
SELECT * FROM attempt($$SELECT flake_detach(0, 'flake_default_uuid')$$);
SELECT code, message FROM attempt($$SELECT flake_attach(20, 9223372036854775807)$$);
SELECT code, hint FROM attempt($$SELECT flake_attach(20, flake_lower(now() + '2 years'))$$);
BEGIN READ ONLY;
SELECT * FROM attempt('SELECT flake_detach(20)');
SELECT * FROM attempt('SELECT flake_attach(20)');
COMMIT;
CREATE ROLE flake_regress_user;
SET ROLE flake_regress_user;
SELECT * FROM attempt('SELECT flake_detach(20)');
SELECT * FROM attempt('SELECT flake_attach(20)');
SELECT code, message FROM attempt('DELETE FROM flake_shard_state');
RESET ROLE;
GRANT UPDATE ON SEQUENCE flake_default TO flake_regress_user;
SET ROLE flake_regress_user;
SELECT flake_detach(20) > 0 AS "with UPDATE on the generator";
SELECT flake_attach(20);
RESET ROLE;
REVOKE UPDATE ON SEQUENCE flake_default FROM flake_regress_user;
DROP ROLE flake_regress_user;
-- without a table of the extension
BEGIN;
ALTER TABLE flake_shard_state RENAME TO renamed;
SELECT * FROM attempt('SELECT flake_detach(20)');
ROLLBACK;
\x off
SELECT flake_detach(NULL), flake_detach(20, generator => NULL) AS "no generator";
SELECT * FROM attempt('SELECT flake_attach(NULL)');
SELECT * FROM attempt('SELECT flake_attach(20, generator => NULL)');
SELECT state, flake_id(20) > 0 AS id FROM flake_shards WHERE shard = 20;

-- A row that is written while the table is not as expected counts from the commit on.
SELECT flake_id(21) > 0 AS minted;
BEGIN;
ALTER TYPE _flake_regclass RENAME TO renamed;
INSERT INTO flake_shard_state VALUES ('flake_default', 21, false, NULL, now());
ALTER TYPE renamed RENAME TO _flake_regclass;
COMMIT;
SELECT code, message FROM attempt('SELECT flake_id(21)');
DELETE FROM flake_shard_state WHERE shard = 21;
