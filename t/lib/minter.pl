#!/usr/bin/perl

# Copyright (c) 2026, the flakeid developers

# A process that mints ids in its own memory: it leases a shard from a database
# with flake_lease(), and makes ids of that shard as its own clock goes.  It
# belongs to t/leases.pl, and shows what such a process has to do.

use strict;
use warnings;

use Time::HiRes ();

my $usage = <<USAGE;
usage: $0 CONNECTION OWNER GENERATOR TTL OFFSET FILE [once]

Leases a shard of GENERATOR, renews the lease in time, and leases again when it
is over; with "once" it does neither, but ends.  TTL is in seconds.  OFFSET is
how many seconds its clock is ahead, or behind if negative.  The layout must be
"ts:41 shard:3 seq:3 epoch=2020-01-01 unit=10ms".

Appends each id to FILE as a line "id <id>", as soon as it is minted, and what
else happens: "lease <shard>", "over".

SIGTERM: gives the lease back, and ends.  When the process that has started it
is gone, it does so, too.
USAGE

die $usage unless @ARGV == 6 || (@ARGV == 7 && $ARGV[6] eq 'once');
my ($connection, $owner, $generator, $ttl, $offset, $file, $once) = @ARGV;
die "$0: TTL must be a number of seconds, not \"$ttl\"\n"
  unless $ttl =~ /^\d+(\.\d+)?$/;
die "$0: OFFSET must be a number of seconds, not \"$offset\"\n"
  unless $offset =~ /^-?\d+(\.\d+)?$/;

use constant {
	EPOCH => 1577836800,    # 2020-01-01 in Unix time
	UNIT_US => 10_000,
	MAX_SEQUENCE => 7
};

my $ends = 0;
my $parent = getppid;
$SIG{TERM} = sub { $ends = 1 };

sub is_to_end
{
	return $ends || getppid != $parent;
}

open my $out, '>>', $file or die "$file: $!\n";

# A line reaches the file whole or, if we are killed meanwhile, without its end.
sub note
{
	my ($line) = @_;

	defined syswrite($out, "$line\n") or die "$file: $!\n";
	return;
}

# By our own clock, which may be wrong.
sub now_us
{
	return int((Time::HiRes::time() + $offset - EPOCH) * 1_000_000);
}

sub nap
{
	Time::HiRes::usleep(2_000);
	return;
}

# Asks the database; nothing if that fails.
sub ask
{
	my ($sql) = @_;

	open my $psql, '-|', 'psql', '-X', '-A', '-t', '-q', '-d', $connection,
	  '-c', $sql
	  or die "psql: $!\n";
	my $answer = <$psql>;
	close $psql or return;
	chomp $answer;
	return split /\|/, $answer;
}

# SQL for a time in microseconds since the layout's epoch.
sub in_us
{
	my ($time) = @_;

	return "(extract(epoch FROM $time - timestamptz '2020-01-01 00:00:00Z')"
	  . ' * 1000000)::bigint';
}

my $last_tick = 0;

# Mints from a lease until it is over.
sub mint
{
	my ($shard, $not_before, $expires_at) = @_;
	my $sequence = MAX_SEQUENCE;

	# Renewals fail when the database is gone.  So does one of a lease that
	# was taken over; but that was over before.
	my $renewed = now_us();

	until (is_to_end())
	{
		my $now = now_us();

		return if $now >= $expires_at;
		if (!$once && $now > $renewed + $ttl * 300_000)
		{
			my ($later) = ask('SELECT '
				  . in_us(
					"flake_renew('$owner', '$ttl s', '$generator')"));

			$expires_at = $later if defined $later;
			$renewed = $now;
			next;
		}

		my $tick = int($now / UNIT_US);

		if (   $now < $not_before
			|| $tick < $last_tick
			|| ($tick == $last_tick && $sequence == MAX_SEQUENCE))
		{
			nap();
			next;
		}
		$sequence = $tick == $last_tick ? $sequence + 1 : 0;
		$last_tick = $tick;
		note('id ' . ($tick << 6 | $shard << 3 | $sequence));
	}
	return;
}

until (is_to_end())
{
	my ($shard, $not_before, $expires_at) =
	  ask('SELECT shard, '
		  . join(', ', map { in_us($_) } 'not_before', 'expires_at')
		  . " FROM flake_lease('$owner', '$ttl s', '$generator')");

	if (!defined $expires_at)
	{
		Time::HiRes::usleep(100_000);
		next;
	}
	note("lease $shard");
	mint($shard, $not_before, $expires_at);
	note('over') unless is_to_end();
	last if $once;
}
ask("SELECT flake_release('$owner', '$generator')") if is_to_end();
