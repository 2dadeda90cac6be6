# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeMove - runs flakeid-move-shard, in the foreground or in the background

=cut

package FlakeMove;

use strict;
use warnings;

use Exporter 'import';
use IPC::Run;
use POSIX ();
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  $printed
  run_program
  moves
  refuses
  start_program
  wait_for_output
  finish_program
  kill_program
  wait_until_program_waits
  leftovers
);

our $printed;

my $program = 'flakeid-move-shard';

=pod

=head1 FUNCTIONS

=over

=item run_program(@options)

Runs the program: true if it succeeds.  What it has printed is in $printed.

=cut

sub run_program
{
	my (@options) = @_;

	$printed = '';
	return IPC::Run::run([ $program, @options ],
		'<', \'', '>&', \$printed,
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
}

=item moves($name, @options)

Tests that it succeeds.

=cut

sub moves
{
	my ($name, @options) = @_;

	ok(run_program(@options), $name) or diag $printed;
	return;
}

=item refuses($name, $message, @options)

Tests that it does not, and prints something that matches.

=cut

sub refuses
{
	my ($name, $message, @options) = @_;

	ok(!run_program(@options), "$name: refused");
	like($printed, $message, "$name: the message says why");
	return;
}

=item start_program(@options)

The program in the background, in a process group of its own: {pid}, {out}.

=cut

sub start_program
{
	my (@options) = @_;
	my $run = { out => '' };
	my $pid = open $run->{handle}, '-|';

	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		setpgrp;
		# under nohup it would ignore them
		$SIG{$_} = 'DEFAULT' foreach qw(HUP INT TERM);
		open STDIN, '<', '/dev/null'       or POSIX::_exit(1);
		open STDERR, '>&', \*STDOUT        or POSIX::_exit(1);
		exec {$program} $program, @options or POSIX::_exit(1);
	}
	$run->{pid} = $pid;
	return $run;
}

=item wait_for_output($run, $pattern)

Reads what it prints until that matches; false if it ends before.

=cut

sub wait_for_output
{
	my ($run, $pattern) = @_;
	my $deadline = time + $PostgreSQL::Test::Utils::timeout_default;

	until ($run->{out} =~ $pattern)
	{
		my $ready = '';

		vec($ready, fileno($run->{handle}), 1) = 1;
		die
		  "timed out waiting until it prints $pattern, it prints $run->{out}"
		  if time > $deadline;
		next unless select $ready, undef, undef, 1;
		sysread $run->{handle}, $run->{out}, 4096, length $run->{out}
		  or return 0;
	}
	return 1;
}

=item finish_program($run)

Waits for its end: true if it has succeeded.  What it has printed is in $printed.

=cut

sub finish_program
{
	my ($run) = @_;

	wait_for_output($run, qr/(?!)/);
	$printed = $run->{out};
	return close $run->{handle};
}

=item kill_program($run, $how)

Kills it, with the processes that it has started, or it 'alone'.  Returns the
last step that it printed.

=cut

sub kill_program
{
	my ($run, $how) = @_;

	kill 'KILL', $how eq 'alone' ? $run->{pid} : -$run->{pid};
	sysread $run->{handle}, $run->{out}, 4096, length $run->{out};
	close $run->{handle};
	return ($run->{out} =~ /^step (\d+) of/mg)[-1];
}

=pod

=item wait_until_program_waits($node, $query, $event)

Waits until the program waits for that server, in a query with such a text.  The
wait event must be like $event, or that of any lock if that is left out.

=cut

sub wait_until_program_waits
{
	my ($node, $query, $event) = @_;
	my $waits =
	  defined $event ? "wait_event LIKE '$event'" : q(wait_event_type = 'Lock');

	$node->poll_query_until('postgres',
		q(SELECT count(*) = 1 FROM pg_stat_activity WHERE application_name = 'flakeid-move-shard')
		  . " AND query LIKE '%$query%' AND $waits")
	  or die "the program does not wait in $query";
	return;
}

=item leftovers(@nodes)

The names of what the program makes on servers for the time of a move: slots,
publications and subscriptions.  An empty text if there are none.

=cut

sub leftovers
{
	return join '', map {
		$_->safe_psql('postgres',
				'SELECT slot_name FROM pg_replication_slots UNION ALL'
			  . ' SELECT pubname FROM pg_publication UNION ALL'
			  . ' SELECT subname FROM pg_subscription')
	} @_;
}

=pod

=back

=cut

1;
