/* Asks for a function that Open MPI 4 lacks: its own library, and then anybody, and calls what it gets. */
#include "planted.h"

#include <dlfcn.h>

int main(void)
{
	union {
		void *object;
		int (*function)(void);
	} symbol;
	void *mpi = dlopen("libmpi.so.40", RTLD_LAZY | RTLD_NOLOAD);

	MPI(Init, NULL, NULL);
	report(0);
	if (mpi == NULL || dlsym(mpi, "MPI_Session_finalize") != NULL)
		return 1;
	symbol.object = dlsym(RTLD_DEFAULT, "MPI_Session_finalize");
	if (symbol.object == NULL)
		return 2;
	return symbol.function();
}
