# Copyright (c) 2026, the flakeid developers

# flake_migrate() changes no row and no key of a database in use: that of pgbench,
# with its foreign keys.  Sessions at work wait and go on, and a migration that is
# broken off has done nothing.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server(
	'main',
	conf => q(
restart_after_crash = on
max_wal_size = 4GB
log_statement = none
));
$node->command_ok(
	[
		'pgbench', '-i', '-q', '-s', '10', '--foreign-keys',
		$node->connstr('postgres')
	],
	'pgbench -i -s 10 --foreign-keys');
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

my @tables = qw(accounts branches history tellers);

# The columns with ids, and the keys.
sub definitions
{
	return $node->safe_psql(
		'postgres', q(
SELECT format('%s.%s %s %s', attrelid::regclass, attname,
              format_type(atttypid, NULL), pg_get_expr(adbin, adrelid)) AS line
FROM pg_attribute LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
WHERE attrelid = ANY ('{pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers}'::regclass[])
  AND attnum > 0 AND attname ~ 'id$'
UNION ALL
SELECT format('%s %s %s %s', conrelid::regclass, conname, pg_get_constraintdef(oid),
              CASE WHEN convalidated THEN 'valid' ELSE 'NOT VALID' END)
FROM pg_constraint WHERE conrelid::regclass::text ~ '^pgbench_' AND contype IN ('p', 'f')
ORDER BY line));
}

# The number of rows of each table, and a checksum of all that is in them.
sub contents
{
	return $node->safe_psql(
		'postgres',
		join ' UNION ALL ',
		map {
			"SELECT '$_', count(*), sum(hashtextextended(t::text, 0)) FROM pgbench_$_ AS t"
		} @tables);
}

# The ids of the rows that pgbench made in the beginning, and how many others there are.
sub old_ids
{
	return $node->safe_psql(
		'postgres', q(
SELECT (SELECT concat_ws(' ', count(*), sum(aid), sum(bid)) FROM pgbench_accounts),
       (SELECT concat_ws(' ', count(*), sum(tid), sum(bid)) FROM pgbench_tellers),
       (SELECT concat_ws(' ', count(*), sum(bid)) FROM pgbench_branches)));
}

# What all of pgbench's transactions leave as it is: the sums are the same.
sub sums_are_equal
{
	my ($when) = @_;
	my ($history, @others) = split /\|/, $node->safe_psql(
		'postgres', q(
SELECT sum(delta), (SELECT sum(abalance) FROM pgbench_accounts),
       (SELECT sum(bbalance) FROM pgbench_branches), (SELECT sum(tbalance) FROM pgbench_tellers)
FROM pgbench_history));

	is("@others", "$history $history $history", "$when: the balances add up");
	return;
}

# pgbench's own transactions, by four clients, each a number of times.  Each has a
# thread of its own: where one thread serves several, it waits for the server to
# prepare a statement of one, and does not end the transactions of the others,
# which the migration waits for.
sub pgbench
{
	my ($protocol, $transactions) = @_;

	return ('pgbench', '-n', '-c', '4', '-j', '4', '-t', $transactions, '-M',
		$protocol, $node->connstr('postgres'));
}

# Begins to migrate a column in that session.
sub begin_migration
{
	my ($session, $arguments) = @_;

	send_query($session, "SELECT flake_migrate($arguments)");
	return;
}

sub wait_for_notice
{
	my ($session, $notice) = @_;

	wait_until(
		sub {
			$session->{run}->pump_nb;
			return $session->{err} =~ $notice;
		},
		"the session is told $notice");
	return;
}

# Migrates a column; the statements that are returned are those announced, one
# by one and numbered, and those of a dry run.
sub migrate
{
	my ($session, $arguments) = @_;
	my $before = definitions();
	my $dry =
	  value($session, "SELECT flake_migrate($arguments, dry_run => true)");

	is(definitions(), $before, "$arguments: a dry run changes nothing");

	my ($done, $notices) = ask($session, "SELECT flake_migrate($arguments)");
	my @done = split /\n/, $done;
	my $n = 0;

	is($done, $dry, "$arguments: does what the dry run said");
	is_deeply(
		[ $notices =~ /^NOTICE:  00000: (.*)$/mg ],
		[ map { ++$n . '/' . @done . ": $_" } @done ],
		"$arguments: says what it is doing");
	unlike($notices, qr/ERROR/, "$arguments: without an error");
	return;
}

#
# Before
#

my $session = new_session($node);
my $ids = old_ids();

$node->command_ok([ pgbench('simple', 100) ], 'before: pgbench runs');
sums_are_equal('before');

my $definitions = definitions();
my $contents = contents();

#
# Broken off in the middle of rewriting a million rows: by the user, by the
# server's end
#

my $rewriting =
  qr/^NOTICE:  00000: \d+\/\d+: ALTER TABLE public\.pgbench_accounts ALTER COLUMN aid TYPE bigint/m;

begin_migration($session, q('pgbench_accounts', 'aid', 5));
wait_for_notice($session, $rewriting);
$node->safe_psql('postgres',
	q(SELECT pg_cancel_backend(pid) FROM pg_stat_activity WHERE query ~ '^SELECT flake_migrate')
);
like((get_answer($session))[1], qr/^ERROR:  57014:/m, 'cancelled');
is(definitions(), $definitions, 'cancelled: columns and keys are as before');
is(contents(), $contents, 'cancelled: rows are as before');

my $victim = new_session($node);
my $pid = value($victim, 'SELECT pg_backend_pid()');

begin_migration($victim, q('pgbench_accounts', 'aid', 5));
wait_for_notice($victim, $rewriting);
kill9_session($node, $pid);
wait_until(
	sub {
		$victim->{run}->pump_nb;
		return $victim->{err} =~ /connection to server was lost/;
	},
	'the session is gone');
$victim->{run}->finish;
$session->{run}->finish;
is(definitions(), $definitions, 'killed: columns and keys are as before');
is(contents(), $contents, 'killed: rows are as before');

#
# With nobody at work: what has been there, stays
#

$session = new_session($node);
migrate($session, q('pgbench_tellers', 'tid', 4));
is(contents(), $contents, 'tid: the rows are the same');
like(
	definitions(),
	qr/^\Qpgbench_tellers.tid bigint flake_id(4)\E$/m,
	'tid: has the default');
is(() = definitions() =~ /\.tid bigint/g,
	2, 'tid: is bigint in the table that refers to it, too');
$node->command_ok([ pgbench('prepared', 25) ], 'tid: pgbench runs');

#
# A transaction that has come half way when its tables are wanted for the
# migration: it can go on, and the migration waits
#

my $other = new_session($node);

value($session,
	'CREATE VIEW poor AS SELECT bid FROM pgbench_branches WHERE bbalance < 0'
);
value($other,
	'BEGIN; UPDATE pgbench_accounts SET abalance = abalance WHERE aid = 1');
value($session, q(SET lock_timeout = '50ms'));
is(code($session, q(SELECT flake_migrate('pgbench_branches', 'bid', 3))),
	'55P03', 'half way: a migration that may not wait gives up');
value($session, 'RESET lock_timeout');
my $reader = new_session($node);
value($reader, q(SET lock_timeout = '20s'));
begin_migration($session, q('pgbench_branches', 'bid', 3));
wait_for_waiters($node, 1);
pass('half way: the migration waits');
is( join('',
		ask($reader, 'SELECT count(*) FILTER (WHERE bid IS NULL) FROM poor')),
	'0',
	'half way: meanwhile others can use what it will lock');
end_session($reader);
is( code(
		$other,
		'UPDATE pgbench_branches SET bbalance = bbalance WHERE bid = 1;'
		  . ' INSERT INTO pgbench_history (tid, bid, aid, delta) VALUES (1, 1, 1, 0)'
	),
	'none, but: ',
	'half way: the transaction can lock other tables');
value($other, 'COMMIT');
unlike((get_answer($session))[1],
	qr/ERROR/, 'half way: then the migration is done');
end_session($other);
is( value(
		$session,
		q(SELECT atttypid::regtype FROM pg_attribute WHERE attrelid = 'poor'::regclass AND attname = 'bid')
	),
	'bigint',
	'half way: the view, too');

#
# Likewise, when it is the table that the column refers to
#

value($session,
	'CREATE TABLE person (id bigint PRIMARY KEY); CREATE TABLE employee (id int PRIMARY KEY REFERENCES person); INSERT INTO person VALUES (1)'
);
$other = new_session($node);
value($other, 'BEGIN; UPDATE person SET id = id');
begin_migration($session, q('employee', 'id', 3));
wait_for_waiters($node, 1);
pass('refers to: the migration waits');
is(code($other, 'INSERT INTO employee VALUES (1)'),
	'none, but: ',
	'refers to: the transaction can lock the table that is migrated');
value($other, 'COMMIT');
unlike((get_answer($session))[1],
	qr/ERROR/, 'refers to: then the migration is done');
end_session($other);

#
# Tables of others: to refer to one, and to be referred to, no right to lock it is
# needed
#

value($session,
	'CREATE ROLE clerk; CREATE ROLE stranger; GRANT CREATE ON SCHEMA public TO clerk, stranger; GRANT REFERENCES ON person TO clerk'
);
value($session,
	'SET ROLE clerk; CREATE TABLE of_clerk (id int PRIMARY KEY REFERENCES person); GRANT REFERENCES ON of_clerk TO stranger'
);
value($session,
	'SET ROLE stranger; CREATE TABLE of_stranger (id bigint REFERENCES of_clerk)'
);
value($session, 'SET ROLE clerk');
migrate($session, q('of_clerk', 'id', 3));
value($session, 'RESET ROLE');

#
# Two at once: the second one finds what the first one has left
#

value($session,
	'CREATE TABLE visit (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY)');
$other = new_session($node);
value($other, 'BEGIN');
ask($other, q(SELECT flake_migrate('visit', 'id', 3)));
begin_migration($session, q('visit', 'id', 4));
wait_for_waiters($node, 1);
pass('two at once: the second one waits');
value($other, 'COMMIT');
unlike((get_answer($session))[1],
	qr/ERROR/, 'two at once: then it is done, too');
end_session($other);
is( value(
		$session,
		'INSERT INTO visit DEFAULT VALUES RETURNING flake_shard(id)'),
	4,
	'two at once: the second one counts');

#
# With pgbench at work: its sessions wait and go on
#

my $directory = PostgreSQL::Test::Utils::tempdir;
my ($stop, $log) = map { "$directory/$_" } 'stop', 'log';
my $run = IPC::Run::start(
	[
		'bash', '-c',
		'until [ -e "$0" ]; do "$@" || exit; done', $stop,
		pgbench('prepared', 50)
	],
	'>', $log, '2>&1');

sub wait_until_at_work
{
	my $before =
	  $node->safe_psql('postgres', 'SELECT count(*) FROM pgbench_history');

	wait_until(
		sub {
			die 'pgbench ended: ' . slurp_file($log) unless $run->pumpable;
			return $node->safe_psql('postgres',
				"SELECT count(*) > $before + 20 FROM pgbench_history") eq 't';
		},
		'pgbench has made more transactions');
	return;
}

wait_until_at_work();
value($session, 'BEGIN');
migrate($session, q('pgbench_accounts', 'aid', 5));
wait_for_waiters($node, 1);
pass('aid: pgbench waits for it');
value($session, 'COMMIT');
wait_until_at_work();

value($session,
	'ALTER TABLE pgbench_history ADD COLUMN hid serial PRIMARY KEY');
migrate($session, q('pgbench_history', 'hid', 6));
wait_until_at_work();

append_to_file($stop, '');
wait_until(sub { !$run->pumpable }, 'pgbench has ended');
ok($run->finish, 'meanwhile: no client of pgbench failed');
unlike(slurp_file($log), qr/error|abort/, 'meanwhile: nor had an error');
is(old_ids(), $ids, 'meanwhile: ids stay as they are');
sums_are_equal('meanwhile');

#
# Afterwards
#

$node->command_ok([ pgbench('extended', 100) ], 'afterwards: pgbench runs');
sums_are_equal('afterwards');
is( definitions() =~ s/^pgbench_history.*hid.*\n//mgr,
	$definitions  =~ s/integer $/bigint /mgr =~
	  s/^(pgbench_branches\.bid.*)$/$1flake_id(3)/mr =~
	  s/^(pgbench_tellers\.tid.*)$/$1flake_id(4)/mr =~
	  s/^(pgbench_accounts\.aid.*)$/$1flake_id(5)/mr,
	'afterwards: the keys are there and valid, the columns bigint');
is( $node->safe_psql(
		'postgres', q(
SELECT count(*) FILTER (WHERE hid > 1000000000000) > 400,
       count(*) FILTER (WHERE hid > 1000000000000 AND flake_shard(hid) <> 6) FROM pgbench_history)
	),
	't|0',
	"afterwards: pgbench's rows have ids of the shard");

my $largest = $node->safe_psql('postgres',
	'SELECT (SELECT max(bid) FROM pgbench_branches), (SELECT max(tid) FROM pgbench_tellers), (SELECT max(aid) FROM pgbench_accounts)'
);
is($largest, '10|100|1000000', 'afterwards: no ids have been used');
is( value(
		$session, q(
WITH b AS (INSERT INTO pgbench_branches (bbalance) VALUES (0) RETURNING bid)
SELECT flake_shard(bid), bid > 10 FROM b)),
	'3|t',
	'a new branch has an id of its shard');
is( value(
		$session, q(
WITH t AS (INSERT INTO pgbench_tellers (bid, tbalance) SELECT max(bid), 0 FROM pgbench_branches RETURNING tid),
     a AS (INSERT INTO pgbench_accounts (bid, abalance) SELECT max(bid), 0 FROM pgbench_branches RETURNING aid)
SELECT flake_shard(tid), tid > 100, flake_shard(aid), aid > 1000000 FROM t, a)
	),
	'4|t|5|t',
	'and so have a teller and an account that refer to it');
is( code(
		$session,
		'INSERT INTO pgbench_accounts (bid) SELECT max(bid) + 1 FROM pgbench_branches'
	),
	'23503',
	'a key that there is not, is refused');
is(code($session, 'DELETE FROM pgbench_branches WHERE bid = 1'),
	'23503', 'so is to delete one that is referred to');
is( code(
		$session,
		'INSERT INTO pgbench_history (tid, bid, aid) VALUES (1, 1, -1)'),
	'23503',
	'so is a history of no account');

end_session($session);
$node->stop;
done_testing();
