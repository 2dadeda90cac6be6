# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

TortureCheck - for t/torture.pl, t/torture_ranges.pl and t/ha.pl: what is wrong with
ids that were handed out

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

=head2 Ranges

A client of t/torture_ranges.pl notes the first and the last id of many, and how many
they are.  Of these alone it can be told whether any id is there twice:

An id of a shard is a I<packed> value, tick * 2^b + sequence, where b is the number of
bits of the sequence, with its bits at their places in the layout and those of the
shard, which are the same for all of them.  In every layout the tick is above the
sequence.  So of two ids of one shard the one with the greater packed value is the
greater number, and the other way round: they are in the same order.  flake_ids()
returns the ids of n packed values that follow one another, p to p + n - 1.  An id
of that shard is one of these just if it is neither less than the first nor greater than
the last.  Hence two ranges have an id in common just if neither ends before the other
begins, compared as numbers.

That the n ids are those of n packed values that follow one another is not believed.
The packed values of the first and of the last must be n - 1 apart, and both of that
shard.  And the server looks at each of a sample, see TortureRanges.  The ids of a process with
a lease can leave some values out, as another tick begins at sequence 0.  But nobody
else may have one from in between, for the lease is over all of them: so these ranges
must not touch either, and what was said of them is all the more true.

Of a UUID of version 7 the number is its head, of which the same holds.

=head2 What flake_rewind() undoes

After flake_rewind(generator, below) ids above "below" can come again, but none up to it;
and if it was not forced, none in a row that was committed.  So two ids between which
that was done are compared only as far as they are not above it.  It takes a
moment, in which it cannot be told who was first; these are taken to be on both sides
of it.

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

# Two ids or ranges, the earlier one first: up to where they are compared; undef
# if all the way.
sub compared_up_to
{
	my ($earlier, $later, $rewinds) = @_;
	my $bound;
	my ($low) = sort { $a <=> $b } $earlier->{rewinds}, $later->{rewinds};
	my ($high) =
	  sort { $b <=> $a } $earlier->{rewinds_begun}, $later->{rewinds_begun};

	foreach my $rewind (@$rewinds[ $low .. $high - 1 ])
	{
		my ($below, undef, undef, $by_force) = @$rewind;

		next if !$by_force && $earlier->{committed};
		$bound = $below if !defined $bound || $below < $bound;
	}
	return $bound;
}

# The number in a field of an id.
sub number_in
{
	my ($field, $id) = @_;

	return ($id >> $field->{shift}) & ((1 << $field->{bits}) - 1);
}

# How many packed values there are from one id of a generator to another; undef if
# these are not of the shard.  (Heads of UUIDs have no shard.)
sub distance
{
	my ($generator, $shard, $first, $last) = @_;
	my $fields = $generators{$generator}{fields};

	return undef
	  if $fields->{shard}{bits} > 0
	  && grep { number_in($fields->{shard}, $_) != $shard } $first, $last;
	my ($p, $q) = map {
		($_ >> $fields->{ts}{shift} << $fields->{seq}{bits})
		  | number_in($fields->{seq}, $_)
	} $first, $last;
	return $q - $p;
}

my %unit_us =
  (ms => 1000, s => 1_000_000, min => 60_000_000, h => 3600_000_000);

# An id's time in microseconds since 1970, undef if it has none.
sub time_of
{
	my ($generator, $id) = @_;
	my $kind = $generators{$generator};
	my $unit_us = 1000 * ($kind->{unit_ms} || 1);

	no warnings 'portable';    # of numbers above 32 bits
	return hex(substr $id =~ s/[^0-9a-f]//gr, 0, $kind->{hex}) * $unit_us
	  if defined $kind->{hex};
	return undef unless defined $kind->{shift};
	return ($id >> $kind->{shift}) * $unit_us + $kind->{epoch_ms} * 1000;
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
  advances       generator => list of [bound, when flake_advance() had returned, term],
                 or undef
  rewinds        generator => list of [bound, when flake_rewind() was called, when it
                 had returned, whether it was forced], or undef

Returns the counts of: ids, ranges, void, duplicates, misordered, ahead, fenced,
at_limit, miscounted (of a range, that are not of its shard or not as many), advanced (not
above what was advanced to), again (requests with ids that came again above what was
rewound), unclear (ids while that was done); of ids and ranges also by generator, in "by"; and a list of
examples of what is wrong.

=cut

sub check_ids
{
	my ($directory, %happened) = @_;
	my %count = map { $_ => 0 }
	  qw(ids ranges void duplicates misordered ahead fenced at_limit
	  miscounted advanced again unclear);
	my @wrong;
	my $key = '';
	my (@open, %latest, $fences, $rewinds, $advances, $is_text, %in_request);

	my $report = sub {
		my ($kind, $record, $what) = @_;

		$count{$kind}++;
		push @wrong,
		  "$kind: $what: "
		  . join(' ',
			map { "$_=$record->{$_}" }
			  qw(id last count sent received term client request covered))
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
			  last count committed)
		} = split /\t/, $line;
		my $name = "$record{generator}/$record{shard}";
		my $until = $happened{covered_until}{ $record{term} } || 0;

		$count{ids} += $record{count};
		$count{by}{ $record{generator} }{ids} += $record{count};
		if ($record{count} > 1)
		{
			$count{ranges}++;
			$count{by}{ $record{generator} }{ranges}++;
		}
		$record{covered} =
			 $record{committed} && !$happened{asynchronous}
		  || $record{term} == $happened{last_term}
		  || $record{received} < $until ? 1 : 0;
		$count{void} += $record{count} unless $record{covered};
		if ($name ne $key)
		{
			$key = $name;
			@open = %latest = %in_request = ();
			$fences = $happened{fences}{$name} || [];
			$rewinds = $happened{rewinds}{ $record{generator} } || [];
			$advances = $happened{advances}{ $record{generator} } || [];
			$is_text = $generators{ $record{generator} }{hex};
		}

		# How often the generator had been set back, and perhaps had been.
		$record{rewinds} = grep { $_->[2] <= $record{sent} } @$rewinds;
		$record{rewinds_begun} = grep { $_->[1] <= $record{received} } @$rewinds;
		$count{unclear} += $record{count}
		  if $record{rewinds} != $record{rewinds_begun};

		# A range is what it says.
		if ($record{count} ne '1' || $record{last} ne $record{id})
		{
			my $distance =
			  distance(@record{qw(generator shard id last)});
			my $is_own = $generators{ $record{generator} }{own_clock};

			$report->('miscounted', \%record, $name)
			  if !defined $distance
			  || $record{count} !~ /^[1-9]\d*$/
			  || $distance < $record{count} - 1
			  || $distance > $record{count} - 1 && !$is_own;
		}

		# Not handed out twice.
		my $came_again = 0;
		@open =
		  $is_text
		  ? grep { $_->{last} eq $record{id} } @open
		  : grep { $_->{last} >= $record{id} } @open;
		foreach my $other (@open)
		{
			next
			  unless $record{term} == $other->{term}
			  || ($record{covered} && $other->{covered});
			my $bound = !@$rewinds ? undef : compared_up_to(
				$record{sent} < $other->{sent}
				? (\%record, $other)
				: ($other, \%record),
				$rewinds);

			if (defined $bound && $record{id} > $bound)
			{
				$came_again = 1;
				next;
			}
			$report->(
				'duplicates', \%record,
"$name, also $other->{id} to $other->{last} of client $other->{client}, sent $other->{sent}, received $other->{received}, term $other->{term}"
			);
		}
		$count{again}++ if $came_again;
		push @open, \%record;

		# Going up through the ids of a shard, nothing may have been received
		# before something with a smaller id was asked for.
		# (The id of a later term may be that of another server, to which this
		# one is known only if it is covered.)
		foreach my $before (values %latest)
		{
			next
			  if $before->{sent} <= $record{received}
			  || $before->{term} < $record{term}
			  || $before->{term} > $record{term} && !$record{covered};
			my $bound =
			  @$rewinds ? compared_up_to(\%record, $before, $rewinds) : undef;

			next if defined $bound && $record{id} > $bound;
			$report->(
				'misordered', \%record,
"$name, before $before->{id} of term $before->{term}, sent $before->{sent}"
			);
		}
		my $group =
		  join '/', @record{qw(term rewinds rewinds_begun)};
		$latest{$group} = \%record
		  if !defined $latest{$group}
		  || $latest{$group}{sent} < $record{sent};

		# Nor within a request.
		my $before = $in_request{ $record{client} };
		$report->('misordered', \%record, "$name, within a request")
		  if defined $before
		  && $before->{request} == $record{request}
		  && $before->{n} >= $record{n};
		$in_request{ $record{client} } = \%record;

		# Above what the generator was advanced to, unless it was set back since,
		# or the failover has lost that.
		foreach my $advance (@$advances)
		{
			my ($above, $done, $term) = @$advance;

			next
			  if $record{id} > $above
			  || $record{sent} <= $done
			  || $term != $record{term}
			  && $done >= ($happened{covered_until}{$term} || 0)
			  || grep {
				$_->[2] >= $done
				  && $_->[1] <= $record{received}
				  && $_->[0] < $above
			  } @$rewinds;
			$report->('advanced', \%record, "$name, not above $above");
		}

		# No more ahead of the clock than allowed: of the furthest that the
		# clock can have shown until the id was received.
		my $time = time_of($record{generator}, $record{last});
		if (defined $time)
		{
			my ($number, $unit) = $record{max_ahead} =~ /^(\d+)(\w+)$/;
			my $excess = $time - $record{real} - $number * $unit_us{$unit};

			$excess -=
			  furthest_ahead($happened{steps}{ $record{term} },
				$record{sent}, $record{received})
			  unless $generators{ $record{generator} }{own_clock};

			$report->(
				'ahead', \%record, sprintf "%s, by %d us",
				$name, $excess) if $excess > 0;
			$count{at_limit}++ if $excess > -50_000;
		}

		# On the right side of each bound: of those that are not below the first,
		# the least one, and of those that are below the last, the greatest.
		next if !$record{covered} || !@$fences;
		my ($above) = grep { $_->[0] >= $record{id} } @$fences;
		my ($below) = reverse grep { $_->[0] < $record{last} } @$fences;
		$report->(
			'fenced', \%record,
			"$name, not above $above->[0], detached $above->[1]")
		  if defined $above && $record{sent} > $above->[1];
		$report->(
			'fenced', \%record,
			"$name, above $below->[0], detached $below->[1]")
		  if defined $below
		  && (!defined $below->[2] || $record{received} < $below->[2]);
	}
	close $sorted or die 'sort failed';
	return (\%count, \@wrong);
}

=pod

=back

=cut

1;
