# Copyright (c) 2026, the flakeid developers

# A transaction can go on without its locks: if FETCH fails in a savepoint, PostgreSQL
# releases what the cursor has locked, also by FETCHes before the savepoint, and what
# these have changed stays.  And DISCARD ALL releases all advisory locks.  Shards stay
# fenced, what a session mints from is not freed, and no id comes twice.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use FlakeWire;
use Test::More;

my $node = start_server(
	'main',
	sql => q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('app_id'), flake_create_generator('leased'), flake_create_generator('dense', 'shard:10 seq:53');
CREATE TABLE t (id bigint);
CREATE FUNCTION execute(command text) RETURNS text LANGUAGE plpgsql AS $$BEGIN EXECUTE command; RETURN command; END$$;

CREATE TABLE gate (n int);
CREATE FUNCTION wait_at_gate() RETURNS trigger LANGUAGE plpgsql AS $$BEGIN LOCK TABLE gate; RETURN NULL; END$$;
CREATE TABLE visitor (n int);
CREATE CONSTRAINT TRIGGER waits AFTER INSERT ON visitor DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION wait_at_gate();
CREATE FUNCTION visit(command text) RETURNS void LANGUAGE plpgsql AS $$BEGIN EXECUTE command; INSERT INTO visitor VALUES (1); END$$;
CREATE FUNCTION visit_when_planned(command text) RETURNS void IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM visit(command); END$$));
my ($loser, $minter, $other) = new_sessions($node, 3);
value($_, q(SET lock_timeout = '500ms')) foreach $minter, $other;

# Evaluates an expression in a transaction that then has lost its locks.
sub lose_locks
{
	my ($expression) = @_;

	value($loser, "BEGIN; DECLARE c CURSOR FOR SELECT CASE i WHEN 1 THEN ($expression)::text ELSE (1 / (i - 2))::text END FROM generate_series(1, 2) AS i");
	my $result = value($loser, 'FETCH c');
	value($loser, 'SAVEPOINT s');
	is(code($loser, 'FETCH c'), '22012', "$expression, and then an error");
	value($loser, 'ROLLBACK TO s');
	return $result;
}

# So it is with PostgreSQL's own.
value($minter, 'SELECT flake_id(0)');
lose_locks(q(execute('LOCK TABLE t')));
like(code($minter, 'INSERT INTO t VALUES (0)'), qr/^none/, 'the lock of LOCK TABLE is gone');
value($loser, 'ROLLBACK');

#
# Fences and leases
#

value($minter, 'SELECT flake_id(77)');
lose_locks('flake_detach(77)');
is(code($minter, 'SELECT flake_id(77)'), '55P03', 'nobody mints a shard that is being detached');
value($loser, 'COMMIT');
is(code($minter, 'SELECT flake_id(77)'), '55000', 'nor later');

lose_locks('flake_attach(77)');
is(code($other, 'SELECT flake_detach(77)'), '55P03', 'nobody detaches a shard that is being attached');
value($loser, 'ROLLBACK');

my ($shard) = lose_locks(q(flake_lease('a', generator => 'leased'))) =~ /^\((\d+),/;
is(code($minter, "SELECT flake_id($shard, 'leased')"), '55P03', 'nobody mints a shard that is being leased');
isnt(value($other, q(SELECT shard FROM flake_lease('b', generator => 'leased'))), $shard, 'nor leases it');
is(code($other, q(SELECT flake_lease('a', generator => 'leased'))), '55P03', 'nor gets the same name another one');
value($loser, 'COMMIT');
is(code($minter, "SELECT flake_id($shard, 'leased')"), '55000', 'nor later');

lose_locks(q(flake_renew('a', '1 day', 'leased')));
is(code($other, q(SELECT flake_release('a', 'leased'))), '55P03', 'nobody releases a lease that is being renewed');
value($loser, 'ROLLBACK');

value($minter, q(SELECT flake_id(5, 'app_id')));
lose_locks(q(flake_detach_all('app_id')));
is(code($minter, q(SELECT flake_id(5, 'app_id'))), '55P03', 'nobody mints a shard of those that are being detached');
is(code($minter, q(SELECT flake_id(6, 'app_id'))), '55P03', 'nor begins one');
value($loser, 'COMMIT');
is(code($minter, q(SELECT flake_id(6, 'app_id'))), '55000', 'nor later');

# What the subtransaction has done goes, and the lock with it.
value($loser, 'BEGIN; SAVEPOINT s; SELECT flake_detach(78); ROLLBACK TO s');
like(code($minter, 'SELECT flake_id(78)'), qr/^none/, 'a shard is minted again when its detach is undone');
value($loser, 'ROLLBACK');

#
# DISCARD ALL: it is refused in a transaction that has executed a statement, but that one
# is bound is enough to execute functions.
#

my $wire = FlakeWire->connect($node->host, $node->port, 'postgres', value($minter, 'SELECT current_user'));

sub discard_locks
{
	my ($command) = @_;

	value($other, 'BEGIN; LOCK TABLE gate');
	$wire->send_bound("SELECT visit_when_planned(\$x\$$command\$x\$)", 'DISCARD ALL');
	wait_for_waiters($node, 1, q(relation = 'gate'::regclass));
	return;
}

sub commit
{
	my ($command) = @_;

	value($other, 'COMMIT');
	is($wire->get_answer->{code}, undef, "DISCARD ALL after $command");
	return;
}

discard_locks('SELECT pg_advisory_xact_lock(1)');
is(value($minter, 'SELECT pg_try_advisory_xact_lock(1)'), 't', 'an advisory lock is gone');
commit('an advisory lock');

value($minter, 'SELECT flake_id(80)');
discard_locks('SELECT flake_detach(80)');
is(code($minter, 'SELECT flake_id(80)'), '55P03', 'nobody mints a shard that is being detached, whatever is discarded');
commit('flake_detach()');
is(code($minter, 'SELECT flake_id(80)'), '55000', 'nor later');

discard_locks(q(INSERT INTO t SELECT shard FROM flake_lease('c', generator => 'leased')));
is(code($minter, q(SELECT flake_lease('c', generator => 'leased'))), '55P03', 'nobody leases for an owner who is getting a lease');
my $leased = value($minter, q(SELECT shard FROM flake_lease('d', generator => 'leased')));
commit('flake_lease()');
isnt(value($minter, q(SELECT shard FROM flake_leases WHERE owner = 'c')), $leased, 'nor the same shard');

value($minter, q(SELECT flake_create_generator('past'); SELECT flake_detach(5, 'past')));
discard_locks(q(INSERT INTO t SELECT flake_backfill('2020-01-01', 5, 'past')));
is(code($minter, q(SELECT flake_backfill('2020-01-01', 5, 'past'))), '55P03', 'nobody backfills a shard that is being backfilled');
commit('flake_backfill()');
value($minter, q(INSERT INTO t SELECT flake_backfill('2020-01-01', 5, 'past')));
is(value($minter, 'SELECT count(*) - count(DISTINCT id) FROM t'), 0, 'no id comes twice');

value($minter, q(SELECT flake_create_generator('several'); SELECT flake_id(5, 'several')));
discard_locks(q(SELECT flake_detach_all('several')));
is(code($minter, q(SELECT flake_id(5, 'several'))), '55P03', 'nobody mints a shard of those that are being detached');
commit('flake_detach_all()');
is(code($minter, q(SELECT flake_id(5, 'several'))), '55000', 'nor later');
$wire->close;
value($minter, 'TRUNCATE t');

#
# Shared memory
#

# Whoever opens a slot first frees what dropped generators have left.
sub makes_room
{
	my ($session) = @_;
	my ($slot) = value($session, 'SELECT max(shard) + 1 FROM flake_stat WHERE generator = ' . q('flake_default'::regclass));

	value($session, "SELECT flake_id($slot)");
	return;
}

my $slots = q(SELECT count(*) FROM flake_stat WHERE generator = 'dropped'::regclass);

value($minter, q(SELECT flake_create_generator('dropped'); SELECT count(flake_id(s, 'dropped')) FROM generate_series(0, 99) AS s));
lose_locks(q(execute('DROP SEQUENCE dropped')));
makes_room($loser);
is(value($minter, $slots), 100, 'what a generator has in memory is not freed by who drops it');
value($other, 'CREATE TABLE changes_a_relation ()');
makes_room($other);
is(value($minter, $slots), 100, 'nor by others, before that is committed');
my $first = value($minter, q(SELECT flake_id(0, 'dropped')));
value($loser, 'ROLLBACK');
cmp_ok(value($other, q(SELECT flake_id(0, 'dropped'))), '>', $first, 'if it is not, the generator goes on');

lose_locks(q(execute('DROP SEQUENCE dropped')));
value($loser, 'COMMIT');
makes_room($other);
like(code($minter, q(SELECT flake_id(0, 'dropped'))), qr/^42/, 'when it is, nobody mints from it');

# One that only looks at its own generator has let it go.
lose_locks(q(flake_create_generator('made')));
value($loser, q(SELECT flake_would_exceed('made', s, 0) FROM generate_series(0, 9) AS s));
value($other, 'DROP TABLE changes_a_relation');
makes_room($other);
value($loser, q(SELECT count(flake_id(s, 'made')) FROM generate_series(0, 9) AS s));
is(value($loser, q(SELECT count(*) FROM flake_stat WHERE generator = 'made'::regclass)), 10, 'what a generator has in memory is not freed before it is committed');
value($loser, 'COMMIT');

#
# Horizons
#

value($minter, q(INSERT INTO t SELECT flake_id(1, 'dense')));
lose_locks(q(execute('ALTER SEQUENCE dense RESTART')));
my $mint = q(INSERT INTO t SELECT id FROM flake_ids(1, 100000, 'dense') AS id);
is(code($minter, $mint), '55000', 'no horizon is moved in a file that another transaction replaces');
value($loser, 'COMMIT');
value($minter, $mint);
end_session($loser, $minter, $other);
$node->stop('immediate');
$node->start;
($minter) = new_sessions($node, 1);
value($minter, $mint);
is(value($minter, 'SELECT count(*) - count(DISTINCT id) FROM t'), 0, 'no id comes twice after a crash');
end_session($minter);
$node->stop;

done_testing();
