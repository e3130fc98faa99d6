/*
 * Persistent requests: every kind of send and the receive, started one by one and together; from MPI-4 on
 * collectives too.
 */
#include "checked.h"

static int size, next, before;

static void sends(void)
{
	static char room[4096];
	void *detached;
	count_t detached_size;
	int value[4], got[4], turn;
	MPI_Request recv[4], send[4];

	MPI_Buffer_attach(room, sizeof room);
	for (int i = 0; i < 4; i++)
		L(Recv_init, &got[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &recv[i]);
	L(Send_init, &value[0], 1, MPI_INT, next, 0, MPI_COMM_WORLD, &send[0]);
	L(Bsend_init, &value[1], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &send[1]);
	L(Ssend_init, &value[2], 1, MPI_INT, next, 2, MPI_COMM_WORLD, &send[2]);
	L(Rsend_init, &value[3], 1, MPI_INT, next, 3, MPI_COMM_WORLD, &send[3]);
	for (turn = 0; turn < 3; turn++) {
		for (int i = 0; i < 4; i++)
			value[i] = 100 * turn + 10 * rank + i;
		MPI(Startall, 4, recv);
		MPI(Barrier, MPI_COMM_WORLD);
		for (int i = 0; i < 4; i++)
			MPI(Start, &send[i]);
		MPI(Waitall, 4, send, MPI_STATUSES_IGNORE);
		MPI(Waitall, 4, recv, MPI_STATUSES_IGNORE);
		for (int i = 0; i < 4; i++)
			expect(got[i] == 100 * turn + 10 * before + i, "a persistent send");
	}
	for (int i = 0; i < 4; i++) {
		MPI(Request_free, &send[i]);
		MPI(Request_free, &recv[i]);
	}
	L(Buffer_detach, &detached, &detached_size);
}

#if MPI_VERSION >= 4
/* Makes a persistent collective, uses it twice and frees it. */
static void use(MPI_Request *request)
{
	for (int turn = 0; turn < 2; turn++) {
		MPI(Start, request);
		MPI(Wait, request, MPI_STATUS_IGNORE);
	}
	MPI(Request_free, request);
}

#define P(name, ...) \
	do { \
		MPI_Request request; \
		L(name, __VA_ARGS__, MPI_INFO_NULL, &request); \
		use(&request); \
	} while (0)

/* in[i] must be a*i + b. */
static void expect_in(int *in, int n, int a, int b, const char *what)
{
	for (int i = 0; i < n; i++)
		expect(in[i] == a * i + b, what);
	memset(in, -1, (size_t)n * sizeof *in);
}

static void collectives(void)
{
	enum { MOST = 64 };
	const MPI_Comm world = MPI_COMM_WORLD;
	int out[MOST], in[MOST], data[MOST], value = rank == 0 ? 42 : 0, sum = 0, mine = rank + 1;
	count_t ones[MOST];
	place_t places[MOST], byte_places[MOST];
	MPI_Datatype ints[MOST];
	MPI_Request request;

	expect(size <= MOST, "the number of ranks");
	for (int i = 0; i < size; i++) {
		out[i] = 1000 * rank + i;
		ones[i] = data[i] = 1;
		places[i] = i;
		byte_places[i] = (place_t)((size_t)i * sizeof *out);
		ints[i] = MPI_INT;
	}
	MPI(Barrier_init, world, MPI_INFO_NULL, &request);
	use(&request);
	P(Bcast_init, &value, 1, MPI_INT, 0, world);
	expect(value == 42, "Bcast_init");
	P(Gather_init, out, 1, MPI_INT, in, 1, MPI_INT, 0, world);
	if (rank == 0)
		expect_in(in, size, 1000, 0, "Gather_init");
	P(Gatherv_init, out, 1, MPI_INT, in, ones, places, MPI_INT, 0, world);
	if (rank == 0)
		expect_in(in, size, 1000, 0, "Gatherv_init");
	P(Scatter_init, out, 1, MPI_INT, &value, 1, MPI_INT, 0, world);
	expect(value == rank, "Scatter_init");
	P(Scatterv_init, out, ones, places, MPI_INT, &value, 1, MPI_INT, 0, world);
	expect(value == rank, "Scatterv_init");
	P(Allgather_init, out, 1, MPI_INT, in, 1, MPI_INT, world);
	expect_in(in, size, 1000, 0, "Allgather_init");
	P(Allgatherv_init, out, 1, MPI_INT, in, ones, places, MPI_INT, world);
	expect_in(in, size, 1000, 0, "Allgatherv_init");
	P(Alltoall_init, out, 1, MPI_INT, in, 1, MPI_INT, world);
	expect_in(in, size, 1000, rank, "Alltoall_init");
	P(Alltoallv_init, out, ones, places, MPI_INT, in, ones, places, MPI_INT, world);
	expect_in(in, size, 1000, rank, "Alltoallv_init");
	P(Alltoallw_init, out, ones, byte_places, ints, in, ones, byte_places, ints, world);
	expect_in(in, size, 1000, rank, "Alltoallw_init");
	P(Reduce_init, &mine, &sum, 1, MPI_INT, MPI_SUM, 0, world);
	expect(rank != 0 || sum == size * (size + 1) / 2, "Reduce_init");
	P(Allreduce_init, &mine, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(sum == size * (size + 1) / 2, "Allreduce_init");
	P(Reduce_scatter_init, data, &sum, ones, MPI_INT, MPI_SUM, world);
	expect(sum == size, "Reduce_scatter_init");
	P(Reduce_scatter_block_init, data, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(sum == size, "Reduce_scatter_block_init");
	P(Scan_init, &mine, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(sum == (rank + 1) * (rank + 2) / 2, "Scan_init");
	P(Exscan_init, &mine, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(rank == 0 || sum == rank * (rank + 1) / 2, "Exscan_init");
}

/* On a ring, where each rank has two neighbours. */
static void neighbours(void)
{
	int periodic = 1, out[2] = {10 * rank, 10 * rank + 1}, in[2];
	count_t ones[2] = {1, 1};
	place_t places[2] = {0, 1};
	MPI_Aint byte_places[2] = {0, sizeof(int)};
	MPI_Datatype ints[2] = {MPI_INT, MPI_INT};
	MPI_Comm ring;

	MPI(Cart_create, MPI_COMM_WORLD, 1, &size, &periodic, 0, &ring);
	P(Neighbor_allgather_init, out, 1, MPI_INT, in, 1, MPI_INT, ring);
	expect(in[0] == 10 * before && in[1] == 10 * next, "Neighbor_allgather_init");
	P(Neighbor_allgatherv_init, out, 1, MPI_INT, in, ones, places, MPI_INT, ring);
	expect(in[0] == 10 * before && in[1] == 10 * next, "Neighbor_allgatherv_init");
	/* Two ranks are each other's neighbour twice, and which message is which is then up to the library. */
	P(Neighbor_alltoall_init, out, 1, MPI_INT, in, 1, MPI_INT, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Neighbor_alltoall_init");
	P(Neighbor_alltoallv_init, out, ones, places, MPI_INT, in, ones, places, MPI_INT, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Neighbor_alltoallv_init");
	P(Neighbor_alltoallw_init, out, ones, byte_places, ints, in, ones, byte_places, ints, ring);
	expect(in[0] / 10 == before && in[1] / 10 == next, "Neighbor_alltoallw_init");
	MPI(Comm_free, &ring);
}
#endif

int main(int argc, char **argv)
{
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	sends();
#if MPI_VERSION >= 4
	collectives();
	neighbours();
#endif
	MPI(Finalize);
	report(rank);
	return 0;
}
