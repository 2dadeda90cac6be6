-- Watch

CREATE FUNCTION @extschema@._flake_stat_slots(
    OUT generator regclass, OUT shard int, OUT issued bigint,
    OUT last_id bigint, OUT last_time timestamptz, OUT above_id bigint, OUT above_time timestamptz, OUT waits bigint, OUT wait_us bigint,
    OUT refused bigint, OUT clock_steps_back bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_stat_slots'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@._flake_stat_slots() IS
'the numbers behind the view flake_stat; above_id is what the shard''s next id exceeds: last_id, or what it was raised to; wait_us is in microseconds';

CREATE VIEW @extschema@.flake_stat AS
SELECT s.generator,
       s.shard,
       s.issued,
       s.last_id,
       s.last_time,
       CASE WHEN s.above_time IS NOT NULL
            THEN greatest(s.above_time - pg_catalog.clock_timestamp(), interval '0')
       END AS ahead,
       s.waits,
       s.wait_us OPERATOR(pg_catalog.*) interval '1 microsecond' AS wait_time,
       s.refused,
       s.clock_steps_back
FROM @extschema@._flake_stat_slots() s;

COMMENT ON VIEW @extschema@.flake_stat IS
'what was minted in this database since the server started or flake_stat_reset(), by generator and shard; what flake_uuid() and flake_objectid() minted counts for all databases together';
COMMENT ON COLUMN @extschema@.flake_stat.generator IS 'the generator''s sequence';
COMMENT ON COLUMN @extschema@.flake_stat.shard IS 'logical shard; null: refusals before a shard came into it, of a generator''s first id while the clock was taken for wrong';
COMMENT ON COLUMN @extschema@.flake_stat.issued IS 'ids handed out';
COMMENT ON COLUMN @extschema@.flake_stat.last_id IS 'the id handed out last, of UUIDs of version 7 its flake_uuidv7_head(); null if none was since the server started, or since flake_rewind() went below it';
COMMENT ON COLUMN @extschema@.flake_stat.last_time IS 'the time in last_id; null without time';
COMMENT ON COLUMN @extschema@.flake_stat.ahead IS 'how far ids are ahead of the clock now: last_time, or what flake_advance() or a bound of the shard has raised them to; 0 if they are not; null without time';
COMMENT ON COLUMN @extschema@.flake_stat.waits IS 'times that a caller had to wait for the clock';
COMMENT ON COLUMN @extschema@.flake_stat.wait_time IS 'how long callers waited, in all';
COMMENT ON COLUMN @extschema@.flake_stat.refused IS 'calls that got no id, but error 53400';
COMMENT ON COLUMN @extschema@.flake_stat.clock_steps_back IS 'times that the clock was seen 10 ms or more behind an earlier reading';

CREATE FUNCTION @extschema@.flake_accept_clock()
RETURNS void
AS 'MODULE_PATHNAME', 'flake_accept_clock'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_accept_clock() IS
'takes the clock of the server for right as it is now, after ids were refused because it had jumped ahead by more than flakeid.max_jump; for all databases; the server''s log says who did it; error: 42501 without EXECUTE, which only superusers have until it is granted';

CREATE FUNCTION @extschema@._flake_clock_guard(
    OUT refused_since timestamptz, OUT jump interval, OUT refusals bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_clock_guard'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_clock_guard() IS
'a row while the server refuses to mint because its clock has jumped ahead: since when, by the clock as it is now; by how much it had jumped at the last refusal; how many refusals; of all databases';

CREATE FUNCTION @extschema@.flake_stat_reset()
RETURNS void
AS 'MODULE_PATHNAME', 'flake_stat_reset'
LANGUAGE C VOLATILE STRICT PARALLEL RESTRICTED;

COMMENT ON FUNCTION @extschema@.flake_stat_reset() IS
'sets the counters in flake_stat to zero, for this database; error: 42501 without EXECUTE';
