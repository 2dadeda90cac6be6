# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

TailClient - sessions that write rows with ids in many ways, and sessions that
read on from the last id that they have seen

=head1 SYNOPSIS

  use TailClient;

  $node->safe_psql('postgres', $tail_tables);
  name_primary($directory, 1, $node);
  my @writers = map { start_writer($directory, $_) } 1 .. $writer_kinds;
  my @readers = map { start_reader($directory, $_) } 'one', 'naive';
  ...
  stop_processes(@writers);
  wait_for_readers($directory, $greatest, 'one');
  stop_processes(@readers);
  my $ids = read_ids($directory, 'one');

=head1 DESCRIPTION

Each is a process of its own.  It connects to whichever server name_primary() has
named last, and again whenever the connection is lost, until it gets SIGTERM or the
test is gone.  They pause by themselves, and not in the server, which sleeps by
its clock.

=cut

package TailClient;

use strict;
use warnings;

use Exporter 'import';
use FlakeServer;
use FlakeWire;
use POSIX ();
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep clock_gettime CLOCK_MONOTONIC);
use TortureClient;

our @EXPORT = qw(
  $tail_tables
  $read_in_loop
  $writer_kinds
  $ahead_shard
  $copy_file
  name_primary
  start_writer
  start_reader
  start_poller
  stop_processes
  read_ids
  reads_over
  wait_for_readers
  polls
  tail_errors
);

=pod

=head1 FUNCTIONS

=over

=item $tail_tables, $read_in_loop, $copy_file

SQL for the tables of writers and readers; before it the extension is created.  The
part of it that readers need if there is a table or view C<event>.  And the name of a
file in the server's data directory, of which a writer copies the lines.

=cut

our $copy_file = 'to_copy';
our $read_in_loop = q(
CREATE FUNCTION read_in_loop(after bigint, n int) RETURNS SETOF bigint LANGUAGE plpgsql STABLE AS $$
DECLARE
	r record;
BEGIN
	FOR r IN SELECT id FROM event WHERE id > after AND id <= flake_settled() ORDER BY id LIMIT n LOOP
		RETURN NEXT r.id;
	END LOOP;
END $$;
);
our $tail_tables = $read_in_loop . q(
CREATE TABLE event (id bigint PRIMARY KEY, what text) PARTITION BY HASH (id);
CREATE TABLE event_0 PARTITION OF event FOR VALUES WITH (MODULUS 3, REMAINDER 0);
CREATE TABLE event_1 PARTITION OF event FOR VALUES WITH (MODULUS 3, REMAINDER 1);
CREATE TABLE event_2 PARTITION OF event FOR VALUES WITH (MODULUS 3, REMAINDER 2);
CREATE TABLE source (n int);
INSERT INTO source SELECT generate_series(1, 200);
CREATE TABLE reader (name text PRIMARY KEY, position bigint NOT NULL);
CREATE TABLE seen (n bigserial, name text, id bigint);
CREATE TABLE copied (id bigint, n int);
CREATE FUNCTION give_id() RETURNS trigger LANGUAGE plpgsql AS
	'BEGIN NEW.id := flake_id(8); RETURN NEW; END';
CREATE TRIGGER give_id BEFORE INSERT ON copied FOR EACH ROW EXECUTE FUNCTION give_id();
CREATE FUNCTION write_in_blocks() RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	FOR i IN 1 .. 5 LOOP
		BEGIN
			INSERT INTO event VALUES (flake_id(9));
			IF i % 2 = 0 THEN
				RAISE 'undone';
			END IF;
		EXCEPTION WHEN raise_exception THEN
			NULL;
		END;
	END LOOP;
END $$;
SELECT flake_create_generator('other_' || i) FROM generate_series(1, 5) AS i;
);

=pod

=item $writer_kinds, start_writer($directory, $number)

How many kinds of writers there are, and one of them, from 1 on.

=cut

# From 0 to 5 s, most of them short.
sub pause
{
	return 5 * rand()**4;
}

# How many milliseconds of the default layout a shard is brought ahead of the clock at
# once.
my $AHEAD_MS = 1500;
our $ahead_shard = 13;

# What writers do, over and over: requests, and pauses in seconds between them.
my @writers = (
	# Without a transaction block.
	sub { ("INSERT INTO event VALUES (flake_id($_[0]))") },
	sub { ("INSERT INTO event VALUES (flake_id(1 + $_[0]))") },
	sub { ("INSERT INTO event SELECT flake_id(3) FROM source WHERE n <= 100 AND pg_sleep(0.001) IS NOT NULL") },

	# Transactions of some length, in different shards.
	sub {
		(
			'BEGIN',
			'INSERT INTO event VALUES (flake_id(1))',
			pause(), 'INSERT INTO event VALUES (flake_id(2))', 'COMMIT');
	},
	sub {
		(
			'BEGIN ISOLATION LEVEL REPEATABLE READ',
			'INSERT INTO event SELECT flake_id(4) FROM source LIMIT 3',
			pause(), 'COMMIT');
	},

	# Minted long before it is inserted.
	sub {
		(
			q(BEGIN; SELECT set_config('tail.id', flake_id(5)::text, false)),
			pause(),
			q(INSERT INTO event SELECT current_setting('tail.id')::bigint; COMMIT)
		);
	},

	# Savepoints, and what is rolled back.
	sub {
		(
			'BEGIN; SAVEPOINT a; INSERT INTO event VALUES (flake_id(6)); ROLLBACK TO a',
			'SAVEPOINT b; INSERT INTO event VALUES (flake_id(6)); RELEASE b',
			pause() / 4,
			'SAVEPOINT c; INSERT INTO event VALUES (flake_id(6)); COMMIT');
	},
	sub {
		(
			'BEGIN; INSERT INTO event VALUES (flake_id(7))',
			pause() / 4, 'ROLLBACK');
	},
	sub { ('SELECT write_in_blocks()') },

	# COPY, and CREATE TABLE AS that reads in parallel.
	sub {
		(
			"BEGIN; TRUNCATE copied; COPY copied (n) FROM '$copy_file'",
			pause() / 8, 'INSERT INTO event SELECT id FROM copied; COMMIT');
	},
	sub {
		(
			'BEGIN; SET LOCAL parallel_setup_cost = 0; SET LOCAL parallel_tuple_cost = 0;'
			  . ' SET LOCAL min_parallel_table_scan_size = 0;'
			  . ' CREATE TEMP TABLE made ON COMMIT DROP AS SELECT flake_id(10) AS id FROM source',
			pause() / 8,
			'INSERT INTO event SELECT id FROM made; COMMIT');
	},

	# Prepared transactions: also those that a crash has left.
	sub {
		my ($number, $times) = @_;
		my $name = "w$number.$times";

		(
			"BEGIN; INSERT INTO event VALUES (flake_id(11)); PREPARE TRANSACTION '$name'",
			pause() / 2,
			(rand() < 0.8 ? 'COMMIT' : 'ROLLBACK') . " PREPARED '$name'");
	},

	# More generators than an entry has room for.
	sub {
		(
			'BEGIN',
			(map { "SELECT flake_id(1, 'other_$_')" } 1 .. 5),
			'INSERT INTO event VALUES (flake_id(12))',
			pause() / 4, 'COMMIT');
	},

	# A shard that is kept as far ahead of the clock as it may be.
	sub {
		(
			'BEGIN; SELECT flake_last_id() FROM'
			  . " (SELECT flake_ids($ahead_shard, $AHEAD_MS * 1024) LIMIT 1) AS s",
			"INSERT INTO event VALUES (flake_id($ahead_shard))",
			pause() / 8, 'COMMIT');
	},

	# Shards that are idle otherwise.
	sub {
		my $shard = 100 + int rand 8000;

		(
			"BEGIN; INSERT INTO event VALUES (flake_id($shard)), (flake_id($shard - 1))",
			pause() / 8, 'COMMIT', 0.3);
	},

	# A procedure's transactions, with a batch each.
	sub {
		(
			'DO $$ BEGIN FOR i IN 1 .. 3 LOOP'
			  . ' INSERT INTO event SELECT * FROM flake_ids(14, 20);'
			  . ' INSERT INTO event VALUES (flake_id(15)); COMMIT; END LOOP; END $$'
		);
	});

our $writer_kinds = @writers;

# Forks; the child does its work until it is told to stop.  It gets a function that
# says whether to go on.
sub start_process
{
	my ($name, $work) = @_;
	my $parent = $$;
	my $pid = fork;

	die "fork: $!" unless defined $pid;
	return $pid if $pid != 0;

	my $stopping = 0;
	local $SIG{TERM} = sub { $stopping = 1 };
	srand;
	my $ok = eval {
		$work->(sub { return !$stopping && getppid == $parent });
		1;
	};
	print STDERR "$name: $@" unless $ok;
	POSIX::_exit($ok ? 0 : 1);
}

# A session with whichever server is the primary; undef if there is none.
sub connect_as
{
	my ($directory, $name, $goes_on, $errors) = @_;
	my $user = getpwuid $>;

	while ($goes_on->())
	{
		my ($wire) =
		  connect_to_primary($directory, $user, $goes_on,
			$errors);

		if (defined $wire)
		{
			my $answer =
			  $wire->request("SET application_name = '$name'");

			return $wire if succeeded($answer);
		}
		usleep(20_000);
	}
	return undef;
}

# Whether the session can be used again after an answer, or else it is given up.
sub can_go_on
{
	my ($wire, $answer, $errors) = @_;

	count_error($errors, $answer);
	return 0 if $answer->{status} eq '';

	# A standby, where nobody has any business here.
	return 0 if defined $answer->{code} && $answer->{code} eq '25006';
	$wire->request('ROLLBACK') if $answer->{status} ne 'I' && defined $answer->{code};
	return 1;
}

sub write_errors
{
	my ($directory, $name, $errors) = @_;

	append_to_file("$directory/$name.errors",
		join '', map { "$errors->{$_}\t$_\n" } sort keys %$errors);
	return;
}

sub start_writer
{
	my ($directory, $number) = @_;
	my $name = "writer $number";

	return start_process(
		$name,
		sub {
			my ($goes_on) = @_;
			my $times = 0;
			my (%errors, $wire);

			while ($goes_on->())
			{
				if (!defined $wire)
				{
					$wire = connect_as($directory, $name, $goes_on, \%errors)
					  // last;
					finish_prepared($wire, $number, \%errors);
				}
				foreach my $step ($writers[ $number - 1 ]->($number, "$$." . ++$times))
				{
					if ($step =~ /^[\d.e-]+$/)
					{
						usleep($step * 1_000_000) if $goes_on->();
						next;
					}
					my $answer = $wire->request($step);

					if (!can_go_on($wire, $answer, \%errors))
					{
						undef $wire;
						last;
					}
					last if defined $answer->{code};
				}
				usleep(5_000 + rand 30_000);
			}
			write_errors($directory, "writer_$number", \%errors);
		});
}

# Those that a writer of this number has left behind.
sub finish_prepared
{
	my ($wire, $number, $errors) = @_;
	my $answer = $wire->request(
		"SELECT gid FROM pg_prepared_xacts WHERE gid LIKE 'w$number.%'");

	foreach my $row (@{ $answer->{rows} })
	{
		count_error($errors,
			$wire->request("COMMIT PREPARED '$row->[0][0]'"));
	}
	return;
}

=pod

=item start_reader($directory, $name)

One that reads on, in the way that $name says: C<one> by the statement that people
meet first, C<tail> with flake_tail(), C<cursor> with its position in a table,
C<naive> without a bound, and any other in many ways, at random.  The naive one leaves
out the rows of $ahead_shard, which is ahead of the clock: it would lose nearly all
others.

=cut

my $rows = 1000;

sub one_statement
{
	my ($after) = @_;

	return "SELECT id FROM event WHERE id > $after AND id <= flake_settled() ORDER BY id LIMIT $rows";
}

# Requests after which the ids are those of all rows that have come.
my %readers = (
	one => sub { one_statement($_[0]) },
	tail => sub {
		"SELECT id FROM event WHERE id > $_[0] AND id <= flake_tail($_[0]) ORDER BY id LIMIT $rows";
	},
	naive => sub {
		"SELECT id FROM event WHERE id > $_[0] AND flake_shard(id) <> $ahead_shard ORDER BY id LIMIT $rows";
	},
	repeatable => sub {
		('SELECT WHERE flake_settled() IS NULL',
			'BEGIN ISOLATION LEVEL REPEATABLE READ; ' . one_statement($_[0]),
			0.01, 'SELECT WHERE flake_settled() IS NULL', 'COMMIT');
	},
	late => sub {
		('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT WHERE false',
			0.02, one_statement($_[0]), 'COMMIT');
	},
	fetch => sub {
		('BEGIN; DECLARE c CURSOR FOR ' . one_statement($_[0]),
			'FETCH 7 FROM c', 0.02, 'SELECT WHERE flake_settled() IS NULL',
			'FETCH 50 FROM c', 0.01, 'FETCH ALL FROM c', 'COMMIT');
	},
	hold => sub {
		('DECLARE h CURSOR WITH HOLD FOR ' . one_statement($_[0]),
			'FETCH ALL FROM h', 'CLOSE h');
	},
	generic => sub {
		('SET plan_cache_mode = force_generic_plan',
			'PREPARE p AS SELECT id FROM event WHERE id > $1 AND id <= flake_settled() ORDER BY id LIMIT $2',
			"EXECUTE p($_[0], 50)", 'DEALLOCATE p', 'RESET plan_cache_mode');
	},
	loop => sub { "SELECT read_in_loop($_[0], $rows)" },
	subtransaction => sub {
		('BEGIN; SAVEPOINT a; SELECT WHERE flake_settled() IS NULL; ROLLBACK TO a; SAVEPOINT b',
			one_statement($_[0]), 'COMMIT');
	},

	# The bound for each row, not only for an index.
	filter => sub {
		("SELECT id FROM (SELECT * FROM event WHERE id > $_[0] ORDER BY id LIMIT 100) AS e"
			  . ' WHERE id <= flake_settled()');
	},

	# The bound first, and a statement after that.
	two => sub {
		("SELECT WHERE set_config('tail.bound', coalesce(flake_settled(), 0)::text, false) IS NULL",
			"SELECT id FROM event WHERE id > $_[0] AND id <= current_setting('tail.bound')::bigint ORDER BY id LIMIT $rows");
	});
my @any = grep { $_ ne 'naive' } sort keys %readers;

# Reads on once.  Returns the ids; undef if the session is lost.
sub read_on
{
	my ($wire, $after, $kind, $errors) = @_;
	my @ids;

	foreach my $step ($readers{$kind}->($after))
	{
		if ($step =~ /^[\d.]+$/)
		{
			usleep($step * 1_000_000);
			next;
		}
		my $answer = $wire->request($step);

		return undef if !can_go_on($wire, $answer, $errors);
		if (defined $answer->{code})
		{
			# What a session keeps over transactions.
			$wire->request('DEALLOCATE ALL; CLOSE ALL; RESET plan_cache_mode');
			return [];
		}
		push @ids, map { @{ $_->[0] } } @{ $answer->{rows} };
	}
	return \@ids;
}

# A reader whose snapshot is another session's.
sub read_with_snapshot
{
	my ($wire, $other, $after, $errors) = @_;
	my @ids;

	# What this session knows is from before.
	my @steps = (
		[ $wire, 'SELECT WHERE flake_settled() IS NULL' ],
		[ $other, 'BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT pg_export_snapshot()' ],
		[ $wire, 'SELECT WHERE flake_settled() IS NULL' ],
		[ $wire, q(BEGIN ISOLATION LEVEL REPEATABLE READ; SET TRANSACTION SNAPSHOT 'theirs'; ) . one_statement($after) ],
		[ $wire, 'COMMIT' ],
		[ $other, 'COMMIT' ]);
	my $snapshot = '';

	foreach my $step (@steps)
	{
		my ($session, $sql) = @$step;
		my $answer = $session->request($sql =~ s/theirs/$snapshot/r);

		return undef if !can_go_on($session, $answer, $errors) || defined $answer->{code};
		$snapshot = $answer->{rows}[0][0][0] if $sql =~ /export/;
		push @ids, map { @{ $_->[0] } } @{ $answer->{rows} } if $sql =~ /theirs/;
	}
	return \@ids;
}

sub start_reader
{
	my ($directory, $name) = @_;

	append_to_file("$directory/$name.read", '');
	return start_process(
		"reader $name",
		sub {
			my ($goes_on) = @_;
			my $after = 0;
			my (%errors, %used, $wire, $other);

			open my $file, '>>', "$directory/$name.read" or die "$name.read: $!";
			$file->autoflush;
			while ($goes_on->())
			{
				my $kind =
				  $readers{$name} ? $name : (@any, 'snapshot')[ rand 1 + @any ];
				my $ids;

				$wire //= connect_as($directory, "reader $name", $goes_on, \%errors)
				  // last;
				if ($name eq 'cursor')
				{
					my $answer = $wire->request(move_cursor_sql($name));

					undef $wire if !can_go_on($wire, $answer, \%errors);
				}
				elsif ($kind eq 'snapshot')
				{
					$other //= connect_as($directory, "reader $name", $goes_on, \%errors)
					  // last;
					$ids = read_with_snapshot($wire, $other, $after, \%errors);
					undef $other unless defined $ids;
				}
				else
				{
					$ids = read_on($wire, $after, $kind, \%errors);
				}
				undef $wire if $name ne 'cursor' && !defined $ids;
				if ($ids && @$ids)
				{
					print $file map { "$_\n" } @$ids;
					append_to_file("$directory/$name.reads",
						join(' ', clock_gettime(CLOCK_MONOTONIC), $kind, $after, $ids->[0], $ids->[-1]) . "\n");
					$after = $ids->[-1];
					$used{$kind} += @$ids;
				}
				usleep(5_000 + rand 10_000);
			}
			close $file or die "$name.read: $!";
			append_to_file("$directory/$name.used",
				join ', ', map { "$_ $used{$_}" } sort keys %used);
			write_errors($directory, $name, \%errors);
		});
}

# Reads on and notes what was read and the new position, in one statement.
sub move_cursor_sql
{
	my ($name) = @_;

	return "INSERT INTO reader VALUES ('$name', 0) ON CONFLICT DO NOTHING;"
	  . " WITH e AS (SELECT id FROM event WHERE id > (SELECT position FROM reader WHERE name = '$name')"
	  . " AND id <= flake_settled() ORDER BY id LIMIT $rows),"
	  . " s AS (INSERT INTO seen (name, id) SELECT '$name', id FROM e ORDER BY id)"
	  . " UPDATE reader SET position = (SELECT max(id) FROM e) WHERE name = '$name' AND EXISTS (SELECT FROM e)";
}

=pod

=item start_poller($directory, $name), polls($directory, $name)

One that asks for bounds, and after each how many rows there are up to it.  And the
list of [bound, rows], in that order.

=cut

sub start_poller
{
	my ($directory, $name) = @_;

	append_to_file("$directory/$name.polls", '');
	return start_process(
		"poller $name",
		sub {
			my ($goes_on) = @_;
			my (%errors, $wire);

			open my $file, '>>', "$directory/$name.polls" or die "$name.polls: $!";
			while ($goes_on->())
			{
				$wire //= connect_as($directory, "poller $name", $goes_on, \%errors)
				  // last;
				my $answer = $wire->request('SELECT flake_settled()');
				my $bound = @{ $answer->{rows} } ? $answer->{rows}[0][0][0] : undef;

				if (defined $bound)
				{
					$answer = $wire->request("SELECT count(*) FROM event WHERE id <= $bound");
					print $file "$bound\t$answer->{rows}[0][0][0]\n"
					  if succeeded($answer);
				}
				undef $wire if !can_go_on($wire, $answer, \%errors);
				usleep(10_000 + rand 40_000);
			}
			close $file or die "$name.polls: $!";
			write_errors($directory, $name, \%errors);
		});
}

sub polls
{
	my ($directory, $name) = @_;

	return map { [ split /\t/ ] } split /\n/, slurp_file("$directory/$name.polls");
}

=pod

=item name_primary($directory, $term, $node)

Has all processes connect there from now on.  Each call has a greater $term.

=cut

sub name_primary
{
	my ($directory, $term, $node) = @_;

	open my $file, '>', "$directory/primary.new" or die "primary.new: $!";
	print $file join(' ', $term, $node->host, $node->port), "\n";
	close $file or die "primary.new: $!";
	rename "$directory/primary.new", "$directory/primary" or die "primary: $!";
	return;
}

=pod

=item stop_processes(@pids)

Tells the processes to stop, and waits for them.  Returns how many have ended well.

=cut

sub stop_processes
{
	my (@pids) = @_;
	my $ended_well = 0;

	kill 'TERM', @pids;
	foreach my $pid (@pids)
	{
		waitpid $pid, 0;
		$ended_well++ if $? == 0;
	}
	return $ended_well;
}

=pod

=item read_ids($directory, $name)

A reference to the list of ids that a reader has read, in that order; not those of
C<cursor>, which are in the table.

=cut

sub read_ids
{
	my ($directory, $name) = @_;

	return [ split /\n/, slurp_file("$directory/$name.read") ];
}

=pod

=item reads_over($directory, $name, @ids)

How a reader came to be past ids: of each read that began below one and ended above it,
when it was, its kind, after which id, the first and the last that it got.

=cut

sub reads_over
{
	my ($directory, $name, @ids) = @_;

	return grep {
		my (undef, undef, $after, undef, $last) = split / /;
		grep { $after < $_ && $_ < $last } @ids;
	} split /\n/, slurp_file("$directory/$name.reads");
}

=pod

=item wait_for_readers($directory, $id, @names)

Waits until each of these has read up to an id.

=cut

sub wait_for_readers
{
	my ($directory, $id, @names) = @_;

	foreach my $name (@names)
	{
		wait_until(
			sub {
				open my $file, '<', "$directory/$name.read" or die "$name.read: $!";
				my $size = -s $file;

				seek $file, $size > 100 ? $size - 100 : 0, 0;
				my @lines = <$file>;
				return @lines && $lines[-1] =~ /^(\d+)\n/ && $1 >= $id;
			},
			"reader $name has read up to $id");
	}
	return;
}

=pod

=item tail_errors($directory, \%expected)

What errors there were, as a text; and a list of those that are not in %expected:
SQLSTATE => regular expression for the message.

=cut

sub tail_errors
{
	my ($directory, $expected) = @_;
	my (%errors, @unexpected);

	foreach my $file (glob "$directory/*.errors")
	{
		foreach my $line (split /\n/, slurp_file($file))
		{
			my ($times, $code, $message) = split /\t/, $line;

			next if $code eq '00000';
			$errors{$code} += $times;
			push @unexpected, $file =~ s{.*/}{}r . ": $code: $message"
			  unless defined $expected->{$code}
			  && $message =~ $expected->{$code};
		}
	}
	return (join(', ', map { "$errors{$_} of $_" } sort keys %errors),
		@unexpected);
}

=pod

=back

=cut

1;
