#include "fakempi.h"

#include <stdio.h>
#include <string.h>

#define FAKE __attribute__((visibility("default")))

static int initialized;

FAKE int PMPI_Init(word argc, word argv)
{
	(void)argc;
	(void)argv;
	__atomic_store_n(&initialized, 1, __ATOMIC_RELEASE);
	return 0;
}

FAKE int PMPI_Finalize(void)
{
	return 0;
}

FAKE int PMPI_Initialized(int *flag)
{
	*flag = __atomic_load_n(&initialized, __ATOMIC_ACQUIRE);
	return 0;
}

FAKE int PMPI_Comm_rank(word comm, int *rank)
{
	(void)comm;
	*rank = 0;
	return 0;
}

FAKE int PMPI_Comm_size(word comm, int *size)
{
	(void)comm;
	*size = 1;
	return 0;
}

FAKE int PMPI_Get_library_version(char *version, int *length)
{
	*length = sprintf(version, "fake MPI 1\nsecond line");
	return 0;
}

FAKE int PMPI_Barrier(word comm)
{
	(void)comm;
	return 0;
}

FAKE int PMPI_Iprobe(word source, word tag, word comm, word flag, word status)
{
	(void)source, (void)tag, (void)comm, (void)status;
	*(int *)flag = 0;
	return 0;
}

/* Calls itself through the wrapper, as MPI libraries may: no record of its own. */
FAKE int PMPI_Send(word buf, word count, word type, word dest, word tag, word comm)
{
	(void)buf, (void)count, (void)type, (void)dest, (void)tag;
	return MPI_Barrier(comm);
}

/* Handles are ints, as in MPICH; the least that is free is given. */
#define DERIVED 0x84000000u

static unsigned given; /* atomic: bits of the handles from DERIVED on */

FAKE void (*fake_comm_freed)(void);

FAKE int PMPI_Comm_dup(word comm, unsigned *newcomm)
{
	unsigned bits = __atomic_load_n(&given, __ATOMIC_ACQUIRE);

	(void)comm;
	while (!__atomic_compare_exchange_n(&given, &bits, bits | (bits + 1), 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		;
	*newcomm = DERIVED + (unsigned)__builtin_ctz(~bits);
	return 0;
}

FAKE int PMPI_Comm_free(unsigned *comm)
{
	__atomic_fetch_and(&given, ~(1u << (*comm - DERIVED)), __ATOMIC_ACQ_REL);
	*comm = 0x04000000;
	if (fake_comm_freed != NULL)
		fake_comm_freed();
	return 0;
}

FAKE int PMPI_Session_init(word info, word errhandler, int *session)
{
	(void)info, (void)errhandler;
	*session = 11;
	return 0;
}

FAKE int PMPI_Session_finalize(int *session)
{
	*session = 0;
	return 0;
}

FAKE int PMPI_Group_from_session_pset(int session, const char *name, int *group)
{
	*group = 22;
	return session == 11 && strcmp(name, "mpi://WORLD") == 0 ? 0 : 1;
}

FAKE int PMPI_Group_rank(int group, int *rank)
{
	*rank = 3;
	return group == 22 ? 0 : 1;
}

FAKE int PMPI_Group_size(int group, int *size)
{
	*size = 5;
	return group == 22 ? 0 : 1;
}

FAKE int PMPI_Group_free(int *group)
{
	return *group == 22 ? 0 : 1;
}
