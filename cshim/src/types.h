/*
 * Sizes of datatypes, kept by handle.
 *
 * A handle can be another type's when its own was freed: every MPI_Type_free in the process, in any binding, makes all
 * threads forget what they know.
 */
#ifndef MORIENS_TYPES_H
#define MORIENS_TYPES_H

#include "mpi_facts.h"

/* One thread's. */
struct moriens_type_cache {
	uint64_t frees; /* moriens_type_frees when it was last emptied */
	word type;      /* that was looked up last, as most calls have the type of the call before: C handle or Fortran one, 0 = none */
	uint64_t bytes; /* of it */
};

/* Atomic: types that were freed in this process. */
extern MORIENS_HIDDEN uint64_t moriens_type_frees;

/* A type is about to be freed. */
void moriens_forget_types(void);

/* Not that of the last call. */
uint64_t moriens_type_other(struct moriens_type_cache *cache, word type);

/* Bytes of data in one element of the type. */
MORIENS_HOT uint64_t moriens_type_bytes(struct moriens_type_cache *cache, word type)
{
	/* Acquire: a type that has the handle now was made after the one that is kept was freed. */
	if (likely(cache->frees == __atomic_load_n(&moriens_type_frees, __ATOMIC_ACQUIRE)) && likely(cache->type == type))
		return cache->bytes;
	return moriens_type_other(cache, type);
}

#endif
