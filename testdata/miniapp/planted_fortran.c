/* planted.h for Fortran: call planted('MPI_X') before each call that counts, call report(rank) at the end. */
#include "planted.h"

void planted_(const char *name, size_t length);
void report_(const int *rank);

void planted_(const char *name, size_t length)
{
	char *copy = strndup(name, length);

	planted_add(copy, 1); /* keeps the first of a kind */
}

void report_(const int *rank)
{
	report(*rank);
}
