# Copyright (c) 2026, the flakeid developers

# What flakeid writes to the WAL gives the same pages on a standby, and after a crash:
# wal_consistency_checking sends an image along with each record that changes a page, and
# who replays the record compares.  flakeid's own records, of the pages of sequences, are
# such images, and nothing is compared.  So these pages are read from both servers, and must
# be the same.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $clock = new_clock();
my $primary = start_server(
	'primary',
	allows_streaming => 1,
	clock => $clock,
	conf => q(
wal_consistency_checking = all
full_page_writes = off		# so that changes are replayed, and not images alone
autovacuum = off			# so that the pages are still the same when they are read
max_wal_size = 4GB
wal_keep_size = 2GB
log_statement = none
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT flake_id(5), what text);
));
my $standby = start_standby($primary, 'standby');

# What others do meanwhile
my $mint = 'INSERT INTO item SELECT flake_id(i % 8) FROM generate_series(1, 5) AS i RETURNING id;'
  . ' SELECT flake_uuid(), flake_objectid(), flake_uuidv7(7);';

sub run_sql { return $primary->safe_psql('postgres', $_[0]); }

# The page of each generator's sequence, as it is on disk.
sub pages
{
	my ($node) = @_;

	return map { split /\|/ } split /\n/, $node->safe_psql(
		'postgres', q(
CHECKPOINT;
SELECT generator, encode(pg_read_binary_file(pg_relation_filepath(generator)), 'hex') FROM flake_generators));
}

# What a server that replays has found.
sub inconsistencies
{
	my ($node) = @_;
	my @found = slurp_file($node->logfile) =~ /(inconsistent page found.*)/g;

	return "@found";
}

# Runs statements beside others who mint.  The standby can replay all of it, and has the
# same pages then.
sub run_and_compare
{
	my ($what, $sql, $dbname) = @_;
	my @clients = start_clients($primary, count => 2, sql => $mint);

	$primary->safe_psql($dbname // 'postgres', $sql);
	wait_for_more($_, 20) foreach @clients;
	stop_clients($primary, @clients);

	# On the standby a checkpoint writes pages only if there has been one here.
	run_sql('CHECKPOINT');
	wait_until(
		sub {
			return inconsistencies($standby)
			  || $standby->safe_psql('postgres',
				q(SELECT pg_last_wal_replay_lsn() >= ') . $primary->lsn('flush') . q(')) eq 't';
		},
		'the standby has replayed everything');
	is(inconsistencies($standby), '', "$what: replayed, each record gives the same page")
	  or BAIL_OUT('the standby has ended');

	my %here = pages($primary);
	my %there = pages($standby);
	is_deeply([ sort keys %there ], [ sort keys %here ], "$what: the same generators");
	is_deeply([ grep { $here{$_} ne $there{$_} } sort keys %here ], [], "$what: with the same pages");
	return;
}

foreach my $node ($primary, $standby)
{
	is($node->safe_psql('postgres', 'SHOW wal_consistency_checking'), 'all', $node->name . ' has the images');
}

#
# Generators
#

# Without the one whose lifetime is over.
my $presets = q(SELECT name FROM flake_presets WHERE coalesce(ends > now(), true));

run_and_compare(
	'generators', qq(
SELECT flake_create_generator('of_' || name, name::flake_layout) FROM ($presets) AS p;
SELECT count(flake_id(n, 'of_' || name)) FROM ($presets AND name <> 'uuidv7') AS p, generate_series(0, 1) AS n
	WHERE n < (SELECT shards FROM flake_presets AS q WHERE q.name = p.name);
SELECT count(*) FROM flake_uuidv7s(1, 9, 'of_uuidv7');
SELECT count(*) FROM flake_ids(0, 25000, 'of_segment');
SELECT flake_settled('of_snowflake'), flake_settled_uuid(), flake_settled_objectid(), flake_settled_uuidv7();
SELECT flake_create_generator('after', after => flake_id(5)), flake_create_generator('dropped', 'segment');
SELECT flake_id(5, 'after'), flake_id(0, 'dropped');
DROP SEQUENCE dropped;
BEGIN;
SELECT flake_create_generator('rolled_back');
SELECT flake_id(5);
ROLLBACK;
));

# Whatever others do to a sequence, minting goes on from there.  Of the second nextval()
# nothing is in the WAL, so what comes next must be an image of the page, and no change to it.
run_and_compare(
	'sequences', q(
ALTER SEQUENCE of_snowflake INCREMENT 1 RESTART WITH 5;
SELECT nextval('of_snowflake'), nextval('of_snowflake'), nextval('of_snowflake');
SELECT flake_accept_restore();
ALTER SEQUENCE of_snowflake INCREMENT 9223372036854775807 RESTART;
SELECT flake_id(1, 'of_snowflake');
SELECT setval('of_ticket', 100000), flake_id(0, 'of_ticket');
ALTER SEQUENCE of_leaf RESTART;
TRUNCATE item RESTART IDENTITY;
ALTER SEQUENCE of_tsid OWNED BY item.id;
SELECT flake_id(1, 'of_leaf'), flake_id(1, 'of_tsid');
SELECT flake_advance('of_discord', flake_upper(now() + interval '1 s', 'discord'));
SELECT flake_advance('of_segment', 1000000), flake_id(0, 'of_segment');
SELECT flake_rewind('of_segment', 500000, force => true), flake_id(0, 'of_segment');
SELECT flake_accept_restore(), flake_accept_clock();
));

#
# Shards
#

run_and_compare(
	'shards', q(
SELECT flake_detach(n), flake_attach(n) FROM generate_series(100, 400) AS n;
SELECT flake_attach(n, flake_id(0)) FROM generate_series(50, 60) AS n;
SELECT flake_detach(n) FROM generate_series(8000, 8010) AS n;
SELECT flake_backfill(now() - interval '1 h', 8000) FROM generate_series(1, 3000);
BEGIN;
SELECT flake_detach(9), flake_backfill(now() - interval '1 h', 8001);
ROLLBACK;
SELECT flake_lease('process ' || n) FROM generate_series(1, 300) AS n;
SELECT flake_renew('process ' || n, '1 h') FROM generate_series(1, 300) AS n;
SELECT flake_release('process ' || n) FROM generate_series(1, 200) AS n;
SELECT flake_detach_all('of_hazelcast');
INSERT INTO flake_shard_map SELECT int4range(n * 10, n * 10 + 10), 'server' || n FROM generate_series(300, 400) AS n;
DELETE FROM flake_shard_map WHERE lower(shards) % 20 = 0;
SELECT flake_renumber('{9}', '{2000}');
VACUUM flake_leases, flake_shard_state, flake_shard_map;
SELECT flake_lease('process ' || n) FROM generate_series(301, 400) AS n;
VACUUM (FULL, ANALYZE) flake_leases, flake_shard_state, flake_shard_map;
));

#
# Tables
#

run_and_compare(
	'tables', q(
CREATE TABLE orders (id serial PRIMARY KEY, what text);
CREATE TABLE line (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, orders int REFERENCES orders ON UPDATE CASCADE);
INSERT INTO orders (what) SELECT repeat('x', n) FROM generate_series(1, 500) AS n;
INSERT INTO line (orders) SELECT id FROM orders;
CREATE VIEW both_tables AS SELECT line.id, what FROM orders JOIN line ON orders = orders.id;
SELECT count(*) FROM flake_migrate('orders', 'id', 5, drop_sequence => true);
INSERT INTO orders (what) SELECT 'new' FROM generate_series(1, 500);
CREATE SCHEMA shop;
CREATE TABLE shop.customer (id serial PRIMARY KEY, name text);
CREATE TABLE shop.invoice (id bigserial PRIMARY KEY, customer int REFERENCES shop.customer);
INSERT INTO shop.customer (name) SELECT n FROM generate_series(1, 500) AS n;
INSERT INTO shop.invoice (customer) SELECT id FROM shop.customer;
CALL flake_migrate_all(ARRAY['shop'], 6);
INSERT INTO shop.customer (name) VALUES ('new');
SELECT flake_create_shard(n, 'shop') FROM generate_series(10, 13) AS n;
INSERT INTO shop_12.customer (name) SELECT n FROM generate_series(1, 500) AS n;
UPDATE orders SET id = flake_make(now() + interval '1 year', 5, id::int % 1024) WHERE id < 100;
SELECT count(*) FROM flake_replace_ids('orders', 'id', flake_upper(now() + interval '1 min'), dry_run => false);
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT flake_id(5), what text) PARTITION BY RANGE (id);
SELECT count(*) FROM flake_create_partitions('event', '1 day', now() - interval '9 days', now() + interval '1 day');
INSERT INTO event (id) SELECT flake_make(now() - n * interval '10 min', 5, 0) FROM generate_series(1, 1000) AS n;
SELECT count(*) FROM flake_drop_partitions('event', now() - interval '4 days');
CREATE TABLE by_shard (id bigint) PARTITION BY HASH (id flake_shard_ops);
CREATE TABLE by_shard_0 PARTITION OF by_shard FOR VALUES WITH (MODULUS 1, REMAINDER 0);
INSERT INTO by_shard SELECT flake_id(n) FROM generate_series(1000, 1900) AS n;
CREATE TABLE uuids (id uuid PRIMARY KEY DEFAULT flake_uuidv7(5));
INSERT INTO uuids SELECT FROM generate_series(1, 1000);
VACUUM;
));

#
# The extension comes and goes
#

run_sql('CREATE DATABASE other');
run_and_compare(
	'extensions', q(
CREATE SCHEMA ids;
CREATE EXTENSION flakeid SCHEMA ids;
SET search_path = ids, public;
SELECT flake_id(5), flake_lease('process'), flake_detach(7), flake_create_generator('public.left_over');
CREATE SERVER key FOREIGN DATA WRAPPER flake_key;
SELECT flake_add_key('key');
DROP EXTENSION flakeid CASCADE;
DROP SCHEMA ids;
CREATE EXTENSION flakeid;
SELECT flake_id(5);
), 'other');
run_and_compare('databases', 'DROP DATABASE other');

#
# A crash: the primary replays what it has written itself, and the standby goes on
#

my @clients = start_clients($primary, count => 2, sql => $mint);
wait_for_more($_, 50) foreach @clients;
kill9_and_wait($primary);
finish_clients(@clients);
start_with_clock($primary, $clock);
like(slurp_file($primary->logfile), qr/redo starts/, 'after a crash the primary replays');
is(inconsistencies($primary), '', 'and finds the pages as they were');
run_and_compare('a crash', q(SELECT flake_id(5), flake_id(0, 'of_segment'), flake_lease('process 500')));

#
# docs/outbox.md, "Read from a standby": behind the switch of a segment, too, the standby
# gets to the position that its reader waits for, although nothing is written there.
#

SKIP:
{
	skip 'headers are of other sizes with 32 bits', 3
	  if $primary->safe_psql('postgres', 'SELECT max_data_alignment FROM pg_control_init()') != 8;

	my ($read) = slurp_file("$FindBin::RealBin/../docs/outbox.md") =~ /^(SELECT greatest\(:position[^\\]* AS lsn[^\\]*) \\gset$/m;
	$read =~ s/:position/0/;
	$read =~ s/outbox_id/flake_default/;
	my ($bound, $lsn, $ahead);
	foreach (1 .. 20)
	{
		$primary->safe_psql('postgres', q(INSERT INTO orders DEFAULT VALUES; SELECT pg_switch_wal()));
		($bound, $lsn, $ahead) = split /\|/, $primary->safe_psql('postgres', $read =~ s/ AS lsn/ AS lsn, n/r);
		last if $ahead - $lsn == 40;
	}
	is($ahead - $lsn, 40, 'the next record would come after the header of a segment');
	ok( $standby->poll_query_until('postgres',
			"SELECT pg_wal_lsn_diff(pg_last_wal_replay_lsn(), '0/0') >= $lsn"),
		'the standby has replayed what is before');
	is( $standby->safe_psql('postgres', "SELECT count(*) FROM orders WHERE id <= $bound"),
		$primary->safe_psql('postgres', "SELECT count(*) FROM orders WHERE id <= $bound"),
		'and has all rows below the bound');
}

#
# The standby takes over
#

$primary->stop;
$standby->promote;
is($standby->safe_psql('postgres', 'SELECT flake_id(5) > max(id) FROM orders WHERE flake_shard(id) = 5'),
	't', 'who is promoted mints on');
$standby->stop;

done_testing();
