/*
 * Which job this process is a rank of, by what its launcher put into its environment: the same text on all ranks of one
 * job, on all its nodes, and a different one in every other job. This needs no communication, and MPI need not have
 * started. docs/preload.md has the table.
 */
#ifndef MORIENS_JOB_H
#define MORIENS_JOB_H

#include "base.h"

struct moriens_job {
	char id[1024]; /* empty: nothing shows */
	char name[128]; /* the batch system's name for the job, fit for a file name; empty where there is none */
	bool alone; /* all of the job is on this node */
	int local_rank; /* of this process among those of its node, -1 = nothing shows */
};

/* given: MORIENS_JOB, or NULL. */
void moriens_job_learn(struct moriens_job *job, const char *given);

/* The name of a run: 16 hexadecimal digits, of the id. */
void moriens_job_run(const char *id, char run[17]);

/* The rank that the launcher says this process is, and the size of its world in *size; -1 and 0 where it says
 * nothing. */
int moriens_job_rank(int *size);

#endif
