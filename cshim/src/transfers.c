#include "meaning.h"
#include "status.h"

static void transfer(struct moriens_span *span, uint32_t kind, uint64_t bytes, int32_t peer, int32_t tag, word comm)
{
	struct moriens_thread *t = &moriens_thread;
	struct moriens_transfer *slot = moriens_extend(span);

	if (unlikely(slot == NULL))
		return;
	t->transfer[t->transfers++] = t->ring.open - 1; /* no call has more than two */
	slot->bytes = bytes;
	slot->request = 0;
	slot->peer = moriens_peer(peer);
	slot->tag = moriens_tag(tag);
	slot->comm = moriens_comm_number(moriens_comm_of(&t->comms, comm));
	slot->kind = kind;
}

/* Negative counts are for MPI to refuse. */
static uint64_t bytes_of(int64_t count, word type)
{
	return likely(count > 0) ? (uint64_t)count * moriens_type_bytes(&moriens_thread.types, type) : 0;
}

void moriens_transfer(struct moriens_span *span, uint32_t kind, int64_t count, word type, int peer, int tag, word comm)
{
	transfer(span, kind, bytes_of(count, type), peer, tag, comm);
}

void moriens_transfer_parts(struct moriens_span *span, uint32_t kind, int partitions, int64_t count, word type, int peer, int tag, word comm)
{
	transfer(span, kind, partitions > 0 ? (uint64_t)partitions * bytes_of(count, type) : 0, peer, tag, comm);
}

void moriens_probe(struct moriens_span *span, int source, int tag, word comm)
{
	transfer(span, MORIENS_SLOT_PROBED, 0, source, tag, comm);
}

/* Only the probe knew in which communicator. */
void moriens_matched(struct moriens_span *span, int64_t count, word type, word message)
{
	struct moriens_request *slot = moriens_extend(span);

	if (slot == NULL)
		return;
	*slot = (struct moriens_request){
		.request = message,
		.source = MORIENS_ANY,
		.tag = MORIENS_ANY,
		.event = MORIENS_REQUEST_MATCHED,
		.kind = MORIENS_SLOT_REQUEST,
	};
	struct moriens_transfer *room = moriens_extend(span);
	if (room == NULL)
		return;
	*room = (struct moriens_transfer){
		.bytes = bytes_of(count, type),
		.peer = MORIENS_ANY,
		.tag = MORIENS_ANY,
		.kind = MORIENS_SLOT_RECEIVED,
	};
	moriens_thread.transfer[0] = moriens_thread.ring.open - 1;
	moriens_thread.transfers = 1;
}

void moriens_access(struct moriens_span *span, uint32_t kind, int64_t count, word type, int target, word win)
{
	transfer(span, kind, bytes_of(count, type), target, MORIENS_ANY, win);
}

void moriens_update(struct moriens_span *span, int64_t count, word type, int target, word win, word op)
{
	/* Nothing of the origin is looked at then. */
	if (moriens_c_handle(op, moriens_mpi.op_f2c) != moriens_mpi.no_op)
		moriens_access(span, MORIENS_SLOT_PUT, count, type, target, win);
}

void moriens_io(struct moriens_span *span, uint32_t kind, int64_t count, word type, word file)
{
	transfer(span, kind, bytes_of(count, type), MORIENS_NOBODY, MORIENS_ANY, file);
}

void moriens_received(struct moriens_span *span, word status)
{
	const struct moriens_thread *t = &moriens_thread;

	if (unlikely(span->kind != MORIENS_SPAN_RECORD || t->transfers == 0))
		return;
	struct moriens_transfer *slot = moriens_transfer_slot(t->transfers - 1);
	slot->bytes = moriens_status_bytes(status);
	slot->peer = moriens_status_source(status);
	slot->tag = moriens_status_tag(status);
}

MORIENS_COLD void moriens_unsettled(const struct moriens_span *span, int error)
{
	const struct moriens_thread *t = &moriens_thread;
	int32_t peer = moriens_was_refused(error) ? MORIENS_PROC_NULL : MORIENS_ANY;

	for (uint32_t i = 0; span->kind == MORIENS_SPAN_RECORD && i < t->transfers; i++)
		moriens_transfer_slot(i)->peer = peer;
}
