/* Planted: two threads that call MPI at the same time, each with a loop of its own. */
#include "planted.h"
#include <pthread.h>

static MPI_Comm apart;

FUNCTION void *worker(void *unused)
{
	double value = 0;
	int next = (rank + 1) % size, before = (rank + size - 1) % size;
	for (int i = 0; i < 30 * one; i++) {
		work(8000);
		MPI(MPI_Sendrecv_replace(&value, 1, MPI_DOUBLE, next, 1, before, 1, apart, MPI_STATUS_IGNORE)); /* @worker */
	}
	return unused;
}

int main(int argc, char **argv)
{
	int provided;
	MPI(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
	if (provided < MPI_THREAD_MULTIPLE) abort();
	identify(argc);
	MPI(MPI_Comm_dup(MPI_COMM_WORLD, &apart));
	pthread_t thread;
	if (pthread_create(&thread, NULL, worker, NULL) != 0) abort();
	double value = 0, sum;
	for (int i = 0; i < 20 * one; i++) {
		work(12000);
		MPI(MPI_Allreduce(&value, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD)); /* @main */
	}
	if (pthread_join(thread, NULL) != 0) abort();
	MPI(MPI_Comm_free(&apart));
	MPI(MPI_Finalize());
	return 0;
}
