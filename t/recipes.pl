# Copyright (c) 2026, the flakeid developers

# The recipes in docs/recipes work.  Their blocks of code are run with the real
# programs, and do what the pages say.  A block whose first line is a comment with a
# file's name is that file.  Programs that are not installed are left out.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";

use FlakeDoc;
use FlakeRecipe;
use FlakeTest;
use IPC::Run;
use PostgreSQL::Test::Utils;
use Test::More;

my $pages = "$FindBin::RealBin/../docs/recipes";
my (@tried, @left_out);

my $node = start_server('recipes');
my $user = $node->safe_psql('postgres', 'SELECT current_user');

# For the programs, as it would be for their users.
local @ENV{qw(PGHOST PGPORT PGUSER)} = ($node->host, $node->port, $user);
delete local @ENV{qw(PGDATABASE PGAPPNAME PGOPTIONS)};


# Running things

sub shell
{
	my ($name, $directory, $text) = @_;

	return output_of($name, $directory, 'bash', '-euc', $text);
}

# The first of these commands that can run what follows them.
sub first_working
{
	my ($candidates, @arguments) = @_;

	foreach my $candidate (@$candidates)
	{
		my ($out, $err);
		my $ok = eval {
			IPC::Run::run([ $candidate, @arguments ],
				'<', '/dev/null', '>', \$out, '2>', \$err);
		};

		return $candidate if $ok;
	}
	return undef;
}

# A page's test.  $ready says whether its programs are there, and $version how to
# ask them for their version.
sub recipe
{
	my ($page, %how) = @_;

	push @tried, $page;
	unless ($how{ready})
	{
		push @left_out, "$page ($how{packages})";
		note("$page: not installed: $how{packages}");
		return;
	}
	subtest $page => sub {
		my ($ok, $version) = run_in('/', @{ $how{version} });

		note("$page: $version");
		$how{test}->(PostgreSQL::Test::Utils::tempdir('recipe'), $version);
	};
	return;
}

# Databases

sub fresh_app
{
	my ($server) = @_;

	$server ||= $node;
	$server->safe_psql('postgres',
		'DROP DATABASE IF EXISTS app WITH (FORCE)');
	$server->safe_psql('postgres', 'CREATE DATABASE app');
	return;
}

sub app
{
	my ($sql) = @_;

	return $node->safe_psql('app', $sql);
}

# Runs the blocks of SQL, in psql.
sub run_sql
{
	my ($server, $name, @texts) = @_;
	my ($status, $out, $err) = $server->psql(
		'app', join("\n", 'SET client_min_messages = warning;', @texts),
		extra_params => [ '-v', 'VERBOSITY=verbose' ],
		on_error_stop => 1);

	is($err, '', $name);
	return $out;
}

# A database with the tables of the page psql.
sub app_with_tables
{
	fresh_app();
	run_sql($node, 'the tables of psql', named_tables());
	return;
}

sub named_tables
{
	my ($first) = blocks_of('psql', 'sql');

	return grep { /^CREATE/ } split /(?<=;)\n/, $first->{text};
}

sub default_is_flakeid
{
	my (@tables) = @_;

	foreach my $table (@tables)
	{
		is( app(    'SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef'
				  . " WHERE adrelid = '$table'::regclass AND adnum = 1"),
			'flake_id(5)',
			"the default of $table is flakeid's");
		is( app("SELECT DISTINCT format_type(atttypid, null) FROM pg_attribute"
				  . " WHERE attrelid = '$table'::regclass AND attname = 'id'"
			),
			'bigint',
			"the id of $table is a bigint");
	}
	return;
}

# What a program printed is the id of that row, every digit of it.
sub is_id_of
{
	my ($id, $table, $name) = @_;

	is( $id,
		app("SELECT id FROM $table WHERE name = '$name'"),
		"the program has the id that the database has made");
	is(app("SELECT flake_shard($id)"), 5, 'it is of shard 5');
	return;
}


recipe(
	'psql',
	ready => 1,
	version => [ 'psql', '--version' ],
	test => sub {
		my ($directory) = @_;

		fresh_app();
		run_sql(
			$node,
			'blocks of SQL',
			map { $_->{text} } blocks_of('psql', 'sql'));
		is(app('SELECT count(*) FROM photo'), 4, 'rows from INSERT and COPY');

		my ($watch) = blocks_of('psql', 'psql');
		my $output = '';

		append_to_file("$directory/watch.sql", $watch->{text});
		my $run = IPC::Run::start(
			[
				'psql', '-XAt',
				'-f', "$directory/watch.sql",
				'-d', $node->connstr('app')
			],
			'<',
			'/dev/null',
			'>',
			\$output,
			IPC::Run::timeout($PostgreSQL::Test::Utils::timeout_default));
		$run->pump until $output =~ /^5\|\d+\|.*^5\|\d+\|/ms;
		$run->kill_kill;
		pass('\watch shows what is minted, again and again');

		my ($shell) = blocks_of('psql', 'sh');
		is(shell('in a shell script', $directory, $shell->{text}),
			'shard 5', 'the shard by arithmetic of the shell');
		is(app("SELECT count(*) FROM photo WHERE name = 'clouds'"),
			1, 'an id survives the way through the shell');
	});

recipe(
	'pgbench',
	ready => 1,
	version => [ 'pgbench', '--version' ],
	test => sub {
		my ($directory) = @_;

		app_with_tables();
		write_files('pgbench', $directory);
		my ($shell) = blocks_of('pgbench', 'sh');
		my $output = shell('pgbench', $directory, $shell->{text});

		my @done = $output =~ m{actually processed: (\d+/\d+)}g;
		is("@done", '1600/1600 1600/1600', 'all transactions were done');
		is( app('SELECT count(*), count(DISTINCT id), min(flake_shard(id)),'
				  . ' max(flake_shard(id)) FROM photo'),
			'1600|1600|5|5',
			'as many rows, all of shard 5');
		is( app(    'SELECT count(*) FROM photo AS p JOIN comment AS c'
				  . ' ON c.photo_id = p.id AND c.id > p.id'
				  . ' AND flake_shard(c.id) = flake_shard(p.id)'),
			1600,
			'each with its comment');
	});


# A server that FlakeTest's sessions can connect to.
package Pooler
{

	sub new
	{
		my ($class, $host) = @_;

		return bless { host => $host }, $class;
	}

	sub connstr
	{
		my ($self, $dbname) = @_;

		return "host=$self->{host} port=6432 dbname=$dbname";
	}
}

# The process, which must not outlive a test that dies, either.
my $running;

sub stop_pgbouncer
{
	# What a signal means to it has changed from version to version.
	$running->kill_kill(grace => 5) if $running;
	undef $running;
	return;
}

END
{
	local $?;
	stop_pgbouncer();
}

my $pgbouncer =
  first_working([ 'pgbouncer', '/usr/sbin/pgbouncer' ], '--version');

recipe(
	'pgbouncer',
	ready => $pgbouncer,
	packages => 'pgbouncer',
	version => [ $pgbouncer, '--version' ],
	test => sub {
		my ($directory, $version) = @_;
		my ($major, $minor) = $version =~ /PgBouncer (\d+)\.(\d+)/;
		my $host = PostgreSQL::Test::Utils::tempdir_short;
		my $pooler = Pooler->new($host);

		app_with_tables();
		app('CREATE TABLE minted (id bigint, pid int)');
		run_sql(
			$node,
			'the shard is set',
			map { $_->{text} } blocks_of('pgbouncer', 'sql'));

		# What the page has, at the place where the server is, and what concerns
		# this machine only.
		write_files('pgbouncer', $directory);
		my $ini = slurp_file("$directory/pgbouncer.ini");
		my $port = $node->port;
		$ini =~
		  s{host=/var/run/postgresql port=5432}{host=$ENV{PGHOST} port=$port}
		  or die 'pgbouncer.ini is not what was expected';
		unlink "$directory/pgbouncer.ini";
		append_to_file(
			"$directory/pgbouncer.ini", $ini . qq(
default_pool_size = 2
listen_port = 6432
unix_socket_dir = $host
auth_type = trust
auth_file = $directory/users
admin_users = $user
));
		append_to_file("$directory/users", qq("$user" ""\n));
		my $log = "$PostgreSQL::Test::Utils::tmp_check/pgbouncer.log";
		$running = IPC::Run::start([ $pgbouncer, "$directory/pgbouncer.ini" ],
			'<', '/dev/null', '>&', $log);

		wait_until(
			sub {
				die 'PgBouncer has ended: ' . slurp_file($log)
				  unless $running->pumpable;
				system('pg_isready', '-q', '-d', $pooler->connstr('app')) ==
				  0;
			},
			'PgBouncer accepts connections');

		# Many clients
		append_to_file("$directory/mint.sql",
				'INSERT INTO minted SELECT flake_id(), pg_backend_pid()'
			  . ' FROM generate_series(1, 5)');
		write_files('pgbench', $directory);
		my @pgbench =
		  ('pgbench', '-n', '-h', $host, '-p', 6432, '-c', 20, '-t', 50);
		output_of('20 clients mint in 2 sessions',
			$directory, @pgbench, '-f', 'mint.sql', '-f', 'insert.sql',
			'app');
		is( app('SELECT count(*) - count(DISTINCT id), count(DISTINCT pid) <= 2,'
				  . ' min(flake_shard(id)), max(flake_shard(id)) FROM minted'
			),
			'0|t|5|5',
			'unique: no id twice, all of the shard that the database has set'
		);
		is( app('SELECT count(*) - (SELECT count(*) FROM comment) FROM photo'
			),
			0,
			'each photo has its comment');

		my ($ok, $out, $err) =
		  run_in($directory, @pgbench, '-M', 'prepared', '-f', 'insert.sql',
			'app');
		if ($major > 1 || $minor >= 24)
		{
			ok($ok, 'prepared statements as of 1.24');
		}
		elsif ($minor >= 21)
		{
			output_of('a setting', $directory, 'psql', '-X', '-d',
				$pooler->connstr('pgbouncer'),
				'-c', 'SET max_prepared_statements = 100');
			output_of('prepared statements as of 1.21',
				$directory, @pgbench, '-M', 'prepared', '-f', 'insert.sql',
				'app');
		}
		else
		{
			like(
				$err,
				qr/prepared statement "\w+" (already exists|does not exist)/,
				'no prepared statements before 1.21');
		}

		# What goes from session to session.  While one of the two is held by
		# $other, the others get the second one.
		my ($other, $one, $two) = new_sessions($pooler, 3, 'app');

		value($other, 'BEGIN; SELECT 1');
		value($one, 'SET flakeid.shard = 7');
		is(value($two, 'SELECT flake_shard(flake_id())'),
			7, "SET: somebody else mints the shard");
		value($one, 'PREPARE mint AS SELECT flake_id()');
		my $id = value($one, 'SELECT flake_id(6)');
		is(value($two, 'SELECT flake_last_id()'),
			$id, 'flake_last_id() is of the server\'s session');
		is( value(
				$two,
				'BEGIN; SELECT flake_id(8) IS NULL; SELECT flake_shard(flake_last_id())'
			),
			"f\n8",
			'but in a transaction it is right');

		value($other, 'COMMIT');
		is(value($one, 'SELECT flake_shard(flake_id())'),
			5, 'SET: and who has set it does not');
		is(code($one, 'EXECUTE mint'), '26000', 'PREPARE is forgotten');
		is( value(
				$one,
				'BEGIN; SET LOCAL flakeid.shard = 9; SELECT flake_shard(flake_id()); COMMIT'
			),
			9,
			'SET LOCAL is right');
		is(value($one, 'SELECT flake_shard(flake_id())'),
			5, 'and over with the transaction');
		value($two, 'COMMIT');
		end_session($other, $one, $two);

		# The setting in the connection string
		my @options = (
			'psql',
			'-XAt',
			'-d',
			$pooler->connstr('app') . " options='-cflakeid.shard=9'",
			'-c',
			'SELECT flake_shard(flake_id(5)), flake_shard(flake_id())');

		($ok, $out, $err) = run_in($directory, @options);
		like($err, qr/unsupported startup parameter/, 'options are refused');
		output_of('a setting', $directory, 'psql', '-X', '-d',
			$pooler->connstr('pgbouncer'),
			'-c', q(SET ignore_startup_parameters = 'options'));
		app(q(ALTER DATABASE app SET flakeid.shard = 6));
		output_of('RECONNECT', $directory, 'psql', '-X', '-d',
			$pooler->connstr('pgbouncer'),
			'-c', 'RECONNECT');
		wait_until(
			sub { (run_in($directory, @options))[1] eq '5|6' },
			'the new setting of the database is in force');
		pass(
			'ignored options are dropped, and RECONNECT shows what ALTER DATABASE has set'
		);

		stop_pgbouncer();
	});


# The library of clients/python, which pages of recipes import
local $ENV{PYTHONPATH} = join ':', "$FindBin::RealBin/../clients/python/src",
  $ENV{PYTHONPATH} // ();

# How many rows of photo have ids of one shard that the database does not mint
use constant MINTED_OUTSIDE =>
  'SELECT count(*), count(DISTINCT flake_shard(id)) = 1 FROM photo WHERE flake_shard(id) IN (SELECT shard FROM flake_leases)';

my $python = first_working([ 'python3', '/usr/bin/python3' ],
	'-c', 'import django, psycopg2');

recipe(
	'django',
	ready => $python,
	packages => 'python3-django python3-psycopg2',
	version => [ $python, '-m', 'django', '--version' ],
	test => sub {
		my ($directory) = @_;

		fresh_app();
		output_of('startproject', $directory,
			$python, '-m', 'django', 'startproject', 'mysite', '.');
		foreach my $name ('photos', 'albums')
		{
			output_of("startapp $name",
				$directory, $python, 'manage.py', 'startapp', $name);
			unlink "$directory/$name/models.py";
		}
		write_files('django', $directory);

		# A table that is there already, made by Django
		my $settings = "$directory/mysite/settings.py";
		my $migration = "$directory/albums/migrations/0002_flakeid.py";
		my $model =
			"from django.db import models\n"
		  . "from photos.fields import FlakeField\n"
		  . "class Album(models.Model):\n    name = models.TextField()\n";
		append_to_file($settings, "INSTALLED_APPS += ['albums']\n");
		append_to_file("$directory/albums/models.py",
				$model
			  . "class Song(models.Model):\n"
			  . "    album = models.ForeignKey(Album, on_delete=models.CASCADE)\n"
		);
		rename $migration, "$migration.later" or die "$migration: $!";
		output_of('makemigrations, as ever',
			$directory, $python, 'manage.py', 'makemigrations', 'albums');
		output_of('migrate, as ever',
			$directory, $python, 'manage.py', 'migrate', 'albums');
		app(    'INSERT INTO albums_album (name) VALUES (\'old\');'
			  . ' INSERT INTO albums_song (album_id) SELECT id FROM albums_album'
		);
		(my $changed = slurp_file("$directory/albums/models.py")) =~
		  s/(Album.*\n)/$1    id = FlakeField(primary_key=True, shard=5)\n/;
		unlink "$directory/albums/models.py";
		append_to_file("$directory/albums/models.py", $changed);
		rename "$migration.later", $migration or die "$migration: $!";

		my ($shell) = blocks_of('django', 'sh');
		shell('makemigrations, migrate',
			$directory, $shell->{text} =~ s/\bpython3\b/$python/gr);
		default_is_flakeid('photos_photo', 'photos_comment', 'albums_album');
		like(slurp_file((glob "$directory/photos/migrations/0002*.py")[0]),
			qr/FlakeField\(.*shard=5/, 'the migration has the shard');
		is( output_of(
				'makemigrations --check', $directory,
				$python, 'manage.py',
				'makemigrations', '--check',
				'--dry-run'),
			'No changes detected',
			'models and migrations agree');

		my $output =
		  output_of('the shell', $directory, $python, 'manage.py', 'shell',
			'-c', named('django', 'python3 manage.py shell'));

		like(
			$output,
			qr/^\d+ \['summer', 'autumn', 'winter'\] True$/m,
			'rows in the order of time, with their time');
		like($output, qr/^\w{11} summer$/m, 'found by its text form');
		is_id_of($output =~ /^(\d+) \[/m, 'photos_photo', 'summer');
		is( app('SELECT count(*), min(flake_shard(c.id)) FROM photos_comment AS c'
				  . " JOIN photos_photo AS p ON p.id = photo_id WHERE name = 'summer'"
			),
			'1|5',
			'the comment belongs to it');
		is( app("INSERT INTO albums_album (name) VALUES ('new') RETURNING flake_shard(id)"
			),
			5,
			'the migrated table goes on with ids of flakeid');

		# Which resets sequences
		append_to_file(
			"$directory/photos.json",
			output_of(
				'dumpdata', $directory, $python, 'manage.py',
				'dumpdata', 'photos'));
		output_of(
			'loaddata', $directory, $python, 'manage.py',
			'loaddata', 'photos.json');
		is( app(    "INSERT INTO photos_photo (name) VALUES ('spring')"
				  . ' RETURNING abs(extract(epoch FROM flake_timestamp(id) - now())) < 3600'
			),
			't',
			'loaddata does no harm');

		my $minted = output_of('ids before the INSERT', $directory, $python, 'manage.py',
			'shell', '-c', named('django', 'python3 manage.py shell, with new_id'));
		is($minted, 'of january', 'parents and children at once');
		is(app(MINTED_OUTSIDE =~ s/photo/photos_photo/r), '2|t', 'with ids of a leased shard');
	});


$python = first_working([ 'python3', '/usr/bin/python3' ],
	'-c', 'import sqlalchemy, psycopg2');

recipe(
	'sqlalchemy',
	ready => $python,
	packages => 'python3-sqlalchemy python3-psycopg2 python3-alembic',
	version =>
	  [ $python, '-c', 'import sqlalchemy; print(sqlalchemy.__version__)' ],
	test => sub {
		my ($directory) = @_;

		fresh_app();
		write_files('sqlalchemy', $directory);
		my ($first, $second) =
		  split /\n/, output_of('app.py', $directory, $python, 'app.py');

		default_is_flakeid('photo', 'comment');
		like($first, qr/^\d+ summer 3$/, 'found by id, and by time');
		is_id_of((split / /, $first)[0], 'photo', 'summer');
		is($second, 5, 'the shard, computed by the database');
		is( app("SELECT c.photo_id = p.id FROM comment AS c, photo AS p WHERE name = 'summer'"
			),
			't',
			'the comment belongs to it');

		is( (
				split /\n/,
				output_of('ids before the INSERT', $directory, $python, 'minted.py')
			)[-1],
			"True ['nice', 'very nice']",
			'parents and children at once');
		is(app(MINTED_OUTSIDE), '1|t', 'with ids of a leased shard');

		return unless first_working([$python], '-c', 'import alembic');
		append_to_file("$directory/compare.py", <<'PYTHON');
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from app import Base, engine

exec(open('migrations/env.py').read())
with engine.connect() as connection:
    for options in ({}, {'include_name': include_name}):
        context = MigrationContext.configure(connection, opts=options)
        print([(what[0], str(what[1])) for what in compare_metadata(context, Base.metadata)])
PYTHON
		# It imports app.py, which prints, too.
		my ($without, $with) = (
			split /\n/,
			output_of('Alembic', $directory, $python, 'compare.py')
		)[ -2, -1 ];
		like(
			$without,
			qr/remove_table.*flake_shard_map/,
			"Alembic would drop flakeid's tables");
		is($with, '[]', 'and is told not to');
	});


my $ruby = first_working([ 'ruby', '/usr/bin/ruby' ],
	'-e', "require 'active_record'; require 'pg'");

recipe(
	'rails',
	ready => $ruby,
	packages => 'ruby-activerecord ruby-pg',
	version =>
	  [ $ruby, '-e', "require 'active_record'; puts ActiveRecord.version" ],
	test => sub {
		my ($directory) = @_;

		fresh_app();
		write_files('rails', $directory);
		append_to_file("$directory/console.rb",
			named('rails', 'bin/rails console'));
		# What Rails does around them.
		append_to_file("$directory/run.rb", <<'RUBY');
require 'active_support/all'
require 'active_record'
ActiveRecord::Base.establish_connection(adapter: 'postgresql', database: 'app')
ActiveRecord::Migration.verbose = false
if ARGV[0] == 'schema'
  load './schema.rb'
elsif ARGV[0] == 'reset'
  begin
    ActiveRecord::Base.connection.reset_pk_sequence!('albums')
  rescue ActiveRecord::StatementInvalid => error
    puts error.message
  end
else
  Dir['./db/migrate/*.rb'].each { |file| load file }
  CreatePhotos.new.migrate(:up)
  load './app/models/photo.rb'
  load './console.rb'
  ActiveRecord::Base.connection.reset_pk_sequence!('photos')
  load './config/initializers/flakeid.rb'
  base = ActiveRecord::Base
  source = ActiveRecord.version >= Gem::Version.new('7.2') ? base.connection_pool : base.connection
  File.open('schema.rb', 'w') { |file| ActiveRecord::SchemaDumper.dump(source, file) }
end
RUBY

		my ($first, $json) =
		  split /\n/,
		  output_of('migration, models, console', $directory, $ruby,
			'run.rb');

		default_is_flakeid('photos', 'comments');
		like(
			$first,
			qr/^\d+ summer autumn winter 1$/,
			'found by id, and by time');
		my ($id) = split / /, $first;
		is_id_of($id, 'photos', 'summer');
		is($json, qq({"name":"summer","id":"$id"}), 'as JSON, a string');

		is( app(    "INSERT INTO photos (name) VALUES ('spring')"
				  . ' RETURNING abs(extract(epoch FROM flake_timestamp(id) - now())) < 3600'
			),
			't',
			'reset_pk_sequence! does no harm');
		app(q(
SELECT flake_create_generator('album_id', 'instagram');
CREATE TABLE albums (id bigint PRIMARY KEY DEFAULT flake_id(5, 'album_id'));
ALTER SEQUENCE album_id OWNED BY albums.id;
INSERT INTO albums VALUES (DEFAULT);
));
		like(
			output_of('reset_pk_sequence!, the column owns the generator',
				$directory, $ruby, 'run.rb', 'reset'),
			qr/value \d+ is out of bounds for sequence "album_id"/,
			'resetting it to the largest key is an error');
		app('INSERT INTO albums VALUES (DEFAULT)');

		my $schema = slurp_file("$directory/schema.rb");
		unlike(
			$schema,
			qr/create_table "flake_/,
			"schema.rb leaves flakeid's tables out");
		like(
			$schema,
			qr/create_table "photos".*default: -> \{ "flake_id\(5\)" \}/,
			'and has the default');
		fresh_app();
		output_of('schema.rb', $directory, $ruby, 'run.rb', 'schema');
		default_is_flakeid('photos', 'comments');
	});


# Debian's Node.js finds Debian's modules by itself, others do not.  Named by its path: by
# name Node.js looks in the parents of the directory first.
my ($pg) = grep { -e } map { "$_/pg" } split(/:/, $ENV{NODE_PATH} // ''),
  '/usr/share/nodejs';
my $nodejs =
  defined $pg
  ? first_working([ 'node', '/usr/bin/node' ], '-e', 'require(process.argv[1])', $pg)
  : undef;

recipe(
	'node-postgres',
	ready => $nodejs,
	packages => 'nodejs node-pg',
	version => [
		$nodejs,
		'-p',
		'"pg " + require(process.argv[1] + "/package.json").version + ", node " + process.version',
		$pg
	],
	test => sub {
		my ($directory) = @_;

		app_with_tables();
		write_files('node-postgres', $directory);
		mkdir "$directory/node_modules";
		symlink $pg, "$directory/node_modules/pg"
		  or die "$directory/node_modules/pg: $!";

		my ($first, @rest) =
		  split /\n/, output_of('app.js', $directory, $nodejs, 'app.js');
		my ($id, $json) = split / /, $first;
		my ($ignored, @said) =
		  named('node-postgres', 'app.js') =~ m{^  console.*// (.*)$}mg;

		is_id_of($id, 'photo', 'summer');
		is( $json,
			qq([{"id":"$id","name":"summer"}]),
			'found by time, as a string');
		is("@rest", "@said", 'what becomes of ids in JSON, as BigInt and as text');
		is(app("SELECT photo_id, flake_shard(id) FROM comment"),
			"$id|5", 'the comment belongs to it');
	});


my $jar = '/usr/share/java/postgresql.jar';
my $java =
	 first_working(['java'], '-XX:-UsePerfData', '--list-modules')
  && -r $jar
  && first_working(['javac'], '-J-XX:-UsePerfData', '-version');

recipe(
	'jdbc',
	ready => $java,
	packages => 'libpostgresql-jdbc-java default-jdk-headless',
	version => [
		'sh', '-c',
		"java -XX:-UsePerfData -version 2>&1 | head -n 1; readlink -f $jar"
	],
	test => sub {
		my ($directory) = @_;
		my $port = $node->port;

		# The driver does not do unix sockets.
		local $ENV{PGPASSFILE} = $ENV{PGPASSFILE};
		listen_on_tcp($node);
		$node->restart;
		app_with_tables();
		write_files('jdbc', $directory);

		# It would leave a file in /tmp.
		local $ENV{JDK_JAVA_OPTIONS} = '-XX:-UsePerfData';
		my ($shell) = blocks_of('jdbc', 'sh');
		(my $text = $shell->{text}) =~
		  s{//localhost/app}{//127.0.0.1:$port/app?user=$user}
		  or die 'the URL is not what was expected';
		my $output = shell('App.java', $directory, $text);

		like($output, qr/^\d+ 1$/, 'found by time');
		my ($id) = split / /, $output;
		is_id_of($id, 'photo', 'summer');
		is(app("SELECT photo_id, flake_shard(id) FROM comment"),
			"$id|5", 'the comment belongs to it');
		$node->append_conf('postgresql.conf', q(listen_addresses = ''));
		$node->restart;
	});


# Debian's packages of Go are sources, which lie here.
my $gopath = '/usr/share/gocode';

recipe(
	'go',
	ready => -d "$gopath/src/github.com/jackc/pgx/v4"
	  && first_working(['go'], 'version'),
	packages => 'golang-go golang-github-jackc-pgx-v4-dev',
	version => [ 'go', 'version' ],
	test => sub {
		my ($directory) = @_;

		app_with_tables();
		write_files('go', $directory);

		local $ENV{GOCACHE} = "$directory/cache";
		my ($shell) = blocks_of('go', 'sh');
		my @lines = split /\n/, shell('app.go', $directory, $shell->{text});

		like(
			shift @lines,
			qr/^\{"id":"\d+","name":"summer"\} 1$/,
			'an id in JSON is a string; found by time');
		is(shift @lines, '11 summer true',
			'found by its text; a text that is no id is 22P02');
		my $id = app('SELECT id FROM photo');
		is(app("SELECT photo_id, flake_shard(id) FROM comment"),
			"$id|5", 'the comment belongs to it');
	});


recipe(
	'pg_dump',
	ready => 1,
	version => [ 'pg_dump', '--version' ],
	test => sub {
		my ($directory) = @_;
		my ($database, $table) = blocks_of('pg_dump', 'sh');

		app_with_tables();
		# Ahead of the clock
		app(q(
SELECT flake_create_generator('invoice_id', 'snowflake');
SELECT flake_ids(5, 5000000) LIMIT 1;
INSERT INTO photo (name) VALUES ('summer');
));
		my $largest = app('SELECT max(id) FROM photo');

		shell('dump and restore', $directory, $database->{text});
		is( $node->safe_psql(
				'app_restored', q(SELECT flake_horizon('flake_default'))),
			app(q(SELECT flake_horizon('flake_default'))),
			'how far ids have gone has come along');
		is( $node->safe_psql('app_restored', "SELECT flake_id(5) > $largest"),
			't',
			'and they go on above');
		is( $node->safe_psql(
				'app_restored', q(SELECT flake_layout_of('invoice_id'))),
			app(q(SELECT 'snowflake'::flake_layout)),
			'a generator has its layout');
		shell('a table', $directory, $table->{text});
		is( $node->safe_psql(
				'app_photo',
				"INSERT INTO photo (name) VALUES ('autumn') RETURNING id > $largest"
			),
			't',
			'ids go on above the rows');
		is( $node->safe_psql(
				'app_photo', 'SELECT after FROM flake_shards WHERE shard = 5'
			),
			$largest,
			'whatever the clock says');
		$node->safe_psql('postgres', "DROP DATABASE $_")
		  foreach 'app_restored', 'app_photo';
	});


recipe(
	'pg_upgrade',
	ready => 1,
	version => [ 'pg_upgrade', '--version' ],
	test => sub {
		# pg_upgrade has its sockets in the current directory.
		my $directory = PostgreSQL::Test::Utils::tempdir_short;
		my ($block) = blocks_of('pg_upgrade', 'sh');
		my $bin = $node->config_data('--bindir');
		my $start = sub {
			my ($data, $what) = @_;

			output_of(
				"the server of $data: $what",
				$directory,
				'pg_ctl',
				$what,
				'--silent',
				'--wait',
				"--pgdata=$directory/$data",
				"--log=$directory/log",
				$what eq 'stop'
				? ()
				: ('-o', "-c listen_addresses= -k $directory"));
		};

		delete local $ENV{PGPORT};
		local $ENV{PGHOST} = $directory;
		local @ENV{qw(old_bin new_bin old_data new_data)} =
		  ($bin, $bin, 'old', 'new');
		output_of('initdb', $directory, 'initdb', '--pgdata=old');
		$start->('old', 'start');
		my @psql = ('psql', '-qAtX', '-d', 'postgres', '-c');
		my $horizon = output_of(
			'minting', $directory, @psql, q(
CREATE EXTENSION flakeid;
CREATE TABLE photo (id bigint PRIMARY KEY DEFAULT flake_id(5), name text);
INSERT INTO photo (name) VALUES ('summer');
SELECT flake_horizon('flake_default');
));
		$start->('old', 'stop');
		shell('pg_upgrade', $directory, $block->{text});
		$start->('new', 'start');
		is( output_of(
				'the horizon', $directory,
				@psql, "SELECT flake_horizon('flake_default')"),
			$horizon,
			'how far ids have gone has come along');
		is( output_of(
				'minting again',
				$directory,
				@psql,
				"INSERT INTO photo (name) VALUES ('autumn') RETURNING id > (SELECT id FROM photo)"
			),
			't',
			'and they go on above');
		$start->('new', 'stop');
	});


recipe(
	'logical-replication',
	ready => 1,
	version => [ 'postgres', '--version' ],
	test => sub {
		my $publisher = start_server('publisher', allows_streaming => 'logical');
		my $address = $publisher->connstr =~ s/'//gr;
		my $photos =
		  "SELECT string_agg(id || name, ' ' ORDER BY id) FROM photo";

		my $block = sub {
			my ($name) = @_;
			my @found = grep { $_->{text} =~ /\A-- on the \Q$name\E$/m }
			  blocks_of('logical-replication', 'sql');

			die "docs/recipes/logical-replication.md: $name?" if @found != 1;
			return $found[0]{text} =~ s/host=publisher/$address/r;
		};
		my $set_up = sub {
			fresh_app($_) foreach $publisher, $node;
			run_sql(
				$publisher,
				'the publisher',
				$block->('publisher, with wal_level = logical'));
			run_sql($node, 'the subscriber', $block->('subscriber'));
			$node->wait_for_subscription_sync($publisher, 'photos', 'app');
		};

		$set_up->();
		is( app($photos),
			$publisher->safe_psql('app', $photos),
			'ids arrive as they are');
		is( app("INSERT INTO photo (name) VALUES ('here') RETURNING flake_shard(id)"
			),
			6,
			'ids of rows added on the subscriber are of its own shard');

		my $bound =
		  run_sql($publisher, 'planned', $block->('publisher, planned'));
		my $stopped =
		  $publisher->psql('app', "INSERT INTO photo (name) VALUES ('late')");
		isnt($stopped, 0, 'the publisher mints the shard no more');
		$publisher->wait_for_catchup('photos');
		(   my $text = $block->(
				'subscriber, planned, when the last change has arrived')
		) =~ s/\d{19}/$bound/ or die 'there is no bound in the block';
		run_sql($node, 'the subscriber takes over', $text);
		is( app("INSERT INTO photo (name) VALUES ('next') RETURNING flake_shard(id), id > $bound"
			),
			'5|t',
			'and goes on above');
		app('DROP SUBSCRIPTION photos');

		# The publisher's ids are ahead of the clock when it is lost.
		$set_up->();
		$publisher->safe_psql(
			'app', q(
SELECT flake_ids(5, 5000000) LIMIT 1;
INSERT INTO photo (name) VALUES ('the last');
));
		$publisher->wait_for_catchup('photos');
		my $largest =
		  $publisher->safe_psql('app', 'SELECT max(id) FROM photo');
		$publisher->stop('immediate');
		run_sql(
			$node,
			'the publisher is lost',
			$block->('subscriber, the publisher being lost'));
		is( app("INSERT INTO photo (name) VALUES ('next') RETURNING flake_shard(id), id > $largest"
			),
			'5|t',
			'the subscriber goes on above the largest that arrived');
		is(app('SELECT after FROM flake_shards WHERE shard = 5'),
			$largest, 'whatever the clock says');
	});


# t/ha.pl tries what is on the page about Patroni, t/docs.pl the one that is all SQL, and
# t/javascript.pl those of libraries for JavaScript.  Two say that they are not run.
my %is_elsewhere = map { $_ => 1 }
  qw(README patroni prefixed-ids express postgres-js knex kysely sequelize typeorm drizzle prisma hibernate dotnet);
is( "@{[sort @tried]}",
	join(' ', sort grep { !$is_elsewhere{$_} } map { m{/([^/]+)\.md\z} } glob "$pages/*.md"),
	'each page has its test');
diag('recipes that were not tried, for want of packages: ' . join '; ',
	@left_out)
  if @left_out;
$node->stop;
done_testing();
