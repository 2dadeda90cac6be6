-- Look inside

CREATE FUNCTION @extschema@.flake_timestamp(id bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'flake_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_timestamp(bigint, @extschema@.flake_layout) IS
'when an id was minted, to the tick of its layout; null if that has no time; error: 22008 if timestamptz cannot hold it';

CREATE FUNCTION @extschema@.flake_shard(id bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_of'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard(bigint, @extschema@.flake_layout) IS
'the logical shard of an id; one number, also if the layout has it in several parts; error: 22023 for a layout of UUIDs';

CREATE FUNCTION @extschema@.flake_sequence(id bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_sequence'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_sequence(bigint, @extschema@.flake_layout) IS
'the sequence number of an id within its tick';

CREATE FUNCTION @extschema@.flake_decode(id bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram',
    OUT ts timestamptz, OUT shard int, OUT sequence bigint)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_decode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_decode(bigint, @extschema@.flake_layout) IS
'the parts of an id: when it was minted (null if its layout has no time), its logical shard, its sequence number; errors: 22008 if timestamptz cannot hold the time, 22023 for a layout of UUIDs';

CREATE FUNCTION @extschema@.flake_fields(id bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS jsonb
AS 'MODULE_PATHNAME', 'flake_fields'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_fields(bigint, @extschema@.flake_layout) IS
'every field of an id under its own name, ts in ticks since the epoch, and if the layout has time "timestamp", in UTC; errors: 22008 if timestamptz cannot hold that, 22023 for a layout of UUIDs';

CREATE FUNCTION @extschema@.flake_explain(id bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS text
AS 'MODULE_PATHNAME', 'flake_explain'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_explain(bigint, @extschema@.flake_layout) IS
'an id drawn as its bit fields, to read in psql: names and widths, bits, numbers, and the time, if there is one, in UTC; errors: 22008 if timestamptz cannot hold that, 22023 for a layout of UUIDs';

CREATE FUNCTION @extschema@.flake_make(ts timestamptz, shard int, sequence bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_make'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_make(timestamptz, int, bigint, @extschema@.flake_layout) IS
'an id composed of its parts, for backfills and tests: nothing keeps it from being equal to another; errors: 22003 for a part that an id cannot hold, 22023 if the layout has no time or is of UUIDs';

CREATE FUNCTION @extschema@.flake_lower(ts timestamptz,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_lower'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_lower(timestamptz, @extschema@.flake_layout) IS
'the smallest id whose time is at or after an instant: the bounds in flake_between(); past the end of the lifetime one that is greater than all, or 9223372036854775807 where there is none; error: 22023 if the layout has no time';

CREATE FUNCTION @extschema@.flake_upper(ts timestamptz,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_upper'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_upper(timestamptz, @extschema@.flake_layout) IS
'the largest id whose time is an instant or earlier; before the lifetime -9223372036854775808; error: 22023 if the layout has no time';

CREATE FUNCTION @extschema@._flake_floor(ts timestamptz, layout @extschema@.flake_layout)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_floor'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_floor(timestamptz, @extschema@.flake_layout) IS
'the smallest id of the tick that contains an instant, or of those that an instant outside of the lifetime is next to; error: 22023 if the layout has no time';

-- The present tick, and not the next one: an id that is minted now is not below it.
CREATE FUNCTION @extschema@.flake_now_id()
RETURNS bigint
LANGUAGE sql STABLE PARALLEL SAFE
RETURN @extschema@._flake_floor(pg_catalog.now(), 'instagram'::@extschema@.flake_layout);

COMMENT ON FUNCTION @extschema@.flake_now_id() IS
'the smallest id of the tick in which the transaction began, in the default layout: for set_integer_now_func() of TimescaleDB';

CREATE FUNCTION @extschema@.flake_width(duration interval,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_width'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_width(interval, @extschema@.flake_layout) IS
'how many ids wide an interval is, rounded down to whole ticks; a day has 24 hours: for chunks and offsets of TimescaleDB; errors: 22003 if a bigint cannot hold it, 22023 for months and years, for less than a tick, or if the layout has no time';

-- Not STRICT: the planner inlines no strict function whose body has an AND.
CREATE FUNCTION @extschema@.flake_between(id bigint, since timestamptz, upto timestamptz,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= @extschema@.flake_lower(since, layout)
    AND id < @extschema@.flake_lower(upto, layout);

COMMENT ON FUNCTION @extschema@.flake_between(bigint, timestamptz, timestamptz, @extschema@.flake_layout) IS
'whether since <= time of id < upto; the planner turns it into a plain range on id, which an index on id serves and partitions are pruned by; false for ids past the layout''s lifetime, and for 9223372036854775807; error: 22023 if the layout has no time';
