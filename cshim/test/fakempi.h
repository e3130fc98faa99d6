/* As much of an MPI as the programs of this folder need: every call returns at once. */
#ifndef FAKEMPI_H
#define FAKEMPI_H

#include <stddef.h>
#include <stdint.h>

typedef uintptr_t word;

int PMPI_Init(word argc, word argv);
int PMPI_Finalize(void);
int PMPI_Initialized(int *flag);
int PMPI_Comm_rank(word comm, int *rank);
int PMPI_Comm_size(word comm, int *size);
int PMPI_Get_library_version(char *version, int *length);
int PMPI_Barrier(word comm);
int PMPI_Iprobe(word source, word tag, word comm, word flag, word status);
int PMPI_Send(word buf, word count, word type, word dest, word tag, word comm);
int PMPI_Comm_dup(word comm, unsigned *newcomm);
int PMPI_Comm_free(unsigned *comm);
int PMPI_Session_init(word info, word errhandler, int *session);
int PMPI_Session_finalize(int *session);
int PMPI_Group_from_session_pset(int session, const char *name, int *group);
int PMPI_Group_rank(int group, int *rank);
int PMPI_Group_size(int group, int *size);
int PMPI_Group_free(int *group);

/* Called when a communicator's handle has been given back, before MPI_Comm_free returns. */
extern void (*fake_comm_freed)(void);

/* The shim's wrappers. */
int MPI_Init(word argc, word argv);
int MPI_Finalize(void);
int MPI_Barrier(word comm);
int MPI_Iprobe(word source, word tag, word comm, word flag, word status);
int MPI_Send(word buf, word count, word type, word dest, word tag, word comm);
int MPI_Comm_dup(word comm, unsigned *newcomm);
int MPI_Comm_free(unsigned *comm);
int MPI_Session_init(word info, word errhandler, int *session);
int MPI_Session_finalize(int *session);

#endif
