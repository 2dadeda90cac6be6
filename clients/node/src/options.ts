// The options of Minter and Prefetch, checked and filled in.

import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

import { InvalidArgument, type FlakeidError } from './errors.js';
import { checkNumber } from './ids.js';
import type { ConnectionOptions } from './server.js';

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
/** The server allows 255 bytes, of which each lease adds 17. */
const MAX_OWNER_LENGTH = 200;

/** What a minter tells. Times are microseconds since 1970, by the server's clock. */
export type MinterEvent =
  | { readonly type: 'leased'; readonly shard: number; readonly notBefore: bigint; readonly expiresAt: bigint }
  | { readonly type: 'renewed'; readonly expiresAt: bigint }
  /** Once for each attempt to renew the lease, or to take a new one, that has failed. */
  | { readonly type: 'renew_failed'; readonly error: FlakeidError }
  /** The lease is over, or the server has given its shard away. */
  | { readonly type: 'lost' }
  /** The lease was given back. */
  | { readonly type: 'released' };

/** Options of {@link Minter.create}. Durations are in milliseconds. */
export interface MinterOptions extends ConnectionOptions {
  /** The generator, by its name or OID; `flake_default` in the extension's schema if left out. */
  generator?: string;
  /** How long a renewed lease lasts, from 1 second to 1 day: 5 minutes if left out. */
  ttl?: number;
  /** How long a new lease lasts before it is renewed: 30 seconds if left out, or `ttl` if that is shorter. */
  firstTtl?: number;
  /** How far an id's time may be ahead of the process's clock, up to 1 hour: 15 seconds if left out. */
  maxAhead?: number;
  /** The beginning of the owner's name: host, process and random digits if left out. */
  owner?: string;
  /** Is told what becomes of the lease. */
  onEvent?: (event: MinterEvent) => void;
}

/** Options of {@link Prefetch.create}. */
export interface PrefetchOptions extends ConnectionOptions {
  /** The shard whose ids are fetched. */
  shard: number;
  /** The generator, by its name or OID; `flake_default` in the extension's schema if left out. */
  generator?: string;
  /** How many ids are fetched at once, from 1 to 1,000,000: 100 if left out. */
  batch?: number;
  /** After how many milliseconds ids that were fetched are thrown away: 10 minutes if left out. */
  expires?: number;
}

const duration = (name: string, value: number | undefined, fallback: number, min: number, max: number) =>
  checkNumber(name, value ?? fallback, min, max);

function text<T extends string | undefined>(name: string, value: T): T {
  if (value !== undefined && (typeof value !== 'string' || value === ''))
    throw new InvalidArgument(`${name} must be a text that is not empty`);
  return value;
}

function checkConnection(options: ConnectionOptions): void {
  if (typeof options !== 'object' || options === null) throw new InvalidArgument('options must be an object');
  text('connectionString', options.connectionString);
}

/** @internal */
export function checkMinterOptions(options: MinterOptions) {
  checkConnection(options);
  const ttl = duration('ttl', options.ttl, 5 * MINUTE, SECOND, DAY);
  const owner = text('owner', options.owner) ?? `${hostname().slice(0, 64)}-${process.pid}-${randomBytes(4).toString('hex')}`;
  if (Buffer.byteLength(owner) > MAX_OWNER_LENGTH)
    throw new InvalidArgument(`owner must have ${MAX_OWNER_LENGTH} bytes at most`);
  if (options.onEvent !== undefined && typeof options.onEvent !== 'function')
    throw new InvalidArgument('onEvent must be a function');
  return {
    generator: text('generator', options.generator),
    ttl,
    firstTtl: duration('firstTtl', options.firstTtl, Math.min(30 * SECOND, ttl), SECOND, DAY),
    maxAhead: duration('maxAhead', options.maxAhead, 15 * SECOND, 0, HOUR),
    owner,
    onEvent: options.onEvent,
  };
}

/** @internal */
export function checkPrefetchOptions(options: PrefetchOptions) {
  checkConnection(options);
  return {
    shard: checkNumber('shard', options.shard, 0, 2_147_483_647),
    generator: text('generator', options.generator),
    batch: checkNumber('batch', options.batch ?? 100, 1, 1_000_000),
    expires: duration('expires', options.expires, 10 * MINUTE, 1, DAY),
  };
}
