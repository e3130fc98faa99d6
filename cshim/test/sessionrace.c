/*
 * Threads that open and close MPI sessions at the same time: each may open the first one and end the last, again and
 * again.
 *
 *	sessionrace THREADS ROUNDS DELAY
 *
 * A thread that makes a session known to the shim is held up for so many microseconds: the linker puts our function
 * before the shim's.
 */
#include "fakempi.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

static pthread_barrier_t start;
static int rounds;
static unsigned delay_us;

void __real_moriens_mpi_add_session(word handle);
void __wrap_moriens_mpi_add_session(word handle);

void __wrap_moriens_mpi_add_session(word handle)
{
	usleep(delay_us);
	__real_moriens_mpi_add_session(handle);
}

static void *run(void *argument)
{
	int session;

	pthread_barrier_wait(&start);
	for (int i = 0; i < rounds; i++) {
		MPI_Session_init(0, 0, &session);
		MPI_Barrier(0);
		MPI_Session_finalize(&session);
	}
	return argument;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 8;
	pthread_t thread[64];

	rounds = argc > 2 ? atoi(argv[2]) : 100;
	delay_us = argc > 3 ? (unsigned)atoi(argv[3]) : 0;
	pthread_barrier_init(&start, NULL, (unsigned)threads);
	for (int i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, run, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
