#include "types.h"

#include <string.h>

uint64_t moriens_type_frees;

/* 0 if the library does not say. Only types are asked about: anything else would call the program's error handler. */
static uint64_t ask(word type)
{
	long long large = 0;
	int small = 0;

	if (type == 0 || type == moriens_mpi.type_null)
		return 0;
	if (moriens_mpi.type_size_x != NULL && moriens_mpi.type_size_x(type, &large) == 0)
		return large > 0 ? (uint64_t)large : 0;
	if (moriens_mpi.type_size != NULL && moriens_mpi.type_size(type, &small) == 0)
		return small > 0 ? (uint64_t)small : 0;
	return 0;
}

MORIENS_COLD uint64_t moriens_type_miss(struct moriens_type_cache *cache, word type)
{
	uint64_t frees = __atomic_load_n(&moriens_type_frees, __ATOMIC_ACQUIRE);
	uint32_t at = (uint32_t)(type * 0x9e3779b97f4a7c15u >> (64 - MORIENS_TYPE_BITS));

	if (cache->frees != frees) {
		memset(cache->entry, 0, sizeof cache->entry);
		cache->frees = frees;
	}
	cache->entry[at].type = type;
	cache->entry[at].bytes = ask(moriens_c_handle(type, moriens_mpi.type_f2c));
	return cache->entry[at].bytes;
}

/* Before the type is freed: afterwards another thread may make a type with this handle and use it before we come. */
void moriens_forget_types(void)
{
	__atomic_fetch_add(&moriens_type_frees, 1, __ATOMIC_ACQ_REL);
}
