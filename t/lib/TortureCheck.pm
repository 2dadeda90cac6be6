# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

TortureCheck - for t/torture.pl and t/ha.pl: what is wrong with ids that were
handed out

=head1 DESCRIPTION

check_ids() looks at all ids of all clients at once.  It believes only what
clients have seen and when, by one monotonic clock for all of them, and what
was done to the servers and when.

=head2 What is promised at a failover

All ids are unique and ordered over crashes.  A failover can lose what the standby
has not received; what was received is known from commits, as replication is
synchronous.  WAL is replicated in order, and an id's horizon is in the WAL before
a client has the id.  So an id is I<covered> if it is in a row whose commit
was confirmed, or if its client had it before a request was sent by
anybody whose commit was confirmed.  (What is in the WAL at a switchover to a
standby that has all of it is covered, too.)  Ids that are not covered are void
after the failover, and compared only with others of the same primary's term of
office.

=cut

package TortureCheck;

use strict;
use warnings;

use Exporter 'import';
use TortureClient;

our @EXPORT = qw(check_ids covered_until);

=pod

=head1 FUNCTIONS

=over

=item covered_until($directory, \%is_complete)

For each term of office that ended: until when its ids are covered.
%is_complete has the terms that ended with a standby that had everything.

=cut

sub covered_until
{
	my ($directory, $is_complete) = @_;
	my %until;

	foreach my $file (glob "$directory/*.commits")
	{
		open my $handle, '<', $file or die "$file: $!";
		while (my $line = <$handle>)
		{
			my ($term, $sent) = split /\s/, $line;

			$until{$term} = $sent
			  if !defined $until{$term} || $until{$term} < $sent;
		}
		close $handle;
	}
	$until{$_} = 9**9**9 foreach keys %$is_complete;
	return \%until;
}

# The furthest ahead that a server's clock was set in a time: the steps, in
# order, are [begun, done, offset], the first since ever.
sub furthest_ahead
{
	my ($steps, $since, $until) = @_;
	my ($low, $high) = (0, scalar @$steps);

	# Where the first step is that was begun too late to matter.
	while ($low < $high)
	{
		my $middle = int(($low + $high) / 2);

		if   ($steps->[$middle][0] <= $until) { $low = $middle + 1 }
		else                                  { $high = $middle }
	}

	my $furthest = $steps->[ --$low ][2];
	while ($low > 0 && $steps->[$low][1] >= $since)
	{
		$low--;
		$furthest = $steps->[$low][2] if $steps->[$low][2] > $furthest;
	}
	return $furthest;
}

my %unit_us =
  (ms => 1000, s => 1_000_000, min => 60_000_000, h => 3600_000_000);

# An id's time in microseconds since 1970, undef if it has none.
sub time_of
{
	my ($generator, $id) = @_;
	my $shift = $generators{$generator}{shift};

	no warnings 'portable';    # of numbers above 32 bits
	return hex(substr $id =~ s/-//gr, 0, 16) * 1000 if $generator eq 'uuid';
	return undef unless defined $shift;
	return (($id >> $shift) + $generators{$generator}{epoch_ms}) * 1000;
}

=pod

=item check_ids($directory, %happened)

%happened has

  covered_until  as from covered_until()
  last_term      the term of office that has not ended
  steps          term => list of steps of that server's clock, see above
  fences         "generator/shard" => list of [bound, when flake_detach() had
                 returned it, when flake_attach() was called or undef]
  asynchronous   true if a commit covers nothing, not even its own rows

Returns the counts of: ids, void, duplicates, misordered, ahead, fenced, at_limit; and
a list of examples of what is wrong.

=cut

sub check_ids
{
	my ($directory, %happened) = @_;
	my %count = map { $_ => 0 }
	  qw(ids void duplicates misordered ahead fenced at_limit);
	my @wrong;
	my $key = '';
	my (@equal, %latest, $fences, $fence, %in_request);

	my $report = sub {
		my ($kind, $record, $what) = @_;

		$count{$kind}++;
		push @wrong,
		  "$kind: $what: "
		  . join(' ',
			map { "$_=$record->{$_}" }
			  qw(id sent received term client request covered))
		  if $count{$kind} <= 5;
	};

	# By size of ids: those of equal length sort as text.
	local $ENV{LC_ALL} = 'C';
	open my $sorted, '-|',
	  "cat '$directory'/*.ids | sort -t '\t' -k1,1 -k2,2n -k3,3n -k3,3"
	  or die "sort: $!";
	while (my $line = <$sorted>)
	{
		chomp $line;
		my %record;
		@record{
			qw(generator shard id sent received real max_ahead term client request n
			  committed)
		} = split /\t/, $line;
		my $name = "$record{generator}/$record{shard}";
		my $until = $happened{covered_until}{ $record{term} } || 0;

		$count{ids}++;
		$record{covered} =
			 $record{committed} && !$happened{asynchronous}
		  || $record{term} == $happened{last_term}
		  || $record{received} < $until ? 1 : 0;
		$count{void}++ unless $record{covered};
		if ($name ne $key)
		{
			$key = $name;
			@equal = %latest = %in_request = ();
			$fences = $happened{fences}{$name} || [];
			$fence = 0;
		}

		# Not handed out twice.
		@equal = () if @equal && $equal[0]{id} ne $record{id};
		foreach my $other (@equal)
		{
			next
			  unless $record{term} == $other->{term}
			  || ($record{covered} && $other->{covered});
			$report->(
				'duplicates', \%record,
"$name, also client $other->{client}, sent $other->{sent}, received $other->{received}, term $other->{term}"
			);
		}
		push @equal, \%record;

		# Going up through the ids of a shard, nothing may have been received
		# before something with a smaller id was asked for.
		# (The id of a later term may be that of another server, to which this
		# one is known only if it is covered.)
		foreach my $term (keys %latest)
		{
			next
			  if $term < $record{term}
			  || $term > $record{term} && !$record{covered};
			$report->(
				'misordered', \%record,
"$name, before $latest{$term}{id} of term $term, sent $latest{$term}{sent}"
			) if $latest{$term}{sent} > $record{received};
		}
		$latest{ $record{term} } = \%record
		  if !defined $latest{ $record{term} }
		  || $latest{ $record{term} }{sent} < $record{sent};

		# Nor within a request.
		my $before = $in_request{ $record{client} };
		$report->('misordered', \%record, "$name, within a request")
		  if defined $before
		  && $before->{request} == $record{request}
		  && $before->{n} >= $record{n};
		$in_request{ $record{client} } = \%record;

		# No more ahead of the clock than allowed: of the furthest that the
		# clock can have shown until the id was received.
		my $time = time_of($record{generator}, $record{id});
		if (defined $time)
		{
			my ($number, $unit) = $record{max_ahead} =~ /^(\d+)(\w+)$/;
			my $excess =
			  $time - $record{real} -
			  furthest_ahead($happened{steps}{ $record{term} },
				$record{sent}, $record{received}) -
			  $number * $unit_us{$unit};

			$report->(
				'ahead', \%record, sprintf "%s, by %d us",
				$name, $excess) if $excess > 0;
			$count{at_limit}++ if $excess > -50_000;
		}

		# On the right side of each bound.
		next unless $record{covered};
		$fence++
		  while $fence < @$fences && $record{id} > $fences->[$fence][0];
		if ($fence < @$fences && $record{sent} > $fences->[$fence][1])
		{
			$report->(
				'fenced', \%record,
"$name, not above $fences->[$fence][0], detached $fences->[$fence][1]"
			);
		}
		if ($fence > 0)
		{
			my $attached = $fences->[ $fence - 1 ][2];

			$report->(
				'fenced', \%record,
"$name, above $fences->[$fence - 1][0], detached $fences->[$fence - 1][1]"
			) if !defined $attached || $record{received} < $attached;
		}
	}
	close $sorted or die 'sort failed';
	return (\%count, \@wrong);
}

=pod

=back

=cut

1;
