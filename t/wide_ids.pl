# Copyright (c) 2026, the flakeid developers

# flake_uuid() and flake_objectid() never repeat an id, and keep their order over all
# databases of a server, whatever happens to clock and server.  The worker comes
# from the network card or from the setting.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my @databases = ('postgres', 'second');
my $hour = 3600;

my $clock = new_clock();
my $node = start_server(
	'main',
	allows_streaming => 1,
	clock => $clock,
	conf => q(
log_statement = none
max_connections = 30
wal_sender_timeout = 0		# goes by the clock
),
	sql => 'CREATE DATABASE second');
$node->safe_psql($_, 'CREATE EXTENSION flakeid') foreach @databases;

#
# The worker: out of the box it is a hardware address, if there is one.
#

my $worker = 'SELECT worker FROM flake_uuid_decode(flake_uuid())';

sub check_hardware_address
{
	my ($name, $stdout, $stderr) = @_;

	if ($stderr =~ /ERROR/)
	{
		like(
			$stderr,
			qr/ERROR:  55000: no worker is set$.*^HINT:  .*flakeid\.worker/ms,
			"$name: no hardware address, and an error that says what to do");
	}
	else
	{
		like(
			$stdout,
			qr/^(?!(?:00:){5}00)(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/,
			"$name: a hardware address");
	}
	return;
}

my $session = new_session($node);
check_hardware_address('nothing set', ask($session, $worker));
end_session($session);

$node->append_conf('postgresql.conf',
	q(flakeid.worker = '08:00:2b:01:02:03'));
$node->stop;
start_with_clock($node, $clock);
$session = new_session($node);
is((ask($session, $worker))[0],
	'08:00:2b:01:02:03', 'the worker of postgresql.conf is in the ids');

# A session that is there sees a new one; and keeps what it has if that is bad.
foreach my $case (
	[ '08:00:2b:01:02:04', '08:00:2b:01:02:04' ],
	[ 'FF-FF-FF-FF-FF-FE', 'ff:ff:ff:ff:ff:fe' ],
	[ '08002b010205', '08:00:2b:01:02:05' ])
{
	my ($setting, $expected) = @$case;

	$node->append_conf('postgresql.conf', "flakeid.worker = '$setting'");
	$node->reload;
	wait_until(sub { (ask($session, $worker))[0] eq $expected },
		"$setting is in force");
	pass("the worker changes by a reload: $setting");
}
foreach my $bad (
	'08:00:2b:01:02', '08:00:2b:01:02:03:04',
	'localhost', '08::00:2b:01:02:03')
{
	my @answer = ask($session, "ALTER SYSTEM SET flakeid.worker = '$bad'");

	is(error_code(@answer), '22023', "no worker: $bad");
	like(
		$answer[1],
		qr/^HINT:  .*08:00:2b:01:02:03/m,
		"it says how to write one: $bad");
}

# Along with the bad one comes another setting, to tell when it was read.
$node->append_conf('postgresql.conf',
	"flakeid.worker = 'localhost'\nflakeid.max_ahead = '14s'");
$node->reload;
wait_until(sub { (ask($session, 'SHOW flakeid.max_ahead'))[0] eq '14s' },
	'the reload has happened');
is((ask($session, $worker))[0],
	'08:00:2b:01:02:05', 'a reload with a bad worker changes nothing');
end_session($session);

# A session that begins with the bad one says so.
$session = new_session($node);
my @answer = ask($session, $worker);
like(
	$answer[1],
	qr/^WARNING:  22023: invalid value for parameter "flakeid\.worker": "localhost"$/m,
	'a new session warns about a bad worker');
check_hardware_address('a bad worker', @answer);
end_session($session);
$node->append_conf('postgresql.conf',
	"flakeid.worker = '08:00:2b:01:02:03'\nflakeid.max_ahead = '15s'");
$node->reload;

#
# Clients in two databases at once.
#

my $load =
  'SELECT flake_uuid(), flake_objectid() FROM generate_series(1, 10);';

sub start_load
{
	my ($server, $count) = @_;
	my @clients =
	  map {
		start_clients($server, count => $count, sql => $load, dbname => $_)
	  } @databases;

	wait_for_more($_, 200) foreach @clients;
	return @clients;
}

# What an ObjectID's place in time is: seconds and counter.  Between them is
# what differs from one start of the server to the next.
sub place
{
	my ($objectid) = @_;

	return substr($objectid, 0, 8) . substr($objectid, 18, 6);
}

sub server_value
{
	my ($objectid) = @_;

	return substr $objectid, 8, 10;
}

my (%given, %server_values);
my %greatest = (uuid => '', objectid => '');

# Takes down what clients were given in one run of a server, and checks it,
# also against what was given earlier.
sub check_load
{
	my ($name, @lists) = @_;
	my %before = %greatest;
	my (@repeated, @wrong, %values);

	foreach my $list (@lists)
	{
		my %last = (uuid => '', objectid => '');

		foreach my $record (@$list)
		{
			my ($uuid, $objectid) = @$record;
			my %now = (uuid => $uuid, objectid => place($objectid));

			foreach my $id (@$record)
			{
				push @repeated, $id if $given{$id}++;
			}
			foreach my $kind (keys %now)
			{
				# All letters are small, all widths are equal.
				push @wrong, "$kind $now{$kind} after $last{$kind}"
				  if $now{$kind} le $last{$kind};
				push @wrong,
				  "$kind $now{$kind} after $before{$kind}, of before"
				  if $now{$kind} le $before{$kind};
				$last{$kind} = $now{$kind};
				$greatest{$kind} = $now{$kind}
				  if $now{$kind} gt $greatest{$kind};
			}
			$values{ server_value($objectid) } = 1;
		}
	}
	is(join("\n", splice @repeated, 0, 10), '', "$name: no id repeats");
	is(join("\n", splice @wrong, 0, 10), '', "$name: ids are in order");
	is(scalar keys %values,
		1, "$name: all ObjectIDs have the same five bytes of the server");
	$server_values{$_} = 1 foreach keys %values;
	return;
}

my @clients = start_load($node, 4);

# An hour on, back again, which is too far, and on.
set_clock($clock, $hour);
wait_for_more($_, 200) foreach @clients;
is_deeply([ map { errors($_) } @clients ],
	[], 'clock set forward 1 h: minting goes on');
set_clock($clock, 0);
foreach my $client (@clients)
{
	wait_until(sub { errors($client) > 1 }, 'clients get errors');
}
is( join("\n",
		grep { !/^53400: the clock is 3\d\d\d\.\d{3} s behind/ }
		map  { errors($_) } @clients),
	'',
	'clock set back 1 h: errors that name the distance');
set_clock($clock, $hour);
wait_for_more($_, 200) foreach @clients;
stop_clients($node, @clients);
check_load('8 sessions in two databases', map { records($_) } @clients);

# What they look like.
$session = new_session($node);
is( (   ask($session,
			'SELECT abs(extract(epoch FROM ts - clock_timestamp())) < 60,'
			  . ' worker, flake_uuid_from_text(flake_uuid_to_text(u)) = u,'
			  . ' flake_uuid_from_text(flake_uuid_to_text(u, 32), 32) = u'
			  . ' FROM (SELECT flake_uuid() AS u OFFSET 0) s, flake_uuid_decode(u)'
		))[0],
	't|08:00:2b:01:02:03|t|t',
	'a UUID tells time and worker, and goes through text and back');
is( (   ask($session,
			'SELECT count(*) FROM (SELECT flake_uuid() AS u,'
			  . ' (ARRAY[16,32,58,62])[n % 4 + 1] AS base'
			  . ' FROM generate_series(1, 1000) AS n) s'
			  . ' WHERE flake_uuid_from_text(flake_uuid_to_text(u, base), base) = u'
			  . q( AND flake_uuid_to_text(u, base) ~ '^[0-9A-Za-z]+$')))[0],
	'1000',
	'so do a thousand, in every base');
is( (   ask($session,
			'SELECT bool_and(abs(extract(epoch FROM'
			  . ' flake_objectid_timestamp(o) - clock_timestamp())) < 60'
			  . q{ AND o ~ '^[0-9a-f]{24}$')}
			  . ' FROM (SELECT flake_objectid() AS o FROM generate_series(1, 1000)) s'
		))[0],
	't',
	'an ObjectID tells the time, in 24 digits');
end_session($session);

#
# Crashes, with the clock set back 10 s each time.  The settings out of the box
# allow that once; ids are further ahead of the clock after each.
#

my $offset = $hour;
foreach my $round (1 .. 4)
{
	@clients = start_load($node, 2);
	$node->append_conf('postgresql.conf', "flakeid.max_ahead = '10min'")
	  if $round == 2;
	$offset -= 10;
	set_clock($clock, $offset);
	kill9_and_wait($node);
	finish_clients(@clients);
	start_with_clock($node, $clock);
	check_load("crash $round", map { records($_) } @clients);
}
is(scalar keys %server_values,
	4, 'each start of the server draws five other bytes');

# A database that was at work while the other was idle, with the clock where it
# is again after the crash.  (Of the idle one's UUIDs nothing is promised here:
# over a restart a database knows only of its own.)
my $now = time + 2 * $hour;
stop_clock($clock, $now - 60);
$node->safe_psql($_, 'SELECT flake_uuid(), flake_objectid()')
  foreach @databases;
stop_clock($clock, $now);
my @before = map { [ split /\|/ ] } split /\n/,
  $node->safe_psql('postgres', $load);
stop_clock($clock, $now - 1);
kill9_and_wait($node);
start_with_clock($node, $clock);
my @after = map { [ split /\|/ ] } split /\n/,
  $node->safe_psql('postgres', $load);
stop_clock($clock, $now);
push @after, map { [ split /\|/ ] } split /\n/,
  $node->safe_psql('second', $load);
check_load('before a crash', \@before);
check_load('after it, the database that was at work first', \@after);

#
# Failover to a standby whose clock is behind.
#

$offset = 2 * $hour + 600;
set_clock($clock, $offset);
my $standby_clock = new_clock();
set_clock($standby_clock, $offset - 10);
my $standby = start_standby($node, 'standby', $standby_clock);
$node->safe_psql($_, 'CREATE TABLE item (u uuid PRIMARY KEY, o text UNIQUE)')
  foreach @databases;
my $insert =
  'INSERT INTO item SELECT flake_uuid(), flake_objectid() FROM generate_series(1, 5) RETURNING u, o;';
@clients =
  map { start_clients($node, count => 2, sql => $insert, dbname => $_) }
  @databases;
wait_for_more($_, 100) foreach @clients;
$node->wait_for_catchup($standby, 'replay');
kill9_and_wait($node);
finish_clients(@clients);
$standby->promote;

# What the standby has is what counts.  Who was first to mint a UUID need not
# have been first to mint an ObjectID, too.
check_load(
	'rows on the standby',
	map {
		[
			map { [ split /\|/ ] } split /\n/,
			$standby->safe_psql(
				$_,
				'SELECT u, o FROM'
				  . ' (SELECT u, row_number() OVER (ORDER BY u) AS n FROM item) us'
				  . ' JOIN (SELECT o, row_number() OVER (ORDER BY o) AS n FROM item) os'
				  . ' USING (n) ORDER BY n')
		]
	} @databases);
@clients =
  map { start_clients($standby, count => 2, sql => $insert, dbname => $_) }
  @databases;
wait_for_more($_, 100) foreach @clients;
stop_clients($standby, @clients);
check_load('on the promoted standby', map { records($_) } @clients);
is_deeply([ grep { !/^57P01/ } map { errors($_) } @clients ],
	[], 'on the promoted standby: no insert fails');
$standby->stop;
stop_killed($node);

done_testing();
