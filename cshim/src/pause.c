#include "record.h"

bool moriens_pause;

MORIENS_COLD void moriens_controlled(const struct moriens_span *span, int level)
{
	/* Of the library's own calls, or MPI is not initialised. */
	if (span->kind == MORIENS_SPAN_NONE || level < 0)
		return;
	__atomic_store_n(&moriens_pause, level == 0, __ATOMIC_RELAXED);
}
