--
-- Presets: ids as other systems' documentation and tests publish them.
--
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

SELECT name, layout, shards, ids_per_second, ends FROM flake_presets;
SELECT name, origin FROM flake_presets;
-- where it says so: the constants of the sources
SELECT name, starts FROM flake_presets WHERE name IN ('instagram', 'snowflake', 'baidu');

-- Instagram: the worked example of "Sharding & IDs at Instagram" (Instagram
-- Engineering, 2011): 1387263000 ms after the epoch, user 31341 of 2000 shards,
-- sequence 5001.  The article gives the parts and how to put them together.
SELECT (1387263000::bigint << 23) | (31341 % 2000 << 10) | 5001 % 1024 AS id \gset
SELECT :id AS id, * FROM flake_decode(:id, 'instagram');
SELECT (1314220021721 + 1387263000) / 1000.0 = extract(epoch FROM flake_timestamp(:id)) AS "same time";

-- Twitter: the Tweet that Wikipedia's article "Snowflake ID" takes apart:
-- 2022-06-28 16:07:40.105 UTC, machine 378, sequence 0.
SELECT flake_fields(1541815603606036480, 'snowflake'),
       flake_shard(1541815603606036480, 'snowflake') AS machine;

-- Hazelcast: FlakeIdGeneratorProxyTest.java: time 1516028439000 and node 1234
-- give 5300086112257234, and the next one is 2^16 more.  In the last
-- millisecond the node's first id is 9223372036850582738.
SELECT id, flake_fields(id, 'hazelcast'), extract(epoch FROM flake_timestamp(id, 'hazelcast')) * 1000 AS ms
FROM (VALUES (5300086112257234), (5300086112257234 + (1 << 16)), (9223372036850582738)) AS v (id);

-- snowcast: README.md: node 1234 on 2014-03-03 05:12:12, 1393823532000 ms, of the
-- epoch 1388534400000; the README shows how the parts are put together.
SELECT (1393823532000 - 1388534400000 << 23) | (1234 << 10) | 0 AS id \gset
SELECT :id AS id, * FROM flake_decode(:id, 'snowcast');

-- The region variant publishes no id.  Put together as CustomUUID.java does:
SELECT (1500000000000 - 1288834974657 << 23) | (5 << 20) | (777 << 10) | 9 AS id \gset
SELECT :id AS id, flake_fields(:id, 'region');

-- Baidu: README.md takes 180363646902239241 apart: 2017-01-19 12:15:46 in Beijing,
-- worker 4, sequence 9.  It is of the layout that the project's tests use, with a
-- bit more for the time and another epoch.  Its stock layout ends when
-- DefaultUidGenerator.java says, 2024-11-20 21:24:16 in Beijing.
SELECT id, flake_fields(id, 'ts:29 worker:21 seq:13 epoch=2016-09-19T16:00:00Z unit=1s') AS "of the example",
       flake_decode(id, 'baidu') AS "of the stock layout"
FROM (VALUES (180363646902239241)) AS v (id);
SELECT ends AT TIME ZONE 'Asia/Shanghai' AS "in Beijing" FROM flake_presets WHERE name = 'baidu';

-- Leaf: LeafMonitorController.java takes an id apart into 1567733700834
-- (2019-09-06 09:35:00.834 in Beijing), worker 39, sequence 3448.
SELECT (1567733700834 - 1288834974657 << 22) | (39 << 12) | 3448 AS id \gset
SELECT :id AS id, flake_fields(:id, 'leaf'),
       flake_timestamp(:id, 'leaf') AT TIME ZONE 'Asia/Shanghai' AS "in Beijing";

-- Simpleflake: benchmark/run.js of its JavaScript port, leodutra/simpleflakes:
-- time 1452440606092, random bits 7460309.
SELECT flake_fields(4242436206093260245, 'simpleflake'),
       extract(epoch FROM flake_timestamp(4242436206093260245, 'simpleflake')) * 1000 AS ms;

-- Sonyflake publishes no id.  Put together as sonyflake.go does, 10 ms a tick:
SELECT ((1500000000000 - 1409529600000) / 10 << 24) | (255 << 16) | 65535 AS id \gset
SELECT :id AS id, flake_fields(:id, 'sonyflake');

-- Discord: its API reference takes 175928847299117063 apart: 2016-04-30
-- 11:18:25.796 UTC, worker 1, process 0, increment 7.
SELECT flake_fields(175928847299117063, 'discord');

-- pgEdge: docs/hibernate.md shows this id, of the day it was written, and node 1.
-- (Ids in its docs from before October 2023 have node and sequence the other way
-- round, as 136169504773242881 of 2024-01-11 18:08:59.845 UTC, node 1, count 0.)
SELECT flake_fields(170505378935607296, 'pgedge'),
       flake_fields(136169504773242881, 'ts:41 seq:12 node:10 epoch=2023-01-01') AS "before";

-- Mastodon: the status that its API documentation (methods/statuses) shows with
-- "created_at": "2019-12-05T11:34:47.196Z".
SELECT flake_fields(103254962155278888, 'mastodon');

-- pgactive: test/expected/seq.out: node 2, whose sequence is at 1, at 530605914245317
-- us after 2000-01-01.
SELECT flake_fields(25074801076895745, 'pgactive'),
       flake_timestamp(25074801076895745, 'pgactive')
       = date_trunc('milliseconds', '2000-01-01Z'::timestamptz + 530605914245317 * interval '1 us') AS "same time";

-- TSID Creator: its README gives the parts of an id of 2020-04-15T22:31:02.458Z,
-- 9153062458 ms and 305516, and texts of ids of one process, before and after the
-- millisecond changed.
SELECT flake_fields((9153062458 << 22) | 305516, 'tsid');
SELECT text, flake_from_text(text, 32) AS id, flake_timestamp(flake_from_text(text, 32), 'tsid') AS ts,
       flake_to_text(flake_from_text(text, 32), 32) = text AS "same text"
FROM (VALUES ('01226N0640J7P'), ('01226N0640J7Q'), ('01226N0693HDA')) AS v (text);

-- ClickHouse: the examples of the documentation of generateSnowflakeID(), ten ids of
-- one call, and of snowflakeIDToDateTime(), "2024-06-06 10:59:58".
SELECT id, flake_fields(id, 'clickhouse')
FROM (VALUES (7195516038159417344), (7195516038159417353), (7204436857747984384)) AS v (id);

-- CockroachDB: three rows of one INSERT on node 1, of the documentation of SERIAL.
-- With the sequence the time is exact to 10 us.
SELECT id, flake_fields(id, 'cockroach'),
       flake_timestamp(id, 'cockroach') + flake_sequence(id, 'cockroach') * interval '10 us'
       = '2015-01-01Z'::timestamptz + (id >> 15) * interval '10 us' AS "same time"
FROM (VALUES (148656994422095873), (148656994422161409), (148656994422194177)) AS v (id);

-- js53: no id needs more than 53 bits, and a double holds each of them.
SELECT flake_upper(ends - interval '1 us', 'js53') = (1::bigint << 53) - 1 AS "the last one",
       flake_upper(ends - interval '1 us', 'js53')::float8::bigint = (1::bigint << 53) - 1 AS exact
FROM flake_layout_info('js53');
SELECT flake_fields((1::bigint << 53) - 1, 'js53');

-- Flickr: 72157623227190423 of "Ticket Servers" (Flickr, 2010) is odd, so it is
-- from the server that counts 1, 3, 5.
SELECT flake_shard(72157623227190423, 'ticket') AS server,
       flake_sequence(72157623227190423, 'ticket') AS ticket;

-- Hazelcast's IdGenerator and Leaf's segments are just numbers.
SELECT flake_decode(10001, 'segment');

-- The lifetime of one is over.
SELECT flake_create_generator('baidu_id', 'baidu');
\x on
SELECT * FROM attempt($$SELECT flake_id(1, 'baidu_id')$$);
\x off
DROP SEQUENCE baidu_id;

-- An epoch that goes on where another system was: FlakeIdGeneratorProxyTest.java
-- migrates from an IdGenerator whose largest id was 5421380884070400000, with a
-- reserve of 2^38 ids, which is 65.536 s of the layout's time.
SELECT 5421380884070400000 AS largest, 1::bigint << 38 AS reserve \gset
SELECT flake_layout_above('hazelcast', :largest, '65.536 s') AS layout \gset
SELECT flake_lower(now(), :'layout') >= :largest + :reserve AS "exceeds it by the reserve",
       flake_lower(now(), :'layout') < :largest + :reserve + (1::bigint << 38) AS "and not much more";
SELECT flake_create_generator('migrated_id', :'layout', after => :largest);
SELECT flake_id(1234, 'migrated_id') > :largest + :reserve AS "exceeds it",
       flake_shard(flake_id(1234, 'migrated_id'), flake_layout_of('migrated_id')) AS node,
       flake_timestamp(flake_id(1234, 'migrated_id'), flake_layout_of('migrated_id')) - now() < '1 s' AS "right time";
DROP SEQUENCE migrated_id;
-- "will start failing after December 17th 2058", says that test: 2^63 ids from 2018,
-- less those used; here in as many years from now.
SELECT extract(year FROM age(ends, now()))
       = extract(year FROM age('2087-09-07'::timestamptz, '2058-12-17 03:52:07'))  AS "as many years left"
FROM flake_layout_info(:'layout');

-- An ended layout goes on with a later epoch.
SELECT flake_layout_above('baidu', flake_lower('2017-01-19', 'baidu')) AS layout \gset
SELECT :'layout'::flake_layout <> 'baidu' AS moved, ends > now() AS "goes on",
       flake_lower(now(), :'layout') > flake_lower('2017-01-19', 'baidu') AS "exceeds it"
FROM flake_layout_info(:'layout');
-- So does one above an id that is far below all of its own.
SELECT flake_create_generator('short_id', flake_layout_above('ts:20 seq:10 epoch=2000-01-01', -1099511627776));
SELECT flake_id(0, 'short_id') > -1099511627776 AS minted;
DROP SEQUENCE short_id;
SELECT flake_layout_above('ts:20 seq:10 epoch=2040-01-01', -1099511627776) = 'ts:20 seq:10 epoch=2040-01-01' AS unchanged;

-- ids that are exceeded already need no other epoch
SELECT flake_layout_above('snowflake', 1541815603606036480) = 'snowflake' AS unchanged,
       flake_layout_above('snowflake', 1541815603606036480, '0') = 'snowflake' AS unchanged;
SELECT flake_lower(now(), flake_layout_above('snowflake', flake_lower(now(), 'snowflake'), '10 years'))
       > flake_lower(now() + '9.9 years', 'snowflake') AS "ten years ahead";
\x on
SELECT * FROM attempt('SELECT flake_layout_above(''hazelcast'', 9223372036854775807)');
SELECT * FROM attempt('SELECT flake_layout_above(''hazelcast'', 1, ''-1 s'')');
SELECT * FROM attempt('SELECT flake_layout_above(''hazelcast'', 1, ''1000000 years'')');
SELECT * FROM attempt('SELECT flake_layout_above(''segment'', 1)');
\x off
RESET timezone;
RESET datestyle;
