// Which bits of an id mean what: the arithmetic of src/layout/layout.c and src/sql/inspect.c.

import { InvalidArgument } from './errors.js';
import { toId, toMicroseconds, type Id, type Time } from './ids.js';
import { floorDivide, isTimestamp, printTimestamp } from './instant.js';
import { parseLayout, printLayout, type Field, type LayoutValue } from './layout-text.js';

const MIN_INT64 = -(1n << 63n);
const MAX_INT64 = (1n << 63n) - 1n;
/** PostgreSQL's timestamps count from 2000-01-01. */
const POSTGRES_EPOCH_US = 946_684_800_000_000n;

/** The parts of an id. */
export interface Decoded {
  /** The start of the id's tick, in microseconds since 1970; null if the layout has no time. */
  readonly time: bigint | null;
  readonly shard: number;
  readonly sequence: bigint;
}

function lowBits(bits: number): bigint {
  return (1n << BigInt(bits)) - 1n;
}

function isInt64(number: bigint): boolean {
  return number >= MIN_INT64 && number <= MAX_INT64;
}

/** The number in a bit field, without a sign. */
function fieldOf(field: Field, id: bigint): bigint {
  return (BigInt.asUintN(64, id) >> BigInt(field.shift)) & lowBits(field.bits);
}

/**
 * A layout: which bits of an id are its time, its shard and its sequence number. Layouts with the same
 * {@link canonical} text are the same.
 */
export class Layout {
  /** The text form, complete and in one fixed order, as the type `flake_layout` writes it. */
  readonly canonical: string;
  /** Whether ids tell the time. */
  readonly hasTime: boolean;
  /** Whether ids are UUIDs, of which a `bigint` can only be the head. */
  readonly isUuid: boolean;
  /** The largest shard number; the smallest is 0. */
  readonly maxShard: number;
  /** How many ids a shard has in a tick; null without time. */
  readonly idsPerTick: bigint | null;
  /** When the lifetime starts, in microseconds since 1970; null without time, or if no timestamptz can hold it. */
  readonly starts: bigint | null;
  /** When the lifetime ends; null as with {@link starts}. */
  readonly ends: bigint | null;

  /** @internal */
  readonly value: LayoutValue;

  private constructor(value: LayoutValue) {
    const shardBits = value.parts.reduce((sum, { bits }) => sum + bits, value.uuidShardBits);

    this.value = value;
    this.canonical = printLayout(value);
    this.hasTime = value.time.bits > 0;
    this.isUuid = value.uuidShardBits > 0;
    this.maxShard = Number(lowBits(shardBits));
    this.idsPerTick = this.hasTime ? this.maxSequence + 1n : null;
    this.starts = this.hasTime ? this.#tickStart(this.#firstTick) : null;
    this.ends = this.hasTime ? this.#tickStart(this.maxTick + 1n) : null;
  }

  /**
   * Reads a layout.
   *
   * @param text the name of a preset, as `'snowflake'`, or a layout written out, as
   *   `'ts:41 shard:13 seq:10 epoch=2024-01-01'`
   * @throws InvalidArgument if it is neither
   */
  static parse(text: string): Layout {
    return new Layout(parseLayout(String(text)));
  }

  /** The canonical text. */
  toString(): string {
    return this.canonical;
  }

  /** @internal The largest sequence number. */
  get maxSequence(): bigint {
    return lowBits(this.value.sequence.bits);
  }

  /** @internal The last tick that an id can hold. */
  get maxTick(): bigint {
    const { time } = this.value;
    return lowBits(Math.min(time.bits, 63 - time.shift));
  }

  /** The first tick that an id can hold. That of a UUID has no sign, though its head has room for one. */
  get #firstTick(): bigint {
    return this.isUuid || !this.hasTime ? 0n : -this.maxTick - 1n;
  }

  /**
   * @internal The tick that contains an instant. It may be outside of the lifetime, and is as far outside as can be if
   * from the epoch to the instant there are 2^63 us or more.
   */
  tickAt(us: bigint): bigint {
    const elapsed = us - this.value.epochUs;
    if (!isInt64(elapsed)) return elapsed < 0n ? MIN_INT64 : MAX_INT64;
    return floorDivide(elapsed, this.value.unitUs);
  }

  /** The instant at which a tick starts; null if no timestamptz can hold it. */
  #tickStart(tick: bigint): bigint | null {
    const elapsed = tick * this.value.unitUs;
    const start = this.value.epochUs + elapsed;
    return isInt64(elapsed) && isInt64(start - POSTGRES_EPOCH_US) && isTimestamp(start) ? start : null;
  }

  /** @internal The id of a tick, a sequence number and the image of a shard. */
  compose(tick: bigint, sequence: bigint, image: bigint): bigint {
    const { time, sequence: field } = this.value;
    return BigInt.asIntN(64, (tick << BigInt(time.shift)) | (sequence << BigInt(field.shift)) | image);
  }

  /** @internal The bits of a shard number at their places in an id. */
  shardImage(shard: number): bigint {
    let image = 0n;
    let rest = BigInt(shard);
    for (const part of [...this.value.parts].reverse()) {
      image |= (rest & lowBits(part.bits)) << BigInt(part.shift);
      rest >>= BigInt(part.bits);
    }
    return image;
  }

  #checkNotUuid(): void {
    if (this.isUuid)
      throw new InvalidArgument(`ids of layout "${this.canonical}" are UUIDs: use uuidv7Decode()`);
  }

  #checkHasTime(): void {
    if (!this.hasTime) throw new InvalidArgument(`layout "${this.canonical}" has no time`);
  }

  /** The parts of an id, as `flake_decode`. */
  decode(id: Id): Decoded {
    return { time: this.timestamp(id), shard: this.shard(id), sequence: this.sequence(id) };
  }

  /**
   * The time of an id, the start of its tick, in microseconds since 1970, as `flake_timestamp`.
   *
   * @returns null if the layout has no time
   * @throws InvalidArgument if it is outside of what `timestamptz` can hold
   */
  timestamp(id: Id): bigint | null {
    const number = toId(id);
    if (!this.hasTime) return null;
    const time = this.#tickStart(number >> BigInt(this.value.time.shift));
    if (time === null) throw new InvalidArgument(`the time of id ${number} is out of range`);
    return time;
  }

  /**
   * The time of an id as a `Date`.
   *
   * @returns null if the layout has no time
   * @throws InvalidArgument if no `Date` has this time exactly: it is no whole number of milliseconds, or too far away
   */
  date(id: Id): Date | null {
    const time = this.timestamp(id);
    if (time === null) return null;
    const date = new Date(Number(time / 1000n));
    if (time % 1000n !== 0n || Number.isNaN(date.getTime()))
      throw new InvalidArgument(`no Date is ${printTimestamp(time)}: use timestamp(), which has microseconds`);
    return date;
  }

  /** The shard of an id, as `flake_shard`. */
  shard(id: Id): number {
    const number = toId(id);
    this.#checkNotUuid();
    return Number(this.value.parts.reduce((shard, part) => (shard << BigInt(part.bits)) | fieldOf(part, number), 0n));
  }

  /** The sequence number of an id within its tick, as `flake_sequence`. */
  sequence(id: Id): bigint {
    return fieldOf(this.value.sequence, toId(id));
  }

  /** Every field of an id under its own name, and `timestamp` as text in UTC if there is time, as `flake_fields`. */
  fields(id: Id): Record<string, bigint | string> {
    const number = toId(id);
    this.#checkNotUuid();
    const result: Record<string, bigint | string> = {};
    for (const field of this.value.fields)
      result[field.name] = field.name === 'ts' ? number >> BigInt(field.shift) : fieldOf(field, number);
    const time = this.timestamp(number);
    if (time !== null) result['timestamp'] = printTimestamp(time);
    return result;
  }

  /**
   * The id of a time, a shard and a sequence number, as `flake_make`.
   *
   * @param time microseconds since 1970, or a `Date`; the tick that contains it counts
   * @throws InvalidArgument if an id cannot hold one of them
   */
  encode(time: Time, shard: number, sequence: bigint | number): bigint {
    this.#checkNotUuid();
    this.#checkHasTime();
    const us = toMicroseconds(time);
    const tick = this.tickAt(us);
    if (tick < this.#firstTick || tick > this.maxTick || !isTimestamp(us))
      throw new InvalidArgument(`the time is out of range for layout "${this.canonical}"`);
    if (!Number.isInteger(shard) || shard < 0 || shard > this.maxShard)
      throw new InvalidArgument(`shard ${shard} is out of range: layout "${this.canonical}" has 0 to ${this.maxShard}`);
    const number = toId(sequence);
    if (number < 0n || number > this.maxSequence)
      throw new InvalidArgument(
        `sequence ${number} is out of range: layout "${this.canonical}" has 0 to ${this.maxSequence}`);
    return this.compose(tick, number, this.shardImage(shard));
  }

  /** The smallest id whose time is this or later, as `flake_lower`. */
  lower(time: Time): bigint {
    this.#checkHasTime();
    const tick = this.tickAt(toMicroseconds(time) - 1n) + 1n; // after the last one that starts before it
    if (tick > this.maxTick) return this.#lastId < MAX_INT64 ? this.#lastId + 1n : MAX_INT64;
    return this.compose(tick < this.#firstTick ? this.#firstTick : tick, 0n, 0n);
  }

  /** The largest id whose time is this or earlier, as `flake_upper`. */
  upper(time: Time): bigint {
    this.#checkHasTime();
    const tick = this.tickAt(toMicroseconds(time));
    if (tick < this.#firstTick) return MIN_INT64;
    if (tick >= this.maxTick) return this.#lastId;
    return this.compose(tick + 1n, 0n, 0n) - 1n;
  }

  /** The largest id of all. A UUID's shard is not in its head. */
  get #lastId(): bigint {
    return this.compose(this.maxTick, this.maxSequence, this.isUuid ? 0n : this.shardImage(this.maxShard));
  }
}
