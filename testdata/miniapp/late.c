/*
 * Planted waits. Each rank sleeps, in place of computing, so that this needs no core and takes as long on a machine
 * that is shared; then it meets others, ITERATIONS times. One of them sleeps LATE_US more than the others:
 *
 *	late allreduce|barrier|test|ring|rounds|ssend|waitall|any|chain|threads [LATE [LATE_US [ITERATIONS [FILE]]]]
 *
 *	allreduce, barrier   all ranks meet; rank LATE is late
 *	test                 all ranks begin to meet, and test until they have met; rank LATE is late
 *	ring                 each rank sends to the next and receives from the one before; rank LATE is late
 *	rounds               a ring, and a barrier behind it
 *	ssend                each rank sends to rank LATE, which receives late
 *	waitall              each rank sends to all others, receives from them, and waits for all that at once; rank LATE is
 *	                     late
 *	any                  the rank after LATE receives from any of the others; rank LATE is late
 *	chain                rank 0 is late and sends to rank 1, which receives, sleeps and sends to rank 2, and so on; an
 *	                     MPI_Allreduce at the end
 *	threads              thread t of a rank meets those of the same number on other ranks; thread 1 of rank LATE is late
 *
 * With FILE, ranks count in it how often they have arrived where they meet. Then the late one is last on any machine:
 * it waits, without MPI, until all others have arrived, and sleeps LATE_US, or FACTOR times as long as all that took
 * since it was there itself, if that is longer. So what it does outside of MPI is most of what others wait for.
 */
#include "checked.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <string.h>

enum { THREADS = 3 };

static const int64_t step_us = 2000;
static int size, late = 1;
static int64_t late_us = 8000, iterations = 40;
static sem_t begun;

/* Of each rank, and of each thread number: how often it has arrived; NULL without FILE. */
static _Atomic int64_t *arrived;

enum { FACTOR = 8 };

static void sleep_us(int64_t us)
{
	int64_t ns = now_ns() + us * 1000;
	struct timespec until = {.tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000};

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL) != 0)
		;
}

static void allreduce(MPI_Comm comm)
{
	int one = 1, sum = 0;

	MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm); /* all meet */
	expect(sum == size, "the sum");
}

static void barrier(MPI_Comm comm)
{
	expect(MPI_Barrier(comm) == MPI_SUCCESS, "the barrier"); /* all meet in a barrier */
}

static void test(MPI_Comm comm)
{
	int one = 1, sum = 0, done = 0;
	MPI_Request request;

	MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request); /* all begin to meet */
	while (!done)
		MPI_Test(&request, &done, MPI_STATUS_IGNORE);
	expect(sum == size, "the sum of what was begun");
}

static void ring(MPI_Comm comm)
{
	int got = -1, before = (rank + size - 1) % size;

	MPI_Send(&rank, 1, MPI_INT, (rank + 1) % size, 7, comm); /* to the next */
	MPI_Recv(&got, 1, MPI_INT, before, 7, comm, MPI_STATUS_IGNORE);
	expect(got == before, "the ring");
}

static void rounds(MPI_Comm comm)
{
	ring(comm);
	barrier(comm);
}

static void ssend(MPI_Comm comm)
{
	int got = -1;

	if (rank != late) {
		MPI_Ssend(&rank, 1, MPI_INT, late, 9, comm); /* to the late one */
		return;
	}
	for (int r = 0; r < size; r++) {
		if (r == late)
			continue;
		MPI_Recv(&got, 1, MPI_INT, r, 9, comm, MPI_STATUS_IGNORE); /* from those that wait */
		expect(got == r, "what waited");
	}
}

enum { MAX_RANKS = 64 };

static void waitall(MPI_Comm comm)
{
	MPI_Request requests[2 * MAX_RANKS];
	MPI_Status statuses[2 * MAX_RANKS];
	int got[MAX_RANKS], n = 0;

	for (int r = 0; r < size; r++)
		if (r != rank)
			MPI_Irecv(&got[r], 1, MPI_INT, r, 10, comm, &requests[n++]); /* from all */
	for (int r = 0; r < size; r++)
		if (r != rank)
			MPI_Isend(&rank, 1, MPI_INT, r, 10, comm, &requests[n++]);
	MPI_Waitall(n, requests, statuses); /* for all at once */
	for (int r = 0; r < size; r++)
		expect(r == rank || got[r] == r, "what all sent");
}

static void any(MPI_Comm comm)
{
	static int tag = 100;
	int receiver = (late + 1) % size, got = -1, sum = 0;

	tag++;
	if (rank != receiver) {
		MPI_Send(&rank, 1, MPI_INT, receiver, tag, comm); /* to the one that takes any */
		return;
	}
	for (int r = 1; r < size; r++) {
		MPI_Recv(&got, 1, MPI_INT, MPI_ANY_SOURCE, tag, comm, MPI_STATUS_IGNORE);
		sum += got;
	}
	expect(sum == size * (size - 1) / 2 - receiver, "what any rank sent");
}

static int others_arrived(int64_t i, int thread)
{
	for (int r = 0; r < size; r++)
		if (r != late && atomic_load(&arrived[r * THREADS + thread]) <= i)
			return 0;
	return 1;
}

/* The way to the place where others are already, as far as that is known. */
static void follow(int64_t i, int thread)
{
	sleep_us(step_us);
	while (arrived != NULL && !others_arrived(i, thread))
		sleep_us(200);
}

/* The longer way to the place where others wait. last_ns is when this rank arrived the time before. */
static __attribute__((noinline)) void be_late(int64_t i, int thread, int64_t last_ns)
{
	int64_t us = late_us;

	follow(i, thread);
	if (arrived != NULL && us < FACTOR * (now_ns() - last_ns) / 1000)
		us = FACTOR * (now_ns() - last_ns) / 1000;
	sleep_us(us);
}

/* Arrives, and gives when that was. */
static int64_t arrive(int thread)
{
	if (arrived != NULL)
		atomic_fetch_add(&arrived[rank * THREADS + thread], 1);
	return now_ns();
}

static void iterate(void (*meet)(MPI_Comm), MPI_Comm comm, int is_late, int thread)
{
	int64_t last_ns = now_ns();

	for (int64_t i = 0; i < iterations; i++) {
		if (is_late)
			be_late(i, thread, last_ns);
		else if (rank == late)
			follow(i, thread); /* so that never two arrive at the same time, of which nobody waits */
		else
			sleep_us(step_us);
		last_ns = arrive(thread);
		meet(comm);
	}
}

static void chain(void)
{
	int64_t last_ns = now_ns();

	late = 0;
	for (int64_t i = 0; i < iterations; i++) {
		int64_t number = i;

		if (rank == 0) {
			be_late(i, 0, last_ns);
			last_ns = arrive(0);
		} else {
			arrive(0);
			MPI_Recv(&number, 1, MPI_INT64_T, rank - 1, 8, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
			sleep_us(step_us);
		}
		expect(number == i, "the chain");
		if (rank + 1 < size)
			MPI_Send(&number, 1, MPI_INT64_T, rank + 1, 8, MPI_COMM_WORLD); /* down the chain */
	}
	allreduce(MPI_COMM_WORLD);
}

/* Threads make their first calls in the order of their numbers. */
static void *work(void *argument)
{
	int number = (int)(intptr_t)argument;
	MPI_Comm comm;

	if (rank == late)
		sleep_us(step_us);
	MPI_Comm_dup(MPI_COMM_WORLD, &comm);
	if (number > 0)
		sem_post(&begun);
	iterate(allreduce, comm, rank == late && number == 1, number);
	return NULL;
}

static void threads(void)
{
	pthread_t others[THREADS];

	sem_init(&begun, 0, 0);
	for (intptr_t t = 1; t < THREADS; t++) {
		expect(pthread_create(&others[t], NULL, work, (void *)t) == 0, "pthread_create");
		while (sem_wait(&begun) != 0)
			;
	}
	work(NULL);
	for (int t = 1; t < THREADS; t++)
		pthread_join(others[t], NULL);
}

/* Maps FILE, which all ranks make as long as they need it. */
static _Atomic int64_t *shared(const char *file)
{
	size_t bytes = (size_t)size * THREADS * sizeof *arrived;
	int fd = open(file, O_RDWR | O_CREAT, 0600);
	void *at;

	expect(fd >= 0 && ftruncate(fd, (off_t)bytes) == 0, file);
	at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	expect(at != MAP_FAILED, file);
	close(fd);
	return at;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "allreduce";
	int with_threads = strcmp(how, "threads") == 0, provided;

	if (argc > 2)
		late = atoi(argv[2]);
	if (argc > 3)
		late_us = atol(argv[3]);
	if (argc > 4)
		iterations = atol(argv[4]);
	MPI_Init_thread(&argc, &argv, with_threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	expect(size <= MAX_RANKS, "so many ranks");
	expect(!with_threads || provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
	if (argc > 5)
		arrived = shared(argv[5]);
	if (with_threads)
		threads();
	else if (strcmp(how, "chain") == 0)
		chain();
	else if (strcmp(how, "ring") == 0)
		iterate(ring, MPI_COMM_WORLD, rank == late, 0);
	else if (strcmp(how, "rounds") == 0)
		iterate(rounds, MPI_COMM_WORLD, rank == late, 0);
	else if (strcmp(how, "ssend") == 0)
		iterate(ssend, MPI_COMM_WORLD, rank == late, 0);
	else if (strcmp(how, "waitall") == 0)
		iterate(waitall, MPI_COMM_WORLD, rank == late, 0);
	else if (strcmp(how, "any") == 0)
		iterate(any, MPI_COMM_WORLD, rank == late, 0);
	else if (strcmp(how, "test") == 0)
		iterate(test, MPI_COMM_WORLD, rank == late, 0);
	else if (strcmp(how, "barrier") == 0)
		iterate(barrier, MPI_COMM_WORLD, rank == late, 0);
	else
		iterate(allreduce, MPI_COMM_WORLD, rank == late, 0);
	MPI_Finalize();
	return 0;
}
