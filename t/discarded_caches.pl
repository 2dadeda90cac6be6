# Copyright (c) 2026, the flakeid developers

# Functions work when whatever a session knows of the catalogs is forgotten at every moment
# when another session could have changed it (debug_discard_caches = 1), and they come to an
# end.  Only a server that was built with assertions can do that: see make asserts.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $node = start_server('main', conf => 'jit = off');

if ($node->safe_psql('postgres', q(SELECT max_val FROM pg_settings WHERE name = 'debug_discard_caches')) eq '0')
{
	$node->stop;
	plan skip_all => 'the server was built without assertions';
}

# Tables and generators, in no time.
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION flakeid;
CREATE ROLE minter;
SELECT flake_create_generator('photo_id'), flake_create_generator('numbers', 'segment');
GRANT USAGE ON SEQUENCE photo_id TO minter;
CREATE TABLE photo (id bigint PRIMARY KEY DEFAULT flake_id(5, 'photo_id'), title text);
CREATE TABLE part (id bigint PRIMARY KEY DEFAULT flake_id(0, 'numbers'));
CREATE TABLE orders (id serial PRIMARY KEY);
CREATE TABLE line (id serial PRIMARY KEY, orders int REFERENCES orders);
CREATE VIEW lines AS SELECT * FROM line;
CREATE SCHEMA shop;
CREATE TABLE shop.customer (id bigint PRIMARY KEY DEFAULT flake_id());
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT flake_id(5)) PARTITION BY RANGE (id);
CREATE SERVER key FOREIGN DATA WRAPPER flake_key;
));

my $session = new_session($node);
value($session, 'SET client_min_messages = error');
value($session, 'SET debug_discard_caches = 1');

# That statements in a row fail nowhere.
sub works
{
	my ($name, @statements) = @_;
	my $start = time;
	my @errors = map { my (undef, $error) = ask($session, $_); $error } @statements;

	is(join('', @errors), '', $name);
	note sprintf '%d s', time - $start;
	return;
}

works('ids', 'SELECT flake_id(5)', 'SELECT flake_id(5), flake_ids(5, 3), flake_sibling(flake_id(6))');
works('ids of the other types', 'SELECT flake_uuid(), flake_objectid(), flake_uuidv7(5)');
works('ids of generators', q(SELECT flake_id(5, 'photo_id'), flake_id(0, 'numbers')));
works('defaults', 'INSERT INTO photo DEFAULT VALUES', 'INSERT INTO part SELECT FROM generate_series(1, 3)');
works('a role', 'SET ROLE minter', q(SELECT flake_id(5, 'photo_id')), 'RESET ROLE');
works('a transaction', 'BEGIN', 'SAVEPOINT a', 'SELECT flake_id(7)', 'ROLLBACK TO a', 'SELECT flake_id(7)', 'COMMIT');
works('a generator is made', q(SELECT flake_create_generator('new', 'snowflake')), q(SELECT flake_id(5, 'new')), 'DROP SEQUENCE new');
works('what is settled', q(SELECT flake_settled(), flake_settled('numbers', 0), flake_settled_uuid(), flake_settled_uuidv7()));
works('generators are shown', q(SELECT flake_layout_of('photo_id'), flake_horizon('photo_id'), flake_columns('photo_id')));
works('views', 'SELECT * FROM flake_generators', 'SELECT * FROM flake_shards', 'SELECT * FROM flake_stat');
works('shards', 'SELECT flake_detach(9)', 'SELECT flake_attach(9)', 'SELECT flake_detach(8000)',
	q(SELECT flake_backfill(now() - interval '1 h', 8000)));
works('leases', q(SELECT flake_lease('a')), q(SELECT flake_renew('a', '1 h')), q(SELECT flake_release('a')));
works('a generator goes ahead and back', q(SELECT flake_advance('numbers', 1000000)),
	q(SELECT flake_rewind('numbers', 500000, force => true)), q(SELECT flake_id(0, 'numbers')));
works('health', 'SELECT * FROM flake_health');
works('partitions', q(SELECT flake_create_partitions('event', '1 day', '2026-01-01Z', '2026-01-03Z', zone => 'UTC')),
	q(SELECT flake_partitions('event')), q(SELECT flake_drop_partitions('event', '2026-01-02Z')));
works('a migration', q(SELECT count(*) FROM flake_migrate('orders', 'id', 5)), 'INSERT INTO orders DEFAULT VALUES');
works('a schema for a shard', q(SELECT flake_create_shard(5, 'shop')), 'INSERT INTO shop_5.customer DEFAULT VALUES');
works('other numbers', q(SELECT flake_renumber('{5}', '{2000}', 'photo_id')));
works('new ids', q(SELECT flake_replace_ids('photo', 'id', 0, 2000, 'photo_id', dry_run => false)));
works('keys', q(SELECT flake_add_key('key')), q(SELECT flake_unseal(flake_seal(5, 'key'), 'key')));
works('a copy', 'SELECT flake_detach_all()');
works('a restore', 'SELECT flake_accept_restore()');

end_session($session);
$node->stop;
done_testing();
