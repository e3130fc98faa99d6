/*
 * Sizes of datatypes, kept by handle.
 *
 * A handle can be another type's when its own was freed: every MPI_Type_free in the process, in any binding, makes all
 * threads forget what they know.
 */
#ifndef MORIENS_TYPES_H
#define MORIENS_TYPES_H

#include "mpi_facts.h"

#define MORIENS_TYPE_BITS 6

/* One thread's. */
struct moriens_type_cache {
	uint64_t frees; /* moriens_type_frees when it was last emptied */
	struct {
		word type; /* C handle or Fortran one, 0 = no entry */
		uint64_t bytes;
	} entry[1 << MORIENS_TYPE_BITS];
};

/* Atomic: types that were freed in this process. */
extern uint64_t moriens_type_frees;

/* A type is about to be freed. */
void moriens_forget_types(void);

uint64_t moriens_type_miss(struct moriens_type_cache *cache, word type);

/* Bytes of data in one element of the type. */
static inline uint64_t moriens_type_bytes(struct moriens_type_cache *cache, word type)
{
	/* Acquire: a type that has the handle now was made after the one that is kept was freed. */
	if (likely(cache->frees == __atomic_load_n(&moriens_type_frees, __ATOMIC_ACQUIRE))) {
		uint32_t at = (uint32_t)(type * 0x9e3779b97f4a7c15u >> (64 - MORIENS_TYPE_BITS));
		if (likely(cache->entry[at].type == type))
			return cache->entry[at].bytes;
	}
	return moriens_type_miss(cache, type);
}

#endif
