/*
 * Makes a known number of MPI calls, reports them, and then rank 0 dies:
 *
 *	die kill|segv|abort|exit|inside|fork|none [ROUNDS]
 *
 * kill and segv are signals, abort is MPI_Abort, exit leaves without MPI_Finalize. inside is killed by a
 * child while it waits in MPI_Recv. fork has a child that calls MPI functions, as no program may but some
 * do by an atexit handler, and then ends well; none just ends well.
 */
#include "planted.h"

#include <signal.h>
#include <sys/wait.h>

/* The launcher ends the other ranks when one dies: not before they have said what they did. */
static void wait_for_the_others(int size)
{
	char path[4096];

	for (int rank = 1; getenv("MINIAPP_OUT") != NULL && rank < size; rank++) {
		planted_path(path, sizeof path, "counts", rank);
		while (access(path, F_OK) != 0)
			usleep(1000);
	}
}

static void die(const char *how)
{
	int value, flag;
	pid_t child;
	clockid_t parents;

	if (strcmp(how, "kill") == 0)
		kill(getpid(), SIGKILL);
	if (strcmp(how, "segv") == 0)
		kill(getpid(), SIGSEGV);
	if (strcmp(how, "abort") == 0)
		MPI_Abort(MPI_COMM_WORLD, 3);
	if (strcmp(how, "exit") == 0)
		exit(0);
	if (strcmp(how, "inside") == 0) {
		pid_t me = getpid();
		clock_getcpuclockid(me, &parents);
		int64_t begin = clock_ns(parents);
		if (fork() == 0) {
			while (clock_ns(parents) < begin + 50000000) /* MPI libraries compute while they wait */
				usleep(1000);
			kill(me, SIGKILL);
			_exit(0);
		}
		MPI_Recv(&value, 1, MPI_INT, 1, 77, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	}
	if (strcmp(how, "fork") == 0) {
		child = fork();
		if (child == 0) {
			for (int i = 0; i < 100; i++)
				MPI_Iprobe(MPI_ANY_SOURCE, 78, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "none";
	int rank, size, rounds = argc > 2 ? atoi(argv[2]) : 1000;

	MPI(Init, &argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < rounds; i++)
		MPI(Recv, NULL, 0, MPI_INT, MPI_PROC_NULL, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
	MPI(Barrier, MPI_COMM_WORLD);
	if (rank == 0 && strcmp(how, "abort") == 0)
		planted_add("MPI_Abort", 1);
	report(rank);
	if (rank == 0) {
		wait_for_the_others(size);
		die(how);
	} else if (strcmp(how, "fork") != 0 && strcmp(how, "none") != 0) {
		sleep(strcmp(how, "exit") == 0 ? 3 : 300); /* for the launcher to end the job, which not every one does when a rank just leaves */
		_exit(0);
	}
	MPI(Finalize);
	report(rank);
	return 0;
}
