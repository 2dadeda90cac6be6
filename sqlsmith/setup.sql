-- What SQLsmith is let loose on: a database with tables that use flakeid in every
-- way, views over all of them, and functions that draw arguments.

CREATE EXTENSION flakeid;
ALTER DATABASE postgres SET flakeid.shard = 7;
ALTER DATABASE postgres SET flakeid.max_wait = '20ms';
\c -

-- Generators of several kinds, and what is none
SELECT flake_create_generator('orders_id'),
       flake_create_generator('tweets_id', 'snowflake'),
       flake_create_generator('numbers', 'segment'),
       flake_create_generator('tickets', 'ticket'),
       flake_create_generator('seconds', 'ts:32 shard:8 seq:20 epoch=2020-01-01 unit=1s start=random'),
       flake_create_generator('before_epoch', 'ts:41 region:7 shard:9 seq:6 epoch=2045-01-01 start=zero'),
       flake_create_generator('over', 'baidu');
CREATE SEQUENCE ordinary;

-- Ids in keys, indexes, partition bounds, generated columns and checks
CREATE DOMAIN order_id AS bigint CHECK (flake_shard(VALUE) < 8192);
CREATE TABLE orders (
    id      bigint PRIMARY KEY DEFAULT flake_id(5),
    shard   int GENERATED ALWAYS AS (flake_shard(id)) STORED,
    made_at timestamptz GENERATED ALWAYS AS (flake_timestamp(id)) STORED,
    fields  jsonb GENERATED ALWAYS AS (flake_fields(id)) STORED,
    parent  order_id,
    what    text
);
CREATE TABLE items (
    id       bigint PRIMARY KEY DEFAULT flake_id(3, 'orders_id'),
    order_id bigint REFERENCES orders,
    CHECK (flake_sequence(id) >= 0)
);
CREATE INDEX ON items (flake_timestamp(id));
CREATE INDEX ON items (order_id) WHERE flake_between(id, '2020-01-01 UTC', '2090-01-01 UTC');
CREATE TABLE events (id bigint NOT NULL DEFAULT flake_id(), what text) PARTITION BY LIST (flake_shard(id));
CREATE TABLE events_7 PARTITION OF events FOR VALUES IN (7);
CREATE TABLE events_others PARTITION OF events DEFAULT;
CREATE TABLE posts (id bigint PRIMARY KEY DEFAULT flake_id(), body text) PARTITION BY RANGE (id);
CREATE TABLE posts_2020s PARTITION OF posts
    FOR VALUES FROM (flake_lower('2020-01-01 UTC')) TO (flake_lower('2030-01-01 UTC'));
CREATE TABLE posts_others PARTITION OF posts DEFAULT;
CREATE TABLE documents (
    id     uuid PRIMARY KEY DEFAULT flake_uuid(),
    object text UNIQUE DEFAULT flake_objectid(),
    number bigint DEFAULT flake_id(0, 'numbers')
);
CREATE TABLE kept_layouts (
    layout    flake_layout DEFAULT 'snowflake',
    generator regclass DEFAULT 'tweets_id',
    sample    bigint DEFAULT flake_id(9, 'tweets_id'),
    since     timestamptz DEFAULT now(),
    reserve   interval DEFAULT '1 hour'
);
CREATE INDEX ON kept_layouts USING hash (layout);
CREATE TABLE counted (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, what text);
CREATE VIEW counted_ones AS SELECT id FROM counted;

INSERT INTO orders (parent, what) SELECT n, 'order ' || n FROM generate_series(1, 60) AS n;
INSERT INTO items (order_id) SELECT id FROM orders;
INSERT INTO events (what) SELECT 'event ' || n FROM generate_series(1, 60) AS n;
INSERT INTO events (id, what) SELECT flake_id(n), 'event ' || n FROM generate_series(1, 60) AS n;
INSERT INTO posts (body) SELECT 'post ' || n FROM generate_series(1, 60) AS n;
INSERT INTO documents SELECT FROM generate_series(1, 60) AS n;
INSERT INTO kept_layouts (layout) SELECT layout FROM flake_presets;
INSERT INTO kept_layouts (layout, generator, reserve)
VALUES ('ts:63 seq:1 epoch=2000-01-01 unit=1us', 'numbers', '100000 years'),
       ('ts:1 seq:63 epoch=9999-12-31 unit=1d', 'flake_default', '0'),
       ('seq:32 shard:31', 'tickets', '-1 day'),
       ('ts:8 a:4 b:4 c:4 d:4 e:4 f:4 g:4 h:3 seq:25 epoch=0001-01-01 unit=1d start=random:5', 'ordinary', NULL);

-- Schemas for shards, leases, detached shards, a map
CREATE SCHEMA shop;
CREATE TABLE shop.sales (id bigint PRIMARY KEY DEFAULT flake_id(0), what text);
SELECT flake_create_shard(4, 'shop');
INSERT INTO shop_4.sales (what) SELECT 'sale ' || n FROM generate_series(1, 60) AS n;
SELECT flake_lease('process ' || n) FROM generate_series(1, 5) AS n;
SELECT flake_detach(n) FROM generate_series(100, 105) AS n;
SELECT flake_attach(n) FROM generate_series(103, 108) AS n;
INSERT INTO flake_shard_map VALUES ('[0,63]', 'one'), ('[64,127]', 'two');

-- Views over all of it
CREATE VIEW decoded AS
SELECT o.id, d.*, flake_explain(o.id) AS picture, flake_make(d.ts, d.shard, d.sequence) AS again,
       flake_server(o.shard) AS server, flake_shard_for(o.what, 64) AS by_text, flake_shard_for(o.id, 64) AS by_id
FROM orders o, flake_decode(o.id) d;
CREATE VIEW texts AS
SELECT id, flake_uuid_to_text(id) AS text, flake_uuid_from_text(flake_uuid_to_text(id, 32), 32) AS again,
       d.ts, d.sequence, object, flake_objectid_timestamp(object) AS object_time, flake_shard_for(id) AS shard
FROM documents, flake_uuid_decode(id) d;
CREATE VIEW layouts AS
SELECT k.*, i.* FROM kept_layouts k, flake_layout_info(k.layout) i;
CREATE VIEW minted AS SELECT flake_ids(2, 5) AS id, flake_ids(1, 5, 'tickets') AS ticket;
CREATE VIEW columns AS SELECT * FROM flake_columns() UNION SELECT * FROM flake_columns('orders_id');
CREATE VIEW preset_list AS SELECT * FROM _flake_layout_preset_list();
CREATE VIEW slots AS SELECT * FROM _flake_stat_slots();


-- SQLsmith's own schema

CREATE SCHEMA smith;

-- Arguments.  SQLsmith itself makes up small numbers and nulls only.
CREATE FUNCTION smith.pick(VARIADIC choices anycompatiblearray) RETURNS anycompatible
LANGUAGE sql VOLATILE AS 'SELECT choices[1 + floor(random() * cardinality(choices))::int]';
CREATE FUNCTION smith.shard() RETURNS int LANGUAGE sql VOLATILE
RETURN smith.pick(floor(random() * 12)::int, floor(random() * 12)::int, 100 + floor(random() * 12)::int,
                  8180 + floor(random() * 14)::int, -1, -2147483648, 2147483647, NULL);
CREATE FUNCTION smith.base() RETURNS int LANGUAGE sql VOLATILE RETURN smith.pick(16, 32, 58, 62, 62, 0);
CREATE FUNCTION smith.number() RETURNS bigint LANGUAGE sql VOLATILE
RETURN smith.pick(0, -1, 9223372036854775807, -9223372036854775808, (random() * 2 ^ (random() * 62))::bigint,
                  -(random() * 2 ^ (random() * 62))::bigint, (random() * 1e6)::bigint);
CREATE FUNCTION smith.id() RETURNS bigint LANGUAGE sql VOLATILE
BEGIN ATOMIC SELECT id FROM orders ORDER BY random() LIMIT 1; END;
CREATE FUNCTION smith.moment() RETURNS timestamptz LANGUAGE sql VOLATILE
RETURN smith.pick(now(), clock_timestamp(), now() + random() * interval '1 minute', 'infinity', '-infinity',
                  '4714-11-24 00:00 BC UTC', '294276-12-31 23:59:59.999999 UTC', '2011-08-24 21:07:01.721 UTC',
                  now() + (random() - 0.5) * interval '1000 years');
CREATE FUNCTION smith.span() RETURNS interval LANGUAGE sql VOLATILE
RETURN smith.pick('0'::interval, '1 us', '1 hour', '-1 day', '1 month -40 days', '178000000 years', random() * interval '300000 years');
CREATE FUNCTION smith.layout_text() RETURNS text LANGUAGE sql VOLATILE
RETURN smith.pick('instagram', 'segment', 'ts:41 shard:13 seq:10 epoch=2020-01-01', 'ts:1 seq:1 epoch=0', 'shard:31 seq:1',
                  'ts:41 shard:13 seq:' || smith.shard(), 'seq:63 block=' || smith.number(), 'ts:20 seq:20 unit=' || smith.shard() || 's',
                  repeat('a:1 ', 3) || 'seq:9', '', 'nonsense');
CREATE FUNCTION smith.layout() RETURNS flake_layout LANGUAGE sql VOLATILE
BEGIN ATOMIC SELECT layout FROM kept_layouts ORDER BY random() LIMIT 1; END;
CREATE FUNCTION smith.generator() RETURNS regclass LANGUAGE sql VOLATILE
RETURN smith.pick('flake_default'::regclass, 'flake_default', 'flake_default_uuid', 'flake_default_objectid', 'flake_default_uuidv7', 'orders_id', 'tweets_id', 'numbers', 'tickets',
                  'seconds', 'before_epoch', 'over', 'ordinary', 'orders', 'flake_stat', '-', 'pg_class', smith.shard()::oid::regclass);
CREATE FUNCTION smith.word() RETURNS text LANGUAGE sql VOLATILE
RETURN smith.pick('', 'owner', 'process 3', 'a_generator', 'smith.made', 'shop', smith.layout_text(),
                  flake_uuid_to_text(gen_random_uuid(), smith.pick(16, 32, 58, 62)), md5(random()::text), left(md5(random()::text), 24),
                  repeat('z', smith.pick(1, 11, 22, 64, 300)));
CREATE FUNCTION smith.schema() RETURNS name LANGUAGE sql VOLATILE
RETURN smith.pick('shop'::name, 'shop_4', 'smith', 'shop_' || floor(random() * 99), 'nowhere');
CREATE FUNCTION smith.uuid() RETURNS uuid LANGUAGE sql VOLATILE
RETURN smith.pick(gen_random_uuid(), '00000000-0000-0000-0000-000000000000', '00ffffff-ffff-ffff-ffff-ffffffffffff',
                  '00000134-d421-2d43-109a-dd5e0e8f0000');

-- SQLsmith calls no function that returns a set.
CREATE FUNCTION smith.ids(shard int, count bigint, generator regclass) RETURNS bigint LANGUAGE sql VOLATILE
BEGIN ATOMIC SELECT max(id) FROM (SELECT flake_ids(shard, (count % 100000000)::int, generator) AS id LIMIT 100) s; END;
CREATE FUNCTION smith.columns(generator regclass) RETURNS bigint LANGUAGE sql VOLATILE
BEGIN ATOMIC SELECT count(*) FROM flake_columns(generator); END;
-- nor with VARIADIC
CREATE FUNCTION smith.shard_number(layout flake_layout, a int, b int) RETURNS int LANGUAGE sql VOLATILE
RETURN CASE smith.pick(0, 1, 2)
       WHEN 0 THEN flake_shard_number(layout, VARIADIC '{}')
       WHEN 1 THEN flake_shard_number(layout, a)
       ELSE flake_shard_number(layout, a, b)
       END;
-- and seldom one whose result is void.
CREATE FUNCTION smith.attach(shard int, after bigint, generator regclass) RETURNS int LANGUAGE sql VOLATILE
BEGIN ATOMIC SELECT flake_attach(shard, after, generator); SELECT 1; END;
-- These mostly fail, and are not to take the query with them: but for internal errors.
CREATE FUNCTION smith.administer() RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    CASE floor(random() * 8)
    WHEN 0 THEN PERFORM flake_rewind(smith.generator(), smith.number(), random() < 0.5);
    WHEN 1 THEN PERFORM flake_renew(smith.word(), smith.span());
    WHEN 2 THEN PERFORM flake_release('process 2', smith.generator());
    WHEN 3 THEN PERFORM flake_create_partitions('posts', smith.pick('1 month'::interval, '1 day', '1 week', smith.span()),
                                                now(), now() + random() * interval '1 year');
    WHEN 4 THEN PERFORM flake_drop_partitions('posts', smith.moment(), concurrently => random() < 0.5);
    WHEN 5 THEN PERFORM flake_partitions(smith.pick('posts'::regclass, 'events', 'orders'));
    WHEN 6 THEN PERFORM flake_migrate('counted', 'id', smith.shard(), smith.pick('flake_default'::regclass, smith.generator()), random() < 0.5);
    ELSE PERFORM smith.shard_number(smith.layout(), smith.shard(), smith.shard());
    END CASE;
    RETURN 1;
EXCEPTION WHEN OTHERS THEN
    IF SQLSTATE LIKE 'XX%' THEN
        RAISE;
    END IF;
    RETURN 0;
END
$$;
CREATE FUNCTION smith.text_form() RETURNS bigint LANGUAGE sql VOLATILE
RETURN flake_from_text(flake_to_text(smith.number(), 58), smith.pick(58, 58, 62));
CREATE FUNCTION smith.above() RETURNS flake_layout LANGUAGE sql VOLATILE
RETURN flake_layout_above(smith.layout(), smith.number(), smith.span());
CREATE FUNCTION smith.read() RETURNS flake_layout LANGUAGE sql VOLATILE
RETURN _flake_layout_in(textout(smith.layout_text()));
GRANT USAGE ON SCHEMA smith, shop, shop_4 TO PUBLIC;

-- SQLsmith calls whatever pg_proc has.  Of PostgreSQL's 3000 functions these will
-- do, so that flakeid's have their turn.  (SQLsmith is connected with a search_path
-- in which this view comes first.)
CREATE VIEW smith.pg_proc AS
SELECT p.* FROM pg_catalog.pg_proc p
WHERE p.pronamespace IN ('public'::regnamespace, 'smith'::regnamespace)
  AND p.proname NOT IN ('pick', 'flake_shard_number')
   OR p.pronamespace = 'pg_catalog'::regnamespace
  AND p.proname IN ('abs', 'length', 'md5', 'upper', 'now', 'clock_timestamp', 'int8', 'int4', 'textin', 'textout',
                    'timestamptz_pl_interval', 'timestamptz_mi', 'uuid_hash', 'int8mod', 'int84div', 'jsonb_typeof', 'to_regclass',
                    'count', 'min', 'max', 'bool_and', 'string_agg', 'row_number', 'rank');
GRANT SELECT ON smith.pg_proc TO PUBLIC;

-- SQLsmith cannot tell which types go with which polymorphic operators: half of
-- its queries would be errors of the parser's.  Those that the planner may sort or
-- hash by must stay, and those that flakeid's own functions use.
SET allow_system_table_mods = on;
DELETE FROM pg_operator
WHERE ARRAY[oprleft, oprright] && ARRAY['anymultirange', 'anyarray', 'anycompatiblearray', 'anyenum']::regtype[]::oid[]
  AND oprname NOT IN ('||', '-')
  AND oid NOT IN (SELECT amopopr FROM pg_amop JOIN pg_am a ON a.oid = amopmethod WHERE amname IN ('btree', 'hash'));
RESET allow_system_table_mods;

-- Who has no more rights than anyone, but for tables and a generator of his own
CREATE ROLE smith LOGIN;
GRANT SELECT, INSERT, UPDATE, DELETE ON orders, items, events, events_7, events_others, posts, posts_2020s, posts_others,
    documents, kept_layouts, counted, decoded, texts, layouts, minted, columns, preset_list, shop_4.sales TO smith;
GRANT USAGE ON SEQUENCE orders_id, tweets_id TO smith;
GRANT CREATE ON SCHEMA smith TO smith;
SET ROLE smith;
SELECT flake_create_generator('smith.own_id', 'snowflake');
RESET ROLE;
