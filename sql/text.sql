--
-- Ids as text
--
SELECT base, flake_to_text(11637205501278089, base), flake_to_text(0, base), flake_to_text(9223372036854775807, base),
       flake_to_text(-1, base), length(flake_to_text(1, base))
FROM unnest(ARRAY[16, 32, 58, 62]) AS base;
SELECT flake_to_text(61), flake_to_text(62), flake_from_text('10');

-- against PostgreSQL's own hexadecimal
SELECT count(*) AS "not as to_hex" FROM generate_series(1, 10000) AS n, hashint8extended(n, 1) AS id
WHERE flake_to_text(id, 16) <> lpad(to_hex(id), 16, '0');

-- a million of them, there and back
SELECT count(*) FILTER (WHERE flake_from_text(flake_to_text(id, 16), 16) <> id) AS "16",
       count(*) FILTER (WHERE flake_from_text(flake_to_text(id, 32), 32) <> id) AS "32",
       count(*) FILTER (WHERE flake_from_text(flake_to_text(id, 58), 58) <> id) AS "58",
       count(*) FILTER (WHERE flake_from_text(flake_to_text(id)) <> id) AS "62",
       count(*)
FROM generate_series(1, 1000000) AS n, hashint8extended(n, 2) AS id;
-- unpadded
SELECT base, count(*) FILTER (WHERE flake_from_text(ltrim(flake_to_text(id, base), zero), base) <> id) AS wrong
FROM (VALUES (16, '0'), (32, '0'), (58, '1'), (62, '0')) AS b (base, zero), generate_series(1, 1000) AS n,
     LATERAL (SELECT hashint8extended(n, 3) >> n % 63 & 9223372036854775807 | 1 AS id) AS i
GROUP BY base ORDER BY base;

-- in the order of ids, negative ones after the others
SELECT base, count(*) FILTER (WHERE following <= text COLLATE "C") AS wrong
FROM (SELECT base, flake_to_text(id, base) AS text,
             lead(flake_to_text(id, base)) OVER (PARTITION BY base ORDER BY id < 0, id) AS following
      FROM unnest(ARRAY[16, 32, 58, 62]) AS base, generate_series(1, 50000) AS n, hashint8extended(n, 4) AS id) AS t
GROUP BY base ORDER BY base;

-- Crockford's look-alikes, and case
SELECT flake_from_text('oO0iIlL1', 32) = flake_from_text('00011111', 32) AS same,
       flake_from_text('abcdefgh', 32) = flake_from_text('ABCDEFGH', 32) AS "in 32",
       flake_from_text('abc') = flake_from_text('ABC') AS "not in 62";

\x on
SELECT * FROM attempt($$SELECT flake_to_text(1, 10)$$);
SELECT * FROM attempt($$SELECT flake_from_text('1', 64)$$);
SELECT * FROM attempt($$SELECT flake_from_text('')$$);
SELECT * FROM attempt($$SELECT flake_from_text('1-2')$$);
SELECT code, message FROM attempt($$SELECT flake_from_text(' 1')$$);
SELECT code, message FROM attempt($$SELECT flake_from_text('u', 32)$$);
SELECT code, message FROM attempt($$SELECT flake_from_text('0', 58)$$);
SELECT code, message FROM attempt($$SELECT flake_from_text('g', 16)$$);
SELECT code, message FROM attempt($$SELECT flake_from_text('ABCDEF', 16)$$);
SELECT code, message LIKE '%: "é"' AS "whole character" FROM attempt($$SELECT flake_from_text('é')$$);
SELECT code, detail FROM attempt($$SELECT flake_from_text('10000000000000000', 16)$$);
SELECT code, detail FROM attempt($$SELECT flake_from_text('LygHa16AHYG')$$);
SELECT code, detail FROM attempt($$SELECT flake_from_text('G000000000000', 32)$$);
\x off
SELECT flake_from_text('LygHa16AHYF') AS largest, flake_to_text(NULL), flake_to_text(1, NULL), flake_from_text(NULL);

-- however long it is, it can be canceled
SET statement_timeout = '50ms';
SELECT flake_from_text(repeat('0', 200000000), 16);
RESET statement_timeout;
