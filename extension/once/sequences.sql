-- The extension's own generators
--
-- last_value is the horizon, a bound of what was handed out; see
-- src/mint/horizon.c.  The bounds are those of the layout's lifetime, and the
-- increment is such that nextval() fails.

CREATE SEQUENCE @extschema@.flake_default AS bigint
    INCREMENT 9223372036854775807
    MINVALUE -1125899906842625 MAXVALUE 1125899906842623 NO CYCLE;

COMMENT ON SEQUENCE @extschema@.flake_default IS
'flakeid''s default generator: last_value is a bound of every id handed out, as time ticks << 10 | sequence; nextval() is not for it';

CREATE SEQUENCE @extschema@.flake_default_uuid AS bigint
    INCREMENT 9223372036854775807
    MINVALUE 1 MAXVALUE 9223372036854775807 NO CYCLE;

COMMENT ON SEQUENCE @extschema@.flake_default_uuid IS
'the generator of flake_uuid(): last_value is a bound of what was handed out, as milliseconds since 1970 << 16 | sequence';

CREATE SEQUENCE @extschema@.flake_default_objectid AS bigint
    INCREMENT 9223372036854775807
    MINVALUE -72057594037927937 MAXVALUE 72057594037927935 NO CYCLE;

COMMENT ON SEQUENCE @extschema@.flake_default_objectid IS
'the generator of flake_objectid(): last_value is a bound of what was handed out, as seconds since 1970 << 24 | counter';

CREATE SEQUENCE @extschema@.flake_default_uuidv7 AS bigint
    INCREMENT 9223372036854775807
    MINVALUE -1152921504606846977 MAXVALUE 1152921504606846975 NO CYCLE;

COMMENT ON SEQUENCE @extschema@.flake_default_uuidv7 IS
'the generator of flake_uuidv7(): last_value is a bound of what was handed out, as milliseconds since 1970 << 12 | sequence';

SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_default', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_default_uuid', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_default_objectid', '');
SELECT pg_catalog.pg_extension_config_dump('@extschema@.flake_default_uuidv7', '');
