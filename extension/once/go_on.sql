-- A flakeid that was dropped just now may be ahead of what a new one would
-- begin with.  This brings the new sequences up to it.
SELECT @extschema@._flake_go_on(g)
FROM pg_catalog.unnest(ARRAY['@extschema@.flake_default', '@extschema@.flake_default_uuid',
                             '@extschema@.flake_default_objectid', '@extschema@.flake_default_uuidv7']::pg_catalog.regclass[]) AS g;
