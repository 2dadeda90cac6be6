// Minting from a lease. No connection, no timer and no deadline here.

import { BigIntCore } from './core-bigint.js';
import { NumberCore } from './core-number.js';
import type { Layout } from './layout.js';
import type { Core } from './span.js';

/** The core for a layout: by numbers where they are exact. */
export function coreFor(layout: Layout, maxAheadMs: number): Core {
  const { time, sequence } = layout.value;
  return time.bits <= NumberCore.MAX_BITS && sequence.bits <= NumberCore.MAX_BITS
    ? new NumberCore(layout, maxAheadMs)
    : new BigIntCore(layout, maxAheadMs);
}
