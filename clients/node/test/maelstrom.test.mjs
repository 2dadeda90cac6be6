// The unique-ids workload of Maelstrom, with partitions and nodes that are killed: no id is answered twice, and a node
// that is cut off from the database goes on to the end of its lease. Maelstrom itself is a jar that no package has; what
// it does of it is done here.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

import { Proxy, connectionString, generator, sql, until } from './database.mjs';

const program = fileURLToPath(new URL('../dist/test/maelstrom.js', import.meta.url));
const TTL = 3;

/** A node and its client, which sends the next message when it has the answer. */
class Node {
  ids = [];
  errors = [];
  #messages = 0;
  #waiting = new Map();

  constructor(id, proxy, generatorName) {
    this.id = id;
    this.proxy = proxy;
    this.generatorName = generatorName;
  }

  async start() {
    this.child = spawn(process.execPath, [program], {
      env: {
        ...process.env, DATABASE_URL: this.proxy.connectionString, FLAKEID_GENERATOR: this.generatorName, FLAKEID_TTL: TTL,
      },
      stdio: ['pipe', 'pipe', process.env.DBG ? 'inherit' : 'ignore'],
    });
    this.child.stdin.on('error', () => undefined);
    createInterface({ input: this.child.stdout }).on('line', (line) => {
      const message = JSON.parse(line);
      assert.equal(message.dest, 'c1');
      this.#waiting.get(message.body.in_reply_to)?.(message);
    });
    this.child.on('exit', () => {
      for (const resolve of this.#waiting.values()) resolve(undefined);
    });
    const { src, body } = await this.ask({ type: 'init', node_id: this.id, node_ids: ['n1', 'n2', 'n3'] });
    assert.equal(src, this.id);
    assert.equal(body.type, 'init_ok');
    this.generating = this.generate(this.child);
  }

  /** Sends a message: the answer, or undefined if the node dies first. */
  async ask(body) {
    const msg_id = ++this.#messages;
    const answer = new Promise((resolve) => this.#waiting.set(msg_id, resolve));
    this.child.stdin.write(`${JSON.stringify({ src: 'c1', dest: this.id, body: { ...body, msg_id } })}\n`);
    const message = await answer;
    this.#waiting.delete(msg_id);
    return message;
  }

  async generate(child) {
    while (child.exitCode === null && child.signalCode === null && !child.stdin.writableEnded) {
      const body = (await this.ask({ type: 'generate' }))?.body;
      if (body?.type === 'generate_ok') this.ids.push(body.id);
      else if (body) this.errors.push(body);
      await new Promise((resolve) => setTimeout(resolve, 2)); // it is not the speed that is tested
    }
  }

  async end(signal) {
    const exited = once(this.child, 'exit');
    if (signal) this.child.kill(signal);
    else this.child.stdin.end();
    await exited;
    await this.generating;
  }
}

test('unique-ids', { skip: connectionString ? false : 'there is no DATABASE_URL' }, async (t) => {
  await sql('CREATE EXTENSION IF NOT EXISTS flakeid');
  const name = await generator('unique_ids', 'ts:41 shard:8 seq:10 epoch=2026-01-01');
  const nodes = [];
  for (const id of ['n1', 'n2', 'n3']) nodes.push(new Node(id, await new Proxy().start(), name));
  t.after(() => nodes.forEach(({ child }) => child?.kill('SIGKILL')));
  await Promise.all(nodes.map((node) => node.start()));
  const [one, two, three] = nodes;
  const more = (node, count = 100) => {
    const wanted = node.ids.length + count;
    return until(() => node.ids.length >= wanted, `${node.id} answers`);
  };

  const odd = await one.ask({ type: 'echo' });
  assert.equal(odd.body.code, 10, 'other messages are not supported');

  await Promise.all(nodes.map((node) => more(node)));
  two.proxy.refuse();
  three.proxy.swallow();
  await Promise.all([more(two, 10), more(three, 10)]); // the leases are short, and the machine may be busy
  assert.deepEqual([two.errors, three.errors], [[], []], 'cut off from the database: ids to the end of the lease');
  for (let i = 0; i < 3; i++) {
    await one.end('SIGKILL');
    await one.start();
    await more(one);
  }
  await until(() => two.errors.length > 0 && three.errors.length > 0, 'the leases of those cut off are over');
  assert(two.errors.every(({ code, text }) => code === 11 && text.startsWith('LeaseExpired')));
  two.proxy.open();
  three.proxy.open();
  await Promise.all([more(two), more(three)]);
  await Promise.all(nodes.map((node) => node.end()));

  const ids = nodes.flatMap((node) => node.ids);
  assert.equal(new Set(ids).size, ids.length, `no id of ${ids.length} is answered twice`);
  const rows = await sql(`SELECT count(*) AS wrong FROM unnest($1::bigint[]) AS id
    WHERE flake_shard(id, $2) NOT IN (SELECT shard FROM flake_leases WHERE generator = $3::regclass)`,
  [ids, 'ts:41 shard:8 seq:10 epoch=2026-01-01', name]);
  assert.equal(rows[0].wrong, '0', 'all are of shards that were leased');
  for (const { proxy } of nodes) proxy.stop();
});
