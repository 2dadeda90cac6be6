# Copyright (c) 2026, the flakeid developers

# flake_rewind() leads back after a clock that was years ahead, and refuses while
# ids that could come again are in use.  flake_advance() leads ahead, beyond ids
# that come from elsewhere.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

# Two years.
my $ahead = 730 * 86400;

my $clock = new_clock();
my $node = start_server(
	'main',
	allows_streaming => 1,
	clock => $clock,
	conf => q(
log_statement = none
max_connections = 20
wal_sender_timeout = 0		# goes by the clock
flakeid.max_jump = -1
client_min_messages = error	# at each start the horizon is far ahead
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE ROLE minter;
SELECT flake_create_generator('order_id');
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_id(5, 'order_id'));
));

my $standby = start_standby($node, 'standby');

my @sessions = new_sessions($node, 3);
my ($one, $two, $admin) = @sessions;

# The largest id of the layout instagram that may be minted at present.
sub present
{
	return value($admin, 'SELECT flake_upper(clock_timestamp())');
}

# That ids of the layout instagram, in the order they were minted in, are above
# one, and of the present.
sub check_ids
{
	my ($name, $above, @ids) = @_;

	is(first_descent([ $above, @ids ]), undef, "$name: ids increase");
	is( value(
			$admin,
			'SELECT count(*) FROM unnest(ARRAY['
			  . join(',', @ids)
			  . ']) AS i WHERE abs(extract(epoch FROM'
			  . ' flake_timestamp(i) - clock_timestamp())) > 120'),
		0,
		"$name: ids are of the present");
	return;
}

my $insert = 'INSERT INTO orders DEFAULT VALUES RETURNING id';
my $mint = q(SELECT flake_id(5, 'order_id'));

#
# The story.
#

my @good = map { value($_, $insert) } $one, $two;

# The clock goes wrong, and rows get ids of the future, one of them in a
# transaction that stays open.
set_clock($clock, $ahead);
my @future = map { value($_, $insert) } $one, $two;
value($one, 'BEGIN');
push @future, value($one, $insert);
is( value(
		$admin,
		'SELECT horizon_time > clock_timestamp() FROM flake_generators'
		  . q( WHERE generator::text = 'order_id')),
	't',
	'the horizon is in the future');

# The clock is corrected.
set_clock($clock, 0);
like(
	(ask($two, $mint))[1],
	qr/^ERROR:  53400: the clock is 6307\d{4}\.\d{3} s behind the next id of shard 5$/m,
	'clock right again: an error that names the distance');
my $rewind = sub { "SELECT flake_rewind('order_id', $_[0])" };
my $below = present();

# It waits until it can see all the rows.
send_query($admin, $rewind->($below));
wait_for_waiters($node, 1, q(relation = 'order_id'::regclass));
pass('flake_rewind() waits for a transaction that has minted');
value($one, 'COMMIT');
my @answer = get_answer($admin);
is(error_code(@answer), '55000',
	'flake_rewind() refuses while rows have such ids');
like(
	$answer[1],
	qr/^DETAIL:  Column public\.orders\.id has $future[-1], /m,
	'it names the column and the largest id, which was committed meanwhile');
like(
	$answer[1],
	qr/^HINT:  .*\b$below\b.*force => true/m,
	'it says what to do');
like((ask($two, $mint))[1], qr/53400/, 'having refused, it has done nothing');

value($admin,
	"UPDATE orders SET id = flake_make(flake_timestamp(id) - interval '$ahead s',"
	  . " 5, flake_sequence(id)) WHERE id <> ALL ('{$good[0],$good[1]}')");
is( value(
		$admin, 'SELECT max(id) < ' . ($below = present()) . ' FROM orders'),
	't',
	'the rows get ids of the present');

# Sessions are there all the time, and try.
my @clients = start_clients(
	$node,
	count => 4,
	sql => q(SELECT flake_id(5, 'order_id') FROM generate_series(1, 5);));
foreach my $client (@clients)
{
	wait_until(sub { errors($client) > 2 }, 'clients get errors');
}
is(value($admin, $rewind->($below)), '', 'then flake_rewind() works');
wait_for_more($_, 100) foreach @clients;
stop_clients($node, @clients);
my $minted = [ sort { $a <=> $b } map { @{ ids($_) } } @clients ];
check_ids('clients that were trying meanwhile', $below, @$minted);
is_deeply([ grep { defined } map { first_descent(ids($_)) } @clients ],
	[], 'clients that were trying meanwhile: each one\'s ids increase');

my @ids = map { value($_, $insert) } $one, $two, $one, $two, $admin;
check_ids('sessions of before', $minted->[-1], @ids);
my $last = $ids[-1];
is( value(
		$admin,
		q(SELECT abs(extract(epoch FROM horizon_time - clock_timestamp())) < 120)
		  . q( FROM flake_generators WHERE generator::text = 'order_id')),
	't',
	'the horizon is of the present');

# A shard that had minted nothing, and all of it once more after a crash.
my $first = value($two, q(SELECT flake_id(6, 'order_id')));
check_ids('another shard', $below, $first);
end_session($one, $two);
kill9_and_wait($node);
$admin->{run}->finish;
start_with_clock($node, $clock);
($one, $two, $admin) = new_sessions($node, 3);
@ids = map { value($_, $insert) } $one, $two, $one, $two;
check_ids('after a crash', $last, @ids);
$last = $ids[-1];

# What the standby has replayed is the new, lower horizon.
$node->wait_for_catchup($standby, 'replay');
is(error_code(ask_once($standby, q(SELECT flake_rewind('order_id', 0)))),
	'25006', 'not on a standby');
$standby->promote;
@ids = map { $standby->safe_psql('postgres', $insert) } 1 .. 2;
check_ids('on a promoted standby', $last, @ids);
$standby->stop;

#
# Where it refuses because of the last seconds, it names a value that works.
#

foreach my $i (1 .. 5)
{
	set_clock($clock, $ahead);
	value($one, q(SELECT flake_id(9, 'order_id')));
	set_clock($clock, 0);
	@clients = start_clients($node, count => 4, sql => "$insert;");
	wait_for_more($_, 20) foreach @clients;
	@answer = ask($admin, $rewind->(q(flake_lower(clock_timestamp() - interval '1 min'))));
	is(error_code(@answer), '55000', "others mint, time $i: it refuses");
	my ($value) =
	  $answer[1] =~ /^HINT:  .* While others mint, pass (flake_upper\(.*\))\.$/m;
	is(value($admin, $rewind->($value)),
		'', "others mint, time $i: what the hint says works, $value");
	wait_for_more($_, 20) foreach @clients;
	stop_clients($node, @clients);
	is(first_duplicate(map { ids($_) } @clients),
		undef, "others mint, time $i: no id repeats");
}
my $newest = value($admin, 'SELECT max(id) FROM orders');
set_clock($clock, $ahead);
value($one, q(SELECT flake_id(9, 'order_id')));
set_clock($clock, 0);
is(error_code(ask($admin, $rewind->($newest - 1))),
	'55000', 'nobody mints: it refuses');
@answer = ask($admin, $rewind->($newest - (1 << 40)));
like(
	$answer[1],
	qr/^HINT:  The lowest value that would be accepted now is $newest\./m,
	'nobody mints: the hint names the largest id in use');
is(value($admin, $rewind->($newest)), '', 'nobody mints: which works');
check_ids('rewound to what the hint says',
	$newest, map { value($_, $insert) } $one, $two);

# A bound that was above has left a slot there, though the horizon is not.
value($admin, q(SELECT flake_create_generator('bound_id')));
my $rewind_bound =
  q(SELECT flake_rewind('bound_id', flake_upper(clock_timestamp() + interval '16 s'), force => true));
set_clock($clock, $ahead);
value($one, q(SELECT flake_id(4, 'bound_id'), flake_detach(4, 'bound_id')));
value($one, q(SELECT flake_attach(4, generator => 'bound_id')));
set_clock($clock, 0);
like((ask($admin, "SET client_min_messages = warning; $rewind_bound"))[1],
	qr/^WARNING: .*^DETAIL:  .*: 4\.$/ms, 'a bound above: a warning names the shard');
is(error_code(ask($one, q(SELECT flake_id(4, 'bound_id')))),
	'53400', 'a bound above: the shard is refused');
value($admin,
	q(UPDATE flake_shard_state SET after = NULL WHERE generator = 'bound_id'::regclass));
is(join('', ask($admin, $rewind_bound)),
	'', 'a bound that was above: rewound again');
check_ids('a bound that was above', $newest, value($one, q(SELECT flake_id(4, 'bound_id'))));
value($admin, 'DROP SEQUENCE bound_id');

#
# What it refuses.
#

is(error_code(ask($admin, $rewind->(present() + (1 << 40)))),
	'22023', 'not above the horizon');
is( error_code(
		ask($admin,
			'SELECT flake_rewind(generator, horizon) FROM flake_generators'
			  . q( WHERE generator::text = 'order_id'))),
	'22023',
	'nor to where it is');
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	value($admin, "BEGIN ISOLATION LEVEL $level");
	is(error_code(ask($admin, $rewind->($below))),
		'25001', "not in a transaction that does not see new rows: $level");
	value($admin, 'ROLLBACK');
}
value($admin, 'BEGIN READ ONLY');
is(error_code(ask($admin, $rewind->($below))),
	'25006', 'not in a read-only transaction');
value($admin, 'ROLLBACK');

value($admin, 'GRANT ALL ON SEQUENCE order_id TO minter; SET ROLE minter');
is(error_code(ask($admin, $rewind->($below))),
	'42501', 'only for superusers');
value($admin,
		'RESET ROLE; GRANT EXECUTE ON FUNCTION'
	  . ' flake_rewind(regclass, bigint, boolean) TO minter;'
	  . ' ALTER SEQUENCE order_id OWNER TO minter; SET ROLE minter');
is(error_code(ask($admin, $rewind->($below))),
	'42501',
	'even if the function is granted and the sequence is one\'s own');
value($admin, 'RESET ROLE');
is(error_code(ask($admin, q(SELECT flake_rewind('orders', 1)))),
	'42809', 'a table is no generator');

# Without a column nothing can be known.
value($admin, q(SELECT flake_create_generator('loose_id')));
set_clock($clock, $ahead);
value($one, q(SELECT flake_id(5, 'loose_id')));
set_clock($clock, 0);
$below = present();
@answer = ask($admin, "SELECT flake_rewind('loose_id', $below)");
is(error_code(@answer), '55000', 'a generator without columns: it refuses');
like($answer[1], qr/^HINT:  .*force => true/m, 'and says what to do');
is(value($admin, "SELECT flake_rewind('loose_id', $below, force => true)"),
	'', 'forced, it does it');
check_ids('forced, without columns',
	$below, map { value($_, q(SELECT flake_id(5, 'loose_id'))) } $two, $one);

# Columns of any kind that holds an id: by default of the whole generator, by
# ownership, and as text or a number.
foreach my $case (
	[
		q(CREATE TABLE thing (id numeric DEFAULT flake_id(5, 'loose_id'))),
		'thing.id'
	],
	[
		q(CREATE TABLE thing (id text DEFAULT flake_id(5, 'loose_id')::text)),
		'thing.id'
	],
	[
		q(CREATE SCHEMA "A b"; CREATE TABLE "A b"."C d" ("E f" bigint);)
		  . ' ALTER SEQUENCE loose_id OWNED BY NONE;'
		  . ' ALTER TABLE "A b"."C d" ALTER "E f" SET DEFAULT flake_id(5, \'loose_id\');'
		  . ' CREATE VIEW thing AS SELECT "E f" AS id FROM "A b"."C d"',
		'"A b"."C d"."E f"'
	],
	[
		'CREATE TABLE thing (id bigint);'
		  . ' ALTER SEQUENCE loose_id OWNED BY thing.id',
		'thing.id'
	],
	[
		'CREATE DOMAIN ids AS bigint; CREATE DOMAIN some_ids AS ids;'
		  . q(CREATE TABLE thing (id some_ids DEFAULT flake_id(5, 'loose_id') PRIMARY KEY)),
		'thing.id'
	],
	[
		q(CREATE TABLE thing (id bigint DEFAULT flake_id(5, 'loose_id')) PARTITION BY RANGE (id);)
		  . ' CREATE TABLE low PARTITION OF thing FOR VALUES FROM (0) TO (10);'
		  . ' CREATE TABLE rest (a int, id bigint);'
		  . ' ALTER TABLE rest DROP a; CREATE INDEX ON rest (id);'
		  . ' ALTER TABLE thing ATTACH PARTITION rest DEFAULT',
		'thing.id'
	],

	# Those with all sorts of indexes
	map {
		[
			q(CREATE TABLE thing (id bigint DEFAULT flake_id(5, 'loose_id'), other bigint);)
			  . ' INSERT INTO thing VALUES (1, 5), (NULL, 6), (3, NULL);'
			  . " CREATE INDEX $_",
			'thing.id'
		]
	  } 'ON thing (id)',
	'ON thing (id DESC, other)',
	'ON thing (id DESC NULLS LAST)',
	'ON thing (id NULLS FIRST) INCLUDE (other)',
	'ON thing (other, id)',
	'ON thing (id) WHERE id < 100',
	'ON thing ((-id), id)',
	'ON thing USING hash (id)')
{
	my ($create, $column) = @$case;
	my $pattern = quotemeta($column =~ /^"/ ? $column : "public.$column");

	value($admin, $create);
	set_clock($clock, $ahead);
	my (undef, $id) =
	  map {
		value($one,
			q(INSERT INTO thing (id) VALUES (flake_id(5, 'loose_id')) RETURNING id)
		)
	  } 1 .. 2;
	set_clock($clock, 0);
	$below = present();
	@answer = ask($admin, "SELECT flake_rewind('loose_id', $below)");
	is(error_code(@answer), '55000', "$create: it refuses");
	like(
		$answer[1],
		qr/^DETAIL:  Column $pattern has $id, /m,
		"$create: it names column and id");
	value($admin, 'DELETE FROM thing');
	is(value($admin, "SELECT flake_rewind('loose_id', $below)"),
		'', "$create: without the row, it works");
	value(
		$admin,
		'SET client_min_messages = error;'
		  . ' ALTER SEQUENCE loose_id OWNED BY NONE;'
		  . (
			$create =~ /VIEW/
			? 'DROP SCHEMA "A b" CASCADE'
			: 'DROP TABLE thing'));
}
value($admin, 'DROP DOMAIN ids CASCADE');

# A child that takes no default itself is searched with its parent; and where
# there is an index, a table is not read.
value($admin,
		q(CREATE TABLE parent (id bigint DEFAULT flake_id(5, 'loose_id') PRIMARY KEY);)
	  . ' CREATE TABLE child () INHERITS (parent); ALTER TABLE child ALTER id DROP DEFAULT'
);
set_clock($clock, $ahead);
my $of_child =
  value($one,
	q(INSERT INTO child VALUES (flake_id(5, 'loose_id')) RETURNING id));
set_clock($clock, 0);
$below = present();
like(
	(ask($admin, "SELECT flake_rewind('loose_id', $below)"))[1],
	qr/^DETAIL:  Column public\.parent\.id has $of_child, /m,
	'a child is searched');
value($admin, 'DELETE FROM child');
value($two, 'BEGIN');
value($two, "SELECT flake_rewind('loose_id', $below)");
is( value(
		$two,
		q(SELECT string_agg(relname || coalesce(seq_scan, 0) || coalesce(idx_scan, 0), ' ' ORDER BY relname))
		  . q( FROM pg_stat_xact_user_tables WHERE relname IN ('parent', 'child'))
	),
	'child10 parent01',
	'an index is used where there is one');
value($two, 'COMMIT');
value($admin, 'DROP TABLE parent CASCADE');

# What cannot be searched.
set_clock($clock, $ahead);
value($one, q(SELECT flake_id(5, 'loose_id')));
set_clock($clock, 0);
$below = present();
foreach my $case (
	[
		q(CREATE TABLE thing (id text DEFAULT flake_to_text(flake_id(5, 'loose_id')));)
		  . q( INSERT INTO thing VALUES ('4lQ0aYx92KJ')),
		qr/Its default makes something else of ids\./
	],
	[	# which could be read as numbers
		q(CREATE TABLE thing (id text DEFAULT flake_to_text(flake_id(5, 'loose_id'), 16));)
		  . q( INSERT INTO thing VALUES ('0000000000000012')),
		qr/Its default makes something else of ids\./
	],
	[
		q(CREATE TABLE thing (id bigint DEFAULT flake_seal(flake_id(5, 'loose_id'), 'a key of 16 byte'::bytea))),
		qr/Its default makes something else of ids\./
	],
	# SYSTEM_USER is a call without arguments, since 16
	$node->pg_version >= 16
	? [
		q(CREATE TABLE thing (id text DEFAULT trim(both flake_id(5, 'loose_id')::text FROM system_user))),
		qr/Its default makes something else of ids\./
	  ]
	: (),
	[
		q(CREATE TABLE thing (id text DEFAULT flake_id(5, 'loose_id')); INSERT INTO thing VALUES ('4lQ0aYx92KJ')),
		qr/A value in it is not an id: invalid input syntax for type bigint: "4lQ0aYx92KJ"\./
	],
	[
		q(CREATE TABLE thing (id numeric DEFAULT flake_id(5, 'loose_id')); INSERT INTO thing VALUES ('NaN')),
		qr/A value in it is not an id: cannot convert NaN to bigint\./
	],
	[
		q(CREATE TABLE thing (id numeric DEFAULT flake_id(5, 'loose_id')); INSERT INTO thing VALUES (1e30)),
		qr/A value in it is not an id: bigint out of range\./
	],
	[
		q(CREATE TABLE thing (id bigint DEFAULT flake_id(5, 'loose_id')) PARTITION BY RANGE (id);)
		  . ' CREATE FOREIGN DATA WRAPPER nowhere; CREATE SERVER nowhere FOREIGN DATA WRAPPER nowhere;'
		  . ' CREATE FOREIGN TABLE away PARTITION OF thing DEFAULT SERVER nowhere;'
		  . ' ALTER FOREIGN TABLE away ALTER id DROP DEFAULT',
		qr/A part of it is in foreign table "away"\./
	],
	[
		q(CREATE MATERIALIZED VIEW seen AS SELECT 1::bigint AS id; CREATE VIEW thing AS TABLE seen;)
		  . q( ALTER VIEW thing ALTER id SET DEFAULT flake_id(5, 'loose_id')),
		qr/It is not in a table\./
	])
{
	my ($create, $detail) = @$case;

	value($admin, $create);
	@answer = ask($admin, "SELECT flake_rewind('loose_id', $below)");
	like(
		$answer[1],
		qr/^ERROR:  55000: cannot search column public\.thing\.id for ids$/m,
		"$create: it refuses");
	like($answer[1], qr/^DETAIL:  $detail$/m, "$create: and says why");
	like(
		$answer[1],
		qr/^HINT:  If no id above $below is in use, pass force => true\.$/m,
		"$create: and what to do");
	value($admin,
		    'SET client_min_messages = error; DROP '
		  . ($create =~ /VIEW/ ? 'MATERIALIZED VIEW seen' : 'TABLE thing')
		  . ' CASCADE');
}

# When it gets at a table that was in use, the name of the table means another
# one, which is a trap of her who has the schema.
value(
	$admin, q(
CREATE ROLE mallory;
GRANT CREATE ON DATABASE postgres TO mallory;
CREATE SCHEMA hers AUTHORIZATION mallory;
GRANT USAGE ON SCHEMA hers TO PUBLIC;
CREATE TABLE hers.thing (id bigint DEFAULT flake_id(5, 'loose_id'));
ALTER TABLE hers.thing OWNER TO minter));
set_clock($clock, $ahead);
my $of_her = value($one, q(INSERT INTO hers.thing DEFAULT VALUES RETURNING id));
set_clock($clock, 0);
$below = present();
value($one, 'BEGIN; LOCK TABLE hers.thing');
send_query($admin, "SELECT flake_rewind('loose_id', $below)");
wait_for_waiters($node, 1, q(relation = 'hers.thing'::regclass));
value(
	$two, q(
SET ROLE mallory;
ALTER SCHEMA hers RENAME TO gone;
CREATE SCHEMA hers;
CREATE TABLE hers.sprung (who name);
CREATE FUNCTION hers.note() RETURNS bigint LANGUAGE plpgsql
	AS 'BEGIN INSERT INTO hers.sprung VALUES (current_user); RETURN 1; END';
CREATE VIEW hers.thing AS SELECT hers.note() AS id;
GRANT USAGE ON SCHEMA hers TO PUBLIC;
GRANT ALL ON hers.sprung, hers.thing TO PUBLIC;
RESET ROLE));
value($one, 'COMMIT');
@answer = get_answer($admin);
like(
	$answer[1],
	qr/^ERROR:  55000: .*^DETAIL:  Column gone\.thing\.id has $of_her, /ms,
	'a schema is renamed: the table is searched all the same');
is(value($admin, 'SELECT string_agg(who, $$,$$) FROM hers.sprung'),
	'', 'a schema is renamed: and nothing in its place');
value($admin,
	'SET client_min_messages = error; DROP SCHEMA hers, gone CASCADE');

# When it gets at a child, that is none any more, and has another column of that
# name; nor does a child that comes in its place go unsearched.
value(
	$admin, q(
CREATE SCHEMA hers AUTHORIZATION mallory;
GRANT USAGE ON SEQUENCE loose_id TO mallory;
SET ROLE mallory;
CREATE TABLE hers.parent (id text DEFAULT flake_id(5, 'loose_id'));
CREATE TABLE hers.child () INHERITS (hers.parent);
CREATE TABLE hers.later (LIKE hers.parent);
INSERT INTO hers.child VALUES (1);
INSERT INTO hers.later VALUES (9223372036854775807);
RESET ROLE));
foreach my $case (
	[ 'DROP COLUMN id', undef ],
	[
		'DROP COLUMN id, ADD COLUMN id bigint DEFAULT 4702111234474983745',
		undef
	],
	[
		'ALTER COLUMN id DROP DEFAULT; ALTER TABLE hers.later INHERIT hers.parent',
		'Column hers\.parent\.id has 9223372036854775807, '
	])
{
	my ($change, $detail) = @$case;

	value(
		$one, qq(
SET ROLE mallory;
BEGIN;
ALTER TABLE hers.child NO INHERIT hers.parent;
ALTER TABLE hers.child $change));
	send_query($admin, "SELECT flake_rewind('loose_id', $below)");
	wait_for_waiters($node, 1, q(relation = 'hers.child'::regclass));
	value($one, 'COMMIT; RESET ROLE');
	@answer = get_answer($admin);
	if (defined $detail)
	{
		like($answer[1], qr/^DETAIL:  $detail/m,
			"a child goes, $change: another is searched");
		next;
	}
	is($answer[1], '', "a child goes, $change: no more is searched");
	set_clock($clock, $ahead);
	value($two, q(SELECT flake_id(5, 'loose_id')));
	set_clock($clock, 0);
	value(
		$admin, q(
SET ROLE mallory;
DROP TABLE hers.child;
CREATE TABLE hers.child () INHERITS (hers.parent);
INSERT INTO hers.child VALUES (1);
RESET ROLE));
}
value($admin, 'SET client_min_messages = error; DROP SCHEMA hers CASCADE');
value($admin, "SELECT flake_rewind('loose_id', $below, force => true)");
check_ids('after all of these',
	$below, map { value($_, q(SELECT flake_id(5, 'loose_id'))) } $two, $one);

#
# Ids of a parallel query, which are not in the table yet.
#

value(
	$admin, q(
SELECT flake_create_generator('num', 'segment');
CREATE TABLE numbered (id bigint DEFAULT flake_id(0, 'num'));
CREATE TABLE many AS SELECT generate_series(1, 1000);
ALTER TABLE many SET (parallel_workers = 2);
));
value(
	$one, q(
SET parallel_setup_cost = 0;
SET parallel_tuple_cost = 0;
SET min_parallel_table_scan_size = 0;
SET parallel_leader_participation = off;
BEGIN;
CREATE TEMPORARY TABLE passed_on AS SELECT flake_id(0, 'num') AS id FROM many;
));
send_query($admin, q(SELECT flake_rewind('num', 1)));
wait_for_waiters($node, 1, q(relation = 'num'::regclass));
pass('flake_rewind() waits for a transaction that has minted in parallel');
value($one, 'INSERT INTO numbered SELECT id FROM passed_on; COMMIT');
is(error_code(get_answer($admin)), '55000', 'and finds the rows');
is(value($one, q(SELECT flake_id(0, 'num'))), 1001, 'no id comes again');
value($one, 'RESET ALL; DROP TABLE passed_on');

#
# Forced while rows remain; and not undone by ROLLBACK.
#

set_clock($clock, $ahead);
my $future = value($one, $insert);
set_clock($clock, 0);
$below = present();
is(error_code(ask($admin, $rewind->($below))),
	'55000', 'a row of the future: it refuses');
value($admin, 'BEGIN');
is(value($admin, "SELECT flake_rewind('order_id', $below, force => true)"),
	'', 'a row of the future: forced, it does it');
value($admin, 'ROLLBACK');
@ids = map { value($_, $insert) } $one, $two, $one;
check_ids('forced, and the transaction rolled back', $below, @ids);
end_session($one, $two);
kill9_and_wait($node);
$admin->{run}->finish;
start_with_clock($node, $clock);
($one, $two, $admin) = new_sessions($node, 3);
check_ids(
	'forced, rolled back, and after a crash', $ids[-1],
	map { value($_, $insert) } $one, $two);
is(value($admin, "SELECT count(*) FROM orders WHERE id = $future"),
	1, 'the row of the future is there');

#
# The default generator, of which columns may take ids in two ways.
#

# That of another database is another one.
value($admin, 'CREATE DATABASE elsewhere');
$node->safe_psql('elsewhere', 'CREATE EXTENSION flakeid');
my $elsewhere = new_session($node, 'elsewhere');
set_clock($clock, $ahead);
value($elsewhere, 'SELECT flake_id(7)');
set_clock($clock, 0);

value($admin, 'CREATE TABLE item (id bigint DEFAULT flake_id(7))');
value($admin, 'CREATE TABLE other (id bigint DEFAULT flake_id())');
foreach my $table ('item', 'other')
{
	my $row = "INSERT INTO $table DEFAULT VALUES RETURNING id";

	value($_, 'SET flakeid.shard = 7') foreach $one, $two;
	value($_, $row) foreach $one, $two;
	set_clock($clock, $ahead);
	$future = value($one, $row);
	set_clock($clock, 0);
	is(error_code(ask($two, $row)),
		'53400', "flake_default, $table: an error, the clock right again");
	$below = present();
	@answer = ask($admin, "SELECT flake_rewind('flake_default', $below)");
	like(
		$answer[1],
		qr/^ERROR:  55000: .*^DETAIL:  Column public\.$table\.id has $future, /ms,
		"flake_default, $table: it refuses, and says why");
	value($admin, "DELETE FROM $table WHERE id = $future");
	is(value($admin, "SELECT flake_rewind('flake_default', $below)"),
		'', "flake_default, $table: without the row, it works");
	check_ids(
		"flake_default, $table", $below,
		map { value($_, $row) } $two, $one);
}

is(error_code(ask($elsewhere, 'SELECT flake_id(7)')),
	'53400', 'flake_default of another database is where it was');
end_session($elsewhere);

#
# Numbers without time go on exactly above.
#

value($admin, q(SELECT flake_create_generator('dense_id', 'segment')));
value($_, q(SELECT flake_ids(0, 5, 'dense_id'))) foreach $one, $two;
value($admin, q(SELECT setval('dense_id', 1000000000)));
cmp_ok(value($one, q(SELECT count(*) FROM flake_ids(0, 30000, 'dense_id'))),
	'==', 30000, 'segment: on it goes');
value($admin, q(SELECT flake_rewind('dense_id', 10, force => true)));
is( join(',',
		map { value($_, q(SELECT flake_id(0, 'dense_id'))) } $two,
		$one, $two),
	'11,12,13',
	'segment: goes on one above, in every session');

#
# What all databases of a server share is rewound right after its start.
#

set_clock($clock, $ahead);
value($one, 'SELECT flake_objectid()');
set_clock($clock, 0);
is(error_code(ask($two, 'SELECT flake_objectid()')),
	'53400', 'flake_objectid(): an error, the clock right again');
my $rewind_objectid =
	q{SELECT flake_rewind('flake_default_objectid',}
  . ' extract(epoch FROM clock_timestamp())::bigint << 24, force => true)';
@answer = ask($admin, $rewind_objectid);
is(error_code(@answer), '55000',
	'flake_objectid(): refused, because other databases may have it, too');
like($answer[1], qr/^HINT:  Restart the server/m, 'and says what to do');
end_session($one, $two, $admin);
$node->stop;
start_with_clock($node, $clock);
($one, $admin) = new_sessions($node, 2);
is(value($admin, $rewind_objectid),
	'', 'flake_objectid(): after a restart, it works');
is( value(
		$one,
		'SELECT abs(extract(epoch FROM flake_objectid_timestamp('
		  . 'flake_objectid()) - clock_timestamp())) < 120'),
	't',
	'flake_objectid(): is of the present');

#
# The way ahead.
#

# A generator that has not minted anything yet begins above an id for good, also
# if that is past by the clock of now but not by that of after a crash.
foreach my $way (
	q(SELECT flake_create_generator('raised_id', after => %s)),
	q(SELECT flake_create_generator('raised_id'); SELECT flake_advance('raised_id', %s))
)
{
	my $above = value($admin, q(SELECT flake_upper(clock_timestamp() - interval '1 s')));

	value($admin, sprintf $way, $above);
	kill9_and_wait($node);
	$_->{run}->finish foreach $one, $admin;
	set_clock($clock, -5);
	start_with_clock($node, $clock);
	($one, $admin) = new_sessions($node, 2);
	cmp_ok(value($one, q(SELECT flake_id(3, 'raised_id'))),
		'>', $above, "$way: durable before the first id");
	set_clock($clock, 0);
	value($admin, 'DROP SEQUENCE raised_id');
}

# Every id of every shard is above, after a crash at once: of shards that have
# minted and that have not, and of those that a session has begun to use.
foreach my $layout ('instagram', 'seq:50 shard:13 block=100', 'seq:50 shard:13',
	'ts:32 seq:20 shard:11 epoch=2020-01-01 unit=1s')
{
	value($admin, "SELECT flake_create_generator('raised_id', '$layout')");
	my $above = value($admin, q(SELECT flake_id(1, 'raised_id')))
	  + ($layout eq 'instagram' ? 5000 << 23 : 1000000);

	value($one, q(SELECT flake_id(2, 'raised_id')));
	value($admin, "SELECT flake_advance('raised_id', $above)");
	kill9_and_wait($node);
	$_->{run}->finish foreach $one, $admin;
	start_with_clock($node, $clock);
	($one, $admin) = new_sessions($node, 2);
	foreach my $shard (1 .. 3)
	{
		cmp_ok(value($one, "SELECT flake_id($shard, 'raised_id')"),
			'>', $above, "$layout: above after a crash, shard $shard");
	}
	value($admin, 'DROP SEQUENCE raised_id');
}

# Sessions look at how far the generator has been advanced, and then mint.
value(
	$admin, q(
CREATE SEQUENCE advanced MINVALUE -1 START -1;
CREATE FUNCTION mint_above(shard int, generator regclass) RETURNS bigint LANGUAGE plpgsql AS $$
DECLARE
	bound bigint := (SELECT last_value FROM advanced);
	id bigint := flake_id(shard, generator);
BEGIN
	IF id <= bound THEN
		RAISE 'shard % has %, not above %', shard, id, bound;
	END IF;
	RETURN id;
END
$$));
foreach my $case (
	[ 'instagram', q(flake_upper(clock_timestamp() + interval '1 s')) ],
	[
		'ts:41 seq:10 shard:13 epoch=2020-01-01 start=zero',
		q(flake_upper(clock_timestamp(), flake_layout_of('advanced_id')) + 1000)
	],
	[ 'segment', q(flake_horizon('advanced_id') + 3) ],
	[ 'seq:50 shard:13 block=100', q(flake_id(2, 'advanced_id') + 50000) ])
{
	my ($layout, $above) = @$case;
	my @advanced;

	value($admin, "SELECT flake_create_generator('advanced_id', '$layout')");
	value($admin, q(SELECT flake_id(0, 'advanced_id')));
	my @minting = map {
		my $shard = $layout eq 'segment' ? 0 : $_;

		start_clients($node, count => 2,
			sql => "SELECT mint_above($shard, 'advanced_id');")
	} 0 .. 2;

	foreach (1 .. 10)
	{
		my $bound = value($admin, "SELECT $above");

		value($admin, "SELECT flake_advance('advanced_id', $bound)");
		value($admin, "SELECT setval('advanced', $bound)");
		push @advanced, $bound;
		wait_for_more($_, 20) foreach @minting;
	}
	stop_clients($node, @minting);
	is_deeply(
		[ grep { !/^57P01/ } map { errors($_) } @minting ],    # stopped
		[], "$layout: every id after flake_advance() is above");
	my @all = map { @{ ids($_) } } @minting;
	is(first_duplicate(\@all), undef, "$layout: no id repeats");
	cmp_ok(scalar(grep { $_ > $advanced[0] && $_ < $advanced[-1] } @all),
		'>', 20, "$layout: ids were minted all the while");
	value($admin,
		q(DROP SEQUENCE advanced_id; SELECT setval('advanced', -1)));
}
end_session($one, $admin);

$node->stop;
done_testing();
