#include "clock.h"
#include "os.h"

#include <string.h>
#include <time.h>

enum moriens_clock moriens_clock = MORIENS_CLOCK_MONOTONIC_RAW;

void moriens_clock_choose(void)
{
#if defined(__x86_64__)
	char source[32];

	moriens_os_clock_source(source, sizeof source);
	moriens_clock = strcmp(source, "tsc") == 0 ? MORIENS_CLOCK_TSC : MORIENS_CLOCK_MONOTONIC_RAW;
#elif defined(__aarch64__)
	moriens_clock = MORIENS_CLOCK_CNTVCT;
#endif
}

MORIENS_COLD uint64_t moriens_ticks_of_kernel(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC_RAW, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

struct moment {
	uint64_t ticks;
	uint64_t ns;
};

/* Reads ticks and nanoseconds as nearly at once as a few attempts get them. */
static struct moment moment(void)
{
	struct moment best = {0, 0};
	uint64_t least = UINT64_MAX;

	for (int i = 0; i < 5; i++) {
		uint64_t before = moriens_ticks();
		uint64_t ns = moriens_ticks_of_kernel();
		uint64_t width = moriens_ticks() - before;
		if (width < least) {
			least = width;
			best.ticks = before + width / 2;
			best.ns = ns;
		}
	}
	return best;
}

uint64_t moriens_clock_ticks(uint64_t microseconds)
{
	static double ticks_per_us;

	if (ticks_per_us == 0) {
		struct moment first = moment(), last;
		do
			last = moment();
		while (last.ns - first.ns < 100000);
		ticks_per_us = 1e3 * (double)(last.ticks - first.ticks) / (double)(last.ns - first.ns);
	}
	return (uint64_t)((double)microseconds * ticks_per_us);
}
