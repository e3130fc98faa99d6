#include "paths.h"
#include "module.h"
#include "unwind.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

size_t moriens_paths_bytes(size_t paths, uint32_t depth)
{
	return paths * (sizeof(struct moriens_log_path) + depth * sizeof(struct moriens_log_frame));
}

int moriens_paths_init(struct moriens_paths *p, struct moriens_process_file *process, uint32_t depth)
{
	uint32_t size = 64;
	size_t known, addresses;

	memset(p, 0, sizeof *p);
	p->process = process;
	p->depth = depth;
	pthread_mutex_init(&p->lock, NULL);
	while (size < 2 * (process->file.bytes / moriens_paths_bytes(1, depth)))
		size *= 2;
	p->size = size;
	known = size * sizeof *p->known;
	addresses = size * depth * sizeof *p->addresses;
	p->memory_bytes = known + addresses + size * sizeof *p->defined;
	p->memory = moriens_os_memory(p->memory_bytes);
	if (p->memory == NULL)
		return ENOMEM;
	p->known = p->memory;
	p->addresses = (uintptr_t *)((char *)p->memory + known);
	p->defined = (uint32_t *)((char *)p->memory + known + addresses);
	return 0;
}

static uint64_t hash_bytes(uint64_t h, const void *bytes, size_t count)
{
	const uint8_t *b = bytes;

	for (size_t i = 0; i < count; i++)
		h = (h ^ b[i]) * 0x100000001b3u; /* FNV-1a */
	return h;
}

#define HASH_START 0xcbf29ce484222325u

uint32_t moriens_paths_define_module(struct moriens_paths *p, const char *path, const uint8_t *build_id, uint32_t build_id_bytes)
{
	size_t length = strlen(path);
	struct moriens_log_module m = {
		.entry = {
			.bytes = (uint32_t)((sizeof m + length + 7) & ~(size_t)7),
			.kind = MORIENS_LOG_MODULE,
			.length = (uint16_t)length,
		},
		.module = p->modules + 1,
		.build_id_bytes = build_id_bytes,
	};

	memcpy(m.build_id, build_id, build_id_bytes);
	return moriens_process_log(p->process, &m, sizeof m, path, length) ? ++p->modules : 0;
}

uint32_t moriens_paths_define(struct moriens_paths *p, const struct moriens_log_frame *frames, uint16_t count)
{
	struct moriens_log_path path = {
		.entry = {
			.bytes = (uint32_t)(sizeof path + count * sizeof *frames),
			.kind = MORIENS_LOG_PATH,
			.length = count,
		},
		.path = p->paths + 1,
	};

	return moriens_process_log(p->process, &path, sizeof path, frames, count * sizeof *frames) ? ++p->paths : 0;
}

/* The module's number; 0 when the log or our table is full. */
static uint32_t number_of(struct moriens_paths *p, const struct moriens_module *module)
{
	uint64_t identity = hash_bytes(HASH_START, module->path, strlen(module->path) + 1);
	uint32_t room = sizeof p->module / sizeof p->module[0];

	identity = hash_bytes(identity, module->build_id, module->build_id_bytes);
	for (uint32_t i = 0; i < p->modules && i < room; i++)
		if (p->module[i] == identity)
			return i + 1;
	if (p->modules >= room)
		return 0;
	p->module[p->modules] = identity;
	return moriens_paths_define_module(p, module->path, module->build_id, module->build_id_bytes);
}

static uint64_t hash_chain(const uintptr_t *chain, uint32_t count)
{
	uint64_t hash = 0;

	for (uint32_t i = 0; i < count; i++)
		hash = moriens_path_hash(hash, chain[i]);
	return hash;
}

/* The entry of a chain, or the empty one that it can have. Under the lock. */
static uint32_t place_of(const struct moriens_paths *p, const uintptr_t *chain, uint32_t count, uint64_t hash)
{
	uint32_t mask = p->size - 1;
	uint32_t i = (uint32_t)(hash >> 32) & mask;

	while (p->known[i].count != 0 &&
	       (p->known[i].hash != hash || p->known[i].count != count ||
		memcmp(&p->addresses[(size_t)i * p->depth], chain, count * sizeof *chain) != 0))
		i = (i + 1) & mask;
	return i;
}

/* Under the lock. */
static void forget_unloaded(struct moriens_paths *p)
{
	uint64_t unloads = __atomic_load_n(&moriens_module_unloads, __ATOMIC_ACQUIRE);

	if (p->unloads == unloads)
		return;
	memset(p->known, 0, p->size * sizeof *p->known);
	p->used = 0;
	p->unloads = unloads;
}

bool moriens_paths_find(struct moriens_paths *p, const uintptr_t *chain, uint32_t count, uint32_t *path)
{
	uint64_t hash = hash_chain(chain, count);

	pthread_mutex_lock(&p->lock);
	forget_unloaded(p);
	const struct moriens_known_path *entry = &p->known[place_of(p, chain, count, hash)];
	bool found = entry->count != 0;
	*path = entry->path;
	pthread_mutex_unlock(&p->lock);
	return found;
}

uint32_t moriens_paths_fold(uintptr_t *chain, uint32_t count)
{
	for (uint32_t first = 0; first < count; first++) {
		uint32_t last = first, times = 1;

		for (uint32_t i = first + 1; chain[first] != 0 && i < count; i++)
			if (chain[i] == chain[first]) {
				last = i;
				times++;
			}
		if (times <= MORIENS_FOLD)
			continue;
		chain[first + 1] = 0;
		memmove(&chain[first + 2], &chain[last], (count - last) * sizeof *chain);
		count -= last - first - 2;
	}
	return count;
}

static const struct moriens_log_path *defined_at(const struct moriens_paths *p, uint32_t i)
{
	return (const void *)(p->process->log + (size_t)(p->defined[i] - 1) * 8);
}

/* Whether a path of these frames is defined, and where its entry is, or can be. Under the lock. */
static bool find_frames(const struct moriens_paths *p, const struct moriens_log_frame *frames, uint32_t count, uint32_t *at)
{
	uint32_t i = (uint32_t)(hash_bytes(HASH_START, frames, count * sizeof *frames) >> 32) & (p->size - 1);

	for (; p->defined[i] != 0; i = (i + 1) & (p->size - 1)) {
		const struct moriens_log_path *other = defined_at(p, i);
		if (other->entry.length == count && memcmp(other + 1, frames, count * sizeof *frames) == 0)
			break;
	}
	*at = i;
	return p->defined[i] != 0;
}

uint32_t moriens_paths_cut(uint32_t count, uint64_t used, uint64_t room)
{
	uint32_t most = used > room / 16 * 15 ? 1 : used > room / 4 * 3 ? MORIENS_CUT_FRAMES : count;

	return count < most ? count : most;
}

/* Shortens a new path where the log is nearly full, and informs the user once of each length. Under the lock. */
static uint32_t shorten(struct moriens_paths *p, const struct moriens_log_frame *frames, uint32_t count)
{
	const struct moriens_log_frame mark = {.module = 0};
	uint32_t left = moriens_paths_cut(count, p->process->header->log_head, p->process->header->log_bytes);
	char text[160];

	while (left > 1 && left < count && memcmp(&frames[left - 1], &mark, sizeof mark) == 0)
		left--;
	if (left == count)
		return count;
	uint32_t most = left > 1 ? MORIENS_CUT_FRAMES : 1;
	if (p->cut == 0 || most < p->cut) {
		p->cut = most;
		snprintf(text, sizeof text, "further call paths have %" PRIu32 " frame%s at most: there is little room left for them", most, most == 1 ? "" : "s");
		moriens_process_note(p->process, text);
	}
	return left;
}

/* The number of a path that may have been defined under other addresses. Under the lock. */
static uint32_t number_of_frames(struct moriens_paths *p, const struct moriens_log_frame *frames, uint32_t count)
{
	uint32_t i, path, left;

	if (find_frames(p, frames, count, &i))
		return defined_at(p, i)->path;
	left = shorten(p, frames, count);
	if (left != count && find_frames(p, frames, left, &i))
		return defined_at(p, i)->path;
	uint64_t head = p->process->header->log_head;
	if (p->paths >= p->size / 4 * 3)
		return 0;
	path = moriens_paths_define(p, frames, (uint16_t)left);
	if (path != 0)
		p->defined[i] = (uint32_t)(head / 8) + 1;
	return path;
}

uint32_t moriens_paths_intern(struct moriens_paths *p, const uintptr_t *chain, uint32_t count)
{
	struct moriens_log_frame frames[MORIENS_MAX_CALLPATH];
	uint64_t hash = hash_chain(chain, count);
	uint32_t path = 0;
	bool room = true;

	if (moriens_paths_find(p, chain, count, &path))
		return path;
	for (uint32_t i = 0; i < count; i++) {
		struct moriens_module module;
		/* Before the lock: a constructor that calls MPI holds the loader's locks and would wait for ours. */
		bool known = chain[i] != 0 && moriens_module_find(chain[i], &module);
		frames[i] = (struct moriens_log_frame){.offset = chain[i] - (known ? module.base : 0)};
		if (known) {
			pthread_mutex_lock(&p->lock);
			frames[i].module = number_of(p, &module);
			pthread_mutex_unlock(&p->lock);
			room = room && frames[i].module != 0;
		}
	}
	pthread_mutex_lock(&p->lock);
	forget_unloaded(p);
	uint32_t place = place_of(p, chain, count, hash);
	struct moriens_known_path *entry = &p->known[place];
	if (entry->count != 0) {
		path = entry->path; /* another thread was first */
	} else {
		path = room ? number_of_frames(p, frames, count) : 0;
		if (path == 0)
			__atomic_fetch_add(&p->process->header->paths_lost, 1, __ATOMIC_RELAXED);
		if (p->used < p->size / 4 * 3) {
			*entry = (struct moriens_known_path){hash, path, count};
			memcpy(&p->addresses[(size_t)place * p->depth], chain, count * sizeof *chain);
			p->used++;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return path;
}

static uint32_t define_place(struct moriens_paths *p, const char *text, size_t file_bytes, size_t bytes, uint32_t line)
{
	struct moriens_log_place place = {
		.entry = {
			.bytes = (uint32_t)((sizeof place + bytes + 7) & ~(size_t)7),
			.kind = MORIENS_LOG_PLACE,
			.length = (uint16_t)bytes,
		},
		.place = p->places + 1,
		.line = line,
		.file_bytes = (uint32_t)file_bytes,
	};

	return moriens_process_log(p->process, &place, sizeof place, text, bytes) ? ++p->places : 0;
}

/* Under the lock. */
static uint32_t number_of_place(struct moriens_paths *p, const char *text, size_t file_bytes, size_t bytes, uint32_t line)
{
	uint64_t hash = hash_bytes(hash_bytes(HASH_START, text, bytes), &line, sizeof line);
	uint32_t i = (uint32_t)(hash >> 32) & (MORIENS_PLACES - 1);
	uint64_t head = p->process->header->log_head;
	uint32_t number;

	for (; p->place[i] != 0; i = (i + 1) & (MORIENS_PLACES - 1)) {
		const struct moriens_log_place *other = (const void *)(p->process->log + (size_t)(p->place[i] - 1) * 8);
		if (other->line == line && other->file_bytes == file_bytes && other->entry.length == bytes && memcmp(other + 1, text, bytes) == 0)
			return other->place;
	}
	if (p->places >= MORIENS_PLACES / 4 * 3)
		return 0;
	number = define_place(p, text, file_bytes, bytes, line);
	if (number != 0)
		p->place[i] = (uint32_t)(head / 8) + 1;
	return number;
}

uint32_t moriens_paths_place(struct moriens_paths *p, const char *file, const char *function, uint32_t line)
{
	char text[4096];
	size_t file_bytes = strnlen(file, sizeof text / 2);
	size_t function_bytes = strnlen(function, sizeof text / 2);
	uint32_t number;

	memcpy(text, file, file_bytes);
	memcpy(text + file_bytes, function, function_bytes);
	pthread_mutex_lock(&p->lock);
	number = number_of_place(p, text, file_bytes, file_bytes + function_bytes, line);
	pthread_mutex_unlock(&p->lock);
	return number;
}

uint32_t moriens_paths_of_places(struct moriens_paths *p, const uint32_t *places, uint32_t count)
{
	struct moriens_log_frame frames[MORIENS_MAX_CALLPATH];
	uintptr_t folded[MORIENS_MAX_CALLPATH];
	uint32_t path = 0;

	for (uint32_t i = 0; i < count; i++)
		folded[i] = places[i];
	count = moriens_paths_fold(folded, count);
	memset(frames, 0, count * sizeof *frames);
	for (uint32_t i = 0; i < count; i++)
		frames[i].place = (uint32_t)folded[i];
	pthread_mutex_lock(&p->lock);
	path = number_of_frames(p, frames, count);
	pthread_mutex_unlock(&p->lock);
	return path;
}
