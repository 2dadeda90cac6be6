# Copyright (c) 2026, the flakeid developers

# In a database with Citus a node mints the shard of its group and no other of the
# lower half of the shards, and none if it does not know its group, also in sessions
# that are open while that changes.  An extension with the tables of Citus, which are
# changed as Citus does, takes its place here; t/citus.pl has the real one.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use CitusCluster;
use FlakeTest;
use List::Util qw(sum0);
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'Citus is installed' if has_citus();

# What flakeid reads of it.  A change of the first two tables lets all sessions forget
# what they know of them.
my $directory = `pg_config --sharedir`;
chomp $directory;
my %file = (
	"$directory/extension/citus.control" => q(
default_version = '1.0'
),
	"$directory/extension/citus--1.0.sql" => q(
CREATE SCHEMA citus;
CREATE FUNCTION citus.invalidate() RETURNS trigger LANGUAGE plpgsql SET allow_system_table_mods = on
AS $$ BEGIN UPDATE pg_catalog.pg_class SET relname = relname WHERE oid = TG_RELID; RETURN NULL; END $$;
CREATE TABLE citus.pg_dist_local_group (groupid int NOT NULL PRIMARY KEY);
CREATE TABLE citus.pg_dist_node (nodeid int PRIMARY KEY, groupid int NOT NULL);
CREATE TABLE citus.pg_dist_partition (logicalrelid regclass PRIMARY KEY);
INSERT INTO citus.pg_dist_local_group VALUES (0);
CREATE TRIGGER invalidate AFTER INSERT OR UPDATE OR DELETE ON citus.pg_dist_local_group
	FOR EACH STATEMENT EXECUTE FUNCTION citus.invalidate();
CREATE TRIGGER invalidate AFTER INSERT OR UPDATE OR DELETE ON citus.pg_dist_node
	FOR EACH STATEMENT EXECUTE FUNCTION citus.invalidate();
ALTER TABLE citus.pg_dist_local_group SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_node SET SCHEMA pg_catalog;
ALTER TABLE citus.pg_dist_partition SET SCHEMA pg_catalog;
));
append_to_file($_, $file{$_}) foreach keys %file;
END { unlink keys %file }

my $node = start_server('main', sql => 'CREATE EXTENSION flakeid', conf => q(
max_prepared_transactions = 2
dynamic_shared_memory_type = mmap	# so that its files show its size
));
my ($admin, $open, $busy) = new_sessions($node, 3);
value($_, 'SET client_min_messages = warning') foreach $admin, $open, $busy;

my $shard = 'SELECT flake_shard(flake_id())';

# The SQLSTATE and the first line, if a statement fails, or else its result
sub outcome
{
	my ($session, $sql) = @_;
	my ($out, $err) = ask($session, $sql);

	return $err =~ /ERROR:  (\w{5}): .*\n(?:DETAIL:  (.*))?/ ? join ' ', $1, $2 // '' : $out;
}

sub shared_bytes
{
	return sum0(map { -s } glob $node->data_dir . '/pg_dynshmem/*');
}

# Runs it, and says what all others make of it.
sub after
{
	my ($change, $expected, $what) = @_;

	value($admin, $change);
	foreach my $session ($admin, $open, new_session($node))
	{
		my $outcome = outcome($session, $shard);

		ref $expected ? like($outcome, $expected, $what) : is($outcome, $expected, $what);
		end_session($session) unless grep { $_ == $session } $admin, $open;
	}
	return;
}

# Citus comes.
is(value($_, 'SELECT flake_shard(flake_id(5))'), 5, 'without Citus any shard is minted') foreach $open, $busy;
value($busy, 'BEGIN');
is(value($busy, 'SELECT flake_shard(flake_id(5))'), 5, 'in a transaction, too');
value($admin, 'BEGIN; CREATE EXTENSION citus');
is(value($open, 'SELECT flake_shard(flake_id(5))'), 5, 'also as long as nobody else sees Citus');
like(outcome($admin, $shard), qr/^55000 This transaction has changed/, 'who creates it mints nothing before he commits');
value($admin, 'ROLLBACK');
is(value($_, 'SELECT flake_shard(flake_id(5))'), 5, 'nor does it matter when it is undone') foreach $open, $admin;
after('CREATE EXTENSION citus', qr/^55000 Citus does not know this node/, 'a node that was not added has no shard');
like(outcome($open, 'SELECT flake_id(5)'), qr/^55000/, 'not that which the session has minted before');
ask($busy, 'COMMIT');
like(outcome($busy, 'SELECT flake_id(5)'), qr/^55000/, 'nor after a transaction that was open');

# A coordinator
value($admin, 'BEGIN; INSERT INTO pg_dist_node VALUES (1, 0)');
like(outcome($admin, $shard), qr/^55000 This transaction has changed/, 'it is in doubt until then');
value($admin, 'ROLLBACK');
after('INSERT INTO pg_dist_node VALUES (1, 0)', 0, 'a coordinator mints shard 0');
is(outcome($open, 'SELECT (flake_uuidv7_decode(flake_uuidv7())).shard'), 0, 'also as UUIDs');
like(outcome($open, 'SELECT flake_id(5)'), qr/^55000 .*, which is 0 here/, 'and no other');
like(outcome($open, 'SELECT flake_uuidv7(5)'), qr/^55000 .*, which is 0 here/, 'as UUIDs, too');
like(outcome($open, 'SET flakeid.shard = 5; SELECT flake_id()'), qr/^55000/, 'also by the setting');
is(outcome($open, 'SET flakeid.shard = 0; SELECT flake_shard(flake_id())'), 0, 'which can be its own');
value($open, 'RESET flakeid.shard');
like(outcome($open, 'SELECT flake_sibling(flake_make(now(), 5, 0))'), qr/^55000/, 'or a sibling');

# The upper half
like(outcome($open, 'SELECT flake_attach(4095)'), qr/^55000 .*0 to 4095/, 'the lower half cannot be attached');
like(outcome($open, 'SELECT flake_id(4096)'), qr/^55000/, 'the upper half must be');
value($open, 'SELECT flake_attach(4096)');
is(outcome($_, 'SELECT flake_shard(flake_id(4096))'), 4096, 'to be minted') foreach $open, $admin;
value($admin, "BEGIN; SAVEPOINT s; SELECT flake_detach($_); SELECT flake_backfill('2024-01-01Z', $_); ROLLBACK TO s; COMMIT")
  foreach 4097, 5000;
like(outcome($open, "SELECT flake_id($_)"), qr/^55000/, 'not when it was backfilled, and that is undone') foreach 4097, 5000;
is(value($open, q(SELECT shard FROM flake_lease('a'))), 8191, 'leases are of the upper half');
value($open, q(SELECT flake_create_generator('small', 'ts:41 shard:1 seq:10 epoch=2026-01-01')));
is(outcome($open, q(SELECT shard FROM flake_lease('a', generator => 'small'))), 1, 'also in a small layout');
like(outcome($open, q(SELECT flake_lease('b', generator => 'small'))), qr/^53400/, 'to the last');
is(value($open, q(SELECT severity || ': ' || detail FROM flake_health WHERE what = 'leases_used_up')),
	'critical: Leased shards: 1, of the 1 that can be leased.', 'as flake_health says');
value($open, q(SELECT flake_create_generator('large', 'ts:41 shard:20 seq:2 epoch=2026-01-01');
	INSERT INTO flake_shard_map VALUES ('[524288,1048575]', 'elsewhere')));
my $shared = shared_bytes();
like(outcome($open, q(SELECT flake_lease('b', generator => 'large'))), qr/^53400/, 'none is left of a large layout');
is(shared_bytes(), $shared, 'and those for groups take no memory');
value($open, 'DELETE FROM flake_shard_map');
foreach my $setting (qw(on off))
{
	change_setting($node, 'flakeid.require_attach', $setting);
	foreach my $session ($admin, $open, $busy)
	{
		wait_until(sub { value($session, 'SHOW flakeid.require_attach') eq $setting }, $setting);
	}
	like(outcome($open, $shard), $setting eq 'on' ? qr/^55000 .*require_attach/ : qr/^0$/,
		"require_attach is $setting");
}

# Its own shard can be detached, and attached again.
value($admin, 'SELECT flake_detach(0)');
like(outcome($open, $shard), qr/^55000/, 'a node can be kept from minting');
after('SELECT flake_attach(0)', 0, 'and let mint its own shard again');

# Who is interrupted when he reads the tables does not know more than before.
value($admin, 'BEGIN; LOCK pg_dist_local_group');
my $fresh = new_session($node);
value($fresh, "SET statement_timeout = '200ms'");
foreach my $sql ($shard, 'SELECT flake_id(5)', 'SELECT flake_id(5)')
{
	like(outcome($fresh, $sql), qr/^57014/, 'a session waits for the tables');
}
value($admin, 'ROLLBACK');
like(outcome($fresh, 'SELECT flake_id(5)'), qr/^55000 .*, which is 0 here/, 'an interrupted session mints no other shard');
is(outcome($fresh, $shard), 0, 'but its own');
end_session($fresh);

# A worker: added, removed, added
after('BEGIN; UPDATE pg_dist_local_group SET groupid = 3; INSERT INTO pg_dist_node VALUES (4, 3); COMMIT',
	3, 'a worker mints the shard of its group');
value($busy, 'BEGIN');
is(value($busy, $shard), 3, 'a transaction begins to');
like(outcome($open, q(SELECT flake_lease('c'))), qr/^55000/, 'it leases nothing');
like(outcome($open, 'SELECT flake_id(0)'), qr/^55000/, 'nor mints the shard that was its own');
is(outcome($open, 'SELECT flake_shard(flake_id(4096))'), 4096, 'what was attached stays');
after('BEGIN; UPDATE pg_dist_local_group SET groupid = 0; DELETE FROM pg_dist_node WHERE groupid = 3; COMMIT',
	qr/^55000 This node was removed/, 'a removed worker mints nothing, though it looks like a coordinator');
like(outcome($busy, $shard), qr/^(?:3$|55000)/, 'nor does a transaction that is open mint shard 0');
ask($busy, 'ROLLBACK');
like(outcome($busy, $shard), qr/^55000/, 'or the next one');
after('VACUUM FULL pg_dist_local_group', qr/^55000 This node was removed/, 'nor after VACUUM FULL');
after('UPDATE pg_dist_local_group SET groupid = 4', 4, 'added again, it mints its new group');
like(outcome($open, 'SELECT flake_id(3)'), qr/^55000/, 'and not the old one');
value($admin, q(BEGIN; UPDATE pg_dist_local_group SET groupid = 7; PREPARE TRANSACTION 'a'));
is(outcome($open, $shard), 4, 'a change that is prepared does not count');
after(q(COMMIT PREPARED 'a'), 7, 'before it is committed');
value($admin, 'BEGIN; SAVEPOINT s; UPDATE pg_dist_local_group SET groupid = 8; ROLLBACK TO s');
is(outcome($admin, $shard), 7, 'one that is undone never');
value($admin, 'COMMIT');
after('UPDATE pg_dist_local_group SET groupid = 4095', 4095, 'the last group of the layout');
after('UPDATE pg_dist_local_group SET groupid = 4096', qr/^22003/, 'beyond it is an error');
is(outcome($open, 'SELECT flake_shard(flake_id(4096))'), 4096, 'but not for what was attached');

# An upgrade, and tables that are not known
after('BEGIN; DELETE FROM pg_dist_local_group; COMMIT', qr/^55000 Its table .* is empty/, 'during an upgrade nothing is minted');
after('INSERT INTO pg_dist_local_group VALUES (0)', 0, 'and after it as before');
after('ALTER TABLE pg_dist_local_group RENAME groupid TO number', qr/^55000 Its tables/, 'tables of another kind tell nothing');
after('ALTER TABLE pg_dist_local_group RENAME number TO groupid', 0, 'and do when they are as they were');
after('INSERT INTO pg_dist_local_group VALUES (9)', qr/^55000 Its tables/, 'nor do two rows');
after('DELETE FROM pg_dist_local_group WHERE groupid = 9', 0, 'until there is one');

# Tables
value($admin, 'CREATE TABLE spread (id bigint, n int)');
is(outcome($admin, 'BEGIN; SELECT flake_migrate(\'spread\', \'n\', 0, dry_run => true); ROLLBACK') =~ /^0A000/, '', 'a table is not of Citus');
value($admin, q(INSERT INTO pg_dist_partition VALUES ('spread')));
like(outcome($admin, q(SELECT flake_migrate('spread', 'n', 0))), qr/^0A000 It is a table of Citus/, 'until it is');
value($admin, 'ALTER TABLE pg_dist_partition RENAME logicalrelid TO relation');
like(outcome($admin, q(SELECT flake_migrate('spread', 'n', 0))), qr/^0A000 Its table "pg_dist_partition" is not as it was/,
	'a list that is not known is an error');

# Citus goes, but not before the transaction ends that drops it.
foreach my $undo ('ROLLBACK TO s', 'RELEASE s; ROLLBACK')
{
	value($admin, 'BEGIN; SAVEPOINT s; DROP EXTENSION citus CASCADE');
	foreach my $sql ('SELECT flake_id(5)', $shard, q(SELECT flake_lease('d')))
	{
		value($admin, 'SAVEPOINT t');
		like(outcome($admin, $sql), $sql =~ /lease/ ? qr/^55000 In a database with Citus/ : qr/^55000 This transaction has changed/,
			"who drops Citus, and can undo that, does not get around it: $sql");
		value($admin, 'ROLLBACK TO t');
	}
	value($admin, $undo);
	is(outcome($admin, $shard), 0, "the node is as it was: $undo");
	ask($admin, 'ROLLBACK');
}
value($admin, 'BEGIN; DROP EXTENSION citus CASCADE');
is(outcome($open, $shard), 0, 'others see Citus until it is committed');
value($admin, 'SAVEPOINT t');
like(outcome($admin, 'SELECT flake_id(5)'), qr/^55000/, 'who drops it mints nothing before');
value($admin, 'ROLLBACK TO t');
value($admin, 'COMMIT');
is(outcome($_, 'SELECT flake_shard(flake_id(5))'), 5, 'without Citus any shard is minted again') foreach $open, $admin, $busy;
like(outcome($open, $shard), qr/^55000 flake_id\(\) without an argument/, 'and none by itself');

end_session($admin, $open, $busy);
$node->stop;
unlike(slurp_file($node->logfile), qr/leak/, 'nothing was left open');
done_testing();
