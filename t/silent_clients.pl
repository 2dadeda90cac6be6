# Copyright (c) 2026, the flakeid developers

# A client that does not read the server's answers holds up nobody: PostgreSQL sends
# errors and messages before it releases locks, and cannot terminate a session that
# is sending.  That nobody keeps the shared memory locked is in shared_memory.pl.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use FlakeWire;
use Test::More;

my $node = start_server(
	'main',
	conf => q(
fsync = off
log_lock_waits = on
deadlock_timeout = 100ms
log_statement = none
log_min_error_statement = panic
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE ROLE mallory LOGIN;
CREATE ROLE minter LOGIN;
CREATE SCHEMA hers AUTHORIZATION mallory;
SELECT flake_create_generator('app_id'), flake_create_generator('dense', 'segment');
GRANT USAGE ON SEQUENCE app_id TO mallory, minter;
SELECT flake_id(n, 'app_id') FROM generate_series(1, 3) AS n;
SELECT flake_id(5);
));
my $admin = new_session($node);

# A session of mallory's that has not begun to read.
sub connect_silent
{
	my ($settings) = @_;
	my $wire = FlakeWire->connect($node->host, $node->port, 'postgres', 'mallory')
	  or die 'no connection';

	$wire->request($settings) if defined $settings;
	return $wire;
}

# Sends a statement with which every message is too long for the socket.
sub send_silent
{
	my ($wire, $sql) = @_;

	$sql =~ s/'/''/g;
	$wire->send(
		"DO \$\$ BEGIN EXECUTE '$sql --' || repeat('x', 5000000); END \$\$");
	return;
}

# Waits until the server waits for the client.
sub wait_until_stuck
{
	my ($wire) = @_;

	$node->poll_query_until('postgres',
		"SELECT wait_event = 'ClientWrite' FROM pg_stat_activity WHERE pid = "
		  . $wire->pid)
	  or die 'the server does not wait for the client';
	return;
}

# The locks of shards that a session has
sub locks_of
{
	my ($wire) = @_;

	return value($admin,
			"SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objsubid > 2 AND granted AND pid = "
		  . $wire->pid);
}

#
# The page of a sequence
#

my $mallory = connect_silent();

is($mallory->request(q(SELECT nextval('flake_default')))->{code},
	'42501', 'nobody can lock the pages of the own generators with nextval()');

# Of another generator, who may mint can.  $two goes on with its window.
my ($one, $two) = new_sessions($node, 2);
value($_, 'SET ROLE minter') foreach $one, $two;
my $minted = value($admin, q(SELECT flake_id(1, 'app_id')));
send_silent($mallory, q(SELECT nextval('app_id')));
wait_until_stuck($mallory);
value($admin, q(SET statement_timeout = '5s'));
is((ask($admin, "SELECT flake_advance('app_id', $minted)"))[1], '', 'with a locked page flake_advance() goes on below the horizon');
value($admin, 'RESET statement_timeout');
value($two, q(SET statement_timeout = '5s'; SET lock_timeout = '1ms'));
is(code($two, q(SELECT flake_id(1, 'app_id'))), '55P03', 'with a locked page lock_timeout is heeded');
value($two, 'RESET statement_timeout; RESET lock_timeout');
my $waiter = new_session($node);
value($waiter, 'SET ROLE minter');
send_query($waiter, q(SELECT flake_id(4, 'app_id')));

value($one, q(SET statement_timeout = '300ms'));
foreach my $sql (
	q(SELECT flake_id(1, 'app_id')),
	q(SELECT flake_settled('app_id')),
	q(SELECT flake_horizon('app_id')))
{
	is(code($one, $sql), '57014', "with a locked page one can cancel $sql");
}
like(value($two, 'SELECT flake_id(6)'),
	qr/^\d+$/, 'other generators go on');
is(value($admin, q(SELECT count(*) FROM flake_stat WHERE generator = 'flake_default'::regclass)),
	2, 'and so does flake_stat');
value($admin, q(SET statement_timeout = '5s'));
like(value($admin, 'SELECT count(*) FROM flake_health'),
	qr/^\d+$/, 'and flake_health');
value($admin, 'RESET statement_timeout');

# What it says in the end is an error; meanwhile others take shards.
value($admin, q(SET ROLE minter; SET statement_timeout = '5s'));
my $detacher = new_session($node);
send_query($detacher, 'SELECT flake_detach_all(NULL)');
value($one, 'RESET ROLE');
ok( $node->poll_query_until(
		'postgres',
		q(SELECT count(*) > 0 FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%detach_all%' AND pid <> pg_backend_pid())),
	'flake_detach_all() waits for the page');
like(value($admin, 'SELECT flake_id(90)'), qr/^\d+$/, 'a shard of another generator is opened meanwhile');
value($admin, 'RESET ROLE; RESET statement_timeout');
like(value($one, 'SELECT flake_attach(91) IS NOT NULL'), qr/./, 'and one is attached');
value($one, 'SET ROLE minter');
like((get_answer($detacher))[1], qr/ERROR:  55P03: could not lock the page of generator "app_id"/,
	'flake_detach_all() gets the error, too');
end_session($detacher);

my (undef, $error) = get_answer($waiter);
like($error, qr/ERROR:  55P03: could not lock the page of generator "app_id"/,
	'who waits for long gets an error');
like($error, qr/HINT:  Look for wait_event "ClientWrite"/, 'that says what to do');
$mallory->close;
wait_until(sub { (ask($waiter, q(SELECT flake_id(4, 'app_id'))))[0] =~ /^\d+$/ },
	'minting goes on when the client is gone');
value($one, 'RESET statement_timeout');
like(value($one, q(SELECT flake_id(1, 'app_id'))), qr/^\d+$/, 'in every session');

# flake_detach_all() has opened the horizon, and waits for something else, when the page
# is locked.  It needs that only to tell of a restore, and would keep the shards meanwhile.
value($admin, q(SELECT flake_create_generator('late_id'); GRANT USAGE ON SEQUENCE late_id TO mallory; SELECT flake_id(1, 'late_id');
	INSERT INTO flake_shard_state VALUES ('late_id', 3, false, NULL, now())));
value($one, 'RESET ROLE; BEGIN; LOCK TABLE flake_shard_state IN SHARE MODE');
$detacher = new_session($node);
send_query($detacher, q(SELECT flake_detach_all('late_id')));
wait_for_waiters($node, 1, q(relation = 'flake_shard_state'::regclass));
$mallory = connect_silent();
send_silent($mallory, q(SELECT nextval('late_id')));
wait_until_stuck($mallory);
value($one, 'COMMIT');
is((get_answer($detacher))[1], '', 'flake_detach_all() does not wait for a page with shards locked');
is(value($one, q(SELECT count(*) FROM flake_shard_state WHERE generator = 'late_id'::regclass)), 2, 'and has detached all');
$mallory->close;

# What it waits for next, it waits for without the generator whose page it has waited for.
$mallory = connect_silent();
send_silent($mallory, q(SELECT nextval('late_id')));
wait_until_stuck($mallory);
my $pid = value($detacher, 'SELECT pg_backend_pid()');
send_query($detacher, q(SELECT flake_detach_all('late_id')));
$node->poll_query_until('postgres', "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $pid")
  or die 'it does not wait for the page';
value($one, q(BEGIN; INSERT INTO flake_shard_state VALUES ('late_id', 4, false, NULL, now())));
$mallory->close;
wait_for_waiters($node, 1, q(locktype = 'transactionid'));
is((ask($admin, q(SET lock_timeout = '5s'; ALTER SEQUENCE late_id CACHE 1)))[1], '', 'nor does it keep a generator while it waits for a row');
value($admin, 'RESET lock_timeout');
value($one, 'COMMIT');
is((get_answer($detacher))[1], '', 'and goes on');
end_session($detacher);
value($admin, 'DROP SEQUENCE late_id');

# A horizon that was never moved does not allow the first id, either.
value($admin, q(SELECT flake_create_generator('fresh_id'); GRANT USAGE ON SEQUENCE fresh_id TO mallory));
is(code($one, q(SELECT flake_ids(1, 16000000, 'fresh_id') LIMIT 1)), '53400', 'a generator is looked up, and nothing minted');
$mallory = connect_silent(q(SELECT nextval('fresh_id')));
send_silent($mallory, q(SELECT nextval('fresh_id')));
wait_until_stuck($mallory);
value($one, q(SET statement_timeout = '300ms'));
is(code($one, q(SELECT flake_id(1, 'fresh_id'))), '57014', 'its first id waits for the page');
$mallory->close;
value($one, 'RESET statement_timeout');
wait_until(sub { (ask($one, q(SELECT flake_id(1, 'fresh_id'))))[0] =~ /^\d+$/ }, 'and comes when the client is gone');
value($admin, 'DROP SEQUENCE fresh_id');

# Of an identity: nextval() at its end raises its error with the page locked.
value($admin, q(
CREATE TABLE numbered (id int GENERATED BY DEFAULT AS IDENTITY (MAXVALUE 2));
INSERT INTO numbered SELECT FROM generate_series(1, 2);
GRANT USAGE ON SEQUENCE numbered_id_seq TO mallory));
$mallory = connect_silent();
send_silent($mallory, q(SELECT nextval('numbered_id_seq')));
wait_until_stuck($mallory);
my $waiting = value($one, 'RESET ROLE; SELECT pg_backend_pid()');
like(value($one, q(SELECT string_agg(s, ' ') FROM flake_migrate('numbered', 'id', 5, dry_run => true) AS s)),
	qr/setval\('public.numbered_id_seq', NULL, NULL\)/, 'with the page of an identity locked, a dry run says so');
send_query($one, q(SELECT count(*) FROM flake_migrate('numbered', 'id', 5)));
wait_for_waiters($node, 1);
like(value($admin, q(SET lock_timeout = '1s'; INSERT INTO numbered VALUES (3) RETURNING id)), qr/^3$/, 'flake_migrate() waits without the table');
value($admin, "RESET lock_timeout; SELECT pg_cancel_backend($waiting)");
is(error_code(get_answer($one)), '57014', 'and can be canceled');
$mallory->close;
wait_until(sub { (ask($one, q(SELECT count(*) FROM flake_migrate('numbered', 'id', 5))))[1] !~ /ERROR/ }, 'it goes on when the client is gone');
value($one, 'DROP TABLE numbered');

# flake_migrate_all() has planned, and waits for a table, when the page of the generator is
# locked.  It gives up the group, and does not try each column with all tables locked.
value($admin, q(
CREATE SCHEMA joined;
CREATE TABLE joined.a (id bigserial PRIMARY KEY);
CREATE TABLE joined.b (id bigserial PRIMARY KEY, a bigint REFERENCES joined.a);
CREATE TABLE joined.c (id bigserial PRIMARY KEY, b bigint REFERENCES joined.b);
CREATE TABLE joined.d (id bigserial PRIMARY KEY, c bigint REFERENCES joined.c);
CREATE TABLE joined.e (id bigserial PRIMARY KEY, d bigint REFERENCES joined.d);
INSERT INTO joined.a VALUES (1000000);
INSERT INTO joined.b VALUES (1000000);
INSERT INTO joined.c VALUES (1000000);
INSERT INTO joined.d VALUES (1000000);
INSERT INTO joined.e VALUES (1000000);
SELECT flake_id(0, 'dense');
GRANT USAGE ON SEQUENCE dense TO mallory;
SET statement_timeout = '5s'));
my $migrates = new_session($node);
value($one, 'BEGIN; LOCK TABLE joined.b IN ROW EXCLUSIVE MODE');
send_query($migrates, q(CALL flake_migrate_all('{joined}', 0, 'dense')));
wait_for_waiters($node, 1, q(relation = 'joined.b'::regclass));
$mallory = connect_silent();
send_silent($mallory, q(SELECT nextval('dense')));
wait_until_stuck($mallory);
value($one, 'COMMIT');
my (undef, $said) = get_answer($migrates);
like($said, qr/WARNING.*group 1 of 1 is left as it is\nDETAIL:  Could not lock the page of generator "dense"\./s, 'flake_migrate_all() gives up a group if the page is locked');
unlike($said, qr/one by one/, 'and tries no column by itself');
$mallory->close;
wait_until(sub { (ask($migrates, q(CALL flake_migrate_all('{joined}', 0, 'dense'))))[1] =~ /columns migrated: 5/ }, 'it goes on when the client is gone');
cmp_ok(value($one, q(SELECT flake_id(0, 'dense'))), '>', 1000000, 'with ids above those that are there');
end_session($migrates);
value($admin, 'RESET statement_timeout; DROP TABLE joined.e, joined.d, joined.c, joined.b, joined.a; DROP SCHEMA joined');

#
# The locks of a shard
#

# An error that ends waiting for one
value($admin, 'BEGIN');
value($admin, 'SELECT flake_detach(77)');
$mallory = connect_silent(q(SET lock_timeout = '100ms'));
send_silent($mallory, 'SELECT flake_id(77)');
wait_until_stuck($mallory);
value($admin, 'COMMIT');
is(locks_of($mallory), 0, 'who gave up waiting for a shard keeps no lock');
$mallory->close;

# Messages that are no errors: that a lock was waited for
value($admin, 'BEGIN');
value($admin, 'SELECT flake_detach(78)');
$mallory = connect_silent('SET client_min_messages = log');
send_silent($mallory, 'SELECT flake_id(78)');
wait_for_waiters($node, 1, 'pid = ' . $mallory->pid);
$node->poll_query_until('postgres',
	'SELECT clock_timestamp() > waitstart + interval $$200 ms$$ FROM pg_locks WHERE NOT granted AND pid = ' . $mallory->pid)
  or die 'it does not wait';
value($admin, 'COMMIT');
wait_until_stuck($mallory);
is(locks_of($mallory), 0, 'who is told of a lock does not keep it');
value($admin, q(SET lock_timeout = '5s'));
is(value($admin, 'SELECT flake_attach(78)'), '', 'the shard can be attached');
like(value($admin, q(SELECT flake_detach_all('flake_default') IS NOT NULL)),
	qr/./, 'and all can be detached');
$mallory->close;
value($admin, 'RESET lock_timeout');
value($admin, 'DELETE FROM flake_shard_state');

#
# The pages of the table of states
#

# A serializable transaction that cannot be had in any order gets its error while it
# has one locked: first a leaf of the index that it writes, then a page that it reads.
value($admin, 'SELECT flake_detach(82), flake_attach(82)');
my ($earlier, $later) = (connect_silent(), connect_silent());
$mallory = connect_silent(
	q(SELECT flake_create_generator('hers.g'); CREATE TABLE hers.a (n int); CREATE TABLE hers.b (n int)));
value($one, q(RESET ROLE; SET statement_timeout = '10s'));
foreach my $case (
	[
		'', q(SELECT flake_id(1, 'hers.g')),
		q(SELECT flake_detach(99, 'hers.g')), 'writing'
	],
	[
		'INSERT INTO hers.b VALUES (1);', 'SELECT count(*) FROM hers.b',
		'SELECT flake_id(82)', 'reading'
	],
	[
		'INSERT INTO hers.b VALUES (1);', 'SELECT count(*) FROM hers.b',
		'SELECT count(*) FROM flake_shards', 'looking'
	])
{
	my ($write, $read, $failing, $doing) = @$case;
	my $begin = 'BEGIN ISOLATION LEVEL SERIALIZABLE;';

	$mallory->request("$begin $write SELECT count(*) FROM hers.a");
	$later->request("$begin $read") if $write ne '';
	$earlier->request("$begin INSERT INTO hers.a VALUES (1); COMMIT");
	$later->request("$begin $read") if $write eq '';
	send_silent($mallory, $failing);
	wait_until_stuck($mallory);
	foreach my $sql ('SELECT flake_id(81) > 0', q(SELECT flake_id(81, 'app_id') > 0),
		'SELECT flake_detach(83) IS NULL AND flake_attach(83) IS NULL')
	{
		like((ask($one, $sql))[0] // '', qr/^[tf]$/, "with a page locked for $doing: $sql");
	}
	$mallory->close;
	$later->request('ROLLBACK');
	$mallory = connect_silent();
}
$_->close foreach $mallory, $earlier, $later;
value($admin, q(DROP SEQUENCE hers.g; DROP TABLE hers.a, hers.b; SELECT flake_detach(83)));

#
# The pages of her tables
#

# An INSERT in such a transaction has the page of the table, if another one has read all
# of it, or the leaf of its index, if that has looked there only.
value($admin, q(SELECT flake_create_generator('hers_id'); GRANT USAGE ON SEQUENCE hers_id TO mallory));
my $first = value($admin, q(SELECT flake_id(1, 'hers_id')));
foreach my $case (
	[ '', 'SELECT count(*) FROM hers.t', 't' ],
	[ 'SET enable_seqscan = off; SET enable_bitmapscan = off;', 'SELECT FROM hers.t WHERE id = 0', 't_pkey' ])
{
	my ($set, $read, $locked) = @$case;
	my $begin = 'BEGIN ISOLATION LEVEL SERIALIZABLE;';

	($earlier, $later, $mallory) = map { connect_silent() } 1 .. 3;
	$mallory->request(q(
CREATE TABLE hers.a (n int);
CREATE TABLE hers.t (id bigint PRIMARY KEY DEFAULT flake_id(2, 'hers_id'), n int);
INSERT INTO hers.t (n) SELECT generate_series(1, 10)));
	$mallory->request("$begin SELECT count(*) FROM hers.a");
	$later->request("$set $begin $read");
	$earlier->request("$begin INSERT INTO hers.a VALUES (1); COMMIT");
	send_silent($mallory, 'INSERT INTO hers.t VALUES (5, 1)');
	wait_until_stuck($mallory);
	foreach my $search (
		[ 'flake_health', 'SELECT count(*) FROM flake_health', qr/^\d+$/ ],
		[ 'flake_migrate', q(SELECT count(*) FROM flake_migrate('hers.t', 'id', 5)), qr/ERROR:  57014/ ],
		[ 'flake_replace_ids', q(SELECT count(*) FROM flake_replace_ids('hers.t', 'id', 1, NULL, dry_run => true)), qr/ERROR:  57014/ ],
		[
			'flake_rewind', "SELECT flake_rewind('hers_id', $first)",
			qr/ERROR:  55P03: could not lock a page of relation "$locked".*HINT:  Look for wait_event "ClientWrite"/s
		])
	{
		my ($name, $sql, $answer) = @$search;

		value($one, 'SET statement_timeout = ' . ($name eq 'flake_rewind' ? 0 : 1000));
		send_query($one, $sql);
		$node->poll_query_until('postgres',
			qq(SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%$name%' AND pid <> pg_backend_pid() AND (state <> 'active' OR wait_event_type = 'LWLock')))
		  or die 'it waits for something else';
		is(value($admin, q(SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'BufferContent')),
			0, "$name waits for no page of $locked")
		  or $mallory->close;
		like(join('', get_answer($one)), $answer, '... and ends');
	}
	$_->close foreach $mallory, $earlier, $later;
	wait_until(sub { (ask($one, "SELECT flake_rewind('hers_id', $first)"))[1] =~ /ERROR:  55000/ }, 'it is searched when the client is gone');
	value($admin, 'DROP TABLE hers.a, hers.t');
}

# While a search waits for a page of the second of three tables, a row goes from the
# third one to the first one.  The server is stopped meanwhile, as patience has an end.
($earlier, $later, $mallory) = map { connect_silent() } 1 .. 3;
value($admin, q(
CREATE TABLE archive (id bigint);
GRANT ALL ON archive TO mallory));
$mallory->request(q(
CREATE TABLE hers.a (n int);
CREATE TABLE hers.t (id bigint DEFAULT flake_id(2, 'hers_id'), n int);
INSERT INTO hers.t VALUES (1, 1)));
value($admin, q(
ALTER TABLE archive ALTER id SET DEFAULT flake_id(2, 'hers_id');
CREATE TABLE parcel (id bigint DEFAULT flake_id(2, 'hers_id'));
INSERT INTO parcel DEFAULT VALUES));
$mallory->request('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM hers.a');
$later->request('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM hers.t');
$earlier->request('BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO hers.a VALUES (1); COMMIT');
send_silent($mallory, 'INSERT INTO hers.t VALUES (5, 1)');
wait_until_stuck($mallory);
value($one, 'SET statement_timeout = 0');
my $searcher = value($one, 'SELECT pg_backend_pid()');
send_query($one, "SELECT flake_rewind('hers_id', $first)");
$node->poll_query_until('postgres', "SELECT wait_event_type = 'Extension' FROM pg_stat_activity WHERE pid = $searcher")
  or die 'it does not wait for a page';
kill STOP => $searcher;
value($admin, 'WITH moved AS (DELETE FROM parcel RETURNING id) INSERT INTO archive SELECT id FROM moved');
$mallory->close;
wait_until(sub { value($admin, 'SELECT count(*) FROM pg_stat_activity WHERE pid = ' . $mallory->pid) == 0 },
	'the page is let go');
kill CONT => $searcher;
like((get_answer($one))[1], qr/ERROR:  55000: cannot rewind generator "hers_id" below ids that are in use.*Column public.parcel.id/s,
	'an id is found although its row was moved to a table that was searched before');
$_->close foreach $earlier, $later;
value($admin, 'DROP TABLE archive, parcel, hers.a, hers.t; DROP SEQUENCE hers_id');

# A page of an index: an entry that is too long is an error while it is locked.
value($admin, q(
CREATE TABLE wide (id bigint DEFAULT flake_id(1), big text, n int);
CREATE INDEX ON wide (id, big);
GRANT ALL ON wide TO mallory;
INSERT INTO wide (n) VALUES (1);
));
$mallory = connect_silent();
send_silent($mallory,
	q(INSERT INTO wide (id, big) SELECT 1, string_agg(md5(random()::text), chr(32)) FROM generate_series(1, 200)));
wait_until_stuck($mallory);
value($one, q(RESET ROLE; SET statement_timeout = '10s'));
foreach my $sql (
	'SELECT count(*) > 0 FROM flake_health',
	q(SELECT count(*) > 0 FROM flake_replace_ids('wide', 'id', 1, NULL, dry_run => true)))
{
	unlike(code($one, $sql), qr/^57/, "with a page of an index locked: $sql");
}
$mallory->close;
value($one, 'RESET statement_timeout; DROP TABLE wide');

# So of the names of owners, by hand
value($admin, q(GRANT SELECT, INSERT, UPDATE ON flake_leases TO mallory));
my ($shard) = split /\|/, value($one, q(SELECT shard FROM flake_lease('kept', '1 hour', 'app_id')));
my $long = q((SELECT string_agg(md5(random()::text), chr(32)) FROM generate_series(1, 200)));
foreach my $sql (
	qq(INSERT INTO flake_leases SELECT 'app_id'::regclass, $shard + 1, $long, 'mallory', now(), now(), now()),
	qq(UPDATE flake_leases SET owner = $long))
{
	$mallory = connect_silent();
	send_silent($mallory, $sql);
	wait_until_stuck($mallory);
	send_query($one, q(SELECT count(*) FROM flake_lease('other', '1 hour', 'app_id')));
	$node->poll_query_until('postgres',
		q(SELECT count(*) > 0 FROM pg_stat_activity WHERE query LIKE '%flake_lease%' AND pid <> pg_backend_pid() AND (state = 'idle' OR wait_event_type = 'LWLock')))
	  or die 'it waits for something else';
	is(value($admin, q(SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'BufferContent')), 0,
		'flake_lease() waits for no page of an index: ' . substr $sql, 0, 6);
	$mallory->close;
	is((get_answer($one))[0], 1, 'and goes on');
	is(value($admin, q(SELECT max(length(owner)) FROM flake_leases)), 5, 'without the long name');
}
like((ask($admin, qq(INSERT INTO flake_leases SELECT 'app_id'::regclass, $shard + 5, repeat('x', 256), 'postgres', now(), now(), now())))[1],
	qr/WARNING:  01000: skipped a row of table "flake_leases" for shard \d+, because the name of its owner is too long/, 'it is said');
is(code($admin, q(UPDATE flake_leases SET owner = repeat('x', 256) WHERE owner = 'kept')), '22023', 'an UPDATE is an error');
like(code($admin, q(UPDATE flake_leases SET owner = repeat('x', 255) WHERE owner = 'kept')), qr/^none/, '255 bytes fit');
value($admin, 'DELETE FROM flake_leases; DELETE FROM flake_shard_state; REVOKE ALL ON flake_leases FROM mallory');

# A page of the map of servers, into which its creator can insert
value($admin, q(GRANT SELECT, INSERT ON flake_shard_map TO mallory; INSERT INTO flake_shard_map VALUES ('[100,199]', 'one');)
	  . q(SELECT FROM flake_lease('late', '1 hour', 'app_id');)
	  . q(UPDATE flake_leases SET not_before = not_before - interval '1 day', expires_at = expires_at - interval '1 day'));
($earlier, $later, $mallory) = map { connect_silent() } 1 .. 3;
$mallory->request('CREATE TABLE hers.a (n int)');
$mallory->request('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM hers.a');
$later->request('BEGIN ISOLATION LEVEL SERIALIZABLE; SELECT count(*) FROM flake_shard_map');
$earlier->request('BEGIN ISOLATION LEVEL SERIALIZABLE; INSERT INTO hers.a VALUES (1); COMMIT');
send_silent($mallory, q(INSERT INTO flake_shard_map VALUES ('[300,399]', 'two')));
wait_until_stuck($mallory);
foreach my $sql (q(SELECT count(*) FROM flake_lease('new', '1 hour', 'app_id')), q(SELECT count(*) FROM flake_lease('late', '1 hour', 'app_id')),
	q(SELECT flake_renew('late', '1 hour', 'app_id')))
{
	send_query($one, $sql);
	$node->poll_query_until('postgres',
		q(SELECT count(*) > 0 FROM pg_stat_activity WHERE query ~ 'flake_(lease|renew)' AND pid <> pg_backend_pid() AND (state <> 'active' OR wait_event_type = 'LWLock')))
	  or die 'it waits for something else';
	is(value($admin, q(SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'BufferContent')), 0, "waits for no page of the map: $sql")
	  or $mallory->close;
	like(join('', get_answer($one)), qr/ERROR:  55P03: could not lock a page of relation "flake_shard_map"/, '... and ends');
}
$_->close foreach $mallory, $earlier, $later;
wait_until(sub { (ask($one, q(SELECT flake_renew('late', '1 hour', 'app_id'))))[1] eq '' }, 'it is renewed when the client is gone');
value($admin, 'DROP TABLE hers.a; DELETE FROM flake_leases; DELETE FROM flake_shard_state; DELETE FROM flake_shard_map; REVOKE ALL ON flake_shard_map FROM mallory');

# The user's setting is as it was, after an error, too.
$mallory = connect_silent('SET client_min_messages = log');
value($admin, 'SELECT flake_detach(79)');
is($mallory->request('SELECT flake_id(79)')->{code}, '55000', 'a shard is refused');
is( $mallory->request('SHOW client_min_messages')->{rows}[0][0][0],
	'log', 'and messages come as the user has set it');
like( $mallory->request('SELECT flake_id(80)')->{rows}[0][0][0],
	qr/^\d+$/, 'a shard is opened');
is( $mallory->request(q(DO $$ BEGIN RAISE WARNING 'heard'; END $$))->{warnings}[0],
	'heard', 'and messages come');
$mallory->close;

end_session($_) foreach $one, $two, $waiter, $admin;
$node->stop;
done_testing();
