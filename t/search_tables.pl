# Copyright (c) 2026, the flakeid developers

# Ids in tables of others are all found, by whatever index, also while others insert,
# delete and vacuum, and so split and remove pages of it.  Whoever sets a generator
# back relies on that.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $node = start_server(
	'main',
	conf => q(
autovacuum = off
fsync = off
log_statement = none
client_min_messages = warning
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE TABLE thing (id bigint, n int);
CREATE FUNCTION found(above bigint) RETURNS bigint[] LANGUAGE sql AS
$$ SELECT coalesce(array_agg(old_id ORDER BY old_id), '{}') FROM flake_replace_ids('thing', 'id', above, 5, dry_run => true) $$;
CREATE FUNCTION there(above bigint) RETURNS bigint[] LANGUAGE sql AS
$$ SELECT coalesce(array_agg(DISTINCT id ORDER BY id), '{}') FROM thing WHERE id > above $$;
));
my ($session, $vacuum) = new_sessions($node, 2);

#
# Orders, nulls and what was deleted
#

my %orders = map { $_ => "CREATE INDEX thing_id ON thing (id $_)" } '', 'DESC', 'NULLS FIRST', 'DESC NULLS LAST';
my %ids = (
	'no null' => 'i',
	'nulls' => 'CASE WHEN i % 3 > 0 THEN i END',
	'nulls only' => 'NULL',
	'equal ones' => 'i / 40');
my %deletes = (
	'nothing' => 'SELECT',
	'the largest' => 'DELETE FROM thing WHERE id > 1000',
	'the largest, by VACUUM' => 'DELETE FROM thing WHERE id > 1000; VACUUM thing',
	'many, and updated' => 'DELETE FROM thing WHERE n % 3 = 0; UPDATE thing SET n = n + 1, id = id + 1 WHERE n % 2 = 0');

foreach my $order ('none', sort keys %orders)
{
	my @wrong;

	foreach my $id (sort keys %ids)
	{
		foreach my $delete (sort keys %deletes)
		{
			value($session, q(DROP TABLE thing; CREATE TABLE thing (id bigint, n int)));
			value($session, $orders{$order}) if $order ne 'none';
			value($session, "INSERT INTO thing SELECT $ids{$id}, i FROM generate_series(1, 2000) AS i ORDER BY hashint4(i)");
			value($session, $_) foreach split /; /, $deletes{$delete};
			push @wrong, map { "$id, deleted $delete: above $_" }
			  grep { value($session, "SELECT found($_) = there($_)") ne 't' } -1, 30, 990, 1990, 3000;
		}
	}
	is_deeply(\@wrong, [], "all ids are found, and no others: order '$order'");
}

# The largest of narrower types, which flake_migrate() looks for
foreach my $type ('smallint', 'int')
{
	value($session, qq(
DROP TABLE thing;
CREATE TABLE thing (id $type PRIMARY KEY);
INSERT INTO thing SELECT generate_series(-5, 3000);
DELETE FROM thing WHERE id > 2500;
SELECT flake_create_generator('${type}_id', 'segment')));
	value($session, qq(SELECT count(*) FROM flake_migrate('thing', 'id', 0, '${type}_id')));
	cmp_ok(value($session, 'INSERT INTO thing DEFAULT VALUES RETURNING id'), '>', 2500, "the largest $type is found");
}

#
# Pages that are split and removed meanwhile
#

foreach my $order ('', 'DESC')
{
	my @wrong;

	value($session, q(
DROP TABLE thing;
CREATE TABLE thing (id bigint, stays boolean);
INSERT INTO thing SELECT i * 1000, true FROM generate_series(1, 300) AS i));
	value($session, "CREATE INDEX thing_id ON thing (id $order)");
	my @clients = start_clients($node, count => 2, sql =>
		'INSERT INTO thing SELECT b + i, false FROM (SELECT (random() * 297000)::int AS b) AS r, generate_series(1, 3000) AS i WHERE (b + i) % 1000 <> 0; '
		. 'DELETE FROM thing WHERE NOT stays AND id > (SELECT random() * 300000); SELECT 1;');
	wait_for_more($_, 3) foreach @clients;
	foreach (1 .. 15)
	{
		send_query($vacuum, 'VACUUM thing');
		push @wrong, $_ if value($session, q(
SELECT count(*) FILTER (WHERE id % 1000 = 0) = 300 AND count(*) = count(DISTINCT id) FROM unnest(found(0)) AS id)) ne 't';
		get_answer($vacuum);
	}
	stop_clients($node, @clients);
	is_deeply(\@wrong, [], "all that stay are found once while others come and go: order '$order'");
}

end_session($_) foreach $session, $vacuum;
$node->stop;
done_testing();
