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
		$text =~ s/\bSHARD\b/$shard/g;
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

# Before version 16 it suffices that she has written it.
my $as_superuser = $node{beta}->pg_version < 16;
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
my $there = qr/with a superuser's rights what others have there: .* of (?:role )?"?mallory/;
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
if ($as_superuser)
{
	is_refused('her own checks, before version 16', qr/is of mallory/, mallory => $own);
}
else
{
	is_moved('her own checks, of built-in functions', [], mallory => $own);
}

$_->stop foreach values %node;
done_testing();
