/*
 * What the outermost call means: what it moves, between whom, in which communicator, and what it does to requests.
 * Wrappers describe it by the parts that their parameters play (cshim/gen/meaning.go); here it becomes slots of the
 * call's record.
 *
 * What is known at the entry is written before the record is committed, so that a process that dies inside the call
 * names whom it waited for; results follow at the exit. Of a call that failed nothing is read that it may not have
 * written: its record shows what it was asked for.
 *
 * Handles are those of C or of Fortran: mpi_facts.h. References to communicators, windows and files: comms.h.
 */
#ifndef MORIENS_MEANING_H
#define MORIENS_MEANING_H

#include "collectives.h"
#include "complete.h"
#include "polls.h"

/* Whether the call that has begun is its thread's outermost one. */
MORIENS_HOT bool moriens_outermost(const struct moriens_span *span)
{
	return likely(span->kind != MORIENS_SPAN_NONE);
}

/* Whether the call that has returned still is. */
MORIENS_HOT bool moriens_returned(const struct moriens_span *span)
{
	return likely(span->kind != MORIENS_SPAN_NONE && moriens_thread.outermost == span->frame);
}

MORIENS_HOT bool moriens_succeeded(const struct moriens_span *span, int result)
{
	return likely(result == 0) && moriens_returned(span);
}

MORIENS_HOT bool moriens_failed(const struct moriens_span *span, int result)
{
	return unlikely(result != 0) && moriens_returned(span);
}

/* Negative counts are for MPI to refuse. */
MORIENS_HOT uint64_t moriens_bytes_of(int64_t count, word type)
{
	return likely(count > 0) ? (uint64_t)count * moriens_type_bytes(&moriens_thread.types, type) : 0;
}

MORIENS_HOT void moriens_transfer_bytes(struct moriens_span *span, uint32_t kind, uint64_t bytes, int32_t peer, int32_t tag, word comm)
{
	struct moriens_thread *t = &moriens_thread;
	struct moriens_transfer *slot = moriens_extend(span);

	if (unlikely(slot == NULL))
		return;
	if (span->transfer == 0)
		span->transfer = t->ring.open - 1;
	else
		span->second = t->ring.open - 1;
	slot->bytes = bytes;
	slot->request = 0;
	moriens_two(&slot->peer, (uint32_t)moriens_peer(peer), (uint32_t)moriens_tag(tag));
	moriens_two(&slot->comm, moriens_comm_number(moriens_comm_of(&t->comms, comm)), kind);
}

/* Point-to-point, at the entry. kind is that of a moriens_transfer. */
MORIENS_HOT void moriens_transfer(struct moriens_span *span, uint32_t kind, int64_t count, word type, int peer, int tag, word comm)
{
	moriens_transfer_bytes(span, kind, moriens_bytes_of(count, type), peer, tag, comm);
}

/* The same with one request for several parts of the message. */
void moriens_transfer_parts(struct moriens_span *span, uint32_t kind, int partitions, int64_t count, word type, int peer, int tag, word comm);
/* A probe. */
void moriens_probe(struct moriens_span *span, int source, int tag, word comm);
/* A receive of a message that a probe has matched. */
void moriens_matched(struct moriens_span *span, int64_t count, word type, word message);
/* To or from a rank's part of a window; and the same for a call with an operation, which may be MPI_NO_OP. */
void moriens_access(struct moriens_span *span, uint32_t kind, int64_t count, word type, int target, word win);
void moriens_update(struct moriens_span *span, int64_t count, word type, int target, word win, word op);
/* To or from a file. */
void moriens_io(struct moriens_span *span, uint32_t kind, int64_t count, word type, word file);

/* What a call is given that ends, starts or cancels requests, at the entry. */
MORIENS_HOT void moriens_given_request(enum moriens_binding binding, word request)
{
	moriens_thread.requests.one = moriens_request_at(binding, request, 0);
}

void moriens_given_requests(enum moriens_binding binding, int count, word requests);
void moriens_cancels(void);

/* The status that the library shall write, in the place of one that the program ignores. */
MORIENS_HOT word moriens_status(word status, enum moriens_binding binding)
{
	bool ignored = binding == MORIENS_C ? status == moriens_mpi.status_ignore : moriens_is_any(status, moriens_mpi.fortran_ignore);

	_Static_assert(sizeof moriens_thread.requests.one_status >= 32, "the longest status");
	return ignored ? (word)moriens_thread.requests.one_status : status;
}

/* At the exit of a call that has failed: its messages were not transferred, or it is not known whether they were. */
void moriens_unsettle(uint32_t number, int error);

MORIENS_HOT void moriens_unsettled(const struct moriens_span *span, int error)
{
	if (span->kind == MORIENS_SPAN_RECORD && span->transfer != 0)
		moriens_unsettle(span->transfer, error);
	if (span->kind == MORIENS_SPAN_RECORD && span->second != 0)
		moriens_unsettle(span->second, error);
}

/* A transfer of the record by the number of its slot, until the next slot is asked for. */
MORIENS_HOT struct moriens_transfer *moriens_transfer_slot(uint32_t number)
{
	return (struct moriens_transfer *)(void *)moriens_ring_slot(&moriens_thread.ring, number);
}

/* Results, at the exit of a call that has succeeded. */
MORIENS_HOT void moriens_received(struct moriens_span *span, word status)
{
	if (unlikely(span->kind != MORIENS_SPAN_RECORD || span->transfer == 0))
		return;
	struct moriens_transfer *slot = moriens_transfer_slot(span->second != 0 ? span->second : span->transfer);
	slot->bytes = moriens_status_bytes(status);
	moriens_two(&slot->peer, (uint32_t)moriens_status_source(status), (uint32_t)moriens_status_tag(status));
}

void moriens_requested_of_nobody(const struct moriens_transfer *transfer);

MORIENS_HOT void moriens_request_of(struct moriens_transfer *transfer, word request)
{
	transfer->request = request != moriens_mpi.request_null ? request : 0;
	if (unlikely(transfer->peer == MORIENS_PROC_NULL))
		moriens_requested_of_nobody(transfer);
}

/* The request of the record's transfers. */
MORIENS_HOT void moriens_requested(struct moriens_span *span, word request)
{
	if (unlikely(span->kind != MORIENS_SPAN_RECORD))
		return;
	if (span->transfer != 0)
		moriens_request_of(moriens_transfer_slot(span->transfer), request);
	if (span->second != 0)
		moriens_request_of(moriens_transfer_slot(span->second), request);
}

/* Of the two transfers of MPI_Isendrecv. */
void moriens_asked(struct moriens_span *span, word request);

void moriens_made_request(struct moriens_span *span, word request); /* of a call without transfers */
void moriens_persistent(struct moriens_span *span, word request);   /* which is inactive */
void moriens_started(struct moriens_span *span);
void moriens_started_all(struct moriens_span *span);
void moriens_freed_request(struct moriens_span *span);

/* The object of this reference was made by the collective call that has succeeded, at its exit; */
void moriens_made(word made);
/* a communicator with the ranks of the call's, which may not be used yet; */
void moriens_made_like(word made, word like);
/* by a part of comm's ranks, or by ranks without a communicator, that know a number or a text. */
void moriens_made_by_group(word made, word comm, int tag);
void moriens_made_by_text(word made, const char *text, size_t length);
void moriens_made_between(word made, int tag);

/* An intercommunicator that ranks of different worlds can be part of was made: by MPI_Comm_spawn; by a call that names
 * a port, of so many bytes in Fortran and with its own end in C; over a socket. And the one that the spawned world has
 * from the beginning, if it is one. */
void moriens_spawned(const struct moriens_span *span, word made, int root);
void moriens_accepted(const struct moriens_span *span, word made, int root, const char *port, size_t length);
void moriens_connected(const struct moriens_span *span, word made, int root, const char *port, size_t length);
void moriens_joined(const struct moriens_span *span, word made);
void moriens_met_parent(const struct moriens_span *span);
#define MORIENS_OWN_END SIZE_MAX

/* That whose collective call has succeeded was freed. */
void moriens_freed(void);

#endif
