# Copyright (c) 2026, the flakeid developers

# Layouts without time give dense numbers.  A crash skips no more than the block
# that was reserved, and most of a block costs the disk one write.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $clock = new_clock();
my $node = start_server(
	'main',
	allows_streaming => 1,
	clock => $clock,
	conf => q(
log_statement = none
max_connections = 40
wal_writer_delay = 10s		# what is not flushed on purpose, is not
),
	sql => 'CREATE EXTENSION flakeid');

sub query
{
	my ($sql) = @_;

	return $node->safe_psql('postgres', $sql);
}

sub create
{
	my ($name, $layout) = @_;

	query("SELECT flake_create_generator('$name', '$layout')");
	return;
}

# Numbers as they were handed out, by size.
sub sorted
{
	return [ sort { $a <=> $b } map { @$_ } @_ ];
}

# What is wrong with numbers, sorted ones, that ought to be all from the first
# to the last, each so much greater than the one before; undef if nothing is.
sub first_gap
{
	my ($numbers, $first, $step) = @_;
	my $expected = $first;

	foreach my $number (@$numbers)
	{
		return "$number where $expected should be" if $number != $expected;
		$expected += $step;
	}
	return undef;
}

#
# Sixteen sessions at once: each number is handed out, and once.
#

foreach my $case ([ 'dense', 'segment' ], [ 'small', 'seq:63 block=100' ])
{
	my ($name, $layout) = @$case;
	my @sessions = new_sessions($node, 16);
	my $one_by_one =
	  "SELECT flake_id(0, '$name') FROM generate_series(1, 500);";
	my @lists;

	create($name, $layout);
	ask($_, 'SELECT 1') foreach @sessions;
	send_query($_, $one_by_one x 8) foreach @sessions;
	foreach my $session (@sessions)
	{
		my ($stdout, $stderr) = get_answer($session);

		push @lists, [ split /\n/, $stdout ];
		is($stderr, '', "$layout: a session gets no error");
	}
	end_session(@sessions);

	my $sorted = sorted(@lists);
	is(scalar @$sorted, 16 * 8 * 500, "$layout: each call got a number");
	is(first_gap($sorted, 1, 1),
		undef, "$layout: 16 sessions at once, and no number is left out");
	is_deeply([ grep { defined } map { first_descent($_) } @lists ],
		[], "$layout: each session's numbers increase");

	# More at once than a block holds.
	my $next = @$sorted + 1;
	is( query(
			"SELECT count(*), min(id), max(id) FROM flake_ids(0, 25000, '$name') AS id"
		),
		'25000|' . $next . '|' . ($next + 24999),
		"$layout: more at once than a block holds");
	is( query("SELECT flake_id(0, '$name')"),
		$next + 25000,
		"$layout: and on after that");
}

#
# Crashes and restarts: no number repeats, at most a block is skipped, whether
# or not the transactions that took numbers commit.
#

my ($client_count, $batch) = (4, 10);
query('CREATE TABLE item (id bigint PRIMARY KEY)');

foreach my $case (
	[ 'crash_dense', 'segment', 10000, 10 ],
	[ 'crash_small', 'seq:63 block=100', 100, 10 ])
{
	my ($name, $layout, $block, $rounds) = @$case;
	my $mint = "SELECT flake_id(0, '$name') FROM generate_series(1, $batch)";
	my $load =
		"$mint; BEGIN; INSERT INTO item SELECT -i FROM ($mint) AS s (i)"
	  . ' RETURNING -id; ROLLBACK;';
	my $greatest = 0;
	my (@wrong, @skipped);

	create($name, $layout);
	foreach my $round (1 .. $rounds + 1)
	{
		my $restart = $round > $rounds;
		my $in_flight = $client_count * $batch;
		my @lists;

		if ($restart)
		{
			my $session = new_session($node);

			push @lists, [ split /\n/, (ask($session, $mint))[0] ];
			end_session($session);
			$in_flight = 0;
			$node->stop;
		}
		else
		{
			my @clients = start_clients(
				$node,
				count => $client_count,
				sql => $load);

			wait_for_more($_, 10 * $batch * $round) foreach @clients;

			# Clocks are nothing to it.
			set_clock($clock, -3600 * $round);
			kill9_and_wait($node);
			finish_clients(@clients);
			@lists = map { ids($_) } @clients;
		}
		start_with_clock($node, $clock);

		my $sorted = sorted(@lists);
		my $skipped = $sorted->[0] - $greatest - 1;
		my $missing = $sorted->[-1] - $sorted->[0] + 1 - @$sorted;

		push @wrong, "round $round: $sorted->[0] after $greatest"
		  if $skipped < 0;
		push @wrong, "round $round: $_"
		  foreach grep { defined } first_descent($sorted),
		  map { first_descent($_) } @lists;
		push @wrong, "round $round: $missing missing"
		  if $missing > $in_flight;

		# Those in flight in the crash before may be the last ones.
		push @wrong, "round $round: skipped $skipped"
		  if $skipped > $block + $client_count * $batch;
		push @skipped, $skipped;
		$greatest = $sorted->[-1];
	}
	is_deeply(\@wrong, [],
		"$layout: $rounds crashes, no number repeats, and no more than a block is skipped"
	);
	note "$layout: skipped @skipped";

	my $skipped = query("SELECT flake_id(0, '$name')") - $greatest - 1;
	cmp_ok($skipped, '>=', 0, "$layout: a restart repeats no number");
	cmp_ok($skipped, '<=', $block,
		"$layout: a restart skips no more than a block");

	# An error hands out nothing, and so leaves no gap.
	my $last = query("SELECT flake_id(0, '$name')");
	my ($status, $stdout, $stderr) =
	  $node->psql('postgres', "SELECT flake_ids(0, -1, '$name')");
	isnt($stderr, '', "$layout: an error");
	is(query("SELECT flake_id(0, '$name')"),
		$last + 1, "$layout: and no gap after it");
}
set_clock($clock, 0);

#
# Ticket servers: odd numbers from one server, even ones from the other.
#

my $other = start_server('other', sql => 'CREATE EXTENSION flakeid');

foreach my $case ([ $node, 1, 'odd' ], [ $other, 0, 'even' ])
{
	my ($server, $shard, $kind) = @$case;

	$server->safe_psql('postgres',
		q(SELECT flake_create_generator('ticket', 'ticket')));
	my @tickets = map {
		split /\n/,
		  $server->safe_psql('postgres',
			"SELECT flake_id($shard, 'ticket') FROM generate_series(1, 50)")
	} 1 .. 2;

	is(scalar @tickets, 100,
		"ticket servers: shard $shard hands out numbers");
	is(join(',', grep { $_ % 2 != $shard } @tickets),
		'', "ticket servers: all those of shard $shard are $kind");
	is(first_gap(\@tickets, 2 + $shard, 2),
		undef, "ticket servers: no number of shard $shard is left out");
}
$other->stop;

#
# How often the disk has to be waited for: a block is reserved whenever a
# quarter of the last one is left, and not in between.
#

create('counted', 'seq:63 block=10000');
query(q(SELECT flake_id(0, 'counted')));
my $start = query('SELECT pg_current_wal_insert_lsn()');
is( query(
		q(SELECT count(flake_id(0, 'counted')) FROM generate_series(1, 100000))
	),
	100000,
	'100,000 numbers one by one');
my $end = query('SELECT pg_switch_wal()');
my ($records) = run_command(
	[
		'pg_waldump', '--rmgr=Generic', '-p', $node->data_dir . '/pg_wal',
		'-s', $start, '-e', $end
	]);
my $count = () = $records =~ /^rmgr: Generic /mg;
cmp_ok($count, '<=', 15, '100,000 numbers take at most 15 WAL records')
  or diag $records;
cmp_ok($count, '>=', 10, 'and as many as there are blocks');

#
# Failover.
#

my $standby = start_standby($node, 'standby');

# While rows arrive, and after the last one has.
query('TRUNCATE item');
create('replicated', 'seq:63 block=100');
my @clients = start_clients(
	$node,
	count => 4,
	sql => q(INSERT INTO item SELECT flake_id(0, 'replicated'))
	  . ' FROM generate_series(1, 5) RETURNING id;');
wait_for_more($_, 500) foreach @clients;
stop_clients($node, @clients);
my $greatest =
  query(q(INSERT INTO item VALUES (flake_id(0, 'replicated')) RETURNING id));
$node->wait_for_catchup($standby, 'replay');
kill9_and_wait($node);
$standby->promote;

my $next = $standby->safe_psql('postgres',
	q(INSERT INTO item VALUES (flake_id(0, 'replicated')) RETURNING id));
cmp_ok($next, '>', $greatest, 'failover: no number repeats');
cmp_ok($next - $greatest - 1,
	'<=', 100, 'failover: no more than a block is skipped');
is( $standby->safe_psql(
		'postgres', q(SELECT string_agg(id::text, ',')
			FROM flake_ids(0, 3, 'replicated') AS id)),
	join(',', map { $next + $_ } 1 .. 3),
	'failover: dense from there');
$standby->stop;
stop_killed($node);

done_testing();
