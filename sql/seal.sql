--
-- Sealed ids
--
-- NIST's examples of FF1: numbers 1 to 9 of those that are published with SP 800-38G
CREATE TABLE sample (sample int, key bytea, radix int, tweak bytea, plain text, encrypted text);
INSERT INTO sample VALUES
    (1, '\x2B7E151628AED2A6ABF7158809CF4F3C', 10, '', '0123456789', '2433477484'),
    (2, '\x2B7E151628AED2A6ABF7158809CF4F3C', 10, '\x39383736353433323130', '0123456789', '6124200773'),
    (3, '\x2B7E151628AED2A6ABF7158809CF4F3C', 36, '\x3737373770717273373737', '0123456789abcdefghi', 'a9tv40mll9kdu509eum'),
    (4, '\x2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F', 10, '', '0123456789', '2830668132'),
    (5, '\x2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F', 10, '\x39383736353433323130', '0123456789', '2496655549'),
    (6, '\x2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F', 36, '\x3737373770717273373737', '0123456789abcdefghi', 'xbj3kv35jrawxv32ysr'),
    (7, '\x2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94', 10, '', '0123456789', '6657667009'),
    (8, '\x2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94', 10, '\x39383736353433323130', '0123456789', '1001623463'),
    (9, '\x2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94', 36, '\x3737373770717273373737', '0123456789abcdefghi', 'xs8a0azh2avyalyzuwd');
SELECT sample, _flake_ff1(plain, radix, tweak, key, false) = encrypted AS encrypts,
       _flake_ff1(encrypted, radix, tweak, key, true) = plain AS decrypts
FROM sample ORDER BY sample;
-- what seals ids is the same function, with radix 2
SELECT count(*) FILTER (WHERE _flake_ff1(id::bit(64)::text, 2, '', key, false) <> flake_seal(id, key)::bit(64)::text) AS otherwise,
       count(*) FILTER (WHERE _flake_ff1(id::bit(64)::text, 2, '', key, true) <> flake_unseal(id, key)::bit(64)::text) AS "otherwise back"
FROM sample, generate_series(1, 200) AS n, hashint8extended(n, 6) AS id;
-- and with other formats: odd lengths, long tweaks
SELECT radix, count(*) FILTER (WHERE _flake_ff1(_flake_ff1(plain, radix, tweak, key, false), radix, tweak, key, true) <> plain) AS "not undone",
       count(*) FILTER (WHERE _flake_ff1(plain, radix, tweak, key, false) !~ '^[0-9a-z]+$') AS strange
FROM (SELECT f.radix, substr(repeat('10', 50), 1, f.length) AS plain, decode(repeat('a5', t.bytes), 'hex') AS tweak, s.key
      FROM sample AS s, (VALUES (2, 101), (3, 69), (7, 37), (16, 27), (29, 21)) AS f (radix, length), unnest('{0,1,16,39,40}'::int[]) AS t (bytes)) AS s
GROUP BY radix ORDER BY radix;

-- for applications in other languages; computed by an independent implementation
CREATE TABLE vector (id bigint, key_hex text, version int, sealed bigint, text text, key bytea GENERATED ALWAYS AS (decode(key_hex, 'hex')) STORED);
\copy vector (id, key_hex, version, sealed, text) FROM 'clients/vectors/seal.csv' CSV HEADER
SELECT length(key), count(*), count(*) FILTER (WHERE flake_seal(id, key) <> sealed) AS wrong,
       count(*) FILTER (WHERE flake_unseal(sealed, key) <> id) AS "not undone"
FROM vector GROUP BY 1 ORDER BY 1;

-- a permutation
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
SELECT count(*), count(DISTINCT flake_seal(id, 'a key of 16 byte'::bytea)) AS sealed,
       count(*) FILTER (WHERE flake_unseal(flake_seal(id, 'a key of 16 byte'::bytea), 'a key of 16 byte'::bytea) <> id) AS "not undone"
FROM generate_series(1, 10000) AS n, hashint8extended(n, 5) AS id;
RESET debug_discard_caches;

-- no visible order: of consecutive ids half of the bits differ, each of them, and one is as often above the other as below
WITH pair AS (
    SELECT flake_seal(id, 'a key of 16 byte'::bytea) AS sealed, lead(flake_seal(id, 'a key of 16 byte'::bytea)) OVER (ORDER BY id) AS following
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
FROM (SELECT avg(length(replace((flake_seal(id, 'a key of 16 byte'::bytea) # flake_seal(id # (1::bigint << bit), 'a key of 16 byte'::bytea))::bit(64)::text, '0', ''))) AS changed
      FROM generate_series(0, 63) AS bit, generate_series(1, 100) AS id GROUP BY bit) AS b;
SELECT avg(length(replace((flake_seal(id, 'a key of 16 byte'::bytea) # flake_seal(id, 'a kez of 16 byte'::bytea))::bit(64)::text, '0', ''))) BETWEEN 31 AND 33 AS "the key"
FROM generate_series(1, 2000) AS id;

-- as one would use it
SELECT flake_to_text(flake_seal(4035280290552217599, '\x000102030405060708090a0b0c0d0e0f'::bytea)) AS public_id \gset
SELECT :'public_id', flake_unseal(flake_from_text(:'public_id'), '\x000102030405060708090a0b0c0d0e0f'::bytea);

-- more keys at a time than a session keeps
SELECT count(*), count(DISTINCT sealed), count(*) FILTER (WHERE flake_unseal(sealed, key) <> 5) AS "not undone"
FROM (SELECT decode(lpad(to_hex(n % 20), 32, '0'), 'hex') AS key,
             flake_seal(5, decode(lpad(to_hex(n % 20), 32, '0'), 'hex')) AS sealed FROM generate_series(1, 1000) AS n) AS s;

\x on
SELECT * FROM attempt($$SELECT flake_seal(1, ''::bytea)$$);
SELECT code, message FROM attempt($$SELECT flake_unseal(1, '\x00'::bytea)$$);
SELECT code, detail FROM attempt($$SELECT flake_seal(1, 'a key of 17 bytes'::bytea)$$);
SELECT code, message, detail FROM attempt($$SELECT _flake_ff1('012', 2, '', 'a key of 16 byte', false)$$);
SELECT code FROM attempt($$SELECT _flake_ff1('0', 2, '', 'a key of 16 byte', false)$$);
SELECT code FROM attempt($$SELECT _flake_ff1('01', 37, '', 'a key of 16 byte', false)$$);
SELECT code FROM attempt($$SELECT _flake_ff1(repeat('0', 115), 2, '', 'a key of 16 byte', false)$$);
SELECT code FROM attempt($$SELECT _flake_ff1('01', 2, decode(repeat('00', 41), 'hex'), 'a key of 16 byte', false)$$);
\x off
SELECT flake_seal(NULL, 'a key of 16 byte'::bytea), flake_seal(1, NULL::bytea), flake_unseal(NULL, 'key'), flake_unseal(1, NULL::text);
DROP TABLE vector, sample;

--
-- Keys with a name
--
CREATE ROLE flake_app;
CREATE ROLE flake_guest;
CREATE SERVER orders FOREIGN DATA WRAPPER flake_key;
GRANT USAGE ON FOREIGN SERVER orders TO flake_app;
CREATE USER MAPPING FOR flake_app SERVER orders OPTIONS (key_1 '000102030405060708090a0b0c0d0e0f');

SET ROLE flake_app;
SELECT flake_seal(5, 'orders') = flake_seal(5, '\x000102030405060708090a0b0c0d0e0f'::bytea) AS same,
       flake_unseal(flake_seal(5, 'orders'), 'orders'), flake_seal_text(5, 'orders'),
       flake_unseal_text(flake_seal_text(5, 'orders'), 'orders') AS read;
SELECT flake_seal_text(5, 'orders') AS public_id, flake_seal(5, 'orders') AS sealed \gset
-- a new version: the old one is still read
SELECT flake_add_key('orders');
SELECT flake_seal_text(5, 'orders') LIKE '2-___________' AS newest, flake_seal_text(5, 'orders') <> :'public_id' AS other,
       flake_unseal_text(:'public_id', 'orders'), flake_unseal_text(flake_seal_text(5, 'orders'), 'orders') AS read,
       flake_unseal(:sealed, 'orders', 1), flake_unseal(:sealed, 'orders') <> 5 AS "not by the newest";
SELECT umoptions[1], left(umoptions[2], 6), length(umoptions[2]) FROM pg_user_mappings WHERE srvname = 'orders';
-- 2 is below 10, and there may be gaps
RESET ROLE;
ALTER USER MAPPING FOR flake_app SERVER orders OPTIONS (ADD key_10 '100102030405060708090a0b0c0d0e0f1011121314151617');
SET ROLE flake_app;
SELECT flake_seal_text(5, 'orders') LIKE '10-%' AS newest, flake_unseal_text(:'public_id', 'orders');
SELECT flake_add_key('orders', 'flake_app');
RESET ROLE;
-- a version is dropped: what it has sealed can no longer be read
ALTER USER MAPPING FOR flake_app SERVER orders OPTIONS (DROP key_1);
SET ROLE flake_app;
\x on
SELECT * FROM attempt(format('SELECT flake_unseal_text(%L, %L)', :'public_id', 'orders'));
SELECT code, message FROM attempt($$SELECT flake_unseal(5, 'orders', 3)$$);
SELECT * FROM attempt($$SELECT flake_unseal(5, 'orders', 0)$$);
\x off

-- who may
\x on
SET ROLE flake_guest;
SELECT * FROM attempt($$SELECT flake_seal(5, 'orders')$$);
SELECT code, message FROM attempt($$SELECT flake_add_key('orders')$$);
SELECT code, message FROM attempt($$SELECT flake_add_key('orders', 'flake_app')$$);
SELECT code, message FROM attempt($$SELECT flake_add_key('orders', 'public')$$);
SELECT code, message FROM attempt($$CREATE SERVER mine FOREIGN DATA WRAPPER flake_key$$);
RESET ROLE;
GRANT USAGE ON FOREIGN SERVER orders TO flake_guest;
SET ROLE flake_guest;
SELECT * FROM attempt($$SELECT flake_seal(5, 'orders')$$);
SELECT umoptions FROM pg_user_mappings WHERE srvname = 'orders';
RESET ROLE;
\x off
-- that of PUBLIC is for those who have none
SELECT flake_add_key('orders', 'public');
SET ROLE flake_guest;
SELECT flake_seal_text(5, 'orders') AS guest_id \gset
SELECT :'guest_id' LIKE '1-%' AS public;
-- with a key of his own he does not read that as another id
SELECT flake_add_key('orders');
SELECT code, message FROM attempt(format('SELECT flake_unseal_text(%L, %L)', :'guest_id', 'orders'));
DROP USER MAPPING FOR flake_guest SERVER orders;
SELECT flake_unseal_text(:'guest_id', 'orders');
SET ROLE flake_app;
SELECT flake_seal_text(5, 'orders') LIKE '11-%' AS own;
RESET ROLE;
-- a function can use a key that its caller does not see
CREATE FUNCTION public_id(id bigint) RETURNS text LANGUAGE sql SECURITY DEFINER RETURN flake_seal_text(id, 'orders');
ALTER FUNCTION public_id(bigint) OWNER TO flake_app;
SET ROLE flake_guest;
SELECT public_id(5) = flake_seal_text(5, 'orders') AS "the guest's", public_id(5) LIKE '11-%' AS "the owner's";
RESET ROLE;
DROP FUNCTION public_id(bigint);

-- what is kept is forgotten when it is undone
CREATE USER MAPPING FOR CURRENT_USER SERVER orders OPTIONS (key_1 '000102030405060708090a0b0c0d0e0f');
BEGIN;
ALTER USER MAPPING FOR CURRENT_USER SERVER orders OPTIONS (SET key_1 'ff0102030405060708090a0b0c0d0e0f');
SELECT flake_seal_text(5, 'orders') = :'public_id' AS same;
ROLLBACK;
SELECT flake_seal_text(5, 'orders') = :'public_id' AS same;
DROP USER MAPPING FOR CURRENT_USER SERVER orders;
SELECT flake_seal_text(5, 'orders') = :'public_id' AS same;

-- what is no key, and errors that tell none
\x on
SELECT * FROM attempt($$CREATE USER MAPPING FOR CURRENT_USER SERVER orders OPTIONS (key_1 '5ec4e7')$$);
SELECT code, message FROM attempt($$CREATE USER MAPPING FOR CURRENT_USER SERVER orders OPTIONS (key_1 'x00102030405060708090a0b0c0d0e0f')$$);
SELECT * FROM attempt($$CREATE USER MAPPING FOR CURRENT_USER SERVER orders OPTIONS (key '000102030405060708090a0b0c0d0e0f')$$);
SELECT count(*), string_agg(DISTINCT a.code, ' ') AS codes
FROM unnest('{key_0,key_01,key_,key_1a,key_2147483648,key_99999999999999999999}'::text[]) AS name,
     attempt(format($$CREATE USER MAPPING FOR CURRENT_USER SERVER orders OPTIONS (%I '000102030405060708090a0b0c0d0e0f')$$, name)) AS a;
SELECT * FROM attempt($$ALTER SERVER orders OPTIONS (key_1 '000102030405060708090a0b0c0d0e0f')$$);
CREATE USER MAPPING FOR CURRENT_USER SERVER orders;
SELECT * FROM attempt($$SELECT flake_seal(5, 'orders')$$);
ALTER USER MAPPING FOR CURRENT_USER SERVER orders OPTIONS (key_2147483647 '000102030405060708090a0b0c0d0e0f');
SELECT flake_seal_text(5, 'orders'), flake_unseal_text(flake_seal_text(5, 'orders'), 'orders');
SELECT code, message FROM attempt($$SELECT flake_add_key('orders')$$);
SELECT * FROM attempt($$SELECT flake_seal(5, 'nothing')$$);
SELECT * FROM attempt($$SELECT flake_seal(5, '\x000102030405060708090a0b0c0d0e0f')$$);
SELECT code, message FROM attempt($$SELECT flake_add_key('orders', 'nobody_at_all')$$);
SELECT * FROM attempt($$SELECT flake_unseal_text('1-abc', 'orders')$$);
SELECT text, a.code, a.message FROM unnest('{"",-,1,-1-00000000000,01-00000000000,2147483648-00000000000,1_00000000000,1-000000000000,1-0000000000?,1-LygHa16AHYG}'::text[]) AS text,
     attempt(format('SELECT flake_unseal_text(%L, %L)', text, 'orders')) AS a;
\x off
-- a server of another kind
CREATE FOREIGN DATA WRAPPER flake_other;
CREATE SERVER elsewhere FOREIGN DATA WRAPPER flake_other;
CREATE USER MAPPING FOR CURRENT_USER SERVER elsewhere OPTIONS (key_1 '000102030405060708090a0b0c0d0e0f');
SELECT code, message, detail FROM attempt($$SELECT flake_seal(5, 'elsewhere')$$);
SELECT code, message FROM attempt($$SELECT flake_add_key('elsewhere')$$);
BEGIN READ ONLY;
SELECT code, message FROM attempt($$SELECT flake_add_key('orders')$$);
ROLLBACK;

SET client_min_messages = warning;
DROP FOREIGN DATA WRAPPER flake_other CASCADE;
DROP SERVER orders CASCADE;
DROP ROLE flake_app, flake_guest;
