# Copyright (c) 2026, the flakeid developers

# Nobody else has a leased shard while the lease lasts and a margin longer, and no
# id of a process that mints outside of the database repeats.  Processes, sessions
# and servers die meanwhile, and clocks are wrong.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use IPC::Run;
use List::Util qw(max);
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes ();

my $clock = new_clock();
my $node = start_server(
	'main',
	allows_streaming => 1,
	clock => $clock,
	conf => q(
log_statement = none
log_min_messages = fatal
max_connections = 100
max_prepared_transactions = 2
wal_sender_timeout = 0		# goes by the clock
flakeid.max_ahead = 1s		# the margin
));

# Every change of a lease is noted, by a sequence's number, in that order: those
# who lease call functions that do so as well.  The shard stays locked from one to
# the other.
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION flakeid;
CREATE TABLE history (n serial, generator regclass, shard int, owner text,
	not_before timestamptz, expires_at timestamptz);
CREATE SCHEMA noted;
CREATE FUNCTION noted.note(text, regclass) RETURNS void LANGUAGE sql AS $$
INSERT INTO history SELECT nextval('history_n_seq'), generator, shard, owner, not_before, expires_at
FROM flake_leases WHERE owner = $1 AND generator = $2
$$;
CREATE FUNCTION noted.flake_lease(owner text, ttl interval, generator regclass,
	OUT shard int, OUT not_before timestamptz, OUT expires_at timestamptz)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT * INTO shard, not_before, expires_at FROM public.flake_lease(owner, ttl, generator);
	PERFORM noted.note(owner, generator);
END
$$;
CREATE FUNCTION noted.flake_renew(owner text, ttl interval, generator regclass) RETURNS timestamptz
LANGUAGE plpgsql AS $$
DECLARE
	expires_at timestamptz := public.flake_renew(owner, ttl, generator);
BEGIN
	PERFORM noted.note(owner, generator);
	RETURN expires_at;
END
$$;
CREATE FUNCTION noted.flake_release(owner text, generator regclass) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	released boolean := public.flake_release(owner, generator);
BEGIN
	PERFORM noted.note(owner, generator);
	RETURN released;
END
$$;
ALTER DATABASE postgres SET search_path = noted, public;
CREATE FUNCTION create_generator(name text, bits int) RETURNS text LANGUAGE sql
RETURN flake_create_generator('public.' || name, format('ts:41 shard:%s seq:%s epoch=2020-01-01', bits, 20 - bits)::flake_layout);
));

# The shard that an owner leases.
sub lease
{
	my ($session, $owner, $generator, $ttl) = @_;
	$ttl = '1 hour' unless defined $ttl;

	return value($session,
		"SELECT shard FROM flake_lease('$owner', '$ttl', '$generator')");
}

my ($one, $two, $admin) = new_sessions($node, 3);

#
# 32 callers at once, who begin when a lock is released.
#

sub lease_at_once
{
	my ($generator, @owners) = @_;
	my @sessions = map { new_session($node) } @owners;

	value($admin, 'SELECT pg_advisory_lock(1)');
	foreach my $i (0 .. $#owners)
	{
		send_query($sessions[$i],
				'BEGIN; SELECT pg_advisory_xact_lock_shared(1) IS NULL; COMMIT;'
			  . " SELECT shard FROM flake_lease('$owners[$i]', '1 hour', '$generator')"
		);
	}
	wait_for_waiters($node, scalar @owners);
	value($admin, 'SELECT pg_advisory_unlock(1)');

	my @shards = map { (get_answer($_))[0] =~ s/^f\n//r } @sessions;
	end_session(@sessions);
	return @shards;
}

my $all = join ' ', 0 .. 31;

sub in_order
{
	return join ' ', sort { $a <=> $b } @_;
}

foreach my $round (1, 2)
{
	my $generator = "at_once_$round";

	value($admin, "SELECT create_generator('$generator', 5)");
	my @owners = map { "first $_" } 1 .. 32;
	my @shards = lease_at_once($generator, @owners);
	is(in_order(@shards), $all, "32 callers at once, $round: a shard for each");

	my ($stdout, $stderr) =
	  ask($one, "SELECT flake_lease('one more', '1 hour', '$generator')");
	like($stderr, qr/^ERROR:  53400: .* no shard left to lease$/m,
		"the 33rd, $round: none is left");
	like($stderr, qr/^HINT:  .*flake_release/m, "the 33rd, $round: a hint");

	is(join(' ', lease_at_once($generator, @owners)),
		join(' ', @shards),
		"32 callers at once, again, $round: the same owner, the same shard");

	# As if time had passed.
	value($admin, 'UPDATE flake_leases SET not_before = not_before - interval'
		  . q( '1 day', expires_at = expires_at - interval '1 day'));
	is( in_order(lease_at_once($generator, map { "second $_" } 1 .. 32)),
		$all,
		"32 callers at once, $round: each takes over another shard");

	value($admin, "SELECT create_generator('same_$round', 5)");
	@shards = lease_at_once("same_$round", map { "owner " . $_ % 8 } 0 .. 31);
	is(in_order(@shards[ 0 .. 7 ]),
		join(' ', 24 .. 31),
		"32 callers, 8 owners, $round: a shard for each owner");
	is( join(' ', @shards),
		join(' ', map { @shards[ 0 .. 7 ] } 1 .. 4),
		"32 callers, 8 owners, $round: the same owner, the same shard");
}

my $script = PostgreSQL::Test::Utils::tempdir . '/lease.sql';
append_to_file($script,
	q(SELECT flake_lease('client ' || :client_id, '1 hour', 'by_pgbench');));
value($admin, q(SELECT create_generator('by_pgbench', 5)));
$node->command_ok(
	[
		'pgbench', '-n', '-c', '32', '-t', '3', '-f', $script,
		$node->connstr('postgres')
	],
	'pgbench, 32 clients, three times: a shard for each');
is( value(
		$admin,
		q(SELECT count(DISTINCT owner), count(*), count(DISTINCT (owner, shard)))
		  . q( FROM history WHERE generator = 'by_pgbench'::regclass)),
	'32|96|32',
	'pgbench: each client has kept its shard');

#
# A transaction that stays open keeps its own shard from others, and nothing
# else; what is undone was not leased.
#

# Rather an error than to wait for ever.
value($_, q(SET lock_timeout = '20s')) foreach $one, $two, $admin;

# Another owner's open transaction is not waited for: not even if the short hash of its
# name is the same.
my @names = split /\|/, value(
	$one, q(
	SELECT min(name), max(name) FROM (SELECT 'host ' || n AS name FROM generate_series(1, 300000) AS n) AS names
	GROUP BY hashtext(name) HAVING count(*) > 1 LIMIT 1));
value($one, "SELECT flake_lease('$names[0]', '1 hour', 'flake_default')");
value($two, "BEGIN; SELECT flake_lease('$names[1]', '1 hour', 'flake_default')");
is((ask($one, "SET lock_timeout = '1s'; SELECT flake_renew('$names[0]', '1 hour', 'flake_default')"))[1],
	'', 'a lease is renewed while another owner leases');
value($two, 'ROLLBACK');
value($one, "SELECT flake_release('$names[0]', 'flake_default'); SET lock_timeout = '20s'");
value($admin, q(SELECT create_generator('dropped', 3)));
lease($admin, 'x', 'dropped');
value($admin, q(SELECT create_generator('open', 2)));
value($one, 'BEGIN');
is(lease($one, 'a', 'open'), 3, 'a transaction leases, and stays open');
value($one, 'DROP SEQUENCE dropped');
is(lease($two, 'b', 'open'), 2, 'another leases, without waiting');
value($one, 'ROLLBACK');
is(lease($two, 'c', 'open'), 3, 'undone: another has the shard');
is( value(
		$admin,
		q(SELECT owner FROM flake_leases WHERE generator = 'dropped'::regclass)
	),
	'x',
	'undone: the lease of a generator that was not dropped is there');
value($admin, 'DROP SEQUENCE dropped');
is( value(
		$admin, 'SELECT count(*) FROM flake_leases l WHERE NOT EXISTS'
		  . ' (SELECT FROM pg_class WHERE oid = l.generator)'),
	0,
	'leases of a dropped generator are removed');
value($one, 'BEGIN; SAVEPOINT s');
is(lease($one, 'd', 'open'), 1, 'leased in a subtransaction');
value($one, 'ROLLBACK TO SAVEPOINT s');
is(lease($two, 'e', 'open'), 1, 'undone: another has the shard');
value($one, 'ROLLBACK; BEGIN');
is(lease($one, 'f', 'open'), 0, 'leased in a prepared transaction');
value($one, q(PREPARE TRANSACTION 'lease'));
is(code($two, q(SELECT flake_lease('g', '1 hour', 'open'))),
	'53400', 'prepared: another does not have it');
value($two, q(ROLLBACK PREPARED 'lease'));
is(lease($two, 'g', 'open'), 0, 'undone: another has it');

value($admin, 'UPDATE flake_leases SET not_before = not_before - interval'
	  . q( '1 day', expires_at = expires_at - interval '1 day'));
value($one, 'BEGIN');
my $taken = lease($one, 'h', 'open');
isnt(lease($two, 'i', 'open'), $taken,
	'two transactions take over different shards');
value($one, 'ROLLBACK');
is(lease($two, 'j', 'open'), $taken, 'not taken over: another may');

# A lease that the transaction's snapshot does not show
value($admin, q(SELECT create_generator('hidden', 1)));
value($one, q(BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1));
lease($two, 'a', 'hidden');
is(code($one, q(SELECT flake_detach(1, 'hidden'))),
	'55006', 'a shard that was leased after the snapshot cannot be detached');
value($one, 'ROLLBACK');
value($one, q(BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1));
lease($two, 'b', 'hidden');
is(code($one, q(SELECT flake_attach(0, generator => 'hidden'))),
	'55006', 'nor attached');
value($one, 'ROLLBACK');

# Who waits for the old process's transaction begins a margin after that.
value($one, q(BEGIN; SELECT flake_renew('a', '1 hour', 'hidden')));
send_query($two,
	q(SELECT not_before >= clock_timestamp() + '0.9 s' FROM flake_lease('a', '1 hour', 'hidden'))
);
wait_for_waiters($node, 1);
set_clock($clock, 60);
value($one, 'ROLLBACK');
is((get_answer($two))[0],
	't', 'after waiting, too, the lease begins a margin after the present');
set_clock($clock, 0);

#
# The margin, to the millisecond: the clock stands still.
#

my $now = time + 100;
stop_clock($clock, $now);
value($admin, q(SELECT create_generator('margin', 1)));
value($admin, q(SELECT flake_attach(0, generator => 'margin')));
is( value(
		$admin,
		q(SELECT shard, extract(epoch FROM not_before)::bigint,)
		  . q( extract(epoch FROM expires_at)::bigint)
		  . q( FROM flake_lease('old', '10 s', 'margin'))),
	"1|$now|" . ($now + 10),
	'a lease of 10 s');
my $last_id = value($admin,
	q(SELECT flake_make(expires_at - interval '1 ms', shard, 524287, flake_layout_of('margin')))
	  . q( FROM flake_leases WHERE generator = 'margin'::regclass));
foreach my $after (9, 10)
{
	stop_clock($clock, $now + $after);
	foreach my $call (
		[ '53400', q(flake_lease('new', '1 s', 'margin')) ],
		[ '55006', q(flake_attach(1, generator => 'margin')) ],
		[ '55006', q(flake_detach(1, 'margin')) ])
	{
		is(code($admin, "SELECT $call->[1]"),
			$call->[0], "after $after s, $call->[1]");
	}
}
stop_clock($clock, $now + 11);
value($one, 'BEGIN');
is( value(
		$one, q(SELECT shard, extract(epoch FROM not_before)::bigint)
		  . q( FROM flake_lease('new', '1 s', 'margin'))),
	'1|' . ($now + 11),
	'after 11 s another leases it, from then on');
value($one, 'ROLLBACK');
value($one, 'BEGIN');
my $bound = value($one, q(SELECT flake_detach(1, 'margin')));
cmp_ok($bound, '>', $last_id,
	'or it is detached, with a bound above what was leased');
is(value($one, q(SELECT flake_detach(1, 'margin'))),
	$bound, 'detached again: the same bound');
value($one, 'ROLLBACK');
value($one, q(SELECT flake_attach(1, generator => 'margin')));
set_clock($clock, $now + 12 - time);
cmp_ok(value($two, q(SELECT flake_id(1, 'margin'))),
	'>', $last_id, 'or it is attached, with ids above what was leased');
is(code($two, q(SELECT flake_renew('old', '1 s', 'margin'))),
	'42704', 'the old owner can renew it no more');
set_clock($clock, 0);

#
# The clock is set back and forth, by up to an hour, between calls: leases of a shard
# do not overlap, and the server mints only after them.
#

# For each shard, who had it from when to when, in their order
my %pieces;

# The leases as they are now: a new one, or an old one with another end.
sub note_leases
{
	foreach my $row (
		split /\n/,
		value(
			$admin, q(SELECT shard, owner, extract(epoch FROM not_before), extract(epoch FROM expires_at))
			  . q( FROM flake_leases WHERE generator = 'steps'::regclass)))
	{
		my ($shard, $owner, $from, $upto) = split /\|/, $row;
		my $last = $pieces{$shard}[-1];

		if (defined $last && $last->[0] eq $owner && $last->[1] == $from)
		{
			$last->[2] = $upto;
		}
		else
		{
			push @{ $pieces{$shard} }, [ $owner, $from, $upto ];
		}
	}
	return;
}

srand(26);
value($admin, q(SELECT create_generator('steps', 5)));
value($admin, 'SET flakeid.max_wait = 0');
foreach my $round (1 .. 400)
{
	my $owner = 'owner ' . int rand 20;
	my @shards = sort keys %pieces;
	my $shard = @shards ? $shards[ rand @shards ] : 31;

	set_clock($clock, (0, 3, 6, 20, 60, 3600, -2, -60, -3600)[ rand 9 ])
	  if $round % 2;
	ask($admin,
		(
			("SELECT flake_lease('$owner', '5 s', 'steps')") x 6,
			("SELECT flake_renew('$owner', '10 s', 'steps')") x 2,
			("SELECT flake_release('$owner', 'steps')") x 2,
			"SELECT flake_detach($shard, 'steps')"
		)[ rand 11 ]);
	note_leases();
	next if $round % 10;
	my ($stdout) = ask($admin,
		"SELECT flake_attach($shard, generator => 'steps'); SELECT 'at', extract(epoch FROM"
		  . " flake_timestamp(flake_id($shard, 'steps'), flake_layout_of('steps')))"
	);
	push @{ $pieces{$shard} }, [ 'server', $1, $1 ]
	  if $stdout =~ /^at\|([\d.]+)$/m;
}
value($admin, 'RESET flakeid.max_wait');
set_clock($clock, 0);

my (@too_early, %how);
foreach my $shard (keys %pieces)
{
	my ($who, $begun, $end) = ('', 0, 0);

	foreach my $piece (@{ $pieces{$shard} })
	{
		my $is_same = $piece->[0] eq $who;

		# Who leases again has stopped, and goes on later than before.
		push @too_early, "$shard: @$piece"
		  if $is_same ? $piece->[1] < $begun : $piece->[1] < $end;
		$how{ $is_same ? 'again' : $who eq '' ? 'first' : $piece->[0] eq 'server' ? 'server' : 'another' }++;
		($who, $begun) = @$piece;
		$end = $piece->[2] if $piece->[2] > $end || $is_same;
	}
}
is_deeply(\@too_early, [], 'clock set back and forth: no overlaps');
cmp_ok($how{$_} || 0, '>', 0, "clock set back and forth: $_")
  foreach qw(first again another server);
note(join ', ', map { "$how{$_} $_" } sort keys %how);

#
# Processes that mint, die and are replaced.
#

my $minter = "$FindBin::RealBin/lib/minter.pl";
my $minters = 0;
my @minters;

# For how many seconds they lease.  Within that they must be able to call psql several
# times, to renew a lease and to give it back, also on a machine that is emulated.
my $begin = Time::HiRes::time();
$node->safe_psql('postgres', 'SELECT') foreach 1 .. 3;
my $ttl = max(1.5, 5 * (Time::HiRes::time() - $begin));

# Starts a process whose clock is so many seconds off.
sub start_minter
{
	my ($owner, $offset, @more) = @_;
	my $file = PostgreSQL::Test::Utils::tempdir . '/minter_' . ++$minters;
	my $process = { owner => $owner, file => $file };

	append_to_file($file, '');
	$process->{run} = IPC::Run::start(
		[
			$^X, $minter, $node->connstr('postgres'),
			$owner, 'leased', $ttl, $offset, $file, @more
		],
		'<', '/dev/null', '2>', '/dev/null');
	push @minters, $process;
	return $process;
}

# Its lines; without one that was being written when it was killed.
sub lines
{
	my ($process) = @_;

	return split /\n/, slurp_file($process->{file}) =~ s/[^\n]*\z//r;
}

sub has_line
{
	my ($process, $pattern) = @_;

	return scalar grep { $_ =~ $pattern } lines($process);
}

sub stop_minter
{
	my ($process, $signal) = @_;

	$process->{run}->signal($signal);
	$process->{run}->finish;
	return;
}

$node->safe_psql(
	'postgres', q(
SELECT flake_create_generator('public.leased', 'ts:41 shard:3 seq:3 epoch=2020-01-01 unit=10ms start=zero');
SELECT flake_attach(0, generator => 'leased'), flake_attach(1, generator => 'leased');
));
my @clients;
push @clients,
  start_clients($node, sql => "SELECT flake_id($_, 'leased');")
  foreach 0, 0, 1;

# One is an hour behind: its lease never begins.  One is an hour ahead, and finds
# it over.  One does not renew.
my $behind = start_minter('behind', -3600, 'once');
my $ahead = start_minter('ahead', 3600, 'once');
my $negligent = start_minter('negligent', 0, 'once');
foreach my $process ($ahead, $negligent)
{
	$process->{run}->finish;
	is(has_line($process, qr/^over$/), 1, "$process->{owner}: lease over");
}
is(has_line($behind, qr/^lease/), 1, 'an hour behind: a lease');
is(has_line($behind, qr/^id/), 0, 'an hour behind: waits');
stop_minter($behind, 'KILL');
is(has_line($ahead, qr/^id/), 0, 'an hour ahead: no ids');
isnt(has_line($negligent, qr/^id/), 0, 'not renewed: ids before it is over');

# Six shards are to be had, for seven processes, whose clocks are off by less than
# the margin, also after the server's is set back.
srand(20);
my @offsets = (0, 0.4, -0.4);
my $names = 0;
my @running =
  map { start_minter('minter ' . ++$names, $offsets[ $names % 3 ]) } 1 .. 7;

# Ids that have been minted so far.
sub minted
{
	my ($process) = @_;

	return has_line($process, qr/^id/);
}

# Waits until so many of the running ones have minted more.
sub wait_for_ids
{
	my ($number) = @_;
	my %before = map { $_->{file} => minted($_) } @running;

	wait_until(
		sub {
			$number <= grep { minted($_) > $before{ $_->{file} } } @running;
		},
		"$number processes have minted");
	return;
}

foreach my $round (1 .. 25)
{
	my $i = int rand @running;
	my $old = $running[$i];
	my $how = (qw(restart restart replace replace release))[ rand 5 ];

	wait_for_ids(3);
	if ($round == 10)
	{
		kill9_and_wait($node);
		finish_clients(@clients);
		$_->{run}->finish foreach $one, $two, $admin;
		start_with_clock($node, $clock);
		($one, $two, $admin) = new_sessions($node, 3);
		push @clients,
		  start_clients($node, sql => "SELECT flake_id($_, 'leased');")
		  foreach 0, 1;
	}
	set_clock($clock, -0.3) if $round == 18;
	stop_minter($old, $how eq 'release' ? 'TERM' : 'KILL');
	$running[$i] =
	  start_minter($how eq 'restart' ? $old->{owner} : 'minter ' . ++$names,
		$offsets[ rand 3 ]);
}
wait_for_ids(5);
stop_minter($_, 'KILL') foreach @running;
stop_clients($node, @clients[ -2, -1 ]);

# One list of ids for each process and each of the database's clients
my @minted = map {
	[ map { /^id (\d+)$/ ? $1 : () } lines($_) ]
} @minters;
my $number = 0;
$number += @$_ foreach @minted;
cmp_ok($number, '>', 3000, 'processes have minted thousands of ids');
is(first_duplicate(@minted, map { ids($_) } @clients),
	undef, 'no id repeats');
is_deeply([ grep { defined } map { first_descent($_) } @minted ],
	[], 'ids of a process increase');
is_deeply(
	[ grep { ($_ >> 3 & 7) > 1 } map { @{ ids($_) } } @clients ],
	[], 'the database has minted its own shards only');

# Who had which shard when, in ticks
my @history = map { [ split /\|/ ] } split /\n/, value($admin,
	'SELECT shard, owner, '
	  . join(', ',
		map { "floor(extract(epoch FROM $_ - timestamptz '2020-01-01Z') * 1000000)::bigint" }
		  'not_before', 'expires_at')
	  . q( FROM history WHERE generator = 'leased'::regclass ORDER BY n));

# No two owners of a shard share an instant, and who leases it again begins
# after the lease that was taken before.
my (%latest, %count, @overlaps, %leases);
foreach my $row (@history)
{
	my ($shard, $owner, $not_before, $expires_at) = @$row;
	my $old = $latest{$shard};

	push @{ $leases{"$owner/$shard"} }, $row;
	$latest{$shard} = $row;
	if (!defined $old)
	{
		$count{first}++;
	}
	elsif ($owner ne $old->[1])
	{
		$count{'taken over'}++;
		push @overlaps, "@$old, @$row" if $not_before < $old->[3] + 1_000_000;
	}
	elsif ($not_before != $old->[2])
	{
		$count{'taken again'}++;
		push @overlaps, "@$old, @$row" if $not_before < $old->[2];
	}
	else
	{
		$count{ $expires_at < $old->[3] ? 'released' : 'renewed' }++;
	}
}
is_deeply(\@overlaps, [],
	'a lease begins a margin after the end of the one before');
foreach my $what ('first', 'taken over', 'taken again', 'released', 'renewed')
{
	cmp_ok($count{$what} || 0, '>', 0, "leases were $what");
}
note(join ', ', "$number ids", map { "$count{$_} $_" } sort keys %count);

my @not_leased;
foreach my $i (0 .. $#minters)
{
	my $owner = $minters[$i]{owner};

	foreach my $id (@{ $minted[$i] })
	{
		my $shard = $id >> 3 & 7;
		my $from = ($id >> 6) * 10_000;

		push @not_leased, "$id of $owner"
		  unless grep { $_->[2] <= $from && $from < $_->[3] }
		  @{ $leases{"$owner/$shard"} };
	}
}
is_deeply(\@not_leased, [], 'each id is within a lease of who minted it');
set_clock($clock, 0);

#
# A dump and a standby know the leases.
#

my $leases = 'SELECT generator, shard, owner, role, not_before, expires_at'
  . ' FROM flake_leases ORDER BY generator::text COLLATE "C", shard';
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
value($admin, 'SET client_min_messages = error; DROP SCHEMA noted CASCADE');
$node->command_ok(
	[ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ], 'pg_dump');
value($admin, 'CREATE DATABASE restored');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'),
		$dump
	],
	'pg_restore');
is($node->safe_psql('restored', $leases),
	value($admin, $leases), 'restored: the same leases');

my $standby = start_standby($node, 'standby', $clock);
change_setting($node, 'synchronous_standby_names', '*');
$node->poll_query_until('postgres',
	q(SELECT count(*) = 1 FROM pg_stat_replication WHERE sync_state = 'sync')
) or die 'the standby is not synchronous';
value($admin, q(SELECT create_generator('failover', 1)));
is(lease($admin, 'last', 'failover'), 1, 'leased before the failover');
my $before = value($admin, $leases);
end_session($one, $two, $admin);
kill9_and_wait($node);
$standby->promote;
my $heir = new_session($standby);
is(value($heir, $leases), $before, 'failover: the same leases');
is(code($heir, q(SELECT flake_id(1, 'failover'))),
	'55000', 'failover: a leased shard is not minted');
is(lease($heir, 'next', 'failover'), 0, 'failover: another owner, another shard');
is(lease($heir, 'last', 'failover'), 1, 'failover: the same owner, the same shard');
end_session($heir);
$standby->stop;
stop_killed($node);
done_testing();
