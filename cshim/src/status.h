/* Reads MPI_Status, by the library's layout. */
#ifndef MORIENS_STATUS_H
#define MORIENS_STATUS_H

#include "mpi_facts.h"

#include <string.h>

MORIENS_HOT int32_t moriens_status_int(word status, uint32_t offset)
{
	int32_t value;

	memcpy(&value, (const char *)status + offset, sizeof value);
	return value;
}

/* The standard ABI does not say where these two are. */
uint64_t moriens_status_ask_bytes(word status);
bool moriens_status_ask_cancelled(word status);

MORIENS_HOT uint64_t moriens_status_bytes(word status)
{
	const struct moriens_status_layout *at = &moriens_mpi.status;
	uint64_t count;

	if (unlikely(at->opaque))
		return moriens_status_ask_bytes(status);
	memcpy(&count, (const char *)status + at->count, sizeof count);
	return at->count_low_high ? (count & 0xffffffff) | count >> 33 << 32 : count;
}

/* Atomic: whether the program has called MPI_Cancel. Before that nothing is cancelled, whatever a status says: Open
 * MPI's I/O leaves this part of it as it was. */
extern MORIENS_HIDDEN bool moriens_status_cancels;

MORIENS_HOT bool moriens_status_cancelled(word status)
{
	if (likely(!__atomic_load_n(&moriens_status_cancels, __ATOMIC_RELAXED)))
		return false;
	if (unlikely(moriens_mpi.status.opaque))
		return moriens_status_ask_cancelled(status);
	return (moriens_status_int(status, moriens_mpi.status.cancelled) & moriens_mpi.status.cancelled_mask) == 1;
}

MORIENS_HOT int32_t moriens_status_source(word status)
{
	return moriens_peer(moriens_status_int(status, moriens_mpi.status.source));
}

MORIENS_HOT int32_t moriens_status_tag(word status)
{
	return moriens_tag(moriens_status_int(status, moriens_mpi.status.tag));
}

/* The statuses that the library shall write, in the place of those that the program ignores. */
word moriens_statuses(word statuses, enum moriens_binding binding);

static inline int32_t moriens_status_error(word status)
{
	return moriens_status_int(status, moriens_mpi.status.error);
}

#endif
