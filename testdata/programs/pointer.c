/* Planted: functions that end with a call, which the compiler makes a jump, and that are called through pointers, or
 * have two such calls. A pointer is also one to a function of MPI. */
#include "planted.h"

typedef int function(MPI_Comm comm);

static double field[64], sum;

FUNCTION int add(MPI_Comm comm)
{
	MPI(MPI_Allreduce(field, &sum, 1, MPI_DOUBLE, MPI_SUM, comm)); /* @add */
	work(8000);
	return MPI_Barrier(comm); /* @added */
}

FUNCTION int spread(MPI_Comm comm)
{
	MPI(MPI_Bcast(field, 8, MPI_DOUBLE, 0, comm)); /* @spread */
	work(8000);
	return MPI_Barrier(comm); /* @sent */
}

/* Both ends are the same call. */
FUNCTION int gather(int i)
{
	MPI(MPI_Allgather(field, 1, MPI_DOUBLE, field + 8, 1, MPI_DOUBLE, MPI_COMM_WORLD)); /* @gather */
	work(8000);
	if (i % 3 == 0) {
		sink = i;
		return MPI_Barrier(MPI_COMM_WORLD);
	}
	work(4000);
	return MPI_Barrier(MPI_COMM_SELF);
}

static function *volatile functions[] = {add, spread, MPI_Barrier};

int main(int argc, char **argv)
{
	MPI(MPI_Init(&argc, &argv));
	identify(argc);
	for (int i = 0; i < 20 * one; i++) {
		if (functions[0](MPI_COMM_WORLD) != MPI_SUCCESS) abort();
		work(4000);
	}
	for (int i = 0; i < 30 * one; i++)
		if (functions[i % 3](MPI_COMM_WORLD) != MPI_SUCCESS) abort(); /* @each */
	for (int i = 0; i < 40 * one; i++)
		if (gather(i) != MPI_SUCCESS) abort();
	MPI(MPI_Finalize());
	return 0;
}
