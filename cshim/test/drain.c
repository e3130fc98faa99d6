/*
 * Makes 20 calls in a thread that ends and 20 by itself, and says "recorded". Then it waits for its input, says "ends",
 * calls MPI_Finalize, and says "ended".
 */
#include "fakempi.h"

#include <pthread.h>
#include <stdio.h>

static void *run(void *argument)
{
	for (int i = 0; i < 20; i++)
		MPI_Barrier(0);
	return argument;
}

int main(void)
{
	pthread_t thread;

	MPI_Init(0, 0);
	run(NULL);
	pthread_create(&thread, NULL, run, NULL);
	pthread_join(thread, NULL);
	puts("recorded");
	fflush(stdout);
	getchar();
	puts("ends");
	fflush(stdout);
	MPI_Finalize();
	puts("ended");
	return 0;
}
