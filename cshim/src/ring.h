/*
 * The writer's end of a ring: shim_abi.h has the layout and the state machine.
 *
 * This file uses no clock and no thread: its caller passes the time stamps and is the only
 * writer of its ring.
 */
#ifndef MORIENS_RING_H
#define MORIENS_RING_H

#include "base.h"
#include "shim_abi.h"

#include <string.h>

/* More places than the polling loops of a program take turns at. */
#define MORIENS_POLL_PLACES 8

/* The areas for which a ring's file has room, each with twice as many slots as the one before it up to the largest. */
struct moriens_ring_plan {
	uint32_t slots; /* of the first */
	uint32_t largest;
	uint32_t areas;
};

struct moriens_writer {
	struct moriens_ring *ring;
	struct moriens_slot *slots; /* of the area in use */
	struct moriens_slot *record; /* the one at head, where a record is open */
	uint64_t head;  /* the ring's head; only we write it */
	uint64_t limit; /* head may come this far before we must look at the reader's tail again */
	uint32_t open;  /* slots of the record that is open, 0 = none is */
	uint32_t flags; /* moriens_slot_flag of the next record: what happened since the last that was published */
	uint32_t mask;  /* slots of the area in use, less one */
	uint32_t places;              /* in the run of polls that is open, and their slots: */
	struct moriens_polls *place[MORIENS_POLL_PLACES];
	struct moriens_polls *polled; /* that of the poll under way */

	const char *bell;

	/* What is needed to grow. */
	const char *directory;
	uint64_t first; /* number of the segment's first slot */
	uint64_t retry; /* where an area could not be had: not before head is here it is tried again */
	struct moriens_ring_plan plan;
	uint32_t area;  /* in use */
	uint32_t segments; /* that there were */
	uint64_t left[MORIENS_RING_SEGMENTS]; /* by area: up to which slot it was used */
	struct moriens_slot *memory[MORIENS_RING_SEGMENTS]; /* by area; NULL: not mapped */
};

struct moriens_ring_identity {
	uint64_t ring;
	uint64_t process;
	uint32_t thread;
	uint32_t tid;
	const char *bell; /* file that is touched to wake the reader once the ring is half full; NULL: none */
	const char *directory; /* of the ring's file; NULL where it has one area only */
};

/* The name of a ring's file. */
void moriens_ring_name(char *name, size_t bytes, uint64_t process, uint32_t thread);

/* A ring whose first area has so many slots, and that may grow to so many bytes. */
struct moriens_ring_plan moriens_ring_plan(uint32_t slots, uint64_t most);

/* Bytes of a ring's file. */
size_t moriens_ring_bytes(struct moriens_ring_plan plan);

/* The same with the first area only. */
static inline size_t moriens_ring_first_bytes(uint32_t slots)
{
	return MORIENS_HEADER_BYTES + (size_t)slots * MORIENS_SLOT_BYTES;
}

/* Formats zeroed memory of the header and the first area as an empty ring, and attaches the writer to it. */
void moriens_ring_format(struct moriens_writer *w, void *memory, struct moriens_ring_plan plan, const struct moriens_ring_identity *identity);

/* Unmaps the ring and keeps its file. */
void moriens_ring_unmap(struct moriens_writer *w);

/* The most slots that a record can have. */
uint32_t moriens_ring_most(const struct moriens_writer *w);

void moriens_ring_set_state(struct moriens_writer *w, enum moriens_ring_state state);

/* Adds one to a counter that only this thread writes. */
void moriens_ring_count(uint64_t *counter);

/* Counts a call that is not recorded because the program has paused recording. */
void moriens_ring_skip(struct moriens_writer *w);

/* Looks at the reader's tail: whether there is room for a record of that many slots at head. Wakes a reader that has
 * let the ring become half full. A full ring grows: slots of the open record, if any, then are elsewhere. */
bool moriens_ring_find_room(struct moriens_writer *w, uint32_t slots);

/* Counts a record for which there is no room: the one that is open, or one that could not be opened. */
void moriens_ring_drop(struct moriens_writer *w);

/* Counts a call that will never return: the one whose record is open, or a poll after a run. */
void moriens_ring_abandon(struct moriens_writer *w);

/* The slot that is n slots behind head. */
MORIENS_HOT struct moriens_slot *moriens_ring_slot(struct moriens_writer *w, uint32_t n)
{
	return &w->slots[(w->head + n) & w->mask];
}

/* Stores two neighbours at once. */
MORIENS_HOT void moriens_two(void *at, uint32_t low, uint32_t high)
{
	uint64_t both = low | (uint64_t)high << 32;

	memcpy(at, &both, sizeof both);
}

/* Opens a record, which nobody sees before moriens_ring_commit. False: there was no room, and it is dropped. */
MORIENS_HOT bool moriens_ring_open(struct moriens_writer *w, uint64_t enter, uint16_t call, uint32_t path)
{
	if (unlikely(w->head >= w->limit) && !moriens_ring_find_room(w, 1)) {
		moriens_ring_drop(w);
		return false;
	}
	struct moriens_slot *slot = moriens_ring_slot(w, 0);
	slot->enter = enter;
	slot->call = call;
	slot->path = path;
	slot->flags = (uint16_t)w->flags;
	w->record = slot;
	w->open = 1;
	return true;
}

/* One more slot for the record that is open, to be filled and given its kind before the record is
 * committed or published, and before another is asked for: that may move the record. NULL: there is no room for it. */
MORIENS_HOT void *moriens_ring_extend(struct moriens_writer *w)
{
	if (unlikely(w->head + w->open >= w->limit) && !moriens_ring_find_room(w, w->open + 1))
		return NULL;
	return moriens_ring_slot(w, w->open++);
}

/* From here on the open record shows where a process died that did not come back from the call. */
MORIENS_HOT void moriens_ring_commit(struct moriens_writer *w)
{
	struct moriens_slot *slot = w->record;

	slot->slots = w->open;
	__atomic_store_n(&slot->seq, (uint32_t)(w->head + 1), __ATOMIC_RELEASE);
}

/* Publishes the record that is open. */
MORIENS_HOT void moriens_ring_publish(struct moriens_writer *w)
{
	uint64_t head = w->head + w->open;

	w->record->slots = w->open;
	w->open = 0;
	w->flags = 0;
	w->head = head;
	__atomic_store_n(&w->ring->head, head, __ATOMIC_RELEASE);
}

/* The same, at the exit of its call. */
MORIENS_HOT void moriens_ring_exit(struct moriens_writer *w, uint64_t exit)
{
	w->record->exit = exit;
	moriens_ring_publish(w);
}

/* The same of a run of polls. */
static inline void moriens_ring_end_polls(struct moriens_writer *w)
{
	w->places = 0;
	moriens_ring_publish(w);
}

/* Writes a mark, while no record is open. */
static inline void moriens_ring_mark(struct moriens_writer *w, uint64_t time, uint16_t what, uint32_t name, int64_t value)
{
	if (unlikely(w->head >= w->limit) && !moriens_ring_find_room(w, 1)) {
		moriens_ring_drop(w);
		return;
	}
	struct moriens_mark *mark = (struct moriens_mark *)(void *)moriens_ring_slot(w, 0);
	mark->time = time;
	mark->value = value;
	mark->name = name;
	mark->what = what;
	mark->flags = (uint16_t)w->flags;
	mark->slots = 1;
	w->flags = 0;
	/* From here on it is whole, even if the process dies before it is published. */
	__atomic_store_n(&mark->seq, (uint32_t)(w->head + 1), __ATOMIC_RELEASE);
	__atomic_store_n(&w->ring->head, ++w->head, __ATOMIC_RELEASE);
}

/* Writes a mark with what was counted until then, of up to MORIENS_MAX_EVENTS events. What says where it lies is filled
 * in. */
void moriens_ring_mark_counted(struct moriens_writer *w, const struct moriens_mark *mark, const int64_t *counts, uint32_t n);

/* The call of the open record was a poll that found nothing. The record is kept open for a run of polls; if the process
 * dies now, the record counts as finished. */
static inline void moriens_ring_return(struct moriens_writer *w, uint64_t exit)
{
	struct moriens_slot *slot = w->record;

	slot->exit = exit;
	__atomic_store_n(&slot->flags, slot->flags | MORIENS_SLOT_RETURNED, __ATOMIC_RELEASE);
}

/* A run's poll from a place that has no slot yet. False: no room for one. */
bool moriens_ring_add_place(struct moriens_writer *w, uint64_t enter, uint16_t call, uint32_t path);

/* One more poll of the run is entered. False: it cannot be part of it, there being no room to count it. */
MORIENS_HOT bool moriens_ring_poll(struct moriens_writer *w, uint64_t enter, uint16_t call, uint32_t path)
{
	for (uint32_t i = 0; i < w->places; i++) {
		struct moriens_polls *polls = w->place[i];
		if (likely(polls->path == path && polls->call == call)) {
			w->polled = polls;
			polls->enter = enter;
			__atomic_store_n(&polls->steps, polls->steps + 1, __ATOMIC_RELEASE);
			return true;
		}
	}
	return moriens_ring_add_place(w, enter, call, path);
}

/* It has returned, and found nothing. */
MORIENS_HOT void moriens_ring_polled(struct moriens_writer *w, uint64_t exit)
{
	/* In this order: a process that dies in between died inside the last poll. */
	w->record->exit = exit;
	__atomic_store_n(&w->polled->steps, w->polled->steps + 1, __ATOMIC_RELEASE);
}

#endif
