# Copyright (c) 2026, the flakeid developers

# The Python library mints as docs/clients.md says, whatever happens to its process, its
# clock and the database, and computes what the SQL functions do.
#
# Its own tests are in clients/python/tests: those without a server, then those with one, and
# beside them processes of minter.py that are forked, stopped and cut off, with a clock
# that is set.  They are skipped without psycopg or psycopg2 (Debian's python3-psycopg,
# python3-psycopg2).  With CLIENT_PYTHON=all they run with both, and mypy looks at the types.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeDoc;
use FlakeRecipe;
use FlakeTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $library = "$FindBin::RealBin/../clients/python";
my $all = ($ENV{CLIENT_PYTHON} // '') eq 'all';

sub imports
{
	my ($python, $module) = @_;

	return (eval { run_in('/', $python, '-c', "import $module") })[0];
}

my ($python, @drivers);
foreach my $candidate ('/usr/bin/python3', 'python3')
{
	@drivers = grep { imports($candidate, $_) } qw(psycopg psycopg2);
	$python = $candidate;
	last if @drivers;
}
plan skip_all => 'neither psycopg nor psycopg2 is installed' unless @drivers;
note("with @drivers");

local $ENV{PYTHONPATH} = "$library/src";
local $ENV{PYTHONDONTWRITEBYTECODE} = 1;
delete local @ENV{qw(PGDATABASE PGAPPNAME PGOPTIONS)};

output_of('the tests that need no server', $library, $python, '-m', 'unittest',
	map { "tests/test_$_.py" } qw(vectors minting keeping prefetch));
my $version = output_of('the version', '/', $python, '-c', 'import flakeid; print(flakeid.__version__)');
like(slurp_file("$FindBin::RealBin/../META.json"),
	qr/"version": "\Q$version\E"/, 'the version is that of the extension');
output_of('the types', $library, 'mypy', '--cache-dir=/dev/null') if $all;


# The tests with a server, in the background

my $own = start_server('own');
my $user = $own->safe_psql('postgres', 'SELECT current_user');

sub environment_of
{
	my ($node) = @_;

	return (PGHOST => $node->host, PGPORT => $node->port, PGUSER => $user);
}

sub start_tests
{
	my ($driver, @classes) = @_;
	my $tests = { name => join(' ', $driver, @classes), out => '' };
	local %ENV = (%ENV, environment_of($own), FLAKEID_DRIVER => $driver);

	$tests->{run} = IPC::Run::start(
		[ $python, '-W', 'error::ResourceWarning', "$library/tests/test_server.py", @classes ],
		'<', '/dev/null', '>&', \$tests->{out},
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	return $tests;
}

sub end_tests
{
	my ($tests) = @_;

	ok($tests->{run}->finish, "the tests with a server: $tests->{name}")
	  or diag($tests->{out});
	return;
}

# Most of the time they wait.
my @tests = map { start_tests($drivers[0], @$_) } ['TestMinter'], [qw(TestAsync TestPrefetch TestProcesses)];


# Processes that mint

my $node = start_server('main', conf => $may_have_standbys . 'flakeid.max_ahead = 2s', sql => q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('process_id', 'ts:41 shard:13 seq:10 epoch=2026-01-01');
));
my $layout = 'ts:41 shard:13 seq:10 epoch=2026-01-01';
my $directory = PostgreSQL::Test::Utils::tempdir('minters');
my @minters;

sub start_minter
{
	my ($name, %environment) = @_;
	my $minter = { prefix => "$directory/$name" };
	local %ENV = (%ENV, %environment);

	$minter->{run} = IPC::Run::start(
		[
			$python, "$library/tests/minter.py", $node->connstr('postgres') . " user=$user",
			'process_id', 2, $minter->{prefix}, 500
		],
		'<', '/dev/null', '>', \my $out, '2>', \$minter->{err});
	push @minters, $minter;
	return $minter;
}

sub log_of
{
	my ($minter) = @_;

	return -e "$minter->{prefix}.log" ? slurp_file("$minter->{prefix}.log") : '';
}

# Waits for a line that was not there yet, and takes all up to it as seen.
sub wait_for
{
	my ($minter, $line) = @_;

	wait_until(
		sub {
			my $news = substr log_of($minter), $minter->{seen} // 0;

			$news =~ /^$line/m or return 0;
			$minter->{seen} += $+[0];
			return 1;
		},
		"$minter->{prefix}: $line");
	return;
}

sub count_of
{
	my ($minter) = @_;

	return (-s "$minter->{prefix}.ids" // 0) / 8;
}

sub wait_for_ids
{
	my ($minter) = @_;
	my $before = count_of($minter);

	wait_until(sub { count_of($minter) > $before }, "$minter->{prefix}: more ids");
	return;
}

sub signal
{
	my ($minter, $signal) = @_;

	$minter->{run}->signal($signal);
	return;
}

my $clock = new_clock();
set_clock($clock, -60);

my $forked = start_minter('forked');
my $stopped = start_minter('stopped', FLAKEID_DRIVER => $drivers[-1]);
my $lost = start_minter('lost');
my $behind = start_minter('behind', clock_environment($clock));

wait_for($_, 'leased') foreach @minters;

# P3
signal($forked, 'USR1');
wait_for($forked, 'child Forked');
wait_for_ids($forked);
pass('a child gets Forked, and its parent goes on');

# A clock that is a minute behind, then right, then behind again, then ahead
wait_for($behind, 'error NotYet');
is(count_of($behind), 0, 'a minute behind: no id');
set_clock($clock, 0);
wait_for_ids($behind);
set_clock($clock, -60);
wait_for($behind, 'error (?:TooFarAhead|NotYet)');
pass('set back: no id');
set_clock($clock, 60);
wait_for($behind, 'error LeaseExpired');
pass('a minute ahead: no id');
set_clock($clock, 0);
wait_for_ids($behind);
pass('right again: ids');
signal($behind, 'TERM');

# P1, P6: stopped until the lease is over, which somebody else has then
signal($stopped, 'STOP');

# The lease is gone.
my ($shard) = log_of($lost) =~ /^leased (\d+)/m;
$node->safe_psql('postgres', "DELETE FROM flake_leases WHERE shard = $shard");
wait_for($lost, 'lost');
wait_for($lost, 'leased (?!' . $shard . ' )');
wait_for_ids($lost);
pass('a lost lease: another shard');

my ($of_stopped) = log_of($stopped) =~ /.*^leased (\d+)/ms;
$node->poll_query_until('postgres',
	"SELECT expires_at < clock_timestamp() FROM flake_leases WHERE shard = $of_stopped");
signal($stopped, 'CONT');
wait_for($stopped, 'lost');
wait_for($stopped, 'leased');
wait_for_ids($stopped);
pass('stopped for longer than the lease: a new one');

# The database is away.
$node->stop('immediate');
foreach my $minter ($forked, $stopped)
{
	wait_for($minter, 'renew_failed -- \S');
	wait_for($minter, 'error LeaseExpired');
}
pass('without a database: renewing fails, then minting');
$node->start;
foreach my $minter ($forked, $stopped)
{
	wait_for($minter, 'leased');
	wait_for_ids($minter);
}
pass('with it again: a new lease');

# The end
signal($_, 'TERM') foreach $forked, $stopped, $lost;
foreach my $minter (@minters)
{
	ok($minter->{run}->finish, "$minter->{prefix} ends") or diag($minter->{err});
}
like(log_of($_), qr/^released\n\z/m, "$_->{prefix} gives its lease back") foreach $forked, $stopped, $lost;
my @prefixes = map { s/\.ids\z//r } glob "$directory/*.ids";
is(scalar @prefixes, 5, 'the child has minted, too');
like(
	output_of('no id twice, all in order, none outside of its lease',
		$directory, $python, "$library/tests/check_ids.py", $layout, @prefixes),
	qr/^\d{4,} ids in \d+ leases$/, 'there are ids');


# The examples of the README

my %blocks;
push @{ $blocks{ $_->{language} } }, $_ foreach blocks("$library/README.md");
$node->safe_psql('postgres', 'CREATE DATABASE app');
$node->safe_psql('app', 'CREATE EXTENSION flakeid; CREATE TABLE photo (id bigint PRIMARY KEY, name text)');
$node->safe_psql('app', $_->{text}) foreach @{ $blocks{sql} };
$node->safe_psql('app', 'GRANT ALL ON photo TO app');
foreach my $block (@{ $blocks{python} })
{
	local %ENV = (%ENV, environment_of($node), PGUSER => 'app');

	my $expected = join "\n", $block->{text} =~ /print\(.*\)\s+# (.*)/g;
	my $out = output_of("README.md, line $block->{line}", $directory, $python, '-c', $block->{text});
	is($out, $expected, 'and prints what it says') if $expected ne '';
}


# Ids that are fetched ahead

while_standby_is_away(
	$node,
	sub {
		local %ENV = (%ENV, environment_of($node), PGDATABASE => 'app');

		is( output_of('with a synchronous standby away', $directory, $python, '-c', <<'PYTHON'),
import os
from flakeid import NotConnected, Prefetch
ids = Prefetch(shard=5)
try:
    print(ids.next(timeout=1), flush=True)
except NotConnected:
    print("none", flush=True)
os._exit(0)
PYTHON
			'none', 'no id that a failover could forget');
	});

end_tests($_) foreach @tests;
if ($all)
{
	end_tests(start_tests($_)) foreach @drivers[ 1 .. $#drivers ];
}
$_->stop foreach $own, $node;
done_testing();
