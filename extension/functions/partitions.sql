-- Partitions by time

CREATE FUNCTION @extschema@._flake_partition_layout(parent regclass, layout @extschema@.flake_layout)
RETURNS @extschema@.flake_layout
AS 'MODULE_PATHNAME', 'flake_partition_layout'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_partition_layout(regclass, @extschema@.flake_layout) IS
'the layout of the ids in a table PARTITION BY RANGE of an id: uuidv7 for a column of type uuid, else the one given; errors: 42809 for other tables, 22023 if the layout is for another type';

CREATE FUNCTION @extschema@._flake_uuidv7_bound(bound uuid)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_uuidv7_bound'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_uuidv7_bound(uuid) IS
'the smallest flake_uuidv7_head() of the UUIDs of version 7 that are not below any UUID: for bounds of partitions';

CREATE FUNCTION @extschema@._flake_partition_bound_time(bound bigint, is_upper boolean, layout @extschema@.flake_layout)
RETURNS timestamptz
AS 'MODULE_PATHNAME', 'flake_partition_bound_time'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_partition_bound_time(bigint, boolean, @extschema@.flake_layout) IS
'when the tick begins that has an id which is a bound of a partition; of an upper bound the next tick, if that one has ids below it; null if the layout has no time or timestamptz cannot hold it';

CREATE FUNCTION @extschema@.flake_partitions(parent regclass,
    layout @extschema@.flake_layout DEFAULT 'instagram',
    OUT partition regclass, OUT lower_bound bigint, OUT upper_bound bigint,
    OUT since timestamptz, OUT upto timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE STRICT PARALLEL SAFE
BEGIN ATOMIC
    SELECT @extschema@._flake_partition_layout(parent, layout);
    SELECT b.oid::pg_catalog.regclass, b.lower_bound, b.upper_bound,
           @extschema@._flake_partition_bound_time(b.lower_bound, false, @extschema@._flake_partition_layout(parent, layout)),
           @extschema@._flake_partition_bound_time(b.upper_bound, true, @extschema@._flake_partition_layout(parent, layout))
    FROM (SELECT c.oid,
                 coalesce(substring(pg_catalog.pg_get_expr(c.relpartbound, 0) FROM 'FROM [(]''?(-?[0-9]+)''?[)]'::text)::bigint,
                          @extschema@._flake_uuidv7_bound(
                              substring(pg_catalog.pg_get_expr(c.relpartbound, 0) FROM 'FROM [(]''([0-9a-f-]{36})''[)]'::text)::uuid)) AS lower_bound,
                 coalesce(substring(pg_catalog.pg_get_expr(c.relpartbound, 0) FROM 'TO [(]''?(-?[0-9]+)''?[)]'::text)::bigint,
                          @extschema@._flake_uuidv7_bound(
                              substring(pg_catalog.pg_get_expr(c.relpartbound, 0) FROM 'TO [(]''([0-9a-f-]{36})''[)]'::text)::uuid)) AS upper_bound
          FROM pg_catalog.pg_inherits i
          JOIN pg_catalog.pg_class c ON c.oid = i.inhrelid
          WHERE i.inhparent = parent::pg_catalog.oid
            AND pg_catalog.pg_get_expr(c.relpartbound, 0) <> 'DEFAULT'::text) b
    ORDER BY b.lower_bound NULLS FIRST;
END;

COMMENT ON FUNCTION @extschema@.flake_partitions(regclass, @extschema@.flake_layout) IS
'the partitions of a table, PARTITION BY RANGE of an id, but for the default one: ids from lower_bound to below upper_bound, which are of times from since to before upto; null without a bound, and times that timestamptz cannot hold; of UUIDs the bounds are those of flake_uuidv7_head(); errors: 42809 for other tables, 22023 if the layout is for another type';

-- Steps of all calls meet: months are counted from the year 1, days from a Monday,
-- both in local time, and shorter ones from an instant.  What is between two
-- instants at which steps begin is one step, whatever the zone's offset does: a
-- midnight that comes twice begins a day the second time, and a day that was left
-- out is no step.  Offsets differ by up to 26 hours, so the step is among these.
CREATE FUNCTION @extschema@._flake_partition_step(width interval, ts timestamptz, zone text,
    OUT since timestamptz, OUT upto timestamptz)
RETURNS SETOF record
LANGUAGE sql STABLE PARALLEL SAFE
BEGIN ATOMIC
    SELECT max(b.start) FILTER (WHERE b.start <= ts), min(b.start) FILTER (WHERE b.start > ts)
    FROM (SELECT extract(year FROM width) * 12::numeric + extract(month FROM width) AS months,
                 extract(day FROM width) AS days,
                 pg_catalog.timezone(zone, ts) AS local) w
    CROSS JOIN pg_catalog.generate_series(-2, 3) n
    CROSS JOIN LATERAL (
        SELECT CASE WHEN w.months > 0::numeric THEN
                        pg_catalog.timezone(zone, pg_catalog.date_trunc('month'::text, w.local) + pg_catalog.make_interval(months =>
                            (n::numeric * w.months - mod(mod(extract(year FROM w.local) * 12::numeric + extract(month FROM w.local) - 1::numeric, w.months)
                                                         + w.months, w.months))::int))
                    WHEN w.days > 0::numeric THEN
                        pg_catalog.timezone(zone, pg_catalog.date_bin(width, w.local, '2001-01-01'::timestamp) + n::float8 * width)
                    ELSE pg_catalog.date_bin(width, ts, pg_catalog.timezone(zone, '2001-01-01'::timestamp)) + n::float8 * width
               END AS start) b;
END;

COMMENT ON FUNCTION @extschema@._flake_partition_step(interval, timestamptz, text) IS
'what a partition for an instant is for, of the steps of flake_create_partitions(), which checks the width: the instants from since to before upto; for functions of flakeid; error: 22023 no such time zone';

CREATE FUNCTION @extschema@._flake_create_partitions_guarded(ticket @extschema@._flake_ticket,
    parent regclass, width interval, since timestamptz, upto timestamptz,
    layout @extschema@.flake_layout, zone text)
RETURNS SETOF regclass
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/partitions/create_partitions.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_create_partitions_guarded(@extschema@._flake_ticket, regclass, interval, timestamptz, timestamptz, @extschema@.flake_layout, text) IS
'what flake_create_partitions() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_create_partitions(parent regclass, width interval,
    since timestamptz, upto timestamptz,
    layout @extschema@.flake_layout DEFAULT 'instagram',
    zone text DEFAULT pg_catalog.current_setting('TimeZone'::text))
RETURNS SETOF regclass
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT p FROM @extschema@._flake_create_partitions_guarded(
        @extschema@._flake_guard('@extschema@'::text), parent, width, since, upto, layout, zone) p;
END;

COMMENT ON FUNCTION @extschema@.flake_create_partitions(regclass, interval, timestamptz, timestamptz, @extschema@.flake_layout, text) IS
'creates the partitions of a table, PARTITION BY RANGE of an id, for the times from since to before upto: one for each width, such as 1 hour, 1 day, 1 week (from Monday) or 1 month, of the calendar in a time zone; they belong to the table''s owner; those that were created, not those that were there already; errors: 42501 unless the user is the owner or may be, 42809 for other tables, 22023 for other widths and if the layout is for another type, 23514 if the default partition has rows of a new one, 25001 not READ COMMITTED, 25006 read-only, 42P17 if one would overlap a partition that is not the same, 42P07 if a relation of its name is there already, 55000 if a partition of these times is only half detached, 0A000 if another role can write checks for the default partition, 22003 past the layout''s lifetime, 55P03 if a lock is not to be had in time';

CREATE FUNCTION @extschema@._flake_drop_partitions_guarded(ticket @extschema@._flake_ticket,
    parent regclass, before timestamptz,
    layout @extschema@.flake_layout, "concurrently" boolean)
RETURNS SETOF text
LANGUAGE plpgsql VOLATILE STRICT PARALLEL UNSAFE
SET search_path = pg_catalog, pg_temp
AS $function$
\i bodies/partitions/drop_partitions.pgsql
$function$;

COMMENT ON FUNCTION @extschema@._flake_drop_partitions_guarded(@extschema@._flake_ticket, regclass, timestamptz, @extschema@.flake_layout, boolean) IS
'what flake_drop_partitions() does, after _flake_guard(); not for others';

CREATE FUNCTION @extschema@.flake_drop_partitions(parent regclass, before timestamptz,
    layout @extschema@.flake_layout DEFAULT 'instagram', concurrently boolean DEFAULT false)
RETURNS SETOF text
LANGUAGE sql VOLATILE STRICT PARALLEL UNSAFE
BEGIN ATOMIC
    SELECT s FROM @extschema@._flake_drop_partitions_guarded(
        @extschema@._flake_guard('@extschema@'::text), parent, before, layout, "concurrently") s;
END;

COMMENT ON FUNCTION @extschema@.flake_drop_partitions(regclass, timestamptz, @extschema@.flake_layout, boolean) IS
'drops the partitions of a table, PARTITION BY RANGE of an id, all of whose ids are of times before an instant; the statements that did it, or with concurrently, statements to be executed one by one, as with \gexec, that detach them without locking out others and then drop them, if they are detached; errors: 42501 unless the user owns them or may be their owner, 42809 for other tables, 22023 if the layout has no time or is for another type, 23503 if rows of other tables refer to them, 25001 not READ COMMITTED, 25006 read-only, 0A000 if that could execute what another role has written: looking for such rows, or, with concurrently, the user who is not the owner, 55000 if there is a default partition and concurrently is true, 55P03 if a lock is not to be had in time';

-- Partitions by shard: see once/shard_ops.sql

CREATE FUNCTION @extschema@._flake_shard_hash(id bigint, seed bigint)
RETURNS bigint
AS 'MODULE_PATHNAME', 'flake_shard_hash'
LANGUAGE C IMMUTABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_shard_hash(bigint, bigint) IS
'the hash of flake_shard_ops, by which a row goes to the partition of its shard';
