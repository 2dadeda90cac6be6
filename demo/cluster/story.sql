\pset footer off

\echo
\echo '--- No id was given twice, and all rows are there.'
\echo

SELECT count(*) AS received, count(DISTINCT id) AS ids, count_photos() FROM received;

\echo
\echo '--- Every server has its part of them.'
\echo

SELECT flake_server(shard) AS server, count(*) AS shards, sum(photos) AS photos
FROM shard.count_photos(all_shards())
GROUP BY 1 ORDER BY min(shard);

\echo
\echo '--- From an id to its shard to the server.'
\echo

SELECT min(id) AS one FROM received \gset
SELECT id, flake_timestamp(id), flake_shard(id), flake_server(flake_shard(id))
FROM received WHERE id = :one;

-- For what follows: how often the functions were called on each server.  A server
-- counts late unless it is told to do so at once.
\set ECHO none
CREATE FUNCTION flush_statistics() RETURNS SETOF int LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON ALL;
    SELECT 1 FROM pg_stat_force_next_flush();
$$;
CREATE FUNCTION calls() RETURNS TABLE (server text, called text, times bigint)
LANGUAGE plproxy AS $$
    CLUSTER 'photos';
    RUN ON ALL;
    SELECT current_setting('cluster_name') AS server, f.funcname AS called,
        f.calls AS times
    FROM pg_stat_user_functions AS f WHERE f.schemaname = 'shard';
$$;
\set ECHO queries

\echo
\echo '--- A photo is looked up by its id.'
\echo

SELECT * FROM get_photo(:one);

\echo
\echo '--- The servers'' statistics say that one of them was asked.'
\echo

\set ECHO none
SELECT count(*) AS flushed FROM flush_statistics() \gset
\set ECHO queries
SELECT * FROM calls() WHERE called = 'get_photo';

\echo
\echo '--- The newest photos of all: in one order, because ids go up with time.'
\echo

SELECT *, flake_server(flake_shard(id)) FROM newest_photos(5);

\echo
\echo '--- For that all of them were asked, once.'
\echo

\set ECHO none
SELECT count(*) AS flushed FROM flush_statistics() \gset
\set ECHO queries
SELECT * FROM calls() WHERE called = 'newest_photos' ORDER BY 1;
