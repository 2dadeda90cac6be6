# Copyright (c) 2026, the flakeid developers

# The statements of docs/migrating_online.md move a table with int ids over to flakeid
# while others write: no statement of theirs fails, and no row is lost.
#
# In the environment:
#   MIGRATE_ONLINE_ROWS   how many rows there are in the beginning, by default 10000

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeDoc;
use FlakeTest;
use IPC::Run;
use List::Util qw(max);
use PostgreSQL::Test::Utils;
use Test::More;

my $rows   = $ENV{MIGRATE_ONLINE_ROWS} || 10_000;
my @blocks = grep { $_->{language} eq 'sql' }
  blocks("$FindBin::RealBin/../docs/migrating_online.md");
my ($give_up) = grep { $_->{headings}[-1] eq 'To give up' } @blocks;
my $node = start_server(
	'main', conf => q(
log_statement = none
max_wal_size = 2GB
));

# The tables of the page, with more rows, and what the writers have committed
my ($tables, $names) = map { $_->{text} } @blocks[ 0, 1 ];
my @steps = grep { $_ != $give_up } @blocks[ 2 .. $#blocks ];
$tables =~ s/generate_series\(1, \d+\)/generate_series(1, $rows)/ or die;
$node->safe_psql('postgres',
	"$tables; CREATE TABLE written (id bigint)");

# The orders and items that were there in the beginning
sub contents
{
	return $node->safe_psql(
		'postgres', qq(
SELECT (SELECT concat_ws(' ', count(*), sum(id), sum(hashtextextended(what, id))) FROM orders WHERE id <= $rows),
       (SELECT concat_ws(' ', count(*), sum(order_id), sum(hashtextextended(what, order_id))) FROM item WHERE id <= $rows))
	);
}

my $before    = contents();
my $directory = PostgreSQL::Test::Utils::tempdir;

append_to_file("$directory/write.sql", <<"EOT");
\\set n random(1, $rows)
BEGIN;
INSERT INTO orders (what) VALUES ('new') RETURNING id \\gset
INSERT INTO item (order_id, what) VALUES (:id, 'of new');
UPDATE orders SET what = what WHERE id = :n;
UPDATE item SET order_id = order_id, what = what WHERE id = :n;
INSERT INTO orders (what) VALUES ('to be deleted') RETURNING id AS other \\gset
INSERT INTO written VALUES (:id);
COMMIT;
DELETE FROM orders WHERE id = :other;
EOT

my $output;
my $writers = IPC::Run::start(
	[   'pgbench',              '-n',
		'-c',                   '4',
		'-j',                   '4',
		'-T',                   '300',
		'-l',                   '--log-prefix',
		"$directory/log",       '-f',
		"$directory/write.sql", $node->connstr('postgres') ],
	'>',
	\$output,
	'2>&1');

sub wait_until_at_work
{
	my $count = $node->safe_psql('postgres', 'SELECT count(*) FROM written');

	wait_until(
		sub {
			$writers->pump_nb;
			die "a writer has ended: $output"
			  if $output =~ /abort|error/i || !$writers->pumpable;
			return $node->safe_psql('postgres',
				"SELECT count(*) > $count + 50 FROM written") eq 't';
		},
		'writers have written more');
	return;
}

# A block of the page, with the names before it.  One that could not get its locks is
# run again.
sub run_block
{
	my ($block) = @_;
	my $heading = $block->{headings}[-1];
	my $stderr;

	foreach my $attempt (1 .. 50)
	{
		my ($ret) = $node->psql(
			'postgres', "$names$block->{text}",
			stderr       => \$stderr,
			extra_params => ['--set=VERBOSITY=verbose']);

		if ($ret == 0)
		{
			pass("$heading, at attempt $attempt");
			wait_until_at_work();
			is(contents(), $before, 'then the rows are the same')
			  if $block->{text} =~ /^BEGIN/;
			return;
		}
		last
		  unless $stderr =~ /ERROR:  55P03/ && $block->{text} =~ /^BEGIN/;
	}
	fail($heading);
	diag $stderr;
	return;
}

wait_until_at_work();
run_block($_) foreach grep { $_->{headings}[-1] =~ /^[123]\./ } @steps;
run_block($give_up);
run_block($_) foreach @steps;

$writers->signal('TERM');
$writers->finish;
unlike($output, qr/abort|error/i, 'no writer had an error');
is(contents(), $before, 'all rows that were there are the same');
is( $node->safe_psql(
		'postgres', q(
SELECT count(*) > 0, count(*) FILTER (WHERE o.id IS NULL OR i.order_id IS NULL),
       count(*) FILTER (WHERE w.id > 1000000000000) > 50,
       count(*) FILTER (WHERE w.id > 1000000000000 AND flake_shard(w.id) <> 5), count(*) - count(DISTINCT w.id)
FROM written w LEFT JOIN orders o ON o.id = w.id LEFT JOIN item i ON i.order_id = w.id)
	),
	't|0|t|0|0',
	'so are all that writers have committed, and the last ones have ids of the shard'
);
is( $node->safe_psql(
		'postgres', q(
SELECT count(*) FROM item LEFT JOIN orders ON orders.id = order_id WHERE orders.id IS NULL)
	),
	0,
	'each item has its order');
is( $node->safe_psql(
		'postgres', q(
SELECT string_agg(conrelid::regclass || ' ' || pg_get_constraintdef(oid) || CASE WHEN NOT convalidated THEN ' NOT VALID' ELSE '' END, ', ' ORDER BY conname)
FROM pg_constraint WHERE contype <> 'n' AND connamespace = 'public'::regnamespace AND conrelid IN ('orders'::regclass, 'item'::regclass))
	),
	'item FOREIGN KEY (order_id) REFERENCES orders(id), item PRIMARY KEY (id), orders PRIMARY KEY (id)',
	'the keys are as before');
is( $node->safe_psql(
		'postgres', q(
SELECT string_agg(format('%s.%s %s%s', attrelid::regclass, attname, atttypid::regtype, CASE WHEN attnotnull THEN ' not null' END), ', ' ORDER BY 1)
FROM (SELECT * FROM pg_attribute WHERE attrelid IN ('orders'::regclass, 'item'::regclass) AND attnum > 0 AND NOT attisdropped ORDER BY attrelid DESC, attname) AS a)
	),
	'item.id bigint not null, item.order_id bigint not null, item.what text, orders.id bigint not null, orders.what text',
	'so are the columns, but for their type');
note sprintf 'the longest transaction of a writer: %.3f s',
  max(map { (split)[2] }
	  map { split /\n/, slurp_file($_) } glob "$directory/log*") / 1e6;

$node->stop;
done_testing();
