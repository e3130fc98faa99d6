/*
 * Another tool that wraps MPI: it counts calls, each by its name, and writes lines "rank function count" to
 * $TOOL_OUT/NAME.<pid>. list.h names the functions. Arguments are passed on as machine words, more of them than any
 * function has. It goes on to PMPI_X; where FORWARD is defined, to the MPI_X behind it. Where ALIAS is, it has the
 * names PMPI_X too.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef uintptr_t word;

static struct {
	const char *name;
	long count;
} counts[2048];

__attribute__((visibility("hidden"))) void tool_count(const char *name)
{
	int i = 0;

	while (counts[i].name != NULL && strcmp(counts[i].name, name) != 0)
		i++;
	counts[i].name = name;
	counts[i].count++;
}

static void *next(const char *name, const char *pmpi)
{
	void *f = NULL;

#ifndef FORWARD
	f = dlsym(RTLD_NEXT, pmpi);
#endif
	if (f == NULL)
		f = dlsym(RTLD_NEXT, name);
	if (f == NULL) {
		fprintf(stderr, "tool: no %s\n", name);
		abort();
	}
	return f;
}

#define WRAP(type, symbol, pmpi, called) \
	type symbol(PARAMETERS) \
	{ \
		static type (*real)(TYPES); \
		if (real == NULL) \
			real = (type (*)(TYPES))next(#symbol, #pmpi); \
		tool_count(called); \
		return real(ARGUMENTS); \
	} \
	ALSO(type, symbol, pmpi)

#ifdef ALIAS
#define ALSO(type, symbol, pmpi) type pmpi(PARAMETERS) __attribute__((alias(#symbol)));
#else
#define ALSO(type, symbol, pmpi)
#endif

#include "list.h"

__attribute__((destructor)) static void report(void)
{
	const char *rank = getenv("OMPI_COMM_WORLD_RANK") != NULL ? getenv("OMPI_COMM_WORLD_RANK") : getenv("PMI_RANK");
	char path[4096];
	FILE *out;

	if (strcmp(program_invocation_short_name, "child") == 0)
		return; /* of another world, with ranks of its own */
	if (getenv("TOOL_OUT") == NULL || rank == NULL || counts[0].name == NULL)
		return;
	snprintf(path, sizeof path, "%s/%s.%d", getenv("TOOL_OUT"), NAME, (int)getpid());
	out = fopen(path, "w");
	for (int i = 0; out != NULL && counts[i].name != NULL; i++)
		fprintf(out, "%s %s %ld\n", rank, counts[i].name, counts[i].count);
	if (out != NULL)
		fclose(out);
}
