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
#include <unistd.h>

#define MPI(name, ...) (planted_add("MPI_" #name, 1), MPI_##name(__VA_ARGS__))

/* A call that also has a form with large counts, which is made of it where LARGE is defined. */
#ifdef LARGE
#define L(name, ...) MPI(name##_c, __VA_ARGS__)
typedef MPI_Count count_t;
typedef MPI_Aint place_t;
#else
#define L(name, ...) MPI(name, __VA_ARGS__)
typedef int count_t;
typedef int place_t;
#endif

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

static inline void planted_path(char *path, size_t bytes, const char *what, int rank)
{
	snprintf(path, bytes, "%s/%s.%d", getenv("MINIAPP_OUT"), what, rank);
}

/* Files get their names when they are whole, so that a rank can wait for another's. */
static inline FILE *planted_open(void)
{
	char path[4096];

	if (getenv("MINIAPP_OUT") == NULL)
		return stdout;
	planted_path(path, sizeof path, ".part", (int)getpid());
	FILE *f = fopen(path, "w");
	if (f == NULL) {
		perror(path);
		exit(1);
	}
	return f;
}

static inline void planted_close(FILE *f, const char *what, int rank)
{
	char part[4096], path[4096];

	if (f == stdout) {
		fflush(f);
		return;
	}
	fclose(f);
	planted_path(part, sizeof part, ".part", (int)getpid());
	planted_path(path, sizeof path, what, rank);
	rename(part, path);
}

static inline void report(int rank)
{
	FILE *f = planted_open();

	for (int i = 0; planted[i].name != NULL; i++)
		fprintf(f, "%d %s %ld\n", rank, planted[i].name, planted[i].count);
	planted_close(f, "counts", rank);
}

static inline int64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

#endif
