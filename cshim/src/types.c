#include "types.h"

#include <string.h>

#define BITS 6

uint64_t moriens_type_frees;

/* Of this thread. */
static _Thread_local struct entry {
	word type; /* 0 = no entry */
	uint64_t bytes;
} entries[1 << BITS];

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

uint64_t moriens_type_other(struct moriens_type_cache *cache, word type)
{
	uint64_t frees = __atomic_load_n(&moriens_type_frees, __ATOMIC_ACQUIRE);
	struct entry *entry = &entries[type * 0x9e3779b97f4a7c15u >> (64 - BITS)];

	if (unlikely(cache->frees != frees)) {
		memset(entries, 0, sizeof entries);
		cache->frees = frees;
	}
	if (unlikely(entry->type != type))
		*entry = (struct entry){type, ask(moriens_c_handle(type, moriens_mpi.type_f2c))};
	cache->type = type;
	cache->bytes = entry->bytes;
	return entry->bytes;
}

/* Before the type is freed: afterwards another thread may make a type with this handle and use it before we come. */
void moriens_forget_types(void)
{
	__atomic_fetch_add(&moriens_type_frees, 1, __ATOMIC_ACQ_REL);
}
