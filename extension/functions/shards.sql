-- Shards

CREATE FUNCTION @extschema@.flake_detach(shard int,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_detach'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_detach(int, regclass) IS
'lets this server mint a shard no more, from now on if the transaction commits; an upper bound of every id that it has minted for it; waits for sessions that are just claiming ids; errors: 22003 no such shard, 25006 read-only, 42501 without UPDATE on the generator and the right to mint from it, 42809 for those of wide ids and for what is no generator, 42P01 if that has been dropped, 55000 while a change to it is not committed, 55006 if the shard is leased';

CREATE FUNCTION @extschema@.flake_attach(shard int, after bigint DEFAULT NULL,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS void
AS 'MODULE_PATHNAME', 'flake_attach'
LANGUAGE C VOLATILE PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_attach(int, bigint, regclass) IS
'lets this server mint a shard, from the commit of the transaction on, with ids above after, and above all that it has minted before; after may be null, for no bound; errors: those of flake_detach(), 22003 or 22023 if no id exceeds after at all or at present, 22004 if shard or generator is null, 55000 also if with Citus the shard is for nodes';

CREATE FUNCTION @extschema@.flake_backfill(ts timestamptz, shard int,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_backfill'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_backfill(timestamptz, int, regclass) IS
'an id of a past time, for a row that is older than its id: of that time, or right above the last one that was backfilled of the shard, which must be detached and never have been minted; call it in the order of time; another transaction that backfills the shard is waited for; errors: 22003 no such shard, or the layout cannot hold the time, 22023 the time is in the future, or since the shard was detached, or the layout has none, 25006 read-only, 42501 without USAGE and UPDATE on the generator, 42809 for those of wide ids and for what is no generator, 42P01 if that has been dropped, 53400 if the id would be later than the time by more than flakeid.max_ahead, 55000 if the shard is not detached, or may have ids already, or while a change to the generator is not committed';

CREATE FUNCTION @extschema@._flake_shard_rows(
    OUT generator regclass, OUT shard int, OUT state text, OUT after bigint,
    OUT changed_at timestamptz, OUT backfilled bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_shard_rows'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@._flake_shard_rows() IS
'the rows of the view flake_shards, read so that no client can keep others from changing shards; errors: 42501 without SELECT on that view, 42P01 if flake_shard_state or flake_leases is missing, 55000 if it is not as the extension has made it';

CREATE VIEW @extschema@.flake_shards AS
SELECT s.generator, s.shard, s.state, s.after, s.changed_at, s.backfilled
FROM @extschema@._flake_shard_rows() s;

COMMENT ON VIEW @extschema@.flake_shards IS
'the shards that were detached, attached or leased on this server';
COMMENT ON COLUMN @extschema@.flake_shards.generator IS 'the generator''s sequence';
COMMENT ON COLUMN @extschema@.flake_shards.shard IS 'logical shard; -1 for all that have no row of their own, after flake_detach_all()';
COMMENT ON COLUMN @extschema@.flake_shards.state IS 'attached: this server mints it; detached: it does not; leased: it does not, others may, see flake_leases';
COMMENT ON COLUMN @extschema@.flake_shards.after IS 'an id: what was minted before is at or below, what is minted after it was attached is above; null with neither SELECT nor USAGE on the generator';
COMMENT ON COLUMN @extschema@.flake_shards.changed_at IS 'when it was detached, attached or first leased';
COMMENT ON COLUMN @extschema@.flake_shards.backfilled IS 'an id: flake_backfill() goes on above it; null if the shard cannot be backfilled, or with neither SELECT nor USAGE on the generator';
