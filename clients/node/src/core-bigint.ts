// Minting by BigInt: as docs/clients.md has it, for any layout.

import { wallClockUs } from './clock.js';
import { refusal, ticksAhead, type Core, type Span } from './span.js';
import type { Layout } from './layout.js';

export class BigIntCore implements Core {
  readonly #layout: Layout;
  readonly #ahead: bigint;
  readonly #bits: bigint;
  readonly #maxSequence: bigint;
  #span: Span = { shard: 0, firstTick: 0n, endTick: 0n };
  #image = 0n;
  /** The last packed value: tick and sequence number as one number. */
  #last = 0n;
  /** What it was when the lease began. */
  #before: bigint | null = null;

  constructor(layout: Layout, maxAheadMs: number) {
    this.#layout = layout;
    this.#ahead = ticksAhead(layout, maxAheadMs);
    this.#bits = BigInt(layout.value.sequence.bits);
    this.#maxSequence = layout.maxSequence;
  }

  begin(span: Span): void {
    const later = this.#before === null ? span.firstTick : (this.#last >> this.#bits) + 1n;
    const first = later > span.firstTick ? later : span.firstTick;
    this.#span = span;
    this.#image = this.#layout.shardImage(span.shard);
    this.#last = this.#before = (first << this.#bits) - 1n;
  }

  extend(endTick: bigint): void {
    this.#span = { ...this.#span, endTick };
  }

  next(): bigint {
    return this.#compose(this.#claim(1n));
  }

  nextN(n: number): bigint[] {
    const first = this.#claim(BigInt(n));
    return Array.from({ length: n }, (_, i) => this.#compose(first + BigInt(i)));
  }

  lastTick(): bigint | null {
    return this.#last === this.#before ? null : this.#last >> this.#bits;
  }

  /** Claims n packed values, and returns the first of them. */
  #claim(n: bigint): bigint {
    const clock = this.#layout.tickAt(BigInt(wallClockUs()));
    let first = this.#last + 1n;
    if (clock > this.#last >> this.#bits) {
      let sequence = this.#startSequence();
      if (sequence + n - 1n > this.#maxSequence) sequence = 0n;
      first = (clock << this.#bits) | sequence;
    }
    const last = first + n - 1n;
    const tick = last >> this.#bits;
    if (tick > clock + this.#ahead || tick >= this.#span.endTick || tick > this.#layout.maxTick)
      throw refusal(this.#layout, this.#span, this.#ahead, clock, tick);
    this.#last = last;
    return first;
  }

  /** The sequence number with which a new tick begins. */
  #startSequence(): bigint {
    const { start, randomBelow } = this.#layout.value;
    if (start === 'zero') return 0n;
    if (start === 'continue') return (this.#last + 1n) & this.#maxSequence;
    const random = BigInt(Math.floor(Math.random() * 2 ** 32)) << 32n | BigInt(Math.floor(Math.random() * 2 ** 32));
    return random % (randomBelow || this.#maxSequence + 1n);
  }

  #compose(packed: bigint): bigint {
    return this.#layout.compose(packed >> this.#bits, packed & this.#maxSequence, this.#image);
  }
}
