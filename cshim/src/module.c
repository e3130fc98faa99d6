#include "module.h"
#include "os.h"

#include <elf.h>
#include <link.h>
#include <stdio.h>
#include <string.h>

uint64_t moriens_module_unloads;

struct search {
	uintptr_t address;
	struct moriens_module *module;
};

static void read_build_id(const char *notes, size_t bytes, struct moriens_module *module)
{
	while (bytes >= sizeof(ElfW(Nhdr))) {
		ElfW(Nhdr) note;
		memcpy(&note, notes, sizeof note);
		size_t name = (note.n_namesz + 3u) & ~(size_t)3;
		size_t content = (note.n_descsz + 3u) & ~(size_t)3;
		if (name > bytes - sizeof note || content > bytes - sizeof note - name)
			return;
		const char *text = notes + sizeof note;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && memcmp(text, "GNU", 4) == 0 &&
		    note.n_descsz <= MORIENS_BUILD_ID_BYTES) {
			module->build_id_bytes = note.n_descsz;
			memcpy(module->build_id, text + name, note.n_descsz);
			return;
		}
		notes += sizeof note + name + content;
		bytes -= sizeof note + name + content;
	}
}

static int look(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct search *s = argument;
	bool inside = false;

	(void)size;
	for (int i = 0; i < info->dlpi_phnum && !inside; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uintptr_t start = info->dlpi_addr + segment->p_vaddr;
		inside = segment->p_type == PT_LOAD && s->address >= start && s->address - start < segment->p_memsz;
	}
	if (!inside)
		return 0;
	s->module->base = info->dlpi_addr;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		if (segment->p_type == PT_GNU_EH_FRAME)
			s->module->frames = info->dlpi_addr + segment->p_vaddr;
		else if (segment->p_type == PT_NOTE && s->module->build_id_bytes == 0)
			read_build_id((const char *)(info->dlpi_addr + segment->p_vaddr), segment->p_memsz, s->module);
	}
	strncpy(s->module->path, info->dlpi_name, sizeof s->module->path - 1);
	return 1;
}

bool moriens_module_find(uintptr_t address, struct moriens_module *module)
{
	struct search s = {address, module};

	memset(module, 0, sizeof *module);
	if (dl_iterate_phdr(look, &s) == 0)
		return false;
	if (module->path[0] == '\0') /* the loader has no name for the executable */
		moriens_os_executable(module->path, sizeof module->path);
	return true;
}

void moriens_module_self(char *path, size_t bytes)
{
	struct moriens_module self;

	moriens_module_find((uintptr_t)&moriens_module_unloads, &self);
	snprintf(path, bytes, "%s", self.path);
}

static int count_unloads(struct dl_phdr_info *info, size_t size, void *argument)
{
	uint64_t *unloads = argument;

	if (size >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof info->dlpi_subs)
		*unloads = info->dlpi_subs;
	return 1; /* every object gives the same */
}

void moriens_module_look_for_unloads(void)
{
	uint64_t unloads = 0;
	uint64_t known = __atomic_load_n(&moriens_module_unloads, __ATOMIC_RELAXED);

	dl_iterate_phdr(count_unloads, &unloads);
	while (known < unloads &&
	       !__atomic_compare_exchange_n(&moriens_module_unloads, &known, unloads, false, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
		;
}
