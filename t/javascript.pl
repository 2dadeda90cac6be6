# Copyright (c) 2026, the flakeid developers

# No digit of an id is lost in JavaScript by what docs/javascript.md and the pages of
# libraries in docs/recipes say, and what they call wrong is wrong.  Each of their
# programs is run, and prints what the comments behind its console.log() say, in which
# "..." stands for anything.
#
# tools/run installs the packages of t/javascript/package.json, where npm is, and says
# where in JAVASCRIPT_PACKAGES.  Prisma, drizzle-kit and the types of pg are among them
# only if JAVASCRIPT is "all".

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeDoc;
use FlakeNode;
use FlakeRecipe;
use FlakeTest;
use JSON::PP;
use PostgreSQL::Test::Utils;
use Test::More;

my $packages = node_packages();
plan skip_all => 'the packages of npm are not installed' unless $packages;

my $has_all = ($ENV{JAVASCRIPT} // '') eq 'all';
my $bin = "$packages/node_modules/.bin";
my $node = start_server('javascript');
my $user = $node->safe_psql('postgres', 'SELECT current_user');
local @ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, $user);
delete local @ENV{qw(PGDATABASE PGAPPNAME PGOPTIONS)};
local $ENV{DATABASE_URL} =
	"postgresql://$user\@localhost/app?host="
  . ($node->host =~ s{/}{%2F}gr)
  . '&port=' . $node->port;

# Not to look for newer versions, nor to tell anybody
local @ENV{qw(CHECKPOINT_DISABLE PRISMA_HIDE_UPDATE_MESSAGE)} = (1, 1);
# Only the client is generated, which does not take the engine for schemas; but the
# program would download it.
local $ENV{PRISMA_SCHEMA_ENGINE_BINARY} = '/bin/true';

# An empty database, in which these statements have been executed
sub fresh_app
{
	my (@statements) = @_;

	$node->safe_psql('postgres',
		'DROP DATABASE IF EXISTS app WITH (FORCE)');
	$node->safe_psql('postgres', 'CREATE DATABASE app');
	$node->safe_psql('app', $_) foreach @statements;

	# Not the first ids of a generator: doubles hold those whose sequence number is 0.
	$node->safe_psql('app',
		'SET search_path = public, ids; SELECT flake_ids(5, 3)');
	return;
}

# A page's SQL; the tables of the page psql where a page has none
sub statements_of
{
	my ($page) = @_;
	my ($first) = blocks_of('psql', 'sql');

	return $page =~ /postgres/
	  ? grep { /^CREATE/ } split /(?<=;)\n/, $first->{text}
	  : map { $_->{text} } blocks_of($page, 'sql');
}

# What a program is to print, as a regular expression
sub promised_by
{
	my ($text) = @_;
	my @lines = $text =~ m{console\.log\((?:(?!console\.log\().)*?// ([^\n]*)}sg;

	die "nothing is printed by $text" unless @lines;
	return join "\n", map { quotemeta =~ s/(?:\\\.){3}/.+/gr } @lines;
}

# Writes the files of a page and runs those that print something.
sub programs_work
{
	my ($page, $directory) = @_;

	symlink "$packages/node_modules", "$directory/node_modules"
	  or die "$directory: $!";
	my @files = write_files($page, $directory);
	foreach my $file (grep { slurp_file("$directory/$_") =~ /console\.log\(/ } @files)
	{
		program_works($file, $directory, $page);
	}
	return;
}

sub program_works
{
	my ($file, $directory, $page) = @_;
	my $program = $file;

	if ($file =~ /\.ts\z/)
	{
		output_of("$page: $file has the right types",
			$directory, "$bin/tsc", '--ignoreConfig', '--noEmit', '--strict',
			'--strictPropertyInitialization', 'false', '--experimentalDecorators',
			'--target', 'es2022', '--module', 'esnext', '--moduleResolution', 'bundler',
			'--skipLibCheck', '--types', 'node', $file) if $has_all;
		$program .= '.mjs';
		output_of("$page: $file can be compiled",
			$directory, "$bin/esbuild", $file, '--bundle', '--packages=external',
			'--platform=node', '--format=esm', '--log-level=warning',
			"--outfile=$program");
	}
	# Node.js 20 has that as an experiment.
	my @options = $file eq 'reviver.mjs'
	  && (run_in($directory, 'node', '--version'))[1] =~ /^v20\./
	  ? '--harmony-json-parse-with-source'
	  : ();
	my $promised = promised_by(slurp_file("$directory/$file"));

	like(output_of("$page: $file runs", $directory, 'node', @options, $program),
		qr/\A$promised\z/, "$page: $file prints what it says");
	return;
}


# The versions

my $package = decode_json(slurp_file("$FindBin::RealBin/javascript/package.json"));
my %version = (%{ $package->{dependencies} }, %{ $package->{devDependencies} });
my $table = slurp_file("$FindBin::RealBin/../docs/javascript.md");
my %told = $table =~ /^\| \[`([\w-]+)`\]\([^|]*\| ([\d.]+) \|/mg;

is(scalar keys %told, 8, 'there are eight libraries');
is_deeply(\%told, { map { $_ => $version{$_} } keys %told },
	'docs/javascript.md has the versions that are run');


# JavaScript alone

subtest 'javascript' => sub {
	my $directory = PostgreSQL::Test::Utils::tempdir('javascript');

	programs_work('../javascript', $directory);

	# The module reads ids as the database does.
	fresh_app('CREATE EXTENSION flakeid');
	my $ids = $node->safe_psql(
		'app', q(
SELECT id, to_char(flake_timestamp(id) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
       flake_shard(id), flake_sequence(id), flake_to_text(id)
FROM (SELECT (random() * 9e18)::bigint + n % 1024 AS id FROM generate_series(1, 1000) AS n) AS ids));
	append_to_file("$directory/ids.txt", "$ids\n");
	append_to_file("$directory/compare.mjs", <<'JAVASCRIPT');
import { readFileSync } from 'node:fs';
import { fromText, sequence, shard, timestamp, toText } from './flakeid.mjs';
const lines = readFileSync('ids.txt', 'utf8').trim().split('\n');
for (const line of lines) {
  const [id, ...told] = line.split('|');
  const read = [timestamp(id).toISOString(), shard(id), sequence(id), toText(id)];
  if (read.join() !== told.join() || fromText(told[3]) !== id) console.log(line, read);
}
for (const id of ['-1', '-9223372036854775808', '0'])
  if (fromText(toText(id)) !== id) console.log(id);
for (const text of ['', 'no id!', 'zzzzzzzzzzz'])
  try { console.log(fromText(text)); } catch (error) { if (!(error instanceof RangeError)) throw error; }
console.log(lines.length);
JAVASCRIPT
	is(output_of('ids are compared', $directory, 'node', 'compare.mjs'),
		1000, 'the module agrees with the database');
};


# The libraries

build_client();
foreach my $page (qw(node-postgres postgres-js knex kysely sequelize typeorm drizzle express))
{
	subtest $page => sub {
		my $directory = PostgreSQL::Test::Utils::tempdir($page);

		fresh_app(statements_of($page));
		programs_work($page, $directory);
		drizzle_kit($directory) if $page eq 'drizzle' && $has_all;
	};
}

sub drizzle_kit
{
	my ($directory) = @_;
	my @kit = ("$bin/drizzle-kit");
	my $pull = sub {
		my ($name) = @_;

		append_to_file("$directory/$name.config.ts",
			slurp_file("$directory/drizzle.config.ts") =~
			  s{schema: './schema.ts'}{out: './$name'}r);
		output_of("pull: $name", $directory, @kit, 'pull', "--config=$name.config.ts");
		return slurp_file("$directory/$name/schema.ts");
	};

	like(output_of('push finds the tables', $directory, @kit, 'push'),
		qr/No changes detected/, 'and has nothing to change');
	like($pull->('own'), qr/id: bigint\(\{ mode: "number" \}\)/,
		'pull writes numbers');
	unlike(slurp_file("$directory/own/schema.ts"), qr/flake_(?:leases|default|stat)/,
		'and leaves flakeid alone');

	$node->safe_psql('app',
		'DROP EXTENSION flakeid CASCADE; CREATE EXTENSION flakeid SCHEMA public');
	append_to_file("$directory/public.ts",
		slurp_file("$directory/schema.ts") =~ s/\bids\.//gr);
	append_to_file("$directory/public.config.ts",
		slurp_file("$directory/drizzle.config.ts") =~ s{schema\.ts}{public.ts}r);
	my ($ok, $out, $err) = run_in($directory, @kit, 'push', '--config=public.config.ts', '--force');
	like("$out$err", qr/2BP01/, 'push: in public, the extension is in the way');
	is($node->safe_psql('app', 'SELECT count(*) FROM pg_attrdef WHERE adrelid = \'album\'::regclass'),
		0, 'and nothing is applied');
	like($pull->('all'), qr/flake_leases.*flake_default|flake_default.*flake_leases/s,
		'pull: in public, the extension is in the schema file');
	return;
}

SKIP:
{
	skip 'Prisma is only run by make test JAVASCRIPT=all', 1 unless $has_all;

	subtest 'prisma' => sub {
		my $directory = PostgreSQL::Test::Utils::tempdir('prisma');

		fresh_app(statements_of('prisma'));
		symlink "$packages/node_modules", "$directory/node_modules"
		  or die "$directory: $!";
		write_files('prisma', $directory);
		output_of('generate', $directory, "$bin/prisma", 'generate');
		program_works('app.ts', $directory, 'prisma');

		# With the preview feature, one query has JSON of the children.
		my $schema = slurp_file("$directory/schema.prisma") =~
		  s/(provider = "prisma-client"\n)/$1  previewFeatures = ["relationJoins"]\n/r;
		unlink "$directory/schema.prisma";
		append_to_file("$directory/schema.prisma", $schema);
		my $app = slurp_file("$directory/app.ts") =~
		  s/findUnique\(\{ where: \{ id: album.id \},/$& relationLoadStrategy: 'join',/r;
		append_to_file("$directory/joins.ts", $app);
		$node->safe_psql('app', 'TRUNCATE "Album", "Song"');
		output_of('generate', $directory, "$bin/prisma", 'generate');
		program_works('joins.ts', $directory, 'prisma, by joins');
	};
}

$node->stop;
done_testing();
