-- The extension's own tables
--
-- src/trust/own_table.c reads and writes flake_shard_state and flake_leases, and reads
-- flake_shard_map.  It refuses to if columns or indexes are others than these.

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

CREATE TABLE @extschema@.flake_shard_state (
    generator  @extschema@._flake_regclass NOT NULL,
    shard      int NOT NULL,
    attached   boolean NOT NULL,
    after      bigint,
    changed_at timestamptz NOT NULL,
    backfilled bigint,
    CONSTRAINT flake_shard_state_pkey PRIMARY KEY (generator, shard)
) USING heap;

COMMENT ON TABLE @extschema@.flake_shard_state IS
'the shards that were detached or attached on this server, by flake_detach(), flake_attach() and flake_lease(); see the view flake_shards';

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

SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_shard_map', '');
