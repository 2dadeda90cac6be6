\pset footer off
SELECT r.name AS reader,
       (SELECT count(*) FROM event) AS rows,
       count(s.id) AS read,
       p.lost,
       count(s.id) - count(DISTINCT s.id) AS twice,
       coalesce(bool_and(s.id > s.before), true) AS "in order"
FROM reader r
CROSS JOIN LATERAL progress(r.name) p
LEFT JOIN (SELECT reader, id, lag(id) OVER (PARTITION BY reader ORDER BY n) AS before FROM seen) s ON s.reader = r.name
GROUP BY r.name, p.lost
ORDER BY r.name;
