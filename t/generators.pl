# Copyright (c) 2026, the flakeid developers

# A generator keeps its promises all its life.  It is dropped, renamed, moved,
# granted, dumped and restored while sessions use it, and goes through crashes and
# a failover.

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
	allows_streaming => 1,
	clock => $clock,
	conf => q(
log_statement = none
max_connections = 30
max_prepared_transactions = 2
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE SEQUENCE ticket;
CREATE ROLE keeper;
CREATE ROLE minter LOGIN;
CREATE ROLE minters;
));

sub query
{
	my ($sql, $dbname) = @_;

	return $node->safe_psql($dbname || 'postgres', $sql);
}

my @sessions = new_sessions($node, 3);
my ($one, $two, $three) = @sessions;

#
# Dropped, in whatever way: the others, who have used it, learn of it, and
# nothing is left behind.
#

foreach my $drop (
	'DROP SEQUENCE shop.order_id',
	'DROP SCHEMA shop CASCADE',
	'DROP OWNED BY keeper',
	'DROP TABLE shop.orders')
{
	query(  'DROP SCHEMA IF EXISTS shop CASCADE; CREATE SCHEMA shop;'
		  . ' CREATE TABLE shop.orders (id bigint);'
		  . ' ALTER TABLE shop.orders OWNER TO keeper;'
		  . ' GRANT ALL ON SCHEMA shop TO keeper; SET ROLE keeper;'
		  . " SELECT flake_create_generator('shop.order_id');"
		  . ' ALTER SEQUENCE shop.order_id OWNED BY shop.orders.id');
	my $oid = query(q(SELECT 'shop.order_id'::regclass::oid));

	# By OID in ways that nothing depends on, and by name.
	query(  'DROP TABLE IF EXISTS item;'
		  . ' CREATE TABLE item (id bigint DEFAULT'
		  . " flake_id(5, $oid\::oid::regclass))");
	ask($_,
			'DEALLOCATE ALL;'
		  . " PREPARE by_oid AS SELECT flake_id(5, $oid\::oid::regclass);"
		  . q( PREPARE by_name AS SELECT flake_id(5, 'shop.order_id')))
	  foreach @sessions;
	my @uses = (
		'EXECUTE by_oid',
		'EXECUTE by_name',
		'INSERT INTO item DEFAULT VALUES RETURNING id');
	my @ids;
	foreach my $session (@sessions)
	{
		push @ids, map { value($session, $_) } @uses;
	}
	is(first_descent(\@ids), undef, "before $drop: all ids increase");

	# One of those who have used it is the one to drop it.  (Of a name whose schema
	# is gone, PostgreSQL 18 and 19 say what they say of any, earlier ones 3F000.)
	value($one, "SET client_min_messages = error; $drop");
	foreach my $i (0 .. $#sessions)
	{
		is_deeply(
			[
				map { error_code(ask($sessions[$i], $_)) =~ s/^3F000$/42P01/r }
				  @uses
			],
			[ ('42P01') x 3 ],
			"$drop: session $i gets an error");
	}
	like(
		(ask($two, 'EXECUTE by_oid'))[1],
		qr/42P01: generator with OID $oid does not exist$/m,
		"$drop: the error says which");
	is( query(
			"SELECT (SELECT count(*) FROM pg_seclabel WHERE objoid = $oid),"
			  . ' (SELECT count(*) FROM flake_stat s LEFT JOIN pg_class c'
			  . ' ON c.oid = s.generator WHERE c.oid IS NULL),'
			  . " (SELECT count(*) FROM flake_stat WHERE generator = $oid),"
			  . " (SELECT count(*) FROM flake_generators WHERE generator = $oid)"
		),
		'0|0|0|0',
		"$drop: leaves neither label nor statistics");
}

# A column default depends on the generator, as on a sequence for nextval().
query(  q(SELECT flake_create_generator('needed');)
	  . q( CREATE TABLE needing (id bigint DEFAULT flake_id(5, 'needed'))));
like(value($two, 'INSERT INTO needing DEFAULT VALUES RETURNING id'),
	qr/^\d+$/, 'a column default mints');
is(error_code(ask($one, 'DROP SEQUENCE needed')),
	'2BP01', 'a generator that a column default needs is not just dropped');
value($one, 'DROP SEQUENCE needed CASCADE');
is(value($two, 'INSERT INTO needing DEFAULT VALUES RETURNING id IS NULL'),
	't', 'dropped with CASCADE, it takes the default with it');

# What dropped ones had in shared memory is free again: all of these together
# would need nearly twice of what there is.
my $rounds = 100;
my ($failure, @stale);
query(q(SELECT flake_create_generator('kept')));
foreach my $round (1 .. $rounds)
{
	my ($stdout, $stderr) = ask($one,
			q(SELECT flake_create_generator('many');)
		  . q( SELECT count(flake_id(s, 'many')) FROM generate_series(0, 8191) s)
	);
	my ($others) = ask($two,
		q(SELECT count(DISTINCT flake_id(s, 'many')) FROM generate_series(0, 8191, 100) s)
	);

	$failure ||= "round $round: $stdout$stderr"
	  if $stdout !~ /\n8192$/ || $others != 82;
	value($one, 'DROP SEQUENCE many');
	push @stale, value($three, q(SELECT flake_id(5, 'kept')));
}
is($failure, undef,
		"$rounds generators with 8192 shards each, dropped: "
	  . 'their memory is used again');
is(first_descent(\@stale), undef, 'one that is kept meanwhile counts up');
is( query(
		q(SELECT count(*), sum(issued) FROM flake_stat WHERE generator::text = 'kept')
	),
	"1|$rounds",
	'and keeps its statistics');

#
# DROP SEQUENCE waits for those who have minted from it, as with nextval().
#

foreach my $mint (q(SELECT flake_id(5, 'awaited')),
	q(SAVEPOINT s; SELECT flake_id(5, 'awaited'); ROLLBACK TO s; SELECT 1))
{
	query(q(SELECT flake_create_generator('awaited')));
	ask($two, q(SELECT flake_id(5, 'awaited'))) if $mint =~ /SAVEPOINT/;
	value($one, "BEGIN; $mint");
	send_query($two, 'DROP SEQUENCE awaited');
	wait_for_waiters($node, 1, q(relation = 'awaited'::regclass));
	like(value($one, q(SELECT flake_id(5, 'awaited'))),
		qr/^\d+$/, "DROP SEQUENCE waits after: $mint");
	value($one, 'COMMIT');
	is((get_answer($two))[1], '', "and goes on at the end: $mint");
	is(error_code(ask($one, q(SELECT flake_id(5, 'awaited')))),
		'42P01', "then it is gone: $mint");
}

#
# Dropped and created again under the same name while others mint.
#

query(q(SELECT flake_create_generator('reborn')));
my @clients = start_clients(
	$node,
	count => 4,
	sql => 'SELECT nextval(\'ticket\'), flake_id(5, g), g::oid'
	  . q( FROM (SELECT 'reborn'::regclass AS g OFFSET 0) s,)
	  . ' generate_series(1, 5);');
wait_for_more($_, 10) foreach @clients;
foreach my $round (1 .. 50)
{
	value($one,
		$round % 2
		? q(DROP SEQUENCE reborn; SELECT flake_create_generator('reborn'))
		: q(BEGIN; DROP SEQUENCE reborn; SELECT flake_create_generator('reborn', 'snowflake'); COMMIT)
	);
	wait_for_more($clients[ $round % @clients ], 5);
}
wait_for_more($_, 10) foreach @clients;
stop_clients($node, @clients);

my %by_generator;
foreach my $client (@clients)
{
	my %own;

	foreach my $record (@{ records($client) })
	{
		my ($ticket, $id, $oid) = @$record;

		push @{ $by_generator{$oid} }, $id;
		push @{ $own{$oid} }, $id;
	}
	is(join(', ', grep { defined } map { first_descent($_) } values %own),
		'', "dropped and created again: ids of $client->{name} increase");
}
cmp_ok(scalar keys %by_generator,
	'>', 25, 'dropped and created again: clients use the new ones');
is( join(', ',
		grep { defined } map { first_duplicate($_) } values %by_generator),
	'',
	'dropped and created again: no id of one generator repeats');
is(join("\n", grep { !/^(?:57P01|42P01):/ } map { errors($_) } @clients),
	'', 'dropped and created again: no error but that it is gone');

#
# A drop that is rolled back.
#

# What makes the session that drops it look for memory to free.
sub use_new_generators
{
	my ($session, $prefix) = @_;

	foreach my $i (1 .. 5)
	{
		value($session,
				"SELECT flake_create_generator('$prefix$i');"
			  . " SELECT count(flake_id(s, '$prefix$i')) FROM generate_series(0, 99) s"
		);
	}
	return;
}

sub drop_new_generators
{
	my ($session, $prefix) = @_;

	value($session, 'DROP SEQUENCE ' . join ', ', map { "$prefix$_" } 1 .. 5);
	return;
}

query(q(SELECT flake_create_generator('undone')));
my $undone = query(q(SELECT 'undone'::regclass::oid));
my $mint_undone = "SELECT flake_id(5, $undone\::oid::regclass)";
my @undone_ids = map { value($_, $mint_undone) } @sessions;

# With the transaction in its session, or prepared for a two-phase commit.
foreach my $end ('ROLLBACK', 'ROLLBACK PREPARED')
{
	value($one, 'BEGIN; DROP SEQUENCE undone');
	use_new_generators($one, 'own');
	drop_new_generators($one, 'own');
	use_new_generators($one, 'own');
	value($one, 'SAVEPOINT s');
	is(error_code(ask($one, $mint_undone)),
		'42P01', "dropped, then $end: it is gone in that transaction");
	value($one, 'ROLLBACK TO s');
	value($one, q(PREPARE TRANSACTION 'drop')) if $end =~ /PREPARED/;

	# Somebody else looks for memory to free.
	use_new_generators($three, 'other');
	drop_new_generators($three, 'other');
	use_new_generators($three, 'other');
	drop_new_generators($three, 'other');

	send_query($_, $mint_undone) foreach $two, $three;
	wait_for_waiters($node, 2, q(relation = 'undone'::regclass));
	value($one, $end =~ /PREPARED/ ? q(ROLLBACK PREPARED 'drop') : $end);

	my @waited;
	foreach my $session ($two, $three)
	{
		my ($stdout, $stderr) = get_answer($session);

		is($stderr, '', "dropped, then $end: a session that waited goes on");
		push @waited, $stdout;
	}
	push @undone_ids, sort { $a <=> $b } @waited;
	push @undone_ids, map  { value($_, $mint_undone) } @sessions, @sessions;
	is( query(
			q(SELECT sum(issued) FROM flake_stat WHERE generator::text = 'undone')
		),
		scalar @undone_ids,
		"dropped, then $end: all mint from one slot");
	is(error_code(ask($one, q(SELECT flake_id(5, 'own1')))),
		'42P01', "created, then $end: it is gone");
}

value($one, 'BEGIN; SAVEPOINT s; DROP SEQUENCE undone');
use_new_generators($one, 'own');
value($one, 'ROLLBACK TO s');
push @undone_ids, value($one, $mint_undone);
use_new_generators($one, 'own');
push @undone_ids, value($one, $mint_undone);
push @undone_ids, value($two, $mint_undone);
value($one, 'COMMIT');
drop_new_generators($one, 'own');
push @undone_ids, value($_, $mint_undone) foreach @sessions;
is(first_descent(\@undone_ids),
	undef, 'dropped, then rolled back: ids go on, unique and in order');

#
# Renamed, moved, owned by a column: everybody goes on.
#

query(
	q(
SELECT flake_create_generator('old_name');
CREATE SCHEMA warehouse;
CREATE TABLE orders (id bigint PRIMARY KEY DEFAULT flake_id(5, 'old_name'));
));
my $by_default = 'INSERT INTO orders DEFAULT VALUES RETURNING id';
my @moved_ids;
foreach my $session (@sessions)
{
	value($session, q(PREPARE moved AS SELECT flake_id(5, 'old_name')));
	value($session,
			'CREATE FUNCTION pg_temp.moved() RETURNS bigint LANGUAGE plpgsql'
		  . q( AS $$ BEGIN RETURN flake_id(5, 'old_name'); END $$));
	push @moved_ids, value($session, 'SELECT pg_temp.moved()');
	push @moved_ids, value($session, $by_default);
}
foreach my $change (
	'ALTER SEQUENCE old_name RENAME TO new_name',
	'ALTER SEQUENCE new_name SET SCHEMA warehouse',
	'ALTER SEQUENCE warehouse.new_name SET SCHEMA public',
	'ALTER SEQUENCE new_name OWNED BY orders.id',
	'ALTER TABLE orders SET SCHEMA warehouse; SET search_path = warehouse',
	'ALTER SEQUENCE warehouse.new_name OWNED BY NONE',
	'ALTER SEQUENCE warehouse.new_name OWNER TO keeper',
	'ALTER SEQUENCE warehouse.new_name RENAME TO old_name',)
{
	value($one, $change);
	foreach my $session (@sessions)
	{
		value($session, 'SET search_path = public, warehouse');
		push @moved_ids, value($session, $by_default);
		push @moved_ids,
		  value($session,
				'SELECT flake_id(5, generator) FROM flake_generators'
			  . q( WHERE generator::text ~ '(old|new)_name$'));
	}
	is(first_descent(\@moved_ids), undef, "ids go on after $change");
}
push @moved_ids, value($_, 'EXECUTE moved'),
  value($_, 'SELECT pg_temp.moved()')
  foreach @sessions;
is(first_descent(\@moved_ids),
	undef, 'and under the old name, in statements of before');
is( query(
		q(SELECT sum(issued) FROM flake_stat WHERE generator::text ~ 'old_name$')
	),
	scalar @moved_ids,
	'all of that from one slot');
value($_, 'RESET search_path') foreach @sessions;

#
# Rights that are granted and revoked are seen by sessions that are there.
#

query(q(SELECT flake_create_generator('guarded')));
value($two, 'SET ROLE minter');
foreach my $case (
	[ '', '42501' ],
	[ 'GRANT USAGE ON SEQUENCE guarded TO minter', '' ],
	[ 'REVOKE USAGE ON SEQUENCE guarded FROM minter', '42501' ],
	[ 'GRANT USAGE ON SEQUENCE guarded TO minters', '42501' ],
	[ 'GRANT minters TO minter', '' ],
	[ 'REVOKE minters FROM minter', '42501' ],
	[ 'ALTER SEQUENCE guarded OWNER TO minter', '' ],
	[ 'ALTER SEQUENCE guarded OWNER TO keeper', '42501' ],
	[ 'GRANT USAGE ON SEQUENCE guarded TO PUBLIC', '' ],
	[ 'REVOKE USAGE ON SEQUENCE guarded FROM PUBLIC', '42501' ])
{
	my ($change, $code) = @$case;

	query($change);
	my ($stdout, $stderr) = ask($two, q(SELECT flake_id(5, 'guarded')));
	if ($code eq '')
	{
		like("$stdout$stderr", qr/^\d+$/, "may mint: $change");
	}
	else
	{
		is(error_code($stdout, $stderr), $code, "may not mint: $change");
	}
}
value($two, 'RESET ROLE');

#
# A layout is for life, also in a session that has not loaded the library.
#

foreach
  my $label (q('seq:63'), q('ts:41 shard:13 seq:10 epoch=2020-01-01'), 'NULL')
{
	my $session = new_session($node);

	is( error_code(
			ask($session,
				"SECURITY LABEL FOR flakeid ON SEQUENCE kept IS $label")),
		'0A000',
		"a layout cannot be changed: $label");
	end_session($session);
}
is(value($two, q(SELECT flake_layout_of('kept') = 'instagram')),
	't', 'and was not');
is( error_code(
		ask($two,
			q(SET ROLE minter; SECURITY LABEL FOR flakeid ON SEQUENCE kept IS 'seq:63')
		)),
	'42501',
	'somebody else may not even try');
end_session(@sessions);

# One that is not set after all is not remembered, and no ids are minted before
# that is decided.
($one, $two) = new_sessions($node, 2);
value($one,
	'CREATE SEQUENCE labelled INCREMENT 9223372036854775807 MINVALUE 1');
my $label = 'SECURITY LABEL FOR flakeid ON SEQUENCE labelled IS';
my $labelled = q(SELECT flake_id(3, 'labelled'));
value($one, "BEGIN; $label 'shard:4 seq:59'; SAVEPOINT s");
is(code($one, $labelled), '55000', 'a layout that is not committed: no ids');
is(code($two, $labelled), '42809', 'nor in another session');
value($one, 'ROLLBACK');
is(code($_, $labelled), '42809', 'rolled back: no generator')
  foreach $one, $two;
value($two, "$label 'seq:59 shard:4'");
is(value($one, $labelled), 1 << 4 | 3, 'another layout: the committed one counts');
is(value($two, $labelled), 2 << 4 | 3, 'also in the session that has set it');
value($one, 'DROP SEQUENCE labelled');
end_session($one, $two);

#
# Dump and restore.
#

# Name, layout, and a shard to mint from.
my @layouts = (
	[ 'insta_id', 'instagram', 5 ],
	[ 'snow_id', 'snowflake', 1023 ],
	[ 'shop.sony_id', 'sonyflake', 7 ],
	[
		'coarse_id',
		'ts:31 shard:10 seq:20 epoch=2020-01-01 unit=1s start=random', 3
	],
	[
		'early_id', 'ts:41 shard:13 seq:10 epoch=2045-01-01 start=random:100',
		8191
	],
	[ q("Odd 'name"), 'ticket', 1 ],
	[ 'dense_id', 'segment', 0 ]);

# A name as a string in SQL.
sub literal
{
	my ($name) = @_;

	return "'" . ($name =~ s/'/''/gr) . "'";
}

# All of them, as generator, shard, id.
my $mint_all = join ' UNION ALL ', map {
	my $name = literal($_->[0]);

	"SELECT $name AS generator, $_->[2] AS shard,"
	  . " flake_id($_->[2], $name) AS id FROM generate_series(1, 10)"
} @layouts;

query('CREATE DATABASE source');
query(
	join(
		'; ',
		'CREATE EXTENSION flakeid',
		'CREATE SCHEMA shop',
		'CREATE TABLE minted (generator text, shard int, id bigint)',
		'CREATE TABLE item (id bigint PRIMARY KEY)',
		map({
				my $name = literal($_->[0]);

				"SELECT flake_create_generator($name, '$_->[1]')",
				  "CREATE TABLE item_$_->[2]"
				  . " (id bigint PRIMARY KEY DEFAULT flake_id($_->[2], $name))"
		} @layouts),
		q(SELECT flake_create_generator('unused_id', 'baidu')),
		'ALTER SEQUENCE insta_id OWNED BY item_5.id',
		q(COMMENT ON SEQUENCE snow_id IS 'ids'),
		# ahead of the clock
		q(SELECT count(*) FROM flake_ids(5, 3000000, 'insta_id')),
		"INSERT INTO minted $mint_all",
		map({ "INSERT INTO item_$_->[2] DEFAULT VALUES" } @layouts)),
	'source');

my $describe = 'SELECT generator, layout, horizon FROM flake_generators'
  . ' ORDER BY generator::text COLLATE "C"';
my $source_generators = query($describe, 'source');
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
my @dump = ('pg_dump', '-d', $node->connstr('source'));

$node->command_ok([ @dump, '-f', "$dump.sql" ], 'pg_dump, plain');
$node->command_ok([ @dump, '--schema-only', '-f', "$dump.schema.sql" ],
	'pg_dump, only the schema');
$node->command_ok(
	[ @dump, '--no-owner', '--no-acl', '-f', "$dump.owner.sql" ],
	'pg_dump for another owner');
$node->command_ok([ @dump, '-Fc', '-f', "$dump.custom" ],
	'pg_dump, custom format');

my $target_clock = new_clock();
set_clock($target_clock, -3600);
my $target = start_server(
	'target',
	clock => $target_clock,
	sql => 'CREATE ROLE minter LOGIN');

# An error that says so, or ids above all those of the source.
sub check_restored
{
	my ($dbname, $may_refuse) = @_;
	my $layouts = $target->safe_psql($dbname,
			'SELECT count(*) FROM minted m JOIN flake_generators g'
		  . ' ON g.generator = m.generator::regclass');

	is($layouts, 10 * @layouts, "$dbname: all generators are there");
	foreach my $layout (@layouts)
	{
		my ($name, $text, $shard) = @$layout;
		my $quoted = literal($name);
		my ($stdout, $stderr) = ask_once(
			$target,
			"SELECT id > (SELECT max(id) FROM minted WHERE generator = $quoted),"
			  . " coalesce(flake_timestamp(other, '$text') >="
			  . " (SELECT max(flake_timestamp(id, '$text')) FROM minted"
			  . " WHERE generator = $quoted), true)"
			  . " FROM (SELECT flake_id($shard, $quoted) AS id,"
			  . " flake_id($shard / 2, $quoted) AS other OFFSET 0) s",
			$dbname);

		if ($may_refuse && $text !~ /segment|ticket/)
		{
			like(
				$stderr,
				qr/ERROR:  53400: the clock is 3\d\d\d\.\d+ s behind/,
				"$dbname: an error that says that the clock is behind, $name"
			);
		}
		else
		{
			is("$stdout$stderr", 't|t',
				"$dbname: ids are above those of the dump, $name");
		}
	}
	return;
}

sub restore_plain
{
	my ($dbname, $file, $user) = @_;

	$target->command_ok(
		[
			'psql', '-XAtq', '-v', 'ON_ERROR_STOP=1', '-U', $user,
			'-d', $target->connstr($dbname),
			'-f', $file
		],
		"restored into $dbname");
	return;
}

my $superuser = $target->safe_psql('postgres', 'SELECT current_user');
$target->safe_psql('postgres', "CREATE DATABASE $_")
  foreach 'plain', 'parallel', 'schema_only', 'prepared';
$target->safe_psql('postgres', 'CREATE DATABASE owned OWNER minter');
$target->safe_psql('prepared', 'CREATE EXTENSION flakeid');

restore_plain('plain', "$dump.sql", $superuser);
restore_plain('prepared', "$dump.sql", $superuser);
restore_plain('schema_only', "$dump.schema.sql", $superuser);
restore_plain('owned', "$dump.owner.sql", 'minter');
$target->command_ok(
	[
		'pg_restore', '--exit-on-error',
		'-j2', '-d',
		$target->connstr('parallel'), "$dump.custom"
	],
	'restored into parallel, by two jobs');

# Dumps that differ from time to time in their key for \restrict only.
sub dump_of
{
	my ($dbname) = @_;

	$target->command_ok(
		[ 'pg_dump', '-d', $target->connstr($dbname), '-f', "$dump.$dbname" ],
		"pg_dump of $dbname");
	return slurp_file("$dump.$dbname") =~ s/^\\(?:un)?restrict .*\n//mgr;
}

my $expected = slurp_file("$dump.sql") =~ s/^\\(?:un)?restrict .*\n//mgr;
foreach my $dbname ('plain', 'parallel', 'prepared', 'owned')
{
	is($target->safe_psql($dbname, $describe),
		$source_generators, "$dbname: the same layouts and horizons");
	ok(dump_of($dbname) eq $expected, "$dbname: its dump is the same again")
	  if $dbname ne 'owned';
	check_restored($dbname, 1);
}
is( $target->safe_psql('schema_only', $describe =~ s/, horizon//r),
	query($describe =~ s/, horizon//r, 'source'),
	'schema_only: the same layouts');
is( $target->safe_psql(
		'schema_only',
		'SELECT count(*) FROM flake_generators WHERE horizon IS NOT NULL'),
	0,
	'schema_only: no horizons');
is( $target->safe_psql('schema_only', "SELECT count(*) FROM ($mint_all) s"),
	10 * @layouts,
	'schema_only: ids are minted at once');
is( $target->safe_psql(
		'owned',
		'SELECT count(*) FROM flake_generators WHERE owner = \'minter\''),
	@layouts + 1,
	'owned: restored by a user who is no superuser');
# Where ids may be that far ahead, they are above those of the dump; so are
# those of column defaults.
$target->append_conf('postgresql.conf', "flakeid.max_ahead = '2h'");
$target->stop;
start_with_clock($target, $target_clock);
foreach my $dbname ('plain', 'parallel', 'prepared', 'owned')
{
	check_restored($dbname, 0);
	my @wrong = grep {
		$target->safe_psql($dbname,
				"WITH before AS (SELECT max(id) FROM item_$_->[2]),"
			  . " after AS (INSERT INTO item_$_->[2] DEFAULT VALUES RETURNING id)"
			  . ' SELECT id > max FROM after, before') ne 't'
	} @layouts;
	is_deeply(\@wrong, [], "$dbname: so are those by column defaults");
}
$target->stop;

#
# Crashes, with the clock set back each time.
#

change_setting($node, 'flakeid.max_ahead', '10min');

my (%all, %greatest);

# Takes down what clients, one after the other, were given, and returns what is
# wrong with it.
sub take_down
{
	my (@lists) = @_;
	my %before = %greatest;
	my @wrong;

	foreach my $list (@lists)
	{
		my %last;

		foreach my $record (@$list)
		{
			my ($generator, $id) = @$record;

			push @wrong, "$generator: $id repeats"
			  if $all{"$generator $id"}++;
			push @wrong,
			  "$generator: $id after $before{$generator}, of before"
			  if defined $before{$generator} && $id <= $before{$generator};
			push @wrong, "$generator: $id after $last{$generator}"
			  if defined $last{$generator} && $id <= $last{$generator};
			$last{$generator} = $id;
			$greatest{$generator} = $id
			  if !defined $greatest{$generator}
			  || $id > $greatest{$generator};
		}
	}
	return @wrong;
}

my $load = "SELECT generator, id FROM ($mint_all) s;";
my $offset = 0;
foreach my $round (1 .. 4)
{
	my @load = start_clients(
		$node,
		count => 2,
		sql => $load,
		dbname => 'source');
	wait_for_more($_, 20 * 10 * @layouts) foreach @load;

	# The owner's SQL does not lower what a crash must find.
	foreach my $layout ($round % 2 ? @layouts : ())
	{
		my $quoted = literal($layout->[0]);

		query(
			$round == 1
			? "SELECT setval(seqrelid, seqmin) FROM pg_sequence"
			  . " WHERE seqrelid = $quoted\::regclass"
			: "ALTER SEQUENCE $layout->[0] RESTART",
			'source');
	}
	wait_for_more($_, 10 * @layouts) foreach @load;
	$offset -= 20;
	set_clock($clock, $offset);
	kill9_and_wait($node);
	finish_clients(@load);
	start_with_clock($node, $clock);
	is_deeply([ take_down(map { records($_) } @load) ],
		[], "crash $round: ids of every layout are unique and in order");
	is(join("\n", grep { !/^(?:57P0|08)/ } map { errors($_) } @load),
		'', "crash $round: no error but for the crash");
}

#
# Failover to a standby whose clock is behind.
#

my $standby_clock = new_clock();
set_clock($standby_clock, $offset - 20);
my $standby = start_standby($node, 'standby', $standby_clock);

my $insert = join ' ', map {
	my $quoted = literal($_->[0]);
	"INSERT INTO minted SELECT $quoted, 0,"
	  . " flake_id($_->[2], $quoted) FROM generate_series(1, 3)"
	  . ' RETURNING generator, id;'
} @layouts;
query('TRUNCATE minted', 'source');
@clients =
  start_clients($node, count => 2, sql => $insert, dbname => 'source');
wait_for_more($_, 300) foreach @clients;
$node->wait_for_catchup($standby, 'replay');
kill9_and_wait($node);
finish_clients(@clients);

# What the standby has is what counts.
$standby->promote;
my $saved = [
	map { [ split /\|/ ] } split /\n/,
	$standby->safe_psql(
		'source', 'SELECT generator, id FROM minted ORDER BY id')
];
cmp_ok(scalar @$saved, '>=', 600, 'failover: rows have been replayed');
is_deeply([ take_down($saved) ], [], 'failover: no id of before in a row');
@clients =
  start_clients($standby, count => 2, sql => $insert, dbname => 'source');
wait_for_more($_, 300) foreach @clients;
stop_clients($standby, @clients);
is_deeply([ take_down(map { records($_) } @clients) ],
	[], 'failover: ids of every layout go on, unique and in order');
is_deeply([ grep { !/^57P01/ } map { errors($_) } @clients ],
	[], 'failover: no insert fails');
$standby->stop;
stop_killed($node);

done_testing();
