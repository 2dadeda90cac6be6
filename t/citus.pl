# Copyright (c) 2026, the flakeid developers

# No two nodes of a Citus cluster mint the same id, whatever happens to the cluster:
# rows are inserted in every way through every node, nodes are added, removed,
# replaced and killed, and shards of Citus move under load.  What would let two nodes
# mint one shard is an error.  All SQL of docs/citus.md works.
#
# Needs Citus: "make citus SOURCE=/path/to/citus" builds it and runs this test.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CitusCluster;
use FlakePage;
use FlakeTest;
use Test::More;

plan skip_all => 'Citus is not installed' unless has_citus();

my %node = map { $_ => start_citus_node($_) } 'coordinator', map { "worker$_" } 1 .. 3;
my $coordinator = $node{coordinator};
my @workers = @node{qw(worker1 worker2 worker3)};
my @nodes = ($coordinator, @workers);

sub shard_on
{
	my ($node) = @_;

	my ($out, $err) = ask_once($node, 'SELECT flake_shard(flake_id())');

	return $out . ($err =~ /ERROR:  (.*)/ ? $1 : '');
}

sub refused
{
	my ($node, $sql, $like, $name) = @_;
	my ($out, $err) = ask_once($node, $sql);

	is(error_code($out, $err), '55000', $name);
	like($err, $like, $name) if $like;
	return;
}

# Rows and ids that occur more than once among them, of all tables that have ids.
my @tables;

sub count_rows
{
	my $union = join ' UNION ALL ', map { "SELECT id FROM $_" } @tables;

	return split /\|/,
	  $coordinator->safe_psql('postgres',
		"SELECT count(*), count(*) - count(DISTINCT id) FROM ($union) t");
}

sub no_duplicates
{
	my ($what) = @_;
	my ($rows, $duplicates) = count_rows();

	is($duplicates, 0, "$what: no id twice");
	diag("$what: $rows rows in all, $duplicates ids twice");
	return $rows;
}

### A node that does not know its place mints nothing.

$workers[0]->safe_psql('postgres', 'CREATE EXTENSION flakeid');
refused($workers[0], 'SELECT flake_id()', qr/does not know this node/,
	'a node that was never added has no shard');
refused($workers[0], 'SELECT flake_id(0)', qr/does not know this node/, 'not even 0');
$workers[0]->safe_psql('postgres', 'DROP EXTENSION flakeid');

$coordinator->safe_psql('postgres', 'CREATE EXTENSION flakeid');
my %open = (coordinator => new_session($coordinator));
is(code($open{coordinator}, 'SELECT flake_id()'),
	'55000', 'nor has a coordinator without workers that is not set');
add_node($coordinator, $coordinator);
is(value($open{coordinator}, 'SELECT flake_shard(flake_id())'),
	0, 'when it is, its open session mints shard 0');
add_node($coordinator, $_) foreach @workers;
is(join(',', map { shard_on($_) } @nodes),
	'0,1,2,3', 'each node mints the shard of its group, without a setting');
$open{$_} = new_session($node{$_}) foreach qw(worker1 worker2 worker3);

### Every way to insert, through every node.

$coordinator->safe_psql(
	'postgres', q(
CREATE TABLE photo (id bigint DEFAULT flake_id(), k bigint, via text);
CREATE TABLE copied (id bigint DEFAULT flake_id(), k bigint, via text);
CREATE TABLE repartitioned (id bigint DEFAULT flake_id(), k bigint, via text);
CREATE TABLE keyed (id bigint PRIMARY KEY DEFAULT flake_id(), k bigint, via text);
CREATE TABLE everywhere (id bigint PRIMARY KEY DEFAULT flake_id(), k bigint, via text);
CREATE TABLE managed (id bigint PRIMARY KEY DEFAULT flake_id(), k bigint, via text);
SELECT create_distributed_table('photo', 'k', shard_count => 8);
SELECT create_distributed_table('copied', 'k', colocate_with => 'photo');
SELECT create_distributed_table('repartitioned', 'k', shard_count => 5);
SELECT create_distributed_table('keyed', 'id', shard_count => 6);
SELECT create_reference_table('everywhere');
SELECT citus_add_local_table_to_metadata('managed');

CREATE FUNCTION add_photo(which bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
	INSERT INTO photo (k, via) VALUES (which, 'function') RETURNING id INTO result;
	RETURN result;
END $$;
CREATE FUNCTION add_delegated(which bigint) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE result bigint;
BEGIN
	INSERT INTO photo (k, via) VALUES (which, 'delegated') RETURNING id INTO result;
	RETURN result;
END $$;
SELECT create_distributed_function('add_delegated(bigint)', '$1', colocate_with => 'photo',
	force_delegation => true);
CREATE PROCEDURE add_by_call(which bigint) LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO photo (k, via) VALUES (which, 'call');
END $$;
SELECT create_distributed_function('add_by_call(bigint)', '$1', colocate_with => 'photo');
));
@tables = qw(photo copied repartitioned keyed everywhere managed);

# Name => how many rows and how. Citus need not be able to do each through a worker.
my @ways = (
	[ 'a row',            "INSERT INTO photo (k, via) VALUES (7, 'row')" ],
	[ 'several rows',     "INSERT INTO photo (k, via) VALUES (1, 'r'), (2, 'r'), (3, 'r'), (4, 'r')" ],
	[ 'generate_series',  "INSERT INTO photo (k, via) SELECT i, 'series' FROM generate_series(1, 500) i" ],
	[ 'by the id',        "INSERT INTO keyed (k, via) SELECT i, 'series' FROM generate_series(1, 500) i" ],
	[ 'a reference table',"INSERT INTO everywhere (k, via) SELECT i, 'series' FROM generate_series(1, 50) i" ],
	[ 'a local table',    "INSERT INTO managed (k, via) SELECT i, 'series' FROM generate_series(1, 50) i" ],
	[ 'COPY',             "COPY photo (k, via) FROM PROGRAM 'seq -f ''%.0f\tcopy'' 300'" ],
	[ 'COPY by the id',   "COPY keyed (k, via) FROM PROGRAM 'seq -f ''%.0f\tcopy'' 300'" ],
	[ 'INSERT ... SELECT, pushed down', "INSERT INTO copied (k, via) SELECT k, 'pushed' FROM photo" ],
	[ 'the same, repartitioned', "INSERT INTO repartitioned (k, via) SELECT k + 1, 'repartitioned' FROM photo" ],
	[ 'the same, through the coordinator', "INSERT INTO repartitioned (k, via) SELECT k, 'pulled' FROM photo ORDER BY k LIMIT 200" ],
	[ 'from a reference table', "INSERT INTO photo (k, via) SELECT k, 'reference' FROM everywhere" ],
	[ 'WITH',             "WITH n AS (INSERT INTO photo (k, via) VALUES (9, 'with') RETURNING k) INSERT INTO copied (k, via) SELECT k, 'with' FROM n" ],
	[ 'a minting query',  "INSERT INTO copied (id, k, via) SELECT flake_id(), k, 'explicit' FROM photo" ],
	[ 'ON CONFLICT',      "INSERT INTO keyed (k, via) VALUES (1, 'upsert') ON CONFLICT (id) DO UPDATE SET k = 2" ],
	[ 'PREPARE',          "PREPARE p AS INSERT INTO photo (k, via) VALUES (\$1, 'prepared'); " . join(' ', map { "EXECUTE p($_);" } 1 .. 8) ],
	[ 'a function',       'SELECT add_photo(11)' ],
	[ 'a delegated function', 'SELECT add_delegated(i) FROM generate_series(1, 1) i; SELECT add_delegated(12); SELECT add_delegated(13)' ],
	[ 'a delegated procedure', 'CALL add_by_call(14)' ],
	[ 'a transaction',    "BEGIN; INSERT INTO photo (k, via) VALUES (1, 't'), (2, 't'); SAVEPOINT s; INSERT INTO photo (k, via) VALUES (3, 'undone'); ROLLBACK TO s; INSERT INTO keyed (k, via) SELECT k, 't' FROM photo; COMMIT" ],
	[ 'two-phase commit', "BEGIN; SET LOCAL citus.multi_shard_modify_mode = sequential; INSERT INTO photo (k, via) SELECT i, '2pc' FROM generate_series(1, 40) i; COMMIT" ],
);

foreach my $name (sort keys %node)
{
	my @failed;

	foreach my $way (@ways)
	{
		my ($out, $err) = ask_once($node{$name}, $way->[1]);

		push @failed, "$way->[0]: $err" if $err =~ /ERROR/;
	}
	is(join('', @failed), '', "each of " . @ways . " ways to insert works through $name");
}
no_duplicates(@ways . ' ways to insert through 4 nodes');
is( $coordinator->safe_psql('postgres', 'SELECT count(DISTINCT flake_shard(id)) FROM copied'),
	4, 'ids were minted on all nodes');

### 100,000 rows by INSERT ... SELECT.

$coordinator->safe_psql('postgres',
	q(TRUNCATE photo, copied, repartitioned, keyed, everywhere; INSERT INTO photo (k) SELECT i FROM generate_series(1, 100000) i));
$coordinator->safe_psql('postgres', 'INSERT INTO copied (k) SELECT k FROM photo');
$coordinator->safe_psql('postgres', 'INSERT INTO repartitioned (k) SELECT k + 1 FROM photo');
no_duplicates('100,000 rows by INSERT ... SELECT, with and without repartitioning');
diag('shards of the first kind: '
	  . $coordinator->safe_psql('postgres',
		q(SELECT string_agg(s || ': ' || n, ', ' ORDER BY s) FROM (SELECT flake_shard(id) s, count(*) n FROM copied GROUP BY 1) t)));

### What would let two nodes mint one shard is an error.

my $constant = q(INSERT INTO photo (id, k) SELECT flake_id(5), k FROM copied);
refused($coordinator, $constant, qr/shard 5 is not this node's/, 'a constant shard, on the workers');
refused($coordinator, 'SELECT flake_id(5)', qr/which is 0 here/, 'a constant shard, here');
refused($workers[1], 'SELECT flake_sibling(flake_make(now(), 1, 0))', undef, "a sibling of another node's id");
refused($coordinator, 'INSERT INTO copied (id, k) SELECT flake_sibling(id), k FROM photo', undef,
	'siblings, on the workers');
refused($coordinator,
	q(SET citus.propagate_set_commands = 'local'; BEGIN; SELECT count(*) FROM photo; SET LOCAL flakeid.shard = 0; INSERT INTO copied (k) SELECT k FROM photo; COMMIT),
	qr/shard 0 is not this node's/, 'a setting that Citus passes on');
refused($workers[0], q(SELECT flake_lease('a')), qr/Connect to the coordinator/, 'a lease on a worker');
is($coordinator->safe_psql('postgres', q(SELECT shard FROM flake_lease('a'))), 8191,
	'the coordinator leases shards that no group reaches');
refused($_, 'SELECT flake_attach(3)', qr/Attach a shard above 4095/, 'the shard of another group cannot be attached')
  foreach $coordinator, $workers[1];
$workers[2]->safe_psql('postgres', 'SELECT flake_detach(3)');
refused($workers[2], 'SELECT flake_id()', qr/detached/, 'a node can be kept from minting');
$workers[2]->safe_psql('postgres', 'SELECT flake_attach(3)');
is(shard_on($workers[2]), 3, 'and mint again');
$workers[2]->safe_psql('postgres', 'SELECT flake_attach(5000)');
is($workers[2]->safe_psql('postgres', 'SELECT flake_shard(flake_id(5000))'), 5000,
	'a higher one can, on one node');
refused($coordinator, 'SELECT flake_id(5000)', undef, 'and is minted there only');

### The page, and what flakeid's functions do with tables of Citus.

new_database('page', @nodes);
test_page($coordinator, "$FindBin::RealBin/../docs/citus.md", 'page', %node);

sub in_page
{
	my ($sql, $node) = @_;
	my ($out, $err) = ask_once($node // $coordinator, $sql, 'page');

	my ($error) = $err =~ /ERROR:  (\w{5}: .*)/;
	my ($detail) = $err =~ /^(DETAIL: .*)/m;

	return defined $error ? join ' ', grep { defined } $error, $detail : $out;
}

in_page($_) foreach split /^/, q(
CREATE EXTENSION citus_columnar
CREATE SCHEMA shop
CREATE TABLE shop.spread (id bigint PRIMARY KEY DEFAULT flake_id(5000), n bigint)
CREATE TABLE shop.same (id bigint PRIMARY KEY, n bigint DEFAULT flake_id())
CREATE TABLE shop.kept (id bigint PRIMARY KEY DEFAULT flake_id(), n bigint)
CREATE TABLE flat (id bigint DEFAULT flake_id(), n int) USING columnar
SELECT create_distributed_table('shop.spread', 'id')
SELECT create_reference_table('shop.same')
SELECT citus_add_local_table_to_metadata('shop.kept')
);
foreach my $table (qw(spread same kept))
{
	like(in_page("SELECT flake_migrate('shop.$table', 'n', 0)"),
		qr/^0A000: cannot migrate "$table" DETAIL:  It is a table of Citus/, "flake_migrate: $table");
	like(in_page("SELECT * FROM flake_replace_ids('shop.$table', 'id', 5001)"),
		qr/^0A000: .*one of Citus/, "flake_replace_ids: $table");
	in_page("CREATE SCHEMA only_$table; CREATE TABLE only_$table.a (LIKE shop.$table INCLUDING ALL)");
	in_page({ spread => "SELECT create_distributed_table('only_spread.a', 'id')",
		same => "SELECT create_reference_table('only_same.a')",
		kept => "SELECT citus_add_local_table_to_metadata('only_kept.a')" }->{$table});
	like(in_page("SELECT flake_create_shard(5001, 'only_$table')"),
		qr/^0A000: .*It is a table of Citus/, "flake_create_shard: $table");
	is(in_page("SELECT to_regnamespace('only_${table}_5001')"), '', 'nothing is half done');
}
like(in_page("SELECT * FROM flake_renumber('{5000}', '{5001}')"), qr/^0A000: .*In a table of Citus/, 'flake_renumber');
like(in_page("SELECT flake_rewind('flake_default', flake_lower(now() - interval '1 day'))"), qr/^55000: cannot search column/, 'flake_rewind');
in_page('CREATE SCHEMA template; CREATE TABLE template.a (id bigint PRIMARY KEY DEFAULT flake_id())');
like(in_page("SET citus.enable_schema_based_sharding = on; SELECT flake_create_shard(5002, 'template')"),
	qr/^0A000: .*a tenant/, 'flake_create_shard, where a schema is a tenant');
is(in_page("SELECT flake_create_shard(5002, 'template')"), 'template_5002', 'and where it is not');
is(in_page("INSERT INTO flat (n) SELECT i FROM generate_series(1, 100) i; SELECT count(DISTINCT id) FROM flat"), 100,
	'a columnar table');
is(in_page("SELECT flake_migrate('flat', 'id', 0)") =~ /^(?!XX)/ ? 'ok' : 'internal error', 'ok', 'which is migrated or refused');
in_page(q(CREATE TABLE event (k int, id bigint DEFAULT flake_id(), PRIMARY KEY (k, id)) PARTITION BY RANGE (id)));
in_page(q(SELECT create_distributed_table('event', 'k')));
like(in_page(q(SELECT count(*) FROM flake_create_partitions('event', '1 month', now(), now() + interval '2 months'))),
	qr/^[34]$/, 'partitions of a distributed table');
in_page(q(INSERT INTO event (k) SELECT i FROM generate_series(1, 1000) i; INSERT INTO event (k) SELECT k FROM event));
is(in_page('SELECT count(*), count(DISTINCT id) FROM event'), '2000|2000', 'which is partitioned by time');
in_page(q(SELECT flake_drop_partitions('event', now() + interval '3 months')));
is(in_page(q(SELECT count(*) FROM pg_class WHERE relname ~ '^event_p2'), $_), 0, 'they are dropped on all nodes')
  foreach @nodes;
in_page('DROP TABLE event');
is(in_page(q(SELECT string_agg(concat_ws(': ', what, object, detail), ', ') FROM flake_health), $_),
	'', 'nothing is wrong in flake_health')
  foreach @nodes;

# A generator of one's own, whose sequence Citus takes for an ordinary one
foreach my $node (@nodes)
{
	in_page(q(SET citus.enable_ddl_propagation = off; SELECT flake_create_generator('own', 'ts:41 shard:13 seq:10 epoch=2020-01-01')), $node);
}
my $own = q(SELECT flake_id((SELECT groupid FROM pg_dist_local_group), 'own'));
my %last = map { $_->name => in_page($own, $_) } @nodes;
in_page(q(CREATE TABLE owned (id bigint DEFAULT flake_id(0, 'own'), k int)));
in_page(q(SELECT create_distributed_table('owned', 'k')));
foreach my $node (@workers)
{
	like(in_page($own, $node), qr/^55000: sequence of generator "own" has been altered/, 'an altered sequence is noticed');
	my (undef, $hint) = ask_once($node, $own, 'page');
	my ($alter) = $hint =~ /(ALTER SEQUENCE .* RESTART)\. /;
	like(in_page($alter, $node), qr/Altering a distributed sequence/, 'Citus refuses to set it back');
	in_page("SET citus.enable_ddl_propagation = off; $alter", $node);
	cmp_ok(in_page($own, $node), '>', $last{ $node->name }, 'otherwise ids go on where they were');
}

### Shards of Citus move and are rebalanced under load.

my $insert = q(INSERT INTO photo (k) SELECT (random() * 100000)::int FROM generate_series(1, 20) RETURNING id;)
  . q( INSERT INTO keyed (k) VALUES (1), (2), (3) RETURNING id;);
my @clients = map { start_clients($_, sql => $insert) } @nodes;
wait_for_more($_, 100) foreach @clients;
my ($shard, $from, $to) = split /\|/, $coordinator->safe_psql(
	'postgres', q(
SELECT s.shardid, s.nodeport, (SELECT min(nodeport) FROM pg_dist_node WHERE nodeport <> s.nodeport AND groupid > 0)
FROM citus_shards s WHERE table_name = 'photo'::regclass ORDER BY 1 LIMIT 1));
$coordinator->safe_psql('postgres',
	"SELECT citus_move_shard_placement($shard, '127.0.0.1', $from, '127.0.0.1', $to, 'force_logical')");
run_on($coordinator, $workers[2], "SELECT citus_set_node_property(%s, 'shouldhaveshards', false)");
$coordinator->safe_psql('postgres', "SELECT rebalance_table_shards(shard_transfer_mode => 'force_logical')");
run_on($coordinator, $workers[2], "SELECT citus_set_node_property(%s, 'shouldhaveshards', true)");
$coordinator->safe_psql('postgres', "SELECT rebalance_table_shards(shard_transfer_mode => 'force_logical')");
wait_for_more($_, 50) foreach @clients;
my $before = @tables && no_duplicates('a shard moved and shards rebalanced twice, under load');

### kill -9 of a worker, and of the coordinator, under load.

foreach my $victim ($workers[1], $coordinator)
{
	my ($client) = grep { $nodes[$_] == $victim } 0 .. $#nodes;

	kill9_and_wait($victim);
	finish_clients($clients[$client]);
	start_with_clock($victim, new_clock());
	$open{ $victim->name } = new_session($victim);
	@clients = grep { defined } @clients;
	$clients[$client] = (start_clients($victim, sql => $insert))[0];
	wait_for_more($clients[$client], 100);
	is(shard_on($victim), $client, $victim->name . ' mints its shard after kill -9');
}
no_duplicates('kill -9 of a worker and of the coordinator under load');

stop_clients($nodes[$_], $clients[$_]) foreach 0 .. $#nodes;

### A node is removed and added again, with sessions and transactions open.

my $third = $workers[2];
my $on_third = $open{worker3};
my $in_transaction = new_session($third);

sub drain
{
	my ($name, $away) = @_;

	run_on($coordinator, $third, "SELECT citus_set_node_property(%s, 'shouldhaveshards', false)");
	$coordinator->safe_psql('postgres',
		"SELECT rebalance_table_shards(shard_transfer_mode => 'block_writes')");
	$coordinator->safe_psql('postgres', 'CALL citus_cleanup_orphaned_resources()');
	return;
}

drain();
value($on_third, 'SET client_min_messages = warning');
value($on_third, 'PREPARE one AS SELECT flake_shard(flake_id())');
is(value($on_third, 'EXECUTE one'), 3, 'a prepared statement');
value($in_transaction, 'BEGIN');
is(value($in_transaction, 'SELECT flake_shard(flake_id())'), 3, 'a transaction has begun to mint');
run_on($coordinator, $third, 'SELECT citus_remove_node(%s)');
is(code($on_third, 'SELECT flake_id()'), '55000', 'a removed node mints nothing, in an open session');
is(code($on_third, 'EXECUTE one'), '55000', 'nor by a prepared statement');
refused($third, 'SELECT flake_id(0)', qr/was removed/, 'nor the shard of the coordinator, whose group it has now');
ask($in_transaction, 'ROLLBACK');
add_node($coordinator, $third);
my $group = run_on($coordinator, $third, 'SELECT groupid FROM pg_dist_node WHERE (nodename, nodeport) = (%s)');
cmp_ok($group, '>', 3, 'added again, it has a new group');
is(value($on_third, 'EXECUTE one'), $group, 'and mints its shard');
is(value($in_transaction, 'SELECT flake_shard(flake_id())'), $group, 'in every session');
refused($third, 'SELECT flake_id(3)', undef, 'and the old group is nobody\'s');
ask($on_third, 'SELECT flake_id()');

# Rolled back, prepared
$coordinator->safe_psql('postgres', 'BEGIN; '
	  . "SELECT citus_remove_node(${\address($third)}); SELECT citus_add_node(${\address($third)}); ROLLBACK");
is(shard_on($third), $group, 'undone, it has the group that it had');
value($on_third, 'BEGIN');
value($on_third, q(UPDATE pg_dist_local_group SET groupid = 0));
is(code($on_third, 'SELECT flake_id()'), '55000', 'nobody mints by a change of his own that is not committed');
ask($on_third, 'ROLLBACK');
value($on_third, q(BEGIN; UPDATE pg_dist_local_group SET groupid = 77; PREPARE TRANSACTION 'flakeid_test'));
is(shard_on($third), $group, 'a change that is prepared does not count');
value($on_third, q(COMMIT PREPARED 'flakeid_test'));
is(shard_on($third), 77, 'but when it is committed');
value($on_third, 'UPDATE pg_dist_local_group SET groupid = ' . $group);

# Metadata
run_on($coordinator, $third, $_)
  foreach 'SELECT stop_metadata_sync_to_node(%s)', 'SELECT start_metadata_sync_to_node(%s)';
is(join(',', map { shard_on($_) } @nodes), "0,1,2,$group", 'metadata is synchronized anew');
foreach my $mode (qw(nontransactional transactional))
{
	change_setting($coordinator, 'citus.metadata_sync_mode', $mode);
	$coordinator->safe_psql('postgres', 'SELECT start_metadata_sync_to_all_nodes()');
	is(join(',', map { shard_on($_) } @nodes), "0,1,2,$group", "all of it, $mode");
}
run_on($coordinator, $third, $_)
  foreach 'SELECT citus_disable_node(%s)', 'SELECT citus_activate_node(%s)';
is(shard_on($third), $group, 'a node that was disabled and activated keeps its group');

# Not in the cluster any more, and a cluster of its own
run_on($coordinator, $third, 'SELECT citus_remove_node(%s)');
$third->safe_psql('postgres', 'VACUUM FULL pg_dist_local_group');
refused($third, 'SELECT flake_id()', qr/was removed/, 'VACUUM FULL does not make a removed node another');
value($on_third, 'DROP EXTENSION citus CASCADE');
is(value($on_third, 'SELECT flake_shard(flake_id(9))'), 9, 'without Citus a server mints any shard');
value($on_third, 'CREATE EXTENSION citus');
is(code($on_third, 'SELECT flake_id(9)'), '55000', 'and with it none, from then on');
value($on_third, "SELECT citus_set_coordinator_host(${\address($third)})");
is(value($on_third, 'SELECT flake_shard(flake_id())'), 0, 'until it is a coordinator of its own');
value($on_third, 'DROP EXTENSION citus CASCADE; CREATE EXTENSION citus');
add_node($coordinator, $third);
cmp_ok(shard_on($third), '>', $group, 'or a worker again');

### A coordinator that was removed by mistake

$coordinator->safe_psql('postgres', q(SELECT undistribute_table('managed')));
run_on($coordinator, $coordinator, 'SELECT citus_remove_node(%s)');
refused($coordinator, 'SELECT flake_id()', undef, 'a coordinator without a row in pg_dist_node has no shard');
add_node($coordinator, $coordinator);
refused($coordinator, 'SELECT flake_id()', qr/If this is the coordinator/, 'nor when it is set again');
$coordinator->safe_psql('postgres',
	'BEGIN; DELETE FROM pg_dist_local_group; INSERT INTO pg_dist_local_group VALUES (0); COMMIT');
is(shard_on($coordinator), 0, 'it has after what the hint says');

### A standby takes a worker's place.

my ($replaced) = $workers[1];
my $last = $replaced->safe_psql('postgres', 'SELECT flake_id() FROM generate_series(1, 1000) ORDER BY 1 DESC LIMIT 1');
my $standby = start_standby($replaced, 'standby', new_clock());
$replaced->wait_for_catchup($standby, 'replay', $replaced->lsn('insert'));
kill9_and_wait($replaced);
$standby->promote;
$coordinator->safe_psql('postgres',
	"SELECT citus_update_node((SELECT nodeid FROM pg_dist_node WHERE nodeport = ${\$replaced->port}), ${\address($standby)})");
is(shard_on($standby), 2, 'a promoted standby mints the shard of its primary');
cmp_ok($standby->safe_psql('postgres', 'SELECT flake_id()'), '>', $last, 'above all of its primary');
@nodes = ($coordinator, $workers[0], $standby, $third);
$coordinator->safe_psql('postgres', 'INSERT INTO repartitioned (k) SELECT k + 1 FROM photo LIMIT 20000');
$standby->safe_psql('postgres', 'INSERT INTO photo (k) SELECT i FROM generate_series(1, 1000) i');
no_duplicates('nodes removed, added, synchronized and replaced');

$_->stop foreach reverse @nodes;
done_testing();
