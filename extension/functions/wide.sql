-- Wide ids

CREATE FUNCTION @extschema@.flake_uuid()
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_uuid'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_uuid() IS
'next 128-bit id as Boundary''s flake: 64 bits of milliseconds since 1970, 48 of worker (setting flakeid.worker), 16 of sequence; unique over all databases of the server while it runs, over restarts in each database; errors: 22003 lifetime over, 25000 in a parallel worker, 25006 read-only, 42501 neither SELECT nor USAGE on flake_default_uuid, 53200 or 53100 shared memory is used up, 53400 clock too far behind, 55000 no worker, or a change to the generator is not committed, 55P03 the generator''s page is locked by another session';

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
'next 96-bit id as MongoDB''s ObjectID, in 24 hexadecimal digits: 4 bytes of seconds since 1970, 5 drawn at random at server start, 3 of counter; errors: 22003 lifetime over, 25000 in a parallel worker, 25006 read-only, 42501 neither SELECT nor USAGE on flake_default_objectid, 53200 or 53100 shared memory is used up, 53400 clock too far behind, 55000 a change to the generator is not committed, 55P03 the generator''s page is locked by another session';

CREATE FUNCTION @extschema@.flake_objectid_timestamp(id text)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'flake_objectid_timestamp'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_objectid_timestamp(text) IS
'when an ObjectID was minted, to the second; error: 22P02 if it is not 24 hexadecimal digits';
