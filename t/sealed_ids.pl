# Copyright (c) 2026, the flakeid developers

# Sealed ids are those of other implementations of FF1.  A named key is in no log and no
# dump of others; a new version of it counts in all sessions at once.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeDoc;
use FlakeTest;
use IPC::Run ();
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('main', sql => 'CREATE EXTENSION flakeid', conf => q(
log_statement = 'all'
log_min_messages = debug2
));

# FF1 with radix 2 and 64 numerals, as the standard has it, with AES by the program openssl.
sub aes
{
	my ($key, $block) = @_;
	my $bits = 8 * length $key;
	my $encrypted;

	IPC::Run::run(
		[ 'openssl', 'enc', "-aes-$bits-ecb", '-nopad', '-K', unpack('H*', $key) ],
		'<', \$block, '>', \$encrypted)
	  or die 'openssl failed';
	return $encrypted;
}

sub ff1
{
	my ($key, $id) = @_;
	my ($left, $right) = unpack 'N2', pack('q>', $id);
	my $start = aes($key, pack('C8 N2', 1, 2, 1, 0, 0, 2, 10, 32, 64, 0));

	foreach my $round (0 .. 9)
	{
		my $block = aes($key, $start ^ pack('x11 C N', $round, $right));

		# The first eight bytes modulo 2^32
		my (undef, $low) = unpack 'N2', $block;
		($left, $right) = ($right, ($left + $low) % 2**32);
	}
	return unpack 'q>', pack('N2', $left, $right);
}

SKIP:
{
	skip 'no program openssl', 1 if system('openssl version >/dev/null 2>&1') != 0;
	my (@ours, @theirs);

	foreach my $bytes (16, 24, 32)
	{
		my $key = join '', map { chr int rand 256 } 1 .. $bytes;
		foreach my $id (4035280290552217599, -int rand 2**62)
		{
			push @ours, $node->safe_psql('postgres',
				sprintf "SELECT flake_seal(%s, '\\x%s'::bytea)", $id, unpack('H*', $key));
			push @theirs, ff1($key, $id);
		}
	}
	is_deeply(\@ours, \@theirs, 'as by FF1 in Perl');
}

# The page's example in another language
SKIP:
{
	my ($program) = grep { /createCipheriv/ } map { $_->{text} }
	  grep { $_->{language} eq 'js' } blocks("$FindBin::RealBin/../docs/sealed-ids.md");
	my $file = PostgreSQL::Test::Utils::tempdir() . '/unseal.js';

	ok($program, 'the page has an example for Node.js');
	skip 'no Node.js', 1 if system('node --version >/dev/null 2>&1') != 0;
	append_to_file($file, $program);
	my $key = 'f' x 64;
	my @public = split /\n/, $node->safe_psql('postgres', qq{
		CREATE SERVER page FOREIGN DATA WRAPPER flake_key;
		CREATE USER MAPPING FOR CURRENT_USER SERVER page OPTIONS (key_7 '$key');
		SELECT flake_seal_text(id, 'page') FROM unnest('{11637205501278089,0,-1,9223372036854775807}'::bigint[]) AS id});
	my ($stdout, $stderr) = run_command([ 'node', '-e',
		"const { unseal } = require('$file');"
		  . "for (const id of process.argv.slice(1)) console.log(String(unseal(id, { 7: '$key' })))",
		@public ]);
	is("$stdout$stderr", "11637205501278089\n0\n-1\n9223372036854775807", 'Node.js reads what was sealed');
}

# Keys of a role
$node->safe_psql('postgres', q{
	CREATE ROLE app LOGIN;
	CREATE ROLE backup LOGIN IN ROLE pg_read_all_data;
	CREATE SERVER orders FOREIGN DATA WRAPPER flake_key;
	GRANT USAGE ON FOREIGN SERVER orders TO app;
	SELECT flake_add_key('orders', 'app');
});
my ($app, $other) = map {
	my $session = new_session($node, 'postgres');
	ask($session, 'SET SESSION AUTHORIZATION app');
	$session
} 1 .. 2;
my $public_id = value($app, "SELECT flake_seal_text(5, 'orders')");

like($public_id, qr/^1-\w{11}$/, 'a version and a number');
is(value($other, "SELECT flake_unseal_text('$public_id', 'orders')"), 5, 'read in another session');

# Of two at once, the second waits, and adds another version.
ask($app, 'BEGIN');
is(value($app, "SELECT flake_add_key('orders')"), 2, 'a version is added');
like(value($other, "SELECT flake_seal_text(5, 'orders')"), qr/^1-/, 'it does not count before it is committed');
send_query($other, "SELECT flake_add_key('orders')");
wait_for_waiters($node, 1);
is($node->safe_psql('postgres', q{SET lock_timeout = '5s'; SELECT flake_add_key('orders', 'backup')}),
	1, 'those of other roles are added meanwhile');
ask($app, 'COMMIT');
is((get_answer($other))[0], 3, 'one that was added at the same time is another');
like(value($app, "SELECT flake_seal_text(5, 'orders')"), qr/^3-/, 'it counts in all sessions');
is(value($app, "SELECT flake_unseal_text('$public_id', 'orders')"), 5, 'what was sealed before is read');

# Without USAGE, in an open session
$node->safe_psql('postgres', 'REVOKE USAGE ON FOREIGN SERVER orders FROM app');
is(code($app, "SELECT flake_seal(5, 'orders')"), '42501', 'without USAGE no more');
$node->safe_psql('postgres', 'GRANT USAGE ON FOREIGN SERVER orders TO app');

# Who can see the keys
my ($options) = $node->safe_psql('postgres',
	q(SELECT umoptions FROM pg_user_mappings WHERE usename = 'app'));
my @keys = $options =~ /key_\d=([0-9a-f]{64})/g;
my ($dump, $dump_of_backup) = map {
	my ($stdout) = run_command([ 'pg_dump', '-d', $node->connstr('postgres'), '-U', $_ ]);
	$stdout
} $node->safe_psql('postgres', 'SELECT current_user'), 'backup';

is(scalar @keys, 3, 'three keys');
is(scalar(grep { $dump =~ /$_/ } @keys), 3, 'they are in a dump by a superuser');
like($dump_of_backup, qr/CREATE USER MAPPING FOR app SERVER orders/, 'others can dump');
is(scalar(grep { $dump_of_backup =~ /$_/ } @keys), 0, 'and do not get the keys');
ask($app, "SELECT flake_seal(5, 'no_such_key')");
is(scalar(grep { slurp_file($node->logfile) =~ /$_/ } @keys), 0, 'no key is in the log');

# A dump restores what reads sealed ids.
$node->safe_psql('postgres', 'CREATE DATABASE restored');
$node->safe_psql('restored', $dump);
is( $node->safe_psql('restored', "SET ROLE app; SELECT flake_unseal_text('$public_id', 'orders')"),
	5, 'a restored database reads what was sealed');

end_session($_) foreach $app, $other;
$node->stop;
done_testing();
