-- Writes the section named by :section for curve.gnuplot, with tabs: to :points the number of the
-- series, x and the value; to :series its colour, 1 if it is dashed, and its name.

\pset format csv
\pset csv_fieldsep '\t'
\pset tuples_only on
\o :points
SELECT series, x, value
FROM bench.point
JOIN bench.series USING (section, contender)
WHERE section = :'section'
ORDER BY series, x;
\o :series
SELECT CASE
           WHEN contender = 'floor' THEN '0x57606a'
           WHEN contender IN ('no function', 'SELECT 1') THEN '0x24292f'
           WHEN contender ~ 'a shard each|one database|flake_id.*preloaded|flake_uuidv7' THEN '0x003f7d'
           WHEN contender ~ '^flake' THEN '0x0072b2'
           WHEN contender ~ 'CACHE 1' THEN '0xa84300'
           WHEN contender ~ '^pgEdge' THEN '0x8c3d70'
           WHEN contender ~ '^gen_random|pg_current_snapshot' THEN '0x00704f'
           ELSE '0x8a5a00'
       END,
       (contender IN ('floor', 'no function', 'SELECT 1') OR contender ~ 'preloaded')::int,
       contender
FROM bench.series
WHERE section = :'section'
ORDER BY series;
\o
