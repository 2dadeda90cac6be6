// Minters and prefetches with a real server: that of DATABASE_URL, as a superuser.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { Worker } from 'node:worker_threads';

import pg from 'pg';

import * as flakeid from '@flakeid/client';

import { Proxy, connectionString, generator, sql, until } from './database.mjs';

const { Layout, Minter, Prefetch } = flakeid;
const options = { skip: connectionString ? false : 'there is no DATABASE_URL', concurrency: true };
const LAYOUT = 'ts:41 shard:6 seq:10 epoch=2026-01-01';
const packageRoot = new URL('..', import.meta.url);

/** A minter of the database, whose events are collected. */
async function minterOf(more) {
  const events = [];
  const minter = await Minter.create({ connectionString, ...more, onEvent: (event) => events.push(event) });
  return { minter, events, types: () => events.map(({ type }) => type) };
}

const leases = (name) => sql('SELECT shard, owner, expires_at > now() AS runs FROM flake_leases WHERE generator = $1::regclass'
  + ' ORDER BY shard DESC', [name]);
const raises = (call, name, pattern = /./) => assert.rejects(call, (error) => {
  assert.equal(error.name, name);
  assert(error instanceof flakeid.FlakeidError && error instanceof flakeid[name]);
  assert.match(error.message, pattern);
  return true;
});

test('with a server', options, async (t) => {
  await sql(`CREATE EXTENSION IF NOT EXISTS flakeid;
    SELECT set_config('flake.test', '', false)`);

  await Promise.all([
    t.test('ids of a lease', async () => {
      const name = await generator('ids_of_a_lease', LAYOUT);
      const { minter, types } = await minterOf({ generator: name });
      const [{ shard, owner, runs }] = await leases(name);
      assert.equal(String(minter.lease.shard), shard);
      assert.equal(runs, 't');
      assert.match(owner, new RegExp(`-${process.pid}-[0-9a-f]{8}-[0-9a-f]{16}$`));
      assert.equal(minter.lease.expiresAt - minter.lease.notBefore, 30_000_000n, 'firstTtl');
      assert.equal(minter.layout.canonical, Layout.parse(LAYOUT).canonical);

      const ids = [await minter.next(), minter.tryNext(), BigInt(await minter.nextString()), ...minter.tryNextN(3000),
        ...await minter.nextN(2)];
      ids.forEach((id, i) => assert(i === 0 || id > ids[i - 1], 'they ascend'));
      const [{ count }] = await sql('SELECT count(*) FROM unnest($1::bigint[]) AS id WHERE flake_shard(id, $2) = $3'
        + ' AND flake_timestamp(id, $2) BETWEEN now() - interval \'1 minute\' AND now() + interval \'15 s\'',
      [ids, LAYOUT, shard]);
      assert.equal(count, String(ids.length), 'and the database sees their shard and time');
      assert.deepEqual(minter.tryNextN(0), []);

      await minter.close();
      assert.equal(minter.state, 'closed');
      assert.deepEqual(types(), ['leased', 'released']);
      assert.equal((await leases(name))[0].runs, 'f', 'the lease is given back');
      assert.throws(() => minter.tryNext(), flakeid.Closed);
      await raises(minter.next(), 'Closed');
      await minter.close();
    }),

    t.test('a lease is renewed after a third of it', async () => {
      const name = await generator('renewed', LAYOUT);
      const { minter, events, types } = await minterOf({ generator: name, firstTtl: 3000, ttl: 60_000 });
      const first = await minter.next();
      await until(() => types().includes('renewed'), 'it is renewed');
      assert(events[1].expiresAt > events[0].expiresAt + 50_000_000n, 'for ttl');
      assert(await minter.next() > first);
      assert.equal((await leases(name)).length, 1, 'on the same shard');
      await minter.close();
    }),

    t.test('the database is away', async () => {
      const name = await generator('away', LAYOUT);
      const proxy = await new Proxy().start();
      const { minter, events, types } = await minterOf({ generator: name, ttl: 3000, connectionString: proxy.connectionString });
      const { shard } = minter.lease;
      await until(() => types().includes('renewed'), 'it is renewed');
      proxy.refuse();
      const failing = await until(() => events.find(({ type }) => type === 'renew_failed'), 'renewing fails');
      assert.equal(failing.error.name, 'NotConnected');
      const last = minter.tryNext(); // minting goes on
      await until(() => minter.state === 'leasing', 'the lease ends');
      assert(Number(minter.layout.timestamp(last)) / 1e6 < Date.now() / 1000 + 15);
      await assert.rejects(minter.next(50), (error) => {
        assert(error instanceof flakeid.LeaseExpired);
        assert(error.failingSince instanceof Date && Date.now() - error.failingSince < 5000);
        assert.match(error.message, /renewing has failed since 20.*cannot be reached/);
        assert.equal(error.cause.name, 'NotConnected');
        return true;
      });
      proxy.open();
      assert(await minter.next(12_000) > last, 'the next id is of a new lease');
      assert.notEqual(minter.lease.shard, shard, 'on another shard');
      assert(types().includes('lost'));
      await minter.close();
      proxy.stop();
    }),

    t.test('a lease that was lost', async () => {
      const name = await generator('lost', LAYOUT);
      const { minter, types } = await minterOf({ generator: name, firstTtl: 3000 });
      const first = await minter.next();
      await sql('DELETE FROM flake_leases WHERE generator = $1::regclass', [name]);
      await until(() => types().filter((type) => type === 'leased').length >= 2, 'another shard is leased');
      assert.match(types().join(), /^leased,(renewed,)*lost,leased/);
      assert(await minter.next() > first);
      await minter.close();
    }),

    t.test('an answer that is lost is no lease', async () => {
      const name = await generator('swallowed', LAYOUT);
      const proxy = await new Proxy().start();
      proxy.swallow();
      await raises(Minter.create({ connectionString: proxy.connectionString, generator: name, ttl: 1000 }), 'NotConnected');
      proxy.open();
      const { minter } = await minterOf({ connectionString: proxy.connectionString, generator: name, ttl: 1000 });
      proxy.swallow();
      const closed = performance.now();
      await minter.close();
      assert(performance.now() - closed < 5000, 'close() does not wait for long');
      proxy.stop();
    }),

    t.test('errors say what to do', async () => {
      const create = (more) => Minter.create({ connectionString, ...more });
      const url = new URL(connectionString);
      url.searchParams.set('port', '1');
      await raises(create({ connectionString: url.href }), 'NotConnected', /cannot be reached: /);
      url.searchParams.set('port', new URL(connectionString).searchParams.get('port'));
      url.pathname = '/no_such_database';
      await raises(create({ connectionString: url.href }), 'NotConnected', /no_such_database/);
      url.pathname = '/template1';
      await raises(create({ connectionString: url.href }), 'NotInstalled', /CREATE EXTENSION flakeid/);
      await raises(Prefetch.create({ connectionString: url.href, shard: 1 }), 'NotInstalled');

      await sql('CREATE TABLE IF NOT EXISTS plain (); CREATE SEQUENCE IF NOT EXISTS plain_sequence');
      for (const name of ['nothing', 'no_schema.nothing', 'a.b.c.d', 'a.b.c', '""', 'plain', 'plain_sequence']) {
        await raises(create({ generator: name }), 'NoGenerator', /flake_create_generator/);
        await raises(Prefetch.create({ connectionString, shard: 1, generator: name }), 'NoGenerator');
      }
      await raises(create({ generator: await generator('counts', 'segment') }), 'UnsupportedLayout', /no time/);
      await raises(create({ generator: await generator('shardless', 'mastodon') }), 'UnsupportedLayout', /no shards/);
      await raises(create({ generator: await generator('uuids', 'uuidv7') }), 'UnsupportedLayout', /flake_uuidv7/);
      await raises(create({ generator: await generator('over', 'ts:30 shard:3 seq:3 epoch=2020-01-01') }), 'LifetimeOver');

      const one = await generator('one_shard', 'ts:41 shard:1 seq:10 epoch=2026-01-01');
      await sql(`SELECT flake_attach(1, generator => '${one}'), flake_lease('other', '1 h', '${one}')`);
      await raises(create({ generator: one }), 'NoShardLeft', /20\d\d-/);

      await sql(`DROP ROLE IF EXISTS flakeid_node; CREATE ROLE flakeid_node LOGIN`);
      url.pathname = new URL(connectionString).pathname;
      url.username = 'flakeid_node';
      await raises(create({ connectionString: url.href }), 'NotPermitted', /GRANT|grant EXECUTE/);
      await sql('GRANT EXECUTE ON FUNCTION flake_lease, flake_renew, flake_release TO flakeid_node');
      await raises(create({ connectionString: url.href, generator: one }), 'NotPermitted');
      await raises(Prefetch.create({ connectionString: url.href, shard: 0, generator: one }), 'NotPermitted', /USAGE/);
      await sql('REVOKE EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text) FROM PUBLIC');
      await raises(Prefetch.create({ connectionString: url.href, shard: 0 }), 'NotPermitted',
        /pg_logical_emit_message: grant EXECUTE on flake_ids and pg_logical_emit_message\(boolean, text, text\)/);
      await sql('GRANT EXECUTE ON FUNCTION pg_logical_emit_message(boolean, text, text) TO PUBLIC');
      await (await create({ connectionString: url.href })).close();
      await sql('DROP OWNED BY flakeid_node; DROP ROLE flakeid_node');

      await raises(Prefetch.create({ connectionString, shard: 8192 }), 'ServerError', /shard 8192/);
      for (const bad of [{ ttl: 999 }, { ttl: 86_400_001 }, { ttl: 'x' }, { firstTtl: 0 }, { maxAhead: -1 }, { maxAhead: 3_600_001 },
        { owner: '' }, { owner: 'x'.repeat(201) }, { generator: '' }, { onEvent: 1 }, { connectionString: 5 }])
        await raises(create(bad), 'InvalidArgument');
      for (const bad of [{}, { shard: -1 }, { shard: 1, batch: 0 }, { shard: 1, batch: 1e6 + 1 }, { shard: 1, expires: 0 }])
        await raises(Prefetch.create({ connectionString, ...bad }), 'InvalidArgument');
      const minter = await create({ maxAhead: 1000 });
      assert.throws(() => minter.tryNextN(1.5), flakeid.InvalidArgument);
      assert.throws(() => minter.tryNextN(2_000_000), flakeid.InvalidArgument);
      await raises(minter.next(-1), 'InvalidArgument');
      await minter.close();
    }),

    t.test('next() waits where tryNext() throws', async () => {
      const name = await generator('slow', 'ts:41 shard:6 seq:2 epoch=2026-01-01 unit=1s');
      const { minter } = await minterOf({ generator: name, maxAhead: 1000 });
      assert.throws(() => {
        for (;;) minter.tryNext();
      }, (error) => error instanceof flakeid.TooFarAhead && error.wait > 0 && error.wait <= 1001);
      await raises(minter.next(0), 'TooFarAhead');
      const ids = [await minter.next(5000), ...await minter.nextN(4, 5000)];
      assert(ids.every((id, i) => i === 0 || id > ids[i - 1]));
      await minter.close();
    }),

    t.test('what others have set does not matter', async () => {
      const parser = pg.types.getTypeParser(20);
      pg.types.setTypeParser(20, Number);
      await sql(`DROP ROLE IF EXISTS flakeid_odd;
        CREATE ROLE flakeid_odd LOGIN SUPERUSER;
        ALTER ROLE flakeid_odd SET default_transaction_isolation = serializable;
        ALTER ROLE flakeid_odd SET default_transaction_read_only = on;
        ALTER ROLE flakeid_odd SET search_path = evil, pg_catalog;
        ALTER ROLE flakeid_odd SET extra_float_digits = 0;
        ALTER ROLE flakeid_odd SET timezone = 'Asia/Kolkata';
        DROP SCHEMA IF EXISTS evil CASCADE;
        CREATE SCHEMA evil;
        CREATE FUNCTION evil.same(oid, oid) RETURNS boolean LANGUAGE sql AS 'SELECT false';
        CREATE FUNCTION evil.times(numeric, integer) RETURNS numeric LANGUAGE sql AS 'SELECT 0';
        CREATE OPERATOR evil.= (LEFTARG = oid, RIGHTARG = oid, FUNCTION = evil.same);
        CREATE OPERATOR evil.* (LEFTARG = numeric, RIGHTARG = integer, FUNCTION = evil.times);
        CREATE FUNCTION evil.flake_lease(text, interval, regclass, OUT shard int, OUT not_before timestamptz,
          OUT expires_at timestamptz) LANGUAGE sql AS 'SELECT 1, now(), now() + $2'`);
      const name = await generator('odd', LAYOUT);
      const url = new URL(connectionString);
      url.username = 'flakeid_odd';
      const { minter, types } = await minterOf({ connectionString: url.href, generator: `public.${name}`, firstTtl: 3000 });
      await minter.next();
      await until(() => types().includes('renewed'), 'it is renewed');
      await minter.close();
      assert(types().includes('released'));
      assert.equal(minter.layout.canonical, Layout.parse(LAYOUT).canonical);
      pg.types.setTypeParser(20, parser);
      await sql('DROP SCHEMA evil CASCADE; DROP OWNED BY flakeid_odd; DROP ROLE flakeid_odd');
    }),

    t.test('a generator made anew', async () => {
      const name = await generator('anew', LAYOUT);
      const { minter, events, types } = await minterOf({ generator: name, firstTtl: 3000 });
      const first = await minter.next();
      await generator(name, 'ts:41 shard:4 seq:12 epoch=2026-01-01');
      const { error } = await until(() => events.find(({ type }) => type === 'renew_failed'), 'no lease with another layout');
      assert.equal(error.name, 'UnsupportedLayout');
      assert.match(error.message, /another layout now/);
      assert.deepEqual(await leases(name), []);
      await raises(minter.next(0), 'LeaseExpired', /another layout now/);
      await generator(name, LAYOUT);
      assert(await minter.next(15_000) > first, 'but with the same one');
      assert.equal(types().filter((type) => type === 'leased').length, 2);
      await minter.close();
    }),

    t.test('a generator by its OID', async () => {
      const name = await generator('by_oid', LAYOUT);
      const [{ oid }] = await sql('SELECT $1::regclass::oid AS oid', [name]);
      const { minter } = await minterOf({ generator: oid });
      const prefetch = await Prefetch.create({ connectionString, shard: 5, generator: oid });
      await minter.next();
      await prefetch.next();
      await minter.close();
      await prefetch.close();
    }),

    t.test('a connection that breaks again and again', async () => {
      const name = await generator('breaks', LAYOUT);
      const proxy = await new Proxy().start();
      const { minter, types } = await minterOf({ generator: name, connectionString: proxy.connectionString });
      for (const end = performance.now() + 2500; performance.now() < end;) {
        proxy.cut();
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      const renewals = types().filter((type) => type.startsWith('renew')).length;
      assert(renewals >= 1 && renewals <= 3, `${renewals} renewals: at once, but once a second`);
      await minter.close();
      proxy.stop();
    }),

    t.test('an onEvent that fails', async () => {
      const name = await generator('on_event', LAYOUT);
      const warnings = [];
      const note = ({ message }) => warnings.push(message);
      process.on('warning', note);
      for (const onEvent of [async () => { throw new Error('told later'); }, () => { throw new Error('told'); }])
        await (await Minter.create({ connectionString, generator: name, onEvent })).close();
      await until(() => warnings.filter((message) => /onEvent has thrown: told/.test(message)).length === 4, 'it is warned');
      process.off('warning', note);
    }),

    t.test('ids ahead of the clock keep a lease for their time (P8)', async () => {
      const layout = LAYOUT.replace('seq:10', 'seq:2');
      const name = await generator('ahead', layout);
      const { minter, types } = await minterOf({ generator: name });
      const last = minter.tryNextN(400 * 4).at(-1);
      await minter.close();
      assert(types().includes('released'), 'close() waits for less than a second');
      const [{ past }] = await sql('SELECT expires_at > flake_timestamp($1, $2) AS past FROM flake_leases'
        + ' WHERE generator = $3::regclass', [last, layout, name]);
      assert.equal(past, 't');
      const far = await minterOf({ generator: name });
      far.minter.tryNextN(10_000 * 4);
      await far.minter.close();
      assert(!far.types().includes('released'), 'else the lease ends by itself');
      assert.equal((await leases(name)).filter(({ runs }) => runs === 't').length, 1);
    }),

    t.test('prefetch', async () => {
      const name = await generator('prefetched', LAYOUT);
      const prefetch = await Prefetch.create({ connectionString, shard: 5, generator: name, batch: 10 });
      const ids = prefetch.tryNextN(10);
      assert.throws(() => prefetch.tryNext(), flakeid.NotYet);
      ids.push(await prefetch.next(), ...await prefetch.nextN(25), BigInt(await prefetch.nextString()));
      assert.equal(ids.length, 37);
      assert(ids.every((id, i) => i === 0 || id > ids[i - 1]));
      assert(ids.every((id) => Layout.parse(LAYOUT).shard(id) === 5));
      const [{ issued }] = await sql('SELECT sum(issued) AS issued FROM flake_stat WHERE generator = $1::regclass', [name]);
      assert(Number(issued) <= 60, `${issued} were fetched`);
      await prefetch.close();
      assert.throws(() => prefetch.tryNext(), flakeid.Closed);

      const old = await Prefetch.create({ connectionString, shard: 5, generator: name, batch: 10, expires: 100 });
      const before = await sql('SELECT flake_id(5, $1)', [name]);
      await new Promise((resolve) => setTimeout(resolve, 150));
      assert(await old.next() > BigInt(before[0].flake_id), 'ids that are too old are thrown away');
      await old.close();

      const proxy = await new Proxy().start();
      const cut = await Prefetch.create({ connectionString: proxy.connectionString, shard: 5, generator: name, batch: 2 });
      await cut.next();
      await new Promise((resolve) => setTimeout(resolve, 50));
      proxy.refuse();
      await raises((async () => {
        for (;;) await cut.next(100);
      })(), 'NotConnected');
      proxy.open();
      await cut.next(3000);
      await cut.close();
      proxy.stop();
    }),

    t.test('a connection that is made while it is closed', async () => {
      const name = await generator('closed_meanwhile', LAYOUT);
      const proxy = await new Proxy().start();
      const options = { connectionString: proxy.connectionString, generator: name };
      const { minter, types } = await minterOf(options);
      const prefetch = await Prefetch.create({ ...options, shard: 5, batch: 2 });
      proxy.hold();
      await until(() => proxy.connections === 1, 'the minter connects anew');
      prefetch.tryNextN(2);
      await until(() => proxy.connections === 2, 'the prefetch does');
      await minter.close();
      await prefetch.close();
      proxy.open();
      await until(() => proxy.connections === 0, 'neither keeps it');
      assert.deepEqual(types(), ['leased'], 'and nothing is asked with it');
      proxy.stop();
    }),

    t.test('a process with nothing left to do gives its lease back', async () => {
      const name = await generator('exits', LAYOUT);
      const program = (last) => `import { Minter, Prefetch } from '@flakeid/client';
        const ids = await Minter.create({ generator: '${name}', connectionString: process.env.DATABASE_URL });
        await Prefetch.create({ shard: 1, generator: '${name}', connectionString: process.env.DATABASE_URL });
        console.log(String(ids.tryNext()), ids instanceof Minter); ${last}`;
      const run = async (...args) => (await promisify(execFile)(process.execPath, args, { cwd: packageRoot, timeout: 10_000 })).stdout;
      assert.match(await run('--input-type=module', '--eval', program('')), /^\d+ true\n$/);
      assert.equal((await leases(name)).filter(({ runs }) => runs === 't').length, 0);
      await run('--input-type=module', '--eval', program('process.exit(0);'));
      assert.equal((await leases(name)).filter(({ runs }) => runs === 't').length, 1, 'but not by process.exit()');
    }),

    t.test('CommonJS, await using, and threads', async () => {
      const name = await generator('threads', LAYOUT);
      const common = createRequire(import.meta.url)('@flakeid/client');
      assert.deepEqual(Object.keys(common).sort(), Object.keys(flakeid).sort());
      const minter = await common.Minter.create({ connectionString, generator: name });
      const ids = [minter.tryNext()];
      if (Symbol.asyncDispose) {
        await minter[Symbol.asyncDispose]();
        assert.equal(minter.state, 'closed');
      }
      await Promise.all(Array.from({ length: 3 }, () => new Promise((resolve, reject) => {
        new Worker(`const { Minter } = require('@flakeid/client');
          const { parentPort, workerData } = require('node:worker_threads');
          (async () => {
            const minter = await Minter.create(workerData);
            parentPort.postMessage(minter.tryNextN(1000));
            await minter.close();
          })();`, { eval: true, workerData: { connectionString, generator: name } })
          .on('message', (more) => ids.push(...more)).on('error', reject).on('exit', resolve);
      })));
      assert.equal(new Set(ids).size, 3001);
      await minter.close();
    }),
  ]);
});
