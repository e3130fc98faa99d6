/*
 * What a rank holds in memory, for itself: prints "a rank with one thread MiB" and "each further thread MiB", of rank
 * 0. Threads call MPI in turn.
 */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>

#define THREADS 8

static pthread_barrier_t made, measured;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* What is the process's own: pages of files, such as libraries, are all processes'. */
static double resident_mib(void)
{
	char line[256];
	double kib, all = 0;
	FILE *f = fopen("/proc/self/status", "r");

	while (f != NULL && fgets(line, sizeof line, f) != NULL)
		if (sscanf(line, "RssAnon: %lf", &kib) == 1 || sscanf(line, "RssShmem: %lf", &kib) == 1)
			all += kib;
	if (f != NULL)
		fclose(f);
	return all / 1024;
}

static void *call(void *argument)
{
	int flag;

	pthread_mutex_lock(&turn);
	MPI_Iprobe(MPI_ANY_SOURCE, 9, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
	pthread_mutex_unlock(&turn);
	pthread_barrier_wait(&made);
	pthread_barrier_wait(&measured);
	return argument;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS];
	int rank, provided;

	MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	for (int i = 0; i < 1000; i++)
		MPI_Barrier(MPI_COMM_SELF);
	double one = resident_mib();
	pthread_barrier_init(&made, NULL, THREADS + 1);
	pthread_barrier_init(&measured, NULL, THREADS + 1);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, call, NULL);
	pthread_barrier_wait(&made);
	double all = resident_mib();
	pthread_barrier_wait(&measured);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	if (rank == 0)
		printf("a rank with one thread\t%.3f\neach further thread\t%.3f\n", one, (all - one) / THREADS);
	MPI_Finalize();
	return 0;
}
