--
-- The view flake_stat.
--
SET intervalstyle = 'postgres';
SELECT flake_stat_reset();
BEGIN;
SELECT count(flake_id(2001)) FROM generate_series(1, 1000);
-- a session sees its own at once
SELECT generator, shard, issued, waits, wait_time, refused, clock_steps_back
FROM flake_stat WHERE shard = 2001;
-- if queries run in parallel, too
SELECT count(flake_id(2004)) FROM generate_series(1, 7);
SELECT set_config(name, 'on', true) FROM pg_settings WHERE name IN ('force_parallel_mode', 'debug_parallel_query');
SELECT issued FROM flake_stat WHERE shard = 2004;
ROLLBACK;
SELECT count(*) FROM flake_ids(2001, 500);
SELECT flake_id(2002) AS id \gset
SELECT generator, shard, issued, last_id = flake_last_id() AS same,
       last_time = flake_timestamp(last_id) AS same_time,
       ahead < interval '15 s' AS not_too_far
FROM flake_stat WHERE shard = 2002;
SELECT shard, issued FROM flake_stat WHERE shard IN (2001, 2002) ORDER BY shard;
SELECT flake_stat_reset();
SELECT sum(issued) FROM flake_stat;
SELECT flake_id(2002) > :id AS "resetting changes nothing else";
SELECT shard, issued FROM flake_stat WHERE shard IN (2001, 2002) ORDER BY shard;
-- a call that is refused counts, and is all that there is to tell of a new shard
SELECT code FROM attempt($$SELECT count(*) FROM flake_ids(2003, 16000000)$$);
SELECT issued, last_id, last_time, ahead, waits, refused FROM flake_stat WHERE shard = 2003;
SELECT flake_stat_reset();
SELECT count(*) FROM flake_stat WHERE shard = 2003;
-- settings that integers of milliseconds could not hold
SELECT name, setting, unit, vartype, max_val FROM pg_settings
WHERE name IN ('flakeid.max_ahead', 'flakeid.max_wait') ORDER BY name;
SET flakeid.max_wait = '3650d';
SHOW flakeid.max_wait;
SET flakeid.max_wait = '250ms';
SHOW flakeid.max_wait;
SELECT code FROM attempt($$SET flakeid.max_wait = '36526d'$$);
SELECT code FROM attempt('SET flakeid.max_wait = -1');
SET flakeid.max_wait = '36525d';
-- nothing overflows then
SELECT code FROM attempt($$SELECT count(*) FROM flake_ids(2003, 16000000)$$);
RESET flakeid.max_wait;
SHOW flakeid.max_wait;
-- a shard's numbers begin with 0, also where those of a dropped generator were
SELECT flake_create_generator('slow', 'ts:40 shard:22 seq:1 epoch=2020-01-01 unit=10ms');
-- With debug_discard_caches on, nobody would be so fast that he has to wait.
SET debug_discard_caches = 0;
SELECT count(*) FROM generate_series(0, 4) AS shard, unnest('{3000, 20}'::int[]) AS n, flake_ids(shard, n, 'slow');
SELECT sum(waits) > 0 AS waited FROM flake_stat WHERE generator = 'slow'::regclass;
RESET debug_discard_caches;
DROP SEQUENCE slow;
SELECT count(flake_id(n)) FROM generate_series(2010, 2029) n;
SELECT count(*), sum(issued) AS issued, sum(waits) AS waits, sum(wait_time) AS wait_time FROM flake_stat WHERE shard BETWEEN 2010 AND 2029;
-- the last id is one that was handed out, not what the shard was raised to
SELECT flake_create_generator('raised_id', 'seq:53 shard:10');
SELECT flake_id(1, 'raised_id');
CREATE VIEW raised AS SELECT shard, issued, last_id, last_time, ahead, refused FROM flake_stat WHERE generator = 'raised_id'::regclass;
SELECT flake_advance('raised_id', 1::bigint << 55);
SELECT * FROM raised;
SELECT flake_id(1, 'raised_id') AS id \gset
SELECT shard, issued, last_id = :id AS same FROM raised;
SELECT flake_advance('raised_id', :id);
SELECT shard, issued, last_id = :id AS same FROM raised;
SELECT flake_detach(1, 'raised_id') = :id AS same;
SELECT flake_attach(1, 1::bigint << 56, 'raised_id');
SELECT shard, issued, last_id = :id AS same FROM raised;
SELECT flake_id(1, 'raised_id') AS id \gset
SELECT shard, issued, last_id = :id AS same FROM raised;
-- nor one that comes again; which does not matter to another one
SELECT flake_id(2, 'raised_id') AS id2 \gset
SELECT flake_advance('raised_id', 1::bigint << 57);
SELECT flake_rewind('raised_id', :id + 1024, force => true);
SELECT shard, issued, last_id IN (:id, :id2) AS same FROM raised ORDER BY shard;
SELECT flake_rewind('raised_id', :id - 1024, force => true);
SELECT shard, issued, last_id FROM raised ORDER BY shard;
DROP VIEW raised;
DROP SEQUENCE raised_id;
-- a shard that is far ahead, of which ids were only refused
SELECT flake_create_generator('raised_id');
SELECT flake_attach(17, generator => 'raised_id');
UPDATE flake_shard_state SET after = flake_upper(now() + interval '1 hour', flake_layout_of('raised_id'))
WHERE shard = 17 AND generator::regclass = 'raised_id'::regclass;
SELECT code FROM attempt($$SELECT flake_id(17, 'raised_id')$$);
SELECT issued, last_id, last_time, ahead > interval '50 min' AS ahead, refused FROM flake_stat WHERE generator = 'raised_id'::regclass;
SELECT what, object FROM flake_health WHERE object = 'raised_id';
DROP SEQUENCE raised_id;
