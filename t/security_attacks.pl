# Copyright (c) 2026, the flakeid developers

# Attacks that once worked do not work any more.  Each had mallory's code executed
# with the rights of a superuser who called a function of flakeid.  Each has a
# database of its own here.  Most act within the call, by an expression of hers
# that PostgreSQL evaluates as her.
#
# A trap writes into the server's log, which no rollback empties, as whom it runs.

use strict;
use warnings;

use FindBin;
use lib "$FindBin::RealBin/lib";
use FlakeTest;
use PostgreSQL::Test::Utils;
use Test::More;
use Time::HiRes qw(usleep);

my $node = start_server(
	'main',
	conf => 'log_min_messages = log',
	sql => 'CREATE ROLE mallory; CREATE ROLE alice; CREATE ROLE member NOINHERIT IN ROLE alice');

# trap(n) is executed when its call is evaluated; act(n) does what mallory has put
# into the function mal.deed(), once it can.  Both also as constants, which the
# planner evaluates.
$node->safe_psql('postgres', 'CREATE DATABASE armed OWNER mallory');
$node->safe_psql(
	'armed', q{
	SET ROLE mallory;
	CREATE SCHEMA ext;
	RESET ROLE;
	CREATE EXTENSION flakeid SCHEMA ext;
	GRANT USAGE ON SCHEMA ext TO PUBLIC;
	SET ROLE mallory;
	CREATE SCHEMA tmpl;
	CREATE SCHEMA mal;
	GRANT USAGE ON SCHEMA mal TO PUBLIC;
	CREATE TABLE mal.armed ();
	CREATE FUNCTION mal.trap(n bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
		RAISE LOG 'trap % as %', n, current_user;
		RETURN true;
	END $$;
	CREATE FUNCTION mal.deed() RETURNS void LANGUAGE plpgsql AS 'BEGIN END';
	CREATE FUNCTION mal.act(n bigint) RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
	BEGIN
		PERFORM mal.deed();
		RETURN true;
	END $$;
	CREATE TABLE mal.plain (id bigint PRIMARY KEY, b int);
	CREATE INDEX ON mal.plain (b) WHERE mal.act(1);
});

# What puts a table of hers that acts into the template.
my $acting = 'CREATE TABLE tmpl.m (id bigint PRIMARY KEY, b int);'
  . ' CREATE INDEX ON tmpl.m (b) WHERE mal.act(1);';
my $shard = q{SELECT ext.flake_create_shard(1, 'tmpl')};

# Once the superuser's copy is there, she replaces it.
sub replace
{
	my ($table, $by) = @_;

	return "IF (SELECT relowner <> 'mallory'::regrole FROM pg_class WHERE oid = to_regclass('$table'))"
	  . " THEN RAISE LOG 'deed done'; DROP TABLE $table; $by END IF;";
}

# name => as superuser, as mallory after that, what she does, the call, the
# codes that it may end with ('' for none), whether her deed must have been done
my @attacks = (
	[
		'a copy is replaced',
		'CREATE TABLE tmpl.s (id bigint NOT NULL DEFAULT ext.flake_id(0), x bigint)',
		"CREATE TYPE mal.e AS ENUM ('a');"
		  . ' CREATE FUNCTION mal.c(mal.e) RETURNS bigint IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(1); RETURN 0; END$$;'
		  . " CREATE CAST (mal.e AS bigint) WITH FUNCTION mal.c(mal.e) AS IMPLICIT; $acting",
		replace(
			'tmpl_1.s',
			q{CREATE TABLE tmpl_1.s (id mal.e, x bigint); INSERT INTO tmpl_1.s VALUES ('a', 1);}
		),
		$shard,
		'55000',
		1
	],
	[
		'a copied partition is replaced',
		'CREATE TABLE tmpl.p (id bigint NOT NULL DEFAULT ext.flake_id(0)) PARTITION BY RANGE (id);'
		  . ' CREATE TABLE tmpl.p1 PARTITION OF tmpl.p FOR VALUES FROM (0) TO (1000)',
		$acting,
		replace(
			'tmpl_1.p1',
			'CREATE TABLE tmpl_1.p1 (id bigint NOT NULL, CHECK (mal.trap(2)));'
		),
		$shard,
		'55000',
		1
	],
	[
		'a copy that is referred to is replaced',
		'CREATE TABLE tmpl.r (id bigint PRIMARY KEY);'
		  . ' CREATE TABLE tmpl.s (id bigint NOT NULL DEFAULT ext.flake_id(0), x bigint REFERENCES tmpl.r)',
		$acting,
		replace(
			'tmpl_1.r',
			'CREATE TABLE tmpl_1.r (id bigint PRIMARY KEY, b int); CREATE INDEX ON tmpl_1.r (b) WHERE mal.trap(3);'
		),
		$shard,
		'55000',
		1
	],
	[
		'a guest leaves something in the schema',
		'CREATE TABLE tmpl.s (id bigint NOT NULL DEFAULT ext.flake_id(0)); ALTER SCHEMA tmpl OWNER TO CURRENT_USER; GRANT USAGE ON SCHEMA tmpl TO mallory;'
		  . ' ALTER TABLE mal.plain SET SCHEMA tmpl',
		'SELECT 1',
		q{IF to_regnamespace('tmpl_1') IS NOT NULL AND to_regprocedure('tmpl_1.lower(varchar)') IS NULL THEN RAISE LOG 'deed done';}
		  . q{ CREATE FUNCTION tmpl_1.lower(varchar) RETURNS text LANGUAGE sql AS 'SELECT $1'; END IF;},
		$shard,
		'55000',
		1
	],
	[
		'a foreign key to a table of hers, shard',
		'CREATE TABLE tmpl.s (id bigint NOT NULL DEFAULT ext.flake_id(0), x bigint)',
		'CREATE TABLE tmpl.m (id bigint PRIMARY KEY, b int); GRANT REFERENCES ON tmpl.m TO PUBLIC',
		'',
		"ALTER TABLE tmpl.s ADD FOREIGN KEY (x) REFERENCES tmpl.m; SET ROLE mallory; CREATE INDEX ON tmpl.m (b) WHERE mal.trap(4); RESET ROLE; $shard",
		'0A000'
	],
	[
		'a partition of hers, shard',
		'CREATE TABLE tmpl.p (id bigint NOT NULL DEFAULT ext.flake_id(0)) PARTITION BY RANGE (id);'
		  . ' CREATE TABLE tmpl.p1 PARTITION OF tmpl.p FOR VALUES FROM (0) TO (1000); ALTER TABLE tmpl.p1 OWNER TO mallory',
		'ALTER TABLE tmpl.p1 ADD CHECK (mal.trap(5))',
		'',
		$shard,
		'0A000'
	],
	[
		'the default partition is hers',
		'CREATE TABLE public.p (id bigint NOT NULL) PARTITION BY RANGE (id);'
		  . ' CREATE TABLE mal.d PARTITION OF public.p DEFAULT; ALTER TABLE mal.d OWNER TO mallory',
		'ALTER TABLE mal.d ADD CHECK (mal.trap(6))',
		'',
		q{SELECT ext.flake_create_partitions('public.p', '1 day', '2026-01-01', '2026-01-02')},
		'0A000'
	],
	[
		'the default partition is hers, and has partitions',
		'CREATE TABLE public.p (id bigint NOT NULL) PARTITION BY RANGE (id);'
		  . ' CREATE TABLE mal.d PARTITION OF public.p DEFAULT PARTITION BY LIST (id); ALTER TABLE mal.d OWNER TO mallory',
		'SELECT 1',
		'',
		q{SELECT ext.flake_create_partitions('public.p', '1 day', '2026-01-01', '2026-01-02')},
		'0A000'
	],
	[
		'a foreign key of hers to a partition',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02'); GRANT REFERENCES ON public.p TO mallory},
		'CREATE TABLE mal.fk (x bigint REFERENCES public.p, b int); CREATE INDEX ON mal.fk (b) WHERE mal.trap(7)',
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'0A000'
	],
	[
		'a partition of hers that is referred to',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02');}
		  . ' CREATE TABLE public.fk (x bigint REFERENCES public.p); ALTER TABLE public.p_p20250101 OWNER TO mallory; GRANT USAGE ON SCHEMA public TO mallory',
		'CREATE INDEX ON public.p_p20250101 ((id > 0 AND mal.trap(15)))',
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'0A000'
	],
	[
		'a policy of hers on a table that refers to a partition',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02');}
		  . ' GRANT REFERENCES ON public.p TO mallory; CREATE ROLE bob; ALTER TABLE public.p OWNER TO bob; ALTER TABLE public.p_p20250101 OWNER TO bob',
		'CREATE TABLE mal.fk (x bigint REFERENCES public.p); ALTER TABLE mal.fk ENABLE ROW LEVEL SECURITY;'
		  . ' CREATE POLICY y ON mal.fk USING (mal.trap(16)); GRANT SELECT ON mal.fk TO PUBLIC',
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'0A000'
	],
	[
		'a partition key of hers, of the parent of the parent',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id); ALTER TABLE public.p ADD a int;'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02');}
		  . ' CREATE TABLE public.fk (x bigint REFERENCES public.p); CREATE TABLE mal.grand (id bigint NOT NULL, a int) PARTITION BY LIST ((id > 0 AND mal.trap(17)));'
		  . ' ALTER TABLE mal.grand ATTACH PARTITION public.p FOR VALUES IN (true); ALTER TABLE mal.grand OWNER TO mallory',
		'SELECT 1',
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'0A000'
	],
	[
		'a partition key of hers, of the parent of what refers to a partition',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02');}
		  . ' CREATE TABLE public.fk (x bigint REFERENCES public.p, a int) PARTITION BY LIST (a); CREATE TABLE public.fk1 PARTITION OF public.fk DEFAULT;'
		  . ' CREATE TABLE mal.grand (x bigint, a int) PARTITION BY LIST ((x > 0 AND mal.trap(21)));'
		  . ' ALTER TABLE mal.grand ATTACH PARTITION public.fk FOR VALUES IN (true); ALTER TABLE mal.grand OWNER TO mallory',
		'SELECT 1',
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'0A000'
	],
	[
		'a partition key of hers, of the parent of what is referred to, shard',
		'CREATE TABLE public.r (x bigint PRIMARY KEY, a int) PARTITION BY RANGE (x); CREATE TABLE public.r1 PARTITION OF public.r DEFAULT;'
		  . ' CREATE TABLE mal.grand (x bigint NOT NULL, a int) PARTITION BY LIST ((x > 0 AND mal.trap(22)));'
		  . ' ALTER TABLE mal.grand ATTACH PARTITION public.r FOR VALUES IN (true); ALTER TABLE mal.grand OWNER TO mallory;'
		  . ' CREATE TABLE tmpl.t (id bigint DEFAULT ext.flake_id(0), r bigint REFERENCES public.r)',
		'SELECT 1',
		'',
		$shard,
		'0A000'
	],
	[
		'a foreign key of hers, migrated',
		'CREATE TABLE public.t (id serial PRIMARY KEY); GRANT REFERENCES ON public.t TO mallory',
		'CREATE TABLE mal.fk (x int REFERENCES public.t, b int); CREATE INDEX ON mal.fk (b) WHERE mal.trap(8)',
		'',
		q{SELECT ext.flake_migrate('public.t', 'id', 1)},
		'0A000'
	],
	[
		'an inheritor of hers, migrated',
		'CREATE TABLE public.u (id serial); CREATE TABLE mal.uc () INHERITS (public.u);'
		  . ' INSERT INTO mal.uc VALUES (41); ALTER TABLE mal.uc OWNER TO mallory',
		'ALTER TABLE mal.uc ADD CHECK (mal.trap(id)); CREATE INDEX ON mal.uc (id) WHERE mal.trap(9)',
		'',
		q{SELECT ext.flake_migrate('public.u', 'id', 1)},
		'0A000'
	],
	[
		'an index of a function that would fit better, migrated',
		'CREATE SCHEMA shared; GRANT ALL ON SCHEMA shared TO mallory;'
		  . ' CREATE FUNCTION shared.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS $$SELECT 1$$;'
		  . ' CREATE TABLE public.t (id serial, b int); INSERT INTO public.t DEFAULT VALUES; CREATE INDEX ON public.t ((shared.f(id)))',
		'CREATE FUNCTION shared.f(bigint) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(24); RETURN 1; END$$',
		'',
		q{SELECT ext.flake_migrate('public.t', 'id', 1); ANALYZE public.t},
		'0A000'
	],
	[
		'a check of a function that would fit better, migrated',
		'CREATE SCHEMA shared; GRANT ALL ON SCHEMA shared TO mallory;'
		  . ' CREATE FUNCTION shared.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS $$SELECT 1$$;'
		  . ' CREATE TABLE public.t (id serial, b int); INSERT INTO public.t DEFAULT VALUES; ALTER TABLE public.t ADD CHECK (shared.f(id) > 0)',
		'CREATE FUNCTION shared.f(bigint) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(25); RETURN 1; END$$',
		'',
		q{SELECT ext.flake_migrate('public.t', 'id', 1); ANALYZE public.t},
		'0A000'
	],
	[
		'statistics of a function that would fit better, migrated',
		'CREATE SCHEMA shared; GRANT ALL ON SCHEMA shared TO mallory;'
		  . ' CREATE FUNCTION shared.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS $$SELECT 1$$;'
		  . ' CREATE TABLE public.t (id serial, b int); INSERT INTO public.t DEFAULT VALUES; CREATE STATISTICS public.s ON (shared.f(id)), b FROM public.t',
		'CREATE FUNCTION shared.f(bigint) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(26); RETURN 1; END$$',
		'',
		q{SELECT ext.flake_migrate('public.t', 'id', 1); ANALYZE public.t},
		'0A000'
	],
	[
		'an index of a function that might fit better by then, migrated',
		'CREATE SCHEMA shared; GRANT ALL ON SCHEMA shared TO mallory;'
		  . ' CREATE FUNCTION shared.f(int) RETURNS int IMMUTABLE LANGUAGE sql AS $$SELECT 1$$;'
		  . ' CREATE TABLE public.t (id serial, b int); INSERT INTO public.t DEFAULT VALUES; CREATE INDEX ON public.t ((shared.f(id)))',
		'SELECT 1',
		'',
		q{SELECT ext.flake_migrate('public.t', 'id', 1); ANALYZE public.t},
		'0A000'
	],
	[
		'a sequence that her table uses is not dropped',
		'CREATE SEQUENCE public.invoices; GRANT USAGE ON SCHEMA public TO mallory',
		q{CREATE TABLE mal.t (id int DEFAULT nextval('public.invoices'))},
		'',
		q{SELECT ext.flake_migrate('mal.t', 'id', 1, drop_sequence => true)},
		'42501'
	],
	[
		'a domain gets a check meanwhile',
		'SELECT 1',
		'CREATE DOMAIN mal.dom AS int; CREATE TABLE mal.t (id serial, b int); INSERT INTO mal.t DEFAULT VALUES;'
		  . q{ CREATE VIEW mal.v AS SELECT id, '{1}'::mal.dom[] AS d FROM mal.t; CREATE INDEX ON mal.t (b) WHERE mal.act(1)},
		q{IF to_regclass('mal.v') IS NULL AND NOT EXISTS (SELECT FROM pg_constraint WHERE contypid = 'mal.dom'::regtype)}
		  . q{ THEN ALTER DOMAIN mal.dom ADD CHECK (mal.trap(10)); END IF;},
		q{SELECT ext.flake_migrate('mal.t', 'id', 1)},
		'0A000|55000'
	],
	[
		'a type is replaced by a domain',
		'SELECT 1',
		q{CREATE TYPE mal.e AS ENUM ('a'); CREATE TABLE mal.t (id serial, b int); INSERT INTO mal.t DEFAULT VALUES;}
		  . q{ CREATE VIEW mal.v AS SELECT id, '{a}'::mal.e[] AS d FROM mal.t; CREATE INDEX ON mal.t (b) WHERE mal.act(1)},
		q{IF to_regclass('mal.v') IS NULL AND to_regtype('mal.e2') IS NULL THEN}
		  . q{ ALTER TYPE mal.e RENAME TO e2; CREATE DOMAIN mal.e AS text CHECK (mal.trap(11)); END IF;},
		q{SELECT ext.flake_migrate('mal.t', 'id', 1)},
		'0A000|55000'
	],
	[
		'the search for the largest id renames the extension\'s schema',
		'SELECT 1',
		'CREATE TABLE mal.t (id serial, b int); INSERT INTO mal.t DEFAULT VALUES; CREATE INDEX ON mal.t (b) WHERE mal.act(1)',
		q{IF to_regnamespace('away') IS NULL THEN RAISE LOG 'deed done'; ALTER SCHEMA ext RENAME TO away; CREATE SCHEMA ext;}
		  . q{ CREATE FUNCTION ext._flake_floor(timestamptz, away.flake_layout) RETURNS bigint LANGUAGE plpgsql AS 'BEGIN PERFORM mal.trap(12); RETURN 5; END';}
		  . q{ CREATE FUNCTION ext.flake_advance(regclass, bigint) RETURNS void LANGUAGE plpgsql AS 'BEGIN PERFORM mal.trap(13); END'; END IF;},
		q{SELECT ext.flake_migrate('mal.t', 'id', 1)},
		'55000',
		1
	],
	[
		'what PL/pgSQL has compiled keeps to her search_path',
		'CREATE TABLE public.p (id bigint NOT NULL) PARTITION BY RANGE (id); CREATE TABLE public.t (id serial);'
		  . ' CREATE SCHEMA other; CREATE TABLE other.s (id bigint NOT NULL DEFAULT ext.flake_id(0))',
		join(' ',
			'CREATE TYPE mal.record AS (a int);',
			map { "CREATE DOMAIN mal.$_ AS pg_catalog.$_ CHECK (mal.trap(20));" }
			  qw(jsonb name oid regclass text timestamptz)),
		'',
		'SET search_path = mal, pg_catalog; SELECT plpgsql_validator(p.oid) FROM pg_proc p JOIN pg_language l ON l.oid = prolang'
		  . q{ WHERE lanname = 'plpgsql' AND pronamespace = 'ext'::regnamespace; RESET search_path;}
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02');}
		  . q{ SELECT ext.flake_drop_partitions('public.p', '2025-03-01'); SELECT ext.flake_migrate('public.t', 'id', 1);}
		  . q{ SELECT ext.flake_create_shard(2, 'other')},
		'none'
	],
	[
		'a function that fits better, in a schema in which she may create nothing any more',
		'CREATE SCHEMA shared; GRANT ALL ON SCHEMA shared TO alice, mallory;'
		  . ' SET ROLE alice; CREATE FUNCTION shared.f(anyelement) RETURNS int IMMUTABLE LANGUAGE sql AS $$SELECT 1$$; RESET ROLE;'
		  . ' CREATE SCHEMA other; GRANT ALL ON SCHEMA other TO alice; CREATE TABLE other.p (n int) PARTITION BY RANGE ((n + shared.f(1::smallint)));'
		  . ' ALTER TABLE other.p OWNER TO alice; CREATE TABLE other.t (id bigint DEFAULT ext.flake_id(0))',
		'CREATE FUNCTION shared.f(smallint) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(23); RETURN 1; END$$',
		'',
		q{REVOKE ALL ON SCHEMA shared FROM mallory; SELECT ext.flake_create_shard(5, 'other')},
		'0A000'
	],
	[
		'a policy that executes text, on a table that refers to a partition',
		'CREATE ROLE bob_a; CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02');}
		  . ' GRANT REFERENCES ON public.p TO mallory; ALTER TABLE public.p OWNER TO bob_a; ALTER TABLE public.p_p20250101 OWNER TO bob_a',
		'CREATE TABLE mal.fk (x bigint REFERENCES public.p); ALTER TABLE mal.fk ENABLE ROW LEVEL SECURITY; GRANT SELECT ON mal.fk TO PUBLIC;'
		  . q{ CREATE POLICY y ON mal.fk USING (query_to_xml('SELECT mal.trap(27)', true, true, '') IS NOT NULL)},
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'0A000'
	],
	[
		'a foreign key of hers to a partition, concurrently',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02'); GRANT REFERENCES ON public.p TO mallory},
		'CREATE TABLE mal.fk (x bigint REFERENCES public.p, b int); CREATE INDEX ON mal.fk (b) WHERE mal.trap(28)',
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01', concurrently => true)},
		'0A000'
	],
	[
		'partitions of hers, concurrently',
		'SELECT 1',
		'CREATE TABLE mal.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('mal.p', '1 day', '2025-01-01', '2025-01-02');}
		  . ' ALTER TABLE mal.p_p20250101 ADD CHECK (mal.trap(35))',
		'',
		q{SELECT * FROM ext.flake_drop_partitions('mal.p', '2025-03-01', concurrently => true) \gexec},
		'0A000'
	],
	[
		'partitions of hers, concurrently, by herself',
		'SELECT 1',
		'CREATE TABLE mal.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('mal.p', '1 day', '2025-01-01', '2025-01-02');}
		  . ' ALTER TABLE mal.p_p20250101 ADD CHECK (mal.trap(37))',
		'',
		q{SET ROLE mallory;
		SELECT * FROM ext.flake_drop_partitions('mal.p', '2025-03-01', concurrently => true) \gexec
		SELECT 1 / (to_regclass('mal.p_p20250101') IS NULL)::int;},
		'none'
	],
	[
		'a partition of hers, concurrently',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02'); ALTER TABLE public.p_p20250101 OWNER TO mallory},
		'ALTER TABLE public.p_p20250101 ADD CHECK (mal.trap(36))',
		'',
		q{SELECT * FROM ext.flake_drop_partitions('public.p', '2025-03-01', concurrently => true) \gexec},
		'0A000'
	],
	[
		'a partition of hers to which she can add a check, concurrently',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02'); ALTER TABLE public.p_p20250101 OWNER TO mallory},
		'SELECT 1',
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01', concurrently => true)},
		'0A000'
	],
	[
		'a schema of hers, which she can rename, with partitions, concurrently',
		'ALTER SCHEMA tmpl OWNER TO mallory; CREATE TABLE tmpl.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('tmpl.p', '1 day', '2025-01-01', '2025-01-02')},
		'SELECT 1',
		'',
		q{SELECT ext.flake_drop_partitions('tmpl.p', '2025-03-01', concurrently => true)},
		'0A000'
	],
	[
		'the schema of the database owner, with partitions, concurrently',
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02')},
		'SELECT 1',
		'',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01', concurrently => true)},
		'0A000'
	],
	[
		'one who may refer to a table with partitions, concurrently',
		'CREATE SCHEMA safe; CREATE TABLE safe.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('safe.p', '1 day', '2025-01-01', '2025-01-02'); GRANT REFERENCES (id) ON safe.p TO mallory},
		'SELECT 1',
		'',
		q{SELECT ext.flake_drop_partitions('safe.p', '2025-03-01', concurrently => true)},
		'0A000'
	],
	[
		'a function that fits better, in the partition key of an ancestor',
		'CREATE SCHEMA safe; CREATE SCHEMA shared; GRANT ALL ON SCHEMA shared TO mallory;'
		  . ' CREATE FUNCTION shared.bucket(anyelement) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN RETURN 1; END$$;'
		  . ' CREATE TABLE safe.root (k int NOT NULL, id bigint NOT NULL) PARTITION BY LIST (shared.bucket(k));'
		  . ' CREATE TABLE safe.p PARTITION OF safe.root FOR VALUES IN (1) PARTITION BY RANGE (id); ALTER TABLE safe.p ADD UNIQUE (id);'
		  . q{ SELECT ext.flake_create_partitions('safe.p', '1 day', '2025-01-01Z', '2025-01-03Z');}
		  . ' CREATE TABLE safe.ref (id bigint REFERENCES safe.p (id));'
		  . q{ INSERT INTO safe.p VALUES (1, ext.flake_lower('2025-01-01 12:00Z')), (1, ext.flake_lower('2025-01-02 12:00Z'));}
		  . ' INSERT INTO safe.ref SELECT max(id) FROM safe.p',
		'CREATE FUNCTION shared.bucket(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(39); RETURN 1; END$$',
		'',
		q{SELECT * FROM ext.flake_drop_partitions('safe.p', '2025-01-02Z') \gexec},
		'0A000'
	],
	(map {
		my ($name, $concurrently) = @$_;
		[
			"a type of hers in the partition key of an ancestor$name",
			q{CREATE SCHEMA safe; GRANT USAGE ON SCHEMA mal TO PUBLIC; SET ROLE mallory; CREATE DOMAIN mal.d AS int; RESET ROLE;}
			  . ' CREATE TABLE safe.root (k mal.d NOT NULL, id bigint NOT NULL) PARTITION BY LIST (k);'
			  . ' CREATE TABLE safe.p PARTITION OF safe.root FOR VALUES IN (1) PARTITION BY RANGE (id); ALTER TABLE safe.p ADD UNIQUE (id);'
			  . q{ SELECT ext.flake_create_partitions('safe.p', '1 day', '2025-01-01Z', '2025-01-03Z');}
			  . ' CREATE TABLE safe.ref (id bigint REFERENCES safe.p (id));'
			  . q{ INSERT INTO safe.p VALUES (1, ext.flake_lower('2025-01-01 12:00Z')), (1, ext.flake_lower('2025-01-02 12:00Z'));}
			  . ' INSERT INTO safe.ref SELECT max(id) FROM safe.p',
			'ALTER DOMAIN mal.d ADD CHECK (mal.trap(38)) NOT VALID',
			'',
			"SELECT * FROM ext.flake_drop_partitions('safe.p', '2025-01-02Z', concurrently => $concurrently) \\gexec",
			'0A000'
		]
	} [ '', 'false' ], [ ', concurrently', 'true' ]),
	[
		'an index of hers, of the table that the table is a partition of',
		'CREATE SCHEMA safe; GRANT USAGE ON SCHEMA mal TO PUBLIC;'
		  . ' CREATE TABLE safe.p (id bigint NOT NULL, x int) PARTITION BY RANGE (id); SET ROLE mallory;'
		  . q{ CREATE FUNCTION mal.harmless(int) RETURNS int LANGUAGE sql IMMUTABLE AS 'SELECT $1';}
		  . ' CREATE TABLE mal.root (id bigint NOT NULL, x int) PARTITION BY LIST (x); CREATE INDEX ON mal.root (id) WHERE mal.harmless(1) = 1;'
		  . ' RESET ROLE; ALTER TABLE mal.root ATTACH PARTITION safe.p FOR VALUES IN (1)',
		'CREATE OR REPLACE FUNCTION mal.harmless(int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(60); RETURN 1; END$$',
		'',
		q{SELECT ext.flake_create_partitions('safe.p', '1 day', '2025-01-01Z', '2025-01-03Z')},
		'0A000'
	],
	[
		'the name of an array type, migrated',
		'SELECT 1',
		'CREATE TYPE mal.e AS ENUM (\'a\'); CREATE TABLE mal.t (id serial); CREATE VIEW mal.v AS SELECT id, CAST(\'{a}\' AS mal.e[]) AS d FROM mal.t',
		'',
		q{SELECT ext.flake_migrate('mal.t', 'id', 1)},
		'0A000'
	],
	[
		'a cast of her type, migrated',
		'CREATE TABLE public.t (id serial PRIMARY KEY); INSERT INTO public.t DEFAULT VALUES; GRANT REFERENCES ON public.t TO mallory; GRANT USAGE ON SCHEMA public TO mallory',
		q{CREATE TYPE mal.mood AS ENUM ('ok');}
		  . ' CREATE FUNCTION mal.tostr(mal.mood) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(29); RETURN 1; END$$;'
		  . q{ CREATE TABLE mal.child (pid int REFERENCES public.t, CHECK (pid > 0 AND query_to_xml('SELECT mal.deed()', true, true, '') IS NOT NULL)); INSERT INTO mal.child VALUES (1)},
		'IF NOT EXISTS (SELECT FROM pg_cast WHERE castsource = to_regtype(\'mal.mood\')) THEN CREATE CAST (mal.mood AS text) WITH FUNCTION mal.tostr(mal.mood) AS ASSIGNMENT; END IF;',
		q{CREATE TABLE public.other (id int REFERENCES public.t, c mal.mood, CHECK (c::text <> 'x' AND id > 0));}
		  . q{ INSERT INTO public.other VALUES (1, 'ok'); DROP CAST IF EXISTS (mal.mood AS text); SELECT ext.flake_migrate('public.t', 'id', 1)},
		'0A000'
	],
	[
		'her type in the condition of a trigger, shard',
		'CREATE SCHEMA pub; CREATE TYPE pub.mood AS ENUM (\'e\'); CREATE DOMAIN pub.spare AS text CHECK (mal.trap(30)); CREATE SCHEMA other;'
		  . ' CREATE TABLE other.t (id bigint PRIMARY KEY DEFAULT ext.flake_id(0)); CREATE TRIGGER r BEFORE INSERT ON other.t FOR EACH ROW'
		  . q{ WHEN ('{e}'::pub.mood[] IS NOT NULL) EXECUTE FUNCTION suppress_redundant_updates_trigger();}
		  . ' CREATE TABLE other.m (b int); CREATE INDEX ON other.m (b) WHERE mal.act(1); ALTER TABLE other.m OWNER TO mallory; GRANT USAGE ON SCHEMA other TO mallory;'
		  . ' ALTER TYPE pub.mood OWNER TO mallory; ALTER DOMAIN pub.spare OWNER TO mallory',
		'SELECT 1',
		'ALTER TYPE pub.mood RENAME TO mood2; ALTER DOMAIN pub.spare RENAME TO mood;',
		q{SELECT ext.flake_create_shard(5, 'other')},
		'0A000'
	],
	[
		'a cast of her type to json, of a column that was added',
		'SELECT 1',
		"CREATE TYPE mal.e AS ENUM ('a');"
		  . ' CREATE FUNCTION mal.j(mal.e) RETURNS json LANGUAGE plpgsql AS $$BEGIN PERFORM mal.trap(31); RETURN 1; END$$;'
		  . ' CREATE CAST (mal.e AS json) WITH FUNCTION mal.j(mal.e); CREATE TABLE tmpl.t (id bigint DEFAULT ext.flake_id(0));'
		  . q{ ALTER TABLE tmpl.t ADD x mal.e DEFAULT 'a', ADD y mal.e[] DEFAULT '{a}'},
		'',
		$shard,
		'none'
	],
	[
		'a guest takes the name of what is not copied',
		q{SELECT ext.flake_create_generator('tmpl.g'); CREATE TABLE tmpl.s (id bigint NOT NULL DEFAULT ext.flake_id(0, 'tmpl.g'));}
		  . ' ALTER SCHEMA tmpl OWNER TO CURRENT_USER; GRANT USAGE ON SCHEMA tmpl TO mallory; ALTER TABLE mal.plain SET SCHEMA tmpl',
		'SELECT 1',
		q{IF to_regnamespace('tmpl_1') IS NOT NULL AND to_regclass('tmpl_1.g') IS NULL THEN RAISE LOG 'deed done';}
		  . q{ CREATE VIEW tmpl_1.g AS SELECT mal.trap(32); END IF;},
		$shard,
		'55000',
		1
	],
	(   map {
			my ($key, $bounds) = @$_;
			[
				"a domain of hers in a partition key, $key",
				'CREATE DOMAIN mal.d AS int; CREATE TYPE mal.c AS (d mal.d); CREATE SCHEMA other; ALTER DOMAIN mal.d OWNER TO mallory; ALTER TYPE mal.c OWNER TO mallory;'
				  . " CREATE TABLE other.t (id bigint DEFAULT ext.flake_id(0), x mal.d, y mal.c) PARTITION BY $key;"
				  . " CREATE TABLE other.t1 PARTITION OF other.t FOR VALUES $bounds",
				'ALTER DOMAIN mal.d ADD CHECK (mal.trap(VALUE)) NOT VALID',
				'',
				q{SELECT ext.flake_create_shard(1, 'other')},
				'0A000'
			]
		} (
			[ 'LIST (x)',                 'IN (1)' ],
			[ 'LIST ((coalesce(x, x)))',  'IN (1)' ],
			[ 'LIST (y)',                 q{IN ('(1)')} ],
			[ 'RANGE (id, x)',            'FROM (0, 1) TO (5, 7)' ],
			[ 'HASH (x)',                 'WITH (MODULUS 1, REMAINDER 0)' ])),
	[
		'a member without INHERIT may, too',
		'GRANT ALL ON SCHEMA public TO alice; SET ROLE alice; CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . ' CREATE TABLE public.fk (x bigint REFERENCES public.p); CREATE TABLE public.t (id serial)',
		'SELECT 1',
		'',
		q{SET ROLE member; SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02');}
		  . q{ SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'none'
	],
	[
		'a table that alice does not own, migrated by her',
		'SELECT 1',
		'CREATE TABLE mal.t (id serial, b int); INSERT INTO mal.t DEFAULT VALUES; CREATE INDEX ON mal.t (b) WHERE mal.trap(14);'
		  . ' GRANT ALL ON mal.t TO PUBLIC',
		'',
		q{SET ROLE alice; SELECT ext.flake_migrate('mal.t', 'id', 1, dry_run => true)},
		'42501'
	],
);

my $n = 0;

# A PostgreSQL built without libxml cannot execute text in this way.
my $has_xml = $node->psql('postgres', q(SELECT xmlcomment(''))) == 0;

foreach my $attack (@attacks)
{
	my ($name, $superuser, $mallory, $deed, $call, $codes, $must_act) = @$attack;
	my $db = 'attack_' . ++$n;

	next if $mallory =~ /query_to_xml/ && !$has_xml;

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE armed OWNER mallory");
	$node->safe_psql($db, $superuser);
	$node->safe_psql($db, "SET ROLE mallory; $mallory");
	$node->safe_psql($db,
		"SET ROLE mallory; CREATE OR REPLACE FUNCTION mal.deed() RETURNS void LANGUAGE plpgsql AS \$deed\$BEGIN $deed END\$deed\$")
	  if $deed ne '';

	# From here on, in a new session.
	my $from = -s $node->logfile;
	my ($status, $stdout, $stderr) = $node->psql($db, $call,
		extra_params => [ '--set=VERBOSITY=verbose' ]);
	my $log = slurp_file($node->logfile, $from);
	my @as = grep { $_ ne 'mallory' } $log =~ /trap \d+ as (\w+)/g;

	is(join(' ', @as), '', "$name: nothing of hers is executed as another");
	like(
		$status == 0 ? 'none' : error_code($stdout, $stderr),
		qr/^(?:$codes)$/,
		$codes eq 'none' ? "$name: it works" : "$name: it is refused")
	  or diag $stderr;
	like($log, qr/deed done/, "$name: she has acted") if $must_act;
}

# What she does in a transaction for whose end the call waits: name => as superuser,
# her statements, the call, its code, what she does by then in other sessions, and
# a query for what is true afterwards.
my @races = (
	[
		'the default partition gets a check',
		'CREATE TABLE public.p (id bigint NOT NULL) PARTITION BY RANGE (id);'
		  . ' CREATE TABLE mal.d PARTITION OF public.p DEFAULT; ALTER TABLE mal.d OWNER TO mallory',
		'ALTER TABLE mal.d ADD CHECK (mal.trap(18))',
		q{SELECT ext.flake_create_partitions('public.p', '1 day', '2026-01-01', '2026-01-02')},
		'0A000'
	],
	[
		'what refers to a partition gets an index',
		'GRANT ALL ON SCHEMA public TO alice, mallory; SET ROLE alice; CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02'); GRANT REFERENCES ON public.p TO mallory;}
		  . ' SET ROLE mallory; CREATE TABLE mal.fk (x bigint REFERENCES public.p, b int); GRANT SELECT ON mal.fk TO alice',
		'CREATE INDEX ON mal.fk (b) WHERE mal.trap(19); LOCK TABLE mal.fk IN ROW EXCLUSIVE MODE',
		q{SET ROLE alice; SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'55000'
	],
	[
		'of two tables that refer to a partition, one is replaced while the other is waited for',
		'GRANT ALL ON SCHEMA public TO alice, mallory; SET ROLE alice; CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id);'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02'); GRANT REFERENCES ON public.p TO mallory;}
		  . ' SET ROLE mallory; CREATE TABLE mal.fk (x bigint REFERENCES public.p, b int); CREATE TABLE mal.fk2 (x bigint REFERENCES public.p, b int);'
		  . ' GRANT SELECT ON mal.fk, mal.fk2 TO alice',
		'LOCK TABLE mal.fk IN ROW EXCLUSIVE MODE',
		q{SELECT ext.flake_drop_partitions('public.p', '2025-03-01')},
		'55000',
		'ALTER TABLE mal.fk2 RENAME TO real; CREATE TABLE mal.fk2 (x bigint, b int); GRANT REFERENCES ON mal.fk2 TO alice;'
		  . ' CREATE INDEX ON mal.real (b) WHERE mal.trap(23)'
	],
	[
		'a type of a view gets another in its place, with the schema',
		q{CREATE TYPE mal.mood AS ENUM ('a'); SET ROLE mallory; CREATE SCHEMA data; CREATE TABLE data.t (id serial PRIMARY KEY);}
		  . q{ CREATE VIEW data.v AS SELECT id, '{a}'::mal.mood[] AS c FROM data.t},
		'ALTER SCHEMA mal RENAME TO mal_old; CREATE SCHEMA mal; CREATE DOMAIN mal.mood AS text CHECK (mal_old.trap(24))',
		q{SELECT ext.flake_migrate('data.t', 'id', 1)},
		'none'
	],
	[
		'what a template refers to is replaced',
		'CREATE SCHEMA a AUTHORIZATION alice; SET ROLE mallory; CREATE TABLE mal.t (id bigint PRIMARY KEY, b int); GRANT SELECT, REFERENCES ON mal.t TO alice;'
		  . ' SET ROLE alice; CREATE TABLE a.a (id bigint PRIMARY KEY DEFAULT ext.flake_id(0), t bigint REFERENCES mal.t)',
		'CREATE SCHEMA a_1',
		q{SELECT ext.flake_create_shard(1, 'a')},
		'23505',
		'ALTER TABLE mal.t RENAME TO t_old; SELECT mal.replaced()'
	],
	[
		'a generator is replaced, with its schema',
		'CREATE SCHEMA a AUTHORIZATION alice; SET ROLE mallory;'
		  . q{ SELECT ext.flake_create_generator('mal.g'); GRANT USAGE ON SEQUENCE mal.g TO alice; SET ROLE alice;}
		  . q{ CREATE TABLE a.t (id bigint DEFAULT ext.flake_id(5, 'mal.g')); GRANT USAGE ON SCHEMA a TO mallory; GRANT ALL ON a.t TO mallory},
		'LOCK TABLE a.t IN ACCESS SHARE MODE',
		q{SELECT ext.flake_renumber('{5}', '{905}', 'mal.g')},
		'none',
		q{ALTER SCHEMA mal RENAME TO mal_old; CREATE SCHEMA mal; SELECT ext.flake_create_generator('mal.g')},
		q{SELECT pg_get_expr(adbin, adrelid) = $$ext.flake_id(905, 'mal.g'::regclass)$$ AND to_regnamespace('mal_old') IS NULL FROM pg_attrdef WHERE adrelid = 'a.t'::regclass}
	],
	[
		'the parent of a partition is replaced, with its schema',
		'CREATE SCHEMA a AUTHORIZATION alice; SET ROLE mallory; CREATE SCHEMA s; CREATE SCHEMA s2; GRANT ALL ON SCHEMA s, s2 TO alice; SET ROLE alice;'
		  . ' CREATE TABLE s2.p (id bigint, CONSTRAINT is_5 CHECK (ext.flake_shard(id) = 5));'
		  . ' CREATE TABLE s.p (id bigint, CONSTRAINT is_5 CHECK (ext.flake_shard(id) = 5)) PARTITION BY RANGE (id);'
		  . ' CREATE TABLE a.p1 PARTITION OF s.p (id DEFAULT ext.flake_id(5)) DEFAULT; GRANT ALL ON s.p TO mallory',
		'LOCK TABLE ONLY s.p IN ACCESS SHARE MODE',
		q{SELECT ext.flake_renumber('{5}', '{905}')},
		'none',
		'ALTER SCHEMA s RENAME TO s_old; ALTER SCHEMA s2 RENAME TO s',
		q{SELECT pg_get_constraintdef(k.oid) NOT LIKE '%905%' FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid WHERE c.relname = 'p' AND c.relkind = 'r'}
	],
);

foreach my $race (@races)
{
	my ($name, $superuser, $mallory, $call, $expected, $meanwhile, $check) = @$race;
	my ($db, $from, $answer);

	# On a busy machine she can be slower than the caller waits.
	foreach (1 .. 5)
	{
		$db = 'race_' . ++$n;
		$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE armed OWNER mallory");
		$node->safe_psql($db,
			"CREATE FUNCTION mal.replaced() RETURNS void LANGUAGE plpgsql AS \$\$ BEGIN RAISE LOG 'trap 25 as %', 'nobody'; END \$\$; $superuser"
		);

		my $hers   = new_session($node, $db);
		my $caller = new_session($node, $db);
		$from = -s $node->logfile;

		ask($hers, "SET SESSION AUTHORIZATION mallory; BEGIN; $mallory;");
		send_query($caller, "$call;");
		wait_for_waiters($node, 1);
		$node->psql($db, "SET SESSION AUTHORIZATION mallory; SET lock_timeout = '300ms'; $meanwhile")
		  if $meanwhile;
		ask($hers, 'COMMIT;');
		$answer = error_code(get_answer($caller)) =~ s/, but.*//sr;
		end_session($hers, $caller);
		last if $answer ne '55P03';
	}
	is($answer, $expected, $expected eq 'none' ? "$name: it works" : "$name: it is refused");
	is( join(' ',
			grep { $_ ne 'mallory' }
			  slurp_file($node->logfile, $from) =~ /trap \d+ as (\w+)/g),
		'',
		"$name: nothing of hers is executed as another");
	is($node->safe_psql($db, $check), 't', "$name: nothing else is changed") if $check;
}

# A transaction that does not see what she has done meanwhile.
{
	my $db = 'race_' . ++$n;
	my $caller;

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE armed OWNER mallory");
	$node->safe_psql($db,
		'CREATE TABLE public.p (id bigint PRIMARY KEY) PARTITION BY RANGE (id); GRANT REFERENCES ON public.p TO mallory;'
		  . q{ SELECT ext.flake_create_partitions('public.p', '1 day', '2025-01-01', '2025-01-02');}
		  . ' CREATE TABLE mal.d PARTITION OF public.p DEFAULT; ALTER TABLE mal.d OWNER TO mallory; CREATE TABLE public.s (id serial)');
	foreach my $level ('REPEATABLE READ', 'SERIALIZABLE')
	{
		my $from = -s $node->logfile;

		$caller = new_session($node, $db);
		ask($caller, "BEGIN ISOLATION LEVEL $level; SELECT count(*) FROM pg_class;");
		$node->safe_psql($db,
			'SET SESSION AUTHORIZATION mallory; ALTER TABLE mal.d ADD CHECK (mal.trap(26));'
			  . ' CREATE TABLE mal.fk (x bigint REFERENCES public.p, b int); CREATE INDEX ON mal.fk (b) WHERE mal.trap(27)')
		  if $level eq 'REPEATABLE READ';
		foreach my $call (
			q{ext.flake_create_partitions('public.p', '1 day', '2026-01-01', '2026-01-02')},
			q{ext.flake_drop_partitions('public.p', '2025-03-01')},
			q{ext.flake_create_shard(1, 'tmpl')},
			q{ext.flake_migrate('public.s', 'id', 1)},
			q{ext.flake_migrate('public.s', 'id', 1, dry_run => true)})
		{
			send_query($caller, "SAVEPOINT s; SELECT $call;");
			is(error_code(get_answer($caller)), '25001', "$level: $call is refused");
			ask($caller, 'ROLLBACK TO s;');
		}
		is( join(' ', grep { $_ ne 'mallory' } slurp_file($node->logfile, $from) =~ /trap \d+ as (\w+)/g),
			'', "$level: nothing of hers is executed as another");
		end_session($caller);
	}
}

# The sequence of a column moves to a schema of hers while a dry run waits for it, and
# while that waits once more, another schema could get the name.
{
	my $db = 'race_' . ++$n;

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE armed OWNER mallory");
	$node->safe_psql($db, q{
		SET ROLE mallory;
		CREATE SCHEMA s; CREATE SCHEMA m2;
		CREATE TABLE s.t (id int GENERATED ALWAYS AS IDENTITY);
		SELECT ext.flake_create_generator('mal.g');
	});
	my ($moves, $holds, $caller) = map { new_session($node, $db) } 1 .. 3;

	ask($moves, 'SET SESSION AUTHORIZATION mallory; BEGIN; ALTER TABLE s.t SET SCHEMA m2;');
	ask($holds, 'SET SESSION AUTHORIZATION mallory; BEGIN; ALTER SEQUENCE mal.g OWNED BY NONE;');
	send_query($caller, q{SELECT ext.flake_migrate('s.t', 'id', 1, 'mal.g', dry_run => true);});
	wait_for_waiters($node, 1);
	ask($moves, 'COMMIT;');
	usleep(300_000);
	$node->psql($db,
		q{SET SESSION AUTHORIZATION mallory; SET lock_timeout = '300ms'; ALTER SCHEMA m2 RENAME TO mx},
		stderr => \my $stderr);
	like($stderr, qr/lock timeout/,
		'a sequence that moves during a dry run: nobody renames the schema where it is now');
	ask($holds, 'COMMIT;');
	get_answer($caller);
	end_session($moves, $holds, $caller);
}

# Names that format() would take for its own signs: of the extension's schema, beside
# which there is the one that would come out, and of a grantor.
$node->safe_psql('postgres', 'CREATE ROLE "a%%b"');
foreach my $schema ([ 'e%%', 'e%' ], [ 'flake 100%', 'other' ])
{
	my ($of_extension, $beside) = map { qq("$_") } @$schema;
	my $db = 'percent_' . ++$n;
	my $from = -s $node->logfile;

	$node->safe_psql('postgres', "CREATE DATABASE $db OWNER mallory");
	$node->safe_psql($db, qq{
		SET SESSION AUTHORIZATION mallory;
		CREATE SCHEMA $of_extension;
		CREATE SCHEMA $beside;
		GRANT USAGE ON SCHEMA $of_extension, $beside TO PUBLIC;
		CREATE EXTENSION flakeid SCHEMA $of_extension;
		CREATE FUNCTION $beside._flake_copy_index(oid, regclass) RETURNS void LANGUAGE plpgsql
			AS \$\$ BEGIN RAISE LOG 'trap 21 as %', current_user; END \$\$;
		CREATE FUNCTION $beside.flake_id(int) RETURNS bigint LANGUAGE plpgsql
			AS \$\$ BEGIN RAISE LOG 'trap 22 as %', current_user; RETURN 1000; END \$\$;
		RESET SESSION AUTHORIZATION;
		CREATE SCHEMA tmpl;
		CREATE TABLE tmpl.t (id bigint PRIMARY KEY DEFAULT $of_extension.flake_id(0), x int);
		GRANT USAGE ON SCHEMA tmpl TO "a%%b";
		GRANT SELECT ON tmpl.t TO "a%%b" WITH GRANT OPTION;
		SET ROLE "a%%b";
		GRANT SELECT ON tmpl.t TO mallory;
		RESET ROLE;
		SELECT $of_extension.flake_create_shard(1, 'tmpl');
		INSERT INTO tmpl_1.t (x) VALUES (1);
		CREATE TABLE public.item (id serial PRIMARY KEY, x int);
		SELECT $of_extension.flake_migrate('public.item', 'id', 1);
		INSERT INTO public.item (x) VALUES (2);
	});
	is( join(' ', slurp_file($node->logfile, $from) =~ /trap \d+ as \w+/g),
		'',
		"an extension in schema $of_extension: nothing beside it is executed");
	is( $node->safe_psql($db,
			q(SELECT relacl FROM pg_class WHERE oid = 'tmpl_1.t'::regclass)
		  ) =~ s/^\{|\}\z//gr,
		$node->safe_psql($db,
			q(SELECT relacl FROM pg_class WHERE oid = 'tmpl.t'::regclass)
		  ) =~ s/^\{|\}\z//gr,
		'a copy has the privileges of its template, whatever a grantor is called');
}

# What she has locked, and how large her tables are, holds up nobody who works on
# others.
{
	my $db = 'holds_' . ++$n;

	$node->safe_psql('postgres', "CREATE DATABASE $db TEMPLATE armed OWNER mallory");
	$node->safe_psql($db, q{
		CREATE SCHEMA a AUTHORIZATION alice;
		GRANT USAGE, UPDATE ON SEQUENCE ext.flake_default TO alice;
		SET ROLE alice;
		CREATE TABLE a.t (id bigint DEFAULT ext.flake_id(5) CHECK (ext.flake_shard(id) = 5));
		CREATE TABLE a.s (id serial PRIMARY KEY CHECK (id > 0));
		CREATE TABLE a.p (id bigint) PARTITION BY RANGE (id);
		SELECT ext.flake_create_partitions('a.p', '1 day', '2025-01-01', '2025-01-02');
		SET ROLE mallory;
		CREATE TABLE mal.x (id bigint DEFAULT ext.flake_id(5) CHECK (ext.flake_shard(id) = 5), b int CHECK (b > 0), c int, d int DEFAULT 1 + 1);
		CREATE INDEX ON mal.x ((b + 1)) WHERE c > 0;
		CREATE STATISTICS mal.st ON (b + 1) FROM mal.x;
		CREATE TABLE mal.q (id bigint) PARTITION BY RANGE (id);
		CREATE TABLE mal.q1 PARTITION OF mal.q DEFAULT;
	});
	my ($hers, $alice, $superuser) = map { new_session($node, $db) } 1 .. 3;

	ask($hers, 'SET SESSION AUTHORIZATION mallory; BEGIN; LOCK TABLE mal.x, mal.q;');
	ask($alice, q{SET SESSION AUTHORIZATION alice; SET lock_timeout = '3s';});
	ask($superuser, q{SET lock_timeout = '3s'});
	foreach my $call (
		q{ext.flake_migrate('a.s', 'id', 1, dry_run => true)},
		q{ext.flake_migrate('a.s', 'id', 1)},
		q{ext.flake_partitions('a.p')},
		q{ext.flake_renumber('{5}', '{905}', dry_run => true)},
		q{ext.flake_renumber('{5}', '{905}')})
	{
		is(code($alice, "SELECT count(*) FROM $call") =~ s/, but.*//sr, 'none', "$call does not wait for a table of hers");
	}
	is( code($superuser, q{SELECT ext.flake_renumber('{905}', '{1905}', owners => '{alice}')}) =~ s/, but.*//sr,
		'none',
		'nor does a superuser who has said whose tables count');

	# One who has not lets go all others while he waits.
	ask($superuser, 'SET lock_timeout = 0');
	ask($alice, 'ALTER TABLE a.t ALTER id SET DEFAULT ext.flake_id(2905), ADD x bigint');
	send_query($superuser, q{SELECT ext.flake_renumber('{2905,5}', '{3905,3906}')});
	wait_for_waiters($node, 1);
	is(code($alice, 'INSERT INTO a.t VALUES (ext.flake_make(now(), 1905, 0), 1)') =~ s/, but.*//sr,
		'none', 'one who has not said it locks no other table while he waits');
	ask($hers, 'COMMIT');
	is((get_answer($superuser))[1], '', 'and has it done when she is');
	like(
		$node->safe_psql($db, q{SELECT string_agg(pg_get_expr(adbin, adrelid), ' ' ORDER BY adrelid) FROM pg_attrdef WHERE adrelid IN ('a.t'::regclass, 'mal.x'::regclass)}),
		qr/3905.*3906/, 'to all tables');

	ask($hers, 'DROP TABLE mal.x');
	ask($hers, q{DO $$ BEGIN EXECUTE (SELECT format('CREATE TABLE mal.x (%s)', string_agg(format('c%s bigint DEFAULT ext.flake_id(%s)', s, s), ', ')) FROM generate_series(1, 1500) s); END $$});
	ask($alice, q{SET statement_timeout = '60s'});
	is(code($alice, q{SELECT ext.flake_renumber('{3905}', '{4905}')}) =~ s/, but.*//sr, 'none', 'a table of hers with many columns is no work');

	# Whatever she puts beside the extension's functions.
	my $from = -s $node->logfile;
	$node->safe_psql($db, q{
		SET ROLE alice;
		CREATE DOMAIN a.id AS bigint;
		GRANT USAGE ON SCHEMA a TO mallory;
		CREATE TABLE a.u (a bigint DEFAULT ext.flake_id(6) CHECK (ext.flake_shard(a) = 6), b a.id DEFAULT ext.flake_id(6) CHECK (ext.flake_shard(b) = 6));
		SET ROLE mallory;
		CREATE FUNCTION ext.flake_shard(bigint) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM mal.trap(31); RETURN 907; END';
		CREATE FUNCTION ext.flake_shard(a.id) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM mal.trap(32); RETURN 907; END';
		CREATE FUNCTION ext.flake_shard(a.id, ext.flake_layout) RETURNS int IMMUTABLE LANGUAGE plpgsql AS 'BEGIN PERFORM mal.trap(33); RETURN 907; END';
	});
	is(code($alice, q{SELECT ext.flake_renumber('{6}', '{907}')}) =~ s/, but.*//sr, 'none', 'a check is bound to the function of the extension');
	ask($superuser, 'INSERT INTO a.u DEFAULT VALUES');
	is(join(' ', slurp_file($node->logfile, $from) =~ /trap \d+ as \w+/g), '', 'and executes nothing of hers');
	is( $node->safe_psql($db, q{SELECT count(*) FROM pg_depend d JOIN pg_constraint k ON d.classid = 'pg_constraint'::regclass AND d.objid = k.oid
		WHERE k.conrelid = 'a.u'::regclass AND d.refobjid = 'ext.flake_shard(bigint, ext.flake_layout)'::regprocedure}),
		2, 'both do');

	# No text is safe from that, but nothing else happens.
	$node->safe_psql($db, q{SET ROLE mallory; CREATE FUNCTION ext.flake_id(int, int DEFAULT 1) RETURNS bigint LANGUAGE sql AS 'SELECT 1'});
	is(code($alice, q{SELECT ext.flake_renumber('{907}', '{908}')}), '42725', 'a call that fits two functions is an error');
	is($node->safe_psql($db, 'SELECT count(*) FROM ext.flake_shards WHERE shard = 908'), 0, 'and nothing is done');
	end_session($hers, $alice, $superuser);
}

is( $node->safe_psql(
		'postgres', q{SELECT rolsuper FROM pg_roles WHERE rolname = 'mallory'}),
	'f',
	'mallory is no superuser');

# The traps work.
my $from = -s $node->logfile;
$node->safe_psql('attack_1', 'SELECT mal.trap(0)');
like(
	slurp_file($node->logfile, $from),
	qr/trap 0 as \w+/,
	'a trap that a superuser calls himself runs as superuser');

$node->stop;
done_testing();
