/*-------------------------------------------------------------------------
 *
 * generator.c
 *	  Generators as a session sees them.
 *
 * definition.c says what a generator is.  To look one up is to read catalogs, check
 * a privilege and open the horizon.  So a session does it once and keeps the
 * result until PostgreSQL announces a change: to the sequence, by relcache
 * invalidation (which ALTER, GRANT, DROP and CREATE EXTENSION cause), or to the
 * members of a role, by syscache invalidation.
 *
 * As nextval() does, minting takes a lock on the sequence, once in a
 * transaction, and keeps it to the end: so DROP SEQUENCE waits for those who
 * mint, and they learn of it when they lock the sequence the next time.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/transam.h"
#include "access/xact.h"
#include "common/hashfn.h"
#include "compat.h"
#include "layout/layout.h"
#include "layout/message.h"
#include "mint/definition.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/holders.h"
#include "mint/horizon.h"
#include "mint/relation_change.h"
#include "mint/restore.h"
#include "mint/shmem.h"
#include "mint/slot.h"
#include "mint/version.h"
#include "storage/lmgr.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

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

Generator	flake_builtin_generators[FLAKE_BUILTINS];
Generator  *flake_recent_generator = NULL;
Generator  *flake_recent_uuid_generator = NULL;

/* The other generators that this session has used, by their sequences. */
static HTAB *named_generators = NULL;

/* The table that was read to find shards attached. */
static Oid	checked_in = InvalidOid;

/* Raised by every invalidation, to notice one during a look-up. */
static uint64 invalidations = 0;

/* Calls visit for every generator that this session knows. */
static void
each_generator(void (*visit) (Generator *generator))
{
	HASH_SEQ_STATUS scan;
	Generator  *generator;

	for (int i = 0; i < FLAKE_BUILTINS; i++)
		visit(&flake_builtin_generators[i]);
	if (named_generators == NULL)
		return;
	hash_seq_init(&scan, named_generators);
	while ((generator = hash_seq_search(&scan)) != NULL)
		visit(generator);
}

static void
forget_catalogs(Generator *generator)
{
	generator->valid = false;
}

static void
forget_user(Generator *generator)
{
	generator->user = InvalidOid;
}

Generator *
flake_generator_known(Oid sequence)
{
	for (int i = 0; i < FLAKE_BUILTINS; i++)
	{
		if (flake_builtin_generators[i].sequence == sequence)
			return &flake_builtin_generators[i];
	}
	if (named_generators == NULL)
		return NULL;
	return hash_search(named_generators, &sequence, HASH_FIND, NULL);
}

static void
relation_changed(Oid relid)
{
	Generator  *generator;

	invalidations++;
	if (!OidIsValid(relid) || relid == checked_in)
		each_generator(forget_catalogs);
	else if ((generator = flake_generator_known(relid)) != NULL)
		forget_catalogs(generator);
}

static void
roles_changed(Datum arg, SysCacheIdentifier cacheid, uint32 hashvalue)
{
	each_generator(forget_user);
}

void
flake_generator_init(void)
{
	for (int i = 0; i < FLAKE_BUILTINS; i++)
		flake_builtin_generators[i].key = (Oid) i;
	flake_on_relation_change(relation_changed);
	CacheRegisterSyscacheCallback(AUTHOID, roles_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, roles_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, roles_changed, (Datum) 0);	/* pg_database_owner */
}

void
flake_generators_forget(void)
{
	each_generator(forget_catalogs);
}

/*
 * ERROR in a parallel worker, which always comes here before it mints or asks.
 *
 * A worker's locks end with it, and not with the transaction, so nobody could
 * wait for the rows that its ids are in.  Nor is anything gained by it: each id
 * has to go through the leader anyway.
 */
static void
refuse_in_worker(void)
{
	if (IsParallelWorker())
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TRANSACTION_STATE),
				 errmsg("cannot use a generator in a parallel worker"),
				 errdetail("The lock that tells others of the transaction would end with the worker."),
				 errhint("A function that mints ids, or asks what is settled, must be PARALLEL RESTRICTED or PARALLEL UNSAFE.")));
}

/* Locks the sequence until the end of the transaction; see nextval(). */
static void
lock_sequence(Generator *generator)
{
	ResourceOwner owner = CurrentResourceOwner;

	/* Not of a subtransaction, or its end would release the lock. */
	CurrentResourceOwner = TopTransactionResourceOwner;
	LockRelationOid(generator->sequence, RowExclusiveLock);
	CurrentResourceOwner = owner;
	generator->locked_lxid = flake_current_lxid();
}

/* Finds the sequence of a generator of the extension's own, and locks it. */
static void
find_and_lock_builtin(Generator *generator, Oid function)
{
	for (;;)
	{
		uint64		before = invalidations;
		Oid			sequence = flake_generator_sequence(generator->key, function);

		if (!OidIsValid(sequence))
			ereport(ERROR,
					(errcode(ERRCODE_UNDEFINED_TABLE),
					 errmsg("sequence \"%s\" does not exist",
							flake_generator_builtin_name(generator->key)),
					 errdetail("It is a generator of extension \"flakeid\"."),
					 errhint("Create the extension again.")));
		if (sequence == generator->sequence &&
			generator->locked_lxid == flake_current_lxid())
			break;				/* nobody can change what the name means */

		generator->sequence = sequence;
		/* Should this fail, there is no lock on the new one. */
		generator->locked_lxid = InvalidLocalTransactionId;
		generator->lxid = InvalidLocalTransactionId;
		lock_sequence(generator);
		if (before == invalidations)
			break;				/* the name still meant the same */
	}
}

/* ERROR unless the current user may mint from the generator. */
static void
check_minter(Generator *generator)
{
	Oid			user = GetUserId();

	flake_generator_check_privilege(generator->sequence,
									flake_generator_mint_privileges(generator->key));
	generator->user = user;
}

/* ERROR unless the current user may ask what the generator has handed out. */
static void
check_reader(const Generator *generator)
{
	flake_generator_check_privilege(generator->sequence, FLAKE_READ_PRIVILEGES);
}

/* Fills a generator from the catalogs. */
static void
look_up(Generator *generator, Oid function, bool to_read)
{
	uint64		before;

	if (generator->key < FLAKE_BUILTINS)
		find_and_lock_builtin(generator, function);

	before = invalidations;
	(void) flake_generator_layout(generator->sequence, function, false,
								  &generator->layout);
	generator->user = InvalidOid;
	if (to_read)
		check_reader(generator);
	else
		check_minter(generator);
	if (generator->key >= FLAKE_BUILTINS)
		flake_generator_check_label(generator->sequence);

	/* The slots of a sequence that was dropped and had this OID are gone. */
	if (generator->slots == NULL)
		generator->slots = slot_cache_create(TopMemoryContext, 16, NULL);
	slot_cache_reset(generator->slots);
	generator->recent.slot = NULL;

	flake_horizon_open(&generator->horizon, generator->key,
					   generator->sequence, &generator->layout, !to_read);

	/*
	 * After that: what a restore has set is now where no ALTER SEQUENCE
	 * reaches.
	 */
	flake_generator_check_sequence(generator->sequence, &generator->layout);
	if (!flake_layout_has_time(&generator->layout))
		flake_restore_warn(&generator->horizon, FLAKE_RESTORED_NUMBERS, PAGE_OR_ERROR);
	flake_check_version();
	generator->valid = before == invalidations;
}

/* Makes a generator ready for all but minting. */
static void
make_ready(Generator *generator, Oid function, bool to_read)
{
	refuse_in_worker();

	/* Taking the lock also brings the news of changes to the sequence. */
	if (OidIsValid(generator->sequence) &&
		generator->locked_lxid != flake_current_lxid())
		lock_sequence(generator);

	/* Reading does not begin a generator that has never been used. */
	if (!generator->valid ||
		(!to_read && flake_horizon_floor(&generator->horizon) == FLAKE_PACKED_NONE))
		look_up(generator, function, to_read);
	if (to_read)
		check_reader(generator);
	else if (generator->user != GetUserId())
		check_minter(generator);
}

/*
 * S1.  A layout without time has a bound for each shard: the slots register, when
 * they are found.
 */
static void
register_minting(Generator *generator)
{
	int			entry;

	generator->lxid = flake_current_lxid();
	if (!flake_layout_has_time(&generator->layout))
	{
		generator->recent.slot = NULL;
		return;
	}
	entry = flake_holder_begin(generator->key, FLAKE_EVERY_SHARD);
	if (entry < 0)
		return;

	/* Its ids need not be held back further than they can reach. */
	flake_horizon_follow_clock(&generator->horizon, GetCurrentStatementStartTimestamp());
	flake_holder_set(entry, flake_horizon_floor(&generator->horizon));
}

static void
register_slot(const Generator *generator)
{
	int			entry = flake_holder_begin(generator->key, generator->recent.shard);

	if (entry >= 0)
		flake_holder_set(entry, Max(flake_slot_last(generator->recent.slot),
									flake_horizon_floor(&generator->horizon)));
}

void
flake_generator_prepare(Generator *generator, Oid function)
{
	make_ready(generator, function, false);
	if (generator->lxid != flake_current_lxid())
		register_minting(generator);
}

/* Frees what must be looked up again anyway, dropped generators among it. */
static void
forget_invalid_generators(void)
{
	HASH_SEQ_STATUS scan;
	Generator  *generator;

	hash_seq_init(&scan, named_generators);
	while ((generator = hash_seq_search(&scan)) != NULL)
	{
		if (generator->valid)
			continue;
		if (generator->slots != NULL)
			slot_cache_destroy(generator->slots);
		hash_search(named_generators, &generator->sequence, HASH_REMOVE, NULL);
	}
}

/* The generator that a sequence is, which need not be valid. */
static Generator *
find(Oid sequence, Oid function)
{
	Generator  *generator = flake_generator_known(sequence);
	Oid			key;

	if (generator != NULL &&
		(generator->valid || generator == flake_recent_generator ||
		 generator == flake_recent_uuid_generator))
		return generator;
	key = flake_generator_key(sequence, function);
	if (key != sequence)
		return &flake_builtin_generators[key];
	if (sequence < FirstNormalObjectId)
		flake_no_such_generator(sequence);	/* nor is its OID one's key */

	if (named_generators == NULL)
	{
		HASHCTL		control;

		control.keysize = sizeof(Oid);
		control.entrysize = sizeof(Generator);
		control.hcxt = TopMemoryContext;
		named_generators = hash_create("flakeid generators", 16, &control,
									   HASH_ELEM | HASH_BLOBS | HASH_CONTEXT);
	}
	flake_recent_generator = NULL;
	flake_recent_uuid_generator = NULL;
	forget_invalid_generators();

	generator = hash_search(named_generators, &sequence, HASH_ENTER, NULL);
	memset(generator, 0, sizeof(Generator));
	generator->sequence = sequence;
	generator->key = sequence;
	return generator;
}

/* Keeps it for the fast path of its kind. */
static void
remember(Generator *generator)
{
	bool		is_uuid = flake_layout_is_uuid(&generator->layout);
	Generator **other = is_uuid ? &flake_recent_generator : &flake_recent_uuid_generator;

	if (*other == generator)
		*other = NULL;			/* its OID has been another generator's */
	*(is_uuid ? &flake_recent_uuid_generator : &flake_recent_generator) = generator;
}

/* ERROR: ids of the generator are of the other kind. */
static void
refuse_kind(const Generator *generator)
{
	if (flake_layout_is_uuid(&generator->layout))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("ids of generator \"%s\" are not of type bigint",
						get_rel_name(generator->sequence)),
				 errhint("Use flake_uuidv7().")));
	ereport(ERROR,
			(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
			 errmsg("ids of generator \"%s\" are not UUIDs of version 7",
					get_rel_name(generator->sequence)),
			 errhint("Use a generator whose layout is \"uuidv7\".")));
}

void
flake_generator_find_ready(Oid sequence, Oid function, bool is_uuid)
{
	Generator  *generator = find(sequence, function);

	if (!flake_generator_is_ready(generator))
		flake_generator_prepare(generator, function);
	remember(generator);
	if (flake_layout_is_uuid(&generator->layout) != is_uuid)
		refuse_kind(generator);
}

static Generator *
get_without_minting(Oid sequence, Oid function, bool to_read)
{
	Generator  *generator = find(sequence, function);

	make_ready(generator, function, to_read);
	remember(generator);
	return generator;
}

Generator *
flake_generator_look(Oid sequence, Oid function)
{
	return get_without_minting(sequence, function, false);
}

Generator *
flake_generator_read(Oid sequence, Oid function)
{
	return get_without_minting(sequence, function, true);
}

void
flake_generator_check_shard(const FlakeLayout *layout, int32 shard)
{
	if (shard < 0 || shard > flake_layout_max_shard(layout))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("shard %d is out of range", shard),
				 errdetail("Layout \"%s\" has shards 0 to %d.",
						   flake_layout_name(layout),
						   flake_layout_max_shard(layout)),
				 errhint("Map more keys to one shard, for example with key & %d.",
						 flake_layout_max_shard(layout))));
}

void
flake_generator_find_slot(Generator *generator, int32 shard)
{
	GeneratorSlot *entry;
	bool		found;

	flake_generator_check_shard(&generator->layout, shard);
	entry = slot_cache_lookup(generator->slots, shard);
	if (entry == NULL)
	{
		/* What can fail comes before the entry. */
		Slot	   *slot = flake_shmem_slot(generator->key, shard);

		entry = slot_cache_insert(generator->slots, shard, &found);
		entry->checked = false;
		entry->slot = slot;
		entry->image = flake_layout_shard_image(&generator->layout, shard);
	}
	generator->recent = *entry;
	if (!flake_layout_has_time(&generator->layout) &&
		generator->lxid == flake_current_lxid())
		register_slot(generator);
}

void
flake_generator_mark_checked(Generator *generator, Oid table)
{
	if (OidIsValid(table))
		checked_in = table;
	generator->recent.checked = true;
	slot_cache_lookup(generator->slots, generator->recent.shard)->checked = true;
}
