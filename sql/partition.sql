--
-- Partitions by time, on the id
--
SET timezone = 'Europe/Berlin';
SET datestyle = 'ISO';
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT flake_id(1), what text) PARTITION BY RANGE (id);
CREATE FUNCTION partitions(parent regclass, layout flake_layout DEFAULT 'instagram')
RETURNS TABLE (partition regclass, since timestamptz, upto timestamptz) LANGUAGE sql AS
'SELECT partition, since, upto FROM flake_partitions(parent, layout)';

-- months, also of a summer; once more only what is missing
SELECT flake_create_partitions('event', '1 month', '2026-02-15', '2026-05-01');
SELECT flake_create_partitions('event', '1 month', '2026-02-15', '2026-05-01');
SELECT flake_create_partitions('event', '1 month', '2026-01-15', '2026-05-01 00:00:00.001');
SELECT * FROM partitions('event');
SELECT flake_create_partitions('event', '1 month', '2026-05-01', '2026-05-01');
SELECT flake_create_partitions('event', '1 month', '2026-05-02', '2026-05-01');

-- a row goes where its time is, and only that partition is read
INSERT INTO event SELECT flake_make(ts, 1, 0), ts::text
FROM unnest(ARRAY['2026-02-28 23:59:59.999', '2026-03-01', '2026-03-31 23:59:59.999', '2026-04-01']::timestamptz[]) AS ts;
SELECT tableoid::regclass, what FROM event ORDER BY id;
EXPLAIN (COSTS OFF) SELECT count(*) FROM event WHERE flake_between(id, '2026-03-01', '2026-04-01');
EXPLAIN (COSTS OFF) SELECT count(*) FROM event WHERE flake_between(id, '2026-03-31', '2026-04-02');
-- without a look into the rows: all there are of a month
SELECT count(*) FROM event WHERE flake_between(id, '2026-03-01', '2026-04-01');

-- days: each day is a day of the time zone, those of 23 and 25 hours, too
SELECT flake_create_partitions('event', '1 day', '2026-10-24 12:00', '2026-10-27');
SELECT partition, since, upto - since AS width FROM partitions('event') WHERE since > '2026-10-01';
-- hours: each is an hour
SELECT flake_create_partitions('event', '1 hour', '2027-10-31 01:30', '2027-10-31 04:00');
SELECT partition, since, upto - since AS width FROM partitions('event') WHERE since > '2027-10-01';
-- A midnight that comes twice begins the day the second time.  What is between the two
-- is of the day before, also for who begins there.
CREATE TABLE odd (id bigint) PARTITION BY RANGE (id);
SELECT flake_create_partitions('odd', '1 day', '2026-10-25 00:30Z', '2026-10-26 01:00Z', zone => 'Atlantic/Azores');
SELECT flake_create_partitions('odd', '1 month', '2011-12-01 12:00Z', '2011-12-02Z', zone => 'Pacific/Apia');
-- a day that was left out
SELECT flake_create_partitions('odd', '1 day', '2012-01-01Z', '2012-01-01Z', zone => 'Pacific/Apia');
DROP TABLE odd_p201112;
SELECT flake_create_partitions('odd', '1 day', '2011-12-28 12:00Z', '2012-01-01 00:00Z', zone => 'Pacific/Apia');
SELECT flake_create_partitions('odd', '1 day', '2011-12-28 12:00Z', '2012-01-01 00:00Z', zone => 'Pacific/Apia');
SELECT partition, since AT TIME ZONE 'UTC' AS since, upto - since AS width FROM partitions('odd');
-- nothing from an instant to an earlier one, also inside of a step
SELECT flake_create_partitions('odd', '1 month', '2030-05-20', '2030-05-10');
SELECT flake_create_partitions('odd', '1 month', '2030-05-20', '2030-05-20');
SELECT flake_create_partitions('odd', '1 hour', '2030-05-20 00:20:01', '2030-05-20 00:20');
DROP TABLE odd;

-- another time zone, and other steps: weeks from Monday, quarters, years, two weeks, ten minutes
CREATE TABLE other (id bigint DEFAULT flake_id(1)) PARTITION BY RANGE (id);
SELECT flake_create_partitions('other', '1 week', '2026-11-18 10:00', '2026-12-01', zone => 'America/New_York');
SELECT flake_create_partitions('other', '2 weeks', '2027-01-01', '2027-01-20', zone => 'America/New_York');
SELECT flake_create_partitions('other', '3 months', '2027-05-01', '2027-07-02', zone => 'America/New_York');
SELECT flake_create_partitions('other', '1 year', '2028-05-01', '2028-07-02', zone => 'America/New_York');
SELECT flake_create_partitions('other', '10 minutes', '2029-02-01 00:05', '2029-02-01 00:15', zone => 'Asia/Kolkata');
SELECT flake_create_partitions('other', '0.25 seconds', '2029-03-01 00:05', '2029-03-01 00:05:00.3');
SELECT * FROM partitions('other');

-- of another layout
SELECT flake_create_generator('tweet_id', 'snowflake');
CREATE TABLE "a tweet of a table whose name is as long as the name can be ...." (id bigint DEFAULT flake_id(1, 'tweet_id')) PARTITION BY RANGE (id);
SELECT flake_create_partitions('"a tweet of a table whose name is as long as the name can be ..."', '1 day', '2026-11-18', '2026-11-20', flake_layout_of('tweet_id'));
SELECT * FROM partitions('"a tweet of a table whose name is as long as the name can be ..."', 'snowflake');
SELECT flake_create_partitions('"a tweet of a table whose name is as long as the name can be ..."', '1 day', now(), now() + '1 day', 'snowflake') IS NOT NULL AS today;
INSERT INTO "a tweet of a table whose name is as long as the name can be ..." DEFAULT VALUES RETURNING flake_timestamp(id, 'snowflake') BETWEEN now() - interval '1 minute' AND now() + interval '1 minute' AS now;

-- overlaps, also with partitions that have no bounds or that others have made
\x on
SELECT * FROM attempt($$SELECT flake_create_partitions('event', '1 week', '2026-04-29', '2026-05-02')$$);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('event', '1 month', '2026-04-01', '2026-04-02', zone => 'UTC')$$);
CREATE TABLE event_later PARTITION OF event FOR VALUES FROM (8000000000000000000) TO (MAXVALUE);
CREATE TABLE event_before PARTITION OF event FOR VALUES FROM (MINVALUE) TO (-7);
SELECT * FROM attempt($$SELECT flake_create_partitions('event', '1 year', '2041-12-01', '2043-01-01')$$);
SELECT code, detail FROM attempt($$SELECT flake_create_partitions('event', '1 year', '2010-12-01', '2010-12-02')$$);
CREATE TABLE event_default PARTITION OF event DEFAULT;
INSERT INTO event VALUES (flake_make('2026-06-15', 1, 0));
SELECT code FROM attempt($$SELECT flake_create_partitions('event', '1 month', '2026-06-01', '2026-07-01')$$);
\x off
SELECT flake_create_partitions('event', '1 month', '2026-07-01', '2026-08-01');

-- errors, after which there is nothing new
\x on
SELECT * FROM attempt($$SELECT flake_create_partitions('event', '0', now(), now() + '1 day')$$);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('event', '-1 day', now(), now() + '1 day')$$);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('event', '1 month 1 day', now(), now() + '1 day')$$);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('event', '1 day', '-infinity', now())$$);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('event', '1 day', now(), 'infinity')$$);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('event', '1 day', now(), now() + '1 day', zone => 'Europe/Nowhere')$$);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('event', '1 day', now(), now() + '1 day', 'segment')$$);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('other', '1 year', '2045-01-01', '2048-01-01')$$);
SELECT * FROM attempt($$SELECT flake_create_partitions('event_202602', '1 day', now(), now() + '1 day')$$);
SELECT * FROM attempt($$SELECT flake_create_partitions('event_p202602', '1 day', now(), now())$$);
CREATE TABLE listed (id bigint) PARTITION BY LIST (id);
SELECT code, message FROM attempt($$SELECT flake_create_partitions('listed', '1 day', now(), now() + '1 day')$$);
SELECT code, message FROM attempt($$SELECT flake_drop_partitions('listed', now())$$);
SELECT code, message FROM attempt($$SELECT flake_partitions('listed')$$);
\x off
SELECT count(*) FROM flake_partitions('other');

-- retention
SELECT * FROM attempt($$SELECT flake_drop_partitions('event', '2026-04-01', concurrently => true)$$);
DROP TABLE event_default;
SELECT * FROM flake_drop_partitions('event', '2026-04-01', concurrently => true) \gexec
SELECT flake_drop_partitions('event', '2026-05-31');
SELECT flake_drop_partitions('event', '2026-05-31');
SELECT partition FROM partitions('event');
SELECT count(*) FROM flake_drop_partitions('event', '2046-06-27');
SELECT partition FROM partitions('event');
SELECT flake_drop_partitions('event', 'infinity');
SELECT partition FROM partitions('event');
SELECT count(*) FROM event;

-- the last partition has the last id of the lifetime, and ends with that
CREATE TABLE final (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
SELECT flake_create_partitions('final', '1 month', '2046-05-10Z', '2046-06-27Z', zone => 'UTC');
SELECT flake_create_partitions('final', '1 month', '2046-05-10Z', '2046-07-01Z', zone => 'UTC');
INSERT INTO final SELECT flake_make(ends - interval '1 ms', 8191, 1023) FROM flake_layout_info('instagram')
RETURNING tableoid::regclass, id;
SELECT partition, upper_bound, since, upto FROM flake_partitions('final');
SELECT flake_drop_partitions('final', '2046-06-27');
SELECT flake_drop_partitions('final', '2046-07-01', concurrently => true) \gexec
-- one without that id is the same
CREATE TABLE final_older PARTITION OF final FOR VALUES FROM (flake_lower('2046-06-01Z')) TO (9223372036854775807);
SELECT flake_create_partitions('final', '1 month', '2046-06-10Z', '2046-06-27Z', zone => 'UTC');
CREATE TABLE final_id PARTITION OF final FOR VALUES FROM (9223372036854775807) TO (MAXVALUE);
SELECT flake_create_partitions('final', '1 month', '2046-06-10Z', '2046-06-27Z', zone => 'UTC');
SELECT partition, upto = (SELECT ends FROM flake_layout_info('instagram')) AS ends FROM flake_partitions('final');
DROP TABLE final_older;
\x on
SELECT code, message, detail FROM attempt($$SELECT flake_create_partitions('final', '1 month', '2046-06-10Z', '2046-06-27Z', zone => 'UTC')$$);
\x off
DROP TABLE final;
-- of a bound that is no first id of its tick; and of those that are of no time
CREATE TABLE final (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
CREATE TABLE final_a PARTITION OF final FOR VALUES FROM (MINVALUE) TO (-9223372036854775808);
CREATE TABLE final_b PARTITION OF final FOR VALUES FROM (-9223372036854775808) TO (-1);
CREATE TABLE final_c PARTITION OF final FOR VALUES FROM (-1) TO (0);
CREATE TABLE final_d PARTITION OF final FOR VALUES FROM (0) TO (1);
CREATE TABLE final_e PARTITION OF final FOR VALUES FROM (1) TO (1000000);
CREATE TABLE final_f PARTITION OF final FOR VALUES FROM (flake_lower('2026-01-01Z', 'js53')) TO (9223372036854775807);
SELECT partition, since AT TIME ZONE 'UTC' AS since, upto AT TIME ZONE 'UTC' AS upto FROM flake_partitions('final', 'js53');
SELECT partition, since IS NULL AND upto IS NULL AS timeless FROM flake_partitions('final', 'segment');
SELECT flake_create_partitions('final', '1 month', '2024-06-01Z', '2024-07-01Z', 'js53', 'UTC');
SELECT flake_drop_partitions('final', '2024-06-01Z', 'js53');
SELECT partition FROM flake_partitions('final', 'js53');
DROP TABLE final;

-- old partitions may be elsewhere
CREATE FOREIGN DATA WRAPPER flake_elsewhere;
CREATE SERVER flake_elsewhere FOREIGN DATA WRAPPER flake_elsewhere;
CREATE TABLE archived (id bigint) PARTITION BY RANGE (id);
CREATE FOREIGN TABLE archived_2025 PARTITION OF archived
    FOR VALUES FROM (flake_lower('2025-01-01Z')) TO (flake_lower('2026-01-01Z')) SERVER flake_elsewhere;
SELECT flake_drop_partitions('archived', '2026-01-01Z', concurrently => true);
SELECT flake_drop_partitions('archived', '2026-01-01Z');
SELECT count(*) FROM flake_partitions('archived');
DROP FOREIGN DATA WRAPPER flake_elsewhere CASCADE;

-- what foreign keys refer to: not while rows do
CREATE TABLE of_event (event_id bigint REFERENCES event);
SELECT count(*) FROM flake_create_partitions('event', '1 day', '2026-03-01', '2026-03-03');
INSERT INTO event VALUES (flake_make('2026-03-01 12:00', 1, 0));
INSERT INTO of_event SELECT id FROM event;
SELECT code FROM attempt($$SELECT flake_drop_partitions('event', '2026-03-03')$$);
DELETE FROM of_event;
SELECT flake_drop_partitions('event', '2026-03-02');
SELECT * FROM flake_drop_partitions('event', '2026-03-03', concurrently => true) \gexec
SELECT partition FROM partitions('event');
DROP TABLE of_event;

-- who does not own the table
CREATE ROLE flake_stranger;
GRANT ALL ON event TO flake_stranger;
SET ROLE flake_stranger;
SELECT code FROM attempt($$SELECT flake_create_partitions('event', '1 month', '2031-02-15', '2031-05-01')$$);
RESET ROLE;
DROP TABLE event, archived, other, listed, "a tweet of a table whose name is as long as the name can be ...";
DROP ROLE flake_stranger;
DROP SEQUENCE tweet_id;
DROP FUNCTION partitions;
RESET datestyle;
RESET timezone;

-- a name is cut at a number of bytes, not of characters
SET client_min_messages = warning;
SELECT current_database() AS regress_db \gset
CREATE DATABASE flake_regress_utf8 TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C';
\c flake_regress_utf8
SET client_min_messages = warning;
SET client_encoding = 'UTF8';
CREATE EXTENSION flakeid;
CREATE TABLE "события, которые важны для всех" (id bigint) PARTITION BY RANGE (id);
SELECT flake_create_partitions('"события, которые важны для всех"', '1 month', '2026-02-15Z', '2026-05-01Z', zone => 'UTC');
\c :regress_db
DROP DATABASE flake_regress_utf8;
