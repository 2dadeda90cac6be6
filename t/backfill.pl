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

# A subtransaction that is undone lets the other one in.
value($one, 'BEGIN; SAVEPOINT s');
value($one, sprintf($backfill, 108));
value($one, 'ROLLBACK TO s');
value($two, sprintf($backfill, 108));
is(code($one, sprintf($backfill, 108)),
	'53400', 'after a subtransaction was undone, the shard is looked at again');
value($one, 'ROLLBACK');
is(value($one, $repeated), 0, 'no id repeats after a subtransaction');

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

# A prepared transaction, over another crash, and a failover
my $standby = start_standby($node, 'standby', $clock);
value($one, 'BEGIN');
value($one, sprintf($backfill, 107));
value($one, q(PREPARE TRANSACTION 'p'));
kill9_and_wait($node);
eval { end_session($_) } foreach $one, $two;
start_with_clock($node, $clock);
($one, $two) = new_sessions($node, 2);
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
value($two, q(INSERT INTO item SELECT flake_backfill(clock_timestamp(), 107) FROM generate_series(1, 100000)));
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
