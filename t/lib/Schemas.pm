# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

Schemas - random schemas, and what a dump of them says

=head1 SYNOPSIS

  my $world = Schemas->new(42);
  $wire->request($_) foreach $world->statements;
  $wire->request($world->migration('true'));

  my $before = Schemas::dump_entries($dump);
  print Schemas::differences($before, $after);

=head1 DESCRIPTION

From a seed, for t/random_schemas.pl: tables of two schemas whose keys are minted or
numbered in one of the ways there are, tables that refer to them, and, more of it
or less, all that can hang on a table.  The same seed makes the same statements.
One of them may fail, because it does not go together with an earlier one; then
there is less in the schema.

=cut

package Schemas;

use strict;
use warnings;
use utf8;

# The roles that own, grant and are granted; the superuser is called boss.
our @owners = ('own', 'Own "2"');
our @roles  = (@owners, 'reader', "it's me");

sub chance     { my ($p) = @_; return rand() < $p }
sub pick       { return $_[ int rand @_ ] }
sub identifier { my ($name) = @_; return '"' . $name =~ s/"/""/gr . '"' }
sub literal    { my ($text) = @_; return "'" . $text =~ s/'/''/gr . "'" }

=pod

=head1 METHODS

=over

=item Schemas->new($seed)

=item $world->statements

What makes it, for a superuser's session in a database with the extension.  Some
of it is there only for that session (temporary views).

=cut

sub new
{
	my ($class, $seed) = @_;

	srand $seed;
	my $self = bless {
		seed       => $seed,
		statements => [],
		tables     => [],
		views      => [],
		names      => 0,
		often      => pick(0.03, 0.1, 0.25),    # how much hangs on a table
		odd        => pick(0,    0.1, 0.5)      # how many names are odd
	}, $class;

	# What flake_create_shard() refuses would keep most from being copied.
	$self->{plain} = chance(0.5);
	$self->make_schemas;
	$self->make_keys;
	$self->make_references;
	$self->decorate($_) foreach @{ $self->{tables} };
	$self->make_views;
	$self->{size} = @{ $self->{statements} };
	$self->choose_calls;
	return $self;
}

sub statements
{
	my ($self) = @_;

	return @{ $self->{statements} };
}

sub add
{
	my ($self, @statements) = @_;

	push @{ $self->{statements} }, @statements;
	return;
}

# Whether to do something of which there is more or less.
sub some
{
	my ($self, $weight) = @_;

	return chance($self->{often} * ($weight // 1));
}

# A name that is not there yet.
sub name
{
	my ($self, $kind) = @_;
	my $name = $kind . ++$self->{names};

	return $name unless chance($self->{odd});
	return pick(
		"\u$name",
		"$name \"q\"",
		"it's $name",
		"$name.x",
		"sch\xe4$name",
		"$name%I",
		"\\$name",
		"\$$name",
		"select $name",
		"$name(id)",
		$name . 'x' x (pick(60, 62, 63) - length $name),
		$name . "\xe4" x int((63 - length $name) / 2));
}

sub owner
{
	my ($self) = @_;

	return chance(0.9) ? $self->{owner} : pick(@owners, 'boss');
}

sub as_role
{
	my ($self, $role, $statement) = @_;

	$self->add('SET ROLE ' . identifier($role), $statement, 'RESET ROLE');
	return;
}

sub make_schemas
{
	my ($self) = @_;
	my $main   = chance(0.05) ? '$user' : $self->name('main');
	my $owner  = $self->{owner} = pick('boss', 'boss', @owners);

	$self->{main}   = $main;
	$self->{other}  = $self->name('other');
	$self->{copy}   = chance(0.3) ? $self->name('copy') : undef;
	$self->{copied} = $self->{copy} // "${main}_5";
	$self->{shard}  = 5;
	$self->add('SET flakeid.shard = 5');
	foreach my $schema ($main, $self->{other})
	{
		$self->add(
			'CREATE SCHEMA '
			  . identifier($schema)
			  . ' AUTHORIZATION '
			  . identifier($owner),
			'GRANT ALL ON SCHEMA '
			  . identifier($schema) . ' TO '
			  . join(', ', map { identifier($_) } @owners),
			'GRANT USAGE ON SCHEMA '
			  . identifier($schema) . ' TO '
			  . join(', ', map { identifier($_) } @roles));
	}
	$self->add('COMMENT ON SCHEMA ' . identifier($main) . q{ IS 'template'})
	  if $self->some;
	$self->add('GRANT USAGE ON SCHEMA ' . identifier($main) . ' TO PUBLIC')
	  if $self->some(2);
	$self->add('ALTER DEFAULT PRIVILEGES FOR ROLE '
		  . identifier($owner)
		  . ' GRANT SELECT ON TABLES TO reader')
	  if $self->some(0.5);

	my $home = identifier(
		chance($self->{plain} ? 0.95 : 0.5) ? $self->{other} : $main);
	$self->{home} = $home;
	$self->add(
		"CREATE FUNCTION $home.touch() RETURNS trigger LANGUAGE plpgsql AS \$\$ BEGIN RETURN coalesce(NEW, OLD); END \$\$",
		"CREATE FUNCTION $home.is_good(bigint) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT \$1 <> 13'",
		"CREATE DOMAIN $home.small AS int CONSTRAINT lucky CHECK (VALUE <> 13) CHECK (VALUE < 1000000000)",
		"CREATE DOMAIN $home.smaller AS $home.small DEFAULT 1 CHECK (VALUE <> 17)",
		"CREATE DOMAIN $home.big AS bigint CHECK (VALUE <> 13)",
		"CREATE DOMAIN $home.label AS text CHECK (VALUE <> '')",
		"CREATE TYPE $home.mood AS ENUM ('good', 'bad')");

	# Another function for int, in place of which widening would put that one.
	$self->add(
		"CREATE FUNCTION $home.is_good(int) RETURNS boolean IMMUTABLE LANGUAGE sql AS 'SELECT \$1 <> 7'"
	) if $self->some(0.3);
	return;
}

# A table's record: schema, name, id (the column of its key, if it has one), type
# of that, key ("single", "pair" with the column x, else it cannot be referred
# to), origin of its values, owner, kind ("r", "p"), part (of another table).
sub add_table
{
	my ($self, %table) = @_;

	$table{quoted} =
	  identifier($table{schema}) . '.' . identifier($table{name});
	push @{ $self->{tables} }, \%table;
	return $self->{tables}[-1];
}

sub new_owner
{
	my ($self, $table) = @_;
	my $owner = $self->owner;

	$self->add("ALTER TABLE $table->{quoted} OWNER TO " . identifier($owner))
	  unless $owner eq 'boss';
	$table->{owner} = $owner;
	return;
}

# Tables whose keys are made: the first by flake_id(), the others in any way.
sub make_keys
{
	my ($self) = @_;
	my $number = pick(1, 2, 2, 3);

	foreach my $n (1 .. $number)
	{
		$self->make_key(
			$n == 1 ? 'flake' : pick(
				qw(serial serial identity always shared plain function flake))
		);
	}
	return;
}

sub make_key
{
	my ($self, $origin) = @_;
	my $type =
	  $origin eq 'flake'
	  ? 'bigint'
	  : pick(qw(int int bigint bigint smallint));
	my $table = $self->add_table(
		schema => $origin ne 'flake'
		  && chance(0.1) ? $self->{other} : $self->{main},
		name   => $self->name('t'),
		id     => chance(0.7) ? 'id' : $self->name('id'),
		type   => $type,
		origin => $origin,
		is_key => 1,
		key    => pick(qw(single single single pair none)));
	my $id = identifier($table->{id});
	my $parts =
		$self->some($self->{plain} ? 1 : 2)
	  ? $table->{key} eq 'pair'
		  ? pick('LIST (x)', 'RANGE (x)', 'HASH (x)')
		  : $table->{key} eq 'none' ? pick('LIST (x)', 'LIST ((x + 1))')
		: pick("HASH ($id)", "RANGE ($id)")
	  : undef;
	my $definition;

	# Identity columns of partitioned tables came with PostgreSQL 17.
	$origin = $table->{origin} = 'serial'
	  if defined $parts && $origin =~ /^(identity|always)$/;
	$definition = {
		serial => {
			int      => 'serial',
			bigint   => 'bigserial',
			smallint => 'smallserial'
		}->{$type},
		identity => "$type GENERATED BY DEFAULT AS IDENTITY"
		  . pick('', ' (START 100 INCREMENT 5)', ' (CACHE 10 CYCLE)'),
		always => "$type GENERATED ALWAYS AS IDENTITY",
		shared => "$type DEFAULT nextval("
		  . literal("$self->{home}.shared") . ')',
		plain    => $type . pick('', ' NOT NULL', ' DEFAULT 7'),
		function => "$type DEFAULT $self->{home}.next_id()",
		flake    => 'bigint DEFAULT public.flake_id('
		  . pick('', '', $self->{shard}) . ')'
		  . pick(
			'', '',
			" CHECK (public.flake_shard($id) = 5)",
			" CONSTRAINT "
			  . identifier($table->{id} . '_shard')
			  . pick(
				" CHECK (public.flake_shard($id) = 5)", " CHECK ($id > 0)"))
	}->{$origin};
	$self->add("CREATE SEQUENCE $self->{home}.shared")
	  if $origin eq 'shared' && !$self->{shared}++;
	$self->add(
		"CREATE FUNCTION $self->{home}.next_id() RETURNS bigint LANGUAGE sql AS 'SELECT 77::bigint'"
	) if $origin eq 'function' && !$self->{function}++;

	my @more = ("x int NOT NULL DEFAULT 1", 'note text');
	push @more, $self->more_columns($table, $parts);

	# a column in the key that no subscriber can look for
	my $with_time = $origin eq 'flake' && !defined $parts && $self->some(0.7);
	push @more,
	  "made timestamptz GENERATED ALWAYS AS (public.flake_timestamp($id)) STORED"
	  if $with_time;
	$table->{key} = 'made' if $with_time;
	push @more,
	  {
		single => pick(
			"PRIMARY KEY ($id)",
			"PRIMARY KEY ($id)",
			"UNIQUE ($id)",
			"CONSTRAINT "
			  . identifier($self->name('key'))
			  . " PRIMARY KEY ($id)"
			  . (defined $parts ? '' : ' DEFERRABLE')),
		pair => "PRIMARY KEY ($id, x)",
		made => "PRIMARY KEY ($id, made)",
		none => "CHECK (x > 0)"
	  }->{ $table->{key} };
	# A foreign key cannot refer to a deferrable one.
	$table->{key} = 'none' if $more[-1] =~ / DEFERRABLE/;
	$self->add(
		(   $self->some(0.3)
			  && !defined $parts ? 'CREATE UNLOGGED TABLE' : 'CREATE TABLE')
		. " $table->{quoted} ($id $definition, "
		  . join(', ', @more) . ')'
		  . (
			  defined $parts   ? " PARTITION BY $parts"
			: $self->some(0.5) ? ' WITH (fillfactor = 70)'
			:                    ''));
	$self->new_owner($table);
	$table->{kind} = defined $parts ? 'p' : 'r';
	$self->make_partitions($table, $parts) if defined $parts;

	# rows
	my $overriding = $origin eq 'always' ? ' OVERRIDING SYSTEM VALUE' : '';
	$self->add(
		"INSERT INTO $table->{quoted} (x, note) SELECT 1 + n % 3, 'row ' || n FROM generate_series(1, "
		  . pick(1, 5, 12)
		  . ') AS n')
	  unless $origin eq 'plain' || chance(0.1);
	$self->add(
			"INSERT INTO $table->{quoted} ($id, x, note)$overriding VALUES ("
		  . pick(20, 21, $type eq 'bigint' ? '9000000000000000000' : 30000)
		  . ", 2, 'given')")
	  if $origin ne 'flake' && chance(0.3);
	$self->make_heir($table)
	  if !defined $parts && $self->some($self->{plain} ? 0 : 2);
	return;
}

# Columns and checks that are there to be there.
sub more_columns
{
	my ($self, $table, $parts) = @_;
	my $id = identifier($table->{id});
	my @columns;

	push @columns,
		identifier($self->name('c'))
	  . " $self->{home}."
	  . pick('label', 'mood', 'small')
	  if $self->some;
	push @columns,
	  identifier($self->name('c')) . ' '
	  . pick(
		'json',        'jsonb', 'numeric(10,2)', 'varchar(10)',
		'timestamptz', 'int[]', 'bytea',         'oid') if $self->some;
	push @columns,
		identifier($self->name('c'))
	  . ' text COLLATE "C" DEFAULT '
	  . pick(q{'it''s'}, q{current_user}, q{('a' || 'b')})
	  if $self->some;
	push @columns, 'twice int GENERATED ALWAYS AS (x * 2) STORED'
	  if $self->some;
	push @columns,
	  "gen "
	  . (
		$table->{origin} eq 'flake'
		? "timestamptz GENERATED ALWAYS AS (public.flake_timestamp($id))"
		: "int GENERATED ALWAYS AS ($id + 1)")
	  . ' STORED'
	  if $self->some(0.3);
	push @columns,
	  identifier($self->name('n'))
	  . pick(' serial', ' int GENERATED ALWAYS AS IDENTITY')
	  if $self->some(0.5) && !defined $parts;
	push @columns,
		"CONSTRAINT "
	  . identifier($self->name('check'))
	  . " CHECK ("
	  . pick(
		"$id > 0",
		"$id <> 19 OR x = 1",
		"$self->{home}.is_good($id)",
		'x < 100')
	  . ')'
	  . (defined $parts ? '' : pick('', '', ' NO INHERIT'))
	  if $self->some;
	return @columns;
}

sub make_partitions
{
	my ($self, $table, $parts, $depth) = @_;
	my $id     = identifier($table->{id});
	my ($kind) = $parts =~ /^(\w+)/;
	my @bounds = {
		LIST  => [ q{FOR VALUES IN ('1', '2')}, 'DEFAULT' ],
		RANGE => [
			q{FOR VALUES FROM (MINVALUE) TO ('3')},
			q{FOR VALUES FROM ('3') TO (MAXVALUE)}
		],
		HASH => [
			'FOR VALUES WITH (MODULUS 2, REMAINDER 0)',
			'FOR VALUES WITH (MODULUS 2, REMAINDER 1)'
		]
	}->{$kind}->@*;

	foreach my $bound (@bounds)
	{
		my $schema =
			$self->some($self->{plain} ? 0.2 : 1)
		  ? $self->{other}
		  : $table->{schema};
		my $part = $self->add_table(
			%$table,
			schema   => $schema,
			name     => $self->name('p'),
			part     => 1,
			key      => 'none',
			kind     => 'r',
			children => undef);
		my $below =
		   !$depth && $self->some(2)
		  ? $table->{key} eq 'none'
			  ? 'LIST (note)'
			  : $parts =~ /x/ && $table->{key} eq 'pair' ? "HASH ($id)"
			: $parts
		  : undef;

		if (!defined $below && $self->some)
		{
			# made on its own, with its columns in another order
			$self->add(
				"CREATE TABLE $part->{quoted} (LIKE $table->{quoted} INCLUDING ALL)",
				"ALTER TABLE $table->{quoted} ATTACH PARTITION $part->{quoted} $bound"
			);
		}
		else
		{
			$self->add(
				"CREATE TABLE $part->{quoted} PARTITION OF $table->{quoted} $bound"
				  . (defined $below ? " PARTITION BY $below" : ''));
		}
		$self->add("ALTER TABLE $part->{quoted} OWNER TO "
			  . identifier($part->{owner} = $table->{owner}))
		  unless $table->{owner} eq 'boss';
		push @{ $table->{children} }, $part;
		if (defined $below)
		{
			$part->{kind} = 'p';
			$self->make_partitions($part, $below, 1);
		}
	}
	return;
}

# A table that inherits, and perhaps is referred to.
sub make_heir
{
	my ($self, $table) = @_;
	my $heir = $self->add_table(
		%$table,
		schema   => pick($self->{main}, $self->{main}, $self->{other}),
		name     => $self->name('h'),
		key      => 'none',
		part     => 1,
		children => undef);
	my $id = identifier($table->{id});

	$self->add("CREATE TABLE $heir->{quoted} (own text"
		  . pick('', ", $id $table->{type}")
		  . ') INHERITS ('
		  . "$table->{quoted})");
	$self->add("ALTER TABLE $heir->{quoted} OWNER TO "
		  . identifier($heir->{owner} = $table->{owner}))
	  unless $table->{owner} eq 'boss';
	if (chance(0.5))
	{
		$self->add("ALTER TABLE $heir->{quoted} ADD PRIMARY KEY ($id)");
		$heir->{key} = 'single';
	}
	$self->add("INSERT INTO $heir->{quoted} ($id, x) VALUES (3, 1), (4, 1)");
	$self->make_reference($heir) if $heir->{key} eq 'single' && chance(0.5);
	return;
}

# Tables that refer to those.
sub make_references
{
	my ($self) = @_;

	foreach (1 .. pick(0, 1, 1, 2, 3))
	{
		my @candidates =
		  grep { $_->{key} =~ /single|pair/ } @{ $self->{tables} };
		$self->make_reference(pick(@candidates)) if @candidates;
	}
	foreach my $table (grep { $_->{key} eq 'single' && !$_->{part} }
		@{ $self->{tables} })
	{
		$self->add_reference($table, $table) if $self->some;
	}
	my @candidates =
	  grep { $_->{key} eq 'single' && !$_->{part} } @{ $self->{tables} };
	$self->add_reference(pick(@candidates), pick(@candidates))
	  if @candidates && $self->some;
	return;
}

sub key_options
{
	return pick(
		'', '', '',
		' ON DELETE CASCADE',
		' ON UPDATE CASCADE ON DELETE SET NULL',
		' ON DELETE SET DEFAULT'
	) . pick('', '', ' DEFERRABLE', ' DEFERRABLE INITIALLY DEFERRED');
}

sub make_reference
{
	my ($self, $to) = @_;
	my $is_wide = $to->{origin} eq 'flake';
	my $type =
	  $is_wide
	  ? 'bigint'
	  : pick($to->{type}, $to->{type}, 'int', 'smallint', 'bigint');
	$type = "$self->{home}." . pick('small', 'smaller', 'big')
	  if !$is_wide && $self->some;
	my $table = $self->add_table(
		schema => chance(0.9) ? $self->{main} : $self->{other},
		name   => $self->name('r'),
		id     => chance(0.7) ? 'ref' : $self->name('ref'),
		type   => $type,
		origin => $is_wide ? 'flake' : 'plain',
		kind   => 'r',
		key    => $to->{key} eq 'single' ? pick(qw(none none single)) : 'none'
	);
	my ($id, $to_id) = map { identifier($_->{id}) } $table, $to;
	my $name =
	  chance(0.3) ? 'CONSTRAINT ' . identifier($self->name('fk')) . ' ' : '';
	my $parts  = $table->{key} eq 'none' && $self->some ? 'LIST (x)' : undef;
	my $minted = chance(0.4) ? 'own bigint DEFAULT public.flake_id(), ' : '';

	$self->add(
		"CREATE TABLE $table->{quoted} ($minted$id $type, x int NOT NULL DEFAULT 1, note text, "
		  . join('', map { "$_, " } $self->more_columns($table, $parts))
		  . ($table->{key} eq 'single' ? "PRIMARY KEY ($id), " : '')
		  . $name
		  . (
			$to->{key} eq 'single'
			? "FOREIGN KEY ($id) REFERENCES $to->{quoted} ($to_id)"
			: "FOREIGN KEY ($id, x) REFERENCES $to->{quoted} ($to_id, x)")
		  . key_options() . ')'
		  . (defined $parts ? " PARTITION BY $parts" : ''));
	$self->new_owner($table);
	$self->add(
		"GRANT REFERENCES ON $to->{quoted} TO " . identifier($table->{owner}))
	  if $table->{owner} ne $to->{owner};

	if (defined $parts)
	{
		$table->{kind} = 'p';
		$self->make_partitions($table, $parts);
	}
	$self->add(
		"INSERT INTO $table->{quoted} ($id, x, note) SELECT $to_id, x, 'refers' FROM $to->{quoted} WHERE $to_id < 1000 OR $to_id > 1000000000 ORDER BY 1 LIMIT 5"
	);
	return;
}

sub add_reference
{
	my ($self, $table, $to) = @_;
	my $column = identifier($self->name('ref'));
	my $to_id  = identifier($to->{id});

	$self->add(
		"ALTER TABLE $table->{quoted} ADD COLUMN $column "
		  . ($to->{origin} eq 'flake' ? 'bigint' : pick($to->{type}, 'int')),
		"ALTER TABLE $table->{quoted} ADD FOREIGN KEY ($column) REFERENCES $to->{quoted} ($to_id)"
		  . key_options()
		  . ($table->{kind} eq 'r' ? pick('', '', ' NOT VALID') : ''));
	$self->add(
		"UPDATE $table->{quoted} SET $column = (SELECT min($to_id) FROM $to->{quoted})"
	) if chance(0.7);
	return;
}

# What hangs on a table.
sub decorate
{
	my ($self, $table) = @_;
	my $quoted = $table->{quoted};
	my $id     = identifier($table->{id});
	my $schema = identifier($table->{schema});
	my $column = pick($id, $id, 'x', 'note');
	my $name;

	if ($self->some)
	{
		$name = identifier($self->name('index'));
		$self->add(
			"CREATE "
			  . pick('', '',
				($table->{part} || $table->{kind} eq 'p' ? '' : 'UNIQUE '))
			  . "INDEX $name ON $quoted "
			  . pick(
				"($id DESC)",
				"(($id + 1))",
				"($id) WHERE $id > 5",
				"($id, note) INCLUDE (x)",
				"(note text_pattern_ops)",
				"((${id}::text))",
				"USING hash ($id)",
				"($self->{home}.is_good($id))"));
		$self->add(
			"ALTER INDEX $schema.$name ALTER COLUMN 1 SET STATISTICS 77")
		  if $self->some;
		$self->add("COMMENT ON INDEX $schema.$name IS 'an index'")
		  if $self->some;
		$self->add("ALTER TABLE $quoted CLUSTER ON $name")
		  if $self->some && $table->{kind} eq 'r';
	}
	$self->add("ALTER TABLE $quoted ADD EXCLUDE USING btree ($column WITH =)")
	  if $self->some(0.3);
	$self->add("ALTER TABLE $quoted ADD CHECK ($id > "
		  . pick('0', '-1', '0::smallint')
		  . ") NOT VALID")
	  if $self->some(0.5);
	if ($self->some)
	{
		$name = identifier($self->name('stat'));
		$self->add("CREATE STATISTICS $schema.$name "
			  . pick('', '(ndistinct)', '(mcv)')
			  . " ON $id, "
			  . pick('x', '(x + 1)', 'note')
			  . " FROM $quoted");
		$self->add("ALTER STATISTICS $schema.$name SET STATISTICS 50")
		  if $self->some;
		$self->add("COMMENT ON STATISTICS $schema.$name IS 'statistics'")
		  if $self->some;
	}
	$self->add("ALTER TABLE $quoted ALTER COLUMN $column SET STATISTICS 123")
	  if $self->some;
	$self->add("ALTER TABLE $quoted ALTER COLUMN note SET STORAGE EXTERNAL")
	  if $self->some;
	$self->add("ALTER TABLE $quoted ALTER COLUMN note SET COMPRESSION pglz")
	  if $self->some;
	$self->add(
		"ALTER TABLE $quoted ALTER COLUMN $column SET (n_distinct = 5)")
	  if $self->some;
	$self->add("ALTER TABLE $quoted SET (autovacuum_enabled = off)")
	  if $self->some && $table->{kind} eq 'r';
	$self->add(
		"ALTER TABLE $quoted REPLICA IDENTITY " . pick('FULL', 'NOTHING'))
	  if $self->some(0.5);
	$self->add("COMMENT ON TABLE $quoted IS 'it''s a table'") if $self->some;
	$self->add("COMMENT ON COLUMN $quoted.$column IS 'a column'")
	  if $self->some;

	# privileges
	$self->add("GRANT "
		  . pick('SELECT', 'ALL', 'INSERT, UPDATE')
		  . " ON $quoted TO "
		  . pick('reader', 'PUBLIC', identifier("it's me")))
	  if $self->some(2);
	$self->add("GRANT "
		  . pick('SELECT', 'UPDATE')
		  . " ($column) ON $quoted TO "
		  . pick('reader', 'PUBLIC', 'onlyhere'))
	  if $self->some;
	if ($self->some)
	{
		$self->add("GRANT SELECT ON $quoted TO reader WITH GRANT OPTION");
		$self->as_role('reader',
			"GRANT SELECT ON $quoted TO " . identifier("it's me"));
	}
	$self->add("REVOKE "
		  . pick('DELETE', 'ALL', 'TRIGGER')
		  . " ON $quoted FROM "
		  . identifier($table->{owner}))
	  if $self->some(0.5);
	if ($table->{origin} =~ /serial|identity|always|shared/
		&& !$table->{part})
	{
		my $sequence =
		  $table->{origin} eq 'shared' ? "$self->{home}.shared" : undef;
		my $do = sub {
			my ($command) = @_;
			return $self->add(sprintf $command, $sequence)
			  if defined $sequence;
			$command =~ s/'/''/g;
			$self->add("DO \$\$ BEGIN EXECUTE format('"
				  . sprintf($command, '%s')
				  . "', pg_get_serial_sequence("
				  . literal($quoted) . ', '
				  . literal($table->{id})
				  . ")); END \$\$");
		};
		$do->("GRANT USAGE ON SEQUENCE %s TO reader")   if $self->some(2);
		$do->("COMMENT ON SEQUENCE %s IS 'a sequence'") if $self->some(2);
	}

	$self->decorate_with_code($table) if !$table->{part} || chance(0.3);
	return;
}

# Triggers, rules, policies
sub decorate_with_code
{
	my ($self, $table) = @_;
	my $quoted = $table->{quoted};
	my $id     = identifier($table->{id});

	foreach (1 .. 2)
	{
		next unless $self->some(1.5);
		my $name = identifier($self->name('trigger'));
		my ($kind, $enabled) = (
			pick(0 .. 4),
			pick('', '', 'ENABLE ALWAYS', 'ENABLE REPLICA', 'DISABLE'));
		$self->add(
			"CREATE "
			  . (
				"TRIGGER $name BEFORE INSERT ON $quoted FOR EACH ROW",
				"TRIGGER $name AFTER UPDATE OF $id ON $quoted FOR EACH ROW",
				"TRIGGER $name BEFORE UPDATE ON $quoted FOR EACH ROW WHEN (NEW.$id > 0)",
				"CONSTRAINT TRIGGER $name AFTER INSERT ON $quoted DEFERRABLE INITIALLY DEFERRED FOR EACH ROW",
				"TRIGGER $name AFTER INSERT OR DELETE ON $quoted FOR EACH STATEMENT"
			  )[$kind]
			  . " EXECUTE FUNCTION $self->{home}.touch("
			  . pick('', literal("it's")) . ')');
		$self->add("ALTER TABLE $quoted $enabled TRIGGER $name")
		  if $enabled ne '';
		$self->add("COMMENT ON TRIGGER $name ON $quoted IS 'a trigger'")
		  if $self->some;
		if ($table->{children} && chance(0.5))
		{
			$self->add('ALTER TABLE '
				  . pick(@{ $table->{children} })->{quoted} . ' '
				  . pick('DISABLE', 'ENABLE REPLICA', 'ENABLE')
				  . " TRIGGER $name");
		}
	}
	if ($self->some)
	{
		# each row that comes in is noted, also when it comes by replication
		my $audit = $self->add_table(
			schema => $table->{schema},
			name   => $self->name('audit'),
			id     => 'n',
			type   => 'bigint',
			origin => 'flake',
			key    => 'none',
			kind   => 'r',
			part   => 1,
			owner  => 'boss');
		my $name     = identifier($self->name('trigger'));
		my $function = "$self->{home}." . identifier($self->name('note'));
		$self->add(
			"CREATE TABLE $audit->{quoted} (n bigserial PRIMARY KEY, x int, note text)",
			"CREATE FUNCTION $function() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS \$\$ BEGIN INSERT INTO $audit->{quoted} (x) VALUES (NEW.x); RETURN NULL; END \$\$",
			"CREATE TRIGGER $name AFTER INSERT ON $quoted FOR EACH ROW EXECUTE FUNCTION $function()"
		);
		$self->add("ALTER TABLE $quoted "
			  . pick('ENABLE ALWAYS', 'ENABLE REPLICA')
			  . " TRIGGER $name")
		  if chance(0.5);
	}
	return if $self->{plain};
	if ($self->some)
	{
		my $rule = identifier($self->name('rule'));
		$self->add(
			"CREATE RULE $rule AS ON "
			  . pick(
				"INSERT TO $quoted DO ALSO SELECT 1",
				"UPDATE TO $quoted WHERE OLD.$id = 999 DO INSTEAD NOTHING",
				"DELETE TO $quoted DO ALSO NOTIFY gone"));
		$self->add("ALTER TABLE $quoted DISABLE RULE $rule") if $self->some;
	}
	if ($self->some(1.5))
	{
		my $policy = identifier($self->name('policy'));
		$self->add("ALTER TABLE $quoted ENABLE ROW LEVEL SECURITY");
		$self->add("ALTER TABLE $quoted FORCE ROW LEVEL SECURITY")
		  if chance(0.7);
		$self->add("CREATE POLICY $policy ON $quoted"
			  . pick('', ' AS RESTRICTIVE')
			  . pick('', ' FOR SELECT')
			  . pick('', ' TO reader')
			  . ' USING ('
			  . pick('true', 'x < 2', "$id < 5", "note = current_user") . ')')
		  if chance(0.9);
		$self->add("INSERT INTO $quoted ($id) VALUES (8000000000000000000)")
		  if $table->{type} eq 'bigint'
		  && $table->{origin} =~ /serial|shared|plain/
		  && chance(0.5);
	}
	return;
}

sub make_views
{
	my ($self) = @_;
	my $number = $self->{plain} ? pick(0, 0, 1) : pick(0, 1, 2, 4);
	my @rules;

	$number = 0 if chance(0.3);
	foreach (1 .. $number)
	{
		my $on        = pick(@{ $self->{tables} }, @{ $self->{views} });
		my $temporary = chance(0.1);
		my %view      = (
			name   => $self->name('v'),
			schema => chance($self->{plain} ? 0.05 : 0.7)
			? $self->{main}
			: $self->{other},
			owner => $self->owner,
			id    => $on->{id});
		my $id = identifier($on->{id});
		my $is_plain;
		my $query = (
			"SELECT * FROM $on->{quoted}",
			"SELECT $id, x, note FROM $on->{quoted} WHERE $id > 2",
			"SELECT $id, max(x) AS x, 'n'::text AS note FROM $on->{quoted} GROUP BY 1",
			"SELECT a.$id, b.x, b.note FROM $on->{quoted} a JOIN $on->{quoted} b USING ($id)",
			"SELECT $id, x, note FROM $on->{quoted} UNION ALL SELECT $id + 1, 0, 'more' FROM $on->{quoted}",
			"SELECT $id, x, 'n'::text AS note, row_number() OVER (ORDER BY $id) FROM $on->{quoted}",
			"SELECT x, x AS $id, note FROM $on->{quoted}",
			"SELECT $id, x, CASE WHEN $id IN (1, 2, 3) THEN 'few' ELSE ${id}::text END AS note FROM $on->{quoted}"
		)[ $is_plain = int rand 8 ];
		$is_plain = $is_plain < 2;
		my $kind =
			$temporary       ? 'TEMPORARY VIEW'
		  : $self->some(0.5) ? 'MATERIALIZED VIEW'
		  :                    'VIEW';
		my $quoted = $view{quoted} =
		  ($temporary ? '' : identifier($view{schema}) . '.')
		  . identifier($view{name});
		my @options = $kind eq 'MATERIALIZED VIEW' ? () : grep { $self->some }
		  'security_barrier', 'security_invoker';
		$self->add(
				"CREATE $kind $quoted"
			  . (@options ? ' WITH (' . join(', ', @options) . ')' : '')
			  . " AS $query"
			  . (
				$is_plain && $kind eq 'VIEW' && $self->some
				? pick(' WITH CHECK OPTION', ' WITH LOCAL CHECK OPTION')
				: ''));
		push @{ $self->{views} }, \%view unless $temporary;
		next if $temporary;

		my $what = $kind eq 'VIEW' ? 'VIEW' : $kind;
		if ($view{owner} ne 'boss')
		{
			$self->add(
				"ALTER $what $quoted OWNER TO " . identifier($view{owner}));
			$self->add("GRANT SELECT ON $on->{quoted} TO "
				  . identifier($view{owner}))
			  if chance(0.7);
		}
		$self->add("COMMENT ON $what $quoted IS 'a view'") if $self->some;
		$self->add("COMMENT ON COLUMN $quoted.x IS 'of a view'")
		  if $self->some;
		$self->add("GRANT SELECT ON $quoted TO " . pick('reader', 'PUBLIC'))
		  if $self->some(2);
		$self->add("GRANT UPDATE (x) ON $quoted TO reader WITH GRANT OPTION")
		  if $self->some && $kind eq 'VIEW';
		if ($self->some)
		{
			$self->add("GRANT SELECT ON $quoted TO reader WITH GRANT OPTION");
			$self->as_role('reader',
				"GRANT SELECT ON $quoted TO " . identifier("it's me"));
		}
		$self->add("REVOKE "
			  . pick('INSERT', 'ALL', 'TRIGGER')
			  . " ON $quoted FROM "
			  . identifier($view{owner}))
		  if $self->some;
		next unless $kind eq 'VIEW';
		$self->add("ALTER VIEW $quoted ALTER COLUMN x SET DEFAULT 5")
		  if $self->some(0.3);
		$self->add(
			"CREATE TRIGGER t INSTEAD OF INSERT ON $quoted FOR EACH ROW EXECUTE FUNCTION $self->{home}.touch()"
		) if $self->some(0.3);

		# A rule that leads back to the view, or to another one
		push @rules,
		  [
			pick('INSERT', 'UPDATE', 'DELETE'),
			pick($on, \%view)->{quoted},
			$quoted
		  ]
		  if $self->some(0.5);
	}
	foreach my $rule (@rules)
	{
		my ($event, $on, $view) = @$rule;
		$self->add('CREATE RULE '
			  . identifier($self->name('rule'))
			  . " AS ON $event TO $on DO ALSO SELECT count(*) FROM $view");
	}
	return;
}

# What is to be called.
sub choose_calls
{
	my ($self) = @_;
	my @tables = grep { $_->{id} && !$_->{part} } @{ $self->{tables} };
	my @old =
	  grep { $_->{origin} ne 'flake' && ($_->{is_key} || chance(0.2)) }
	  @tables;
	my $table = pick(@old && chance(0.97) ? @old : @tables);
	my $generator =
	  chance(0.8) ? 'default' : pick(qw(own over detached leased));

	$self->{target} = $table;
	$self->{role} =
	  chance(0.7) ? 'boss' : chance(0.8) ? $table->{owner} : pick(@owners);
	$self->{drop_sequence} = chance(0.2) ? 'true' : 'false';
	$self->{number}        = '5';
	$self->{generator}     = 'public.flake_default';
	if ($generator eq 'own' || $generator eq 'over')
	{
		my $name = $self->name('gen');
		$self->{generator} =
		  identifier($self->{other}) . '.' . identifier($name);
		$self->add(
			"SET search_path = " . identifier($self->{other}) . ', public',
			'SELECT flake_create_generator('
			  . literal(identifier($name)) . ', '
			  . literal(
				$generator eq 'own'
				? 'ts:41 shard:8 seq:14 epoch=2020-01-01'
				: 'ts:33 shard:8 seq:14 epoch=2000-01-01')
			  . ')',
			'RESET search_path',
			"GRANT ALL ON SEQUENCE $self->{generator} TO PUBLIC");
	}
	elsif ($generator eq 'detached')
	{
		$self->add('SELECT flake_detach(5)');
	}
	elsif ($generator eq 'leased')
	{
		$self->add(q{SELECT flake_lease('somebody', '1 day')});
		$self->{number} = '(SELECT min(shard) FROM flake_leases)';
	}
	return;
}

=pod

=item $world->migration($dry_run)

The call of flake_migrate(), which is to be made by the role $world->{role}.

=item $world->copying

The call of flake_create_shard().

=item $world->tables

How many tables it was to have.

=cut

sub migration
{
	my ($self, $dry_run) = @_;

	return sprintf
	  'SELECT public.flake_migrate(%s, %s, %s, %s, dry_run => %s, drop_sequence => %s)',
	  literal($self->{target}{quoted}), literal($self->{target}{id}),
	  $self->{number},
	  literal($self->{generator}), $dry_run, $self->{drop_sequence};
}

sub copying
{
	my ($self) = @_;

	return sprintf 'SELECT public.flake_create_shard(%d, %s%s)',
	  $self->{shard}, literal($self->{main}),
	  defined $self->{copy} ? ', ' . literal($self->{copy}) : '';
}

=pod

=back

=cut

1;
