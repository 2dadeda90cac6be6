-- Health

CREATE FUNCTION @extschema@._flake_health_settings(
    OUT max_ahead interval, OUT require_attach boolean, OUT library_version text)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_health_settings'
LANGUAGE C STABLE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_health_settings() IS
'settings, and the version of the SQL objects that the library is for; for the view flake_health';

CREATE FUNCTION @extschema@._flake_health_horizon(generator regclass,
    OUT horizon_time timestamptz, OUT hidden text)
RETURNS record
AS 'MODULE_PATHNAME', 'flake_health_horizon'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_health_horizon(regclass) IS
'the time in flake_horizon(), infinity if timestamptz cannot hold it, without waiting for a lock; hidden is privilege with neither SELECT nor USAGE on the generator, lock if another session has locked it, else null; for the view flake_health';

CREATE FUNCTION @extschema@._flake_health_partitions(
    OUT relation regclass, OUT covered_until timestamptz,
    OUT last_since timestamptz, OUT lacks_present boolean, OUT has_default boolean)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_health_partitions'
LANGUAGE C VOLATILE STRICT PARALLEL SAFE;

COMMENT ON FUNCTION @extschema@._flake_health_partitions() IS
'the tables, PARTITION BY RANGE of an id that has a time and is flake_id() or flake_uuidv7() by default, that lack partitions from covered_until on; last_since is when the last one before that begins, if there is one; for the view flake_health';

CREATE FUNCTION @extschema@._flake_health_elsewhere(
    OUT generator regclass, OUT relation regclass, OUT attribute name,
    OUT shard int, OUT id bigint, OUT last_id bigint)
RETURNS SETOF record
AS 'MODULE_PATHNAME', 'flake_health_elsewhere'
LANGUAGE C VOLATILE STRICT PARALLEL UNSAFE;

COMMENT ON FUNCTION @extschema@._flake_health_elsewhere() IS
'by column and shard the largest id that this server cannot have minted, though it has minted the shard since its start: above last_id; null to a role that may not read it; looks at the 100 largest ids of each table, in the 1000 tables that were created last, by an index on the id, and leaves out what others have locked; for the view flake_health; errors: 42501 without EXECUTE';

-- Each finding is a query of its own, each with the columns of the view.  They find
-- out what they say without waiting for others, and whatever an owner has done to
-- his objects, none of them fails.
CREATE VIEW @extschema@.flake_health AS
WITH settings AS MATERIALIZED (
    SELECT s.max_ahead, s.require_attach, s.library_version, pg_catalog.clock_timestamp() AS now
    FROM @extschema@._flake_health_settings() s
), generators AS MATERIALIZED (
    SELECT g.generator, g.is_wide, i.shards, i.ends, h.horizon_time, h.hidden
    FROM (SELECT b.generator, b.is_wide, @extschema@.flake_layout_of(b.generator) AS layout
          FROM (VALUES ('@extschema@.flake_default'::pg_catalog.regclass, false),
                       ('@extschema@.flake_default_uuid'::pg_catalog.regclass, true),
                       ('@extschema@.flake_default_objectid'::pg_catalog.regclass, true),
                       ('@extschema@.flake_default_uuidv7'::pg_catalog.regclass, false)) b (generator, is_wide)
          UNION ALL
          SELECT l.objoid::pg_catalog.regclass, false, l.label::@extschema@.flake_layout
          FROM pg_catalog.pg_seclabel l
          WHERE l.provider = 'flakeid'
            AND l.classoid OPERATOR(pg_catalog.=) 'pg_catalog.pg_class'::pg_catalog.regclass) g,
         @extschema@.flake_layout_info(g.layout) i,
         @extschema@._flake_health_horizon(g.generator) h
), shards AS MATERIALIZED (
    SELECT s.generator, s.shard, s.above_time - pg_catalog.clock_timestamp() AS ahead, e.max_ahead
    FROM @extschema@._flake_stat_slots() s, settings e
    WHERE s.above_id IS NOT NULL
), leased AS MATERIALIZED (
    SELECT l.generator::regclass AS generator, l.shard
    FROM @extschema@.flake_leases l, settings e
    WHERE l.expires_at > e.now - e.max_ahead
), lease_room AS (
    -- what flake_lease() may choose from: see src/shard/lease_search.c
    SELECT t.generator, t.taken, g.shards - t.used AS free
    FROM (SELECT l.generator, count(*) AS taken,
                 (SELECT sum(upper(r) - lower(r))::bigint
                  FROM unnest((SELECT range_agg(u.shards)
                               FROM (SELECT int8range(o.shard::bigint, o.shard::bigint, '[]'::text)
                                     FROM leased o
                                     WHERE o.generator = l.generator
                                     UNION ALL
                                     SELECT int8range(s.shard::bigint, s.shard::bigint, '[]'::text)
                                     FROM @extschema@.flake_shard_state s
                                     WHERE s.generator::regclass = l.generator
                                       AND NOT EXISTS (SELECT FROM @extschema@.flake_leases o
                                                       WHERE o.generator::regclass = l.generator AND o.shard = s.shard)
                                     UNION ALL
                                     SELECT int8range(s.shard::bigint, s.shard::bigint, '[]'::text)
                                     FROM shards s
                                     WHERE s.generator = l.generator
                                     UNION ALL
                                     SELECT int8range(lower(m.shards)::bigint, upper(m.shards)::bigint)
                                            * int8range(0::bigint, i.shards)
                                     FROM @extschema@.flake_shard_map m
                                     JOIN generators i ON i.generator = l.generator
                                     UNION ALL
                                     -- those for groups of Citus: C3 in src/shard/citus.c
                                     SELECT int8range(0::bigint, (i.shards - 1::bigint) / 2::bigint, '[]'::text)
                                     FROM generators i, pg_catalog.pg_extension x
                                     WHERE i.generator = l.generator AND x.extname = 'citus'::name) u (shards))) r) AS used
          FROM leased l
          GROUP BY l.generator) t
    JOIN generators g ON g.generator = t.generator
)
SELECT 'critical'::text AS severity,
       'horizon_ahead'::text AS what,
       g.generator::text AS object,
       format('The horizon is %s ahead of the clock. After the next restart or failover its shards are refused for that long, less flakeid.max_ahead.'::text,
              CASE WHEN isfinite(g.horizon_time) THEN date_trunc('second'::text, g.horizon_time - e.now)::text
                   ELSE 'more than 290000 years'::text
              END) AS detail,
       'Do not restart. If the clock is right, correct the horizon with flake_rewind(), as the runbook "The clock jumped ahead" says.'::text AS hint
FROM generators g, settings e
WHERE g.horizon_time > e.now + e.max_ahead + interval '10 s'
UNION ALL
SELECT 'critical'::text, 'clock_refused'::text, 'clock'::text,
       format('The clock has jumped ahead by %s. Since %s ids that need a later horizon are refused (53400): %s times.'::text,
              date_trunc('second'::text, c.jump), c.refused_since, c.refusals),
       'Compare the clock with another machine''s. If it is wrong, correct it: that ends it. If it is right, call flake_accept_clock().'::text
FROM @extschema@._flake_clock_guard() c
UNION ALL
SELECT 'critical'::text, 'restored'::text, g.generator::text,
       format('The server was restored to an earlier time; recovery ended "%s". %s'::text, r.reason,
              CASE WHEN g.ends IS NULL THEN 'Numbers that were handed out after that can come again.'::text
                   ELSE 'What was detached, attached or leased after that is forgotten.'::text
              END),
       'Do what the runbook "The server was restored to an earlier time" says, and then call flake_accept_restore().'::text
FROM generators g, settings e, LATERAL @extschema@._flake_restore_of(g.generator) r
WHERE r.timeline IS NOT NULL
  AND (g.ends IS NULL
       OR NOT g.is_wide AND (e.require_attach OR EXISTS (SELECT FROM @extschema@.flake_shard_map))
       OR EXISTS (SELECT FROM @extschema@.flake_shard_state s WHERE s.generator::regclass = g.generator))
UNION ALL
SELECT 'critical'::text, 'minted_elsewhere'::text, f.generator::text,
       format('Shards of which this server has not minted all ids: %s. The first is %s, the last one minted here.'::text,
              count(DISTINCT f.shard),
              (array_agg(format('shard %s: in column %s of table %s %s is above %s'::text,
                                f.shard, quote_ident(f.attribute::text COLLATE "default"), f.relation,
                                coalesce('id '::text || f.id::text, 'an id'::text), f.last_id)
                         ORDER BY f.shard, f.relation))[1]),
       'If another server mints the shard, detach it there or here. If that one is a copy of this server, see the runbook "This server is a copy".'::text
FROM @extschema@._flake_health_elsewhere() f
GROUP BY f.generator
UNION ALL
SELECT 'notice'::text, 'horizon_hidden'::text, g.generator::text,
       CASE g.hidden
            WHEN 'lock'::text THEN 'Another session has locked the generator, so nobody can see whether its horizon is ahead of the clock.'::text
            ELSE format('Role "%s" may not see the horizon, so whether it is ahead of the clock is not known.'::text, CURRENT_USER::text COLLATE "default")
       END,
       CASE g.hidden
            WHEN 'lock'::text THEN 'Look again. If it stays, find the session in pg_locks: minting waits for it, too.'::text
            ELSE format('GRANT SELECT ON SEQUENCE %s TO %s;'::text, g.generator, quote_ident(CURRENT_USER::text COLLATE "default"))
       END
FROM generators g
WHERE g.hidden IS NOT NULL
UNION ALL
SELECT CASE WHEN g.ends > e.now + interval '90 days' THEN 'warning'::text ELSE 'critical'::text END,
       'lifetime_ends'::text, g.generator::text,
       CASE WHEN g.ends > e.now
            THEN format('Its ids run out in %s, at %s.'::text, date_trunc('hour'::text, g.ends - e.now), g.ends)
            ELSE format('Its ids have run out at %s: minting is an error.'::text, g.ends)
       END,
       'Create a generator whose layout has a later epoch, and change the defaults of the columns. Drop generators that are not in use.'::text
FROM generators g, settings e
WHERE g.ends < e.now + interval '2 years'
UNION ALL
SELECT CASE WHEN p.lacks_present AND NOT p.has_default THEN 'critical'::text ELSE 'warning'::text END,
       'partitions_end'::text, p.relation::text,
       CASE WHEN NOT p.lacks_present THEN format('Its partitions end in %s, at %s.'::text,
                                                     date_trunc('second'::text, p.covered_until - e.now), p.covered_until)
            WHEN p.has_default THEN 'It has no partition for the present: rows go into its default partition.'::text
            ELSE 'It has no partition for the present, and no default partition: inserts fail (23514).'::text
       END,
       CASE WHEN p.lacks_present AND p.has_default
            THEN 'Move the rows out of the default partition, create partitions with flake_create_partitions(), and look at the job that does so.'::text
            ELSE 'Create partitions with flake_create_partitions(), and look at the job that does so.'::text
       END
FROM @extschema@._flake_health_partitions() p, settings e
-- a week, or the width of the last one if that is less
WHERE p.covered_until < e.now + interval '7 days' AND coalesce(p.last_since < e.now, true)
UNION ALL
SELECT CASE WHEN r.free = 0 THEN 'critical'::text ELSE 'warning'::text END,
       'leases_used_up'::text, r.generator::text,
       format('Leased shards: %s, of the %s that can be leased.'::text, r.taken, r.taken + r.free),
       'Release leases that are not needed with flake_release(), lease for shorter times, or use a generator whose layout has more shards.'::text
FROM lease_room r
WHERE r.taken * 10 > (r.taken + r.free) * 9
UNION ALL
SELECT 'critical'::text, 'shard_refused'::text, s.generator::text,
       format('Shards past flakeid.max_ahead: %s. Callers wait or are refused (53400). The furthest is shard %s, %s ahead of the clock.'::text,
              count(*), (array_agg(s.shard ORDER BY s.ahead DESC))[1], date_trunc('milliseconds'::text, max(s.ahead))),
       'Look whether the clock is right, and see the runbook "53400 everywhere".'::text
FROM shards s
WHERE s.ahead > s.max_ahead + interval '1 s'
GROUP BY s.generator
UNION ALL
SELECT 'warning'::text, 'shard_saturated'::text, s.generator::text,
       format('Shards in the last third of flakeid.max_ahead: %s. The furthest is shard %s, %s ahead of the clock.'::text,
              count(*), (array_agg(s.shard ORDER BY s.ahead DESC))[1], date_trunc('milliseconds'::text, max(s.ahead))),
       'If it stays, use more shards, or a layout with more sequence bits.'::text
FROM shards s
WHERE s.ahead > s.max_ahead * 2 / 3 AND s.ahead <= s.max_ahead + interval '1 s' AND s.ahead > interval '0'
GROUP BY s.generator
UNION ALL
SELECT 'warning'::text, 'unsettled'::text, coalesce(u.generator::text, 'flakeid'::text),
       format('Transactions that have held back flake_settled() for more than five minutes: %s. The first is %s, since %s%s.'::text,
              count(*),
              (array_agg(coalesce('process '::text || u.pid::text, format('the prepared transaction %L'::text, u.prepared))
                         ORDER BY u.since))[1],
              min(u.since),
              (array_agg(', from id '::text || u.from_id::text || ' on'::text ORDER BY u.since))[1]),
       'Readers get no rows with later ids. The view "flake_unsettled" has the transactions. End them: with pg_terminate_backend(), or COMMIT PREPARED or ROLLBACK PREPARED.'::text
FROM (SELECT h.generator, h.pid, p.gid AS prepared, coalesce(h.since, p.prepared) AS since, h.from_id
      FROM @extschema@._flake_holders() h
      LEFT JOIN pg_catalog.pg_prepared_xacts p ON p.transaction = h.xid
      WHERE h.is_asked) u, settings e
WHERE u.since < e.now - interval '5 min'
GROUP BY u.generator
UNION ALL
SELECT 'notice'::text, 'require_attach_off'::text, 'flakeid.require_attach'::text,
       'Shards were attached or detached here, and any other shard can still be minted here, by mistake.'::text,
       'Attach the shards that this server mints with flake_attach(), and set flakeid.require_attach = on.'::text
FROM settings e
WHERE NOT e.require_attach
  AND EXISTS (SELECT FROM @extschema@.flake_shard_state s
              WHERE NOT EXISTS (SELECT FROM @extschema@.flake_leases l
                                WHERE l.generator::regclass = s.generator::regclass AND l.shard = s.shard))
  AND EXISTS (SELECT FROM generators g
              WHERE NOT g.is_wide
                AND NOT EXISTS (SELECT FROM @extschema@.flake_shard_state s  -- all of its shards: flake_detach_all()
                                WHERE s.generator::regclass = g.generator AND s.shard = -1))
  AND NOT EXISTS (SELECT FROM pg_catalog.pg_extension x WHERE x.extname = 'citus')  -- which has rules of its own
UNION ALL
SELECT 'warning'::text, 'version_mismatch'::text, 'flakeid'::text,
       format('The extension has version %s, and its library is for version %s.'::text, x.extversion COLLATE "default", e.library_version),
       'Execute ALTER EXTENSION flakeid UPDATE. If that has been done, end this session: it has an older library.'::text
FROM pg_catalog.pg_extension x, settings e
WHERE x.extname = 'flakeid'::name AND x.extversion <> e.library_version;

COMMENT ON VIEW @extschema@.flake_health IS
'what is wrong in this database or soon will be, a row for each finding; empty if all is well';
COMMENT ON COLUMN @extschema@.flake_health.severity IS 'critical: ids are refused or will be at the next restart, or can repeat, act now; warning: it becomes critical if nobody acts, within days; notice: something cannot be seen or is not protected';
COMMENT ON COLUMN @extschema@.flake_health.what IS 'what kind of finding, a word that does not change; docs/monitoring.md lists them';
COMMENT ON COLUMN @extschema@.flake_health.object IS 'the generator, table or setting, by name';
COMMENT ON COLUMN @extschema@.flake_health.detail IS 'what was found, with numbers';
COMMENT ON COLUMN @extschema@.flake_health.hint IS 'what to do';
