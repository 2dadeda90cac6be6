# Copyright (c) 2026, the flakeid developers

# The reference has every function, type, view, table, sequence, setting and event
# trigger of the extension, as they are, and nothing else.  Its lists of SQLSTATEs
# are those of the comments on functions, and have what the SQL tests show.  And
# docs/troubleshooting.md has every message, with its SQLSTATE, and nothing else.
#
# An entry of the reference is a heading with the name, a line in backquotes for
# each signature, and for a function a paragraph or table that begins with
# "Errors:".  "those of `flake_id`" in it stands for the SQLSTATEs of that one.
#
# In the tables of troubleshooting.md the first column has messages in backquotes,
# with ... for what varies, and the second one their SQLSTATE in backquotes; - for
# those of flakeid-move-shard.  Below headings that begin with "PostgreSQL" they are
# not flakeid's.

use strict;
use warnings;

use File::Find;
use FindBin;
use lib "$FindBin::RealBin/lib";

use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Test::More;

my $top = "$FindBin::RealBin/..";
my $sqlstate = qr/(?<![\w.])[0-9][0-9A-Z]{4}(?![\w.])/;

my $node = PostgreSQL::Test::Cluster->new('reference');
$node->init;
$node->start;
$node->safe_psql('postgres', 'CREATE EXTENSION flakeid');

sub query
{
	return split /\n/, $node->safe_psql('postgres', $_[0]);
}

# Files below a directory, by name.
sub files_in
{
	my ($directory, $name) = @_;
	my @files;

	find({ wanted => sub { push @files, $_ if -f && /$name/ }, no_chdir => 1 },
		"$top/$directory");
	return sort @files;
}

# Whether two lists have the same elements; else what is missing or too much
sub same_set
{
	my ($got, $expected, $name) = @_;
	my %got = map { $_ => 1 } @$got;
	my %expected = map { $_ => 1 } @$expected;

	is( join("\n",
			(map { "missing: $_" } grep { !$got{$_} } sort keys %expected),
			(map { "too much: $_" } grep { !$expected{$_} } sort keys %got)),
		'',
		$name);
	return;
}

#
# What the reference says
#

my @pages = ("$top/docs/reference.md", files_in('docs/reference', qr/\.md$/));
my $reference = join "\n", map { slurp_file($_) } @pages;
my %entry;			# by name

foreach my $page (@pages)
{
	my $text = slurp_file($page);

	while ($text =~ /^#+ (flake_\w+)\n(.*?)(?=^#|\z)/msg)
	{
		ok(!$entry{$1}, "$1 has one entry");
		$entry{$1} = $2;
	}
}

# What is in backquotes in the first column of the table below a heading of a page
sub names_of_table
{
	my ($heading, $page) = @_;
	my $text = slurp_file("$top/docs/" . ($page // 'reference.md'));
	my ($section) = $text =~ /^#+ \Q$heading\E\n(.*?)(?=^#+ |\z)/ms
	  or die "there is no section \"$heading\"";

	return map { /`([^`]+)`/g }
	  map { /^\| ([^|]*) \|/ ? $1 : () }
	  grep { /^\| [^|]*`/ } split /\n/, $section;
}

#
# What there is
#

my $members = q{
	pg_depend d
	WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e'
	  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')};

# Signatures as the reference writes them
my @signatures = map {
	s/timestamp with time zone/timestamptz/gr =~
	  s/\binteger\b/int/gr =~
	  s/'ts:41 [^']*'::flake_layout/'instagram'/gr =~
	  s/NULL::\w+/NULL/gr =~
	  s/'TimeZone'::text/'TimeZone'/gr =~
	  s/('[^']*')::\w+(?:\[\])?/$1/gr =~
	  s/'01:00:00'/'1 hour'/gr =~
	  s/SETOF/setof/r
} query(qq{
	SELECT format('%s(%s) returns %s%s', proname, f.arguments,
	              pg_get_function_result(p.oid),
	              (SELECT ' (' || string_agg(format('%s %s', proargnames[i], format_type(proallargtypes[i], NULL)), ', ' ORDER BY i) || ')'
	               FROM generate_subscripts(proallargtypes, 1) i WHERE proargmodes[i] IN ('o', 't')))
	FROM pg_proc p
	CROSS JOIN LATERAL (
		SELECT string_agg(format('%s%s %s%s', CASE WHEN proargmodes[i] = 'v' THEN 'VARIADIC ' END,
		                         proargnames[i], format_type(type, NULL),
		                         ' DEFAULT ' || pg_get_function_arg_default(p.oid, i::int)), ', ' ORDER BY i)
		FROM unnest(coalesce(proallargtypes, proargtypes::oid[])) WITH ORDINALITY AS a (type, i)
		WHERE coalesce(proargmodes[i], 'i') IN ('i', 'v')) f (arguments)
	WHERE p.proname !~ '^_'
	  AND p.oid IN (SELECT d.objid FROM $members AND d.classid = 'pg_proc'::regclass)
});
same_set([ $reference =~ /^`(\w+\(.*\) returns .*)`$/mg ],
	\@signatures, 'functions, with their arguments, defaults and results');

my @functions = map { s/\(.*//r } @signatures;
my %is_function = map { $_ => 1 } @functions;
foreach my $name (sort keys %is_function)
{
	my @own = grep { /^\Q$name\E\(/ } @signatures;

	same_set([ ($entry{$name} // '') =~ /^`(.*? returns .*)`$/mg ],
		\@own, "$name: all signatures are in its entry");
	ok(($entry{$name} // '') =~ /^```sql$/m, "$name: an example");
}

my @relations = query(qq{
	SELECT c.relname FROM pg_class c
	WHERE c.relkind IN ('r', 'v', 'S') AND c.oid IN (SELECT d.objid FROM $members AND d.classid = 'pg_class'::regclass)
});
my @types = query(qq{
	SELECT t.typname FROM pg_type t
	WHERE t.typname !~ '^_' AND t.typrelid = 0
	  AND t.oid IN (SELECT d.objid FROM $members AND d.classid = 'pg_type'::regclass)
});
my @classes = query(qq{
	SELECT opcname FROM pg_opclass o
	WHERE NOT opcdefault AND o.oid IN (SELECT d.objid FROM $members AND d.classid = 'pg_opclass'::regclass)
});
same_set(
	[ names_of_table('Types, operator classes, views, tables and sequences') ],
	[ @relations, @types, @classes ],
	'types, operator classes, views, tables, sequences');

# Entries of tables and views have their columns, in order.
foreach my $relation (
	query(qq{
		SELECT c.relname FROM pg_class c
		WHERE c.relkind IN ('r', 'v') AND c.oid IN (SELECT d.objid FROM $members AND d.classid = 'pg_class'::regclass)
	}))
{
	my @columns = query(qq{
		SELECT format('%s %s', attname, format_type(atttypid, NULL)) FROM pg_attribute
		WHERE attrelid = '$relation'::regclass AND attnum > 0 ORDER BY attnum
	});

	@columns = map {
		s/timestamp with time zone/timestamptz/r =~ s/integer/int/r
	} @columns;
	is_deeply(
		[ ($entry{$relation} // '') =~ /^\| `(\w+)` \| `(\w+)` \|/mg ],
		[ map { split / / } @columns ],
		"columns of $relation");
}

same_set(
	[ names_of_table('Helpers that are not for you') ],
	[
		query(
			qq{
				SELECT DISTINCT p.proname FROM pg_proc p
				WHERE p.proname ~ '^_' AND p.oid IN (SELECT d.objid FROM $members AND d.classid = 'pg_proc'::regclass)
				UNION
				SELECT t.typname FROM pg_type t
				WHERE t.typname ~ '^_flake' AND t.typelem = 0 AND t.typrelid = 0
				  AND t.oid IN (SELECT d.objid FROM $members AND d.classid = 'pg_type'::regclass)
			})
	],
	'internal helpers');

my @triggers = query('SELECT evtname FROM pg_event_trigger');
my (undef, @settings) = query(
	q{
	SELECT flake_timestamp(0);
	SELECT name FROM pg_settings WHERE name LIKE 'flakeid.%'
});
foreach my $page ('reference.md', 'reference/settings.md')
{
	same_set([ names_of_table('Event triggers', $page) ],
		\@triggers, "event triggers in docs/$page");
	same_set([ grep { /\./ } names_of_table('Settings', $page) ],
		\@settings, "settings in docs/$page");
}
foreach my $name (@settings)
{
	my $default = (query("SELECT flake_timestamp(0); SHOW $name"))[1] // '';

	$default = $default eq '' ? 'empty' : "`$default`";
	ok($reference =~ /^\| `\Q$name\E` \| \Q$default\E/m,
		"$name and its default, $default");
}

# Every name in the pages is one of something.
my %exists = map { $_ => 1 }
  @functions, @relations, @types, @triggers,
  query(qq{SELECT proname FROM pg_proc}),
  query(qq{SELECT typname FROM pg_type}),
  query(qq{SELECT opcname FROM pg_opclass}),
  query(qq{SELECT fdwname FROM pg_foreign_data_wrapper});
my @unknown;
foreach my $page (@pages, "$top/docs/troubleshooting.md")
{
	my $text = slurp_file($page) =~ s/\]\([^)]*\)/]/gr;

	push @unknown, map { ($page =~ s{.*/docs/}{docs/}r) . ": $_" }
	  grep { !$exists{$_} } $text =~ /(?<![\w.])(_?flake_[a-z_]*[a-z])(?!\w|[*.])/g;
}
is(join("\n", @unknown), '', 'no other names');

# The index has a link to each entry.
my $index = slurp_file("$top/docs/reference.md");
foreach my $name (sort keys %entry)
{
	ok($index =~ /\(reference\/\w+\.md#\Q$name\E\)/,
		"$name is in the index");
}

#
# SQLSTATEs of functions
#

# Those in a list of errors; "those of f" stands for those of another function.
sub sqlstates
{
	my ($name, $errors) = @_;
	my $text = $errors->{$name} // '';
	my %states = map { $_ => 1 } $text =~ /$sqlstate/g;

	foreach my $other (grep { $_ ne $name } $text =~ /those of \[?`?(flake_\w+)/g)
	{
		$states{$_} = 1 foreach sqlstates($other, $errors);
	}
	return sort keys %states;
}

my (%documented, %commented);
foreach my $name (sort keys %is_function)
{
	my ($errors) = ($entry{$name} // '') =~ /^Errors:(.*)/ms;

	ok(defined $errors, "$name: its entry says which errors there are");
	$documented{$name} = $errors // '';
}
foreach my $line (
	query(
		qq{
		SELECT proname || ' ' || obj_description(p.oid, 'pg_proc') FROM pg_proc p
		WHERE p.proname !~ '^_' AND p.oid IN (SELECT d.objid FROM $members AND d.classid = 'pg_proc'::regclass)
	}))
{
	my ($name, $comment) = $line =~ /^(\w+) (.*)/;
	my ($errors) = $comment =~ /; errors?: (.*)/;

	$commented{$name} .= ' ' . ($errors // '');
}
foreach my $name (sort keys %is_function)
{
	is_deeply(
		[ sqlstates($name, \%documented) ],
		[ sqlstates($name, \%commented) ],
		"$name: the SQLSTATEs of its entry are those of its comment");
}

#
# Messages in the source
#

# What varies is "...", also if there is more of it in a row.
sub pattern
{
	my ($message) = @_;

	$message =~ s/%%|%(?:ll|l)?[a-zA-Z]/.../g;
	$message =~ s/\.\.\.(?: ?\.\.\.)+/.../g;
	return $message;
}

chomp(my $include = `pg_config --includedir-server`);
my $errcodes = slurp_file("$include/utils/errcodes.h");
my %code_of;
while ($errcodes =~ /^#define ERRCODE_(\w+) MAKE_SQLSTATE\(([^)]*)\)/mg)
{
	my ($name, $digits) = ($1, $2);

	$code_of{$name} = $digits =~ s/[', ]//gr;
}
$code_of{INVALID_SCHEMA_NAME} //= '3F000';

# The text from an opening parenthesis to the closing one, of C or SQL
sub parenthesized
{
	my ($text, $at) = @_;
	my $depth = 0;

	pos($text) = $at;
	while ($text =~ /\G(?:[^"'()]+|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|([()]))/gcs)
	{
		next unless defined $1;
		$depth += $1 eq '(' ? 1 : -1;
		return substr($text, $at, pos($text) - $at) if $depth == 0;
	}
	die 'a parenthesis is not closed';
}

my %messages;		# "SQLSTATE message"

foreach my $file (files_in('src', qr/\.c$/))
{
	my $text = slurp_file($file) =~ s{/\*.*?\*/}{}gsr;

	while ($text =~ /\b(ereport|ereturn|elog)(?=\()/g)
	{
		my $macro = $1;
		my $call = parenthesized($text, pos($text));
		my $default =
			$call =~ /^\((?:NOTICE|LOG)/ ? '00000'
		  : $call =~ /^\(WARNING/ ? '01000'
		  : 'XX000';
		my $code =
			$call =~ /errcode\(ERRCODE_(\w+)\)/ ? $code_of{$1} // die "ERRCODE_$1?"
		  : $call =~ /errcode_for_file_access/ ? 'varies'
		  : $default;
		my $begins = $macro eq 'elog' ? qr/^\(\w+,\s*/ : qr/\berrmsg\(\s*/;

		next if $call =~ /__VA_ARGS__|^\(context/;
		while ($call =~ /$begins((?:"(?:[^"\\]|\\.)*"\s*)+)/g)
		{
			my @strings = $1 =~ /"((?:[^"\\]|\\.)*)"/g;
			my $message = join '', map { s/\\"/"/gr } @strings;

			$messages{ "$code " . pattern($message) } = 1;
		}
	}
}

# PL/pgSQL in the install script
my $string = qr/'((?:[^']|'')*)'/;
foreach my $file (files_in('extension', qr/\.sql$/))
{
	my $text = slurp_file($file);

	while ($text =~ /RAISE (?:EXCEPTION USING ERRCODE = '(\w+)',|WARNING USING)\s*MESSAGE = (.*?)(?:,\s*(?:DETAIL|HINT) =|;\n)/gs)
	{
		my ($condition, $message, $begin) = ($1 // '01000', $2, $-[0]);
		my $code = $condition =~ /^$sqlstate$/ ? $condition
		  : $code_of{ uc $condition } // die("$condition?");
		my $before = substr $text, 0, $begin;

		# prepared by the SELECT before
		$message = substr $before, rindex($before, 'SELECT CASE')
		  if $message eq 'problem.message';
		my @formats = $message =~ /^$string/ ? ($1) : $message =~ /format\($string/g;
		die "a message in $file is not understood: $message" unless @formats;
		$messages{ "$code " . pattern(s/''/'/gr) } = 1 foreach @formats;
	}
	while ($text =~ /RAISE (\w+) USING MESSAGE = %L.*?format\($string/gs)
	{
		next if $1 eq 'EXCEPTION';
		my ($condition, $message) = ($1, $2);

		$messages{ $code_of{ uc $condition } . ' ' . pattern($message) } = 1;
	}
}

# flakeid-move-shard: shell, and the PL/pgSQL that it sends
my $script = slurp_file("$top/scripts/flakeid-move-shard");
$script =~ s/^\s*#.*\n//mg;
$script =~ s/\$\{\w+:\+"[^"]*"\}//g;
while ($script =~ /\bdie ((?:"(?:[^"\\]|\\.)*"|\s|\\\n|\$'\\n')+)/g)
{
	my ($arguments) = split /\$'\\n'/, $1;
	my @strings = $arguments =~ /"((?:[^"\\]|\\.)*)"/g;
	my $message = join ' ', map { s/\\"/"/gr =~ s/\$\{[^}]*\}|\$\w+/.../gr } @strings;

	$messages{ '- ' . pattern($message) } = 1;
}
while ($script =~ /RAISE EXCEPTION $string/g)
{
	my $message = $1;

	$messages{ '- ' . pattern($message =~ s/%%?/.../gr) } = 1
	  unless $message =~ /is detached/;	# as flakeid itself
}

#
# Messages in the documentation
#

my %explained;
my $is_foreign = 0;
foreach my $page ("$top/docs/troubleshooting.md",
	glob "$top/docs/troubleshooting/*.md")
{
	foreach my $line (split /\n/, slurp_file($page))
	{
		$is_foreign = $1 =~ /^PostgreSQL/ if $line =~ /^#+ (.*)/;
		next if $is_foreign;
		my ($first, $second) = $line =~ /^\| (`.*?`.*?) \| (`[0-9A-Zvaries]+`|-) \|/ or next;

		foreach my $message ($first =~ /`([^`]+)`/g)
		{
			$explained{ ($second =~ s/`//gr) . ' ' . pattern($message) } = 1;
		}
	}
}
cmp_ok(scalar keys %messages, '>', 100, 'messages were found in the source');
same_set([ keys %explained ], [ keys %messages ],
	'docs/troubleshooting.md has every message and its SQLSTATE');

# The list of SQLSTATEs has those of entries and messages, but for internal ones.
my @states = map { sqlstates($_, \%documented) } keys %is_function;
push @states, grep { /^$sqlstate$/ && !/^(?:XX|39|0[01])/ }
  map { (split / /)[0] } keys %messages;
same_set([ names_of_table('SQLSTATEs') ], \@states, 'the list of SQLSTATEs');

#
# What the SQL tests show: attempt('...') prints the SQLSTATE and the message.
#

my %seen;
foreach my $file (files_in('expected', qr/\.out$/))
{
	my $text = slurp_file($file);

	while ($text =~
		/^SELECT ([^;]*?\battempt\(.*?\));\n-\[.*\ncode +\| (\w{5})\nmessage +\| (.*)/mg)
	{
		my ($statement, $code, $message) = ($1, $2, $3);
		my @names = grep { $is_function{$_} } $statement =~ /\b(flake_\w+)\(/g;
		my $where = $file =~ s{.*/}{}r;

		# of flakeid's own messages, and not from the cast of an argument
		next if $message =~ /^(?:invalid input syntax|relation ".*" does not exist)/;
		next
		  if !@names || !grep {
			my $pattern = join '.*', map { quotemeta }
			  split /\.\.\./, $_, -1;
			"$code $message" =~ /^$pattern$/
		  } keys %messages;
		next if $seen{"$names[0] $code"}++;
		ok( (grep { $_ eq $code } map { sqlstates($_, \%documented) } @names),
			"$names[0]: $code, as in $where");
	}
}
cmp_ok(scalar keys %seen, '>', 50, 'errors were found in expected output');

$node->stop;
done_testing();
