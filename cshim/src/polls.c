#include "polls.h"

#define RUN_US 100000u

struct moriens_poll_limits moriens_poll_limits;

void moriens_polls_limit(uint64_t gap_us)
{
	moriens_poll_limits.gap = (int64_t)moriens_clock_ticks(gap_us);
	moriens_poll_limits.run = moriens_clock_ticks(RUN_US);
}

void moriens_polls_end(struct moriens_thread *t)
{
	/* Counters were last read at the exit of the run's first poll. */
	if (t->ring.places != 0)
		t->counters.known = false;
	moriens_ring_end_polls(&t->ring);
	t->state = MORIENS_THREAD_RECORDS;
}

/* The record's call has failed: a run may follow. */
static void begin_run(struct moriens_thread *t, const struct moriens_span *span)
{
	if (t->counters.on)
		moriens_counters_exit(&t->counters);
	t->polls = (struct moriens_poll_run){
		.start = span->enter,
		.last = moriens_ticks(),
	};
	moriens_ring_return(&t->ring, t->polls.last);
	t->state = MORIENS_THREAD_POLLS;
	t->outermost = 0;
}

bool moriens_polled_slow(struct moriens_span *span, bool failed)
{
	struct moriens_thread *t = &moriens_thread;

	if (t->outermost != span->frame)
		return false;
	if (span->kind == MORIENS_SPAN_RECORD && failed) {
		begin_run(t, span);
		return false;
	}
	if (span->kind == MORIENS_SPAN_POLL) {
		/* It found something, so it is no part of the run. Its entry did not read the counters. */
		moriens_polls_end(t);
		t->counters.known = false;
		moriens_open(t, span);
		moriens_commit(span);
	}
	return true;
}
