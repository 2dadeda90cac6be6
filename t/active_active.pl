# Copyright (c) 2026, the flakeid developers

# Two servers that write the same tables, and replicate them to each other logically,
# never add a row with the same id, though one is killed under load and the clocks
# differ.  Afterwards their tables are equal.  Neither mints the other's shard.  Of what
# is flakeid's, only the map is replicated.  Readers lose nothing if they do as
# docs/active-active.md says, of which this runs the blocks.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeDoc;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'subscriptions have no origin before PostgreSQL 16'
  if PostgreSQL::Test::Cluster->new('version')->pg_version < 16;

my @blocks = blocks("$FindBin::RealBin/../docs/active-active.md");

# The block of SQL that begins with that comment.
sub block
{
	my ($comment) = @_;
	my @found = grep { $_->{text} =~ /\A-- \Q$comment\E$/m } @blocks;

	die "docs/active-active.md: $comment" if @found != 1;
	return $found[0]{text};
}

my ($settings) = map { $_->{text} } grep { $_->{text} =~ /^wal_level/ } @blocks;
my (%node, %clock);

foreach my $name (qw(one two))
{
	my $conf = $name eq 'one' ? $settings : $settings =~ s/^flakeid.shard = 1/flakeid.shard = 2/mr;

	$clock{$name} = new_clock();
	$node{$name} = start_server(
		$name,
		clock => $clock{$name},
		allows_streaming => 'logical',
		conf => $conf . q(
wal_retrieve_retry_interval = '200ms'
wal_sender_timeout = 0		# goes by the clock
wal_receiver_timeout = 0
autovacuum = off
),
		sql => 'CREATE DATABASE app');
}
my %other = (one => 'two', two => 'one');

# A statement in the database app.
sub app
{
	my ($name, $sql) = @_;

	return $node{$name}->safe_psql('app', $sql);
}

sub code_of
{
	my ($name, $sql) = @_;

	return error_code(ask_once($node{$name}, $sql, 'app'));
}

sub subscribe
{
	my ($name, $sql) = @_;
	my $connection = $node{ $other{$name} }->connstr =~ s/'//gr;

	app($name, $sql =~ s/host=$other{$name}/$connection/r);
	return;
}

# Waits until each has all that the other has written.
sub exchange
{
	$node{$_}->wait_for_catchup("from_$_") foreach qw(one two);
	return;
}

sub contents
{
	my ($name, $table) = @_;

	return app($name,
		"SELECT count(*), md5(coalesce(string_agg(t::text, ' ' ORDER BY id), '')) FROM $table AS t");
}

app($_, block('on both')) foreach qw(one two);
subscribe($_, block("on $_")) foreach qw(one two);

#
# Under load
#

my $write = q(BEGIN; WITH p AS (INSERT INTO photo (title) VALUES ('summer') RETURNING id))
  . q( INSERT INTO comment (photo_id, body) SELECT id, 'nice' FROM p RETURNING photo_id;)
  . q( UPDATE photo SET title = 'autumn' WHERE id = (SELECT photo_id FROM comment WHERE id = flake_last_id()); COMMIT;)
  . q( INSERT INTO photo (title) VALUES ('winter') RETURNING id;);
my @all;

sub start_writers
{
	my ($name) = @_;
	my @started =
	  start_clients($node{$name}, count => 2, sql => $write, dbname => 'app');

	push @all, @started;
	return @started;
}

my @of_one = start_writers('one');
my @of_two = start_writers('two');
wait_for_more($_, 300) foreach @of_one, @of_two;
set_clock($clock{two}, -8);
wait_for_more($_, 100) foreach @of_one, @of_two;
kill9_and_wait($node{one});
finish_clients(@of_one);
set_clock($clock{one}, -5);
wait_for_more($_, 300) foreach @of_two;
start_with_clock($node{one}, $clock{one});
wait_until_up($node{one});
@of_one = start_writers('one');
wait_for_more($_, 300) foreach @of_one, @of_two;
stop_clients($node{one}, @of_one);
stop_clients($node{two}, @of_two);
exchange();

my $photos = app('one', 'SELECT count(*) FROM photo');
note("$photos photos; " . app('one', 'SELECT string_agg(shard || $$: $$ || n, $$, $$) FROM (SELECT flake_shard(id) AS shard, count(*) AS n FROM photo GROUP BY 1) AS s'));
is(first_duplicate(map { ids($_) } @all), undef, 'no id twice');
is(contents('two', $_), contents('one', $_), "equal on both: $_") foreach qw(photo comment);
is(app($_, 'SELECT string_agg(DISTINCT flake_shard(id)::text, $$ $$) FROM photo'), '1 2', "$_ has rows of both")
  foreach qw(one two);

# Those of a transaction that was broken off may be missing, others not.
{
	my %there = map { $_ => 1 } split /\n/, app('two', 'SELECT id FROM photo');
	my $missing = 0;

	foreach my $client (@all)
	{
		$missing += grep { !$there{$_} } @{ ids($client) };
	}
	cmp_ok($missing, '<=', @all, "no row is lost: $missing were not committed");
}
foreach my $name (qw(one two))
{
	unlike(slurp_file($node{$name}->logfile), qr/conflict|duplicate key/, "$name: no conflict");
	is(app($name, 'SELECT * FROM flake_health'), '', "$name: nothing is wrong");
}
is((grep { !/^57P01/ } map { errors($_) } @all)[0], undef, 'writers have no errors');

#
# The other's shard
#

my $id = app('one', 'SELECT max(id) FROM photo WHERE flake_shard(id) = 1');
is(code_of('two', $_), '55000', "refused: $_")
  foreach "SELECT flake_sibling($id)", 'SELECT flake_id(1)',
  q(SET flakeid.shard = 1; INSERT INTO photo (title) VALUES ('wrong'));

#
# Readers
#

# The ids that a query of the page finds above a position.
sub read_on
{
	my ($name, $position, $sql) = @_;
	my $rows = app($name, $sql =~ s/:position/$position/r =~ s/LIMIT 1000//r);

	return map { (split /\|/)[0] } split /\n/, $rows;
}

sub bound_of
{
	my ($name) = @_;

	return app($name, 'SELECT coalesce(flake_settled(), 0)');
}

# A reader on one has gone on when a row of two arrives.  (After the crash the ids of one
# are ahead of its clock.)
set_clock($clock{$_}, 0) foreach qw(one two);
app('one', 'ALTER SUBSCRIPTION from_two DISABLE');
my $late = app('two', q(INSERT INTO photo (title) VALUES ('late') RETURNING id));
my $newest = app('two', 'SELECT max(id) FROM photo');
wait_until(sub { bound_of('one') > $newest }, 'bounds have passed all rows');
my $position = bound_of('one');
app('one', 'ALTER SUBSCRIPTION from_two ENABLE');
exchange();
my @own = map { app($_, q(INSERT INTO photo (title) VALUES ('own') RETURNING id)) } qw(one two);
wait_until(sub { bound_of('one') > $own[0] && bound_of('two') > $own[1] }, 'settled');
exchange();
ok(!grep({ $_ == $late } read_on('one', $position, block('loses rows'))),
	'without a condition on the shard: the row is lost');
is(join(' ', read_on('one', $position, block('own rows'))), $own[0], "one's own rows");
is( join(' ', read_on('two', $late - 1, block('own rows'))),
	"$late $own[1]", "two's own rows, read there");

# All rows, by when they arrive
app($_, block('on both, with a second id')) foreach qw(one two);
foreach my $name (qw(one two))
{
	my $sql = block('on each, afterwards: ALTER SUBSCRIPTION from_one on two');

	app($name, $sql =~ s/from_two/from_$other{$name}/r);
	$node{ $other{$name} }->wait_for_catchup("from_$other{$name}");
}
app('one', 'ALTER SUBSCRIPTION from_two DISABLE');
app('two', q(INSERT INTO event (what) VALUES ('late')));
app('one', q(INSERT INTO event (what) VALUES ('early')));
my %seen = (one => [], two => []);
my %last = (one => 0, two => 0);

sub read_events
{
	my ($name) = @_;
	my $sql = block('all rows') =~ s/:position/$last{$name}/r;

	foreach my $row (split /\n/, app($name, $sql))
	{
		my ($arrival, undef, $what) = split /\|/, $row;

		push @{ $seen{$name} }, $what;
		$last{$name} = $arrival;
	}
	return scalar @{ $seen{$name} };
}

app($_, q(SELECT flake_settled('arrival_id'))) foreach qw(one two);
wait_until(sub { read_events('one') == 1 }, 'the first is read');
app('one', 'ALTER SUBSCRIPTION from_two ENABLE');
app('two', qq(INSERT INTO event (what) VALUES ('$_'))) foreach 'a' .. 'e';
app('one', q(INSERT INTO event (what) VALUES ('f')));
foreach my $name (qw(one two))
{
	wait_until(sub { read_events($name) >= 8 }, "$name has read all");
	is(join(' ', sort @{ $seen{$name} }), 'a b c d e early f late', "$name: each row once");
}

#
# Another unique key
#

foreach my $name (qw(one two))
{
	app($name, 'CREATE TABLE account (id bigint PRIMARY KEY DEFAULT flake_id(), email text UNIQUE);'
		  . ' ALTER PUBLICATION app ADD TABLE account');
}
app($_, "ALTER SUBSCRIPTION from_$other{$_} REFRESH PUBLICATION WITH (copy_data = false)")
  foreach qw(one two);
exchange();
app($_, "ALTER SUBSCRIPTION from_$other{$_} DISABLE") foreach qw(one two);
app($_, q(INSERT INTO account (email) VALUES ('a@example.com'))) foreach qw(one two);
app($_, "ALTER SUBSCRIPTION from_$other{$_} ENABLE") foreach qw(one two);
foreach my $name (qw(one two))
{
	wait_until(
		sub { slurp_file($node{$name}->logfile) =~ /unique (?:constraint|index) "account_email_key"/ },
		"$name has a conflict");
}
app($_, 'DELETE FROM account') foreach qw(one two);
exchange();
is(app($_, 'SELECT count(*) FROM account'), 0, "$_: a conflict of emails is gone") foreach qw(one two);
app('two', q(INSERT INTO account (email) VALUES ('a@example.com')));
exchange();
is(contents('one', 'account'), contents('two', 'account'), 'replication goes on');

#
# All tables
#

app($_, 'CREATE PUBLICATION everything FOR ALL TABLES') foreach qw(one two);
app('one', q(INSERT INTO flake_shard_map VALUES ('[1,1]', 'one'); SELECT flake_attach(700)));
my $attached = q(SELECT string_agg(generator::regclass || ' ' || shard, ', ' ORDER BY shard, generator::regclass::text) FROM flake_shard_state);

# On two with what is there already
app('two', 'TRUNCATE event, photo, comment');
exchange();
foreach my $name (qw(two one))
{
	my $subscription = "from_$other{$name}";

	app($name, "ALTER SUBSCRIPTION $subscription SET PUBLICATION everything WITH (refresh = false)");
	app($name, "ALTER SUBSCRIPTION $subscription REFRESH PUBLICATION WITH (copy_data = $_)")
	  foreach $name eq 'two' ? 'true' : 'false';
}
$node{two}->wait_for_subscription_sync($node{one}, 'from_one', 'app');
app('one', 'SELECT flake_attach(701), flake_lease($$somebody$$)');
app('two', q(INSERT INTO flake_shard_map VALUES ('[2,2]', 'two')));
exchange();
is( app($_, 'SELECT shards, server FROM flake_shard_map ORDER BY 1'),
	"[1,2)|one\n[2,3)|two",
	"$_: the map is replicated")
  foreach qw(one two);
is(app('two', $attached), 'arrival_id 2, flake_default 2', 'states are not');
is(app('two', 'SELECT count(*) FROM flake_leases'), 0, 'leases are not');
like(app('one', $attached), qr/^arrival_id 1, flake_default 1, flake_default 700, flake_default 701, /, 'and stay as they are');
is(code_of('one', 'DELETE FROM flake_shard_map'),
	'55000', 'rows of the map cannot be deleted');
app($_, 'ALTER TABLE flake_shard_map REPLICA IDENTITY FULL') foreach qw(one two);
app('one', q(UPDATE flake_shard_map SET server = 'uno' WHERE server = 'one'; DELETE FROM flake_shard_map WHERE server = 'two'));
exchange();
is(app('two', 'SELECT shards, server FROM flake_shard_map'), '[1,2)|uno', 'with an identity they can');
is(code_of('two', 'SELECT flake_id(1)'), '55000', 'and two does not mint the shard of one');

$_->stop foreach values %node;
done_testing();
