// The shard that a key belongs to: XXH64 with seed 0 (github.com/Cyan4973/xxHash, doc/xxhash_spec.md).

import { checkNumber, toId } from './ids.js';
import { uuidBytes } from './uuidv7.js';

const P1 = 0x9E3779B185EBCA87n;
const P2 = 0xC2B2AE3D27D4EB4Fn;
const P3 = 0x165667B19E3779F9n;
const P4 = 0x85EBCA77C2B2AE63n;
const P5 = 0x27D4EB2F165667C5n;

const u64 = (number: bigint) => BigInt.asUintN(64, number);
const rotate = (number: bigint, bits: bigint) => u64((number << bits) | (number >> (64n - bits)));
const round = (lane: bigint, input: bigint) => u64(rotate(u64(lane + u64(input * P2)), 31n) * P1);
const merge = (hash: bigint, lane: bigint) => u64((hash ^ round(0n, lane)) * P1 + P4);

function xxh64(bytes: Uint8Array): bigint {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  let at = 0;
  let hash = P5;

  if (bytes.length >= 32) {
    const lanes: [bigint, bigint, bigint, bigint] = [u64(P1 + P2), P2, 0n, u64(-P1)];
    for (; at + 32 <= bytes.length; at += 32)
      for (let lane = 0; lane < 4; lane++)
        lanes[lane] = round(lanes[lane] as bigint, view.getBigUint64(at + 8 * lane, true));
    hash = u64(rotate(lanes[0], 1n) + rotate(lanes[1], 7n) + rotate(lanes[2], 12n) + rotate(lanes[3], 18n));
    for (const lane of lanes) hash = merge(hash, lane);
  }
  hash = u64(hash + BigInt(bytes.length));
  for (; at + 8 <= bytes.length; at += 8)
    hash = u64(rotate(hash ^ round(0n, view.getBigUint64(at, true)), 27n) * P1 + P4);
  for (; at + 4 <= bytes.length; at += 4)
    hash = u64(rotate(hash ^ u64(BigInt(view.getUint32(at, true)) * P1), 23n) * P2 + P3);
  for (; at < bytes.length; at++) hash = u64(rotate(hash ^ u64(BigInt(view.getUint8(at)) * P5), 11n) * P1);
  hash = u64((hash ^ (hash >> 33n)) * P2);
  hash = u64((hash ^ (hash >> 29n)) * P3);
  return hash ^ (hash >> 32n);
}

function shardOf(bytes: Uint8Array, shards: number): number {
  return Number(xxh64(bytes) % BigInt(checkNumber('shards', shards, 1, 2_147_483_647)));
}

/**
 * The shard that a key belongs to, from 0 to `shards - 1`, as `flake_shard_for`: the same for ever, in any language.
 *
 * @param key a `bigint` for the SQL type `bigint`, a string for `text`. For the type `uuid` use {@link shardForUuid}.
 * @param shards how many shards there are
 */
export function shardFor(key: bigint | string, shards = 8192): number {
  if (typeof key === 'string') return shardOf(new TextEncoder().encode(key), shards);
  const bytes = new Uint8Array(8);
  new DataView(bytes.buffer).setBigInt64(0, toId(key), true);
  return shardOf(bytes, shards);
}

/** The shard that a key of the SQL type `uuid` belongs to. */
export function shardForUuid(key: string, shards = 8192): number {
  return shardOf(uuidBytes(key), shards);
}
