/*
 * Ticks: the cheapest counter here that never goes back and runs at one rate on every CPU.
 *
 * The time-stamp counter costs 9 ns where clock_gettime costs 21 to 44. It is used where the kernel
 * itself keeps time by it, which it stops doing when it finds it unsteady.
 */
#ifndef MORIENS_CLOCK_H
#define MORIENS_CLOCK_H

#include "base.h"
#include "shim_abi.h"

extern MORIENS_HIDDEN enum moriens_clock moriens_clock;

/* Must have run before the first tick is taken. */
void moriens_clock_choose(void);

/* So many microseconds, in ticks, to about a thousandth. The first time it takes 0.1 ms to measure.
 * For the process's set-up only. */
uint64_t moriens_clock_ticks(uint64_t microseconds);

/* Where there is no counter that can be read by an instruction. */
uint64_t moriens_ticks_of_kernel(void);

MORIENS_HOT uint64_t moriens_ticks(void)
{
#if defined(__x86_64__)
	if (likely(moriens_clock == MORIENS_CLOCK_TSC))
		return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
	if (likely(moriens_clock == MORIENS_CLOCK_CNTVCT)) {
		uint64_t ticks;
		__asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
		return ticks;
	}
#endif
	return moriens_ticks_of_kernel();
}

#endif
