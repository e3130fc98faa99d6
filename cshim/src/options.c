#include "options.h"
#include "unwind.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_RING_BYTES (2u << 20)
#define MAX_RING_BYTES (1u << 30)
#define DEFAULT_RING_MOST (64u << 20)
#define DEFAULT_CALLPATH 16u
#define DEFAULT_POLL_GAP_US 20u
#define MAX_POLL_GAP_US 1000000u
#define DEFAULT_DRAIN_MS 1000u
#define MAX_DRAIN_MS 600000u
#define DEFAULT_TIMEOUT_S 60u
#define MAX_TIMEOUT_S 86400u

/* A directory entry holds 255 bytes; "moriens-", a user's number and a dash come before the name. */
#define MAX_RUN_BYTES 200

static uint64_t power_of_two(uint64_t wanted)
{
	uint64_t bytes = MORIENS_MIN_RING_BYTES;

	while (bytes * 2 <= wanted)
		bytes *= 2;
	return bytes;
}

/* NULL where it is not set or empty. */
static const char *text_of(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

/* The number that a variable holds, or the nearest that is allowed. Where it is no number the usual one, and the name
 * is noted. */
static uint64_t number(struct moriens_options *options, const char *name, uint64_t usual, uint64_t least, uint64_t most)
{
	const char *text = text_of(name);
	size_t used = strlen(options->not_numbers);

	if (text == NULL)
		return usual;
	if (text[strspn(text, "0123456789")] != '\0') {
		snprintf(options->not_numbers + used, sizeof options->not_numbers - used, " %s", name);
		return usual;
	}
	uint64_t wanted = strtoull(text, NULL, 10);
	return wanted < least ? least : wanted < most ? wanted : most;
}

const char *moriens_options_run(void)
{
	return text_of("MORIENS_RUN");
}

bool moriens_options_off(void)
{
	const char *whole = text_of("MORIENS");

	return whole != NULL && strcmp(whole, "off") == 0;
}

bool moriens_options_stack(void)
{
	struct moriens_options numbers = {.not_numbers = ""}; /* as for moriens_options_launch */

	return number(&numbers, "MORIENS_STACK", 1, 0, 1) != 0;
}

static const char *const family_names[MORIENS_REGION_FAMILIES] = {"tau", "kokkos", "nvtx", "caliper"};

const char *moriens_options_family(unsigned n)
{
	return family_names[n];
}

static uint32_t family_of(const char *name, size_t length)
{
	for (unsigned n = 0; n < MORIENS_REGION_FAMILIES; n++) {
		if (strlen(family_names[n]) == length && strncmp(family_names[n], name, length) == 0)
			return 1u << n;
	}
	return 0;
}

uint32_t moriens_options_regions(char *unknown, size_t bytes)
{
	const char *list = text_of("MORIENS_REGIONS");
	uint32_t families = 0;

	for (size_t length; list != NULL && *list != '\0'; list += length) {
		list += strspn(list, ", ");
		length = strcspn(list, ", ");
		uint32_t family = family_of(list, length);
		if (length != 0 && family == 0 && unknown != NULL) {
			size_t used = strlen(unknown);
			snprintf(unknown + used, bytes - used, " %.*s", (int)(length < 64 ? length : 64), list);
		}
		families |= family;
	}
	return families;
}

bool moriens_options_pcontrol(void)
{
	const char *what = text_of("MORIENS_PCONTROL");

	return what != NULL && strcmp(what, "phases") == 0;
}

static const char *shm_of(void)
{
	const char *shm = text_of("MORIENS_SHM");

	return shm != NULL ? shm : "/dev/shm";
}

const char *moriens_options_probe(void)
{
	const char *probe = text_of("MORIENS_PROBE");

	return probe != NULL && moriens_options_run() == NULL ? probe : NULL;
}

bool moriens_options_read(struct moriens_options *options, const char *run)
{
	options->run = run;
	options->shm = shm_of();
	options->not_numbers[0] = '\0';
	options->not_families[0] = '\0';
	(void)moriens_options_regions(options->not_families, sizeof options->not_families);
	options->not_pcontrol = moriens_options_pcontrol() ? NULL : text_of("MORIENS_PCONTROL");
	options->ring_bytes = power_of_two(number(options, "MORIENS_RING", DEFAULT_RING_BYTES, MORIENS_MIN_RING_BYTES, MAX_RING_BYTES));
	options->ring_most = number(options, "MORIENS_RING_MAX", DEFAULT_RING_MOST, 0, MAX_RING_BYTES);
	options->poll_gap_us = number(options, "MORIENS_POLL_GAP", DEFAULT_POLL_GAP_US, 0, MAX_POLL_GAP_US);
	options->drain_ms = number(options, "MORIENS_DRAIN", DEFAULT_DRAIN_MS, 0, MAX_DRAIN_MS);
	options->events = text_of("MORIENS_EVENTS");
	options->phase_counters = number(options, "MORIENS_PHASE_COUNTERS", 0, 0, 1) != 0;
	options->papi = text_of("MORIENS_PAPI");
	(void)number(options, "MORIENS_TIMEOUT", DEFAULT_TIMEOUT_S, 0, MAX_TIMEOUT_S);
	options->stack = number(options, "MORIENS_STACK", 1, 0, 1) != 0;
	options->callpath = (uint32_t)number(options, "MORIENS_CALLPATH", DEFAULT_CALLPATH, 1, MORIENS_MAX_CALLPATH);
	return strlen(run) <= MAX_RUN_BYTES && strchr(run, '/') == NULL;
}

void moriens_options_launch(struct moriens_launch_options *options)
{
	struct moriens_options numbers = {.not_numbers = ""}; /* invalid ones are noted by moriens_options_read */

	options->shm = shm_of();
	options->program = text_of("MORIENS_BIN");
	options->directory = text_of("MORIENS_DIR");
	options->job = text_of("MORIENS_JOB");
	options->timeout_s = number(&numbers, "MORIENS_TIMEOUT", DEFAULT_TIMEOUT_S, 0, MAX_TIMEOUT_S);
}
