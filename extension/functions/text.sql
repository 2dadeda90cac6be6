-- Text forms and sealed ids

CREATE FUNCTION @extschema@.flake_to_text(id bigint, base int DEFAULT 62)
RETURNS text
AS 'MODULE_PATHNAME', 'flake_to_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_to_text(bigint, int) IS
'an id as text of fixed width, which sorts in C collation as ids do (negative ones after the others): base 16 (16 digits), 32 (Crockford, 13), 58 (Bitcoin, 11) or 62 (0-9A-Za-z, 11); error: 22023 for another base';

CREATE FUNCTION @extschema@.flake_from_text(id text, base int DEFAULT 62)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_from_text'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_from_text(text, int) IS
'the id of a text that flake_to_text() wrote, also without zeros at the beginning; errors: 22023 for another base, 22P02 for anything else';

CREATE FUNCTION @extschema@.flake_seal(id bigint, key bytea)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_seal'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_seal(bigint, bytea) IS
'a keyed permutation of all bigints, so that an id shown in public tells neither time nor shard nor how many there are: FF1 of NIST SP 800-38G with AES, radix 2, 64 numerals, no tweak; flake_unseal() undoes it; errors: 22023 unless the key has 16, 24 or 32 bytes, 0A000 if the server was built without OpenSSL';

CREATE FUNCTION @extschema@.flake_unseal(sealed bigint, key bytea)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_unseal'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_unseal(bigint, bytea) IS
'the id that flake_seal() has sealed with the same key; any bigint is one, so a wrong key gives a wrong id and no error; errors: those of flake_seal()';

CREATE FUNCTION @extschema@.flake_seal(id bigint, key_name text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_seal_named'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_seal(bigint, text) IS
'an id sealed with the newest version of a named key, a server of foreign-data wrapper flake_key, as the current user''s mapping or else that of PUBLIC has it; errors: 42704 if there is no such key, or none for the user, 42501 without USAGE on the server, 0A000 if PostgreSQL was built without OpenSSL';

CREATE FUNCTION @extschema@.flake_unseal(sealed bigint, key_name text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_unseal_named'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_unseal(bigint, text) IS
'the id that was sealed with the newest version of a named key; errors: those of flake_seal()';

CREATE FUNCTION @extschema@.flake_unseal(sealed bigint, key_name text, version int)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_unseal_named'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_unseal(bigint, text, int) IS
'the id that was sealed with a version of a named key, from 1 on; errors: those of flake_seal(), 22023 if there is no such version';

CREATE FUNCTION @extschema@.flake_seal_text(id bigint, key_name text)
RETURNS text
AS 'MODULE_PATHNAME', 'flake_seal_text'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_seal_text(bigint, text) IS
'an id sealed with the newest version of a named key, as text that tells the version: its number, a hyphen, and 11 digits of base 62; flake_unseal_text() reads it, also after newer versions were added; errors: those of flake_seal()';

CREATE FUNCTION @extschema@.flake_unseal_text(sealed text, key_name text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_unseal_text'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_unseal_text(text, text) IS
'the id of a text that flake_seal_text() has written; errors: 22P02 for another text, 22023 if the key does not have the version, and those of flake_seal()';

CREATE FUNCTION @extschema@.flake_add_key(key_name text, role name DEFAULT CURRENT_USER)
RETURNS int
AS 'MODULE_PATHNAME', 'flake_add_key'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@.flake_add_key(text, name) IS
'adds a version, 32 bytes that are drawn at random, to a named key for a role (''public'': for all), as CREATE or ALTER USER MAPPING does; its number, one more than the newest of the role''s or, if it has none, of PUBLIC''s; errors: 42704 if there is no such key or role, 42501 unless the user owns the server, or has USAGE on it and the role is its own, 25006 read-only, 54000 after version 2147483647';

CREATE FUNCTION @extschema@._flake_key_validator(options text[], catalog oid)
RETURNS void
AS 'MODULE_PATHNAME', 'flake_key_validator'
LANGUAGE C STRICT;

COMMENT ON FUNCTION @extschema@._flake_key_validator(text[], oid) IS
'checks options of foreign-data wrapper flake_key; errors: HV00D for a wrong name, 22023 for what is no key';

CREATE FUNCTION @extschema@._flake_ff1(string text, radix int, tweak bytea, key bytea, decrypt boolean)
RETURNS text
AS 'MODULE_PATHNAME', 'flake_ff1_numerals'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_ff1(text, int, bytea, bytea, boolean) IS
'FF1 of a string of numerals, 0-9a-z, of a radix; for tests with published examples; errors: 22023 for what is not a text, a radix, a tweak or a key, or too long';
