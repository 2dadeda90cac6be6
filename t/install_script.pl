# Copyright (c) 2026, the flakeid developers

# The script that CREATE EXTENSION executes is what its parts say, and has all of
# them; which errors there can be at all; and the client libraries' versions.

use strict;
use warnings;

use File::Find;
use PostgreSQL::Test::Utils;
use Test::More;

chomp(my $sharedir = `$ENV{PG_CONFIG} --sharedir`);
my ($version) =
  slurp_file("$sharedir/extension/flakeid.control") =~ /^default_version = '(.*)'$/m;
my $template = "extension/flakeid--$version.sql.in";

# The files below directories whose names match.
sub files
{
	my ($pattern, @directories) = @_;
	my @files;

	find({ wanted => sub { push @files, $_ if -f && /$pattern/ }, no_chdir => 1 },
		@directories);
	return sort @files;
}


# The script, put together once more

my %times;

sub expand
{
	my ($file) = @_;
	my $text = slurp_file($file);

	$times{$file}++;
	$text =~ s/^\\i (.*)\n/expand("extension\/$1")/egm;
	return $text;
}

my $script = slurp_file("$sharedir/extension/flakeid--$version.sql");

is($script, expand($template), 'the installed script is what the parts say');
unlike($script, qr/\@extowner\@/, 'the name of the role that creates the extension is not put into it');
is_deeply([ grep { $times{$_} != 1 && !m{^extension/bodies/} } sort keys %times ],
	[], 'no part but text of bodies is in it twice');
is_deeply([ grep { !$times{$_} } files(qr/./, map { "extension/$_" } qw(bodies functions once)) ],
	[], 'every part is in it');


# Versions: tools/dist looks at the others

{
	my ($released) = slurp_file('META.json') =~ /^   "version": "(.*)",$/m;
	my %line = (
		'clients/c/Makefile' => qr/^VERSION = (.*)$/m,
		'clients/python/src/flakeid/__init__.py' => qr/^__version__ = "(.*)"$/m,
		'clients/node/package.json' => qr/^  "version": "(.*)",$/m);

	foreach my $file (sort keys %line)
	{
		my ($named) = slurp_file($file) =~ $line{$file};

		is($named, $released, "$file is of the version in META.json");
	}
}


# make uninstall

{
	my $root = PostgreSQL::Test::Utils::tempdir;

	system_or_bail('make', '-s', $_, "PG_CONFIG=$ENV{PG_CONFIG}", "DESTDIR=$root")
	  for 'install', 'uninstall';
	is_deeply([ files(qr/./, $root) ], [], 'what make install installs, make uninstall removes');
}


# Errors that the source raises.  As with sql/surface.sql: after version 1.0, none
# of these may go away, and a new one is for what was no error before.

my %code_of;

foreach (split /\n/, slurp_file("$sharedir/errcodes.txt"))
{
	next unless /^([0-9A-Z]{5})\s+\w\s+(ERRCODE_\w+)(?:\s+(\w+))?/;
	$code_of{$2} = $1;
	$code_of{$3} //= $1 if defined $3;	# PL/pgSQL takes the first, too
}

my %raised;

foreach my $file (files(qr/\.[ch]$/, 'src'), files(qr/\.(?:pgsql|sql)$/, 'extension/bodies'))
{
	my $text = slurp_file($file);

	$raised{ $code_of{$_} // "$_ in $file" } = 1
	  foreach grep { $_ ne 'ERRCODE_TO_CATEGORY' } $text =~ /\b(ERRCODE_\w+)/g, $text =~ /\bERRCODE = '(\w+)'/g;
}
is(join(' ', sort keys %raised), join(' ', qw(
	01000 02000 0A000
	22000 22003 22004 22008 22023 22P02
	25000 25001 27000 38000
	39P01 39P03 3F000
	42501 42622 42703 42704 42804 42809 42883 42P01 42P06 42P17
	53100 53200 53400 54000 55000 55006 55P03 57014
	HV00D XX000 XX001)), 'the errors that are raised are those that may be');

done_testing();
