// Instants as text: those of layouts, and those of fields().

const US_PER_DAY = 86_400_000_000n;
/** 400 years of the Gregorian calendar, after which it repeats. */
const US_PER_CYCLE = 146_097n * US_PER_DAY;

/** The instants that a layout's text can name, in microseconds since 1970. */
const MIN_EPOCH_US = -719_162n * US_PER_DAY; // 0001-01-01
const MAX_EPOCH_US = 2_932_897n * US_PER_DAY - 1n; // the end of 9999-12-31

/** What PostgreSQL's timestamptz can hold, in microseconds since 1970; the last is not among them. */
const MIN_TIMESTAMP_US = -210_866_803_200_000_000n;
const END_TIMESTAMP_US = 9_224_318_016_000_000_000n;

export function isTimestamp(us: bigint): boolean {
  return us >= MIN_TIMESTAMP_US && us < END_TIMESTAMP_US;
}

/** Division that rounds down. */
export function floorDivide(a: bigint, b: bigint): bigint {
  const quotient = a / b;
  return quotient * b > a ? quotient - 1n : quotient;
}

/** Division of which the remainder goes up. */
export function ceilDivide(a: bigint, b: bigint): bigint {
  return -floorDivide(-a, b);
}

/**
 * Reads an instant of the years 1 to 9999, as ISO 8601 writes it in UTC or in milliseconds since 1970: in
 * microseconds since 1970. Undefined if it is neither.
 */
export function readInstant(text: string): bigint | undefined {
  if (/^-?[0-9]+$/.test(text)) {
    const us = BigInt(text) * 1000n;
    return us >= MIN_EPOCH_US && us <= MAX_EPOCH_US ? us : undefined;
  }
  const match =
    /^([0-9]{4})-([0-9]{2})-([0-9]{2})(?:T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]{1,6}))?Z)?$/.exec(text);
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map((digits) => Number(digits ?? 0)) as
    [number, number, number, number, number, number];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (year < 1 || date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  date.setUTCHours(hour, minute, second);
  return BigInt(date.getTime()) * 1000n + BigInt((match[7] ?? '').padEnd(6, '0'));
}

/** The text of an instant as flake_fields() writes it: in UTC, with as many decimals as it needs. */
export function printTimestamp(us: bigint): string {
  const cycles = floorDivide(us, US_PER_CYCLE);
  const inCycle = us - cycles * US_PER_CYCLE;
  const date = new Date(Number(inCycle / 1000n));
  const year = date.getUTCFullYear() + 400 * Number(cycles);
  const fraction = String(inCycle % 1_000_000n).padStart(6, '0').replace(/0+$/, '');
  const [rest] = date.toISOString().slice(4).split('.');
  return String(year > 0 ? year : 1 - year).padStart(4, '0') + rest + (fraction && `.${fraction}`) + 'Z'
    + (year > 0 ? '' : ' BC');
}

/** The text of an instant as a layout has it: with no, three or six decimals. */
export function printInstant(us: bigint): string {
  return printTimestamp(us).replace(/\.([0-9]+)/, (_, digits: string) => `.${digits.padEnd(digits.length > 3 ? 6 : 3, '0')}`);
}
