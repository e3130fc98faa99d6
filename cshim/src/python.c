#include "python.h"
#include "module.h"
#include "os.h"
#include "process.h"
#include "pyframe.h"
#include "run.h"
#include "unwind.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SITES 1024u  /* a power of two, three quarters of which are used at most: mpi4py has some 400 */
#define CHAINS 1024u /* a power of two */

struct moriens_python_chain {
	uint64_t key; /* 0 = no entry */
	uint32_t path;
};

struct moriens_python_cache {
	uint32_t sites;
	uintptr_t site[SITES]; /* return addresses in modules that call MPI for Python programs: open addressing */
	struct moriens_python_chain chain[CHAINS];
};

enum state {
	NOT_LOOKED = 0, /* there may be an interpreter */
	FOUND,          /* its frames are known; none was read yet */
	READ,           /* one was, and made sense */
	UNKNOWN,        /* its frames are not known, or what was read made none */
};

static struct {
	enum state state; /* atomic; changes under the lock */
	pthread_mutex_t lock;
	struct moriens_python layout;
	uintptr_t (*thread)(void); /* the calling thread's state; needs no lock of Python's */
} python = {.lock = PTHREAD_MUTEX_INITIALIZER};

static enum state get_state(void)
{
	return __atomic_load_n(&python.state, __ATOMIC_ACQUIRE);
}

static void set_state(enum state state)
{
	__atomic_store_n(&python.state, state, __ATOMIC_RELEASE);
}

bool moriens_python_calls_from(const char *module)
{
	const char *name = strrchr(module, '/');

	name = name != NULL ? name + 1 : module;
	if (strncmp(name, "libffi.so", 9) == 0 || strncmp(name, "libffi-", 7) == 0)
		return true;
	/* MPI.cpython-311-x86_64-linux-gnu.so, MPI.abi3.so, MPI.mpich.so, … */
	const char *end = strrchr(name, '.');
	return strncmp(name, "MPI.", 4) == 0 && end != NULL && strcmp(end, ".so") == 0;
}

static void say(const char *why)
{
	char text[256];

	snprintf(text, sizeof text, "Python's MPI calls are located by module, not by Python line: %s", why);
	pthread_mutex_lock(&moriens_run.paths.lock);
	moriens_process_note(&moriens_run.process, text);
	pthread_mutex_unlock(&moriens_run.paths.lock);
}

/* Keeps a library from being unloaded. */
static void pin(const void *symbol)
{
	Dl_info info;

	if (dladdr(symbol, &info) != 0 && info.dli_fname != NULL)
		dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
}

/* Under the lock. */
static enum state find(void)
{
	char why[160];
	unsigned long version;
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		uintptr_t (*function)(void);
	} thread = {dlsym(RTLD_DEFAULT, "PyGILState_GetThisThreadState")};
	const void *its_version = dlsym(RTLD_DEFAULT, "Py_Version"), *runtime = dlsym(RTLD_DEFAULT, "_PyRuntime");

	if (dlsym(RTLD_DEFAULT, "Py_GetVersion") == NULL)
		return NOT_LOOKED; /* libffi is not Python's alone */
	if (its_version == NULL || thread.object == NULL) {
		say("frames of CPython before 3.11 are not supported, only those of 3.11 to 3.13");
		return UNKNOWN;
	}
	if (!moriens_os_read_memory((uintptr_t)its_version, &version, sizeof version)) {
		say("the kernel forbids process_vm_readv on the own process");
		return UNKNOWN;
	}
	if (!moriens_python_layout(&python.layout, version, (uintptr_t)runtime, why, sizeof why)) {
		say(why);
		return UNKNOWN;
	}
	python.layout.code_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyCode_Type");
	python.layout.text_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyUnicode_Type");
	python.layout.bytes_type = (uintptr_t)dlsym(RTLD_DEFAULT, "PyBytes_Type");
	python.thread = thread.function;
	pin(thread.object);
	return FOUND;
}

static void look(void)
{
	pthread_mutex_lock(&python.lock);
	if (get_state() == NOT_LOOKED)
		set_state(find());
	pthread_mutex_unlock(&python.lock);
}

static void was_read(enum moriens_python_step step)
{
	pthread_mutex_lock(&python.lock);
	if (step == MORIENS_PYTHON_WRONG && get_state() != UNKNOWN) {
		say("its memory layout differs from that version of CPython");
		set_state(UNKNOWN);
	} else if (step == MORIENS_PYTHON_PLACE && get_state() == FOUND) {
		set_state(READ);
	}
	pthread_mutex_unlock(&python.lock);
}

/* The number of the path of a thread's innermost frames; 0: there are none, they cannot be read, or there is
 * no room. */
static MORIENS_COLD uint32_t learn(uintptr_t thread, uint32_t depth)
{
	struct moriens_python_place place;
	uint32_t places[MORIENS_MAX_CALLPATH];
	uint32_t count = 0;
	bool wrong, room = true;
	uintptr_t frame = moriens_python_frame(&python.layout, thread, &wrong);
	enum moriens_python_step step = wrong ? MORIENS_PYTHON_WRONG : MORIENS_PYTHON_END;

	while (!wrong && room && count < depth) {
		step = moriens_python_step(&python.layout, &frame, &place);
		if (step != MORIENS_PYTHON_PLACE)
			break;
		places[count] = moriens_paths_place(&moriens_run.paths, place.file, place.function, place.line);
		room = places[count++] != 0;
	}
	was_read(count > 0 && step == MORIENS_PYTHON_END ? MORIENS_PYTHON_PLACE : step);
	return step != MORIENS_PYTHON_WRONG && room && count > 0 ? moriens_paths_of_places(&moriens_run.paths, places, count) : 0;
}

/* Where a site is in the table, or can be. */
static inline uintptr_t *place_of(struct moriens_python_cache *cache, uintptr_t site)
{
	uint32_t i = (uint32_t)((site * 0x9e3779b97f4a7c15u) >> 32) & (SITES - 1);

	while (cache->site[i] != 0 && cache->site[i] != site)
		i = (i + 1) & (SITES - 1);
	return &cache->site[i];
}

bool moriens_python_owns(struct moriens_python_cache *cache, uintptr_t site)
{
	return cache != NULL && get_state() != UNKNOWN && *place_of(cache, site) == site;
}

bool moriens_python_path(struct moriens_python_cache *cache, uintptr_t site, uint32_t depth, uint32_t *path)
{
	if (!moriens_python_owns(cache, site))
		return false;
	uintptr_t thread = python.thread();
	if (thread == 0)
		return false;
	if (likely(get_state() == READ)) {
		uint64_t key = moriens_python_key(&python.layout, thread, depth);
		if (key == 0)
			return false;
		struct moriens_python_chain *chain = &cache->chain[key >> 32 & (CHAINS - 1)];
		if (unlikely(chain->key != key))
			*chain = (struct moriens_python_chain){key, learn(thread, depth)};
		*path = chain->path;
	} else {
		*path = learn(thread, depth);
	}
	return *path != 0;
}

MORIENS_COLD bool moriens_python_meet(struct moriens_python_cache **cache, uintptr_t site, uint32_t depth, uint32_t *path)
{
	struct moriens_module module;

	if (get_state() == UNKNOWN || !moriens_module_find(site, &module) || !moriens_python_calls_from(module.path))
		return false;
	look();
	if (get_state() == NOT_LOOKED || get_state() == UNKNOWN)
		return false;
	if (*cache == NULL)
		*cache = moriens_os_memory(sizeof **cache);
	if (*cache == NULL)
		return false;
	uintptr_t *place = place_of(*cache, site);
	if (*place == 0 && (*cache)->sites < SITES / 4 * 3) {
		*place = site;
		(*cache)->sites++;
	}
	return moriens_python_path(*cache, site, depth, path);
}

void moriens_python_forget(struct moriens_python_cache *cache)
{
	if (cache != NULL)
		memset(cache, 0, sizeof *cache);
}

void moriens_python_free(struct moriens_python_cache *cache)
{
	if (cache != NULL)
		moriens_os_unmap(cache, sizeof *cache);
}
