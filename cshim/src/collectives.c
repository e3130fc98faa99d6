#include "collectives.h"

uint64_t moriens_parts(const struct moriens_side *side, uint32_t n, uint64_t but)
{
	uint64_t bytes = 0;

	if (side->counts.at == 0 && but == 0)
		return n * moriens_part(side, 0);
	if (side->types.at == 0) {
		/* One type: its size is looked up once. */
		uint64_t count = 0;
		for (uint32_t i = 0; i < n; i++)
			if (i >= 64 || (but >> i & 1) == 0)
				count += side->counts.at != 0 ? moriens_count_at(&side->counts, i) : side->count > 0 ? (uint64_t)side->count : 0;
		return count == 0 ? 0 : count * moriens_size_of(side->type);
	}
	for (uint32_t i = 0; i < n; i++)
		if (i >= 64 || (but >> i & 1) == 0)
			bytes += moriens_part(side, i);
	return bytes;
}

/* A rank that is not the root sends; one that is receives, and in one group also contributes its own part. */
struct moriens_sums moriens_to_root(const struct moriens_comm *c, int root, const struct moriens_side *send, const struct moriens_side *receive, bool all_parts)
{
	struct moriens_sums sums = {0, 0};
	bool inter = (c->flags & MORIENS_COMM_INTER) != 0;

	if (moriens_is_idle(c, root))
		return sums;
	if (moriens_is_root(c, root))
		sums.received = all_parts ? moriens_parts(receive, c->peers, 0) : moriens_part(receive, 0);
	if (!moriens_is_root(c, root) || !inter)
		sums.sent = moriens_is_root(c, root) && moriens_in_place(send->buf) ? moriens_part(receive, all_parts ? (uint32_t)c->rank : 0) : moriens_part(send, 0);
	return sums;
}

struct moriens_sums moriens_from_root(const struct moriens_comm *c, int root, const struct moriens_side *send, const struct moriens_side *receive)
{
	struct moriens_sums sums = {0, 0};
	bool inter = (c->flags & MORIENS_COMM_INTER) != 0;

	if (moriens_is_idle(c, root))
		return sums;
	if (moriens_is_root(c, root))
		sums.sent = moriens_parts(send, c->peers, 0);
	if (!moriens_is_root(c, root) || !inter)
		sums.received = moriens_is_root(c, root) && moriens_in_place(receive->buf) ? moriens_part(send, (uint32_t)c->rank) : moriens_part(receive, 0);
	return sums;
}

MORIENS_COLD void moriens_uncount(int error)
{
	const struct moriens_thread *t = &moriens_thread;

	if (t->comm != NULL && moriens_was_refused(error))
		__atomic_store_n(&t->comm->ordinal, t->ordinal, __ATOMIC_RELAXED);
}
