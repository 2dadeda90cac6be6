--
-- Ids of 128 and 96 bits.
--
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- Boundary's flake: readme.md of boundary/flake shows these, minted in January
-- 2012 on one machine, as bytes and in base 62.
SELECT * FROM flake_uuid_decode('00000134-d421-2d43-109a-dd5e0e8f0000');
SELECT t, u, d.* FROM (VALUES ('8HFaR8qWtRlGDHnO57'), ('8HFaR8qWtRlGDHnO56'), ('8HFaR8qAulTgCBd6Wp')) AS v (t),
    flake_uuid_from_text(t) AS u, flake_uuid_decode(u) AS d;

-- MongoDB's ObjectID: the manual's example of ObjectId.getTimestamp(), the one of
-- ObjectId(), and the times of the specification's tests
SELECT id, flake_objectid_timestamp(id) FROM (VALUES ('507c7f79bcf86cd7994f6c0e'), ('507f1f77bcf86cd799439011'),
    ('507F1F77BCF86CD799439011'), ('000000000000000000000000'), ('7fffffff0000000000000000'),
    ('800000000000000000000000'), ('ffffffffffffffffffffffff')) AS v (id);

-- text of fixed width, which sorts as the UUIDs do
SELECT base, flake_uuid_to_text(u, base), length(flake_uuid_to_text(u, base))
FROM (VALUES ('00000000-0000-0000-0000-000000000000'::uuid), ('00000134-d421-2d43-109a-dd5e0e8f0000'),
             ('ffffffff-ffff-ffff-ffff-ffffffffffff')) AS v (u),
     (VALUES (16), (32), (58), (62)) AS b (base)
ORDER BY base, u;
CREATE TEMPORARY TABLE uuids AS SELECT gen_random_uuid() AS u FROM generate_series(1, 10000);
UPDATE uuids SET u = overlay(u::text placing '00000000-0000' from 1)::uuid WHERE u > '80000000-0000-0000-0000-000000000000';
SELECT base, count(*) FILTER (WHERE flake_uuid_from_text(t, base) <> u) AS wrong,
       count(*) FILTER (WHERE flake_uuid_from_text(ltrim(t, CASE base WHEN 58 THEN '1' ELSE '0' END), base) <> u) AS "wrong unpadded",
       count(*) FILTER (WHERE by_text <> by_uuid) AS misordered
FROM (SELECT base, u, flake_uuid_to_text(u, base) AS t,
             row_number() OVER (PARTITION BY base ORDER BY flake_uuid_to_text(u, base) COLLATE "C") AS by_text,
             row_number() OVER (PARTITION BY base ORDER BY u) AS by_uuid
      FROM uuids, (VALUES (16), (32), (58), (62)) AS b (base)) AS texts
GROUP BY base ORDER BY base;
SELECT flake_uuid_from_text('z', 32), flake_uuid_from_text('OoIiLl', 32), flake_uuid_from_text('21', 58);
SELECT flake_uuid_to_text(NULL), flake_uuid_from_text(NULL);
\x on
SELECT * FROM attempt($$SELECT flake_uuid_to_text(gen_random_uuid(), 10)$$);
SELECT * FROM attempt($$SELECT flake_uuid_from_text('1', 64)$$);
SELECT * FROM attempt($$SELECT flake_uuid_from_text('')$$);
SELECT * FROM attempt($$SELECT flake_uuid_from_text('8HFaR8qWtRlGDHnO5-')$$);
SELECT * FROM attempt($$SELECT flake_uuid_from_text('0OIl', 58)$$);
SELECT * FROM attempt($$SELECT flake_uuid_from_text('U', 32)$$);
SELECT * FROM attempt($$SELECT flake_uuid_from_text('7n42DGM5Tflk9n8mt7Fhc8')$$);
SELECT * FROM attempt($$SELECT flake_uuid_from_text(repeat('z', 23))$$);
SELECT * FROM attempt($$SELECT flake_uuid_decode('ffffffff-ffff-ffff-ffff-ffffffffffff')$$);
SELECT * FROM attempt($$SELECT flake_uuid_decode('7fffffff-ffff-ffff-ffff-ffffffffffff')$$);
SELECT * FROM attempt($$SELECT flake_objectid_timestamp('507f1f77bcf86cd79943901')$$);
SELECT * FROM attempt($$SELECT flake_objectid_timestamp('507f1f77bcf86cd7994390111')$$);
SELECT * FROM attempt($$SELECT flake_objectid_timestamp('507f1f77bcf86cd79943901g')$$);
SELECT * FROM attempt($$SET flakeid.worker = '08:00:2b:01:02:03'$$);
BEGIN READ ONLY;
SELECT * FROM attempt($$SELECT flake_objectid()$$);
COMMIT;
\x off

-- minting (flake_uuid() is in t/, where its worker can be set)
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
CREATE TEMPORARY TABLE objectids AS
SELECT i, flake_objectid() AS id FROM generate_series(1, 100000) AS i;
RESET debug_discard_caches;
SELECT count(DISTINCT id), count(DISTINCT substr(id, 9, 10)) AS servers, bool_and(id ~ '^[0-9a-f]{24}$') AS "well formed",
       max(flake_objectid_timestamp(id)) - now() < '20 s' AS "right time"
FROM objectids;
SELECT count(*) FILTER (WHERE id COLLATE "C" <= previous) AS misordered
FROM (SELECT id, lag(id) OVER (ORDER BY i) AS previous FROM objectids) AS pairs;
REVOKE SELECT ON SEQUENCE flake_default_objectid FROM PUBLIC;
CREATE ROLE flake_regress_user;
SET ROLE flake_regress_user;
SELECT * FROM attempt('SELECT flake_objectid()');
RESET ROLE;
DROP ROLE flake_regress_user;
GRANT SELECT ON SEQUENCE flake_default_objectid TO PUBLIC;
RESET timezone;
RESET datestyle;
