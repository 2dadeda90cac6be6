// Minting without BigInt arithmetic: ticks and sequence numbers are numbers below 2^53, and an id is put together of two
// halves of 32 bits. For layouts whose time and sequence have MAX_BITS at most, which are nearly all.

import { wallClockUs } from './clock.js';
import { refusal, ticksAhead, type Core, type Span } from './span.js';
import type { Layout } from './layout.js';

const TWO_32 = 2 ** 32;
const isLittleEndian = new Uint8Array(new Uint32Array([1]).buffer)[0] === 1;
const LOW = isLittleEndian ? 0 : 1;
const HIGH = 1 - LOW;

export class NumberCore implements Core {
  /** So that sums and products by a unit stay exact. */
  static readonly MAX_BITS = 51;

  readonly #layout: Layout;
  readonly #ahead: number;
  readonly #maxSequence: number;
  readonly #start: 'continue' | 'zero' | 'random';
  readonly #randomBelow: number;
  readonly #maxTick: number;

  // The clock counts milliseconds where ticks are made of them, else microseconds.
  readonly #countsMs: boolean;
  readonly #epoch: number;
  readonly #unit: number;

  // Where the sequence number is, and whether it is in the lower half.
  readonly #timeShift: number;
  readonly #shift: number;
  readonly #isLow: boolean;

  readonly #words = new Int32Array(2);
  readonly #id = new BigInt64Array(this.#words.buffer);

  #span: Span = { shard: 0, firstTick: 0n, endTick: 0n };
  #endTick = 0; // nor later than the lifetime
  #imageLow = 0;
  #imageHigh = 0;

  // The last packed value, and what it was when the lease began.
  #tick = 0;
  #sequence = 0;
  #tickBefore: number | null = null;
  #hasMinted = false;

  // The halves of an id of this tick, without its sequence number.
  #composedTick = NaN;
  #low = 0;
  #high = 0;

  constructor(layout: Layout, maxAheadMs: number) {
    const { time, sequence, epochUs, unitUs, start, randomBelow } = layout.value;

    this.#layout = layout;
    this.#ahead = Number(ticksAhead(layout, maxAheadMs));
    this.#maxSequence = Number(layout.maxSequence);
    this.#start = start;
    this.#randomBelow = randomBelow > 0n ? Number(randomBelow) : this.#maxSequence + 1;
    this.#maxTick = Number(layout.maxTick);
    this.#countsMs = unitUs % 1000n === 0n && epochUs % 1000n === 0n;
    const us = this.#countsMs ? 1000n : 1n;
    this.#epoch = Number(epochUs / us);
    this.#unit = Number(unitUs / us);
    this.#timeShift = time.shift;
    this.#shift = sequence.shift;
    this.#isLow = sequence.shift + sequence.bits <= 32;
  }

  begin(span: Span): void {
    const image = this.#layout.shardImage(span.shard);

    this.#imageLow = Number(BigInt.asIntN(32, image));
    this.#imageHigh = Number(BigInt.asIntN(32, image >> 32n));
    this.#composedTick = NaN;
    // Below the first tick, and not below the last one of the lease before: the next id begins a tick.
    this.#tick = Math.max(Number(span.firstTick) - 1, this.#tickBefore === null ? -Infinity : this.#tick);
    this.#tickBefore = this.#tick;
    this.#sequence = this.#maxSequence;
    this.#hasMinted = false;
    this.#span = span;
    this.extend(span.endTick);
  }

  extend(endTick: bigint): void {
    this.#span = { ...this.#span, endTick };
    this.#endTick = Math.min(Number(endTick), this.#maxTick + 1);
  }

  next(): bigint {
    this.#claim(1);
    return this.#compose();
  }

  nextN(n: number): bigint[] {
    const ids = new Array<bigint>(n);

    this.#claim(n);
    ids[0] = this.#compose();
    for (let i = 1; i < n; i++) {
      if (this.#sequence < this.#maxSequence) this.#sequence++;
      else {
        this.#sequence = 0;
        this.#tick++;
      }
      ids[i] = this.#compose();
    }
    return ids;
  }

  lastTick(): bigint | null {
    return this.#hasMinted ? BigInt(this.#tick) : null;
  }

  #clock(): number {
    const elapsed = (this.#countsMs ? Date.now() : wallClockUs()) - this.#epoch;
    return this.#unit === 1 ? elapsed : Math.floor(elapsed / this.#unit);
  }

  /** Claims n packed values: sets tick and sequence to the first of them. The others are the caller's, too. */
  #claim(n: number): void {
    const clock = this.#clock();
    let tick = this.#tick;
    let sequence = this.#sequence + 1;

    if (clock > tick) {
      tick = clock;
      if (this.#start === 'zero') sequence = 0;
      else if (this.#start === 'random') sequence = Math.floor(Math.random() * this.#randomBelow);
      if (sequence + n - 1 > this.#maxSequence) sequence = this.#startIfTooLong(sequence, n);
    } else if (sequence > this.#maxSequence) {
      tick++;
      sequence = 0;
    }
    const excess = sequence + n - 1 - this.#maxSequence;
    const lastTick = excess > 0 ? tick + Math.ceil(excess / (this.#maxSequence + 1)) : tick;
    if (lastTick > clock + this.#ahead || lastTick >= this.#endTick)
      throw refusal(this.#layout, this.#span, BigInt(this.#ahead), BigInt(clock), BigInt(lastTick));
    this.#tick = tick;
    this.#sequence = sequence;
    this.#hasMinted = true;
  }

  /** In a new tick, n ids that would run into the next one begin with 0. */
  #startIfTooLong(sequence: number, n: number): number {
    const continued = sequence > this.#maxSequence ? 0 : sequence;
    return continued + n - 1 > this.#maxSequence ? 0 : continued;
  }

  #compose(): bigint {
    if (this.#tick !== this.#composedTick) this.#composeTick();
    if (this.#isLow) {
      this.#words[LOW] = this.#low | (this.#sequence << this.#shift);
      this.#words[HIGH] = this.#high;
    } else {
      this.#words[LOW] = this.#low | lowHalf(this.#sequence, this.#shift);
      this.#words[HIGH] = this.#high | highHalf(this.#sequence, this.#shift);
    }
    return this.#id[0] as bigint;
  }

  #composeTick(): void {
    this.#composedTick = this.#tick;
    this.#low = this.#imageLow | lowHalf(this.#tick, this.#timeShift);
    this.#high = this.#imageHigh | highHalf(this.#tick, this.#timeShift);
  }
}

/** The lower 32 bits of a number, also a negative one, that is moved to the left. */
function lowHalf(number: number, shift: number): number {
  return shift < 32 ? (number >>> 0) << shift : 0;
}

/** The upper 32 bits. */
function highHalf(number: number, shift: number): number {
  if (shift >= 32) return (number >>> 0) << (shift - 32);
  const high = Math.floor(number / TWO_32) >>> 0;
  return shift === 0 ? high : (high << shift) | ((number >>> 0) >>> (32 - shift));
}
