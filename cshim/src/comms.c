#include "comms.h"
#include "clock.h"
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

#define BITS 3

/* Of this thread. */
static _Thread_local struct entry {
	word reference; /* 0 = no entry */
	struct moriens_comm *comm;
} entries[1 << BITS];

static struct moriens_handles comms = MORIENS_HANDLES(struct moriens_comm);
static uint64_t serials; /* given; under the lock of comms */

static struct {
	uint64_t key; /* 0 = no entry */
	uint32_t times;
} times_made[KEYS]; /* under the lock of comms */
static uint32_t keys;

/* The C handle behind a reference. */
static word handle_of(word reference)
{
	word (*const f2c[])(int) = {
		[MORIENS_KIND_COMM] = moriens_mpi.comm_f2c,
		[MORIENS_KIND_WIN] = moriens_mpi.win_f2c,
		[MORIENS_KIND_FILE] = moriens_mpi.file_f2c,
	};
	enum moriens_comm_kind kind = moriens_kind_of(reference);

	return moriens_c_handle(reference & ~moriens_kind_bits(kind), f2c[kind]);
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

/* Fills in what MPI reports of a communicator. */
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

/* What distinguishes one world from others: where the launcher has no name for it, no two processes have the same. */
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
	word key = handle | moriens_kind_bits(kind);
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

MORIENS_COLD static struct moriens_comm *look_up(word reference)
{
	enum moriens_comm_kind kind = moriens_kind_of(reference);
	word handle = handle_of(reference);
	struct moriens_comm *c;

	if (is_null(kind, handle))
		return NULL; /* MPI says what it thinks of that */
	c = moriens_handles_find(&comms, handle | moriens_kind_bits(kind));
	return c != NULL ? c : meet(kind, handle);
}

struct moriens_comm *moriens_comm_other(struct moriens_comm_cache *cache, word reference)
{
	uint64_t frees = __atomic_load_n(&moriens_comm_frees, __ATOMIC_ACQUIRE);
	struct entry *entry = &entries[reference * 0x9e3779b97f4a7c15u >> (64 - BITS)];

	if (unlikely(cache->frees != frees)) {
		memset(entries, 0, sizeof entries);
		*cache = (struct moriens_comm_cache){.frees = frees};
	}
	if (unlikely(entry->reference != reference)) {
		struct moriens_comm *c = look_up(reference);
		if (c == NULL)
			return NULL;
		*entry = (struct entry){reference, c};
	}
	cache->reference = reference;
	cache->comm = entry->comm;
	return entry->comm;
}

/* How many times the key has occurred before; false: there is no room to count it. Under the lock. */
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

/* Of a communicator with ranks of several worlds that was made of another such one, what they all know of it. */
static uint64_t common_key(const struct moriens_comm *what, enum moriens_comm_kind kind, word handle, const struct moriens_birth *birth)
{
	const struct moriens_comm *parent = birth->parent;
	uint64_t key = moriens_mix(birth->keyed ? SEED_KEYED : SEED_MADE, birth->keyed ? birth->key : birth->ordinal);

	key = moriens_mix(key, what->flags & (MORIENS_COMM_INTER | MORIENS_COMM_WINDOW | MORIENS_COMM_FILE));
	/* A window's and a file's ranks are those of the parent. */
	if (kind == MORIENS_KIND_COMM)
		key = moriens_mix(key, moriens_places_hash(handle, (what->flags & MORIENS_COMM_INTER) != 0, parent->key.handle, (parent->flags & MORIENS_COMM_INTER) != 0));
	return key;
}

/* What an object that was made is, but for how often the same was. */
static void conceive(struct moriens_comm *what, struct moriens_log_origin *origin, enum moriens_comm_kind kind, word handle,
	const struct moriens_birth *birth)
{
	bool foreign = false;

	memset(what, 0, sizeof *what);
	memset(origin, 0, sizeof *origin);
	if (kind != MORIENS_KIND_COMM && birth->parent != NULL) {
		foreign = birth->parent->met;
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
	origin->how = birth->how;
	origin->began = birth->began;
	origin->length = birth->length;
	if (birth->how == 0 && birth->parent != NULL && birth->parent->met) {
		origin->how = MORIENS_ORIGIN_DERIVED;
		origin->parent = moriens_comm_number(birth->parent);
		origin->key = common_key(what, kind, handle, birth);
	}
	what->met = origin->how != 0;
	/* In others, the same calls make the same of ranks that are others. */
	if (origin->how != MORIENS_ORIGIN_DERIVED)
		what->id = moriens_mix(what->id, hash_world());
}

void moriens_comm_made(word reference, const struct moriens_birth *birth)
{
	enum moriens_comm_kind kind = moriens_kind_of(reference);
	word handle = handle_of(reference);
	struct moriens_log_origin origin;
	struct moriens_comm what, *c;
	uint32_t times = 0;

	if (is_null(kind, handle))
		return;
	conceive(&what, &origin, kind, birth->like != 0 ? birth->like : handle, birth);
	pthread_mutex_lock(&comms.lock);
	if (birth->keyed && !count_key(what.id, &times))
		what.flags |= MORIENS_COMM_GUESSED;
	what.id = moriens_mix(what.id, times);
	c = insert(&what, handle | moriens_kind_bits(kind));
	pthread_mutex_unlock(&comms.lock);
	if (c == NULL || !what.met)
		return;
	/* While it is known: what it was made of may be gone when a record names it. */
	if (origin.how == MORIENS_ORIGIN_DERIVED)
		origin.key = moriens_mix(origin.key, times);
	else
		origin.ended = moriens_ticks();
	moriens_comm_define(c, &origin, birth->text);
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
