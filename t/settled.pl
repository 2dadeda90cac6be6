# Copyright (c) 2026, the flakeid developers

# Whoever reads on from the last id that he has seen, up to flake_settled(), sees every
# row once and in the order of ids, whatever writers do meanwhile, and whatever
# happens to the server and its clock.  No bound is below an earlier one.  Whoever reads
# on without the bound loses rows: the counts of both are shown.
#
# In the environment:
#   SETTLED_SECONDS   how long there are faults, by default 16: each once or twice

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use TailClient;
use Test::More;
use Time::HiRes qw(usleep time);

my $seconds = $ENV{SETTLED_SECONDS} || 16;
my $directory = PostgreSQL::Test::Utils::tempdir('tail');
my $clock = new_clock();
my $node = start_server(
	'primary',
	clock => $clock,
	conf => q(
max_prepared_transactions = 20
max_connections = 60
log_statement = none
log_min_error_statement = panic
restart_after_crash = on
autovacuum = off			# it goes by the clock
flakeid.max_ahead = '4s'
flakeid.max_wait = '500ms'
),
	sql => "CREATE EXTENSION flakeid; $tail_tables");
append_to_file($node->data_dir . "/$copy_file", "$_\n") foreach 1 .. 100;

# One request that may fail, as long as it comes to pass in the end.
sub insist
{
	my ($sql) = @_;

	wait_until(sub { (ask_once($node, $sql))[1] !~ /ERROR|FATAL|error/ }, $sql);
	return;
}

#
# The faults.
#

my $offset = 0;

sub step_clock
{
	my ($to) = @_;

	$offset = $to;
	set_clock($clock, $offset);
	return;
}

# Both ways.
sub clock_steps
{
	foreach my $to (2, -10, -1, 3, 0)
	{
		step_clock($to);
		usleep(400_000);
	}
	return;
}

sub kill_backend
{
	my ($stdout) = ask_once($node,
		"SELECT pid FROM pg_stat_activity WHERE application_name LIKE 'writer%' ORDER BY random() LIMIT 1");

	kill9_session($node, $stdout) if $stdout =~ /^\d+$/;
	return;
}

# The clock is behind afterwards.
sub kill_server
{
	kill9_and_wait($node);
	step_clock(-10);
	start_with_clock($node, $clock);
	wait_until_up($node);
	usleep(700_000);
	step_clock(0);
	return;
}

# With prepared transactions, which the writers finish later.
sub restart
{
	$node->stop('fast');
	step_clock(-5);
	start_with_clock($node, $clock);
	wait_until_up($node);
	step_clock(0);
	return;
}

sub detach_and_attach
{
	foreach my $shard (1, 3, 13)
	{
		insist("SELECT flake_detach($shard)");
		usleep(100_000);
		insist("SELECT flake_attach($shard)");
	}
	return;
}

# Generators of the extension, and those that depend on it.
sub replace_extension
{
	insist('BEGIN; DROP EXTENSION flakeid CASCADE; CREATE EXTENSION flakeid; COMMIT');
	return;
}

my @faults = (
	[ 'clock steps' => \&clock_steps ],
	[ 'a process killed' => \&kill_backend ],
	[ 'detached, attached' => \&detach_and_attach ],
	[ 'server killed' => \&kill_server ],
	[ 'the extension replaced' => \&replace_extension ],
	[ 'restarted' => \&restart ]);

#
# The storm.
#

name_primary($directory, 1, $node);
my @readers = ('one', 'tail', 'any', 'cursor');
my %pid;
$pid{"reader $_"} = start_reader($directory, $_) foreach @readers, 'naive';
$pid{"poller $_"} = start_poller($directory, $_) foreach 1, 2;
$pid{"writer $_"} = start_writer($directory, $_) foreach 1 .. $writer_kinds;

# Cancels a writer's statement, or ends its session, now and then.
sub disturb_writers
{
	my ($until) = @_;

	while (time < $until)
	{
		my $function = rand() < 0.6 ? 'pg_cancel_backend' : 'pg_terminate_backend';

		ask_once($node,
			"SELECT $function(pid) FROM pg_stat_activity WHERE application_name LIKE 'writer%'"
			  . " ORDER BY state = 'active' DESC, random() LIMIT 1");
		usleep(150_000);
	}
	return;
}

my $end = time + $seconds;
my %done;
my $i = 0;
while ($i < @faults || time < $end)
{
	disturb_writers(time + ($seconds < 60 ? $seconds / 14 : 5));
	my ($name, $fault) = @{ $faults[ $i++ % @faults ] };
	$fault->();
	$done{$name}++;
}
disturb_writers(time + 1);
note join ', ', map { "$_ $done{$_}" } sort keys %done;

is(stop_processes(map { $pid{$_} } grep { /writer/ } sort keys %pid),
	$writer_kinds, 'the writers have run to the end');

# What they have left, and what is ahead of the clock.
foreach my $name (split /\n/,
	$node->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'))
{
	$node->safe_psql('postgres', "COMMIT PREPARED '$name'");
}
my $greatest = $node->safe_psql('postgres', 'SELECT max(id) FROM event');

# The clock may have been set back: it is refused until the ids are near enough.
ok( $node->poll_query_until(
		'postgres', "SELECT true FROM flake_advance('flake_default', $greatest)"),
	'the generator can be raised above all ids');
ok( $node->poll_query_until('postgres', 'SELECT count(*) = 0 FROM flake_unsettled'),
	'nobody holds anything back in the end');
$node->poll_query_until('postgres',
	"SELECT position = $greatest FROM reader WHERE name = 'cursor'");
wait_for_readers($directory, $greatest, grep { $_ ne 'cursor' } @readers);
wait_for_readers($directory, $node->safe_psql('postgres',
		"SELECT max(id) FROM event WHERE flake_shard(id) <> $ahead_shard"), 'naive');
is(stop_processes(map { $pid{$_} } grep { !/writer/ } sort keys %pid),
	@readers + 3, 'so have the readers');

#
# What came of it.
#

my @rows = split /\n/, $node->safe_psql('postgres', 'SELECT id FROM event ORDER BY id');
my %is_row = map { $_ => 1 } @rows;
my %read = map { $_ => read_ids($directory, $_) } 'one', 'tail', 'any', 'naive';
$read{cursor} = [ split /\n/,
	$node->safe_psql('postgres', q(SELECT id FROM seen WHERE name = 'cursor' ORDER BY n)) ];

my $lost_with_bound = 0;
foreach my $name (@readers)
{
	my %is_read = map { $_ => 1 } @{ $read{$name} };
	my $lost = grep { !$is_read{$_} } @rows;

	$lost_with_bound += $lost;
	is($lost, 0, "$name: no row is lost");
	is(scalar(grep { !$is_row{$_} } @{ $read{$name} }), 0, "$name: nothing else is read");
	is(first_descent($read{$name}), undef, "$name: in order, and each once");
}
my %naive = map { $_ => 1 } @{ $read{naive} };
my @naive_rows = grep { shard_of($_) != $ahead_shard } @rows;
my $lost = grep { !$naive{$_} } @naive_rows;
diag sprintf '%d rows; lost with the bound: %d, without it: %d of %d', scalar @rows,
  $lost_with_bound, $lost, scalar @naive_rows;
cmp_ok($lost, '>', 0, 'who reads on without the bound loses rows');
note 'in how many ways "any" has read: ' . slurp_file("$directory/any.used");

# How many rows are up to a bound was known when it was given out.
foreach my $name (1, 2)
{
	my @polls = polls($directory, $name);
	my @wrong;
	my $n = 0;

	foreach my $poll (sort { $a->[0] <=> $b->[0] } @polls)
	{
		my ($bound, $count) = @$poll;

		$n++ while $n < @rows && $rows[$n] <= $bound;
		push @wrong, "$count rows up to $bound, later $n" if $count != $n;
	}
	is_deeply(\@wrong, [], "all rows up to a bound are there, poller $name");
	is_deeply([ grep { $polls[$_][0] < $polls[ $_ - 1 ][0] } 1 .. $#polls ],
		[], "no bound is below an earlier one, poller $name");
	note scalar(@polls) . ' polls';
}

# Those that such faults lead to.
my ($errors, @unexpected) = tail_errors(
	$directory,
	{
		57014 => qr/due to user request/,
		'57P01' => qr/./,
		'57P02' => qr/./,
		'57P03' => qr/./,
		53400 => qr/^the clock|^cannot claim/,
		55000 => qr/^shard N is detached|^generator/,
		# The generators of the replaced extension.
		'42P01' => qr/other_|generator with OID|does not exist/,
		42704 => qr/prepared transaction/,
		'42883' => qr/flake/,
		'40P01' => qr/deadlock/,
		'XX000' => qr/cache lookup failed/
	});
note "errors: $errors";
is_deeply(\@unexpected, [], 'no errors but those that were to be expected');
is_deeply(
	[
		grep { /PANIC:|TRAP:|was terminated by signal (?!9\b)/ } split /\n/,
		slurp_file($node->logfile)
	],
	[],
	'no crash but those asked for');

$node->stop;
done_testing();
