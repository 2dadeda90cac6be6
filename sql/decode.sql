--
-- Looking inside ids, and composing them.
--
SET timezone = 'UTC';
SET datestyle = 'ISO';

-- The worked example of Instagram's article: 1,387,263,000 ms after its epoch,
-- shard 1341, 5001 % 1024.
SELECT flake_make(timestamptz '2011-08-24 21:07:01.721Z' + 1387263000 * interval '1 ms',
                  1341, 5001 % 1024) AS id;
SELECT * FROM flake_decode(11637205501278089);
SELECT flake_timestamp(11637205501278089), flake_shard(11637205501278089),
       flake_sequence(11637205501278089);
SELECT flake_explain(11637205501278089);

-- the ends of the fields and of the lifetime
SELECT id, (flake_decode(id)).*
FROM (VALUES (0::bigint), (1), (1023), (1024), (8388607), (8388608), (-1),
             (9223372036854775807), (-9223372036854775808)) AS v (id);
SELECT flake_explain(9223372036854775807);
SELECT flake_explain(-9223372036854775808);
SELECT flake_explain(0);

-- The published function and this extension agree about every part.
CREATE SEQUENCE instagram_seq;
CREATE FUNCTION instagram_id(shard int, OUT id bigint, OUT millis bigint, OUT counter bigint)
LANGUAGE plpgsql AS $$
DECLARE
    epoch_ms CONSTANT bigint := 1314220021721;
BEGIN
    counter := nextval('instagram_seq') % 1024;
    millis := floor(extract(epoch FROM clock_timestamp()) * 1000);
    id := ((millis - epoch_ms) << 23) | (shard << 10) | counter;
END
$$;
-- With debug_discard_caches on, this would take hours.
SET debug_discard_caches = 0;
SELECT count(*) AS minted,
       count(*) FILTER (WHERE flake_shard(id) <> shard) AS wrong_shard,
       count(*) FILTER (WHERE flake_sequence(id) <> counter) AS wrong_sequence,
       count(*) FILTER (WHERE flake_timestamp(id) <>
                        to_timestamp(0) + millis * interval '1 ms') AS wrong_time,
       count(*) FILTER (WHERE flake_make(flake_timestamp(id), shard, counter) <> id) AS wrong_id
FROM generate_series(0, 8191, 7) AS shard, instagram_id(shard);
RESET debug_discard_caches;
DROP FUNCTION instagram_id;
DROP SEQUENCE instagram_seq;

-- make and decode are inverses, before and after the epoch
SELECT count(*) AS tried,
       count(*) FILTER (WHERE flake_decode(flake_make(ts, shard, sequence)) IS DISTINCT FROM
                        ROW(ts, shard, sequence)) AS different
FROM (SELECT timestamptz '1990-01-01' + g * interval '7 h 11 min 13.579 s' AS ts,
             (g * 7919 % 8192)::int AS shard, g * 104729 % 1024 AS sequence
      FROM generate_series(1::bigint, 60000) AS g) AS parts;

-- the order of ids is the order of time
SELECT count(*) AS out_of_order
FROM (SELECT id, ts, lag(ts) OVER (ORDER BY id) AS ts_before
      FROM (SELECT flake_make(ts, shard, 0) AS id, ts
            FROM (SELECT timestamptz '1980-01-01' + g * interval '3 h 0.123 s' AS ts,
                         (g * 7919 % 8192)::int AS shard
                  FROM generate_series(1::bigint, 150000) AS g) AS parts) AS ids) AS ordered
WHERE ts_before > ts;

-- lower and upper: from the first id at or after an instant, to the last at or before it
SELECT ts, flake_decode(flake_lower(ts)) AS lower, flake_decode(flake_upper(ts)) AS upper,
       flake_timestamp(flake_lower(ts) - 1) < ts AS "nothing before", flake_timestamp(flake_upper(ts) + 1) > ts AS "nothing after"
FROM (VALUES (timestamptz '2026-01-02 03:04:05.678Z'), ('2026-01-02 03:04:05.678001Z'),
             ('2026-01-02 03:04:05.677999Z')) AS v (ts);

-- at the ends of the lifetime, and past them
SELECT ts, flake_lower(ts), flake_upper(ts)
FROM (VALUES (timestamptz '-infinity'), ('4713-01-01 00:00 BC'), ('1900-01-01'), ('1976-10-21 01:13:13.945Z'),
             ('2046-06-27 17:00:49.496Z'), ('2046-06-28 00:00Z'), ('2100-01-01'), ('294276-12-31 00:00Z'),
             ('infinity')) AS v (ts);

-- null in, null out
SELECT flake_timestamp(NULL), flake_shard(NULL), flake_sequence(NULL), flake_decode(NULL),
       flake_explain(NULL), flake_make(NULL, 1, 1), flake_lower(NULL), flake_upper(NULL);

-- flake_make() out of range
\x on
SELECT * FROM attempt($$SELECT flake_make('2026-01-01Z', -1, 0)$$);
SELECT * FROM attempt($$SELECT flake_make('2026-01-01Z', 8192, 0)$$);
SELECT * FROM attempt($$SELECT flake_make('2026-01-01Z', 0, -1)$$);
SELECT * FROM attempt($$SELECT flake_make('2026-01-01Z', 0, 1024)$$);
SELECT * FROM attempt($$SELECT flake_make('1970-01-01Z', 0, 0)$$);
SELECT * FROM attempt($$SELECT flake_make('2046-06-27 17:00:49.497Z', 0, 0)$$);
SELECT * FROM attempt($$SELECT flake_make('infinity', 0, 0)$$);
SELECT * FROM attempt($$SELECT flake_make('-infinity', 0, 0)$$);
\x off
SELECT flake_make('2046-06-27 17:00:49.496Z', 8191, 1023) > 0 AS "still in the lifetime";
