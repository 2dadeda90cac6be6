\pset footer off

SELECT * FROM flake_shard_map;

\echo
\echo '--- No shard can have two servers: that is an error.'
\echo

\set ON_ERROR_STOP off
INSERT INTO flake_shard_map VALUES ('[15,16]', 'beta');
