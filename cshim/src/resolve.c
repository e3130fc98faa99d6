#include "resolve.h"
#include "os.h"
#include "past.h"
#include "stack.h"

#include <ctype.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

moriens_function moriens_real_functions[MORIENS_CALLS];

static const char *const pmpi_names[MORIENS_CALLS] = {MORIENS_PMPI_NAMES};

/* The library that brought MPI by dlopen(RTLD_LOCAL), where one did. It is never given back: the
 * functions that were found in it must stay. */
static void *local_library;

static void *open_library_of(const void *site)
{
	void *library = __atomic_load_n(&local_library, __ATOMIC_ACQUIRE);
	struct link_map *map = NULL;
	Dl_info info;

	if (library == NULL && site != NULL) {
		if (dladdr1(site, &info, (void **)&map, RTLD_DL_LINKMAP) != 0 && map != NULL)
			library = dlopen(map->l_name, RTLD_LAZY | RTLD_NOLOAD);
		if (library == NULL || dlsym(library, "PMPI_Init") == NULL) {
			/* The caller has not brought MPI: it has found our function by dlsym. */
			if (library != NULL)
				dlclose(library);
			library = moriens_past_library(false, NULL, 0);
		}
		__atomic_store_n(&local_library, library, __ATOMIC_RELEASE);
	}
	return library;
}

void *moriens_find_symbol(const char *name, const void *site)
{
	void *symbol = dlsym(RTLD_NEXT, name);

	if (symbol == NULL) {
		void *library = open_library_of(site);
		if (library != NULL)
			symbol = dlsym(library, name);
	}
	return symbol;
}

/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
static moriens_function function_at(void *address)
{
	union {
		void *object;
		moriens_function function;
	} symbol = {address};

	return symbol.function;
}

moriens_function moriens_find_function(const char *name, const void *site)
{
	return function_at(moriens_find_symbol(name, site));
}

/* No result that we could return would be true. */
static _Noreturn void missing(const char *name, const void *site)
{
	char problem[128];

	if (moriens_find_symbol("PMPI_Init", site) == NULL) {
		snprintf(problem, sizeof problem, "the program called %s, but no MPI library is loaded", name);
		moriens_os_warn(problem, "open the MPI library first, with RTLD_GLOBAL (Python: ctypes.CDLL(\"libmpi.so\", mode=ctypes.RTLD_GLOBAL))");
		abort();
	}
	snprintf(problem, sizeof problem, "the program called %s, which its MPI library does not have", name);
	moriens_os_warn(problem, "link it to the MPI library that it was compiled for, and look up functions in that library");
	abort();
}

MORIENS_COLD moriens_function moriens_resolve(enum moriens_call call, const void *site)
{
	moriens_function f = function_at(moriens_stack_next(pmpi_names[call], site));

	if (f == NULL)
		missing(pmpi_names[call] + 1, site);
	__atomic_store_n(&moriens_real_functions[call], f, __ATOMIC_RELAXED);
	return f;
}

/* Finds mpi_x_ under the names that other compilers give it. */
static moriens_function find_mangled(const char *symbol, const void *site)
{
	char name[128];
	size_t stem = strlen(symbol) - 1;
	moriens_function f;

	if (stem + 3 > sizeof name || symbol[stem] != '_')
		return NULL;
	snprintf(name, sizeof name, "%s_", symbol);
	f = moriens_find_function(name, site);
	name[stem] = '\0';
	for (char *c = name; *c != '\0'; c++)
		*c = (char)toupper((unsigned char)*c);
	return f != NULL ? f : moriens_find_function(name, site);
}

MORIENS_COLD moriens_function moriens_resolve_kept(moriens_function *known, const char *pmpi, const void *site)
{
	moriens_function f = function_at(moriens_stack_next(pmpi, site));

	if (f == NULL)
		missing(pmpi + 1, site);
	__atomic_store_n(known, f, __ATOMIC_RELAXED);
	return f;
}

MORIENS_COLD moriens_function moriens_resolve_fortran(moriens_function *known, const char *symbol, const void *site)
{
	moriens_function f = function_at(moriens_stack_next_fortran(symbol, site));

	if (f == NULL)
		f = find_mangled(symbol, site);
	if (f == NULL)
		missing(symbol, site);
	__atomic_store_n(known, f, __ATOMIC_RELAXED);
	return f;
}
