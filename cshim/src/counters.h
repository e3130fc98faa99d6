/*
 * What is counted besides time: PAPI's events, and a few of the kernel's own that need no PAPI.
 *
 * The events are chosen once per process, at its set-up. A thread reads them at the entry of a recorded
 * call, which gives the counts of the burst that ends there, and at its exit, from where the next burst
 * counts, so that what MPI does by itself is charged to no burst. Polls are not read but for the first
 * one of a run: a burst whose start was not read goes without counts. Begins and ends of phases read them
 * where that is asked for: they say what the burst has counted until then.
 */
#ifndef MORIENS_COUNTERS_H
#define MORIENS_COUNTERS_H

#include "base.h"
#include "ring.h"

struct moriens_thread_counters {
	bool on;    /* there are events */
	bool known; /* base was read at the last exit */
	int64_t base[MORIENS_MAX_EVENTS];
	int64_t now[MORIENS_MAX_EVENTS];
	int set[MORIENS_MAX_EVENTS]; /* PAPI's event sets of this thread */
};

/* Chooses from a list of events, separated by commas, those that can be counted here; NULL: what is usual.
 * Fills in what the process file says of them, and returns how many that cannot be counted it has no room to name.
 * papi: see moriens_papi_load. */
uint32_t moriens_counters_choose(const char *list, const char *papi, char *names, size_t names_bytes, char *unavailable, size_t unavailable_bytes);

/* Whether begins and ends of phases read the events. Set before the process records. */
void moriens_counters_at_marks(bool wanted);

/* Whether the thread's do. */
bool moriens_counters_marked(const struct moriens_thread_counters *c);

/* A thread begins and ends. */
void moriens_counters_begin(struct moriens_thread_counters *c);
void moriens_counters_end(struct moriens_thread_counters *c);

/* Reads at a call's entry; only where the counters are on. */
void moriens_counters_enter(struct moriens_thread_counters *c);

/* Writes a mark with what the burst has counted until moriens_counters_enter; only where its start was read. */
void moriens_counters_write_mark(const struct moriens_thread_counters *c, struct moriens_writer *ring, const struct moriens_mark *mark);

/* Adds what was read to the record that is open. False: there was no room, and the record is dropped. */
bool moriens_counters_write(struct moriens_thread_counters *c, struct moriens_writer *ring);

/* Reads at a call's exit. */
void moriens_counters_exit(struct moriens_thread_counters *c);

#endif
