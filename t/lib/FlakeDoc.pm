# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeDoc - the code blocks of a Markdown file, so that what the documentation
shows is what the tests run; and its links and headings

=head1 SYNOPSIS

  use FlakeDoc;

  foreach my $block (blocks('README.md'))
  {
      print "$block->{line}: $block->{language}\n$block->{text}";
  }

  my @links = links('README.md');         # [line, 'docs/internals/design.md#fencing'], ...
  my @anchors = anchors('README.md');     # what can stand behind the #

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

our @EXPORT = qw(
  anchors
  blocks
  links
);

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

# The lines of a file; those of code blocks are empty.
sub text_lines
{
	my ($path) = @_;
	my $in_block = 0;
	my @lines = split /\n/, slurp_file($path);

	foreach my $line (@lines)
	{
		my $is_fence = $line =~ /^```/;

		$line = '' if $is_fence || $in_block;
		$in_block = !$in_block if $is_fence;
	}
	return @lines;
}

=pod

=item links($path)

Returns a reference to an array for each link and picture of the file: the number of
its line, and what it leads to.  Code is left out.

=cut

sub links
{
	my ($path) = @_;
	my $number = 0;
	my @links;

	# The text of a link can go over two lines: only its end matters.
	foreach my $line (text_lines($path))
	{
		$number++;
		$line =~ s/`[^`]*`//g;
		push @links, [ $number, $1 ]
		  while $line =~ /(?:\]\(|\b(?:src|href)=")([^)"\s]+)[)"]/g;
	}
	return @links;
}

=pod

=item anchors($path)

Returns the anchors that GitHub gives to the headings of the file: the text in small
letters, without punctuation, with hyphens for blanks, and with a number from the
second one of a name on.

=cut

sub anchors
{
	my ($path) = @_;
	my (@anchors, %count);

	foreach my $line (text_lines($path))
	{
		my ($heading) = $line =~ /^#{1,6}\s+(.*?)\s*#*\s*$/ or next;

		$heading =~ s/\[([^\]]*)\]\([^)]*\)/$1/g;
		$heading = lc $heading;
		$heading =~ s/[^\w\- ]//g;
		$heading =~ tr/ /-/;
		push @anchors,
		  $count{$heading}++ ? "$heading-" . ($count{$heading} - 1) : $heading;
	}
	return @anchors;
}

=pod

=back

=cut

1;
