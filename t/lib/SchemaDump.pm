# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

SchemaDump - what a dump says, to compare it with what another one says

=head1 SYNOPSIS

  my $before = SchemaDump->new($node->connstr($dbname), $wire);
  ...
  my $after = SchemaDump->new($node->connstr($dbname), $wire);
  my @differences = $before->differences($after);

=head1 DESCRIPTION

The objects that pg_dump writes, each as text; but types and defaults of columns,
and sequences, are taken from the catalogs, because pg_dump writes the same
ones in several ways.  The order of objects, privileges and rows does not count.

=cut

package SchemaDump;

use strict;
use warnings;
use utf8;

use Encode qw(encode decode);
use IPC::Run;

# A domain is told by what it allows, not by its name.
my $catalog = q{
	WITH RECURSIVE domain (oid, base, typmod, text) AS (
		SELECT t.oid, t.oid, NULL::int, '' COLLATE "C"
		FROM pg_type t
		UNION ALL
		SELECT d.oid, t.typbasetype, t.typtypmod,
			d.text || (SELECT coalesce(string_agg(regexp_replace(' ' || pg_get_constraintdef(k.oid), '\(VALUE\)::(smallint|integer|bigint)', 'VALUE'), '' ORDER BY conname), '')
				FROM pg_constraint k WHERE k.contypid = t.oid)
			|| CASE WHEN t.typnotnull THEN ' NOT NULL' ELSE '' END || coalesce(' DEFAULT ' || t.typdefault, '')
		FROM domain d JOIN pg_type t ON t.oid = d.base AND t.typtype = 'd'
	), plain AS (
		SELECT d.* FROM domain d JOIN pg_type t ON t.oid = d.base AND t.typtype <> 'd'
	), r AS (
		SELECT c.*, quote_ident(nspname) || '.' || quote_ident(relname) AS quoted, nspname
		FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace
		WHERE nspname NOT IN ('pg_catalog', 'information_schema', 'public', 'pg_toast')
	)
	SELECT 'column', quoted, quote_ident(attname), format_type(atttypid, atttypmod),
		format_type(p.base, coalesce(p.typmod, atttypmod)), p.text,
		CASE attgenerated WHEN '' THEN pg_get_expr(adbin, adrelid) END, attidentity
	FROM r JOIN pg_attribute a ON attrelid = r.oid AND attnum > 0 AND NOT attisdropped
	JOIN plain p ON p.oid = atttypid
	LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
	WHERE relkind IN ('r', 'p')
	UNION ALL
	SELECT 'sequence', quoted, concat_ws(' ', pg_get_userbyid(relowner), format_type(seqtypid, NULL), seqstart, seqincrement, seqmin, seqmax, seqcache, seqcycle),
		CASE WHEN l.label IS NULL THEN pg_sequence_last_value(r.oid) END::text, l.label,
		(SELECT refobjid::regclass || '.' || quote_ident(attname) FROM pg_depend JOIN pg_attribute ON attrelid = refobjid AND attnum = refobjsubid
			WHERE classid = 'pg_class'::regclass AND objid = r.oid AND refclassid = 'pg_class'::regclass AND deptype IN ('a', 'i')), NULL, NULL
	FROM r JOIN pg_sequence ON seqrelid = r.oid
	LEFT JOIN pg_seclabel l ON l.classoid = 'pg_class'::regclass AND l.objoid = r.oid
	UNION ALL
	SELECT 'temporary', quote_ident(relname), pg_get_viewdef(oid), pg_get_userbyid(relowner), relacl::text, reloptions::text, NULL, NULL
	FROM r WHERE nspname LIKE 'pg_temp%' AND relkind = 'v'
	UNION ALL
	SELECT 'heirs', quoted, (SELECT string_agg(pg_get_expr(c.relpartbound, c.oid), ', ' ORDER BY pg_get_expr(c.relpartbound, c.oid))
		FROM pg_inherits JOIN pg_class c ON c.oid = inhrelid WHERE inhparent = r.oid), NULL, NULL, NULL, NULL, NULL
	FROM r WHERE relkind = 'p'
	UNION ALL
	SELECT 'shard', generator::text, shard::text, state::text, after::text, NULL, NULL, NULL
	FROM public.flake_shards};

=pod

=head1 METHODS

=over

=item SchemaDump->new($connstr, $wire, @options)

Runs pg_dump, with the options, and looks into the catalogs with the session, a
superuser's.

=cut

sub new
{
	my ($class, $connstr, $wire, @options) = @_;
	my $self =
	  bless { columns => {}, sequences => {}, heirs => {}, others => {} },
	  $class;
	my ($output, $error) = ('', '');
	my $answer;

	IPC::Run::run(
		[
			'pg_dump',                 '--no-password',
			'--quote-all-identifiers', @options,
			'-d',                      $connstr
		],
		'>',
		\$output,
		'2>',
		\$error) or die "pg_dump: $error";
	$answer = $wire->request(
		"SET quote_all_identifiers = on; SET search_path = pg_catalog, pg_temp; $catalog; RESET search_path; RESET quote_all_identifiers"
	);
	die "catalogs: $answer->{message}" if defined $answer->{code};
	foreach my $row (@{ $answer->{rows} })
	{
		my ($kind, $name, @values) =
		  map { defined $_ ? decode('UTF-8', $_) : undef } @{ $row->[0] };

		if ($kind eq 'column')
		{
			my %column;
			(my $attribute, @column{qw(type base domain default identity)}) =
			  @values;
			$self->{columns}{$name}{$attribute} = \%column;
		}
		elsif ($kind eq 'sequence')
		{
			@{ $self->{sequences}{$name} }{qw(options position label owner)}
			  = @values;
		}
		else
		{
			$self->{others}
			  { "$kind $name " . ($kind eq 'shard' ? shift @values : '') } =
			  join '; ', map { $_ // 'null' } @values;
		}
	}
	$self->parse(decode('UTF-8', $output));
	return $self;
}

# Each object is a hash: name, type, schema, owner, text.
sub parse
{
	my ($self, $output) = @_;
	my @parts =
	  split
	  /^--\n-- (?:Data for )?Name: (.*); Type: (.*); Schema: (.*); Owner: ?(.*)\n--\n/m,
	  $output =~ s/^-- PostgreSQL database dump complete.*//msr;

	shift @parts;
	while (@parts)
	{
		my %object;
		(@object{qw(name type schema owner text)}, @parts) = @parts;
		$object{text} =~
		  s/^(?:SET default_\w+ = .*;|--|\\(?:un)?restrict .*)\n//mg;
		$object{text} =~ s/\A\n+|\n+\z//g;
		next
		  if $object{type} =~
		  /^(?:DEFAULT|SEQUENCE|SEQUENCE OWNED BY|SEQUENCE SET|MATERIALIZED VIEW DATA)$/;
		$object{owner} =~ s/; Tablespace:.*//;
		$self->simplify(\%object);
		push @{ $self->{objects} }, \%object;
	}
	return;
}

sub simplify
{
	my ($self, $object) = @_;

	# What is bigint already needs no cast to it.
	$object->{text} =~
	  s/\(((?:"(?:[^"]|"")*"\.)*"(?:[^"]|"")*")\)::bigint\b/$1/g
	  unless $object->{type} eq 'TABLE DATA';
	if ($object->{type} eq 'TABLE')
	{
		my ($table) = $object->{text} =~
		  /^CREATE (?:UNLOGGED )?TABLE ("(?:[^"]|"")*"\."(?:[^"]|"")*")/m;
		my $columns = $self->{columns}{$table} // {};

		foreach my $attribute (sort keys %$columns)
		{
			my $column  = $columns->{$attribute};
			my $type    = $column->{type};
			my $default = $column->{default} // '';

			$object->{text} =~
			  s/^    \Q$attribute $type\E(.*)/my $rest = $1; $rest =~ s! DEFAULT \Q$default\E!! if $default ne ''; "    $attribute (type)$rest"/me;
		}
	}
	elsif ($object->{type} eq 'ACL')
	{
		$object->{text} =~
		  s/^(SET SESSION AUTHORIZATION .*;)\n(.*)\nRESET.*;/$1 $2/mg;
		$object->{text} = join "\n", sort split /\n/, $object->{text};
	}
	elsif ($object->{type} eq 'TABLE DATA')
	{
		my ($copy, $rows) =
		  $object->{text} =~ /^(COPY [^\n]*)\n?(.*)\n?\\\.$/s;
		$object->{text} = join "\n", $copy, sort split /\n/, $rows;
	}
	return;
}

# The text of everything, as the keys of a hash.
sub lines
{
	my ($self) = @_;
	my %lines;

	foreach my $object (@{ $self->{objects} })
	{
		$lines{
			"$object->{type} $object->{name} in $object->{schema} of $object->{owner}\n$object->{text}"
		}++;
	}
	foreach my $table (keys %{ $self->{columns} })
	{
		foreach my $attribute (keys %{ $self->{columns}{$table} })
		{
			my $column = $self->{columns}{$table}{$attribute};
			$lines{
				"COLUMN $table $attribute\n" . join '; ',
				map { $column->{$_} // 'null' }
				  qw(base domain default identity)
			}++;
		}
	}
	foreach my $name (keys %{ $self->{sequences} })
	{
		my $sequence = $self->{sequences}{$name};
		$lines{
			"SEQUENCE $name\n" . join '; ',
			map { $sequence->{$_} // 'null' }
			  qw(options position label owner)
		}++;
	}
	$lines{"OTHER $_ $self->{others}{$_}"}++
	  foreach keys %{ $self->{others} };
	return \%lines;
}

=pod

=item $before->differences($after)

A list of texts, "- " and what is only before, "+ " and what is only after.

=cut

sub differences
{
	my ($self,   $other) = @_;
	my ($before, $after) = ($self->lines, $other->lines);

	return sort { substr($a, 2) cmp substr($b, 2) } (
		map  { "- $_" }
		grep { ($before->{$_} // 0) > ($after->{$_} // 0) } keys %$before),
	  ( map    { "+ $_" }
		  grep { ($after->{$_} // 0) > ($before->{$_} // 0) } keys %$after);
}

=pod

=item $dump->schema($name, \@tables_of, $marker)

What of it is copied for a shard: the tables and sequences of a schema and what
hangs on them, with $marker for the schema in their names, but not in others.
Defaults that mint are written without their shard, checks of it are left out.

=cut

sub quote { my ($name) = @_; return '"' . $name =~ s/"/""/gr . '"' }

sub schema
{
	my ($self, $name, $expected) = @_;
	my $prefix = quote($name) . '.';
	my %generators =
	  map  { $_ => 1 }
	  grep { defined $self->{sequences}{$_}{label} }
	  keys %{ $self->{sequences} };
	my $result =
	  bless { objects => [], columns => {}, sequences => {}, others => {} },
	  ref $self;
	my %copied =
	  map  { $_ => 1 }
	  grep { index($_, $prefix) == 0 && !$generators{$_} }
	  keys %{ $self->{columns} }, keys %{ $self->{sequences} };

	# These stay what they are: there are no copies of them.
	my @kept = (
		(   map {
				quote($_->{type} eq 'FUNCTION'
					? $_->{name} =~ s/\([^()]*\)\z//r
					: $_->{name})
			} grep {
					 $_->{schema} eq $name
				  && $_->{type} =~
				  /^(?:FUNCTION|TYPE|DOMAIN|(?:MATERIALIZED )?VIEW)$/
			} @{ $self->{objects} }),
		map    { substr $_, length $prefix }
		  grep { index($_, $prefix) == 0 } keys %generators);
	my $mark = sub {
		my ($text) = @_;
		my $kept   = join '|', map { quotemeta } @kept, 'no such';

		return $text unless defined $text;
		# in literals with other quotes
		$text =~ s/\Q$_\E(?!$kept)/<schema>./g
		  foreach $prefix, $prefix =~ s/'/''/gr;
		return $text;
	};
	foreach my $object (@{ $self->{objects} })
	{
		my %copy = %$object;

		# An attached partition's entry is of its own schema.
		next
		  unless $object->{schema} eq $name
		  || $object->{type} eq 'TABLE ATTACH'
		  && $object->{text} =~ /^ALTER TABLE ONLY \Q$prefix\E/m
		  || $object->{type} =~ /^(?:ACL|COMMENT)$/
		  && $object->{name} eq 'SCHEMA ' . quote($name);
		next
		  if $object->{type} =~
		  /^(?:VIEW|MATERIALIZED VIEW|FUNCTION|TYPE|DOMAIN|TABLE DATA|SECURITY LABEL|PUBLICATION.*|AGGREGATE)$/;
		if (   $object->{type} =~ /^(?:ACL|COMMENT|RULE|TRIGGER)$/
			&& $object->{name} !~ /^(?:SCHEMA|INDEX|STATISTICS) /)
		{
			my $quoted = qr/"(?:[^"]|"")*"/;
			my ($on) = $object->{text} =~
			  / (?:ON(?: TABLE| SEQUENCE| COLUMN)?|ALTER TABLE) ($quoted\.$quoted)/;

			next
			  if $object->{name} =~
			  /^(?:(?:MATERIALIZED )?VIEW|FUNCTION|TYPE|DOMAIN) /;
			next unless defined $on && $copied{$on};
		}
		$copy{schema} = '<schema>';
		$copy{name} =~ s/^SCHEMA \K.*/<schema>/;
		$copy{text} =~ s/ SCHEMA \K\Q@{[quote($name)]}\E/<schema>/g;
		$copy{text} = $mark->($copy{text});
		# Which check each shard has, the caller looks at.
		$copy{text} =~
		  s/,?\n    CONSTRAINT [^\n]* CHECK \(\("public"\."flake_shard"\([^\n]*\) = \d+\)\)(?=,?\n)//g;
		push @{ $result->{objects} }, \%copy;
	}
	foreach
	  my $table (grep { index($_, $prefix) == 0 } keys %{ $self->{columns} })
	{
		foreach my $attribute (keys %{ $self->{columns}{$table} })
		{
			my %column = %{ $self->{columns}{$table}{$attribute} };
			$column{default} = $mark->($column{default});
			$column{default} =~
			  s/^"public"\."flake_id"\(\d*(?=[,)])/"public"."flake_id"(<shard>/
			  if defined $column{default};
			$result->{columns}{ $mark->($table) }{$attribute} = \%column;
		}
	}
	foreach my $sequence (
		grep { index($_, $prefix) == 0 && !$generators{$_} }
		keys %{ $self->{sequences} })
	{
		my %copy = %{ $self->{sequences}{$sequence} };
		$copy{position}                            = 'not compared';
		$copy{owner}                               = $mark->($copy{owner});
		$result->{sequences}{ $mark->($sequence) } = \%copy;
	}
	foreach my $key (
		grep { index($_, "heirs $prefix") == 0 }
		keys %{ $self->{others} })
	{
		$result->{others}{ $mark->($key) } = $self->{others}{$key};
	}
	return $result;
}

=pod

=item $dump->only_schema($name), $dump->forget_schema($name)

As if there were nothing else.

As if it had not been there.

=cut

sub only_schema
{
	my ($self, $name) = @_;
	my $result = bless {%$self}, ref $self;
	my $prefix = quote($name) . '.';

	$result->{objects} = [
		grep {
				 $_->{schema} eq $name
			  || $_->{name} =~ /^(?:\Q$name\E|SCHEMA \Q@{[quote($name)]}\E)$/
		} @{ $self->{objects} }
	];
	foreach my $part (qw(columns sequences others))
	{
		my $old = $self->{$part};
		$result->{$part} = {
			map  { $_ => $old->{$_} }
			grep { /^(?:heirs )?\Q$prefix\E/ } keys %$old
		};
	}
	return $result;
}

sub forget_schema
{
	my ($self, $name) = @_;
	my $prefix = quote($name) . '.';

	$self->{objects} = [
		grep {
				 $_->{schema} ne $name
			  && $_->{name} !~ /^(?:\Q$name\E|SCHEMA \Q@{[quote($name)]}\E)$/
			  && !($_->{type} eq 'TABLE ATTACH'
				&& $_->{text} =~ /^ALTER TABLE ONLY \Q$prefix\E/)
		} @{ $self->{objects} }
	];
	foreach my $part (qw(columns sequences others))
	{
		delete $self->{$part}{$_}
		  foreach grep { /^(?:heirs )?\Q$prefix\E/ } keys %{ $self->{$part} };
	}
	return;
}

=pod

=back

=cut

1;
