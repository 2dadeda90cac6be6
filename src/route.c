/*-------------------------------------------------------------------------
 *
 * route.c
 *	  SQL functions that say which shard a key belongs to, and which server a
 *	  shard.
 *
 * A key's shard must be the same on every machine, in every version, and in
 * applications that compute it themselves, for ever.  So it is not one of
 * PostgreSQL's own hashes but XXH64 with seed 0, by Yann Collet's library
 * (github.com/Cyan4973/xxHash), of the bytes that are named below, modulo the
 * number of shards.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <xxhash.h>

#include "catalog/pg_type.h"
#include "executor/spi.h"
#include "fmgr.h"
#include "mb/pg_wchar.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/uuid.h"

PG_FUNCTION_INFO_V1(flake_shard_for_bigint);
PG_FUNCTION_INFO_V1(flake_shard_for_text);
PG_FUNCTION_INFO_V1(flake_shard_for_uuid);
PG_FUNCTION_INFO_V1(flake_server);

static int32
shard_of_bytes(const void *bytes, size_t length, int32 shards)
{
	if (shards < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("number of shards must be at least 1"),
				 errdetail("The number given is %d.", shards)));
	return (int32) (XXH64(bytes, length, 0) % (uint64) shards);
}

/* flake_shard_for(key bigint, shards int) returns int: 8 bytes, little-endian */
Datum
flake_shard_for_bigint(PG_FUNCTION_ARGS)
{
	uint64		key = (uint64) PG_GETARG_INT64(0);
	uint8		bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (uint8) (key >> (8 * i));
	PG_RETURN_INT32(shard_of_bytes(bytes, sizeof(bytes), PG_GETARG_INT32(1)));
}

/* flake_shard_for(key text, shards int) returns int: the bytes in UTF-8 */
Datum
flake_shard_for_text(PG_FUNCTION_ARGS)
{
	text	   *key = PG_GETARG_TEXT_PP(0);
	char	   *bytes = VARDATA_ANY(key);
	int			length = VARSIZE_ANY_EXHDR(key);
	char	   *utf8 = pg_server_to_any(bytes, length, PG_UTF8);

	/* What has been converted ends with a zero. */
	if (utf8 != bytes)
		length = (int) strlen(utf8);
	PG_RETURN_INT32(shard_of_bytes(utf8, (size_t) length, PG_GETARG_INT32(1)));
}

/* flake_shard_for(key uuid, shards int) returns int: 16 bytes, as written */
Datum
flake_shard_for_uuid(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(shard_of_bytes(PG_GETARG_UUID_P(0)->data, UUID_LEN,
								   PG_GETARG_INT32(1)));
}

/* flake_server(shard int) returns name: from the table flake_shard_map */
Datum
flake_server(PG_FUNCTION_ARGS)
{
	int32		shard = PG_GETARG_INT32(0);
	Oid			types[] = {INT4OID};
	Datum		values[] = {Int32GetDatum(shard)};
	Oid			schema = get_func_namespace(fcinfo->flinfo->fn_oid);
	char	   *query = psprintf("SELECT server FROM %s WHERE shards OPERATOR(pg_catalog.@>) $1",
								 quote_qualified_identifier(get_namespace_name(schema),
															"flake_shard_map"));
	NameData	server;
	Name		result;
	bool		isnull;

	if (SPI_connect() != SPI_OK_CONNECT ||
		SPI_execute_with_args(query, 1, types, values, NULL, true, 1) != SPI_OK_SELECT)
		elog(ERROR, "could not execute \"%s\"", query);
	if (SPI_processed == 0)
		ereport(ERROR,
				(errcode(ERRCODE_NO_DATA),
				 errmsg("no server is known for shard %d", shard),
				 errhint("Enter one into the table \"flake_shard_map\".")));
	server = *DatumGetName(SPI_getbinval(SPI_tuptable->vals[0],
										 SPI_tuptable->tupdesc, 1, &isnull));
	SPI_finish();
	result = palloc(sizeof(NameData));
	*result = server;
	PG_RETURN_NAME(result);
}
