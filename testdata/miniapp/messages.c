/*
 * Messages of every kind between two ranks, whose content says who sent them and as which of its messages. Each rank
 * writes what it has received to $MINIAPP_OUT/messages.<rank>: sender, number, tag and bytes, in the order in which the
 * receives were posted, a message a line.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 8 /* ints of a message */

static int rank, other, sent;
static FILE *log_file;

/* Fills in the next message and says how many ints it has. */
static int next(int *buffer)
{
	int n = 1 + sent % MOST;

	for (int i = 0; i < n; i++)
		buffer[i] = rank * 1000000 + sent;
	sent++;
	return n;
}

static void received(const int *buffer, MPI_Status *status)
{
	int n;

	MPI_Get_count(status, MPI_INT, &n);
	fprintf(log_file, "%d %d %d %d\n", buffer[0] / 1000000, buffer[0] % 1000000, status->MPI_TAG, (int)(n * sizeof(int)));
}

static void send(int to, int tag, MPI_Comm comm)
{
	int buffer[MOST];
	int n = next(buffer);

	MPI_Send(buffer, n, MPI_INT, to, tag, comm);
}

static void receive(int from, int tag, MPI_Comm comm)
{
	int buffer[MOST];
	MPI_Status status;

	MPI_Recv(buffer, MOST, MPI_INT, from, tag, comm, &status);
	received(buffer, &status);
}

/* Two sends of one tag, received by one receive of anything and one of that tag, with statuses and without. */
static void nonblocking(MPI_Comm comm)
{
	int out[2][MOST], in[2][MOST];
	MPI_Request requests[4];
	MPI_Status statuses[4];

	MPI_Irecv(in[0], MOST, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, comm, &requests[0]);
	MPI_Irecv(in[1], MOST, MPI_INT, other, 11, comm, &requests[1]);
	for (int i = 0; i < 2; i++) {
		int n = next(out[i]);
		MPI_Isend(out[i], n, MPI_INT, other, 11, comm, &requests[2 + i]);
	}
	if (sent % 3 == 0) {
		MPI_Waitall(4, requests, statuses);
	} else {
		for (int done = 0, index; done < 4; done++) {
			MPI_Status status;
			MPI_Waitany(4, requests, &index, &status);
			statuses[index] = status;
		}
	}
	received(in[0], &statuses[0]);
	received(in[1], &statuses[1]);
}

/* The status is asked of a probe and ignored by the receive. */
static void probed(MPI_Comm comm)
{
	int buffer[MOST], flag = 0;
	MPI_Message message;
	MPI_Request request;
	MPI_Status status;

	if (rank == 0) {
		send(other, 21, comm);
		send(other, 22, comm);
		return;
	}
	MPI_Mprobe(MPI_ANY_SOURCE, 22, comm, &message, &status);
	MPI_Mrecv(buffer, MOST, MPI_INT, &message, MPI_STATUS_IGNORE);
	received(buffer, &status);
	while (!flag)
		MPI_Improbe(other, MPI_ANY_TAG, comm, &flag, &message, &status);
	MPI_Imrecv(buffer, MOST, MPI_INT, &message, &request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	received(buffer, &status);
}

static void cancelled(MPI_Comm comm)
{
	int buffer[MOST];
	MPI_Request request;

	MPI_Irecv(buffer, MOST, MPI_INT, other, 31, comm, &request);
	MPI_Cancel(&request);
	MPI_Wait(&request, MPI_STATUS_IGNORE);
	MPI_Barrier(comm);
	if (rank == 0)
		send(other, 31, comm);
	else
		receive(other, 31, comm);
}

/* Sends that MPI refuses, and that nobody is to receive. */
static void refused(MPI_Comm comm)
{
	int buffer[MOST] = {0};
	MPI_Request request;

	MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN);
	if (MPI_Send(buffer, 1, MPI_INT, 99, 11, comm) == MPI_SUCCESS || MPI_Send(buffer, -1, MPI_INT, other, 11, comm) == MPI_SUCCESS ||
		MPI_Isend(buffer, 1, MPI_INT, other, -77, comm, &request) == MPI_SUCCESS)
		MPI_Abort(comm, 1);
	MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
}

/* The send's request is given up before it is complete; the answer says that it was received. */
static void freed(MPI_Comm comm)
{
	static int buffer[MOST];
	MPI_Request request;

	if (rank == 0) {
		int n = next(buffer);
		MPI_Isend(buffer, n, MPI_INT, other, 41, comm, &request);
		MPI_Request_free(&request);
		receive(other, 42, comm);
	} else {
		receive(MPI_ANY_SOURCE, 41, comm);
		send(other, 42, comm);
	}
}

int main(int argc, char **argv)
{
	int rounds = argc > 1 ? atoi(argv[1]) : 100;
	int out[MOST], in[MOST], flag, sum;
	char name[4096];
	MPI_Comm turned;
	MPI_Request pair[2];
	MPI_Status statuses[2];

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	other = 1 - rank;
	snprintf(name, sizeof name, "%s/messages.%d", getenv("MINIAPP_OUT"), rank);
	log_file = fopen(name, "w");
	if (log_file == NULL)
		MPI_Abort(MPI_COMM_WORLD, 1);
	/* The ranks the other way round. */
	MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
	MPI_Send_init(out, 3, MPI_INT, other, 51, MPI_COMM_WORLD, &pair[0]);
	MPI_Recv_init(in, MOST, MPI_INT, MPI_ANY_SOURCE, 51, MPI_COMM_WORLD, &pair[1]);
	for (int i = 0; i < rounds; i++) {
		nonblocking(MPI_COMM_WORLD);
		probed(MPI_COMM_WORLD);
		refused(MPI_COMM_WORLD);
		cancelled(MPI_COMM_WORLD);
		freed(MPI_COMM_WORLD);

		int n = next(out);
		MPI_Sendrecv(out, n, MPI_INT, other, 61, in, MOST, MPI_INT, MPI_ANY_SOURCE, 61, MPI_COMM_WORLD, &statuses[0]);
		received(in, &statuses[0]);

		next(out);
		MPI_Start(&pair[1]);
		MPI_Start(&pair[0]);
		for (flag = 0; !flag;)
			MPI_Testall(2, pair, &flag, statuses);
		received(in, &statuses[1]);

		/* In it each rank has the other's number. */
		if (rank == 0)
			send(rank, 71, turned);
		else
			receive(rank, 71, turned);
		send(MPI_PROC_NULL, 81, MPI_COMM_WORLD);
		sent--; /* to nobody */
		MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Request_free(&pair[0]);
	MPI_Request_free(&pair[1]);
	MPI_Comm_free(&turned);
	fclose(log_file);
	MPI_Finalize();
	return 0;
}
