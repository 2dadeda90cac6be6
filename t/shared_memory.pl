# Copyright (c) 2026, the flakeid developers

# Minting goes on when flakeid's shared memory is used up: shards in use stay in use,
# and others get an error.  Dropped databases and generators give theirs back.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use FlakeWire;
use Test::More;

# Far more than fit: each takes 8192 slots.
my $max_databases = 100;

my $node = start_server(
	'main',
	conf => q(
fsync = off
log_min_error_statement = panic
autovacuum = off				# what ends during a statement leaves bounds unknown to it
),
	sql => q(
CREATE EXTENSION flakeid;
SELECT flake_id(5);
CREATE DATABASE model;
));
$node->safe_psql('model', 'CREATE EXTENSION flakeid');

# Who makes a new entry looks for generators that were dropped, among more than are listed
# at first.
$node->safe_psql('postgres',
	q(SELECT count(flake_create_generator('many_' || n)) FROM generate_series(1, 600) AS n));
$node->safe_psql('postgres',
	q(SELECT count(flake_id(1, ('many_' || n)::regclass)) FROM generate_series(1, 600) AS n));
is($node->safe_psql('postgres', 'SELECT flake_shard(flake_id(78))'),
	78, 'minting goes on with hundreds of generators');
$node->safe_psql('postgres',
	q(DO $$ BEGIN FOR i IN 1 .. 600 LOOP EXECUTE 'DROP SEQUENCE many_' || i; END LOOP; END $$));
is( $node->safe_psql(
		'postgres', q(
BEGIN;
SELECT flake_shard(flake_id(79));
SELECT count(*) FROM pg_locks WHERE pid = pg_backend_pid() AND locktype = 'relation' AND mode = 'ExclusiveLock')),
	"79\n0", 'who frees what they had keeps none of them locked');

# A generator of this database to be dropped when memory is used up.
$node->safe_psql('postgres', q(SELECT flake_create_generator('spare')));
$node->safe_psql('postgres',
	q(SELECT count(flake_id(n, 'spare')) FROM generate_series(0, 8191) AS n));
$node->safe_psql('postgres', q(SELECT flake_create_generator('late')));

# Who may ask, and not mint, uses none of it up: not of a generator without time that
# has more shards than fit, before its first id or after that.
$node->safe_psql('postgres', q(
CREATE ROLE reader;
SELECT flake_create_generator('wide', 'shard:20 seq:43'), flake_create_generator('unused', 'shard:20 seq:43');
GRANT SELECT ON SEQUENCE wide, unused TO reader;
SELECT flake_id(1, 'wide');
));
my $ask = q(SELECT count(flake_settled('%s', n)) FROM generate_series(0, 500000) AS n);
is( $node->safe_psql('postgres', 'SET ROLE reader; ' . sprintf $ask, 'unused'),
	0, 'a reader asks about all shards that nobody has minted from');
is( $node->safe_psql('postgres', 'SET ROLE reader; ' . sprintf $ask, 'wide'),
	500001, 'also where one was minted from');
is( $node->safe_psql(
		'postgres', q(SELECT count(*) FROM flake_stat WHERE generator IN ('wide'::regclass, 'unused'::regclass))),
	1, 'that makes no slot');
is($node->safe_psql('postgres', 'SELECT flake_shard(flake_id(77))'),
	77, 'and takes no memory that others need');
$node->safe_psql('postgres', 'DROP SEQUENCE wide, unused');

my $every_shard = 'SELECT count(DISTINCT flake_id(shard))'
  . ' FROM generate_series(0, 8191) AS shard';

my $databases = 0;
my $error = '';
while ($error eq '' && $databases < $max_databases)
{
	$databases++;
	$node->safe_psql('postgres',
		"CREATE DATABASE filler$databases TEMPLATE model");
	(undef, $error) = ask_once($node, $every_shard, "filler$databases");
}

note "$databases databases with 8192 slots each";
cmp_ok($databases, '>', 24, 'there is room for 200,000 slots');
like($error, qr/ERROR:  53200: out of memory/,
	'memory that is used up is an error');
like($error, qr/HINT:  flakeid uses up to 64 MB/,
	'the error says whose memory, and how much it is');
like($error, qr/CONTEXT:  shared memory entry of shard \d+/, 'and for which shard');

is($node->safe_psql('postgres', 'SELECT flake_shard(flake_id(5))'),
	5, 'a shard with a slot goes on minting');
is( $node->safe_psql(
		'filler1', 'SELECT count(flake_id(n % 8192)) FROM generate_series(1, 20000) AS n'
	),
	20000,
	'also in other databases');

# Clients that do not read this error keep no part of the shared memory locked.
ask_once($node, q(SELECT count(flake_id(n, 'late')) FROM generate_series(0, 4000) AS n));
my @silent;
foreach my $n (8001 .. 8008)
{
	my $wire = FlakeWire->connect($node->host, $node->port, 'postgres',
		$ENV{PGUSER} || scalar getpwuid $<)
	  or die 'no connection';

	$wire->send("DO \$\$ BEGIN EXECUTE 'SELECT flake_id($n, ''late'') --'"
		  . q( || repeat('x', 5000000); END $$));
	$node->poll_query_until('postgres',
		"SELECT wait_event = 'ClientWrite' FROM pg_stat_activity WHERE pid = "
		  . $wire->pid)
	  or die 'the server does not wait for the client';
	push @silent, $wire;
}
is( (ask_once($node, q(SET statement_timeout = '10s'; SELECT count(*) > 0 FROM flake_stat)))[0],
	't', 'who does not read that error keeps nothing locked');
$_->close foreach @silent;

# A generator that finds no room is none the worse for it.
my $late = q(SELECT count(flake_id(n, 'late')) FROM generate_series(0, 4000) AS n);
my (undef, $stdout, $stderr) = $node->psql(
	'postgres',
	"\\set VERBOSITY sqlstate\n$late;\nDROP SEQUENCE spare;\n$late;\n",
	on_error_stop => 0);
is($stderr =~ s/^psql:.*?: //mr, 'ERROR:  53200', 'no room for a generator');
is($stdout, 4001, 'dropping another one makes room for it, in the same session');

for my $n (1 .. $databases)
{
	$node->safe_psql('postgres', "DROP DATABASE filler$n");
}
$node->safe_psql('postgres', 'CREATE DATABASE fresh TEMPLATE model');
is($node->safe_psql('fresh', $every_shard),
	8192, 'dropped databases give their memory back');
is($node->safe_psql('fresh', 'SELECT count(*), sum(issued) FROM flake_stat'),
	'8192|8192', 'and leave no statistics');

$node->stop;
done_testing();
