/*
 * What the ring itself costs: records that are opened and published with planted time stamps, and those that
 * find it full. Prints lines "kind ns".
 */
#include "ring.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define SLOTS 131072u

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline void record(struct moriens_writer *w, uint64_t at)
{
	if (!moriens_ring_open(w, at, 1, 1))
		return;
	moriens_ring_commit(w);
	moriens_ring_exit(w, at + 1);
}

int main(void)
{
	void *memory = calloc(1, moriens_ring_first_bytes(SLOTS));
	struct moriens_writer w;
	struct moriens_ring_identity identity = {0};

	moriens_ring_format(&w, memory, moriens_ring_plan(SLOTS, 0), &identity);
	for (int round = 0; round < 50; round++) {
		double start = now_ns();
		for (uint64_t i = 0; i < SLOTS; i++)
			record(&w, i);
		double full = now_ns();
		for (uint64_t i = 0; i < SLOTS; i++)
			record(&w, i);
		double end = now_ns();
		if (round > 0)
			printf("record\t%.3f\nrecord, ring full\t%.3f\n", (full - start) / SLOTS, (end - full) / SLOTS);
		__atomic_store_n(&w.ring->tail, w.head, __ATOMIC_RELEASE);
	}
	free(memory);
	return 0;
}
