--
-- The end of a layout's time, and layouts that use all bits of an id, so that
-- nothing may wrap there.
--
SET timezone = 'UTC';

-- a layout whose time ends so long from now
CREATE FUNCTION ending(fields text, unit interval, ticks numeric, rest interval) RETURNS flake_layout
LANGUAGE sql AS $$
    SELECT format('%s epoch=%s unit=%sus', fields,
                  to_char(clock_timestamp() + rest - (ticks * extract(epoch FROM unit) || ' s')::interval,
                          'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'),
                  (extract(epoch FROM unit) * 1000000)::bigint)::flake_layout
$$;

-- 2^31 ids take 4.2 s or 2.05 s of these: less than is left at first, more than is
-- left after two seconds
CREATE TABLE ending AS
SELECT row_number() OVER () AS i, * FROM (VALUES
    ('ts:54 seq:9', interval '1 us', 2::numeric ^ 54, interval '5 s'),
    ('ts:55 seq:9', interval '1 us', 2::numeric ^ 54, interval '5 s'),
    ('ts:43 seq:20', interval '1 ms', 2::numeric ^ 43, interval '3.5 s'),
    ('ts:44 seq:20', interval '1 ms', 2::numeric ^ 43, interval '3.5 s'),
    ('ts:53 shard:1 seq:9', interval '1 us', 2::numeric ^ 53, interval '5 s')
) AS v (fields, unit, ticks, rest);
SELECT fields, flake_id(0, flake_create_generator('ending_' || i, ending(fields, unit, ticks, rest))) > 0 AS id
FROM ending ORDER BY i;
-- time that has not begun: nothing is used up
SELECT flake_create_generator('beginning', ending('ts:20 seq:40 start=zero', '1 h', -(2::numeric ^ 20), '1.9 s'));
SELECT code FROM attempt($$SELECT flake_id(0, 'beginning')$$);
SELECT pg_sleep(2);
SELECT fields, (attempt(format('SELECT flake_ids(0, 2147483647, %L) LIMIT 1', 'ending_' || i))).code
FROM ending ORDER BY i;
SELECT flake_last_id() > 0 AS "no id is negative";
SELECT flake_sequence(flake_id(0, 'beginning'), flake_layout_of('beginning'));

-- one tick for all, of 2^63 sequence numbers: no more is handed out than reserved
SELECT flake_create_generator('one_tick', ending('ts:1 seq:63', '9 s', 1, '8 s'));
SELECT flake_id(0, 'one_tick') <= flake_horizon('one_tick') AS covered;

-- numbers, of which the last ones are left
SELECT flake_create_generator('numbers', 'seq:63 block=1000000000');
SELECT setval('numbers', 9223372036854775804, false);
SELECT code FROM attempt($$SELECT * FROM flake_ids(0, 5, 'numbers')$$);
SELECT code FROM attempt($$SELECT flake_ids(0, 2147483647, 'numbers') LIMIT 1$$);
SELECT * FROM flake_ids(0, 3, 'numbers');
SELECT flake_id(0, 'numbers');
SELECT code, message FROM attempt($$SELECT flake_id(0, 'numbers')$$);
SELECT flake_horizon('numbers');

DROP TABLE ending;
DROP FUNCTION ending;
DROP SEQUENCE ending_1, ending_2, ending_3, ending_4, ending_5, beginning, one_tick, numbers;

-- nor below it: setval() to where no id of the layout is
SELECT flake_create_generator('neg', 'shard:4 seq:10');
ALTER SEQUENCE neg MINVALUE -9223372036854775808;
SELECT setval('neg', -(1::bigint << 60) + 9);
SELECT flake_id(3, 'neg');
ALTER SEQUENCE neg MINVALUE 1 RESTART;
SELECT flake_id(3, 'neg') AS a, flake_id(3, 'neg') AS b \gset
SELECT setval('neg', 9);
ALTER SEQUENCE neg RESTART WITH 10;
SELECT flake_id(3, 'neg') > :b AS greater, :b > :a AS greater;
DROP SEQUENCE neg;
