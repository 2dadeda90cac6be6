--
-- Ids as time: ranges, indexes, constraints, partitions.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';
SET intervalstyle = 'postgres';
CREATE TABLE event (id bigint PRIMARY KEY, n int);
INSERT INTO event
SELECT flake_make(timestamptz '2026-01-01' + g * interval '1 min', g % 8192, g % 1024), g
FROM generate_series(0, 59999) AS g;
VACUUM ANALYZE event;

-- a range scan on the primary key
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE flake_between(id, '2026-01-05', '2026-01-06');
SELECT count(*), min(flake_timestamp(id)), max(flake_timestamp(id))
FROM event WHERE flake_between(id, '2026-01-05', '2026-01-06');

-- also where the bounds are known only at run time
PREPARE events (timestamptz, timestamptz) AS
SELECT count(*) FROM event WHERE flake_between(id, $1, $2);
SET plan_cache_mode = force_generic_plan;
EXPLAIN (COSTS OFF) EXECUTE events ('2026-01-05', '2026-01-06');
EXECUTE events ('2026-01-05', '2026-01-06');
RESET plan_cache_mode;
EXPLAIN (COSTS OFF)
SELECT * FROM event WHERE flake_between(id, now() - interval '1 h', 'infinity');

-- It says what the comparison of times says, to the microsecond.
SELECT count(*) AS tried,
       count(*) FILTER (WHERE flake_between(id, since, upto) IS DISTINCT FROM
                        (since <= flake_timestamp(id) AND flake_timestamp(id) < upto)) AS different,
       count(*) FILTER (WHERE flake_between(id, since, upto)) AS inside
FROM (SELECT id, flake_timestamp(id) + a * interval '1 us' AS since,
             flake_timestamp(id) + b * interval '1 us' AS upto
      FROM (SELECT id FROM event LIMIT 500) AS e,
           unnest(ARRAY[-1001, -1000, -999, -1, 0, 1, 999, 1000, 1001]) AS a,
           unnest(ARRAY[-1001, -1000, -999, -1, 0, 1, 999, 1000, 1001]) AS b) AS tests;
SELECT flake_between(id, '-infinity', 'infinity') AS always,
       flake_between(id, 'infinity', '-infinity') AS never,
       flake_between(id, '2026-01-05', '2026-01-05') AS empty,
       flake_between(id, '2026-01-06', '2026-01-05') AS backwards
FROM (VALUES (flake_make('2026-01-05', 1, 1)), (9223372036854775807), (-9223372036854775808)) AS v (id);
SELECT flake_between(NULL, '2026-01-05', '2026-01-06') AS null_id,
       flake_between(flake_make('2026-01-05', 1, 1), NULL, NULL) AS null_bounds;

-- What is past the ends of a layout's lifetime is in no range; nor is the one id that has
-- no id after it.
SELECT id, flake_between(id, '2100-01-01', '2200-01-01') AS after, flake_between(id, '1900-01-01', '1950-01-01') AS before,
       flake_between(id, '-infinity', '1950-01-01') AS up_to, flake_between(id, '2100-01-01', 'infinity') AS since,
       flake_between(id, '-infinity', 'infinity') AS always
FROM (VALUES (9223372036854775807), (9223372036854775806), (-9223372036854775808)) AS v (id);
SELECT id, flake_between(id, '2100-01-01', '2200-01-01', layout) AS after, flake_between(id, '1900-01-01', '1950-01-01', layout) AS before,
       flake_between(id, '-infinity', 'infinity', layout) AS always
FROM CAST('ts:39 shard:13 seq:10 epoch=2015-01-01' AS flake_layout) AS layout,
     unnest(ARRAY[flake_upper('infinity', layout) + 1, flake_upper('infinity', layout),
                  flake_lower('-infinity', layout), flake_lower('-infinity', layout) - 1,
                  9223372036854775807, -9223372036854775808]) AS id;
SELECT ts, flake_lower(ts, layout), flake_upper(ts, layout)
FROM CAST('ts:39 shard:13 seq:10 epoch=2015-01-01' AS flake_layout) AS layout,
     unnest(ARRAY['-infinity', '1900-01-01', '2100-01-01', 'infinity']::timestamptz[]) AS ts;

-- an expression index
CREATE INDEX event_shard ON event (flake_shard(id));
ANALYZE event;
EXPLAIN (COSTS OFF) SELECT count(*) FROM event WHERE flake_shard(id) = 77;
SELECT count(*) FROM event WHERE flake_shard(id) = 77;

-- a stored generated column, and a CHECK
CREATE TABLE checked (
    id bigint PRIMARY KEY DEFAULT flake_id(3) CHECK (flake_shard(id) = 3),
    created timestamptz GENERATED ALWAYS AS (flake_timestamp(id)) STORED
);
INSERT INTO checked DEFAULT VALUES
RETURNING created = flake_timestamp(id) AS same, created > '2020-01-01' AS plausible;
INSERT INTO checked (id) VALUES (flake_make('2026-01-01', 4, 0));

-- range partitions on the id, their bounds written as times
CREATE TABLE reading (id bigint PRIMARY KEY, n int) PARTITION BY RANGE (id);
CREATE TABLE reading_01 PARTITION OF reading
    FOR VALUES FROM (flake_lower('2026-01-01')) TO (flake_lower('2026-02-01'));
CREATE TABLE reading_02 PARTITION OF reading
    FOR VALUES FROM (flake_lower('2026-02-01')) TO (flake_lower('2026-03-01'));
CREATE TABLE reading_03 PARTITION OF reading
    FOR VALUES FROM (flake_lower('2026-03-01')) TO (MAXVALUE);
INSERT INTO reading
SELECT flake_make(timestamptz '2026-01-01' + g * interval '1 h', 8, 0), g
FROM generate_series(0, 2000) AS g;
ANALYZE reading;
SELECT tableoid::regclass, count(*), min(flake_timestamp(id)), max(flake_timestamp(id))
FROM reading GROUP BY 1 ORDER BY 1;
EXPLAIN (COSTS OFF)
SELECT count(*) FROM reading WHERE flake_between(id, '2026-02-03', '2026-02-04');
EXPLAIN (COSTS OFF)
SELECT count(*) FROM reading WHERE flake_between(id, '2026-01-31', '2026-02-02');
SELECT count(*) FROM reading WHERE flake_between(id, '2026-01-31', '2026-02-02');

-- how many ids wide an interval is
SELECT i AS interval, flake_width(i), flake_width(i) = flake_lower('2026-06-01'::timestamptz + i) - flake_lower('2026-06-01') AS same
FROM unnest(ARRAY['1 ms', '1999 us', '1 h', '1 day', '3 weeks -1 day', '25 h', '1 day -24 h 5 s']::interval[]) AS i;
SELECT name, flake_width('2 h', layout) FROM flake_presets
WHERE starts IS NOT NULL AND flake_width('2 h', layout) <> flake_lower(starts + interval '26 h', layout) - flake_lower(starts + interval '24 h', layout)
ORDER BY name;
SELECT flake_width('12725 days 2:48:31.103'), flake_width(NULL), flake_width('1 day', NULL);
SELECT flake_width('1 month');
SELECT flake_width('1 year -360 days');
SELECT flake_width('999 us');
SELECT flake_width('0');
SELECT flake_width('-1 day');
SELECT flake_width('9 ms', 'sonyflake');
SELECT flake_width('12726 days');
SELECT flake_width('2147483647 days');
SELECT flake_width('106751991 days 04:00:54.775807');
SELECT flake_width('-2147483648 days');
SELECT flake_width('1 day', 'segment');

-- the present, as an id that is not above those that are minted now
BEGIN;
SELECT flake_timestamp(flake_now_id()) = date_trunc('milliseconds', now()) AS now,
       flake_now_id() = flake_upper(now()) - flake_width('1 ms') + 1 AS smallest,
       flake_now_id() <= flake_id(0) AS "not above";
COMMIT;

DROP TABLE event, checked, reading;
