#include "stack.h"
#include "job.h"
#include "mpi_calls_gen.h"
#include "mpi_family.h"
#include "options.h"
#include "os.h"
#include "record.h"
#include "resolve.h"
#include "run.h"

#include <dlfcn.h>
#include <elf.h>
#include <inttypes.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

static const char *const pmpi_names[MORIENS_CALLS] = {MORIENS_PMPI_NAMES};

/* A loaded file. */
struct object {
	uintptr_t address; /* in it */
	uintptr_t base;
	const char *name; /* empty: the executable */
	bool found;
};

static int look(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct object *o = argument;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		if (segment->p_type != PT_LOAD || o->address < start || o->address - start >= segment->p_memsz)
			continue;
		o->base = info->dlpi_addr;
		o->name = info->dlpi_name;
		o->found = true;
		return 1;
	}
	return 0;
}

static struct object object_of(const void *address)
{
	struct object o = {.address = (uintptr_t)address};

	if (address != NULL)
		dl_iterate_phdr(look, &o);
	return o;
}

static bool same(const struct object *a, const struct object *b)
{
	return a->found && b->found && a->base == b->base;
}

/* This library, or another copy of it: two of them would record everything twice. */
static bool ours(const struct object *o)
{
	static const char own[] = "libmoriens";
	struct object self = object_of(pmpi_names);
	const char *slash = strrchr(o->name != NULL ? o->name : "", '/');

	return same(o, &self) || (o->found && strncmp(slash != NULL ? slash + 1 : o->name, own, sizeof own - 1) == 0);
}

/* The MPI library, which may be in parts, such as a libmpi whose PMPI_… are in a libpmpi. It is told by functions that
 * no tool has: a tool may have names PMPI_… itself, as Darshan does for what it wraps. */
static bool is_mpi(const struct object *o, const void *pmpi, const void *site)
{
	struct object of[] = {
		object_of(moriens_find_symbol("PMPI_Get_library_version", site)),
		object_of(moriens_find_symbol("MPI_T_init_thread", site)),
		object_of(pmpi),
	};

	return same(o, &of[0]) || same(o, &of[1]) || (!of[0].found && !of[1].found && same(o, &of[2]));
}

/* The MPI_X of a tool behind us; NULL: there is none. */
static void *tool_behind(const char *name, const void *pmpi, const void *site)
{
	void *next = moriens_find_symbol(name, site);
	struct object o;

	if (next == NULL)
		return NULL;
	o = object_of(next);
	return ours(&o) || is_mpi(&o, pmpi, site) ? NULL : next;
}

void *moriens_stack_next(const char *pmpi_name, const void *site)
{
	void *pmpi = moriens_find_symbol(pmpi_name, site);
	void *next = moriens_options_stack() ? tool_behind(pmpi_name + 1, pmpi, site) : NULL;

	return next != NULL ? next : pmpi;
}

void *moriens_stack_next_fortran(const char *symbol, const void *site)
{
	void *next = moriens_find_symbol(symbol, site);
	struct object o = object_of(next);
	char pmpi[128];

	if (next == NULL || !ours(&o))
		return next;
	snprintf(pmpi, sizeof pmpi, "p%s", symbol);
	return moriens_find_symbol(pmpi, site);
}

static void count(struct moriens_others *others, const struct object *o)
{
	uint32_t at = 0;

	while (at < others->count && others->other[at].base != o->base)
		at++;
	if (at == MORIENS_OTHERS)
		return;
	if (at == others->count) {
		struct moriens_other *new = &others->other[others->count++];
		*new = (struct moriens_other){.base = o->base};
		if (o->name[0] != '\0')
			snprintf(new->path, sizeof new->path, "%s", o->name);
		else /* the loader has no name for the executable */
			moriens_os_executable(new->path, sizeof new->path);
	}
	others->other[at].functions++;
}

/* Where an executable that is not position-independent takes a function's address, it has a stub of that name, which
 * leads on. */
static bool is_stub(const void *address)
{
	ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL && symbol->st_shndx == SHN_UNDEF;
}

static void look_before(const char *name, struct moriens_others *others)
{
	void *front = dlsym(RTLD_DEFAULT, name);
	struct object o = object_of(front);

	if (o.found && !ours(&o) && !(o.name[0] == '\0' && is_stub(front)))
		count(others, &o);
}

void moriens_stack_before(struct moriens_others *others)
{
	others->count = 0;
	for (size_t i = 0; i < MORIENS_CALLS; i++)
		if (pmpi_names[i] != NULL)
			look_before(pmpi_names[i] + 1, others);
	if (others->count == 0)
		look_before("mpi_init_", others);
}

void moriens_stack_behind(const void *site, struct moriens_others *others)
{
	others->count = 0;
	for (size_t i = 0; i < MORIENS_CALLS; i++) {
		void *pmpi = pmpi_names[i] != NULL ? moriens_find_symbol(pmpi_names[i], site) : NULL;
		void *tool = pmpi_names[i] != NULL ? tool_behind(pmpi_names[i] + 1, pmpi, site) : NULL;
		if (tool != NULL) {
			struct object o = object_of(tool);
			count(others, &o);
		}
	}
}

static bool initialises; /* atomic */

void moriens_stack_initialises(void)
{
	__atomic_store_n(&initialises, true, __ATOMIC_RELAXED);
}

void moriens_stack_tell(struct moriens_process_file *process, const void *site)
{
	struct moriens_others others;
	char text[1400];

	moriens_stack_before(&others);
	for (uint32_t i = 0; i < others.count; i++) {
		snprintf(text, sizeof text, "%s comes before libmoriens.so and answers %" PRIu32 " of the MPI functions itself%s: "
			"those of its calls are recorded that it passes on as MPI_…, not those that it makes as PMPI_…",
			others.other[i].path, others.other[i].functions,
			__atomic_load_n(&initialises, __ATOMIC_RELAXED) ? "" : ", MPI_Init without passing it on");
		moriens_process_note(process, text);
	}
	moriens_stack_behind(site, &others);
	for (uint32_t i = 0; i < others.count; i++) {
		snprintf(text, sizeof text, moriens_options_stack() ?
			"%s comes behind libmoriens.so: %" PRIu32 " MPI functions go through it, and its time counts as theirs" :
			"%s comes behind libmoriens.so and is passed by, for MORIENS_STACK is 0: of %" PRIu32 " MPI functions it sees no call of C",
			others.other[i].path, others.other[i].functions);
		moriens_process_note(process, text);
	}
}

static uint32_t loaded_by; /* pid */

__attribute__((constructor)) static void loaded(void)
{
	loaded_by = moriens_os_pid();
}

/* MPI was set up and no call of it came here, because a tool before us has answered all. */
static void tell_unseen(void)
{
	const char *run = moriens_options_run();
	struct moriens_options options;
	struct moriens_others others;
	char text[1400];
	int size, directory, rank = moriens_job_rank(&size);

	moriens_stack_before(&others);
	if (others.count == 0)
		return;
	if (run != NULL && moriens_options_read(&options, run)) {
		snprintf(text, sizeof text, "%s/moriens-%" PRIu32 "-%s", options.shm, moriens_os_uid(), run);
		if (moriens_os_open_directory(text, &directory) != 0)
			return;
		int error = moriens_process_outrun(directory, rank, size, moriens_os_pid(), others.other[0].path);
		moriens_os_close(directory);
		if (error == 0)
			return;
	}
	if (rank > 0)
		return;
	snprintf(text, sizeof text, "not recorded: %.900s comes before libmoriens.so and answers all MPI calls itself", others.other[0].path);
	moriens_os_warn(text, "name libmoriens.so first in LD_PRELOAD, or leave the other tool out");
}

/* The process ends. A tool before us may have answered MPI_Finalize, or everything. */
__attribute__((destructor)) static void exiting(void)
{
	enum moriens_run_state state = moriens_run_state();

	if (moriens_os_pid() != loaded_by)
		return;
	if (state == MORIENS_RUN_RECORDS && moriens_mpi_finalized(NULL))
		moriens_finalized_unseen();
	else if (state == MORIENS_RUN_UNKNOWN && !moriens_options_off() && moriens_mpi_initialized(NULL))
		tell_unseen();
}
