// Rows per second of an application that inserts a parent and ten children, as lines "name<TAB>rows per second". The
// database is that of PG*, with the tables of setup.sql. The contenders are those of rows.py.
//
//   node bench/clients/rows.mjs [SECONDS]

import { Minter } from '@flakeid/client';
import pg from 'pg';

const seconds = Number(process.argv[2] ?? 1);
const numbers = Array.from({ length: 10 }, (_, i) => i + 1);

// With it, a query is sent while those before it are under way. Each contender waits where it has to.
const client = new pg.Client({ pipeline: true });
await client.connect();
const ids = await Minter.create();

/** A prepared statement; its name is its text. */
const query = (text, values) => client.query({ name: text.replace(/\s+/g, ' ').slice(0, 63), text, values });

/** One round trip: a pipeline. */
async function idsKnown() {
  const [parent, ...children] = await ids.nextN(1 + numbers.length);
  await Promise.all([
    client.query('BEGIN'),
    query('INSERT INTO bench.parent (id, name) VALUES ($1, $2)', [parent, 'summer']),
    query(`INSERT INTO bench.child (id, parent_id, n)
           SELECT c.id, $1, c.n FROM unnest($2::bigint[], $3::int[]) AS c (id, n)`, [parent, children, numbers]),
    client.query('COMMIT'),
  ]);
}

async function insertParent() {
  const { rows } = await query('INSERT INTO bench.parent (name) VALUES ($1) RETURNING id', ['summer']);
  return rows[0].id;
}

const insertChildren = (parent) => query(
  'INSERT INTO bench.child (parent_id, n) SELECT $1, n FROM unnest($2::int[]) AS n', [parent, numbers]);

/** Four round trips: BEGIN, the parent, the children, COMMIT. */
async function oneTransaction() {
  await client.query('BEGIN');
  await insertChildren(await insertParent());
  await client.query('COMMIT');
}

/** Two round trips: BEGIN with the parent, the children with COMMIT. */
async function pipelined() {
  const [, parent] = await Promise.all([client.query('BEGIN'), insertParent()]);
  await Promise.all([insertChildren(parent), client.query('COMMIT')]);
}

/** Two round trips. */
const twoTransactions = async () => insertChildren(await insertParent());

/** One round trip. */
const oneStatement = () => query(
  `WITH p AS (INSERT INTO bench.parent (name) VALUES ($1) RETURNING id)
   INSERT INTO bench.child (parent_id, n) SELECT p.id, n FROM p, unnest($2::int[]) AS n`, ['summer', numbers]);

/** Works for a while, after some rounds for preparing the statements. */
async function measure(name, work, rows) {
  for (let i = 0; i < 5; i++) await work();
  let count = 0;
  const start = performance.now();
  let now = start;
  for (; now < start + seconds * 1000; now = performance.now()) {
    await work();
    count += rows;
  }
  console.log(`${name}\t${Math.round(count * 1000 / (now - start))}`);
}

await measure('ids known, one batch', idsKnown, 11);
await measure('RETURNING, one transaction', oneTransaction, 11);
await measure('RETURNING, pipelined', pipelined, 11);
await measure('RETURNING, two transactions', twoTransactions, 11);
await measure('RETURNING in WITH, one statement', oneStatement, 11);
await measure('SELECT 1', () => client.query('SELECT 1'), 1);
await Promise.all([ids.close(), client.end()]);
