/*
 * Collective calls: how much each moves, by its shape. The shape is known where the wrapper is compiled, and what is
 * not of it is left out there.
 */
#ifndef MORIENS_COLLECTIVES_H
#define MORIENS_COLLECTIVES_H

#include "record.h"

/* For a root or a peer that a call does not have: no library's value for anything. */
#define MORIENS_NOBODY INT32_MIN

/* The bytes of a collective call, by who moves how much of what it is given. */
enum moriens_shape {
	MORIENS_SHAPE_NONE, /* moves nothing: barriers, and calls that make something */
	MORIENS_SHAPE_BCAST,
	MORIENS_SHAPE_GATHER,
	MORIENS_SHAPE_SCATTER,
	MORIENS_SHAPE_ALLGATHER,
	MORIENS_SHAPE_ALLTOALL,
	MORIENS_SHAPE_REDUCE,
	MORIENS_SHAPE_ALLREDUCE,
	MORIENS_SHAPE_REDUCE_SCATTER,
	MORIENS_SHAPE_SCAN,
	MORIENS_SHAPE_EXSCAN,
	MORIENS_SHAPE_NEIGHBOR_ALLGATHER,
	MORIENS_SHAPE_NEIGHBOR_ALLTOALL,
};

/* An array argument of one element per rank. */
struct moriens_array {
	word at; /* 0 = there is none */
	uint32_t bytes; /* of an element */
};

/* What a collective call sends, or receives: a count or counts, a type or types. Not looked at where it does not
 * matter. */
struct moriens_side {
	word buf;
	int64_t count;
	struct moriens_array counts;
	word type;
	struct moriens_array types; /* of C handles, or Fortran ones: */
	enum moriens_binding binding;
};

#define MORIENS_SIDE(buf, count, counts, type, types, binding) (&(const struct moriens_side){buf, count, counts, type, types, binding})
#define MORIENS_ARRAY(at, bytes) ((struct moriens_array){at, bytes})
#define MORIENS_NO_ARRAY ((struct moriens_array){0, 0})

/* Of element i. */
MORIENS_HOT uint64_t moriens_count_at(const struct moriens_array *counts, uint32_t i)
{
	int64_t count = counts->bytes == 8 ? ((const int64_t *)counts->at)[i] : ((const int32_t *)counts->at)[i];

	return count > 0 ? (uint64_t)count : 0;
}

MORIENS_HOT word moriens_type_at(const struct moriens_side *side, uint32_t i)
{
	word at = side->types.at + i * side->types.bytes;

	return side->binding == MORIENS_F ? moriens_fortran_handle(at) : moriens_handle_at(at);
}

MORIENS_HOT uint64_t moriens_size_of(word type)
{
	return moriens_type_bytes(&moriens_thread.types, type);
}

/* What is moved to or from rank, or neighbour, i. */
MORIENS_HOT uint64_t moriens_part(const struct moriens_side *side, uint32_t i)
{
	uint64_t count = side->counts.at != 0 ? moriens_count_at(&side->counts, i) : side->count > 0 ? (uint64_t)side->count : 0;

	if (count == 0)
		return 0; /* the type may then be none */
	return count * moriens_size_of(side->types.at != 0 ? moriens_type_at(side, i) : side->type);
}

/* What is moved to or from n ranks, but for those whose bit is set. */
uint64_t moriens_parts(const struct moriens_side *side, uint32_t n, uint64_t but);

struct moriens_sums {
	uint64_t sent, received;
};

/* Whether this rank is what the call names as root; of an intercommunicator, by MPI_ROOT. */
MORIENS_HOT bool moriens_is_root(const struct moriens_comm *c, int root)
{
	return (c->flags & MORIENS_COMM_INTER) != 0 ? root == moriens_mpi.root : root == c->rank;
}

/* Whether it is on the side of the root of an intercommunicator, and is not the root itself. */
MORIENS_HOT bool moriens_is_idle(const struct moriens_comm *c, int root)
{
	return (c->flags & MORIENS_COMM_INTER) != 0 && root == moriens_mpi.proc_null;
}

/* A rank that is not the root sends; one that is receives, and in one group also contributes its own part. */
struct moriens_sums moriens_to_root(const struct moriens_comm *c, int root, const struct moriens_side *send, const struct moriens_side *receive, bool all_parts);
struct moriens_sums moriens_from_root(const struct moriens_comm *c, int root, const struct moriens_side *send, const struct moriens_side *receive);

MORIENS_HOT struct moriens_sums moriens_same(uint64_t bytes)
{
	return (struct moriens_sums){bytes, bytes};
}

MORIENS_HOT struct moriens_sums moriens_sums_of(struct moriens_comm *c, enum moriens_shape shape, int root, const struct moriens_side *send, const struct moriens_side *receive)
{
	switch (shape) {
	case MORIENS_SHAPE_NONE:
		break;
	case MORIENS_SHAPE_BCAST:
		if (moriens_is_root(c, root))
			return (struct moriens_sums){moriens_part(send, 0), 0};
		return (struct moriens_sums){0, moriens_is_idle(c, root) ? 0 : moriens_part(send, 0)};
	case MORIENS_SHAPE_GATHER:
		return moriens_to_root(c, root, send, receive, true);
	case MORIENS_SHAPE_SCATTER:
		return moriens_from_root(c, root, send, receive);
	case MORIENS_SHAPE_ALLGATHER:
		return (struct moriens_sums){moriens_in_place(send->buf) ? moriens_part(receive, (uint32_t)c->rank) : moriens_part(send, 0), moriens_parts(receive, c->peers, 0)};
	case MORIENS_SHAPE_ALLTOALL:
		return (struct moriens_sums){moriens_parts(moriens_in_place(send->buf) ? receive : send, c->peers, 0), moriens_parts(receive, c->peers, 0)};
	case MORIENS_SHAPE_REDUCE:
		return moriens_to_root(c, root, receive, receive, false);
	case MORIENS_SHAPE_ALLREDUCE:
	case MORIENS_SHAPE_SCAN:
		return moriens_same(moriens_part(receive, 0));
	case MORIENS_SHAPE_EXSCAN:
		return (struct moriens_sums){moriens_part(receive, 0), c->rank == 0 ? 0 : moriens_part(receive, 0)};
	case MORIENS_SHAPE_REDUCE_SCATTER:
		return (struct moriens_sums){moriens_parts(receive, c->size, 0), moriens_part(receive, (uint32_t)c->rank)};
	case MORIENS_SHAPE_NEIGHBOR_ALLGATHER:
		if (!c->neighbours_known)
			moriens_comm_neighbours(c);
		return (struct moriens_sums){moriens_part(send, 0), moriens_parts(receive, c->sources, c->no_source)};
	case MORIENS_SHAPE_NEIGHBOR_ALLTOALL:
		if (!c->neighbours_known)
			moriens_comm_neighbours(c);
		return (struct moriens_sums){moriens_parts(send, c->targets, c->no_target), moriens_parts(receive, c->sources, c->no_source)};
	}
	return moriens_same(0);
}

/* Collective, at the entry: of a communicator, window or file. NULL where a side has nothing of its own: a broadcast
 * has one side only, a reduction sends as much as it receives. */
MORIENS_HOT void moriens_collective(struct moriens_span *span, enum moriens_shape shape, word comm, int root, const struct moriens_side *send,
	const struct moriens_side *receive)
{
	struct moriens_thread *t = &moriens_thread;
	struct moriens_comm *c = moriens_comm_of(&t->comms, comm);

	t->comm = c;
	if (unlikely(c == NULL))
		return;
	t->serial = c->serial;
	t->ordinal = moriens_comm_next(c);
	struct moriens_collective *slot = moriens_extend(span);
	if (unlikely(slot == NULL))
		return;
	struct moriens_sums sums = moriens_sums_of(c, shape, root, send, receive);
	slot->sent = sums.sent;
	slot->received = sums.received;
	moriens_two(&slot->ordinal, t->ordinal, (uint32_t)moriens_peer(root));
	moriens_two(&slot->comm, moriens_comm_number(c), MORIENS_SLOT_COLLECTIVE);
}

/* At the exit of a collective call that has failed: one that MPI has refused is none, and the other ranks may not have
 * made it. */
void moriens_uncount(int error);

/* At the entry of one that moves nothing. */
MORIENS_HOT void moriens_collective_of(struct moriens_span *span, word comm, int root)
{
	moriens_collective(span, MORIENS_SHAPE_NONE, comm, root, NULL, NULL);
}

#endif
