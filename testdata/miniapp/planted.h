/*
 * What the mini-apps share: every MPI call that the tests count goes through MPI(…), and report()
 * says how many there were, one line "rank function count" per function, in the file
 * $MINIAPP_OUT/counts.<rank>, or on stdout where MINIAPP_OUT is not set.
 */
#ifndef PLANTED_H
#define PLANTED_H

#include <fcntl.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
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

struct planted_count {
	char name[56];
	long count;
};
static struct planted_count planted_own[128], *planted = planted_own;

static inline void planted_add(const char *name, long n)
{
	int i = 0;

	while (planted[i].name[0] != 0 && strcmp(planted[i].name, name) != 0)
		i++;
	if (planted[i].name[0] == 0)
		strcpy(planted[i].name, name);
	__atomic_fetch_add(&planted[i].count, n, __ATOMIC_RELAXED);
}

static inline void planted_path(char *path, size_t bytes, const char *what, int rank)
{
	snprintf(path, bytes, "%s/%s.%d", getenv("MINIAPP_OUT"), what, rank);
}

/*
 * From here on the counts are in the file $MINIAPP_OUT/shared.<pid>, where they stay whatever ends this process. A call
 * is counted just before it is made.
 */
static inline void planted_share(void)
{
	char path[4096];
	void *memory = MAP_FAILED;
	int fd;

	if (getenv("MINIAPP_OUT") == NULL)
		return;
	planted_path(path, sizeof path, "shared", (int)getpid());
	fd = open(path, O_RDWR | O_CREAT, 0600);
	if (fd >= 0 && ftruncate(fd, sizeof planted_own) == 0)
		memory = mmap(NULL, sizeof planted_own, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (memory == MAP_FAILED) {
		perror(path);
		exit(1);
	}
	close(fd);
	planted = (struct planted_count *)memcpy(memory, planted_own, sizeof planted_own);
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

	for (int i = 0; planted[i].name[0] != 0; i++)
		fprintf(f, "%d %s %ld\n", rank, planted[i].name, planted[i].count);
	planted_close(f, "counts", rank);
}

static inline int64_t clock_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int64_t now_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

#endif
