# Copyright (c) 2026, the flakeid developers

# A dump may lack a generator whose shards were detached or leased.  All fences and
# leases of the other generators are restored nevertheless.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server(
	'main',
	sql => q(
	CREATE EXTENSION flakeid;
	CREATE ROLE mallory;
	GRANT CREATE ON DATABASE postgres TO mallory;
	CREATE SCHEMA "left.Out";
	SELECT flake_create_generator('"left.Out"."a ""generator"""');
	SELECT flake_create_generator('order_id');
	-- before, between and after those that are there
	SELECT flake_detach(4, '"left.Out"."a ""generator"""');
	SELECT flake_detach(7), flake_detach(3, 'order_id');
	SELECT flake_attach(5, flake_id(5, 'order_id'), 'order_id');
	SELECT flake_lease('a', generator => '"left.Out"."a ""generator"""');
	SELECT flake_lease('b'), flake_lease('c', generator => 'order_id');
	SELECT flake_detach(7, '"left.Out"."a ""generator"""');
));

# Mallory has her generator left out, too: as part of an extension that she may
# create.
my $contrib = $node->safe_psql(
	'postgres', q(
	SELECT name FROM pg_available_extension_versions
	WHERE trusted AND NOT installed AND relocatable AND requires IS NULL
	  AND schema IS NULL AND name <> 'flakeid' ORDER BY name = 'hstore' DESC LIMIT 1
));
note("mallory uses extension \"$contrib\"");
$node->safe_psql(
	'postgres', qq(
	SET ROLE mallory;
	CREATE SCHEMA m;
	SELECT flake_create_generator('m.g');
	SELECT flake_detach(7, 'm.g');
	CREATE EXTENSION "$contrib" SCHEMA m;
	ALTER EXTENSION "$contrib" ADD SEQUENCE m.g;
)) if $contrib ne '';

my $of_others = q(WHERE generator::text !~ '^"left|^m\.' ORDER BY generator::text COLLATE "C", shard);
my $states =
  "SELECT generator, shard, state, after, changed_at FROM flake_shards $of_others";
my $leases =
  "SELECT generator, shard, owner, role, not_before, expires_at, renewed_at FROM flake_leases $of_others";
my %before = map { $_ => $node->safe_psql('postgres', $_) } $states, $leases;

my %left_out = (
	flake_shard_state => $contrib eq '' ? 3 : 4,
	flake_leases      => 1);

my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
my @psql = ('psql', '-X', '-v', 'ON_ERROR_STOP=1', '-f', $dump);
foreach my $case (
	# without --verbose it keeps warnings to itself
	[ 'custom format', [], 'pg_restore', '--exit-on-error', '--verbose', $dump ],
	[ 'plain',         [], @psql ],
	[ 'INSERT', ['--inserts'], @psql ])
{
	my ($name, $options, @restore) = @$case;
	my @format = $restore[0] eq 'psql' ? () : ('-Fc');
	my ($stdout, $stderr);

	$node->command_ok(
		[
			'pg_dump', @format, @$options, '-N', '"left.Out"',
			'-f', $dump, '-d', $node->connstr('postgres')
		],
		"$name: pg_dump");
	$node->safe_psql('postgres', 'CREATE DATABASE restored');
	ok( run_log(
			[ @restore, '-d', $node->connstr('restored') ],
			'>', \$stdout, '2>', \$stderr),
		"$name: restored without an error");

	is($node->safe_psql('restored', $_), $before{$_}, "$name: $_")
	  foreach $states, $leases;
	is( $node->safe_psql(
			'restored', 'SELECT count(*) FROM flake_shard_state WHERE NOT EXISTS'
			  . ' (SELECT FROM pg_class c WHERE c.oid = generator)'),
		0,
		"$name: no others");
	my $session = new_session($node, 'restored');
	is(code($session, "SELECT flake_id($_)"), '55000', "$name: $_ is fenced")
	  foreach '7', q(3, 'order_id');
	end_session($session);

	my %skipped;
	$skipped{$1}++
	  while $stderr =~
	  /WARNING:  skipped a row of table "(\w+)" for shard \d+, because/g;
	is_deeply(
		\%skipped,
		\%left_out,
		"$name: a warning for each row that is skipped");
	like($stderr, qr/DETAIL:  .*"left\.Out"\."a ""generator"""/,
		"$name: which names the generator")
	  unless @$options;
	$node->safe_psql('postgres', 'DROP DATABASE restored');
}

# In binary format they travel as OIDs.
my $copy = PostgreSQL::Test::Utils::tempdir . '/copy';
$node->safe_psql(
	'postgres', qq(
	CREATE TABLE copied (LIKE flake_leases);
	COPY flake_leases TO '$copy' (FORMAT binary);
	COPY copied FROM '$copy' (FORMAT binary);
));
is( $node->safe_psql(
		'postgres', '(TABLE copied EXCEPT TABLE flake_leases) UNION ALL'
		  . ' (TABLE flake_leases EXCEPT TABLE copied)'),
	'',
	'COPY in binary format');

$node->stop;
done_testing();
