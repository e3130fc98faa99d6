/*
 * What the mini-apps share: every MPI call that the tests count goes through MPI(…), and report()
 * says how many there were, one line "rank function count" per function, in the file
 * $MINIAPP_OUT/counts.<rank>, or on stdout where MINIAPP_OUT is not set.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MPI(name, ...) (planted_add("MPI_" #name, 1), MPI_##name(__VA_ARGS__))

static struct planted_count {
	const char *name;
	long count;
} planted[128];

static inline void planted_add(const char *name, long n)
{
	int i = 0;

	while (planted[i].name != NULL && strcmp(planted[i].name, name) != 0)
		i++;
	planted[i].name = name;
	__atomic_fetch_add(&planted[i].count, n, __ATOMIC_RELAXED);
}

static inline FILE *planted_open(const char *what, int rank)
{
	const char *directory = getenv("MINIAPP_OUT");
	char path[4096];

	if (directory == NULL)
		return stdout;
	snprintf(path, sizeof path, "%s/%s.%d", directory, what, rank);
	FILE *f = fopen(path, "w");
	if (f == NULL) {
		perror(path);
		exit(1);
	}
	return f;
}

static inline void planted_close(FILE *f)
{
	if (f == stdout)
		fflush(f);
	else
		fclose(f);
}

static inline void report(int rank)
{
	FILE *f = planted_open("counts", rank);

	for (int i = 0; planted[i].name != NULL; i++)
		fprintf(f, "%d %s %ld\n", rank, planted[i].name, planted[i].count);
	planted_close(f);
}

static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
