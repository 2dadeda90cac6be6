// A node for the unique-ids workload of Maelstrom (github.com/jepsen-io/maelstrom, doc/protocol.md and doc/workloads.md):
// messages as lines of JSON on standard input and output. The database is that of PG* in the environment, or of
// DATABASE_URL; the generator that of FLAKEID_GENERATOR.
//
//   maelstrom test -w unique-ids --bin ./node --time-limit 30 --rate 1000 --node-count 3 --nemesis partition
//
// where ./node is a script that executes "node dist/test/maelstrom.js".

import { createInterface } from 'node:readline';

import { FlakeidError, Minter } from '@flakeid/client';

interface Message {
  src: string;
  dest: string;
  body: { type: string; msg_id?: number; node_id?: string };
}

/** Maelstrom's numbers of errors that are definite: the request was not done. */
const NOT_SUPPORTED = 10;
const TEMPORARILY_UNAVAILABLE = 11;

const ttl = Number(process.env['FLAKEID_TTL'] ?? 300) * 1000;
const { DATABASE_URL: connectionString, FLAKEID_GENERATOR: generator } = process.env;

let nodeId = '';
let minter: Minter | undefined;
let making: Promise<Minter> | undefined;

/** The minter; made at the first use, and again if that fails. */
async function theMinter(): Promise<Minter> {
  making ??= Minter.create({
    ttl,
    ...(connectionString !== undefined && { connectionString }),
    ...(generator !== undefined && { generator }),
    owner: nodeId,
    onEvent: (event) => process.stderr.write(`${event.type}\n`),
  });
  try {
    minter = await making;
    return minter;
  } catch (error) {
    making = undefined;
    throw error;
  }
}

async function answer({ body }: Message): Promise<object> {
  switch (body.type) {
    case 'init':
      nodeId = body.node_id ?? '';
      await theMinter();
      return { type: 'init_ok' };
    case 'generate':
      return { type: 'generate_ok', id: await (minter ?? await theMinter()).nextString() };
    default:
      return { type: 'error', code: NOT_SUPPORTED, text: `no messages of type ${body.type}` };
  }
}

async function handle(line: string): Promise<void> {
  const message: Message = JSON.parse(line);
  let body: object;
  try {
    body = await answer(message);
  } catch (error) {
    if (!(error instanceof FlakeidError)) throw error;
    body = { type: 'error', code: TEMPORARILY_UNAVAILABLE, text: `${error.name}: ${error.message}` };
  }
  const reply = { src: nodeId, dest: message.src, body: { ...body, in_reply_to: message.body.msg_id } };
  process.stdout.write(`${JSON.stringify(reply)}\n`);
}

createInterface({ input: process.stdin })
  .on('line', (line) => void handle(line))
  .on('close', () => void minter?.close());
