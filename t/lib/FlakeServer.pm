# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeServer - servers for a test: started with their settings, with a clock of
their own, killed, and with a standby

=head1 SYNOPSIS

  # a server whose clock can be set, without anybody else noticing
  my $clock = new_clock();
  my $node = start_server(
      'main',
      clock            => $clock,
      allows_streaming => 1,
      conf             => 'log_statement = none',
      sql              => 'CREATE EXTENSION flakeid');

  set_clock($clock, -3600);            # an hour back
  stop_clock($clock, 1800000000);      # stands still at this Unix time
  change_setting($node, 'flakeid.max_ahead', '2h');

  my $standby = start_standby($node, 'standby', $clock);

  # kill -9 of the whole server
  kill9_and_wait($node);
  start_with_clock($node, $clock);

=cut

package FlakeServer;

use strict;
use warnings;

use Exporter 'import';
use File::Basename qw(dirname);
use POSIX ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes ();

our @EXPORT = qw(
  start_server
  listen_on_tcp
  start_standby
  change_setting
  wait_until
  wait_until_up
  $may_have_standbys
  wait_until_commits_wait
  while_standby_is_away
  wait_for_waiters
  new_clock
  set_clock
  stop_clock
  clock_ends_in_2038
  start_with_clock
  clock_environment
  kill9_session
  kill9_and_wait
  stop_killed
);

# Node name => what start_with_clock() keeps for kill9_and_wait().
my %alive;

my $clocks = 0;
my $directory;

=pod

=head1 FUNCTIONS

=head2 Servers

=over

=item start_server($name, %options)

Makes a server, starts it, and returns its PostgreSQL::Test::Cluster.  The
options can all be left out:

  conf    lines for postgresql.conf
  clock   a clock of new_clock(), which the server is to see
  tcp     true for a server that listen_on_tcp() makes listen
  sql     statements to run in the database postgres

All others are for init(), for example allows_streaming => 'logical'.

=cut

sub start_server
{
	my ($name, %options) = @_;
	my ($conf, $clock, $tcp, $sql) = delete @options{qw(conf clock tcp sql)};
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init(%options);
	$node->append_conf('postgresql.conf', $conf) if defined $conf;
	if ($tcp)
	{
		$node->start;
		listen_on_tcp($node);
		$node->stop;
	}
	defined $clock ? start_with_clock($node, $clock) : $node->start;
	$node->safe_psql('postgres', $sql) if defined $sql;
	return $node;
}

=pod

=item listen_on_tcp($node)

Has a server listen on 127.0.0.1, too, when it is restarted.  There everybody on the
machine could be its superuser: so the test's user gets a password, which libpq and the
JDBC driver find by PGPASSFILE.

=cut

my $password;

sub listen_on_tcp
{
	my ($node) = @_;

	if (!defined $password)
	{
		my $file = PostgreSQL::Test::Utils::tempdir . '/passwords';

		open my $random, '<:raw', '/dev/urandom' or die "/dev/urandom: $!";
		read $random, $password, 16;
		close $random;
		$password = unpack 'H*', $password;
		append_to_file($file, "127.0.0.1:*:*:*:$password\n");
		chmod 0600, $file or die "$file: $!";
		$ENV{PGPASSFILE} = $file;
	}
	$node->safe_psql('postgres',
		"SET log_statement = none; ALTER ROLE CURRENT_USER PASSWORD '$password'");
	my $hba = slurp_file($node->data_dir . '/pg_hba.conf');
	$hba =~ s/^(host\s.*\s)trust$/${1}scram-sha-256/mg;
	unlink $node->data_dir . '/pg_hba.conf';
	append_to_file($node->data_dir . '/pg_hba.conf', $hba);
	$node->append_conf('postgresql.conf', q(listen_addresses = '127.0.0.1'));
	return;
}

=pod

=item start_standby($primary, $name, $clock)

Makes a streaming standby and starts it, with that clock if one is given.  The
primary must have been made with allows_streaming.

=cut

sub start_standby
{
	my ($primary, $name, $clock) = @_;
	my $standby = PostgreSQL::Test::Cluster->new($name);

	$primary->backup($name);
	$standby->init_from_backup($primary, $name, has_streaming => 1);
	defined $clock ? start_with_clock($standby, $clock) : $standby->start;
	return $standby;
}

=pod

=item change_setting($node, $name, $value)

Writes a setting to postgresql.conf, and returns when new sessions have it.  A
session that is already there may get it a moment later.

=cut

sub change_setting
{
	my ($node, $name, $value) = @_;

	$node->append_conf('postgresql.conf', "$name = '$value'");
	$node->reload;
	$node->poll_query_until('postgres',
		"SELECT current_setting('$name', true) = '$value'")
	  or die "$name is not $value";
	return;
}

=pod

=back

=head2 Waiting

=over

=item wait_until($condition, $what)

Calls $condition until it returns true, and returns that.  Dies when that takes
longer than a test may wait (PG_TEST_TIMEOUT_DEFAULT), saying that $what did
not happen.

=cut

sub wait_until
{
	my ($condition, $what) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;

	while (1)
	{
		my $result = $condition->();
		return $result if $result;
		die "timed out waiting until $what" if time > $deadline;
		Time::HiRes::usleep(20_000);
	}
}

=pod

=item wait_until_commits_wait($node)

Waits until each commit waits for a synchronous standby that is not there, which is some
time after the setting was reloaded.

=cut

sub wait_until_commits_wait
{
	my ($node) = @_;

	wait_until(
		sub {
			$node->psql('postgres', q(SELECT pg_logical_emit_message(true, '', '')),
				timeout => 1, timed_out => \my $waits);
			return $waits;
		},
		'commits wait');
	return;
}

=pod

=item while_standby_is_away($node, $code)

Runs the code while each commit waits for a synchronous standby that is not there.  The
server must have $may_have_standbys in its configuration.

=cut

our $may_have_standbys = "wal_level = replica\nmax_wal_senders = 2\n";

sub while_standby_is_away
{
	my ($node, $code) = @_;

	$node->safe_psql('postgres', q(ALTER SYSTEM SET synchronous_standby_names = 'away'));
	$node->reload;
	wait_until_commits_wait($node);
	$code->();
	$node->safe_psql('postgres', 'ALTER SYSTEM RESET synchronous_standby_names');
	$node->reload;
	return;
}

=pod

=item wait_until_up($node)

Waits until the server accepts connections again.  Not by psql: one that is
turned away may be gone before it is given its statement, and IPC::Run dies.

=cut

sub wait_until_up
{
	my ($node) = @_;

	wait_until(
		sub {
			system('pg_isready', '-q', '-d', $node->connstr('postgres')) == 0;
		},
		'the server accepts connections');
	return;
}

=pod

=item wait_for_waiters($node, $number, $which)

Waits until at least that many sessions wait for a lock. $which is a condition
on the rows of pg_locks, such as "relation = 'item'::regclass"; without it any
lock counts.

=cut

sub wait_for_waiters
{
	my ($node, $number, $which) = @_;

	$which = 'true' unless defined $which;
	$node->poll_query_until('postgres',
		"SELECT count(*) >= $number FROM pg_locks WHERE NOT granted AND $which")
	  or die "there are not $number sessions that wait for a lock, $which";
	return;
}

=pod

=back

=head2 A clock of one's own

By libfaketime (Debian's package libfaketime), which only the server gets to
see: psql and the test itself go by the real clock.  Monotonic clocks are not
touched, as no setting of a clock touches them.

=over

=item new_clock()

A clock that shows the real time.

=cut

sub new_clock
{
	$directory = PostgreSQL::Test::Utils::tempdir('flake')
	  unless defined $directory;
	my $clock = "$directory/clock_" . ++$clocks;

	set_clock($clock, 0);
	return $clock;
}

=pod

=item set_clock($clock, $seconds, $speed)

Sets the clock to be so many seconds ahead of the real time, or behind it if
negative.  It may have a server already; the server sees it the next time that
it looks.  With a speed, it is that many times as fast as the real time from the
server's start on, until another speed is given.

=cut

sub set_clock
{
	my ($clock, $seconds, $speed) = @_;

	write_clock($clock, sprintf('%+.3f%s', $seconds, defined $speed ? " x$speed" : ''));
	return;
}

=pod

=item stop_clock($clock, $time)

Makes the clock stand still at that many seconds after 1970, which may have a fraction.
What the server reads may be less by a microsecond, so for a millisecond give one that is
half a millisecond later.

=cut

sub stop_clock
{
	my ($clock, $time) = @_;

	write_clock($clock, $time =~ /\./ ? sprintf('%.6f', $time) : sprintf('%d', $time));
	return;
}

=pod

=item clock_ends_in_2038()

Whether no clock can be set to a later time, as it has 32 bits.

=cut

sub clock_ends_in_2038
{
	return !defined POSIX::mktime(0, 0, 0, 1, 0, 2040 - 1900);
}

# The file is read whenever the server looks at its clock, so it must be there
# and complete at any time: write another one and rename it.
sub write_clock
{
	my ($clock, $contents) = @_;

	open my $handle, '>', "$clock.new" or die "$clock.new: $!";
	print $handle "$contents\n";
	close $handle               or die "$clock.new: $!";
	rename "$clock.new", $clock or die "$clock: $!";
	return;
}

# Dies rather than to skip what needs it: tools/run installs the package.
sub faketime_library
{
	foreach my $pattern (
		'/usr/lib/*/faketime/libfaketime.so.1',
		'/usr/lib/faketime/libfaketime.so.1',
		'/usr/lib64/faketime/libfaketime.so.1',
		'/usr/local/lib/faketime/libfaketime.so.1')
	{
		foreach my $library (glob $pattern)
		{
			return $library if -r $library;
		}
	}
	die "libfaketime.so.1 not found: install the package libfaketime";
}

# See exit.c.
sub exit_library
{
	my $library = "$directory/exit.so";

	if (!-e $library)
	{
		my ($cc) = run_command([ $ENV{PG_CONFIG} || 'pg_config', '--cc' ]);

		system_log(split(' ', $cc), '-shared', '-fPIC', '-o', $library,
			dirname(__FILE__) . '/exit.c', '-ldl') == 0
		  or die 'could not compile t/lib/exit.c';
	}
	return $library;
}

=pod

=item clock_environment($clock)

The environment variables with which a program sees that clock, and their values.

=cut

sub clock_environment
{
	my ($clock) = @_;

	return (
		LD_PRELOAD => faketime_library() . ' ' . exit_library(),
		FAKETIME_TIMESTAMP_FILE => $clock,
		FAKETIME_FMT => '%s',
		FAKETIME_NO_CACHE => '1',
		FAKETIME_DONT_FAKE_MONOTONIC => '1',
		NO_FAKE_STAT => '1');
}

=pod

=item start_with_clock($node, $clock)

Starts a server that sees that clock.

=cut

sub start_with_clock
{
	my ($node, $clock) = @_;
	my ($alive, $held);

	remove_stale_faketime();
	my %clock = clock_environment($clock);
	local @ENV{ keys %clock } = values %clock;

	# A pipe that only the server's processes hold the other end of, so that
	# it tells when the last of them is gone: see kill9_and_wait().
	{
		local $^F = 1_000_000;    # not to be closed by exec
		pipe $alive, $held or die "could not make a pipe: $!";
	}
	$node->start;
	close $held;
	$alive{ $node->name } = $alive;
	return;
}

# libfaketime makes a semaphore and a piece of shared memory named by its process's
# number, which stay if that process is killed.  A later process of that number may
# then refuse to start.  Only the owner of a file can remove it here.
sub remove_stale_faketime
{
	foreach my $file (glob '/dev/shm/{sem.,}faketime_*_*')
	{
		my ($pid) = $file =~ /(\d+)$/;

		unlink $file if -o $file && !kill(0, $pid) && !$!{EPERM};
	}
	return;
}

END { remove_stale_faketime(); }

=pod

=back

=head2 Crashes

=over

=item kill9_session($node, $pid)

Kills a session's process with kill -9, and waits until the server has started
over, as it then does if restart_after_crash is on.  It takes a moment until it
knows, in which it still accepts connections.

=cut

sub kill9_session
{
	my ($node, $pid) = @_;
	my $offset = -s $node->logfile;

	kill 'KILL', $pid;
	wait_until(
		sub {
			return slurp_file($node->logfile, $offset) =~
			  /all server processes terminated/;
		},
		'the server notices that a process was killed');
	wait_until_up($node);
	return;
}

=pod

=item kill9_and_wait($node)

Kills the postmaster of a server that start_with_clock() has started, with
SIGKILL, and waits until its children are gone, too, so that the server can be
started again.

=cut

sub kill9_and_wait
{
	my ($node) = @_;
	my $pid_file = $node->data_dir . '/postmaster.pid';
	my ($pid) = slurp_file($pid_file) =~ /^(\d+)/;
	my $alive = delete $alive{ $node->name };
	my $ready = '';

	$node->kill9;

	vec($ready, fileno($alive), 1) = 1;
	select($ready, undef, undef, $PostgreSQL::Test::Utils::timeout_default)
	  or die "timed out waiting until the server's processes are gone";

	wait_until(sub { !kill(0, $pid) || is_zombie($pid) },
		'the postmaster is gone');

	# In some containers nobody ever waits for an orphan, and a new postmaster
	# takes what is left of the old one for a running one.
	unlink $pid_file, $node->host . '/.s.PGSQL.' . $node->port . '.lock'
	  if is_zombie($pid);
	return;
}

sub is_zombie
{
	my ($pid) = @_;

	open my $handle, '<', "/proc/$pid/stat" or return 0;
	my $line = <$handle>;
	return defined $line && $line =~ /^.*\) Z /;
}

=pod

=item stop_killed($node)

For the end of a test: gives back the shared memory of a server that was killed.
It stays until the server is started once more.

=cut

sub stop_killed
{
	my ($node) = @_;

	start_with_clock($node, new_clock());
	$node->stop;
	return;
}

=pod

=back

=cut

1;
