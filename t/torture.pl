# Copyright (c) 2026, the flakeid developers

# No id comes twice, whatever happens to the servers.  There are a primary and a
# synchronous standby, sessions that mint in many ways and note each id that they
# are given, and one random fault after the other.  In the end the promises are
# checked over all ids of all sessions: none twice, each shard's in order, none
# further ahead of the clock than flakeid.max_ahead, none of a detached shard.  And
# sessions that read on up to flake_settled() have seen every row once.
#
# In the environment (make torture SECONDS=1200 SEED=7 sets both):
#   TORTURE_SECONDS   how long there are faults, by default 60
#   TORTURE_SEED      which faults; by default another one each time, which is
#                     printed.  The same seed gives the same sequence of faults;
#                     how many of them there is time for, and what the
#                     sessions are doing when one comes, is up to the machine.
#
# The servers have small file systems of their own, to be full at times: in a
# mount namespace that only this program and its children see, so nothing of it
# is left.  Where that is not allowed, or TORTURE_MAY_MOUNT=0 is set, the disk
# is never full, and the program says so.

use strict;
use warnings;

# Starts this program once more, as the same user in new namespaces.
BEGIN
{
	my @unshare =
	  ('unshare', '--user', '--map-current-user', '--keep-caps', '--mount');

	if (  !defined $ENV{TORTURE_MAY_MOUNT}
		&& system("@unshare mount -t tmpfs none /mnt >/dev/null 2>&1") == 0)
	{
		$ENV{TORTURE_MAY_MOUNT} = 1;
		exec @unshare, $^X, (map { "-I$_" } grep { !ref } @INC), $0, @ARGV
		  or die "exec: $!";
	}
}

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use FlakeWire;
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use TailClient;
use Test::More;
use Time::HiRes qw(usleep clock_gettime CLOCK_MONOTONIC);
use TortureCheck;
use TortureClient;

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

my $seconds = setting('TORTURE_SECONDS', 60);
my $seed = setting('TORTURE_SEED', 1 + int(rand 999_999_999));
my $may_mount = $ENV{TORTURE_MAY_MOUNT};
my $client_count = 12;

diag "make torture SECONDS=$seconds SEED=$seed";

# All that chance decides about the faults, before anybody else draws from it.
srand $seed;
my @dice = map {
	[ map { rand } 1 .. 5 ]
} 1 .. 10 * $seconds + 10;
srand;

my $user = getpwuid $>;
my $directory = PostgreSQL::Test::Utils::tempdir('torture');
my $small_mb = 200;

# The controller's own ids and commits: those of client 0.
open my $ids, '>', "$directory/0.ids"         or die "0.ids: $!";
open my $commits, '>', "$directory/0.commits" or die "0.commits: $!";

#
# The servers.
#

my %server;      # name => node, clock, steps; disk if it has one of its own
my ($primary, $standby) = ('a', 'b');
my $term = 0;
my %steps;       # term => steps of the clock
my %complete;    # the terms that ended with nothing lost

# Notes each step of a clock with when it was begun and done.
sub step_clock
{
	my ($name, $offset) = @_;
	my $server = $server{$name};
	my $begun = clock_gettime(CLOCK_MONOTONIC);

	$offset = sprintf '%.3f', $offset;
	set_clock($server->{clock}, $offset);
	$server->{offset} = $offset;
	push @{ $server->{steps} },
	  [ us($begun), us(clock_gettime(CLOCK_MONOTONIC)), $offset * 1_000_000 ];
	return;
}

sub new_server
{
	my ($name) = @_;
	my $server = {
		node => PostgreSQL::Test::Cluster->new($name),
		clock => new_clock(),
		offset => 0,
		steps => [ [ 0, 0, 0 ] ]
	};

	# Not the node's own directory, which it wants to remove in the end.
	if ($may_mount)
	{
		my $disk = $server->{node}->basedir . '_disk';

		mkdir $disk or die "$disk: $!";
		system('mount', '-t', 'tmpfs', '-o', "size=${small_mb}M,mode=700",
			'none', $disk) == 0
		  or die "cannot mount a file system at $disk";

		# By the inode number of its directory a server knows its shared
		# memory again after a crash.  Here all would have the same.
		foreach (0 .. rand 50_000)
		{
			rmdir "$disk/pgdata";
			mkdir "$disk/pgdata", 0700 or die "$disk/pgdata: $!";
		}
		symlink "$disk/pgdata", $server->{node}->data_dir
		  or die "symlink: $!";
		$server->{disk} = $disk;
	}
	$server{$name} = $server;
	return;
}

sub primary_node
{
	return $server{$primary}{node};
}

# From now on clients go there.
sub take_office
{
	my $node = primary_node();

	$steps{ ++$term } = $server{$primary}{steps};
	open my $file, '>', "$directory/primary.new" or die "primary.new: $!";
	print $file join(' ', $term, $node->host, $node->port), "\n";
	close $file or die "primary.new: $!";
	rename "$directory/primary.new", "$directory/primary"
	  or die "primary: $!";
	return;
}

# Makes the other server a standby of the primary, from nothing.  The directory
# itself stays, by which the server knows its shared memory again.
sub build_standby
{
	my $node = $server{$standby}{node};

	mkdir $node->data_dir, 0700;
	PostgreSQL::Test::Utils::system_or_bail('find', $node->data_dir . '/',
		'-mindepth', '1', '-delete');
	PostgreSQL::Test::Utils::system_or_bail('pg_basebackup', '-D',
		$node->data_dir, '-d', primary_node()->connstr('postgres'),
		'-X', 'stream', '--checkpoint=fast', '--no-sync');
	$node->append_conf('postgresql.conf', 'port = ' . $node->port);
	$node->enable_streaming(primary_node());
	start_with_clock($node, $server{$standby}{clock});
	wait_for_standby();
	return;
}

# One request to the primary, from a session of its own.
sub ask_primary
{
	my ($sql) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	my $wire = FlakeWire->connect(primary_node()->host, primary_node()->port,
		'postgres', $user, sub { time < $deadline });

	return { rows => [], warnings => [], status => '' } unless defined $wire;
	return $wire->request($sql);
}

sub wait_for_primary
{
	wait_until(sub { succeeded(ask_primary('SELECT 1')) },
		'the primary answers');
	return;
}

sub wait_for_standby
{
	wait_until(
		sub {
			return @{
				ask_primary(
q(SELECT 1 FROM pg_stat_replication WHERE sync_state = 'sync')
				)->{rows}
			};
		},
		'the standby is synchronous');
	return;
}

sub start_primary
{
	start_with_clock(primary_node(), $server{$primary}{clock});
	wait_for_primary();
	return;
}

#
# The faults.  Each takes four numbers from 0 to 1, and returns false if it could
# not be done, because of the one before, say.
#

# While the server is down or about to be.
sub maybe_step_back
{
	my ($whether, $how_far) = @_;

	step_clock($primary, $server{$primary}{offset} - 1 - 9 * $how_far)
	  if $whether < 0.5;
	return;
}

sub clock
{
	my ($kind, $how_far, $whose) = @_;
	my $offset =
		$kind < 0.35 ? -10 + 20 * $how_far
	  : $kind < 0.6  ? 0
	  : $kind < 0.85 ? -60 + 120 * $how_far
	  :                -3600 * $how_far;

	step_clock($whose < 0.8 ? $primary : $standby, $offset);
	return 1;
}

sub max_ahead
{
	my ($which) = @_;
	my $value = ('15s', '15s', '2min', '2min', '2h')[ 5 * $which ];

	foreach my $name ($primary, $standby)
	{
		$server{$name}{node}
		  ->append_conf('postgresql.conf', "flakeid.max_ahead = '$value'");
		$server{$name}{node}->reload;
	}
	return 1;
}

sub kill_process
{
	my ($which, $whether, $how_far) = @_;
	my @pids = map { $_->[0][0] } @{
		ask_primary(
			q(SELECT pid FROM pg_stat_activity
			WHERE pid <> pg_backend_pid() AND backend_type IN ('client backend',
				'checkpointer', 'background writer', 'walwriter') ORDER BY 1)
		)->{rows}
	};

	return 0 unless @pids;
	kill 'KILL', $pids[ $which * @pids ] or return 0;
	maybe_step_back($whether, $how_far);
	wait_for_primary();
	return 1;
}

sub kill_server
{
	my (undef, $whether, $how_far) = @_;

	kill9_and_wait(primary_node());
	maybe_step_back($whether, $how_far);
	start_primary();
	return 1;
}

sub restart
{
	my ($how, $whether, $how_far) = @_;

	primary_node()->stop($how < 0.5 ? 'fast' : 'immediate');
	maybe_step_back($whether, $how_far);
	start_primary();
	return 1;
}

# A commit, which covers everything before it.
sub commit_something
{
	my $answer = ask_primary(
"INSERT INTO item VALUES ('commit', coalesce((SELECT max(id) + 1 FROM item"
		  . " WHERE generator = 'commit'), 0))");

	note_commit($commits, $answer, $term) if succeeded($answer);
	return;
}

# The standby takes over; the old primary is lost, and made a new standby.
sub promote
{
	my ($how, $whether) = @_;
	my $old = primary_node();

	wait_for_standby();
	commit_something() if $whether < 0.5 || -e "$directory/quiet";
	if    ($how < 0.5)  { kill9_and_wait($old) }
	elsif ($how < 0.75) { $old->stop('immediate') }
	else
	{
		$old->stop('fast');
		$complete{$term} = 1 if has_everything($old, $server{$standby}{node});
	}
	($primary, $standby) = ($standby, $primary);
	primary_node()->promote;
	wait_until(
		sub {
			my $answer =
			  ask_primary('SELECT 1 WHERE NOT pg_is_in_recovery()');
			return @{ $answer->{rows} };
		},
		'the standby is promoted');
	take_office();
	build_standby();
	return 1;
}

# Whether a standby has received all WAL of a primary that was stopped.
sub has_everything
{
	my ($old, $new) = @_;
	my ($control) = run_command([ 'pg_controldata', $old->data_dir ]);
	my ($checkpoint) =
	  $control =~ /^Latest checkpoint location:\s*([0-9A-F\/]+)$/m
	  or die "pg_controldata: $control";

	return $control =~ /^Database cluster state:\s*shut down$/m
	  && $new->safe_psql('postgres',
		"SELECT pg_last_wal_receive_lsn() > '$checkpoint'") eq 't';
}

# Drops a generator and creates another one of that name, which goes on above
# what the dropped one has handed out.  Or does not, after all.
sub recreate
{
	my ($which, $outcome) = @_;
	my $name = ('brief', 'dense', 'snow')[ 3 * $which ];
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;
	my $wire =
	  FlakeWire->connect(primary_node()->host, primary_node()->port,
		'postgres', $user, sub { time < $deadline })
	  or return 0;

	# Who renames it waits for all who have minted in transactions that are
	# still open, and keeps others out.
	my $answer = $wire->request(
		"SET lock_timeout = '5s'; BEGIN; ALTER SEQUENCE $name RENAME TO old;"
		  . q( SELECT flake_horizon('old')));
	return 0 if $answer->{status} ne 'T';

	my $horizon = $answer->{rows}[0][0][0];
	my $end = $outcome < 0.25 ? 'ROLLBACK' : 'COMMIT';
	$answer =
	  $wire->request('DROP SEQUENCE old;'
		  . " SELECT flake_create_generator('$name', '$generators{$name}{layout}', $horizon);"
		  . " $end");

	# The states of its shards are gone, too.
	forget_fences($name, $answer->{sent})
	  if $end eq 'COMMIT'
	  && (!defined $answer->{code} || $answer->{status} eq '');
	return succeeded($answer);
}

# Fences: "generator/shard" => list of [bound, detached, attached], and which of
# them, by name, are or may be detached.
my %fences;
my %detached;

sub end_fence
{
	my ($name, $when) = @_;

	$fences{$name}[-1][2] = us($when)
	  if $detached{$name} eq 'yes' && !defined $fences{$name}[-1][2];
	return;
}

sub forget_fences
{
	my ($generator, $when) = @_;

	foreach my $name (grep { m{^$generator/} } keys %detached)
	{
		end_fence($name, $when);
		$detached{$name} = 'maybe';
	}
	return;
}

sub detach_or_attach
{
	my ($which) = @_;
	my @names = map {
		my $generator = $_;
		map { "$generator/$_" } @{ $generators{$generator}{shards} }
	} grep { $_ ne 'uuid' } sort keys %generators;
	my $name = $names[ $which * @names ];

	return defined $detached{$name} ? attach($name) : detach($name);
}

sub detach
{
	my ($name) = @_;
	my ($generator, $shard) = split m{/}, $name;
	my $answer = ask_primary("SELECT flake_detach($shard, '$generator')");

	$detached{$name} = 'maybe';
	return 0 unless succeeded($answer);
	$detached{$name} = 'yes';
	push @{ $fences{$name} },
	  [ $answer->{rows}[0][0][0], us($answer->{received}), undef ];
	return 1;
}

sub attach
{
	my ($name) = @_;
	my ($generator, $shard) = split m{/}, $name;

	# From here on it may be attached, whatever comes of it.
	end_fence($name, clock_gettime(CLOCK_MONOTONIC));
	$detached{$name} = 'maybe';
	return 0
	  unless succeeded(
		ask_primary("SELECT flake_attach($shard, generator => '$generator')")
	  );
	delete $detached{$name};
	return 1;
}

# Fills the primary's file system until the server runs into it.
sub fill_disk
{
	my ($how_long) = @_;
	my $server = $server{$primary};
	my $log = $server->{node}->logfile;
	my $log_size = -s $log;

	return 0 unless $server->{disk};
	open my $ballast, '>', "$server->{disk}/ballast" or die "ballast: $!";
	foreach my $size (1 << 20, 1 << 12)
	{
		1 while syswrite $ballast, "\0" x $size;
	}

	# There are WAL files ready to be filled.  The filling is not flushed, so
	# it can be anybody who finds that there is no place for more.
	my $deadline = clock_gettime(CLOCK_MONOTONIC) + 3 + 3 * $how_long;
	while (clock_gettime(CLOCK_MONOTONIC) < $deadline
		&& slurp_file($log, $log_size) !~ /PANIC/)
	{
		ask_primary(
			q(SELECT pg_logical_emit_message(false, '', repeat(' ', 100000)))
		);
		usleep(20_000);
	}
	close $ballast;
	unlink "$server->{disk}/ballast" or die "ballast: $!";

	# After a PANIC the server has tried to start again, perhaps in vain.
	usleep(300_000);
	if (!succeeded(ask_primary('SELECT 1')))
	{
		wait_until(
			sub {
				return succeeded(ask_primary('SELECT 1'))
				  || !-e $server->{node}->data_dir . '/postmaster.pid';
			},
			'the server is up again or down for good');
		if (!succeeded(ask_primary('SELECT 1')))
		{
			$server->{node}->stop('immediate', fail_ok => 1);
			start_primary();
		}
	}
	return slurp_file($log, $log_size) =~ /No space left on device/;
}

# Sets the clock back so far that sessions must wait, and cancels those that do,
# but not the last ones.
my $waiters = q(FROM pg_stat_activity WHERE wait_event_type = 'Extension'
	AND wait_event IN ('FlakeidClock', 'Extension'));

sub cancel_waiting
{
	my ($how_long) = @_;
	my $offset = $server{$primary}{offset};
	my $distance = ask_primary(
		q(SELECT extract(epoch FROM max(ahead)
			- current_setting('flakeid.max_ahead')::interval)
			FROM flake_stat WHERE generator = 'flake_default'::regclass));
	my $cancelled = 0;

	return 0
	  unless succeeded($distance) && defined $distance->{rows}[0][0][0];
	step_clock($primary, $offset + $distance->{rows}[0][0][0] - 1.5);
	my $deadline = clock_gettime(CLOCK_MONOTONIC) + 0.3 + $how_long;
	while (clock_gettime(CLOCK_MONOTONIC) < $deadline)
	{
		my $answer = ask_primary("SELECT pg_cancel_backend(pid) $waiters");

		$cancelled += @{ $answer->{rows} };
		usleep(50_000);
	}

	# Those who wait now get ids that are as far ahead as they may be.
	usleep(1_000_000);
	step_clock($primary, $offset);
	return $cancelled > 0;
}

sub terminate
{
	my ($which) = @_;

	return @{
		ask_primary(
'SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity'
			  . " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
			  . ' ORDER BY pid OFFSET '
			  . int($which * $client_count)
			  . ' LIMIT 1) AS s')->{rows}
	};
}

# For some time nobody commits anything, so what is not flushed on purpose is
# not flushed.
sub quiet
{
	if (-e "$directory/quiet")
	{
		unlink "$directory/quiet" or die "quiet: $!";
	}
	else
	{
		append_to_file("$directory/quiet", '');
	}
	return 1;
}

# By weight: how often compared to others.
my @faults = map { ($_->[0]) x $_->[1] }[ clock => 8 ],
  [ max_ahead => 3 ],
  [ kill_process => 4 ],
  [ kill_server => 4 ],
  [ restart => 4 ],
  [ promote => 3 ],
  [ recreate => 4 ],
  [ detach_or_attach => 10 ],
  [ fill_disk => 1 ],
  [ cancel_waiting => 3 ],
  [ terminate => 3 ],
  [ quiet => 5 ];

#
# Set up.
#

# What the set-up writes does not wait for a standby that is not there yet.
$ENV{PGOPTIONS} = '-c synchronous_commit=local';

note 'no small file systems may be mounted here: the disk is never full'
  unless $may_mount;
new_server($_) foreach $primary, $standby;
primary_node()->init(
	allows_streaming => 1,
	extra => [ '--wal-segsize', '1' ]);
primary_node()->append_conf(
	'postgresql.conf', q(
log_statement = none
log_min_messages = log
log_min_error_statement = panic
log_replication_commands = off
restart_after_crash = on
wal_writer_delay = 10s		# what is not flushed on purpose, is not
wal_sender_timeout = 0		# goes by the clock
wal_receiver_timeout = 0
wal_retrieve_retry_interval = 100ms
synchronous_standby_names = 'a, b'	# not pg_basebackup
max_connections = 40
shared_buffers = 8MB
max_wal_size = 16MB
min_wal_size = 2MB
wal_keep_size = 32MB
flakeid.max_ahead = '15s'
flakeid.max_wait = '2s'
));
start_primary();
primary_node()->safe_psql(
	'postgres', q(
CREATE EXTENSION flakeid;
CREATE TABLE item (generator text, id bigint, PRIMARY KEY (generator, id));
CREATE TABLE item_by_default (id bigint PRIMARY KEY DEFAULT flake_id(1));
CREATE VIEW event AS SELECT id FROM item WHERE generator = 'flake_default'
	UNION ALL SELECT id FROM item_by_default;
)
	  . $read_in_loop
	  . join '',
	map { "SELECT flake_create_generator('$_', '$generators{$_}{layout}');" }
	  grep { !/^(?:flake_default|uuid)$/ } sort keys %generators);
build_standby();
take_office();

# Clients notice that their parent is gone, and at the end of the program
# the servers are stopped.
$SIG{$_} = sub { die "stopped by a signal\n" }
  foreach 'INT', 'TERM', 'HUP';

my @clients;
foreach my $client (1 .. $client_count)
{
	my $pid = fork;

	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		my $ok = eval { run_client($directory, $client, $user, $seed); 1 };

		print STDERR "client $client: $@" unless $ok;
		POSIX::_exit($ok ? 0 : 1);
	}
	push @clients, $pid;
}
my @readers = ('one', 'tail', 'any');
my @reader_pids = map { start_reader($directory, $_) } @readers;
push @reader_pids, start_poller($directory, 'bounds');

#
# Torture.
#

my $deadline = clock_gettime(CLOCK_MONOTONIC) + $seconds;
my (%done, %failed);

foreach my $dice (@dice)
{
	my ($which, @rest) = @$dice;
	my $fault = $faults[ $which * @faults ];

	usleep(100_000 + 600_000 * $rest[3]);
	last if clock_gettime(CLOCK_MONOTONIC) > $deadline;
	print "# $fault @rest\n";
	if (__PACKAGE__->can($fault)->(@rest))
	{
		$done{$fault}++;
	}
	else
	{
		$failed{$fault}++;
	}
}

#
# The clients end, the clock is right again, and every shard mints.
#

my $ended_well = 0;
kill 'TERM', @clients;
foreach my $pid (@clients)
{
	waitpid $pid, 0;
	$ended_well++ if $? == 0;
}
is($ended_well, $client_count, 'the clients have run to the end');

max_ahead(1 - 1e-9);
step_clock($primary, 0);
unlink "$directory/quiet";
wait_until(
	sub {
		my $answer =
		  ask_primary(q(SELECT current_setting('flakeid.max_ahead')));
		return succeeded($answer) && $answer->{rows}[0][0][0] eq '2h';
	},
	'flakeid.max_ahead is 2 h');
is_deeply([ grep { !attach($_) } sort keys %detached ],
	[], 'all shards can be attached');

my $request = 0;
foreach my $generator (sort keys %generators)
{
	foreach my $shard (@{ $generators{$generator}{shards} })
	{
		my $id = $generator eq 'uuid' ? 'flake_uuid()' : undef;
		my $answer =
		  ask_primary('SELECT ' . columns($generator, $shard, $id));

		note_ids($ids, $answer, $term, 0, ++$request, 1);
		ok(succeeded($answer), "$generator, shard $shard, mints in the end")
		  or diag explain $answer;
	}
}

# What is ahead of the clock is settled, too, when the generator is advanced.
my $greatest = primary_node()->safe_psql('postgres', 'SELECT max(id) FROM event');
primary_node()->safe_psql('postgres', "SELECT flake_advance('flake_default', $greatest)");
wait_for_readers($directory, $greatest, @readers);
my @rows = split /\n/, primary_node()->safe_psql('postgres', 'SELECT id FROM event ORDER BY id');
is(stop_processes(@reader_pids), @reader_pids, 'the readers have run to the end');
close $ids     or die "0.ids: $!";
close $commits or die "0.commits: $!";

foreach my $name ($primary, $standby)
{
	$server{$name}{node}->stop;
}

#
# What came of it.
#

my ($count, $wrong) = check_ids(
	$directory,
	covered_until => covered_until($directory, \%complete),
	last_term => $term,
	steps => \%steps,
	fences => \%fences);

note "$count->{ids} ids, $count->{void} of them lost in failovers,"
  . " $count->{at_limit} within 50 ms of flakeid.max_ahead";
note join ', ', map {
		"$_ "
	  . ($done{$_} || 0)
	  . ($failed{$_} ? " (and in vain $failed{$_})" : '')
} sort keys %{ { %done, %failed } };

is($count->{duplicates}, 0, 'no id is handed out twice');
is($count->{misordered}, 0,
	'the ids of a shard go up in the order of handing out');
is($count->{ahead}, 0, 'no id is further ahead than flakeid.max_ahead');
is($count->{fenced}, 0, 'each id is on the right side of each bound');
is_deeply(
	[
		grep {
			my $fences = $fences{$_};
			grep { $fences->[$_][0] < $fences->[ $_ - 1 ][0] } 1 .. $#$fences
		} sort keys %fences
	],
	[],
	'the bounds of a shard do not go down');
diag $_ foreach @$wrong;

# More may have been read than there is: what a session had committed that was ended
# while it waited for the standby.
foreach my $name (@readers)
{
	my $read = read_ids($directory, $name);
	my %is_read = map { $_ => 1 } @$read;

	is(scalar(grep { !$is_read{$_} } @rows), 0, "reader $name has lost no row of " . @rows);
	is(first_descent($read), undef, "and has read each once, in order");
}
my @polls = polls($directory, 'bounds');
is_deeply([ grep { $polls[$_][0] < $polls[ $_ - 1 ][0] } 1 .. $#polls ],
	[], 'what is settled stays so');
cmp_ok($count->{ids}, '>', 10 * $seconds, 'ids enough');

# Errors are to be those that such faults lead to.
my %expected = (
	53400 => qr/^the clock is N s behind|^cannot claim/,
	55000 => qr/^shard N is detached$/,
	'42P01' => qr/^generator with OID N does not exist$/,
	57014 => qr/due to user request/,
	'57P01' => qr/./,
	'57P02' => qr/./,
	'57P03' => qr/./,
	53100 => qr/No space left on device/);
my (%errors, @unexpected);
my $sessions = 0;
foreach my $file (glob "$directory/*.errors")
{
	foreach my $line (split /\n/, slurp_file($file))
	{
		my ($times, $code, $message) = split /\t/, $line;

		if ($code eq '00000')
		{
			$sessions += $times;
			next;
		}
		$errors{$code} += $times;
		push @unexpected, "$code: $message"
		  unless defined $expected{$code} && $message =~ $expected{$code};
	}
}
note "$sessions sessions of $client_count clients; errors: " . join ', ',
  map { "$errors{$_} of $_" } sort keys %errors;
is_deeply(\@unexpected, [], 'no errors but those that were to be expected');

# The servers' logs: no crash but those that were asked for.
foreach my $name ($primary, $standby)
{
	my @lines = grep {
			 /PANIC:/ && !/No space left on device/
		  || /TRAP:|was terminated by signal (?!9\b|6\b)|invalid (?:page|memory)/
	} split /\n/, slurp_file($server{$name}{node}->logfile);

	is_deeply(\@lines, [], "no crash of server $name but those asked for");
}

# Their file systems go, and with the last process also the namespace.
foreach my $disk (map { $_->{disk} || () } values %server)
{
	system 'umount', $disk;
	rmdir $disk;
}

done_testing();
