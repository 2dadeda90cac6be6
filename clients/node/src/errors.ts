// The errors, by the names of docs/clients.md. Each says what to do.

/** The base class of all errors of this library. */
export class FlakeidError extends Error {
  override name = 'FlakeidError';
}

/** The database cannot be reached, and there is no lease yet. The reason is the `cause`. */
export class NotConnected extends FlakeidError {
  override name = 'NotConnected';
}

/** The database has no extension `flakeid`. */
export class NotInstalled extends FlakeidError {
  override name = 'NotInstalled';
}

/** There is no such generator, or it is another relation. */
export class NoGenerator extends FlakeidError {
  override name = 'NoGenerator';
}

/** The generator has no time, no shards, or ids that are no `bigint`. */
export class UnsupportedLayout extends FlakeidError {
  override name = 'UnsupportedLayout';
}

/** The role may not mint, or not lease. */
export class NotPermitted extends FlakeidError {
  override name = 'NotPermitted';
}

/** All shards are leased or in use. The message says when the next one can be had. */
export class NoShardLeft extends FlakeidError {
  override name = 'NoShardLeft';
}

/** The lease is over, and there is no new one. The reason, if there was an error, is the `cause`. */
export class LeaseExpired extends FlakeidError {
  override name = 'LeaseExpired';

  /** Since when renewing has failed; null if it has not. */
  readonly failingSince: Date | null;

  constructor(message: string, failingSince: Date | null = null, options?: { cause?: unknown }) {
    super(message, options);
    this.failingSince = failingSince;
  }
}

/** An error that passes with time. */
export class Temporary extends FlakeidError {
  override name = 'Temporary';

  /** In how many milliseconds ids can be had again, by this process's clock. */
  readonly wait: number;

  constructor(message: string, wait: number, options?: { cause?: unknown }) {
    super(message, options);
    this.wait = wait;
  }
}

/** The lease begins later by this process's clock. Of a `Prefetch`: ids are being fetched. */
export class NotYet extends Temporary {
  override name = 'NotYet';
}

/** The next id would be more than `maxAhead` ahead of the clock. */
export class TooFarAhead extends Temporary {
  override name = 'TooFarAhead';
}

/** The layout has no later times. */
export class LifetimeOver extends FlakeidError {
  override name = 'LifetimeOver';
}

/** The minter was closed. */
export class Closed extends FlakeidError {
  override name = 'Closed';
}

/** An option, a layout, a text form or a key is malformed. */
export class InvalidArgument extends FlakeidError {
  override name = 'InvalidArgument';
}

/** Any other error of the server, which is the `cause`. */
export class ServerError extends FlakeidError {
  override name = 'ServerError';

  /** The error code of PostgreSQL, five characters. */
  readonly sqlstate: string;

  constructor(message: string, sqlstate: string, options?: { cause?: unknown }) {
    super(message, options);
    this.sqlstate = sqlstate;
  }
}
