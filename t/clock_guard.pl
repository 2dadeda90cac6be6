# Copyright (c) 2026, the flakeid developers

# A clock that has jumped ahead costs no ids.  What it would have minted is refused
# with an error that says so, nothing of it is on disk, and when the clock is right
# again everybody goes on, also after a restart.  The same for a server that starts
# with such a clock, and for readings that are wrong for a moment.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $hour = 3600;
my $day = 24 * $hour;
my $year = 365 * $day;

my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	conf => "log_statement = none\nrestart_after_crash = on",
	sql => q(
CREATE EXTENSION flakeid;
CREATE ROLE operator LOGIN;
CREATE SEQUENCE ticket;
SELECT flake_create_generator('numbers', 'seq:62 server:1 block=100');
));
my $session;

sub horizon
{
	return value($session, q(SELECT flake_horizon('flake_default')));
}

sub stat_of
{
	my ($columns, $which) = @_;

	return value($session, "SELECT $columns FROM flake_stat WHERE $which");
}

# The guard's row: whether there is one, and what is in it.
sub guard
{
	return value($session,
		q(SELECT refusals, jump > '1 day', refused_since BETWEEN now() - interval '5 min' AND clock_timestamp() FROM _flake_clock_guard())
	);
}

sub restart_with_clock
{
	my ($how, $seconds) = @_;

	end_session($session);
	$how eq 'killed' ? kill9_and_wait($node) : $node->stop($how);
	set_clock($clock, $seconds);
	start_with_clock($node, $clock);
	$session = new_session($node);
	return;
}

# That everybody mints, at once.
sub all_is_well
{
	my ($name) = @_;

	like(
		value($session,
			'SET flakeid.max_wait = 0; SELECT flake_id(1), flake_id(2)'),
		qr/^\d+\|\d+$/,
		"$name: every shard mints, and does not wait");
	value($session, 'RESET flakeid.max_wait');
	is(guard(), '', "$name: the guard has nothing to say");
	return;
}

sub is_refused
{
	my ($sql, $message, $name) = @_;
	my $before = horizon();
	my (undef, $error) = ask($session, $sql);

	like($error, qr/^ERROR:  53400: $message/m, "$name: refused");
	is(horizon(), $before, "$name: the horizon is where it was");
	return $error;
}

$session = new_session($node);
value($session, 'SELECT flake_id(1), flake_id(2)');

#
# A year ahead, while the server runs
#

my $jumped = qr/the clock has jumped ahead by 365\.0 days$/m;

set_clock($clock, $year);
my $error = is_refused('SELECT flake_id(1)', $jumped, 'a year ahead');
like(
	$error,
	qr/^DETAIL:  It shows .* It was right at .*, and since then \d+\.\d{3} s have passed\. "flakeid\.max_jump" allows 24\.0 hours more\.$/m,
	'its detail says since when');
like(
	$error,
	qr/^HINT:  Correct the clock.*flake_accept_clock\(\)/m,
	'its hint says what to do');
is_refused('SELECT flake_id(3)', $jumped, 'a shard that is new');
is_refused('SELECT flake_uuid()', $jumped, 'a UUID');
is(stat_of('refused, issued', 'shard = 1 AND generator = \'flake_default\'::regclass'),
	'1|1', 'flake_stat counts the refusal');
is(stat_of('refused, issued, last_id', 'shard = 3'),
	'1|0|', 'also of a shard that has minted nothing');
is(guard(), '3|t|t', 'the guard says how many, how far and since when');

value($session, q(SELECT flake_create_generator('later', 'instagram')));
is(code($session, q(SELECT flake_id(1, 'later'))),
	'53400', 'a new generator does not begin there');
is( stat_of('shard, refused', 'generator = \'later\'::regclass'),
	'|1', 'flake_stat counts that for the generator');
like(value($session, q(SELECT flake_id(1, 'numbers'))),
	qr/^\d+$/, 'a layout without time does not mind');

set_clock($clock, 0);
all_is_well('the clock is right again');
like(value($session, q(SELECT flake_id(1, 'later'))),
	qr/^\d+$/, 'so is the new generator');
value($session, 'SELECT flake_stat_reset()');
is(stat_of('count(*)', 'refused > 0'), '0', 'flake_stat_reset() resets refusals');

set_clock($clock, $year);
is(code($session, 'SELECT flake_id(2)'), '53400', 'a year ahead once more');

# A generator whose owner has set it near that clock mints, and proves nothing.
value($session,
	q(SELECT flake_create_generator('lying'); SELECT setval('lying', (flake_lower(clock_timestamp() - interval '1 hour') >> 23) << 10)));
like(value($session, q(SELECT flake_id(1, 'lying'))),
	qr/^\d+$/, 'a generator that is ahead already mints');
is(code($session, 'SELECT flake_id(2)'), '53400', 'but the clock is no better for others');
value($session, 'DROP SEQUENCE lying');
restart_with_clock('fast', 0);
all_is_well('a restart after that');
set_clock($clock, $year);
is(code($session, 'SELECT flake_id(2)'), '53400', 'and once more');
restart_with_clock('killed', 0);
all_is_well('kill -9 after that');

#
# A session in its reserve finds the clock wrong, too, and a jump that is allowed
# is made.
#

set_clock($clock, 20 * $hour);
like(value($session, 'SELECT flake_id(1)'),
	qr/^\d+$/, '20 hours ahead: less than flakeid.max_jump');
set_clock($clock, 40 * $hour);
like(value($session, 'SELECT flake_id(1)'),
	qr/^\d+$/, 'and 20 hours more: it is compared with the last move');
is(code($session, q(SELECT flake_advance('flake_default', flake_lower(now() + interval '5 s')))) =~ s/^none.*//sr,
	'', 'flake_advance() is as before');

#
# A pause: the clock is right.  Who may say so?
#

set_clock($clock, 100 * $hour);
is(code($session, 'SELECT flake_id(1)'), '53400', '60 hours ahead: refused');
is(code($session, 'SET ROLE operator; SELECT flake_accept_clock()'),
	'42501', 'not everybody can accept the clock');
value($session,
	'RESET ROLE; GRANT EXECUTE ON FUNCTION flake_accept_clock() TO operator');
my $log = -s $node->logfile;
value($session, 'SET ROLE operator; SELECT flake_accept_clock(); RESET ROLE');
all_is_well('accepted by one who may');
like(
	slurp_file($node->logfile, $log),
	qr/LOG:  role "operator" has accepted the clock at .*DETAIL:  It is 2\.5 days ahead of what was expected\./s,
	'the log says who, and how far');
restart_with_clock('fast', 100 * $hour);
all_is_well('a restart after that');

#
# The server starts with a wrong clock.
#

my $ahead_at_start = qr/the clock is \d+\.\d days ahead of what this server last knew$/m;

foreach my $how ('fast', 'killed')
{
	restart_with_clock($how, 2 * $year);
	$error = is_refused('SELECT flake_id(1)', $ahead_at_start,
		"two years ahead at the start ($how)");
	my ($shown, $known) =
	  $error =~ /^DETAIL:  It shows (\d+)-.* The latest time that is known from before is (\d+)-/m;
	like(($shown // 0) - ($known // 0), qr/^[12]$/, 'its detail says what is known');
	is(guard(), '1|t|t', 'the guard has it');

	# The end of recovery has written a checkpoint with the wrong clock, and a
	# new generator knows nothing.  What it does stays its own.
	if ($how eq 'killed')
	{
		value($session, q(SELECT flake_create_generator('newest', 'instagram')));
		like(value($session, q(SELECT flake_id(1, 'newest'))),
			qr/^\d+$/, 'after a crash a new generator mints');
		is(code($session, q(SELECT flake_id(2))),
			'53400', 'and others are refused all the same');
		value($session, 'DROP SEQUENCE newest');
	}
	set_clock($clock, 100 * $hour);
	all_is_well('the clock is right, without a restart');
}

restart_with_clock('fast', 2 * $year);
is(code($session, 'SELECT flake_id(1)'), '53400', 'two years ahead again');
restart_with_clock('fast', 100 * $hour);
all_is_well('the clock is right, with a restart');

# The server was down for three days, or is wrong by that.
restart_with_clock('fast', 200 * $hour);
my ($id, $warning) = ask($session, 'SELECT flake_id(1)');
like($id, qr/^\d+$/, 'four days ahead at the start: minted');
like(
	$warning,
	qr/^WARNING:  01000: the clock is 4\.\d days ahead of what this server last knew$/m,
	'with a warning');
is((ask($session, 'SELECT flake_id(2)'))[1], '', 'that comes once');
restart_with_clock('fast', 200 * $hour);
is((ask($session, 'SELECT flake_id(2)'))[1],
	'', 'nothing to warn of after a restart');

# A generator that somebody has set near the wrong clock, also before the start,
# mints.  It makes the clock no better for others.
foreach my $how ('fast', 'killed', 'after the start')
{
	my $lie = "the wrong clock, $how";
	my $begin = $how eq 'after the start' ? 200 * $hour : 3 * $year;

	value($session, q(SELECT flake_uuid(), flake_create_generator('lying')));
	value($session,
		q(SELECT setval('lying', (flake_lower(clock_timestamp() + interval '1095 days' - interval '201 hours') >> 23) << 10)))
	  if $how ne 'after the start';
	ask($session, q(SELECT flake_id(1, 'lying')));
	restart_with_clock($how =~ s/after.*/fast/r, $begin);
	set_clock($clock, 3 * $year);
	value($session,
		q(SELECT setval('lying', (flake_lower(clock_timestamp() - interval '1 hour') >> 23) << 10)))
	  if $how eq 'after the start';
	like(value($session, q(SELECT flake_id(1, 'lying'))),
		qr/^\d+$/, "$lie: a generator that is there mints");
	is(code($session, 'SELECT flake_id(2)'), '53400', "$lie: others are refused");
	is(code($session, 'SELECT flake_uuid()'), '53400', "$lie: all of them");
	value($session, 'DROP SEQUENCE lying');
	restart_with_clock('fast', 200 * $hour);
	all_is_well("$lie: the clock is right again");
}

# Nothing from before a crash proves that the clock is right, so it is compared with
# the horizon of each generator until somebody accepts it.
restart_with_clock('fast', 200 * $hour - 2 * $year);
value($session, q(SELECT flake_create_generator('old')));
value($session, q(SELECT flake_id(1, 'old')));
restart_with_clock('killed', 200 * $hour);
value($session, 'SELECT flake_id(1)');
is(code($session, q(SELECT flake_id(1, 'old'))),
	'53400', 'after a crash: refused is a generator that was not used for two years');
value($session, 'SELECT flake_accept_clock()');
like(value($session, q(SELECT flake_id(1, 'old'))), qr/^\d+$/, 'until the clock is accepted');
value($session, 'DROP SEQUENCE old');
restart_with_clock('fast', 200 * $hour);

# Down for two years, and right.
restart_with_clock('fast', $year + $year);
is(code($session, 'SELECT flake_id(1)'), '53400', 'down for two years: refused');
value($session, 'CREATE DATABASE fresh');
my $fresh = new_session($node, 'fresh');
value($fresh, 'CREATE EXTENSION flakeid');
like((ask($fresh, 'SELECT flake_id(1)'))[1],
	qr/53400.*flake_accept_clock/s, 'the extension can be created, and then the clock accepted');
end_session($fresh);
value($session, 'SELECT flake_accept_clock()');
all_is_well('and accepted');

# An older horizon than that is no reason to refuse on a server that mints.
value($session, q(SELECT flake_id(1, 'later')));
pass('a generator that was not used for two years');

#
# Wrong for a moment, over and over, while others mint
#

my $now = 2 * $year;
my @clients = start_clients($node, count => 4, sql => minting_sql(1, 2));
wait_for_more($_, 200) foreach @clients;
foreach (1 .. 300)
{
	set_clock($clock, $now + $year);
	usleep(500);
	set_clock($clock, $now);
	usleep(5_000);
}
wait_for_more($_, 200) foreach @clients;
stop_clients($node, @clients);
is_deeply([ grep { !/^(53400: the clock has jumped|57P01)/ } map { errors($_) } @clients ],
	[], 'readings that are wrong for a moment: no other error');
note scalar(map { errors($_) } @clients) . ' errors, '
  . scalar(map { ids($_) } @clients) . ' ids';
is(first_duplicate(map { ids($_) } @clients), undef, 'no id twice');
is( value(
		$session,
		q(SELECT flake_horizon_time('flake_default') < clock_timestamp() + interval '15.3 s')),
	't',
	'the horizon has not been moved by any of them');
restart_with_clock('killed', $now);
is(code($session, 'SET flakeid.max_wait = 0; SELECT 1/count(flake_id(5))/0'),
	'22012', 'after kill -9 others mint, and do not wait');

#
# Off, and bad values
#

is( code(
		$session,
		q(LOAD 'flakeid'; ALTER SYSTEM SET flakeid.max_jump = '59s')),
	'22023',
	'less than a minute is no limit');
is( code($session, q(ALTER SYSTEM SET flakeid.max_jump = 0)), '22023', 'nor is 0');
is(code($session, q(ALTER SYSTEM SET flakeid.max_jump = -2)),
	'22023', 'nor is -2');
is(code($session, q(ALTER SYSTEM SET flakeid.max_jump = '3651d')),
	'22023', 'nor are more than ten years');
change_setting($node, 'flakeid.max_jump', '1min');
value($session, 'SELECT flake_id(5)');
set_clock($clock, $now + 120);
is(code($session, 'SELECT flake_id(5)'), '53400', 'a minute: two are too many');
change_setting($node, 'flakeid.max_jump', '-1');
set_clock($clock, $now + $year);
like(value($session, 'SELECT flake_id(5)'),
	qr/^\d+$/, 'off: a year is not too many');


# What that leaves shows at the next start, once.
end_session($session);
$node->stop;
set_clock($clock, $now);
start_with_clock($node, $clock);
$session = new_session($node);
like(
	(ask($session, 'SELECT flake_id(6)'))[1],
	qr/^WARNING:  01000: the horizon of generator "flake_default" is 365\.0 days ahead of the clock\n.*^HINT:  .*flake_rewind\(\).*^ERROR:  53400:/ms,
	'a horizon that is far ahead at the start: a warning');
unlike((ask($session, 'SELECT flake_id(7)'))[1], qr/WARNING/, 'once');
end_session($session);
$session = new_session($node);
unlike((ask($session, 'SELECT flake_id(7)'))[1],
	qr/WARNING/, 'not in each session');

#
# Set back: who asks what is settled goes by the clock, not by what was expected of it
#

value($session, q(SELECT flake_create_generator('asked')));
value($session, q(SELECT flake_id(1, 'asked')));
set_clock($clock, $now + $hour);
value($session, q(SELECT flake_id(1, 'asked')));
set_clock($clock, $now);
value($session, q(SELECT flake_settled('asked')));
like((ask($session, q(SET flakeid.max_wait = 0; SELECT flake_id(2, 'asked'))))[0],
	qr/^\d+$/, 'asking after the clock was set back holds up nobody');
end_session($session);
$node->stop;
done_testing();
