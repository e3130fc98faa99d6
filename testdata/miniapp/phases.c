/*
 * Programs of two ranks whose phases are planted. What they sleep bounds times from below, whatever the machine does;
 * what they measure themselves bounds them from above.
 *
 *	phases multiphysics N   heat and stress in iterate: two functions each, one message each way in heat, two in stress
 *	phases borders N        phases that begin and end in the middle of bursts, that lie in one burst, that are empty
 *	phases dynamic N SLOW   instance i of ITERATE waits i / 2 ms for rank 0, number SLOW a second longer
 *	phases recursive N      a phase in itself, and one of the same name in two others
 *	phases threads N M      N threads of each rank that exchange in phases, M times, and one that marks without MPI
 *	phases pause N          phases round a pause, in it, and across both of its ends
 *	phases killed N         rank 0 is killed in a phase in a phase, while rank 1 waits for it in one
 *	phases uneven N         rank 0 has N instances, rank 1 has half as many again
 *	phases many N SLOW      N instances of a phase, number SLOW half a second longer
 */
#include "moriens.h"
#include "planted.h"

#include <pthread.h>
#include <signal.h>

static int rank;

static void barrier(void)
{
	MPI(Barrier, MPI_COMM_WORLD);
}

/* Rank 1 sends first, so that both calls of both ranks are needed. */
static void swap(int tag)
{
	int value = tag;

	if (rank == 1)
		MPI(Send, &value, 1, MPI_INT, 0, tag, MPI_COMM_WORLD);
	MPI(Recv, &value, 1, MPI_INT, 1 - rank, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	if (rank == 0)
		MPI(Send, &value, 1, MPI_INT, 1, tag, MPI_COMM_WORLD);
}

static void heat(void)
{
	MORIENS_BEGIN("heat");
	usleep(2000);
	swap(1);
	MORIENS_END("heat");
}

static void stress(void)
{
	MORIENS_BEGIN("stress");
	usleep(3000);
	swap(2);
	swap(3);
	MORIENS_END("stress");
}

static void multiphysics(long n)
{
	for (long i = 0; i < n; i++) {
		MORIENS_BEGIN("iterate");
		heat();
		stress();
		MORIENS_END("iterate");
	}
}

static void borders(long n)
{
	for (long i = 0; i < n; i++) {
		barrier();
		usleep(300);
		MORIENS_BEGIN("across"); /* two bursts of it, each with a part outside */
		usleep(1000);
		barrier();
		usleep(1000);
		MORIENS_END("across");
		usleep(300);
		barrier();
		usleep(2000);
		MORIENS_BEGIN("inside"); /* a part of one burst, and not most of it */
		usleep(500);
		MORIENS_END("inside");
		MORIENS_BEGIN("empty");
		MORIENS_END("empty");
		usleep(2000);
		barrier();
		MORIENS_BEGIN("round"); /* its border is in the same burst as that of the phase in it */
		MORIENS_BEGIN("in");
		usleep(500);
		barrier();
		MORIENS_END("in");
		MORIENS_END("round");
	}
}

/*
 * Rank 0 sleeps when it has the message that rank 1 sends in its MPI_Sendrecv, which ends with the answer: that call
 * takes at least as long.
 */
static void dynamic(long n, long slow)
{
	FILE *measured = planted_open();

	for (long i = 0; i < n; i++) {
		int value = (int)i, got;
		int64_t began = now_ns();
		MORIENS_BEGIN("ITERATE");
		if (rank == 0) {
			MPI(Recv, &got, 1, MPI_INT, 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			usleep((useconds_t)i * 500);
			if (i == slow)
				sleep(1);
			MPI(Send, &value, 1, MPI_INT, 1, 0, MPI_COMM_WORLD);
		} else {
			MPI(Sendrecv, &value, 1, MPI_INT, 0, 0, &got, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		}
		MORIENS_END("ITERATE");
		fprintf(measured, "%lld\n", (long long)(now_ns() - began));
	}
	planted_close(measured, "instances", rank);
}

static void down(long n)
{
	MORIENS_BEGIN("down");
	barrier();
	if (n > 1)
		down(n - 1);
	barrier();
	MORIENS_END("down");
}

static void solve(long barriers)
{
	MORIENS_BEGIN("solve");
	for (long i = 0; i < barriers; i++)
		barrier();
	MORIENS_END("solve");
}

static void recursive(long n)
{
	down(n);
	for (long i = 0; i < n; i++) {
		MORIENS_BEGIN("a");
		solve(2);
		MORIENS_END("a");
		MORIENS_BEGIN("b");
		solve(3);
		MORIENS_BEGIN("a"); /* of the same name as another path has */
		solve(1);
		MORIENS_END("a");
		MORIENS_END("b");
	}
}

struct work {
	int tag;
	long n;
};

static void *exchange(void *argument)
{
	struct work *w = argument;
	int got;

	for (long i = 0; i < w->n; i++) {
		MORIENS_BEGIN("exchange");
		MORIENS_BEGIN("wait");
		MPI_Sendrecv(&w->tag, 1, MPI_INT, 1 - rank, w->tag, &got, 1, MPI_INT, 1 - rank, w->tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MORIENS_END("wait");
		usleep(100);
		MORIENS_END("exchange");
	}
	return NULL;
}

static void *alone(void *argument)
{
	struct work *w = argument;

	for (long i = 0; i < w->n; i++) {
		MORIENS_BEGIN("alone");
		usleep(1000);
		MORIENS_END("alone");
	}
	return NULL;
}

static void threads(int count, long n)
{
	pthread_t t[17];
	struct work work[17];

	MORIENS_BEGIN("threads");
	for (int i = 0; i <= count; i++) {
		work[i] = (struct work){i, n};
		pthread_create(&t[i], NULL, i < count ? exchange : alone, &work[i]);
	}
	for (int i = 0; i <= count; i++)
		pthread_join(t[i], NULL);
	MORIENS_END("threads");
	planted_add("MPI_Sendrecv", count * n);
}

static void pauses(long n)
{
	for (long i = 0; i < n; i++) {
		MORIENS_BEGIN("whole");
		barrier();
		MORIENS_BEGIN("into");
		barrier();
		MPI(Pcontrol, 0);
		usleep(2000);
		MORIENS_END("into");
		MORIENS_BEGIN("within");
		MPI_Barrier(MPI_COMM_WORLD);
		usleep(3000);
		MORIENS_END("within");
		MORIENS_BEGIN("out of");
		usleep(1000);
		MPI(Pcontrol, 1);
		barrier();
		MORIENS_END("out of");
		barrier();
		MORIENS_END("whole");
	}
}

/* Rank 1 has said what it has called before its last call, and rank 0 before it ends. */
static void killed(long n)
{
	char path[4096];
	int value;

	MORIENS_BEGIN("outer");
	for (long i = 0; i < n; i++) {
		MORIENS_BEGIN("step");
		barrier();
		MORIENS_END("step");
	}
	MORIENS_BEGIN("inner");
	barrier();
	report(rank);
	if (rank == 1)
		MPI_Recv(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	planted_path(path, sizeof path, "counts", 1);
	while (access(path, F_OK) != 0)
		usleep(1000);
	usleep(20000);
	kill(getpid(), SIGKILL);
}

static void uneven(long n)
{
	for (long i = 0; i < n + rank * n / 2; i++) {
		MORIENS_BEGIN("step");
		MPI(Barrier, MPI_COMM_SELF);
		MORIENS_END("step");
	}
}

/* Both say which other instance took them longest. */
static void many(long n, long slow)
{
	int64_t other = 0;
	FILE *measured = planted_open();

	for (long i = 0; i < n; i++) {
		int64_t began = now_ns();
		MORIENS_BEGIN("step");
		if (i % 100 == 0)
			MPI(Barrier, MPI_COMM_SELF);
		if (i == slow && rank == 1)
			usleep(500000);
		MORIENS_END("step");
		int64_t took = now_ns() - began;
		if (took > other && !(i == slow && rank == 1))
			other = took;
	}
	fprintf(measured, "%lld\n", (long long)other);
	planted_close(measured, "instances", rank);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	long n = argc > 2 ? atol(argv[2]) : 10, m = argc > 3 ? atol(argv[3]) : 3;
	int size, provided;

	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (provided != MPI_THREAD_MULTIPLE || size != 2) {
		fprintf(stderr, "needs MPI_THREAD_MULTIPLE and 2 ranks\n");
		MPI_Abort(MPI_COMM_WORLD, 1);
	}
	barrier();
	if (strcmp(what, "multiphysics") == 0)
		multiphysics(n);
	else if (strcmp(what, "borders") == 0)
		borders(n);
	else if (strcmp(what, "dynamic") == 0)
		dynamic(n, m);
	else if (strcmp(what, "recursive") == 0)
		recursive(n);
	else if (strcmp(what, "threads") == 0)
		threads((int)n, m);
	else if (strcmp(what, "pause") == 0)
		pauses(n);
	else if (strcmp(what, "killed") == 0)
		killed(n);
	else if (strcmp(what, "uneven") == 0)
		uneven(n);
	else if (strcmp(what, "many") == 0)
		many(n, m);
	barrier();
	MPI(Finalize);
	report(rank);
	return 0;
}
