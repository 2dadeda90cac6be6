# Copyright (c) 2026, the flakeid developers

# Logical replication never changes which shards a server mints, neither row by
# row nor with TRUNCATE, even if all tables are replicated.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my ($source, $target) = map {
	start_server(
		$_,
		allows_streaming => 'logical',
		sql => q(
		CREATE EXTENSION flakeid;
		CREATE TABLE item (id bigint PRIMARY KEY);
	));
} qw(source target);

# Shard 5 is the source's, 6 is leased by the target, 7 is nobody's.
$target->safe_psql(
	'postgres', q(
	SELECT flake_id(5), flake_detach(5), flake_id(7), flake_detach(7);
	INSERT INTO flake_shard_map VALUES ('[0,6]', 'source'), ('[8,8191]', 'source');
	SELECT flake_detach(6);
));
my $states =
  'SELECT generator, shard, attached, after, changed_at FROM flake_shard_state ORDER BY shard';
my $before = $target->safe_psql('postgres', $states);

$source->safe_psql('postgres', 'CREATE PUBLICATION everything FOR ALL TABLES');
my $connection = $source->connstr . ' dbname=postgres';
$target->safe_psql('postgres',
	"CREATE SUBSCRIPTION everything CONNECTION '$connection' PUBLICATION everything WITH (copy_data = off)"
);

# Waits until the target has applied all that the source has written.
sub catch_up
{
	$source->wait_for_catchup('everything');
	return;
}

sub code_on_target
{
	return error_code(ask_once($target, $_[0]));
}

$source->safe_psql(
	'postgres', q(
	SELECT flake_id(7), flake_detach(7), flake_detach(5), flake_attach(5);
	SELECT flake_lease('a');
	SELECT flake_create_generator('of_source');
	SELECT flake_detach(3, 'of_source');
	UPDATE flake_shard_state SET attached = true;
	DELETE FROM flake_leases;
	DELETE FROM flake_shard_state WHERE shard = 7;
	INSERT INTO item VALUES (1);
));
catch_up();
is($target->safe_psql('postgres', 'SELECT count(*) FROM item'),
	1, 'rows of other tables arrive');
is($target->safe_psql('postgres', $states),
	$before, 'rows of the states do not');

# TRUNCATE is refused where it would be published.
is( error_code(
		ask_once($source, 'TRUNCATE item, flake_shard_state, flake_leases')),
	'0A000', 'TRUNCATE: refused at the source');
is($source->safe_psql('postgres', 'SELECT count(*) FROM item'),
	1, 'TRUNCATE: nothing is lost there');

# Somebody does it all the same.
$source->safe_psql(
	'postgres', q(
	ALTER TABLE flake_shard_state DISABLE TRIGGER keep_rows;
	ALTER TABLE flake_leases DISABLE TRIGGER keep_rows;
	TRUNCATE flake_shard_state, flake_leases;
	ALTER TABLE flake_shard_state ENABLE ALWAYS TRIGGER keep_rows;
	ALTER TABLE flake_leases ENABLE ALWAYS TRIGGER keep_rows;
));
wait_until(
	sub {
		return slurp_file($target->logfile) =~
		  /ERROR:  cannot truncate table "flake_shard_state" of extension "flakeid"/;
	},
	'the target has refused it');
is($target->safe_psql('postgres', $states),
	$before, 'TRUNCATE: the target keeps its states');
is(code_on_target("SELECT flake_id($_)"),
	'55000', "TRUNCATE: shard $_ is not minted there")
  foreach 5, 6, 7;

# As the hint says, that transaction can be skipped.
$target->safe_psql('postgres', 'ALTER SUBSCRIPTION everything DISABLE');
my ($lsn) = slurp_file($target->logfile) =~
  /message type "TRUNCATE".*finished at ([0-9A-F]+\/[0-9A-F]+)/;
ok(defined $lsn, 'its log says where the transaction ends');
$target->poll_query_until('postgres',
	q(SELECT count(*) = 0 FROM pg_stat_subscription WHERE pid IS NOT NULL))
  or die 'the subscription goes on';
$target->safe_psql(
	'postgres', qq(
	ALTER SUBSCRIPTION everything SKIP (lsn = '$lsn');
	ALTER SUBSCRIPTION everything ENABLE;
));
$source->safe_psql('postgres', 'INSERT INTO item VALUES (2)');
catch_up();
is($target->safe_psql('postgres', 'SELECT count(*) FROM item'),
	2, 'SKIP: replication goes on');
is($target->safe_psql('postgres', $states), $before, 'SKIP: the same states');

# A dump with --disable-triggers ends with this.
$target->safe_psql('postgres',
	"ALTER TABLE $_ DISABLE TRIGGER ALL; ALTER TABLE $_ ENABLE TRIGGER ALL")
  foreach qw(flake_shard_state flake_leases);
$source->safe_psql(
	'postgres', q(
	SELECT flake_id(6), flake_detach(6), flake_attach(6), flake_detach(9);
	SELECT flake_lease('b');
	INSERT INTO item VALUES (3);
));
catch_up();
is($target->safe_psql('postgres', 'SELECT count(*) FROM item'),
	3, 'ENABLE TRIGGER ALL: replication goes on');
is($target->safe_psql('postgres', $states),
	$before, 'ENABLE TRIGGER ALL: the same states');

# What a session restores is kept, whether its triggers are disabled or not.
my $dump = $source->basedir . '/dump.sql';
foreach my $restore (
	[ 'plain' ],
	[ 'replica', 'session_replication_role=replica' ],
	[ 'data', '', qw(--data-only --disable-triggers) ])
{
	my ($db, $setting, @options) = @$restore;

	run_log([ 'pg_dump', '-f', $dump, @options, $source->connstr('postgres') ])
	  or die 'pg_dump failed';
	$target->safe_psql('postgres', "CREATE DATABASE $db");
	$target->safe_psql($db,
		q{CREATE EXTENSION flakeid; CREATE TABLE item (id bigint PRIMARY KEY); SELECT flake_create_generator('of_source')})
	  if @options;

	local $ENV{PGOPTIONS} = $setting ? "-c $setting" : '';
	run_log([ 'psql', '-Xq', '-v', 'ON_ERROR_STOP=1', '-f', $dump, $target->connstr($db) ])
	  or die 'psql failed';
	$ENV{PGOPTIONS} = '';
	is( $target->safe_psql($db, $states),
		$source->safe_psql('postgres', $states),
		"$db: the states are restored");
	is( $target->safe_psql(
			$db, q{SELECT string_agg(tgrelid::regclass::text || '.' || tgname::text || ' ' || tgenabled::text, ', ' ORDER BY tgrelid::regclass::text, tgname) FROM pg_trigger WHERE tgname LIKE 'keep%'}
		),
		'flake_leases.keep_rows A, flake_leases.keep_state A, flake_shard_state.keep_rows A, flake_shard_state.keep_state A',
		"$db: the triggers are enabled as they must be");
}

$target->stop;
$source->stop;
done_testing();
