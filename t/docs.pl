# Copyright (c) 2026, the flakeid developers

# Every piece of SQL in the README and in docs/ works, and its output is the one
# that is shown.  FlakePage says how a page shows it.  The page of an engine, such as
# docs/timescaledb.md, is run by the engine's own test.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakePage;
use PostgreSQL::Test::Cluster;
use Test::More;

my $top = "$FindBin::RealBin/..";

my $node = PostgreSQL::Test::Cluster->new('docs');
$node->init;
$node->append_conf(
	'postgresql.conf', q(
timezone = 'UTC'
datestyle = 'ISO, MDY'
lc_messages = 'C'
flakeid.worker = '02:00:00:00:00:01'
));
$node->start;

my %has_test =
  map { s{.*/(\w+)\.sh$}{$1}r => 1 } glob "$top/tools/engines/*.sh";

foreach my $path (map { s{^\Q$top\E/}{}r }
	glob "$top/*.md $top/docs/*.md $top/docs/*/*.md")
{
	my $database = lc $path =~ s{^docs/|\.md$}{}gr =~ s{/}{_}gr;

	test_page($node, "$top/$path", $database) unless $has_test{$database};
}

$node->stop;
done_testing();
