#include "session.h"
#include "drain.h"
#include "fortran.h"
#include "launch.h"
#include "mpi_family.h"
#include "run.h"

#include <pthread.h>

static int open_sessions; /* atomic; changes under the lock, so that the process's state changes with it */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* No session is open, unless another thread has opened one since. */
static void finalize(void)
{
	pthread_mutex_lock(&lock);
	if (moriens_sessions() == 0)
		moriens_process_set_state(&moriens_run.process, MORIENS_PROCESS_FINALIZED);
	pthread_mutex_unlock(&lock);
}

int moriens_sessions(void)
{
	return __atomic_load_n(&open_sessions, __ATOMIC_ACQUIRE);
}

/* One more is open. The first sets the process running again, if another has ended it, and is made known under the
 * lock: a thread that opens the second one must find it known when it returns. If it did not, it would count as opened
 * a session whose end, in a thread that records nothing yet, no one counts, and the process would run endlessly. */
static void opened(word session)
{
	pthread_mutex_lock(&lock);
	if (moriens_run_state() != MORIENS_RUN_OFF)
		moriens_mpi_add_session(session);
	if (moriens_sessions() == 0 && moriens_run_state() == MORIENS_RUN_RECORDS)
		moriens_process_set_state(&moriens_run.process, MORIENS_PROCESS_RUNNING);
	__atomic_fetch_add(&open_sessions, 1, __ATOMIC_ACQ_REL);
	pthread_mutex_unlock(&lock);
}

/* One less is; returns how many there are. */
static int closed(void)
{
	pthread_mutex_lock(&lock);
	int open = __atomic_sub_fetch(&open_sessions, 1, __ATOMIC_ACQ_REL);
	pthread_mutex_unlock(&lock);
	return open;
}

MORIENS_COLD void moriens_session_opened(struct moriens_span *span, int result, word session)
{
	if (span->kind != MORIENS_SPAN_NONE && result == 0)
		opened(moriens_mpi_session(session, span->site));
}

MORIENS_COLD void moriens_session_opened_fortran(struct moriens_span *span, word session, word ierror)
{
	if (span->kind != MORIENS_SPAN_NONE && moriens_fortran_error(ierror) == 0)
		opened(moriens_mpi_session_fortran(session, span->site));
}

MORIENS_COLD void moriens_session_ending(struct moriens_span *span, word session)
{
	if (span->kind != MORIENS_SPAN_NONE)
		moriens_mpi_remove_session(moriens_mpi_session(session, span->site));
}

MORIENS_COLD void moriens_session_ending_fortran(struct moriens_span *span, word session)
{
	if (span->kind != MORIENS_SPAN_NONE)
		moriens_mpi_remove_session(moriens_mpi_session_fortran(session, span->site));
}

MORIENS_COLD void moriens_session_closed(struct moriens_span *span, int result)
{
	if (span->kind == MORIENS_SPAN_NONE || result != 0 || closed() != 0)
		return;
	if (moriens_run_state() != MORIENS_RUN_RECORDS || moriens_mpi_world_open(span->site))
		return;
	/* The ring is kept open: more sessions may follow. */
	moriens_drain();
	finalize();
}

/* The process ends, and no more sessions can follow. One that had them all ended waits for its agent, as MPI_Finalize
 * does. */
__attribute__((destructor)) static void exiting(void)
{
	if (moriens_run_state() != MORIENS_RUN_RECORDS || moriens_sessions() != 0 ||
		__atomic_load_n(&moriens_run.process.header->state, __ATOMIC_ACQUIRE) != MORIENS_PROCESS_FINALIZED)
		return;
	moriens_launch_ends();
	moriens_process_over(&moriens_run.process);
	moriens_run_end();
	moriens_launch_wait();
}
