# Copyright (c) 2026, the flakeid developers

# No reader misses a row over a failover to a synchronous standby whose clock is behind:
# no bound that flake_settled() has given out is above what the standby has confirmed,
# even if nothing was committed since.  Prepared transactions hold bounds back on the new
# primary, too.  A standby that does not answer holds them back, until it is not waited
# for any more.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use TailClient;
use Test::More;
use Time::HiRes qw(usleep);

my $directory = PostgreSQL::Test::Utils::tempdir('tail');
my $clock = new_clock();
my $first = start_server(
	'first',
	clock => $clock,
	allows_streaming => 1,
	conf => q(
max_prepared_transactions = 20
max_connections = 60
log_statement = none
log_min_error_statement = panic
autovacuum = off
wal_sender_timeout = 0		# goes by the clock
wal_receiver_timeout = 0
flakeid.max_ahead = '20s'
),
	sql => "CREATE EXTENSION flakeid; $tail_tables");
append_to_file($first->data_dir . "/$copy_file", "$_\n") foreach 1 .. 100;

my $standby_clock = new_clock();
set_clock($standby_clock, -10);
my $second = start_standby($first, 'second', $standby_clock);

sub settled
{
	my ($session) = @_;

	return value($session, 'SELECT coalesce(flake_settled(), 0)');
}

#
# One id; then nobody commits anything, and bounds move on.
#

my $session = new_session($first);
my $other = new_session($first);
my $asking = new_session($first);
value($session, 'CREATE TABLE item (id bigint); INSERT INTO item VALUES (flake_id(1))');

# One that asks all the time, in a statement that began before there was a synchronous
# standby: it does not read the configuration.  Bounds are everybody's.
send_query($asking,
	'DO $$ BEGIN LOOP PERFORM flake_settled(); COMMIT; PERFORM pg_sleep(0.03); END LOOP; END $$');
$first->poll_query_until('postgres',
	q(SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ '^DO' AND state = 'active'))
  or die 'nobody asks';
change_setting($first, 'synchronous_standby_names', 'second');
my $began = settled($session);
wait_until(sub { settled($session) > $began + (1000 << 23) },
	'bounds move on with a synchronous standby');
pass('bounds move on where nobody commits');

# The standby does not answer.
my $receiver = $second->safe_psql('postgres', 'SELECT pid FROM pg_stat_wal_receiver');
kill 'STOP', $receiver;
my $stopped_at = time;
my $stuck = settled($session);
wait_until(sub {
	my $bound = settled($session);
	my $is_same = $bound == $stuck;

	$stuck = $bound;
	return $is_same && time - $stopped_at > 6;	# the horizon is not further ahead
}, 'bounds stand still');
my $answer = value($other, "SELECT application_name || ' ' || sync_state FROM pg_stat_replication");
is($answer, 'second sync', 'the standby is still connected');
usleep(500_000);
is(settled($session), $stuck, 'a standby that does not answer holds bounds back');
change_setting($first, 'synchronous_standby_names', '');
wait_until(sub { settled($session) > $stuck }, 'bounds move on');
pass('until it is not waited for');
value($session, q(SELECT flake_create_generator('ticket', 'seq:62 server:1 block=100')));
value($session, q(SELECT flake_advance('ticket', 1000)));
my $raised = value($session, q(SELECT flake_settled('ticket', 0)));
change_setting($first, 'synchronous_standby_names', 'second');
is(value($other, q(SELECT flake_settled('ticket', 0))), $raised, 'when it is waited for again, no bound goes back');
kill 'CONT', $receiver;
$stuck = settled($session);
wait_until(sub { settled($session) > $stuck + (1000 << 23) }, 'bounds move on');

# The primary dies as it is.  The standby has what it had confirmed.
kill 'STOP', $receiver;
usleep(500_000);
$stuck = settled($session);
kill9_and_wait($first);
$_->{run}->finish foreach $session, $other, $asking;
kill 'CONT', $receiver;
my $older = new_session($second);
value($older, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM item');
$second->promote;
change_setting($second, 'synchronous_standby_names', '');
$session = new_session($second);
my $id = value($session, 'SELECT flake_id(2)');
cmp_ok($id, '>', $stuck, 'after a failover ids are above the last bound, in an idle shard');
cmp_ok(settled($session), '>=', $stuck, 'and no bound is below it');
is(value($older, 'SELECT flake_settled()'), '', 'a snapshot of the standby does not see what is below a bound');
end_session($older);
$stuck = settled($session);
set_clock($standby_clock, 0);
wait_until(sub { settled($session) > $stuck }, 'bounds move on');
pass('without a synchronous standby bounds move on');
end_session($session);

#
# The same under load, with prepared transactions, by a standby that somebody has
# asked what is unsettled.
#

my $third_clock = new_clock();
set_clock($third_clock, -5);
my $third = start_standby($second, 'third', $third_clock);
change_setting($second, 'synchronous_standby_names', 'third');
$second->poll_query_until('postgres',
	q(SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync'))
  or die 'there is no synchronous standby';

name_primary($directory, 1, $second);
my @readers = ('one', 'any');
my %pid;
$pid{"reader $_"} = start_reader($directory, $_) foreach @readers;
$pid{"poller $_"} = start_poller($directory, $_) foreach 1;
$pid{"writer $_"} = start_writer($directory, $_) foreach 1 .. $writer_kinds;
usleep(2_000_000);
$third->safe_psql('postgres', 'SELECT * FROM flake_unsettled');
is((ask_once($third, 'SELECT flake_settled()'))[1] =~ /ERROR:  (\w+)/ ? $1 : '',
	'25006', 'there is no bound on a standby');
my $held = $second->safe_psql('postgres', q(
BEGIN;
INSERT INTO event VALUES (flake_id(77)) RETURNING id;
PREPARE TRANSACTION 'held';
));
usleep(2_000_000);
my $before = $second->safe_psql('postgres', 'SELECT flake_settled()');
cmp_ok($before, '<', $held, 'a prepared transaction holds bounds back');

kill9_and_wait($second);
$third->promote;
change_setting($third, 'synchronous_standby_names', '');
name_primary($directory, 2, $third);
usleep(1_500_000);
$session = new_session($third);

# Null while a transaction has minted from more generators than fit.
my $after;
wait_until(sub { $after = settled($session) }, 'a bound is known');
cmp_ok($after, '<', $held, 'and does so on the new primary');
cmp_ok($after, '>=', $before, 'where no bound is below an earlier one');
is( value($session, q(SELECT from_id <= ) . $held . q( FROM flake_unsettled WHERE prepared = 'held')),
	't', 'where it is shown');
value($session, q(COMMIT PREPARED 'held'));
wait_until(sub { settled($session) >= $held }, 'bounds move on after COMMIT PREPARED');
usleep(1_500_000);
end_session($session);

is(stop_processes(map { $pid{$_} } grep { /writer/ } sort keys %pid),
	$writer_kinds, 'the writers have run to the end');
foreach my $name (split /\n/,
	$third->safe_psql('postgres', 'SELECT gid FROM pg_prepared_xacts'))
{
	$third->safe_psql('postgres', "COMMIT PREPARED '$name'");
}
$third->poll_query_until('postgres', 'SELECT count(*) = 0 FROM flake_unsettled');
my $greatest = $third->safe_psql('postgres', 'SELECT max(id) FROM event');
$third->safe_psql('postgres', "SELECT flake_advance('flake_default', $greatest)");
wait_for_readers($directory, $greatest, @readers);
is(stop_processes(map { $pid{$_} } grep { !/writer/ } sort keys %pid),
	@readers + 1, 'so have the readers');

my @rows = split /\n/, $third->safe_psql('postgres', 'SELECT id FROM event ORDER BY id');
my %is_row = map { $_ => 1 } @rows;
foreach my $name (@readers)
{
	my $read = read_ids($directory, $name);
	my %is_read = map { $_ => 1 } @$read;

	is(scalar(grep { !$is_read{$_} } @rows), 0, "$name: no row is lost");
	is(first_descent($read), undef, "$name: in order, and each once");

	# Of sessions that wait for the standby, and find that the server has gone.
	note "$name: " . scalar(grep { !$is_row{$_} } @$read) . ' of ' . @$read . ' are not there any more';
}
my @polls = polls($directory, 1);
is_deeply([ grep { $polls[$_][0] < $polls[ $_ - 1 ][0] } 1 .. $#polls ],
	[], 'no bound is below an earlier one');

my ($errors, @unexpected) = tail_errors(
	$directory,
	{
		'57P01' => qr/./,
		'57P03' => qr/./,
		25006 => qr/./,
		42704 => qr/prepared transaction/,
		53400 => qr/^the clock|^cannot claim/
	});
note "errors: $errors";
is_deeply(\@unexpected, [], 'no errors but those that were to be expected');

$third->stop;
stop_killed($_) foreach $first, $second;
done_testing();
