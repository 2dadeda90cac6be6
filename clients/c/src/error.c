/*-------------------------------------------------------------------------
 *
 * error.c
 *	  The names of the classes of errors, and times in messages.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "internal.h"

const char *
flakeid_code_name(flakeid_code code)
{
	switch (code)
	{
		case FLAKEID_OK:
			return "Ok";
		case FLAKEID_NOT_CONNECTED:
			return "NotConnected";
		case FLAKEID_NOT_INSTALLED:
			return "NotInstalled";
		case FLAKEID_NO_GENERATOR:
			return "NoGenerator";
		case FLAKEID_UNSUPPORTED_LAYOUT:
			return "UnsupportedLayout";
		case FLAKEID_NOT_PERMITTED:
			return "NotPermitted";
		case FLAKEID_NO_SHARD_LEFT:
			return "NoShardLeft";
		case FLAKEID_LEASE_EXPIRED:
			return "LeaseExpired";
		case FLAKEID_NOT_YET:
			return "NotYet";
		case FLAKEID_TOO_FAR_AHEAD:
			return "TooFarAhead";
		case FLAKEID_LIFETIME_OVER:
			return "LifetimeOver";
		case FLAKEID_FORKED:
			return "Forked";
		case FLAKEID_CLOSED:
			return "Closed";
		case FLAKEID_INVALID_ARGUMENT:
			return "InvalidArgument";
		case FLAKEID_SERVER_ERROR:
			return "ServerError";
	}
	return "Unknown";
}

void
flakeid_time_text(int64 time_us, char text[TIME_TEXT_LEN])
{
	const int64 year_1 = INT64CONST(-62135596800000000);
	const int64 year_10000 = INT64CONST(253402300800000000);

	if (time_us >= year_1 && time_us < year_10000)
		flake_instant_print(time_us + FLAKE_UNIX_EPOCH, text);
	else
		snprintf(text, TIME_TEXT_LEN, "%lld us since 1970", (long long) time_us);
}
