# Copyright (c) 2026, the flakeid developers

# Whoever may create something in the extension's schema makes functions that have the
# names of the extension's own, and arguments that fit a careless call better: of another
# type in one place, or without those that have defaults.  Nothing of the extension calls
# one, and neither does a statement that it returns (G4 in src/trust/guard.c).  Nor does a
# function in PL/pgSQL keep what a name of the schema meant when it was compiled (G5).

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;

my $node = start_server('main',
	conf => 'log_min_messages = log',
	sql => 'CREATE ROLE mallory; CREATE ROLE alice');

# Of each function whose name matches; a call is an error that names it.
my $traps = <<'SQL';
SET client_min_messages = warning;
CREATE FUNCTION make_traps(names text) RETURNS int LANGUAGE plpgsql AS $do$
DECLARE
	f record;
	type text;
	arguments text[];
	made int := 0;
BEGIN
	FOR f IN
		SELECT p.pronamespace::regnamespace::text AS schema, p.proname, p.proargtypes::regtype[]::text[] AS types, p.prokind, i AS place,
			CASE WHEN p.prokind = 'f' THEN 'RETURNS ' || CASE WHEN p.proretset THEN 'SETOF ' ELSE '' END || p.prorettype::regtype END AS result
		FROM pg_depend d
		JOIN pg_proc p ON d.classid = 'pg_proc'::regclass AND p.oid = d.objid
		CROSS JOIN generate_series(-p.pronargdefaults, p.pronargs - 1) AS i
		WHERE d.refclassid = 'pg_extension'::regclass AND d.deptype = 'e' AND p.proname ~ names
		  AND d.refobjid = (SELECT oid FROM pg_extension WHERE extname = 'flakeid')
	LOOP
		FOREACH type IN ARRAY CASE WHEN f.place < 0 THEN '{fewer}'::text[]
			ELSE CASE f.types[f.place]
				WHEN 'oid' THEN '{regclass,regrole,regnamespace,regtype,regproc,bigint,int,text}'
				WHEN 'oid[]' THEN '{regclass[],regrole[],regtype[],oidvector,anyarray,text}'
				WHEN 'bigint' THEN '{int,smallint,numeric,text}'
				WHEN 'integer' THEN '{smallint,bigint,numeric,text}'
				WHEN 'name' THEN '{text,varchar,"char",anyelement}'
				WHEN 'text' THEN '{name,varchar,"char",anyelement}'
				WHEN 'name[]' THEN '{text[],varchar[],anyarray,text}'
				WHEN 'text[]' THEN '{name[],varchar[],anyarray,text}'
				WHEN 'timestamp with time zone' THEN '{timestamp,date,text}'
				WHEN 'regclass' THEN '{oid,text,name}'
				WHEN 'boolean' THEN '{text,anyelement}'
				WHEN 'jsonb' THEN '{json,text}'
				WHEN 'pg_node_tree' THEN '{text,anyelement}'
				WHEN 'interval' THEN '{time,text}'
				WHEN 'integer[]' THEN '{bigint[],anyarray,text}'
				WHEN 'bigint[]' THEN '{int[],anyarray,text}'
				WHEN 'smallint[]' THEN '{int[],anyarray,int2vector,text}'
				ELSE '{text,anyelement}' END::text[]
			END
		LOOP
			arguments := ARRAY(SELECT CASE n WHEN f.place + 1 THEN type ELSE t END FROM unnest(f.types) WITH ORDINALITY AS u (t, n)
				WHERE n <= cardinality(f.types) + least(f.place, 0) ORDER BY n);
			CONTINUE WHEN to_regprocedure(format('%s.%I(%s)', f.schema, f.proname, array_to_string(arguments, ','))) IS NOT NULL;
			BEGIN
				EXECUTE format('CREATE %s %s.%I(%s) %s LANGUAGE plpgsql AS $x$ BEGIN RAISE LOG ''TRAP %s, %s''; RAISE EXCEPTION ''TRAP''; END $x$',
					CASE f.prokind WHEN 'p' THEN 'PROCEDURE' ELSE 'FUNCTION' END, f.schema, f.proname, array_to_string(arguments, ','),
					f.result, f.proname, array_to_string(arguments, ' '));
				made := made + 1;
			EXCEPTION WHEN feature_not_supported OR invalid_function_definition THEN
				NULL;		-- as those that read a type from text
			END;
		END LOOP;
	END LOOP;
	RETURN made;
END $do$;
SQL

# What was called, by the log since the last look.
my $seen = 0;
sub sprung
{
	my %sprung = map { $_ => 1 } slurp_file($node->logfile, $seen) =~ /LOG:  (TRAP [a-z_]+, .*)/g;

	$seen = -s $node->logfile;
	return join '; ', sort keys %sprung;
}

#
# All functions: calls with all arguments, of the declared types
#

$node->safe_psql('postgres', 'CREATE DATABASE all_traps');
my $made = $node->safe_psql('all_traps', "CREATE SCHEMA ext; GRANT CREATE ON SCHEMA ext TO mallory; CREATE EXTENSION flakeid SCHEMA ext; $traps SELECT make_traps('')");
cmp_ok($made, '>', 1000, 'functions that fit a careless call better');
note "$made of them";
$node->psql('all_traps', 'SELECT ext.flake_id(5::smallint)');
is(sprung(), 'TRAP flake_id, smallint', 'one that is called is noticed');

my @calls = (
	q{CREATE SCHEMA s; CREATE TABLE s.p (id serial PRIMARY KEY, x int CHECK (x > 0), u text); CREATE TABLE s.c (id serial PRIMARY KEY, p int REFERENCES s.p);
	CREATE INDEX ON s.p ((id + 1)); CREATE VIEW s.v AS SELECT id, x FROM s.p; CREATE VIEW s.w AS SELECT * FROM s.v WHERE id > 3;
	CREATE TABLE s.i (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY); CREATE STATISTICS s.st ON (id % 10), x FROM s.p;
	CREATE TABLE s.o (id int DEFAULT 1); CREATE SEQUENCE s.kept; CREATE TABLE s.k (id int DEFAULT nextval('s.kept')); ALTER SEQUENCE s.kept OWNED BY s.k.id;
	INSERT INTO s.p (x) VALUES (1), (2); INSERT INTO s.c (p) VALUES (1)},
	q{SELECT ext.flake_migrate('s.p'::regclass, 'id'::name, 3, 'ext.flake_default'::regclass, true, false)},
	q{SELECT ext.flake_migrate('s.p'::regclass, 'id'::name, 3, 'ext.flake_default'::regclass, false, true)},
	q{SELECT ext.flake_migrate('s.i'::regclass, 'id'::name, 3, 'ext.flake_default'::regclass, false, false)},
	q{CALL ext.flake_migrate_all(ARRAY['s']::name[], 3, 'ext.flake_default'::regclass, true, false)},
	q{CALL ext.flake_migrate_all(ARRAY['s']::name[], 3, 'ext.flake_default'::regclass, false, false)},
	q{CREATE SCHEMA tmpl;
	CREATE TABLE tmpl.a (id bigint PRIMARY KEY DEFAULT ext.flake_id(1) CHECK (ext.flake_shard(id, 'instagram'::ext.flake_layout) = 1), s serial, i int GENERATED BY DEFAULT AS IDENTITY, z text, r bigint REFERENCES s.i);
	CREATE TABLE tmpl.part (id bigint, k int) PARTITION BY RANGE (id); CREATE TABLE tmpl.part1 PARTITION OF tmpl.part FOR VALUES FROM (1) TO (10);
	CREATE STATISTICS tmpl.st2 ON s, i FROM tmpl.a; CREATE INDEX ON tmpl.a ((z || 'x')); COMMENT ON TABLE tmpl.a IS 'x'; GRANT SELECT ON tmpl.a TO alice},
	q{SELECT ext.flake_create_shard(5, 'tmpl'::name, NULL::name)},
	q{SELECT ext.flake_renumber(ARRAY[3], ARRAY[9], 'ext.flake_default'::regclass, true, '{}'::regrole[]) \gexec},
	q{SELECT ext.flake_renumber(ARRAY[9], ARRAY[10], 'ext.flake_default'::regclass, false, '{}'::regrole[])},
	q{INSERT INTO s.p (x) VALUES (7)},
	q{SELECT ext.flake_replace_ids('s.p'::regclass, 'id'::name, 100::bigint, 3, 'ext.flake_default'::regclass, true)},
	q{SELECT ext.flake_attach(3, NULL::bigint, 'ext.flake_default'::regclass)},
	q{SELECT ext.flake_replace_ids('s.p'::regclass, 'id'::name, 100::bigint, 3, 'ext.flake_default'::regclass, false)},
	q{CREATE TABLE s.ev (id bigint DEFAULT ext.flake_id(3), x int) PARTITION BY RANGE (id)},
	q{CREATE TABLE s.evu (id uuid DEFAULT ext.flake_uuidv7(3), x int) PARTITION BY RANGE (id)},
	(map {
		my ($table, $layout) = @$_;
		(
			qq{SELECT ext.flake_create_partitions('$table'::regclass, interval '1 day', '2026-01-01Z'::timestamptz, '2026-01-04Z'::timestamptz, $layout, 'UTC'::text)},
			qq{SELECT ext.flake_drop_partitions('$table'::regclass, '2026-01-02Z'::timestamptz, $layout, false)},
			qq{SELECT ext.flake_drop_partitions('$table'::regclass, '2026-01-03Z'::timestamptz, $layout, true) \\gexec})
	} [ 's.ev', q{'instagram'::ext.flake_layout} ], [ 's.evu', q{ext.flake_layout_of('ext.flake_default_uuidv7'::regclass)} ]),
	(map { "SELECT FROM ext.$_" } qw(flake_health flake_generators flake_migration flake_stat flake_unsettled flake_shards flake_leases flake_presets flake_shard_map)),
	q{SELECT ext.flake_detach_all('ext.flake_default'::regclass)},
);
foreach my $call (@calls)
{
	my (undef, undef, $stderr) = $node->psql('all_traps', $call, on_error_stop => 1);

	unlike($stderr, qr/ERROR/, "with functions that fit better: $call");
}
is(sprung(), '', 'none of them was called');

#
# Internal functions: with all that the tests in SQL do
#

$node->safe_psql('postgres', 'CREATE DATABASE tests');
$node->safe_psql('tests', 'CREATE EXTENSION flakeid; ' . $traps . q{SELECT make_traps('^_flake'); DROP FUNCTION make_traps});
$ENV{PG_ABS_SRCDIR} = "$FindBin::RealBin/..";
foreach my $test (qw(install migrate migrate_kept partition replace_ids copies create_shard))
{
	my $sql = slurp_file("sql/$test.sql");

	$sql =~ s/^CREATE EXTENSION .*//mg if $test eq 'install';
	$sql =~ s/^.*\b_flake_(?:copy_index|execute_as|migrate_guarded)\(.*//mg;	# called by the test
	my (undef, undef, $stderr) = $node->psql('tests', $sql, on_error_stop => 0);
	is(sprung(), '', "sql/$test.sql calls none of them");
	unlike($stderr, qr/ERROR:  function \S*_flake_\w+\([^)]*\) is not unique/, "sql/$test.sql: nor is it unclear which is meant");
}

#
# G5: code of hers renames the schema, and has a function compiled
#

$node->safe_psql('postgres', 'CREATE DATABASE compiled OWNER mallory');
$node->safe_psql('compiled', 'CREATE EXTENSION flakeid');	# in "public", which is the database owner's
$node->safe_psql(
	'compiled', q{
	SET ROLE mallory;
	CREATE SCHEMA mal;
	GRANT USAGE ON SCHEMA mal TO PUBLIC;
	CREATE SCHEMA fake;
	GRANT USAGE ON SCHEMA fake TO PUBLIC;
	CREATE FUNCTION mal.evil(public.flake_layout) RETURNS boolean LANGUAGE plpgsql AS $$
	BEGIN
		RAISE LOG 'TRAP flake_layout, as %', current_user;
		RETURN true;
	END $$;
	CREATE DOMAIN fake.flake_layout AS public.flake_layout CHECK (mal.evil(VALUE));
	CREATE FUNCTION mal.compile() RETURNS void LANGUAGE plpgsql AS $$
	BEGIN
		ALTER SCHEMA public RENAME TO away;
		ALTER SCHEMA fake RENAME TO public;
		BEGIN
			EXECUTE $q$SELECT away._flake_copy_mints(away._flake_guard('away'), 5, 'x'::name, 'y'::text, '{}'::oid[])$q$;
		EXCEPTION WHEN OTHERS THEN
			RAISE LOG 'compiled: %', SQLERRM;
		END;
		ALTER SCHEMA public RENAME TO fake;
		ALTER SCHEMA away RENAME TO public;
	END $$;
	CREATE FUNCTION mal.key(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
		IF session_user <> 'mallory' AND current_setting('mal.done', true) IS NULL THEN
			PERFORM set_config('mal.done', '1', true);
			PERFORM mal.compile();
		END IF;
		RETURN $1;
	END $$;
	CREATE TABLE mal.a (x int);
	RESET ROLE; SET SESSION AUTHORIZATION mallory;
	CREATE INDEX ON mal.a ((x + mal.key(1)));
	INSERT INTO mal.a VALUES (1);
});
is( $node->safe_psql(
		'compiled', q{
		CREATE SCHEMA app;
		CREATE TABLE app.orders (id bigint PRIMARY KEY DEFAULT public.flake_id(1), x int);
		ANALYZE mal.a;
		SELECT public.flake_create_shard(7, 'app')}),
	'app_7', 'a shard is created');
like(slurp_file($node->logfile, $seen), qr/compiled: /, 'after a function was compiled by her');
is(sprung(), '', 'nothing of hers is executed');

$node->stop;
done_testing();
