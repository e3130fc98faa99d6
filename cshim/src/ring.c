#include "ring.h"
#include "os.h"

#include <inttypes.h>
#include <stdio.h>

/* Slots of the largest area: to allocate it takes a thread a millisecond or two. It has to be larger where more than
 * eight are to come together. */
#define LARGEST_AREA (1u << 18)
#define LARGEST_PART 8

void moriens_ring_name(char *name, size_t bytes, uint64_t process, uint32_t thread)
{
	snprintf(name, bytes, "%016" PRIx64 ".%" PRIu32 ".ring", process, thread);
}

static uint32_t area_slots(struct moriens_ring_plan plan, uint32_t area)
{
	uint64_t slots = (uint64_t)plan.slots << area;
	uint32_t largest = plan.largest > plan.slots ? plan.largest : plan.slots;

	return slots < largest ? (uint32_t)slots : largest;
}

static size_t area_bytes(struct moriens_ring_plan plan, uint32_t area)
{
	return (size_t)area_slots(plan, area) * MORIENS_SLOT_BYTES;
}

/* Areas but the first begin on what is a page on most machines. */
static size_t area_offset(struct moriens_ring_plan plan, uint32_t area)
{
	size_t offset = MORIENS_HEADER_BYTES;

	for (uint32_t i = 0; i < area; i++)
		offset += (area_bytes(plan, i) + MORIENS_HEADER_BYTES - 1) & ~(size_t)(MORIENS_HEADER_BYTES - 1);
	return offset;
}

size_t moriens_ring_bytes(struct moriens_ring_plan plan)
{
	return area_offset(plan, plan.areas - 1) + area_bytes(plan, plan.areas - 1);
}

struct moriens_ring_plan moriens_ring_plan(uint32_t slots, uint64_t most)
{
	struct moriens_ring_plan plan = {.slots = slots, .largest = LARGEST_AREA, .areas = 1};
	struct moriens_ring_plan next = plan;

	while (plan.largest < most / MORIENS_SLOT_BYTES / LARGEST_PART)
		next.largest = plan.largest *= 2;
	while (++next.areas < MORIENS_RING_SEGMENTS && moriens_ring_bytes(next) - MORIENS_HEADER_BYTES <= most)
		plan = next;
	return plan;
}

uint32_t moriens_ring_most(const struct moriens_writer *w)
{
	return area_slots(w->plan, w->plan.areas - 1);
}

/* Slots of the area in use. */
static uint32_t count_of(const struct moriens_writer *w)
{
	return w->mask + 1;
}

/* Goes on at head in another area, which has memory. */
static void use_area(struct moriens_writer *w, uint32_t area, uint64_t tail)
{
	uint32_t old = w->area;
	struct moriens_slot *slots = w->memory[area];
	uint32_t count = area_slots(w->plan, area);

	/* The open record is copied too: a reader that finds it after the process's death looks in one place only. */
	for (uint32_t i = 0; i < w->open; i++)
		slots[(w->head + i) & (count - 1)] = *moriens_ring_slot(w, i);
	w->record = &slots[w->head & (count - 1)];
	for (uint32_t i = 0; i < w->places; i++) {
		const struct moriens_slot *at = (const struct moriens_slot *)(const void *)w->place[i];
		uint64_t behind = ((uint64_t)(at - w->slots) - w->head) & (w->mask);
		struct moriens_polls *moved = (struct moriens_polls *)(void *)&slots[(w->head + behind) & (count - 1)];

		if (w->polled == w->place[i])
			w->polled = moved;
		w->place[i] = moved;
	}
	w->ring->segment[w->segments % MORIENS_RING_SEGMENTS] = (struct moriens_ring_segment){
		.first = w->head,
		.offset = area_offset(w->plan, area),
		.slots = count,
	};
	__atomic_store_n(&w->ring->segments, ++w->segments, __ATOMIC_RELEASE);
	w->left[old] = w->head;
	w->area = area;
	w->first = w->head;
	w->slots = slots;
	w->mask = count - 1;
	/* Else the reader does it, when it gives these slots back. */
	if (old != 0 && tail == w->head)
		moriens_os_free_part(w->memory[old], area_bytes(w->plan, old));
}

/* Has memory for an area that the reader is done with. */
static bool obtain(struct moriens_writer *w, uint32_t area)
{
	char name[64];

	if (area == 0)
		return true;
	moriens_ring_name(name, sizeof name, w->ring->process, w->ring->thread);
	void *memory = w->memory[area];
	bool obtained = moriens_os_extend(w->directory, name, w->ring, area_offset(w->plan, area), area_bytes(w->plan, area), &memory) == 0;
	w->memory[area] = memory;
	return obtained;
}

static bool use_if_free(struct moriens_writer *w, uint32_t area, uint64_t tail, uint32_t slots)
{
	if (w->left[area] > tail || area_slots(w->plan, area) < slots)
		return false;
	if (!obtain(w, area)) {
		w->retry = w->head + count_of(w) / 2;
		return false;
	}
	use_area(w, area, tail);
	return true;
}

/* Finds room for an open record of so many slots in another area: a larger one, or else one that was left. */
MORIENS_COLD static bool grow(struct moriens_writer *w, uint64_t tail, uint32_t slots)
{
	if (w->head < w->retry)
		return false;
	for (uint32_t area = w->area + 1; area < w->plan.areas; area++)
		if (use_if_free(w, area, tail, slots))
			return true;
	for (uint32_t area = w->area; area-- > 0;)
		if (use_if_free(w, area, tail, slots))
			return true;
	return false;
}

void moriens_ring_format(struct moriens_writer *w, void *memory, struct moriens_ring_plan plan, const struct moriens_ring_identity *identity)
{
	struct moriens_ring *ring = memory;
	uint32_t slots = plan.slots;

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
		.mask = slots - 1,
		.directory = identity->directory,
		.plan = plan,
		.segments = 1,
	};
	w->memory[0] = w->slots;
	ring->segment[0] = (struct moriens_ring_segment){.offset = MORIENS_HEADER_BYTES, .slots = slots};
	ring->segments = 1;
	moriens_ring_set_state(w, MORIENS_RING_OPEN);
}

void moriens_ring_unmap(struct moriens_writer *w)
{
	for (uint32_t area = 1; area < w->plan.areas; area++)
		if (w->memory[area] != NULL)
			moriens_os_unmap_part(w->memory[area], area_bytes(w->plan, area));
	moriens_os_unmap(w->ring, moriens_ring_first_bytes(w->plan.slots));
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
		__atomic_store_n(&w->record->seq, 0, __ATOMIC_RELEASE);
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
	__atomic_store_n(&w->record->slots, w->open, __ATOMIC_RELEASE);
	return true;
}

void moriens_ring_mark_counted(struct moriens_writer *w, const struct moriens_mark *mark, const int64_t *counts, uint32_t n)
{
	uint32_t slots = 1 + (n + MORIENS_SLOT_EVENTS - 1) / MORIENS_SLOT_EVENTS;

	if (w->head + slots > w->limit && !moriens_ring_find_room(w, slots)) {
		moriens_ring_drop(w);
		return;
	}
	for (uint32_t i = 0; i < n; i += MORIENS_SLOT_EVENTS) {
		struct moriens_counters *slot = (struct moriens_counters *)(void *)moriens_ring_slot(w, 1 + i / MORIENS_SLOT_EVENTS);
		*slot = (struct moriens_counters){
			.count = n - i < MORIENS_SLOT_EVENTS ? n - i : MORIENS_SLOT_EVENTS,
			.kind = MORIENS_SLOT_COUNTERS,
		};
		memcpy(slot->value, &counts[i], slot->count * sizeof *counts);
	}
	struct moriens_mark *to = (struct moriens_mark *)(void *)moriens_ring_slot(w, 0);
	to->time = mark->time;
	to->value = mark->value;
	to->name = mark->name;
	to->what = mark->what;
	to->flags = (uint16_t)w->flags;
	to->slots = slots;
	w->flags = 0;
	/* As of a mark without counts. */
	__atomic_store_n(&to->seq, (uint32_t)(w->head + 1), __ATOMIC_RELEASE);
	w->head += slots;
	__atomic_store_n(&w->ring->head, w->head, __ATOMIC_RELEASE);
}

bool moriens_ring_find_room(struct moriens_writer *w, uint32_t slots)
{
	uint64_t tail = __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE);
	uint32_t count = count_of(w);

	/* A tail that the reader cannot have stored is damage done by a stray pointer: without this it
	 * would let us overwrite what was not read, or stop us for good. */
	if (tail > w->head)
		return false;
	uint64_t from = tail > w->first ? tail : w->first;
	if (slots > count || w->head - from > count - slots) {
		if (!grow(w, tail, slots))
			return false;
		from = w->first;
	} else if (w->area != 0 && w->head - w->first >= count / 2 && w->head - tail <= w->plan.slots / 4 && w->left[0] <= tail && slots <= w->plan.slots / 2) {
		use_area(w, 0, tail); /* the reader keeps up again */
		from = w->first;
	}
	count = count_of(w);
	w->limit = from + count / 2;
	if (w->head + slots > w->limit) {
		w->limit = from + count;
		if (w->bell != NULL)
			moriens_os_ring(w->bell);
	} else if (w->area != 0 && w->limit - (w->head + slots) > w->plan.slots / 2) {
		w->limit = w->head + slots + w->plan.slots / 2; /* to see soon that it keeps up */
	}
	return true;
}
