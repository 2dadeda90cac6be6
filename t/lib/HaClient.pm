# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

HaClient - for t/ha.pl: what its clients do besides what TortureClient does

=head1 DESCRIPTION

A client goes to whichever server of the file C<nodes> is no standby.  There can
be two such for a while; then it may be either.  A I<term of office> is a
timeline of PostgreSQL on a node: ten times the timeline, plus the node's number.

=cut

package HaClient;

use strict;
use warnings;

use Exporter 'import';
use FlakeWire;
use List::Util              qw(shuffle);
use PostgreSQL::Test::Utils ();
use Time::HiRes             qw(usleep);
use TortureClient;

our @EXPORT = qw(
  %detached
  $timeline
  connect_to_leader
  choose
  first_overlap
);

# Detached before the clients start, and never attached.
our %detached = (flake_default => 9, snow => 7);

# The timeline of a primary, in SQL.
our $timeline =
  "('x' || substr(pg_walfile_name(pg_current_wal_insert_lsn()), 1, 8))::bit(32)::int";

# More rows at once than TortureClient writes, so that there are many.
my $most_rows = 60;
my $leases = 0;

=pod

=head1 FUNCTIONS

=over

=item connect_to_leader($directory, $user, $keep_waiting, \%errors)

For the option "connect" of run_client().  A line of the file C<nodes> has the
node's number, the directory of its socket, and its port.

=cut

sub connect_to_leader
{
	my ($directory, $user, $keep_waiting, $errors) = @_;
	my @nodes = split /\n/,
	  PostgreSQL::Test::Utils::slurp_file("$directory/nodes");

	foreach my $node (shuffle @nodes)
	{
		my ($number, $host, $port) = split /\s/, $node;
		my ($wire, $answer) =
		  FlakeWire->connect($host, $port, 'postgres', $user, $keep_waiting);

		$answer =
		  $wire->request("SELECT $timeline WHERE NOT pg_is_in_recovery()")
		  if defined $wire;
		next unless defined $answer;
		count_error($errors, $answer);
		if ($answer->{status} eq 'I' && @{ $answer->{rows} })
		{
			count_error($errors, { code => '00000', message => 'connected' });
			return ($wire, 10 * $answer->{rows}[0][0][0] + $number);
		}
		$wire->close if $answer->{status} ne '' && defined $wire;
	}
	return;
}

=pod

=item choose(\%last, $may_write)

For the option "choose" of run_client(): mostly many rows at once, and else what
TortureClient chooses, a shard that is detached, or a lease.

=cut

sub choose
{
	my ($last, $may_write) = @_;
	my $what = rand;

	# There are three servers and their Patronis besides.
	usleep(rand 60_000);

	if ($what < 0.6)
	{
		my @names = grep { $_ ne 'uuid' } sort keys %generators;
		my $generator = $names[ rand @names ];
		my @shards = @{ $generators{$generator}{shards} };
		my $shard = $shards[ rand @shards ];
		my $rows = int 1 + rand $most_rows;

		return [
			"INSERT INTO item SELECT '$generator', flake_id($shard, '$generator')"
			  . " FROM generate_series(1, $rows) RETURNING "
			  . columns($generator, $shard, 'id'),
			1
		];
	}
	if ($what < 0.63)
	{
		my ($generator) = (sort keys %detached)[ rand keys %detached ];

		return [ 'SELECT ' . columns($generator, $detached{$generator}), 0 ];
	}
	return choose_lease() if $what < 0.68;

	# Not what commits ids that are in no row: all that is committed will be
	# looked for.
	my @requests;
	do
	{
		@requests = choose_requests($last, $may_write);
	} while (grep { $_->[1] && $_->[0] =~ /^BEGIN/ } @requests);
	return @requests;
}

# Leases, and renews what it has leased.  The rows: owner, shard,
# and since and until when, in microseconds.
sub choose_lease
{
	my $owner = "$$-$leases";
	my $what = rand;

	if ($leases == 0 || $what < 0.3)
	{
		$owner = "$$-" . ++$leases;
		return [
			"SELECT '$owner', shard, extract(epoch FROM not_before) * 1000000,"
			  . ' extract(epoch FROM expires_at) * 1000000'
			  . " FROM flake_lease('$owner', '10 s', 'process')",
			1, 'leases'
		];
	}
	return [
		"WITH renewed AS (SELECT flake_renew('$owner', '10 s', 'process') AS until)"
		  . " SELECT '$owner', shard, extract(epoch FROM not_before) * 1000000,"
		  . ' extract(epoch FROM until) * 1000000 FROM renewed, flake_leases'
		  . " WHERE owner = '$owner'",
		1, 'leases'
	];
}

=pod

=item first_overlap($directory)

Looks at all leases that clients were given.  Returns how many they are, and two
that overlap, in words, or undef.

=cut

sub first_overlap
{
	my ($directory) = @_;
	my (%leases, $overlap);
	my $count = 0;

	foreach my $file (glob "$directory/*.leases")
	{
		foreach
		  my $line (split /\n/, PostgreSQL::Test::Utils::slurp_file($file))
		{
			my ($owner, $shard, $since, $until) = split /\t/, $line;

			push @{ $leases{$shard} }, [ $since, $until, $owner ];
			$count++;
		}
	}
	foreach my $shard (sort keys %leases)
	{
		my $latest;

		foreach my $lease (sort { $a->[0] <=> $b->[0] } @{ $leases{$shard} })
		{
			$overlap = "shard $shard: @$latest and @$lease"
			  if defined $latest
			  && $latest->[2] ne $lease->[2]
			  && $lease->[0] < $latest->[1];
			$latest = $lease
			  if !defined $latest || $lease->[1] > $latest->[1];
		}
	}
	return ($count, $overlap);
}

=pod

=back

=cut

1;
