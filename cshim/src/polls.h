/*
 * Runs of polls: calls that ask whether something has arrived, and find that nothing has.
 *
 * Programs ask ten million times a second, and often from several places in turn. Failed polls that follow
 * each other within the gap of MORIENS_POLL_GAP are one record, which takes a slot and another one for each
 * place, however many they are. A run ends at any other recorded call, at a poll that finds something,
 * at a longer gap, which is a burst, when too many places take part, and when it has lasted a tenth of a
 * second, so that the agent notices it.
 */
#ifndef MORIENS_POLLS_H
#define MORIENS_POLLS_H

#include "record.h"

/* In ticks. Set before the process records. */
struct moriens_poll_limits {
	int64_t gap;  /* longest time from one poll's exit to the next one's entry */
	uint64_t run; /* longest time from a run's first entry to its last */
};

extern MORIENS_HIDDEN struct moriens_poll_limits moriens_poll_limits;

void moriens_polls_limit(uint64_t gap_us);

/* Publishes the run that is open; the thread's state is RECORDS again. */
void moriens_polls_end(struct moriens_thread *t);

bool moriens_polled_slow(struct moriens_span *span, bool failed);

MORIENS_HOT bool moriens_poll_joins(struct moriens_thread *t, const struct moriens_span *span)
{
	const struct moriens_poll_run *run = &t->polls;

	/* Signed: on another CPU the counter can be a few ticks behind. */
	return (int64_t)(span->enter - run->last) <= moriens_poll_limits.gap &&
	       span->enter - run->start < moriens_poll_limits.run &&
	       moriens_ring_poll(&t->ring, span->enter, (uint16_t)span->call, moriens_span_path(t, span));
}

MORIENS_HOT void moriens_enter_poll(struct moriens_span *span, enum moriens_call call, const void *site, const void *frame)
{
	struct moriens_thread *t = &moriens_thread;

	if (likely(t->state == MORIENS_THREAD_POLLS && t->outermost == 0 && !moriens_paused())) {
		*span = (struct moriens_span){.call = call, .frame = (uintptr_t)frame, .site = site, .enter = moriens_ticks()};
		if (likely(moriens_poll_joins(t, span))) {
			t->outermost = span->frame;
			t->site = (uintptr_t)site;
			span->kind = MORIENS_SPAN_POLL;
		} else {
			moriens_polls_end(t);
			moriens_open(t, span);
			moriens_commit(span);
		}
	} else {
		moriens_enter(span, call, site, frame);
		moriens_commit(span);
	}
}

/* A poll has returned. True: it is a record of its own, to be given its meaning and ended by moriens_exit; else it is
 * part of a run, or not recorded. found: where the call writes its flag, or the number of requests that it
 * completed. */
MORIENS_HOT bool moriens_polled(struct moriens_span *span, int result, const int *found)
{
	struct moriens_thread *t = &moriens_thread;

	if (span->kind == MORIENS_SPAN_NONE)
		return false;
	/* Where the call itself failed it need not have written anything. */
	bool failed = result == 0 && found != NULL && *found == 0;
	if (likely(failed && span->kind == MORIENS_SPAN_POLL && t->outermost == span->frame)) {
		t->polls.last = moriens_ticks();
		moriens_ring_polled(&t->ring, t->polls.last);
		t->outermost = 0;
		return false;
	}
	struct moriens_span apart = *span;
	bool own = moriens_polled_slow(&apart, failed);
	span->kind = apart.kind;
	return own;
}

#endif
