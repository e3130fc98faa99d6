/*
 * The names of phases and events and their numbers in this process. A program may use names before MPI is
 * initialised, when there is no log yet: they are kept here, and go to the log when there is one.
 *
 * A name that is known is found without a lock. Names take up to half of the log, so that a program which makes ever
 * new ones does not cost the call paths theirs.
 */
#ifndef MORIENS_NAMES_H
#define MORIENS_NAMES_H

#include "base.h"
#include "process.h"

#include <pthread.h>

/* Longer names are cut, to whole characters of UTF-8: moriens_log_entry has 16 bits for their length. */
#define MORIENS_MAX_NAME_BYTES 65535u

/* The number of a name; 0 where there is no room for it, which is counted. Any thread may ask. */
uint32_t moriens_names_intern(const char *name, size_t bytes);

/* The process has a log, which no other thread writes yet: from now on names go there, under its lock. */
void moriens_names_attach(struct moriens_process_file *process, pthread_mutex_t *lock);

/* After a fork, in the child: another thread of the parent may have held our lock. */
void moriens_names_forked(void);

#endif
