# Copyright (c) 2026, the flakeid developers

# flake_backfill() repeats no id: not run twice, not by sessions at once, not after
# ROLLBACK, a crash, a prepared transaction, a failover, or a dump and restore.  What
# a shard mints later is above what was backfilled.
#
# The table has no key, so that a repeated id would stay.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	allows_streaming => 1,
	conf => q(
log_statement = none
max_prepared_transactions = 2
wal_sender_timeout = 0		# goes by the clock
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint, created_at timestamptz);
CREATE VIEW old AS SELECT '2020-01-01Z'::timestamptz + n * interval '1 s' AS created_at FROM generate_series(1, 1000) n;
SELECT flake_detach(n) FROM generate_series(100, 109) n;
));

my $backfill =
  'INSERT INTO item SELECT flake_backfill(created_at, %d), created_at FROM old ORDER BY created_at';
my $repeated = 'SELECT count(*) - count(DISTINCT id) FROM item';

my ($one, $two, $three) = new_sessions($node, 3);

# Two at once
value($one, 'BEGIN');
value($one, sprintf($backfill, 100));
value($two, q(SET lock_timeout = '100ms'));
is(code($two, sprintf($backfill, 100)),
	'55P03', 'who backfills the shard of another transaction waits, up to lock_timeout');
value($two, 'RESET lock_timeout');
is(code($three, 'SELECT flake_id(100)'),
	'55000', 'who wants to mint the shard does not wait, and is refused');
like(value($three, 'SELECT flake_id(5)'), qr/^\d+$/, 'other shards are minted');
value($three, sprintf($backfill, 101));
send_query($two, sprintf($backfill, 100));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($one, 'COMMIT');
is(error_code(get_answer($two)), '53400', 'after the commit, the same times are refused');
is(value($one, 'SELECT count(*) FROM item'), 2000, 'each row is there once');

value($one, 'BEGIN');
value($one, sprintf($backfill, 102));
send_query($two, sprintf($backfill, 102));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($one, 'ROLLBACK');
is((get_answer($two))[1], '', 'after a rollback, they are not');
is(value($one, $repeated), 0, 'no id repeats among sessions');

# A variable of PL/pgSQL outlives a subtransaction that is undone, and a ROLLBACK.
value($one, q(
CREATE TABLE kept (id bigint, what text);
CREATE PROCEDURE keep(shard int, how text) LANGUAGE plpgsql AS $$
DECLARE
	kept bigint;
BEGIN
	IF how = 'rollback' THEN
		kept := flake_backfill('2020-01-01Z', shard);
		ROLLBACK;
		PERFORM pg_advisory_lock(1);
	ELSE
		BEGIN
			IF how = 'detach' THEN
				PERFORM flake_detach(shard);
			END IF;
			kept := flake_backfill('2020-01-01Z', shard);
			PERFORM 1 / 0;
		EXCEPTION WHEN division_by_zero THEN
			NULL;
		END;
		IF how = 'detach' THEN
			PERFORM flake_detach(shard);
		END IF;
	END IF;
	INSERT INTO kept VALUES (kept, 'undone'), (flake_backfill('2020-01-01Z', shard), 'then');
END
$$;
CREATE PROCEDURE keep_one(shard int) LANGUAGE plpgsql AS $$
DECLARE
	kept bigint;
BEGIN
	BEGIN
		PERFORM flake_detach(shard);
		kept := flake_backfill('2020-01-01Z', shard);
		PERFORM 1 / 0;
	EXCEPTION WHEN division_by_zero THEN
		NULL;
	END;
	INSERT INTO kept VALUES (kept, 'of no shard');
END
$$;
));
my $bound;
my $kept_twice = 'SELECT count(*) - count(DISTINCT id) FROM kept';
value($one, q(CALL keep(108, 'exception')));
is(value($one, $kept_twice), 0, 'an id that a variable keeps over an exception is not repeated');
is(code($one, q(CALL keep(110, 'detach'))),
	'55000', 'nor if the shard was detached there, too');
value($one, 'CALL keep_one(111)');
value($one, 'SELECT flake_detach(111)');
is(code($one, q(SELECT flake_backfill('2020-01-01Z', 111))),
	'55000', 'nor once it is detached again');
value($one, 'SELECT flake_id(1)');
value($one, 'CALL keep_one(126)');
cmp_ok(value($one, 'SELECT flake_id(126)'), '>', value($one, 'SELECT max(id) FROM kept WHERE flake_shard(id) = 126'),
	'a shard whose detach was undone is minted');
value($one, q(CREATE PROCEDURE keep_detached(shard int) LANGUAGE plpgsql AS $$
DECLARE
	kept bigint;
BEGIN
	PERFORM flake_detach(shard);
	kept := flake_backfill('2020-01-01Z', shard);
	ROLLBACK;
	INSERT INTO kept VALUES (kept, 'of no shard');
END
$$));
value($one, 'CALL keep_one(127)');
value($one, 'CALL keep_detached(128)');
value($one, q(SELECT flake_create_generator('few', 'ts:41 shard:1 seq:13 epoch=2020-01-01')));
value($one, q(BEGIN; SAVEPOINT s; SELECT flake_detach(1, 'few')));
value($one, q(SELECT flake_backfill('2026-01-01Z', 1, 'few')));
value($one, q(ROLLBACK TO s; ROLLBACK));
is(value($one, q(SELECT shard FROM flake_lease('a', generator => 'few'))), '0', 'a shard with undone ids is not leased');
value($one, 'DROP SEQUENCE few');
value($one, q(BEGIN; SAVEPOINT s; SELECT flake_detach(114)));
my $kept = value($one, q(SELECT flake_backfill(clock_timestamp() - interval '1 s', 114)));
value($one, 'ROLLBACK TO s');
set_clock($clock, -5);
cmp_ok(value($one, 'SELECT flake_id(114)'), '>', $kept,
	'an undone id is not minted, though the detach was undone, too');
value($one, 'COMMIT');
set_clock($clock, 0);
value($two, 'SELECT pg_advisory_lock(1)');
send_query($one, q(CALL keep(109, 'rollback')));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($two, q(INSERT INTO kept VALUES (flake_backfill('2020-01-01Z', 109), 'between')));
value($two, 'SELECT pg_advisory_unlock(1)');
is((get_answer($one))[1], '', 'a procedure goes on after ROLLBACK');
value($one, 'SELECT pg_advisory_unlock_all()');
is(value($one, $kept_twice), 0, 'an id that it keeps is not repeated, by nobody');

# The next transaction that commits may have these ids, and writes the state.
value($one, 'SELECT flake_detach(n) FROM generate_series(120, 125) n');
value($one, q(
CREATE PROCEDURE keep_over_rollback(shard int, divisor int DEFAULT 1) LANGUAGE plpgsql AS $$
DECLARE
	ids bigint[];
BEGIN
	SELECT array_agg(flake_backfill('2020-01-01Z', shard)) INTO ids FROM generate_series(1, 5);
	ROLLBACK;
	PERFORM pg_advisory_xact_lock(1);
	ROLLBACK;
	INSERT INTO kept SELECT unnest(ids), 'kept';
	PERFORM pg_advisory_xact_lock(2);
	PERFORM 1 / divisor;
	IF divisor > 1 THEN
		COMMIT;
		ids := flake_backfill('2020-01-01Z', shard) || ids;
		ROLLBACK;
		INSERT INTO kept VALUES (flake_backfill('2020-01-01Z', shard), 'in the next'), (ids[1], 'kept');
	END IF;
END
$$;
CREATE PROCEDURE hand_over(shard int, INOUT id bigint) LANGUAGE plpgsql AS $$
BEGIN
	id := flake_backfill('2020-01-01Z', shard);
	ROLLBACK;
	SET TRANSACTION READ ONLY;
END
$$;
CREATE VIEW behind AS SELECT shard FROM flake_shard_state s
WHERE backfilled < (SELECT max(id) FROM kept WHERE flake_shard(id) = shard);
));
value($one, 'CALL keep_over_rollback(120)');
value($one, 'CALL keep_over_rollback(120, 2)');
my $handed = value($one, 'CALL hand_over(121, NULL)');
is(value($one, 'SELECT backfilled FROM flake_shard_state WHERE shard = 121'),
	$handed, 'an id that a procedure keeps over ROLLBACK, and returns, is in the state');
is(code($one, 'CALL keep_over_rollback(122, 0)'), '22012', 'a procedure fails');
value($one, 'CREATE TABLE other()');
is( value($one, q(SELECT backfilled < flake_lower('2020-01-01Z') FROM flake_shard_state WHERE shard = 122)),
	't', 'what it kept is not');
foreach my $case ([ 123, 'COMMIT', '' ], [ 124, 'ROLLBACK', '' ], [ 125, 'ROLLBACK', '57014' ])
{
	my ($shard, $end, $code) = @$case;

	value($two, 'SELECT pg_advisory_lock(1)');
	send_query($one, "CALL keep_over_rollback($shard)");
	wait_for_waiters($node, 1, q(locktype = 'advisory'));
	value($two, qq(BEGIN; SELECT flake_backfill('2020-01-01Z', $shard)));
	value($two, 'SELECT pg_advisory_unlock(1)');
	wait_for_waiters($node, 1, q(locktype = 'advisory' AND objsubid > 2));
	value($three, q(SELECT pg_cancel_backend(pid) FROM pg_locks WHERE NOT granted)) if $code;
	is(error_code(get_answer($one)), $code, 'its commit can be canceled') if $code;
	value($two, $end);
	is((get_answer($one))[1], '', "a commit with such ids waits for a $end") if !$code;
}
is(value($one, 'SELECT count(*) FROM behind'), 0, 'the state is never behind');
is(value($one, 'SELECT count(*) FROM kept WHERE flake_shard(id) = 125'), 0, 'nor is a row that was not committed');

# What has made the generator is undone, and its slots are still known.
value($one, q(BEGIN; SAVEPOINT s; SELECT flake_create_generator('gone', 'ts:41 shard:9 seq:13 epoch=2020-01-01')));
value($one, q(SELECT count(flake_backfill('2026-01-01Z', n, 'gone')) FROM (SELECT n, flake_detach(n, 'gone') FROM generate_series(1, 300) n OFFSET 0) d));
value($one, q(ROLLBACK TO s; SELECT flake_create_generator('next'); SELECT flake_id(1, 'next') IS NOT NULL));
value($one, 'SELECT count(flake_id(n)) FROM generate_series(6400, 6699) n');
value($one, 'COMMIT');
is( value($one, 'SELECT count(*) FROM (SELECT flake_detach(n) AS bound FROM generate_series(6400, 6699) n OFFSET 0) d'
		  . q( WHERE flake_timestamp(bound) > clock_timestamp() + '1 minute')),
	0,
	'a commit does not write into what was freed');
value($one, 'DROP SEQUENCE next');

# A second detach does not raise the bound.
$bound = value($one, 'SELECT flake_detach(113)');
value($one, 'SELECT flake_id(1); SELECT flake_settled()');
is(value($one, 'SELECT flake_detach(113)'), $bound, 'detached again: the same bound');
is(code($one, "SELECT flake_backfill(flake_timestamp($bound) + '20 ms', 113)"),
	'22023', 'and no id above it');

# An advance of the generator is no backfilling.
value($one, q(SELECT flake_backfill('2020-01-01Z', 113); SELECT flake_advance('flake_default', flake_id(1))));
is(code($one, q(SELECT flake_backfill('2020-01-02Z', 113))) =~ s/^none.*/none/sr,
	'none', 'an advance of the generator does not end it');

# The lock stays when a subtransaction is undone.
value($one, 'BEGIN; SAVEPOINT s');
value($one, q(SELECT flake_backfill('2020-01-02Z', 108)));
value($one, 'ROLLBACK TO s');
value($two, q(SET lock_timeout = '100ms'));
is(code($two, q(SELECT flake_backfill('2020-01-02Z', 108))),
	'55P03', 'after a subtransaction was undone, others still wait');
value($two, 'RESET lock_timeout');
value($one, 'ROLLBACK');

# No id is above the bound that flake_detach() has returned.
$bound = value($one, 'SELECT flake_detach(112)');
is(code($one, 'SELECT flake_backfill(clock_timestamp(), 112)'),
	'22023', 'no id of a time after the shard was detached');
value($one, "SELECT flake_backfill(flake_timestamp($bound), 112)");
value($one, "SELECT max(flake_backfill(flake_timestamp($bound), 112)) FROM generate_series(1, 1000)");
is(code($one, "SELECT max(flake_backfill(flake_timestamp($bound), 112)) FROM generate_series(1, 100)"),
	'22023', 'no id above the bound, whatever the time');

# A generator of one's own; its extension that is created again; a copy
value($one, q(SELECT flake_create_generator('g'); SELECT flake_detach(n, 'g') FROM generate_series(1, 2) n));
value($one, q(CREATE ROLE loader; GRANT USAGE, UPDATE ON SEQUENCE g TO loader));
value($two, 'SET ROLE loader; BEGIN');
value($two, q(SELECT flake_backfill('2020-01-01Z', 1, 'g')));
value($one, 'REVOKE UPDATE ON SEQUENCE g FROM loader');
value($two, 'SELECT count(*) FROM pg_description');	# a table brings the news
is(code($two, q(SELECT flake_backfill('2020-01-01Z', 1, 'g'))),
	'42501', 'a right that is taken away in mid-transaction is missing');
value($two, 'ROLLBACK; RESET ROLE');
value($one, 'DROP SEQUENCE g; DROP ROLE loader');

value($one, 'CREATE DATABASE again');
my $again = new_session($node, 'again');
my $create = 'CREATE EXTENSION flakeid; SELECT flake_detach(1)';
my $again_1 = q(SELECT flake_backfill('2020-01-01Z', 1));
value($again, $create);
my $first = value($again, $again_1);
is(code($again, "DROP EXTENSION flakeid; $create; $again_1"),
	'55000', 'an extension that was created again does not forget');
value($again, q(BEGIN; SELECT flake_detach(2)));
$first = value($again, q(SELECT flake_backfill('2020-01-01Z', 2)));
value($again, 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid; SELECT flake_detach(2)');
is(value($again, q(SELECT flake_backfill('2020-01-01Z', 2))) - $first,
	1, 'nor does the transaction that does so');
value($again, 'COMMIT');
value($again, 'SELECT flake_detach_all()');
is(code($again, q(SELECT flake_detach(3); SELECT flake_backfill('2020-01-01Z', 3))),
	'55000', 'a copy does not backfill');
end_session($again);

# A row that came from elsewhere, of a shard that was minted here
value($one, 'SELECT flake_id(300)');
value($one, q(INSERT INTO flake_shard_state (generator, shard, attached, changed_at, after, backfilled)
	SELECT 'flake_default', 300, false, now(), flake_lower('2030-01-01Z'), flake_lower('2020-01-01Z')));
is(code($one, q(SELECT flake_backfill(clock_timestamp() - interval '1 hour', 300))),
	'53400', 'ids begin above what the server has minted, whatever the row says');

# Four sessions with the same shard, in batches, some of them undone
my @batch = new_sessions($node, 4);
value($one, q(CREATE PROCEDURE batches() LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 100 LOOP
		INSERT INTO item SELECT flake_backfill('2021-01-01Z', 103) FROM generate_series(1, 20);
		IF random() < 0.3 THEN
			ROLLBACK;
		ELSE
			COMMIT;
		END IF;
	END LOOP;
END
$$));
send_query($_, 'CALL batches()') foreach @batch;
is(join('', map { (get_answer($_))[1] } @batch), '', 'sessions backfill one shard in turns');
is(value($one, $repeated), 0, 'no id repeats among their transactions');
end_session(@batch);

# Two shards, the other way round
value($one, 'BEGIN');
value($two, 'BEGIN');
value($one, q(SELECT flake_backfill('2020-01-01Z', 104)));
value($two, q(SELECT flake_backfill('2020-01-01Z', 105)));
send_query($one, q(SELECT flake_backfill('2020-01-01Z', 105)));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
send_query($two, q(SELECT flake_backfill('2020-01-01Z', 104)));
my @codes = sort map { error_code(get_answer($_)) =~ s/^none.*/none/sr } $one, $two;
is("@codes", '40P01 none', 'a deadlock ends with an error in one of the two');
value($_, 'ROLLBACK') foreach $one, $two;

# A crash: what was committed stays, what was not can come again, as nobody has it
value($one, 'BEGIN');
value($one, sprintf($backfill, 106));
my $before = value($two, q(SELECT count(*) FROM item));
value($two, q(INSERT INTO item SELECT flake_backfill('2022-01-01Z', 103) FROM generate_series(1, 100)));
kill9_and_wait($node);
eval { end_session($_) } foreach $one, $two, $three;
start_with_clock($node, $clock);
($one, $two) = new_sessions($node, 2);
is(value($one, 'SELECT count(*) FROM item'), $before + 100, 'rows are as they were committed');
value($one, sprintf($backfill, 106));
value($one, q(INSERT INTO item SELECT flake_backfill('2022-01-01Z', 103) FROM generate_series(1, 100)));
is(value($one, $repeated), 0, 'no id repeats after kill -9');
is(code($one, q(SELECT flake_backfill('2021-01-01Z', 103))),
	'53400', 'how far a shard was backfilled is known after kill -9');

value($one, 'CALL keep_over_rollback(120)');
value($one, 'CALL keep_over_rollback(123)');
cmp_ok(value($one, 'CALL hand_over(121, NULL)'), '>', $handed,
	'nor one that a procedure kept over ROLLBACK, and returned');
is(value($one, $kept_twice), 0, 'or committed later');
foreach my $shard (126 .. 128)
{
	is(code($one, "SELECT flake_detach($shard); SELECT flake_backfill('2020-01-01Z', $shard)"),
		'55000', 'nor one of a shard whose detach was undone');
}

# A prepared transaction, over another crash, and a failover.  One whose detach was undone
# has ids that nobody may mint, also if the clock is set back to then.
my $standby = start_standby($node, 'standby', $clock);
value($one, q(SELECT flake_create_generator('undone'); BEGIN));
value($one, q(
DO $$
DECLARE
	kept bigint;
BEGIN
	BEGIN
		PERFORM flake_detach(5, 'undone');
		kept := flake_backfill(clock_timestamp() - interval '2 s', 5, 'undone');
		RAISE division_by_zero;
	EXCEPTION WHEN division_by_zero THEN
		INSERT INTO item VALUES (kept);
	END;
END $$));
value($one, q(PREPARE TRANSACTION 'undone'));
value($one, 'BEGIN');
value($one, sprintf($backfill, 107));
value($one, q(PREPARE TRANSACTION 'p'));
kill9_and_wait($node);
set_clock($clock, -10);
eval { end_session($_) } foreach $one, $two;
start_with_clock($node, $clock);
($one, $two) = new_sessions($node, 2);
send_query($two, q(SELECT flake_id(5, 'undone')));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($one, q(COMMIT PREPARED 'undone'));
my ($minted) = get_answer($two);
is(value($one, "SELECT max(id) < $minted FROM item WHERE flake_shard(id) = 5"), 't', 'a detach that was undone, prepared: nobody mints until the end');
set_clock($clock, 0);
send_query($two, sprintf($backfill, 107));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($one, q(COMMIT PREPARED 'p'));
is(error_code(get_answer($two)), '53400', 'a prepared transaction is waited for, also after kill -9');
value($one, q(INSERT INTO item SELECT flake_backfill('2020-01-02Z', 107) FROM generate_series(1, 100)));
is(value($one, $repeated), 0, 'no id repeats after it');
end_session($one, $two);

$node->wait_for_catchup($standby, 'replay', $node->lsn('insert'));
kill9_and_wait($node);
$standby->promote;
$one = new_session($standby);
value($one, q(INSERT INTO item SELECT flake_backfill('2020-01-02Z', 107) FROM generate_series(1, 100)));
is(code($one, sprintf($backfill, 107)), '53400', 'the standby knows how far it was');
is(value($one, $repeated), 0, 'no id repeats after a failover');

# A dump and restore
my $dump = $standby->basedir . '/dump';
$standby->command_ok([ 'pg_dump', '--no-sync', '--file', $dump, '--dbname', $standby->connstr('postgres') ], 'pg_dump');
$standby->safe_psql('postgres', 'CREATE DATABASE restored');
$standby->command_ok(
	[ 'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '--file', $dump, '--dbname', $standby->connstr('restored') ],
	'restore');
$two = new_session($standby, 'restored');
value($two, q(INSERT INTO item SELECT flake_backfill('2020-01-02Z', 107) FROM generate_series(1, 100)));
is(value($two, $repeated), 0, 'no id repeats after a restore');

# Attached: what is minted then is above, and it is backfilled no more
value($two, q(INSERT INTO item SELECT flake_backfill(flake_timestamp(after) - interval '1 s', 107) FROM flake_shard_state, generate_series(1, 100000) WHERE shard = 107));
value($two, 'SELECT flake_attach(107)');
value($two, 'INSERT INTO item SELECT flake_id(107) FROM generate_series(1, 1000)');
is(value($two, $repeated), 0, 'what is minted after an attach is above');
value($two, 'SELECT flake_detach(107)');
is(code($two, 'SELECT flake_backfill(clock_timestamp(), 107)'),
	'55000', 'a shard that was attached is not backfilled again');

# The extension goes in the transaction
value($two, q(SELECT flake_create_generator('mine'); SELECT flake_detach(1, 'mine')));
is( (   ask($two,
			q(SET client_min_messages = error; BEGIN; SELECT flake_backfill('2020-01-01Z', 1, 'mine') > 0; DROP EXTENSION flakeid CASCADE; COMMIT)
		))[1],
	'',
	'a transaction can drop the extension after it has backfilled');

end_session($one, $two);
$standby->stop;
stop_killed($node);
done_testing();
