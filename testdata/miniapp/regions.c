/*
 * Regions for other tools than TAU. Their functions are found by dlsym, as the program is linked to none of them, and
 * what they return is printed:
 *
 *	regions caliper       regions, phases and communication regions
 *	regions nvtx          ranges of version 2: pushed and popped, in domains, of wide names
 *	regions nvtx3         ranges of version 3, as its header makes them, if NVTX_INJECTION64_PATH names a tool
 *	regions kokkos [LIB]  regions and sections, as Kokkos makes them of the tool LIB, or KOKKOS_TOOLS_LIBS
 *	regions tau           calls of Fortran
 *	regions pcontrol      MPI_Pcontrol with names, without, and with what is none
 *	regions inside        ranges inside an MPI call, by the callback of an attribute
 *	regions threads N     two threads with N ranges each
 *	regions deep N        N ranges within each other
 *	regions early         a range that begins before MPI_Init
 */
#include "planted.h"

#include <dlfcn.h>
#include <pthread.h>
#include <wchar.h>

#define FIND(library, function) (*(void **)&function = dlsym(library, #function))
#define SAY(...) (printf(__VA_ARGS__), fflush(stdout))

static void barrier(void)
{
	MPI(Barrier, MPI_COMM_WORLD);
}

static void caliper(void)
{
	void (*cali_begin_region)(const char *), (*cali_end_region)(const char *), (*cali_begin_phase)(const char *), (*cali_end_phase)(const char *);
	void (*cali_begin_comm_region)(const char *), (*cali_end_comm_region)(const char *);

	FIND(RTLD_DEFAULT, cali_begin_region), FIND(RTLD_DEFAULT, cali_end_region);
	FIND(RTLD_DEFAULT, cali_begin_phase), FIND(RTLD_DEFAULT, cali_end_phase);
	FIND(RTLD_DEFAULT, cali_begin_comm_region), FIND(RTLD_DEFAULT, cali_end_comm_region);
	if (cali_begin_region == NULL)
		return;
	cali_begin_phase("solve");
	for (int i = 0; i < 2; i++) {
		cali_begin_region("iteration");
		cali_begin_comm_region("halo");
		barrier();
		cali_end_comm_region("halo");
		cali_end_region("iteration");
	}
	cali_end_phase("solve");
}

struct attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type, reserved;
	uint64_t payload;
	int32_t message_type;
	const void *message;
};

static struct attributes attributes(int type, const void *message)
{
	return (struct attributes){.version = 3, .size = sizeof(struct attributes), .message_type = type, .message = message};
}

struct nvtx {
	int (*nvtxRangePushA)(const char *), (*nvtxRangePushW)(const wchar_t *), (*nvtxRangePushEx)(const struct attributes *), (*nvtxRangePop)(void);
	int (*nvtxDomainRangePushEx)(void *, const struct attributes *), (*nvtxDomainRangePop)(void *);
	void *(*nvtxDomainCreateA)(const char *), *(*nvtxDomainRegisterStringA)(void *, const char *);
};

static struct nvtx nvtx2(void)
{
	struct nvtx n = {0};

	*(void **)&n.nvtxRangePushA = dlsym(RTLD_DEFAULT, "nvtxRangePushA");
	*(void **)&n.nvtxRangePushW = dlsym(RTLD_DEFAULT, "nvtxRangePushW");
	*(void **)&n.nvtxRangePushEx = dlsym(RTLD_DEFAULT, "nvtxRangePushEx");
	*(void **)&n.nvtxRangePop = dlsym(RTLD_DEFAULT, "nvtxRangePop");
	*(void **)&n.nvtxDomainRangePushEx = dlsym(RTLD_DEFAULT, "nvtxDomainRangePushEx");
	*(void **)&n.nvtxDomainRangePop = dlsym(RTLD_DEFAULT, "nvtxDomainRangePop");
	return n;
}

/* What NVTX's header keeps of an object: a table of pointers to the places of its functions. */
typedef void (*function)(void);
static function core[16], core2[16], *core_table[16], *core2_table[16];

static int table_of(int module, function ***table, unsigned *entries)
{
	function **list = module == 1 ? core_table : core2_table;

	if (module != 1 && module != 5)
		return 0;
	for (int i = 1; i < 16; i++)
		list[i] = module == 1 ? &core[i] : &core2[i];
	*table = list;
	*entries = 16;
	return 1;
}

static const void *tables(uint32_t id)
{
	static const struct {
		size_t bytes;
		int (*table_of)(int, function ***, unsigned *);
	} callbacks = {sizeof callbacks, table_of};

	return id == 1 ? &callbacks : NULL;
}

static struct nvtx nvtx3(void)
{
	const char *path = getenv("NVTX_INJECTION64_PATH");
	void *library = path != NULL ? dlopen(path, RTLD_LAZY) : NULL;
	int (*InitializeInjectionNvtx2)(const void *(*)(uint32_t));
	struct nvtx n = {0};

	if (library == NULL || FIND(library, InitializeInjectionNvtx2) == NULL || InitializeInjectionNvtx2(tables) == 0)
		return n;
	memcpy(&n.nvtxRangePushEx, &core[8], sizeof(function));
	memcpy(&n.nvtxRangePushA, &core[9], sizeof(function));
	memcpy(&n.nvtxRangePushW, &core[10], sizeof(function));
	memcpy(&n.nvtxRangePop, &core[11], sizeof(function));
	memcpy(&n.nvtxDomainRangePushEx, &core2[4], sizeof(function));
	memcpy(&n.nvtxDomainRangePop, &core2[5], sizeof(function));
	memcpy(&n.nvtxDomainRegisterStringA, &core2[10], sizeof(function));
	memcpy(&n.nvtxDomainCreateA, &core2[12], sizeof(function));
	return n;
}

static void ranges(struct nvtx n)
{
	void *domain = n.nvtxDomainCreateA != NULL ? n.nvtxDomainCreateA("domain") : &n;
	struct attributes text = attributes(1, "attributed"), wide = attributes(2, L"wide \x20ac"), none = attributes(0, NULL);
	struct attributes registered = attributes(3, n.nvtxDomainRegisterStringA != NULL ? n.nvtxDomainRegisterStringA(domain, "registered") : &n);

	if (n.nvtxRangePushA == NULL) {
		SAY("no NVTX\n");
		return;
	}
	SAY("push %d\n", n.nvtxRangePushA("outer"));
	barrier();
	SAY("push %d\n", n.nvtxRangePushW(L"L\xf6sung \x1f600"));
	SAY("push %d\n", n.nvtxRangePushEx(&text));
	SAY("domain push %d\n", n.nvtxDomainRangePushEx(domain, &wide));
	SAY("domain push %d\n", n.nvtxDomainRangePushEx(domain, &registered));
	SAY("push %d\n", n.nvtxRangePushEx(&none));
	barrier();
	SAY("pop %d\n", n.nvtxRangePop());
	SAY("domain pop %d\n", n.nvtxDomainRangePop(domain));
	SAY("domain pop %d\n", n.nvtxDomainRangePop(domain));
	SAY("pop %d\n", n.nvtxRangePop());
	SAY("pop %d\n", n.nvtxRangePop());
	SAY("pop %d\n", n.nvtxRangePop());
	SAY("pop %d\n", n.nvtxRangePop());
}

struct settings {
	_Bool requires_global_fencing, padding[255];
};

/* Kokkos opens the first library that KOKKOS_TOOLS_LIBS names, and calls what it finds there. */
static void kokkos(const char *path)
{
	void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_GLOBAL) : NULL;
	void (*kokkosp_request_tool_settings)(uint32_t, struct settings *), (*kokkosp_init_library)(int, uint64_t, uint32_t, void *);
	void (*kokkosp_push_profile_region)(const char *), (*kokkosp_pop_profile_region)(void), (*kokkosp_finalize_library)(void);
	void (*kokkosp_create_profile_section)(const char *, uint32_t *), (*kokkosp_start_profile_section)(uint32_t);
	void (*kokkosp_stop_profile_section)(uint32_t), (*kokkosp_destroy_profile_section)(uint32_t);
	struct settings settings = {.requires_global_fencing = 1};
	uint32_t section = 77;

	if (library == NULL) {
		SAY("%s\n", path != NULL ? dlerror() : "no tool");
		return;
	}
	FIND(library, kokkosp_request_tool_settings), FIND(library, kokkosp_init_library), FIND(library, kokkosp_finalize_library);
	FIND(library, kokkosp_push_profile_region), FIND(library, kokkosp_pop_profile_region), FIND(library, kokkosp_create_profile_section);
	FIND(library, kokkosp_start_profile_section), FIND(library, kokkosp_stop_profile_section), FIND(library, kokkosp_destroy_profile_section);
	kokkosp_init_library(0, 20211015, 0, NULL);
	kokkosp_request_tool_settings(1, &settings);
	SAY("fences %d\n", settings.requires_global_fencing);
	kokkosp_create_profile_section("section", &section);
	kokkosp_push_profile_region("solve");
	barrier();
	kokkosp_push_profile_region("solve");
	kokkosp_start_profile_section(section);
	barrier();
	kokkosp_stop_profile_section(section);
	kokkosp_pop_profile_region();
	kokkosp_push_profile_region("halo");
	kokkosp_pop_profile_region();
	kokkosp_pop_profile_region();
	kokkosp_pop_profile_region();
	kokkosp_destroy_profile_section(section);
	kokkosp_finalize_library();
}

static void tau(void)
{
	void (*tau_phase_create_dynamic_)(void **, const char *, int), (*tau_phase_start_)(void **), (*tau_phase_stop_)(void **);
	void (*tau_start_)(const char *, int), (*tau_stop_)(const char *, int);
	void *timer = NULL;

	FIND(RTLD_DEFAULT, tau_phase_create_dynamic_), FIND(RTLD_DEFAULT, tau_phase_start_), FIND(RTLD_DEFAULT, tau_phase_stop_);
	FIND(RTLD_DEFAULT, tau_start_), FIND(RTLD_DEFAULT, tau_stop_);
	if (tau_start_ == NULL)
		return;
	tau_phase_create_dynamic_(&timer, "ITERATE 51 and what follows", 10);
	tau_phase_start_(&timer);
	tau_start_("solve and what follows", 5);
	tau_stop_("solve and what follows", 5);
	tau_phase_stop_(&timer);
}

static void pcontrol(void)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *end = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char longest[257];

	/* A name up to the last byte that is mapped, and one without an end. */
	munmap(end + page, page);
	end += page;
	memcpy(end - 5, "edge", 5);
	MPI(Pcontrol, 1, "solve");
	barrier();
	MPI(Pcontrol, 1, end - 5);
	MPI(Pcontrol, -1, end - 5);
	end[-1] = 'x';
	MPI(Pcontrol, 1, end - 1);
	memset(longest, 'n', sizeof longest);
	longest[256] = '\0';
	MPI(Pcontrol, 1, longest);
	longest[255] = '\0';
	MPI(Pcontrol, 1, longest);
	MPI(Pcontrol, -1, longest);
	MPI(Pcontrol, 1, (char *)NULL);
	MPI(Pcontrol, 1, (char *)8);
	MPI(Pcontrol, 1, (char *)(UINTPTR_MAX - 3));
	MPI(Pcontrol, 1, (char *)0x00007f0000000000);
	MPI(Pcontrol, 1, "");
	MPI(Pcontrol, 1, "not\ntext");
	MPI(Pcontrol, 1, "not UTF-8 \xff");
	MPI(Pcontrol, -1, "\xed\xa0\x80");
	MPI(Pcontrol, 1, "L\xc3\xb6sung");
	MPI(Pcontrol, -1, "L\xc3\xb6sung");
	MPI(Pcontrol, 2, "no phase");
	MPI(Pcontrol, -2, "no phase");
	MPI(Pcontrol, -1, "solve");
	MPI(Pcontrol, 0, "no phase");
	MPI_Barrier(MPI_COMM_WORLD);
	MPI(Pcontrol, 1, "after the pause");
	barrier();
	MPI(Pcontrol, -1, "after the pause");
}

static struct nvtx inside_ranges;

static int delete_attribute(MPI_Comm comm, int key, void *value, void *extra)
{
	(void)comm, (void)key, (void)value, (void)extra;
	inside_ranges.nvtxRangePushA("in a callback");
	inside_ranges.nvtxRangePop();
	return MPI_SUCCESS;
}

static void inside(void)
{
	MPI_Comm comm;
	int key;

	inside_ranges = nvtx2();
	MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, delete_attribute, &key, NULL);
	inside_ranges.nvtxRangePushA("outside");
	MPI(Comm_dup, MPI_COMM_WORLD, &comm);
	MPI_Comm_set_attr(comm, key, NULL);
	MPI(Comm_free, &comm);
	inside_ranges.nvtxRangePop();
	MPI_Comm_free_keyval(&key);
}

static void *thread(void *argument)
{
	struct nvtx n = nvtx2();

	for (long i = 0; i < *(long *)argument; i++) {
		n.nvtxRangePushA("work");
		n.nvtxRangePushA("part");
		n.nvtxRangePop();
		n.nvtxRangePop();
	}
	return NULL;
}

static void threads(long n)
{
	pthread_t t[2];

	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, thread, &n);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
}

static void deep(long n)
{
	struct nvtx x = nvtx2();
	int level = -1;

	for (long i = 0; i < n; i++)
		level = x.nvtxRangePushA(i % 2 == 0 ? "even" : "odd");
	SAY("deepest %d\n", level);
	for (long i = 0; i < n; i++)
		level = x.nvtxRangePop();
	SAY("outermost %d\n", level);
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	int rank, provided;

	if (strcmp(what, "early") == 0)
		SAY("push %d\n", nvtx2().nvtxRangePushA("early"));
	MPI(Init_thread, &argc, &argv, MPI_THREAD_MULTIPLE, &provided);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	barrier();
	if (strcmp(what, "early") == 0)
		SAY("pop %d\n", nvtx2().nvtxRangePop());
	else if (strcmp(what, "caliper") == 0)
		caliper();
	else if (strcmp(what, "nvtx") == 0)
		ranges(nvtx2());
	else if (strcmp(what, "nvtx3") == 0)
		ranges(nvtx3());
	else if (strcmp(what, "kokkos") == 0)
		kokkos(argc > 2 ? argv[2] : getenv("KOKKOS_TOOLS_LIBS"));
	else if (strcmp(what, "tau") == 0)
		tau();
	else if (strcmp(what, "pcontrol") == 0)
		pcontrol();
	else if (strcmp(what, "inside") == 0)
		inside();
	else if (strcmp(what, "threads") == 0)
		threads(atol(argv[2]));
	else if (strcmp(what, "deep") == 0)
		deep(atol(argv[2]));
	MPI(Finalize);
	report(rank);
	return 0;
}
