/*
 * Three worlds that talk in every way they can: each of two ranks spawns a world of its own, at the same time and of
 * different sizes, and talks to it through the intercommunicator, through what it is merged to, and through parts of
 * that; then the spawned worlds meet at a port. Every message has another length, so that none can be taken for
 * another.
 */
#include "checked.h"

#define TAG 3
#define MOST 64

static char data[MOST * 3];

/* 0 in the world that spawns; in one that was spawned the number of the rank that did, plus 1. */
static int world;

static int bytes_of(int from, int way)
{
	return 1 + from + 4 * way;
}

/* All send to the next and receive from the one before. */
static void round_trip(MPI_Comm comm, int way)
{
	int number, size, got;
	MPI_Status status;

	MPI_Comm_rank(comm, &number);
	MPI_Comm_size(comm, &size);
	int before = (number + size - 1) % size;
	MPI(Sendrecv, data, bytes_of(number, way), MPI_CHAR, (number + 1) % size, TAG, data + MOST, MOST, MPI_CHAR, before, TAG, comm, &status);
	MPI_Get_count(&status, MPI_CHAR, &got);
	expect(got == bytes_of(before, way), "a round trip");
}

/* Rank 0 of one group sends each of the other a message, and gets one back. */
static void across(MPI_Comm inter, int first, int way)
{
	int number, remote, got;
	MPI_Status status;

	MPI_Comm_rank(inter, &number);
	MPI_Comm_remote_size(inter, &remote);
	for (int i = 0; first && number == 0 && i < remote; i++) {
		MPI(Send, data, bytes_of(i, way), MPI_CHAR, i, TAG, inter);
		MPI(Recv, data, MOST, MPI_CHAR, i, TAG, inter, MPI_STATUS_IGNORE);
	}
	if (!first) {
		MPI(Recv, data, MOST, MPI_CHAR, 0, TAG, inter, &status);
		MPI_Get_count(&status, MPI_CHAR, &got);
		expect(got == bytes_of(number, way), "a message across");
		MPI(Send, data, bytes_of(number, way) + MOST / 2, MPI_CHAR, 0, TAG, inter);
	}
}

static void talk(MPI_Comm inter, int first)
{
	MPI_Comm all, part;
	int number;

	across(inter, first, 0);
	MPI(Intercomm_merge, inter, !first, &all);
	round_trip(all, 1);
	MPI_Comm_rank(all, &number);
	/* Two parts where there are three: each holds ranks of other places than in all. */
	MPI(Comm_split, all, number % 2, -number, &part);
	MPI(Comm_free, &all);
	round_trip(part, 2);
	MPI(Comm_dup, part, &all);
	MPI(Comm_free, &part);
	round_trip(all, 3);
	MPI(Comm_free, &all);
}

static void meet(MPI_Comm parents)
{
	char port[MPI_MAX_PORT_NAME];
	MPI_Comm others;

	if (world == 1) {
		MPI(Open_port, MPI_INFO_NULL, port);
		MPI(Send, port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, parents);
		MPI(Comm_accept, port, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &others);
		MPI(Close_port, port);
	} else {
		if (rank == 1)
			MPI(Recv, port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, parents, MPI_STATUS_IGNORE);
		MPI(Comm_connect, rank == 1 ? port : NULL, MPI_INFO_NULL, 1, MPI_COMM_WORLD, &others);
	}
	across(others, world == 1, 4);
	MPI(Comm_disconnect, &others);
}

/* Passes the port on from the one world to the other. */
static void introduce(MPI_Comm children)
{
	char port[MPI_MAX_PORT_NAME];

	if (rank == 0) {
		MPI(Recv, port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, children, MPI_STATUS_IGNORE);
		MPI(Send, port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, TAG, MPI_COMM_WORLD);
	} else {
		MPI(Recv, port, MPI_MAX_PORT_NAME, MPI_CHAR, 0, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI(Send, port, MPI_MAX_PORT_NAME, MPI_CHAR, 1, TAG, children);
	}
}

int main(int argc, char **argv)
{
	MPI_Comm parents, children;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_get_parent(&parents);
	if (parents == MPI_COMM_NULL) {
		char *arguments[] = {rank == 0 ? "1" : "2", NULL};
		MPI(Comm_spawn, argv[0], arguments, 1 + rank, MPI_INFO_NULL, 0, MPI_COMM_SELF, &children, MPI_ERRCODES_IGNORE);
		talk(children, 1);
		introduce(children);
		MPI(Comm_disconnect, &children);
	} else {
		world = atoi(argv[1]);
		talk(parents, 0);
		meet(parents);
		MPI(Comm_disconnect, &parents);
	}
	MPI(Finalize);
	report(world == 0 ? rank : 10 * world + rank);
	return 0;
}
