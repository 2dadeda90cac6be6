-- A place for what a benchmark measures, for what that is compared with, and for its bars.

-- One row for each value measured; position keeps them in order.
CREATE TABLE bench.measured (
    position  int GENERATED ALWAYS AS IDENTITY,
    section   text NOT NULL,
    contender text NOT NULL,
    clients   int NOT NULL,
    unit      text NOT NULL,
    value     float8 NOT NULL
);

-- What a section's rows are compared with.
CREATE TABLE bench.base (section text, unit text, contender text);

CREATE TABLE bench.bar (
    position int GENERATED ALWAYS AS IDENTITY,
    name     text,
    measured numeric,
    low      numeric,
    high     numeric
);

CREATE VIEW bench.summary AS
WITH median AS (
    SELECT section, contender, clients, unit,
           min(position) AS position,
           percentile_cont(0.5) WITHIN GROUP (ORDER BY value) AS median,
           min(value) AS min,
           max(value) AS max
    FROM bench.measured
    GROUP BY section, contender, clients, unit
)
SELECT m.position, m.section, m.contender, m.clients, m.unit,
       m.median, m.min, m.max,
       b.contender AS ratio_to, m.median / nullif(of_base.median, 0) AS ratio
FROM median m
LEFT JOIN bench.base b USING (section, unit)
LEFT JOIN median of_base
       ON (of_base.section, of_base.contender, of_base.clients, of_base.unit) =
          (m.section, b.contender, m.clients, m.unit);

-- To four significant digits, but without rounding what is before the point.
CREATE FUNCTION bench.rounded(value float8) RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT
RETURN round(value::numeric,
             CASE WHEN value = 0 THEN 0
                  ELSE greatest(0, 3 - floor(log(abs(value::numeric)))::int)
             END);

CREATE FUNCTION bench.median(of_section text, of_contender text,
                             of_clients int DEFAULT 1, of_unit text DEFAULT 'ms')
RETURNS numeric
LANGUAGE sql STABLE
RETURN (SELECT median::numeric
        FROM bench.summary
        WHERE (section, contender, clients, unit) =
              (of_section, of_contender, of_clients, of_unit));

CREATE VIEW bench.result AS
SELECT section, contender, clients, unit,
       bench.rounded(median) AS median, bench.rounded(min) AS min,
       bench.rounded(max) AS max, ratio_to, round(ratio::numeric, 3) AS ratio
FROM bench.summary
ORDER BY position;
