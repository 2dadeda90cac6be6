--
-- Bad input: the SQLSTATE, what is wrong, and what to do.
--
\x on

-- shards that the layout does not have
SELECT * FROM attempt('SELECT flake_id(-1)');
SELECT * FROM attempt('SELECT flake_id(8192)');
SELECT * FROM attempt('SELECT flake_id(2147483647)');
SELECT * FROM attempt('SELECT flake_ids(8192, 1)');
SELECT * FROM attempt('SELECT flake_ids(8192, 0)');
SET flakeid.shard = 9000;
SELECT * FROM attempt('SELECT flake_id()');
RESET flakeid.shard;

-- no shard set
SELECT * FROM attempt('SELECT flake_id()');
SELECT * FROM attempt('SET flakeid.shard = -2');

-- numbers of ids
SELECT * FROM attempt('SELECT flake_ids(5, -1)');
SELECT * FROM attempt('SELECT flake_ids(5, -2147483648)');
SELECT * FROM attempt('SELECT flake_ids(5, 2147483647)');

-- read-only transactions, as with nextval()
CREATE SEQUENCE ordinary;
BEGIN READ ONLY;
SELECT * FROM attempt('SELECT nextval(''ordinary'')');
SELECT * FROM attempt('SELECT flake_id(5)');
SELECT * FROM attempt('SELECT flake_ids(5, 0)');
SELECT * FROM attempt('SELECT flake_sibling(1)');
COMMIT;
DROP SEQUENCE ordinary;

-- without SELECT or USAGE on flake_default
CREATE ROLE flake_regress_user;
REVOKE SELECT ON SEQUENCE flake_default FROM PUBLIC;
SET ROLE flake_regress_user;
SELECT * FROM attempt('SELECT flake_id(5)');
RESET ROLE;
GRANT SELECT ON SEQUENCE flake_default TO PUBLIC;
SET ROLE flake_regress_user;
SELECT flake_shard(flake_id(5));

-- what only others may do
SELECT * FROM attempt($$SET flakeid.max_ahead = '1 h'$$);
SELECT * FROM attempt('SELECT flake_stat_reset()');
SELECT * FROM attempt('SELECT * FROM flake_stat');
SELECT * FROM attempt('SELECT * FROM _flake_stat_slots()');
SELECT * FROM attempt($$SELECT setval('flake_default', 1)$$);
SELECT * FROM attempt($$SELECT nextval('flake_default')$$);
RESET ROLE;
DROP ROLE flake_regress_user;

\x off

-- null in, null out
SELECT flake_id(NULL) AS id, flake_sibling(NULL) AS sibling;
SELECT count(*) FROM flake_ids(5, NULL);

-- after all that
SELECT flake_shard(flake_id(5));
