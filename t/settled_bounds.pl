# Copyright (c) 2026, the flakeid developers

# A bound of flake_settled() is below the ids of every transaction that is open, and
# of every one that the snapshot it is used with does not see.  No id that comes later is
# at or below it: in shards that nobody has used, with a clock that is set back, after a
# restart, and with layouts without time.  flake_rewind() does not go below it.  And a
# clock that is wrong for a moment leaves no shard waiting if only bounds were asked for.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	conf => q(
max_prepared_transactions = 2
autovacuum = off			# its transactions would end between others
flakeid.max_ahead = '1min'
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE event (id bigint PRIMARY KEY);
SELECT flake_create_generator('named');
SELECT flake_create_generator('other_' || i) FROM generate_series(1, 5) AS i;
SELECT flake_create_generator('numbers', 'seq:63 block=100');
SELECT flake_create_generator('dense', 'shard:4 seq:40 block=100');
CREATE FUNCTION wait_and_ask() RETURNS bigint STABLE LANGUAGE plpgsql AS
	'BEGIN PERFORM pg_advisory_lock(1); RETURN flake_settled(); END';
CREATE FUNCTION ask_twice() RETURNS boolean LANGUAGE plpgsql AS
	'DECLARE first bigint := flake_settled(); BEGIN PERFORM pg_advisory_lock(1); RETURN flake_settled() > first; END';
));
my ($writer, $reader, $other);

sub connect_anew
{
	end_session(grep { defined } $writer, $reader, $other);
	($writer, $reader, $other) = new_sessions($node, 3);
	return;
}

sub restart
{
	end_session($writer, $reader, $other);
	$writer = $reader = $other = undef;
	$node->stop('fast');
	start_with_clock($node, $clock);
	connect_anew();
	return;
}

sub settled
{
	my ($session, $arguments) = @_;

	return value($session, 'SELECT flake_settled(' . ($arguments // '') . ')');
}

# Waits until a bound is at or above an id, and returns it.
sub settles
{
	my ($id, $arguments) = @_;
	my $bound;

	wait_until(
		sub {
			$bound = settled($reader, $arguments);
			return $bound ne '' && $bound >= $id;
		},
		"$id is settled");
	return $bound;
}

sub insert
{
	my ($session, $shard) = @_;

	return value($session, "INSERT INTO event VALUES (flake_id($shard)) RETURNING id");
}

# Time goes by, so that the clock is past what was minted.
sub tick
{
	my $id = insert($other, 9);

	return settles($id);
}

connect_anew();
is(settled($reader), '', 'null before the first id');
is(settled($reader, q('named')), '', 'null before the first id of a generator');
my $id = insert($writer, 1);
my $bound = settles($id);
cmp_ok($bound, '>=', $id, 'what is committed is settled soon');

#
# Who holds it back.
#

value($writer, 'BEGIN');
my $held = insert($writer, 1);
value($other, 'SELECT pg_sleep(0.01)');
insert($other, 2);
$bound = settled($reader);
cmp_ok($bound, '<', $held, 'an open transaction holds bounds back');
is( value(
		$reader,
		"SELECT from_id <= $held AND pid IS NOT NULL AND generator = 'flake_default'::regclass"
		  . ' FROM flake_unsettled'),
	't', 'flake_unsettled shows it');
like(value($other, q(SELECT flake_id(1, 'named'))), qr/^\d+$/, 'another generator is used');
settles(value($other, q(SELECT flake_id(1, 'named'))), q('named'));
pass('not those of another generator');
value($writer, 'COMMIT');
settles($held);
pass('until it ends');

foreach my $case (
	[ 'ROLLBACK', 'one that is rolled back' ],
	[ 'COMMIT', 'one whose subtransaction has minted', 'SAVEPOINT a', 'ROLLBACK TO a' ])
{
	my ($end, $what, @around) = @$case;

	value($writer, join '; ', 'BEGIN', $around[0] // ());
	$held = insert($writer, 1);
	value($writer, $around[1]) if $around[1];
	value($other, 'SELECT pg_sleep(0.01)');
	cmp_ok(settled($reader), '<', $held, "$what holds bounds back");
	value($writer, $end);
	settles($held);
	pass("$what, until it ends");
}

value($writer,
	q(BEGIN; SELECT flake_settled(), flake_detach(20), flake_attach(20); INSERT INTO event VALUES (1)));
tick();
pass('one that has minted nothing holds nothing back');
value($writer, 'COMMIT');

# Each of five generators, where there is room for four.
value($writer, 'BEGIN');
value($writer, "SELECT flake_id(1, 'other_$_')") foreach 1 .. 5;
$held = insert($writer, 1);
value($other, 'SELECT pg_sleep(0.01)');
cmp_ok(settled($reader), '<', $held, 'one that has minted from six generators holds bounds back');
is(value($reader, 'SELECT count(*) FROM flake_unsettled WHERE generator IS NULL'),
	1, 'flake_unsettled shows that it does so in all');
value($writer, 'ROLLBACK');
settles($held);

# The process that ends without a word.
value($writer, 'BEGIN');
$held = insert($writer, 1);
value($other, "SELECT pg_terminate_backend(pid) FROM flake_unsettled");
settles($held);
pass('one whose session is terminated holds nothing back any more');
eval { end_session($writer) };
($writer) = new_sessions($node, 1);

#
# What comes later is above.
#

$bound = tick();
foreach my $back (-3, -20)
{
	set_clock($clock, $back);
	cmp_ok(insert($writer, 3000 - $back), '>', $bound,
		"the first id of a shard, the clock $back s behind");
}
value($writer, "SELECT flake_detach(3100); SELECT flake_attach(3100, $bound - (1000::bigint << 23))");
cmp_ok(insert($writer, 3100), '>', $bound, 'that of one attached below it');
cmp_ok(settled($reader), '>=', $bound, 'no bound is below it');
set_clock($clock, 0);
$bound = tick();
set_clock($clock, -10);
restart();
cmp_ok(insert($writer, 3200), '>', $bound, 'an idle shard after a restart, the clock behind');
cmp_ok(settled($reader), '>=', $bound, 'no bound is below it after a restart');
set_clock($clock, 0);
my $before_crash = settled($reader);
kill9_and_wait($node);
$_->{run}->finish foreach $writer, $reader, $other;
$writer = $reader = $other = undef;
set_clock($clock, -10);
start_with_clock($node, $clock);
wait_until_up($node);
connect_anew();
cmp_ok(settled($reader), '>=', $before_crash, 'no bound is below it after a crash');
cmp_ok(insert($writer, 3300), '>', $before_crash, 'an idle shard after a crash');
# Past the horizon from which ids went on.
set_clock($clock, 10);
connect_anew();
value($writer, 'BEGIN; DROP EXTENSION flakeid CASCADE; CREATE EXTENSION flakeid; COMMIT');
connect_anew();
cmp_ok(insert($writer, 3400), '>', $before_crash, 'an idle shard of a new extension');
$bound = tick();
cmp_ok($bound, '>=', $before_crash, 'no bound of a new extension is below');

#
# A clock that is an hour ahead for a moment, while everybody asks and nobody mints.
#

my $before_step = insert($writer, 1);
set_clock($clock, 3610);
settles($before_step);
pass('what was minted before is settled');
settled($reader) foreach 1 .. 100;
set_clock($clock, 10);
$id = insert($writer, 3500);
cmp_ok($id, '>', $before_step, 'the clock right again, an idle shard goes on');
is(value($reader, "SELECT abs(extract(epoch FROM flake_timestamp($id) - clock_timestamp())) < 1"),
	't', 'with the present time');

# Unless somebody says that it is right.
foreach my $how ('minted', 'accepted')
{
	value($writer, "SELECT flake_create_generator('$how')");
	$id = value($writer, "SELECT flake_id(1, '$how')");
	set_clock($clock, 3610);
	cmp_ok(settles($id, "'$how'"), '<', $id + (1000000 << 23), 'bounds do not follow the clock');
	value($writer, $how eq 'minted' ? "SELECT flake_id(1, 'minted')" : 'SELECT flake_accept_clock()');
	settles($id + (3000000 << 23), "'$how'");
	pass("they do when an id was minted, or the clock accepted: $how");
	set_clock($clock, 10);
	is(code($writer, "SELECT flake_id(2, '$how')"), '53400', "then all shards wait for it: $how");
	value($writer, 'SELECT flake_accept_clock()');
}

#
# The snapshot.
#

# The statement has its snapshot, and then what holds ends.
value($writer, 'BEGIN');
$held = insert($writer, 1);
value($other, 'SELECT pg_advisory_lock(1)');
send_query($reader, 'SELECT coalesce(wait_and_ask(), 0), (SELECT max(id) FROM event)');
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($writer, 'COMMIT');
my $second = insert($writer, 2);
value($writer, 'SELECT pg_sleep(0.01); SELECT pg_advisory_unlock_all()');
value($other, 'SELECT pg_advisory_unlock(1)');
my ($answer, $error) = get_answer($reader);
is($error, '', 'a bound for an older snapshot');
($bound, my $seen) = split /\|/, $answer;
cmp_ok($seen, '<', $held, 'the snapshot does not see what ended meanwhile');
cmp_ok($bound, '<', $held, 'nor is that at or below the bound');
value($reader, 'SELECT pg_advisory_unlock_all()');
settles($second);

# A later query in it has another bound, also if its snapshot has the same limits, and
# only what is running between them is other.
my $fourth = new_session($node);
value($_, 'BEGIN; SELECT txid_current()') foreach $writer, $fourth;
value($other, 'SELECT txid_current(), pg_advisory_lock(1)');
send_query($reader, 'SELECT ask_twice()');
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($fourth, 'COMMIT');
value($other, 'SELECT pg_sleep(0.01), pg_advisory_unlock(1)');
is(join('', get_answer($reader)), 't', 'a later query of the same statement has a later bound');
value($reader, 'SELECT pg_advisory_unlock_all()');
value($writer, 'COMMIT');
end_session($fourth);

# A statement asks more than once; in between, the row of the database in pg_database is
# another one, and what is known of the old one is forgotten.
value($other, 'SELECT pg_advisory_lock(1)');
send_query($reader, 'SELECT flake_settled(), pg_advisory_lock(1), flake_settled()');
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($other, 'ALTER DATABASE postgres CONNECTION LIMIT -1');
$node->safe_psql('postgres', 'SELECT flake_id(1)');
value($other, 'SELECT pg_sleep(0.01), pg_advisory_unlock(1)');
my ($first_bound, undef, $last_bound) = split /\|/, (get_answer($reader))[0];
is($last_bound, $first_bound, 'a statement has one bound');
value($reader, 'SELECT pg_advisory_unlock_all()');

# Or none: with rows of one scan but not of another, readers would go on above some that
# they have not got.
value($writer, q(SELECT flake_create_generator('not_asked')));
value($writer, q(SELECT flake_id(1, 'not_asked')));
value($writer, 'BEGIN; ' . join '; ', map { "SELECT flake_id(1, 'other_$_')" } 1 .. 5);
value($other, 'SELECT pg_advisory_lock(1)');
send_query($reader, q(SELECT flake_settled('not_asked'), pg_advisory_lock(1), flake_settled('not_asked')));
wait_for_waiters($node, 1, q(locktype = 'advisory'));
value($writer, 'ROLLBACK');
value($other, 'SELECT pg_sleep(0.01), pg_advisory_unlock(1)');
is((get_answer($reader))[0], '||', 'a statement that begins with no bound goes on with none');
isnt(settled($reader, q('not_asked')), '', 'the next one has a bound');
value($reader, 'SELECT pg_advisory_unlock_all()');

# REPEATABLE READ.
value($writer, 'BEGIN');
$held = insert($writer, 1);
$bound = settled($reader);
value($reader, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
value($reader, 'SELECT count(*) FROM event');
value($writer, 'COMMIT');
insert($other, 9);
value($other, 'SELECT pg_sleep(0.01)');
$answer = settled($reader);
cmp_ok($answer, '>=', $bound, 'REPEATABLE READ: a bound from before');
cmp_ok($answer, '<', $held, 'REPEATABLE READ: below what ended later');
is(settled($reader), $answer, 'REPEATABLE READ: and no other');
value($reader, 'COMMIT');
cmp_ok(settles($held), '>', $answer, 'REPEATABLE READ: the next transaction has a new one');

connect_anew();
value($reader, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM event');
$id = insert($writer, 1);
value($writer, 'SELECT pg_sleep(0.01)');
is(settled($reader), '', 'REPEATABLE READ: null where none is known');
value($reader, 'COMMIT');
settles($id);

# An exported snapshot that is older than what the session knows.
value($other, 'BEGIN ISOLATION LEVEL REPEATABLE READ');
my $snapshot = value($other, 'SELECT pg_export_snapshot()');
$id = insert($writer, 1);
$bound = settles($id);
value($reader, "BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT '$snapshot'");
$answer = value($reader, 'SELECT coalesce(flake_settled(), 0)');
cmp_ok($answer, '<', $id, 'SET TRANSACTION SNAPSHOT: a bound that is right for it');
value($_, 'COMMIT') foreach $reader, $other;

# A cursor's snapshot is that of DECLARE.
value($writer, 'BEGIN');
$held = insert($writer, 1);
value($other, 'SELECT pg_sleep(0.01)');
$second = insert($other, 2);
value($reader, 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM event WHERE id <= flake_settled() ORDER BY id');
value($reader, 'FETCH 1 FROM c');
value($writer, 'COMMIT');
insert($other, 2);
settled($reader);
my @fetched = split /\n/, value($reader, 'FETCH ALL FROM c');
cmp_ok($fetched[-1], '<', $held, 'a cursor goes by the bound with which it began');
value($reader, 'COMMIT');
settles($held);

# A generic plan is not planned again.
value($reader, q(SET plan_cache_mode = force_generic_plan;
	PREPARE p AS SELECT max(id) FROM event WHERE id <= flake_settled()));
foreach my $i (1 .. 3)
{
	$id = insert($writer, 1);
	wait_until(sub { value($reader, 'EXECUTE p') >= $id },
		'a prepared statement comes to a new bound');
}
pass('a prepared statement comes to new bounds');

#
# Prepared transactions, also from before a restart: as many as there may be, from
# one generator and from more than there is room for.
#

sub prepare_one
{
	my ($name, @generators) = @_;
	my $id;

	value($writer, 'BEGIN');
	value($writer, "SELECT flake_id(1, '$_')") foreach @generators;
	$id = insert($writer, 1);
	value($writer, "PREPARE TRANSACTION '$name'");
	return $id;
}

sub is_held
{
	my ($held, $what) = @_;
	my $bound;

	value($other, 'SELECT pg_sleep(0.01)');
	insert($other, 2);
	$bound = value($reader, 'SELECT coalesce(flake_settled(), 0)');
	cmp_ok($bound, '<', $held, $what);
	return;
}

foreach my $case ([ 'one generator' ], [ 'six generators', map { "other_$_" } 1 .. 5 ])
{
	my ($how, @generators) = @$case;
	my $before = prepare_one('before', @generators);

	is_held($before, "prepared, from $how");
	restart();

	# Before anybody asks.
	my $since = prepare_one('since', @generators);
	is_held($before, "prepared before a restart, from $how");
	is( value($reader, 'SELECT string_agg(DISTINCT prepared, $$ $$ ORDER BY prepared) FROM flake_unsettled'),
		'before since', "flake_unsettled shows both, from $how");
	value($writer, q(COMMIT PREPARED 'before'));
	is_held($since, "prepared since then, from $how");
	value($writer, q(ROLLBACK PREPARED 'since'));
	my $alone = prepare_one('alone', @generators);
	restart();
	is_held($alone, "prepared before a restart, from $how, and none since");
	value($writer, q(COMMIT PREPARED 'alone'));
	set_clock($clock, 30);
	settles($since) if @generators;
}

#
# flake_rewind(), and who has read further.
#

# 40 s ahead of the clock, so that ids can come below.
my $ahead = value($writer, q(SELECT flake_id(1, 'named'))) + (40000 << 23);
value($writer, "SELECT flake_advance('named', $ahead)");
$bound = settles($ahead, q('named'));
my $rewind = "SELECT flake_rewind('named', $ahead - (15000::bigint << 23)%s)";
my $refused = qr/^ERROR:  55000: cannot rewind generator "named" below what is settled/;
like((ask($writer, sprintf $rewind, ''))[1], $refused, 'no rewind below what is settled');
restart();
like((ask($writer, sprintf $rewind, ''))[1], $refused, 'nor after a restart');
value($writer, sprintf $rewind, ', force => true');
$id = value($writer, q(SELECT flake_id(1, 'named')));
cmp_ok($id, '<', $ahead, 'forced, ids come below');
my $lower = settled($reader, q('named'));
cmp_ok($lower eq '' ? 0 : $lower, '<', $bound, 'and so do bounds');
settled($reader, q('named'));
is(code($reader, "SELECT flake_tail($bound, 'named')"),
	'55000', 'and flake_tail() says so to whoever has read further');
# In two steps: the first one, above the bound, is all right.
value($writer, q(SELECT flake_create_generator('twice');
	CREATE TABLE twice_row (id bigint PRIMARY KEY DEFAULT flake_id(1, 'twice'));
	SELECT flake_advance('twice', flake_id(1, 'twice') + (40000::bigint << 23))));
$bound = settled($reader, q('twice'));
my $down = 'SELECT flake_rewind($$twice$$, ' . "$bound - (10000::bigint << 23)%s)";
value($writer, q(SELECT flake_id(1, 'twice')));
value($writer, "SELECT flake_rewind('twice', $bound)");
$refused = qr/^ERROR:  55000: cannot rewind generator "twice" below what is settled/;
like((ask($writer, sprintf $down, ''))[1], $refused, 'no second rewind below what is settled');
restart();
like((ask($writer, sprintf $down, ''))[1], $refused, 'nor after a restart');
value($writer, sprintf $down, ', force => true');
cmp_ok(value($writer, q(SELECT flake_id(1, 'twice'))), '<', $bound, 'forced, it works');
value($writer, q(SELECT flake_create_generator('numbered', 'seq:63 block=100');
	CREATE TABLE numbered_row (id bigint PRIMARY KEY DEFAULT flake_id(0, 'numbered'));
	SELECT max(id) FROM flake_ids(0, 50, 'numbered') AS id));
is(settled($reader, q('numbered')), 50, 'numbers are settled');
value($writer, q(SELECT flake_rewind('numbered', 60)));
like(
	(ask($writer, q(SELECT flake_rewind('numbered', 10))))[1],
	qr/^ERROR:  55000: cannot rewind generator "numbered" below what is settled/,
	'nor below that of numbers');

value($writer, q(SELECT flake_create_generator('unasked');
	CREATE TABLE unasked_row (id bigint PRIMARY KEY DEFAULT flake_id(1, 'unasked'));
	SELECT flake_advance('unasked', flake_id(1, 'unasked') + (40000::bigint << 23))));
value($writer, q(SELECT flake_rewind('unasked', flake_horizon('unasked') - (20000::bigint << 23))));
pass('a generator that nobody has asked is rewound');

#
# Layouts without time.
#

$id = value($writer, q(SELECT flake_id(0, 'numbers')));
is(settled($reader, q('numbers')), $id, 'numbers: the last one is settled');
value($writer, 'BEGIN');
$held = value($writer, q(SELECT flake_id(0, 'numbers')));
value($other, q(SELECT flake_id(0, 'numbers')));
is(settled($reader, q('numbers')), $held - 1, 'numbers: an open transaction holds bounds back');
value($writer, 'COMMIT');
is(settled($reader, q('numbers')), $held + 1, 'numbers: until it ends');
$bound = settled($reader, q('numbers'));
restart();
cmp_ok(value($writer, q(SELECT flake_id(0, 'numbers'))), '>', $bound, 'numbers: after a restart they go on above');
cmp_ok(settled($reader, q('numbers')), '>=', $bound, 'numbers: and so do bounds');

is(code($reader, q(SELECT flake_settled('dense'))), '0A000', 'no bound for several shards without time');
my @last = map { value($writer, "SELECT flake_id($_, 'dense')") } 1, 2;
value($writer, 'BEGIN');
$held = value($writer, q(SELECT flake_id(1, 'dense')));
my $free = value($other, q(SELECT flake_id(2, 'dense')));
is(settled($reader, q('dense', 1)), $last[0], 'without time an open transaction holds its shard back');
is(settled($reader, q('dense', 2)), $free, 'and no other');
is(code($reader, q(SELECT flake_tail(0, 'dense'))), '0A000', 'nor for flake_tail()');
is(value($reader, "SELECT flake_tail($_, 'dense', 1)"), $last[0], "flake_tail() from $_ on") foreach 0, $last[0];
value($writer, 'COMMIT');
is(settled($reader, q('dense', 1)), $held, 'until it ends');

# Shards that nothing was minted from since the start, but by prepared transactions.
value($writer, 'BEGIN');
$held = value($writer, q(SELECT flake_id(3, 'dense')));
value($writer, q(PREPARE TRANSACTION 'dense'));
value($writer, q(SELECT flake_id(4, 'dense')));
my %before = map { $_ => settled($reader, "'dense', $_") } 2 .. 5;
restart();
value($reader, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
my %after = map { $_ => settled($reader, "'dense', $_") } 2, 4, 5;
cmp_ok($after{$_}, '>=', $before{$_}, "shard $_ without a slot: bounds do not go down over a restart")
  foreach sort keys %after;
is(settled($other, q('dense', 3)), $held - 1, 'a prepared transaction holds its shard back');
is( value($reader, q(SELECT is_asked FROM _flake_holders() WHERE shard = 3)),
	't', 'which is asked');
is(value($other, 'SELECT count(*) FROM flake_stat'), 0, 'and none has got a slot');
value($writer, q(COMMIT PREPARED 'dense'));
$bound = settled($other, q('dense', 3));
cmp_ok($bound, '>', $held, 'until it ends');
$lower = settled($reader, q('dense', 3));
cmp_ok($lower eq '' ? 0 : $lower, '<', $held, 'an older snapshot does not see it, whatever other shards have');
value($reader, 'COMMIT');
value($writer, 'BEGIN');
cmp_ok(value($writer, q(SELECT flake_id(3, 'dense'))), '>', $bound, 'the first id is above the bound');
is(settled($other, q('dense', 3)), $bound, 'which stands still while that is open');
value($writer, 'COMMIT');

# setval() goes further than the layout.
value($writer, q(SELECT flake_create_generator('raised', 'shard:4 seq:10')));
value($writer, q(SELECT flake_id(3, 'raised')));
value($writer, q(SELECT setval('raised', 9000000000000000000)));
is(settled($reader, q('raised', 3)), 3 << 10 | 1023, 'beyond the last id of a shard there is no bound');
is(code($writer, q(SELECT flake_id(3, 'raised'))), '22003', 'nor an id');

#
# A long transaction that asks again and again.
#

# As the cursor began, it goes on, with neither the first bound nor the last.
value($writer, q(SELECT flake_id(0, 'numbers')));
settled($reader, q('numbers'));
value($writer, q(SELECT flake_id(0, 'numbers')));
value($reader, q(BEGIN; DECLARE c CURSOR FOR SELECT flake_settled('numbers') FROM generate_series(1, 2)));
$bound = value($reader, 'FETCH c');
my @bytes = map {
	for (1 .. 100)
	{
		value($other, q(INSERT INTO event VALUES (flake_id(0, 'numbers'))));
		settled($reader, q('numbers'));
	}
	value($reader, q(SELECT sum(used_bytes) FROM pg_backend_memory_contexts WHERE name LIKE 'flakeid%bounds'));
} 1 .. 3;
cmp_ok($bytes[2] - $bytes[1], '<', 10000, "what is kept does not grow: @bytes bytes");
cmp_ok(settled($reader, q('numbers')), '>', $bound, 'statements get later bounds meanwhile');
is(value($reader, 'FETCH c'), $bound, 'and a cursor goes on with the one that it began with');
value($reader, 'COMMIT');

# One that asks late has a bound from shortly before it began.
my @asked = map {
	value($other, q(INSERT INTO event VALUES (flake_id(0, 'numbers'))));
	settled($reader, q('numbers'));
} 1 .. 60;
value($reader, q(BEGIN; DECLARE c CURSOR FOR SELECT flake_settled('numbers')));
foreach (1 .. 4)
{
	value($other, q(INSERT INTO event VALUES (flake_id(0, 'numbers'))));
	settled($reader, q('numbers'));
}
$bound = value($reader, 'FETCH c');
cmp_ok($bound, '>', $asked[29], 'a cursor that asks late has none from long before');
cmp_ok($bound, '<=', $asked[-1], 'nor one from after it began');
value($reader, 'COMMIT');

# Two cursors that were opened by one statement: each keeps its bound while it is open.
value($reader, q(CREATE FUNCTION open_two() RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	one refcursor := 'one';
	two refcursor := 'two';
BEGIN
	OPEN one FOR SELECT flake_settled('ahead') FROM generate_series(1, 2);
	OPEN two FOR SELECT flake_settled('ahead') FROM generate_series(1, 2);
END $$));
value($other, q(SELECT flake_create_generator('ahead')));
value($other, q(SELECT count(*) FROM flake_ids(5, 5 * 1024000, 'ahead')));
value($reader, 'BEGIN; SELECT open_two()');
value($reader, 'FETCH one');
$bound = value($reader, 'FETCH two');
value($reader, 'CLOSE one; SELECT pg_sleep(0.1)');
cmp_ok(settled($reader, q('ahead')), '>', $bound, 'a bound goes up with the clock');
is(value($reader, 'FETCH two'), $bound, 'but not that of a cursor, when another one is closed');
value($reader, 'COMMIT');

# A procedure has a transaction for each time.
value($reader, q(CREATE PROCEDURE poll(n int, INOUT bytes bigint) LANGUAGE plpgsql AS $$ BEGIN
	FOR i IN 1..n LOOP PERFORM flake_settled('numbers'); COMMIT; END LOOP;
	SELECT sum(used_bytes) INTO bytes FROM pg_backend_memory_contexts WHERE name = 'PortalContext';
END $$));
@bytes = map { value($reader, "CALL poll($_, NULL)") } 10, 2000;
cmp_ok($bytes[1] - $bytes[0], '<', 10000, "what its portal keeps does not grow: @bytes bytes");

#
# Wide ids.
#

foreach my $kind ('uuid', 'objectid')
{
	value($writer, "BEGIN; SELECT flake_$kind()");
	$held = value($writer, "SELECT flake_$kind()");
	value($other, 'SELECT pg_sleep(1.1)');
	value($other, "SELECT flake_$kind()");
	is(value($reader, "SELECT coalesce(flake_settled_$kind() < '$held', true)"),
		't', "$kind: an open transaction holds bounds back");
	value($writer, 'COMMIT');
	$node->poll_query_until('postgres', "SELECT flake_settled_$kind() >= '$held'")
	  or die "$kind is not settled";
	$bound = value($reader, "SELECT flake_settled_$kind()");
	is(value($writer, "SELECT flake_$kind() > '$bound'"), 't', "$kind: what comes later is above");
}

#
# A database with the OID of one that was dropped.
#

sub make_database
{
	my ($oid) = @_;

	value($other, 'CREATE DATABASE reused' . ($oid ? " OID = $oid" : ''));
	$node->safe_psql('reused', 'CREATE EXTENSION flakeid; SELECT flake_id(1)');
	return value($other, q(SELECT oid FROM pg_database WHERE datname = 'reused'));
}
my $oid = make_database();
my $old = $node->safe_psql('reused', 'SELECT pg_sleep(0.01); SELECT flake_settled()') =~ s/\s//gr;
like($old, qr/^\d+$/, 'a bound in another database');
value($other, 'DROP DATABASE reused');
make_database($oid);
my ($new_bound, $new_id) = split /\n/,
  $node->safe_psql('reused', 'SELECT flake_settled(); SELECT flake_id(55)');
cmp_ok($new_id, '>', $new_bound || 0, 'a new one with its OID has bounds of its own');

#
# To ask raises the horizon, if the clock has passed it.  The planner asks, too, but not
# for a role that may not execute the function.
#

value($other, q(SELECT flake_create_generator('fresh')));
value($other, 'CREATE ROLE asker; GRANT SELECT ON SEQUENCE fresh TO asker');
value($other, 'REVOKE EXECUTE ON FUNCTION flake_settled(regclass) FROM PUBLIC');
value($writer, q(SELECT flake_id(1, 'fresh')));
my $horizon = value($other, 'SELECT last_value FROM fresh');
sleep 6;		# the horizon is up to 5 s ahead of the clock
value($reader, 'SET ROLE asker');
is(code($reader, q(EXPLAIN SELECT flake_settled('fresh'))), '42501', 'no EXECUTE: refused');
is(value($other, 'SELECT last_value FROM fresh'), $horizon, 'no EXECUTE: and nothing was asked');
value($other, 'GRANT EXECUTE ON FUNCTION flake_settled(regclass) TO asker');
value($reader, q(EXPLAIN SELECT flake_settled('fresh')));
isnt(value($other, 'SELECT last_value FROM fresh'), $horizon, 'with EXECUTE the planner has asked');

# A rewind in a subtransaction that is undone: the transaction goes on below where it began.
value($writer, q(SELECT flake_create_generator('back', 'seq:40')));
value($writer, q(SELECT count(*) FROM flake_ids(0, 1000, 'back')));
value($writer, q(BEGIN; SELECT flake_id(0, 'back')));
value($writer, q(SET client_min_messages = error; SAVEPOINT s; SELECT flake_rewind('back', flake_last_id() - 901, force => true); ROLLBACK TO s));
my $late = value($writer, q(SELECT flake_id(0, 'back')));
cmp_ok(value($other, q(SELECT flake_id(0, 'back'))), '>', $late, 'after a rewind that is undone others mint above');
value($other, q(SELECT flake_settled('back')));
cmp_ok(value($other, q(SELECT coalesce(flake_settled('back'), 0))), '<', $late, 'and the transaction holds bounds back');
value($writer, 'COMMIT');

end_session($writer, $reader, $other);
$node->stop;
done_testing();
