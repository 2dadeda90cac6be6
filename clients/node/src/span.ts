// What is minted from, and why it may refuse: rules P1, P2 and P4 of docs/clients.md.

import { LeaseExpired, LifetimeOver, NotYet, TooFarAhead } from './errors.js';
import { ceilDivide } from './instant.js';
import type { Layout } from './layout.js';

/** A shard, and the ticks of it that are leased. */
export interface Span {
  readonly shard: number;
  readonly firstTick: bigint;
  /** The first tick that is not the lease's any more. */
  readonly endTick: bigint;
}

/** Mints ids of one layout. */
export interface Core {
  /** Takes over a lease. Its first id has a later tick than the last one of the lease before (P2). */
  begin(span: Span): void;
  /** The lease was renewed. */
  extend(endTick: bigint): void;
  next(): bigint;
  nextN(n: number): bigint[];
  /** The tick of the last id of this lease; null if there is none. */
  lastTick(): bigint | null;
}

/** The first tick that begins at an instant or later. */
export function firstTickFrom(layout: Layout, us: bigint): bigint {
  return ceilDivide(us - layout.value.epochUs, layout.value.unitUs);
}

/** How many whole ticks the clock may be behind. */
export function ticksAhead(layout: Layout, maxAheadMs: number): bigint {
  return BigInt(Math.floor(maxAheadMs * 1000)) / layout.value.unitUs;
}

/** Why there is no id whose last tick would be `tick`. */
export function refusal(
  layout: Layout, span: Span, ahead: bigint, clock: bigint, tick: bigint,
): NotYet | TooFarAhead | LeaseExpired | LifetimeOver {
  const us = (ticks: bigint) => ticks * layout.value.unitUs;
  const ms = (ticks: bigint) => Math.max(1, Math.ceil(Number(us(ticks)) / 1000));
  const text = (ticks: bigint) => `${(Number(us(ticks)) / 1e6).toFixed(3)} s`;

  if (tick > layout.maxTick)
    return new LifetimeOver(`the lifetime of layout "${layout.canonical}" is over: check the clock; if it is right, ids`
      + ' must come from a layout with a later epoch');
  if (clock < span.firstTick - ahead) {
    const missing = span.firstTick - ahead - clock;
    return new NotYet(`the lease of shard ${span.shard} begins later by this process's clock, and ids can be had in`
      + ` ${text(missing)}: wait, or correct the clock`, ms(missing));
  }
  if (tick > clock + ahead) {
    const excess = tick - ahead - clock;
    return new TooFarAhead(`the clock is ${text(tick - clock)} behind the next id of shard ${span.shard}, and ids can be`
      + ` had in ${text(excess)}: if the clock was set back, correct it, or wait; else more ids are wanted than one shard`
      + ' has', ms(excess));
  }
  return new LeaseExpired(clock >= span.endTick
    ? `the lease of shard ${span.shard} is over by this process's clock, since ${text(clock - span.endTick)}`
    : `the ids of shard ${span.shard} are used up to the end of the lease`);
}
