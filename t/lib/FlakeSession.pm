# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeSession - one session, statement by statement

=head1 SYNOPSIS

  my $session = new_session($node);
  my $id = value($session, 'SELECT flake_id(5)');
  my ($stdout, $stderr) = ask($session, 'SELECT flake_id(-1)');
  is(error_code($stdout, $stderr), '22003', 'no such shard');
  end_session($session);

=cut

package FlakeSession;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use PostgreSQL::Test::Utils;

our @EXPORT = qw(
  new_session
  new_sessions
  ask
  error_code
  value
  code
  send_query
  get_answer
  end_session
  ask_once
);

=pod

=head1 FUNCTIONS

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

=item new_sessions($node, $number, $dbname)

The list of that many.

=cut

sub new_sessions
{
	my ($node, $number, $dbname) = @_;

	return map { new_session($node, $dbname) } 1 .. $number;
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

What the session gets for SQL that must not fail: if it does, the test dies.  And
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

=item end_session(@sessions)

Disconnects them.

=cut

sub end_session
{
	foreach my $session (@_)
	{
		$session->{in} .= "\\q\n";
		$session->{run}->finish;
	}
	return;
}

=pod

=item ask_once($node, $sql, $dbname)

Runs the statements in a session of their own, up to the first error, and
returns what ask() does.

=cut

sub ask_once
{
	my ($node, $sql, $dbname) = @_;
	my (undef, $stdout, $stderr) = $node->psql($dbname || 'postgres', $sql,
		extra_params => [ '--set=VERBOSITY=verbose' ]);

	return ($stdout, $stderr);
}

=pod

=back

=cut

1;
