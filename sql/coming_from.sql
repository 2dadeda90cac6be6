--
-- Coming from another system: what README.md says under that heading, each time
-- with a look at the id that flakeid minted.  Where the ids are from is said in
-- preset.sql and wide.sql.
--
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

CREATE FUNCTION minted_now(id bigint, layout flake_layout) RETURNS boolean LANGUAGE sql
RETURN flake_between(id, now() - interval '1 hour', now() + interval '1 hour', layout);

-- Instagram
CREATE TABLE ig_photo (id bigint PRIMARY KEY, name text);
INSERT INTO ig_photo VALUES (11637205501278089, 'the example of the article');
SELECT name, d.* FROM ig_photo, flake_decode(id) AS d;
BEGIN;
LOCK TABLE ig_photo;
SELECT flake_create_generator('ig_photo_id', 'instagram', after => max(id)) FROM ig_photo;
ALTER TABLE ig_photo ALTER id SET DEFAULT flake_id(1341, 'ig_photo_id');
COMMIT;
INSERT INTO ig_photo (name) VALUES ('from flakeid');
SELECT flake_shard(id, 'instagram'), id > (SELECT min(id) FROM ig_photo) AS later, minted_now(id, 'instagram')
FROM ig_photo WHERE name = 'from flakeid';

-- Twitter
CREATE TABLE tw_tweet (id bigint PRIMARY KEY, body text);
INSERT INTO tw_tweet VALUES (1541815603606036480, 'of 2022');
SELECT body, flake_fields(id, 'snowflake') FROM tw_tweet;
SELECT flake_create_generator('tw_tweet_id', 'snowflake', after => max(id)) FROM tw_tweet;
ALTER TABLE tw_tweet ALTER id
    SET DEFAULT flake_id(flake_shard_number('snowflake', 31, 31), 'tw_tweet_id');
INSERT INTO tw_tweet (body) VALUES ('from flakeid');
SELECT flake_shard(id, 'snowflake'), id > (SELECT min(id) FROM tw_tweet) AS later, minted_now(id, 'snowflake')
FROM tw_tweet WHERE body = 'from flakeid';

-- Hazelcast: also above larger ids, with the epoch moved
CREATE TABLE hz_order (id bigint PRIMARY KEY, item text);
INSERT INTO hz_order VALUES (5300086112257234, 'from node 1234');
SELECT item, flake_fields(id, 'hazelcast') FROM hz_order;
SELECT flake_create_generator('hz_order_id', 'hazelcast', after => max(id)) FROM hz_order;
ALTER TABLE hz_order ALTER id SET DEFAULT flake_id(65535, 'hz_order_id');
INSERT INTO hz_order (item) VALUES ('from flakeid');
-- where the largest id so far is 5421380884070400000
SELECT flake_create_generator('hz_above_id', flake_layout_above('hazelcast', 5421380884070400000),
                              after => 5421380884070400000);
SELECT flake_id(65535, 'hz_above_id') > 5421380884070400000 AS exceeds;
SELECT flake_shard(id, 'hazelcast'), id > (SELECT min(id) FROM hz_order) AS later, minted_now(id, 'hazelcast')
FROM hz_order WHERE item = 'from flakeid';
SELECT flake_shard(id, layout), minted_now(id, layout)
FROM flake_id(65535, 'hz_above_id') AS id, flake_layout_of('hz_above_id') AS layout;

-- snowcast
CREATE TABLE sc_event (id bigint PRIMARY KEY, what text);
INSERT INTO sc_event VALUES (44368455009519616, 'from node 1234');
SELECT what, flake_fields(id, 'snowcast') FROM sc_event;
SELECT flake_create_generator('sc_event_id', 'snowcast', after => max(id)) FROM sc_event;
ALTER TABLE sc_event ALTER id SET DEFAULT flake_id(8191, 'sc_event_id');
INSERT INTO sc_event (what) VALUES ('from flakeid');
SELECT flake_shard(id, 'snowcast'), id > (SELECT min(id) FROM sc_event) AS later, minted_now(id, 'snowcast')
FROM sc_event WHERE what = 'from flakeid';

-- the region variant
CREATE TABLE rg_user (id bigint PRIMARY KEY, name text);
INSERT INTO rg_user VALUES (flake_make('2017-07-14 02:40Z', flake_shard_number('region', 5, 777), 9, 'region'),
                            'region 5, worker 777');
SELECT name, flake_fields(id, 'region') FROM rg_user;
SELECT flake_create_generator('rg_user_id', 'region', after => max(id)) FROM rg_user;
ALTER TABLE rg_user ALTER id SET DEFAULT flake_id(flake_shard_number('region', 7, 1023), 'rg_user_id');
INSERT INTO rg_user (name) VALUES ('from flakeid');
SELECT flake_shard(id, 'region'), id > (SELECT min(id) FROM rg_user) AS later, minted_now(id, 'region')
FROM rg_user WHERE name = 'from flakeid';

-- Baidu: in an epoch of its own, below the old ids
CREATE TABLE bd_log (id bigint PRIMARY KEY, line text);
INSERT INTO bd_log VALUES (flake_make('2024-11-01 00:00Z', 4, 9, 'baidu'), 'from worker 4');
SELECT flake_create_generator('bd_log_id', 'ts:28 worker:22 seq:13 epoch=2024-11-20T13:24:16Z unit=1s start=zero');
ALTER TABLE bd_log ALTER id SET DEFAULT flake_id(4000000, 'bd_log_id');
INSERT INTO bd_log (line) VALUES ('from flakeid');
SELECT line, minted_now(id, CASE WHEN flake_shard(id, 'baidu') < 4000000 THEN 'baidu'
                                 ELSE flake_layout_of('bd_log_id') END)
FROM bd_log;
SELECT flake_shard(id, 'baidu'), id < (SELECT max(id) FROM bd_log) AS below, minted_now(id, flake_layout_of('bd_log_id'))
FROM bd_log WHERE line = 'from flakeid';

-- Leaf, snowflake mode
CREATE TABLE lf_meal (id bigint PRIMARY KEY, dish text);
INSERT INTO lf_meal VALUES (1169786042799259000, 'from worker 39');
SELECT dish, flake_fields(id, 'leaf') FROM lf_meal;
SELECT flake_create_generator('lf_meal_id', 'leaf', after => max(id)) FROM lf_meal;
ALTER TABLE lf_meal ALTER id SET DEFAULT flake_id(1023, 'lf_meal_id');
INSERT INTO lf_meal (dish) VALUES ('from flakeid');
SELECT flake_shard(id, 'leaf'), id > (SELECT min(id) FROM lf_meal) AS later, minted_now(id, 'leaf')
FROM lf_meal WHERE dish = 'from flakeid';

-- Simpleflake: also ids that were unsigned
CREATE TABLE sf_doc (id bigint PRIMARY KEY, title text);
INSERT INTO sf_doc VALUES (4242436206093260245, 'of January 2016');
SELECT title, flake_decode(id, 'simpleflake') FROM sf_doc;
SELECT flake_create_generator('sf_doc_id', 'simpleflake', after => max(id)) FROM sf_doc;
ALTER TABLE sf_doc ALTER id SET DEFAULT flake_id(0, 'sf_doc_id');
INSERT INTO sf_doc (title) VALUES ('from flakeid');
-- an unsigned id of 2035
SELECT flake_timestamp((9300000000000000000 - 18446744073709551616)::bigint,
                       'ts:41 seq:23 epoch=2069-09-06T20:47:35.552Z start=random');
SELECT flake_shard(id, 'simpleflake'), id > (SELECT min(id) FROM sf_doc) AS later, minted_now(id, 'simpleflake')
FROM sf_doc WHERE title = 'from flakeid';
SELECT flake_sequence((9300000000000000000 - 18446744073709551616)::bigint,
                      'ts:41 seq:23 epoch=2069-09-06T20:47:35.552Z start=random')
       = 9300000000000000000 % 8388608 AS "same random bits",
       extract(epoch FROM flake_timestamp((9300000000000000000 - 18446744073709551616)::bigint,
                                          'ts:41 seq:23 epoch=2069-09-06T20:47:35.552Z start=random')) * 1000
       = div(9300000000000000000, 8388608) + 946702800000 AS "same time";

-- Sonyflake
CREATE TABLE so_song (id bigint PRIMARY KEY, title text);
INSERT INTO so_song VALUES (flake_make('2017-07-14 02:40Z', 1234, 0, 'sonyflake'), 'from machine 1234');
SELECT title, flake_fields(id, 'sonyflake') FROM so_song;
SELECT flake_create_generator('so_song_id', 'sonyflake', after => max(id)) FROM so_song;
ALTER TABLE so_song ALTER id SET DEFAULT flake_id(65535, 'so_song_id');
INSERT INTO so_song (title) VALUES ('from flakeid');
SELECT flake_shard(id, 'sonyflake'), id > (SELECT min(id) FROM so_song) AS later, minted_now(id, 'sonyflake')
FROM so_song WHERE title = 'from flakeid';

-- Discord: for reading; others may mint in the same layout
CREATE TABLE dc_message (id bigint PRIMARY KEY, body text);
INSERT INTO dc_message VALUES (175928847299117063, 'the example of the API reference');
SELECT body, flake_fields(id, 'discord') FROM dc_message;
SELECT flake_create_generator('dc_reply_id', 'discord');
CREATE TABLE dc_reply (
    id      bigint PRIMARY KEY DEFAULT flake_id(flake_shard_number('discord', 1, 0), 'dc_reply_id'),
    message bigint REFERENCES dc_message
);
INSERT INTO dc_reply (message) VALUES (175928847299117063);
SELECT flake_fields(id, 'discord') - 'ts' - 'timestamp', minted_now(id, 'discord') FROM dc_reply;

-- pgEdge: with the one node number that it does not use
CREATE TABLE pe_order (id bigint PRIMARY KEY, item text);
INSERT INTO pe_order VALUES (170505378935607296, 'from node 1');
SELECT item, flake_fields(id, 'pgedge') FROM pe_order;
SELECT flake_create_generator('pe_order_id', 'pgedge', after => max(id)) FROM pe_order;
ALTER TABLE pe_order ALTER id SET DEFAULT flake_id(0, 'pe_order_id');
INSERT INTO pe_order (item) VALUES ('from flakeid');
SELECT flake_shard(id, 'pgedge'), id > (SELECT min(id) FROM pe_order) AS later, minted_now(id, 'pgedge')
FROM pe_order WHERE item = 'from flakeid';

-- numbers in blocks
CREATE TABLE sg_item (id bigint PRIMARY KEY, name text);
INSERT INTO sg_item VALUES (1234, 'from the old system');
SELECT flake_create_generator('sg_item_id', 'segment', after => 10001);
ALTER TABLE sg_item ALTER id SET DEFAULT flake_id(0, 'sg_item_id');
INSERT INTO sg_item (name) VALUES ('from flakeid') RETURNING id;

-- Flickr: odd numbers, as from the server that it replaces
CREATE TABLE fl_photo (id bigint PRIMARY KEY, title text);
INSERT INTO fl_photo VALUES (72157623227190423, 'from TicketServer1');
SELECT title, flake_shard(id, 'ticket') AS server FROM fl_photo;
SELECT flake_create_generator('fl_photo_id', 'ticket', after => 72157623227190423);
ALTER TABLE fl_photo ALTER id SET DEFAULT flake_id(1, 'fl_photo_id');
INSERT INTO fl_photo (title) VALUES ('from flakeid') RETURNING id;

-- Boundary
CREATE TABLE bf_event (id uuid PRIMARY KEY DEFAULT flake_uuid(), what text);
INSERT INTO bf_event VALUES (flake_uuid_from_text('8HFaR8qWtRlGDHnO57'), 'of January 2012');
SELECT what, d.* FROM bf_event, flake_uuid_decode(id) AS d;
-- a machine may have no hardware address: error 55000
SELECT coalesce(code, '55000') AS code
FROM attempt($$INSERT INTO bf_event (what) VALUES ('from flakeid')$$);
SELECT count(*) AS "not now" FROM bf_event, flake_uuid_decode(id) AS d
WHERE what = 'from flakeid' AND d.ts NOT BETWEEN now() - interval '1 hour' AND now() + interval '1 hour';

-- MongoDB
CREATE TABLE mg_doc (
    _id  text COLLATE "C" PRIMARY KEY DEFAULT flake_objectid() CHECK (_id ~ '^[0-9a-f]{24}$'),
    body jsonb
);
INSERT INTO mg_doc VALUES ('507c7f79bcf86cd7994f6c0e', '{"from": "the manual"}');
SELECT body, flake_objectid_timestamp(_id) FROM mg_doc;
INSERT INTO mg_doc (body) VALUES ('{"from": "flakeid"}');
SELECT _id > '507c7f79bcf86cd7994f6c0e' AS later,
       flake_objectid_timestamp(_id) BETWEEN now() - interval '1 hour' AND now() + interval '1 hour' AS minted_now
FROM mg_doc WHERE body->>'from' = 'flakeid';

-- dropped again
DROP TABLE mg_doc, bf_event, fl_photo, sg_item, pe_order, dc_reply, dc_message, so_song, sf_doc,
    lf_meal, bd_log, rg_user, sc_event, hz_order, tw_tweet, ig_photo;
DROP SEQUENCE ig_photo_id, tw_tweet_id, hz_order_id, hz_above_id, sc_event_id, rg_user_id,
    bd_log_id, lf_meal_id, sf_doc_id, so_song_id, dc_reply_id, pe_order_id, sg_item_id, fl_photo_id;
DROP FUNCTION minted_now;
SELECT count(*) FROM flake_generators WHERE generator::text NOT LIKE 'flake%';
RESET timezone;
RESET datestyle;
