--
-- Sealed ids
--
-- for applications in other languages; computed by an independent implementation
CREATE TABLE vector (key text, id bigint, sealed bigint);
\copy vector FROM 'docs/seal_vectors.csv' CSV HEADER
SELECT count(*), count(*) FILTER (WHERE flake_seal(id, key) <> sealed) AS wrong,
       count(*) FILTER (WHERE flake_unseal(sealed, key) <> id) AS "not undone"
FROM vector;

-- a permutation
SELECT count(*), count(DISTINCT flake_seal(id, 'key')) AS sealed,
       count(*) FILTER (WHERE flake_unseal(flake_seal(id, 'key'), 'key') <> id) AS "not undone"
FROM generate_series(1, 10000) AS n, hashint8extended(n, 5) AS id;

-- no visible order: of consecutive ids half of the bits differ, each of them, and one is as often above the other as below
WITH pair AS (
    SELECT flake_seal(id, 'key') AS sealed, lead(flake_seal(id, 'key')) OVER (ORDER BY id) AS following
    FROM generate_series(4035280290552217600, 4035280290552217600 + 5000) AS id
), change AS (
    SELECT sealed < following AS ascends, (sealed # following)::bit(64) AS bits FROM pair WHERE following IS NOT NULL
)
SELECT avg(length(replace(bits::text, '0', ''))) BETWEEN 31 AND 33 AS "32 bits",
       avg(ascends::int) BETWEEN 0.45 AND 0.55 AS "up and down",
       (SELECT min(changed) > 0.45 AND max(changed) < 0.55
        FROM (SELECT avg(get_bit(bits, bit)) AS changed FROM change, generate_series(0, 63) AS bit GROUP BY bit) AS b) AS "each bit"
FROM change;
-- also of a change in any one bit of the id, or of the key
SELECT min(changed) > 29 AND max(changed) < 35 AS "any bit"
FROM (SELECT avg(length(replace((flake_seal(id, 'key') # flake_seal(id # (1::bigint << bit), 'key'))::bit(64)::text, '0', ''))) AS changed
      FROM generate_series(0, 63) AS bit, generate_series(1, 100) AS id GROUP BY bit) AS b;
SELECT avg(length(replace((flake_seal(id, 'key') # flake_seal(id, 'kez'))::bit(64)::text, '0', ''))) BETWEEN 31 AND 33 AS "the key"
FROM generate_series(1, 2000) AS id;

-- as one would use it
SELECT flake_to_text(flake_seal(4035280290552217599, '000102030405060708090a0b0c0d0e0f')) AS public_id \gset
SELECT :'public_id', flake_unseal(flake_from_text(:'public_id'), '000102030405060708090a0b0c0d0e0f');

\x on
SELECT * FROM attempt($$SELECT flake_seal(1, '')$$);
SELECT code, message FROM attempt($$SELECT flake_unseal(1, '')$$);
\x off
SELECT flake_seal(NULL, 'key'), flake_seal(1, NULL), flake_unseal(NULL, 'key'), flake_unseal(1, NULL);
DROP TABLE vector;
