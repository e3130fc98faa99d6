/*
 * Loads libraries one after the other, calls the function barrier of each, and unloads it, so that the next one comes
 * to lie where it was. Prints how many did.
 *
 *	reload LIBRARY...
 */
#include "planted.h"

#include <dlfcn.h>

int main(int argc, char **argv)
{
	void *last = NULL;
	int rank, same = 0;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 1; i < argc; i++) {
		void *library = dlopen(argv[i], RTLD_NOW | RTLD_LOCAL);
		if (library == NULL) {
			fprintf(stderr, "%s\n", dlerror());
			return 1;
		}
		void *function = dlsym(library, "barrier");
		planted_add("MPI_Barrier", 1);
		((void (*)(void))(uintptr_t)function)();
		same += function == last;
		last = function;
		dlclose(library);
	}
	printf("%d\n", same);
	MPI(Finalize);
	report(rank);
	return 0;
}
