#include "mpi_family.h"
#include "mpi_facts.h"
#include "resolve.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* MPI_MAX_LIBRARY_VERSION_STRING is 256 in Open MPI and 8192 in MPICH and the standard ABI. */
#define VERSION_BYTES 8192

/* Whether the library follows the MPI-5 standard ABI. Others may have the function too, and answer -1. */
static bool standard_abi(const void *site)
{
	int major = 0, minor = 0;
	int (*abi_version)(int *, int *) = (int (*)(int *, int *))moriens_find_function("PMPI_Abi_get_version", site);

	return abi_version != NULL && abi_version(&major, &minor) == 0 && major >= 1;
}

enum moriens_family moriens_mpi_family(const void *site)
{
	if (standard_abi(site))
		return MORIENS_FAMILY_STANDARD;
	/* Executables hold a copy of this object, and the library's own is then dead: search from the front. */
	if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world") != NULL || moriens_find_symbol("ompi_mpi_comm_world", site) != NULL)
		return MORIENS_FAMILY_OPEN_MPI;
	return MORIENS_FAMILY_MPICH;
}

/* Asks MPI_Initialized or MPI_Finalized. */
static bool ask(const char *name, const void *site)
{
	int (*question)(int *) = (int (*)(int *))moriens_find_function(name, site);
	int flag = 0;

	return question != NULL && question(&flag) == 0 && flag != 0;
}

bool moriens_mpi_initialized(const void *site)
{
	return ask("PMPI_Initialized", site);
}

bool moriens_mpi_finalized(const void *site)
{
	return ask("PMPI_Finalized", site);
}

bool moriens_mpi_world_open(const void *site)
{
	return ask("PMPI_Initialized", site) && !ask("PMPI_Finalized", site);
}

/* MPICH's handles are ints, all others' pointers. */
static word handle_at(const void *address, const void *site)
{
	if (moriens_mpi_family(site) == MORIENS_FAMILY_MPICH)
		return *(const unsigned int *)address;
	return *(const word *)address;
}

word moriens_mpi_session(word address, const void *site)
{
	return handle_at((const void *)address, site);
}

word moriens_mpi_session_fortran(word address, const void *site)
{
	int fortran = *(const int *)address;
	word (*convert)(int) = (word (*)(int))moriens_find_function("PMPI_Session_fromint", site);

	if (convert == NULL)
		convert = (word (*)(int))moriens_find_function("PMPI_Session_f2c", site);
	return convert != NULL ? convert(fortran) : (unsigned int)fortran;
}

/*
 * Sessions that are open, so that one can be asked for its process set. The lock keeps it open while it is asked: the
 * library may end a program that names a closed one. Those that there is no room for are not needed.
 */
static pthread_mutex_t sessions_lock = PTHREAD_MUTEX_INITIALIZER;
static word sessions[16];
static size_t session_count;
static bool session_known; /* there has been one */

void moriens_mpi_add_session(word handle)
{
	pthread_mutex_lock(&sessions_lock);
	if (session_count < sizeof sessions / sizeof sessions[0])
		sessions[session_count++] = handle;
	__atomic_store_n(&session_known, true, __ATOMIC_RELEASE);
	pthread_mutex_unlock(&sessions_lock);
}

void moriens_mpi_remove_session(word handle)
{
	pthread_mutex_lock(&sessions_lock);
	for (size_t i = 0; i < session_count; i++)
		if (sessions[i] == handle) {
			sessions[i] = sessions[--session_count];
			break;
		}
	pthread_mutex_unlock(&sessions_lock);
}

bool moriens_mpi_ready(const void *site)
{
	return __atomic_load_n(&session_known, __ATOMIC_ACQUIRE) || moriens_mpi_initialized(site);
}

static bool session_group(word *group)
{
	bool given;

	*group = 0;
	if (moriens_mpi.group_from_session_pset == NULL)
		return false;
	pthread_mutex_lock(&sessions_lock);
	given = session_count > 0 && moriens_mpi.group_from_session_pset(sessions[0], "mpi://WORLD", group) == 0;
	pthread_mutex_unlock(&sessions_lock);
	return given;
}

bool moriens_mpi_world_group(const void *site, word *group)
{
	*group = 0;
	if (moriens_mpi_world_open(site))
		return moriens_mpi.comm_group != NULL && moriens_mpi.comm_group(moriens_mpi.comm_world, group) == 0;
	return session_group(group);
}

static bool ask_both(int (*rank_of)(word, int *), int (*size_of)(word, int *), word handle, int32_t *rank, int32_t *size)
{
	int r = -1, s = -1;

	if (rank_of == NULL || size_of == NULL || rank_of(handle, &r) != 0 || size_of(handle, &s) != 0 || r < 0 || s <= r)
		return false;
	*rank = r;
	*size = s;
	return true;
}

bool moriens_mpi_rank(const void *site, int32_t *rank, int32_t *size)
{
	word group;

	if (moriens_mpi_initialized(site))
		return ask_both(moriens_mpi.comm_rank, moriens_mpi.comm_size, moriens_mpi.comm_world, rank, size);
	if (moriens_mpi.group_free == NULL || !session_group(&group))
		return false;
	bool known = ask_both(moriens_mpi.group_rank, moriens_mpi.group_size, group, rank, size);
	moriens_mpi.group_free(&group);
	return known;
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

void moriens_mpi_process(const char *world, int rank, char *text, size_t bytes)
{
	text[0] = '\0';
	if (world[0] != '\0' && rank >= 0)
		snprintf(text, bytes, "%s.%d", world, rank);
}

void moriens_mpi_spawner(char *text, size_t bytes)
{
	const char *port = getenv("OMPI_PARENT_PORT"); /* the process, a colon and a number */

	text[0] = '\0';
	if (port == NULL)
		return;
	port += strspn(port, "\"");
	if (strrchr(port, ':') != NULL)
		snprintf(text, bytes, "%.*s", (int)(strrchr(port, ':') - port), port);
}
