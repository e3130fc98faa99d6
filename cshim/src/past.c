#include "past.h"
#include "job.h"
#include "options.h"
#include "os.h"
#include "run.h"
#include "stack.h"

#include <dlfcn.h>
#include <inttypes.h>
#include <limits.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

/* The candidate of a number, from 0. */
struct search {
	uint32_t number;
	uintptr_t base;
	char path[PATH_MAX];
};

/* libmpi.so.40, libmpich.so.12, libmpi_cray.so.12, … */
static int look(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *s = argument;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (strstr(slash != NULL ? slash + 1 : info->dlpi_name, "mpi") == NULL || s->number-- != 0)
		return 0;
	s->base = info->dlpi_addr;
	snprintf(s->path, sizeof s->path, "%s", info->dlpi_name);
	return 1;
}

/* The function of that name that lies in the library itself, and not in one that it depends on. */
static void *own(void *library, const char *name, uintptr_t base)
{
	struct link_map *map = NULL;
	Dl_info info;
	void *function = dlsym(library, name);

	if (function == NULL || dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL || map->l_addr != base)
		return NULL;
	return function;
}

static bool is_set_up(void *initialized)
{
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		int (*function)(int *);
	} ask = {initialized};
	int flag = 0;

	return ask.function(&flag) == 0 && flag != 0; /* it may be called before MPI begins, and after its end */
}

void *moriens_past_library(bool set_up, char *path, size_t bytes)
{
	struct search s;

	for (uint32_t number = 0;; number++) {
		s.number = number;
		if (dl_iterate_phdr(look, &s) == 0)
			return NULL;
		/* Not within dl_iterate_phdr: that holds a lock of the loader's. */
		void *library = dlopen(s.path, RTLD_LAZY | RTLD_NOLOAD);
		if (library == NULL)
			continue;
		void *initialized = own(library, "PMPI_Initialized", s.base);
		if (initialized != NULL && own(library, "PMPI_Init", s.base) != NULL && own(library, "MPI_Init", s.base) != NULL &&
		    (!set_up || is_set_up(initialized))) {
			if (path != NULL)
				snprintf(path, bytes, "%s", s.path);
			return library;
		}
		dlclose(library);
	}
}

/* Informs the agent. */
static void leave_word(int rank, int size, const char *why)
{
	const char *run = moriens_options_run();
	struct moriens_options options;
	char text[PATH_MAX];
	int directory;

	if (run == NULL || !moriens_options_read(&options, run))
		return;
	snprintf(text, sizeof text, "%s/moriens-%" PRIu32 "-%s", options.shm, moriens_os_uid(), options.run);
	if (moriens_os_open_directory(text, &directory) != 0)
		return;
	snprintf(text, sizeof text, "past-%d-%d-%" PRIu32, rank, size, moriens_os_pid());
	moriens_os_leave(directory, text, why);
	moriens_os_close(directory);
}

static uint32_t loaded_by; /* pid: children that are forked have another, and what MPI they seem to have is their parent's */
static bool linked; /* MPI was there when the program started, so it need not have been found by dlopen */

__attribute__((constructor)) static void loaded(void)
{
	loaded_by = moriens_os_pid();
	linked = dlsym(RTLD_DEFAULT, "PMPI_Get_library_version") != NULL; /* which no tool has */
	(void)dlerror(); /* the program does not get to see ours */
}

/* Why no call of the library has come to us; empty: it was found by dlopen, as far as we know. */
static void explain(const char *library, char *reason, size_t bytes)
{
	char caller[1024];
	const char *function = moriens_stack_caller(caller, sizeof caller);

	reason[0] = '\0';
	if (function != NULL)
		snprintf(reason, bytes, "MPI was initialized without libmoriens.so; its calls were not recorded: %.700s calls %s itself", caller, function);
	else if (linked)
		snprintf(reason, bytes, "MPI was initialized without libmoriens.so being called; its calls were not recorded: %.700s", library);
}

/* The process ends. */
__attribute__((destructor)) static void exiting(void)
{
	char library[PATH_MAX], reason[1024], text[PATH_MAX + sizeof reason + 2];
	int size, rank;

	if (loaded_by != moriens_os_pid() || moriens_run_state() != MORIENS_RUN_UNKNOWN || moriens_options_off())
		return;
	if (moriens_past_library(true, library, sizeof library) == NULL)
		return;
	if (moriens_stack_is_copy() || moriens_stack_sets_up(text, sizeof text))
		return;
	explain(library, reason, sizeof reason);
	rank = moriens_job_rank(&size);
	snprintf(text, sizeof text, "%s%s%s", library, reason[0] != '\0' ? "\n" : "", reason);
	leave_word(rank, size, text);
	if (rank > 0)
		return;
	if (reason[0] != '\0') {
		moriens_os_warn(reason, "let the program call MPI_Init instead of PMPI_Init, or build it without wrappers that call PMPI_Init; see docs/limits.md");
		return;
	}
	snprintf(text, sizeof text, "an MPI library was loaded by dlopen, bypassing libmoriens.so; its calls were not recorded: %.700s", library);
	moriens_os_warn(text, "open it with RTLD_GLOBAL and look up its functions in the process (Python: keep CDLL(\"libmpi.so\", mode=RTLD_GLOBAL), call through CDLL(None)); see docs/limits.md");
}
