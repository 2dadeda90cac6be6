/* extension/flakeid--1.0.sql */

-- complain if script is sourced in psql, rather than via CREATE EXTENSION
\echo Use "CREATE EXTENSION flakeid" to load this file. \quit


-- This script may run as superuser in a schema whose owner is not one, and what
-- it makes is called by superusers.  So arguments have exactly the type that a
-- function takes, and operators are qualified where an operand needs a cast:
-- then no function or operator in the schema can take their place.


-- Layouts

CREATE TYPE @extschema@.flake_layout;

CREATE FUNCTION @extschema@._flake_layout_in(cstring)
RETURNS @extschema@.flake_layout
AS 'MODULE_PATHNAME', 'flake_layout_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_in(cstring) IS
'input function of flake_layout';

CREATE FUNCTION @extschema@._flake_layout_out(@extschema@.flake_layout)
RETURNS cstring
AS 'MODULE_PATHNAME', 'flake_layout_out'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_out(@extschema@.flake_layout) IS
'output function of flake_layout';

CREATE FUNCTION @extschema@._flake_layout_recv(internal)
RETURNS @extschema@.flake_layout
AS 'MODULE_PATHNAME', 'flake_layout_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_recv(internal) IS
'binary input function of flake_layout';

CREATE FUNCTION @extschema@._flake_layout_send(@extschema@.flake_layout)
RETURNS bytea
AS 'MODULE_PATHNAME', 'flake_layout_send'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_send(@extschema@.flake_layout) IS
'binary output function of flake_layout';

CREATE TYPE @extschema@.flake_layout (
    INPUT = @extschema@._flake_layout_in,
    OUTPUT = @extschema@._flake_layout_out,
    RECEIVE = @extschema@._flake_layout_recv,
    SEND = @extschema@._flake_layout_send,
    INTERNALLENGTH = 216,
    ALIGNMENT = double
);

COMMENT ON TYPE @extschema@.flake_layout IS
'which bits of an id mean what: fields from the most significant bit down, then options, as in ts:41 shard:13 seq:10 epoch=2011-08-24T21:07:01.721Z unit=1ms start=continue; input also takes the name of a preset (view flake_presets); error: 22P02';

CREATE FUNCTION @extschema@._flake_layout_eq(@extschema@.flake_layout, @extschema@.flake_layout)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_layout_eq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_eq(@extschema@.flake_layout, @extschema@.flake_layout) IS
'implementation of = operator';

CREATE FUNCTION @extschema@._flake_layout_ne(@extschema@.flake_layout, @extschema@.flake_layout)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_layout_ne'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_ne(@extschema@.flake_layout, @extschema@.flake_layout) IS
'implementation of <> operator';

CREATE FUNCTION @extschema@._flake_layout_hash(@extschema@.flake_layout)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_layout_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_hash(@extschema@.flake_layout) IS
'hash of a layout, for GROUP BY and joins';

CREATE OPERATOR @extschema@.= (
    LEFTARG = @extschema@.flake_layout,
    RIGHTARG = @extschema@.flake_layout,
    FUNCTION = @extschema@._flake_layout_eq,
    COMMUTATOR = OPERATOR(@extschema@.=),
    NEGATOR = OPERATOR(@extschema@.<>),
    RESTRICT = eqsel,
    JOIN = eqjoinsel,
    HASHES
);

CREATE OPERATOR @extschema@.<> (
    LEFTARG = @extschema@.flake_layout,
    RIGHTARG = @extschema@.flake_layout,
    FUNCTION = @extschema@._flake_layout_ne,
    COMMUTATOR = OPERATOR(@extschema@.<>),
    NEGATOR = OPERATOR(@extschema@.=),
    RESTRICT = neqsel,
    JOIN = neqjoinsel
);

CREATE OPERATOR CLASS @extschema@.flake_layout_ops
DEFAULT FOR TYPE @extschema@.flake_layout USING hash AS
    OPERATOR 1 @extschema@.=,
    FUNCTION 1 @extschema@._flake_layout_hash(@extschema@.flake_layout);

CREATE FUNCTION @extschema@.flake_layout_info(layout @extschema@.flake_layout,
    OUT shards bigint, OUT ids_per_tick numeric, OUT ids_per_second numeric,
    OUT starts timestamptz, OUT ends timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_layout_info'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_layout_info(@extschema@.flake_layout) IS
'what a layout has room for: shards, ids of one shard in a tick and in a second, and the time of its first id and past its last (before the epoch ids are negative); without time all but shards are null';

CREATE FUNCTION @extschema@.flake_layout_above(layout @extschema@.flake_layout,
    id bigint, reserve interval DEFAULT '1 day')
RETURNS @extschema@.flake_layout
AS 'MODULE_PATHNAME', 'flake_layout_above'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_layout_above(@extschema@.flake_layout, bigint, interval) IS
'the same layout with its epoch moved so that ids minted from now on exceed an id by so much time; unchanged if they do already and the layout''s lifetime is not over; errors: 22003 if no epoch does it, 22008 if the reserve is too long, 22023 if the layout has no time or the reserve is negative';

CREATE FUNCTION @extschema@.flake_shard_number(layout @extschema@.flake_layout,
    VARIADIC parts int[])
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_number'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard_number(@extschema@.flake_layout, int[]) IS
'a shard number put together from its parts, the most significant first, as in flake_shard_number(''snowflake'', datacenter, worker); errors: 22003 for a part out of range, 22004 for null, 22023 for the wrong number of parts';

CREATE FUNCTION @extschema@._flake_layout_preset_list(
    OUT name text, OUT layout @extschema@.flake_layout, OUT origin text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_layout_preset_list'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 13;

COMMENT ON FUNCTION @extschema@._flake_layout_preset_list() IS
'the presets behind the view flake_presets';

CREATE VIEW @extschema@.flake_presets AS
SELECT p.name, p.layout, i.shards, i.ids_per_second, i.starts, i.ends, p.origin
FROM @extschema@._flake_layout_preset_list() p,
     @extschema@.flake_layout_info(p.layout) i;

COMMENT ON VIEW @extschema@.flake_presets IS
'published layouts, which flake_layout takes by name';
COMMENT ON COLUMN @extschema@.flake_presets.name IS 'what to write for the layout';
COMMENT ON COLUMN @extschema@.flake_presets.layout IS 'the layout in full';
COMMENT ON COLUMN @extschema@.flake_presets.shards IS 'how many shard numbers there are';
COMMENT ON COLUMN @extschema@.flake_presets.ids_per_second IS 'how many ids a second one shard has; null without time';
COMMENT ON COLUMN @extschema@.flake_presets.starts IS 'the time of the first id; before the epoch ids are negative; null without time';
COMMENT ON COLUMN @extschema@.flake_presets.ends IS 'when the time field is used up; null without time';
COMMENT ON COLUMN @extschema@.flake_presets.origin IS 'whose layout it is, and where it is published';

GRANT SELECT ON @extschema@.flake_presets TO PUBLIC;


-- The extension's own generators
--
-- last_value is the horizon, a bound of what was handed out; see
-- src/horizon.c.  The bounds are those of the layout's lifetime, and the
-- increment is such that nextval() fails.

CREATE SEQUENCE @extschema@.flake_default AS bigint
    INCREMENT 9223372036854775807
    MINVALUE -1125899906842625 MAXVALUE 1125899906842623 NO CYCLE;

COMMENT ON SEQUENCE @extschema@.flake_default IS
'flakeid''s default generator: last_value is a bound of every id handed out, as time ticks << 10 | sequence; nextval() is not for it';

CREATE SEQUENCE @extschema@.flake_default_uuid AS bigint
    INCREMENT 9223372036854775807
    MINVALUE 1 MAXVALUE 9223372036854775807 NO CYCLE;

COMMENT ON SEQUENCE @extschema@.flake_default_uuid IS
'the generator of flake_uuid(): last_value is a bound of what was handed out, as milliseconds since 1970 << 16 | sequence';

CREATE SEQUENCE @extschema@.flake_default_objectid AS bigint
    INCREMENT 9223372036854775807
    MINVALUE -1 MAXVALUE 72057594037927935 NO CYCLE;

COMMENT ON SEQUENCE @extschema@.flake_default_objectid IS
'the generator of flake_objectid(): last_value is a bound of what was handed out, as seconds since 1970 << 24 | counter';

-- Anybody may mint, until USAGE is revoked from PUBLIC; the role that created the
-- extension may afterwards, and may save and restore the horizons with pg_dump.
GRANT USAGE ON SEQUENCE @extschema@.flake_default, @extschema@.flake_default_uuid,
    @extschema@.flake_default_objectid TO PUBLIC;
GRANT ALL ON SEQUENCE @extschema@.flake_default, @extschema@.flake_default_uuid,
    @extschema@.flake_default_objectid TO @extowner@;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_default', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_default_uuid', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_default_objectid', '');


-- Mint

CREATE FUNCTION @extschema@.flake_id(shard int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_id'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_id(int) IS
'next id of a logical shard (0 to 8191); waits up to flakeid.max_wait if ids are too far ahead of the clock; errors: 22003 shard out of range or lifetime over, 25000 in a parallel worker, 25006 read-only, 42501 no USAGE on the generator, 53200 or 53100 shared memory is used up, 53400 clock too far behind, 55000 the shard is detached or leased, or not attached with flakeid.require_attach';

CREATE FUNCTION @extschema@.flake_id()
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_id_of_setting'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_id() IS
'next id of the logical shard named by the setting flakeid.shard; errors: 55000 if that is not set, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_id(shard int, generator regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_id_of_generator'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_id(int, regclass) IS
'next id of a logical shard from a generator made by flake_create_generator(); errors: 42809 if it is no generator, 42P01 if it has been dropped, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_ids(shard int, count int,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'flake_ids'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_ids(int, int, regclass) IS
'the next so many ids of a logical shard, ascending and claimed in one step; none for 0; errors: 22023 if negative, 53400 if more than flakeid.max_ahead allows at once, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_sibling(id bigint,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_sibling'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_sibling(bigint, regclass) IS
'next id of the logical shard that an existing id of the generator is of, for a row that belongs beside it; errors: those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_last_id()
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_last_id'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_last_id() IS
'the id that this session minted last, wide ids not counted; error: 55000 if there is none';


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
'the logical shard of an id; one number, also if the layout has it in several parts';

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
'the parts of an id: when it was minted (null if its layout has no time), its logical shard, its sequence number; error: 22008 if timestamptz cannot hold the time';

CREATE FUNCTION @extschema@.flake_fields(id bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS jsonb
AS 'MODULE_PATHNAME', 'flake_fields'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_fields(bigint, @extschema@.flake_layout) IS
'every field of an id under its own name, ts in ticks since the epoch, and if the layout has time "timestamp", in UTC; error: 22008 if timestamptz cannot hold that';

CREATE FUNCTION @extschema@.flake_explain(id bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS text
AS 'MODULE_PATHNAME', 'flake_explain'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_explain(bigint, @extschema@.flake_layout) IS
'an id drawn as its bit fields, to read in psql: names and widths, bits, numbers, and the time, if there is one, in UTC; error: 22008 if timestamptz cannot hold that';

CREATE FUNCTION @extschema@.flake_make(ts timestamptz, shard int, sequence bigint,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_make'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_make(timestamptz, int, bigint, @extschema@.flake_layout) IS
'an id composed of its parts, for backfills and tests: nothing keeps it from being equal to another; errors: 22003 for a part that an id cannot hold, 22023 if the layout has no time';

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

-- Not STRICT: the planner inlines no strict function whose body has an AND.
CREATE FUNCTION @extschema@.flake_between(id bigint, since timestamptz, upto timestamptz,
    layout @extschema@.flake_layout DEFAULT 'instagram')
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= @extschema@.flake_lower(since, layout)
    AND id < @extschema@.flake_lower(upto, layout);

COMMENT ON FUNCTION @extschema@.flake_between(bigint, timestamptz, timestamptz, @extschema@.flake_layout) IS
'whether since <= time of id < upto; the planner turns it into a plain range on id, which an index on id serves and partitions are pruned by; false for ids past the layout''s lifetime, and for 9223372036854775807; error: 22023 if the layout has no time';


-- Wide ids

CREATE FUNCTION @extschema@.flake_uuid()
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_uuid'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_uuid() IS
'next 128-bit id as Boundary''s flake: 64 bits of milliseconds since 1970, 48 of worker (setting flakeid.worker), 16 of sequence; unique over all databases of the server while it runs, over restarts in each database; errors: 22003 lifetime over, 25000 in a parallel worker, 25006 read-only, 42501 no USAGE on flake_default_uuid, 53200 or 53100 shared memory is used up, 53400 clock too far behind, 55000 no worker, or a change to the generator is not committed';

CREATE FUNCTION @extschema@.flake_uuid_decode(id uuid,
    OUT ts timestamptz, OUT worker macaddr, OUT sequence int)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_uuid_decode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_uuid_decode(uuid) IS
'the parts of a UUID that flake_uuid() minted; error: 22008 if its time is out of range, as that of most other UUIDs';

CREATE FUNCTION @extschema@.flake_uuid_to_text(id uuid, base int DEFAULT 62)
RETURNS text
AS 'MODULE_PATHNAME', 'flake_uuid_to_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_uuid_to_text(uuid, int) IS
'a UUID in base 16, 32 (Crockford), 58 (Bitcoin) or 62 (0-9A-Za-z), always 32, 26, 22 or 22 characters, which sort in C collation as UUIDs do; error: 22023 for another base';

CREATE FUNCTION @extschema@.flake_uuid_from_text(id text, base int DEFAULT 62)
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_uuid_from_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_uuid_from_text(text, int) IS
'the UUID of a text that flake_uuid_to_text() wrote, also without zeros at the beginning; errors: 22023 for another base, 22P02 for anything else';

CREATE FUNCTION @extschema@.flake_objectid()
RETURNS text
AS 'MODULE_PATHNAME', 'flake_objectid'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_objectid() IS
'next 96-bit id as MongoDB''s ObjectID, in 24 hexadecimal digits: 4 bytes of seconds since 1970, 5 drawn at random at server start, 3 of counter; errors: 22003 lifetime over, 25000 in a parallel worker, 25006 read-only, 42501 no USAGE on flake_default_objectid, 53200 or 53100 shared memory is used up, 53400 clock too far behind, 55000 a change to the generator is not committed';

CREATE FUNCTION @extschema@.flake_objectid_timestamp(id text)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'flake_objectid_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_objectid_timestamp(text) IS
'when an ObjectID was minted, to the second; error: 22P02 if it is not 24 hexadecimal digits';


-- Generators

CREATE FUNCTION @extschema@.flake_create_generator(name text,
    layout @extschema@.flake_layout DEFAULT 'instagram',
    after bigint DEFAULT NULL)
RETURNS regclass
AS 'MODULE_PATHNAME', 'flake_create_generator'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_create_generator(text, @extschema@.flake_layout, bigint) IS
'creates a generator, which is a sequence, with a layout; its first id exceeds after; DROP SEQUENCE drops it; errors: those of CREATE SEQUENCE, such as 42P07 the name is taken, 42501 no CREATE on the schema, 3F000 no such schema, 42601 or 42602 not a name, and 22003 or 22023 if no id of the layout exceeds after at all or at present, 22004 for null, 25006 read-only, 42809 in a schema for temporary objects, 0A000 or 55000 if an event trigger has changed the sequence';

CREATE FUNCTION @extschema@.flake_layout_of(generator regclass)
RETURNS @extschema@.flake_layout
AS 'MODULE_PATHNAME', 'flake_layout_of'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_layout_of(regclass) IS
'the layout of a generator; errors: 42P01 if it does not exist, 42809 if it is no generator';

CREATE FUNCTION @extschema@.flake_horizon(generator regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_horizon'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_horizon(regclass) IS
'a bound of every id that a generator has handed out, as it is on disk; null if there is none yet, or with neither SELECT nor USAGE on the generator, and if it is no generator (any more)';

CREATE FUNCTION @extschema@.flake_horizon_time(generator regclass)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'flake_horizon_time'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_horizon_time(regclass) IS
'the time in flake_horizon(); null where that is null, if the generator has no time, and if timestamptz cannot hold it';

CREATE FUNCTION @extschema@.flake_columns(
    generator regclass DEFAULT '@extschema@.flake_default',
    OUT relation regclass, OUT attribute name)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_columns'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_columns(regclass) IS
'the columns that take their default from a generator, or own it (ALTER SEQUENCE ... OWNED BY)';

CREATE FUNCTION @extschema@.flake_advance(generator regclass, above bigint)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_advance'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_advance(regclass, bigint) IS
'raises a generator: every id that is minted from it after this, of whatever shard, exceeds an id; does nothing if it does so anyway; not undone by ROLLBACK; errors: 22003 or 22023 if not every shard has ids above it at all or at present, 25006 read-only, 42501 without UPDATE and USAGE on the generator, 42809 for generators of wide ids and for what is no generator, 42P01 if it has been dropped, 55000 while a change to it is not committed';

CREATE FUNCTION @extschema@.flake_would_exceed(generator regclass, shard int, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_would_exceed'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_would_exceed(regclass, int, bigint) IS
'whether the next id of a shard would exceed an id, as far as is known now; errors: 22003 if the layout has no such shard, 25006 on a standby, 42501 without USAGE on the generator, 42809 for generators of wide ids and for what is no generator, 42P01 if it has been dropped';

CREATE FUNCTION @extschema@.flake_rewind(generator regclass, below bigint,
    force boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_rewind'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_rewind(regclass, bigint, boolean) IS
'sets a generator back, after a clock that was far ahead, so that it goes on just above an id, and ids that were handed out above that can come again; for superusers; unless forced it refuses if one of the flake_columns() has such an id, or if there are none; not undone by ROLLBACK; errors: 22003 if it has no ids below, 22023 if nothing was handed out above, 25001 not READ COMMITTED, 25006 read-only, 42501 for others than superusers, 42809 for what is no generator, 42P01 if it has been dropped, 55000 if it refuses';

REVOKE ALL ON FUNCTION @extschema@.flake_rewind(regclass, bigint, boolean) FROM PUBLIC;

CREATE VIEW @extschema@.flake_generators AS
SELECT g.generator,
       g.layout,
       @extschema@.flake_horizon(g.generator) AS horizon,
       @extschema@.flake_horizon_time(g.generator) AS horizon_time,
       i.ends,
       pg_catalog.pg_get_userbyid(c.relowner) AS owner
FROM (SELECT b.generator, @extschema@.flake_layout_of(b.generator) AS layout
      FROM (VALUES ('@extschema@.flake_default'::pg_catalog.regclass),
                   ('@extschema@.flake_default_uuid'::pg_catalog.regclass),
                   ('@extschema@.flake_default_objectid'::pg_catalog.regclass)) b (generator)
      UNION ALL
      SELECT l.objoid::pg_catalog.regclass, l.label::@extschema@.flake_layout
      FROM pg_catalog.pg_seclabel l
      WHERE l.provider = 'flakeid'
        AND l.classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass) g
JOIN pg_catalog.pg_class c ON c.oid OPERATOR(pg_catalog.=) g.generator,
     @extschema@.flake_layout_info(g.layout) i;

COMMENT ON VIEW @extschema@.flake_generators IS
'the generators of this database: the extension''s own, and those of flake_create_generator()';
COMMENT ON COLUMN @extschema@.flake_generators.generator IS 'the generator''s sequence';
COMMENT ON COLUMN @extschema@.flake_generators.layout IS 'which bits of its ids mean what';
COMMENT ON COLUMN @extschema@.flake_generators.horizon IS 'a bound of every id handed out so far; null if there is none yet, or with neither SELECT nor USAGE on the generator';
COMMENT ON COLUMN @extschema@.flake_generators.horizon_time IS 'the time in horizon: some seconds ahead of the clock while ids are minted; null without time';
COMMENT ON COLUMN @extschema@.flake_generators.ends IS 'when its ids run out of time; null without time';
COMMENT ON COLUMN @extschema@.flake_generators.owner IS 'the owner of the sequence';

GRANT SELECT ON @extschema@.flake_generators TO PUBLIC;

-- SECURITY LABEL FOR flakeid, in a restored dump, needs the library.
CREATE FUNCTION @extschema@._flake_load_library()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'flake_load_library'
LANGUAGE C;

COMMENT ON FUNCTION @extschema@._flake_load_library() IS
'loads flakeid''s library, which SECURITY LABEL FOR flakeid needs';

CREATE EVENT TRIGGER flakeid_load_library ON ddl_command_start
WHEN TAG IN ('SECURITY LABEL')
EXECUTE FUNCTION @extschema@._flake_load_library();

-- also in a session whose session_replication_role is replica
ALTER EVENT TRIGGER flakeid_load_library ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER flakeid_load_library IS
'loads flakeid''s library for SECURITY LABEL FOR flakeid, by which dumps restore generators';

-- A flakeid that was dropped just now may be ahead of what a new one would
-- begin with.  Claiming no ids brings the new sequences up to it.
SELECT @extschema@.flake_ids(0, 0, '@extschema@.flake_default'::pg_catalog.regclass);
SELECT @extschema@.flake_ids(0, 0, '@extschema@.flake_default_uuid'::pg_catalog.regclass);
SELECT @extschema@.flake_ids(0, 0, '@extschema@.flake_default_objectid'::pg_catalog.regclass);


-- Shards

-- The type of generators in the tables that a dump carries along.  COPY restores all
-- rows of a table or none, so the name of a generator that is not there is no error.
CREATE TYPE @extschema@._flake_regclass;

CREATE FUNCTION @extschema@._flake_regclass_in(cstring)
RETURNS @extschema@._flake_regclass
AS 'MODULE_PATHNAME', 'flake_regclass_in'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_regclass_in(cstring) IS
'input function of _flake_regclass';

CREATE FUNCTION @extschema@._flake_regclass_out(@extschema@._flake_regclass)
RETURNS cstring
AS 'regclassout'
LANGUAGE internal STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_regclass_out(@extschema@._flake_regclass) IS
'output function of _flake_regclass';

CREATE FUNCTION @extschema@._flake_regclass_recv(internal)
RETURNS @extschema@._flake_regclass
AS 'regclassrecv'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_regclass_recv(internal) IS
'binary input function of _flake_regclass';

CREATE FUNCTION @extschema@._flake_regclass_send(@extschema@._flake_regclass)
RETURNS bytea
AS 'regclasssend'
LANGUAGE internal IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_regclass_send(@extschema@._flake_regclass) IS
'binary output function of _flake_regclass';

CREATE TYPE @extschema@._flake_regclass (
    INPUT = @extschema@._flake_regclass_in,
    OUTPUT = @extschema@._flake_regclass_out,
    RECEIVE = @extschema@._flake_regclass_recv,
    SEND = @extschema@._flake_regclass_send,
    LIKE = oid,
    CATEGORY = 'N'
);

COMMENT ON TYPE @extschema@._flake_regclass IS
'a relation, as regclass; the name of one that does not exist is 0, and no error';

CREATE CAST (@extschema@._flake_regclass AS oid) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (@extschema@._flake_regclass AS regclass) WITHOUT FUNCTION AS IMPLICIT;
CREATE CAST (regclass AS @extschema@._flake_regclass) WITHOUT FUNCTION AS ASSIGNMENT;

-- src/own_table.c reads and writes this table and flake_leases, and reads
-- flake_shard_map.  It refuses to if columns or indexes are others than these.
CREATE TABLE @extschema@.flake_shard_state (
    generator  @extschema@._flake_regclass NOT NULL,
    shard      int NOT NULL,
    attached   boolean NOT NULL,
    after      bigint,
    changed_at timestamptz NOT NULL,
    CONSTRAINT flake_shard_state_pkey PRIMARY KEY (generator, shard)
) USING heap;

COMMENT ON TABLE @extschema@.flake_shard_state IS
'the shards that were detached or attached on this server, by flake_detach(), flake_attach() and flake_lease(); see the view flake_shards';

-- Whoever created the extension may save and restore it with pg_dump.
GRANT SELECT, INSERT ON @extschema@.flake_shard_state TO @extowner@;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_shard_state',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) generator)');

-- A publication FOR ALL TABLES publishes it, too, but it is of this server only.
-- And a dump can have rows of generators that it does not have, as with pg_dump -N.
CREATE FUNCTION @extschema@._flake_keep_state()
RETURNS trigger
AS 'MODULE_PATHNAME', 'flake_keep_state'
LANGUAGE C;

COMMENT ON FUNCTION @extschema@._flake_keep_state() IS
'keeps logical replication from changing which shards this server mints, and a restore from failing at the rows of a generator that is not there: skips them';

CREATE TRIGGER keep_state BEFORE INSERT OR UPDATE OR DELETE
ON @extschema@.flake_shard_state
FOR EACH ROW EXECUTE FUNCTION @extschema@._flake_keep_state();

ALTER TABLE @extschema@.flake_shard_state ENABLE ALWAYS TRIGGER keep_state;

-- A row can be skipped, a TRUNCATE only refused: also where it would be published.
CREATE TRIGGER keep_rows BEFORE TRUNCATE
ON @extschema@.flake_shard_state
FOR EACH STATEMENT EXECUTE FUNCTION @extschema@._flake_keep_state();

ALTER TABLE @extschema@.flake_shard_state ENABLE ALWAYS TRIGGER keep_rows;

CREATE FUNCTION @extschema@.flake_detach(shard int,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_detach'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_detach(int, regclass) IS
'lets this server mint a shard no more, from now on if the transaction commits; an upper bound of every id that it has minted for it; waits for sessions that are just claiming ids; errors: 22003 no such shard, 25006 read-only, 42501 without USAGE and UPDATE on the generator, 42809 for those of wide ids and for what is no generator, 42P01 if that has been dropped, 55000 while a change to it is not committed, 55006 if the shard is leased';

CREATE FUNCTION @extschema@.flake_attach(shard int, after bigint DEFAULT NULL,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS void
AS 'MODULE_PATHNAME', 'flake_attach'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_attach(int, bigint, regclass) IS
'lets this server mint a shard, from the commit of the transaction on, with ids above after, and above all that it has minted before; null if shard or generator is; errors: those of flake_detach(), 22003 or 22023 if no id exceeds after at all or at present';

CREATE TABLE @extschema@.flake_leases (
    generator  @extschema@._flake_regclass NOT NULL,
    shard      int NOT NULL,
    owner      text COLLATE "C" NOT NULL,
    role       name NOT NULL,
    not_before timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    renewed_at timestamptz NOT NULL,
    CONSTRAINT flake_leases_pkey PRIMARY KEY (generator, shard),
    CONSTRAINT flake_leases_owner_key UNIQUE (generator, owner),
    -- a leased shard is a detached one
    CONSTRAINT flake_leases_shard_fkey FOREIGN KEY (generator, shard)
        REFERENCES @extschema@.flake_shard_state (generator, shard)
) USING heap;

COMMENT ON TABLE @extschema@.flake_leases IS
'the shards that were leased to processes outside of the database, by flake_lease()';
COMMENT ON COLUMN @extschema@.flake_leases.generator IS 'the generator''s sequence';
COMMENT ON COLUMN @extschema@.flake_leases.shard IS 'logical shard';
COMMENT ON COLUMN @extschema@.flake_leases.owner IS 'the owner''s name, as it was given';
COMMENT ON COLUMN @extschema@.flake_leases.role IS 'the name of the role that leased it; its members may renew and release the lease, if it is gone a superuser';
COMMENT ON COLUMN @extschema@.flake_leases.not_before IS 'the owner mints ids of this time or later';
COMMENT ON COLUMN @extschema@.flake_leases.expires_at IS 'the owner mints ids of times before this; flakeid.max_ahead later the shard can be given to another';
COMMENT ON COLUMN @extschema@.flake_leases.renewed_at IS 'when it was last leased, renewed or released';

GRANT SELECT ON @extschema@.flake_leases TO pg_monitor;
GRANT SELECT, INSERT ON @extschema@.flake_leases TO @extowner@;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_leases',
    'WHERE EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.oid OPERATOR(pg_catalog.=) generator)');

CREATE TRIGGER keep_state BEFORE INSERT OR UPDATE OR DELETE
ON @extschema@.flake_leases
FOR EACH ROW EXECUTE FUNCTION @extschema@._flake_keep_state();

ALTER TABLE @extschema@.flake_leases ENABLE ALWAYS TRIGGER keep_state;

-- A row can be skipped, a TRUNCATE only refused: also where it would be published.
CREATE TRIGGER keep_rows BEFORE TRUNCATE
ON @extschema@.flake_leases
FOR EACH STATEMENT EXECUTE FUNCTION @extschema@._flake_keep_state();

ALTER TABLE @extschema@.flake_leases ENABLE ALWAYS TRIGGER keep_rows;

CREATE FUNCTION @extschema@._flake_keep_triggers()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'flake_keep_triggers'
LANGUAGE C;

COMMENT ON FUNCTION @extschema@._flake_keep_triggers() IS
'gives the triggers of _flake_keep_state() their states again after ENABLE TRIGGER ALL, as in dumps made with --disable-triggers';

CREATE EVENT TRIGGER flakeid_keep_triggers ON ddl_command_end
WHEN TAG IN ('ALTER TABLE')
EXECUTE FUNCTION @extschema@._flake_keep_triggers();

ALTER EVENT TRIGGER flakeid_keep_triggers ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER flakeid_keep_triggers IS
'keeps logical replication from changing which shards this server mints after ENABLE TRIGGER ALL';

-- A generator can be dropped by whatever way, such as its schema's CASCADE.
CREATE FUNCTION @extschema@._flake_forget_dropped()
RETURNS event_trigger
AS 'MODULE_PATHNAME', 'flake_forget_dropped'
LANGUAGE C;

COMMENT ON FUNCTION @extschema@._flake_forget_dropped() IS
'removes what flake_shard_state and flake_leases have of generators that are dropped';

CREATE EVENT TRIGGER flakeid_forget_dropped ON sql_drop
EXECUTE FUNCTION @extschema@._flake_forget_dropped();

ALTER EVENT TRIGGER flakeid_forget_dropped ENABLE ALWAYS;

COMMENT ON EVENT TRIGGER flakeid_forget_dropped IS
'removes the states and leases of the shards of generators that are dropped';

CREATE FUNCTION @extschema@.flake_lease(owner text, ttl interval DEFAULT '1 hour',
    generator regclass DEFAULT '@extschema@.flake_default',
    OUT shard int, OUT not_before timestamptz, OUT expires_at timestamptz)
AS 'MODULE_PATHNAME', 'flake_lease'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_lease(text, interval, regclass) IS
'a shard for a process that mints ids outside of the database, once the transaction is committed: those whose time is at or after not_before and before expires_at are its alone; ttl is how long; the same owner gets the same shard, and must not have minted ids of times more than flakeid.max_ahead after the present; errors: 22003 the layout''s lifetime is over, 22008 ttl is too long, 22023 no owner or ttl not positive, 25001 not READ COMMITTED, 25006 read-only, 42501 without USAGE on the generator, or if the owner''s lease is another role''s, 42809 no generator, one of wide ids, or without time, 42P01 if it has been dropped, 53400 no shard is left, 55000 if its row in flake_shard_state was changed by hand, or a change to the generator is not committed';

CREATE FUNCTION @extschema@.flake_renew(owner text, ttl interval,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'flake_renew'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_renew(text, interval, regclass) IS
'makes a lease expire only when ttl has passed from now, or later if it did, once the transaction is committed; when it expires; errors: as flake_lease 22008, 22023, 25001, 25006, 42501, 42809, 42P01, 55000, and 42704 if the owner has no lease, or it has expired and its shard was given away';

CREATE FUNCTION @extschema@.flake_release(owner text,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_release'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_release(text, regclass) IS
'lets a lease expire now; false if there was none; the owner must have stopped minting, and must not have minted ids of times more than flakeid.max_ahead after the present; errors: as flake_lease 22023, 25001, 25006, 42501, 42809, 42P01, 55000';

-- A lease keeps the server from minting the shard: that is for those who may.
REVOKE ALL ON FUNCTION @extschema@.flake_lease(text, interval, regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.flake_renew(text, interval, regclass) FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.flake_release(text, regclass) FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@.flake_lease(text, interval, regclass) TO @extowner@;
GRANT EXECUTE ON FUNCTION @extschema@.flake_renew(text, interval, regclass) TO @extowner@;
GRANT EXECUTE ON FUNCTION @extschema@.flake_release(text, regclass) TO @extowner@;

CREATE VIEW @extschema@.flake_shards AS
SELECT s.generator::regclass AS generator,
       s.shard,
       CASE WHEN s.attached THEN 'attached'
            WHEN EXISTS (SELECT FROM @extschema@.flake_leases l
                         WHERE l.generator OPERATOR(pg_catalog.=) s.generator AND l.shard = s.shard) THEN 'leased'
            ELSE 'detached'
       END AS state,
       CASE WHEN pg_catalog.has_sequence_privilege(c.oid, 'SELECT, USAGE'::text) THEN s.after END AS after,
       s.changed_at
FROM @extschema@.flake_shard_state s
JOIN pg_catalog.pg_class c
  ON c.oid OPERATOR(pg_catalog.=) s.generator AND c.relkind = 'S';

COMMENT ON VIEW @extschema@.flake_shards IS
'the shards that were detached, attached or leased on this server';
COMMENT ON COLUMN @extschema@.flake_shards.generator IS 'the generator''s sequence';
COMMENT ON COLUMN @extschema@.flake_shards.shard IS 'logical shard';
COMMENT ON COLUMN @extschema@.flake_shards.state IS 'attached: this server mints it; detached: it does not; leased: it does not, others may, see flake_leases';
COMMENT ON COLUMN @extschema@.flake_shards.after IS 'an id: what was minted before is at or below, what is minted after it was attached is above; null with neither SELECT nor USAGE on the generator';
COMMENT ON COLUMN @extschema@.flake_shards.changed_at IS 'when it was detached, attached or first leased';

GRANT SELECT ON @extschema@.flake_shards TO PUBLIC;


-- Routing

CREATE FUNCTION @extschema@.flake_shard_for(key bigint, shards int DEFAULT 8192)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_for_bigint'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard_for(bigint, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s 8 bytes, little-endian, as an unsigned number modulo shards; error: 22023 if shards is less than 1';

CREATE FUNCTION @extschema@.flake_shard_for(key text, shards int DEFAULT 8192)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_for_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard_for(text, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s bytes in UTF-8, as an unsigned number modulo shards; error: 22023 if shards is less than 1';

CREATE FUNCTION @extschema@.flake_shard_for(key uuid, shards int DEFAULT 8192)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_for_uuid'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard_for(uuid, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s 16 bytes, as an unsigned number modulo shards; error: 22023 if shards is less than 1';

CREATE TABLE @extschema@.flake_shard_map (
    shards int4range NOT NULL,
    server name NOT NULL,
    CHECK (NOT pg_catalog.isempty(shards)),
    EXCLUDE USING gist (shards WITH OPERATOR(pg_catalog.&&))
) USING heap;

COMMENT ON TABLE @extschema@.flake_shard_map IS
'which server holds which logical shards; ranges cannot overlap';
COMMENT ON COLUMN @extschema@.flake_shard_map.shards IS 'a range of logical shards, such as [0,63]';
COMMENT ON COLUMN @extschema@.flake_shard_map.server IS 'a name for the server, such as that of CREATE SERVER';

GRANT SELECT ON @extschema@.flake_shard_map TO PUBLIC;
GRANT INSERT, UPDATE, DELETE, TRUNCATE ON @extschema@.flake_shard_map TO @extowner@;
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_shard_map', '');

CREATE FUNCTION @extschema@.flake_server(shard int)
RETURNS name
AS 'MODULE_PATHNAME', 'flake_server'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_server(int) IS
'the server that holds a shard, from flake_shard_map; errors: 02000 if there is none, 42501 if you may not read that';


-- Guards
--
-- Functions in PL/pgSQL are called by functions in SQL, which call by OID and get
-- a ticket from _flake_guard() first: see src/guard.c.

CREATE TYPE @extschema@._flake_ticket;

CREATE FUNCTION @extschema@._flake_ticket_in(cstring)
RETURNS @extschema@._flake_ticket
AS 'MODULE_PATHNAME', 'flake_ticket_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_ticket_in(cstring) IS
'input function of _flake_ticket: always error 0A000';

CREATE FUNCTION @extschema@._flake_ticket_out(@extschema@._flake_ticket)
RETURNS cstring
AS 'MODULE_PATHNAME', 'flake_ticket_out'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_ticket_out(@extschema@._flake_ticket) IS
'output function of _flake_ticket';

CREATE TYPE @extschema@._flake_ticket (
    INPUT = @extschema@._flake_ticket_in,
    OUTPUT = @extschema@._flake_ticket_out,
    INTERNALLENGTH = 4,
    PASSEDBYVALUE,
    ALIGNMENT = int4
);

COMMENT ON TYPE @extschema@._flake_ticket IS
'says that _flake_guard() was called; for functions of flakeid that others of it call';

CREATE FUNCTION @extschema@._flake_guard(schema text)
RETURNS @extschema@._flake_ticket
AS 'MODULE_PATHNAME', 'flake_guard'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_guard(text) IS
'keeps the extension and its schema from being dropped or renamed until the end of the transaction; for functions of flakeid; errors: 25006 on a standby, 42704 if the extension was dropped, 55000 if its schema was renamed';

CREATE FUNCTION @extschema@._flake_guard_schemas(ticket @extschema@._flake_ticket, schemas oid[])
RETURNS void
AS 'MODULE_PATHNAME', 'flake_guard_schemas'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_guard_schemas(@extschema@._flake_ticket, oid[]) IS
'keeps schemas from being dropped or renamed by others until the end of the transaction; for functions of flakeid; error: 3F000 if one does not exist';

CREATE FUNCTION @extschema@._flake_guard_relation(ticket @extschema@._flake_ticket, relation oid, exclusive boolean)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_guard_relation'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_guard_relation(@extschema@._flake_ticket, oid, boolean) IS
'locks a relation until the end of the transaction, in mode ACCESS EXCLUSIVE or ACCESS SHARE; false if it does not exist; for functions of flakeid; error: 42501 if exclusive and the user may not LOCK TABLE';

CREATE FUNCTION @extschema@._flake_guard_tree(ticket @extschema@._flake_ticket, relation oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_guard_tree'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_guard_tree(@extschema@._flake_ticket, oid) IS
'locks a table or view in mode ACCESS EXCLUSIVE until the end of the transaction, and what inherits from it; false if it does not exist; for functions of flakeid; error: 42501 if the user may not LOCK TABLE';

CREATE FUNCTION @extschema@._flake_execute_steps(ticket @extschema@._flake_ticket, schemas oid[], relations oid[],
    types oid[], steps text[], announce boolean)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_execute_steps'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_execute_steps(@extschema@._flake_ticket, oid[], oid[], oid[], text[], boolean) IS
'executes commands, each as a role that the current user may be, and sees to it that what they name stays the same; steps are rows of role, relation, OID of the relation, command, and those without a command look for what that role must not execute: see src/execute.c; for functions of flakeid; errors: those of the commands, 55000 if a command has led to a change of what the next one names';

CREATE FUNCTION @extschema@._flake_largest(ticket @extschema@._flake_ticket, relation oid, attribute name)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_largest'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_largest(@extschema@._flake_ticket, oid, name) IS
'the largest value in a column of an integer type, in rows that a policy hides, too; null if there is none; for functions of flakeid; errors: 42501 unless the user has the rights of the table''s owner, 55000 if the column cannot be searched';

CREATE FUNCTION @extschema@._flake_rebind(ticket @extschema@._flake_ticket, query text,
    relations oid[], attributes int2[], types oid[], OUT result_types oid[], OUT named oid[])
AS 'MODULE_PATHNAME', 'flake_rebind'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_rebind(@extschema@._flake_ticket, text, oid[], smallint[], oid[]) IS
'what a query would mean if columns had other types: the types of its result, and the functions and operators that it would name; it is parsed, and nothing is executed; for functions of flakeid; errors: those of parsing';


-- Schemas for shards

-- Anybody may call it: it does no more than SET ROLE would allow.
CREATE FUNCTION @extschema@._flake_execute_as(role oid, command text)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_execute_as'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_execute_as(oid, text) IS
'executes a command as a role that the current user may be, with no way back for what it calls: for flake_create_shard(); errors: 42501 if the user is no member of the role, 42704 no such role, 0A000 for COMMIT, COPY and other commands that a function cannot execute';

CREATE FUNCTION @extschema@._flake_copy_index(index oid, target regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_copy_index'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_copy_index(oid, regclass) IS
'makes an index of a table, and the constraint that it is for, for another table with such columns, under the same name and bound to the same functions, operators and types: for flake_create_shard(); errors: 42501 unless the user owns both tables, 42704 no such index, 42P01 no such table, 0A000 for expressions of whole rows';

CREATE FUNCTION @extschema@._flake_trusts(role oid, other oid)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_trusts'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_trusts(oid, oid) IS
'whether another role may become this one, as a superuser may, so that this one can execute what the other has written; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_linked(relation oid, attribute name)
RETURNS oid[]
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE heir (oid) AS (
        SELECT _flake_linked.relation
        UNION
        SELECT i.inhrelid FROM heir JOIN pg_catalog.pg_inherits i ON i.inhparent = heir.oid
    ), link (other) AS (
        SELECT CASE WHEN k.conrelid = a.attrelid AND a.attnum = ANY (k.conkey) THEN k.confrelid ELSE k.conrelid END
        FROM heir
        JOIN pg_catalog.pg_attribute a ON a.attrelid = heir.oid AND a.attname = _flake_linked.attribute
        JOIN pg_catalog.pg_constraint k ON k.contype = 'f'::"char"
         AND (k.conrelid = a.attrelid AND a.attnum = ANY (k.conkey) OR k.confrelid = a.attrelid AND a.attnum = ANY (k.confkey))
    )
    SELECT COALESCE(pg_catalog.array_agg(DISTINCT COALESCE(pg_catalog.pg_partition_root(l.other)::oid, l.other)), '{}'::oid[])
    FROM link l;
END;

COMMENT ON FUNCTION @extschema@._flake_linked(oid, name) IS
'the tables that foreign keys connect with a table through a column, of partitioned tables the topmost; for functions of flakeid';

-- PostgreSQL plans queries of a table to check a foreign key, and evaluates what is
-- constant in such expressions when it does.  What names nothing but PostgreSQL's
-- own functions and operators, or flake_shard(), can be evaluated by anybody.
CREATE FUNCTION @extschema@._flake_foreign_code(relation oid, role oid)
RETURNS text
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET jit = off
BEGIN ATOMIC
    WITH foreigner AS (
        SELECT c.oid, c.relowner, r.is_ancestor
        FROM (SELECT _flake_foreign_code.relation, false
              UNION
              SELECT t.relid::oid, false FROM pg_catalog.pg_partition_tree(_flake_foreign_code.relation) t
              UNION
              SELECT a.relid::oid, true FROM pg_catalog.pg_partition_ancestors(_flake_foreign_code.relation) a) AS r (oid, is_ancestor)
        JOIN pg_catalog.pg_class c ON c.oid = r.oid
        WHERE NOT @extschema@._flake_trusts(_flake_foreign_code.role, c.relowner)
    ), part (relation, classid, objid, objsubid) AS (
        SELECT i.indrelid, 'pg_catalog.pg_class'::regclass::oid, i.indexrelid, 0
        FROM pg_catalog.pg_index i
        UNION ALL
        SELECT s.stxrelid, 'pg_catalog.pg_statistic_ext'::regclass::oid, s.oid, 0
        FROM pg_catalog.pg_statistic_ext s
        UNION ALL
        SELECT p.partrelid, 'pg_catalog.pg_class'::regclass::oid, p.partrelid, 0
        FROM pg_catalog.pg_partitioned_table p WHERE p.partexprs IS NOT NULL
        UNION ALL   -- with constraint_exclusion, and of partitions without it
        SELECT k.conrelid, 'pg_catalog.pg_constraint'::regclass::oid, k.oid, 0
        FROM pg_catalog.pg_constraint k WHERE k.contype = 'c'::"char"
        UNION ALL
        SELECT f.adrelid, 'pg_catalog.pg_attrdef'::regclass::oid, f.oid, 0
        FROM pg_catalog.pg_attrdef f
        JOIN pg_catalog.pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attgenerated <> ''::"char"
        UNION ALL
        SELECT y.polrelid, 'pg_catalog.pg_policy'::regclass::oid, y.oid, 0
        FROM pg_catalog.pg_policy y
        UNION ALL   -- of a type that may have a cast
        SELECT k.conrelid, 'pg_catalog.pg_class'::regclass::oid, k.conrelid, key.attnum
        FROM pg_catalog.pg_constraint k, pg_catalog.unnest(k.conkey) AS key (attnum)
        WHERE k.contype = 'f'::"char"
    )
    SELECT pg_catalog.format('%s of role "%s"'::text, pg_catalog.pg_describe_object(p.classid, p.objid, p.objsubid),
                             pg_catalog.pg_get_userbyid(f.relowner))
    FROM foreigner f
    JOIN part p ON p.relation = f.oid
     AND (NOT f.is_ancestor OR p.objid = f.oid AND p.objsubid = 0)     -- of an ancestor, the partition key
    WHERE p.classid = 'pg_catalog.pg_policy'::regclass::oid      -- is executed, whatever it names
       OR EXISTS (
        SELECT FROM pg_catalog.pg_depend d
        LEFT JOIN pg_catalog.pg_type t ON d.refclassid = 'pg_catalog.pg_type'::regclass::oid AND t.oid = d.refobjid
        WHERE d.classid = p.classid AND d.objid = p.objid AND d.objsubid = p.objsubid
          AND d.refobjid >= '16384'::oid    -- initdb has not made it
          AND (d.refclassid, d.refobjid) NOT IN (
              ('pg_catalog.pg_proc'::regclass::oid, '@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure::oid),
              ('pg_catalog.pg_type'::regclass::oid, '@extschema@.flake_layout'::regtype::oid))
          AND (d.refclassid IN ('pg_catalog.pg_proc'::regclass::oid, 'pg_catalog.pg_operator'::regclass::oid)
               OR t.oid IS NOT NULL AND (t.typtype <> 'e'::"char" OR p.objsubid > 0)))
    ORDER BY f.oid, p.classid, p.objid LIMIT 1;
END;

COMMENT ON FUNCTION @extschema@._flake_foreign_code(oid, oid) IS
'what a role might execute of another that it does not trust when it makes a foreign key to or from a table: an index, a statistics object, a check, a generated column or a partition key, of the table or of a partition, or the partition key of an ancestor; null if there is none; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_stranger(namespace oid, owner oid)
RETURNS name
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT r.rolname
    FROM pg_catalog.pg_namespace n
    CROSS JOIN LATERAL (
        SELECT n.nspowner AS grantee
        UNION ALL
        SELECT e.grantee FROM pg_catalog.aclexplode(n.nspacl) e WHERE e.privilege_type = 'CREATE'::text) AS c
    JOIN pg_catalog.pg_roles r ON c.grantee = '0'::oid OR pg_catalog.pg_has_role(r.oid, c.grantee, 'MEMBER'::text)
    WHERE n.oid = _flake_stranger.namespace
      AND NOT pg_catalog.starts_with(r.rolname::text, 'pg_'::text)     -- nobody can be it; its members are in the list, too
      AND NOT @extschema@._flake_trusts(_flake_stranger.owner, r.oid)
    ORDER BY r.rolname LIMIT 1;
END;

COMMENT ON FUNCTION @extschema@._flake_stranger(oid, oid) IS
'a role that can create objects in a schema, is no superuser, and may not become the other role, who therefore should execute no text that names functions of that schema; null if there is none: for flake_create_shard()';

-- The owner of a type can rename it, and write casts to and from it and checks for it.
CREATE FUNCTION @extschema@._flake_type_owner(type oid, owner oid)
RETURNS name
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH RECURSIVE part (oid) AS (
        SELECT _flake_type_owner.type
        UNION
        SELECT p.oid
        FROM part
        JOIN pg_catalog.pg_type t ON t.oid = part.oid
        CROSS JOIN LATERAL (
            SELECT t.typelem
            UNION ALL
            SELECT t.typbasetype
            UNION ALL
            SELECT a.atttypid FROM pg_catalog.pg_attribute a WHERE a.attrelid = t.typrelid AND a.attnum > 0
            UNION ALL
            SELECT r.rngsubtype FROM pg_catalog.pg_range r WHERE t.oid IN (r.rngtypid, r.rngmultitypid)) AS p (oid)
    )
    SELECT pg_catalog.pg_get_userbyid(t.typowner)
    FROM part
    JOIN pg_catalog.pg_type t ON t.oid = part.oid
    WHERE NOT @extschema@._flake_trusts(_flake_type_owner.owner, t.typowner)
    ORDER BY t.oid LIMIT 1;
END;

COMMENT ON FUNCTION @extschema@._flake_type_owner(oid, oid) IS
'a role that owns a type, or one that it is made of, is no superuser, and may not become the other role; null if there is none; for functions of flakeid';

-- Types of one name cannot be two in a schema; functions and operators can, and the
-- arguments say which fits best.
CREATE FUNCTION @extschema@._flake_usurper(class oid, object oid, owner oid)
RETURNS name
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    WITH named (class, object, namespace, name, owner, types) AS (
        SELECT 'pg_catalog.pg_proc'::regclass::oid, p.oid, p.pronamespace, p.proname, p.proowner,
               p.prorettype || COALESCE(p.proallargtypes, p.proargtypes::oid[])
        FROM pg_catalog.pg_proc p
        UNION ALL
        SELECT 'pg_catalog.pg_operator'::regclass::oid, o.oid, o.oprnamespace, o.oprname, o.oprowner,
               ARRAY[o.oprleft, o.oprright, o.oprresult]
        FROM pg_catalog.pg_operator o
        UNION ALL
        SELECT 'pg_catalog.pg_type'::regclass::oid, t.oid, t.typnamespace, t.typname, t.typowner, ARRAY[t.oid]
        FROM pg_catalog.pg_type t
    )
    SELECT COALESCE(@extschema@._flake_stranger(n.namespace, _flake_usurper.owner),
                    (SELECT pg_catalog.pg_get_userbyid(o.owner) FROM named o
                     WHERE o.class = n.class AND o.object <> n.object AND o.namespace = n.namespace AND o.name = n.name
                       AND NOT @extschema@._flake_trusts(_flake_usurper.owner, o.owner)
                     ORDER BY o.object LIMIT 1),
                    (SELECT pg_catalog.min(@extschema@._flake_type_owner(t.oid, _flake_usurper.owner)::text)::name
                     FROM pg_catalog.unnest(n.types) AS t (oid)))
    FROM named n
    WHERE n.class = _flake_usurper.class AND n.object = _flake_usurper.object
      AND n.namespace <> 'pg_catalog'::regnamespace::oid;
END;

COMMENT ON FUNCTION @extschema@._flake_usurper(oid, oid, oid) IS
'a role that has made, or can make, a function, operator, type or cast by which text that names this one could come to mean another, is no superuser, and may not become the owner of that text; null if there is none, as for those of pg_catalog; for functions of flakeid';

-- Everything that pg_dump writes of the tables and sequences in a schema, but for
-- what depends on other objects.  Names take the place of numbers.  A column of a
-- catalog that is not left out here counts, whatever it says.  pg_attver is a number
-- that PostgreSQL keeps for itself since its releases of 2026.
CREATE FUNCTION @extschema@._flake_traits(namespace oid,
    OUT object text, OUT trait text, OUT value text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
BEGIN ATOMIC
    WITH relation AS (
        SELECT c.oid, pg_catalog.quote_ident(c.relname::text) AS name, c.relkind, c.relowner
        FROM pg_catalog.pg_class c
        WHERE c.relnamespace = _flake_traits.namespace AND c.relkind IN ('r'::"char", 'p'::"char", 'S'::"char", 'i'::"char", 'I'::"char")
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d
                          WHERE d.classid = 'pg_catalog.pg_class'::regclass::oid AND d.objid = c.oid AND d.deptype = 'e'::"char")
          AND NOT EXISTS (SELECT FROM pg_catalog.pg_seclabel l
                          WHERE l.classoid = 'pg_catalog.pg_class'::regclass::oid AND l.objoid = c.oid AND l.provider = 'flakeid'::text)
    ), item (class, id, number, object, line) AS (
        SELECT 'pg_catalog.pg_class'::regclass::oid, r.oid, 0, r.name, pg_catalog.to_jsonb(c)
        FROM relation r JOIN pg_catalog.pg_class c ON c.oid = r.oid
        UNION ALL
        SELECT 'pg_catalog.pg_class'::regclass::oid, r.oid, a.attnum::int, pg_catalog.format('%s column %I'::text, r.name, a.attname),
               pg_catalog.to_jsonb(a) || pg_catalog.jsonb_build_object(
                   'position', pg_catalog.count(*) OVER (PARTITION BY a.attrelid ORDER BY a.attnum),
                   'expression', CASE WHEN r.relkind IN ('i'::"char", 'I'::"char") THEN pg_catalog.pg_get_indexdef(r.oid, a.attnum::int, false) END,
                   'options', ARRAY(SELECT o.text FROM pg_catalog.unnest(a.attoptions) AS o (text)
                                    WHERE NOT pg_catalog.starts_with(o.text, 'pg_attver='::text) ORDER BY o.text))
        FROM relation r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND a.attnum > 0::smallint AND NOT a.attisdropped
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name, pg_catalog.to_jsonb(i) || pg_catalog.jsonb_build_object('predicate', pg_catalog.pg_get_expr(i.indpred, i.indrelid))
        FROM relation r JOIN pg_catalog.pg_index i ON i.indexrelid = r.oid
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name, pg_catalog.to_jsonb(q)
        FROM relation r JOIN pg_catalog.pg_sequence q ON q.seqrelid = r.oid
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name,
               pg_catalog.jsonb_build_object('parent', p.name, 'bound', pg_catalog.pg_get_expr(c.relpartbound, c.oid), 'detached', i.inhdetachpending)
        FROM relation r
        JOIN pg_catalog.pg_class c ON c.oid = r.oid
        JOIN pg_catalog.pg_inherits i ON i.inhrelid = r.oid
        LEFT JOIN relation p ON p.oid = i.inhparent
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name, pg_catalog.jsonb_build_object('partition key', pg_catalog.pg_get_partkeydef(r.oid))
        FROM relation r WHERE r.relkind = 'p'::"char"
        UNION ALL
        SELECT 0::oid, 0::oid, 0, r.name, pg_catalog.jsonb_build_object('toast options', t.reloptions)
        FROM relation r
        JOIN pg_catalog.pg_class c ON c.oid = r.oid
        JOIN pg_catalog.pg_class t ON t.oid = c.reltoastrelid
        UNION ALL   -- PostgreSQL names the foreign keys that a partition gets from its parent
        SELECT 'pg_catalog.pg_constraint'::regclass::oid, k.oid, 0, pg_catalog.format('%s constraint %I'::text, r.name, k.conname),
               pg_catalog.to_jsonb(k) - CASE WHEN k.contype IN ('c'::"char", 'n'::"char") THEN ''::text ELSE 'connoinherit'::text END
        FROM relation r JOIN pg_catalog.pg_constraint k ON k.conrelid = r.oid AND NOT (k.contype = 'f'::"char" AND k.conparentid <> 0::oid)
        UNION ALL
        SELECT 'pg_catalog.pg_trigger'::regclass::oid, t.oid, 0, pg_catalog.format('%s trigger %I'::text, r.name, t.tgname), pg_catalog.to_jsonb(t)
        FROM relation r JOIN pg_catalog.pg_trigger t ON t.tgrelid = r.oid AND NOT t.tgisinternal
        UNION ALL
        SELECT 'pg_catalog.pg_statistic_ext'::regclass::oid, x.oid, 0, pg_catalog.format('%s statistics object %I'::text, r.name, x.stxname),
               pg_catalog.to_jsonb(x) || pg_catalog.jsonb_build_object('columns', pg_catalog.pg_get_statisticsobjdef_columns(x.oid))
        FROM relation r JOIN pg_catalog.pg_statistic_ext x ON x.stxrelid = r.oid
        UNION ALL
        SELECT 'pg_catalog.pg_namespace'::regclass::oid, _flake_traits.namespace, 0, 'the schema'::text, '{}'::jsonb
    ), list (object, owner, acl) AS (
        SELECT r.name, r.relowner, COALESCE(c.relacl, pg_catalog.acldefault(CASE r.relkind WHEN 'S'::"char" THEN 's'::"char" ELSE 'r'::"char" END, r.relowner))
        FROM relation r JOIN pg_catalog.pg_class c ON c.oid = r.oid AND c.relkind NOT IN ('i'::"char", 'I'::"char")
        UNION ALL
        SELECT pg_catalog.format('%s column %I'::text, r.name, a.attname), r.relowner, a.attacl
        FROM relation r JOIN pg_catalog.pg_attribute a ON a.attrelid = r.oid AND NOT a.attisdropped
        UNION ALL
        SELECT 'the schema'::text, n.nspowner, COALESCE(n.nspacl, pg_catalog.acldefault('n'::"char", n.nspowner))
        FROM pg_catalog.pg_namespace n WHERE n.oid = _flake_traits.namespace
        UNION ALL
        SELECT pg_catalog.format('default privileges of role %s for %s'::text, d.defaclrole, d.defaclobjtype), d.defaclrole, d.defaclacl
        FROM pg_catalog.pg_default_acl d WHERE d.defaclnamespace = _flake_traits.namespace
    )
    SELECT i.object, e.key, e.value
    FROM item i, pg_catalog.jsonb_each_text(i.line - '{
        oid, relname, relnamespace, reltype, relfilenode, relpages, reltuples, relallvisible, relallfrozen, reltoastrelid, relhasindex, relchecks,
        relnatts, relhasrules, relhastriggers, relhassubclass, relispopulated, relrewrite, relfrozenxid, relminmxid, relacl, relpartbound,
        attrelid, attnum, attcacheoff, attndims, atthasmissing, attmissingval, attislocal, attinhcount, attacl, attoptions,
        indexrelid, indrelid, indkey, indexprs, indpred, indcheckxmin, seqrelid,
        connamespace, conrelid, conindid, conparentid, confrelid, conkey, confkey, conbin, confdelsetcols, conislocal, coninhcount,
        tgrelid, tgparentid, tgconstrrelid, tgconstrindid, tgconstraint, tgattr, tgqual,
        stxrelid, stxnamespace, stxkeys, stxexprs}'::text[]) AS e (key, value)
    UNION ALL
    SELECT i.object, 'comment'::text, d.description
    FROM item i JOIN pg_catalog.pg_description d ON d.classoid = i.class AND d.objoid = i.id AND d.objsubid = i.number
    UNION ALL
    SELECT l.object, 'privileges'::text, pg_catalog.format('%s %s %s %s'::text, e.grantor, e.grantee, e.privilege_type, e.is_grantable)
    FROM list l, pg_catalog.aclexplode(l.acl) AS e;
END;

COMMENT ON FUNCTION @extschema@._flake_traits(oid) IS
'what is to be the same in the tables and sequences of a schema and in copies of them, but for what they depend on: properties of relations, columns, indexes, constraints, triggers and statistics objects, comments, privileges; for flake_create_shard()';

-- What expressions of the template mean must not change on the way to the copy.
-- So indexes are copied as trees, and so is what CREATE TABLE ... LIKE copies:
-- checks, generated columns, and defaults.  The rest is text, which is bound anew:
-- partition keys, triggers, foreign keys, and defaults that name a sequence of the
-- template.  It is written with all names qualified but those of pg_catalog.  And
--
--	1	if it names a function, operator or type, none but its owner can have
--		made a better fitting one;
--	2	what it names keeps its name while it is executed: see src/execute.c;
--	3	afterwards the copy depends on the same objects as the template.
--
-- In the copy, only what is copied takes the place of what is in the template.
-- Afterwards _flake_traits() must find no other difference between the two, either.
CREATE FUNCTION @extschema@._flake_create_shard_guarded(ticket @extschema@._flake_ticket, shard int, template name, schema name)
RETURNS name
LANGUAGE plpgsql VOLATILE PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
SET client_min_messages = warning
-- so that constants and names in text mean the same when it is read again
SET DateStyle = 'ISO, YMD'
SET IntervalStyle = postgres
SET extra_float_digits = 1
SET array_nulls = on
SET quote_all_identifiers = off
SET standard_conforming_strings = on
SET transform_null_equals = off
SET default_tablespace = ''
AS $function$
DECLARE
    source pg_catalog.oid := to_regnamespace(quote_ident(template));
    target pg_catalog.text := coalesce(schema::text, template || '_' || shard);
    target_oid pg_catalog.oid;
    tables pg_catalog.oid[];
    sequences pg_catalog.oid[];
    locked pg_catalog.oid[];
    renamed pg_catalog.oid[];   -- defaults that name a relation of the template
    named pg_catalog.oid[];     -- relations
    schemas pg_catalog.oid[];
    minting pg_catalog.oid[] := ARRAY['@extschema@.flake_id(int)'::regprocedure, '@extschema@.flake_id()'::regprocedure,
                           '@extschema@.flake_id(int, regclass)'::regprocedure];
    guests pg_catalog.text[];
    problem pg_catalog.record;
    minted pg_catalog.record;
    mints pg_catalog.jsonb := '[]';
    tree pg_catalog.oid[];      -- a table and its partitions
    replaced pg_catalog.oid[];  -- checks
    check_name pg_catalog.text;
    check_names pg_catalog.text[] := '{}';     -- table.constraint, of the topmost table
    shard_checks pg_catalog.text[]; -- table.constraint
    other_checks pg_catalog.text[] := '{}';    -- what _flake_traits() calls those that are not as in the template
    written pg_catalog.record;
    expression pg_catalog.text;
    -- rows for _flake_execute_steps(): who executes it, what it is about, its OID, statement
    defaults pg_catalog.text[];
    dropped_checks pg_catalog.text[];
    checks pg_catalog.text[];
    statements pg_catalog.text[];
    grants pg_catalog.text[];
    revokes pg_catalog.text[];  -- from owners, who need it until everything is made
BEGIN
    IF ticket IS NULL OR shard IS NULL OR template IS NULL THEN
        RETURN NULL;
    ELSIF source IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_schema_name',
            MESSAGE = format('schema "%s" does not exist', template);
    ELSIF octet_length(target) > 63 THEN
        RAISE EXCEPTION USING ERRCODE = 'name_too_long',
            MESSAGE = format('schema name "%s" is too long', target),
            HINT = 'Give a shorter one as the third argument.';
    ELSIF to_regnamespace(quote_ident(target)) IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'duplicate_schema',
            MESSAGE = format('schema "%s" already exists', target),
            HINT = 'To make it anew, drop it first. To make another, give its name as the third argument.';
    END IF;
    PERFORM @extschema@._flake_guard_schemas(ticket, ARRAY[source]);
    IF to_regnamespace(quote_ident(template)) IS DISTINCT FROM source THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('schema "%s" was changed meanwhile', template);
    END IF;

    -- The tables; and the sequences, but for generators.  When all are locked, they
    -- are still those.
    LOOP
        tables := ARRAY(
            SELECT c.oid FROM pg_class c
            WHERE c.relnamespace = source AND c.relkind IN ('r', 'p', 'f')
              AND NOT EXISTS (SELECT FROM pg_depend d
                              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
            ORDER BY c.oid);
        sequences := ARRAY(
            SELECT c.oid FROM pg_class c
            WHERE c.relnamespace = source AND c.relkind = 'S'
              AND NOT EXISTS (SELECT FROM pg_depend d
                              WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
              AND NOT EXISTS (SELECT FROM pg_seclabel l
                              WHERE l.classoid = 'pg_class'::regclass AND l.objoid = c.oid AND l.provider = 'flakeid')
            ORDER BY c.oid);
        EXIT WHEN locked = tables || sequences;
        locked := tables || sequences;
        PERFORM @extschema@._flake_guard_relation(ticket, id, false) FROM unnest(locked) AS id;
    END LOOP;

    -- Nothing is copied by half.
    SELECT o.kind, o.name, r.reason, coalesce(r.hint, 'Move it out of the schema, or drop it there and create it in the copy by hand.') AS hint
    INTO problem
    FROM (SELECT CASE c.relkind WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' ELSE 'table' END,
                 c.relname, 'pg_class'::regclass::oid, c.oid, c.oid
          FROM pg_class c
          WHERE c.oid = ANY (tables || sequences)
             OR c.relnamespace = source AND c.relkind IN ('v', 'm')
                AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e')
          UNION ALL
          SELECT 'index', c.relname, 'pg_class'::regclass, c.oid, i.indrelid
          FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid WHERE i.indrelid = ANY (tables)
          UNION ALL
          SELECT 'constraint', k.conname, 'pg_constraint'::regclass, k.oid, k.conrelid FROM pg_constraint k WHERE k.conrelid = ANY (tables)
          UNION ALL
          SELECT 'trigger', t.tgname, 'pg_trigger'::regclass, t.oid, t.tgrelid FROM pg_trigger t WHERE t.tgrelid = ANY (tables)
          UNION ALL
          SELECT 'statistics object', x.stxname, 'pg_statistic_ext'::regclass, x.oid, x.stxrelid
          FROM pg_statistic_ext x WHERE x.stxrelid = ANY (tables) OR x.stxnamespace = source
          UNION ALL
          SELECT 'schema', template, 'pg_namespace'::regclass, source, 0) AS o (kind, name, class, oid, relation)
    LEFT JOIN pg_class c ON o.class = 'pg_class'::regclass AND c.oid = o.oid
    LEFT JOIN pg_index i ON i.indexrelid = c.oid
    LEFT JOIN pg_constraint k ON o.class = 'pg_constraint'::regclass AND k.oid = o.oid
    LEFT JOIN pg_trigger t ON o.class = 'pg_trigger'::regclass AND t.oid = o.oid
    LEFT JOIN pg_statistic_ext x ON o.class = 'pg_statistic_ext'::regclass AND x.oid = o.oid
    CROSS JOIN LATERAL (
        SELECT * FROM (VALUES
            (c.relkind IN ('v', 'm'), 'Only tables and sequences are copied.', NULL),
            (c.relkind = 'f', 'It is a foreign table.', NULL),
            (c.relpersistence = 't', 'It is temporary.', NULL),
            (c.reloftype <> 0, 'It is a table of a composite type.', 'ALTER TABLE ... NOT OF makes it one of its own.'),
            (c.relrowsecurity OR c.relforcerowsecurity OR c.relkind <> 'v' AND EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid),
             'It has row-level security.', 'Set that up in the copy by hand.'),
            (c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_rewrite WHERE ev_class = c.oid), 'It has rules.', 'Create them in the copy by hand.'),
            (c.relkind IN ('r', 'p') AND EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.oid AND NOT (c.relispartition AND h.inhparent = ANY (tables))),
             'It inherits from another table, or is a partition of a table elsewhere.', NULL),
            (EXISTS (SELECT FROM pg_inherits h WHERE h.inhparent = c.oid AND h.inhrelid <> ALL (tables) AND c.relkind IN ('r', 'p')),
             'Another table, which is elsewhere, is a partition of it or inherits from it.', 'Move that table into the schema, too.'),
            (EXISTS (SELECT FROM pg_inherits h WHERE h.inhrelid = c.oid AND h.inhdetachpending), 'It is being detached.', 'Use ALTER TABLE ... DETACH PARTITION ... FINALIZE.'),
            (c.oid = ANY (tables || sequences) AND NOT has_schema_privilege(c.relowner, source, 'USAGE') OR c.oid = ANY (tables) AND NOT has_table_privilege(c.relowner, c.oid, 'SELECT'),
             'Its owner may not read it.', 'Grant USAGE on the schema, and SELECT on the table, to the owner.'),
            (EXISTS (SELECT FROM pg_attribute a
                     JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = a.atttypid
                      AND d.refclassid = 'pg_proc'::regclass AND d.refobjid = ANY (minting)
                     WHERE a.attrelid = c.oid AND NOT a.attisdropped),
             'A domain of a column has a default that mints.', 'Give the column that default, not the domain.'),
            (c.relkind = 'S' AND EXISTS (SELECT FROM pg_depend d WHERE d.classid = o.class AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass
                                           AND d.deptype = 'a' AND d.refobjid <> ALL (tables)),
             'It belongs to a column of another table, which is not copied.', 'ALTER SEQUENCE ... OWNED BY NONE makes it one of its own.'),
            (NOT i.indisvalid, 'It is invalid.', 'Use REINDEX, or drop it.'),
            -- A check that is not enforced is copied as such, since PostgreSQL 18.
            (k.contype IN ('c', 'n') AND NOT k.convalidated AND coalesce(to_jsonb(k) ->> 'conenforced', 'true') = 'true',
             'It is not valid.', 'Use ALTER TABLE ... VALIDATE CONSTRAINT.'),
            (t.tgisinternal AND t.tgenabled <> 'O', 'It belongs to a constraint, and was disabled or changed.',
             format('Use ALTER TABLE %s ENABLE TRIGGER ALL.', o.relation::regclass)),
            (x.oid IS NOT NULL AND (x.stxnamespace <> source OR x.stxrelid <> ALL (tables)
                                    OR x.stxowner <> (SELECT r.relowner FROM pg_class r WHERE r.oid = x.stxrelid)),
             'Its table has another schema or owner.', 'Change them with ALTER STATISTICS, or drop it.'),
            (EXISTS (SELECT FROM pg_depend d WHERE d.classid = o.class AND d.objid = o.oid AND d.deptype = 'x'), 'It depends on an extension.',
             'Use ALTER ... NO DEPENDS ON EXTENSION.'),
            (EXISTS (SELECT FROM pg_seclabel l WHERE l.classoid = o.class AND l.objoid = o.oid), 'It has a security label.',
             'Remove that with SECURITY LABEL ... IS NULL, and set it in the copy by hand.'),
            (EXISTS (SELECT FROM pg_publication_rel WHERE prrelid = o.oid AND o.class = 'pg_class'::regclass)
             OR EXISTS (SELECT FROM pg_publication_namespace WHERE pnnspid = o.oid AND o.class = 'pg_namespace'::regclass),
             'It is in a publication.', 'Remove it from there, and publish the copies instead.')
        ) AS v (is_so, reason, hint)
        WHERE v.is_so) AS r
    ORDER BY o.class, o.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = CASE problem.kind WHEN 'schema' THEN format('cannot copy schema "%s"', template)
                      ELSE format('cannot copy %s "%s" of schema "%s"', problem.kind, problem.name, template) END,
            DETAIL = problem.reason, HINT = problem.hint;
    END IF;

    SELECT r.role INTO problem
    FROM (SELECT n.nspowner FROM pg_namespace n WHERE n.oid = source
          UNION ALL
          SELECT c.relowner FROM pg_class c WHERE c.oid = ANY (tables || sequences)
          UNION ALL
          SELECT d.defaclrole FROM pg_default_acl d WHERE d.defaclnamespace = source
          UNION ALL
          SELECT e.grantor
          FROM (SELECT nspacl FROM pg_namespace WHERE oid = source
                UNION ALL
                SELECT relacl FROM pg_class WHERE oid = ANY (tables || sequences)
                UNION ALL
                SELECT attacl FROM pg_attribute WHERE attrelid = ANY (tables)) AS l (acl), aclexplode(l.acl) AS e) AS r (role)
    WHERE NOT @extschema@._flake_trusts(r.role, to_regrole(quote_ident(current_user))::oid)
    ORDER BY r.role LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('must be able to SET ROLE "%s"', pg_get_userbyid(problem.role)),
            DETAIL = format('Something in schema "%s" belongs to this role, or was granted by it.', template);
    END IF;

    -- What one role has written is not executed as another that does not trust it.
    SELECT c.relname, p.relname AS parent, c.relowner, p.relowner AS role INTO problem
    FROM pg_inherits i
    JOIN pg_class c ON c.oid = i.inhrelid
    JOIN pg_class p ON p.oid = i.inhparent
    WHERE c.oid = ANY (tables) AND NOT @extschema@._flake_trusts(p.relowner, c.relowner)
    ORDER BY c.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot copy table "%s" of schema "%s"', problem.relname, template),
            DETAIL = format('PostgreSQL would evaluate checks of role "%s" when role "%s" makes it a partition of "%s".',
                            pg_get_userbyid(problem.relowner), pg_get_userbyid(problem.role), problem.parent),
            HINT = 'Give both tables the same owner.';
    END IF;
    SELECT c.relname, k.confrelid, f.code, c.relowner INTO problem
    FROM pg_constraint k
    JOIN pg_class c ON c.oid = k.conrelid
    CROSS JOIN LATERAL (SELECT @extschema@._flake_foreign_code(k.confrelid, c.relowner)
                        WHERE EXISTS (SELECT FROM pg_class r
                                      WHERE r.oid IN (SELECT k.confrelid UNION SELECT relid FROM pg_partition_tree(k.confrelid) UNION SELECT relid FROM pg_partition_ancestors(k.confrelid))
                                        AND NOT @extschema@._flake_trusts(c.relowner, r.relowner))) AS f (code)
    WHERE c.oid = ANY (tables) AND k.contype = 'f' AND k.conparentid = 0 AND f.code IS NOT NULL
    ORDER BY k.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make a foreign key of table "%s" of schema "%s" to table %s', problem.relname, template, problem.confrelid::regclass),
            DETAIL = format('PostgreSQL would evaluate %s as role "%s".', problem.code, pg_get_userbyid(problem.relowner)),
            HINT = 'Give both tables the same owner, or drop what would be evaluated.';
    END IF;

    -- What is named
    SELECT array_agg(DISTINCT d.refobjid) FILTER (WHERE d.refclassid = 'pg_class'::regclass),
           array_agg(DISTINCT to_regnamespace((pg_identify_object(d.refclassid, d.refobjid, 0)).schema)::oid)
    INTO named, schemas
    FROM (SELECT 'pg_class'::regclass, unnest(tables)
          UNION ALL
          SELECT 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = ANY (tables)
          UNION ALL
          SELECT 'pg_attrdef'::regclass, oid FROM pg_attrdef WHERE adrelid = ANY (tables)
          UNION ALL
          SELECT 'pg_constraint'::regclass, oid FROM pg_constraint WHERE conrelid = ANY (tables)
          UNION ALL
          SELECT 'pg_trigger'::regclass, oid FROM pg_trigger WHERE tgrelid = ANY (tables)) AS w (class, id)
    JOIN pg_depend d ON d.classid = w.class AND d.objid = w.id;
    schemas := array_remove(array_remove(array_remove(schemas, NULL), source), 'pg_catalog'::regnamespace::oid);
    PERFORM @extschema@._flake_guard_schemas(ticket, schemas);

    -- Defaults that name a table or sequence that is copied
    renamed := ARRAY(
        SELECT DISTINCT f.oid
        FROM pg_attrdef f
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attgenerated = ''
        JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables || sequences) AND d.refobjsubid = 0
        WHERE f.adrelid = ANY (tables));

    -- The rest has to mean the same in the copy, where it would have to mean another.
    SELECT o.name AS relname, pg_describe_object(w.class, w.id, 0) AS part, r.name AS relation INTO problem
    FROM (SELECT 'pg_attrdef'::regclass::oid, f.oid, f.adrelid, 0::oid FROM pg_attrdef f WHERE f.adrelid = ANY (tables) AND f.oid <> ALL (renamed)
          UNION ALL
          SELECT 'pg_constraint'::regclass, k.oid, k.conrelid, 0 FROM pg_constraint k WHERE k.conrelid = ANY (tables) AND k.contype = 'c'
          UNION ALL
          SELECT 'pg_class'::regclass, i.indexrelid, i.indrelid, 0 FROM pg_index i WHERE i.indrelid = ANY (tables)
          UNION ALL
          SELECT 'pg_trigger'::regclass, t.oid, t.tgrelid, t.tgconstrrelid FROM pg_trigger t WHERE t.tgrelid = ANY (tables) AND NOT t.tgisinternal
          UNION ALL
          SELECT 'pg_class'::regclass, p.partrelid, p.partrelid, 0 FROM pg_partitioned_table p WHERE p.partrelid = ANY (tables) AND p.partexprs IS NOT NULL
          UNION ALL
          SELECT 'pg_statistic_ext'::regclass, x.oid, x.stxrelid, 0 FROM pg_statistic_ext x WHERE x.stxrelid = ANY (tables)) AS w (class, id, relation, other)
    JOIN pg_depend d ON d.classid = w.class AND d.objid = w.id AND d.deptype = 'n' AND d.refclassid = 'pg_class'::regclass
     AND d.refobjid = ANY (tables || sequences) AND d.refobjid NOT IN (w.relation, w.other)
    CROSS JOIN LATERAL (SELECT relname FROM pg_class WHERE oid = w.relation) AS o (name)
    CROSS JOIN LATERAL (SELECT relname FROM pg_class WHERE oid = d.refobjid) AS r (name)
    ORDER BY w.class, w.id LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot copy table "%s" of schema "%s"', problem.relname, template),
            DETAIL = format('The %s names relation "%s", and its copy would still name that of the template.', problem.part, problem.relation),
            HINT = 'Only defaults and foreign keys come to name a copy. Make the rest by hand in the copy.';
    END IF;

    -- Who might make text mean something else?  A trigger's own function has no
    -- arguments, by which another could fit better.
    SELECT c.relname, w.kind, pg_describe_object(d.refclassid, d.refobjid, 0) AS object, u.stranger
    INTO problem
    FROM (SELECT 'A default', 'pg_attrdef'::regclass, f.oid, f.adrelid, 0::oid
          FROM pg_attrdef f WHERE f.oid = ANY (renamed)
          UNION ALL
          SELECT 'The partition key', 'pg_class'::regclass, p.partrelid, p.partrelid, 0
          FROM pg_partitioned_table p WHERE p.partrelid = ANY (tables) AND p.partexprs IS NOT NULL
          UNION ALL
          SELECT 'The condition of a trigger', 'pg_trigger'::regclass, t.oid, t.tgrelid, t.tgfoid
          FROM pg_trigger t WHERE t.tgrelid = ANY (tables) AND t.tgqual IS NOT NULL AND NOT t.tgisinternal) AS w (kind, class, id, relation, other)
    JOIN pg_class c ON c.oid = w.relation
    JOIN pg_depend d ON d.classid = w.class AND d.objid = w.id AND d.objsubid = 0
     AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass, 'pg_type'::regclass) AND d.refobjid <> w.other
    CROSS JOIN LATERAL @extschema@._flake_usurper(d.refclassid, d.refobjid, c.relowner) AS u (stranger)
    WHERE u.stranger IS NOT NULL
    ORDER BY c.oid, w.kind, object LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot copy table "%s" of schema "%s"', problem.relname, template),
            DETAIL = format('%s names %s, and role "%s" could put another in its place.',
                            problem.kind, problem.object, problem.stranger),
            HINT = 'Copy the table by hand, or revoke CREATE on the schema of what is named from others than the table''s owner, and drop what they have made there under that name.';
    END IF;

    -- They name their copies instead.
    FOR written IN
        SELECT f.oid, c.relname, c.relowner, a.attname, pg_get_expr(f.adbin, f.adrelid) AS expression,
               array_agg(DISTINCT r.relname) AS originals
        FROM pg_attrdef f
        JOIN pg_class c ON c.oid = f.adrelid
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
        JOIN pg_depend d ON d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
         AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables || sequences) AND d.refobjsubid = 0
        JOIN pg_class r ON r.oid = d.refobjid
        WHERE f.oid = ANY (renamed)
        GROUP BY f.oid, f.adbin, f.adrelid, c.oid, c.relname, c.relowner, a.attname, a.attnum
        ORDER BY c.oid, a.attnum
    LOOP
        FOR i IN 1 .. cardinality(written.originals) LOOP
            expression := replace(written.expression,
                                  format('''%s''::regclass', replace(format('%I.%I', template, written.originals[i]), '''', '''''')),
                                  format('''%s''::regclass', replace(format('%I.%I', target, written.originals[i]), '''', '''''')));
            IF expression = written.expression THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('cannot copy table "%s" of schema "%s"', written.relname, template),
                    DETAIL = format('The default of column "%s" is %s.', written.attname, expression),
                    HINT = 'Let it be a call of nextval() with the name of the sequence.';
            END IF;
            written.expression := expression;
        END LOOP;
        defaults := defaults || ARRAY[[written.relowner::text, format('%I.%I', target, written.relname), NULL,
            format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET DEFAULT %s', target, written.relname, written.attname, expression)]];
    END LOOP;

    -- Columns that mint.  Such a default depends on the function, and on the
    -- generator if it names one.
    FOR minted IN
        SELECT c.oid AS relation, coalesce(pg_partition_root(c.oid)::oid, c.oid) AS root, c.relname, c.relowner, a.attname,
               pg_get_expr(f.adbin, f.adrelid) AS expression,
               g.oid::regclass::text AS generator,
               coalesce(@extschema@.flake_layout_of(g.oid::regclass), 'instagram') AS layout
        FROM pg_attrdef f
        JOIN pg_class c ON c.oid = f.adrelid
        JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum
        LEFT JOIN (pg_depend s JOIN pg_class g ON g.oid = s.refobjid AND g.relkind = 'S')
          ON s.classid = 'pg_attrdef'::regclass AND s.objid = f.oid
         AND s.refclassid = 'pg_class'::regclass
        WHERE f.adrelid = ANY (tables)
          AND EXISTS (SELECT FROM pg_depend d
                      WHERE d.classid = 'pg_attrdef'::regclass AND d.objid = f.oid
                        AND d.refclassid = 'pg_proc'::regclass
                        AND d.refobjid = ANY (minting))
        ORDER BY c.oid, a.attnum
    LOOP
        -- flake_id(), flake_id(5) or flake_id(5, 'generator')
        IF minted.expression !~ '^[^(]*flake_id\((\d+(, ''.*''::regclass)?)?\)$' THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot set the shard in the default of column "%s" of table "%s"',
                                 minted.attname, minted.relname),
                DETAIL = format('The default is %s.', minted.expression),
                HINT = 'Let it be a call of flake_id() with nothing but constants.';
        ELSIF shard NOT BETWEEN 0 AND (@extschema@.flake_layout_info(minted.layout)).shards - 1 THEN
            RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
                MESSAGE = format('shard %s is out of range', shard),
                DETAIL = format('Column "%s" of table "%s" has shards 0 to %s.', minted.attname, minted.relname,
                                (@extschema@.flake_layout_info(minted.layout)).shards - 1);
        END IF;
        defaults := defaults || ARRAY[[minted.relowner::text, format('%I.%I', target, minted.relname), NULL,
            format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET DEFAULT @extschema@.flake_id(%s%s)',
                   target, minted.relname, minted.attname, shard,
                   CASE WHEN minted.generator IS NOT NULL THEN format(', %L::regclass', minted.generator) END)]];

        mints := mints || to_jsonb(minted);
    END LOOP;

    -- A check of its shard on such a column is replaced, in the whole tree of
    -- partitions.  Partitions come first, whose checks their parents' take over.
    FOR minted IN
        SELECT m.root, m.attname, array_agg(m.relation) AS relations, bool_or(m.generator IS NOT NULL) AS is_named,
               min(m.layout) AS layout, count(DISTINCT m.layout) AS layouts
        FROM jsonb_to_recordset(mints) AS m (root oid, relation oid, attname name, generator text, layout text)
        GROUP BY m.root, m.attname ORDER BY m.root, m.attname
    LOOP
        IF minted.layouts > 1 THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot set the shard in the default of column "%s" of table %s', minted.attname, minted.root::regclass),
                DETAIL = 'Its partitions have ids of different layouts.',
                HINT = 'Let all defaults of the column name one generator.';
        END IF;
        tree := ARRAY(SELECT id FROM unnest(tables) AS id WHERE coalesce(pg_partition_root(id)::oid, id) = minted.root);
        replaced := ARRAY(
            SELECT k.oid
            FROM pg_constraint k
            JOIN pg_attribute a ON a.attrelid = k.conrelid AND a.attname = minted.attname
            CROSS JOIN LATERAL (VALUES (format('CHECK ((@extschema@.flake_shard(%I', a.attname)),
                                       (format('CHECK ((@extschema@.flake_shard((%I)::bigint', a.attname))) AS begins (text)
            WHERE k.conrelid = ANY (tree) AND k.contype = 'c' AND k.conkey = ARRAY[a.attnum]
              AND starts_with(pg_get_constraintdef(k.oid), begins.text)
              AND substr(pg_get_constraintdef(k.oid), length(begins.text) + 1) ~ '^(, ''[^'']*''::.*flake_layout)?\) = \d+\)\)');

        -- In a schema of others, a flake_shard() of one argument might fit better.
        minted.is_named := minted.is_named OR EXISTS (
            SELECT FROM pg_class c
            WHERE c.oid = ANY (tree) AND @extschema@._flake_stranger(to_regnamespace('@extschema@')::oid, c.relowner) IS NOT NULL);

        -- The first name that is free, of 63 bytes at most.
        SELECT n.name INTO check_name
        FROM generate_series(0, cardinality(check_names) + (SELECT count(*) FROM pg_constraint k WHERE k.conrelid = ANY (tree))) AS i
        CROSS JOIN LATERAL (VALUES ('_shard' || CASE WHEN i > 0 THEN i::text ELSE '' END)) AS x (suffix)
        CROSS JOIN LATERAL (VALUES (substr((repeat('x', length(x.suffix)) || minted.attname)::name::text, length(x.suffix) + 1) || x.suffix)) AS n (name)
        WHERE format('%s.%s', minted.root, n.name) <> ALL (check_names)
          AND NOT EXISTS (SELECT FROM pg_constraint k WHERE k.conrelid = ANY (tree) AND k.conname = n.name AND k.oid <> ALL (replaced))
        ORDER BY i LIMIT 1;
        check_names := check_names || format('%s.%s', minted.root, check_name);

        FOR written IN
            SELECT c.relname, c.relowner, a.atttypid, format('%I.%I', target, c.relname) AS copy,
                   ARRAY(SELECT k.conname FROM pg_constraint k WHERE k.conrelid = c.oid AND k.oid = ANY (replaced)) AS old_checks,
                   c.oid = ANY (minted.relations) AS mints
            FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = minted.attname
            WHERE c.oid = ANY (tree)
            ORDER BY (SELECT count(*) FROM pg_partition_ancestors(c.oid)) DESC, c.oid
        LOOP
            dropped_checks := dropped_checks || ARRAY(
                SELECT ARRAY[written.relowner::text, written.copy, NULL, format('ALTER TABLE ONLY %s DROP CONSTRAINT IF EXISTS %I', written.copy, name)]
                FROM unnest(written.old_checks) AS name);
            other_checks := other_checks || ARRAY(
                SELECT format('%I constraint %I', written.relname, name) FROM unnest(written.old_checks || check_name::name) AS name);
            CONTINUE WHEN NOT written.mints AND written.old_checks = '{}';
            shard_checks := shard_checks || format('%I.%I', written.relname, check_name);
            checks := checks || ARRAY[[written.relowner::text, written.copy, NULL,
                format('ALTER TABLE %s ADD CONSTRAINT %I CHECK (@extschema@.flake_shard(%I%s%s) = %s)',
                       written.copy, check_name, minted.attname, CASE WHEN written.atttypid <> 'bigint'::regtype THEN '::bigint' END,
                       CASE WHEN minted.is_named THEN format(', %L::@extschema@.flake_layout', minted.layout) END, shard)]];
        END LOOP;
    END LOOP;
    IF checks IS NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'undefined_column',
            MESSAGE = format('schema "%s" has no column that defaults to flake_id()', template);
    END IF;

    -- Everything is made by its owner, as he would have to: what he has written
    -- into a check or an index may be executed when it is made.  An owner that may
    -- not create anything in the schema may, for as long as this takes.
    --
    -- What owners grant by default (ALTER DEFAULT PRIVILEGES) may be more than the
    -- template's privileges, or less.
    FOR written IN
        WITH object AS (
            SELECT NULL AS relation, format('SCHEMA %I', target) AS name, NULL::name AS attname, 'n'::"char" AS type, n.nspacl AS acl, n.nspowner AS owner
            FROM pg_namespace n WHERE n.oid = source
            UNION ALL
            SELECT r.relation, k.kind || r.relation, a.attname, k.type, a.acl, c.relowner
            FROM pg_class c
            CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
            CROSS JOIN LATERAL (SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE ' ELSE 'TABLE ' END,
                                       CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END) AS k (kind, type)
            CROSS JOIN LATERAL (SELECT NULL::name, c.relacl
                                UNION ALL
                                SELECT attname, attacl FROM pg_attribute
                                WHERE attrelid = c.oid AND attacl IS NOT NULL AND NOT attisdropped) AS a (attname, acl)
            WHERE c.oid = ANY (tables || sequences)
        ), list AS (
            SELECT o.*, d.defaclacl, acldefault(o.type, o.owner) AS all_rights
            FROM object o
            LEFT JOIN pg_default_acl d ON o.attname IS NULL AND d.defaclrole = o.owner AND d.defaclnamespace = 0
             AND d.defaclobjtype = CASE o.type WHEN 's' THEN 'S' ELSE o.type END
        ), command AS (
            SELECT DISTINCT 1 AS stage, 0::bigint AS place, l.name, l.relation, l.owner, l.owner AS role, e.grantee, 'REVOKE ALL ON %1$s FROM %3$s' AS command,
                   NULL AS rights
            FROM list l, aclexplode(l.defaclacl) AS e WHERE e.grantee <> l.owner
            UNION ALL
            SELECT 2, min(e.place), l.name, l.relation, l.owner, e.grantor, e.grantee,
                   'GRANT %2$s ON %1$s TO %3$s' || CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END
                   || CASE WHEN e.grantor <> l.owner THEN ' GRANTED BY ' || quote_ident(pg_get_userbyid(e.grantor)) ELSE '' END,
                   string_agg(e.privilege_type || coalesce(' (' || quote_ident(l.attname) || ')', ''), ', ')
            FROM list l, aclexplode(CASE WHEN l.defaclacl IS NULL THEN l.acl ELSE coalesce(l.acl, l.all_rights) END)
                         WITH ORDINALITY AS e (grantor, grantee, privilege_type, is_grantable, place)
            WHERE e.grantee <> l.owner OR l.defaclacl IS NOT NULL
            GROUP BY l.name, l.relation, l.owner, e.grantor, e.grantee, e.is_grantable, l.attname
            UNION ALL
            SELECT 3, 0, l.name, l.relation, l.owner, l.owner, l.owner, 'REVOKE %2$s ON %1$s FROM %3$s', string_agg(e.privilege_type, ', ')
            FROM list l, aclexplode(l.all_rights) AS e
            WHERE e.grantee = l.owner AND l.acl IS NOT NULL AND l.attname IS NULL
              AND NOT EXISTS (SELECT FROM aclexplode(l.acl) AS h WHERE h.grantee = l.owner AND h.privilege_type = e.privilege_type)
            GROUP BY l.name, l.relation, l.owner
        )
        SELECT stage, relation IS NULL AS is_schema,
               ARRAY[role::text, CASE WHEN role = owner THEN relation END, NULL,
                     format(command, name, rights, CASE grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(grantee)) END)] AS step
        FROM command ORDER BY stage, name, place
    LOOP
        IF written.stage = 3 THEN
            revokes := revokes || ARRAY[written.step];
        ELSIF written.is_schema THEN
            statements := statements || ARRAY[written.step];
        ELSE
            grants := grants || ARRAY[written.step];
        END IF;
    END LOOP;
    guests := ARRAY(
        SELECT DISTINCT quote_ident(pg_get_userbyid(c.relowner))
        FROM pg_class c, pg_namespace n
        WHERE c.oid = ANY (tables || sequences) AND n.oid = source
          AND NOT has_schema_privilege(c.relowner, n.oid, 'CREATE'));
    statements := statements || ARRAY(
        SELECT ARRAY[n.nspowner::text, NULL, NULL, format('GRANT CREATE ON SCHEMA %I TO %s', target, guest)]
        FROM pg_namespace n, unnest(guests) AS guest WHERE n.oid = source);

    -- Sequences; tables; then sequences of identity columns, to which LIKE would give
    -- other names.
    statements := statements || ARRAY(
        WITH sequence AS (
            SELECT c.oid, c.relowner::text AS owner, c.relpersistence, d.refobjid, d.refobjsubid, format('%I.%I', target, c.relname) AS name,
                   format('INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s%s', q.seqincrement, q.seqmin, q.seqmax, q.seqstart,
                          q.seqcache, CASE WHEN q.seqcycle THEN ' CYCLE' END) AS options, q.seqtypid
            FROM pg_sequence q
            JOIN pg_class c ON c.oid = q.seqrelid
            LEFT JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.refclassid = 'pg_class'::regclass AND d.deptype = 'i'
            WHERE c.oid = ANY (sequences)
        )
        SELECT step
        FROM (SELECT 1, oid, ARRAY[owner, name, 'new',
                                   format('CREATE %sSEQUENCE %s AS %s %s', CASE relpersistence WHEN 'u' THEN 'UNLOGGED ' END,
                                          name, seqtypid::regtype, options)]
              FROM sequence WHERE refobjid IS NULL
              UNION ALL
              SELECT 2, c.oid, ARRAY[c.relowner::text, format('%I.%I', target, c.relname), 'new',
                   format('CREATE %sTABLE %I.%I (LIKE %I.%3$I INCLUDING ALL EXCLUDING INDEXES EXCLUDING IDENTITY)',
                          CASE c.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, target, c.relname, template)
                   || CASE c.relkind WHEN 'p' THEN ' PARTITION BY ' || pg_get_partkeydef(c.oid) ELSE '' END
                   || coalesce(' USING ' || quote_ident((SELECT amname FROM pg_am a WHERE a.oid = c.relam)), '')
                   || coalesce((SELECT ' WITH (' || string_agg(format('%s%I = %L', namespace, option_name, option_value), ', ') || ')'
                                FROM (SELECT '', * FROM pg_options_to_table(c.reloptions)
                                      UNION ALL
                                      SELECT 'toast.', o.* FROM pg_class t, pg_options_to_table(t.reloptions) AS o
                                      WHERE t.oid = c.reltoastrelid) AS o (namespace, option_name, option_value)), '')
                   || coalesce(' TABLESPACE ' || quote_ident((SELECT spcname FROM pg_tablespace s
                                                              WHERE s.oid = c.reltablespace)), '')]
              FROM pg_class c WHERE c.oid = ANY (tables)
              UNION ALL
              SELECT 3, s.oid, ARRAY[s.owner, format('%I.%I', target, c.relname), NULL,
                                     format('ALTER TABLE %I.%I ALTER COLUMN %I ADD GENERATED %s AS IDENTITY (SEQUENCE NAME %s %s)', target, c.relname,
                                            a.attname, CASE a.attidentity WHEN 'a' THEN 'ALWAYS' ELSE 'BY DEFAULT' END, s.name, s.options)]
              FROM sequence s
              JOIN pg_class c ON c.oid = s.refobjid
              JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = s.refobjsubid
              UNION ALL     -- ADD GENERATED forgets about it.
              SELECT 4, oid, ARRAY[owner, name, NULL, format('ALTER SEQUENCE %s SET UNLOGGED', name)]
              FROM sequence WHERE refobjid IS NOT NULL AND relpersistence = 'u') AS s (stage, oid, step)
        ORDER BY stage, oid);

    -- Privileges, which foreign keys may need
    statements := statements || grants;

    statements := statements || defaults || dropped_checks;

    -- Sequences that belong to a column
    statements := statements || ARRAY(
        SELECT ARRAY[q.relowner::text, format('%I.%I', target, q.relname), NULL,
                     format('ALTER SEQUENCE %I.%I OWNED BY %1$I.%3$I.%4$I', target, q.relname, c.relname, a.attname)]
        FROM pg_depend d
        JOIN pg_class q ON q.oid = d.objid
        JOIN pg_class c ON c.oid = d.refobjid
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.refobjsubid
        WHERE d.classid = 'pg_class'::regclass AND d.objid = ANY (sequences)
          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (tables) AND d.deptype = 'a'
        ORDER BY q.oid);

    -- Keys, then other indexes, under their names
    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('SELECT @extschema@._flake_copy_index(%L::oid, %L::regclass)', i.indexrelid, format('%I.%I', target, c.relname))]
        FROM pg_index i
        JOIN pg_class c ON c.oid = i.indrelid
        LEFT JOIN pg_constraint k ON k.conindid = i.indexrelid AND k.contype IN ('p', 'u', 'x')
        WHERE c.oid = ANY (tables)
        ORDER BY k.oid, i.indexrelid);
    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE ONLY %I.%I REPLICA IDENTITY %s', target, c.relname,
                            CASE c.relreplident WHEN 'n' THEN 'NOTHING' WHEN 'f' THEN 'FULL'
                            ELSE format('USING INDEX %I', (SELECT x.relname FROM pg_index i
                                                           JOIN pg_class x ON x.oid = i.indexrelid
                                                           WHERE i.indrelid = c.oid AND i.indisreplident)) END)]
        FROM pg_class c WHERE c.oid = ANY (tables) AND c.relreplident <> 'd' ORDER BY c.oid);

    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE %I.%I CLUSTER ON %I', target, c.relname, x.relname)]
        FROM pg_index i
        JOIN pg_class c ON c.oid = i.indrelid
        JOIN pg_class x ON x.oid = i.indexrelid
        WHERE c.oid = ANY (tables) AND i.indisclustered ORDER BY c.oid);

    -- What is set for the planner, of columns and of expressions in indexes
    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     CASE WHEN i.indexrelid IS NULL THEN format('ALTER TABLE ONLY %I.%I ALTER COLUMN %I SET %s', target, c.relname, a.attname, v.setting)
                     ELSE format('ALTER INDEX %I.%I ALTER COLUMN %s SET %s', target, c.relname, a.attnum, v.setting) END]
        FROM pg_class c
        JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
        LEFT JOIN pg_index i ON i.indexrelid = c.oid
        CROSS JOIN LATERAL (
            SELECT 'STATISTICS ' || a.attstattarget WHERE a.attstattarget >= 0
            UNION ALL
            SELECT '(' || string_agg(format('%I = %L', option_name, option_value), ', ') || ')'
            FROM pg_options_to_table(a.attoptions) WHERE i.indexrelid IS NULL AND option_name <> 'pg_attver' HAVING count(*) > 0) AS v (setting)
        WHERE c.oid = ANY (tables) OR i.indrelid = ANY (tables)
        ORDER BY c.oid, a.attnum);

    -- Partitions, which take over what they have in common with their parents
    statements := statements || ARRAY(
        SELECT ARRAY[p.relowner::text, format('%I.%I', target, p.relname), NULL,
                     format('ALTER TABLE %I.%I ATTACH PARTITION %1$I.%3$I %4$s',
                            target, p.relname, c.relname, pg_get_expr(c.relpartbound, c.oid))]
        FROM pg_inherits i
        JOIN pg_class c ON c.oid = i.inhrelid
        JOIN pg_class p ON p.oid = i.inhparent
        WHERE c.oid = ANY (tables)
        ORDER BY c.oid) || checks;

    -- Foreign keys, triggers
    FOR written IN
        SELECT 1 AS kind, k.oid, k.conname AS name, c.relname, c.relowner,
               format('ALTER TABLE %I.%I ADD CONSTRAINT %I ', target, c.relname, k.conname) AS prefix,
               pg_get_constraintdef(k.oid) AS definition,
               CASE WHEN r.oid IS NOT NULL THEN format(') REFERENCES %I.%I(', template, r.relname) END AS original,
               CASE WHEN r.oid IS NOT NULL THEN format(') REFERENCES %I.%I(', target, r.relname) END AS copy,
               CASE WHEN r.oid IS NOT NULL THEN format('%I.%I', target, r.relname) ELSE k.confrelid::regclass::text END AS referenced
        FROM pg_constraint k
        JOIN pg_class c ON c.oid = k.conrelid
        LEFT JOIN pg_class r ON r.oid = k.confrelid AND r.oid = ANY (tables)
        WHERE c.oid = ANY (tables) AND k.contype = 'f' AND k.conparentid = 0
        UNION ALL
        SELECT 2, t.oid, t.tgname, c.relname, c.relowner, '',
               pg_get_triggerdef(t.oid),
               format(' ON %I.%I ', template, c.relname) || CASE WHEN r.oid IS NOT NULL THEN format('FROM %I.%I ', template, r.relname) ELSE '' END,
               format(' ON %I.%I ', target, c.relname) || CASE WHEN r.oid IS NOT NULL THEN format('FROM %I.%I ', target, r.relname) ELSE '' END, NULL
        FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid
        LEFT JOIN pg_class r ON r.oid = t.tgconstrrelid AND r.oid = ANY (tables)
        WHERE c.oid = ANY (tables) AND NOT t.tgisinternal AND t.tgparentid = 0
        ORDER BY 1, 2
    LOOP
        IF written.original IS NOT NULL AND cardinality(string_to_array(written.definition, written.original)) <> 2 THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot copy table "%s" of schema "%s"', written.relname, template),
                DETAIL = format('There is "%s" in %s.', written.original, written.definition),
                HINT = 'Give what has such a name another one.';
        END IF;
        IF written.referenced IS NOT NULL THEN
            statements := statements || ARRAY[[written.relowner::text, written.referenced, NULL, NULL]];
        END IF;
        statements := statements || ARRAY[[written.relowner::text, format('%I.%I', target, written.relname), NULL,
            written.prefix || CASE WHEN written.original IS NULL THEN written.definition
                                   ELSE replace(written.definition, written.original, written.copy) END]];
    END LOOP;
    statements := statements || ARRAY(
        SELECT ARRAY[c.relowner::text, format('%I.%I', target, c.relname), NULL,
                     format('ALTER TABLE ONLY %I.%I %s TRIGGER %I', target, c.relname,
                            CASE t.tgenabled WHEN 'A' THEN 'ENABLE ALWAYS' WHEN 'R' THEN 'ENABLE REPLICA' ELSE 'DISABLE' END,
                            t.tgname)]
        FROM pg_trigger t
        JOIN pg_class c ON c.oid = t.tgrelid
        WHERE c.oid = ANY (tables) AND NOT t.tgisinternal AND t.tgenabled <> 'O'
        ORDER BY t.oid);

    -- Comments, but for those that LIKE has copied
    statements := statements || ARRAY(
        SELECT ARRAY[o.owner::text, o.relation, NULL, format('COMMENT ON %s IS %L', o.name, d.description)]
        FROM (SELECT 'pg_namespace'::regclass::oid, n.oid, n.nspowner, NULL, format('SCHEMA %I', target) FROM pg_namespace n WHERE n.oid = source
              UNION ALL
              SELECT 'pg_class'::regclass, c.oid, c.relowner, r.relation,
                     CASE WHEN c.relkind = 'S' THEN 'SEQUENCE ' WHEN i.indexrelid IS NOT NULL THEN 'INDEX ' ELSE 'TABLE ' END || r.relation
              FROM pg_class c
              LEFT JOIN pg_index i ON i.indexrelid = c.oid
              CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
              WHERE c.oid = ANY (tables || sequences) OR i.indrelid = ANY (tables)
              UNION ALL
              SELECT p.class, p.oid, c.relowner, r.relation, format('%s %I ON %s', p.kind, p.name, r.relation)
              FROM pg_class c
              CROSS JOIN LATERAL (VALUES (format('%I.%I', target, c.relname))) AS r (relation)
              CROSS JOIN LATERAL (
                  SELECT 'pg_constraint'::regclass::oid, k.oid, 'CONSTRAINT', k.conname
                  FROM pg_constraint k WHERE k.conrelid = c.oid AND k.contype <> 'c' AND NOT (k.contype = 'f' AND k.conparentid <> 0)
                  UNION ALL
                  SELECT 'pg_trigger'::regclass, t.oid, 'TRIGGER', t.tgname
                  FROM pg_trigger t WHERE t.tgrelid = c.oid AND NOT t.tgisinternal) AS p (class, oid, kind, name)
              WHERE c.oid = ANY (tables)) AS o (class, oid, owner, relation, name)
        JOIN pg_description d ON d.classoid = o.class AND d.objoid = o.oid AND d.objsubid = 0
        ORDER BY o.class, o.oid);

    statements := statements || ARRAY(
        SELECT ARRAY[d.defaclrole::text, NULL, NULL,
                     format('ALTER DEFAULT PRIVILEGES FOR ROLE %I IN SCHEMA %I GRANT %s ON %s TO %s%s', pg_get_userbyid(d.defaclrole), target,
                            string_agg(e.privilege_type, ', '),
                            CASE d.defaclobjtype WHEN 'r' THEN 'TABLES' WHEN 'S' THEN 'SEQUENCES' WHEN 'f' THEN 'FUNCTIONS' ELSE 'TYPES' END,
                            CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END,
                            CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' END)]
        FROM pg_default_acl d, aclexplode(d.defaclacl) AS e
        WHERE d.defaclnamespace = source
        GROUP BY d.oid, d.defaclrole, d.defaclobjtype, e.grantee, e.is_grantable);
    statements := statements || revokes;

    statements := statements || ARRAY(
        SELECT ARRAY[n.nspowner::text, NULL, NULL, format('REVOKE CREATE ON SCHEMA %I FROM %s', target, guest)]
        FROM pg_namespace n, unnest(guests) AS guest WHERE n.oid = source);

    EXECUTE format('CREATE SCHEMA %I AUTHORIZATION %I', target,
                   (SELECT pg_get_userbyid(nspowner) FROM pg_namespace WHERE oid = source));
    target_oid := to_regnamespace(quote_ident(target));
    PERFORM @extschema@._flake_execute_steps(ticket, schemas || ARRAY[source, target_oid], named || tables || sequences, '{}'::oid[], statements, false);

    -- LIKE has given names to statistics objects.  They are made in the order of
    -- the originals, and two may have each other's.
    SELECT array_agg(ARRAY[role, NULL, NULL, command] ORDER BY stage, id) INTO statements
    FROM (WITH numbered AS (
              SELECT x.*, c.relname, c.relowner, row_number() OVER (PARTITION BY x.stxrelid ORDER BY x.oid) AS number
              FROM pg_statistic_ext x JOIN pg_class c ON c.oid = x.stxrelid
              WHERE x.stxrelid = ANY (tables) OR c.relnamespace = target_oid
          ), pair AS (
              SELECT n.oid AS id, n.relowner::text AS role, o.stxname AS name, o.stxstattarget AS aim, n.stxname AS given,
                     n.oid || '_of_' || target_oid AS interim
              FROM numbered o JOIN numbered n USING (relname, number) WHERE o.stxnamespace = source AND n.stxnamespace = target_oid
          )
          SELECT 1, id, role, format('ALTER STATISTICS %I.%I RENAME TO %I', target, given, interim) FROM pair WHERE given <> name
          UNION ALL
          SELECT 2, id, role, format('ALTER STATISTICS %I.%I RENAME TO %I', target, interim, name) FROM pair WHERE given <> name
          UNION ALL
          SELECT 3, id, role, format('ALTER STATISTICS %I.%I SET STATISTICS %s', target, name, aim) FROM pair WHERE aim >= 0) AS s (stage, id, role, command);
    PERFORM @extschema@._flake_execute_steps(ticket, schemas || ARRAY[source, target_oid], named || tables || sequences, '{}'::oid[],
                                            coalesce(statements, '{}'), false);

    -- Whatever was executed, the copy is there, is bound to what the template is
    -- bound to, and lets nobody do more.
    WITH copied AS (
        SELECT o.oid AS original, n.oid AS copy, o.relname, o.relowner
        FROM pg_class o
        LEFT JOIN pg_class n ON n.relnamespace = target_oid AND n.relname = o.relname
         AND n.relkind = o.relkind AND n.relowner = o.relowner
        WHERE o.oid = ANY (tables || sequences || ARRAY(SELECT indexrelid FROM pg_index WHERE indrelid = ANY (tables)))
    ), part AS (
        SELECT c.original AS relation, s.is_copy, p.*
        FROM copied c
        CROSS JOIN LATERAL (VALUES (false, c.original), (true, c.copy)) AS s (is_copy, id)
        CROSS JOIN LATERAL (
            SELECT 'pg_attrdef'::regclass, a.attname, f.oid
            FROM pg_attribute a JOIN pg_attrdef f ON f.adrelid = a.attrelid AND f.adnum = a.attnum
            WHERE a.attrelid = s.id
            UNION ALL
            SELECT 'pg_constraint'::regclass, k.conname, k.oid
            FROM pg_constraint k
            WHERE k.conrelid = s.id AND k.coninhcount = 0 AND k.contype IN ('c', 'f', 'p', 'u', 'x')
              AND format('%I.%I', c.relname, k.conname) <> ALL (shard_checks)
            UNION ALL
            SELECT 'pg_trigger'::regclass, t.tgname, t.oid
            FROM pg_trigger t
            WHERE t.tgrelid = s.id AND NOT t.tgisinternal AND t.tgparentid = 0) AS p (class, name, id)
    ), pair AS (
        SELECT 'pg_class'::regclass AS class, original, copy FROM copied
        UNION ALL
        SELECT class, o.id, n.id
        FROM (SELECT * FROM part WHERE NOT is_copy) AS o
        FULL JOIN (SELECT * FROM part WHERE is_copy) AS n USING (relation, class, name)
        WHERE n.id IS NOT NULL OR NOT EXISTS (SELECT FROM pg_constraint WHERE class = 'pg_constraint'::regclass AND oid = o.id AND contype = 'c')
    ), need AS (
        SELECT p.class, p.original, s.is_copy, d.refclassid,
               CASE WHEN d.refobjid = ANY (minting) THEN minting[1] ELSE coalesce(c.copy, d.refobjid) END AS refobjid,
               (SELECT attname FROM pg_attribute WHERE attrelid = d.refobjid AND attnum = d.refobjsubid AND d.refobjsubid <> 0
                AND d.refclassid = 'pg_class'::regclass) AS attname
        FROM pair p
        CROSS JOIN LATERAL (VALUES (false, p.original), (true, p.copy)) AS s (is_copy, id)
        JOIN pg_depend d ON d.classid = p.class AND d.objid = s.id AND d.deptype NOT IN ('P', 'S')
         AND d.refclassid NOT IN ('pg_namespace'::regclass, 'pg_constraint'::regclass, 'pg_extension'::regclass)
        LEFT JOIN copied c ON NOT s.is_copy AND d.refclassid = 'pg_class'::regclass AND c.original = d.refobjid
    ), difference AS (
        SELECT class, coalesce(original, copy) AS id FROM pair WHERE original IS NULL OR copy IS NULL
        UNION ALL
        (SELECT class, original FROM (SELECT class, original, refclassid, refobjid, attname FROM need WHERE NOT is_copy
                                      EXCEPT SELECT class, original, refclassid, refobjid, attname FROM need WHERE is_copy) AS n)
        UNION ALL
        (SELECT class, original FROM (SELECT class, original, refclassid, refobjid, attname FROM need WHERE is_copy
                                      EXCEPT SELECT class, original, refclassid, refobjid, attname FROM need WHERE NOT is_copy) AS n)
        UNION ALL
        SELECT 'pg_class'::regclass, c.original
        FROM unnest(shard_checks) AS name
        JOIN copied c ON starts_with(name, quote_ident(c.relname) || '.')
        LEFT JOIN pg_constraint k ON k.conrelid = c.copy AND k.contype = 'c' AND format('%I.%I', c.relname, k.conname) = name
        WHERE k.oid IS NULL
           OR ARRAY['@extschema@.flake_shard(bigint, @extschema@.flake_layout)'::regprocedure::oid] IS DISTINCT FROM (
                SELECT array_agg(DISTINCT d.refobjid) FROM pg_depend d
                WHERE d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
                  AND d.refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))
    )
    SELECT i.type, i.identity INTO problem FROM difference d, pg_identify_object(d.class, d.id, 0) AS i LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('%s %s was changed meanwhile', problem.type, problem.identity),
            DETAIL = 'Its copy would depend on other objects.',
            HINT = 'If nothing was changed, its definition has no text that means the same. Copy it by hand.';
    END IF;

    -- Owners could create objects in the schema for as long as it took.
    SELECT i.type, i.identity INTO problem
    FROM pg_depend d, pg_identify_object(d.classid, d.objid, 0) AS i
    WHERE d.refclassid = 'pg_namespace'::regclass AND d.refobjid = target_oid
      AND CASE d.classid
          WHEN 'pg_class'::regclass THEN NOT EXISTS (SELECT FROM pg_class o JOIN pg_class n ON n.oid = d.objid
                                                     WHERE o.relnamespace = source AND o.relname = n.relname)
          WHEN 'pg_statistic_ext'::regclass THEN NOT EXISTS (SELECT FROM pg_statistic_ext x JOIN pg_class c ON c.oid = x.stxrelid
                                                             WHERE x.oid = d.objid AND c.relnamespace = target_oid)
          WHEN 'pg_default_acl'::regclass THEN false
          ELSE true END
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('%s %s was created meanwhile', problem.type, problem.identity),
            DETAIL = format('Something that was executed, such as a function in a check or an index, has put it into schema "%s".', target);
    END IF;

    WITH original AS (SELECT * FROM @extschema@._flake_traits(source)),
         copy AS (SELECT * FROM @extschema@._flake_traits(target_oid))
    SELECT d.object, d.trait INTO problem
    FROM ((SELECT * FROM original EXCEPT ALL SELECT * FROM copy)
          UNION ALL
          (SELECT * FROM copy EXCEPT ALL SELECT * FROM original)) AS d
    WHERE d.object <> ALL (other_checks)
    ORDER BY d.object, d.trait LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make an exact copy of schema "%s"', template),
            DETAIL = format('In the copy, %s would have another %s.', problem.object, problem.trait),
            HINT = 'If it was changed meanwhile, try again. Or change it in the template.';
    END IF;
    RETURN target;
END
$function$;

COMMENT ON FUNCTION @extschema@._flake_create_shard_guarded(@extschema@._flake_ticket, int, name, name) IS
'what flake_create_shard() does, which calls it; null without a ticket';

CREATE FUNCTION @extschema@.flake_create_shard(shard int, template name, schema name DEFAULT NULL)
RETURNS name
LANGUAGE sql VOLATILE PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT @extschema@._flake_create_shard_guarded(@extschema@._flake_guard('@extschema@'::text), shard, template, schema);
END;

COMMENT ON FUNCTION @extschema@.flake_create_shard(int, name, name) IS
'creates a schema for one shard, called template_shard unless schema is given, with the tables of the schema template and nothing in them: all their properties, comments, owners and privileges; columns that default to flake_id() mint the shard there, and are checked to hold it; the name of the schema, null if shard or template is; errors: 3F000 no such template, 42P06 the schema exists already, 42703 no column defaults to flake_id(), 22003 no such shard, 25006 read-only, 42501 if the user cannot be the owner of something in it, 0A000 for what cannot be copied, such as views, and foreign keys that would execute what the owner of the other table has written, 42622 the name is too long, 55000 if what was executed changed what was to be copied';


-- Text forms and sealed ids

CREATE FUNCTION @extschema@.flake_to_text(id bigint, base int DEFAULT 62)
RETURNS text
AS 'MODULE_PATHNAME', 'flake_to_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_to_text(bigint, int) IS
'an id as text of fixed width, which sorts in C collation as ids do (negative ones after the others): base 16 (16 digits), 32 (Crockford, 13), 58 (Bitcoin, 11) or 62 (0-9A-Za-z, 11); error: 22023 for another base';

CREATE FUNCTION @extschema@.flake_from_text(id text, base int DEFAULT 62)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_from_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_from_text(text, int) IS
'the id of a text that flake_to_text() wrote, also without zeros at the beginning; errors: 22023 for another base, 22P02 for anything else';

CREATE FUNCTION @extschema@.flake_seal(id bigint, key text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_seal'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_seal(bigint, text) IS
'a keyed permutation of all bigints, so that an id shown in public tells neither time nor shard nor how many there are: ten rounds of a Feistel network with HMAC-SHA-256; flake_unseal() undoes it; error: 22023 for an empty key';

CREATE FUNCTION @extschema@.flake_unseal(sealed bigint, key text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_unseal'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_unseal(bigint, text) IS
'the id that flake_seal() has sealed with the same key; any bigint is one, so a wrong key gives a wrong id and no error; error: 22023 for an empty key';


-- Partitions by time

CREATE FUNCTION @extschema@._flake_check_partitioned(parent regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_check_partitioned'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_check_partitioned(regclass) IS
'does nothing for a table PARTITION BY RANGE of an id; error: 42809 for others';

CREATE FUNCTION @extschema@.flake_partitions(parent regclass,
    layout @extschema@.flake_layout DEFAULT 'instagram',
    OUT partition regclass, OUT lower_bound bigint, OUT upper_bound bigint,
    OUT since timestamptz, OUT upto timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT @extschema@._flake_check_partitioned(parent);
    SELECT b.oid::pg_catalog.regclass, b.lower_bound, b.upper_bound,
           @extschema@.flake_timestamp(b.lower_bound, layout),
           @extschema@.flake_timestamp(b.upper_bound, layout)
    FROM (SELECT c.oid,
                 substring(pg_catalog.pg_get_expr(c.relpartbound, c.oid) FROM 'FROM \(''?(-?[0-9]+)'::text)::bigint AS lower_bound,
                 substring(pg_catalog.pg_get_expr(c.relpartbound, c.oid) FROM 'TO \(''?(-?[0-9]+)'::text)::bigint AS upper_bound
          FROM pg_catalog.pg_inherits i
          JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = parent::pg_catalog.oid
            AND pg_catalog.pg_get_expr(c.relpartbound, c.oid) <> 'DEFAULT'::text) b
    ORDER BY b.lower_bound NULLS FIRST;
END;

COMMENT ON FUNCTION @extschema@.flake_partitions(regclass, @extschema@.flake_layout) IS
'the partitions of a table, PARTITION BY RANGE of an id, but for the default one: ids from lower_bound to below upper_bound, which are of times from since to upto; null without a bound; error: 42809 for other tables';

-- Steps of all calls meet: months are counted from the year 1, days from a Monday,
-- both in local time, and shorter ones from an instant.  What is between two
-- instants at which steps begin is one step, whatever the zone's offset does: a
-- midnight that comes twice begins a day the second time, and a day that was left
-- out is no step.  Offsets differ by up to 26 hours, so the step is among these.
CREATE FUNCTION @extschema@._flake_partition_step(width interval, ts timestamptz, zone text,
    OUT since timestamptz, OUT upto timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT max(b.start) FILTER (WHERE b.start <= ts), min(b.start) FILTER (WHERE b.start > ts)
    FROM (SELECT extract(year FROM width) * 12::numeric + extract(month FROM width) AS months,
                 extract(day FROM width) AS days,
                 pg_catalog.timezone(zone, ts) AS local) w
    CROSS JOIN pg_catalog.generate_series(-2, 3) n
    CROSS JOIN LATERAL (
        SELECT CASE WHEN w.months > 0::numeric THEN
                        pg_catalog.timezone(zone, pg_catalog.date_trunc('month'::text, w.local) + pg_catalog.make_interval(months =>
                            (n::numeric * w.months - mod(mod(extract(year FROM w.local) * 12::numeric + extract(month FROM w.local) - 1::numeric, w.months)
                                                         + w.months, w.months))::int))
                    WHEN w.days > 0::numeric THEN
                        pg_catalog.timezone(zone, pg_catalog.date_bin(width, w.local, '2001-01-01'::timestamp) + n::float8 * width)
                    ELSE pg_catalog.date_bin(width, ts, pg_catalog.timezone(zone, '2001-01-01'::timestamp)) + n::float8 * width
               END AS start) b;
END;

COMMENT ON FUNCTION @extschema@._flake_partition_step(interval, timestamptz, text) IS
'what a partition for an instant is for, of the steps of flake_create_partitions(), which checks the width: the instants from since to before upto; for functions of flakeid; error: 22023 no such time zone';

CREATE FUNCTION @extschema@._flake_create_partitions_guarded(ticket @extschema@._flake_ticket,
    parent regclass, width interval, since timestamptz, upto timestamptz,
    layout @extschema@.flake_layout, zone text)
RETURNS SETOF regclass
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    months int := extract(year FROM width) * 12 + extract(month FROM width);
    days int := extract(day FROM width);
    rest interval := width - make_interval(months => months, days => days);
    step pg_catalog.record;
    first_id bigint;
    end_id bigint;
    suffix pg_catalog.text;
    existing pg_catalog.record;
    of_parent pg_catalog.record;
    created bigint[] := '{}';   -- where the new partitions begin
    steps pg_catalog.text[] := '{}';
BEGIN
    PERFORM @extschema@._flake_check_partitioned(parent);
    IF NOT isfinite(since) OR NOT isfinite(upto) THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = 'partitions must begin and end at a finite time';
    ELSIF ((months > 0)::int + (days > 0)::int + (rest > '0')::int = 1 AND months >= 0 AND days >= 0 AND rest >= '0') IS NOT TRUE THEN
        RAISE EXCEPTION USING ERRCODE = 'invalid_parameter_value',
            MESSAGE = format('cannot make partitions of width "%s"', width),
            HINT = 'Give a number of years and months, or of weeks and days, or of hours, minutes and seconds.';
    END IF;

    -- From here on nobody else changes its name, schema or owner.
    PERFORM @extschema@._flake_guard_relation(ticket, parent::oid, false);
    SELECT relname, relnamespace, relowner INTO of_parent FROM pg_class WHERE oid = parent;
    PERFORM @extschema@._flake_guard_schemas(ticket, ARRAY[of_parent.relnamespace]::oid[]);

    -- What is made as the owner of the parent looks at the default partition, and
    -- evaluates its checks; nobody can add one from here on.
    PERFORM @extschema@._flake_guard_relation(ticket, t.relid::oid, false)
    FROM pg_partitioned_table p CROSS JOIN LATERAL pg_partition_tree(p.partdefid) t
    WHERE p.partrelid = parent;
    SELECT c.relname INTO existing
    FROM pg_partitioned_table p
    CROSS JOIN LATERAL pg_partition_tree(p.partdefid) t
    JOIN pg_class c ON c.oid = t.relid
    WHERE p.partrelid = parent AND NOT @extschema@._flake_trusts(of_parent.relowner, c.relowner)
      -- its owner can give it another partition, with checks, at any time
      AND (c.relkind = 'p' OR EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.oid AND contype = 'c'))
    LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot create partitions of "%s" beside default partition "%s"', of_parent.relname, existing.relname),
            DETAIL = 'They belong to different roles, and checks of the default partition would be evaluated as the owner of the table.',
            HINT = 'Give both to one role with ALTER TABLE ... OWNER TO.';
    END IF;

    WHILE since < upto LOOP
        SELECT * INTO step FROM @extschema@._flake_partition_step(width, since, zone);
        first_id := @extschema@.flake_lower(step.since, layout);
        end_id := @extschema@.flake_lower(step.upto, layout);
        IF first_id >= end_id THEN
            RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
                MESSAGE = format('layout "%s" has no ids from %s to %s', layout, step.since, step.upto);
        END IF;

        SELECT p.*, i.inhdetachpending INTO existing
        FROM @extschema@.flake_partitions(parent, layout) p JOIN pg_inherits i ON i.inhrelid = p.partition
        WHERE coalesce(p.lower_bound < end_id, true) AND coalesce(p.upper_bound > first_id, true)
        ORDER BY i.inhdetachpending DESC LIMIT 1;
        IF NOT FOUND THEN
            suffix := CASE WHEN months > 0 THEN to_char(step.since AT TIME ZONE zone, '"_p"YYYYMM')
                           WHEN days > 0 THEN to_char(step.since AT TIME ZONE zone, '"_p"YYYYMMDD')
                           ELSE to_char(step.since AT TIME ZONE 'UTC', CASE WHEN rest >= '1 minute' THEN '"_p"YYYYMMDD"_"HH24MI"z"'
                                                                            ELSE '"_p"YYYYMMDD"_"HH24MISSUS"z"' END)
                      END;
            -- A name has 63 bytes, and it is the suffix that tells partitions apart.
            steps := steps || (
                SELECT ARRAY[[of_parent.relowner::text, parent::text, parent::oid::text,
                              format('CREATE TABLE %I.%I PARTITION OF %s FOR VALUES FROM (%s) TO (%s)', nspname,
                                     left(of_parent.relname, i) || suffix, parent, first_id, end_id)]]
                FROM pg_namespace, generate_series(0, 63) AS i
                WHERE oid = of_parent.relnamespace AND octet_length(left(of_parent.relname, i)) <= 63 - length(suffix)
                ORDER BY i DESC LIMIT 1);
            created := created || first_id;
        ELSIF existing.inhdetachpending THEN
            RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
                MESSAGE = format('partition from %s to %s cannot be created before partition "%s" is detached', step.since, step.upto, existing.partition),
                DETAIL = 'Detaching it concurrently has begun, and is not complete.',
                HINT = format('If nobody is doing it, complete it with ALTER TABLE %s DETACH PARTITION %s FINALIZE.', parent, existing.partition);
        ELSIF (existing.lower_bound, existing.upper_bound) IS DISTINCT FROM (first_id, end_id) THEN
            RAISE EXCEPTION USING ERRCODE = 'invalid_object_definition',
                MESSAGE = format('partition from %s to %s would overlap partition "%s"', step.since, step.upto, existing.partition),
                DETAIL = format('Its ids would be from %s to below %s, and that one''s are from %s to below %s.',
                                first_id, end_id, coalesce(existing.lower_bound::text, 'the first'), coalesce(existing.upper_bound::text, 'the end')),
                HINT = 'Use the width and the time zone that the existing ones were made with, or begin after them.';
        END IF;
        since := step.upto;
    END LOOP;

    -- As the owner: a partition key and a default partition can have code of his.
    PERFORM @extschema@._flake_execute_steps(ticket, ARRAY[of_parent.relnamespace]::oid[], ARRAY[parent]::oid[], '{}'::oid[], steps, false);
    RETURN QUERY SELECT p.partition FROM @extschema@.flake_partitions(parent, layout) p
                 WHERE p.lower_bound = ANY (created) ORDER BY p.lower_bound;
END
$function$;

COMMENT ON FUNCTION @extschema@._flake_create_partitions_guarded(@extschema@._flake_ticket, regclass, interval, timestamptz, timestamptz, @extschema@.flake_layout, text) IS
'what flake_create_partitions() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_create_partitions(parent regclass, width interval,
    since timestamptz, upto timestamptz,
    layout @extschema@.flake_layout DEFAULT 'instagram',
    zone text DEFAULT pg_catalog.current_setting('TimeZone'::text))
RETURNS SETOF regclass
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT p FROM @extschema@._flake_create_partitions_guarded(
        @extschema@._flake_guard('@extschema@'::text), parent, width, since, upto, layout, zone) p;
END;

COMMENT ON FUNCTION @extschema@.flake_create_partitions(regclass, interval, timestamptz, timestamptz, @extschema@.flake_layout, text) IS
'creates the partitions of a table, PARTITION BY RANGE of an id, for the times from since to before upto: one for each width, such as 1 hour, 1 day, 1 week (from Monday) or 1 month, of the calendar in a time zone; they belong to the table''s owner; those that were created, not those that were there already; errors: 42501 unless the user is the owner or may be, 42809 for other tables, 22023 for other widths, 23514 if the default partition has rows of a new one, 25006 read-only, 42P17 if one would overlap a partition that is not the same, 42P07 if a relation of its name is there already, 55000 if a partition of these times is only half detached, 0A000 if another role can write checks for the default partition, 22003 past the layout''s lifetime';

CREATE FUNCTION @extschema@._flake_drop_partitions_guarded(ticket @extschema@._flake_ticket,
    parent regclass, before timestamptz,
    layout @extschema@.flake_layout, "concurrently" boolean)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    last_id bigint := @extschema@.flake_lower(before, layout);
    partition pg_catalog.record;
    other pg_catalog.record;
    old pg_catalog.oid[];
    schemas pg_catalog.oid[];
    command pg_catalog.text;
    steps pg_catalog.text[] := '{}';
BEGIN
    IF "concurrently" AND EXISTS (SELECT FROM pg_partitioned_table WHERE partrelid = parent AND partdefid <> 0) THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('cannot detach partitions of "%s" concurrently', (SELECT relname FROM pg_class WHERE oid = parent)),
            DETAIL = 'It has a default partition.';
    END IF;
    PERFORM @extschema@._flake_check_partitioned(parent);

    IF NOT "concurrently" AND EXISTS (SELECT FROM @extschema@.flake_partitions(parent, layout) p WHERE p.upper_bound <= last_id) THEN
        -- DROP TABLE takes this lock, too.  From here on nobody else changes its
        -- name or owner, and what its partitions are.
        PERFORM @extschema@._flake_guard_relation(ticket, parent::oid, true);
        old := ARRAY(SELECT p.partition::oid FROM @extschema@.flake_partitions(parent, layout) p WHERE p.upper_bound <= last_id);
        schemas := ARRAY(SELECT DISTINCT relnamespace FROM pg_class WHERE oid = parent OR oid = ANY (old));
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
    END IF;

    FOR partition IN
        SELECT p.partition AS oid, c.relowner, CASE c.relkind WHEN 'f' THEN 'FOREIGN TABLE' ELSE 'TABLE' END AS kind,
               coalesce(p.upper_bound <= last_id, false) AS is_old, i.inhdetachpending, EXISTS (SELECT FROM pg_constraint WHERE confrelid = c.oid) AS is_referred_to
        FROM @extschema@.flake_partitions(parent, layout) p
        JOIN pg_class c ON c.oid = p.partition
        JOIN pg_inherits i ON i.inhrelid = c.oid
        WHERE p.upper_bound <= last_id
           OR "concurrently" AND i.inhdetachpending
              AND EXISTS (SELECT FROM @extschema@.flake_partitions(parent, layout) q WHERE q.upper_bound <= last_id)
        ORDER BY i.inhdetachpending DESC, p.upper_bound
    LOOP
        -- What foreign keys refer to cannot be dropped while it is a partition.  An
        -- attempt to detach one may have been broken off: that comes first, because
        -- until it is complete none can be detached concurrently.
        -- PostgreSQL looks for rows that refer to it, as the owner of the parent.
        FOR other IN
            SELECT r.relation, p.relowner, @extschema@._flake_foreign_code(r.relation, p.relowner) AS code
            FROM (SELECT k.conrelid FROM pg_constraint k
                  WHERE k.contype = 'f' AND k.confrelid = partition.oid::oid AND k.conparentid <> 0
                  UNION
                  SELECT partition.oid::oid) AS r (relation), pg_class p
            WHERE partition.is_referred_to AND p.oid = parent
            ORDER BY code, r.relation
        LOOP
            IF other.code IS NOT NULL THEN
                RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                    MESSAGE = format('cannot detach partition %s, to which rows of another table refer', partition.oid),
                    DETAIL = format('PostgreSQL would evaluate %s as role "%s".', other.code, pg_get_userbyid(other.relowner)),
                    HINT = 'Give both tables the same owner, or drop what would be evaluated.';
            END IF;
            IF NOT "concurrently" THEN
                steps := steps || ARRAY[[other.relowner::text, other.relation::regclass::text, NULL, NULL]];
            END IF;
        END LOOP;
        IF "concurrently" OR partition.is_referred_to THEN
            steps := steps || ARRAY[[(SELECT relowner FROM pg_class WHERE oid = parent)::text, parent::text, parent::oid::text,
                format('ALTER TABLE %s DETACH PARTITION %s%s', parent, partition.oid,
                       CASE WHEN partition.inhdetachpending THEN ' FINALIZE' WHEN "concurrently" THEN ' CONCURRENTLY' ELSE '' END)]];
        END IF;
        CONTINUE WHEN NOT partition.is_old;
        command := format('DROP %s %s', partition.kind, partition.oid);
        IF "concurrently" THEN
            -- psql goes on after an error, and what is still attached is in use.
            command := format('DO %L', format(
                'BEGIN IF (SELECT relispartition FROM pg_catalog.pg_class WHERE oid OPERATOR(pg_catalog.=) %L::pg_catalog.regclass) THEN'
                || ' RAISE object_not_in_prerequisite_state USING MESSAGE = %L; END IF; %s; END',
                partition.oid, format('partition %s is not detached yet', partition.oid), command));
        END IF;
        steps := steps || ARRAY[[partition.relowner::text, partition.oid::text, partition.oid::oid::text, command]];
    END LOOP;

    IF NOT "concurrently" AND steps <> '{}' THEN
        -- As the owners, whose code can be executed when one is detached.
        PERFORM @extschema@._flake_execute_steps(ticket, schemas, parent::oid || old, '{}'::oid[], steps, false);
    END IF;
    RETURN QUERY SELECT steps[i][4] FROM generate_subscripts(steps, 1) AS i WHERE steps[i][4] IS NOT NULL ORDER BY i;
END
$function$;

COMMENT ON FUNCTION @extschema@._flake_drop_partitions_guarded(@extschema@._flake_ticket, regclass, timestamptz, @extschema@.flake_layout, boolean) IS
'what flake_drop_partitions() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_drop_partitions(parent regclass, before timestamptz,
    layout @extschema@.flake_layout DEFAULT 'instagram', concurrently boolean DEFAULT false)
RETURNS SETOF text
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s FROM @extschema@._flake_drop_partitions_guarded(
        @extschema@._flake_guard('@extschema@'::text), parent, before, layout, "concurrently") s;
END;

COMMENT ON FUNCTION @extschema@.flake_drop_partitions(regclass, timestamptz, @extschema@.flake_layout, boolean) IS
'drops the partitions of a table, PARTITION BY RANGE of an id, all of whose ids are of times before an instant; the statements that did it, or with concurrently, statements to be executed one by one, as with \gexec, that detach them without locking out others and then drop them, if they are detached; errors: 42501 unless the user owns them or may be their owner, 42809 for other tables, 22023 if the layout has no time, 23503 if rows of other tables refer to them, 25006 read-only, 0A000 if looking for such rows would execute what another role has written, 55000 if there is a default partition and concurrently is true';


-- Migration

-- No name of the extension in it, so no need of a ticket.
CREATE FUNCTION @extschema@._flake_named_by(relations oid[], views oid[])
RETURNS jsonb
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
    WITH named_by (what, classid, objid) AS (
        SELECT format('view %s', ev_class::regclass), 'pg_rewrite'::regclass::oid, oid FROM pg_rewrite WHERE ev_class = ANY (views)
        UNION ALL
        SELECT format('index %s', indexrelid::regclass), 'pg_class'::regclass, indexrelid FROM pg_index WHERE indrelid = ANY (relations)
        UNION ALL
        SELECT format('constraint %I of table %s', conname, conrelid::regclass), 'pg_constraint'::regclass, oid
        FROM pg_constraint WHERE conrelid = ANY (relations) AND contype = 'c'
    )
    SELECT coalesce(jsonb_object_agg(what, names), '{}')
    FROM (SELECT n.what,
                 -- Views are other ones when they have been created again.
                 jsonb_agg(DISTINCT CASE WHEN d.refclassid = 'pg_class'::regclass AND d.refobjid = ANY (views)
                                         THEN format('view %s %s', d.refobjid::regclass, d.refobjsubid)
                                         WHEN d.refclassid = 'pg_type'::regclass AND t.typrelid = ANY (views)
                                         THEN format('type of view %s', t.typrelid::regclass)
                                         ELSE format('%s %s %s', d.refclassid::regclass, d.refobjid, d.refobjsubid) END)
                     -- nor are indexes and constraints the same ones
                     FILTER (WHERE d.refclassid <> 'pg_constraint'::regclass
                               AND (d.refclassid <> 'pg_class'::regclass OR n.classid = 'pg_rewrite'::regclass)) AS names
          FROM named_by n
          JOIN pg_depend d ON d.classid = n.classid AND d.objid = n.objid
          LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
          GROUP BY n.what) AS w
$function$;

COMMENT ON FUNCTION @extschema@._flake_named_by(oid[], oid[]) IS
'what views, and the indexes and checks of tables, mean by the names in their definitions, to compare it with what they mean by them later; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_floor(ts timestamptz, layout @extschema@.flake_layout)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_floor'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_floor(timestamptz, @extschema@.flake_layout) IS
'the smallest id of the tick that contains an instant, or of those that an instant outside of the lifetime is next to; error: 22023 if the layout has no time';

-- What stands in the way of changing columns to bigint and making views, and perhaps
-- a sequence, anew.  What is not listed as understood does: dependents of other
-- kinds, and properties that would be lost.
CREATE FUNCTION @extschema@._flake_obstacle(target oid, column_name name, relations oid[], attributes name[], views oid[],
    lost_sequence oid, is_remade boolean, OUT detail text, OUT hint text)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
SET jit = off
AS $function$
    WITH RECURSIVE heir (oid) AS (
        SELECT target
        UNION
        SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid
    ), member AS (      -- tables whose default or type changes
        SELECT c.* FROM (SELECT h.oid FROM heir h UNION SELECT unnest(relations)) AS t JOIN pg_class c USING (oid)
    ), col AS MATERIALIZED (
        SELECT u.relation, a.*
        FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
    ), idx AS MATERIALIZED (
        SELECT i.*, c.relowner, c.relispartition, c.reloptions, c.reltablespace, c.relname
        FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
        WHERE EXISTS (SELECT FROM col
                      WHERE col.relation = i.indrelid
                        AND (col.attnum = ANY (i.indkey)
                             OR EXISTS (SELECT FROM pg_depend d
                                        WHERE d.classid = 'pg_class'::regclass AND d.objid = i.indexrelid
                                          AND d.refclassid = 'pg_class'::regclass AND d.refobjid = col.relation AND d.refobjsubid = col.attnum)))
    ), con AS MATERIALIZED (
        SELECT k.* FROM pg_constraint k
        WHERE EXISTS (SELECT FROM col
                      WHERE k.conrelid = col.relation AND col.attnum = ANY (k.conkey)
                         OR k.confrelid = col.relation AND col.attnum = ANY (k.confkey))
           OR k.contype IN ('p', 'u', 'x') AND EXISTS (SELECT FROM idx WHERE idx.indexrelid = k.conindid)
    ), view AS MATERIALIZED (
        SELECT c.*, t.typarray FROM unnest(views) AS v (id) JOIN pg_class c ON c.oid = v.id JOIN pg_type t ON t.oid = c.reltype
    ), blocked (n, what, classid, objid, objsubid) AS (
        SELECT 1, format('column "%s" of table %s', col.attname, col.relation::regclass), d.classid, d.objid, d.objsubid
        FROM col
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = col.relation AND d.refobjsubid = col.attnum
        WHERE CASE d.classid
            WHEN 'pg_class'::regclass THEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = d.objid AND c.relkind IN ('i', 'I', 'S'))
            WHEN 'pg_constraint'::regclass THEN NOT EXISTS (SELECT FROM con WHERE con.oid = d.objid AND con.contype IN ('c', 'f', 'n', 'p', 'u', 'x'))
            WHEN 'pg_attrdef'::regclass THEN NOT EXISTS (SELECT FROM pg_attrdef f WHERE f.oid = d.objid AND f.adrelid = col.relation AND f.adnum = col.attnum)
            WHEN 'pg_statistic_ext'::regclass THEN false
            WHEN 'pg_rewrite'::regclass THEN NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.oid = d.objid AND w.rulename = '_RETURN' AND w.ev_class = ANY (views))
            ELSE true END
        UNION ALL
        SELECT 2, format('%s of table %s', CASE d.refclassid WHEN 'pg_class'::regclass THEN 'an index' ELSE 'a constraint' END, o.relation::regclass),
               d.classid, d.objid, d.objsubid
        FROM (SELECT 'pg_class'::regclass AS classid, indexrelid AS objid, indrelid AS relation FROM idx
              UNION ALL SELECT 'pg_constraint'::regclass, oid, conrelid FROM con) AS o
        JOIN pg_depend d ON d.refclassid = o.classid AND d.refobjid = o.objid
        WHERE CASE d.classid
            WHEN 'pg_class'::regclass THEN NOT EXISTS (SELECT FROM pg_class c WHERE c.oid = d.objid AND c.relkind IN ('i', 'I'))
            WHEN 'pg_constraint'::regclass THEN false
            WHEN 'pg_trigger'::regclass THEN NOT EXISTS (SELECT FROM pg_trigger g WHERE g.oid = d.objid AND g.tgisinternal)
            WHEN 'pg_rewrite'::regclass THEN NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.oid = d.objid AND w.rulename = '_RETURN' AND w.ev_class = ANY (views))
            ELSE true END
        UNION ALL
        SELECT 3, format('view %s', v.oid::regclass), d.classid, d.objid, d.objsubid
        FROM view v
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = v.oid
                         OR d.refclassid = 'pg_type'::regclass AND d.refobjid IN (v.reltype, v.typarray)
        WHERE CASE d.classid
            WHEN 'pg_type'::regclass THEN d.objid NOT IN (v.reltype, v.typarray)
            WHEN 'pg_class'::regclass THEN d.objid <> ALL (views)     -- a column of its type
            WHEN 'pg_rewrite'::regclass THEN NOT EXISTS (SELECT FROM pg_rewrite w WHERE w.oid = d.objid AND w.rulename = '_RETURN' AND w.ev_class = ANY (views))
            ELSE true END
        UNION ALL
        SELECT 4, format('sequence %s', d.refobjid::regclass), d.classid, d.objid, d.objsubid
        FROM pg_depend d
        WHERE d.refclassid = 'pg_class'::regclass AND d.refobjid = lost_sequence
          AND NOT EXISTS (SELECT FROM pg_attrdef f
                          JOIN pg_attribute a ON a.attrelid = f.adrelid AND a.attnum = f.adnum AND a.attname = column_name
                          WHERE d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid AND f.adrelid IN (SELECT h.oid FROM heir h))
    ), lost (n, property, object) AS (
        SELECT 10, 'statistics target', pg_describe_object('pg_class'::regclass, idx.indexrelid, 0)
        FROM idx JOIN pg_attribute a ON a.attrelid = idx.indexrelid AND coalesce(a.attstattarget, -1) >= 0
        UNION ALL
        SELECT 10, 'dependency on an extension', pg_describe_object(d.classid, d.objid, 0)
        FROM idx JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = idx.indexrelid AND d.deptype IN ('x', 'e')
        UNION ALL       -- it would be given to those of the partitions, too
        SELECT 10, 'comment', pg_describe_object('pg_class'::regclass, idx.indexrelid, 0)
        FROM idx
        WHERE EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = idx.indexrelid)
          AND EXISTS (SELECT FROM pg_description d WHERE d.classoid = 'pg_class'::regclass AND d.objoid = idx.indexrelid)
        UNION ALL       -- the index of a partition comes with that of the table
        SELECT 10, p.property, pg_describe_object('pg_class'::regclass, idx.indexrelid, 0)
        FROM idx
        JOIN pg_inherits i ON i.inhrelid = idx.indexrelid
        JOIN pg_class parent ON parent.oid = i.inhparent
        JOIN pg_class c ON c.oid = idx.indrelid
        LEFT JOIN pg_constraint k ON k.conindid = idx.indexrelid AND k.contype IN ('p', 'u', 'x')
        CROSS JOIN LATERAL (VALUES
            ('name', idx.relname <> c.relname || CASE WHEN k.contype = 'p' THEN '_pkey'
                     ELSE (SELECT string_agg('_' || a.attname, '' ORDER BY a.attnum) FROM pg_attribute a WHERE a.attrelid = idx.indexrelid)
                          || CASE k.contype WHEN 'u' THEN '_key' WHEN 'x' THEN '_excl' ELSE '_idx' END END),
            ('comment', EXISTS (SELECT FROM pg_description d WHERE d.classoid = 'pg_class'::regclass AND d.objoid = idx.indexrelid)),
            ('storage parameters', idx.reloptions IS DISTINCT FROM parent.reloptions),
            ('tablespace', idx.reltablespace <> parent.reltablespace),
            ('mark as replica identity', idx.indisreplident),
            ('mark for CLUSTER', idx.indisclustered)) AS p (property, is_lost)
        WHERE idx.relispartition AND p.is_lost
        UNION ALL
        SELECT 11, 'comment', pg_describe_object('pg_constraint'::regclass, con.oid, 0)
        FROM con JOIN pg_description d ON d.classoid = 'pg_constraint'::regclass AND d.objoid = con.oid
        WHERE NOT con.conislocal
        UNION ALL
        SELECT 11, 'state of a trigger', pg_describe_object('pg_constraint'::regclass, con.oid, 0)
        FROM con JOIN pg_trigger g ON g.tgconstraint = con.oid AND g.tgisinternal AND g.tgenabled <> 'O'
        UNION ALL
        SELECT 12, 'statistics target', pg_describe_object('pg_statistic_ext'::regclass, s.oid, 0)
        FROM col
        JOIN pg_depend d ON d.classid = 'pg_statistic_ext'::regclass AND d.refclassid = 'pg_class'::regclass
         AND d.refobjid = col.relation AND d.refobjsubid = col.attnum
        JOIN pg_statistic_ext s ON s.oid = d.objid AND coalesce(s.stxstattarget, -1) >= 0
        UNION ALL
        SELECT 13, p.property, pg_describe_object('pg_class'::regclass, o.oid, 0)
        FROM (SELECT oid, relowner, relacl FROM view
              UNION ALL SELECT oid, relowner, relacl FROM pg_class WHERE oid = lost_sequence AND is_remade) AS o
        CROSS JOIN LATERAL (VALUES
            ('membership in an extension', EXISTS (SELECT FROM pg_depend d WHERE d.classid = 'pg_class'::regclass AND d.objid = o.oid AND d.deptype = 'e')),
            ('security label', EXISTS (SELECT FROM pg_seclabel l WHERE l.classoid = 'pg_class'::regclass AND l.objoid = o.oid)),
            ('state of the rule', EXISTS (SELECT FROM pg_rewrite w WHERE w.ev_class = o.oid AND w.ev_enabled <> 'O')),
            ('grantor of a privilege', EXISTS (
                SELECT FROM (SELECT o.relacl UNION ALL SELECT attacl FROM pg_attribute WHERE attrelid = o.oid) AS a (acl), aclexplode(a.acl) AS e
                WHERE e.grantor <> o.relowner))) AS p (property, is_lost)
        WHERE p.is_lost
    ), unlike (n, object, reason) AS (
        SELECT 20, format('column "%s" of table %s', col.attname, col.relation::regclass), p.reason
        FROM col
        JOIN pg_class c ON c.oid = col.relation
        CROSS JOIN LATERAL (VALUES
            (format('is of type %s', format_type(col.atttypid, NULL)), col.atttypid NOT IN ('smallint'::regtype, 'int'::regtype)),
            ('is inherited from several tables', col.attinhcount > 1),
            ('is of a typed table', c.reloftype <> 0),
            ('is in a partition key', EXISTS (SELECT FROM pg_depend d
                WHERE d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.objsubid = col.attnum
                  AND d.refclassid = 'pg_class'::regclass AND d.refobjid = c.oid AND d.refobjsubid = 0 AND d.deptype = 'i'))) AS p (reason, is_unlike)
        WHERE p.is_unlike
        UNION ALL
        SELECT 21, format('table %s', m.oid::regclass), p.reason
        FROM member m
        CROSS JOIN LATERAL (VALUES
            ('is a foreign table', m.relkind NOT IN ('r', 'p')),
            ('belongs to another session', pg_is_other_temp_schema(m.relnamespace)),
            ('is being detached', EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = m.oid AND i.inhdetachpending))) AS p (reason, is_unlike)
        WHERE p.is_unlike
        UNION ALL
        SELECT 21, format('view %s', oid::regclass), 'belongs to another session' FROM view WHERE pg_is_other_temp_schema(relnamespace)
        UNION ALL
        SELECT 22, pg_describe_object('pg_class'::regclass, idx.indexrelid, 0), p.reason
        FROM idx
        CROSS JOIN LATERAL (VALUES
            ('is not valid', NOT idx.indisvalid),
            ('has an operator class that bigint does not have', EXISTS (
                SELECT FROM unnest(idx.indkey, idx.indclass) AS u (attnum, opclass)
                JOIN col ON col.relation = idx.indrelid AND col.attnum = u.attnum
                JOIN pg_opclass o ON o.oid = u.opclass
                WHERE NOT o.opcdefault
                   OR NOT EXISTS (SELECT FROM pg_opclass b WHERE b.opcmethod = o.opcmethod AND b.opcdefault AND b.opcintype = 'bigint'::regtype)))) AS p (reason, is_unlike)
        WHERE p.is_unlike
        UNION ALL
        SELECT 23, pg_describe_object('pg_constraint'::regclass, con.oid, 0), p.reason
        FROM con
        CROSS JOIN LATERAL (VALUES
            ('is not valid, and inherited', con.contype IN ('c', 'n') AND NOT con.convalidated
                AND (con.coninhcount > 0 OR EXISTS (SELECT FROM pg_inherits i WHERE i.inhparent = con.conrelid))),
            ('has an operator that is not PostgreSQL''s', EXISTS (SELECT FROM unnest(con.conexclop) AS o (oid) WHERE o.oid >= 16384))) AS p (reason, is_unlike)
        WHERE p.is_unlike
        UNION ALL       -- what is stored there would be read as if it had another type
        SELECT 24, format('column "%s" of table %s', a.attname, c.oid::regclass), format('is of type %s', format_type(a.atttypid, NULL))
        FROM (WITH RECURSIVE part (type) AS (
                  SELECT t.reltype FROM pg_class t WHERE t.oid = ANY (relations)
                  UNION
                  SELECT n.type FROM part
                  CROSS JOIN LATERAL (
                      SELECT t.oid FROM pg_type t WHERE part.type IN (t.typelem, t.typbasetype)
                      UNION ALL SELECT r.rngtypid FROM pg_range r WHERE r.rngsubtype = part.type
                      UNION ALL SELECT r.rngmultitypid FROM pg_range r WHERE r.rngtypid = part.type
                      UNION ALL SELECT c.reltype FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid AND c.reltype <> 0
                                WHERE a.atttypid = part.type AND c.relkind <> 'v') AS n (type))
              SELECT type FROM part WHERE type <> 0) AS part
        JOIN pg_attribute a ON a.atttypid = part.type AND a.attnum > 0
        JOIN pg_class c ON c.oid = a.attrelid AND c.relkind IN ('r', 'm', 'p', 'f')
        UNION ALL       -- SET DEFAULT is for all of them
        SELECT 25, format('column "%s" of table %s', a.attname, h.oid::regclass), 'has a default of its own'
        FROM heir h
        JOIN pg_attribute a ON a.attrelid = h.oid AND a.attname = column_name
        JOIN pg_attribute b ON b.attrelid = target AND b.attname = column_name
        LEFT JOIN pg_attrdef f ON f.adrelid = h.oid AND f.adnum = a.attnum
        LEFT JOIN pg_attrdef g ON g.adrelid = target AND g.adnum = b.attnum
        WHERE h.oid <> target
          AND (a.attidentity NOT IN ('', b.attidentity) OR a.attgenerated <> ''
               OR f.oid IS NOT NULL AND pg_get_expr(f.adbin, h.oid) IS DISTINCT FROM pg_get_expr(g.adbin, target))
        UNION ALL
        SELECT 25, format('column "%s" of table %s', a.attname, target::regclass), 'is inherited'
        FROM pg_attribute a WHERE a.attrelid = target AND a.attname = column_name AND a.attinhcount > 0
    )
    SELECT o.detail, o.hint
    FROM (SELECT n, format('%s depends on %s.', pg_describe_object(classid, objid, objsubid), what),
                 'Drop it before, and create it again afterwards.'
          FROM blocked
          UNION ALL
          SELECT n, format('The %s of %s would be lost.', property, object), 'Change that before, and set it again afterwards.' FROM lost
          UNION ALL
          SELECT n, format('The %s %s.', object, reason), 'Change that, or drop it, before.' FROM unlike) AS o (n, detail, hint)
    ORDER BY o.n, o.detail LIMIT 1
$function$;

COMMENT ON FUNCTION @extschema@._flake_obstacle(oid, name, oid[], name[], oid[], oid, boolean) IS
'why flake_migrate() cannot change columns: what depends on them in a way that it does not understand, or would not be the same afterwards; null if nothing; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_remade(relation oid, maker oid,
    OUT name text, OUT step int, OUT command text)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
    WITH object AS (
        SELECT c.oid, c.relowner, c.relnamespace, c.relacl, k.kind, k.acl_type, CASE WHEN c.relnamespace = pg_my_temp_schema() THEN format('pg_temp.%I', c.relname) ELSE format('%s', c.oid::regclass) END AS name,
               (acldefault(k.acl_type, c.relowner))[1] AS full_rights, d.revokes
        FROM pg_class c
        CROSS JOIN LATERAL (SELECT CASE c.relkind WHEN 'S' THEN 'SEQUENCE' ELSE 'VIEW' END, CASE c.relkind WHEN 'S' THEN 's'::"char" ELSE 'r' END) AS k (kind, acl_type)
        -- what is granted by default may be less than all to the maker
        CROSS JOIN LATERAL (SELECT coalesce(bool_or(NOT (acldefault(k.acl_type, maker))[1] = ANY (defaclacl)), false)
                            FROM pg_default_acl
                            WHERE defaclrole = maker AND defaclnamespace = 0
                              AND defaclobjtype = CASE k.acl_type WHEN 's' THEN 'S' ELSE k.acl_type END) AS d (revokes)
        WHERE c.oid = relation
    ), made AS (
        SELECT o.*, format('%s%s', CASE o.kind WHEN 'SEQUENCE' THEN 'SEQUENCE ' END, o.name) AS granted,
               o.revokes OR NOT o.full_rights = ANY (o.relacl) AS restates_owner
        FROM object o
    )
    SELECT name, 0, NULL FROM made
    UNION ALL
    SELECT DISTINCT o.name, 2, format('REVOKE ALL ON %s FROM %s', o.granted, CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END)   -- what is granted by default
    FROM made o
    JOIN pg_default_acl d ON d.defaclrole = maker AND d.defaclnamespace IN (0, o.relnamespace)
     AND d.defaclobjtype = CASE o.acl_type WHEN 's' THEN 'S' ELSE o.acl_type END
    CROSS JOIN LATERAL aclexplode(d.defaclacl) AS e
    WHERE e.grantee <> maker
    UNION ALL
    SELECT name, 3, format('ALTER %s %s OWNER TO %I', kind, name, pg_get_userbyid(relowner)) FROM made WHERE relowner <> maker
    UNION ALL
    SELECT name, 4, format('REVOKE ALL ON %s FROM %s', granted, quote_ident(pg_get_userbyid(relowner))) FROM made WHERE restates_owner
    UNION ALL
    SELECT o.name, 5, format('GRANT %s%s ON %s TO %s%s', e.privilege_type, ' (' || quote_ident(a.attname) || ')', o.granted,
                     CASE e.grantee WHEN 0 THEN 'PUBLIC' ELSE quote_ident(pg_get_userbyid(e.grantee)) END, CASE WHEN e.is_grantable THEN ' WITH GRANT OPTION' END)
    FROM made o
    CROSS JOIN LATERAL (SELECT NULL::name, coalesce(o.relacl, ARRAY[o.full_rights])
                        UNION ALL SELECT attname, attacl FROM pg_attribute WHERE attrelid = o.oid) AS a (attname, acl)
    CROSS JOIN LATERAL aclexplode(a.acl) AS e
    WHERE e.grantee <> o.relowner OR o.restates_owner OR a.attname IS NOT NULL
    UNION ALL
    SELECT o.name, 6, format('COMMENT ON %s IS %L', CASE d.objsubid WHEN 0 THEN format('%s %s', o.kind, o.name) ELSE format('COLUMN %s.%I', o.name, a.attname) END,
                     d.description)
    FROM made o
    JOIN pg_description d ON d.classoid = 'pg_class'::regclass AND d.objoid = o.oid
    LEFT JOIN pg_attribute a ON a.attrelid = o.oid AND a.attnum = d.objsubid
$function$;

COMMENT ON FUNCTION @extschema@._flake_remade(oid, oid) IS
'the commands that give a view or a sequence, when a role has made it anew, the owner, privileges and comments that it has now; in a first row, without a command, its name as CREATE has to have it; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_definitions(relations oid[], attributes name[], views oid[],
    OUT what text, OUT class oid, OUT object oid, OUT relation oid, OUT query text, OUT named oid[])
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $function$
    WITH definition (n, what, classid, objid, relation, expressions) AS (
        SELECT 0, format('index %s', indexrelid::regclass), 'pg_class'::regclass, indexrelid, indrelid,
               concat_ws(', ', pg_get_expr(indexprs, indrelid), pg_get_expr(indpred, indrelid))
        FROM pg_index WHERE indexprs IS NOT NULL OR indpred IS NOT NULL
        UNION ALL
        SELECT 0, format('constraint %I of table %s', conname, conrelid::regclass), 'pg_constraint'::regclass, oid, conrelid,
               pg_get_expr(conbin, conrelid)
        FROM pg_constraint WHERE contype = 'c' AND conrelid <> 0
        UNION ALL
        SELECT 0, format('statistics object %s', stxname), 'pg_statistic_ext'::regclass, oid, stxrelid,
               array_to_string(pg_get_statisticsobjdef_expressions(oid), ', ')
        FROM pg_statistic_ext WHERE stxexprs IS NOT NULL
        UNION ALL
        SELECT v.n, format('view %s', v.id::regclass), 'pg_rewrite'::regclass, w.oid, v.id, NULL
        FROM unnest(views) WITH ORDINALITY AS v (id, n)
        JOIN pg_rewrite w ON w.ev_class = v.id AND w.rulename = '_RETURN'
    )
    SELECT f.what, f.classid, f.objid, f.relation,
           CASE WHEN f.n > 0 THEN pg_get_viewdef(f.relation) ELSE format('SELECT %s FROM ONLY %s', f.expressions, f.relation::regclass) END,
           ARRAY(SELECT DISTINCT refobjid FROM pg_depend
                 WHERE classid = f.classid AND objid = f.objid AND refclassid IN ('pg_proc'::regclass, 'pg_operator'::regclass))
    FROM definition f
    WHERE f.n > 0 OR EXISTS (
        SELECT FROM unnest(relations, attributes) AS u (relation, attname)
        JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
        JOIN pg_depend d ON d.refclassid = 'pg_class'::regclass AND d.refobjid = a.attrelid AND d.refobjsubid = a.attnum
        WHERE d.classid = f.classid AND d.objid = f.objid)
    ORDER BY f.n, f.what
$function$;

COMMENT ON FUNCTION @extschema@._flake_definitions(oid[], name[], oid[]) IS
'what is created again from its definition when columns change: the indexes, checks and statistics objects that name them, as a query, and then views in their order; and the functions and operators that it names; for functions of flakeid';

CREATE FUNCTION @extschema@._flake_migrate_guarded(ticket @extschema@._flake_ticket,
    target regclass, attribute name, shard int,
    generator regclass, layout @extschema@.flake_layout, dry_run boolean, drop_sequence boolean)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
DECLARE
    shards bigint := (@extschema@.flake_layout_info(layout)).shards;
    has_time boolean := layout::text ~ '^ts:';
    caller pg_catalog.oid := quote_ident(current_user)::regrole;
    col pg_catalog.record;
    relations pg_catalog.oid[]; -- the columns to be widened
    attributes pg_catalog.name[];
    all_relations pg_catalog.oid[];     -- with those that inherit them
    all_attributes pg_catalog.name[];
    tables pg_catalog.oid[];    -- the tables to be locked
    views pg_catalog.oid[];     -- views on them, those on others last
    unsorted pg_catalog.oid[];
    ready pg_catalog.oid[];
    namers pg_catalog.oid[];    -- each of these views names the one at the same place below
    namees pg_catalog.oid[];
    view_names pg_catalog.text[];
    schemas pg_catalog.oid[];
    types pg_catalog.oid[];     -- what the views name
    locks pg_catalog.oid[];     -- the tables and views, in this order
    locked pg_catalog.oid[];
    first pg_catalog.oid;       -- the one of these to wait for
    next pg_catalog.oid;
    in_use boolean;
    lock_timeout pg_catalog.text := current_setting('lock_timeout');
    began pg_catalog.timestamptz := clock_timestamp();
    waits_until pg_catalog.timestamptz;
    sequence pg_catalog.record;
    sequence_name pg_catalog.text;
    problem pg_catalog.record;
    largest bigint;
    is_refused boolean;
    hint pg_catalog.text;
    named pg_catalog.jsonb;
    definition pg_catalog.record;
    meaning pg_catalog.record;
    meant pg_catalog.text;
    retyped pg_catalog.int2[];  -- columns of all_relations, and of views, that get other types
    retyped_of pg_catalog.oid[];
    new_types pg_catalog.oid[];
    steps pg_catalog.text[];    -- for _flake_execute_steps()
BEGIN
    PERFORM @extschema@._flake_guard_relation(ticket, generator::oid, false);

    -- Tables and views are locked all at once or not at all: when one is in use, the
    -- others are let go while it is waited for, because its user may want those next.
    -- Then nobody adds a row, or refers to the column anew; and what was looked up
    -- before is looked up again.
    LOOP
        SELECT c.relname, c.relkind, c.relispartition, c.relowner, c.relnamespace, a.attnum, a.atttypid, a.attidentity, a.attgenerated INTO col
        FROM pg_class c
        LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = attribute AND a.attnum > 0
        WHERE c.oid = target;
        IF NOT FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'undefined_table',
                MESSAGE = format('table with OID %s does not exist', target::oid);
        ELSIF col.relkind NOT IN ('r', 'p') OR col.relispartition THEN
            RAISE EXCEPTION USING ERRCODE = 'wrong_object_type',
                MESSAGE = format('cannot migrate "%s"', col.relname),
                DETAIL = CASE WHEN col.relispartition THEN 'It is a partition; its parent must be migrated.'
                              ELSE 'It is not a table.' END;
        ELSIF col.attnum IS NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'undefined_column',
                MESSAGE = format('column "%s" of table "%s" does not exist', attribute, col.relname);
        ELSIF col.atttypid NOT IN ('smallint'::regtype, 'int'::regtype, 'bigint'::regtype) OR col.attgenerated <> '' THEN
            RAISE EXCEPTION USING ERRCODE = 'datatype_mismatch',
                MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
                DETAIL = CASE WHEN col.attgenerated <> '' THEN 'It is a generated column.'
                              ELSE format('Its type is %s, not an integer type.', format_type(col.atttypid, NULL)) END;
        ELSIF NOT dry_run AND current_setting('transaction_isolation') IN ('repeatable read', 'serializable') THEN
            RAISE EXCEPTION USING ERRCODE = 'active_sql_transaction',
                MESSAGE = 'cannot migrate in a transaction that does not see what others have committed meanwhile',
                HINT = 'Use isolation level READ COMMITTED.';
        ELSIF shard NOT BETWEEN 0 AND shards - 1 THEN
            RAISE EXCEPTION USING ERRCODE = 'numeric_value_out_of_range',
                MESSAGE = format('shard %s is out of range', shard),
                DETAIL = format('Generator "%s" has shards 0 to %s.', generator, shards - 1);
        END IF;

        -- It, those that inherit it, the columns that refer to these, what they are
        -- inherited from, and so on.  Those that are not bigint yet have to be.
        WITH RECURSIVE reference AS MATERIALIZED (
            SELECT k.conrelid AS relation, a.attname, k.confrelid AS to_relation, b.attname AS to_attname
            FROM pg_constraint k, unnest(k.conkey, k.confkey) AS u (from_key, to_key), pg_attribute a, pg_attribute b
            WHERE k.contype = 'f' AND a.attrelid = k.conrelid AND a.attnum = u.from_key
              AND b.attrelid = k.confrelid AND b.attnum = u.to_key
        ), related (relation, attname) AS (
            SELECT target::oid, attribute
            UNION
            SELECT n.relation, n.attname
            FROM related
            CROSS JOIN LATERAL (
                SELECT r.relation, r.attname FROM reference r WHERE r.to_relation = related.relation AND r.to_attname = related.attname
                UNION ALL
                SELECT inhrelid, related.attname FROM pg_inherits WHERE inhparent = related.relation
                UNION ALL
                SELECT i.inhparent, related.attname
                FROM pg_inherits i
                JOIN pg_attribute h ON h.attrelid = i.inhrelid AND h.attname = related.attname AND h.attinhcount > 0
                JOIN pg_attribute p ON p.attrelid = i.inhparent AND p.attname = related.attname
                WHERE i.inhrelid = related.relation) AS n
        ), narrow AS (
            SELECT r.relation, r.attname, a.attnum, a.attinhcount
            FROM related r
            JOIN pg_attribute a ON a.attrelid = r.relation AND a.attname = r.attname
            JOIN pg_type t ON t.oid = a.atttypid
            WHERE 'bigint'::regtype NOT IN (t.oid, t.typbasetype)
        )
        SELECT array_agg(n.relation ORDER BY n.relation, n.attnum) FILTER (WHERE n.attinhcount = 0),
               array_agg(n.attname ORDER BY n.relation, n.attnum) FILTER (WHERE n.attinhcount = 0),
               array_agg(n.relation ORDER BY n.relation, n.attnum),
               array_agg(n.attname ORDER BY n.relation, n.attnum),
               ARRAY(SELECT DISTINCT t
                     FROM (SELECT o.relation FROM related o JOIN pg_attribute a ON a.attrelid = o.relation AND a.attname = o.attname AND a.attinhcount = 0
                           UNION    -- those that a widened column refers to: its foreign keys are made anew
                           SELECT coalesce(pg_partition_root(f.to_relation)::oid, f.to_relation)
                           FROM related JOIN reference f USING (relation, attname)) AS r (t)
                     -- Those of others may be referred to, but not be locked beforehand.
                     WHERE t = target OR has_table_privilege(t, 'UPDATE, DELETE, TRUNCATE'))
        INTO relations, attributes, all_relations, all_attributes, tables
        FROM narrow n;
        IF relations IS NULL THEN
            tables := ARRAY[target::oid];
        END IF;

        -- The type of a column cannot change under a view, nor a view's under another.
        WITH RECURSIVE naming AS MATERIALIZED (
            SELECT DISTINCT w.ev_class AS view, coalesce(nullif(t.typrelid, 0), nullif(e.typrelid, 0), d.refobjid) AS relation, d.refobjsubid AS attnum
            FROM pg_rewrite w
            JOIN pg_class c ON c.oid = w.ev_class AND c.relkind = 'v'
            JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid
             AND (d.refclassid = 'pg_type'::regclass
                  OR d.refclassid = 'pg_class'::regclass AND (d.refobjid <> c.oid OR d.refobjsubid > 0))
            LEFT JOIN pg_type t ON d.refclassid = 'pg_type'::regclass AND t.oid = d.refobjid
            LEFT JOIN pg_type e ON e.oid = t.typelem
            WHERE w.rulename = '_RETURN'
        ), dependent (view) AS (
            SELECT n.view
            FROM unnest(all_relations, all_attributes) AS u (relation, attname)
            JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname
            JOIN naming n ON n.relation = u.relation AND n.attnum = a.attnum
            UNION
            SELECT n.view FROM dependent JOIN naming n ON n.relation = dependent.view
        )
        SELECT ARRAY(SELECT view FROM dependent), array_agg(n.view), array_agg(n.relation) INTO unsorted, namers, namees
        FROM naming n WHERE n.view IN (SELECT view FROM dependent) AND n.relation IN (SELECT view FROM dependent);
        views := NULL;
        LOOP
            ready := ARRAY(SELECT v FROM unnest(unsorted) AS v
                           WHERE NOT EXISTS (SELECT FROM unnest(namers, namees) AS n (view, relation)
                                             WHERE n.view = v AND n.relation = ANY (unsorted))
                           ORDER BY v);
            EXIT WHEN ready = '{}';
            views := views || ready;
            unsorted := ARRAY(SELECT v FROM unnest(unsorted) AS v WHERE v <> ALL (ready));
        END LOOP;
        IF unsorted <> '{}' THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
                DETAIL = format('View %s is one of several that are defined by each other.', unsorted[1]::regclass),
                HINT = 'Drop it before.';
        END IF;

        -- From here on nobody else renames the schemas of what will be named.
        schemas := ARRAY(SELECT DISTINCT relnamespace FROM pg_class
                         WHERE oid = target OR oid = generator OR oid = ANY (tables) OR oid = ANY (views));
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
        locks := ARRAY(SELECT t FROM unnest(tables) AS t ORDER BY t <> target, t)
              || coalesce(views, '{}');
        EXIT WHEN dry_run OR locks = locked;
        first := CASE WHEN first = ANY (locks) THEN first ELSE locks[1] END;
        BEGIN
            in_use := false;
            PERFORM @extschema@._flake_guard_tree(ticket, first);
            in_use := true;
            FOREACH next IN ARRAY array_remove(locks, first) LOOP
                PERFORM set_config('lock_timeout', '10ms', true);
                first := next;
                PERFORM @extschema@._flake_guard_tree(ticket, next);
            END LOOP;
            PERFORM set_config('lock_timeout', lock_timeout, true);
            locked := locks;
        EXCEPTION WHEN lock_not_available THEN
            -- the caller's own lock_timeout, also of many short waits together
            IF NOT in_use OR lock_timeout <> '0' AND clock_timestamp() > began + lock_timeout::interval THEN
                RAISE;
            END IF;
        END;
    END LOOP;

    -- What PostgreSQL would say in the midst of it: LOCK TABLE, and the check of a
    -- foreign key that is made anew, ask for privileges of the owner, too.
    SELECT CASE WHEN o.does <> 'refer' AND NOT pg_has_role(c.relowner, 'USAGE')
                THEN format('must be owner of %s', pg_describe_object('pg_class'::regclass, c.oid, 0))
                WHEN c.oid = target AND NOT has_table_privilege(c.oid, 'UPDATE, DELETE, TRUNCATE')
                THEN format('permission denied for table %s', c.relname)
                WHEN o.does = 'refer' AND NOT has_table_privilege(c.relowner, c.oid, 'SELECT')
                THEN format('permission denied for table %s for its owner, role "%s"', c.relname, pg_get_userbyid(c.relowner))
                WHEN o.does = 'make' AND NOT (has_schema_privilege(c.relnamespace, 'CREATE')
                     AND ((SELECT rolsuper FROM pg_roles r WHERE r.oid = caller) OR has_schema_privilege(c.relowner, c.relnamespace, 'CREATE')))
                THEN format('permission denied for schema %s', c.relnamespace::regnamespace) END AS message
    INTO problem
    FROM (SELECT target::oid, CASE WHEN col.attidentity <> '' AND NOT drop_sequence THEN 'make' ELSE 'change' END
          UNION SELECT unnest(relations), 'change'
          UNION SELECT unnest(ARRAY[conrelid, confrelid]), 'refer' FROM pg_constraint
                WHERE contype = 'f' AND (conrelid = ANY (relations) OR confrelid = ANY (relations))
          UNION SELECT unnest(views), 'make') AS o (oid, does)
    JOIN pg_class c ON c.oid = o.oid
    ORDER BY 1 NULLS LAST, c.oid LIMIT 1;
    IF problem.message IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege', MESSAGE = problem.message;
    END IF;

    -- What one role has written is not executed as another that does not trust it.  To
    -- change a type makes foreign keys anew.
    SELECT c.oid, p.relation, c.relowner, o.relowner AS role INTO problem
    FROM (SELECT target::oid UNION SELECT unnest(relations)) AS p (relation)
    JOIN pg_class o ON o.oid = p.relation
    CROSS JOIN LATERAL (
        WITH RECURSIVE heir (oid) AS (SELECT p.relation
                                      UNION SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid)
        SELECT oid FROM heir) AS h
    JOIN pg_class c ON c.oid = h.oid
    WHERE NOT @extschema@._flake_trusts(o.relowner, c.relowner)
    ORDER BY p.relation <> target, p.relation, c.oid LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot migrate "%s"', col.relname),
            DETAIL = format('Table %s inherits from %s, and PostgreSQL would evaluate what role "%s" has written as role "%s".',
                            problem.oid::regclass, problem.relation::regclass, pg_get_userbyid(problem.relowner), pg_get_userbyid(problem.role)),
            HINT = 'Give both tables the same owner.';
    END IF;
    SELECT c.oid, l.other, f.code, c.relowner INTO problem
    FROM unnest(relations, attributes) AS u (relation, attname)
    JOIN pg_class c ON c.oid = u.relation
    CROSS JOIN LATERAL unnest(@extschema@._flake_linked(u.relation, u.attname)) AS l (other)
    CROSS JOIN LATERAL @extschema@._flake_foreign_code(l.other, c.relowner) AS f (code)
    WHERE f.code IS NOT NULL
    ORDER BY c.oid <> target, c.oid, l.other LIMIT 1;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot make a foreign key between tables %s and %s', problem.oid::regclass, problem.other::regclass),
            DETAIL = format('PostgreSQL would evaluate %s as role "%s".', problem.code, pg_get_userbyid(problem.relowner)),
            HINT = 'Give both tables the same owner, or drop what would be evaluated.';
    END IF;

    -- What the default has been: an identity's, a serial's, or another sequence
    SELECT c.oid, c.relname, c.relnamespace, c.relowner, c.relpersistence, q.* INTO sequence
    FROM pg_depend d
    JOIN pg_class c ON c.oid = CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid ELSE d.refobjid END AND c.relkind = 'S'
    JOIN pg_sequence q ON q.seqrelid = c.oid
    WHERE (d.classid = 'pg_class'::regclass AND d.refclassid = 'pg_class'::regclass
           AND d.refobjid = target AND d.refobjsubid = col.attnum AND d.deptype IN ('a', 'i')
           OR d.classid = 'pg_attrdef'::regclass AND d.refclassid = 'pg_class'::regclass
           AND d.objid = (SELECT oid FROM pg_attrdef WHERE adrelid = target AND adnum = col.attnum))
      AND NOT EXISTS (SELECT FROM pg_seclabel l       -- generators are not old sequences
                      WHERE l.classoid = 'pg_class'::regclass AND l.objoid = c.oid AND l.provider = 'flakeid')
    ORDER BY d.deptype = 'i' DESC LIMIT 1;

    IF FOUND THEN
        PERFORM @extschema@._flake_guard_relation(ticket, sequence.oid::oid, false);
        schemas := schemas || sequence.relnamespace;
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
    END IF;

    SELECT o.detail, o.hint INTO problem
    FROM @extschema@._flake_obstacle(target::oid, attribute, all_relations, all_attributes, views,
                                    CASE WHEN col.attidentity <> '' OR drop_sequence THEN sequence.oid::oid END, NOT drop_sequence) AS o;
    IF NOT FOUND THEN
        -- To read a constant of a type can be to execute a check of a domain; and what
        -- is executed meanwhile can put a domain in its place.
        SELECT format('View %s has a type in it whose owner, role "%s", can put another in its place, with a check.', c.oid::regclass, u.stranger) AS detail,
               'Migrate as that role, or drop the view before, and create it again afterwards.' AS hint
        INTO problem
        FROM unnest(views) AS v (id)
        JOIN pg_class c ON c.oid = v.id
        JOIN pg_rewrite w ON w.ev_class = c.oid
        JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_type'::regclass
        JOIN pg_type t ON t.oid = d.refobjid AND t.typrelid <> ALL (views)
        CROSS JOIN LATERAL @extschema@._flake_type_owner(t.oid, caller) AS u (stranger)
        WHERE u.stranger IS NOT NULL
        LIMIT 1;
    END IF;
    IF FOUND THEN
        RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
            MESSAGE = format('cannot migrate column "%s" of table "%s"', attribute, col.relname),
            DETAIL = problem.detail,
            HINT = problem.hint;
    END IF;

    -- Definitions that are executed again as text must mean then what they mean now.
    SELECT array_agg(u.relation), array_agg(a.attnum), array_agg('bigint'::regtype::oid) INTO retyped_of, retyped, new_types
    FROM unnest(all_relations, all_attributes) AS u (relation, attname)
    JOIN pg_attribute a ON a.attrelid = u.relation AND a.attname = u.attname;
    FOR definition IN SELECT d.* FROM @extschema@._flake_definitions(all_relations, all_attributes, views) AS d LOOP
        -- What is evaluated at once must not come to mean something else by then.
        SELECT pg_describe_object(d.refclassid, d.refobjid, d.refobjsubid) AS object, u.stranger INTO problem
        FROM pg_depend d
        JOIN pg_class c ON c.oid = definition.relation AND c.relkind <> 'v'
        LEFT JOIN pg_attribute a ON d.refclassid = 'pg_class'::regclass AND a.attrelid = d.refobjid AND a.attnum = d.refobjsubid
        CROSS JOIN LATERAL (SELECT CASE WHEN a.attnum IS NULL THEN @extschema@._flake_usurper(d.refclassid, d.refobjid, c.relowner)
                                        ELSE @extschema@._flake_type_owner(a.atttypid, c.relowner) END) AS u (stranger)
        WHERE d.classid = definition.class AND d.objid = definition.object AND u.stranger IS NOT NULL
        ORDER BY object LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, col.relname, definition.what),
                DETAIL = format('It names %s, and role "%s" could put another in its place.', problem.object, problem.stranger),
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
        BEGIN
            SELECT r.result_types, r.named INTO meaning
            FROM @extschema@._flake_rebind(ticket, definition.query, retyped_of, retyped, new_types) AS r;
            meant := CASE WHEN NOT (meaning.named @> definition.named AND meaning.named <@ definition.named)
                          THEN 'A name in its definition would come to mean something else.' END;
        EXCEPTION
            WHEN insufficient_privilege THEN
                RAISE;
            WHEN syntax_error_or_access_rule_violation THEN
                meant := format('PostgreSQL would say: %s.', SQLERRM);
        END;
        IF meant IS NOT NULL THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, col.relname, definition.what),
                DETAIL = meant,
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
        -- so do other columns of a view
        SELECT retyped_of || array_agg(a.attrelid), retyped || array_agg(a.attnum), new_types || array_agg(t.type)
        INTO retyped_of, retyped, new_types
        FROM unnest(meaning.result_types) WITH ORDINALITY AS t (type, n)
        JOIN pg_attribute a ON a.attrelid = definition.relation AND a.attnum = t.n AND a.atttypid <> t.type
        WHERE a.attrelid = ANY (views);
    END LOOP;

    IF drop_sequence AND sequence.relowner <> col.relowner AND NOT pg_has_role(col.relowner, sequence.relowner, 'USAGE') THEN
        RAISE EXCEPTION USING ERRCODE = 'insufficient_privilege',
            MESSAGE = format('cannot drop sequence "%s" with the default of column "%s" of table "%s"', sequence.relname, attribute, col.relname),
            DETAIL = format('It belongs to role "%s".', pg_get_userbyid(sequence.relowner)),
            HINT = 'Leave out drop_sequence, and drop it by hand if nothing else needs it.';
    END IF;

    -- It must be able to mint at all, here and now.
    SELECT CASE WHEN s.state IN ('detached', 'leased') THEN format('Shard %s is %s.', p.shard, s.state)
                WHEN s.state IS NULL AND current_setting('flakeid.require_attach')::boolean
                THEN format('Shard %s is not attached, and the setting "flakeid.require_attach" is on.', p.shard)
                WHEN clock_timestamp() NOT BETWEEN i.starts AND i.ends THEN format('Its ids are from %s to %s.', i.starts, i.ends)
                WHEN has_sequence_privilege(p.generator, 'USAGE')
                     AND NOT @extschema@.flake_would_exceed(p.generator, p.shard, (-9223372036854775808)::bigint)
                THEN 'It has handed out all of its ids.' END AS reason
    INTO problem
    FROM (VALUES (_flake_migrate_guarded.generator, _flake_migrate_guarded.shard)) AS p (generator, shard)
    CROSS JOIN @extschema@.flake_layout_info(layout) AS i
    LEFT JOIN @extschema@.flake_shards s ON s.generator::oid = p.generator::oid AND s.shard = p.shard;
    IF problem.reason IS NOT NULL THEN
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('generator "%s" cannot mint ids of shard %s', generator, shard),
            DETAIL = problem.reason,
            HINT = 'Migrate to another shard or generator, or attach the shard before with flake_attach().';
    END IF;

    largest := @extschema@._flake_largest(ticket, target::oid, attribute);

    -- New ids must exceed those that there are, on every shard.  With UPDATE on the
    -- generator they are made to, if the tick after that of the largest can be
    -- minted by now; else they do when that tick has come, for which there is only
    -- a moment's time.
    waits_until := clock_timestamp() + CASE WHEN lock_timeout = '0' THEN '1 s' ELSE least('1 s', lock_timeout::interval) END;
    IF largest IS NULL THEN
        is_refused := false;
    ELSIF has_sequence_privilege(generator, 'UPDATE') AND has_sequence_privilege(generator, 'USAGE')
          AND (NOT has_time OR largest < @extschema@._flake_floor(clock_timestamp() + current_setting('flakeid.max_ahead')::interval
                                                                 + current_setting('flakeid.max_wait')::interval, layout)) THEN
        is_refused := false;
        IF NOT dry_run THEN
            BEGIN
                PERFORM @extschema@.flake_advance(generator, largest);
            EXCEPTION WHEN numeric_value_out_of_range OR invalid_parameter_value THEN
                is_refused := true;
            END;
        END IF;
    ELSIF has_time THEN
        is_refused := largest >= @extschema@._flake_floor(waits_until, layout);
        WHILE NOT is_refused AND NOT dry_run AND largest >= @extschema@._flake_floor(clock_timestamp(), layout) LOOP
            PERFORM pg_sleep(0.001);
        END LOOP;
    ELSE
        is_refused := NOT has_sequence_privilege(generator, 'USAGE')
            OR NOT @extschema@.flake_would_exceed(generator, shard, largest);
    END IF;
    IF is_refused THEN
        BEGIN
            hint := format('flake_create_generator(%L, %L%s)', quote_ident(col.relname || '_' || attribute || '_flake'),
                           CASE WHEN has_time THEN @extschema@.flake_layout_above(layout, largest, '1 day'::interval) ELSE layout END,
                           CASE WHEN NOT has_time THEN format(', after => %s', largest) END);
        EXCEPTION WHEN numeric_value_out_of_range OR invalid_parameter_value THEN
            hint := NULL;       -- none of these bits would do
        END;
        RAISE EXCEPTION USING ERRCODE = 'object_not_in_prerequisite_state',
            MESSAGE = format('ids of generator "%s" would not exceed those in column "%s" of table "%s"', generator, attribute, col.relname),
            DETAIL = format('The largest there is %s.', largest),
            HINT = coalesce('Migrate to another generator, such as ' || hint || '.', 'Give those rows other ids first.')
                || CASE WHEN has_time OR has_sequence_privilege(generator, 'UPDATE') THEN ''
                        ELSE ' Or migrate as a role with UPDATE on the generator, to let its ids begin after that.' END;
    END IF;

    -- The statements.  Those that can execute what somebody has written, such as
    -- the expression of an index, are executed as the table's owner; others, for
    -- which he may lack a privilege, as the caller.
    steps := ARRAY[[caller::text, NULL, NULL, format('LOCK TABLE %s IN ACCESS EXCLUSIVE MODE',
        (SELECT string_agg(t::regclass::text, ', ' ORDER BY t) FROM unnest(tables) AS t))]];
    steps := steps || (
        SELECT array_agg(ARRAY[caller::text, v::regclass::text, v::text, format('DROP VIEW %s', m.name)] ORDER BY i DESC)
        FROM unnest(views) WITH ORDINALITY AS t (v, i), @extschema@._flake_remade(v, caller) AS m WHERE m.step = 0);
    IF col.attidentity <> '' THEN
        steps := steps || ARRAY[[col.relowner::text, target::text, target::oid::text,
                                 format('ALTER TABLE %s ALTER COLUMN %I DROP IDENTITY', target, attribute)]];
        IF NOT drop_sequence THEN
            EXECUTE format('SELECT last_value, is_called FROM %s', sequence.oid::regclass) INTO problem;
            SELECT m.name INTO sequence_name FROM @extschema@._flake_remade(sequence.oid, caller) AS m WHERE m.step = 0;
            steps := steps
                || ARRAY[[caller::text, NULL, NULL,
                    format('CREATE %sSEQUENCE %s AS %s INCREMENT %s MINVALUE %s MAXVALUE %s START %s CACHE %s%s',
                           CASE sequence.relpersistence WHEN 'u' THEN 'UNLOGGED ' END, sequence_name, sequence.seqtypid::regtype,
                           sequence.seqincrement, sequence.seqmin, sequence.seqmax, sequence.seqstart, sequence.seqcache,
                           CASE WHEN sequence.seqcycle THEN ' CYCLE' END)]]
                || ARRAY[[caller::text, sequence_name, NULL,
                    format('SELECT setval(%L, %s, %L)', sequence_name, problem.last_value, problem.is_called)]]
                || (SELECT array_agg(ARRAY[caller::text, NULL, NULL, m.command] ORDER BY m.step, m.command)
                    FROM @extschema@._flake_remade(sequence.oid, caller) AS m WHERE m.step > 0)
                || ARRAY[[caller::text, NULL, NULL, format('ALTER SEQUENCE %s OWNED BY %s.%I', sequence_name, target, attribute)]];
        END IF;
    ELSE
        steps := steps || ARRAY[[col.relowner::text, target::text, target::oid::text,
                                 format('ALTER TABLE %s ALTER COLUMN %I DROP DEFAULT', target, attribute)]];
    END IF;
    steps := steps || (
        SELECT array_agg(ARRAY[c.relowner::text, t.name, c.oid::text, t.command] ORDER BY c.oid <> target, c.oid, t.command NULLS FIRST)
        FROM (SELECT u.relation, u.relation::regclass::text,
                     format('ALTER TABLE %s %s', u.relation::regclass,
                            string_agg(format('ALTER COLUMN %I TYPE bigint', u.attname), ', ' ORDER BY i))
              FROM unnest(relations, attributes) WITH ORDINALITY AS u (relation, attname, i) GROUP BY u.relation
              UNION ALL
              SELECT u.relation, u.attname, NULL FROM unnest(relations, attributes) AS u (relation, attname)) AS t (relation, name, command)
        JOIN pg_class c ON c.oid = t.relation);
    steps := steps || ARRAY[[caller::text, target::text, target::oid::text,
        format('ALTER TABLE %s ALTER COLUMN %I SET DEFAULT @extschema@.flake_id(%s%s)', target, attribute, shard,
               CASE WHEN generator <> '@extschema@.flake_default'::regclass THEN format(', %L::regclass', generator) END)]];
    IF drop_sequence AND sequence.oid IS NOT NULL AND col.attidentity = '' THEN
        steps := steps || ARRAY[[caller::text, sequence.oid::regclass::text, sequence.oid::text, format('DROP SEQUENCE %s', sequence.oid::regclass)]];
    END IF;
    steps := steps || (
        -- Nothing of anybody is executed from here on, so a name cannot change its meaning.
        SELECT array_agg(ARRAY[caller::text, NULL, NULL, t.s] ORDER BY v.i, t.step, t.s)
        FROM unnest(views) WITH ORDINALITY AS v (id, i)
        JOIN pg_class c ON c.oid = v.id
        CROSS JOIN LATERAL @extschema@._flake_remade(c.oid, caller) AS m
        CROSS JOIN LATERAL (
            SELECT m.step, CASE m.step WHEN 0
                THEN format('CREATE VIEW %s%s AS %s', m.name,
                            (SELECT format(' WITH (%s)', string_agg(format('%I = %L', option_name, option_value), ', '))
                             FROM pg_options_to_table(c.reloptions) HAVING count(*) > 0),
                            rtrim(pg_get_viewdef(c.oid), ';'))
                ELSE m.command END
        ) AS t (step, s));

    IF NOT dry_run THEN
        -- Some are created again from their definitions as text.  The names in these
        -- must mean then what they mean now.
        tables := ARRAY(WITH RECURSIVE heir (oid) AS (SELECT unnest(relations)
                                                      UNION SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = heir.oid)
                        SELECT oid FROM heir);
        view_names := ARRAY(SELECT m.name FROM unnest(views) WITH ORDINALITY AS t (v, i), @extschema@._flake_remade(v, caller) AS m
                            WHERE m.step = 0 ORDER BY i);
        named := @extschema@._flake_named_by(tables, coalesce(views, '{}'));
        types := ARRAY(SELECT DISTINCT d.refobjid
                       FROM pg_rewrite w
                       JOIN pg_depend d ON d.classid = 'pg_rewrite'::regclass AND d.objid = w.oid AND d.refclassid = 'pg_type'::regclass
                       JOIN pg_type t ON t.oid = d.refobjid AND t.typrelid <> ALL (views)
                       WHERE w.ev_class = ANY (views));
        schemas := schemas || ARRAY(SELECT DISTINCT typnamespace FROM pg_type WHERE oid = ANY (types));
        PERFORM @extschema@._flake_guard_schemas(ticket, schemas);
        PERFORM @extschema@._flake_execute_steps(ticket, schemas, relations || target::oid || generator::oid, types, steps, true);
        SELECT key INTO problem
        FROM jsonb_each(named) AS b
        FULL JOIN jsonb_each(@extschema@._flake_named_by(tables, view_names::regclass[]::oid[])) AS a USING (key)
        WHERE b.value IS DISTINCT FROM a.value ORDER BY key LIMIT 1;
        IF FOUND THEN
            RAISE EXCEPTION USING ERRCODE = 'feature_not_supported',
                MESSAGE = format('cannot change the type of column "%s" of table "%s" under %s', attribute, col.relname, problem.key),
                DETAIL = 'A name in its definition would come to mean something else.',
                HINT = 'Drop it before, and create it again afterwards.';
        END IF;
    END IF;
    RETURN QUERY SELECT steps[i][4] FROM generate_subscripts(steps, 1) AS i WHERE steps[i][4] IS NOT NULL ORDER BY i;
END
$function$;

COMMENT ON FUNCTION @extschema@._flake_migrate_guarded(@extschema@._flake_ticket, regclass, name, int, regclass, @extschema@.flake_layout, boolean, boolean) IS
'what flake_migrate() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_migrate(target regclass, attribute name, shard int,
    generator regclass DEFAULT '@extschema@.flake_default', dry_run boolean DEFAULT false,
    drop_sequence boolean DEFAULT false)
RETURNS SETOF text
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s FROM @extschema@._flake_migrate_guarded(
        @extschema@._flake_guard('@extschema@'::text), target, attribute, shard, generator,
        @extschema@.flake_layout_of(generator), dry_run, drop_sequence) s;
END;

COMMENT ON FUNCTION @extschema@.flake_migrate(regclass, name, int, regclass, boolean, boolean) IS
'lets a column that was serial, an identity or had another default take its values from flake_id(shard, generator), widens it and the columns that refer to it to bigint, and creates views on them again; the statements for it, which were executed unless dry_run; the old sequence is kept unless drop_sequence; errors: 42501 unless the user is the owner or may be, 55000 if new ids would not exceed those in the column or cannot be minted, 42809 if target is no table, 42P01 if it or the generator does not exist, 25006 read-only, 42703 no such column, 42804 not an integer, 22003 no such shard, 0A000 for what it would not keep as it is, for names that would come to mean something else, and for foreign keys and inheritance that would execute what the owner of another table has written, 25001 not READ COMMITTED, 55P03 when lock_timeout is over, which limits all waiting for locks together';


-- Watch

CREATE FUNCTION @extschema@._flake_stat_slots(
    OUT generator regclass, OUT shard int, OUT issued bigint,
    OUT last_id bigint, OUT last_time timestamptz, OUT waits bigint, OUT wait_us bigint, OUT clock_steps_back bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_stat_slots'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_stat_slots() IS
'the numbers behind the view flake_stat; wait_us is in microseconds';

CREATE VIEW @extschema@.flake_stat AS
SELECT s.generator,
       s.shard,
       s.issued,
       s.last_id,
       s.last_time,
       CASE WHEN s.last_time IS NOT NULL
            THEN greatest(s.last_time - pg_catalog.clock_timestamp(), interval '0')
       END AS ahead,
       s.waits,
       s.wait_us OPERATOR(pg_catalog.*) interval '1 microsecond' AS wait_time,
       s.clock_steps_back
FROM @extschema@._flake_stat_slots() s;

COMMENT ON VIEW @extschema@.flake_stat IS
'what was minted in this database since the server started or flake_stat_reset(), by generator and shard; what flake_uuid() and flake_objectid() minted counts for all databases together';
COMMENT ON COLUMN @extschema@.flake_stat.generator IS 'the generator''s sequence';
COMMENT ON COLUMN @extschema@.flake_stat.shard IS 'logical shard';
COMMENT ON COLUMN @extschema@.flake_stat.issued IS 'ids handed out';
COMMENT ON COLUMN @extschema@.flake_stat.last_id IS 'the id handed out last';
COMMENT ON COLUMN @extschema@.flake_stat.last_time IS 'the time in last_id; null without time';
COMMENT ON COLUMN @extschema@.flake_stat.ahead IS 'how far last_time is ahead of the clock now; 0 if it is not; null without time';
COMMENT ON COLUMN @extschema@.flake_stat.waits IS 'times that a caller had to wait for the clock';
COMMENT ON COLUMN @extschema@.flake_stat.wait_time IS 'how long callers waited, in all';
COMMENT ON COLUMN @extschema@.flake_stat.clock_steps_back IS 'times that the clock was seen 10 ms or more behind an earlier reading';

CREATE FUNCTION @extschema@.flake_stat_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'flake_stat_reset'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_stat_reset() IS
'sets the counters in flake_stat to zero, for this database; error: 42501 without EXECUTE';

REVOKE ALL ON FUNCTION @extschema@._flake_stat_slots() FROM PUBLIC;
REVOKE ALL ON FUNCTION @extschema@.flake_stat_reset() FROM PUBLIC;
GRANT EXECUTE ON FUNCTION @extschema@._flake_stat_slots() TO pg_monitor, @extowner@;
GRANT EXECUTE ON FUNCTION @extschema@.flake_stat_reset() TO @extowner@;
GRANT SELECT ON @extschema@.flake_stat TO pg_monitor, @extowner@;
