// Minting by numbers and by BigInt is the same, and keeps rules P1, P2 and P4 of docs/clients.md, for all kinds of
// layouts and whatever the clock does.

import assert from 'node:assert/strict';
import { test } from 'node:test';

import { LeaseExpired, LifetimeOver, NotYet, TooFarAhead, Layout } from '@flakeid/client';

import { wallClockUs } from '../dist/esm/clock.js';
import { BigIntCore } from '../dist/esm/core-bigint.js';
import { NumberCore } from '../dist/esm/core-number.js';
import { coreFor } from '../dist/esm/core.js';
import { firstTickFrom } from '../dist/esm/span.js';

const NOW = Date.UTC(2026, 10, 22, 12, 0, 0);
const realNow = Date.now;

/** Runs a function with a clock that it can set. */
function withClock(run) {
  const clock = { now: NOW };
  Date.now = () => Math.floor(clock.now);
  performance.now = () => clock.now - NOW;
  try {
    run(clock);
  } finally {
    Date.now = realNow;
    delete performance.now;
  }
}

/** Numbers that are the same in each run. */
function seeded(seed) {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor(state / 2 ** 32 * below);
  };
}

const layouts = [
  'instagram', 'snowflake', 'sonyflake', 'cockroach', 'js53',
  'ts:20 seq:1 a:1 epoch=2026-01-01 unit=1d start=zero',
  'ts:50 shard:3 seq:10 epoch=2026-01-01 unit=1us start=zero',
  'ts:44 shard:3 seq:10 epoch=2024-01-01T00:00:00.000007Z unit=7us',
  'ts:41 seq:20 shard:3 epoch=2050-01-01 start=zero', // negative ids
  'ts:30 a:1 b:1 c:1 d:1 e:1 f:1 g:1 seq:26 h:1 epoch=2026-01-01 unit=100ms',
  'ts:12 seq:51 shard:1 epoch=2026-11-22 unit=1min start=continue',
  'ts:33 seq:3 shard:28 epoch=2026-01-01 unit=500ms start=zero',
];

for (const text of layouts) {
  test(`by numbers and by BigInt: ${text}`, () => withClock((clock) => {
    const layout = Layout.parse(text);
    const random = seeded(19);
    const cores = [new NumberCore(layout, 15_000), new BigIntCore(layout, 15_000)];
    const unitMs = Number(layout.value.unitUs) / 1000;
    let last = null;
    let minted = 0;
    const errors = new Set();

    for (let lease = 0; lease < 20; lease++) {
      const shard = random(layout.maxShard + 1);
      const notBefore = BigInt(Math.floor(clock.now + (random(3) - 1) * 20 * Math.max(unitMs, 1000))) * 1000n;
      const firstTick = firstTickFrom(layout, notBefore);
      let endTick = firstTick + BigInt(1 + random(60_000));
      for (const core of cores) core.begin({ shard, firstTick, endTick });
      let lastTick = last === null ? null : layout.tickAt(layout.timestamp(last));
      for (let step = 0; step < 60; step++) {
        if (random(4) === 0) clock.now += random(40) * Math.max(unitMs, 0.3);
        if (random(10) === 0) clock.now += (random(3) - 1) * random(20_000);
        if (random(20) === 0) {
          endTick += BigInt(random(30_000));
          for (const core of cores) core.extend(endTick);
        }
        const n = 1 + random(3) * random(Math.min(400, Number(layout.idsPerTick) * 3));
        const [one, other] = cores.map((core) => {
          try {
            return n === 1 ? [core.next()] : core.nextN(n);
          } catch (error) {
            return error;
          }
        });
        if (one instanceof Error) {
          assert.equal(one.name, other.name);
          assert.equal(one.message, other.message);
          errors.add(one.name);
          continue;
        }
        assert.deepEqual(one, other);
        assert.equal(one.length, n);
        minted += n;
        for (const id of one) {
          const tick = layout.tickAt(layout.timestamp(id));
          assert.equal(layout.shard(id), shard);
          assert(tick >= firstTick && tick < endTick, 'P1');
          if (lastTick !== null) assert(tick > lastTick, 'P2: a lease begins with a later tick');
          else if (last !== null) {
            const packed = (one) => [layout.tickAt(layout.timestamp(one)), layout.sequence(one)];
            const [[a, b], [c, d]] = [packed(last), packed(id)];
            assert(c > a || (c === a && d > b), 'P2: packed values ascend');
          }
          lastTick = null;
          last = id;
        }
        const ahead = BigInt(Math.floor(15_000_000 / Number(layout.value.unitUs)));
        const tick = layout.tickAt(layout.timestamp(last));
        // The clock of a sub-millisecond unit may be some of it ahead of Date.now().
        assert(tick <= layout.tickAt(BigInt(Math.floor(clock.now)) * 1000n + 999n) + ahead, 'P4');
        assert.equal(cores[0].lastTick(), tick);
        assert.equal(cores[1].lastTick(), tick);
      }
    }
    assert(minted > 100, `${minted} ids`);
    assert(errors.size > 0, 'there were errors, too');
  }));
}

test('a layout of many bits goes by BigInt', () => {
  assert(coreFor(Layout.parse('tsid'), 0) instanceof NumberCore);
  assert(coreFor(Layout.parse('ts:60 shard:1 seq:3 epoch=2026-01-01 unit=1us'), 0) instanceof BigIntCore);
  assert(coreFor(Layout.parse('ts:10 shard:1 seq:53 epoch=2026-11-22 unit=1d'), 0) instanceof BigIntCore);
});

/** A core that has leased shard 1 from `from` to `upto`, in milliseconds from NOW. */
function leased(Core, text, from, upto, maxAhead = 15_000) {
  const layout = Layout.parse(text);
  const core = new Core(layout, maxAhead);
  const tick = (ms) => firstTickFrom(layout, BigInt(NOW + ms) * 1000n);
  core.begin({ shard: 1, firstTick: tick(from), endTick: tick(upto) });
  return { core, layout };
}

for (const Core of [NumberCore, BigIntCore]) {
  test(`${Core.name}: where a tick begins`, () => withClock((clock) => {
    const starts = (text) => {
      const { core, layout } = leased(Core, text, 0, 60_000);
      return Array.from({ length: 200 }, () => {
        clock.now += 10;
        return Number(layout.sequence(core.next()));
      });
    };
    const bits = 'ts:41 shard:13 seq:10 epoch=2020-01-01';

    assert(starts(`${bits} start=zero`).every((sequence) => sequence === 0));
    assert.deepEqual(starts(`${bits} start=continue`), Array.from({ length: 200 }, (_, i) => i));
    const below = starts(`${bits} start=random:10`);
    assert.deepEqual([...new Set(below)].sort((a, b) => a - b), [0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    const any = starts(`${bits} start=random`);
    assert(new Set(any).size > 100 && Math.max(...any) > 900 && Math.max(...any) <= 1023);
  }));

  test(`${Core.name}: ids that would run into the next tick begin with 0`, () => withClock((clock) => {
    const { core, layout } = leased(Core, 'ts:41 shard:13 seq:10 epoch=2020-01-01', 0, 60_000);
    core.nextN(1000);
    clock.now += 10;
    assert.equal(layout.sequence(core.nextN(100)[0]), 0n);
  }));

  test(`${Core.name}: what cannot be had yet, or no more`, () => withClock((clock) => {
    const { core, layout } = leased(Core, 'ts:41 shard:13 seq:10 epoch=2020-01-01', 0, 60_000);
    const is = (type, wait) => (error) => error instanceof type && (wait === undefined || error.wait === wait);

    clock.now = NOW - 20_000;
    assert.throws(() => core.next(), is(NotYet, 5000));
    clock.now = NOW - 15_000;
    assert.equal(layout.timestamp(core.next()), BigInt(NOW) * 1000n, 'the clock is behind by maxAhead: the first tick');
    clock.now = NOW + 10_000;
    core.next();
    clock.now = NOW - 10_000;
    assert.throws(() => core.next(), is(TooFarAhead, 5000));
    clock.now = NOW - 4_000;
    assert.equal(layout.timestamp(core.next()), BigInt(NOW + 10_000) * 1000n, 'a clock that goes back a little');
    clock.now = NOW + 30_000;
    assert.throws(() => core.nextN(15_002 * 1024), is(TooFarAhead));
    clock.now = NOW + 60_000;
    assert.throws(() => core.next(), is(LeaseExpired));
    clock.now = NOW + 59_999;
    core.nextN(1024);
    assert.throws(() => core.next(), is(LeaseExpired), 'nor are ids borrowed from beyond the end');

    const short = leased(Core, 'ts:20 shard:3 seq:10 epoch=2026-11-22T11:55:00Z', -1000, 60_000_000);
    clock.now = Date.UTC(2026, 10, 22, 11, 55) + 2 ** 20;
    assert.throws(() => short.core.next(), is(LifetimeOver));
  }));
}

test('the wall clock in microseconds ascends within a millisecond and follows a step', () => {
  const read = () => {
    const before = Date.now();
    const now = wallClockUs();
    const after = Date.now();
    assert(Math.floor(now / 1000) >= before && Math.floor(now / 1000) <= after, `${before}, ${now} us, ${after}`);
    return now;
  };
  let last = read();
  let finer = 0;
  for (let i = 0; i < 20_000; i++) {
    const now = read();
    if (now > last && Math.floor(now / 1000) === Math.floor(last / 1000)) finer++;
    last = now;
  }
  assert(finer > 100, 'there are microseconds');
  try {
    for (const step of [3_600_000, -7_200_000, 0]) {
      Date.now = () => realNow() + step;
      read();
    }
  } finally {
    Date.now = realNow;
  }
});
