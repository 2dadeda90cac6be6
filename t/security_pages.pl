# Copyright (c) 2026, the flakeid developers

# What a page has a superuser run over all tables runs nothing of a plain user.
#
# mallory may create things in a schema of hers, and no more.  There she has relations
# whose defaults name a generator of others: so flake_columns() lists them.  To read one
# is to execute her code.  Other things of hers have the names that a page looks for.
#
# A trap writes into the server's log as whom it runs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeDoc;
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $docs = "$FindBin::RealBin/../docs";
my $node = start_server('main', conf => 'log_min_messages = log', sql => q{
	CREATE ROLE app;
	CREATE ROLE mallory;
	CREATE EXTENSION flakeid;
	SELECT flake_create_generator('photo_id');
	CREATE TABLE photo (id bigint PRIMARY KEY DEFAULT flake_id(5, 'photo_id'), name text);
	ALTER TABLE photo OWNER TO app;
	CREATE TABLE post (id bigint PRIMARY KEY DEFAULT flake_id(7));
	ALTER TABLE post OWNER TO app;
	INSERT INTO photo (name) VALUES ('summer');
	INSERT INTO post DEFAULT VALUES;

	CREATE SCHEMA mal AUTHORIZATION mallory;
	CREATE SCHEMA photos AUTHORIZATION app;
	CREATE SCHEMA photos_1 AUTHORIZATION app;
	CREATE SCHEMA photos_2 AUTHORIZATION mallory;
	CREATE TABLE photos.photo (id bigint);
	CREATE TABLE photos_1.photo (id bigint);
	SET ROLE mallory;
	CREATE TABLE photos_2.photo (id bigint);

	CREATE FUNCTION mal.trap(n bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
		RAISE LOG 'trap % as %', n, current_user;
		RETURN true;
	END $$;
	CREATE VIEW mal.v AS SELECT 1::bigint AS id WHERE mal.trap(1);
	ALTER VIEW mal.v ALTER id SET DEFAULT flake_id(1, 'photo_id');
	CREATE VIEW mal.w AS SELECT 1::bigint AS id WHERE mal.trap(2);
	ALTER VIEW mal.w ALTER id SET DEFAULT flake_id(1);

	CREATE TYPE mal.e AS ENUM ('a');
	CREATE FUNCTION mal.c(mal.e) RETURNS bigint LANGUAGE sql AS 'SELECT 1::bigint WHERE mal.trap(3)';
	CREATE FUNCTION mal.c(bigint) RETURNS mal.e LANGUAGE sql AS $$SELECT 'a'::mal.e$$;
	CREATE CAST (mal.e AS bigint) WITH FUNCTION mal.c(mal.e) AS IMPLICIT;
	CREATE CAST (bigint AS mal.e) WITH FUNCTION mal.c(bigint) AS ASSIGNMENT;
	CREATE TABLE mal.t (id mal.e DEFAULT flake_id(1, 'photo_id'));
	CREATE TABLE mal.u (id mal.e DEFAULT flake_id(1));
	INSERT INTO mal.t VALUES ('a');
	INSERT INTO mal.u VALUES ('a');

	-- Generators of hers that are the first of all, and to which a page's functions cannot be applied
	SELECT flake_create_generator('mal.days', 'ts:20 shard:4 seq:20 epoch=2020-01-01 unit=1d');
	SELECT flake_create_generator('mal.over', 'ts:20 shard:4 seq:20 epoch=2020-01-01');
	SELECT flake_create_generator('mal.far', 'ts:50 shard:4 seq:4 epoch=2020-01-01 unit=1d');
	SELECT setval('mal.far', (SELECT seqmax FROM pg_sequence WHERE seqrelid = 'mal.far'::regclass) - 1000);
	SELECT flake_detach(1, 'mal.far');
	RESET ROLE;
	SELECT flake_create_generator('last_id');
});

# The blocks of SQL below a heading of a page
sub statements
{
	my ($page, $heading) = @_;

	return map { $_->{text} }
	  grep { $_->{language} eq 'sql' && ($_->{headings}[-1] // '') eq $heading } blocks("$docs/$page.md");
}

# What a superuser's psql says to that, and the traps that it has sprung
sub run_as_superuser
{
	my ($sql) = @_;
	my $from = -s $node->logfile;
	my ($code, $out, $err) = $node->psql('postgres', $sql);

	$node->safe_psql('postgres', 'SELECT 1');
	return ($out, $err, join ' ', slurp_file($node->logfile, $from) =~ /trap \d+ as \w+/g);
}

is($node->safe_psql('postgres', q{SELECT string_agg(relation::text, ' ' ORDER BY relation::text) FROM flake_columns('photo_id')}),
	'mal.t mal.v photo', 'flake_columns() lists what is of others, too');
like((run_as_superuser('SELECT flake_shard(id) FROM mal.v; SELECT flake_shard(id) FROM mal.t'))[2],
	qr/trap 1 as (?!mallory)\w+ trap 3 as (?!mallory)/, 'to read that is to execute it');

foreach my $case (
	[ 'runbooks', 'Keep the rows', 0, 'photo_id', 5 ],
	[ 'runbooks', 'Keep the rows', 0, 'flake_default', 7 ],
	[ 'runbooks', 'The clock jumped ahead', 0, 'photo_id', qr/^mal\.v\|id\|mallory$/m ],
	[ 'operations', 'The morning after', 0, 'photo_id', qr/^mal\.w\|id\|mallory$/m ])
{
	my ($page, $heading, $number, $generator, $expected) = @$case;
	my $name = "$page, $heading, $generator";
	my $sql = (statements($page, $heading))[$number] =~ s/\bphoto_id\b/$generator/gr;
	my ($out, $err, $traps) = run_as_superuser($sql);

	is($err, '', "$name: no error");
	is($traps, '', "$name: nothing of hers is executed");
	ref $expected ? like($out, $expected, "$name: it says whose a table is") : is($out, $expected, "$name: the shards of trusted tables");
}

# What a page does for all generators is done for those to which it can be.
my ($raise) = grep { /flake_advance\(%L/ } statements('operations', 'Restore to an earlier time');
my $horizon = q{SELECT min(flake_horizon_time(generator)) FROM flake_generators WHERE generator IN ('flake_default', 'photo_id', 'last_id')};
my $before = $node->safe_psql('postgres', 'SELECT clock_timestamp()');
my (undef, $err) = run_as_superuser("SET client_min_messages = error; " . $raise =~ s/^.*part_number.*\n//mr);
unlike($err, qr/ERROR:  (?!ids of layout "ts:20)/, 'operations: to raise all generators, with one error');
is($node->safe_psql('postgres', "SELECT ($horizon) > '$before'::timestamptz + interval '9 s'"), 't', 'all others are raised');
like($node->safe_psql('postgres', q{SELECT what, detail FROM flake_health WHERE object = 'mal.far'}),
	qr/^horizon_ahead\|.* more than 290000 years ahead/, 'flake_health finds a horizon past all timestamps');

# A schema of hers with a name that a loop looks for
my ($loop) = grep { /\\gexec/ && /ADD COLUMN place/ } statements('sharding', 'A schema for each shard');
is((run_as_superuser($loop))[1], '', 'sharding: a loop over schemas');
is($node->safe_psql('postgres', q{SELECT string_agg(attrelid::regclass::text, ' ' ORDER BY attrelid::regclass::text) FROM pg_attribute WHERE attname = 'place'}),
	'photos.photo photos_1.photo', 'it changes the shards, and nothing of hers');

$node->stop;
done_testing();
