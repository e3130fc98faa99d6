#include "names.h"

#include <string.h>

#define TABLE_SIZE 16384u         /* open addressing, never more than three quarters full */
#define ENTRIES_BYTES (1u << 20)  /* where the process has no log yet, this is the room */

/* number is stored last, and never changes. */
struct known_name {
	uint64_t hash;
	uint32_t entry;  /* where its log entry is among entries, an eighth of the place */
	uint32_t number; /* atomic; 0 = no entry */
};

static struct {
	pthread_mutex_t lock;
	struct known_name *table; /* atomic; NULL until the first name comes */
	char *entries;            /* as they are in the log */
	size_t bytes;             /* of entries that are used */
	size_t room;              /* for them */
	uint32_t count;
	uint64_t lost;            /* before there was a process file to count them in */
	struct moriens_process_file *process;
	pthread_mutex_t *log_lock;
} names = {.lock = PTHREAD_MUTEX_INITIALIZER, .room = ENTRIES_BYTES};

static uint64_t hash_name(const char *name, size_t bytes)
{
	uint64_t hash = bytes;

	for (; bytes >= sizeof(uint64_t); bytes -= sizeof(uint64_t), name += sizeof(uint64_t)) {
		uint64_t word8;
		memcpy(&word8, name, sizeof word8);
		hash = (hash ^ word8) * 0x9e3779b97f4a7c15u;
		hash ^= hash >> 29;
	}
	for (; bytes > 0; bytes--, name++)
		hash = (hash ^ (uint8_t)*name) * 0x9e3779b97f4a7c15u;
	return hash ^ hash >> 32;
}

/* A cut must not leave part of a character. */
static size_t cut(const char *name, size_t bytes)
{
	if (bytes <= MORIENS_MAX_NAME_BYTES)
		return bytes;
	bytes = MORIENS_MAX_NAME_BYTES;
	for (int i = 0; i < 3 && ((uint8_t)name[bytes] & 0xc0) == 0x80; i++)
		bytes--;
	return bytes;
}

/* The place of a name in the table, or the empty one that it can have. */
static struct known_name *place_of(struct known_name *table, const char *name, size_t bytes, uint64_t hash, uint32_t *number)
{
	uint32_t i = (uint32_t)hash & (TABLE_SIZE - 1);

	for (;; i = (i + 1) & (TABLE_SIZE - 1)) {
		struct known_name *known = &table[i];
		*number = __atomic_load_n(&known->number, __ATOMIC_ACQUIRE);
		if (*number == 0)
			return known;
		if (known->hash == hash) {
			const struct moriens_log_name *entry = (const void *)(names.entries + (size_t)known->entry * 8);
			if (entry->entry.length == bytes && memcmp(entry + 1, name, bytes) == 0)
				return known;
		}
	}
}

/* Under the lock. */
static bool make_table(void)
{
	char *memory;

	if (names.table != NULL)
		return true;
	memory = moriens_os_memory(TABLE_SIZE * sizeof *names.table + ENTRIES_BYTES);
	if (memory == NULL)
		return false;
	names.entries = memory + TABLE_SIZE * sizeof *names.table;
	__atomic_store_n(&names.table, (struct known_name *)(void *)memory, __ATOMIC_RELEASE);
	return true;
}

/* Puts an entry into the process's log. Under the lock. */
static bool log_entry(const struct moriens_log_name *entry)
{
	bool room;

	if (names.process == NULL)
		return true;
	pthread_mutex_lock(names.log_lock);
	room = moriens_process_log(names.process, entry, sizeof *entry, entry + 1, entry->entry.length);
	pthread_mutex_unlock(names.log_lock);
	return room;
}

/* Under the lock. 0: there is no room. */
static uint32_t define(struct known_name *place, const char *name, size_t bytes, uint64_t hash)
{
	struct moriens_log_name *entry = (void *)(names.entries + names.bytes);
	size_t whole = (sizeof *entry + bytes + 7) & ~(size_t)7;

	if (names.count >= TABLE_SIZE / 4 * 3 || whole > names.room || names.bytes > names.room - whole)
		return 0;
	*entry = (struct moriens_log_name){
		.entry = {.bytes = (uint32_t)whole, .kind = MORIENS_LOG_NAME, .length = (uint16_t)bytes},
		.name = names.count + 1,
	};
	memcpy(entry + 1, name, bytes);
	if (!log_entry(entry))
		return 0;
	place->hash = hash;
	place->entry = (uint32_t)(names.bytes / 8);
	names.bytes += whole;
	__atomic_store_n(&place->number, ++names.count, __ATOMIC_RELEASE);
	return names.count;
}

static MORIENS_COLD uint32_t intern_new(const char *name, size_t bytes, uint64_t hash)
{
	uint32_t number = 0;

	pthread_mutex_lock(&names.lock);
	if (make_table()) {
		struct known_name *place = place_of(names.table, name, bytes, hash, &number);
		if (number == 0) /* or another thread was first */
			number = define(place, name, bytes, hash);
	}
	if (number == 0 && names.process != NULL)
		__atomic_fetch_add(&names.process->header->names_lost, 1, __ATOMIC_RELAXED);
	else if (number == 0)
		names.lost++;
	pthread_mutex_unlock(&names.lock);
	return number;
}

uint32_t moriens_names_intern(const char *name, size_t bytes)
{
	struct known_name *table = __atomic_load_n(&names.table, __ATOMIC_ACQUIRE);
	uint32_t number = 0;
	uint64_t hash;

	bytes = cut(name, bytes);
	hash = hash_name(name, bytes);
	if (likely(table != NULL))
		place_of(table, name, bytes, hash, &number);
	return likely(number != 0) ? number : intern_new(name, bytes, hash);
}

void moriens_names_attach(struct moriens_process_file *process, pthread_mutex_t *lock)
{
	pthread_mutex_lock(&names.lock);
	names.process = process;
	names.log_lock = lock;
	names.room = (process->file.bytes - MORIENS_HEADER_BYTES) / 2;
	if (names.room > ENTRIES_BYTES)
		names.room = ENTRIES_BYTES;
	process->header->names_lost = names.lost;
	for (size_t at = 0; at < names.bytes;) {
		const struct moriens_log_name *entry = (const void *)(names.entries + at);
		/* What the log has no room for has no name there, and the agent counts its marks. */
		if (at + entry->entry.bytes > names.room || !log_entry(entry))
			break;
		at += entry->entry.bytes;
	}
	pthread_mutex_unlock(&names.lock);
}

void moriens_names_forked(void)
{
	pthread_mutex_init(&names.lock, NULL);
}
