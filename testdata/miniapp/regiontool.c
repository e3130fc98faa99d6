/*
 * A tool that has the functions by which programs mark regions, as TAU, Kokkos Tools, NVTX and Caliper have them. It
 * prints its calls, and returns what nobody else would. Some of its functions call others by their names. It has no
 * MPI functions.
 */
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <wchar.h>

#define SAY(...) (printf("tool: " __VA_ARGS__), fflush(stdout))

void cali_begin_region(const char *name);
void cali_begin_region(const char *name) { SAY("cali_begin_region %s\n", name); }
void cali_end_region(const char *name);
void cali_end_region(const char *name) { SAY("cali_end_region %s\n", name); }
void cali_begin_phase(const char *name);
void cali_begin_phase(const char *name) { cali_begin_region(name); }
void cali_end_phase(const char *name);
void cali_end_phase(const char *name) { cali_end_region(name); }
void cali_begin_comm_region(const char *name);
void cali_begin_comm_region(const char *name) { cali_begin_region(name); }
void cali_end_comm_region(const char *name);
void cali_end_comm_region(const char *name) { cali_end_region(name); }

struct attributes {
	uint16_t version, size;
	uint32_t unused[7];
	int32_t message_type;
	const void *message;
};

int nvtxRangePushEx(const struct attributes *a);
int nvtxRangePushEx(const struct attributes *a)
{
	SAY("nvtxRangePushEx %d\n", (int)a->message_type);
	return 100;
}
int nvtxRangePushA(const char *name);
int nvtxRangePushA(const char *name)
{
	struct attributes a = {.version = 2, .size = 48, .message_type = 1, .message = name};
	SAY("nvtxRangePushA %s\n", name);
	return 1 + nvtxRangePushEx(&a);
}
int nvtxRangePushW(const wchar_t *name);
int nvtxRangePushW(const wchar_t *name)
{
	SAY("nvtxRangePushW %d\n", (int)wcslen(name));
	return 102;
}
int nvtxRangePop(void);
int nvtxRangePop(void)
{
	SAY("nvtxRangePop\n");
	return 103;
}
int nvtxDomainRangePushEx(void *domain, const struct attributes *a);
int nvtxDomainRangePushEx(void *domain, const struct attributes *a)
{
	SAY("nvtxDomainRangePushEx %d\n", domain != NULL ? (int)a->message_type : 0);
	return 104;
}
int nvtxDomainRangePop(void *domain);
int nvtxDomainRangePop(void *domain)
{
	SAY("nvtxDomainRangePop %d\n", domain != NULL);
	return 105;
}

void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void *device);
void kokkosp_init_library(int sequence, uint64_t version, uint32_t devices, void *device)
{
	SAY("kokkosp_init_library %d %d %d %d\n", sequence, (int)version, (int)devices, device != NULL);
}
void kokkosp_finalize_library(void);
void kokkosp_finalize_library(void) { SAY("kokkosp_finalize_library\n"); }
void kokkosp_request_tool_settings(uint32_t count, void *settings);
void kokkosp_request_tool_settings(uint32_t count, void *settings) { SAY("kokkosp_request_tool_settings %d %d\n", (int)count, settings != NULL); }
void kokkosp_push_profile_region(const char *name);
void kokkosp_push_profile_region(const char *name) { SAY("kokkosp_push_profile_region %s\n", name); }
void kokkosp_pop_profile_region(void);
void kokkosp_pop_profile_region(void) { SAY("kokkosp_pop_profile_region\n"); }
void kokkosp_create_profile_section(const char *name, uint32_t *section);
void kokkosp_create_profile_section(const char *name, uint32_t *section)
{
	SAY("kokkosp_create_profile_section %s\n", name);
	*section = 555;
}
void kokkosp_start_profile_section(uint32_t section);
void kokkosp_start_profile_section(uint32_t section) { SAY("kokkosp_start_profile_section %d\n", (int)section); }
void kokkosp_stop_profile_section(uint32_t section);
void kokkosp_stop_profile_section(uint32_t section) { SAY("kokkosp_stop_profile_section %d\n", (int)section); }
void kokkosp_destroy_profile_section(uint32_t section);
void kokkosp_destroy_profile_section(uint32_t section) { SAY("kokkosp_destroy_profile_section %d\n", (int)section); }

void tau_start_(const char *name, int length);
void tau_start_(const char *name, int length) { SAY("tau_start_ %.*s\n", length, name); }
void tau_stop_(const char *name, int length);
void tau_stop_(const char *name, int length) { SAY("tau_stop_ %.*s\n", length, name); }
void tau_phase_create_static_(uint64_t *timer, const char *name, int length);
void tau_phase_create_static_(uint64_t *timer, const char *name, int length)
{
	if (*timer == 0)
		SAY("tau_phase_create_static_ %.*s\n", length, name);
	*timer = 1234;
}
void tau_profile_timer_(uint64_t *timer, const char *name, int length);
void tau_profile_timer_(uint64_t *timer, const char *name, int length) { tau_phase_create_static_(timer, name, length); }
void tau_phase_create_dynamic_(uint64_t *timer, const char *name, int length);
void tau_phase_create_dynamic_(uint64_t *timer, const char *name, int length)
{
	*timer = 0;
	tau_phase_create_static_(timer, name, length);
}
void tau_phase_start_(const uint64_t *timer);
void tau_phase_start_(const uint64_t *timer) { SAY("tau_phase_start_ %d\n", (int)*timer); }
void tau_phase_stop_(const uint64_t *timer);
void tau_phase_stop_(const uint64_t *timer) { SAY("tau_phase_stop_ %d\n", (int)*timer); }
void tau_profile_set_node_(const int *node);
void tau_profile_set_node_(const int *node) { SAY("tau_profile_set_node_ %d\n", *node); }
