// Waiting, for the calls that do.

import { monotonicClock } from './clock.js';
import { InvalidArgument } from './errors.js';

/** Those who wait for something to happen. */
export class Waiters {
  readonly #waiting = new Set<() => void>();

  /** Wakes all of them. */
  wake(): void {
    for (const wake of this.#waiting) wake();
  }

  /** Returns when woken, or after some milliseconds. Keeps the process alive meanwhile. */
  wait(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#waiting.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, Math.ceil(ms));
      this.#waiting.add(wake);
    });
  }

  /**
   * Calls `attempt` until it does not throw. After an error it waits for as many milliseconds as `delayOf` says, or
   * until woken, unless `delayOf` says undefined or `timeout` is over.
   */
  async retry<T>(attempt: () => T, delayOf: (error: unknown) => number | undefined, timeout: number): Promise<T> {
    const until = monotonicClock() + checkTimeout(timeout);
    for (;;) {
      try {
        return attempt();
      } catch (error) {
        const delay = delayOf(error);
        const left = until - monotonicClock();
        if (delay === undefined || left <= 0) throw error;
        await this.wait(Math.min(delay, left));
      }
    }
  }
}

function checkTimeout(timeout: number): number {
  if (typeof timeout !== 'number' || !(timeout >= 0))
    throw new InvalidArgument(`timeout must be a number of milliseconds, and is ${timeout}`);
  return timeout;
}
