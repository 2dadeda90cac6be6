# Copyright (c) 2026, the flakeid developers

# Partitions are dropped without locking others out, also when that was broken off
# before.

use strict;
use warnings;

use FindBin;
use lib $FindBin::RealBin;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->start;
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION flakeid;
CREATE TABLE event (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
SELECT flake_create_partitions('event', '1 day', '2026-01-01Z', '2026-01-03Z', zone => 'UTC');
INSERT INTO event SELECT flake_make('2026-01-01 12:00Z'::timestamptz + n * interval '1 day', 5, 0)
FROM generate_series(0, 1) AS n;
));

# What is to be executed, with a bar between two statements.
sub statements
{
	return $node->safe_psql('postgres',
		q(SELECT string_agg(s, '|') FROM flake_drop_partitions('event', '2026-01-02Z', concurrently => true) AS s)
	);
}

my $reader = new_session($node);
my $dropper = new_session($node);
my $pid = value($dropper, 'SELECT pg_backend_pid()');

value($reader, 'BEGIN');
is(value($reader, 'SELECT count(*) FROM event'), 2, 'somebody reads');
my ($detach, $drop) = split /\|/, statements();
is( "$detach; $drop",
	'ALTER TABLE public.event DETACH PARTITION public.event_p20260101 CONCURRENTLY;'
	  . ' DROP TABLE public.event_p20260101',
	'what is to be executed');
send_query($dropper, $detach);
$node->poll_query_until('postgres',
	"SELECT wait_event_type = 'Lock' FROM pg_stat_activity WHERE pid = $pid")
  or die 'detaching does not wait';
is( $node->safe_psql(
		'postgres',
		q(INSERT INTO event VALUES (flake_make('2026-01-02 18:00Z', 5, 0)) RETURNING 1)
	),
	1,
	'meanwhile others write');
$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
is(error_code(get_answer($dropper)), '57014', 'detaching is broken off');
value($reader, 'COMMIT');

($detach, $drop) = split /\|/, statements();
like($detach, qr/ FINALIZE$/, 'the next time it is brought to its end');
value($dropper, $_) foreach $detach, $drop;
is( $node->safe_psql(
		'postgres',
		q(SELECT count(*), (SELECT count(*) FROM event) FROM flake_partitions('event'))
	),
	'1|2',
	'the partition is gone');
is(statements(), '', 'and nothing is left to be done');

end_session($_) foreach $reader, $dropper;
$node->stop;
done_testing();
