# Copyright (c) 2026, the flakeid developers

# What a user who is no superuser prepares in places that he owns must not be
# run by a superuser: neither by CREATE EXTENSION in his schema, which runs with
# a superuser's rights because the extension is trusted, nor by the views and
# functions that superusers call.

use strict;
use warnings;

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;

$node->safe_psql('postgres', 'CREATE ROLE mallory');
$node->safe_psql('postgres', 'CREATE DATABASE victim OWNER mallory');

# Every function below notes who has run it.
my $as_mallory = <<'SQL';
SET ROLE mallory;
CREATE SCHEMA trap;
CREATE TABLE trap.sprung (who text, is_superuser boolean);
GRANT INSERT ON trap.sprung TO PUBLIC;
CREATE FUNCTION trap.note() RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO trap.sprung
    SELECT current_user, rolsuper FROM pg_catalog.pg_roles WHERE rolname = current_user;
    RETURN true;
END
$$;
SQL

# Operators that fit better than those of pg_catalog, where both operands have
# types that pg_catalog has no operator for.
my @types = qw(regclass oid regprocedure int2 int4 int8 name text "char");
my @operators;
my %seen;
for my $left (@types)
{
	for my $right (@types)
	{
		push @operators,
		  map {
			"CREATE FUNCTION trap.op($left, $right) RETURNS boolean LANGUAGE sql RETURN trap.note();\n"
			  x !$seen{"$left $right"}++
			  . "CREATE OPERATOR trap.$_ (LEFTARG = $left, RIGHTARG = $right, FUNCTION = trap.op);\n"
		  } qw(= <> <= >=);
	}
}
$as_mallory .= join '', @operators;

# Functions that fit better where an argument is not of the declared type.
for my $arguments ('int, int, text', 'int, int, oid', 'int, int')
{
	$as_mallory .=
	  "CREATE FUNCTION trap.flake_ids($arguments) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';\n";
}
for my $function (qw(flake_layout_of flake_horizon flake_horizon_time))
{
	$as_mallory .=
	  "CREATE FUNCTION trap.$function($_) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';\n"
	  for qw(oid text);
}
$as_mallory .= "CREATE EXTENSION flakeid SCHEMA trap;\n";
$node->safe_psql('victim', $as_mallory);
pass('an owner of a database creates the extension in a schema of his own');

my $sprung = 'SELECT count(*) FROM trap.sprung WHERE is_superuser';
is($node->safe_psql('victim', $sprung),
	0, 'CREATE EXTENSION runs nothing of his');
is( $node->safe_psql(
		'postgres', "SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'"),
	'f',
	'he is no superuser');

# What a superuser may look at.
$node->safe_psql(
	'victim', q{
	SELECT trap.flake_create_generator('trap.ids');
	SELECT trap.flake_id(5), trap.flake_id(5, 'trap.ids'), trap.flake_ids(5, 3, 'trap.ids'::regclass);
	SELECT * FROM trap.flake_generators;
	SELECT * FROM trap.flake_stat;
	SELECT * FROM trap.flake_presets;
	SELECT * FROM trap.flake_columns('trap.flake_default');
	SELECT * FROM trap.flake_columns('trap.ids');
	SELECT trap.flake_between(5, now(), now());
	SELECT trap.flake_sibling(5);
});
is($node->safe_psql('victim', $sprung),
	0, 'nor do the views and functions that a superuser calls');

# What flake_rewind() searches.
sub rewind
{
	my (undef, undef, $stderr) = $node->psql(
		'victim',
		"SELECT trap.flake_rewind('trap.flake_default', trap.flake_floor(now() - interval '1 day'))",
		extra_params => [ '--set=VERBOSITY=verbose' ]);
	return $stderr;
}

$node->safe_psql(
	'victim', q{
	SET ROLE mallory;
	CREATE VIEW trap.v AS SELECT trap.note()::int::bigint AS id;
	ALTER VIEW trap.v ALTER id SET DEFAULT trap.flake_id(1);
});
like(
	rewind(),
	qr/ERROR:  55000: cannot search column trap\.v\.id for ids\b.*^DETAIL:  It is not in a table\.$/ms,
	'flake_rewind() does not search views');
$node->safe_psql('victim', 'DROP VIEW trap.v');

$node->safe_psql(
	'victim', q{
	SET ROLE mallory;
	CREATE FUNCTION trap.immutable(bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
		AS 'BEGIN PERFORM trap.note(); RETURN true; END';
	CREATE TABLE trap.t (id bigint DEFAULT trap.flake_id(1));
	INSERT INTO trap.t VALUES (DEFAULT);
	CREATE INDEX ON trap.t ((trap.immutable(5))) WHERE trap.immutable(id);
	CREATE POLICY p ON trap.t USING (trap.note());
	ALTER TABLE trap.t ENABLE ROW LEVEL SECURITY;
	DELETE FROM trap.sprung;
});
like(
	rewind(),
	qr/ERROR:  55000: cannot rewind generator "flake_default" below ids that are in use$/m,
	'flake_rewind() finds an id in a table with row-level security');
is($node->safe_psql('victim', $sprung),
	0, 'and runs nothing of its owner as superuser');

$node->safe_psql('victim',
	'SET ROLE mallory; ALTER TABLE trap.t FORCE ROW LEVEL SECURITY');
like(
	rewind(),
	qr/ERROR:  42501: query would be affected by row-level security policy for table "t"$/m,
	'flake_rewind() does not take hidden rows for no rows');
is($node->safe_psql('victim', $sprung),
	0, 'and runs nothing of its owner as superuser');

# A type of his own, with a cast of his own, is not searched.
$node->safe_psql(
	'victim', q{
	SET ROLE mallory;
	DROP TABLE trap.t;
	CREATE TYPE trap.pair AS (a bigint);
	CREATE FUNCTION trap.to_pair(bigint) RETURNS trap.pair LANGUAGE sql
		AS 'SELECT ROW(trap.note()::int::bigint)::trap.pair';
	CREATE CAST (bigint AS trap.pair) WITH FUNCTION trap.to_pair(bigint) AS ASSIGNMENT;
	CREATE TABLE trap.t (id trap.pair DEFAULT trap.flake_id(1)::trap.pair);
});
like(
	rewind(),
	qr/ERROR:  55000: cannot search column trap\.t\.id for ids\b.*^DETAIL:  Its type is trap\.pair\.$/ms,
	'flake_rewind() does not search columns of other types');
is($node->safe_psql('victim', $sprung),
	0, 'and runs nothing of its owner as superuser');

# Another session's temporary table cannot be read, and is not in the way.
my $session = $node->background_psql('victim');
$session->query_safe(
	'CREATE TEMPORARY TABLE mine (id bigint DEFAULT trap.flake_id(1))');
$session->query_safe('INSERT INTO mine VALUES (DEFAULT)');
$node->safe_psql(
	'victim', q{
	SET ROLE mallory;
	DROP TABLE trap.t;
	CREATE TABLE trap.t (id bigint DEFAULT trap.flake_id(1));
});
is(rewind(), '', 'flake_rewind() leaves out temporary tables of others');
$session->quit;

$node->stop;
done_testing();
