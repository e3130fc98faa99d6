#include "drain.h"
#include "os.h"
#include "run.h"

#include <inttypes.h>
#include <stdio.h>

#define FIRST_PAUSE_US 100u
#define LONGEST_PAUSE_US 2000u

/* Atomic: while one thread waits at the end of the last session, another can open one and end it. */
static uint64_t limit_us;

void moriens_drain_limit(uint64_t ms)
{
	__atomic_store_n(&limit_us, ms * 1000, __ATOMIC_RELAXED);
}

/* Whether an agent reads the ring and has not come to its head. The ring may be that of a thread that has ended
 * and unmapped it, so the file is asked; one that is gone has been read. */
static bool undrained(uint32_t thread)
{
	char name[64];
	struct moriens_ring ring;

	moriens_ring_name(name, sizeof name, moriens_run.process.header->process, thread);
	return moriens_os_read_start(moriens_run_directory(), name, &ring, sizeof ring) && ring.agent != 0 && ring.tail != ring.head;
}

static void leave_note(uint64_t waited_us)
{
	char text[160];

	snprintf(text, sizeof text, "a rank waited %" PRIu64 " ms at the end of MPI, but the agent had not read all its records (MORIENS_DRAIN)", waited_us / 1000);
	pthread_mutex_lock(&moriens_run.paths.lock);
	moriens_process_note(&moriens_run.process, text);
	pthread_mutex_unlock(&moriens_run.paths.lock);
}

void moriens_drain(void)
{
	uint32_t threads = __atomic_load_n(&moriens_run.process.header->threads, __ATOMIC_RELAXED);
	uint64_t limit = __atomic_load_n(&limit_us, __ATOMIC_RELAXED);
	uint64_t start = moriens_os_monotonic_us();
	uint64_t pause = FIRST_PAUSE_US;

	if (limit != 0)
		moriens_run_wake();
	for (uint32_t thread = 0; limit != 0 && thread < threads; thread++) {
		while (undrained(thread)) {
			uint64_t waited = moriens_os_monotonic_us() - start;
			if (waited >= limit) {
				if (__atomic_exchange_n(&limit_us, 0, __ATOMIC_RELAXED) != 0)
					leave_note(limit);
				return;
			}
			moriens_os_sleep_us(pause < limit - waited ? pause : limit - waited);
			pause = 2 * pause < LONGEST_PAUSE_US ? 2 * pause : LONGEST_PAUSE_US;
		}
	}
}
