# Copyright (c) 2026, the flakeid developers

# Twenty processes with the libraries for C, Python and Node.js mint from one generator,
# and eight SQL sessions do.  Their clocks differ by a minute.  Meanwhile they are killed,
# stopped and continued, and forked; the database is closed to them, and its server killed.
# No id is there twice, those of a minter ascend, and none is outside of its leases.
#
# Languages whose packages are not installed are left out; the library for C is always there.
#
# In the environment (make torture sets them to a minute and 50 million ids):
#
#   CLIENT_SECONDS  how long there are faults (6)
#   CLIENT_IDS      how many ids there have to be at least (100,000); it goes on until then
#   CLIENT_RATE     how many ids a second a process mints (4,000; 0: as many as it can)
#   CLIENT_SEED     for the order of the faults (random)

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeNode;
use FlakeRecipe;
use FlakeTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(sleep time);

my $seconds = $ENV{CLIENT_SECONDS} // 6;
my $least = $ENV{CLIENT_IDS} // 100_000;
my $rate = $ENV{CLIENT_RATE} // 4_000;
my $seed = $ENV{CLIENT_SEED} // int(rand(2**31));
srand($seed);
note("CLIENT_SECONDS=$seconds CLIENT_IDS=$least CLIENT_RATE=$rate CLIENT_SEED=$seed");

my $clients = "$FindBin::RealBin/../clients";
my $build = PostgreSQL::Test::Utils::tempdir('clients');
my $directory = PostgreSQL::Test::Utils::tempdir('ids');
my $layout = 'ts:41 shard:12 seq:10 epoch=2026-01-01';

local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
my ($built, $output) = run_in("$clients/c", 'make', '-s', "O=$build", 'CFLAGS=-O2', 'SANITIZE=',
	"$build/test/minter", "$build/test/check_ids");
ok($built, 'the programs in C compile') or BAIL_OUT($output);

sub imports
{
	return (eval { run_in('/', $_[0], '-c', 'import ' . $_[1]) })[0];
}

my %program = (c => ["$build/test/minter"]);
my ($python) = grep { imports($_, 'psycopg') || imports($_, 'psycopg2') } '/usr/bin/python3', 'python3';
$program{python} = [ $python, "$clients/python/tests/minter.py" ] if $python;
$program{node} = [ 'node', build_client() . '/test/minter.mjs' ] if node_packages();
my @languages = sort keys %program;
note("with @languages");

my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	conf => q(
log_statement = none
log_min_messages = fatal
max_connections = 100
fsync = off
flakeid.max_ahead = 1s		# what a shard waits for after a lease
),
	sql => qq(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('g', '$layout');
));
my $user = $node->safe_psql('postgres', 'SELECT current_user');
my $admin;

sub connect_admin
{
	$admin = new_session($node, 'template1');

	# A process can be gone before it is told to go.
	value($admin, 'SET client_min_messages = error');
	return;
}
connect_admin();
my %dsn = (
	c => $node->connstr('postgres') . " user=$user",
	python => $node->connstr('postgres') . " user=$user",
	node => database_url($node, 'postgres'));

#
# Minters.  Those whose clock is far off have long leases: they mint only in them.
#

my @offsets = (0, 0, 0, 1, -1, 0, -10, 50);
my %clock_of = map { $_ => new_clock() } @offsets;
set_clock($clock_of{$_}, $_) foreach keys %clock_of;

my @minters;
my $started = 0;

sub start_minter
{
	my ($n) = @_;
	my $language = $languages[ $n % @languages ];
	my $offset = $offsets[ $n % @offsets ];
	my $prefix = "$directory/minter" . $started++ . "_$language";
	my %environment = clock_environment($clock_of{$offset});

	append_to_file("$prefix.$_", '') foreach qw(ids log);
	local @ENV{ keys %environment } = values %environment if $offset != 0;
	my $run = IPC::Run::start(
		[
			@{ $program{$language} }, $dsn{$language}, 'g', abs($offset) > 1 ? 120 : 3,
			$prefix, $rate > 0 ? $rate : ()
		],
		'<', '/dev/null', '>&', "$prefix.out");
	return {
		prefix => $prefix,
		language => $language,
		run => $run,
		pid => $run->{KIDS}[0]{PID} };
}

#
# SQL sessions, with low shards: the highest are leased
#

my @sessions;

sub start_session
{
	my ($n) = @_;
	my $prefix = "$directory/session" . $started++;

	append_to_file("$prefix.sql", "SELECT flake_ids($n, 500, 'g') \\watch 0.05\n");
	append_to_file("$prefix.txt", '');
	my $run = IPC::Run::start(
		[ 'psql', '-XAtq', '-d', $dsn{c}, '-o', "$prefix.txt", '-f', "$prefix.sql" ],
		'<', '/dev/null', '>&', "$prefix.out");
	return { prefix => $prefix, run => $run, pid => $run->{KIDS}[0]{PID} };
}

@minters = map { start_minter($_) } 0 .. 19;
@sessions = map { start_session($_) } 0 .. 7;

sub count_ids
{
	my $bytes = 0;

	$bytes += -s $_ foreach glob "$directory/*.ids";
	return int($bytes / 8);
}

wait_until(
	sub { 20 == grep { -s "$_->{prefix}.log" } @minters },
	'all have begun');

#
# Faults
#

my %done;
my @stopped;

sub any_of { return $_[ int rand @_ ] }

sub restart
{
	my ($list, $start) = @_;
	my $n = int rand @$list;

	kill 'KILL', $list->[$n]{pid};
	$list->[$n]{run}->finish;
	@stopped = grep { $_->[0]{pid} != $list->[$n]{pid} } @stopped;
	$list->[$n] = $start->($n);
	return;
}

my %fault = (
	'a process killed' => sub { restart(\@minters, \&start_minter) },
	'a session killed' => sub { restart(\@sessions, \&start_session) },
	'a process stopped' => sub {
		my $minter = any_of(@minters);

		kill 'STOP', $minter->{pid};
		# Also beyond the end of a short lease
		push @stopped, [ $minter, time + rand(5) ];
	},
	'a process forked' => sub {
		my @forking = grep { $_->{language} ne 'node' } @minters;
		kill 'USR1', any_of(@forking)->{pid};
	},
	'connections ended' => sub {
		value($admin, q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity)
			  . q( WHERE datname = 'postgres' AND random() < 0.5));
	},
	'the database away' => sub {
		value($admin, 'ALTER DATABASE postgres ALLOW_CONNECTIONS false');
		value($admin, q(SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE datname = 'postgres'));
		sleep(rand($seconds > 30 ? 5 : 1.5));
		value($admin, 'ALTER DATABASE postgres ALLOW_CONNECTIONS true');
	},
	'the server killed' => sub {
		kill9_and_wait($node);
		eval { end_session($admin) };
		start_with_clock($node, $clock);
		connect_admin();
	});
my %weight = (
	'a process killed' => 10,
	'a session killed' => 4,
	'a process stopped' => 8,
	'a process forked' => 5,
	'connections ended' => 4,
	'the database away' => 2,
	'the server killed' => 1);
my @draw = map { ($_) x $weight{$_} } sort keys %weight;

sub continue_stopped
{
	my ($all) = @_;

	foreach my $pair (@stopped)
	{
		kill 'CONT', $pair->[0]{pid} if $all || $pair->[1] < time;
	}
	@stopped = $all ? () : grep { $_->[1] >= time } @stopped;
	return;
}

# Sessions whose connection was ended are started anew.
sub revive
{
	foreach my $n (0 .. $#sessions)
	{
		next if $sessions[$n]{run}->pumpable;
		$sessions[$n]{run}->finish;
		$sessions[$n] = start_session($n);
	}
	return;
}

# Each of them at least once, and then as it comes
my $end = time + $seconds;
foreach my $name (sort keys %fault)
{
	$fault{$name}->();
	$done{$name}++;
	sleep(0.1);
	continue_stopped(0);
}
while (time < $end || count_ids() < $least)
{
	my $name = any_of(@draw);

	$fault{$name}->();
	$done{$name}++;
	sleep(0.2 + rand(0.4));
	continue_stopped(0);
	revive();
	last if time > $end + 1800;
}
continue_stopped(1);
note(join ', ', map { "$_: $done{$_}" } sort keys %done);

# Forked children mint for two seconds.
sleep(2.5);
kill 'TERM', map { $_->{pid} } @minters;
my @ended_badly;
foreach my $minter (@minters)
{
	$minter->{run}->finish;

	# One that has just begun may not handle SIGTERM yet.
	my $status = ($minter->{run}->full_results)[0];
	push @ended_badly, "$minter->{prefix}: $status" unless $status == 0 || $status == 15;
}
is("@ended_badly", '', 'all end in good order');
foreach my $session (@sessions)
{
	kill "KILL", $session->{pid};
	$session->{run}->finish;
}

#
# Looking at the ids
#

my @children = glob "$directory/*.child*.log";
my $forked = 0;
my $minted_with_parents = 0;
foreach my $log (glob "$directory/*.log")
{
	my $text = slurp_file($log);
	$forked++ while $text =~ /^child Forked$/mg;
	$minted_with_parents++ while $text =~ /^child minted/mg;
}
cmp_ok($forked, '>', 0, 'children were refused by the minters of their parents');
is($minted_with_parents, 0, 'and minted nothing with them');

my @prefixes = map { s/\.(ids|txt)$//r } glob "$directory/*.ids $directory/*.txt";
my ($stdout, $stderr) = ('', '');
ok( IPC::Run::run([ "$build/test/check_ids", $layout, @prefixes ], '>', \$stdout, '2>', \$stderr),
	'no id is there twice, those of a minter ascend, none is outside of its leases')
  or diag($stderr);
note($stdout);
my ($count) = $stdout =~ /^(\d+) ids/;
cmp_ok($count // 0, '>=', $least, 'there are as many as there have to be');
foreach my $language (@languages)
{
	my $ids = 0;
	$ids += -s $_ foreach glob "$directory/*_$language.ids";
	cmp_ok($ids, '>', 0, "$language has minted");
	note("$language: " . $ids / 8);
}

# A line that shows that the check sees what it looks for
my ($largest) = sort { -s $b <=> -s $a } glob "$directory/minter*.ids";
(my $copy = $largest) =~ s/\.ids$/_again/;
append_to_file("$copy.ids", slurp_file($largest));
append_to_file("$copy.log", slurp_file($largest =~ s/ids$/log/r));
($stdout, $stderr) = ('', '');
ok(!IPC::Run::run([ "$build/test/check_ids", $layout, $copy, $largest =~ s/\.ids$//r ],
		'>', \$stdout, '2>', \$stderr),
	'the check sees ids that are there twice');
like($stderr, qr/^\d+ is there twice$/, 'and says which');

eval { end_session($admin) };
$node->stop;
done_testing();
