-- UUIDs of version 7 with a shard

CREATE FUNCTION @extschema@.flake_uuidv7(shard int)
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_uuidv7'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_uuidv7(int) IS
'next UUID of version 7 of a logical shard (0 to 8191): 48 bits of milliseconds since 1970, 12 of sequence, 13 of shard, 49 of random; the UUIDs of a shard ascend; waits up to flakeid.max_wait if they are too far ahead of the clock; errors: 22003 shard out of range or lifetime over, 25000 in a parallel worker, 25006 read-only, 42501 without the right to mint from the generator (USAGE, or for flake_default_uuidv7 SELECT), 53200 or 53100 shared memory is used up, 53400 clock too far behind, 55000 the shard is detached or leased, or not attached with flakeid.require_attach, 55P03 the generator''s page is locked by another session, XX000 the operating system has no random bits';

CREATE FUNCTION @extschema@.flake_uuidv7()
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_uuidv7_of_setting'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_uuidv7() IS
'next UUID of version 7 of the logical shard named by the setting flakeid.shard, or, if that is not set, of the one that is this node''s in a database with Citus; errors: 55000 if there is none, and those of flake_uuidv7(int)';

CREATE FUNCTION @extschema@.flake_uuidv7(shard int, generator regclass)
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_uuidv7_of_generator'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_uuidv7(int, regclass) IS
'next UUID of version 7 of a logical shard from a generator made by flake_create_generator(name, ''uuidv7''); errors: 22023 if the generator has another kind of layout, 42809 if it is no generator, 42P01 if it has been dropped, and those of flake_uuidv7(int)';

CREATE FUNCTION @extschema@.flake_uuidv7s(shard int, count int,
    generator regclass DEFAULT '@extschema@.flake_default_uuidv7')
RETURNS SETOF uuid
AS 'MODULE_PATHNAME', 'flake_uuidv7s'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_uuidv7s(int, int, regclass) IS
'the next so many UUIDs of version 7 of a logical shard, ascending and claimed in one step; none for 0; errors: 22023 if negative, 53400 if more than flakeid.max_ahead allows at once, and those of flake_uuidv7(int, regclass)';

CREATE FUNCTION @extschema@.flake_uuidv7_decode(id uuid,
    OUT ts timestamptz, OUT shard int, OUT sequence int)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_uuidv7_decode'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_uuidv7_decode(uuid) IS
'the parts of a UUID that flake_uuidv7() minted: when, its logical shard, its sequence number; of another UUID of version 7 only the time means anything; error: 22023 for another version or variant';

CREATE FUNCTION @extschema@.flake_uuidv7_head(id uuid)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_uuidv7_head'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_uuidv7_head(uuid) IS
'the time and sequence of a UUID of version 7 as one number, milliseconds since 1970 << 12 | sequence: for flake_create_generator(), flake_advance(), flake_rewind(), flake_attach() and flake_tail(), which take a bigint; error: 22023 for another version or variant';

CREATE FUNCTION @extschema@.flake_uuidv7_lower(ts timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_uuidv7_lower'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_uuidv7_lower(timestamptz) IS
'the smallest UUID of version 7 whose time is at or after an instant: the bounds in flake_uuidv7_between(); past the end of the lifetime ffffffff-ffff-ffff-ffff-ffffffffffff';

CREATE FUNCTION @extschema@.flake_uuidv7_upper(ts timestamptz)
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_uuidv7_upper'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_uuidv7_upper(timestamptz) IS
'the largest UUID of version 7 whose time is an instant or earlier; before 1970 00000000-0000-0000-0000-000000000000';

-- Not STRICT: the planner inlines no strict function whose body has an AND.
CREATE FUNCTION @extschema@.flake_uuidv7_between(id uuid, since timestamptz, upto timestamptz)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN id >= @extschema@.flake_uuidv7_lower(since)
    AND id < @extschema@.flake_uuidv7_lower(upto);

COMMENT ON FUNCTION @extschema@.flake_uuidv7_between(uuid, timestamptz, timestamptz) IS
'whether since <= time of id < upto; the planner turns it into a plain range on id, which an index on id serves and partitions are pruned by; of other versions and variants count by the milliseconds in their first 48 bits, and as a millisecond earlier if the rest is below 7000-8000-000000000000, as in all versions below 7';
