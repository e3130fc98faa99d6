#include "unwind.h"

#include <dlfcn.h>

/* The shim's own frames below the wrapper's caller. */
#define OWN_FRAMES 12

static int (*backtrace_by_libunwind)(void **, int);

bool moriens_unwind_load(void)
{
	static const char *const names[] = {"libunwind.so.8", "libunwind.so.1", "libunwind.so"};
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		int (*function)(void **, int);
	} symbol = {NULL};

	for (size_t i = 0; i < sizeof names / sizeof names[0] && symbol.object == NULL; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library != NULL)
			symbol.object = dlsym(library, "unw_backtrace"); /* LLVM's library of that name has none */
	}
	backtrace_by_libunwind = symbol.function;
	return symbol.object != NULL;
}

uint32_t moriens_unwind_backtrace(uintptr_t site, uintptr_t *chain, uint32_t count)
{
	void *raw[OWN_FRAMES + MORIENS_MAX_CALLPATH];
	int n = backtrace_by_libunwind(raw, (int)(OWN_FRAMES + count));
	int first = 0;
	uint32_t found = 0;

	while (first < n && (uintptr_t)raw[first] != site)
		first++;
	for (int i = first; i < n && found < count && raw[i] != NULL; i++)
		chain[found++] = (uintptr_t)raw[i];
	if (found == 0)
		chain[found++] = site;
	return found;
}
