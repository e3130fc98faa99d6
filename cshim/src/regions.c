#include "regions.h"
#include "marks.h"
#include "module.h"
#include "os.h"
#include "run.h"

#include <dlfcn.h>
#include <errno.h>
#include <inttypes.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define PLACES 1024u /* of the first table, a power of two */
#define PROBES 16u   /* of a table are looked at for one place */
#define WANTED_READ 0x80000000u
#define FIRST_ROOM 256u

uint32_t moriens_regions_wanted;

/* The families that the program has and that are not wanted; atomic. */
static uint32_t unwanted;

/* Where a place's calls go on to. An entry is valid while its version is even, not 0, and the same before and after it
 * was read; all fields are atomic. */
struct place {
	uint32_t version;
	uintptr_t site;
	const struct moriens_foreign *foreign;
	uint64_t unloads; /* of libraries, before it was found: later, others may lie at these addresses */
	moriens_function next;
};

/* There are as many tables as places need, each twice as large as the one before. None is ever freed. */
struct table {
	struct table *next; /* atomic */
	uint32_t places;
	struct place *place;
};

static struct place first_places[PLACES];
static struct table first_table = {.places = PLACES, .place = first_places};
static bool places_used;

/* A region that is open and ends without a name. */
struct open_region {
	uintptr_t stack;
	uint32_t number;
	int32_t level;
};

static _Thread_local struct {
	struct open_region *region;
	uint32_t depth, room;
	uint32_t beyond; /* regions for which there was no memory */
} open_regions;

/* The frame of the call that is being passed on, 0 = none is. */
static _Thread_local uintptr_t passing;

static uint32_t families(void)
{
	uint32_t found = __atomic_load_n(&moriens_regions_wanted, __ATOMIC_RELAXED);

	if (unlikely(found == 0)) {
		found = WANTED_READ | (moriens_options_off() ? 0 : moriens_options_regions(NULL, 0));
		__atomic_store_n(&moriens_regions_wanted, found, __ATOMIC_RELAXED);
	}
	return found;
}

bool moriens_regions_on(enum moriens_region_family family)
{
	if (likely((families() & (uint32_t)family) != 0))
		return true;
	if ((__atomic_load_n(&unwanted, __ATOMIC_RELAXED) & (uint32_t)family) == 0)
		__atomic_fetch_or(&unwanted, (uint32_t)family, __ATOMIC_RELAXED);
	return false;
}

/* Looks a function up among what its caller was loaded with, where that is not global. */
static void *of_caller(const char *name, const void *site)
{
	struct link_map *map = NULL;
	void *library, *symbol;
	Dl_info info;

	if (dladdr1(site, &info, (void **)&map, RTLD_DL_LINKMAP) == 0 || map == NULL)
		return NULL;
	library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
	if (library == NULL)
		return NULL;
	symbol = dlsym(library, name);
	dlclose(library); /* its caller is in it, or in what keeps it */
	return symbol;
}

static MORIENS_COLD moriens_function find(const struct moriens_foreign *foreign, const void *site)
{
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		moriens_function function;
	} symbol;
	int error = errno;

	symbol.object = dlsym(RTLD_NEXT, foreign->name);
	if (symbol.object == NULL)
		symbol.object = of_caller(foreign->name, site);
	errno = error;
	return symbol.function == foreign->self ? NULL : symbol.function;
}

static uint32_t hash_place(const struct moriens_foreign *foreign, uintptr_t site)
{
	uint64_t hash = (site ^ (uint64_t)(uintptr_t)foreign << 20) * 0x9e3779b97f4a7c15u;

	return (uint32_t)(hash >> 40);
}

static struct place *probed(const struct table *table, uint32_t hash, uint32_t probe)
{
	return &table->place[(hash + probe) & (table->places - 1)];
}

/* Writes an entry, unless another thread does. */
static bool keep_at(struct place *p, uint32_t version, const struct place *found)
{
	if ((version & 1) != 0 || !__atomic_compare_exchange_n(&p->version, &version, version + 1, false, __ATOMIC_ACQUIRE, __ATOMIC_RELAXED))
		return false;
	/* Who reads one of these has to find that the version is odd, or has changed. */
	__atomic_store_n(&p->site, found->site, __ATOMIC_RELEASE);
	__atomic_store_n(&p->foreign, found->foreign, __ATOMIC_RELEASE);
	__atomic_store_n(&p->unloads, found->unloads, __ATOMIC_RELEASE);
	__atomic_store_n(&p->next, found->next, __ATOMIC_RELEASE);
	__atomic_store_n(&p->version, version + 2 != 0 ? version + 2 : 2, __ATOMIC_RELEASE);
	return true;
}

/* The table after another one, or NULL: there is no memory. */
static struct table *after(struct table *table)
{
	struct table *known = __atomic_load_n(&table->next, __ATOMIC_ACQUIRE);
	size_t bytes = sizeof *known + 2 * (size_t)table->places * sizeof *known->place;
	struct table *made;

	if (known != NULL || table->places > UINT32_MAX / 2)
		return known;
	made = moriens_os_memory(bytes);
	if (made == NULL)
		return NULL;
	made->places = 2 * table->places;
	made->place = (struct place *)(made + 1);
	if (__atomic_compare_exchange_n(&table->next, &known, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
		return made;
	moriens_os_unmap(made, bytes);
	return known;
}

/* Keeps it in the first entry that is free, or of an earlier time. Where there is no memory for one more table, another
 * place has to be looked up again. */
static void keep(const struct place *found, uint32_t hash)
{
	struct table *table = &first_table, *last = table;

	for (; table != NULL; last = table, table = after(table)) {
		for (uint32_t i = 0; i < PROBES; i++) {
			struct place *p = probed(table, hash, i);
			uint32_t version = __atomic_load_n(&p->version, __ATOMIC_ACQUIRE);
			bool is_free = version == 0 || __atomic_load_n(&p->unloads, __ATOMIC_RELAXED) != found->unloads;
			if (is_free && keep_at(p, version, found))
				return;
		}
	}
	struct place *p = probed(last, hash, 0);
	keep_at(p, __atomic_load_n(&p->version, __ATOMIC_ACQUIRE), found);
}

/* Looks among those that are kept. */
static bool kept(const struct place *wanted, uint32_t hash, moriens_function *next)
{
	for (const struct table *table = &first_table; table != NULL; table = __atomic_load_n(&table->next, __ATOMIC_ACQUIRE)) {
		for (uint32_t i = 0; i < PROBES; i++) {
			const struct place *p = probed(table, hash, i);
			uint32_t version = __atomic_load_n(&p->version, __ATOMIC_ACQUIRE);

			if (version == 0) /* it would be here */
				return false;
			bool same = __atomic_load_n(&p->site, __ATOMIC_ACQUIRE) == wanted->site &&
				__atomic_load_n(&p->foreign, __ATOMIC_ACQUIRE) == wanted->foreign &&
				__atomic_load_n(&p->unloads, __ATOMIC_ACQUIRE) == wanted->unloads;
			*next = __atomic_load_n(&p->next, __ATOMIC_ACQUIRE);
			if (same && (version & 1) == 0 && __atomic_load_n(&p->version, __ATOMIC_RELAXED) == version)
				return true;
		}
	}
	return false;
}

moriens_function moriens_regions_next(const struct moriens_foreign *foreign, const void *site)
{
	uint64_t unloads = __atomic_load_n(&moriens_module_unloads, __ATOMIC_ACQUIRE);
	uint32_t hash = hash_place(foreign, (uintptr_t)site);
	struct place place = {.site = (uintptr_t)site, .foreign = foreign, .unloads = unloads};
	moriens_function next;

	if (likely(kept(&place, hash, &next)))
		return next;
	__atomic_store_n(&places_used, true, __ATOMIC_RELAXED);
	place.next = find(foreign, site);
	keep(&place, hash);
	return place.next;
}

moriens_function moriens_regions_target(const struct moriens_foreign *foreign, const void *site)
{
	moriens_function next;

	if ((families() & foreign->family) != 0)
		return foreign->here;
	next = moriens_regions_next(foreign, site);
	if (next == NULL)
		return foreign->here;
	if (foreign->marks)
		moriens_regions_on((enum moriens_region_family)foreign->family); /* it is not: remembers that */
	return next;
}

bool moriens_regions_known(void)
{
	return __atomic_load_n(&places_used, __ATOMIC_RELAXED);
}

uintptr_t moriens_regions_pass(const void *frame)
{
	uintptr_t outer = passing;

	/* A call that was left by an exception or longjmp is found out by a frame that does not lie below its own. */
	if (outer == 0 || (uintptr_t)frame >= outer) {
		outer = 0;
		passing = (uintptr_t)frame;
	}
	return outer;
}

void moriens_regions_passed(uintptr_t outer)
{
	passing = outer;
}

bool moriens_regions_ours(enum moriens_region_family family, const void *frame)
{
	return moriens_regions_on(family) && (passing == 0 || (uintptr_t)frame >= passing);
}

static bool make_room(void)
{
	uint32_t room = open_regions.room == 0 ? FIRST_ROOM : 2 * open_regions.room;
	struct open_region *region = moriens_os_memory(room * sizeof *region);

	if (region == NULL)
		return false;
	if (open_regions.room == 0) {
		moriens_thread_watch(&moriens_thread); /* so that it is forgotten */
	} else {
		memcpy(region, open_regions.region, open_regions.depth * sizeof *region);
		moriens_os_unmap(open_regions.region, open_regions.room * sizeof *region);
	}
	open_regions.region = region;
	open_regions.room = room;
	return true;
}

/* The innermost region of a stack, or -1. */
static int64_t innermost(uintptr_t stack)
{
	int64_t i = (int64_t)open_regions.depth - 1;

	while (i >= 0 && open_regions.region[i].stack != stack)
		i--;
	return i;
}

static bool off(void)
{
	return moriens_thread.state == MORIENS_THREAD_OFF || moriens_run_state() == MORIENS_RUN_OFF;
}

int moriens_regions_push(uintptr_t stack, uint32_t number, const void *frame)
{
	if (off())
		return MORIENS_NO_LEVEL;
	if (open_regions.beyond > 0 || (open_regions.depth == open_regions.room && !make_room())) {
		open_regions.beyond++;
		return MORIENS_NO_LEVEL;
	}
	int64_t outer = innermost(stack);
	int32_t level = outer < 0 ? 0 : open_regions.region[outer].level + 1;
	open_regions.region[open_regions.depth++] = (struct open_region){.stack = stack, .number = number, .level = level};
	moriens_marks_say(MORIENS_MARK_BEGIN, number, 0, frame);
	return level;
}

int moriens_regions_pop(uintptr_t stack, const void *frame)
{
	if (off())
		return MORIENS_NO_LEVEL;
	if (open_regions.beyond > 0) {
		open_regions.beyond--;
		return MORIENS_NO_LEVEL;
	}
	int64_t i = innermost(stack);
	if (i < 0)
		return MORIENS_NO_LEVEL;
	struct open_region ended = open_regions.region[i];
	open_regions.depth--;
	memmove(&open_regions.region[i], &open_regions.region[i + 1], (open_regions.depth - (size_t)i) * sizeof ended);
	moriens_marks_say(MORIENS_MARK_END, ended.number, 0, frame);
	return ended.level;
}

void moriens_regions_forget(void)
{
	if (open_regions.room != 0)
		moriens_os_unmap(open_regions.region, open_regions.room * sizeof *open_regions.region);
	open_regions.room = open_regions.depth = open_regions.beyond = 0;
}

static bool is_digit(char c)
{
	return c >= '0' && c <= '9';
}

size_t moriens_regions_stem(const char *name, size_t bytes)
{
	size_t end = bytes, digits;
	char opening = '\0';

	while (end > 0 && name[end - 1] == ' ')
		end--;
	size_t whole = end;
	if (end > 0 && (name[end - 1] == ']' || name[end - 1] == ')'))
		opening = name[--end] == ']' ? '[' : '(';
	while (opening != '\0' && end > 0 && name[end - 1] == ' ')
		end--;
	digits = end;
	while (end > 0 && (is_digit(name[end - 1]) || (name[end - 1] == '.' && end < digits && end > 1 && is_digit(name[end - 2]))))
		end--;
	if (end == digits)
		return whole;
	while (opening != '\0' && end > 0 && name[end - 1] == ' ')
		end--;
	if (opening != '\0' && (end == 0 || name[--end] != opening))
		return whole;
	while (end > 0 && memchr(" \t_-#:=.,/", name[end - 1], 10) != NULL)
		end--;
	return end > 0 ? end : whole;
}

static void note(const char *text)
{
	pthread_mutex_lock(&moriens_run.paths.lock);
	moriens_process_note(&moriens_run.process, text);
	pthread_mutex_unlock(&moriens_run.paths.lock);
}

void moriens_regions_report(void)
{
	uint32_t left_out = __atomic_load_n(&unwanted, __ATOMIC_RELAXED);
	uint64_t refused = moriens_pcontrol_refused();
	char text[256] = "the program marks regions that were not recorded: --regions ";

	for (unsigned n = 0; n < MORIENS_REGION_FAMILIES; n++) {
		if ((left_out & 1u << n) != 0) {
			size_t used = strlen(text);
			snprintf(text + used, sizeof text - used, "%s%s", text[used - 1] == ' ' ? "" : ",", moriens_options_family(n));
		}
	}
	if (left_out != 0) {
		size_t used = strlen(text);
		snprintf(text + used, sizeof text - used, " (MORIENS_REGIONS) records them");
		note(text);
	}
	if (refused != 0) {
		/* conclude sums the numbers of all ranks: its pattern is this text. */
		snprintf(text, sizeof text, "MPI_Pcontrol: calls that gave no readable name and marked no phase: %" PRIu64, refused);
		note(text);
	}
}
