/*
 * The little that the shim asks MPI itself. Only local questions: a program in which some ranks run
 * without the shim must not hang.
 */
#ifndef MORIENS_MPI_FAMILY_H
#define MORIENS_MPI_FAMILY_H

#include "base.h"

enum moriens_family {
	MORIENS_FAMILY_MPICH, /* and what has its binary interface */
	MORIENS_FAMILY_OPEN_MPI,
	MORIENS_FAMILY_STANDARD, /* the binary interface of MPI-5.0 */
};

enum moriens_family moriens_mpi_family(const void *site);

/* site: an address in the code that calls MPI, to find a library that was loaded for it alone. */
bool moriens_mpi_initialized(const void *site);

bool moriens_mpi_finalized(const void *site);

/* Whether MPI_COMM_WORLD can be used: between MPI_Init and MPI_Finalize. */
bool moriens_mpi_world_open(const void *site);

/* The session that the C variable, or the Fortran one, at an address holds, as C passes it by value. */
word moriens_mpi_session(word address, const void *site);
word moriens_mpi_session_fortran(word address, const void *site);

/* Make known that a session is open, through which moriens_mpi_rank and moriens_mpi_world_group can ask where there is
 * no MPI_COMM_WORLD, and that it is about to end. */
void moriens_mpi_add_session(word session);
void moriens_mpi_remove_session(word session);

/* Whether moriens_mpi_rank has anything to ask. */
bool moriens_mpi_ready(const void *site);

/* In MPI_COMM_WORLD, or else in the process set mpi://WORLD of a session that is open. */
bool moriens_mpi_rank(const void *site, int32_t *rank, int32_t *size);

/* All processes that were started with this one; freed by Group_free. False: nothing shows. */
bool moriens_mpi_world_group(const void *site, word *group);

/* The first line of MPI_Get_library_version. */
void moriens_mpi_library(const void *site, char *text, size_t bytes);

/* The launcher's name for this MPI_COMM_WORLD; empty if it gives none. */
void moriens_mpi_world(char *text, size_t bytes);

/* The launcher's name for a rank of a world, and for the process that spawned this one; empty if it gives none. */
void moriens_mpi_process(const char *world, int rank, char *text, size_t bytes);
void moriens_mpi_spawner(char *text, size_t bytes);

#endif
