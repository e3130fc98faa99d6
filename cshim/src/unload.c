/*
 * dlclose: after it another library may lie where one was, and what threads know of its addresses must go before the
 * first call from there. What is unloaded without this function (by the C library for itself, or from a library
 * that was loaded with RTLD_DEEPBIND) is noticed only when some thread meets a new address.
 */
#include "module.h"
#include "regions.h"
#include "run.h"

#include <dlfcn.h>

typedef int (*close_function)(void *);

MORIENS_PUBLIC int dlclose(void *library)
{
	static close_function real;
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		close_function function;
	} symbol = {.function = __atomic_load_n(&real, __ATOMIC_RELAXED)};

	if (symbol.object == NULL) {
		symbol.object = dlsym(RTLD_NEXT, "dlclose");
		__atomic_store_n(&real, symbol.function, __ATOMIC_RELAXED);
	}
	int result = symbol.function(library);
	if (moriens_run_state() == MORIENS_RUN_RECORDS || moriens_regions_known())
		moriens_module_look_for_unloads();
	return result;
}
