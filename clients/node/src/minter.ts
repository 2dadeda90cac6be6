// A minter: a lease that is kept, and the ids of its shard. docs/clients.md has the protocol, its rules P1 to P8, and
// the states.

/// <reference lib="esnext.disposable" preserve="true" />

import { randomBytes } from 'node:crypto';

import { monotonicClock } from './clock.js';
import { coreFor } from './core.js';
import {
  Closed, FlakeidError, InvalidArgument, LeaseExpired, NotConnected, Temporary, UnsupportedLayout,
} from './errors.js';
import { checkNumber } from './ids.js';
import { Layout } from './layout.js';
import { checkMinterOptions, type MinterEvent, type MinterOptions } from './options.js';
import { Server, isLost, type ConnectionOptions, type RenewAnswer } from './server.js';
import { disposeByClose } from './dispose.js';
import { firstTickFrom, ticksAhead, type Core } from './span.js';
import { Waiters } from './wait.js';

/** How long next() waits if it is not told. */
const DEFAULT_TIMEOUT = 1000;
const MAX_AT_ONCE = 10_000_000;
/** Waiting for the clock, look at it at least this often: it may be set meanwhile. */
const LONGEST_WAIT = 1000;
const SHORTEST_ATTEMPT = 3000;
const LONGEST_ATTEMPT = 10_000;
const LONGEST_PAUSE = 10_000;
/** How long close() waits for the server, each time. */
const CLOSE_WAIT = 1000;

/** A lease that is held, by the server's clock in microseconds since 1970. */
export interface Lease {
  readonly shard: number;
  readonly notBefore: bigint;
  readonly expiresAt: bigint;
}

/** What is known of the lease. */
interface Held extends Lease {
  readonly owner: string;
  /** The generator's OID. */
  readonly generator: string;
  /** The server's clock was `now` after `sentAt` and before `answeredAt`, by the monotonic one. */
  readonly now: bigint;
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** The layout that the server has told. */
function readLayout(generator: string, text: string): Layout {
  try {
    return Layout.parse(text);
  } catch (error) {
    throw new UnsupportedLayout(`the layout of ${generator} is of a later version: "${text}"`, { cause: error });
  }
}

/** Minters that are not closed, to be closed when the process has nothing left to do. */
const open = new Set<Minter>();

function closeAll(): void {
  for (const minter of open) void minter.close();
}

/**
 * Mints ids in this process's memory, from a shard that it leases. The ids of one minter ascend, and no other process
 * mints one of them.
 *
 * Worker threads and processes of `node:cluster` make a minter each.
 */
export class Minter {
  readonly #connection: ConnectionOptions;
  readonly #options: ReturnType<typeof checkMinterOptions>;
  readonly #waiters = new Waiters();
  #server: Server | undefined;
  #layout: Layout | undefined;
  #core: Core | undefined;
  #held: Held | undefined;
  /** By the monotonic clock in milliseconds: nothing is minted then or later (P6). */
  #deadline = -Infinity;

  #timer: NodeJS.Timeout | undefined;
  #isHurried = false;
  #working: Promise<void> | undefined;
  #failures = 0;
  #failingSince: Date | null = null;
  #lastError: FlakeidError | undefined;
  #lastAttempt = -Infinity;
  /** When the latest lease was taken. */
  #leasedAt = -Infinity;
  #closing: Promise<void> | undefined;
  /** close() has ended: what is still under way is not wanted any more. */
  #isOver = false;

  private constructor(options: MinterOptions) {
    this.#connection = options;
    this.#options = checkMinterOptions(options);
  }

  /**
   * Makes a minter, and returns when it has its first lease.
   *
   * @throws any error but those of {@link next}, if there can be no lease; nothing is left behind then
   */
  static async create(options: MinterOptions = {}): Promise<Minter> {
    const minter = new Minter(options);
    try {
      await minter.#lease();
    } catch (error) {
      minter.#closing = Promise.resolve();
      minter.#isOver = true;
      clearTimeout(minter.#timer);
      minter.#drop();
      throw error;
    }
    minter.#server?.hold(false);
    minter.#schedule();
    if (open.size === 0) process.on('beforeExit', closeAll);
    open.add(minter);
    return minter;
  }

  /** The layout of the ids. */
  get layout(): Layout {
    return this.#layout as Layout;
  }

  /** `leased`, or `leasing` when a lease was lost and there is no new one, or `closed`. */
  get state(): 'leasing' | 'leased' | 'closed' {
    if (this.#closing) return 'closed';
    return monotonicClock() < this.#deadline ? 'leased' : 'leasing';
  }

  /** The lease; null if there is none. */
  get lease(): Lease | null {
    if (!this.#held || this.state !== 'leased') return null;
    const { shard, notBefore, expiresAt } = this.#held;
    return { shard, notBefore, expiresAt };
  }

  /**
   * An id, at once.
   *
   * @throws NotYet, TooFarAhead: ids can be had later
   * @throws LeaseExpired: the lease is over, and there is no new one yet
   * @throws LifetimeOver, Closed
   */
  tryNext(): bigint {
    if (monotonicClock() >= this.#deadline) throw this.#over();
    try {
      return (this.#core as Core).next();
    } catch (error) {
      throw this.#refused(error);
    }
  }

  /** As many ids, ascending, at once; see {@link tryNext}. Where one cannot be had, none is taken. */
  tryNextN(n: number): bigint[] {
    this.#checkCount(n);
    if (monotonicClock() >= this.#deadline) throw this.#over();
    if (n === 0) return [];
    try {
      return (this.#core as Core).nextN(n);
    } catch (error) {
      throw this.#refused(error);
    }
  }

  /**
   * An id. Waits where {@link tryNext} would throw an error that passes with time, or while there is no lease.
   *
   * @param timeout for how many milliseconds to wait; the error is thrown after that
   */
  async next(timeout = DEFAULT_TIMEOUT): Promise<bigint> {
    return this.#waiters.retry(() => this.tryNext(), (error) => this.#delay(error), timeout);
  }

  /** The digits of an id, for JSON; see {@link next}. */
  async nextString(timeout = DEFAULT_TIMEOUT): Promise<string> {
    return String(await this.next(timeout));
  }

  /** As many ids, ascending; see {@link next}. */
  async nextN(n: number, timeout = DEFAULT_TIMEOUT): Promise<bigint[]> {
    return this.#waiters.retry(() => this.tryNextN(n), (error) => this.#delay(error), timeout);
  }

  /**
   * Gives the lease back and ends the connection. Does not throw: where the server cannot be asked, the lease ends by
   * itself. A process that has nothing left to do calls this by itself; `process.exit()` and signals do not.
   */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  /** How long an error passes by itself; undefined if it does not. */
  #delay(error: unknown): number | undefined {
    if (error instanceof Temporary) return Math.min(error.wait, LONGEST_WAIT);
    return error instanceof LeaseExpired ? LONGEST_WAIT : undefined;
  }

  #checkCount(n: number): void {
    checkNumber('n', n, 0, MAX_AT_ONCE);
    const { layout } = this;
    const ticks = BigInt(Math.max(n - 1, 0)) >> BigInt(layout.value.sequence.bits);
    if (ticks > ticksAhead(layout, this.#options.maxAhead))
      throw new InvalidArgument(`${n} ids at once take up more of the layout's time than maxAhead allows: ask for fewer`);
  }

  /** The error where the deadline is over, or the minter. */
  #over(): FlakeidError {
    if (this.#closing) return new Closed('the minter was closed');
    this.#hurry();
    const since = this.#failingSince;
    return new LeaseExpired(
      `the lease is over${since === null ? ', and a new one is being taken'
        : `, and renewing has failed since ${since.toISOString()}: ${this.#lastError?.message}`}`,
      since, this.#lastError && { cause: this.#lastError });
  }

  /** The error for one of the core. A lease that is over by the wall clock alone is renewed early. */
  #refused(error: unknown): unknown {
    if (!(error instanceof LeaseExpired)) return error;
    if (monotonicClock() >= this.#lastAttempt + LONGEST_WAIT) this.#hurry();
    if (this.#failingSince === null) return error;
    return new LeaseExpired(
      `${error.message}, and renewing has failed since ${this.#failingSince.toISOString()}: ${this.#lastError?.message}`,
      this.#failingSince, { cause: this.#lastError });
  }

  #tell(event: MinterEvent): void {
    const warn = (error: unknown) =>
      process.emitWarning(`onEvent has thrown: ${error instanceof Error ? error.message : error}`);
    try {
      const told: unknown = this.#options.onEvent?.(event);
      if (told instanceof Promise) told.catch(warn); // else it would end the process
    } catch (error) {
      warn(error);
    }
  }

  /** The next attempt: by default when a third of what remains is over. */
  #schedule(delay?: number): void {
    if (this.#closing) return;
    clearTimeout(this.#timer);
    this.#isHurried = false;
    this.#timer = setTimeout(() => {
      this.#working ??= this.#work().finally(() => {
        this.#working = undefined;
      });
    }, Math.max(0, delay ?? this.#untilRenewal())).unref();
  }

  #untilRenewal(): number {
    if (!this.#held) return 0;
    return this.#held.sentAt + (this.#deadline - this.#held.sentAt) / 3 - monotonicClock();
  }

  /** An attempt as soon as possible, or after a delay, unless the last one has failed: then its pause counts. */
  #hurry(delay = 0): void {
    if (this.#failures > 0 || this.#working || this.#isHurried) return;
    this.#schedule(delay);
    this.#isHurried = true;
  }

  /** Renews the lease, or takes a new one; then, and also if that fails, sees to the next time. */
  async #work(): Promise<void> {
    try {
      if (monotonicClock() >= this.#deadline) this.#lose();
      if (this.#held) await this.#renew();
      if (!this.#held && !this.#closing) {
        // Not to use up the shards where each lease is lost at once
        const early = this.#leasedAt + LONGEST_WAIT - monotonicClock();
        if (early > 0) return this.#schedule(early);
        await this.#lease();
      }
      this.#server?.hold(false);
      this.#failures = 0;
      this.#failingSince = null;
      this.#lastError = undefined;
      this.#schedule();
    } catch (error) {
      this.#drop();
      const failure = error instanceof FlakeidError ? error : new NotConnected(String(error), { cause: error });
      const pause = Math.min(LONGEST_PAUSE, 1000 * 2 ** this.#failures++);
      this.#failingSince ??= new Date();
      this.#lastError = failure;
      if (this.#closing) return;
      this.#tell({ type: 'renew_failed', error: failure });
      // A lease that ends before is not to be waited for.
      this.#schedule(this.#held ? Math.min(pause, Math.max(0, this.#deadline - monotonicClock())) : pause);
    }
  }

  async #connected(): Promise<Server> {
    const timeout = Math.min(LONGEST_ATTEMPT, Math.max(SHORTEST_ATTEMPT, this.#options.ttl / 3));
    this.#lastAttempt = monotonicClock();
    if (this.#server?.isBroken) this.#drop();
    this.#server ??= await Server.connect(this.#connection, timeout);
    if (this.#isOver) {
      this.#drop();
      throw new Closed('the minter was closed');
    }
    // As by a failover: whoever answers now may not know the lease.
    this.#server.onBroken = () =>
      this.#hurry(Math.min(this.#untilRenewal(), this.#lastAttempt + LONGEST_WAIT - monotonicClock()));
    return this.#server;
  }

  /** Ends the connection: after an error the next attempt makes another one. */
  #drop(): void {
    if (this.#server) this.#server.onBroken = undefined;
    this.#server?.abandon();
    this.#server = undefined;
  }

  /** Nothing is minted of this lease any more. */
  #lose(): void {
    this.#deadline = -Infinity;
    if (!this.#held) return;
    this.#held = undefined;
    this.#failures = 0;
    this.#tell({ type: 'lost' });
  }

  /** Takes a lease, under a name that was never used before (P7). */
  async #lease(): Promise<void> {
    const server = await this.#connected();
    const name = this.#options.generator ?? server.defaultGenerator;
    const generator = await server.generator(name);
    this.#setLayout(name, generator.layout);
    const owner = `${this.#options.owner}-${randomBytes(8).toString('hex')}`;
    const answer = await server.lease(owner, this.#options.firstTtl, generator.oid);
    const { shard, notBefore, expiresAt } = answer;
    const { layout } = this;
    this.#core?.begin({
      shard, firstTick: firstTickFrom(layout, notBefore), endTick: firstTickFrom(layout, expiresAt),
    });
    this.#leasedAt = monotonicClock();
    this.#hold({ owner, generator: generator.oid, shard, notBefore }, answer);
    this.#tell({ type: 'leased', shard, notBefore, expiresAt });
  }

  async #renew(): Promise<void> {
    const held = this.#held as Held;
    try {
      const server = await this.#connected();
      const answer = await server.renew(held.owner, this.#options.ttl, held.generator);
      this.#core?.extend(firstTickFrom(this.layout, answer.expiresAt));
      this.#hold(held, answer);
      this.#tell({ type: 'renewed', expiresAt: answer.expiresAt });
    } catch (error) {
      if (!isLost(error)) throw error;
      this.#drop();
      this.#lose();
    }
  }

  /** Notes a lease, and until when it may be used (P6): what remains counts from before the question was sent. */
  #hold(lease: Pick<Held, 'owner' | 'generator' | 'shard' | 'notBefore'>, { expiresAt, now, sentAt }: RenewAnswer): void {
    this.#held = { ...lease, expiresAt, now, sentAt, answeredAt: monotonicClock() };
    if (this.#closing) return;
    this.#deadline = sentAt + Number(expiresAt - now) / 1000;
    this.#waiters.wake();
  }

  #setLayout(name: string, text: string): void {
    const generator = `generator ${name}`;
    if (text === '') throw new UnsupportedLayout(`ids of ${generator} are wide: use one whose ids are bigint`);
    const layout = readLayout(generator, text);
    if (layout.canonical === this.#layout?.canonical) return;
    if (layout.isUuid) throw new UnsupportedLayout(`ids of ${generator} are UUIDs: use flake_uuidv7()`);
    if (!layout.hasTime) throw new UnsupportedLayout(`${generator} has no time: a lease is for the ids of a time`);
    if (layout.maxShard === 0) throw new UnsupportedLayout(`${generator} has no shards: a process needs one of its own`);
    // It was dropped, and made anew. Ids of two layouts have no order (P2).
    if (this.#layout) throw new UnsupportedLayout(`${generator} has another layout now, "${layout.canonical}": make a new minter`);
    this.#layout = layout;
    this.#core = coreFor(layout, this.#options.maxAhead);
  }

  async #close(): Promise<void> {
    this.#deadline = -Infinity;
    clearTimeout(this.#timer);
    open.delete(this);
    if (open.size === 0) process.off('beforeExit', closeAll);
    // What is under way may bring a lease.
    this.#server?.hold(true);
    if (this.#working) await Promise.race([this.#working, this.#waiters.wait(CLOSE_WAIT)]);
    this.#waiters.wake();
    const isIdle = this.#working === undefined;
    if (this.#held && isIdle)
      await Promise.race([this.#release(this.#held), this.#waiters.wait(3 * CLOSE_WAIT)]).catch(() => undefined);
    if (isIdle) await this.#server?.end();
    this.#isOver = true;
    this.#drop();
    this.#waiters.wake();
  }

  /** Gives the lease back once the server's clock is past the last id (P8), if that is soon. */
  async #release(held: Held): Promise<void> {
    const tick = this.#core?.lastTick() ?? null;
    const { epochUs, unitUs } = this.layout.value;
    const last = tick === null ? 0n : epochUs + tick * unitUs;
    const server = await this.#connected();
    let released = await server.release(held.owner, last, held.generator);

    if (released === null) {
      const now = held.now + BigInt(Math.floor((monotonicClock() - held.answeredAt) * 1000)); // or later
      const missing = Number(last - now) / 1000;
      if (missing > CLOSE_WAIT) return;
      await new Promise((resolve) => setTimeout(resolve, Math.max(0, missing) + 1));
      released = await server.release(held.owner, last, held.generator);
    }
    if (released) this.#tell({ type: 'released' });
  }
}

export interface Minter extends AsyncDisposable {}
disposeByClose(Minter);
