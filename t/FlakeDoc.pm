# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeDoc - the code blocks of a Markdown file, so that what the documentation
shows is what the tests run

=head1 SYNOPSIS

  use FlakeDoc;

  foreach my $block (blocks('README.md'))
  {
      print "$block->{line}: $block->{language}\n$block->{text}";
  }

=head1 DESCRIPTION

A block is what stands between two lines that begin with three backquotes; one
that is indented, or whose language is not in small letters, is an error.  A
comment just before it may say how it is to be run, and is not seen by who
reads the page:

  <!-- test: varies -->

A comment of that kind may have several lines, and stand without a block.

=cut

package FlakeDoc;

use strict;
use warnings;

use Exporter 'import';
use PostgreSQL::Test::Utils;

our @EXPORT = qw(blocks);

=pod

=head1 FUNCTIONS

=over

=item blocks($path)

Returns a reference to a hash for each block and each comment of the file, in
order:

  language    what stands behind the first backquotes, or '' if nothing
  text        the lines of the block, each with its newline
  line        the number of its first line in the file
  headings    a reference to the headings that it is under, from the outermost
  directive   what the comments before it say, joined by newlines, or ''
  follows     true if there are only blank lines and such comments between it
              and the block before

A comment with no block after it before other text comes as a block of the
language 'directive', with an empty text.

=back

=cut

sub blocks
{
	my ($path) = @_;

	my (@blocks, @headings, @directives);
	my $follows = 0;
	my $number = 0;
	my ($block, $comment);

	foreach my $line (split /^/, slurp_file($path))
	{
		$number++;
		if (defined $block)
		{
			if ($line =~ /^```\s*$/)
			{
				push @blocks, $block;
				undef $block;
				$follows = 1;
			}
			else
			{
				$block->{text} .= $line;
			}
			next;
		}
		if (defined $comment)
		{
			$comment .= $line;
		}
		elsif ($line =~ /^<!-- test:/)
		{
			$comment = $line;
		}
		if (defined $comment)
		{
			if ($comment =~ /^<!-- test:\s*(.*?)\s*-->\s*$/s)
			{
				push @directives, $1;
				undef $comment;
			}
			next;
		}
		if ($line =~ /^```([a-z]*)\s*$/)
		{
			$block = {
				language => $1,
				text => '',
				line => $number + 1,
				headings => [@headings],
				directive => join("\n", @directives),
				follows => $follows,
			};
			@directives = ();
		}
		elsif ($line =~ /^\s*(?:```|~~~)/)
		{
			die "$path, line $number: a block begins in a way that is not known";
		}
		elsif ($line =~ /\S/)
		{
			push @blocks,
			  {
				language => 'directive',
				text => '',
				line => $number,
				headings => [@headings],
				directive => join("\n", @directives),
				follows => 0,
			  }
			  if @directives;
			@directives = ();
			$follows = 0;
			if ($line =~ /^(#+)\s+(.*?)\s*$/)
			{
				splice @headings, length($1) - 1;
				push @headings, $2;
			}
		}
	}
	die "$path: a block or comment at its end is not closed"
	  if defined $block || defined $comment;
	return @blocks;
}

1;
