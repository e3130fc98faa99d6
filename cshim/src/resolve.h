/* Finds the functions behind our wrappers: the MPI library's own, or those of a tool that lies between (stack.h). */
#ifndef MORIENS_RESOLVE_H
#define MORIENS_RESOLVE_H

#include "base.h"
#include "mpi_calls_gen.h"

typedef void (*moriens_function)(void);

extern MORIENS_HIDDEN moriens_function moriens_real_functions[MORIENS_CALLS];

/* The address of a symbol of the MPI library that the code at site calls, or NULL. */
void *moriens_find_symbol(const char *name, const void *site);
moriens_function moriens_find_function(const char *name, const void *site);

/* Ends the process, with one line, if this MPI has no such function. */
moriens_function moriens_resolve(enum moriens_call call, const void *site);

/* The same for a wrapper that keeps its function in *known. */
moriens_function moriens_resolve_kept(moriens_function *known, const char *pmpi, const void *site);

/* The same for a Fortran function, mpi_x_ also by its other manglings; keeps it in *known. */
moriens_function moriens_resolve_fortran(moriens_function *known, const char *symbol, const void *site);

/* The function behind the wrapper of a call. */
MORIENS_HOT moriens_function moriens_real(enum moriens_call call, const void *site)
{
	moriens_function f = __atomic_load_n(&moriens_real_functions[call], __ATOMIC_RELAXED);

	return likely(f != NULL) ? f : moriens_resolve(call, site);
}

/* The function behind a Fortran wrapper. */
static inline moriens_function moriens_real_fortran(moriens_function *known, const char *symbol, const void *site)
{
	moriens_function f = __atomic_load_n(known, __ATOMIC_RELAXED);

	return likely(f != NULL) ? f : moriens_resolve_fortran(known, symbol, site);
}

#endif
