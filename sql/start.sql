--
-- Where the sequence starts in a new tick.
--
-- A microsecond is over before the next call, so that nearly every id has its own.
SELECT flake_create_generator('from_zero', 'ts:50 seq:12 epoch=2020-01-01 unit=1us start=zero');
SELECT flake_create_generator('going_on', 'ts:50 seq:12 epoch=2020-01-01 unit=1us start=continue');
SELECT flake_create_generator('at_random', 'ts:50 seq:12 epoch=2020-01-01 unit=1us start=random');
SELECT flake_create_generator('below_10', 'ts:50 seq:12 epoch=2020-01-01 unit=1us start=random:10');

-- Of ids one after the other, what is true of each that is the first of its tick.
CREATE FUNCTION firsts(generator regclass, OUT seq bigint, OUT previous bigint)
RETURNS SETOF record LANGUAGE sql AS $$
    SELECT seq, previous
    FROM (SELECT flake_sequence(id, l) AS seq, flake_timestamp(id, l) AS ts,
                 lag(flake_sequence(id, l)) OVER w AS previous, lag(flake_timestamp(id, l)) OVER w AS previous_ts
          FROM (SELECT flake_id(0, generator) AS id, pg_sleep(0.00001) FROM generate_series(1, 2000)) AS ids,
               flake_layout_of(generator) AS l
          WINDOW w AS (ORDER BY id)) AS ids
    WHERE ts > previous_ts
$$;
SELECT count(*) > 1000 AS "new ticks", bool_and(seq = 0) AS "from 0" FROM firsts('from_zero');
SELECT count(*) > 1000 AS "new ticks", bool_and(seq = (previous + 1) % 4096) AS "one after the other" FROM firsts('going_on');
SELECT count(*) > 1000 AS "new ticks", max(seq) > 3000 AS high, min(seq) < 1000 AS low FROM firsts('at_random');
SELECT count(*) > 1000 AS "new ticks", max(seq) AS highest, min(seq) AS lowest, count(DISTINCT seq) FROM firsts('below_10');

-- Within a tick all count up by one, and go on in the next.
SELECT flake_create_generator('by_hour_' || start, ('ts:20 seq:30 epoch=2020-01-01 unit=1h start=' || start)::flake_layout)
FROM (VALUES ('zero'), ('continue'), ('random')) AS v (start);
SELECT max(id) - min(id) FROM flake_ids(0, 1000, 'by_hour_zero') AS id;
SELECT max(id) - min(id) FROM flake_ids(0, 1000, 'by_hour_continue') AS id;
SELECT max(id) - min(id) FROM flake_ids(0, 1000, 'by_hour_random') AS id;

-- Chi-squared: the low 8 bits of 100,000 ids that start at random, each in a tick of
-- its own.  With 255 degrees of freedom, 377 is exceeded once in a million runs.
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
CREATE TEMPORARY TABLE ids AS
SELECT flake_id(0, 'at_random') AS id, md5(repeat(i::text, 400)) FROM generate_series(1, 100000) AS i;
RESET debug_discard_caches;
SELECT count(DISTINCT id >> 12) > 80000 AS "most in their own ticks" FROM ids;
SELECT count(*) AS values, sum(count) AS ids,
       sum((count - 100000 / 256.0) ^ 2 / (100000 / 256.0)) < 377 AS "spread evenly"
FROM (SELECT id & 255 AS low, count(*) AS count FROM ids GROUP BY id & 255) AS counts;
DROP TABLE ids;
DROP FUNCTION firsts;
DROP SEQUENCE from_zero, going_on, at_random, below_10, by_hour_zero, by_hour_continue, by_hour_random;
