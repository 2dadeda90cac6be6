# Copyright (c) 2026, the flakeid developers

# Partitions come and go by themselves with pg_cron and with pg_partman, by the very
# statements of docs/partitions.md.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeDoc;
use FlakeTest;
use Test::More;

# pg_cron's jobs run each minute, at best: begin with them, on a server of their
# own, and see to the rest meanwhile, on this one whose clock can be set.
my $clock = new_clock();
my $node = start_server(
	'partman',
	clock => $clock,
	conf => qq(timezone = 'UTC'\nflakeid.max_jump = -1),
	sql => 'CREATE EXTENSION flakeid');

# Days are counted from tomorrow's midnight.
my $day = 86400;
my $midnight = $day * (1 + int(time / $day));

# Noon of a day.
sub set_day
{
	my ($days) = @_;

	set_clock($clock, $midnight + ($days + 0.5) * $day - time);
	return;
}

# The SQL under a heading of the page, block by block.
sub sql_of
{
	my ($heading) = @_;
	my @sql = map { $_->{text} }
	  grep { $_->{language} eq 'sql' && $_->{headings}[-1] eq $heading }
	  blocks("$FindBin::RealBin/../docs/partitions.md");

	die "nothing under \"$heading\"" unless @sql;
	return @sql;
}

# The version of an extension that could be created, or ''.
sub version_of
{
	my ($extension) = @_;

	return $node->safe_psql('postgres',
		"SELECT default_version FROM pg_available_extensions WHERE name = '$extension'"
	);
}

# For which days there are partitions, as "0 1 2"; those with other bounds than a
# day's by their names.
sub days_of
{
	my ($server, $table, $layout) = @_;

	return $server->safe_psql(
		'postgres', qq(
SELECT string_agg(CASE WHEN upto = since + interval '1 day' AND since = date_trunc('day', since)
                       THEN (extract(epoch FROM since)::bigint - $midnight) / $day || ''
                       ELSE partition::text END, ' ' ORDER BY since)
FROM flake_partitions('$table', $layout)));
}

#
# pg_cron
#

my $cron;
my $pg_cron = version_of('pg_cron');
my ($schedule, $outcome, $ahead) = sql_of('With pg_cron');

if ($pg_cron)
{
	$cron = start_server(
		'cron',
		conf => q(
timezone = 'UTC'
shared_preload_libraries = 'pg_cron'
cron.database_name = 'postgres'
cron.use_background_workers = on
),
		sql => 'CREATE EXTENSION flakeid');

	# Not at night; each five seconds since pg_cron 1.5.
	my $soon = $pg_cron =~ /^1\.[0-4]\b/ ? '* * * * *' : '5 seconds';

	$schedule =~ s/'[05] 3 \* \* \*'/'$soon'/g == 2 or die 'no times';
	$cron->safe_psql('postgres', $schedule);

	# One that is to be dropped, and one that is to be created.
	$cron->safe_psql(
		'postgres', q(
SELECT flake_create_partitions('visit', '1 day', now() - interval '92 days', now() - interval '91 days', zone => 'UTC');
DO $$
BEGIN
	EXECUTE format('DROP TABLE %s', (SELECT partition FROM flake_partitions('visit') ORDER BY since DESC LIMIT 1));
END
$$));
}

#
# pg_partman
#

my $partman = version_of('pg_partman');

SKIP:
{
	skip 'the extension pg_partman is not installed for this PostgreSQL', 1
	  unless $partman;

	set_day(2);
	my ($create) = sql_of('bigint, as numbers');
	my $layout = q(flake_layout_of('reading_id'));
	my $insert =
	  'INSERT INTO reading (value) VALUES (1) RETURNING tableoid::regclass';
	my $maintain = 'SELECT partman.run_maintenance()';

	$create =~ s/'range',/'native',/
	  or die 'p_type is missing'
	  if $partman =~ /^4\./;
	$node->safe_psql('postgres', $create);
	is( days_of($node, 'reading', $layout),
		'2 3 4 5 6 7 8 9',
		"pg_partman $partman: a week of partitions, from midnight to midnight"
	);
	like($node->safe_psql('postgres', $insert),
		qr/^reading_p\d+$/, "pg_partman: a row of today has its partition");
	like(
		$node->safe_psql(
			'postgres',
			q(EXPLAIN (COSTS OFF) SELECT * FROM reading WHERE flake_between(id, date_trunc('day', now()), now(), flake_layout_of('reading_id')))
		),
		qr/Subplans Removed: 8/,
		'pg_partman: only its partition is read');

	set_day(5);
	$node->safe_psql('postgres', $insert);
	$node->safe_psql('postgres', $maintain);
	is( days_of($node, 'reading', $layout),
		join(' ', 2 .. 12),
		'pg_partman: maintenance makes a week more');

	# After a pause.
	set_day(94);
	$node->safe_psql('postgres', $maintain);
	is( days_of($node, 'reading', $layout),
		join(' ', 2 .. 12),
		'pg_partman: none without rows');
	is($node->safe_psql('postgres', $insert),
		'reading_default',
		'pg_partman: a row after a pause has no partition');
	$node->safe_psql('postgres',
		q(SELECT partman.partition_data_id('public.reading')));
	is( $node->safe_psql('postgres', 'SELECT count(*) FROM reading_default'),
		0,
		'pg_partman: it is moved to one');
	$node->safe_psql('postgres', $maintain);
	is( days_of($node, 'reading', $layout),
		join(' ', 4 .. 12, 94 .. 101),
		'pg_partman: maintenance drops what is older than 90 days');
}

SKIP:
{
	skip 'no pg_partman 5.2 or later is installed for this PostgreSQL', 1
	  unless $partman =~ /^(\d+)\.(\d+)/ && $1 * 100 + $2 >= 502;

	my ($create) = sql_of('UUIDs, as times');
	my $months =
	  q{SELECT count(*), bool_and(lower = date_trunc('month', lower)), max(lower) > now() + interval '3 months'
FROM (SELECT flake_uuid_time(substring((SELECT pg_get_expr(relpartbound, oid) FROM pg_class WHERE oid = inhrelid)
                                       FROM $$FROM \('([^']*)'\)$$)) AS lower
      FROM pg_inherits WHERE inhparent = 'note'::regclass) AS l
WHERE lower IS NOT NULL};

	set_day(94);
	$node->safe_psql('postgres', $create);
	is($node->safe_psql('postgres', $months),
		'9|t|t', 'pg_partman, UUIDs: a partition for each month');
	is( $node->safe_psql(
			'postgres',
			q(INSERT INTO note DEFAULT VALUES RETURNING tableoid::regclass::text = to_char(now(), '"note_p"YYYYMM01'))
		),
		't',
		'pg_partman, UUIDs: a row has that of its month');
	set_day(200);
	is($node->safe_psql('postgres', $months),
		'9|t|f', 'pg_partman, UUIDs: months pass');
	$node->safe_psql('postgres', 'SELECT partman.run_maintenance()');
	like($node->safe_psql('postgres', $months),
		qr/^1[23]\|t\|t$/, 'pg_partman, UUIDs: there are new partitions');
}

$node->stop;

#
# pg_cron, again
#

SKIP:
{
	skip 'the extension pg_cron is not installed for this PostgreSQL', 1
	  unless $pg_cron;

	ok( $cron->poll_query_until(
			'postgres',
			q(SELECT count(DISTINCT jobid) = 2 FROM cron.job_run_details WHERE status = 'succeeded')
		),
		"pg_cron $pg_cron: both jobs run");

	# The day may have changed meanwhile.
	is( $cron->safe_psql(
			'postgres', q(
SELECT count(*), count(*) FILTER (WHERE since < now() - interval '91 days') FROM flake_partitions('visit')
WHERE since < (SELECT max(end_time) FROM cron.job_run_details WHERE command ~ 'create') + interval '7 days')
		),
		'8|0',
		'pg_cron: they have created and dropped partitions');
	like(
		$cron->safe_psql('postgres', $outcome),
		qr/\A(?:(?:create|drop) partitions of visit\|succeeded\|[^\n]*\n?){2}\z/,
		'pg_cron: which can be looked up');
	like($cron->safe_psql('postgres', $ahead),
		qr/^[67]$/, 'pg_cron: days ahead');
	is( $cron->safe_psql(
			'postgres',
			q(INSERT INTO visit DEFAULT VALUES RETURNING tableoid::regclass = (SELECT partition FROM flake_partitions('visit') WHERE flake_timestamp(id) >= since AND flake_timestamp(id) < upto))
		),
		't',
		'pg_cron: a row of today has its partition');
	$cron->stop;
}

done_testing();
