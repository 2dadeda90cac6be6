# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

FlakeTest - what most tests of flakeid need, in one: servers and their clocks
(FlakeServer), sessions (FlakeSession), and clients that mint in the background
(FlakeClients)

=head1 SYNOPSIS

  use FindBin;
  use lib "$FindBin::RealBin/lib";
  use FlakeTest;

=head1 DESCRIPTION

Nothing here tests; the functions die when the test itself cannot go on.

=cut

package FlakeTest;

use strict;
use warnings;

use Exporter 'import';
use FlakeClients;
use FlakeServer;
use FlakeSession;

our @EXPORT =
  (@FlakeServer::EXPORT, @FlakeSession::EXPORT, @FlakeClients::EXPORT);

1;
