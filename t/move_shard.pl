# Copyright (c) 2026, the flakeid developers

# flakeid-move-shard loses no row and repeats no id.  A shard moves to a server
# whose clock is behind, while writers find their way by the map.  All rows that
# the writers know arrive as they know them, and the writers see only errors after
# which they can try again.  Killed in any step and run again, the program completes
# the move.  It refuses what cannot be moved, and then nothing has changed.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeMove;
use FlakeTest;
use List::Util qw(max);
use POSIX      ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC usleep);

my $steps = 10;
my $behind = 12;    # seconds

my $clock = new_clock();
my $conf = q(
log_statement = none
max_connections = 60
max_wal_senders = 10
max_replication_slots = 10
max_worker_processes = 16
max_prepared_transactions = 2
wal_sender_timeout = 0		# goes by the clock
wal_receiver_timeout = 0
wal_retrieve_retry_interval = 200ms
);

# Only the server that a shard leaves needs wal_level = logical.
set_clock($clock, -$behind);
my %node = (
	alpha => start_server('alpha', allows_streaming => 'logical', conf => $conf),
	beta => start_server(
		'beta',
		allows_streaming => 1,
		clock => $clock,
		conf => $conf));
foreach my $node (values %node)
{
	$node->safe_psql(
		'postgres', q(
		CREATE EXTENSION flakeid;
		CREATE ROLE app;
		CREATE DATABASE map;
		CREATE DATABASE other;
	));
	$node->safe_psql(
		'map', q(
		CREATE EXTENSION flakeid;
		INSERT INTO flake_shard_map VALUES ('[0,31]', 'alpha'), ('[32,63]', 'beta');
	));
}
my %admin = map { $_ => new_session($node{$_}) } keys %node;

# A schema with something of everything that moves.
sub create_shard
{
	my ($session, $shard, $schema) = @_;

	value(
		$session, qq(
SET client_min_messages = warning;
CREATE SCHEMA $schema AUTHORIZATION app;
SET search_path = $schema, public;
SELECT flake_create_generator('comment_id', 'ts:41 shard:6 seq:16 epoch=2020-01-01');
CREATE TABLE photo (
	id bigint PRIMARY KEY DEFAULT flake_id($shard) CHECK (flake_shard(id) = $shard),
	writer int NOT NULL, version int NOT NULL DEFAULT 0);
CREATE TABLE comment (
	n serial PRIMARY KEY,
	id bigint NOT NULL UNIQUE DEFAULT flake_id($shard, 'comment_id'),
	number bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
	photo bigint NOT NULL REFERENCES photo ON DELETE CASCADE);
CREATE TABLE event (
	id bigint PRIMARY KEY DEFAULT flake_id($shard), data text,
	token uuid DEFAULT flake_uuidv7(shard => $shard)) PARTITION BY HASH (id);
CREATE TABLE event_0 PARTITION OF event FOR VALUES WITH (MODULUS 2, REMAINDER 0);
CREATE TABLE event_1 PARTITION OF event FOR VALUES WITH (MODULUS 2, REMAINDER 1);
CREATE FUNCTION unhurried() RETURNS void LANGUAGE sql AS '
SET lock_timeout = 0;
SET transaction_timeout = 0;
';
CREATE VIEW commented AS SELECT photo, count(*) FROM comment GROUP BY photo;
GRANT INSERT ON photo TO app;
INSERT INTO event (data) SELECT 'of the source' FROM generate_series(1, 100);
INSERT INTO photo (writer) SELECT 0 FROM generate_series(1, 100);
INSERT INTO comment (photo) SELECT id FROM photo;
RESET search_path;
));
	return;
}

# The options for a move of a shard from one to the other.
sub options
{
	my ($shard, $from, $to) = @_;

	return (
		"--shard=$shard",
		"--to=$to",
		'--trust-owners',
		'--source=' . $node{$from}->connstr('postgres'),
		'--target=' . $node{$to}->connstr('postgres'),
		map { '--map=' . $node{$_}->connstr('map') } 'alpha',
		'beta');
}

# All that a database has, but for what is different from dump to dump.
sub dump_of
{
	my ($node) = @_;
	my ($out, $err) =
	  run_command([ 'pg_dumpall', '-d', $node->connstr('postgres') ]);

	$out =~ s/^\\(un)?restrict .*$//mg;
	$out =~ s/^SELECT pg_catalog\.setval.*$//mg;
	return $out
	  . $node->safe_psql('postgres',
		'SELECT slot_name FROM pg_replication_slots');
}

sub map_of
{
	my ($name) = @_;

	return $node{$name}->safe_psql('map',
		'SELECT shards, server FROM flake_shard_map ORDER BY shards');
}

#
# What it says, and what it refuses, without changing anything.
#

create_shard($admin{alpha}, 17, 'photos_17');
value(
	$admin{alpha}, q(
CREATE SCHEMA bad_16;
CREATE TABLE bad_16.no_key (id bigint DEFAULT flake_id(16));
CREATE UNLOGGED TABLE bad_16.forgetful (id bigint PRIMARY KEY DEFAULT flake_id(16));
CREATE TABLE bad_16.wrong (id bigint PRIMARY KEY DEFAULT flake_id(15));
CREATE TABLE bad_16.written (
	id bigint PRIMARY KEY DEFAULT flake_id(16),
	w1 bigint DEFAULT flake_id(shard => 15),
	w2 bigint DEFAULT flake_id(generator => 'flake_default', shard => 15),
	w3 bigint DEFAULT flake_id(15::smallint),
	w4 bigint DEFAULT CASE WHEN random() < 2 THEN flake_id(16) ELSE flake_id(15) END,
	w5 text DEFAULT flake_id(generator => 'flake_default', shard => 15),
	w6 text DEFAULT flake_to_text(flake_id(generator => 'flake_default', shard => 15)),
	w7 uuid DEFAULT coalesce(flake_uuidv7(shard => 15)),
	u1 bigint DEFAULT flake_id(floor(random() * 9)::int),
	u2 bigint DEFAULT coalesce(flake_id(16), flake_id(8 + 8)),
	u3 bigint DEFAULT flake_id(((16)::smallint)::int + 1),
	r1 bigint DEFAULT flake_id(shard => 16),
	r2 text DEFAULT flake_to_text(flake_id(generator => 'flake_default', shard => 16)),
	r3 bigint DEFAULT coalesce(flake_id(16::smallint), flake_id(16)),
	r4 bigint DEFAULT flake_id());
CREATE TABLE refers (id bigint REFERENCES bad_16.wrong);
CREATE SEQUENCE elsewhere;
CREATE TABLE bad_16.counted (id bigint PRIMARY KEY DEFAULT nextval('elsewhere'));
CREATE SCHEMA bad_14;
CREATE ROLE only_here;
CREATE TABLE bad_14.t (id bigint PRIMARY KEY DEFAULT flake_id(14));
ALTER TABLE bad_14.t OWNER TO only_here;
GRANT USAGE ON SCHEMA bad_14 TO only_here;
CREATE SCHEMA twice_13;
CREATE TABLE twice_13.t (id bigint PRIMARY KEY DEFAULT flake_id(13));
CREATE SCHEMA named_12;
CREATE FUNCTION named_12.token() RETURNS uuid LANGUAGE sql
	BEGIN ATOMIC SELECT flake_uuidv7(12, 'flake_default_uuidv7'); END;
CREATE TABLE named_12.t (id bigint PRIMARY KEY DEFAULT flake_id(12), token uuid DEFAULT named_12.token());
CREATE SCHEMA several_11;
CREATE FUNCTION several_11.token() RETURNS uuid LANGUAGE sql
	BEGIN ATOMIC SELECT * FROM flake_uuidv7s(11, 1); END;
CREATE TABLE several_11.t (id bigint PRIMARY KEY DEFAULT flake_id(11), token uuid DEFAULT several_11.token());
));
value($admin{beta}, 'CREATE SCHEMA twice_13');
create_shard($admin{beta}, 40, 'photos_40');

my %before = map { $_ => dump_of($node{$_}) } keys %node;
my @move_17 = options(17, 'alpha', 'beta');

moves('--help', '--help');
like($printed, qr/--source=CONNINFO.*--dry-run/s, '--help: the options');
refuses('an unknown option', qr/what is "--sauce=x"\?/, '--sauce=x');
refuses('no options', qr/--source=\.\.\. is missing/);
refuses('no map', qr/--map=\.\.\. is missing/, grep { !/^--map/ } @move_17);
refuses(
	'a shard that is no number',
	qr/must be a number, not "1x"/,
	@move_17, '--shard=1x');
refuses(
	'a shard without a schema',
	qr/no schema with tables whose name ends in _9/,
	@move_17, '--shard=9');
refuses(
	'a schema that is not there',
	qr/no schema "photos_99"/,
	@move_17, '--schema=photos_99');
refuses(
	'a shard that no map has',
	qr/map 1 has no server for shard 99/,
	@move_17, '--shard=99', '--schema=photos_17');
# From PostgreSQL 19 on that would do.
refuses(
	'wal_level = replica',
	qr/has not wal_level = logical/,
	options(40, 'beta', 'alpha'))
  if $node{beta}->safe_psql('postgres', 'SHOW server_version_num') < 190000;
refuses(
	'an unreachable target', qr/on the target: see above/,
	@move_17, '--target=host=/nonexistent');
refuses(
	'source and target the same',
	qr/are the same database/,
	@move_17, '--target=' . $node{alpha}->connstr('postgres'));
refuses(
	'a target without the extension',
	qr/target does not have the extension/,
	@move_17, '--target=' . $node{beta}->connstr('other'));
refuses(
	'not by the map',
	qr/has shard 17 on "alpha" already, but the target does not/,
	@move_17, '--to=alpha');
refuses(
	'a schema with all kinds of faults',
	qr/bad_16\.no_key has no primary key/,
	@move_17, '--shard=16');
like($printed, $_, "all kinds of faults: $_")
  foreach qr/forgetful is unlogged/, qr/wrong\.id has ids of another shard/,
  qr/public\.refers.* refers to bad_16\.wrong/,
  qr/counted\.id has values of sequence public\.elsewhere/;
like($printed, qr/written\.$_ has ids of another shard/, "written in other ways: $_") foreach map { "w$_" } 1 .. 7;
like($printed, qr/written\.$_ has a default of which it is not known/, "not understood: $_") foreach map { "u$_" } 1 .. 3;
unlike($printed, qr/written\.(?:id|r\d)/, 'and understood, if they mint the shard');
refuses(
	'a role that the target does not have',
	qr/does not have these roles: only_here/,
	@move_17, '--shard=14');
refuses(
	'a schema that is there already',
	qr/already has a schema "twice_13"/,
	@move_17, '--shard=13');
set_clock($clock, -60);
refuses('a clock too far behind', qr/clock is \d+\.\d s behind/, @move_17);
set_clock($clock, -$behind);
moves('--undo of nothing', @move_17, '--undo');
moves('--dry-run', @move_17, '--dry-run');
like(
	$printed,
	qr/begin with step 2\n.*photos_17.*generators .*flake_default.*photos_17\.comment_id/,
	'--dry-run: says what it would do');
foreach my $shard (11, 12)
{
	moves("--dry-run of shard $shard", @move_17, "--shard=$shard", '--dry-run');
	like($printed, qr/flake_default,.*flake_default_uuidv7/, "shard $shard: a function with BEGIN ATOMIC mints UUIDs");
}
is(dump_of($node{$_}), $before{$_}, "$_: nothing has changed")
  foreach keys %node;

#
# A move under load.
#

value($admin{alpha},
	'INSERT INTO photos_17.photo (writer) SELECT 0 FROM generate_series(1, 100000)'
);

my $retryable = qr/^(55000|40001|40P01)$/;

# A writer: does the next of its statements where the map says, and on errors to
# try again after, tries again.  Each line of its journal is what it knows:
# when, what, where, and what came of it.
sub write_and_remember
{
	my ($writer, $journal, $stop) = @_;
	my %server = map { $_ => new_session($node{$_}) } keys %node;
	my $map = new_session($node{alpha}, 'map');
	my @mine;
	my $count = 0;

	open my $handle, '>', $journal or die "$journal: $!";
	$handle->autoflush(1);
	while (!-e $stop)
	{
		my $action = ('insert', 'insert', 'update', 'delete')[ $count++ % 4 ];
		my $id = @mine ? $mine[ $count % @mine ] : undef;
		my $sql =
		  $action eq 'insert'
		  ? 'WITH p AS (INSERT INTO photos_17.photo (writer)'
		  . " VALUES ($writer) RETURNING id), c AS (INSERT INTO photos_17.comment (photo)"
		  . ' SELECT id FROM p RETURNING *) SELECT p.id, c.id, c.n, c.number FROM p, c'
		  : $action eq 'update'
		  ? "UPDATE photos_17.photo SET version = version + 1 WHERE id = $id RETURNING id, version"
		  : "DELETE FROM photos_17.photo WHERE id = $id RETURNING id";

		while (1)
		{
			my $where = value($map, 'SELECT flake_server(17)');
			my ($out, $err) = ask($server{$where}, $sql);
			my $code =
			  $err eq '' ? 'done' : error_code($out, $err) =~ s/\s+/ /gr;

			printf $handle "%.6f %s %s %s %s\n",
			  clock_gettime(CLOCK_MONOTONIC), $action, $where, $code, $out;
			if ($code eq 'done')
			{
				push @mine, $out =~ /^(\d+)/ if $action eq 'insert';
				@mine = grep { $_ != $id } @mine if $action eq 'delete';
				last;
			}
			last if $code !~ $retryable || -e $stop;
			usleep(2_000);
		}
	}
	end_session($map, values %server);
	return;
}

my $directory = PostgreSQL::Test::Utils::tempdir();
my %writers;

foreach my $writer (1 .. 4)
{
	my $pid = fork // die "fork: $!";
	if ($pid == 0)
	{
		eval {
			write_and_remember($writer, "$directory/writer_$writer",
				"$directory/stop");
		};
		print STDERR $@ if $@;
		POSIX::_exit($@ ? 1 : 0);
	}
	$writers{$writer} = $pid;
}

sub journal
{
	my ($writer) = @_;
	my $file = "$directory/writer_$writer";

	return -e $file
	  ? map { [ split / / ] } slurp_file($file) =~ /^(.*)\n/mg
	  : ();
}

# How many statements it has done there.
sub done_by
{
	my ($writer, $where) = @_;
	my $file = "$directory/writer_$writer";

	return -e $file ? () = slurp_file($file) =~ / $where done /g : 0;
}

sub wait_for_writers
{
	my ($where) = @_;

	foreach my $writer (sort keys %writers)
	{
		wait_until(
			sub { done_by($writer, $where) > 20 },
			"writer $writer writes on $where");
	}
	return;
}

wait_for_writers('alpha');
moves('moved under load', @move_17);
note $printed;
wait_for_writers('beta');
append_to_file("$directory/stop", '');
foreach my $writer (sort keys %writers)
{
	waitpid $writers{$writer}, 0;
	is($?, 0, "writer $writer has done its work");
}

# What the tables must have, by what the writers know; what they were given; and
# how long they were held up: from the first refusal, and from the last write on
# the source, to the first on the target.
my (%photo, %comment, %server_of, @ids, @n, @numbers, @errors);
my ($longest_refusal, $longest_gap) = (0, 0);

foreach my $writer (sort keys %writers)
{
	my (@photos, $refused, $last);

	foreach my $line (journal($writer))
	{
		my ($time, $action, $where, $code, $out) = @$line;
		my ($id, @rest) = split /\|/, $out // '';

		if ($code ne 'done')
		{
			push @errors, "$where: $code" if $code !~ $retryable;
			$refused //= $time;
			next;
		}
		if (!defined $id)
		{
			push @errors, "no row: @$line";
			next;
		}
		if ($where eq 'beta')
		{
			$longest_refusal = max($longest_refusal, $time - $refused)
			  if defined $refused;
			$longest_gap = max($longest_gap, $time - $last) if defined $last;
			$refused = $last = undef;
		}
		else
		{
			$last = $time;
		}

		if ($action eq 'insert')
		{
			$photo{$id} = "$writer|0";
			$comment{$id} = join '|', @rest;
			$server_of{$id} = $where;
			push @photos, $id;
			push @ids, $id;
			push @n, $rest[1];
			push @numbers, $rest[2];
		}
		elsif ($action eq 'update')
		{
			$photo{$id} = "$writer|$rest[0]";
		}
		else
		{
			delete $photo{$id};
			delete $comment{$id};
		}
	}
	is(first_descent(\@photos),
		undef, "writer $writer: ids ascend across the move");
}
is_deeply(\@errors, [], 'writers saw only errors to try again after');
is(first_duplicate(\@ids), undef, 'no id repeats');
is(first_duplicate(\@n), undef, 'no serial repeats');
is(first_duplicate(\@numbers), undef, 'no identity repeats');
my @of = map {
	my $where = $_;
	[ sort { $a <=> $b } grep { $server_of{$_} eq $where } @ids ]
} 'alpha', 'beta';
cmp_ok($of[1][0], '>', $of[0][-1],
	'all ids of the target are above all of the source');
is( value(
		$admin{beta},
		q(SELECT id, writer, version FROM photos_17.photo WHERE writer > 0 ORDER BY id)
	),
	join("\n", map { "$_|$photo{$_}" } sort { $a <=> $b } keys %photo),
	'every row that the writers know of is there, as they know it, and no other'
);
is( value(
		$admin{beta},
		q(SELECT photo, c.id, n, number FROM photos_17.comment c JOIN photos_17.photo p ON p.id = photo AND writer > 0 ORDER BY photo)
	),
	join("\n", map { "$_|$comment{$_}" } sort { $a <=> $b } keys %comment),
	'and the rows of the other table');
is( value(
		$admin{beta}, 'SELECT count(*) FROM photos_17.photo WHERE writer = 0'
	),
	100100,
	'the rows of before are there');
is( value(
		$admin{beta},
		'SELECT count(*) FROM photos_17.comment WHERE photo NOT IN (SELECT id FROM photos_17.photo)'
	),
	0,
	'no reference leads nowhere');
is( value(
		$admin{beta},
		q(SELECT prosrc FROM pg_proc WHERE oid = 'photos_17.unhurried'::regproc)
	),
	"\nSET lock_timeout = 0;\nSET transaction_timeout = 0;\n",
	'a function has its whole body');
note sprintf 'writers were held up for %.0f ms from the first refusal,'
  . ' %.0f ms from the last write before',
  1000 * $longest_refusal, 1000 * $longest_gap;

foreach my $name (keys %node)
{
	is( map_of($name),
		"[0,17)|alpha\n[17,18)|beta\n[18,32)|alpha\n[32,64)|beta",
		"$name: the map");
}
is(leftovers(values %node), '', 'nothing is left');

# The source.
my $insert_17 =
  'INSERT INTO photos_17.photo (id, writer) VALUES (flake_make(now(), 17, 0), 0)';
is(code($admin{alpha}, $_), '55000', "the source refuses: $_")
  foreach $insert_17, 'UPDATE photos_17.photo SET version = 1',
  'DELETE FROM photos_17.event',
  'TRUNCATE photos_17.event_0', 'SELECT flake_id(17)', 'SELECT flake_uuidv7(17)',
  q(SELECT flake_id(17, 'photos_17.comment_id')),
  "BEGIN; SET LOCAL session_replication_role = replica; $insert_17";
value($admin{alpha}, 'ROLLBACK');
like(
	(ask($admin{alpha}, $insert_17))[1],
	qr/shard 17 is detached.*HINT:  Look up which server holds it, and try again there/s,
	'its error says what to do');
is(value($admin{alpha}, 'SELECT count(*) > 100000 FROM photos_17.photo'),
	't', 'it still has the rows');
is( value(
		$admin{beta},
		q(SELECT count(*) FROM pg_trigger WHERE tgname = 'flakeid_fence')),
	0,
	'the target has no fence');

moves('run again', @move_17);
like($printed, qr/^nothing to do/m, 'run again: nothing to do');
moves('run again, --dry-run', @move_17, '--dry-run');
like($printed, qr/has moved/, 'run again, --dry-run: says so');
refuses('--undo afterwards', qr/too late/, @move_17, '--undo');
refuses(
	'moved on from where it was',
	qr/shard 17 is detached on the source/,
	@move_17, '--to=gamma');

#
# Killed as soon as it begins a step, and run again: with the processes that it
# has started, and without.
#

# A client: inserts where the map says, and returns that server, or the SQLSTATE.
my %inserted;

sub insert_by_map
{
	my ($shard, $schema) = @_;
	my $where = $node{alpha}->safe_psql('map', "SELECT flake_server($shard)");
	my ($out, $err) = ask($admin{$where},
		"INSERT INTO $schema.photo (writer) VALUES (1) RETURNING id");

	return error_code($out, $err) if $err ne '';
	push @{ $inserted{$shard} }, $out;
	return $where;
}

# That the shard is on the server, with all that was inserted.
sub has_moved
{
	my ($name, $shard, $schema, $session, $next) = @_;

	is( value(
			$session,
			"SELECT id FROM $schema.photo WHERE writer = 1 ORDER BY id"),
		join("\n", @{ $inserted{$shard} }),
		"$name: the rows are there, in order");
	is( value(
			$session,
			"SELECT count(*), count(DISTINCT c.id), max(n), max(number) FROM $schema.comment c"
		),
		'100|100|100|100',
		"$name: so are others");
	is( value(
			$session,
			"INSERT INTO $schema.comment (photo) SELECT max(id) FROM $schema.photo RETURNING n, number"
		),
		"$next|$next",
		"$name: serial and identity go on");
	is(leftovers(values %node), '', "$name: nothing is left");
	return;
}

# What a client may meet with when the move was interrupted in that step.
my @meets = (
	undef,
	(qr/^alpha$/) x 5,
	(qr/^(alpha|55000)$/) x 3,
	qr/^(55000|beta)$/, qr/^beta$/);

foreach my $case ([ 18, q("Odd ""one' _18"), 'with its processes' ],
	[ 20, 'photos_20', 'alone' ])
{
	my ($shard, $schema, $how) = @$case;
	my @move = options($shard, 'alpha', 'beta');

	create_shard($admin{alpha}, $shard, $schema);
	foreach my $step (1 .. $steps)
	{
		# It is quick, and may have gone on when it is killed.
		my $run = start_program(@move);
		my $seen = wait_for_output($run, qr/^step $step of $steps: /m);
		my $killed = kill_program($run, $how);

		next if !$seen;
		like(insert_by_map($shard, $schema),
			$meets[$killed],
			"killed in step $killed, $how: where a client's insert arrives");
	}
	moves("killed in every step, $how, and run again", @move);
	is(insert_by_map($shard, $schema),
		'beta', "killed in every step, $how: a client writes");
	has_moved("killed in every step, $how",
		$shard, $schema, $admin{beta}, 101);
}

#
# Killed while it has to wait, in each step; given up; two runs.
#

my @move_19 = options(19, 'alpha', 'beta');
my %other = (
	alpha => new_session($node{alpha}),
	beta => new_session($node{beta}),
	map => new_session($node{beta}, 'map'));
my $run;

sub block
{
	my ($where, $sql) = @_;

	value($other{$where}, "BEGIN; $sql");
	return;
}

sub unblock
{
	my ($where) = @_;

	value($other{$where}, 'ROLLBACK');
	return;
}

sub killed_in
{
	my ($step, $how) = @_;

	my $meets;

	is(kill_program($run, $how), $step, "it was in step $step");
	wait_until(
		sub {
			$meets = insert_by_map(19, 'photos_19');
			$step != 7 && $step != 8 || $meets ne '55000';
		},
		'the source lets writers in again');
	is( $meets,
		$step < 9 ? 'alpha' : 'beta',
		"killed while waiting in step $step, $how: where a client's insert arrives");
	return;
}

create_shard($admin{alpha}, 19, 'photos_19');

block('alpha', 'LOCK TABLE pg_publication IN SHARE MODE');
$run = start_program(@move_19);
wait_until_program_waits($node{alpha}, 'CREATE PUBLICATION');
killed_in(2, 'with its processes');
unblock('alpha');

block('beta', 'LOCK TABLE pg_subscription IN SHARE MODE');
$run = start_program(@move_19);
wait_until_program_waits($node{beta}, 'CREATE SUBSCRIPTION');
killed_in(3, 'with its processes');
unblock('beta');
block('beta', 'LOCK TABLE pg_subscription IN SHARE MODE');
$run = start_program(@move_19);
wait_until_program_waits($node{beta}, 'CREATE SUBSCRIPTION');
killed_in(3, 'alone');
unblock('beta');

# A slot takes the end of all transactions that have written.
block('alpha', 'INSERT INTO photos_19.event VALUES (1)');
$run = start_program(@move_19);
wait_until_program_waits($node{alpha}, 'pg_create_logical_replication_slot');
killed_in(4, 'with its processes');
$run = start_program(@move_19);
ok(wait_for_output($run, qr/another run holds shard 19 on the source/),
	'it waits for what the one before has left');
unblock('alpha');

# This lock conflicts with the fence.
block('alpha', 'LOCK TABLE photos_19.photo IN ROW EXCLUSIVE MODE');
my $blocker = value($other{alpha}, 'SELECT pg_backend_pid()');
ok( wait_for_output(
		$run,
		qr/a lock was not to be had \(session $blocker, in a transaction since/
	),
	'it says who keeps it from fencing');
is(insert_by_map(19, 'photos_19'),
	'alpha', 'waiting for the fence: other clients write');
refuses('a second run',
	qr/being moved by another run, process \d+ \(role \S+\) of the source/, @move_19);
killed_in(6, 'with its processes');
unblock('alpha');

# The subscription cannot apply changes, and falls behind.
block('beta', 'LOCK TABLE photos_19.photo IN SHARE MODE');
is(insert_by_map(19, 'photos_19'), 'alpha', 'a client writes');
$run = start_program(@move_19);
ok(wait_for_output($run, qr/^step 5 .*bytes of WAL behind/ms),
	'it says how far the target is behind');
killed_in(5, 'with its processes');
unblock('beta');

# A slot made anew would not have what has changed meanwhile.
value($admin{beta}, 'ALTER SUBSCRIPTION flakeid_move_19 DISABLE');
wait_until(
	sub {
		value($admin{alpha},
				'SELECT pg_drop_replication_slot(slot_name)'
			  . ' FROM pg_replication_slots WHERE NOT active');
		value($admin{alpha}, 'SELECT count(*) FROM pg_replication_slots') ==
		  0;
	},
	'the slot is dropped');
refuses('the slot is gone', qr/slot is gone/, @move_19);

moves('--undo before the fence', @move_19, '--undo');
is(leftovers(values %node), '', '--undo before the fence: nothing is left');
is(value($admin{beta}, q(SELECT to_regnamespace('photos_19') IS NULL)),
	't', '--undo before the fence: no schema on the target');
is(insert_by_map(19, 'photos_19'),
	'alpha', '--undo before the fence: a client writes');

# From the fence on, until the target does not wait for the last change.
sub run_to_step_7
{
	block('alpha', 'LOCK TABLE photos_19.photo IN ROW EXCLUSIVE MODE');
	$run = start_program(@move_19);
	ok(wait_for_output($run, qr/a lock was not to be had/),
		'it waits for the fence');
	block('beta', 'LOCK TABLE photos_19.photo IN SHARE MODE');
	push @{ $inserted{19} },
	  value($other{alpha},
		'INSERT INTO photos_19.photo (writer) VALUES (1) RETURNING id');
	value($other{alpha}, q(PREPARE TRANSACTION 'p'));
	ok( wait_for_output(
			$run, qr/a lock was not to be had \(a prepared transaction/),
		'also for a prepared transaction');
	value($other{alpha}, q(COMMIT PREPARED 'p'));
	ok(wait_for_output($run, qr/^step 7 /m), 'it waits for the last change');
	return;
}

run_to_step_7();
killed_in(7, 'with its processes');
is(code($other{beta}, 'SELECT flake_id(19)'),
	'55000', 'killed in step 7: the target does not mint');
unblock('beta');
moves('--undo after the fence', @move_19, '--undo');
is(leftovers(values %node), '', '--undo after the fence: nothing is left');
is(insert_by_map(19, 'photos_19'),
	'alpha', '--undo after the fence: a client writes');

run_to_step_7();
killed_in(7, 'alone');
unblock('beta');

# Should the fenced schema be dumped again, it comes without the fence.
value(
	$admin{beta}, q(
SET client_min_messages = warning;
ALTER SUBSCRIPTION flakeid_move_19 DISABLE;
ALTER SUBSCRIPTION flakeid_move_19 SET (slot_name = NONE);
DROP SUBSCRIPTION flakeid_move_19;
DROP SCHEMA photos_19 CASCADE;
));
value($admin{alpha},
	q(SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE NOT active)
);
block('alpha', 'INSERT INTO refers VALUES (NULL)');
$run = start_program(@move_19);
wait_until_program_waits($node{alpha}, 'pg_create_logical_replication_slot');
block('beta', 'SELECT flake_detach(19)');
unblock('alpha');
wait_until_program_waits($node{beta}, 'flake_lock_shard');
killed_in(8, 'with its processes');
unblock('beta');

block('map', 'LOCK TABLE flake_shard_map IN SHARE MODE');
$run = start_program(@move_19);
wait_until_program_waits($node{beta}, 'flake_shard_map');
killed_in(9, 'with its processes');
unblock('map');

# From now on, sequences are the target's affair.
value($admin{beta},
	'INSERT INTO photos_19.comment (photo) SELECT id FROM photos_19.photo LIMIT 1;'
	  . ' DELETE FROM photos_19.comment WHERE n > 100');

block('map', 'LOCK TABLE flake_shard_map IN SHARE MODE');
$run = start_program(@move_19);
wait_until_program_waits($node{beta}, 'flake_shard_map');
block('beta', 'LOCK TABLE pg_subscription IN SHARE MODE');
unblock('map');
wait_until_program_waits($node{beta}, 'SUBSCRIPTION');
killed_in(10, 'with its processes');
unblock('beta');
moves('killed while waiting in every step, and run again', @move_19);
is(insert_by_map(19, 'photos_19'),
	'beta', 'killed while waiting in every step: a client writes');
has_moved('killed while waiting in every step',
	19, 'photos_19', $admin{beta}, 102);
is(map_of('alpha'), map_of('beta'), 'the maps are the same');
is( value(
		$admin{beta},
		q(SELECT count(*) FROM pg_trigger WHERE tgname = 'flakeid_fence')),
	0,
	'the target has no fence');

#
# --drop-source, and back again.
#

moves('--drop-source afterwards', @move_19, '--drop-source');
is(value($admin{alpha}, q(SELECT to_regnamespace('photos_19') IS NULL)),
	't', '--drop-source: it is gone');
moves('run again', @move_19, '--drop-source');
like($printed, qr/^nothing to do/m,
	'--drop-source, run again: nothing to do');

end_session(values %other, delete $admin{beta});
$node{beta}->stop;
$node{beta}->append_conf('postgresql.conf', 'wal_level = logical');
start_with_clock($node{beta}, $clock);
$admin{beta} = new_session($node{beta});
push @{ $inserted{19} },
  value($admin{beta},
	'INSERT INTO photos_19.photo (writer) VALUES (1) RETURNING id');
moves(
	'back again, with --drop-source',
	options(19, 'beta', 'alpha'),
	'--drop-source');
is(insert_by_map(19, 'photos_19'), 'alpha', 'back again: a client writes');
is( value(
		$admin{alpha},
		'SELECT id FROM photos_19.photo WHERE writer = 1 ORDER BY id'),
	join("\n", @{ $inserted{19} }),
	'back again: the rows are there, in order');
is(value($admin{beta}, q(SELECT to_regnamespace('photos_19') IS NULL)),
	't', '--drop-source: it is gone');

#
# To another database of the same server.
#

$node{alpha}->safe_psql('other', 'CREATE EXTENSION flakeid');
my @move_21 = (
	options(21, 'alpha', 'beta'),
	'--to=other', '--target=' . $node{alpha}->connstr('other'));
create_shard($admin{alpha}, 21, 'photos_21');
is(insert_by_map(21, 'photos_21'), 'alpha', 'a client writes');
moves('to another database of the same server', @move_21);
my $session = new_session($node{alpha}, 'other');
push @{ $inserted{21} },
  value($session,
	'INSERT INTO photos_21.photo (writer) VALUES (1) RETURNING id');
has_moved('to another database of the same server',
	21, 'photos_21', $session, 101);

end_session($session, values %admin);
$_->stop foreach values %node;
done_testing();
