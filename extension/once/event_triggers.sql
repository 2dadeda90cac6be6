-- Event triggers

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
