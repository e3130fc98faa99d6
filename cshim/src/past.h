/*
 * MPI libraries that the program has found by itself: by dlopen, and dlsym on what that returned, as Python's
 * ctypes and Julia do. Such a search never comes to our wrappers, which stand before the library only in the order
 * in which the loader binds symbols. Where MPI was set up that way, and no call has come to us, the process says so
 * at its end, and distinguishes such a program from one that calls PMPI_Init itself. dlsym is not interposed: it would
 * have to find out who asks, and for what.
 */
#ifndef MORIENS_PAST_H
#define MORIENS_PAST_H

#include "base.h"

/* A loaded MPI library, wherever the loader has it: one that MPI was set up in, or any. Its path where path is
 * not NULL. NULL: there is none. */
void *moriens_past_library(bool set_up, char *path, size_t bytes);

#endif
