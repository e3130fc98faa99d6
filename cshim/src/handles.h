/*
 * Tables from MPI's handles to what the shim knows of the objects behind them.
 *
 * Looking up takes no lock. Entries are never given back to the system, so a reader may stand on one that is just
 * being taken away or used again: it then misses what is there, and the caller asks once more under the lock;
 * but what it finds has the handle that it asked for.
 */
#ifndef MORIENS_HANDLES_H
#define MORIENS_HANDLES_H

#include "base.h"

#include <pthread.h>

#define MORIENS_HANDLE_BUCKETS 1024u /* a power of two */

/* The first member of every entry. */
struct moriens_handle {
	word handle;                 /* atomic */
	struct moriens_handle *next; /* atomic: in its bucket, or of those that are free */
};

struct moriens_handles {
	pthread_mutex_t lock;
	size_t entry_bytes;
	struct moriens_handle *bucket[MORIENS_HANDLE_BUCKETS]; /* atomic */
	struct moriens_handle *free;
};

#define MORIENS_HANDLES(entry) {.lock = PTHREAD_MUTEX_INITIALIZER, .entry_bytes = sizeof(entry)}

/* NULL: it is not there, or is just being changed. */
void *moriens_handles_find(const struct moriens_handles *t, word handle);

/* Under the lock, all three. A new entry is zeroed and not found before it is added; NULL: no memory. */
void *moriens_handles_new(struct moriens_handles *t);
void moriens_handles_add(struct moriens_handles *t, void *entry, word handle);
void moriens_handles_remove(struct moriens_handles *t, void *entry);

#endif
