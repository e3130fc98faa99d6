/*
 * The file whose locks show whether a program is there: the node's agent. Its first byte is locked while a process
 * starts the program, the rest while the program, or one that it has passed the descriptor on to, runs. The locks are
 * those of the open file description (fcntl F_OFD_SETLK). A process that removes the file locks the first byte too; the
 * program, which has the rest, may rename or remove it.
 */
#ifndef MORIENS_LOCK_H
#define MORIENS_LOCK_H

#include "base.h"

enum moriens_lock_state {
	MORIENS_LOCK_STARTING, /* whether there will be a program is open */
	MORIENS_LOCK_RUNNING,
	MORIENS_LOCK_ENDED, /* what the file holds is its last word */
	MORIENS_LOCK_REMOVED,
};

int moriens_lock_open(const char *path); /* -1: it is not there */
enum moriens_lock_state moriens_lock_look(int fd);
bool moriens_lock_is_running(int fd); /* asked of a file with which nobody starts anything */

/* These call nothing but the kernel: moriens_spawn uses them where there is no more. */
bool moriens_lock_is_at(int fd, const char *path);
bool moriens_lock_is_empty(int fd); /* neither removed nor written to */
bool moriens_lock_starting(int fd); /* whether the lock is ours now */
bool moriens_lock_running(int fd);

/* Removes the file unless a program runs or is being started, and the directory that it is in if nothing else is
 * there. */
void moriens_lock_remove(const char *path, const char *directory);

#endif
