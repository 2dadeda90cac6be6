# Copyright (c) 2026, the flakeid developers

# A superuser can call the functions that execute commands, for partitions and for
# migration, in mallory's database.  She owns the extension, its schema and the
# tables.  She renames, drops and replaces whatever the functions name, before the
# call and while it waits, and has code in everything that they touch.  None of it
# is executed with more rights than her own.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $node = start_server('main', sql => 'CREATE ROLE mallory');

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
CREATE FUNCTION ext._flake_partition_layout(regclass, LAYOUT) RETURNS LAYOUT LANGUAGE sql AS 'SELECT $2 FROM trap.note()';
CREATE FUNCTION ext.flake_lower(timestamptz, LAYOUT) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext._flake_floor(timestamptz, LAYOUT) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext.flake_upper(timestamptz, LAYOUT) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext.flake_layout_info(LAYOUT, OUT shards bigint, OUT ends timestamptz) LANGUAGE sql AS 'SELECT 8192::bigint, now() FROM trap.note()';
CREATE FUNCTION ext.flake_horizon(regclass) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext.flake_id(int) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE DOMAIN ext._flake_ticket AS oid CHECK (trap.note());
CREATE FUNCTION ext._flake_guard_schemas(TICKET, oid[]) RETURNS void LANGUAGE sql AS 'SELECT trap.note()::text::void';
CREATE FUNCTION ext._flake_guard_relation(TICKET, oid, boolean) RETURNS boolean LANGUAGE sql AS 'SELECT trap.note()';
CREATE FUNCTION ext._flake_lock_trees(TICKET, oid[], boolean, oid[], oid[], timestamptz) RETURNS void LANGUAGE sql AS 'SELECT trap.note()::text::void';
CREATE FUNCTION ext._flake_largest(TICKET, oid, name) RETURNS bigint LANGUAGE sql AS 'SELECT trap.note()::int::bigint';
CREATE FUNCTION ext._flake_execute_steps(TICKET, oid[], oid[], oid[], text[], boolean) RETURNS void LANGUAGE sql AS 'SELECT trap.note()::text::void';
SQL
$replacement =~ s/SELECT trap\.note\(\)::text::void/SELECT NULL::void FROM trap.note()/g;

my $databases = 0;

# The same with the types of the extension, which is in that schema by then.
sub replacement
{
	my ($schema) = @_;

	return $replacement =~ s/LAYOUT/$schema.flake_layout/gr =~
	  s/TICKET/$schema._flake_ticket/gr;
}

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
	  . replacement('away'));
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
end_session($mallory, $superuser);

#
# The schema renamed, a function of it replaced, the extension dropped and replaced,
# while the call waits for a lock on the table
#

my %doings = (
	'schema renamed' => 'ALTER SCHEMA ext RENAME TO away; CREATE SCHEMA ext; '
	  . replacement('away'),
	'extension dropped' => 'DROP EXTENSION flakeid CASCADE; '
	  . replacement('ext'),
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
		wait_for_waiters($node, 1, "pid = $pid");
		send_query($mallory, "BEGIN; $doings{$what}; COMMIT");
		wait_until_settled($mallorys_pid);
		value($other, 'COMMIT');

		my (undef, $stderr) = get_answer($superuser);

		is($stderr, '', "$what: $name() does what it was to do");
		get_answer($mallory);
		is(as_superuser($database), 0,
			"$what: $name() executes nothing of hers as superuser");
		end_session($mallory, $superuser, $other);
	}
}

# The same by a transaction that has granted something on the schema, and so has made
# another version of its row: renamed while the call waits, or before.
foreach my $early (0, 1)
{
	foreach my $name (grep { $_ ne 'flake_partitions' } sort keys %calls)
	{
		my $table = $name eq 'flake_migrate' ? 'hers.item' : 'hers.event';
		my @doings = split /(?<=away;)/, $doings{'schema renamed'}, 2;

		$database = new_database();
		($mallory, $superuser) = new_sessions($node, 2, $database);
		my $pid = value($superuser, 'SELECT pg_backend_pid()');
		value($superuser, "SET client_min_messages = warning; SET deadlock_timeout = '20ms'");
		value($mallory,
			'SET client_min_messages = warning; SET SESSION AUTHORIZATION mallory;'
			  . ' BEGIN; GRANT USAGE ON SCHEMA ext TO PUBLIC;'
			  . ($early ? shift @doings : '')
			  . " LOCK TABLE $table");
		send_query($superuser, sprintf $calls{$name}, 'ext');
		wait_for_waiters($node, 1, "pid = $pid");
		send_query($mallory, "@doings; COMMIT");
		get_answer($superuser);
		get_answer($mallory);
		is(as_superuser($database), 0,
			"schema granted and renamed, $early: $name() executes nothing of hers as superuser");
		end_session($mallory, $superuser);
	}
}

# A ticket outlives the subtransaction in which the extension was locked.  Whoever
# comes with one waits for a table, and the extension stays until then.  The table's
# owner is neither the caller nor a superuser, so it is looked at afterwards.
$database = new_database();
$node->safe_psql(
	$database, q{
	CREATE ROLE other;
	CREATE TABLE owned (id int PRIMARY KEY);
	ALTER TABLE owned OWNER TO other;
	GRANT REFERENCES ON owned TO mallory;
});
($mallory, $superuser) = new_sessions($node, 2, $database);
my $dropper = new_session($node, $database);
value($_, 'SET client_min_messages = warning; SET SESSION AUTHORIZATION mallory')
  foreach $mallory, $dropper;
my ($mallorys_pid, $droppers_pid) =
  map { value($_, 'SELECT pg_backend_pid()') } $mallory, $dropper;
value($superuser, 'BEGIN; LOCK TABLE owned IN SHARE MODE');
send_query($mallory, q(DO $$
DECLARE
    ticket ext._flake_ticket;
BEGIN
    BEGIN
        ticket := ext._flake_guard('ext');
        RAISE EXCEPTION 'undone';
    EXCEPTION WHEN raise_exception THEN
        NULL;
    END;
    PERFORM ext._flake_execute_steps(ticket, '{}'::oid[], '{}'::oid[], '{}'::oid[],
        ARRAY[['mallory'::regrole::oid::text, 'public.owned', NULL, NULL]], false);
END $$));
wait_for_waiters($node, 1, "pid = $mallorys_pid");
send_query($dropper, 'DROP EXTENSION flakeid CASCADE');
my $extensions = q(SELECT count(*) FROM pg_extension WHERE extname = 'flakeid');
$node->poll_query_until($database,
	"SELECT $mallorys_pid = ANY (pg_blocking_pids($droppers_pid)) OR ($extensions) = 0"
) or die 'neither waiting nor dropped';
is(value($superuser, $extensions),
	1, 'a ticket that is older than the lock: the extension is not dropped meanwhile');
value($superuser, 'COMMIT');
is((get_answer($mallory))[1],
	'', 'a ticket that is older than the lock: the call is completed');
is((get_answer($dropper))[1], '', 'and then the extension is dropped');
end_session($mallory, $superuser, $dropper);

# No schema is held in which one may do nothing.
$database = new_database();
$mallory = new_session($node, $database);
my $apart = value($mallory, q(CREATE SCHEMA apart; SELECT 'apart'::regnamespace::oid));
value($mallory, 'SET SESSION AUTHORIZATION mallory');
is(code($mallory, "SELECT ext._flake_guard_schemas(ext._flake_guard('ext'), ARRAY[$apart]::oid[])"),
	'42501', 'a schema of somebody else is not locked');
end_session($mallory);

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
	wait_for_waiters($node, 1, "pid = $pid");
	value($mallory,
		'CREATE EXTENSION flakeid SCHEMA ext; COMMIT');
	is(error_code(get_answer($superuser)),
		'42704', "$name() of an extension that was dropped meanwhile");
	end_session($superuser);
}
end_session($mallory);

#
# The extension's script: she renames its schema while it waits for something
#

$database = new_database();
$mallory = new_session($node, $database);
value($mallory,
	'SET client_min_messages = warning; SET SESSION AUTHORIZATION mallory; DROP EXTENSION flakeid CASCADE'
);
{
	my $holder = new_session($node, $database);

	$superuser = new_session($node, $database);

	my $pid = value($superuser, 'SELECT pg_backend_pid()');

	# What is made first waits for her type.
	value($holder, 'SET SESSION AUTHORIZATION mallory; BEGIN; CREATE DOMAIN ext.flake_layout AS text');
	send_query($superuser, 'CREATE EXTENSION flakeid SCHEMA ext');
	wait_for_waiters($node, 1, "pid = $pid");
	# Newer minor versions lock the schema, too, and would wait for that alone.
	is($node->safe_psql($database, q(SELECT nspname FROM pg_namespace WHERE nspname = 'ext' FOR UPDATE SKIP LOCKED)),
		'', "a script that is executed has its schema's row locked");
	is(code($mallory, q(SET lock_timeout = '100ms'; ALTER SCHEMA ext RENAME TO ext_old)),
		'55P03', 'the schema of a script that is executed is not renamed');
	value($holder, 'ROLLBACK');
	is((get_answer($superuser))[1], '', 'and the script goes on');
	end_session($_) foreach ($holder, $superuser);
}
end_session($mallory);

#
# The extension's script: her role and her schema have names that would end a name of it
#

$database = new_database();
{
	my $schema = '"; ALTER ROLE mallory SUPERUSER; SET LOCAL own.y = "';

	$node->safe_psql(
		$database, qq{
		SET client_min_messages = warning;
		CREATE ROLE x;
		CREATE ROLE "x\@extschema\@y" IN ROLE mallory;
		SET SESSION AUTHORIZATION mallory;
		DROP EXTENSION flakeid CASCADE;
		SET SESSION AUTHORIZATION "x\@extschema\@y";
		CREATE SCHEMA $schema;
		CREATE EXTENSION flakeid SCHEMA $schema;
	});
	is( $node->safe_psql(
			$database, qq{
			SELECT rolsuper, has_function_privilege('x', 'FUNCTION', 'EXECUTE'), has_function_privilege('x\@extschema\@y', 'FUNCTION', 'EXECUTE')
			FROM pg_roles WHERE rolname = 'mallory'
		} =~ s/FUNCTION/$schema.flake_release(text, regclass)/gr),
		'f|f|t', 'the role that creates the extension has its rights, and nobody else any');
	$node->safe_psql($database, 'DROP EXTENSION flakeid CASCADE; DROP OWNED BY x, "x@extschema@y"; DROP ROLE x, "x@extschema@y"');
}

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

# A dry run reads definitions, and constants in them could be checked.
$node->safe_psql(
	$database, q{
	SET SESSION AUTHORIZATION mallory;
	CREATE DOMAIN hers.checked AS int CHECK (trap.constant(14));
	CREATE TYPE hers.pair AS (a hers.checked);
	CREATE TABLE hers.constant (id serial CHECK (id > 0 OR '(1)'::hers.pair IS NOT NULL));
	CREATE INDEX ON hers.constant (id) WHERE '{1}'::hers.checked[] IS NOT NULL AND trap.constant(15);
	CREATE VIEW hers.of_constant AS SELECT id FROM hers.constant;
	INSERT INTO hers.constant DEFAULT VALUES;
	DELETE FROM trap.sprung;
});
is( $node->safe_psql(
		$database,
		q(SELECT count(*) FROM ext.flake_migrate('hers.constant', 'id', 5, dry_run => true); SELECT count(*) FROM trap.sprung)
	),
	"6\n0",
	'flake_migrate(), dry run: nothing of hers was executed');

# A constant without a type is read as what a function takes that then fits best: in a view
# of hers on a table that is not hers, in a check, and in a view whose function she replaces
# meanwhile, from an index that is built anew.
$node->safe_psql(
	$database, q{
	CREATE TABLE public.plain (id serial PRIMARY KEY);
	CREATE TABLE public.plain_too (id serial PRIMARY KEY);
	SET SESSION AUTHORIZATION mallory;
	CREATE DOMAIN hers.read AS text CHECK (trap.constant(16));
	CREATE TYPE hers.read_pair AS (a hers.read[], b int);
	CREATE FUNCTION hers.f(record, int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1; END';
	CREATE FUNCTION hers.h(record, numeric) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
	CREATE AGGREGATE hers.counted("any") (SFUNC = int8inc_any, STYPE = int8, INITCOND = '0');
	CREATE VIEW hers.of_plain AS SELECT hers.f(ROW('{1}', 2), id) AS x FROM public.plain;
	CREATE TABLE hers.by_check (id serial, CHECK (hers.f(ROW('{1}', 2), id) > 0));
	CREATE TABLE hers.aggregated (id serial);
	CREATE VIEW hers.of_aggregated AS SELECT id, (SELECT hers.counted('{1}')) FROM hers.aggregated;
	CREATE TABLE hers.swapped (id serial, n int);
	CREATE VIEW hers.of_swapped AS SELECT hers.h(ROW('{1}', 2), id) AS x FROM hers.swapped;
	CREATE FUNCTION hers.f(hers.read_pair, bigint) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN RETURN 1; END';
	CREATE AGGREGATE hers.counted(hers.read[]) (SFUNC = int8inc_any, STYPE = int8, INITCOND = '0');
	CREATE FUNCTION hers.swap_now() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		IF session_user <> current_user AND to_regclass('hers.of_swapped') IS NULL AND to_regprocedure('hers.g(record, numeric)') IS NULL THEN
			ALTER FUNCTION hers.h(record, numeric) RENAME TO g;
			CREATE FUNCTION hers.h(hers.read_pair, numeric) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
		END IF;
		IF session_user <> current_user AND to_regclass('hers.of_retyped') IS NULL THEN
			ALTER TABLE hers.other ALTER x TYPE hers.read[] USING NULL;
		END IF;
	END $$;
	CREATE FUNCTION hers.swap(anyelement) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$
	BEGIN
		PERFORM hers.swap_now();
		RETURN 1;
	END $$;
	CREATE INDEX ON hers.swapped (hers.swap(n));
	INSERT INTO hers.swapped (n) VALUES (1);

	-- So is a constant that is a row of a view, which has other columns by then.
	CREATE TABLE hers.other (x text);
	CREATE TABLE hers.of_type (x hers.read);
	CREATE VIEW hers.with_type AS SELECT p.id, o.x FROM public.plain_too p, hers.of_type o;
	CREATE VIEW hers.of_with_type AS SELECT '(1,foo)'::hers.with_type AS r;
	CREATE TABLE hers.retyped (id serial, n int);
	CREATE INDEX ON hers.retyped (hers.swap(n));
	INSERT INTO hers.retyped (n) VALUES (1);
	CREATE VIEW hers.of_retyped AS SELECT t.id, o.x FROM hers.retyped t, hers.other o;
	CREATE VIEW hers.of_of_retyped AS SELECT '{"(1,{foo})"}'::hers.of_retyped[] AS r;
	RESET SESSION AUTHORIZATION;
	SELECT setval('trap.superusers', 1, false);
});
foreach my $case (
	[ 'public.plain', qr/View hers\.of_plain has a constant without a type in it, and role "mallory" could put another in the place of function hers\.f\(record,integer\)/ ],
	[ 'hers.by_check', qr/A name in its definition would come to mean something else/ ],
	[ 'hers.aggregated', qr/View hers\.of_aggregated has a constant without a type in it/ ],
	[ 'hers.swapped', qr/View hers\.of_swapped has a constant without a type in it/ ],
	[ 'public.plain_too', qr/View hers\.of_with_type has a constant in it that is a row of a view/ ],
	[ 'hers.retyped', qr/View hers\.of_of_retyped has a constant in it that is a row of a view/ ])
{
	my ($table, $refused) = @$case;

	foreach my $dry_run ('true', 'false')
	{
		my ($status, $out, $err) = $node->psql($database, "\\set VERBOSITY verbose\nSELECT FROM ext.flake_migrate('$table', 'id', 5, dry_run => $dry_run)");

		like($err, qr/ERROR:  0A000.*$refused/s, "flake_migrate(), a constant without a type, or of a view: $table, dry run $dry_run");
	}
}
$node->safe_psql($database, q(SET client_min_messages = error; CALL ext.flake_migrate_all('{hers,public}', 5, dry_run => true)));
is($node->safe_psql($database, 'SELECT is_called FROM trap.superusers'), 'f', 'flake_migrate(), a constant without a type, or of a view: no superuser has read it');

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
		is( code(
				$session,
				"SELECT ext.flake_migrate('hers.constant', 'id', 5)"),
			'55000',
			"$doing: flake_migrate(): refused");
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

# Nor is it when a query is parsed, and no more: where a constant is selected, or marks
# rows that come again.
$node->safe_psql($database,
	'SET SESSION AUTHORIZATION mallory; CREATE TYPE hers.pair AS (a hers.checked)');
foreach my $query (
	q(SELECT hers.pair '(1)'),
	q(WITH RECURSIVE r (n) AS (SELECT 1 UNION ALL SELECT n FROM r))
	. q( CYCLE n SET mark TO hers.pair '(1)' DEFAULT hers.pair '(2)' USING path TABLE r))
{
	value($superuser,
		"SELECT ext._flake_rebind(ext._flake_guard('ext'), \$\$$query\$\$, '{}', '{}', '{}')"
	);
	is(as_superuser($database), 0, "no check of hers is executed to parse $query");
}

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
		'ALTER DOMAIN hers.later ADD CHECK (trap.note())'
	],
	[
		'a domain in place of a type',
		q(CREATE TYPE hers.mood AS ENUM ('glad')),
		q('glad'::hers.mood),
		q{IF pg_catalog.to_regtype('hers.gone') IS NULL THEN
			ALTER TYPE hers.mood RENAME TO gone; CREATE DOMAIN hers.mood AS text CHECK (trap.note());
		END IF}
	])
{
	my ($what, $types, $constant, $doing) = @$case;

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
		'0A000', "$what, made meanwhile, is refused");
	is(as_superuser($database), 0, 'and its check is not executed');
	end_session($superuser);
}

#
# Foreign keys between tables of two owners: PostgreSQL evaluates what is constant
# in the expressions of one as the owner of the other.  A row is what makes it a
# trap, and what is to be dropped for it to work.
#

$database = new_database();
$node->safe_psql(
	$database, q{
	CREATE ROLE alice;
	CREATE SCHEMA boss;
	GRANT USAGE ON SCHEMA boss TO mallory;
});

my %traps_of = (
	'an index' =>
	  [ 'CREATE INDEX x ON hers.N ((trap.constant(1) AND a > 0))', 'INDEX x' ],
	'a predicate' =>
	  [ 'CREATE INDEX x ON hers.N (a) WHERE trap.constant(1)', 'INDEX x' ],
	'statistics' => [
		'CREATE STATISTICS hers.x ON (trap.constant(1) AND a > 0) FROM hers.N',
		'STATISTICS x'
	],
	'an operator' => [
		'CREATE OPERATOR hers.### (LEFTARG = boolean, RIGHTARG = int, FUNCTION = trap.binary);'
		  . ' CREATE INDEX x ON hers.N ((true OPERATOR(hers.###) 1))',
		'INDEX x'
	],
	'a check' => [
		'ALTER TABLE hers.N ADD CONSTRAINT x CHECK (trap.constant(1) AND a > 0)',
		undef
	],
	'what is not a trap' => [
		q(CREATE INDEX ON hers.N ((abs(a) + 1)) WHERE a > 0; CREATE STATISTICS hers.s_N ON (a % 2), (a % 3) FROM hers.N; ALTER TABLE hers.N ADD CHECK (a > 0)),
		undef
	]);

$node->safe_psql($database,
	q{SET SESSION AUTHORIZATION mallory; CREATE FUNCTION trap.binary(boolean, int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN trap.note(); END'}
);

# A session in which nothing was planned yet: what it executes, and the error.
sub in_new_session
{
	my ($sql) = @_;
	my (undef, $stderr) =
	  ask_once($node, "SET client_min_messages = warning; $sql", $database);

	return $stderr;
}

my $tables = 0;
foreach my $what (sort keys %traps_of)
{
	my ($trap, $object) = @{ $traps_of{$what} };

	# Hers is referred to, refers to the superuser's, and so do partitioned ones.
	foreach my $case ('to hers', 'to his', 'to hers, partitioned',
		'to his, partitioned')
	{
		my $n = ++$tables;
		my ($hers, $his) = ("hers.t$n", "boss.t$n");
		my $partition =
		  $case !~ /part/
		  ? ''
		  : ' PARTITION BY LIST (' . ($case =~ /hers/ ? 'id' : 'a') . ')';
		my $key       = $case =~ /part/ ? 'int'                     : 'serial';
		my $trapped   = $case =~ /part/ ? "p$n"                     : "t$n";
		my $migrate   = "SELECT ext.flake_migrate('$his', 'id', 5)";
		my $is_trap   = $what ne 'what is not a trap';

		$node->safe_psql(
			$database,
			"SET client_min_messages = warning; "
			  . ($case =~ /hers/
				? "CREATE TABLE $hers (id int PRIMARY KEY, a int)$partition; ALTER TABLE $hers OWNER TO mallory; CREATE TABLE $his (id int REFERENCES $hers)"
				: "CREATE TABLE $his (id $key PRIMARY KEY); GRANT REFERENCES ON $his TO mallory; SET SESSION AUTHORIZATION mallory; CREATE TABLE $hers (id int REFERENCES $his, a int)$partition"
			  )
			  . "; RESET SESSION AUTHORIZATION; SET SESSION AUTHORIZATION mallory; "
			  . ($partition
				? "CREATE TABLE hers.p$n PARTITION OF $hers DEFAULT; "
				: '')
			  . $trap =~ s/hers\.N/hers.$trapped/gr =~ s/s_N/s_$n/r);
		if ($is_trap)
		{
			my $said = in_new_session($migrate);

			like(
				$said,
				qr/ERROR:  0A000: cannot make a foreign key between tables \Q$his\E and \Q$hers\E$/m,
				"$what, $case: refused");
			like(
				$said,
				qr/^DETAIL:  PostgreSQL would evaluate .* of role "mallory" as role "\w+"\.$/m,
				"$what, $case: and said why");
			like(
				in_new_session(
					$migrate =~ s/5\)/5, dry_run => true)/r),
				qr/0A000/,
				"$what, $case: so does a dry run");
		}
		$node->safe_psql($database, "DROP $object" =~ s/ x/ hers.x/r)
		  if defined $object;
		$node->safe_psql($database, "ALTER TABLE hers.$trapped DROP CONSTRAINT x")
		  if $what eq 'a check';
		$node->safe_psql($database, 'DROP OPERATOR hers.### (boolean, int)')
		  if $what eq 'an operator';
		is(in_new_session($migrate), '', "$what, $case: without it, it is done");
	}
}
is(as_superuser($database), 0, 'foreign keys: nothing of hers was executed as superuser');

# The partition key, and a type of hers that has a cast.
$node->safe_psql(
	$database, q{
	SET client_min_messages = warning;
	CREATE TABLE boss.keyed (id serial PRIMARY KEY);
	CREATE TABLE boss.typed (id serial PRIMARY KEY);
	GRANT REFERENCES ON boss.keyed, boss.typed TO mallory;
	INSERT INTO boss.typed VALUES (1);
	SET SESSION AUTHORIZATION mallory;
	CREATE TABLE hers.keyed (id int REFERENCES boss.keyed, a int) PARTITION BY LIST ((trap.constant(1) AND a > 0));
	CREATE TABLE hers.keyed_true PARTITION OF hers.keyed DEFAULT;
	CREATE TYPE hers.number AS (n int);
	CREATE FUNCTION hers.to_int(hers.number) RETURNS int LANGUAGE plpgsql AS 'BEGIN PERFORM trap.note(); RETURN $1.n; END';
	CREATE FUNCTION hers.to_bigint(hers.number) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN PERFORM trap.note(); RETURN $1.n; END';
	CREATE CAST (hers.number AS int) WITH FUNCTION hers.to_int AS IMPLICIT;
	CREATE CAST (hers.number AS bigint) WITH FUNCTION hers.to_bigint AS IMPLICIT;
	CREATE TABLE hers.typed (id hers.number REFERENCES boss.typed);
	RESET SESSION AUTHORIZATION;
	GRANT USAGE ON SCHEMA hers TO PUBLIC;
});
like(in_new_session("SELECT ext.flake_migrate('boss.keyed', 'id', 5)"),
	qr/ERROR:  0A000:.*\n.*^DETAIL:  PostgreSQL would evaluate table hers\.keyed of role "mallory"/m,
	'a partition key: refused');
like(in_new_session("SELECT ext.flake_migrate('boss.typed', 'id', 5)"),
	qr/ERROR:  0A000:.*\n.*^DETAIL:  PostgreSQL would evaluate column id of table hers\.typed of role "mallory"/m,
	'a type that has a cast: refused');

# What inherits from the superuser's table, or is a partition of it.
$node->safe_psql(
	$database, q{
	SET client_min_messages = warning;
	CREATE TABLE boss.parent (id serial, a int);
	CREATE TABLE hers.heir (CHECK (trap.constant(1) AND a > 0)) INHERITS (boss.parent);
	CREATE TABLE boss.whole (id int, a int) PARTITION BY LIST (a);
	CREATE TABLE hers.of_whole PARTITION OF boss.whole (CHECK (trap.constant(1) AND a > 0)) DEFAULT;
	ALTER TABLE hers.heir OWNER TO mallory;
	ALTER TABLE hers.of_whole OWNER TO mallory;
	INSERT INTO hers.heir VALUES (1, 1);
	SELECT setval('trap.superusers', 1, false);
});
foreach my $table ('parent', 'whole')
{
	like(
		in_new_session("SELECT ext.flake_migrate('boss.$table', 'id', 5)"),
		qr/ERROR:  0A000: cannot migrate "$table"$/m,
		"$table: refused because of what inherits from it");
}
is(as_superuser($database), 0, 'nothing of hers was executed as superuser');
$node->safe_psql($database,
	"ALTER TABLE hers.heir OWNER TO CURRENT_USER; SELECT ext.flake_migrate('boss.parent', 'id', 5)");

# There is no trap beforehand, but she sets one while something of hers is executed.
$node->safe_psql(
	$database, q{
	SET client_min_messages = warning;
	SET SESSION AUTHORIZATION mallory;
	CREATE TABLE hers.armed (a int);
	CREATE FUNCTION hers.strike() RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		DELETE FROM hers.armed;
		IF FOUND THEN
			CREATE STATISTICS hers.late ON (trap.constant(1) AND a > 0) FROM hers.other;
		END IF;
		RETURN true;
	END
	$$;
	CREATE FUNCTION hers.constant() RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS 'BEGIN RETURN hers.strike(); END';
	CREATE TABLE hers.struck (id serial PRIMARY KEY);
	CREATE TABLE hers.striker (id int REFERENCES hers.struck, a int);
	CREATE INDEX ON hers.striker ((hers.constant() AND a > 0));
	CREATE TABLE hers.other (id int PRIMARY KEY, a int);
	INSERT INTO hers.armed VALUES (1);
	RESET SESSION AUTHORIZATION;
	CREATE TABLE boss.of_both (id int REFERENCES hers.struck REFERENCES hers.other);
	SELECT setval('trap.superusers', 1, false);
});
like(
	in_new_session("SELECT ext.flake_migrate('hers.struck', 'id', 5)"),
	qr/ERROR:  55000: relation "other" was changed meanwhile$/m,
	'a trap that is set meanwhile: refused');
is(as_superuser($database), 0, 'and not executed as superuser');
is( in_new_session(
		"DELETE FROM hers.armed; SELECT ext.flake_migrate('hers.struck', 'id', 5)"
	),
	'',
	'without it, it is done');

# Who is trusted: a role that can become the one that would execute it.
$node->safe_psql(
	$database, q{
	SET client_min_messages = warning;
	CREATE ROLE team;
	GRANT team TO alice;
	GRANT ALL ON SCHEMA boss TO team, alice;
	GRANT USAGE ON SCHEMA ext, hers, trap TO team, alice;
	GRANT USAGE ON SEQUENCE ext.flake_default TO team, alice;
	CREATE TABLE boss.of_team (id serial PRIMARY KEY);
	CREATE TABLE boss.of_alice (id int REFERENCES boss.of_team, a int);
	CREATE INDEX ON boss.of_alice ((trap.constant(1) AND a > 0));
	ALTER TABLE boss.of_team OWNER TO team;
	ALTER TABLE boss.of_alice OWNER TO alice;
});
is(in_new_session("SELECT ext.flake_migrate('boss.of_team', 'id', 5)"),
	'', 'a role that may become the other is trusted');

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
	CREATE SCHEMA tmpl;
	CREATE TABLE tmpl.item (id bigint DEFAULT ext.flake_id(0));
	DELETE FROM trap.sprung;
});
$superuser = new_session($node, $database);
value($superuser, 'SET client_min_messages = warning');
value(
	$superuser, q{
	SET SESSION AUTHORIZATION mallory;
	SET search_path = types, pg_catalog;
	SELECT count(pg_catalog.plpgsql_validator(oid)) FROM pg_catalog.pg_proc
	WHERE pronamespace = 'ext'::pg_catalog.regnamespace
	  AND prolang = (SELECT oid FROM pg_catalog.pg_language WHERE lanname = 'plpgsql');
	RESET search_path;
	RESET SESSION AUTHORIZATION;
});
foreach my $name (sort keys %calls)
{
	unlike((ask($superuser, sprintf $calls{$name}, 'ext'))[1],
		qr/ERROR/, "types of hers: $name() works");
}
is(value($superuser, q(SELECT ext.flake_create_shard(5, 'tmpl'))),
	'tmpl_5', 'types of hers: flake_create_shard() works');
is(as_superuser($database), 0, 'types of hers: are not used');
end_session($superuser);

$node->stop;
done_testing();
