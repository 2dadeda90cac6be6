/*-------------------------------------------------------------------------
 *
 * wide.c
 *	  SQL functions for ids of 128 and 96 bits: Boundary's flake, as a UUID,
 *	  and MongoDB's ObjectID.
 *
 * They are minted as 64-bit ids are, from generators of their own (see
 * mint/definition.c): time and sequence are what a slot hands out, and in the
 * place of the shard comes what tells one server from another.  The slot is the same
 * for all databases of the server.
 *
 *	UUID		64 bits of milliseconds since 1970, 48 of worker, 16 of sequence
 *				(github.com/boundary/flake)
 *	ObjectID	32 bits of seconds since 1970, 40 drawn at random at server
 *				start, 24 of sequence (github.com/mongodb/specifications,
 *				bson-objectid)
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <ifaddrs.h>
#include <net/if.h>
#ifdef __linux__
#include <netpacket/packet.h>
#else
#include <net/if_dl.h>
#endif

#include "access/htup_details.h"
#include "access/xact.h"
#include "compat.h"
#include "fmgr.h"
#include "funcapi.h"
#include "layout/instant.h"
#include "layout/layout.h"
#include "mint/entry.h"
#include "mint/generator.h"
#include "mint/shmem_area.h"
#include "miscadmin.h"
#include "port/pg_bswap.h"
#include "shard/fence.h"
#include "sql/text.h"
#include "sql/wide.h"
#include "tcop/utility.h"
#include "utils/builtins.h"
#include "utils/inet.h"
#include "utils/timestamp.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(flake_uuid);
PG_FUNCTION_INFO_V1(flake_uuid_decode);
PG_FUNCTION_INFO_V1(flake_uuid_to_text);
PG_FUNCTION_INFO_V1(flake_uuid_from_text);
PG_FUNCTION_INFO_V1(flake_objectid);
PG_FUNCTION_INFO_V1(flake_objectid_timestamp);

#define WORKER_LEN		6
#define OBJECTID_LEN	12
#define OBJECTID_DIGITS 24
#define HEX_DIGITS		"0123456789abcdefABCDEF"

/* A UUID's bytes; numbers have the most significant byte first. */
typedef struct Flake
{
	uint64		ms;
	uint8		worker[WORKER_LEN];
	uint16		sequence;
} Flake;

StaticAssertDecl(sizeof(Flake) == UUID_LEN, "a flake is a UUID");

static uint8 worker[WORKER_LEN];
static bool worker_is_known = false;

/* Reads six pairs of hexadecimal digits, with : or - between them or nothing. */
static bool
parse_worker(const char *text, uint8 bytes[WORKER_LEN])
{
	for (int i = 0; i < WORKER_LEN; i++)
	{
		char		pair[3] = {0};

		if (i > 0 && (*text == ':' || *text == '-'))
			text++;

		if (strspn(text, HEX_DIGITS) < 2)
			return false;
		memcpy(pair, text, 2);
		bytes[i] = (uint8) strtoul(pair, NULL, 16);
		text += 2;
	}
	return *text == '\0';
}

bool
flake_check_worker(char **value, void **extra, GucSource source)
{
	uint8		bytes[WORKER_LEN];

	if (**value == '\0' || parse_worker(*value, bytes))
		return true;
	GUC_check_errdetail("A worker is six bytes in hexadecimal digits.");
	GUC_check_errhint("Write it as a hardware address, for example 08:00:2b:01:02:03.");
	return false;
}

void
flake_assign_worker(const char *value, void *extra)
{
	/* Most sessions have none: they need not map more of the C library. */
	worker_is_known = value != NULL && *value != '\0' && parse_worker(value, worker);
}

/* The six bytes of an interface's hardware address; NULL if it has none. */
static const uint8 *
hardware_address(const struct ifaddrs *interface)
{
	static const uint8 zeros[WORKER_LEN] = {0};
	const uint8 *address = NULL;

	if (interface->ifa_addr == NULL || interface->ifa_flags & IFF_LOOPBACK)
		return NULL;
#ifdef __linux__
	if (interface->ifa_addr->sa_family == AF_PACKET)
	{
		struct sockaddr_ll *link = (struct sockaddr_ll *) interface->ifa_addr;

		if (link->sll_halen == WORKER_LEN)
			address = link->sll_addr;
	}
#else
	if (interface->ifa_addr->sa_family == AF_LINK)
	{
		struct sockaddr_dl *link = (struct sockaddr_dl *) interface->ifa_addr;

		if (link->sdl_alen == WORKER_LEN)
			address = (const uint8 *) LLADDR(link);
	}
#endif
	if (address != NULL && memcmp(address, zeros, WORKER_LEN) == 0)
		return NULL;
	return address;
}

/* The worker for UUIDs: the setting, or the first hardware address found. */
static const uint8 *
get_worker(void)
{
	struct ifaddrs *interfaces;

	if (worker_is_known)
		return worker;

	if (getifaddrs(&interfaces) != 0)
		ereport(ERROR,
				(errcode_for_file_access(),
				 errmsg("could not list network interfaces: %m")));
	for (struct ifaddrs *i = interfaces; i != NULL && !worker_is_known; i = i->ifa_next)
	{
		const uint8 *address = hardware_address(i);

		if (address != NULL)
		{
			memcpy(worker, address, WORKER_LEN);
			worker_is_known = true;
		}
	}
	freeifaddrs(interfaces);

	if (!worker_is_known)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("no worker is set"),
				 errdetail("flake_uuid() takes it from the setting \"flakeid.worker\", or from the first network interface with a hardware address, and there is neither."),
				 errhint("Set it, for example with ALTER SYSTEM SET flakeid.worker = '08:00:2b:01:02:03'.")));
	return worker;
}

/* Claims a packed value of a generator whose ids say no shard. */
static int64
claim(Oid key, FunctionCallInfo fcinfo, const char *function_name,
	  const FlakeLayout **layout)
{
	Generator  *generator;

	if (XactReadOnly)
		PreventCommandIfReadOnly(function_name);
	generator = flake_generator_builtin(key, fcinfo->flinfo->fn_oid);
	*layout = &generator->layout;
	return flake_shard_claim(generator, flake_generator_slot(generator, 0), 1,
							 fcinfo->flinfo->fn_oid);
}

/* flake_uuid() returns uuid */
Datum
flake_uuid(PG_FUNCTION_ARGS)
{
	const uint8 *bytes = get_worker();
	const FlakeLayout *layout;
	int64		packed = claim(FLAKE_UUID, fcinfo, "flake_uuid()", &layout);
	Flake	   *flake = palloc(sizeof(Flake));

	flake->ms = pg_hton64((uint64) flake_layout_packed_tick(layout, packed));
	memcpy(flake->worker, bytes, WORKER_LEN);
	flake->sequence = pg_hton16((uint16) (packed & flake_layout_max_sequence(layout)));
	PG_RETURN_UUID_P((pg_uuid_t *) flake);
}

pg_uuid_t *
flake_last_uuid(int64 tick)
{
	Flake	   *flake = palloc(sizeof(Flake));

	memset(flake, 0xff, sizeof(Flake));
	flake->ms = pg_hton64((uint64) tick);
	return (pg_uuid_t *) flake;
}

/* flake_uuid_decode(id uuid) returns record (ts, worker macaddr, sequence int) */
Datum
flake_uuid_decode(PG_FUNCTION_ARGS)
{
	Flake		flake;
	int64		ms;
	int64		us;
	macaddr    *address = palloc(sizeof(macaddr));
	TupleDesc	desc;
	Datum		values[3];
	bool		nulls[3] = {false};
	TimestampTz ts;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");

	memcpy(&flake, PG_GETARG_UUID_P(0), UUID_LEN);
	ms = (int64) pg_ntoh64(flake.ms);
	if (ms < 0 || pg_mul_s64_overflow(ms, 1000, &us) ||
		pg_add_s64_overflow(us, FLAKE_UNIX_EPOCH, &ts) || !IS_VALID_TIMESTAMP(ts))
		ereport(ERROR,
				(errcode(ERRCODE_DATETIME_VALUE_OUT_OF_RANGE),
				 errmsg("timestamp out of range"),
				 errdetail("The UUID was not made by flake_uuid().")));

	address->a = flake.worker[0];
	address->b = flake.worker[1];
	address->c = flake.worker[2];
	address->d = flake.worker[3];
	address->e = flake.worker[4];
	address->f = flake.worker[5];

	values[0] = TimestampTzGetDatum(ts);
	values[1] = MacaddrPGetDatum(address);
	values[2] = Int32GetDatum(pg_ntoh16(flake.sequence));
	PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(desc, values, nulls)));
}

/* flake_uuid_to_text(id uuid, base int) returns text */
Datum
flake_uuid_to_text(PG_FUNCTION_ARGS)
{
	PG_RETURN_TEXT_P(flake_text_encode(PG_GETARG_UUID_P(0)->data, UUID_LEN,
									   PG_GETARG_INT32(1)));
}

/* flake_uuid_from_text(id text, base int) returns uuid */
Datum
flake_uuid_from_text(PG_FUNCTION_ARGS)
{
	pg_uuid_t  *uuid = palloc(sizeof(pg_uuid_t));

	flake_text_decode(PG_GETARG_TEXT_PP(0), PG_GETARG_INT32(1), "uuid",
					  uuid->data, UUID_LEN);
	PG_RETURN_UUID_P(uuid);
}

static text *
objectid_text(const uint8 bytes[OBJECTID_LEN])
{
	text	   *result = palloc(VARHDRSZ + OBJECTID_DIGITS);

	(void) hex_encode((const char *) bytes, OBJECTID_LEN, VARDATA(result));
	SET_VARSIZE(result, VARHDRSZ + OBJECTID_DIGITS);
	return result;
}

/* flake_objectid() returns text */
Datum
flake_objectid(PG_FUNCTION_ARGS)
{
	const FlakeLayout *layout;
	int64		packed = claim(FLAKE_OBJECTID, fcinfo, "flake_objectid()", &layout);
	uint32		seconds = pg_hton32((uint32) flake_layout_packed_tick(layout, packed));
	uint32		counter = pg_hton32((uint32) (packed & flake_layout_max_sequence(layout)));
	uint8		bytes[OBJECTID_LEN];

	memcpy(bytes, &seconds, 4);
	memcpy(bytes + 4, flake_shmem_server_value(), FLAKE_SERVER_VALUE_LEN);
	memcpy(bytes + 4 + FLAKE_SERVER_VALUE_LEN, (uint8 *) &counter + 1, 3);
	PG_RETURN_TEXT_P(objectid_text(bytes));
}

text *
flake_last_objectid(int64 tick)
{
	uint32		seconds = pg_hton32((uint32) tick);
	uint8		bytes[OBJECTID_LEN];

	memset(bytes, 0xff, OBJECTID_LEN);
	memcpy(bytes, &seconds, 4);
	return objectid_text(bytes);
}

/* flake_objectid_timestamp(id text) returns timestamptz */
Datum
flake_objectid_timestamp(PG_FUNCTION_ARGS)
{
	char	   *hex = text_to_cstring(PG_GETARG_TEXT_PP(0));
	int64		seconds;

	if (strlen(hex) != OBJECTID_DIGITS ||
		strspn(hex, HEX_DIGITS) != OBJECTID_DIGITS)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
				 errmsg("invalid ObjectID: \"%s\"", hex),
				 errdetail("An ObjectID is written as %d hexadecimal digits.",
						   OBJECTID_DIGITS)));
	hex[8] = '\0';				/* four bytes of seconds */
	seconds = (int64) strtoul(hex, NULL, 16);
	PG_RETURN_TIMESTAMPTZ(FLAKE_UNIX_EPOCH + seconds * USECS_PER_SEC);
}
