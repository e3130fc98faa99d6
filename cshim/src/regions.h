/*
 * Regions that a program marks for another tool: TAU, Kokkos Tools, NVTX, Caliper, and names that it gives to
 * MPI_Pcontrol. TAU's come by names of ours. The others' functions are exported under their own names, and do nothing
 * of ours unless MORIENS_REGIONS names their family.
 *
 * The library is before all others, so that it has calls that belong to another object, the tool itself, or a library
 * that only happens to have a function of that name. A call of a family that is not recorded is handed to the next
 * definition as it was made, by a jump, whatever its parameters are. A call of one that is recorded goes on with the
 * parameters that the tool's API says, and returns what that returns. The next definition is the one behind us in the
 * loader's order, or, for a caller that was loaded with RTLD_LOCAL, among what it was loaded with. Where one was found
 * is kept for each place that calls, so that there is no lock on the path of a mark but at the first call of a place.
 */
#ifndef MORIENS_REGIONS_H
#define MORIENS_REGIONS_H

#include "options.h"
#include "record.h"
#include "resolve.h"

/* A function of another tool that is exported here. regions_entry.c knows how this is laid out. */
struct moriens_foreign {
	const char *name;
	moriens_function self, here; /* as it is exported, and what records it */
	uint32_t family;
	bool marks; /* a region: there is something to record */
};

/*
 * Exports a function of a tool. What records it is defined beside this, as moriens_here_ and its name; it is reached
 * with the stack and the registers of the call, where the family is recorded, or there is no next definition.
 */
#define MORIENS_EXPORTS(result, function, parameters, of_family, is_mark) \
	static result moriens_here_##function parameters; \
	extern MORIENS_PUBLIC result function parameters; \
	extern MORIENS_HIDDEN const struct moriens_foreign moriens_foreign_##function; \
	const struct moriens_foreign moriens_foreign_##function = { \
		#function, (moriens_function)function, (moriens_function)moriens_here_##function, of_family, is_mark}; \
	MORIENS_ENTRY(result, function, parameters)

#if defined(__x86_64__)
#define MORIENS_ENTRY(result, function, parameters) \
	__asm__(".pushsection .text\n\t.globl " #function "\n\t.type " #function ", @function\n\t.p2align 4\n" \
		#function ":\n\t.cfi_startproc\n\tendbr64\n\tleaq moriens_foreign_" #function "(%rip), %r11\n\tjmp moriens_regions_enter\n\t" \
		".cfi_endproc\n\t.size " #function ", .-" #function "\n\t.popsection");
#elif defined(__aarch64__)
#define MORIENS_ENTRY(result, function, parameters) \
	__asm__(".pushsection .text\n\t.globl " #function "\n\t.type " #function ", %function\n\t.p2align 4\n" \
		#function ":\n\t.cfi_startproc\n\thint #34\n\tadrp x16, moriens_foreign_" #function "\n\t" \
		"add x16, x16, :lo12:moriens_foreign_" #function "\n\tb moriens_regions_enter\n\t" \
		".cfi_endproc\n\t.size " #function ", .-" #function "\n\t.popsection");
#else /* all calls go on with the parameters of the API */
#define MORIENS_ENTRY(result, function, parameters) \
	extern MORIENS_PUBLIC __attribute__((alias("moriens_here_" #function))) result function parameters;
#endif

/* Where the call that is described by foreign has to go. */
MORIENS_HIDDEN moriens_function moriens_regions_target(const struct moriens_foreign *foreign, const void *site);

/* The families that are wanted, and one more bit once the environment was asked; atomic. */
extern MORIENS_HIDDEN uint32_t moriens_regions_wanted;

/* The definition that a call from that place would have reached without us, or NULL. */
moriens_function moriens_regions_next(const struct moriens_foreign *foreign, const void *site);

/* Whether that family's regions are recorded. That one is not, though the program has them, is said at the end. */
bool moriens_regions_on(enum moriens_region_family family);

/* Whether something was looked up, which is to be looked up again after libraries were unloaded. */
bool moriens_regions_known(void);

/*
 * A tool may call its own functions by their names, and so ours: what is called while another call is passed on is part
 * of that. Every call that goes on from what records its family lies between these two.
 */
uintptr_t moriens_regions_pass(const void *frame);
void moriens_regions_passed(uintptr_t outer);

/* Whether the call is to be recorded: its family is, and it is not made by a tool to which a call was passed on. */
bool moriens_regions_ours(enum moriens_region_family family, const void *frame);

#define MORIENS_NO_LEVEL (-2) /* what NVTX returns where nothing keeps its ranges */

/* Regions that end without their name. Each belongs to a stack of the thread, known by a number; the outermost has
 * level 0. */
int moriens_regions_push(uintptr_t stack, uint32_t number, const void *frame);
int moriens_regions_pop(uintptr_t stack, const void *frame);

/* The thread ends. */
void moriens_regions_forget(void);

/* What a name is without the number that it ends with: its length, and at least one byte of it. */
size_t moriens_regions_stem(const char *name, size_t bytes);

/* The arguments of moriens_annotate_1, of include/moriens_tau.h. */
struct moriens_said {
	unsigned what;
	unsigned *site;
	const char *name;
	size_t bytes;
	long value;
};

void moriens_regions_said(const struct moriens_said *said, const void *frame);

/* MPI_Pcontrol has returned: begins a phase (level 1) or ends it (-1), if MORIENS_PCONTROL says so and there is a name
 * at that address. */
void moriens_pcontrol(int level, uintptr_t name, const void *frame);

/* How many of those had none. */
uint64_t moriens_pcontrol_refused(void);

/* MPI is over: notes for the user. */
void moriens_regions_report(void);

#endif
