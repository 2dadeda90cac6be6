--
-- The horizon, kept in the generator's sequence.
--
-- an id without its shard, as the horizon counts
CREATE FUNCTION packed(id bigint) RETURNS bigint LANGUAGE sql
RETURN (id >> 23 << 10) + flake_sequence(id);

-- every id is at or below it
SELECT flake_id(5) AS id \gset
SELECT packed(:id) <= last_value AS covered FROM flake_default;
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
SELECT packed(max(id)) <= (SELECT last_value FROM flake_default) AS covered
FROM (SELECT flake_id(5) AS id FROM generate_series(1, 1000000)) AS ids;
RESET debug_discard_caches;

-- setval() cannot lower it
SELECT flake_id(5) AS before \gset
SELECT setval('flake_default', 1);
SELECT flake_id(5) > :before AS later;
\c -
SELECT flake_id(5) > :before AS "later, in a new session";
SELECT last_value >= packed(:before) AS "raised again" FROM flake_default;

-- nor can ALTER SEQUENCE, which gives the sequence a new file
SELECT flake_id(5) AS before \gset
ALTER SEQUENCE flake_default RESTART;
SELECT last_value FROM flake_default;
SELECT flake_id(5) > :before AS later;
SELECT last_value >= packed(:before) AS "raised again" FROM flake_default;
ALTER SEQUENCE flake_default RESTART;
\c -
SELECT flake_id(5) > :before AS "later, in a new session";

-- nor TRUNCATE, if somebody makes a table the sequence's owner
ALTER EXTENSION flakeid DROP SEQUENCE flake_default;
CREATE TABLE owner (id bigint);
ALTER SEQUENCE flake_default OWNED BY owner.id;
TRUNCATE owner RESTART IDENTITY;
SELECT flake_id(5) > :before AS later;
\c -
SELECT flake_id(5) > :before AS "later, in a new session";
ALTER SEQUENCE flake_default OWNED BY NONE;
DROP TABLE owner;
ALTER EXTENSION flakeid ADD SEQUENCE flake_default;

-- raised by setval(), as by a restore
SELECT packed(flake_id(5)) + 1024 * 1000 AS high \gset
SELECT setval('flake_default', :high) = :high AS raised;
\c -
SELECT packed(flake_id(5)) > :high AS above, packed(flake_id(6)) > :high AS "another shard too";

-- setval() and RESTART before the first id name the next one
SELECT flake_create_generator('num', 'segment');
SELECT setval('num', 1000000, false);
SELECT flake_id(0, 'num');
SELECT setval('num', 2000000, false);
\c -
SELECT flake_id(0, 'num');
DROP SEQUENCE num;
SELECT flake_create_generator('num', 'segment');
ALTER SEQUENCE num RESTART WITH 1000;
SELECT flake_horizon('num');
SELECT flake_id(0, 'num');
DROP SEQUENCE num;
SELECT flake_create_generator('num', 'segment');
SELECT setval('num', 1, false);
SELECT flake_horizon('num');
SELECT flake_id(0, 'num');
DROP SEQUENCE num;

-- nor does flake_advance() raise it to where nothing can be minted for long
SELECT flake_create_generator('daily', 'ts:20 shard:13 seq:30 epoch=2020-01-01 unit=1d');
SELECT flake_id(5, 'daily') AS id \gset
SELECT flake_horizon('daily') AS before \gset
SELECT code FROM attempt(format($$SELECT flake_advance('daily', %s)$$, :id));
SELECT flake_horizon('daily') = :before AS "as before", flake_id(5, 'daily') - :id AS next;
DROP SEQUENCE daily;

-- what cannot be relied upon in a crash is refused
\x on
BEGIN;
ALTER SEQUENCE flake_default RESTART;
SELECT * FROM attempt('SELECT flake_id(5)');
ROLLBACK;
ALTER SEQUENCE flake_default SET UNLOGGED;
SELECT * FROM attempt('SELECT flake_id(5)');
ALTER SEQUENCE flake_default SET LOGGED;
\x off
SELECT packed(flake_id(5)) > :high AS above;

-- The sequence is found by its name in the extension's schema.
ALTER SEQUENCE flake_default RENAME TO elsewhere;
\x on
SELECT * FROM attempt('SELECT flake_id(5)');
\x off
ALTER SEQUENCE elsewhere RENAME TO flake_default;
SELECT packed(flake_id(5)) > :high AS above;

-- Set past the lifetime, it stays; set to its end, nothing is left.
SELECT code, regexp_replace(message, 'value \d+', 'value ID') FROM attempt($$SELECT setval('flake_default', flake_id(5))$$);
SELECT setval('flake_default', 1125899906842623);
\c -
SET timezone = 'UTC';
SET datestyle = 'ISO';
\x on
SELECT * FROM attempt('SELECT flake_id(5)');
