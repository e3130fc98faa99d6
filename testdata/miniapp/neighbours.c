/* Neighbourhood collectives, blocking and not, on a ring, where each rank has two neighbours. */
#include "checked.h"

#define I(name, ...) \
	do { \
		MPI_Request request; \
		L(name, __VA_ARGS__, &request); \
		MPI(Wait, &request, MPI_STATUS_IGNORE); \
	} while (0)

int main(int argc, char **argv)
{
	int size, next, before, periodic = 1, in[2];
	count_t ones[2] = {1, 1};
	place_t places[2] = {0, 1};
	MPI_Aint byte_places[2] = {0, sizeof(int)};
	MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
	MPI_Comm ring;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	int out[2] = {10 * rank, 10 * rank + 1};
	MPI(Cart_create, MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);

	L(Neighbor_allgather, out, 1, MPI_INT, in, 1, MPI_INT, ring);
	expect(in[0] == 10 * before && in[1] == 10 * next, "Neighbor_allgather");
	L(Neighbor_allgatherv, out, 1, MPI_INT, in, ones, places, MPI_INT, ring);
	expect(in[0] == 10 * before && in[1] == 10 * next, "Neighbor_allgatherv");
	/* Two ranks are each other's neighbour twice, and which message is which is then up to the library. */
	L(Neighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Neighbor_alltoall");
	L(Neighbor_alltoallv, out, ones, places, MPI_INT, in, ones, places, MPI_INT, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Neighbor_alltoallv");
	L(Neighbor_alltoallw, out, ones, byte_places, ints, in, ones, byte_places, ints, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Neighbor_alltoallw");

	I(Ineighbor_allgather, out, 1, MPI_INT, in, 1, MPI_INT, ring);
	expect(in[0] == 10 * before && in[1] == 10 * next, "Ineighbor_allgather");
	I(Ineighbor_allgatherv, out, 1, MPI_INT, in, ones, places, MPI_INT, ring);
	expect(in[0] == 10 * before && in[1] == 10 * next, "Ineighbor_allgatherv");
	I(Ineighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Ineighbor_alltoall");
	I(Ineighbor_alltoallv, out, ones, places, MPI_INT, in, ones, places, MPI_INT, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Ineighbor_alltoallv");
	I(Ineighbor_alltoallw, out, ones, byte_places, ints, in, ones, byte_places, ints, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Ineighbor_alltoallw");

	MPI(Comm_free, &ring);
	MPI(Finalize);
	report(rank);
	return 0;
}
