/*
 * The writer's end of a ring: shim_abi.h has the layout and the state machine.
 *
 * This file knows no clock and no thread: whoever calls it brings the time stamps and is the only
 * writer of its ring.
 */
#ifndef MORIENS_RING_H
#define MORIENS_RING_H

#include "base.h"
#include "shim_abi.h"

struct moriens_writer {
	struct moriens_ring *ring;
	struct moriens_slot *slots;
	uint64_t head;  /* the ring's head; only we write it */
	uint64_t limit; /* head may come this far before we must look at the reader's tail again */
	uint32_t count; /* slots in the ring */
	bool lost;      /* records were dropped since the last one that was published */
};

struct moriens_ring_identity {
	uint64_t ring;
	uint64_t process;
	uint32_t thread;
	uint32_t tid;
};

/* Bytes of a ring's file with that many slots. */
size_t moriens_ring_bytes(uint32_t slots);

/* Formats zeroed memory of moriens_ring_bytes(slots) as an empty ring, and attaches the writer to it. */
void moriens_ring_format(struct moriens_writer *w, void *memory, uint32_t slots, const struct moriens_ring_identity *identity);

void moriens_ring_set_state(struct moriens_writer *w, enum moriens_ring_state state);

/* Looks at the reader's tail; false: no room, and the record is counted as dropped. */
bool moriens_ring_find_room(struct moriens_writer *w);

/* Counts the record that is open as one that will never be published. */
void moriens_ring_abandon(struct moriens_writer *w);

/* Opens a record. False: there was no room, do not exit it. */
static inline bool moriens_ring_enter(struct moriens_writer *w, uint64_t enter, uint16_t call, uint32_t path)
{
	if (unlikely(w->head == w->limit) && !moriens_ring_find_room(w))
		return false;
	struct moriens_slot *slot = &w->slots[w->head & (w->count - 1)];
	slot->enter = enter;
	slot->call = call;
	slot->path = path;
	slot->flags = w->lost ? MORIENS_SLOT_LOST : 0;
	__atomic_store_n(&slot->seq, (uint32_t)(w->head + 1), __ATOMIC_RELEASE);
	return true;
}

/* Publishes the record that is open. */
static inline void moriens_ring_exit(struct moriens_writer *w, uint64_t exit)
{
	struct moriens_slot *slot = &w->slots[w->head & (w->count - 1)];
	slot->exit = exit;
	slot->slots = 1;
	w->lost = false;
	__atomic_store_n(&w->ring->head, ++w->head, __ATOMIC_RELEASE);
}

#endif
