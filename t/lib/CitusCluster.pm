# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

CitusCluster - a coordinator and workers of Citus for a test

=head1 SYNOPSIS

  use CitusCluster;

  plan skip_all => 'Citus is not installed' unless has_citus();
  my $coordinator = start_citus_node('coordinator');
  my $worker = start_citus_node('worker');

  add_node($coordinator, $coordinator);    # the coordinator itself comes first
  add_node($coordinator, $worker);
  run_on($coordinator, $worker, 'SELECT citus_remove_node(%s)');

  new_database('other', $coordinator, $worker);

=cut

package CitusCluster;

use strict;
use warnings;

use Exporter 'import';
use FlakeServer;

our @EXPORT = qw(
  add_node
  address
  has_citus
  new_database
  run_on
  start_citus_node
);

=pod

=head1 FUNCTIONS

=over

=item has_citus()

Whether the extension is installed.

=cut

sub has_citus
{
	my $directory = `pg_config --pkglibdir`;

	chomp $directory;
	return -e "$directory/citus.so";
}

=pod

=item start_citus_node($name, $conf)

Makes and starts a server with extension citus in database postgres. It is not yet
part of a cluster. Nodes talk to each other over TCP. With kill9_and_wait() it can
be killed, and started again with start_with_clock().

=cut

sub start_citus_node
{
	my ($name, $conf) = @_;

	return start_server(
		$name,
		clock            => new_clock(),
		allows_streaming => 'logical',
		tcp              => 1,
		sql              => 'CREATE EXTENSION citus',
		conf             => q(
shared_preload_libraries = 'citus'
citus.node_conninfo = 'sslmode=disable'
citus.enable_statistics_collection = off
citus.max_background_task_executors_per_node = 1
citus.defer_shard_delete_interval = 1s
citus.recover_2pc_interval = 2s
max_connections = 100
max_prepared_transactions = 100
max_wal_senders = 20
max_replication_slots = 20
shared_buffers = 32MB
timezone = 'UTC'
datestyle = 'ISO, MDY'
lc_messages = 'C'
) . ($conf // ''));
}

=pod

=item address($node)

Its host and port as arguments of Citus's functions.

=cut

sub address
{
	my ($node) = @_;

	return "'127.0.0.1', " . $node->port;
}

=pod

=item run_on($coordinator, $node, $sql)

Runs SQL on the coordinator in which %s is the address of the node.  Returns what
safe_psql does.

=cut

sub run_on
{
	my ($coordinator, $node, $sql) = @_;

	return $coordinator->safe_psql('postgres', $sql =~ s/%s/address($node)/ger);
}

=pod

=item add_node($coordinator, $node)

Adds the node to the cluster.

=cut

sub add_node
{
	my ($coordinator, $node) = @_;

	return run_on($coordinator, $node,
		$node == $coordinator
		? 'SELECT citus_set_coordinator_host(%s)'
		: 'SELECT citus_add_node(%s)');
}

=pod

=item new_database($name, $coordinator, @workers)

Makes a database on all of them, and a cluster in it.

=back

=cut

sub new_database
{
	my ($name, $coordinator, @workers) = @_;

	foreach my $node ($coordinator, @workers)
	{
		$node->safe_psql('postgres', "CREATE DATABASE $name");
		$node->safe_psql($name,      'CREATE EXTENSION citus');
	}
	$coordinator->safe_psql($name,
		"SELECT citus_set_coordinator_host(${\address($coordinator)})");
	$coordinator->safe_psql($name, "SELECT citus_add_node(${\address($_)})")
	  foreach @workers;
	return;
}

1;
