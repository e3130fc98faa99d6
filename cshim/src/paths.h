/*
 * Call paths and their numbers. A path of depth one is the return address of the MPI call; the
 * process's log defines it the first time that any thread comes by.
 *
 * A thread keeps the numbers it has met in a cache of its own, so that the usual lookup is one
 * comparison, without a lock.
 */
#ifndef MORIENS_PATHS_H
#define MORIENS_PATHS_H

#include "base.h"
#include "process.h"

#include <pthread.h>

#define MORIENS_PATH_CACHE 256 /* entries, a power of two: more MPI call sites than most programs have */

struct moriens_path_entry {
	uintptr_t site;
	uint32_t path;
};

struct moriens_path_module {
	uintptr_t base;
	uint64_t name; /* hash of its path: another library can come to lie where one was unloaded */
};

struct moriens_paths {
	struct moriens_process_file *process;
	pthread_mutex_t lock;
	struct moriens_path_entry *table; /* open addressing, never more than three quarters full */
	uint32_t table_size;
	uint32_t table_used;
	uint32_t paths;   /* defined so far */
	uint32_t modules; /* defined so far */
	struct moriens_path_module module[256];
};

/* Returns an errno value. */
int moriens_paths_init(struct moriens_paths *p, struct moriens_process_file *process);

/* The number of the path that ends in this return address; 0 when the log is full, which is counted. */
uint32_t moriens_paths_intern(struct moriens_paths *p, uintptr_t site);

/* Define a module or a path in the log and return its number, or 0 when the log is full. Under the lock. */
uint32_t moriens_paths_define_module(struct moriens_paths *p, const char *path, const uint8_t *build_id, uint32_t build_id_bytes);
uint32_t moriens_paths_define(struct moriens_paths *p, const struct moriens_log_frame *frames, uint16_t count);

static inline struct moriens_path_entry *moriens_path_slot(struct moriens_path_entry *cache, uintptr_t site)
{
	/* Return addresses of one program differ in their low bits most. */
	return &cache[(site ^ site >> 8) & (MORIENS_PATH_CACHE - 1)];
}

#endif
