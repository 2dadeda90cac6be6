# Copyright (c) 2026, the flakeid developers

# Whoever reads on from the last id he has seen, up to flake_settled(), sees every row
# once and in the order of ids, whatever writers do meanwhile.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $seconds = $ENV{SETTLED_SECONDS} // 10;

my $node = start_server(
	'primary',
	conf => q(
max_prepared_transactions = 20
max_connections = 100
log_statement = none
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT flake_id(1), what text);
CREATE TABLE reader (name text PRIMARY KEY, position bigint NOT NULL);
CREATE TABLE seen (n bigserial, name text, id bigint);
CREATE TABLE source (n int);
INSERT INTO source SELECT generate_series(1, 20);
));

# Reads on and notes what was read, in one statement.
sub reading_sql
{
	my ($name, $condition) = @_;

	return
	  "WITH e AS (SELECT id FROM event WHERE id > (SELECT position FROM reader WHERE name = '$name') AND $condition ORDER BY id LIMIT 1000),"
	  . " s AS (INSERT INTO seen (name, id) SELECT '$name', id FROM e ORDER BY id)"
	  . " UPDATE reader SET position = (SELECT max(id) FROM e) WHERE name = '$name' AND EXISTS (SELECT FROM e);";
}

my @writers = (
	map({ start_clients($node, sql => "INSERT INTO event (id) VALUES (flake_id($_));") } 1 .. 4),
	map({ start_clients($node, sql => "BEGIN; INSERT INTO event (id) VALUES (flake_id($_)); SELECT pg_sleep(random() / 4); INSERT INTO event (id) VALUES (flake_id($_ + 1)); COMMIT;") } 3 .. 8),
	start_clients($node, sql => 'BEGIN; SAVEPOINT a; INSERT INTO event (id) VALUES (flake_id(20)); ROLLBACK TO a; INSERT INTO event (id) VALUES (flake_id(21)); SELECT pg_sleep(0.02); COMMIT;'),
	start_clients($node, sql => 'BEGIN; INSERT INTO event (id) VALUES (flake_id(22)); SELECT pg_sleep(0.05); ROLLBACK;'),
	start_clients($node, sql => 'INSERT INTO event (id) SELECT flake_id(23) FROM source;'),
	start_clients($node, sql => q(BEGIN; INSERT INTO event (id) VALUES (flake_id(24)); PREPARE TRANSACTION 'a'; SELECT pg_sleep(0.1); COMMIT PREPARED 'a';)));

my @good = map { "good_$_" } 1 .. 4;
my @naive = ('naive_1');
$node->safe_psql('postgres', "INSERT INTO reader VALUES ('$_', 0)") foreach @good, @naive;
my @readers = (
	map({ start_clients($node, sql => reading_sql($_, 'id <= flake_settled()') . 'SELECT pg_sleep(0.01);') } @good),
	map({ start_clients($node, sql => reading_sql($_, 'true') . 'SELECT pg_sleep(0.01);') } @naive));

sleep $seconds;
note $node->safe_psql('postgres', 'SELECT name, count(*) FROM seen GROUP BY 1 ORDER BY 1');
stop_clients($node, @writers);
if ($node->safe_psql('postgres', 'SELECT count(*) FROM pg_prepared_xacts') > 0)
{
	$node->safe_psql('postgres', q(COMMIT PREPARED 'a'));
}
my $events = $node->safe_psql('postgres', 'SELECT count(*), max(id) FROM event');
note $events;
note $node->safe_psql('postgres', 'SELECT * FROM flake_unsettled');
my $max = $node->safe_psql('postgres', 'SELECT max(id) FROM event');
$node->poll_query_until('postgres', "SELECT bool_and(position >= $max) FROM reader WHERE name LIKE 'good%'") or diag $node->safe_psql('postgres', 'SELECT * FROM reader') . $node->safe_psql('postgres', 'SELECT flake_settled()');
stop_clients($node, @readers);
note $node->safe_psql('postgres', "SELECT name, count(*), count(DISTINCT id), (SELECT count(*) FROM event e WHERE NOT EXISTS (SELECT FROM seen s WHERE s.name = seen.name AND s.id = e.id)) AS lost FROM seen GROUP BY name ORDER BY 1");
note join "\n", map { errors($_) } @readers, @writers;
ok(1);
done_testing();
