# Copyright (c) 2026, the flakeid developers

# What other projects' tests say of their generators at given times holds for flakeid
# at those times, id by id: Hazelcast's, pgactive's, tsid-creator's, pgEdge's, and those
# of npm's package uuid.  docs/internals/others_tests.md names each of them, and says
# what is not here and why; what needs no clock is in sql/published.sql.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	conf => "log_statement = none\nflakeid.max_jump = -1",    # the clock is set by decades
	sql => 'CREATE EXTENSION flakeid');

if ($node->safe_psql('postgres', 'SHOW debug_assertions') eq 'on')
{
	$node->stop;
	plan skip_all => "an assertion of PostgreSQL's checkpointer fails when the clock is set back by 25 days";
}
my $session = new_session($node);

# Ends a wait at once: a clock that stands still never comes nearer.
value($session, 'SET flakeid.max_wait = 0');

# Stops the clock in the middle of that millisecond after 1970.
sub at_ms
{
	my ($ms) = @_;

	stop_clock($clock, sprintf('%d.%03d500', int($ms / 1000), $ms % 1000));
	return;
}

sub generator
{
	my ($name, $layout) = @_;

	value($session, "SELECT flake_create_generator('$name', '$layout')");
	return;
}

sub ids_of
{
	return split /\n/, value($session, "SELECT $_[0]");
}

# What has no answer but that error.
sub fails
{
	my ($sqlstate, $sql, $name) = @_;

	is(code($session, "SELECT $sql"), $sqlstate, $name);
	return;
}


#
# Hazelcast: FlakeIdGeneratorProxyTest, whose tests give the time, the member 1234 and
# how many ids are wanted.
#

my $middle = 1516028439000;
my $made = 0;

# A generator on which nothing has been minted.
sub fresh_hazelcast
{
	my $name = 'hazelcast_' . ++$made;

	generator($name, $_[0] // 'hazelcast');
	return $name;
}

at_ms($middle);
my $hazelcast = fresh_hazelcast();
is_deeply([ map { ids_of("flake_id(1234, '$hazelcast')") } 1 .. 2 ],
	[ 5300086112257234, 5300086112257234 + 65536 ],
	'Hazelcast, two ids at one moment: they differ by the sequence');

sub batch_at
{
	my ($name, $ms, $id) = @_;

	at_ms($ms);
	is_deeply(
		[ ids_of("flake_ids(1234, 10, '" . ($hazelcast = fresh_hazelcast()) . "')") ],
		[ map { ids_of("$id + $_ * 65536::bigint") } 0 .. 9 ],
		"Hazelcast, $name: a batch of ten ids");
	return;
}

batch_at('the first millisecond of the epoch', 1514764800000, 1234);
batch_at('a millisecond before the epoch',     1514764799999, -4194304 + 1234);
SKIP:
{
	skip 'the clock ends before', 2 if clock_ends_in_2038();

	batch_at('the last millisecond', 3713788055551, '9223372036850582738');
	at_ms(3713788055552);
	fails('22003', "flake_id(1234, '$hazelcast')", 'Hazelcast, after the last millisecond: an error');
}

at_ms(1);
$hazelcast = fresh_hazelcast('ts:42 seq:10 node:11 epoch=0 start=zero');
is_deeply(
	[ ids_of("flake_ids(1234, 2, '$hazelcast')") ],
	[ 2097152 + 1234, 2097152 + 1234 + 2048 ],
	'Hazelcast, custom bits: they are used');
at_ms(456 + 1);
$hazelcast = fresh_hazelcast('ts:41 seq:6 node:16 epoch=456 start=zero');
is_deeply([ ids_of("flake_id(1234, '$hazelcast')") ],
	[ 4194304 + 1234 ], 'Hazelcast, an epoch: it is used');

# How long a batch has to wait: there, by the first number that is left; here, by the
# last that is in it.  So here it is a millisecond less if the batch ends with one.
at_ms($middle);
my $ahead = 64 * 15000;
foreach my $batch (100, $ahead, $ahead + 64)
{
	$hazelcast = fresh_hazelcast();
	is(value($session, "SELECT max(id) FROM flake_ids(1234, $batch, '$hazelcast') AS id"),
		5300086112257234 + ($batch - 1) * 65536,
		"Hazelcast, $batch ids at one moment: no wait");
}
fails('53400', "flake_id(1234, '$hazelcast')", 'Hazelcast, one more: that waits');
$hazelcast = fresh_hazelcast();
fails('53400', "flake_ids(1234, 10000000, '$hazelcast') LIMIT 1",
	'Hazelcast, ten million ids at once: an error here, 141 s there');

# Fifteen batches of 100,000 (FlakeIdGenerator_AbstractBackpressureTest), and ten million
# ids by thousands: a batch is there when the clock has come as far as it has to there,
# and not two milliseconds earlier.  Looked at for every $nth batch.
sub check_waits
{
	my ($size, $batches, $nth) = @_;
	my $name = fresh_hazelcast();
	my (@early, @wrong);

	for (my $batch = $nth; $batch <= $batches; $batch += $nth)
	{
		my $there = int($batch * $size / 64) - 15000;

		at_ms($middle + ($there > 0 ? $there - 2 : 0));
		value($session,
			"SELECT count(*) FROM (SELECT flake_ids(1234, $size, '$name') FROM generate_series(2, $nth)) AS before");
		if ($there > 0)
		{
			push @early, $batch
			  if code($session, "SELECT flake_ids(1234, $size, '$name') LIMIT 1") ne '53400';
			at_ms($middle + $there);
		}
		my $last = value($session, "SELECT max(id) FROM flake_ids(1234, $size, '$name') AS id");
		push @wrong, "$batch: $last"
		  if $last != 5300086112257234 + ($batch * $size - 1) * 65536;
	}
	is_deeply(\@wrong, [], "Hazelcast, $batches batches of $size: when they are there, and which ids");
	is_deeply(\@early, [], "Hazelcast, $batches batches of $size: not before");
	return;
}

check_waits(100000, 15, 1);
check_waits(1000, 10000, 100);

# FlakeIdConcurrencyTestUtil: 100,000 ids in each of four threads; CollisionTest of
# tsid-creator: as many in each of sixteen, on 256 nodes.
at_ms($middle);
generator('collision', 'ts:42 node:8 seq:14 epoch=2015-01-01 start=random');
value($session, 'CREATE UNLOGGED TABLE seen (id bigint)');
foreach my $case ([ 4, fresh_hazelcast() ], [ 16, 'collision' ])
{
	my ($count, $name) = @$case;
	my @sessions = new_sessions($node, $count);

	send_query($_,
		"INSERT INTO seen SELECT flake_id(12, '$name') FROM generate_series(1, 100000)")
	  foreach @sessions;
	is_deeply([ map { (get_answer($_))[1] } @sessions ],
		[ ('') x $count ], "$count sessions mint at once: no error");
	end_session(@sessions);
	is( value($session, 'SELECT count(*), count(DISTINCT id) FROM seen; TRUNCATE seen'),
		join('|', ($count * 100000) x 2),
		"$count sessions mint at once: no id comes twice");
}


#
# pgactive: test/sql/seq.sql, on node 2 at one moment.  There the ids wrap around after
# 16,383, and the next is a duplicate.  Here it is of the next millisecond.
#

at_ms(946684800000 + 530605914245);
generator('pgactive', 'pgactive');
my ($first) = ids_of("flake_id(2, 'pgactive')");
is( value($session,
		"SELECT (25074801076895745 >> 14) = ($first >> 14), count(*), count(DISTINCT id), max(id >> 24) - min(id >> 24)"
		  . " FROM flake_ids(2, 2 * 16384, 'pgactive') AS id"),
	't|32768|32768|2',
	'pgactive, twice as many ids as a millisecond has: no duplicates, some of the next');
is( value($session,
		"SELECT count(DISTINCT id) FROM (SELECT flake_ids(node, 16383, 'pgactive') AS id"
		  . ' FROM generate_series(3, 4) AS node) AS ids'),
	32766,
	'pgactive, two nodes at one moment: no duplicates');


#
# tsid-creator: TsidFactoryTest, with a clock that goes back by ten seconds, and by a leap
# second.  The counts begin at zero there, by a random function that says so.
#

my $time = 1640995199000;
my $tsid = 'ts:42 node:10 seq:12 epoch=2020-01-01 start=zero';

# The milliseconds of the ids that are minted at these times, after the first.
sub times_of
{
	my ($name, @times) = @_;
	my @ids;

	generator($name, $tsid);
	foreach (@times)
	{
		at_ms($_);
		push @ids, ids_of("flake_id(5, '$name')");
	}
	is_deeply([ sort { $a <=> $b } @ids ], \@ids, "tsid-creator, $name: ids increase");
	return [ map { ($_ >> 22) - ($ids[0] >> 22) } @ids ];
}

is_deeply(
	times_of('drift', map { $time + $_ } 0, 0, 1, 2, 3 - 10000, 4 - 10000, 5),
	[ 0, 0, 1, 2, 2, 2, 5 ],
	'tsid-creator, the clock drifts: it does not go back');
is_deeply(times_of('leap', $time, $time - 1000), [ 0, 0 ], 'tsid-creator, a leap second: the same');
my @fresh = map { at_ms($time + $_); ids_of("flake_sequence(flake_id(6, 'leap'), '$tsid')") } 1 .. 5;
is_deeply(\@fresh, [ (0) x 5 ], 'tsid-creator, the count begins at zero in each millisecond');

# IncrementalTest: two bits of count, one node
my $incremental = 'ts:42 node:20 seq:2 epoch=2020-01-01';
foreach my $glitch (-9999, 9999)
{
	my $name = 'glitch_' . abs($glitch) . ($glitch < 0 ? '_back' : '');

	at_ms($time);
	generator($name, $incremental);
	my ($previous) = ids_of("flake_id(0, '$name')");
	at_ms($time + $glitch);
	cmp_ok((ids_of("flake_id(0, '$name')"))[0],
		'>', $previous, "tsid-creator, the clock moves by $glitch ms: ids increase");
}
at_ms($time);
generator('still', $incremental);
is( value($session, q{
SELECT count(*), count(*) FILTER (WHERE id <= previous), (max(id) >> 22) - (min(id) >> 22)
FROM (SELECT id, lag(id) OVER (ORDER BY i) AS previous
	  FROM (SELECT i, flake_id(0, 'still') AS id FROM generate_series(1, 40001) AS i) AS minted) AS pairs}),
	'40001|0|10000',
	'tsid-creator, 40,001 ids while the clock stands still: they increase, four in a millisecond');


#
# pgEdge snowflake: conversion.sql.  What is counted in a millisecond, one by one and by
# blocks: there by the INCREMENT of a sequence, here by flake_ids().
#

at_ms($time);
generator('pgedge', 'pgedge');
is_deeply([ map { ids_of("flake_sequence(flake_id(1, 'pgedge'), 'pgedge')") } 1 .. 3 ],
	[ 0, 1, 2 ], 'pgEdge, ids of one millisecond: 0, 1, 2');
is(value($session, "SELECT flake_id(1, 'pgedge') - flake_id(1, 'pgedge')"),
	-1, 'pgEdge, ids that follow each other');
foreach my $case ([ 100, '0 100 200' ], [ 4096, '0 0 0' ])
{
	my ($increment, $counts) = @$case;
	my $name = "pgedge_$increment";
	my @blocks;

	generator($name, 'pgedge');
	push @blocks, value($session, "SELECT min(id) FROM flake_ids(1, $increment, '$name') AS id")
	  foreach 1 .. 3;
	is(join(' ', map { $_ & 4095 } @blocks), $counts, "pgEdge, blocks of $increment: how each begins");
	is(($blocks[1] >> 22) - ($blocks[0] >> 22),
		$increment == 4096 ? 1 : 0, "pgEdge, blocks of $increment: the milliseconds between them");
}


#
# uuid of npm: v7.test.ts.  There a millisecond begins with a random count, here with 0.
#

my $rfc = 1645557742000;
my $uuids = 0;

# Mints UUIDs with a generator of their own, as [ms, seq], at these times: all of a tick
# with "all", else one.
sub transitions
{
	my ($name, $expected, @steps) = @_;
	my $generator = 'uuid_' . ++$uuids;
	my ($last, $previous) = ('');

	generator($generator, 'uuidv7');
	foreach my $step (@steps)
	{
		my ($ms, $count) = @$step;

		at_ms($rfc + $ms);
		$previous = $last;
		$last = value($session,
			"SELECT max(id::text COLLATE \"C\") FROM flake_uuidv7s(5, $count, '$generator') AS id");
	}
	my ($high, $low, $seq) = map { hex } $last =~ /^(.{8})-(.{4})-7(...)-/;
	is_deeply([ ($high << 16 | $low) - $rfc, $seq ], $expected, "npm's uuid, $name");
	cmp_ok($last, 'gt', $previous, "npm's uuid, $name: above the one before");
	return;
}

transitions('a new time', [ 2, 0 ], [ 1, 124 ], [ 2, 1 ]);
transitions('the same time', [ 1, 124 ], [ 1, 124 ], [ 1, 1 ]);
transitions('the same time, the count rolls over', [ 2, 0 ], [ 1, 4096 ], [ 1, 1 ]);
transitions('the clock goes back', [ 2, 124 ], [ 2, 124 ], [ 1, 1 ]);
transitions('the clock goes back, the count rolls over', [ 3, 0 ], [ 2, 4096 ], [ 1, 1 ]);

at_ms($rfc);
generator('npm', 'uuidv7');
like(value($session, "SELECT flake_uuidv7(5, 'npm')"),
	qr/^017f22e2-79b0-7/, "npm's uuid: the time of the RFC's example");
is(value($session, "SELECT flake_uuidv7(5, 'npm') = flake_uuidv7(5, 'npm')"), 'f',
	"npm's uuid: UUIDs that follow each other differ");
value($session, 'CREATE TABLE doc (i serial, id uuid)');
foreach my $ms (1 .. 14)
{
	at_ms($rfc + $ms);
	value($session,
		"INSERT INTO doc (id) SELECT flake_uuidv7(5, 'npm') FROM generate_series(1, least(1500, 20000 - ($ms - 1) * 1500))");
}
is( value($session, q{
SELECT count(*), count(*) FILTER (WHERE id <= previous), count(*) FILTER (WHERE id::text <= previous::text COLLATE "C"),
	count(DISTINCT substr(id::text, 1, 13))
FROM (SELECT id, lag(id) OVER (ORDER BY i) AS previous FROM doc) AS pairs}),
	'20000|0|0|14',
	"npm's uuid, 20,000 UUIDs of 14 milliseconds: they ascend, and so do their texts");

end_session($session);
$node->stop;
done_testing();
