# Copyright (c) 2026, the flakeid developers

# flakeid-move-shard leaves a way out of every fault, in every step.  Writers are let
# in again without anybody's help, unless the target has the shard or may have it.
# The command in the program's message completes the move, with the rows of the
# source, or undoes it.
#
# With FLAKEID_MOVE_ROUNDS=n it also kills the program n times at moments taken
# at random.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeMove;
use FlakeTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $conf = q(
log_statement = none
max_connections = 40
max_wal_senders = 10
max_replication_slots = 10
max_worker_processes = 16
min_wal_size = 2MB
wal_retrieve_retry_interval = 200ms
restart_after_crash = on
);
my %options = (allows_streaming => 'logical', extra => ['--wal-segsize=1']);

# With the logging collector, the program can read the target's log.
my %node = (
	alpha => start_server('alpha', %options, conf => $conf),
	beta => start_server(
		'beta', %options, conf => "$conf\nlogging_collector = on"));
my $version = $node{beta}->safe_psql('postgres', 'SHOW server_version_num');

# What is written by writer 1000 the target takes only when nobody holds lock 1,
# and if there is no fault.
foreach my $name (keys %node)
{
	$node{$name}->safe_psql(
		'postgres', q(
		CREATE EXTENSION flakeid;
		CREATE ROLE app;
		CREATE TABLE fault ();
		CREATE FUNCTION takes(int) RETURNS bool LANGUAGE sql AS 'SELECT true';
		INSERT INTO flake_shard_map VALUES ('[0,99]', 'alpha');
	));
}
$node{beta}->safe_psql(
	'postgres', q(
	CREATE OR REPLACE FUNCTION takes(writer int) RETURNS bool LANGUAGE plpgsql AS $$
	BEGIN
		IF writer = 1000 THEN
			PERFORM pg_advisory_xact_lock_shared(1);
			RETURN NOT EXISTS (SELECT FROM public.fault);
		END IF;
		RETURN true;
	END $$
));

sub sql
{
	my ($where, $sql) = @_;

	return $node{$where}->safe_psql('postgres', $sql);
}

sub create_shard
{
	my ($shard) = @_;

	sql('alpha', qq(
CREATE SCHEMA photos_$shard;
CREATE TABLE photos_$shard.photo (
	id bigint PRIMARY KEY DEFAULT flake_id($shard),
	writer int NOT NULL CHECK (public.takes(writer)),
	n serial, data text);
INSERT INTO photos_$shard.photo (writer) SELECT 0 FROM generate_series(1, 100);
));
	return;
}

sub options
{
	my ($shard) = @_;

	return (
		"--shard=$shard",
		'--to=beta',
		'--source=' . $node{alpha}->connstr('postgres'),
		'--target=' . $node{beta}->connstr('postgres'),
		'--map=' . $node{alpha}->connstr('postgres'));
}

# A client: inserts on that server, and returns it, or the SQLSTATE.
sub insert_on
{
	my ($where, $shard, $writer) = @_;
	my ($code, $out, $err) = $node{$where}->psql('postgres',
		"\\set VERBOSITY verbose\nINSERT INTO photos_$shard.photo (writer) VALUES ("
		  . ($writer // 1)
		  . ')');

	return $code == 0 ? $where : error_code($out, $err);
}

my $contents = q(
SELECT count(*), md5(string_agg(photo::text, ',' ORDER BY id)) FROM photos_%s.photo);

# It goes on to the end, and the rows are those that the source has.
sub completes
{
	my ($name, $shard, @options) = @_;

	moves("$name: run again", options($shard), @options);
	is( sql('beta', sprintf $contents, $shard),
		sql('alpha', sprintf $contents, $shard),
		"$name: the rows are those of the source");
	is(insert_on('alpha', $shard), '55000', "$name: the source refuses");
	is(insert_on('beta', $shard), 'beta', "$name: a client writes");
	nothing_left($name);
	return;
}

sub nothing_left
{
	my ($name) = @_;

	is(leftovers(values %node), '', "$name: nothing is left");
	return;
}

# It has stopped with that message, and the source lets writers in.
sub stopped
{
	my ($name, $run, $shard, $pattern) = @_;

	ok(!finish_program($run), "$name: it stops");
	like($printed, $pattern, "$name: and says why");
	like(
		$printed,
		qr/To go on, run it again; to give up, run it with --undo/,
		"$name: and what to do");
	is(insert_on('alpha', $shard), 'alpha', "$name: a client writes");
	return;
}

# Something that is in the way until unblock().
my %blocker;

sub block
{
	my ($where, $sql) = @_;

	$blocker{$where} = new_session($node{$where});
	value($blocker{$where}, "BEGIN; $sql");
	return;
}

sub unblock
{
	my ($where, $how) = @_;

	value($blocker{$where}, $how // 'ROLLBACK');
	end_session(delete $blocker{$where});
	return;
}

# Starts it, and leaves it in a step:
#   5	a row waits for the target, which does not take it
#   6	a client keeps it from fencing
#   7	the fence is up, and $rows of before it wait for the target
#   8	all is there but the attaching, which waits
sub run_to_step
{
	my ($step, $shard, %more) = @_;
	my @options = (options($shard), @{ $more{options} // [] });
	my $rows = $more{rows} // "(writer) VALUES (1000)";
	my $run;

	create_shard($shard) unless $more{again};
	block('alpha', "LOCK TABLE photos_$shard.photo IN ROW EXCLUSIVE MODE");
	$run = start_program(@options);
	ok(wait_for_output($run, qr/a lock was not to be had/),
		"$shard: it waits for the fence");
	return $run if $step == 6;
	block('beta',
		$step == 8
		? "SELECT flake_detach($shard)"
		: 'SELECT pg_advisory_xact_lock(1)');
	value($blocker{alpha}, "INSERT INTO photos_$shard.photo $rows")
	  if $step < 8;
	kill_program($run, 'with its processes') if $step == 5;
	unblock('alpha', 'COMMIT');
	$run = start_program(@options) if $step == 5;

	if ($step < 8)
	{
		ok(wait_for_output($run, qr/^step $step .*bytes of WAL behind/ms),
			"$shard: it waits in step $step");
	}
	else
	{
		wait_until_program_waits($node{beta}, 'flake_lock_shard', 'advisory');
	}
	return $run;
}

sub lets_in
{
	my ($name, $shard) = @_;

	wait_until(sub { insert_on('alpha', $shard) eq 'alpha' },
		"$name: the source lets writers in");
	return;
}

#
# What it refuses.
#

sql('alpha', q(
CREATE SCHEMA bad_10;
SET search_path = bad_10, public;
CREATE TABLE by_generated (id bigint, created timestamptz
	GENERATED ALWAYS AS (flake_timestamp(id)) STORED, PRIMARY KEY (id, created));
CREATE TABLE full_generated (id bigint, "C d" timestamptz
	GENERATED ALWAYS AS (flake_timestamp(id)) STORED PRIMARY KEY);
ALTER TABLE full_generated REPLICA IDENTITY FULL;
CREATE TYPE pair AS (a int, b json);
CREATE DOMAIN places AS point[];
CREATE TABLE incomparable (id bigint, "a %s" json, b xml, c places, d pair, e text, f int[]);
ALTER TABLE incomparable REPLICA IDENTITY FULL;
CREATE TABLE full_with_key (id bigint PRIMARY KEY, good json);
ALTER TABLE full_with_key REPLICA IDENTITY FULL;
CREATE TABLE not_valid (id bigint PRIMARY KEY);
ALTER TABLE not_valid ADD CHECK (id > 0) NOT VALID;
CREATE TABLE audited (id bigint PRIMARY KEY, n int);
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
CREATE TRIGGER "Always" AFTER INSERT ON audited FOR EACH ROW EXECUTE FUNCTION audit();
ALTER TABLE audited ENABLE ALWAYS TRIGGER "Always";
CREATE TRIGGER as_replica AFTER INSERT ON audited FOR EACH ROW EXECUTE FUNCTION audit();
ALTER TABLE audited ENABLE REPLICA TRIGGER as_replica;
CREATE TRIGGER origin AFTER INSERT ON audited FOR EACH ROW EXECUTE FUNCTION audit();
CREATE TABLE forced (id bigint PRIMARY KEY);
ALTER TABLE forced OWNER TO app;
ALTER TABLE forced ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY;
REVOKE DELETE ON forced FROM app;
CREATE FUNCTION flakeid_fence() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
ALTER FUNCTION flakeid_fence OWNER TO app;

CREATE SCHEMA role_11;
CREATE ROLE "Only here";
CREATE TABLE role_11.t (id bigint PRIMARY KEY, name text);
GRANT SELECT (name) ON role_11.t TO "Only here";
CREATE ROLE policed;
CREATE POLICY p ON role_11.t TO policed;
CREATE ROLE has_a_type;
CREATE TYPE role_11.color AS ENUM ('red');
ALTER TYPE role_11.color OWNER TO has_a_type;
CREATE ROLE has_defaults;
ALTER DEFAULT PRIVILEGES FOR ROLE has_defaults IN SCHEMA role_11 GRANT SELECT ON TABLES TO app;

CREATE SCHEMA refers_12;
CREATE FUNCTION public.only_here(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE TABLE refers_12.t (id bigint PRIMARY KEY, n int DEFAULT public.only_here(1));

CREATE SCHEMA "Used_13";
SET search_path = "Used_13", public;
CREATE TABLE t (id bigint PRIMARY KEY, n serial);
CREATE VIEW inside AS SELECT * FROM t;
CREATE TYPE color AS ENUM ('red');
CREATE SCHEMA elsewhere;
CREATE VIEW elsewhere."V" AS SELECT id FROM "Used_13".inside;
CREATE VIEW elsewhere.of_it AS SELECT * FROM elsewhere."V";
CREATE TABLE elsewhere.painted (id int, c "Used_13".color, d int);
CREATE TABLE elsewhere.spared (id int);
));

my %before = map {
	$_ => scalar run_command(
		[
			'pg_dumpall', '--restrict-key=x',
			'-d', $node{$_}->connstr('postgres')
		])
} keys %node;

refuses(
	'a schema with things of others',
	qr/on the source, roles that are no superusers can change .*: function bad_10\.flakeid_fence\(\) of app, table bad_10\.forced of app\n.*hint: Use --trust-owners/s,
	options(10));
refuses('a schema with all kinds of faults', qr/cannot be moved/,
	options(10), '--trust-owners');
like($printed, $_, "all kinds of faults: $_")
  foreach
  qr/by_generated is identified by its generated column created,.* REPLICA IDENTITY/,
  qr/full_generated is identified by its generated column "C d"/,
  qr/column bad_10\.incomparable\."a %s", with no equality operator/,
  qr/incomparable\.b, with no/, qr/incomparable\.c, with no/,
  qr/incomparable\.d, with no/,
  qr/constraint not_valid_id_check of .*validate it/,
  qr/trigger "Always" of table bad_10\.audited is ENABLE ALWAYS.*--fire-triggers/,
  qr/trigger as_replica .* is ENABLE REPLICA/,
  qr/function bad_10\.flakeid_fence\(\) belongs to app/;
unlike($printed, $_, "no fault: $_")
  foreach qr/incomparable\.(id|e|f)/, qr/full_with_key/, qr/trigger origin/;

# From version 16 on changes can be applied as the table's owner.
my $as_owner = $version >= 160000 ? \&like : \&unlike;
$as_owner->($printed, $_, "as the owner: $_")
  foreach qr/forced has FORCE ROW LEVEL SECURITY/,
  qr/owner of table bad_10\.forced may not DELETE/,
  qr/owner of table bad_10\.forced has no USAGE on the schema/;

refuses(
	'roles of all kinds',
	qr/does not have these roles: (?=.*"Only here")(?=.*policed)(?=.*has_a_type)(?=.*has_defaults)/,
	options(11),
	'--trust-owners',
	'--dry-run');
refuses(
	'definitions that the target does not take',
	qr/function public\.only_here\(integer\) does not exist/,
	options(12), '--dry-run');
refuses(
	'--drop-source with something that depends on it',
	qr/not in it: table column elsewhere\.painted\.c, view elsewhere\."V", view elsewhere\.of_it\. Drop them first/,
	options(13),
	'--drop-source',
	'--dry-run');
refuses(
	'a name that the map would cut',
	qr/is longer than the name of a server/,
	options(13), '--to=' . 'x' x 64);
refuses(
	'a patience that is none',
	qr/must be a number of seconds, not "0"/,
	options(13), '--patience=0');
refuses(
	'a target that cannot reach the source',
	qr/could not connect to the publisher/,
	options(13), '--subscription-conninfo=host=/nonexistent');
moves('--undo of that', options(13), '--undo');

foreach my $name (keys %node)
{
	is( scalar run_command(
			[
				'pg_dumpall', '--restrict-key=x',
				'-d', $node{$name}->connstr('postgres')
			]),
		$before{$name},
		"$name: nothing has changed");
}
moves('--help', '--help');
like(
	$printed,
	qr/--patience=SECONDS.*30 if not given/s,
	'--help names the bound');

# As views may come while it moves, it is looked at once more.
my $run;
sql('alpha', 'DROP SCHEMA elsewhere CASCADE');
moves('without --drop-source', options(13));
sql('alpha', 'CREATE VIEW later AS SELECT * FROM "Used_13".t');
refuses(
	'--drop-source later',
	qr/view public\.later/,
	options(13), '--drop-source');
is(sql('alpha', 'SELECT count(*) FROM later'), 0, 'the view is still there');
sql('alpha', 'DROP VIEW later');
moves('--drop-source when it is gone', options(13), '--drop-source');
is(sql('alpha', q(SELECT to_regnamespace('"Used_13"') IS NULL)),
	't', 'the schema is dropped');

#
# What it takes: rules, other triggers, and tables without a key.
#

sql('alpha', q(
CREATE SCHEMA odd_14;
SET search_path = odd_14, public;
CREATE TABLE unkeyed (id bigint DEFAULT flake_id(14), n int, twice int GENERATED ALWAYS AS (n * 2) STORED);
ALTER TABLE unkeyed REPLICA IDENTITY FULL;
CREATE TABLE audit (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), what text);
CREATE TABLE t (id bigint PRIMARY KEY DEFAULT flake_id(14), n int, picture oid);
CREATE FUNCTION audit() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN INSERT INTO odd_14.audit (what) VALUES (''trigger''); RETURN NULL; END';
CREATE TRIGGER audit AFTER INSERT ON t FOR EACH ROW EXECUTE FUNCTION audit();
ALTER TABLE t ENABLE ALWAYS TRIGGER audit;
CREATE RULE audit AS ON INSERT TO t DO ALSO INSERT INTO odd_14.audit (what) VALUES ('rule');
ALTER TABLE t ENABLE ALWAYS RULE audit;
INSERT INTO unkeyed (n) SELECT generate_series(1, 10);
INSERT INTO t (n) SELECT 1 FROM generate_series(1, 10);
));
refuses('ENABLE ALWAYS', qr/trigger audit/, options(14), '--dry-run');
block('alpha', 'LOCK TABLE odd_14.unkeyed IN ROW EXCLUSIVE MODE');
$run = start_program(options(14), '--fire-triggers');
ok(wait_for_output($run, qr/a lock was not to be had/),
	'--fire-triggers: it moves');
like(
	$run->{out},
	qr/note: column odd_14\.t\.picture may name large objects/,
	'it says that large objects are not moved');
like(
	$run->{out},
	qr/note: trigger audit of table odd_14\.t is ENABLE ALWAYS/,
	'--fire-triggers: it says what that does');
value($blocker{alpha},
	'UPDATE odd_14.unkeyed SET n = -n WHERE n > 3; DELETE FROM odd_14.unkeyed WHERE n < 2 AND n > 0;'
	  . ' INSERT INTO odd_14.t (n) VALUES (2)');
unblock('alpha', 'COMMIT');
ok(finish_program($run), '--fire-triggers: it succeeds') or diag $printed;
is( sql('beta', 'SELECT * FROM odd_14.unkeyed ORDER BY id'),
	sql('alpha', 'SELECT * FROM odd_14.unkeyed ORDER BY id'),
	'REPLICA IDENTITY FULL, with a generated column: the rows are those of the source'
);
is( sql('beta',
		'SELECT what, count(*) FROM odd_14.audit GROUP BY 1 ORDER BY 1'),
	"rule|11\ntrigger|22",
	'rules fire for no copied row, those triggers for each');

#
# The target takes a row in no step; then it does, or the move is given up.
#

foreach my $step (4 .. 7)
{
	my $shard = 20 + $step;
	my $name = "a subscription that fails in step $step";

	sql('beta', 'INSERT INTO fault DEFAULT VALUES');
	if ($step == 4)
	{
		create_shard($shard);
		is(insert_on('alpha', $shard, 1000), 'alpha', 'a client writes');
		$run = start_program(options($shard));
	}
	else
	{
		$run = run_to_step($step, $shard);
		insert_on('alpha', $shard, 1000);
		# A reader keeps nobody from opening the fence.
		block('alpha', "SELECT FROM photos_$shard.photo") if $step == 7;
		unblock('beta') if $step != 6;
	}
	stopped($name, $run, $shard,
		qr/subscription has failed; the log there \(log.*ERROR: .*violates check constraint "photo_writer_check"/s
	);
	like($printed, qr/stopped in step $step /, "$name: it was in that step");
	unblock('alpha') if $step > 5;
	refuses("$name, run again", qr/subscription has failed/, options($shard));
	is(insert_on('alpha', $shard),
		'alpha', "$name, run again: a client writes");
	sql('beta', 'DELETE FROM fault');
	if ($step != 6)
	{
		moves("$name, --undo", options($shard), '--undo');
		nothing_left("$name, --undo");
		is(insert_on('alpha', $shard),
			'alpha', "$name, --undo: a client writes");
		is( sql('alpha',
				"SELECT count(*) FROM pg_trigger WHERE tgname = 'flakeid_fence' AND tgrelid = 'photos_$shard.photo'::regclass"
			),
			0,
			"$name, --undo: the fence is gone");
	}
	completes($name, $shard);
}

# Once the target is attached, it does not matter any more.
$run = run_to_step(6, 28);
my $map = new_session($node{alpha});
value($map, 'BEGIN; LOCK TABLE flake_shard_map IN SHARE MODE');
unblock('alpha');
ok(wait_for_output($run, qr/^step 9 /m), 'it waits in step 9');
sql('beta', 'ALTER SUBSCRIPTION flakeid_move_28 DISABLE');
sql('alpha',
	q(SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%flake_shard_map%')
);
ok(!finish_program($run), 'the map is lost in step 9: it stops');
like(
	$printed,
	qr/The target has shard 28\. To go on, run it again\. Until then, writers/,
	'the map is lost in step 9: it says what to do');
end_session($map);
completes('the map is lost in step 9', 28);

# It is not even there.
$run = run_to_step(6, 29, options => ['--patience=2']);
sql('beta',
	q(ALTER SUBSCRIPTION flakeid_move_29 CONNECTION 'host=/nonexistent'));
stopped('no worker', $run, 29,
	qr/has not been connected with the source for 2 s: does it reach it as /);
unblock('alpha');
completes('no worker', 29);

#
# The target does not apply anything, for longer than writers may be refused.
#

$run = run_to_step(7, 30, options => ['--patience=10']);
stopped('a target that is stuck', $run, 30, qr/has not caught up in 10 s/);
unblock('beta');
my $client = new_session($node{alpha});
my $insert = 'INSERT INTO photos_30.photo (writer) VALUES (1)';
is(code($client, $insert),
	'none, but: ', 'a target that is stuck: a session writes');
completes('a target that is stuck', 30);
is(code($client, $insert),
	'55000', 'a target that is stuck: it is refused after that');
end_session($client);

# The program does nothing any more: the source helps itself.  When the program
# comes back, the target is not attached.
foreach my $step (7, 8)
{
	my $shard = 24 + $step;
	my $name = "stopped in step $step";

	$run = run_to_step($step, $shard, options => ['--patience=20']);
	kill 'STOP', -$run->{pid};
	lets_in($name, $shard);
	unblock('beta');
	kill 'CONT', -$run->{pid};
	stopped($name, $run, $shard,
		qr/has let writers in again|has not answered in time|not caught up/);
	is(code($_, "SELECT flake_id($shard)"),
		'55000', "$name: the target does not mint")
	  foreach my $session = new_session($node{beta});
	end_session($session);
	completes($name, $shard);
}

#
# Servers that are restarted.
#

foreach my $step (5, 7, 8)
{
	my $shard = 30 + $step;
	my $name = "the target crashes in step $step";

	$run = run_to_step($step, $shard);
	$node{beta}->stop('immediate');
	stopped($name, $run, $shard, qr/on the target: see above/);
	$node{beta}->start;
	end_session(delete $blocker{beta});
	completes($name, $shard);
}

$run = run_to_step(7, 39);
$node{alpha}->stop('immediate');
$node{alpha}->start;
lets_in('the source crashes in step 7', 39);
stopped('the source crashes in step 7',
	$run, 39, qr/on the source: see above/);
unblock('beta');
completes('the source crashes in step 7', 39);

# Nobody is left to let writers in.  A default has come to name another's generator.
foreach my $undo (0, 1)
{
	my $shard = 56 + $undo;
	my $name = 'the source crashes with the program in step 7'
	  . ($undo ? ', --undo' : '');
	my $state = qq(
SELECT coalesce((SELECT state FROM flake_shards WHERE generator = 'others.gen'::regclass AND shard = $shard), 'none'));

	if (!$undo)
	{
		sql($_, q(
CREATE SCHEMA others AUTHORIZATION app;
SET ROLE app;
SELECT flake_create_generator('others.gen');
)) foreach keys %node;
	}
	sql('alpha', "SELECT flake_detach($shard, 'others.gen')");
	$run = run_to_step(7, $shard);
	kill 'STOP', -$run->{pid};
	$node{alpha}->stop('immediate');
	kill_program($run, 'with its processes');
	$node{alpha}->start;
	is(insert_on('alpha', $shard), '55000', "$name: the source refuses");
	sql('alpha',
		"ALTER TABLE photos_$shard.photo ALTER writer SET DEFAULT flake_shard(flake_id($shard, 'others.gen'))"
	);
	if ($undo)
	{
		moves($name, options($shard), '--undo');
		nothing_left($name);
	}
	else
	{
		refuses(
			$name,
			qr/is not minted on the source: others\.gen\. /,
			options($shard));
	}
	is(insert_on('alpha', $shard), 'alpha', "$name: a client writes");
	is(sql('alpha', $state), 'detached',
		"$name: nothing else is attached");
	sql('alpha', "ALTER TABLE photos_$shard.photo ALTER writer DROP DEFAULT");
	unblock('beta');
	completes($name, $shard);
}

# A generator that cannot be attached again keeps nobody else's writers out: somebody
# holds its lock, or has altered its sequence.
sql($_, q(CREATE SCHEMA later; SELECT flake_create_generator('later.gen')))
  foreach keys %node;
foreach my $case ([ 62, 'a generator that is locked', q(PERFORM flake_detach(62, 'later.gen')) ],
	[ 63, 'a generator that is altered', 'ALTER SEQUENCE later.gen CYCLE' ])
{
	my ($shard, $name, $does) = @$case;
	my $is_altered = $does =~ /CYCLE/;
	my $holder = new_session($node{alpha});
	my $reached = sub {
		is(insert_on('alpha', $shard), 'alpha', "$name$_[0]: a client writes");
		is(sql('alpha', "SELECT state FROM flake_shards WHERE generator = 'later.gen'::regclass AND shard = $shard"),
			$_[1], "$name$_[0]: the generator is $_[1]");
	};

	create_shard($shard);
	sql('alpha', "CREATE TABLE photos_$shard.b (id bigint PRIMARY KEY DEFAULT flake_id($shard, 'later.gen'))");
	value($holder, 'BEGIN');
	send_query($holder, "DO 'BEGIN WHILE NOT EXISTS (SELECT FROM pg_trigger WHERE tgrelid = ''photos_$shard.b''::regclass)"
		  . " LOOP PERFORM pg_sleep(0.001); END LOOP; " . $does =~ s/'/''/gr . "; END'");
	$run = run_to_step(7, $shard, again => 1, options => ['--patience=10']);
	get_answer($holder);
	value($holder, 'COMMIT') if $is_altered;
	stopped($name, $run, $shard, qr/has not caught up in 10 s/);
	like($printed, qr/But shard $shard of these generators is still detached on the source: later\.gen\. /,
		"$name: it names the generator");
	unblock('beta');
	$reached->('', 'detached');
	refuses("$name, run again", qr/writers are let in, but shard $shard of these generators .*: later\.gen\./,
		options($shard));
	$reached->(', run again', 'detached');
	if ($is_altered)
	{
		refuses("$name, --undo", qr/undone, but shard $shard of these generators .*: later\.gen\./,
			options($shard), '--undo');
		nothing_left("$name, --undo");
		$reached->(', --undo', 'detached');
		refuses("$name, from the beginning", qr/sequence of generator "gen" has been altered|is not minted/, options($shard));
		sql('alpha', "ALTER SEQUENCE later.gen NO CYCLE; SELECT flake_attach($shard, generator => 'later.gen')");
	}
	else
	{
		value($holder, 'ROLLBACK');
	}
	end_session($holder);
	completes($name, $shard);
}

# Was the attaching committed?  It hangs, or the target crashes; it was.
foreach my $case ([ 40, 'the target does not answer' ],
	[ 41, 'the target crashes' ])
{
	my ($shard, $name) = @$case;

	$name .= ' in the COMMIT of step 8';
	$run = run_to_step(8, $shard, options => ['--patience=20']);
	$node{beta}->append_conf('postgresql.conf',
		"synchronous_standby_names = 'nobody'");
	$node{beta}->reload;
	wait_until_commits_wait($node{beta});
	unblock('beta');
	wait_until_program_waits($node{beta}, 'COMMIT', 'SyncRep');
	$node{beta}
	  ->adjust_conf('postgresql.conf', 'synchronous_standby_names', undef);
	$node{beta}->stop('immediate') if $shard == 41;
	ok(!finish_program($run), "$name: it stops");
	like(
		$printed,
		qr/has not answered whether it has shard $shard now, so both servers refuse writers\. Run it again/,
		"$name: it says what to do");
	is(insert_on('alpha', $shard), '55000', "$name: the source refuses");
	$shard == 41 ? $node{beta}->start : $node{beta}->reload;
	completes($name, $shard);
}

#
# A full disk: files cannot grow.
#

SKIP:
{
	skip 'prlimit is not installed', 1
	  if system('prlimit --version >/dev/null 2>&1') != 0;
	my $large =
	  q((writer, data) SELECT 1000, repeat(md5(n::text), 10) FROM generate_series(1, 20000) n);
	my $limit = sub {
		my ($size) = @_;

		system('prlimit', "--fsize=$size:", '--pid', $_) == 0
		  or die 'prlimit failed'
		  foreach (slurp_file($node{beta}->data_dir . '/postmaster.pid') =~
			/^(\d+)/), split /\n/,
		  sql('beta',
			'SELECT pid FROM pg_stat_subscription WHERE pid IS NOT NULL');
	};

	foreach my $step (4, 7)
	{
		my $shard = 46 + $step;
		my $name = "a full disk in step $step";

		if ($step == 4)
		{
			create_shard($shard);
			sql('alpha', "INSERT INTO photos_$shard.photo $large");
			$limit->(4_000_000);
			$run = start_program(options($shard));
		}
		else
		{
			$run = run_to_step(7, $shard, rows => $large);
			$limit->(4_000_000);
			unblock('beta');
		}
		stopped($name, $run, $shard,
			qr/subscription has failed.*could not extend file/s);
		$limit->('unlimited');
		completes($name, $shard);
	}

	# Nothing can be written by the session that attaches.
	my $name = 'a full disk in step 8';
	$run = run_to_step(8, 55);
	system('prlimit', '--fsize=0:', '--pid', $_) == 0 or die 'prlimit failed'
	  foreach split /\n/,
	  sql('beta',
		q(SELECT pid FROM pg_stat_activity WHERE application_name = 'flakeid-move-shard')
	  );
	unblock('beta');
	ok(!finish_program($run), "$name: it stops");
	like($printed, qr/[Rr]un it again/, "$name: and says what to do");

	# If it was WAL that could not be written, that was the end of the server.
	if (($node{beta}->psql('postgres', 'SELECT 1'))[0] != 0)
	{
		$node{beta}->stop('immediate', fail_ok => 1);
		$node{beta}->start;
	}
	completes($name, 55);
}

#
# The function that refuses writes is a superuser's.
#

$run = run_to_step(6, 59);
sql('alpha', q(
GRANT CREATE, USAGE ON SCHEMA photos_59 TO app;
SET ROLE app;
CREATE FUNCTION photos_59.flakeid_fence() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';
));
unblock('alpha');
stopped('a fence of another owner',
	$run, 59, qr/flakeid_fence\(\) does not belong to a superuser/);
sql('alpha', 'DROP FUNCTION photos_59.flakeid_fence(); REVOKE CREATE ON SCHEMA photos_59 FROM app');
completes('a fence of another owner', 59);

#
# Definitions that change meanwhile; a reader, and --undo.
#

$run = run_to_step(6, 60);
sql('alpha',
	"SET lock_timeout = '10s'; CREATE TABLE photos_60.later (id bigint PRIMARY KEY)"
);
unblock('alpha');
stopped('a table that comes later',
	$run, 60, qr/do not have the same tables any more: on the source photos_60\.later /);
sql('alpha',
	'DROP TABLE photos_60.later; ALTER TABLE photos_60.photo ALTER data TYPE varchar(9)'
);
refuses(
	'a column of another type',
	qr/data character varying\(9\)/,
	options(60));
is(insert_on('alpha', 60),
	'alpha', 'a column of another type: a client writes');
moves('a column of another type, --undo', options(60), '--undo');
completes('a column of another type, --undo', 60);

$run = run_to_step(7, 61);
block('alpha', 'SELECT FROM photos_61.photo');
kill_program($run, 'with its processes');
lets_in('killed in step 7, with a reader', 61);
$run = start_program(options(61), '--undo');
ok(wait_for_output($run, qr/a lock was not to be had/),
	'--undo waits for the reader');
is(insert_on('alpha', 61),
	'alpha', '--undo waits for the reader: a client writes');
unblock('alpha');
ok(finish_program($run), '--undo after that');
nothing_left('--undo after that');
unblock('beta');
completes('--undo after that', 61);

#
# What others do meanwhile with generators, locks, slots and servers.
#

sub state_on
{
	my ($where, $generator, $shard) = @_;

	return sql($where, "SELECT coalesce((SELECT state FROM flake_shards WHERE generator = '$generator'::regclass AND shard = $shard), 'none')");
}

# A shard with a table whose ids come from another's generator, in step 7.
sub run_with_later
{
	my ($shard, @options) = @_;

	create_shard($shard);
	sql('alpha', "CREATE TABLE photos_$shard.b (id bigint PRIMARY KEY DEFAULT flake_id($shard, 'later.gen'))");
	return run_to_step(7, $shard, again => 1, options => [ '--generator=later.gen', @options ]);
}

# Nobody listens to the source's session that lets writers in, and a lock is not to be had.
$run = run_with_later(65);
block('alpha', q(SELECT flake_detach(65, 'later.gen')));
my $offset = -s $node{alpha}->logfile;
kill_program($run, 'with its processes');
lets_in('killed, a generator that is locked', 65);
wait_until(sub { slurp_file($node{alpha}->logfile, $offset) =~ /shard 65 of generator later\.gen is not attached/ },
	'killed, a generator that is locked: the log says so');
unblock('alpha');
wait_until(sub { state_on('alpha', 'later.gen', 65) eq 'attached' }, 'killed, a generator that is locked: attached when it is free');
unblock('beta');
moves('killed, a generator that is locked: --undo', options(65), '--undo', '--generator=later.gen');

# What its owner detaches during the move stays detached.
$run = run_with_later(67);
sql($_, q(SELECT flake_detach(67, 'later.gen'))) foreach keys %node;
unblock('beta');
stopped('a generator detached in step 7', $run, 67,
	qr/on the target, somebody has attached or detached shard 67 of these generators during the move: later\.gen\./);
refuses('a generator detached in step 7, --undo', qr/later\.gen is not attached: .*later\.gen stays as it is: .*undone, but shard 67 of these .*: later\.gen\./s,
	options(67), '--undo', '--generator=later.gen');
is(state_on($_, 'later.gen', 67), 'detached', "a generator detached in step 7, --undo: it stays so on $_") foreach keys %node;
nothing_left('a generator detached in step 7, --undo');

# All shards are detached where the fence stands, as on a copy of the source.
$run = run_to_step(7, 69);
sql('alpha', q(SELECT flake_detach_all('flake_default')));
unblock('beta');
ok(!finish_program($run), 'a copy with all shards detached: it stops');
like($printed, qr/on the source, somebody has attached or detached shard 69 .*flake_default\./, 'a copy with all shards detached: it says why');
refuses('a copy with all shards detached, --undo', qr/undone, but shard 69 of these .*flake_default\./, options(69), '--undo');
is(state_on('alpha', 'flake_default', 69), 'detached', 'a copy with all shards detached, --undo: it mints nothing');
sql('alpha', 'DELETE FROM flake_shard_state WHERE shard = -1');

# The source has let writers in while step 8 read the positions of sequences.
$run = run_to_step(7, 70, options => ['--patience=10']);
my $altering = new_session($node{alpha});
value($altering, 'BEGIN; ALTER SEQUENCE photos_70.photo_n_seq SET LOGGED');
# So late that it waits for the positions until after its patience, which it gives a second.
usleep(9_300_000);
unblock('beta');
wait_for_output($run, qr/^step 8 /m);
wait_until(sub { state_on('alpha', 'flake_default', 70) eq 'attached' }, 'let in during step 8: the shard is attached');
value($altering, 'ROLLBACK');
end_session($altering);
stopped('let in during step 8', $run, 70, qr/has let writers in again|has not answered in time|has not caught up/);
completes('let in during step 8', 70);

# A table that is not moved: its users do not wait for the move's locks.
sql($_, 'CREATE SCHEMA common; CREATE TABLE common.country (id int PRIMARY KEY)') foreach keys %node;
create_shard(71);
sql('alpha', q(ALTER TABLE photos_71.photo ADD country int REFERENCES common.country;
CREATE TABLE photos_71.b (id bigint PRIMARY KEY DEFAULT flake_id(71, 'later.gen'))));
foreach my $case (
	[ 'step 1', 'beta', 'INSERT INTO common.country VALUES (1)', qr/on the target was not to be had/, '--dry-run' ],
	[ 'step 3', 'beta', q(SELECT flake_detach(71, 'later.gen')), qr/step 3.*on the target was not to be had/s ],
	[ 'step 10', 'alpha', 'SELECT FROM common.country', qr/step 10.*a lock was not to be had/s, '--drop-source' ])
{
	my ($name, $where, $holds, $pattern, @options) = @$case;
	my $client = new_session($node{$where});

	block($where, $holds);
	$run = start_program(options(71), '--generator=later.gen', @options);
	ok(wait_for_output($run, $pattern), "a lock in $name: it tries again");
	value($client, q(SET lock_timeout = '10s'));
	is(code($client, 'INSERT INTO common.country SELECT coalesce(max(id), 9) + 1 FROM common.country'), 'none, but: ',
		"a lock in $name: others go on");
	end_session($client);
	$name eq 'step 3' ? kill_program($run, 'with its processes') : unblock($where);
	ok(finish_program($run), "a lock in $name: it goes on") if $name ne 'step 3';
	unblock($where) if $name eq 'step 3';
}

# A table's copy is interrupted, and the target cannot reach the source any more.
create_shard(72);
is(insert_on('alpha', 72, 1000), 'alpha', 'a client writes');
block('beta', 'SELECT pg_advisory_xact_lock(1)');
$run = start_program(options(72));
wait_until(sub { sql('alpha', q(SELECT slot_name FROM pg_replication_slots WHERE slot_name ~ '_sync_')) ne '' }, 'a table is copied');
kill_program($run, 'with its processes');
refuses('copying interrupted, no way to the source', qr/stopped in step 4/, options(72), '--subscription-conninfo=host=/nonexistent');
unblock('beta');
moves('copying interrupted: --undo', options(72), '--undo');
nothing_left('copying interrupted: --undo');

# The slot has another reader, as if a copy of the target had been started.
$run = run_to_step(6, 73);
kill 'HUP', -$run->{pid};
ok(!finish_program($run), 'SIGHUP to all processes: it stops');
like($printed, qr/^stopped in step 6 .*To go on, run it again/m, 'SIGHUP to all processes: it says what to do');
unblock('alpha');
sql('beta', 'ALTER SUBSCRIPTION flakeid_move_73 DISABLE');
wait_until(sub { sql('alpha', 'SELECT count(*) FROM pg_replication_slots WHERE active') eq '0' }, 'the slot is free');
my $reader = IPC::Run::start(
	[ 'pg_recvlogical', '--start', '--no-loop', '--slot=flakeid_move_73', '--file=-', '-o', 'proto_version=1', '-o', 'publication_names=flakeid_move_73',
		'--dbname=' . $node{alpha}->connstr('postgres') ],
	'<', \undef, '>', '/dev/null', '2>', '/dev/null');
wait_until(sub { sql('alpha', 'SELECT count(*) FROM pg_replication_slots WHERE active') eq '1' }, 'the slot is taken');
refuses('another reads the slot', qr/is read by somebody else, process \d+ of the source/, options(73), '--patience=1');
$run = start_program(options(73), '--undo');
ok(wait_for_output($run, qr/slots are still read: flakeid_move_73 by process \d+/), 'another reads the slot, --undo: it waits for that');
$reader->signal('INT');
$reader->finish;
ok(finish_program($run), 'another reads the slot, --undo') or diag $printed;
nothing_left('another reads the slot, --undo');

# The target becomes a standby that is promoted.
$run = run_to_step(6, 74, options => [ '--subscription-conninfo=' . sprintf('postgresql:///postgres?host=%s&port=%d', $node{alpha}->host, $node{alpha}->port) ]);
kill_program($run, 'with its processes');
unblock('alpha');
$node{beta}->stop;
$node{beta}->set_standby_mode;
$node{beta}->start;
$node{beta}->promote;
refuses('a promoted target', qr/the target was promoted or restored since the move began/, options(74), $_) foreach '--dry-run', '--patience=30';
moves('a promoted target: --undo', options(74), '--undo');
is(insert_on('alpha', 74), 'alpha', 'a promoted target: --undo: a client writes');

#
# Killed at any moment.
#

foreach my $round (1 .. $ENV{FLAKEID_MOVE_ROUNDS} // 0)
{
	my $how = rand > 0.5 ? 'alone' : 'with its processes';
	my $shard = 75 + $round % 24;

	sql('alpha',
		"DROP SCHEMA IF EXISTS photos_$shard CASCADE; SELECT flake_attach($shard);"
		  . " UPDATE flake_shard_map SET server = 'alpha' WHERE shards = '[$shard,$shard]'"
	);
	sql('beta',
		"DROP SCHEMA IF EXISTS photos_$shard CASCADE; SELECT flake_detach($shard)"
	);
	create_shard($shard);
	$run = start_program(options($shard));
	usleep(rand 2_000_000);
	note "round $round: killed in step ", kill_program($run, $how) // 0,
	  ", $how";
	completes("round $round", $shard);
}

$_->stop foreach values %node;
done_testing();
