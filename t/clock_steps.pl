# Copyright (c) 2026, the flakeid developers

# No id repeats and ids stay in order when the server's clock is set.  The clock
# goes back and forth while eight sessions mint, goes further than
# flakeid.max_ahead allows, stands still, and passes the end of the layout's time.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);

my $minute = 60;
my $hour = 60 * $minute;
my $day = 24 * $hour;

my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	conf => "log_statement = none\nflakeid.max_jump = -1",    # clock_guard.pl is for that
	sql => q(
CREATE EXTENSION flakeid;
CREATE SEQUENCE ticket;
));

sub every_client_mints
{
	my (@clients) = @_;

	wait_for_more($_, 200) foreach @clients;
	return;
}

# That every promise about the ids themselves was kept.
sub check_ids
{
	my ($when, @clients) = @_;

	is(first_duplicate(map { ids($_) } @clients),
		undef, "$when: no id is handed out twice");
	is(first_misordered(map { records($_) } @clients),
		undef,
		"$when: ids of a shard increase in the order of being handed out");
	is_deeply([ grep { defined } map { first_decrease(ids($_)) } @clients ],
		[], "$when: each session's ids strictly increase");
	return;
}

#
# Eight sessions, and the settings as they are out of the box: to 15 s behind,
# minting goes on; further behind, there are errors, never wrong ids.
#

my @clients = start_clients($node, count => 8, sql => minting_sql(1, 2));

# Sets the clock to where there must be errors, waits until each client has
# got some, and returns all that they have got meanwhile.
sub errors_at
{
	my ($seconds) = @_;
	my @before = map { scalar errors($_) } @clients;

	set_clock($clock, $seconds);
	foreach my $i (0 .. $#clients)
	{
		wait_until(sub { errors($clients[$i]) > $before[$i] + 2 },
			"client $i gets errors");
	}

	# The clock was set once, so no error is about an earlier setting.
	return
	  map { (errors($clients[$_]))[ $before[$_] .. $before[$_] + 2 ] }
	  0 .. $#clients;
}

# That those errors name that distance.  The distance was greatest when the
# clock was set, a little less when each error came.
sub check_errors
{
	my ($distance, $name, @errors) = @_;
	my @wrong = grep {
		!(  /^53400: the clock is (\d+\.\d{3}) s behind the next id of shard [12]$/
			&& $1 > 15
			&& $1 <= $distance + 1)
	} @errors;

	is_deeply(\@wrong, [], $name);
	return;
}

every_client_mints(@clients);
set_clock($clock, -5);
every_client_mints(@clients);
set_clock($clock, 0);
every_client_mints(@clients);
is_deeply([ map { errors($_) } @clients ],
	[], 'clock set back 5 s: minting goes on, within flakeid.max_ahead');

check_errors($minute,
	'clock set back 1 min: an error that names the distance',
	errors_at(-$minute));
set_clock($clock, 0);
every_client_mints(@clients);
pass('clock right again after 1 min: minting goes on');

check_errors($hour, 'clock set back 1 h: an error that names the distance',
	errors_at(-$hour));
set_clock($clock, 0);
every_client_mints(@clients);
pass('clock right again after 1 h: minting goes on');

set_clock($clock, $day);
every_client_mints(@clients);
pass('clock set forward 1 day: minting goes on');
check_errors($day,
	'clock set back from there: an error that names the distance',
	errors_at(0));

is( $node->safe_psql(
		'postgres',
		'SELECT shard FROM flake_stat WHERE clock_steps_back > 0 ORDER BY 1'),
	"1\n2",
	'flake_stat counts that the clock was set back'
) or diag $node->safe_psql('postgres', 'SELECT * FROM flake_stat');
stop_clients($node, @clients);
check_ids('clock set back and forth', @clients);

#
# The same with flakeid.max_ahead so large that ids are really minted while the
# clock is far behind.  (The shards of before are a day ahead by now.)
#

change_setting($node, 'flakeid.max_ahead', '25h');
@clients = start_clients($node, count => 8, sql => minting_sql(3, 4));
every_client_mints(@clients);
foreach my $seconds (-5, -$minute, -$hour, 0, $day, -5, $day, 0)
{
	set_clock($clock, $seconds);
	every_client_mints(@clients);
}
stop_clients($node, @clients);
is_deeply([ grep { !/^57P01/ } map { errors($_) } @clients ],
	[], 'minting with the clock 1 day behind: no error, if so allowed');
check_ids('minting with the clock up to 1 day behind', @clients);

#
# One session, and a clock that mostly stands still, so that everything can be
# said exactly.  It starts ahead of all that was the case above.
#

change_setting($node, 'flakeid.max_ahead', '15s');
my $now = time + $minute;
my $stat =
  'SELECT clock_steps_back, ahead, waits FROM flake_stat WHERE shard = 5';
my $session = new_session($node);
my $monitor = new_session($node);
my ($id, $last_id, $error, $started);

# Waits until our session waits for the clock, as a monitoring user sees it.
my ($pid) = ask($session, 'SELECT pg_backend_pid()');
my $wait_event = $node->pg_version >= 17 ? 'FlakeidClock' : 'Extension';

sub session_waits
{
	return $node->poll_query_until('postgres',
		"SELECT wait_event_type || '/' || wait_event = 'Extension/$wait_event'"
		  . " FROM pg_stat_activity WHERE pid = $pid");
}

stop_clock($clock, $now);
($last_id) = ask($session, 'SELECT flake_id(5)');
is((ask($monitor, $stat))[0],
	'0|00:00:00|0', 'flake_stat, nothing the matter');

stop_clock($clock, $now - 5);
($id) = ask($session, 'SELECT flake_id(5)');
is($id, $last_id + 1, 'clock 5 s behind: the next id is one more');
is((ask($monitor, $stat))[0],
	'1|00:00:05|0', 'flake_stat: one step back, 5 s ahead, no wait');

stop_clock($clock, $now - 15);
($id) = ask($session, 'SELECT flake_id(5)');
is( $id,
	$last_id + 2,
	'clock flakeid.max_ahead behind: the next id is one more');
is((ask($monitor, $stat))[0],
	'2|00:00:15|0', 'flake_stat: two steps back, 15 s ahead, no wait');

# A second too far behind, and never coming nearer.  The upper bound is
# flakeid.max_wait and what a slow machine may need.
stop_clock($clock, $now - 16);
ask($session, "SET flakeid.max_wait = '2s'");
$started = clock_gettime(CLOCK_MONOTONIC);
(undef, $error) = ask($session, 'SELECT flake_id(5)');
cmp_ok(clock_gettime(CLOCK_MONOTONIC) - $started,
	'<', 2 + 30,
	'a clock that stands still: no longer wait than flakeid.max_wait');
like(
	$error,
	qr/^ERROR:  53400: the clock is 16\.000 s behind the next id of shard 5$/m,
	'a clock that stands still: then an error that names the distance');
like(
	$error,
	qr/^DETAIL:  .*\b15\.000 s\b.*"flakeid\.max_ahead".*\b2\.000 s\b.*"flakeid\.max_wait"/m,
	'its detail names the settings');
like($error, qr/^HINT:  .*clock.*correct it/m, 'its hint says what to do');
is((ask($monitor, $stat))[0], '3|00:00:16|1', 'flake_stat: one wait');
is( (   ask($monitor,
			q{SELECT wait_time > '0' AND wait_time <= '2s' FROM flake_stat WHERE shard = 5}
		))[0],
	't',
	'flake_stat: wait_time is what was waited');

# So far behind that waiting is no use.
stop_clock($clock, $now - $hour);
$started = clock_gettime(CLOCK_MONOTONIC);
(undef, $error) = ask($session, 'SELECT flake_id(5)');
cmp_ok(clock_gettime(CLOCK_MONOTONIC) - $started,
	'<', 2 + 30, 'clock 1 h behind: no longer wait than flakeid.max_wait');
like(
	$error,
	qr/^ERROR:  53400: the clock is 3600\.000 s behind the next id of shard 5$/m,
	'clock 1 h behind: an error that names the distance');

# Set back even more during a wait.
stop_clock($clock, $now - 20);
ask($session, "SET flakeid.max_wait = '1min'");
send_query($session, 'SELECT flake_id(5)');
ok(session_waits(), "waiting shows as Extension/$wait_event");
$started = clock_gettime(CLOCK_MONOTONIC);
stop_clock($clock, $now - $hour);
(undef, $error) = get_answer($session);
cmp_ok(clock_gettime(CLOCK_MONOTONIC) - $started,
	'<', 60 + 30,
	'clock set back during a wait: no longer wait than flakeid.max_wait');
like(
	$error,
	qr/^ERROR:  53400: the clock is 3600\.000 s behind/m,
	'clock set back during a wait: an error that names the distance');

# Waits that are broken off.  Timeouts go by the clock, so let it run.
ask($session, "SET flakeid.max_wait = '1h'");
set_clock($clock, $now - $minute - time);
send_query($session, 'SELECT flake_id(5)');
ok(session_waits(), 'the session waits');
ask($monitor, "SELECT pg_cancel_backend($pid)");
(undef, $error) = get_answer($session);
like(
	$error,
	qr/^ERROR:  57014: canceling statement due to user request$/m,
	'a wait can be cancelled');

ask($session, "SET statement_timeout = '500ms'");
(undef, $error) = ask($session, 'SELECT flake_id(5)');
like(
	$error,
	qr/^ERROR:  57014: canceling statement due to statement timeout$/m,
	'statement_timeout ends a wait');
ask($session, 'RESET statement_timeout');

# All the failures above have handed out nothing.
stop_clock($clock, $now);
($id) = ask($session, 'SELECT flake_id(5)');
is($id, $last_id + 3, 'errors and broken-off waits consume no id');
is((ask($monitor, 'SELECT issued FROM flake_stat WHERE shard = 5'))[0],
	4, 'flake_stat: nor do they count as issued');

# A wait that ends well.
stop_clock($clock, $now - 16);
send_query($session,
		"SELECT id, flake_timestamp(id) - clock_timestamp() <= '15s'"
	  . ' FROM (SELECT flake_id(5) AS id OFFSET 0) AS minted');
ok(session_waits(), 'the session waits');
stop_clock($clock, $now - 15);
($id) = get_answer($session);
is( $id,
	$last_id + 4 . '|t',
	'clock nearly near enough: waits until the id is flakeid.max_ahead ahead'
);
is((ask($monitor, 'SELECT waits FROM flake_stat WHERE shard = 5'))[0],
	5, 'flake_stat: five waits in all');

# A whole day on, and back.
stop_clock($clock, $now + $day);
($id) = ask($session, 'SELECT flake_id(5)');
cmp_ok($id, '>', $last_id + 4, 'clock set forward 1 day: ids go on');
stop_clock($clock, $now);
ask($session, 'RESET flakeid.max_wait');
(undef, $error) = ask($session, 'SELECT flake_id(5)');
like(
	$error,
	qr/^ERROR:  53400: the clock is 86400\.000 s behind the next id of shard 5$/m,
	'clock set back from there: an error that names the distance');
stop_clock($clock, $now + $day);
is((ask($session, 'SELECT flake_id(5)'))[0],
	$id + 1, 'clock a day ahead again: ids go on where they stopped');

#
# The layout's time ends 2^40 ms after its epoch, 2046-06-27 17:00:49.497 UTC.
#

my $last_second = 2413731649;

SKIP:
{
	skip 'the clock ends before the layout', 6 if clock_ends_in_2038();

	stop_clock($clock, $last_second);
	($last_id) = ask($session, 'SELECT flake_id(6)');
	is( (   ask($session,
				"SELECT extract(epoch FROM flake_timestamp($last_id))::bigint")
		)[0],
		$last_second,
		'last second of the lifetime: ids are minted');
	(undef, $error) = ask($session, 'SELECT count(*) FROM flake_ids(6, 600000)');
	like(
		$error,
		qr/^ERROR:  22003: .*lifetime/m,
		'last second of the lifetime: more ids than are left are an error');
	is( (ask($session, 'SELECT flake_id(6)'))[0],
		$last_id + 1,
		'last second of the lifetime: the error consumed nothing');

	stop_clock($clock, $last_second + 1);
	(undef, $error) = ask($session, 'SELECT flake_id(6)');
	like(
		$error,
		qr/^ERROR:  22003: .*lifetime/m,
		'past the lifetime: an error, no wrapped id');
	like($error, qr/^DETAIL:  .*2046-06-27/m, 'its detail names the date');
	like($error, qr/^HINT:  .*clock/m, 'its hint says what to do');
}

#
# Layouts that use all bits: the ids of the last tick are the largest bigints.
# That one begins at the full second at which the clock stands still, and the
# first tick of the other two.
#

sub create_generator
{
	my ($name, $fields, $since_epoch, $start) = (@_, 'start=zero');
	my ($result) = ask(
		$session, qq(
SELECT flake_create_generator('$name', ('$fields $start unit=1us epoch=' || to_char(
	(to_timestamp($now) - interval '$since_epoch s') AT TIME ZONE 'UTC',
	'YYYY-MM-DD"T"HH24:MI:SS.US"Z"'))::flake_layout)));
	is($result, $name, "$fields: a generator");
	return;
}

stop_clock($clock, $now);
foreach my $case (
	[ 'last_63', 'ts:54 seq:9' ],
	[ 'last_64', 'ts:55 seq:9' ],
	[ 'last_at_random', 'ts:54 seq:9', 'start=random' ])
{
	my ($name, $fields, $start) = (@$case, 'start=zero');

	stop_clock($clock, $now - 10);
	create_generator($name, $fields, '18014398509.481983', $start);
	ask($session, "SELECT flake_id(0, '$name')");
	stop_clock($clock, $now);
	foreach my $count (513, 2147483647)
	{
		like(
			(   ask($session,
					"SELECT flake_ids(0, $count, '$name') LIMIT 1"))[1],
			qr/^ERROR:  22003: .*lifetime/m,
			"$fields, last tick: more ids than are left are an error");
	}
	is( (   ask($session,
				"SELECT min(i), max(i) FROM flake_ids(0, 512, '$name') AS i"))
		[0],
		'9223372036854775296|9223372036854775807',
		"$fields, last tick: all of its ids");
	like((ask($session, "SELECT flake_id(0, '$name')"))[1],
		qr/^ERROR:  22003: .*lifetime/m, "$fields, last tick: and no more");
}

create_generator('first_62', 'ts:54 seq:8', '-18014398509.481984');
is( (   ask($session, q(SELECT min(i), max(i) FROM flake_ids(0, 300, 'first_62') AS i))
	)[0],
	'-4611686018427387903|-4611686018427387604',
	'first tick: the smallest ids, all but one');
create_generator('first_63', 'ts:54 seq:9', '-18014398509.481984');
like(
	(ask($session, q(SELECT flake_id(0, 'first_63'))))[1],
	qr/^ERROR:  53400: the clock is 18014398509\.481 s behind/m,
	'first tick of all bits: the horizon is not below the epoch');
stop_clock($clock, $now - 1);
like(
	(ask($session, q(SELECT flake_id(0, 'first_62'))))[1],
	qr/^ERROR:  22003: .*has not begun/m,
	'before the first tick: an error');

set_clock($clock, 0);
cmp_ok((ask($session, 'SELECT flake_id(7)'))[0],
	'>', 0, 'clock right again: shards that have not run ahead mint on');

end_session($session);
end_session($monitor);
$node->stop;

done_testing();
