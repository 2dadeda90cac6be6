# Copyright (c) 2026, the flakeid developers

# No id comes twice among very many, whatever happens to the servers.  It is as
# t/torture.pl, but sessions take thousands and hundreds of thousands of ids at once,
# and note the first, the last, and how many; t/lib/TortureCheck.pm says why that is
# enough to find any that is there twice.  They mint from generators of all kinds.
# Beside them two processes mint in their own memory, by leases.
#
# There are more faults, too: clocks that jump by years, which flakeid.max_jump must
# stop; flake_accept_clock(); flake_advance(); flake_rewind(), after which no id up to
# the one given may come again, and if it was not forced none in a row; and
# processes with leases that are killed and stopped.
#
# In the environment (make torture SECONDS=1800 SEED=7 sets both):
#   TORTURE_SECONDS   how long there are faults, by default 12
#   TORTURE_SEED      which faults, as in t/torture.pl

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use TortureRun;
use Test::More;
use TortureRanges;

check_the_check();
run_torture(
	seconds => 12,
	least => 10_000,
	table => 1,
	choose => \&choose_ranges,
	sql => $range_tables,
	begin => \&start_minters,
	end => \&stop_minters,

	# By weight: how often compared to others.
	faults => [
		[ clock => 12 ],
		[ max_ahead => 5 ],
		[ kill_process => 4 ],
		[ kill_server => 3 ],
		[ restart => 3 ],
		[ promote => 2 ],
		[ recreate => 4 ],
		[ detach_or_attach => 10 ],
		[ fill_disk => 1 ],
		[ cancel_waiting => 2 ],
		[ terminate => 4 ],
		[ quiet => 4 ],
		[ jump => 3 ],
		[ accept => 2 ],
		[ advance => 6 ],
		[ rewind => 8 ],
		[ kill_minter => 4, \&kill_minter ],
		[ stop_minter => 4, \&stop_minter ]
	]);

done_testing();
