/*
 * Marks: what a program says of itself by include/moriens.h, which finds moriens_annotate_1 by name.
 *
 * A mark is a record of its own in the calling thread's ring, between calls. It ends an open run of polls. What a
 * callback says while its thread is inside an MPI call has no place there: it is counted and not recorded. While the
 * program has paused recording marks go on, so that phases stay properly nested.
 *
 * Before MPI is initialised there is no ring. Phases that are still open when recording begins begin with their
 * thread's first record; what has ended by then, and events, are not recorded.
 */
#ifndef MORIENS_MARKS_H
#define MORIENS_MARKS_H

#include "record.h"

/* The thread has its ring: its open phases begin at that time. */
void moriens_marks_begin(struct moriens_thread *t, uint64_t at);

/* The thread ends, or the process will not record: forgets them. */
void moriens_marks_forget(void);

/* A mark by the number of its name, from a function with that frame. */
void moriens_marks_say(unsigned what, uint32_t number, long value, const void *frame);

/* The number of a name; 0 where nothing will be recorded, or there is no room for it. */
uint32_t moriens_marks_number(const char *name, size_t bytes);

MORIENS_PUBLIC void moriens_annotate_1(unsigned what, unsigned *site, const char *name, size_t bytes, long value);

#endif
