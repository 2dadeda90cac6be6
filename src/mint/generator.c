/*-------------------------------------------------------------------------
 *
 * generator.c
 *	  Generators as a session sees them.
 *
 * A generator is a sequence with a layout.  The sequence keeps the horizon
 * (see horizon.c).  The layout is a security label of the sequence, because
 * that is dropped, dumped and upgraded with it, and cannot be set without our
 * consent (see admin.c).  The extension's own generators have theirs built in.
 *
 * Looking a generator up means reading catalogs, checking a privilege and
 * opening the horizon, so a session does it once and keeps the result until
 * PostgreSQL announces a change: to the sequence, by relcache invalidation
 * (which ALTER, GRANT, DROP and CREATE EXTENSION cause), or to who is a member
 * of which role, by syscache invalidation.
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

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/parallel.h"
#include "access/relation.h"
#include "access/stratnum.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "catalog/pg_extension.h"
#include "catalog/pg_seclabel.h"
#include "commands/seclabel.h"
#include "commands/sequence.h"
#include "common/hashfn.h"
#include "layout/layout.h"
#include "layout/layout_text.h"
#include "layout/message.h"
#include "mint/generator.h"
#include "mint/horizon.h"
#include "mint/shmem.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/fmgroids.h"
#include "utils/hsearch.h"
#include "utils/inval.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/resowner.h"
#include "utils/syscache.h"

/*
 * The extension's own generators.  UUIDs and ObjectIDs have no shard: what
 * stands there is not minted but added to the id (see wide.c).
 */
static const struct
{
	const char *sequence;
	const char *layout;
}			builtins[FLAKE_BUILTINS] =

{
	[FLAKE_DEFAULT] = {
		"flake_default",
		"ts:41 shard:13 seq:10 epoch=1314220021721 unit=1ms start=continue"
	},
	[FLAKE_UUID] = {
		"flake_default_uuid",
		"ts:47 seq:16 epoch=1970-01-01 unit=1ms start=zero"
	},
	[FLAKE_OBJECTID] = {
		"flake_default_objectid",
		"ts:32 seq:24 epoch=1970-01-01 unit=1s start=continue"
	},
};

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

/* The other generators that this session has used, by their sequences. */
static HTAB *named_generators = NULL;

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

/* The one that a sequence is, as far as this session knows; or NULL. */
static Generator *
known_generator(Oid sequence)
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
relation_changed(Datum arg, Oid relid)
{
	Generator  *generator;

	invalidations++;
	if (!OidIsValid(relid))
		each_generator(forget_catalogs);
	else if ((generator = known_generator(relid)) != NULL)
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
	CacheRegisterRelcacheCallback(relation_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHOID, roles_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(AUTHMEMROLEMEM, roles_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(DATABASEOID, roles_changed, (Datum) 0);	/* pg_database_owner */
}

/* What was not checked while it was off is when it is on. */
void
flake_assign_require_attach(bool value, void *extra)
{
	each_generator(forget_catalogs);
}

Oid
flake_generator_sequence(Oid key, Oid function)
{
	if (key >= FLAKE_BUILTINS)
		return key;
	return get_relname_relid(builtins[key].sequence,
							 get_func_namespace(function));
}

Oid
flake_generator_key(Oid sequence, Oid function)
{
	for (Oid key = 0; key < FLAKE_BUILTINS; key++)
	{
		if (flake_generator_sequence(key, function) == sequence)
			return key;
	}
	return sequence;
}

static void
no_such_generator(Oid sequence)
{
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_TABLE),
			 errmsg("generator with OID %u does not exist", sequence),
			 errdetail("Its sequence has been dropped.")));
}

/* Why a relation is not a generator. */
static const char *
not_a_generator_detail(Oid relid)
{
	if (get_rel_relkind(relid) != RELKIND_SEQUENCE)
		return "It is not a sequence.";
	if (get_rel_persistence(relid) != RELPERSISTENCE_PERMANENT)
		return "A temporary or unlogged sequence forgets in a crash what was handed out.";
	return "It is an ordinary sequence.";
}

/* The text of the layout that a relation has as a generator, or NULL. */
static const char *
layout_text(Oid relid, Oid key)
{
	ObjectAddress address;

	if (get_rel_relkind(relid) != RELKIND_SEQUENCE ||
		get_rel_persistence(relid) != RELPERSISTENCE_PERMANENT)
		return NULL;
	if (key < FLAKE_BUILTINS)
		return builtins[key].layout;
	ObjectAddressSet(address, RelationRelationId, relid);
	return GetSecurityLabel(&address, FLAKE_LABEL_PROVIDER);
}

bool
flake_generator_layout(Oid sequence, Oid function, bool missing_ok,
					   FlakeLayout *layout)
{
	const char *text = NULL;
	const char *name = get_rel_name(sequence);
	FlakeLayoutError error;

	if (name != NULL)
		text = layout_text(sequence, flake_generator_key(sequence, function));

	if (text == NULL && missing_ok)
		return false;

	if (name == NULL)
		no_such_generator(sequence);
	if (text == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is not a generator", name),
				 errdetail_internal("%s", not_a_generator_detail(sequence)),
				 errhint("Generators are made by flake_create_generator().")));
	if (!flake_layout_parse(text, layout, &error))
		elog(ERROR, "invalid layout \"%s\" of generator \"%s\"", text, name);
	return true;
}

/*
 * ERROR in a parallel worker, which always comes here before it mints.
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
				 errmsg("cannot mint ids in a parallel worker"),
				 errdetail("The lock that tells others of ids in open transactions would end with the worker."),
				 errhint("A function that mints ids must be PARALLEL RESTRICTED or PARALLEL UNSAFE.")));
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
	generator->lxid = flake_current_lxid();
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
							builtins[generator->key].sequence),
					 errdetail("It is a generator of extension \"flakeid\"."),
					 errhint("Create the extension again.")));
		if (sequence != generator->sequence ||
			generator->lxid != flake_current_lxid())
		{
			generator->sequence = sequence;
			/* Should this fail, there is no lock on the new one. */
			generator->lxid = InvalidLocalTransactionId;
			lock_sequence(generator);
		}
		if (before == invalidations)
			break;				/* the name still meant the same */
	}
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

/* The version of the SQL objects that this library is for: default_version in
 * flakeid.control. */
#define FLAKE_VERSION	"1.0"

/*
 * Says so, once in a session, if the extension's SQL objects are not of the
 * library's version: its package was updated, and the extension was not yet.
 * That is no reason to stop minting.
 */
static void
check_version(void)
{
	static bool is_checked = false;
	Relation	extensions;
	ScanKeyData key;
	SysScanDesc scan;
	HeapTuple	tuple;

	if (is_checked)
		return;
	is_checked = true;
	extensions = table_open(ExtensionRelationId, AccessShareLock);
	ScanKeyInit(&key, Anum_pg_extension_extname, BTEqualStrategyNumber,
				F_NAMEEQ, CStringGetDatum("flakeid"));
	scan = systable_beginscan(extensions, ExtensionNameIndexId, true, NULL, 1, &key);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		bool		isnull;
		char	   *version = TextDatumGetCString(heap_getattr(tuple, Anum_pg_extension_extversion,
															   RelationGetDescr(extensions), &isnull));

		if (strcmp(version, FLAKE_VERSION) != 0)
			ereport(WARNING,
					(errmsg("extension \"flakeid\" has version %s, but its library is for version %s",
							version, FLAKE_VERSION),
					 errhint("Execute ALTER EXTENSION flakeid UPDATE.")));
	}
	systable_endscan(scan);
	table_close(extensions, AccessShareLock);
}

/*
 * Whether a sequence was made by the subtransaction that has a transaction id,
 * so that both are undone together or not at all.
 *
 * Of its rows in catalogs, that of a column says so: no ALTER SEQUENCE changes
 * it.  GRANT may, and then it no longer says who made it.
 */
static bool
is_made_by(Oid sequence, TransactionId xid)
{
	HeapTuple	tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(sequence),
										Int16GetDatum(SEQ_COL_LASTVAL));
	bool		result;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for attribute %d of relation %u",
			 SEQ_COL_LASTVAL, sequence);
	result = TransactionIdEquals(HeapTupleHeaderGetXmin(tuple->t_data), xid) &&
		(tuple->t_data->t_infomask & HEAP_UPDATED) == 0;
	ReleaseSysCache(tuple);
	return result;
}

/*
 * ERROR if this transaction has made a generator of a sequence that may stay
 * when that is undone: one that is older, or was made before a savepoint.  The
 * sequence may then be given another layout.  In that one the ids minted
 * meanwhile could come again, and its horizon and slots would have been moved
 * by numbers that mean something else.
 */
static void
check_label(Oid sequence)
{
	Relation	rel = relation_open(sequence, NoLock);
	Relation	labels = table_open(SecLabelRelationId, AccessShareLock);
	ScanKeyData keys[4];
	SysScanDesc scan;
	HeapTuple	tuple;
	bool		in_doubt = false;

	ScanKeyInit(&keys[0], Anum_pg_seclabel_objoid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(sequence));
	ScanKeyInit(&keys[1], Anum_pg_seclabel_classoid, BTEqualStrategyNumber,
				F_OIDEQ, ObjectIdGetDatum(RelationRelationId));
	ScanKeyInit(&keys[2], Anum_pg_seclabel_objsubid, BTEqualStrategyNumber,
				F_INT4EQ, Int32GetDatum(0));
	ScanKeyInit(&keys[3], Anum_pg_seclabel_provider, BTEqualStrategyNumber,
				F_TEXTEQ, CStringGetTextDatum(FLAKE_LABEL_PROVIDER));
	scan = systable_beginscan(labels, SecLabelObjectIndexId, true, NULL,
							  lengthof(keys), keys);
	tuple = systable_getnext(scan);
	if (HeapTupleIsValid(tuple))
	{
		TransactionId xid = HeapTupleHeaderGetXmin(tuple->t_data);

		in_doubt = TransactionIdIsCurrentTransactionId(xid) &&
			!is_made_by(sequence, xid);
	}
	systable_endscan(scan);
	table_close(labels, AccessShareLock);

	if (in_doubt)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot mint ids before the layout of generator \"%s\" is committed",
						RelationGetRelationName(rel)),
				 errdetail("If it were rolled back, ids minted meanwhile could repeat in another layout."),
				 errhint("Commit first.")));
	relation_close(rel, NoLock);
}

/* Fills a generator from the catalogs. */
static void
look_up(Generator *generator, Oid function)
{
	uint64		before;

	if (generator->key < FLAKE_BUILTINS)
		find_and_lock_builtin(generator, function);

	before = invalidations;
	(void) flake_generator_layout(generator->sequence, function, false,
								  &generator->layout);
	check_usage(generator);
	if (generator->key >= FLAKE_BUILTINS)
		check_label(generator->sequence);

	/* The slots of a sequence that was dropped and had this OID are gone. */
	if (generator->slots == NULL)
		generator->slots = slot_cache_create(TopMemoryContext, 16, NULL);
	slot_cache_reset(generator->slots);
	generator->recent.slot = NULL;

	flake_horizon_open(&generator->horizon, generator->key,
					   generator->sequence, &generator->layout);
	check_version();
	generator->valid = before == invalidations;
}

void
flake_generator_prepare(Generator *generator, Oid function)
{
	refuse_in_worker();

	/* Taking the lock also brings the news of changes to the sequence. */
	if (OidIsValid(generator->sequence) &&
		generator->lxid != flake_current_lxid())
		lock_sequence(generator);
	if (!generator->valid)
		look_up(generator, function);
	if (generator->user != GetUserId())
		check_usage(generator);
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

Generator *
flake_generator_find(Oid sequence, Oid function)
{
	Generator  *generator = known_generator(sequence);
	Oid			key;

	if (generator != NULL && generator->valid)
		return generator;
	key = flake_generator_key(sequence, function);
	if (key != sequence)
		return &flake_builtin_generators[key];
	if (sequence < FirstNormalObjectId)
		no_such_generator(sequence);	/* nor is its OID one's key */

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
	forget_invalid_generators();

	generator = hash_search(named_generators, &sequence, HASH_ENTER, NULL);
	memset(generator, 0, sizeof(Generator));
	generator->sequence = sequence;
	generator->key = sequence;
	return generator;
}

/* Makes generator->recent the slot of a shard. */
void
flake_generator_find_slot(Generator *generator, int32 shard)
{
	GeneratorSlot *entry;
	bool		found;

	if (shard < 0 || shard > flake_layout_max_shard(&generator->layout))
		ereport(ERROR,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("shard %d is out of range", shard),
				 errdetail("Layout \"%s\" has shards 0 to %d.",
						   flake_layout_name(&generator->layout),
						   flake_layout_max_shard(&generator->layout)),
				 errhint("Map more keys to one shard, for example with key & %d.",
						 flake_layout_max_shard(&generator->layout))));

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
}

void
flake_generator_mark_checked(Generator *generator)
{
	generator->recent.checked = true;
	slot_cache_lookup(generator->slots, generator->recent.shard)->checked = true;
}
