# Copyright (c) 2026, the flakeid developers

# The client library for Node.js keeps the protocol of docs/clients.md: it mints nothing
# outside of its lease and nothing twice, whatever becomes of its clock, its database and
# itself.  Its own tests (clients/node/test/*.test.mjs) say the same of the parts, and that
# it decodes as the server does; the last of them is Maelstrom's unique-ids.
#
# tools/run installs the packages of t/javascript/package.json, where npm is, and says
# where in JAVASCRIPT_PACKAGES.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeDoc;
use FlakeNode;
use FlakeRecipe;
use FlakeTest;
use IPC::Run;
use List::Util qw(uniq);
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'the packages of npm are not installed' unless node_packages();

my $client = build_client();
my $directory = PostgreSQL::Test::Utils::tempdir('client_node');

delete local @ENV{qw(PGDATABASE PGAPPNAME PGOPTIONS)};

my $node = start_server('main', conf => $may_have_standbys, sql => 'CREATE EXTENSION flakeid');
my $url = database_url($node, 'postgres');
local $ENV{DATABASE_URL} = $url;

#
# The library's own tests, while clocks are set
#

my ($out, $err) = ('', '');
my $unit_tests = IPC::Run::start(
	[ 'node', '--test', '--test-concurrency=4', glob "$client/test/*.test.mjs" ],
	'<', '/dev/null', '>', \$out, '2>', \$err,
	init => sub { chdir $client or die "$client: $!" },
	IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));

#
# Processes that mint
#

# 2026-01-01 in microseconds since 1970; ticks of milliseconds
use constant {
	EPOCH_US => 1_767_225_600_000_000,
	SHARD_BITS => 6,
	SEQUENCE_BITS => 10,
	TTL => 2,
};

$node->safe_psql('postgres',
	q(SELECT flake_create_generator('leased', 'ts:41 shard:6 seq:10 epoch=2026-01-01')));

my $clock = new_clock();
my %clock = clock_environment($clock);
my %minters = map { $_ => start_minter($_) } qw(steady stopped odd);

sub start_minter
{
	my ($name) = @_;
	my $prefix = "$directory/$name";

	append_to_file("$prefix.$_", '') foreach qw(ids log);
	local @ENV{ keys %clock } = values %clock if $name eq 'odd';
	my $run = IPC::Run::start(
		[ 'node', "$client/test/minter.mjs", $url, 'leased', TTL, $prefix, 500 ],
		'<', '/dev/null');
	return { name => $name, prefix => $prefix, run => $run };
}

sub log_lines { return split /\n/, slurp_file("$_[0]{prefix}.log") }

sub count_ids { return int((-s "$_[0]{prefix}.ids") / 8) }

# Waits for more lines of a kind than there were.
sub wait_for_line
{
	my ($minter, $pattern, $than) = @_;

	wait_until(
		sub { ($than // 0) < grep { $_ =~ $pattern } log_lines($minter) },
		"$minter->{name}: $pattern");
	return;
}

sub wait_for_ids
{
	my ($minter, $number) = @_;
	my $wanted = count_ids($minter) + ($number // 100);

	wait_until(sub { count_ids($minter) >= $wanted }, "$minter->{name} mints");
	return;
}

sub has_line { return scalar grep { $_ =~ $_[1] } log_lines($_[0]) }

my ($steady, $stopped, $odd) = @minters{qw(steady stopped odd)};
wait_for_ids($_) foreach values %minters;
wait_for_line($_, qr/^renewed/) foreach values %minters;

# One is stopped beyond the end of its lease.
$stopped->{run}->signal('STOP');

# The clock goes ahead: the lease is over by it, and is renewed early, which does not
# help.  It comes back, goes back a little, which nobody notices, and then a lot.
set_clock($clock, 60);
wait_for_line($odd, qr/^error LeaseExpired/);
set_clock($clock, 0);
wait_for_ids($odd);
set_clock($clock, -5);
wait_for_ids($odd);
set_clock($clock, -60);
wait_for_line($odd, qr/^renewed/, has_line($odd, qr/^renewed/));
my $minted = count_ids($odd);
wait_for_line($odd, qr/^renewed/, has_line($odd, qr/^renewed/));
is(count_ids($odd), $minted, 'a clock that went back by more than max_ahead: no ids');
set_clock($clock, 0);
wait_for_ids($odd);

# README.md's example
my ($example) = grep { $_->{language} eq 'js' } blocks("$client/README.md");
$node->safe_psql('postgres', 'CREATE TABLE photo (id bigint, name text)');
append_to_file("$client/test/example.mjs", $example->{text});
like(output_of('the example of README.md runs', $client, 'node', 'test/example.mjs'),
	qr/\A\d{19} \d{19}\z/, 'and prints ids');

ok($unit_tests->finish, 'the library\'s own tests') or diag("$out\n$err");
unlike($out, qr/# SKIP|^# skipped [1-9]/m, 'none of them is skipped');
note($out);

# The server goes away.
$node->stop('immediate');
wait_for_ids($steady, 50);
wait_for_line($steady, qr/^renew_failed -- .*cannot be reached/);
wait_for_line($steady,
	qr/^error LeaseExpired .* renewing has failed since 20.*cannot be reached/);
pass('the database is away: ids to the end of the lease, then an error that says since when');
$minted = count_ids($steady);
$stopped->{run}->signal('CONT');
wait_for_line($_, qr/^lost/) foreach values %minters;
is(count_ids($steady), $minted, 'and no ids after that');
$node->start;
foreach my $minter (values %minters)
{
	wait_for_line($minter, qr/^leased/, 1);
	wait_for_ids($minter);
	ok(!has_line($minter, qr/^released/), "$minter->{name}: another lease in place of the one that was lost");
}

foreach my $minter (values %minters)
{
	$minter->{run}->signal('TERM');
	ok($minter->{run}->finish, "$minter->{name} ends in good order");
	is((log_lines($minter))[-1], 'released', "$minter->{name} gives its lease back");
}

my @all;
foreach my $minter (values %minters)
{
	my @ids = unpack 'q<*', slurp_file("$minter->{prefix}.ids");
	my @leases;    # shard, from, upto
	foreach my $line (log_lines($minter))
	{
		push @leases, [$1, $2, $3] if $line =~ /^leased (\d+) (\d+) (\d+)$/;
		$leases[-1][2] = $1 if $line =~ /^renewed (\d+)$/;
	}
	my @outside = grep {
		my $shard = $_ >> SEQUENCE_BITS & (1 << SHARD_BITS) - 1;
		my $time = ($_ >> SHARD_BITS + SEQUENCE_BITS) * 1000 + EPOCH_US;
		!grep { $_->[0] == $shard && $_->[1] <= $time && $time < $_->[2] } @leases;
	} @ids;
	is_deeply(\@outside, [], "$minter->{name}: each id is within a lease");
	is_deeply([ grep { $ids[$_] <= $ids[ $_ - 1 ] } 1 .. $#ids ],
		[], "$minter->{name}: ids ascend");
	push @all, @ids;
}

# Ids that are fetched ahead
append_to_file("$client/test/ahead.mjs", <<'JS');
import { NotConnected, Prefetch } from '@flakeid/client';

try {
  await Prefetch.create({ connectionString: process.env.DATABASE_URL, shard: 5 });
  console.log('ids');
} catch (error) {
  console.log(error instanceof NotConnected ? 'none' : error);
}
process.exit(0);
JS
while_standby_is_away($node,
	sub { is(output_of('with a synchronous standby away', $client, 'node', 'test/ahead.mjs'), 'none', 'no id that a failover could forget') });

cmp_ok(scalar @all, '>', 2000, 'thousands of ids');
is(scalar(uniq @all), scalar @all, 'no id repeats');
$node->stop;

done_testing();
