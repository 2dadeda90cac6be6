// @flakeid/client: 64-bit time-ordered ids, minted in the process's own memory.

export * from './errors.js';
export type { Id, Time } from './ids.js';
export { Layout, type Decoded } from './layout.js';
export { Minter, type Lease } from './minter.js';
export type { MinterEvent, MinterOptions, PrefetchOptions } from './options.js';
export { Prefetch } from './prefetch.js';
export { presets } from './presets.js';
export { seal, sealText, unseal, unsealText } from './seal.js';
export type { ConnectionOptions } from './server.js';
export { shardFor, shardForUuid } from './shard-for.js';
export { fromText, toText, type Base } from './text.js';
export { uuidv7Decode } from './uuidv7.js';
