# Copyright (c) 2026, the flakeid developers

# flakeid-move-shard, a superuser on two servers, executes nothing of mallory.  It
# refuses a schema in which she owns or can make something, unless it is told to trust
# her.  Each of her traps would write to the server's log as whom it runs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeMove;
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $conf = q(
log_statement = none
max_wal_senders = 10
max_replication_slots = 10
wal_retrieve_retry_interval = 200ms
);
my %node = map {
	$_ => start_server($_, allows_streaming => 'logical', conf => $conf)
} 'alpha', 'beta';
my $shard = 0;

# Functions that are evaluated when a query is planned, and that say so.
my $trap = q(
CREATE FUNCTION %s(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
	RAISE LOG 'sprung as %%', current_user;
	RETURN $1;
END $$;
);

sub sql
{
	my ($where, $dbname, $sql) = @_;

	return $node{$where}->safe_psql($dbname, $sql);
}

foreach my $name (keys %node)
{
	sql($name, 'postgres',
		'CREATE ROLE mallory; CREATE ROLE "new'
		  . "\n"
		  . 'line"; CREATE DATABASE blank');
	sql($name, 'blank', 'CREATE EXTENSION flakeid; CREATE SCHEMA util; CREATE SCHEMA hers; GRANT USAGE ON SCHEMA util TO PUBLIC; GRANT ALL ON SCHEMA hers TO mallory');
}

# A schema s_N in a database of its own: $mallory, if there is any, does there what she
# likes, after what $boss did, and $target is done on the target before.
sub shard
{
	my (%does) = @_;

	$shard++;
	sql($_, 'postgres', "CREATE DATABASE db_$shard TEMPLATE blank")
	  foreach keys %node;
	foreach my $text (values %does)
	{
		$text =~ s/\bS\./s_$shard./g;
		$text =~ s/(?<![A-Z])SHARD\b/$shard/g;
	}
	sql('beta', "db_$shard", $does{target} // '');
	sql('alpha', "db_$shard",
		"INSERT INTO flake_shard_map VALUES ('[0,199]', 'alpha');"
		  . "CREATE SCHEMA s_$shard;"
		  . "CREATE TABLE s_$shard.t (id bigint PRIMARY KEY DEFAULT flake_id($shard), x int);"
		  . (exists $does{mallory} ? "GRANT ALL ON SCHEMA s_$shard TO mallory;" : '')
		  . ($does{boss} // '') . ';'
		  . (exists $does{mallory} ? 'SET SESSION AUTHORIZATION mallory;'
			  . sprintf($trap, "s_$shard.trap") . "$does{mallory};"
			  . 'RESET SESSION AUTHORIZATION;' : '')
		  . ($does{later} // ''));
	return (
		"--shard=$shard",
		'--to=beta',
		"--schema=s_$shard",
		'--source=' . $node{alpha}->connstr("db_$shard"),
		'--target=' . $node{beta}->connstr("db_$shard"),
		'--map=' . $node{alpha}->connstr("db_$shard"));
}

my %log_offset;

sub watch
{
	$log_offset{$_} = -s $node{$_}->logfile foreach keys %node;
	return;
}

# Nothing of hers has run with a superuser's rights.
sub unsprung
{
	my ($name) = @_;
	my $found = join '', map {
		join "\n", slurp_file($node{$_}->logfile, $log_offset{$_}) =~
		  /sprung as (?!mallory).*/g
	} keys %node;

	is($found, '', "$name: nothing of hers runs");
	return;
}

sub is_refused
{
	my ($name, $message, %does) = @_;
	my $trusts  = delete $does{trusts};
	my @options = (shard(%does), $trusts ? '--trust-owners' : ());

	watch();
	refuses($name, $message, @options, '--dry-run');
	refuses("$name, not dry", $message, @options) if $shard % 10 == 1;
	unsprung($name);
	return;
}

sub is_moved
{
	my ($name, $options, %does) = @_;
	my @options = (shard(%does), @$options);

	moves($name, @options);
	is(leftovers(values %node), '', "$name: nothing is left");
	return;
}

#
# Names
#

foreach my $marker ('=end of answer=', '')
{
	is_refused(
		"a sequence whose name ends an answer ($marker)",
		qr/the name of sequence .*control characters/,
		trusts  => 1,
		mallory => qq(
CREATE SEQUENCE S."
$marker
;SELECT S.trap(1);COMMIT;--"));
}
my $control = qr/the name of .*control characters/;
is_refused("a $_->[0] with a newline", $control, trusts => 1, mallory => $_->[1])
  foreach [ 'table', qq(CREATE TABLE S."a\nb" (id int PRIMARY KEY)) ],
  [ 'column',     qq(CREATE TABLE S.c (id int PRIMARY KEY, "a\nb" int)) ],
  [ 'type',       qq(CREATE TYPE S."a\rb" AS ENUM ('a')) ],
  [ 'domain',     qq(CREATE DOMAIN S."a\x7fb" AS int) ],
  [ 'function',   qq(CREATE FUNCTION S."a\nb"() RETURNS int LANGUAGE sql AS 'SELECT 1') ],
  [ 'argument',   qq(CREATE FUNCTION S.f("a\nb" int) RETURNS int LANGUAGE sql AS 'SELECT 1') ],
  [ 'constraint', qq(CREATE TABLE S.c (id int PRIMARY KEY, CONSTRAINT "a\nb" UNIQUE (id))) ],
  [ 'constraint of a domain', qq(CREATE DOMAIN S.d AS int CONSTRAINT "a\nb" NOT NULL CONSTRAINT "c\nd" CHECK (true)) ],
  [ 'trigger', qq(CREATE TABLE S.c (id int PRIMARY KEY); CREATE TRIGGER "a\nb" BEFORE UPDATE ON S.c EXECUTE FUNCTION suppress_redundant_updates_trigger()) ],
  [ 'policy', qq(CREATE TABLE S.c (id int PRIMARY KEY); CREATE POLICY "a\nb" ON S.c) ],
  [ 'rule', qq(CREATE TABLE S.c (id int PRIMARY KEY); CREATE RULE "a\nb" AS ON INSERT TO S.c DO ALSO NOTIFY x) ],
  [ 'statistics object', qq(CREATE TABLE S.c (id int PRIMARY KEY, x int); CREATE STATISTICS S."a\nb" ON id, x FROM S.c) ],
  [ 'type elsewhere', qq(CREATE TYPE hers."a\nb" AS ENUM ('a'); CREATE TABLE S.c (id int PRIMARY KEY, x hers."a\nb")) ];
is_refused(
	'a role with a newline',
	qr/the name of a role that owns or is granted something there has control/,
	boss => qq(GRANT SELECT ON S.t TO "new\nline"));

# Odd names that move.  PostgreSQL keeps quotes out of an extension's schema.
foreach my $schema ('a%sb', '%I {%L}')
{
	my $quoted = '"' . $schema =~ s/"/""/gr . '"';

	is_moved(
		"the extension in schema $schema",
		[],
		target => "DROP EXTENSION flakeid; CREATE SCHEMA $quoted; CREATE EXTENSION flakeid SCHEMA $quoted",
		boss =>
		  "DROP TABLE S.t; DROP EXTENSION flakeid; CREATE SCHEMA $quoted; CREATE EXTENSION flakeid SCHEMA $quoted;"
		  . "INSERT INTO $quoted.flake_shard_map VALUES ('[0,99]', 'alpha');"
		  . qq(CREATE TABLE S."%s 'q' ""\\\\" (id bigint PRIMARY KEY DEFAULT $quoted.flake_id(SHARD), "it's %L" serial)));
	is( sql('beta', "db_$shard", "SELECT $quoted.flake_id($shard) > 0"),
		't', "the extension in schema $schema: the target mints");
}

#
# Whose it is
#

my $on = sub { my ($where, $what) = @_; qr/on the $where, roles that are no superusers can change what is moved, or what that refers to: $what\n/ };
my $b = 'CREATE TABLE S.b (id bigint PRIMARY KEY, x int)';
my %hers = (
	'schema s_\d+ of mallory'                 => [ '', 'SCHEMA s_SHARD' ],
	'table s_\d+\.b of mallory'               => [ '', 'TABLE S.b' ],
	'sequence s_\d+\.q of mallory'            => [ 'CREATE SEQUENCE S.q', 'SEQUENCE S.q' ],
	'view s_\d+\.v of mallory'                => [ 'CREATE VIEW S.v AS SELECT 1', 'VIEW S.v' ],
	'materialized view s_\d+\.m of mallory'   => [ 'CREATE MATERIALIZED VIEW S.m AS SELECT 1', 'MATERIALIZED VIEW S.m' ],
	'foreign table s_\d+\.f of mallory'       => [ 'CREATE FOREIGN TABLE S.f (x int) SERVER v', 'FOREIGN TABLE S.f' ],
	'function s_\d+\.f\(\) of mallory'        => [ q(CREATE FUNCTION S.f() RETURNS int LANGUAGE sql AS 'SELECT 1'), 'FUNCTION S.f()' ],
	'function s_\d+\.a\(integer\) of mallory' => [ 'CREATE AGGREGATE S.a (int) (sfunc = int4pl, stype = int)', 'AGGREGATE S.a(int)' ],
	'type s_\d+\.e of mallory'                => [ q(CREATE TYPE S.e AS ENUM ('a')), 'TYPE S.e' ],
	'type s_\d+\.c of mallory'                => [ 'CREATE TYPE S.c AS (x int)', 'TYPE S.c' ],
	'type s_\d+\.d of mallory'                => [ 'CREATE DOMAIN S.d AS int', 'DOMAIN S.d' ],
	'type s_\d+\.r of mallory'                => [ 'CREATE TYPE S.r AS RANGE (subtype = int)', 'TYPE S.r' ],
	'operator s_\d+\.@@@\(NONE,integer\) of mallory' =>
	  [ 'CREATE OPERATOR S.@@@ (rightarg = int, function = int4um)', 'OPERATOR S.@@@ (NONE, int)' ],
	'operator family s_\d+\.f for access method btree of mallory' =>
	  [ 'CREATE OPERATOR FAMILY S.f USING btree', 'OPERATOR FAMILY S.f USING btree' ],
	'collation s_\d+\.l of mallory'           => [ 'CREATE COLLATION S.l FROM "C"', 'COLLATION S.l' ],
	'conversion s_\d+\.c of mallory'          => [ q(CREATE CONVERSION S.c FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8), 'CONVERSION S.c' ],
	'statistics object s_\d+\.o of mallory'   => [ 'CREATE STATISTICS S.o ON id, x FROM S.b', 'STATISTICS S.o' ],
	'text search configuration s_\d+\.x of mallory' =>
	  [ 'CREATE TEXT SEARCH CONFIGURATION S.x (COPY = simple)', 'TEXT SEARCH CONFIGURATION S.x' ]);
my %able = (
	'CREATE on schema s_\d+ for mallory' => [ 'GRANT CREATE ON SCHEMA s_SHARD TO mallory', 'REVOKE CREATE ON SCHEMA s_SHARD FROM mallory' ],
	'CREATE on schema s_\d+ for PUBLIC'  => [ 'GRANT CREATE ON SCHEMA s_SHARD TO PUBLIC', 'REVOKE CREATE ON SCHEMA s_SHARD FROM PUBLIC' ],
	'extension hstore in it'             => [ 'CREATE EXTENSION hstore SCHEMA s_SHARD', 'DROP EXTENSION hstore' ]);
my $server = 'CREATE FOREIGN DATA WRAPPER w; CREATE SERVER v FOREIGN DATA WRAPPER w';
my @all = shard(target => $server, boss => join ';', $server, $b, map { $_->[0] } values %hers);

foreach my $what (keys %hers)
{
	$able{$what} = [ map { "ALTER $hers{$what}[1] OWNER TO $_" } 'mallory', 'CURRENT_USER' ];
}
moves('all is of superusers: --dry-run', @all, '--dry-run');
foreach my $what (sort keys %able)
{
	my ($do, $undo) = map { s/\bS\./s_$shard./gr =~ s/SHARD/$shard/gr } @{ $able{$what} };

	sql('alpha', "db_$shard", $do);
	refuses($what, $on->('source', $what), @all, '--dry-run');
	sql('alpha', "db_$shard", $undo);
}

# What superusers' tables name and is hers, outside of the schema.
my $f = q(CREATE FUNCTION hers.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1'; ALTER FUNCTION hers.f OWNER TO mallory;);
my $d = 'CREATE DOMAIN hers.d AS int; ALTER DOMAIN hers.d OWNER TO mallory;';
my $her_f = 'function hers\.f\(integer\) of mallory';
my %named = (
	'in a default'              => [ $her_f, "$f CREATE TABLE S.b (id bigint PRIMARY KEY, x int DEFAULT hers.f(1))" ],
	'in a check'                => [ $her_f, "$f $b; ALTER TABLE S.b ADD CHECK (hers.f(x) > 0)" ],
	'in a check of a domain'    => [ $her_f, "$f CREATE DOMAIN S.d AS int CHECK (hers.f(value) > 0)" ],
	'in an index'               => [ $her_f, "$f $b; CREATE INDEX ON S.b (hers.f(x))" ],
	'in an exclusion constraint' => [ $her_f, "$f $b; ALTER TABLE S.b ADD EXCLUDE (x WITH =) WHERE (hers.f(x) > 0)" ],
	'in a statistics object'    => [ $her_f, "$f $b; CREATE STATISTICS S.s ON (hers.f(x)), id FROM S.b" ],
	'in a partition key'        => [ $her_f, "$f CREATE TABLE S.p (x int) PARTITION BY RANGE (hers.f(x))" ],
	'in an operator'            => [ $her_f, "$f CREATE OPERATOR S.@\@@ (rightarg = int, function = hers.f)" ],
	'the type of a column'      => [ 'type hers\.d of mallory', "$d CREATE TABLE S.b (id bigint PRIMARY KEY, x hers.d)" ],
	'in the type of a column'   => [ 'type hers\.d\[\] of mallory', "$d CREATE TABLE S.b (id bigint PRIMARY KEY, x hers.d[])" ],
	'the trigger of a table' => [
		'function hers\.g\(\) of mallory',
		"CREATE FUNCTION hers.g() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'; ALTER FUNCTION hers.g OWNER TO mallory; $b; CREATE TRIGGER g AFTER INSERT ON S.b EXECUTE FUNCTION hers.g()"
	],
	'a table that is referred to' => [
		'table hers\.a of mallory',
		"CREATE TABLE hers.a (id bigint PRIMARY KEY); ALTER TABLE hers.a OWNER TO mallory; $b; ALTER TABLE S.b ADD FOREIGN KEY (id) REFERENCES hers.a"
	]);
is_refused("hers is $_", $on->('source', $named{$_}[0]), boss => $named{$_}[1]) foreach sort keys %named;

# The same, but on the target only, by its name.
my $util =
  q(CREATE FUNCTION util.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';);
my $uses = "$util CREATE INDEX i ON S.t (x) WHERE util.f(1) > 0";
is_refused(
	'a function that is hers on the target',
	$on->('target', 'function util\.f\(integer\) of mallory'),
	target => "$util ALTER FUNCTION util.f OWNER TO mallory",
	boss   => $uses);
is_refused(
	'a function that is hers on the target and may fit better',
	$on->('target', 'function util\.f\(smallint\) of mallory'),
	target => "$util" . $util =~ s/int\)/smallint)/r . ' ALTER FUNCTION util.f(smallint) OWNER TO mallory',
	boss   => $uses);
is_refused(
	'a domain that is hers on the target',
	$on->('target', 'type util\.d of mallory'),
	target => 'CREATE DOMAIN util.d AS int CHECK (value > 0); ALTER DOMAIN util.d OWNER TO mallory',
	boss   => 'CREATE DOMAIN util.d AS int CHECK (value > 0); CREATE TABLE S.b (id int PRIMARY KEY, x util.d)');
is_refused(
	'a table that is hers on the target',
	$on->('target', 'table util\.b of mallory'),
	target => 'CREATE TABLE util.b (id bigint PRIMARY KEY); ALTER TABLE util.b OWNER TO mallory',
	boss   => 'CREATE TABLE util.b (id bigint PRIMARY KEY); CREATE TABLE S.a (id bigint PRIMARY KEY, b bigint REFERENCES util.b)');

# A superuser on the source only.
sql('alpha', 'postgres', 'CREATE ROLE half SUPERUSER');
sql('beta', 'postgres', 'CREATE ROLE half');
is_refused('a superuser of the source', $on->('target', 'table s_\d+\.b of half'),
	boss => "$b; ALTER TABLE S.b OWNER TO half");

# What the target would execute after she has dropped a column, and what the source
# would read after she has put a view in a table's place.
is_refused($_->[0], $on->('source', '.*table s_\d+\.b of mallory.*'), mallory => $_->[1])
  foreach [ 'a default', 'CREATE TABLE S.b (id bigint PRIMARY KEY, z int DEFAULT S.trap(1))' ],
  [ "a domain's default", 'CREATE DOMAIN S.d AS int DEFAULT S.trap(1); CREATE TABLE S.b (id bigint PRIMARY KEY, z S.d)' ],
  [ 'a plain table', 'CREATE TABLE S.b (id bigint PRIMARY KEY)' ];

# NOT VALID is seen in nested types.
is_refused(
	'NOT VALID in an array of a domain',
	qr/constraint later of domain s_\d+\.d is NOT VALID/,
	boss =>
	  'CREATE DOMAIN S.d AS int; ALTER DOMAIN S.d ADD CONSTRAINT later CHECK (value > 0) NOT VALID; CREATE TABLE S.b (id int PRIMARY KEY, x S.d[])');

# What is not refused: a superuser's, and what calls nothing of hers.
is_moved('what superusers own', [], boss => q(
CREATE FUNCTION S.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT $1';
CREATE TYPE S.color AS ENUM ('red', 'green');
CREATE DOMAIN S.d AS int CHECK (S.f(value) > 0);
CREATE TABLE S.b (id bigint PRIMARY KEY, x S.d[], c S.color CHECK (c > 'red'), y int);
CREATE STATISTICS S.s ON (y + S.f(1)), id FROM S.b;
CREATE INDEX i ON S.b (y) WHERE S.f(y) > 0;
CREATE TABLE S.a (id bigint PRIMARY KEY, b bigint REFERENCES S.b)));
is_moved('privileges that are not to create something', [],
	boss => "$b; GRANT USAGE ON SCHEMA s_SHARD TO mallory; GRANT ALL ON S.b TO mallory; ALTER DEFAULT PRIVILEGES FOR ROLE mallory IN SCHEMA s_SHARD GRANT SELECT ON TABLES TO PUBLIC");
is_moved(
	'--trust-owners',
	['--trust-owners'],
	mallory => q(
CREATE TYPE S.color AS ENUM ('red');
CREATE TABLE S.b (id bigint PRIMARY KEY CHECK (public.flake_shard(id) = SHARD), x int CHECK (x > 0), c S.color, z int DEFAULT S.trap(1));
CREATE TABLE S.a (id bigint PRIMARY KEY, b bigint REFERENCES S.b);
CREATE INDEX i ON S.b ((x + 1)) WHERE c = 'red';
CREATE STATISTICS S.s ON (x + 1), id FROM S.b));

#
# The extension's schema
#

my $ext = 'DROP EXTENSION flakeid CASCADE; CREATE SCHEMA ext AUTHORIZATION mallory; CREATE EXTENSION flakeid SCHEMA ext;';
my $changed = qr/the extension's schema \w+ can be changed by/;
my $of_her  = qr/$changed mallory/;

sub does_not_call
{
	my ($name, $message, $does, @other) = @_;
	my @options = (shard(%$does), @other);

	watch();
	refuses("$name, $_->[0]", $message, @options, @$_[ 1 .. $#$_ ])
	  foreach [ 'dry run', '--dry-run' ], ['move'], [ 'undo', '--undo' ];
	unsprung($name);
	return;
}
my $remake = 'CREATE TABLE S.t (id bigint PRIMARY KEY, x int);';
does_not_call(
	"the extension's schema is hers",
	qr/on the source, $of_her/,
	{
		boss   => "DROP TABLE S.t; $ext $remake",
		target => $ext
	});
does_not_call("the extension's schema is hers on the target",
	qr/on the target, $of_her/,
	{ target => 'ALTER SCHEMA public OWNER TO mallory' });
does_not_call("she may make something in the extension's schema",
	qr/on the source, $of_her/,
	{ boss => 'GRANT CREATE ON SCHEMA public TO mallory' });
does_not_call("everybody may make something in the extension's schema",
	qr/on the target, $changed PUBLIC/,
	{ target => 'GRANT CREATE ON SCHEMA public TO PUBLIC' });
does_not_call("the database's owner owns the extension's schema",
	qr/on the target, $of_her/,
	{ target => 'ALTER DATABASE db_SHARD OWNER TO mallory' });
sql('beta', 'postgres', "CREATE DATABASE map TEMPLATE blank");
sql('beta', 'map', "$ext INSERT INTO ext.flake_shard_map VALUES ('[0,99]', 'alpha')");
does_not_call("the extension's schema is hers in a map",
	qr/on the map 2, $of_her/,
	{}, '--map=' . $node{beta}->connstr('map'));

# Functions of the names that are called, for arguments of every type near the
# declared ones: only if each argument has the declared type do they fit worse.
sub overloads
{
	my $text = slurp_file("$FindBin::RealBin/../scripts/flakeid-move-shard");
	my %is_called;
	my $overloads;

	$is_called{$_}++ foreach $text =~ /(?:\$extension|%s)\.(_?flake_\w+)\(/g;
	ok(keys %is_called > 4, 'functions that the program calls');
	my $names = join ', ', map { "'$_'" } keys %is_called;
	return qq(
DO \$do\$
DECLARE
	f record;
BEGIN
	FOR f IN
		WITH RECURSIVE near (t) AS (
			SELECT unnest('{smallint,int,bigint,numeric,text,name,oid,regclass,ext.flake_layout}'::regtype[])
		), called AS (
			SELECT proname, array_to_string(proargtypes::regtype[], ',') AS types, pronargs AS n
			FROM pg_proc WHERE pronamespace = 'ext'::regnamespace AND proname IN ($names)
		), made (proname, n, so_far) AS (
			SELECT proname, n, '{}'::regtype[] FROM called
			UNION ALL SELECT proname, n, so_far || t FROM made, near
			WHERE cardinality(so_far) < n
		)
		SELECT DISTINCT proname, so_far FROM made m WHERE cardinality(so_far) = n
		AND NOT EXISTS (SELECT FROM called c WHERE c.proname = m.proname AND c.types = array_to_string(so_far, ','))
	LOOP
		EXECUTE format('CREATE FUNCTION ext.%I(%s) RETURNS text LANGUAGE plpgsql AS %L',
			f.proname, array_to_string(f.so_far, ', '),
			'BEGIN RAISE LOG ''sprung as %'', current_user; RETURN NULL; END');
	END LOOP;
END \$do\$;);
}
my $hers_all = overloads();
my @trusting = (
	shard(
		boss =>
		  "DROP TABLE S.t; $ext INSERT INTO ext.flake_shard_map VALUES ('[0,99]', 'alpha'); CREATE TABLE util.b (id bigint PRIMARY KEY); CREATE TABLE S.t (id bigint PRIMARY KEY DEFAULT ext.flake_id(SHARD), x serial, b bigint REFERENCES util.b);",
		mallory => $hers_all,
		target  => "$ext CREATE TABLE util.b (id bigint PRIMARY KEY); SET SESSION AUTHORIZATION mallory; $hers_all"),
	'--trust-owners');

# While the program waits for the map, she puts another in its place.
my $mallory = new_session($node{alpha}, "db_$shard");
value($mallory, 'SET client_min_messages = warning; GRANT SELECT, UPDATE ON ext.flake_shard_map TO mallory; SET SESSION AUTHORIZATION mallory; BEGIN; LOCK TABLE ext.flake_shard_map IN ROW EXCLUSIVE MODE');
watch();
my $run = start_program(@trusting);
wait_until_program_waits($node{alpha}, 'LOCK TABLE');
sql('alpha', 'postgres', "GRANT CREATE ON DATABASE db_$shard TO mallory");
value(
	$mallory, q(
ALTER SCHEMA ext RENAME TO ext2;
CREATE SCHEMA ext;
CREATE TABLE ext.flake_shard_map (shards int4range, server name);
INSERT INTO ext.flake_shard_map VALUES ('[0,99]', 'alpha');
CREATE FUNCTION ext.trap() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN RAISE LOG 'sprung as %', current_user; RETURN NULL; END $$;
CREATE TRIGGER trap BEFORE INSERT OR DELETE ON ext.flake_shard_map FOR EACH ROW EXECUTE FUNCTION ext.trap();
COMMIT));
ok(!finish_program($run), 'another map: refused');
like($printed, qr/is not the extension's table any more/, 'another map: the message says why');
unsprung('another map');
value($mallory, 'DROP SCHEMA ext CASCADE; ALTER SCHEMA ext2 RENAME TO ext');
moves('the map is back', @trusting);
is(sql('alpha', "db_$shard", "SELECT ext.flake_server($shard)"),
	'beta', 'the map is back: it has been changed');
unsprung('functions that fit better');
end_session($mallory);

#
# Between the steps
#

# The slot waits for a transaction that has written.
sub stop_at_slot
{
	my $blocker = new_session($node{alpha}, 'postgres');

	value($blocker, 'BEGIN; SELECT pg_current_xact_id()');
	return $blocker;
}

# What she does to her objects on the target, with the error that she gets.
sub tries
{
	my ($session, $name, @statements) = @_;

	is(code($session, $_), '42501', "$name: she cannot $_") foreach @statements;
	return;
}
sql($_, 'postgres', 'CREATE ROLE bob; CREATE ROLE carol') foreach keys %node;
my @owned = shard(
	boss => q(
CREATE FUNCTION hers.trap() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''sprung as %'', current_user; RETURN NEW; END';
ALTER FUNCTION hers.trap OWNER TO mallory;
CREATE TABLE S.b (id bigint PRIMARY KEY, x int);
INSERT INTO S.b VALUES (1, 1);
GRANT USAGE ON SCHEMA s_SHARD TO mallory;
GRANT USAGE ON SCHEMA s_SHARD TO bob WITH GRANT OPTION;
GRANT ALL ON S.b TO mallory;
SET SESSION AUTHORIZATION bob;
GRANT USAGE ON SCHEMA s_SHARD TO carol, PUBLIC;
RESET SESSION AUTHORIZATION),
	target => q(
CREATE FUNCTION hers.trap() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RAISE LOG ''sprung as %'', current_user; RETURN NEW; END';
ALTER FUNCTION hers.trap OWNER TO mallory));
my $s       = "s_$shard";
my $blocker = stop_at_slot();
watch();
$run = start_program(@owned);
wait_until_program_waits($node{alpha}, 'pg_create_logical_replication_slot', 'transactionid');
$mallory = new_session($node{beta}, "db_$shard");
value($mallory, 'SET SESSION AUTHORIZATION mallory');
tries(
	$mallory,
	'while it copies',
	"CREATE TRIGGER x BEFORE INSERT ON $s.b FOR EACH ROW EXECUTE FUNCTION hers.trap()",
	"INSERT INTO $s.b VALUES (3)",
	"SELECT FROM $s.b");
end_session($blocker);

# It waits for the map; she gets at the schema again, and opens the fence.
my $map = new_session($node{alpha}, "db_$shard");
value($map, 'BEGIN; LOCK TABLE flake_shard_map IN ROW EXCLUSIVE MODE');
wait_until_program_waits($node{alpha}, 'LOCK TABLE');
value($mallory, "CREATE TRIGGER x BEFORE INSERT ON $s.b FOR EACH ROW EXECUTE FUNCTION hers.trap()");
sql('alpha', "db_$shard", "SET SESSION AUTHORIZATION mallory; CREATE OR REPLACE TRIGGER flakeid_fence BEFORE INSERT ON $s.b FOR EACH ROW EXECUTE FUNCTION hers.trap(); INSERT INTO $s.b VALUES (2)");
is( sql('beta', "db_$shard",
		q(SELECT subenabled, pid FROM pg_subscription s JOIN pg_stat_subscription USING (subname))),
	'f|',
	'after the attach: nothing is applied any more');
end_session($map);
ok(finish_program($run), 'it copies, and goes on') or diag $printed;
is(sql('beta', "db_$shard", "SELECT id FROM $s.b"), '1', 'after the attach: nothing was applied');
unsprung('between the steps');
my $rights = "SELECT nspowner::regrole, array(SELECT nspacl::text[] FROM pg_namespace WHERE oid = n.oid) FROM pg_namespace n WHERE nspname = '$s'";
is(sql('beta', "db_$shard", $rights), sql('alpha', "db_$shard", $rights),
	'the schema has its owner and privileges');
end_session($mallory);

# She renames the schema that is published.
my @renamed = (shard(boss => 'ALTER SCHEMA s_SHARD OWNER TO mallory; GRANT CREATE ON DATABASE db_SHARD TO mallory'), '--trust-owners');
$blocker = stop_at_slot();
$run     = start_program(@renamed);
wait_until_program_waits($node{alpha}, 'pg_create_logical_replication_slot', 'transactionid');
sql('alpha', "db_$shard", "SET SESSION AUTHORIZATION mallory; ALTER SCHEMA s_$shard RENAME TO hers_now");
end_session($blocker);
ok(!finish_program($run), 'the source\'s schema renamed: it stops');
like($printed, qr/is not the one that is published/, 'the source\'s schema renamed: it says why');
sql('alpha', "db_$shard", "ALTER SCHEMA hers_now RENAME TO s_$shard");
moves('the source\'s schema has its name again', @renamed);

# She puts a view in a table's place, or drops a column: this is seen before the fence.
foreach my $case (
	[ 'a view', 'DROP TABLE %1$s.b; CREATE VIEW %1$s.b AS SELECT 1::bigint AS id, 1 AS x', 'on the target s_%d\.b .*, not copied' ],
	[ 'a column less', 'ALTER TABLE %s.b DROP COLUMN x', 'on the source s_%d\.b \(pd: id bigint \), on the target s_%1$d\.b \(pd: id bigint , x integer \)' ])
{
	my ($name, $change, $message) = @$case;
	my @changed = (shard(mallory => $b), '--trust-owners');

	$blocker = stop_at_slot();
	$run     = start_program(@changed);
	wait_until_program_waits($node{alpha}, 'pg_create_logical_replication_slot', 'transactionid');
	sql('alpha', "db_$shard", 'SET SESSION AUTHORIZATION mallory;' . sprintf($change, "s_$shard"));
	end_session($blocker);
	ok(!finish_program($run), "$name: it stops");
	$message = sprintf $message, $shard;
	like($printed, qr/do not have the same tables any more: $message/, "$name: it says why");
	like($printed, qr/^stopped in step 4/m, "$name: before the fence");
	moves("$name: --undo", @changed, '--undo');
}

# A subscription is for one source, although another has a publication like that.
my @tied = shard();
refuses('a move that has begun', qr/stopped in step 4/, @tied, '--subscription-conninfo=host=/nonexistent');
sql('alpha', 'postgres', "CREATE DATABASE twin TEMPLATE db_$shard");
refuses("another source, $_", qr/belongs to the move from another server/, @tied,
	'--source=' . $node{alpha}->connstr('twin'), $_) foreach '--patience=30', '--undo';
moves('a move that has begun: --undo', @tied, '--undo');

#
# Generators of others, and shards that the source does not have
#

sql($_, 'postgres', 'CREATE ROLE alice') foreach keys %node;
my $of_alice = q(
CREATE SCHEMA alice AUTHORIZATION alice;
GRANT USAGE ON SCHEMA alice TO PUBLIC;
SET SESSION AUTHORIZATION alice;
SELECT public.flake_create_generator('alice.gen');
%s
RESET SESSION AUTHORIZATION;
);
my $made     = sprintf $of_alice, '';
my $away     = sprintf $of_alice, q(SELECT public.flake_detach(SHARD, 'alice.gen'););
my $named    = q(CREATE TABLE S.b (id bigint PRIMARY KEY, x bigint DEFAULT flake_id(SHARD, 'alice.gen')););
my $not_made = qr/whose owners have not made them: alice\.gen of alice\. /;
my $elsewhere = qr/of these generators is not minted on the source: alice\.gen\. It has gone/;

# The shard of a generator on a server: attached, detached, or none.
sub state_on
{
	my ($where, $generator) = @_;

	return sql($where, "db_$shard",
		"SELECT coalesce((SELECT state FROM flake_shards WHERE shard = $shard AND generator = '$generator'::regclass), 'none')");
}
is_refused("another's generator", $not_made, trusts => 1,
	target => $made, boss => $made, mallory => $named);
my @others = (shard(target => $away, boss => $away, mallory => $named), '--trust-owners');
refuses("another's shard", $not_made, @others);
refuses("another's shard, named", $elsewhere, @others, '--generator=alice.gen');
moves("another's shard: --undo", @others, '--undo');
is(state_on($_, 'alice.gen'), 'detached', "another's shard: not attached on $_")
  foreach keys %node;
is_moved("another's generator, named", [ '--trust-owners', '--generator=alice.gen' ],
	target => $made, boss => $made, mallory => $named);
is(state_on('beta', 'alice.gen'), 'attached', "another's generator, named: the target mints");
my $of_table = "$named ALTER TABLE S.b OWNER TO alice; GRANT USAGE ON SCHEMA s_SHARD TO alice";
is_moved('a generator of the owner of the table', ['--trust-owners'],
	target => $made,
	boss   => $made,
	later  => $of_table);

my $util_gen = q(SELECT flake_create_generator('util.gen'););

# A generator that flake_attach() would refuse. With Citus, the lower half of the shards is for groups.
# A row says that it is there: without files, which other tests would find.
my $citus = q(SET allow_system_table_mods = on;
INSERT INTO pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
VALUES (16000, 'citus', 10, 'pg_catalog'::regnamespace, false, '1.0');
RESET allow_system_table_mods;);
is_refused('Citus on the source', qr/the source's database has Citus, whose groups have shard \d+ of these generators: /, later => $citus);
is_refused('Citus on the target', qr/the target's database has Citus, whose groups have shard \d+ of these generators: /, target => $citus);
is_refused('a generator that is altered', qr/on the source, the sequences of these generators have been altered: util\.gen\./,
	target => $util_gen, boss => "$util_gen CREATE TABLE S.b (id bigint PRIMARY KEY DEFAULT flake_id(SHARD, 'util.gen')); ALTER SEQUENCE util.gen CYCLE");
is_refused('a generator that is altered on the target', qr/on the target, the sequences of these generators have been altered: util\.gen\./,
	target => "$util_gen ALTER SEQUENCE util.gen CYCLE", boss => "$util_gen CREATE TABLE S.b (id bigint PRIMARY KEY DEFAULT flake_id(SHARD, 'util.gen'))");

# Row security that filters what the subscription's role reads.
my $policed = q(
CREATE TABLE S.b (id bigint PRIMARY KEY, x int);
INSERT INTO S.b VALUES (1, 1), (2, -2);
ALTER TABLE S.b ENABLE ROW LEVEL SECURITY;
CREATE POLICY p ON S.b USING (x > 0);
GRANT USAGE ON SCHEMA s_SHARD TO repl, bypasses;
GRANT SELECT ON ALL TABLES IN SCHEMA s_SHARD TO repl, bypasses);
sql($_, 'postgres', 'CREATE ROLE repl LOGIN REPLICATION; CREATE ROLE bypasses LOGIN REPLICATION BYPASSRLS') foreach keys %node;
my @policed = shard(boss => $policed);
my $as = '--subscription-conninfo=' . $node{alpha}->connstr("db_$shard") . ' user=';
refuses('row security', qr/as role repl, from whom row security may hide rows/, @policed, "${as}repl", '--drop-source');
refuses('row security, again', qr/as role repl, from whom row security may hide rows/, @policed, "${as}repl", '--drop-source');
is(sql('beta', "db_$shard", "SELECT count(*) FROM s_$shard.b"), '0', 'row security: nothing was copied');
moves('row security, with BYPASSRLS', @policed, "${as}bypasses");
is(sql('beta', "db_$shard", "SELECT count(*) FROM s_$shard.b"), '2', 'row security, with BYPASSRLS: all rows');

# A generator that only a domain's default names, or a function's body; on the way,
# domains and functions outside of the schema count.
foreach my $case (
	[ 'a domain', q(CREATE DOMAIN S.d AS bigint DEFAULT flake_id(SHARD, 'util.gen'); CREATE TABLE S.b (id S.d PRIMARY KEY, x int)) ],
	[ 'a function', q(CREATE FUNCTION S.f() RETURNS bigint LANGUAGE sql BEGIN ATOMIC SELECT flake_id(SHARD, 'util.gen'); END; CREATE TABLE S.b (id bigint PRIMARY KEY DEFAULT S.f(), x int)) ],
	[ 'a domain elsewhere', q(CREATE DOMAIN util.d AS bigint DEFAULT flake_id(SHARD, 'util.gen'); CREATE TABLE S.b (id util.d PRIMARY KEY, x int)),
		q(CREATE DOMAIN util.d AS bigint DEFAULT flake_id(SHARD, 'util.gen')) ])
{
	my ($name, $boss, $target) = @$case;

	$name = "a generator named by $name";
	is_moved($name, [], target => $util_gen . ($target // ''), boss => "$util_gen $boss");
	is(state_on('alpha', 'util.gen'), 'detached', "$name: the source mints no more");
	is(state_on('beta', 'util.gen'), 'attached', "$name: the target mints");
}
is_refused('a domain with ids of another shard', qr/domain s_\d+\.d has ids of another shard as default/,
	boss => 'CREATE DOMAIN S.d AS bigint DEFAULT flake_id(900); CREATE TABLE S.b (id S.d PRIMARY KEY)');
is_refused("another's generator, by way of another's domain", $not_made, trusts => 1,
	target => $made, boss => $made,
	mallory => q(RESET SESSION AUTHORIZATION; CREATE DOMAIN alice.d AS bigint DEFAULT flake_id(SHARD, 'alice.gen'); ALTER DOMAIN alice.d OWNER TO alice; GRANT USAGE ON SCHEMA alice TO mallory; SET SESSION AUTHORIZATION mallory; CREATE TABLE S.b (id bigint PRIMARY KEY, x alice.d)));

# Two generators of the target change their names meanwhile: the wrong one stays detached.
my $two = 'CREATE SCHEMA sa; CREATE SCHEMA sb; ALTER SCHEMA sa OWNER TO mallory; ALTER SCHEMA sb OWNER TO mallory; GRANT CREATE ON DATABASE db_SHARD TO mallory; '
  . q(SELECT flake_create_generator('sa.gen'), flake_create_generator('sb.gen'););
my @swapped = shard(target => "$two SELECT flake_detach(SHARD, 'sb.gen')",
	boss => "$two CREATE TABLE S.b (id bigint PRIMARY KEY DEFAULT flake_id(SHARD, 'sa.gen'))");
my $writer = new_session($node{alpha}, "db_$shard");
value($writer, "BEGIN; LOCK TABLE s_$shard.t IN ROW EXCLUSIVE MODE");
$run = start_program(@swapped);
wait_for_output($run, qr/step 6/);
sql('beta', "db_$shard", 'SET SESSION AUTHORIZATION mallory; ALTER SCHEMA sa RENAME TO sc; ALTER SCHEMA sb RENAME TO sa; ALTER SCHEMA sc RENAME TO sb');
value($writer, 'COMMIT');
end_session($writer);
ok(!finish_program($run), 'names of generators swapped: it stops');
like($printed, qr/not those that the move has detached: sa\.gen\./, 'names of generators swapped: it says why');
is(state_on('beta', $_), 'detached', "names of generators swapped: $_ stays detached") foreach 'sa.gen', 'sb.gen';
moves('names of generators swapped: --undo', @swapped, '--undo');

# On the target, it is somebody else's, or somebody has used or fenced the shard.
foreach my $case (
	[ "mallory's",    'ALTER SEQUENCE alice.gen OWNER TO mallory', qr/of other roles than on the source: alice\.gen of mallory\./ ],
	[ "a superuser's", 'ALTER SEQUENCE alice.gen OWNER TO CURRENT_USER', qr/of other roles than on the source: alice\.gen of / ],
	[ 'detached', q(SELECT flake_detach(SHARD, 'alice.gen')), qr/has dealt with shard \d+ .*: alice\.gen \(detached\)/ ],
	[ 'attached', q(SELECT flake_attach(SHARD, generator => 'alice.gen')), qr/has dealt with shard \d+ .*: alice\.gen \(attached\)/ ],
	[ 'minted', q(SELECT flake_id(SHARD, 'alice.gen')), qr/has dealt with shard \d+ .*: alice\.gen \(minted\)/ ])
{
	my ($name, $sql, $message) = @$case;

	$name = "a generator on the target: $name";
	is_refused($name, $message, trusts => 1, target => "$made $sql", boss => $made, later => $of_table);
	is_moved("$name, named", [ '--trust-owners', '--generator=alice.gen' ],
		target => "$made $sql", boss => $made, later => $of_table);
}

# Between the steps 1 and 3 she mints there; --undo leaves all as it was.
sub stop_in_copy
{
	my ($name, @options) = @_;

	refuses("$name, stopped in step 4", qr/stopped in step 4/, @options, '--subscription-conninfo=host=/nonexistent');
	is(state_on('beta', 'alice.gen'), 'detached', "$name, stopped in step 4: detached on the target");
	moves("$name, --undo", @options, '--undo');
	return;
}
@others = (shard(target => "$made SELECT flake_attach(SHARD, generator => 'alice.gen')", boss => $made, later => $of_table),
	'--trust-owners', '--generator=alice.gen');
stop_in_copy('an attached shard', @others);
is(state_on('beta', 'alice.gen'), 'attached', 'an attached shard, --undo: attached again');
@others = (shard(target => $made, boss => $made, later => $of_table), '--trust-owners');
stop_in_copy('a shard without a state', @others);
is(state_on('beta', 'alice.gen'), 'none', 'a shard without a state, --undo: none again');
moves('a shard without a state, --undo, and again', @others);

@others = (shard(target => $made, boss => $made, later => $of_table), '--trust-owners');
$blocker = new_session($node{alpha}, "db_$shard");
value($blocker, 'BEGIN; LOCK TABLE pg_publication IN SHARE MODE');
$run = start_program(@others);
wait_until_program_waits($node{alpha}, 'CREATE PUBLICATION');
sql('beta', "db_$shard", "SET SESSION AUTHORIZATION alice; SELECT flake_id($shard, 'alice.gen')");
end_session($blocker);
ok(!finish_program($run), 'minted after step 1: it stops');
like($printed, qr/alice\.gen \(minted\).*^stopped in step 3/ms, 'minted after step 1: it says why');
is(state_on('beta', 'alice.gen'), 'none', 'minted after step 1: not detached');
moves('minted after step 1: --undo', @others, '--undo');

# A generator in the schema: its other shards are not the target's.
my $own = q(SELECT flake_create_generator('s_SHARD.gen'); SELECT flake_detach(5, 's_SHARD.gen'); SELECT flake_lease('outside', '1 hour', 's_SHARD.gen'); SELECT flake_id(6, 's_SHARD.gen');
CREATE TABLE S.b (id bigint PRIMARY KEY DEFAULT flake_id(SHARD, 's_SHARD.gen')));
is_refused('other shards in use', qr/other shards of generators in the schema are in use: s_\d+\.gen \(6, 8191\)\./, boss => $own);
my @own = shard(boss => $own);
moves('other shards in use, named', @own, "--generator=s_$shard.gen");
is(code($_, "SELECT flake_id(5, 's_$shard.gen')"), '55000', 'other shards in use, named: the target does not mint 5'),
  is(code($_, "SELECT flake_id(8191, 's_$shard.gen')"), '55000', 'other shards in use, named: the target does not mint 8191'),
  is(code($_, "INSERT INTO s_$shard.b DEFAULT VALUES"), 'none, but: ', 'other shards in use, named: the target mints the shard'),
  end_session($_)
  foreach new_session($node{beta}, "db_$shard");

# Anybody can have the lock that keeps two runs apart.
sql('alpha', 'postgres', 'CREATE ROLE locker LOGIN');
my @locked = shard();
my $locker = do {
	local $ENV{PGUSER} = 'locker';
	new_session($node{alpha}, "db_$shard");
};
value($locker, "SELECT pg_advisory_lock(hashtext('flakeid-move-shard'), $shard)");
refuses('a lock of anybody', qr/by another run, process \d+ \(role locker, no superuser\) of the source/, @locked);
end_session($locker);

# She detaches it when the move has begun.
@others = (shard(target => $made, boss => $made, mallory => $named), '--trust-owners');
$blocker = stop_at_slot();
$run     = start_program(@others, '--generator=alice.gen');
wait_until_program_waits($node{alpha}, 'pg_create_logical_replication_slot', 'transactionid');
sql('alpha', "db_$shard", "SET SESSION AUTHORIZATION alice; SELECT flake_detach($shard, 'alice.gen')");
end_session($blocker);
ok(!finish_program($run), 'a shard detached meanwhile: it stops');
like($printed, qr/shard $shard of generator alice\.gen is not minted on the source any more/,
	'a shard detached meanwhile: it says why');
is(sql('alpha', "db_$shard", "INSERT INTO s_$shard.t DEFAULT VALUES RETURNING flake_shard(id)"),
	$shard, 'a shard detached meanwhile: a client writes');
refuses('a shard detached meanwhile, run again', $elsewhere, @others, '--generator=alice.gen');
moves('a shard detached meanwhile, --undo', @others, '--undo');
is(state_on('alpha', 'alice.gen'), 'detached', 'a shard detached meanwhile: not attached on the source');
is(state_on('beta', 'alice.gen'), 'none', 'a shard detached meanwhile: on the target as before');

# A copy has no row of the shard.
my $not_here = qr/shard \d+ is detached on the source: it has gone/;
is_refused('a copy', $not_here, later => 'SELECT flake_detach_all()');
is_refused("a copy of another's shards", $elsewhere,
	trusts  => 1,
	target  => "$made ALTER SEQUENCE alice.gen OWNER TO mallory",
	boss    => $made,
	mallory => $named,
	later   => q(ALTER SEQUENCE alice.gen OWNER TO mallory; ALTER SCHEMA s_SHARD OWNER TO mallory; SELECT flake_detach_all('alice.gen')));
is_moved('a copy that mints the shard', [], later => 'SELECT flake_detach_all(), flake_attach(SHARD)');
$node{alpha}->append_conf('postgresql.conf', 'flakeid.require_attach = on');
$node{alpha}->restart;
is_refused('flakeid.require_attach', $not_here);
is_moved('flakeid.require_attach, attached', [], later => 'SELECT flake_attach(SHARD)');
$node{alpha}->adjust_conf('postgresql.conf', 'flakeid.require_attach', undef);
$node{alpha}->restart;

# The shard has gone on to a third server; she makes what a move leaves.
my $system = sql('beta', 'postgres', 'SELECT system_identifier FROM pg_control_system()');
sub publish_as
{
	my ($role, $of) = @_;

	sql('alpha', "db_$shard",
		"GRANT CREATE ON DATABASE db_$shard TO mallory; DROP PUBLICATION IF EXISTS flakeid_move_$shard;"
		  . "SET client_min_messages = error; SET SESSION AUTHORIZATION $role;"
		  . "CREATE PUBLICATION flakeid_move_$shard $of;"
		  . "COMMENT ON PUBLICATION flakeid_move_$shard IS 'shard $shard, schema s_$shard, is being moved to beta ($system/db_$shard)'");
	return;
}
my $super = sql('alpha', 'postgres', 'SELECT current_user');
my @gone = shard();
publish_as('mallory', '');
refuses('her publication', qr/publication "flakeid_move_$shard" belongs to mallory/, @gone, $_)
  foreach '--dry-run', '--undo';
sql('alpha', "db_$shard", "DROP PUBLICATION flakeid_move_$shard");
moves('without it', @gone);
my $gone_on = 'the target has had it';
sql('beta', "db_$shard",
	"CREATE SUBSCRIPTION flakeid_move_$shard CONNECTION 'dbname=x' PUBLICATION x WITH (connect = false, slot_name = NONE);"
	  . "COMMENT ON SUBSCRIPTION flakeid_move_$shard IS 'attached; all has been copied'; SELECT flake_detach($shard)");
sql('alpha', "db_$shard", q(UPDATE flake_shard_map SET server = 'third'));
refuses("$gone_on, its subscription is left", qr/the target has had shard $shard, which is detached there now/, @gone);
is(sql('alpha', "db_$shard", "SELECT flake_server($shard)"), 'third', "$gone_on: the map stays");
sql('beta', "db_$shard", "DROP SUBSCRIPTION flakeid_move_$shard; DROP SCHEMA s_$shard CASCADE");
foreach my $case ([ 'mallory', '' ], [ $super, '' ], [ $super, "FOR TABLES IN SCHEMA s_$shard" ])
{
	publish_as(@$case);
	refuses("$gone_on, a publication ($case->[1]) of $case->[0]", $not_here, @gone, $_)
	  foreach '--dry-run', '--undo', '--patience=30';
	is(state_on('alpha', 'flake_default'), 'detached',
		"$gone_on, a publication ($case->[1]) of $case->[0]: the source stays closed");
}

# The target is being moved to from elsewhere, by a subscription of the same name.
sql('beta', "db_$shard",
	"CREATE SUBSCRIPTION flakeid_move_$shard CONNECTION 'dbname=x' PUBLICATION x WITH (connect = false, slot_name = NONE)");
foreach my $case ([ 'mallory', '', qr/belongs to mallory/ ], [ $super, '', qr/does not publish schema/ ])
{
	publish_as(@$case);
	refuses("$gone_on, a subscription, too, a publication of $case->[0]", $case->[2], @gone, $_)
	  foreach '--dry-run', '--undo', '--patience=30';
	is(state_on('alpha', 'flake_default'), 'detached',
		"$gone_on, a subscription, too, a publication of $case->[0]: the source stays closed");
}

# Her function is not the fence, whatever its text.
my @fence = (shard(boss => 'ALTER SCHEMA s_SHARD OWNER TO mallory'), '--trust-owners');
moves('her own fence: the move', @fence);
sql('alpha', "db_$shard", "DROP FUNCTION s_$shard.flakeid_fence() CASCADE; SET SESSION AUTHORIZATION mallory;"
	  . "CREATE FUNCTION s_$shard.flakeid_fence() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN -- 1 of shard $shard: 1\nRAISE EXCEPTION ''x''; END'");
refuses('her own fence: --drop-source', qr/has no fence/, @fence, '--drop-source');

$_->stop foreach values %node;
done_testing();
