# Copyright (c) 2026, the flakeid developers

# While a call waits for what mallory keeps, others read their tables on a hot standby,
# too: it hears that a lock was let go.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use Test::More;

my $node = start_server(
	'main',
	allows_streaming => 1,
	conf => 'log_statement = none',
	sql => q(
CREATE EXTENSION flakeid;
CREATE ROLE alice;
CREATE ROLE mallory;
CREATE SCHEMA hers AUTHORIZATION mallory;
CREATE SCHEMA s AUTHORIZATION alice;
GRANT USAGE ON SCHEMA s TO mallory;
SET ROLE alice;
CREATE TABLE s.a (id serial PRIMARY KEY);
GRANT SELECT ON s.a TO mallory;
SET ROLE mallory;
CREATE VIEW hers.v AS SELECT id FROM s.a));
my $standby = start_standby($node, 'standby');
my ($superuser, $hers, $other) = new_sessions($node, 3);
my $reader = new_session($standby);

value($hers, q(SET SESSION AUTHORIZATION mallory; BEGIN; COMMENT ON VIEW hers.v IS 'kept'));
send_query($superuser, q(SELECT count(*) FROM flake_migrate('s.a', 'id', 5)));
wait_for_waiters($node, 1, q(relation = 'hers.v'::regclass));
# That waits while she is tried with the table locked.  What it writes is behind that.
value($other, 'INSERT INTO s.a DEFAULT VALUES');
$node->wait_for_catchup($standby, 'replay');
is(value($reader, q(SELECT count(*) FROM pg_locks WHERE relation = 's.a'::regclass AND mode = 'AccessExclusiveLock')),
	0, 'the table is not locked on the standby');
is(value($reader, q(SET statement_timeout = '5s'; SELECT count(*) FROM s.a)), 1, 'and is read there');
value($hers, 'COMMIT');
unlike((get_answer($superuser))[1], qr/ERROR/, 'then the migration goes on');
$node->wait_for_catchup($standby, 'replay');
is(value($reader, q(SELECT pg_typeof(id) FROM s.a)), 'bigint', 'to the end');

end_session($superuser, $hers, $other, $reader);
$standby->stop;
$node->stop;
done_testing();
