# Copyright (c) 2026, the flakeid developers

# No committed id is lost or repeated when Patroni fails over, whatever makes it do
# so.  Three servers under Patroni, as docs/recipes/patroni.md configures them, have
# clocks that differ by more than a minute, and twelve clients note each id that they
# are given.  There are two legs:
#
# - synchronous replication: killed servers, a frozen Patroni whose server goes on
#   beside the new primary, switchovers, restarts.  In the end no id is there
#   twice, none of a committed row is lost, each shard's ids are in order, what was
#   detached was never minted, and leases do not overlap.
# - asynchronous replication: the primary dies when its standbys lag.  It is
#   counted, for each layout, how many committed rows are lost and how many ids
#   come again; none of these is that of a row that is still there.
#
# In the environment (make ha FAULTS=60 SECONDS=600 SEED=7 sets them; each can be
# left out):
#   HA_FAULTS    how many faults, by default 2
#   HA_SECONDS   after how many seconds there is none any more, by default never
#   HA_SEED      which faults; by default another one each time, which is printed
#
# Patroni and etcd are not installed by make test: without them there is nothing to
# do.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use Reaper;
use FlakeDoc;
use FlakeServer;
use HaClient;
use HaCluster;
use List::Util qw(sum0 shuffle);
use POSIX      ();
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep clock_gettime CLOCK_MONOTONIC);
use TortureCheck;
use TortureClient;

my @missing = HaCluster::missing();
plan skip_all => 'there is no ' . join ' and no ', @missing if @missing;

# A number from the environment, where an empty one counts as none.
sub setting
{
	my ($name, $default) = @_;
	my $value = $ENV{$name};

	return $default if !defined $value || $value eq '';
	BAIL_OUT("$name must be a number from 1 on, not \"$value\"")
	  unless $value =~ /^[1-9]\d{0,8}$/;
	return $value;
}

my $seed = setting('HA_SEED', 1 + int(rand 999_999_999));
my $fault_count = setting('HA_FAULTS', $ENV{HA_SECONDS} ? 999_999 : 2);
my $seconds = setting('HA_SECONDS', 999_999);
my $client_count = 12;

diag "make ha FAULTS=$fault_count SEED=$seed";

my $user = getpwuid $>;
my %offset = (a => 0, b => -60, c => 14);
my ($yaml) = map { $_->{text} }
  grep { $_->{language} eq 'yaml' && $_->{text} =~ /^scope:/ }
  blocks('docs/recipes/patroni.md');

my $started = clock_gettime(CLOCK_MONOTONIC);
my $cluster = HaCluster->start($yaml, %offset);
my @clients;

# Clients notice that their parent is gone, and at the end of the program the
# cluster is stopped.
$SIG{$_} = sub { die "stopped by a signal\n" }
  foreach 'INT', 'TERM', 'HUP';

$cluster->ask_leader(
	q(CREATE EXTENSION flakeid;
	CREATE TABLE item (generator text, id bigint, timeline text
		DEFAULT substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8));
	ALTER TABLE item ADD PRIMARY KEY (generator, id);
	CREATE TABLE item_by_default (id bigint PRIMARY KEY DEFAULT flake_id(1));
	SELECT flake_create_generator('process', 'ts:41 process:6 seq:16 epoch=2020-01-01');)
	  . join '',
	map { "SELECT flake_create_generator('$_', '$generators{$_}{layout}');" }
	  grep { !/^(?:flake_default|uuid)$/ } sort keys %generators);
my %fences;
foreach my $generator (sort keys %detached)
{
	my $answer = $cluster->ask_leader(
		"SELECT flake_detach($detached{$generator}, '$generator')");

	$fences{"$generator/$detached{$generator}"} =
	  [ [ $answer->{rows}[0][0][0], us($answer->{received}), undef ] ];
}

#
# Clients.
#

sub start_clients_in
{
	my ($directory) = @_;

	append_to_file(
		"$directory/nodes",
		join '',
		map   { "$_->{number} $_->{directory} $_->{port}\n" }
		  map { $cluster->node($_) } $cluster->names);
	foreach my $client (1 .. $client_count)
	{
		my $pid = fork;

		die "fork: $!" unless defined $pid;
		if ($pid == 0)
		{
			my $ok = eval {
				run_client(
					$directory, $client, $user, $seed,
					connect => \&connect_to_leader,
					choose => \&choose,
					patience => 4);
				1;
			};

			print STDERR "client $client: $@" unless $ok;
			POSIX::_exit($ok ? 0 : 1);
		}
		push @clients, $pid;
	}
	return;
}

sub stop_clients_well
{
	my $ended_well = 0;

	kill 'TERM', @clients;
	foreach my $pid (splice @clients)
	{
		waitpid $pid, 0;
		$ended_well++ if $? == 0;
	}
	is($ended_well, $client_count, 'the clients have run to the end');
	return;
}

#
# The faults.  Each returns when it is over but for what Patroni does about it.
#

# A server that was killed is started again where it was, if Patroni may.
sub crash
{
	my ($may_restart) = @_;
	my $leader = $cluster->leader;

	$cluster->configure({ primary_start_timeout => $may_restart ? 300 : 0 });
	$cluster->kill_postmaster($leader);
	wait_until(
		sub {
			($cluster->leader || $leader) ne $leader
			  || $cluster->postmaster($leader);
		},
		'somebody does something about a server that was killed');
	return;
}

sub kill_postmaster
{
	return crash(1);
}

sub kill_postmaster_to_fail_over
{
	return crash(0);
}

sub wait_for_other_leader
{
	my ($old) = @_;

	wait_until(
		sub {
			my $leader = $cluster->leader || $old;
			return $leader ne $old
			  && @{
				$cluster->ask($leader,
					'SELECT 1 WHERE NOT pg_is_in_recovery()')->{rows}
			  };
		},
		"another one than $old is the leader");
	return;
}

sub kill_node
{
	my $leader = $cluster->leader;

	$cluster->kill_patroni($leader);
	$cluster->kill_postmaster($leader);
	wait_for_other_leader($leader);
	$cluster->start_patroni($leader);
	return;
}

sub kill_standby
{
	my ($which) = @_;
	my $leader = $cluster->leader;
	my @standbys = grep { $_ ne $leader } $cluster->names;
	my $standby = $standbys[ $which * @standbys ];

	$cluster->kill_patroni($standby);
	$cluster->kill_postmaster($standby);
	usleep(1_000_000 + 2_000_000 * rand);
	$cluster->start_patroni($standby);
	return;
}

sub switchover
{
	my $leader = $cluster->leader;

	wait_until(
		sub {
			$cluster->api($leader, 'POST', 'switchover',
				{ leader => $leader });
		},
		'Patroni switches over');
	wait_for_other_leader($leader);
	return;
}

sub restart
{
	my $leader = $cluster->leader;

	$cluster->api($leader, 'POST', 'restart', {});
	return;
}

# Patroni does not renew the leader's key, and so another server is promoted.
# But the old one's server goes on, and is open for clients.
sub freeze_patroni
{
	my ($how_long) = @_;
	my $leader = $cluster->leader;

	$cluster->freeze($leader);
	wait_for_other_leader($leader);
	usleep(3_000_000 * $how_long);
	$cluster->thaw($leader);
	return;
}

# The standbys never receive what the primary did last: who receives for them is
# stopped, and ends before it goes on.
sub kill_lagging
{
	my ($how_long) = @_;
	my $leader = $cluster->leader;
	my @receivers = map { $_->[0][0] }
	  map {
		@{ $cluster->ask($_, 'SELECT pid FROM pg_stat_wal_receiver')->{rows} }
	  }
	  grep { $_ ne $leader } $cluster->names;

	kill 'STOP', @receivers;
	usleep(500_000 + 6_500_000 * $how_long);
	$cluster->kill_patroni($leader);
	$cluster->kill_postmaster($leader);
	kill $_, @receivers foreach 'TERM', 'CONT';
	wait_for_other_leader($leader);
	$cluster->start_patroni($leader);
	return;
}

my %done;

# All kinds of faults in a random order, again and again.
sub make_faults
{
	my ($count, $until, @kinds) = @_;
	my @next;

	while ($count-- > 0 && clock_gettime(CLOCK_MONOTONIC) < $until)
	{
		@next = shuffle @kinds unless @next;
		my $fault = shift @next;
		my $how = rand;
		my $leader = $cluster->leader;
		my $begun = clock_gettime(CLOCK_MONOTONIC);

		usleep(500_000 + 1_500_000 * rand);
		__PACKAGE__->can($fault)->($how);
		$cluster->wait_until_healthy;
		$done{$fault}++;
		note sprintf '%s: leader %s, now %s, %.0f s', $fault, $leader,
		  $cluster->leader, clock_gettime(CLOCK_MONOTONIC) - $begun;
	}
	return;
}

# For each term of office the steps of its clock: there are none.
my %numbers = map { $cluster->node($_)->{number} => $_ } $cluster->names;
my %steps = map {
	my $name = $numbers{ $_ % 10 };
	$_ => [ [ 0, 0, 1_000_000 * ($offset{$name} || 0) ] ]
} grep { defined $numbers{ $_ % 10 } } 10 .. 100_000;

sub last_term
{
	my $leader = $cluster->leader;
	my $answer = $cluster->ask_leader("SELECT $timeline");

	return 10 * $answer->{rows}[0][0][0] + $cluster->node($leader)->{number};
}

# Runs a shell command and returns its lines.
sub lines_of
{
	my ($command) = @_;

	local $ENV{LC_ALL} = 'C';
	open my $pipe, '-|', $command or die "$command: $!";
	chomp(my @lines = <$pipe>);
	close $pipe or die "$command failed";
	return @lines;
}

# The rows that are there: generator, id, timeline.
sub write_rows
{
	my ($file) = @_;
	my $node = $cluster->node($cluster->leader);

	lines_of(
		"psql -X -q -h '$node->{directory}' -p $node->{port} -U '$user' -d postgres -c"
		  . q( "COPY (SELECT * FROM item UNION ALL SELECT 'flake_default', id, NULL FROM item_by_default) TO STDOUT")
		  . " >'$file'");
	return;
}

sub count_in_logs
{
	my ($pattern) = @_;

	return sum0 map {
		scalar(() = slurp_file($cluster->node($_)->{log}) =~ /$pattern/g)
	} $cluster->names;
}

# As check_errors(), and detached shards were asked for.
sub check_leg
{
	my ($directory, $leg) = @_;
	my %expected = (
		53400 => qr/^the clock is N s behind|^cannot claim|shard/,
		55000 => qr/^shard N is detached$/,
		25006 => qr/./,
		40001 => qr/./,
		42704 => qr/lease/,
		'57P01' => qr/./,
		'57P02' => qr/./,
		'57P03' => qr/./);

	my $errors = check_errors($directory, $leg, \%expected);
	cmp_ok($errors->{55000} || 0,
		'>', 0, "$leg: detached shards were asked for");
	return;
}

#
# Synchronous.
#

srand $seed;
my $directory = PostgreSQL::Test::Utils::tempdir('ha');
start_clients_in($directory);
make_faults(
	$fault_count, $started + $seconds,
	qw(kill_postmaster kill_postmaster_to_fail_over kill_node
	  kill_standby switchover restart freeze_patroni));
stop_clients_well();

my ($count, $wrong) = check_ids(
	$directory,
	covered_until => covered_until($directory, {}),
	last_term => last_term(),
	steps => \%steps,
	fences => \%fences);
write_rows("$directory/rows");
my ($committed) = lines_of("cat '$directory'/*.ids | grep -c '\t1\$'");
my @lost =
  lines_of("cut -f1,2 '$directory/rows' | sort >'$directory/rows.sorted';"
	  . " cat '$directory'/*.ids | grep '\t1\$' | cut -f1,3 | sort -u"
	  . " | comm -23 - '$directory/rows.sorted'");
my @repeated = lines_of("uniq -d '$directory/rows.sorted'");
my ($leases, $overlap) = first_overlap($directory);

# The standbys are cloned in the beginning, too.
my $rewinds = count_in_logs(qr/pg_rewind exit code=0/);
my $clones = count_in_logs(qr/INFO: bootstrapped from leader/) - 2;

note
  "synchronous: $count->{ids} ids, $committed of them in rows that clients know to be"
  . " committed, $count->{void} not covered by a commit;"
  . " $leases leases and renewals; $rewinds pg_rewinds, $clones clones";
is($count->{duplicates}, 0, 'no id is handed out twice');
is(scalar @repeated, 0, 'no id is in two rows');
is(scalar @lost, 0, 'no committed row is lost');
is($count->{misordered}, 0,
	'the ids of a shard go up in the order of handing out');
is($count->{ahead}, 0, 'no id is further ahead than flakeid.max_ahead');
is($count->{fenced}, 0, 'no id of a shard that is detached');
is($overlap, undef, 'leases of a shard do not overlap');
cmp_ok($committed, '>', 100, 'ids enough');
cmp_ok($leases, '>', 0, 'leases were taken');
diag $_ foreach @$wrong;
diag "lost: $_" foreach splice @lost, 0, 5;
check_leg($directory, 'synchronous');

#
# Asynchronous.
#

$cluster->configure(
	{
		synchronous_mode => JSON::PP::false,
		synchronous_mode_strict => JSON::PP::false,
		maximum_lag_on_failover => 1_000_000_000
	});
$cluster->{asynchronous} = 1;
$cluster->wait_until_healthy;
$cluster->ask_leader('TRUNCATE item, item_by_default');
my $second = PostgreSQL::Test::Utils::tempdir('ha');
start_clients_in($second);
make_faults(1 + int(sum0(values %done) / 6), 'inf', 'kill_lagging');
stop_clients_well();

my ($count_2, $wrong_2) = check_ids(
	$second,
	covered_until => {},
	last_term => last_term(),
	asynchronous => 1,
	steps => \%steps,
	fences => {});
write_rows("$second/rows");

# By generator and id: the timeline of the row that is there, and the timelines
# in which the id was handed out.
my (%count, @harmful);
my ($key, $row, @terms) = ('');
my $finish = sub {
	my ($generator) = split /\t/, $key;
	my %timelines = map { int($_->[0] / 10) => 1 } @terms;
	my $last = (sort { $b <=> $a } keys %timelines)[0];

	return unless @terms;
	$count{$generator}{ids} += 1;
	$count{$generator}{lost}++ if !defined $row && grep { $_->[1] } @terms;
	$count{$generator}{repeated}++ if keys %timelines > 1;
	push @harmful, "$key, of timeline $row, again in $last"
	  if defined $row && $row ne '\N' && hex($row) < $last;
};
foreach my $line (
	lines_of(
		"(awk -F '\t' '{ print \$1 \"\t\" \$3 \"\t\" \$8 \"\t\" \$14 }' '$second'/*.ids;"
		  . " sed 's/\$/\trow/' '$second/rows') | sort -t '\t' -k1,2"))
{
	my ($generator, $id, $what, $flag) = split /\t/, $line;

	if ("$generator\t$id" ne $key)
	{
		$finish->();
		($key, $row, @terms) = ("$generator\t$id", undef);
	}
	if   ($flag eq 'row') { $row = $what }
	else                  { push @terms, [ $what, $flag ] }
}
$finish->();

foreach my $generator (sort keys %count)
{
	note sprintf
	  'asynchronous: %s (%s): %d ids, %d of committed rows are lost, %d came again',
	  $generator, $generators{$generator}{layout} || 'UUIDs',
	  map { $count{$generator}{$_} || 0 } qw(ids lost repeated);
}
note 'asynchronous: leases that overlap: ',
  (first_overlap($second))[1] || 'none';
is_deeply([ splice @harmful, 0, 5 ],
	[], 'asynchronous: no id of a row that is still there came again');
is($count_2->{duplicates},
	0, 'asynchronous: no server has handed out an id twice');
is($count_2->{misordered},
	0, 'asynchronous: the ids of a shard go up on a server');
is($count_2->{ahead}, 0,
	'asynchronous: no id is further ahead than flakeid.max_ahead');
diag $_ foreach @$wrong_2;
check_leg($second, 'asynchronous');

note 'faults: ' . join ', ', map { "$_ $done{$_}" } sort keys %done;
$cluster->stop;

# A server crashes only if it is killed, and nobody but the test does that.
foreach my $name ($cluster->names)
{
	my @lines =
	  grep { /PANIC:|TRAP:|was terminated by signal|invalid (?:page|memory)/ }
	  split /\n/, slurp_file($cluster->node($name)->{log});

	is_deeply(\@lines, [], "no crash of $name but those asked for");
}
done_testing();
