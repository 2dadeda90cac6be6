# Copyright (c) 2026, the flakeid developers

# No id repeats after kill -9 of the postmaster or of a session, even if the clock
# is set back by another hour before the server is up again.  All ids count that
# clients were given: they note them outside of the server, those of transactions
# that are never committed, too.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $rounds = 20;
my $hour = 3600;
my $offset = 0;

my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	conf => q(
log_statement = none
restart_after_crash = on
wal_writer_delay = 10s		# what is not flushed on purpose, is not
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint PRIMARY KEY);
));

# Ids that are committed, ids that are rolled back, ids of a statement that
# writes nothing; of two shards.
sub load_sql
{
	return join ' ', map {
		my $insert =
		  "INSERT INTO item SELECT flake_id($_) FROM generate_series(1, 5) RETURNING id;";

		"BEGIN; $insert COMMIT; BEGIN; $insert ROLLBACK;"
		  . " SELECT flake_id($_) FROM generate_series(1, 5);"
	} 1, 2;
}

# The greatest id of each shard that anybody was given so far, and all of them.
my %greatest;
my %given;

# Takes down what clients that are gone were given.  Returns what is wrong
# about it, seen together with what was given in earlier rounds.
sub take_down
{
	my (@clients) = @_;
	my %greatest_now = %greatest;
	my @wrong;

	foreach my $client (@clients)
	{
		my $decrease = first_decrease(ids($client));

		push @wrong, "$decrease in one session" if defined $decrease;
		foreach my $id (@{ ids($client) })
		{
			my $shard = shard_of($id);

			push @wrong, "$id repeats" if $given{$id}++;
			push @wrong, "$id after $greatest{$shard} of an earlier round"
			  if defined $greatest{$shard} && $id <= $greatest{$shard};
			$greatest_now{$shard} = $id
			  if !defined $greatest_now{$shard}
			  || $id > $greatest_now{$shard};
		}
	}
	%greatest = %greatest_now;
	return @wrong;
}

sub start_load
{
	my @clients = start_clients($node, count => 4, sql => load_sql());

	wait_for_more($_, 40) foreach @clients;
	return @clients;
}

sub set_clock_back
{
	$offset -= $hour;
	set_clock($clock, $offset);
	return;
}

# kill -9 of the whole server, which is then started again.
sub kill_postmaster
{
	my (@clients) = @_;

	kill9_and_wait($node);
	finish_clients(@clients);
	set_clock_back();
	start_with_clock($node, $clock);
	return;
}

# kill -9 of a backend that mints, after which the server restarts by itself.
sub kill_backend
{
	my (@clients) = @_;
	my $pid = $node->safe_psql('postgres',
			'SELECT pid FROM pg_stat_activity'
		  . " WHERE application_name = '$clients[0]{name}'");

	kill 'KILL', $pid or die "could not kill process $pid: $!";
	set_clock_back();
	finish_clients(@clients);
	wait_until_up($node);
	return;
}

# Crashes that often in that way, and checks what was given.
sub crash_often
{
	my ($how, $crash) = @_;
	my @wrong;

	foreach my $round (1 .. $rounds)
	{
		my @clients = start_load();

		$crash->(@clients);
		push @wrong, map { "round $round: $_" } take_down(@clients);
	}

	# Once more, for the ids after the last crash.
	my @clients = start_load();
	stop_clients($node, @clients);
	push @wrong, map { "after the last: $_" } take_down(@clients);
	splice @wrong, 10;
	is_deeply(\@wrong, [],
		"$how: over $rounds rounds no id repeats or is less than an earlier one"
	);

	my $behind = -$offset / $hour - 1;
	is( $node->safe_psql(
			'postgres',
			"SELECT bool_and(ahead > '$behind h') FROM flake_stat"),
		't',
		"$how: the clock really is behind what was minted");
	return;
}

#
# With the settings as they are out of the box, such a crash makes for errors.
#

my @clients = start_load();
kill_postmaster(@clients);
my @wrong = take_down(@clients);

foreach my $shard (1, 3)
{
	my (undef, $error) = ask_once($node, "SELECT flake_id($shard)");

	# The distance is the hour, and what was reserved beyond the ids given.
	my ($distance) = $error =~
	  /ERROR:  53400: the clock is (\d+\.\d{3}) s behind the next id of shard $shard$/m;
	ok( defined $distance && $distance > 3000 && $distance < 3700,
		"postmaster killed, clock set back: an error that names the distance (shard $shard)"
	) or diag $error;
	like($error, qr/^HINT:  .*clock.*correct it/m,
		'its hint says what to do');
}

$offset = 0;
set_clock($clock, $offset);
@clients = start_load();
stop_clients($node, @clients);
push @wrong, take_down(@clients);
is_deeply(\@wrong, [], 'clock right again: no id repeats');

#
# With flakeid.max_ahead so large that the server mints all the same, the
# clock hours behind.
#

$node->append_conf('postgresql.conf', "flakeid.max_ahead = '100h'");
$node->stop;
start_with_clock($node, $clock);

# One id is enough for what it is based on to be on disk: no commit, nobody
# else's either, helps it to get there.
@wrong = ();
foreach my $round (1 .. 5)
{
	my $session = new_session($node);

	set_clock($clock, $round * $hour);
	my ($before) = ask($session, 'SELECT flake_id(1)');
	kill9_and_wait($node);
	end_session($session);
	set_clock($clock, 0);
	start_with_clock($node, $clock);
	my $after = $node->safe_psql('postgres', 'SELECT flake_id(1)');
	push @wrong, "round $round: $after after $before" if $after <= $before;
}
is_deeply(\@wrong, [],
	'postmaster killed right after a single id: it does not repeat, nor do ids decrease'
);

crash_often('postmaster killed', \&kill_postmaster);
crash_often('backend killed', \&kill_backend);

# The same when the library is preloaded, and gets its memory in another way.
$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'");
$node->stop;
start_with_clock($node, $clock);
crash_often('backend killed, library preloaded', \&kill_backend);

$node->stop;

done_testing();
