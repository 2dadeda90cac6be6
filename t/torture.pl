# Copyright (c) 2026, the flakeid developers

# No id comes twice, whatever happens to the servers.  There are a primary and a
# synchronous standby, sessions that mint in many ways and note each id that they
# are given, and one random fault after the other.  In the end the promises are
# checked over all ids of all sessions: none twice, each shard's in order, none
# further ahead of the clock than flakeid.max_ahead, none of a detached shard.  And
# sessions that read on up to flake_settled() have seen every row once.
#
# t/torture_ranges.pl is the same with many more ids, of which only the ends of each
# request's are noted.
#
# In the environment (make torture SECONDS=1200 SEED=7 sets both):
#   TORTURE_SECONDS   how long there are faults, by default 30
#   TORTURE_SEED      which faults; by default another one each time, which is
#                     printed.  The same seed gives the same sequence of faults;
#                     how many of them there is time for, and what the
#                     sessions are doing when one comes, is up to the machine.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use TortureRun;
use Test::More;

run_torture(
	seconds => 30,
	least => 10,

	# By weight: how often compared to others.
	faults => [
		[ clock => 8 ],
		[ max_ahead => 3 ],
		[ kill_process => 4 ],
		[ kill_server => 4 ],
		[ restart => 4 ],
		[ promote => 3 ],
		[ recreate => 4 ],
		[ detach_or_attach => 10 ],
		[ fill_disk => 1 ],
		[ cancel_waiting => 3 ],
		[ terminate => 3 ],
		[ quiet => 5 ]
	]);

done_testing();
