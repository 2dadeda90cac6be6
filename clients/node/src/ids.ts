// What this library takes for an id, a number and a time.

import { InvalidArgument } from './errors.js';

/** An id: a `bigint`, its decimal digits, or a number that is exact. */
export type Id = bigint | string | number;

/** A time: microseconds since 1970, or a `Date`. */
export type Time = bigint | Date;

const MIN_INT64 = -(1n << 63n);
const MAX_INT64 = (1n << 63n) - 1n;

/** The id as a `bigint`; an error if it is no signed number of 64 bits. */
export function toId(id: Id): bigint {
  let number: bigint | undefined;
  if (typeof id === 'bigint') number = id;
  else if (typeof id === 'string' ? /^-?[0-9]+$/.test(id) : Number.isSafeInteger(id)) number = BigInt(id);
  if (number === undefined || number < MIN_INT64 || number > MAX_INT64)
    throw new InvalidArgument(`${typeof id === 'string' ? JSON.stringify(id) : String(id)} is no id: a bigint, its digits`
      + ' as a string, or a number up to 2^53');
  return number;
}

/** The time in microseconds since 1970. */
export function toMicroseconds(time: Time): bigint {
  if (typeof time === 'bigint') return time;
  if (!(time instanceof Date) || Number.isNaN(time.getTime()))
    throw new InvalidArgument('a time is a valid Date, or a bigint of microseconds since 1970');
  return BigInt(time.getTime()) * 1000n;
}

/** A whole number from min to max; an error that names it, if it is none. */
export function checkNumber(name: string, value: number, min: number, max: number): number {
  if (!Number.isInteger(value) || value < min || value > max)
    throw new InvalidArgument(`${name} must be a whole number from ${min} to ${max}, and is ${value}`);
  return value;
}
