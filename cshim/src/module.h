/* Which executable or library an address lies in. */
#ifndef MORIENS_MODULE_H
#define MORIENS_MODULE_H

#include "base.h"

#define MORIENS_BUILD_ID_BYTES 32

struct moriens_module {
	uintptr_t base; /* what the loader added to the file's addresses */
	uintptr_t frames; /* its .eh_frame_hdr, 0 = it has none */
	uint32_t build_id_bytes;
	uint8_t build_id[MORIENS_BUILD_ID_BYTES];
	char path[1024];
};

/* False: the address lies in no loaded file, such as code made at run time. */
bool moriens_module_find(uintptr_t address, struct moriens_module *module);

/* Path of this library, or of the program that it is linked into, as the loader knows it. */
void moriens_module_self(char *path, size_t bytes);

/*
 * How many times libraries were unloaded, as far as we know; atomic. When it has grown, another library can
 * lie where one was, and what was known of an address holds no more.
 */
extern MORIENS_HIDDEN uint64_t moriens_module_unloads;

/* Asks the loader. */
void moriens_module_look_for_unloads(void);

#endif
