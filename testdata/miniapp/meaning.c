/*
 * Calls that are hard to interpret, two ranks: derived datatypes, wildcards, MPI_PROC_NULL, ignored statuses, handles
 * that are used again, inactive and shared requests, errors, intercommunicators, edges of grids, pauses. Or
 *
 *	meaning many N      each rank waits for 2 N requests at once
 *	meaning loop N      N communicators, one after the other, and then a barrier
 *	meaning barriers N  N barriers, for which a small ring has no room; when somebody has read the ring, and made the
 *	                    file $MINIAPP_OUT/read, one more on a communicator made among them and one on MPI_COMM_WORLD
 */
#include "checked.h"

static int other;

/* Types whose size is not their extent; the second is likely to get the freed one's handle. */
static void types(void)
{
	int data[64] = {0};
	MPI_Datatype type;

	for (int turn = 1; turn <= 3; turn++) {
		MPI_Type_vector(turn, 2, 5, MPI_INT, &type); /* 8 bytes a turn */
		MPI_Type_commit(&type);
		MPI(Sendrecv, data, 2, type, other, turn, data + 32, 12, MPI_INT, other, turn, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Type_free(&type);
	}
	MPI_Type_create_resized(MPI_SHORT, 0, 40, &type);
	MPI_Type_commit(&type);
	MPI(Bcast, data, 3, type, 1, MPI_COMM_WORLD);
	MPI_Type_free(&type);
	MPI_Type_contiguous(0, MPI_INT, &type);
	MPI_Type_commit(&type);
	MPI(Bcast, data, 7, type, 0, MPI_COMM_WORLD);
	MPI_Type_free(&type);
}

/* The rank is an int in MPI_BOTTOM's terms. */
static void bottom(void)
{
	int out = rank, in = -1;
	MPI_Aint places[2];
	int lengths[2] = {1, 0};
	MPI_Datatype kinds[2] = {MPI_INT, MPI_INT}, type;

	MPI_Get_address(&out, &places[0]);
	MPI_Get_address(&in, &places[1]);
	MPI_Type_create_struct(2, lengths, places, kinds, &type);
	MPI_Type_commit(&type);
	MPI(Sendrecv, MPI_BOTTOM, 1, type, other, 1, &in, 1, MPI_INT, other, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI_Type_free(&type);
	expect(in == other, "MPI_BOTTOM");
}

static void wildcards(void)
{
	char data[100] = {0};
	MPI_Request requests[3];
	MPI_Status status;
	MPI_Message message;
	int flag;

	MPI(Irecv, data, 50, MPI_CHAR, MPI_ANY_SOURCE, 7, MPI_COMM_WORLD, &requests[0]);
	MPI(Irecv, data + 50, 50, MPI_CHAR, other, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[1]);
	requests[2] = MPI_REQUEST_NULL;
	MPI(Barrier, MPI_COMM_WORLD);
	MPI(Send, data, 10 + rank, MPI_CHAR, other, 7, MPI_COMM_WORLD);
	MPI(Send, data, 20 + rank, MPI_CHAR, other, 8, MPI_COMM_WORLD);
	MPI(Waitall, 3, requests, MPI_STATUSES_IGNORE);
	MPI(Isend, data, 30 + rank, MPI_CHAR, other, 9, MPI_COMM_WORLD, &requests[0]);
	MPI(Recv, data, 100, MPI_CHAR, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI(Wait, &requests[0], MPI_STATUS_IGNORE);
	MPI(Isend, data, 40 + rank, MPI_CHAR, other, 10, MPI_COMM_WORLD, &requests[0]);
	MPI(Probe, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	do
		MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
	while (!flag);
	planted_add("MPI_Improbe", 1);
	MPI(Imrecv, data, 100, MPI_CHAR, &message, &requests[1]);
	MPI(Wait, &requests[1], &status);
	MPI(Wait, &requests[0], MPI_STATUS_IGNORE);
	expect(status.MPI_TAG == 10, "Imrecv");
}

static void nobody(void)
{
	int data = 0;
	MPI_Request requests[2];

	MPI(Send, &data, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD);
	MPI(Recv, &data, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI(Probe, MPI_PROC_NULL, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI(Irecv, &data, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[0]);
	MPI(Isend, &data, 1, MPI_INT, MPI_PROC_NULL, 3, MPI_COMM_WORLD, &requests[1]);
	MPI(Waitall, 2, requests, MPI_STATUSES_IGNORE);
}

/* Sends so small that they are complete at once, which have one handle in some libraries, to oneself. */
static void shared(void)
{
	int data[4] = {0}, got[4], index, outcount, indices[4], flag;
	MPI_Request sends[4], recvs[4];

	for (int i = 0; i < 4; i++)
		MPI(Irecv, &got[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &recvs[i]);
	for (int i = 0; i < 4; i++)
		MPI(Isend, &data[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &sends[i]);
	MPI(Wait, &sends[1], MPI_STATUS_IGNORE);
	MPI(Waitall, 4, sends, MPI_STATUSES_IGNORE);
	/* What one has sent to oneself has arrived. */
	MPI(Wait, &recvs[2], MPI_STATUS_IGNORE);
	MPI(Testany, 2, &recvs[2], &index, &flag, MPI_STATUS_IGNORE);
	expect(flag && index == 1, "Testany");
	MPI(Testsome, 1, &recvs[1], &outcount, indices, MPI_STATUSES_IGNORE);
	expect(outcount == 1, "Testsome");
	MPI(Testall, 4, recvs, &flag, MPI_STATUSES_IGNORE);
	expect(flag, "Testall");
	MPI(Waitsome, 4, recvs, &outcount, indices, MPI_STATUSES_IGNORE);
	MPI(Waitany, 4, recvs, &index, MPI_STATUS_IGNORE);
	expect(outcount == MPI_UNDEFINED && index == MPI_UNDEFINED, "nothing to wait for");
}

/* Inactive requests are complete, but nothing has ended. */
static void inactive(void)
{
	int data = rank, got;
	MPI_Request requests[2];
	int flag;

	MPI(Recv_init, &got, 1, MPI_INT, other, 11, MPI_COMM_WORLD, &requests[0]);
	MPI(Send_init, &data, 1, MPI_INT, other, 11, MPI_COMM_WORLD, &requests[1]);
	MPI(Waitall, 2, requests, MPI_STATUSES_IGNORE);
	for (int turn = 0; turn < 2; turn++) {
		MPI(Startall, 2, requests);
		MPI(Wait, &requests[0], MPI_STATUS_IGNORE);
		MPI(Wait, &requests[0], MPI_STATUS_IGNORE);
		MPI(Waitall, 2, requests, MPI_STATUSES_IGNORE);
	}
	MPI(Test, &requests[1], &flag, MPI_STATUS_IGNORE);
	expect(flag, "a test of an inactive request");
	MPI(Request_free, &requests[0]);
	MPI(Request_free, &requests[1]);
}

static void cancelled(void)
{
	int got[3];
	MPI_Request requests[3];
	MPI_Status status;
	int flag;

	for (int i = 0; i < 3; i++)
		MPI(Irecv, &got[i], 1, MPI_INT, other, 12 + i, MPI_COMM_WORLD, &requests[i]);
	for (int i = 0; i < 3; i++)
		MPI(Cancel, &requests[i]);
	MPI(Wait, &requests[0], &status);
	MPI_Test_cancelled(&status, &flag);
	expect(flag, "Cancel");
	MPI(Waitall, 2, &requests[1], MPI_STATUSES_IGNORE);
}

/* Of a call that fails the record says what was asked for, but not of whom. */
static void errors(void)
{
	int data[4] = {0}, got[4];
	MPI_Request requests[2];
	MPI_Status statuses[2];
	MPI_Errhandler before;

	MPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
	expect(MPI(Send, data, 1, MPI_INT, 99, 1, MPI_COMM_SELF) != MPI_SUCCESS, "a send to nowhere");
	expect(MPI(Send, data, -1, MPI_INT, 0, 1, MPI_COMM_SELF) != MPI_SUCCESS, "a send of less than nothing");
	if (rank == 0) /* alone: it is no collective */
		expect(MPI(Bcast, data, 1, MPI_INT, 99, MPI_COMM_WORLD) != MPI_SUCCESS, "a broadcast from nowhere");
	MPI(Isend, data, 4, MPI_INT, 0, 2, MPI_COMM_SELF, &requests[0]);
	MPI(Recv, got, 1, MPI_INT, 0, 2, MPI_COMM_SELF, MPI_STATUS_IGNORE);
	MPI(Wait, &requests[0], MPI_STATUS_IGNORE);
	MPI(Irecv, got, 1, MPI_INT, 0, 3, MPI_COMM_SELF, &requests[0]);
	MPI(Irecv, got, 4, MPI_INT, 0, 4, MPI_COMM_SELF, &requests[1]);
	MPI(Send, data, 4, MPI_INT, 0, 3, MPI_COMM_SELF);
	MPI(Send, data, 4, MPI_INT, 0, 4, MPI_COMM_SELF);
	MPI(Waitall, 2, requests, statuses);
	for (int i = 0; i < 2; i++)
		if (requests[i] != MPI_REQUEST_NULL)
			MPI(Wait, &requests[i], MPI_STATUS_IGNORE);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
	MPI_Errhandler_free(&before);
}

static int mistakes;

static void noted(MPI_Comm *comm, int *error, ...)
{
	(void)comm;
	(void)error;
	mistakes++;
}

/* MPI refuses what does not exist, and calls the error handler once. */
static void nothing(void)
{
	MPI_Request *requests = NULL;
	MPI_Comm none = MPI_COMM_NULL;
	MPI_Errhandler before, note;
	int data[1] = {0}, index, flag, made = 0;

	MPI_Comm_get_errhandler(MPI_COMM_SELF, &before);
	MPI_Comm_create_errhandler(noted, &note);
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, note);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, note);
	made += MPI(Wait, requests, MPI_STATUS_IGNORE) != MPI_SUCCESS;
	made += MPI(Waitall, 2, requests, MPI_STATUSES_IGNORE) != MPI_SUCCESS;
	made += MPI(Testany, 2, requests, &index, &flag, MPI_STATUS_IGNORE) != MPI_SUCCESS;
	made += MPI(Startall, 2, requests) != MPI_SUCCESS;
	made += MPI(Request_free, requests) != MPI_SUCCESS;
	made += MPI(Send, data, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_SELF) != MPI_SUCCESS;
	made += MPI(Bcast, data, 1, MPI_INT, 0, none) != MPI_SUCCESS;
	made += MPI(Comm_free, &none) != MPI_SUCCESS;
	expect(made == 8 && mistakes == 8, "what MPI says of nothing");
	MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
	MPI_Comm_set_errhandler(MPI_COMM_SELF, before);
	MPI_Errhandler_free(&note);
	MPI_Errhandler_free(&before);
}

static void in_place(void)
{
	int data[4] = {0}, counts[2] = {1, 3}, places[2] = {0, 1};
	MPI_Datatype kinds[2] = {MPI_INT, MPI_INT};

	MPI(Allreduce, MPI_IN_PLACE, data, 4, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	MPI(Allgather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 2, MPI_INT, MPI_COMM_WORLD);
	MPI(Allgatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts, places, MPI_INT, MPI_COMM_WORLD);
	MPI(Alltoall, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 2, MPI_INT, MPI_COMM_WORLD);
	counts[rank] = 1;
	counts[other] = 1; /* alike on both sides */
	MPI(Alltoallv, MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, data, counts, places, MPI_INT, MPI_COMM_WORLD);
	places[1] = sizeof(int);
	MPI(Alltoallw, MPI_IN_PLACE, NULL, NULL, NULL, data, counts, places, kinds, MPI_COMM_WORLD);
	places[1] = 1;
	counts[1] = 3;
	counts[0] = 1;
	/* What matters at the root only is worth nothing elsewhere. */
	if (rank == 1) {
		MPI(Gather, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 2, MPI_INT, 1, MPI_COMM_WORLD);
		MPI(Gatherv, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, counts, places, MPI_INT, 1, MPI_COMM_WORLD);
		MPI(Scatter, data, 2, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 1, MPI_COMM_WORLD);
		MPI(Scatterv, data, counts, places, MPI_INT, MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, 1, MPI_COMM_WORLD);
		MPI(Reduce, MPI_IN_PLACE, data, 3, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
	} else {
		MPI(Gather, data, 2, MPI_INT, NULL, -1, MPI_DATATYPE_NULL, 1, MPI_COMM_WORLD);
		MPI(Gatherv, data, 1, MPI_INT, NULL, NULL, NULL, MPI_DATATYPE_NULL, 1, MPI_COMM_WORLD);
		MPI(Scatter, NULL, -1, MPI_DATATYPE_NULL, data, 2, MPI_INT, 1, MPI_COMM_WORLD);
		MPI(Scatterv, NULL, NULL, NULL, MPI_DATATYPE_NULL, data, 1, MPI_INT, 1, MPI_COMM_WORLD);
		MPI(Reduce, data, NULL, 3, MPI_INT, MPI_SUM, 1, MPI_COMM_WORLD);
	}
}

/* Communicators that come and go under one handle, of one rank, of both, in another order. */
static void reuse(void)
{
	MPI_Comm comm;

	for (int turn = 0; turn < 3; turn++) {
		MPI(Comm_split, MPI_COMM_WORLD, 0, turn == 1 ? -rank : rank, &comm);
		MPI(Barrier, comm);
		MPI(Barrier, comm);
		MPI(Comm_free, &comm);
	}
	MPI(Comm_split, MPI_COMM_WORLD, rank == 0 ? MPI_UNDEFINED : 1, 0, &comm);
	if (comm != MPI_COMM_NULL) {
		MPI(Barrier, comm);
		MPI(Comm_free, &comm);
	}
	MPI(Comm_dup, MPI_COMM_SELF, &comm);
	MPI(Barrier, comm);
	MPI(Comm_free, &comm);
	MPI(Barrier, MPI_COMM_SELF);
}

/* Both ranks are a group each. Groups that only they know have no parent's ordinal to distinguish them. */
static void between(void)
{
	MPI_Comm comm, both;
	MPI_Group world, group;
	int data[2] = {0};

	MPI(Comm_split, MPI_COMM_WORLD, rank, 0, &comm);
	for (int turn = 0; turn < 2; turn++) {
		MPI(Intercomm_create, comm, 0, MPI_COMM_WORLD, other, 5, &both);
		MPI(Bcast, data, 2, MPI_INT, rank == 0 ? MPI_ROOT : 0, both);
		MPI(Gather, data, 1, MPI_INT, data, 1, MPI_INT, rank == 1 ? MPI_ROOT : 0, both);
		MPI(Allgather, data, 1, MPI_INT, data, 1, MPI_INT, both);
		MPI(Reduce, data, data + 1, 1, MPI_INT, MPI_SUM, rank == 0 ? MPI_ROOT : 0, both);
		MPI(Sendrecv, data, 1, MPI_INT, 0, 1, data + 1, 1, MPI_INT, 0, 1, both, MPI_STATUS_IGNORE);
		MPI(Comm_free, &both);
	}
	MPI(Comm_free, &comm);
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &rank, &group);
	for (int turn = 0; turn <= rank; turn++) {
		MPI(Comm_create_group, MPI_COMM_WORLD, group, 6, &comm);
		MPI(Barrier, comm);
		MPI(Comm_free, &comm);
	}
	MPI(Comm_create_group, MPI_COMM_WORLD, world, 6, &comm);
	MPI(Barrier, comm);
	MPI(Comm_free, &comm);
	MPI_Group_free(&group);
	MPI_Group_free(&world);
}

/* Who is at an edge has a neighbour that is nobody. */
static void edges(void)
{
	int dims = 2, periods = 0, out[2] = {rank, rank}, in[2], counts[2] = {1, 1}, places[2] = {0, 1};
	MPI_Comm line;

	MPI(Cart_create, MPI_COMM_WORLD, 1, &dims, &periods, 0, &line);
	MPI(Neighbor_allgather, out, 1, MPI_INT, in, 1, MPI_INT, line);
	MPI(Neighbor_alltoall, out, 1, MPI_INT, in, 1, MPI_INT, line);
	MPI(Neighbor_alltoallv, out, counts, places, MPI_INT, in, counts, places, MPI_INT, line);
	MPI(Comm_free, &line);
}

/* While nothing is recorded collectives count, communicators are made and requests started. */
static void paused(void)
{
	int data = rank, got;
	MPI_Comm comm;
	MPI_Request requests[2];

	MPI(Recv_init, &got, 1, MPI_INT, other, 15, MPI_COMM_WORLD, &requests[0]);
	MPI(Send_init, &data, 1, MPI_INT, other, 15, MPI_COMM_WORLD, &requests[1]);
	MPI(Startall, 2, requests);
	MPI(Pcontrol, 0);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
	MPI_Barrier(comm);
	MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
	MPI(Pcontrol, 1);
	MPI(Waitall, 2, requests, MPI_STATUSES_IGNORE); /* of inactive ones */
	MPI(Barrier, MPI_COMM_WORLD);
	MPI(Barrier, comm);
	MPI(Comm_free, &comm);
	MPI(Request_free, &requests[0]);
	MPI(Request_free, &requests[1]);
}

/* One call that waits for n requests. */
static void many(int n)
{
	MPI_Request *requests = malloc(2 * (size_t)n * sizeof *requests);
	int *data = calloc(2 * (size_t)n, sizeof *data);

	for (int i = 0; i < n; i++) {
		MPI_Irecv(&data[i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[i]);
		MPI_Isend(&data[n + i], 1, MPI_INT, 0, i, MPI_COMM_SELF, &requests[n + i]);
	}
	planted_add("MPI_Irecv", n);
	planted_add("MPI_Isend", n);
	MPI(Waitall, 2 * n, requests, MPI_STATUSES_IGNORE);
	free(requests);
	free(data);
}

static void loop(int n)
{
	MPI_Comm comm;

	for (int i = 0; i < n; i++) {
		MPI(Comm_dup, MPI_COMM_SELF, &comm);
		MPI(Comm_free, &comm);
	}
	MPI(Barrier, MPI_COMM_SELF);
}

static void barriers(int n)
{
	char path[4096];
	MPI_Comm comm = MPI_COMM_NULL;

	for (int i = 0; i < n; i++) {
		MPI(Barrier, MPI_COMM_WORLD);
		if (i == n - 2)
			MPI(Comm_dup, MPI_COMM_WORLD, &comm);
	}
	planted_close(planted_open(), "full", rank);
	snprintf(path, sizeof path, "%s/read", getenv("MINIAPP_OUT"));
	while (access(path, F_OK) != 0)
		usleep(1000);
	MPI(Barrier, comm);
	MPI(Barrier, MPI_COMM_WORLD);
}

int main(int argc, char **argv)
{
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	other = 1 - rank;
	if (argc > 2 && strcmp(argv[1], "many") == 0) {
		many(atoi(argv[2]));
	} else if (argc > 2 && strcmp(argv[1], "loop") == 0) {
		loop(atoi(argv[2]));
	} else if (argc > 2 && strcmp(argv[1], "barriers") == 0) {
		barriers(atoi(argv[2]));
	} else {
		types();
		bottom();
		wildcards();
		nobody();
		shared();
		inactive();
		cancelled();
		errors();
		nothing();
		in_place();
		reuse();
		between();
		edges();
		paused();
	}
	MPI(Finalize);
	report(rank);
	return 0;
}
