// Sealed ids: FF1 of NIST SP 800-38G with AES, radix 2, 64 numerals of which the first is the most significant bit,
// and no tweak. docs/sealed-ids.md says what they hide.

import { createCipheriv, timingSafeEqual, type Cipheriv } from 'node:crypto';

import { InvalidArgument } from './errors.js';
import { checkNumber, toId, type Id } from './ids.js';
import { fromText, toText } from './text.js';

const ROUNDS = 10;
const MAX_VERSION = 2_147_483_647;

/** A key, expanded; and the first block of FF1's CBC-MAC, which is the same for all ids. */
interface Expanded {
  readonly key: Uint8Array;
  readonly aes: Cipheriv;
  readonly first: Buffer;
}

/** The one used last: to expand a key takes longer than to seal an id. */
let last: Expanded | undefined;

function expand(key: Uint8Array): Expanded {
  if (!(key instanceof Uint8Array) || ![16, 24, 32].includes(key.length))
    throw new InvalidArgument('a key is a Uint8Array of 16, 24 or 32 bytes');
  if (last === undefined || last.key.length !== key.length || !timingSafeEqual(last.key, key)) {
    const copy = Uint8Array.from(key);
    // Each block by itself: an ECB cipher that is never ended goes on.
    const aes = createCipheriv(`aes-${8 * copy.length}-ecb`, copy, null).setAutoPadding(false);
    const first = aes.update(Buffer.from([1, 2, 1, 0, 0, 2, ROUNDS, 32, 0, 0, 0, 64, 0, 0, 0, 0]));
    last = { key: copy, aes, first };
  }
  return last;
}

function permute(value: bigint, key: Uint8Array, decrypt: boolean): bigint {
  const { aes, first } = expand(key);
  const bits = BigInt.asUintN(64, value);
  let left = Number(bits >> 32n);
  let right = Number(bits & 0xffffffffn);
  const block = Buffer.alloc(16);

  for (let step = 0; step < ROUNDS; step++) {
    const round = decrypt ? ROUNDS - 1 - step : step;
    block.fill(0);
    block[11] = round;
    block.writeUInt32BE(decrypt ? left : right, 12);
    for (let i = 0; i < 16; i++) block[i] = (block[i] as number) ^ (first[i] as number);
    const sum = aes.update(block).readUInt32BE(4);
    [left, right] = decrypt ? [(right - sum) >>> 0, left] : [right, (left + sum) >>> 0];
  }
  return BigInt.asIntN(64, (BigInt(left) << 32n) | BigInt(right));
}

/**
 * The sealed form of an id under a key, as `flake_seal`: a permutation of all numbers of 64 bits.
 *
 * @param key 16, 24 or 32 bytes
 */
export function seal(id: Id, key: Uint8Array): bigint {
  return permute(toId(id), key, false);
}

/** The id again. Every number unseals to some id: look whether it exists. */
export function unseal(sealed: Id, key: Uint8Array): bigint {
  return permute(toId(sealed), key, true);
}

/** The sealed form as text that tells the version of its key, as `1-LgVYMUAD3FE`; see `flake_seal_text`. */
export function sealText(id: Id, version: number, key: Uint8Array): string {
  return `${checkNumber('version', version, 1, MAX_VERSION)}-${toText(seal(id, key))}`;
}

/**
 * The id of such a text.
 *
 * @param keys the keys by their versions
 * @throws InvalidArgument if the text is malformed, or its version is not among the keys: treat that as an id that
 *   does not exist
 */
export function unsealText(text: string, keys: Readonly<Record<number, Uint8Array>>): bigint {
  const [, version, digits] = /^([1-9][0-9]{0,9})-([0-9A-Za-z]{11})$/.exec(text) ?? [];
  if (digits === undefined || Number(version) > MAX_VERSION)
    throw new InvalidArgument(`invalid sealed id: ${JSON.stringify(text)}: it is the version of a key, "-" and 11 digits of`
      + ' base 62');
  const sealed = fromText(digits);
  const key = Object.hasOwn(keys, Number(version)) ? keys[Number(version)] : undefined;
  if (key === undefined) throw new InvalidArgument(`there is no key of version ${version}`);
  return unseal(sealed, key);
}
