// Ids per second of the processor's time, as lines "name<TAB>ids per second": this library's, and those of packages of
// npm that mint Snowflake's or Sonyflake's kind of ids, where they are installed; and readings of the clock. With a
// database (DATABASE_URL or PGHOST), the minter is a whole one, of the generator FLAKEID_GENERATOR if that is set.
//
//   node bench/bench.mjs [SECONDS] [FILTER]

import { Layout, Minter } from '@flakeid/client';

import { NumberCore } from '../dist/esm/core-number.js';
import { BigIntCore } from '../dist/esm/core-bigint.js';
import { firstTickFrom } from '../dist/esm/span.js';

const seconds = Number(process.argv[2] ?? 1);
const filter = new RegExp(process.argv[3] ?? '');
/** So many ids a tick that nothing waits: the layout is not what is measured. */
const WIDE = 'ts:36 shard:4 seq:24 epoch=2026-01-01 unit=10ms start=zero';

/**
 * Calls a function that makes `count` ids, or a promise of them to wait for, and prints how many that are in a second:
 * the best of three rounds.
 */
async function measure(name, count, make, wait = false) {
  if (!filter.test(name)) return;
  let best = 0;
  for (let round = 0; round < 3; round++) {
    let made = 0;
    const begun = process.cpuUsage();
    const end = performance.now() + seconds * 1000 / 3;
    while (performance.now() < end) {
      if (wait) for (let i = 0; i < 1000; i++) await make();
      else for (let i = 0; i < 1000; i++) make();
      made += 1000 * count;
    }
    const { user, system } = process.cpuUsage(begun);
    best = Math.max(best, made * 1e6 / (user + system));
  }
  console.log(`${name}\t${Math.round(best)}`);
}

/** An optional package; undefined if it is not installed. */
async function load(name) {
  try {
    return await import(name);
  } catch {
    console.error(`${name}: not installed`);
    return undefined;
  }
}

function leased(Core) {
  const layout = Layout.parse(WIDE);
  const core = new Core(layout, 15_000);
  const at = (ms) => firstTickFrom(layout, BigInt(Date.now() + ms) * 1000n);
  core.begin({ shard: 1, firstTick: at(0), endTick: at(3_600_000) });
  return core;
}

await measure('Date.now()', 1, () => Date.now());
await measure('performance.now()', 1, () => performance.now());
const numbers = leased(NumberCore);
await measure('core, by numbers', 1, () => numbers.next());
const bigints = leased(BigIntCore);
await measure('core, by BigInt', 1, () => bigints.next());

if (process.env.DATABASE_URL || process.env.PGHOST) {
  const minter = await Minter.create({
    ...(process.env.DATABASE_URL && { connectionString: process.env.DATABASE_URL }),
    generator: process.env.FLAKEID_GENERATOR, firstTtl: 600_000, ttl: 600_000, maxAhead: 3_600_000,
  });
  await measure('@flakeid/client tryNext()', 1, () => minter.tryNext());
  await measure('@flakeid/client tryNextN(100)', 100, () => minter.tryNextN(100));
  await measure('@flakeid/client String(tryNext())', 1, () => String(minter.tryNext()));
  await measure('@flakeid/client await next()', 1, () => minter.next(), true);
  await measure('@flakeid/client await nextN(100)', 100, () => minter.nextN(100), true);
  await minter.close();
}

const flakeIdgen = (await load('flake-idgen'))?.default;
if (flakeIdgen) {
  const generator = new flakeIdgen();
  // It throws, where a millisecond has no more: its own speed is that of its layout.
  await measure('flake-idgen next(), Buffer', 1, () => {
    for (;;)
      try {
        return generator.next();
      } catch { /* the next millisecond */ }
  });
}

const tsid = await load('tsid-ts');
if (tsid) {
  const { getTsid } = tsid.default ?? tsid;
  await measure('tsid-ts getTsid().toBigInt()', 1, () => getTsid().toBigInt());
}

const sonyflake = await load('sonyflake');
if (sonyflake) {
  const { Sonyflake } = sonyflake.default?.Sonyflake ? sonyflake.default : sonyflake;
  const generator = new Sonyflake({ machineId: 1, epoch: Date.UTC(2026, 0) });
  await measure('sonyflake nextId()', 1, () => generator.nextId());
}

const snowflake = await load('nodejs-snowflake');
if (snowflake) {
  const { Snowflake } = snowflake.default?.Snowflake ? snowflake.default : snowflake;
  const generator = new Snowflake({ instance_id: 1 });
  await measure('nodejs-snowflake getUniqueID()', 1, () => generator.getUniqueID());
}

const sapphire = await load('@sapphire/snowflake');
if (sapphire) {
  const { Snowflake } = sapphire.default?.Snowflake ? sapphire.default : sapphire;
  const generator = new Snowflake(new Date('2026-01-01T00:00:00Z'));
  await measure('@sapphire/snowflake generate()', 1, () => generator.generate());
}
