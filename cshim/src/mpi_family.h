/*
 * The little that the shim asks MPI itself. Only local questions: a program in which some ranks run
 * without the shim must not hang.
 */
#ifndef MORIENS_MPI_FAMILY_H
#define MORIENS_MPI_FAMILY_H

#include "base.h"

/* site: an address in the code that calls MPI, to find a library that was loaded for it alone. */
bool moriens_mpi_initialized(const void *site);
bool moriens_mpi_rank(const void *site, int32_t *rank, int32_t *size);

/* The first line of MPI_Get_library_version. */
void moriens_mpi_library(const void *site, char *text, size_t bytes);

/* The launcher's name for this MPI_COMM_WORLD; empty if it gives none. */
void moriens_mpi_world(char *text, size_t bytes);

#endif
