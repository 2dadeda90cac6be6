-- Prints the section named by :section as a table in Markdown: a row for each point, a column for
-- each contender.

SELECT format(E'%s%s%s:\n', upper(left(subtitle, 1)), substr(subtitle, 2),
              CASE WHEN EXISTS (SELECT FROM bench.point WHERE section = :'section' AND ratio IS NOT NULL)
                   THEN '; in parentheses, times the floor'
              END)
FROM bench.curve
WHERE section = :'section';

SELECT format(E'| %s | %s |\n|---|%s', x,
              string_agg(regexp_replace(contender, '(\S+\(.*\)|SELECT 1|CACHE \d+)', '`\1`', 'g'),
                         ' | ' ORDER BY series),
              string_agg('---|', '' ORDER BY series))
FROM bench.series
JOIN bench.curve USING (section)
WHERE section = :'section'
GROUP BY x;

SELECT format('| %s | %s |', to_char(x, 'FM999,999,990'),
              string_agg(concat(bench.three_digits(value),
                                ' (' || CASE WHEN contender <> 'floor' THEN round(ratio::numeric, 2) END || ')'),
                         ' | ' ORDER BY series))
FROM (SELECT DISTINCT x FROM bench.point WHERE section = :'section') AS points
CROSS JOIN (SELECT series, contender FROM bench.series WHERE section = :'section') AS columns
LEFT JOIN (SELECT x, contender, value, ratio FROM bench.point WHERE section = :'section') AS cells USING (x, contender)
GROUP BY x
ORDER BY x;

-- With one round all are the same.
SELECT format(E'\nBetween rounds a figure differs by a factor of %s at most (%s at %s).',
              round(spread::numeric, 2), contender, to_char(x, 'FM999,999,990'))
FROM bench.point
WHERE section = :'section' AND spread > 1
ORDER BY spread DESC
LIMIT 1;

SELECT '';
