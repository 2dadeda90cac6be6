# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeTest - what several tests of flakeid need: a clock of one's own, clients
that mint in the background, and a look at what they were given

=head1 SYNOPSIS

  use FindBin;
  use lib $FindBin::RealBin;
  use FlakeTest;

  # a server whose clock can be set, without anybody else noticing
  my $clock = new_clock();
  start_with_clock($node, $clock);
  set_clock($clock, -3600);            # an hour back
  stop_clock($clock, 1800000000);      # stands still at this Unix time

  # eight sessions that mint until they are stopped
  my @clients = start_clients($node, count => 8, sql => minting_sql(1, 2));
  wait_for_more($_, 100) foreach @clients;
  stop_clients($node, @clients);

  is(first_duplicate(map { ids($_) } @clients), undef, 'no id repeats');
  is(first_misordered(map { records($_) } @clients), undef, 'in order');
  is(first_decrease(ids($_)), undef, 'a session counts up') foreach @clients;

  # one session, statement by statement
  my $session = new_session($node);
  my ($stdout, $stderr) = ask($session, 'SELECT flake_id(5)');
  end_session($session);

  # kill -9 of the whole server
  kill9_and_wait($node);
  start_with_clock($node, $clock);

=head1 DESCRIPTION

Nothing here tests; the functions die when the test itself cannot go on.

=cut

package FlakeTest;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes ();

our @EXPORT = qw(
  new_clock
  set_clock
  stop_clock
  start_with_clock
  wait_until
  wait_until_up
  kill9_session
  start_clients
  minting_sql
  wait_for_more
  stop_clients
  finish_clients
  records
  ids
  errors
  shard_of
  first_duplicate
  first_decrease
  first_misordered
  first_descent
  new_session
  ask
  error_code
  value
  code
  send_query
  get_answer
  end_session
  kill9_and_wait
);

# A file's number, to give each file its own name.
my $files = 0;

my $directory;

# Node name => what start_with_clock() keeps for kill9_and_wait().
my %alive;

sub new_file
{
	my ($kind) = @_;

	$directory = PostgreSQL::Test::Utils::tempdir('flake')
	  unless defined $directory;
	return sprintf '%s/%s_%d', $directory, $kind, ++$files;
}

=pod

=head1 FUNCTIONS

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
	my $clock = new_file('clock');

	set_clock($clock, 0);
	return $clock;
}

=pod

=item set_clock($clock, $seconds)

Sets the clock to be so many seconds ahead of the real time, or behind it if
negative.  It may have a server already; the server sees it the next time that
it looks.

=cut

sub set_clock
{
	my ($clock, $seconds) = @_;

	write_clock($clock, sprintf('%+.3f', $seconds));
	return;
}

=pod

=item stop_clock($clock, $time)

Makes the clock stand still at that many (whole) seconds after 1970.

=cut

sub stop_clock
{
	my ($clock, $time) = @_;

	write_clock($clock, sprintf('%d', $time));
	return;
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

=pod

=item start_with_clock($node, $clock)

Starts a server that sees that clock.

=cut

sub start_with_clock
{
	my ($node, $clock) = @_;
	my ($alive, $held);

	local $ENV{LD_PRELOAD} = faketime_library();
	local $ENV{FAKETIME_TIMESTAMP_FILE} = $clock;
	local $ENV{FAKETIME_FMT} = '%s';
	local $ENV{FAKETIME_NO_CACHE} = '1';
	local $ENV{FAKETIME_DONT_FAKE_MONOTONIC} = '1';
	local $ENV{NO_FAKE_STAT} = '1';

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

=pod

=back

=head2 Clients that mint in the background

Each is a psql that repeats its statements until it is stopped or the server is
gone, and writes what they return to a file outside of the server, line by
line: also what comes from a transaction that is never committed.

=over

=item start_clients($node, count => 8, sql => $sql, dbname => 'postgres')

Starts that many (1 by default) and returns them.  $sql may be several
statements, and should contain no line breaks between them.

=cut

sub start_clients
{
	my ($node, %params) = @_;
	my $dbname = $params{dbname} || 'postgres';
	my @clients;

	foreach my $i (1 .. $params{count} || 1)
	{
		my $name = 'flake_client_' . ++$files;
		my $client = {
			name => $name,
			out => new_file('out'),
			err => new_file('err'),
			lines_seen => 0
		};

		# IPC::Run opens the files when the client starts; the test may look
		# into them earlier.
		append_to_file($client->{out}, '');
		append_to_file($client->{err}, '');
		open $client->{handle}, '<', $client->{out}
		  or die "$client->{out}: $!";

		# When psql ends, so does yes, by SIGPIPE.
		$client->{run} = IPC::Run::start(
			[ 'yes', $params{sql} ],
			'<',
			'/dev/null',
			'2>',
			'/dev/null',
			'|',
			[
				'psql', '-X', '-A', '-t', '-q', '-v', 'VERBOSITY=verbose',
				'-d', $node->connstr($dbname) . " application_name='$name'"
			],
			'>',
			$client->{out},
			'2>',
			$client->{err});
		push @clients, $client;
	}
	return @clients;
}

=pod

=item minting_sql(@shards)

What a client may do all the time: mint a few ids of each of the shards.  Each
comes with a number drawn before and one drawn after it from the sequence
C<ticket>, which must exist, so that first_misordered() can tell which of two
ids was handed out earlier, whatever the clocks say.

=cut

sub minting_sql
{
	my (@shards) = @_;

	return join ' ', map {
			"SELECT nextval('ticket'), flake_id($_), nextval('ticket')"
		  . " FROM generate_series(1, 5);"
	} @shards;
}

# Whether the client is still there.
sub is_running
{
	my ($client) = @_;

	return $client->{run}->pumpable;
}

# Counts the lines that the client has written so far.
sub count_lines
{
	my ($client) = @_;

	while (sysread $client->{handle}, my $buffer, 65536)
	{
		$client->{lines_seen} += ($buffer =~ tr/\n//);
	}
	return $client->{lines_seen};
}

=pod

=item wait_for_more($client, $number)

Waits until the client has written so many lines more than now.

=cut

sub wait_for_more
{
	my ($client, $number) = @_;
	my $target = count_lines($client) + $number;

	wait_until(
		sub {
			return 1 if count_lines($client) >= $target;
			die "$client->{name} ended: " . slurp_file($client->{err})
			  unless is_running($client);
			return 0;
		},
		"$client->{name} has $number ids more");
	return;
}

=pod

=item stop_clients($node, @clients)

Ends the clients' sessions, and waits until they are gone.

=cut

sub stop_clients
{
	my ($node, @clients) = @_;
	my $names = join ', ', map { "'$_->{name}'" } @clients;

	# Again and again: a client may not have connected yet.
	wait_until(
		sub {
			return 1 unless grep { is_running($_) } @clients;
			$node->safe_psql('postgres',
					'SELECT pg_terminate_backend(pid) FROM pg_stat_activity'
				  . " WHERE application_name IN ($names)");
			return 0;
		},
		'clients have ended');
	finish_clients(@clients);
	return;
}

=pod

=item finish_clients(@clients)

Waits until the clients are gone, because the server is.

=cut

sub finish_clients
{
	my (@clients) = @_;

	foreach my $client (@clients)
	{
		wait_until(sub { !is_running($client) }, "$client->{name} has ended");
		$client->{run}->finish;
		close $client->{handle};
	}
	return;
}

=pod

=back

=head2 What they were given

=over

=item records($client)

A reference to the list of what the client received, in that order: a
reference to the list of the columns of each row.

=cut

sub records
{
	my ($client) = @_;
	my $contents = slurp_file($client->{out});

	# A line without an end was being written when the client was killed.
	$contents =~ s/[^\n]*\z//;
	return [ map { [ split /\|/, $_ ] } split /\n/, $contents ];
}

=pod

=item ids($client)

A reference to the list of ids that the client received, in that order: the
second column of rows that have three, as those of minting_sql(), or else the
first.

=cut

sub ids
{
	my ($client) = @_;

	return [ map { @$_ == 3 ? $_->[1] : $_->[0] } @{ records($client) } ];
}

=pod

=item errors($client)

The list of the error messages that the client received, each beginning with
its SQLSTATE: "53400: the clock is ...".

=cut

sub errors
{
	my ($client) = @_;

	my @errors = slurp_file($client->{err}) =~ /^(?:ERROR|FATAL):  (.*)$/mg;

	# An array, for a caller that wants only the number.
	return @errors;
}

=pod

=item shard_of($id)

The shard in an id of the default layout.

=cut

sub shard_of
{
	my ($id) = @_;

	return ($id >> 10) & 0x1fff;
}

=pod

=item first_duplicate(@lists)

An id that occurs more than once in the lists that are referred to, or undef.

=cut

sub first_duplicate
{
	my %seen;

	foreach my $list (@_)
	{
		foreach my $id (@$list)
		{
			return $id if $seen{$id}++;
		}
	}
	return undef;
}

=pod

=item first_decrease($list)

For a list of ids in the order in which they were received: undef if each is
greater than the one before it of the same shard, else what is wrong.

=cut

sub first_decrease
{
	my ($list) = @_;
	my %last;

	foreach my $id (@$list)
	{
		my $shard = shard_of($id);

		return "$id after $last{$shard}"
		  if defined $last{$shard} && $id <= $last{$shard};
		$last{$shard} = $id;
	}
	return undef;
}

=pod

=item first_misordered(@lists)

For the records() of all clients that ran minting_sql(): undef if no id of a
shard was handed out after a greater or equal one, else what is wrong.

=cut

sub first_misordered
{
	my %latest;

	# Going up through the ids of a shard, nothing may have been finished
	# before something with a smaller id was begun.
	foreach my $record (sort { $a->[1] <=> $b->[1] } map { @$_ } @_)
	{
		my ($before, $id, $after) = @$record;
		my $latest = $latest{ shard_of($id) };

		return "$id (tickets $before to $after) handed out before"
		  . " $latest->[1] (tickets $latest->[0] to $latest->[2])"
		  if defined $latest && $latest->[0] > $after;
		$latest{ shard_of($id) } = $record
		  if !defined $latest || $before > $latest->[0];
	}
	return undef;
}

=pod

=item first_descent($list)

For what should strictly increase as a whole, such as the ids of one shard in
any layout: undef if it does, else what is wrong.

=cut

sub first_descent
{
	my ($list) = @_;

	foreach my $i (1 .. $#$list)
	{
		return "$list->[$i] after $list->[$i - 1]"
		  if $list->[$i] <= $list->[ $i - 1 ];
	}
	return undef;
}

=pod

=back

=head2 One session, statement by statement

=over

=item new_session($node, $dbname)

Connects (to "postgres" by default) and returns the session.

=cut

sub new_session
{
	my ($node, $dbname) = @_;
	my $session = {
		in => '',
		out => '',
		err => '',
		timer => IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default)
	};

	$session->{run} = IPC::Run::start(
		[
			'psql', '-X', '-A', '-t', '-q', '-v', 'VERBOSITY=verbose',
			'-d', $node->connstr($dbname || 'postgres')
		],
		'<',
		\$session->{in},
		'>',
		\$session->{out},
		'2>',
		\$session->{err},
		$session->{timer});
	return $session;
}

=pod

=item ask($session, $sql)

Runs the statements and returns what psql wrote to standard output and to
standard error: "ERROR:  53400: ...".

=cut

sub ask
{
	my ($session, $sql) = @_;

	send_query($session, $sql);
	return get_answer($session);
}

=pod

=item error_code($stdout, $stderr)

The SQLSTATE of the first error in what ask() returned, or else all of that,
for a test to show.

=cut

sub error_code
{
	my ($stdout, $stderr) = @_;

	return $stderr =~ /\bERROR:  (\w{5}):/ ? $1 : "none, but: $stdout$stderr";
}

=pod

=item value($session, $sql), code($session, $sql)

What the session gets for SQL that must not fail: if it does, the test dies. And
the SQLSTATE for SQL that must.

=cut

sub value
{
	my ($session, $sql) = @_;
	my ($stdout, $stderr) = ask($session, $sql);

	die "$sql: $stderr" if $stderr ne '';
	return $stdout;
}

sub code
{
	return error_code(ask(@_));
}

=pod

=item send_query($session, $sql), get_answer($session)

The two halves of ask(), to do something else while the server is at work.

=cut

sub send_query
{
	my ($session, $sql) = @_;

	$session->{out} = $session->{err} = '';
	$session->{in} .= "$sql\n;\n\\echo =done=\n\\warn =done=\n";
	# Not pump(), which would wait for output.
	$session->{timer}->start;
	$session->{run}->pump_nb while length $session->{in};
	return;
}

sub get_answer
{
	my ($session) = @_;

	$session->{timer}->start;
	$session->{run}->pump
	  until $session->{out} =~ /^=done=\n/m
	  && $session->{err} =~ /^=done=\n/m;

	my ($out, $err) =
	  map { s/^=done=\n//mr } $session->{out}, $session->{err};
	chomp $out;
	return ($out, $err);
}

=pod

=item end_session($session)

Disconnects.

=cut

sub end_session
{
	my ($session) = @_;

	$session->{in} .= "\\q\n";
	$session->{run}->finish;
	return;
}

=pod

=back

=head2 Crashes

=over

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

=back

=cut

1;
