# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeWire - a session that sees each row at the moment it comes in

=head1 SYNOPSIS

  use FlakeWire;

  my $wire = FlakeWire->connect($node->host, $node->port, 'postgres', 'me');
  my $answer = $wire->request('BEGIN; SELECT flake_id(5); ROLLBACK');

  # to do something else while the server is at work
  $wire->send('SELECT flake_detach(5)');
  my $later = $wire->get_answer;

=head1 DESCRIPTION

psql prints a result when it is complete.  For t/torture.pl an id counts
from the moment at which the client has it, be the transaction undone
later or the server killed before the result ends.  So this speaks PostgreSQL's
protocol itself (version 3.0, over a unix socket without a
password; see "Frontend/Backend Protocol" in PostgreSQL's documentation), and
notes when each row arrived.

=cut

package FlakeWire;

use strict;
use warnings;

use IO::Socket::UNIX;
use Time::HiRes qw(clock_gettime CLOCK_MONOTONIC CLOCK_REALTIME);

=pod

=head1 METHODS

=over

=item FlakeWire->connect($host, $port, $dbname, $user, $keep_waiting)

Returns the session, or undef if there is none to be had, and then, in list
context, also what the server said, as in request().  $keep_waiting is
called with the session every now and then while the server is silent, then and
later; as soon as it returns false the session is given up.

=cut

sub connect
{
	my ($class, $host, $port, $dbname, $user, $keep_waiting) = @_;
	my $socket = IO::Socket::UNIX->new(Peer => "$host/.s.PGSQL.$port")
	  or return undef;
	my $self = bless {
		socket       => $socket,
		input        => '',
		sent         => clock_gettime(CLOCK_MONOTONIC),
		keep_waiting => $keep_waiting
		  || sub { 1 }
	  },
	  $class;
	my $startup = pack('N', 196608)
	  . join("\0", user => $user, database => $dbname, '', '');
	my $answer;

	syswrite $socket, pack('N', 4 + length $startup) . $startup;
	$answer = $self->get_answer;
	$self->{pid} = $answer->{pid};
	return $self if $answer->{status} eq 'I';
	return wantarray ? (undef, $answer) : undef;
}

=pod

=item $wire->request($sql)

Sends the statements and waits until they are done or the server is gone.
Returns a reference to a hash:

  sent     when they were sent, in seconds of CLOCK_MONOTONIC
  rows     list of rows; of each, column 0 is the list of its values,
           1 and 2 are when it was received (CLOCK_MONOTONIC, CLOCK_REALTIME)
  code     SQLSTATE of the error, if there was one
  message  its message
  detail, hint
           if it has them
  warnings list of warnings
  status   I: no transaction is open, T: one is, E: one is that has failed,
           empty: the connection is lost
  received when that was clear

Rows of COPY ... TO STDOUT count as rows, too.

=cut

sub request
{
	my ($self, $sql) = @_;
	my $sent = clock_gettime(CLOCK_MONOTONIC);
	my $answer;

	$self->send($sql);
	$answer = $self->get_answer;
	$answer->{sent} = $sent;
	return $answer;
}

=pod

=item $wire->send($sql), $wire->is_answering, $wire->get_answer

The two halves of request(), without "sent"; and in between, whether the server
has begun to answer, which it does only at the end of what is short.

=item $wire->send_bound(@sql)

Sends statements in the extended protocol, as one transaction: each but the last is
parsed and bound, and so planned, but not executed.

=item $wire->pid, $wire->close

The number of the server's process; and the end of the session.

=item $wire->age

For how long the server has been at the present request, in seconds.

=cut

sub send
{
	my ($self, $sql) = @_;

	$self->{sent} = clock_gettime(CLOCK_MONOTONIC);
	syswrite $self->{socket}, 'Q' . pack('N', 5 + length $sql) . "$sql\0";
	return;
}

sub send_bound
{
	my ($self, @sql) = @_;
	my @messages = map { ([ P => "\0$_\0\0\0" ], [ B => "\0" x 8 ]) } @sql;

	$self->{sent} = clock_gettime(CLOCK_MONOTONIC);
	syswrite $self->{socket}, join '',
	  map { $_->[0] . pack('N', 4 + length $_->[1]) . $_->[1] }
	  (@messages, [ E => "\0" x 5 ], [ S => '' ]);
	return;
}

sub is_answering
{
	my ($self) = @_;
	my $ready = '';

	vec($ready, fileno $self->{socket}, 1) = 1;
	return select($ready, undef, undef, 0) > 0;
}

sub pid
{
	my ($self) = @_;

	return $self->{pid};
}

sub age
{
	my ($self) = @_;

	return clock_gettime(CLOCK_MONOTONIC) - $self->{sent};
}

sub close
{
	my ($self) = @_;

	syswrite $self->{socket}, 'X' . pack('N', 4);
	CORE::close $self->{socket};
	return;
}

sub get_answer
{
	my ($self) = @_;
	my %answer = (rows => [], warnings => [], status => '');

	while ($answer{status} eq '' && $self->fill)
	{
		my @times =
		  (clock_gettime(CLOCK_MONOTONIC), clock_gettime(CLOCK_REALTIME));

		while (length $self->{input} >= 5)
		{
			my ($type, $length) = unpack 'aN', $self->{input};

			last if length $self->{input} < 1 + $length;
			my $body = substr $self->{input}, 5, $length - 4;
			substr $self->{input}, 0, 1 + $length, '';
			take_message(\%answer, $type, $body, @times);
		}
	}
	$answer{received} = clock_gettime(CLOCK_MONOTONIC);
	return \%answer;
}

# Waits for more of the server's output.  False if there will be none.
sub fill
{
	my ($self) = @_;

	while ($self->{keep_waiting}->($self))
	{
		my $ready = '';

		vec($ready, fileno $self->{socket}, 1) = 1;
		next if select($ready, undef, undef, 0.2) <= 0;
		return sysread $self->{socket}, $self->{input}, 65536,
		  length $self->{input};
	}
	return 0;
}

sub take_message
{
	my ($answer, $type, $body, @times) = @_;

	if ($type eq 'D')    # DataRow
	{
		my ($columns, $rest) = unpack 'n a*', $body;
		my @values;

		foreach (1 .. $columns)
		{
			(my $length, $rest) = unpack 'N a*', $rest;
			push @values, $length == 0xffffffff ? undef : substr $rest, 0,
			  $length, '';
		}
		push @{ $answer->{rows} }, [ \@values, @times ];
	}
	elsif ($type eq 'd')    # CopyData, one row in text format
	{
		chomp $body;
		push @{ $answer->{rows} }, [ [ split /\t/, $body ], @times ];
	}
	elsif ($type eq 'E' || $type eq 'N')    # ErrorResponse, NoticeResponse
	{
		my %fields = map { /^(.)(.*)/s } split /\0/, $body;

		if ($type eq 'E')
		{
			@$answer{qw(code message detail hint)} = @fields{qw(C M D H)};
		}
		elsif ($fields{V} eq 'WARNING')
		{
			push @{ $answer->{warnings} }, $fields{M};
		}
	}
	elsif ($type eq 'K')    # BackendKeyData
	{
		$answer->{pid} = unpack 'N', $body;
	}
	elsif ($type eq 'Z')    # ReadyForQuery
	{
		$answer->{status} = $body;
	}
	elsif ($type eq 'R' && unpack('N', $body) != 0)
	{
		die 'the server wants a password';
	}
	return;
}

=pod

=back

=cut

1;
