# Copyright (c) 2026, the flakeid developers

# No id repeats after DROP EXTENSION and CREATE EXTENSION, whatever sessions
# remember of the old extension.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeTest;
use Test::More;

# So far ahead that nobody has to wait when the clock is set back.
my $clock = new_clock();
my $node = start_server(
	'main',
	clock => $clock,
	conf => "flakeid.max_ahead = '10min'");

sub query { return $node->safe_psql('postgres', $_[0]); }

# A new database with the extension and a table of ids that are seconds ahead of
# the clock.
sub new_database
{
	my ($dbname) = @_;

	query("CREATE DATABASE $dbname");
	$node->safe_psql(
		$dbname, q(
CREATE EXTENSION flakeid;
CREATE TABLE item (id bigint PRIMARY KEY DEFAULT flake_id(5));
));
	burst($dbname);
	return;
}

sub burst
{
	my ($dbname) = @_;

	$node->safe_psql(
		$dbname, q(
SELECT flake_ids(5, 8000000) LIMIT 1;
INSERT INTO item SELECT flake_id(5) FROM generate_series(1, 1000);
));
	return;
}

sub largest_id
{
	my ($dbname) = @_;

	return $node->safe_psql($dbname, 'SELECT max(id) FROM item');
}

# The SQL that mints so many ids and returns the last of them.
sub largest_of
{
	my ($shard, $count) = @_;

	return "SELECT max(id) FROM (SELECT flake_ids($shard, $count) AS id) AS s";
}

sub crash
{
	my ($seconds) = @_;

	set_clock($clock, $seconds);
	kill9_and_wait($node);
	start_with_clock($node, $clock);
	return;
}


# Sessions that know the old extension, and one that does not.

new_database('plain');
my ($one, $other) = new_sessions($node, 2, 'plain');
ask($_, 'SELECT flake_id(5)') foreach $one, $other;
ask($other, 'PREPARE mint AS SELECT flake_id(5); EXECUTE mint');
ask($other,
	'CREATE FUNCTION mint() RETURNS bigint LANGUAGE plpgsql AS'
	  . ' $$ BEGIN RETURN flake_id(5); END $$');
ask($other, 'SELECT mint()');
burst('plain');

my @ids = (largest_id('plain'));
ask($one, 'DROP EXTENSION flakeid CASCADE');
foreach my $sql ('SELECT flake_id(5)', 'EXECUTE mint', 'SELECT mint()')
{
	is(code($other, $sql),
		'42883', "a clear error after DROP EXTENSION: $sql");
}
is(code($one, 'SELECT flake_id(5)'),
	'42883', 'and in the session that dropped it');

foreach my $round (1 .. 2)
{
	ask($one, 'CREATE EXTENSION flakeid');
	push @ids, (ask($one, 'SELECT flake_id(5)'))[0];
	push @ids, (ask($other, $_))[0]
	  foreach 'SELECT flake_id(5)', 'EXECUTE mint', 'SELECT mint()';
	push @ids, $node->safe_psql('plain', 'SELECT flake_id(5)');
	ask($one, 'DROP EXTENSION flakeid') if $round == 1;
}
is(scalar(grep { /^\d+$/ } @ids),
	11, 'after CREATE EXTENSION, old and new sessions mint');
is(first_decrease(\@ids), undef,
	'unique: all above the rows whose ids are ahead of the clock, and in order'
);

# What was known in shared memory has become durable with the first id.
end_session($one, $other);
crash(-10);
cmp_ok($node->safe_psql('plain', 'SELECT flake_id(5)'),
	'>', $ids[-1], 'unique: and so it is after a crash');


# It becomes durable even before the first id.

foreach my $statements (
	'DROP EXTENSION flakeid CASCADE; CREATE EXTENSION flakeid',
	'BEGIN; DROP EXTENSION flakeid CASCADE; CREATE EXTENSION flakeid; COMMIT')
{
	burst('plain');
	my $last = largest_id('plain');

	$node->safe_psql('plain', $statements);
	crash(-10);
	cmp_ok($node->safe_psql('plain', 'SELECT flake_id(5)'),
		'>', $last, "unique: no id was minted before the crash, $statements");
	$node->safe_psql('plain',
		'ALTER TABLE item ALTER id SET DEFAULT flake_id(5)');
}


# A transaction that has the extension replaced, and is rolled back, while
# others mint.

set_clock($clock, 0);
query('CREATE EXTENSION flakeid; CREATE SEQUENCE ticket');
my @clients =
  start_clients($node, count => 4, sql => minting_sql(1, 2));
wait_for_more($_, 200) foreach @clients;

my $session = new_session($node);
ask($session, 'SELECT flake_id(1)');
ask($session, 'BEGIN; DROP EXTENSION flakeid; CREATE EXTENSION flakeid');
my ($own) = ask($session, largest_of(1, 1000));

# The others get to know of the new sequence's horizon, and have to wait for the
# transaction that locks the old one.
wait_for_waiters($node, 4, q(relation = 'flake_default'::regclass));
ask($session, 'ROLLBACK');
wait_for_more($_, 200) foreach @clients;
my $again = (ask($session, 'SELECT flake_id(1)'))[0];
cmp_ok($again, '>', $own, 'ordered: the session goes on above after ROLLBACK');

end_session($session);
set_clock($clock, -10);
kill9_and_wait($node);
finish_clients(@clients);
start_with_clock($node, $clock);
my @late =
  start_clients($node, count => 4, sql => minting_sql(1, 2));
wait_for_more($_, 200) foreach @late;
stop_clients($node, @late);

is(first_duplicate([ $own, $again ], map { ids($_) } @clients, @late),
	undef, 'unique: a rolled-back replacement, a crash, the clock 10 s behind');
is(first_misordered(map { records($_) } @clients),
	undef, 'ordered: before the crash');
is(first_misordered(map { records($_) } @late),
	undef, 'ordered: after the crash');

# By shard, the greatest id before the crash and the smallest after it.
foreach my $shard (1, 2)
{
	my ($before) = sort { $b <=> $a }
	  grep { shard_of($_) == $shard } $own, $again,
	  map { @{ ids($_) } } @clients;
	my ($after) = sort { $a <=> $b }
	  grep { shard_of($_) == $shard } map { @{ ids($_) } } @late;

	cmp_ok($after, '>', $before,
		"ordered: after the crash above everything before, shard $shard");
}

# Those of @late were terminated.
is( join("\n", grep { !/^57P01/ } map { errors($_) } @clients, @late),
	'', 'no client got an error of its own');


# The horizon that such a transaction announces is in a file that goes away with
# it.  Those who go on, and run far ahead, must see to it that theirs has it.

query('CREATE DATABASE undone');
$node->safe_psql('undone', 'CREATE EXTENSION flakeid');
my $going_on = new_session($node, 'undone');
$session = new_session($node, 'undone');
ask($_, 'SELECT flake_id(1)') foreach $going_on, $session;

ask($session, 'BEGIN; DROP EXTENSION flakeid; CREATE EXTENSION flakeid');
my ($undone_id) = ask($session, largest_of(9, 9000000));
ask($session, 'ROLLBACK');
my ($id) = ask($going_on, largest_of(1, 7000000));
end_session($going_on, $session);
crash(-20);
cmp_ok($node->safe_psql('undone', 'SELECT flake_id(1)'),
	'>', $id, 'unique: minted after a rolled-back replacement, then a crash');
cmp_ok($node->safe_psql('undone', 'SELECT flake_id(9)'),
	'>', $undone_id, 'unique: minted in it, too');


# Replaced for good while others mint.  They may get errors while there is no
# extension, and nothing worse.

set_clock($clock, 0);
@clients = start_clients($node, count => 4, sql => minting_sql(1, 2));
wait_for_more($_, 50) foreach @clients;
foreach my $round (1 .. 5)
{
	query('DROP EXTENSION flakeid; CREATE EXTENSION flakeid');
	wait_for_more($_, 50) foreach @clients;
}
stop_clients($node, @clients);
is(first_duplicate(map { ids($_) } @clients),
	undef, 'unique: replaced again and again while sessions mint');
is(first_misordered(map { records($_) } @clients),
	undef, 'ordered: replaced again and again while sessions mint');
my %seen;
$seen{$_}++ foreach map { errors($_) } @clients;
note "$seen{$_} times: $_" foreach sort keys %seen;


# In a schema of its own, whatever the search_path.

query('DROP EXTENSION flakeid');
$session = new_session($node);
ask($session, 'CREATE SCHEMA ids; CREATE EXTENSION flakeid SCHEMA ids');
ask($session, q(SET search_path = ''));
is( (   ask($session,
			q(
SELECT ids.flake_shard(ids.flake_id(5)), ids.flake_shard(i),
	ids.flake_last_id() = i, ids.flake_shard(ids.flake_sibling(i)),
	ids.flake_between(i, ids.flake_timestamp(i), 'infinity')
FROM ids.flake_ids(6, 1) AS i)))[0],
	'5|6|f|6|t',
	'in a schema of its own, with an empty search_path');
is( (   ask($session,
			'SELECT generator, shard FROM ids.flake_stat WHERE shard = 6'))[0],
	'ids.flake_default|6',
	'flake_stat, too');

# Whatever its name is, and whatever a backslash means
foreach my $schema (qw(name e k extension))
{
	ask($session, "DROP EXTENSION flakeid; CREATE SCHEMA $schema; CREATE EXTENSION flakeid SCHEMA $schema");
	is((ask($session, "SELECT $schema.flake_shard($schema.flake_id(5))"))[0], '5', "in a schema $schema");
}
{
	my $odd = '"a.flake_id(1) [*"';
	ask($session, qq(DROP EXTENSION flakeid; CREATE SCHEMA $odd; CREATE EXTENSION flakeid SCHEMA $odd; CREATE SCHEMA template;
		CREATE TABLE template.t (id bigint DEFAULT $odd.flake_id(0), more bigint DEFAULT $odd.flake_id(0, '$odd.flake_default'), set bigint DEFAULT $odd.flake_id())));
	is((ask($session, "SELECT $odd.flake_create_shard(5, 'template')"))[1], '', "flake_create_shard() in a schema $odd");
	is((ask($session, "INSERT INTO template_5.t DEFAULT VALUES RETURNING $odd.flake_shard(id), $odd.flake_shard(more), $odd.flake_shard(set)"))[0],
		'5|5|5', '... sets the shard in the defaults');
	ask($session, 'DROP SCHEMA IF EXISTS template, template_5 CASCADE');
}
ask($session, 'SET standard_conforming_strings = off') if $node->pg_version < 19;
ask($session, 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid SCHEMA ids');
is((ask($session, 'SELECT ids.flake_shard(ids.flake_id(5))'))[0], '5', 'with standard_conforming_strings = off');
ask($session, 'RESET standard_conforming_strings');

# Others may have a flake_default as well.
ask($session,
	'CREATE SCHEMA first; CREATE SEQUENCE first.flake_default;'
	  . ' SET search_path = first');
cmp_ok((ask($session, 'SELECT ids.flake_id(5)'))[0],
	'>', 1 << 30, 'its generator is the one in its schema');
is((ask($session, 'SELECT last_value, is_called FROM first.flake_default'))[0],
	'1|f', 'and not another sequence of that name');

my $last = (ask($session, 'SELECT ids.flake_id(5)'))[0];
ask($session, 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid SCHEMA public');
cmp_ok((ask($session, 'SELECT public.flake_id(5)'))[0],
	'>', $last, 'unique: created again in another schema');

# A session that could not get its lock on the new generator does not mint
# without: what it reserved would be lost with the file that is being replaced.
$session = new_session($node);
$other = new_session($node);
ask($session, 'SELECT public.flake_id(5)');
ask($other, 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid SCHEMA public');
ask($other, 'BEGIN; ALTER SEQUENCE public.flake_default RESTART');
ask($session, "BEGIN; SET LOCAL lock_timeout = '100ms'; SAVEPOINT s");
for my $attempt ('first', 'second')
{
	my (undef, $stderr) = ask($session, 'SELECT public.flake_id(5)');
	like(
		$stderr,
		qr/^ERROR:  55P03: /m,
		"no lock on the generator, no id: $attempt attempt");
	ask($session, 'ROLLBACK TO s');
}
ask($other, 'COMMIT');
cmp_ok((ask($session, 'SELECT public.flake_id(5)'))[0],
	'>', $last, 'with the lock, there is one');
ask($session, 'COMMIT');

# A shard that was attached is not in the new extension, whoever remembers that it was.
ask($other, "SELECT public.flake_create_generator('kept')");
ask($other, "SELECT public.flake_attach(5, generator => 'kept')");
ask($other, 'ALTER SYSTEM SET flakeid.require_attach = on');
ask($other, 'SELECT pg_reload_conf()');
wait_until(sub { (ask($session, 'SHOW flakeid.require_attach'))[0] eq 'on' }, 'the setting is on');
like((ask($session, "SELECT public.flake_id(5, 'kept')"))[0], qr/^\d+$/, 'a shard that is attached')
  foreach 1 .. 3;
ask($other, 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid SCHEMA public');
like((ask($session, "SELECT public.flake_id(5, 'kept')"))[1],
	qr/^ERROR:  55000: /m, 'in a new extension it is not');
end_session($other);
end_session($session);

$node->stop;
done_testing();
