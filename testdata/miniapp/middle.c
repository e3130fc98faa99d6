/*
 * Something happens in the middle of a program, and threads that call MPI for the first time come after it:
 *
 *	middle WHAT [THREADS [ROUNDS]]
 *
 * children starts other programs in every way that there is; descriptors leaves no descriptor to be had; wait says so
 * by a file $MINIAPP_OUT/ready.<rank> and goes on when there is a file $MINIAPP_OUT/go; nothing is nothing. The ranks
 * agree in the end on what their threads did, or the exit status is 1.
 */
#include "checked.h"

#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char **environ;

static int rounds;

static void calls(void)
{
	for (int i = 0; i < rounds; i++)
		MPI_Recv(NULL, 0, MPI_INT, MPI_PROC_NULL, 78, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void *run(void *done)
{
	calls();
	__atomic_fetch_add((long *)done, rounds, __ATOMIC_RELAXED);
	return NULL;
}

static void expect_child(pid_t child, const char *how)
{
	int status = -1;

	expect(child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 7, how);
}

static void children(void)
{
	char *const command[] = {"sh", "-c", "exit 7", NULL};
	char line[64] = "";
	pid_t child;

	expect(system("exit 7") >> 8 == 7, "system");
	FILE *pipe = popen("/bin/echo said; exit 7", "r");
	expect(pipe != NULL && fgets(line, sizeof line, pipe) != NULL && strcmp(line, "said\n") == 0 && pclose(pipe) >> 8 == 7, "popen");
	child = fork();
	if (child == 0) {
		execv("/bin/sh", command);
		_exit(1);
	}
	expect_child(child, "fork and exec");
	child = vfork();
	if (child == 0) {
		execv("/bin/sh", command);
		_exit(1);
	}
	expect_child(child, "vfork and exec");
	expect(posix_spawn(&child, "/bin/sh", NULL, NULL, command, environ) == 0, "posix_spawn");
	expect_child(child, "posix_spawn");
}

static void no_descriptors(void)
{
	struct rlimit limit;
	int next = open("/dev/null", O_RDONLY);

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = (rlim_t)next;
	close(next);
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void descriptors_again(void)
{
	struct rlimit limit;

	getrlimit(RLIMIT_NOFILE, &limit);
	limit.rlim_cur = limit.rlim_max;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static void wait_to_go_on(void)
{
	char go[4096];

	planted_close(planted_open(), "ready", rank);
	snprintf(go, sizeof go, "%s/go", getenv("MINIAPP_OUT"));
	while (access(go, F_OK) != 0)
		usleep(1000);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "nothing";
	int threads = argc > 2 ? atoi(argv[2]) : 4, provided, size;
	long done = 0, all = 0;

	rounds = argc > 3 ? atoi(argv[3]) : 100;
	pthread_t *thread = calloc((size_t)threads, sizeof *thread);
	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	expect(thread != NULL && provided == MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE");
	calls();
	MPI(Barrier, MPI_COMM_WORLD);
	if (strcmp(what, "children") == 0)
		children();
	if (strcmp(what, "descriptors") == 0)
		no_descriptors();
	if (strcmp(what, "wait") == 0)
		wait_to_go_on();
	for (int i = 0; i < threads; i++)
		expect(pthread_create(&thread[i], NULL, run, &done) == 0, "a thread");
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	free(thread);
	if (strcmp(what, "descriptors") == 0)
		descriptors_again();
	MPI(Allreduce, &done, &all, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
	expect(all == (long)size * threads * rounds, "the sum");
	planted_add("MPI_Recv", (long)(threads + 1) * rounds);
	MPI(Finalize);
	report(rank);
	return 0;
}
