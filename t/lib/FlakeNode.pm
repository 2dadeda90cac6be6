# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeNode - the client library for Node.js, built where tests can use it

=head1 SYNOPSIS

  use FlakeNode;

  plan skip_all => 'the packages of npm are not installed' unless node_packages();
  my $client = build_client();
  local $ENV{DATABASE_URL} = database_url($node, 'postgres');
  system('node', "$client/test/minter.mjs", ...);

=cut

package FlakeNode;

use strict;
use warnings;

use Exporter 'import';
use Fcntl ':flock';
use FindBin;
use FlakeRecipe;

our @EXPORT = qw(
  node_packages
  build_client
  database_url
);

=pod

=head1 FUNCTIONS

=over

=item node_packages()

The directory whose node_modules has the packages of t/javascript/package.json, which
tools/run installs; nothing if it has not.

=cut

sub node_packages
{
	return $ENV{JAVASCRIPT_PACKAGES};
}

=pod

=item build_client()

Builds clients/node, once for all tests that run at a time, and makes it one of the
packages.  Returns its directory.  Dies if it cannot be built.

=cut

sub build_client
{
	my $packages = node_packages();
	my $client = "$FindBin::RealBin/../clients/node";

	open my $lock, '>>', "$packages/client.lock"
	  or die "$packages/client.lock: $!";
	flock $lock, LOCK_EX or die "$packages/client.lock: $!";
	unless (-s $lock)
	{
		unlink "$client/node_modules";
		symlink "$packages/node_modules", "$client/node_modules"
		  or die "$client/node_modules: $!";
		my ($ok, $out, $err) = run_in($client, 'node', 'build.mjs');
		die "clients/node cannot be built:\n$out\n$err" unless $ok;

		mkdir "$packages/node_modules/\@flakeid";
		symlink $client, "$packages/node_modules/\@flakeid/client"
		  or die "\@flakeid/client: $!";
		print $lock "built\n";
	}
	close $lock;
	return $client;
}

=pod

=item database_url($node, $database)

The connection string of a server's database, as URI.

=back

=cut

sub database_url
{
	my ($node, $database) = @_;
	my $user = $node->safe_psql('postgres', 'SELECT current_user');

	return "postgresql://$user\@localhost/$database?host="
	  . ($node->host =~ s{/}{%2F}gr)
	  . '&port=' . $node->port;
}

1;
