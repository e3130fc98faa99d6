#include "meaning.h"

/* Of element i. */
static uint64_t count_at(const struct moriens_array *counts, uint32_t i)
{
	int64_t count = counts->bytes == 8 ? ((const int64_t *)counts->at)[i] : ((const int32_t *)counts->at)[i];

	return count > 0 ? (uint64_t)count : 0;
}

static word type_at(const struct moriens_side *side, uint32_t i)
{
	word at = side->types.at + i * side->types.bytes;

	return side->binding == MORIENS_F ? moriens_fortran_handle(at) : moriens_handle_at(at);
}

static uint64_t size_of(word type)
{
	return moriens_type_bytes(&moriens_thread.types, type);
}

/* What is moved to or from rank, or neighbour, i. */
static uint64_t part(const struct moriens_side *side, uint32_t i)
{
	uint64_t count = side->counts.at != 0 ? count_at(&side->counts, i) : side->count > 0 ? (uint64_t)side->count : 0;

	if (count == 0)
		return 0; /* the type may then be none */
	return count * size_of(side->types.at != 0 ? type_at(side, i) : side->type);
}

/* What is moved to or from n ranks, but for those whose bit is set. */
static uint64_t parts(const struct moriens_side *side, uint32_t n, uint64_t but)
{
	uint64_t bytes = 0;

	if (side->counts.at == 0 && but == 0)
		return n * part(side, 0);
	if (side->types.at == 0) {
		/* One type: its size is looked up once. */
		uint64_t count = 0;
		for (uint32_t i = 0; i < n; i++)
			if (i >= 64 || (but >> i & 1) == 0)
				count += side->counts.at != 0 ? count_at(&side->counts, i) : side->count > 0 ? (uint64_t)side->count : 0;
		return count == 0 ? 0 : count * size_of(side->type);
	}
	for (uint32_t i = 0; i < n; i++)
		if (i >= 64 || (but >> i & 1) == 0)
			bytes += part(side, i);
	return bytes;
}

struct sums {
	uint64_t sent, received;
};

/* Whether this rank is what the call names as root; of an intercommunicator, by MPI_ROOT. */
static bool is_root(const struct moriens_comm *c, int root)
{
	return (c->flags & MORIENS_COMM_INTER) != 0 ? root == moriens_mpi.root : root == c->rank;
}

/* Whether it is on the side of the root of an intercommunicator, and is not the root itself. */
static bool is_idle(const struct moriens_comm *c, int root)
{
	return (c->flags & MORIENS_COMM_INTER) != 0 && root == moriens_mpi.proc_null;
}

/* A rank that is not the root sends; one that is receives, and in one group also contributes its own part. */
static struct sums to_root(const struct moriens_comm *c, int root, const struct moriens_side *send, const struct moriens_side *receive, bool all_parts)
{
	struct sums sums = {0, 0};
	bool inter = (c->flags & MORIENS_COMM_INTER) != 0;

	if (is_idle(c, root))
		return sums;
	if (is_root(c, root))
		sums.received = all_parts ? parts(receive, c->peers, 0) : part(receive, 0);
	if (!is_root(c, root) || !inter)
		sums.sent = is_root(c, root) && moriens_in_place(send->buf) ? part(receive, all_parts ? (uint32_t)c->rank : 0) : part(send, 0);
	return sums;
}

static struct sums from_root(const struct moriens_comm *c, int root, const struct moriens_side *send, const struct moriens_side *receive)
{
	struct sums sums = {0, 0};
	bool inter = (c->flags & MORIENS_COMM_INTER) != 0;

	if (is_idle(c, root))
		return sums;
	if (is_root(c, root))
		sums.sent = parts(send, c->peers, 0);
	if (!is_root(c, root) || !inter)
		sums.received = is_root(c, root) && moriens_in_place(receive->buf) ? part(send, (uint32_t)c->rank) : part(receive, 0);
	return sums;
}

static struct sums same(uint64_t bytes)
{
	return (struct sums){bytes, bytes};
}

static struct sums bytes_of(struct moriens_comm *c, enum moriens_shape shape, int root, const struct moriens_side *send, const struct moriens_side *receive)
{
	switch (shape) {
	case MORIENS_SHAPE_NONE:
		break;
	case MORIENS_SHAPE_BCAST:
		if (is_root(c, root))
			return (struct sums){part(send, 0), 0};
		return (struct sums){0, is_idle(c, root) ? 0 : part(send, 0)};
	case MORIENS_SHAPE_GATHER:
		return to_root(c, root, send, receive, true);
	case MORIENS_SHAPE_SCATTER:
		return from_root(c, root, send, receive);
	case MORIENS_SHAPE_ALLGATHER:
		return (struct sums){moriens_in_place(send->buf) ? part(receive, (uint32_t)c->rank) : part(send, 0), parts(receive, c->peers, 0)};
	case MORIENS_SHAPE_ALLTOALL:
		return (struct sums){parts(moriens_in_place(send->buf) ? receive : send, c->peers, 0), parts(receive, c->peers, 0)};
	case MORIENS_SHAPE_REDUCE:
		return to_root(c, root, receive, receive, false);
	case MORIENS_SHAPE_ALLREDUCE:
	case MORIENS_SHAPE_SCAN:
		return same(part(receive, 0));
	case MORIENS_SHAPE_EXSCAN:
		return (struct sums){part(receive, 0), c->rank == 0 ? 0 : part(receive, 0)};
	case MORIENS_SHAPE_REDUCE_SCATTER:
		return (struct sums){parts(receive, c->size, 0), part(receive, (uint32_t)c->rank)};
	case MORIENS_SHAPE_NEIGHBOR_ALLGATHER:
		if (!c->neighbours_known)
			moriens_comm_neighbours(c);
		return (struct sums){part(send, 0), parts(receive, c->sources, c->no_source)};
	case MORIENS_SHAPE_NEIGHBOR_ALLTOALL:
		if (!c->neighbours_known)
			moriens_comm_neighbours(c);
		return (struct sums){parts(send, c->targets, c->no_target), parts(receive, c->sources, c->no_source)};
	}
	return same(0);
}

void moriens_collective(struct moriens_span *span, enum moriens_shape shape, word comm, int root, const struct moriens_side *send,
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
	struct sums sums = bytes_of(c, shape, root, send, receive);
	slot->sent = sums.sent;
	slot->received = sums.received;
	slot->ordinal = t->ordinal;
	slot->root = moriens_peer(root);
	slot->comm = moriens_comm_number(c);
	slot->kind = MORIENS_SLOT_COLLECTIVE;
}

void moriens_collective_of(struct moriens_span *span, word comm, int root)
{
	moriens_collective(span, MORIENS_SHAPE_NONE, comm, root, NULL, NULL);
}

MORIENS_COLD void moriens_uncount(int error)
{
	const struct moriens_thread *t = &moriens_thread;

	if (t->comm != NULL && moriens_was_refused(error))
		__atomic_store_n(&t->comm->ordinal, t->ordinal, __ATOMIC_RELAXED);
}
