-- Mint

CREATE FUNCTION @extschema@.flake_id(shard int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_id'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_id(int) IS
'next id of a logical shard (0 to 8191); waits up to flakeid.max_wait if ids are too far ahead of the clock; errors: 22003 shard out of range or lifetime over, 25000 in a parallel worker, 25006 read-only, 42501 without the right to mint from the generator (USAGE; SELECT will do for flake_default), 53200 or 53100 shared memory is used up, 53400 clock too far behind, 55000 the shard is detached or leased, or not attached with flakeid.require_attach, 55P03 the generator''s page is locked by another session';

CREATE FUNCTION @extschema@.flake_id()
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_id_of_setting'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_id() IS
'next id of the logical shard named by the setting flakeid.shard, or, if that is not set, of the one that is this node''s in a database with Citus; errors: 55000 if there is none, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_id(shard int, generator regclass)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_id_of_generator'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_id(int, regclass) IS
'next id of a logical shard from a generator made by flake_create_generator(); errors: 22023 if its ids are UUIDs, 42809 if it is no generator, 42P01 if it has been dropped, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_ids(shard int, count int,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS SETOF bigint
AS 'MODULE_PATHNAME', 'flake_ids'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_ids(int, int, regclass) IS
'the next so many ids of a logical shard, ascending and claimed in one step; none for 0; errors: 22023 if negative, or if ids of the generator are UUIDs, 53400 if more than flakeid.max_ahead allows at once, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_sibling(id bigint,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_sibling'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_sibling(bigint, regclass) IS
'next id of the logical shard that an existing id of the generator is of, for a row that belongs beside it; errors: 22023 if its ids are UUIDs, and those of flake_id(int)';

CREATE FUNCTION @extschema@.flake_last_id()
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_last_id'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_last_id() IS
'the id that this session minted last, wide ids not counted; error: 55000 if there is none';
