# Copyright (c) 2026, the flakeid developers

# flake_health is empty as long as all is well, also right after restarts, crashes and
# failovers; says what clocks and restores have done, also on a standby; and neither
# waits for what other sessions have locked nor fails because of what they change.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $hour = 3600;

# What is found on a server, a line each, for an account that only monitors.
sub health
{
	my ($node) = @_;

	return $node->safe_psql(
		'postgres',
		'SELECT severity, what, object FROM flake_health ORDER BY 1, 2, 3',
		extra_params => [ '-U', 'monitor' ]);
}

my $clock = new_clock();
my $node = start_server(
	'primary',
	clock => $clock,
	allows_streaming => 1,
	has_archiving => 1,
	conf => q(
restart_after_crash = on
max_prepared_transactions = 5
max_locks_per_transaction = 256		# for many temporary tables
log_statement = none
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE ROLE monitor LOGIN IN ROLE pg_monitor;
SELECT flake_create_generator('slow_id', 'ts:41 shard:4 seq:1 epoch=2026-01-01'),
       flake_create_generator('day_id', 'ts:20 shard:10 seq:20 unit=1d epoch=2026-01-01'),
       flake_create_generator('number_id', 'segment');
GRANT SELECT ON SEQUENCE slow_id, day_id, number_id TO monitor;
CREATE TABLE part (id bigint PRIMARY KEY DEFAULT flake_id(5)) PARTITION BY RANGE (id);
SELECT flake_create_partitions('part', '1 day', now() - interval '1 day', now() + interval '20 days');
));
my $load = join ' ', 'SELECT flake_id(1);', q(SELECT flake_id(1, 'day_id');),
  'INSERT INTO part DEFAULT VALUES RETURNING id;', q(SELECT flake_id(0, 'number_id'););

#
# All is well
#

# Each restart leaves a lead of up to 5 s, and some at once leave a shard nearly used up.
sub wait_for_clock
{
	my ($server) = @_;

	$server->poll_query_until('postgres',
		q(SELECT count(*) = 0 FROM flake_generators WHERE horizon_time > clock_timestamp() + interval '6 s'))
	  or die 'the clock does not catch up';
	return;
}

sub is_well
{
	my ($server, $when) = @_;

	wait_for_clock($server);
	is(health($server), '', "$when: nothing is wrong");
	my @clients = start_clients($server, count => 4, sql => $load);
	wait_for_more($_, 100) foreach @clients;
	is(health($server), '', "$when, under load: nothing is wrong");
	stop_clients($server, @clients);

	# Each start begins above the horizon of before: a few in a row add up.
	$server->poll_query_until('postgres',
		q(SELECT coalesce(max(horizon_time), now()) < now() + interval '2 s' FROM flake_generators WHERE generator <> 'day_id'::regclass));
	return;
}

is_well($node, 'at first');
$node->restart;
is_well($node, 'after a restart');
$node->stop('immediate');
start_with_clock($node, $clock);
is_well($node, 'after an immediate shutdown');

my $session = new_session($node);
kill9_session($node, value($session, 'SELECT pg_backend_pid()'));
$session->{run}->finish;
wait_until_up($node);
is_well($node, 'after a crash');

# A shard that is 14 s ahead, which others must not suffer from.
wait_for_clock($node);
$node->safe_psql('postgres', q(SELECT count(*) FROM flake_ids(1, 28000, 'slow_id')));
is(health($node), 'warning|shard_saturated|slow_id', 'a burst: its shard is nearly used up');
$node->stop('immediate');
start_with_clock($node, $clock);
is(health($node), '', 'a crash after a burst: nothing is wrong');
wait_for_clock($node);

#
# A transaction that holds back what readers get
#

$session = new_session($node);
ask($session, 'BEGIN; SELECT flake_id(2)');
set_clock($clock, 400);
is(health($node), '', 'a transaction that has minted is open, and nobody reads on: nothing is wrong');
set_clock($clock, 0);
$node->safe_psql('postgres', 'SELECT flake_settled()');
set_clock($clock, 200);
is(health($node), '', 'for less than five minutes: nothing is wrong');
set_clock($clock, 400);
is(health($node), 'warning|unsettled|flake_default', 'it has held back readers for more than five minutes');
my $pid = value($session, 'SELECT pg_backend_pid()');
sub detail { return $node->safe_psql('postgres', 'SELECT detail FROM flake_health') }
like(detail(), qr/five minutes: 1\. The first is process $pid, since \S+ \S+, from id \d{15,} on\.$/, 'this is the session');
ask($session, q(PREPARE TRANSACTION 'left over'));
like(detail(), qr/five minutes: 1\. The first is the prepared transaction 'left over', since/, 'the same when it is prepared');
set_clock($clock, 0);
end_session($session);
$node->stop;
start_with_clock($node, $clock);
$node->safe_psql('postgres', 'SELECT flake_settled()');
set_clock($clock, 800);
like(detail(), qr/five minutes: 1\. The first is the prepared transaction 'left over', since/, 'and after a restart');
$node->safe_psql('postgres', q(ROLLBACK PREPARED 'left over'));
is(health($node), '', 'when it has ended, so has that');
set_clock($clock, 0);

#
# A clock that jumps ahead by a year
#

$session = new_session($node);
value($session, 'SELECT flake_id(1)');
set_clock($clock, 365 * 24 * $hour);
is(health($node), 'critical|partitions_end|part', 'a year later: partitions have ended');
is(code($session, 'SELECT flake_id(1)'), '53400', 'a year later: ids are refused');
is( health($node),
	"critical|clock_refused|clock\ncritical|partitions_end|part",
	'a year later: it says that they are');
set_clock($clock, 0);
value($session, 'SELECT flake_id(1)');
is(health($node), '', 'when the clock is right and an id was minted, that is over');
end_session($session);

#
# A standby says what is wrong with a primary whose clock is ahead
#

my $standby = start_standby($node, 'standby');

$node->wait_for_catchup($standby, 'replay');
is(health($standby), '', 'on a standby: nothing is wrong');
set_clock($clock, $hour);
$node->safe_psql('postgres', "SELECT flake_id(1), flake_id(1, 'slow_id')");
is(health($node), '', 'a clock that is ahead finds itself right');
$node->wait_for_catchup($standby, 'replay');
is( health($standby),
	"critical|horizon_ahead|flake_default\ncritical|horizon_ahead|slow_id",
	'a standby whose clock is right finds it ahead');
set_clock($clock, 0);
is( health($node),
	join("\n",
		'critical|horizon_ahead|flake_default',
		'critical|horizon_ahead|slow_id',
		'critical|shard_refused|flake_default',
		'critical|shard_refused|slow_id'),
	'when the clock is corrected, so does the primary');
like(
	$node->safe_psql('postgres',
		q(SELECT detail FROM flake_health WHERE what = 'shard_refused' AND object = 'slow_id')),
	qr/shard 1, 00:5\d:|shard 1, 01:00:0/,
	'by how much');
is( code(my $refused = new_session($node), 'SELECT flake_id(1)'),
	'53400', 'what it says is so: the shard is refused');
end_session($refused);
$node->restart;
is( health($node),
	"critical|horizon_ahead|flake_default\ncritical|horizon_ahead|slow_id",
	'after a restart no shard has minted');

# The runbook's way out.  No row is to be above.
$node->poll_query_until('postgres', 'SELECT max(id) < flake_lower(now()) FROM part')
  or die 'ids stay ahead';
$node->safe_psql(
	'postgres', q(
SELECT flake_rewind(g, flake_lower(now() + interval '1 s', flake_layout_of(g)), force => true)
FROM unnest('{flake_default, slow_id}'::regclass[]) g));
is_well($node, 'after flake_rewind()');
$node->wait_for_catchup($standby, 'replay');
is(health($standby), '', 'and on the standby');

#
# A failover
#

$node->safe_psql('postgres', q(BEGIN; SELECT flake_id(2); PREPARE TRANSACTION 'left over'));
$node->wait_for_catchup($standby, 'replay');
is($standby->safe_psql('postgres', 'SELECT count(*) FROM flake_unsettled'),
	'0', 'on a standby flake_unsettled is empty');
$node->stop('immediate');
$standby->promote;
is_well($standby, 'after a failover');
is($standby->safe_psql('postgres', 'SELECT flake_settled() < max(from_id), max(prepared) FROM flake_unsettled'),
	't|left over', 'who has looked before has not kept it from finding prepared transactions');
$standby->stop;

#
# A restore to an earlier time
#

start_with_clock($node, $clock);
$node->safe_psql('postgres', q(ROLLBACK PREPARED 'left over'));
$node->backup('backup');
$node->safe_psql('postgres', q(SELECT pg_create_restore_point('earlier')));
my $wal = $node->safe_psql('postgres', q(SELECT pg_walfile_name(pg_current_wal_lsn())));
$node->safe_psql('postgres', q(SELECT flake_id(0, 'number_id'); SELECT pg_switch_wal()));
$node->poll_query_until('postgres', "SELECT last_archived_wal >= '$wal' FROM pg_stat_archiver")
  or die 'not archived';

my $restored = PostgreSQL::Test::Cluster->new('restored');
$restored->init_from_backup($node, 'backup', has_restoring => 1, standby => 0);
$restored->append_conf('postgresql.conf', q(
recovery_target_name = 'earlier'
recovery_target_timeline = 'current'
recovery_target_action = promote
archive_mode = off
));
$restored->start;
$restored->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()') or die 'not restored';
is(health($restored), 'critical|restored|number_id', 'after a restore to an earlier time: numbers can come again');
$restored->safe_psql('postgres', 'SELECT flake_accept_restore()');
is(health($restored), '', 'accepted');
$restored->stop;

#
# Rows that a copy of the server has minted
#

# For an account that only monitors.
sub elsewhere
{
	return $node->safe_psql(
		'postgres',
		q(SELECT object FROM flake_health WHERE what = 'minted_elsewhere'),
		extra_params => [ '-U', 'monitor' ]);
}

# Shard 9 is found open, and at its old bound, after a restart by a clock that is behind.
$node->safe_psql('postgres', q(
CREATE TABLE mine (id bigint PRIMARY KEY DEFAULT flake_id(9));
SELECT flake_attach(9, flake_upper(now() - interval '1 hour'));
INSERT INTO mine DEFAULT VALUES;
));
set_clock($clock, -$hour);
$node->stop;
start_with_clock($node, $clock);
is(code($session = new_session($node), 'SELECT flake_id(9)'),
	'53400', 'a clock that is behind after a restart: ids are refused');
end_session($session);
is(elsewhere(), '', 'what was minted before a restart is not taken for another server\'s');
set_clock($clock, 0);
$node->stop;
start_with_clock($node, $clock);
$node->safe_psql('postgres', q(DROP TABLE mine; DELETE FROM flake_shard_state WHERE shard = 9));

$node->safe_psql('postgres', q(
CREATE TABLE copied (id bigint PRIMARY KEY DEFAULT flake_id(5));
INSERT INTO copied DEFAULT VALUES;
));
is(elsewhere(), '', 'ids from here are in order');
$node->safe_psql('postgres',
	q(INSERT INTO copied VALUES (flake_make(clock_timestamp() + interval '1 hour', 5, 0))));
is(elsewhere(), 'flake_default', 'an id from elsewhere is found');
$node->stop;
start_with_clock($node, $clock);
is(elsewhere(), '', 'after a restart nobody knows whether the shard is minted here');
$node->safe_psql('postgres', 'SELECT flake_id(5)');
is(elsewhere(), 'flake_default', 'until it is');

# Who reads a table keeps its defaults and checks in memory: those of some are very long.
$node->safe_psql('postgres', q(DO $$BEGIN
	EXECUTE format('CREATE TABLE long_default (id bigint DEFAULT flake_id(length(%L)))', repeat('x', 5000000));
	EXECUTE format('CREATE TABLE long_check (id bigint PRIMARY KEY DEFAULT flake_id(5) CHECK (id::text <> %L))', repeat('x', 5000000));
	CREATE TABLE long_missing (id bigint PRIMARY KEY DEFAULT flake_id(5));
	INSERT INTO long_missing DEFAULT VALUES;
	FOR i IN 1..20 LOOP
		EXECUTE format('ALTER TABLE long_missing ADD c%s text DEFAULT repeat(%L, 600000); ALTER TABLE long_missing ALTER c%s DROP DEFAULT', i, 'x', i);
	END LOOP;
END$$));
is((ask_once($node, q(SELECT count(*) > 0 FROM flake_health WHERE what = 'minted_elsewhere';
	SELECT sum(total_bytes) < 10000000 FROM pg_backend_memory_contexts)))[0], "t\nt", 'definitions that take much memory are not read');
$node->safe_psql('postgres', 'DROP TABLE long_default, long_check, long_missing');

# Anybody can make many temporary tables, which nobody else can read.
$session = new_session($node);
$pid = value($session, 'SELECT pg_backend_pid()');
ask($session, q(DO $$ BEGIN FOR i IN 1 .. 1100 LOOP EXECUTE format('CREATE TEMP TABLE t%s (id bigint DEFAULT flake_id(5))', i); END LOOP; END $$));
is(value($session, q(SELECT count(*) FROM pg_class WHERE relpersistence = 't' AND relkind = 'r')), 1100, 'temporary tables');
is(elsewhere(), 'flake_default', 'temporary tables of others are not counted');
end_session($session);
$node->poll_query_until('postgres', "SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid") or die 'it does not end';

# A look keeps no table locked, and waits for none, nor for an index.
wait_for_clock($node);
$session = new_session($node);
ask($session, 'BEGIN; SELECT * FROM flake_health');
is( value($session,
		q(SELECT count(*) FROM pg_locks WHERE relation::regclass::text ~ '^(copied|part)')),
	0, 'a look keeps no table locked');
ask($session, 'ROLLBACK; BEGIN; REINDEX INDEX copied_pkey');
my ($found, $error) = ask_once($node, q(SET lock_timeout = '5s'; SELECT what FROM flake_health));
is("$found$error", '', 'a locked index is not waited for');
ask($session, 'ROLLBACK; BEGIN; LOCK TABLE copied');
($found, $error) = ask_once($node, q(SET lock_timeout = '5s'; SELECT what FROM flake_health));
is("$found$error", '', 'nor is a locked table');
end_session($session);
is(elsewhere(), 'flake_default', 'when the locks are gone, the id is found');
$node->safe_psql('postgres', 'DROP TABLE copied');
is(health($node), '', 'without the table nothing is wrong');

#
# Others lock what it looks at, and keep it locked
#

my $other = new_session($node);
value($other, q(
BEGIN;
DROP SEQUENCE slow_id;
LOCK TABLE part;
ALTER TABLE part ADD more int;
CREATE TABLE new_part (id bigint PRIMARY KEY DEFAULT flake_id(5)) PARTITION BY RANGE (id);
SELECT flake_create_generator('new_id', 'snowflake')));
($found, $error) = ask_once($node, q(SET lock_timeout = '5s'; SELECT what, object, hint FROM flake_health));
is($error, '', 'locked by others: it does not wait');
like($found, qr/^horizon_hidden\|slow_id\|Look again/, 'locked by others: it says what it could not see');
value($other, 'ROLLBACK');
is(health($node), '', 'when the locks are gone: nothing is wrong');
end_session($other);

#
# Others create and drop all the time
#

my $change = q(CREATE TABLE t:N (id bigint PRIMARY KEY DEFAULT flake_id(5)) PARTITION BY RANGE (id);
CREATE TABLE t:N_1 PARTITION OF t:N FOR VALUES FROM (MINVALUE) TO (0);
CREATE TABLE t:N_2 PARTITION OF t:N FOR VALUES FROM (0) TO (MAXVALUE) PARTITION BY RANGE (id);
CREATE TABLE t:N_3 PARTITION OF t:N_2 FOR VALUES FROM (MINVALUE) TO (MAXVALUE);
SELECT flake_create_generator('g:N', 'snowflake');
SELECT flake_id(1, 'g:N');
SELECT flake_lease('process', generator => 'g:N') IS NULL;
ALTER TABLE t:N ALTER id SET DEFAULT flake_id(1, 'g:N');
REINDEX TABLE t:N_1;
DROP INDEX CONCURRENTLY IF EXISTS i:N;
CREATE INDEX i:N ON t:N_1 (id);
ALTER TABLE t:N DETACH PARTITION t:N_2;
DROP TABLE t:N, t:N_2;
DROP SEQUENCE g:N;) =~ s/\n/ /gr;
my @changers = map { start_clients($node, sql => $change =~ s/:N/$_/gr) } 1 .. 3;
my $looks = 0;
wait_for_more($_, 10) foreach @changers;
$session = new_session($node);
foreach my $i (1 .. 300)
{
	my (undef, $stderr) = ask($session, 'SELECT * FROM flake_health');

	if ($stderr ne '')
	{
		diag($stderr);
		last;
	}
	$looks++;
}
is($looks, 300, 'objects that are changed and dropped meanwhile are no error');
my @errors = map { errors($_) } @changers;
is_deeply(\@errors, [], 'nor for those who change them');
stop_clients($node, @changers);
end_session($session);

$node->stop;
done_testing();
