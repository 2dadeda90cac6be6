# Copyright (c) 2026, the flakeid developers

# After a restore to an earlier time, the first use of each generator without time
# and of each shard with a state says so, once after each start, and so does
# _flake_restored(), until somebody accepts it.  Promotions, copies, dumps and
# ALTER SEQUENCE do not.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $numbers = qr/generator "part_number" was restored to an earlier time/;
my $shards =
  qr/shards of generator "flake_default" were restored to an earlier time/;
my $any = qr/restored to an earlier time/;

# What psql shows for a statement on standard error.
sub messages
{
	my ($node, $sql, $dbname) = @_;
	my ($out, $err);

	$node->psql($dbname || 'postgres', $sql, stdout => \$out, stderr => \$err);
	return $err;
}

# The generators that are found restored, with what about them matters.
sub restored
{
	my ($node, $dbname) = @_;

	return $node->safe_psql($dbname || 'postgres',
		'SELECT generator, numbers, shards FROM _flake_restored() ORDER BY 1::text'
	);
}

# Starts a copy of the backup, which recovers to a time.
sub start_restored
{
	my ($name, $root, $target) = @_;
	my $node = PostgreSQL::Test::Cluster->new($name);

	$node->init_from_backup(
		$root, 'base',
		has_restoring => 1,
		standby => 0);
	$node->append_conf('postgresql.conf',
		"$target\nrecovery_target_action = promote\narchive_mode = off\n");
	$node->start;
	$node->poll_query_until('postgres', 'SELECT NOT pg_is_in_recovery()')
	  or die "$name is not promoted";
	$node->append_conf('postgresql.conf',
		"recovery_target = ''\nrecovery_target_time = ''\nrestore_command = ''\n");
	return $node;
}

my $main = start_server(
	'main',
	has_archiving => 1,
	allows_streaming => 1,
	sql => q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('part_number', 'segment'), flake_create_generator('photo_id');
CREATE TABLE part (id bigint PRIMARY KEY DEFAULT flake_id(0, 'part_number'));
INSERT INTO part DEFAULT VALUES;
SELECT flake_detach(17), flake_id(5), flake_id(5, 'photo_id');
SELECT flake_create_generator('unused', 'segment');
));

# An extension that was created again, and whose generator nobody has used since.
$main->safe_psql('postgres', 'CREATE DATABASE again');
$main->safe_psql(
	'again', q(
CREATE EXTENSION flakeid;
SELECT flake_id(17);
DROP EXTENSION flakeid;
CREATE EXTENSION flakeid;
INSERT INTO flake_shard_state VALUES ('flake_default', 17, false, NULL, now());
));

$main->backup('base');
$main->safe_psql('postgres', 'INSERT INTO part DEFAULT VALUES');
my $time = $main->safe_psql('postgres', 'SELECT pg_sleep(0.1), now()');
$time =~ s/^.*\|//;
$main->safe_psql('postgres',
	'INSERT INTO part SELECT flake_id(0, $$part_number$$) FROM generate_series(1, 30000)');
$main->safe_psql('postgres', 'SELECT flake_detach(18), pg_switch_wal()');
$main->poll_query_until('postgres',
	'SELECT last_archived_wal IS NOT NULL FROM pg_stat_archiver')
  or die 'nothing was archived';

#
# A restore to a time
#

my $back = start_restored('back', $main, "recovery_target_time = '$time'");
my $log = $back->logfile;

is($back->safe_psql('postgres', 'SELECT count(*) FROM part'),
	2, 'the server is back at the time');
is( restored($back),
	"flake_default|f|t\npart_number|t|f\nunused|t|f",
	'what was restored is found, without a use of it');
is(restored($back, 'again'),
	'flake_default|f|t', 'also where the extension was created again before');
my $insert = 'INSERT INTO part DEFAULT VALUES';
my $said = messages($back, $insert);
like($said, $numbers, 'the first use of numbers says so');
unlike($said, qr/Recovery ended/, 'but not to everybody where recovery ended');
like(slurp_file($log), qr/Recovery ended "before [-0-9 :.+]+"\. /, 'that is in the log');
like(messages($back, "SELECT flake_id(0, 'unused')"),
	$any, 'also of one that was not used before the time');
unlike(messages($back, $insert), $any, 'the second does not');
is(scalar(() = slurp_file($log) =~ /WARNING:  generator "part_number" .*$any/g),
	1, 'it is in the log, once');
like(messages($back, 'SELECT flake_id(17)'),
	$shards, 'the first use of a shard that has a state says so');
unlike(messages($back, 'SELECT flake_id(17)'), $any, 'the second does not');
unlike(messages($back, $_), $any, "$_ says nothing")
  foreach "SELECT flake_id(5, 'photo_id')",
  'SELECT flake_uuid()';
unlike(
	messages($back,
		"SELECT flake_create_generator('new', 'segment'); SELECT flake_id(0, 'new')"
	),
	$any,
	'nor does a generator that is made afterwards');

# Anybody can lock a generator of his own.
my $owner = new_session($back);
value($owner, 'BEGIN; ALTER SEQUENCE unused RESTART');
is( $back->safe_psql('postgres', q(SET lock_timeout = '5s';
	SELECT generator, numbers, shards FROM _flake_restored() ORDER BY 1::text)),
	"flake_default|f|t\npart_number|t|f",
	'nobody is waited for: one that is locked is left out');
value($owner, 'ROLLBACK');
end_session($owner);

$back->restart;
like(messages($back, $insert), $numbers, 'after a restart it is said again');
$back->safe_psql('postgres',
	'ALTER SEQUENCE part_number RESTART; SELECT setval($$flake_default$$, 1)');
is( restored($back),
	"flake_default|f|t\npart_number|t|f\nunused|t|f",
	'it stays, whatever is done to the sequences');

# To promote a standby is not to accept.
my $next = start_standby($back, 'next');
is(restored($next), '', 'a standby finds nothing, its primary does');
like(messages($next, 'SELECT flake_accept_restore()'),
	qr/read-only|recovery/, 'and accepts nothing');
$next->promote;
is( restored($next),
	"flake_default|f|t\npart_number|t|f\nunused|t|f",
	'after a promotion the restore before is still found');

like(
	messages(
		$back,
		'CREATE ROLE app; SET ROLE app; SELECT flake_accept_restore()'),
	qr/permission denied for function flake_accept_restore/,
	'not everybody may accept');
$back->safe_psql(
	'postgres', q(
SELECT flake_advance('part_number', 50000);
GRANT EXECUTE ON FUNCTION flake_accept_restore TO app;
SET ROLE app;
SELECT flake_accept_restore();
));
is(restored($back), '', 'what was accepted is found no more');
$back->stop('immediate');
$back->start;
is(restored($back), '', 'not after a crash either');
unlike(messages($back, $insert), $any, 'nor said');
unlike(messages($back, 'SELECT flake_id(17)'), $any, 'nor of shards');
cmp_ok($back->safe_psql('postgres', 'SELECT max(id) FROM part'),
	'>', 50000, 'numbers go on above what they were advanced to');

# Accepted, it stays so over a promotion.
my $last = start_standby($back, 'last');
$last->promote;
is(restored($last), '', 'a promotion after it was accepted is no restore');
$_->stop foreach $last, $next, $back;

#
# Another target, and none
#

my $immediate =
  start_restored('immediate', $main, "recovery_target = 'immediate'");
like(messages($immediate, $insert), $numbers, 'a base backup alone is a restore');
like(slurp_file($immediate->logfile), qr/Recovery ended "reached consistency"/, 'and the log says so');
$immediate->stop;

my $end = start_restored('end', $main, '');
is($end->safe_psql('postgres', 'SELECT count(*) FROM part'),
	30002, 'all of the archive is there');
is(restored($end), '', 'recovery to the end of the archive is none');
$end->stop;

#
# What is no restore
#

my $standby = start_standby($main, 'standby');
$standby->promote;
is(restored($standby), '', 'a promotion is no restore');
unlike(messages($standby, $insert), $any, 'and nothing is said');
unlike(messages($standby, 'SELECT flake_id(18)'), $any, 'nor of shards');
$standby->stop;

my $clone = PostgreSQL::Test::Cluster->new('clone');
$clone->init_from_backup($main, 'base');
$clone->start;
is(restored($clone), '', 'nor is a copy');
unlike(messages($clone, $insert), $any, 'of which nothing is said');
$clone->stop;

my $dump = $main->basedir . '/dump';
system_or_bail('pg_dump', '-Fc', '-f', $dump, $main->connstr('postgres'));
my $fresh = start_server('fresh');
system_or_bail('pg_restore', '-d', $fresh->connstr('postgres'), $dump);
is(restored($fresh), '', 'nor what comes from a dump');
unlike(messages($fresh, $insert), $any, 'of which nothing is said');
$_->stop foreach $fresh, $main;

done_testing();
