// What tests need of a database, which is that of DATABASE_URL: statements, and a way to it that can be cut.

import { mkdtempSync, rmSync } from 'node:fs';
import net from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import pg from 'pg';

/** The database; tests of it are skipped without. */
export const connectionString = process.env.DATABASE_URL;

/** Executes statements and returns the rows of the last one, with all values as text. */
export async function sql(text, values) {
  const client = new pg.Client({ connectionString, types: { getTypeParser: () => (value) => value } });
  await client.connect();
  try {
    const result = await client.query(text, values);
    return (Array.isArray(result) ? result.at(-1) : result).rows;
  } finally {
    await client.end();
  }
}

/** A generator of a layout, made anew; its name. */
export async function generator(name, layout) {
  await sql(`DROP SEQUENCE IF EXISTS ${name}`);
  await sql('SELECT flake_create_generator($1, $2)', [name, layout]);
  return name;
}

/** Waits until a condition holds. */
export async function until(condition, what) {
  for (const end = performance.now() + 120_000; performance.now() < end;) {
    const result = await condition();
    if (result) return result;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  throw new Error(`timed out waiting until ${what}`);
}

/** A way to the database, through which its server can be reached or not. */
export class Proxy {
  #sockets = new Set();
  #mode = 'open';
  #directory = mkdtempSync(join(tmpdir(), 'flakeid-'));
  #isOpen = Promise.resolve();
  #setOpen;
  #server = net.createServer(async (socket) => {
    if (this.#mode === 'refuses') return socket.destroy();
    if (this.#mode === 'holds') {
      this.#sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => this.#sockets.delete(socket));
      await this.#isOpen;
      if (socket.destroyed) return;
    }
    const url = new URL(connectionString);
    const path = url.searchParams.get('host');
    const port = url.searchParams.get('port') ?? (url.port || 5432);
    socket.unref();
    const upstream = net.connect(path ? { path: `${path}/.s.PGSQL.${port}` } : { host: url.hostname, port }).unref();
    for (const [one, other] of [[socket, upstream], [upstream, socket]]) {
      this.#sockets.add(one);
      one.on('data', (bytes) => this.#mode === 'open' && other.write(bytes));
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.on('error', () => undefined);
    }
  });

  /** The connection string of the way through the proxy. */
  get connectionString() {
    const url = new URL(connectionString);
    url.searchParams.set('host', this.#directory);
    url.searchParams.set('port', '5432');
    return url.href;
  }

  async start() {
    this.#server.unref(); // a test that fails is to end
    await new Promise((resolve) => this.#server.listen(join(this.#directory, '.s.PGSQL.5432'), resolve));
    return this;
  }

  /** Connections break, and new ones are refused. */
  refuse() {
    this.#mode = 'refuses';
    this.cut();
  }

  /** Connections break; new ones can be made. */
  cut() {
    for (const socket of this.#sockets) socket.destroy();
  }

  /** Connections break, and new ones wait until the server can be reached again. */
  hold() {
    this.refuse();
    this.#mode = 'holds';
    this.#isOpen = new Promise((resolve) => {
      this.#setOpen = resolve;
    });
  }

  /** How many connections there are, at either side. */
  get connections() {
    return this.#sockets.size;
  }

  /** Nothing goes through any more, and nobody is told. */
  swallow() {
    this.#mode = 'swallows';
  }

  /** The server can be reached again; by connections that are new, if something was lost on the way. */
  open() {
    if (this.#mode === 'swallows') this.cut();
    this.#mode = 'open';
    this.#setOpen?.();
  }

  stop() {
    this.refuse();
    this.#server.close();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
