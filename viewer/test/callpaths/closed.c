/* Calls MPI from functions that nothing names when the library is stripped. */
#include <mpi.h>

static __attribute__((noinline)) void hidden(int n)
{
	for (int i = 0; i < n; i++)
		MPI_Barrier(MPI_COMM_WORLD);
	MPI_Barrier(MPI_COMM_WORLD);
	__asm__ volatile("");
}

void closed(int n)
{
	hidden(n);
	MPI_Barrier(MPI_COMM_WORLD);
	__asm__ volatile("");
}
