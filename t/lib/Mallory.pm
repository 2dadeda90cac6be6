# Copyright (c) 2026, the flakeid developers

=pod

=head1 NAME

Mallory - the databases that t/security_combinations.pl attacks: who owns what in them,
what may be called, and what mallory can do

=head1 SYNOPSIS

  my $world = Mallory->new($node, 'creator');

  $world->actions;                   # names, each for mal.perform()
  $world->calls($helper, 'alice');   # what alice is to call, as SQL
  my $dbname = $world->copy;         # a database of its own
  $world->drop($dbname);

=head1 DESCRIPTION

mallory owns something, and wants what she has written to be executed by
somebody else.  All of it notes that by mal.spring(), in the server's log, which
no ROLLBACK undoes, and says ALTER ROLE mallory SUPERUSER.

What there is to be called, to be shadowed and to be replaced is read from the
catalogs.  Only arguments cannot be: they are listed here.

=cut

package Mallory;

use strict;
use warnings;

use FlakeWire;
use PostgreSQL::Test::Utils;

# Role => the schema of the extension.  Other than a minter, each may create
# schemas, and owns that of the template.
my %schema_of = (
	database => 'public',    # owns the database
	creator  => 'ext',       # has created the extension
	schema   => 'ext',       # owns the schema that a superuser has put it in
	template => 'flake',     # owns nothing of it
	minter   => 'flake');    # owns nothing but a schema of her own

# Who calls, and his schema.
my %home_of = (boss => 'vic', alice => 'ali', mallory => 'mal');

# Arguments of each function: {s} is the caller's schema, {r} his role, {x} the
# extension's, {o} that one's name when the extension was created, {n} a number of
# the call's own.
my @layout     = ("'instagram'");
my @generators = ("'{x}.flake_default'", "'mal.g'");
my @uuid_generators = ("'{x}.flake_default_uuidv7'");
my $uuidv7     = "'017f22e2-79b0-7cc3-98c4-dc0c0c07398f'";
my @items      = ("'{s}.item'", "'mal.item'");
my @parts      = ("'{s}.part'", "'mal.part'");
# what says that the extension is there, and stays
my @ticket  = ("{x}._flake_guard('{o}')");
my @tickets = (@ticket, 'NULL');
# The last index of a table
my %index = map {
	$_ => '(SELECT pg_catalog.max(indexrelid) FROM pg_catalog.pg_index WHERE indrelid'
	  . " OPERATOR(pg_catalog.=) CAST(pg_catalog.to_regclass('$_') AS oid))"
} qw({s}.item tmpl.cart);

# A column that _flake_migrate_group() is to migrate next
my $planned =
    q{pg_catalog.jsonb_build_object('group', 1, 'groups', 1, 'migrated', 0, 'refused', 0, 'attributes', ARRAY['id'],}
  . q{ 'targets', ARRAY[CAST(CAST(CAST('{s}.item' AS pg_catalog.regclass) AS pg_catalog.oid) AS bigint)])};

my %arguments = (
	'flake_advance(regclass, bigint)' => [ map { [ $_, '5' ] } @generators ],
	'flake_attach(integer, bigint, regclass)' =>
	  [ map { [ '{n}', 'NULL', $_ ] } @generators ],
	'flake_between(bigint, timestamp with time zone, timestamp with time zone, flake_layout)'
	  => [ [ '5', 'now()', 'now()', @layout ] ],
	'_flake_check_minting(_flake_ticket, oid, name, name, regclass, flake_layout, integer, boolean)'
	  => [
		map {
			[
				$_, "CAST('{s}.item' AS pg_catalog.regclass)",
				"'item'", "'id'", "'{s}.g'", @layout, '3', 'true'
			]
		} @tickets
	  ],
	# what is no copy is an error
	'_flake_check_copy(_flake_ticket, name, oid, text, oid, oid[], oid[], text[], text[])'
	  => [
		map {
			[
				$_, "'tmpl'", "CAST('pg_toast' AS pg_catalog.regnamespace)",
				"'tmpl'", "CAST('pg_toast' AS pg_catalog.regnamespace)", ("'{}'") x 4
			]
		} @tickets
	  ],
	'_flake_partition_bound_time(bigint, boolean, flake_layout)' => [ [ '0', 'true', @layout ] ],
	'_flake_partition_layout(regclass, flake_layout)' => [ map { [ $_, @layout ] } @parts ],
	'flake_columns(regclass)' => [ map { [$_] } @generators ],
	'_flake_copy_index(oid, regclass)' => [
		[ $index{'{s}.item'}, "'mal.spare'" ],
		[ $index{'tmpl.cart'}, "'mal.cart'" ]
	],
	'flake_create_generator(text, flake_layout, bigint)' =>
	  [ [ "'{s}.new_{n}'", @layout, '5' ] ],
	'flake_create_partitions(regclass, interval, timestamp with time zone, timestamp with time zone, flake_layout, text)'
	  => [
		map {
			[
				$_,              "'1 day'",
				"'2026-06-01Z'", "'2026-06-03Z'",
				@layout,         "'UTC'"
			]
		} @parts
	  ],
	'_flake_create_partitions_guarded(_flake_ticket, regclass, interval, timestamp with time zone, timestamp with time zone, flake_layout, text)'
	  => [
		map {
			[
				$_,              "'{s}.part'",
				"'1 day'",       "'2026-06-01Z'",
				"'2026-06-03Z'", @layout,
				"'UTC'"
			]
		} @tickets
	  ],
	'flake_create_shard(integer, name, name)' =>
	  [ [ '{n}', "'tmpl'", 'NULL' ] ],
	'_flake_create_shard_guarded(_flake_ticket, integer, name, name)' =>
	  [ map { [ $_, '{n}', "'tmpl'", 'NULL' ] } @tickets ],
	'flake_decode(bigint, flake_layout)' => [ [ '5', @layout ] ],
	'flake_detach(integer, regclass)'    =>
	  [ map { [ '{n}', $_ ] } @generators ],
	# of a shard that was just detached
	'flake_backfill(timestamp with time zone, integer, regclass)' => [
		map {
			[ "'2026-01-01Z'", "(SELECT {n} FROM {x}.flake_detach({n}, $_))", $_ ]
		} @generators
	],
	'flake_detach_all(regclass)' => [ map { [$_] } @generators ],
	'flake_renumber(integer[], integer[], regclass, boolean, regrole[])' => [
		map { [ "'{3}'", "'{4{n}}'", $_, 'true', "'{}'" ] } @generators
	],
	'_flake_renumber_guarded(_flake_ticket, integer[], integer[], regclass, boolean, regrole[])'
	  => [
		map { [ $_, "'{3}'", "'{4{n}}'", "'{s}.g'", 'false', "'{}'" ] } @tickets
	  ],
	'_flake_minting_defaults(regclass)' => [ map { [$_] } @generators ],
	'_flake_minted_shard(pg_node_tree)' => [ ['(SELECT adbin FROM pg_attrdef LIMIT 1)'] ],
	'_flake_checked_shards(pg_node_tree)' => [ ['(SELECT conbin FROM pg_constraint WHERE conbin IS NOT NULL LIMIT 1)'] ],
	'_flake_renumbered(regclass, integer[], integer[], regrole[])' =>
	  [ map { [ $_, "'{3}'", "'{4{n}}'", "'{}'" ] } @generators ],
	'_flake_meanings(oid[])' => [ map { ["ARRAY[$_\::regclass::oid]"] } @parts ],
	'_flake_shard_hash(bigint, bigint)' => [ [ 0, 0 ] ],
	'_flake_shard_checks(oid[], name[], integer[], integer[], integer[], flake_layout)' =>
	  [ map { [ "ARRAY[$_\::regclass::oid]", "'{id}'", "'{3}'", "'{3}'", "'{4{n}}'", "'instagram'" ] } @parts ],
	'_flake_other_checks(oid[], name[], _flake_layout, oid[])' =>
	  [ map { [ "ARRAY[$_\::regclass::oid]", "'{id}'", "'{instagram}'", "ARRAY[$_\::regclass::oid]" ] } @parts ],
	'_flake_lock_shard(_flake_ticket, integer, regclass)' =>
	  [ map { [ $_, '{n}', "'{s}.g'" ] } @tickets ],
	'_flake_restore_of(regclass)'       => [ map { [$_] } @generators ],
	'_flake_restored()'                 => [ [] ],
	'flake_accept_restore()'            => [ [] ],
	'flake_drop_partitions(regclass, timestamp with time zone, flake_layout, boolean)'
	  => [ map { [ $_, "'2026-02-01Z'", @layout, 'false' ] } @parts ],
	'_flake_drop_partitions_guarded(_flake_ticket, regclass, timestamp with time zone, flake_layout, boolean)'
	  => [
		map { [ $_, "'{s}.part'", "'2026-02-01Z'", @layout, 'false' ] }
		  @tickets
	  ],
	'_flake_execute_as(oid, text)' =>
	  [ [ "CAST('{r}' AS pg_catalog.regrole)", "'SELECT 1'" ] ],
	'_flake_execute_steps(_flake_ticket, oid[], oid[], oid[], text[], boolean)' =>
	  [ map { [ $_, ("'{}'") x 4, 'false' ] } @tickets ],
	'flake_explain(bigint, flake_layout)' => [ [ '5', @layout ] ],
	'flake_fields(bigint, flake_layout)'  => [ [ '5', @layout ] ],
	'_flake_floor(timestamp with time zone, flake_layout)' =>
	  [ [ 'now()', @layout ] ],
	'flake_from_text(text, integer)'                   => [ [ "'5'", '62' ] ],
	'_flake_go_on(regclass)'                            => [ map { [$_] } @generators ],
	'_flake_guard(text)'                                => [ ["'{o}'"] ],
	'_flake_guard_definition(_flake_ticket, oid)' => [
		map { [ $_, "CAST('{s}.item' AS pg_catalog.regclass)" ] } @tickets
	],
	'_flake_guard_relation(_flake_ticket, oid, boolean)' =>
	  [
		map { [ $_, "CAST('{s}.item' AS pg_catalog.regclass)", 'true' ] }
		  @tickets
	  ],
	'_flake_guard_schemas(_flake_ticket, oid[])' =>
	  [
		map { [ $_, "ARRAY[CAST('{s}' AS pg_catalog.regnamespace)]" ] }
		  @tickets
	  ],
	'_flake_lock_trees(_flake_ticket, oid[], boolean, oid[], oid[], timestamp with time zone)'
	  => [
		map {
			[
				$_, "ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]",
				'false', "ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]",
				"ARRAY[CAST('{s}.g' AS pg_catalog.regclass)]", 'now()'
			]
		} @tickets
	  ],
	'_flake_sequence_state(_flake_ticket, oid, boolean)' => [
		map { [ $_, "CAST('{s}.g' AS pg_catalog.regclass)", 'false' ] } @tickets
	],
	'_flake_old_sequence(oid, name)' =>
	  [ ["CAST('{s}.item' AS pg_catalog.regclass)", "'id'"] ],
	'_flake_template_locks(oid)' =>
	  [ ["CAST('{s}' AS pg_catalog.regnamespace)"] ],
	'_flake_named_relations(oid[])' =>
	  [ ["ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]"] ],
	'_flake_migrate_locks(_flake_ticket, oid[], name[], regclass, boolean, boolean)' => [
		map {
			[
				$_,          "ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]", "'{id}'",
				"'{s}.g'", 'false', 'false'
			]
		} @tickets
	],
	'flake_horizon(regclass)'      => [ map { [$_] } @generators ],
	'flake_horizon_time(regclass)' => [ map { [$_] } @generators ],
	'flake_id()'                   => [ [] ],
	'flake_id(integer)'            => [ ['3'] ],
	'flake_id(integer, regclass)'  =>
	  [ [ '3', "'{s}.g'" ], [ '{n}', "'mal.g'" ] ],
	'flake_ids(integer, integer, regclass)' =>
	  [ map { [ '{n}', '2', $_ ] } @generators ],
	'_flake_largest(_flake_ticket, oid, name)' => [
		(map { [ $_, "CAST('{s}.item' AS pg_catalog.regclass)", "'id'" ] } @tickets),
		[ @ticket, "CAST('mal.item' AS pg_catalog.regclass)", "'id'" ]
	],
	'_flake_ids_above(_flake_ticket, oid, name, bigint)' => [
		(
			map {
				[ $_, "CAST('{s}.item' AS pg_catalog.regclass)", "'id'", '0' ]
			} @tickets
		),
		[ @ticket, "CAST('mal.item' AS pg_catalog.regclass)", "'id'", '0' ]
	],
	'flake_last_id()'                                    => [ [] ],
	'flake_layout_above(flake_layout, bigint, interval)' =>
	  [ [ @layout, '5', "'1 day'" ] ],
	'_flake_layout_eq(flake_layout, flake_layout)' => [ [ @layout, @layout ] ],
	'_flake_layout_hash(flake_layout)'             => [ [@layout] ],
	'_flake_layout_in(cstring)'                    => [ [@layout] ],
	'flake_layout_info(flake_layout)'             => [ [@layout] ],
	'_flake_layout_ne(flake_layout, flake_layout)' => [ [ @layout, @layout ] ],
	'flake_layout_of(regclass)'             => [ map { [$_] } @generators ],
	'_flake_layout_out(flake_layout)'        => [ [@layout] ],
	'_flake_layout_preset_list()'            => [ [] ],
	'_flake_layout_send(flake_layout)'       => [ [@layout] ],
	'flake_lease(text, interval, regclass)' =>
	  [ map { [ "'new_{n}'", "'1 hour'", $_ ] } @generators ],
	'flake_lower(timestamp with time zone, flake_layout)' =>
	  [ [ 'now()', @layout ] ],
	'flake_make(timestamp with time zone, integer, bigint, flake_layout)' =>
	  [ [ "'2026-01-01Z'", '5', '5', @layout ] ],
	'flake_migrate(regclass, name, integer, regclass, boolean, boolean)' => [
		[ "'{s}.item'", "'id'", '3', "'{s}.g'",      'true',  'false' ],
		map { [ $_, "'id'", '3', $generators[0], 'false', 'true' ] } @items
	],
	'_flake_migrate_guarded(_flake_ticket, regclass, name, integer, regclass, flake_layout, boolean, boolean, oid[], name[], oid[])'
	  => [
		map {
			[
				$_,        "'{s}.item'", "'id'",  '3',
				"'{s}.g'", @layout,      'false', 'false',
				"'{}'",    "'{}'",        "'{}'"
			]
		} @tickets
	  ],
	'_flake_migrate_columns(_flake_ticket, oid[], name[])' => [
		map {
			[ $_, "ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]", "'{id}'" ]
		} @tickets
	],
	'_flake_id_columns()'       => [ [] ],
	'_flake_joined_tables(oid)' =>
	  [ ["CAST('{s}.item' AS pg_catalog.regclass)"] ],
	'_flake_migrate_plan(_flake_ticket, oid[], oid[], boolean)' => [
		map {
			[
				$_, "ARRAY[CAST('{s}' AS pg_catalog.regnamespace)]",
				"ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]", 'true'
			]
		} @tickets
	],
	'_flake_migrate_targets(_flake_ticket, jsonb, integer, regclass, flake_layout, boolean)'
	  => [
		map { [ $_, $planned, '3', "'{s}.g'", @layout, 'false' ] } @tickets
	  ],
	'_flake_migrate_group_guarded(_flake_ticket, jsonb, name[], integer, regclass, flake_layout, boolean, boolean)'
	  => [
		map {
			[
				$_,        'NULL',  "'{{s}}'", '3',
				"'{s}.g'", @layout, 'false',   'false'
			]
		} @tickets
	  ],
	'_flake_migrate_group(jsonb, name[], integer, regclass, boolean, boolean)'
	  => [
		[
			'CAST(NULL AS pg_catalog.jsonb)', "'{{s},mal}'",
			'3',                              "'{s}.g'",
			'true',                           'false'
		],
		# not from mallory's generator: what is asked for depends on it
		map { [ $planned, "'{{s}}'", '3', $_, 'false', 'true' ] } "'{x}.flake_default'", "'{s}.g'"
	  ],
	'_flake_traits(oid)' =>
	  [ ["CAST(CAST('{s}' AS pg_catalog.regnamespace) AS pg_catalog.oid)"] ],
	'_flake_trusts(oid, oid)' =>
	  [ [ '10', "CAST('mallory' AS pg_catalog.regrole)" ] ],
	'_flake_view_maker(oid, oid)' =>
	  [ [ "CAST(pg_catalog.to_regclass('{s}.items') AS pg_catalog.oid)", '10' ] ],
	'_flake_is_hypertable(oid)' =>
	  [ ["CAST('{s}.item' AS pg_catalog.regclass)"] ],
	'_flake_is_distributed(oid)' =>
	  [ ["CAST('{s}.item' AS pg_catalog.regclass)"] ],
	'_flake_linked(oid, name)' =>
	  [ [ "CAST('{s}.item' AS pg_catalog.regclass)", "'id'" ] ],
	'_flake_foreign_code(oid, oid)' =>
	  [ [ "CAST('{s}.item' AS pg_catalog.regclass)", '10' ] ],
	'_flake_named(pg_node_tree)' => [
		[
			'(SELECT r.ev_action FROM pg_catalog.pg_rewrite r'
			  . " WHERE r.ev_class OPERATOR(pg_catalog.=) pg_catalog.to_regclass('{s}.items'))"
		]
	],
	'_flake_has_record(pg_node_tree)' => [
		[
			'(SELECT r.ev_action FROM pg_catalog.pg_rewrite r'
			  . " WHERE r.ev_class OPERATOR(pg_catalog.=) pg_catalog.to_regclass('{s}.items'))"
		]
	],
	'_flake_takes_long(pg_node_tree)' => [
		[
			'(SELECT r.ev_action FROM pg_catalog.pg_rewrite r'
			  . " WHERE r.ev_class OPERATOR(pg_catalog.=) pg_catalog.to_regclass('{s}.items'))"
		]
	],
	'_flake_definition_size(oid, bigint)' =>
	  [ [ "CAST('{s}.item' AS pg_catalog.regclass)", '1000000' ] ],
	'_flake_evaluated_code(oid, oid, boolean)' =>
	  [ [ "CAST('{s}.item' AS pg_catalog.regclass)", '10', 'true' ] ],
	'_flake_refuse_long(_flake_ticket, oid[], text)' => [
		map {
			[
				$_, "ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]",
				"'none'"
			]
		} @tickets
	],
	'_flake_too_long(oid[], oid[])' => [
		[
			"ARRAY[CAST('pg_catalog.pg_class' AS pg_catalog.regclass)]",
			"ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]"
		]
	],
	'_flake_migrate_reads(oid, oid[], oid[], oid)' => [
		[
			"CAST('{s}.item' AS pg_catalog.regclass)",
			"ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]",
			"ARRAY[pg_catalog.to_regclass('{s}.items')]",
			'NULL'
		]
	],
	'_flake_record_of(oid[], oid[])' => [
		[
			"ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]",
			"ARRAY[pg_catalog.to_regclass('{s}.items')]"
		]
	],
	'_flake_named_by(_flake_ticket, oid[], oid[])' => [
		map {
			[
				$_,
				"ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]",
				"ARRAY[pg_catalog.to_regclass('{s}.items')]"
			]
		} @tickets
	],
	'_flake_definitions(_flake_ticket, oid[], name[], oid[])' => [
		map {
			[
				$_,
				"ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]",
				"'{id}'",
				"ARRAY[pg_catalog.to_regclass('{s}.items')]"
			]
		} @tickets
	],
	'_flake_obstacle(oid, name, oid[], name[], oid[], oid, boolean)' => [
		[
			"CAST('{s}.item' AS pg_catalog.regclass)", "'id'",
			"ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]", "'{id}'",
			"ARRAY[pg_catalog.to_regclass('{s}.items')]", 'NULL', 'true'
		]
	],
	'_flake_remade(oid, oid)' =>
	  [ [ "pg_catalog.to_regclass('{s}.items')", '10' ] ],
	'_flake_rebind(_flake_ticket, text, oid[], smallint[], oid[])' => [
		map {
			[
				$_, "'SELECT id FROM {s}.item'",
				"ARRAY[CAST('{s}.item' AS pg_catalog.regclass)]", "'{1}'",
				"'{20}'"
			]
		} @tickets
	],
	'flake_now_id()'                 => [ [] ],
	'flake_objectid()'               => [ [] ],
	'flake_objectid_timestamp(text)' => [ ["'65a000000000000000000000'"] ],
	'flake_partitions(regclass, flake_layout)' =>
	  [ [ "'{s}.part'", @layout ] ],
	'_flake_regclass_in(cstring)'          => [ map { [$_] } @generators ],
	'_flake_regclass_out(_flake_regclass)'  => [ map { [$_] } @generators ],
	'_flake_regclass_send(_flake_regclass)' => [ map { [$_] } @generators ],
	'flake_release(text, regclass)' =>
	  [ map { [ "'given_{s}'", $_ ] } @generators ],
	'flake_renew(text, interval, regclass)' =>
	  [ map { [ "'kept_{s}'", "'2 hours'", $_ ] } @generators ],
	'_flake_related_columns(oid, name)' =>
	  [ [ "CAST('{s}.item' AS pg_catalog.regclass)", "'id'" ] ],
	'_flake_following_columns(oid, name)' =>
	  [ [ "CAST('{s}.item' AS pg_catalog.regclass)", "'id'" ] ],
	'flake_replace_ids(regclass, name, bigint, integer, regclass, boolean)' => [
		map { [ $_, "'id'", '0', '3', $generators[0], 'false' ] } "'{s}.ids'",
		"'mal.ids'"
	],
	'_flake_replace_ids_guarded(_flake_ticket, regclass, name, bigint, integer, regclass, flake_layout, boolean, text)'
	  => [
		map {
			[
				$_,        "'{s}.ids'", "'id'",  '0', '3',
				"'{s}.g'", @layout,      'false', "'{s}, mal, public'"
			]
		} @tickets
	  ],
	'_flake_replace_obstacle(_flake_ticket, oid, oid[], name[])' => [
		map {
			[
				$_, "CAST('{s}.ids' AS pg_catalog.regclass)",
				"ARRAY[CAST('{s}.ids' AS pg_catalog.regclass)]", "'{id}'"
			]
		} @tickets
	],
	'_flake_replace_statement(oid, oid[], name[], bigint[], bigint[])' => [
		[
			"CAST('{s}.ids' AS pg_catalog.regclass)",
			"ARRAY[CAST('{s}.ids' AS pg_catalog.regclass)]",
			"'{id}'", "'{1}'", "'{2}'"
		]
	],
	'flake_rewind(regclass, bigint, boolean)' =>
	  [ [ "'mal.g'", '5', 'false' ], [ "'{s}.g'", '5', 'false' ] ],
	'_flake_ff1(text, integer, bytea, bytea, boolean)' =>
	  [ [ "'0101'", '2', "''", "'a key of 16 byte'", 'false' ] ],
	'_flake_key_validator(text[], oid)' => [ [ "'{}'", '0' ] ],
	'flake_add_key(text, name)'    => [ [ "'mal_key'", "'public'" ] ],
	'flake_seal(bigint, bytea)'    => [ [ '5', "CAST('a key of 16 byte' AS pg_catalog.bytea)" ] ],
	'flake_seal(bigint, text)'     => [ [ '5', "CAST('mal_key' AS pg_catalog.text)" ] ],
	'flake_seal_text(bigint, text)' => [ [ '5', "'mal_key'" ] ],
	'flake_unseal(bigint, bytea)'  => [ [ '5', "CAST('a key of 16 byte' AS pg_catalog.bytea)" ] ],
	'flake_unseal(bigint, text, integer)' => [ [ '5', "'mal_key'", '1' ] ],
	'flake_unseal_text(text, text)' => [ [ "'1-00000000000'", "'mal_key'" ] ],
	'_flake_partition_step(interval, timestamp with time zone, text)' =>
	  [ [ "'1 day'", 'now()', "'UTC'" ] ],
	'flake_sequence(bigint, flake_layout)' => [ [ '5', @layout ] ],
	'flake_server(integer)'                => [ ['5'] ],
	'flake_shard(bigint, flake_layout)'    => [ [ '5',   @layout ] ],
	'flake_shard_for(bigint, integer)'     => [ [ '5',   '64' ] ],
	'flake_shard_for(text, integer)'       => [ [ "'a'", '64' ] ],
	'flake_shard_for(uuid, integer)'       =>
	  [ [ "'0000018d-0000-0000-0102-030405060708'", '64' ] ],
	'flake_shard_number(flake_layout, integer[])' =>
	  [ [ "'snowflake'", "'{1,2}'" ] ],
	'flake_sibling(bigint, regclass)' => [ map { [ '5', $_ ] } @generators ],
	'flake_accept_clock()'            => [ [] ],
	'_flake_clock_guard()'            => [ [] ],
	'flake_stat_reset()'              => [ [] ],
	'_flake_stat_slots()'              => [ [] ],
	'_flake_shard_rows()'              => [ [] ],
	'flake_settled(regclass)'          => [ map { [$_] } @generators ],
	'flake_settled(regclass, integer)' => [ map { [ $_, '3' ] } @generators ],
	'flake_tail(bigint, regclass)'     => [ map { [ '5', $_ ] } @generators ],
	'flake_tail(bigint, regclass, integer)' => [ map { [ '5', $_, '3' ] } @generators ],
	'flake_settled_uuid()'             => [ [] ],
	'flake_settled_objectid()'         => [ [] ],
	'_flake_holders()'                 => [ [] ],
	'_flake_health_horizon(regclass)'  => [ map { [$_] } @generators ],
	'_flake_health_partitions()'       => [ [] ],
	'_flake_health_settings()'         => [ [] ],
	'_flake_health_elsewhere()'        => [ [] ],
	'_flake_stranger(oid, oid)'        => [
		[
			"CAST('tmpl' AS pg_catalog.regnamespace)",
			"CAST('{r}' AS pg_catalog.regrole)"
		]
	],
	'_flake_type_owner(oid, oid)'      => [
		[
			"CAST('pg_catalog.int4' AS pg_catalog.regtype)",
			"CAST('{r}' AS pg_catalog.regrole)"
		]
	],
	'_flake_usurper(oid, oid, oid)'    => [
		[
			"CAST('pg_catalog.pg_type' AS pg_catalog.regclass)",
			"CAST('pg_catalog.int4' AS pg_catalog.regtype)",
			"CAST('{r}' AS pg_catalog.regrole)"
		]
	],
	'_flake_ticket_in(cstring)'        => [],              # always an error
	'_flake_ticket_out(_flake_ticket)'  => [ [@ticket] ],
	'flake_timestamp(bigint, flake_layout)' => [ [ '5', @layout ] ],
	'flake_to_text(bigint, integer)'        => [ [ '5', '62' ] ],
	'flake_unseal(bigint, text)' => [ [ '5', "CAST('mal_key' AS pg_catalog.text)" ] ],
	'flake_upper(timestamp with time zone, flake_layout)' =>
	  [ [ 'now()', @layout ] ],
	'flake_uuid()'            => [ [] ],
	'flake_uuid_decode(uuid)' =>
	  [ ["'0000018d-0000-0000-0102-030405060708'"] ],
	'flake_uuid_from_text(text, integer)' => [ [ "'5'", '62' ] ],
	'flake_uuid_to_text(uuid, integer)'   =>
	  [ [ "'0000018d-0000-0000-0102-030405060708'", '62' ] ],
	'flake_uuidv7()'                 => [ [] ],                # no shard is set
	'flake_uuidv7(integer)'          => [ ['3'] ],
	'flake_uuidv7(integer, regclass)' => [ map { [ '3', $_ ] } @uuid_generators ],
	'flake_uuidv7s(integer, integer, regclass)' =>
	  [ map { [ '{n}', '2', $_ ] } @uuid_generators ],
	'flake_uuidv7_decode(uuid)'      => [ [$uuidv7] ],
	'flake_uuidv7_head(uuid)'        => [ [$uuidv7] ],
	'_flake_uuidv7_bound(uuid)'      => [ [$uuidv7] ],
	'flake_uuidv7_lower(timestamp with time zone)' => [ ['now()'] ],
	'flake_uuidv7_upper(timestamp with time zone)' => [ ['now()'] ],
	'flake_uuidv7_between(uuid, timestamp with time zone, timestamp with time zone)'
	  => [ [ $uuidv7, 'now()', 'now()' ] ],
	'flake_settled_uuidv7(regclass)' => [ map { [$_] } @uuid_generators ],
	'flake_width(interval, flake_layout)' => [ [ "'1 h'", @layout ] ],
	'flake_would_exceed(regclass, integer, bigint)' =>
	  [ map { [ $_, '3', '5' ] } @generators ]);

# And those of functions that only others of the extension call, after the guard: by type
my %argument_of = (
	_flake_ticket => $ticket[0],
	boolean       => 'true',
	flake_layout  => $layout[0],
	integer       => '{n}',
	name          => "'tmpl'",
	'name[]'      => "'{id,id}'",
	oid           => "CAST('{s}.item' AS pg_catalog.regclass)",
	'oid[]'       =>
	  "ARRAY[CAST('{s}.item' AS pg_catalog.regclass), CAST('{s}.ids' AS pg_catalog.regclass)]",
	regclass      => "'{s}.item'",
	text          => "'{s}'",
	'text[]'      => "'{}'");

# The functions of the extension that somebody may call.  Not those of mallory's
# that she has added to it.
my $members = q{
	SELECT p.oid, p.proname, n.nspname,
	       p.proname || '(' || coalesce((SELECT string_agg(CASE WHEN t.typnamespace = p.pronamespace THEN t.typname
	                                                            ELSE format_type(t.oid, NULL) END, ', ' ORDER BY i)
	                                     FROM unnest(p.proargtypes) WITH ORDINALITY u (oid, i) JOIN pg_type t USING (oid)), '') || ')',
	       array_to_string(ARRAY(SELECT format_type(t, NULL) FROM unnest(p.proargtypes) t), '|'),
	       p.provariadic <> 0, p.proretset, p.prorettype::regtype, p.proargmodes IS NOT NULL AND 'o' = ANY (p.proargmodes),
	       pg_get_function_arguments(p.oid), pg_get_function_result(p.oid), p.pronargdefaults
	FROM pg_proc p
	JOIN pg_namespace n ON n.oid = p.pronamespace
	JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid AND e.extname = 'flakeid'
	WHERE p.prorettype NOT IN ('trigger'::regtype, 'event_trigger'::regtype)
	  AND NOT 'internal'::regtype = ANY (p.proargtypes)
	  AND p.proowner <> 'mallory'::regrole
	  AND p.prokind <> 'p'    -- calls such a function, and nothing else
	ORDER BY p.proname COLLATE "C", p.oid};

my $relations = q{
	SELECT c.oid, c.relname, n.nspname, c.relkind
	FROM pg_class c
	JOIN pg_namespace n ON n.oid = c.relnamespace
	JOIN pg_depend d ON d.classid = 'pg_class'::regclass AND d.objid = c.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid AND e.extname = 'flakeid'
	WHERE c.relowner <> 'mallory'::regrole AND c.relkind IN ('r', 'v', 'S')
	ORDER BY c.relname COLLATE "C"};

my $types = q{
	SELECT t.typname
	FROM pg_type t
	JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e'
	JOIN pg_extension e ON d.refclassid = 'pg_extension'::regclass AND e.oid = d.refobjid AND e.extname = 'flakeid'
	-- From 17 on, types that come with a relation or with another type are members, too.
	LEFT JOIN pg_class c ON c.oid = t.typrelid
	WHERE t.typcategory <> 'A' AND (c.oid IS NULL OR c.relkind = 'c')
	ORDER BY t.typname};

my $number = 0;
my %number_of;    # for {n}: the same for all who make the same call

=pod

=head1 METHODS

=over

=item Mallory->roles, Mallory->callers

=cut

sub roles   { return qw(database creator schema template minter) }
sub callers { return qw(boss alice mallory) }

# Statements that must not fail; the rows of the last one that has some.
sub run
{
	my ($session, @sql) = @_;
	my @rows;

	foreach my $sql (@sql)
	{
		my $answer = $session->request($sql);

		die "in: $sql\n$answer->{code}: $answer->{message}"
		  if defined $answer->{code};
		die "connection lost in: $sql" if $answer->{status} eq '';
		@rows = map { $_->[0] } @{ $answer->{rows} };
	}
	return @rows;
}

=pod

=item $world->session($dbname, $user)

=cut

sub session
{
	my ($self, $dbname, $user) = @_;
	my $node = $self->{node};
	my ($session, $answer) = FlakeWire->connect(
		$node->host,
		$node->port,
		$dbname, $user,
		sub {
			$_[0]->age < $PostgreSQL::Test::Utils::timeout_default
			  || die 'no answer from the server';
		});

	die "cannot connect to $dbname as $user: $answer->{message}"
	  unless $session;
	# Long enough for calls that wait for others, and less than for the answer
	run($session, 'SET flakeid.shard = 4; SET statement_timeout = '
		  . 500 * $PostgreSQL::Test::Utils::timeout_default);
	return $session;
}

=pod

=item $world->helper($dbname)

A superuser's session that is no victim: it looks names up in pg_catalog only.

=cut

sub helper
{
	my ($self, $dbname) = @_;
	my $session = $self->session($dbname, 'boss');

	run($session, 'SET search_path = pg_catalog, pg_temp');
	return $session;
}

=pod

=item Mallory->new($node, $role)

Makes the database that copies are made of.  The roles boss (a superuser),
alice and mallory must be there.

=cut

sub new
{
	my ($class, $node, $role) = @_;
	my $self = bless {
		node => $node, role => $role, dbname => "world_$role",
		x    => $schema_of{$role}
	  },
	  $class;
	my $x        = $self->{x};
	my $postgres = $self->session('postgres', 'boss');
	my $owner    = $role eq 'database' ? 'mallory' : 'boss';

	$self->{postgres} = $postgres;
	run($postgres, "CREATE DATABASE $self->{dbname} OWNER $owner");
	$self->allow($self->{dbname});

	my $boss    = $self->helper($self->{dbname});
	my $mallory = $self->session($self->{dbname}, 'mallory');

	run($boss, $role eq 'minter'
		? 'CREATE SCHEMA mal AUTHORIZATION mallory'
		: 'SET ROLE mallory; CREATE SCHEMA mal; RESET ROLE');
	run($mallory,
		($role =~ /^(?:creator|schema)$/ ? "CREATE SCHEMA $x" : 'SELECT'),
		($role eq 'minter'               ? 'SELECT' : 'CREATE SCHEMA tmpl'));
	run($boss, 'CREATE SCHEMA tmpl') if $role eq 'minter';
	run($boss, "CREATE SCHEMA $x")   if $x eq 'flake';
	run($role eq 'creator' ? $mallory : $boss,
		"CREATE EXTENSION flakeid SCHEMA $x");
	run($boss, 'GRANT USAGE ON FOREIGN DATA WRAPPER flake_key TO mallory');
	run($mallory, 'CREATE SERVER mal_key FOREIGN DATA WRAPPER flake_key');
	run($mallory, "CREATE USER MAPPING FOR PUBLIC SERVER mal_key OPTIONS (key_1 '000102030405060708090a0b0c0d0e0f')");
	run($mallory, 'GRANT USAGE ON FOREIGN SERVER mal_key TO PUBLIC');
	$self->furnish($boss, $mallory);
	$self->lay_traps($boss, $mallory);
	$self->think_of_actions($boss, $mallory);
	$_->close foreach $boss, $mallory;
	return $self;
}

# The database's owner may do this anyway, and CREATE DATABASE copies no
# privileges.
sub allow
{
	my ($self, $dbname) = @_;

	run($self->{postgres}, "GRANT CREATE ON DATABASE $dbname TO mallory")
	  unless $self->{role} eq 'minter';
	return;
}

=pod

=item $world->copy, $world->drop($dbname)

=cut

sub copy
{
	my ($self) = @_;
	my $dbname = 'copy_' . ++$number;
	my $owner  = $self->{role} eq 'database' ? 'mallory' : 'boss';

	run($self->{postgres},
		"CREATE DATABASE $dbname OWNER $owner TEMPLATE $self->{dbname}");
	$self->allow($dbname);
	return $dbname;
}

sub drop
{
	my ($self, $dbname) = @_;

	run($self->{postgres}, "DROP DATABASE $dbname WITH (FORCE)");
	return;
}

# What mallory writes, what everybody has, and the template for shards.
sub furnish
{
	my ($self, $boss, $mallory) = @_;
	my $x        = $self->{x};
	my $is_owner = $self->{role} ne 'minter';

	run($mallory, q{
		GRANT USAGE ON SCHEMA mal TO PUBLIC;
		CREATE FUNCTION mal.spring(trap text) RETURNS boolean LANGUAGE plpgsql
		SET search_path = pg_catalog AS $$
		BEGIN
			RAISE LOG 'sprung: % by % in the session of %', trap, current_user, session_user;
			BEGIN
				ALTER ROLE mallory SUPERUSER;
			EXCEPTION WHEN OTHERS THEN
				NULL;
			END;
			RETURN true;
		END
		$$;
		CREATE FUNCTION mal.fire() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			PERFORM mal.spring('trigger on ' || TG_TABLE_NAME);
			IF TG_OP = 'DELETE' THEN RETURN OLD; END IF;
			RETURN NEW;
		END
		$$;
		CREATE FUNCTION mal.constant(trap text) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
			AS 'BEGIN RETURN mal.spring(trap); END';
		CREATE DOMAIN mal.checked AS int CHECK (mal.constant('domain'));

		-- What she does: statement by statement, or as far as she gets.
		CREATE TABLE mal.deed (action text, step int, is_chain boolean, statement text);
		CREATE FUNCTION mal.perform(what text) RETURNS text LANGUAGE plpgsql
		SET search_path = pg_catalog AS $$
		DECLARE
			d record;
			done int := 0;
			failed text := '';
		BEGIN
			PERFORM set_config('lock_timeout', '100ms', true);
			FOR d IN SELECT * FROM mal.deed WHERE action = what ORDER BY step LOOP
				BEGIN
					EXECUTE d.statement;
					done := done + 1;
				EXCEPTION WHEN OTHERS THEN
					failed := failed || ' ' || SQLSTATE || ' in ' || d.step || ' (' || SQLERRM || ')';
					EXIT WHEN d.is_chain OR SQLSTATE = '55P03';
				END;
			END LOOP;
			RETURN done || failed;
		END
		$$;

		-- The same in the middle of a command of somebody else
		CREATE TABLE mal.todo (action text);
		CREATE FUNCTION mal.inside() RETURNS void LANGUAGE plpgsql
		SET search_path = pg_catalog AS $$
		DECLARE
			what text;
		BEGIN
			DELETE FROM mal.todo RETURNING action INTO what;
			IF FOUND THEN
				RAISE LOG 'performed: % %', what, mal.perform(what);
			END IF;
		END
		$$;
		CREATE FUNCTION mal.act(int) RETURNS boolean IMMUTABLE LANGUAGE plpgsql
			AS 'BEGIN PERFORM mal.inside(); RETURN mal.spring(''act''); END';
	});

	run($boss, qq{
		GRANT USAGE ON SCHEMA $x, tmpl TO PUBLIC;
		GRANT EXECUTE ON FUNCTION $x.flake_lease, $x.flake_renew, $x.flake_release, $x.flake_stat_reset TO alice;
		GRANT ALL ON SEQUENCE $x.flake_default TO alice;
		INSERT INTO $x.flake_shard_map VALUES ('[0,8]', 'here');
		CREATE SCHEMA vic;
		CREATE SCHEMA ali AUTHORIZATION alice;
		GRANT USAGE ON SCHEMA vic TO PUBLIC});

	# as it was before PostgreSQL 15
	run($boss, 'GRANT CREATE ON SCHEMA public TO PUBLIC')
	  if $self->{role} eq 'template';
	foreach my $role (Mallory->callers)
	{
		my $s       = $home_of{$role};
		my $session = $self->session($self->{dbname}, $role);

		run($session, qq{
			SELECT $x.flake_create_generator('$s.g');
			GRANT ALL ON SEQUENCE $s.g TO PUBLIC;
			CREATE TABLE $s.item (id serial PRIMARY KEY, note text DEFAULT 'x');
			INSERT INTO $s.item VALUES (DEFAULT);
			CREATE INDEX ${s}_note ON $s.item (note);
			CREATE VIEW $s.items AS SELECT * FROM $s.item;
			CREATE TABLE $s.ids (id bigint DEFAULT $x.flake_id(3, '$s.g'));
			INSERT INTO $s.ids VALUES (1);
			CREATE TABLE $s.part (id bigint DEFAULT $x.flake_id(2), note text) PARTITION BY RANGE (id);
			SELECT $x.flake_create_partitions('$s.part', '1 day', '2026-01-01Z', '2026-01-03Z', zone => 'UTC');
			SELECT $x.flake_id(3, '$s.g')});
		$session->close;
	}

	# What a superuser may do with what is hers
	run($mallory, q{
		CREATE TABLE mal.spare (id int, note text);
		CREATE TABLE mal.cart (id bigint, n int);
		CREATE INDEX ON mal.item (lower(note)) WHERE mal.act(3);
		CREATE INDEX ON mal.part (note) WHERE mal.act(4)});

	# What is owned by others comes after what is hers, and goes by names of which
	# she can have better fitting ones.
	run($mallory, qq{
		CREATE TABLE tmpl.cart (id bigint DEFAULT $x.flake_id(1) PRIMARY KEY, n int DEFAULT 1, CHECK (mal.act(1)));
		CREATE INDEX ON tmpl.cart (n) WHERE mal.act(2)}) if $is_owner;
	foreach my $table ([ 'stock', 'boss' ], [ 'visit', 'alice' ])
	{
		my ($name, $owner) = @$table;

		run($boss, qq{
			CREATE TABLE tmpl.$name (
				id bigint DEFAULT $x.flake_id(1) PRIMARY KEY,
				n serial,
				tags text[] DEFAULT array_append('{a}'::text[], 'b') CHECK (array_length(tags, 1) > 0),
				name varchar DEFAULT upper('x'::varchar) CHECK (length(name) > 0),
				twice numeric GENERATED ALWAYS AS (5 * length('x'::varchar)) STORED,
				EXCLUDE USING btree (lower(name) WITH =) WHERE (length(name) > 5)
			);
			CREATE INDEX ON tmpl.$name (array_append(tags, 'b'));
			CREATE INDEX ON tmpl.$name (upper(name)) WHERE length(name) > 0;
			CREATE FUNCTION vic.${name}_changes() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';
			CREATE TRIGGER changes BEFORE INSERT ON tmpl.$name FOR EACH ROW
				WHEN (length(NEW.name) > 0) EXECUTE FUNCTION vic.${name}_changes();
			CREATE TABLE tmpl.${name}_by_name (id bigint DEFAULT $x.flake_id(1), name varchar DEFAULT 'x')
				PARTITION BY LIST (lower(name));
			CREATE TABLE tmpl.${name}_x PARTITION OF tmpl.${name}_by_name FOR VALUES IN ('x');
			ALTER TABLE tmpl.$name OWNER TO $owner;
			ALTER TABLE tmpl.${name}_by_name OWNER TO $owner;
			ALTER TABLE tmpl.${name}_x OWNER TO $owner});
	}

	# What each may call, bound by OID: for prepared statements, which look names
	# up again.
	$self->{wrapped} = {};
	foreach my $role (Mallory->callers)
	{
		my $session = $self->session($self->{dbname}, $role);

		foreach my $call ($self->calls($boss, $role))
		{
			my $s       = $home_of{$role};
			my $wrapper = "$s.call_" . ++$number;

			$session->request(
				"CREATE FUNCTION $wrapper() RETURNS int LANGUAGE sql BEGIN ATOMIC $call->{sql}; SELECT 1; END"
			)->{code}
			  and next;
			push @{ $self->{wrapped}{$role} },
			  { %$call, sql => "SELECT $wrapper()" };
		}
		foreach my $kind (qw(kept given))
		{
			$session->request(
				"SELECT $x.flake_lease('${kind}_$home_of{$role}', '1 hour', '$_')"
			) foreach "$x.flake_default", 'mal.g';
		}
		$session->close;
	}
	return;
}

=pod

=item $world->calls($helper, $role)

What that role is to call, as the catalogs have it now: references to hashes with
name, which says what is called, sql, and similar, which is the same with another
number, for another shard for instance, or does nothing if there is none.  The list in $world->{missing} is of
functions that nobody has given arguments for.

=cut

sub calls
{
	my ($self, $helper, $role) = @_;
	my @calls;
	my (%missing, %seen);
	my $x;
	my @functions = run($helper, $members);
	my @relations = run($helper, $relations);

	return () unless @relations;
	$x = $relations[0][2];
	foreach my $function (@functions)
	{
		my (undef, $name, $schema, $signature, $types, $is_variadic) =
		  @$function;
		my @types = split /\|/, $types;

		my $lists = $arguments{$signature};

		if (!$lists && $signature =~ /\((_flake_ticket, .*)\)$/)
		{
			my @by_type = map { $argument_of{$_} } split /, /, $1;

			$lists = [ [@by_type], [ 'NULL', @by_type[ 1 .. $#by_type ] ] ]
			  unless grep { !defined } @by_type;
		}
		$missing{$signature} = 1 unless $lists;
		foreach my $values (@{ $lists || [] })
		{
			my @values =
			  map { "CAST($values->[$_] AS $types[$_])" } 0 .. $#types;

			$values[-1] = "VARIADIC $values[-1]" if $is_variadic eq 't';
			my $title = $name . '(' . join(', ', @$values) . ')';
			my $sql   = sprintf 'SELECT %s.%s(%s)', $schema, $name, join ', ',
			  @values;

			$sql =~ s/\bnow\(\)/pg_catalog.now()/g;
			my $call = $self->call($title, $sql, $role, $x);
			push @calls, $call unless $seen{ $call->{sql} }++;
		}
	}
	foreach my $relation (@relations)
	{
		my (undef, $name, $schema, $kind) = @$relation;

		push @calls,
		  $self->call(
			($kind eq 'v' ? 'view' : 'table') . " $name",
			"SELECT * FROM $schema.$name", $role, $x) if $kind ne 'S';
	}
	$self->{missing} = [ sort keys %missing ];
	return @calls;
}

sub call
{
	my ($self, $name, $sql, $role, $x) = @_;
	# 4, 5 or 7 thousand more are no other call's, and of this role only.
	my $n = $number_of{$name} ||= 100 + keys %number_of;

	s/\{s\}/$home_of{$role}/g, s/\{r\}/$role/g, s/\{x\}/$x/g,
	  s/\{o\}/$self->{x}/g
	  foreach $sql;
	$name =~ s/\{x\}\.//g;
	return {
		name    => $name,
		sql     => $sql =~ s/\{n\}/$n/gr,
		similar => $sql =~ /\{n\}/
		? $sql =~ s/\{n\}/$n + 1000 * length $role/ger
		: 'SELECT',
		role => $role
	};
}

# Traps under every name that the extension has: in the schemas decoy_t and
# decoy_v, to be put in its place, with tables in place of tables, or views; and as
# statements to add what fits better to another schema.
sub lay_traps
{
	my ($self, $boss, $mallory) = @_;
	my $x       = $self->{x};
	my @schemas = $self->{role} eq 'minter' ? () : qw(decoy_t decoy_v);

	my @functions = run($boss, $members);
	my @relations = run($boss, $relations);
	foreach my $schema (@schemas)
	{
		my $sql =
		  "CREATE SCHEMA $schema; GRANT USAGE ON SCHEMA $schema TO PUBLIC;"
		  . join '', map {
			"CREATE DOMAIN $schema.$_->[0] AS $x.$_->[0] CHECK (mal.constant('type $_->[0]'));"
		  } run($boss, $types);

		foreach my $function (@functions)
		{
			my (undef, $name,    undef, $signature, undef, undef, $is_set,
				$type, $has_out, $arguments, $result) = @$function;
			my $return =
				 $is_set eq 't'
			  || $has_out eq 't'
			  || $type eq 'void' ? 'RETURN' : 'RETURN NULL';

			next if $signature =~ /cstring/ || $type eq 'cstring';
			$sql .=
			  "CREATE FUNCTION $schema.$name($arguments) RETURNS $result LANGUAGE plpgsql"
			  . " AS \$\$BEGIN PERFORM mal.spring('function $name'); $return; END\$\$;\n";
		}
		$sql .= $self->decoy_relation($boss, $schema, $_) foreach @relations;
		run($mallory, $sql);
	}
	$self->{looser} = [ $self->looser(\@functions) ];
	return;
}

sub decoy_relation
{
	my ($self, $boss, $schema, $relation) = @_;
	my ($oid,  $name, undef,   $kind)     = @$relation;

	return "CREATE SEQUENCE $schema.$name;\n" if $kind eq 'S';
	my @columns = run(
		$boss, qq{
		SELECT attname, CASE WHEN t.typnamespace = c.relnamespace THEN 'text' ELSE format_type(t.oid, NULL) END
		FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid JOIN pg_class c ON c.oid = a.attrelid
		WHERE attrelid = $oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum});

	if ($kind eq 'v' || $schema eq 'decoy_v')
	{
		return "CREATE VIEW $schema.$name AS SELECT " . join(
			', ',
			map {
				"CASE WHEN mal.spring('view $name') THEN NULL::$_->[1] END AS $_->[0]"
			} @columns)
		  . ";\nCREATE TRIGGER t INSTEAD OF INSERT OR UPDATE OR DELETE ON $schema.$name FOR EACH ROW EXECUTE FUNCTION mal.fire();\n"
		  . "GRANT ALL ON $schema.$name TO PUBLIC;\n";
	}
	my @keys = run(
		$boss, qq{
		SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint WHERE conrelid = $oid AND contype IN ('p', 'u')}
	);
	return "CREATE TABLE $schema.$name (" . join(
		', ', (map { "$_->[0] $_->[1]" } @columns),
		(map { "CONSTRAINT $_->[0] $_->[1]" } @keys))
	  . ");\n"
	  . decorations("$schema.$name", $columns[0][0]);
}

# All that is executed with a table.
sub decorations
{
	my ($table, $column) = @_;

	return qq{
		ALTER TABLE $table ADD CHECK (mal.constant('check on $table'));
		ALTER TABLE $table ADD sprung boolean DEFAULT mal.spring('default of $table');
		ALTER TABLE $table ADD fixed boolean GENERATED ALWAYS AS (mal.constant('column of $table')) STORED;
		ALTER TABLE $table ADD checked mal.checked DEFAULT 1;
		CREATE INDEX ON $table ((mal.constant('index on $table'))) WHERE mal.constant('predicate on $table');
		CREATE STATISTICS ${table}_statistics ON (mal.constant('statistics of $table')), $column FROM $table;
		CREATE TRIGGER t1 BEFORE INSERT OR UPDATE OR DELETE ON $table FOR EACH ROW EXECUTE FUNCTION mal.fire();
		CREATE TRIGGER t2 BEFORE INSERT OR UPDATE OR DELETE ON $table FOR EACH STATEMENT EXECUTE FUNCTION mal.fire();
		CREATE TRIGGER t3 AFTER INSERT OR UPDATE OR DELETE ON $table FOR EACH ROW EXECUTE FUNCTION mal.fire();
		CREATE POLICY p ON $table USING (mal.spring('policy on $table'));
		ALTER TABLE $table ENABLE ROW LEVEL SECURITY;
		GRANT ALL ON $table TO PUBLIC;
	};
}

# Statements that make functions and operators which fit better where an argument
# has not quite the declared type: of the extension's names, and of pg_catalog's
# that somebody may use.  {schema} is where.
sub looser
{
	my ($self, $functions) = @_;
	my %other = (
		regclass                   => 'oid',
		oid                        => 'regclass',
		integer                    => 'bigint',
		bigint                     => 'integer',
		text                       => 'name',
		name                       => 'text',
		interval                   => 'text',
		'timestamp with time zone' => 'timestamp without time zone');
	my %seen;
	my @statements;
	my @types = qw(regclass oid integer bigint name text varchar);

	foreach my $function (@$functions)
	{
		my (undef, $name, undef, undef, $types, undef, undef, undef, undef,
			undef, undef, $defaults) = @$function;
		my @types    = split /\|/, $types;
		my @variants = (
			[ map { $other{$_} || $_ } @types ], [ ('text') x @types ],
			[ ('anyelement') x @types ],         ['VARIADIC anyarray']);

		push @variants, [ @types[ 0 .. $#types - $_ ] ]
		  foreach 1 .. $defaults;
		foreach my $variant (@variants)
		{
			my $list = join ', ', @$variant;

			next if $list =~ /cstring/ || $seen{"$name $list"}++ || !@types;
			next
			  if grep { join('|', @$variant) eq $_->[4] && $_->[1] eq $name }
			  @$functions;
			push @statements,
			  "CREATE FUNCTION {schema}.$name($list) RETURNS boolean LANGUAGE plpgsql AS \$\$BEGIN RETURN mal.spring('overload $name($list)'); END\$\$";
		}
	}
	foreach my $left (@types)
	{
		foreach my $right (@types)
		{
			push @statements,
			  "CREATE FUNCTION {schema}.op($left, $right) RETURNS boolean LANGUAGE sql IMMUTABLE RETURN mal.constant('operator on $left, $right')";
			push @statements, map {
				"CREATE OPERATOR {schema}.$_ (LEFTARG = $left, RIGHTARG = $right, FUNCTION = {schema}.op)"
			} qw(= <> <= >= ||);
		}
	}
	my %catalog = (
		'array_append(text[], text)'      => 'text[]',
		'array_length(text[], int)'       => 'int',
		'format(text, text)'              => 'text',
		'format(text, name)'              => 'text',
		'format(text, text, text)'        => 'text',
		'format(text, name, name)'        => 'text',
		'left(name, int)'                 => 'text',
		'length(varchar)'                 => 'int',
		'length(name)'                    => 'int',
		'lower(varchar)'                  => 'text',
		'upper(varchar)'                  => 'text',
		'set_config(text, name, boolean)' => 'text',
		'quote_ident(name)'               => 'text',
		'jsonb_object_agg(text, text)'    => 'jsonb',
		'unnest(oid[])'                   => 'oid',
		'regclass(oid)'                   => 'regclass');
	foreach my $function (sort keys %catalog)
	{
		my $value = {
			'text[]' => "'{a}'::text[]", int => 1, jsonb => "'{}'::jsonb",
			oid      => '1::oid',        regclass => '1::regclass'
		}->{ $catalog{$function} }
		  || "'x'::text";

		push @statements,
		  "CREATE FUNCTION {schema}.$function RETURNS $catalog{$function} IMMUTABLE LANGUAGE plpgsql AS \$\$BEGIN PERFORM mal.constant('overload $function'); RETURN $value; END\$\$";
	}
	return @statements;
}

# What mallory can do.  In a chain each step needs the one before.
sub think_of_actions
{
	my ($self, $boss, $mallory) = @_;
	my $x         = $self->{x};
	my @relations = run($boss, $relations);
	my @tables    = map { $_->[1] } grep { $_->[3] eq 'r' } @relations;
	my @views     = map { $_->[1] } grep { $_->[3] eq 'v' } @relations;
	my @functions = run($boss, $members);
	my @put       = map { "ALTER TABLE decoy_t.$_ SET SCHEMA $x" } @tables;
	my @put_views = map { "ALTER VIEW decoy_v.$_ SET SCHEMA $x" } @tables,
	  @views;
	my @decoration =
	  map {
		(grep { /\S/ } split /;/, decorations($_, 'id')),
		  "CREATE RULE r AS ON UPDATE TO $_ DO ALSO SELECT mal.spring('rule on $_')"
	  } qw(mal.item mal.ids mal.part mal.spare mal.cart), $self->{role} eq 'minter' ? () : 'tmpl.cart';
	my %chains = (
		'put tables in another schema of the name' => [
			"ALTER SCHEMA $x RENAME TO away",
			"ALTER SCHEMA decoy_t RENAME TO $x"
		],
		'put views in another schema of the name' => [
			"ALTER SCHEMA $x RENAME TO away",
			"ALTER SCHEMA decoy_v RENAME TO $x"
		],
		'replace the extension by tables' =>
		  [ 'DROP EXTENSION flakeid CASCADE', @put ],
		'replace the extension by views' =>
		  [ 'DROP EXTENSION flakeid CASCADE', @put_views ],
		'replace the schema' =>
		  [ "DROP SCHEMA $x CASCADE", "ALTER SCHEMA decoy_v RENAME TO $x" ],
		'rename the template' => [
			'ALTER SCHEMA tmpl RENAME TO tmpl_away', 'CREATE SCHEMA tmpl',
			'GRANT USAGE ON SCHEMA tmpl TO PUBLIC',
			map { s/\{schema\}/tmpl/gr } @{ $self->{looser} }
		],
		'view in place of a table' => [
			map {
				(   "ALTER TABLE $_ RENAME TO gone",
					"CREATE VIEW $_ AS SELECT mal.spring('view $_')::int::bigint AS id",
					"ALTER VIEW $_ ALTER id SET DEFAULT 5",
					"GRANT ALL ON $_ TO PUBLIC")
			} $self->{role} eq 'minter' ? 'mal.ids' : 'tmpl.cart'
		],
		'view in place of a generator' => [
			'DROP SEQUENCE mal.g CASCADE',
			q{CREATE VIEW mal.g AS SELECT mal.spring('view g')::int::bigint AS last_value}
		]);
	my %single = (
		'overload the extension' =>
		  [ map { s/\{schema\}/$x/gr } @{ $self->{looser} } ],
		'overload the template' =>
		  [ map { s/\{schema\}/tmpl/gr } @{ $self->{looser} } ],
		'overload public' =>
		  [ map { s/\{schema\}/public/gr } @{ $self->{looser} } ],
		'add members' => [
			(map { "ALTER EXTENSION flakeid ADD TABLE decoy_t.$_" } @tables),
			(   map { "ALTER EXTENSION flakeid ADD VIEW decoy_v.$_" } @tables,
				@views),
			(   map {
					my $types = $_->[4] =~ s/\|/, /gr;
					"ALTER EXTENSION flakeid ADD FUNCTION decoy_t.$_->[1]($types)"
				  }
				  grep { $_->[3] !~ /cstring/ && $_->[7] ne 'cstring' }
				  @functions)
		],
		'decorate her tables'    => \@decoration,
		'recreate the extension' => [
			'DROP EXTENSION flakeid CASCADE',
			(   map  { s/\{schema\}/$x/gr }
				grep { !/\b$x\._?flake_/ } @{ $self->{looser} }),
			"CREATE EXTENSION flakeid SCHEMA $x"
		]);

	# These make sense only as a schema that is not the same one.
	delete $single{'overload public'} if $x eq 'public';
	delete $single{'add members'}     if $self->{role} eq 'minter';
	$self->{steps} = {};
	foreach my $action (sort keys %chains, keys %single)
	{
		my $is_chain = exists $chains{$action} ? 'true' : 'false';
		my @steps    = @{ $chains{$action} || $single{$action} };
		my $i        = 0;

		run($mallory,
			'INSERT INTO mal.deed VALUES ' . join ', ',
			map {
				sprintf q{('%s', %d, %s, $deed$%s$deed$)}, $action, ++$i,
				  $is_chain, $_
			} @steps);
		$self->{steps}{$action} = $i;
	}
	return;
}

=pod

=item $world->actions

Their names; $world->{steps} says how many statements each is.

=back

=cut

sub actions
{
	my ($self) = @_;

	return sort keys %{ $self->{steps} };
}

1;
