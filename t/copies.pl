# Copyright (c) 2026, the flakeid developers

# A copy of a server, after the statements of docs/runbooks.md as they are there,
# mints nothing that its original mints, leases nothing, and mints for all of its
# tables: a copy by pg_basebackup, and one of the files of a server that was
# stopped.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeDoc;
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $count = 100_000;

my ($block) =
  grep { $_->{language} eq 'sql' && $_->{headings}[-1] eq 'This server is a copy' }
  blocks("$FindBin::RealBin/../docs/runbooks.md");
my $statements = $block->{text};

my $main = start_server(
	'main',
	allows_streaming => 1,
	conf => 'max_prepared_transactions = 2',
	sql => q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('photo_id', 'ts:41 shard:13 seq:10 epoch=2026-01-01');
CREATE ROLE app;
GRANT CREATE ON SCHEMA public TO app;
SET ROLE app;
CREATE TABLE post (id bigint PRIMARY KEY DEFAULT flake_id(5),
                   CHECK (flake_shard(id) = 5));
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT flake_id(6)) PARTITION BY RANGE (id);
SELECT flake_create_partitions('event', '1 month', now() - interval '1 month', now() + interval '1 month');
RESET ROLE;
CREATE TABLE comment (id bigint PRIMARY KEY DEFAULT flake_id());
CREATE TABLE photo (id bigint PRIMARY KEY DEFAULT flake_id(5, 'photo_id'));
CREATE TABLE wide (id uuid PRIMARY KEY DEFAULT flake_uuid(), object text UNIQUE DEFAULT flake_objectid());
ALTER DATABASE postgres SET flakeid.shard = 6;
SELECT flake_attach(5);
SELECT * FROM flake_lease('billing-7', '1 hour');
));
my %columns = (
	post => 'id', event => 'id', comment => 'id', photo => 'id',
	wide => "id || ' ' || object");

# Each table gets rows.
sub insert_all
{
	my ($node) = @_;

	$node->safe_psql('postgres',
		"INSERT INTO $_ SELECT FROM generate_series(1, $count)")
	  foreach sort keys %columns;
	return;
}

# The ids in a table, those of UUIDs and ObjectIDs one by one.
sub all_ids
{
	my ($node, $table) = @_;

	return split /\s+/,
	  $node->safe_psql('postgres', "SELECT $columns{$table} FROM $table");
}

sub check_copy
{
	my ($how, $copy) = @_;

	$copy->safe_psql('postgres', "DELETE FROM $_") foreach sort keys %columns;
	$copy->safe_psql('postgres', $statements);
	$copy->poll_query_until('postgres',
		q(SELECT coalesce(current_setting('flakeid.worker', true), '') <> ''),
		't') or die 'the worker is not set';

	# At the same time, so that the clock does not help.
	my $pid = fork;
	die "could not fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		eval { insert_all($copy); 1 } or print STDERR $@;
		require POSIX;
		POSIX::_exit($@ ? 1 : 0);
	}
	insert_all($main);
	waitpid $pid, 0;
	is($?, 0, "$how: all tables go on minting");

	foreach my $table (sort keys %columns)
	{
		my @copied = all_ids($copy, $table);
		my %ids = map { $_ => 1 } all_ids($main, $table);

		cmp_ok(scalar(@copied), '>=', $count, "$how: $table has its ids");
		is(scalar(grep { $ids{$_} } @copied), 0,
			"$how: none of $table is the original's");
	}

	# What the tables do not mint
	foreach my $sql (
		'SELECT flake_id(5)',
		'SELECT flake_id(7)',
		"SELECT flake_id(8, 'photo_id')",
		"SELECT flake_id(5, 'photo_id')")
	{
		my (undef, undef, $err) = $copy->psql('postgres', $sql);
		like($err, qr/ERROR:  shard \d is (detached|not attached)/,
			"$how: refused is $sql");
	}

	# Leases
	foreach my $sql (
		"SELECT flake_renew('billing-7', '1 hour')",
		"SELECT flake_lease('billing-7', '1 hour')",
		"SELECT flake_lease('other', '1 hour')")
	{
		my (undef, undef, $err) = $copy->psql('postgres', $sql);
		like($err, qr/ERROR:  .*(no lease|no shard left)/,
			"$how: refused is $sql");
	}
	is($copy->safe_psql('postgres', 'SELECT count(*) FROM flake_leases'),
		0, "$how: no lease is left");
	like(
		$main->safe_psql('postgres', "SELECT flake_renew('billing-7', '1 hour')"),
		qr/^\d/, "$how: the original's lease is as it was");

	# It does not depend on what is in shared memory, or in a setting.
	$copy->stop('immediate');
	$copy->start;
	my (undef, undef, $err) = $copy->psql('postgres', 'SELECT flake_id(7)');
	like($err, qr/shard 7 is not attached/, "$how: nor after a crash");
	return;
}

insert_all($main);
$main->backup('base');
my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($main, 'base');
$clone->start;
check_copy('pg_basebackup', $clone);

# The original finds what a copy has minted, if such a row is brought to it.
my $elsewhere = q(SELECT what, object FROM flake_health WHERE what = 'minted_elsewhere');
is($main->safe_psql('postgres', $elsewhere), '', 'nothing was minted elsewhere');
my $promoted = start_standby($main, 'promoted');
$promoted->promote;
my $id = $promoted->safe_psql('postgres',
	'SELECT pg_sleep(0.1); INSERT INTO post DEFAULT VALUES RETURNING id');
$id =~ s/^\s+//;
$main->safe_psql('postgres', "INSERT INTO post VALUES ($id)");
is( $main->safe_psql('postgres', $elsewhere),
	'minted_elsewhere|flake_default',
	'an id that a copy has minted is found');
$main->safe_psql('postgres', 'SELECT flake_detach(5)');
is($main->safe_psql('postgres', $elsewhere),
	'', 'not if others may mint the shard');
$main->safe_psql('postgres', "SELECT flake_attach(5, $id)");
$main->safe_psql('postgres', 'INSERT INTO post DEFAULT VALUES');
is($main->safe_psql('postgres', $elsewhere), '', 'nor once ids here are above');
is( ($main->psql('postgres', "SET ROLE app; $elsewhere"))[0],
	3, 'not everybody may look');
$_->stop foreach $promoted, $clone;

# Others wait until it is decided whether all shards are detached.
my ($one, $two, $three, $four) = new_sessions($main, 4);
value($two, 'SELECT flake_id(5)');
foreach my $end (qw(ROLLBACK COMMIT))
{
	ask($one, 'BEGIN; SELECT flake_detach_all()');
	send_query($two, 'SELECT flake_id(5)');
	send_query($three, "SELECT flake_id(77, 'photo_id')");
	send_query($four, "SELECT shard FROM flake_lease('$end', '1 hour')");
	wait_for_waiters($main, 3, "locktype = 'advisory'");
	is(code($one, 'SAVEPOINT s; SELECT flake_id(5)'),
		'55000', "$end: it counts for its own transaction");
	ask($one, 'ROLLBACK TO s');
	ask($one, $end);
	foreach my $session ($two, $three, $four)
	{
		my ($out, $err) = get_answer($session);
		like("$out$err",
			$end eq 'COMMIT' ? qr/ERROR:  (55000|53400: .* no shard left)/ : qr/^\d+$/m,
			"$end: who waited goes by it");
	}
}
$main->safe_psql('postgres', q(
DELETE FROM flake_shard_state WHERE shard = -1;
SELECT flake_attach(5), flake_release('ROLLBACK');
SELECT * FROM flake_lease('billing-7', '1 hour');
));

# A check that is not enforced stays so.
if ($main->pg_version >= 18)
{
	ask($one, 'CREATE TABLE loose (id bigint DEFAULT flake_id(1601), CONSTRAINT is_loose CHECK (flake_shard(id) = 1601) NOT ENFORCED)');
	value($one, "SELECT count(*) FROM flake_renumber('{1601}', '{1701}')");
	like( value($one, "SELECT pg_get_constraintdef(oid) FROM pg_constraint WHERE conname = 'is_loose'"),
		qr/1601,1701.* NOT ENFORCED$/,
		'a check that is not enforced stays so');
}

# flake_renumber() waits for those who insert rows, and for another one.
ask($one,
	'CREATE TABLE twice (a bigint DEFAULT flake_id(1001), b bigint DEFAULT flake_id(1002))');
ask($one, 'BEGIN; INSERT INTO twice DEFAULT VALUES');
send_query($two, "SELECT count(*) FROM flake_renumber('{1001}', '{1101}')");
send_query($three, "SELECT count(*) FROM flake_renumber('{1002}', '{1102}')");
wait_for_waiters($main, 2);
is(value($one, 'INSERT INTO twice DEFAULT VALUES RETURNING 1'),
	1, 'who inserts rows goes on to do so while shards are to be renumbered');
ask($one, 'COMMIT');
foreach my $session ($two, $three)
{
	my ($out, $err) = get_answer($session);
	is($err, '', 'shards are renumbered after that, by two at once');
}
is( value($one,
		'INSERT INTO twice DEFAULT VALUES RETURNING flake_shard(a) + flake_shard(b)'),
	1101 + 1102,
	'each has the numbers that it got');

# A shard is not attached that somebody has just detached, attached or leased.
foreach my $change ('flake_detach(1201)', 'flake_attach(1202)')
{
	my ($shard) = $change =~ /(\d+)/;

	ask($one, "BEGIN; SELECT $change");
	send_query($two, "SELECT flake_renumber('{1101}', '{$shard}')");
	wait_for_waiters($main, 1, "locktype = 'advisory'");
	ask($one, 'COMMIT');
	like((get_answer($two))[1], qr/55000/, "$change: its shard is in use then");
}

my ($out, $err);

# It locks all tables and shards at once or none, so none of its tables is locked
# while it waits for a shard.
ask($one, 'CREATE TABLE atonce (a bigint DEFAULT flake_id(1301), b int)');
ask($one, 'BEGIN; SELECT flake_detach(1301), flake_detach(1303)');
send_query($two, "SELECT count(*) FROM flake_renumber('{1301}', '{1401}')");
wait_for_waiters($main, 1, "locktype = 'advisory'");
is(code($one, 'INSERT INTO atonce VALUES (1, 1)') =~ s/, but.*//sr,
	'none', 'who changes a shard goes on to insert rows');
ask($three, 'CREATE TABLE atonce_new (a bigint DEFAULT flake_id(1301))');
ask($one, 'COMMIT');
($out, $err) = get_answer($two);
is($err, '', 'it goes on after that');
is( value(
		$one,
		q(SELECT string_agg(pg_get_expr(adbin, adrelid), ' ') FROM pg_attrdef
		  WHERE adrelid IN ('atonce'::regclass, 'atonce_new'::regclass))),
	'flake_id(1401) flake_id(1401)',
	'also with a table that was made meanwhile');

# One call of several in a transaction waits for no table of another.
ask($one, "BEGIN; SELECT flake_renumber('{1302}', '{1402}')");
send_query($two, "SELECT flake_renumber('{1401}', '{1501}'), flake_renumber('{1304}', '{1302}')");
wait_for_waiters($main, 1, "locktype = 'advisory'");
is( code($one, "SET lock_timeout = '3s'; SELECT flake_renumber('{1305}', '{1405}')") =~ s/, but.*//sr,
	'none', 'another call does not wait for a table that is being renumbered');
ask($one, 'COMMIT; RESET lock_timeout');
is(error_code(get_answer($two)), '55000', 'the first shards are in use then');

# Who changes a shard or a lease comes before it, or after.  Each case: what is
# begun before flake_detach_all() and ends it, and what is tried meanwhile.
my $detach = "SELECT flake_detach_all('raced')";
my $shards =
  q(SELECT string_agg(concat(shard, ' ', attached), ', ' ORDER BY shard)
    FROM flake_shard_state WHERE generator = 'raced'::regclass);
foreach my $end ([ 'COMMIT', 'COMMIT' ], [ "PREPARE TRANSACTION 'p'", "COMMIT PREPARED 'p'" ])
{
	ask($one, "SELECT flake_create_generator('raced', 'seq:40 shard:4 block=10')");
	ask($one, "BEGIN; SELECT flake_attach(5, 16000005, 'raced')");
	ask($one, $end->[0]) if $end->[0] ne $end->[1];
	send_query($two, $detach);
	wait_for_waiters($main, 1, "locktype = 'advisory'");
	is(value($three, 'SELECT flake_id(3) > 0'),
		't', "$end->[1]: others go on while it waits");
	is(value($three, "SELECT flake_id(7, 'raced') > 0"),
		't', "$end->[1]: also others of that generator");
	ask($one, $end->[1]);
	get_answer($two);
	is(value($one, $shards), '-1 f, 5 f', "$end->[1]: an open attach is detached");
	is( value(
			$one,
			q(SELECT after >= 16000005 FROM flake_shard_state
			  WHERE generator = 'raced'::regclass AND shard = 5)),
		't',
		"$end->[1]: and its bound kept");
	is(code($one, "SELECT flake_id(5, 'raced')"), '55000', "$end->[1]: not minted");
	ask($one, 'DROP SEQUENCE raced');
}

# Two who attach do not wait for each other.
ask($one, "SELECT flake_create_generator('raced')");
ask($one, "BEGIN; SELECT flake_attach(5, generator => 'raced')");
is(value($two, "SELECT 1 FROM flake_attach(6, generator => 'raced')"),
	'1', 'two shards are attached at the same time');
ask($one, 'COMMIT');

# A lease is not renewed, attached over, or given anew through it.
my $leased = value($one, "SELECT shard FROM flake_lease('x', '1 hour', 'raced')");
ask($one, "BEGIN; $detach");
send_query($two, "SELECT flake_renew('x', '2 days', 'raced')");
send_query($three, "SELECT flake_attach($leased, generator => 'raced')");
send_query($four, "SELECT flake_lease('y', '1 hour', 'raced')");
wait_for_waiters($main, 3, "locktype = 'advisory'");
ask($one, 'COMMIT');
($out, $err) = get_answer($two);
like($err, qr/42704/, 'a lease is not renewed through it');
($out, $err) = get_answer($four);
like($err, qr/53400/, 'nor given anew');
($out, $err) = get_answer($three);
is( value(
		$one,
		qq(SELECT flake_timestamp(after) > now() + interval '1 hour' FROM flake_shard_state
		   WHERE generator = 'raced'::regclass AND shard = $leased)),
	't',
	'who attaches the shard then does so with the end of its lease');
is( value(
		$one, "SELECT count(*) FROM flake_leases WHERE generator = 'raced'::regclass"),
	0,
	'no lease is left');

# Nor is a lease that is over taken through it.
ask($one,
	"DROP SEQUENCE raced; SELECT flake_create_generator('raced'); SET flakeid.max_ahead = 0"
);
ask($two, 'SET flakeid.max_ahead = 0');
ask($one, "SELECT flake_lease('x', '1 ms', 'raced'), pg_sleep(0.1)");
ask($one, "BEGIN; $detach");
send_query($two, "SELECT flake_lease('y', '1 hour', 'raced')");
wait_for_waiters($main, 1, "locktype = 'advisory'");
ask($one, 'COMMIT');
($out, $err) = get_answer($two);
like($err, qr/53400/, 'a lease that is over is not taken through it');
ask($_, 'RESET flakeid.max_ahead') foreach $one, $two;
ask($one, 'DROP SEQUENCE raced');

# What others do with their generators does not make it fail, or hold up anybody.
ask($two, 'CREATE ROLE mallory; CREATE SCHEMA m AUTHORIZATION mallory');
ask($two, "SET ROLE mallory; SET search_path = m, public");
ask($two, "SELECT flake_create_generator(g) FROM unnest('{unlogged,dropped}'::text[]) g");
value($one, "SELECT flake_attach(5, generator => 'm.unlogged'), flake_lease('z', '1 hour', 'm.unlogged')");
my $unlogged = $main->pg_version >= 15;
ask($two, 'ALTER SEQUENCE unlogged SET UNLOGGED') if $unlogged;
ask($two, 'BEGIN; DROP SEQUENCE dropped');
send_query($one, 'BEGIN; SELECT flake_detach_all()');
wait_for_waiters($main, 1, "locktype = 'relation'");
is(value($three, 'SELECT flake_id(4321) > 0'),
	't', 'a first id is minted while it waits for a sequence');
ask($two, 'COMMIT');
($out, $err) = get_answer($one);
is($err, '', 'a generator that was dropped meanwhile, or is unlogged, is no error');
ask($one, 'COMMIT');
ask($two, 'ALTER SEQUENCE unlogged SET LOGGED') if $unlogged;
is(code($two, "SELECT flake_id($_, 'unlogged')"),
	'55000', "unlogged, its shard $_ was detached, too")
  foreach 5, 6;
is(code($one, "SELECT flake_renew('z', '1 hour', 'm.unlogged')"),
	'42704', 'and its lease ended');
ask($two, 'RESET ROLE; RESET search_path; DROP OWNED BY mallory; DROP ROLE mallory');
ask($one, 'DELETE FROM flake_shard_state WHERE shard = -1');
ask($one, "SELECT flake_attach(5)");

# mallory, who has generators of her own, holds up nobody: neither by detaching all
# of one, nor by a transaction that flake_detach_all() or flake_accept_restore() of
# a superuser waits for.
ask($two, 'CREATE ROLE mallory; CREATE SCHEMA m AUTHORIZATION mallory');
ask($one, "SELECT flake_create_generator('theirs')");
ask($two, 'SET ROLE mallory; SET search_path = m, public');
value($two, "SELECT flake_create_generator('hers')");
ask($_, "SET statement_timeout = '20s'") foreach $three, $four;

# That everybody else uses generators; $shard has not been used before.
sub others_go_on
{
	my ($shard, $name) = @_;
	my $begin = "BEGIN; SET LOCAL statement_timeout = '20s'";

	is(code($three, "$begin; SELECT 1/count(flake_id($shard))/0"),
		'22012', "$name: a shard's first id");
	is(code($three, "ROLLBACK; $begin; SELECT 1/count(flake_id($shard, 'theirs'))/0"),
		'22012', "$name: of another generator");
	is(code($three, "ROLLBACK; $begin; SELECT 1/count(flake_detach($shard, 'theirs'))/0"),
		'22012', "$name: a shard is detached");
	is( code(
			$three,
			"ROLLBACK; $begin; SELECT 1/count(shard)/0 FROM flake_lease('other', '1 hour', 'theirs')"),
		'22012',
		"$name: and leased");
	is(code($three, "ROLLBACK; $begin; ALTER SEQUENCE theirs CACHE 1; SELECT 1/0"),
		'22012', "$name: and its sequence changed");
	ask($three, 'ROLLBACK');
	return;
}

ask($two, "BEGIN; SELECT flake_detach_all('hers')");
others_go_on(2001, 'she has detached all of hers');
ask($two, "PREPARE TRANSACTION 'hers'");
others_go_on(2002, 'and prepares that');
ask($two, "ROLLBACK PREPARED 'hers'");
my $waits = qq(pid = @{[ value($one, 'SELECT pg_backend_pid()') ]});
foreach my $hers (
	"SELECT flake_detach(1, 'hers')",
	"SELECT flake_detach_all('hers')",
	'ALTER SEQUENCE hers CACHE 1')
{
	foreach my $call ('flake_detach_all()', 'flake_accept_restore()')
	{
		next if $call eq 'flake_accept_restore()' && $hers !~ /ALTER/;
		ask($two, "BEGIN; $hers");
		send_query($one, "BEGIN; SELECT $call");
		wait_for_waiters($main, 1, $waits);
		others_go_on(2003 + length($hers) + length($call), "$call waits for $hers");
		ask($two, 'COMMIT');
		is((get_answer($one))[1], '', "$call goes on after that");
		if ($call eq 'flake_detach_all()')
		{
			my $try = "SET lock_timeout = '100ms'; SELECT flake_id(2, 'hers')";
			is(code($two, $try), '55P03', "$call: then nobody opens a shard of hers");
			is(code($four, $try =~ s/hers/theirs/r), '55P03', "$call: nor of another");
			ask($_, 'RESET lock_timeout') foreach $two, $four;
		}
		ask($one, 'ROLLBACK');
	}
}

# A row that somebody writes by hand, as a restore does, is waited for in the same way.
foreach my $row (
	[ 'UPDATE flake_shard_state SET after = 4611686018427387904 WHERE generator = \'theirs\'::regclass AND shard = 5', 'a row' ],
	[ q(INSERT INTO flake_shard_state VALUES ('theirs', -1, false, NULL, now())), 'that of all shards' ],
	[ q(INSERT INTO flake_leases VALUES ('theirs', 5, 'by hand', current_user, now(), now() + interval '1 hour', now())), 'a lease' ])
{
	my ($write, $name) = @$row;

	value($one, "SELECT 1 FROM flake_attach(5, generator => 'theirs')");
	value($two, 'RESET ROLE; BEGIN');
	ask($two, $write);
	send_query($one, 'SELECT flake_detach_all()');
	wait_for_waiters($main, 1, "$waits AND locktype = 'transactionid'");
	others_go_on(2200 + length $write, "$name is being written by hand");
	is((ask($two, 'COMMIT'))[1], '', "$name: can be committed");
	is((get_answer($one))[1], '', "$name: and flake_detach_all() goes on");
	is(code($three, "SELECT flake_id(5, 'theirs')"), '55000', "$name: nothing is minted then");
	is( value(
			$one,
			q(SELECT after >= 4611686018427387904 FROM flake_shard_state WHERE generator = 'theirs'::regclass AND shard = 5)),
		't',
		"$name: the bound that was written is kept");
	ask($one, 'DELETE FROM flake_shard_state WHERE shard = -1');
}

# Who has detached all goes on to attach a shard that others want to mint.
ask($one, "BEGIN; SELECT flake_detach_all('theirs')");
send_query($three, "SELECT flake_id(6, 'theirs') > 0");
wait_for_waiters($main, 1, "locktype = 'advisory'");
is((ask($one, "SELECT flake_attach(6, generator => 'theirs')"))[1],
	'', 'attached while its first id is waited for');
ask($one, 'COMMIT');
is(join('', get_answer($three)), 't', 'and minted after that');
ask($_, 'RESET statement_timeout') foreach $three, $four;
ask($two, 'RESET search_path; DROP OWNED BY mallory; DROP ROLE mallory');
ask($one, 'DROP SEQUENCE theirs; DELETE FROM flake_shard_state WHERE shard = -1');
ask($one, 'SELECT flake_attach(5)');

# Who has changed shards of two generators detaches all, though others wait for each.
ask($one, "SELECT flake_create_generator('waited_$_')") foreach 1, 2;
ask($one, 'BEGIN');
ask($one, "SELECT flake_detach(7, 'waited_$_')") foreach 1, 2;
send_query($three, "SELECT flake_detach_all('waited_1')");
send_query($four, "SELECT flake_detach_all('waited_2')");
wait_for_waiters($main, 2, "locktype = 'advisory'");
is((ask($one, "SET LOCAL statement_timeout = '20s'; SELECT flake_detach_all()"))[1],
	'', 'it does not wait for who waits for its transaction');
is(value($one, 'SHOW lock_timeout'), 0, 'and its lock_timeout stays as it is');
ask($one, 'ROLLBACK');
is((get_answer($_))[1], '', 'nor do these wait for ever') foreach $three, $four;

# But it does wait for who has changed shards himself.
ask($_, 'BEGIN') foreach $one, $two;
foreach my $name ('waited_1', 'waited_2')
{
	ask($one, "SELECT flake_detach(7, '$name')");
	ask($two, "SELECT flake_detach(8, '$name')");
}
send_query($one, 'SELECT flake_detach_all()');
wait_for_waiters($main, 1, "locktype = 'advisory'");
ask($two, 'SELECT pg_sleep(0.5); COMMIT');
is((get_answer($one))[1], '', 'others that have changed shards are waited for');
ask($one, 'ROLLBACK');
ask($one, 'DROP SEQUENCE waited_1, waited_2');

# A generator that is not logged, and was minted before the server started: what is said
# of its shards is at or above all ids.
ask($one, $_) foreach q(SELECT flake_create_generator('unlogged_id')), q(SELECT flake_attach(5, generator => 'unlogged_id'));
my $before = value($one, q(SELECT flake_id(5, 'unlogged_id')));
end_session($_) foreach $one, $two, $three, $four;
$main->restart;
($one, $two, $three, $four) = new_sessions($main, 4);
ask($one, 'BEGIN; ALTER SEQUENCE unlogged_id SET UNLOGGED; SELECT flake_detach_all()');
cmp_ok(value($one, q(SELECT after FROM flake_shards WHERE generator = 'unlogged_id'::regclass AND shard = 5)),
	'>=', $before, 'a generator that is not logged: its bound is at or above its ids');
ask($one, 'ROLLBACK; DROP SEQUENCE unlogged_id');

# It makes no slot for what is in the table.
ask($one, "SELECT flake_create_generator('many')");
ask($one, "INSERT INTO flake_shard_state SELECT 'many'::regclass, i, false, NULL, now() FROM generate_series(1, 3000) i");
ask($one, "SELECT flake_detach_all('many')");
is( value(
		$one, "SELECT count(*) FROM flake_stat WHERE generator = 'many'::regclass"),
	0,
	'no slots are made for shards that are not minted');
ask($one, 'DROP SEQUENCE many');
$main->safe_psql('postgres', "SELECT * FROM flake_lease('billing-7', '1 hour')");
end_session($_) foreach $one, $two, $three, $four;

$main->stop;
$main->backup_fs_cold('cold');
my $cold = PostgreSQL::Test::Cluster->new('cold');
$cold->init_from_backup($main, 'cold');
$_->start foreach $main, $cold;
check_copy('files', $cold);
$_->stop foreach $cold, $main;

done_testing();
