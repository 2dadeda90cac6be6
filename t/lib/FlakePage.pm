# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakePage - runs the SQL of a Markdown file, and tests whether its output is the
one that the file shows

=head1 SYNOPSIS

  use FlakePage;

  test_page($node, "$FindBin::RealBin/../docs/faq.md", 'faq');

=head1 DESCRIPTION

Each file's blocks marked "sql" are run by psql from top to bottom, in a
database that was empty before.  A statement must not fail, unless its output is
shown.  There are two ways to show it:

- A block without language that follows is the output of the whole block before
  it, as psql prints it, without the line that counts rows.
- A comment behind a statement, on its last line:

      SELECT flake_shard(id), name FROM t;      --> 5 | one, 6 | two

  has the rows of that statement, separated by commas, and their columns by bars.

Where ids and times differ from run to run, a comment before the block of output,
<!-- test: varies -->, has each number stand for any number; so does ", say" at
the end of a comment with a result.

Other comments that a reader of the page does not see:

  <!-- test: run STATEMENTS -->        runs statements that the page leaves out
  <!-- test: database NAME -->         from here on in another database, which is
                                       created if it is not there: it plays
                                       another server; without NAME, back again
  <!-- test: node NAME -->             from here on on another server, of %nodes
  <!-- test: needs EXTENSION -->       the block is run where that is installed
  <!-- test: not run: REASON -->       the block cannot be run

=cut

package FlakePage;

use strict;
use warnings;

use Exporter 'import';
use FlakeDoc;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(test_page);

# What is to be sent to psql for a file, and what is expected of it: a list of
# [line, how, expected, varies] for each piece, with how one of
#   silent      no error
#   table       the output as psql prints it
#   row         the rows of the last statement
sub pieces_of
{
	my ($node, $path, $database, $nodes) = @_;
	my (@pieces, $script);
	my @blocks = blocks($path);

	my $add = sub {
		my ($line, $how, $sql, $expected, $varies) = @_;

		push @pieces, [ $line, $how, $expected, $varies ];
		$script .= '\echo @@ ' . $#pieces . "\n";
		$script .=
		  $how eq 'row'
		  ? "\\pset format unaligned\n\\pset tuples_only on\n"
		  : "\\pset format aligned\n\\pset tuples_only off\n";
		$script .= "$sql\n";
	};

	for my $i (0 .. $#blocks)
	{
		my $block = $blocks[$i];
		my $skip;

		foreach my $directive (
			split /\n(?=(?:run|database|node|needs|not run:|varies)\b)/,
			$block->{directive})
		{
			last if $skip;
			if ($directive =~ /^database\b ?(\w*)$/)
			{
				my $name = join '_', $database, $1 || ();

				$script .=
					qq(SELECT 'CREATE DATABASE "$name"' )
				  . qq(WHERE NOT EXISTS (SELECT FROM pg_database WHERE datname = '$name') \\gexec\n)
				  . qq(\\connect "$name"\n);
			}
			elsif ($directive =~ /^node (\w+)$/ && $nodes->{$1})
			{
				$script .= sprintf qq(\\connect "%s" - %s %s\n), $database,
				  $nodes->{$1}->host, $nodes->{$1}->port;
			}
			elsif ($directive =~ /^run\s+(.*)$/s)
			{
				$add->($block->{line}, 'silent', "$1;");
			}
			elsif ($directive =~ /^needs (\w+)$/)
			{
				$skip = "$1 is not installed"
				  if $node->safe_psql('postgres',
					"SELECT count(*) FROM pg_available_extensions WHERE name = '$1'"
				  ) == 0;
			}
			elsif ($directive =~ /^not run: (.+)$/)
			{
				$skip = $1;
			}
			elsif ($directive ne 'varies')
			{
				die "$path, line $block->{line}: $directive?";
			}
		}
		note("$path, line $block->{line}: not run: $skip") if $skip;
		next if $block->{language} ne 'sql' || $skip;

		my $next = $blocks[ $i + 1 ];
		my $line = $block->{line};
		my $sql = '';

		my $number = $line - 1;
		foreach my $text (split /^/, $block->{text})
		{
			$number++;
			$sql .= $text;
			if ($text =~ /-->\s*(.*?)\s*$/)
			{
				my $expected = $1;

				$add->($line, 'row', $sql, $expected,
					$expected =~ s/, say$//);
				$sql = '';
				$line = $number + 1;
			}
		}
		if ($next && $next->{follows} && $next->{language} eq '')
		{
			$add->(
				$line, 'table', $sql, $next->{text},
				$next->{directive} =~ /^varies$/m);
		}
		elsif ($sql =~ /\S/)
		{
			$add->($line, 'silent', $sql);
		}
	}
	return ($script, @pieces);
}

# Without the number of rows, and blanks at the ends of lines.
sub normal
{
	my ($text) = @_;

	$text =~ s/^\(\d+ rows?\)$//mg;
	$text =~ s/[ \t]+$//mg;
	$text =~ s/^\n+|\n+$//g;
	return $text;
}

# With any number for any number, and columns of any width.
sub without_numbers
{
	my ($text) = @_;

	$text =~ s/\d+(?:\.\d+)?/0/g;
	$text =~ s/-+/-/g;
	$text =~ s/ +/ /g;
	return $text;
}

# What psql says when something is wrong, in SQL or in its own commands
my $error = qr/^(?:ERROR|FATAL|WARNING|error:|psql has ended)|^\\\w+: /m;

=pod

=head1 FUNCTIONS

=over

=item test_page($node, $path, $database, %nodes)

Runs the file on a server (with C<lc_messages = 'C'>) in a database that it creates,
whose name begins those of others that the file asks for. There is a test for each
piece, named after the file and the line. With %nodes, of names and other servers, the
database has to be there, on all of them.

=back

=cut

sub test_page
{
	my ($node, $path, $database, %nodes) = @_;
	my ($script, @pieces) = pieces_of($node, $path, $database, \%nodes);
	my $page = $path =~ s{^.*\.\./}{}r;
	my (@output, $all);

	return unless @pieces;
	$node->safe_psql('postgres', qq(CREATE DATABASE "$database")) unless %nodes;
	my $file = "$PostgreSQL::Test::Utils::tmp_check/$database.sql";
	append_to_file($file, $script);
	IPC::Run::run(
		[
			'psql', '--no-psqlrc',
			'--quiet', '--file',
			$file, '--set',
			'port=' . $node->port, '--set',
			'host=' . $node->host, '--dbname',
			$node->connstr($database)
		],
		'>',
		\$all,
		'2>&1') or fail("$page: psql");
	$all =~ s/^psql:\Q$file\E:\d+: //mg;

	foreach my $part (split /^(?=@@ \d+$)/m, $all)
	{
		$part =~ s/^@@ (\d+)\n// or next;
		$output[$1] = $part;
	}

	foreach my $i (0 .. $#pieces)
	{
		my ($line, $how, $expected, $varies) = @{ $pieces[$i] };
		my $got = normal($output[$i] // 'psql has ended');
		my $name = "$page, line $line";

		if ($how eq 'silent')
		{
			unlike($got, $error, $name);
			next;
		}
		$expected = normal($expected);
		if ($how eq 'row')
		{
			my @rows = map { s/\|/ | /gr } split /\n/, $got;
			my $count = () = $expected =~ /, /g;

			# Of the last statement; but those before must not fail, either.
			@rows = @rows[ -$count - 1 .. -1 ]
			  if @rows > $count && $got !~ $error;
			$got = join ', ', @rows;
		}
		($got, $expected) =
		  (without_numbers($got), without_numbers($expected))
		  if $varies;
		is($got, $expected, $name);
	}
	return;
}

1;
