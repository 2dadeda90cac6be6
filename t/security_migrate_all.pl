# Copyright (c) 2026, the flakeid developers

# Whoever owns a table in a schema that a superuser migrates by flake_migrate_all() keeps
# nobody from minting, nobody from his tables, and the call from nothing but her own.

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
CREATE SCHEMA flake; CREATE EXTENSION flakeid SCHEMA flake; GRANT USAGE ON SCHEMA flake TO PUBLIC;
CREATE ROLE alice; CREATE ROLE mallory));
my ($superuser, $hers, $other) = new_sessions($node, 3);

value($hers, 'SET SESSION AUTHORIZATION mallory; SET client_min_messages = error');

# A schema in which alice and mallory may create tables, with tables of theirs.
sub new_schema
{
	my ($schema, %sql) = @_;

	value($superuser, "CREATE SCHEMA $schema; GRANT USAGE, CREATE ON SCHEMA $schema TO alice, mallory");
	foreach my $role (qw(alice mallory))
	{
		value($superuser, "SET ROLE $role; SET search_path = $schema; $sql{$role}; RESET ROLE; RESET search_path")
		  if $sql{$role};
	}
	return;
}

sub migrate_all
{
	my ($schema, $more) = @_;

	return (ask($superuser, "CALL flake.flake_migrate_all(ARRAY['$schema'], 5$more)"))[1];
}

# Which columns mint.
sub minting
{
	my ($schema) = @_;

	return value($superuser,
		"SELECT string_agg(relname, ' ' ORDER BY relname) FROM flake.flake_migration JOIN pg_class ON oid = relation WHERE relnamespace = '$schema'::regnamespace AND state = 'done'");
}

#
# Ids ahead of the clock
#

sub ahead
{
	my ($table, $interval) = @_;

	return "CREATE TABLE $table (id bigserial PRIMARY KEY); INSERT INTO $table SELECT flake.flake_lower(clock_timestamp() + interval '$interval');";
}

new_schema(
	'ahead',
	alice => ahead('behind', '-1 h'),
	mallory => ahead('far', '24.9 s') . ahead('less', '10 s') . ahead('near', '0.3 s'));
my $err = migrate_all('ahead', '');
is(minting('ahead'), 'behind near', 'ids ahead of the clock: only a moment is waited for');
like(
	$err,
	qr/"id" of table ahead\.less is left as it is\n.*would not exceed.*once the clock is there/,
	'the warning says what helps');
is(value($superuser, 'SELECT flake.flake_timestamp(flake.flake_id(7)) <= clock_timestamp()'),
	't', 'others mint as before');
is(value($superuser, 'INSERT INTO ahead.near DEFAULT VALUES RETURNING id > (SELECT max(id) FROM ahead.near)'),
	't', 'new ids exceed those that were ahead');

value($superuser, 'CREATE SCHEMA own; ' . ahead('own.far', '24.9 s') . ahead('own.less', '10 s'));
migrate_all('own', '');
is(minting('own'), 'less', 'for a table of a role that may raise the generator, as far as flakeid.max_ahead');
is(value($superuser, 'SET flakeid.max_wait = 0; SELECT flake.flake_id(7) > (SELECT max(id) FROM own.less)'),
	't', 'and nobody has to wait');
value($superuser, 'RESET flakeid.max_wait');

#
# What it holds while it waits for a table or a view of hers
#

sub held
{
	return value($other, q(
SELECT coalesce(string_agg(relation::regclass || ' ' || mode, ', '), 'none') FROM pg_locks WHERE granted AND relation IN ('locks.a'::regclass, 'flake.flake_default'::regclass)
 AND pid = (SELECT pid FROM pg_stat_activity WHERE query ~ 'CALL' AND pid <> pg_backend_pid())));
}

new_schema(
	'locks',
	alice => 'CREATE TABLE a (id serial PRIMARY KEY); GRANT SELECT ON a TO mallory',
	mallory => 'CREATE TABLE m (id serial PRIMARY KEY)');
foreach my $call (
	[ 'dry run', ', dry_run => true', '', 'none' ],
	[ 'dry run in a transaction', ', dry_run => true', 'BEGIN', 'none' ],
	[ 'planning', '', '', 'none' ])
{
	my ($name, $more, $begin, $expected) = @$call;

	value($hers, 'BEGIN; LOCK TABLE locks.m');
	value($superuser, $begin) if $begin;
	send_query($superuser, "CALL flake.flake_migrate_all(ARRAY['locks'], 5$more)");
	wait_for_waiters($node, 1);
	is(held(), $expected, "$name: no lock on a table of others while it waits for hers");
	value($hers, 'COMMIT');
	unlike((get_answer($superuser))[1], qr/ERROR|WARNING/, "$name: goes on after that");
	value($superuser, 'COMMIT') if $begin;
}
is(minting('locks'), 'a m', 'all are migrated');

value($superuser, 'ALTER TABLE locks.a ALTER id TYPE int, ALTER id SET DEFAULT nextval($$locks.a_id_seq$$)');
value($hers, 'CREATE VIEW locks.v AS SELECT id FROM locks.a; BEGIN; COMMENT ON VIEW locks.v IS $$hers$$');
send_query($superuser, q(CALL flake.flake_migrate_all(ARRAY['locks'], 5)));
wait_for_waiters($node, 1);
# It tries for a moment to get the view while it has the table.
wait_until(sub { held() eq 'none' }, 'a view of hers: no lock on the table below');
value($hers, 'COMMIT');
like((get_answer($superuser))[1], qr/columns migrated: 1, left as they were: 0/, 'a view of hers: goes on after that');

#
# Tables that are made meanwhile
#

new_schema('late', mallory => 'CREATE TABLE first (id serial PRIMARY KEY)');
value($hers, 'BEGIN; LOCK TABLE late.first IN ROW EXCLUSIVE MODE');
send_query($superuser, q(CALL flake.flake_migrate_all(ARRAY['late'], 5)));
wait_for_waiters($node, 1);
value($hers, 'CREATE TABLE late.second (id serial PRIMARY KEY); COMMIT');
like((get_answer($superuser))[1], qr/columns migrated: 1, left as they were: 0/, 'tables that are made meanwhile keep it from no end');
is(minting('late'), 'first', 'they are left for the next call');

#
# What her code raises
#

my @codes = qw(P0004 57014 55P03 40P01);

new_schema(
	'raised',
	mallory => 'CREATE FUNCTION boom(code text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN code; END$$;'
	  . join('', map { "CREATE TABLE \"$_\" (id serial PRIMARY KEY, code text); INSERT INTO \"$_\" VALUES (1, '$_'); CREATE INDEX ON \"$_\" (boom(code));"
		  . "CREATE TABLE \"after_$_\" (id serial PRIMARY KEY, other int REFERENCES \"$_\");" } @codes)
	  . q(CREATE OR REPLACE FUNCTION boom(code text) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RAISE EXCEPTION USING ERRCODE = code, MESSAGE = 'boom'; END$$),
	alice => 'CREATE TABLE a (id serial PRIMARY KEY)');
$err = migrate_all('raised', '');
unlike($err, qr/ERROR/, 'errors of her code do not end the call');
like($err, qr/"id" of table raised\."$_" is left as it is\nDETAIL:  Boom\./, "$_: a warning has it") foreach @codes;
is(minting('raised'), join(' ', 'a', sort map { "after_$_" } @codes), 'all but her columns are migrated');

new_schema(
	'slow',
	mallory => 'CREATE FUNCTION nap(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM pg_sleep(1000 * (SELECT count(*) FROM pg_class WHERE relname = $a$on$a$)); RETURN 1; END$$;'
	  . ' CREATE TABLE m (id serial PRIMARY KEY, b int); INSERT INTO m VALUES (1, 1); CREATE INDEX ON m (slow.nap(b)); CREATE TABLE "on" ()');
value($superuser, q(SET statement_timeout = '0.5s'));
like(migrate_all('slow', ''), qr/ERROR:  57014: canceling statement due to statement timeout/, 'a timeout ends the call');
value($superuser, 'RESET statement_timeout');
send_query($superuser, q(CALL flake.flake_migrate_all(ARRAY['slow'], 5)));
$node->poll_query_until('postgres', q(SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'));
like((get_answer($superuser))[1], qr/ERROR:  57014: canceling statement due to user request/, 'so does a cancel');

#
# Arguments from a table; a session that may only read
#

value($superuser, q(
CREATE TABLE argument (schemas name[]); ALTER TABLE argument ALTER schemas SET STORAGE external;
INSERT INTO argument SELECT array_agg('toasted'::name) FROM generate_series(1, 200);
CREATE FUNCTION argument() RETURNS name[] LANGUAGE sql AS 'SELECT schemas FROM argument'));
new_schema('toasted', mallory => 'CREATE TABLE m1 (id serial PRIMARY KEY); CREATE TABLE m2 (id serial PRIMARY KEY)');
value($superuser, q(SET default_transaction_read_only = on));
is(code($superuser, 'CALL flake.flake_migrate_all(argument(), 5)'), '25006', 'a session that may only read: an error');
like(migrate_all('toasted', ', dry_run => true'),
	qr/columns to be migrated: 2, to be left as they are: 0/, 'but not in a dry run');
value($superuser, q(RESET default_transaction_read_only));
value($hers, 'BEGIN; LOCK TABLE toasted.m1 IN ROW EXCLUSIVE MODE');
send_query($superuser, 'CALL flake.flake_migrate_all(argument(), 5)');
wait_for_waiters($node, 1);
value($other, 'TRUNCATE argument');
value($hers, 'COMMIT');
unlike((get_answer($superuser))[1], qr/ERROR/, 'an argument from a table that is emptied meanwhile');
is(minting('toasted'), 'm1 m2', 'all are migrated');

end_session($superuser, $hers, $other);
$node->stop;
done_testing();
