/*-------------------------------------------------------------------------
 *
 * settings.c
 *	  The extension's settings: their variables, defaults and limits.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "postgres.h"

#include <limits.h>

#include "datatype/timestamp.h"
#include "settings.h"
#include "utils/guc.h"
#include "utils/guc_tables.h"

/*
 * A hundred years: longer than any clock is off, and so short that sums of
 * such durations with each other and with instants do not overflow.
 */
#define LONGEST_MS			(36525.0 * SECS_PER_DAY * 1000)

/*
 * Readings of two clocks are taken one after the other, and a session may be
 * stopped in between: less than a minute would refuse clocks that are right.
 * With more than ten years, wrong epochs would pass: -1 says so.
 */
#define SHORTEST_JUMP_S		60
#define LONGEST_JUMP_S		(3650 * SECS_PER_DAY)

int			flake_shard = -1;
int64		flake_max_ahead_us;
int64		flake_max_wait_us;
int			flake_max_jump_s = SECS_PER_DAY;
bool		flake_require_attach = false;

/* The hooks keep what these say, in microseconds. */
static double max_ahead_ms = 15000;
static double max_wait_ms = 10000;

/* The hooks keep what it says. */
static char *flake_worker = NULL;

static void
assign_max_ahead(double value, void *extra)
{
	flake_max_ahead_us = (int64) (value * 1000);
}

static void
assign_max_wait(double value, void *extra)
{
	flake_max_wait_us = (int64) (value * 1000);
}

static bool
check_max_jump(int *value, void **extra, GucSource source)
{
	if (*value == -1 || *value >= SHORTEST_JUMP_S)
		return true;
	GUC_check_errdetail("It is -1, which lets the clock jump as far as it may, or at least %d seconds.",
						SHORTEST_JUMP_S);
	GUC_check_errhint("The clock's small steps are no jumps. See \"flakeid.max_ahead\" for how far ids may be ahead of it.");
	return false;
}

/* In alphabetical order: see define_quickly(). */
static void
define(const SettingHooks *hooks)
{
	/*
	 * Not integers: those end at 24.8 days of milliseconds, and a clock may
	 * have been years ahead.
	 */
	DefineCustomRealVariable("flakeid.max_ahead",
							 "Sets how far the time in an id may be ahead of the clock.",
							 NULL,
							 &max_ahead_ms, 15000, 0, LONGEST_MS,
							 PGC_SIGHUP, GUC_UNIT_MS, NULL, assign_max_ahead,
							 NULL);
	DefineCustomIntVariable("flakeid.max_jump",
							"Sets how far the clock may jump ahead without minting being refused.",
							"-1 means as far as it may.",
							&flake_max_jump_s, SECS_PER_DAY, -1, LONGEST_JUMP_S,
							PGC_SIGHUP, GUC_UNIT_S, check_max_jump, NULL, NULL);
	DefineCustomRealVariable("flakeid.max_wait",
							 "Sets how long a caller may be made to wait for the clock before it is an error.",
							 NULL,
							 &max_wait_ms, 10000, 0, LONGEST_MS,
							 PGC_USERSET, GUC_UNIT_MS, NULL, assign_max_wait,
							 NULL);
	DefineCustomBoolVariable("flakeid.require_attach",
							 "Lets only shards be minted that were attached with flake_attach().",
							 NULL,
							 &flake_require_attach, false,
							 PGC_SIGHUP, 0, NULL, hooks->assign_require_attach,
							 NULL);
	DefineCustomIntVariable("flakeid.shard",
							"Sets the logical shard of the ids that flake_id() mints.",
							"-1 means that it is not set.",
							&flake_shard, -1, -1, INT_MAX,
							PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("flakeid.worker",
							   "Sets the worker of the UUIDs that flake_uuid() mints.",
							   "Empty means the first hardware address of the machine.",
							   &flake_worker, "",
							   PGC_SIGHUP, 0, hooks->check_worker,
							   hooks->assign_worker, NULL);
}

#if PG_VERSION_NUM < 160000

/* Whether the server sorts a setting before "flakeid.". */
static bool
sorts_before(const struct config_generic *setting)
{
	const char *ours = "flakeid.";

	for (const char *name = setting->name; *ours != '\0'; name++, ours++)
	{
		char		letter = *name >= 'A' && *name <= 'Z' ? *name + ('a' - 'A') : *name;

		if (letter != *ours)
			return letter < *ours;
	}
	return false;
}

/*
 * Up to PostgreSQL 15 the server keeps its settings, of which it has 350, in an
 * array that it sorts with each that is added.  That would be a third of what
 * a session's first id costs.  But what is in order it only looks through: so
 * ours are added after empty names, and then moved to their place.
 */
static void
define_quickly(const SettingHooks *hooks)
{
	static struct config_generic empty = {.name = ""};
	struct config_generic **all = get_guc_variables();
	int			count = GetNumConfigOptions();
	struct config_generic **saved;
	int			place = 0;
	int			end = count;

	while (place < end)
	{
		int			middle = (place + end) / 2;

		if (sorts_before(all[middle]))
			place = middle + 1;
		else
			end = middle;
	}

	/* What somebody has set already, the server looks for by its name. */
	if (place < count && pg_strncasecmp(all[place]->name, "flakeid.", 8) == 0)
	{
		define(hooks);
		return;
	}

	saved = palloc(count * sizeof(*all));
	memcpy(saved, all, count * sizeof(*all));
	for (int i = 0; i < count; i++)
		all[i] = &empty;
	PG_TRY();
	{
		define(hooks);
	}
	PG_FINALLY();
	{
		int			added = GetNumConfigOptions() - count;

		all = get_guc_variables();	/* it moves when it grows */
		memmove(all + place, all + count, added * sizeof(*all));
		memcpy(all, saved, place * sizeof(*all));
		memcpy(all + place + added, saved + place, (count - place) * sizeof(*all));
	}
	PG_END_TRY();
	pfree(saved);
}

#else
#define define_quickly(hooks) define(hooks)
#endif

void
flake_settings_init(const SettingHooks *hooks)
{
	define_quickly(hooks);
	MarkGUCPrefixReserved("flakeid");
}
