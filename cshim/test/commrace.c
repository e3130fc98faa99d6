/*
 * A communicator's handle is another's before the shim knows of its end: one thread frees a communicator, and while it
 * is inside MPI, which has given the handle back, another makes one that gets it, and a third one.
 *
 *	commrace
 */
#include "fakempi.h"

#include <pthread.h>

#define WORLD 0x44000000u

static pthread_barrier_t turn;

static void *make(void *argument)
{
	unsigned again, further;

	MPI_Barrier(WORLD);
	pthread_barrier_wait(&turn); /* the handle is free */
	MPI_Comm_dup(WORLD, &again);
	MPI_Comm_dup(WORLD, &further);
	pthread_barrier_wait(&turn); /* MPI_Comm_free may return */
	pthread_barrier_wait(&turn); /* it has */
	MPI_Barrier(again);
	MPI_Barrier(further);
	MPI_Comm_free(&again);
	MPI_Comm_free(&further);
	return argument;
}

static void let_make(void)
{
	fake_comm_freed = NULL;
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
}

int main(void)
{
	pthread_t thread;
	unsigned first;

	MPI_Init(0, 0);
	MPI_Comm_dup(WORLD, &first);
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&thread, NULL, make, NULL);
	fake_comm_freed = let_make;
	MPI_Comm_free(&first);
	pthread_barrier_wait(&turn);
	pthread_join(thread, NULL);
	MPI_Finalize();
	return 0;
}
