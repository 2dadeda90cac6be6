# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeRecipe - the blocks of a page in docs/recipes as files, and the programs that
run them

=head1 SYNOPSIS

  use FlakeRecipe;

  write_files('psql', $directory);
  my $output = output_of('the page works', $directory, 'psql', '-f', 'app.sql');

=head1 DESCRIPTION

A block whose first line is a comment with a file's name is that file.

=cut

package FlakeRecipe;

use strict;
use warnings;

use Exporter 'import';
use FindBin;
use FlakeDoc;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

our @EXPORT = qw(
  blocks_of
  named
  write_files
  run_in
  output_of
);

my $pages = "$FindBin::RealBin/../docs/recipes";

=pod

=head1 FUNCTIONS

=over

=item blocks_of($page, $language)

Returns the blocks of docs/recipes/$page.md, or those in a language, as
C<FlakeDoc::blocks> does.  It is an error if there is none.

=cut

sub blocks_of
{
	my ($page, $language) = @_;

	my @found = grep { !defined $language || $_->{language} eq $language }
	  blocks("$pages/$page.md");
	die "docs/recipes/$page.md has no such block" unless @found;
	return @found;
}

=pod

=item named($page, $name)

Returns the text of the one block that has a comment which says $name.

=cut

sub named
{
	my ($page, $name) = @_;
	my @found =
	  grep { $_->{text} =~ m{^(?:#|//|--|;) \Q$name\E$}m } blocks_of($page);

	die "docs/recipes/$page.md: no block, or several: $name"
	  if @found != 1;
	return $found[0]{text};
}

=pod

=item write_files($page, $directory)

Writes the blocks that are files to a directory, and returns their names, in order.

=cut

sub write_files
{
	my ($page, $directory) = @_;
	my @written;

	foreach my $block (blocks_of($page))
	{
		$block->{text} =~ m{\A(?:#|//|--|;) ((?:\w+/)*\w+(?:\.\w+)+)$}m
		  or next;
		my $path = $1;
		my @parents = split m{/}, $path =~ s{/?[^/]*\z}{}r;

		mkdir join '/', $directory, @parents[ 0 .. $_ ]
		  foreach 0 .. $#parents;
		append_to_file("$directory/$path", $block->{text});
		push @written, $path;
	}
	return @written;
}

=pod

=item run_in($directory, @command)

Runs a command in a directory: whether it succeeds, its output and its errors.

=cut

sub run_in
{
	my ($directory, @command) = @_;
	my ($out, $err) = ('', '');

	my $ok = IPC::Run::run(
		\@command, '<', '/dev/null', '>', \$out, '2>', \$err,
		init => sub { chdir $directory or die "$directory: $!" },
		IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
	note("@command\n$out$err");
	chomp $out;
	return ($ok, $out, $err);
}

=pod

=item output_of($name, $directory, @command)

The same where it must succeed, as a test of that name: returns the output.

=back

=cut

sub output_of
{
	my ($name, $directory, @command) = @_;
	my ($ok, $out, $err) = run_in($directory, @command);

	ok($ok, $name) or diag("$out\n$err");
	return $out;
}

1;
