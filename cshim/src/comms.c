#include "comms.h"
#include "groups.h"
#include "os.h"
#include "run.h"

#include <string.h>

#define SEED_WORLD 1u
#define SEED_SELF 2u
#define SEED_GUESSED 3u
#define SEED_MADE 4u
#define SEED_KEYED 5u

/* How often the same ranks have made the same: an open-addressing table, never more than three quarters full. */
#define KEYS 8192u

uint64_t moriens_comm_frees;

static struct moriens_handles comms = MORIENS_HANDLES(struct moriens_comm);
static uint64_t serials; /* given; under the lock of comms */
static uint32_t defined; /* in the log; under the log's lock */

static struct {
	uint64_t key; /* 0 = no entry */
	uint32_t times;
} times_made[KEYS]; /* under the lock of comms */
static uint32_t keys;

static enum moriens_comm_kind kind_of(word reference)
{
	return (enum moriens_comm_kind)(reference >> MORIENS_KIND_SHIFT & 3);
}

static word bits_of(enum moriens_comm_kind kind)
{
	return (word)kind << MORIENS_KIND_SHIFT;
}

/* The C handle behind a reference. */
static word handle_of(word reference)
{
	word (*const f2c[])(int) = {
		[MORIENS_KIND_COMM] = moriens_mpi.comm_f2c,
		[MORIENS_KIND_WIN] = moriens_mpi.win_f2c,
		[MORIENS_KIND_FILE] = moriens_mpi.file_f2c,
	};
	enum moriens_comm_kind kind = kind_of(reference);

	return moriens_c_handle(reference & ~bits_of(kind), f2c[kind]);
}

static bool is_null(enum moriens_comm_kind kind, word handle)
{
	const word null[] = {
		[MORIENS_KIND_COMM] = moriens_mpi.comm_null,
		[MORIENS_KIND_WIN] = moriens_mpi.win_null,
		[MORIENS_KIND_FILE] = moriens_mpi.file_null,
	};

	return handle == 0 || handle == null[kind];
}

static int ask(int (*question)(word, int *), word handle, int otherwise)
{
	int answer = otherwise;

	return question != NULL && question(handle, &answer) == 0 ? answer : otherwise;
}

/* Fills in what MPI tells of a communicator. */
static void describe_comm(struct moriens_comm *c, word handle)
{
	if (ask(moriens_mpi.comm_test_inter, handle, 0) != 0)
		c->flags |= MORIENS_COMM_INTER;
	c->rank = ask(moriens_mpi.comm_rank, handle, 0);
	c->size = (uint32_t)ask(moriens_mpi.comm_size, handle, 1);
	c->peers = (c->flags & MORIENS_COMM_INTER) != 0 ? (uint32_t)ask(moriens_mpi.comm_remote_size, handle, 0) : c->size;
}

/* The same of a window or a file, by its group. */
static void describe_group(struct moriens_comm *c, enum moriens_comm_kind kind, word handle)
{
	int (*group_of)(word, word *) = kind == MORIENS_KIND_WIN ? moriens_mpi.win_get_group : moriens_mpi.file_get_group;
	word group = 0;

	c->size = c->peers = 1;
	if (group_of == NULL || moriens_mpi.group_free == NULL || group_of(handle, &group) != 0)
		return;
	c->rank = ask(moriens_mpi.group_rank, group, 0);
	c->size = c->peers = (uint32_t)ask(moriens_mpi.group_size, group, 1);
	moriens_mpi.group_free(&group);
}

static uint32_t flags_of(enum moriens_comm_kind kind)
{
	return kind == MORIENS_KIND_WIN ? MORIENS_COMM_WINDOW : kind == MORIENS_KIND_FILE ? MORIENS_COMM_FILE : 0;
}

static void describe(struct moriens_comm *c, enum moriens_comm_kind kind, word handle)
{
	c->flags = flags_of(kind);
	if (kind == MORIENS_KIND_COMM)
		describe_comm(c, handle);
	else
		describe_group(c, kind, handle);
}

/* Puts it into the table, in the place of what had the handle before and was freed unseen. Under the lock. */
static struct moriens_comm *insert(const struct moriens_comm *what, word key)
{
	struct moriens_comm *old = moriens_handles_find(&comms, key);
	struct moriens_comm *c = moriens_handles_new(&comms);

	if (old != NULL) {
		moriens_handles_remove(&comms, old);
		__atomic_fetch_add(&moriens_comm_frees, 1, __ATOMIC_ACQ_REL);
	}
	if (c == NULL)
		return NULL;
	memcpy((char *)c + sizeof c->key, (const char *)what + sizeof c->key, sizeof *c - sizeof c->key);
	c->serial = ++serials;
	moriens_handles_add(&comms, c, key);
	return c;
}

/* What tells one world from others: where the launcher has no name for it, no two processes have the same. */
static uint64_t hash_world(void)
{
	const struct moriens_process *header = moriens_run.process.header;
	uint64_t hash = header->world[0] != '\0' ? 0 : header->process;

	for (const char *at = header->world; at < header->world + sizeof header->world && *at != '\0'; at++)
		hash = moriens_mix(hash, (unsigned char)*at);
	return hash;
}

/* One that is there from the beginning, or whose making was not seen. */
static struct moriens_comm *meet(enum moriens_comm_kind kind, word handle)
{
	struct moriens_comm what;
	bool foreign = false;
	word key = handle | bits_of(kind);
	struct moriens_comm *c;

	memset(&what, 0, sizeof what);
	describe(&what, kind, handle);
	if (kind == MORIENS_KIND_COMM && handle == moriens_mpi.comm_world) {
		what.id = moriens_mix(SEED_WORLD, 0);
	} else {
		bool self = kind == MORIENS_KIND_COMM && handle == moriens_mpi.comm_self;
		what.flags |= self ? 0 : MORIENS_COMM_GUESSED;
		what.id = moriens_mix(moriens_mix(self ? SEED_SELF : SEED_GUESSED, what.flags),
			moriens_members_hash(kind, handle, (what.flags & MORIENS_COMM_INTER) != 0, &foreign));
		/* Two worlds that were spawned one after the other both have such a communicator with their parents. */
		if (foreign)
			what.id = moriens_mix(what.id, hash_world());
	}
	pthread_mutex_lock(&comms.lock);
	c = moriens_handles_find(&comms, key); /* another thread may have been first */
	if (c == NULL)
		c = insert(&what, key);
	pthread_mutex_unlock(&comms.lock);
	return c;
}

MORIENS_COLD struct moriens_comm *moriens_comm_miss(struct moriens_comm_cache *cache, word reference)
{
	uint64_t frees = __atomic_load_n(&moriens_comm_frees, __ATOMIC_ACQUIRE);
	uint32_t at = (uint32_t)(reference * 0x9e3779b97f4a7c15u >> (64 - MORIENS_COMM_BITS));
	enum moriens_comm_kind kind = kind_of(reference);
	word handle = handle_of(reference);
	struct moriens_comm *c;

	if (cache->frees != frees) {
		memset(cache->entry, 0, sizeof cache->entry);
		cache->frees = frees;
	}
	if (is_null(kind, handle))
		return NULL; /* MPI says what it thinks of that */
	c = moriens_handles_find(&comms, handle | bits_of(kind));
	if (c == NULL)
		c = meet(kind, handle);
	if (c != NULL) {
		cache->entry[at].reference = reference;
		cache->entry[at].comm = c;
	}
	return c;
}

/* How often the key came before; false: there is no room to count it. Under the lock. */
static bool count_key(uint64_t key, uint32_t *times)
{
	uint32_t at = (uint32_t)(key >> 32) & (KEYS - 1);

	while (times_made[at].key != 0 && times_made[at].key != key)
		at = (at + 1) & (KEYS - 1);
	if (times_made[at].key == 0) {
		if (keys >= KEYS / 4 * 3)
			return false;
		keys++;
		times_made[at].key = key;
	}
	*times = times_made[at].times++;
	return true;
}

/* What an object that was made is, but for how often the same was. */
static void conceive(struct moriens_comm *what, enum moriens_comm_kind kind, word handle, const struct moriens_birth *birth)
{
	bool foreign = false;

	memset(what, 0, sizeof *what);
	if (kind != MORIENS_KIND_COMM && birth->parent != NULL) {
		what->flags = flags_of(kind);
		what->rank = birth->parent->rank;
		what->size = what->peers = birth->parent->size;
	} else {
		describe(what, kind, handle);
	}
	what->id = moriens_mix(birth->keyed ? SEED_KEYED : SEED_MADE, birth->parent != NULL ? birth->parent->id : 0);
	what->id = moriens_mix(what->id, birth->keyed ? birth->key : birth->ordinal);
	what->id = moriens_mix(what->id, what->flags);
	/* A window's and a file's ranks are those of the parent. */
	if (kind == MORIENS_KIND_COMM)
		what->id = moriens_mix(what->id, moriens_members_hash(kind, handle, (what->flags & MORIENS_COMM_INTER) != 0, &foreign));
	if (!foreign)
		return;
	what->flags |= MORIENS_COMM_GUESSED;
	/* Spawned by the ranks of one world. In others, the same calls make the same of ranks that are others. */
	if (!birth->keyed && birth->parent != NULL && (birth->parent->flags & MORIENS_COMM_GUESSED) == 0)
		what->id = moriens_mix(what->id, hash_world());
}

void moriens_comm_made(word reference, const struct moriens_birth *birth)
{
	enum moriens_comm_kind kind = kind_of(reference);
	word handle = handle_of(reference);
	struct moriens_comm what;
	uint32_t times = 0;

	if (is_null(kind, handle))
		return;
	conceive(&what, kind, birth->like != 0 ? birth->like : handle, birth);
	pthread_mutex_lock(&comms.lock);
	if (birth->keyed && !count_key(what.id, &times))
		what.flags |= MORIENS_COMM_GUESSED;
	what.id = moriens_mix(what.id, times);
	insert(&what, handle | bits_of(kind));
	pthread_mutex_unlock(&comms.lock);
}

void moriens_comm_freed(struct moriens_comm *c, uint64_t serial)
{
	pthread_mutex_lock(&comms.lock);
	if (c->serial == serial) {
		moriens_handles_remove(&comms, c);
		__atomic_fetch_add(&moriens_comm_frees, 1, __ATOMIC_ACQ_REL);
	}
	pthread_mutex_unlock(&comms.lock);
}

/* Puts the ranks into runs of one stride, as few as a greedy look finds; in place of the ranks' own memory no: runs has
 * room for as many as there are ranks. */
static uint32_t runs_of(const struct moriens_ranks *ranks, struct moriens_log_ranks *runs)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < ranks->count;) {
		struct moriens_log_ranks run = {.first = ranks->world[i], .stride = 0, .count = 1};
		while (i + run.count < ranks->count) {
			int next = ranks->world[i + run.count];
			int stride = next - ranks->world[i + run.count - 1];
			if ((next < 0) != (run.first < 0) || (run.count > 1 && stride != run.stride))
				break;
			run.stride = stride;
			run.count++;
		}
		i += run.count;
		runs[n++] = run;
	}
	return n;
}

/* The last quarter of the log is not for communicators: a program that makes them in a loop would leave nothing to the call
 * paths of its later phases. */
static bool log_has_room(size_t bytes)
{
	const struct moriens_process_file *process = &moriens_run.process;
	size_t room = (process->file.bytes - MORIENS_HEADER_BYTES) / 4 * 3;

	return bytes <= room && __atomic_load_n(&process->header->log_head, __ATOMIC_RELAXED) <= room - bytes;
}

static bool write_entry(struct moriens_comm *c, const struct moriens_log_ranks *runs, uint32_t count)
{
	struct moriens_log_comm entry = {
		.entry = {
			.bytes = (uint32_t)((sizeof entry + count * sizeof *runs + 7) & ~(size_t)7),
			.kind = MORIENS_LOG_COMM,
			.length = (uint16_t)count,
		},
		.comm = defined + 1,
		.flags = c->flags,
		.id = c->id,
		.rank = c->rank,
		.size = c->size,
		.peers = c->peers,
	};

	return log_has_room(entry.entry.bytes) &&
		moriens_process_log(&moriens_run.process, &entry, sizeof entry, runs, count * sizeof *runs);
}

/* Under the log's lock. */
static uint32_t define(struct moriens_comm *c, const struct moriens_log_ranks *runs, uint32_t count)
{
	bool written = runs != NULL && count <= UINT16_MAX && write_entry(c, runs, count);

	if (!written) {
		c->flags |= MORIENS_COMM_CUT;
		written = write_entry(c, runs, 0);
	}
	if (written) {
		__atomic_store_n(&c->number, ++defined, __ATOMIC_RELEASE);
	} else {
		c->lost = true;
		__atomic_fetch_add(&moriens_run.process.header->comms_lost, 1, __ATOMIC_RELAXED);
	}
	return c->number;
}

MORIENS_COLD uint32_t moriens_comm_define(struct moriens_comm *c)
{
	enum moriens_comm_kind kind = kind_of(c->key.handle);
	struct moriens_log_ranks *runs = NULL;
	struct moriens_ranks ranks;
	uint32_t count = 0;
	uint32_t number;

	if (__atomic_load_n(&c->lost, __ATOMIC_RELAXED))
		return 0;
	ranks = moriens_ranks_of(kind, c->key.handle & ~bits_of(kind), (c->flags & MORIENS_COMM_INTER) != 0);
	size_t bytes = ranks.count * sizeof *runs;
	if (ranks.world != NULL && ranks.count == c->peers)
		runs = moriens_os_memory(bytes);
	if (runs != NULL)
		count = runs_of(&ranks, runs);
	pthread_mutex_lock(&moriens_run.paths.lock);
	number = c->number != 0 || c->lost ? c->number : define(c, runs, count);
	pthread_mutex_unlock(&moriens_run.paths.lock);
	if (runs != NULL)
		moriens_os_unmap(runs, bytes);
	moriens_ranks_free(&ranks);
	return number;
}
