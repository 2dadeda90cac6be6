-- Named keys

-- It has no handler: nothing can be read by way of its servers.
CREATE FOREIGN DATA WRAPPER flake_key VALIDATOR @extschema@._flake_key_validator;

COMMENT ON FOREIGN DATA WRAPPER flake_key IS
'its servers are keys for flake_seal(), and the options key_1, key_2 and so on of their user mappings the versions: 32, 48 or 64 hexadecimal digits; flake_add_key() makes one';
