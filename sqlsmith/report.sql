-- What came of it: from the server's log, and from its counts of function calls.

\pset footer off
SET client_min_messages = warning;

CREATE TABLE log (line jsonb);
-- A line is taken as it is.
COPY log FROM :'log' (FORMAT csv, DELIMITER E'\x02', QUOTE E'\x01');

CREATE VIEW errors AS
SELECT l.*, file_name = ANY (string_to_array(:'files', ' ')) OR concat(message, context) ~ 'flake' AS ours
FROM log, jsonb_to_record(line) AS l (error_severity text, state_code text, message text, detail text, context text, func_name text,
                                      file_name text, file_line_num int, statement text);

\echo
\echo Errors
SELECT e.state_code AS code, count(*) AS queries, count(*) FILTER (WHERE ours) AS "about flakeid",
       min(left(message, 60)) AS "for example"
FROM errors e WHERE error_severity = 'ERROR' GROUP BY 1 ORDER BY 2 DESC;

\echo Internal errors and worse
SELECT state_code AS code, concat_ws(': ', message, detail) AS message, func_name || ', ' || file_name || ':' || file_line_num AS place, count(*), min(statement) AS "for example"
FROM errors WHERE error_severity = 'PANIC' OR state_code LIKE 'XX%' OR message LIKE '%terminated by signal%'
GROUP BY 1, 2, 3 ORDER BY 4 DESC;

CREATE VIEW calls AS
SELECT p.oid::regprocedure AS function, coalesce(calls, 0) AS calls
FROM pg_proc p LEFT JOIN pg_stat_user_functions f ON f.funcid = p.oid
WHERE p.pronamespace = 'public'::regnamespace
  -- but for what SQL cannot call, and what the planner replaces by what it stands for
  AND p.proname <> 'flake_between'
  AND p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
  AND NOT 'internal'::regtype = ANY (p.proargtypes);

\echo Calls of the functions of flakeid (those that ended in an error are not counted)
SELECT count(*) AS functions, sum(calls) AS calls, min(calls) AS "of one at least" FROM calls;
SELECT function, calls FROM calls ORDER BY calls LIMIT 5;

SELECT set_config('smith.queries', :'queries', false) \g /dev/null
DO $$
DECLARE
    bad int;
    uncalled text;
BEGIN
    SELECT count(*) INTO bad FROM errors
    WHERE error_severity = 'PANIC' OR message LIKE '%terminated by signal%' OR state_code LIKE 'XX%' AND ours;
    SELECT string_agg(function::text, ', ') INTO uncalled FROM calls WHERE calls = 0;
    IF bad > 0 THEN
        RAISE EXCEPTION 'crashes, and internal errors from flakeid: %', bad;
    ELSIF current_setting('smith.queries')::bigint >= 100000 AND uncalled IS NOT NULL THEN
        RAISE EXCEPTION 'never called without an error: %', uncalled;
    END IF;
END
$$;
