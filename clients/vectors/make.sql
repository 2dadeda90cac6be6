-- Copyright (c) 2026, the flakeid developers
--
-- Makes the vectors: what the server answers, for the tests of client libraries.
--
--     psql --no-psqlrc --set=to=/where/to/write --set=seals=clients/vectors/seal.csv --file=clients/vectors/make.sql
--
-- It needs a superuser, and a database with flakeid and UTF-8.  "make vectors" sees to that
-- and writes into this folder.  README.md says what each file and column is.  Nothing here
-- depends on the time or on chance, and no field has a line break.

\set ON_ERROR_STOP on
\set QUIET on
SET client_encoding = 'UTF8';
SET timezone = 'UTC';
SET client_min_messages = warning;

-- Microseconds since 1970, exactly: an interval times a number would go through a double.
CREATE FUNCTION pg_temp.us(ts timestamptz) RETURNS bigint LANGUAGE sql
RETURN CASE WHEN isfinite(ts) AND ts < '294247-01-10 04:00:54.775807+00' THEN (extract(epoch FROM ts) * 1000000)::bigint END;

CREATE FUNCTION pg_temp.is_layout(layout text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN layout::flake_layout IS NOT NULL;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END $$;

CREATE FUNCTION pg_temp.is_id(id text, base int) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN flake_from_text(id, base) IS NOT NULL;
EXCEPTION WHEN invalid_text_representation OR invalid_parameter_value THEN
    RETURN false;
END $$;

CREATE FUNCTION pg_temp.is_uuidv7(id uuid) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN flake_uuidv7_decode(id) IS NOT NULL;
EXCEPTION WHEN invalid_parameter_value THEN
    RETURN false;
END $$;

-- flake_seal_text() under a named key that has this version only
CREATE FUNCTION pg_temp.seal_text(id bigint, key_hex text, version int) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
    sealed text;
BEGIN
    CREATE SERVER vectors FOREIGN DATA WRAPPER flake_key;
    EXECUTE format('CREATE USER MAPPING FOR CURRENT_USER SERVER vectors OPTIONS (key_%s %L)', version, key_hex);
    sealed := flake_seal_text(id, 'vectors');
    DROP SERVER vectors CASCADE;
    RETURN sealed;
END $$;

CREATE FUNCTION pg_temp.is_sealed(sealed text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    RETURN flake_unseal_text(sealed, 'vectors') IS NOT NULL;
EXCEPTION WHEN invalid_text_representation THEN
    RETURN false;
END $$;


-- Layouts: how each is written, and in which files ids and times of it are
CREATE TEMPORARY TABLE layouts (n int GENERATED ALWAYS AS IDENTITY, layout text, ids boolean, ranges boolean);
INSERT INTO layouts (layout, ids, ranges)
SELECT name, name <> 'uuidv7', name IN ('instagram', 'snowflake', 'baidu', 'sonyflake', 'cockroach', 'js53', 'uuidv7')
FROM flake_presets;
INSERT INTO layouts (layout, ids, ranges) VALUES
    -- all 64 bits
    ('ts:63 seq:1 epoch=2000-01-01 unit=1us', true, true),
    ('ts:62 shard:1 seq:1 epoch=1970-01-01T00:00:00.000001Z unit=1us', true, false),
    ('ts:1 seq:63 epoch=2000-01-01 unit=1s', true, true),
    ('ts:32 shard:31 seq:1 epoch=2024-02-29 unit=1s', true, false),
    ('ts:40 a:2 seq:3 b:4 c:5 d:6 e:1 f:1 g:1 h:1 epoch=1601-01-01 unit=100us start=zero', true, true),
    -- fewer
    ('ts:1 shard:1 seq:1 epoch=1999-12-31T23:59:59.5Z unit=1d', true, true),
    ('ts:20 a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 seq:6 epoch=2020-01-01 unit=90min', true, false),
    ('ts:24 shard:31 seq:8 epoch=2024-01-01 unit=1min', true, false),
    ('ts:45 shard:10 seq:8 epoch=2000-01-01 unit=7us start=random:255', true, true),
    ('ts:20 seq:12 shard:8 epoch=2030-06-15T12:30:45.123456Z unit=250ms', true, false),
    ('ts:30 shard:4 seq:4 epoch=1969-12-31T23:59:59.999999Z unit=1h', true, true),
    ('ts:22 shard:4 seq:4 epoch=0001-01-01 unit=1d', true, true),
    ('ts:40 shard:4 seq:4 epoch=9999-12-31T23:59:59.999999Z', true, true),
    -- beyond what timestamptz can hold, or 2^63 us
    ('ts:60 a:1 b:2 seq:1 epoch=2000-01-01 unit=1d', true, true),
    ('ts:50 seq:10 epoch=0001-01-01', true, false),
    ('ts:40 seq:10 epoch=0001-01-01 unit=1d', false, true),
    -- other ways to write
    ('ts:41 shard:13 seq:10 epoch=1314220021721', false, false),
    (E'  ts:41 \tshard:13\x0b seq:10 \fepoch=1314220021721 ', false, false),
    ('ts:041 shard:13 seq:010 start=zero unit=001ms epoch=000000000000001314220021721', false, false),
    ('ts:41 seq:10 epoch=-1', false, false),
    ('ts:41 seq:10 epoch=-62135596800000', false, false),
    ('ts:41 seq:10 epoch=253402300799999', false, false),
    ('ts:41 seq:10 epoch=2000-02-29T23:59:59.1Z', false, false),
    ('ts:41 seq:10 epoch=2000-02-29T23:59:59.120000Z', false, false),
    ('ts:41 seq:10 epoch=2000-02-29T00:00:00.0000Z', false, false),
    ('ts:41 seq:10 epoch=0 unit=1000us', false, false),
    ('ts:41 seq:10 epoch=0 unit=60s', false, false),
    ('ts:41 seq:10 epoch=0 unit=24h', false, false),
    ('ts:41 seq:10 epoch=0 unit=86400000000us', false, false),
    ('ts:41 seq:10 epoch=0 unit=1500ms', false, false),
    ('ts:41 seq:10 epoch=0 start=continue', false, false),
    ('ts:41 seq:10 epoch=0 start=random', false, false),
    ('ts:41 seq:10 epoch=0 start=random:1', false, false),
    ('ts:41 seq:10 epoch=0 start=random:1023', false, false),
    ('ts:41 seq:10 epoch=0 start=random:1024', false, false),
    ('ts:41 a23456789012_45:3 seq:10 epoch=0', false, false),
    ('ts:41 epoch:1 unit:1 start:1 seq:10 epoch=0', false, false),
    -- no time
    ('seq:63', false, false),
    ('seq:1', false, false),
    ('shard:31 seq:32 block=1', true, false),
    ('a:1 seq:60 b:2 block=1000000000', true, false),
    ('seq:63 block=0007', false, false),
    -- UUIDs
    ('ts:48 seq:12 shard:13 form=uuidv7', false, false),
    ('ts:48 seq:12 shard:13 start=random:4096 epoch=0 unit=1000us form=uuidv7', false, false);

COPY (SELECT layout, layout::flake_layout AS canonical, shards - 1 AS max_shard, ids_per_tick,
             pg_temp.us(starts) AS starts_us, pg_temp.us(ends) AS ends_us
      FROM layouts, LATERAL (SELECT * FROM flake_layout_info(layout::flake_layout)) AS info
      ORDER BY n)
TO STDOUT (FORMAT csv, HEADER)
\g :to/layouts.csv

COPY (SELECT layout FROM unnest(ARRAY[
        '', ' ', 'ts:41', 'seq', 'Instagram', 'instagram ', ' instagram', 'instagram,', 'twitter', 'flake_default',
        'ts:41 shard:13 seq:10', 'ts:41 shard:13 epoch=0', 'shard:13 ts:41 seq:10 epoch=0',
        'ts:41 shard:14 seq:10 epoch=0', 'seq:63 server:1', 'ts:20 a:16 b:16 seq:10 epoch=0', 'seq:10 shard:32',
        'ts:41 a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 seq:10 epoch=0',
        'ts:41 seq:10 seq:9 epoch=0', 'ts:41 ts:10 seq:9 epoch=0', 'ts:41 a:1 b:1 a:1 seq:9 epoch=0',
        'ts:41 epoch=0 seq:10', 'ts:0 seq:10 epoch=0', 'ts:64 seq:10 epoch=0', 'ts:41 seq:0 epoch=0', 'ts:41 seq:64 epoch=0',
        'ts:-1 seq:10 epoch=0', 'ts:+41 seq:10 epoch=0', 'ts:41.0 seq:10 epoch=0', 'ts: seq:10 epoch=0', 'ts:1e1 seq:10 epoch=0',
        'ts:41 seq:1O epoch=0', 'ts:41 seq:99999999999999999999 epoch=0', 'ts:41 :3 seq:10 epoch=0', 'ts:41 a::3 seq:10 epoch=0',
        'ts:41 Shard:3 seq:10 epoch=0', 'ts:41 1a:3 seq:10 epoch=0', 'ts:41 _a:3 seq:10 epoch=0', 'ts:41 a-b:3 seq:10 epoch=0',
        'ts:41 é:3 seq:10 epoch=0', 'ts:41 a234567890123456:3 seq:10 epoch=0', 'ts:41 timestamp:3 seq:10 epoch=0',
        'ts:41 seq:10 epoch=0 epoch=1', 'ts:41 seq:10 epoch=0 unit=1ms unit=1ms', 'ts:41 seq:10 epoch=0 blokc=10',
        'ts:41 seq:10 epoch=', 'ts:41 seq:10 epoch=1.5', 'ts:41 seq:10 epoch=+1', 'ts:41 seq:10 epoch=--1',
        'ts:41 seq:10 epoch=0000-01-01', 'ts:41 seq:10 epoch=10000-01-01', 'ts:41 seq:10 epoch=2011-02-29', 'ts:41 seq:10 epoch=1900-02-29',
        'ts:41 seq:10 epoch=2011-13-01', 'ts:41 seq:10 epoch=2011-00-01', 'ts:41 seq:10 epoch=2011-04-31', 'ts:41 seq:10 epoch=2011-1-1',
        'ts:41 seq:10 epoch=2011-01-01T', 'ts:41 seq:10 epoch=2011-01-01T00:00Z', 'ts:41 seq:10 epoch=2011-01-01T00:00:00',
        'ts:41 seq:10 epoch=2011-01-01T24:00:00Z', 'ts:41 seq:10 epoch=2011-01-01T00:60:00Z', 'ts:41 seq:10 epoch=2011-01-01T00:00:60Z',
        'ts:41 seq:10 epoch=2011-01-01T00:00:00.Z', 'ts:41 seq:10 epoch=2011-01-01T00:00:00.1234567Z',
        'ts:41 seq:10 epoch=2011-01-01t00:00:00z', 'ts:41 seq:10 epoch=2011-01-01T00:00:00+00', 'ts:41 seq:10 epoch=2011-01-01 00:00:00Z',
        'ts:41 seq:10 epoch=-62135596800001', 'ts:41 seq:10 epoch=253402300800000', 'ts:41 seq:10 epoch=9223372036854775807',
        'ts:41 seq:10 epoch=0 unit=0ms', 'ts:41 seq:10 epoch=0 unit=ms', 'ts:41 seq:10 epoch=0 unit=1', 'ts:41 seq:10 epoch=0 unit=1fortnight',
        'ts:41 seq:10 epoch=0 unit=2d', 'ts:41 seq:10 epoch=0 unit=25h', 'ts:41 seq:10 epoch=0 unit=86400000001us', 'ts:41 seq:10 epoch=0 unit=-1ms',
        'ts:41 seq:10 epoch=0 unit=1MS', 'ts:41 seq:10 epoch=0 unit=0.5ms',
        'ts:41 seq:10 epoch=0 start=never', 'ts:41 seq:10 epoch=0 start=', 'ts:41 seq:10 epoch=0 start=random:', 'ts:41 seq:10 epoch=0 start=random:0',
        'ts:41 seq:10 epoch=0 start=random:1025', 'ts:41 seq:10 epoch=0 start=random:9x', 'ts:41 seq:10 epoch=0 start=Zero',
        'ts:41 seq:10 epoch=0 block=10', 'seq:63 block=0', 'seq:63 block=1000000001', 'seq:63 block=1e3',
        'seq:63 unit=1ms', 'seq:63 epoch=0', 'seq:63 start=zero',
        'ts:41 shard seq:10 epoch=0', 'ts:41=1 seq:10 epoch=0', 'ts:41, seq:10, epoch=0', 'ts:41 seq:10 epoch=0 ' || repeat('x', 100),
        'ts:41 seq:10 epoch=' || repeat('0', 58), 'ts:41 seq:10 ' || U&'\00A0' || 'epoch=0',
        'ts:48 seq:12 shard:13 form=uuidv4', 'ts:48 seq:12 shard:12 form=uuidv7', 'ts:48 shard:13 seq:12 form=uuidv7', 'ts:48 seq:12 node:13 form=uuidv7',
        'ts:48 seq:12 shard:13 form=uuidv7 epoch=1', 'ts:48 seq:12 shard:13 form=uuidv7 unit=1s', 'ts:48 seq:12 shard:13 epoch=0'
      ]) WITH ORDINALITY AS l (layout, n)
      WHERE NOT pg_temp.is_layout(layout) ORDER BY n)
TO STDOUT (FORMAT csv, HEADER)
\g :to/layouts_invalid.csv


-- Ids: the first and the last of the lifetime, and what is between, for each layout
CREATE TEMPORARY TABLE ids AS
SELECT n, layout, flake_make(ts, shard::int, sequence::bigint, layout::flake_layout) AS id
FROM (SELECT n, layout, starts, ends, shards - 1 AS max_shard, ids_per_tick - 1 AS max_sequence,
             flake_timestamp(0, layout::flake_layout) AS epoch
      FROM layouts, LATERAL (SELECT * FROM flake_layout_info(layout::flake_layout)) AS info WHERE ids AND starts IS NOT NULL) AS l,
     LATERAL (VALUES
        (CASE WHEN isfinite(starts) THEN starts ELSE '4714-11-26 00:00:00+00 BC' END, 0::bigint, 0::numeric),
        (epoch - interval '1 us', max_shard, 0),
        (epoch, 0, 1),
        (CASE WHEN '2026-11-23 01:02:03.456789+00' < ends THEN '2026-11-23 01:02:03.456789+00' ELSE ends - interval '1 us' END,
         max_shard * 2 / 3, div(max_sequence, 3)),
        (CASE WHEN isfinite(ends) THEN ends - interval '1 us' ELSE '294247-01-10 04:00:54.775806+00' END, max_shard, max_sequence)
     ) AS parts (ts, shard, sequence)
WHERE ts >= starts
UNION
SELECT n, layout, id::bigint
FROM (SELECT n, layout, power(2::numeric, (SELECT sum(bits[1]::int) FROM regexp_matches(layout::flake_layout::text, ':(\d+)', 'g') AS bits)) AS "all"
      FROM layouts, LATERAL (SELECT * FROM flake_layout_info(layout::flake_layout)) AS info WHERE ids AND starts IS NULL) AS l,
     LATERAL unnest(ARRAY[0, 1, div("all", 3), div("all" * 2, 3), "all" - 1]) AS id;

COPY (SELECT layout, id, pg_temp.us(ts) AS time_us, shard, sequence
      FROM ids, LATERAL (SELECT * FROM flake_decode(id, layout::flake_layout)) AS parts ORDER BY n, id)
TO STDOUT (FORMAT csv, HEADER)
\g :to/decode.csv

-- and numbers that are no ids of the layout, which can be taken apart all the same
COPY (SELECT layout, id, pg_temp.us(ts) AS time_us, shard, sequence
      FROM layouts, unnest('{-9007199254740993,-1,9007199254740992,1311768467463790320}'::bigint[]) AS id,
           LATERAL (SELECT * FROM flake_decode(id, layout::flake_layout)) AS parts
      WHERE layout IN ('js53', 'segment', 'ticket') OR layout LIKE 'ts:20 seq:12 %'
      ORDER BY n, id)
TO STDOUT (FORMAT csv, HEADER)
\g :to/decode_any.csv

COPY (SELECT layout, id, flake_fields(id, layout::flake_layout) AS fields
      FROM ids WHERE layout IN ('instagram', 'snowflake', 'hazelcast', 'cockroach', 'ticket') OR layout LIKE 'ts:40 a:2 %' OR layout LIKE 'ts:1 %' OR layout LIKE 'a:1 %'
      ORDER BY n, id)
TO STDOUT (FORMAT csv, HEADER)
\g :to/fields.csv


-- Ranges of time: on both sides of the lifetime's ends, within ticks, and as far as 64 bits of microseconds reach
COPY (SELECT layout, pg_temp.us(ts) AS time_us, flake_lower(ts, layout::flake_layout) AS lower, flake_upper(ts, layout::flake_layout) AS upper
      FROM (SELECT DISTINCT n, layout, ts
            FROM layouts, LATERAL (SELECT *, flake_timestamp(0, layout::flake_layout) AS epoch FROM flake_layout_info(layout::flake_layout)) AS info,
                 LATERAL unnest(ARRAY['4714-11-24 00:00:00+00 BC', starts - interval '1 us', starts, starts + interval '1 us',
                     epoch - interval '1 us', epoch, epoch + interval '1 us', '2026-11-23 01:02:03.456789+00',
                     CASE WHEN '2026-11-23 01:02:03.456789+00' BETWEEN starts AND ends
                          THEN flake_timestamp(flake_upper('2026-11-23 01:02:03.456789+00', layout::flake_layout), layout::flake_layout) END,
                     ends - interval '1 us', ends, '294247-01-10 04:00:54.775806+00']
                     -- 2^63 us after this epoch
                     || CASE WHEN epoch = '0001-01-01 00:00:00+00' THEN ARRAY['292278-01-10 04:00:54.775807+00',
                         '292278-01-10 04:00:54.775808+00', '292278-01-10 04:00:54.775809+00'::timestamptz] END) AS ts
            WHERE ranges AND isfinite(ts)) AS t
      ORDER BY n, ts)
TO STDOUT (FORMAT csv, HEADER)
\g :to/ranges.csv


-- Text forms
COPY (SELECT id, base, flake_to_text(id, base) AS text
      FROM unnest('{16,32,58,62}'::int[]) WITH ORDINALITY AS b (base, n),
           unnest('{0,1,-1,9223372036854775807,-9223372036854775808,9,10,15,16,31,32,57,58,61,62,656356768,4294967295,4294967296,9007199254740993,11637205501278089,4035280290552217600,-6148914691236517206}'::bigint[]) WITH ORDINALITY AS i (id, m)
      ORDER BY b.n, i.m)
TO STDOUT (FORMAT csv, HEADER)
\g :to/text.csv

-- Texts that are read, but not written
COPY (SELECT flake_from_text(text, base) AS id, base, text
      FROM (VALUES (16, '0', 1), (16, 'ff', 2), (16, '00000000000000000ff', 3), (32, '0', 4), (32, '0oO', 5), (32, '1iIlL', 6), (32, '0007zzzzzzzzz', 7), (32, 'fzzzzzzzzzzzz', 8),
                   (32, '00aaqz8619xw9', 9), (32, 'aaqz8619xw9', 10), (32, '0000000000000000000Z', 11), (58, '1', 12), (58, 'z', 13), (58, '1111111111111121', 14),
                   (62, '0', 15), (62, 'z', 16), (62, 'rIVWme489', 17), (62, '000000000000000rIVWme489', 18)) AS t (base, text, n)
      WHERE pg_temp.is_id(text, base) ORDER BY n)
TO STDOUT (FORMAT csv, HEADER)
\g :to/text_accepted.csv

COPY (SELECT base, text
      FROM (VALUES (16, '', 1), (32, '', 2), (58, '', 3), (62, '', 4), (10, '1', 5), (0, '1', 6), (-16, '1', 7), (64, '1', 8), (36, '1', 9),
                   (16, '10000000000000000', 10), (16, 'FF', 11), (16, '0x1f', 12), (16, 'g', 13), (16, ' 1', 14), (16, '1 ', 15), (16, '-1', 16), (16, 'ffffffffffffffff0', 17),
                   (32, 'G000000000000', 18), (32, 'ZZZZZZZZZZZZZ', 19), (32, 'U', 20), (32, 'u', 21), (32, '1-1', 22), (32, '00000000000001111111111111111', 23),
                   (58, 'jpXCZedGfVR', 24), (58, 'zzzzzzzzzzz', 25), (58, '0', 26), (58, 'O', 27), (58, 'I', 28), (58, 'l', 29), (58, '1_1', 30),
                   (62, 'LygHa16AHYG', 31), (62, 'zzzzzzzzzzz', 32), (62, '100000000000', 33), (62, '-', 34), (62, 'a b', 35), (62, '+1', 36), (62, 'é', 37), (62, '日', 38), (62, '1,1', 39), (62, '"1"', 40)) AS t (base, text, n)
      WHERE NOT pg_temp.is_id(text, base) ORDER BY n)
TO STDOUT (FORMAT csv, HEADER)
\g :to/text_invalid.csv


-- Sealed ids.  Ids and keys are taken from the file itself, as its sealed ids were computed by an independent
-- implementation of FF1: this server must come to the same.
CREATE TEMPORARY TABLE seals (n int GENERATED ALWAYS AS IDENTITY, id bigint, key_hex text, version int, sealed bigint, text text);
COPY seals (id, key_hex, version, sealed, text) FROM :'seals' (FORMAT csv, HEADER);

COPY (SELECT id, key_hex, version, flake_seal(id, decode(key_hex, 'hex')) AS sealed, pg_temp.seal_text(id, key_hex, version) AS text
      FROM seals WHERE flake_unseal(flake_seal(id, decode(key_hex, 'hex')), decode(key_hex, 'hex')) = id ORDER BY n)
TO STDOUT (FORMAT csv, HEADER)
\g :to/seal.csv

-- Texts that are no sealed ids, whatever the keys are
CREATE SERVER vectors FOREIGN DATA WRAPPER flake_key;
CREATE USER MAPPING FOR CURRENT_USER SERVER vectors OPTIONS (key_1 '000102030405060708090a0b0c0d0e0f', key_2147483647 'ff0102030405060708090a0b0c0d0e0f');
COPY (SELECT text
      FROM unnest('{"",-,1,1-,-LgVYMUAD3FE,LgVYMUAD3FE,0-LgVYMUAD3FE,01-LgVYMUAD3FE,+1-LgVYMUAD3FE,-1-LgVYMUAD3FE,1-gVYMUAD3FE,1-0LgVYMUAD3FE,1--gVYMUAD3FE,"1-LgVYMUAD3F ","1-LgVYMUAD3F\\",1-LygHa16AHYG,1-zzzzzzzzzzz,1_LgVYMUAD3FE," 1-LgVYMUAD3FE",1a-LgVYMUAD3FE,2147483648-LgVYMUAD3FE,9999999999-LgVYMUAD3FE,10000000001-LgVYMUAD3FE,18446744073709551617-LgVYMUAD3FE,1-LgVYMUAD3FEx,1-LgVYMUAD3é}'::text[]) WITH ORDINALITY AS t (text, n)
      WHERE NOT pg_temp.is_sealed(text) ORDER BY n)
TO STDOUT (FORMAT csv, HEADER)
\g :to/seal_invalid.csv
DROP SERVER vectors CASCADE;


-- Shards of keys
COPY (SELECT type, key, shards, CASE type WHEN 'bigint' THEN flake_shard_for(key::bigint, shards)
                                          WHEN 'text' THEN flake_shard_for(key, shards)
                                          ELSE flake_shard_for(key::uuid, shards) END AS shard
      FROM (SELECT 'bigint' AS type, unnest('{0,1,-1,42,11637205501278089,9223372036854775807,-9223372036854775808}'::text[]) AS key
            UNION ALL
            SELECT 'text', unnest(ARRAY['', 'a', 'abc', 'user-4711', '42', 'with blanks and, a comma', 'with "quotes"', U&'\00E9', U&'e\0301',
                                        U&'\65E5\672C\8A9E', U&'\+01F427', repeat('x', 31), repeat('x', 32), repeat('x', 33), repeat('0123456789', 20)])
            UNION ALL
            SELECT 'uuid', unnest('{00000000-0000-0000-0000-000000000000,ffffffff-ffff-ffff-ffff-ffffffffffff,01a20320-a201-7007-800a-0123456789ab,550e8400-e29b-41d4-a716-446655440000}'::text[])
           ) AS k,
           unnest('{1,2,3,64,8192,2147483647}'::int[]) AS shards
      ORDER BY type COLLATE "C", octet_length(key), key COLLATE "C", shards)
TO STDOUT (FORMAT csv, HEADER)
\g :to/shard_for.csv


-- UUIDs of version 7
CREATE TEMPORARY TABLE uuids (n int GENERATED ALWAYS AS IDENTITY, uuid uuid);
INSERT INTO uuids (uuid) VALUES
    ('00000000-0000-7000-8000-000000000000'), ('ffffffff-ffff-7fff-bfff-ffffffffffff'), ('01a20320-a201-7007-800a-0123456789ab'),
    -- RFC 9562, appendix A.6
    ('017f22e2-79b0-7cc3-98c4-dc0c0c07398f'),
    ('00000000-0001-7001-8000-000000000001'), ('80000000-0000-7800-a000-000000000000'), ('7fffffff-ffff-7fff-8001-ffffffffffff'),
    ('01a20320-a201-7fff-bffe-000000000000'), ('01A20320-A201-7000-9555-5555-5555-5555'),
    -- no such
    ('00000000-0000-0000-0000-000000000000'), ('ffffffff-ffff-ffff-ffff-ffffffffffff'), ('550e8400-e29b-41d4-a716-446655440000'),
    ('01a20320-a201-6007-800a-0123456789ab'), ('01a20320-a201-8007-800a-0123456789ab'), ('01a20320-a201-7007-400a-0123456789ab'),
    ('01a20320-a201-7007-c00a-0123456789ab');

COPY (SELECT uuid, pg_temp.us(ts) AS time_us, sequence, shard
      FROM (SELECT * FROM uuids WHERE pg_temp.is_uuidv7(uuid) OFFSET 0) AS u, LATERAL (SELECT * FROM flake_uuidv7_decode(uuid)) AS parts ORDER BY n)
TO STDOUT (FORMAT csv, HEADER)
\g :to/uuidv7.csv

COPY (SELECT uuid FROM uuids WHERE NOT pg_temp.is_uuidv7(uuid) ORDER BY n)
TO STDOUT (FORMAT csv, HEADER)
\g :to/uuidv7_invalid.csv
