// The text form of layouts: reading and writing it, as src/layout/layout_text.c does.

import { InvalidArgument } from './errors.js';
import { printInstant, readInstant } from './instant.js';
import { presets } from './presets.js';

/** A bit field: how wide, and where its lowest bit is. */
export interface Field {
  readonly name: string;
  readonly bits: number;
  readonly shift: number;
}

/** A layout as a value. */
export interface LayoutValue {
  /** All fields, the most significant first. Without time, its field has no bits and is not among them. */
  readonly fields: readonly Field[];
  readonly time: Field;
  readonly sequence: Field;
  /** The parts of the shard number, the most significant first. */
  readonly parts: readonly Field[];
  /** The start of tick 0, in microseconds since 1970. */
  readonly epochUs: bigint;
  /** The length of a tick; 0 without time. */
  readonly unitUs: bigint;
  readonly start: 'continue' | 'zero' | 'random';
  /** With `start=random:n`, n; else 0. */
  readonly randomBelow: bigint;
  /** Without time, how many numbers are reserved at once; else 0. */
  readonly block: bigint;
  /** With `form=uuidv7`, the bits of the shard, which is not among the fields; else 0. */
  readonly uuidShardBits: number;
}

const MAX_INT64 = (1n << 63n) - 1n;
const MAX_TOKEN_LENGTH = 63;
const MAX_NAME_LENGTH = 15;
const MAX_PARTS = 8;
const MAX_SHARD_BITS = 31;
const MAX_UNIT_US = 86_400_000_000n;
const DEFAULT_UNIT_US = 1000n;
const DEFAULT_BLOCK = 10_000n;
const MAX_BLOCK = 1_000_000_000n;
const UUIDV7_FIELDS = 'ts:48 seq:12 shard:13';
const UUIDV7_SHARD_BITS = 13;

/** The units of `unit=`, the longest first. */
const units: readonly (readonly [string, bigint])[] = [
  ['d', 86_400_000_000n], ['h', 3_600_000_000n], ['min', 60_000_000n], ['s', 1_000_000n], ['ms', 1000n], ['us', 1n],
];

/** Reads a decimal number without a sign; undefined if it is none, or no bigint of SQL. */
function readNumber(text: string): bigint | undefined {
  if (!/^[0-9]+$/.test(text)) return undefined;
  const number = BigInt(text);
  return number <= MAX_INT64 ? number : undefined;
}

type Options = Record<'epoch' | 'unit' | 'start' | 'block' | 'form', string | undefined>;

class Parser {
  readonly #text: string;
  readonly #fields: { name: string; bits: number }[] = [];
  readonly #options: Options = { epoch: undefined, unit: undefined, start: undefined, block: undefined, form: undefined };

  constructor(text: string) {
    this.#text = text;
  }

  #wrong(detail: string): never {
    throw new InvalidArgument(`invalid layout "${this.#text}": ${detail}`);
  }

  parse(): LayoutValue {
    for (const token of this.#text.split(/[ \t\n\r\f\v]+/)) {
      if (token === '') continue;
      const at = token.search(/[=:]/);
      if (at < 0 || token.length > MAX_TOKEN_LENGTH)
        this.#wrong(`"${token}" is neither a field, as "ts:41" is, nor an option, as "unit=1ms" is`);
      const name = token.slice(0, at);
      const value = token.slice(at + 1);
      if (token[at] === ':') this.#readField(name, value);
      else this.#readOption(name, value);
    }
    return this.#finish();
  }

  #readField(name: string, value: string): void {
    if (Object.values(this.#options).some((option) => option !== undefined))
      this.#wrong(`field "${name}" comes after an option; write all fields before the options`);
    if (!/^[a-z][a-z0-9_]*$/.test(name) || name.length > MAX_NAME_LENGTH || name === 'timestamp')
      this.#wrong(`"${name}" cannot be a field's name`);
    const bits = readNumber(value);
    if (bits === undefined || bits < 1n || bits > 63n)
      this.#wrong(`field "${name}" has "${value}" for its bits, which must be a number from 1 to 63`);
    if (this.#fields.some((field) => field.name === name)) this.#wrong(`field "${name}" is given twice`);
    if (name === 'ts' && this.#fields.length > 0) this.#wrong('field "ts" is not the first');
    this.#fields.push({ name, bits: Number(bits) });
    if (this.#parts().length > MAX_PARTS)
      this.#wrong(`field "${name}" is one too many: a shard number has up to ${MAX_PARTS} parts`);
  }

  #readOption(name: string, value: string): void {
    if (!Object.hasOwn(this.#options, name))
      this.#wrong(`there is no option "${name}"; options are epoch, unit, start, block and form`);
    const option = name as keyof Options;
    if (this.#options[option] !== undefined) this.#wrong(`option "${name}" is given twice`);
    this.#options[option] = value;
  }

  #parts(): { name: string; bits: number }[] {
    return this.#fields.filter(({ name }) => name !== 'ts' && name !== 'seq');
  }

  #epoch(): bigint | undefined {
    const text = this.#options.epoch;
    if (text === undefined) return undefined;
    return readInstant(text) ?? this.#wrong(`epoch "${text}" is not an instant of the years 1 to 9999 in UTC, as`
      + ' "2011-08-24T21:07:01.721Z" is, nor a number of milliseconds since 1970');
  }

  #unit(): bigint | undefined {
    const text = this.#options.unit;
    if (text === undefined) return undefined;
    const [, digits, name] = /^([0-9]+)(.*)$/s.exec(text) ?? [];
    const number = readNumber(digits ?? '');
    const length = units.find((unit) => unit[0] === name)?.[1];
    const us = number === undefined || length === undefined ? 0n : number * length;
    if (us < 1n || us > MAX_UNIT_US)
      this.#wrong(`unit "${text}" is not a length of time from 1us to 1d, as "10ms" is`);
    return us;
  }

  #start(): Pick<LayoutValue, 'start' | 'randomBelow'> {
    const text = this.#options.start ?? 'continue';
    if (text === 'continue' || text === 'zero' || text === 'random') return { start: text, randomBelow: 0n };
    const below = text.startsWith('random:') ? readNumber(text.slice('random:'.length)) : undefined;
    if (!below) this.#wrong(`start "${text}" is none of continue, zero, random, and random:10 for a number below 10`);
    return { start: 'random', randomBelow: below };
  }

  #block(): bigint | undefined {
    const text = this.#options.block;
    if (text === undefined) return undefined;
    const block = readNumber(text);
    if (block === undefined || block < 1n || block > MAX_BLOCK)
      this.#wrong(`block "${text}" is not a number from 1 to ${MAX_BLOCK}`);
    return block;
  }

  /** Checks what depends on several tokens, and fills in what was not given. */
  #finish(): LayoutValue {
    const isUuid = this.#options.form !== undefined;
    let epochUs = this.#epoch();
    let unitUs = this.#unit();
    let { start, randomBelow } = this.#start();
    const block = this.#block();

    if (isUuid) {
      if (this.#options.form !== 'uuidv7') this.#wrong(`form "${this.#options.form}" is unknown`);
      if (this.#fields.map(({ name, bits }) => `${name}:${bits}`).join(' ') !== UUIDV7_FIELDS)
        this.#wrong(`the fields of form "uuidv7" are "${UUIDV7_FIELDS}", in this order`);
      if ((epochUs ?? 0n) !== 0n) this.#wrong('the time of form "uuidv7" counts from 1970');
      if ((unitUs ?? 1000n) !== 1000n) this.#wrong('the time of form "uuidv7" counts milliseconds');
      epochUs = 0n;
      this.#fields.pop();
    }
    const placed = this.#place();
    const find = (name: string) => placed.find((field) => field.name === name);
    const sequence = find('seq') ?? this.#wrong('there is no field "seq"');
    const time = find('ts');
    const common = {
      fields: placed, sequence, parts: placed.filter(({ name }) => name !== 'ts' && name !== 'seq'),
      uuidShardBits: isUuid ? UUIDV7_SHARD_BITS : 0,
    };

    if (!time) {
      for (const option of ['epoch', 'unit', 'start'] as const)
        if (this.#options[option] !== undefined) this.#wrong(`option "${option}" needs a field "ts"`);
      const total = placed.reduce((sum, { bits }) => sum + bits, 0);
      return {
        ...common, time: { name: 'ts', bits: 0, shift: total }, epochUs: 0n, unitUs: 0n,
        start: 'continue', randomBelow: 0n, block: block ?? DEFAULT_BLOCK,
      };
    }
    if (block !== undefined) this.#wrong('option "block" is for layouts without a field "ts"');
    if (epochUs === undefined) this.#wrong('there is no option "epoch", the instant from which time counts');
    const size = 1n << BigInt(sequence.bits);
    if (randomBelow > size)
      this.#wrong(`start "random:${randomBelow}" is more than the ${sequence.bits} bits of "seq" can hold`);
    if (randomBelow === size) randomBelow = 0n; // all of them, the same as "random"
    unitUs ??= DEFAULT_UNIT_US;
    return { ...common, time, epochUs, unitUs, start, randomBelow, block: 0n };
  }

  /** Turns the order of the fields into their positions. */
  #place(): Field[] {
    const max = this.#fields[0]?.name === 'ts' ? 64 : 63;
    let total = 0;
    let shardBits = 0;
    for (const { name, bits } of this.#fields) {
      total += bits;
      if (total > max) this.#wrong(`with field "${name}" there are ${total} bits, and an id has ${max}`);
      if (name !== 'ts' && name !== 'seq') shardBits += bits;
      if (shardBits > MAX_SHARD_BITS)
        this.#wrong(`with field "${name}" the shard number has ${shardBits} bits, and it can have ${MAX_SHARD_BITS}`);
    }
    return this.#fields.map(({ name, bits }) => ({ name, bits, shift: (total -= bits) }));
  }
}

/** Reads the name of a preset, or a layout written out. */
export function parseLayout(text: string): LayoutValue {
  if (/^[^:= \t\n\r\f\v]+$/.test(text)) {
    if (!Object.hasOwn(presets, text)) throw new InvalidArgument(`there is no preset "${text}"`);
    return new Parser(presets[text] as string).parse();
  }
  return new Parser(text).parse();
}

/** Writes the text form, complete and in one fixed order. */
export function printLayout(layout: LayoutValue): string {
  const words = layout.fields.map(({ name, bits }) => `${name}:${bits}`);
  if (layout.uuidShardBits > 0) words.push(`shard:${layout.uuidShardBits}`, 'form=uuidv7');
  if (layout.time.bits === 0) return [...words, `block=${layout.block}`].join(' ');
  const [name, length] = units.find((unit) => layout.unitUs % unit[1] === 0n) as readonly [string, bigint];
  words.push(`epoch=${printInstant(layout.epochUs)}`, `unit=${layout.unitUs / length}${name}`);
  words.push(`start=${layout.start}${layout.randomBelow > 0n ? `:${layout.randomBelow}` : ''}`);
  return words.join(' ');
}
