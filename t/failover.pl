# Copyright (c) 2026, the flakeid developers

# No row's id repeats after a failover to a streaming standby whose clock is 10 s
# behind.  The primary dies under load, then the standby is promoted and mints on.
# Rows that an asynchronous standby has not received are lost, with their ids, and
# do not count.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $insert = join ' ', map {
	"INSERT INTO item SELECT flake_id($_) FROM generate_series(1, 3) RETURNING id;"
} 1, 2;
my $greatest =
  'SELECT flake_shard(id), max(id) FROM item GROUP BY 1 ORDER BY 1';

# Makes a standby of a primary and starts it, its clock so many seconds off.
sub start_standby_with_offset
{
	my ($primary, $name, $offset) = @_;
	my $clock = new_clock();

	set_clock($clock, $offset);
	return start_standby($primary, $name, $clock);
}

# The primary dies under load, by $kill, and the standby takes over.
sub fail_over
{
	my ($how, $primary, $standby, $kill) = @_;

	# Refused on the standby, as nextval() is, and whether or not rows keep
	# arriving.  Another session of the standby stays for later.
	my $session = new_session($standby);
	my @clients = start_clients($primary, count => 4, sql => $insert);

	foreach my $i (1 .. 3)
	{
		wait_for_more($_, 50) foreach @clients;
		$primary->wait_for_catchup($standby, 'replay');

		my (undef, $nextval) =
		  ask($session, "SELECT nextval('flake_default')");
		my (undef, $flake_id) = ask($session, 'SELECT flake_id(1)');
		s/nextval|flake_id/.../ foreach $nextval, $flake_id;
		like(
			$flake_id,
			qr/^ERROR:  25006: /m,
			"$how: no ids on a standby, time $i");
		is( (split /\n/, $flake_id)[0],
			(split /\n/, $nextval)[0],
			"$how: the same error as from nextval(), time $i");
	}

	$kill->($primary);
	finish_clients(@clients);
	$standby->promote;

	# What the failover has saved.
	my $rows = $standby->safe_psql('postgres', 'SELECT count(*) FROM item');
	my %before = map { split /\|/ } split /\n/,
	  $standby->safe_psql('postgres', $greatest);
	my @saved = split /\n/,
	  $standby->safe_psql('postgres', 'SELECT id FROM item');
	cmp_ok($rows, '>=', 4 * 3 * 50, "$how: rows have been replayed");

	# The session from before comes first.
	my ($id, $error) = ask($session, 'SELECT flake_id(1)');
	is($error, '', "$how: a session of before the promotion mints");
	cmp_ok($id, '>', $before{1},
		"$how: its id is greater than that of every replayed row");
	end_session($session);

	my @heirs = start_clients($standby, count => 4, sql => $insert);
	wait_for_more($_, 100) foreach @heirs;
	stop_clients($standby, @heirs);

	is(first_duplicate(\@saved, [$id], map { ids($_) } @heirs),
		undef, "$how: no row id repeats");
	is_deeply(
		[
			grep { $_ <= $before{ shard_of($_) } }
			map  { @{ ids($_) } } @heirs
		],
		[],
		"$how: new ids are greater than those of every replayed row");
	is_deeply([ grep { defined } map { first_decrease(ids($_)) } @heirs ],
		[], "$how: each session's ids strictly increase");
	is_deeply([ grep { !/^57P01/ } map { errors($_) } @heirs ],
		[], "$how: no insert fails");
	return;
}

my $first = start_server(
	'first',
	allows_streaming => 1,
	clock => new_clock(),
	conf => q(
log_statement = none
max_connections = 25
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint PRIMARY KEY);
));

# With the settings as they are out of the box, 10 s are no problem.
my $second = start_standby_with_offset($first, 'second', -10);
fail_over('primary killed', $first, $second, \&kill9_and_wait);

# Another 10 s behind: by now ids are further ahead of the clock than
# flakeid.max_ahead, which makes for errors or is to be allowed.
change_setting($second, 'flakeid.max_ahead', '1min');
my $third = start_standby_with_offset($second, 'third', -20);
fail_over('primary stopped at once',
	$second, $third, sub { $_[0]->stop('immediate') });

$third->stop;
stop_killed($first);

done_testing();
