/*
 * TAU's API. C and C++ programs say by include/moriens_tau.h, and so by moriens_annotate_1, what they mark. Fortran
 * programs call these functions, by the stubs of tau/stubs.c, which they are linked to. Where the process has a TAU
 * library, its own functions get these calls, and nothing of them is recorded here.
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

typedef void (*tau_function)(word, word, word, word);

MORIENS_PUBLIC void tau_phase_start_(const uint64_t *timer);

/* Passes a call on to TAU. False: there is none. */
static bool tau_has(const struct moriens_foreign *foreign, const void *site, const void *frame, const word argument[4])
{
	static const struct moriens_foreign any = {"tau_phase_start_", (moriens_function)tau_phase_start_};
	/* Every argument is a word in a register; a function looks at no more than it has. */
	tau_function next = (tau_function)moriens_regions_next(foreign, site);

	/* One that has not all of the functions has all of the timers: they are no numbers of ours. */
	if (next == NULL)
		return moriens_regions_next(&any, site) != NULL;
	uintptr_t outer = moriens_regions_pass(frame);
	next(argument[0], argument[1], argument[2], argument[3]);
	moriens_regions_passed(outer);
	return true;
}

/* Begins a function: returns where TAU has the call, or it is not to be recorded. */
#define TAU_ONLY_OURS(function, ...) \
	MORIENS_FOREIGN(function); \
	const void *frame = __builtin_frame_address(0); \
	if (tau_has(&foreign, __builtin_return_address(0), frame, (const word[4]){__VA_ARGS__}) || !moriens_regions_ours(MORIENS_REGIONS_TAU, frame)) \
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

/* The length of a text is an int or a size_t, as the compiler has it: its lower half is the same. */
#define TAU_CREATES(function, dynamic) \
	MORIENS_PUBLIC void function(uint64_t *timer, const char *name, uint32_t bytes); \
	MORIENS_PUBLIC void function(uint64_t *timer, const char *name, uint32_t bytes) \
	{ \
		TAU_ONLY_OURS(function, (word)timer, (word)name, bytes); \
		create(timer, name, bytes, dynamic); \
	}
TAU_CREATES(tau_profile_timer_, false)
TAU_CREATES(tau_profile_timer_dynamic_, true)
TAU_CREATES(tau_phase_create_static_, false)
TAU_CREATES(tau_phase_create_dynamic_, true)
TAU_CREATES(tau_register_event_, false)
TAU_CREATES(tau_register_context_event_, false)

/* The number of the iteration is apart, and not part of the name. */
#define TAU_CREATES_ITERATION(function) \
	MORIENS_PUBLIC void function(const int *iteration, uint64_t *timer, const char *name, uint32_t bytes); \
	MORIENS_PUBLIC void function(const int *iteration, uint64_t *timer, const char *name, uint32_t bytes) \
	{ \
		TAU_ONLY_OURS(function, (word)iteration, (word)timer, (word)name, bytes); \
		create(timer, name, bytes, false); \
	}
TAU_CREATES_ITERATION(tau_phase_dynamic_iter_)
TAU_CREATES_ITERATION(tau_profile_dynamic_iter_)

#define TAU_MARKS(function, what) \
	MORIENS_PUBLIC void function(const uint64_t *timer); \
	MORIENS_PUBLIC void function(const uint64_t *timer) \
	{ \
		TAU_ONLY_OURS(function, (word)timer); \
		mark_timer(what, timer, 0, frame); \
	}
TAU_MARKS(tau_profile_start_, MORIENS_MARK_BEGIN)
TAU_MARKS(tau_profile_stop_, MORIENS_MARK_END)
TAU_MARKS(tau_phase_start_, MORIENS_MARK_BEGIN)
TAU_MARKS(tau_phase_stop_, MORIENS_MARK_END)

#define TAU_MARKS_NAMED(function, what) \
	MORIENS_PUBLIC void function(const char *name, uint32_t bytes); \
	MORIENS_PUBLIC void function(const char *name, uint32_t bytes) \
	{ \
		TAU_ONLY_OURS(function, (word)name, bytes); \
		mark_named(what, name, bytes, frame); \
	}
TAU_MARKS_NAMED(tau_start_, MORIENS_MARK_BEGIN)
TAU_MARKS_NAMED(tau_stop_, MORIENS_MARK_END)
TAU_MARKS_NAMED(tau_static_timer_start_, MORIENS_MARK_BEGIN)
TAU_MARKS_NAMED(tau_static_timer_stop_, MORIENS_MARK_END)
TAU_MARKS_NAMED(tau_static_phase_start_, MORIENS_MARK_BEGIN)
TAU_MARKS_NAMED(tau_static_phase_stop_, MORIENS_MARK_END)

#define TAU_MARKS_ITERATION(function, what) \
	MORIENS_PUBLIC void function(const int *iteration, const char *name, uint32_t bytes); \
	MORIENS_PUBLIC void function(const int *iteration, const char *name, uint32_t bytes) \
	{ \
		TAU_ONLY_OURS(function, (word)iteration, (word)name, bytes); \
		mark_named(what, name, bytes, frame); \
	}
TAU_MARKS_ITERATION(tau_dynamic_timer_start_, MORIENS_MARK_BEGIN)
TAU_MARKS_ITERATION(tau_dynamic_timer_stop_, MORIENS_MARK_END)
TAU_MARKS_ITERATION(tau_dynamic_phase_start_, MORIENS_MARK_BEGIN)
TAU_MARKS_ITERATION(tau_dynamic_phase_stop_, MORIENS_MARK_END)

#define TAU_TRIGGERS(function) \
	MORIENS_PUBLIC void function(const uint64_t *event, const double *value); \
	MORIENS_PUBLIC void function(const uint64_t *event, const double *value) \
	{ \
		TAU_ONLY_OURS(function, (word)event, (word)value); \
		mark_timer(MORIENS_MARK_EVENT, event, moriens_tau_whole_(*value), frame); \
	}
TAU_TRIGGERS(tau_event_)
TAU_TRIGGERS(tau_context_event_)

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
