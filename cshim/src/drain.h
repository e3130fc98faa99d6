/*
 * At the end of MPI the process waits until the agent has read its rings, or for MORIENS_DRAIN: what ends the job, such
 * as a batch system, may end the agent with it. It waits only if an agent reads them, and not again after a timeout.
 */
#ifndef MORIENS_DRAIN_H
#define MORIENS_DRAIN_H

#include "base.h"

/* At the set-up; 0 = do not wait. */
void moriens_drain_limit(uint64_t ms);

/* MPI has ended and all rings are published; the process records. */
void moriens_drain(void);

#endif
