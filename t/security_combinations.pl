# Copyright (c) 2026, the flakeid developers

# Nobody's code is ever run with the rights of another, whoever owns what: the
# subject of security_traps.pl, with generated combinations.  For each role that
# mallory can have, each function of the extension, each moment at which the
# function can wait, and each thing that mallory can do then (see lib/Mallory.pm),
# a superuser, a plain user and mallory call it.  Afterwards nothing of hers may
# have been executed as anybody else.
#
# The moments are those locks that a call is seen to take: somebody holds one until
# the call waits, then mallory acts, then the lock is released.  Also, her own
# action is what it waits for; or she acts within the call, by an expression of hers
# that it evaluates; or before it, in sessions that have made the call already,
# which have plans of it.
#
# All calls that can wait at one moment do so at once, in one copy of a database.
# "make test" tries a sample, for about half a minute; in the environment, or as
# arguments to make,
#
#	MALLORY			how many databases to try, or "all"
#	MALLORY_SEED	which ones
#	MALLORY_ONLY	only those whose description matches a regular expression

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use List::Util qw(first sum0);
use Mallory;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(time usleep);

my $limit = $ENV{MALLORY} || 40;
my $seed  = $ENV{MALLORY_SEED} // 1;
my $only  = $ENV{MALLORY_ONLY} // '';

$limit = 1_000_000 if $limit eq 'all';
srand $seed;
note "seed $seed";

my $node = start_server(
	'main',
	conf => q{
	log_line_prefix = '%p '
	deadlock_timeout = '200ms'
	max_connections = 400
	autovacuum = off
	flakeid.worker = '02:00:00:00:00:01'
	flakeid.max_ahead = '1min'
},
	sql => q{
	CREATE ROLE boss LOGIN SUPERUSER;
	CREATE ROLE alice LOGIN IN ROLE pg_monitor;
	CREATE ROLE mallory LOGIN});

my $began   = time;
my $watcher = Mallory::session({ node => $node }, 'postgres', 'boss');
my %worlds  = map { $_ => Mallory->new($node, $_) } Mallory->roles;

note sprintf 'worlds made after %.1f s', time - $began;

# What the test itself must get right.

is_deeply($worlds{$_}{missing}, [], "$_: each function has arguments")
  foreach Mallory->roles;

# Lines of the server's log from a place on: [ process, trap, role, session ].
sub sprung
{
	my ($from) = @_;

	return [
		map {
			[/^(\d+) LOG:  sprung: (.*) by (\S+) in the session of (\S+)$/]
		  }
		  grep { /LOG:  sprung: / } split /\n/,
		slurp_file($node->logfile, $from)
	];
}

sub performed
{
	my ($from) = @_;

	return slurp_file($node->logfile, $from) =~ /LOG:  performed: (.*)$/m
	  ? $1
	  : undef;
}

sub log_size { return -s $node->logfile }

# The traps do fire, and would do what they are for.
{
	my $world  = $worlds{template};
	my $dbname = $world->copy;
	my $boss   = $world->session($dbname, 'boss');
	my $from   = log_size();
	my @traps;

	$boss->request($_)
	  foreach q{INSERT INTO decoy_t.flake_shard_map VALUES ('[1,2]', 'x')},
	  'SELECT * FROM decoy_v.flake_leases',
	  'DELETE FROM decoy_v.flake_shards',
	  'SELECT decoy_t.flake_columns(5)',
	  q{SELECT 'instagram'::decoy_v.flake_layout},
	  'INSERT INTO tmpl.cart DEFAULT VALUES';
	@traps = map { $_->[1] } @{ sprung($from) };

	foreach my $kind (
		'check', 'default', 'domain', 'trigger', 'view',
		'function flake_columns', 'type', 'act')
	{
		ok((first { /^\Q$kind\E/ } @traps), "a trap fires: $kind");
	}
	is( scalar(grep { $_->[2] ne 'boss' } @{ sprung($from) }), 0,
		'as who is at work');
	is( (   Mallory::run(
				$watcher,
				q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'})
		)[0][0],
		't',
		'and with his rights');
	Mallory::run($watcher, 'ALTER ROLE mallory NOSUPERUSER');
	$boss->close;
	$world->drop($dbname);
}

# What mallory may do.  A mistake in what is written for her must not pass for what
# she may not do, so only these errors are expected.
my %may_fail = (
	42501   => 'forbidden',
	'2BP01' => 'needed by others',
	'0A000' => 'refused',
	55000   => 'refused',
	42809   => 'refused',
	'42P06' => 'there already',
	'42P07' => 'there already',
	42710   => 'there already',
	42723   => 'there already',
	'55P03' => 'locked',
	'40P01' => 'locked',
	55006   => 'in use');
my (%may, %best, %mistakes, %ends);

sub judge
{
	my ($role, $action, $result) = @_;
	my ($done) = $result =~ /^(\d+)/;
	my $steps = $worlds{$role}{steps}{$action};

	foreach my $failure ($result =~ / (\w{5} in \d+ \(.*?\))/g)
	{
		my ($code) = $failure =~ /^(\w+)/;

		$mistakes{"$action: $failure"}++ unless $may_fail{$code};
	}
	$best{$action} = $done / $steps if $done / $steps > ($best{$action} || 0);
	return $done;
}

foreach my $role (Mallory->roles)
{
	my $world  = $worlds{$role};
	my $dbname = $world->copy;

	foreach my $action ($world->actions)
	{
		my $mallory = $world->session($dbname, 'mallory');
		my ($result) =
		  Mallory::run($mallory, 'BEGIN', "SELECT mal.perform('$action')");

		$may{$role}{$action} = judge($role, $action, $result->[0]);
		note "$role may $action: ", substr $result->[0], 0, 150;
		$mallory->request('ROLLBACK');
		$mallory->close;
	}
	$world->drop($dbname);
}
is($best{$_}, 1, "somebody may $_, all of it")
  foreach sort { $a cmp $b }
  keys %{ { map { %{ $_->{steps} } } values %worlds } };
note sprintf 'rights known after %.1f s', time - $began;

# The locks that a call takes and keeps.  Undisturbed, a superuser can call
# everything; but what takes a ticket does nothing without one.
my (%locks, %failed, %done);
{
	my $world  = $worlds{schema};
	my $dbname = $world->copy;
	my $boss   = $world->session($dbname, 'boss');
	my $other  = $world->helper($dbname);
	my $pid    = $boss->pid;

	foreach my $call ($world->calls($other, 'boss'))
	{
		my $name = $call->{name};

		Mallory::run($boss, 'BEGIN');
		my $answer = $boss->request($call->{sql});

		$failed{$name} = $answer->{message} if defined $answer->{code};
		$done{$name}   = $answer->{rows}
		  if $name =~ /\(NULL, |^_flake_ticket_out\(NULL/
		  && grep { defined $_->[0][0] } @{ $answer->{rows} };
		$locks{$name}  = [
			map { $_->[0] } Mallory::run(
				$other, qq{
				SELECT DISTINCT CASE l.locktype
					WHEN 'relation' THEN CASE c.relkind WHEN 'i' THEN 'index ' ELSE 'relation ' END
					                     || CASE n.nspname WHEN 'ext' THEN '{x}' ELSE n.nspname END || '.' || c.relname
					WHEN 'object' THEN o.type || ' ' || replace(o.identity, 'ext.', '{x}.')
					ELSE \$n\$call $name\$n\$ END
				FROM pg_locks l
				LEFT JOIN (pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace) ON l.locktype = 'relation' AND c.oid = l.relation
				LEFT JOIN LATERAL pg_identify_object(CASE WHEN l.locktype = 'object' AND l.objid > 16383 THEN l.classid END, l.objid, 0) o ON true
				WHERE l.pid = $pid
				  AND CASE l.locktype WHEN 'relation' THEN CASE WHEN n.nspname ~ '^pg_' THEN c.relkind = 'r' AND n.nspname = 'pg_catalog'
				                                                ELSE c.relname IS NOT NULL AND c.relkind <> 'I' END
				                      WHEN 'object' THEN o.type IN ('schema', 'function') AND o.identity IS NOT NULL
				                      ELSE l.locktype IN ('advisory', 'transactionid') END
				ORDER BY 1})
		];
		Mallory::run($boss, 'ROLLBACK');
	}
	is_deeply(\%failed, {}, 'undisturbed, a superuser can call everything');
	is_deeply(\%done, {},
		'a function that takes a ticket does nothing without');
	is_deeply(
		[
			grep { /\(NULL, / && first { !/ pg_catalog\./ } @{ $locks{$_} } }
			sort keys %locks
		],
		[],
		'and locks nothing');
	$_->close foreach $boss, $other;
	$world->drop($dbname);
}
note explain \%locks if $ENV{MALLORY_SHOW};
note sprintf 'locks known after %.1f s', time - $began;

# What holds them, as SQL.  A relation is locked as a superuser might, and if that is
# to be committed, only for those who write; a call that
# takes a lock of flakeid's own, or writes a row, is made; and what CREATE holds on
# to is dropped, with the extension if it is of that.
my %moments;    # => who can wait then
foreach my $call (sort keys %locks)
{
	push @{ $moments{$_} }, $call foreach @{ $locks{$call} };
}
my @takers = grep {
	grep { !/ pg_catalog\./ }
	  @{ $locks{$_} }
} sort keys %locks;

sub blocker_sql
{
	my ($moment, $is_commit, $x, @calls) = @_;
	my ($kind, $what) = $moment =~ /^(.*?) (.*)$/;

	my $is_member = $what =~ /^\{x\}/;

	$what =~ s/\{x\}/$x/g if $kind ne 'call';
	return "LOCK TABLE $what" . ($is_commit ? ' IN SHARE MODE' : '')
	  if $kind eq 'relation' && $what !~ /flake_default|\.g$|_seq$/;
	return "ALTER TABLE $what OWNER TO CURRENT_USER" if $kind eq 'relation';
	return "REINDEX INDEX $what"                     if $kind eq 'index';
	return (first { $_->{name} eq $what } @calls)->{sql} if $kind eq 'call';
	return 'DROP EXTENSION flakeid CASCADE'              if $is_member;
	return "DROP $kind $what CASCADE";
}

# Tries one database: in a role, at a moment, an action, whether the one who was in
# the way commits, and what sessions have done before: nothing (0), the same call in
# another transaction (1), or a similar one in the same transaction, in which they have
# also read all that they may (2).
my (%found, %internal, %outcomes, %waited, %inserted, %is_in_her_way,
	%within);

# Calls that evaluate what mallory has written
my $evaluating =
  qr/^_?flake_(?:copy_index\(.*mal\.cart|create_partitions\(.*mal\.part|create_shard\(|migrate\(.*mal\.item)/;
my ($combinations, $databases, $stuck, $is_sample) = (0, 0, 0, 0);

sub attempt
{
	my ($role, $action, $moment, $is_commit, $history) = @_;
	my $world = $worlds{$role};
	my $title =
		"$role: $action; $moment"
	  . ($is_commit ? ', committed' : '')
	  . ('', ', called before', ', called before in the transaction')
	  [$history];
	my $from    = log_size();
	my $dbname  = $world->copy;
	my $boss    = $world->helper($dbname);
	my $mallory = $world->session($dbname, 'mallory');
	my %before  = dependencies($boss);
	my (%who, @victims);
	my $result;

	$databases++;
	if ($moment eq 'before')
	{
		# Sessions that have prepared the calls and made them
		my %sessions =
		  map { $_ => $world->session($dbname, $_) } Mallory->callers;

		foreach my $caller (sort keys %sessions)
		{
			my $session = $sessions{$caller};
			my $i       = 0;

			foreach my $call (@{ $world->{wrapped}{$caller} })
			{
				$i++;
				$session->request("PREPARE p$i AS $call->{sql}");
				if ($history > 0)
				{
					$session->request('BEGIN');
					$session->request("EXECUTE p$i");
					$session->request('ROLLBACK');
				}
			}
		}
		$result = perform($mallory, $action);
		foreach my $caller (sort keys %sessions)
		{
			my $session = $sessions{$caller};
			my @calls   = map {
				{
					%{ $world->{wrapped}{$caller}[ $_ - 1 ] },
					  sql => "EXECUTE p$_"
				}
			} 1 .. @{ $world->{wrapped}{$caller} };

			push @calls,
			  grep { $_->{name} !~ /^(?:view|table) / }
			  $world->calls($boss, $caller);
			foreach my $call (@calls)
			{
				my $before = log_size();

				count($action, $call, $session->request($call->{sql}));
				note_traps(
					$title, sprung($before),
					{ $session->pid => $call });
			}
		}
		$from = log_size();
		$_->close foreach values %sessions;
	}
	elsif ($moment eq 'within')
	{
		# Each call in a transaction of its own.  What the last one does stays.
		my @calls = grep { $_->{name} =~ /$evaluating/ }
		  $world->calls($boss, 'boss');

		Mallory::run($mallory, "INSERT INTO mal.todo VALUES ('$action')");
		foreach my $call (@calls)
		{
			my $session = $world->session($dbname, 'boss');
			my $before  = log_size();

			$session->request('BEGIN');
			count($action, $call, $session->request($call->{sql}));
			$session->request($call == $calls[-1] ? 'COMMIT' : 'ROLLBACK');
			note_traps($title, sprung($before), { $session->pid => $call });
			$result = performed($before) // "$action 0";
			$within{ $call->{name} }++ if $result =~ / [1-9]\d*\b/;
			$result =~ s/^\Q$action\E //;
			judge($role, $action, $result) unless $call == $calls[-1];
			$session->close;
		}
		$from = log_size();
	}
	else
	{
		my $blocker =
			$moment eq 'her own action'
		  ? $mallory
		  : $world->session($dbname, 'boss');
		my @all          = $world->calls($boss, 'boss');
		my $x            = $world->{x};
		my %is_concerned = map { $_ => 1 } $moment eq 'her own action'
		  || $moment =~ /\{x\}/ ? @takers : @{ $moments{$moment} };

		# In a sample, of many calls at once only the superuser's and another's
		my @callers = Mallory->callers;
		splice @callers, 1 + int rand 2, 1
		  if $is_sample && $moment !~ /^call/;
		foreach my $caller (@callers)
		{
			# What is called by its name means what that did when the statement
			# was parsed.  But a view that is waited for is looked up again.
			my @reads = grep { $_->{name} =~ /^(?:view|table) / }
			  @{ $world->{wrapped}{$caller} };
			my @calls = grep { $_->{name} !~ /^(?:view|table) / }
			  $world->calls($boss, $caller);

			foreach my $call (@calls, @reads)
			{
				next unless $is_concerned{ $call->{name} };
				my $session = $world->session($dbname, $caller);

				push @victims, { session => $session, call => $call };
				$who{ $session->pid } = $call;
				recall($session, $history, $call, @reads) if $history > 0;
			}
		}
		Mallory::run($blocker, 'BEGIN');
		if ($moment eq 'her own action')
		{
			$result = perform($mallory, $action);
		}
		else
		{
			my $sql = blocker_sql($moment, $is_commit, $x, @all);
			my $answer =
			  $blocker->request("SET LOCAL lock_timeout = '5s'; $sql");

			$mistakes{"$moment: $sql: $answer->{code} $answer->{message}"}++
			  if defined $answer->{code};
		}
		$_->{session}
		  ->send($_->{call}{sql} . ($history == 2 ? '; COMMIT' : ''))
		  foreach @victims;
		wait_for(@victims);
		$result = perform($mallory, $action) if $blocker != $mallory;
		$is_in_her_way{$moment} = 1          if $result =~ /^0 55P03 in 0 /;
		Mallory::run($blocker, $is_commit ? 'COMMIT' : 'ROLLBACK');
		foreach my $victim (@victims)
		{
			count(
				$action, $victim->{call}, $victim->{session}->get_answer,
				$moment, $victim->{waits});
			$victim->{session}->close;
		}
		$blocker->close if $blocker != $mallory;
	}
	judge($role, $action, $result);
	note_traps($title, sprung($from), \%who);

	# What is there now is used by its owners.
	my %after = dependencies($boss);
	foreach my $dependency (sort keys %after)
	{
		$found{'depends on what is mallory\'s'}{$title}{$dependency} = 1
		  unless $before{$dependency};
	}
	$from = log_size();
	foreach my $owner (qw(boss alice))
	{
		my $session = $world->session($dbname, $owner);

		foreach my $table (tables($boss, $owner))
		{
			$inserted{
				defined $session->request("INSERT INTO $table DEFAULT VALUES")
				  ->{code} ? 'failed' : 'done' }++;
		}
		note_traps(
			$title, sprung($from),
			{ $session->pid => { name => 'INSERT', role => $owner } });
		$from = log_size();
		$session->close;
	}
	$_->close foreach $boss, $mallory;
	$world->drop($dbname);
	my ($is_super) = Mallory::run(
		$watcher,
		q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'});
	if ($is_super->[0] eq 't')
	{
		$found{'mallory is a superuser'}{$title}{'ALTER ROLE'} = 1;
		Mallory::run($watcher, 'ALTER ROLE mallory NOSUPERUSER');
	}
	return;
}

# What a session has done before: see attempt().
sub recall
{
	my ($session, $history, $call, @reads) = @_;

	$session->request('BEGIN');
	foreach my $sql (
		  $history == 1
		? $call->{sql}
		: ($call->{similar}, map { $_->{sql} } @reads))
	{
		$session->request("SAVEPOINT s; SET LOCAL lock_timeout = '5s'");
		$session->request('ROLLBACK TO s')
		  if defined $session->request($sql)->{code};

		# or a call that fails would keep the locks taken before it
		$session->request('RELEASE s');
	}
	$session->request('SET LOCAL lock_timeout = 0');
	$session->request('ROLLBACK') if $history == 1;
	return;
}

sub perform
{
	my ($mallory, $action) = @_;
	my $answer = $mallory->request("SELECT mal.perform('$action')");

	# Before the first statement, if a catalog is locked
	return '0 55P03 in 0 ()' if ($answer->{code} // '') eq '55P03';
	die "$action: $answer->{code} $answer->{message}"
	  if defined $answer->{code};
	return $answer->{rows}[0][0][0];
}

sub count
{
	my ($action, $call, $answer, $moment, $waits) = @_;

	$combinations++;
	$internal{ $call->{name} . ': ' . $answer->{message} =~ s/\d+/n/gr }++
	  if ($answer->{code} // '') eq 'XX000';
	$outcomes{ $answer->{code} // 'none' }++;
	$waited{ $call->{name} }++ if $waits;
	$stuck++                   if ($answer->{code} // '') eq '57014';
	return;
}

# Waits until each is waiting for a lock, has answered, or seems to do something else.
sub wait_for
{
	my (@victims) = @_;
	my $deadline = time + 3;

	while (time < $deadline)
	{
		my @open = grep { !$_->{session}->is_answering } @victims;

		$_->{waits} = 0 foreach @victims;
		return unless @open;
		my $pids = join ',', map { $_->{session}->pid } @open;
		my %waits =
		  map { $_->[0] => 1 } Mallory::run(
			$watcher,
			"SELECT pid FROM unnest(ARRAY[$pids]) pid WHERE pg_blocking_pids(pid) <> '{}'"
		  );

		$_->{waits} = $waits{ $_->{session}->pid } foreach @open;
		return unless grep { !$_->{waits} } @open;
		usleep(5_000);
	}
	return;
}

sub note_traps
{
	my ($title, $sprung, $who) = @_;

	foreach my $trap (@$sprung)
	{
		my ($pid, $name, $as) = @$trap;
		my $call = $who->{$pid} || { name => 'something else', role => '?' };

		next if $as eq 'mallory';
		$found{"$call->{name}, called by $call->{role}, ran as $as"}{$title}
		  {$name} = 1;
	}
	return;
}

# What belongs to others and depends on something of mallory's.
sub dependencies
{
	my ($boss) = @_;

	return map { $_->[0] => 1 } Mallory::run(
		$boss, q{
		SELECT DISTINCT pg_describe_object(d.classid, d.objid, d.objsubid) || ' on ' || pg_describe_object(d.refclassid, d.refobjid, 0)
		FROM pg_depend d
		LEFT JOIN pg_attrdef f ON d.classid = 'pg_attrdef'::regclass AND f.oid = d.objid
		LEFT JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND k.oid = d.objid
		LEFT JOIN pg_trigger t ON d.classid = 'pg_trigger'::regclass AND t.oid = d.objid
		LEFT JOIN pg_rewrite w ON d.classid = 'pg_rewrite'::regclass AND w.oid = d.objid
		JOIN pg_class c ON c.oid = coalesce(f.adrelid, k.conrelid, t.tgrelid, w.ev_class,
		                                    CASE WHEN d.classid = 'pg_class'::regclass THEN d.objid END)
		LEFT JOIN pg_proc p ON d.refclassid = 'pg_proc'::regclass AND p.oid = d.refobjid
		LEFT JOIN pg_operator o ON d.refclassid = 'pg_operator'::regclass AND o.oid = d.refobjid
		LEFT JOIN pg_class r ON d.refclassid = 'pg_class'::regclass AND r.oid = d.refobjid
		LEFT JOIN pg_type y ON d.refclassid = 'pg_type'::regclass AND y.oid = d.refobjid
		WHERE c.relowner <> 'mallory'::regrole
		  AND coalesce(p.proowner, o.oprowner, r.relowner, y.typowner) = 'mallory'::regrole}
	);
}

sub tables
{
	my ($boss, $owner) = @_;

	return map { $_->[0] } Mallory::run(
		$boss, qq{
		SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND c.relowner = '$owner'::regrole AND NOT c.relispartition
		  AND n.nspname NOT LIKE 'pg\\_%' AND n.nspname <> 'information_schema' AND c.relname NOT LIKE 'flake\\_%'}
	);
}

# The plan: each role and action that goes with it meets each moment, in random
# order, but so that what has not been tried comes first.  A sample begins with what
# was once found to be wrong, and has moments at which flakeid itself waits.
my @plan;
my @tables = ('put tables in another schema of the name');
my @views  = ('put views in another schema of the name');
my @first  = (
	[ 'database', @tables, q{call flake_detach({n}, 'mal.g')},         0, 2 ],
	[ 'database', @tables, 'relation {x}.flake_shard_state',           1, 0 ],
	[ 'creator', @tables, q{call flake_release('given_{s}', 'mal.g')}, 0, 0 ],
	[ 'creator',  'replace the extension by views', 'her own action',  1, 0 ],
	[ 'schema',   @views,                           'before',          0, 1 ],
	[ 'database', @tables,                          'within',          0, 0 ],
	[ 'template', 'overload the template',          'within',          0, 0 ],
	[ 'creator',  'rename the template',            'within',          0, 0 ]
);
foreach my $role (Mallory->roles)
{
	foreach my $action ($worlds{$role}->actions)
	{
		next unless $may{$role}{$action};
		foreach my $moment (
			'before', 'within', 'her own action',
			sort keys %moments)
		{
			next if $moment eq 'within' && $role eq 'minter';
			push @plan,
			  [
				$role, $action, $moment, $_,
				$moment eq 'within'
				? 0
				: int rand($moment =~ /^call/ ? 3 : 2)
			  ]
			  foreach $moment =~
			  /^(?:call|her|schema|function|relation \{x\})/ ? (1, 0) : 0;
		}
	}
}
note scalar(@plan), ' databases to try';
if ($only ne '')
{
	@first = ();
	@plan  = grep { "$_->[0]: $_->[1]; $_->[2]" =~ /$only/ } @plan;
}
$is_sample = $limit < @plan;
if ($is_sample)
{
	my %tries;

	# by random numbers drawn before
	@plan = map { $_->[1] }
	  sort { $a->[0] <=> $b->[0] } map { [ rand(), $_ ] } @plan;
	while (@first < $limit)
	{
		my ($best, $least);

		foreach my $i (0 .. $#plan)
		{
			my ($role, $action, $moment) = @{ $plan[$i] };
			my $score =
			  3 * ($tries{"$role: $action"} // 0) +
			  2 * ($tries{$moment} // 0) +
			  ($tries{"$action; $moment"} // 0) +
			  ( $moment =~ /^(?:relation|index|function|schema) (?!\{x\})/
				? 20
				: 0);

			($best, $least) = ($i, $score)
			  if !defined $best || $score < $least;
		}
		push @first, splice @plan, $best, 1;
		my ($role, $action, $moment) = @{ $first[-1] };
		$tries{$_}++ foreach "$role: $action", $moment, "$action; $moment";
	}
	@plan = @first;
}
sub try_one
{
	my (@try) = @_;
	my $start = time;

	return if $is_in_her_way{ $try[2] };
	attempt(@try);
	note sprintf '%.1f s: %s', time - $start, join '; ', @try
	  if $ENV{MALLORY_SHOW};
	return;
}

try_one(@$_) foreach @plan;

# Each call that can wait is to have waited at least once: first of all for the same.
if ($only eq '')
{
	foreach my $call (@takers)
	{
		my @mine = grep { !/ pg_catalog\./ } @{ $locks{$call} };

		foreach my $moment ((grep { /^call / } @mine),
			(grep { !/^call / } @mine))
		{
			last if $waited{$call};
			try_one('database', @tables, $moment, 0, 0);
		}
	}
}

note sprintf '%d combinations in %d databases, %.0f s; %d waited; ended: %s',
  $combinations, $databases, time - $began,
  sum0(values %waited), join ', ',
  map { "$_ $outcomes{$_}" } sort keys %outcomes;
note "inserted afterwards: $inserted{done}, failed: ", $inserted{failed} // 0;
note 'waited: ', join ', ', map { "$_ $waited{$_}" } sort keys %waited;

# What is dropped while a query, or a function in PL/pgSQL, waits for it is an
# internal error in PostgreSQL itself.  In what is flakeid's own it is none.
note "internal error in $_" foreach sort keys %internal;
my $of_postgres =
  qr/^(?:table|view) |^_?flake_(?:create_shard|create_partitions|drop_partitions|migrate|replace_ids|renumber)(?:_guarded)?\(|^_flake_(?:definitions\(|restored\(|minting_defaults\(|related_columns\(|replace_|named_relations\(|old_sequence\(|obstacle\(|remade\(|check_(?!partitioned)|copy_(?!index)|migrate_)/;
note 'she cannot act while these are locked: ', join ', ',
  sort keys %is_in_her_way;

is_deeply(
	[ sort keys %mistakes ], [],
	'no statement of mallory or of the test failed by mistake');
is( join(' ', sort keys %{ { map { /^(\w+)/ => 1 } keys %within } }),
	'_flake_copy_index flake_create_partitions flake_create_shard flake_migrate',
	'she has acted within calls') if $only eq '';
cmp_ok(
	$inserted{done}, '>', $inserted{failed} // 0,
	'what is there afterwards is used');
is($stuck, 0, 'each call came to an end');
is_deeply([ grep { !/$of_postgres/ } sort keys %internal ],
	[], 'no function in C has failed with an internal error');
is_deeply(
	[ grep { !$waited{$_} } @takers ], [],
	'each call that takes locks has waited') if $only eq '';
is( scalar(keys %found), 0,
	'nothing was run with more rights than its owner has');

foreach my $what (sort keys %found)
{
	my @titles = sort keys %{ $found{$what} };
	my %traps  = map { %$_ } values %{ $found{$what} };

	diag "$what: ", join ', ', sort keys %traps;
	diag "    ($_)" foreach @titles[ 0 .. ($#titles > 2 ? 2 : $#titles) ];
	diag '    (and ', @titles - 3, ' more)' if @titles > 3;
}

$node->stop;
done_testing();
