/* MPI_Type_free in all bindings: passed on without a record, after all threads were made to forget the type. */
#include "fortran.h"
#include "types.h"

MORIENS_PUBLIC int MPI_Type_free(word type)
{
	static moriens_function known;
	moriens_function f = __atomic_load_n(&known, __ATOMIC_RELAXED);
	int (*real)(word) = (int (*)(word))(likely(f != NULL) ? f : moriens_resolve_kept(&known, "PMPI_Type_free", __builtin_return_address(0)));

	moriens_forget_types();
	return real(type);
}

/* The Fortran forms of it, which Fortran libraries need not make of the C one. */
#define FORTRAN_TYPE_FREE(symbol) \
	MORIENS_PUBLIC void symbol(word type, word ierror) \
	{ \
		static moriens_function known; \
		void (*real)(word, word) = (void (*)(word, word))moriens_real_fortran(&known, #symbol, __builtin_return_address(0)); \
\
		moriens_forget_types(); \
		real(type, ierror); \
	}

FORTRAN_TYPE_FREE(mpi_type_free_)
MORIENS_FORTRAN_NAMES(mpi_type_free_, mpi_type_free__, MPI_TYPE_FREE, MPI_Type_free_f, MPI_Type_free_f08)
FORTRAN_TYPE_FREE(mpi_type_free_f08_)
FORTRAN_TYPE_FREE(mpi_type_free_f08ts_)
