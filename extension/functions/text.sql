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

CREATE FUNCTION @extschema@.flake_seal(id bigint, key text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_seal'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_seal(bigint, text) IS
'a keyed permutation of all bigints, so that an id shown in public tells neither time nor shard nor how many there are: ten rounds of a Feistel network with HMAC-SHA-256; flake_unseal() undoes it; error: 22023 for an empty key';

CREATE FUNCTION @extschema@.flake_unseal(sealed bigint, key text)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_unseal'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_unseal(bigint, text) IS
'the id that flake_seal() has sealed with the same key; any bigint is one, so a wrong key gives a wrong id and no error; error: 22023 for an empty key';
