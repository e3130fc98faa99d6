#include "paths.h"
#include "module.h"

#include <errno.h>
#include <string.h>

/* A path of depth one takes this much of the log. */
#define PATH_BYTES (sizeof(struct moriens_log_path) + sizeof(struct moriens_log_frame))

int moriens_paths_init(struct moriens_paths *p, struct moriens_process_file *process)
{
	uint32_t size = 64;

	memset(p, 0, sizeof *p);
	p->process = process;
	pthread_mutex_init(&p->lock, NULL);
	while (size < 2 * (process->file.bytes / PATH_BYTES))
		size *= 2;
	p->table_size = size;
	p->table = moriens_os_memory(size * sizeof *p->table);
	return p->table == NULL ? ENOMEM : 0;
}

static uint64_t hash_text(const char *text)
{
	uint64_t h = 0xcbf29ce484222325u; /* FNV-1a */

	for (; *text != '\0'; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3u;
	return h;
}

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
	uint64_t name = hash_text(module->path);
	uint32_t room = sizeof p->module / sizeof p->module[0];

	for (uint32_t i = 0; i < p->modules && i < room; i++)
		if (p->module[i].base == module->base && p->module[i].name == name)
			return i + 1;
	if (p->modules >= room)
		return 0;
	p->module[p->modules] = (struct moriens_path_module){module->base, name};
	return moriens_paths_define_module(p, module->path, module->build_id, module->build_id_bytes);
}

static struct moriens_path_entry *find(struct moriens_paths *p, uintptr_t site)
{
	uint32_t i = (uint32_t)((site * 0x9e3779b97f4a7c15u) >> 32);

	while (p->table[i & (p->table_size - 1)].site != 0 && p->table[i & (p->table_size - 1)].site != site)
		i++;
	return &p->table[i & (p->table_size - 1)];
}

uint32_t moriens_paths_intern(struct moriens_paths *p, uintptr_t site)
{
	struct moriens_module module;
	/* Before the lock: a constructor that calls MPI holds the loader's locks and would wait for ours. */
	bool known = moriens_module_find(site, &module);
	uint32_t path = 0;

	pthread_mutex_lock(&p->lock);
	struct moriens_path_entry *entry = find(p, site);
	if (entry->site == site) {
		path = entry->path;
	} else {
		struct moriens_log_frame frame = {.module = known ? number_of(p, &module) : 0, .offset = site};
		if (frame.module != 0)
			frame.offset -= module.base;
		if (!known || frame.module != 0)
			path = moriens_paths_define(p, &frame, 1);
		if (path == 0)
			__atomic_fetch_add(&p->process->header->paths_lost, 1, __ATOMIC_RELAXED);
		if (p->table_used < p->table_size / 4 * 3) {
			*entry = (struct moriens_path_entry){site, path};
			p->table_used++;
		}
	}
	pthread_mutex_unlock(&p->lock);
	return path;
}
