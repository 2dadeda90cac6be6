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
SELECT flake_attach(20, flake_floor(clock_timestamp() + '5 s') | 1023);
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

-- errors
\x on
SELECT * FROM attempt('SELECT flake_detach(8192)');
SELECT * FROM attempt('SELECT flake_attach(-1)');
SELECT * FROM attempt($$SELECT flake_detach(0, 'flake_shards')$$);
SELECT code, message FROM attempt($$SELECT flake_attach(20, 9223372036854775807)$$);
SELECT code, hint FROM attempt($$SELECT flake_attach(20, flake_floor(now() + '2 years'))$$);
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
\x off
SELECT flake_attach(NULL), flake_detach(NULL);
SELECT state, flake_id(20) > 0 AS id FROM flake_shards WHERE shard = 20;
