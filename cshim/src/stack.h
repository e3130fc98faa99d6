/*
 * Other tools that wrap MPI, in the same process. A wrapper of ours calls the next MPI_X behind us in the loader's
 * order: that of a tool, if there is one, else PMPI_X of the MPI library. If such a tool then calls an MPI_… function,
 * our wrapper gets the call first: it is not outermost (record.h), so it is passed on without a record.
 *
 * A tool before us is called in our place. We see what it passes on as MPI_…, but not what it calls as PMPI_…: a
 * message names the tool.
 */
#ifndef MORIENS_STACK_H
#define MORIENS_STACK_H

#include "base.h"
#include "process.h"

#define MORIENS_OTHERS 4u /* tools on one side that are named */

struct moriens_other {
	uintptr_t base;
	bool executable;
	uint32_t functions; /* wrapped ones that it has */
	uint32_t hidden;    /* of those before us: functions that the program calls, and which it makes as PMPI_X */
	const char *first;  /* of these */
	char path[1024];
};

struct moriens_others {
	uint32_t count;
	struct moriens_other other[MORIENS_OTHERS];
};

/* What a wrapper goes on to, by the name PMPI_X; NULL: there is neither PMPI_X nor another MPI_X. */
void *moriens_stack_next(const char *pmpi, const void *site);

/* The same for a Fortran symbol, by its own name. */
void *moriens_stack_next_fortran(const char *symbol, const void *site);

/* The objects before us that have functions which we wrap. The MPI library is one only where it lies before us. */
void moriens_stack_before(struct moriens_others *others);

/* Those behind us, less the MPI library. */
void moriens_stack_behind(const void *site, struct moriens_others *others);

/* Whether an object before us answers a function that sets MPI up, in C or Fortran, and the path of the first. Then it
 * has the program's calls in our place, and no other reason need be looked for. */
bool moriens_stack_sets_up(char *path, size_t bytes);

/* Whether another copy of this library is called in our place. */
bool moriens_stack_is_copy(void);

/* The function PMPI_X that sets MPI up to which a loaded object is linked that is no tool and no part of MPI, and that
 * object's path: the program's own where it is. NULL: there is none. */
const char *moriens_stack_caller(char *path, size_t bytes);

/* MPI_Init, or another call that sets MPI up, has come to us. */
void moriens_stack_initialises(void);

/* Names the other tools to the user, once the process file is there. */
void moriens_stack_report(struct moriens_process_file *process, const void *site);

#endif
