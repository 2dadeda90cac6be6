# Copyright (c) 2026, the flakeid developers

# A database of an earlier flakeid goes on with this one: after the library was replaced
# under running sessions and ALTER EXTENSION UPDATE, after pg_upgrade, and after dump and
# restore.  Generators, fences, leases, partitions, keys and the positions of readers
# are as they were, and ids go on above.  Each library serves the other's SQL objects.
#
# "make release-check BASE=v1.0.0" installs the earlier flakeid and runs this test.

use strict;
use warnings;

use File::Copy;
use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeExtension;
use FlakeTest;
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

plan skip_all => 'there is no earlier flakeid: see make release-check'
  unless $ENV{EARLIER_BINDIR};

my $old_bindir = $ENV{EARLIER_BINDIR};
chomp(my $new_bindir = `$ENV{PG_CONFIG} --bindir`);
my $directory = PostgreSQL::Test::Utils::tempdir();

# That installation's server, not started.
sub make_server
{
	my ($name, $bindir) = @_;
	my $node =
	  PostgreSQL::Test::Cluster->new($name, install_path => $bindir =~ s{/bin$}{}r);

	$node->init;
	$node->append_conf('postgresql.conf', 'log_statement = none');
	return $node;
}

# Something of everything
my $use = q(
CREATE ROLE clerk;
CREATE EXTENSION flakeid;
SELECT flake_create_generator('own', 'snowflake'), flake_create_generator('numbers', 'segment', after => 1000),
	flake_create_generator('document_id', 'uuidv7'), flake_create_generator('"Other"', 'ts:41 shard:13 seq:10 epoch=2045-01-01');
GRANT USAGE ON SEQUENCE own TO clerk;
CREATE TABLE item (
	n serial,
	id bigint PRIMARY KEY DEFAULT flake_id(5) CHECK (flake_shard(id) = 5),
	own bigint DEFAULT flake_id(6, 'own'),
	number bigint DEFAULT flake_id(0, 'numbers'),
	other bigint DEFAULT flake_id(3, '"Other"'),
	document uuid DEFAULT flake_uuidv7(5, 'document_id'),
	wide uuid DEFAULT flake_uuid(),
	object text DEFAULT flake_objectid(),
	made timestamptz GENERATED ALWAYS AS (flake_timestamp(id)) STORED
);
CREATE INDEX ON item (flake_shard(own, 'snowflake'));
INSERT INTO item SELECT FROM generate_series(1, 1000);
SELECT count(*) FROM flake_ids(9, 1000000);
-- fences, leases, routes
SELECT flake_detach(7), flake_detach(8, 'own'), flake_attach(5), flake_attach(6, 0, 'own');
SELECT flake_lease('a process', '1 day'), flake_lease('another', '2 days', 'own');
INSERT INTO flake_shard_map VALUES ('[0,99]', 'here'), ('[100,199]', 'there');
-- ids of past times
SELECT flake_detach(8000);
CREATE TABLE past AS SELECT flake_backfill(ts, 8000) AS id, ts
FROM generate_series(timestamptz '2020-01-01Z', '2020-01-31Z', '1 day') AS ts;
-- partitions
CREATE TABLE event (id bigint PRIMARY KEY DEFAULT flake_id(5), what text) PARTITION BY RANGE (id);
SELECT flake_create_partitions('event', '1 month', now() - interval '1 month', now() + interval '2 months', zone => 'UTC');
INSERT INTO event (what) SELECT 'before ' || n FROM generate_series(1, 100) AS n;
-- a reader that is at half of them
CREATE TABLE reader AS SELECT id AS position FROM event ORDER BY id OFFSET 49 LIMIT 1;
-- layouts, keys
CREATE TABLE layout AS SELECT name, layout FROM flake_presets;
CREATE SERVER orders FOREIGN DATA WRAPPER flake_key;
SELECT flake_add_key('orders', 'public');
CREATE TABLE sealed AS SELECT id, flake_seal_text(id, 'orders') AS text FROM item;
-- a column that was migrated
CREATE TABLE note (id serial PRIMARY KEY);
INSERT INTO note SELECT FROM generate_series(1, 10);
SELECT flake_migrate('note', 'id', 5);
INSERT INTO note SELECT FROM generate_series(1, 10);
);

# What must be the same afterwards; it creates nothing
my $state = q(
SET timezone = 'UTC';
SELECT generator, layout, owner FROM flake_generators ORDER BY generator::text;
SELECT * FROM flake_shards ORDER BY generator::text, shard;
SELECT * FROM flake_leases ORDER BY generator::text, shard;
SELECT * FROM flake_shard_map ORDER BY shards;
SELECT partition, since, upto FROM flake_partitions('event') ORDER BY since;
SELECT relation::text, attribute FROM flake_columns('own') UNION ALL SELECT relation::text, attribute FROM flake_columns('flake_default') ORDER BY 1, 2;
SELECT adrelid::regclass::text, adnum, pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid::regclass::text !~ '^(flake|_flake)' ORDER BY 1, 2;
SELECT relname, relacl FROM pg_class WHERE relname IN ('own', 'numbers', 'document_id', 'flake_default') ORDER BY 1;
SELECT md5(string_agg(item::text, ' ' ORDER BY n)) FROM item;
SELECT md5(string_agg(event::text, ' ' ORDER BY id)) FROM event;
SELECT md5(string_agg(past::text, ' ' ORDER BY id)) FROM past;
SELECT count(*) FILTER (WHERE flake_shard(id) = 5), count(*) FROM note;
TABLE reader;
SELECT name, l.layout FROM layout AS l ORDER BY name COLLATE "C";
SELECT count(*), bool_and(flake_unseal_text(text, 'orders') = id) FROM sealed;
SELECT indexdef FROM pg_indexes WHERE tablename = 'item' ORDER BY 1;
);

sub same_state
{
	my ($node, $before, $name) = @_;

	is_deeply([ split /\n/, $node->safe_psql('app', $state) ], [ split /\n/, $before ],
		"$name: all is as before");
	return;
}

# How far ids have gone
my $horizons = q(SELECT json_object_agg(generator, horizon) FROM flake_generators WHERE horizon IS NOT NULL);

# What the libraries say when they are of another version than the SQL objects
my $other_version = qr/WARNING:  (?:01000: )?extension "flakeid" has version \S+, but its library is for version/;

# All functions of the extension in C that were declared with these names are in the
# library of this session.
my $declared = q(SELECT string_agg(DISTINCT quote_literal(prosrc), ', ') FROM pg_proc WHERE probin = '$libdir/flakeid');

sub symbols
{
	my ($names) = @_;

	return "SELECT count(*) > 100 FROM (SELECT fmgr_c_validator(oid) FROM pg_proc WHERE probin = '\$libdir/flakeid' AND prosrc IN ($names) OFFSET 0) AS found";
}

# That ids go on in a database where $before was the state and $reached the horizons.
sub goes_on
{
	my ($node, $dbname, $how, $reached) = @_;
	my $run = sub { return $node->safe_psql($dbname, $_[0]); };

	is( $run->(
			"SELECT count(*) FROM json_each_text('$reached') AS b (generator, horizon)"
			  . ' LEFT JOIN flake_generators AS h ON h.generator::text = b.generator WHERE h.horizon < b.horizon::bigint IS NOT false'
		),
		0,
		"$how: no horizon is lower");
	$run->('INSERT INTO item SELECT FROM generate_series(1, 1000)');
	is( $run->(
			q(
SELECT count(*), count(*) FILTER (WHERE id <= p_id OR own <= p_own OR number <= p_number OR other <= p_other
	OR document <= p_document OR wide <= p_wide OR object <= p_object COLLATE "C")
FROM (SELECT *, lag(id) OVER w AS p_id, lag(own) OVER w AS p_own, lag(number) OVER w AS p_number, lag(other) OVER w AS p_other,
		lag(document) OVER w AS p_document, lag(wide) OVER w AS p_wide, lag(object) OVER w AS p_object
	  FROM item WINDOW w AS (ORDER BY n)) AS pairs)),
		'2000|0',
		"$how: ids of each kind go on above");
	is( error_code(ask_once($node, $_, $dbname)),
		'55000',
		"$how: no ids of a shard that is not here: $_")
	  foreach 'SELECT flake_id(7)', q{SELECT flake_id(8, 'own')}, 'SELECT flake_id(8000)',
	  'SELECT flake_id((SELECT shard FROM flake_leases WHERE owner = $$a process$$))';
	is( $run->(
			q{SELECT flake_renew('a process', '3 days') > now() + interval '2 days';
SELECT shard <> ALL (SELECT shard FROM flake_leases WHERE owner = 'a process') FROM flake_lease('a third', '1 hour');
SELECT flake_release('a process')}),
		"t\nt\nt",
		"$how: a lease is renewed, another one is of another shard, and is given back");
	is($run->(q{SELECT flake_timestamp(flake_backfill('2020-02-01Z', 8000)) = '2020-02-01Z'}),
		't', "$how: ids of past times go on");
	$run->(q{INSERT INTO event (what) SELECT 'after ' || n FROM generate_series(1, 100) AS n});
	$run->('SELECT pg_sleep(0.01)');
	is( $run->(
			'SELECT count(*), count(DISTINCT id) FROM event, reader WHERE id > position AND id <= flake_settled()'
			  . ' UNION ALL SELECT count(*), count(DISTINCT tableoid) FROM event'),
		"150|150\n200|1",
		"$how: a reader gets what it has not read, and no more");
	is( $run->(
			q{SELECT count(*) > 0 FROM flake_create_partitions('event', '1 month', now() + interval '2 months', now() + interval '5 months', zone => 'UTC')}
		),
		't',
		"$how: partitions go on");
	return;
}

# What follows in every database: the update, and that it is as in a new one.
sub update
{
	my ($node, $dbname, $how) = @_;

	$node->safe_psql($dbname, 'ALTER EXTENSION flakeid UPDATE');
	$node->safe_psql('postgres', "CREATE DATABASE new_$dbname");
	$node->safe_psql("new_$dbname", 'CREATE EXTENSION flakeid');
	is_deeply(
		[ split /\n/, describe_extension($node, $dbname) ],
		[ split /\n/, describe_extension($node, "new_$dbname") ],
		"$how: the extension is the same as a new one");
	return;
}


# The earlier flakeid, with something of everything

my $old = make_server('old', $old_bindir);
$old->start;
$old->safe_psql('postgres', 'CREATE DATABASE app');
$old->safe_psql('app', $use);
my ($version) = $old->safe_psql('app', q{SELECT extversion FROM pg_extension WHERE extname = 'flakeid'});
my $names = $old->safe_psql('app', $declared);
my $before = $old->safe_psql('app', $state);
my $reached = $old->safe_psql('app', $horizons);


# Dump and restore

$old->command_ok([ 'pg_dump', '-Fc', '-d', $old->connstr('app'), '-f', "$directory/dump" ], 'pg_dump');
my $new = make_server('new', $new_bindir);
$new->start;
$new->safe_psql('postgres', 'CREATE ROLE clerk; CREATE DATABASE app');
$new->command_ok([ 'pg_restore', '--exit-on-error', '-d', $new->connstr('app'), "$directory/dump" ],
	'pg_restore');
my $present = $new->safe_psql('app', q{SELECT extversion FROM pg_extension WHERE extname = 'flakeid'});
isnt($present, $version, "from version $version to version $present");
same_state($new, $before, 'dump and restore');
update($new, 'app', 'dump and restore');
goes_on($new, 'app', 'dump and restore', $reached);
$new->stop;


# pg_upgrade, which leaves the earlier server as it is

$old->stop;
my $upgraded = make_server('upgraded', $new_bindir);
chdir $directory or die "$directory: $!";
command_ok(
	[
		"$new_bindir/pg_upgrade", '--old-bindir', $old_bindir, '--new-bindir', $new_bindir,
		'--old-datadir', $old->data_dir, '--new-datadir', $upgraded->data_dir,
		'--socketdir', $upgraded->host, '--old-port', $old->port, '--new-port', $upgraded->port
	],
	'pg_upgrade');
$upgraded->start;
is($upgraded->safe_psql('app', q{SELECT extversion FROM pg_extension WHERE extname = 'flakeid'}),
	$version, 'pg_upgrade: the SQL objects are of the earlier version');
same_state($upgraded, $before, 'pg_upgrade');
update($upgraded, 'app', 'pg_upgrade');
same_state($upgraded, $before, 'pg_upgrade and update');
goes_on($upgraded, 'app', 'pg_upgrade', $reached);
$upgraded->stop;


# The library is replaced under running sessions, as a package does it: those that have
# the earlier one keep it.

$old->start;
my $early = new_session($old, 'app');
my $id = value($early, 'SELECT flake_id(5)');

sub replace_files
{
	my ($of) = @_;

	foreach my $kind ('pkglibdir', 'sharedir')
	{
		chomp(my $from = `$new_bindir/pg_config --$kind`);
		chomp(my $to = `$old_bindir/pg_config --$kind`);
		my $pattern = $kind eq 'sharedir' ? 'extension/flakeid*' : 'flakeid.so';

		foreach my $file (glob "$from/$pattern")
		{
			my $name = substr $file, length $from;

			copy($file, "$to$name.new") && chmod(0755, "$to$name.new") && rename("$to$name.new", "$to$name")
			  or die "$to$name: $!";
		}
	}
	return;
}

replace_files();
my $late = new_session($old, 'app');
my ($first, $warning) = ask($late, 'SELECT flake_id(5)');
cmp_ok($first, '>', $id, 'the new library, and SQL objects of before: ids go on');
like($warning, $other_version, 'it says that the extension was not updated');
unlike((ask($late, 'SELECT flake_id(6)'))[1], $other_version, 'once');
is(value($late, symbols($names)), 't', 'the new library has all functions that SQL objects of before name');
same_state($old, $before, 'SQL objects of before');

# Sessions of both mint one shard at a time.
sub alternate
{
	my ($when) = @_;
	my @ids = map { value($_, 'SELECT flake_id(5)'), (split /\n/, value($_, 'SELECT flake_ids(5, 3)')) }
	  map { $early, $late } 1 .. 50;
	my @uuids = map { value($_, 'SELECT flake_uuidv7(5)') } map { $early, $late } 1 .. 50;
	my %seen;

	is_deeply(\@ids, [ sort { $a <=> $b } grep { !$seen{$_}++ } @ids ],
		"$when: sessions with either library mint ids that increase");
	is_deeply(\@uuids, [ sort grep { !$seen{$_}++ } @uuids ],
		"$when: and UUIDs");
	return;
}

alternate('before the update');
update($old, 'app', 'a running server');
alternate('after the update');
is(value($early, symbols($names)), 't', 'the earlier library has all functions that it had');
same_state($old, $before, 'update');
end_session($early, $late);
goes_on($old, 'app', 'a running server', $reached);

# And after a restart nobody has the earlier library.
$old->restart;
is((ask_once($old, 'SELECT flake_id(5) > 0', 'app'))[1], '', 'after the update and a restart: no warning');
$old->stop;

done_testing();
