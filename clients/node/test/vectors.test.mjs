// The library says what the server says: clients/vectors/*.csv, line by line.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import {
  InvalidArgument, Layout, fromText, seal, sealText, shardFor, shardForUuid, toText, unseal, unsealText, uuidv7Decode,
} from '@flakeid/client';

const MAX_INT64 = 2n ** 63n - 1n;

/** The lines of a file by the names in its header (RFC 4180). */
function vectors(name) {
  const text = readFileSync(new URL(`../../vectors/${name}.csv`, import.meta.url), 'utf8');
  const [header, ...rows] = text.trimEnd().split('\n').map((line) =>
    [...line.matchAll(/(?:^|,)(?:"((?:[^"]|"")*)"|([^,]*))/g)].map(([, quoted, plain]) => quoted?.replaceAll('""', '"') ?? plain));
  assert(rows.length > 0, `${name} has lines`);
  return rows.map((row) => Object.fromEntries(header.map((column, i) => [column, row[i]])));
}

/** Checks each line; the message of a failure tells which it was. */
function check(name, compare) {
  test(name, () => {
    for (const row of vectors(name)) {
      try {
        compare(row);
      } catch (error) {
        error.message = `${JSON.stringify(row)}: ${error.message}`;
        throw error;
      }
    }
  });
}

const text = (value) => (value === null ? '' : String(value));
/** Times beyond 64 bits are in no vector; a BigInt has them. */
const time = (value) => (value === null || value > MAX_INT64 ? '' : String(value));
const refuses = (call) => assert.throws(call, InvalidArgument);

check('layouts', (row) => {
  const layout = Layout.parse(row.layout);
  assert.equal(layout.canonical, row.canonical);
  assert.equal(Layout.parse(layout.canonical).canonical, row.canonical);
  assert.equal(String(layout.maxShard), row.max_shard);
  assert.equal(text(layout.idsPerTick), row.ids_per_tick);
  assert.equal(time(layout.starts), row.starts_us);
  assert.equal(time(layout.ends), row.ends_us);
});

check('layouts_invalid', (row) => refuses(() => Layout.parse(row.layout)));

function decodes({ layout: name, id, time_us, shard, sequence }) {
  const layout = Layout.parse(name);
  const decoded = layout.decode(id);
  assert.deepEqual(
    [text(decoded.time), String(decoded.shard), String(decoded.sequence)], [time_us, shard, sequence]);
  assert.deepEqual(
    [layout.timestamp(BigInt(id)), layout.shard(id), layout.sequence(id)], [decoded.time, decoded.shard, decoded.sequence]);
  return { layout, decoded };
}

check('decode', (row) => {
  const { layout, decoded } = decodes(row);
  if (decoded.time === null) refuses(() => layout.encode(0n, 0, 0));
  else assert.equal(String(layout.encode(decoded.time, decoded.shard, decoded.sequence)), row.id);
});

check('decode_any', decodes);

check('fields', (row) => {
  const { timestamp, ...fields } = Layout.parse(row.layout).fields(row.id);
  // JSON's numbers would lose digits.
  const expected = Object.fromEntries([...row.fields.matchAll(/"(\w+)": (?:(-?\d+)|"([^"]*)")/g)]
    .map(([, name, number, string]) => [name, number ?? string]));
  const { timestamp: expectedTimestamp, ...expectedFields } = expected;
  assert.deepEqual(Object.fromEntries(Object.entries(fields).map(([name, number]) => [name, String(number)])), expectedFields);
  assert.equal(timestamp, expectedTimestamp);
});

check('ranges', (row) => {
  const layout = Layout.parse(row.layout);
  assert.equal(String(layout.lower(BigInt(row.time_us))), row.lower);
  assert.equal(String(layout.upper(BigInt(row.time_us))), row.upper);
});

check('text', (row) => {
  assert.equal(toText(row.id, Number(row.base)), row.text);
  assert.equal(String(fromText(row.text, Number(row.base))), row.id);
});

check('text_accepted', (row) => assert.equal(String(fromText(row.text, Number(row.base))), row.id));
check('text_invalid', (row) => refuses(() => fromText(row.text, Number(row.base))));

check('seal', (row) => {
  const key = Buffer.from(row.key_hex, 'hex');
  const version = Number(row.version);
  assert.equal(String(seal(row.id, key)), row.sealed);
  assert.equal(String(unseal(row.sealed, key)), row.id);
  assert.equal(sealText(row.id, version, key), row.text);
  assert.equal(String(unsealText(row.text, { [version]: key })), row.id);
  refuses(() => unsealText(row.text, { [version + 1]: key }));
});

check('seal_invalid', (row) => {
  const everyKey = new Proxy({}, { get: () => new Uint8Array(16), has: () => true,
    getOwnPropertyDescriptor: () => ({ value: new Uint8Array(16), configurable: true }) });
  refuses(() => unsealText(row.text, everyKey));
});

check('shard_for', ({ type, key, shards, shard }) => {
  const found = type === 'uuid' ? shardForUuid(key, Number(shards))
    : shardFor(type === 'bigint' ? BigInt(key) : key, Number(shards));
  assert.equal(String(found), shard);
});

check('uuidv7', (row) => {
  const decoded = uuidv7Decode(row.uuid);
  assert.deepEqual([String(decoded.time), String(decoded.sequence), String(decoded.shard)],
    [row.time_us, row.sequence, row.shard]);
});

check('uuidv7_invalid', (row) => refuses(() => uuidv7Decode(row.uuid)));

test('no id holds a time that is 2^63 us after the epoch', () => {
  const layout = Layout.parse('ts:40 seq:10 epoch=0001-01-01 unit=1d');
  const end = 2n ** 63n - 62_135_596_800_000_000n;
  assert.equal(layout.encode(end - 1n, 0, 0), 106_751_991n << 10n);
  refuses(() => layout.encode(end, 0, 0));
});
