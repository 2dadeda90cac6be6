-- Generators

CREATE FUNCTION @extschema@.flake_create_generator(name text,
    layout @extschema@.flake_layout DEFAULT 'instagram',
    after bigint DEFAULT NULL)
RETURNS regclass
AS 'MODULE_PATHNAME', 'flake_create_generator'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_create_generator(text, @extschema@.flake_layout, bigint) IS
'creates a generator, which is a sequence, with a layout; its first id exceeds after; DROP SEQUENCE drops it; errors: those of CREATE SEQUENCE, such as 42P07 the name is taken, 42501 no CREATE on the schema, 3F000 no such schema, 42601 or 42602 not a name, and 22003 or 22023 if no id of the layout exceeds after at all or at present, 22004 for null, 25006 read-only, 42809 in a schema for temporary objects, 0A000 or 55000 if an event trigger has changed the sequence';

CREATE FUNCTION @extschema@._flake_go_on(generator regclass)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_go_on'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_go_on(regclass) IS
'brings a sequence up to what this server knows of its generator, such as the extension''s own before it was dropped and created again; mints nothing; for the install script; errors: 42501 with neither SELECT nor USAGE on the generator, 25006 read-only, 42809 for what is no generator, 42P01 if it has been dropped';

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
'the columns that take their default, or that of their domain, from a generator, or own it (ALTER SEQUENCE ... OWNED BY)';

CREATE FUNCTION @extschema@.flake_advance(generator regclass, above bigint)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_advance'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_advance(regclass, bigint) IS
'raises a generator: every id that is minted from it after this, of whatever shard, exceeds an id; does nothing if it does so anyway; not undone by ROLLBACK; errors: 22003 or 22023 if not every shard has ids above it at all or at present, 25006 read-only, 42501 without UPDATE on the generator and the right to mint from it, 42809 for generators of wide ids and for what is no generator, 42P01 if it has been dropped, 55000 while a change to it is not committed';

CREATE FUNCTION @extschema@.flake_would_exceed(generator regclass, shard int, id bigint)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_would_exceed'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_would_exceed(regclass, int, bigint) IS
'whether the next id of a shard would exceed an id, as far as is known now; errors: 22003 if the layout has no such shard, 25006 on a standby, 42501 without the right to mint from the generator, 42809 for generators of wide ids and for what is no generator, 42P01 if it has been dropped';

CREATE FUNCTION @extschema@.flake_rewind(generator regclass, below bigint,
    force boolean DEFAULT false)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_rewind'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_rewind(regclass, bigint, boolean) IS
'sets a generator back, after a clock that was far ahead, so that it goes on just above an id, and ids that were handed out above that can come again; for superusers; unless forced it refuses if one of the flake_columns() has such an id, or if there are none, or if the transaction has minted from it or changed anything; a warning names temporary tables of other sessions, which it cannot search; not undone by ROLLBACK; errors: 0A000 for a version of TimescaleDB that does not list its hypertables, 22003 if it has no ids below, 22023 if nothing was handed out above, 25001 not READ COMMITTED, 25006 read-only, 42501 for others than superusers, 42809 for what is no generator, 42P01 if it has been dropped, 55000 if it refuses, 55P03 when lock_timeout is over, if tables with defaults from it are made again and again, or if others have kept a page of one locked for two seconds';

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
                   ('@extschema@.flake_default_objectid'::pg_catalog.regclass),
                   ('@extschema@.flake_default_uuidv7'::pg_catalog.regclass)) b (generator)
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
