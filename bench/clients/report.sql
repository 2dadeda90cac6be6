-- What the figures of make bench-clients are compared with, and its bars; prints them.

INSERT INTO bench.base VALUES
    ('C', 'per second', 'flakeid_next, burst'),
    ('Python', 'per second', 'next()'),
    ('Node.js', 'per second', '@flakeid/client tryNext()');

INSERT INTO bench.base
SELECT DISTINCT section, unit, contender
FROM bench.measured
WHERE contender = 'RETURNING, one transaction';

-- What could not be measured has no bar.
INSERT INTO bench.bar (name, measured, low)
SELECT name, measured, low
FROM (VALUES
    ('C, ids per second in a burst, at least 20 million',
     bench.median('C', 'flakeid_next, burst', 1, 'per second'),
     20000000),
    ('C, ids per second sustained, at least 1.0 million',
     bench.median('C', 'flakeid_next, sustained', 1, 'per second'),
     1000000),
    ('Python, ids per second, at least 700,000',
     bench.median('Python', 'next()', 1, 'per second'),
     700000),
    ('Node.js, ids per second, at least 3 million',
     bench.median('Node.js', '@flakeid/client tryNext()', 1, 'per second'),
     3000000)) AS bar (name, measured, low)
WHERE measured IS NOT NULL;

\ir ../print.sql
