/*
 * Everything the shim asks of the operating system. No function here fails the application: they
 * return 0 or an errno value, and leave errno as it was.
 */
#ifndef MORIENS_OS_H
#define MORIENS_OS_H

#include "base.h"

#include <signal.h>

/* A file that is mapped, and not yet under its final name. */
struct moriens_file {
	void *memory;
	size_t bytes;
	int fd;
	char temporary[64];
};

/* Makes the directory if it is missing; refuses one that is not ours alone. Returns its descriptor in *fd. */
int moriens_os_open_directory(const char *path, int *fd);

/* Likewise; where somebody else has that name, which anybody may have foretold, it is one with random behind it, which
 * other ranks find and path becomes. */
int moriens_os_open_beside(char *path, size_t bytes, int *fd);

/* Creates a file of zeros under a temporary name, and allocates and maps its first bytes; its size is all of them.
 * ENOSPC: too large for what is free. */
int moriens_os_create(int directory, const char *name, size_t bytes, size_t all, struct moriens_file *file);

/* Allocates further bytes of such a file that is mapped and has its name, and maps them, unless *memory says that they
 * are. ENOSPC: more than a file should take of what is free. It is not done where somebody has removed the file. */
int moriens_os_extend(const char *directory, const char *name, const void *mapped, size_t offset, size_t bytes, void **memory);

/* Gives the file its final name. */
int moriens_os_publish(int directory, const char *name, struct moriens_file *file);

/* Removes the file again, under its temporary name. */
void moriens_os_discard(int directory, struct moriens_file *file);

/* Locks the file for as long as this process maps it, and closes the descriptor. */
int moriens_os_lock(struct moriens_file *file);

void moriens_os_close(int fd);

/* Blocks all signals of the thread: a profiling timer would interrupt the allocation of a file endlessly. */
void moriens_os_block_signals(sigset_t *saved);
void moriens_os_restore_signals(const sigset_t *saved);
void moriens_os_unmap(void *memory, size_t bytes);
/* For a part of what moriens_os_extend mapped: unmaps it; frees its memory in the file, and keeps the mapping. */
void moriens_os_unmap_part(void *memory, size_t bytes);
void moriens_os_free_part(void *memory, size_t bytes);

/* Zeroed private memory, or NULL. */
void *moriens_os_memory(size_t bytes);

/* Copies memory of this process. False: not all of it is there, or the kernel does not let a process ask. */
bool moriens_os_read_memory(uintptr_t from, void *to, size_t bytes);

/* Creates an empty file. */
int moriens_os_touch(int directory, const char *name);

/* The same with a text, which is there when the name is. */
int moriens_os_leave(int directory, const char *name, const char *text);

/* Wakes the processes that watch a file: sets its times to now. */
void moriens_os_ring(const char *path);

/* How many bytes of the directory's file system one file may take, so that the other ranks of the node, and the
 * application, which shares it with us, do not starve: a quarter of what is free, divided by the CPUs of the
 * machine. */
uint64_t moriens_os_share(int directory);

/* Whether the kernel has a driver for a hardware performance monitoring unit. */
bool moriens_os_has_pmu(void);

/* Reads so many bytes from the start of a file. False: it is not there, or shorter. */
bool moriens_os_read_start(const char *directory, const char *name, void *to, size_t bytes);

uint64_t moriens_os_monotonic_us(void);
void moriens_os_sleep_us(uint64_t us); /* or until a signal is handled */

uint64_t moriens_os_random(void);
uint32_t moriens_os_pid(void);
uint32_t moriens_os_tid(void);
uint32_t moriens_os_uid(void);

/* Fill the buffer with NUL-terminated text, cut where too long, empty where unknown. */
void moriens_os_host(char *text, size_t bytes);
void moriens_os_executable(char *text, size_t bytes);
void moriens_os_parent(char *text, size_t bytes); /* host/pid/start time */
void moriens_os_clock_source(char *text, size_t bytes);

/* Finds the nearest ancestor that has an option on its command line: the option's value, and the ancestor's own parent,
 * as moriens_os_parent says it, or nothing where that is the first process. */
bool moriens_os_ancestor(const char *option, char *value, size_t value_bytes, char *parent, size_t parent_bytes);

bool moriens_os_executable_file(const char *path);
void moriens_os_working_directory(char *text, size_t bytes);

void moriens_os_remove(const char *path);
void moriens_os_remove_empty(const char *directory);

/* Copies the start of a file to stderr. */
void moriens_os_say_file(int fd);

/* Says something on stderr, with a hint; only so often per process. */
void moriens_os_warn(const char *problem, const char *hint);

#endif
