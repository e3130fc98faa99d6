/*
 * Plain preload: no run is given in the environment (MORIENS_RUN), so the ranks make one themselves. They derive its
 * name from what the launcher put into their environment (job.h), so that all use the same one. The first of them on a
 * node starts the node's agent, `moriens preloaded`.
 *
 *	MPI_Init begins      launch_early: the name; a start file, locked until this rank records; perhaps the agent
 *	MPI_Init returns     launch: the name; only now if no launcher is known and the world is this process alone
 *	recording, or not    launch_begun: the start file goes
 *	MPI is over          launch_ends, then the process file says so, then launch_wait: the rank that started the agent
 *	                     waits for it
 *
 * A lock on the file `agent` in the run's directory in shared memory shows whether the agent is there. The agent holds
 * it, or its parent, which will start it again. While a rank is only trying to start it, the first byte is locked too,
 * and the others wait for the outcome: a rank that fails removes the file. What the file holds when the lock is
 * released is for the user.
 */
#ifndef MORIENS_LAUNCH_H
#define MORIENS_LAUNCH_H

#include "base.h"

/* MPI is about to be started. */
void moriens_launch_early(void);

/* MPI has started, and MORIENS_RUN is not set. Returns the run's name, or NULL: there can be none, and rank 0 or the
 * node's first has said why. */
const char *moriens_launch(int32_t rank, int32_t size);

/* That run's directory in shared memory. */
const char *moriens_launch_directory(void);

/* The process has its files, or will have none. */
void moriens_launch_begun(void);

/* MPI is over, and the agent does not know it yet. */
void moriens_launch_ends(void);

/* The agent knows it: waits for it, for MORIENS_TIMEOUT at most, if this process has started it. */
void moriens_launch_wait(void);

#endif
