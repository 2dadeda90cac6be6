# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

TortureRun - for t/torture.pl and t/torture_ranges.pl: the course of the test

=head1 SYNOPSIS

  use TortureRun;

  run_torture(
      seconds => 35,
      faults  => [ [ clock => 8 ], [ restart => 4 ] ],
      least   => 10);

=head1 DESCRIPTION

There are a primary and a synchronous standby (TortureServers), sessions that mint in
many ways and note what they are given (TortureClient), sessions that read on up to
flake_settled() (TailClient), and one random fault after the other (TortureFaults).
In the end the promises are checked over all ids of all sessions (TortureCheck).

=cut

package TortureRun;

use strict;
use warnings;

use TortureServers;
use Exporter 'import';
use FlakeClients;
use FlakeServer;
use POSIX ();
use PostgreSQL::Test::Utils;
use TailClient;
use Test::More;
use TortureCheck;
use TortureClient;
use TortureFaults;

our @EXPORT = qw(run_torture);

my $client_count = 12;
my @readers = ('one', 'tail', map { "any $_" } 1 .. 3);

# Errors are to be those that such faults lead to.
my %expected = (
	53400 =>
	  qr/^the clock is N s behind|^cannot claim|^the clock has jumped ahead by|^the clock is N days ahead of what/,
	55000 => qr/^shard N is detached$/,
	'42P01' => qr/^generator with OID N does not exist$/,
	57014 => qr/due to user request/,
	'57P01' => qr/./,
	'57P02' => qr/./,
	'57P03' => qr/./,
	53100 => qr/No space left on device|^could not extend file .*: wrote only/,

	# of a new session, when the disk is full
	XX000 => qr/^could not write init file$/);

=pod

=head1 FUNCTIONS

=over

=item run_torture(%options)

All of it, with these options:

  seconds   how long there are faults, if TORTURE_SECONDS does not say it
  faults    for make_faults()
  least     how many ids there must be in a second
  choose    for run_client(); if left out, choose_requests()
  sql       what else to set up
  begin     if there is one, called when the clients have been started
  end       if there is one, called before they end
  table     true for a table of the ids by generator

=back

=cut

sub run_torture
{
	my (%options) = @_;
	my $seconds = torture_setting('TORTURE_SECONDS', $options{seconds});
	my $seed = torture_setting('TORTURE_SEED', 1 + int(rand 999_999_999));

	diag "make torture SECONDS=$seconds SEED=$seed";
	set_up($options{sql} // '');

	# Clients notice that their parent is gone, and at the end of the program
	# the servers are stopped.
	local @SIG{ 'INT', 'TERM', 'HUP' } =
	  (sub { die "stopped by a signal\n" }) x 3;

	my @clients = map { start_client($_, $seed, $options{choose}) }
	  1 .. $client_count;
	my @reader_pids = map { start_reader($directory, $_) } @readers;
	push @reader_pids, start_poller($directory, 'bounds');
	$options{begin}->() if $options{begin};

	make_faults($seconds, $seed, @{ $options{faults} });

	# The clients end, the clock is right again, and every shard mints.
	$options{end}->() if $options{end};
	is(stop_processes(@clients), $client_count,
		'the clients have run to the end');
	undo_faults();
	mint_everywhere();
	my $rows = rest_of_rows(@reader_pids);
	stop_servers();

	my $count = check_all_ids($options{table});
	check_readers($rows);
	cmp_ok($count->{ids}, '>', $options{least} * $seconds, 'ids enough');
	check_errors($directory, "$client_count clients", \%expected);
	check_logs();
	return;
}

sub set_up
{
	my ($sql) = @_;

	start_servers(
		q(
CREATE EXTENSION flakeid;
CREATE TABLE item (generator text, id bigint, PRIMARY KEY (generator, id));
CREATE TABLE item_by_default (id bigint PRIMARY KEY DEFAULT flake_id(1));
CREATE VIEW event AS SELECT id FROM item WHERE generator = 'flake_default'
	UNION ALL SELECT id FROM item_by_default;
)
		  . $read_in_loop
		  . join('',
			map { "SELECT flake_create_generator('$_', '$generators{$_}{layout}');" }
			  grep { $_ ne 'flake_default' && defined $generators{$_}{layout} }
			  sort keys %generators)
		  . $sql);
	return;
}

sub start_client
{
	my ($client, $seed, $choose) = @_;
	my $pid = fork;

	die "fork: $!" unless defined $pid;
	return $pid if $pid != 0;
	my $ok = eval {
		run_client($directory, $client, $user, $seed, choose => $choose);
		1;
	};

	print STDERR "client $client: $@" unless $ok;
	POSIX::_exit($ok ? 0 : 1);
}

# The controller's own ids are those of client 0.
sub mint_everywhere
{
	my $request = 0;

	open my $ids, '>', "$directory/0.ids" or die "0.ids: $!";
	foreach my $generator (sort keys %generators)
	{
		foreach my $shard (@{ $generators{$generator}{shards} })
		{
			my $answer = ask_primary('SELECT ' . columns($generator, $shard));

			note_ids($ids, $answer, $term, 0, ++$request, 1);
			ok(succeeded($answer),
				"$generator, shard $shard, mints in the end")
			  or diag explain $answer;
		}
	}
	close $ids or die "0.ids: $!";
	return;
}

# Waits until the readers have read all rows, which it returns, and ends them.
sub rest_of_rows
{
	my (@pids) = @_;

	# A client may have ended before its last statement.
	wait_until(
		sub {
			my $answer = ask_primary(
				q(SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend'
				AND pid <> pg_backend_pid() AND application_name !~ '^(reader|poller) ')
			);
			return succeeded($answer) && !@{ $answer->{rows} };
		},
		'the clients have left the server');

	# What is ahead of the clock is settled, too, when the generator is
	# advanced.
	my $greatest =
	  primary_node()->safe_psql('postgres', 'SELECT max(id) FROM event');
	primary_node()->safe_psql('postgres',
		"SELECT flake_advance('flake_default', $greatest)");
	wait_for_readers($directory, $greatest, @readers);
	my @rows =
	  split /\n/,
	  primary_node()
	  ->safe_psql('postgres', 'SELECT id FROM event ORDER BY id');
	is(stop_processes(@pids), @pids, 'the readers have run to the end');
	return \@rows;
}

sub check_all_ids
{
	my ($with_table) = @_;
	my ($count, $wrong) = check_ids(
		$directory,
		covered_until => covered_until($directory, \%complete),
		last_term => $term,
		steps => \%steps,
		fences => \%fences,
		advances => \%advances,
		rewinds => \%rewinds);

	note "$count->{ids} ids, $count->{void} of them lost in failovers,"
	  . " $count->{at_limit} within 50 ms of flakeid.max_ahead";
	note fault_total() . " faults:\n" . fault_counts();
	print_table($count) if $with_table;

	is($count->{duplicates}, 0, 'no id is handed out twice');
	is($count->{misordered}, 0,
		'the ids of a shard go up in the order of handing out');
	is($count->{ahead}, 0, 'no id is further ahead than flakeid.max_ahead');
	is($count->{fenced}, 0, 'each id is on the right side of each bound');
	is($count->{miscounted}, 0,
		'each range has as many ids of its shard as were asked for');
	is($count->{advanced}, 0, 'each id is above what was advanced to');
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
	return $count;
}

sub print_table
{
	my ($count) = @_;
	my $by = $count->{by};
	my ($ids, $ranges) = (0, 0);
	my $table = sprintf "%-14s %14s %8s  %s\n", 'generator', 'ids', 'ranges',
	  'layout';

	foreach my $generator (sort keys %$by)
	{
		$table .= sprintf "%-14s %14d %8d  %s\n", $generator,
		  $by->{$generator}{ids},
		  $by->{$generator}{ranges} || 0,
		  $generators{$generator}{layout} // $generators{$generator}{what};
	}
	$table .= sprintf "%-14s %14d %8d", 'all', $count->{ids},
	  $count->{ranges};
	note $table;
	note "$count->{again} requests got ids again above what flake_rewind() had set back,"
	  . " $count->{unclear} ids were handed out while it was at work";
	note 'twice: ' . ($count->{duplicates} || 'none');
	return;
}

# More may have been read than there is: what a session had committed that was ended
# while it waited for the standby.
sub check_readers
{
	my ($rows) = @_;

	foreach my $name (@readers)
	{
		my $read = read_ids($directory, $name);
		my %is_read = map { $_ => 1 } @$read;

		my @lost = grep { !$is_read{$_} } @$rows;

		is(scalar @lost, 0, "reader $name has lost no row of " . @$rows)
		  or diag join "\n", "it has read up to $read->[-1], and lost @lost; these reads went past:",
		  reads_over($directory, $name, @lost);
		is(first_descent($read), undef,
			"and has read each once, in order");
	}
	my @polls = polls($directory, 'bounds');
	is_deeply([ grep { $polls[$_][0] < $polls[ $_ - 1 ][0] } 1 .. $#polls ],
		[], 'what is settled stays so');
	return;
}

# No crash but those that were asked for.
sub check_logs
{
	foreach my $name ($primary, $standby)
	{
		my @lines = grep {
				 /PANIC:/ && !/No space left on device/
			  || /TRAP:|was terminated by signal (?!9\b|6\b)|invalid (?:page|memory)/
		} split /\n/, slurp_file($server{$name}{node}->logfile);

		is_deeply(\@lines, [],
			"no crash of server $name but those asked for");
	}
	return;
}

1;
