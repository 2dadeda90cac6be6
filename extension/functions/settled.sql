-- Read on

CREATE FUNCTION @extschema@._flake_settled_support(internal)
RETURNS internal
AS 'MODULE_PATHNAME', 'flake_settled_support'
LANGUAGE C STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@._flake_settled_support(internal) IS
'finds a bound while a statement is planned, so that there is one when it takes its snapshot; for the planner';

CREATE FUNCTION @extschema@.flake_settled(
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_settled'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED SUPPORT @extschema@._flake_settled_support;

COMMENT ON FUNCTION @extschema@.flake_settled(regclass) IS
'up to where ids are settled: every id at or below it that this server has minted or will mint is of a transaction that has ended, and the statement that calls this sees its rows; null if no id was minted yet, or if none is known for the statement''s snapshot; errors: 0A000 for a layout without time with several shards, 25000 in a parallel worker, 25006 on a standby, 42501 with neither SELECT nor USAGE on the generator, 42809 for generators of wide ids and for what is no generator, 42P01 if it has been dropped, 53200 or 53100 shared memory is used up, 55000 while a change to it is not committed, 55P03 the generator''s page is locked by another session';

CREATE FUNCTION @extschema@.flake_settled(generator regclass, shard int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_settled_of_shard'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_settled(regclass, int) IS
'the same for the ids of one shard; in a layout with time as for all shards; errors: 22003 shard out of range, and those of flake_settled(generator) but 0A000';

CREATE FUNCTION @extschema@.flake_tail(after bigint,
    generator regclass DEFAULT '@extschema@.flake_default')
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_tail'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED SUPPORT @extschema@._flake_settled_support;

COMMENT ON FUNCTION @extschema@.flake_tail(bigint, regclass) IS
'flake_settled(generator) for a reader who has read up to the id after, 0 at first; errors: 55000 if after is above all that is settled, so that rows may have been missed, and those of flake_settled(generator)';

CREATE FUNCTION @extschema@.flake_tail(after bigint, generator regclass, shard int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_tail_of_shard'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_tail(bigint, regclass, int) IS
'flake_settled(generator, shard) for a reader who has read up to the id after of that shard, 0 at first; errors: 55000 if after is above all that is settled, so that rows may have been missed, and those of flake_settled(generator, shard)';

CREATE FUNCTION @extschema@.flake_settled_uuid()
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_settled_uuid'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_settled_uuid() IS
'up to where ids of flake_uuid() are settled, of those that were minted in this database; null as flake_settled(); errors: 25000 in a parallel worker, 25006 on a standby, 42501 with neither SELECT nor USAGE on flake_default_uuid, 53200 or 53100 shared memory is used up, 55000 while a change to it is not committed, 55P03 the generator''s page is locked by another session';

CREATE FUNCTION @extschema@.flake_settled_uuidv7(
    generator regclass DEFAULT '@extschema@.flake_default_uuidv7')
RETURNS uuid
AS 'MODULE_PATHNAME', 'flake_settled_uuidv7'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED SUPPORT @extschema@._flake_settled_support;

COMMENT ON FUNCTION @extschema@.flake_settled_uuidv7(regclass) IS
'flake_settled(generator) for UUIDs of flake_uuidv7(): every one at or below it is of a transaction that has ended; errors: 22023 if ids of the generator are no such UUIDs, and those of flake_settled(generator)';

CREATE FUNCTION @extschema@.flake_settled_objectid()
RETURNS text
AS 'MODULE_PATHNAME', 'flake_settled_objectid'
LANGUAGE C STABLE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_settled_objectid() IS
'up to where ids of flake_objectid() are settled, of those that were minted in this database; null as flake_settled(); errors: 25000 in a parallel worker, 25006 on a standby, 42501 with neither SELECT nor USAGE on flake_default_objectid, 53200 or 53100 shared memory is used up, 55000 while a change to it is not committed, 55P03 the generator''s page is locked by another session';

CREATE FUNCTION @extschema@._flake_holders(
    OUT generator regclass, OUT shard int, OUT pid int, OUT xid xid,
    OUT since timestamptz, OUT from_id bigint, OUT from_time timestamptz,
    OUT is_asked boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_holders_of_database'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_holders() IS
'the open transactions of this database that have minted, and from which id on they hold back what is settled; is_asked says whether somebody has asked since the server''s start; for the views flake_unsettled and flake_health';

CREATE VIEW @extschema@.flake_unsettled AS
SELECT h.generator,
       h.shard,
       h.pid,
       p.gid AS prepared,
       coalesce(h.since, p.prepared) AS since,
       h.from_id,
       h.from_time,
       a.application_name
FROM @extschema@._flake_holders() h
LEFT JOIN pg_catalog.pg_stat_activity a ON a.pid OPERATOR(pg_catalog.=) h.pid
LEFT JOIN pg_catalog.pg_prepared_xacts p ON p.transaction OPERATOR(pg_catalog.=) h.xid;

COMMENT ON VIEW @extschema@.flake_unsettled IS
'the open transactions of this database that have minted, a row for each generator: they hold back flake_settled()';
COMMENT ON COLUMN @extschema@.flake_unsettled.generator IS 'the generator''s sequence; null: all, as the transaction has minted from more than four';
COMMENT ON COLUMN @extschema@.flake_unsettled.shard IS 'logical shard, in a layout without time; else null';
COMMENT ON COLUMN @extschema@.flake_unsettled.pid IS 'the process; null if the transaction is prepared';
COMMENT ON COLUMN @extschema@.flake_unsettled.prepared IS 'the name that PREPARE TRANSACTION has given it; null if it is not prepared';
COMMENT ON COLUMN @extschema@.flake_unsettled.since IS 'when the statement began that minted first from it; of a prepared transaction from before a restart when it was prepared';
COMMENT ON COLUMN @extschema@.flake_unsettled.from_id IS 'its ids are not below this, of UUIDs of version 7 their flake_uuidv7_head(); null for other wide ids';
COMMENT ON COLUMN @extschema@.flake_unsettled.from_time IS 'nor is their time before this; null without time';
COMMENT ON COLUMN @extschema@.flake_unsettled.application_name IS 'the application of the process, as pg_stat_activity has it';
