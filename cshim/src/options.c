#include "options.h"

#include <stdlib.h>
#include <string.h>

#define DEFAULT_RING_BYTES (4u << 20)
#define MAX_RING_BYTES (1u << 30)

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

bool moriens_options_record(void)
{
	const char *run = getenv("MORIENS_RUN");

	return run != NULL && run[0] != '\0';
}

bool moriens_options_read(struct moriens_options *options)
{
	const char *shm = getenv("MORIENS_SHM");

	options->run = getenv("MORIENS_RUN");
	options->shm = shm != NULL && shm[0] != '\0' ? shm : "/dev/shm";
	options->ring_bytes = power_of_two(getenv("MORIENS_RING"));
	return options->run != NULL && strlen(options->run) <= MAX_RUN_BYTES && strchr(options->run, '/') == NULL;
}
