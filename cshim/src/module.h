/* Which executable or library an address lies in. */
#ifndef MORIENS_MODULE_H
#define MORIENS_MODULE_H

#include "base.h"

#define MORIENS_BUILD_ID_BYTES 32

struct moriens_module {
	uintptr_t base; /* what the loader added to the file's addresses */
	uint32_t build_id_bytes;
	uint8_t build_id[MORIENS_BUILD_ID_BYTES];
	char path[1024];
};

/* False: the address lies in no loaded file, such as code made at run time. */
bool moriens_module_find(uintptr_t address, struct moriens_module *module);

#endif
