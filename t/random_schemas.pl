# Copyright (c) 2026, the flakeid developers

# flake_migrate(), flake_create_shard() and flakeid-move-shard change nothing but
# their object, whatever the schema.  A dump before and a dump after show it, for
# random schemas (see lib/Schemas.pm).  Otherwise they refuse with an error that is
# documented, and nothing has changed.
#
# In the environment (make schemas SEED=7 COUNT=2000 sets the first two):
#   SCHEMAS_SEED     the first schema's seed, by default 1; the next has the next one
#   SCHEMAS_COUNT    how many schemas, by default 100
#   SCHEMAS_MOVES    each how many is also moved to another server, by default 20
#   SCHEMAS_REDUCE   of failures whose name matches this regular expression, the
#                    schema's statements that it takes are found and shown
#   SCHEMAS_VERBOSE  if set, statements that fail in making a schema are shown
#   SCHEMAS_LOG      a file to which failures are appended as they come
#
# A schema that fails is repeated by SEED=its seed COUNT=1.

use strict;
use warnings;
use utf8;

use Encode qw(encode decode);
use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeServer;
use FlakeWire;
use IPC::Run;
use List::Util qw(first sum0);
use POSIX      ();
use PostgreSQL::Test::Utils;
use SchemaDump;
use Schemas;
use Storable qw(store retrieve);
use Test::More;
use Time::HiRes qw(time usleep);

my $first     = $ENV{SCHEMAS_SEED}  || 1;
my $count     = $ENV{SCHEMAS_COUNT} || 100;
my $each      = $ENV{SCHEMAS_MOVES} || 20;
my $reduce    = $ENV{SCHEMAS_REDUCE};
my $processes = 2;

# For a statement, and for what does not even heed that; for a move.
my ($statement_s, $session_s, $move_s) = (10, 30, 120);

note "seeds $first to " . ($first + $count - 1);

my %node;
foreach my $name ('alpha', 'beta')
{
	$node{$name} = start_server(
		$name,
		allows_streaming => 'logical',
		extra            =>
		  [ '--username', 'boss', '--encoding', 'UTF8', '--locale', 'C' ],
		conf => qq{
		autovacuum = off
		client_min_messages = error
		log_statement = none
		max_wal_senders = 10
		max_replication_slots = 10
		wal_retrieve_retry_interval = 100ms
		statement_timeout = '${statement_s}s'});
}
BEGIN { $ENV{PGUSER} = 'boss'; $ENV{PGCLIENTENCODING} = 'UTF8' }
foreach my $node (values %node)
{
	$node->safe_psql('postgres', 'CREATE DATABASE blank');
	$node->safe_psql('blank',    'CREATE EXTENSION flakeid');
	$node->safe_psql('postgres', join '; ',
		map { 'CREATE ROLE ' . Schemas::identifier($_) } @Schemas::roles);
}

# A role that only the source has
$node{alpha}->safe_psql('postgres', 'CREATE ROLE onlyhere');

sub session
{
	my ($node, $dbname) = @_;

	return FlakeWire->connect($node->host, $node->port, $dbname, 'boss',
		sub { $_[0]->age < $session_s })
	  || die "no session for $dbname";
}

sub request
{
	my ($wire, $sql) = @_;

	return $wire->request(encode('UTF-8', $sql));
}

# Executes the statements in a new database; returns a session.
sub build
{
	my ($node, $dbname, $statistics, @statements) = @_;
	my $admin = session($node, 'postgres');
	my $wire;

	foreach my $sql (
		"DROP DATABASE IF EXISTS $dbname WITH (FORCE)",
		"CREATE DATABASE $dbname TEMPLATE blank",
		"GRANT ALL ON DATABASE $dbname TO PUBLIC")
	{
		my $answer = request($admin, $sql);
		die "$sql: $answer->{message}" if $answer->{code};
	}
	$admin->close;
	$wire = session($node, $dbname);
	foreach my $sql (@statements)
	{
		my $answer = request($wire, $sql);

		$statistics->{statements}++;
		next unless $answer->{code};
		$statistics->{"not possible: $answer->{code}"}++;
		note "$answer->{code} $answer->{message}: $sql"
		  if $ENV{SCHEMAS_VERBOSE};
	}
	return $wire;
}

# As one role: what it returns, or the error.
sub call_as
{
	my ($wire, $role, $sql) = @_;
	my ($answer, %result);

	request($wire, 'SET SESSION AUTHORIZATION ' . Schemas::identifier($role));
	$answer = request($wire, $sql);
	request($wire, 'RESET SESSION AUTHORIZATION');
	$result{code} = $answer->{status} eq '' ? 'hang' : $answer->{code} // '';
	$result{rows} =
	  [ map { decode('UTF-8', $_->[0][0] // 'null') } @{ $answer->{rows} } ];
	$result{$_} = decode('UTF-8', $answer->{$_} // '')
	  foreach qw(message detail hint);
	$result{text} = join "\n",
	  $result{code} eq '' ? @{ $result{rows} } : map { "$_: $result{$_}" }
	  qw(code message detail hint);
	return \%result;
}

sub value
{
	my ($wire, $sql) = @_;
	my $answer = request($wire, $sql);

	return $answer->{code}
	  ? "error $answer->{code}: " . decode('UTF-8', $answer->{message})
	  : $answer->{rows}[0][0][0] // 'null';
}

sub limit_text
{
	my ($text) = @_;

	return length $text > 3000 ? substr($text, 0, 3000) . '...' : $text;
}

# What is documented as refused.
my %refusals = (
	migrate =>
	  { map { $_ => 1 } qw(0A000 55000 42501 42804 42809 42703 22003) },
	shard => { map { $_ => 1 } qw(0A000 42501 42703 42622 22003) });

# A refusal must be one of those, and say what to do.
sub check_refusal
{
	my ($function, $answer) = @_;

	return [ "$function: hangs", '' ]
	  if $answer->{code} =~ /^(?:hang|57014)$/;
	return [ "$function: error $answer->{code}", $answer->{text} ]
	  unless $refusals{$function}{ $answer->{code} };
	return [ "$function: no hint", $answer->{text} ]
	  if $answer->{code} eq '0A000' && $answer->{hint} eq '';
	return;
}

# The columns that are widened with it: those that refer to it, of all tables that
# inherit from one another.
sub related_columns
{
	my ($wire, $table, $attribute) = @_;
	my $answer = request(
		$wire,
		sprintf q{
		SET search_path = pg_catalog;
		SET quote_all_identifiers = on;
		WITH RECURSIVE col (relation, attname) AS (
			SELECT %s::regclass::oid, %s::name
			UNION
			SELECT x.*
			FROM col CROSS JOIN LATERAL (
				SELECT inhrelid, col.attname FROM pg_inherits WHERE inhparent = col.relation
				UNION ALL
				SELECT inhparent, col.attname FROM pg_inherits JOIN pg_attribute a ON attrelid = inhparent
				WHERE inhrelid = col.relation AND a.attname = col.attname
				UNION ALL
				SELECT k.conrelid, f.attname
				FROM pg_constraint k, unnest(k.conkey, k.confkey) AS u (f, t), pg_attribute f, pg_attribute t
				WHERE k.contype = 'f' AND k.confrelid = col.relation
				AND f.attrelid = k.conrelid AND f.attnum = u.f
				AND t.attrelid = k.confrelid AND t.attnum = u.t AND t.attname = col.attname) AS x
		), heir (oid) AS (
			SELECT %1$s::regclass::oid
			UNION
			SELECT inhrelid FROM heir JOIN pg_inherits ON inhparent = oid
		)
		SELECT relation::regclass, quote_ident(attname), attname = %2$s AND relation IN (SELECT oid FROM heir) FROM col;
		RESET search_path;
		RESET quote_all_identifiers}, Schemas::literal($table),
		Schemas::literal($attribute));

	return map {
		[ map { decode('UTF-8', $_) } @{ $_->[0] } ]
	} @{ $answer->{rows} };
}

# Makes of the dump before what it should be afterwards.
sub migrated
{
	my ($world, $before, $columns, $number) = @_;
	my $after  = Storable::dclone($before);
	my $target = first
	{
			 $_->[0] eq $world->{target}{quoted}
		  && $_->[1] eq Schemas::identifier($world->{target}{id})
	} @$columns;
	my $default = qq{"public"."flake_id"($number};
	my @dropped;

	$default .= ', ' . Schemas::literal($world->{generator}) . '::"regclass"'
	  unless $world->{generator} eq 'public.flake_default';
	$default .= ')';
	foreach my $name (keys %{ $after->{sequences} })
	{
		my $owner = $after->{sequences}{$name}{owner};
		push @dropped,
		  $name
		  if $world->{drop_sequence} eq 'true'
		  && (
			defined $owner && $owner eq "$target->[0].$target->[1]"
			|| index(
				$before->{columns}{ $target->[0] }{ $target->[1] }{default}
				  // '',
				qq{"nextval"(} . Schemas::literal($name) . '::') == 0);
	}
	foreach my $column (@$columns)
	{
		my $c = $after->{columns}{ $column->[0] }{ $column->[1] };
		$c->{base} = 'bigint';
		@$c{qw(default identity)} = ($default, '') if $column->[2] eq 't';
	}
	delete $after->{sequences}{$_} foreach @dropped;
	$after->{objects} = [
		grep {
			my $object = $_;
			!grep { $object->{text} =~ / ON SEQUENCE \Q$_\E / } @dropped
		} @{ $after->{objects} }
	];
	return $after;
}

# The generator that a hint tells to make must be one to which it can migrate.
sub check_hint
{
	my ($world, $wire, $number, $hint) = @_;
	my ($call) = $hint =~ /such as (flake_create_generator\(.*\))\.(?: Or |$)/
	  or return;
	my ($made, $planned, %other);

	request($wire, 'BEGIN; SET LOCAL search_path = public');
	$made    = value($wire, "SELECT $call");
	%other   = (%$world, generator => $made, number => $number);
	$planned = value($wire, Schemas::migration(\%other, 'true'))
	  if $made !~ /^error/;
	request($wire, 'ROLLBACK');
	return if defined $planned && $planned !~ /^error 55000/;
	return [
		'migrate: the hint is no use',
		"$call\n$made\n" . ($planned // '')
	];
}

# What an answer says, but for what is of this moment
sub said
{
	my ($answer) = @_;

	return $answer->{code} eq '42501'
	  ? ''
	  : $answer->{text} =~ s/epoch=\S+//r;
}

# Lets flake_migrate() loose; the dumps' state is in $state.
sub check_migration
{
	my ($world, $wire, $state, $statistics) = @_;
	my @columns =
	  related_columns($wire, $world->{target}{quoted}, $world->{target}{id});
	my $number = value($wire, "SELECT $world->{number}");
	my ($planned, $done, @failures);

	if (!@columns)
	{
		$statistics->{'migrations of what could not be made'}++;
		return;
	}
	foreach my $dry_run ('true', 'false')
	{
		my $answer =
		  call_as($wire, $world->{role}, $world->migration($dry_run));

		$dry_run eq 'true' ? ($planned = $answer) : ($done = $answer);
		return [ "migrate: hangs", '' ]
		  if $answer->{code} =~ /^(?:hang|57014)$/;
	}
	push @failures,
	  [
		'migrate: the dry run is another one'
		  . (
				 $planned->{code} eq ''
			  && $done->{code} ne '' ? ", error $done->{code}" : ''),
		"dry run:\n$planned->{text}\nreal run:\n$done->{text}"
	  ]
	  unless $planned->{code} eq $done->{code}
	  && said($planned) eq said($done);
	$statistics->{ 'migrations '
		  . ($done->{code} eq '' ? 'done' : "refused with $done->{code}") }++;
	if ($done->{code} ne '')
	{
		push @failures, check_refusal('migrate', $done) if !@failures;
		push @failures, check_hint($world, $wire, $number, $done->{hint});
		return @failures;
	}

	my $after    = $state->{take}->();
	my $expected = migrated($world, $state->{dump}, \@columns, $number);

	# A domain becomes another one.
	my @added       = $state->{domains_of}->($after);
	my @differences = grep { !/^\+ (?:DOMAIN|ACL|COMMENT) / || !@added }
	  $expected->differences($after);
	push @failures, by_kind('migrate', @differences);

	my $id     = Schemas::identifier($world->{target}{id});
	my $minted = value($wire,
			"SELECT public.flake_id($number, "
		  . Schemas::literal($world->{generator})
		  . ") > coalesce((SELECT max($id) FROM $world->{target}{quoted}), 0)"
	);
	push @failures,
	  [
		'migrate: new ids '
		  . ($minted eq 'f' ? 'do not exceed the old ones' : 'cannot be had'),
		$minted
	  ]
	  if $minted ne 't';
	$state->{dump} = $after;
	return @failures;
}

# A failure for each kind of difference: the kind of object, and the first line that
# is there only before, or only afterwards, without names and numbers.
sub by_kind
{
	my ($what, @differences) = @_;
	my (%objects, %kinds);

	push @{ $objects{ (split /\n/, substr $_, 2)[0] } }, $_
	  foreach @differences;
	foreach my $object (sort keys %objects)
	{
		my ($kind) = $object =~ /^((?:COMMENT |ACL )?[A-Z ]+)/;
		my (%sides, $line);

		foreach my $difference (@{ $objects{$object} })
		{
			$sides{$_}{ substr $difference, 0, 1 } = 1
			  foreach split /\n/, substr $difference, 2;
		}
		$line = first { /\w/ && keys %{ $sides{$_} } == 1 }
		  map { split /\n/, substr $_, 2 }
		  sort { $b cmp $a } @{ $objects{$object} };
		$line = (exists $sides{$line}{'-'} ? '- ' : '+ ') . $line;
		$line =~ s/(?:"(?:[^"]|"")*"|'(?:[^']|'')*'|<schema>|\.)+|\d+/_/g;
		$line = substr $line, 0, 70;
		push @{ $kinds{"$what: $kind: $line"} }, @{ $objects{$object} };
	}
	return map { [ $_, join "\n", @{ $kinds{$_} } ] } sort keys %kinds;
}

sub check_copy
{
	my ($world, $wire, $state, $statistics) = @_;
	my $role   = $world->{role};
	my $answer = call_as($wire, $role, $world->copying);
	my @failures;

	$statistics->{ 'copies '
		  . ($answer->{code} eq '' ? 'made' : "refused with $answer->{code}")
	}++;
	return check_refusal('shard', $answer) if $answer->{code} ne '';

	my $after       = $state->{take}->();
	my @differences = $after->schema($world->{main})
	  ->differences($after->schema($world->{copied}));
	push @failures, by_kind('shard', @differences);

	# Each column that mints lets in only what it mints.
	my $unchecked = value(
		$wire,
		sprintf q{
		SELECT string_agg(format('%%s.%%s', c.relname, a.attname), ', ')
		FROM pg_attrdef f
		JOIN pg_class c ON c.oid = adrelid AND c.relnamespace = %s::regnamespace
		JOIN pg_attribute a ON attrelid = adrelid AND attnum = adnum
		WHERE pg_get_expr(adbin, adrelid) ~ 'flake_id\('
		AND (pg_get_expr(adbin, adrelid) !~ 'flake_id\(%d[,)]'
			OR NOT EXISTS (SELECT FROM pg_constraint WHERE conrelid = c.oid AND contype = 'c' AND conkey = ARRAY[attnum]
				AND pg_get_constraintdef(oid) ~ 'flake_shard\(.*\) = %2$d\)'))},
		Schemas::literal(Schemas::identifier($world->{copied})),
		$world->{shard});
	push @failures, [ 'shard: unchecked columns', $unchecked ]
	  if $unchecked ne 'null';

	# And nothing else has changed.
	$after->forget_schema($world->{copied});
	@differences = $state->{dump}->differences($after);
	push @failures, by_kind('shard changes something else', @differences);
	$state->{is_copied} = 1;
	return @failures;
}

# A schema in a database of its own.
sub check_schema
{
	my ($world, $statements, $dbname, $only, $statistics) = @_;
	my $connstr = $node{alpha}->connstr($dbname);
	my $wire    = build($node{alpha}, $dbname, $statistics, @$statements);
	my $take    = sub { SchemaDump->new($connstr, $wire) };
	my $state   = { dump => $take->(), take => $take };
	my @failures;

	$state->{domains_of} = sub {
		my ($after) = @_;
		my %before = map { ("$_->{schema} $_->{name}" => 1) }
		  @{ $state->{dump}{objects} };
		return grep {
			$_->{type} eq 'DOMAIN' && !$before{"$_->{schema} $_->{name}"}
		} @{ $after->{objects} };
	};
	$statistics->{schemas}++;
	push @failures, check_migration($world, $wire, $state, $statistics)
	  unless $only eq 'shard';
	return @failures
	  if $only eq 'migrate' || grep { $_->[0] =~ /hang/ } @failures;
	push @failures, check_copy($world, $wire, $state, $statistics);
	if (!$state->{is_copied})
	{
		my @differences = $state->{dump}->differences($take->());
		push @failures, by_kind('refused, but changed', @differences);
	}
	$wire->close;
	return @failures;
}

# A move of the schema to the other server.

# What need not be there to move, but mostly is
my $prepare_move = q{
	DO $$
	DECLARE r regclass;
	BEGIN
		FOR r IN SELECT oid FROM pg_class WHERE relnamespace = %s::regnamespace AND relkind = 'r'
			AND (relreplident = 'n' OR relreplident = 'd' AND pg_get_replica_identity_index(oid) IS NULL) LOOP
			EXECUTE format('ALTER TABLE %%s REPLICA IDENTITY FULL', r);
		END LOOP;
		FOR r IN SELECT oid FROM pg_class WHERE relnamespace = %1$s::regnamespace AND relkind = 'r' AND relpersistence = 'u' LOOP
			EXECUTE format('ALTER TABLE %%s SET LOGGED', r);
		END LOOP;
	END $$};

sub run_move
{
	my (@options) = @_;
	my $output    = '';
	my $run       = IPC::Run::start(
		[ 'flakeid-move-shard', map { encode('UTF-8', $_) } @options ],
		'<', \'', '>&', \$output, my $timer = IPC::Run::timer($move_s));
	my $code;

	while ($run->pumpable)
	{
		$run->pump_nb;
		if ($timer->is_expired)
		{
			$run->kill_kill(grace => 5);
			return ('hang', decode('UTF-8', $output));
		}
		usleep(20_000);
	}
	return ($run->finish ? 0 : 1, decode('UTF-8', $output));
}

sub check_move
{
	my ($world, $statements, $statistics) = @_;
	my @statements = @$statements;
	my %wire;
	my $dbname = 'moved';
	my $schema = Schemas::identifier($world->{main});
	my ($writer, $written);

	# What others do with random numbers is not to count.
	srand $world->{seed};
	my $is_prepared = Schemas::chance(0.9);
	my $to          = Schemas::chance(0.1) ? 'b' x 70 : 'beta';
	my $drops       = Schemas::chance(0.3);
	my $writes      = !$drops && Schemas::chance(0.8);

	push @statements, sprintf $prepare_move, Schemas::literal($schema)
	  if $is_prepared;
	$wire{$_} = build($node{$_}, $dbname, $statistics, @statements)
	  foreach 'alpha', 'beta';
	request($wire{beta}, "DROP SCHEMA $schema CASCADE");
	request($wire{alpha},
		q{INSERT INTO public.flake_shard_map VALUES ('[0,31]', 'alpha')});

	my $connstr = { map { $_ => $node{$_}->connstr($dbname) } keys %node };
	my @options = (
		"--schema=$world->{main}",   '--shard=5',
		"--to=$to",                  "--source=$connstr->{alpha}",
		"--target=$connstr->{beta}", "--map=$connstr->{alpha}",
		$drops ? '--drop-source' : (),
		Schemas::chance(0.9) ? '--trust-owners' : ());
	my $take = sub {
		return {
			map { $_ => SchemaDump->new($connstr->{$_}, $wire{$_}) }
			  keys %node
		};
	};
	my $before = $take->();
	my ($planned, $plan) = run_move(@options, '--dry-run');
	my @failures;

	# Somebody who goes on writing.
	if ($writes)
	{
		my @updates = map {
			"BEGIN UPDATE $_->{quoted} SET x = x; EXCEPTION WHEN OTHERS THEN NULL; END;"
		} @{ $world->{tables} };

		$written = encode('UTF-8',
			"DO \$do\$ BEGIN @updates END \$do\$\n\\watch 0.05\n");
		$writer =
		  IPC::Run::start([ 'psql', '-X', '-q', '-d', $connstr->{alpha} ],
			'<', \$written, '>', '/dev/null', '2>', '/dev/null');
		$writer->pump while length $written;
	}
	my ($done, $output) = run_move(@options);
	$writer->kill_kill if defined $writer;
	$statistics->{ 'moves ' . ($done eq '0' ? 'made' : 'refused') }++;
	if ($done ne '0')
	{
		my $after = $take->();

		return [ 'move: hangs', $output ] if $done eq 'hang';
		# What the writer does, it does to the rows as they are.
		push @failures, [ 'move: the dry run saw nothing', "$plan\n$output" ]
		  if $planned eq '0';
		push @failures, map {
			my @differences = $before->{$_}->differences($after->{$_});
			by_kind("move: failed, but changed $_", @differences);
		} sort keys %node;
		foreach my $name (sort keys %node)
		{
			my $left = value($wire{$name},
				'SELECT (SELECT count(*) FROM pg_replication_slots) + (SELECT count(*) FROM pg_publication) + (SELECT count(*) FROM pg_subscription)'
			);
			push @failures, [ "move: leaves something on $name", $output ]
			  if $left ne '0';
		}
		run_move((grep { $_ ne '--drop-source' } @options), '--undo')
		  if @failures;
		return @failures;
	}
	push @failures, [ 'move: the dry run refuses', "$plan\n$output" ]
	  if $planned ne '0';

	my $after = $take->();
	my ($source, $target) = ($drops ? $before : $after)->{alpha};
	$target = $after->{beta};
	foreach my $dump ($source, $target)
	{
		$dump->{objects} =
		  [ grep { $_->{name} !~ /flakeid_fence/ } @{ $dump->{objects} } ];
	}
	my @differences = $source->only_schema($world->{main})
	  ->differences($target->only_schema($world->{main}));
	push @failures, by_kind('move', @differences);
	foreach my $name (sort keys %node)
	{
		$_->forget_schema($world->{main})
		  foreach $before->{$name}, $after->{$name};
		# which shards are where, is looked at below
		foreach my $dump ($before->{$name}, $after->{$name})
		{
			delete $dump->{others}{$_}
			  foreach grep { /^shard / } keys %{ $dump->{others} };
			$dump->{objects} =
			  [ grep { $_->{schema} ne 'public' } @{ $dump->{objects} } ];
		}
		@differences = $before->{$name}->differences($after->{$name});
		push @failures,
		  by_kind("move changes something else on $name", @differences);
	}
	my $server = value($wire{alpha}, 'SELECT public.flake_server(5)');
	push @failures, [ 'move: the map', "$server instead of $to" ]
	  if $server ne $to;
	my $minted = value($wire{beta}, 'SELECT public.flake_id(5) > 0');
	push @failures, [ 'move: the target does not mint', $minted ]
	  if $minted ne 't';
	$minted = value($wire{alpha}, 'SELECT public.flake_id(5) > 0');
	push @failures, [ 'move: the source mints', $minted ]
	  if $minted !~ /^error 55000/;
	$_->close foreach values %wire;
	return @failures;
}

# Leaves out what is not needed to fail, in smaller and smaller pieces.
sub reduced
{
	my ($check, $kind, @statements) = @_;
	my $size = @statements;
	my ($only) = $kind =~ /^(\w+)/;

	while ($size >= 1)
	{
		for (my $i = 0; $i < @statements;)
		{
			my @fewer = @statements;
			splice @fewer, $i, $size;
			my @failures = eval { $check->(\@fewer, $only) };
			if (grep { $_->[0] eq $kind } @failures)
			{
				@statements = @fewer;
			}
			else { $i += $size }
		}
		$size = int($size / 2);
	}
	return @statements;
}

# What has been reduced already
my %reduced;

sub check_seed
{
	my ($seed, $moves, $dbname, $statistics) = @_;
	my $world      = Schemas->new($seed);
	my @statements = $world->statements;
	my @failures;
	my $check =
	  $moves
	  ? sub { check_move($world, $_[0], $_[2] // {}) }
	  : sub { check_schema($world, $_[0], $dbname, $_[1], $_[2] // {}) };

	@statements = @statements[ 0 .. $world->{size} - 1 ] if $moves;
	@failures   = eval { $check->(\@statements, '', $statistics) };
	push @failures, [ 'the test died', $@ ] if $@ ne '';
	if (@failures && defined $reduce)
	{
		foreach my $failure (grep { $_->[0] =~ /$reduce/ } @failures)
		{
			next if $reduced{ $failure->[0] }++;
			my @fewer = reduced($check, $failure->[0], @statements);
			my ($same) =
			  grep { $_->[0] eq $failure->[0] } $check->(\@fewer, '');
			push @$failure, join(";\n", @fewer), $same ? $same->[1] : '';
		}
	}
	return {
		seed     => $seed,
		moves    => $moves,
		failures => \@failures,
		calls    => $moves ? '' : join("\n",
			"as $world->{role}", $world->migration('false'),
			$world->copying)
	};
}

my $directory = PostgreSQL::Test::Utils::tempdir();
my $began     = time;
my @children;

# One process moves, the others do the rest.
foreach my $i (0 .. $processes)
{
	my $pid = fork;

	die "fork: $!" unless defined $pid;
	if ($pid == 0)
	{
		my %statistics;
		my @results;
		my $moves = $i == $processes;
		foreach
		  my $n (grep { $moves ? $_ % $each == 0 : $_ % $processes == $i }
			0 .. $count - 1)
		{
			my $result =
			  check_seed($first + $n, $moves, "schemas_$i", \%statistics);

			push @results, $result;
			append_to_file($ENV{SCHEMAS_LOG},
				encode('UTF-8', report($result)))
			  if $ENV{SCHEMAS_LOG} && @{ $result->{failures} };
		}
		store([ \%statistics, \@results ], "$directory/results_$i");
		POSIX::_exit(0);
	}
	push @children, $pid;
}

sub report
{
	my ($result) = @_;

	return join "\n",
	  "seed $result->{seed}" . ($result->{moves} ? ', moved' : ''),
	  $result->{calls}, map {
		my ($kind, $text, $statements, $same) = @$_;
		"== $kind", limit_text($text),
		  defined $statements
		  ? ("-- it takes", $statements, '-- to get', limit_text($same))
		  : ()
	  } @{ $result->{failures} }, [ '', '' ];
}

waitpid $_, 0 foreach @children;

my (%statistics, @results);
foreach my $i (0 .. $processes)
{
	my ($counts, $of_one) = @{ retrieve("$directory/results_$i") };

	$statistics{$_} += $counts->{$_} foreach keys %$counts;
	push @results, @$of_one;
}
my %kinds;
foreach my $result (
	sort { $a->{seed} <=> $b->{seed} || $a->{moves} <=> $b->{moves} }
	@results)
{
	my $name = "seed $result->{seed}" . ($result->{moves} ? ', moved' : '');

	push @{ $kinds{ $_->[0] } }, $result->{seed}
	  foreach @{ $result->{failures} };
	ok(!@{ $result->{failures} }, $name)
	  or diag encode('UTF-8', report($result));
}
note sprintf '%.0f s', time - $began;
note "$_: $statistics{$_}" foreach sort keys %statistics;
diag "$_: " . @{ $kinds{$_} } . ', seeds ' . join ' ',
  grep { defined } @{ $kinds{$_} }[ 0 .. 9 ]
  foreach sort keys %kinds;

# Neither may the schemas be so odd that all are refused.
if ($count >= 50)
{
	my $tables = $statistics{schemas};

	cmp_ok(
		$statistics{'migrations done'},
		'>',
		0.3 * $tables,
		'many can be migrated');
	cmp_ok(
		$statistics{'copies made'},
		'>',
		0.2 * $tables,
		'many can be copied');
	cmp_ok($statistics{'moves made'}, '>', 0, 'some can be moved')
	  if $count >= 3 * $each;
	cmp_ok(
		sum0(
			map { $statistics{$_} } grep { /^not possible/ } keys %statistics
		),
		'<',
		0.1 * $statistics{statements},
		'most of them is possible');
}

done_testing();
