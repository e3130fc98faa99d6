/*
 * One record per outermost MPI call: what every wrapper does round the real call.
 *
 * A call is outermost when no other wrapped call of its thread is under way; MPI libraries call
 * themselves, and what happens inside belongs to the call that the program made. The outermost call is
 * known by its frame on the stack. One that is left by an exception or longjmp would hide all calls to
 * come; it is found out by the next call whose frame does not lie below it, or below which its return
 * address is no longer where it was.
 */
#ifndef MORIENS_RECORD_H
#define MORIENS_RECORD_H

#include "base.h"
#include "callpath.h"
#include "clock.h"
#include "comms.h"
#include "counters.h"
#include "mpi_calls_gen.h"
#include "pause.h"
#include "requests.h"
#include "ring.h"
#include "types.h"

enum moriens_thread_state {
	MORIENS_THREAD_NEW = 0,    /* has not called MPI since it was initialised */
	MORIENS_THREAD_RECORDS,    /* has a ring */
	MORIENS_THREAD_POLLS,      /* has a ring, with a run of polls open: polls.h */
	MORIENS_THREAD_UNRECORDED, /* has none; its calls are counted */
	MORIENS_THREAD_OFF,        /* the process does not record */
};

/* The run of polls that is open. Times are ticks. */
struct moriens_poll_run {
	uint64_t start; /* entry of its first call */
	uint64_t last;  /* exit of its last */
};

/* What every call needs comes first, in two lines of the cache. */
struct moriens_thread {
	_Alignas(64) enum moriens_thread_state state;
	bool marks_read; /* begins and ends of phases read the counters */
	uintptr_t outermost; /* the frame of the outermost call; 0 = there is none */
	uintptr_t site;      /* its return address */
	struct moriens_path_cache *cache;
	struct moriens_type_cache types;
	struct moriens_comm_cache comms;
	struct moriens_writer ring;
	struct moriens_poll_run polls;

	/* What the outermost call means: meaning.h. */
	struct moriens_requests requests;
	struct moriens_comm *comm;            /* whose collective it is, */
	uint64_t serial;                      /* and its serial number */
	uint32_t ordinal;                     /* as such */

	struct moriens_thread_counters counters;
	uintptr_t stack_low, stack_high;
};

extern MORIENS_HIDDEN _Thread_local struct moriens_thread moriens_thread;

enum moriens_span_kind {
	MORIENS_SPAN_NONE = 0,  /* nothing to do at exit */
	MORIENS_SPAN_RECORD,    /* a record is open */
	MORIENS_SPAN_POLL,      /* one more poll of the run that is open */
	MORIENS_SPAN_OUTERMOST, /* outermost, without a record */
	MORIENS_SPAN_INIT,      /* MPI_Init or MPI_Session_init: the set-up is made at its exit */
};

/* A call under way. It lives in the wrapper. */
struct moriens_span {
	enum moriens_span_kind kind;
	enum moriens_call call;
	uintptr_t frame;
	uint64_t enter;
	const void *site;
	uint32_t transfer, second; /* numbers of its transfers' slots in the record, 0 = none: no call has more than two */
};

void moriens_enter_slow(struct moriens_span *span);
void moriens_exit_slow(struct moriens_span *span);

/* Opens a record with the counts of the burst before it. False: there is no room. */
bool moriens_open_counted(struct moriens_thread *t, const struct moriens_span *span);

/* There is no room for what the outermost call means. */
void moriens_drop_record(struct moriens_thread *t);

/* Drops the record of the call. */
MORIENS_HOT void moriens_drop(struct moriens_span *span)
{
	moriens_drop_record(&moriens_thread);
	span->kind = MORIENS_SPAN_OUTERMOST;
}

MORIENS_HOT uint32_t moriens_span_path(struct moriens_thread *t, const struct moriens_span *span)
{
	return moriens_path_of(t->cache, (uintptr_t)span->site, span->frame);
}

/* Opens the record of the outermost call, which has begun. It is not seen before moriens_commit. */
MORIENS_HOT void moriens_open(struct moriens_thread *t, struct moriens_span *span)
{
	bool open;

	t->outermost = span->frame;
	t->site = (uintptr_t)span->site;
	if (likely(!t->counters.on)) {
		open = moriens_ring_open(&t->ring, span->enter, (uint16_t)span->call, moriens_span_path(t, span));
	} else {
		struct moriens_span apart = *span;
		open = moriens_open_counted(t, &apart);
	}
	span->kind = MORIENS_SPAN_RECORD;
	if (unlikely(!open)) {
		t->counters.known = false;
		span->kind = MORIENS_SPAN_OUTERMOST;
	}
}

/* What is seldom done is given a copy of the span: one whose address is known elsewhere would have to be in memory. */
MORIENS_HOT void moriens_enter(struct moriens_span *span, enum moriens_call call, const void *site, const void *frame)
{
	struct moriens_thread *t = &moriens_thread;

	*span = (struct moriens_span){.kind = MORIENS_SPAN_NONE, .call = call, .frame = (uintptr_t)frame, .site = site};
	if (likely(t->state == MORIENS_THREAD_RECORDS && t->outermost == 0 && !moriens_paused())) {
		span->enter = moriens_ticks();
		moriens_open(t, span);
	} else if (t->state != MORIENS_THREAD_OFF) {
		struct moriens_span apart = *span;
		moriens_enter_slow(&apart);
		span->kind = apart.kind;
		span->enter = apart.enter;
	}
}

/* The record of the call that begins has all that is known of it. */
MORIENS_HOT void moriens_commit(const struct moriens_span *span)
{
	if (likely(span->kind == MORIENS_SPAN_RECORD))
		moriens_ring_commit(&moriens_thread.ring);
}

/* One more slot for the record of the call, at its entry or at its exit. NULL: it has no record, or has none any more,
 * because there was no room and it was dropped. */
MORIENS_HOT void *moriens_extend(struct moriens_span *span)
{
	struct moriens_thread *t = &moriens_thread;

	if (unlikely(span->kind != MORIENS_SPAN_RECORD))
		return NULL;
	void *slot = moriens_ring_extend(&t->ring);
	if (unlikely(slot == NULL))
		moriens_drop(span);
	return slot;
}

MORIENS_HOT void moriens_exit(struct moriens_span *span)
{
	struct moriens_thread *t = &moriens_thread;

	if (likely(span->kind == MORIENS_SPAN_RECORD && t->outermost == span->frame)) {
		if (unlikely(t->counters.on))
			moriens_counters_exit(&t->counters);
		moriens_ring_exit(&t->ring, moriens_ticks());
		t->outermost = 0;
	} else if (span->kind != MORIENS_SPAN_NONE) {
		struct moriens_span apart = *span;
		moriens_exit_slow(&apart);
	}
}

/* Whether the thread is inside an outermost call, seen from a function with that frame. Finds out one that was
 * abandoned. */
bool moriens_thread_inside(struct moriens_thread *t, uintptr_t frame);

/* The thread has not called MPI yet, while the process records: gives it its ring, if it can have one. */
void moriens_thread_begin(struct moriens_thread *t);

/* Has the thread's end, and forks, looked after from now on. */
void moriens_thread_watch(struct moriens_thread *t);

/* MPI_Abort is about to be called: it does not return, so its record is published now. */
void moriens_aborting(struct moriens_span *span);

/* MPI_Finalize has returned and is recorded. */
void moriens_finalized(struct moriens_span *span);

/* The process exits, and MPI was finalized without a call of it here. */
void moriens_finalized_unseen(void);

/* MPI_Pcontrol has returned and is recorded: 0 pauses recording, 1 or more resumes it. */
void moriens_controlled(const struct moriens_span *span, int level);

/* The same from C, where the argument behind the level may be the name of a phase: pcontrol.c. */
void moriens_controlled_by(const struct moriens_span *span, int level, word name);

#endif
