--
-- flake_rewind(): which ids in use it knows of.
--
SELECT flake_create_generator('part_id', 'seq:63');
CREATE TABLE part (id bigint DEFAULT flake_id(0, 'part_id'), what text);

-- Those of a column whose domain has the default, and of domains over that, which copy it
CREATE DOMAIN part_number AS bigint DEFAULT flake_id(0, 'part_id');
CREATE DOMAIN bolt_number AS part_number CHECK (VALUE > 0);
CREATE DOMAIN no_number AS part_number DEFAULT NULL;
CREATE TABLE bolt (id part_number NOT NULL, what text);
CREATE TABLE nut (id bolt_number, what text) PARTITION BY RANGE (id);
CREATE TABLE nut_1 PARTITION OF nut FOR VALUES FROM (1) TO (1000000);
CREATE TABLE screw (what text, gone part_number);
ALTER TABLE screw DROP gone, ADD id part_number;
-- but not where there is another default, or nothing takes it
CREATE TABLE other (a part_number DEFAULT 5, b part_number DEFAULT NULL, c part_number GENERATED ALWAYS AS (1) STORED,
                    d part_number[], e no_number, f bigint);
CREATE TYPE pair AS (a part_number, b part_number);
CREATE TABLE pairs (p pair);
CREATE TABLE typed OF pair;
CREATE VIEW view AS SELECT id FROM bolt;
SELECT c.* FROM flake_columns('part_id') AS c ORDER BY c::text COLLATE "C";
INSERT INTO part DEFAULT VALUES RETURNING id;
INSERT INTO bolt (what) SELECT 'bolt' FROM generate_series(1, 5) RETURNING id;
INSERT INTO nut (what) VALUES ('nut') RETURNING id;
INSERT INTO screw (what) VALUES ('screw') RETURNING id;
\x on
SELECT * FROM attempt($$SELECT flake_rewind('part_id', 1)$$);
DELETE FROM screw;
SELECT detail, hint FROM attempt($$SELECT flake_rewind('part_id', 1)$$);
DELETE FROM nut;
SELECT detail, hint FROM attempt($$SELECT flake_rewind('part_id', 1)$$);
DELETE FROM bolt WHERE id > 4;
\x off
SELECT flake_rewind('part_id', 4);
INSERT INTO bolt (what) VALUES ('bolt') RETURNING id;
-- what makes something else of ids cannot be searched there either
CREATE DOMAIN part_code AS text DEFAULT flake_to_text(flake_id(0, 'part_id'));
CREATE TABLE coded (id part_code);
SELECT * FROM attempt($$SELECT flake_rewind('part_id', 4)$$);
ALTER TABLE coded ALTER id SET DEFAULT 'a';
SELECT code, detail FROM attempt($$SELECT flake_rewind('part_id', 4)$$);
-- also if that has the name of what mints, or is a cast
CREATE SCHEMA alike;
CREATE FUNCTION alike.flake_id(bigint) RETURNS bigint LANGUAGE sql RETURN -$1;
CREATE TABLE negated (id bigint DEFAULT alike.flake_id(flake_id(0, 'part_id')));
SELECT code, detail FROM attempt($$SELECT flake_rewind('part_id', 4)$$);
DROP TABLE negated;
CREATE TYPE boxed AS (id bigint);
CREATE FUNCTION alike.box(bigint) RETURNS boxed LANGUAGE sql RETURN ROW(-$1)::boxed;
CREATE FUNCTION alike.unbox(boxed) RETURNS bigint LANGUAGE sql RETURN $1.id;
CREATE CAST (bigint AS boxed) WITH FUNCTION alike.box(bigint);
CREATE CAST (boxed AS bigint) WITH FUNCTION alike.unbox(boxed);
CREATE TABLE negated (id bigint DEFAULT flake_id(0, 'part_id')::boxed::bigint);
SELECT code, detail FROM attempt($$SELECT flake_rewind('part_id', 4)$$);
DROP TABLE negated;
DROP CAST (bigint AS boxed);
DROP CAST (boxed AS bigint);
DROP FUNCTION alike.flake_id, alike.box, alike.unbox;
DROP TYPE boxed;
DROP SCHEMA alike;
-- nor are definitions read that it takes long to read
DROP TABLE coded;
CREATE PROCEDURE long_definition(definition text) LANGUAGE plpgsql AS $$
BEGIN
    EXECUTE format(definition, repeat('x', 1500000));
END
$$;
CALL long_definition('CREATE TABLE long (id bigint DEFAULT flake_id(length(%L), ''part_id''))');
SELECT code, detail FROM attempt($$SELECT flake_rewind('part_id', 4)$$);
DROP TABLE long;
CALL long_definition('CREATE TABLE long (id bigint DEFAULT flake_id(0, ''part_id'') CHECK (id::text <> %L))');
SELECT code, detail FROM attempt($$SELECT flake_rewind('part_id', 4)$$);
DROP TABLE long;
CREATE TABLE long_parent (id bigint DEFAULT flake_id(0, 'part_id'));
CALL long_definition('CREATE TABLE long (CHECK (id::text <> %L)) INHERITS (long_parent)');
SELECT code, detail FROM attempt($$SELECT flake_rewind('part_id', 4)$$);
DROP TABLE long_parent, long;
CALL long_definition('CREATE DOMAIN long AS bigint DEFAULT flake_id(length(%L), ''part_id'')');
CREATE TABLE of_long (id long);
SELECT code, detail FROM attempt($$SELECT flake_rewind('part_id', 4)$$);
DROP TABLE of_long;
DROP DOMAIN long;
DROP PROCEDURE long_definition;
CREATE TABLE coded (id part_code);
-- the extension's own generators
CREATE DOMAIN default_number AS bigint DEFAULT flake_id(1);
CREATE DOMAIN default_uuid AS uuid DEFAULT flake_uuidv7();
CREATE TABLE defaults (id default_number, u default_uuid);
SELECT * FROM flake_columns() WHERE relation = 'defaults'::regclass;
SELECT * FROM flake_columns('flake_default_uuidv7') WHERE relation = 'defaults'::regclass;
DROP TABLE coded;

-- Nor are ids that the transaction itself has minted in a row that could be found
\x on
SELECT * FROM attempt($$SELECT flake_rewind('part_id', flake_id(0, 'part_id') - 1)$$);
\x off
BEGIN;
INSERT INTO part DEFAULT VALUES;
SELECT code, message FROM attempt($$SELECT flake_rewind('part_id', 5)$$);
-- also after what was looked up of it is forgotten
DISCARD PLANS;
ALTER SEQUENCE part_id OWNED BY part.id;
SELECT flake_create_generator('another_id', 'seq:63');
SELECT flake_id(0, 'another_id');
SELECT code, message FROM attempt($$SELECT flake_rewind('part_id', 5)$$);
ROLLBACK;
BEGIN;
SAVEPOINT s;
SELECT flake_id(0, 'part_id') > 5 AS minted;
ROLLBACK TO s;
SELECT code, message FROM attempt($$SELECT flake_rewind('part_id', 5)$$);
ROLLBACK;
-- with time, and of the extension's own; 22023 would be a horizon that is not above
SELECT flake_create_generator('timed_id');
CREATE TABLE timed (id bigint DEFAULT flake_id(1, 'timed_id'), own bigint DEFAULT flake_id(1), u uuid DEFAULT flake_uuidv7(1));
BEGIN;
INSERT INTO timed DEFAULT VALUES;
SELECT g.name, a.code FROM (VALUES ('timed_id'), ('flake_default'), ('flake_default_uuidv7')) AS g (name),
    attempt(format('SELECT flake_rewind(%L, flake_upper(now() + interval ''1 hour'', flake_layout_of(%1$L)))', g.name)) AS a;
COMMIT;
-- who has only looked at it, or backfilled, has minted nothing
SELECT flake_detach(2, 'timed_id') IS NOT NULL;
BEGIN;
SELECT flake_would_exceed('timed_id', 1, 1), flake_backfill(now() - interval '1 day', 2, 'timed_id') > 0 AS backfilled;
SELECT code FROM attempt($$SELECT flake_rewind('timed_id', flake_upper(now() + interval '1 hour', flake_layout_of('timed_id')))$$);
COMMIT;
-- what the transaction has changed comes back when it is undone
BEGIN;
DELETE FROM part;
SELECT code, message FROM attempt($$SELECT flake_rewind('part_id', 5)$$);
ROLLBACK;
-- many generators at a time: in doubt it is refused
BEGIN;
CREATE FUNCTION mint_many(count int) RETURNS void LANGUAGE sql AS $$
    SELECT flake_id(0, flake_create_generator('many_' || i)) FROM generate_series(1, count) AS i
$$;
SELECT mint_many(4);
SELECT code, message FROM attempt($$SELECT flake_rewind('part_id', 5)$$);
SELECT flake_id(0, flake_create_generator('many_5')) > 0 AS minted;
SELECT code, message FROM attempt($$SELECT flake_rewind('part_id', 5)$$);
ROLLBACK;
BEGIN;
INSERT INTO part SELECT FROM generate_series(1, 5);
COMMIT;
-- force
BEGIN;
SELECT max(id) AS id FROM part \gset
SELECT flake_id(0, 'part_id') - :id AS one;
SELECT flake_rewind('part_id', :id, force => true);
SELECT flake_id(0, 'part_id') - :id AS one;
COMMIT;

-- the shard above the sequence: a bound is the number that it has in its shard
SELECT flake_create_generator('box_id', 'shard:4 seq:40 block=10');
SELECT count(flake_id(0, 'box_id')), count(flake_id(3, 'box_id')) FROM generate_series(1, 100);
SELECT flake_sequence(flake_detach(2, 'box_id'), flake_layout_of('box_id')) <= 0 AS unused,
    flake_sequence(flake_detach(3, 'box_id'), flake_layout_of('box_id'));
SELECT flake_rewind('box_id', 90, force => true);
DROP SEQUENCE box_id;

DROP TABLE part, bolt, nut, screw, other, pairs, typed, defaults, timed CASCADE;
DROP TYPE pair;
DROP DOMAIN part_number, bolt_number, no_number, part_code, default_number, default_uuid CASCADE;
DROP SEQUENCE part_id, timed_id;
