-- A flakeid that was dropped just now may be ahead of what a new one would
-- begin with.  Claiming no ids brings the new sequences up to it.
SELECT @extschema@.flake_ids(0, 0, '@extschema@.flake_default'::pg_catalog.regclass);
SELECT @extschema@.flake_ids(0, 0, '@extschema@.flake_default_uuid'::pg_catalog.regclass);
SELECT @extschema@.flake_ids(0, 0, '@extschema@.flake_default_objectid'::pg_catalog.regclass);
SELECT @extschema@.flake_uuidv7s(0, 0, '@extschema@.flake_default_uuidv7'::pg_catalog.regclass);
