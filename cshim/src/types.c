#include "types.h"
#include "fortran.h"

#include <string.h>

uint64_t moriens_type_frees;

/* 0 where the library does not say. What is no type is not asked about: the program's error handler would be told. */
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
static void forget(void)
{
	__atomic_fetch_add(&moriens_type_frees, 1, __ATOMIC_ACQ_REL);
}

MORIENS_PUBLIC int MPI_Type_free(word type)
{
	static moriens_function known;
	moriens_function f = __atomic_load_n(&known, __ATOMIC_RELAXED);
	int (*real)(word) = (int (*)(word))(likely(f != NULL) ? f : moriens_resolve_kept(&known, "PMPI_Type_free", __builtin_return_address(0)));

	forget();
	return real(type);
}

/* The Fortran forms of it, which Fortran libraries need not make of the C one. */
#define FORTRAN_TYPE_FREE(symbol) \
	MORIENS_PUBLIC void symbol(word type, word ierror) \
	{ \
		static moriens_function known; \
		void (*real)(word, word) = (void (*)(word, word))moriens_real_fortran(&known, #symbol, __builtin_return_address(0)); \
\
		forget(); \
		real(type, ierror); \
	}


FORTRAN_TYPE_FREE(mpi_type_free_)
MORIENS_FORTRAN_NAMES(mpi_type_free_, mpi_type_free__, MPI_TYPE_FREE, MPI_Type_free_f, MPI_Type_free_f08)
FORTRAN_TYPE_FREE(mpi_type_free_f08_)
FORTRAN_TYPE_FREE(mpi_type_free_f08ts_)
