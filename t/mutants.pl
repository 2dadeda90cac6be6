# Copyright (c) 2026, the flakeid developers

# The mistakes that make mutate makes: the same for the same seed, only where there is
# code, and such as a compiler takes.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/../tools/mutate";
use Mutants qw(blocks_marked in_order mutants mutated);
use PostgreSQL::Test::Utils;
use Test::More;

my $directory = PostgreSQL::Test::Utils::tempdir();

# The mutants of a text, as one writes them down.
sub written
{
	return [ map { "$_->{line} $_->{kind}: $_->{before} => $_->{after}" } mutants(@_) ];
}

# Whether a C compiler takes it.
sub compiles
{
	my ($text, @flags) = @_;

	open my $handle, '>', "$directory/mutant.c" or die $!;
	print $handle $text;
	close $handle;
	return system('gcc', '-w', @flags, '-fsyntax-only', "$directory/mutant.c") == 0;
}


# A text with all that there is

my $text = <<'C';
#include "a == b"
#define LIMIT (1 + 2)
static const int table[3] = {1, 2, 3};
/* a && b; f(1); */
int f(const char *text, ...);
static int
g(int n, int *a)
{
	static int calls = 5;
	char buffer[8] = "n == 1";
	int  m = n + 1,
		*p = &m;

	StaticAssertStmt(sizeof(buffer) == 8, "a < b");
	/* if (n < 1) return 2; */
	if (n <= -LIMIT && *p)
		return 7;
	else
		f("x; y(1) && z", '1', a[m]);
#if 1 > 0
	for (m = 0x10; m < n; m++)
		a[m] |= 1 << m;
#endif
	ereport(ERROR,
			(errcode(12), errmsg("1 + %d", n + 1)));
	switch (n)
	{
		case 3:
			break;
		default:
			calls = !n;
	}
	return n ? m : 4L;
}
C

is_deeply([ sort @{ written('x.c', $text) } ], [ sort split /\n/, <<'MUTANTS' ], 'what is mutated, and what is not');
11 arithmetic: + => -
11 constant: 1 => 2
11 constant: 1 => 0
16 negated condition: (n <= -LIMIT && *p) => (!(n <= -LIMIT && *p))
16 comparison: <= => <
16 comparison: <= => >
16 logic: && => ||
17 removed jump: return 7; => ;
17 constant: 7 => 8
17 constant: 7 => 6
17 constant: 7 => 0
18 removed else: else => else if (0)
19 removed statement: f("x; y(1) && z", '1', a[m]); => ;
21 constant: 0x10 => 17
21 constant: 0x10 => 15
21 constant: 0x10 => 0
21 comparison: < => <=
21 comparison: < => >=
21 arithmetic: ++ => --
22 removed statement: a[m] |= 1 << m; => ;
22 bits: |= => &=
22 constant: 1 => 2
22 constant: 1 => 0
22 bits: << => >>
24 removed statement: ereport(ERROR, (errcode(12), errmsg("1 + %d", n + 1))); => ;
28 constant: 3 => 4
28 constant: 3 => 2
28 constant: 3 => 0
29 removed jump: break; => ;
31 removed statement: calls = !n; => ;
31 removed negation: ! => 
33 constant: 4L => 5L
33 constant: 4L => 3L
33 constant: 4L => 0L
MUTANTS

my @flags = ('-D_GNU_SOURCE', '-DERROR=1', '-Dereport(a,b)=(void)(b)', '-Derrcode(a)=(a)', '-Derrmsg(...)=1',
	'-DStaticAssertStmt(a,b)=');
(my $own = $text) =~ s/^#include.*//;
ok(compiles($own, @flags), 'the text compiles');
is_deeply(
	[ map { "$_->{kind}: $_->{before} => $_->{after}" } grep { !compiles(mutated($own, $_), @flags) } mutants('x.c', $own) ],
	[], 'with each mistake, too');
is_deeply([ grep { mutated($own, $_) =~ tr/\n// != $own =~ tr/\n// } mutants('x.c', $own) ],
	[], 'lines keep their numbers');
my ($marked, @blocks) = blocks_marked('x.c', $own, 7);
is_deeply(\@blocks, ['x.c g 0'], 'blocks are found, and neither an initializer nor a switch is one');
like($marked, qr/\{ flake_reached\[7\] = 1;\n\tstatic int calls/, 'and marked');


# The source

my (@mutants, %source, %marks, %known);
foreach my $file (glob 'src/mint/*.[ch] src/shard/*.[ch]')
{
	$source{$file} = slurp_file($file);
	push @mutants, mutants($file, $source{$file});
	(undef, my @names) = blocks_marked($file, $source{$file}, 0);
	@known{@names} = ();
}
my %keys = map { $_->{key} => 1 } @mutants;
cmp_ok(scalar @mutants, '>', 3000, 'the source has thousands of places');
is(scalar keys %keys, scalar @mutants, 'each mutant has a key of its own');
is_deeply([ grep { !exists $known{ $_->{block} } } @mutants ], [], 'each is in a block whose reach is measured');

my $order = join ' ', map { $_->{key} } in_order(1, @mutants);
is(join(' ', map { $_->{key} } in_order(1, reverse @mutants)), $order, 'the same order for the same seed');
isnt(join(' ', map { $_->{key} } in_order(2, @mutants)), $order, 'another one for another seed');

my %files = map { $_->{file} => 1 } @mutants;
my %first = map { $_->{file} => 1 } (in_order(1, @mutants))[ 0 .. keys(%files) - 1 ];
is_deeply(\%first, \%files, 'of each file one, before one has its second');

# What is in comments, strings and directives, found in another way
my @elsewhere;
foreach my $file (sort keys %source)
{
	my $covered = $source{$file};

	$covered =~ s{(/\*.*?\*/|"(?:\\.|[^"\\\n])*"|^[ \t]*#(?:\\\n|[^\n])*)}{"\0" x length $1}gems;
	push @elsewhere, grep { substr($covered, $_->{offset}, 1) eq "\0" } grep { $_->{file} eq $file } @mutants;
}
is_deeply(\@elsewhere, [], 'none begins in a comment, a string or a directive');

# Most compile. Those that do not are mostly types that do not fit, or half of a macro.
chomp(my $include = `$ENV{PG_CONFIG} --includedir-server`);
my @some = grep { $_->{file} =~ /\.c$/ } (in_order(1, @mutants))[ 0 .. 11 ];
my $taken = grep { compiles(mutated($source{ $_->{file} }, $_), "-I$include", '-Isrc', '-D_GNU_SOURCE') } @some;
cmp_ok($taken, '>=', 0.7 * @some, 'of some of the source, most compile');

done_testing();
