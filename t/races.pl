# Copyright (c) 2026, the flakeid developers

# No two sessions harm each other within a few instructions.  Each such window is
# held open by a session that is stopped in it, while others do their worst.
# docs/internals/races.md lists the windows and their tests, and says why some
# windows cannot be tested.
#
# To be stopped at a certain place, sessions run flakeid as it is, but compiled
# once more with calls to t/lib/stops.c.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use File::Copy;
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

# The states of a stop, and how it lies in the file: see t/lib/stops.c.
my ($FREE, $ARMED, $REACHED, $GO_ON) = 0 .. 3;
my $STOPS = 8;
my $STOP = 'l l q l l';
my $STOP_SIZE = length pack $STOP, (0) x 5;

plan skip_all => 'sessions are stopped with the means of Linux'
  if $^O ne 'linux';
plan skip_all => 'nm is missing' if system('nm --version >/dev/null 2>&1');

# Compiles flakeid to be stopped, and returns the library's path.
sub compile_library
{
	my $source = "$FindBin::RealBin/..";
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $pg_config = $ENV{PG_CONFIG} || 'pg_config';
	my ($cc) = run_command([ $pg_config, '--cc' ]);
	my @cc = split ' ', $cc;

	# Not those of the make that runs this.
	local @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL COPT)};
	delete @ENV{qw(MAKEFLAGS MFLAGS MAKELEVEL COPT)};

	copy("$source/Makefile", $directory) or die "Makefile: $!";
	foreach my $folder ('src', map { s{^\Q$source/}{}r } glob "$source/src/*/")
	{
		mkdir "$directory/$folder" or die "$directory/$folder: $!";
		foreach my $file (glob "$source/$folder/*.[ch]")
		{
			copy($file, "$directory/$folder") or die "$file: $!";
		}
	}
	system_log(@cc, '-O1', '-fPIC', '-c', '-o', "$directory/stops.o",
		"$FindBin::RealBin/lib/stops.c") == 0
	  or die 'could not compile t/lib/stops.c';

	# Without inlining, all functions can be told apart.
	system_log('make', '-s', '-C', $directory, "PG_CONFIG=$pg_config",
		'with_llvm=no',
		'COPT=-O1 -fno-inline -fno-lto -finstrument-functions'
		  . ' -Dpg_strong_random=random_or_not',
		'SHLIB_LINK=-lcrypto stops.o', 'flakeid.so') == 0
	  or die 'could not compile flakeid';
	return "$directory/flakeid.so";
}

my $library = compile_library();

# Function name => its addresses; a static inline one may have several.
my %addresses;
{
	my ($symbols) = run_command([ 'nm', $library ]);

	foreach (split /\n/, $symbols)
	{
		push @{ $addresses{$2} }, hex $1 if /^([0-9a-f]+) [tT] (\w+)$/;
	}
}

my $stops_file = PostgreSQL::Test::Utils::tempdir . '/stops';
append_to_file($stops_file, "\0" x ($STOPS * $STOP_SIZE));
$ENV{FLAKE_STOPS} = $stops_file;

sub read_stops
{
	my $contents = slurp_file($stops_file);

	return
	  map { [ unpack $STOP, substr $contents, $_ * $STOP_SIZE, $STOP_SIZE ] }
	  0 .. $STOPS - 1;
}

# Writes a part of a stop: what it begins with, or all.
sub write_stop
{
	my ($number, $packed) = @_;

	open my $handle, '+<:raw', $stops_file or die "$stops_file: $!";
	sysseek $handle, $number * $STOP_SIZE, 0;
	syswrite($handle, $packed) == length $packed or die "$stops_file: $!";
	close $handle or die "$stops_file: $!";
	return;
}

my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	allows_streaming => 1,
	conf => q(
autovacuum = off			# it would wait for locks, too
wal_writer_delay = 10s		# nor is WAL to be written by others
max_prepared_transactions = 1
flakeid.max_ahead = 10min
),
	sql => qq(
CREATE EXTENSION flakeid;
UPDATE pg_proc SET probin = '$library' WHERE probin = '\$libdir/flakeid';
CREATE ROLE minter;
CREATE ROLE minters;
));

# Three sessions that mint, and one that looks on; $admin uses nothing of
# flakeid, or it would wait where they do.
my ($one, $two, $three, $admin);

sub end_sessions
{
	foreach my $session ($one, $two, $three, $admin)
	{
		end_session($session) if defined $session;
		undef $session;
	}
	return;
}

# A session that stop_at() can stop.
sub connect_to
{
	my ($dbname) = @_;
	my $session = new_session($node, $dbname);

	($session->{pid}) = ask($session, 'SELECT pg_backend_pid()');
	return $session;
}

sub connect_anew
{
	end_sessions();
	$_ = connect_to('postgres') foreach $one, $two, $three, $admin;
	return;
}

# All shared memory of flakeid is gone after this.
sub restart
{
	end_sessions();
	$node->stop('fast');
	start_with_clock($node, $clock);
	connect_anew();
	return;
}

# The same, without a chance for anybody to write anything.
sub crash
{
	kill9_and_wait($node);
	foreach my $session ($one, $two, $three, $admin)
	{
		$session->{run}->finish;
		undef $session;
	}
	start_with_clock($node, $clock);
	wait_until_up($node);
	connect_anew();
	return;
}

# What a session gets for SQL that must not fail.
sub answer
{
	my ($session) = @_;
	my ($stdout, $stderr) = get_answer($session);

	die $stderr if $stderr ne '';
	return $stdout;
}

# Has a session begin with SQL, and waits until it has come to a place: "enter"
# or "exit" and a function.
sub stop_at
{
	my ($session, $place, $sql) = @_;
	my ($phase, $function) = split ' ', $place;
	my @numbers;

	die "no function $function" unless $addresses{$function};
	foreach my $address (@{ $addresses{$function} })
	{
		my @stops = read_stops();
		my ($number) = grep { $stops[$_][0] == $FREE } 0 .. $#stops;

		write_stop($number, pack $STOP, $ARMED, $session->{pid}, $address,
			$phase eq 'exit' ? 1 : 0, 0);
		push @numbers, $number;
	}
	send_query($session, $sql);
	wait_until(
		sub {
			my @stops = read_stops();

			return 1 if grep { $stops[$_][0] == $REACHED } @numbers;
			die "not stopped at $place: " . join ' ', get_answer($session)
			  if is_done($session);
			return 0;
		},
		"a session is at $place");
	return;
}

# Lets a stopped session go on, until it has come to a place again.
sub stop_again
{
	my ($session, $place) = @_;
	my ($phase, $function) = split ' ', $place;
	my ($reached) =
	  grep { (read_stops())[$_][0] == $REACHED } 0 .. $STOPS - 1;

	foreach my $address (@{ $addresses{$function} })
	{
		my @stops = read_stops();

		next
		  if grep { $_->[0] == $ARMED && $_->[1] == $session->{pid} && $_->[2] == $address } @stops;
		my ($number) = grep { $stops[$_][0] == $FREE } 0 .. $#stops;
		write_stop($number, pack $STOP, $ARMED, $session->{pid}, $address,
			$phase eq 'exit' ? 1 : 0, 0);
	}
	write_stop($reached, pack 'l', $GO_ON);
	wait_until(
		sub {
			my @stops = read_stops();

			return grep { $_ != $reached && $stops[$_][0] == $REACHED } 0 .. $#stops;
		},
		"a session is at $place again");
	return;
}

# Lets a stopped session go on.
sub let_go
{
	my ($session) = @_;
	my @stops = read_stops();

	foreach my $number (grep { $stops[$_][1] == $session->{pid} } 0 .. $#stops)
	{
		my $state = $stops[$number][0];

		write_stop($number, pack 'l', $GO_ON) if $state == $REACHED;
		write_stop($number, pack 'l', $FREE) if $state == $ARMED;
	}
	return;
}

# Whether a session has answered what it was sent.
sub is_done
{
	my ($session) = @_;

	$session->{run}->pump_nb;
	return $session->{out} =~ /^=done=\n/m && $session->{err} =~ /^=done=\n/m;
}

# Whether a session waits, in the way that a condition on pg_stat_activity says,
# instead of going on.
sub is_waiting
{
	my ($session, $condition) = @_;
	my $waits;

	wait_until(
		sub {
			$waits = value($admin,
				"SELECT $condition FROM pg_stat_activity WHERE pid = $session->{pid}"
			) eq 't';
			return $waits || is_done($session);
		},
		'a session waits or has answered');
	return $waits;
}

# For a lightweight lock.  Locks on buffers are listed as such in newer versions.
sub waits_inside
{
	my ($session) = @_;

	return is_waiting($session, q(wait_event_type IN ('LWLock', 'Buffer')));
}

# For a lock that another session holds.
sub waits_for
{
	my ($session, $holder) = @_;

	return is_waiting($session, "$holder->{pid} = ANY (pg_blocking_pids(pid))");
}

sub is_error
{
	my ($code, $what, $stdout, $stderr) = @_;

	return is(error_code($stdout, $stderr), $code, $what);
}

# SQL that mints so many ids and returns the last of them; the others are never
# made.
sub largest_of
{
	my ($count, $shard, $generator) = @_;

	$generator ||= 'flake_default';
	return 'SELECT flake_last_id() FROM'
	  . " (SELECT flake_ids($shard, $count, '$generator') LIMIT 1) AS s";
}

# So many run a minute ahead of the clock.  Whoever does not know of them mints
# some of them again.
my $MINUTE = 60_000 * 1024;

# Asks for an id of a generator that may have been dropped.
sub by_oid
{
	my ($oid) = @_;

	return "SELECT flake_id(0, ${oid}::regclass)";
}

connect_anew();
my ($id, $above, $bound);


# The first users after a server start, and the first of a shard.

restart();
stop_at($one, 'enter header_init', 'SELECT flake_id(1)');
send_query($two, 'SELECT flake_id(1)');
ok(waits_inside($two), 'header: the second session waits for the first');
let_go($one);
$id = answer($one);
cmp_ok(answer($two), '!=', $id, 'header: two ids');
is(value($three, 'SELECT sum(issued) FROM flake_stat'),
	2, 'header: there is one, for all');

# A header without its random bytes is none.
restart();
append_to_file("$stops_file.norandom", '');
is(code($one, 'SELECT flake_objectid()'),
	'XX000', 'header: no random bytes, an error');
unlink "$stops_file.norandom";
unlike(
	value($two, 'SELECT flake_objectid()'),
	qr/^.{8}0{10}/, 'header: the next session draws them');

restart();
stop_at($one, 'enter area_create', 'SELECT flake_id(1)');
send_query($two, 'SELECT flake_id(1)');
ok(waits_inside($two), 'area: the second session waits for the first');
let_go($one);
$id = answer($one);
cmp_ok(answer($two), '!=', $id, 'area: two ids');
is(value($three, 'SELECT sum(issued) FROM flake_stat'),
	2, 'area: there is one, for all');

# Both have found nothing, so that both are to make it.
restart();
stop_at($one, 'enter make', 'SELECT flake_id(1)');
$above = value($two, largest_of($MINUTE, 1));
let_go($one);
cmp_ok(answer($one), '>', $above, 'horizon: made by another session meanwhile');

stop_at($one, 'enter make', 'SELECT flake_id(2)');
$above = value($two, largest_of($MINUTE, 2));
let_go($one);
cmp_ok(answer($one), '>', $above, 'slot: made by another session meanwhile');

stop_at($one, 'enter init_slot', 'SELECT flake_id(3)');
send_query($two, 'SELECT flake_id(3)');
ok(waits_inside($two), 'slot: not to be seen before it is complete');
let_go($one);
$id = answer($one);
cmp_ok(answer($two), '!=', $id, 'slot: two ids');

value($admin, q(SELECT flake_create_generator('fresh')));
connect_anew();
stop_at($one, 'enter init_horizon', q(SELECT flake_id(1, 'fresh')));
send_query($two, q(SELECT flake_id(1, 'fresh')));
ok(waits_inside($two), 'horizon: not to be seen before it is complete');
let_go($one);
$id = answer($one);
cmp_ok(answer($two), '!=', $id, 'horizon: two ids');

restart();
stop_at($one, 'enter synchronize', q(SELECT flake_id(1, 'fresh')));
send_query($two, q(SELECT flake_id(1, 'fresh')));
ok(waits_inside($two), 'first use: the second session waits for the first');
let_go($one);
$id = answer($one);
cmp_ok(answer($two), '!=', $id, 'first use: two ids');


# Minting, with another session in between.

stop_at($one, 'exit choose_by_clock', 'SELECT flake_id(4)');
$above = value($two, largest_of(100, 4));
let_go($one);
$id = answer($one);
cmp_ok($id, '>', $above, 'claim: others have minted meanwhile');
cmp_ok(value($two, 'SELECT flake_id(4)'), '>', $id, 'claim: and go on above');

value($one,
	q(SELECT flake_create_generator('dense', 'shard:4 seq:40 block=1000')));
value($one, q(SELECT flake_id(0, 'dense')));
stop_at($one, 'enter flake_horizon_margin', q(SELECT flake_id(0, 'dense')));
$above = value($two, largest_of(100, 0, 'dense'));
let_go($one);
is(answer($one), $above + 1, 'claim: the same without time');

# The generator is advanced meanwhile.
$above = value($one, 'SELECT flake_id(4)') + (30000 << 23);
stop_at($one, 'exit choose_by_clock', 'SELECT flake_id(4)');
value($two, "SELECT flake_advance('flake_default', $above)");
let_go($one);
cmp_ok(answer($one), '>', $above,
	'claim: the generator was advanced meanwhile');

$above = value($one, q(SELECT flake_id(0, 'dense'))) + 500;
stop_at($one, 'enter flake_horizon_margin', q(SELECT flake_id(0, 'dense')));
value($two, "SELECT flake_advance('dense', $above)");
let_go($one);
is(answer($one), $above + 1, 'claim: advanced, the same without time');

# It is advanced while the slot is closed, which is then opened, by who has not
# claimed anything yet.
foreach my $case (
	[ 'flake_default', 4, 'exit choose_by_clock', 30000 << 23 ],
	[ 'dense', 0, 'enter flake_horizon_margin', 500 ])
{
	my ($generator, $shard, $place, $distance) = @$case;

	$above =
	  value($one, "SELECT flake_id($shard, '$generator')") + $distance;
	stop_at($one, $place, "SELECT flake_id($shard, '$generator')");
	value($two, "BEGIN; SELECT flake_detach($shard, '$generator')");
	value($three, "SELECT flake_advance('$generator', $above)");
	value($two, 'ROLLBACK');
	stop_at($two, 'exit flake_slot_open',
		"SELECT flake_id($shard, '$generator')");
	let_go($one);
	cmp_ok(answer($one), '>', $above,
		"claim: advanced while the slot was closed, $generator");
	let_go($two);
	cmp_ok(answer($two), '>', $above,
		"claim: a session that has opened it, too, $generator");
}

# Detached while a claim is under way; and the other way round.
stop_at($one, 'exit choose_by_clock', 'SELECT flake_id(4)');
value($two, 'SELECT flake_detach(4)');
let_go($one);
is_error('55000', 'claim: the shard was detached meanwhile',
	get_answer($one));

value($two, 'SELECT flake_attach(4)');
value($two, 'SELECT flake_id(4)');
stop_at($one, 'exit choose_by_clock', 'SELECT flake_id(4)');
$bound = value($two, 'SELECT flake_detach(4)');
value($two, "SELECT flake_attach(4, $bound + (3000::bigint << 23))");
let_go($one);
cmp_ok(answer($one), '>=', $bound + (3000 << 23),
	'claim: the shard was detached and attached meanwhile');

stop_at($two, 'exit raise_resume', 'SELECT flake_detach(4)');
$above = value($one, largest_of(100, 4));
let_go($two);
cmp_ok(answer($two), '>=', $above,
	'detach: the bound counts what is minted to the last');
is(code($one, 'SELECT flake_id(4)'), '55000', 'detach: no more ids');

# Opening a slot while it is opened, or closed, by another session.
value($two, 'SELECT flake_attach(4)');
stop_at($one, 'exit raise_resume', 'SELECT flake_id(4)');
send_query($two, largest_of($MINUTE, 4));
ok(waits_inside($two), 'open: a session that opens it at the same time waits');
value($admin, 'ALTER DATABASE postgres CONNECTION LIMIT -1');
my $closer = connect_to('postgres');
send_query($closer, 'SELECT flake_id(4)');
ok(waits_inside($closer), 'open: and who closes it');
let_go($one);
my @ids = sort { $a <=> $b } map { answer($_) } $one, $closer;
$above = answer($two);
ok($ids[0] != $ids[1]
	  && !(grep { $_ > $above - $MINUTE && $_ <= $above } @ids),
	'open: no id comes twice')
  or diag "@ids, $above";
end_session($closer);

# A claim under way, when all slots are closed because the row of the database in
# pg_database is another one.
stop_at($one, 'exit choose_by_clock', 'SELECT flake_id(4)');
value($admin, 'ALTER DATABASE postgres CONNECTION LIMIT -1');
end_session($three);
$three = connect_to('postgres');
$above = value($three, largest_of($MINUTE, 4));
let_go($one);
cmp_ok(answer($one), '>', $above, 'claim: the slot was closed and opened meanwhile');

value($two, 'SELECT flake_attach(4)');
stop_at($one, 'enter flake_slot_open', 'SELECT flake_id(4)');
send_query($two, 'SELECT flake_detach(4)');
ok(waits_for($two, $one), 'open: detaching waits for who has read the state');
let_go($one);

# Either of them may be first now.
my ($stdout, $stderr) = get_answer($one);
$bound = answer($two);
ok( $stderr eq '' ? $stdout <= $bound : $stderr =~ /55000: shard 4 is detached/,
	'open: an id that the bound counts, or none')
  or diag "bound $bound, $stdout$stderr";
is(code($one, 'SELECT flake_id(4)'), '55000', 'open: no more ids');

# A row that is written by hand does not take the shard's lock.  Its commit waits
# for those who have read the state, and they for it.
my $by_hand =
  q{INSERT INTO flake_shard_state VALUES ('flake_default', %d, false, NULL, now())};
stop_at($one, 'enter flake_slot_open', 'SELECT flake_id(814)');
send_query($two, sprintf $by_hand, 814);
ok(waits_for($two, $one), 'open: a row written by hand waits for who has read the state');
let_go($one);
get_answer($one);		# an id, or the slot is closed already
answer($two);
is(code($_, 'SELECT flake_id(814)'), '55000', 'open: a row written by hand counts')
  foreach $one, $two;

stop_at($one, 'enter flake_slot_open', 'SELECT flake_id(816)');
send_query($two, 'BEGIN; LOCK TABLE flake_shard_state');
ok(waits_for($two, $one), 'open: so does who locks the table');
let_go($one);
answer($one);
answer($two);
value($two, sprintf $by_hand, 816);
send_query($one, 'SELECT flake_id(817)');
ok(waits_for($one, $two), 'open: and the next waits for that');
value($two, 'COMMIT');
answer($one);
is(code($one, 'SELECT flake_id(816)'), '55000', 'open: a row written under that lock counts');

value($two, 'BEGIN; ' . sprintf $by_hand, 818);
value($two, q(PREPARE TRANSACTION 'by hand'));
send_query($one, 'SELECT flake_id(818)');
ok(is_waiting($one, '0 = ANY (pg_blocking_pids(pid))'),
	'open: a prepared transaction that has written is waited for');
value($two, q(COMMIT PREPARED 'by hand'));
is(error_code(get_answer($one)), '55000', 'open: and what it has written counts');

value($two, 'SET synchronous_commit = off');
my $written =
  value($two, sprintf("$by_hand RETURNING pg_current_wal_insert_lsn()", 820));
value($two, 'RESET synchronous_commit');
is(value($two, "SELECT pg_current_wal_flush_lsn() >= '$written'::pg_lsn"),
	't', 'a row written by hand is on disk, whatever synchronous_commit says');

# The slot of such a row is closed before the commit, so that an error there undoes the
# row.  Here the session needs the shared memory for the first time, and cannot have it.
value($two, 'SELECT flake_id(822)');
my $newcomer = connect_to('postgres');
my %segments = map { $_ => 1 } slurp_file("/proc/$two->{pid}/maps") =~ m{ (/dev/shm/PostgreSQL\.\d+)$}mg;
cmp_ok(scalar keys %segments, '>', 0, 'the shared memory is in files');
rename $_, "$_.away" or die "could not rename $_: $!" foreach keys %segments;
is(code($newcomer, sprintf $by_hand, 822),
	'58P01', 'a row written by hand: no shared memory, an error');
rename "$_.away", $_ or die "could not rename $_.away: $!" foreach keys %segments;
is(value($newcomer, 'SELECT count(*) FROM flake_shard_state WHERE shard = 822'),
	0, 'a row written by hand: then it is not there');
like(value($two, 'SELECT flake_id(822)'),
	qr/^\d+$/, 'a row written by hand: nor does it count');
end_session($newcomer);

# Who reads the states has locked their index before the lock that the commit needs.
stop_at($one, 'enter flake_shard_read_row', 'SELECT flake_id(824)');
send_query($two,
	'BEGIN; REINDEX TABLE flake_shard_state; ' . sprintf("$by_hand; COMMIT", 826));
ok(waits_for($two, $one), 'REINDEX of the states waits for who reads them');
let_go($one);
is((get_answer($_))[1], '', 'REINDEX of the states: both go on')
  foreach $one, $two;
is(code($one, 'SELECT flake_id(826)'), '55000',
	'REINDEX of the states: a row that its transaction has written counts');

# In one session: who has closed it has the lock till its commit.
value($one, 'SELECT flake_attach(4); SELECT flake_id(4)');
stop_at($two, 'exit close_slot', 'BEGIN; SELECT flake_detach(4)');
send_query($one, 'SELECT flake_id(4)');
ok(waits_for($one, $two), 'detach: closed, but not decided: others wait');
let_go($two);
answer($two);
value($two, 'ROLLBACK');
like(answer($one), qr/^\d+$/, 'detach: undone, they go on');

# The setting changes: who has begun without it may finish.
stop_at($one, 'exit choose_by_clock', 'SELECT flake_id(4)');
value($two, 'ALTER SYSTEM SET flakeid.require_attach = on');
value($two, 'SELECT pg_reload_conf()');
wait_until(sub { value($two, 'SHOW flakeid.require_attach') eq 'on' },
	'the setting is changed');
let_go($one);
like(answer($one), qr/^\d+$/, 'require_attach: turned on in a claim');
value($two, 'SELECT flake_detach(4)');
is(code($one, 'SELECT flake_id(4)'),
	'55000', 'require_attach: and then respected');
value($two, 'SELECT flake_attach(4)');
wait_until(sub { code($one, 'SELECT flake_id(5)') eq '55000' },
	'every session has the setting');
value($two, 'ALTER SYSTEM RESET flakeid.require_attach');
value($two, 'SELECT pg_reload_conf()');
wait_until(sub { code($one, 'SELECT flake_id(5)') !~ /^55000/ },
	'the setting is changed back');


# Extending the horizon.  In "dense", values are numbers: how far it goes is easy
# to see.

sub horizon_of_dense { return value($admin, 'SELECT last_value FROM dense'); }

# The next number of a shard of "dense", and SQL to claim up to a number.
sub up_to
{
	my ($number, $shard) = @_;
	my $last = value($three, "SELECT flake_id($shard, 'dense')") &
	  ((1 << 40) - 1);

	return largest_of($number - $last, $shard, 'dense');
}

# Not to be looked up then.
value($_, q(SELECT flake_id(0, 'dense'))) foreach $one, $two, $three;
my $horizon = horizon_of_dense();
my @claims = map { up_to(@$_) }
  [ $horizon + 300, 1 ],
  [ $horizon + 800, 2 ],
  [ $horizon - 10, 3 ];
stop_at($one, 'enter publish', $claims[0]);
send_query($two, $claims[1]);
ok(waits_inside($two),
	'extend: a session that needs more than is published waits for it');
like(value($three, $claims[2]),
	qr/^\d+$/, 'extend: a session that needs no more does not wait');
let_go($one);
answer($_) foreach $one, $two;
is(horizon_of_dense(), $horizon + 300 + 1000,
	'extend: one for both, as it was enough');

# What others take of a horizon must be on disk by then, wherever the session
# is that has moved it.
$horizon = horizon_of_dense();
@claims = map { up_to(@$_) } [ $horizon + 1, 4 ], [ $horizon + 900, 5 ];
stop_at($one, 'exit publish', $claims[0]);
$above = value($two, $claims[1]);
crash();
cmp_ok(value($one, q(SELECT flake_id(5, 'dense'))), '>', $above,
	'extend: published, a crash, no number again');

# setval(), which knows nothing of it.
$horizon = horizon_of_dense();
stop_at($one, 'enter flake_horizon_page_write', up_to($horizon + 1, 6));
send_query($two, q(SELECT setval('dense', 1000000)));
ok(waits_inside($two), 'extend: setval() waits between reading and writing');
let_go($one);
answer($_) foreach $one, $two;
connect_anew();
cmp_ok(value($one, q(SELECT flake_id(6, 'dense'))) & ((1 << 40) - 1),
	'>', 1000000, 'extend: setval() upwards is respected after that');

# Advanced while somebody else moves it, who has read the floor before.
$horizon = horizon_of_dense();
$above = $horizon + 50000;
stop_at($one, 'enter publish', up_to($horizon + 1, 6));
send_query($two, "SELECT flake_advance('dense', $above)");
ok(waits_inside($two), 'extend: flake_advance() waits for it');
let_go($one);
answer($_) foreach $one, $two;
is(value($three, q(SELECT flake_id(0, 'dense'))),
	$above + 1, 'extend: flake_advance() is not lost');

$horizon = horizon_of_dense();
stop_at($one, 'enter publish', up_to($horizon + 1, 7));
value($two, q(SELECT setval('dense', 5)));
let_go($one);
$above = answer($one);
crash();
cmp_ok(value($one, q(SELECT flake_id(7, 'dense'))), '>', $above,
	'extend: setval() downwards before it is published changes nothing');


# The generator changes or goes while another session mints from it.

foreach my $change (
	[ 'DROP SEQUENCE other', '42P01' ],
	[ 'ALTER SEQUENCE other RESTART', '' ],
	[ 'DROP EXTENSION flakeid CASCADE', '', 'flake_default' ],
	[ q(SELECT flake_rewind('other', 0, true)), '' ])
{
	my ($sql, $code, $generator) = (@$change, 'other');
	my ($what) = $sql =~ /(\w+ \w+)/;

	value($two, q(SELECT flake_create_generator('other')))
	  if value($two, q(SELECT to_regclass('other') IS NULL)) eq 't';
	my $oid = value($two, "SELECT '$generator'::regclass::oid");
	my $before = value($one, by_oid($oid));

	stop_at($one, 'exit choose_by_clock', by_oid($oid));
	send_query($two, "BEGIN; $sql");
	ok(waits_for($two, $one), "$what: waits for who mints");
	let_go($one);
	$id = answer($one);
	cmp_ok($id, '>', $before, "$what: they get their id");
	get_answer($two);

	send_query($one, by_oid($oid));
	ok(waits_for($one, $two), "$what: not decided: a session that mints waits");
	value($two, 'ROLLBACK');
	cmp_ok(answer($one), '>', $id, "$what: undone, ids go on")
	  if $what !~ /flake_rewind/;
	get_answer($one) if $what =~ /flake_rewind/;
	next if $code eq '';

	send_query($two, "BEGIN; $sql");
	answer($two);
	send_query($one, by_oid($oid));
	ok(waits_for($one, $two), "$what: a session that mints waits");
	value($two, 'COMMIT');
	is_error($code, "$what: committed, and they learn of it",
		get_answer($one));
}

# A rewind in the middle: the horizon is set back, the slots are not.
value($two, largest_of($MINUTE, 0, 'other'));
$id = value($two, q(SELECT flake_id(0, 'other')));
stop_at($one, 'exit flake_horizon_rewind',
	"SELECT flake_rewind('other', $id - (30000::bigint << 23), true)");
send_query($two, q(SELECT flake_id(0, 'other')));
ok(waits_for($two, $one), 'rewind: between horizon and slots: others wait');
let_go($one);
answer($one);
cmp_ok(answer($two), '<', $id, 'rewind: and then mint below');

# A slot that is just being closed: by a row written by hand, whose session needs no lock
# of the sequence.
value($two, largest_of($MINUTE, 0, 'other'));
$id = value($two, q(SELECT flake_id(0, 'other')));
stop_at($three, 'enter raise_resume',
	q{INSERT INTO flake_shard_state VALUES ('other', 0, true, NULL, now())});
send_query($one,
	"SELECT flake_rewind('other', $id - (30000::bigint << 23), true)");
ok(waits_inside($one), 'rewind: waits for who closes a slot');
let_go($three);
answer($_) foreach $three, $one;
cmp_ok(value($two, q(SELECT flake_id(0, 'other'))),
	'<', $id, 'rewind: a slot that is being closed is set back, too');

# Of a slot that databases share: another one, which goes by a sequence of its own,
# mints after it was found not to have minted.
value($admin, 'CREATE DATABASE elsewhere');
$node->safe_psql('elsewhere', 'CREATE EXTENSION flakeid');
value($one, 'SELECT flake_objectid()');
restart();
my $elsewhere = new_session($node, 'elsewhere');
stop_at($one, 'enter flake_horizon_rewind',
	q{SELECT flake_rewind('flake_default_objectid',}
	  . ' extract(epoch FROM clock_timestamp() - interval $$1 hour$$)::bigint << 24, true)'
);
set_clock($clock, 60);
$above = value($elsewhere, 'SELECT flake_objectid()');
let_go($one);
answer($one);
set_clock($clock, 0);
cmp_ok(value($_, 'SELECT flake_objectid()'),
	'gt', $above, 'rewind: not of what another database mints meanwhile')
  foreach $one, $elsewhere;
end_session($elsewhere);

# Its memory is freed while a session that knows it comes back.
value($two, q(SELECT flake_create_generator('gone')));
my $gone = value($two, q(SELECT 'gone'::regclass::oid));
value($one, by_oid($gone));
value($two, 'DROP SEQUENCE gone');
stop_at($three, 'enter delete_entries', 'SELECT flake_id(40)');
send_query($one, by_oid($gone));
ok(waits_for($one, $three), 'free: a session that comes back waits');
like(value($two, 'SELECT flake_id(41)'),
	qr/^\d+$/, 'free: another that needs memory does not');
let_go($three);
is_error('42P01', 'free: then they learn that it is gone',
	get_answer($one));
like(answer($three), qr/^\d+$/, 'free: and there is memory');

# Many are freed together; and whoever does that can be interrupted, and takes it
# up again.
sub drop_generators
{
	my ($count) = @_;

	value($two,
		"SELECT flake_create_generator('gone' || i) FROM generate_series(1, $count) AS i"
	);
	value($two,
		"SELECT flake_id(0, ('gone' || i)::regclass) FROM generate_series(1, $count) AS i"
	);
	value($two, 'DROP SEQUENCE ' . join ', ', map { "gone$_" } 1 .. $count);
	return;
}

sub locks_to_free
{
	return value($admin,
			q(SELECT count(*) FROM pg_locks WHERE locktype = 'relation')
		  . " AND mode = 'ExclusiveLock' AND pid = $three->{pid}");
}

drop_generators(70);
stop_at($three, 'enter is_used_by_us', 'SELECT flake_id(48)');
value($admin, "SELECT pg_cancel_backend($three->{pid})");
let_go($three);
is_error('57014', 'free: interrupted', get_answer($three));
is(locks_to_free(), 0, 'free: interrupted, no lock is left');
stop_at($three, 'enter delete_entries', 'SELECT flake_id(48)');
is(locks_to_free(), 64, 'free: taken up again, with many at once');
let_go($three);
like(answer($three), qr/^\d+$/, 'free: and with the rest');
is(locks_to_free(), 0, 'free: no lock is left');
drop_generators(1);
stop_at($three, 'enter delete_entries', 'SELECT flake_id(49)');
is(locks_to_free(), 1, 'free: nor any entry');
let_go($three);
answer($three);

# A generator that only its creator can see is not taken for a dropped one.
value($one, q(BEGIN; SELECT flake_create_generator('unseen')));
$above = value($one, largest_of($MINUTE, 0, 'unseen'));
value($two, 'CREATE TABLE some_relation (); DROP TABLE some_relation');
value($three, 'SELECT flake_id(42)');
cmp_ok(value($one, q(SELECT flake_id(0, 'unseen'))), '>', $above,
	'free: not what is not committed');
value($one, 'COMMIT');
is( value(
		$three,
		q(SELECT sum(issued) FROM flake_stat WHERE generator = 'unseen'::regclass)
	),
	$MINUTE + 1,
	'free: nor its statistics');

# Nor if that is committed between looking for it and locking it.
value($one, q(BEGIN; SELECT flake_create_generator('seen')));
$id = value($one, largest_of($MINUTE, 0, 'seen'));
value($two, 'CREATE TABLE some_relation (); DROP TABLE some_relation');
stop_at($three, 'enter flake_uncommitted', 'SELECT flake_id(46)');
value($one, 'COMMIT');
let_go($three);
answer($three);
cmp_ok(value($one, q(SELECT flake_id(0, 'seen'))), '>', $id,
	'free: not what is committed meanwhile');
is( value(
		$three,
		q(SELECT sum(issued) FROM flake_stat WHERE generator = 'seen'::regclass)
	),
	$MINUTE + 1,
	'free: nor its statistics, either');

# Nor one whose drop may be undone, by whoever drops it.
value($one, 'BEGIN; SAVEPOINT s; DROP SEQUENCE unseen; SELECT flake_id(43)');
value($one, 'ROLLBACK TO s');
cmp_ok(value($one, q(SELECT flake_id(0, 'unseen'))), '>', $above,
	'free: not what is dropped in this transaction');
value($one, 'COMMIT');
is( value(
		$three,
		q(SELECT sum(issued) FROM flake_stat WHERE generator = 'unseen'::regclass)
	),
	$MINUTE + 2,
	'free: nor its statistics');

# Of a dropped database, by two at once.
value($admin, 'CREATE DATABASE dropped');
$node->safe_psql('dropped', 'CREATE EXTENSION flakeid; SELECT flake_id(1)');
value($admin, 'DROP DATABASE dropped');
stop_at($one, 'enter delete_entries', 'SELECT flake_id(44)');
like(value($two, 'SELECT flake_id(45)'),
	qr/^\d+$/, 'free: a database that somebody else is freeing');
let_go($one);
like(answer($one), qr/^\d+$/, 'free: a database that somebody else has freed');

# Its OID is that of a new one at once.
sub new_database
{
	my ($dbname) = @_;

	$node->safe_psql(
		$dbname, qq(
CREATE EXTENSION flakeid;
UPDATE pg_proc SET probin = '$library' WHERE probin = '\$libdir/flakeid';
));
	$node->safe_psql($dbname, 'SELECT flake_id(1), flake_id(2)');
	return value($admin,
		"SELECT oid FROM pg_database WHERE datname = '$dbname'");
}

value($admin, 'CREATE DATABASE reused');
my $oid = new_database('reused');
value($admin, 'DROP DATABASE reused');
stop_at($one, 'enter delete_entries', 'SELECT flake_id(47)');
value($admin, "CREATE DATABASE reused OID = $oid");
my $new = new_session($node, 'reused');
send_query($new, 'SELECT 1');
wait_until(
	sub {
		$new->{run}->pump_nb;
		return is_done($new) || value($admin,
				q(SELECT count(*) FROM pg_locks WHERE locktype = 'object')
			  . q( AND classid = 'pg_database'::regclass)
			  . " AND objid = $oid AND NOT granted") > 0;
	},
	'a session connects or waits for it');
ok(!is_done($new),
	'free: meanwhile nobody can connect to another database of that OID');
let_go($one);
answer($_) foreach $one, $new;
end_session($new);

# A database that was made from a copy, in which a shard was detached meanwhile.
# The slots are still those of the old one.
new_database('reused');
value($admin, 'CREATE DATABASE copied TEMPLATE reused');
$node->safe_psql('copied', 'SELECT flake_detach(1)');
value($admin, 'DROP DATABASE reused');
value($admin, "CREATE DATABASE reused TEMPLATE copied OID = $oid");
my ($first, $second) = map { connect_to('reused') } 1 .. 2;
stop_at($first, 'enter flake_slot_close', 'SELECT flake_id(1)');
send_query($second, 'SELECT flake_id(1)');
ok(waits_inside($second),
	'open: others wait until the slots of another database are closed');
let_go($first);
is_error('55000', 'open: a shard that the new database has detached',
	get_answer($_))
  foreach $first, $second;
end_session($first, $second);


# What happens within a look-up, and within a statement.

# The right to mint is gone while the generator is being looked up.  Only then:
# the news of it has been read when the next statement begins.
value($two, 'GRANT USAGE ON SEQUENCE other TO minter, minters');
connect_anew();
value($one, 'SET ROLE minter');
stop_at($one, 'enter flake_horizon_open', q(SELECT flake_id(1, 'other')));
value($two, 'REVOKE USAGE ON SEQUENCE other FROM minter');
let_go($one);
like(answer($one), qr/^\d+$/, 'look-up: a right that was there when asked for');
is(code($one, q(SELECT flake_id(1, 'other'))),
	'42501', 'look-up: revoked meanwhile, it is not remembered');

# In a statement that waits for a lock between two ids.
sub in_a_statement
{
	my ($what, $grant, $revoke) = @_;

	value($two, $grant);
	value($three, 'SELECT pg_advisory_lock(1)');
	send_query($one,
		q(SELECT flake_id(1, 'other'), pg_advisory_lock(1), flake_id(1, 'other'))
	);
	ok(waits_for($one, $three), "$what: in the middle of a statement");
	value($two, $revoke);
	value($three, 'SELECT pg_advisory_unlock(1)');
	my ($first, undef, $second) = split /\|/, answer($one);
	cmp_ok($second, '>', $first, "$what: its ids go up");
	is(code($one, q(SELECT flake_id(1, 'other'))),
		'42501', "$what: the next statement is refused");
	value($one, 'SELECT pg_advisory_unlock_all()');
	return;
}

in_a_statement(
	'REVOKE',
	'GRANT USAGE ON SEQUENCE other TO minter',
	'REVOKE USAGE ON SEQUENCE other FROM minter');
in_a_statement(
	'REVOKE of a role',
	'GRANT minters TO minter',
	'REVOKE minters FROM minter');
in_a_statement(
	'NOINHERIT',
	'GRANT minters TO minter',
	$node->pg_version < 16
	? 'ALTER ROLE minter NOINHERIT'
	: 'GRANT minters TO minter WITH INHERIT FALSE');
value($one, 'RESET ROLE');

# By a function in the statement itself.
value(
	$two, q(
CREATE FUNCTION do_it(sql text) RETURNS void LANGUAGE plpgsql
	AS 'BEGIN EXECUTE sql; END'));
foreach my $change (
	[ 'ALTER SEQUENCE other RESTART', '55000' ],
	[ 'DROP SEQUENCE other', '42P01' ])
{
	my ($sql, $code) = @$change;
	my $oid = value($one, q(SELECT 'other'::regclass::oid));
	my $before = value($one, by_oid($oid));

	is( code(
			$one,
			"SELECT flake_id(0, ${oid}::regclass), do_it('$sql'), flake_id(0, ${oid}::regclass)"
		),
		$code,
		"$sql in the middle of a statement");
	cmp_ok(value($one, by_oid($oid)), '>', $before, "$sql, undone: ids go on");
}
$above = value($one, q(SELECT flake_id(0, 'other')));
value($one, q(SELECT flake_id(0, 'other'), do_it('ALTER SEQUENCE other OWNER TO minter'))
	  . '; ALTER SEQUENCE other RESTART');
cmp_ok(value($one, q(SELECT flake_id(0, 'other'))), '>', $above,
	'ALTER SEQUENCE, committed: ids go on');


# What is settled.  A bound is given out while a session that mints, or one that ends,
# is stopped; and the other way round.

value($three, q(SELECT flake_create_generator('settling');
	CREATE TABLE settling_row (id bigint);
	PREPARE see AS SELECT count(*) FROM settling_row WHERE id = $1));
my $settling = q(flake_id(1, 'settling'));
my $insert = "INSERT INTO settling_row VALUES ($settling) RETURNING id";
my $ask = q(SELECT coalesce(flake_settled('settling'), 0));

# A while later the bound is past what was minted.
sub bound_later
{
	my ($session) = @_;

	value($admin, 'SELECT pg_sleep(0.02)');
	return value($session, $ask);
}

sub is_settled
{
	my ($session, $id) = @_;

	wait_until(sub { value($session, $ask) >= $id }, "$id is settled");
	return 1;
}

value($_, "SELECT $settling") foreach $one, $two;
is_settled($three, value($one, $insert));

# Registered, and not yet with what its ids are above; and with that.
stop_at($one, 'exit flake_holder_begin', "SELECT $settling");
$bound = value($two, $ask);
is(bound_later($two), $bound, 'settled: who has just registered holds bounds back');
let_go($one);
cmp_ok(answer($one), '>', $bound, 'settled: its id is above');

stop_at($one, 'exit choose_by_clock', "SELECT $settling");
$bound = bound_later($two);
let_go($one);
cmp_ok(answer($one), '>', $bound, 'settled: registered, before the first claim');
is_settled($two, $id = value($one, $insert));

# The floor is raised, and those who hold are not looked at yet; and after that.
foreach my $place ('enter flake_holders_least', 'exit flake_holders_least')
{
	stop_at($two, $place, $ask);
	value($one, 'BEGIN');
	$id = value($one, $insert);
	value($admin, 'SELECT pg_sleep(0.02)');
	let_go($two);
	cmp_ok(answer($two), '<', $id, "settled: minted at $place");
	value($one, 'COMMIT');
	is_settled($two, $id);
}

# By an idle shard, whose ids are then below the clock's.
value($admin, 'SELECT pg_sleep(0.02)');
stop_at($two, 'enter flake_holders_least', $ask);
set_clock($clock, -5);
$id = value($one, q(SELECT flake_id(333, 'settling')));
let_go($two);
$bound = answer($two);
set_clock($clock, 0);
cmp_ok($bound, '<', $id, 'settled: minted by an idle shard, the clock set back, after the floor was raised');

# Two raise the floor: the greater one stays.
value($admin, 'SELECT pg_sleep(0.02)');
stop_at($two, 'enter pg_atomic_compare_exchange_u64', $ask);
$bound = bound_later($three);
let_go($two);
answer($two);
set_clock($clock, -5);
cmp_ok(value($one, q(SELECT flake_id(334, 'settling'))), '>', $bound,
	'settled: two raise the floor');
set_clock($clock, 0);

# The end of a transaction: first it can be seen, then it does not hold any more.
foreach my $place ('enter let_go', 'exit let_go')
{
	value($one, 'BEGIN');
	$id = value($one, $insert);
	stop_at($one, $place, 'COMMIT');
	is(value($three, "EXECUTE see($id)"), 1, "settled: $place, its row can be seen");
	cmp_ok(bound_later($two), '<', $id, 'settled: and it still holds bounds back')
	  if $place eq 'enter let_go';
	ok(is_settled($two, $id), 'settled: until then') if $place eq 'exit let_go';
	let_go($one);
	answer($one);
	is_settled($two, $id);
}

# PREPARE: copied, and still its session's; not its session's any more; and then.
foreach my $place ('exit before_prepare', 'enter let_go', 'exit let_go')
{
	value($one, 'BEGIN');
	$id = value($one, $insert);
	stop_at($one, $place, q(PREPARE TRANSACTION 'settling'));
	cmp_ok(bound_later($two), '<', $id, "settled: PREPARE, $place");
	let_go($one);
	answer($one);
	cmp_ok(bound_later($two), '<', $id, 'settled: prepared');
	value($one, q(COMMIT PREPARED 'settling'));
	ok(is_settled($two, $id), 'settled: COMMIT PREPARED');
}

# Prepared while somebody looks, who sees it in one place or the other.
foreach my $place ('enter least_of', 'enter lock_prepared')
{
	value($one, 'BEGIN');
	$id = value($one, $insert);
	value($admin, 'SELECT pg_sleep(0.02)');
	stop_at($two, $place, $ask);
	value($one, q(PREPARE TRANSACTION 'settling'));
	let_go($two);
	cmp_ok(answer($two), '<', $id, "settled: PREPARE while somebody is at $place");
	value($one, q(COMMIT PREPARED 'settling'));
	is_settled($two, $id);
}

# And ended: it is seen, or its entry is.
value($one, 'BEGIN');
$id = value($one, $insert);
value($one, q(PREPARE TRANSACTION 'settling'));
stop_at($two, 'enter lock_prepared', $ask);
value($one, q(COMMIT PREPARED 'settling'));
is(value($three, "EXECUTE see($id)"), 1, 'settled: COMMIT PREPARED while somebody looks, its row can be seen');
let_go($two);
answer($two);
is_settled($two, $id);

# A statement has its snapshot, and what holds the bound back ends before it asks.
value($two, q(SET plan_cache_mode = force_generic_plan;
	PREPARE ask AS SELECT coalesce(flake_settled('settling'), 0), (SELECT max(id) FROM settling_row)));
value($two, 'EXECUTE ask');
value($one, 'BEGIN');
$id = value($one, $insert);
stop_at($two, 'enter flake_settled_find', 'EXECUTE ask');
value($one, 'COMMIT');
is_settled($three, $id);
let_go($two);
($bound, my $seen) = split /\|/, answer($two);
cmp_ok($seen, '<', $id, 'settled: what ends between the snapshot and the bound is not seen');
cmp_ok($bound, '<', $id, 'settled: and is above the bound');
value($two, 'DEALLOCATE ask; RESET plan_cache_mode');


# Leases: two of one owner, two of different owners, and minting.

sub lease
{
	my ($owner) = @_;

	return "SELECT shard FROM flake_lease('$owner')";
}

my $last = 8191;
stop_at($two, 'exit flake_slot_last', lease('a'));
$id = value($one, "SELECT flake_id($last)");
let_go($two);
is(answer($two), $last - 1, 'lease: not a shard that is just being minted');
like(value($one, "SELECT flake_id($last)"), qr/^\d+$/, 'lease: which goes on');
$last -= 2;

# Attached, so that it is not looked at again.
value($one, 'SELECT flake_attach(8191)');
stop_at($two, 'enter flake_shard_reserve', lease('h'));
value($one, "SELECT flake_attach($last)");
let_go($two);
is(answer($two), $last - 1, 'lease: not a shard that is just being attached');
$last -= 2;

stop_at($one, 'enter flake_slot_open', "SELECT flake_id($last)");
is(value($two, lease('b')), $last - 1, 'lease: nor one that is being opened');
let_go($one);
like(answer($one), qr/^\d+$/, 'lease: for which nobody waits');
$last -= 2;

stop_at($one, 'enter flake_shard_open', "SELECT flake_id($last)");
value($two, 'BEGIN');
is(value($two, lease('c')), $last, 'lease: before anybody opens it');
let_go($one);
ok(waits_for($one, $two), 'lease: a session that mints waits for it');
value($two, 'COMMIT');
is_error('55000', 'lease: and gets no id', get_answer($one));
$last--;

stop_at($one, 'enter store', lease('d'));
send_query($two, lease('d'));
ok(waits_for($two, $one), 'lease: the same owner waits');
is(value($three, lease('e')), $last - 1, 'lease: another does not');
let_go($one);
is(answer($_), $last, 'lease: one owner, one shard') foreach $one, $two;

# The states of a generator that is committed just now, of which a session does not
# know yet: others clean up what dropped generators have left.
value($three, q(SELECT flake_create_generator('known')));
value($one, 'BEGIN');
value($one, q(SELECT flake_create_generator('unknown')));
my $unknown = value($one, q(SELECT 'unknown'::regclass::oid));
value($one, q(SELECT flake_detach(3, 'unknown')));
value($three, "SELECT has_table_privilege($unknown, 'SELECT') IS NULL");
stop_at($one, 'enter transaction_ends', 'COMMIT');
my $rows_of_unknown =
  "SELECT count(*) FROM flake_shard_state WHERE generator = $unknown";
for my $times (1 .. 6)
{
	last if value($two, $rows_of_unknown);
	stop_again($one, 'enter transaction_ends');
}
is(value($two, $rows_of_unknown), 1, 'remove: the row is committed');
value($three, q(SELECT flake_detach(0, 'known')));
let_go($one);
answer($one);
is(value($two, $rows_of_unknown),
	1, 'remove: not of a generator that is committed just now');
is_error('55000', 'remove: it is still detached',
	ask($two, q(SELECT flake_id(3, 'unknown'))));
value($three, 'DROP SEQUENCE known, unknown');

# When these are over.
set_clock($clock, 2 * 3600);
stop_at($one, 'exit flake_lease_find_lapsed', lease('f'));
my $other = value($two, lease('g'));
my $old_owner = 'a';
send_query($three, "SELECT flake_renew('$old_owner', '1 hour')");
ok(waits_for($three, $one), 'lapsed: the old owner waits for the new one');
let_go($one);
my $taken = answer($one);
cmp_ok($taken, '!=', $other, 'lapsed: two new owners, two shards');
is_error('42704', 'lapsed: the old owner has lost it', get_answer($three));

# Renewed while it is to be taken back.
my $renewed =
  value($three, q(SELECT shard FROM flake_leases WHERE owner = 'c'));
value($one, q(BEGIN; SELECT flake_renew('c', '1 hour')));
send_query($two, "SELECT flake_detach($renewed)");
ok(waits_for($two, $one), 'lapsed: detaching waits for who renews');
value($one, 'COMMIT');
is_error('55006', 'lapsed: renewed, it is not detached', get_answer($two));


# A horizon is looked at while its sequence gets another file.
value($two, q(SELECT flake_create_generator('restarted')));
value($one, q(SELECT flake_id(1, 'restarted')));
foreach my $look (
	[ 'flake_horizon_try_read', q(SELECT horizon_time > now() - interval '1 h' FROM _flake_health_horizon('restarted')) ],
	[ 'flake_horizon_try_read', q(SELECT flake_horizon('restarted') > 0) ],
	[ 'flake_restore_find', q(SELECT timeline IS NULL FROM _flake_restore_of('restarted')) ])
{
	my ($function, $sql) = @$look;

	value($one, $sql);
	stop_at($one, "enter $function", $sql);
	send_query($two, 'ALTER SEQUENCE restarted RESTART');
	ok(waits_for($two, $one), "restarted: it waits for who looks, $function");
	let_go($one);
	is(join('', get_answer($one)), 't', "restarted: who looks sees it, $function");
	answer($two);
}

# A standby removes the old file, whatever is locked.
{
	my $standby = start_standby($node, 'standby', $clock);
	my $reader = new_session($standby);
	my $sql = q(SELECT flake_horizon('restarted') > 0);

	$reader->{pid} = value($reader, 'SELECT pg_backend_pid()');
	value($reader, $sql);
	stop_at($reader, 'enter flake_horizon_try_read', $sql);
	value($two, 'ALTER SEQUENCE restarted RESTART');
	$node->wait_for_catchup($standby, 'replay');
	let_go($reader);
	is(join('', get_answer($reader)), 't', 'restarted: who looks on a standby sees the new file');
	end_session($reader);
	$standby->stop;
}
value($two, 'DROP SEQUENCE restarted');


# The clock is set back, and two see it: one step.
value($one, 'SELECT flake_id(50); SELECT flake_id(50)');
set_clock($clock, 2 * 3600 - 60);
stop_at($one, 'enter pg_atomic_compare_exchange_u64', 'SELECT flake_id(50)');
value($two, 'SELECT flake_id(50)');
let_go($one);
answer($one);
is( value(
		$three,
		'SELECT clock_steps_back FROM flake_stat WHERE shard = 50'
		  . q( AND generator = 'flake_default'::regclass)),
	1,
	'clock: a step back that two sessions see is counted once');


# The extension is replaced between finding a generator by its name and locking
# it.  The last test: the new one is not the one that can be stopped.

$above = value($two, largest_of($MINUTE, 1));
connect_anew();
stop_at($one, 'enter lock_sequence', 'SELECT flake_id(1)');
value($admin,
	'BEGIN; DROP EXTENSION flakeid CASCADE; CREATE EXTENSION flakeid; COMMIT');
let_go($one);
is_error('42P01', 'replaced: the old generator is gone', get_answer($one));
connect_anew();
cmp_ok(value($one, 'SELECT flake_id(1)'), '>', $above,
	'replaced: the new one goes on above');

end_sessions();
$node->stop;
done_testing();
