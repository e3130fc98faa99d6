#include "mpi_family.h"
#include "resolve.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_COMM_WORLD where it is a number: MPI-5.0 standard ABI, appendix A.1, and MPICH's mpi.h. */
#define ABI_COMM_WORLD ((word)0x101)
#define MPICH_COMM_WORLD ((word)0x44000000)

/* MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI and 8192 in MPICH and the standard ABI. */
#define VERSION_BYTES 8192

static word comm_world(const void *site)
{
	int major = 0, minor = 0;
	int (*abi_version)(int *, int *) = (int (*)(int *, int *))moriens_find_function("PMPI_Abi_get_version", site);

	/* Libraries that do not follow the standard ABI may have the function too, and answer -1. */
	if (abi_version != NULL && abi_version(&major, &minor) == 0 && major >= 1)
		return ABI_COMM_WORLD;
	/* Executables hold a copy of this object, and the library's own is then dead: search from the front. */
	void *ompi = dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world");
	if (ompi == NULL)
		ompi = moriens_find_symbol("ompi_mpi_comm_world", site);
	return ompi != NULL ? (word)ompi : MPICH_COMM_WORLD;
}

bool moriens_mpi_initialized(const void *site)
{
	int (*initialized)(int *) = (int (*)(int *))moriens_find_function("PMPI_Initialized", site);
	int flag = 0;

	return initialized != NULL && initialized(&flag) == 0 && flag != 0;
}

bool moriens_mpi_rank(const void *site, int32_t *rank, int32_t *size)
{
	int (*comm_rank)(word, int *) = (int (*)(word, int *))moriens_find_function("PMPI_Comm_rank", site);
	int (*comm_size)(word, int *) = (int (*)(word, int *))moriens_find_function("PMPI_Comm_size", site);
	int r = -1, s = -1;

	if (comm_rank == NULL || comm_size == NULL)
		return false;
	word world = comm_world(site);
	if (comm_rank(world, &r) != 0 || comm_size(world, &s) != 0 || r < 0 || s <= r)
		return false;
	*rank = r;
	*size = s;
	return true;
}

void moriens_mpi_library(const void *site, char *text, size_t bytes)
{
	int (*version)(char *, int *) = (int (*)(char *, int *))moriens_find_function("PMPI_Get_library_version", site);
	char all[VERSION_BYTES] = "";
	int length = 0;

	if (version != NULL)
		version(all, &length);
	all[strcspn(all, "\n")] = '\0';
	snprintf(text, bytes, "%.*s", (int)bytes - 1, all);
}

void moriens_mpi_world(char *text, size_t bytes)
{
	const char *pmix = getenv("PMIX_NAMESPACE");
	const char *job = getenv("SLURM_JOB_ID");
	const char *step = getenv("SLURM_STEP_ID");

	text[0] = '\0';
	if (pmix != NULL)
		snprintf(text, bytes, "%s", pmix);
	/* Slurm's own PMI names the job; another launcher that srun started, such as hydra's proxy, inherits
	 * the step's number but may run several worlds in it. */
	else if (job != NULL && step != NULL && getenv("PMI_JOBID") != NULL)
		snprintf(text, bytes, "slurm:%s.%s", job, step);
}
