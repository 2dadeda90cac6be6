-- flakeid-read.sql: reads ids of flakeid where no C extension can be installed.
--
-- For a managed service, or a warehouse that has a copy of the rows.  PostgreSQL 13
-- and later, plain SQL and PL/pgSQL, one transaction:
--
--     psql -1 -f flakeid-read.sql
--
-- It makes a schema "flakeid" with functions of the same names, arguments and results
-- as the extension's: flake_timestamp, flake_shard, flake_sequence, flake_decode,
-- flake_fields, flake_lower, flake_upper, flake_between, flake_to_text, flake_from_text,
-- flake_uuid_to_text, flake_uuid_from_text, flake_uuid_decode, flake_uuidv7_decode,
-- flake_uuidv7_lower, flake_uuidv7_upper, flake_uuidv7_between, flake_objectid_timestamp
-- and flake_shard_for.  A layout is text here: a preset's name, or its fields in full.
-- What begins with _ is for the others to call.
--
-- No search_path changes what they call.  The few that take long have one of their own,
-- which costs a microsecond a call and keeps them from being inlined.  The others name all
-- operators, functions and types with their schema; they have no CASE a WHEN b and no a
-- BETWEEN b AND c, as these look for operators, too.
--
-- Texts are compared by their bytes, as in C, whatever collation an argument has: what is
-- called with COLLATE "C" has it for its variables, too.
--
-- It mints no ids.  To mint one means to keep, for all sessions and over crashes, what
-- was handed out; functions in SQL can only do that by locking a row for each id.
--
-- docs/read-only.md has examples and limits.  To remove it: DROP SCHEMA flakeid CASCADE.
--
-- Copyright (c) 2026, the flakeid developers

CREATE SCHEMA flakeid;

COMMENT ON SCHEMA flakeid IS 'functions that read ids of flakeid, without the extension';

-- Layouts
--
-- The functions below call _flake_layout() with a constant nearly always, and the
-- planner puts its result in the place of the call: a layout is read once for each query.

CREATE TYPE flakeid._flake_layout AS (
    text        text,
    epoch_us    bigint,     -- since 2000-01-01 UTC, as timestamptz counts
    unit_us     bigint,
    time_bits   int,        -- 0 without time
    time_shift  int,
    seq_bits    int,
    seq_shift   int,
    part_names  text[],     -- of the shard number, the most significant first
    part_bits   int[],
    part_shifts int[]
);

CREATE FUNCTION flakeid._flake_preset(name text)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
SELECT CASE name
    WHEN 'instagram' THEN 'ts:41 shard:13 seq:10 epoch=1314220021721 unit=1ms start=continue'
    WHEN 'snowflake' THEN 'ts:41 datacenter:5 worker:5 seq:12 epoch=1288834974657 unit=1ms start=zero'
    WHEN 'hazelcast' THEN 'ts:41 seq:6 node:16 epoch=2018-01-01 unit=1ms start=zero'
    WHEN 'snowcast' THEN 'ts:41 node:13 seq:10 epoch=2014-01-01 unit=1ms start=zero'
    WHEN 'region' THEN 'ts:41 region:3 worker:10 seq:10 epoch=1288834974657 unit=1ms start=random:10'
    WHEN 'baidu' THEN 'ts:28 worker:22 seq:13 epoch=2016-05-19T16:00:00Z unit=1s start=zero'
    WHEN 'leaf' THEN 'ts:41 worker:10 seq:12 epoch=1288834974657 unit=1ms start=random:100'
    WHEN 'simpleflake' THEN 'ts:41 seq:23 epoch=2000-01-01T05:00:00Z unit=1ms start=random'
    WHEN 'sonyflake' THEN 'ts:39 seq:8 machine:16 epoch=2014-09-01 unit=10ms start=zero'
    WHEN 'discord' THEN 'ts:42 worker:5 process:5 seq:12 epoch=2015-01-01 unit=1ms start=zero'
    WHEN 'pgedge' THEN 'ts:41 node:10 seq:12 epoch=2023-01-01 unit=1ms start=zero'
    WHEN 'mastodon' THEN 'ts:48 seq:16 epoch=1970-01-01 unit=1ms start=random'
    WHEN 'pgactive' THEN 'ts:40 node:10 seq:14 epoch=2016-10-06T23:22:19.634Z unit=1ms start=continue'
    WHEN 'tsid' THEN 'ts:42 node:10 seq:12 epoch=2020-01-01 unit=1ms start=random'
    WHEN 'clickhouse' THEN 'ts:41 machine:10 seq:12 epoch=1970-01-01 unit=1ms start=zero'
    WHEN 'cockroach' THEN 'ts:47 seq:1 node:15 epoch=2015-01-01 unit=20us start=zero'
    WHEN 'js53' THEN 'ts:40 shard:5 seq:8 epoch=2024-01-01 unit=10ms start=continue'
    WHEN 'segment' THEN 'seq:63 block=10000'
    WHEN 'ticket' THEN 'seq:62 server:1 block=10000'
END
$$;

COMMENT ON FUNCTION flakeid._flake_preset(text) IS
'the layout of a preset in full; null if there is none of that name';

CREATE FUNCTION flakeid._flake_no_layout(layout text, detail text)
RETURNS void
LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
AS $$
BEGIN
    RAISE invalid_text_representation USING
        MESSAGE = pg_catalog.format('invalid input syntax for type flake_layout: "%s"', layout),
        DETAIL = detail;
END
$$;

COMMENT ON FUNCTION flakeid._flake_no_layout(text, text) IS
'raises the error for text that is no layout: 22P02';

-- Microseconds since 2000-01-01 UTC of an epoch: YYYY-MM-DD, YYYY-MM-DDThh:mm:ss[.ffffff]Z,
-- or milliseconds since 1970.  Null if it is none.
CREATE FUNCTION flakeid._flake_epoch(value text)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    f text[] := regexp_match(value,
        '^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:[.]([0-9]{1,6}))?Z)?$');
    us numeric;
BEGIN
    IF value ~ '^-?[0-9]{1,60}$' THEN
        us := value::numeric * 1000 - 946684800000000;
        RETURN CASE WHEN us >= -63082281600000000 AND us < 252455616000000000
               THEN us END;
    END IF;
    IF f IS NULL OR f[1]::int < 1 OR f[2]::int NOT BETWEEN 1 AND 12 OR f[3]::int < 1
        OR f[3]::int > extract(day FROM make_date(f[1]::int, f[2]::int, 1)
                                        + interval '1 month - 1 day')
        OR f[4]::int > 23 OR f[5]::int > 59 OR f[6]::int > 59 THEN
        RETURN NULL;
    END IF;
    RETURN (make_date(f[1]::int, f[2]::int, f[3]::int) - date '2000-01-01') * 86400000000
        + coalesce(f[4]::bigint * 3600000000 + f[5]::bigint * 60000000
                   + f[6]::bigint * 1000000, 0)
        + coalesce(rpad(f[7], 6, '0')::bigint, 0);
END
$$;

COMMENT ON FUNCTION flakeid._flake_epoch(text) IS
'microseconds from 2000-01-01 UTC to the epoch of a layout; null if the text is none';

CREATE FUNCTION flakeid._flake_layout(layout text)
RETURNS flakeid._flake_layout
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    l flakeid._flake_layout;
    full_text text := coalesce(flakeid._flake_preset(layout), layout);
    token text;
    name text;
    value text;
    names text[] := '{}';   -- of the fields
    bits int[] := '{}';
    seen text[] := '{}';    -- the options
    total int := 0;
    shard_bits int := 0;
    start text;
    us numeric;
BEGIN
    l.text := layout;
    IF full_text <> '' AND full_text !~ E'[:= \\t\\n\\r\\f\\v]' THEN
        PERFORM flakeid._flake_no_layout(layout, format('There is no preset "%s".', layout));
    END IF;
    FOREACH token IN ARRAY regexp_split_to_array(full_text, E'[ \\t\\n\\r\\f\\v]+')
    LOOP
        CONTINUE WHEN token = '';
        name := substring(token FROM '^([^=:]*)[=:]');
        value := substring(token FROM '^[^=:]*[=:](.*)$');
        IF name IS NULL OR octet_length(token) > 63 THEN
            PERFORM flakeid._flake_no_layout(layout, format(
                '"%s" is neither a field, as "ts:41" is, nor an option, as "unit=1ms" is.', token));
        END IF;
        IF substr(token, length(name) + 1, 1) = ':' THEN
            IF seen <> '{}' THEN
                PERFORM flakeid._flake_no_layout(layout, format(
                    'Field "%s" comes after an option.', name));
            ELSIF name !~ '^[a-z][a-z0-9_]{0,14}$' OR name = 'timestamp' THEN
                PERFORM flakeid._flake_no_layout(layout, format(
                    '"%s" cannot be a field''s name.', name));
            ELSIF value !~ '^0*[1-9][0-9]?$' OR value::int > 63 THEN
                PERFORM flakeid._flake_no_layout(layout, format(
                    'Field "%s" has "%s" for its bits, which must be a number from 1 to 63.',
                    name, value));
            ELSIF name = 'ts' AND names <> '{}' AND names[1] <> 'ts' THEN
                PERFORM flakeid._flake_no_layout(layout, 'Field "ts" is not the first.');
            ELSIF name = ANY (names) THEN
                PERFORM flakeid._flake_no_layout(layout, format(
                    'Field "%s" is given twice.', name));
            END IF;
            names := names || name;
            bits := bits || value::int;
        ELSE
            IF name = ANY (seen) THEN
                PERFORM flakeid._flake_no_layout(layout, format(
                    'Option "%s" is given twice.', name));
            END IF;
            seen := seen || name;
            CASE name
            WHEN 'epoch' THEN
                l.epoch_us := flakeid._flake_epoch(value);
                IF l.epoch_us IS NULL THEN
                    PERFORM flakeid._flake_no_layout(layout, format(
                        'Epoch "%s" is not an instant.', value));
                END IF;
            WHEN 'unit' THEN
                IF value !~ '^[0-9]+(us|ms|s|min|h|d)$' THEN
                    us := 0;
                ELSE
                    us := substring(value FROM '^[0-9]+')::numeric
                        * CASE substring(value FROM '[a-z]+$')
                          WHEN 'us' THEN 1 WHEN 'ms' THEN 1000 WHEN 's' THEN 1000000
                          WHEN 'min' THEN 60000000 WHEN 'h' THEN 3600000000
                          ELSE 86400000000 END;
                END IF;
                IF us NOT BETWEEN 1 AND 86400000000 THEN
                    PERFORM flakeid._flake_no_layout(layout, format(
                        'Unit "%s" is not a length of time from 1us to 1d.', value));
                END IF;
                l.unit_us := us;
            WHEN 'start' THEN
                start := value;
                IF value !~ '^(continue|zero|random(:0*[1-9][0-9]{0,18})?)$'
                    OR substring(value FROM ':(.*)')::numeric > 9223372036854775807 THEN
                    PERFORM flakeid._flake_no_layout(layout, format(
                        'Start "%s" is unknown.', value));
                END IF;
            WHEN 'block' THEN
                IF value !~ '^0*[1-9][0-9]{0,9}$' OR value::numeric > 1000000000 THEN
                    PERFORM flakeid._flake_no_layout(layout, format(
                        'Block "%s" is not a number from 1 to 1000000000.', value));
                END IF;
            ELSE
                PERFORM flakeid._flake_no_layout(layout, format(
                    'There is no option "%s".', name));
            END CASE;
        END IF;
    END LOOP;

    IF NOT 'seq' = ANY (names) THEN
        PERFORM flakeid._flake_no_layout(layout, 'There is no field "seq".');
    END IF;

    -- From the lowest field up, where each begins.
    l.time_bits := 0;
    l.part_names := '{}';
    l.part_bits := '{}';
    l.part_shifts := '{}';
    FOR i IN REVERSE cardinality(names)..1
    LOOP
        IF names[i] = 'ts' THEN
            l.time_bits := bits[i];
            l.time_shift := total;
        ELSIF names[i] = 'seq' THEN
            l.seq_bits := bits[i];
            l.seq_shift := total;
        ELSE
            l.part_names := names[i] || l.part_names;
            l.part_bits := bits[i] || l.part_bits;
            l.part_shifts := total || l.part_shifts;
            shard_bits := shard_bits + bits[i];
        END IF;
        total := total + bits[i];
    END LOOP;
    IF cardinality(l.part_names) > 8 OR shard_bits > 31 THEN
        PERFORM flakeid._flake_no_layout(layout,
            'A shard number has up to 8 parts and 31 bits.');
    ELSIF total > (CASE WHEN l.time_bits > 0 THEN 64 ELSE 63 END) THEN
        PERFORM flakeid._flake_no_layout(layout, format(
            'There are %s bits, and an id has %s.', total,
            CASE WHEN l.time_bits > 0 THEN 64 ELSE 63 END));
    ELSIF l.time_bits = 0 AND seen && '{epoch,unit,start}' THEN
        PERFORM flakeid._flake_no_layout(layout,
            'Options epoch, unit and start need a field "ts".');
    ELSIF l.time_bits > 0 AND 'block' = ANY (seen) THEN
        PERFORM flakeid._flake_no_layout(layout,
            'Option "block" is for layouts without a field "ts".');
    ELSIF l.time_bits > 0 AND l.epoch_us IS NULL THEN
        PERFORM flakeid._flake_no_layout(layout, 'There is no option "epoch".');
    ELSIF substring(start FROM ':(.*)')::numeric - 1 > ~((-1)::bigint << l.seq_bits) THEN
        PERFORM flakeid._flake_no_layout(layout, format(
            'Start "%s" is more than the %s bits of "seq" can hold.', start, l.seq_bits));
    END IF;
    l.unit_us := coalesce(l.unit_us, 1000);
    RETURN l;
END
$$;

COMMENT ON FUNCTION flakeid._flake_layout(text) IS
'where the fields of a layout are; error: 22P02 for text that is no layout';

-- Fields and parts

CREATE FUNCTION flakeid._flake_field(id bigint, shift int, bits int)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT (id OPERATOR(pg_catalog.>>) shift)
    OPERATOR(pg_catalog.&) (OPERATOR(pg_catalog.~) ((-1)::bigint OPERATOR(pg_catalog.<<) bits))';

COMMENT ON FUNCTION flakeid._flake_field(bigint, int, int) IS
'the number in some bits of an id, without a sign';

CREATE FUNCTION flakeid._flake_instant(us numeric)
RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF us OPERATOR(pg_catalog.<) -211813488000000000
        OR us OPERATOR(pg_catalog.>=) 9223371331200000000 THEN
        RAISE datetime_field_overflow USING MESSAGE = 'timestamp out of range';
    END IF;
    -- By hours and the rest, as a double has 53 bits and us has up to 63.
    RETURN (timestamp with time zone '2000-01-01 00:00:00+00'
        OPERATOR(pg_catalog.+) (interval '1 hour'
            OPERATOR(pg_catalog.*) pg_catalog.div(us, 3600000000)::double precision))
        OPERATOR(pg_catalog.+) (interval '1 microsecond'
            OPERATOR(pg_catalog.*) (us OPERATOR(pg_catalog.%) 3600000000)::double precision);
END
$$;

COMMENT ON FUNCTION flakeid._flake_instant(numeric) IS
'the instant that is so many microseconds after 2000-01-01 UTC; error: 22008 if timestamptz cannot hold it';

CREATE FUNCTION flakeid._flake_timestamp(id bigint, l flakeid._flake_layout)
RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    us numeric;     -- since the epoch
BEGIN
    IF l.time_bits OPERATOR(pg_catalog.=) 0 THEN
        RETURN NULL;
    END IF;
    us := (id OPERATOR(pg_catalog.>>) l.time_shift)::numeric OPERATOR(pg_catalog.*) l.unit_us;
    -- As in C, 2^63 of them are out of range, also if the epoch is before 2000.
    RETURN flakeid._flake_instant(
        CASE WHEN us OPERATOR(pg_catalog.>) 9223372036854775807 THEN us
        ELSE us OPERATOR(pg_catalog.+) l.epoch_us END);
END
$$;

COMMENT ON FUNCTION flakeid._flake_timestamp(bigint, flakeid._flake_layout) IS
'flake_timestamp() of a layout that has been read';

CREATE FUNCTION flakeid.flake_timestamp(id bigint, layout text DEFAULT 'instagram')
RETURNS timestamptz
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_timestamp(id, flakeid._flake_layout(layout COLLATE pg_catalog."C"))';

COMMENT ON FUNCTION flakeid.flake_timestamp(bigint, text) IS
'when an id was minted, to the tick of its layout; null if that has no time; errors: 22008 if timestamptz cannot hold it, 22P02 for text that is no layout';

CREATE FUNCTION flakeid._flake_shard(id bigint, l flakeid._flake_layout)
RETURNS int
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    shard bigint := 0;
BEGIN
    FOR i IN 1..pg_catalog.cardinality(l.part_bits)
    LOOP
        shard := (shard OPERATOR(pg_catalog.<<) l.part_bits[i])
            OPERATOR(pg_catalog.|) flakeid._flake_field(id, l.part_shifts[i], l.part_bits[i]);
    END LOOP;
    RETURN shard;
END
$$;

COMMENT ON FUNCTION flakeid._flake_shard(bigint, flakeid._flake_layout) IS
'flake_shard() of a layout that has been read';

CREATE FUNCTION flakeid.flake_shard(id bigint, layout text DEFAULT 'instagram')
RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_shard(id, flakeid._flake_layout(layout COLLATE pg_catalog."C"))';

COMMENT ON FUNCTION flakeid.flake_shard(bigint, text) IS
'the logical shard of an id; one number, also if the layout has it in several parts; error: 22P02 for text that is no layout';

CREATE FUNCTION flakeid._flake_sequence(id bigint, l flakeid._flake_layout)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_field(id, l.seq_shift, l.seq_bits)';

COMMENT ON FUNCTION flakeid._flake_sequence(bigint, flakeid._flake_layout) IS
'flake_sequence() of a layout that has been read';

CREATE FUNCTION flakeid.flake_sequence(id bigint, layout text DEFAULT 'instagram')
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_sequence(id, flakeid._flake_layout(layout COLLATE pg_catalog."C"))';

COMMENT ON FUNCTION flakeid.flake_sequence(bigint, text) IS
'the sequence number of an id within its tick; error: 22P02 for text that is no layout';

CREATE FUNCTION flakeid.flake_decode(id bigint, layout text DEFAULT 'instagram',
    OUT ts timestamptz, OUT shard int, OUT sequence bigint)
RETURNS record
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    l flakeid._flake_layout := flakeid._flake_layout(layout COLLATE pg_catalog."C");
BEGIN
    ts := flakeid._flake_timestamp(id, l);
    shard := flakeid._flake_shard(id, l);
    sequence := flakeid._flake_sequence(id, l);
END
$$;

COMMENT ON FUNCTION flakeid.flake_decode(bigint, text) IS
'the parts of an id: when it was minted (null if its layout has no time), its logical shard, its sequence number; errors: 22008 if timestamptz cannot hold the time, 22P02 for text that is no layout';

CREATE FUNCTION flakeid._flake_fields(id bigint, l flakeid._flake_layout)
RETURNS jsonb
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    fields pg_catalog.jsonb :=
        pg_catalog.jsonb_build_object('seq', flakeid._flake_sequence(id, l));
    utc timestamp;
BEGIN
    FOR i IN 1..pg_catalog.cardinality(l.part_names)
    LOOP
        fields := fields OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object(l.part_names[i],
            flakeid._flake_field(id, l.part_shifts[i], l.part_bits[i]));
    END LOOP;
    IF l.time_bits OPERATOR(pg_catalog.>) 0 THEN
        utc := flakeid._flake_timestamp(id, l) AT TIME ZONE 'UTC';
        fields := fields OPERATOR(pg_catalog.||) pg_catalog.jsonb_build_object(
            'ts', id OPERATOR(pg_catalog.>>) l.time_shift,
            'timestamp', pg_catalog.to_char(utc, 'YYYY-MM-DD"T"HH24:MI:SS')
            OPERATOR(pg_catalog.||)
            pg_catalog.rtrim(pg_catalog.rtrim(pg_catalog.to_char(utc, '.US'), '0'), '.')
            OPERATOR(pg_catalog.||) CASE WHEN utc OPERATOR(pg_catalog.<) timestamp '0001-01-01'
                                    THEN 'Z BC' ELSE 'Z' END);
    END IF;
    RETURN fields;
END
$$;

COMMENT ON FUNCTION flakeid._flake_fields(bigint, flakeid._flake_layout) IS
'flake_fields() of a layout that has been read';

CREATE FUNCTION flakeid.flake_fields(id bigint, layout text DEFAULT 'instagram')
RETURNS jsonb
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_fields(id, flakeid._flake_layout(layout COLLATE pg_catalog."C"))';

COMMENT ON FUNCTION flakeid.flake_fields(bigint, text) IS
'every field of an id under its own name, ts in ticks since the epoch, and if the layout has time "timestamp", in UTC; errors: 22008 if timestamptz cannot hold that, 22P02 for text that is no layout';

-- Ranges of time

-- The largest tick is 2^n - 1, the smallest -2^n.
CREATE FUNCTION flakeid._flake_tick_bits(l flakeid._flake_layout)
RETURNS int
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF l.time_bits OPERATOR(pg_catalog.=) 0 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = pg_catalog.format('layout "%s" has no time', l.text);
    END IF;
    RETURN least(l.time_bits, 63 OPERATOR(pg_catalog.-) l.time_shift);
END
$$;

COMMENT ON FUNCTION flakeid._flake_tick_bits(flakeid._flake_layout) IS
'ticks of the layout are from -2^n to 2^n - 1, this is n; error: 22023 if the layout has no time';

-- Outside of the lifetime it is the tick next to that.
CREATE FUNCTION flakeid._flake_tick(ts timestamptz, before_us int, l flakeid._flake_layout)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    ticks numeric := 1::bigint OPERATOR(pg_catalog.<<) flakeid._flake_tick_bits(l);
    before numeric := (OPERATOR(pg_catalog.-) ticks) OPERATOR(pg_catalog.-) 1;
    utc timestamp := ts AT TIME ZONE 'UTC';
    us numeric;     -- since the epoch
BEGIN
    IF NOT pg_catalog.isfinite(ts) THEN
        RETURN CASE WHEN ts OPERATOR(pg_catalog.>) timestamp with time zone '2000-01-01 00:00:00+00'
               THEN ticks ELSE before END;
    END IF;
    us := (extract(epoch FROM pg_catalog.date_trunc('second', utc))::numeric
            OPERATOR(pg_catalog.*) 1000000)
        OPERATOR(pg_catalog.-) 946684800000000
        OPERATOR(pg_catalog.+) (extract(microseconds FROM utc)::bigint OPERATOR(pg_catalog.%) 1000000)
        OPERATOR(pg_catalog.-) before_us OPERATOR(pg_catalog.-) l.epoch_us;
    -- As in C, 2^63 us from the epoch are outside of any lifetime.
    IF us OPERATOR(pg_catalog.>) 9223372036854775807 THEN
        RETURN ticks;
    END IF;
    -- Division truncates towards zero; before the epoch, go down instead.
    RETURN greatest(before, least(ticks, pg_catalog.div(us, l.unit_us) OPERATOR(pg_catalog.-)
        CASE WHEN (us OPERATOR(pg_catalog.%) l.unit_us) OPERATOR(pg_catalog.<) 0 THEN 1 ELSE 0 END));
END
$$;

COMMENT ON FUNCTION flakeid._flake_tick(timestamptz, int, flakeid._flake_layout) IS
'the tick that an instant is in, some microseconds before it';

CREATE FUNCTION flakeid._flake_last(l flakeid._flake_layout)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT OPERATOR(pg_catalog.~) ((-1)::bigint
    OPERATOR(pg_catalog.<<) (flakeid._flake_tick_bits(l) OPERATOR(pg_catalog.+) l.time_shift))';

COMMENT ON FUNCTION flakeid._flake_last(flakeid._flake_layout) IS
'the largest id of a layout';

CREATE FUNCTION flakeid.flake_lower(ts timestamptz, layout text DEFAULT 'instagram')
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    l flakeid._flake_layout := flakeid._flake_layout(layout COLLATE pg_catalog."C");
    last bigint := flakeid._flake_last(l);
    -- the tick after the last one that starts before ts
    tick bigint := flakeid._flake_tick(ts, 1, l) OPERATOR(pg_catalog.+) 1;
BEGIN
    IF tick OPERATOR(pg_catalog.>) (last OPERATOR(pg_catalog.>>) l.time_shift) THEN
        RETURN last OPERATOR(pg_catalog.+)
            CASE WHEN last OPERATOR(pg_catalog.<) 9223372036854775807 THEN 1 ELSE 0 END;
    END IF;
    RETURN tick OPERATOR(pg_catalog.<<) l.time_shift;
END
$$;

COMMENT ON FUNCTION flakeid.flake_lower(timestamptz, text) IS
'the smallest id whose time is at or after an instant; past the end of the lifetime one that is greater than all, or 9223372036854775807 where there is none; errors: 22023 if the layout has no time, 22P02 for text that is no layout';

CREATE FUNCTION flakeid.flake_upper(ts timestamptz, layout text DEFAULT 'instagram')
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    l flakeid._flake_layout := flakeid._flake_layout(layout COLLATE pg_catalog."C");
    last bigint := flakeid._flake_last(l);
    last_tick bigint := last OPERATOR(pg_catalog.>>) l.time_shift;
    tick bigint := flakeid._flake_tick(ts, 0, l);
BEGIN
    IF tick OPERATOR(pg_catalog.<) ((OPERATOR(pg_catalog.-) last_tick) OPERATOR(pg_catalog.-) 1) THEN
        RETURN (-9223372036854775808)::bigint;
    ELSIF tick OPERATOR(pg_catalog.>=) last_tick THEN
        RETURN last;
    END IF;
    RETURN ((tick OPERATOR(pg_catalog.+) 1) OPERATOR(pg_catalog.<<) l.time_shift)
        OPERATOR(pg_catalog.-) 1;
END
$$;

COMMENT ON FUNCTION flakeid.flake_upper(timestamptz, text) IS
'the largest id whose time is an instant or earlier; before the lifetime -9223372036854775808; errors: 22023 if the layout has no time, 22P02 for text that is no layout';

-- Not STRICT: the planner inlines no strict function whose body has an AND.
CREATE FUNCTION flakeid.flake_between(id bigint, since timestamptz, upto timestamptz,
    layout text DEFAULT 'instagram')
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT id OPERATOR(pg_catalog.>=) flakeid.flake_lower(since, layout)
    AND id OPERATOR(pg_catalog.<) flakeid.flake_lower(upto, layout)';

COMMENT ON FUNCTION flakeid.flake_between(bigint, timestamptz, timestamptz, text) IS
'whether since <= time of id < upto; the planner turns it into a plain range on id, which an index on id serves and partitions are pruned by; errors: 22023 if the layout has no time, 22P02 for text that is no layout';

-- Text forms

CREATE FUNCTION flakeid._flake_digits(base int)
RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    digits pg_catalog.text := CASE
        WHEN base OPERATOR(pg_catalog.=) 16 THEN '0123456789abcdef'
        WHEN base OPERATOR(pg_catalog.=) 32 THEN '0123456789ABCDEFGHJKMNPQRSTVWXYZ'
        WHEN base OPERATOR(pg_catalog.=) 58 THEN '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'
        WHEN base OPERATOR(pg_catalog.=) 62 THEN '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz'
        END;
BEGIN
    IF digits IS NULL THEN
        RAISE invalid_parameter_value USING
            MESSAGE = pg_catalog.format('base %s is not supported', base),
            HINT = 'Bases are 16, 32, 58 and 62.';
    END IF;
    RETURN digits;
END
$$;

COMMENT ON FUNCTION flakeid._flake_digits(int) IS
'the digits of a base, in the order of their values; error: 22023 for another base';

CREATE FUNCTION flakeid._flake_to_text(number numeric, base int, width int)
RETURNS text
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    digits pg_catalog.text := flakeid._flake_digits(base);
    result pg_catalog.text := '';
    rest bigint;
BEGIN
    FOR i IN 1..width
    LOOP
        EXIT WHEN number OPERATOR(pg_catalog.<) 9223372036854775808;
        result := pg_catalog.substr(digits,
                (number OPERATOR(pg_catalog.%) base)::int OPERATOR(pg_catalog.+) 1, 1)
            OPERATOR(pg_catalog.||) result;
        number := pg_catalog.div(number, base);
    END LOOP;
    rest := number;
    FOR i IN pg_catalog.length(result) OPERATOR(pg_catalog.+) 1..width
    LOOP
        result := pg_catalog.substr(digits,
                (rest OPERATOR(pg_catalog.%) base)::int OPERATOR(pg_catalog.+) 1, 1)
            OPERATOR(pg_catalog.||) result;
        rest := rest OPERATOR(pg_catalog./) base;
    END LOOP;
    RETURN result;
END
$$;

COMMENT ON FUNCTION flakeid._flake_to_text(numeric, int, int) IS
'a number in some base, with zeros in front up to a width';

CREATE FUNCTION flakeid._flake_from_text(text text, base int, bits int, type text)
RETURNS numeric
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    digits pg_catalog.text := flakeid._flake_digits(base);
    wanted pg_catalog.text := CASE WHEN base OPERATOR(pg_catalog.=) 32
        THEN pg_catalog.translate(text, 'abcdefghijklmnopqrstuvwxyzOIL',
                                  'ABCDEFGH1JK1MN0PQRSTUVWXYZ011')
        ELSE text END;
    number numeric := 0;
    too_large numeric := CASE WHEN bits OPERATOR(pg_catalog.=) 64 THEN 18446744073709551616
        ELSE 340282366920938463463374607431768211456 END;
    detail pg_catalog.text := CASE WHEN text OPERATOR(pg_catalog.=) '' THEN 'It is empty.' END;
    value int;
BEGIN
    FOR i IN 1..pg_catalog.length(wanted)
    LOOP
        value := pg_catalog.strpos(digits, pg_catalog.substr(wanted, i, 1)) OPERATOR(pg_catalog.-) 1;
        number := (number OPERATOR(pg_catalog.*) base) OPERATOR(pg_catalog.+) value;
        detail := CASE
            WHEN value OPERATOR(pg_catalog.<) 0
            THEN pg_catalog.format('Base %s has the digits %s.', base, digits)
            WHEN number OPERATOR(pg_catalog.>=) too_large
            THEN pg_catalog.format('It is larger than %s bits can hold.', bits) END;
        EXIT WHEN detail IS NOT NULL;
    END LOOP;
    IF detail IS NOT NULL THEN
        RAISE invalid_text_representation USING
            MESSAGE = pg_catalog.format('invalid text form of type %s: "%s"', type, text),
            DETAIL = detail;
    END IF;
    RETURN number;
END
$$;

COMMENT ON FUNCTION flakeid._flake_from_text(text, int, int, text) IS
'the number of a text in some base; error: 22P02 for a digit of another, or more bits than there are';

-- Numbers modulo 2^64, as a bigint has them.
CREATE FUNCTION flakeid._flake_wrap(number numeric)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT ((((number OPERATOR(pg_catalog.+) 9223372036854775808)
        OPERATOR(pg_catalog.%) 18446744073709551616 OPERATOR(pg_catalog.+) 18446744073709551616)
    OPERATOR(pg_catalog.%) 18446744073709551616) OPERATOR(pg_catalog.-) 9223372036854775808)::bigint';

COMMENT ON FUNCTION flakeid._flake_wrap(numeric) IS
'the bigint that has the same 64 lowest bits as a whole number';

CREATE FUNCTION flakeid._flake_unsigned(number bigint)
RETURNS numeric
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT CASE WHEN number OPERATOR(pg_catalog.<) 0
    THEN number OPERATOR(pg_catalog.+) 18446744073709551616 ELSE number END';

COMMENT ON FUNCTION flakeid._flake_unsigned(bigint) IS
'the 64 bits of a bigint as a number without a sign';

CREATE FUNCTION flakeid.flake_to_text(id bigint, base int DEFAULT 62)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_to_text(flakeid._flake_unsigned(id), base,
    CASE WHEN base OPERATOR(pg_catalog.=) 16 THEN 16
         WHEN base OPERATOR(pg_catalog.=) 32 THEN 13 ELSE 11 END)';

COMMENT ON FUNCTION flakeid.flake_to_text(bigint, int) IS
'an id as text of fixed width, which sorts in C collation as ids do: base 16 (16 digits), 32 (Crockford, 13), 58 (Bitcoin, 11) or 62 (0-9A-Za-z, 11); error: 22023 for another base';

CREATE FUNCTION flakeid.flake_from_text(id text, base int DEFAULT 62)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT flakeid._flake_wrap(
    flakeid._flake_from_text(id COLLATE pg_catalog."C", base, 64, 'bigint'))$$;

COMMENT ON FUNCTION flakeid.flake_from_text(text, int) IS
'the id of a text that flake_to_text() wrote, also without zeros at the beginning; errors: 22023 for another base, 22P02 for anything else';

-- Wide ids

CREATE FUNCTION flakeid._flake_bits(id uuid, first int, count int)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT (('x' OPERATOR(pg_catalog.||) pg_catalog.substr(
        pg_catalog.replace(id::pg_catalog.text, '-', ''), first, count))::bit(64)::bigint
        OPERATOR(pg_catalog.>>) (64 OPERATOR(pg_catalog.-) (4 OPERATOR(pg_catalog.*) count)))
    OPERATOR(pg_catalog.&) (OPERATOR(pg_catalog.~) CASE WHEN count OPERATOR(pg_catalog.=) 16 THEN 0
        ELSE (-1)::bigint OPERATOR(pg_catalog.<<) (4 OPERATOR(pg_catalog.*) count) END)$$;

COMMENT ON FUNCTION flakeid._flake_bits(uuid, int, int) IS
'the number that some hexadecimal digits of a UUID say';

CREATE FUNCTION flakeid.flake_uuid_to_text(id uuid, base int DEFAULT 62)
RETURNS text
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_to_text(
    (flakeid._flake_unsigned(flakeid._flake_bits(id, 1, 16)) OPERATOR(pg_catalog.*) 18446744073709551616)
    OPERATOR(pg_catalog.+) flakeid._flake_unsigned(flakeid._flake_bits(id, 17, 16)), base,
    CASE WHEN base OPERATOR(pg_catalog.=) 16 THEN 32
         WHEN base OPERATOR(pg_catalog.=) 32 THEN 26 ELSE 22 END)';

COMMENT ON FUNCTION flakeid.flake_uuid_to_text(uuid, int) IS
'a UUID in base 16, 32 (Crockford), 58 (Bitcoin) or 62 (0-9A-Za-z), always 32, 26, 22 or 22 characters; error: 22023 for another base';

CREATE FUNCTION flakeid.flake_uuid_from_text(id text, base int DEFAULT 62)
RETURNS uuid
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT flakeid._flake_to_text(flakeid._flake_from_text(
    id COLLATE pg_catalog."C", base, 128, 'uuid'), 16, 32)::pg_catalog.uuid$$;

COMMENT ON FUNCTION flakeid.flake_uuid_from_text(text, int) IS
'the UUID of a text that flake_uuid_to_text() wrote, also without zeros at the beginning; errors: 22023 for another base, 22P02 for anything else';

CREATE FUNCTION flakeid.flake_uuid_decode(id uuid,
    OUT ts timestamptz, OUT worker macaddr, OUT sequence int)
RETURNS record
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    ms bigint := flakeid._flake_bits(id, 1, 16);
BEGIN
    -- As in C, ms * 1000 has to be less than 2^63.
    ts := flakeid._flake_instant(
        CASE WHEN ms OPERATOR(pg_catalog.<) 0 OR ms OPERATOR(pg_catalog.>) 9223372036854775
        THEN 9223372036854775807
        ELSE (ms OPERATOR(pg_catalog.*) 1000) OPERATOR(pg_catalog.-) 946684800000000 END);
    worker := pg_catalog.substr(pg_catalog.replace(id::pg_catalog.text, '-', ''), 17, 12)::pg_catalog.macaddr;
    sequence := flakeid._flake_bits(id, 29, 4);
END
$$;

COMMENT ON FUNCTION flakeid.flake_uuid_decode(uuid) IS
'the parts of a UUID that flake_uuid() minted; error: 22008 if its time is out of range, as that of most other UUIDs';

CREATE FUNCTION flakeid.flake_uuidv7_decode(id uuid,
    OUT ts timestamptz, OUT shard int, OUT sequence int)
RETURNS record
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    low bigint := flakeid._flake_bits(id, 17, 16);
BEGIN
    IF flakeid._flake_bits(id, 13, 1) OPERATOR(pg_catalog.<>) 7
        OR flakeid._flake_field(low, 62, 2) OPERATOR(pg_catalog.<>) 2 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'UUID is not of version 7',
            DETAIL = CASE WHEN flakeid._flake_field(low, 62, 2) OPERATOR(pg_catalog.=) 2
                     THEN pg_catalog.format('It is of version %s.', flakeid._flake_bits(id, 13, 1))
                     ELSE 'Its variant is not that of RFC 9562.' END,
            HINT = 'Give UUIDs that flake_uuidv7() has minted.';
    END IF;
    ts := flakeid._flake_instant((flakeid._flake_bits(id, 1, 12) OPERATOR(pg_catalog.*) 1000)
        OPERATOR(pg_catalog.-) 946684800000000);
    shard := flakeid._flake_field(low, 49, 13);
    sequence := flakeid._flake_bits(id, 14, 3);
END
$$;

COMMENT ON FUNCTION flakeid.flake_uuidv7_decode(uuid) IS
'the parts of a UUID that flake_uuidv7() minted: when, the logical shard, the sequence number; error: 22023 for a UUID of another version or variant';

CREATE FUNCTION flakeid.flake_uuidv7_lower(ts timestamptz)
RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    ms bigint := flakeid._flake_tick(ts, 1, flakeid._flake_layout('ts:48 seq:12 epoch=1970-01-01'))
        OPERATOR(pg_catalog.+) 1;
BEGIN
    IF ms OPERATOR(pg_catalog.>) 281474976710655 THEN
        RETURN 'ffffffff-ffff-ffff-ffff-ffffffffffff';
    END IF;
    RETURN pg_catalog.lpad(pg_catalog.to_hex(greatest(ms, 0)), 12, '0')
        OPERATOR(pg_catalog.||) '70008000000000000000';
END
$$;

COMMENT ON FUNCTION flakeid.flake_uuidv7_lower(timestamptz) IS
'the smallest UUID of version 7 whose time is at or after an instant; past the end of the lifetime ffffffff-ffff-ffff-ffff-ffffffffffff';

CREATE FUNCTION flakeid.flake_uuidv7_upper(ts timestamptz)
RETURNS uuid
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
DECLARE
    ms bigint := flakeid._flake_tick(ts, 0, flakeid._flake_layout('ts:48 seq:12 epoch=1970-01-01'));
BEGIN
    IF ms OPERATOR(pg_catalog.<) 0 THEN
        RETURN '00000000-0000-0000-0000-000000000000';
    END IF;
    RETURN pg_catalog.lpad(pg_catalog.to_hex(least(ms, 281474976710655)), 12, '0')
        OPERATOR(pg_catalog.||) '7fffbfffffffffffffff';
END
$$;

COMMENT ON FUNCTION flakeid.flake_uuidv7_upper(timestamptz) IS
'the largest UUID of version 7 whose time is an instant or earlier; before 1970 00000000-0000-0000-0000-000000000000';

-- Not STRICT, as flake_between()
CREATE FUNCTION flakeid.flake_uuidv7_between(id uuid, since timestamptz, upto timestamptz)
RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS 'SELECT id OPERATOR(pg_catalog.>=) flakeid.flake_uuidv7_lower(since)
    AND id OPERATOR(pg_catalog.<) flakeid.flake_uuidv7_lower(upto)';

COMMENT ON FUNCTION flakeid.flake_uuidv7_between(uuid, timestamptz, timestamptz) IS
'whether since <= time of id < upto, for UUIDs of version 7; the planner turns it into a plain range on id';

CREATE FUNCTION flakeid.flake_objectid_timestamp(id text)
RETURNS timestamptz
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF id COLLATE pg_catalog."C" OPERATOR(pg_catalog.!~) '^[0-9a-fA-F]{24}$' THEN
        RAISE invalid_text_representation USING
            MESSAGE = pg_catalog.format('invalid ObjectID: "%s"', id),
            DETAIL = 'An ObjectID is written as 24 hexadecimal digits.';
    END IF;
    RETURN pg_catalog.to_timestamp(
        ('x' OPERATOR(pg_catalog.||) pg_catalog.substr(id, 1, 8))::bit(32)::bigint);
END
$$;

COMMENT ON FUNCTION flakeid.flake_objectid_timestamp(text) IS
'when an ObjectID was minted, to the second; error: 22P02 if it is not 24 hexadecimal digits';

-- The shard of a key: XXH64 with seed 0, github.com/Cyan4973/xxHash, doc/xxhash_spec.md

CREATE FUNCTION flakeid._flake_rotate(number bigint, count int)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT (number OPERATOR(pg_catalog.<<) count)
    OPERATOR(pg_catalog.|) flakeid._flake_field(number, 64 OPERATOR(pg_catalog.-) count, count)';

COMMENT ON FUNCTION flakeid._flake_rotate(bigint, int) IS 'rotates 64 bits to the left';

CREATE FUNCTION flakeid._flake_lane(bytes bytea, first int, count int)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT pg_catalog.bit_or(pg_catalog.get_byte(bytes, first OPERATOR(pg_catalog.+) i)::bigint
        OPERATOR(pg_catalog.<<) (8 OPERATOR(pg_catalog.*) i))
    FROM pg_catalog.generate_series(0, count OPERATOR(pg_catalog.-) 1) i';

COMMENT ON FUNCTION flakeid._flake_lane(bytea, int, int) IS
'the number that some bytes are, the least significant one first';

CREATE FUNCTION flakeid._flake_round(accumulator bigint, lane bigint)
RETURNS bigint
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_wrap(flakeid._flake_rotate(flakeid._flake_wrap(
    accumulator OPERATOR(pg_catalog.+) (lane::numeric OPERATOR(pg_catalog.*) -4417276706812531889)), 31)::numeric
    OPERATOR(pg_catalog.*) -7046029288634856825)';

COMMENT ON FUNCTION flakeid._flake_round(bigint, bigint) IS 'one round of XXH64';

CREATE FUNCTION flakeid._flake_xxh64(bytes bytea)
RETURNS bigint
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
SET search_path = pg_catalog, pg_temp
AS $$
DECLARE
    prime1 CONSTANT numeric := -7046029288634856825;
    prime2 CONSTANT numeric := -4417276706812531889;
    prime3 CONSTANT numeric := 1609587929392839161;
    prime4 CONSTANT numeric := -8796714831421723037;
    prime5 CONSTANT numeric := 2870177450012600261;
    rest int := length(bytes);
    at int := 0;
    lanes bigint[];
    h bigint := flakeid._flake_wrap(prime5);
BEGIN
    IF rest >= 32 THEN
        lanes := ARRAY[flakeid._flake_wrap(prime1 + prime2), prime2::bigint, 0, -prime1::bigint];
        WHILE rest >= 32
        LOOP
            FOR i IN 1..4
            LOOP
                lanes[i] := flakeid._flake_round(lanes[i],
                    flakeid._flake_lane(bytes, at + 8 * (i - 1), 8));
            END LOOP;
            at := at + 32;
            rest := rest - 32;
        END LOOP;
        h := flakeid._flake_wrap(flakeid._flake_rotate(lanes[1], 1)::numeric
            + flakeid._flake_rotate(lanes[2], 7) + flakeid._flake_rotate(lanes[3], 12)
            + flakeid._flake_rotate(lanes[4], 18));
        FOR i IN 1..4
        LOOP
            h := h # flakeid._flake_round(0, lanes[i]);
            h := flakeid._flake_wrap(h * prime1 + prime4);
        END LOOP;
    END IF;
    h := flakeid._flake_wrap(h::numeric + length(bytes));
    WHILE rest >= 8
    LOOP
        h := h # flakeid._flake_round(0, flakeid._flake_lane(bytes, at, 8));
        h := flakeid._flake_wrap(flakeid._flake_rotate(h, 27) * prime1 + prime4);
        at := at + 8;
        rest := rest - 8;
    END LOOP;
    IF rest >= 4 THEN
        h := h # flakeid._flake_wrap(flakeid._flake_lane(bytes, at, 4) * prime1);
        h := flakeid._flake_wrap(flakeid._flake_rotate(h, 23) * prime2 + prime3);
        at := at + 4;
        rest := rest - 4;
    END IF;
    FOR i IN 1..rest
    LOOP
        h := h # flakeid._flake_wrap(get_byte(bytes, at) * prime5);
        h := flakeid._flake_wrap(flakeid._flake_rotate(h, 11) * prime1);
        at := at + 1;
    END LOOP;
    h := flakeid._flake_wrap((h # flakeid._flake_field(h, 33, 31)) * prime2);
    h := flakeid._flake_wrap((h # flakeid._flake_field(h, 29, 35)) * prime3);
    RETURN h # flakeid._flake_field(h, 32, 32);
END
$$;

COMMENT ON FUNCTION flakeid._flake_xxh64(bytea) IS 'XXH64 with seed 0';

CREATE FUNCTION flakeid._flake_shard_for(bytes bytea, shards int)
RETURNS int
LANGUAGE plpgsql IMMUTABLE STRICT PARALLEL SAFE
AS $$
BEGIN
    IF shards OPERATOR(pg_catalog.<) 1 THEN
        RAISE invalid_parameter_value USING
            MESSAGE = 'number of shards must be at least 1',
            DETAIL = pg_catalog.format('The number given is %s.', shards);
    END IF;
    RETURN flakeid._flake_unsigned(flakeid._flake_xxh64(bytes)) OPERATOR(pg_catalog.%) shards;
END
$$;

COMMENT ON FUNCTION flakeid._flake_shard_for(bytea, int) IS
'XXH64 of some bytes modulo shards; error: 22023 if shards is less than 1';

CREATE FUNCTION flakeid.flake_shard_for(key bigint, shards int DEFAULT 8192)
RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT flakeid._flake_shard_for((SELECT pg_catalog.string_agg(
    pg_catalog.substring(pg_catalog.int8send(key), i, 1), '' ORDER BY i DESC)
    FROM pg_catalog.generate_series(1, 8) i), shards)$$;

COMMENT ON FUNCTION flakeid.flake_shard_for(bigint, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s 8 bytes, little-endian, as an unsigned number modulo shards; error: 22023 if shards is less than 1';

CREATE FUNCTION flakeid.flake_shard_for(key text, shards int DEFAULT 8192)
RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS $$SELECT flakeid._flake_shard_for(pg_catalog.convert_to(key, 'UTF8'), shards)$$;

COMMENT ON FUNCTION flakeid.flake_shard_for(text, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s bytes in UTF-8, as an unsigned number modulo shards; error: 22023 if shards is less than 1';

CREATE FUNCTION flakeid.flake_shard_for(key uuid, shards int DEFAULT 8192)
RETURNS int
LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
AS 'SELECT flakeid._flake_shard_for(pg_catalog.uuid_send(key), shards)';

COMMENT ON FUNCTION flakeid.flake_shard_for(uuid, int) IS
'the shard that a key belongs to, from 0 to shards - 1: XXH64 with seed 0 of the key''s 16 bytes, as an unsigned number modulo shards; error: 22023 if shards is less than 1';
