# Copyright (c) 2026, the flakeid developers

# Every text of a layout is read right or refused, and ids can be put together and
# taken apart.  The layouts are those that the fuzzers have found (make fuzz), and
# random ones.  This needs no server, only the compiler of the extension.

use strict;
use warnings;

use FindBin;

use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = "$FindBin::RealBin/../fuzz";
my $build = PostgreSQL::Test::Utils::tempdir('corpus');

# Runs a command, which must succeed; if not, shows the end of its output.
sub succeeds
{
	my ($name, @command) = @_;
	my $output = '';
	my $ok =
	  ok(IPC::Run::run(\@command, '<', '/dev/null', '>&', \$output), $name);

	$output =~ s/\A.*?((?:[^\n]*\n){40}\z)/$1/s;
	$ok ? note $output : diag $output;
	return $ok;
}

# Not as a part of the make that runs the tests.
delete local @ENV{ 'MAKEFLAGS', 'MFLAGS', 'MAKELEVEL' };

# Looking for leaks is not allowed everywhere, and there is nothing to leak.
local $ENV{ASAN_OPTIONS} = 'detect_leaks=0';

if (succeeds('the checks compile', 'make', '-C', $source, 'tests', "OUT=$build"))
{
	foreach my $target ('layout_parse', 'layout_ids')
	{
		my @files = sort glob "$source/corpus/$target/*";

		succeeds(@files . " inputs of the $target fuzzer",
			"$build/replay_$target", @files);
	}
	succeeds('random layouts', "$build/property");
}

done_testing();
