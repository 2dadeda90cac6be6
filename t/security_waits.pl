# Copyright (c) 2026, the flakeid developers

# While a call waits for what mallory keeps, others mint, and use their tables: it holds
# no lock that they need.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $node = start_server(
	'main',
	conf => 'log_statement = none',
	sql => q(
CREATE EXTENSION flakeid;
CREATE ROLE alice;
CREATE ROLE mallory;
CREATE SCHEMA hers AUTHORIZATION mallory;
SELECT flake_create_generator('app_id'), flake_create_generator('own_id');
GRANT USAGE, SELECT ON SEQUENCE app_id TO alice, mallory));
my ($superuser, $hers, $hers_too, $alice, $other) = new_sessions($node, 5);

value($_, 'SET SESSION AUTHORIZATION mallory; SET client_min_messages = error') foreach $hers, $hers_too;
value($alice, q(SET SESSION AUTHORIZATION alice; SET lock_timeout = '3s'));

# A schema of alice's, in which mallory may read.
sub new_schema
{
	my ($schema, $sql) = @_;

	value($superuser,
		    "CREATE SCHEMA $schema AUTHORIZATION alice; GRANT USAGE ON SCHEMA $schema TO mallory; "
		  . "SET ROLE alice; SET search_path = $schema, public; SET client_min_messages = warning; $sql; "
		  . 'RESET ROLE; RESET search_path; RESET client_min_messages');
	return;
}

# Statements of alice's, none of which waits.
sub alice_goes_on
{
	my ($what, @statements) = @_;

	like(code($alice, $_), qr/^none/, "$what: $_") foreach @statements;
	return;
}

# The call goes on, and ends well.
sub ends_well
{
	my ($what, $expected) = @_;
	my ($out, $err) = get_answer($superuser);

	unlike($err, qr/ERROR|WARNING/, "$what: then it goes on");
	like($out . $err, $expected, "$what: to the end") if defined $expected;
	return;
}

# She begins a transaction that keeps something; a call of the superuser's waits for it.
sub waits_for_hers
{
	my ($what, $keeps, $call, @statements) = @_;

	value($hers, "BEGIN; $keeps");
	send_query($superuser, $call);
	wait_for_waiters($node, 1);
	alice_goes_on($what, @statements);
	value($hers, 'ROLLBACK');
	ends_well($what);
	return;
}

sub locks_of_others
{
	my ($relation) = @_;

	return value($other, "SELECT count(*) FROM pg_locks WHERE relation = '$relation'::regclass AND granted");
}

#
# flake_rewind()
#

value($hers, q(CREATE TABLE hers.t (id bigint PRIMARY KEY DEFAULT flake_id(5, 'app_id')); CREATE TABLE hers.child () INHERITS (hers.t)));
my @rewind = (
	q(SELECT flake_rewind('app_id', flake_upper(clock_timestamp() + interval '1 s', flake_layout_of('app_id')))),
	q(SELECT flake_id(6, 'app_id')));

sub raise_horizon
{
	value($superuser, q(SELECT flake_advance('app_id', flake_upper(clock_timestamp() + interval '10 s', flake_layout_of('app_id'))), flake_id(7, 'app_id')));
	return;
}

raise_horizon();
waits_for_hers('flake_rewind(), her table', 'LOCK TABLE hers.t', @rewind);
raise_horizon();
waits_for_hers('flake_rewind(), a table that inherits from it', 'LOCK TABLE ONLY hers.child', @rewind);
raise_horizon();
value($hers, 'BEGIN; REINDEX TABLE hers.t');
value($superuser, q(SET statement_timeout = '10s'));
like(code($superuser, $rewind[0]), qr/^none/, 'flake_rewind() waits for no index of hers');
value($superuser, 'RESET statement_timeout');
value($hers, 'ROLLBACK; DROP TABLE hers.t CASCADE');

# She locks many tables, and gives up one after the other, the oldest first, when the call
# has the generator.
value($hers, q(
DO $$BEGIN
	FOR n IN 1..120 LOOP
		EXECUTE format('CREATE TABLE hers.many%s (id bigint DEFAULT flake_id(5, ''app_id''))', n);
	END LOOP;
END$$;
CREATE FUNCTION hers.give_up(n int) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	WHILE n = 0 AND NOT EXISTS (SELECT FROM pg_locks WHERE relation = 'app_id'::regclass AND mode = 'AccessExclusiveLock' AND granted) LOOP
		PERFORM pg_sleep(0.001);
	END LOOP;
	IF n > 0 THEN
		EXECUTE format('LOCK TABLE hers.many%s', n);
		PERFORM hers.give_up(n - 1);
	END IF;
	RAISE SQLSTATE 'HH000';
EXCEPTION WHEN SQLSTATE 'HH000' THEN
	IF n > 0 THEN
		PERFORM pg_sleep(0.002);
	END IF;
	IF n < 120 THEN
		RAISE SQLSTATE 'HH000';
	END IF;
END$$));
raise_horizon();
value($other, q(BEGIN; SELECT flake_id(8, 'app_id')));
send_query($superuser, $rewind[0]);
# It tries for a moment before it waits.
wait_for_waiters($node, 1, q(waitstart < clock_timestamp() - interval '100 ms'));
send_query($alice, q(SELECT flake_id(6, 'app_id') IS NOT NULL, extract(epoch FROM clock_timestamp())));
wait_for_waiters($node, 2);
send_query($hers, q(SELECT extract(epoch FROM clock_timestamp()) FROM hers.give_up(120)));
wait_until(sub { value($other, q(SELECT count(*) FROM pg_locks WHERE relation::regclass::text LIKE 'hers.many%' AND mode = 'AccessExclusiveLock')) == 120 },
	'she has locked 120 tables');
value($other, 'COMMIT');
my ($given_up) = get_answer($hers);
my ($minted) = get_answer($alice);
like($minted, qr/^t\|/, 'flake_rewind(), many tables of hers: an id');
cmp_ok(($minted =~ /\|([\d.]+)/)[0], '<', $given_up, 'flake_rewind(), many tables of hers: before she has given up the last');
ends_well('flake_rewind(), many tables of hers');
value($hers, 'DROP FUNCTION hers.give_up; DO $$BEGIN FOR n IN 1..120 LOOP EXECUTE format(\'DROP TABLE hers.many%s\', n); END LOOP; END$$');

#
# flake_migrate(), flake_migrate_all(): what a view of hers names
#

value($hers, 'CREATE TABLE hers.x (n int); CREATE TYPE hers.pair AS (a int, b int);'
	  . 'CREATE FUNCTION hers.pair() RETURNS hers.pair LANGUAGE sql AS $$SELECT 1, 2$$');
foreach my $case (
	[ 'x', ', hers.x', 'LOCK TABLE hers.x' ],
	[ 'update', ', hers.x FOR UPDATE', 'LOCK TABLE hers.x IN EXCLUSIVE MODE' ],
	[ 'type', ', hers.pair() AS p', 'ALTER TYPE hers.pair ADD ATTRIBUTE c int' ])
{
	my ($name, $from, $keeps) = @$case;

	new_schema("named_$name", 'CREATE TABLE a (id serial PRIMARY KEY); GRANT SELECT, UPDATE ON a TO mallory');
	value($hers, "CREATE VIEW hers.v_$name AS SELECT a.id FROM named_$name.a$from");
	waits_for_hers("flake_migrate(), what her view names ($name)",
		$keeps, "SELECT count(*) FROM flake_migrate('named_$name.a', 'id', 5)",
		"INSERT INTO named_$name.a DEFAULT VALUES", "SELECT FROM named_$name.a");
}

# She has to wait until flake_migrate_all() has planned, and waits for alice's table.
sub after_planning
{
	my ($schema, $when_planned) = @_;

	value($other, "BEGIN; LOCK TABLE $schema.a IN ROW EXCLUSIVE MODE");
	send_query($superuser, "CALL flake_migrate_all(ARRAY['$schema'], 5)");
	wait_for_waiters($node, 1, "relation = '$schema.a'::regclass AND mode = 'AccessExclusiveLock'");
	$when_planned->();
	value($other, 'COMMIT');
	return;
}

new_schema('named_all', 'CREATE TABLE a (id serial PRIMARY KEY); GRANT SELECT ON a TO mallory');
value($hers, 'CREATE VIEW hers.v_all AS SELECT a.id FROM named_all.a, hers.x');
after_planning('named_all', sub { value($hers, 'BEGIN; LOCK TABLE hers.x') });
wait_for_waiters($node, 1, q(relation = 'hers.x'::regclass));
alice_goes_on('flake_migrate_all(), what her view names', 'INSERT INTO named_all.a DEFAULT VALUES', 'SELECT FROM named_all.a');
value($hers, 'ROLLBACK');
ends_well('flake_migrate_all(), what her view names', qr/columns migrated: 1/);

#
# A view that she makes while the call waits
#

foreach my $call (
	[ 'flake_migrate()', "SELECT count(*) FROM flake_migrate('late_one.a', 'id', 5)", 'late_one' ],
	[ 'flake_migrate_all()', "CALL flake_migrate_all(ARRAY['late_all'], 5)", 'late_all' ])
{
	my ($what, $sql, $schema) = @$call;

	new_schema($schema, 'CREATE TABLE a (id serial PRIMARY KEY); GRANT SELECT ON a TO mallory');
	value($hers, "CREATE VIEW hers.first_$schema AS SELECT id FROM $schema.a; BEGIN; COMMENT ON VIEW hers.first_$schema IS 'kept'");
	send_query($superuser, $sql);
	wait_for_waiters($node, 1, "relation = 'hers.first_$schema'::regclass AND mode = 'AccessExclusiveLock'");
	# It tries the view for a moment while it has the table.
	wait_until(sub { (ask($hers_too, "CREATE OR REPLACE VIEW hers.second_$schema AS SELECT id FROM $schema.a"))[1] eq '' }, 'she has another view');
	value($hers_too, "BEGIN; COMMENT ON VIEW hers.second_$schema IS 'kept, too'");
	value($hers, 'COMMIT');
	wait_for_waiters($node, 1, "relation = 'hers.second_$schema'::regclass");
	alice_goes_on("$what, a view that she makes meanwhile", "INSERT INTO $schema.a DEFAULT VALUES", "SELECT FROM $schema.a");
	value($hers_too, 'COMMIT');
	ends_well("$what, a view that she makes meanwhile");
}

#
# The schema of her view, which she renames
#

new_schema('renamed', 'CREATE TABLE a (id serial PRIMARY KEY); GRANT SELECT ON a TO mallory');
value($superuser, 'CREATE SCHEMA renamed_view AUTHORIZATION mallory; GRANT CREATE ON DATABASE postgres TO mallory');
value($hers, 'CREATE VIEW renamed_view.v AS SELECT id FROM renamed.a');
after_planning(
	'renamed',
	sub {
		send_query($hers, 'BEGIN; ALTER SCHEMA renamed_view RENAME TO renamed_now');
		# Either it is renamed, or that waits.
		$node->poll_query_until('postgres',
			q(SELECT count(*) = 1 FROM pg_stat_activity WHERE query ~ 'RENAME' AND pid <> pg_backend_pid() AND (state = 'idle in transaction' OR wait_event_type = 'Lock')));
	});
alice_goes_on('flake_migrate_all(), a schema that she renames', 'INSERT INTO renamed.a DEFAULT VALUES', 'SELECT FROM renamed.a');
get_answer($hers);
value($hers, 'ROLLBACK');
ends_well('flake_migrate_all(), a schema that she renames', qr/columns migrated: 1/);

# She goes on to drop it, in the transaction in which she has renamed it.  The lock of the
# schema that ALTER SCHEMA takes in newer versions of PostgreSQL it does not take in older
# ones: as there, UPDATE locks the row alone.
value($hers_too, 'RESET SESSION AUTHORIZATION');
foreach my $case (
	[ 'dropped_one', $hers, 'ALTER SCHEMA dropped_one_view RENAME TO dropped_one_now', q(SELECT count(*) FROM flake_migrate('dropped_one.a', 'id', 5)) ],
	[ 'dropped_all', $hers, 'ALTER SCHEMA dropped_all_view RENAME TO dropped_all_now', q(CALL flake_migrate_all(ARRAY['dropped_all'], 5)) ],
	[ 'updated_one', $hers_too, q(UPDATE pg_namespace SET nspname = 'updated_one_now' WHERE nspname = 'updated_one_view'), q(SELECT count(*) FROM flake_migrate('updated_one.a', 'id', 5)) ],
	[ 'updated_all', $hers_too, q(UPDATE pg_namespace SET nspname = 'updated_all_now' WHERE nspname = 'updated_all_view'), q(CALL flake_migrate_all(ARRAY['updated_all'], 5)) ],
	[ 'granted_one', $hers_too, q(GRANT USAGE ON SCHEMA granted_one_view TO alice; UPDATE pg_namespace SET nspname = 'granted_one_now' WHERE nspname = 'granted_one_view'),
		q(SELECT count(*) FROM flake_migrate('granted_one.a', 'id', 5)) ])
{
	my ($schema, $she, $rename, $call) = @$case;
	my $what = "$schema, a schema that she drops";

	new_schema($schema, 'CREATE TABLE a (id serial PRIMARY KEY); GRANT SELECT ON a TO mallory');
	value($superuser, "CREATE SCHEMA ${schema}_view AUTHORIZATION mallory");
	value($hers, "CREATE VIEW ${schema}_view.v AS SELECT id FROM $schema.a");
	value($she, "BEGIN; $rename");
	send_query($superuser, $call);
	wait_for_waiters($node, 1);
	alice_goes_on($what, "INSERT INTO $schema.a DEFAULT VALUES", "SELECT FROM $schema.a");
	like(code($other, "SET lock_timeout = '3s'; BEGIN; ALTER SCHEMA $schema RENAME TO other_name; ROLLBACK; RESET lock_timeout"),
		qr/^none/, "$what: another can be renamed meanwhile")
	  if $call !~ /CALL/;
	is(code($she, "SET client_min_messages = error; DROP SCHEMA ${schema}_now CASCADE") =~ s/,.*//sr, 'none', "$what: she waits for nobody");
	value($she, 'COMMIT');
	ends_well($what, $call =~ /CALL/ ? qr/columns migrated: 1/ : qr/^\d/);
}
value($hers_too, 'SET SESSION AUTHORIZATION mallory');

#
# A partition that she may read
#

my $partitions = 'PARTITION BY LIST (k); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); CREATE TABLE p2 PARTITION OF p FOR VALUES IN (2);'
  . 'GRANT SELECT ON p1 TO mallory';

foreach my $call (
	[ 'flake_migrate()', 'part_one', "SELECT count(*) FROM flake_migrate('part_one.p', 'id', 5)" ],
	[ 'flake_migrate_all()', 'part_all', "CALL flake_migrate_all(ARRAY['part_all'], 5)" ])
{
	my ($what, $schema, $sql) = @$call;

	new_schema($schema, "CREATE TABLE p (id serial, k int) $partitions");
	waits_for_hers("$what, a partition", "TABLE $schema.p1", $sql, "INSERT INTO $schema.p (k) VALUES (2)", "SELECT FROM $schema.p2");
}
new_schema('part_new', "CREATE TABLE p (id bigint DEFAULT flake_id(41, 'app_id'), k int) $partitions");
waits_for_hers('flake_renumber(), a partition', 'TABLE part_new.p1', q(SELECT count(*) FROM flake_renumber('{41}', '{42}', 'app_id')),
	'INSERT INTO part_new.p (k) VALUES (2)', q(SELECT flake_id(41, 'app_id')));

# While it waits, nobody waits behind it for the generator, either.
new_schema('part_again', "CREATE TABLE p (id bigint DEFAULT flake_id(43, 'own_id'), k int) $partitions");
value($hers, 'BEGIN; TABLE part_again.p1');
send_query($superuser, q(SELECT count(*) FROM flake_renumber('{43}', '{44}', 'own_id')));
wait_for_waiters($node, 1);
is(locks_of_others('own_id'), 0, 'flake_renumber() keeps no lock on the generator meanwhile');
value($hers, 'ROLLBACK');
ends_well('flake_renumber(), its generator');

#
# A table that refers to another one of the group
#

new_schema('joined', 'GRANT CREATE ON SCHEMA joined TO mallory; CREATE TABLE a (id serial PRIMARY KEY, code text UNIQUE); GRANT REFERENCES ON a TO mallory');
value($hers, 'CREATE TABLE joined.m (id serial PRIMARY KEY, code text REFERENCES joined.a (code))');
value($hers, 'BEGIN; LOCK TABLE joined.m');
send_query($superuser, q(CALL flake_migrate_all(ARRAY['joined'], 5, 'app_id')));
wait_for_waiters($node, 1, q(relation = 'joined.m'::regclass));
is(locks_of_others('app_id'), 0, 'flake_migrate_all() keeps no lock on the generator while it plans');
value($hers, 'ROLLBACK');
ends_well('planning', qr/columns migrated: 2/);

#
# A table of hers that alice's refers to
#

value($hers, 'CREATE TABLE hers.target (id int PRIMARY KEY); GRANT USAGE ON SCHEMA hers TO alice; GRANT REFERENCES ON hers.target TO alice');
new_schema('referring', 'CREATE TABLE a (id serial PRIMARY KEY REFERENCES hers.target)');
value($hers, 'BEGIN; LOCK TABLE hers.target IN ROW EXCLUSIVE MODE');
value($other, q(SET SESSION AUTHORIZATION alice));
send_query($other, q(SELECT count(*) FROM flake_migrate('referring.a', 'id', 5)));
wait_for_waiters($node, 1, q(relation = 'hers.target'::regclass));
alice_goes_on('flake_migrate(), a table that is referred to', 'SELECT FROM referring.a', 'BEGIN; LOCK TABLE referring.a; COMMIT');
value($hers, 'COMMIT');
unlike((get_answer($other))[1], qr/ERROR/, 'flake_migrate(), a table that is referred to: then it goes on');

#
# flake_create_shard(): tables that a template refers to
#

new_schema('template', 'CREATE TABLE country (id int PRIMARY KEY)');
new_schema('parts', q(CREATE TABLE a (id bigint DEFAULT flake_id(5), c int REFERENCES template.country)));
value($hers, 'CREATE TABLE hers.m (id int PRIMARY KEY); GRANT REFERENCES ON hers.m TO alice');
value($superuser, 'ALTER TABLE parts.a ADD m int REFERENCES hers.m');
waits_for_hers('flake_create_shard(), a table that is referred to', 'LOCK TABLE hers.m IN ROW EXCLUSIVE MODE',
	q(SELECT flake_create_shard(6, 'parts')), 'INSERT INTO template.country VALUES (1)', 'BEGIN; LOCK TABLE template.country; COMMIT');
waits_for_hers('flake_create_shard(), a table that is locked', 'LOCK TABLE hers.m',
	q(SELECT flake_create_shard(7, 'parts')), 'BEGIN; LOCK TABLE parts.a; COMMIT');

# Composite types of hers, of columns and of what columns are made of
value($hers, 'CREATE TYPE hers.comp AS (a int); CREATE TYPE hers.comp_range AS RANGE (SUBTYPE = hers.comp);'
	  . 'CREATE TYPE hers.inner AS (a int); CREATE DOMAIN hers.inners AS hers.inner[]; CREATE TYPE hers.outer AS (i hers.inners);'
	  . 'CREATE TYPE hers.named AS (a int); CREATE FUNCTION hers.named() RETURNS hers.named IMMUTABLE LANGUAGE sql AS $$SELECT 1$$');
foreach my $case (
	[ 'comp', 'hers.comp' ],
	[ 'comp', 'hers.comp[]' ],
	[ 'comp', 'hers.comp_range' ],
	[ 'inner', 'hers.outer' ],
	[ 'named', 'int DEFAULT (hers.named()).a' ])
{
	my ($keeps, $column) = @$case;

	new_schema('of_hers', "CREATE TABLE a (id bigint DEFAULT flake_id(5), c int REFERENCES template.country); CREATE TABLE b (id bigint, x $column)");
	waits_for_hers("flake_create_shard(), a column $column", "ALTER TYPE hers.$keeps ADD ATTRIBUTE b int",
		q(SELECT flake_create_shard(8, 'of_hers')), 'INSERT INTO template.country SELECT max(id) + 1 FROM template.country', 'BEGIN; LOCK TABLE template.country; COMMIT');
	value($superuser, 'SET client_min_messages = error; DROP SCHEMA of_hers, of_hers_8 CASCADE; RESET client_min_messages');
}

# Code of hers in the template that does not end
new_schema('endless', 'GRANT CREATE ON SCHEMA endless TO mallory; CREATE TABLE a (id bigint DEFAULT flake_id(5), c int REFERENCES template.country)');
value($hers, q(CREATE FUNCTION hers.locked(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM pg_advisory_xact_lock(78); RETURN n; END';
CREATE TABLE endless.b (id bigint, n int); CREATE INDEX ON endless.b (n, hers.locked(1)); SELECT pg_advisory_lock(78)));
send_query($superuser, q(SET deadlock_timeout = '1 min'; SELECT flake_create_shard(8, 'endless')));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
alice_goes_on('flake_create_shard(), code of hers', 'INSERT INTO template.country SELECT max(id) + 1 FROM template.country');
value($hers, 'SELECT pg_advisory_unlock(78)');
ends_well('flake_create_shard(), code of hers', qr/endless_8/);

# The same in a trigger's condition, and in what a foreign key within the template reads
value($hers, q(CREATE FUNCTION hers.nothing() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
CREATE FUNCTION hers.late(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS $$BEGIN
IF EXISTS (SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_namespace s ON s.oid = c.relnamespace WHERE s.nspname = 'later_key_8') THEN
	PERFORM pg_advisory_xact_lock(78);
END IF;
RETURN n;
END$$;
CREATE DOMAIN hers.checked_int AS int CHECK (hers.locked(VALUE) > 0)));
foreach my $case (
	[ condition => q(CREATE TABLE later_condition.b (id bigint, n int); CREATE TRIGGER t BEFORE INSERT ON later_condition.b FOR EACH ROW WHEN (NEW.n = ANY ('{1}'::hers.checked_int[])) EXECUTE FUNCTION hers.nothing()) ],
	[ key => q(CREATE TABLE later_key.b (id bigint PRIMARY KEY, n bigint REFERENCES later_key.b, m bigint REFERENCES later_key.b); CREATE STATISTICS later_key.x ON n, (n + hers.late(1)) FROM later_key.b) ])
{
	my ($name, $sql) = @$case;

	new_schema("later_$name", "GRANT CREATE ON SCHEMA later_$name TO mallory; CREATE TABLE a (id bigint DEFAULT flake_id(5), c int REFERENCES template.country)");
	value($hers, $sql);
	value($hers, 'SELECT pg_advisory_lock(78)');
	send_query($superuser, "SET deadlock_timeout = '1 min'; SELECT flake_create_shard(8, 'later_$name')");
	wait_for_waiters($node, 1, q(locktype = 'advisory'));
	alice_goes_on("flake_create_shard(), code of hers in a $name", 'INSERT INTO template.country SELECT max(id) + 1 FROM template.country');
	value($hers, 'SELECT pg_advisory_unlock(78)');
	ends_well("flake_create_shard(), code of hers in a $name", qr/later_${name}_8/);
}

# In a table with a foreign key of hers to one elsewhere
new_schema('outside', 'GRANT CREATE ON SCHEMA outside TO mallory; CREATE TABLE a (id bigint DEFAULT flake_id(5), c int REFERENCES template.country)');
value($hers, 'CREATE TABLE hers.own (id int PRIMARY KEY); CREATE TABLE outside.b (id bigint, n int REFERENCES hers.own); CREATE INDEX ON outside.b (n, hers.late(1))');
is(code($superuser, q(SELECT flake_create_shard(8, 'outside'))), '0A000', 'flake_create_shard(), code of hers in a table with a foreign key to another');
value($superuser, 'GRANT REFERENCES ON template.country TO mallory');
like(code($superuser, q(SELECT flake_create_shard(8, 'outside'))), qr/^none/, 'flake_create_shard(): not if she may lock that');
value($superuser, 'REVOKE REFERENCES ON template.country FROM mallory');

# A table that comes into use while that code is executed
value($hers, 'SELECT pg_advisory_lock(78)');
value($superuser, q(SET client_min_messages = error; DROP SCHEMA endless_8 CASCADE; RESET client_min_messages; SET deadlock_timeout = '5s'));
send_query($superuser, q(SELECT flake_create_shard(8, 'endless')));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($alice, 'BEGIN; INSERT INTO template.country SELECT max(id) + 1 FROM template.country');
value($hers, 'SELECT pg_advisory_unlock(78)');
wait_for_waiters($node, 1, q(relation = 'template.country'::regclass));
like((get_answer($superuser))[1], qr/ERROR:  55P03: canceling statement due to lock timeout/, 'a table in use is waited for briefly then');
value($alice, 'ROLLBACK');
value($superuser, 'RESET deadlock_timeout');

# A name that she takes in the same moment
new_schema('taken', 'CREATE TABLE a (id bigint DEFAULT flake_id(5), c int REFERENCES template.country)');
value($superuser, 'GRANT CREATE ON DATABASE postgres TO mallory');
value($hers, 'BEGIN; CREATE SCHEMA taken_8');
is(code($superuser, q(SELECT flake_create_shard(8, 'taken'))), '55P03', 'flake_create_shard() waits two seconds at most for the name of the schema');
is(value($superuser, 'SHOW lock_timeout'), '0', 'flake_create_shard(): lock_timeout is what it was');
value($hers, 'ROLLBACK');
like(code($superuser, q(SELECT flake_create_shard(8, 'taken'))), qr/^none/, 'flake_create_shard(): without her it goes on');
is(value($superuser, 'SHOW lock_timeout'), '0', 'flake_create_shard(): lock_timeout is what it was, too');

#
# flake_create_partitions(), flake_drop_partitions(): the schema of the table, which she
# renames
#
value($superuser, q(CREATE SCHEMA rented AUTHORIZATION mallory; GRANT ALL ON SCHEMA rented TO alice;
CREATE TABLE rented.event (id bigint DEFAULT flake_id(5)) PARTITION BY RANGE (id); ALTER TABLE rented.event OWNER TO alice;
SELECT flake_create_partitions('rented.event', '1 day', '2026-01-01Z', '2026-01-03Z')));
foreach my $call (
	[ 'flake_drop_partitions()', q(SELECT flake_drop_partitions('rented.event', '2026-01-02Z')) ],
	[ 'flake_create_partitions()', q(SELECT flake_create_partitions('rented.event', '1 day', '2026-01-03Z', '2026-01-04Z')) ])
{
	my ($name, $sql) = @$call;

	waits_for_hers("$name, a schema that she renames", 'ALTER SCHEMA rented RENAME TO rented_now', $sql,
		q(BEGIN; LOCK TABLE rented.event; COMMIT));
	is(value($superuser, 'SHOW lock_timeout'), '0', "$name: lock_timeout is what it was");
}

#
# _flake_lock_trees(): REFERENCES alone
#

new_schema('trees', 'CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE heir () INHERITS (a); GRANT REFERENCES ON a TO mallory;'
	  . 'CREATE TABLE p (id int PRIMARY KEY) PARTITION BY LIST (id); CREATE TABLE p1 PARTITION OF p FOR VALUES IN (1); GRANT REFERENCES ON p TO mallory');
is(code($hers, q(SELECT _flake_lock_trees(_flake_guard('public'), ARRAY['trees.a'::regclass::oid], true, '{}', '{}', now()))),
	'42501', 'REFERENCES is no right to lock a table with what inherits from it');
value($hers, q(BEGIN; SELECT _flake_lock_trees(_flake_guard('public'), '{}', true, ARRAY['trees.a', 'trees.p']::regclass[]::oid[], '{}', now())));
is(locks_of_others("trees.$_->[0]"), $_->[1], "but with its partitions: $_->[0]") foreach [ 'a', 1 ], [ 'heir', 0 ], [ 'p', 1 ], [ 'p1', 1 ];
value($hers, 'ROLLBACK');

$node->safe_psql('postgres', 'CREATE SCHEMA hidden; CREATE TABLE hidden.t (id int PRIMARY KEY); GRANT DELETE, REFERENCES ON hidden.t TO mallory;'
	  . 'CREATE TABLE trees.keyless (a int, b int); CREATE UNIQUE INDEX ON trees.keyless (a, b); GRANT REFERENCES (a) ON trees.keyless TO mallory');
foreach my $table ('hidden.t', 'trees.keyless')
{
	my $oid = value($superuser, "SELECT '$table'::regclass::oid");

	is(code($hers, "SELECT _flake_lock_trees(_flake_guard('public'), '{}', true, ARRAY[$oid]::oid[], '{}', now())"),
		'42501', "nor to lock a table that she cannot refer to: $table");
	is(code($hers, "SELECT _flake_guard_relation(_flake_guard('public'), $oid, true)"), '42501', "or name: $table");
}

# Many tables that inherit from hers: they need not even be there.
sub is_canceled_soon
{
	my ($session, $call, $what) = @_;
	my $began = time();

	value($session, q(SET statement_timeout = '1s'));
	like(code($session, $call), qr/^(57014|0A000|none)/, "$what: it can be canceled, or is refused");
	cmp_ok(time() - $began, '<', 15, "$what: soon");
	value($session, 'RESET statement_timeout');
	return;
}

value($hers, 'CREATE TABLE hers.parent ()');
value($superuser,
	q(SET allow_system_table_mods = on; UPDATE pg_class SET relhassubclass = true WHERE oid = 'hers.parent'::regclass;
	INSERT INTO pg_inherits SELECT 4000000000 + i, 'hers.parent'::regclass, 1, false FROM generate_series(1, 400000) AS i));
is_canceled_soon($superuser, q(SELECT _flake_lock_trees(_flake_guard('public'), ARRAY['hers.parent'::regclass::oid], true, '{}', '{}', now())),
	'many that inherit from a table of hers');
value($superuser, q(DELETE FROM pg_inherits WHERE inhparent = 'hers.parent'::regclass; DROP TABLE hers.parent; RESET allow_system_table_mods));
value($superuser, 'VACUUM (ANALYZE) pg_inherits');

# Long arrays, which anybody can give
is_canceled_soon($hers,
	q(SELECT _flake_rebind(_flake_guard('public'), (SELECT 'SELECT FROM pg_class WHERE ' || string_agg('relpages = ' || i, ' OR ') FROM generate_series(1, 20000) AS i),
		array_fill(1::oid, ARRAY[4000000]), array_fill(1::int2, ARRAY[4000000]), array_fill('int8'::regtype::oid, ARRAY[4000000]))),
	'many columns of other types');

#
# flake_migrate(): types of hers that are made of the row type, and a foreign key of hers
#

new_schema('typed', 'CREATE TABLE a (id serial PRIMARY KEY); GRANT REFERENCES ON a TO mallory; GRANT SELECT ON a TO mallory');
value($hers, 'CREATE TYPE hers.c AS (x typed.a[]); CREATE TYPE hers.d AS (y hers.c); CREATE VIEW hers.rows AS SELECT a FROM typed.a;'
	  . 'CREATE TABLE hers.referring (a int REFERENCES typed.a)');
my $migrate = q(BEGIN; SELECT count(*) FROM flake_migrate('typed.a', 'id', 5); ROLLBACK);
my @goes_on = ('INSERT INTO typed.a DEFAULT VALUES', 'SELECT FROM typed.a');

waits_for_hers('flake_migrate(), a type made of its rows', 'ALTER TYPE hers.c ADD ATTRIBUTE y int', $migrate, @goes_on);
waits_for_hers('flake_migrate(), a type made of that', 'ALTER TYPE hers.d ADD ATTRIBUTE z int', $migrate, @goes_on);
waits_for_hers('flake_migrate(), a view of its rows', 'ALTER VIEW hers.rows SET (security_barrier)', $migrate, @goes_on);
waits_for_hers('flake_migrate(), a table that refers to it', 'LOCK TABLE hers.referring IN ROW EXCLUSIVE MODE', $migrate, @goes_on);

#
# flake_migrate(): many types of hers
#

new_schema('many_types', 'CREATE TABLE a (id serial PRIMARY KEY)');
value($hers, q(DO $$BEGIN FOR n IN 1..200 LOOP EXECUTE format('CREATE TYPE hers.type_%s AS (x many_types.a)', n); END LOOP; END$$));
value($superuser, 'SELECT pg_stat_force_next_flush()');
like(code($superuser, q(BEGIN; SELECT count(*) FROM flake_migrate('many_types.a', 'id', 5, dry_run => true))), qr/^none/, 'flake_migrate(), many types of hers');
cmp_ok(value($superuser, "SELECT pg_stat_get_xact_tuples_returned('$_'::regclass) / (SELECT count(*) FROM $_)"), '<', 50, "$_ is not read for each of them")
  foreach 'pg_type', 'pg_attribute';
value($superuser, 'ROLLBACK');
value($hers, q(DO $$BEGIN FOR n IN 1..200 LOOP EXECUTE format('DROP TYPE hers.type_%s', n); END LOOP; END$$));

#
# flake_migrate() by the owner of the table: partitions of hers that refer to it
#

new_schema('referred', 'CREATE TABLE a (id serial PRIMARY KEY); GRANT REFERENCES ON a TO mallory');
value($superuser, 'GRANT USAGE ON SCHEMA hers TO alice');
value($hers, 'CREATE TABLE hers.parts (a bigint REFERENCES referred.a) PARTITION BY RANGE (a); CREATE TABLE hers.part PARTITION OF hers.parts FOR VALUES FROM (0) TO (10)');
value($superuser, 'SET SESSION AUTHORIZATION alice');
value($hers, 'BEGIN; LOCK TABLE hers.part');
like(code($superuser, q(SELECT count(*) FROM flake_migrate('referred.a', 'id', 5, dry_run => true))), qr/^none/, 'flake_migrate(), a partition of hers: a dry run does not wait for it');
is(code($superuser, q(SELECT count(*) FROM flake_migrate('referred.a', 'id', 5))), '55P03', 'nor does flake_migrate() for more than two seconds');
alice_goes_on('flake_migrate(), a partition of hers', 'SELECT FROM referred.a');
value($hers, 'ROLLBACK; DROP TABLE hers.parts');
like(code($superuser, q(SELECT count(*) FROM flake_migrate('referred.a', 'id', 5))), qr/^none/, 'without it flake_migrate() goes on');
value($superuser, 'RESET SESSION AUTHORIZATION');

#
# flake_migrate(): definitions and comments of hers that take long to write down, or to read
#

new_schema('written', 'CREATE TABLE a (id serial PRIMARY KEY, n int); GRANT SELECT, REFERENCES ON a TO mallory');
value($hers, q(
DO $$BEGIN
	EXECUTE format('CREATE TABLE hers.wide (%s)', (SELECT string_agg(format('c%s int', n), ', ') FROM generate_series(1, 1600) AS n));
END$$));
foreach my $case (
	[
		'view hers.joins', 'VIEW hers.joins',
		q(format('CREATE VIEW hers.joins AS SELECT a.id FROM written.a%s', (SELECT string_agg(format(' CROSS JOIN hers.wide t%s', n), '') FROM generate_series(1, 6) AS n)))
	],
	[
		'constraint long ', 'TABLE hers.checked',
		q(format('CREATE TABLE hers.checked (id int REFERENCES written.a CONSTRAINT long CHECK (id::text <> %L))', repeat('x', 1500000)))
	],
	[
		'function hers\.reads\(\)', 'FUNCTION hers.reads()',
		q(format('CREATE FUNCTION hers.reads() RETURNS SETOF record BEGIN ATOMIC SELECT s FROM (SELECT a.n FROM written.a) AS s WHERE s.n::text <> %L; END', repeat('x', 1500000)))
	],
	[
		'function hers\.takes\(written\.a\)', 'FUNCTION hers.takes(written.a)',
		q(format('CREATE FUNCTION hers.takes(written.a) RETURNS int BEGIN ATOMIC SELECT length(%L); END', repeat('x', 1500000)))
	],
	[
		'view hers\.long', 'VIEW hers.of_long, hers.long',
		q(format('CREATE VIEW hers.long AS SELECT %L AS x; CREATE VIEW hers.of_long AS SELECT id, (SELECT x FROM hers.long) FROM written.a', repeat('x', 5000000)))
	],
	[
		'function hers\.defaulted\(bigint,text\)', 'VIEW hers.calls; DROP FUNCTION hers.defaulted',
		q(format('CREATE FUNCTION hers.defaulted(bigint, text DEFAULT %L) RETURNS int LANGUAGE sql AS $a$SELECT 1$a$; CREATE VIEW hers.calls AS SELECT hers.defaulted(id) FROM written.a', repeat('x', 1500000)))
	],
	[
		'table hers\.missing', 'TABLE hers.missing',
		q(format('CREATE TABLE hers.missing (id int REFERENCES written.a); INSERT INTO hers.missing VALUES (NULL); ALTER TABLE hers.missing %s',
		(SELECT string_agg(format($a$ADD c%s text DEFAULT repeat('x', 500000)$a$, n), ', ') FROM generate_series(1, 10) AS n)))
	],
	[
		'view hers\.noted', 'VIEW hers.noted',
		q(format('COMMENT ON COLUMN hers.noted.id IS %L', repeat('x', 5000000)))
	])
{
	my ($what, $drop, $create) = @$case;

	value($hers, 'CREATE VIEW hers.noted AS SELECT id FROM written.a') if $drop eq 'VIEW hers.noted';
	value($hers, "DO \$\$BEGIN EXECUTE $create; END\$\$");
	my ($out, $err) = ask($superuser, q(SELECT count(*) FROM flake_migrate('written.a', 'id', 5)));
	like($err, qr/ERROR:  0A000.*$what.*has a definition and comments of more than 4 MB/s, "flake_migrate(), $what is too long");

	# It can become so after it was measured.
	like(value($superuser, q(SELECT _flake_record_of(ARRAY['written.a'::regclass::oid], '{}'))), qr/^function hers\.reads/, 'and is not read for rows')
	  if $drop =~ /reads/;
	like(value($superuser, q(SELECT detail FROM _flake_obstacle('written.a'::regclass, 'id', ARRAY['written.a'::regclass::oid], '{id}', '{}', NULL, false))),
		qr/^The function hers\.takes/, 'and is not read for the row type')
	  if $drop =~ /takes/;
	value($hers, "DROP $drop");
}

# or that are short
foreach my $case (
	[
		'VIEW hers.equal',
		q(SELECT format('CREATE VIEW hers.equal AS SELECT a.id FROM written.a, hers.wide AS w(%s)', string_agg('x', ', ')) FROM generate_series(1, 1600))
	],
	[
		'VIEW hers.overloads; DROP SCHEMA overloaded CASCADE',
		q(SELECT 'CREATE SCHEMA overloaded AUTHORIZATION mallory' UNION ALL
		SELECT format('CREATE FUNCTION overloaded.f(%s) RETURNS int LANGUAGE sql AS $a$SELECT 1$a$', concat_ws(', ', a, b, c))
		FROM unnest('{int,text,bigint,date,bool,uuid,json,jsonb,float8,numeric}'::text[]) AS a, unnest('{int,text,bigint,date,bool,uuid,json,jsonb,float8,numeric}'::text[]) AS b,
		     unnest('{int,text,bigint,date,bool,uuid,json,jsonb,float8,numeric}'::text[]) AS c
		UNION ALL SELECT 'CREATE VIEW hers.overloads AS SELECT id FROM written.a WHERE ' || string_agg('overloaded.f(id, id, id) > 0', ' AND ') FROM generate_series(1, 2200))
	],
	[
		'VIEW hers.defaults; DROP SCHEMA defaulted CASCADE',
		q(SELECT 'CREATE SCHEMA defaulted AUTHORIZATION mallory' UNION ALL
		SELECT format('CREATE FUNCTION defaulted.f(%s, int DEFAULT 0) RETURNS int LANGUAGE sql AS $a$SELECT 1$a$', concat_ws(', ', a, b, c))
		FROM unnest('{int,text,bigint,date,bool,uuid,json,jsonb,float8,numeric}'::text[]) AS a, unnest('{int,text,bigint,date,bool,uuid,json,jsonb,float8,numeric}'::text[]) AS b,
		     unnest('{int,text,bigint,date,bool,uuid,json,jsonb,float8,numeric}'::text[]) AS c
		UNION ALL SELECT 'CREATE VIEW hers.defaults AS SELECT id FROM written.a WHERE ' || string_agg('defaulted.f(id, id, id) > 0', ' AND ') FROM generate_series(1, 200))
	],
	[
		'VIEW hers.sets',
		q(SELECT format('CREATE VIEW hers.sets AS SELECT coalesce(%s) AS c FROM written.a GROUP BY GROUPING SETS (%s)',
		(SELECT string_agg('id', ', ') FROM generate_series(1, 1000)), (SELECT string_agg('(1)', ', ') FROM generate_series(1, 4096))))
	],
	[
		'VIEW hers.rollups; DROP TABLE hers.rolled',
		q(SELECT format('CREATE TABLE hers.rolled (%s)', string_agg(format('c%s int', i), ', ')) FROM generate_series(1, 240) AS i
		UNION ALL
		SELECT format('CREATE VIEW hers.rollups AS SELECT max(a.id) FROM written.a, hers.rolled GROUP BY ROLLUP (%s), ROLLUP (%s)',
		(SELECT string_agg('c' || i, ', ') FROM generate_series(1, 40) AS i),
		(SELECT string_agg(c, ', ') FROM (SELECT format('(%s)', string_agg('c' || i, ', ')) AS c FROM generate_series(41, 240) AS i) AS r, generate_series(1, 10))))
	],
	[
		'VIEW hers.grown; DROP TABLE hers.grows',
		q(VALUES ('CREATE TABLE hers.grows (a int)')
		UNION ALL
		SELECT 'CREATE VIEW hers.grown AS SELECT a.id FROM written.a, ' || string_agg('hers.grows AS g' || i, ', ') FROM generate_series(1, 500) AS i
		UNION ALL
		SELECT 'ALTER TABLE hers.grows ' || string_agg(format('ADD c%s int', i), ', ') FROM generate_series(1, 1500) AS i)
	],
	[
		'VIEW hers.crossed; DROP TABLE hers.empty',
		q(VALUES ('CREATE TABLE hers.empty ()')
		UNION ALL
		SELECT 'CREATE VIEW hers.crossed AS SELECT a.id FROM written.a, ' || string_agg(j, ', ')
		FROM (SELECT string_agg('hers.empty AS ' || chr(96 + n) || i, ' CROSS JOIN ') AS j FROM generate_series(1, 8) AS n, generate_series(1, 20) AS i GROUP BY n) AS c
		UNION ALL
		SELECT 'ALTER TABLE hers.empty ' || string_agg(format('ADD c%s int', i), ', ') FROM generate_series(1, 1500) AS i)
	],
	[
		'VIEW hers.locks; DROP TABLE hers.locked',
		q(VALUES ('CREATE TABLE hers.locked ()')
		UNION ALL
		SELECT format('CREATE VIEW hers.locks AS SELECT a.id FROM written.a, %s%s%s', repeat('(SELECT FROM ', 270),
		(SELECT string_agg('hers.locked AS l' || i, ', ') FROM generate_series(1, 2000) AS i), repeat(' FOR UPDATE) AS s', 270)))
	],
	[
		'VIEW hers.numbers',
		q(SELECT format('CREATE VIEW hers.numbers AS SELECT id FROM written.a WHERE %L::numeric[] IS NOT NULL AND %L::jsonb IS NOT NULL',
		array_agg('1e131071'::text), '{}') FROM generate_series(1, 100))
	],
	[
		'VIEW hers.numbers',
		q(SELECT format('CREATE VIEW hers.numbers AS SELECT id FROM written.a WHERE %L::jsonb IS NOT NULL',
		jsonb_agg(1e131071::numeric)) FROM generate_series(1, 100))
	],
	[
		'VIEW hers.windows',
		q(SELECT format('CREATE VIEW hers.windows AS SELECT coalesce(%s) AS c FROM written.a', string_agg(w, ', '))
		FROM (SELECT format('count(*) OVER (PARTITION BY %s)', string_agg('id + ' || i, ', ')) AS w FROM generate_series(1, 300) AS i) AS p, generate_series(1, 1000))
	],
	[
		'VIEW hers.nested',
		q(WITH RECURSIVE n (i, e) AS (SELECT 0, 'a.id' UNION ALL SELECT i + 1, format('(SELECT coalesce(%s) FROM hers.wide AS w%s GROUP BY 1)', e, i) FROM n WHERE i < 19)
		SELECT format('CREATE VIEW hers.nested AS SELECT %s AS c FROM written.a', e) FROM n WHERE i = 19)
	])
{
	my ($drop, $statements) = @$case;

	value($superuser, 'GRANT CREATE ON DATABASE postgres TO mallory');
	value($hers, "DO \$\$DECLARE s text; BEGIN FOR s IN $statements LOOP EXECUTE s; END LOOP; END\$\$");
	my ($out, $err) = ask($superuser, q(SELECT count(*) FROM flake_migrate('written.a', 'id', 5)));
	like($err, qr/ERROR:  0A000.*rule _RETURN on view hers\.\w+ has many equal names/s, "flake_migrate(), a $drop that is short");
	value($hers, "DROP $drop");
}

# What joins have merged is looked up once.
value($hers, q(CREATE TABLE hers.joined (id bigint); DO $$BEGIN
	EXECUTE format('CREATE VIEW hers.merged AS SELECT coalesce(%s) AS c FROM written.a %s',
	(SELECT string_agg('id', ', ') FROM generate_series(1, 16000)), (SELECT string_agg(format('FULL JOIN hers.joined AS d%s USING (id)', i), ' ') FROM generate_series(1, 1100) AS i));
END$$));
is_canceled_soon($superuser, q(SELECT count(*) FROM flake_migrate('written.a', 'id', 5, dry_run => true)), 'flake_migrate(), many joins in a view of hers');
value($hers, 'DROP VIEW hers.merged; DROP TABLE hers.joined');

# What nobody has measured is not read.
value($superuser, q(CREATE TABLE written.long (x text); DO $$BEGIN
	EXECUTE format('ALTER TABLE written.long ADD CONSTRAINT is_long CHECK (x <> %L)', repeat('x', 2000000));
END$$));
is(value($superuser, q(SELECT _flake_takes_long(conbin) FROM pg_constraint WHERE conname = 'is_long')), 't', 'what is too long to be read takes long');
value($superuser, 'DROP TABLE written.long');

# What a command calls can have become long since.
value($hers, q(DO $$BEGIN
	EXECUTE format('CREATE FUNCTION hers.called(int, text DEFAULT %L) RETURNS int LANGUAGE sql AS $a$SELECT 1$a$', repeat('x', 2000000));
END$$));
my $calls = join(', ', map { "hers.called($_) AS c$_" } 1 .. 10);
my ($out, $err) = ask($hers, "SELECT _flake_execute_steps(_flake_guard('public'), '{}', '{}', '{}', ARRAY[['mallory'::regrole::oid::text, NULL, NULL, 'CREATE VIEW hers.calls AS SELECT $calls']], false)");
like($err, qr/ERROR:  55000.*a function or an operator that is called was changed meanwhile/s, 'a command calls what has become long');
value($hers, 'DROP FUNCTION hers.called');

# Namesakes elsewhere are passed over for each call.
my $types = q('{int,text,bigint,smallint,float8,float4,date,time,timestamp,uuid,json,jsonb,xml,bytea,inet,cidr,numeric,bool}'::text[]);
my $call = q((SELECT string_agg('abs(1)', ', ') FROM generate_series(1, 11000)));
value($hers, "CREATE SCHEMA passed; SET check_function_bodies = off; DO \$\$DECLARE s text; BEGIN
	FOR s IN SELECT format('CREATE FUNCTION passed.abs(%s, %s, %s) RETURNS int LANGUAGE sql AS \$a\$SELECT 1\$a\$', a, b, c)
		FROM unnest($types) AS a, unnest($types) AS b, unnest($types) AS c LOOP
		EXECUTE s;
	END LOOP;
	EXECUTE format('CREATE VIEW hers.passes AS SELECT id, ARRAY[%s] FROM written.a', $call);
END\$\$; RESET check_function_bodies");
like((ask($superuser, q(SELECT count(*) FROM flake_migrate('written.a', 'id', 5))))[1],
	qr/ERROR:  0A000.*rule _RETURN on view hers\.passes has many equal names/s, 'flake_migrate(), many namesakes elsewhere');
value($hers, 'DROP VIEW hers.passes');
($out, $err) = ask($hers, "SELECT _flake_execute_steps(_flake_guard('public'), '{}', '{}', '{}', ARRAY[['mallory'::regrole::oid::text, NULL, NULL, format('CREATE VIEW hers.passes AS SELECT ARRAY[%s]', $call)]], false)");
like($err, qr/ERROR:  55000.*a function or an operator that is called was changed meanwhile/s, 'a command calls what has become long, without a schema');
value($hers, 'DROP SCHEMA passed CASCADE');

# So are operators, which CASE, rows, IN and USING look up, too.
value($superuser, q(INSERT INTO pg_operator
	SELECT 4000000000 + 2 * i + (o = '<')::int, o, 'hers'::regnamespace, 'mallory'::regrole, 'b', false, false, i, i, 16, 0, 0, 0, 0, 0
	FROM generate_series(1, 40000) AS i, unnest('{=,<}'::text[]) AS o));
my $row = 'ROW(' . join(', ', ('n') x 100) . ')';
my $several = join ' AND ', ("$row < $row") x 6;
value($hers, "CREATE VIEW hers.compares AS SELECT id FROM written.a WHERE $several");
like((ask($superuser, q(SELECT count(*) FROM flake_migrate('written.a', 'id', 5))))[1],
	qr/ERROR:  0A000.*rule _RETURN on view hers\.compares has many equal names/s, 'flake_migrate(), many operators elsewhere');
value($hers, 'DROP VIEW hers.compares');
my %looked_up = (
	rows => "SELECT $several FROM t",
	operator => 'SELECT ' . join(' AND ', ('n = n') x 600) . ' FROM t',
	CASE => 'SELECT CASE n ' . join(' ', ('WHEN n THEN n') x 600) . ' END FROM t',
	IN => 'SELECT ' . join(' AND ', ("$row IN (SELECT a.* FROM a)") x 6) . ' FROM t',
	USING => 'SELECT 1 FROM a JOIN b USING (' . join(', ', map { "c$_" } 1 .. 600) . ')',
	'ORDER BY' => 'SELECT 1 FROM t ORDER BY ' . join(', ', ('n USING <') x 600));
foreach my $what (sort keys %looked_up)
{
	($out, $err) = ask($hers, "SELECT _flake_execute_steps(_flake_guard('public'), '{}', '{}', '{}', ARRAY[['mallory'::regrole::oid::text, NULL, NULL, 'CREATE VIEW hers.v AS $looked_up{$what}']], false)");
	like($err, qr/ERROR:  55000.*a function or an operator that is called was changed meanwhile/s, "a command looks up operators, $what");
}
value($superuser, 'DELETE FROM pg_operator WHERE oid > 4000000000');
foreach my $what (sort keys %looked_up)
{
	($out, $err) = ask($hers, "SELECT _flake_execute_steps(_flake_guard('public'), '{}', '{}', '{}', ARRAY[['mallory'::regrole::oid::text, NULL, NULL, 'CREATE VIEW hers.v AS $looked_up{$what}']], false)");
	unlike($err, qr/meanwhile/, "a command looks up a few operators, $what");
}

# A few calls are not kept from it.
value($hers, q(CREATE SCHEMA elsewhere; DO $$BEGIN
	EXECUTE format('CREATE FUNCTION elsewhere.lower(text, text DEFAULT %L) RETURNS text LANGUAGE sql AS $a$SELECT $1$a$', repeat('x', 1500000));
END$$));
value($superuser, 'CREATE VIEW written.lowers AS SELECT id, ' . join(', ', map { "lower(n::text) AS l$_" } 1 .. 10) . ' FROM written.a');
like(code($superuser, q(SELECT count(*) FROM flake_migrate('written.a', 'id', 5, dry_run => true))), qr/^none/, 'flake_migrate() goes on beside functions of the same name elsewhere');
value($superuser, 'DROP VIEW written.lowers');
value($hers, 'DROP FUNCTION elsewhere.lower; DROP SCHEMA elsewhere');
value($superuser, 'REVOKE CREATE ON DATABASE postgres FROM mallory');

value($hers, q(
DO $$BEGIN
	FOR i IN 1 .. 6 LOOP
		EXECUTE format('CREATE VIEW hers.noted%s AS SELECT id FROM written.a', i);
		EXECUTE format('COMMENT ON VIEW hers.noted%s IS %L', i, repeat('x', 3000000));
	END LOOP;
END$$));
($out, $err) = ask($superuser, q(SELECT count(*) FROM flake_migrate('written.a', 'id', 5)));
like($err, qr/ERROR:  0A000.*view hers\.noted\d.*more than 16 MB together/s, 'flake_migrate(), several are too long together');
value($hers, 'DROP VIEW hers.noted1');
like(code($superuser, q(SELECT count(*) FROM flake_migrate('written.a', 'id', 5))), qr/^none/, 'without them it goes on');
value($hers, 'DROP VIEW hers.noted2, hers.noted3, hers.noted4, hers.noted5, hers.noted6');

#
# flake_create_shard() and flake_renumber(): comments of hers that take long to read
#

new_schema('remarked', 'CREATE TABLE a (id bigint PRIMARY KEY DEFAULT public.flake_id(77), n int DEFAULT 1)');
value($superuser, q(ALTER TABLE remarked.a OWNER TO mallory; ALTER SCHEMA remarked OWNER TO mallory));
value($hers, q(DO $$BEGIN EXECUTE format('COMMENT ON COLUMN remarked.a.n IS %L', repeat('x', 5000000)); END$$));
($out, $err) = ask($superuser, q(SELECT flake_create_shard(78, 'remarked')));
like($err, qr/ERROR:  0A000.*table remarked\.a has a definition and comments of more than 4 MB/s, 'flake_create_shard(), a comment is too long');
value($hers, q(COMMENT ON COLUMN remarked.a.n IS NULL; CREATE FUNCTION remarked.new() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN new; END'; DO $$
DECLARE
	s text;
	types text[] = '{int,text,bigint,date,bool,uuid,json,jsonb,float8,numeric}';
BEGIN
	FOR s IN SELECT concat_ws(', ', a, b, c) FROM unnest(types) AS a, unnest(types) AS b, unnest(types) AS c LOOP
		EXECUTE format('CREATE FUNCTION remarked.f(%s, int DEFAULT 0) RETURNS int LANGUAGE sql AS $a$SELECT 1$a$', s);
	END LOOP;
	EXECUTE format('CREATE TRIGGER t AFTER INSERT ON remarked.a FOR EACH ROW WHEN (%s) EXECUTE FUNCTION remarked.new()',
	               (SELECT string_agg('remarked.f(new.n, new.n, new.n) > 0', ' AND ') FROM generate_series(1, 200)));
END$$));
($out, $err) = ask($superuser, q(SELECT flake_create_shard(78, 'remarked')));
like($err, qr/ERROR:  0A000.*trigger t on table remarked\.a has many equal names/s, 'flake_create_shard(), a trigger has calls of overloaded functions');
value($hers, q(DROP TRIGGER t ON remarked.a; DO $$BEGIN
	FOR i IN 1 .. 8 LOOP
		EXECUTE format('ALTER TABLE remarked.a ADD c%s int', i);
		EXECUTE format('ALTER TABLE remarked.a ALTER c%s SET (n_distinct = -0.5%s)', i, repeat('0', 600000));
	END LOOP;
END$$));
($out, $err) = ask($superuser, q(SELECT flake_create_shard(78, 'remarked')));
like($err, qr/ERROR:  0A000.*table remarked\.a has a definition and comments of more than 4 MB/s, 'flake_create_shard(), options of columns are too long');
value($hers, q(DO $$BEGIN FOR i IN 1 .. 8 LOOP EXECUTE format('ALTER TABLE remarked.a ALTER c%s RESET (n_distinct)', i); END LOOP; END$$));
value($hers, q(
ALTER TABLE remarked.a ADD CONSTRAINT of_shard CHECK (public.flake_shard(id) = 77);
DO $$BEGIN EXECUTE format('COMMENT ON CONSTRAINT of_shard ON remarked.a IS %L', repeat('x', 9000)); END$$));
($out, $err) = ask($superuser, q(SELECT count(*) FROM flake_renumber('{77}', '{79}')));
like($err, qr/ERROR:  0A000.*a comment of more than 8 kB. Such tables are remarked\.a\./s, 'flake_renumber(), too');
like(code($superuser, q(SELECT count(*) FROM flake_renumber('{77}', '{79}', owners => '{alice}'))), qr/^none/, 'but not if her tables are left out');
value($hers, q(ALTER TABLE remarked.a DROP CONSTRAINT of_shard, ALTER COLUMN id SET DEFAULT public.flake_id(87);
DO $$BEGIN EXECUTE format('CREATE RULE r AS ON UPDATE TO remarked.a DO ALSO SELECT %L::text', repeat('x', 5000000)); END$$));
($out, $err) = ask($superuser, q(SELECT count(*) FROM flake_renumber('{87}', '{89}')));
like($err, qr/ERROR:  0A000.*table remarked\.a has a definition and comments of more than 4 MB/s, 'flake_renumber(), a rule is too long');
value($superuser, 'CREATE SCHEMA refers; CREATE TABLE refers.a (id bigint DEFAULT flake_id(88), a bigint REFERENCES remarked.a)');
($out, $err) = ask($superuser, q(SELECT flake_create_shard(90, 'refers')));
like($err, qr/ERROR:  0A000.*table remarked\.a has a definition and comments of more than 4 MB/s, 'flake_create_shard(), one of the table that a foreign key refers to');
value($hers, q(CREATE TABLE hers.k (id bigint PRIMARY KEY, a int); DO $$BEGIN EXECUTE format('CREATE STATISTICS hers.s ON a, (a::text || %L) FROM hers.k', repeat('x', 2000000)); END$$));
value($superuser, 'ALTER TABLE refers.a DROP CONSTRAINT a_a_fkey, ADD FOREIGN KEY (a) REFERENCES hers.k');
($out, $err) = ask($superuser, q(SELECT flake_create_shard(90, 'refers')));
like($err, qr/ERROR:  0A000.*statistics object hers\.s has a definition and comments of more than 4 MB/s, 'flake_create_shard(), or a statistics object of it');
value($superuser, 'DROP TABLE refers.a, remarked.a, hers.k; SET client_min_messages = error; DROP SCHEMA refers, remarked CASCADE; RESET client_min_messages');

#
# _flake_execute_steps(): what a role locks that may refer to one partition
#

new_schema('siblings', 'CREATE TABLE p (id bigint PRIMARY KEY) PARTITION BY RANGE (id); CREATE TABLE p1 PARTITION OF p FOR VALUES FROM (0) TO (10);
CREATE TABLE p2 PARTITION OF p FOR VALUES FROM (10) TO (20); GRANT REFERENCES ON p1 TO mallory');
value($hers, 'CREATE TABLE hers.refers (x bigint REFERENCES siblings.p1)');
value($hers, q(BEGIN; SELECT _flake_execute_steps(_flake_guard('public'), '{}', '{}', '{}',
ARRAY[['mallory'::regrole::oid::text, 'x', 'hers.refers'::regclass::oid::text, NULL]], false)));
is(value($superuser, q(SELECT string_agg(DISTINCT relation::regclass::text, ' ') FROM pg_locks WHERE mode = 'ShareRowExclusiveLock' AND relation::regclass::text LIKE 'siblings.%')),
	'siblings.p1', 'no others, as PostgreSQL does');
value($hers, 'ROLLBACK; DROP TABLE hers.refers');

# A session's first definition says so, too, if it would mean nothing.
new_schema('narrow', q(CREATE FUNCTION f(int) RETURNS int LANGUAGE sql IMMUTABLE RETURN $1;
CREATE TABLE a (id serial PRIMARY KEY, CHECK (narrow.f(id) > 0))));
(undef, undef, $err) = $node->psql('postgres', q(SELECT flake_migrate('narrow.a', 'id', 5)));
like($err, qr/DETAIL:  PostgreSQL would say: function narrow\.f\(bigint\) does not exist/, 'flake_migrate(), what would be an error');

#
# flake_migrate(): what nobody can look up beforehand
#

new_schema('unseen', q(CREATE TABLE a (id serial PRIMARY KEY, n int);
CREATE FUNCTION locked(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE AS 'BEGIN PERFORM pg_advisory_xact_lock(77); RETURN n; END';
CREATE INDEX ON a (unseen.locked(n)); INSERT INTO a (n) VALUES (1)));
value($hers, 'SELECT pg_advisory_lock(77)');
is(code($superuser, q(SELECT count(*) FROM flake_migrate('unseen.a', 'id', 5))), '55P03', 'what else is in use is waited for two seconds at most');
alice_goes_on('afterwards', 'SELECT FROM unseen.a');
is(value($superuser, 'SHOW lock_timeout'), '0', 'and lock_timeout is what it was');
value($hers, 'SELECT pg_advisory_unlock(77)');
like(code($superuser, q(SELECT count(*) FROM flake_migrate('unseen.a', 'id', 5))), qr/^none/, 'without her it goes on');
is(value($superuser, 'SHOW lock_timeout'), '0', 'and lock_timeout is what it was, too');

# Or what a name means only with another type.
new_schema('retyped', 'CREATE TABLE a (id serial PRIMARY KEY)');
value($hers, q(CREATE TYPE hers.late_pair AS (a int, b int);
CREATE FUNCTION hers.late(record, int) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
CREATE VIEW hers.late_view AS SELECT hers.late(ROW(1, 2), id) AS x FROM retyped.a;
CREATE FUNCTION hers.late(hers.late_pair, bigint) RETURNS int LANGUAGE plpgsql AS 'BEGIN RETURN 1; END';
BEGIN; ALTER TYPE hers.late_pair ADD ATTRIBUTE c int));
is(code($superuser, q(SELECT count(*) FROM flake_migrate('retyped.a', 'id', 5))), '55P03', 'a type that a retyped name leads to is waited for two seconds at most');
alice_goes_on('afterwards', 'SELECT FROM retyped.a');
value($hers, 'ROLLBACK; DROP VIEW hers.late_view');

#
# flake_lease(), flake_renew(): the map of servers, which its creator can lock
#

value($_, q(RESET SESSION AUTHORIZATION; SET lock_timeout = '3s')) foreach $other, $alice;
value($superuser, q(GRANT UPDATE ON flake_shard_map TO mallory; SELECT FROM flake_lease('gone', '1 hour', 'app_id') AS g, flake_lease('late', '2 hours', 'app_id') AS l)
	  . q(; UPDATE flake_leases SET not_before = not_before - interval '1 day', expires_at = expires_at - interval '1 day'));
value($hers, 'BEGIN; LOCK TABLE flake_shard_map');
send_query($superuser, q(SELECT FROM flake_lease('new', '1 hour', 'app_id')));
wait_for_waiters($node, 1);
is(code($other, q(SELECT flake_renew('new', '1 hour', 'app_id'))), '42704', 'flake_lease(), the map: others use the name of the owner');
like(code($other, $_), qr/^none/, "flake_lease(), the map: $_")
  foreach 'BEGIN; ALTER SEQUENCE app_id CACHE 1; ROLLBACK', q(BEGIN; SELECT flake_detach_all('app_id'); ROLLBACK);
($out, $err) = ask($other, q(SET lock_timeout = 0; SET statement_timeout = '3s'; SELECT flake_renew('late', '1 hour', 'app_id')));
like($err, qr/ERROR:  55P03: could not obtain lock on relation "flake_shard_map"/, 'flake_renew() does not wait for the map');
like($err, qr/DETAIL:  The lease of owner "late" has expired/, 'and says why');
value($hers, 'ROLLBACK; BEGIN; LOCK TABLE flake_shard_map IN ROW EXCLUSIVE MODE');
ends_well('flake_lease(), the map');
like(code($other, q(SELECT flake_renew('late', '1 hour', 'app_id'))), qr/^none/, 'flake_renew() of a lease that has expired');
value($hers, 'ROLLBACK; BEGIN; LOCK TABLE flake_shard_map');
like(code($other, q(SELECT flake_renew('late', '1 hour', 'app_id'))), qr/^none/, 'a lease that has not expired is renewed without the map');
value($hers, 'ROLLBACK');
value($other, q(RESET statement_timeout; SET lock_timeout = '3s'));

#
# flake_detach_all(), in a transaction that has changed a shard of hers
#

value($hers, q(SELECT flake_create_generator('hers.g')));
value($superuser, q(BEGIN; SELECT flake_attach(41, generator => 'hers.g')));
value($hers, q(BEGIN; SELECT flake_attach(42, generator => 'hers.g')));
send_query($superuser, 'SELECT flake_detach_all()');
wait_for_waiters($node, 1);
like(code($other, "BEGIN; SELECT flake_attach(43, generator => '$_'); ROLLBACK"), qr/^none/, "flake_detach_all(), a shard of hers: $_")
  foreach 'app_id', 'own_id', 'flake_default';
value($hers, 'COMMIT');
ends_well('flake_detach_all(), a shard of hers');
value($superuser, 'ROLLBACK');

# Others who wait for what the transaction has changed are no reason to wait.
value($superuser, q(BEGIN; SELECT flake_attach(41, generator => g) FROM unnest('{hers.g,app_id}'::regclass[]) AS g));
value($_, 'SET lock_timeout = 0') foreach $other, $alice;
send_query($other, q(SELECT flake_detach_all('hers.g')));
send_query($alice, q(BEGIN; SELECT flake_detach_all('app_id'); ROLLBACK));
wait_for_waiters($node, 2);
like(code($superuser, q(SET statement_timeout = '10s'; SELECT flake_detach_all())), qr/^none/, 'flake_detach_all() goes before those who wait for it');
value($superuser, 'ROLLBACK');
is((get_answer($_))[1], '', 'who go on then') foreach $other, $alice;

#
# When all tables are locked, what may still be locked is waited for only briefly.
#

# She keeps something that the call needs late.  It ends soon, and alice's statement comes
# through before her lock_timeout is over.
sub ends_soon
{
	my ($what, $keeps, $call, $statement) = @_;

	value($hers, "BEGIN; $keeps");
	send_query($superuser, "SELECT $call");
	wait_for_waiters($node, 1);
	alice_goes_on($what, $statement);
	my ($out, $err) = get_answer($superuser);
	like($err, qr/55P03/, "$what: it ends") or diag($out);
	value($hers, 'ROLLBACK');
	return;
}

new_schema('late', q(CREATE TABLE late.t (id bigint PRIMARY KEY DEFAULT flake_id(4100), n int); INSERT INTO late.t VALUES (1, 1)));
value($alice, q(SET lock_timeout = '10s'));
value($superuser, q(GRANT INSERT ON flake_shard_state TO mallory));
my $renumber = q(flake_renumber('{4100}', '{4101}'%s));
my $of_alice = sprintf($renumber, q(, owners => '{alice}'));
value($superuser, q(ALTER ROLE mallory SET flakeid.shard = 4100));
ends_soon('flake_renumber(), the setting of her role', 'ALTER ROLE mallory SET flakeid.shard = 4100', sprintf($renumber, ''), 'SELECT n FROM late.t');
ends_soon("flake_renumber(), a row that she has written of shard $_", "INSERT INTO flake_shard_state VALUES ('flake_default', $_, true, NULL, now(), NULL)", $of_alice, 'SELECT n FROM late.t')
  foreach 4100, 4101;
value($superuser, q(GRANT SELECT, UPDATE (n) ON late.t TO mallory));
# Who has locked a row is waited for before the table is locked.
value($hers, 'BEGIN; SELECT FROM late.t FOR KEY SHARE');
send_query($superuser, q(SELECT count(*) FROM flake_replace_ids('late.t', 'id', 0, 4103, dry_run => false)));
wait_for_waiters($node, 1, q(relation = 'late.t'::regclass AND mode = 'ExclusiveLock'));
value($hers, 'ROLLBACK');
ends_well('flake_replace_ids(), a row');
value($superuser, q(GRANT UPDATE ON SEQUENCE app_id TO mallory));
ends_soon('flake_replace_ids()', q(SELECT flake_detach(4102, 'app_id')), q(flake_replace_ids('late.t', 'id', 0, 4102, 'app_id', dry_run => false)), 'UPDATE late.t SET n = n + 1');
# She uses up a shard, with two ids a second: they are waited for before the table is locked.
value($superuser, q(SELECT flake_create_generator('slow_id', 'ts:41 shard:10 seq:1 epoch=2020-01-01 unit=1s'); GRANT USAGE ON SEQUENCE slow_id TO mallory));
value($alice, q(INSERT INTO late.t SELECT i, i FROM generate_series(2, 10) AS i));
like(code($hers, q(SET flakeid.max_wait = 0; SELECT flake_id(5, 'slow_id') FROM generate_series(1, 1000))), qr/^53400/, 'she uses up a shard');
send_query($superuser, q(SELECT count(*) FROM flake_replace_ids('late.t', 'id', 0, 5, 'slow_id', dry_run => false)));
$node->poll_query_until('postgres', q(SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE query LIKE '%late.t%slow_id%' AND pid <> pg_backend_pid()))
  or die 'it does not wait for an id';
value($alice, q(SET lock_timeout = '1ms'));
alice_goes_on('flake_replace_ids(), a shard that is used up', 'INSERT INTO late.t VALUES (11, 11)', 'UPDATE late.t SET n = n + 1');
value($alice, q(SET lock_timeout = '10s'));
ends_well('flake_replace_ids(), a shard that is used up', qr/^11$/m);
is(value($superuser, q(SELECT count(*) FROM late.t WHERE flake_shard(id, flake_layout_of('slow_id')) = 5 AND id > 1000)), '11', 'what is inserted meanwhile has another id, too');
value($superuser, q(REVOKE UPDATE ON SEQUENCE app_id FROM mallory; REVOKE INSERT ON flake_shard_state FROM mallory));

# A table of hers that refers to one whose partitions are created and dropped.
new_schema('parted', q(CREATE TABLE parted.t (id bigint PRIMARY KEY) PARTITION BY RANGE (id); GRANT REFERENCES ON parted.t TO mallory;
SELECT FROM flake_create_partitions('parted.t', '1 day', '2026-01-01Z', '2026-01-02Z', zone => 'UTC')));
value($hers, 'CREATE TABLE hers.referring_to_parts (id bigint REFERENCES parted.t); GRANT SELECT ON hers.referring_to_parts TO alice');
foreach my $call (q(flake_create_partitions('parted.t', '1 day', '2026-01-03Z', '2026-01-04Z', zone => 'UTC')), q(flake_drop_partitions('parted.t', '2026-01-02Z')))
{
	ends_soon("$call, a table of hers", 'LOCK TABLE hers.referring_to_parts', $call, 'SELECT FROM parted.t');
	is(value($superuser, 'SHOW lock_timeout'), '0', "$call, a table of hers: lock_timeout is what it was");
	like(value($superuser, "BEGIN; SET LOCAL lock_timeout = '7s'; SELECT FROM $call; SHOW lock_timeout"), qr/^7s$/m, "$call: lock_timeout is what it was");
	value($superuser, 'ROLLBACK');
}
value($hers, 'DROP TABLE hers.referring_to_parts');

# Settings of roles that are not named stay as they are, and those that are no plain numbers.
value($superuser, q(CREATE ROLE app; ALTER ROLE app SET flakeid.shard = '05'; CREATE ROLE app2));
$node->safe_psql('postgres', 'ALTER ROLE app2 SET "Flakeid.Shard" = 4100');
value($hers, 'BEGIN; ALTER ROLE mallory SET flakeid.shard = 4100');
my (undef, $warned) = ask($superuser, "SELECT * FROM $of_alice");
like($warned, qr/WARNING.*settings of flakeid\.shard stay as they are.*: role app, role app2, role mallory\./s, 'flake_renumber() leaves the setting of her role');
unlike($warned, qr/ERROR/, 'and does not wait for her');
value($hers, 'ROLLBACK');
value($superuser, 'ALTER ROLE mallory RESET flakeid.shard; DROP ROLE app, app2');

# Nor are settings looked at that it takes long to look at.
value($hers, q(DO $$BEGIN EXECUTE format('ALTER ROLE mallory SET application_name = %L', repeat('x', 20000000)); END$$));
(undef, $warned) = ask($superuser, q(BEGIN; SELECT FROM flake_renumber('{4101}', '{4111}'); ROLLBACK));
like($warned, qr/WARNING.*settings of flakeid\.shard stay as they are.*: role mallory\./s, 'flake_renumber(), a long setting of her role');
unlike($warned, qr/ERROR/, 'and it goes on');
value($superuser, 'ALTER ROLE mallory RESET ALL');

# The caller's own lock_timeout is what it was, also in the same transaction.
foreach my $call (q(flake_renumber('{4101}', '{4111}')), q(flake_replace_ids('late.t', 'id', 0, 4104, dry_run => false)))
{
	like(value($superuser, "BEGIN; SET LOCAL lock_timeout = '7s'; SELECT FROM $call; SHOW lock_timeout"), qr/^7s$/m, "$call: lock_timeout is what it was");
	value($superuser, 'ROLLBACK');
}

end_session($superuser, $hers, $hers_too, $alice, $other);

#
# The event triggers: the command that they are called for has locked what it changes
#

$node->safe_psql('postgres', 'CREATE DATABASE shared; GRANT CREATE ON DATABASE shared TO mallory');
($superuser, $hers, $alice, $other) = new_sessions($node, 4, 'shared');
value($superuser, 'CREATE SCHEMA of_alice AUTHORIZATION alice');
value($hers, 'SET SESSION AUTHORIZATION mallory; CREATE SCHEMA hers; CREATE EXTENSION flakeid SCHEMA hers');
value($alice, q(SET SESSION AUTHORIZATION alice; SET lock_timeout = '3s'; SET search_path = of_alice; CREATE TABLE t (a int)));

sub alice_changes_tables
{
	my ($what) = @_;

	value($superuser, 'SET ROLE alice; CREATE TABLE of_alice.d (id serial); RESET ROLE');
	alice_goes_on($what, 'ALTER TABLE t ADD b int', 'ALTER TABLE t DROP b', 'DROP TABLE d');
	return;
}

foreach my $keeps ('DROP EXTENSION flakeid', 'LOCK TABLE hers.flake_shard_state IN SHARE MODE', 'LOCK TABLE hers.flake_leases',
	'REINDEX INDEX hers.flake_shard_state_pkey', 'REINDEX INDEX hers.flake_leases_pkey')
{
	my $she = $keeps =~ /DROP/ ? $hers : $other;

	value($she, "BEGIN; $keeps");
	alice_changes_tables($keeps);
	value($she, 'ROLLBACK');
}

# Rows that a generator leaves in tables that are locked go with the next change.
my $rows = join ' + ', map { qq((SELECT count(*) FROM hers.$_ WHERE generator::text ~ '^[0-9]')) } qw(flake_shard_state flake_leases);

foreach my $keeps ('LOCK TABLE hers.flake_shard_state', 'LOCK TABLE hers.flake_shard_state IN SHARE MODE', 'LOCK TABLE hers.flake_leases')
{
	value($superuser, q(SELECT hers.flake_create_generator('of_alice.g'); ALTER SEQUENCE of_alice.g OWNER TO alice;)
		  . q(SELECT FROM hers.flake_detach(1, 'of_alice.g'), hers.flake_lease('a', '1 hour', 'of_alice.g')));
	value($other, "BEGIN; $keeps");
	alice_goes_on($keeps, 'DROP SEQUENCE g');
	value($other, 'ROLLBACK');
	is(value($superuser, "SELECT $rows"), 3, "$keeps: rows of the generator are left");
	value($superuser, 'SELECT hers.flake_attach(1)');
	is(value($superuser, "SELECT $rows"), 0, "$keeps: they are gone after the next change");
}

# The session that has changed the triggers sees to them, also while others wait for the table.
my $enabled = q(SELECT string_agg(tgenabled::text, '') FROM pg_trigger WHERE tgrelid = 'hers.flake_shard_state'::regclass AND tgname LIKE 'keep%');

foreach my $case (
	[ 'SHARE ROW EXCLUSIVE', 'ACCESS EXCLUSIVE', 'ENABLE TRIGGER ALL' ],
	[ 'ACCESS EXCLUSIVE', 'ROW EXCLUSIVE', 'ENABLE TRIGGER ALL, ALTER attached DROP DEFAULT' ])
{
	my ($has, $waits, $change) = @$case;

	value($superuser, "BEGIN; LOCK TABLE hers.flake_shard_state IN $has MODE");
	value($other, 'BEGIN');
	send_query($other, "LOCK TABLE hers.flake_shard_state IN $waits MODE");
	wait_for_waiters($node, 1);
	value($superuser, "ALTER TABLE hers.flake_shard_state $change; COMMIT");
	is(value($superuser, $enabled), 'AA', "$change, while others wait for $waits: the triggers fire always again");
	get_answer($other);
	value($other, 'ROLLBACK');
}

# If nobody has seen to them, only who could lock the table does later.
value($superuser, q(
	ALTER EVENT TRIGGER flakeid_keep_triggers DISABLE;
	ALTER TABLE hers.flake_shard_state ENABLE TRIGGER ALL;
	ALTER EVENT TRIGGER flakeid_keep_triggers ENABLE;
));
value($alice, 'BEGIN; ALTER TABLE t ADD c int');
is( value($other,
		q(SELECT count(*) FROM pg_locks WHERE relation = 'hers.flake_shard_state'::regclass AND mode = 'ShareRowExclusiveLock')
	),
	0,
	'what others have left of the triggers: no lock of it in the transaction of who changes a table of hers');
value($alice, 'COMMIT');
is(value($superuser, $enabled), 'OO', 'they are as they were left');
value($superuser, 'ALTER TABLE of_alice.t DROP c');
is(value($superuser, $enabled), 'AA', 'they are seen to when the owner changes any table');

end_session($superuser, $hers, $alice, $other);
$node->stop;

#
# flake_migrate(): what takes PostgreSQL long in a way that nobody knows.  Here its clock is
# fast: a few milliseconds are more than 5 s.
#

my $clock = new_clock();
my $fast = start_server(
	'fast',
	clock => $clock,
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE a (id serial PRIMARY KEY);
DO $$BEGIN
	EXECUTE format('CREATE VIEW reads_slowly AS SELECT coalesce(%s) AS c FROM a', (SELECT string_agg('id', ', ') FROM generate_series(1, 15000)));
END$$));
my ($writer, $migrates) = new_sessions($fast, 2);

value($writer, 'BEGIN; INSERT INTO a DEFAULT VALUES');
value($migrates, q(SET lock_timeout = '10s'));
set_clock($clock, 0, 1000);
like((ask($migrates, q(SELECT count(*) FROM flake_migrate('a', 'id', 5))))[1],
	qr/ERROR:  0A000.*under view public\.reads_slowly\nDETAIL:  PostgreSQL has taken more than 5 s to read its definition, and others/,
	'flake_migrate(), what takes long in any way is refused, and before others are waited for');
set_clock($clock, 0, 1);
value($writer, 'COMMIT');
like(code($migrates, q(SELECT count(*) FROM flake_migrate('a', 'id', 5))), qr/^none/, 'what does not is migrated');
end_session($writer, $migrates);
$fast->stop;

done_testing();
