# Copyright (c) 2026, the flakeid developers

# A burst takes ids from the near future: up to flakeid.max_ahead, and not a
# millisecond further.  A request that cannot be met within that and
# flakeid.max_wait is an error, and uses up no id.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeTest;
use Test::More;

my $node = start_server('main', conf => 'log_statement = none');

sub query { return $node->safe_psql('postgres', $_[0]); }

query(
	q(
CREATE EXTENSION flakeid;
-- Time and sequence side by side, as they are counted.
CREATE FUNCTION packed(id bigint) RETURNS bigint LANGUAGE sql IMMUTABLE
	RETURN (id >> 23 << 10) | (id & 1023);
));


# A million ids in one call.

query(
	q(
CREATE UNLOGGED TABLE million AS
	SELECT id, n FROM flake_ids(5, 1000000) WITH ORDINALITY AS f (id, n);
));
is( query(
		q(
SELECT count(*), count(DISTINCT id), min(flake_shard(id)), max(flake_shard(id))
FROM million)),
	'1000000|1000000|5|5',
	'unique: flake_ids() returns a million ids in one call');
is( query(
		q(
SELECT count(*)
FROM (SELECT id, lag(id) OVER (ORDER BY n) AS before FROM million) AS pair
WHERE id <= before)),
	'0', 'ordered: they ascend');
is(query('SELECT max(packed(id)) - min(packed(id)) FROM million'),
	'999999', 'they are claimed in one step, without a gap');
is(query('SELECT flake_id(5) > max(id) FROM million'),
	't', 'ordered: the next id is above all of them');
is( query(
		q(
SELECT count(*), count(DISTINCT id)
FROM (SELECT flake_ids(6, 100000) AS id) AS s;
SELECT flake_last_id() = last_id, issued FROM flake_stat WHERE shard = 6)),
	"100000|100000\nt|100000",
	'flake_ids() in a select list');


# Too many: an error, and as if nobody had asked.

# What a shard has given out: the last id and how many.
sub given_out
{
	my ($shard) = @_;

	return query("SELECT last_id, issued FROM flake_stat WHERE shard = $shard");
}

# Runs what is an error of that SQLSTATE and must not use up ids of the shard.
sub fails_for_free
{
	my ($shard, $sqlstate, $sql, $name) = @_;
	my $before = given_out($shard);

	is(error_code(ask_once($node, $sql)), $sqlstate, $name);
	is(given_out($shard), $before, "nothing is consumed: $name");
	return;
}

query('SELECT flake_id(7)');
fails_for_free(7, '53400', 'SELECT flake_ids(7, 15361025) LIMIT 1',
	'more ids at once than flakeid.max_ahead has ticks for');
fails_for_free(7, '53400', 'SELECT flake_ids(7, 2147483647) LIMIT 1',
	'the largest count there is');
fails_for_free(7, '22023', 'SELECT flake_ids(7, -1)', 'a negative count');

query('SELECT flake_ids(7, 15000000) LIMIT 1');
fails_for_free(
	7, '53400',
	'SET flakeid.max_wait = 0; SELECT flake_ids(7, 15000000) LIMIT 1',
	'more ids than without waiting, when waiting is not allowed');
fails_for_free(
	7, '53400',
	q(
SET flakeid.max_wait = '100ms';
SELECT flake_ids(7, 15000000) LIMIT 1),
	'more ids than a permitted wait yields');
fails_for_free(
	7, '57014',
	q(
SET flakeid.max_wait = '1h'; SET statement_timeout = '100ms';
SELECT flake_ids(7, 15000000) LIMIT 1),
	'waiting for ids is cancelled');
is( query(
		q(
SELECT packed(flake_id(7)) - packed(last_id) FROM flake_stat WHERE shard = 7)),
	'1',
	'the next id is the one after the last that somebody got');
is( query(
		q(
SELECT flake_ids(7, 3000000) > last_id FROM flake_stat WHERE shard = 7
LIMIT 1;
SELECT waits > 0, wait_time > '0' FROM flake_stat WHERE shard = 7;
)),
	"t\nt|t",
	'sessions that may wait get the ids that others did not');

my $before = given_out(7);
is(query('SELECT count(*) FROM flake_ids(7, 0)'), '0', 'no ids for count 0');
is(given_out(7), $before, 'and none are consumed');
is( error_code(
		ask_once($node, 'SELECT count(*) FROM flake_ids(8, 0); SELECT flake_last_id()')),
	'55000', 'flake_ids() with count 0 mints nothing to remember');


# A sustained burst: four sessions want more of one shard, one by one and by
# ranges, than there is.  The clock is read after the id was given out, when it
# can only have come closer.

query(
	q(
CREATE UNLOGGED TABLE seen (ahead interval);
CREATE PROCEDURE burst(batches int, batch int, singles int)
LANGUAGE plpgsql AS $$
BEGIN
	SET flakeid.max_wait = '10min';
	FOR i IN 1 .. batches LOOP
		PERFORM flake_ids(9, batch) LIMIT 1;
		INSERT INTO seen
			SELECT flake_timestamp(flake_last_id()) - clock_timestamp();
		INSERT INTO seen
			SELECT max(flake_timestamp(flake_id(9)) - clock_timestamp())
			FROM generate_series(1, singles);
		COMMIT;
	END LOOP;
END $$;
));

# Runs $sql in so many sessions at once.
sub run_sessions
{
	my ($count, $sql) = @_;
	my @sessions = new_sessions($node, $count);

	# All at work, before the first is waited for.
	$_->{in} .= "$sql;\n" foreach @sessions;
	$_->{run}->pump_nb foreach @sessions;
	foreach my $session (@sessions)
	{
		my ($stdout, $stderr) = ask($session, 'SELECT 1');
		is($stderr, '', "no error in: $sql");
		end_session($session);
	}
	return;
}

query('SELECT flake_ids(9, 15000000) LIMIT 1');
run_sessions(4, 'CALL burst(5, 250000, 10000)');
is( query(
		q(
SELECT count(*), max(ahead) <= '15s', max(ahead) > '14s' FROM seen)),
	'40|t|t',
	'honest: in a sustained burst no id is more than flakeid.max_ahead ahead');
is(query('SELECT waits > 0, issued FROM flake_stat WHERE shard = 9'),
	't|20200000', 'sessions that would have gone further ahead waited');


# With no credit at all, ids never are ahead of the clock.

query("SELECT flake_id(10); TRUNCATE seen");
change_setting($node, 'flakeid.max_ahead', '0');
fails_for_free(10, '53400', 'SELECT flake_ids(10, 3000)',
	'a few milliseconds\' ids at once with flakeid.max_ahead = 0');
is( query(
		q(
SELECT count(*), count(DISTINCT id), count(*) FILTER (WHERE id_time > now)
FROM (SELECT id, flake_timestamp(id) AS id_time, clock_timestamp() AS now
	  FROM (SELECT flake_id(10) AS id FROM generate_series(1, 20000)
			OFFSET 0) AS minted
	  OFFSET 0) AS checked;
SELECT issued, waits > 0 FROM flake_stat WHERE shard = 10;
)),
	"20000|20000|0\n20001|t",
	'honest: single ids wait for the clock with flakeid.max_ahead = 0');

# 55830 = 901 + 902 + ... + 960
is( query(
		q(
SELECT count(DISTINCT id)
FROM generate_series(1, 60) AS n, LATERAL flake_ids(12, 900 + n) AS id;
SELECT count(*) FROM flake_ids(12, 1024);
)),
	"55830\n1024",
	'as many at once as a millisecond has, with flakeid.max_ahead = 0');
fails_for_free(12, '53400', 'SELECT flake_ids(12, 1025)',
	'one more than that');

query(
	q(
CREATE PROCEDURE singles(shard int, number int) LANGUAGE plpgsql AS $$
BEGIN
	SET flakeid.max_wait = '10min';
	INSERT INTO seen
		SELECT max(flake_timestamp(flake_id(shard)) - clock_timestamp())
		FROM generate_series(1, number);
END $$;
));
run_sessions(8, 'CALL singles(10, 50000)');
is(query("SELECT count(*), max(ahead) <= '0' FROM seen"),
	'8|t', 'honest: neither are those of many sessions ahead');

# For information: what share of a shard's ids one session gets.
diag(
	'with flakeid.max_ahead = 0 a session got '
	  . query(
		q(
SELECT round(100.0 * count(*)
			 / (extract(epoch FROM max(now) - min(now)) * 1000 * 1024), 1)
FROM (SELECT id, clock_timestamp() AS now
	  FROM (SELECT flake_id(11) AS id
			FROM generate_series(1, 10 * 1000 * 1000) OFFSET 0) AS minted
	  OFFSET 0) AS timed))
	  . '% of the ids that the clock has');

$node->stop;
done_testing();
