// The database: a connection of one's own, and the statements of docs/clients.md. It is over with the first error.

import pg from 'pg';

import { monotonicClock } from './clock.js';
import {
  FlakeidError, LifetimeOver, NoGenerator, NoShardLeft, NotConnected, NotInstalled, NotPermitted, ServerError,
} from './errors.js';

/** How to reach the database. */
export interface ConnectionOptions {
  /** The database, as `postgresql://user@host/name`; without it, pg's environment variables `PGHOST` and so on. */
  connectionString?: string;
  /** More settings of pg's `Client`, as `{ ssl: true }`. */
  client?: object;
}

/** What the server has answered to a request for a lease. */
export interface LeaseAnswer {
  readonly shard: number;
  readonly notBefore: bigint;
  readonly expiresAt: bigint;
  /** The server's clock. */
  readonly now: bigint;
  /** The monotonic clock before the statement was sent, in milliseconds. */
  readonly sentAt: number;
}

/** What it has answered to a renewal. */
export type RenewAnswer = Pick<LeaseAnswer, 'expiresAt' | 'now' | 'sentAt'>;

/** Whether an error of renew() says that there is no such lease any more: none of this name, no generator, no extension. */
export function isLost(error: unknown): boolean {
  return error instanceof NotInstalled
    || (error instanceof ServerError && (error.sqlstate === '42704' || error.sqlstate === '42P01'));
}

const isError = (error: unknown): error is Error & { code?: string; severity?: string; detail?: string; hint?: string } =>
  error instanceof Error;

/** Class 08 and the 57P of a server that goes away. */
const CONNECTION_IS_OVER = /^(?:08|57P0)/;
/** A name that is none, no relation, another relation, no schema. */
const NO_GENERATOR: ReadonlySet<string> = new Set(['42601', '42602', '0A000', '42P01', '42809', '3F000']);

/** The server's message with its detail and hint. */
function fullMessage(error: { message: string; detail?: string; hint?: string }): string {
  return [error.message, error.detail, error.hint].filter(Boolean).join(': ').replace(/\.: /g, '. ');
}

function notConnected(error: unknown): NotConnected {
  // Several addresses were tried, and each has an error.
  const reasons = error instanceof AggregateError ? error.errors : [error];
  const reason = reasons.map((one: unknown) => (isError(one) ? one.message : String(one))).join(', ');
  return new NotConnected(`the database cannot be reached: ${reason}`, { cause: error });
}

/** What error codes of the server mean where a statement may raise them. */
type Meaning = Readonly<Record<string, (message: string, options: object) => FlakeidError>>;

type Row = Record<string, string | null>;

/** The error of this library for one of pg. */
function translate(error: unknown, meaning: Meaning): FlakeidError {
  if (error instanceof FlakeidError) return error;
  if (!isError(error) || error.severity === undefined || error.code === undefined || CONNECTION_IS_OVER.test(error.code))
    return notConnected(error);
  const make = meaning[error.code];
  const message = fullMessage(error);
  if (make) return make(message, { cause: error });
  return new ServerError(message, error.code, { cause: error });
}

const notPermitted = (message: string, options: object) =>
  new NotPermitted(`${message}: grant EXECUTE on flake_lease, flake_renew and flake_release, and USAGE on the generator`,
    options);

/** SQL for an instant in microseconds since 1970. */
const microseconds = (instant: string) => `(pg_catalog.extract('epoch', ${instant}) OPERATOR(pg_catalog.*) 1000000)::pg_catalog.int8`;

/** Ends a connection that may not answer any more. */
function abandon(client: pg.Client): void {
  client.end().catch(() => undefined);
  client.connection?.stream?.destroy();
}

/** The same promise, or an error after some milliseconds without an answer. */
function within<T>(timeout: number, promise: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer within ${timeout / 1000} s`)), timeout).unref();
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

/** For pg: all values as the server writes them, whatever the process has set for others. */
const asText = { getTypeParser: () => (value: string) => value };

/** @internal */
export class Server {
  readonly #client: pg.Client;
  /** The schema of the extension, quoted. */
  #schema = '';
  readonly #timeout: number;
  #isBroken = false;
  /** Is called when the connection is seen to be over. */
  onBroken: (() => void) | undefined;

  private constructor(client: pg.Client, timeout: number) {
    this.#client = client;
    this.#timeout = timeout;
    for (const event of ['error', 'end'] as const)
      client.on(event, () => {
        if (this.#isBroken) return;
        this.#isBroken = true;
        this.onBroken?.();
      });
  }

  /** The connection is over, which may have been noticed while nothing was asked. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  /** Connects. After `timeout` milliseconds without an answer, here and later, a request has failed. */
  static async connect(options: ConnectionOptions, timeout: number): Promise<Server> {
    const client = new pg.Client({
      application_name: 'flakeid', keepAlive: true, ...options.client,
      ...(options.connectionString !== undefined && { connectionString: options.connectionString }),
      types: asText,
    });
    // Else an error that comes while nothing is asked would end the process.
    client.on('error', () => undefined);
    try {
      await within(timeout, client.connect());
    } catch (error) {
      abandon(client);
      throw notConnected(error);
    }
    const server = new Server(client, timeout);
    try {
      await server.#begin();
      return server;
    } catch (error) {
      abandon(client);
      throw error;
    }
  }

  /** Sets what a session could have otherwise, and finds the extension. */
  async #begin(): Promise<void> {
    await this.#ask({}, 'SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE', []);
    await this.#ask({}, 'SET synchronous_commit = on', []);
    const [row] = await this.#ask({},
      `SELECT pg_catalog.quote_ident(n.nspname) AS schema
       FROM pg_catalog.pg_extension AS e
       JOIN pg_catalog.pg_namespace AS n ON n.oid OPERATOR(pg_catalog.=) e.extnamespace
       WHERE e.extname OPERATOR(pg_catalog.=) 'flakeid'::pg_catalog.name`, []);
    if (!row) {
      throw new NotInstalled(
        `database "${this.#client.database}" has no extension flakeid: execute CREATE EXTENSION flakeid`);
    }
    this.#schema = row['schema'] ?? '';
  }

  /** Does not keep the process alive, or does again. */
  hold(isHeld: boolean): void {
    if (isHeld) this.#client.ref?.();
    else this.#client.unref?.();
  }

  /** The default generator's name. */
  get defaultGenerator(): string {
    return `${this.#schema}.flake_default`;
  }

  /** The OID of a generator, which stays when it is renamed, and the canonical text of its layout. */
  async generator(name: string): Promise<{ oid: string; layout: string }> {
    const [row] = await this.#ask(
      { 42501: notPermitted },
      `SELECT g.oid::pg_catalog.oid AS oid, ${this.#schema}.flake_layout_of(g.oid)::pg_catalog.text AS layout
       FROM (SELECT $1::pg_catalog.regclass AS oid) AS g`,
      [name], NO_GENERATOR);
    return { oid: row?.['oid'] ?? '', layout: row?.['layout'] ?? '' };
  }

  /** Leases a shard for `ttl` milliseconds, under a name that was never used. */
  async lease(owner: string, ttl: number, oid: string): Promise<LeaseAnswer> {
    const sentAt = monotonicClock();
    const [row] = await this.#ask(
      {
        42501: notPermitted,
        53400: (message, options) => new NoShardLeft(message, options),
        22003: (message, options) => new LifetimeOver(message, options),
      },
      `SELECT l.shard, ${microseconds('l.not_before')} AS not_before, ${microseconds('l.expires_at')} AS expires_at,
              ${microseconds('pg_catalog.clock_timestamp()')} AS now
       FROM ${this.#schema}.flake_lease($1::pg_catalog.text,
         pg_catalog.make_interval(secs => $2::pg_catalog.float8), $3::pg_catalog.oid::pg_catalog.regclass) AS l`,
      [owner, String(ttl / 1000), oid], NO_GENERATOR);
    return {
      shard: Number(row?.['shard']), notBefore: BigInt(row?.['not_before'] ?? ''),
      expiresAt: BigInt(row?.['expires_at'] ?? ''), now: BigInt(row?.['now'] ?? ''), sentAt,
    };
  }

  /** Renews a lease. */
  async renew(owner: string, ttl: number, oid: string): Promise<RenewAnswer> {
    const sentAt = monotonicClock();
    const [row] = await this.#ask(
      { 42501: notPermitted },
      `SELECT ${microseconds('r')} AS expires_at, ${microseconds('pg_catalog.clock_timestamp()')} AS now
       FROM ${this.#schema}.flake_renew($1::pg_catalog.text,
         pg_catalog.make_interval(secs => $2::pg_catalog.float8), $3::pg_catalog.oid::pg_catalog.regclass) AS r`,
      [owner, String(ttl / 1000), oid]);
    return { expiresAt: BigInt(row?.['expires_at'] ?? ''), now: BigInt(row?.['now'] ?? ''), sentAt };
  }

  /** Gives a lease back if the server's clock is past `after`, in microseconds since 1970: else null (P8). */
  async release(owner: string, after: bigint, oid: string): Promise<boolean | null> {
    const [row] = await this.#ask(
      { 42501: notPermitted },
      `SELECT CASE WHEN pg_catalog.clock_timestamp() OPERATOR(pg_catalog.>)
                pg_catalog.to_timestamp($2::pg_catalog.float8)
              THEN ${this.#schema}.flake_release($1::pg_catalog.text, $3::pg_catalog.oid::pg_catalog.regclass)
              END AS released`,
      [owner, String(Number(after) / 1e6), oid]);
    return row?.['released'] == null ? null : row['released'] === 't';
  }

  /**
   * Ids in the database's own order. The message makes it wait for a synchronous standby, as a transaction with rows
   * does.
   */
  async ids(shard: number, count: number, generator: string): Promise<bigint[]> {
    const rows = await this.#ask(
      {
        42501: (message, options) => new NotPermitted(
          `${message}: grant EXECUTE on flake_ids and pg_logical_emit_message(boolean, text, text), and USAGE on the generator`,
          options),
      },
      `SELECT i AS id FROM ${this.#schema}.flake_ids($1::pg_catalog.int4, $2::pg_catalog.int4,
         $3::pg_catalog.regclass) AS i
       CROSS JOIN pg_catalog.pg_logical_emit_message(true, 'flakeid'::pg_catalog.text, ''::pg_catalog.text)`,
      [String(shard), String(count), generator], NO_GENERATOR);
    return rows.map((row) => BigInt(row['id'] ?? ''));
  }

  /** Ends the connection. */
  async end(): Promise<void> {
    this.hold(true);
    await Promise.race([this.#client.end(), new Promise((resolve) => setTimeout(resolve, 1000).unref())])
      .catch(() => undefined);
    abandon(this.#client);
  }

  /** Ends it at once, without a word to the server. */
  abandon(): void {
    abandon(this.#client);
  }

  /** Executes a statement, which is committed when this returns (P5). */
  async #ask(
    meaning: Meaning, text: string, values: string[], noGenerator: ReadonlySet<string> = new Set(),
  ): Promise<Row[]> {
    try {
      return (await within(this.#timeout, this.#client.query(text, values))).rows;
    } catch (error) {
      const translated = translate(error, meaning);
      if (translated instanceof ServerError && noGenerator.has(translated.sqlstate))
        throw new NoGenerator(`${translated.message}: generators are made by flake_create_generator()`, { cause: error });
      throw translated;
    }
  }
}
