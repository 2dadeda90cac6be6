# Copyright (c) 2026, the flakeid developers

# After kill -9, an immediate shutdown or a promotion no shard waits for longer than
# 0.3 s, or a tick if that is longer, whatever another shard had done before.  Clocks
# stand still, so that waits can be told exactly.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

# What each generator may have to wait for, in seconds
my %bound = (slow => 0.3, tenths => 0.3, seconds => 1, days => 0);

my $clock = new_clock();
my $now = time;
stop_clock($clock, $now);

my $node = start_server(
	'main',
	clock => $clock,
	allows_streaming => 1,
	conf => 'log_statement = none',
	sql => q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('slow', 'ts:50 shard:11 seq:2 epoch=2026-01-01'),
       flake_create_generator('tenths', 'ts:43 shard:11 seq:9 unit=100ms epoch=2026-01-01'),
       flake_create_generator('seconds', 'ts:41 shard:11 seq:11 unit=1s epoch=2026-01-01 start=zero'),
       flake_create_generator('days', 'ts:20 shard:11 seq:32 unit=1d epoch=2026-01-01');
));

sub set_now
{
	($now) = @_;
	stop_clock($clock, $now);
	return;
}

# Mints of a shard until its ids are as far ahead of the clock as they may be.
sub hold_at_limit
{
	my ($server, $shard) = @_;

	foreach my $generator (grep { $_ ne 'days' } sort keys %bound)
	{
		my $session = new_session($server);
		my $code = code($session,
			"SET flakeid.max_wait = 0; SELECT count(flake_id($shard, '$generator')) FROM generate_series(1, 100000)");

		end_session($session);
		is($code, '53400', "shard $shard of $generator is at its limit");
	}
	$server->safe_psql('postgres', "SELECT count(flake_id($shard, 'days')) FROM generate_series(1, 1000)");
	return;
}

# That idle shards wait no longer than that, and then mint.
sub check_idle_shards
{
	my ($server, $name) = @_;
	my $session = new_session($server);

	value($session, 'SET flakeid.max_wait = 0');
	foreach my $generator (sort keys %bound)
	{
		my ($id, $error) = ask($session, "SELECT flake_id(2, '$generator')");
		my ($wait) = $error =~ /waiting another (\d+\.\d+) s for the clock/;

		$wait = 0 if $error eq '';
		cmp_ok(defined $wait ? $wait : 'inf',
			'<=', $bound{$generator},
			"$name: an idle shard of $generator waits no longer than that");
		note "$name, $generator: $wait s";
	}
	set_now($now + 1);
	foreach my $generator (sort keys %bound)
	{
		like((ask($session, "SELECT flake_id(2, '$generator')"))[0],
			qr/^\d+$/, "$name: and then mints, with flakeid.max_wait = 0, of $generator");
	}
	end_session($session);
	return;
}

foreach my $max_ahead ('15s', '5s', '2s', '0')
{
	change_setting($node, 'flakeid.max_ahead', $max_ahead);

	set_now($now + 100);
	hold_at_limit($node, 1);
	kill9_and_wait($node);
	start_with_clock($node, $clock);
	check_idle_shards($node, "kill -9, max_ahead = $max_ahead");

	set_now($now + 100);
	hold_at_limit($node, 1);
	$node->stop('immediate');
	start_with_clock($node, $clock);
	check_idle_shards($node, "immediate shutdown, max_ahead = $max_ahead");
}

#
# Who is near the limit does not write the horizon with each id.
#

my $session = new_session($node);

# The server writes something of its own now and then.
my $lsn;
my $quiet;
foreach (1 .. 5)
{
	# A tick has 2,048 ids, from 0 on.
	set_now($now + 100);
	value($session, q(SELECT flake_id(1, 'seconds')));
	$lsn = value($session, 'SELECT pg_current_wal_insert_lsn()');
	value($session, q(SELECT count(flake_id(1, 'seconds')) FROM generate_series(1, 2000)));
	$quiet = value($session, 'SELECT pg_current_wal_insert_lsn()') eq $lsn;
	last if $quiet;
}
ok($quiet, 'max_ahead = 0: 2000 ids of one tick need no WAL');
end_session($session);

#
# Promotion
#

change_setting($node, 'flakeid.max_ahead', '15s');
my $standby = start_standby($node, 'standby', $clock);
set_now($now + 100);
hold_at_limit($node, 1);
$node->wait_for_catchup($standby, 'replay');
kill9_and_wait($node);
$standby->promote;
check_idle_shards($standby, 'promotion');

$standby->stop;
stop_killed($node);
done_testing();
