#include "clock.h"
#include "os.h"

#include <string.h>

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
