/* What every file of the shim needs of the compiler. */
#ifndef MORIENS_BASE_H
#define MORIENS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A machine word: how every MPI argument travels through a wrapper, whatever its type is. */
typedef uintptr_t word;

#define MORIENS_PUBLIC __attribute__((visibility("default")))
/* On declarations, too: the compiler then reaches a variable without the global offset table. */
#define MORIENS_HIDDEN __attribute__((visibility("hidden")))
/* On the way of every call: a call of its own would have the wrapper keep in memory what it can keep in registers. But
 * where the wrappers had better be small, the compiler decides. */
#ifdef MORIENS_SMALL
#define MORIENS_HOT static inline
#else
#define MORIENS_HOT static inline __attribute__((always_inline))
#endif
#define MORIENS_COLD __attribute__((noinline, cold))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
