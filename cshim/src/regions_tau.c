/*
 * TAU's API. C and C++ programs say by include/moriens_tau.h, and so by moriens_annotate_1, what they mark. Fortran
 * programs call the procedures of tau/stubs.c, which they are linked to; these call the functions here, unless the
 * process has a TAU library. The functions have names of ours: a library of the program may have a procedure of its
 * own that has the name of one of TAU's.
 *
 * A timer is a variable of 8 bytes of the program, which was 0 at first. Here it has the number of the timer's name.
 */
#include "marks.h"
#include "moriens_tau.h"
#include "regions.h"

#include <string.h>

_Static_assert(sizeof(void *) == 8, "a timer is integer :: profiler(2)");

#define TIMER 0x4d4f524900000000u /* the upper half of one that has its number */
#define LONGEST 1023u             /* of a name with continuation lines */

/* Begins a function: returns where the call is not to be recorded. */
#define TAU_ONLY_OURS() \
	const void *frame = __builtin_frame_address(0); \
	if (!moriens_regions_ours(MORIENS_REGIONS_TAU, frame)) \
		return

/* As TAU reads a name of Fortran: up to what is no character of one, without blanks round it. */
static const char *trimmed(const char *name, size_t *bytes)
{
	size_t length = 0;

	while (length < *bytes && (unsigned char)name[length] >= ' ' && name[length] != 0x7f)
		length++;
	while (length > 0 && name[length - 1] == ' ')
		length--;
	while (length > 0 && name[0] == ' ') {
		name++;
		length--;
	}
	*bytes = length;
	return name;
}

/* A name that goes over several lines of the source has an ampersand and blanks where they part. */
static size_t joined(const char *name, size_t bytes, char *copy)
{
	size_t length = 0;
	bool skips = false;

	for (size_t i = 0; i < bytes; i++) {
		skips = name[i] == '&' || (skips && name[i] == ' ');
		if (!skips)
			copy[length++] = name[i];
	}
	return length;
}

static uint32_t number_of(const char *name, size_t bytes, bool numbered)
{
	char copy[LONGEST];

	name = trimmed(name, &bytes);
	if (bytes <= sizeof copy && memchr(name, '&', bytes) != NULL) {
		bytes = joined(name, bytes, copy);
		name = copy;
	}
	if (numbered)
		bytes = moriens_regions_stem(name, bytes);
	return moriens_marks_number(name, bytes);
}

static void mark_named(unsigned what, const char *name, size_t bytes, const void *frame)
{
	moriens_marks_say(what, number_of(name, bytes, false), 0, frame);
}

static void create(uint64_t *timer, const char *name, size_t bytes, bool dynamic)
{
	if (dynamic || __atomic_load_n(timer, __ATOMIC_RELAXED) >> 32 != TIMER >> 32)
		__atomic_store_n(timer, TIMER | number_of(name, bytes, dynamic), __ATOMIC_RELAXED);
}

/* One that was not created marks nothing. */
static void mark_timer(unsigned what, const uint64_t *timer, long value, const void *frame)
{
	uint64_t known = __atomic_load_n(timer, __ATOMIC_RELAXED);

	if (known >> 32 == TIMER >> 32)
		moriens_marks_say(what, (uint32_t)known, value, frame);
}

/* The length of a text is an int or a size_t, as the compiler of the program has it: its lower half is the same. */
#define TAU_CREATES(function, dynamic) \
	MORIENS_PUBLIC void function(uint64_t *timer, const char *name, word bytes); \
	MORIENS_PUBLIC void function(uint64_t *timer, const char *name, word bytes) \
	{ \
		TAU_ONLY_OURS(); \
		create(timer, name, (uint32_t)bytes, dynamic); \
	}
TAU_CREATES(moriens_tau_profile_timer_1, false)
TAU_CREATES(moriens_tau_profile_timer_dynamic_1, true)
TAU_CREATES(moriens_tau_phase_create_static_1, false)
TAU_CREATES(moriens_tau_phase_create_dynamic_1, true)
TAU_CREATES(moriens_tau_register_event_1, false)
TAU_CREATES(moriens_tau_register_context_event_1, false)

/* The number of the iteration is apart, and not part of the name. */
#define TAU_CREATES_ITERATION(function) \
	MORIENS_PUBLIC void function(const int *iteration, uint64_t *timer, const char *name, word bytes); \
	MORIENS_PUBLIC void function(const int *iteration, uint64_t *timer, const char *name, word bytes) \
	{ \
		TAU_ONLY_OURS(); \
		(void)iteration; \
		create(timer, name, (uint32_t)bytes, false); \
	}
TAU_CREATES_ITERATION(moriens_tau_phase_dynamic_iter_1)
TAU_CREATES_ITERATION(moriens_tau_profile_dynamic_iter_1)

#define TAU_MARKS(function, what) \
	MORIENS_PUBLIC void function(const uint64_t *timer); \
	MORIENS_PUBLIC void function(const uint64_t *timer) \
	{ \
		TAU_ONLY_OURS(); \
		mark_timer(what, timer, 0, frame); \
	}
TAU_MARKS(moriens_tau_profile_start_1, MORIENS_MARK_BEGIN)
TAU_MARKS(moriens_tau_profile_stop_1, MORIENS_MARK_END)
TAU_MARKS(moriens_tau_phase_start_1, MORIENS_MARK_BEGIN)
TAU_MARKS(moriens_tau_phase_stop_1, MORIENS_MARK_END)

#define TAU_MARKS_NAMED(function, what) \
	MORIENS_PUBLIC void function(const char *name, word bytes); \
	MORIENS_PUBLIC void function(const char *name, word bytes) \
	{ \
		TAU_ONLY_OURS(); \
		mark_named(what, name, (uint32_t)bytes, frame); \
	}
TAU_MARKS_NAMED(moriens_tau_start_1, MORIENS_MARK_BEGIN)
TAU_MARKS_NAMED(moriens_tau_stop_1, MORIENS_MARK_END)
TAU_MARKS_NAMED(moriens_tau_static_timer_start_1, MORIENS_MARK_BEGIN)
TAU_MARKS_NAMED(moriens_tau_static_timer_stop_1, MORIENS_MARK_END)
TAU_MARKS_NAMED(moriens_tau_static_phase_start_1, MORIENS_MARK_BEGIN)
TAU_MARKS_NAMED(moriens_tau_static_phase_stop_1, MORIENS_MARK_END)

#define TAU_MARKS_ITERATION(function, what) \
	MORIENS_PUBLIC void function(const int *iteration, const char *name, word bytes); \
	MORIENS_PUBLIC void function(const int *iteration, const char *name, word bytes) \
	{ \
		TAU_ONLY_OURS(); \
		(void)iteration; \
		mark_named(what, name, (uint32_t)bytes, frame); \
	}
TAU_MARKS_ITERATION(moriens_tau_dynamic_timer_start_1, MORIENS_MARK_BEGIN)
TAU_MARKS_ITERATION(moriens_tau_dynamic_timer_stop_1, MORIENS_MARK_END)
TAU_MARKS_ITERATION(moriens_tau_dynamic_phase_start_1, MORIENS_MARK_BEGIN)
TAU_MARKS_ITERATION(moriens_tau_dynamic_phase_stop_1, MORIENS_MARK_END)

#define TAU_TRIGGERS(function) \
	MORIENS_PUBLIC void function(const uint64_t *event, const double *value); \
	MORIENS_PUBLIC void function(const uint64_t *event, const double *value) \
	{ \
		TAU_ONLY_OURS(); \
		mark_timer(MORIENS_MARK_EVENT, event, moriens_tau_whole_(*value), frame); \
	}
TAU_TRIGGERS(moriens_tau_event_1)
TAU_TRIGGERS(moriens_tau_context_event_1)

/* What include/moriens_tau.h says. */
static void said_of_tau(const struct moriens_said *said, const void *frame)
{
	unsigned what = said->what & 0xffffu;
	uint32_t number = said->site != NULL ? __atomic_load_n(said->site, __ATOMIC_RELAXED) : 0;

	if (number == 0 && said->name != NULL) {
		size_t bytes = said->bytes;
		if ((said->what & MORIENS_TAU_NUMBERED_) != 0)
			bytes = moriens_regions_stem(said->name, bytes);
		number = moriens_marks_number(said->name, bytes);
		if (said->site != NULL)
			__atomic_store_n(said->site, number, __ATOMIC_RELAXED);
	}
	if ((said->what & MORIENS_TAU_STACK_) != 0 && what == MORIENS_MARK_BEGIN)
		moriens_regions_push(MORIENS_REGIONS_TAU, number, frame);
	else if ((said->what & MORIENS_TAU_STACK_) != 0)
		moriens_regions_pop(MORIENS_REGIONS_TAU, frame);
	else if (what >= MORIENS_MARK_BEGIN && what <= MORIENS_MARK_EVENT)
		moriens_marks_say(what, number, said->value, frame);
}

void moriens_regions_said(const struct moriens_said *said, const void *frame)
{
	if ((said->what & MORIENS_TAU_SAYS_) != 0 && moriens_regions_ours(MORIENS_REGIONS_TAU, frame))
		said_of_tau(said, frame);
}
