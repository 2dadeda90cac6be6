# Copyright (c) 2026, the flakeid developers

# What packages are made of: META.json is as PGXN wants it, the RPM packages have all that
# is installed, and all are of the extension's version.  make dist, make rpm and make deb
# make them.

use strict;
use warnings;

use Cwd qw(getcwd);
use File::Find;
use File::Path qw(make_path);
use IPC::Run;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = getcwd();
my $spec = slurp_file('packaging/rpm/flakeid.spec');

# This also makes the script that META.json names.
my $root = PostgreSQL::Test::Utils::tempdir;

system_or_bail('make', '-s', 'install', "PG_CONFIG=$ENV{PG_CONFIG}", "DESTDIR=$root");


# META.json

# What tools/pgxn_meta.pl says of the META.json in a directory.
sub check_meta
{
	my ($directory) = @_;
	my $out = '';

	IPC::Run::run([ $^X, "$source/tools/pgxn_meta.pl" ], '>&', \$out, init => sub { chdir $directory or die });
	return $out;
}

my $meta = decode_json(slurp_file('META.json'));
my $changed = PostgreSQL::Test::Utils::tempdir;

is(check_meta('.'), '', 'META.json is as the PGXN Meta Spec wants it');

make_path("$changed/extension");
append_to_file("$changed/$_", '') foreach map { $_->{file}, $_->{docfile} } values %{ $meta->{provides} };
foreach my $case (
	[ 'license', sub { $_[0]{license} = 'mine' } ],
	[ 'version', sub { $_[0]{version} = '1.0' } ],
	[ 'abstract', sub { delete $_[0]{abstract} } ],
	[ 'provides', sub { $_[0]{provides}{flakeid}{file} = 'missing' } ],
	[ 'prereqs', sub { $_[0]{prereqs}{runtime}{requires}{PostgreSQL} = '15' } ],
	[ 'tags', sub { push @{ $_[0]{tags} }, 'a/b' } ],
	[ 'tags', sub { push @{ $_[0]{tags} }, $_[0]{tags}[0] } ],
	[ 'key', sub { $_[0]{licence} = 'postgresql' } ])
{
	my ($name, $change) = @$case;
	my $copy = decode_json(encode_json($meta));

	$change->($copy);
	unlink "$changed/META.json";
	append_to_file("$changed/META.json", encode_json($copy));
	like(check_meta($changed), qr/\AMETA\.json: .*$name.*\n\z/, "what is wrong with $name is found");
}


# Versions

my ($default_version) = slurp_file('flakeid.control') =~ /^default_version = '(.*)'$/m;

like($meta->{version}, qr/^\Q$default_version\E\./, 'META.json is of the version of the extension');
is($meta->{provides}{flakeid}{version}, $meta->{version}, 'and so is the extension that it has');
foreach my $case (
	[ 'flakeid.spec', $spec =~ /^Version: *(.*)$/m ],
	[ 'its newest change', $spec =~ /^%changelog\n\*.* - (.*)-/m ],
	[ 'debian/changelog', slurp_file('debian/changelog') =~ /\A\w+ \((.*)-/ ],
	[ 'CHANGELOG.md', slurp_file('CHANGELOG.md') =~ /^## (\S+)/m ])
{
	my ($file, $version) = @$case;

	is($version, $meta->{version}, "$file is of the version in META.json");
}


# The files of the RPM packages, with PostgreSQL where its repository has it

my %macros = (pgmajorversion => 15, pginstdir => '/usr/pgsql-15', $spec =~ /^%global (sname) (\S+)$/m);
my %wanted;

foreach my $section ($spec =~ /^(%files\b.*?)^(?=%endif|%(?:files|changelog)\b)/gms)
{
	my ($head, @lines) = split /\n/, $section =~ s/%\{(\w+)\}/$macros{$1} \/\/ die "%{$1}"/ger;

	$wanted{$head} = [ grep { m{^/} } @lines ];
}
is(join(' ', sort keys %wanted), '%files %files llvmjit', 'the spec has two packages');

my @installed;
my %place = (bindir => 'bin', pkglibdir => 'lib', sharedir => 'share');

find({ wanted => sub { push @installed, $_ if -f }, no_chdir => 1 }, $root);
foreach my $directory (sort keys %place)
{
	chomp(my $path = `$ENV{PG_CONFIG} --$directory`);
	s{^\Q$root$path\E/}{$macros{pginstdir}/$place{$directory}/} foreach @installed;
}
delete $wanted{'%files llvmjit'} unless grep { m{/bitcode/} } @installed;

# A directory stands for all below it.
sub is_of
{
	my ($file, $pattern) = @_;
	my $regex = join '[^/]*', map { quotemeta } split /\*/, $pattern, -1;

	return $pattern =~ m{/\z} ? $file =~ /\A$regex/ : $file =~ /\A$regex\z/;
}

my @patterns = map { @$_ } values %wanted;

foreach my $file (@installed)
{
	my $count = grep { is_of($file, $_) } @patterns;

	is($count, 1, "$file is in one package") if $count != 1;
}
cmp_ok(scalar @installed, '>=', 4, 'the library, the control file, the script and the program are installed');
foreach my $pattern (sort @patterns)
{
	ok((grep { is_of($_, $pattern) } @installed), "$pattern is installed");
}

done_testing();
