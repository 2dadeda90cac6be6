# Copyright (c) 2026, the flakeid developers

# A dump carries the generator's horizon along: where rows are restored, new ids
# are above theirs, whatever the clock there says.  No SQL command lowers the
# horizon of a server that goes on.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Time and sequence of an id side by side, as the horizon is.
sub packed
{
	my ($id) = @_;

	return "(($id) >> 23 << 10) | (($id) & 1023)";
}

# Is the next id of that shard above $packed?
sub mints_above
{
	my ($node, $dbname, $shard, $packed, $name) = @_;

	my ($status, $stdout, $stderr) =
	  $node->psql($dbname, 'SELECT ' . packed("public.flake_id($shard)"));
	is($stderr, '', "mints: $name");
	cmp_ok($stdout || 0, '>', $packed, "unique: $name");
	return;
}

# The source: a server that goes by the real time, whose ids a burst has brought
# ahead of it.

my $source = start_server(
	'source',
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT flake_id(5));
SELECT flake_ids(5, 1000000) LIMIT 1;
INSERT INTO item SELECT flake_id(5) FROM generate_series(1, 1000);
));
my $horizon =
  $source->safe_psql('postgres', 'SELECT last_value FROM flake_default');
is( $source->safe_psql(
		'postgres', 'SELECT max(' . packed('id') . ") <= $horizon FROM item"),
	't',
	'the horizon is a bound of what was minted');

my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
my @pg_dump = ('pg_dump', '-d', $source->connstr('postgres'));
$source->command_ok([ @pg_dump, '-f', "$dump.sql" ], 'pg_dump, plain');
$source->command_ok([ @pg_dump, '-Fc', '-f', "$dump.custom" ],
	'pg_dump, custom format');


# The target: a new server with a clock of its own.

my $clock = new_clock();
my $target = start_server('target', clock => $clock);

sub restore
{
	my ($dbname, $how, @more) = @_;
	my $db = $target->connstr($dbname);

	$target->safe_psql('postgres', "CREATE DATABASE $dbname");
	if ($how eq 'psql')
	{
		# The same session restores and, with @more, goes on.
		$target->command_ok(
			[
				'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
				'-d', $db, '-f', "$dump.sql", @more
			],
			"restored by $how into $dbname");
	}
	else
	{
		$target->command_ok(
			[ 'pg_restore', '--exit-on-error', '-d', $db, "$dump.custom" ],
			"restored by $how into $dbname");
	}
	return;
}

set_clock($clock, -10);
restore('psql_10s', 'psql', '-c', 'INSERT INTO public.item DEFAULT VALUES');
restore('pg_restore_10s', 'pg_restore');
foreach my $dbname ('psql_10s', 'pg_restore_10s')
{
	mints_above($target, $dbname, 5, $horizon,
		"after a restore with the clock 10 s behind, $dbname");
	mints_above($target, $dbname, 6, $horizon,
		"so does a shard that had minted nothing, $dbname");
}
is( $target->safe_psql(
		'psql_10s',
		'SELECT count(*), count(*) FILTER (WHERE '
		  . packed('id')
		  . " > $horizon) FROM item"),
	'1001|1',
	'unique: the session that restored mints above, too');

set_clock($clock, -3600);
restore('psql_1h', 'psql');
restore('pg_restore_1h', 'pg_restore');
foreach my $dbname ('psql_1h', 'pg_restore_1h')
{
	my (undef, $stderr) = ask_once($target, 'SELECT flake_id(5)', $dbname);

	like($stderr, qr/ERROR:  53400: the clock is 3\d\d\d\.\d+ s behind/,
		"an error says that the clock is an hour behind the restored ids, $dbname"
	);
}
change_setting($target, 'flakeid.max_ahead', '2h');
foreach my $dbname ('psql_1h', 'pg_restore_1h')
{
	mints_above($target, $dbname, 5, $horizon,
		"an hour behind, where flakeid.max_ahead permits, $dbname");
}


# Into a database that has ids of its own: with the clock an hour behind, or
# with the clock right and ids that are further ahead than those restored.

foreach my $case ([ 'used_behind', -3600, 1 ], [ 'used_ahead', 0, 14_000_000 ])
{
	my ($dbname, $seconds, $own) = @$case;

	$source->safe_psql(
		'postgres', q(
SELECT flake_ids(5, 2000000) LIMIT 1;
INSERT INTO item SELECT flake_id(5) FROM generate_series(1, 1000);
));
	$horizon =
	  $source->safe_psql('postgres', 'SELECT last_value FROM flake_default');
	$source->command_ok([ @pg_dump, '--data-only', '-f', "$dump.$dbname.sql" ],
		'pg_dump, only the data');

	set_clock($clock, $seconds);
	$target->safe_psql('postgres', "CREATE DATABASE $dbname");
	$target->safe_psql(
		$dbname, qq(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT flake_id(5));
SELECT flake_ids(7, $own) LIMIT 1;
));
	cmp_ok(
		$target->safe_psql($dbname, 'SELECT last_value FROM flake_default'),
		$seconds < 0 ? '<' : '>',
		$horizon,
		"$dbname has a horizon of its own");
	$target->command_ok(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1',
			'-d', $target->connstr($dbname), '-f', "$dump.$dbname.sql"
		],
		"rows are restored into $dbname");
	mints_above($target, $dbname, 5, $horizon,
		"after a restore into $dbname, which had minted");
	mints_above($target, $dbname, 6, $horizon,
		"so does a shard that had minted nothing, $dbname");
}
$source->stop;
$target->stop;


# The horizon cannot be lowered.  Every round ends with a crash and an hour
# behind: only what is on disk keeps ids from repeating.

set_clock($clock, 0);
my $node = start_server(
	'guard',
	clock => $clock,
	conf => "flakeid.max_ahead = '2h'",
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint);
ALTER SEQUENCE flake_default OWNED BY item.id;
));

my $last = $node->safe_psql('postgres', 'SELECT flake_id(5)');
foreach my $lower (
	"SELECT setval('flake_default', 1)",
	"SELECT setval('flake_default', 1, false)",
	'ALTER SEQUENCE flake_default RESTART',
	'TRUNCATE item RESTART IDENTITY',
	'BEGIN; ALTER SEQUENCE flake_default RESTART; ROLLBACK',
	"BEGIN; ALTER SEQUENCE flake_default RESTART;"
	. " SELECT setval('flake_default', 1); COMMIT")
{
	foreach my $then ('nothing', 'minting')
	{
		my $session = new_session($node);
		my $name = "$lower, then $then";

		$last = (ask($session, 'SELECT flake_id(5)'))[0];
		$node->safe_psql('postgres', $lower);
		if ($then eq 'minting')
		{
			my $new = $node->safe_psql('postgres', 'SELECT flake_id(5)');

			cmp_ok($new, '>', $last, "unique: a new session, after $lower");
			is( $node->safe_psql(
					'postgres',
					'SELECT last_value >= ' . packed($new) . ' FROM flake_default'),
				't',
				"a dump would have the horizon again, after $lower");

			# More than any horizon so far covers.
			$last = (
				ask($session,
					'SELECT max(id) FROM (SELECT flake_ids(5, 7000000) AS id) AS s'
				))[0];
			cmp_ok($last, '>', $new, "unique: an old session, after $lower");
		}
		set_clock($clock, -3600);
		kill9_and_wait($node);
		$session->{run}->finish;
		start_with_clock($node, $clock);

		my $id = $node->safe_psql('postgres', 'SELECT flake_id(5)');
		cmp_ok($id, '>', $last, "unique: after a crash after $name");
		$last = $id;
	}
}


# Before it is certain which file will keep the horizon, no ids are given out.

foreach my $lower ('ALTER SEQUENCE flake_default RESTART',
	'TRUNCATE item RESTART IDENTITY')
{
	my ($stdout, $stderr) = ask_once($node,
		"SELECT flake_id(5); BEGIN; $lower; SELECT flake_id(5)");

	like($stderr, qr/ERROR:  55000/, "an error: BEGIN; $lower, then minting");

	my $id = $node->safe_psql('postgres', 'SELECT flake_id(5)');
	cmp_ok($id, '>', $stdout, "unique: after the rollback of $lower");
	$last = $id;
}


# Nor can numbers be taken from it.

foreach my $sql ("SELECT nextval('flake_default')",
	"SELECT setval('flake_default', 1); SELECT nextval('flake_default')")
{
	is(error_code(ask_once($node, $sql)), '2200H', "an error: $sql");
}
cmp_ok($node->safe_psql('postgres', 'SELECT flake_id(5)'),
	'>', $last, 'and ids go on');

$node->stop;
done_testing();
