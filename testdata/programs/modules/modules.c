/* Calls MPI from modules to which something happens while it runs, as its arguments say, in their order:
 *
 *	open FILE          load a library with a function, step
 *	take FILE          remove a file
 *	replace FILE BY    put another file in its place
 *	call               FOR 5 { step(8) of each library that was loaded }
 *	jit                FOR 6 { a function that lies in no file calls MPI_Barrier }
 *
 * Files are taken and replaced when all ranks have loaded what is before, and before they go on. */
#include <mpi.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

typedef int step_function(int trips, MPI_Comm comm);
typedef int made_function(MPI_Comm comm, int (*barrier)(MPI_Comm));

static step_function *steps[8];
static int count;

static void fail(const char *what)
{
	fprintf(stderr, "modules: %s\n", what);
	MPI_Abort(MPI_COMM_WORLD, 1);
}

static void load(const char *file)
{
	void *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
	void *step = library == NULL ? NULL : dlsym(library, "step");

	if (step == NULL || count == 8) fail(file);
	memcpy(&steps[count++], &step, sizeof step);
}

/* A function with a frame, which calls what its second argument points to. */
static made_function *make(void)
{
#if defined __x86_64__
	static const unsigned char text[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd6, 0x5d, 0xc3};
#elif defined __aarch64__
	static const unsigned text[] = {0xa9bf7bfd, 0x910003fd, 0xd63f0020, 0xa8c17bfd, 0xd65f03c0};
#endif
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	made_function *f;

	if (page == MAP_FAILED) fail("no memory");
	memcpy(page, text, sizeof text);
	if (mprotect(page, 4096, PROT_READ | PROT_EXEC) != 0) fail("no executable memory");
	__builtin___clear_cache((char *)page, (char *)page + sizeof text);
	memcpy(&f, &page, sizeof f);
	return f;
}

int main(int argc, char **argv)
{
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int a = 1; a < argc; a++) {
		if (strcmp(argv[a], "open") == 0) {
			load(argv[++a]);
		} else if (strcmp(argv[a], "call") == 0) {
			for (int i = 0; i < 5; i++)
				for (int k = 0; k < count; k++)
					if (steps[k](8, MPI_COMM_WORLD) != 0) fail("step");
		} else if (strcmp(argv[a], "jit") == 0) {
			made_function *f = make();
			for (int i = 0; i < 6; i++)
				if (f(MPI_COMM_WORLD, MPI_Barrier) != MPI_SUCCESS) fail("jit");
		} else {
			MPI_Barrier(MPI_COMM_WORLD);
			if (rank == 0 && (strcmp(argv[a], "take") == 0 ? unlink(argv[a + 1]) : rename(argv[a + 2], argv[a + 1])) != 0) fail(argv[a + 1]);
			MPI_Barrier(MPI_COMM_WORLD);
			a += strcmp(argv[a], "take") == 0 ? 1 : 2;
		}
	}
	MPI_Finalize();
	return 0;
}
