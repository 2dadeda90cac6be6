// minter.mjs DSN GENERATOR TTL_SECONDS PREFIX [RATE]
//
// A process that mints until SIGTERM, for tests that stop it, kill it, set its clock or take its database away. It appends
// ids to PREFIX.ids, as 8 bytes each, the lowest first; and what happens to PREFIX.log, a line each, before any id of that
// lease is written. With RATE about so many ids a second, else as fast as it can.

import { openSync, writeSync } from 'node:fs';
import { setTimeout as sleep, setImmediate as yieldToEvents } from 'node:timers/promises';

import { Minter, TooFarAhead } from '@flakeid/client';

const BUFFERED = 4096;
const PAUSE = 50;

const [dsn, generator, ttlSeconds, prefix, rate] = process.argv.slice(2);
if (prefix === undefined) {
  console.error('usage: minter.mjs DSN GENERATOR TTL_SECONDS PREFIX [RATE]');
  process.exit(2);
}

const idsFile = openSync(`${prefix}.ids`, 'a');
const logFile = openSync(`${prefix}.log`, 'a');
const bytes = new DataView(new ArrayBuffer(8 * BUFFERED));
let buffered = 0;
let ends = false;

function flush() {
  for (let at = 0; at < 8 * buffered;) at += writeSync(idsFile, bytes, at, 8 * buffered - at);
  buffered = 0;
}

function log(...words) {
  writeSync(logFile, `${words.join(' ').replace(/\s+/g, ' ')}\n`);
}

function onEvent(event) {
  flush();
  switch (event.type) {
    case 'leased': return log('leased', event.shard, event.notBefore, event.expiresAt);
    case 'renewed': return log('renewed', event.expiresAt);
    case 'renew_failed': return log('renew_failed', event.error.sqlstate ?? '--', event.error.message);
    default: return log(event.type);
  }
}

/** A connection string as URI, or as libpq's keywords and values. */
function connection(text) {
  if (text.includes('://')) return { connectionString: text };
  const words = Object.fromEntries([...text.matchAll(/(\w+)\s*=\s*(?:'((?:[^'\\]|\\.)*)'|(\S*))/g)]
    .map(([, name, quoted, plain]) => [name, (quoted ?? plain).replace(/\\(.)/g, '$1')]));
  const { dbname: database, ...client } = words;
  return { client: { ...client, ...(database !== undefined && { database }) } };
}

async function make() {
  const ttl = Number(ttlSeconds) * 1000;
  while (!ends) {
    try {
      return await Minter.create({ ...connection(dsn), generator, ttl, firstTtl: ttl, onEvent });
    } catch (error) {
      log('error', error.name, error.message);
      await sleep(PAUSE);
    }
  }
  return undefined;
}

process.on('SIGTERM', () => {
  ends = true;
});
process.on('SIGUSR1', () => undefined); // else Node.js starts its debugger
const keepAlive = setInterval(() => undefined, 1000);

const minter = await make();
let allowed = 0;
let since = performance.now();

while (!ends) {
  if (rate !== undefined) {
    const now = performance.now();
    allowed = Math.min(allowed + (now - since) * Number(rate) / 1000, Math.max(Number(rate), 1));
    since = now;
  } else {
    allowed = BUFFERED;
  }
  try {
    for (; allowed >= 1 && buffered < BUFFERED; allowed--, buffered++)
      bytes.setBigInt64(8 * buffered, minter.tryNext(), true);
    flush();
    if (rate !== undefined) await sleep(5);
    else await yieldToEvents();
  } catch (error) {
    flush();
    if (error instanceof TooFarAhead) await sleep(Math.min(error.wait, PAUSE));
    else {
      log('error', error.name, error.message);
      await sleep(PAUSE);
    }
  }
}
flush();
await minter?.close();
clearInterval(keepAlive);
