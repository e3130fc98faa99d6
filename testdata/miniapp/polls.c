/*
 * Programs that ask again and again whether something has come:
 *
 *	polls each N            each polling function N times without success from one place, and once with
 *	polls compute N US      N times: US microseconds of work, one failed MPI_Test
 *	polls die N             N failed MPI_Iprobe, then SIGKILL
 *	polls inside            failed MPI_Iprobe until a child kills it
 *	polls pool N [MS]       N failed MPI_Iprobe by a thread that lives on when MPI is finalised,
 *	                        for MS milliseconds
 *
 * each writes how many ns lie between its first poll and its last to $MINIAPP_OUT/took.<rank>, and compute its bursts
 * as planted.c does. inside keeps, in $MINIAPP_OUT/polling.<rank>, how many calls it has begun and how many have come
 * back, 64 bits each.
 */
#include "planted.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>

static MPI_Request request[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};

static void expect(int found, int want)
{
	if (found != want) {
		fprintf(stderr, "a poll found %d, not %d\n", found, want);
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
}

static void start(int *value)
{
	MPI(Irecv, value, 1, MPI_INT, 0, 7, MPI_COMM_SELF, &request[0]);
}

static void each(long n, int rank)
{
	int value = 1, got, flag, index, indices[2];
	MPI_Message message;

	start(&got);
	int64_t begin = now_ns();
	for (long i = 0; i < n; i++) {
		MPI(Test, &request[0], &flag, MPI_STATUS_IGNORE);
		expect(flag, 0);
	}
	for (long i = 0; i < n; i++) {
		MPI(Testall, 1, request, &flag, MPI_STATUSES_IGNORE);
		expect(flag, 0);
	}
	for (long i = 0; i < n; i++) {
		MPI(Testany, 2, request, &index, &flag, MPI_STATUS_IGNORE);
		expect(flag, 0);
	}
	for (long i = 0; i < n; i++) {
		MPI(Testsome, 2, request, &index, indices, MPI_STATUSES_IGNORE);
		expect(index, 0);
	}
	for (long i = 0; i < n; i++) {
		MPI(Request_get_status, request[0], &flag, MPI_STATUS_IGNORE);
		expect(flag, 0);
	}
	for (long i = 0; i < n; i++) {
		MPI(Iprobe, 0, 8, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
		expect(flag, 0);
	}
	for (long i = 0; i < n; i++) {
		MPI(Improbe, 0, 8, MPI_COMM_SELF, &flag, &message, MPI_STATUS_IGNORE);
		expect(flag, 0);
	}
	/* From one place: N without success, then one more that finds the message sent just before. */
	for (long i = 0; i <= n; i++) {
		if (i == n)
			PMPI_Send(&value, 1, MPI_INT, 0, 7, MPI_COMM_SELF);
		MPI(Test, &request[0], &flag, MPI_STATUS_IGNORE);
		expect(flag, i == n);
	}
	int64_t took = now_ns() - begin;
	FILE *f = planted_open();
	fprintf(f, "%lld\n", (long long)took);
	planted_close(f, "took", rank);
}

static void compute(long n, int64_t ns, int rank)
{
	int64_t *begin = calloc((size_t)n, 2 * sizeof *begin), *end = begin + n;
	int got, flag;

	memset(begin, 1, (size_t)n * 2 * sizeof *begin);
	start(&got);
	for (long i = 0; i < n; i++) {
		begin[i] = now_ns();
		do
			end[i] = now_ns();
		while (end[i] - begin[i] < ns);
		MPI_Test(&request[0], &flag, MPI_STATUS_IGNORE);
	}
	planted_add("MPI_Test", n);
	MPI(Cancel, &request[0]);
	MPI(Wait, &request[0], MPI_STATUS_IGNORE);
	FILE *f = planted_open();
	for (long i = 0; i < n; i++)
		fprintf(f, "1 %lld %lld\n", (long long)begin[i], (long long)end[i]);
	planted_close(f, "bursts", rank);
	free(begin);
}

static void die(long n, int rank)
{
	int flag;

	for (long i = 0; i < n; i++)
		MPI(Iprobe, 0, 8, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	report(rank);
	kill(getpid(), SIGKILL);
}

static void inside(int rank)
{
	char path[4096];
	int flag;
	pid_t me = getpid();

	planted_path(path, sizeof path, "polling", rank);
	int fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, 16) != 0)
		exit(1);
	volatile uint64_t *polls = mmap(NULL, 16, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	report(rank);
	if (fork() == 0) {
		while (polls[1] < 1000)
			usleep(1000);
		usleep(150000);
		kill(me, SIGKILL);
		_exit(0);
	}
	for (;;) {
		polls[0]++;
		MPI_Iprobe(0, 8, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
		polls[1]++;
	}
}

static pthread_barrier_t polled, finalised;

static void *pool(void *argument)
{
	long n = *(long *)argument;
	int flag;

	for (long i = 0; i < n; i++)
		MPI(Iprobe, 0, 8, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	pthread_barrier_wait(&polled);
	pthread_barrier_wait(&finalised);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 1000;
	int rank, provided;
	pthread_t thread;

	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	if (strcmp(what, "each") == 0)
		each(n, rank);
	else if (strcmp(what, "compute") == 0)
		compute(n, (argc > 3 ? atol(argv[3]) : 1000) * 1000, rank);
	else if (strcmp(what, "die") == 0)
		die(n, rank);
	else if (strcmp(what, "inside") == 0)
		inside(rank);
	if (strcmp(what, "pool") == 0) {
		pthread_barrier_init(&polled, NULL, 2);
		pthread_barrier_init(&finalised, NULL, 2);
		pthread_create(&thread, NULL, pool, &n);
		pthread_barrier_wait(&polled);
	}
	MPI(Finalize);
	report(rank);
	if (strcmp(what, "pool") == 0) {
		if (argc > 3)
			usleep((useconds_t)atol(argv[3]) * 1000);
		pthread_barrier_wait(&finalised);
		pthread_join(thread, NULL);
	}
	return 0;
}
