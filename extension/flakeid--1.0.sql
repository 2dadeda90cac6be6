/* extension/flakeid--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION flakeid" to load this file. \quit


-- The names of operators are qualified where an argument needs a cast, so that
-- no operator in the extension's schema can take their place.


-- The default generator
--
-- last_value is the horizon, a bound of what was handed out; see
-- src/horizon.c.  The increment is such that nextval() fails.

CREATE SEQUENCE @extschema@.flake_default AS bigint
    MINVALUE 1 MAXVALUE 9223372036854775807
    INCREMENT 9223372036854775807 NO CYCLE;

COMMENT ON SEQUENCE @extschema@.flake_default IS
'flakeid''s default generator: last_value is a bound of every id handed out, as time ticks << 10 | sequence; nextval() is not for it';


-- Mint

CREATE FUNCTION @extschema@.flake_id(shard int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_id'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_id(int) IS
'next id of a logical shard (0 to 8191); waits up to flakeid.max_wait if ids are too far ahead of the clock; errors: 22003 shard out of range or lifetime over, 25006 read-only, 42501 no USAGE on the generator, 53400 clock too far behind';

CREATE FUNCTION @extschema@.flake_id()
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_id_of_setting'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_id() IS
'next id of the logical shard named by the setting flakeid.shard; errors: 55000 if that is not set, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_ids(shard int, count int)
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'flake_ids'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_ids(int, int) IS
'the next so many ids of a logical shard, ascending and claimed in one step; none for 0; errors: 22023 if negative, 53400 if more than flakeid.max_ahead allows at once, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_sibling(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_sibling'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_sibling(bigint) IS
'next id of the logical shard that an existing id is of, for a row that belongs beside it; errors: those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_last_id()
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_last_id'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_last_id() IS
'the id that this session minted last, its parallel workers not counted; error: 55000 if there is none';


-- Look inside

CREATE FUNCTION @extschema@.flake_timestamp(id bigint)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'flake_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_timestamp(bigint) IS
'when an id was minted, to the millisecond';

CREATE FUNCTION @extschema@.flake_shard(id bigint)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_of'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard(bigint) IS
'the logical shard of an id (0 to 8191)';

CREATE FUNCTION @extschema@.flake_sequence(id bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_sequence'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_sequence(bigint) IS
'the sequence number of an id within its millisecond (0 to 1023)';

CREATE FUNCTION @extschema@.flake_decode(id bigint,
    OUT ts timestamptz, OUT shard int, OUT sequence bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_decode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_decode(bigint) IS
'the parts of an id: when it was minted, its logical shard, its sequence number';

CREATE FUNCTION @extschema@.flake_explain(id bigint)
RETURNS text
AS 'MODULE_PATHNAME', 'flake_explain'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_explain(bigint) IS
'an id drawn as its bit fields, to read in psql: names and widths, bits, numbers, and the time in UTC';

CREATE FUNCTION @extschema@.flake_make(ts timestamptz, shard int, sequence bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_make'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_make(timestamptz, int, bigint) IS
'an id composed of its parts, for backfills and tests: nothing keeps it from being equal to another; error: 22003 for a part that an id cannot hold';

CREATE FUNCTION @extschema@.flake_floor(ts timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_floor'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_floor(timestamptz) IS
'the smallest id of the millisecond that contains an instant; past the ends of the lifetime, infinity included, the smallest or largest id of all';

CREATE FUNCTION @extschema@.flake_ceil(ts timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_ceil'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_ceil(timestamptz) IS
'the largest id of the millisecond that contains an instant; past the ends of the lifetime, infinity included, the smallest or largest id of all';

CREATE FUNCTION @extschema@.flake_lower(since timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_lower'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_lower(timestamptz) IS
'the smallest id whose time is at or after an instant: the lower bound in flake_between()';

CREATE FUNCTION @extschema@.flake_upper(upto timestamptz)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_upper'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_upper(timestamptz) IS
'the largest id whose time is before an instant: the upper bound in flake_between()';

-- Not STRICT: the planner inlines no strict function whose body has an AND.
CREATE FUNCTION @extschema@.flake_between(id bigint, since timestamptz, upto timestamptz)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= @extschema@.flake_lower(since) AND id <= @extschema@.flake_upper(upto);

COMMENT ON FUNCTION @extschema@.flake_between(bigint, timestamptz, timestamptz) IS
'whether since <= time of id < upto; the planner turns it into a plain range on id, which an index on id serves and partitions are pruned by';

-- The horizon starts at the present, not at the epoch: should the clock be
-- set back later, ids will not go back into the time before this extension.
-- Claiming no ids writes it to the sequence in the form that setval() cannot
-- lower, and past what a flakeid that was dropped just now had handed out.
SELECT pg_catalog.setval('@extschema@.flake_default', greatest(1023,
    (@extschema@.flake_ceil(pg_catalog.clock_timestamp()) >> 23 << 10)
    OPERATOR(pg_catalog.+) 1023), true);
SELECT @extschema@.flake_ids(0, 0);

-- Anybody may mint, until USAGE is revoked from PUBLIC.  Whoever created the
-- extension may save and restore the horizon with pg_dump.
GRANT USAGE ON SEQUENCE @extschema@.flake_default TO PUBLIC;
GRANT SELECT, UPDATE ON SEQUENCE @extschema@.flake_default TO @extowner@;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_default', '');


-- Watch

CREATE FUNCTION @extschema@.flake_stat_slots(
    OUT generator oid, OUT shard int, OUT issued bigint, OUT last_id bigint,
    OUT waits bigint, OUT wait_us bigint, OUT clock_steps_back bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_stat_slots'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_stat_slots() IS
'the numbers behind the view flake_stat; generator 0 is flake_default, wait_us is in microseconds';

CREATE VIEW @extschema@.flake_stat AS
SELECT CASE WHEN s.generator = 0::pg_catalog.oid
            THEN '@extschema@.flake_default'::pg_catalog.regclass
            ELSE s.generator::pg_catalog.regclass
       END AS generator,
       s.shard,
       s.issued,
       s.last_id,
       @extschema@.flake_timestamp(s.last_id) AS last_time,
       greatest(@extschema@.flake_timestamp(s.last_id) - pg_catalog.clock_timestamp(),
                interval '0') AS ahead,
       s.waits,
       s.wait_us OPERATOR(pg_catalog.*) interval '1 microsecond' AS wait_time,
       s.clock_steps_back
FROM @extschema@.flake_stat_slots() s;

COMMENT ON VIEW @extschema@.flake_stat IS
'what was minted in this database since the server started or flake_stat_reset(), by generator and shard';
COMMENT ON COLUMN @extschema@.flake_stat.generator IS 'the generator''s sequence';
COMMENT ON COLUMN @extschema@.flake_stat.shard IS 'logical shard';
COMMENT ON COLUMN @extschema@.flake_stat.issued IS 'ids handed out';
COMMENT ON COLUMN @extschema@.flake_stat.last_id IS 'the id handed out last';
COMMENT ON COLUMN @extschema@.flake_stat.last_time IS 'the time in last_id';
COMMENT ON COLUMN @extschema@.flake_stat.ahead IS 'how far last_time is ahead of the clock now; 0 if it is not';
COMMENT ON COLUMN @extschema@.flake_stat.waits IS 'times that a caller had to wait for the clock';
COMMENT ON COLUMN @extschema@.flake_stat.wait_time IS 'how long callers waited, in all';
COMMENT ON COLUMN @extschema@.flake_stat.clock_steps_back IS 'times that the clock was seen 10 ms or more behind an earlier reading';

CREATE FUNCTION @extschema@.flake_stat_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'flake_stat_reset'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_stat_reset() IS
'sets the counters in flake_stat to zero, for this database';

REVOKE ALL ON FUNCTION @extschema@.flake_stat_slots() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.flake_stat_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.flake_stat_slots() TO pg_monitor, @extowner@;
GRANT EXECUTE ON FUNCTION @extschema@.flake_stat_reset() TO @extowner@;
GRANT SELECT ON @extschema@.flake_stat TO pg_monitor, @extowner@;
