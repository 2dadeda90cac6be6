# Copyright (c) 2026, the flakeid developers

# A superuser never runs what a plain user has prepared in places that he owns.
# This holds for CREATE EXTENSION in his schema, which has a superuser's rights
# because the extension is trusted, and for the views and functions that superusers
# call.  Nor can he keep others waiting.

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
CREATE ROLE mallory;
CREATE DATABASE victim OWNER mallory;
));

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

# And whatever operators of hers an expression could come to mean.
$as_mallory .= join '', map { <<"SQL" } qw(= <> < >= || + - * ~ && ->);
DO \$do\$
DECLARE
	types regtype[] := '{oid, oid[], name, name[], text, text[], int2, int4, int8, int2[], \\"char\\", bool, regclass, regprocedure, oidvector, jsonb, interval, timestamptz}';
	l regtype;
	r regtype;
	result regtype;
BEGIN
	FOREACH l IN ARRAY types LOOP
		FOREACH r IN ARRAY types LOOP
			CONTINUE WHEN EXISTS (SELECT FROM pg_operator WHERE oprname = '$_' AND oprleft = l AND oprright = r);
			result := CASE WHEN '$_' !~ '[-|+*]' THEN 'bool' WHEN r::text ~ ']' THEN r ELSE l END;
			EXECUTE format('CREATE OR REPLACE FUNCTION trap.%I(%s, %s) RETURNS %s LANGUAGE plpgsql AS \$\$BEGIN PERFORM trap.note(); RETURN NULL; END\$\$',
				'to ' || result, l, r, result);
			EXECUTE format('CREATE OPERATOR trap.$_ (LEFTARG = %s, RIGHTARG = %s, FUNCTION = trap.%I)', l, r, 'to ' || result);
		END LOOP;
	END LOOP;
END
\$do\$;
SQL

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

is( $node->safe_psql(
		'victim', q{
		WITH his AS (
			SELECT classid, objid FROM pg_shdepend
			WHERE dbid = (SELECT oid FROM pg_database WHERE datname = current_database())
			  AND refobjid = 'mallory'::regrole AND deptype = 'o' AND classid IN ('pg_proc'::regclass, 'pg_operator'::regclass)
		)
		SELECT pg_describe_object(d.classid, d.objid, 0), pg_describe_object(d.refclassid, d.refobjid, 0)
		FROM pg_depend d
		WHERE (d.refclassid, d.refobjid) IN (TABLE his) AND (d.classid, d.objid) NOT IN (TABLE his)}
	),
	'',
	'nothing of the extension is bound to what is his');

# If something were, the script would end with an error.
my $check = slurp_file('extension/once/check_names.sql');
is($node->safe_psql('victim', $check), '', 'the script looks for such');
foreach my $member (
	[ 'FUNCTION trap.f()', q{CREATE FUNCTION trap.f() RETURNS text BEGIN ATOMIC SELECT ('{}'::oid[] OPERATOR(trap.||) 1::oid)::text; END} ],
	[ 'VIEW trap.v', 'CREATE VIEW trap.v AS SELECT trap.note()' ],
	[ 'FUNCTION trap.f(trap.kind)', q{CREATE TYPE trap.kind AS ENUM (); ALTER TYPE trap.kind OWNER TO mallory; CREATE FUNCTION trap.f(trap.kind) RETURNS int LANGUAGE sql RETURN 1} ],
	[ 'TABLE trap.t', 'CREATE TABLE trap.t (a int CHECK (trap.note()))' ],
	[ 'TABLE trap.t', 'CREATE TABLE trap.t (a boolean DEFAULT trap.note())' ],
	[ 'TABLE trap.t', 'CREATE TABLE trap.t (a int CHECK (a OPERATOR(trap.=) NULL::name))' ],
	[ 'CAST (trap.flake_layout AS text)', q{CREATE FUNCTION trap.f(trap.flake_layout) RETURNS text LANGUAGE sql RETURN ''; CREATE CAST (trap.flake_layout AS text) WITH FUNCTION trap.f(trap.flake_layout)} ],
	[ 'FUNCTION trap.f()', q{CREATE FUNCTION trap.f() RETURNS text BEGIN ATOMIC SELECT v::text FROM public.v; END}, 'CREATE VIEW public.v AS SELECT 1' ],
  )
{
	my ($name, $definition, $before) = @$member;
	my (undef, undef, $stderr) = $node->psql(
		'victim', ($before ? "$before;" : '') . "BEGIN; $definition; ALTER EXTENSION flakeid ADD $name; $check ROLLBACK",
		extra_params => [ '--set=VERBOSITY=verbose' ]);
	like(
		$stderr,
		qr/ERROR:  55000: cannot have extension "flakeid" in schema "trap"\nDETAIL:  The .* would name .*, which is neither PostgreSQL's nor the extension's\.\nHINT:/,
		"but with this: $definition");
}

# Here it does, with a script that looks names up in his schema, and has one
# operator whose operands have other types than PostgreSQL's.
chomp(my $scripts = `$ENV{PG_CONFIG} --sharedir`);
$scripts .= '/extension';
my $careless = "$scripts/flakeid--careless.sql";
SKIP:
{
	skip "$scripts cannot be written to", 1 unless -w $scripts;

	my ($script) = map { slurp_file($_) } glob "$scripts/flakeid--[0-9].[0-9].sql";
	$script =~ s/^SET LOCAL search_path = .*\n//m or die 'the script does not set search_path';
	$script =~ s/pg_catalog\.array_prepend\(p\.prorettype, /(p.prorettype || / or die 'no array_prepend()';
	append_to_file($careless, $script);
	my (undef, undef, $stderr) = $node->psql('victim',
		'SET ROLE mallory; BEGIN; DROP EXTENSION flakeid; CREATE EXTENSION flakeid SCHEMA trap VERSION careless');
	like(
		$stderr,
		qr/ERROR:  cannot have extension "flakeid" in schema "trap"\nDETAIL:  The function trap\._flake_\w+\([^)]*\) would name operator trap\.\S+\(\S+, which is neither /,
		'an operator of his that is bound is refused');
	unlink $careless;
}

END
{
	unlink $careless if defined $careless;
}

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
	SELECT * FROM trap.flake_unsettled;
	SELECT trap.flake_settled('trap.ids'::regclass), trap.flake_settled('trap.ids'::regclass, 5), trap.flake_tail(5, 'trap.ids'::regclass), trap.flake_tail(5, 'trap.ids'::regclass, 5),
		trap.flake_settled_uuid(), trap.flake_settled_objectid();
	SELECT * FROM trap.flake_presets;
	SELECT * FROM trap.flake_columns('trap.flake_default');
	SELECT * FROM trap.flake_columns('trap.ids');
	SELECT trap.flake_between(5, now(), now());
	SELECT trap.flake_sibling(5);
	SELECT trap.flake_detach(6), trap.flake_attach(6), trap.flake_detach(6, 'trap.ids');
	SELECT trap.flake_lease('a'), trap.flake_renew('a', '1 hour'), trap.flake_release('a');
	SELECT * FROM trap.flake_shards;
	SELECT * FROM trap.flake_leases;
	INSERT INTO trap.flake_shard_map VALUES ('[0,5]', 'here');
	SELECT trap.flake_server(5), trap.flake_shard_for(5), trap.flake_shard_for('a'::text);
	SELECT trap.flake_horizon('trap.ids'::regclass), trap.flake_horizon_time('trap.ids'::regclass);
	SELECT trap.flake_layout_of('trap.ids'::regclass), trap.flake_layout_above('instagram', 5);
});
is($node->safe_psql('victim', $sprung),
	0, 'nor do the views and functions that a superuser calls');

# What flake_rewind() searches.
sub rewind
{
	my (undef, $stderr) = ask_once(
		$node,
		"SELECT trap.flake_rewind('trap.flake_default', trap.flake_lower(now() - interval '1 day'))",
		'victim');

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
	qr/ERROR:  55000: cannot rewind generator "flake_default" below ids that are in use$/m,
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
my $warning = rewind();
unlike($warning, qr/ERROR/, 'flake_rewind() leaves out temporary tables of others');
like(
	$warning,
	qr/^(?:psql:\S+ )?WARNING:  01000: generator "flake_default" may have ids in temporary tables of other sessions\n.*^DETAIL:  These were not searched: pg_temp_\d+\.mine\.$/ms,
	'but says so');

# Nor one that inherits from a table that it searches, and has no default.
$session->query_safe(
	'DROP TABLE mine; CREATE TEMPORARY TABLE heir () INHERITS (trap.t); ALTER TABLE heir ALTER id DROP DEFAULT; SELECT trap.flake_id(1)');
$warning = rewind();
unlike($warning, qr/ERROR/, 'nor are those in the way that inherit from its tables');
like($warning, qr/^DETAIL:  These were not searched: pg_temp_\d+\.heir\.$/m, 'which it names, too');

# Many of them are not all named; alone they are no table to be searched.
$session->query_safe('DROP TABLE heir');
$node->safe_psql('victim', 'DROP TABLE trap.t');
$session->query_safe(
	join '; ', map { "CREATE TEMPORARY TABLE mine$_ (id bigint DEFAULT trap.flake_id(1))" } 1 .. 12);
$session->query_safe('INSERT INTO mine1 VALUES (DEFAULT)');
like(
	rewind(),
	qr/^DETAIL:  These were not searched: pg_temp_\d+\.mine1, .*mine10 and 2 more\.\n.*ERROR:  55000: cannot tell which ids of generator "flake_default" are in use\n.*^DETAIL:  Only columns of other sessions' temporary tables take their defaults from it\.$/ms,
	'ten of them are named');
$session->quit;

# A template for shards can have traps in its schema, for the function that makes
# one, and in what is evaluated when a table or an index is made.
$node->safe_psql(
	'victim', q{
	SET ROLE mallory;
	DELETE FROM trap.sprung;
	CREATE SCHEMA shop;
	CREATE TYPE shop.listed AS ENUM ('a');
} . join('', map { s/\btrap\.op\b/shop.op/gr =~ s/OPERATOR trap/OPERATOR shop/gr } @operators) . q{
	CREATE FUNCTION shop.format(text, text) RETURNS text LANGUAGE sql AS 'SELECT trap.note()::text';
	CREATE FUNCTION shop.format(text, name) RETURNS text LANGUAGE sql AS 'SELECT trap.note()::text';
	CREATE FUNCTION shop.format(text, text, name) RETURNS text LANGUAGE sql AS 'SELECT trap.note()::text';
	CREATE FUNCTION shop.format(text, text, text) RETURNS text LANGUAGE sql AS 'SELECT trap.note()::text';
	CREATE FUNCTION shop.quote_ident(name) RETURNS text LANGUAGE sql AS 'SELECT trap.note()::text';
	CREATE FUNCTION shop.left(name, int) RETURNS text LANGUAGE sql AS 'SELECT trap.note()::text';
	CREATE FUNCTION shop.set_config(text, name, boolean) RETURNS text LANGUAGE sql AS 'SELECT trap.note()::text';
	CREATE FUNCTION shop.jsonb_object_agg(text, text) RETURNS jsonb LANGUAGE sql AS 'SELECT trap.note()::text::jsonb';
	CREATE FUNCTION shop.joined(oid[], oid[]) RETURNS oid[] LANGUAGE sql AS 'SELECT $1 FROM trap.note()';
	CREATE OPERATOR shop.|| (LEFTARG = oid[], RIGHTARG = oid[], FUNCTION = shop.joined);
	CREATE FUNCTION shop.joined(text[], text[]) RETURNS text[] LANGUAGE sql AS 'SELECT $1 FROM trap.note()';
	CREATE OPERATOR shop.|| (LEFTARG = text[], RIGHTARG = text[], FUNCTION = shop.joined);
	CREATE FUNCTION shop.joined(text, oid) RETURNS text LANGUAGE sql AS 'SELECT $1 FROM trap.note()';
	CREATE OPERATOR shop.|| (LEFTARG = text, RIGHTARG = oid, FUNCTION = shop.joined);
	CREATE FUNCTION shop.same(int2[], int2[]) RETURNS boolean LANGUAGE sql AS 'SELECT trap.note()';
	CREATE OPERATOR shop.= (LEFTARG = int2[], RIGHTARG = int2[], FUNCTION = shop.same);

	CREATE FUNCTION shop.constant(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
		AS 'BEGIN PERFORM trap.note(), pg_catalog.set_config($$search_path$$, $$trap$$, false); RETURN true; END';
	CREATE DOMAIN shop.checked AS int CHECK (shop.constant(VALUE));
	CREATE TABLE shop.item (
		id bigint DEFAULT trap.flake_id(1) PRIMARY KEY,
		n serial,
		mood shop.listed DEFAULT 'a',
		numbers shop.checked[] DEFAULT '{1}',
		twice boolean GENERATED ALWAYS AS (shop.constant(5)) STORED,
		CHECK (shop.constant(6))
	);
	CREATE INDEX ON shop.item ((shop.constant(7))) WHERE shop.constant(8);
	CREATE TABLE shop.part (id bigint DEFAULT trap.flake_id(1), a int) PARTITION BY LIST ((shop.constant(9) AND a > 0));
	CREATE TABLE shop.part_true PARTITION OF shop.part FOR VALUES IN (true);
	CREATE TABLE shop.part_other PARTITION OF shop.part DEFAULT;
	CREATE FUNCTION shop.fire() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM trap.note(); RETURN NEW; END';
	CREATE TRIGGER t BEFORE INSERT ON shop.item FOR EACH ROW WHEN (shop.constant(10)) EXECUTE FUNCTION shop.fire();
	DELETE FROM trap.sprung;
});
is( $node->safe_psql(
		'victim',
		'SELECT trap.flake_create_shard(5, $$shop$$); SHOW search_path'),
	qq{shop_5\n"\$user", public},
	'a superuser makes a shard after the template of another');
is($node->safe_psql('victim', $sprung),
	0, 'and runs nothing of its owner as superuser');
cmp_ok(
	$node->safe_psql('victim', 'SELECT count(*) FROM trap.sprung'),
	'>', 0, 'what was evaluated was so as its owner');
is( $node->safe_psql(
		'victim',
		q{SELECT string_agg(DISTINCT relowner::regrole::text, ' ') FROM pg_class WHERE relnamespace = 'shop_5'::regnamespace}
	),
	'mallory',
	'whose the tables are');

# What is evaluated while a shard is made can change what is named next: in her
# template, mallory makes something fit better, or takes its place.  Each attack
# is tried while a partition key of hers is evaluated, when the superuser's table
# is still to be copied, and while an index is, when his index is still to be.
# What is run says so in the log, which no rollback empties.
$node->safe_psql(
	'postgres', q{
	CREATE DATABASE armed OWNER mallory;
	\c armed
	SET ROLE mallory;
	CREATE SCHEMA ext;
	CREATE EXTENSION flakeid SCHEMA ext;
	CREATE SCHEMA tmpl;
	CREATE SCHEMA mine;
	CREATE TABLE mine.attack (moment text, command text);
	CREATE FUNCTION mine.note() RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RAISE LOG 'struck as %', current_user;
		RETURN true;
	END
	$$;
	CREATE FUNCTION mine.strike(now text) RETURNS boolean LANGUAGE plpgsql AS $$
	DECLARE
		attack text;
	BEGIN
		FOR attack IN DELETE FROM mine.attack WHERE moment = now RETURNING command LOOP
			EXECUTE attack;
			RAISE LOG 'attacked at %', now;
		END LOOP;
		RETURN mine.note();
	END
	$$;
	CREATE FUNCTION tmpl.constant(moment text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
		'BEGIN RETURN mine.strike(moment); END';
	CREATE FUNCTION mine.always() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS
		'BEGIN RETURN mine.note(); END';
	CREATE TABLE tmpl.hers (a int)
		PARTITION BY LIST ((tmpl.constant('key') AND a > 0));
	CREATE TABLE tmpl.plain (id int PRIMARY KEY);
	CREATE TABLE tmpl.too (a int);
	CREATE INDEX ON tmpl.too (a) WHERE tmpl.constant('index');
	RESET ROLE;
	CREATE FUNCTION tmpl.f(anyelement) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1::text::bigint';
	CREATE FUNCTION tmpl.stamp() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
	CREATE TABLE tmpl.goods (
		id bigint DEFAULT ext.flake_id(0) PRIMARY KEY,
		n smallint,
		m serial,
		tags text[],
		plain_id int REFERENCES tmpl.plain,
		CHECK (tmpl.f(n) > 0)
	);
	CREATE INDEX f ON tmpl.goods (tmpl.f(n));
	CREATE INDEX g ON tmpl.goods (array_append(tags, 'b'));
	CREATE TRIGGER stamp BEFORE INSERT ON tmpl.goods FOR EACH ROW EXECUTE FUNCTION tmpl.stamp();
});
my $her_f =
  q{RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN mine.note()::int; END'};
my $her_stamp =
  q{RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM mine.note(); RETURN NEW; END'};
my $right = 'right';
my $wrong = '55000';    # was changed meanwhile
my %attacks = (
	'nothing' => [ 'SELECT 1', $right ],
	'a function fits better than one of pg_catalog' => [
		q{CREATE FUNCTION tmpl.array_append(text[], text) RETURNS text[] IMMUTABLE LANGUAGE plpgsql
			AS 'BEGIN PERFORM mine.note(); RETURN $1; END'}, $right
	],
	'a function fits better than one of the superuser' =>
	  [ "CREATE FUNCTION tmpl.f(smallint) $her_f", $right ],
	'a function fits better than one of the extension' =>
	  [ "CREATE FUNCTION ext.flake_shard(bigint) $her_f", $right ],
	'the template is renamed' => [
		"ALTER SCHEMA tmpl RENAME TO old; CREATE SCHEMA tmpl; CREATE FUNCTION tmpl.f(anyelement) $her_f; CREATE FUNCTION tmpl.stamp() $her_stamp",
		$wrong
	],
	'the new schema is renamed' => [
		'ALTER SCHEMA tmpl_5 RENAME TO old; CREATE SCHEMA tmpl_5',
		'55000|42P01'
	],
	'the schema of the extension is renamed' => [
		"ALTER SCHEMA ext RENAME TO old; CREATE SCHEMA ext; CREATE FUNCTION ext.flake_shard(bigint) $her_f",
		$wrong
	],
	'the extension is dropped' => [
		"DROP EXTENSION flakeid CASCADE; CREATE FUNCTION ext.flake_id(int) $her_f",
		$wrong
	],
	'the table is replaced' => [
		"DROP TABLE tmpl.goods; CREATE TABLE tmpl.goods (id bigint, n int)",
		$wrong
	],
	'its copy is replaced' => [
		"DROP TABLE IF EXISTS tmpl_5.goods; CREATE TABLE tmpl_5.goods (id bigint, n smallint, m int, tags text[], plain_id int); "
		  . "CREATE TRIGGER stamp BEFORE INSERT ON tmpl_5.goods FOR EACH ROW EXECUTE FUNCTION tmpl.stamp()",
		'55000|42P07|42710'
	],
	'its sequence is replaced' => [
		'DROP SEQUENCE tmpl_5.goods_m_seq CASCADE; CREATE SEQUENCE tmpl_5.goods_m_seq',
		$wrong
	],
	'a function of it is replaced' => [
		"DROP FUNCTION tmpl.f(anyelement) CASCADE; CREATE FUNCTION tmpl.f(anyelement) $her_f",
		'55000|42704'
	],
	'a foreign key comes to refer to a table with a trap in it' => [
		q{DO $do$
		BEGIN
			EXECUTE pg_catalog.format('CREATE STATISTICS mine.s ON (mine.always() AND id > 0) FROM %s',
				coalesce(pg_catalog.to_regclass('tmpl_5.plain'), 'tmpl.plain'));
		END
		$do$}, $wrong
	],
	'its trigger function is replaced' => [
		"DROP FUNCTION tmpl.stamp() CASCADE; CREATE FUNCTION tmpl.stamp() $her_stamp",
		$wrong
	],
);
my $attempts = 0;
foreach my $attack (sort keys %attacks)
{
	my ($command, $expected) = @{ $attacks{$attack} };

	foreach my $moment ('key', 'index', 'before')
	{
		# Beforehand, only what does not do away with the template.
		next if $moment eq 'before' && $expected ne $right;

		my $db = 'attack_' . ++$attempts;
		my $log = -s $node->logfile;
		$node->safe_psql('postgres',
			"CREATE DATABASE $db TEMPLATE armed OWNER mallory");
		$node->safe_psql(
			$db,
			$moment eq 'before'
			? "SET ROLE mallory; $command"
			: "SET ROLE mallory; INSERT INTO mine.attack VALUES ('$moment', \$_\$$command\$_\$)"
		);
		my ($status, $stdout, $stderr) = $node->psql(
			$db,
			q{SELECT ext.flake_create_shard(5, 'tmpl')},
			extra_params => [ '--set=VERBOSITY=verbose' ]);
		my $result = $status == 0 ? $right : error_code($stdout, $stderr);
		like($result, qr/^(?:$expected)$/,
			"$attack, $moment: an error or a right copy");
		diag $stderr if $result !~ /^(?:$expected)$/;
		if ($status == 0)
		{
			$node->psql($db,
				q{INSERT INTO tmpl_5.goods (n, tags) VALUES (1, '{a}')});
			is( $node->safe_psql(
					$db,
					q{SELECT relowner::regrole = current_user::regrole, (SELECT count(*) FROM pg_index WHERE indrelid = c.oid)
					FROM pg_class c WHERE oid = 'tmpl_5.goods'::regclass}),
				't|3',
				'the copy is the superuser\'s');
		}
		my $said = slurp_file($node->logfile, $log);
		like($said, qr/attacked at $moment/, 'she has struck')
		  if $moment ne 'before';
		my ($superuser) = $node->safe_psql($db, 'SELECT current_user');
		unlike($said, qr/struck as $superuser/, 'and nothing of hers has run as he');
		$node->safe_psql('postgres', "DROP DATABASE $db");
	}
}
note "$attempts attacks";

# Text is refused if somebody else could make it mean something else.
sub refusal
{
	my ($definition) = @_;
	my (undef, $stderr) = ask_once(
		$node, qq{
		BEGIN;
		$definition;
		SELECT ext.flake_create_shard(5, 'tmpl')},
		'armed');

	return $stderr;
}

my $could_put =
  qr/ names function tmpl\.f\(anyelement\), and role "mallory" could put another in its place\.$/m;
like(
	refusal(
		q{ALTER TABLE tmpl.goods ALTER m SET DEFAULT nextval('tmpl.goods_m_seq') + tmpl.f(1::smallint)}
	),
	qr/ERROR:  0A000: cannot copy table "goods" of schema "tmpl"\nDETAIL:  A default$could_put/,
	'a default that names a sequence');
like(
	refusal(
		q{CREATE TRIGGER w BEFORE INSERT ON tmpl.goods FOR EACH ROW WHEN (tmpl.f(NEW.n) > 0) EXECUTE FUNCTION tmpl.stamp()}
	),
	qr/ERROR:  0A000: cannot copy table "goods" of schema "tmpl"\nDETAIL:  The condition of a trigger$could_put/,
	'the condition of a trigger');
like(
	refusal(
		q{CREATE TABLE tmpl.p (n smallint) PARTITION BY LIST (tmpl.f(n))}),
	qr/ERROR:  0A000: cannot copy table "p" of schema "tmpl"\nDETAIL:  The partition key$could_put/,
	'a partition key');
like(
	refusal(
		q{ALTER SCHEMA tmpl OWNER TO CURRENT_USER;
		CREATE TABLE tmpl.p (n smallint) PARTITION BY LIST (tmpl.f(n));
		REVOKE ALL ON SCHEMA tmpl FROM mallory; GRANT USAGE ON SCHEMA tmpl TO mallory}),
	qr/^$/,
	'but not if nobody else can create anything there');

# So is what would be executed as the superuser when his table refers to hers, in
# the template or elsewhere, or when hers becomes a partition of his.
my $struck_as = -s $node->logfile;
foreach my $definition (
	'CREATE INDEX ON tmpl.plain ((mine.always() AND id > 0))',
	'CREATE STATISTICS tmpl.s ON (mine.always() AND id > 0) FROM tmpl.plain',
	'CREATE TABLE mine.ref (id int PRIMARY KEY); CREATE INDEX ON mine.ref (id) WHERE mine.always(); GRANT REFERENCES ON mine.ref TO PUBLIC; '
	  . 'RESET ROLE; ALTER TABLE tmpl.goods ADD COLUMN r int; ALTER TABLE tmpl.goods ADD FOREIGN KEY (r) REFERENCES mine.ref NOT VALID'
  )
{
	like(
		refusal("SET LOCAL ROLE mallory; $definition; RESET ROLE"),
		qr/ERROR:  0A000: cannot make a foreign key of table "goods" of schema "tmpl" to table (?:tmpl\.plain|mine\.ref)\nDETAIL:  PostgreSQL would evaluate .* of role "mallory" as role "\w+"\.$/m,
		"$definition: refused");
}
like(
	refusal(
		q{CREATE TABLE tmpl.whole (a int) PARTITION BY LIST (a); CREATE TABLE tmpl.her_part PARTITION OF tmpl.whole DEFAULT; ALTER TABLE tmpl.her_part OWNER TO mallory;
		SET LOCAL ROLE mallory; ALTER TABLE tmpl.her_part ADD CHECK (mine.always() AND a > 0); RESET ROLE}),
	qr/ERROR:  0A000: cannot copy table "her_part" of schema "tmpl"\nDETAIL:  PostgreSQL would evaluate checks of role "mallory" when role "\w+" makes it a partition of "whole"\.$/m,
	'a partition of hers');
unlike(
	slurp_file($node->logfile, $struck_as),
	qr/struck as (?!mallory)/,
	'and nothing of hers was executed as superuser');
is( refusal(
		'SET LOCAL ROLE mallory; CREATE INDEX ON tmpl.plain ((id + 1)) WHERE id > 0; RESET ROLE'
	),
	'',
	'but not what names only functions and operators of PostgreSQL');

# The tool for that does what SET ROLE could do.
is( $node->safe_psql(
		'victim',
		q{SELECT trap._flake_execute_as('mallory'::regrole, 'CREATE TABLE shop.his AS SELECT current_user'); SELECT h.current_user, current_user FROM shop.his h}
	),
	"\nmallory|" . $node->safe_psql('victim', 'SELECT current_user'),
	'_flake_execute_as() executes as another role');
(undef, undef, my $stderr) = $node->psql('victim',
	q{SET ROLE mallory; SELECT trap._flake_execute_as(10, 'SELECT trap.note()')});
like(
	$stderr,
	qr/ERROR:  must be (?:a )?member of role|ERROR:  must be able to SET ROLE/,
	'but not as one that the user is no member of');
foreach my $way ('RESET ROLE', 'SET ROLE postgres',
	'SET SESSION AUTHORIZATION DEFAULT')
{
	(undef, undef, $stderr) = $node->psql('victim',
		qq{SELECT trap._flake_execute_as('mallory'::regrole, '$way')});
	like(
		$stderr,
		qr/ERROR:  cannot set parameter "\w+" within security-/,
		"and $way does not lead back");
}

# Somebody who may do nothing but have a generator of his own leaves a transaction
# open, in which he has dropped another.
$node->safe_psql(
	'victim', q{
	SET ROLE mallory;
	SELECT trap.flake_create_generator('trap.gone'), trap.flake_create_generator('trap.his');
	SELECT trap.flake_detach(0, 'trap.gone');
});
my $open = new_session($node, 'victim');
ask($open,
	'SET ROLE mallory; BEGIN; DROP SEQUENCE trap.gone; SELECT trap.flake_detach(0, $$trap.his$$)'
);
is( $node->safe_psql(
		'victim',
		q{SET lock_timeout = '20s'; SELECT trap.flake_detach(7) > 0, trap.flake_lease('b') IS NOT NULL}
	),
	't|t',
	'others detach and lease shards while a transaction that has done so is open'
);
ask($open, 'COMMIT');
end_session($open);
is( $node->safe_psql(
		'victim',
		'SELECT trap.flake_attach(7); SELECT count(*) FROM trap.flake_shard_state WHERE generator::oid NOT IN (SELECT oid FROM pg_class)'
	),
	"\n0",
	'what the dropped one has left is gone');

# Rows of a generator that he has dropped stay as long as a snapshot may show them.
$open = new_session($node, 'victim');
ask($open, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM pg_class');
$node->safe_psql(
	'victim', q{
	SET ROLE mallory;
	SELECT trap.flake_create_generator('trap.gone'); SELECT count(trap.flake_detach(s, 'trap.gone')) FROM generate_series(0, 4999) AS s;
	DROP SEQUENCE trap.gone;
});
cmp_ok(
	$node->safe_psql(
		'victim',
		q{BEGIN; SELECT FROM trap.flake_detach(7); SELECT sum(pg_stat_get_xact_tuples_returned(x::regclass)) FROM unnest('{trap.flake_shard_state_pkey,trap.flake_leases_pkey}'::text[]) AS x}
	),
	'<', 2500,
	'others who change a shard do not pass all of these');
end_session($open);

# Who may do what: the table in docs/security.md.
$node->safe_psql(
	'postgres', q{
	CREATE ROLE creator;
	CREATE ROLE db_owner;
	CREATE ROLE schema_owner;
	CREATE ROLE generator_owner;
	CREATE ROLE minter;
	CREATE ROLE anybody;
	CREATE DATABASE roles OWNER db_owner;
	GRANT CREATE ON DATABASE roles TO creator, schema_owner;
});
$node->safe_psql(
	'roles', q{
	CREATE SCHEMA ext AUTHORIZATION schema_owner;
	GRANT USAGE ON SCHEMA ext TO PUBLIC;
	CREATE SCHEMA app AUTHORIZATION generator_owner;
	GRANT USAGE ON SCHEMA app TO PUBLIC;
	SET SESSION AUTHORIZATION creator;
	CREATE EXTENSION flakeid SCHEMA ext;
	CREATE SERVER app_key FOREIGN DATA WRAPPER flake_key;
	GRANT USAGE ON FOREIGN SERVER app_key TO minter;
	SELECT ext.flake_add_key('app_key', 'minter'), ext.flake_add_key('app_key', 'creator');
	RESET SESSION AUTHORIZATION;
	SELECT ext.flake_add_key('app_key');
	SET SESSION AUTHORIZATION generator_owner;
	SELECT ext.flake_create_generator('app.g');
	GRANT USAGE ON SEQUENCE app.g TO minter;
});

# In this order; a letter of those who may.
my %roles = (
	S => 'postgres',
	C => 'creator',
	D => 'db_owner',
	O => 'schema_owner',
	G => 'generator_owner',
	U => 'minter',
	P => 'anybody');
$roles{S} = $node->safe_psql('roles', 'SELECT session_user');
my @rights = (
	[ 'SCDOGUP', 'SELECT ext.flake_timestamp(5), ext.flake_shard_for(5), ext.flake_seal(5, $$a key of 16 byte$$::bytea)' ],
	[ 'SC', 'CREATE SERVER a_key FOREIGN DATA WRAPPER flake_key; SELECT ext.flake_add_key($$a_key$$), ext.flake_seal(5, $$a_key$$)' ],
	[ 'SCU', 'SELECT ext.flake_seal(5, $$app_key$$), ext.flake_unseal_text($$1-00000000000$$, $$app_key$$)' ],
	[ 'SCU', 'SELECT ext.flake_add_key($$app_key$$)' ],
	[ 'SC', 'SELECT ext.flake_add_key($$app_key$$, $$public$$)' ],
	[ 'SU', 'SELECT 1 / count(umoptions) FROM pg_user_mappings WHERE srvname = $$app_key$$ AND usename = $$minter$$' ],
	[ 'SCDOGUP', 'SELECT ext.flake_id(5), ext.flake_uuid(), ext.flake_objectid()' ],
	[ 'SGU', 'SELECT ext.flake_id(5, $$app.g$$)' ],
	[ 'SGU', 'SELECT 1 / (ext.flake_horizon($$app.g$$) IS NOT NULL)::int' ],
	[ 'SCDOGUP', 'SELECT 1 / count(*) FROM ext.flake_generators WHERE generator = $$app.g$$::regclass' ],
	[ 'SGU', 'SELECT ext.flake_would_exceed($$app.g$$, 5, 1)' ],
	[ 'SG', 'SELECT ext.flake_create_generator($$app.another$$)' ],
	[ 'SG', 'SELECT ext.flake_advance($$app.g$$, 5)' ],
	[ 'SC', 'SELECT ext.flake_advance($$ext.flake_default$$, 5)' ],
	[ 'SG', 'SELECT setval($$app.g$$, 5)' ],
	[ 'SC', 'SELECT setval($$ext.flake_default$$, 5)' ],
	[ 'SG', 'SELECT ext.flake_detach(5, $$app.g$$), ext.flake_attach(5, generator => $$app.g$$)' ],
	[ 'SC', 'SELECT ext.flake_detach(6), ext.flake_attach(6)' ],
	[ 'SG', 'SELECT ext.flake_detach(7, $$app.g$$), ext.flake_backfill($$2026-01-01Z$$, 7, $$app.g$$)' ],
	[ 'SC', 'SELECT ext.flake_lease($$a$$), ext.flake_renew($$a$$, $$1 h$$), ext.flake_release($$a$$)' ],
	[ 'S', 'SELECT ext.flake_lease($$a$$, $$1 h$$, $$app.g$$)' ],
	[ 'SC', 'SELECT FROM ext.flake_leases' ],
	[ 'SCDOGUP', 'SELECT ext.flake_settled(), ext.flake_settled(shard => 5, generator => $$ext.flake_default$$), ext.flake_settled_uuid()' ],
	[ 'SGU', 'SELECT ext.flake_settled($$app.g$$), ext.flake_tail(0, $$app.g$$)' ],
	[ 'SC', 'SELECT FROM ext.flake_stat' ],
	[ 'SC', 'SELECT FROM ext.flake_unsettled' ],
	[ 'SC', 'SELECT ext.flake_stat_reset()' ],
	[ 'S', 'SELECT ext.flake_accept_clock()' ],
	[ 'SC', 'INSERT INTO ext.flake_shard_state VALUES ($$app.g$$, 9, false, 1, now())' ],
	[ 'S', 'UPDATE ext.flake_shard_state SET attached = true' ],
	[ 'S', 'DELETE FROM ext.flake_leases' ],
	[ 'SCDOGUP', 'SELECT FROM ext.flake_shard_map' ],
	[ 'SC', 'INSERT INTO ext.flake_shard_map VALUES ($$[0,5]$$, $$here$$); UPDATE ext.flake_shard_map SET server = $$there$$; DELETE FROM ext.flake_shard_map' ],
	[ 'S', 'SELECT ext.flake_rewind($$app.g$$, ext.flake_lower(now() - interval $$1 h$$), true)' ],
	[ 'S', 'SELECT ext.flake_accept_restore()' ],
	[ 'SC', 'SELECT ext.flake_detach_all($$ext.flake_default$$)' ],
	[ 'SG', 'SELECT ext.flake_detach_all($$app.g$$)' ],
	[ 'S', 'SELECT ext.flake_detach_all()' ],
	[ 'SC', 'SELECT ext.flake_renumber($${5}$$, $${905}$$)' ],
	[ 'SG', 'SELECT ext.flake_renumber($${5}$$, $${905}$$, $$app.g$$)' ],
	[ 'SC', 'SELECT FROM ext._flake_health_elsewhere()' ],
	[ '', 'SECURITY LABEL FOR flakeid ON SEQUENCE app.g IS NULL' ],
	[ 'SO', 'ALTER SCHEMA ext RENAME TO away' ],
	[ 'SO', 'CREATE FUNCTION ext.more() RETURNS int LANGUAGE sql AS $$SELECT 1$$' ],
	[ 'S', 'CREATE OR REPLACE FUNCTION ext._flake_load_library() RETURNS event_trigger LANGUAGE plpgsql AS $$BEGIN END$$' ],
	[ 'S', 'ALTER TABLE ext.flake_shard_state RENAME TO away' ],
	[ 'S', 'CREATE TRIGGER t BEFORE INSERT ON ext.flake_leases EXECUTE FUNCTION ext._flake_keep_state()' ],
	[ 'SC', 'DROP EXTENSION flakeid CASCADE' ],
	[ 'SO', 'DROP SCHEMA ext CASCADE' ],
	[ 'SCDO', 'DROP EXTENSION IF EXISTS nothing; CREATE EXTENSION hstore', 'hstore' ],
	[ 'SCDOGUP', 'SELECT ext._flake_execute_as(current_user::regrole, $$SELECT 1$$)' ],
	[ 'S', "SELECT ext._flake_execute_as('generator_owner'::regrole, \$\$SELECT 1\$\$)", undef, 'G' ],
	[ 'S', 'SELECT ext._flake_execute_as(10, $$SELECT 1$$)' ],
);
my $session_of_all = new_session($node, 'roles');
my $tried = 0;
ask($session_of_all, 'SET client_min_messages = error');
foreach my $right (@rights)
{
	my ($expected, $command, $needed, $also) = @$right;
	my $allowed = '';

	next
	  if $needed
	  && !$node->safe_psql('roles',
		"SELECT count(*) FROM pg_available_extensions WHERE name = '$needed'");
	foreach my $role (qw(S C D O G U P))
	{
		my ($stdout, $stderr) = ask($session_of_all,
			"BEGIN; SET LOCAL SESSION AUTHORIZATION \"$roles{$role}\"; $command; ROLLBACK"
		);
		ask($session_of_all, 'ROLLBACK');
		$allowed .= $role if $stderr eq '';
		$tried++;
		like(error_code($stdout, $stderr),
			qr/^(?:42501|22012|0A000)$/, "not as $roles{$role}: $command")
		  if $stderr ne '';
	}
	$expected .= $also if $also;
	is($allowed, $expected, "who may: $command");
}
is( join('', ask(
			$session_of_all,
			'BEGIN; REVOKE SELECT ON SEQUENCE ext.flake_default FROM PUBLIC; SET LOCAL SESSION AUTHORIZATION creator;'
			  . ' SELECT ext.flake_id(5) > 0, ext.flake_detach(6) IS NULL, ext.flake_advance($$ext.flake_default$$, 5) IS NULL, ext.flake_lease($$a$$) IS NULL; ROLLBACK')),
	't|f|f|f',
	'the creator still may when PUBLIC may no longer mint');

# A creator can make functions of her own members of the extension.  One that has the
# name of flakeid's is taken for none of them.
$node->safe_psql(
	'roles', q{
	SET SESSION AUTHORIZATION creator;
	CREATE SCHEMA hers;
	CREATE FUNCTION hers.flake_shard() RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 5; END';
	CREATE FUNCTION hers.flake_shard(bigint, bigint) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 5; END';
	CREATE FUNCTION hers.flake_id(int) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN RETURN 5; END';
	ALTER EXTENSION flakeid ADD FUNCTION hers.flake_shard();
	ALTER EXTENSION flakeid ADD FUNCTION hers.flake_shard(bigint, bigint);
	ALTER EXTENSION flakeid ADD FUNCTION hers.flake_id(int);
	CREATE TABLE hers.a (id bigint DEFAULT ext.flake_id(9), CHECK (hers.flake_shard() = 9));
	CREATE TABLE hers.b (id bigint DEFAULT ext.flake_id(9), CHECK (hers.flake_shard(id, 140000000000000) = 9));
	CREATE TABLE hers.c (id bigint DEFAULT hers.flake_id(9));
});
is( $node->safe_psql(
		'roles',
		q{SELECT count(*), count(s.attribute), count(s.layout) FROM pg_constraint k, LATERAL ext._flake_checked_shards(k.conbin) s WHERE k.connamespace = 'hers'::regnamespace;
		SELECT count(ext._flake_minted_shard(d.adbin)) FROM pg_attrdef d JOIN pg_class c ON c.oid = d.adrelid WHERE c.relnamespace = 'hers'::regnamespace;
		SELECT count(*) > 0 FROM ext.flake_renumber('{9}', '{19}', dry_run => true)}),
	"2|0|0\n2\nt",
	'functions that a creator has made members of the extension are not its own');
$node->safe_psql(
	'roles', q{
	SET SESSION AUTHORIZATION creator;
	ALTER EXTENSION flakeid DROP FUNCTION hers.flake_shard();
	ALTER EXTENSION flakeid DROP FUNCTION hers.flake_shard(bigint, bigint);
	ALTER EXTENSION flakeid DROP FUNCTION hers.flake_id(int);
	DROP SCHEMA hers CASCADE;
});
end_session($session_of_all);
note "$tried combinations of role and command";

# What is granted by default on other objects is not on the extension's.
my %granted;
foreach my $db ('plain', 'defaults')
{
	$node->safe_psql('postgres', "CREATE DATABASE $db");
	$node->safe_psql('postgres', 'CREATE ROLE app') if $db eq 'plain';
	$node->safe_psql($db, 'GRANT ALL ON SCHEMA public TO creator');
	$node->safe_psql(
		'defaults', q{
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO PUBLIC;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON TABLES TO app WITH GRANT OPTION;
		ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT ON TABLES TO creator;
		ALTER DEFAULT PRIVILEGES GRANT ALL ON SEQUENCES TO app, PUBLIC, pg_monitor;
		ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON FUNCTIONS TO app, pg_monitor;
	}) if $db eq 'defaults';
	$node->safe_psql($db, 'GRANT CREATE ON DATABASE ' . $db . ' TO creator; SET SESSION AUTHORIZATION creator; CREATE EXTENSION flakeid');
	$granted{$db} = $node->safe_psql(
		$db, q{
		SELECT pg_describe_object(d.classid, d.objid, 0), r.rolname,
			ARRAY(SELECT p FROM unnest('{SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES, TRIGGER}'::text[]) AS p
				WHERE c.relkind <> 'S' AND has_table_privilege(r.oid, c.oid, p)),
			ARRAY(SELECT p FROM unnest('{SELECT, USAGE, UPDATE}'::text[]) AS p
				WHERE c.relkind = 'S' AND has_sequence_privilege(r.oid, c.oid, p)),
			has_function_privilege(r.oid, f.oid, 'EXECUTE')
		FROM pg_roles r CROSS JOIN pg_depend d
		LEFT JOIN pg_class c ON d.classid = 'pg_class'::regclass AND c.oid = d.objid
		LEFT JOIN pg_proc f ON d.classid = 'pg_proc'::regclass AND f.oid = d.objid
		WHERE r.rolname IN ('app', 'anybody', 'creator', 'pg_monitor') AND d.deptype = 'e' AND coalesce(c.oid, f.oid) IS NOT NULL
		  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')
		ORDER BY 1, 2});
}
isnt($granted{plain}, '', 'there are privileges');
is($granted{defaults}, $granted{plain},
	'ALTER DEFAULT PRIVILEGES grants nothing on what is of the extension');

# He mints as fast as he can, and would wait for ever.
$node->append_conf('postgresql.conf', "flakeid.max_ahead = '1s'");
$node->reload;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');
$node->safe_psql('postgres', q{SELECT flake_id(5), flake_id(6)});
my @attackers = start_clients(
	$node,
	count => 3,
	sql =>
	  q{SET ROLE mallory; SET flakeid.max_wait = '1h'; SELECT count(flake_id(5)) FROM generate_series(1, 1000000);}
);
$node->poll_query_until('postgres',
	q{SELECT waits > 100 FROM flake_stat WHERE shard = 5})
  or die 'the attackers do not wait';
my $longest = $node->safe_psql(
	'postgres', q{
	SET flakeid.max_wait = '200ms';
	DO $$
	DECLARE
		started timestamptz;
		longest interval := '0';
	BEGIN
		FOR i IN 1 .. 10 LOOP
			started := clock_timestamp();
			BEGIN
				PERFORM flake_id(5);
			EXCEPTION WHEN configuration_limit_exceeded THEN
				NULL;
			END;
			longest := greatest(longest, clock_timestamp() - started);
		END LOOP;
		PERFORM set_config('test.longest', extract(epoch FROM longest)::text, false);
	END
	$$;
	SELECT current_setting('test.longest')});
note "longest call with max_wait = 0.2 s: $longest s";
cmp_ok($longest, '<', 20,
	'others get an id or an error, not long after flakeid.max_wait');
is( $node->safe_psql(
		'postgres',
		q{SELECT count(flake_id(6)) FROM generate_series(1, 10000); SELECT waits FROM flake_stat WHERE shard = 6}
	),
	"10000\n0",
	'and ids of another shard at once');
$node->safe_psql('postgres',
	'REVOKE SELECT ON SEQUENCE flake_default FROM PUBLIC');
wait_until(sub { !grep { !grep { /42501/ } errors($_) } @attackers },
	'the attackers may mint no more');
$node->safe_psql('postgres',
	q{SET flakeid.max_wait = '1min'; SELECT flake_id(5)});
pass('without SELECT on the generator it is over');
stop_clients($node, @attackers);

$node->stop;
done_testing();
