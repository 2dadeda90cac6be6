// UUIDs of version 7 that carry a shard: see src/sql/uuidv7.c for their bits.

import { InvalidArgument } from './errors.js';
import type { Decoded } from './layout.js';

/** The 16 bytes of a UUID. */
export function uuidBytes(uuid: string): Uint8Array {
  // As PostgreSQL reads them: hyphens after each four digits may be left out, and braces be around.
  const text = String(uuid);
  const inner = /^\{(.*)\}$/s.exec(text)?.[1] ?? text;
  if (!/^(?:[0-9A-Fa-f]{4}-?){7}[0-9A-Fa-f]{4}$/.test(inner))
    throw new InvalidArgument(`${JSON.stringify(text)} is no UUID`);
  return Uint8Array.from(inner.replace(/-/g, '').match(/../g) as string[], (digits) => parseInt(digits, 16));
}

/**
 * The parts of a UUID that `flake_uuidv7` has minted, as `flake_uuidv7_decode`.
 *
 * @throws InvalidArgument if it is not of version 7
 */
export function uuidv7Decode(uuid: string): Decoded & { readonly time: bigint } {
  const bytes = uuidBytes(uuid);
  const view = new DataView(bytes.buffer);
  const high = view.getBigUint64(0);
  const low = view.getBigUint64(8);
  if (((high >> 12n) & 15n) !== 7n || low >> 62n !== 2n)
    throw new InvalidArgument(`UUID "${uuid}" is not of version 7`);
  return { time: (high >> 16n) * 1000n, shard: Number((low >> 49n) & 0x1fffn), sequence: high & 0xfffn };
}
