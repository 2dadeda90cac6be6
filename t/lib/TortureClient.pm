# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

TortureClient - for t/torture.pl, t/torture_ranges.pl and t/ha.pl: one session that
mints in many ways, and writes down what it is given

=head1 DESCRIPTION

A client is a process of its own.  It connects to whichever server the file
C<primary> in its directory names, and again whenever the connection is lost,
until it gets SIGTERM.  It leaves three files:

  NUMBER.ids      a line for each id or range, as note_ids() writes it
  NUMBER.commits  a line for each commit that it has seen: term, when it was
                  sent
  NUMBER.errors   a line for each kind of error: how often, SQLSTATE, message
                  (numbers in it replaced by N); and one with 00000, how often
                  it has connected

All times are microseconds.

=cut

package TortureClient;

use strict;
use warnings;

use Exporter 'import';
use FlakeWire;
use IO::Handle;
use PostgreSQL::Test::Utils qw(append_to_file slurp_file);
use Test::More;
use Time::HiRes qw(usleep);

our @EXPORT = qw(
  %generators
  columns
  choose_requests
  count_error
  check_errors
  note_ids
  note_commit
  succeeded
  run_client
  connect_to_primary
  us
);

# What is minted from:
#
#   layout     for flake_create_generator()
#   shards     which ones are minted
#   mint       SQL for an id of shard SHARD, if it is not that of flake_id()
#   shift, epoch_ms, unit_ms (1 if left out)
#              give an id's time; their sources are the table of presets in
#              docs/layouts.md
#   hex, unit_ms
#              for ids that are not numbers: how many hexadecimal digits at the
#              beginning are the time since 1970
#   unbounded  true if the server's bounds are not for it: wide ids, and those of
#              processes outside
#   own_clock  true if ids are minted by another clock than the server's
#   rewound    "by force" or "not by force", if flake_rewind() is for it
#   regclass   its name in the database, if that is another one
our %generators = (
	flake_default => {
		layout => 'instagram',
		shards => [ 1 .. 4 ],
		shift => 23,
		epoch_ms => 1314220021721
	},
	snow => {
		layout => 'snowflake',
		shards => [ 1 .. 3 ],
		shift => 22,
		epoch_ms => 1288834974657
	},
	# 16 ids in a millisecond: batches run ahead of the clock.
	brief => {
		layout =>
		  'ts:42 shard:8 seq:4 epoch=1577836800000 unit=1ms start=random:3',
		shards => [ 1, 2 ],
		shift => 12,
		epoch_ms => 1577836800000
	},
	# No time, and a horizon that moves every 75 numbers.
	dense => { layout => 'seq:63 block=100', shards => [0] },
	uuid => { mint => 'flake_uuid()', shards => [0], hex => 16, unbounded => 1 });

sub us
{
	my ($seconds) = @_;

	return sprintf '%.0f', $seconds * 1_000_000;
}

=pod

=head1 FUNCTIONS

=over

=item columns($generator, $shard, $id)

The select list of every statement that mints: which generator and shard, an
id (by default a new one), and what flakeid.max_ahead is.

=cut

sub columns
{
	my ($generator, $shard, $id) = @_;

	$id = ($generators{$generator}{mint} // "flake_id(SHARD, '$generator')") =~
	  s/SHARD/$shard/r
	  unless defined $id;
	return "'$generator', $shard, $id, current_setting('flakeid.max_ahead')";
}

=pod

=item choose_requests(\%last, $may_write)

A random way to mint: a list of requests to be sent one after the other, each
with whether it commits what it writes.  %last has for each generator and shard
the last id.

=cut

sub choose_requests
{
	my ($last, $may_write) = @_;
	my @names = sort grep { $_ ne 'uuid' } keys %generators;
	my $generator = $names[ rand @names ];
	my @shards = @{ $generators{$generator}{shards} };
	my $shard = $shards[ rand @shards ];
	my $one = 'SELECT ' . columns($generator, $shard);
	my $some = "$one FROM generate_series(1, " . int(1 + rand 5) . ')';
	my $number = int(1 + rand 12);
	my $insert =
		"INSERT INTO item SELECT '$generator', flake_id($shard, '$generator')"
	  . " FROM generate_series(1, $number) RETURNING "
	  . columns($generator, $shard, 'id');
	my @reading = (
		[$one],
		[$some],
		[
				'SELECT '
			  . columns($generator, $shard, 'i')
			  . " FROM flake_ids($shard, $number, '$generator') AS i"
		],
		["BEGIN; $some; COMMIT"],
		["BEGIN; $some; SET TRANSACTION READ ONLY; COMMIT"],
		["BEGIN; $some; ROLLBACK"],
		["BEGIN; SAVEPOINT s; $one; ROLLBACK TO s; $some; ROLLBACK"],
		[ 'BEGIN', $one, $some, 'COMMIT' ],
		["COPY ($some) TO STDOUT"],
		[
				'SELECT '
			  . columns('uuid', 0)
			  . ' FROM generate_series(1, 3)'
		],

		# A batch of which only the ends are looked at.
		[
				'SELECT '
			  . columns($generator, $shard, 'unnest(ARRAY[min(i), max(i)])')
			  . " FROM flake_ids($shard, 1500, '$generator') AS i"
		]);
	my @writing = (
		[ [$insert] ],
		[ ["COPY ($insert) TO STDOUT"] ],
		[ ["BEGIN; $some; $insert; COMMIT"] ],
		[
			[
'INSERT INTO item_by_default SELECT FROM generate_series(1, 3)'
				  . ' RETURNING '
				  . columns('flake_default', 1, 'id')
			]
		]);
	my @choices;

	push @reading, ["BEGIN; $insert; ROLLBACK"] if $may_write;
	push @reading,
	  [
		'SELECT '
		  . columns(
			$generator, $shard,
			"flake_sibling($last->{$generator}{$shard}, '$generator')")
	  ]
	  if defined $last->{$generator}{$shard} && $generator ne 'dense';
	push @choices, map {
		[ map { [ $_, 0 ] } @$_ ]
	} @reading;
	push @choices, map {
		[ map { [ $_->[0], 1 ] } @$_ ]
	  } @writing
	  if $may_write;
	return @{ $choices[ rand @choices ] };
}

=pod

=item note_ids($file, $answer, $term, $client, $request, $is_committed)

Appends a line for each row in the answer to a request, which is an id or a range of
them: generator, shard, id (the first one), when the request was sent, when the row
was received, the same by the real clock, flakeid.max_ahead, in which term of
office of a primary, the client, number of the request, number within the
request, the last id, how many there are, and whether the client knows that it is in a row
that was committed.

A row has what columns() lists; of a range also the last id and how many there are.

=cut

sub note_ids
{
	my ($file, $answer, $term, $client, $request, $is_committed) = @_;
	my $n = 0;

	foreach my $row (@{ $answer->{rows} })
	{
		my ($columns, $received, $real) = @$row;
		my ($generator, $shard, $id, $max_ahead, $last, $count) = @$columns;

		print $file join("\t",
			$generator, $shard, $id,
			us($answer->{sent}), us($received), us($real),
			$max_ahead, $term, $client,
			$request, ++$n, $last // $id, $count // 1,
			$is_committed ? 1 : 0),
		  "\n";
	}
	return;
}

# The primary that clients should use: term, directory of the socket, port.
sub read_primary
{
	my ($directory) = @_;

	return split /\s/,
	  PostgreSQL::Test::Utils::slurp_file("$directory/primary");
}

=pod

=item connect_to_primary($directory, $user, $keep_waiting, \%errors)

A session with the primary, undef if there is none, and its term of office.

=cut

sub connect_to_primary
{
	my ($directory, $user, $keep_waiting, $errors) = @_;
	my ($term, $host, $port) = read_primary($directory);
	my ($wire, $answer) =
	  FlakeWire->connect($host, $port, 'postgres', $user, $keep_waiting);

	count_error($errors, $answer) if defined $answer;

	# While it is still called the primary, this is it: it is stopped before
	# another one gets the name.
	undef $wire if (read_primary($directory))[0] != $term;
	count_error($errors, { code => '00000', message => 'connected' })
	  if defined $wire;
	return ($wire, $term);
}

=pod

=item note_commit($file, $answer, $term)

Appends a line about a request whose commit was confirmed.

=cut

sub note_commit
{
	my ($file, $answer, $term) = @_;

	print $file $term, "\t", us($answer->{sent}), "\n";
	return;
}

=pod

=item succeeded($answer)

Whether a request has come to its end, transaction and all, without an error.  A
warning counts as one: with it a commit does not wait for the standby any more.

=cut

sub succeeded
{
	my ($answer) = @_;

	return
		 $answer->{status} eq 'I'
	  && !defined $answer->{code}
	  && !@{ $answer->{warnings} };
}

=pod

=item count_error(\%errors, $answer)

Counts the error in an answer, if there is one.

=cut

sub count_error
{
	my ($errors, $answer) = @_;

	$errors->{ "$answer->{code}\t"
		  . ($answer->{message} =~ s/\d[\d.]*/N/gr) }++
	  if defined $answer->{code};
	return;
}

=pod

=item check_errors($directory, $leg, \%expected)

A test: the clients in the directory had no errors but those that are expected, for each
SQLSTATE a pattern of messages.  Says with a note how many sessions and errors there were.
Returns how many errors there were of each SQLSTATE, as a reference.

=cut

sub check_errors
{
	my ($directory, $leg, $expected) = @_;
	my (%errors, @unexpected);
	my $sessions = 0;

	foreach
	  my $line (map { split /\n/, slurp_file($_) } glob "$directory/*.errors")
	{
		my ($times, $code, $message) = split /\t/, $line;

		if ($code eq '00000')
		{
			$sessions += $times;
			next;
		}
		$errors{$code} += $times;
		push @unexpected, "$code: $message"
		  unless defined $expected->{$code} && $message =~ $expected->{$code};
	}
	note "$leg: $sessions sessions; errors: " . join ', ',
	  map { "$errors{$_} of $_" } sort keys %errors;
	is_deeply(\@unexpected, [],
		"$leg: no errors but those that were to be expected");
	return \%errors;
}

=pod

=item run_client($directory, $client, $user, $seed, %options)

Mints until it gets SIGTERM or the process that started it is gone.  While a
file C<quiet> is in the directory it writes nothing to the database.  The options
can all be left out:

  connect   instead of connecting to the server that the file primary names:
            called with ($directory, $user, $keep_waiting, \%errors), returns
            the session and its term of office, or nothing
  choose    instead of choose_requests().  A request that is not to be read as
            ids has a third element, the kind of file that its rows go into
            once they are committed: NUMBER.KIND, separated by tabs
  patience  for how many seconds to wait for an answer before the session is
            given up

=cut

sub run_client
{
	my ($directory, $client, $user, $seed, %options) = @_;
	my $connect = $options{connect} || \&connect_to_primary;
	my $choose = $options{choose} || \&choose_requests;
	my $parent = getppid;
	my $stopping = 0;
	my $keep_waiting = sub {
		my ($wire) = @_;

		return
			 !$stopping
		  && getppid == $parent
		  && !(defined $wire
			&& $options{patience}
			&& $wire->age > $options{patience});
	};
	my $request = 0;
	my ($wire, $term, %errors, %last, %file);

	local $SIG{TERM} = sub { $stopping = 1 };
	srand($seed + $client);
	foreach my $kind ('ids', 'commits', 'errors')
	{
		open $file{$kind}, '>', "$directory/$client.$kind"
		  or die "$directory/$client.$kind: $!";
	}

	while ($keep_waiting->())
	{
		usleep(5_000 + rand 30_000);
		($wire, $term) =
		  $connect->($directory, $user, $keep_waiting, \%errors)
		  unless defined $wire;
		next unless defined $wire;

		foreach my $step ($choose->(\%last, !-e "$directory/quiet"))
		{
			my ($sql, $commits, $kind) = @$step;
			my $answer = $wire->request($sql);

			$commits &&= succeeded($answer);
			note_commit($file{commits}, $answer, $term) if $commits;
			if (!defined $kind)
			{
				note_ids($file{ids}, $answer, $term, $client, ++$request,
					$commits);
				$last{ $_->[0][0] }{ $_->[0][1] } = $_->[0][2]
				  foreach @{ $answer->{rows} };
			}
			elsif ($commits)
			{
				append_to_file("$directory/$client.$kind",
					join("\t", @{ $_->[0] }) . "\n")
				  foreach @{ $answer->{rows} };
			}
			count_error(\%errors, $answer);

			# A standby, where this client has no business.
			undef $wire
			  if $answer->{status} eq ''
			  || defined $answer->{code} && $answer->{code} eq '25006';
			last if !defined $wire;
			if (defined $answer->{code})
			{
				$wire->request('ROLLBACK') if $answer->{status} ne 'I';
				last;
			}
			usleep(rand 20_000) if $answer->{status} eq 'T';
		}
	}
	print { $file{errors} } "$errors{$_}\t$_\n" foreach sort keys %errors;
	foreach my $kind (keys %file)
	{
		close $file{$kind} or die "$directory/$client.$kind: $!";
	}
	return;
}

=pod

=back

=cut

1;
