#include "drain.h"
#include "launch.h"
#include "marks.h"
#include "meaning.h"
#include "mpi_family.h"
#include "names.h"
#include "options.h"
#include "os.h"
#include "polls.h"
#include "record.h"
#include "regions.h"
#include "run.h"
#include "session.h"
#include "stack.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>

_Thread_local struct moriens_thread moriens_thread;

static pthread_once_t clock_once = PTHREAD_ONCE_INIT;
static pthread_once_t hooks_once = PTHREAD_ONCE_INIT;
static pthread_key_t end_key;
static bool end_key_made;

static void thread_ends(void *argument)
{
	struct moriens_thread *t = &moriens_thread;

	(void)argument;
	moriens_marks_forget();
	moriens_regions_forget();
	if (t->state == MORIENS_THREAD_POLLS)
		moriens_polls_end(t);
	if (t->state != MORIENS_THREAD_RECORDS)
		return;
	moriens_counters_end(&t->counters);
	moriens_ring_set_state(&t->ring, MORIENS_RING_CLOSED);
	moriens_ring_unmap(&t->ring);
	moriens_path_cache_free(t->cache);
	moriens_requests_free(&t->requests);
	/* Another library's destructor, run after ours, may still call MPI. */
	t->state = MORIENS_THREAD_UNRECORDED;
}

/* The child shares our rings with the parent, which goes on writing them. Where there are none yet, it may become an
 * MPI process of its own. */
static void child_of_fork(void)
{
	moriens_names_forked();
	if (moriens_run_state() == MORIENS_RUN_UNKNOWN)
		return;
	moriens_run_end();
	moriens_thread.state = MORIENS_THREAD_OFF;
}

static void make_hooks(void)
{
	pthread_atfork(NULL, NULL, child_of_fork);
	end_key_made = pthread_key_create(&end_key, thread_ends) == 0;
}

void moriens_thread_watch(struct moriens_thread *t)
{
	pthread_once(&hooks_once, make_hooks);
	if (end_key_made)
		pthread_setspecific(end_key, t);
}

static void learn_stack(struct moriens_thread *t)
{
	pthread_attr_t attributes;
	void *low = NULL;
	size_t bytes = 0;

	if (pthread_getattr_np(pthread_self(), &attributes) != 0)
		return;
	if (pthread_attr_getstack(&attributes, &low, &bytes) == 0) {
		t->stack_low = (uintptr_t)low;
		t->stack_high = (uintptr_t)low + bytes;
	}
	pthread_attr_destroy(&attributes);
}

/* Whether the frame of the outermost call still holds its return address. A frame on another stack than
 * the thread's own, such as a coroutine's, may not be there to be read: it counts as living. */
static bool outermost_lives(const struct moriens_thread *t)
{
	const uintptr_t *frame = (const uintptr_t *)t->outermost;

	if (t->outermost < t->stack_low || t->outermost >= t->stack_high - 2 * sizeof *frame)
		return true;
	/* Both x86-64 and aarch64 keep the return address above the caller's frame address. */
	return frame[1] == t->site;
}

/* The thread's first call while the process records: gives it its ring, unless it has it from run_begin. */
static void begin_thread(struct moriens_thread *t, uint64_t at)
{
	moriens_thread_watch(t);
	learn_stack(t);
	t->cache = moriens_path_cache_new(moriens_run.paths.depth, t->stack_low, t->stack_high);
	if (t->cache == NULL)
		moriens_run_thread_failed(ENOMEM);
	if (t->cache == NULL || (t->ring.ring == NULL && !moriens_run_add_thread(&t->ring))) {
		t->state = MORIENS_THREAD_UNRECORDED;
		return;
	}
	moriens_counters_begin(&t->counters);
	t->marks_read = moriens_counters_marked(&t->counters);
	t->state = MORIENS_THREAD_RECORDS;
	moriens_marks_begin(t, at);
}

/* MPI is initialised, or has a session. Leaves the thread in any state but NEW. */
static void begin(struct moriens_thread *t, const void *site, uint64_t at)
{
	if (moriens_run_state() == MORIENS_RUN_UNKNOWN)
		moriens_run_begin(site, &t->ring);
	if (moriens_run_state() == MORIENS_RUN_RECORDS)
		begin_thread(t, at);
	else
		t->state = MORIENS_THREAD_OFF;
}

static bool initialises(const struct moriens_span *span)
{
	return span->call == MORIENS_CALL_MPI_Init || span->call == MORIENS_CALL_MPI_Init_thread ||
		span->call == MORIENS_CALL_MPI_Session_init;
}

/* A call has begun that has no record. */
static void pass(struct moriens_thread *t, struct moriens_span *span, enum moriens_span_kind kind)
{
	t->outermost = span->frame;
	t->site = (uintptr_t)span->site;
	span->kind = kind;
}

static void count_unrecorded(struct moriens_thread *t, struct moriens_span *span)
{
	__atomic_fetch_add(&moriens_run.process.header->unrecorded, 1, __ATOMIC_RELAXED);
	pass(t, span, MORIENS_SPAN_OUTERMOST);
}

/* What shows where a recording begins and ends, and who paused it, is recorded all the same. */
static bool recorded_in_pause(enum moriens_call call)
{
	return call == MORIENS_CALL_MPI_Pcontrol || call == MORIENS_CALL_MPI_Finalize || call == MORIENS_CALL_MPI_Abort ||
		call == MORIENS_CALL_MPI_Session_finalize;
}

/* The outermost call begins while recording is paused. */
static void enter_in_pause(struct moriens_thread *t, struct moriens_span *span)
{
	t->counters.known = false;
	if (recorded_in_pause(span->call)) {
		t->ring.flags |= MORIENS_SLOT_PAUSED;
		moriens_open(t, span);
	} else {
		moriens_ring_skip(&t->ring);
		pass(t, span, MORIENS_SPAN_OUTERMOST);
	}
}

void moriens_thread_begin(struct moriens_thread *t)
{
	begin_thread(t, moriens_ticks());
}

bool moriens_thread_inside(struct moriens_thread *t, uintptr_t frame)
{
	if (t->outermost == 0)
		return false;
	if (frame < t->outermost && outermost_lives(t))
		return true;
	/* The outermost call is gone without an exit: see record.h. */
	t->outermost = 0;
	t->counters.known = false;
	if (t->state == MORIENS_THREAD_POLLS)
		moriens_polls_end(t);
	if (t->state == MORIENS_THREAD_RECORDS && t->ring.open != 0)
		moriens_ring_abandon(&t->ring);
	return false;
}

MORIENS_COLD void moriens_enter_slow(struct moriens_span *span)
{
	struct moriens_thread *t = &moriens_thread;

	if (moriens_thread_inside(t, span->frame))
		return;
	if (t->state == MORIENS_THREAD_NEW) {
		pthread_once(&clock_once, moriens_clock_choose);
		span->enter = moriens_ticks();
		if (moriens_run_state() == MORIENS_RUN_UNKNOWN && !moriens_mpi_ready(span->site)) {
			if (initialises(span)) {
				moriens_stack_initialises();
				moriens_launch_early();
				pass(t, span, MORIENS_SPAN_INIT);
			}
			return;
		}
		begin(t, span->site, span->enter);
	} else {
		span->enter = moriens_ticks();
	}
	if (t->state == MORIENS_THREAD_POLLS)
		moriens_polls_end(t);
	if (t->state == MORIENS_THREAD_RECORDS && unlikely(moriens_paused()))
		enter_in_pause(t, span);
	else if (t->state == MORIENS_THREAD_RECORDS)
		moriens_open(t, span);
	else if (t->state == MORIENS_THREAD_UNRECORDED)
		count_unrecorded(t, span);
}

bool moriens_open_counted(struct moriens_thread *t, const struct moriens_span *span)
{
	/* First of all: what follows is not the program's computation. */
	moriens_counters_enter(&t->counters);
	return moriens_ring_open(&t->ring, span->enter, (uint16_t)span->call, moriens_span_path(t, span)) &&
		moriens_counters_write(&t->counters, &t->ring);
}

MORIENS_COLD void moriens_drop_record(struct moriens_thread *t)
{
	moriens_ring_drop(&t->ring);
	t->counters.known = false;
}

MORIENS_COLD void moriens_exit_slow(struct moriens_span *span)
{
	struct moriens_thread *t = &moriens_thread;

	if (t->outermost != span->frame)
		return;
	t->outermost = 0;
	if (span->kind != MORIENS_SPAN_INIT || !moriens_mpi_ready(span->site))
		return;
	begin(t, span->site, span->enter);
	if (t->state == MORIENS_THREAD_RECORDS) {
		moriens_met_parent(span);
		moriens_open(t, span);
		moriens_commit(span);
		moriens_exit(span);
	}
}

MORIENS_COLD void moriens_aborting(struct moriens_span *span)
{
	struct moriens_thread *t = &moriens_thread;

	if (span->kind == MORIENS_SPAN_RECORD && t->outermost == span->frame) {
		moriens_ring_exit(&t->ring, span->enter);
		span->kind = MORIENS_SPAN_OUTERMOST; /* a Fortran MPI_Abort calls the C one */
	}
	if (moriens_run_state() == MORIENS_RUN_RECORDS)
		moriens_process_set_state(&moriens_run.process, MORIENS_PROCESS_ABORTED);
}

/* MPI is over. */
static void conclude(struct moriens_thread *t)
{
	if (t->state == MORIENS_THREAD_RECORDS) {
		moriens_ring_set_state(&t->ring, MORIENS_RING_CLOSED);
		moriens_counters_end(&t->counters);
	}
	t->state = MORIENS_THREAD_OFF;
	moriens_regions_report();
	moriens_drain();
	moriens_launch_ends();
	moriens_process_set_state(&moriens_run.process, MORIENS_PROCESS_FINALIZED);
	moriens_process_over(&moriens_run.process);
	moriens_run_end();
	moriens_launch_wait();
}

MORIENS_COLD void moriens_finalized(struct moriens_span *span)
{
	struct moriens_thread *t = &moriens_thread;

	if (span->kind != MORIENS_SPAN_NONE && moriens_run_state() == MORIENS_RUN_RECORDS && moriens_sessions() == 0)
		conclude(t);
}

MORIENS_COLD void moriens_finalized_unseen(void)
{
	struct moriens_thread *t = &moriens_thread;
	uint32_t state = __atomic_load_n(&moriens_run.process.header->state, __ATOMIC_RELAXED);

	if (state != MORIENS_PROCESS_RUNNING || moriens_sessions() != 0)
		return;
	if (t->state == MORIENS_THREAD_POLLS)
		moriens_polls_end(t);
	conclude(t);
}

MORIENS_COLD void moriens_controlled(const struct moriens_span *span, int level)
{
	/* Of the library's own calls, or MPI is not initialised. */
	if (span->kind == MORIENS_SPAN_NONE || level < 0)
		return;
	moriens_set_pause(level == 0);
}

MORIENS_COLD void moriens_controlled_by(const struct moriens_span *span, int level, word name)
{
	moriens_controlled(span, level);
	if (span->kind != MORIENS_SPAN_NONE && (level == 1 || level == -1))
		moriens_pcontrol(level, name, (const void *)span->frame);
}
