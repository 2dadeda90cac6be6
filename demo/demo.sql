\pset footer off
\set QUIET on
SET timezone = 'UTC';
SET intervalstyle = 'postgres';
\echo
\echo '--- The extension is all there is to set up.'
\echo

CREATE EXTENSION flakeid;

\echo
\echo '--- Photos of many users, spread over four logical shards by the user.'
\echo '--- A photo''s id carries the shard, so the id alone says where it is.'
\echo

CREATE TABLE photo (
    id      bigint NOT NULL,
    user_id bigint NOT NULL,
    title   text NOT NULL
) PARTITION BY LIST (flake_shard(id));

CREATE TABLE photo_0 PARTITION OF photo (PRIMARY KEY (id)) FOR VALUES IN (0);
CREATE TABLE photo_1 PARTITION OF photo (PRIMARY KEY (id)) FOR VALUES IN (1);
CREATE TABLE photo_2 PARTITION OF photo (PRIMARY KEY (id)) FOR VALUES IN (2);
CREATE TABLE photo_3 PARTITION OF photo (PRIMARY KEY (id)) FOR VALUES IN (3);

INSERT INTO photo (id, user_id, title)
SELECT flake_id(user_id % 4), user_id, 'photo of user ' || user_id
FROM generate_series(1, 100000) AS n,
     LATERAL (SELECT 1 + n % 1000 AS user_id) AS u;
ANALYZE photo;

SELECT tableoid::regclass AS shard, count(*) AS photos, count(DISTINCT id) AS ids
FROM photo GROUP BY 1 ORDER BY 1;

\echo
\echo '--- A table that lives on one shard needs no more than a default.'
\echo

CREATE TABLE comment (
    id   bigint PRIMARY KEY DEFAULT flake_id(2) CHECK (flake_shard(id) = 2),
    body text NOT NULL
);
INSERT INTO comment (body) VALUES ('nice'), ('where is this?') RETURNING *;

\echo
\echo '--- Taken apart: when, on which shard, which number in that millisecond.'
\echo

SELECT id, d.* FROM photo, flake_decode(id) AS d WHERE user_id = 42 LIMIT 3;
SELECT id AS one FROM photo WHERE user_id = 42 LIMIT 1 \gset
\echo 'One of them:' :one
SELECT flake_explain(:one);

\echo
\echo '--- Looked up by id: only the shard inside the id is read.'
\echo

EXPLAIN (COSTS OFF)
SELECT * FROM photo WHERE id = :one AND flake_shard(id) = flake_shard(:one);

\echo
\echo '--- Looked up by time: a range of the primary key, no other index needed.'
\echo

SELECT min(flake_timestamp(id)) AS since,
       min(flake_timestamp(id)) + interval '5 ms' AS upto
FROM photo WHERE user_id % 100 = 50 \gset
SELECT count(*) AS photos, min(flake_timestamp(id)) AS first, max(flake_timestamp(id)) AS last
FROM photo WHERE flake_between(id, :'since', :'upto');
EXPLAIN (COSTS OFF)
SELECT * FROM photo WHERE flake_between(id, :'since', :'upto');

\echo
\echo '--- A million ids at once, and what was minted in all.'
\echo

SELECT count(DISTINCT id) AS ids FROM flake_ids(3, 1000000) AS id;
SELECT * FROM flake_stat ORDER BY shard;
