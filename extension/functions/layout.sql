-- Layouts

CREATE FUNCTION @extschema@.flake_layout_info(layout @extschema@.flake_layout,
    OUT shards bigint, OUT ids_per_tick numeric, OUT ids_per_second numeric,
    OUT starts timestamptz, OUT ends timestamptz)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_layout_info'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_layout_info(@extschema@.flake_layout) IS
'what a layout has room for: shards, ids of one shard in a tick and in a second, and the time of its first id and past its last (before the epoch ids are negative); without time all but shards are null';

CREATE FUNCTION @extschema@.flake_layout_above(layout @extschema@.flake_layout,
    id bigint, reserve interval DEFAULT '1 day')
RETURNS @extschema@.flake_layout
AS 'MODULE_PATHNAME', 'flake_layout_above'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_layout_above(@extschema@.flake_layout, bigint, interval) IS
'the same layout with its epoch moved so that ids minted from now on exceed an id by so much time; unchanged if they do already and the layout''s lifetime is not over; errors: 22003 if no epoch does it, 22008 if the reserve is too long, 22023 if the layout has no time or the reserve is negative';

CREATE FUNCTION @extschema@.flake_shard_number(layout @extschema@.flake_layout,
    VARIADIC parts int[])
RETURNS int
AS 'MODULE_PATHNAME', 'flake_shard_number'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@.flake_shard_number(@extschema@.flake_layout, int[]) IS
'a shard number put together from its parts, the most significant first, as in flake_shard_number(''snowflake'', datacenter, worker); errors: 22003 for a part out of range, 22004 for null, 22023 for the wrong number of parts';

CREATE FUNCTION @extschema@._flake_layout_preset_list(
    OUT name text, OUT layout @extschema@.flake_layout, OUT origin text)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_layout_preset_list'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE ROWS 14;

COMMENT ON FUNCTION @extschema@._flake_layout_preset_list() IS
'the presets behind the view flake_presets';

CREATE VIEW @extschema@.flake_presets AS
SELECT p.name, p.layout, i.shards, i.ids_per_second, i.starts, i.ends, p.origin
FROM @extschema@._flake_layout_preset_list() p,
     @extschema@.flake_layout_info(p.layout) i;

COMMENT ON VIEW @extschema@.flake_presets IS
'published layouts, which flake_layout takes by name';
COMMENT ON COLUMN @extschema@.flake_presets.name IS 'what to write for the layout';
COMMENT ON COLUMN @extschema@.flake_presets.layout IS 'the layout in full';
COMMENT ON COLUMN @extschema@.flake_presets.shards IS 'how many shard numbers there are';
COMMENT ON COLUMN @extschema@.flake_presets.ids_per_second IS 'how many ids a second one shard has; null without time';
COMMENT ON COLUMN @extschema@.flake_presets.starts IS 'the time of the first id; before the epoch ids are negative; null without time';
COMMENT ON COLUMN @extschema@.flake_presets.ends IS 'when the time field is used up; null without time';
COMMENT ON COLUMN @extschema@.flake_presets.origin IS 'whose layout it is, and where it is published';
