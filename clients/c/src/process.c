/*-------------------------------------------------------------------------
 *
 * process.c
 *	  Which process this is, and the clock that nobody sets.
 *
 * P3 asks for it with every id: a child made by fork() has a copy of its parent's
 * minters, and must not mint by them.  getpid() would be a system call, and a number can
 * come back.  So there is a page that the kernel fills with zeros in every child
 * (MADV_WIPEONFORK), however that was made.  Where there is no such page, or QEMU
 * emulates the process and says that there is one, a handler of pthread_atfork() does
 * it, which a bare clone() goes past.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include "internal.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

static uint32 word_without_page = 0;
static uint32 *generation_word = &word_without_page;
const uint32 *flakeid_generation_word = &word_without_page;

/* How many generations there were, counted on from parent to child. */
static uint32 generations = 0;

clockid_t	flakeid_steady_clock = CLOCK_MONOTONIC;

static void
forget_generation(void)
{
	__atomic_store_n(generation_word, 0, __ATOMIC_RELAXED);
}

static void
make_page(void)
{
#ifdef MADV_WIPEONFORK
	size_t		size = (size_t) sysconf(_SC_PAGESIZE);
	void	   *page = mmap(NULL, size, PROT_READ | PROT_WRITE,
							MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (page == MAP_FAILED)
		return;
	if (madvise(page, size, MADV_WIPEONFORK) == 0)
	{
		generation_word = page;
		flakeid_generation_word = page;
		return;
	}
	(void) munmap(page, size);
#endif
}

#ifdef CLOCK_BOOTTIME

/* What some readings of a clock cost, at best; so that no interruption counts. */
static int64
cost_ns(clockid_t clock)
{
	int64		least = PG_INT64_MAX;

	for (int attempt = 0; attempt < 8; attempt++)
	{
		int64		begun = flakeid_read_ns(CLOCK_MONOTONIC);

		for (int i = 0; i < 8; i++)
			(void) flakeid_read_ns(clock);
		least = Min(least, flakeid_read_ns(CLOCK_MONOTONIC) - begun);
	}
	return least;
}

#endif

/* When the library is loaded, and so before there can be two threads in it. */
__attribute__((constructor))
static void
begin(void)
{
	make_page();
	(void) pthread_atfork(NULL, NULL, forget_generation);
#ifdef CLOCK_BOOTTIME
	/* The price of a system call is several times that of a plain reading. */
	if (flakeid_read_ns(CLOCK_BOOTTIME) >= 0 &&
		cost_ns(CLOCK_BOOTTIME) <= 3 * cost_ns(CLOCK_MONOTONIC))
		flakeid_steady_clock = CLOCK_BOOTTIME;
#endif
}

uint32_t
flakeid_process(void)
{
	uint32		generation = __atomic_load_n(generation_word, __ATOMIC_RELAXED);

	if (generation == 0)
	{
		uint32		next = __atomic_add_fetch(&generations, 1, __ATOMIC_RELAXED);

		/* Another thread may be faster. */
		if (__atomic_compare_exchange_n(generation_word, &generation, next, false,
										__ATOMIC_RELAXED, __ATOMIC_RELAXED))
			generation = next;
	}
	return generation;
}

int64_t
flakeid_steady_ns(void)
{
	return flakeid_read_ns(flakeid_steady_clock);
}

int64_t
flakeid_deadline_ns(int64_t sent_ns, int64_t now_us, int64_t expires_at_us)
{
	int64		remaining_us;
	int64		remaining_ns;
	int64		deadline_ns;

	if (pg_sub_s64_overflow(expires_at_us, now_us, &remaining_us) ||
		pg_mul_s64_overflow(remaining_us, 1000, &remaining_ns) ||
		pg_add_s64_overflow(sent_ns, remaining_ns, &deadline_ns))
		return expires_at_us < now_us ? PG_INT64_MIN : PG_INT64_MAX;
	return deadline_ns;
}
