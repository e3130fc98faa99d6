/*
 * libmoriens_tau.a: the procedures of TAU that Fortran programs call (gfortran's names and hidden lengths), for
 * programs that are linked without TAU. Each looks once for a procedure of its name in the process: that of
 * libmoriens.so, or of a TAU library that is preloaded. Without either it does nothing.
 *
 * They are hidden, so that no library takes one for TAU's, and weak, so that TAU's archive may be linked too. Arguments
 * are words in registers, passed on as they are; a procedure looks at no more of them than it has.
 */
#include <stddef.h>
#include <stdint.h>

typedef void (*procedure)(uintptr_t, uintptr_t, uintptr_t, uintptr_t);
typedef void *(*finder)(void *, const char *);

/* As moriens.h finds its function: dlsym may not be there, in a static program or before version 2.34 of the GNU C
 * library. */
static finder find_dlsym(void)
{
#if defined(__x86_64__)
	finder found;

	__asm__(".weak dlsym\n\t"
		"{movq dlsym@GOTPCREL(%%rip), %0|mov %0, QWORD PTR dlsym@GOTPCREL[rip]}" : "=r"(found));
	return found;
#elif defined(__aarch64__)
	finder found;

	__asm__(".weak dlsym\n\tadrp %0, :got:dlsym\n\tldr %0, [%0, #:got_lo12:dlsym]" : "=r"(found));
	return found;
#else
	extern void *dlsym(void *, const char *) __attribute__((weak));

	return &dlsym;
#endif
}

static void nothing(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d)
{
	(void)a, (void)b, (void)c, (void)d;
}

static __attribute__((noinline, cold)) procedure look(procedure *known, const char *name)
{
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		procedure function;
	} symbol = {.object = NULL};
	finder find = find_dlsym();

	if (find != NULL)
		symbol.object = find(NULL, name); /* RTLD_DEFAULT */
	if (symbol.object == NULL)
		symbol.function = nothing;
	__atomic_store_n(known, symbol.function, __ATOMIC_RELAXED);
	return symbol.function;
}

#define STUB(name) \
	__attribute__((weak, visibility("hidden"))) void name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d); \
	__attribute__((weak, visibility("hidden"))) void name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
	{ \
		static procedure known; \
		procedure p = __atomic_load_n(&known, __ATOMIC_RELAXED); \
		(p != NULL ? p : look(&known, #name))(a, b, c, d); \
	}

/* What is recorded. */
STUB(tau_profile_timer_)
STUB(tau_profile_timer_dynamic_)
STUB(tau_phase_create_static_)
STUB(tau_phase_create_dynamic_)
STUB(tau_phase_dynamic_iter_)
STUB(tau_profile_dynamic_iter_)
STUB(tau_profile_start_)
STUB(tau_profile_stop_)
STUB(tau_phase_start_)
STUB(tau_phase_stop_)
STUB(tau_start_)
STUB(tau_stop_)
STUB(tau_static_timer_start_)
STUB(tau_static_timer_stop_)
STUB(tau_static_phase_start_)
STUB(tau_static_phase_stop_)
STUB(tau_dynamic_timer_start_)
STUB(tau_dynamic_timer_stop_)
STUB(tau_dynamic_phase_start_)
STUB(tau_dynamic_phase_stop_)
STUB(tau_register_event_)
STUB(tau_register_context_event_)
STUB(tau_event_)
STUB(tau_context_event_)

/* What TAU alone does. */
STUB(tau_profile_init_)
STUB(tau_init_)
STUB(tau_profile_exit_)
STUB(tau_profile_set_node_)
STUB(tau_profile_set_context_)
STUB(tau_profile_set_thread_)
STUB(tau_register_thread_)
STUB(tau_enable_instrumentation_)
STUB(tau_disable_instrumentation_)
STUB(tau_enable_group_)
STUB(tau_disable_group_)
STUB(tau_enable_group_name_)
STUB(tau_disable_group_name_)
STUB(tau_enable_all_groups_)
STUB(tau_disable_all_groups_)
STUB(tau_db_dump_)
STUB(tau_db_dump_prefix_)
STUB(tau_db_purge_)
STUB(tau_report_statistics_)
STUB(tau_report_thread_statistics_)
STUB(tau_profile_snapshot_)
STUB(tau_metadata_)
STUB(tau_phase_metadata_)
STUB(tau_context_metadata_)
STUB(tau_track_memory_)
STUB(tau_track_memory_here_)
STUB(tau_track_memory_headroom_)
STUB(tau_track_memory_headroom_here_)
STUB(tau_enable_tracking_memory_)
STUB(tau_disable_tracking_memory_)
STUB(tau_set_interrupt_interval_)
STUB(tau_trace_sendmsg_)
STUB(tau_trace_recvmsg_)
