/*
 * Starting a program that is a child of no process here: not of the application, which may wait for its children and
 * count them, nor in its session. It inherits nothing but one lock.
 */
#ifndef MORIENS_SPAWN_H
#define MORIENS_SPAWN_H

#include "base.h"

struct moriens_spawn {
	const char *program;
	char *const *arguments;
	char *const *environment;
	/* Path of a file (lock.h): the program starts only if it is not locked and empty, and inherits the lock as
	 * descriptor 3. */
	const char *lock;
	const char *making; /* path beside it, of no file, that no other process uses */
};

/*
 * Returns 0: it was started; EALREADY: somebody else has the file, or has just had it; ECANCELED: the file is not
 * empty; else an errno value, and the file is removed if it is ours. The lock lasts until the program, and all to whom
 * it passes the descriptor on, have ended. The caller's signals must be blocked.
 */
int moriens_spawn(const struct moriens_spawn *spawn);

#endif
