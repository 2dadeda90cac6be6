-- Prints what bench.measured has come to: a table for each section, then the bars of
-- bench.bar. Writes the tables to the file named by :results, too, as CSV.

\pset footer off
SELECT format('SELECT contender AS %I, %s bench.rounded(median) AS median,
                      bench.rounded(min) AS min, bench.rounded(max) AS max %s
               FROM bench.summary
               WHERE section = %L AND unit = %L
               ORDER BY clients, position',
              section || ', ' || unit,
              CASE WHEN max(clients) > 1 THEN 'clients,' END,
              ', round(ratio::numeric, 2) AS ' || quote_ident('x ' || max(ratio_to)),
              section, unit)
FROM bench.summary
GROUP BY section, unit
ORDER BY min(position)
\gexec

SELECT name AS bar, bench.rounded(measured) AS measured,
       CASE WHEN measured >= low OR measured <= high THEN 'met'
            ELSE 'not met'
       END AS result
FROM bench.bar
ORDER BY position;

\pset format csv
\o :results
TABLE bench.result;
\o
\pset format aligned
