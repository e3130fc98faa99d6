/* What the process has of the run: its directory, its process file, and whether it records. */
#ifndef MORIENS_RUN_H
#define MORIENS_RUN_H

#include "base.h"
#include "paths.h"
#include "process.h"
#include "ring.h"

enum moriens_run_state {
	MORIENS_RUN_UNKNOWN = 0, /* no call since MPI was initialised */
	MORIENS_RUN_RECORDS,
	MORIENS_RUN_OFF, /* recording was not requested, it failed, MPI is finalised, or we are a fork's child */
};

struct moriens_run {
	enum moriens_run_state state; /* atomic */
	struct moriens_process_file process;
	struct moriens_paths paths;
};

extern struct moriens_run moriens_run;

enum moriens_run_state moriens_run_state(void);

/* Path of the run's directory in shared memory. */
const char *moriens_run_directory(void);

/* Wakes the agent, which may sleep while no ring is half full. */
void moriens_run_wake(void);

/* MPI is initialised and the state is UNKNOWN: begins to record, with the calling thread's ring as the
 * first, or turns recording off for good and leaves word why. */
void moriens_run_begin(const void *site, struct moriens_writer *ring);

/* Creates the ring of one more thread. False: it can have none, which is counted. */
bool moriens_run_add_thread(struct moriens_writer *ring);

/* Counts a thread that can have no ring, and why. */
void moriens_run_thread_failed(int error);

void moriens_run_end(void);

#endif
