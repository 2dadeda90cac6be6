# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeClients - sessions that mint in the background, and a look at the ids that
they were given

=head1 SYNOPSIS

  # eight sessions that mint until they are stopped
  my @clients = start_clients($node, count => 8, sql => minting_sql(1, 2));
  wait_for_more($_, 100) foreach @clients;
  stop_clients($node, @clients);

  is(first_duplicate(map { ids($_) } @clients), undef, 'no id repeats');
  is(first_misordered(map { records($_) } @clients), undef, 'in order');
  is(first_decrease(ids($_)), undef, 'a session counts up') foreach @clients;

=cut

package FlakeClients;

use strict;
use warnings;

use Exporter 'import';
use FlakeServer;
use IPC::Run;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(
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
);

my $clients = 0;
my $directory;

=pod

=head1 FUNCTIONS

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

	$directory = PostgreSQL::Test::Utils::tempdir('flake')
	  unless defined $directory;
	foreach my $i (1 .. $params{count} || 1)
	{
		my $name = 'flake_client_' . ++$clients;
		my $client = {
			name => $name,
			out => "$directory/$name.out",
			err => "$directory/$name.err",
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

=cut

1;
