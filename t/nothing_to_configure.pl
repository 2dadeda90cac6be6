# Copyright (c) 2026, the flakeid developers

# CREATE EXTENSION is all the setting up there is.  It works in any database, with
# nothing preloaded, for every user who may create things there.  Each function
# then is open to the right users.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Runs a statement as a user, who is to get an error, and returns its SQLSTATE.
sub sqlstate_for
{
	my ($node, $dbname, $user, $sql) = @_;

	local $ENV{PGUSER} = $user;
	return error_code(ask_once($node, $sql, $dbname));
}

# Runs a statement as a user and returns what it does.
sub query_as
{
	my ($node, $dbname, $user, $sql) = @_;

	local $ENV{PGUSER} = $user;
	return $node->safe_psql($dbname, $sql);
}

# What initdb leaves, except for what a test cannot do without.
my $node = start_server(
	'main',
	conf => qq(
fsync = on
max_wal_senders = 10
restart_after_crash = on
wal_level = replica
));

is( $node->safe_psql(
		'postgres',
		"SELECT string_agg(setting, '') FROM pg_settings"
		  . " WHERE name LIKE '%preload_libraries'"
	),
	'',
	'nothing is preloaded');


# No set-up: one statement.

my @sessions = new_sessions($node, 3);
ask($_, 'SELECT 1') foreach @sessions;

$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my @ids = map { (ask($_, 'SELECT flake_id(5)'))[0] } @sessions, @sessions;
push @ids, $node->safe_psql('postgres', 'SELECT flake_id(5)');
is(scalar(grep { /^\d+$/ } @ids),
	7, 'no set-up: sessions old and new mint at once');
is(first_decrease(\@ids), undef, 'ids go up from session to session');
end_session(@sessions);


# A second database is another world.

$node->safe_psql('postgres', 'CREATE DATABASE second');
is(sqlstate_for($node, 'second', undef, 'SELECT flake_id(5)'),
	'42883', 'an extension is of one database');
$node->safe_psql('second', 'CREATE EXTENSION flakeid');
$node->safe_psql('postgres', 'SELECT flake_ids(5, 5000000) LIMIT 1');
is( $node->safe_psql(
		'second', 'SELECT flake_timestamp(flake_id(5)) <= clock_timestamp()'),
	't',
	'a burst in one database does not carry off the ids of another');
is($node->safe_psql('postgres', 'SELECT sum(issued) FROM flake_stat'),
	'5000007', 'flake_stat shows what this database minted');
is($node->safe_psql('second', 'SELECT sum(issued) FROM flake_stat'),
	'1', 'and in the other database, what that minted');
is( (ask_once($node, q(CREATE TABLE item (id bigint DEFAULT flake_id(5)); SELECT pg_sleep(0.2);
	SELECT flake_rewind('flake_default', flake_lower(now() - interval '0.1 s')); DROP TABLE item), 'second'))[1],
	'', 'nobody has asked what is settled, so that it can be set back');


# A restart loses nothing.

my %last = map { $_ => $node->safe_psql($_, 'SELECT flake_id(5)') }
  ('postgres', 'second');

sub goes_on_above
{
	my ($when) = @_;

	foreach my $dbname (sort keys %last)
	{
		my $id = $node->safe_psql($dbname, 'SELECT flake_id(5)');

		cmp_ok($id, '>', $last{$dbname}, "ids go on above $when, in $dbname");
		$last{$dbname} = $id;
	}
	return;
}

$node->restart;
goes_on_above('after a restart');

$node->append_conf('postgresql.conf', "shared_preload_libraries = 'flakeid'");
$node->restart;
is($node->safe_psql('template1', 'SHOW flakeid.max_ahead'),
	'15s', 'flakeid can be preloaded');
goes_on_above('when it is preloaded');
$node->safe_psql('postgres', 'CREATE DATABASE third');
$node->safe_psql('third', 'CREATE EXTENSION flakeid');
$last{third} = $node->safe_psql('third', 'SELECT flake_id(5)');

$node->append_conf('postgresql.conf', "shared_preload_libraries = ''");
$node->restart;
goes_on_above('when it is not preloaded any more');


# A copy of a database has the rows, so it must not mint their ids.

$node->safe_psql(
	'third', q(
CREATE TABLE copied (id bigint PRIMARY KEY DEFAULT flake_id(5));
SELECT flake_ids(5, 3000000) LIMIT 1;
INSERT INTO copied DEFAULT VALUES;
));
$node->safe_psql('postgres', 'CREATE DATABASE copy TEMPLATE third');
is( $node->safe_psql('copy', 'SELECT flake_id(5) > max(id) FROM copied'),
	't', 'a copy of a database mints above the rows that were copied');


# Whoever owns a database can set it up, look at it, dump and restore it.

$node->safe_psql(
	'postgres', q(
CREATE ROLE owner LOGIN;
CREATE ROLE stranger LOGIN;
CREATE ROLE watcher LOGIN IN ROLE pg_monitor;
CREATE DATABASE owned OWNER owner;
CREATE DATABASE restored_plain OWNER owner;
CREATE DATABASE restored_custom OWNER owner;
));
query_as(
	$node, 'owned', 'owner', q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT flake_id(5), name text);
INSERT INTO item (name) SELECT 'item ' || i FROM generate_series(1, 100) i;
));
is( query_as(
		$node, 'owned',
		'owner',
		'SELECT shard, issued, last_id FROM flake_stat WHERE issued > 0'),
	$node->safe_psql('owned', "SELECT 5, 100, max(id) FROM item"),
	"a database's owner, no superuser, creates the extension, mints and reads flake_stat"
);
is( query_as(
		$node, 'owned', 'owner',
		'SELECT flake_stat_reset(); SELECT sum(issued) FROM flake_stat'),
	"\n0",
	"the extension's owner may reset statistics");

my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
{
	local $ENV{PGUSER} = 'owner';

	$node->command_ok([ 'pg_dump', '-f', "$dump.sql", '-d', 'owned' ],
		'an owner who is no superuser can dump');
	$node->command_ok(
		[ 'pg_dump', '-Fc', '-f', "$dump.custom", '-d', 'owned' ],
		'an owner who is no superuser can dump in custom format');
	$node->command_ok(
		[
			'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1',
			'-f', "$dump.sql", '-d', 'restored_plain'
		],
		'an owner who is no superuser can restore');
	$node->command_ok(
		[
			'pg_restore', '--exit-on-error',
			'-d', 'restored_custom', "$dump.custom"
		],
		'an owner who is no superuser can restore from custom format');
}
my $horizon =
  $node->safe_psql('owned', 'SELECT last_value FROM flake_default');
foreach my $dbname ('restored_plain', 'restored_custom')
{
	is(query_as($node, $dbname, 'owner', 'SELECT count(*) FROM item'),
		'100', "the rows are there in $dbname");
	is( query_as(
			$node, $dbname, 'owner',
			"WITH new AS (INSERT INTO item DEFAULT VALUES RETURNING id)"
			  . " SELECT (id >> 23 << 10) | (id & 1023) > $horizon FROM new"),
		't',
		"new ids are above the horizon that the owner restored in $dbname");
}


# Others may mint, and nothing else.

like(query_as($node, 'owned', 'stranger', 'SELECT flake_id(5)'),
	qr/^\d+$/, 'any user may mint');
foreach my $sql (
	"SELECT setval('flake_default', 1)",
	'ALTER SEQUENCE flake_default RESTART',
	'SELECT * FROM flake_stat',
	'SELECT * FROM _flake_stat_slots()',
	'SELECT * FROM flake_unsettled',
	'SELECT * FROM _flake_holders()',
	'SELECT flake_stat_reset()')
{
	is(sqlstate_for($node, 'owned', 'stranger', $sql),
		'42501', "without privileges: $sql");
}
is( sqlstate_for(
		$node, 'owned', 'stranger', "SELECT nextval('flake_default')"),
	'42501',
	'who may mint cannot lock the page with nextval()');
is(query_as($node, 'owned', 'watcher', 'SELECT sum(issued) FROM flake_stat'),
	'1', 'a member of pg_monitor may read flake_stat');
is( sqlstate_for($node, 'owned', 'watcher', 'SELECT flake_stat_reset()'),
	'42501', 'but not reset it');

# Sessions remember that they may mint.  They must notice when they may not.
{
	local $ENV{PGUSER} = 'stranger';

	my $session = new_session($node, 'owned');
	my $mints = sub { (ask($session, 'SELECT flake_id(5)'))[0] =~ /^\d+$/ };
	my $error = sub { code($session, 'SELECT flake_id(5)') };
	my $admin = sub {
		delete local $ENV{PGUSER};
		$node->safe_psql('owned', @_);
	};

	ok($mints->(), 'a session mints');
	$admin->('REVOKE SELECT ON SEQUENCE flake_default FROM PUBLIC');
	is($error->(), '42501', 'REVOKE takes effect in it');
	is(code($session, 'SELECT * FROM flake_ids(5, 2)'),
		'42501', 'and not only for flake_id()');
	$admin->('GRANT SELECT ON SEQUENCE flake_default TO PUBLIC');
	ok($mints->(), 'GRANT takes effect in it');

	$admin->(
		q(
REVOKE SELECT ON SEQUENCE flake_default FROM PUBLIC;
CREATE ROLE minter;
GRANT SELECT ON SEQUENCE flake_default TO minter;
GRANT minter TO stranger;
));
	ok($mints->(), 'membership in a role that may mint takes effect in it');
	$admin->('REVOKE minter FROM stranger');
	is($error->(), '42501', 'and so does the end of that membership');

	# What a session remembers of one user is nothing to another.
	$admin->('CREATE ROLE idle; GRANT idle TO stranger');
	ask($session, 'SET ROLE idle');
	is($error->(), '42501', 'a role with neither SELECT nor USAGE may not mint');
	$admin->(
		'GRANT minter TO stranger;'
		  . ' GRANT USAGE ON SEQUENCE flake_default TO stranger'
	);
	ask($session, 'RESET ROLE');
	ok($mints->(), 'a user with USAGE may mint');
	ask($session, 'SET ROLE idle');
	is($error->(), '42501', 'and may not after SET ROLE to one without');
	$admin->('GRANT SELECT ON SEQUENCE flake_default TO PUBLIC');
	end_session($session);
}


# The shard can be the database's.

is(sqlstate_for($node, 'second', undef, 'SELECT flake_id()'),
	'55000', 'flake_id() does not guess a shard');
$node->safe_psql('postgres', 'ALTER DATABASE second SET flakeid.shard = 77');
is($node->safe_psql('second', 'SELECT flake_shard(flake_id())'),
	'77', 'ALTER DATABASE ... SET flakeid.shard is enough for flake_id()');
is( query_as($node, 'second', 'stranger', 'SELECT flake_shard(flake_id())'),
	'77', 'for every user');
is( $node->safe_psql(
		'second', 'SET flakeid.shard = 78; SELECT flake_shard(flake_id())'),
	'78',
	'a session can choose another shard');


# A database that is dropped takes nothing along.

my $session = new_session($node, 'second');
ask($session, 'SELECT flake_stat_reset(); SELECT flake_id(1)');
$node->safe_psql('postgres', 'DROP DATABASE third; DROP DATABASE copy');
foreach my $dbname ('fourth', 'fifth')
{
	# Room is made when a new database turns up.
	$node->safe_psql('postgres', "CREATE DATABASE $dbname");
	$node->safe_psql($dbname, 'CREATE EXTENSION flakeid');
	$last{$dbname} = $node->safe_psql($dbname, 'SELECT flake_id(5)');
	$node->safe_psql('postgres', 'DROP DATABASE fourth')
	  if $dbname eq 'fourth';
}
ask($session, 'SELECT flake_id(1)');
is( $node->safe_psql('second', 'SELECT issued FROM flake_stat WHERE shard = 1'),
	'2',
	'dropping a database leaves the statistics of others alone');
delete @last{ 'third', 'fourth' };
goes_on_above('when other databases were dropped');
end_session($session);


# The same where it is hardest to know which databases there are: in a session
# whose view of the catalogs is as old as its statement, and which has locked
# pg_database and looked up all about "flake_default" before it has to wait.

$node->restart;
my $blocker = new_session($node, 'fifth');
ask($blocker, 'SELECT pg_advisory_lock(1)');
my $waiter = $node->background_psql('fifth');
$waiter->query_until(
	qr/begins/, q(
\echo begins
SELECT (SELECT count(*) FROM pg_database) > 0,
	has_sequence_privilege('flake_default', 'USAGE'),
	to_regclass('nonexistent'),
	pg_advisory_lock_shared(1) IS NULL,
	flake_id(5) > 0 AS minted;
));
wait_for_waiters($node, 1, q(locktype = 'advisory'));

$node->safe_psql('postgres', 'CREATE DATABASE newest');
$node->safe_psql('newest', 'CREATE EXTENSION flakeid');
$session = new_session($node, 'newest');
ask($session, 'SELECT flake_id(1)');
ask($blocker, 'SELECT pg_advisory_unlock(1)');
like($waiter->query('SELECT 1'),
	qr/\|t\n1$/, 'a session mints for the first time late in a statement');
$node->safe_psql('newest', 'SELECT flake_id(1)');
ask($session, 'SELECT flake_id(1)');
is($node->safe_psql('newest', 'SELECT sum(issued) FROM flake_stat'),
	'3', 'a database that is younger than that statement is left alone');

$waiter->quit;
end_session($blocker, $session);

$node->stop;


# Memory that queries have used before is not taken for what transactions hold: they
# leave this database, its own generator and "all shards" in it, time and again.  With
# so many connections, what they hold is where these have written.

my $used = start_server(
	'used',
	conf => q(
min_dynamic_shared_memory = '4MB'
max_connections = 1000
max_prepared_transactions = 3
),
	sql => 'CREATE EXTENSION flakeid');
foreach my $name ('one', 'two', 'three')
{
	$used->safe_psql('postgres', "SELECT flake_create_generator('$name')");
	$used->safe_psql('postgres', "BEGIN; SELECT flake_id(1, '$name'); PREPARE TRANSACTION '$name'");
}
my $database = $used->safe_psql('postgres', 'SELECT oid FROM pg_database WHERE datname = current_database()');
my $rubbish = unpack 'H*', pack 'Lll', $database, 0, -1;
$used->safe_psql('postgres', qq(
CREATE TABLE rubbish AS SELECT decode(repeat('$rubbish', 150), 'hex') AS b FROM generate_series(1, 4000);
ALTER TABLE rubbish SET (parallel_workers = 8)));
$used->restart;
$used->safe_psql('postgres', q(
SET parallel_leader_participation = off;
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET max_parallel_workers_per_gather = 8;
CREATE TABLE more_rubbish AS SELECT b, pg_sleep(0.001)::text FROM rubbish));
$used->safe_psql('postgres', 'SELECT flake_id(1)');
is( $used->safe_psql('postgres', q(SELECT flake_timestamp(flake_settled()) > now() - interval '1 min')),
	't', 'memory that a query has used before: nobody holds ids back');
$used->stop;

done_testing();
