// Call paths with all that names can have: recursion, functions that are inlined into each other, templates, and files whose names need
// quoting in every format. Two ranks.
#include <mpi.h>

extern "C" void closed(int n);

static int rank;
static double sum;

static void compute(int n)
{
	for (int i = 1; i < 20000 * n; i++)
		sum += 1.0 / i;
}

namespace grid {
template <typename T, int N> struct Halo {
	T cells[N];

	inline __attribute__((always_inline)) void send(int tag)
	{
		MPI_Status status;
		if (rank == 0)
			MPI_Send(cells, N, MPI_DOUBLE, 1, tag, MPI_COMM_WORLD);
		else
			MPI_Recv(cells, N, MPI_DOUBLE, 0, tag, MPI_COMM_WORLD, &status);
	}
	inline __attribute__((always_inline)) void exchange(int tag)
	{
		send(tag);
		compute(2);
		send(tag + 1);
	}
};

// One place, reached by as many call paths as it is deep.
__attribute__((noinline)) static void divide(int depth)
{
	double mine = depth, all;
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	sum += all;
	compute(1);
	if (depth > 0)
		divide(depth - 1);
	__asm__ volatile("" ::: "memory");
}
}

// Two calls that differ in their offset alone.
#define BOTH MPI_Barrier(MPI_COMM_WORLD); compute(3); MPI_Barrier(MPI_COMM_WORLD);

int main(int argc, char **argv)
{
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	grid::Halo<double, 64> halo = {};
	for (int i = 0; i < 20; i++) {
		halo.exchange(2 * i);
		compute(4);
		BOTH
		compute(1);
		grid::divide(3);
		closed(2);
#line 7 "the \"odd\", one\n=2.c"
		MPI_Barrier(MPI_COMM_WORLD);
#line 9 ",\".c"
		MPI_Bcast(&sum, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return sum < 0;
}
