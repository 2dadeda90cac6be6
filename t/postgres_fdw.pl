# Copyright (c) 2026, the flakeid developers

# The shards of two servers work as the foreign partitions of one table on a third,
# the coordinator.  A lookup by id reads one partition, ranges of time are looked
# up where the rows are, and ids are minted where the rows go.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my %home = (0 => 'alpha', 1 => 'alpha', 2 => 'beta', 3 => 'beta');
my @shards = sort keys %home;

# All three mint what is attached to them and nothing else.
my %node;
foreach my $name ('alpha', 'beta', 'coordinator')
{
	$node{$name} = start_server(
		$name,
		conf => q(
flakeid.require_attach = on
max_prepared_transactions = 2
),
		sql => 'CREATE EXTENSION flakeid');
}

# The data servers have a schema for each of their shards, after a template.
foreach my $name ('alpha', 'beta')
{
	$node{$name}->safe_psql(
		'postgres', q(
CREATE SCHEMA album
	CREATE TABLE photo (
		id bigint PRIMARY KEY DEFAULT flake_id(),
		user_id bigint NOT NULL,
		title text
	)
	CREATE TABLE comment (
		id bigint PRIMARY KEY DEFAULT flake_id(),
		photo_id bigint NOT NULL REFERENCES album.photo,
		body text
	);
));
}

sub create_shard
{
	my ($name, $n, $after) = @_;

	$node{$name}->safe_psql(
		'postgres', qq(
SELECT flake_attach($n, $after);
SELECT flake_create_shard($n, 'album');
ALTER TABLE album_$n.photo ADD CHECK (flake_shard_for(user_id, 4) = $n);
));
	return;
}

create_shard($home{$_}, $_, 'NULL') foreach @shards;

# The coordinator: photo is for finding by id, photo_by_user for adding to and
# finding by user. What is generated here is left to the server to fill in.
my $coordinator = $node{coordinator};
$coordinator->safe_psql('postgres', 'CREATE EXTENSION postgres_fdw');
foreach my $name ('alpha', 'beta')
{
	my ($host, $port) = ($node{$name}->host, $node{$name}->port);

	$coordinator->safe_psql(
		'postgres', qq(
CREATE SERVER $name FOREIGN DATA WRAPPER postgres_fdw OPTIONS
	(host '$host', port '$port', dbname 'postgres', extensions 'flakeid');
CREATE USER MAPPING FOR CURRENT_USER SERVER $name;
));
}
$coordinator->safe_psql(
	'postgres', q(
INSERT INTO flake_shard_map VALUES ('[0,1]', 'alpha'), ('[2,3]', 'beta');

CREATE TABLE photo (id bigint, user_id bigint, title text)
	PARTITION BY LIST (flake_shard(id));
CREATE TABLE photo_by_user (
	id bigint GENERATED ALWAYS AS (NULL) STORED, user_id bigint, title text
) PARTITION BY LIST (flake_shard_for(user_id, 4));
CREATE TABLE comment (
	id bigint GENERATED ALWAYS AS (NULL) STORED, photo_id bigint, body text
) PARTITION BY LIST (flake_shard(photo_id));

CREATE PROCEDURE create_partitions(shard int) LANGUAGE plpgsql AS $$
DECLARE
	parent text;
	remote text;
BEGIN
	FOR parent, remote IN
		VALUES ('photo', 'photo'), ('photo_by_user', 'photo'), ('comment', 'comment')
	LOOP
		EXECUTE format('CREATE FOREIGN TABLE %I PARTITION OF %I'
			|| ' FOR VALUES IN (%s) SERVER %I OPTIONS (schema_name %L, table_name %L)',
			parent || '_' || shard, parent, shard, flake_server(shard),
			'album_' || shard, remote);
	END LOOP;
END
$$;
CALL create_partitions(0);
CALL create_partitions(1);
CALL create_partitions(2);
CALL create_partitions(3);

CREATE FUNCTION photo_by_id(wanted bigint) RETURNS SETOF photo LANGUAGE sql STABLE
BEGIN ATOMIC
	SELECT * FROM photo WHERE id = wanted AND flake_shard(id) = flake_shard(wanted);
END;
));

my $session = new_session($coordinator);

# How many rows an INSERT returns, and whether what it returns is always true.
sub returned
{
	my ($insert) = @_;

	return value($session,
		"WITH a (ok) AS ($insert) SELECT count(*), bool_and(ok) FROM a");
}

# The rows that one of the servers holds of a table.
sub rows_on
{
	my ($name, $table) = @_;

	return $node{$name}->safe_psql(
		'postgres',
		join(' UNION ALL ',
			map  { "SELECT * FROM album_$_.$table" }
			grep { $home{$_} eq $name } @shards)
		  . ' ORDER BY 1');
}

sub plan_of
{
	my ($sql) = @_;

	return value($session, "EXPLAIN (VERBOSE, COSTS OFF) $sql");
}

# The partitions that a plan reads, alone or joined by their server, and what it
# asks of their servers.
sub partitions
{
	my %seen =
	  map { $_ => 1 }
	  $_[0] =~ /Foreign (?:Scan|Update) on (?:public\.)?(\w+)/g;

	foreach my $relations ($_[0] =~ /Relations: (.*)/g)
	{
		$seen{$_} = 1 foreach $relations =~ /\((?:public\.)?(\w+) /g;
	}
	return join ' ', sort keys %seen;
}

sub remote
{
	return $_[0] =~ /Remote SQL: (.*)/g;
}

#
# Ids are minted on the server where the row goes, and come back from there.
#

is( returned(
		q(INSERT INTO photo_by_user (user_id, title)
			SELECT i, 'photo ' || i FROM generate_series(1, 100) AS i
			RETURNING flake_shard(id) = flake_shard_for(user_id, 4))),
	'100|t',
	'INSERT: each id returned is of its user\'s shard');
is( value(
		$session,
		q(SELECT count(*), count(DISTINCT id), bool_and(tableoid::regclass::text =
			'photo_' || flake_shard_for(user_id, 4)) FROM photo)),
	'100|100|t',
	'found by id: the same rows, each in its partition');
is( returned(
		q(INSERT INTO comment (photo_id, body)
			SELECT id, 'nice' FROM photo, generate_series(1, 3)
			RETURNING flake_shard(id) = flake_shard(photo_id))),
	'300|t',
	'INSERT of children: each id is of its parent\'s shard');

# In batches, and by COPY.
value($session, q(ALTER SERVER alpha OPTIONS (ADD batch_size '10')));
value($session, q(ALTER SERVER beta OPTIONS (ADD batch_size '10')));
value(
	$session, q(INSERT INTO photo_by_user (user_id, title)
	SELECT i, 'in a batch' FROM generate_series(1, 100) AS i));
$coordinator->safe_psql(
	'postgres', join "\n",
	'COPY photo_by_user (user_id, title) FROM stdin;',
	(map { "$_\tcopied" } 1 .. 100),
	'\.', '');
is( value(
		$session,
		q(SELECT title, count(*), bool_and(flake_shard(id) = flake_shard_for(user_id, 4))
		FROM photo WHERE title NOT LIKE 'photo%' GROUP BY 1 ORDER BY 1)),
	"copied|100|t\nin a batch|100|t",
	'INSERT in batches and COPY: also so');

foreach my $name ('alpha', 'beta')
{
	is( $node{$name}->safe_psql(
			'postgres',
			q(SELECT string_agg(shard::text, ' ' ORDER BY shard) FROM flake_stat)
		),
		join(' ', grep { $home{$_} eq $name } @shards),
		"$name has minted its shards");
}
is(value($session, 'SELECT count(*) FROM flake_stat'),
	0, 'the coordinator has minted none');

# Ids of elsewhere, as in a load, go where their shard is.
my $user = value($session,
	'SELECT min(i) FROM generate_series(1, 100) AS i WHERE flake_shard_for(i, 4) = 2'
);
value($session,
	"INSERT INTO photo VALUES (flake_make('2026-01-05Z', 2, 7), $user, 'loaded')"
);
like(rows_on('beta', 'photo'),
	qr/\|loaded$/m, 'a row with an id: stored where its shard is');

#
# Nothing is minted, or put where it does not belong, by accident.
#

is(code($session, q(INSERT INTO photo VALUES (flake_id(2), 1, 'here'))),
	'55000', 'the coordinator has no shard to mint');
is( code($session, q(INSERT INTO photo (user_id, title) VALUES (1, 'no id'))),
	'23514',
	'without an id there is no partition');
is( code($session, q(INSERT INTO photo_by_user (id, user_id) VALUES (1, 1))),
	'428C9',
	'an id cannot be given where the server is to mint it');
is(code($session, 'UPDATE photo_by_user SET user_id = user_id + 1'),
	'23514', 'a photo cannot go to a user of another shard');
is(code($session, 'UPDATE photo SET id = id + 1024'),
	'23514', 'an id cannot go to another shard');

#
# Pruning
#

my $all = join ' ', map { "photo_$_" } @shards;
my ($id, $shard) = split /\|/,
  value($session,
	'SELECT id, flake_shard(id) FROM photo WHERE user_id = 7 ORDER BY id LIMIT 1'
  );
my $by_id = "id = $id AND flake_shard(id) = flake_shard($id)";

is(partitions(plan_of("SELECT * FROM photo WHERE $by_id")),
	"photo_$shard", 'by id and shard: one partition');
is(value($session, "SELECT user_id, title FROM photo WHERE $by_id"),
	'7|photo 7', 'and the row');
is(partitions(plan_of("SELECT * FROM photo WHERE id = $id")),
	$all, 'by id alone: all of them');
is(partitions(plan_of("SELECT * FROM photo_by_id($id)")),
	"photo_$shard", 'by the function: one partition');
is(partitions(plan_of('SELECT * FROM photo WHERE flake_shard(id) = 2')),
	'photo_2', 'one shard: one partition');
is( partitions(
		plan_of(
				'SELECT * FROM photo_by_user WHERE user_id = 7'
			  . ' AND flake_shard_for(user_id, 4) = flake_shard_for(7, 4)')),
	"photo_by_user_$shard",
	'by user: one partition');
is(partitions(plan_of('SELECT * FROM photo')), $all, 'no condition: all');
is(partitions(plan_of("UPDATE photo SET title = 'seven' WHERE $by_id")),
	"photo_$shard", 'UPDATE: one partition');

# A plan that is made before the id is known
value($session,
		'SET plan_cache_mode = force_generic_plan;'
	  . ' PREPARE by_id(bigint) AS SELECT * FROM photo_by_id($1)');
my $plan = plan_of("EXECUTE by_id($id)");
is(partitions($plan), "photo_$shard", 'by a parameter: one partition');
like($plan, qr/Subplans Removed: 3/, 'chosen when it is run');
like(value($session, "EXECUTE by_id($id)"), qr/^$id\|7\|/, 'and the row');
value($session, 'RESET plan_cache_mode');

#
# Time
#

my $range = q[flake_between(id, '2026-01-01Z', '2026-02-01Z')];
is( scalar(
		grep { /\(id >= \d+::/ && /\(id < \d+::/ }
		  remote(plan_of("SELECT * FROM photo WHERE $range"))),
	4,
	'a range of time is a range of ids to the servers');
is(value($session, "SELECT title FROM photo WHERE $range"),
	'loaded', 'and finds the row');

$range =
  q[flake_between(id, (SELECT now() - interval '1 h'), (SELECT now() + interval '1 min'))];
is( scalar(
		grep {
				 /\(id >= public\.flake_lower\(\$\d::/
			  && /\(id < public\.flake_lower\(\$\d::/
		} remote(plan_of("SELECT * FROM photo WHERE $range"))),
	4,
	'also if the times are known only when it is run');
is(value($session, "SELECT count(*) FROM photo WHERE $range"),
	300, 'and finds the rows');

$range = q[flake_between(id, now() - interval '1 h', now())];
is( scalar(
		grep { /WHERE/ } remote(plan_of("SELECT * FROM photo WHERE $range"))),
	0,
	'now() itself is not sent: all rows are fetched');

#
# Joins. The planner weighs a join by the servers against one by itself: leave it
# no choice.
#

my $join = 'FROM photo AS p JOIN comment AS c ON c.photo_id = p.id'
  . ' AND flake_shard(c.photo_id) = flake_shard(p.id)';
my $of_one = "WHERE p.id = $id AND flake_shard(p.id) = flake_shard($id)";
value($session,
		'ANALYZE photo, comment; SET enable_partitionwise_join = on;'
	  . ' SET enable_hashjoin = off; SET enable_mergejoin = off;'
	  . ' SET enable_nestloop = off');
is( scalar(
		grep { / INNER JOIN / } remote(plan_of("SELECT title, body $join"))),
	4,
	'parents and children are joined by their servers');
is(value($session, "SELECT count(*) $join"), 300, 'all of them');
is( partitions(plan_of("SELECT title, body $join $of_one")),
	"comment_$shard photo_$shard",
	'those of one parent: one partition of each');
is(value($session, "SELECT count(*) $join $of_one"), 3, 'and its children');
value($session, 'RESET ALL');

#
# Partitioned by flake_shard_ops, the id alone is enough.
#

value(
	$session, q(
CREATE TABLE picture (id bigint, user_id bigint, title text)
	PARTITION BY HASH (id flake_shard_ops);
CREATE TABLE note (id bigint, photo_id bigint, body text)
	PARTITION BY HASH (photo_id flake_shard_ops);
));
foreach my $n (@shards)
{
	value($session,
		"CREATE FOREIGN TABLE ${_}_$n PARTITION OF $_ FOR VALUES WITH (MODULUS 4, REMAINDER $n) SERVER $home{$n}"
		  . " OPTIONS (schema_name 'album_$n', table_name '"
		  . ($_ eq 'note' ? 'comment' : 'photo') . "')")
	  foreach qw(picture note);
}
is( value(
		$session,
		q(SELECT count(*), bool_and(tableoid::regclass::text = 'picture_' || flake_shard(id)) FROM picture)
	),
	value($session, 'SELECT count(*), true FROM photo'),
	'flake_shard_ops: each row is in the partition of its shard');
is(partitions(plan_of("SELECT * FROM picture WHERE id = $id")),
	"picture_$shard", 'by id: one partition');
is( partitions(plan_of("UPDATE picture SET title = 'seven' WHERE id = $id")),
	"picture_$shard",
	'UPDATE: one partition');
value($session,
		'ANALYZE picture, note; SET enable_partitionwise_join = on;'
	  . ' SET enable_hashjoin = off; SET enable_mergejoin = off;'
	  . ' SET enable_nestloop = off');
$join = 'FROM picture JOIN note ON photo_id = picture.id';
is(scalar(grep { / INNER JOIN / } remote(plan_of("SELECT title, body $join"))),
	4, 'parents and children are joined by their servers');
is( partitions(plan_of("SELECT title, body $join WHERE picture.id = $id")),
	"note_$shard picture_$shard",
	'those of one parent: one partition of each');
is(value($session, "SELECT count(*) $join WHERE picture.id = $id"),
	3, 'and its children');
value($session, 'RESET ALL');

#
# Transactions
#

my $before = value($session, 'SELECT count(*) FROM photo');
my $insert =
  q(INSERT INTO photo_by_user (user_id) SELECT i FROM generate_series(1, 20) AS i);
value($session, "BEGIN; $insert; ROLLBACK");
is(value($session, 'SELECT count(*) FROM photo'),
	$before, 'ROLLBACK undoes on all servers');
value($session, "BEGIN; $insert");
is(code($session, q(PREPARE TRANSACTION 'two-phase')),
	'0A000', 'there is no two-phase commit');
is(value($session, 'SELECT count(*) FROM photo'), $before, 'which undoes it');

#
# A trigger on a server mints siblings. What comes by postgres_fdw has nothing
# but pg_catalog in its search_path.
#

$node{alpha}->safe_psql(
	'postgres', q(
CREATE TABLE reply (id bigint PRIMARY KEY, comment_id bigint, body text,
	CHECK (flake_shard(id) = flake_shard(comment_id)));
CREATE FUNCTION beside_comment() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	NEW.id := public.flake_sibling(NEW.comment_id);
	RETURN NEW;
END
$$;
CREATE TRIGGER beside_comment BEFORE INSERT ON reply
FOR EACH ROW WHEN (NEW.id IS NULL) EXECUTE FUNCTION beside_comment();
));
value($session,
		'CREATE FOREIGN TABLE reply (id bigint, comment_id bigint, body text)'
	  . ' SERVER alpha');
my $comments =
  value($session,
	'SELECT count(*) FROM comment WHERE flake_shard(photo_id) IN (0, 1)');
is( returned(
		q(INSERT INTO reply (comment_id)
			SELECT id FROM comment WHERE flake_shard(photo_id) IN (0, 1)
			RETURNING flake_shard(id) = flake_shard(comment_id))),
	"$comments|t",
	'a trigger on the server: ids of the parents\' shards come back');

#
# Shard 1 goes to the other server. A foreign table cannot change its server, but
# be replaced by another.
#

sub found
{
	return value($session,
			'SELECT min(id), max(id), count(*), count(DISTINCT id) FROM photo'
		  . ' WHERE flake_shard(id) = 1');
}

$user = value($session,
	'SELECT min(i) FROM generate_series(1, 100) AS i WHERE flake_shard_for(i, 4) = 1'
);
$insert =
  "INSERT INTO photo_by_user (user_id, title) VALUES ($user, 'moved') RETURNING id";
my $bound = $node{alpha}->safe_psql('postgres', 'SELECT flake_detach(1)');
is(code($session, $insert), '55000', 'detached on its server: an error here');

$before = found();
create_shard('beta', 1, $bound);
value(
	$session, q(
BEGIN;
CREATE FOREIGN TABLE photo_new (id bigint, user_id bigint, title text)
	SERVER beta OPTIONS (schema_name 'album_1', table_name 'photo');
CREATE FOREIGN TABLE comment_new (id bigint, photo_id bigint, body text)
	SERVER beta OPTIONS (schema_name 'album_1', table_name 'comment');
INSERT INTO photo_new SELECT * FROM photo_1;
INSERT INTO comment_new SELECT * FROM comment_1;
DROP FOREIGN TABLE photo_new, comment_new, photo_1, photo_by_user_1, comment_1;
UPDATE flake_shard_map SET shards = '[0,0]' WHERE server = 'alpha';
UPDATE flake_shard_map SET shards = '[1,3]' WHERE server = 'beta';
CALL create_partitions(1);
COMMIT));
is(found(), $before, 'moved: the same rows are found');
cmp_ok(value($session, $insert),
	'>', $bound, 'moved: ids go on above the bound');
$home{1} = 'beta';
like(rows_on('beta', 'photo'),
	qr/\|moved$/m, 'moved: rows are stored on the new server');

#
# A server that is down takes only its own shards with it.
#

$node{beta}->stop;
is( value(
		$session, 'SELECT count(*) > 0 FROM photo WHERE flake_shard(id) = 0'),
	't',
	'beta is down: a shard of alpha is read');
is( value(
		$session,
		'SELECT count(*) FROM photo_by_id('
		  . value($session,
			'SELECT max(id) FROM photo WHERE flake_shard(id) = 0')
		  . ')'),
	1,
	'beta is down: a photo of alpha is found');
like(
	value(
		$session,
		'INSERT INTO photo_by_user (user_id) SELECT min(i)'
		  . ' FROM generate_series(1, 20) AS i WHERE flake_shard_for(i, 4) = 0'
		  . ' RETURNING id'),
	qr/^\d+$/,
	'beta is down: photos are added on alpha');
like(code($session, 'SELECT count(*) FROM photo'),
	qr/^08/, 'beta is down: all of them cannot be read');

end_session($session);
$node{$_}->stop foreach 'coordinator', 'alpha';
done_testing();
