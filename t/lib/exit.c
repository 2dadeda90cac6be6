/*-------------------------------------------------------------------------
 *
 * exit.c
 *	  exit() without SIGALRM, for servers whose clock libfaketime sets.
 *
 * PostgreSQL reads the clock in its handler of SIGALRM.  libfaketime then reads a file,
 * for which it allocates memory.  A process that exits is often freeing memory, as its
 * libraries do so.  If the signal comes in the midst of that, the process aborts, and
 * the server restarts.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE				/* RTLD_NEXT */
#include <dlfcn.h>
#include <signal.h>
#include <stdlib.h>

void
exit(int status)
{
	void		(*next) (int) = NULL;
	sigset_t	alarm;

	(void) sigemptyset(&alarm);
	(void) sigaddset(&alarm, SIGALRM);
	(void) sigprocmask(SIG_BLOCK, &alarm, NULL);
	*(void **) &next = dlsym(RTLD_NEXT, "exit");
	next(status);
	abort();
}
