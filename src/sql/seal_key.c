/*-------------------------------------------------------------------------
 *
 * seal_key.c
 *	  The keys that ids are sealed with: given as bytes, or by the name under
 *	  which PostgreSQL keeps them.
 *
 * A named key is a server of the foreign-data wrapper "flake_key", and its
 * versions are options of user mappings: key_1, key_2 and so on, of which the
 * highest is the newest.  Such options are PostgreSQL's own place for secrets.
 * Who may see them, write them and use them is as with the passwords there: the
 * view pg_user_mappings shows them to the mapped role alone, those of PUBLIC to
 * the server's owner, and all to superusers; pg_dump saves them.
 *
 * A session keeps the last few keys expanded, since to expand one takes longer
 * than to seal an id.  A change of any mapping or server makes it forget all
 * named ones.  Rights are looked at in each call: they can change otherwise.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/reloptions.h"
#include "catalog/pg_foreign_server.h"
#include "catalog/pg_user_mapping.h"
#include "commands/defrem.h"
#include "compat.h"
#include "foreign/foreign.h"
#include "miscadmin.h"
#include "sql/seal_key.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/inval.h"
#include "utils/syscache.h"

/* A text that is no name could be a key from this length on, in base 64. */
#define SHORTEST_KEY_TEXT	22

typedef struct CachedKey
{
	Ff1Key	   *expanded;		/* NULL: the place is free */
	uint64		used;			/* when, in uses of any */
	Oid			server;			/* InvalidOid: given as bytes, which follow */
	Oid			user;
	int32		version;
	bool		is_newest;
	int			length;			/* of those */
	uint8		bytes[FLAKE_FF1_MAX_KEY_LEN];
} CachedKey;

/* The length, for a key that is not to be found here again. */
#define USED_ONCE	(-1)

static CachedKey cache[8];
static uint64 uses = 0;

/* Raised by every change of a mapping or a server, to notice one during a look-up. */
static uint64 changes = 0;

static void
forget(CachedKey *key)
{
	if (key->expanded != NULL)
		flake_ff1_free(key->expanded);
	explicit_bzero(key, sizeof(CachedKey));
}

static void
keys_changed(Datum arg, SysCacheIdentifier cacheid, uint32 hashvalue)
{
	changes++;
	for (int i = 0; i < (int) lengthof(cache); i++)
	{
		if (OidIsValid(cache[i].server) || cache[i].length == USED_ONCE)
			forget(&cache[i]);
	}
}

void
flake_seal_key_init(void)
{
	CacheRegisterSyscacheCallback(USERMAPPINGOID, keys_changed, (Datum) 0);
	CacheRegisterSyscacheCallback(FOREIGNSERVEROID, keys_changed, (Datum) 0);
}

/* Puts a key into the place of the one that was not used for longest. */
static CachedKey *
add(const uint8 *bytes, int length)
{
	CachedKey  *place = &cache[0];
	Ff1Key	   *expanded = flake_ff1_expand(bytes, length);

	for (int i = 1; i < (int) lengthof(cache); i++)
	{
		if (cache[i].used < place->used)
			place = &cache[i];
	}
	forget(place);
	place->expanded = expanded;
	place->used = ++uses;
	return place;
}

/* Takes as long whatever the bytes are. */
static bool
are_equal(const uint8 *a, const uint8 *b, int length)
{
	uint8		difference = 0;

	for (int i = 0; i < length; i++)
		difference |= a[i] ^ b[i];
	return difference == 0;
}

Ff1Key *
flake_seal_key_of_bytes(const uint8 *bytes, Size length)
{
	CachedKey  *key;

	for (int i = 0; i < (int) lengthof(cache); i++)
	{
		key = &cache[i];
		if (key->expanded != NULL && !OidIsValid(key->server) &&
			(Size) key->length == length && are_equal(key->bytes, bytes, key->length))
		{
			key->used = ++uses;
			return key->expanded;
		}
	}
	if (!flake_ff1_is_key_length(length))
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid length of a key"),
				 errdetail("It has %zu bytes, and a key has 16, 24 or 32.", length),
				 errhint("Make one at random, for example with openssl rand -hex 32. Better, keep it under a name: see flake_add_key().")));
	key = add(bytes, (int) length);
	key->length = (int) length;
	memcpy(key->bytes, bytes, length);
	return key->expanded;
}

Oid
flake_seal_key_find(const char *name)
{
	Oid			server = get_foreign_server_oid(name, true);

	if (OidIsValid(server))
	{
		ForeignDataWrapper *wrapper = GetForeignDataWrapper(GetForeignServer(server)->fdwid);

		/* Only superusers can make or rename one. */
		if (strcmp(wrapper->fdwname, FLAKE_KEY_WRAPPER) == 0)
			return server;
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("key \"%s\" does not exist", name),
				 errdetail("The server of this name is one of foreign-data wrapper \"%s\".",
						   wrapper->fdwname),
				 errhint("A key is a server of foreign-data wrapper \"%s\".",
						 FLAKE_KEY_WRAPPER)));
	}
	if (strlen(name) >= SHORTEST_KEY_TEXT)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("there is no key of this name"),
				 errdetail("The name is not shown, as it could be a key itself."),
				 errhint("Cast a key in bytes to bytea. To make one with a name, create a server of foreign-data wrapper \"%s\", and call flake_add_key().",
						 FLAKE_KEY_WRAPPER)));
	ereport(ERROR,
			(errcode(ERRCODE_UNDEFINED_OBJECT),
			 errmsg("key \"%s\" does not exist", name),
			 errdetail("A key is a server of foreign-data wrapper \"%s\".",
					   FLAKE_KEY_WRAPPER),
			 errhint("Create one with CREATE SERVER, and call flake_add_key().")));
}

bool
flake_seal_key_options(Oid server, Oid user, List **options)
{
	HeapTuple	tuple = SearchSysCache2(USERMAPPINGUSERSERVER,
										ObjectIdGetDatum(user),
										ObjectIdGetDatum(server));
	Datum		datum;
	bool		isnull;

	if (!HeapTupleIsValid(tuple))
		return false;
	datum = SysCacheGetAttr(USERMAPPINGUSERSERVER, tuple,
							Anum_pg_user_mapping_umoptions, &isnull);
	*options = isnull ? NIL : untransformRelOptions(datum);
	ReleaseSysCache(tuple);
	return true;
}

int32
flake_seal_key_version(const char *option)
{
	const char *digit = option + strlen(FLAKE_KEY_OPTION);
	int64		version = 0;

	if (strncmp(option, FLAKE_KEY_OPTION, strlen(FLAKE_KEY_OPTION)) != 0 || *digit == '0')
		return 0;
	for (; *digit >= '0' && *digit <= '9' && version <= PG_INT32_MAX; digit++)
		version = 10 * version + (*digit - '0');
	return *digit == '\0' && version <= PG_INT32_MAX ? (int32) version : 0;
}

int
flake_seal_key_read(const char *text, uint8 bytes[FLAKE_FF1_MAX_KEY_LEN])
{
	Size		length = strlen(text);

	if (length % 2 != 0 || !flake_ff1_is_key_length(length / 2) ||
		strspn(text, "0123456789abcdefABCDEF") != length)
		return 0;
	return (int) hex_decode(text, length, (char *) bytes);
}

/* Reads a version of a key, of the user's mapping or else of that of PUBLIC. */
static CachedKey *
read_named(const char *name, Oid server, Oid user, int32 version)
{
	const uint64 before = changes;
	List	   *options = NIL;
	ListCell   *cell;
	const char *found;
	int32		found_version;
	int32		newest;
	uint8		bytes[FLAKE_FF1_MAX_KEY_LEN];
	int			length;
	CachedKey  *key;

	if (!flake_seal_key_options(server, user, &options) &&
		!flake_seal_key_options(server, InvalidOid, &options))
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("user \"%s\" has no key \"%s\"", GetUserNameFromId(user, false), name),
				 errdetail("There is no user mapping for this user, nor for PUBLIC."),
				 errhint("Call flake_add_key(%s, %s), as the server's owner.",
						 quote_literal_cstr(name),
						 quote_literal_cstr(GetUserNameFromId(user, false)))));

	found = NULL;
	found_version = newest = 0;
	foreach(cell, options)
	{
		DefElem    *option = lfirst(cell);
		int32		number = flake_seal_key_version(option->defname);

		newest = Max(newest, number);
		if (number > 0 && (version == 0 ? number == newest : number == version))
		{
			found = strVal(option->arg);
			found_version = number;
		}
	}
	if (newest == 0)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_OBJECT),
				 errmsg("key \"%s\" has no version", name),
				 errdetail("The user mapping has no options."),
				 errhint("Call flake_add_key().")));
	if (found == NULL)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("key \"%s\" has no version %d", name, version),
				 errdetail("The newest is %d.", newest),
				 errhint("What was sealed under a version can be read for as long as the user mapping has its option, \"%s%d\".",
						 FLAKE_KEY_OPTION, version)));
	length = flake_seal_key_read(found, bytes);
	if (length == 0)
		elog(ERROR, "invalid option \"%s%d\" of a user mapping", FLAKE_KEY_OPTION, found_version);
	key = add(bytes, length);
	explicit_bzero(bytes, sizeof(bytes));
	key->version = found_version;

	/* If it may have changed meanwhile, it is read again the next time. */
	if (before != changes)
	{
		key->length = USED_ONCE;
		return key;
	}
	key->server = server;
	key->user = user;
	key->is_newest = found_version == newest;
	return key;
}

/* Whether a server is known to be a key. */
static bool
is_cached(Oid server)
{
	for (int i = 0; i < (int) lengthof(cache); i++)
	{
		if (OidIsValid(server) && cache[i].server == server)
			return true;
	}
	return false;
}

Ff1Key *
flake_seal_key_named(const char *name, int32 *version)
{
	Oid			server = get_foreign_server_oid(name, true);
	Oid			user = GetUserId();
	AclResult	result;
	CachedKey  *key = NULL;

	if (!is_cached(server))
		server = flake_seal_key_find(name);
	result = flake_server_aclcheck(server, user, ACL_USAGE);
	if (result != ACLCHECK_OK)
		aclcheck_error(result, OBJECT_FOREIGN_SERVER, name);
	for (int i = 0; i < (int) lengthof(cache) && key == NULL; i++)
	{
		if (cache[i].server == server && cache[i].user == user &&
			(*version == 0 ? cache[i].is_newest : cache[i].version == *version))
			key = &cache[i];
	}
	if (key == NULL)
		key = read_named(name, server, user, *version);
	key->used = ++uses;
	*version = key->version;
	return key->expanded;
}
