# Copyright (c) 2026, the flakeid developers

# flake_stat counts every id that a client was given, and those that were minted
# for nothing, from all sessions together; and an exporter can read it with what
# docs/monitoring.md says and docs/monitoring/ has.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeDoc;
use FlakeTest;
use HTTP::Tiny;
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = PostgreSQL::Test::Cluster->new('main');
$node->init;
$node->append_conf(
	'postgresql.conf', q(
restart_after_crash = on
log_statement = none
flakeid.max_ahead = 200ms
));
$node->start;
$node->safe_psql(
	'postgres', q(
CREATE EXTENSION flakeid;
CREATE ROLE exporter LOGIN IN ROLE pg_monitor;
SELECT flake_lease('a process');
CREATE TABLE stop ();
SELECT flake_create_generator('item_id', 'snowflake'), flake_create_generator('slow_id', 'ts:50 shard:12 seq:2 epoch=2026-01-01');
SELECT flake_create_generator('far_id', 'ts:50 shard:4 seq:4 epoch=2020-01-01 unit=1d');		-- ends past all timestamps
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT flake_id(9, 'item_id'), what text);
));

# What has been issued of a shard, as the others see it.
sub issued
{
	my ($shard, $generator) = @_;
	$generator = 'flake_default' unless defined $generator;

	return $node->safe_psql('postgres',
		"SELECT coalesce(sum(issued), 0) FROM flake_stat WHERE shard = $shard AND generator = '$generator'::regclass"
	);
}

#
# Clients of all kinds, which end of themselves when there is a row in "stop"
#

my $until_stop =
  q( SELECT count(*) > 0 AS stop FROM stop \gset \\\\ \if :stop \\\\ \q \\\\ \endif);
my %sql = (
	1 => 'SELECT flake_id(1);',
	2 => 'SELECT * FROM flake_ids(2, 7); SELECT flake_id(2);',
	3 => 'BEGIN; SELECT flake_id(3); SELECT flake_ids(3, 3); ROLLBACK;',
	4 =>
	  'BEGIN; SAVEPOINT s; SELECT flake_id(4); ROLLBACK TO s; SELECT flake_id(4); COMMIT;',
	5 =>
	  q(BEGIN; SELECT flake_id(5); DO 'BEGIN RAISE division_by_zero; END'; COMMIT;),
	9 => 'INSERT INTO item DEFAULT VALUES RETURNING id;');
my %clients = map {
	$_ => [ start_clients($node, count => 2, sql => $sql{$_} . $until_stop) ]
} keys %sql;
my @all = map { @$_ } values %clients;

wait_for_more($_, 100) foreach @all;
$node->safe_psql('postgres', 'INSERT INTO stop DEFAULT VALUES');
finish_clients(@all);

my %name = (
	1 => 'ids one by one',
	2 => 'several at once',
	3 => 'rolled back',
	4 => 'rolled back to a savepoint',
	5 => 'of transactions that failed',
	9 => 'of another generator');
foreach my $shard (sort keys %clients)
{
	my $received = 0;

	$received += @{ ids($_) } foreach @{ $clients{$shard} };
	is(issued($shard, $shard == 9 ? 'item_id' : 'flake_default'),
		$received, "$name{$shard}: as many issued as received");
}
is( $node->safe_psql(
		'postgres',
		'SELECT count(*), count(DISTINCT generator) FROM flake_stat'),
	'6|2',
	'there are no others');
is( $node->safe_psql(
		'postgres',
		q(SELECT last_id = (SELECT max(id) FROM item) FROM flake_stat WHERE generator = 'item_id'::regclass)
	),
	't',
	'the last id is that of the last row');

#
# When they are added: at the end of a transaction, however it ends
#

my $session = new_session($node);

value($session,
	'BEGIN; SELECT count(flake_id(6)) FROM generate_series(1, 10)');
is(issued(6), 0, 'in a transaction: not added yet');
is(value($session, 'SELECT issued FROM flake_stat WHERE shard = 6'),
	10, 'in a transaction: but for the session itself');
value($session, 'SELECT count(flake_id(6)) FROM generate_series(1, 10)');
is(issued(6), 10, 'in a transaction: what was looked at is added');
my $pid = value($session, 'SELECT pg_backend_pid()');

$node->safe_psql('postgres', "SELECT pg_terminate_backend($pid)");
$node->poll_query_until('postgres',
	"SELECT count(*) = 0 FROM pg_stat_activity WHERE pid = $pid")
  or die 'the session has not ended';
is(issued(6), 20, 'terminated: all are added');
$session->{run}->finish;

$session = new_session($node);
is( code(
		$session,
		'SELECT flake_id(7), 1 / (3 - n) FROM generate_series(1, 5) AS n'),
	'22012',
	'a statement fails at its third row');
is(issued(7), 3, 'which had three ids');

#
# Waits: four ids per millisecond, and 200 ms ahead of the clock
#

my $waits =
  q(SELECT waits > 0, wait_time > '0', issued FROM flake_stat WHERE generator = 'slow_id'::regclass);

value($session, q(SELECT count(*) FROM flake_ids(1, 400, 'slow_id')));
is(value($session, $waits),
	'f|f|400', 'a burst that is not too long does not wait');
value($session,
	q(SELECT count(flake_id(1, 'slow_id')) FROM generate_series(1, 7600)));
is(value($session, $waits), 't|t|8000', 'a longer one does');

my $before = value($session,
	q(SELECT waits, wait_time FROM flake_stat WHERE generator = 'slow_id'::regclass)
);
is( code(
		$session,
		q(SET flakeid.max_wait = 0; SELECT count(flake_id(1, 'slow_id')) FROM generate_series(1, 100000))
	),
	'53400',
	'who must not wait gets an error');
is( value(
		$session,
		q(SELECT waits, wait_time FROM flake_stat WHERE generator = 'slow_id'::regclass)
	),
	$before,
	'that is no wait');
like(
	value($session,
		q(SELECT refused FROM flake_stat WHERE generator = 'slow_id'::regclass)),
	qr/^1$/,
	'it counts as refused');
is(code($session, q(SELECT count(*) FROM flake_ids(2, 1000000, 'slow_id'))),
	'53400', 'more at once than flakeid.max_ahead allows');
is( value(
		$session,
		q(SELECT issued, last_id, last_time, refused FROM flake_stat
		WHERE generator = 'slow_id'::regclass AND shard = 2)
	),
	'0|||1',
	'a shard of which ids were only refused');
value($session, 'RESET flakeid.max_wait');

#
# The exporter, and the query as it stands in the documentation
#

my ($query) =
  grep { $_->{language} eq 'sql' && $_->{text} =~ /issued_total/ }
  blocks("$FindBin::RealBin/../docs/monitoring.md");
my $rows = $node->safe_psql(
	'postgres',
	$query->{text} =~ s/;\s*\z//r,
	extra_params => [ '-U', 'exporter' ]);

like($rows, qr/^flake_default\|6\|20\|0\|0/m, 'the query, by pg_monitor');
like(
	$rows,
	qr/^slow_id\|1\|\d{4,}\|[1-9]\d*\|1\|\d+\.\d*[1-9]\d*\|/m,
	'the query, with waits and a refusal');
is(code($session, 'SET ROLE exporter; SELECT flake_stat_reset()'),
	'42501', 'pg_monitor cannot set it back');
value($session, 'RESET ROLE');

#
# The files in docs/monitoring/: the exporter's queries give what they promise, and
# alerts and dashboard use no other metrics.
#

my $files = "$FindBin::RealBin/../docs/monitoring";
my %metrics;
my $for_each;

foreach my $part (split /^(?=\w+:$)/m, slurp_file("$files/postgres_exporter.yaml"))
{
	my ($name) = $part =~ /^(\w+):$/m or next;
	my ($sql) = $part =~ /^  query: \|\n((?:    .*\n)+)/m;
	$for_each = $sql if $name eq 'flakeid_generator';
	my %usage = $part =~ /^    - (\w+): \{usage: (\w+),/mg;
	my ($columns) = split /\n/,
	  $node->safe_psql(
		'postgres',
		"\\pset tuples_only off\n$sql",
		extra_params => [ '-U', 'exporter' ]);

	is_deeply(
		[ sort split /\|/, $columns ],
		[ sort keys %usage ],
		"$name: the query, by pg_monitor, has the columns that are described");
	$metrics{"${name}_$_"} = 1 foreach grep { $usage{$_} ne 'LABEL' } keys %usage;
}

my %used = (
	'alerts.yaml' =>
	  join("\n", slurp_file("$files/alerts.yaml") =~ /^ +expr: (.*)$/mg),
	'dashboard.json' => do
	{
		my $dashboard = decode_json(slurp_file("$files/dashboard.json"));

		join "\n",
		  (map { $_->{expr} } map { @{ $_->{targets} } } @{ $dashboard->{panels} }),
		  (map { $_->{query} } @{ $dashboard->{templating}{list} });
	});
foreach my $file (sort keys %used)
{
	my %names = map { $_ => 1 } $used{$file} =~ /\b(flakeid_\w+)/g;

	cmp_ok(scalar keys %names, '>', 3, "$file: uses metrics");
	is_deeply([ sort grep { !$metrics{$_} } keys %names ],
		[], "$file: all of them are the exporter's");
}

like(
	$node->safe_psql('postgres', $for_each, extra_params => [ '-U', 'exporter' ]),
	qr/^far_id\|[^|]*\|Infinity$/m,
	'a generator that ends past all timestamps keeps back no other');

# Pages have some of them, too.
foreach my $page (glob "$files/../*.md $files/../*/*.md")
{
	is_deeply(
		[ grep { !$metrics{$_} } slurp_file($page) =~ /\b(flakeid_(?:generator|health|leases)_\w+)/g ],
		[], ($page =~ s{.*\.\./}{}r) . ': metrics are the exporter\'s');
}

my @explained = slurp_file("$files/../monitoring.md") =~ /^\| `(Flakeid\w+)`/mg;
my @alerts = slurp_file("$files/alerts.yaml") =~ /^ +- alert: (\w+)$/mg;
is_deeply(\@explained, \@alerts, 'the page explains the alerts, in their order');

SKIP:
{
	skip 'promtool is not installed (prometheus)', 2
	  unless grep { -x "$_/promtool" } split /:/, $ENV{PATH};
	command_ok([ 'promtool', 'check', 'rules', "$files/alerts.yaml" ],
		'Prometheus takes the alerts');

	# Of two servers one has metrics, and a clock that is a year ahead; then none has.
	my $test = PostgreSQL::Test::Utils::tempdir . '/alerts_test.yaml';
	append_to_file(
		$test, qq(
rule_files: [$files/alerts.yaml]
evaluation_interval: 1m
tests:
  - interval: 1m
    input_series:
      - {series: 'up{job="postgres", instance="a"}', values: '1x40'}
      - {series: 'up{job="postgres", instance="b"}', values: '1x40'}
      - {series: 'flakeid_health_findings{instance="a", severity="none"}', values: '0x20'}
      - {series: 'flakeid_health_findings{instance="a", severity="critical", what="x", object="y"}', values: '_x9 1 1 1'}
      - {series: 'flakeid_refused_total{instance="a", generator="g"}', values: '_x9 1x30'}
      - {series: 'flakeid_refused_total{instance="b", generator="g"}', values: '1x40'}
      - {series: 'flakeid_clock_steps_back_total{instance="a"}', values: '_x9 1x30'}
      - {series: 'flakeid_clock_steps_back_total{instance="b"}', values: '_x9 0x30'}
      - {series: 'node_time_seconds{instance="a"}', values: '31536000+60x40'}
      - {series: 'node_time_seconds{instance="b"}', values: '0+60x40'}
    promql_expr_test:
      - expr: count by (instance) (ALERTS{alertname="FlakeidNotMonitored", alertstate="firing"})
        eval_time: 15m
        exp_samples: [{labels: '{instance="b"}', value: 1}]
      - expr: count by (instance) (ALERTS{alertname="FlakeidNotMonitored", alertstate="firing"})
        eval_time: 39m
        exp_samples: [{labels: '{instance="a"}', value: 1}, {labels: '{instance="b"}', value: 1}]
      - expr: count by (instance, severity, what) (ALERTS{alertname="FlakeidHealthCritical", alertstate="firing"})
        eval_time: 11m
        exp_samples: [{labels: '{instance="a", severity="critical", what="x"}', value: 1}]
      - expr: count by (instance) (ALERTS{alertname="FlakeidRefused", alertstate="firing"})
        eval_time: 12m
        exp_samples: [{labels: '{instance="a"}', value: 1}]
      - expr: count(ALERTS{alertname="FlakeidRefused"})
        eval_time: 30m
        exp_samples: []
      - expr: count by (instance) (ALERTS{alertname="FlakeidClockSetBack", alertstate="firing"})
        eval_time: 12m
        exp_samples: [{labels: '{instance="a"}', value: 1}]
      - expr: count(ALERTS{alertname="FlakeidClockSetBack"})
        eval_time: 30m
        exp_samples: []
      - expr: count by (instance) (ALERTS{alertname="FlakeidHostClockWrong", alertstate="firing"})
        eval_time: 12m
        exp_samples: [{labels: '{instance="a"}', value: 1}]
  - interval: 1m		# a job of another name
    input_series:
      - {series: 'up{job="other", instance="a"}', values: '1x40'}
    promql_expr_test:
      - expr: count(ALERTS{alertname="FlakeidNotMonitored", alertstate="firing"})
        eval_time: 15m
        exp_samples: [{labels: '{}', value: 1}]
) =~ s/\t+#.*//r);
	command_ok([ 'promtool', 'test', 'rules', $test ],
		'alerts fire when they should');
}

my ($exporter) =
  grep { -x }
  map  { ("$_/prometheus-postgres-exporter", "$_/postgres_exporter") }
  split /:/, $ENV{PATH};
my $run;
END { $run->kill_kill if $run; }

SKIP:
{
	skip
	  'no exporter for Prometheus is installed (prometheus-postgres-exporter)',
	  1
	  unless $exporter;

	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $port = PostgreSQL::Test::Cluster::get_free_port();
	my $metrics = '';

	{
		local $ENV{DATA_SOURCE_NAME} = join ' ', 'host=' . $node->host,
		  'port=' . $node->port,
		  'user=exporter dbname=postgres sslmode=disable';
		$run = IPC::Run::start(
			[
				$exporter,
				"--extend.query-path=$files/postgres_exporter.yaml",
				"--web.listen-address=127.0.0.1:$port"
			],
			'<',
			'/dev/null',
			'>',
			"$directory/log",
			'2>&1');
	}
	wait_until(
		sub {
			my $answer =
			  HTTP::Tiny->new->get("http://127.0.0.1:$port/metrics");

			die slurp_file("$directory/log") unless $run->pumpable;
			$metrics = $answer->{content} if $answer->{success};
			return $answer->{success};
		},
		'the exporter answers');

	# Only numbers of counters, for each generator and shard.
	my %exported = $metrics =~ /^flakeid_issued_total\{(.*)\} (\S+)$/mg;
	my %expected = map { ("$_->[0] $_->[1]" => $_->[2]) }
	  map { [ split /\|/ ] } split /\n/,
	  $node->safe_psql('postgres', $query->{text});

	is_deeply(
		{
			map {
				my ($generator) = /\bgenerator="(.*?)"/;
				my ($shard) = /\bshard="(.*?)"/;
				("$generator $shard" => $exported{$_} + 0)
			} keys %exported
		},
		\%expected,
		'the exporter has all that were issued');
	like(
		$metrics,
		qr/^# TYPE flakeid_waits_total counter$/m,
		'the exporter knows a counter');
	like($metrics, qr/^flakeid_ahead_seconds\{/m, 'and a gauge');
	like(
		$metrics,
		qr/^flakeid_generator_horizon_ahead_seconds\{.*"flake_default".*\} \S*\d/m,
		'and a horizon');
	like($metrics, qr/^flakeid_health_findings\{.*"none".*\} 0$/m,
		'and that flake_health was read');
	like(
		$metrics,
		qr/^flakeid_health_findings\{.*"item_id".*"notice".*"horizon_hidden".*\} 1$/m,
		'and what it has found');
	like($metrics, qr/^flakeid_leases_held\{.*\} 1$/m, 'and leases');
	$run->kill_kill;
	undef $run;
}

#
# What becomes of it: it is set back, and survives neither a restart nor a crash
#

# In a transaction that goes on meanwhile
my $other = new_session($node);
value($other, 'BEGIN; SELECT flake_id(8)');
value($session, 'SELECT flake_stat_reset()');
is( value(
		$session,
		'SELECT sum(issued), sum(waits), sum(wait_time) FROM flake_stat'),
	'0|0|00:00:00',
	'set back');
value($other, 'COMMIT');
is($node->safe_psql('postgres', 'SELECT sum(issued) FROM flake_stat'),
	1, 'set back: who was at work adds to it');
end_session($_) foreach $session, $other;

$node->restart;
is($node->safe_psql('postgres', 'SELECT count(*) FROM flake_stat'),
	0, 'nothing after a restart');
$node->safe_psql('postgres', 'SELECT flake_id(8)');
is(issued(8), 1, 'it counts again');

$session = new_session($node);
$pid = value($session, 'SELECT pg_backend_pid()');
value($session, 'BEGIN; SELECT flake_id(8)');
kill9_session($node, $pid);
$session->{run}->finish;
is($node->safe_psql('postgres', 'SELECT count(*) FROM flake_stat'),
	0, 'nothing after a crash');

$node->stop;
done_testing();
