# Copyright (c) 2026, the flakeid developers

# scripts/flakeid-read.sql says the same as the extension: for random ids, instants and
# keys, all presets, and random layouts.  READ_ONLY_IDS says how many ids: the default
# layout has all of them, and the others together as many again.
#
# And nobody else's operators, functions and types get into it: no search_path changes
# what its functions call.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use List::Util qw(min);
use PostgreSQL::Test::Utils;
use Test::More;

my $script = "$FindBin::RealBin/../scripts/flakeid-read.sql";
my $ids = $ENV{READ_ONLY_IDS} || 500;

my $node = start_server(
	'main',
	conf => "timezone = 'Pacific/Auckland'",
	sql => "CREATE DATABASE reader ENCODING 'UTF8' LOCALE 'C' TEMPLATE template0");
$node->safe_psql('reader', 'CREATE EXTENSION flakeid');

$node->command_ok(
	[
		'psql', '--no-psqlrc', '--quiet', '-1', '--set=ON_ERROR_STOP=1', '-d',
		$node->connstr('reader'), '-f', $script
	],
	'the script is executed');

sub query
{
	my ($sql) = @_;

	return $node->safe_psql('reader', "SET intervalstyle = iso_8601; $sql");
}

# With any search_path.
query(
	q{CREATE FUNCTION outcome(query text) RETURNS text LANGUAGE plpgsql AS $$
	DECLARE
		result pg_catalog.text;
	BEGIN
		EXECUTE query INTO result;
		RETURN result;
	EXCEPTION WHEN OTHERS THEN
		RETURN SQLSTATE OPERATOR(pg_catalog.||) ' ' OPERATOR(pg_catalog.||) SQLERRM;
	END $$});

# What same_outcome() has called
my @called;

# Checks that calls return the same with both schemas, or fail with the same SQLSTATE
# and message.
sub same_outcome
{
	my (@calls) = @_;
	my $rows = join ', ', map { "\$q\$$_\$q\$" } @calls;
	push @called, @calls;
	my @outcomes = split /\n/, query(
		"SELECT theirs || '|' || (ours IS NOT DISTINCT FROM theirs) FROM (
			SELECT i, coalesce(outcome('SELECT ' || replace(call, 'FLAKE', 'public.flake')), 'null') theirs,
				coalesce(outcome('SELECT ' || replace(call, 'FLAKE', 'flakeid.flake')), 'null') ours
			FROM unnest(ARRAY[$rows]) WITH ORDINALITY AS c(call, i)) x ORDER BY i");

	is(scalar @outcomes, scalar @calls, 'there is a row for each call');
	foreach my $i (0 .. $#calls)
	{
		like($outcomes[$i] || '', qr/\|true\z/, "$calls[$i]: $outcomes[$i]");
	}
	return;
}

#
# Ids, instants and keys.
#

query(
	"SELECT setseed(0.5);
	CREATE TABLE random_id AS
	SELECT i, CASE i % 4
		WHEN 0 THEN (random() * 9e18)::bigint
		WHEN 1 THEN -(random() * 9e18)::bigint
		WHEN 2 THEN flake_make(timestamptz '2015-01-01Z' + random() * interval '15 years',
			(random() * 8191)::int, (random() * 1023)::int)
		ELSE (2 ^ (random() * 62))::bigint END # (random() * 1e9)::bigint AS id
	FROM generate_series(1, $ids) i
	UNION ALL
	SELECT -n, id FROM unnest('{0,1,-1,9223372036854775807,-9223372036854775808}'::bigint[])
		WITH ORDINALITY AS edge(id, n);
	CREATE TABLE random_time AS
	SELECT i, CASE i % 3
		WHEN 0 THEN timestamptz '2000-01-01Z' + (random() * 30) * interval '1 year'
			+ i * interval '1 microsecond'
		WHEN 1 THEN timestamptz '4713-01-02 00:00:00Z BC' + random() * 4000 * interval '1 year'
		ELSE timestamptz '294000-01-01Z' - random() * 290000 * interval '1 year' END AS ts
	FROM generate_series(1, greatest($ids / 10, 300)) i
	UNION ALL
	SELECT 0, unnest('{infinity,-infinity,1970-01-01Z,2000-01-01Z,2011-08-24T21:07:01.721Z}'::timestamptz[])
	UNION ALL
	SELECT 0, unnest(ARRAY[starts, starts - interval '1us', ends, ends - interval '1us'])
	FROM flake_presets WHERE isfinite(starts) AND isfinite(ends);
	ANALYZE random_id, random_time");

# How many rows differ, of those that a list of expressions has with both schemas.
sub differences
{
	my ($from, @expressions) = @_;
	my ($theirs, $ours) = map {
		my $schema = $_;
		join ', ', map { s/FLAKE/$schema.flake/gr } @expressions
	} 'public', 'flakeid';

	return query(
		"SELECT count(*) FROM $from WHERE ROW($theirs) IS DISTINCT FROM ROW($ours)"
	);
}

# UUIDs of version 7 have functions of their own.
my @presets = grep { $_->[0] ne 'uuidv7' } map { [ split /\|/ ] }
  split /\n/, query('SELECT name, starts IS NOT NULL FROM flake_presets');

# One id in how many a layout has that is not the default.  The kind of a random id, or
# of a random time, goes by its number modulo four, or three.
my $one_in = 6 * int(min(@presets + 8, $ids / 500) / 6) + 1;

sub check_layout
{
	my ($layout, $has_time, $name) = @_;

	my $some =
	  $layout eq 'instagram' ? 'true' : "i % $one_in = 0 OR i <= 0";

	# of an age that timestamptz can hold
	my $shift = $layout eq 'js53' ? 11 : 0;
	my $from = "(SELECT i, id >> $shift AS id FROM random_id WHERE $some) AS random_id";

	is( differences(
			$from,
			map { "FLAKE_$_(id, '$layout')" }
			  qw(timestamp shard sequence fields)),
		0,
		"ids of $name");
	is( query(
			"SELECT count(*) FROM $from WHERE public.flake_decode(id, '$layout')::text <> flakeid.flake_decode(id, '$layout')::text"),
		0,
		"ids of $name, decoded");
	is( differences(
			"(SELECT ts FROM random_time WHERE $some) AS random_time",
			map { "FLAKE_$_(ts, '$layout')" } qw(lower upper)),
		0,
		"bounds of $name") if $has_time;
	return;
}

cmp_ok(scalar @presets, '>', 10, 'there are presets');
check_layout($_->[0], $_->[1] eq 't', $_->[0]) foreach @presets;
is( query(
		'SELECT count(*) FROM flake_presets
		WHERE layout IS DISTINCT FROM flakeid._flake_preset(name)::flake_layout
		AND name <> $$uuidv7$$'),
	0,
	'all presets are known, and as they are');

is( differences(
		'random_id',
		map {
			("FLAKE_to_text(id, $_)",
				"FLAKE_from_text(public.flake_to_text(id, $_), $_)")
		} 16, 32, 58, 62),
	0,
	'texts');
is( differences(
		'random_id, LATERAL (SELECT md5(id::text)::uuid) AS u(u)',
		map {
			("FLAKE_uuid_to_text(u, $_)",
				"FLAKE_uuid_from_text(public.flake_uuid_to_text(u, $_), $_)")
		} 16, 32, 58, 62),
	0,
	'texts of UUIDs');
is( differences(
		"(SELECT * FROM random_id WHERE i % 10 <= 0) AS random_id",
		'FLAKE_shard_for(id)',
		'FLAKE_shard_for(id, 7)',
		'FLAKE_shard_for(md5(id::text)::uuid)',
		"FLAKE_shard_for(repeat(chr(192 + abs(i % 4000)::int), abs(i % 70)::int) || i)"),
	0,
	'shards of keys');
is( query("SELECT flakeid.flake_shard_for('')"),
	query("SELECT public.flake_shard_for('')"),
	'the shard of no text');
is( differences(
		"(SELECT overlay(md5(id::text) PLACING '0000' FROM 1)::uuid FROM random_id) AS u(u)",
		'FLAKE_uuid_decode(u)::text'),
	0,
	'UUIDs of flake_uuid()');
is( differences(
		"(SELECT overlay(overlay(md5(id::text) PLACING '7' FROM 13) PLACING '9' FROM 17)::uuid FROM random_id) AS u(u)",
		'FLAKE_uuidv7_decode(u)::text'),
	0,
	'UUIDs of version 7');
is( differences(
		'random_time', 'FLAKE_uuidv7_lower(ts)', 'FLAKE_uuidv7_upper(ts)'),
	0,
	'bounds of UUIDs of version 7');
is( differences('random_id', 'FLAKE_objectid_timestamp(substr(md5(id::text), 1, 24))'),
	0,
	'ObjectIDs');

#
# Layouts.
#

# Any bigint has a time that timestamptz can hold: 2^57 us are some 4,500 years.
sub random_layout
{
	my @bits = map { 1 + int rand 6 } 0 .. int rand 5;
	my $below = 0;
	my @fields = map { "p$_:$bits[$_]" } 1 .. $#bits;

	splice @fields, int rand(@fields + 1), 0, "seq:$bits[0]";
	$below += $_ foreach @bits;
	my $unit = 1 + int rand 2**($below - 6 > 30 ? 30 : $below < 6 ? 0 : $below - 6);

	return join ' ', 'ts:' . (63 - $below - int rand 4), @fields,
	  'epoch=' . (int(rand 2e12) - 2e11), "unit=${unit}us",
	  ('start=zero', 'start=continue', 'start=random:1', '')[ int rand 4 ];
}

srand 20260101;
foreach (1 .. 8)
{
	my $layout = random_layout();

	check_layout($layout, 1, $layout);
}

# What is no layout, or one at a limit, with the same SQLSTATE.
my @fuzzed = map { PostgreSQL::Test::Utils::slurp_file($_) }
  sort glob "$FindBin::RealBin/../fuzz/corpus/layout_parse/*";

same_outcome(
	map { "FLAKE_sequence(123456789012345678, E'$_')" }
	(map { s/\\/\\\\/gr } grep { /\A[ -~]+\z/ && !/'|form=/ } @fuzzed),
	'',
	' ',
	'nonsense',
	'Instagram',
	' instagram',
	'ts:41',
	'seq:10',
	'seq:63 block=1000000000',
	'seq:63 block=1000000001',
	'seq:64',
	'seq:0',
	'seq:62 a:1 b:1',
	'ts:41 seq:10',
	'ts:63 seq:1 epoch=2000-01-01',
	'ts:63 seq:2 epoch=2000-01-01',
	'seq:10 ts:41 epoch=0',
	'ts:41 seq:10 epoch=0 x:3',
	'ts:41 seq:10 epoch=0 epoch=0',
	'ts:41 ts:3 seq:10 epoch=0',
	'ts:41 a:3 a:3 seq:10 epoch=0',
	'ts:41 seq:10 epoch=2023-02-29',
	'ts:41 seq:10 epoch=2024-02-29',
	'ts:41 seq:10 epoch=1900-02-29',
	'ts:41 seq:10 epoch=9999-12-31T23:59:59.999999Z',
	'ts:41 seq:10 epoch=10000-01-01',
	'ts:41 seq:10 epoch=0000-01-01',
	'ts:41 seq:10 epoch=0001-01-01',
	'ts:41 seq:10 epoch=2000-13-01',
	'ts:41 seq:10 epoch=2000-01-00',
	'ts:41 seq:10 epoch=2000-01-01T24:00:00Z',
	'ts:41 seq:10 epoch=2000-01-01T23:59:60Z',
	'ts:41 seq:10 epoch=2000-01-01T23:59:59.1234567Z',
	'ts:41 seq:10 epoch=2000-01-01T23:59:59.Z',
	'ts:41 seq:10 epoch=2000-01-01T23:59:59',
	'ts:41 seq:10 epoch=-62135596800000',
	'ts:41 seq:10 epoch=-62135596800001',
	'ts:41 seq:10 epoch=253402300799999',
	'ts:41 seq:10 epoch=253402300800000',
	'ts:41 seq:10 epoch=99999999999999999999999',
	'ts:41 seq:10 epoch=0 unit=0ms',
	'ts:41 seq:10 epoch=0 unit=1d',
	'ts:41 seq:10 epoch=0 unit=2d',
	'ts:41 seq:10 epoch=0 unit=24h',
	'ts:41 seq:10 epoch=0 unit=25h',
	'ts:41 seq:10 epoch=0 unit=ms',
	'ts:41 seq:10 epoch=0 unit=1 ms',
	'ts:41 seq:10 epoch=0 unit=1440min',
	'ts:41 seq:10 epoch=0 start=random:1024',
	'ts:41 seq:10 epoch=0 start=random:1025',
	'ts:41 seq:10 epoch=0 start=random:0',
	'ts:41 seq:10 epoch=0 start=random:',
	'ts:41 seq:10 epoch=0 start=random:99999999999999999999',
	'ts:41 seq:10 epoch=0 start=one',
	'ts:41 seq:10 epoch=0 block=10',
	'seq:10 unit=1ms',
	'seq:10 block=0',
	'ts:20 a:31 seq:10 epoch=0',
	'ts:20 a:32 seq:10 epoch=0',
	'ts:20 a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 seq:10 epoch=0',
	'ts:20 a:1 b:1 c:1 d:1 e:1 f:1 g:1 h:1 i:1 seq:10 epoch=0',
	'ts:20 abcdefghijklmno:1 seq:10 epoch=0',
	'ts:20 abcdefghijklmnop:1 seq:10 epoch=0',
	'ts:20 A:1 seq:10 epoch=0',
	'ts:20 timestamp:1 seq:10 epoch=0',
	'ts:0000000020 seq:010 epoch=00',
	'ts:20 seq:10 color=blue',
	'ts:20\tseq:10\nepoch=0',
	'ts:20 seq:10 epoch=0 ' . 'x' x 70,
	'ts:20 seq: epoch=0',
	':3 seq:10',
	'=3 seq:10',
	'ts:20 seq:10 epoch=0 unit=1ms:3');

#
# Errors have the same SQLSTATE and message.
#

same_outcome(
	"FLAKE_to_text(1, 10)",
	"FLAKE_from_text('', 62)",
	"FLAKE_from_text('x!', 62)",
	"FLAKE_from_text('zzzzzzzzzzz', 62)",
	"FLAKE_from_text('oOiIlL', 32)",
	"FLAKE_from_text('u', 32)",
	"FLAKE_uuid_from_text('zzzzzzzzzzzzzzzzzzzzzz')",
	"FLAKE_objectid_timestamp('507c7f79bcf86cd7994f6c0')",
	"FLAKE_uuid_decode('ffffffff-ffff-ffff-ffff-ffffffffffff')",
	"FLAKE_uuidv7_decode('01a20320-a201-4001-800a-e04d91b3c68f')",
	"FLAKE_uuidv7_decode('01a20320-a201-7001-c00a-e04d91b3c68f')",
	"FLAKE_shard_for('x', 0)",
	"FLAKE_shard_for(5, -1)",
	"FLAKE_lower('2026-01-01Z', 'segment')",
	"FLAKE_upper('2026-01-01Z', 'ticket')",
	"FLAKE_between(1, '2026-01-01Z', '2026-01-02Z', 'segment')",
	"FLAKE_timestamp(9223372036854775807, 'ts:63 seq:1 epoch=2000-01-01 unit=1s')",
	"FLAKE_timestamp(NULL)",
	"FLAKE_timestamp(5, 'segment') IS NULL",
	"FLAKE_fields(-254771200000000000, 'ts:50 seq:12 epoch=1970-01-01')");

#
# Where the time is near 2^63 us from the epoch, or from 1970.
#

my $seconds = 'ts:48 seq:10 epoch=1970-01-01 unit=1s';
my $days    = 'ts:40 seq:10 epoch=0001-01-01 unit=1d';

same_outcome(
	(
		map { "FLAKE_timestamp($_, '$seconds')" } 9444732965738496, 9444732965739520,
		-9444732965738496, -9444732965739520),
	(map { "FLAKE_timestamp($_, '$days')" } 109314038784, 109314039808),
	"FLAKE_fields(9444732965739520, '$seconds')",
	"FLAKE_decode(109314039808, '$days')",
	(
		map { ("FLAKE_lower('$_', '$seconds')", "FLAKE_upper('$_', '$seconds')") }
		  '294247-01-10 04:00:54.775807Z', '294247-01-10 04:00:54.775808Z',
		'294247-01-10 04:00:54.775809Z',   '294260-01-01Z'),
	(
		map { ("FLAKE_lower('$_', '$days')", "FLAKE_upper('$_', '$days')") }
		  '292278-01-10 04:00:54.775807Z', '292278-01-10 04:00:54.775808Z',
		'292278-01-10 04:00:54.775809Z',   '294000-01-01Z', '4713-01-02 00:00:00Z BC'),
	(map { "FLAKE_uuid_decode('0020c49b-a5e3-53$_-0000-000000000000')" } qw(f7 f8 f9)));

#
# The collation of an argument means nothing: a column may have one in which 'a' equals 'A'.
#

SKIP:
{
	skip 'PostgreSQL is built without ICU', 1
	  if query("SELECT count(*) FROM pg_collation WHERE collprovider = 'i'") == 0;
	query(
		"CREATE COLLATION public.ci (provider = icu, locale = 'und-u-ks-level2', deterministic = false)");

	same_outcome(
		"FLAKE_from_text('00rIVWme489' COLLATE public.ci)",
		"FLAKE_from_text('AAQZ8619xw9' COLLATE public.ci, 32)",
		"FLAKE_from_text('FF' COLLATE public.ci, 16)",
		"FLAKE_uuid_from_text('0rIVWme489aAbB' COLLATE public.ci)",
		"FLAKE_uuid_from_text('FF' COLLATE public.ci, 16)",
		"FLAKE_objectid_timestamp('507C7f79bcf86cd799439011' COLLATE public.ci)",
		"FLAKE_objectid_timestamp('507' COLLATE public.ci)",
		"FLAKE_shard_for('Key' COLLATE public.ci)");

	# With the extension a layout is of another type.
	my @differ = split /\n/, query(
		q{SELECT layout || ': ' || call
		FROM unnest(ARRAY['discord', 'DISCORD',
				'ts:41 a:3 seq:10 epoch=2026-01-02T03:04:05.5Z unit=1ms start=random:5',
				'ts:41 A:3 seq:10 epoch=0', 'ts:41 seq:10 epoch=0 Unit=1ms', 'ts:41 seq:10 epoch=0 unit=1MS']) layout,
			unnest(ARRAY['timestamp(5, %s)', 'shard(5, %s)', 'sequence(5, %s)', 'decode(5, %s)', 'fields(5, %s)',
				'lower(''2026-01-05Z'', %s)', 'upper(''2026-01-05Z'', %s)',
				'between(5, ''2026-01-05Z'', ''2026-01-06Z'', %s)']) call,
			LATERAL format('SELECT flakeid.flake_' || call, quote_literal(layout)) plain,
			LATERAL format('SELECT flakeid.flake_' || call, quote_literal(layout) || ' COLLATE public.ci') collated
		WHERE outcome(collated) IS DISTINCT FROM outcome(plain)});

	is_deeply(\@differ, [], 'layouts with a collation');
}

#
# No search_path changes what the functions call.
#

# Operators and functions of the names that are in the file, for all pairs of types, also
# such as pg_catalog has not, and types.  All of them fail.
query(
	q{SET check_function_bodies = off;
	CREATE SCHEMA trap;
	CREATE FUNCTION trap.sprung() RETURNS boolean LANGUAGE plpgsql AS
		$$BEGIN RAISE EXCEPTION 'sprung'; END$$;
	DO $do$
	DECLARE
		body CONSTANT text := $$LANGUAGE plpgsql AS 'BEGIN PERFORM trap.sprung(); END'$$;
		types CONSTANT text[] := '{int,bigint,numeric,float8,text,bytea,date,timestamp,timestamptz,interval,jsonb,uuid,bit,text[],int[],bigint[]}';
		source text := (SELECT string_agg(prosrc, ' ') FROM pg_proc WHERE pronamespace = 'flakeid'::regnamespace);
		operators text[] := (SELECT array_agg(DISTINCT oprname) FROM pg_operator WHERE strpos(source, oprname) > 0);
		functions text[] := (SELECT array_agg(DISTINCT proname) FROM pg_proc
			WHERE pronamespace = 'pg_catalog'::regnamespace AND proname = ANY (
				SELECT m[1] FROM regexp_matches(source, '([a-z0-9_]+)[(]', 'g') m));
		name text;
		a text;
		b text;
		c text;
	BEGIN
		ASSERT cardinality(operators) > 15 AND cardinality(functions) > 25;
		FOREACH a IN ARRAY types
		LOOP
			EXECUTE format('CREATE FUNCTION trap.compare(%s) RETURNS boolean %s', a, body);
			EXECUTE format('CREATE FUNCTION trap.compute(%s) RETURNS %1$s %2$s', a, body);
			FOREACH name IN ARRAY '{-,+,~,@}'::text[]
			LOOP
				EXECUTE format('CREATE OPERATOR trap.%s (RIGHTARG = %s, FUNCTION = trap.compute)', name, a);
			END LOOP;
			FOREACH b IN ARRAY types
			LOOP
				EXECUTE format('CREATE FUNCTION trap.compare(%s, %s) RETURNS boolean %s', a, b, body);
				EXECUTE format('CREATE FUNCTION trap.compute(%s, %s) RETURNS %1$s %3$s', a, b, body);
				FOREACH name IN ARRAY operators
				LOOP
					EXECUTE format('CREATE OPERATOR trap.%s (LEFTARG = %s, RIGHTARG = %s, FUNCTION = trap.%s)',
						name, a, b, CASE WHEN name ~ '[=<>~]' AND name NOT IN ('<<', '>>') OR name = '&&'
							THEN 'compare' ELSE 'compute' END);
				END LOOP;
			END LOOP;
		END LOOP;
		FOREACH name IN ARRAY functions
		LOOP
			FOREACH a IN ARRAY types
			LOOP
				EXECUTE format('CREATE FUNCTION trap.%I(%s) RETURNS %2$s %3$s', name, a, body);
				FOREACH b IN ARRAY types
				LOOP
					EXECUTE format('CREATE FUNCTION trap.%I(%s, %s) RETURNS %2$s %4$s', name, a, b, body);
				END LOOP;
			END LOOP;
			FOREACH a IN ARRAY '{text,bytea,int}'::text[]
			LOOP
				FOREACH b IN ARRAY '{text,int,bigint}'::text[]
				LOOP
					FOREACH c IN ARRAY '{text,int,bigint}'::text[]
					LOOP
						EXECUTE format('CREATE FUNCTION trap.%I(%s, %s, %s) RETURNS %2$s %5$s', name, a, b, c, body);
					END LOOP;
				END LOOP;
			END LOOP;
		END LOOP;
		FOREACH name IN ARRAY '{float8,text,bytea,date,timestamptz,jsonb,uuid,macaddr,_text,_int4}'::text[]
		LOOP
			EXECUTE format('CREATE DOMAIN trap.%I AS %1$I CHECK (trap.sprung())', name);
		END LOOP;
	END $do$});

# Those of the functions' own arguments that are layouts
my ($timed, $timeless) =
  map { query("SELECT quote_literal(flakeid._flake_layout('$_'))") } 'discord', 'segment';
my $uuid   = "'01a20320-a201-7001-800a-e04d91b3c68f'";
my @traced = (
	(map { s/FLAKE/flake/r } @called),
	"_flake_preset('discord')",
	"_flake_no_layout('x', 'y')",
	(
		map { "_flake_epoch('$_')" } '2016-05-19T16:00:00.5Z', '2024-02-29', '2023-02-29',
		'-5'),
	"_flake_layout('region')",
	'_flake_field(-1, 3, 5)',
	(map { "_flake_instant($_)" } '-5', '123456789012345678', '9223371331200000000'),
	(
		map {
			(
				"_flake_timestamp(-5, $_)", "_flake_shard(-5, $_)",
				"_flake_sequence(-5, $_)", "_flake_fields(-5, $_)",
				"_flake_tick_bits($_)", "_flake_last($_)",
				"_flake_tick('2014-12-31 23:59:59.9Z', 1, $_)",
				"_flake_tick('infinity', 1, $_)")
		} $timed, $timeless),
	(
		map { ("flake_lower('$_')", "flake_upper('$_')", "flake_uuidv7_lower('$_')", "flake_uuidv7_upper('$_')") }
		  '1900-01-01Z', '2026-01-05Z',
		'20000-01-01Z'),
	(
		map { ("flake_$_(11637205501278089)", "flake_$_(-5, 'cockroach')") }
		  qw(timestamp shard sequence decode fields)),
	"flake_between(11637205501278089, '2011-09-09Z', '2011-09-10Z')",
	(
		map {
			(
				"_flake_digits($_)",
				"_flake_to_text(123456789012345678901234567890, $_, 32)",
				"_flake_from_text('9a', $_, 64, 'bigint')",
				"flake_to_text(-5, $_)",
				"flake_from_text('9a', $_)",
				"flake_uuid_to_text($uuid, $_)",
				"flake_uuid_from_text('9a', $_)")
		} 16, 32, 58, 62, 64),
	'_flake_wrap(123456789012345678901234567890)',
	'_flake_unsigned(-5)',
	"_flake_bits($uuid, 1, 16)",
	"_flake_bits($uuid, 3, 4)",
	"flake_uuid_decode('00000197-a5e3-53f7-0000-000000000000')",
	"flake_uuidv7_decode($uuid)",
	"flake_uuidv7_between($uuid, '2026-01-05Z', '2027-01-05Z')",
	"flake_objectid_timestamp('507f1f77bcf86cd799439011')",
	'_flake_rotate(-5, 7)',
	"_flake_lane('abcdefghij', 2, 8)",
	'_flake_round(-5, 7)',
	(map { ("_flake_xxh64('$_')", "_flake_shard_for('$_', 8192)") } '', 'x' x 47),
	'flake_shard_for(-5)',
	"flake_shard_for('key')",
	"flake_shard_for(CAST($uuid AS pg_catalog.uuid))");

sub outcomes
{
	my ($search_path) = @_;
	my $rows = join ', ', map { "\$q\$SELECT flakeid.$_\$q\$" } @traced;

	return split /\n/, query(
		"SET search_path = $search_path;
		SELECT coalesce(pg_catalog.translate(public.outcome(call), E'\\n', ' '), 'null')
		FROM pg_catalog.unnest(ARRAY[$rows]) WITH ORDINALITY AS c(call, i) ORDER BY i");
}

my $names = join ',', map { s/\(.*//sr } @traced;
is( query(
		"SELECT string_agg(proname, ' ') FROM pg_proc
		WHERE pronamespace = 'flakeid'::regnamespace AND NOT proname = ANY ('{$names}')"),
	'',
	'all functions are called');

my @plain = outcomes('public');

foreach my $search_path ('public, trap', 'trap, pg_catalog')
{
	my @outcomes = outcomes($search_path);
	my @sprung =
	  map { "$traced[$_]: $outcomes[$_], not $plain[$_]" }
	  grep { ($outcomes[$_] // '') ne $plain[$_] } 0 .. $#plain;

	is(scalar @outcomes, scalar @traced, "with search_path = $search_path, there is a row for each call");
	is_deeply(\@sprung, [], "with search_path = $search_path, nothing else is called");
}

#
# A range of time uses an index and prunes partitions.
#

query(
	"CREATE TABLE event (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
	CREATE TABLE event_1 PARTITION OF event FOR VALUES FROM (MINVALUE) TO (flakeid.flake_lower('2026-01-01Z'));
	CREATE TABLE event_2 PARTITION OF event FOR VALUES FROM (flakeid.flake_lower('2026-01-01Z')) TO (MAXVALUE);"
);
my $plan = query(
	"SET enable_seqscan = off; SET enable_bitmapscan = off;
	EXPLAIN SELECT * FROM event WHERE flakeid.flake_between(id, '2026-01-05Z', '2026-01-06Z')");

like($plan, qr/Index.*Index Cond: \(\(id >= '?3802985320920645632/s, 'the index is used');
unlike($plan, qr/event_1/, 'partitions are pruned');

query(
	"CREATE TABLE item (id bigint, ts timestamptz GENERATED ALWAYS AS (flakeid.flake_timestamp(id)) STORED);
	CREATE INDEX ON item (flakeid.flake_shard(id));
	INSERT INTO item VALUES (11637205501278089)");
is( query("SELECT ts = '2011-09-09 22:28:04.721+00' FROM item WHERE flakeid.flake_shard(id) = 1341"),
	't',
	'in a generated column and an index');

# Backslashes in its text mean the same then.
foreach my $layout (
	"'ts:41 value:13 river:3 seq:7 epoch=2026-01-02T03:04:05.5Z'",
	"concat_ws(chr(11), 'ts:41', 'node:13', 'rank:3', 'seq:7', 'epoch=2026-01-02')",
	"concat_ws(chr(9) || chr(13) || chr(10) || chr(12), 'ts:41', 'f:13', 'seq:7', 'epoch=2026-01-02')",
	"'value'")
{
	is( query(
			"SET standard_conforming_strings = off; SET escape_string_warning = off;
			SELECT outcome('SELECT flakeid.flake_fields(11637205501278089, ' || quote_literal($layout) || ')')
				 = outcome('SELECT public.flake_fields(11637205501278089, ' || quote_literal($layout) || ')')"),
		't',
		"with standard_conforming_strings = off: $layout");
}

done_testing();
