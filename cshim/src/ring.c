#include "ring.h"
#include "os.h"

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
		.limit = slots / 2,
		.bell = identity->bell,
		.count = slots,
	};
	moriens_ring_set_state(w, MORIENS_RING_OPEN);
}

void moriens_ring_set_state(struct moriens_writer *w, enum moriens_ring_state state)
{
	__atomic_store_n(&w->ring->state, (uint32_t)state, __ATOMIC_RELEASE);
}

void moriens_ring_count(uint64_t *counter)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + 1, __ATOMIC_RELAXED);
}

/* What is open, if anything, will never be published. */
static void give_up(struct moriens_writer *w)
{
	/* Or it would be taken for the call in which the process died. */
	if (w->open != 0)
		__atomic_store_n(&moriens_ring_slot(w, 0)->seq, 0, __ATOMIC_RELEASE);
	w->open = 0;
	w->places = 0;
	w->flags |= MORIENS_SLOT_LOST;
}

void moriens_ring_drop(struct moriens_writer *w)
{
	give_up(w);
	moriens_ring_count(&w->ring->dropped);
}

void moriens_ring_abandon(struct moriens_writer *w)
{
	give_up(w);
	moriens_ring_count(&w->ring->abandoned);
}

void moriens_ring_skip(struct moriens_writer *w)
{
	w->flags |= MORIENS_SLOT_PAUSED;
	moriens_ring_count(&w->ring->paused);
}

bool moriens_ring_add_place(struct moriens_writer *w, uint64_t enter, uint16_t call, uint32_t path)
{
	struct moriens_polls *polls = w->places < MORIENS_POLL_PLACES ? moriens_ring_extend(w) : NULL;

	if (polls == NULL)
		return false;
	*polls = (struct moriens_polls){
		.first = enter,
		.enter = enter,
		.path = path,
		.steps = 1,
		.call = call,
		.kind = MORIENS_SLOT_POLLS,
	};
	w->polled = w->place[w->places++] = polls;
	__atomic_store_n(&moriens_ring_slot(w, 0)->slots, w->open, __ATOMIC_RELEASE);
	return true;
}

bool moriens_ring_find_room(struct moriens_writer *w, uint32_t slots)
{
	uint64_t tail = __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE);

	/* A tail that the reader cannot have stored is damage done by a stray pointer: without this it
	 * would let us overwrite what was not read, or stop us for good. */
	if (tail > w->head || slots > w->count || w->head - tail > w->count - slots)
		return false;
	w->limit = tail + w->count / 2;
	if (w->head + slots > w->limit) {
		w->limit = tail + w->count;
		if (w->bell != NULL)
			moriens_os_ring(w->bell);
	}
	return true;
}
