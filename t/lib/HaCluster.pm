# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

HaCluster - for t/ha.pl: PostgreSQL servers under Patroni, which agree by etcd who
is the primary

=head1 SYNOPSIS

  my $cluster = HaCluster->start($yaml, a => 0, b => -60, c => 14);

  $cluster->wait_until_healthy;
  $cluster->kill_postmaster($cluster->leader);
  $cluster->stop;

=head1 DESCRIPTION

All of it listens on ports of 127.0.0.1 with passwords, has its files in a
temporary directory, and is gone when the program ends.  The clock that a
PostgreSQL server sees is as many seconds off as is said at the start.  Patroni
and etcd see the real one.

The configuration is that of docs/recipes/patroni.md, but for names, places,
addresses, passwords and what is to be quicker here.

=cut

package HaCluster;

use strict;
use warnings;

use FlakeServer;
use FlakeWire;
use HTTP::Tiny;
use JSON::PP;
use MIME::Base64 ();
use POSIX        ();
use PostgreSQL::Test::Cluster;
use PostgreSQL::Test::Utils;
use Time::HiRes qw(usleep);

my $user = getpwuid $>;
my $host = '127.0.0.1';

# Whatever happens to the test, they end with it.
my $controller = $$;
my @clusters;

END
{
	local $?;
	$_->stop foreach $$ == $controller ? @clusters : ();
}

=pod

=head1 FUNCTIONS

=over

=item HaCluster::missing()

Which programs, with their packages, are not there.

=cut

sub missing
{
	my %package = (patroni => 'patroni', etcd => 'etcd-server');

	return map { "$_ (package $package{$_})" }
	  grep { !find_program($_) } sort keys %package;
}

sub find_program
{
	my ($name) = @_;

	return (grep { -x } map { "$_/$name" } split /:/, $ENV{PATH})[0];
}

sub run_in_background
{
	my ($directory, $log, @command) = @_;
	my $pid = fork;

	die "fork: $!" unless defined $pid;
	return $pid if $pid;
	chdir $directory;
	open STDIN, '<', '/dev/null';
	open STDOUT, '>>', $log;
	open STDERR, '>&', \*STDOUT;
	exec { $command[0] } @command or POSIX::_exit(127);
}

=pod

=item HaCluster->start($yaml, $name => $seconds, ...)

Starts etcd and the nodes of these names, whose clocks are so many seconds off.
$yaml is the configuration of a node called db1.  Returns when all replicate.

=cut

sub start
{
	my ($class, $yaml, %offset) = @_;
	my $self = bless {
		yaml => $yaml,
		directory => PostgreSQL::Test::Utils::tempdir_short(),
		log => $PostgreSQL::Test::Utils::log_path,
		password => join('', map { ('a' .. 'z')[ rand 26 ] } 1 .. 20),
		http => HTTP::Tiny->new(timeout => 30),
		nodes => {}
	  },
	  $class;

	push @clusters, $self;
	$self->start_etcd;
	my $number = 0;
	foreach my $name (sort keys %offset)
	{
		$self->{nodes}{$name} =
		  $self->new_node($name, $offset{$name}, ++$number);
	}
	foreach my $name (sort keys %offset)
	{
		# One makes the cluster, so that it is the same one each time.
		$self->start_patroni($name);
		wait_until(sub { defined $self->leader }, 'there is a leader');
	}
	$self->wait_until_healthy;
	return $self;
}

sub start_etcd
{
	my ($self) = @_;
	my $directory = "$self->{directory}/etcd";
	my ($client, $peer) =
	  map { "http://$host:" . PostgreSQL::Test::Cluster::get_free_port() }
	  1 .. 2;

	mkdir $directory, 0700 or die "$directory: $!";
	$self->{etcd} = $client;
	$self->{etcd_pid} = run_in_background(
		$directory,
		"$self->{log}/etcd.log",
		find_program('etcd'),
		'--name=ha',
		'--enable-v2',
		"--data-dir=$directory/data",
		"--listen-client-urls=$client",
		"--advertise-client-urls=$client",
		"--listen-peer-urls=$peer",
		"--initial-advertise-peer-urls=$peer",
		"--initial-cluster=ha=$peer");

	wait_until(sub { $self->request('GET', "$client/version") },
		'etcd answers');
	return;
}

# What the server returns, or undef if that is an error.
sub request
{
	my ($self, $method, $url, $content, %headers) = @_;
	my $response = $self->{http}->request(
		$method, $url,
		{
			headers => { 'Content-Type' => 'application/json', %headers },
			content => defined $content ? encode_json($content) : ''
		});

	$self->{last_response} = "$response->{status} $response->{content}";
	return undef unless $response->{success};
	my $decoded = eval { decode_json($response->{content}) };
	return defined $decoded ? $decoded : $response->{content};
}

# The directory of a node, with programs that see its clock.
sub new_node
{
	my ($self, $name, $offset, $number) = @_;
	my $directory = "$self->{directory}/$name";
	my $node = {
		name => $name,
		number => $number,
		directory => $directory,
		port => PostgreSQL::Test::Cluster::get_free_port(),
		api_port => PostgreSQL::Test::Cluster::get_free_port(),
		log => "$self->{log}/patroni_$name.log",
		clock => new_clock()
	};
	my ($bindir) =
	  run_command([ $ENV{PG_CONFIG} || 'pg_config', '--bindir' ]);
	my %clock = clock_environment($node->{clock});

	# A server tells in a file when it was started, which Patroni compares with
	# what the operating system says.
	$clock{FAKETIME_START_AFTER_NUMCALLS} = 2;

	mkdir $_, 0700 or die "$_: $!" foreach $directory, "$directory/bin";
	foreach my $program (glob "$bindir/*")
	{
		my ($file) = $program =~ m{([^/]*)$};
		symlink $program, "$directory/bin/$file" unless $file eq 'postgres';
	}
	append_to_file("$directory/bin/postgres",
			"#!/bin/sh\nexec env "
		  . join(' ', map { "'$_=$clock{$_}'" } sort keys %clock)
		  . " '$bindir/postgres' \"\$@\"\n");
	chmod 0755, "$directory/bin/postgres";
	set_clock($node->{clock}, $offset);
	append_to_file("$directory/patroni.yml", $self->configuration($node));
	chmod 0600, "$directory/patroni.yml";
	return $node;
}

# The configuration of a node.  Everything that is replaced must have been there.
sub configuration
{
	my ($self, $node) = @_;
	my $yaml = $self->{yaml};
	my ($etcd) = $self->{etcd} =~ m{//(.*)};
	my @replacements = (
		[ qr/^scope: \S+$/m, 'scope: ha' ],
		[ qr/^name: \S+$/m, "name: $node->{name}" ],

		# Others on this machine can ask etcd, but it does not list such names.
		[ qr/^namespace: \S+$/m, "namespace: /_$self->{password}/" ],
		[ qr/\bhosts: \S+$/m, "hosts: $etcd" ],
		[ qr/\b10\.0\.0\.1:8008$/m, "$host:$node->{api_port}" ],
		[ qr/\b10\.0\.0\.1:5432$/m, "$host:$node->{port}" ],
		[ qr{\b10\.0\.0\.0/24\b}, "$host/32" ],
		[ qr/\bpassword: \S+$/m, "password: $self->{password}" ],
		[ qr/\busername: postgres$/m, "username: $user" ],
		[ qr/\bdata_dir: \S+$/m, "data_dir: $node->{directory}/data" ],
		[ qr/\bbin_dir: \S+$/m, "bin_dir: $node->{directory}/bin" ],
		[ qr/\bpgpass: \S+$/m, "pgpass: $node->{directory}/pgpass" ],
		[
			qr/\bunix_socket_directories: \S+$/m,
			"unix_socket_directories: $node->{directory}"
		],

		# Quicker than where networks are slow, or power fails.
		[ qr/^ +- data-checksums$/m, "    - data-checksums\n    - no-sync" ],
		[ qr/\bttl: \d+$/m, 'ttl: 8' ],
		[ qr/\bloop_wait: \d+$/m, 'loop_wait: 1' ],
		[ qr/\bretry_timeout: \d+$/m, 'retry_timeout: 3' ],

		# More than the clocks differ.
		[ qr/\bflakeid\.max_ahead: \S+$/m, 'flakeid.max_ahead: 90s' ],
		[
			qr/^ +shared_preload_libraries: .*$/m,
			join("\n        ",
				'        shared_preload_libraries: flakeid',
				'wal_keep_size: 512MB',
				'checkpoint_timeout: 30s',
				'wal_retrieve_retry_interval: 200ms',
				'log_statement: none',
				'fsync: "off"')
		]);

	foreach my $replacement (@replacements)
	{
		my ($pattern, $text) = @$replacement;

		$yaml =~ s/$pattern/$text/g
		  or die "the configuration has nothing like $pattern";
	}
	return $yaml;
}

=pod

=item $cluster->names, $cluster->node($name)

The nodes: C<number>, C<directory> (where the unix socket is, too), C<port>,
C<clock>, C<log> (of Patroni and of the server).

=cut

sub names
{
	my ($self) = @_;

	return sort keys %{ $self->{nodes} };
}

sub node
{
	my ($self, $name) = @_;

	return $self->{nodes}{$name};
}

=pod

=item $cluster->api($name, $method, $path, $content)

Asks the Patroni of that node: its REST API.

=cut

sub api
{
	my ($self, $name, $method, $path, $content) = @_;
	my $port = $self->node($name)->{api_port};

	return $self->request($method, "http://$host:$port/$path", $content,
		Authorization => 'Basic '
		  . MIME::Base64::encode("patroni:$self->{password}", ''));
}

# Through a node whose Patroni is at work, and not too often: it asks etcd.
sub any_api
{
	my ($self, @request) = @_;

	usleep(100_000);

	foreach my $name ($self->names)
	{
		my $node = $self->node($name);
		next unless $node->{patroni} && !$node->{frozen};
		my $answer = $self->api($name, @request);
		return $answer if defined $answer;
	}
	return undef;
}

sub members
{
	my ($self) = @_;
	my $answer = $self->any_api('GET', 'cluster') || {};

	return @{ $answer->{members} || [] };
}

=pod

=item $cluster->leader

Who is the leader, by what Patroni says, or undef.

=cut

sub leader
{
	my ($self) = @_;
	my ($leader) = grep { $_->{role} eq 'leader' } $self->members;

	return defined $leader ? $leader->{name} : undef;
}

=pod

=item $cluster->configure(\%changes)

Changes the configuration that all nodes share, and waits until they have it.

=cut

sub configure
{
	my ($self, $changes) = @_;

	wait_until(sub { $self->any_api('PATCH', 'config', $changes) },
		'the configuration is changed');

	# A node looks once in loop_wait, which is a second.
	usleep(2_500_000);
	return;
}

=pod

=item $cluster->ask($name, $sql)

One request to the server of that node (see FlakeWire), from a session of its own.

=cut

sub ask
{
	my ($self, $name, $sql) = @_;
	my $node = $self->node($name);
	my $deadline = time + 10;
	my $wire =
	  FlakeWire->connect($node->{directory}, $node->{port}, 'postgres', $user,
		sub { time < $deadline });

	return { rows => [], warnings => [], status => '' } unless defined $wire;
	my $answer = $wire->request($sql);
	$wire->close if $answer->{status} ne '';
	return $answer;
}

=pod

=item $cluster->ask_leader($sql)

The same of the leader, until it succeeds.

=cut

sub ask_leader
{
	my ($self, $sql) = @_;

	return wait_until(
		sub {
			my $leader = $self->leader or return undef;
			my $answer = $self->ask($leader, $sql);

			die "$sql: $answer->{message}"
			  if defined $answer->{code}
			  && $answer->{code} !~ /^(?:25006|57)/;
			return !defined $answer->{code}
			  && $answer->{status} eq 'I' ? $answer : undef;
		},
		"the leader does: $sql");
}

=pod

=item $cluster->wait_until_healthy

Waits until the leader takes writes and all others stream from it, one of them
synchronously unless the cluster is asynchronous.

=cut

sub wait_until_healthy
{
	my ($self) = @_;
	my $seen = 'nothing';

	eval {
		wait_until(
			sub {
				my $leader = $self->leader or return 0;
				my $answer = $self->ask(
					$leader, q(SELECT (SELECT NOT pg_is_in_recovery()),
					(SELECT count(*) FROM pg_stat_replication
					WHERE state = 'streaming' AND application_name <> 'pg_basebackup'),
					current_setting('synchronous_standby_names') = ''
					OR EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = 'sync'),
					'/' || current_setting('synchronous_standby_names')));

				my @row = @{ ($answer->{rows}[0] || [])->[0] || [] };
				$seen = join ' ', $leader, @row;

				# Patroni must know of the synchronous one, too.
				return
					 @row
				  && $row[0] eq 't'
				  && $row[1] == keys(%{ $self->{nodes} }) - 1
				  && $row[2] eq 't'
				  && ( $self->{asynchronous}
					|| $row[3] ne '/' && grep { $_->{role} eq 'sync_standby' }
					$self->members);
			},
			'all nodes replicate');
		1;
	} or die "$@ (seen: $seen; Patroni: $self->{last_response})";
	return;
}

=pod

=back

=head2 Faults

=over

=item $cluster->start_patroni($name), $cluster->kill_patroni($name)

=item $cluster->freeze($name), $cluster->thaw($name)

SIGSTOP and SIGCONT for Patroni.  Its server goes on.

=item $cluster->kill_postmaster($name)

With SIGKILL.  All of the server's processes are gone when it returns, unless
they have been started again.

=cut

sub start_patroni
{
	my ($self, $name) = @_;
	my $node = $self->node($name);

	$node->{patroni} =
	  run_in_background($node->{directory}, $node->{log},
		find_program('patroni'), "$node->{directory}/patroni.yml");
	return;
}

sub kill_patroni
{
	my ($self, $name) = @_;
	my $pid = delete $self->node($name)->{patroni};

	kill 'KILL', $pid;
	waitpid $pid, 0;
	return;
}

sub freeze
{
	my ($self, $name) = @_;

	kill 'STOP', $self->node($name)->{patroni};
	$self->node($name)->{frozen} = 1;
	return;
}

sub thaw
{
	my ($self, $name) = @_;

	kill 'CONT', $self->node($name)->{patroni};
	delete $self->node($name)->{frozen};
	return;
}

sub postmaster
{
	my ($self, $name) = @_;
	my $file = $self->node($name)->{directory} . '/data/postmaster.pid';

	open my $handle, '<', $file or return undef;
	my $pid = <$handle>;
	return defined $pid && $pid =~ /^(\d+)$/ && kill(0, $1) ? $1 : undef;
}

sub kill_postmaster
{
	my ($self, $name) = @_;
	my $pid = $self->postmaster($name);

	return 0 unless defined $pid && kill 'KILL', $pid;
	wait_until(sub { !kill 0, $pid }, 'the postmaster is gone');
	return 1;
}

=pod

=back

=head2 The end

=over

=item $cluster->stop

Ends all of its processes.

=cut

sub stop
{
	my ($self) = @_;
	my @pids = grep { defined }
	  map { delete $_->{patroni} } values %{ $self->{nodes} };

	# Patroni stops its server.
	kill 'CONT', @pids;
	kill 'TERM', @pids;
	waitpid $_, 0 foreach @pids;
	foreach my $name ($self->names)
	{
		my $pid = $self->postmaster($name);
		kill 'QUIT', $pid if defined $pid;
	}
	my $etcd = delete $self->{etcd_pid};
	if (defined $etcd)
	{
		kill 'TERM', $etcd;
		waitpid $etcd, 0;
	}
	return;
}

=pod

=back

=cut

1;
