# Copyright (c) 2026, the flakeid developers

# The library for C keeps the rules of docs/clients.md: it is built and installed, its own
# tests pass, and with a real server its ids are unique, in order and of its leases, whatever
# happens to the process, the server, the lease and the clock.
#
# CLIENT_CRASHES is how many processes crash in a loop (30).  CLIENT_SANITIZE is a sanitizer of
# gcc's to build with: thread, or address.  CLIENT_UNIT_TESTS leaves out all that takes a server,
# where connecting takes seconds.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

my $source = "$FindBin::RealBin/../clients/c";
my $build = PostgreSQL::Test::Utils::tempdir('client_c');

#
# It is built, and its own tests pass.
#

sub run_ok
{
	my ($name, @command) = @_;
	my ($stdout, $stderr) = ('', '');

	my $result = IPC::Run::run([@command], '<', '/dev/null', '>', \$stdout, '2>', \$stderr);
	ok($result, $name) or diag("$stdout$stderr");
	return $stdout;
}

my @make = ('make', '-s', '-C', $source, "O=$build", "PREFIX=$build/installed", 'CFLAGS=-O1',
	'SANITIZE=' . ($ENV{CLIENT_SANITIZE} // ''));
# libfaketime is loaded before it, and a child makes threads.
local $ENV{ASAN_OPTIONS} = 'verify_asan_link_order=0';
local $ENV{TSAN_OPTIONS} = 'die_after_fork=0';
run_ok('it compiles', @make, '-j2', 'all',
	map { "$build/test/$_" } qw(unit threads vectors handles minter ask));
run_ok('its tests pass', @make, 'check');
run_ok('it is installed', @make, 'install');
if ($ENV{CLIENT_UNIT_TESTS})
{
	done_testing();
	exit;
}

my $node = start_server(
	'main',
	conf => $may_have_standbys . q(
log_statement = none
max_connections = 50
flakeid.max_ahead = 1s		# what a shard waits for after a lease
),
	sql => q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('public.process_id', 'ts:41 shard:10 seq:4 epoch=2020-01-01');
SELECT flake_create_generator('public.few', 'ts:41 shard:1 seq:10 epoch=2020-01-01');
SELECT flake_create_generator('public.slow', 'ts:41 shard:10 seq:1 epoch=2020-01-01 unit=1s start=zero');
SELECT flake_create_generator('public.over', 'ts:31 shard:10 seq:10 epoch=2010-01-01');
SELECT flake_create_generator('public.counter', 'segment');
SELECT flake_create_generator('public.no_shards', 'simpleflake');
CREATE TABLE some_table ();
CREATE ROLE app LOGIN;
CREATE ROLE minter LOGIN;
GRANT EXECUTE ON FUNCTION flake_lease, flake_renew, flake_release TO app, minter;
GRANT USAGE ON SEQUENCE process_id, slow TO minter;
ALTER ROLE minter SET lock_timeout = '100 ms';
ALTER ROLE minter SET search_path = nowhere;
));
my $dsn = $node->connstr('postgres');

sub shell
{
	return (run_ok(@_) =~ /^(.+)$/mg);
}

# Not with a sanitizer: the example is built without it.
unless ($ENV{CLIENT_SANITIZE})
{
	open my $readme, '<', "$source/README.md" or die $!;
	my $text = do { local $/; <$readme> };
	my ($example) = $text =~ /<!-- test: example -->\n```c\n(.*?)```/s;
	my ($command) = $text =~ /^    (cc -o example .*)$/m;

	append_to_file("$build/example.c", $example);
	local $ENV{PKG_CONFIG_PATH} = "$build/installed/lib/pkgconfig";
	local $ENV{LD_LIBRARY_PATH} = "$build/installed/lib";
	run_ok('the example of the README compiles', 'sh', '-c', "cd $build && $command");
	my @ids = shell('it runs', "$build/example", $dsn);
	is(scalar @ids, 3, 'and prints three ids');
	is(first_descent(\@ids), undef, 'that ascend');
	is( $node->safe_psql('postgres',
			'SELECT count(*) FROM flake_leases WHERE expires_at > clock_timestamp()'),
		0,
		'its lease was given back');
}

#
# Errors, by their classes
#

# What test/ask prints, with environment variables
sub ask_for
{
	my ($conninfo, $options, %environment) = @_;
	my ($stdout, $stderr);

	local @ENV{ keys %environment } = values %environment if %environment;
	IPC::Run::run([ "$build/test/ask", $conninfo, split / /, $options ],
		'<', '/dev/null', '>', \$stdout, '2>', \$stderr);
	return $stdout . $stderr;
}

my $clock = new_clock();

sub with_clock
{
	my ($seconds) = @_;

	set_clock($clock, $seconds);
	return clock_environment($clock);
}

$node->safe_psql('postgres', 'CREATE DATABASE empty');
like(ask_for("host=/nonexistent", 'timeout=0'), qr/^NotConnected -- .*reached/, 'no server');
like(ask_for($node->connstr('nothing'), 'timeout=0'), qr/^NotConnected -- .*nothing/, 'no database');
like(ask_for('nonsense', ''), qr/^open InvalidArgument -- /, 'no connection string');
like(ask_for($dsn, 'ttl=0.5'), qr/^open InvalidArgument -- ttl/, 'ttl');
like(ask_for($dsn, 'max_ahead=3601'), qr/^open InvalidArgument -- max_ahead/, 'max_ahead');
like(ask_for($dsn, 'owner=' . 'x' x 231), qr/^open InvalidArgument -- owner/, 'owner');
like(ask_for($node->connstr('empty'), ''),
	qr/^open NotInstalled -- .*CREATE EXTENSION/, 'no extension');
like(ask_for($dsn, 'generator=nothing'), qr/^open NoGenerator 42P01 /, 'no generator');
like(ask_for($dsn, 'generator=elsewhere.public.few'), qr/^open NoGenerator 0A000 /, 'of another database');
like(ask_for($dsn, 'generator=some_table'), qr/^open NoGenerator 42809 /, 'a table');
like(ask_for($dsn, 'generator=counter'), qr/^open UnsupportedLayout -- .*no time/, 'no time');
like(ask_for($dsn, 'generator=no_shards'), qr/^open UnsupportedLayout -- .*no shards/, 'no shards');
like(ask_for($dsn, 'generator=flake_default_uuidv7'), qr/^open UnsupportedLayout -- .*UUIDs/, 'UUIDs');
like(ask_for("$dsn user=app", 'generator=process_id'),
	qr/^open NotPermitted 42501 .*Grant/, 'no right to mint');
like(ask_for($dsn, 'generator=over timeout=0'), qr/^LifetimeOver 22003 /, 'the lifetime is over');
like(ask_for($dsn, 'generator=slow max_ahead=2 timeout=0 count=9'),
	qr/^TooFarAhead -- .*try again in/m, 'too far ahead');
like(ask_for($dsn, 'generator=slow max_ahead=120 timeout=5 count=70'), qr/\A(?:\d+\n){70}\z/,
	'a lease that is used up to its end is renewed before its time');
like(ask_for($dsn, 'timeout=0', with_clock(-3600)), qr/^NotYet -- .*35..\.\d+ s/, 'not yet');
like(ask_for($dsn, 'timeout=0', with_clock(3600)),
	qr/^LeaseExpired -- .*clock is 35..\.\d+ s past/, 'a clock that is ahead');
set_clock($clock, 0);
$node->safe_psql('postgres',
	q(SELECT flake_lease(n::text, '1 hour', 'few') FROM generate_series(1, 2) n));
like(ask_for($dsn, 'generator=few timeout=0'),
	qr/^NoShardLeft 53400 .*taken over at/, 'no shard is left');

{
	my $session = new_session($node);
	value($session, 'BEGIN; LOCK TABLE flake_leases');
	like(ask_for("$dsn user=minter", 'generator=public.process_id timeout=0'),
		qr/^ServerError 55P03 /, 'another error of the server');
	end_session($session);
}
like(ask_for("$dsn user=minter", 'generator=public.process_id'), qr/^\d+$/,
	'the extension is found whatever search_path is');

#
# Prefetch
#

{
	my @ids = split /\n/, ask_for($dsn, 'shard=7 batch=10 count=95');

	is(scalar(grep { /^\d+$/ && shard_of($_) == 7 } @ids), 95, 'ids of the shard, in batches');
	is(first_descent(\@ids), undef, 'ids of one session ascend');
	cmp_ok($node->safe_psql('postgres', 'SELECT flake_id(7)'), '>', $ids[-1],
		'the database goes on above them');
	@ids = split /\n/, ask_for($dsn, 'shard=7 batch=10 count=2 pause=0.3 expires=0.1');
	cmp_ok(($ids[1] & 1023) - ($ids[0] & 1023), '>=', 10, 'old ids are thrown away');
	my $issued = sub { $node->safe_psql('postgres', 'SELECT issued FROM flake_stat WHERE shard = 6') };
	ask_for($dsn, 'shard=6 batch=10 count=1 timeout=0 pause=0.5 expires=0.001');
	cmp_ok($issued->(), '<=', 30, 'what expires at once is not fetched all the time');
	like(ask_for($dsn, 'shard=8191 timeout=0'), qr/^ServerError 55000 /, 'a leased shard');
	like(ask_for($dsn, 'shard=99999 timeout=0'), qr/^ServerError 22003 /, 'no such shard');
	$node->safe_psql('postgres',
		'REVOKE EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text) FROM PUBLIC');
	like(
		ask_for("$dsn user=app", 'shard=7 timeout=0'),
		qr/^open NotPermitted 42501 .*pg_logical_emit_message .*Grant EXECUTE on flake_ids and pg_logical_emit_message\(/,
		'no right to emit messages');
	$node->safe_psql('postgres',
		'GRANT EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text) TO PUBLIC');
	like(ask_for($dsn, 'shard=7 batch=0'), qr/^open InvalidArgument -- batch/, 'batch');
	while_standby_is_away($node,
		sub { like(ask_for($dsn, 'shard=7 count=1 timeout=1 die=1'), qr/^NotConnected -- /, 'no id that a failover could forget') });
}

#
# Processes that mint, and what can happen to them
#

my @minters;

sub start_minter
{
	my ($ttl, $rate, %environment) = @_;
	my $minter = { prefix => "$build/minter" . @minters };

	local @ENV{ keys %environment } = values %environment if %environment;
	$minter->{run} = IPC::Run::start(
		[ "$build/test/minter", $dsn, 'public.process_id', $ttl, $minter->{prefix}, $rate ],
		'<', '/dev/null');
	$minter->{pid} = $minter->{run}{KIDS}[0]{PID};
	push @minters, $minter;
	return $minter;
}

sub log_of
{
	my ($prefix) = @_;

	return -e "$prefix.log" ? slurp_file("$prefix.log") : '';
}

sub ids_of
{
	my ($prefix) = @_;

	return [ -e "$prefix.ids" ? unpack('q<*', slurp_file("$prefix.ids")) : () ];
}

sub shard_in
{
	my ($id) = @_;

	return $id >> 4 & 1023;
}

# Waits for so many lines that match.
sub wait_for_log
{
	my ($minter, $pattern, $number) = @_;

	return wait_until(
		sub { ($number // 1) <= (() = log_of($minter->{prefix}) =~ /$pattern/mg) },
		"$minter->{prefix} says $pattern");
}

sub wait_for_minting
{
	my ($minter) = @_;
	my $before = @{ ids_of($minter->{prefix}) };

	wait_until(sub { @{ ids_of($minter->{prefix}) } > $before + 3 }, 'ids are minted');
	return;
}

sub stop_minter
{
	my ($minter, $signal) = @_;

	$minter->{run}->signal($signal // 'TERM');
	$minter->{run}->finish;
	return;
}

my $steady = start_minter(300, 500);
my $fast = start_minter(5, 0);
my $clocked = start_minter(30, 500, clock_environment($clock));
my $stopped = start_minter(1, 500);
wait_for_minting($_) foreach @minters;

# It is stopped past the end of its lease.
kill 'STOP', $stopped->{pid};
my $stopped_at = Time::HiRes::time();

# A session that is cut off is noticed at once, long before the renewal is due.
$node->safe_psql('postgres',
	q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'));
wait_for_log($steady, '^renewed');

# One that is cut off again and again renews once a second.
{
	my $before = () = log_of($steady->{prefix}) =~ /^renew/mg;

	$node->safe_psql('postgres', q(
DO $$
BEGIN
	FOR i IN 1 .. 40
	LOOP
		PERFORM pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE pid <> pg_backend_pid() AND backend_type = 'client backend' AND state = 'idle';
		PERFORM pg_stat_clear_snapshot(), pg_sleep(0.04);
	END LOOP;
END $$));
	my $after = () = log_of($steady->{prefix}) =~ /^renew/mg;
	cmp_ok($after - $before, '<=', 4, 'a connection that breaks again and again is not asked all the time');
}

# The parent's minter is not the child's.
kill 'USR1', $steady->{pid};
wait_for_log($steady, '^child Forked$');

# The clock of one is set.
foreach my $offset (5, -5, 10)
{
	set_clock($clock, $offset);
	wait_for_minting($clocked);
}
set_clock($clock, -60);
wait_until(
	sub {
		my $before = @{ ids_of($clocked->{prefix}) };
		Time::HiRes::usleep(200_000);
		return $before == @{ ids_of($clocked->{prefix}) };
	},
	'no ids are minted');
pass('a clock that goes back by more than max_ahead stops minting');
set_clock($clock, 0);
wait_for_minting($clocked);

# A lease is lost.
$node->safe_psql('postgres', q(DELETE FROM flake_leases WHERE expires_at > now() + interval '20 s'));
$node->safe_psql('postgres',
	q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'));
wait_for_log($steady, '^lost$');
wait_for_log($steady, '^leased', 2);
wait_for_minting($steady);

Time::HiRes::usleep(10_000) while Time::HiRes::time() < $stopped_at + 1.2;
my $ids_before = @{ ids_of($stopped->{prefix}) };
kill 'CONT', $stopped->{pid};
wait_for_log($stopped, '^leased', 2);
like(log_of($stopped->{prefix}), qr/^lost$/m, 'the lease was over when it went on');

# The database is away.
my $short = start_minter(2, 500);
wait_for_log($short, '^leased');
wait_for_minting($short);
$node->stop('immediate');
wait_for_log($short, '^renew_failed -- .*reached');
wait_for_minting($steady);
wait_for_log($short, '^lost$');
wait_for_log($short, '^error LeaseExpired .*since \d{4}-.*Z: .*reached');
wait_until(sub { log_of($short->{prefix}) =~ /^lost\n(?:error .*\n)*renew_failed /m },
	'an attempt to lease anew that fails is told');
$node->start;
wait_for_log($short, '^leased', 2);
wait_for_minting($short);

# In good order, and not
stop_minter($_) foreach $steady, $short, $clocked, $stopped;
like(log_of($_->{prefix}), qr/^released$/m, 'a lease is given back at the end')
  foreach $steady, $short;
stop_minter($fast, 'KILL');

# The child has ended by itself.
my @prefixes = map { s/\.ids\z//r } glob "$build/minter*.ids";
is(scalar(grep { /\.child/ } @prefixes), 1, 'a child had a minter of its own');
my $child = (grep { /\.child/ } @prefixes)[0];
like(log_of($child), qr/^leased /m, 'and a lease');

#
# All of their ids
#

my ($total, @wrong, %at) = (0);
foreach my $prefix (@prefixes)
{
	my $ids = ids_of($prefix);
	my @leases;

	foreach my $line (split /\n/, log_of($prefix))
	{
		push @leases, [ $1, $2, $3 ] if $line =~ /^leased (\d+) (\d+) (\d+)$/;
		$leases[-1][2] = $1 if $line =~ /^renewed (\d+)$/ && $leases[-1][2] < $1;
	}
	$total += @$ids;
	cmp_ok(scalar @$ids, '>', 0, "$prefix has ids") or next;
	my $previous = -1;
	foreach my $id (@$ids)
	{
		my $packed = ($id >> 14 << 4) | ($id & 15);

		push @wrong, "$prefix: $id does not ascend" if $packed <= $previous;
		$previous = $packed;
	}
	# The lists are long: look for another lease only where one ends.
	my $lease;
	foreach my $id (@$ids)
	{
		my ($shard, $time) = (shard_in($id), ($id >> 14) * 1000 + 1577836800_000_000);
		my $is_in = sub { $_[0][0] == $shard && $_[0][1] <= $time && $time < $_[0][2] };

		next if defined $lease && $is_in->($lease);
		($lease) = grep { $is_in->($_) } @leases;
		push @wrong, "$prefix: $id is not of a lease" unless defined $lease;
	}
}
is_deeply(\@wrong, [], 'ids ascend, and are of leases');
is(first_duplicate(map { ids_of($_) } @prefixes), undef, "none of $total ids comes twice");

#
# Crashes in a loop do not use up the shards.
#

my $crashes = $ENV{CLIENT_CRASHES} // 30;
$node->safe_psql('postgres',
	"SELECT flake_create_generator('public.crashing', 'ts:41 shard:8 seq:12 epoch=2020-01-01')");
my @crashed =
  map { split /\n/, ask_for($dsn, 'generator=crashing first_ttl=1 die=1') } 1 .. $crashes;
is(scalar(grep { /^\d+$/ } @crashed), $crashes, "$crashes processes that crash have each minted");
is(first_duplicate(\@crashed), undef, 'no id comes twice');
$node->stop;
done_testing();
