# Copyright (c) 2026, the flakeid developers

# The site of the documentation that make site builds: MkDocs has nothing to complain
# of, each link leads to a file and an anchor that are there, each page is in the
# navigation and can be searched, nothing is loaded from elsewhere, and the text is the
# one that GitHub would show (as far as its cmark-gfm is installed).

use strict;
use warnings;

use Cwd 'abs_path';
use File::Basename 'dirname';
use File::Find;
use FindBin;
use PostgreSQL::Test::Utils;
use Test::More;

my $source = abs_path("$FindBin::RealBin/..");
my $site = PostgreSQL::Test::Utils::tempdir . '/site';

plan skip_all => 'MkDocs with its theme Material is not installed'
  unless (`mkdocs build --help 2>&1` // '') =~ /\bmaterial\b/;

# Whether a program is there, and works for this user.
sub works
{
	my ($program) = @_;

	return system("$program --version >$site.log 2>&1") == 0;
}

my $chromium = works('chromium');
{
	local $ENV{SITE} = $site;
	local $ENV{SCREENSHOT} = $chromium ? "$site.png" : '';
	command_ok([ 'bash', "$source/tools/site/run" ], 'the site is built');
}
BAIL_OUT('there is no site') unless -d $site;


# Links

# Each file's name below $site, and for pages their HTML.
my %files;
find(
	{
		no_chdir => 1,
		wanted => sub {
			$files{s{\A\Q$site\E/}{}r} = /\.(?:html|css)\z/ ? slurp_file($_) : ''
			  if -f;
		}
	},
	$site);
my @pages = sort grep { /\.html\z/ && $_ ne '404.html' } keys %files;
my %anchors =
  map { $_ => { map { $_ => 1 } $files{$_} =~ /\sid="([^"]+)"/g } } @pages;

# The file that a link in a page leads to, and the anchor, if it has one.
sub destination
{
	my ($page, $link) = @_;
	my ($path, $anchor) = split /#/, $link, 2;

	s/%([0-9A-Fa-f]{2})/chr hex $1/ge foreach grep { defined } $path, $anchor;
	return ($page, $anchor) unless defined $path && length $path;
	my @parts = $path =~ m{\A/} ? () : split m{/}, $page =~ s{[^/]*\z}{}r;
	foreach my $part (split m{/}, $path)
	{
		if ($part eq '..') { pop @parts }
		elsif ($part !~ /\A\.?\z/) { push @parts, $part }
	}
	$path = join '/', @parts;
	return ($path, $anchor) if exists $files{$path};
	return ($path eq '' ? 'index.html' : "$path/index.html", $anchor);
}

my (%dead, %foreign);
my $links = 0;
foreach my $page (@pages)
{
	while ($files{$page} =~ /<(\w+)\b[^>]*?\s(?:href|src)="([^"]*)"/g)
	{
		my ($tag, $link) = ($1, $2 =~ s/&amp;/&/gr);

		if ($link =~ m{\A(?:[a-z]+:|//)})
		{
			$foreign{$link} = 1 if $tag ne 'a';
			next;
		}
		my ($file, $anchor) = destination($page, $link);
		$links++;
		$dead{"$page: $link"} = 1
		  if !exists $files{$file}
		  || length($anchor // '')
		  && $anchors{$file}
		  && !$anchors{$file}{$anchor}
		  && $anchor ne '__skip';
	}
}
foreach my $sheet (grep { /\.css\z/ } keys %files)
{
	$foreign{$1} = 1
	  while $files{$sheet} =~ m{(?:url\(|\@import\s)\s*["']?((?:https?:)?//[^"')]+)}g;
}
cmp_ok($links, '>', 1000, 'the pages have links');
is(join("\n", sort keys %dead), '', 'no link is dead');
is(join("\n", sort keys %foreign), '', 'nothing is loaded from elsewhere');


# Navigation and search

my %in_nav = map { (destination('index.html', $_))[0] => 1 }
  $files{'index.html'} =~ /<a href="([^"#]*)" class="md-nav__link/g;
is(join(' ', grep { !$in_nav{$_} } @pages),
	'', 'each page is in the navigation (nav in tools/site/mkdocs.yml)');

my $index = slurp_file("$site/search/search_index.json");
is(join(' ', grep { index($index, qq("location":"$_")) < 0 } grep { $_ ne 'index.html' } @pages),
	'', 'each page can be searched');


# The pages are those of the source tree, and say the same.

# The text of some HTML, without space.
sub text_of
{
	my ($html) = @_;

	$html =~ s{<a class="headerlink".*?</a>|<!--.*?-->|<[^>]*>|\s+}{}gs;
	$html =~ s/&(?:#(\d+)|#x([0-9a-fA-F]+)|(quot|lt|gt|amp));/
		  defined $1 ? chr $1
		: defined $2 ? chr hex $2
		: { quot => '"', lt => '<', gt => '>', amp => '&' }->{$3}/ge;
	return $html;
}

my %page_of;
find(
	{
		no_chdir => 1,
		wanted => sub {
			return unless /\.md\z/;
			my $name = s{\A\Q$source\E/}{}r;
			$page_of{$name} =
			  $name =~ s/\bREADME\.md\z/index.html/r =~ s/\.md\z/.html/r;
		}
	},
	"$source/README.md",
	"$source/docs");
is(join(' ', grep { !exists $files{ $page_of{$_} } } sort keys %page_of),
	'', 'each page of docs/ is there');

SKIP:
{
	skip 'cmark-gfm is not installed', 1 unless works('cmark-gfm');

	my @different;
	foreach my $name (sort keys %page_of)
	{
		my ($article) =
		  ($files{ $page_of{$name} } // '') =~ m{<article.*?>(.*)</article>}s;
		my $expected =
		  `cmark-gfm --unsafe --extension table --extension autolink '$source/$name'`;
		my ($got, $wanted) = (text_of($article // ''), text_of($expected));

		next if $got eq $wanted;
		($got ^ $wanted) =~ /\A(\0*)/;
		push @different, "$name: " . substr($got, length $1, 60);
	}
	is(join("\n", @different), '', "the text of each page is GitHub's");
}


SKIP:
{
	skip 'Chromium is not installed', 1 unless $chromium;

	my @shots = map { slurp_file("$site$_.png") } '', '-dark';
	ok( (!grep { !/\A\x89PNG/ || length() < 50_000 } @shots)
		  && $shots[0] ne $shots[1],
		'the start page can be looked at, on light and on dark');
}

done_testing();
