# Copyright (c) 2026, the flakeid developers

# A shard is minted by one server at a time.  After flake_detach() has returned, no
# session hands out an id of the shard, and none was handed out above the id that
# it returned.  After flake_attach() is committed, ids go on above that.  This
# holds under load, after ROLLBACK, crashes and a failover, with wrong clocks, and
# after a dump and restore.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

# Errors come by the thousand, and are no news to the server's log.
my $clock = new_clock();
my $node = start_server(
	'main',
	allows_streaming => 1,
	conf => q(
log_statement = none
log_min_messages = fatal
max_connections = 50
max_prepared_transactions = 2
max_worker_processes = 16
max_parallel_workers = 8
wal_sender_timeout = 0		# goes by the clock
restart_after_crash = on
),
	sql => q(
CREATE EXTENSION flakeid;
CREATE SEQUENCE ticket;
CREATE ROLE minter;
SELECT flake_create_generator('dense', 'segment');
SELECT flake_create_generator('roomy', 'ts:41 shard:6 seq:16 epoch=2020-01-01 start=random');
CREATE TABLE rows_in_parallel AS SELECT generate_series(1, 200);
ALTER TABLE rows_in_parallel SET (parallel_workers = 2);
));

# What flake_shards says of a shard of flake_default, "none" if nothing.
sub state_of
{
	my ($session, $shard) = @_;

	return value($session,
			'SELECT coalesce((SELECT state FROM flake_shards'
		  . " WHERE generator = 'flake_default'::regclass AND shard = $shard),"
		  . q{ 'none')});
}

# Detaches a shard, looks whether ids of it are still handed out, attaches it
# again if it is to be, and waits until there are ids of it again: each step a
# transaction of its own.  On the server, where it need not take turns with the
# clients for every statement.
$node->safe_psql(
	'postgres', q(
CREATE TABLE cycle (n serial, which regclass, bound bigint, detached bigint,
	attaching bigint, first_look bigint, second_look bigint, code text);
CREATE FUNCTION last_id_of(s int, g regclass) RETURNS bigint VOLATILE
RETURN (SELECT last_id FROM flake_stat WHERE shard = s AND generator = g);
CREATE PROCEDURE cycle(s int, g regclass, attach boolean) LANGUAGE plpgsql AS $$
DECLARE
	c cycle;
BEGIN
	c.bound := flake_detach(s, g);
	COMMIT;
	c.detached := nextval('ticket');
	c.first_look := last_id_of(s, g);
	BEGIN
		c.code := flake_id(s, g);
	EXCEPTION WHEN others THEN
		c.code := sqlstate;
	END;
	PERFORM count(*) FROM generate_series(1, 5000);
	c.second_look := last_id_of(s, g);
	c.attaching := nextval('ticket');
	INSERT INTO cycle SELECT nextval('cycle_n_seq'), g, c.bound, c.detached,
		c.attaching, c.first_look, c.second_look, c.code;
	COMMIT;
	IF NOT attach THEN
		RETURN;
	END IF;
	PERFORM flake_attach(s, generator => g);
	COMMIT;
	WHILE last_id_of(s, g) <= c.bound LOOP
		PERFORM pg_sleep(0.001);
	END LOOP;
	COMMIT;
END
$$;
CREATE PROCEDURE cycles(s int, g regclass, times int) LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. times LOOP
		CALL cycle(s, g, true);
	END LOOP;
END
$$;
));

# What the cycles of a generator came to, in that order.
sub cycles_of
{
	my ($session, $generator) = @_;
	my @cycles;

	foreach my $line (
		split /\n/, value($session,
				'SELECT bound, detached, attaching, first_look, second_look, code'
			  . " FROM cycle WHERE which = '$generator'::regclass ORDER BY n"))
	{
		my %cycle;

		@cycle{qw(bound detached attaching first_look second_look code)} =
		  split /\|/, $line;
		push @cycles, \%cycle;
	}
	is_deeply(
		[
			grep {
					 $_->{code} ne '55000'
				  || $_->{first_look} > $_->{bound}
				  || $_->{second_look} > $_->{bound}
			} @cycles
		],
		[],
		"$generator: each time detached, nobody mints");
	is(first_descent([ map { $_->{bound} } @cycles ]),
		undef, "$generator: bounds increase");
	return @cycles;
}

# What is wrong with records of tickets and ids, given the cycles, in
# that order: undef if nothing is.  An id above a bound must have been minted
# after the shard was attached again, one at or below before it was detached.
sub first_beyond
{
	my ($cycles, @lists) = @_;
	my $k = 0;

	foreach my $record (sort { $a->[1] <=> $b->[1] } map { @$_ } @lists)
	{
		my ($before, $id, $after) = @$record;

		$k++ while $k < @$cycles && $id > $cycles->[$k]{bound};
		return "$id is above the last bound, $cycles->[-1]{bound}"
		  if $k == @$cycles;
		return "$id (tickets $before to $after) is not above"
		  . " $cycles->[$k]{bound} (ticket $cycles->[$k]{detached})"
		  if $before > $cycles->[$k]{detached};
		return "$id (tickets $before to $after) is above"
		  . " $cycles->[$k - 1]{bound} (ticket $cycles->[$k - 1]{attaching})"
		  if $k > 0 && $after < $cycles->[ $k - 1 ]{attaching};
	}
	return undef;
}

# Waits until each client has had an error that was raised from now on.
sub wait_for_errors
{
	foreach my $client (@_)
	{
		my $seen = errors($client);

		# One error may have been on its way.
		wait_until(sub { errors($client) > $seen + 1 },
			"$client->{name} gets an error");
	}
	return;
}

my ($one, $two, $admin) = new_sessions($node, 3);

#
# Sixteen sessions mint as fast as they can, while another detaches and attaches
# two hundred times.
#

my @clients = start_clients($node, count => 16, sql => minting_sql(1, 2));
wait_for_more($_, 5) foreach @clients;
value($admin, q(CALL cycles(1, 'flake_default', 200)));
value($admin, q(CALL cycle(1, 'flake_default', false)));
wait_for_errors(@clients);
my $looked = value($admin, q(SELECT last_id_of(1, 'flake_default')));
my $errors = join '', map { slurp_file($_->{err}) } @clients;
stop_clients($node, @clients);

my @lists = map {
	[ grep { shard_of($_->[1]) == 1 } @{ records($_) } ]
} @clients;
my @cycles = cycles_of($admin, 'flake_default');
is(scalar @cycles, 201, 'sixteen sessions: detached as often as it should');
cmp_ok($looked, '<=', $cycles[-1]{bound},
	'sixteen sessions: no id above the last bound');
is(first_beyond(\@cycles, @lists),
	undef, 'sixteen sessions: each id is on the right side of each bound');
is(first_duplicate(map { ids($_) } @clients),
	undef, 'sixteen sessions: no id repeats');
is(first_misordered(map { records($_) } @clients),
	undef, 'sixteen sessions: ids go up in the order of handing out');
is_deeply([ grep { defined } map { first_decrease(ids($_)) } @clients ],
	[], 'sixteen sessions: each one\'s ids increase');
is_deeply(
	[
		grep { $_ ne '55000: shard 1 is detached' }
		  $errors =~ /^(?:ERROR|FATAL):  (.*)$/mg
	],
	[],
	'sixteen sessions: no other error, and none for another shard');
is(scalar(grep { @$_ == 0 } @lists),
	0, 'sixteen sessions: each one has minted');
is(state_of($admin, 1), 'detached', 'the view says so');
value($admin, 'SELECT flake_attach(1)');

#
# Other ways of asking, and other generators: batches, numbers without time,
# sequences that start anywhere, a parallel query.
#

my $in_parallel = 'SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0;'
  . ' SET min_parallel_table_scan_size = 0;';
like(
	value($admin,
		"$in_parallel EXPLAIN SELECT flake_id(1) FROM rows_in_parallel"),
	qr/Gather/,
	'a query that mints is parallel');
my @parallel = start_clients(
	$node,
	count => 2,
	sql => "$in_parallel SELECT flake_id(1) FROM rows_in_parallel;");
my @batches = start_clients(
	$node,
	count => 3,
	sql => 'SELECT min(i), max(i), count(*) FROM'
	  . " flake_ids(1, 1000, 'roomy') AS i;");
my @dense = start_clients(
	$node,
	count => 3,
	sql => "SELECT nextval('ticket'), flake_id(0, 'dense'), nextval('ticket');"
);
@clients = (@parallel, @batches, @dense);
wait_for_more($_, 5) foreach @clients;
value($admin, 'TRUNCATE cycle');
my %shards = (flake_default => 1, roomy => 1, dense => 0);
foreach my $i (1 .. 25)
{
	value($admin, "CALL cycle($shards{$_}, '$_', " . ($i < 25 ? 'true' : 'false') . ')')
	  foreach sort keys %shards;
}
wait_for_errors(@clients);
$errors = join '', map { slurp_file($_->{err}) } @clients;
stop_clients($node, @clients);
my %cycles = map { $_ => [ cycles_of($admin, $_) ] } keys %shards;
is_deeply(
	[
		grep { !/^55000: shard [01] is detached$/ }
		  $errors =~ /^(?:ERROR|FATAL):  (.*)$/mg
	],
	[],
	'other ways: no other error');
my @minted = map { @{ ids($_) } } @parallel;
is(first_duplicate(\@minted), undef, 'in parallel: no id repeats');
is_deeply([ grep { $_ > $cycles{flake_default}[-1]{bound} } @minted ],
	[], 'in parallel: no id above the last bound');

@batches = sort { $a->[0] <=> $b->[0] } map { @{ records($_) } } @batches;
is(first_descent([ map { @$_[ 0, 1 ] } @batches ]),
	undef, 'batches do not overlap');
is(scalar(grep { $_->[2] != 1000 } @batches), 0, 'batches are complete');
is_deeply(
	[
		grep {
			my $bound = $_->{bound};
			grep { $_->[0] <= $bound && $bound < $_->[1] } @batches
		} @{ $cycles{roomy} }
	],
	[],
	'batches are on one side of each bound');
cmp_ok($batches[-1][1], '<=', $cycles{roomy}[-1]{bound},
	'batches: no id above the last bound');

@lists = map { records($_) } @dense;
@minted = sort { $a <=> $b } map { $_->[1] } map { @$_ } @lists;
is(first_beyond($cycles{dense}, @lists),
	undef, 'without time: each number is on the right side of each bound');
is_deeply(
	[ $minted[0], $minted[-1], scalar @minted, first_descent(\@minted) ],
	[ 1, $cycles{dense}[-1]{bound}, $cycles{dense}[-1]{bound}, undef ],
	'without time: no number is left out, and the bound is the last one');
value($admin, q(SELECT flake_attach(0, generator => 'dense')));
is( value($one, q(SELECT flake_id(0, 'dense'))),
	$minted[-1] + 1,
	'without time: attached, it goes on one above');
value($admin, 'SELECT flake_attach(1)');

#
# While a change is not committed, whoever mints waits for what becomes of it.
#

my $mint = 'SELECT flake_id(5)';

# The lock of a shard, for wait_for_waiters().
my $advisory = q(locktype = 'advisory');

# A session mints while a change is pending and waits; $settle settles the
# matter.  Returns what it gets.
sub mint_meanwhile
{
	my ($settle, $what, $shows) = @_;

	send_query($two, $mint);
	wait_for_waiters($node, 1, $advisory);
	is(state_of($admin, 5), $shows, "$what: pending, others see no change");
	$settle->();
	return get_answer($two);
}

sub is_id_above
{
	my ($above, $what, $stdout, $stderr) = @_;

	is($stderr, '', "$what: no error");
	cmp_ok($stdout || 0, '>', $above, "$what: an id above");
	return;
}

my $terminate = sub {
	my $pid = value($one, 'SELECT pg_backend_pid()');

	value($admin, "SELECT pg_terminate_backend($pid)");
	$one->{run}->finish;
	$one = new_session($node);
};
my $do = sub {
	my ($sql) = @_;

	return sub { value($one, $sql) };
};
my $prepare_and = sub {
	my ($verb) = @_;

	return sub {
		value($one, q(PREPARE TRANSACTION 'move'));
		value($admin, "$verb PREPARED 'move'");
	};
};
my @undo = (
	[ 'ROLLBACK', $do->('ROLLBACK') ],
	[ 'ROLLBACK TO SAVEPOINT', $do->('ROLLBACK TO SAVEPOINT s') ],
	[ 'an error', sub { ask($one, 'SELECT 1/0; ROLLBACK') } ],
	[ 'pg_terminate_backend()', $terminate ],
	[ 'ROLLBACK PREPARED', $prepare_and->('ROLLBACK') ]);
my @keep = (
	[ 'COMMIT', $do->('COMMIT') ],
	[ 'COMMIT PREPARED', $prepare_and->('COMMIT') ]);
my ($bound, $last, $shows);

$last = value($two, $mint);
foreach my $undo (@undo)
{
	my $what = "detach, $undo->[0]";

	$shows = state_of($admin, 5);
	value($one, 'BEGIN; SAVEPOINT s');
	$bound = value($one, 'SELECT flake_detach(5)');
	cmp_ok($bound, '>=', $last, "$what: the bound is one");
	my @answer = mint_meanwhile($undo->[1], $what, $shows);
	is_id_above($bound, $what, @answer);
	$last = $answer[0];
	is(state_of($admin, 5), $shows, "$what: the view shows none");
	ask($one, 'ROLLBACK');
	cmp_ok(value($one, $mint), '>', $last, "$what: the session that did it mints");
}
foreach my $keep (@keep)
{
	my $what = "detach, $keep->[0]";

	$shows = state_of($admin, 5);
	value($one, 'BEGIN');
	$bound = value($one, 'SELECT flake_detach(5)');
	is(error_code(mint_meanwhile($keep->[1], $what, $shows)),
		'55000', "$what: an error");
	is(state_of($admin, 5), 'detached', "$what: the view shows it");
	is(code($one, $mint), '55000', "$what: also for who did it");
	value($admin, 'SELECT flake_attach(5)');
}
$bound = value($admin, 'SELECT flake_detach(5)');
foreach my $undo (@undo)
{
	my $what = "attach, $undo->[0]";

	value($one, 'BEGIN; SAVEPOINT s; SELECT flake_attach(5)');
	is(error_code(mint_meanwhile($undo->[1], $what, 'detached')),
		'55000', "$what: an error");
	is(state_of($admin, 5), 'detached', "$what: the view shows it");
	ask($one, 'ROLLBACK');
	is(code($one, $mint), '55000', "$what: also for who did it");
}
foreach my $keep (@keep)
{
	my $what = "attach, $keep->[0]";

	$bound += 1 << 32;    # half a second
	value($one, "BEGIN; SELECT flake_attach(5, $bound)");
	my @answer = mint_meanwhile($keep->[1], $what, 'detached');
	is_id_above($bound, $what, @answer);
	cmp_ok(value($one, $mint), '>', $answer[0], "$what: the session that did it mints");
	$bound = value($admin, 'SELECT flake_detach(5)');
}
value($admin, 'SELECT flake_attach(5)');

# Both changes in one transaction.
value($one, 'BEGIN; SELECT flake_detach(5); SELECT flake_attach(5)');
my @answer =
  mint_meanwhile($do->('COMMIT'), 'detach and attach', 'attached');
is_id_above($bound, 'detach and attach', @answer);

# Minting in the transaction itself.
value($one, 'BEGIN');
value($one, 'SELECT flake_detach(5)');
like((ask($one, $mint))[1],
	qr/^ERROR:  55000: shard 5 is detached$/m,
	'no minting in the transaction that detaches');
value($one, 'ROLLBACK');
value($one, 'BEGIN; SELECT flake_detach(5); SELECT flake_attach(5)');
like(
	(ask($one, $mint))[1],
	qr/^ERROR:  55000: cannot mint ids of shard 5 before the change of its state is committed$/m,
	'no minting in the transaction that attaches');
value($one, 'ROLLBACK');
value($one, 'BEGIN; SAVEPOINT s; SELECT flake_attach(5); RELEASE s');
is(code($one, $mint), '55000', 'nor when a subtransaction did');
value($one, 'ROLLBACK');
cmp_ok(value($one, $mint), '>', $answer[0], 'and after it, ids');

# An old snapshot does not bring an id.
foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
{
	value($two,
		"BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM pg_class; $mint");
	value($admin, 'SELECT flake_detach(5)');
	is(code($two, $mint), '55000',
		"$level: detached meanwhile, by another: an error");
	value($two,
		"ROLLBACK; BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM pg_class"
	);
	value($admin, 'SELECT flake_attach(5)');
	like(value($two, $mint), qr/^\d+$/,
		"$level: attached meanwhile, by another: an id");
	value($two, 'ROLLBACK');
}

#
# Twice, and what is refused.
#

$bound = value($admin, 'SELECT flake_detach(5)');
is(value($two, 'SELECT flake_detach(5)'),
	$bound, 'detached twice: the same bound');
is(value($admin, 'SELECT after FROM flake_shards WHERE shard = 5'),
	$bound, 'the view shows it');
value($_, 'SELECT flake_attach(5)') foreach $admin, $two;
$last = value($one, $mint);
cmp_ok($last, '>', $bound, 'attached twice: ids go on');
value($admin, "SELECT flake_attach(5, $bound)");
cmp_ok(value($one, $mint),
	'>', $last, 'attached with a bound of the past: ids go on');

foreach my $case (
	[ 'SELECT flake_detach(NULL) IS NULL', 't' ],
	[ 'SELECT flake_detach(5, NULL) IS NULL', 't' ])
{
	is(value($admin, $case->[0]), $case->[1], $case->[0]);
}
is(code($admin, "SELECT $_"), '22004', "$_: refused")
  foreach 'flake_attach(NULL)', 'flake_attach(5, 0, NULL)';

# A shard whose bits are above the sequence's, without time: the bound is one of
# its own ids, and not the end of the generator.
value($admin, "SELECT flake_create_generator('above', 'shard:4 seq:40 block=10')");
value($admin, "SELECT flake_id(5, 'above')") for 1 .. 3;
$bound = value($admin, "SELECT flake_detach(5, 'above')");
value($admin, "SELECT flake_attach(5, generator => 'above')");
is(value($admin, "SELECT flake_id(5, 'above') - $bound"),
	1, 'without time, a shard goes on above its bound');
value($admin, "SELECT flake_detach(5, 'above'), flake_attach(5, $bound + 100, 'above')");
is(value($admin, "SELECT flake_id(5, 'above') - $bound"),
	101, 'and above what it is given');
is(code($admin, "SELECT flake_attach(4, $bound, 'above')"),
	'22003', 'another has no ids above that');
value($admin, "DROP SEQUENCE above");
$shows = value($admin, 'SELECT * FROM flake_shards ORDER BY generator::text, shard');
foreach my $shard (-1, 8192)
{
	is(code($admin, "SELECT flake_detach($shard)"),
		'22003', "no shard $shard to detach");
	is(code($admin, "SELECT flake_attach($shard)"),
		'22003', "no shard $shard to attach");
}
value($admin, 'GRANT USAGE ON SEQUENCE flake_default TO minter');
foreach my $call ('flake_detach(5)', 'flake_attach(5)')
{
	value($one, 'SET ROLE minter');
	is(code($one, "SELECT $call"), '42501', "$call: not without UPDATE");
	value($one, 'RESET ROLE; BEGIN READ ONLY');
	is(code($one, "SELECT $call"), '25006', "$call: not in a read-only one");
	value($one, 'ROLLBACK');
	is(code($one, $call =~ s/5/5, generator => 'ticket'/r =~ s/^/SELECT /r),
		'42809', "$call: not of an ordinary sequence");
}
is( code(
		$admin, "SELECT flake_attach(5, $last + ((730 * 86400000::bigint) << 23))"
	),
	'22023',
	'not above what is two years ahead');
is(value($admin, 'SELECT * FROM flake_shards ORDER BY generator::text, shard'), $shows, 'refused, nothing has changed');
like(value($one, $mint), qr/^\d+$/, 'refused, ids go on');
value($admin, 'GRANT UPDATE ON SEQUENCE flake_default TO minter');
value($one, 'SET ROLE minter');
$bound = value($one, 'SELECT flake_detach(5)');
is(code($two, $mint), '55000', 'UPDATE is enough to detach');
value($one, "SELECT flake_attach(5, $bound); RESET ROLE");
cmp_ok(value($two, $mint), '>', $bound, 'and to attach');

#
# Crashes, with the clock 10 s behind afterwards.
#

# The sessions, of which the server is gone, end before another one is started,
# which would inherit the pipes to them.
sub finish_sessions
{
	$_->{run}->finish foreach $one, $two, $admin;
	return;
}

sub reconnect
{
	wait_until_up($node);
	($one, $two, $admin) = new_sessions($node, 3);
	return;
}

# From now on the server has a clock of its own.
$node->stop;
finish_sessions();
start_with_clock($node, $clock);
reconnect();
my $detached = value($admin, 'SELECT flake_detach(3)');
value($admin, 'SELECT flake_detach(4), flake_detach(6)');
value($admin, 'SELECT flake_attach(4)');
$last = value($admin, 'SELECT flake_id(4)');
my $minted_before = value($admin, 'SELECT flake_id(16)');

# One session dies with its change pending, and takes the server with it.
value($one, 'BEGIN; SELECT flake_detach(5); SELECT flake_attach(6)');
value($two, q(BEGIN; SELECT flake_detach(7); PREPARE TRANSACTION 'move'));
send_query($two, $mint);
wait_for_waiters($node, 1, $advisory);
kill 'KILL', value($one, 'SELECT pg_backend_pid()');
finish_sessions();
reconnect();
set_clock($clock, -10);

foreach my $crash ('a session killed', 'the server killed',
	'the server restarted')
{
	if ($crash =~ /server/)
	{
		if ($crash =~ /killed/)
		{
			kill9_and_wait($node);
		}
		else
		{
			$node->stop('fast');
		}
		finish_sessions();
		start_with_clock($node, $clock);
		reconnect();
	}
	is(code($two, 'SELECT flake_id(3)'), '55000', "$crash: still detached");
	cmp_ok(value($two, 'SELECT flake_detach(3)'),
		'>=', $detached, "$crash: still a bound");
	is(code($two, 'SELECT flake_id(6)'),
		'55000', "$crash: attached without COMMIT: detached");
	like(value($two, 'SELECT flake_id(5)'),
		qr/^\d+$/, "$crash: detached without COMMIT: ids");
	my $id = value($two, 'SELECT flake_id(4)');
	cmp_ok($id, '>', $last, "$crash: attached again: ids go on");
	$last = $id;

	# What is prepared is as pending as before.
	if ($crash ne 'the server restarted')
	{
		send_query($two, 'SELECT flake_id(7)');
		wait_for_waiters($node, 1, $advisory);
		pass("$crash: a prepared transaction makes wait");
		if ($crash eq 'the server killed')
		{
			value($admin, q(COMMIT PREPARED 'move'));
			is(error_code(get_answer($two)),
				'55000', "$crash: then committed: an error");
		}
		else
		{
			# Not even the one who waits gets an id out of the crash.
			kill9_and_wait($node);
			finish_sessions();
			is($two->{out}, '', "$crash: no id");
			start_with_clock($node, $clock);
			reconnect();
		}
	}
}

cmp_ok(value($admin, 'SELECT flake_detach(16)'),
	'>=', $minted_before, 'the bound covers what was minted before a crash');
value($admin, "SELECT flake_attach(3, $detached)");
cmp_ok(value($two, 'SELECT flake_id(3)'),
	'>', $detached, 'clock 10 s behind: attached, ids go on above the bound');
value($admin, 'SELECT flake_attach(5), flake_attach(6), flake_attach(7)');
foreach my $shard (6, 7)
{
	like(value($two, "SELECT flake_id($shard)"),
		qr/^\d+$/, "clock 10 s behind: attached, shard $shard mints");
}

# The same with a bound from a server whose clock is right.
set_clock($clock, 0);
my $now = value($admin, 'SELECT flake_upper(clock_timestamp())');
set_clock($clock, -10);
value($admin, "SELECT flake_attach(8, $now)");
cmp_ok(value($two, 'SELECT flake_id(8)'),
	'>', $now, 'clock 10 s behind: attached, past an id of the right time');
value($admin, 'SELECT flake_detach(8)');
is(value($admin, "SELECT flake_detach(8) >= $now"),
	't', 'clock 10 s behind: the bound is no less');

#
# Failover.
#

$bound = value($admin, 'SELECT flake_detach(9)');
value($admin, 'SELECT flake_attach(10)');
my $standby = start_standby($node, 'standby', $clock);
my $streamed = value($admin, 'SELECT flake_detach(11)');
$node->wait_for_catchup($standby, 'replay');
my $heir = new_session($standby);
foreach my $call ('flake_detach(11)', 'flake_attach(11)')
{
	is(code($heir, "SELECT $call"), '25006', "$call: not on a standby");
}
is( value($heir, 'SELECT state FROM flake_shards WHERE shard = 11'),
	'detached', 'a standby shows what is detached');
end_session($one, $two, $admin);
kill9_and_wait($node);
$standby->promote;
is(code($heir, "SELECT flake_id($_)"), '55000', "failover: $_ is detached")
  foreach 9, 11;
cmp_ok(value($heir, 'SELECT flake_detach(11)'),
	'>=', $streamed, 'failover: still a bound');
like(value($heir, 'SELECT flake_id(10)'),
	qr/^\d+$/, 'failover: a shard that is attached mints');
value($heir, 'SELECT flake_attach(11)');
cmp_ok(value($heir, 'SELECT flake_id(11)'),
	'>', $streamed, 'failover: attached, ids go on above the bound');
end_session($heir);
$standby->stop;
set_clock($clock, 0);
start_with_clock($node, $clock);
($one, $two, $admin) = new_sessions($node, 3);

#
# flakeid.require_attach
#

sub require_attach
{
	my ($setting) = @_;

	$node->append_conf('postgresql.conf', "flakeid.require_attach = $setting");
	$node->reload;
	foreach my $session ($one, $two)
	{
		wait_until(
			sub { value($session, 'SHOW flakeid.require_attach') eq $setting },
			"flakeid.require_attach is $setting");
	}
	return;
}

value($admin, 'SELECT flake_attach(12); SELECT flake_detach(13)');
foreach my $session ($one, $two)
{
	value($session, "SELECT flake_id($_)") foreach 12, 14;
}
require_attach('on');
foreach my $session ($one, $two)
{
	like(
		(ask($session, 'SELECT flake_id(14)'))[1],
		qr/^ERROR:  55000: shard 14 is not attached$/m,
		'flakeid.require_attach: not attached, an error');
	like((ask($session, 'SELECT flake_id(13)'))[1],
		qr/55000/, 'flakeid.require_attach: detached, an error');
	like(value($session, 'SELECT flake_id(12)'),
		qr/^\d+$/, 'flakeid.require_attach: attached, ids');
	is(code($session, 'SELECT count(*) FROM flake_ids(14, 2)'),
		'55000', 'flakeid.require_attach: not attached, no batches');
	like(value($session, 'SELECT flake_uuid()'),
		qr/-/, 'flakeid.require_attach: UUIDs have no shards');
}
value($admin, 'SELECT flake_attach(14)');
like(value($_, 'SELECT flake_id(14)'),
	qr/^\d+$/, 'flakeid.require_attach: attached meanwhile, ids')
  foreach $one, $two;

# To backfill a shard does not attach it, when its detach is undone.
value($admin,
	"BEGIN; SAVEPOINT s; SELECT flake_detach(19); SELECT flake_backfill('2024-01-01Z', 19); ROLLBACK TO s; COMMIT"
);
is(code($one, 'SELECT flake_id(19)'),
	'55000', 'flakeid.require_attach: backfilled without a row, an error');

# A row that is deleted, or becomes another shard's, counts no more.
value($admin, 'SELECT flake_attach(16), flake_attach(17)');
value($one, 'SELECT flake_id(16), flake_id(17)');
value($admin, 'DELETE FROM flake_shard_state WHERE shard = 16');
value($admin, 'UPDATE flake_shard_state SET shard = 18 WHERE shard = 17');
is(code($one, "SELECT flake_id($_)"),
	'55000', "flakeid.require_attach: $_, whose row is gone, an error")
  foreach 16, 17;

# Nor does that of an extension which was replaced.
$node->safe_psql('postgres', 'CREATE DATABASE attached');
{
	my ($minter, $owner) = new_sessions($node, 2, 'attached');
	my $mint_attached = q(SELECT flake_id(7, 'attached_id'));

	value($owner, q(CREATE EXTENSION flakeid; SELECT flake_create_generator('attached_id')));
	value($owner, q(SELECT flake_attach(7, generator => 'attached_id')));
	value($minter, $mint_attached);
	value($minter, 'SELECT flake_uuid()');
	value($owner, 'DROP EXTENSION flakeid; CREATE EXTENSION flakeid');
	is(code($_, $mint_attached),
		'55000', 'flakeid.require_attach: not attached in a new extension, an error')
	  foreach $owner, $minter;
	end_session($minter, $owner);
}
require_attach('off');

# Rows that are written while the table is not as the extension has made it, or without
# its trigger, count afterwards.
value($one, 'SELECT flake_id(7300), flake_id(7301)');
my $detached_by_hand =
  q{INSERT INTO flake_shard_state VALUES ('flake_default', %d, false, NULL, now())};
value($admin, $_)
  foreach 'CREATE INDEX not_expected ON flake_shard_state ((shard + 1))',
  sprintf($detached_by_hand, 7300), 'DROP INDEX not_expected';
value($admin, $_)
  foreach 'BEGIN', 'ALTER TABLE flake_shard_state DISABLE TRIGGER keep_state',
  sprintf($detached_by_hand, 7301),
  'ALTER TABLE flake_shard_state ENABLE ALWAYS TRIGGER keep_state', 'COMMIT';
is(code($one, "SELECT flake_id($_)"), '55000', "written by hand: $_ is detached")
  foreach 7300, 7301;
like(value($_, 'SELECT flake_id(15)'),
	qr/^\d+$/, 'flakeid.require_attach off: not attached, ids')
  foreach $one, $two;
is(code($_, 'SELECT flake_id(13)'),
	'55000', 'flakeid.require_attach off: detached, an error')
  foreach $one, $two;

#
# In another table of states, that of an extension which replaces this one, the
# shard is not detached.  If that is undone, it is.
#

$node->safe_psql('postgres', 'CREATE DATABASE undone');
$node->safe_psql(
	'undone', q(
CREATE EXTENSION flakeid;
CREATE TABLE rows_in_parallel AS SELECT generate_series(1, 200);
ALTER TABLE rows_in_parallel SET (parallel_workers = 2);
SELECT flake_id(5);
SELECT flake_detach(5);
));
my $undone = new_session($node, 'undone');
my $mint_many = "$in_parallel SELECT flake_id(5) FROM rows_in_parallel";
my $replace = 'BEGIN; DROP EXTENSION flakeid; CREATE EXTENSION flakeid';

foreach my $minting ([ $mint, 1 ], [ $mint_many, 200 ])
{
	my ($sql, $count) = @$minting;

	foreach my $end ('ROLLBACK',
		q(PREPARE TRANSACTION 'replaced'; ROLLBACK PREPARED 'replaced'))
	{
		value($undone, $replace);
		my @ids = split /\n/, value($undone, $sql);
		is(scalar @ids, $count, "replaced: $count ids");
		is(first_duplicate(\@ids), undef, 'replaced: no id twice');
		value($undone, $_) foreach split /; /, $end;
		is(code($undone, $mint), '55000', "replaced, $end: detached");
	}
}

# A named generator is older than the extension, so its states are: others can
# see it, and would mint from a slot that was opened for the new extension.
value($undone, q(SELECT flake_create_generator('older')));
value($undone, q(SELECT flake_id(5, 'older'), flake_detach(5, 'older')));
my $other = new_session($node, 'undone');
foreach my $end ('ROLLBACK',
	q(PREPARE TRANSACTION 'replaced'; ROLLBACK PREPARED 'replaced'))
{
	value($undone, "$replace; SAVEPOINT s");
	is(code($undone, q(SELECT flake_id(5, 'older'))),
		'55000', 'replaced: an older generator is refused');
	value($undone, 'ROLLBACK TO s');
	cmp_ok(value($undone,
			q(SELECT flake_id(5, flake_create_generator('newer')))),
		'>', 0, 'replaced: a new generator is not');
	is(code($other, q(SET lock_timeout = 100; SELECT flake_id(5, 'older'))),
		'55P03', 'replaced: others have to wait');
	value($undone, $_) foreach split /; /, $end;
	is(code($other, q(RESET lock_timeout; SELECT flake_id(5, 'older'))),
		'55000', "replaced, $end: detached, the older one, too");
}
end_session($other);
end_session($undone);

# Whoever writes the tables by hand, as a superuser can, holds no lock of ours.
# What was committed meanwhile counts all the same.
$bound = value($admin, 'SELECT flake_id(30), flake_detach(30)');
foreach my $by_hand (
	q(UPDATE flake_shard_state SET changed_at = '2020-01-01' WHERE shard = 30),
	'DELETE FROM flake_shard_state WHERE shard = 30')
{
	foreach my $end ('ROLLBACK', 'COMMIT')
	{
		value($one, "BEGIN; $by_hand");
		send_query($two, 'SELECT flake_detach(30) > 0');
		wait_for_waiters($node, 1, q(locktype = 'transactionid'));
		value($one, $end);
		is(join('', get_answer($two)),
			't', "$by_hand, $end: detaching waits and goes on");
		is(state_of($admin, 30), 'detached', "$by_hand, $end: detached");
	}
}
value($one, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1');
value($two, 'SELECT flake_attach(30)');
my $later = value($two, 'SELECT flake_id(30)');
cmp_ok(value($one, 'SELECT flake_detach(30)'),
	'>=', $later, 'REPEATABLE READ: the bound counts what came after the snapshot');
is(code($two, 'SET lock_timeout = 100; SELECT flake_id(30)'),
	'55P03', 'REPEATABLE READ: fenced at once');
value($one, 'COMMIT');
is(code($two, 'RESET lock_timeout; SELECT flake_id(30)'),
	'55000', 'REPEATABLE READ: detached');

#
# A database with the OID of one that was dropped: the old one's slots are still
# there, and what counts are the new one's states.
#

value($admin, 'CREATE DATABASE reused');
my $oid = value($admin, q(SELECT oid FROM pg_database WHERE datname = 'reused'));
$node->safe_psql(
	'reused', q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('order_id');
SELECT flake_id(5), flake_id(6), flake_id(5, 'order_id'), flake_id(6, 'order_id');
));
value($admin, 'CREATE DATABASE copied TEMPLATE reused');
$last = $node->safe_psql('copied',
	q(SELECT greatest(flake_detach(5), flake_detach(5, 'order_id'), flake_id(6), flake_id(6, 'order_id')))
);
my $copy = PostgreSQL::Test::Utils::tempdir . '/copy';
$node->command_ok(
	[ 'pg_dump', '-Fc', '-f', $copy, $node->connstr('copied') ],
	'pg_dump of a copy');

foreach my $way ('by TEMPLATE', 'by pg_restore')
{
	my $template = $way eq 'by TEMPLATE' ? 'TEMPLATE copied' : '';

	value($admin, 'DROP DATABASE reused');
	value($admin, "CREATE DATABASE reused $template OID = $oid");
	$node->command_ok(
		[
			'pg_restore', '--exit-on-error', '--single-transaction', '-d',
			$node->connstr('reused'), $copy
		],
		'restored in one transaction') if $template eq '';

	my ($first, $second) = new_sessions($node, 2, 'reused');
	foreach my $generator ('flake_default', 'order_id')
	{
		my $mint = sub { "SELECT flake_id($_[0], '$generator')" };

		is(code($_, $mint->(5)), '55000', "OID reused, $way: detached there")
		  foreach $first, $second;
		my @ids = ($last, map { value($_, $mint->(6)) } $first, $second);

		# The row in pg_database is another one, but not the database.
		value($admin, 'ALTER DATABASE reused CONNECTION LIMIT -1');
		my $third = new_session($node, 'reused');
		is(code($third, $mint->(5)),
			'55000', "database altered, $way: still detached");
		push @ids, map { value($_, $mint->(6)) } $third, $first, $second;
		is(first_descent(\@ids), undef, "OID reused, $way: ids increase");
		end_session($third);
	}
	end_session($first, $second);
}

# Rows that came along from a template are below its horizon, and may be above the floor of
# the old one's shards.
value($admin, 'CREATE DATABASE template_of');
$node->safe_psql(
	'template_of', q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('number', 'shard:8 seq:40');
CREATE TABLE item (id bigint);
));
foreach my $minted (q(SELECT count(*) FROM flake_ids(1, 100000, 'number')),
	q(INSERT INTO item SELECT flake_id(2, 'number') FROM generate_series(1, 5)))
{
	value($admin, 'DROP DATABASE reused');
	value($admin, "CREATE DATABASE reused TEMPLATE template_of OID = $oid");
	$node->safe_psql($minted =~ /item/ ? 'template_of' : 'reused', $minted);
}
value($admin, 'DROP DATABASE reused');
value($admin, "CREATE DATABASE reused TEMPLATE template_of OID = $oid");
is( $node->safe_psql(
		'reused', q(
SELECT flake_sequence(flake_detach(3, 'number'), l) >= flake_sequence(max(id), l) FROM item, flake_layout_of('number') AS l GROUP BY l;
SELECT flake_id(2, 'number') > max(id) FROM item;
)),
	"t\nt",
	'OID reused: bounds and ids exceed the ids that came along');

# What the old one's owner has done to its generators is not passed on.
value($admin, 'DROP DATABASE reused');
value($admin, "CREATE DATABASE reused OID = $oid");
$node->safe_psql(
	'reused', q(
CREATE EXTENSION flakeid;
SELECT setval('flake_default', 1125899906842620);
));
like((ask_once($node, 'SELECT flake_id(1)', 'reused'))[1], qr/ERROR:  53400: the clock is/, 'OID reused: the old one has ids of the future only');
value($admin, 'DROP DATABASE reused');
value($admin, "CREATE DATABASE reused OID = $oid");
is( $node->safe_psql(
		'reused', q(
CREATE EXTENSION flakeid;
SELECT abs(extract(epoch FROM flake_timestamp(flake_id(s)) - clock_timestamp())) < 5 FROM generate_series(1, 2) AS s;
SELECT severity FROM flake_health WHERE severity = 'critical';
SELECT sum(issued), sum(refused) FROM flake_stat WHERE generator = 'flake_default'::regclass;
SELECT horizon_time < clock_timestamp() + interval '1 min' FROM flake_generators WHERE generator = 'flake_default'::regclass;
)),
	"t\nt\n2|0\nt",
	'OID reused: ids of the new one are of the present, and nothing is known of the old one');

# In another tablespace it is the same database, and its extension may have been dropped.
value($admin, q(SET allow_in_place_tablespaces = on));
value($admin, q(CREATE TABLESPACE elsewhere LOCATION ''));
value($admin, 'CREATE DATABASE moved');
my $ahead = $node->safe_psql('moved', 'CREATE EXTENSION flakeid; SELECT max(i) FROM flake_ids(5, 12000000) AS i');
$node->safe_psql('moved', 'DROP EXTENSION flakeid');
value($admin, 'ALTER DATABASE moved SET TABLESPACE elsewhere');
cmp_ok($node->safe_psql('moved', 'CREATE EXTENSION flakeid; SELECT flake_id(5)'),
	'>', $ahead, 'extension dropped, database moved, extension created: ids increase');
value($admin, 'DROP DATABASE moved');
value($admin, 'DROP TABLESPACE elsewhere');

# A GRANT that grants nothing writes the row in pg_database anew.  Anybody may try, and it
# is no other database.
value($admin, q(CREATE ROLE visitor; SELECT flake_create_generator('granted_id', 'seq:24 shard:8 block=100000')));
my $number = value($admin, q(SELECT flake_id(1, 'granted_id')));
foreach my $round (1, 2)
{
	my ($stdout, $stderr) = ask_once($node, 'SET ROLE visitor; GRANT CONNECT ON DATABASE postgres TO visitor');

	like($stderr, qr/WARNING:  .*no privileges were granted/, "GRANT on the database, $round: by one without rights");
	is($node->safe_psql('postgres', q(SELECT flake_id(1, 'granted_id'))),
		$number + 256 * $round, "GRANT on the database, $round: the next number comes next");
}
value($admin, q(DROP SEQUENCE granted_id; DROP ROLE visitor));

#
# A dump carries the states along, and a dropped generator takes them with it.
#

value($admin, q(SELECT flake_create_generator('order_id')));
$bound = value($admin, q(SELECT flake_detach(5, 'order_id')));
value($admin, q(SELECT flake_attach(6, generator => 'order_id')));
my $view =
  'SELECT generator, shard, state, after, changed_at FROM flake_shards'
  . ' ORDER BY generator::text COLLATE "C", shard';
my $dump = PostgreSQL::Test::Utils::tempdir . '/dump';
$node->command_ok(
	[ 'pg_dump', '-Fc', '-f', $dump, $node->connstr('postgres') ],
	'pg_dump');
value($admin, 'CREATE DATABASE restored');
$node->command_ok(
	[
		'pg_restore', '--exit-on-error', '-d', $node->connstr('restored'),
		$dump
	],
	'pg_restore');
my $restored = new_session($node, 'restored');
is(value($restored, $view), value($admin, $view),
	'restored: the same states');
is(code($restored, q(SELECT flake_id(5, 'order_id'))),
	'55000', 'restored: detached');
is(code($restored, 'SELECT flake_id(13)'),
	'55000', 'restored: detached, of flake_default');
cmp_ok(value($restored, q(SELECT flake_detach(5, 'order_id'))),
	'>=', $bound, 'restored: still a bound');
value($restored, q(SELECT flake_attach(5, generator => 'order_id')));
cmp_ok(value($restored, q(SELECT flake_id(5, 'order_id'))),
	'>', $bound, 'restored: attached, ids go on above the bound');
like(value($restored, q(SELECT flake_id(6, 'order_id'))),
	qr/^\d+$/, 'restored: attached, ids');
end_session($restored);

value($admin, 'DROP SEQUENCE order_id');
is( value(
		$admin, q(SELECT count(*) FROM flake_shards s LEFT JOIN pg_class c)
		  . ' ON c.oid = s.generator WHERE c.oid IS NULL'),
	0,
	'dropped: the view shows nothing of it');
value($admin, q(SELECT flake_create_generator('order_id')));
is( value(
		$admin,
		q(SELECT count(*) FROM flake_shards WHERE generator = 'order_id'::regclass)
	),
	0,
	'another of that name has no states');
like(value($two, q(SELECT flake_id(5, 'order_id'))),
	qr/^\d+$/, 'and mints');
value($one, 'BEGIN');
value($one, q(SELECT flake_detach(5, 'order_id'); DROP SEQUENCE order_id));
value($one, 'ROLLBACK');
like(value($two, q(SELECT flake_id(5, 'order_id'))),
	qr/^\d+$/, 'detached and dropped, undone: mints');

#
# Whoever is refused holds no lock while the message is on its way.  A client that
# does not read it would keep the lock otherwise.
#

value($admin, 'CREATE ROLE reader; GRANT USAGE ON SEQUENCE flake_default TO reader');
value($admin, 'SELECT flake_detach(4001)');
foreach my $call ('flake_id(4001)', 'flake_detach(4001)')
{
	my $client = new_session($node);

	value($admin, 'SELECT pg_advisory_lock(4001)');
	value($client, 'SET client_min_messages = error; SET ROLE reader');
	my $pid = value($client, 'SELECT pg_backend_pid()');
	send_query($client, qq(DO \$\$ BEGIN PERFORM pg_advisory_lock(4001);
		EXECUTE 'SELECT $call --' || repeat('x', 5000000); END \$\$));
	wait_for_waiters($node, 1, "pid = $pid");
	my ($psql) = map { $_->{PID} } @{ $client->{run}{KIDS} };
	kill 'STOP', $psql;
	value($admin, 'SELECT pg_advisory_unlock(4001)');
	$node->poll_query_until('postgres',
		"SELECT wait_event = 'ClientWrite' FROM pg_stat_activity WHERE pid = $pid")
	  or die 'the server does not wait for the client';
	is( value(
			$admin,
			"SELECT count(*) FROM pg_locks WHERE pid = $pid AND locktype = 'advisory' AND objsubid > 2"),
		0,
		"$call: refused, and holds no lock of flakeid");
	kill 'CONT', $psql;
	like((get_answer($client))[1], qr/ERROR:  (55000|42501)/, "$call: it was an error");
	end_session($client);
}
value($admin, 'DROP OWNED BY reader; DROP ROLE reader');

#
# A transaction that is changing a shard mints it, or is refused, while others wait
# for its locks; and so it detaches all.
#

value($admin, "SELECT flake_create_generator('waited_for_$_') FROM (SELECT 1) AS s") foreach 1, 2;
value($admin, q(SELECT flake_detach(2, 'waited_for_1')));
foreach my $case (
	[ q(flake_attach(1, NULL, 'waited_for_1')), 1, '55000' ],
	[ q(flake_detach(3, 'waited_for_1')), 3, '55000' ],
	[ q(flake_backfill('2020-01-01Z', 2, 'waited_for_1')), 2, '55000' ])
{
	my ($call, $shard, $code) = @$case;

	value($one, "BEGIN; SELECT $call");
	send_query($two, "SELECT flake_detach($shard, 'waited_for_1')");
	wait_for_waiters($node, 1, q(locktype = 'advisory'));
	value($one, q(SET LOCAL statement_timeout = '20s'));
	like(code($one, "SELECT flake_id($shard, 'waited_for_1')"),
		qr/^$code/, "$call: minting the shard does not wait for one who waits");
	value($one, 'ROLLBACK');
	get_answer($two);
}
value($one, q(BEGIN; SELECT flake_detach(9, 'waited_for_1'), flake_detach(9, 'waited_for_2')));
my $third = new_session($node);
send_query($two, q(SELECT flake_detach_all('waited_for_1')));
send_query($third, q(SELECT flake_detach_all('waited_for_2')));
wait_for_waiters($node, 2, q(locktype = 'advisory'));
value($one, q(SET LOCAL statement_timeout = '20s'));
is(code($one, 'SELECT flake_detach_all(NULL) IS NULL'),
	'none, but: f', 'flake_detach_all() does not wait for those who wait');
value($one, 'ROLLBACK');
get_answer($_) foreach $two, $third;
end_session($third);

end_session($one, $two, $admin);
$node->stop;
done_testing();
