# Copyright (c) 2026, the flakeid developers

# A superuser calls the functions that execute commands for partitions and for
# migration, in a database of mallory's, who owns the extension, its schema and the
# tables.  She renames, drops and replaces what they name, before the call and
# while it waits, and has code in whatever they touch.  None of it may be executed
# with more rights than her own.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE ROLE mallory');

# Every function of hers notes who runs it, and tries to become somebody else.  A
# sequence, unlike a table, still tells after a ROLLBACK that a superuser did.
my $traps = <<'SQL';
SET SESSION AUTHORIZATION mallory;
CREATE SCHEMA trap;
CREATE TABLE trap.sprung (who text, is_superuser boolean, number int);
CREATE SEQUENCE trap.superusers;
GRANT USAGE ON SCHEMA trap TO PUBLIC;
GRANT INSERT ON trap.sprung TO PUBLIC;
CREATE FUNCTION trap.note(number int DEFAULT NULL) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
    BEGIN
        PERFORM pg_catalog.set_config('role', 'none', false);
    EXCEPTION WHEN OTHERS THEN
        NULL;
    END;
    INSERT INTO trap.sprung
    SELECT current_user, rolsuper AND pg_catalog.nextval('trap.superusers') > 0, number FROM pg_catalog.pg_roles WHERE rolname = current_user;
    RETURN true;
END
$$;
CREATE FUNCTION trap.constant(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
    AS 'BEGIN RETURN trap.note($1); END';
CREATE SCHEMA ext;
CREATE EXTENSION flakeid SCHEMA ext;
CREATE SCHEMA hers;
SQL

# What takes the place of the extension in a schema of the old name: whatever the
# functions may have called there.
my $replacement = <<'SQL';
CREATE DOMAIN ext.flake_layout AS text CHECK (trap.note());
CREATE FUNCTION ext.flake_partitions(parent regclass, layout LAYOUT, OUT partition regclass,
    OUT lower_bound bigint, OUT upper_bound bigint, OUT since timestamptz, OUT upto timestamptz)
    RETURNS SETOF record LANGUAGE sql AS 'SELECT NULL::regclass, 1::bigint, 2::bigint, now(), now() FROM trap.note()';
CREATE FUNCTION ext.flake_check_partitioned(regclass) RETURNS void LANGUAGE sql AS 'SELECT trap.note()::text::void';
CREATE FUNCTION ext.flake_lower(timestamptz, LAYOUT) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext.flake_floor(timestamptz, LAYOUT) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext.flake_ceil(timestamptz, LAYOUT) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext.flake_layout_info(LAYOUT, OUT shards bigint, OUT ends timestamptz) LANGUAGE sql AS 'SELECT 8192::bigint, now() FROM trap.note()';
CREATE FUNCTION ext.flake_horizon(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext.flake_id(int) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
SQL
$replacement =~ s/SELECT trap\.note\(\)::text::void/SELECT NULL::void FROM trap.note()/;

my $databases = 0;

# A database of hers, with a table that is partitioned and one to be migrated.
sub new_database
{
	my $name = 'victim_' . ++$databases;

	$node->safe_psql('postgres', "CREATE DATABASE $name OWNER mallory");
	$node->safe_psql(
		$name, $traps . q{
		CREATE TABLE hers.event (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
		SELECT ext.flake_create_partitions('hers.event', '1 day', '2026-01-01Z', '2026-01-03Z', zone => 'UTC');
		CREATE TABLE hers.item (id serial PRIMARY KEY);
		INSERT INTO hers.item DEFAULT VALUES;
		DELETE FROM trap.sprung;
	});
	return $name;
}

sub as_superuser
{
	my ($database) = @_;

	return $node->safe_psql($database,
		'SELECT last_value - 1 + is_called::int FROM trap.superusers');
}

# Whether a session's statement is done, or waits for a lock.
sub wait_until_settled
{
	my ($pid) = @_;

	$node->poll_query_until('postgres',
		"SELECT state ~ '^idle' OR wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid"
	) or die 'neither done nor waiting';
	return;
}

sub wait_until_waiting
{
	my ($pid) = @_;

	$node->poll_query_until('postgres',
		"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid"
	) or die 'does not wait';
	return;
}

# What a superuser calls, with a place for the schema.
my %calls = (
	flake_partitions => q(SELECT count(*) FROM %s.flake_partitions('hers.event')),
	flake_create_partitions =>
	  q(SELECT count(*) FROM %s.flake_create_partitions('hers.event', '1 day', '2026-01-01Z', '2026-01-06Z', zone => 'UTC')),
	flake_drop_partitions =>
	  q(SELECT count(*) FROM %s.flake_drop_partitions('hers.event', '2026-01-02Z')),
	flake_migrate => q(SELECT count(*) FROM %s.flake_migrate('hers.item', 'id', 5)),
);

#
# The extension's schema renamed and replaced before the call
#

my $database = new_database();
my $mallory = new_session($node, $database);
my $superuser = new_session($node, $database);

value($mallory, 'SET client_min_messages = warning; SET SESSION AUTHORIZATION mallory');
value($mallory,
	'ALTER SCHEMA ext RENAME TO away; CREATE SCHEMA ext;'
	  . $replacement =~ s/LAYOUT/away.flake_layout/gr);
foreach my $name (sort keys %calls)
{
	my $sql = sprintf $calls{$name}, 'away';

	is($name eq 'flake_partitions' ? value($superuser, $sql) : code($superuser, $sql),
		$name eq 'flake_partitions' ? 2 : '55000',
		"renamed before: $name()");
}
is(as_superuser($database), 0, 'renamed before: nothing of hers was executed');
value($mallory,
	'ALTER SCHEMA ext RENAME TO trapped; ALTER SCHEMA away RENAME TO ext');
is(value($superuser, sprintf $calls{flake_create_partitions}, 'ext'),
	3, 'renamed before: with the old name it works again');
end_session($_) foreach $mallory, $superuser;

#
# The schema renamed, a function of it replaced, the extension dropped and replaced,
# while the call waits for a lock on the table
#

my %doings = (
	'schema renamed' => 'ALTER SCHEMA ext RENAME TO away; CREATE SCHEMA ext; '
	  . $replacement =~ s/LAYOUT/away.flake_layout/gr,
	'extension dropped' => 'DROP EXTENSION flakeid CASCADE; '
	  . $replacement =~ s/LAYOUT/ext.flake_layout/gr,
	'schema of the table renamed' =>
	  'ALTER SCHEMA hers RENAME TO away; CREATE SCHEMA hers;'
	  . ' CREATE VIEW hers.item AS SELECT trap.note()::int AS id; CREATE VIEW hers.event AS SELECT trap.note()::int AS id;'
);

foreach my $what (sort keys %doings)
{
	foreach my $name (grep { $_ ne 'flake_partitions' } sort keys %calls)
	{
		my $table = $name eq 'flake_migrate' ? 'hers.item' : 'hers.event';

		$database = new_database();
		$mallory = new_session($node, $database);
		$superuser = new_session($node, $database);

		my $other = new_session($node, $database);
		my $pid = value($superuser, 'SELECT pg_backend_pid()');
		my $mallorys_pid = value($mallory, 'SELECT pg_backend_pid()');

		value($mallory, 'SET client_min_messages = warning; SET SESSION AUTHORIZATION mallory');
		value($superuser, 'SET client_min_messages = warning');
		value($other, "BEGIN; LOCK TABLE $table");
		send_query($superuser, sprintf $calls{$name}, 'ext');
		wait_until_waiting($pid);
		send_query($mallory, "BEGIN; $doings{$what}; COMMIT");
		wait_until_settled($mallorys_pid);
		value($other, 'COMMIT');

		my (undef, $stderr) = get_answer($superuser);

		is($stderr, '', "$what: $name() does what it was to do");
		get_answer($mallory);
		is(as_superuser($database), 0,
			"$what: $name() executes nothing of hers as superuser");
		end_session($_) foreach $mallory, $superuser, $other;
	}
}

# The other way around: the call waits for her.
$database = new_database();
$mallory = new_session($node, $database);
foreach my $name (grep { $_ ne 'flake_partitions' } sort keys %calls)
{
	$superuser = new_session($node, $database);

	my $pid = value($superuser, 'SELECT pg_backend_pid()');

	value($mallory,
		'SET client_min_messages = warning; SET SESSION AUTHORIZATION mallory; BEGIN; DROP EXTENSION flakeid CASCADE'
	);
	send_query($superuser, sprintf $calls{$name}, 'ext');
	wait_until_waiting($pid);
	value($mallory,
		'CREATE EXTENSION flakeid SCHEMA ext; COMMIT');
	is(error_code(get_answer($superuser)),
		'42704', "$name() of an extension that was dropped meanwhile");
	end_session($superuser);
}
end_session($mallory);

#
# Code of hers in the tables
#

$database = new_database();
$node->safe_psql(
	$database, q{
	SET SESSION AUTHORIZATION mallory;
	CREATE TABLE hers.log (id bigint, a int DEFAULT 1) PARTITION BY RANGE (id);
	CREATE TABLE hers.log_default PARTITION OF hers.log (CHECK (trap.constant(1))) DEFAULT PARTITION BY LIST ((trap.constant(2) AND a > 0));
	CREATE TABLE hers.log_true PARTITION OF hers.log_default (CHECK (trap.constant(3))) FOR VALUES IN (true);
	CREATE INDEX ON hers.log ((trap.constant(4))) WHERE trap.constant(5);
	CREATE TABLE hers.thing (
		id serial PRIMARY KEY CHECK (trap.constant(6)),
		twice boolean GENERATED ALWAYS AS (trap.constant(7)) STORED);
	CREATE INDEX ON hers.thing ((trap.constant(8) AND id > 0)) WHERE trap.constant(9);
	CREATE TABLE hers.of_thing (
		thing_id int REFERENCES hers.thing,
		a int DEFAULT 1) PARTITION BY LIST ((trap.constant(10) AND a > 0));
	CREATE TABLE hers.of_thing_true PARTITION OF hers.of_thing FOR VALUES IN (true);
	CREATE INDEX ON hers.of_thing (thing_id, (trap.constant(11)));
	CREATE VIEW hers.seen AS SELECT id FROM hers.thing;
	INSERT INTO hers.thing DEFAULT VALUES;
	INSERT INTO hers.of_thing SELECT id FROM hers.thing;
	DELETE FROM trap.sprung;
});

# Calls it in a session of its own, in which nothing was planned yet.
sub spring
{
	my ($what, $sql) = @_;

	$node->safe_psql($database,
		'SET client_min_messages = warning; DELETE FROM trap.sprung');
	$node->safe_psql($database, "SET client_min_messages = warning; $sql");
	cmp_ok(
		$node->safe_psql($database, 'SELECT count(*) FROM trap.sprung'),
		'>', 0, "$what: her code was executed");
	is( $node->safe_psql(
			$database,
			q(SELECT DISTINCT who, number FROM trap.sprung WHERE who <> 'mallory')
		),
		'',
		"$what: as mallory");
	return;
}

spring('flake_create_partitions()',
	q(SELECT ext.flake_create_partitions('hers.log', '1 day', '2026-01-01Z', '2026-01-03Z', zone => 'UTC'))
);
is( $node->safe_psql(
		$database,
		q(SELECT DISTINCT relowner::regrole FROM pg_class WHERE relname ~ '^log_p2026')
	),
	'mallory',
	'flake_create_partitions(): the partitions belong to the owner of the table'
);
spring('flake_migrate()', q(SELECT ext.flake_migrate('hers.thing', 'id', 5)));
spring('flake_migrate(), dry run',
	q(SELECT ext.flake_migrate('hers.thing', 'id', 5, dry_run => true)));

# A partition that a foreign key refers to is detached first: rows are looked for.
$node->safe_psql(
	$database, q{
	SET SESSION AUTHORIZATION mallory;
	CREATE TABLE hers.of_event (event_id bigint REFERENCES hers.event);
	CREATE INDEX ON hers.of_event (event_id, (trap.constant(12))) WHERE trap.constant(13);
});
spring('flake_drop_partitions()',
	q(SELECT ext.flake_drop_partitions('hers.event', '2026-01-02Z')));

# What runs as mallory in this transaction replaces what is named next: refused, and
# undone.
foreach my $doing (
	'ALTER TABLE hers.log RENAME TO gone; CREATE TABLE hers.log (id bigint) PARTITION BY RANGE (id)',
	'ALTER SCHEMA hers RENAME TO gone',
	'ALTER SCHEMA ext RENAME TO gone')
{
	$node->safe_psql($database,
		"SET SESSION AUTHORIZATION mallory; CREATE OR REPLACE FUNCTION trap.note(number int DEFAULT NULL) RETURNS boolean LANGUAGE plpgsql AS \$\$ BEGIN IF pg_catalog.to_regnamespace('gone') IS NULL AND pg_catalog.to_regclass('hers.gone') IS NULL THEN $doing; END IF; RETURN true; END \$\$"
	);
	my $session = new_session($node, $database);

	value($session, 'SET client_min_messages = warning');
	is( code(
			$session,
			q(SELECT ext.flake_create_partitions('hers.log', '1 day', '2026-02-01Z', '2026-02-03Z', zone => 'UTC'))
		),
		'55000',
		"$doing: refused");
	if ($doing =~ / ext /)
	{
		# while no more is done than to look for the largest id
		is( code(
				$session,
				"SELECT ext.flake_migrate('hers.thing', 'id', 5, dry_run => $_)"),
			'55000',
			"$doing: flake_migrate(), dry_run => $_: refused")
		  foreach qw(true false);
	}
	end_session($session);
}

#
# A default partition of hers, of a table of the superuser's
#

$database = new_database();
$node->safe_psql(
	$database, q{
	CREATE SCHEMA his;
	GRANT USAGE ON SCHEMA his TO PUBLIC;
	CREATE TABLE his.log (id bigint) PARTITION BY RANGE (id);
	CREATE TABLE his.log_default PARTITION OF his.log DEFAULT;
	ALTER TABLE his.log_default OWNER TO mallory;
	SET SESSION AUTHORIZATION mallory;
	ALTER TABLE his.log_default ADD CONSTRAINT trap CHECK (trap.constant(1));
	DELETE FROM trap.sprung;
});
$superuser = new_session($node, $database);
value($superuser, 'SET client_min_messages = warning');
my $call =
  q(SELECT count(*) FROM ext.flake_create_partitions('his.log', '1 day', '2026-01-01Z', '2026-01-03Z', zone => 'UTC'));
is(code($superuser, $call),
	'0A000', 'a check of hers in a default partition is refused');
is(as_superuser($database), 0, 'and is not executed');
value($superuser, 'ALTER TABLE his.log_default DROP CONSTRAINT trap');
is(value($superuser, $call), 2, 'without it, partitions are made');
end_session($superuser);

#
# Views: created again by the superuser from text
#

$database = new_database();
$node->safe_psql(
	$database, q{
	SET SESSION AUTHORIZATION mallory;
	CREATE DOMAIN hers.checked AS int CHECK (trap.note());
	CREATE VIEW hers.of_domain AS SELECT id, '{1}'::hers.checked[] AS checked FROM hers.item;
	DELETE FROM trap.sprung;
});
$superuser = new_session($node, $database);
value($superuser, 'SET client_min_messages = warning');
is(code($superuser, q(SELECT ext.flake_migrate('hers.item', 'id', 5))),
	'0A000', 'a constant of a domain in a view is refused');
is(as_superuser($database), 0, 'and its check is not executed');
value($superuser, 'DROP VIEW hers.of_domain');

value(
	$superuser, q{
	CREATE FUNCTION hers.twice(int) RETURNS bigint LANGUAGE sql AS 'SELECT 2 * $1::bigint';
	CREATE VIEW public.of_superuser AS SELECT hers.twice(id) FROM hers.item});
$node->safe_psql($database,
	q{SET SESSION AUTHORIZATION mallory; CREATE FUNCTION hers.twice(bigint) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint FROM trap.note()'}
);
is(code($superuser, q(SELECT ext.flake_migrate('hers.item', 'id', 5))),
	'0A000',
	'a function of hers does not take the place of another in a view');
value($superuser, 'TABLE public.of_superuser');
is(as_superuser($database), 0, 'and is not executed');
end_session($superuser);

# What runs as mallory between the drop of a view and its creation changes what a
# constant in it is read as.
foreach my $case (
	[
		'a check for a domain',
		'CREATE DOMAIN hers.later AS int; CREATE TYPE hers.pair AS (a hers.later)',
		q('(1)'::hers.pair),
		'ALTER DOMAIN hers.later ADD CHECK (trap.note())', '0A000'
	],
	[
		'a domain in place of a type',
		q(CREATE TYPE hers.mood AS ENUM ('glad')),
		q('glad'::hers.mood),
		q{IF pg_catalog.to_regtype('hers.gone') IS NULL THEN
			ALTER TYPE hers.mood RENAME TO gone; CREATE DOMAIN hers.mood AS text CHECK (trap.note());
		END IF},
		'55000'
	])
{
	my ($what, $types, $constant, $doing, $code) = @$case;

	$database = new_database();
	$node->safe_psql(
		$database, qq{
		SET SESSION AUTHORIZATION mallory;
		$types;
		CREATE FUNCTION hers.do() RETURNS void LANGUAGE plpgsql AS \$\$
		BEGIN
			IF pg_catalog.to_regclass('hers.constant') IS NULL THEN
				$doing;
			END IF;
		END \$\$;
		CREATE FUNCTION hers.act() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM hers.do(); RETURN true; END';
		CREATE VIEW hers.constant AS SELECT id, $constant FROM hers.item;
		CREATE INDEX ON hers.item (id) WHERE hers.act();
		DELETE FROM trap.sprung;
	});
	$superuser = new_session($node, $database);
	value($superuser, 'SET client_min_messages = warning');
	is(code($superuser, q(SELECT ext.flake_migrate('hers.item', 'id', 5))),
		$code, "$what, made meanwhile, is refused");
	is(as_superuser($database), 0, 'and its check is not executed');
	end_session($superuser);
}

#
# Functions in PL/pgSQL that she had compiled, in the superuser's session, with types
# of her own
#

$database = new_database();
$node->safe_psql(
	$database, q{
	SET SESSION AUTHORIZATION mallory;
	CREATE SCHEMA types;
	CREATE DOMAIN types.text AS pg_catalog.text CHECK (trap.note());
	CREATE DOMAIN types.oid AS pg_catalog.oid CHECK (trap.note());
	CREATE DOMAIN types.name AS pg_catalog.name CHECK (trap.note());
	CREATE DOMAIN types.regclass AS pg_catalog.regclass CHECK (trap.note());
	CREATE DOMAIN types.jsonb AS pg_catalog.jsonb CHECK (trap.note());
	CREATE DOMAIN types.timestamptz AS pg_catalog.timestamptz CHECK (trap.note());
	CREATE TYPE types.record AS (a int);
	DELETE FROM trap.sprung;
});
$superuser = new_session($node, $database);
value($superuser, 'SET client_min_messages = warning');
value(
	$superuser, q{
	SET SESSION AUTHORIZATION mallory;
	SET search_path = types, pg_catalog;
	SELECT count(pg_catalog.plpgsql_validator(oid)) FROM pg_catalog.pg_proc
	WHERE pronamespace = 'ext'::pg_catalog.regnamespace AND proname ~ 'migrate|partitions'
	  AND prolang = (SELECT oid FROM pg_catalog.pg_language WHERE lanname = 'plpgsql');
	RESET search_path;
	RESET SESSION AUTHORIZATION;
});
foreach my $name (sort keys %calls)
{
	unlike((ask($superuser, sprintf $calls{$name}, 'ext'))[1],
		qr/ERROR/, "types of hers: $name() works");
}
is(as_superuser($database), 0, 'types of hers: are not used');
end_session($superuser);

$node->stop;
done_testing();
