# Copyright (c) 2026, the flakeid developers

# The pages of the documentation are short, lead to each other, and are where the
# source says that they are.
#
# A link within the project is to a file that is there, and if it has an anchor, to
# a heading of that page, as GitHub makes anchors of headings.  The README has at
# most 300 lines, any other page 400.
#
# ALTER SYSTEM works as it is given: on PostgreSQL 15 and 16 the session must have
# loaded the library, so LOAD 'flakeid' comes before it, in the block or line.

use strict;
use warnings;

use File::Find;
use File::Path qw(make_path);
use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeDoc;
use PostgreSQL::Test::Utils;
use Test::More;

# Not pages of this project: pgEdge's, and a word for any picture
my %is_other = map { $_ => 1 } qw(docs/hibernate.md docs/img/PICTURE.svg);

# The project, or another directory, to see that mistakes are found
sub mistakes_in
{
	my ($top) = @_;
	my (@mistakes, @files, %anchors);

	find(
		{
			no_chdir => 1,
			wanted => sub {
				$File::Find::prune = 1
				  if m{/(?:\.git|tmp_check|results|dist|node_modules)$};
				push @files, s{^\Q$top\E/}{}r if -f && -T;
			}
		},
		$top);
	my @pages = grep { /\.md$/ } @files;
	$anchors{$_} = { map { $_ => 1 } anchors("$top/$_") } foreach @pages;

	foreach my $page (sort @pages)
	{
		my $limit = $page eq 'README.md' ? 300 : 400;
		my $length = () = slurp_file("$top/$page") =~ /\n/g;

		push @mistakes, "$page: $length lines, and at most $limit are wanted"
		  if $length > $limit;
		push @mistakes, map { "$page, line $_: ALTER SYSTEM without LOAD" }
		  alter_system_alone("$top/$page");
		foreach my $link (links("$top/$page"))
		{
			my ($line, $target) = @$link;
			my ($path, $anchor) = split /#/, $target, 2;

			next if $target =~ /^\w+:/;
			$path = resolve($page, $path);
			if (!defined $path || !-e "$top/$path")
			{
				push @mistakes, "$page, line $line: no file for $target";
			}
			elsif (defined $anchor && !$anchors{$path}{$anchor})
			{
				push @mistakes, "$page, line $line: no heading for $target";
			}
		}
	}

	# Pages that are named elsewhere, such as in comments
	foreach my $file (sort @files)
	{
		next if $file eq 'CHANGELOG.md' || $file eq 't/pages.pl';
		my $number = 0;

		foreach my $text (split /^/, slurp_file("$top/$file"))
		{
			$number++;
			foreach my $path ($text =~
				m{(?<![\w./:-])(docs/[\w./-]*\.(?:md|csv|svg|png|json|yaml|yml))\b}g)
			{
				push @mistakes, "$file, line $number: there is no $path"
				  unless -e "$top/$path" || $is_other{$path};
			}
		}
	}
	return @mistakes;
}

# The lines with ALTER SYSTEM and a setting that have no LOAD before it
sub alter_system_alone
{
	my ($file) = @_;
	my ($number, $in_block, $is_loaded, @lines) = (0, 0, 0);

	foreach my $line (split /^/, slurp_file($file))
	{
		$number++;
		$in_block = !$in_block if $line =~ /^\s*```/;
		$is_loaded = 0 if !$in_block || $line =~ /^\s*```/;
		while ($line =~ /(LOAD 'flakeid')|(ALTER SYSTEM (?:RE)?SET flakeid\.)/g)
		{
			$is_loaded = 1          if defined $1;
			push @lines, $number if defined $2 && !$is_loaded;
		}
	}
	return @lines;
}

# What a link in a page leads to, from the top; undef above that
sub resolve
{
	my ($page, $path) = @_;
	my @parts = split m{/}, $page;

	return $page if $path eq '';
	pop @parts;
	foreach my $part (split m{/}, $path)
	{
		if ($part eq '..')
		{
			return undef unless @parts;
			pop @parts;
		}
		elsif ($part ne '.')
		{
			push @parts, $part;
		}
	}
	return join '/', @parts;
}

is(join("\n", mistakes_in("$FindBin::RealBin/..")),
	'', 'pages are short, and all links lead somewhere');

# As root, the tests get only those variables that tools/run knows.
my $known = join '', slurp_file("$FindBin::RealBin/../tools/run") =~ /^known\+?='(.*)'$/mg;
my ($settings) = slurp_file("$FindBin::RealBin/README.md") =~ /^## Settings$(.*?)^## /ms;
my @settings = map { /`(\w+)/g } $settings =~ /^\| (`[^|]*)/mg;

cmp_ok(scalar @settings, '>', 30, 't/README.md has settings of tests');
is(join(' ', grep { !/^(?:$known)$/ } @settings),
	'', 'which tools/run hands to them, also as root');

# Of what make vectors and make bench-growth leave, the names lead to the same places in the
# source tree, whatever names there are.
my $trees = PostgreSQL::Test::Utils::tempdir();
my ($take_results) = slurp_file("$FindBin::RealBin/../tools/run") =~ /^(# What the benchmark and .*)/ms;
my @results = qw(clients/vectors/good.csv docs/img/growth-good.svg bench/growth/results.csv);
make_path(map { ("$trees/source/$_", "$trees/tmp/flakeid/$_") } qw(clients/vectors/z.csv docs/img bench/growth));
append_to_file("$trees/tmp/flakeid/$_", 'id,')
  foreach @results, 'Makefile', 'clients/vectors/z.csv/Makefile', "docs/img/growth-1\nMakefile\n.svg";
append_to_file("$trees/source/Makefile", 'all:');
foreach my $command (qw(vectors bench-growth))
{
	my $script = "say() { :; }; source_dir=\$2/source; tmp=\$2/tmp; as_user=(); status=0\n$take_results";

	is(system('bash', '-euo', 'pipefail', '-c', $script, 'tools/run', $command, $trees),
		0, "make $command takes its results");
}
my @files;
find(sub { push @files, $File::Find::name =~ s{^\Q$trees/source/\E}{}r if -f }, "$trees/source");
is_deeply([ sort @files ], [ sort 'Makefile', @results ], 'no results of other names are there');
is(slurp_file("$trees/source/Makefile"), 'all:', 'or have replaced what is there');

# npm takes no settings, workspace or packages from the directories above.
SKIP:
{
	my $above = PostgreSQL::Test::Utils::tempdir();
	my $tools = "$FindBin::RealBin/../tools";

	skip 'npm and Node.js 20 are not there', 2
	  if system("command -v npm && node -e 'process.exit(parseInt(process.versions.node) < 20 ? 1 : 0)' >&2") != 0;
	append_to_file("$above/package.json", '{"private": true, "workspaces": ["a/npm"]}');
	append_to_file("$above/none.json", '{}');
	is( system('bash', '-euo', 'pipefail', '-c',
			". '$tools/common.sh'; install_from_npm \$1/a/npm \$1/none.json; [ -n \"\$JAVASCRIPT_PACKAGES\" ]",
			'tools/run', $above),
		0, 'npm installs');
	is_deeply(
		[ sort map { s{.*/}{}r } glob "$above/*" ],
		[qw(a none.json package.json)],
		'and nothing in a directory above, which says that this is of its workspace');
}

# Mistakes are found.
my $small = PostgreSQL::Test::Utils::tempdir();
mkdir "$small/docs" or die $!;
append_to_file("$small/docs/a.md", <<'PAGE');
# A page

## The `code` in a *heading*, and more: 1.5 & 2

### Twice
### Twice

See [there](b.md), [here](#the-code-in-a-heading-and-more-15--2), [again](#twice-1), [the
outside](https://example.org/#x), and `[no link](nowhere.md)`.

```sql
SELECT a[1](2);   -- [no link](nowhere.md)
# no heading
```
PAGE
append_to_file("$small/docs/b.md",
	"[A](a.md#twice)\n\n<img src=\"picture.svg\">\n[x](a.md#no-heading) [y](d.md) [z](../../b.md)\n![p](none.png)\n"
);
append_to_file("$small/docs/c.md", <<'PAGE');
`LOAD 'flakeid'; ALTER SYSTEM SET flakeid.shard = 1` is right
ALTER SYSTEM RESET flakeid.shard is not
```
LOAD 'flakeid';
ALTER SYSTEM SET flakeid.shard = 1;
```
```
ALTER SYSTEM SET flakeid.shard = 1;
```
PAGE
append_to_file("$small/docs/picture.svg", "<svg/>\n");
append_to_file("$small/README.md", "\n" x 301);
append_to_file("$small/docs/long.md", "\n" x 401);
append_to_file("$small/source.c", "/* see docs/a.md and docs/gone.md */\n");
is_deeply(
	[ mistakes_in($small) ],
	[
		'README.md: 301 lines, and at most 300 are wanted',
		'docs/b.md, line 4: no heading for a.md#no-heading',
		'docs/b.md, line 4: no file for d.md',
		'docs/b.md, line 4: no file for ../../b.md',
		'docs/b.md, line 5: no file for none.png',
		'docs/c.md, line 2: ALTER SYSTEM without LOAD',
		'docs/c.md, line 8: ALTER SYSTEM without LOAD',
		'docs/long.md: 401 lines, and at most 400 are wanted',
		'source.c, line 1: there is no docs/gone.md'
	],
	'mistakes are found');

done_testing();
