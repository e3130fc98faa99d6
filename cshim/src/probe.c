/*
 * What `moriens doctor` asks. A program that is started with MORIENS_PROBE in its environment, and this library
 * preloaded, does not run: the library says on standard output what it finds here, in lines of fields separated by
 * tabs, and ends the process.
 *
 *	MORIENS_PROBE=process    the layout, the clock, libunwind, PAPI, and which of MORIENS_EVENTS can be counted
 *	MORIENS_PROBE=order      who else wraps MPI functions, before this library and behind it
 *	MORIENS_PROBE=/…/libmpi  the MPI library that is this file
 *
 * It is asked where a measured program would ask: in a process with a dynamic loader, by the code that measures.
 */
#include "clock.h"
#include "counters.h"
#include "options.h"
#include "os.h"
#include "papi.h"
#include "stack.h"
#include "unwind.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PRESET_MASK ((int)0x80000000u)
#define ENUM_EVENTS 0
#define NAME_BYTES 1024   /* PAPI_HUGE_STR_LEN */
#define VERSION_BYTES 8192 /* MPI_MAX_LIBRARY_VERSION_STRING */
#define ROUNDS 1000

/* What an installation with a PMU counts where the user names nothing, and all that needs no PAPI. */
#define USUAL_EVENTS "PAPI_TOT_INS,PAPI_TOT_CYC,sw:page-faults,sw:context-switches,sw:cpu-time"

static void say_clock(void)
{
	static const char *const names[] = {
		[MORIENS_CLOCK_TSC] = "tsc",
		[MORIENS_CLOCK_CNTVCT] = "cntvct_el0",
		[MORIENS_CLOCK_MONOTONIC_RAW] = "CLOCK_MONOTONIC_RAW",
	};

	moriens_clock_choose();
	uint64_t start = moriens_os_monotonic_us();
	for (int i = 0; i < 1000 * ROUNDS; i++)
		(void)moriens_ticks();
	printf("clock\t%s\t%.1f\n", names[moriens_clock], (double)(moriens_os_monotonic_us() - start) / ROUNDS);
}

static void say_presets(void)
{
	int code = PRESET_MASK;
	char name[NAME_BYTES];

	do {
		if (moriens_papi.query_event(code) == MORIENS_PAPI_OK && moriens_papi.event_code_to_name(code, name) == MORIENS_PAPI_OK)
			printf("preset\t%s\n", name);
	} while (moriens_papi.enum_event(&code, ENUM_EVENTS) == MORIENS_PAPI_OK);
}

static void say_papi(const char *library)
{
	const char *missing = moriens_papi_load(library);

	if (missing != NULL) {
		printf("no-papi\t%s\n", missing);
		return;
	}
	unsigned version = (unsigned)moriens_papi_version();
	printf("papi\t%s\t%u.%u.%u\n", moriens_papi_file(), version >> 24, version >> 16 & 0xff, version >> 8 & 0xff);
	for (int i = 0; i < moriens_papi.num_components(); i++) {
		const struct moriens_papi_component *c = moriens_papi.get_component_info(i);
		if (c != NULL)
			printf("component\t%.*s\t%.*s\n", (int)sizeof c->name, c->name, (int)sizeof c->disabled_reason, c->disabled_reason);
	}
	say_presets();
}

/* One line for each name in a list. */
static void say_each(const char *what, const char *list, const char *separator)
{
	while (*(list += strspn(list, separator)) != '\0') {
		size_t length = strcspn(list, separator);
		printf("%s\t%.*s\n", what, (int)length, list);
		list += length;
	}
}

static void say_events(const struct moriens_options *options)
{
	char names[4096], unavailable[8192];
	struct moriens_thread_counters counters;

	uint32_t unnamed = moriens_counters_choose(options->events != NULL ? options->events : USUAL_EVENTS, options->papi, names, sizeof names,
		unavailable, sizeof unavailable);
	say_each("event", names, ",");
	say_each("no-event", unavailable, "\n");
	if (unnamed != 0)
		printf("no-event\t%" PRIu32 " more: no space for their names\n", unnamed);
	moriens_counters_begin(&counters);
	if (counters.on) {
		uint64_t start = moriens_os_monotonic_us();
		for (int i = 0; i < ROUNDS; i++)
			moriens_counters_exit(&counters);
		printf("reading\t%.0f\n", 1e3 * (double)(moriens_os_monotonic_us() - start) / ROUNDS);
	}
	moriens_counters_end(&counters);
}

static void say_process(void)
{
	struct moriens_options options;

	(void)moriens_options_read(&options, "");
	printf("layout\t%u\n", MORIENS_ABI_VERSION);
	fflush(stdout); /* so that it is printed even if the rest ends the process */
	say_clock();
	if (moriens_unwind_load())
		puts("libunwind");
	fflush(stdout);
	say_papi(options.papi);
	fflush(stdout);
	say_events(&options);
}

static void say_others(const char *where, const struct moriens_others *others)
{
	for (uint32_t i = 0; i < others->count; i++)
		printf("%s\t%s\t%" PRIu32 "\n", where, others->other[i].path, others->other[i].functions);
}

static void say_order(void)
{
	struct moriens_others others;

	puts("order");
	moriens_stack_before(&others);
	say_others("before", &others);
	moriens_stack_behind(NULL, &others);
	say_others("behind", &others);
	if (!moriens_options_stack())
		puts("no-stack");
}

static void say_mpi(const char *path)
{
	void *library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	char text[VERSION_BYTES] = "";
	int length = 0, major = 0, minor = 0;

	if (library == NULL) {
		printf("no-mpi\t%s\n", dlerror());
		return;
	}
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		int (*library_version)(char *, int *);
		int (*version)(int *, int *);
	} library_version = {dlsym(library, "PMPI_Get_library_version")}, version = {dlsym(library, "PMPI_Get_version")},
		abi_version = {dlsym(library, "PMPI_Abi_get_version")};
	if (library_version.object == NULL || version.object == NULL) {
		puts("no-mpi\tit has no PMPI_Get_library_version");
		return;
	}
	library_version.library_version(text, &length);
	text[strcspn(text, "\n")] = '\0';
	if (abi_version.object != NULL && (abi_version.version(&major, &minor) != 0 || major < 1))
		abi_version.object = NULL;
	version.version(&major, &minor);
	printf("mpi\t%s\t%d.%d\t%s\n", abi_version.object != NULL ? "abi" : dlsym(library, "ompi_mpi_comm_world") != NULL ? "openmpi" : "mpich",
		major, minor, text);
}

__attribute__((constructor)) static void answer(void)
{
	const char *probe = moriens_options_probe();

	if (probe == NULL)
		return;
	if (strcmp(probe, "process") == 0)
		say_process();
	else if (strcmp(probe, "order") == 0)
		say_order();
	else
		say_mpi(probe);
	fflush(stdout);
	_exit(0);
}
