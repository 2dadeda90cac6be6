# Copyright (c) 2026, the flakeid developers

# Hypertables of TimescaleDB whose chunks go by the id give the rows that a plain table
# gives, read only the chunks that are asked for, and keep what flakeid promises:
# docs/timescaledb.md, block by block, and what stands there without a block.  What
# would overlook compressed rows is refused.
#
# make timescaledb builds TimescaleDB for this test, which is skipped without it.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeMove;
use FlakePage;
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Jobs of a page would come between its statements.
sub conf
{
	my ($workers) = @_;

	return qq(
shared_preload_libraries = 'timescaledb'
timescaledb.telemetry_level = off
timescaledb.enable_compression_ratio_warnings = off
timescaledb.max_background_workers = $workers
max_worker_processes = 32
timezone = 'UTC'
lc_messages = 'C'
);
}

chomp(my $share = `pg_config --sharedir`);
if (!-f "$share/extension/timescaledb.control")
{
	die 'TimescaleDB was built, and is not there'
	  if ($ENV{ENGINE} // '') eq 'timescaledb';
	plan skip_all => 'TimescaleDB is not installed';
}

my $node = start_server(
	'timescaledb',
	allows_streaming => 'logical',
	conf => conf(0));

note('TimescaleDB '
	  . $node->safe_psql('postgres',
		q(SELECT default_version FROM pg_available_extensions WHERE name = 'timescaledb')
	  ));
test_page($node, "$FindBin::RealBin/../docs/timescaledb.md", 'page');


# A table of 6,000 rows as hypertables and as it is.  20 rows share a millisecond, and
# some of these are the first ones of chunks.

$node->safe_psql(
	'postgres', q(
CREATE EXTENSION timescaledb;
CREATE EXTENSION flakeid;
CREATE TABLE plain (id bigint PRIMARY KEY DEFAULT flake_id(5), v int);
INSERT INTO plain SELECT flake_make(timestamptz '2026-01-01Z' + n * interval '10 ms', shard, 0), n
FROM generate_series(1, 300) AS n, generate_series(0, 19) AS shard;
CREATE TABLE hyper (LIKE plain INCLUDING ALL);
SELECT create_hypertable('hyper', by_range('id', flake_width('200 ms')));
SELECT set_integer_now_func('hyper', 'flake_now_id');
INSERT INTO hyper SELECT * FROM plain;
CREATE FUNCTION id_time(bigint) RETURNS timestamptz LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
RETURN flake_timestamp($1);
CREATE TABLE by_time (LIKE plain);
SELECT create_hypertable('by_time', by_range('id', interval '200 ms', partition_func => 'id_time'));
INSERT INTO by_time SELECT * FROM plain;
ANALYZE;

-- how many of 400 random ranges have other rows than in the plain table
CREATE FUNCTION differences(name text, condition text) RETURNS int LANGUAGE plpgsql AS $$
DECLARE
    ids bigint[] := ARRAY(SELECT id FROM plain ORDER BY id);
    a bigint;
    b bigint;
    query text;
    expected text;
    found text;
    result int := 0;
BEGIN
    PERFORM setseed(0.5);
    FOR i IN 1 .. 400 LOOP
        a := ids[1 + floor(random() * cardinality(ids))] + (random() * 2)::int - 1;
        b := ids[1 + floor(random() * cardinality(ids))] + (random() * 2)::int - 1;
        query := 'SELECT count(*) || '' '' || coalesce(sum(id::numeric * v), 0) FROM %I WHERE ' || replace(replace(condition, '$1', a::text), '$2', b::text);
        EXECUTE format(query, 'plain') INTO expected;
        EXECUTE format(query, name) INTO found;
        result := result + (found IS DISTINCT FROM expected)::int;
    END LOOP;
    RETURN result;
END
$$;
));

my @conditions = (
	'id < $1', 'id <= $1', 'id > $1', 'id >= $1', 'id = $1',
	'id > $1 AND id < $2',
	'id >= $1 AND id < $2',
	'id BETWEEN $1 AND $2',
	'flake_between(id, flake_timestamp($1), flake_timestamp($2))');

sub differences
{
	my ($table, $condition) = @_;

	return $node->safe_psql('postgres',
		"SELECT differences('$table', '$condition')");
}

foreach my $condition (@conditions)
{
	is(differences('hyper', $condition),
		0, "the rows of a plain table: $condition");
}
cmp_ok(differences('by_time', 'id < $1'),
	'>', 0, 'the page warns of partition_func with reason');

$node->safe_psql(
	'postgres', q(
ALTER TABLE hyper SET (timescaledb.enable_columnstore, timescaledb.orderby = 'id DESC');
SELECT compress_chunk(c) FROM show_chunks('hyper', older_than => flake_lower('2026-01-01 00:00:02Z')) AS c;
));
is( $node->safe_psql(
		'postgres',
		q(SELECT count(*) > 5 AND bool_or(is_compressed) AND NOT bool_and(is_compressed)
FROM timescaledb_information.chunks WHERE hypertable_name = 'hyper')),
	't',
	'some chunks are compressed now');
foreach my $condition (@conditions)
{
	is(differences('hyper', $condition),
		0, "also over compressed chunks: $condition");
}


# Chunks that are not asked for are left out.

$node->safe_psql(
	'postgres', q(
CREATE TABLE recent (id bigint PRIMARY KEY DEFAULT flake_id(5), v int);
SELECT create_hypertable('recent', by_range('id', flake_width('1 day')));
SELECT set_integer_now_func('recent', 'flake_now_id');
INSERT INTO recent SELECT flake_make(now() - n * interval '1 hour', 5, 0), n FROM generate_series(1, 960) AS n;
ALTER TABLE recent SET (timescaledb.enable_columnstore, timescaledb.orderby = 'id DESC');
SELECT compress_chunk(c) FROM show_chunks('recent', older_than => flake_now_id() - flake_width('20 days')) AS c;
ANALYZE recent;
));

# How many chunks a plan has that are executed.
sub chunks_read
{
	my ($sql) = @_;
	my @lines = split /\n/, $node->safe_psql('postgres', $sql);
	my %chunks;

	foreach my $line (@lines)
	{
		next if $line =~ /never executed/;
		$chunks{$1} = 1 if $line =~ /\b(_hyper_\d+_\d+_chunk)(?!_)/;
	}
	return scalar keys %chunks;
}

my $explain =
  'EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) SELECT count(*) FROM recent WHERE';
cmp_ok(chunks_read("$explain v >= 0"), '>=', 40, 'there are many chunks');
foreach my $days (2, 30)
{
	my $where = $days > 20 ? 'compressed chunks' : 'chunks';
	my ($since, $upto) = split /\|/,
	  $node->safe_psql('postgres',
		"SELECT now() - interval '$days days', now() - interval '$days days' + interval '1 hour'"
	  );

	cmp_ok(chunks_read("$explain flake_between(id, '$since', '$upto')"),
		'<=', 2, "constants leave $where out");
	cmp_ok(
		chunks_read(
			"$explain flake_between(id, now() - interval '$days days', now() - interval '$days days' + interval '1 hour')"
		),
		'<=', 2,
		"now() leaves $where out");
	cmp_ok(
		chunks_read(
			"$explain id BETWEEN flake_now_id() - flake_width('$days days') AND flake_now_id() - flake_width('$days days') + flake_width('1 h')"
		),
		'<=', 2,
		"flake_now_id() leaves $where out");
	cmp_ok(
		chunks_read(
			qq(SET plan_cache_mode = force_generic_plan;
PREPARE q (timestamptz, timestamptz) AS SELECT count(*) FROM recent WHERE flake_between(id, \$1, \$2);
EXPLAIN (ANALYZE, COSTS OFF, TIMING OFF, SUMMARY OFF) EXECUTE q ('$since', '$upto'))
		),
		'<=', 2,
		"parameters of a generic plan leave $where out");
}
cmp_ok(
	chunks_read("$explain flake_timestamp(id) >= now() - interval '2 days'"),
	'>=', 40, 'flake_timestamp() reads all chunks, as the page says');


# Functions that would overlook compressed rows do nothing.

my $session = new_session($node);

value($session, 'SELECT 1 FROM flake_ids(5, 1)');
my $rewind =
  "flake_rewind('flake_default', flake_upper(now() - interval '1 minute'))";
foreach my $case (
	[ "flake_migrate('recent', 'id', 5)", '0A000' ],
	[ "flake_migrate('recent', 'v', 5, dry_run => true)", '0A000' ],
	[
		"flake_migrate(c, 'id', 5) FROM show_chunks('recent') AS c", '0A000'
	],
	[ "flake_replace_ids('recent', 'id', 0)", '0A000' ],
	[ "flake_replace_ids('recent', 'id', 0, dry_run => false)", '0A000' ],
	[ "flake_renumber('{5}', '{105}')", '0A000' ],
	[ $rewind, '55000' ],
	[ "flake_create_partitions('recent', '1 day', now(), now(), zone => 'UTC')",
		'42809' ],
	[ "flake_drop_partitions('recent', now())", '42809' ],
	[ "flake_partitions('recent')", '42809' ])
{
	my ($call, $code) = @$case;

	is(code($session, "SELECT $call"), $code, "refused: $call");
}
like(
	(ask($session, "SELECT flake_migrate('recent', 'id', 5)"))[1],
	qr/^DETAIL:  It is a hypertable of TimescaleDB.*^HINT:  Use ALTER TABLE/ms,
	'a reason and a way out');
like(
	(ask($session, "SELECT $rewind"))[1],
	qr/^DETAIL:  It is in a hypertable.*^HINT:  If no id above \d+ is in use, pass force/ms,
	'the same for flake_rewind()');
is( value(
		$session, q(
SELECT count(*) FILTER (WHERE relation = 'recent'::regclass), count(*) = (SELECT count(*) FROM show_chunks('recent')) + 1
FROM flake_columns('flake_default') WHERE relation = 'recent'::regclass OR relation IN (SELECT show_chunks('recent')))
	),
	'1|t',
	'flake_columns() has the table and its chunks');

# An empty hypertable looks like a plain table.
foreach my $rows (0, 1)
{
	is( code(
			$session, qq(
BEGIN;
CREATE SCHEMA template;
CREATE TABLE template.photo (id bigint PRIMARY KEY DEFAULT flake_id());
SELECT create_hypertable('template.photo', by_range('id', flake_width('1 day')));
INSERT INTO template.photo SELECT flake_id(5) FROM generate_series(1, $rows);
SELECT flake_create_shard(7, 'template'))),
		'0A000',
		"refused: flake_create_shard() with a hypertable of $rows rows");
	ask($session, 'ROLLBACK');
}

is($node->safe_psql('postgres', 'SELECT * FROM flake_health'),
	'', 'flake_health has nothing to say of hypertables');

# The way that the hint of flake_renumber() says.
value(
	$session, q(
ALTER TABLE recent ALTER COLUMN id DROP DEFAULT;
ALTER TABLE plain ALTER COLUMN id DROP DEFAULT;
ALTER TABLE hyper ALTER COLUMN id DROP DEFAULT;
SELECT count(*) FROM flake_renumber('{5}', '{105}');
ALTER TABLE recent ALTER COLUMN id SET DEFAULT flake_id(105)));
is( value(
		$session,
		'INSERT INTO recent (v) VALUES (0) RETURNING flake_shard(id)'),
	105,
	'renumbered by hand');

# Somebody else's table is not taken for TimescaleDB's.
is( value(
		$session, q(
SELECT _flake_is_hypertable('plain'::regclass), _flake_is_hypertable('hyper'::regclass),
       (SELECT bool_and(_flake_is_hypertable(c)) FROM show_chunks('hyper') AS c),
       _flake_is_hypertable(0), _flake_is_hypertable('pg_class'::regclass))
	),
	'f|t|t|f|f',
	'hypertables and chunks are told from others');
is( code(
		$session, q(
BEGIN;
ALTER EXTENSION timescaledb DROP TABLE _timescaledb_catalog.hypertable;
SELECT flake_migrate('hyper', 'id', 5))),
	'0A000',
	'without a list of hypertables none is taken for a plain table');
ask($session, 'ROLLBACK');
is( $node->safe_psql(
		'template1', q(
CREATE EXTENSION flakeid;
CREATE SCHEMA _timescaledb_catalog;
CREATE TABLE _timescaledb_catalog.hypertable AS SELECT 'public'::name AS schema_name, 'mine'::name AS table_name;
CREATE TABLE mine (id bigserial);
SELECT _flake_is_hypertable('mine'::regclass);
DROP TABLE mine;
DROP SCHEMA _timescaledb_catalog CASCADE;
DROP EXTENSION flakeid)),
	'f',
	'a table of that name is nothing without TimescaleDB');


# Sessions mint into chunks that are compressed meanwhile.

my @clients = start_clients(
	$node,
	count => 4,
	sql => 'INSERT INTO recent (v) VALUES (-1);');
foreach my $round (1 .. 5)
{
	my $rows = value($session, 'SELECT count(*) FROM recent WHERE v = -1');

	ask($session,
		q(SELECT compress_chunk(c) FROM show_chunks('recent', newer_than => flake_now_id() - flake_width('1 day')) AS c)
	);
	wait_until(
		sub {
			value($session, 'SELECT count(*) FROM recent WHERE v = -1') >
			  $rows + 100;
		},
		'rows come in while chunks are compressed');
}
stop_clients($node, @clients);
is(join('', grep { /ERROR/ } map { errors($_) } @clients),
	'', 'no insertion into a compressed chunk fails');
is( value(
		$session,
		'SELECT count(*) = count(DISTINCT id) AND count(*) > 1400 FROM recent'
	),
	't',
	'ids are unique, also in compressed chunks');
end_session($session);


# Policies run in the background.

my $jobs = start_server(
	'jobs',
	conf => conf(16),
	sql => q(
CREATE EXTENSION timescaledb;
CREATE EXTENSION flakeid;
CREATE TABLE reading (id bigint PRIMARY KEY DEFAULT flake_id(5), v int);
SELECT create_hypertable('reading', by_range('id', flake_width('1 day')));
SELECT set_integer_now_func('reading', 'flake_now_id');
INSERT INTO reading SELECT flake_make(now() - n * interval '1 hour', 5, 0), n FROM generate_series(1, 480) AS n;
CREATE MATERIALIZED VIEW reading_hour WITH (timescaledb.continuous) AS
SELECT time_bucket(flake_width('1 hour'), id, flake_lower('2011-08-24 22:00Z')) AS bucket, count(*) AS n
FROM reading GROUP BY bucket WITH NO DATA;
ALTER TABLE reading SET (timescaledb.enable_columnstore, timescaledb.orderby = 'id DESC');
SELECT add_continuous_aggregate_policy('reading_hour', start_offset => flake_width('5 days'),
    end_offset => flake_width('1 hour'), schedule_interval => interval '1 second');
CALL add_columnstore_policy('reading', after => flake_width('7 days'), schedule_interval => interval '1 second');
SELECT add_retention_policy('reading', flake_width('15 days'), schedule_interval => interval '1 second');
));

ok( $jobs->poll_query_until(
		'postgres', q(
SELECT count(*) = 3 AND bool_and(total_successes > 0) FROM timescaledb_information.job_stats
JOIN timescaledb_information.jobs j USING (job_id)
WHERE j.proc_name IN ('policy_retention', 'policy_compression', 'policy_refresh_continuous_aggregate'))),
	'the jobs have run');
is( $jobs->safe_psql(
		'postgres', q(
SELECT min(flake_timestamp(id)) BETWEEN now() - interval '16 days 1 hour' AND now() - interval '14 days',
       (SELECT bool_and(is_compressed = (range_end_integer < flake_now_id() - flake_width('7 days')))
        FROM timescaledb_information.chunks WHERE hypertable_name = 'reading')
FROM reading)),
	't|t',
	'old chunks are dropped, and those less old compressed');
is( $jobs->safe_psql(
		'postgres', q(
ALTER MATERIALIZED VIEW reading_hour SET (timescaledb.materialized_only = true);
SELECT sum(n), bool_and(flake_timestamp(bucket) = date_trunc('hour', flake_timestamp(bucket))) FROM reading_hour
WHERE flake_between(bucket, date_trunc('hour', now()) - interval '3 days', date_trunc('hour', now()) - interval '2 days'))),
	'24|t',
	'the aggregate is up to date');


# A shard with a hypertable, even an empty one, is not moved.

$node->safe_psql('postgres', 'CREATE DATABASE map');
$node->safe_psql(
	'map', q(
CREATE EXTENSION flakeid;
INSERT INTO flake_shard_map VALUES ('[0,31]', 'timescaledb')));
$node->safe_psql(
	'postgres', q(
CREATE SCHEMA photos_17;
CREATE TABLE photos_17.photo (id bigint PRIMARY KEY DEFAULT flake_id(17));
SELECT create_hypertable('photos_17.photo', by_range('id', flake_width('1 day')))));
refuses(
	'flakeid-move-shard',
	qr/photos_17\.photo is a hypertable of TimescaleDB/,
	'--shard=17',
	'--to=jobs',
	'--source=' . $node->connstr('postgres'),
	'--target=' . $jobs->connstr('postgres'),
	'--map=' . $node->connstr('map'),
	'--dry-run');
$node->stop;


# A dump has it all, and the generator goes on.

$jobs->safe_psql(
	'postgres', q(
SELECT alter_job(job_id, scheduled => false) FROM timescaledb_information.jobs WHERE hypertable_name IS NOT NULL;
INSERT INTO reading (v) VALUES (0)));
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
my $state = q(
SELECT count(*), sum(id::numeric), max(id), (SELECT count(*) FROM show_chunks('reading')),
       (SELECT count(*) FROM timescaledb_information.chunks WHERE is_compressed) FROM reading;
SELECT proc_name, config - 'hypertable_id' - 'mat_hypertable_id' FROM timescaledb_information.jobs WHERE job_id >= 1000 ORDER BY 1;
SELECT count(*), sum(n) FROM reading_hour);
my $before = $jobs->safe_psql('postgres', $state);

$jobs->command_ok(
	[
		'pg_dump', '--format=custom', "--file=$dump",
		'-d', $jobs->connstr('postgres')
	],
	'dumped');
$jobs->safe_psql('postgres', 'CREATE DATABASE restored');
$jobs->safe_psql('restored',
	'CREATE EXTENSION timescaledb; SELECT timescaledb_pre_restore()');
$jobs->command_ok(
	[
		'pg_restore', '--exit-on-error', '-d', $jobs->connstr('restored'),
		$dump
	],
	'restored');
$jobs->safe_psql('restored', 'SELECT timescaledb_post_restore()');
is($jobs->safe_psql('restored', $state),
	$before, 'rows, chunks, policies and aggregates are the same');
is( $jobs->safe_psql(
		'restored', q(
WITH minted AS (INSERT INTO reading (v) VALUES (1) RETURNING id)
SELECT id > (SELECT max(id) FROM reading), flake_shard(id) FROM minted;
SELECT count(*) FROM reading WHERE id >= flake_now_id() - flake_width('1 minute'))),
	"t|5\n2",
	'new ids exceed those that were dumped');

$jobs->stop;
done_testing();
