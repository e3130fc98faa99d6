#include "counters.h"
#include "os.h"
#include "papi.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define NAME_BYTES 256

enum source {
	SOURCE_PAPI,
	SOURCE_PAGE_FAULTS,
	SOURCE_CONTEXT_SWITCHES,
	SOURCE_CPU_TIME,
};

static const struct {
	const char *name;
	enum source source;
} software[] = {
	{"sw:page-faults", SOURCE_PAGE_FAULTS},
	{"sw:context-switches", SOURCE_CONTEXT_SWITCHES},
	{"sw:cpu-time", SOURCE_CPU_TIME},
};

struct event {
	char name[NAME_BYTES];
	enum source source;
	uint32_t set;   /* of a PAPI event */
	uint32_t place; /* of its value within the set's */
};

/* The PAPI events of one component: an event set holds no others. */
struct event_set {
	int component;
	int probe; /* set that finds out, while events are chosen, what goes together */
	uint32_t codes;
	int code[MORIENS_MAX_EVENTS];
};

/* Written at the process's set-up only. */
static struct event events[MORIENS_MAX_EVENTS];
static uint32_t event_count;
static struct event_set sets[MORIENS_MAX_EVENTS];
static uint32_t set_count;
static bool uses_rusage;
static bool at_marks;

/* Appends text, if it fits as a whole. */
static bool append(char *to, size_t bytes, const char *text)
{
	size_t used = strlen(to), length = strlen(text);

	if (length >= bytes - used)
		return false;
	memcpy(to + used, text, length + 1);
	return true;
}

struct choice {
	const char *papi_library;
	bool papi_tried;
	const char *papi_missing; /* why */
	char *unavailable;
	size_t unavailable_bytes;
	uint32_t unnamed; /* events left out of the list for lack of room */
};

static void leave_out(struct choice *c, const char *name, const char *reason)
{
	char line[2 * NAME_BYTES];

	snprintf(line, sizeof line, "%s: %s\n", name, reason);
	if (append(c->unavailable, c->unavailable_bytes, line))
		return;
	snprintf(line, sizeof line, "%s\n", name);
	if (!append(c->unavailable, c->unavailable_bytes, line))
		c->unnamed++;
}

static void destroy(int *set)
{
	moriens_papi.cleanup_eventset(*set);
	moriens_papi.destroy_eventset(set);
}

/* Puts an event into the set of its component. Returns NULL, or why it cannot be counted. */
static const char *add_papi_event(struct choice *c, struct event *event)
{
	int code = 0, error;
	uint32_t i = 0;

	if (!c->papi_tried) {
		c->papi_tried = true;
		c->papi_missing = moriens_papi_load(c->papi_library);
	}
	if (c->papi_missing != NULL)
		return c->papi_missing;
	error = moriens_papi.event_name_to_code(event->name, &code);
	if (error != MORIENS_PAPI_OK)
		return moriens_papi_reason(error);
	int component = moriens_papi.get_event_component(code);
	while (i < set_count && sets[i].component != component)
		i++;
	if (i == set_count) {
		sets[i] = (struct event_set){.component = component, .probe = MORIENS_PAPI_NULL};
		error = moriens_papi.create_eventset(&sets[i].probe);
		if (error != MORIENS_PAPI_OK)
			return moriens_papi_reason(error);
	}
	error = moriens_papi.add_event(sets[i].probe, code);
	if (error != MORIENS_PAPI_OK) {
		if (i == set_count)
			destroy(&sets[i].probe);
		return moriens_papi_reason(error);
	}
	if (i == set_count) /* there are no more sets than events that are counted */
		set_count++;
	event->source = SOURCE_PAPI;
	event->set = i;
	event->place = sets[i].codes;
	sets[i].code[sets[i].codes++] = code;
	return NULL;
}

static const char *add_software_event(struct event *event)
{
	for (size_t i = 0; i < sizeof software / sizeof software[0]; i++) {
		if (strcmp(event->name, software[i].name) == 0) {
			event->source = software[i].source;
			uses_rusage = uses_rusage || event->source != SOURCE_CPU_TIME;
			return NULL;
		}
	}
	return "no such event";
}

static void add_event(struct choice *c, const char *name, size_t length)
{
	struct event *event = &events[event_count];
	const char *reason;
	char text[NAME_BYTES];

	snprintf(text, sizeof text, "%.*s", (int)length, name);
	for (uint32_t i = 0; i < event_count; i++)
		if (strcmp(events[i].name, text) == 0)
			return;
	if (length >= sizeof text)
		reason = "its name is too long";
	else if (event_count == MORIENS_MAX_EVENTS)
		reason = "at most eight events can be counted";
	else {
		memcpy(event->name, text, sizeof text);
		reason = strncmp(text, "sw:", 3) == 0 ? add_software_event(event) : add_papi_event(c, event);
	}
	if (reason == NULL)
		event_count++;
	else
		leave_out(c, text, reason);
}

/* Takes out the events of a set that does not start. */
static void drop_set(struct choice *c, uint32_t set, const char *reason)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < event_count; i++) {
		if (events[i].source == SOURCE_PAPI && events[i].set == set)
			leave_out(c, events[i].name, reason);
		else
			events[kept++] = events[i];
	}
	event_count = kept;
	sets[set].codes = 0;
}

static void probe_sets(struct choice *c)
{
	for (uint32_t i = 0; i < set_count; i++) {
		int error = sets[i].codes == 0 ? MORIENS_PAPI_OK : moriens_papi.start(sets[i].probe);
		if (error != MORIENS_PAPI_OK)
			drop_set(c, i, moriens_papi_reason(error));
		else if (sets[i].codes != 0)
			moriens_papi.stop(sets[i].probe, NULL);
		destroy(&sets[i].probe);
	}
}

uint32_t moriens_counters_choose(const char *list, const char *papi, char *names, size_t names_bytes, char *unavailable, size_t unavailable_bytes)
{
	struct choice choice = {.papi_library = papi, .unavailable = unavailable, .unavailable_bytes = unavailable_bytes};
	int saved = errno;

	names[0] = unavailable[0] = '\0';
	if (list == NULL)
		list = moriens_os_has_pmu() ? "PAPI_TOT_INS,PAPI_TOT_CYC" : "";
	if (strcmp(list, "none") == 0)
		list = "";
	while (*(list += strspn(list, ", ")) != '\0') {
		size_t length = strcspn(list, ", ");
		add_event(&choice, list, length);
		list += length;
	}
	probe_sets(&choice);
	for (uint32_t i = 0; i < event_count; i++) {
		char text[NAME_BYTES + 1];
		snprintf(text, sizeof text, "%s%s", i > 0 ? "," : "", events[i].name);
		if (append(names, names_bytes, text))
			continue;
		/* The names' order is the values': the rest must go with it. */
		for (uint32_t k = i; k < event_count; k++)
			leave_out(&choice, events[k].name, "the event names are too long in total");
		event_count = i;
	}
	errno = saved;
	return choice.unnamed;
}

static int start_set(const struct event_set *s)
{
	int set = MORIENS_PAPI_NULL;
	int error = moriens_papi.create_eventset(&set);

	if (error != MORIENS_PAPI_OK)
		return MORIENS_PAPI_NULL;
	for (uint32_t k = 0; k < s->codes && error == MORIENS_PAPI_OK; k++)
		error = moriens_papi.add_event(set, s->code[k]);
	if (error == MORIENS_PAPI_OK)
		error = moriens_papi.start(set);
	if (error != MORIENS_PAPI_OK)
		destroy(&set);
	return error == MORIENS_PAPI_OK ? set : MORIENS_PAPI_NULL;
}

void moriens_counters_begin(struct moriens_thread_counters *c)
{
	int saved = errno;

	*c = (struct moriens_thread_counters){.on = event_count > 0};
	for (uint32_t i = 0; i < set_count; i++)
		c->set[i] = sets[i].codes > 0 ? start_set(&sets[i]) : MORIENS_PAPI_NULL;
	errno = saved;
}

void moriens_counters_end(struct moriens_thread_counters *c)
{
	int saved = errno;

	for (uint32_t i = 0; c->on && i < set_count; i++) {
		if (c->set[i] != MORIENS_PAPI_NULL) {
			moriens_papi.stop(c->set[i], NULL);
			destroy(&c->set[i]);
		}
	}
	c->on = c->known = false;
	errno = saved;
}

static void read_all(struct moriens_thread_counters *c, int64_t *values)
{
	long long of_set[MORIENS_MAX_EVENTS][MORIENS_MAX_EVENTS];
	bool have_set[MORIENS_MAX_EVENTS];
	struct rusage usage = {0};
	struct timespec time = {0};

	for (uint32_t i = 0; i < set_count; i++)
		have_set[i] = c->set[i] != MORIENS_PAPI_NULL && moriens_papi.read(c->set[i], of_set[i]) == MORIENS_PAPI_OK;
	if (uses_rusage)
		getrusage(RUSAGE_THREAD, &usage);
	for (uint32_t i = 0; i < event_count; i++) {
		const struct event *event = &events[i];
		switch (event->source) {
		case SOURCE_PAPI:
			values[i] = have_set[event->set] ? of_set[event->set][event->place] : MORIENS_NO_COUNT;
			break;
		case SOURCE_PAGE_FAULTS:
			values[i] = usage.ru_minflt + usage.ru_majflt;
			break;
		case SOURCE_CONTEXT_SWITCHES:
			values[i] = usage.ru_nvcsw + usage.ru_nivcsw;
			break;
		case SOURCE_CPU_TIME:
			clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
			values[i] = (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
			break;
		}
	}
}

void moriens_counters_enter(struct moriens_thread_counters *c)
{
	if (c->known)
		read_all(c, c->now);
}

static int64_t difference(int64_t now, int64_t base)
{
	if (now == MORIENS_NO_COUNT || base == MORIENS_NO_COUNT)
		return MORIENS_NO_COUNT;
	return (int64_t)((uint64_t)now - (uint64_t)base);
}

bool moriens_counters_write(struct moriens_thread_counters *c, struct moriens_writer *ring)
{
	if (!c->known)
		return true;
	for (uint32_t i = 0; i < event_count; i += MORIENS_SLOT_EVENTS) {
		struct moriens_counters *slot = moriens_ring_extend(ring);
		uint32_t count = event_count - i < MORIENS_SLOT_EVENTS ? event_count - i : MORIENS_SLOT_EVENTS;
		if (slot == NULL) {
			moriens_ring_drop(ring);
			return false;
		}
		*slot = (struct moriens_counters){.count = count, .kind = MORIENS_SLOT_COUNTERS};
		for (uint32_t k = 0; k < count; k++)
			slot->value[k] = difference(c->now[i + k], c->base[i + k]);
	}
	return true;
}

void moriens_counters_at_marks(bool wanted)
{
	at_marks = wanted;
}

bool moriens_counters_marked(const struct moriens_thread_counters *c)
{
	return c->on && at_marks;
}

void moriens_counters_write_mark(const struct moriens_thread_counters *c, struct moriens_writer *ring, const struct moriens_mark *mark)
{
	int64_t counts[MORIENS_MAX_EVENTS];

	for (uint32_t i = 0; i < event_count; i++)
		counts[i] = difference(c->now[i], c->base[i]);
	moriens_ring_mark_counted(ring, mark, counts, event_count);
}

void moriens_counters_exit(struct moriens_thread_counters *c)
{
	read_all(c, c->base);
	c->known = true;
}
