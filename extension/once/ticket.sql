-- The type of tickets, of which only _flake_guard() makes values: see src/trust/guard.c

CREATE TYPE @extschema@._flake_ticket;

CREATE FUNCTION @extschema@._flake_ticket_in(cstring)
RETURNS @extschema@._flake_ticket
AS 'MODULE_PATHNAME', 'flake_ticket_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_ticket_in(cstring) IS
'input function of _flake_ticket: always error 0A000';

CREATE FUNCTION @extschema@._flake_ticket_out(@extschema@._flake_ticket)
RETURNS cstring
AS 'MODULE_PATHNAME', 'flake_ticket_out'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_ticket_out(@extschema@._flake_ticket) IS
'output function of _flake_ticket';

CREATE TYPE @extschema@._flake_ticket (
    INPUT = @extschema@._flake_ticket_in,
    OUTPUT = @extschema@._flake_ticket_out,
    INTERNALLENGTH = 4,
    PASSEDBYVALUE,
    ALIGNMENT = int4
);

COMMENT ON TYPE @extschema@._flake_ticket IS
'says that _flake_guard() was called; for functions of flakeid that others of it call';
