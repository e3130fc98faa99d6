#include "options.h"
#include "unwind.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_RING_BYTES (2u << 20)
#define MAX_RING_BYTES (1u << 30)
#define DEFAULT_POLL_GAP_US 20u
#define MAX_POLL_GAP_US 1000000u
#define DEFAULT_DRAIN_MS 1000u
#define MAX_DRAIN_MS 600000u

/* A directory entry holds 255 bytes; "moriens-", a user's number and a dash come before the name. */
#define MAX_RUN_BYTES 200

static uint64_t power_of_two(const char *text)
{
	uint64_t wanted = text == NULL ? 0 : strtoull(text, NULL, 10);
	uint64_t bytes = MORIENS_MIN_RING_BYTES;

	if (wanted == 0)
		return DEFAULT_RING_BYTES;
	while (bytes * 2 <= wanted && bytes < MAX_RING_BYTES)
		bytes *= 2;
	return bytes;
}

/* The usual value where the text is no number. */
static uint64_t number(const char *text, uint64_t usual, uint64_t most)
{
	char *end;

	if (text == NULL || text[0] == '\0')
		return usual;
	uint64_t wanted = strtoull(text, &end, 10);
	if (*end != '\0')
		return usual;
	return wanted < most ? wanted : most;
}

/* NULL where it is not set or empty. */
static const char *text_of(const char *name)
{
	const char *text = getenv(name);

	return text != NULL && text[0] != '\0' ? text : NULL;
}

static uint32_t frames(const char *text)
{
	uint64_t wanted = text == NULL ? 0 : strtoull(text, NULL, 10);

	if (wanted == 0)
		return 1;
	return wanted < MORIENS_MAX_CALLPATH ? (uint32_t)wanted : MORIENS_MAX_CALLPATH;
}

bool moriens_options_record(void)
{
	const char *run = getenv("MORIENS_RUN");

	return run != NULL && run[0] != '\0';
}

const char *moriens_options_probe(void)
{
	const char *probe = text_of("MORIENS_PROBE");

	return probe != NULL && !moriens_options_record() ? probe : NULL;
}

bool moriens_options_read(struct moriens_options *options)
{
	const char *shm = text_of("MORIENS_SHM");

	options->run = getenv("MORIENS_RUN");
	options->shm = shm != NULL ? shm : "/dev/shm";
	options->ring_bytes = power_of_two(getenv("MORIENS_RING"));
	options->poll_gap_us = number(getenv("MORIENS_POLL_GAP"), DEFAULT_POLL_GAP_US, MAX_POLL_GAP_US);
	options->drain_ms = number(getenv("MORIENS_DRAIN"), DEFAULT_DRAIN_MS, MAX_DRAIN_MS);
	options->events = text_of("MORIENS_EVENTS");
	options->papi = text_of("MORIENS_PAPI");
	options->callpath = frames(getenv("MORIENS_CALLPATH"));
	return options->run != NULL && strlen(options->run) <= MAX_RUN_BYTES && strchr(options->run, '/') == NULL;
}
