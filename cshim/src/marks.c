#include "marks.h"
#include "moriens.h"
#include "names.h"
#include "os.h"
#include "polls.h"
#include "regions.h"
#include "run.h"

#include <errno.h>
#include <string.h>

_Static_assert(MORIENS_SAYS_BEGIN == MORIENS_MARK_BEGIN && MORIENS_SAYS_END == MORIENS_MARK_END &&
	MORIENS_SAYS_EVENT == MORIENS_MARK_EVENT, "programs that were compiled with moriens.h say these");

/* The phases of a thread that are open while nothing records; outermost first. */
static _Thread_local struct {
	uint32_t *name;
	uint32_t depth, room;
} waiting;

#define FIRST_ROOM 1024u

static bool make_room(void)
{
	uint32_t room = waiting.room == 0 ? FIRST_ROOM : 2 * waiting.room;
	uint32_t *name = moriens_os_memory(room * sizeof *name);

	if (name == NULL)
		return false;
	if (waiting.room != 0) {
		memcpy(name, waiting.name, waiting.depth * sizeof *name);
		moriens_os_unmap(waiting.name, waiting.room * sizeof *name);
	}
	waiting.name = name;
	waiting.room = room;
	return true;
}

static void wait_for_ring(struct moriens_thread *t, unsigned what, uint32_t name)
{
	moriens_thread_watch(t);
	if (what == MORIENS_MARK_BEGIN && (waiting.depth < waiting.room || make_room())) {
		waiting.name[waiting.depth++] = name;
	} else if (what == MORIENS_MARK_END) {
		for (uint32_t i = waiting.depth; i-- > 0;) {
			if (waiting.name[i] == name) {
				waiting.depth = i;
				break;
			}
		}
	}
	if (waiting.depth == 0)
		moriens_marks_forget();
}

void moriens_marks_forget(void)
{
	if (waiting.room != 0)
		moriens_os_unmap(waiting.name, waiting.room * sizeof *waiting.name);
	waiting.room = waiting.depth = 0;
}

void moriens_marks_begin(struct moriens_thread *t, uint64_t at)
{
	for (uint32_t i = 0; i < waiting.depth; i++)
		moriens_ring_mark(&t->ring, at, MORIENS_MARK_BEGIN, waiting.name[i], 0);
	moriens_marks_forget();
}

/* Whether the thread, which is not simply between two recorded calls, can take a mark now. */
static bool ready(struct moriens_thread *t, const void *frame)
{
	if (moriens_thread_inside(t, (uintptr_t)frame)) {
		if (t->state == MORIENS_THREAD_RECORDS || t->state == MORIENS_THREAD_POLLS)
			moriens_ring_count(&t->ring.ring->marks_inside);
		return false;
	}
	if (t->state == MORIENS_THREAD_NEW && moriens_run_state() == MORIENS_RUN_RECORDS)
		moriens_thread_begin(t);
	if (t->state == MORIENS_THREAD_POLLS)
		moriens_polls_end(t);
	return t->state == MORIENS_THREAD_RECORDS;
}

/* A mark of a thread whose marks read the counters. What that takes lies outside of the phase. */
static __attribute__((noinline)) void mark_reading(struct moriens_thread *t, unsigned what, uint32_t name, long value)
{
	struct moriens_mark mark = {.value = value, .name = name, .what = (uint16_t)what};
	int saved = errno;

	if (what == MORIENS_MARK_EVENT || !t->counters.known) {
		moriens_ring_mark(&t->ring, moriens_ticks(), mark.what, name, value);
		return;
	}
	if (what == MORIENS_MARK_END)
		mark.time = moriens_ticks();
	t->marks_read = false; /* the program may count for itself, and mark what it does for that */
	moriens_counters_enter(&t->counters);
	t->marks_read = true;
	if (what == MORIENS_MARK_BEGIN)
		mark.time = moriens_ticks();
	moriens_counters_write_mark(&t->counters, &t->ring, &mark);
	errno = saved;
}

/* A mark of a thread between two recorded calls. */
MORIENS_HOT void mark_now(struct moriens_thread *t, unsigned what, uint32_t name, long value)
{
	if (likely(!t->marks_read))
		moriens_ring_mark(&t->ring, moriens_ticks(), (uint16_t)what, name, value);
	else
		mark_reading(t, what, name, value);
}

/* A mark that is not simply one more of a known name between two recorded calls. */
static MORIENS_COLD void mark_slow(struct moriens_thread *t, const void *frame, unsigned what, uint32_t name, long value)
{
	if (moriens_run_state() == MORIENS_RUN_OFF)
		moriens_marks_forget();
	else if (ready(t, frame))
		mark_now(t, what, name, value);
	else if (t->state == MORIENS_THREAD_NEW)
		wait_for_ring(t, what, name);
}

uint32_t moriens_marks_number(const char *name, size_t bytes)
{
	return moriens_run_state() == MORIENS_RUN_OFF ? 0 : moriens_names_intern(name, bytes);
}

void moriens_marks_say(unsigned what, uint32_t number, long value, const void *frame)
{
	struct moriens_thread *t = &moriens_thread;

	if (likely(t->state == MORIENS_THREAD_RECORDS && t->outermost == 0))
		mark_now(t, what, number, value);
	else if (t->state != MORIENS_THREAD_OFF)
		mark_slow(t, frame, what, number, value);
}

/* Not by moriens.h. */
static __attribute__((noinline)) void said_otherwise(unsigned what, unsigned *site, const char *name, size_t bytes, long value, const void *frame)
{
	moriens_regions_said(&(struct moriens_said){what, site, name, bytes, value}, frame);
}

/* Out of line, so that its frame reports whether the thread is inside a call. */
MORIENS_PUBLIC void moriens_annotate_1(unsigned what, unsigned *site, const char *name, size_t bytes, long value)
{
	struct moriens_thread *t = &moriens_thread;
	uint32_t number = site != NULL ? __atomic_load_n(site, __ATOMIC_RELAXED) : 0;

	if (unlikely(t->state == MORIENS_THREAD_OFF))
		return;
	if (unlikely(what - MORIENS_MARK_BEGIN > MORIENS_MARK_EVENT - MORIENS_MARK_BEGIN)) {
		said_otherwise(what, site, name, bytes, value, __builtin_frame_address(0));
		return;
	}
	if (unlikely(number == 0) && name != NULL) {
		if (unlikely(moriens_run_state() == MORIENS_RUN_OFF))
			return;
		number = moriens_names_intern(name, bytes);
		if (site != NULL)
			__atomic_store_n(site, number, __ATOMIC_RELAXED);
	}
	if (likely(t->state == MORIENS_THREAD_RECORDS && t->outermost == 0))
		mark_now(t, what, number, value);
	else
		mark_slow(t, __builtin_frame_address(0), what, number, value);
}
