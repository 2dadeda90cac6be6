// Published layouts by name, as the view flake_presets has them; src/layout/preset.c says where each is from.

/** The texts of the layouts that have a name. */
export const presets: Readonly<Record<string, string>> = Object.freeze({
  instagram: 'ts:41 shard:13 seq:10 epoch=1314220021721 unit=1ms start=continue',
  snowflake: 'ts:41 datacenter:5 worker:5 seq:12 epoch=1288834974657 unit=1ms start=zero',
  hazelcast: 'ts:41 seq:6 node:16 epoch=2018-01-01 unit=1ms start=zero',
  snowcast: 'ts:41 node:13 seq:10 epoch=2014-01-01 unit=1ms start=zero',
  region: 'ts:41 region:3 worker:10 seq:10 epoch=1288834974657 unit=1ms start=random:10',
  baidu: 'ts:28 worker:22 seq:13 epoch=2016-05-19T16:00:00Z unit=1s start=zero',
  leaf: 'ts:41 worker:10 seq:12 epoch=1288834974657 unit=1ms start=random:100',
  simpleflake: 'ts:41 seq:23 epoch=2000-01-01T05:00:00Z unit=1ms start=random',
  sonyflake: 'ts:39 seq:8 machine:16 epoch=2014-09-01 unit=10ms start=zero',
  discord: 'ts:42 worker:5 process:5 seq:12 epoch=2015-01-01 unit=1ms start=zero',
  pgedge: 'ts:41 node:10 seq:12 epoch=2023-01-01 unit=1ms start=zero',
  mastodon: 'ts:48 seq:16 epoch=1970-01-01 unit=1ms start=random',
  pgactive: 'ts:40 node:10 seq:14 epoch=2016-10-06T23:22:19.634Z unit=1ms start=continue',
  tsid: 'ts:42 node:10 seq:12 epoch=2020-01-01 unit=1ms start=random',
  clickhouse: 'ts:41 machine:10 seq:12 epoch=1970-01-01 unit=1ms start=zero',
  cockroach: 'ts:47 seq:1 node:15 epoch=2015-01-01 unit=20us start=zero',
  js53: 'ts:40 shard:5 seq:8 epoch=2024-01-01 unit=10ms start=continue',
  uuidv7: 'ts:48 seq:12 shard:13 form=uuidv7 epoch=1970-01-01 unit=1ms start=zero',
  segment: 'seq:63 block=10000',
  ticket: 'seq:62 server:1 block=10000',
});
