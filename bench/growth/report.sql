-- The curves, and what they are compared with; writes what was measured to the file named by
-- :results, as CSV.

-- In a table and in a picture a value is divided by scale. Names of pictures have no .svg.
CREATE TABLE bench.curve (
    position int GENERATED ALWAYS AS IDENTITY,
    curve    text,
    section  text,
    unit     text,
    x        text,
    scale    float8,
    title    text,
    subtitle text,
    picture  text,
    log_x    bool,
    log_y    bool
);

INSERT INTO bench.curve (curve, section, unit, x, scale, title, subtitle, picture, log_x, log_y) VALUES
    ('clients', 'clients, in bulk', 'ids/s', 'clients', 1e6,
     'Clients', 'millions of ids a second, 10,000 in a statement', 'growth-clients', true, false),
    ('clients', 'clients, a transaction each', 'ids/s', 'clients', 1e3,
     'Clients', 'thousands of ids a second, a transaction for each id', NULL, true, false),
    ('shards', 'shards, one session', 'us a call', 'shards', 1e-3,
     'Shards', 'nanoseconds an id, with the drawing of its shard, one session', 'growth-shards', true, false),
    ('shards', 'shards, 16 sessions', 'ids/s', 'shards', 1e6,
     'Shards', 'millions of ids a second, 16 sessions, 10,000 in a statement', NULL, true, false),
    ('generators', 'generators, one statement', 'us a call', 'generators', 1e-3,
     'Generators', 'nanoseconds an id, with the drawing of its generator, one session', 'growth-generators', true, false),
    ('generators', 'generators, a transaction each', 'ids/s', 'generators', 1e3,
     'Generators', 'thousands of ids a second, a transaction for each id, one session', NULL, true, false),
    ('generators', 'generators, flushes', 'flushes/s', 'generators', 1,
     'Generators', 'WAL flushes a second for horizons, with 1,000 ids a second', NULL, true, false),
    ('databases', 'databases', 'ids/s', 'databases', 1e6,
     'Databases', 'millions of ids a second, a session in each, 10,000 in a statement', 'growth-databases', true, false),
    ('rows', 'rows, insert', 'us a call', 'rows', 1,
     'Rows', 'microseconds to insert a row, from the point before to this one', 'growth-rows-insert', true, true),
    ('rows', 'rows, WAL', 'bytes a row', 'rows', 1,
     'Rows', 'bytes of WAL for a row, from the point before to this one', 'growth-rows-wal', true, true),
    ('rows', 'rows, index', 'bytes a row', 'rows', 1,
     'Rows', 'bytes of the primary key for a row', NULL, true, false),
    ('rows', 'rows, look-up', 'us a call', 'rows', 1,
     'Rows', 'microseconds to look up a row by its key, any row', 'growth-rows-lookup', true, false),
    ('rows', 'rows, look-up of the newest', 'us a call', 'rows', 1,
     'Rows', 'microseconds to look up a row by its key, one of the newest hundredth', NULL, true, false),
    ('connect', 'connect', 'sessions/s', 'clients', 1,
     'A session for each id', 'sessions a second that connect, get one id and go', 'growth-connect', true, false),
    ('settled', 'settled, open transactions', 'us a call', 'open transactions', 1,
     'The bound of what is settled', 'microseconds to ask for it, by transactions that are open and have minted', 'growth-settled', false, false),
    ('settled', 'settled, max_connections', 'us a call', 'max_connections', 1,
     'The bound of what is settled', 'microseconds to ask for it, by max_connections', 'growth-settled-connections', true, false);

INSERT INTO bench.base
SELECT section, unit, 'floor' FROM bench.curve WHERE section <> 'generators, flushes';

-- To three significant digits, but without rounding what is before the point.
CREATE FUNCTION bench.three_digits(value float8) RETURNS text
LANGUAGE sql IMMUTABLE STRICT
RETURN CASE WHEN value >= 1000 THEN to_char(value, 'FM999,999,990')
            WHEN value = 0 THEN '0'
            ELSE round(value::numeric, greatest(0, 2 - floor(log(abs(value::numeric)))::int))::text
       END;

-- What is drawn and printed.
CREATE VIEW bench.point AS
SELECT s.position, section, contender, clients AS x, median / c.scale AS value, ratio,
       s.max / nullif(s.min, 0) AS spread
FROM bench.summary s
JOIN bench.curve c USING (section, unit);

CREATE VIEW bench.series AS
SELECT section, contender, row_number() OVER (PARTITION BY section ORDER BY min(position)) AS series
FROM bench.point
GROUP BY section, contender;

\pset format csv
\o :results
TABLE bench.result;
\o
\pset format aligned
