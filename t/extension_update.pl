# Copyright (c) 2026, the flakeid developers

# ALTER EXTENSION flakeid UPDATE: from every version there is to the current
# one, and from that to a next one, which is made up here: all functions and views
# are created again from their parts, and some things are added.  What was minted
# and set before stays, and an updated extension is the same as a new one.  And the
# library says so when the extension has not been updated.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeExtension;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

chomp(my $sharedir = `$ENV{PG_CONFIG} --sharedir`);
my $current = $node->safe_psql('postgres',
	"SELECT default_version FROM pg_available_extensions WHERE name = 'flakeid'");
my @scripts;

END
{
	unlink @scripts;
}

sub write_script
{
	my ($name, $sql) = @_;
	my $file = "$sharedir/extension/flakeid--$name.sql";

	append_to_file($file, $sql);
	push @scripts, $file;
}

sub description { return describe_extension($node, @_); }

# Something of everything that an update must leave alone.
sub make_use
{
	my $database = shift;

	$node->safe_psql(
		$database, q(
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT flake_id(5) CHECK (flake_shard(id) = 5));
SELECT flake_create_generator('own', 'snowflake');
INSERT INTO item DEFAULT VALUES;
SELECT flake_id(6, 'own');
SELECT flake_detach(7);
INSERT INTO flake_shard_map VALUES ('[0,9]', 'here');
));
}

sub state_of
{
	my $database = shift;

	return $node->safe_psql(
		$database, q(
SELECT generator, layout FROM flake_generators ORDER BY 1;
SELECT generator, shard, state, after FROM flake_shards;
SELECT shards, server FROM flake_shard_map;
TABLE item;
));
}

sub error_of
{
	my ($database, $sql) = @_;
	my ($status, $stdout, $stderr) = $node->psql($database, $sql);

	return $stderr;
}

# Mints in a session that is there before and after the update, and updates.
sub check_update
{
	my ($from, $to) = @_;
	my $database = "from $from to $to";

	$node->safe_psql('postgres', qq(CREATE DATABASE "$database"));
	$node->safe_psql($database, "CREATE EXTENSION flakeid VERSION '$from'");
	make_use($database);

	my $session = new_session($node, $database);
	my ($before) = ask($session, 'SELECT flake_id(5)');
	my $state = state_of($database);

	$node->safe_psql($database, "ALTER EXTENSION flakeid UPDATE TO '$to'");
	is(state_of($database), $state, "$database: all is still there");

	my ($after) = ask($session, 'SELECT flake_id(5)');
	cmp_ok($after, '>', $before, "$database: ids go on");
	end_session($session);

	$node->safe_psql('postgres', qq(CREATE DATABASE "new $to"));
	$node->safe_psql("new $to", "CREATE EXTENSION flakeid VERSION '$to'");
	is(description($database), description("new $to"),
		"$database: the same as a new one");
	$node->safe_psql('postgres', qq(DROP DATABASE "$_")) for ($database, "new $to");
}


# The current version, and the way to it from those before

is(error_of('postgres', 'CREATE EXTENSION flakeid; SELECT flake_id(5)'),
	'', "the library is for version $current, which is the default one");

my @older = split /\n/,
  $node->safe_psql(
	'postgres', qq(
SELECT source FROM pg_extension_update_paths('flakeid')
WHERE target = '$current' AND path IS NOT NULL
  AND source IN (SELECT version FROM pg_available_extension_versions WHERE name = 'flakeid')
));
check_update($_, $current) for @older;
note(scalar @older, ' older versions');


# A next version, with some more of what an update is made of

my $next = 'next';

SKIP:
{
	skip "$sharedir/extension cannot be written to", 1
	  unless -w "$sharedir/extension";

	my $template = PostgreSQL::Test::Utils::tempdir() . '/update.sql.in';
	my $change = <<'SQL';
CREATE FUNCTION @extschema@.flake_next() RETURNS int LANGUAGE sql IMMUTABLE RETURN 1;
COMMENT ON FUNCTION @extschema@.flake_next() IS 'what the next version has';
ALTER TABLE @extschema@.flake_shard_map ADD COLUMN note text;
COMMENT ON COLUMN @extschema@.flake_shard_map.note IS 'why';
REVOKE ALL ON FUNCTION @extschema@.flake_detach(int, regclass) FROM PUBLIC;
SQL
	append_to_file($template,
		join '', "SET LOCAL search_path = pg_catalog, pg_temp;\n\\i once/hold_schema.sql\n", (map { s{^extension/}{\\replace }r . "\n" } glob 'extension/functions/*.sql'), $change);
	chomp(my $update = `sh tools/install-script $template`);
	is($?, 0, "an update is put together from parts");
	write_script("$current--$next", $update);
	write_script($next, slurp_file("$sharedir/extension/flakeid--$current.sql") . $change);
	$node->safe_psql('postgres', 'CREATE DATABASE other');
	$node->safe_psql('other', 'CREATE EXTENSION flakeid');
	isnt(description('postgres'), '', 'there is a description');
	$node->safe_psql('other', "ALTER EXTENSION flakeid UPDATE TO '$next'");
	isnt(description('postgres'), description('other'),
		'an update that changes something is seen to');
	check_update($current, $next);


	# The library is not of the next version, and says so once in a session.

	my $warning =
	  qr/^[^\n]*WARNING:  extension "flakeid" has version next, but its library is for version \Q$current\E\nHINT:  Execute ALTER EXTENSION flakeid UPDATE\.$/;

	like(error_of('other', 'SELECT flake_id(5); SELECT flake_uuid()'),
		$warning, 'another version: a warning, once');
	is(error_of('other', q{SELECT flake_timestamp(0)}),
		'', 'not where nothing is minted');
	cmp_ok($node->safe_psql('other', 'SELECT flake_id(5)'),
		'>', 0, 'and minting goes on');
}

$node->stop;
done_testing();
