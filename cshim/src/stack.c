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

/* The MPI library, which may be in parts, such as a libmpi whose PMPI_… are in a libpmpi. It is shown by functions that
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

/* Returns the number of the object among the others, or MORIENS_OTHERS where there is no room for it. */
static uint32_t count(struct moriens_others *others, const struct object *o)
{
	uint32_t at = 0;

	while (at < others->count && others->other[at].base != o->base)
		at++;
	if (at == MORIENS_OTHERS)
		return at;
	if (at == others->count) {
		struct moriens_other *new = &others->other[others->count++];
		*new = (struct moriens_other){.base = o->base, .executable = o->name[0] == '\0'};
		if (o->name[0] != '\0')
			snprintf(new->path, sizeof new->path, "%s", o->name);
		else /* the loader has no name for the executable */
			moriens_os_executable(new->path, sizeof new->path);
	}
	others->other[at].functions++;
	return at;
}

/* Where an executable that is not position-independent takes a function's address, it has a stub of that name, which
 * leads on. */
static bool is_stub(const void *address)
{
	ElfW(Sym) *symbol = NULL;
	Dl_info info;

	return dladdr1(address, &info, (void **)&symbol, RTLD_DL_SYMENT) != 0 && symbol != NULL && symbol->st_shndx == SHN_UNDEF;
}

/* Names that an object takes from others. */
struct imports {
	uintptr_t base;
	const ElfW(Sym) *symbols;
	const char *names;
	size_t count, names_bytes;
};

/* Where a dynamic section says that a table is: the loader has made that an address, but not everywhere. */
static uintptr_t table(uintptr_t base, uintptr_t at)
{
	return at < base ? base + at : at;
}

static struct imports imports_of(const struct dl_phdr_info *info)
{
	struct imports of = {.base = info->dlpi_addr};
	const ElfW(Dyn) *dynamic = NULL;
	const uint32_t *hash = NULL, *gnu_hash = NULL;

	for (int i = 0; i < info->dlpi_phnum; i++)
		if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
			dynamic = (const ElfW(Dyn) *)(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
	for (; dynamic != NULL && dynamic->d_tag != DT_NULL; dynamic++) {
		uintptr_t at = table(of.base, dynamic->d_un.d_ptr);
		switch (dynamic->d_tag) {
		case DT_SYMTAB: of.symbols = (const ElfW(Sym) *)at; break;
		case DT_STRTAB: of.names = (const char *)at; break;
		case DT_STRSZ: of.names_bytes = dynamic->d_un.d_val; break;
		case DT_HASH: hash = (const uint32_t *)at; break;
		case DT_GNU_HASH: gnu_hash = (const uint32_t *)at; break;
		default: break;
		}
	}
	if (of.symbols == NULL || of.names == NULL)
		return of;
	if (hash != NULL)
		of.count = hash[1];
	else if (gnu_hash != NULL && gnu_hash[1] > 1)
		of.count = gnu_hash[1]; /* what is not hashed, and so all that is not defined, comes first */
	else if ((uintptr_t)of.names > (uintptr_t)of.symbols)
		of.count = ((uintptr_t)of.names - (uintptr_t)of.symbols) / sizeof *of.symbols; /* linkers lay the names behind it */
	return of;
}

/* Marks the functions whose names, behind a prefix, an object takes from others. */
static void mark_imports(const struct imports *of, const char *prefix, bool marked[MORIENS_CALLS])
{
	size_t length = strlen(prefix);

	for (size_t k = 1; k < of->count; k++) {
		const ElfW(Sym) *symbol = &of->symbols[k];
		if (symbol->st_shndx != SHN_UNDEF || symbol->st_name >= of->names_bytes || strncmp(of->names + symbol->st_name, prefix, length) != 0)
			continue;
		for (size_t i = 0; i < MORIENS_CALLS; i++)
			if (pmpi_names[i] != NULL && strcmp(pmpi_names[i] + 1, of->names + symbol->st_name + length - 4) == 0)
				marked[i] = true;
	}
}

struct hiding {
	const struct moriens_others *others;
	bool called[MORIENS_CALLS];                   /* by the program, as MPI_X */
	bool passed_by[MORIENS_OTHERS][MORIENS_CALLS]; /* the other makes calls PMPI_X */
};

static int look_imports(struct dl_phdr_info *info, size_t size, void *argument)
{
	static const char mpi[] = "libmpi", vdso[] = "linux-vdso";
	struct hiding *h = argument;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
	struct imports of;

	(void)size;
	if (strncmp(name, vdso, sizeof vdso - 1) == 0)
		return 0;
	of = imports_of(info);
	for (uint32_t i = 0; i < h->others->count; i++)
		if (h->others->other[i].base == of.base) {
			mark_imports(&of, "PMPI_", h->passed_by[i]);
			return 0;
		}
	if (strncmp(name, mpi, sizeof mpi - 1) != 0) /* whose Fortran calls its C */
		mark_imports(&of, "MPI_", h->called);
	return 0;
}

/* Of the functions that an object before us answers: those that it makes as PMPI_X, and that the program calls. What
 * it is linked to shows both, so it is certain, but not all: a tool may find PMPI_X by dlsym. The program's own
 * wrappers are taken as called. */
static void look_hidden(struct moriens_others *others, bool answered[MORIENS_OTHERS][MORIENS_CALLS])
{
	struct hiding h = {.others = others};

	dl_iterate_phdr(look_imports, &h);
	for (uint32_t k = 0; k < others->count; k++)
		for (size_t i = 0; i < MORIENS_CALLS; i++) {
			struct moriens_other *other = &others->other[k];
			if (!answered[k][i] || !h.passed_by[k][i] || !(h.called[i] || other->executable))
				continue;
			if (other->hidden++ == 0)
				other->first = pmpi_names[i] + 1;
		}
}

static uint32_t look_before(const char *name, struct moriens_others *others)
{
	void *front = dlsym(RTLD_DEFAULT, name);
	struct object o = object_of(front);

	return o.found && !ours(&o) && !(o.name[0] == '\0' && is_stub(front)) ? count(others, &o) : MORIENS_OTHERS;
}

void moriens_stack_before(struct moriens_others *others)
{
	bool answered[MORIENS_OTHERS][MORIENS_CALLS] = {{false}};

	others->count = 0;
	for (size_t i = 0; i < MORIENS_CALLS; i++) {
		uint32_t at = pmpi_names[i] != NULL ? look_before(pmpi_names[i] + 1, others) : MORIENS_OTHERS;
		if (at < MORIENS_OTHERS)
			answered[at][i] = true;
	}
	if (others->count > 0)
		look_hidden(others, answered);
	else
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

/* What sets MPI up. */
static const char *const set_ups[] = {
	"MPI_Init", "MPI_Init_thread", "MPI_Session_init", "mpi_init_", "mpi_init_thread_", "mpi_session_init_",
};
static const char *const hidden_set_ups[] = {
	"PMPI_Init", "PMPI_Init_thread", "PMPI_Session_init", "pmpi_init_", "pmpi_init_thread_", "pmpi_session_init_",
};

#define SET_UPS (sizeof set_ups / sizeof set_ups[0])

bool moriens_stack_sets_up(char *path, size_t bytes)
{
	struct moriens_others others = {.count = 0};

	for (size_t i = 0; i < SET_UPS && others.count == 0; i++)
		look_before(set_ups[i], &others);
	if (others.count > 0)
		snprintf(path, bytes, "%s", others.other[0].path);
	return others.count > 0;
}

bool moriens_stack_is_copy(void)
{
	struct object self = object_of(pmpi_names);

	for (size_t i = 0; i < SET_UPS; i++) {
		struct object o = object_of(dlsym(RTLD_DEFAULT, set_ups[i]));
		if (o.found && ours(&o) && !same(&o, &self))
			return true;
	}
	return false;
}

/* The candidate of a number, from 0. */
struct caller {
	uint32_t number;
	uintptr_t base;
	const char *function;
	char name[1024]; /* empty: the executable */
};

static const char *imported_set_up(const struct imports *of)
{
	for (size_t k = 1; k < of->count; k++) {
		const ElfW(Sym) *symbol = &of->symbols[k];
		for (size_t i = 0; i < SET_UPS && symbol->st_shndx == SHN_UNDEF && symbol->st_name < of->names_bytes; i++)
			if (strcmp(of->names + symbol->st_name, hidden_set_ups[i]) == 0)
				return hidden_set_ups[i];
	}
	return NULL;
}

static int look_caller(struct dl_phdr_info *info, size_t size, void *argument)
{
	static const char mpi[] = "libmpi", vdso[] = "linux-vdso";
	struct caller *c = argument;
	const char *slash = strrchr(info->dlpi_name, '/');
	const char *name = slash != NULL ? slash + 1 : info->dlpi_name;
	struct imports of;

	(void)size;
	if (strncmp(name, vdso, sizeof vdso - 1) == 0 || strncmp(name, mpi, sizeof mpi - 1) == 0)
		return 0;
	of = imports_of(info);
	c->function = imported_set_up(&of);
	if (c->function == NULL || c->number-- != 0)
		return 0;
	c->base = info->dlpi_addr;
	snprintf(c->name, sizeof c->name, "%s", info->dlpi_name);
	return 1;
}

/* Whether an object has a function that sets MPI up itself: a tool, whose calls of PMPI_Init are not the program's. */
static bool wraps(const struct caller *c)
{
	void *library = dlopen(c->name[0] != '\0' ? c->name : NULL, RTLD_LAZY | RTLD_NOLOAD);
	bool found = false;

	for (size_t i = 0; library != NULL && i < SET_UPS && !found; i++) {
		void *function = dlsym(library, set_ups[i]);
		struct object o = object_of(function);
		found = o.found && o.base == c->base && !is_stub(function);
	}
	if (library != NULL)
		dlclose(library);
	return found;
}

const char *moriens_stack_caller(char *path, size_t bytes)
{
	struct caller c;

	for (uint32_t number = 0;; number++) {
		c.number = number;
		if (dl_iterate_phdr(look_caller, &c) == 0)
			return NULL;
		if (wraps(&c)) /* not within dl_iterate_phdr: that holds a lock of the loader's */
			continue;
		if (c.name[0] != '\0')
			snprintf(path, bytes, "%s", c.name);
		else
			moriens_os_executable(path, bytes);
		return c.function;
	}
}

static bool initialises; /* atomic */

void moriens_stack_initialises(void)
{
	__atomic_store_n(&initialises, true, __ATOMIC_RELAXED);
}

static void report_hidden(struct moriens_process_file *process, const struct moriens_other *other)
{
	char text[1400], more[64] = "";

	if (other->hidden == 0)
		return;
	if (other->hidden > 1)
		snprintf(more, sizeof more, " and %" PRIu32 " more of MPI's functions", other->hidden - 1);
	snprintf(text, sizeof text, "%s comes before libmoriens.so and handles %s%s itself: these calls are not recorded, and their time counts as computation; %s",
		other->path, other->first, more,
		other->executable ? "link the program without these wrappers" : "put libmoriens.so first in LD_PRELOAD");
	moriens_process_unseen(process, text);
}

void moriens_stack_report(struct moriens_process_file *process, const void *site)
{
	struct moriens_others others;
	char text[1400];

	moriens_stack_before(&others);
	for (uint32_t i = 0; i < others.count; i++) {
		snprintf(text, sizeof text, "%s comes before libmoriens.so and handles %" PRIu32 " of the MPI functions itself%s: "
			"its calls to MPI_* are recorded, its direct calls to PMPI_* are not",
			others.other[i].path, others.other[i].functions,
			__atomic_load_n(&initialises, __ATOMIC_RELAXED) ? "" : ", MPI_Init without passing it on");
		moriens_process_note(process, text);
		report_hidden(process, &others.other[i]);
	}
	moriens_stack_behind(site, &others);
	for (uint32_t i = 0; i < others.count; i++) {
		snprintf(text, sizeof text, moriens_options_stack() ?
			"%s comes after libmoriens.so: %" PRIu32 " MPI functions go through it, and its time counts as theirs" :
			"%s comes after libmoriens.so and is bypassed because MORIENS_STACK is 0: it receives no calls from C of %" PRIu32 " MPI functions",
			others.other[i].path, others.other[i].functions);
		moriens_process_note(process, text);
	}
}

static uint32_t loaded_by; /* pid */

__attribute__((constructor)) static void loaded(void)
{
	loaded_by = moriens_os_pid();
}

/* MPI was set up, but the library saw no call, because a tool before it answered all. */
static void report_unseen(void)
{
	const char *run = moriens_options_run();
	struct moriens_options options;
	char text[1400], tool[1024];
	int size, directory, rank = moriens_job_rank(&size);

	if (!moriens_stack_sets_up(tool, sizeof tool))
		return; /* past.c says it */
	if (run != NULL && moriens_options_read(&options, run)) {
		snprintf(text, sizeof text, "%s/moriens-%" PRIu32 "-%s", options.shm, moriens_os_uid(), run);
		if (moriens_os_open_directory(text, &directory) != 0)
			return;
		int error = moriens_process_outrun(directory, rank, size, moriens_os_pid(), tool);
		moriens_os_close(directory);
		if (error == 0)
			return;
	}
	if (rank > 0)
		return;
	snprintf(text, sizeof text, "not recorded: %.900s comes before libmoriens.so and handles all MPI calls itself", tool);
	moriens_os_warn(text, "put libmoriens.so first in LD_PRELOAD, or leave the other tool out");
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
		report_unseen();
}
