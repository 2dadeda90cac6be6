# Copyright (c) 2026, the flakeid developers

# docs/runbooks.md leads back after a clock that was a year ahead.  Its statements
# are run as they stand on the page, while writers are at work: on the server where
# it happened, and on a standby that was promoted since.  No row and no reference
# is lost, and no id repeats.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeDoc;
use FlakeTest;
use Test::More;

my $year = 365 * 86400;
my @blocks = blocks("$FindBin::RealBin/../docs/runbooks.md");

# The blocks of SQL below a heading of the page, without what is only for its tests.
sub statements
{
	my ($heading) = @_;
	my @statements = map { $_->{text} }
	  grep { $_->{language} eq 'sql' && ($_->{headings}[-1] // '') eq $heading } @blocks;

	die "the runbook has no SQL below \"$heading\"" unless @statements;
	return @statements;
}

my $clock = new_clock();
my $primary = start_server(
	'primary',
	allows_streaming => 1,
	clock => $clock,
	conf => q(
log_statement = none
max_connections = 30
wal_sender_timeout = 0		# goes by the clock
wal_receiver_timeout = 0
),
	sql => q(
CREATE EXTENSION flakeid;
SELECT flake_create_generator('photo_id');
CREATE TABLE photo (id bigint PRIMARY KEY DEFAULT flake_id(5, 'photo_id'), name text);
CREATE TABLE comment (photo_id bigint REFERENCES photo, about text);
CREATE INDEX ON comment (photo_id);
CREATE TABLE mention (photo_id bigint, about text);
CREATE SEQUENCE number;
CREATE FUNCTION add_photo(shard int) RETURNS bigint LANGUAGE sql AS $$
	WITH p AS (INSERT INTO photo SELECT flake_id(shard, 'photo_id'), 'photo ' || nextval('number') RETURNING *),
	     c AS (INSERT INTO comment SELECT id, name FROM p),
	     m AS (INSERT INTO mention SELECT id, name FROM p)
	SELECT id FROM p
$$;
));

# The guard against such clocks, if there is one, must not keep it from happening.
change_setting($primary, 'flakeid.max_jump', '-1')
  if $primary->safe_psql('postgres',
	q(LOAD 'flakeid'; SELECT count(*) FROM pg_settings WHERE name = 'flakeid.max_jump')
  );

sub start_writers
{
	my ($node, @shards) = @_;

	return map { start_clients($node, sql => "SELECT add_photo($_);") } @shards;
}

# The clock is a year ahead for a moment, in which the shards are used that are
# given and others are not; shard 10 is detached and attached.
sub jump
{
	my ($node, @shards) = @_;
	my $before = $node->safe_psql('postgres', 'SELECT count(*) FROM photo');

	set_clock($clock, $year);
	$node->safe_psql('postgres', "SELECT add_photo($_) FROM generate_series(1, 50)")
	  foreach @shards;
	$node->safe_psql('postgres',
		q(SELECT flake_id(10, 'photo_id'), flake_detach(10, 'photo_id')));
	$node->safe_psql('postgres', q(SELECT flake_attach(10, generator => 'photo_id')));
	set_clock($clock, 0);
	return;
}

# Runs what the page says, and looks at what has become of the rows.
sub recover
{
	my ($name, $node, $writers, @refused) = @_;
	my $session = new_session($node);
	my $last_number =
	  value($session, q(SELECT last_value FROM number));
	my $rows = value($session, 'SELECT count(*) FROM photo');

	foreach my $shard (@refused)
	{
		is(code($session, "SELECT add_photo($shard)"),
			'53400', "$name: shard $shard is refused before");
	}

	my ($look, $rewind, $dry_run, $replace, $mention) =
	  statements('Rewind, and other ids');
	my ($bounds) = statements('Bounds of shards');

	is(value($session, $look), 't', "$name: the ids are far away");
	my (undef, $warning) = ask($session, $rewind);
	like(
		$warning,
		qr/^WARNING: .*^DETAIL:  .*: 10\.$/ms,
		"$name: rewound, with a warning of the bound");
	unlike($warning, qr/^ERROR/m, "$name: rewound");
	is(code($session, q(SELECT flake_id(10, 'photo_id'))),
		'53400', "$name: the shard with the bound is refused");
	is(value($session, $bounds), '10|t', "$name: the bound is set back");
	is((ask($session, $rewind))[1], '', "$name: rewound again, without a warning");
	wait_for_more($_, 20) foreach @$writers;
	is( value(
			$session,
			'SELECT abs(extract(epoch FROM flake_timestamp('
			  . q(flake_id(10, 'photo_id')) . ') - clock_timestamp())) < 60'),
		't',
		"$name: the shard with the bound mints ids of the present");

	my ($count, $notice) = ask($session, $dry_run);
	cmp_ok($count, '>=', 100, "$name: rows of the wrong time");
	like(
		$notice,
		qr/^NOTICE: .* $count ids .*public\.photo\.id, public\.comment\.photo_id\.$/ms,
		"$name: it says which columns");
	my ($replaced, $error) = ask($session, $replace);
	unlike($error, qr/ERROR/, "$name: the ids are replaced");
	my @replaced = split /\n/, $replaced;
	is(scalar(@replaced), $count, "$name: all of them");
	is_deeply([ grep { !/\|t\|t$/ } @replaced ],
		[], "$name: they are of the present, and referred to");
	is((ask($session, $mention))[1], '', "$name: a column without a foreign key");
	wait_for_more($_, 20) foreach @$writers;
	stop_clients($node, @$writers);

	is( value(
			$session,
			'SELECT count(*), min(n), max(n) FROM (SELECT photo_id, count(*) AS n FROM'
			  . ' (SELECT photo_id FROM comment JOIN photo ON id = photo_id AND name = about'
			  . ' UNION ALL SELECT photo_id FROM mention JOIN photo ON id = photo_id AND name = about) AS r'
			  . ' GROUP BY 1) AS c')
		  . '|'
		  . value($session, 'SELECT count(*) = count(DISTINCT name) FROM photo'),
		value($session, 'SELECT count(*) FROM photo') . '|2|2|t',
		"$name: every row has its references");
	cmp_ok(value($session, 'SELECT count(*) FROM photo'),
		'>', $rows, "$name: writers have added rows");
	is( value($session,
			'SELECT count(*) FROM photo WHERE flake_timestamp(id) > clock_timestamp() + interval \'1 min\''),
		0,
		"$name: no row is of the future");
	is(value($session, $look), '', "$name: nothing is left to do");

	# What was minted at the right time is where it was.
	my %present = map { $_ => 1 } split /\n/,
	  value($session, 'SELECT id FROM photo');
	my $bound = value($session, q(SELECT flake_upper(clock_timestamp() + interval '1 day')));
	my @ids = map { @{ ids($_) } } @$writers;
	is_deeply([ grep { $_ <= $bound && !$present{$_} } @ids ],
		[], "$name: no other row has changed");
	is(first_duplicate(\@ids), undef, "$name: no id repeats");
	is_deeply([ grep { !/^(?:53400|57P01)/ } map { errors($_) } @$writers ],
		[], "$name: writers were refused, or waited, and nothing else");
	value($session, 'DROP TABLE photo_replaced');
	end_session($session);
	return;
}

# Where it happened.  Shard 7 was not used meanwhile, and goes on.
my $standby = start_standby($primary, 'standby', $clock);
my @writers = start_writers($primary, 5, 6, 7);
wait_for_more($_, 20) foreach @writers;
jump($primary, 5, 6);
recover('on the same server', $primary, \@writers, 5, 6);

# On a standby, where every shard is refused.
@writers = start_writers($primary, 5, 6, 7);
wait_for_more($_, 20) foreach @writers;
jump($primary, 5, 6);
$primary->wait_for_catchup($standby, 'replay');
kill9_and_wait($primary);
finish_clients(@writers);
$standby->promote;
@writers = start_writers($standby, 5, 6, 7);
wait_until(sub { errors($_) > 2 }, 'writers are refused') foreach @writers;
recover('after a failover', $standby, \@writers, 5, 6, 7);

$standby->stop;
stop_killed($primary);
done_testing();
