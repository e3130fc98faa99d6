#include "status.h"
#include "record.h"

bool moriens_status_cancels;

uint64_t moriens_status_ask_bytes(word status)
{
	long long bytes = 0;

	if (moriens_mpi.get_count == NULL || moriens_mpi.get_count((const void *)status, moriens_mpi.byte, &bytes) != 0 || bytes < 0)
		return 0;
	return (uint64_t)bytes;
}

bool moriens_status_ask_cancelled(word status)
{
	int cancelled = 0;

	return moriens_mpi.test_cancelled != NULL && moriens_mpi.test_cancelled((const void *)status, &cancelled) == 0 && cancelled != 0;
}

word moriens_statuses(word statuses, enum moriens_binding binding)
{
	const struct moriens_requests *r = &moriens_thread.requests;
	bool ignored = binding == MORIENS_C ? statuses == moriens_mpi.statuses_ignore : moriens_is_any(statuses, moriens_mpi.fortran_ignore);

	return ignored && r->copied && r->count != 0 ? (word)r->status : statuses;
}
