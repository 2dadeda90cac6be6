# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

TortureFaults - for t/torture.pl and t/torture_ranges.pl: what is done to the
servers, by chance

=head1 SYNOPSIS

  use TortureFaults;

  make_faults($seconds, $seed, [ clock => 8 ], [ mine => 3, \&my_fault ]);
  note fault_counts();
  undo_faults();

=head1 DESCRIPTION

A fault is a function that takes four numbers from 0 to 1, which decide what it does,
and returns false if it could not be done, because of the one before, say.  It leaves
the primary so that it answers.

=cut

package TortureFaults;

use strict;
use warnings;

use Exporter 'import';
use FlakeServer;
use FlakeWire;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep clock_gettime CLOCK_MONOTONIC);
use TortureClient;
use TortureServers;

our @EXPORT = qw(
  %complete
  %fences
  %advances
  %rewinds
  make_faults
  undo_faults
  fault_counts
  fault_total
);

=pod

=head1 VARIABLES

For check_ids(), which has them in detail: %complete, the terms that ended with nothing
lost; and what was done to shards and generators, in %fences, %advances, %rewinds.

=cut

our (%complete, %fences, %advances, %rewinds);

# How many clients there are, of which faults pick one.
my $sessions = 12;

my %detached;    # "generator/shard" => "yes" or "maybe"
my (%done, %failed);

# Generators that have bounds: of bigints, and not of processes outside.
sub bounded_generators
{
	return grep { !$generators{$_}{unbounded} } sort keys %generators;
}

# The name of a generator's sequence.
sub regclass_of
{
	my ($generator) = @_;

	return $generators{$generator}{regclass} // $generator;
}

# While the server is down or about to be.
sub maybe_step_back
{
	my ($whether, $how_far) = @_;

	step_clock($primary, $server{$primary}{offset} - 1 - 9 * $how_far)
	  if $whether < 0.5;
	return;
}

# A setting of both servers.
sub set_on_both
{
	my ($name, $value) = @_;

	foreach my $node (map { $server{$_}{node} } $primary, $standby)
	{
		$node->append_conf('postgresql.conf', "$name = '$value'");
		$node->reload;
	}
	return;
}

sub wait_for_setting
{
	my ($name, $value) = @_;

	wait_until(
		sub {
			my $answer = ask_primary("SELECT current_setting('$name', true)");
			return succeeded($answer)
			  && ($answer->{rows}[0][0][0] // '') eq $value;
		},
		"$name is $value");
	return;
}

=pod

=head1 FAULTS

=over

=item clock

The clock of a server is set, from an hour back to a minute ahead.

=cut

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

=item max_ahead

Another flakeid.max_ahead.

=cut

sub max_ahead
{
	my ($which) = @_;

	set_on_both('flakeid.max_ahead',
		('15s', '15s', '2min', '2min', '2h')[ 5 * $which ]);
	return 1;
}

=item kill_process, kill_server, restart

kill -9 of a process of the server, which starts over then; of the whole server; and a
restart.  Meanwhile the clock may be set back.

=cut

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

	return if !succeeded($answer);

	# The controller's commits are those of client 0.
	open my $commits, '>>', "$directory/0.commits" or die "0.commits: $!";
	note_commit($commits, $answer, $term);
	close $commits or die "0.commits: $!";
	return;
}

=item promote

The standby takes over; the old primary is lost, and made a new standby.

=cut

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
	exchange_servers();
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

=item recreate

Drops a generator and creates another one of that name, which goes on above what the
dropped one has handed out.  Or does not, after all.

=cut

sub recreate
{
	my ($which, $outcome) = @_;
	my $name = ('brief', 'dense', 'snow')[ 3 * $which ];
	my $wire = connect_to_ask() or return 0;

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

=item detach_or_attach

A shard is detached, or attached if it is detached.

=cut

sub detach_or_attach
{
	my ($which) = @_;
	my @names = map {
		my $generator = $_;
		map { "$generator/$_" } @{ $generators{$generator}{shards} }
	} grep { !$generators{$_}{rewound} } bounded_generators();
	my $name = $names[ $which * @names ];

	return defined $detached{$name} ? attach($name) : detach($name);
}

sub detach
{
	my ($name) = @_;
	my ($generator, $shard) = split m{/}, $name;
	my $answer = ask_primary(
		"SELECT flake_detach($shard, '" . regclass_of($generator) . "')");

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
		ask_primary(
			"SELECT flake_attach($shard, generator => '"
			  . regclass_of($generator) . "')"));
	delete $detached{$name};
	return 1;
}

=item fill_disk

Fills the primary's file system until the server runs into it.

=cut

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

=item cancel_waiting

Sets the clock back so far that sessions must wait, and cancels those that do, but not
the last ones.

=cut

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

=item terminate

A session is ended.

=cut

sub terminate
{
	my ($which) = @_;

	return @{
		ask_primary(
'SELECT pg_terminate_backend(pid) FROM (SELECT pid FROM pg_stat_activity'
			  . " WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
			  . ' ORDER BY pid OFFSET '
			  . int($which * $sessions)
			  . ' LIMIT 1) AS s')->{rows}
	};
}

=item quiet

For some time nobody commits anything, so what is not flushed on purpose is not
flushed.

=cut

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

=item jump

The clock jumps years ahead, for a moment, while the server runs or while it is down.
That is no step for check_ids(): no id may have a time of it, so flakeid.max_jump
must have stopped all of them.

=cut

sub jump
{
	my ($when, $how_far, $how_long) = @_;
	my $server = $server{$primary};
	my $offset = $server->{offset};
	my $is_down = $when < 0.3;

	return 0 unless succeeded(ask_primary('SELECT 1'));
	kill9_and_wait($server->{node}) if $is_down && $when < 0.15;
	$server->{node}->stop('fast') if $is_down && $when >= 0.15;
	set_clock($server->{clock}, $offset + 86400 * (400 + 700 * $how_far));
	start_primary() if $is_down;
	usleep(300_000 + 700_000 * $how_long);

	# There is a row if somebody has tried to mint.
	my $answer = ask_primary('SELECT refusals FROM _flake_clock_guard()');
	set_clock($server->{clock}, $offset);
	return succeeded($answer) && @{ $answer->{rows} };
}

=item accept

The clock goes ahead by more than flakeid.max_jump, until somebody accepts it with
flake_accept_clock(), and stays there.  Until then only generators that are ahead
already may mint.

=cut

sub accept
{
	my ($how_far, $how_long) = @_;
	my $offset = $server{$primary}{offset} + 65 + 60 * $how_far;

	return 0 if $offset > 300;
	set_on_both('flakeid.max_jump', '1min');
	wait_for_setting('flakeid.max_jump', '1min');

	# It is compared with this one.
	ask_primary('SELECT flake_accept_clock()');
	step_clock($primary, $offset);
	usleep(300_000 + 300_000 * $how_long);
	my $guard = ask_primary('SELECT refusals FROM _flake_clock_guard()');
	my $answer = ask_primary('SELECT flake_accept_clock()');
	usleep(300_000);
	set_on_both('flakeid.max_jump', '1d');
	wait_for_setting('flakeid.max_jump', '1d');
	return succeeded($answer) && @{ $guard->{rows} };
}

=item advance

A generator is raised by flake_advance(), to less than a minute from now.

=cut

sub advance
{
	my ($which, $how_far) = @_;
	my @names = bounded_generators();
	my $name = $names[ $which * @names ];
	my $regclass = regclass_of($name);
	my $above = defined $generators{$name}{shift}
	  ? "flake_upper(clock_timestamp() + interval '"
	  . sprintf('%.3f', 10 * $how_far)
	  . " s', flake_layout_of('$regclass'))"
	  : "flake_horizon('$regclass') + " . int(1_000_000 * $how_far);
	my $answer = ask_primary("SELECT $above");

	return 0
	  unless succeeded($answer) && defined $answer->{rows}[0][0][0];
	$above = $answer->{rows}[0][0][0];
	$answer = ask_primary("SELECT flake_advance('$regclass', $above)");
	return 0 unless succeeded($answer);
	push @{ $advances{$name} }, [ $above, us($answer->{received}), $term ];
	return 1;
}

=item rewind

A generator that is there for that is set back by flake_rewind(): by force to where it
was some time ago, or without it to the greatest id in a row.  Generators of which
that is settled, or of which it is not known which ids are in rows, are refused.

=cut

sub rewind
{
	my ($which, $how_far, $whether) = @_;
	my @names =
	  grep { defined $generators{$_}{rewound} } sort keys %generators;
	my $name = $names[ $which * @names ];
	my $by_force = $generators{$name}{rewound} eq 'by force';
	my $below =
	   !$by_force ? "greatest(1, (SELECT max(id) FROM ${name}_row))"
	  : defined $generators{$name}{shift}
	  ? "flake_upper(clock_timestamp() - interval '"
	  . sprintf('%.3f', 10 * $how_far)
	  . " s', flake_layout_of('$name'))"
	  : "greatest(1, flake_horizon('$name') - "
	  . int(2_000_000 * $how_far) . ')';

	if ($whether < 0.1)
	{
		my $answer = ask_primary(
			q(SELECT flake_rewind('flake_default', flake_lower(clock_timestamp() - interval '1 min')))
		);
		fail('flake_rewind() refuses what is settled')
		  if succeeded($answer);
	}

	my $answer = ask_primary("SELECT $below");
	return 0
	  unless succeeded($answer) && defined $answer->{rows}[0][0][0];
	$below = $answer->{rows}[0][0][0];
	$answer =
	  ask_primary("SET lock_timeout = '3s'; SELECT flake_rewind('$name', $below, "
		  . ($by_force ? 'true' : 'false') . ')');

	# With no answer it may have been done.
	push @{ $rewinds{$name} },
	  [ $below, us($answer->{sent}), us($answer->{received}), $by_force ]
	  if defined $answer->{sent}
	  && (!defined $answer->{code} || $answer->{status} eq '');
	return !defined $answer->{code} && $answer->{status} eq 'I';
}

=back

=head1 FUNCTIONS

=over

=item make_faults($seconds, $seed, @faults)

Makes one fault after the other, for so long.  @faults has the name of each, and how
often it is to be there compared with others; and for one that is not of this module
the function.  The same seed gives the same faults; how many of them there is
time for, and what the sessions are doing when one comes, is up to the machine.

=cut

sub make_faults
{
	my ($seconds, $seed, @faults) = @_;
	my @draw = map { my $fault = $_; map { $fault } 1 .. $fault->[1] } @faults;

	# All that chance decides about the faults, before anybody else draws from it.
	srand $seed;
	my @dice = map {
		[ map { rand } 1 .. 5 ]
	} 1 .. 10 * $seconds + 10;
	srand;

	my $deadline = clock_gettime(CLOCK_MONOTONIC) + $seconds;
	foreach my $dice (@dice)
	{
		my ($which, @rest) = @$dice;
		my ($name, undef, $code) = @{ $draw[ $which * @draw ] };

		$code //= __PACKAGE__->can($name);
		usleep(100_000 + 600_000 * $rest[3]);
		last if clock_gettime(CLOCK_MONOTONIC) > $deadline;
		print "# $name @rest\n";
		if   ($code->(@rest)) { $done{$name}++ }
		else                  { $failed{$name}++ }
	}
	return;
}

=pod

=item undo_faults()

The clock is right again, every shard may be minted, and ids may be as far ahead as
they can have come.

=cut

sub undo_faults
{
	max_ahead(1 - 1e-9);
	step_clock($primary, 0);
	unlink "$directory/quiet";
	wait_for_setting('flakeid.max_ahead', '2h');
	is_deeply([ grep { !attach($_) } sort keys %detached ],
		[], 'all shards can be attached');
	return;
}

=pod

=item fault_counts(), fault_total()

A table with a line for each kind, and how many there were.

=cut

sub fault_counts
{
	return join '', map {
		sprintf "%-18s %6d%s\n", $_, $done{$_} || 0,
		  $failed{$_} ? "  and in vain $failed{$_}" : ''
	} sort keys %{ { %done, %failed } };
}

sub fault_total
{
	my $total = 0;

	$total += $_ foreach values %done;
	return $total;
}

=pod

=back

=cut

1;
