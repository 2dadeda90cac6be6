/*-------------------------------------------------------------------------
 *
 * minter.h
 *	  What a handle for a leased minter has, between those who mint and its thread.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#ifndef FLAKEID_PQ_MINTER_H
#define FLAKEID_PQ_MINTER_H

#include <pthread.h>
#include <time.h>

#include "flakeid_pq.h"
#include "pq/connection.h"

#pragma GCC visibility push(hidden)

#define OWNER_LEN	256

struct flakeid_pq_minter
{
	uint32_t	process;		/* flakeid_process() of who has opened it */
	flakeid_minter core;
	bool		has_core;		/* atomic: once set, the layout is known */

	/* Constant */
	double		ttl;
	double		first_ttl;
	int64_t		max_ahead_us;
	char		owner_prefix[OWNER_LEN];
	void		(*on_event) (const flakeid_event *event, void *argument);
	void	   *argument;

	/* The thread's own */
	Connection	connection;
	char		owner[OWNER_LEN];
	char		generator[24];	/* the OID of the lease's generator, as text */
	flakeid_lease lease;		/* deadline_ns: as it is now */
	int64_t		server_us;		/* the server's clock, at the latest answer */
	int64_t		server_ns;		/* and the time of that, before it was asked */
	bool		is_leased;
	bool		was_leased;		/* ever */
	int			failures;		/* in a row */
	int64_t		next_ns;		/* when to renew, or to try to lease */
	int64_t		asked_ns;		/* when the latest answer was asked for */
	int64_t		leased_ns;		/* when the latest lease was taken */

	/* Shared, and guarded by the mutex */
	int			wake[2];		/* a pipe: what is written wakes the thread */
	pthread_t	thread;
	pthread_mutex_t mutex;
	pthread_cond_t changed;		/* by CLOCK_MONOTONIC */
	bool		is_closing;
	bool		is_missed;		/* atomic: somebody wants an id, and gets none */
	bool		is_tried;		/* the first attempt is over */
	flakeid_error last_error;	/* of the last attempt; FLAKEID_OK if it
								 * succeeded */
	int64_t		failing_since_us;
};

/* The thread: leases, renews, leases again, and gives back at the end. */
extern void *flakeid_pq_minter_run(void *argument);

/* So many nanoseconds from now, for pthread_cond_timedwait(). */
extern struct timespec flakeid_pq_in(int64_t ns);

/* Sleeps so many nanoseconds; less after a signal. */
extern void flakeid_pq_sleep(int64_t ns);

/*
 * Makes mutex and condition, and starts a thread that blocks all signals.
 * FLAKEID_INVALID_ARGUMENT if the system has none.
 */
extern flakeid_code flakeid_pq_start(pthread_t *thread, pthread_mutex_t *mutex,
									 pthread_cond_t *changed, void *(*run) (void *),
									 void *argument, flakeid_error *error);

/* A time limit that a caller has given, in seconds, as nanoseconds. */
extern int64_t flakeid_pq_timeout_ns(double timeout);

/* Whether trying again would be of no use. */
extern bool flakeid_pq_is_final(flakeid_code code);

/* 1, 2, 4, 8, 10, 10 ... seconds after so many failures. */
extern int64_t flakeid_pq_backoff_ns(int failures);

#pragma GCC visibility pop

#endif							/* FLAKEID_PQ_MINTER_H */
