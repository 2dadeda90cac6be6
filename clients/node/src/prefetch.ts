// Ids that the database mints, fetched in batches.

/// <reference lib="esnext.disposable" preserve="true" />

import { monotonicClock } from './clock.js';
import { disposeByClose } from './dispose.js';
import { Closed, FlakeidError, NotConnected, NotYet, Temporary } from './errors.js';
import { checkNumber } from './ids.js';
import { checkPrefetchOptions, type PrefetchOptions } from './options.js';
import { Server, type ConnectionOptions } from './server.js';
import { Waiters } from './wait.js';

const DEFAULT_TIMEOUT = 1000;
const ATTEMPT = 10_000;
/** After a request that has failed. */
const PAUSE = 1000;

interface Batch {
  readonly ids: bigint[];
  /** The ids before this one are used. */
  next: number;
  /** By the monotonic clock: when the request was sent. */
  readonly askedAt: number;
}

/**
 * Hands out ids that the database mints, from batches that are fetched before they are wanted. They are in the order in
 * which the database has minted them. One request is under way at a time; the next one is sent when half of a batch is
 * used.
 */
export class Prefetch {
  readonly #connection: ConnectionOptions;
  readonly #options: ReturnType<typeof checkPrefetchOptions>;
  readonly #waiters = new Waiters();
  #server: Server | undefined;
  #batches: Batch[] = [];
  #count = 0;
  #fetching: Promise<void> | undefined;
  #failure: FlakeidError | undefined;
  #failedAt = -Infinity;
  #isClosed = false;

  private constructor(options: PrefetchOptions) {
    this.#connection = options;
    this.#options = checkPrefetchOptions(options);
  }

  /**
   * Fetches the first batch, and returns then.
   *
   * @throws NotConnected, NotInstalled, NoGenerator, NotPermitted, InvalidArgument, ServerError
   */
  static async create(options: PrefetchOptions): Promise<Prefetch> {
    const prefetch = new Prefetch(options);
    await prefetch.#fetch();
    if (prefetch.#failure) throw prefetch.#failure;
    prefetch.#server?.hold(false);
    return prefetch;
  }

  /**
   * An id, at once.
   *
   * @throws NotYet: ids are being fetched
   * @throws Closed, and what the last request has raised
   */
  tryNext(): bigint {
    return this.tryNextN(1)[0] as bigint;
  }

  /** As many ids, ascending within a batch, at once. Where one cannot be had, none is taken. */
  tryNextN(n: number): bigint[] {
    checkNumber('n', n, 0, 10 * this.#options.batch);
    if (this.#isClosed) throw new Closed('the prefetch was closed');
    this.#expire();
    if (this.#count - n < this.#options.batch / 2) this.#fetchSoon();
    if (this.#count < n) {
      if (this.#failure) throw this.#failure;
      throw new NotYet('ids are being fetched: wait', PAUSE);
    }
    const ids: bigint[] = [];
    while (ids.length < n) {
      const batch = this.#batches[0] as Batch;
      const end = Math.min(batch.ids.length, batch.next + n - ids.length);
      for (; batch.next < end; batch.next++) ids.push(batch.ids[batch.next] as bigint);
      if (batch.next === batch.ids.length) this.#batches.shift();
    }
    this.#count -= n;
    return ids;
  }

  /**
   * An id. Waits while ids are being fetched.
   *
   * @param timeout for how many milliseconds to wait; the error is thrown after that
   */
  async next(timeout = DEFAULT_TIMEOUT): Promise<bigint> {
    return (await this.nextN(1, timeout))[0] as bigint;
  }

  /** The digits of an id, for JSON; see {@link next}. */
  async nextString(timeout = DEFAULT_TIMEOUT): Promise<string> {
    return String(await this.next(timeout));
  }

  /** As many ids, up to ten batches; see {@link next}. */
  async nextN(n: number, timeout = DEFAULT_TIMEOUT): Promise<bigint[]> {
    return this.#waiters.retry(
      () => {
        try {
          return this.tryNextN(n);
        } catch (error) {
          // More than a batch may be wanted.
          if (error instanceof Temporary) this.#fetchSoon();
          throw error;
        }
      },
      (error) => (error instanceof Temporary || error instanceof NotConnected ? PAUSE : undefined), timeout);
  }

  /** Throws the rest away and ends the connection. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#batches = [];
    this.#count = 0;
    this.#waiters.wake();
    if (this.#fetching) this.#drop();
    else await this.#server?.end();
  }

  /** Throws away what was fetched too long ago. */
  #expire(): void {
    const oldest = monotonicClock() - this.#options.expires;
    for (let batch = this.#batches[0]; batch && batch.askedAt <= oldest; batch = this.#batches[0]) {
      this.#count -= batch.ids.length - batch.next;
      this.#batches.shift();
    }
  }

  #fetchSoon(): void {
    if (this.#fetching || this.#isClosed || monotonicClock() < this.#failedAt + PAUSE) return;
    this.#fetching = this.#fetch().finally(() => {
      this.#fetching = undefined;
      this.#server?.hold(false);
      this.#waiters.wake();
    });
  }

  /** Fetches a batch. An error is kept for who wants an id. */
  async #fetch(): Promise<void> {
    const { shard, batch, generator } = this.#options;
    try {
      if (this.#server?.isBroken) this.#drop();
      this.#server ??= await Server.connect(this.#connection, ATTEMPT);
      if (this.#isClosed) return this.#drop();
      const askedAt = monotonicClock();
      const ids = await this.#server.ids(shard, batch, generator ?? this.#server.defaultGenerator);
      this.#failure = undefined;
      if (this.#isClosed) return;
      this.#batches.push({ ids, next: 0, askedAt });
      this.#count += ids.length;
    } catch (error) {
      this.#drop();
      this.#failedAt = monotonicClock();
      this.#failure = error instanceof FlakeidError ? error : new NotConnected(String(error), { cause: error });
    }
  }

  #drop(): void {
    this.#server?.abandon();
    this.#server = undefined;
  }
}

export interface Prefetch extends AsyncDisposable {}
disposeByClose(Prefetch);
