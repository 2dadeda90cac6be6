/*-------------------------------------------------------------------------
 *
 * thread.c
 *	  What the handles of flakeid_pq.h share: their threads, and waiting.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#include "pq/minter.h"

#include <signal.h>

#define LONGEST_TIMEOUT_S	1e9

/*
 * pthread_cond_timedwait() takes no clock that counts sleep.  After that it may wait too
 * long; whoever misses a lease then wakes the thread.
 */
struct timespec
flakeid_pq_in(int64_t ns)
{
	struct timespec until;

	(void) clock_gettime(CLOCK_MONOTONIC, &until);
	if (ns < 0)
		ns = 0;
	until.tv_sec += (time_t) (ns / NS_PER_SECOND);
	until.tv_nsec += (long) (ns % NS_PER_SECOND);
	if (until.tv_nsec >= NS_PER_SECOND)
	{
		until.tv_sec++;
		until.tv_nsec -= (long) NS_PER_SECOND;
	}
	return until;
}

void
flakeid_pq_sleep(int64_t ns)
{
	struct timespec pause = {
		.tv_sec = (time_t) (ns / NS_PER_SECOND),
		.tv_nsec = (long) (ns % NS_PER_SECOND)
	};

	(void) nanosleep(&pause, NULL);
}

int64_t
flakeid_pq_timeout_ns(double timeout)
{
	if (!(timeout > 0))
		return 0;
	return (int64_t) ((timeout < LONGEST_TIMEOUT_S ? timeout : LONGEST_TIMEOUT_S) *
					  (double) NS_PER_SECOND);
}

int64_t
flakeid_pq_backoff_ns(int failures)
{
	int64_t		seconds = failures > 4 ? 10 : INT64_C(1) << (failures - 1);

	return seconds * NS_PER_SECOND;
}

/* Whether trying again would be of no use. */
bool
flakeid_pq_is_final(flakeid_code code)
{
	return code == FLAKEID_INVALID_ARGUMENT || code == FLAKEID_NOT_INSTALLED ||
		code == FLAKEID_NO_GENERATOR || code == FLAKEID_UNSUPPORTED_LAYOUT ||
		code == FLAKEID_NOT_PERMITTED;
}

flakeid_code
flakeid_pq_start(pthread_t *thread, pthread_mutex_t *mutex, pthread_cond_t *changed,
				 void *(*run) (void *), void *argument, flakeid_error *error)
{
	pthread_condattr_t attributes;
	sigset_t	all;
	sigset_t	before;
	int			failed;

	(void) pthread_condattr_init(&attributes);
	(void) pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	(void) pthread_mutex_init(mutex, NULL);
	(void) pthread_cond_init(changed, &attributes);
	(void) pthread_condattr_destroy(&attributes);

	/* A thread begins with the mask of who makes it. */
	(void) sigfillset(&all);
	(void) pthread_sigmask(SIG_SETMASK, &all, &before);
	failed = pthread_create(thread, NULL, run, argument);
	(void) pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (failed != 0)
		return fail_argument(error, "could not make a thread: %s", strerror(failed));
	return FLAKEID_OK;
}
