-- Leases

CREATE FUNCTION @extschema@.flake_lease(owner text, ttl interval DEFAULT '1 hour',
    generator regclass DEFAULT '@extschema@.flake_default',
    OUT shard int, OUT not_before timestamptz, OUT expires_at timestamptz)
AS 'MODULE_PATHNAME', 'flake_lease'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_lease(text, interval, regclass) IS
'a shard for a process that mints ids outside of the database, once the transaction is committed: those whose time is at or after not_before and before expires_at are its alone; ttl is how long; the same owner gets the same shard, and must not have minted ids of times more than flakeid.max_ahead after the present; errors: 22003 the layout''s lifetime is over, 22008 ttl is too long, 22023 no owner or ttl not positive, 25001 not READ COMMITTED, 25006 read-only, 42501 without the right to mint from the generator, or if the owner''s lease is another role''s, 42809 no generator, one of wide ids, or without time, 42P01 if it has been dropped, 53400 no shard is left, 55000 if its row in flake_shard_state was changed by hand, a change to the generator is not committed, or this is a node of Citus other than the coordinator, 55P03 if others keep a page of flake_shard_map locked';

CREATE FUNCTION @extschema@.flake_renew(owner text, ttl interval,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'flake_renew'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_renew(text, interval, regclass) IS
'makes a lease expire only when ttl has passed from now, or later if it did, once the transaction is committed; when it expires; errors: as flake_lease 22008, 22023, 25001, 25006, 42501, 42809, 42P01, 55000, and 42704 if the owner has no lease, or it has expired and its shard was given away, 55P03 if it has expired and flake_shard_map, or a page of it, is locked';

CREATE FUNCTION @extschema@.flake_release(owner text,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_release'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_release(text, regclass) IS
'lets a lease expire now; false if there was none; the owner must have stopped minting, and must not have minted ids of times more than flakeid.max_ahead after the present; errors: as flake_lease 22023, 25001, 25006, 42501, 42809, 42P01, 55000';
