/*
 * Calls every function of the classes point-to-point, completion and collective on two or more ranks, the
 * same number of times on each, and checks what they communicate. With an argument it repeats that often.
 */
#include "checked.h"

static int size, next, before;

/* Every blocking send, into a receive that was posted before. */
static void sends(void)
{
	enum { SEND, BSEND, SSEND, RSEND, KINDS };
	static char room[4096];
	void *detached;
	count_t detached_size;
	MPI_Request request;

	MPI_Buffer_attach(room, sizeof room);
	for (int kind = SEND; kind < KINDS; kind++) {
		int value = 100 * rank + kind, got = -1;
		L(Irecv, &got, 1, MPI_INT, before, kind, MPI_COMM_WORLD, &request);
		MPI(Barrier, MPI_COMM_WORLD); /* a ready send needs the receive to be there */
		switch (kind) {
		case SEND:
			L(Send, &value, 1, MPI_INT, next, kind, MPI_COMM_WORLD);
			break;
		case BSEND:
			L(Bsend, &value, 1, MPI_INT, next, kind, MPI_COMM_WORLD);
			break;
		case SSEND:
			L(Ssend, &value, 1, MPI_INT, next, kind, MPI_COMM_WORLD);
			break;
		case RSEND:
			L(Rsend, &value, 1, MPI_INT, next, kind, MPI_COMM_WORLD);
			break;
		}
		MPI(Wait, &request, MPI_STATUS_IGNORE);
		expect(got == 100 * before + kind, "a blocking send");
	}
	L(Buffer_detach, &detached, &detached_size);
}

/* Every nonblocking send, completed in every way that does not depend on timing. */
static void isends(void)
{
	static char room[4096];
	void *detached;
	count_t detached_size;
	int value[4], got[4], indices[4], index, outcount, flag;
	MPI_Request send[4], recv[4], some[4];
	MPI_Status statuses[4];

	MPI_Buffer_attach(room, sizeof room);
	for (int i = 0; i < 4; i++) {
		value[i] = 10 * rank + i;
		got[i] = -1;
		L(Irecv, &got[i], 1, MPI_INT, before, i, MPI_COMM_WORLD, &recv[i]);
	}
	MPI(Barrier, MPI_COMM_WORLD);
	L(Isend, &value[0], 1, MPI_INT, next, 0, MPI_COMM_WORLD, &send[0]);
	L(Ibsend, &value[1], 1, MPI_INT, next, 1, MPI_COMM_WORLD, &send[1]);
	L(Issend, &value[2], 1, MPI_INT, next, 2, MPI_COMM_WORLD, &send[2]);
	L(Irsend, &value[3], 1, MPI_INT, next, 3, MPI_COMM_WORLD, &send[3]);
	MPI(Waitall, 4, recv, statuses);
	for (int i = 0; i < 4; i++)
		expect(got[i] == 10 * before + i && statuses[i].MPI_SOURCE == before && statuses[i].MPI_TAG == i, "a nonblocking send");
	/* One request among null ones: which of several would be complete depends on timing. */
	for (int i = 0; i < 4; i++)
		some[i] = MPI_REQUEST_NULL;
	some[2] = send[0];
	MPI(Waitany, 4, some, &index, MPI_STATUS_IGNORE);
	expect(index == 2, "Waitany");
	some[1] = send[1];
	MPI(Waitsome, 4, some, &outcount, indices, MPI_STATUSES_IGNORE);
	expect(outcount == 1 && indices[0] == 1, "Waitsome");
	send[0] = send[1] = MPI_REQUEST_NULL;
	MPI(Waitall, 4, send, MPI_STATUSES_IGNORE);

	/* Of requests that are complete every test says so at once. */
	MPI(Testall, 4, send, &flag, MPI_STATUSES_IGNORE);
	expect(flag, "Testall");
	MPI(Testany, 4, send, &index, &flag, MPI_STATUS_IGNORE);
	expect(flag && index == MPI_UNDEFINED, "Testany");
	MPI(Testsome, 4, send, &outcount, indices, MPI_STATUSES_IGNORE);
	expect(outcount == MPI_UNDEFINED, "Testsome");
	MPI(Test, &send[0], &flag, MPI_STATUS_IGNORE);
	expect(flag, "Test");
	MPI(Request_get_status, send[0], &flag, MPI_STATUS_IGNORE);
	expect(flag, "Request_get_status");

	/* A receive that nobody will send to. */
	L(Irecv, &got[0], 1, MPI_INT, before, 999, MPI_COMM_WORLD, &recv[0]);
	MPI(Cancel, &recv[0]);
	MPI(Wait, &recv[0], &statuses[0]);
	MPI_Test_cancelled(&statuses[0], &flag);
	expect(flag, "Cancel");
	L(Isend, &value[0], 0, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &send[0]);
	MPI(Request_free, &send[0]);
	L(Buffer_detach, &detached, &detached_size);
}

static void exchanges(void)
{
	int value = rank, got = -1;

	L(Sendrecv, &value, 1, MPI_INT, next, 5, &got, 1, MPI_INT, before, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	expect(got == before, "Sendrecv");
	L(Sendrecv_replace, &value, 1, MPI_INT, next, 6, before, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	expect(value == before, "Sendrecv_replace");
#if MPI_VERSION >= 4
	MPI_Request request;
	got = -1;
	value = rank;
	L(Isendrecv, &value, 1, MPI_INT, next, 7, &got, 1, MPI_INT, before, 7, MPI_COMM_WORLD, &request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	expect(got == before, "Isendrecv");
	L(Isendrecv_replace, &value, 1, MPI_INT, next, 8, before, 8, MPI_COMM_WORLD, &request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	expect(value == before, "Isendrecv_replace");
#endif
}

static void probes(void)
{
	int value = rank, got = -1, flag;
	MPI_Status status;
	MPI_Message message;
	MPI_Request send[4], request;

	for (int i = 0; i < 4; i++)
		L(Isend, &value, 1, MPI_INT, next, 20 + i, MPI_COMM_WORLD, &send[i]);
	MPI(Probe, before, 20, MPI_COMM_WORLD, &status);
	expect(status.MPI_TAG == 20, "Probe");
	L(Recv, &got, 1, MPI_INT, before, 20, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	expect(got == before, "Recv");
	/* What comes after a message that has arrived need not have arrived: only probe blocking for it. */
	MPI(Probe, before, 21, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI(Iprobe, before, 21, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
	expect(flag, "Iprobe");
	L(Recv, &got, 1, MPI_INT, before, 21, MPI_COMM_WORLD, &status);
	expect(got == before && status.MPI_SOURCE == before, "Recv");
	got = -1;
	MPI(Mprobe, before, 22, MPI_COMM_WORLD, &message, &status);
	L(Mrecv, &got, 1, MPI_INT, &message, MPI_STATUS_IGNORE);
	expect(got == before, "Mrecv");
	got = -1;
	MPI(Probe, before, 23, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI(Improbe, before, 23, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
	expect(flag, "Improbe");
	L(Imrecv, &got, 1, MPI_INT, &message, &request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	expect(got == before, "Imrecv");
	MPI(Waitall, 4, send, MPI_STATUSES_IGNORE);
}

/* Arrays for the collectives: one element to and from every rank. */
static int *out, *in, *data;
static count_t *ones;
static place_t *places, *byte_places;
static MPI_Datatype *ints;

static void make_arrays(void)
{
	out = calloc((size_t)size, sizeof *out);
	in = calloc((size_t)size, sizeof *in);
	data = calloc((size_t)size, sizeof *data);
	ones = calloc((size_t)size, sizeof *ones);
	places = calloc((size_t)size, sizeof *places);
	byte_places = calloc((size_t)size, sizeof *byte_places);
	ints = calloc((size_t)size, sizeof *ints);
	for (int i = 0; i < size; i++) {
		out[i] = 1000 * rank + i;
		data[i] = 1;
		ones[i] = 1;
		places[i] = i;
		byte_places[i] = (place_t)((size_t)i * sizeof *out);
		ints[i] = MPI_INT;
	}
}

static void free_arrays(void)
{
	free(out);
	free(in);
	free(data);
	free(ones);
	free(places);
	free(byte_places);
	free(ints);
}

/* in[i] must be a*i + b. */
static void expect_in(int a, int b, const char *what)
{
	for (int i = 0; i < size; i++)
		expect(in[i] == a * i + b, what);
	memset(in, -1, (size_t)size * sizeof *in);
}

static void collectives(void)
{
	const MPI_Comm world = MPI_COMM_WORLD;
	int value = rank == 0 ? 42 : 0, sum = 0, mine = rank + 1;

	MPI(Barrier, world);
	L(Bcast, &value, 1, MPI_INT, 0, world);
	expect(value == 42, "Bcast");
	L(Gather, &out[0], 1, MPI_INT, in, 1, MPI_INT, 0, world);
	if (rank == 0)
		expect_in(1000, 0, "Gather");
	L(Gatherv, &out[0], 1, MPI_INT, in, ones, places, MPI_INT, 0, world);
	if (rank == 0)
		expect_in(1000, 0, "Gatherv");
	L(Scatter, out, 1, MPI_INT, &value, 1, MPI_INT, 0, world);
	expect(value == rank, "Scatter");
	L(Scatterv, out, ones, places, MPI_INT, &value, 1, MPI_INT, 0, world);
	expect(value == rank, "Scatterv");
	L(Allgather, &out[0], 1, MPI_INT, in, 1, MPI_INT, world);
	expect_in(1000, 0, "Allgather");
	L(Allgatherv, &out[0], 1, MPI_INT, in, ones, places, MPI_INT, world);
	expect_in(1000, 0, "Allgatherv");
	L(Alltoall, out, 1, MPI_INT, in, 1, MPI_INT, world);
	expect_in(1000, rank, "Alltoall");
	L(Alltoallv, out, ones, places, MPI_INT, in, ones, places, MPI_INT, world);
	expect_in(1000, rank, "Alltoallv");
	L(Alltoallw, out, ones, byte_places, ints, in, ones, byte_places, ints, world);
	expect_in(1000, rank, "Alltoallw");
	L(Reduce, &mine, &sum, 1, MPI_INT, MPI_SUM, 0, world);
	expect(rank != 0 || sum == size * (size + 1) / 2, "Reduce");
	L(Allreduce, MPI_IN_PLACE, &mine, 1, MPI_INT, MPI_SUM, world);
	expect(mine == size * (size + 1) / 2, "Allreduce");
	mine = rank + 1;
	L(Reduce_scatter, data, &sum, ones, MPI_INT, MPI_SUM, world);
	expect(sum == size, "Reduce_scatter");
	L(Reduce_scatter_block, data, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(sum == size, "Reduce_scatter_block");
	L(Scan, &mine, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(sum == (rank + 1) * (rank + 2) / 2, "Scan");
	L(Exscan, &mine, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(rank == 0 || sum == rank * (rank + 1) / 2, "Exscan");
}

/* Starts a collective and waits for it. */
#define I(name, ...) \
	do { \
		MPI_Request request; \
		L(name, __VA_ARGS__, &request); \
		MPI(Wait, &request, MPI_STATUS_IGNORE); \
	} while (0)

static void icollectives(void)
{
	const MPI_Comm world = MPI_COMM_WORLD;
	int value = rank == 0 ? 42 : 0, sum = 0, mine = rank + 1;

	MPI_Request request;
	MPI(Ibarrier, world, &request);
	MPI(Wait, &request, MPI_STATUS_IGNORE);
	I(Ibcast, &value, 1, MPI_INT, 0, world);
	expect(value == 42, "Ibcast");
	I(Igather, &out[0], 1, MPI_INT, in, 1, MPI_INT, 0, world);
	if (rank == 0)
		expect_in(1000, 0, "Igather");
	I(Igatherv, &out[0], 1, MPI_INT, in, ones, places, MPI_INT, 0, world);
	if (rank == 0)
		expect_in(1000, 0, "Igatherv");
	I(Iscatter, out, 1, MPI_INT, &value, 1, MPI_INT, 0, world);
	expect(value == rank, "Iscatter");
	I(Iscatterv, out, ones, places, MPI_INT, &value, 1, MPI_INT, 0, world);
	expect(value == rank, "Iscatterv");
	I(Iallgather, &out[0], 1, MPI_INT, in, 1, MPI_INT, world);
	expect_in(1000, 0, "Iallgather");
	I(Iallgatherv, &out[0], 1, MPI_INT, in, ones, places, MPI_INT, world);
	expect_in(1000, 0, "Iallgatherv");
	I(Ialltoall, out, 1, MPI_INT, in, 1, MPI_INT, world);
	expect_in(1000, rank, "Ialltoall");
	I(Ialltoallv, out, ones, places, MPI_INT, in, ones, places, MPI_INT, world);
	expect_in(1000, rank, "Ialltoallv");
	I(Ialltoallw, out, ones, byte_places, ints, in, ones, byte_places, ints, world);
	expect_in(1000, rank, "Ialltoallw");
	I(Ireduce, &mine, &sum, 1, MPI_INT, MPI_SUM, 0, world);
	expect(rank != 0 || sum == size * (size + 1) / 2, "Ireduce");
	I(Iallreduce, &mine, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(sum == size * (size + 1) / 2, "Iallreduce");
	I(Ireduce_scatter, data, &sum, ones, MPI_INT, MPI_SUM, world);
	expect(sum == size, "Ireduce_scatter");
	I(Ireduce_scatter_block, data, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(sum == size, "Ireduce_scatter_block");
	I(Iscan, &mine, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(sum == (rank + 1) * (rank + 2) / 2, "Iscan");
	I(Iexscan, &mine, &sum, 1, MPI_INT, MPI_SUM, world);
	expect(rank == 0 || sum == rank * (rank + 1) / 2, "Iexscan");
}

int main(int argc, char **argv)
{
	int provided, repeat = argc > 1 ? atoi(argv[1]) : 1;

	MPI(Init_thread, &argc, &argv, MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	next = (rank + 1) % size;
	before = (rank + size - 1) % size;
	make_arrays();
	for (int i = 0; i < repeat; i++) {
		sends();
		isends();
		exchanges();
		probes();
		collectives();
		icollectives();
	}
	free_arrays();
	MPI(Finalize);
	report(rank);
	return 0;
}
