#include "meaning.h"
void moriens_transfer_parts(struct moriens_span *span, uint32_t kind, int partitions, int64_t count, word type, int peer, int tag, word comm)
{
	moriens_transfer_bytes(span, kind, partitions > 0 ? (uint64_t)partitions * moriens_bytes_of(count, type) : 0, peer, tag, comm);
}

void moriens_probe(struct moriens_span *span, int source, int tag, word comm)
{
	moriens_transfer_bytes(span, MORIENS_SLOT_PROBED, 0, source, tag, comm);
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
		.bytes = moriens_bytes_of(count, type),
		.peer = MORIENS_ANY,
		.tag = MORIENS_ANY,
		.kind = MORIENS_SLOT_RECEIVED,
	};
	span->transfer = moriens_thread.ring.open - 1;
}

void moriens_access(struct moriens_span *span, uint32_t kind, int64_t count, word type, int target, word win)
{
	moriens_transfer_bytes(span, kind, moriens_bytes_of(count, type), target, MORIENS_ANY, win);
}

void moriens_update(struct moriens_span *span, int64_t count, word type, int target, word win, word op)
{
	/* Nothing of the origin is looked at then. */
	if (moriens_c_handle(op, moriens_mpi.op_f2c) != moriens_mpi.no_op)
		moriens_access(span, MORIENS_SLOT_PUT, count, type, target, win);
}

void moriens_io(struct moriens_span *span, uint32_t kind, int64_t count, word type, word file)
{
	moriens_transfer_bytes(span, kind, moriens_bytes_of(count, type), MORIENS_NOBODY, MORIENS_ANY, file);
}

MORIENS_COLD void moriens_unsettle(uint32_t number, int error)
{
	moriens_transfer_slot(number)->peer = moriens_was_refused(error) ? MORIENS_PROC_NULL : MORIENS_ANY;
}
