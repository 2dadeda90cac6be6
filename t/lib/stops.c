/*-------------------------------------------------------------------------
 *
 * stops.c
 *	  Stops sessions where a test wants them: at the entry of a function of
 *	  flakeid, or at its exit.
 *
 * For t/races.pl, which compiles flakeid once more, with
 * -finstrument-functions: the compiler then calls the two functions at the end
 * of this file on each entry and exit.  So no debugger is needed, nor the right
 * to use one, and there is nothing in flakeid itself for the sake of tests.
 *
 * Nor can it be had for the asking that the server has no random bytes to give:
 * flakeid is compiled to ask random_or_not() for them.
 *
 * What is to be stopped stands in a file that the test and the server's
 * processes share, named by FLAKE_STOPS in the server's environment.  A process
 * that comes to a place that stands there says so, and waits for being told to
 * go on.
 *
 * Copyright (c) 2026, the flakeid developers
 *
 *-------------------------------------------------------------------------
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

/* libc has functions of these names, too, which do nothing. */
#define HOOK __attribute__((visibility("hidden")))

/* As t/races.pl packs it. */
typedef struct Stop
{
	int32_t		state;
	int32_t		pid;
	int64_t		function;		/* address relative to the library's */
	int32_t		at_exit;		/* else at entry */
	int32_t		unused;
} Stop;

enum
{
	FREE,
	ARMED,						/* set by the test */
	REACHED,					/* set by the process, which waits */
	GO_ON						/* set by the test */
};

#define STOPS	8

HOOK void	__cyg_profile_func_enter(void *function, void *caller);
HOOK void	__cyg_profile_func_exit(void *function, void *caller);
HOOK bool	random_or_not(void *buffer, size_t length);

static Stop *stops = NULL;
static char *base;
static int	pid = 0;
static int	parent;

/* Finds the file, once in each process. */
static void
find_stops(void)
{
	const char *path = getenv("FLAKE_STOPS");
	int			file = path != NULL ? open(path, O_RDWR) : -1;
	void	   *address;
	Dl_info		info;

	pid = getpid();
	parent = getppid();
	if (file < 0)
		return;
	address = mmap(NULL, STOPS * sizeof(Stop), PROT_READ | PROT_WRITE,
				   MAP_SHARED, file, 0);
	close(file);
	if (address == MAP_FAILED || dladdr((void *) find_stops, &info) == 0)
		abort();
	base = info.dli_fbase;
	stops = address;
}

static void
stop_if_told(void *function, int at_exit)
{
	if (pid == 0)
		find_stops();
	if (stops == NULL)
		return;
	for (int i = 0; i < STOPS; i++)
	{
		Stop	   *stop = &stops[i];

		if (__atomic_load_n(&stop->state, __ATOMIC_ACQUIRE) != ARMED ||
			stop->pid != pid || stop->at_exit != at_exit ||
			stop->function != (char *) function - base)
			continue;
		__atomic_store_n(&stop->state, REACHED, __ATOMIC_RELEASE);
		while (__atomic_load_n(&stop->state, __ATOMIC_ACQUIRE) == REACHED)
		{
			usleep(1000);
			if (getppid() != parent)
				_exit(1);		/* the server was killed */
		}
		__atomic_store_n(&stop->state, FREE, __ATOMIC_RELEASE);
		return;					/* once in a call */
	}
}

void
__cyg_profile_func_enter(void *function, void *caller)
{
	(void) caller;
	stop_if_told(function, 0);
}

void
__cyg_profile_func_exit(void *function, void *caller)
{
	(void) caller;
	stop_if_told(function, 1);
}

/* In place of pg_strong_random(): false while there is FLAKE_STOPS.norandom. */
HOOK bool
random_or_not(void *buffer, size_t length)
{
	char		path[1024];

	snprintf(path, sizeof(path), "%s.norandom", getenv("FLAKE_STOPS"));
	return access(path, F_OK) != 0 &&
		getrandom(buffer, length, 0) == (ssize_t) length;
}
