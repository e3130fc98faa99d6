/*
 * A rank that ignores and blocks signals, and whose handlers must not run in what the library starts. Says whether it
 * has a child that it did not make.
 */
#define _GNU_SOURCE
#include "fakempi.h"

#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

static void interrupted(int signal)
{
	(void)signal;
	puts("a signal");
}

int main(void)
{
	sigset_t some;

	signal(SIGUSR1, SIG_IGN);
	signal(SIGCHLD, interrupted);
	sigemptyset(&some);
	sigaddset(&some, SIGTERM);
	sigprocmask(SIG_BLOCK, &some, NULL);
	MPI_Init(0, 0);
	MPI_Barrier(0);
	puts(waitpid(-1, NULL, __WALL) < 0 ? "no child" : "a child");
	MPI_Finalize();
	return 0;
}
