# Copyright (c) 2026, the flakeid developers

# UUIDs of flake_uuidv7() never repeat and ascend for each shard, over sessions, a
# clock that is set, kill -9, a shard that moves to another database, and promotion.
# Their random bits never repeat.  Others read them as what they are: PostgreSQL and
# three packages from npm.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $clock = new_clock();
my $primary = start_server(
	'primary',
	allows_streaming => 1,
	clock => $clock,
	conf => q(
log_statement = none
max_connections = 25
shared_preload_libraries = 'flakeid'	# sessions have the postmaster's memory
wal_sender_timeout = 0
),
	sql => 'CREATE DATABASE second');
$primary->safe_psql($_, 'CREATE EXTENSION flakeid; CREATE SEQUENCE ticket')
  foreach 'postgres', 'second';
my $standby_clock = new_clock();
my $standby = start_standby($primary, 'standby', $standby_clock);

# As minting_sql(): with a number drawn before, and one drawn after.
my $load = join ' ', map {
		"SELECT nextval('ticket'), flake_uuidv7($_), nextval('ticket')"
	  . " FROM generate_series(1, 5);"
} 1, 2;

sub shard_of_uuid
{
	my ($uuid) = @_;

	return hex(substr($uuid, 19, 4)) >> 1 & 0x1fff;
}

# Its first 64 bits; such texts sort as memcmp() sorts the bytes.
sub head { return substr($_[0], 0, 18); }

# The 49 bits at its end.
sub random_bits
{
	my ($uuid) = @_;

	return (hex(substr($uuid, 19, 4)) & 1) . substr($uuid, 24);
}

# All UUIDs so far, the greatest head of each shard, and what is wrong with them.
my %seen;
my %seen_random;
my %greatest;
my $count = 0;

sub take_note
{
	my ($uuid) = @_;
	my $shard = shard_of_uuid($uuid);
	my @wrong;

	push @wrong, "$uuid is not of version 7"
	  unless $uuid =~ /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
	push @wrong, "$uuid: its head was there on its shard"
	  if $seen{ $shard . head($uuid) }++;
	push @wrong, "$uuid: its random bits were there" if $seen_random{ random_bits($uuid) }++;
	$count++;
	return @wrong;
}

# Takes down what clients that are gone were given, all of which must be above what
# was there before; in the order of their tickets.
sub take_down
{
	my ($when, @clients) = @_;
	my @records = sort { head($a->[1]) cmp head($b->[1]) } map { @{ records($_) } } @clients;
	my %before = %greatest;
	my %latest;
	my @wrong;

	foreach my $record (@records)
	{
		my ($ticket, $uuid, $after) = @$record;
		my $shard = shard_of_uuid($uuid);

		push @wrong, take_note($uuid);
		push @wrong, "$uuid is not above $before{$shard} of before"
		  if defined $before{$shard} && head($uuid) le $before{$shard};
		push @wrong, "$uuid (tickets $ticket to $after) was handed out before a smaller one"
		  if defined $latest{$shard} && $latest{$shard} > $after;
		$latest{$shard} = $ticket if !defined $latest{$shard} || $ticket > $latest{$shard};
		$greatest{$shard} = head($uuid);
	}
	is_deeply(\@wrong, [], "$when: " . @records . ' UUIDs, none twice, each shard ascends');
	return;
}

sub start_load
{
	my ($node, $dbname) = @_;
	my @clients = start_clients($node, count => 4, sql => $load, dbname => $dbname // 'postgres');

	wait_for_more($_, 100) foreach @clients;
	return @clients;
}

#
# The clock is set back and ahead again meanwhile.
#

my @clients = start_load($primary);
foreach my $offset (-5, 0, 3, -4)
{
	set_clock($clock, $offset);
	wait_for_more($_, 100) foreach @clients;
}
stop_clients($primary, @clients);
take_down('the clock is set', @clients);
is_deeply([ grep { !/^57P01/ } map { errors($_) } @clients ], [], 'no error');

# PostgreSQL reads what it can.
my $version = $primary->pg_version->{num}[0];

SKIP:
{
	skip 'before PostgreSQL 17', 1 if $version < 17;
	my $reads_time = $version < 18 ? 'true'
	  : 'uuid_extract_timestamp(id) = (flake_uuidv7_decode(id)).ts';

	is( $primary->safe_psql('postgres',
			"SELECT bool_and(uuid_extract_version(id) = 7 AND $reads_time) FROM flake_uuidv7s(3, 10000) AS id"),
		't', 'uuid_extract_version() and uuid_extract_timestamp() agree');
}

#
# kill -9 of the server, and the clock is behind when it starts.
#

@clients = start_load($primary);
kill9_and_wait($primary);
finish_clients(@clients);
take_down('kill -9', @clients);
set_clock($clock, -8);
start_with_clock($primary, $clock);
@clients = start_load($primary);
stop_clients($primary, @clients);
take_down('after kill -9', @clients);

#
# A shard moves to another database.  It has its own generator, which knows of nothing.
#

@clients = start_load($primary);
my $bound = $primary->safe_psql('postgres', "SELECT flake_detach(2, 'flake_default_uuidv7')");
wait_until(sub { !grep { !grep { /^55000: shard 2 is detached/ } errors($_) } @clients },
	'each client is refused');
stop_clients($primary, @clients);
take_down('until the shard is detached', @clients);
set_clock($clock, -12);
$primary->safe_psql('second', "SELECT flake_attach(2, $bound, 'flake_default_uuidv7')");
my @wrong;
foreach my $uuid (split /\n/,
	$primary->safe_psql('second', 'SELECT flake_uuidv7(2) FROM generate_series(1, 1000)'))
{
	push @wrong, take_note($uuid);
	push @wrong, "$uuid is not above $greatest{2}" if head($uuid) le $greatest{2};
	$greatest{2} = head($uuid);
}
is_deeply(\@wrong, [], 'the other database goes on above');
is( $primary->safe_psql('postgres',
		"SELECT flake_uuidv7_head('$greatest{2}-8000-000000000000') > $bound"),
	't', 'above what flake_detach() returned');
$bound = $primary->safe_psql('second', "SELECT flake_detach(2, 'flake_default_uuidv7')");
$primary->safe_psql('postgres', "SELECT flake_attach(2, $bound, 'flake_default_uuidv7')");

#
# The server dies, and a standby takes over whose clock is further behind.
#

set_clock($standby_clock, -13);
$primary->wait_for_catchup($standby, 'replay');
my (undef, $error) = ask(new_session($standby), 'SELECT flake_uuidv7(1)');
like($error, qr/25006/, 'no UUIDs on a standby');
@clients = start_load($primary);
$primary->wait_for_catchup($standby, 'replay');
my $flushed = $primary->safe_psql('postgres', 'SELECT pg_current_wal_flush_lsn()');
stop_clients($primary, @clients);
take_down('before the promotion', @clients);
$primary->wait_for_catchup($standby, 'replay');
kill9_and_wait($primary);
$standby->promote;
@clients = start_load($standby);
stop_clients($standby, @clients);
take_down('after the promotion', @clients);
cmp_ok($count, '>', 4000, 'that many were compared');

#
# A time before 1970 is no time of a UUID.
#

$standby->safe_psql('postgres', "SELECT flake_create_generator('early', 'uuidv7')");
set_clock($standby_clock, -time - 1000);
like((ask(new_session($standby), q(SELECT flake_uuidv7(1, 'early'))))[1],
	qr/^ERROR:  22003: the lifetime of layout "uuidv7" has not begun/m,
	'the clock is before 1970: an error');
set_clock($standby_clock, -13);

#
# What npm has reads them as flakeid does.
#

SKIP:
{
	my $directory = PostgreSQL::Test::Utils::tempdir;
	my $log = '';

	skip 'without client programs', 1 if ($ENV{CLIENTS} // '') eq 'no';
	skip 'npm cannot install the packages', 1
	  unless eval {
		IPC::Run::run(
			[
				'npm', 'install', '--no-workspaces', '--ignore-scripts', '--silent', '--no-audit', '--no-fund', '--prefix', $directory,
				'uuid@11', 'uuidv7@1', 'uuidv7-js@1'
			],
			'<', '/dev/null', '>', \$log, '2>', \$log, IPC::Run::timeout(60));
	  };

	append_to_file("$directory/read.mjs", <<'JS');
import * as uuid from 'uuid';
import { UUID } from 'uuidv7';
import { UUIDv7 } from 'uuidv7-js';
import { readFileSync } from 'fs';

for (const id of readFileSync(0, 'ascii').split('\n').filter(Boolean)) {
  const bytes = uuid.parse(id);
  const ms = bytes.slice(0, 6).reduce((ms, byte) => ms * 256 + byte, 0);
  const other = UUID.parse(id);
  console.log([uuid.validate(id) && uuid.version(id), ms,
    other.getVersion(), other.getVariant(), parseInt(other.toHex().slice(0, 12), 16),
    UUIDv7.timestamp(id)].join());
}
JS
	my $ids = $standby->safe_psql('postgres',
		'SELECT id, trunc(extract(epoch FROM (flake_uuidv7_decode(id)).ts) * 1000) FROM flake_uuidv7s(8191, 1000) AS id');
	my $read;

	IPC::Run::run([ 'node', "$directory/read.mjs" ],
		'<', \join('', map { (split /\|/)[0] . "\n" } split /\n/, $ids),
		'>', \$read);
	is($read,
		join('', map { my $ms = (split /\|/)[1]; "7,$ms,7,VAR_10,$ms,$ms\n" } split /\n/, $ids),
		'uuid, uuidv7 and uuidv7-js read version and time');
}

$standby->stop;
stop_killed($primary);

done_testing();
