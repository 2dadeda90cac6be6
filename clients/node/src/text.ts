// Ids as text of fixed width, as flake_to_text() and flake_from_text() write and read them.

import { InvalidArgument } from './errors.js';
import { toId, type Id } from './ids.js';

/** The bases of text forms. */
export type Base = 16 | 32 | 58 | 62;

interface BaseDigits {
  readonly digits: string;
  readonly width: number;
  readonly values: ReadonlyMap<string, number>;
}

function baseDigits(digits: string, width: number): BaseDigits {
  return { digits, width, values: new Map([...digits].map((digit, value) => [digit, value])) };
}

/** Douglas Crockford's base 32 is read in either case, and with letters that look like digits. */
function crockford(): BaseDigits {
  const base = baseDigits('0123456789ABCDEFGHJKMNPQRSTVWXYZ', 13);
  const values = new Map([...base.values, ['O', 0], ['I', 1], ['L', 1]]);
  for (const [digit, value] of [...values]) values.set(digit.toLowerCase(), value);
  return { ...base, values };
}

const bases: Readonly<Record<Base, BaseDigits>> = {
  16: baseDigits('0123456789abcdef', 16),
  32: crockford(),
  58: baseDigits('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz', 11),
  62: baseDigits('0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz', 11),
};

function digitsOf(base: number): BaseDigits {
  if (!Object.hasOwn(bases, base)) throw new InvalidArgument(`base ${base} is not supported: bases are 16, 32, 58 and 62`);
  return bases[base as Base];
}

/**
 * An id as text of fixed width, which sorts as ids do if they are not negative.
 *
 * @param base 16, 32 (Crockford's), 58 (Bitcoin's) or 62
 */
export function toText(id: Id, base: Base = 62): string {
  const { digits, width } = digitsOf(base);
  let rest = BigInt.asUintN(64, toId(id));
  let text = '';
  for (const radix = BigInt(base); text.length < width; rest /= radix) text = digits[Number(rest % radix)] + text;
  return text;
}

/**
 * The id of such a text. Zeros in front can be missing.
 *
 * @throws InvalidArgument if the text is empty, has another character, or is too large
 */
export function fromText(text: string, base: Base = 62): bigint {
  const { digits, values } = digitsOf(base);
  const radix = BigInt(base);
  let number = 0n;
  if (typeof text !== 'string' || text === '') throw new InvalidArgument('the text form of an id must not be empty');
  for (const digit of text) {
    const value = values.get(digit);
    if (value === undefined)
      throw new InvalidArgument(`invalid text form of an id: ${JSON.stringify(text)}: base ${base} has the digits ${digits}`);
    number = number * radix + BigInt(value);
    if (number >> 64n)
      throw new InvalidArgument(`invalid text form of an id: ${JSON.stringify(text)}: it is larger than 64 bits can hold`);
  }
  return BigInt.asIntN(64, number);
}
