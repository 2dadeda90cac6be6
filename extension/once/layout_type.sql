-- The type of layouts

CREATE TYPE @extschema@.flake_layout;

CREATE FUNCTION @extschema@._flake_layout_in(cstring)
RETURNS @extschema@.flake_layout
AS 'MODULE_PATHNAME', 'flake_layout_in'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_in(cstring) IS
'input function of flake_layout';

CREATE FUNCTION @extschema@._flake_layout_out(@extschema@.flake_layout)
RETURNS cstring
AS 'MODULE_PATHNAME', 'flake_layout_out'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_out(@extschema@.flake_layout) IS
'output function of flake_layout';

CREATE FUNCTION @extschema@._flake_layout_recv(internal)
RETURNS @extschema@.flake_layout
AS 'MODULE_PATHNAME', 'flake_layout_recv'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_recv(internal) IS
'binary input function of flake_layout';

CREATE FUNCTION @extschema@._flake_layout_send(@extschema@.flake_layout)
RETURNS bytea
AS 'MODULE_PATHNAME', 'flake_layout_send'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_send(@extschema@.flake_layout) IS
'binary output function of flake_layout';

CREATE TYPE @extschema@.flake_layout (
    INPUT = @extschema@._flake_layout_in,
    OUTPUT = @extschema@._flake_layout_out,
    RECEIVE = @extschema@._flake_layout_recv,
    SEND = @extschema@._flake_layout_send,
    INTERNALLENGTH = 216,
    ALIGNMENT = double
);

COMMENT ON TYPE @extschema@.flake_layout IS
'which bits of an id mean what: fields from the most significant bit down, then options, as in ts:41 shard:13 seq:10 epoch=2011-08-24T21:07:01.721Z unit=1ms start=continue; input also takes the name of a preset (view flake_presets); error: 22P02';

CREATE FUNCTION @extschema@._flake_layout_eq(@extschema@.flake_layout, @extschema@.flake_layout)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_layout_eq'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_eq(@extschema@.flake_layout, @extschema@.flake_layout) IS
'implementation of = operator';

CREATE FUNCTION @extschema@._flake_layout_ne(@extschema@.flake_layout, @extschema@.flake_layout)
RETURNS boolean
AS 'MODULE_PATHNAME', 'flake_layout_ne'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_ne(@extschema@.flake_layout, @extschema@.flake_layout) IS
'implementation of <> operator';

CREATE FUNCTION @extschema@._flake_layout_hash(@extschema@.flake_layout)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_layout_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_layout_hash(@extschema@.flake_layout) IS
'hash of a layout, for GROUP BY and joins';

CREATE OPERATOR @extschema@.= (
    LEFTARG = @extschema@.flake_layout,
    RIGHTARG = @extschema@.flake_layout,
    FUNCTION = @extschema@._flake_layout_eq,
    COMMUTATOR = OPERATOR(@extschema@.=),
    NEGATOR = OPERATOR(@extschema@.<>),
    RESTRICT = eqsel,
    JOIN = eqjoinsel,
    HASHES
);

CREATE OPERATOR @extschema@.<> (
    LEFTARG = @extschema@.flake_layout,
    RIGHTARG = @extschema@.flake_layout,
    FUNCTION = @extschema@._flake_layout_ne,
    COMMUTATOR = OPERATOR(@extschema@.<>),
    NEGATOR = OPERATOR(@extschema@.=),
    RESTRICT = neqsel,
    JOIN = neqjoinsel
);

CREATE OPERATOR CLASS @extschema@.flake_layout_ops
DEFAULT FOR TYPE @extschema@.flake_layout USING hash AS
    OPERATOR 1 @extschema@.=,
    FUNCTION 1 @extschema@._flake_layout_hash(@extschema@.flake_layout);
