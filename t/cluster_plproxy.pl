# Copyright (c) 2026, the flakeid developers

# Ids are unique over several servers, and an id says where its row is.  A lookup
# by id touches only that server, and a change of the map moves the queries of
# open sessions, too.
#
# The files in demo/cluster set up a router with PL/Proxy functions, four data
# servers and 64 shards.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $files = "$FindBin::RealBin/../demo/cluster";
my $shard_count = 64;
my @servers = qw(alpha beta gamma delta);
my $client_count = 8;
my $inserts = 250;
my %node;

sub query
{
	my ($name, $sql) = @_;

	return $node{$name}->safe_psql('postgres', $sql);
}

sub start_node
{
	my ($name) = @_;

	$node{$name} = start_server(
		$name,
		allows_streaming => 'logical',
		conf => q(
flakeid.require_attach = on
track_functions = all
));
	return;
}

# Runs a file of demo/cluster as its head says.
sub set_up
{
	my ($name, $file, %variables) = @_;

	$node{$name}->command_ok(
		[
			'psql',
			'-X',
			'-q',
			'-d',
			$node{$name}->connstr('postgres'),
			(map { "--set=$_=$variables{$_}" } sort keys %variables),
			'--single-transaction',
			"--file=$files/$file"
		],
		"$name: $file");
	return;
}

#
# What is set up, and what the map refuses.
#

start_node('router');
plan skip_all => 'the extension plproxy is not installed for this PostgreSQL'
  unless query('router',
	q(SELECT 1 FROM pg_available_extensions WHERE name = 'plproxy'));

foreach my $i (0 .. $#servers)
{
	my $each = $shard_count / @servers;

	start_node($servers[$i]);
	set_up(
		$servers[$i], 'server.sql',
		first => $i * $each,
		last => ($i + 1) * $each - 1);
}
set_up('router', 'router.sql',
	map { $_ => $node{$_}->connstr('postgres') } @servers);

# PL/Proxy has no way to run a statement, only functions.
query(
	'router', q(
CREATE TABLE received (user_id bigint, id bigint);
CREATE FUNCTION flush_statistics() RETURNS SETOF int LANGUAGE plproxy AS $$
	CLUSTER 'photos';
	RUN ON ALL;
	SELECT 1 FROM pg_stat_force_next_flush();
$$;
));

my $admin = new_session($node{router});
my $session = new_session($node{router});

# After an error PL/Proxy connects anew, with a NOTICE.
value($session, 'SET client_min_messages = warning');

is( error_code(
		ask($admin, q(INSERT INTO flake_shard_map VALUES ('[15,16]', 'beta')))
	),
	'23P01',
	'the map: no shard has two servers');
is( error_code(
		ask($admin,
			q(UPDATE flake_shard_map SET shards = '[16,32]' WHERE server = 'beta')
		)),
	'23P01',
	'the map: nor can ranges grow together');
is( value(
		$admin,
		'SELECT string_agg(flake_server(n), $$ $$ ORDER BY n)'
		  . ' FROM unnest(ARRAY[0, 15, 16, 31, 32, 47, 48, 63]) AS n'),
	'alpha alpha beta beta gamma gamma delta delta',
	'flake_server() knows both ends of a range');
is(error_code(ask($admin, "SELECT flake_server($shard_count)")),
	'02000', 'flake_server(): an error for a shard that is not in the map');
is(error_code(ask($admin, 'SELECT flake_id(5)')),
	'55000', 'the router mints no ids');
my $on_alpha = new_session($node{alpha});
is(error_code(ask($on_alpha, 'SELECT flake_id(16)')),
	'55000', 'a data server mints no ids of shards that it does not have');
is( error_code(
		ask($on_alpha,
			'INSERT INTO photos_0.photo VALUES (flake_id(1), 1, $$$$)')),
	'23514',
	'nor does a shard take the ids of another');
end_session($on_alpha);

#
# Eight clients insert through the router, and keep what they are given.
#

$node{router}->pgbench(
	"--no-vacuum --client=$client_count --transactions=$inserts --define=n=0",
	0,
	[qr{processed: (\d+)/\1\b}],
	[qr{^(?!.*ERROR)}s],
	"$client_count clients insert",
	{
		'017_insert' => q(
\set n :n + 1
\set user_id (:client_id + 8 * :n) % 1000
INSERT INTO received VALUES (:user_id, add_photo(:user_id, 'a photo'));
)
	});

# What is known of the rows on all servers: server, schema, id, user.
sub rows
{
	my @rows;

	foreach my $name (@servers)
	{
		my $select = join ' UNION ALL ',
		  map { "SELECT '$_', id, user_id FROM $_.photo" } split /\n/,
		  query(
			$name,
			q(SELECT nspname FROM pg_namespace WHERE nspname ~ '^photos_\d+$')
		  );

		push @rows,
		  map { [ $name, split /\|/ ] } split /\n/, query($name, $select);
	}
	return @rows;
}

# By the map: shard => server.
sub homes
{
	my $sql = 'SELECT n, flake_server(n)'
	  . " FROM generate_series(0, $shard_count - 1) AS n";

	return map { split /\|/ } split /\n/, query('router', $sql);
}

# Where everything is, after that many inserts.
sub check_rows
{
	my ($what, $expected) = @_;
	my @rows = rows();
	my %home = homes();
	my %shard_for = map { split /\|/ } split /\n/,
	  query('router',
			"SELECT DISTINCT user_id, flake_shard_for(user_id, $shard_count)"
		  . ' FROM received');

	is(scalar @rows, $expected, "$what: every insert has left a row");
	is(first_duplicate([ map { $_->[2] } @rows ]),
		undef, "$what: every id is unique over all servers");
	is_deeply(
		[ sort map { "$_->[3]|$_->[2]" } @rows ],
		[ sort split /\n/, query('router', 'SELECT * FROM received') ],
		"$what: the rows are those that the clients were told of");
	is_deeply([ grep { "photos_" . shard_of($_->[2]) ne $_->[1] } @rows ],
		[], "$what: each id is in the schema of its shard");
	is_deeply([ grep { $home{ shard_of($_->[2]) } ne $_->[0] } @rows ],
		[], "$what: each id is on the server that the map has for its shard");
	is_deeply([ grep { $shard_for{ $_->[3] } != shard_of($_->[2]) } @rows ],
		[], "$what: each id is of its user's shard");
	my %shards = map { shard_of($_->[2]) => 1 } @rows;
	is(scalar keys %shards, $shard_count, "$what: every shard has rows");
	return;
}

my $photos = $client_count * $inserts;
check_rows('after the load', $photos);

# An id of each server, and who its user is.
my %id = map { split /\|/ } split /\n/,
  query('router',
	'SELECT flake_server(flake_shard(id)), min(id) FROM received GROUP BY 1');
my %user = map { split /\|/ } split /\n/,
  query('router', 'SELECT id, user_id FROM received');

#
# By the servers' statistics: who was asked?
#

# For each server the functions that were called and the schemas that were read
# so far, with how often.
sub statistics
{
	my %statistics;

	value($session, 'SELECT count(*) FROM flush_statistics()');
	foreach my $name (@servers)
	{
		# Others bring theirs in when they end: those of the load, and those
		# that PL/Proxy leaves after an error.
		$node{$name}->poll_query_until('postgres',
				'SELECT count(*) = 1 FROM pg_stat_activity WHERE'
			  . q( backend_type = 'client backend' AND pid <> pg_backend_pid())
		) or die "$name: other sessions do not end";
		$statistics{$name} = {
			map { split /\|/ } split /\n/,
			query(
				$name, q(
SELECT funcname, calls FROM pg_stat_user_functions WHERE schemaname = 'shard'
UNION ALL
SELECT schemaname, sum(seq_scan + coalesce(idx_scan, 0))
FROM pg_stat_user_tables WHERE schemaname ~ '^photos' GROUP BY 1
))
		};
	}
	return \%statistics;
}

# What the session asked of which server with this SQL: server => [calls and
# schemas].
sub touched
{
	my ($sql) = @_;
	my $before = statistics();
	my %touched;

	value($session, $sql);
	my $after = statistics();
	foreach my $name (@servers)
	{
		foreach my $key (sort keys %{ $after->{$name} })
		{
			my $times = $after->{$name}{$key} - ($before->{$name}{$key} || 0);

			push @{ $touched{$name} },
			  $key =~ /^photos/ ? $key : "$key $times"
			  if $times > 0;
		}
	}
	return \%touched;
}

is(value($session, 'SELECT count(*) FROM flush_statistics()'),
	@servers, 'RUN ON ALL runs once on each server, not for each shard');
foreach my $name (@servers)
{
	my $schema = 'photos_' . shard_of($id{$name});

	is_deeply(
		touched("SELECT * FROM get_photo($id{$name})"),
		{ $name => [ 'get_photo 1', $schema ] },
		"a lookup by id: $name alone, and one shard of it");
	is( value($session, "SELECT * FROM get_photo($id{$name})"),
		"$id{$name}|$user{$id{$name}}|a photo|0",
		"a lookup by id: $name has it");
}

# What touched() says of a function that is called with all shards.
sub on_all_servers
{
	my ($function) = @_;
	my %home = homes();
	my %touched = map { $_ => ["$function 1"] } @servers;

	# In the order of the schemas' names.
	push @{ $touched{ $home{$_} } }, "photos_$_" foreach sort keys %home;
	return \%touched;
}

is_deeply(
	touched('SELECT count_photos()'),
	on_all_servers('count_photos'),
	'a query over all: once on each server, for each shard that it has');
is(value($session, 'SELECT count_photos()'), $photos, 'and it finds all');
is( value(
		$session, 'SELECT string_agg(id::text, $$ $$) FROM newest_photos(20)'
	),
	query(
		'router',
		'SELECT string_agg(id::text, $$ $$) FROM (SELECT id FROM received'
		  . ' ORDER BY id DESC LIMIT 20) AS r'),
	'the newest of all servers, by id');

# What belongs to a photo.
foreach my $name (@servers)
{
	my $comment;

	is_deeply(
		[
			keys %{
				touched(
					"CREATE TEMP TABLE comment AS SELECT add_comment($id{$name}, 'nice') AS id"
				)
			}
		],
		[$name],
		"a comment goes to $name alone");
	$comment = value($session, 'SELECT id FROM comment; DROP TABLE comment');
	is( shard_of($comment),
		shard_of($id{$name}),
		"a comment's id is of its photo's shard");
	is(value($session, "SELECT comments FROM get_photo($id{$name})"),
		1, "a comment is found with its photo");
}
is( error_code(
		ask($session,
			"SELECT add_comment(flake_make('2020-01-01', 5, 0), 'nice')")),
	'23503',
	'the error of a data server comes with its code');

# 69 is 5, modulo the number of partitions, and PL/Proxy goes by that.
is( error_code(
		ask($session, q(SELECT * FROM get_photo(flake_make(now(), 69, 0))))),
	'42P01',
	'an id of a shard that there is not: an error, not another shard');

#
# Shard 5 moves from alpha to delta, and the map with it: by hand, to see what the
# router does in between.
#

my ($mover) = sort grep { shard_of($_) == 5 } keys %user;
my $add = "INSERT INTO received SELECT $user{$mover},"
  . " add_photo($user{$mover}, 'a photo') RETURNING id";
my $get = "SELECT comments FROM get_photo($mover)";
my $move = q(
UPDATE flake_shard_map SET shards = '[6,15]' WHERE shards @> 5;
INSERT INTO flake_shard_map VALUES ('[0,4]', 'alpha'), ('[5,5]', 'delta'));

sub has
{
	my ($name, $id) = @_;

	return query($name, "SELECT count(*) FROM photos_5.photo WHERE id = $id");
}

value($session, "SELECT add_comment($mover, 'nice')");
value($admin, "BEGIN; $move");
my $id = value($session, $add);
is(has('alpha', $id), 1, 'a change of the map is not seen before COMMIT');
value($admin, 'ROLLBACK');
my $last = value($session, $add);
is(has('alpha', $last), 1, 'after ROLLBACK the old map counts');
$photos += 2;

my $bound = query('alpha', 'SELECT flake_detach(5)');
cmp_ok($bound, '>=', $last, 'the bound is one');
is(error_code(ask($session, $add)),
	'55000', 'detached: inserts are refused, with the code for it');
is(value($session, $get), 1, 'detached: still read');
is(value($session, 'SELECT count_photos()'), $photos, 'and still counted');

query('delta', q(SELECT flake_create_shard(5, 'photos')));
foreach my $table (qw(photo comment))
{
	query('delta',
			"COPY photos_5.$table FROM STDIN;\n"
		  . query('alpha', "COPY photos_5.$table TO STDOUT")
		  . "\n\\.\n");
}
query('delta', "SELECT flake_attach(5, $bound)");
is(value($session, 'SELECT count_photos()'),
	$photos, 'a copy that is not in the map is not counted');
value($admin, "BEGIN; $move; COMMIT");

$id = value($session, $add);
$photos++;
is(has('delta', $id), 1, 'the map has changed: an open session follows');
cmp_ok($id, '>', $bound, 'the next id is above the bound');
is_deeply(
	touched($get),
	{ delta => [ 'get_photo 1', 'photos_5' ] },
	'lookups follow, too');
is(value($session, $get),
	1, 'and find what was moved, and what belongs to it');
is_deeply(
	touched('SELECT count_photos()'),
	on_all_servers('count_photos'),
	'and queries over all');
is(value($session, 'SELECT count_photos()'),
	$photos, 'and what was left behind is not counted');
query('alpha', 'DROP SCHEMA photos_5 CASCADE');
is(value($session, 'SELECT count_photos()'), $photos, 'nor is it missed');
check_rows('after the move', $photos);

#
# Shard 20 moves from beta to gamma, by the program that is made for it.
#

($mover) = sort grep { shard_of($_) == 20 } keys %user;
$node{beta}->command_ok(
	[
		'flakeid-move-shard',
		'--source=' . $node{beta}->connstr('postgres'),
		'--target=' . $node{gamma}->connstr('postgres'),
		'--map=' . $node{router}->connstr('postgres'),
		'--shard=20',
		'--to=gamma',
		'--drop-source'
	],
	'flakeid-move-shard');
is_deeply(
	touched("SELECT comments FROM get_photo($mover)"),
	{ gamma => [ 'get_photo 1', 'photos_20' ] },
	'an open session follows flakeid-move-shard');
$id = value($session,
	"INSERT INTO received SELECT $user{$mover},"
	  . " add_photo($user{$mover}, 'a photo') RETURNING id");
$photos++;
is( query('gamma', "SELECT count(*) FROM photos_20.photo WHERE id = $id"),
	1, 'and so do inserts');
is(value($session, 'SELECT count_photos()'), $photos, 'all are counted');
check_rows('after flakeid-move-shard', $photos);

#
# Other changes.
#

my $connstr = $node{gamma}->connstr('postgres') =~ s/'/''/gr;
value($admin,
		'ALTER SERVER gamma OPTIONS'
	  . " (SET p0 '$connstr application_name=elsewhere')");
value($session, "SELECT * FROM get_photo($id{gamma})");
is( query(
		'gamma',
		q(SELECT count(*) FROM pg_stat_activity WHERE application_name = 'elsewhere')
	),
	1,
	'a new connection string: an open session follows');

value($admin, q(DELETE FROM flake_shard_map WHERE server = 'beta'));
is(error_code(ask($session, "SELECT * FROM get_photo($id{gamma})")),
	'02000', 'a map with a gap: an error, not another server');
value($admin, q(INSERT INTO flake_shard_map VALUES ('[16,19]', 'omega'), ('[21,31]', 'omega')));
is(error_code(ask($session, "SELECT * FROM get_photo($id{gamma})")),
	'42704', 'an unknown server: an error, not another server');
value($admin,
	q(UPDATE flake_shard_map SET server = 'beta' WHERE server = 'omega'));
is(value($session, 'SELECT count_photos()'),
	$photos, 'the map is repaired: the session goes on');

# Nothing of it is lost with a dump.
my $dump = PostgreSQL::Test::Utils::tempdir() . '/router.sql';
$node{router}->command_ok(
	[ 'pg_dump', '-f', $dump, '-d', $node{router}->connstr('postgres') ],
	'the router is dumped');
query('router', 'CREATE DATABASE restored');
$node{router}->command_ok(
	[
		'psql', '-X', '-q', '-v', 'ON_ERROR_STOP=1', '-o', '/dev/null',
		'-d', $node{router}->connstr('restored'),
		'-f', $dump
	],
	'and restored');
is($node{router}->safe_psql('restored', 'SELECT count_photos()'),
	$photos, 'the restored router routes');

end_session($admin, $session);
$_->stop foreach values %node;

done_testing();
