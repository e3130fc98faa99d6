/*
 * Call paths and their numbers in this process. A path is the return address of the MPI call and, unless the user
 * asks for one frame only, those of its callers; an address of 0 stands for the frames of a recursion that are left
 * out. The process's log defines it the first time that any thread comes by. The fuller the log, the fewer frames of a
 * new path are kept (moriens_paths_cut). Threads keep what they have met in caches of their own: callpath.h.
 *
 * In the log a frame is a module and an offset, so that a library that is unloaded and loaded elsewhere keeps its
 * numbers. In memory paths are found by their addresses; all addresses are forgotten when a library was unloaded,
 * because another can lie there now.
 */
#ifndef MORIENS_PATHS_H
#define MORIENS_PATHS_H

#include "base.h"
#include "process.h"

#include <pthread.h>

#define MORIENS_PLACES 4096u /* room for them, a power of two */
#define MORIENS_FOLD 4u /* times that a return address stands in a path; more are a recursion that is folded */

struct moriens_known_path {
	uint64_t hash;
	uint32_t path;
	uint32_t count; /* of addresses, 0 = no entry */
};

struct moriens_paths {
	struct moriens_process_file *process;
	pthread_mutex_t lock;
	uint32_t depth;   /* frames of the longest path */
	uint32_t size;    /* of the tables, a power of two: open addressing, never more than three quarters full */
	uint32_t used;    /* of known */
	uint64_t unloads; /* of moriens_module_unloads when known was last emptied */
	struct moriens_known_path *known;
	uintptr_t *addresses; /* of known[i] from i * depth on */
	uint32_t *defined;    /* where in the log the paths are, by their frames: an eighth of the place, + 1 */
	void *memory;         /* holds the three tables */
	size_t memory_bytes;
	uint32_t paths;   /* defined so far */
	uint32_t cut;     /* frames that paths were shortened to, as the user was informed; 0 = none was */
	uint32_t modules; /* defined so far */
	uint64_t module[256]; /* hash of its file's name and build id */
	uint32_t places; /* defined so far */
	uint32_t place[MORIENS_PLACES]; /* where in the log they are, by what they say: an eighth, + 1; never more than three quarters full */
};

/* Bytes of log that this many paths of that depth take. */
size_t moriens_paths_bytes(size_t paths, uint32_t depth);

/* Returns an errno value. */
int moriens_paths_init(struct moriens_paths *p, struct moriens_process_file *process, uint32_t depth);

/*
 * Folds recursion: of an address that stands in a path more than MORIENS_FOLD times the innermost and the outermost one
 * are left, with a 0 between them instead of what was there. Returns how many addresses and marks are left.
 */
uint32_t moriens_paths_fold(uintptr_t *chain, uint32_t count);

/* How many of so many frames a new path keeps where so much of a log is in use: MORIENS_CUT_FRAMES beyond three
 * quarters of it, the innermost one beyond fifteen sixteenths, so that each call still has its place. */
uint32_t moriens_paths_cut(uint32_t count, uint64_t used, uint64_t room);

#define MORIENS_CUT_FRAMES 8u

static inline uint64_t moriens_path_hash(uint64_t hash, uintptr_t address)
{
	return (hash ^ address) * 0x9e3779b97f4a7c15u;
}

/* The number of the path with these return addresses, innermost first; false: it has none yet. */
bool moriens_paths_find(struct moriens_paths *p, const uintptr_t *chain, uint32_t count, uint32_t *path);

/* The same, and defines it where that is new; 0 when the log is full, which is counted. */
uint32_t moriens_paths_intern(struct moriens_paths *p, const uintptr_t *chain, uint32_t count);

/* The number of a line of an interpreter's program, which is defined where it is new; 0 when there is no room. */
uint32_t moriens_paths_place(struct moriens_paths *p, const char *file, const char *function, uint32_t line);

/* The number of a path of such lines, innermost first, likewise. */
uint32_t moriens_paths_of_places(struct moriens_paths *p, const uint32_t *places, uint32_t count);

/* Define a module or a path in the log and return its number, or 0 when the log is full. Under the lock. */
uint32_t moriens_paths_define_module(struct moriens_paths *p, const char *path, const uint8_t *build_id, uint32_t build_id_bytes);
uint32_t moriens_paths_define(struct moriens_paths *p, const struct moriens_log_frame *frames, uint16_t count);

#endif
