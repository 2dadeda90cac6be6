# Copyright (c) 2026, the flakeid developers

# No id repeats, and ids go up in the order in which they are handed out, however
# many sessions mint, and in whatever way.  flake_stat counts each of them.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server(
	'main',
	conf => q(
log_statement = none
max_wal_size = 4GB
shared_buffers = 256MB
synchronous_commit = off
));

sub query { return $node->safe_psql('postgres', $_[0]); }

# Runs statements in so many sessions that begin at the same moment; $sql may
# contain SESSION, the number of the session.  None may fail.  Returns what
# each wrote to standard output.
sub run_sessions
{
	my ($count, $what, $sql) = @_;
	my $gate = new_session($node);
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my (@runs, @errors);

	# Files and not pipes: IPC::Run would serve the pipes of one session
	# after the other, and the sessions would take turns.
	ask($gate, 'SELECT pg_advisory_lock(1)');
	foreach my $i (1 .. $count)
	{
		my $file = "$directory/$i";

		append_to_file("$file.sql", $sql =~ s/SESSION/$i/gr);
		push @runs,
		  IPC::Run::start(
			[
				'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
				'-d', $node->connstr('postgres'),
				'-c', 'DO $$BEGIN PERFORM pg_advisory_lock_shared(1); END$$',
				'-f', "$file.sql"
			],
			'<', '/dev/null',
			'>', "$file.out",
			'2>', "$file.err");
	}
	wait_for_waiters($node, $count, q(locktype = 'advisory'));
	end_session($gate);

	foreach my $i (1 .. $count)
	{
		$runs[ $i - 1 ]->finish
		  or push @errors, slurp_file("$directory/$i.err");
	}
	is("@errors", '', "no error in $count sessions at once: $what");
	return map { slurp_file("$directory/$_.out") } 1 .. $count;
}

query('CREATE EXTENSION flakeid');


# Two million rows by 16 sessions, into one table: each session fills 25
# transactions of 5,000 rows, half of them row by row, so that sessions mint
# both seldom and as fast as they can.  n is the session's own count.  The table
# is unlogged because crashes are the business of other tests.

my $batches = $ENV{UNIQUE_BATCHES} || 25;
my $rows = 16 * 5000 * $batches;

query(
	q(
CREATE UNLOGGED TABLE minted (id bigint PRIMARY KEY, session int, n int);
CREATE PROCEDURE fill(session int, shards int, batches int) LANGUAGE plpgsql AS $$
BEGIN
	FOR batch IN 0 .. batches - 1 LOOP
		FOR i IN 1 .. 2500 LOOP
			INSERT INTO minted
				VALUES (flake_id((i % shards)), session, batch * 5000 + i);
		END LOOP;
		INSERT INTO minted
			SELECT flake_id((i % shards)), session, batch * 5000 + i
			FROM generate_series(2501, 5000) i;
		COMMIT;
	END LOOP;
END $$;
));

foreach my $shards (1, 64)
{
	query('TRUNCATE minted; SELECT flake_stat_reset()');
	run_sessions(16, "rows, shards: $shards", "CALL fill(SESSION, $shards, $batches)");

	# The primary key would have made a session fail.  Count all the same,
	# and in the table instead of in the index.
	is( query(
			q(
SET enable_indexscan = off; SET enable_indexonlyscan = off;
SELECT count(*), count(DISTINCT id) FROM minted)),
		"$rows|$rows",
		"unique: 16 sessions, $rows ids, shards: $shards");
	cmp_ok(
		query(
			q(
WITH span AS (SELECT session, min(id), max(id) FROM minted GROUP BY session)
SELECT count(*)
FROM span AS a JOIN span AS b
	ON a.session <> b.session AND a.min < b.max AND b.min < a.max)),
		'>', '0', "these sessions did mint at the same time, shards: $shards");
	is( query('SELECT count(DISTINCT flake_shard(id)) FROM minted'),
		$shards, "every id is of the shard that was asked for, shards: $shards");
	is( query(
			q(
SELECT count(*)
FROM (SELECT id, lag(id) OVER (PARTITION BY session, flake_shard(id)
							   ORDER BY n) AS before
	  FROM minted) AS pair
WHERE id <= before)),
		'0',
		"ordered: ids of each session and shard go up, shards: $shards");
	is( query('SELECT count(*), sum(issued) FROM flake_stat WHERE issued > 0'),
		"$shards|$rows", "flake_stat counts each id once, shards: $shards");
}
query('TRUNCATE minted');


# As fast as possible, with nothing but minting: what two sessions may do to
# each other, they do here.

query('CREATE UNLOGGED TABLE bare (id bigint)');
run_sessions(
	16, 'only ids', q(
INSERT INTO bare SELECT flake_id(5) FROM generate_series(1, 20000);
INSERT INTO bare SELECT flake_ids(5, 10) FROM generate_series(1, 2000);
));
is(query('SELECT count(*), count(DISTINCT id) FROM bare'),
	'640000|640000', 'unique: single ids and ranges, as fast as possible');


# Order across sessions.  Each draws tickets before and after: an id with later
# tickets than another one's must be the greater one.

query('CREATE SEQUENCE ticket');
my @rows = map {
	[ map { [ split /\|/ ] } split /\n/ ]
} run_sessions(
	8, 'ids and tickets', q(
SELECT nextval('ticket'), flake_id(5), nextval('ticket')
FROM generate_series(1, 5000)));
is(scalar(map { @$_ } @rows), 40000, 'sessions returned ids and tickets');
is(first_misordered(@rows), undef,
	'ordered: ids go up across sessions in the order of handing out');


# Every way of asking for an id.

# Rows whose ids, in the order of n, do not go up.
sub misordered_rows
{
	my ($table) = @_;

	return query(
		qq(
SELECT count(*)
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM $table) AS pair
WHERE id <= before));
}

query(
	q(
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT flake_id(5), n serial, x int);
INSERT INTO item (x) SELECT i FROM generate_series(1, 10000) AS i;
));
is(misordered_rows('item'), '0',
	'ids of one INSERT ... SELECT go up in the order of its rows');

query("COPY item (x) FROM stdin;\n" . join("\n", 1 .. 10000) . "\n\\.\n");
is(query('SELECT count(*) FROM item'), '20000', 'COPY fills in ids');
is(misordered_rows('item'), '0', 'ids of a COPY go up in the order of its rows');

query(
	q(
PREPARE add (int) AS INSERT INTO item (x) VALUES ($1);
) . join '', map { "EXECUTE add($_);\n" } 1 .. 20);
is(query('SELECT count(*) FROM item'),
	'20020', 'a prepared statement mints each time');
is(misordered_rows('item'), '0', 'and each time a greater id');

query(
	q(
CREATE TABLE by_trigger (id bigint PRIMARY KEY, n serial);
CREATE FUNCTION set_id() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.id := flake_id(6);
	RETURN NEW;
END $$;
CREATE TRIGGER set_id BEFORE INSERT ON by_trigger
	FOR EACH ROW EXECUTE FUNCTION set_id();
INSERT INTO by_trigger (n) SELECT i FROM generate_series(1, 10000) AS i;
));
is( query('SELECT count(*), min(flake_shard(id)) FROM by_trigger'),
	'10000|6', 'a BEFORE trigger mints');
is(misordered_rows('by_trigger'), '0',
	'ids of a BEFORE trigger go up in the order of the rows');

is( query(
		q(
INSERT INTO item (x) VALUES (0) RETURNING id = flake_last_id();
SELECT flake_sibling(id) > id, flake_shard(flake_sibling(id))
FROM item ORDER BY id DESC LIMIT 1;)),
	"t\nt|5",
	'RETURNING and flake_sibling()');


# In a parallel query.  The leader takes no part in the scan, but it is the one
# that mints, also in a function that tells the planner otherwise.

my ($plan, $errors) = ask_once(
	$node, q(
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET max_parallel_workers_per_gather = 2;
SET parallel_leader_participation = off;
SELECT flake_stat_reset();
EXPLAIN (ANALYZE, VERBOSE, COSTS OFF, TIMING OFF, SUMMARY OFF)
	CREATE TABLE in_parallel AS SELECT flake_id(7) AS id, x FROM item;
SELECT flake_shard(flake_last_id()) = 7;
CREATE FUNCTION hidden() RETURNS bigint LANGUAGE plpgsql PARALLEL SAFE
	AS 'BEGIN RETURN flake_id(7); END';
EXPLAIN (ANALYZE) SELECT hidden() FROM item;
));
note $plan;
like(
	$plan,
	qr/^Gather\b[^\n]*\n\s+Output:\ flake_id\(7\),\ x\n.*^\s+Workers\ Launched:\ [12]\n
		.*->[^\n]*Seq\ Scan[^\n]*\n\s+Output:[^\n]*\bx\n/msx,
	'parallel CREATE TABLE AS: workers scan, and the leader mints');
like($plan, qr/Worker \d: .*rows=[1-9]/, 'a worker scanned rows');
is(query('SELECT count(*), count(DISTINCT id) FROM in_parallel'),
	'20021|20021', 'unique: ids minted in a parallel query');
is(query('SELECT issued FROM flake_stat WHERE shard = 7'),
	'20021', 'flake_stat counts what was minted in a parallel query');
like($plan, qr/^t$/m, 'and flake_last_id() knows the last');
like(
	$errors,
	qr/ERROR:  25000: cannot use a generator in a parallel worker\n.*^HINT:  .*PARALLEL RESTRICTED/ms,
	'a function that claims to be PARALLEL SAFE does not mint in a worker');


# Whatever becomes of the transaction, its ids were handed out.

query('SELECT flake_stat_reset()');
my @kept = run_sessions(
	8, 'transactions that fail', q(
SELECT flake_id(8) FROM generate_series(1, 1000);
BEGIN;
SELECT flake_id(8) FROM generate_series(1, 1000);
ROLLBACK;
BEGIN;
SAVEPOINT a;
SELECT flake_ids(8, 1000);
ROLLBACK TO a;
SELECT flake_id(9) FROM generate_series(1, 1000);
COMMIT;
BEGIN;
SELECT flake_id(8) FROM generate_series(1, 1000);
\set ON_ERROR_STOP off
SELECT 1 / 0;
COMMIT;
));
my @received = map { [ split /\n/ ] } @kept;
is(scalar(map { @$_ } @received),
	8 * 5000, 'sessions received ids in transactions that failed');
is(first_duplicate(@received),
	undef, 'unique: ids of rolled-back work are not handed out again');
is(first_decrease($_), undef, 'ordered: across a rollback') foreach @received;
is( query('SELECT shard, issued FROM flake_stat WHERE issued > 0 ORDER BY 1'),
	"8|32000\n9|8000",
	'flake_stat counts exactly what was handed out, rolled back or not');

# Also in a session that does not end in the regular way.
my $victim = new_session($node);
my ($pid) = ask($victim, 'SELECT pg_backend_pid()');
ask($victim, 'BEGIN; SELECT flake_id(10) FROM generate_series(1, 100)');
query("SELECT pg_terminate_backend($pid)");
$victim->{run}->finish;
ok( $node->poll_query_until('postgres',
		'SELECT issued = 100 FROM flake_stat WHERE shard = 10'),
	'flake_stat counts what a terminated session minted');


# flake_last_id() is each session's own.

my ($one, $other) = new_sessions($node, 2);
my $one_id = (ask($one, 'SELECT flake_id(11)'))[0];
like((ask($other, 'SELECT flake_last_id()'))[1],
	qr/ERROR:  55000/, 'flake_last_id() before the first id of a session');
my $other_id = (ask($other, 'SELECT max(i) FROM flake_ids(11, 10) AS i'))[0];
is((ask($one, 'SELECT flake_last_id()'))[0],
	$one_id, 'flake_last_id() is of the session');
is((ask($other, 'SELECT flake_last_id()'))[0],
	$other_id, 'flake_last_id() after flake_ids() is the last of them');
end_session($one, $other);

$node->stop;
done_testing();
