/* The log's entries of communicators. */
#include "comms.h"
#include "groups.h"
#include "os.h"
#include "run.h"

#include <string.h>

static uint32_t defined; /* in the log; under the log's lock */

/* What follows the fixed part of an entry. */
struct rest {
	char *memory;
	size_t room, bytes;
	uint32_t runs; /* moriens_log_ranks */
};

/* Puts the ranks into runs of one stride, as few as a greedy look finds. */
static void add_runs(struct rest *rest, const struct moriens_ranks *ranks)
{
	struct moriens_log_ranks *runs = (struct moriens_log_ranks *)(void *)rest->memory;

	for (uint32_t i = 0; i < ranks->count;) {
		struct moriens_log_ranks run = {.first = ranks->rank[i], .stride = 0, .count = 1};
		while (i + run.count < ranks->count) {
			int next = ranks->rank[i + run.count];
			int stride = next - ranks->rank[i + run.count - 1];
			if ((next < 0) != (run.first < 0) || (run.count > 1 && stride != run.stride))
				break;
			run.stride = stride;
			run.count++;
		}
		i += run.count;
		runs[rest->runs++] = run;
	}
	rest->bytes = (rest->runs * sizeof *runs + 7) & ~(size_t)7;
}

static void add_origin(struct rest *rest, const struct moriens_log_origin *origin, const char *text)
{
	memcpy(rest->memory + rest->bytes, origin, sizeof *origin);
	rest->bytes += sizeof *origin;
	if (origin->length > 0)
		memcpy(rest->memory + rest->bytes, text, origin->length);
	rest->bytes += origin->length;
}

/* The last quarter of the log is not for communicators: a program that makes them in a loop would leave nothing to the
 * call paths of its later phases. */
static bool log_has_room(size_t bytes)
{
	const struct moriens_process_file *process = &moriens_run.process;
	size_t room = (process->file.bytes - MORIENS_HEADER_BYTES) / 4 * 3;

	return bytes <= room && __atomic_load_n(&process->header->log_head, __ATOMIC_RELAXED) <= room - bytes;
}

static bool write_entry(struct moriens_comm *c, uint32_t flags, const struct rest *rest)
{
	struct moriens_log_comm entry = {
		.entry = {
			.bytes = (uint32_t)((sizeof entry + rest->bytes + 7) & ~(size_t)7),
			.kind = MORIENS_LOG_COMM,
			.length = (uint16_t)rest->runs,
		},
		.comm = defined + 1,
		.flags = c->flags | flags,
		.id = c->id,
		.rank = c->rank,
		.size = c->size,
		.peers = c->peers,
	};

	return log_has_room(entry.entry.bytes) && moriens_process_log(&moriens_run.process, &entry, sizeof entry, rest->memory, rest->bytes);
}

/* Under the log's lock. */
static uint32_t define(struct moriens_comm *c, uint32_t flags, const struct rest *rest)
{
	bool written = rest->memory != NULL && rest->runs <= UINT16_MAX && write_entry(c, flags, rest);

	if (!written) {
		c->flags |= MORIENS_COMM_CUT;
		written = write_entry(c, 0, &(struct rest){NULL, 0, 0, 0});
	}
	if (written) {
		__atomic_store_n(&c->number, ++defined, __ATOMIC_RELEASE);
	} else {
		c->lost = true;
		__atomic_fetch_add(&moriens_run.process.header->comms_lost, 1, __ATOMIC_RELAXED);
	}
	return c->number;
}

MORIENS_COLD uint32_t moriens_comm_define(struct moriens_comm *c, const struct moriens_log_origin *origin, const char *text)
{
	enum moriens_comm_kind kind = moriens_kind_of(c->key.handle);
	struct rest rest = {NULL, 0, 0, 0};
	struct moriens_ranks ranks;
	uint32_t number;

	if (__atomic_load_n(&c->lost, __ATOMIC_RELAXED))
		return 0;
	ranks = moriens_ranks_of(kind, c->key.handle & ~moriens_kind_bits(kind), (c->flags & MORIENS_COMM_INTER) != 0);
	rest.room = ranks.count * sizeof(struct moriens_log_ranks) + 8 + (origin != NULL ? sizeof *origin + origin->length : 0);
	if (ranks.rank != NULL && ranks.count == c->peers)
		rest.memory = moriens_os_memory(rest.room);
	if (rest.memory != NULL)
		add_runs(&rest, &ranks);
	if (rest.memory != NULL && origin != NULL)
		add_origin(&rest, origin, text);
	pthread_mutex_lock(&moriens_run.paths.lock);
	number = c->number != 0 || c->lost ? c->number : define(c, origin != NULL ? MORIENS_COMM_MET : 0, &rest);
	pthread_mutex_unlock(&moriens_run.paths.lock);
	if (rest.memory != NULL)
		moriens_os_unmap(rest.memory, rest.room);
	moriens_ranks_free(&ranks);
	return number;
}
