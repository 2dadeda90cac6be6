-- Prints where a contender's distance from the floor changes by a fifth or more from one point to
-- the next.

WITH step AS (
    SELECT position, section, contender, x, ratio,
           lag(x) OVER w AS x_before,
           ratio / lag(ratio) OVER w AS change
    FROM bench.point
    WHERE contender <> 'floor'
    WINDOW w AS (PARTITION BY section, contender ORDER BY x)
)
SELECT section, contender, x_before AS "from", x AS "to", round(change::numeric, 2) AS "x"
FROM step
WHERE change NOT BETWEEN 1 / 1.2 AND 1.2
ORDER BY section, contender, x;
