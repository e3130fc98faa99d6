#include "session.h"
#include "drain.h"
#include "fortran.h"
#include "mpi_family.h"
#include "run.h"

static int open_sessions; /* atomic */

int moriens_sessions(void)
{
	return __atomic_load_n(&open_sessions, __ATOMIC_ACQUIRE);
}

static void opened(const struct moriens_span *span, word session)
{
	if (__atomic_fetch_add(&open_sessions, 1, __ATOMIC_ACQ_REL) != 0 || moriens_run_state() == MORIENS_RUN_OFF)
		return;
	moriens_mpi_set_session(session);
	/* After the end of the sessions before it, which closed this ring. */
	if (span->kind == MORIENS_SPAN_RECORD && moriens_run_state() == MORIENS_RUN_RECORDS) {
		moriens_process_set_state(&moriens_run.process, MORIENS_PROCESS_RUNNING);
		moriens_ring_set_state(&moriens_thread.ring, MORIENS_RING_OPEN);
	}
}

MORIENS_COLD void moriens_session_opened(struct moriens_span *span, int result, word session)
{
	if (span->kind != MORIENS_SPAN_NONE && result == 0)
		opened(span, moriens_mpi_session(session, span->site));
}

MORIENS_COLD void moriens_session_opened_fortran(struct moriens_span *span, word session, word ierror)
{
	if (span->kind != MORIENS_SPAN_NONE && moriens_fortran_error(ierror) == 0)
		opened(span, moriens_mpi_session_fortran(session, span->site));
}

MORIENS_COLD void moriens_session_closed(struct moriens_span *span, int result)
{
	struct moriens_thread *t = &moriens_thread;

	if (span->kind == MORIENS_SPAN_NONE || result != 0 || __atomic_sub_fetch(&open_sessions, 1, __ATOMIC_ACQ_REL) != 0)
		return;
	if (moriens_run_state() != MORIENS_RUN_RECORDS || moriens_mpi_world_open(span->site))
		return;
	if (t->state == MORIENS_THREAD_RECORDS)
		moriens_ring_set_state(&t->ring, MORIENS_RING_CLOSED);
	moriens_drain();
	moriens_process_set_state(&moriens_run.process, MORIENS_PROCESS_FINALIZED);
}
