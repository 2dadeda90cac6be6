# Copyright (c) 2026, the flakeid developers

# flakeid-move-shard, a superuser on two servers, executes nothing of mallory, who
# may do in the moved schema, and on the target, what she likes.  Each of her traps
# would write to the server's log as whom it runs.

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

# A schema s_N in a database of its own: $mallory does there what she likes, after
# what $boss did, and $target is done on the target before.
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
		"INSERT INTO flake_shard_map VALUES ('[0,99]', 'alpha');"
		  . "CREATE SCHEMA s_$shard;"
		  . "CREATE TABLE s_$shard.t (id bigint PRIMARY KEY DEFAULT flake_id($shard), x int);"
		  . "GRANT ALL ON SCHEMA s_$shard TO mallory;"
		  . ($does{boss} // '') . ';'
		  . 'SET SESSION AUTHORIZATION mallory;'
		  . sprintf($trap, "s_$shard.trap")
		  . ($does{mallory} // '')
		  . ';RESET SESSION AUTHORIZATION;'
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
	my @options = shard(%does);

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
		mallory => qq(
CREATE SEQUENCE S."
$marker
;SELECT S.trap(1);COMMIT;--"));
}
my $control = qr/the name of .*control characters/;
is_refused("a $_->[0] with a newline", $control, mallory => $_->[1])
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
# What is evaluated
#

my $hers         = qr/is of mallory|goes by function s_\d+\.trap\(integer\) of mallory/;
my %domains      = (
	'a domain'              => 'S.d1',
	'a domain over another' => 'S.d2',
	'an array'              => 'S.d1[]',
	'a composite type'      => 'S.c',
	'an array of it'        => 'S.c[]',
	'a range'               => 'S.r',
	'a multirange'          => 'S.rm');
my $domains = q(
CREATE DOMAIN S.d1 AS int CHECK (S.trap(value) > 0);
CREATE DOMAIN S.d2 AS S.d1;
CREATE TYPE S.c AS (v S.d1);
CREATE TYPE S.r AS RANGE (subtype = S.d1, multirange_type_name = S.rm));
is_refused(
	"$_ with a check",
	qr/constraint d1_check of domain s_\d+\.d1 $hers/,
	mallory => "$domains; CREATE TABLE S.b (id bigint PRIMARY KEY, x $domains{$_})")
  foreach sort keys %domains;
is_refused(
	'a domain elsewhere',
	qr/constraint d_check of domain hers\.d $hers/,
	mallory =>
	  'CREATE DOMAIN hers.d AS int CHECK (S.trap(value) > 0); CREATE TYPE hers.c AS (v hers.d); CREATE TABLE S.b (id bigint PRIMARY KEY, x hers.c[])');
is_refused(
	'a domain in an aggregate',
	qr/constraint d_check of domain/,
	mallory =>
	  q(CREATE DOMAIN S.d AS int CHECK (S.trap(value) > 0); CREATE FUNCTION S.f(S.d, int) RETURNS S.d LANGUAGE sql AS 'SELECT $1'; CREATE AGGREGATE S.a (int) (sfunc = S.f, stype = S.d, initcond = '1')));

# No dependency tells of these types.
my $trapped = 'SET SESSION AUTHORIZATION mallory;'
  . sprintf($trap, 'hers.trap')
  . q(CREATE DOMAIN hers.d AS int CHECK (hers.trap(value) > 0););
my $there = qr/with a superuser's rights what others have there: .* of (?:role )?"?mallory/;
is_refused(
	"the type of an aggregate's $_->[0], with a check on the target",
	$there,
	target => $trapped,
	mallory => qq(
CREATE DOMAIN hers.d AS int;
CREATE FUNCTION hers.sf(hers.d, int) RETURNS hers.d LANGUAGE sql AS 'SELECT \$1';
CREATE FUNCTION hers.sf(int, int) RETURNS int LANGUAGE sql AS 'SELECT \$1';
CREATE FUNCTION hers.ff(hers.d) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FUNCTION hers.ff(int) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE AGGREGATE S.a (int) ($_->[1])))
  foreach [
	'state', q(sfunc = hers.sf, stype = hers.d, initcond = '1', finalfunc = hers.ff)
  ],
  [
	'moving state',
	q(sfunc = hers.sf, stype = int, finalfunc = hers.ff, msfunc = hers.sf, minvfunc = hers.sf, mstype = hers.d, minitcond = '1', mfinalfunc = hers.ff)
  ];
is_refused(
	"what a partition's bound is converted to",
	$there,
	target =>
	  "$trapped RESET SESSION AUTHORIZATION; CREATE FUNCTION util.f(int) RETURNS hers.d IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN \$1; END'",
	boss => q(
CREATE DOMAIN hers.d AS int;
ALTER DOMAIN hers.d OWNER TO mallory;
CREATE FUNCTION util.f(int) RETURNS hers.d IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN $1; END';
CREATE TABLE S.p (id bigint, x int) PARTITION BY RANGE (util.f(x));
CREATE TABLE S.p1 (id bigint PRIMARY KEY, x int);
ALTER TABLE S.p ATTACH PARTITION S.p1 FOR VALUES FROM (1) TO (2)));
is_refused(
	'a composite type that is hers on the target',
	$there,
	target => 'CREATE TYPE hers.c AS (x int); ALTER TYPE hers.c OWNER TO mallory',
	boss   => 'CREATE TYPE hers.c AS (x int); CREATE TABLE S.b (id int PRIMARY KEY, x hers.c)');

# Of other kinds it is not known what making them executes.
my $unknown = qr/ is of a kind that may have the target execute something/;
is_refused("a $_->[0]", $unknown, boss => $_->[1])
  foreach [
	'foreign table',
	'CREATE FOREIGN DATA WRAPPER w; CREATE SERVER v FOREIGN DATA WRAPPER w; CREATE FOREIGN TABLE S.f (x int) SERVER v'
  ],
  [
	'conversion',
	q(CREATE CONVERSION S.c FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8)
  ],
  [ 'family of operators', 'CREATE OPERATOR FAMILY S.f USING btree' ],
  [ 'shell type',          'CREATE TYPE S.y' ];

my $pair =
  'CREATE TABLE S.b (id bigint PRIMARY KEY, x int); CREATE TABLE S.a (id bigint PRIMARY KEY, b bigint REFERENCES S.b);';
my $diff =
  q(CREATE FUNCTION S.diff(float8, float8) RETURNS float8 IMMUTABLE LANGUAGE sql AS 'SELECT S.trap(1)::float8';);
my %traps = (
	'a statistics object' =>
	  'CREATE STATISTICS S.s ON (x + S.trap(1)), id FROM S.b',
	"an index's predicate"  => 'CREATE INDEX i ON S.b (x) WHERE S.trap(1) > 0',
	"an index's expression" => 'CREATE INDEX i ON S.b ((x + S.trap(1)))',
	'an operator' =>
	  'CREATE OPERATOR S.@@@ (rightarg = int, function = S.trap); CREATE INDEX i ON S.b (x) WHERE (OPERATOR(S.@@@) 1) > 0',
	'a check' => 'ALTER TABLE S.b ADD CHECK (x > S.trap(1))',
	'a generated column' =>
	  'ALTER TABLE S.b ADD g int GENERATED ALWAYS AS (S.trap(1)) STORED',
	'a partition key' =>
	  'CREATE TABLE S.p (x int) PARTITION BY RANGE ((x + S.trap(1)))',
	'an exclusion constraint' =>
	  'ALTER TABLE S.b ADD EXCLUDE (x WITH =) WHERE (S.trap(1) > 0)',
	"a range's subtype_diff" =>
	  q(CREATE TYPE S.r AS RANGE (subtype = float8, subtype_diff = S.diff); ALTER TABLE S.b ADD r S.r));
my $view = q(CREATE MATERIALIZED VIEW S.m AS SELECT 1 AS x);
is_refused(
	"an index's expression of a superuser's materialized view",
	qr/goes by function s_\d+\.trap\(integer\) of mallory/,
	later => "$view; CREATE INDEX i ON S.m ((x + S.trap(1)))");
foreach my $name (sort keys %traps)
{
	is_refused($name, qr/is of mallory|goes by .* of mallory/,
		mallory => "$diff $pair $traps{$name}");

	# Of a superuser's table, but with her function: as from version 16 on.
	is_refused(
		"$name of a superuser's table",
		qr/goes by (?:function|operator) .* of mallory/,
		mallory => $diff,
		later   => "$pair $traps{$name}");
}

# A function of the superuser's, whose text comes to mean hers.
is_refused(
	'a function that fits better',
	qr/goes by function s_\d+\.f\(integer\) of mallory/,
	boss =>
	  q(CREATE FUNCTION S.f(numeric) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1'; CREATE TABLE S.b (id int PRIMARY KEY, x int CHECK (S.f(x) > 0));),
	mallory =>
	  q(CREATE FUNCTION S.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT S.trap(1)'));

# On the target it is hers.
my $util =
  q(CREATE FUNCTION util.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS 'SELECT 1';);
is_refused(
	"a function that is hers on the target",
	qr/$there/,
	target => "$util ALTER FUNCTION util.f OWNER TO mallory",
	boss   => "$util CREATE INDEX i ON S.t (x) WHERE util.f(1) > 0");
is_refused(
	"a domain that is hers on the target",
	qr/$there/,
	target =>
	  'CREATE DOMAIN util.d AS int CHECK (value > 0); ALTER DOMAIN util.d OWNER TO mallory',
	boss =>
	  'CREATE DOMAIN util.d AS int CHECK (value > 0); CREATE TABLE S.b (id int PRIMARY KEY, x util.d[])');
is_refused(
	'a table that is hers on the target',
	qr/$there/,
	target =>
	  'SET SESSION AUTHORIZATION mallory;'
	  . sprintf($trap, 'hers.trap')
	  . 'CREATE TABLE hers.b (id bigint PRIMARY KEY, x int); CREATE STATISTICS hers.s ON (x + hers.trap(1)), id FROM hers.b',
	later =>
	  'CREATE TABLE hers.b (id bigint PRIMARY KEY, x int); CREATE TABLE S.a (id bigint PRIMARY KEY, b bigint REFERENCES hers.b)');

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
is_moved(
	'--trust-owners',
	['--trust-owners'],
	mallory => "$pair CREATE INDEX i ON S.b ((x + 1)); CREATE STATISTICS S.s ON (x + 1), id FROM S.b");
my $mild =
  q(CREATE TYPE S.color AS ENUM ('red'); CREATE TABLE S.b (id bigint PRIMARY KEY CHECK (public.flake_shard(id) = SHARD), x int, c S.color, y text DEFAULT upper('a'), z int DEFAULT S.trap(1)););
is_moved("her shard's check, types and defaults", [], mallory => $mild);
my $own = "$mild ALTER TABLE S.b ADD CHECK (x > 0); CREATE INDEX i ON S.b ((x + 1)) WHERE c = 'red'";
is_refused('her own checks', qr/is of mallory/, mallory => $own);
is_moved('her own checks, trusted', ['--trust-owners'], mallory => $own);

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
	boss    => 'ALTER SCHEMA s_SHARD OWNER TO mallory; GRANT USAGE ON SCHEMA public TO mallory',
	mallory => q(
CREATE DOMAIN S.d AS int;
CREATE TYPE S.c AS (x int);
CREATE TABLE S.b (id bigint PRIMARY KEY, x int, d S.d, c S.c);
INSERT INTO S.b VALUES (1, 1, 1, '(1)');
GRANT USAGE ON SCHEMA s_SHARD TO bob WITH GRANT OPTION;
GRANT ALL ON S.b TO bob;
REVOKE CREATE ON SCHEMA s_SHARD FROM mallory;
SET SESSION AUTHORIZATION bob;
GRANT USAGE ON SCHEMA s_SHARD TO carol, PUBLIC;
SET SESSION AUTHORIZATION mallory;));
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
	"CREATE TRIGGER x BEFORE INSERT ON $s.b FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()",
	"CREATE INDEX ON $s.b ((x + $s.trap(1)))",
	"CREATE TABLE $s.e (id bigint PRIMARY KEY)",
	"ALTER DOMAIN $s.d ADD CHECK ($s.trap(value) > 0) NOT VALID",
	"ALTER TYPE $s.c ADD ATTRIBUTE y int",
	"ALTER SCHEMA $s RENAME TO other",
	"SELECT $s.trap(1)");
end_session($blocker);

# It waits for the map, she has her schema again, and opens her fence.
my $map = new_session($node{alpha}, "db_$shard");
value($map, 'BEGIN; LOCK TABLE flake_shard_map IN ROW EXCLUSIVE MODE');
wait_until_program_waits($node{alpha}, 'LOCK TABLE');
value(
	$mallory, qq(
CREATE FUNCTION hers.sprung() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN RAISE LOG ''sprung as %'', current_user; RETURN NEW; END';
CREATE TRIGGER x BEFORE INSERT ON $s.b FOR EACH ROW EXECUTE FUNCTION hers.sprung();
ALTER TABLE $s.b ENABLE ALWAYS TRIGGER x));
sql('alpha', "db_$shard", "SET SESSION AUTHORIZATION mallory; ALTER TABLE $s.b DISABLE TRIGGER flakeid_fence; INSERT INTO $s.b VALUES (2)");
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
my @renamed = shard(boss => 'ALTER SCHEMA s_SHARD OWNER TO mallory; GRANT CREATE ON DATABASE db_SHARD TO mallory');
if ($node{beta}->pg_version < 16)
{
	$blocker = stop_at_slot();
	$run     = start_program(@renamed);
	wait_until_program_waits($node{alpha}, 'pg_create_logical_replication_slot', 'transactionid');
	sql('alpha', "db_$shard", "SET SESSION AUTHORIZATION mallory; ALTER SCHEMA s_$shard RENAME TO hers_now");
	end_session($blocker);
	ok(!finish_program($run), 'the source\'s schema renamed: it stops');
	like($printed, qr/is not the one that is published/, 'the source\'s schema renamed: it says why');
	sql('alpha', "db_$shard", "ALTER SCHEMA hers_now RENAME TO s_$shard");
	moves('the source\'s schema has its name again', @renamed);
}
else
{
	refuses('she may rename the schema', qr/its owner mallory may rename it/, @renamed);
}

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
is_refused("another's generator", $not_made,
	target => $made, boss => $made, mallory => $named);
my @others = shard(target => $away, boss => $away, mallory => $named);
refuses("another's shard", $not_made, @others);
refuses("another's shard, named", $elsewhere, @others, '--generator=alice.gen');
moves("another's shard: --undo", @others, '--undo');
is(state_on($_, 'alice.gen'), 'detached', "another's shard: not attached on $_")
  foreach keys %node;
is_moved("another's generator, named", ['--generator=alice.gen'],
	target => $made, boss => $made, mallory => $named);
is(state_on('beta', 'alice.gen'), 'attached', "another's generator, named: the target mints");
is_moved('a generator of the owner of the table', [],
	target => $made,
	boss   => $made,
	later  => "$named ALTER TABLE S.b OWNER TO alice");

# She detaches it when the move has begun.
@others = shard(target => $made, boss => $made, mallory => $named);
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
is(state_on($_, 'alice.gen'), 'detached', "a shard detached meanwhile: not attached on $_")
  foreach keys %node;

# A copy has no row of the shard.
my $not_here = qr/shard \d+ is detached on the source: it has gone/;
is_refused('a copy', $not_here, later => 'SELECT flake_detach_all()');
is_refused("a copy of another's shards", $elsewhere,
	target  => $made,
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
my @fence = shard(boss => 'ALTER SCHEMA s_SHARD OWNER TO mallory');
moves('her own fence: the move', @fence);
sql('alpha', "db_$shard", "DROP FUNCTION s_$shard.flakeid_fence() CASCADE; SET SESSION AUTHORIZATION mallory;"
	  . "CREATE FUNCTION s_$shard.flakeid_fence() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN -- 1 of shard $shard: 1\nRAISE EXCEPTION ''x''; END'");
refuses('her own fence: --drop-source', qr/has no fence/, @fence, '--drop-source');

# A role that gets at every schema, and owns something in it.
sql('beta', 'postgres', 'GRANT pg_read_all_data TO mallory');
is_refused(
	'she may read everything on the target',
	qr/what others have there: schema s_\d+, for mallory/,
	mallory => 'CREATE TABLE S.b (id bigint PRIMARY KEY)');

$_->stop foreach values %node;
done_testing();
