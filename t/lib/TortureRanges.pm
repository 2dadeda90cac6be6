# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

TortureRanges - for t/torture_ranges.pl: what its sessions ask for, and processes that
mint by leases

=head1 SYNOPSIS

  use TortureRanges;

  run_torture(
      choose => \&choose_ranges,
      sql    => $range_tables,
      begin  => \&start_minters,
      end    => \&stop_minters,
      faults => [ [ kill_minter => 3, \&kill_minter ], ... ]);

=head1 DESCRIPTION

To load it replaces %generators of TortureClient: all kinds of layouts are there.

A request takes thousands or hundreds of thousands of ids at once, and the server
returns the first, the last, and how many it has counted.  In one of eight requests it
also looks at each id: whether it is of the shard, and its packed value one more than
that of the one before.  If not, it returns no count, and check_ids() says so.

=cut

package TortureRanges;

use strict;
use warnings;

use Exporter 'import';
use FlakeRecipe;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;
use TortureCheck;
use TortureClient;
use TortureServers;

our @EXPORT = qw(
  $range_tables
  choose_ranges
  start_minters
  kill_minter
  stop_minter
  stop_minters
  check_the_check
);

=pod

=head1 VARIABLES

=over

=item $range_tables

SQL for the tables that the sessions need.

=back

=cut

our $range_tables =
  q(CREATE TABLE kept_row (id bigint PRIMARY KEY DEFAULT flake_id(0, 'kept')););

# "most" is how many ids are asked for at once; for the others of %generators see
# TortureClient.
%generators = (
	flake_default => {
		what => 'ts:41 shard:13 seq:10 epoch=1314220021721',
		shards => [ 1 .. 6 ],
		most => 300_000
	},
	snow => {
		layout =>
		  'ts:41 datacenter:5 worker:5 seq:12 epoch=1288834974657 start=zero',
		shards => [ 1, 37, 1023 ],
		most => 300_000
	},

	# The shard is behind the sequence, and a tick is 10 ms.
	sony => {
		layout =>
		  'ts:39 seq:8 machine:16 epoch=1409529600000 unit=10ms start=zero',
		shards => [ 1, 65535 ],
		most => 5_000
	},

	# All 64 bits and no shard.
	mastodon => {
		layout => 'ts:48 seq:16 epoch=0 start=random',
		shards => [0],
		most => 400_000
	},
	seconds => {
		layout => 'ts:32 shard:10 seq:21 epoch=1577836800000 unit=1s',
		shards => [ 0, 5 ],
		most => 400_000
	},

	# 16 ids in a millisecond: these run ahead of the clock.
	brief => {
		layout =>
		  'ts:42 shard:8 seq:4 epoch=1577836800000 unit=1ms start=random:3',
		shards => [ 1, 2 ],
		most => 2_000
	},

	# No time, and a horizon that moves every 75 numbers, and every 10,000.
	dense => { layout => 'seq:63 block=100', shards => [0], most => 200_000 },
	ticket => {
		layout => 'seq:62 server:1 block=10000',
		shards => [ 0, 1 ],
		most => 300_000
	},

	# Heads of UUIDs, and UUIDs themselves.
	v7 => {
		what => 'ts:48 seq:12 epoch=0 (the heads of UUIDs, version 7)',
		regclass => 'flake_default_uuidv7',
		mint => 'flake_uuidv7_head(flake_uuidv7(SHARD))',
		shards => [ 1, 2, 8191 ],
		most => 200_000
	},
	uuid7 => {
		what => 'UUIDs of version 7, each by itself',
		mint => q('x' || flake_uuidv7(SHARD)),
		shards => [3],
		hex => 12
	},
	uuid => {
		what => 'flake_uuid(), each by itself',
		mint => q('x' || flake_uuid()),
		shards => [0],
		hex => 16
	},
	objectid => {
		what => 'flake_objectid(), each by itself',
		mint => q('x' || flake_objectid()),
		shards => [0],
		hex => 8,
		unit_ms => 1000
	},

	# Set back by flake_rewind().
	again => {
		layout => 'ts:41 shard:10 seq:12 epoch=1577836800000',
		rewound => 'by force',
		shards => [ 0, 3 ],
		most => 100_000
	},
	again_dense => {
		layout => 'seq:62 server:1 block=10000',
		rewound => 'by force',
		shards => [ 0, 1 ],
		most => 200_000
	},
	kept => {
		layout => 'seq:62 server:1 block=10000',
		rewound => 'not by force',
		shards => [0],
		most => 100_000
	},

	# By processes with the client library for C.
	leased => {
		layout => 'ts:41 shard:12 seq:10 epoch=1767225600000',
		own_clock => 1,
		shards => []
	});

# Where the bits are.
foreach my $generator (values %generators)
{
	my $text = $generator->{layout} // $generator->{what};
	my @fields = reverse $text =~ /(?<![=\w])([a-z]+:\d+)/g;
	my $shift = 0;
	my %field = map { $_ => { bits => 0, shift => 0 } } qw(ts seq shard);

	$generator->{unbounded} = 1
	  if defined $generator->{hex} || $generator->{own_clock};
	next if defined $generator->{hex};
	foreach my $field (@fields)
	{
		my ($name, $bits) = $field =~ /(\w+):(\d+)/;
		my $place = $field{ $name eq 'ts' || $name eq 'seq' ? $name : 'shard' };

		$place->{shift} = $shift if $place->{bits} == 0;
		$place->{bits} += $bits;
		$shift += $bits;
	}
	$generator->{fields} = \%field;

	# Without time there is but tick 0.
	if ($field{ts}{bits} == 0)
	{
		$field{ts}{shift} = 63;
		next;
	}
	$generator->{shift} = $field{ts}{shift};
	($generator->{epoch_ms}) = $text =~ /epoch=(\d+)/;
	($generator->{unit_ms}) = map { /s$/ && !/ms$/ ? 1000 * s/s//r : s/ms//r }
	  $text =~ /unit=(\d+m?s)/;
}

=pod

=head1 FUNCTIONS

=over

=item choose_ranges(\%last, $may_write)

For the option "choose" of run_client().

=cut

sub any_of { return $_[ int rand @_ ] }

# A set of so many ids, as a subquery with a column id.
sub ids_of
{
	my ($generator, $shard, $number) = @_;

	return $generator eq 'v7'
	  ? "(SELECT flake_uuidv7_head(flake_uuidv7s($shard, $number)) AS id) AS s"
	  : "(SELECT flake_ids($shard, $number, '$generator') AS id) AS s";
}

# A statement that takes so many ids, and returns the ends and the number.
sub range
{
	my ($generator, $shard, $number) = @_;

	return 'SELECT '
	  . columns($generator, $shard, 'min(id)')
	  . ', max(id), count(*) FROM '
	  . ids_of($generator, $shard, $number);
}

# The same; the server looks at each id.
sub range_looked_at
{
	my ($generator, $shard, $number) = @_;
	my $fields = $generators{$generator}{fields};
	my $packed =
		"(((id >> $fields->{ts}{shift}) << $fields->{seq}{bits})"
	  . " | ((id >> $fields->{seq}{shift}) & "
	  . ((1 << $fields->{seq}{bits}) - 1) . '))';
	my ($set, $is_of_shard) = $generator eq 'v7'
	  ? ( "(SELECT *, flake_uuidv7_head(u) AS id FROM flake_uuidv7s($shard, $number) WITH ORDINALITY AS u(u, n)) AS s",
		"(flake_uuidv7_decode(u)).shard = $shard")
	  : ( "flake_ids($shard, $number, '$generator') WITH ORDINALITY AS s(id, n)",
		"((id >> $fields->{shard}{shift}) & "
		  . ((1 << $fields->{shard}{bits}) - 1)
		  . ") = $shard");

	return
		'SELECT '
	  . columns($generator, $shard, 'min(id)')
	  . ', max(id), CASE WHEN bool_and('
	  . "$is_of_shard) AND min($packed - n) = max($packed - n) THEN count(*) ELSE 0 END"
	  . " FROM $set";
}

sub choose_ranges
{
	my ($last, $may_write) = @_;
	my $generator =
	  any_of(grep { defined $generators{$_}{most} } sort keys %generators);
	my $shard = any_of(@{ $generators{$generator}{shards} });
	my $most = $generators{$generator}{most};
	my $number =
	  $most < 10_000 ? int(1 + rand $most)
	  : rand() < 0.4 ? int(1_000 + rand 9_000)
	  :                int($most / 3 + rand $most * 2 / 3);
	my $range = range($generator, $shard, $number);
	my $few = int(1 + rand 20);
	my $one = 'SELECT ' . columns($generator, $shard);
	my $kind = rand;

	return [ range_looked_at($generator, $shard, $number), 0 ]
	  if $kind < 0.125;
	return [ $range, 0 ] if $kind < 0.5;
	return any_of(
		[
			"BEGIN; $range; " . range($generator, $shard, 1 + int rand 1000) . '; COMMIT',
			0
		],
		[ "BEGIN; $range; ROLLBACK", 0 ],
		[ "BEGIN; SAVEPOINT a; $range; ROLLBACK TO a; $one; COMMIT", 0 ],
		[ "BEGIN; DECLARE c CURSOR FOR $range; FETCH ALL FROM c; COMMIT", 0 ],
		[ "COPY ($range) TO STDOUT", 0 ])
	  if $kind < 0.65;

	# One by one, with others' ranges in between.
	return [ "$one FROM generate_series(1, $few)", 0 ] if $kind < 0.75;
	if ($kind < 0.87)
	{
		my $wide = any_of(qw(uuid objectid uuid7));
		my ($wide_shard) = @{ $generators{$wide}{shards} };

		return [
			'SELECT '
			  . columns($wide, $wide_shard)
			  . ' FROM generate_series(1, '
			  . 10 * $few . ')',
			0
		]
		  if $wide ne 'uuid7';

		# Both the UUIDs and their heads are noted.
		return [
			"SELECT v.* FROM flake_uuidv7s($wide_shard, 10 * $few) AS u, LATERAL (VALUES ("
			  . columns('uuid7', $wide_shard, q('x' || u))
			  . '), ('
			  . columns('v7', $wide_shard, 'flake_uuidv7_head(u)::text')
			  . ')) AS v',
			0
		];
	}
	return [ $range, 0 ] if !$may_write;

	# Rows, for those who read on, and for flake_rewind().
	return any_of(
		[
			'INSERT INTO item_by_default SELECT FROM generate_series(1, 3) RETURNING '
			  . columns('flake_default', 1, 'id'),
			1
		],
		[
			"INSERT INTO kept_row SELECT FROM generate_series(1, $few) RETURNING "
			  . columns('kept', 0, 'id'),
			1
		],
		map {
			my $default_shard = any_of(@{ $generators{flake_default}{shards} });
			[ sprintf($_, $default_shard, $number > 10_000 ? 5_000 : $number), 1 ]
		  } (
			"INSERT INTO item SELECT 'flake_default', i FROM flake_ids(%1\$d, $few) AS i RETURNING "
			  . "'flake_default', %1\$d, id, current_setting('flakeid.max_ahead')",

			# The ends of a range.
			'WITH s AS MATERIALIZED (SELECT flake_ids(%1$d, %2$d) AS id), e AS'
			  . " (INSERT INTO item SELECT 'flake_default', unnest(ARRAY[min(id), max(id)]) FROM s"
			  . ' HAVING count(*) > 1)'
			  . q( SELECT 'flake_default', %1$d, min(id), current_setting('flakeid.max_ahead'), max(id), count(*) FROM s)
		  ));
}

=pod

=item start_minters(), stop_minters()

Builds the program, and starts two processes with it; ends them, and says whether they
have come to a good end.

=item kill_minter, stop_minter

Faults: a process is killed, and another one started; one is stopped for some time.

=back

=cut

my $program;
my @minters;
my @ended_badly;
my $started = 0;

sub start_minter
{
	my ($n) = @_;
	my @nodes = map { $server{$_}{node} } sort keys %server;
	my $dsn = 'host='
	  . join(',', map { $_->host } @nodes)
	  . ' port='
	  . join(',', map { $_->port } @nodes)
	  . " dbname=postgres user=$user target_session_attrs=read-write";
	my $client = 100 + ++$started;
	my $pid = fork;

	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		open STDERR, '>>', "$directory/minters.log";
		exec $program, $dsn, 'leased', 10, "$directory/$client.ids", $client,
		  100_000
		  or POSIX::_exit(1);
	}
	$minters[$n] = { pid => $pid };
	return;
}

sub start_minters
{
	my $build = PostgreSQL::Test::Utils::tempdir('clients');
	my ($built, $output) = run_in("$FindBin::RealBin/../clients/c",
		'make', '-s', '-j2', "O=$build", 'CFLAGS=-O2', 'SANITIZE=',
		"$build/test/range_minter");

	$built or BAIL_OUT($output);
	$program = "$build/test/range_minter";
	start_minter($_) foreach 0, 1;
	return;
}

# Has it go on if it is stopped, and ends it.  One that has just begun may not handle
# SIGTERM yet.
sub end_minter
{
	my ($n, $signal) = @_;
	my $pid = $minters[$n]{pid};

	kill 'CONT', $pid;
	kill $signal, $pid;
	waitpid $pid, 0;
	push @ended_badly, "process $n: $?"
	  unless $? == ($signal eq 'KILL' ? 9 : 0) || $signal eq 'TERM' && $? == 15;
	return;
}

sub kill_minter
{
	my ($which) = @_;
	my $n = int $which * @minters;

	end_minter($n, 'KILL');
	start_minter($n);
	return 1;
}

sub stop_minter
{
	my ($which) = @_;
	my $minter = $minters[ $which * @minters ];

	$minter->{is_stopped} = !$minter->{is_stopped};
	return kill $minter->{is_stopped} ? 'STOP' : 'CONT', $minter->{pid};
}

sub stop_minters
{
	end_minter($_, 'TERM') foreach 0 .. $#minters;
	is_deeply(\@ended_badly, [], 'the processes with leases have run to the end')
	  or diag slurp_file("$directory/minters.log");
	return;
}

=pod

=head1 OTHERS

=over

=item check_the_check()

That check_ids() finds what is wrong, in records that are made up.

=back

=cut

# What check_ids() says of ranges of "dense": [id, last, count, sent, received,
# committed]
sub verdict
{
	my ($happened, @ranges) = @_;
	my $made_up = PostgreSQL::Test::Utils::tempdir('made_up');
	my $n = 0;

	foreach my $range (@ranges)
	{
		my ($id, $last, $count, $sent, $received, $is_committed) = @$range;

		append_to_file("$made_up/made_up.ids",
			join("\t",
				'dense', 0, $id, $sent, $received, 0, '15s', 1, ++$n, 1, 1,
				$last, $count, $is_committed)
			  . "\n");
	}
	my ($count) = check_ids(
		$made_up,
		last_term => 1,
		steps => { 1 => [ [ 0, 0, 0 ] ] },
		%$happened);

	return join ' ', map { "$_=$count->{$_}" }
	  grep { $count->{$_} }
	  qw(duplicates misordered fenced miscounted advanced again);
}

sub check_the_check
{
	my $first = [ 1, 100, 100, 10, 20, 0 ];
	my $rewound = { rewinds => { dense => [ [ 50, 21, 29, 1 ] ] } };
	my $rewound_gently = { rewinds => { dense => [ [ 50, 21, 29, 0 ] ] } };
	my $fenced =
	  { fences => { 'dense/0' => [ [ 150, 25, undef ] ] } };

	foreach my $case (
		[ 'two ranges', '', {}, $first, [ 101, 200, 100, 30, 40, 0 ] ],
		[ 'the last id again', 'duplicates=1', {}, $first, [ 100, 100, 1, 30, 40, 0 ] ],
		[ 'an id from within', 'duplicates=1', {}, $first, [ 50, 50, 1, 15, 40, 0 ] ],
		[ 'a range around it', 'duplicates=1', {}, [ 50, 60, 11, 10, 20, 0 ], [ 1, 100, 100, 15, 40, 0 ] ],
		[ 'in the wrong order', 'misordered=1', {}, [ 101, 200, 100, 10, 20, 0 ], [ 1, 100, 100, 21, 40, 0 ] ],
		[ 'too few', 'miscounted=1', {}, [ 1, 100, 99, 10, 20, 0 ] ],
		[ 'too many', 'miscounted=1', {}, [ 1, 100, 101, 10, 20, 0 ] ],
		[ 'of another shard', 'miscounted=1', { shard => 1 }, [ 1, 100, 100, 10, 20, 0 ] ],
		[ 'above what was rewound by force', 'again=1', $rewound, $first, [ 51, 60, 10, 30, 40, 0 ] ],
		[ 'not above it', 'duplicates=1', $rewound, $first, [ 50, 60, 11, 30, 40, 0 ] ],
		[ 'of a row, by force', 'again=1', $rewound, [ 60, 60, 1, 10, 20, 1 ], [ 51, 60, 10, 30, 40, 0 ] ],
		[ 'of a row, not by force', 'duplicates=1 misordered=1', $rewound_gently, [ 60, 60, 1, 10, 20, 1 ], [ 51, 60, 10, 30, 40, 0 ] ],
		[ 'of no row', 'again=1', $rewound_gently, $first, [ 51, 60, 10, 30, 40, 0 ] ],
		[ 'before it was rewound', 'duplicates=1', $rewound, $first, [ 60, 70, 11, 11, 20, 0 ] ],
		[ 'above what was advanced to', '', { advances => { dense => [ [ 50, 9, 1 ] ] } }, [ 51, 60, 10, 10, 20, 0 ] ],
		[ 'not above it', 'advanced=1', { advances => { dense => [ [ 51, 9, 1 ] ] } }, [ 51, 60, 10, 10, 20, 0 ] ],
		[ 'below a bound, after it', 'fenced=1', $fenced, [ 101, 150, 50, 26, 40, 0 ] ],
		[ 'above a bound', 'fenced=1', $fenced, [ 151, 151, 1, 26, 40, 0 ] ],
		[ 'on both sides of it', 'fenced=1', $fenced, [ 150, 151, 2, 10, 20, 0 ] ])
	{
		my ($name, $expected, $happened, @ranges) = @$case;
		local $generators{dense}{fields}{shard} = { bits => 1, shift => 0 }
		  if delete $happened->{shard};

		is(verdict($happened, @ranges), $expected, "the check: $name");
	}
	return;
}

1;
