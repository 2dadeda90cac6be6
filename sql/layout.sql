--
-- The type flake_layout: its text form, and ids of any layout.
--
SET timezone = 'UTC';
SET datestyle = 'ISO, YMD';

-- canonical output
SELECT t, t::flake_layout AS layout FROM (VALUES
    ('ts:41 shard:13 seq:10 epoch=2011-08-24T21:07:01.721Z unit=1ms start=continue'),
    ('ts:41 shard:13 seq:10 epoch=1314220021721'),
    (E'  ts:41\n\tshard:13  seq:10   start=continue unit=1000us epoch=1314220021721 '),
    ('ts:41 datacenter:5 worker:5 seq:12 epoch=2010-11-04T01:42:54.657Z start=zero'),
    ('ts:31 seq:20 epoch=2020-02-29 unit=60s start=random'),
    ('ts:31 seq:20 epoch=2020-02-29T12:00:00.25Z unit=3600000ms start=random:7'),
    ('ts:31 seq:20 epoch=1969-12-31T23:59:59.999999Z unit=1us start=random:1048576'),
    ('ts:31 seq:20 epoch=-1 unit=10ms'),
    ('ts:1 seq:63 epoch=0001-01-01 unit=24h'),
    ('ts:63 seq:1 epoch=9999-12-31T23:59:59Z'),
    ('seq:1'),
    ('a:1 b:2 seq:40 c:3 d:4 block=1'),
    ('seq:62 server:1 block=1000000000')) AS v (t);

-- every preset's layout reads back, as text, in binary, and from a table
SELECT name FROM flake_presets
WHERE layout::text::flake_layout IS DISTINCT FROM layout OR name::flake_layout <> layout;
CREATE TABLE layouts (layout flake_layout);
INSERT INTO layouts SELECT layout FROM flake_presets;
\copy layouts TO 'results/layouts.copy' (FORMAT binary)
\copy layouts FROM 'results/layouts.copy' (FORMAT binary)
SELECT layout, count(*) FROM layouts GROUP BY layout HAVING count(*) <> 2;
SELECT count(*) FROM layouts AS a JOIN layouts AS b ON a.layout = b.layout;
SELECT convert_from(_flake_layout_send('segment'), 'UTF8') AS "binary format";
DROP TABLE layouts;

-- equal by what they mean, not by how they were written
SELECT 'instagram'::flake_layout = 'ts:41 shard:13 seq:10 epoch=1314220021721' AS equal,
       'leaf'::flake_layout = 'snowflake' AS "other names and start",
       'segment'::flake_layout <> 'seq:63 block=10001' AS "not equal";

-- What is not a layout: the detail names the word in question.
\x on
SELECT * FROM attempt($$SELECT 'ts:41 shard:14 seq:10 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'seq:63 server:1'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:20 a:16 b:16 seq:10 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT ''::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 seq:10 seq:9 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 ts:10 seq:9 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 a:1 b:1 a:1 seq:9 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'shard:13 ts:41 seq:10 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 seq:10 epoch=0 shard:13'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 seq:0 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 seq:1O epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 seq:64 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 seq:99999999999999999999 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 Shard:3 seq:10 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 a_much_too_long_name:3 seq:10 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 timestamp:3 seq:10 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 seq:1'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=2011-08-24T21:07:01.721+02'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=2011-02-29'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=0 epoch=1'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=0 unit=0ms'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=0 unit=2d'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=0 unit=1fortnight'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=0 start=never'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=0 start=random:0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=0 start=random:1025'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard:13 seq:10 epoch=0 block=10'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'seq:63 unit=1ms'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'seq:63 block=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'seq:63 blokc=10'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'ts:41 shard seq:10 epoch=0'::flake_layout$$);
SELECT * FROM attempt($$SELECT ('ts:41 seq:10 epoch=0 ' || repeat('x', 100))::flake_layout$$);
SELECT code, detail FROM attempt($$SELECT ('ts:41 seq:10 epoch=0 x' || repeat('é', 100))::flake_layout$$);
-- a preset's name, misspelt
SELECT * FROM attempt($$SELECT 'instagran'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'Hazelcast'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'sonyflke'::flake_layout$$);
SELECT * FROM attempt($$SELECT 'postgresql'::flake_layout$$);
SELECT code, hint FROM attempt($$SELECT repeat('x', 100)::flake_layout$$);
\x off
-- and more of each kind, of which the detail's first words tell enough
SELECT t, code, left(detail, 28) AS detail FROM unnest(ARRAY[
    -- names
    'ts:41 {a:3 seq:10 epoch=0', 'ts:41 1a:3 seq:10 epoch=0', 'ts:41 a{:3 seq:10 epoch=0', 'ts:41 a-b:3 seq:10 epoch=0',
    'ts:41 a~:3 seq:10 epoch=0', 'ts:41 :3 seq:10 epoch=0',
    -- the order of things
    'ts:41 unit=1ms seq:10 epoch=0', 'ts:41 start=zero seq:10 epoch=0', 'block=5 seq:10', 'seq:63 epoch=0', 'seq:63 start=zero',
    -- numbers
    'seq:9223372036854775808', 'seq:63 block=', 'seq:63 block=5x', 'seq:63 block=1000000001', 'seq:63 block=99999999999999999999',
    'ts:41 seq:10 epoch=0 unit=ms', 'ts:41 seq:10 epoch=0 unit=5', 'ts:41 seq:10 epoch=0 start=random:',
    'ts:41 seq:10 epoch=0 start=random:x', 'ts:41 seq:10 epoch=0 start=random:5x', 'ts:41 seq:10 epoch=0 start=',
    -- instants
    'ts:41 seq:10 epoch=', 'ts:41 seq:10 epoch=-', 'ts:41 seq:10 epoch=12x', 'ts:41 seq:10 epoch=253402300800000',
    'ts:41 seq:10 epoch=-62135596800001', 'ts:41 seq:10 epoch=9223372036854775807', 'ts:41 seq:10 epoch=9223372036854775808',
    'ts:41 seq:10 epoch=0000-01-01', 'ts:41 seq:10 epoch=2011-', 'ts:41 seq:10 epoch=2011-00-24', 'ts:41 seq:10 epoch=2011-13-24',
    'ts:41 seq:10 epoch=2011-08', 'ts:41 seq:10 epoch=2011-08-', 'ts:41 seq:10 epoch=2011-08-00', 'ts:41 seq:10 epoch=2011-08-32',
    'ts:41 seq:10 epoch=1900-02-29', 'ts:41 seq:10 epoch=2011-08-24 21:07:01Z', 'ts:41 seq:10 epoch=2011-08-24T',
    'ts:41 seq:10 epoch=2011-08-24T21', 'ts:41 seq:10 epoch=2011-08-24T21:', 'ts:41 seq:10 epoch=2011-08-24T21:07',
    'ts:41 seq:10 epoch=2011-08-24T21:07:', 'ts:41 seq:10 epoch=2011-08-24T24:00:00Z', 'ts:41 seq:10 epoch=2011-08-24T21:60:01Z',
    'ts:41 seq:10 epoch=2011-08-24T21:07:60Z', 'ts:41 seq:10 epoch=2011-08-24T21:07:01', 'ts:41 seq:10 epoch=2011-08-24T21:07:01.Z',
    'ts:41 seq:10 epoch=2011-08-24T21:07:01.1234567Z', 'ts:41 seq:10 epoch=2011-08-24T21:07:01Zulu']) WITH ORDINALITY AS u (t, n),
    attempt(format('SELECT %L::flake_layout', t))
ORDER BY n;

-- Any layout: an id's parts come back, ids are ordered as their times are, and
-- lie between floor and ceil. 20,000 layouts at random; a different seed each time
-- it is run, shown if something fails.
SELECT random() AS seed \gset
SELECT setseed(:seed) IS NULL AS seeded;
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
CREATE TEMPORARY TABLE random_layouts AS
SELECT i,
       format('ts:%s%s seq:%s%s epoch=%s unit=%s start=zero', ts_bits,
              CASE WHEN above > 0 THEN ' above:' || above END, seq_bits,
              CASE WHEN below > 0 THEN ' below:' || below END,
              (random() * 4e12 - 1e12)::bigint,
              (ARRAY['1us', '250us', '1ms', '10ms', '1s'])[1 + floor(random() * 5)])::flake_layout AS layout,
       1::bigint << above + below AS shards,
       1::bigint << seq_bits AS sequences
FROM (SELECT i, ts_bits, seq_bits, above,
             floor(random() * (1 + least(31 - above, 64 - ts_bits - seq_bits - above)))::int AS below
      FROM (SELECT i, ts_bits, seq_bits,
                   floor(random() * (1 + least(31, 64 - ts_bits - seq_bits)))::int AS above
            FROM (SELECT i, ts_bits, 1 + floor(random() * (64 - ts_bits - 1))::int AS seq_bits
                  FROM (SELECT i, 1 + floor(random() * 62)::int AS ts_bits
                        FROM generate_series(1, 20000) AS i) AS a) AS b) AS c) AS d;
-- two instants within each lifetime, as far as timestamptz reaches
CREATE TEMPORARY TABLE random_parts AS
SELECT l.*,
       least(starts + (ends - starts) * random(), ends - interval '1 us') AS t1,
       least(starts + (ends - starts) * random(), ends - interval '1 us') AS t2,
       floor(random() * shards)::int AS s1, floor(random() * shards)::int AS s2,
       least(floor(random() * sequences)::numeric, sequences::numeric - 1)::bigint AS q1,
       least(floor(random() * sequences)::numeric, sequences::numeric - 1)::bigint AS q2
FROM (SELECT i, layout, shards, CASE WHEN sequences > 0 THEN sequences ELSE 9223372036854775807 END AS sequences,
             greatest(starts, '1000-01-01') AS starts, least(ends, '9000-01-01') AS ends
      FROM random_layouts, LATERAL (SELECT starts, ends FROM flake_layout_info(layout)) AS info) AS l;
CREATE TEMPORARY TABLE random_ids AS
SELECT *, flake_make(t1, s1, q1, layout) AS id1, flake_make(t2, s2, q2, layout) AS id2
FROM random_parts;
SELECT count(*), bool_or(id1 < 0) AND bool_or(id1 > 0) AS "on both sides of the epoch",
       (SELECT count(*) > 19000 FROM (SELECT DISTINCT layout FROM random_ids) AS l) AS "nearly all differ"
FROM random_ids;

SELECT :seed, * FROM random_ids
WHERE layout::text::flake_layout <> layout
   OR flake_shard(id1, layout) <> s1
   OR flake_sequence(id1, layout) <> q1
   OR flake_timestamp(id1, layout) > t1
   OR flake_make(flake_timestamp(id1, layout), s1, q1, layout) <> id1
   OR (SELECT (ts, shard, sequence) <> (flake_timestamp(id1, layout), s1, q1) FROM flake_decode(id1, layout))
   OR (flake_fields(id1, layout)->>'seq')::numeric <> q1
   OR NOT id1 BETWEEN flake_lower(flake_timestamp(id1, layout), layout) AND flake_upper(t1, layout)
   OR NOT flake_between(id1, t1 - interval '1 day', t1 + interval '1 day', layout)
   OR flake_between(id1, t1 + interval '1 day', 'infinity', layout)
   OR flake_between(id1, '-infinity', flake_timestamp(id1, layout), layout)
   -- by time, then by shard and sequence
   OR flake_timestamp(id1, layout) < flake_timestamp(id2, layout) AND id1 >= id2
   OR flake_timestamp(id1, layout) > flake_timestamp(id2, layout) AND id1 <= id2
   OR (flake_timestamp(id1, layout), s1, q1) = (flake_timestamp(id2, layout), s2, q2) AND id1 <> id2
LIMIT 5;

-- the edges of each lifetime
SELECT :seed, layout
FROM (SELECT layout, starts, ends FROM random_layouts, LATERAL flake_layout_info(layout)
      WHERE starts > '4000-01-01 BC' AND ends < '200000-01-01' OFFSET 0) AS l
WHERE (flake_timestamp(flake_make(starts, 0, 0, layout), layout) <> starts
       OR flake_timestamp(flake_make(ends - interval '1 us', 0, 0, layout), layout) >= ends
       OR (SELECT code FROM attempt(format('SELECT flake_make(%L, 0, 0, %L)', ends, layout))) <> '22003'
       OR (SELECT code FROM attempt(format('SELECT flake_make(%L, 0, 0, %L)', starts - interval '1 us', layout))) <> '22003')
LIMIT 5;
RESET debug_discard_caches;

-- instants far outside of a lifetime
SELECT flake_lower(t, l), flake_upper(t, l)
FROM (VALUES ('infinity'::timestamptz), ('294000-01-01'), ('4700-01-01 BC'), ('-infinity')) AS v (t),
     (VALUES ('ts:5 above:1 seq:8 below:1 epoch=0001-01-01 unit=1us'::flake_layout)) AS w (l);

-- without time
SELECT flake_timestamp(5, 'ticket') AS ts, flake_shard(5, 'ticket') AS server,
       flake_sequence(5, 'ticket') AS seq, flake_decode(5, 'ticket'), flake_fields(5, 'ticket');
SELECT flake_explain(5, 'ticket');
\x on
SELECT * FROM attempt($$SELECT flake_lower(now(), 'ticket')$$);
SELECT * FROM attempt($$SELECT flake_upper(now(), 'ticket')$$);
SELECT * FROM attempt($$SELECT flake_between(5, now(), now(), 'ticket')$$);
SELECT * FROM attempt($$SELECT flake_make(now(), 1, 5, 'ticket')$$);
-- parts that a layout does not have
SELECT * FROM attempt($$SELECT flake_make('2020-01-01', 1024, 0, 'snowflake')$$);
SELECT * FROM attempt($$SELECT flake_make('2020-01-01', 0, 4096, 'snowflake')$$);
SELECT * FROM attempt($$SELECT flake_make('2090-01-01', 0, 0, 'ts:41 shard:13 seq:8 epoch=2000-01-01')$$);
\x off

-- shard numbers from their parts
SELECT flake_shard_number('snowflake', 11, 26) AS snowflake,
       flake_shard_number('discord', VARIADIC ARRAY[31, 31]) AS discord,
       flake_shard_number('instagram', 5) AS instagram,
       flake_shard_number('segment', VARIADIC ARRAY[]::int[]) AS segment;
SELECT flake_fields(flake_make('2020-01-01 UTC', flake_shard_number('snowflake', 11, 26), 7, 'snowflake'), 'snowflake');
\x on
SELECT * FROM attempt($$SELECT flake_shard_number('snowflake', 32, 0)$$);
SELECT * FROM attempt($$SELECT flake_shard_number('snowflake', 0, -1)$$);
SELECT * FROM attempt($$SELECT flake_shard_number('snowflake', 1)$$);
SELECT * FROM attempt($$SELECT flake_shard_number('snowflake', 1, NULL)$$);
\x off

-- what there is room for
SELECT * FROM flake_layout_info('ts:41 shard:13 seq:10 epoch=1314220021721');
SELECT * FROM flake_layout_info('ts:10 seq:8 epoch=2000-01-01 unit=1min');
SELECT * FROM flake_layout_info('ts:60 a:1 b:2 seq:1 epoch=2000-01-01 unit=1d');
SELECT * FROM flake_layout_info('ts:1 seq:63 epoch=2000-01-01 unit=1s');
SELECT * FROM flake_layout_info('ticket');
SELECT * FROM flake_layout_info('ts:62 seq:1 epoch=2000-01-01 unit=1us');

-- years BC are written as timestamptz reads them
SELECT flake_fields(id, l)->>'timestamp' AS fields, split_part(flake_explain(id, l), E'\n', 4) AS explained,
       (flake_fields(id, l)->>'timestamp')::timestamptz = ts AND split_part(flake_explain(id, l), E'\n', 4)::timestamptz = ts AS "the same"
FROM (VALUES ('4713-11-25 BC'::timestamptz), ('0070-03-15 12:00:00.5 BC'), ('0001-12-31 23:59:59.999 BC'), ('0001-01-01'), ('9999-12-31 12:00')) AS v (ts),
     (VALUES (flake_layout 'ts:50 seq:10 epoch=0001-01-01')) AS w (l),
     flake_make(ts, 0, 0, l) AS id;

-- the ends of what timestamptz and bigint can hold
SELECT flake_shard(i, l) AS shard, flake_sequence(i, l) AS seq
FROM (VALUES (9223372036854775807, flake_layout 'ts:60 a:1 b:2 seq:1 epoch=2000-01-01 unit=1d')) AS v (i, l);
\x on
SELECT * FROM attempt($$SELECT flake_timestamp(9223372036854775807, 'ts:60 a:1 b:2 seq:1 epoch=2000-01-01 unit=1d')$$);
SELECT * FROM attempt($$SELECT flake_decode(-9223372036854775808, 'ts:60 a:1 b:2 seq:1 epoch=2000-01-01 unit=1d')$$);
SELECT * FROM attempt($$SELECT flake_fields(9223372036854775807, 'ts:60 a:1 b:2 seq:1 epoch=2000-01-01 unit=1d')$$);
SELECT * FROM attempt($$SELECT flake_explain(9223372036854775807, 'ts:60 a:1 b:2 seq:1 epoch=2000-01-01 unit=1d')$$);
-- an id too far from the present for any epoch
SELECT * FROM attempt($$SELECT flake_layout_above('ts:63 seq:1 epoch=2000-01-01 unit=1us', 9223372036854775805, '290000 years')$$);
SELECT * FROM attempt($$SELECT flake_layout_above('ts:50 seq:14 epoch=2000-01-01 unit=1d', 4611686018427387904)$$);
SELECT * FROM attempt($$SELECT flake_layout_above('ts:41 seq:23 epoch=2000-01-01 unit=1s', 4611686018427387904)$$);
\x off

RESET timezone;
RESET datestyle;
