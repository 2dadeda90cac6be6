# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

TortureServers - for t/torture.pl and t/torture_ranges.pl: a primary and its
synchronous standby, with clocks and file systems of their own

=head1 SYNOPSIS

  use TortureServers;        # before what forks: it may start the program anew

  start_servers('CREATE EXTENSION flakeid');
  step_clock($primary, -60);
  ask_primary('SELECT flake_id(5)');

=head1 DESCRIPTION

The servers have small file systems, to be full at times: in a mount namespace that
only the program and its children see, so nothing of it is left.  Where that is
not allowed, or TORTURE_MAY_MOUNT=0 is set, the disk is never full, and
the program says so.

In the environment are also TORTURE_SECONDS, how long there are faults, and
TORTURE_SEED, which faults; by default another one each time.

=cut

package TortureServers;

use strict;
use warnings;

# Starts the program once more, as the same user in new namespaces.
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

use Exporter 'import';
use FlakeServer;
use FlakeWire;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC);
use TortureClient;

our @EXPORT = qw(
  $directory
  $user
  %server
  $primary
  $standby
  $term
  %steps
  torture_setting
  start_servers
  stop_servers
  primary_node
  start_primary
  exchange_servers
  build_standby
  step_clock
  ask_primary
  connect_to_ask
  wait_for_primary
  wait_for_standby
);

=pod

=head1 VARIABLES

  $directory           where clients and controller write what they have seen, from
                       start_servers() on
  $user                as whom everybody connects
  %server              name => node, clock, offset (of it, in s), steps; disk if it
                       has one of its own
  $primary, $standby   the names
  $term                which primary this is, from 1 on
  %steps               term => steps of that server's clock, for check_ids()

=cut

our $directory;
our $user = getpwuid $>;
our %server;
our ($primary, $standby) = ('a', 'b');
our $term = 0;
our %steps;

my $small_mb = 200;
my $may_mount = $ENV{TORTURE_MAY_MOUNT};

=pod

=head1 FUNCTIONS

=over

=item torture_setting($name, $default)

A number from the environment, where an empty one counts as none.

=cut

sub torture_setting
{
	my ($name, $default) = @_;
	my $value = $ENV{$name};

	return $default if !defined $value || $value eq '';
	BAIL_OUT("$name must be a number from 1 on, not \"$value\"")
	  unless $value =~ /^[1-9]\d{0,8}$/;
	return $value;
}

=pod

=item step_clock($name, $offset)

Sets the clock of a server, and notes the step with when it was begun and done.

=cut

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

=pod

=item start_servers($sql)

Makes the primary, runs the SQL there, and makes the standby.

=cut

sub start_servers
{
	my ($sql) = @_;

	# What the set-up writes does not wait for a standby that is not there yet.
	local $ENV{PGOPTIONS} = '-c synchronous_commit=local';

	$directory = PostgreSQL::Test::Utils::tempdir('torture');
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
jit = off
flakeid.max_ahead = '15s'
flakeid.max_wait = '2s'
));
	start_primary();
	primary_node()->safe_psql('postgres', $sql);
	build_standby();
	take_office();
	return;
}

=pod

=item stop_servers()

The servers are stopped, and their file systems go.

=cut

sub stop_servers
{
	foreach my $server (@server{ $primary, $standby })
	{
		$server->{node}->stop;
		next unless $server->{disk};
		system 'umount', $server->{disk};
		rmdir $server->{disk};
	}
	return;
}

=pod

=item primary_node()

The primary's PostgreSQL::Test::Cluster.

=cut

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

=pod

=item exchange_servers()

Promotes the standby, when the primary is stopped; from then on it is the primary.

=cut

sub exchange_servers
{
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
	return;
}

=pod

=item build_standby()

Makes the other server a standby of the primary, from nothing.  The directory itself
stays, by which the server knows its shared memory again.

=cut

sub build_standby
{
	my $node = $server{$standby}{node};

	local $ENV{PGOPTIONS} = '-c synchronous_commit=local';
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

=pod

=item connect_to_ask(), ask_primary($sql)

A session with the primary, undef if there is none.  And one request to the primary,
from a session of its own.

=cut

sub connect_to_ask
{
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;

	return scalar FlakeWire->connect(primary_node()->host,
		primary_node()->port, 'postgres', $user, sub { time < $deadline });
}

sub ask_primary
{
	my ($sql) = @_;
	my $wire = connect_to_ask();

	return { rows => [], warnings => [], status => '' } unless defined $wire;
	return $wire->request($sql);
}

=pod

=item start_primary(), wait_for_primary(), wait_for_standby()

Starts the primary and waits until it answers; waits for that; waits until the
standby is synchronous.

=cut

sub start_primary
{
	start_with_clock(primary_node(), $server{$primary}{clock});
	wait_for_primary();
	return;
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

=pod

=back

=cut

1;
