/*
 * For tests on machines without a hardware PMU: makes libpfm4 say that the kernel's software events ("perf") are
 * the processor's own PMU, so that PAPI's perf_event component is not disabled. libpfm4 may know the processor's real
 * one by its model, though the kernel cannot reach it: PAPI refuses two. Preloaded.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

/* pfm_pmu_info_t of perfmon/pfmlib.h, libpfm 4; Debian keeps the header in a package of its own. */
struct pmu_info {
	const char *name;
	const char *desc;
	size_t size;
	int pmu;
	int type;
	int nevents;
	int first_event;
	int max_encoding;
	int num_cntrs;
	int num_fixed_cntrs;
	unsigned is_present : 1;
	unsigned is_dfl : 1;
	unsigned is_reserved_bits : 30;
};

#define TYPE_CORE 1

int pfm_get_pmu_info(int pmu, struct pmu_info *info)
{
	/* PAPI may have come by dlopen(RTLD_LOCAL), and its libpfm with it: RTLD_NEXT would not find that. */
	void *libpfm = dlopen("libpfm.so.4", RTLD_LAZY | RTLD_NOLOAD);
	int (*real)(int, struct pmu_info *) = (int (*)(int, struct pmu_info *))dlsym(libpfm, "pfm_get_pmu_info");
	int result = real(pmu, info);

	if (result == 0 && info->is_present && strcmp(info->name, "perf") == 0) {
		info->type = TYPE_CORE;
		info->is_dfl = 1;
		info->num_cntrs = 8;
	} else if (result == 0 && info->type == TYPE_CORE) {
		info->is_present = 0;
		info->is_dfl = 0;
	}
	return result;
}
