/*
 * Threads that call MPI for the first time all at once, while nothing is set up yet: MPI was initialised
 * behind the shim's back, as an MPI program in Fortran does under some MPI libraries. Each makes its calls
 * from 32 places, in phases some of whose names are new to all, and ends in the midst of a run of polls; threads come
 * and go.
 *
 *	race THREADS GENERATIONS
 */
#include "fakempi.h"
#include "moriens.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define PLACES_4 MPI_Barrier(0), MPI_Barrier(0), MPI_Send(0, 0, 0, 0, 0, 0), MPI_Barrier(0)
#define PLACES_16 PLACES_4, PLACES_4, PLACES_4, PLACES_4

static pthread_barrier_t start;

static void *run(void *argument)
{
	char name[32];
	int flag;

	(void)argument;
	pthread_barrier_wait(&start);
	for (int i = 0; i < 50; i++) {
		MORIENS_BEGIN("round");
		snprintf(name, sizeof name, "round %d", i);
		moriens_begin(name);
		(void)(PLACES_16), (void)(PLACES_16);
		moriens_end(name);
		MORIENS_END("round");
	}
	for (int i = 0; i < 10; i++)
		MPI_Iprobe(0, 0, 0, (word)&flag, 0);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[1]) : 8;
	int generations = argc > 2 ? atoi(argv[2]) : 3;
	pthread_t thread[64];

	PMPI_Init(0, 0);
	for (int g = 0; g < generations; g++) {
		pthread_barrier_init(&start, NULL, (unsigned)threads);
		for (int i = 0; i < threads; i++)
			pthread_create(&thread[i], NULL, run, NULL);
		for (int i = 0; i < threads; i++)
			pthread_join(thread[i], NULL);
		pthread_barrier_destroy(&start);
	}
	return MPI_Finalize();
}
