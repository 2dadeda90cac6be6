// The two clocks of docs/clients.md.

/**
 * The wall clock in microseconds since 1970. `Date.now()` has whole milliseconds; what is below comes from the monotonic
 * clock, and never leads out of the millisecond that `Date.now()` tells. So a clock that is set is followed at once.
 */
export function wallClockUs(): number {
  const wall = Date.now();
  const monotonic = performance.now();
  let now = monotonic + wallAhead;

  if (!(now >= wall && now < wall + 1)) {
    now = now >= wall + 1 ? wall + 0.999 : wall;
    wallAhead = now - monotonic;
  }
  return Math.floor(now * 1000);
}

let wallAhead = NaN;

/**
 * A clock that nobody sets, in milliseconds. On Linux it does not count while the machine sleeps; then the wall clock
 * ends a lease.
 */
export function monotonicClock(): number {
  return performance.now();
}
