# Copyright (c) 2026, the flakeid developers

# The vectors that client libraries are tested with are what the server answers.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $vectors = "$FindBin::RealBin/../clients/vectors";
my $made = PostgreSQL::Test::Utils::tempdir('vectors');
my $node = start_server('vectors',
	sql => q(CREATE DATABASE app TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'));
$node->safe_psql('app', 'CREATE EXTENSION flakeid');

$node->command_ok(
	[
		'psql', '--no-psqlrc', "--set=to=$made", "--set=seals=$vectors/seal.csv",
		"--file=$vectors/make.sql", '--dbname', $node->connstr('app')
	],
	'the vectors are made');

sub names
{
	my ($directory) = @_;

	return [ sort map { s/.*\///r } glob "$directory/*.csv" ];
}

is_deeply(names($vectors), names($made), 'there is a file of each kind');
is(slurp_file("$vectors/$_"), slurp_file("$made/$_"), $_) foreach @{ names($made) };

my $readme = slurp_file("$vectors/README.md");

foreach (@{ names($made) })
{
	my ($header) = slurp_file("$made/$_") =~ /\A([^\n]*)\n/;

	like($readme, qr/^\| `\Q$_\E` \| `\Q$header\E` \|/m, "README.md has the columns of $_");
}

done_testing();
