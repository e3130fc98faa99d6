/*
 * Kokkos Tools: KOKKOS_TOOLS_LIBS names this library, Kokkos opens it and looks these functions up. Regions are phases,
 * and so are profiling sections, whose identifier is the number of their name. Kernels are not: Kokkos does not call
 * what is not here.
 */
#include "marks.h"
#include "regions.h"

#include <string.h>

#define KOKKOS(function, type) (type) moriens_regions_next(&moriens_foreign_##function, __builtin_return_address(0))

/* Goes on to another tool, if there is one. */
#define KOKKOS_PASS(next, arguments) \
	do { \
		if ((next) != NULL) { \
			uintptr_t outer = moriens_regions_pass(frame); \
			(next) arguments; \
			moriens_regions_passed(outer); \
		} \
	} while (0)

static uint32_t number_of(const char *name)
{
	return name != NULL ? moriens_marks_number(name, strlen(name)) : 0;
}

struct kokkos_settings {
	bool requires_global_fencing;
	bool padding[255];
};

MORIENS_EXPORTS(void, kokkosp_init_library, (int sequence, uint64_t version, uint32_t devices, void *device), MORIENS_REGIONS_KOKKOS, false)
static void moriens_here_kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void *device)
{
	const void *frame = __builtin_frame_address(0);
	void (*next)(int, uint64_t, uint32_t, void *) = KOKKOS(kokkosp_init_library, void (*)(int, uint64_t, uint32_t, void *));

	KOKKOS_PASS(next, (sequence, version, devices, device));
}

MORIENS_EXPORTS(void, kokkosp_finalize_library, (void), MORIENS_REGIONS_KOKKOS, false)
static void moriens_here_kokkosp_finalize_library(void)
{
	const void *frame = __builtin_frame_address(0);
	void (*next)(void) = KOKKOS(kokkosp_finalize_library, void (*)(void));

	KOKKOS_PASS(next, ());
}

/* By default Kokkos would wait for its devices at each region. */
MORIENS_EXPORTS(void, kokkosp_request_tool_settings, (uint32_t count, struct kokkos_settings *settings), MORIENS_REGIONS_KOKKOS, false)
static void moriens_here_kokkosp_request_tool_settings(uint32_t count, struct kokkos_settings *settings)
{
	const void *frame = __builtin_frame_address(0);
	void (*next)(uint32_t, struct kokkos_settings *) = KOKKOS(kokkosp_request_tool_settings, void (*)(uint32_t, struct kokkos_settings *));

	if (next == NULL && count > 0 && settings != NULL)
		settings->requires_global_fencing = false;
	KOKKOS_PASS(next, (count, settings));
}

MORIENS_EXPORTS(void, kokkosp_push_profile_region, (const char *name), MORIENS_REGIONS_KOKKOS, true)
static void moriens_here_kokkosp_push_profile_region(const char *name)
{
	const void *frame = __builtin_frame_address(0);
	void (*next)(const char *) = KOKKOS(kokkosp_push_profile_region, void (*)(const char *));
	bool ours = moriens_regions_ours(MORIENS_REGIONS_KOKKOS, frame);

	KOKKOS_PASS(next, (name));
	if (ours)
		moriens_regions_push(MORIENS_REGIONS_KOKKOS, number_of(name), frame);
}

MORIENS_EXPORTS(void, kokkosp_pop_profile_region, (void), MORIENS_REGIONS_KOKKOS, true)
static void moriens_here_kokkosp_pop_profile_region(void)
{
	const void *frame = __builtin_frame_address(0);
	void (*next)(void) = KOKKOS(kokkosp_pop_profile_region, void (*)(void));

	if (moriens_regions_ours(MORIENS_REGIONS_KOKKOS, frame))
		moriens_regions_pop(MORIENS_REGIONS_KOKKOS, frame);
	KOKKOS_PASS(next, ());
}

/* Where another tool gives sections their identifiers, they are its own. */
MORIENS_EXPORTS(void, kokkosp_create_profile_section, (const char *name, uint32_t *section), MORIENS_REGIONS_KOKKOS, false)
static void moriens_here_kokkosp_create_profile_section(const char *name, uint32_t *section)
{
	const void *frame = __builtin_frame_address(0);
	void (*next)(const char *, uint32_t *) = KOKKOS(kokkosp_create_profile_section, void (*)(const char *, uint32_t *));

	if (next == NULL && section != NULL && moriens_regions_ours(MORIENS_REGIONS_KOKKOS, frame))
		*section = number_of(name);
	KOKKOS_PASS(next, (name, section));
}

MORIENS_EXPORTS(void, kokkosp_destroy_profile_section, (uint32_t section), MORIENS_REGIONS_KOKKOS, false)
static void moriens_here_kokkosp_destroy_profile_section(uint32_t section)
{
	const void *frame = __builtin_frame_address(0);
	void (*next)(uint32_t) = KOKKOS(kokkosp_destroy_profile_section, void (*)(uint32_t));

	KOKKOS_PASS(next, (section));
}

#define KOKKOS_SECTION(function, what) \
	MORIENS_EXPORTS(void, function, (uint32_t section), MORIENS_REGIONS_KOKKOS, false) \
	static void moriens_here_##function(uint32_t section) \
	{ \
		const void *frame = __builtin_frame_address(0); \
		void (*next)(uint32_t) = KOKKOS(function, void (*)(uint32_t)); \
		if (next == NULL && moriens_regions_ours(MORIENS_REGIONS_KOKKOS, frame)) \
			moriens_marks_say(what, section, 0, frame); \
		KOKKOS_PASS(next, (section)); \
	}
KOKKOS_SECTION(kokkosp_start_profile_section, MORIENS_MARK_BEGIN)
KOKKOS_SECTION(kokkosp_stop_profile_section, MORIENS_MARK_END)
