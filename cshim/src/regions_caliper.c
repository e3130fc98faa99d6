/* Caliper's regions of C. CALI_MARK_BEGIN and CALI_MARK_PHASE_BEGIN are these; its other annotations are no regions by
 * name. */
#include "marks.h"
#include "regions.h"

#include <string.h>

static void caliper(const struct moriens_foreign *foreign, const void *site, const void *frame, unsigned what, const char *name)
{
	void (*next)(const char *) = (void (*)(const char *))moriens_regions_next(foreign, site);
	bool ours = moriens_regions_ours(MORIENS_REGIONS_CALIPER, frame) && name != NULL;

	/* What Caliper does is not part of the phase. */
	if (ours && what == MORIENS_MARK_END)
		moriens_marks_say(what, moriens_marks_number(name, strlen(name)), 0, frame);
	if (next != NULL) {
		uintptr_t outer = moriens_regions_pass(frame);
		next(name);
		moriens_regions_passed(outer);
	}
	if (ours && what == MORIENS_MARK_BEGIN)
		moriens_marks_say(what, moriens_marks_number(name, strlen(name)), 0, frame);
}

#define CALIPER(function, what) \
	MORIENS_EXPORTS(void, function, (const char *name), MORIENS_REGIONS_CALIPER, true) \
	static void moriens_here_##function(const char *name) \
	{ \
		caliper(&moriens_foreign_##function, __builtin_return_address(0), __builtin_frame_address(0), what, name); \
	}
CALIPER(cali_begin_region, MORIENS_MARK_BEGIN)
CALIPER(cali_end_region, MORIENS_MARK_END)
CALIPER(cali_begin_phase, MORIENS_MARK_BEGIN)
CALIPER(cali_end_phase, MORIENS_MARK_END)
CALIPER(cali_begin_comm_region, MORIENS_MARK_BEGIN)
CALIPER(cali_end_comm_region, MORIENS_MARK_END)
