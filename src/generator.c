/*-------------------------------------------------------------------------
 *
 * generator.c
 *	  Generators as a session sees them.
 *
 * A generator is a sequence with a layout.  Looking it up means reading
 * catalogs, checking a privilege and opening the horizon, so a session does it
 * once and keeps the result until PostgreSQL announces a change: to the
 * sequence, by relcache invalidation (which ALTER, GRANT, DROP and CREATE
 * EXTENSION cause), or to who is a member of which role, by syscache
 * invalidation.  Such messages arrive at the latest when the next transaction
 * begins.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "catalog/pg_class.h"
#include "common/hashfn.h"
#include "generator.h"
#include "utils/acl.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"

/* How far ahead of what was handed out the horizon is moved. */
#define HORIZON_WINDOW_US	(5 * USECS_PER_SEC)

#define DEFAULT_SEQUENCE	"flake_default"

#define SH_PREFIX slot_cache
#define SH_ELEMENT_TYPE GeneratorSlot
#define SH_KEY_TYPE int32
#define SH_KEY shard
#define SH_HASH_KEY(tb, key) murmurhash32((uint32) (key))
#define SH_EQUAL(tb, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

Generator	flake_default_generator;

/* Whether that is as the catalogs have it. */
bool		flake_default_generator_valid = false;

/* Raised by every invalidation, to notice one during a look-up. */
static uint64 invalidations = 0;

static void
relation_changed(Datum arg, Oid relid)
{
	if (!OidIsValid(relid) || relid == flake_default_generator.sequence)
	{
		flake_default_generator_valid = false;
		invalidations++;
	}
}

static void
roles_changed(Datum arg, SysCacheIdentifier cacheid, uint32 hashvalue)
{
	flake_default_generator.user = InvalidOid;
}

void
flake_generator_init(void)
{
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, roles_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, roles_changed, (Datum) 0);
}

/* ERROR unless the current user may mint from the generator. */
static void
check_usage(Generator *generator)
{
	Oid			user = GetUserId();
	AclResult	result = pg_class_aclcheck(generator->sequence, user, ACL_USAGE);

	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_SEQUENCE,
					   get_rel_name(generator->sequence));
	generator->user = user;
}

/* Fills flake_default_generator from the catalogs. */
static void
look_up_default(Oid function)
{
	uint64		before = invalidations;
	Oid			schema = get_func_namespace(function);
	Oid			sequence = get_relname_relid(DEFAULT_SEQUENCE, schema);
	const FlakeLayout *layout = &flake_layout_instagram;

	if (!OidIsValid(sequence))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_TABLE),
				 errmsg("sequence \"%s\" does not exist", DEFAULT_SEQUENCE),
				 errdetail("It is the default generator of extension \"flakeid\"."),
				 errhint("Create the extension again.")));

	flake_default_generator.sequence = sequence;
	flake_default_generator.layout = layout;
	check_usage(&flake_default_generator);
	flake_horizon_open(&flake_default_generator.horizon,
					   FLAKE_DEFAULT_GENERATOR, sequence,
					   flake_layout_pack(layout,
										 HORIZON_WINDOW_US / layout->unit_us,
										 0));
	flake_default_generator_valid = before == invalidations;
}

void
flake_generator_prepare_default(Oid function)
{
	if (!flake_default_generator_valid)
		look_up_default(function);
	if (flake_default_generator.user != GetUserId())
		check_usage(&flake_default_generator);
}

/* Makes generator->recent the slot of a shard. */
void
flake_generator_find_slot(Generator *generator, int32 shard)
{
	GeneratorSlot *entry;
	bool		found;

	if (shard < 0 || shard > flake_layout_max_shard(generator->layout))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("shard %d is out of range", shard),
				 errdetail("Layout \"%s\" has shards 0 to %d.",
						   generator->layout->name,
						   flake_layout_max_shard(generator->layout)),
				 errhint("Map more keys to one shard, for example with key & %d.",
						 flake_layout_max_shard(generator->layout))));

	if (generator->slots == NULL)
		generator->slots = slot_cache_create(TopMemoryContext, 16, NULL);

	entry = slot_cache_lookup(generator->slots, shard);
	if (entry == NULL)
	{
		/* What can fail comes before the entry. */
		Slot	   *slot = flake_shmem_slot(FLAKE_DEFAULT_GENERATOR, shard);

		entry = slot_cache_insert(generator->slots, shard, &found);
		entry->slot = slot;
		entry->image = flake_layout_shard_image(generator->layout, shard);
	}
	generator->recent = *entry;
}
