/*
 * A master gives out tasks of random length to whoever asks:
 *
 *	tasks [-n TASKS] [-u MEAN_US] [-s SEED] [-k KILL_AT]
 *
 * Rank 0 is the master. A worker computes as long as its task says, exponentially distributed with a mean of MEAN_US,
 * and sends the result, by which it asks for the next one. So who does what, and in which order, is different every
 * time. When KILL_AT results have been received, rank 1 is killed.
 *
 * Rank 0 prints how many results it received and their sum, "results N sum S".
 */
#include "planted.h"

#include <math.h>
#include <signal.h>

enum { TASK = 1, RESULT = 2, STOP = 3 };

static double work(double us)
{
	int64_t end = now_ns() + (int64_t)(us * 1000);
	double x = us;

	while (now_ns() < end)
		for (int i = 0; i < 100; i++)
			x = x * .999999 + 1e-6;
	return x > 0;
}

static void master(int size, long tasks, double mean_us, unsigned seed, long kill_at)
{
	pid_t victim = 0;
	long given = 0, came = 0;
	double sum = 0, task, result;
	MPI_Status status;

	srand48(seed);
	if (size > 1)
		MPI(Recv, &victim, sizeof victim, MPI_BYTE, 1, RESULT, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	for (int worker = 1; worker < size && given < tasks; worker++, given++) {
		task = -mean_us * log(1 - drand48());
		MPI(Send, &task, 1, MPI_DOUBLE, worker, TASK, MPI_COMM_WORLD);
	}
	while (came < given) {
		MPI(Recv, &result, 1, MPI_DOUBLE, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &status);
		sum += result;
		if (++came == kill_at)
			kill(victim, SIGKILL);
		if (given < tasks) {
			task = -mean_us * log(1 - drand48());
			MPI(Send, &task, 1, MPI_DOUBLE, status.MPI_SOURCE, TASK, MPI_COMM_WORLD);
			given++;
		}
	}
	for (int worker = 1; worker < size; worker++)
		MPI(Send, &task, 1, MPI_DOUBLE, worker, STOP, MPI_COMM_WORLD);
	printf("results %ld sum %g\n", came, sum);
}

static void worker(int rank)
{
	pid_t own = getpid();
	double task, result;
	MPI_Status status;

	if (rank == 1)
		MPI(Send, &own, sizeof own, MPI_BYTE, 0, RESULT, MPI_COMM_WORLD);
	for (;;) {
		MPI(Recv, &task, 1, MPI_DOUBLE, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &status);
		if (status.MPI_TAG == STOP)
			return;
		result = work(task);
		MPI(Send, &result, 1, MPI_DOUBLE, 0, RESULT, MPI_COMM_WORLD);
	}
}

int main(int argc, char **argv)
{
	int rank, size, option;
	long tasks = 1000, kill_at = -1;
	double mean_us = 500;
	unsigned seed = 1;

	planted_share();
	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	while ((option = getopt(argc, argv, "n:u:s:k:")) != -1) {
		switch (option) {
		case 'n': tasks = atol(optarg); break;
		case 'u': mean_us = atof(optarg); break;
		case 's': seed = (unsigned)atol(optarg); break;
		case 'k': kill_at = atol(optarg); break;
		default: MPI_Abort(MPI_COMM_WORLD, 2);
		}
	}
	if (rank == 0)
		master(size, tasks, mean_us, seed, kill_at);
	else
		worker(rank);
	MPI(Finalize);
	if (getenv("MINIAPP_OUT") != NULL)
		report(rank);
	return 0;
}
