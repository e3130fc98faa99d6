#include "papi.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* PAPI_get_opt's PAPI_LIB_VERSION, which works before PAPI_library_init does. */
#define LIB_VERSION 21

/* PAPI_library_init wants PAPI_VER_CURRENT: the version without its last two parts. */
#define MAJOR_MINOR ((int)0xffff0000u)

struct moriens_papi moriens_papi;

/* Debian gives the minor version to the file's name too. */
static const char *const file_names[] = {
	"libpapi.so.7", "libpapi.so.7.2", "libpapi.so.7.1", "libpapi.so.7.0",
	"libpapi.so.6", "libpapi.so.6.0", "libpapi.so",
};

static void *open_library(const char *name)
{
	void *library = NULL;

	if (name != NULL)
		return dlopen(name, RTLD_NOW | RTLD_LOCAL);
	for (size_t i = 0; library == NULL && i < sizeof file_names / sizeof file_names[0]; i++)
		library = dlopen(file_names[i], RTLD_NOW | RTLD_LOCAL);
	return library;
}

static bool find_functions(void *library)
{
	const struct {
		const char *name;
		void *pointer; /* to a member of moriens_papi */
	} functions[] = {
		{"PAPI_library_init", &moriens_papi.library_init},
		{"PAPI_get_opt", &moriens_papi.get_opt},
		{"PAPI_thread_init", &moriens_papi.thread_init},
		{"PAPI_event_name_to_code", &moriens_papi.event_name_to_code},
		{"PAPI_get_event_component", &moriens_papi.get_event_component},
		{"PAPI_create_eventset", &moriens_papi.create_eventset},
		{"PAPI_add_event", &moriens_papi.add_event},
		{"PAPI_start", &moriens_papi.start},
		{"PAPI_read", &moriens_papi.read},
		{"PAPI_stop", &moriens_papi.stop},
		{"PAPI_cleanup_eventset", &moriens_papi.cleanup_eventset},
		{"PAPI_destroy_eventset", &moriens_papi.destroy_eventset},
		{"PAPI_strerror", &moriens_papi.strerror},
		{"PAPI_num_components", &moriens_papi.num_components},
		{"PAPI_get_component_info", &moriens_papi.get_component_info},
		{"PAPI_enum_event", &moriens_papi.enum_event},
		{"PAPI_query_event", &moriens_papi.query_event},
		{"PAPI_event_code_to_name", &moriens_papi.event_code_to_name},
	};

	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		void *symbol = dlsym(library, functions[i].name);
		if (symbol == NULL)
			return false;
		/* POSIX promises that a function's address survives as an object's. */
		memcpy(functions[i].pointer, &symbol, sizeof symbol);
	}
	return true;
}

const char *moriens_papi_load(const char *name)
{
	void *library = open_library(name);

	if (library == NULL)
		return "PAPI is not installed: no libpapi.so can be loaded";
	if (!find_functions(library))
		return "its PAPI library lacks functions: PAPI 6 or newer is needed";
	int version = moriens_papi_version() & MAJOR_MINOR;
	if (version <= 0 || moriens_papi.library_init(version) != version)
		return "PAPI cannot be initialised";
	/* The identity that programs give PAPI too: a second one would be refused. */
	moriens_papi.thread_init((unsigned long (*)(void))pthread_self);
	return NULL;
}

const char *moriens_papi_file(void)
{
	Dl_info info;
	union {
		int (*function)(int);
		void *object;
	} symbol = {moriens_papi.library_init};

	return dladdr(symbol.object, &info) != 0 ? info.dli_fname : "";
}

int moriens_papi_version(void)
{
	return moriens_papi.get_opt(LIB_VERSION, NULL);
}

const char *moriens_papi_reason(int error)
{
	const char *reason = moriens_papi.strerror(error);

	return reason != NULL ? reason : "PAPI gives no reason";
}
