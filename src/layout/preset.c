/*-------------------------------------------------------------------------
 *
 * preset.c
 *	  Published layouts by name.
 *
 * Bits, epochs and the start of the sequence are as the named source has them.
 * Where a scheme leaves the epoch to its user (snowcast) it is the one of its
 * documentation's example.  One is flakeid's own.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "layout/layout.h"
#include "layout/layout_text.h"
#include "layout/preset.h"

const FlakePreset flake_presets[] =
{
	{
		/* The sequence is nextval() % 1024, which goes on from tick to tick. */
		"instagram",
		"ts:41 shard:13 seq:10 epoch=1314220021721 unit=1ms start=continue",
		"Sharding & IDs at Instagram, Instagram Engineering, 2011"
	},
	{
		"snowflake",
		"ts:41 datacenter:5 worker:5 seq:12 epoch=1288834974657 unit=1ms start=zero",
		"Twitter Snowflake, github.com/twitter-archive/snowflake, IdWorker.scala"
	},
	{
		"hazelcast",
		"ts:41 seq:6 node:16 epoch=2018-01-01 unit=1ms start=zero",
		"Hazelcast FlakeIdGenerator, github.com/hazelcast/hazelcast, FlakeIdGeneratorConfig.java"
	},
	{
		"snowcast",
		"ts:41 node:13 seq:10 epoch=2014-01-01 unit=1ms start=zero",
		"snowcast, github.com/noctarius/snowcast, README.md"
	},
	{
		"region",
		"ts:41 region:3 worker:10 seq:10 epoch=1288834974657 unit=1ms start=random:10",
		"the region variant of Snowflake, known as CustomUUID.java"
	},
	{
		/* midnight in Beijing, 1463673600 s */
		"baidu",
		"ts:28 worker:22 seq:13 epoch=2016-05-19T16:00:00Z unit=1s start=zero",
		"Baidu uid-generator, github.com/baidu/uid-generator, DefaultUidGenerator.java"
	},
	{
		"leaf",
		"ts:41 worker:10 seq:12 epoch=1288834974657 unit=1ms start=random:100",
		"Meituan Leaf, snowflake mode, github.com/Meituan-Dianping/Leaf, SnowflakeIDGenImpl.java"
	},
	{
		/*
		 * midnight in New York, 946702800 s; all bits below the time are
		 * random
		 */
		"simpleflake",
		"ts:41 seq:23 epoch=2000-01-01T05:00:00Z unit=1ms start=random",
		"Simpleflake, github.com/SawdustSoftware/simpleflake, simpleflake.py"
	},
	{
		"sonyflake",
		"ts:39 seq:8 machine:16 epoch=2014-09-01 unit=10ms start=zero",
		"Sonyflake 1, github.com/sony/sonyflake, sonyflake.go"
	},
	{
		"discord",
		"ts:42 worker:5 process:5 seq:12 epoch=2015-01-01 unit=1ms start=zero",
		"Discord API reference, Snowflakes"
	},
	{
		/* the order of the fields since October 2023 */
		"pgedge",
		"ts:41 node:10 seq:12 epoch=2023-01-01 unit=1ms start=zero",
		"pgEdge snowflake, github.com/pgEdge/snowflake, snowflake.c"
	},
	{
		/*
		 * The tail is a hash of the millisecond and a sequence that counts
		 * on.
		 */
		"mastodon",
		"ts:48 seq:16 epoch=1970-01-01 unit=1ms start=random",
		"Mastodon, github.com/mastodon/mastodon, lib/mastodon/snowflake.rb"
	},
	{
		/*
		 * 529111339634 ms after 2000-01-01.  The sequence is nextval() %
		 * 16383, which goes on from tick to tick.
		 */
		"pgactive",
		"ts:40 node:10 seq:14 epoch=2016-10-06T23:22:19.634Z unit=1ms start=continue",
		"pgactive, github.com/aws/pgactive, src/pgactive_seq.c"
	},
	{
		"tsid",
		"ts:42 node:10 seq:12 epoch=2020-01-01 unit=1ms start=random",
		"TSID Creator, github.com/f4b6a3/tsid-creator, TsidFactory.java"
	},
	{
		"clickhouse",
		"ts:41 machine:10 seq:12 epoch=1970-01-01 unit=1ms start=zero",
		"ClickHouse generateSnowflakeID(), github.com/ClickHouse/ClickHouse, generateSnowflakeID.cpp"
	},
	{
		/*
		 * 48 bits of 10 us, and no sequence: the last of them is the sequence
		 * here, which gives the same ids.
		 */
		"cockroach",
		"ts:47 seq:1 node:15 epoch=2015-01-01 unit=20us start=zero",
		"CockroachDB unique_rowid(), github.com/cockroachdb/cockroach, GenerateUniqueInt()"
	},
	{
		/*
		 * 53 bits, as many as a double holds.  The epoch is before anything
		 * was minted with it, so that no id is negative.
		 */
		"js53",
		"ts:40 shard:5 seq:8 epoch=2024-01-01 unit=10ms start=continue",
		"flakeid: ids below 2^53, exact as JavaScript numbers"
	},
	{
		/* what of rand_a and rand_b has which meaning is flakeid's choice */
		"uuidv7",
		"ts:48 seq:12 shard:13 form=uuidv7 epoch=1970-01-01 unit=1ms start=zero",
		"UUID version 7, RFC 9562, sections 5.7, 6.2 (method 1) and 6.4"
	},
	{
		"segment",
		"seq:63 block=10000",
		"Hazelcast IdGenerator, Leaf segment mode, Redis INCR"
	},
	{
		"ticket",
		"seq:62 server:1 block=10000",
		"Ticket Servers, Flickr, 2010"
	},
	{NULL, NULL, NULL}
};

const FlakePreset *
flake_preset_find(const char *name)
{
	for (const FlakePreset *preset = flake_presets; preset->name != NULL; preset++)
	{
		if (strcmp(preset->name, name) == 0)
			return preset;
	}
	return NULL;
}

FlakeLayout
flake_preset_layout(const FlakePreset *preset)
{
	FlakeLayout layout;
	FlakeLayoutError error;

	if (!flake_layout_parse(preset->text, &layout, &error))
		Assert(false);			/* sql/preset.sql reads them all */
	return layout;
}

const char *
flake_preset_name(const FlakeLayout *layout)
{
	for (const FlakePreset *preset = flake_presets; preset->name != NULL; preset++)
	{
		FlakeLayout candidate = flake_preset_layout(preset);

		if (memcmp(&candidate, layout, sizeof(FlakeLayout)) == 0)
			return preset->name;
	}
	return NULL;
}
