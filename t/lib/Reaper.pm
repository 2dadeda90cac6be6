# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

Reaper - the rest of the program has a parent that waits for orphans

=head1 SYNOPSIS

  use Reaper;        # before everything else

=head1 DESCRIPTION

The children of a killed process become those of process 1, which should wait
for them.  In some containers it does not, and a program that asks whether a
process is still there, as Patroni does, is told yes for ever.  So the program
goes on in a child.  The parent, a "child subreaper" (see prctl(2)), waits for
whatever comes to it, and ends as the child does.

=cut

package Reaper;

use strict;
use warnings;

use POSIX ();

use constant PR_SET_CHILD_SUBREAPER => 36;

sub import
{
	# Perl's own list of system calls, which is not everywhere.
	my $prctl = eval { package main; require 'syscall.ph'; SYS_prctl() };
	return
	  unless defined $prctl
	  && syscall($prctl, PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0;

	my $child = fork;
	die "fork: $!" unless defined $child;
	return if $child == 0;

	foreach my $signal ('INT', 'TERM', 'HUP')
	{
		$SIG{$signal} = sub { kill $signal, $child };
	}
	while (1)
	{
		my $pid = waitpid -1, 0;
		POSIX::_exit($? & 127 ? 255 : $? >> 8) if $pid == $child;
	}
}

1;
