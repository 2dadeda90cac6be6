# Copyright (c) 2026, the flakeid developers

# perl tools/pgxn_meta.pl
#
# Checks META.json in the current directory by the PGXN Meta Spec 1.0.0
# (https://pgxn.org/spec/), and that the files which it names are there.  Prints what is
# wrong; the exit code is 1 then.

use strict;
use warnings;

use JSON::PP;

my $errors = 0;
my $term = qr{\A[^\s/\\[:cntrl:]]{2,}\z};
my $tag = qr{\A[^/\\[:cntrl:]]{1,255}\z};
my $version = qr{\A(?:0|[1-9]\d*)(?:\.(?:0|[1-9]\d*)){2}(?:-[0-9A-Za-z.-]+)?\z};
my $uri = qr{\A[a-z][a-z0-9+.-]*:\S+\z};

# Both arguments in scalar context: a match that fails is not to vanish.
sub check ($$)    ## no critic (ProhibitSubroutinePrototypes)
{
	my ($ok, $what) = @_;

	return if $ok;
	print "META.json: $what\n";
	$errors++;
	return;
}

sub is_text
{
	my ($value) = @_;

	return defined $value && !ref $value && $value ne '';
}

sub texts
{
	my ($value) = @_;

	return ref $value eq 'ARRAY' ? @$value : ($value);
}

# Custom keys begin with x_.
sub check_keys
{
	my ($where, $map, @known) = @_;
	my %known = map { $_ => 1 } @known;

	check($known{$_} || /\Ax_/i, "${where}the key $_ is not known") foreach sort keys %$map;
	return;
}

open my $handle, '<:raw', 'META.json' or die "META.json: $!\n";
my $meta = decode_json(join '', <$handle>);
close $handle;

check_keys('', $meta, qw(abstract maintainer license provides meta-spec name
	  version description generated_by tags no_index prereqs release_status resources));
check(is_text($meta->{abstract}), 'abstract is missing');
check(!(grep { !is_text($_) } texts($meta->{maintainer})), 'maintainer is missing');
check(($meta->{license} // '') eq 'postgresql', 'license is not postgresql');
check(($meta->{name} // '') =~ $term, 'name is not a term');
check(($meta->{version} // '') =~ $version, 'version is not a semantic version');
check(($meta->{'meta-spec'}{version} // '') eq '1.0.0', 'meta-spec is not 1.0.0');
check(($meta->{'meta-spec'}{url} // 'https:') =~ /\Ahttps?:/, 'url of meta-spec is not one');
check(!exists $meta->{$_} || is_text($meta->{$_}), "$_ is empty") foreach qw(description generated_by);
check(($meta->{release_status} // 'stable') =~ /\A(?:stable|testing|unstable)\z/, 'release_status is not known');

my @tags = texts($meta->{tags} // []);
my %seen = map { $_ => 1 } @tags;

check(!(grep { !is_text($_) || $_ !~ $tag } @tags), 'tags have one that is too long, or a slash');
check(keys %seen == @tags, 'tags have one twice');

check(%{ $meta->{provides} // {} }, 'provides is missing');
foreach my $name (sort keys %{ $meta->{provides} // {} })
{
	my $extension = $meta->{provides}{$name};

	check_keys("provides: $name: ", $extension, qw(abstract file docfile version));
	check($name =~ $term, "provides: $name is not a term");
	check(($extension->{version} // '') =~ $version, "provides: version of $name is not a semantic version");
	check(-f ($extension->{file} // ''), "provides: file of $name is missing");
	check(!exists $extension->{docfile} || -f $extension->{docfile}, "provides: docfile of $name is missing");
}

foreach my $phase (sort keys %{ $meta->{prereqs} // {} })
{
	check($phase =~ /\A(?:configure|build|test|runtime|develop)\z/, "prereqs: the phase $phase is not known");
	foreach my $relation (sort keys %{ $meta->{prereqs}{$phase} })
	{
		my $needed = $meta->{prereqs}{$phase}{$relation};

		check($relation =~ /\A(?:requires|recommends|suggests|conflicts)\z/,
			"prereqs: the relation $relation is not known");
		check($_ eq '0' || s/\A(?:[<>]=?|[!=]=) *//r =~ $version, "prereqs: the version $_ is not one")
		  foreach map { split /, */ } values %$needed;
	}
}

my $resources = $meta->{resources} // {};

check_keys('resources: ', $resources, qw(homepage bugtracker repository));
check(($resources->{homepage} // 'https:/') =~ $uri, 'resources: homepage is no URI');
check(($_ // 'https:/') =~ $uri, 'resources: a URI is none')
  foreach $resources->{bugtracker}{web}, $resources->{repository}{url}, $resources->{repository}{web};

check_keys('no_index: ', $meta->{no_index} // {}, qw(file directory));

exit($errors > 0);
