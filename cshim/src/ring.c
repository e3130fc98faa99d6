#include "ring.h"

size_t moriens_ring_bytes(uint32_t slots)
{
	return MORIENS_HEADER_BYTES + (size_t)slots * MORIENS_SLOT_BYTES;
}

void moriens_ring_format(struct moriens_writer *w, void *memory, uint32_t slots, const struct moriens_ring_identity *identity)
{
	struct moriens_ring *ring = memory;

	ring->magic = MORIENS_RING_MAGIC;
	ring->abi = MORIENS_ABI_VERSION;
	ring->header_bytes = MORIENS_HEADER_BYTES;
	ring->slot_bytes = MORIENS_SLOT_BYTES;
	ring->slots = slots;
	ring->ring = identity->ring;
	ring->process = identity->process;
	ring->thread = identity->thread;
	ring->tid = identity->tid;
	*w = (struct moriens_writer){
		.ring = ring,
		.slots = (struct moriens_slot *)(void *)((char *)memory + MORIENS_HEADER_BYTES),
		.limit = slots,
		.count = slots,
	};
	moriens_ring_set_state(w, MORIENS_RING_OPEN);
}

void moriens_ring_set_state(struct moriens_writer *w, enum moriens_ring_state state)
{
	__atomic_store_n(&w->ring->state, (uint32_t)state, __ATOMIC_RELEASE);
}

/* Adds one to a counter that only this thread writes. */
static void count(uint64_t *counter)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

void moriens_ring_abandon(struct moriens_writer *w)
{
	count(&w->ring->abandoned);
	w->lost = true;
}

bool moriens_ring_find_room(struct moriens_writer *w)
{
	uint64_t tail = __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE);

	/* A tail that the reader cannot have stored is damage done by a stray pointer: without this it
	 * would let us overwrite what was not read, or stop us for good. */
	if (tail > w->head || w->head - tail >= w->count) {
		count(&w->ring->dropped);
		w->lost = true;
		return false;
	}
	w->limit = tail + w->count;
	return true;
}
