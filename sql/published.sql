--
-- Other projects' tests, from the figures that they have published. What of each is
-- run, and what is not and why: docs/internals/others_tests.md. Single ids that show
-- what a layout is are in preset.sql; what needs a clock is in t/published.pl.
--
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';
SET client_min_messages = warning;

CREATE FUNCTION at_ms(ms bigint) RETURNS timestamptz IMMUTABLE LANGUAGE sql
    RETURN timestamptz '1970-01-01Z' + ms * interval '1 ms';

-- Hazelcast, FlakeIdGeneratorProxyTest.java: milliseconds since 1970 and the id that
-- node 1234 gets first, or second.
CREATE TEMPORARY TABLE hazelcast AS
SELECT test, ms, seq, layout::flake_layout, id
FROM (VALUES
    ('time, low edge', 1514764800000, 0, 'hazelcast', 1234),
    ('time, middle', 1516028439000, 0, 'hazelcast', 5300086112257234),
    ('two ids at one moment', 1516028439000, 1, 'hazelcast', 5300086112257234 + 65536),
    ('time, high edge', 3713788055551, 0, 'hazelcast', 9223372036850582738),
    ('negative id', 1514764799999, 0, 'hazelcast', -4194304 + 1234),
    ('low negative edge', -684258455552, 0, 'hazelcast', -9223372036854775808 + 1234),
    ('custom bits', 1, 0, 'ts:42 seq:10 node:11 epoch=0', 2097152 + 1234),
    ('custom bits, second id', 1, 1, 'ts:42 seq:10 node:11 epoch=0', 2097152 + 1234 + 2048),
    ('epoch start', 457, 0, 'ts:41 seq:6 node:16 epoch=456', 4194304 + 1234),
    -- An offset moves the epoch by its highest 42 bits.
    ('minimum id offset', 1514764800000, 0, 'ts:41 seq:6 node:16 epoch=3713788055552', -9223372036854774574),
    ('maximum id offset', 1514764800000, 0, 'ts:41 seq:6 node:16 epoch=-684258455551', 9223372036850582738)
) AS v (test, ms, seq, layout, id);
SELECT test, flake_make(at_ms(ms), 1234, seq, layout) = id AS "the same id", flake_shard(id, layout) AS node,
       flake_sequence(id, layout) = seq AND flake_timestamp(id, layout) = at_ms(ms) AS "taken apart again"
FROM hazelcast;
-- the first and the last millisecond that are allowed, and those beside them
SELECT ms, code FROM (VALUES (-684258455553), (-684258455552), (3713788055551), (3713788055552)) AS v (ms),
    attempt(format('SELECT flake_make(%L, 0, 0, ''hazelcast'')', at_ms(ms)));
-- ids of each 365 days ascend
SELECT count(*), count(*) FILTER (WHERE id <= previous) AS misordered,
       count(*) FILTER (WHERE id <> (ms - 1514764800000 << 22) + 1234) AS "other ids"
FROM (SELECT ms, id, lag(id) OVER (ORDER BY ms) AS previous
      FROM generate_series(1514764800000, 3713788055551, 365 * 86400000::bigint) AS ms,
           flake_make(at_ms(ms), 1234, 0, 'hazelcast') AS id) AS ids;
-- member number 20 with an offset of 5; a number that is out of range
SELECT flake_create_generator('hazelcast_id', 'hazelcast');
SELECT flake_shard(flake_id(20 + 5, 'hazelcast_id'), 'hazelcast') AS node;
SELECT code, message FROM attempt($$SELECT flake_id(100000, 'hazelcast_id')$$);
-- statistics; an empty batch; two ids that follow each other
SELECT count(*) FROM flake_ids(20, 100, 'hazelcast_id');
SELECT issued FROM flake_stat WHERE generator = 'hazelcast_id'::regclass AND shard = 20;
SELECT count(*) FROM flake_ids(20, 0, 'hazelcast_id');
SELECT max(id) - min(id) AS step FROM flake_ids(20, 2, 'hazelcast_id') AS id;
DROP SEQUENCE hazelcast_id;

-- tsid-creator, TsidBaseNTest.java: a thousand numbers in base 10 and as many in base 62,
-- with the same in base 16. In base 10 they are unsigned.
CREATE TEMPORARY TABLE tsid (base int, hex text, text text);
\copy tsid FROM 'sql/published/tsid.csv' (FORMAT csv, HEADER)
ALTER TABLE tsid ADD id bigint;
UPDATE tsid SET id = ('x' || hex)::bit(64)::bigint;
SELECT base, count(*),
       count(*) FILTER (WHERE flake_from_text(hex, 16) <> id OR flake_to_text(id, 16) <> hex) AS "base 16",
       count(*) FILTER (WHERE CASE base WHEN 10 THEN text::numeric - CASE WHEN id < 0 THEN 2::numeric ^ 64 ELSE 0 END <> id
                              ELSE flake_from_text(text, base) <> id OR flake_to_text(id, base) <> text END) AS differ
FROM tsid GROUP BY base ORDER BY base;
-- TsidTest.java: base 32 by its own rule, of the numbers above; time and the rest
SELECT count(*), count(*) FILTER (WHERE flake_to_text(id, 32) <> by_rule OR flake_from_text(lower(by_rule), 32) <> id) AS differ
FROM (SELECT id, (SELECT string_agg(substr('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 1 + (id >> bits & CASE bits WHEN 60 THEN 15 ELSE 31 END)::int, 1), ''
                                    ORDER BY bits DESC) FROM generate_series(0, 60, 5) AS bits) AS by_rule
      FROM tsid) AS numbers;
SELECT id < 0 AS negative, count(*),
       count(*) FILTER (WHERE f.ts = (id >> 22 & ((1::bigint << 42) - 1))) AS "same time",
       count(*) FILTER (WHERE f.ts = (id >> 22 & ((1::bigint << 42) - 1)) - (1::bigint << 42)) AS "2^42 ms before",
       count(*) FILTER (WHERE (f.node << 12 | f.seq) = id & 4194303) AS "same rest"
FROM tsid, jsonb_to_record(flake_fields(id, 'tsid')) AS f (ts bigint, node int, seq int)
GROUP BY 1 ORDER BY 1;
-- in the order of the texts, which is that of unsigned numbers
SELECT count(*) FILTER (WHERE by_text <> by_number) AS misordered
FROM (SELECT row_number() OVER (ORDER BY flake_to_text(id, 32) COLLATE "C") AS by_text,
             row_number() OVER (ORDER BY hex COLLATE "C") AS by_number FROM tsid WHERE base = 10) AS ranks;
-- single texts: what it reads, and what it refuses
SELECT base, text, valid, code, CASE WHEN code IS NULL THEN flake_from_text(text, base) END AS id
FROM (VALUES
    (1, 32, 'FZZZZZZZZZZZZ', true), (2, 32, '000000000000A', true), (3, 32, 'G000000000000', false),
    (4, 32, '', false), (5, 32, '0123456789ABC', true), (6, 32, '0123456789abc', true), (7, 32, '0123456789AbC', true),
    (8, 32, '0123456789AB', false), (9, 32, '0123456789ABCC', false), (10, 32, '0123456789ABi', true),
    (11, 32, '0123456789ABl', true), (12, 32, '0123456789ABo', true), (13, 32, '0123456789ABu', false),
    (14, 32, '0123456789AB#', false), (15, 62, '', false), (16, 62, '0000000000', false), (17, 62, '00000=00000', false),
    (18, 62, '000000000000', false), (19, 62, 'zzzzzzzzzzz', false), (20, 62, 'LygHa16AHYG', false), (21, 62, 'LygHa16AHYH', false)
) AS v (n, base, text, valid), attempt(format('SELECT flake_from_text(%L, %s)', text, base)) AS a
ORDER BY n;
SELECT code FROM attempt($$SELECT flake_from_text('0123456789AB㘗', 32)$$);
-- The largest number is of 2159-05-15T07:35:11.103Z there, and of 2^42 ms before that
-- here, as a bigint has a sign.
SELECT flake_timestamp(0, 'tsid'), flake_timestamp(-1::bigint << 22, 'tsid') = at_ms(1577836800000 - 1) AS "before the epoch",
       at_ms(1577836800000 + (1::bigint << 42) - 1) AS there,
       flake_timestamp(9223372036854775807, 'tsid') = at_ms(1577836800000 + (1::bigint << 41) - 1) AS "same below 2^63";
-- README.md: two milliseconds of one process
SELECT count(*), count(DISTINCT f.node) AS nodes, max(id) - min(id) AS width,
       max(flake_timestamp(id, 'tsid')) AS ts
FROM (VALUES (38352658567418867, 38352658567418874), (38352658573940759, 38352658573940766)) AS v (low, high),
     generate_series(low, high) AS id, jsonb_to_record(flake_fields(id, 'tsid')) AS f (ts bigint, node int, seq int)
GROUP BY f.ts ORDER BY ts;
-- TsidFactoryTest.java: from no bit to 20 bits of node, and the largest node of each;
-- epochs of 1984 and 2015
CREATE FUNCTION minted_shard(layout flake_layout, shard int, OUT minted int, OUT "right time" boolean) LANGUAGE plpgsql AS $$
DECLARE
    started timestamptz := date_trunc('milliseconds', clock_timestamp());
    id bigint;
BEGIN
    PERFORM flake_create_generator('tsid_id', layout);
    id := flake_id(shard, 'tsid_id');
    minted := flake_shard(id, layout);
    "right time" := flake_timestamp(id, layout) BETWEEN started AND clock_timestamp() + interval '2 ms';
    DROP SEQUENCE tsid_id;
END
$$;
SELECT count(*), count(*) FILTER (WHERE minted = shard) AS "right node", count(*) FILTER (WHERE "right time") AS "right time"
FROM (SELECT bits, (1 << bits) - 1 AS shard, minted, "right time"
      FROM generate_series(0, 20) AS bits,
           minted_shard(format('ts:42%s seq:%s epoch=2020-01-01 start=random', CASE WHEN bits > 0 THEN ' node:' || bits END, 22 - bits)::flake_layout,
                        (1 << bits) - 1)) AS factories;
SELECT epoch, m.* FROM (VALUES ('1984-01-01T00:00:00Z'), ('2015-10-23T00:00:00Z')) AS v (epoch),
    minted_shard(format('ts:42 node:10 seq:12 epoch=%s', epoch)::flake_layout, 1023) AS m;
-- TsidFactory00256Test.java and those beside it: ten thousand ids are unique, in order,
-- as texts, too, and no more of a millisecond than there are counts
SELECT flake_create_generator('tsid_256', 'ts:42 node:8 seq:14 epoch=2020-01-01 start=random'),
       flake_create_generator('tsid_1024', 'tsid'),
       flake_create_generator('tsid_4096', 'ts:42 node:12 seq:10 epoch=2020-01-01 start=random');
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
CREATE TEMPORARY TABLE tsids AS
SELECT generator, i, flake_id(7, generator) AS id
FROM unnest(ARRAY['tsid_256', 'tsid_1024', 'tsid_4096']::regclass[]) AS generator, generate_series(1, 10000) AS i;
SELECT generator, count(*), count(DISTINCT id) AS ids, count(*) FILTER (WHERE id <= previous) AS misordered,
       count(*) FILTER (WHERE flake_to_text(id, 32) <= flake_to_text(previous, 32) COLLATE "C") AS "texts misordered",
       max(of_ms) <= max(flake_info.ids_per_tick) AS "no more than fit"
FROM (SELECT *, lag(id) OVER (PARTITION BY generator ORDER BY i) AS previous, count(*) OVER (PARTITION BY generator, id >> 22) AS of_ms FROM tsids) AS t,
     LATERAL flake_layout_info(flake_layout_of(generator)) AS flake_info
GROUP BY generator ORDER BY generator;
RESET debug_discard_caches;
DROP SEQUENCE tsid_256, tsid_1024, tsid_4096;

-- uuid of npm, test_constants.ts: which are UUIDs of version 7; and the version of others
CREATE TEMPORARY TABLE uuids (value text, version int);
\copy uuids FROM 'sql/published/uuid.csv' (FORMAT csv, HEADER)
INSERT INTO uuids VALUES ('00000000000000000000000000000000'), (''), ('invalid uuid string'),
    (E'=Y00a-f*vb*-c-d#-p00f\b-g0h-#i^-j*3&-L00k-\nl---00n-fg000-00p-00r+');
-- the least and the greatest with one bit the other way, but not in the version
INSERT INTO uuids
SELECT overlay(value PLACING to_hex(('x' || substr(value, place, 1))::bit(4)::int # (1 << bit)) FROM place FOR 1)
FROM (VALUES ('00000000-0000-0000-0000-000000000000'), ('ffffffff-ffff-ffff-ffff-ffffffffffff')) AS v (value),
     generate_series(1, 36) AS place, generate_series(0, 3) AS bit
WHERE place NOT IN (9, 14, 15, 19, 24);
SELECT version, code, detail, count(*)
FROM uuids, attempt(format('SELECT flake_uuidv7_decode(%L)', value))
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;
SELECT value, code, message FROM uuids, attempt(format('SELECT flake_uuidv7_decode(%L)', value)) WHERE (version IS NOT DISTINCT FROM 7) <> (code IS NULL);
-- v7.test.ts: its id, and which part each of the 128 bits changes
SELECT d.* FROM flake_uuidv7_decode('017f22e2-79b0-7cc3-98c4-dc0c0c07398f') AS d WHERE d.ts = at_ms(x'17f22e279b0'::bigint);
SELECT part, count(*), min(bit), max(bit)
FROM (SELECT bit, CASE WHEN code IS NOT NULL THEN code WHEN d.ts <> o.ts THEN 'ts' WHEN d.sequence <> o.sequence THEN 'sequence'
                       WHEN d.shard <> o.shard THEN 'shard' ELSE 'random' END AS part
      FROM uuid_send('017f22e2-79b0-7cc3-98c4-dc0c0c07398f') AS bytes, flake_uuidv7_decode('017f22e2-79b0-7cc3-98c4-dc0c0c07398f') AS o,
           generate_series(0, 127) AS bit,
           LATERAL (SELECT bit / 8 * 8 + 7 - bit % 8 AS place) AS p,
           LATERAL (SELECT encode(set_bit(bytes, place, 1 - get_bit(bytes, place)), 'hex')::uuid AS id) AS flipped,
           attempt(format('SELECT flake_uuidv7_decode(%L)', id))
           LEFT JOIN LATERAL flake_uuidv7_decode(CASE WHEN code IS NULL THEN id END) AS d ON true) AS bits
GROUP BY part ORDER BY min(bit);
-- With debug_discard_caches on, this would take hours, and so would what follows.
SET debug_discard_caches = 0;
-- with counts of 32 bits that are given, the rest being 0: 20,000 ids of 14 milliseconds
CREATE TEMPORARY TABLE npm AS
SELECT i, ms, (lpad(to_hex(ms), 12, '0') || '7' || lpad(to_hex(seq >> 20), 3, '0') || to_hex(32768 | (seq >> 6 & 16383)) || lpad(to_hex(seq << 2 & 255), 2, '0') || '0000000000')::uuid AS id
FROM (SELECT i, x'17f22e279b0'::bigint + 1 + i / 1500 AS ms, i::bigint AS seq FROM generate_series(0, 19999) AS i) AS n
UNION ALL SELECT NULL, x'17f22e279b0'::bigint, '017f22e2-79b0-7000-848d-100000000000'
UNION ALL SELECT NULL, x'17f22e279b0'::bigint, '017f22e2-79b0-76ff-bfff-f00000000000';
SELECT count(*) FILTER (WHERE by_id <> i + 1) AS misordered FROM (SELECT i, row_number() OVER (ORDER BY id) AS by_id FROM npm WHERE i IS NOT NULL) AS ranks;
SELECT count(*), count(*) FILTER (WHERE found <> ids) AS wrong, min(found), max(found)
FROM (SELECT ms, count(*) AS ids FROM npm GROUP BY ms) AS n,
     LATERAL (SELECT count(*) AS found FROM npm WHERE flake_uuidv7_between(id, at_ms(n.ms), at_ms(n.ms + 1))) AS f;
SELECT count(*) FILTER (WHERE d.ts <> at_ms(ms)) AS "other time", count(*) FILTER (WHERE d.sequence <> 0) AS "counts above 2^20"
FROM npm, flake_uuidv7_decode(id) AS d;

-- pgactive, seq.sql: 16,383 ids of one moment on node 2, and as many on node 1. Its
-- counts go to 16,382 only, so that the next one was there already.
SELECT count(DISTINCT id) AS ids, count(*) FILTER (WHERE id <> (1494574611::bigint << 24) + (node << 14) + count) AS "other ids",
       min(id) FILTER (WHERE node = 2 AND count = 1) = 25074801076895745 AS "the one that came again", 16384 % 16383 AS "its count"
FROM (SELECT node::bigint, n % 16383 AS count,
             flake_make('2000-01-01Z'::timestamptz + 530605914245317 * interval '1 us', node, n % 16383, 'pgactive') AS id
      FROM generate_series(1, 2) AS node, generate_series(1, 16383) AS n) AS ids;
RESET debug_discard_caches;

-- pgEdge snowflake, conversion.sql: columns that are serial or identities become its
-- ids, the rows stay. What it does to a sequence is here done to the column.
CREATE SCHEMA pe;
SET search_path = pe, public;
SELECT flake_create_generator('t1_x', 'pgedge'), flake_create_generator('t2_x', 'pgedge'),
       flake_create_generator('t3_x', 'pgedge'), flake_create_generator('t3_y', 'pgedge'), flake_create_generator('t3_z', 'pgedge');
CREATE TABLE t1 (x serial);
CREATE TABLE t2 (x integer GENERATED ALWAYS AS IDENTITY);
CREATE TABLE t3 (x integer GENERATED BY DEFAULT AS IDENTITY, y serial NOT NULL, z serial NOT NULL CHECK (y > 0));
CREATE SEQUENCE seq_1 START 42;
INSERT INTO t1 VALUES (DEFAULT);
INSERT INTO t2 VALUES (DEFAULT);
INSERT INTO t3 VALUES (DEFAULT);
-- a sequence is not a column
SELECT code, message FROM attempt($$SELECT flake_migrate('seq_1', 'last_value', 1)$$);
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('t1', 'x', 1, 't1_x');
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('t2', 'x', 1, 't2_x');
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('t3', 'x', 1, 't3_x');
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('t3', 'z', 1, 't3_z');
INSERT INTO t1 VALUES (DEFAULT);
INSERT INTO t2 VALUES (DEFAULT);
INSERT INTO t3 VALUES (DEFAULT);
SELECT x <= 42 AS x FROM t1 ORDER BY t1.x;
SELECT x <= 42 AS x FROM t2 ORDER BY t2.x;
SELECT x <= 42 AS x, y, z <= 42 AS z FROM t3 ORDER BY t3.x;
-- a default that is no sequence, and none: flake_migrate_all() leaves both alone
ALTER TABLE t3 ALTER COLUMN y SET DEFAULT 1;
CALL flake_migrate_all(ARRAY['pe'], 1);
ALTER TABLE t3 ALTER COLUMN y DROP DEFAULT;
CALL flake_migrate_all(ARRAY['pe'], 1);
SELECT relation, attribute, state FROM flake_migration WHERE relation::text ~ '^t[123]$' ORDER BY relation::text, attribute;
SELECT attname, pg_get_expr(adbin, adrelid), atttypid::regtype
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum WHERE attrelid = 't3'::regclass AND attnum > 0 ORDER BY attnum;
-- the sequence by hand, and then all of the ids are new
ALTER TABLE t3 ALTER COLUMN y SET DEFAULT nextval('t3_y_seq');
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('t3', 'y', 1, 't3_y');
TRUNCATE t3;
INSERT INTO t3 VALUES (DEFAULT);
SELECT x <= 42 AS x, y <= 42 AS y, z <= 42 AS z FROM t3;
-- a default by hand
ALTER TABLE t3 ALTER COLUMN y DROP DEFAULT, ALTER COLUMN y SET DEFAULT flake_id(1, 't3_y');
INSERT INTO t3 VALUES (DEFAULT);
SELECT x <= 42 AS x, y <= 42 AS y, z <= 42 AS z FROM t3 ORDER BY t3.x;
-- a sequence that two tables share: one generator and one shard, and ids grow over both
CREATE SEQUENCE favorite_seq;
CREATE TABLE t4 (x integer DEFAULT nextval('favorite_seq'));
INSERT INTO t4 VALUES (DEFAULT);
CREATE TABLE t5 (x integer DEFAULT nextval('favorite_seq'));
INSERT INTO t5 VALUES (DEFAULT);
SELECT t4.x, t5.x FROM t4, t5;
SELECT flake_create_generator('favorite', 'pgedge');
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('t4', 'x', 1, 'favorite');
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('t5', 'x', 1, 'favorite');
INSERT INTO t4 VALUES (DEFAULT);
INSERT INTO t5 VALUES (DEFAULT);
SELECT max(t4.x) < max(t5.x) AS growing, min(t4.x), min(t5.x) FROM t4, t5;

-- maxvalue.sql: no sequence is left behind whose position its own limits forbid, and what
-- a dump says of it can be restored.
CREATE TABLE orders (id bigserial PRIMARY KEY, customer text NOT NULL, amount numeric NOT NULL);
INSERT INTO orders (customer, amount) VALUES ('Alice', 100.00), ('Bob', 250.00), ('Carol', 75.50);
SELECT flake_create_generator('orders_id', 'pgedge');
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('orders', 'id', 1, 'orders_id');
INSERT INTO orders (customer, amount) VALUES ('Dave', 999) RETURNING id > 9999;
SELECT sequencename, last_value <= max_value AS "within its limits", max_value = 9223372036854775807 AS "largest maximum"
FROM pg_sequences WHERE sequencename IN ('t1_x_seq', 'orders_id_seq', 'orders_id', 'favorite') ORDER BY sequencename COLLATE "C";
SELECT s.last_value = setval('orders_id', s.last_value, s.is_called) AS "as pg_dump writes it" FROM orders_id AS s;
SELECT flake_id(1, 'orders_id') > max(id) AS above FROM orders;
-- Its position is a horizon, and never as large as an id. Such a one is refused.
SELECT code FROM attempt($$SELECT setval('orders_id', 4446196691613229056, true)$$);

-- repair.sql: a column that its 2.4 has converted, whose sequence is beyond repair, can be
-- migrated. The function puts ids together as it does; the second row's is from its docs.
CREATE SCHEMA snowflake;
CREATE FUNCTION snowflake.nextval(sequence regclass) RETURNS bigint LANGUAGE sql AS $$
    SELECT (floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint - 1672531200000 << 22) | (1 << 12)
$$;
CREATE TABLE converted (id bigint PRIMARY KEY, customer text);
CREATE SEQUENCE converted_id_seq MAXVALUE 4 OWNED BY converted.id;
ALTER TABLE converted ALTER id SET DEFAULT snowflake.nextval('converted_id_seq');
INSERT INTO converted VALUES (3, 'Carol'), (170505378935607296, 'Dave');
INSERT INTO converted (customer) VALUES ('Erin');
SELECT flake_create_generator('converted_id', 'pgedge');
SELECT count(flake_migrate) > 0 AS migrated FROM flake_migrate('converted', 'id', 0, 'converted_id', drop_sequence => true);
INSERT INTO converted (customer) VALUES ('Frank');
SELECT customer, flake_shard(id, 'pgedge') AS node, id > lag(id, 1, 0) OVER (ORDER BY customer) AS growing FROM converted ORDER BY customer;
SELECT to_regclass('converted_id_seq') AS "sequence left";
-- converting.md: numbers of before are of the epoch; ids of the older bits
SELECT id, flake_decode(id, 'ts:41 seq:12 node:10 epoch=2023-01-01')
FROM (VALUES (7), (135824181823537153), (135824609030176769)) AS v (id);

RESET search_path;
DROP SCHEMA pe, snowflake CASCADE;
DROP FUNCTION minted_shard, at_ms;
RESET client_min_messages;
RESET timezone;
RESET datestyle;
