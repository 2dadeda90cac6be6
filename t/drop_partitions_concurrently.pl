# Copyright (c) 2026, the flakeid developers

# Partitions can be dropped without locking others out, and dropping can go on
# after it was broken off; two jobs can create the same ones.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $node = start_server(
	'main',
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE event (id bigint PRIMARY KEY) PARTITION BY RANGE (id);
SELECT flake_create_partitions('event', '1 day', '2026-01-01Z', '2026-01-03Z', zone => 'UTC');
INSERT INTO event SELECT flake_make('2026-01-01 12:00Z'::timestamptz + n * interval '1 day', 5, 0)
FROM generate_series(0, 1) AS n;
));

my $reader = new_session($node);
my $dropper = new_session($node);
my $pid = value($dropper, 'SELECT pg_backend_pid()');

# What is to be executed, with a bar between two statements.
sub statements
{
	my ($before) = @_;

	return $node->safe_psql('postgres',
		"SELECT string_agg(s, '|') FROM flake_drop_partitions('event', '$before', concurrently => true) AS s"
	);
}

# Those that are there, and whether detaching them was broken off.
sub partitions
{
	return $node->safe_psql(
		'postgres', q(
SELECT string_agg(relname || CASE WHEN inhdetachpending THEN ' pending' ELSE '' END, ', ' ORDER BY inhseqno, i.inhrelid)
FROM pg_inherits i JOIN pg_class c ON c.oid = i.inhrelid WHERE inhparent = 'event'::regclass));
}

# Begins to detach one, which has to wait for the reader.
sub send_detach
{
	my ($command) = @_;

	send_query($dropper, $command);
	wait_for_waiters($node, 1, "pid = $pid");
	return;
}

sub break_off
{
	$node->safe_psql('postgres', "SELECT pg_cancel_backend($pid)");
	is(error_code(get_answer($dropper)), '57014', 'detaching is broken off');
	value($reader, 'COMMIT');
	return;
}

sub detach_half
{
	my ($partition) = @_;

	value($reader, 'BEGIN; SELECT count(*) FROM event');
	send_detach("ALTER TABLE event DETACH PARTITION $partition CONCURRENTLY");
	break_off();
	return;
}

value($reader, 'BEGIN');
is(value($reader, 'SELECT count(*) FROM event'), 2, 'somebody reads');
my ($detach, $drop) = split /\|/, statements('2026-01-02Z');
is( $detach,
	'ALTER TABLE public.event DETACH PARTITION public.event_p20260101 CONCURRENTLY',
	'the statements to be executed');
like(
	$drop,
	qr/^DO '.*; DROP TABLE public\.event_p20260101; END'$/,
	'the statements to be executed then');

# psql goes on after an error.
is( error_code(ask($dropper, $drop)) . ' ' . partitions(),
	'55000 event_p20260101, event_p20260102',
	'a partition that is not detached is not dropped');
send_detach($detach);
is( $node->safe_psql(
		'postgres',
		q(INSERT INTO event VALUES (flake_make('2026-01-02 18:00Z', 5, 0)) RETURNING 1)
	),
	1,
	'meanwhile others write');
break_off();
is( error_code(ask($dropper, $drop)) . ' ' . partitions(),
	'55000 event_p20260101 pending, event_p20260102',
	'a partition that is half detached is not dropped');

($detach, $drop) = split /\|/, statements('2026-01-02Z');
like($detach, qr/ FINALIZE$/, 'the next time it is brought to its end');
value($dropper, $_) foreach $detach, $drop;
is( $node->safe_psql(
		'postgres',
		q(SELECT count(*), (SELECT count(*) FROM event) FROM flake_partitions('event'))
	),
	'1|2',
	'the partition is gone');
is(statements('2026-01-02Z'), '', 'and nothing is left to be done');

# Detaching a later one is broken off: it comes first, because until it is detached
# others cannot be, and its time is not taken for served.
my $strange = q(it's 100% \\ $flakeid$ "odd");
value(
	$dropper, qq(
SELECT flake_create_partitions('event', '1 day', '2026-01-03Z', '2026-01-05Z', zone => 'UTC');
INSERT INTO event VALUES (flake_make('2026-01-03 12:00Z', 5, 0)), (flake_make('2026-01-04 12:00Z', 5, 0));
SELECT format('ALTER TABLE event_p20260104 RENAME TO %I', \$\$$strange\$\$) \\gexec
));
detach_half('event_p20260103');
my ($stdout, $stderr) = ask($dropper,
	q(SELECT flake_create_partitions('event', '1 day', '2026-01-02Z', '2026-01-04Z', zone => 'UTC'))
);
is(error_code($stdout, $stderr), '55000', 'it cannot be created again yet');
like(
	$stderr,
	qr/HINT: .* ALTER TABLE public\.event DETACH PARTITION public\.event_p20260103 FINALIZE/,
	'the hint says what to do');
is( value(
		$dropper,
		q(SELECT count(*) FROM flake_create_partitions('event', '1 day', '2026-01-05Z', '2026-01-06Z', zone => 'UTC'))
	),
	1,
	'others can be created');
my @statements = split /\|/, statements('2026-01-05Z');
my @codes = map { error_code(ask($dropper, $_)) } @statements[ 1 .. $#statements ];
is("@codes", '55000 55000 55000 55000 55000',
	'if the first statement fails, so do the others');
is( partitions(),
	"event_p20260102, event_p20260103 pending, $strange, event_p20260105",
	'and do no harm');
value($dropper, $_) foreach @statements;
is(partitions(), 'event_p20260105', 'one by one they drop what is old');

# One that is not old is detached as well, so that others can be.
value($dropper,
	q(SELECT count(*) FROM flake_create_partitions('event', '1 day', '2026-01-03Z', '2026-01-05Z', zone => 'UTC'))
);
detach_half('event_p20260104');
is(statements('2026-01-02Z'), '', 'nothing to drop, nothing to do');
value($dropper, $_) foreach split /\|/, statements('2026-01-04Z');
is( value($dropper, q(SELECT to_regclass('event_p20260104'))) . ', '
	  . partitions(),
	'event_p20260104, event_p20260105',
	'it is detached, and stays');
value($dropper, 'DROP TABLE event_p20260104');

# All at once, with and without foreign keys
foreach my $command ('', 'CREATE TABLE refers (id bigint REFERENCES event)')
{
	value($dropper,
		qq(SELECT flake_create_partitions('event', '1 day', '2026-01-03Z', '2026-01-05Z', zone => 'UTC'); $command)
	);
	detach_half('event_p20260104');
	value($dropper,
		q(SELECT count(*) FROM flake_drop_partitions('event', '2026-01-05Z')));
	is(partitions(), 'event_p20260105', 'it is dropped without concurrently');
}

# Two that create the same ones, of whom the first waits for a reader
{
	my $create =
	  q(SELECT count(*) FROM flake_create_partitions('event', '1 day', '2026-02-01Z', '2026-02-11Z', zone => 'UTC'));
	my $second = new_session($node);

	value($reader, 'BEGIN; SELECT count(*) FROM event');
	send_detach($create);
	send_query($second, $create);
	wait_for_waiters($node, 2);
	value($reader, 'COMMIT');
	is_deeply(
		[ map { (get_answer($_))[0] } $dropper, $second ],
		[ 10, 0 ],
		'of two that create the same partitions, one waits for the other');
	end_session($second);
}

end_session($reader, $dropper);
$node->stop;
done_testing();
