# Copyright (c) 2026, the flakeid developers

# A statement has one bound of flake_settled(), or none, however often it asks: for each
# row, in each of several scans, and in functions.  Else it would return rows of one table
# and leave out earlier ones of another, and its reader would go on after those.

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
	allows_streaming => 1,
	conf => q(
autovacuum = off			# its transactions would end between others
synchronous_commit = local
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint PRIMARY KEY);
CREATE TABLE item_by_default (id bigint PRIMARY KEY);
CREATE VIEW event AS SELECT id FROM item UNION ALL SELECT id FROM item_by_default;
CREATE TABLE one_row (i int);
INSERT INTO one_row VALUES (1);
SELECT flake_create_generator('other_' || i) FROM generate_series(1, 5) AS i;
CREATE FUNCTION pause(id bigint) RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	IF id = current_setting('pause.at')::bigint THEN
		PERFORM pg_advisory_lock_shared(1);
	END IF;
	RETURN id;
END $$;
CREATE FUNCTION one_loop() RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
	r record;
BEGIN
	PERFORM pg_sleep(1.2);
	FOR r IN SELECT id FROM item_by_default WHERE id <= flake_settled() ORDER BY id LOOP
		RETURN NEXT r.id;
	END LOOP;
END $$;
CREATE FUNCTION two_loops() RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT id FROM item WHERE id <= flake_settled() ORDER BY id LOOP
		RETURN NEXT r.id;
	END LOOP;
	RETURN QUERY SELECT one_loop();
END $$;
));

sub insert_alternately
{
	my ($session, $times) = @_;

	return split /\n/,
	  value(
		$session,
		join ';',
		map { "INSERT INTO item$_ VALUES (flake_id(1)) RETURNING id" }
		  ('', '_by_default') x $times);
}

# Up to the last id that was read, nothing of @ids is missing.
sub has_no_gap
{
	my ($read, $ids, $name) = @_;
	my ($last) = sort { $b <=> $a } 0, @$read;
	my %is_read = map { $_ => 1 } @$read;

	is_deeply([ grep { $_ <= $last && !$is_read{$_} } @$ids ], [], $name)
	  or diag "it has read @$read";
	return;
}

#
# Loops of functions, which have portals of their own.  The ids are ahead of the clock by
# less than they pause.
#

my ($reader, $writer) = new_sessions($node, 2);
my @ids;
foreach my $statement ('SELECT two_loops()',
	'SELECT id FROM item WHERE id <= flake_settled() UNION ALL SELECT one_loop()',
	'SELECT one_loop() UNION ALL SELECT id FROM item WHERE id <= flake_settled()')
{
	value($writer, 'TRUNCATE item, item_by_default; SELECT count(*) FROM flake_ids(1, 1000 * 1024)');
	@ids = insert_alternately($writer, 2);
	value($reader, 'SELECT flake_settled()');
	has_no_gap([ split /\n/, value($reader, $statement) ], \@ids, $statement);
}

# A cursor is fetched within a statement that has a later bound, and an equal snapshot: what
# has ended in between has minted only.
value($writer, q(
CREATE FUNCTION fetch_rest() RETURNS SETOF bigint LANGUAGE plpgsql AS $$
DECLARE
	rest refcursor := 'c';
	r record;
BEGIN
	LOOP
		FETCH rest INTO r;
		EXIT WHEN NOT FOUND;
		RETURN NEXT r.id;
	END LOOP;
END $$;
CREATE FUNCTION plain_loop() RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT id FROM item_by_default WHERE id <= flake_settled() ORDER BY id LOOP
		RETURN NEXT r.id;
	END LOOP;
END $$;
TRUNCATE item, item_by_default));
{
	my ($holder) = new_sessions($node, 1);
	my @read;

	@ids = insert_alternately($writer, 1);
	value($reader, 'SELECT flake_settled()');
	value($holder, 'BEGIN; SELECT flake_id(2)');
	push @ids, insert_alternately($writer, 1);
	value($reader, 'BEGIN; DECLARE c CURSOR FOR SELECT id FROM item WHERE id <= flake_settled() UNION ALL SELECT plain_loop()');
	push @read, value($reader, 'FETCH 1 FROM c');
	value($holder, 'COMMIT');
	push @read, split /\n/, value($reader, 'SELECT flake_settled() IS NOT NULL, fetch_rest()') =~ s/^t\|//mgr;
	has_no_gap(\@read, \@ids, 'a cursor that is fetched within another statement has its own bound');
	value($reader, 'COMMIT');
	end_session($holder);
}

#
# No bound is known when the statement begins, and then there is one.
#

value($writer, 'TRUNCATE item, item_by_default');
@ids = insert_alternately($writer, 3);
end_session($reader, $writer);
my %statements = (
	'a bound for each row' =>
	  'SELECT id FROM (SELECT id, pause(id) FROM event ORDER BY id LIMIT 100) AS e WHERE id <= flake_settled()',
	'two scans' =>
	  'SELECT id FROM item WHERE id <= flake_settled() UNION ALL'
	  . " SELECT id FROM (SELECT pause($ids[2]) AS p FROM one_row OFFSET 0) AS s,"
	  . ' LATERAL (SELECT id FROM item_by_default WHERE p > 0 AND id <= flake_settled() OFFSET 0) AS d');

# After a restart, with $make_known called in the midst of it.
sub check_statement
{
	my ($statement, $name, $begin, $make_known) = @_;

	$node->stop('fast');
	$node->start;
	my ($reader, $writer, $other) = new_sessions($node, 3);

	value($other, 'SELECT pg_advisory_lock(1)');
	value($reader, "SET pause.at = $ids[2]");
	$begin->($writer);
	send_query($reader, $statements{$statement});
	wait_for_waiters($node, 1, q(locktype = 'advisory'));
	$make_known->($writer);
	value($other, 'SELECT pg_advisory_unlock(1)');
	my ($out, $err) = get_answer($reader);
	is($err, '', "$name, $statement");
	has_no_gap([ split /\n/, $out ], \@ids, 'has lost nothing');
	is(value($reader, 'SELECT count(*) FROM event WHERE id <= flake_settled()'),
		@ids, 'and then all is read');
	end_session($reader, $writer, $other);
	return;
}

# More generators than an entry has room for: no bound is known.
foreach my $statement (sort keys %statements)
{
	check_statement(
		$statement,
		'a transaction ends',
		sub { value($_[0], 'BEGIN; ' . join '; ', map { "SELECT flake_id(1, 'other_$_')" } 1 .. 5) },
		sub { value($_[0], 'ROLLBACK') });
}

# Or until a synchronous standby has the horizon.
$node->append_conf('postgresql.conf', q(synchronous_standby_names = 'b'));
my $directory = PostgreSQL::Test::Utils::tempdir('wal');
foreach my $statement (sort keys %statements)
{
	my ($receiver, $out, $err);

	check_statement(
		$statement,
		'the standby comes',
		sub { },
		sub {
			my ($writer) = @_;

			$receiver = IPC::Run::start(
				[
					'pg_receivewal', '-D', $directory, '--synchronous',
					'-d', $node->connstr('postgres') . ' application_name=b'
				],
				'>', \$out, '2>', \$err);
			wait_until(sub { value($writer, 'SELECT flake_settled()') ne '' },
				'a bound is known');
		});
	$receiver->kill_kill;
}
$node->stop;
done_testing();
