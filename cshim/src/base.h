/* What every file of the shim needs of the compiler. */
#ifndef MORIENS_BASE_H
#define MORIENS_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A machine word: how every MPI argument travels through a wrapper, whatever its type is. */
typedef uintptr_t word;

#define MORIENS_PUBLIC __attribute__((visibility("default")))
#define MORIENS_COLD __attribute__((noinline, cold))
#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

#endif
