/*
 * Processes that find each other: of two ranks one accepts the other at a port that it has published, and
 * joins it over a socket. With the path of child as an argument they also spawn it, alone and as
 * one of two commands.
 */
#include "checked.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* Sends a number both ways and lets go. */
static void meet(MPI_Comm *comm)
{
	int got = -1;

	MPI(Sendrecv, &rank, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, *comm, MPI_STATUS_IGNORE);
	expect(got == 1 - rank, "what was sent between worlds");
	MPI(Comm_disconnect, comm);
}

static void ports(void)
{
	char port[MPI_MAX_PORT_NAME];
	MPI_Comm other;

	if (rank == 0) {
		MPI(Open_port, MPI_INFO_NULL, port);
		MPI(Publish_name, "moriens-test", MPI_INFO_NULL, port);
		MPI(Barrier, MPI_COMM_WORLD);
		MPI(Comm_accept, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
	} else {
		MPI(Barrier, MPI_COMM_WORLD);
		MPI(Lookup_name, "moriens-test", MPI_INFO_NULL, port);
		MPI(Comm_connect, port, MPI_INFO_NULL, 0, MPI_COMM_SELF, &other);
	}
	meet(&other);
	MPI(Barrier, MPI_COMM_WORLD);
	if (rank == 0) {
		MPI(Unpublish_name, "moriens-test", MPI_INFO_NULL, port);
		MPI(Close_port, port);
	}
}

static void join(void)
{
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof address;
	int fd = socket(AF_INET, SOCK_STREAM, 0), listening = -1;
	MPI_Comm other;

	if (rank == 0) {
		listening = fd;
		expect(bind(fd, (struct sockaddr *)&address, bytes) == 0 && listen(fd, 1) == 0 &&
			getsockname(fd, (struct sockaddr *)&address, &bytes) == 0, "a socket");
	}
	MPI(Bcast, &address, sizeof address, MPI_BYTE, 0, MPI_COMM_WORLD);
	if (rank == 0)
		fd = accept(listening, NULL, NULL);
	else
		expect(connect(fd, (struct sockaddr *)&address, bytes) == 0, "connect");
	MPI(Comm_join, fd, &other);
	expect(other != MPI_COMM_NULL, "Comm_join");
	meet(&other);
	close(fd);
	if (listening >= 0)
		close(listening);
}

/* What the child does on its side is in child.c. */
static void greet(MPI_Comm *children, int count)
{
	int sum = 0, size;
	MPI_Comm all;

	MPI(Intercomm_merge, *children, 0, &all);
	MPI(Allreduce, &rank, &sum, 1, MPI_INT, MPI_SUM, all);
	MPI_Comm_size(all, &size);
	expect(size == 2 + count && sum == 1 + 100 * count, "the children's sum");
	MPI(Comm_free, &all);
	MPI(Comm_disconnect, children);
}

static void spawn(char *child)
{
	char *arguments[] = {"one", "two", NULL}, *commands[] = {child, child}, **many[] = {arguments, arguments};
	int counts[2] = {1, 1}, errors[2];
	MPI_Info infos[2] = {MPI_INFO_NULL, MPI_INFO_NULL};
	MPI_Comm children;

	MPI(Comm_spawn, child, arguments, 1, MPI_INFO_NULL, 0, MPI_COMM_WORLD, &children, errors);
	greet(&children, 1);
	MPI(Comm_spawn_multiple, 2, commands, many, counts, infos, 0, MPI_COMM_WORLD, &children, errors);
	greet(&children, 2);
}

int main(int argc, char **argv)
{
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	ports();
	join();
	if (argc > 1)
		spawn(argv[1]);
	MPI(Finalize);
	report(rank);
	return 0;
}
