/* The environment variables that the shim obeys, read in one place. */
#ifndef MORIENS_OPTIONS_H
#define MORIENS_OPTIONS_H

#include "base.h"

#define MORIENS_MIN_RING_BYTES (64u << 10)

/* Tools whose regions become phases where MORIENS_REGIONS names them: regions.h. */
enum moriens_region_family {
	MORIENS_REGIONS_TAU = 1,
	MORIENS_REGIONS_KOKKOS = 2,
	MORIENS_REGIONS_NVTX = 4,
	MORIENS_REGIONS_CALIPER = 8,
};

#define MORIENS_REGION_FAMILIES 4u

struct moriens_options {
	const char *run; /* MORIENS_RUN, or what launch.h made of the job's id: the run's name */
	const char *shm; /* MORIENS_SHM: where the run's directory is made; /dev/shm */
	uint64_t ring_bytes; /* MORIENS_RING: slots of one thread's ring at first; 2 MiB, a power of two */
	uint64_t ring_most; /* MORIENS_RING_MAX: what they may grow to; 64 MiB, no more than MORIENS_RING: they do not grow */
	uint64_t poll_gap_us; /* MORIENS_POLL_GAP: failed polls nearer than this are one record; 20, 0: none are */
	const char *events; /* MORIENS_EVENTS: what to count, separated by commas; NULL: what is usual here */
	bool phase_counters; /* MORIENS_PHASE_COUNTERS: begins and ends of phases read the events, too; 0 */
	const char *papi; /* MORIENS_PAPI: the PAPI library to load; NULL: the one that is installed */
	uint64_t drain_ms; /* MORIENS_DRAIN: how long the end of MPI waits for the agent; 1000, 0: not at all */
	bool stack; /* MORIENS_STACK: calls go on to a tool behind us; 1, 0: to the MPI library */
	uint32_t callpath; /* MORIENS_CALLPATH: frames of a call path; 16, 1: the return address alone */
	char not_numbers[160]; /* names of those that should be a number and are not, a blank before each */
	char not_families[96]; /* what MORIENS_REGIONS names that is no family, a blank before each */
	const char *not_pcontrol; /* MORIENS_PCONTROL where it is not what it may be, else NULL */
};

/* What a process obeys that starts its node's agent itself: launch.h. */
struct moriens_launch_options {
	const char *shm; /* MORIENS_SHM, as above */
	const char *program; /* MORIENS_BIN: the moriens program; NULL: the one that was installed with the library */
	const char *directory; /* MORIENS_DIR: the run directory; NULL: one named after the batch job or the time, in the working directory */
	const char *job; /* MORIENS_JOB: a text that all ranks of a job share, and no other job has; NULL: the launcher's own */
	uint64_t timeout_s; /* MORIENS_TIMEOUT: how long the end of MPI waits at most for the agent to be done; 60, 0: not at all */
};

/* MORIENS_RUN; NULL where it is not set or empty. */
const char *moriens_options_run(void);

/* MORIENS=off: whatever else is set, nothing is recorded and nothing started. */
bool moriens_options_off(void);

/* MORIENS_STACK: whether calls go on to a tool behind us. */
bool moriens_options_stack(void);

/* MORIENS_REGIONS: the moriens_region_family that shall be recorded. What is none is added to unknown, unless that is
 * NULL. */
uint32_t moriens_options_regions(char *unknown, size_t bytes);

/* MORIENS_PCONTROL=phases: the second argument of MPI_Pcontrol(1, …) and (-1, …) is the name of a phase. */
bool moriens_options_pcontrol(void);

/* A family's name in MORIENS_REGIONS; the n-th, from 0, is 1 << n. */
const char *moriens_options_family(unsigned n);

/* What `moriens doctor` asks (MORIENS_PROBE), or NULL; never while the environment asks for a recording. */
const char *moriens_options_probe(void);

/* False: the run's name cannot be part of a file name. */
bool moriens_options_read(struct moriens_options *options, const char *run);

void moriens_options_launch(struct moriens_launch_options *options);

#endif
