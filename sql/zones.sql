--
-- Partitions by time around every change of every zone's offset since 1970
--
SET timezone = 'UTC';
-- each change, found by days and then to the second; what zones have in common is tried
-- with one of them
CREATE TEMP TABLE zone_change AS
WITH RECURSIVE noticed AS (
    SELECT z.name, d.lo, d.hi, lo AT TIME ZONE z.name - lo AT TIME ZONE 'UTC' AS before,
           hi AT TIME ZONE z.name - hi AT TIME ZONE 'UTC' AS after
    FROM pg_timezone_names z,
         LATERAL (SELECT lo, lead(lo) OVER w AS hi, lead(local) OVER w - local AS passed
                  FROM (SELECT lo, lo AT TIME ZONE z.name AS local
                        FROM generate_series('1970-01-01'::timestamptz, '2031-01-01', '1 day') AS lo OFFSET 0) AS l
                  WINDOW w AS (ORDER BY lo)) AS d
    WHERE z.name !~ '^posix/' AND d.passed <> '1 day'       -- these are the others once more
), halved AS (
    SELECT * FROM noticed
    UNION ALL
    SELECT name, CASE WHEN is_before THEN middle ELSE lo END, CASE WHEN is_before THEN hi ELSE middle END, before, after
    FROM halved, date_trunc('second', lo + (hi - lo) / 2) AS middle,
         LATERAL (SELECT middle AT TIME ZONE name - middle AT TIME ZONE 'UTC' = before AS is_before) AS b
    WHERE hi - lo > '1 s'
)
SELECT min(name) AS zone, hi AS ts, before, after, greatest(after - before, before - after) AS size
FROM halved WHERE hi - lo = '1 s' GROUP BY hi, before, after;
SELECT count(*) > 5000 AS changes, count(*) FILTER (WHERE size >= '12 hours') > 0 AS "a day left out" FROM zone_change;

-- With debug_discard_caches on, this would take hours, and so would what follows.
SET debug_discard_caches = 0;
-- Each instant is in one step, and each step ends where the next begins.
CREATE TEMP TABLE step AS
SELECT DISTINCT c.zone, c.ts, w.width, s.*
FROM zone_change c, unnest(ARRAY['1 hour', '1 day', '1 week', '1 month']::interval[]) AS w (width),
     LATERAL (VALUES (c.ts - size - interval '1 us'), (c.ts - size), (c.ts - size / 2), (c.ts - interval '1 us'),
                     (c.ts), (c.ts + size / 2), (c.ts + size - interval '1 us'), (c.ts + size)) AS i (instant),
     LATERAL (SELECT i.instant, p.* FROM _flake_partition_step(w.width, i.instant, c.zone) AS p) AS s
WHERE w.width > '1 hour' OR i.instant IN (c.ts - interval '1 us', c.ts);
SELECT zone, width, instant, since, upto FROM step WHERE (since <= instant AND instant < upto) IS NOT TRUE LIMIT 5;
SELECT zone, width, since, upto
FROM (SELECT DISTINCT zone, width, since, upto FROM step) AS s,
     LATERAL (VALUES (since, 0), (upto - interval '1 us', 0), (upto, 1)) AS i (instant, is_next),
     LATERAL _flake_partition_step(width, instant, zone) AS p (first, after)
WHERE CASE is_next WHEN 0 THEN (first, after) IS DISTINCT FROM (since, upto) ELSE first IS DISTINCT FROM upto END
LIMIT 5;
-- They are those of the calendar, and of the same length where the offset stays the same.
SELECT zone, width, since, upto
FROM (SELECT DISTINCT zone, width, since, upto, since AT TIME ZONE zone AS local, upto AT TIME ZONE zone - since AT TIME ZONE zone AS length,
             max(size) AS size FROM step JOIN zone_change USING (zone, ts) GROUP BY 1, 2, 3, 4) AS s
WHERE CASE width WHEN '1 hour' THEN upto - since <> width
                 WHEN '1 day' THEN local - date_trunc('day', local) > size OR length < '1 day' - size OR length > '1 day' + size
                 WHEN '1 week' THEN local - date_trunc('week', local) > size OR length < '7 days' - size OR length > '7 days' + size
                 ELSE local - date_trunc('month', local) > size OR length < '28 days' - size OR length > '31 days' + size END
LIMIT 5;

-- A sample of real ones, made in two calls that meet at an instant of the change: there
-- is no gap, no overlap, and no error.
CREATE FUNCTION partitions_around(zone text, ts timestamptz, size interval, width interval, at timestamptz) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
    layout CONSTANT flake_layout := 'ts:41 shard:13 seq:10 epoch=2004-01-01';
    beginning timestamptz := ts - size - least(width, interval '2 days');
    ending timestamptz := ts + size + least(width, interval '2 days');
    gaps bigint;
BEGIN
    CREATE TEMP TABLE around (id bigint) PARTITION BY RANGE (id);
    PERFORM flake_create_partitions('around', width, at, ending, layout, zone);
    PERFORM flake_create_partitions('around', width, beginning, at, layout, zone);
    SELECT count(*) FILTER (WHERE p.gap) + (min(p.since) > beginning)::int + (max(p.upto) < ending)::int INTO gaps
    FROM (SELECT q.since, q.upto, q.since <> lag(q.upto) OVER (ORDER BY q.since) AS gap FROM flake_partitions('around', layout) q) AS p;
    DROP TABLE around;
    RETURN nullif(gaps, 0) || ' gaps';
EXCEPTION WHEN OTHERS THEN
    RETURN SQLERRM;
END
$$;
SELECT zone, ts, width, at, problem
FROM ((SELECT * FROM zone_change WHERE size > '2 hours')
      UNION ALL
      (SELECT * FROM zone_change WHERE size <= '2 hours'
       ORDER BY abs(extract(epoch FROM (ts AT TIME ZONE zone)::time - '12:00')) DESC, md5(zone || ts) LIMIT 12)
      UNION ALL
      (SELECT * FROM zone_change WHERE size <= '2 hours' ORDER BY md5(zone || ts) LIMIT 6)) AS c,
     unnest(ARRAY['1 hour', '1 day', '1 week', '1 month']::interval[]) AS width,
     unnest(ARRAY[ts - interval '1 us', ts, ts - size / 2, ts + size / 2]) AS at,
     partitions_around(zone, ts, size, width, at) AS problem
WHERE problem IS NOT NULL
ORDER BY 1, 2, 3, 4 LIMIT 20;
DROP FUNCTION partitions_around;
RESET debug_discard_caches;
RESET timezone;
