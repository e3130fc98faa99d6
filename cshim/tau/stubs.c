/*
 * libmoriens_tau.a: the procedures of TAU that Fortran programs call (gfortran's names and hidden lengths), for
 * programs that are linked without TAU. Each looks once for a procedure of its name, which is TAU's where the process
 * has a TAU library; then, if it is one that is recorded, for the function of libmoriens.so. Without either it does
 * nothing.
 *
 * They are hidden, so that no library takes one for TAU's and the search finds none of them, and weak, so that TAU's
 * archive may be linked too. Arguments are words in registers, passed on as they are; a procedure looks at no more of
 * them than it has.
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

/* name is TAU's, own the function of libmoriens.so or NULL. */
static __attribute__((noinline, cold)) procedure look(procedure *known, const char *name, const char *own)
{
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		procedure function;
	} symbol = {.object = NULL};
	finder find = find_dlsym();

	if (find != NULL)
		symbol.object = find(NULL, name); /* RTLD_DEFAULT */
	/* A TAU library that has not all of the procedures has all of the timers: they are no numbers of ours. */
	if (symbol.object == NULL && own != NULL && find != NULL && find(NULL, "tau_phase_start_") == NULL)
		symbol.object = find(NULL, own);
	if (symbol.object == NULL)
		symbol.function = nothing;
	__atomic_store_n(known, symbol.function, __ATOMIC_RELAXED);
	return symbol.function;
}

#define STUB(name, own) \
	__attribute__((weak, visibility("hidden"))) void name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d); \
	__attribute__((weak, visibility("hidden"))) void name(uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) \
	{ \
		static procedure known; \
		procedure p = __atomic_load_n(&known, __ATOMIC_RELAXED); \
		(p != NULL ? p : look(&known, #name, own))(a, b, c, d); \
	}

/* What is recorded. */
#define RECORDED(name) STUB(tau_##name##_, "moriens_tau_" #name "_1")
RECORDED(profile_timer)
RECORDED(profile_timer_dynamic)
RECORDED(phase_create_static)
RECORDED(phase_create_dynamic)
RECORDED(phase_dynamic_iter)
RECORDED(profile_dynamic_iter)
RECORDED(profile_start)
RECORDED(profile_stop)
RECORDED(phase_start)
RECORDED(phase_stop)
RECORDED(start)
RECORDED(stop)
RECORDED(static_timer_start)
RECORDED(static_timer_stop)
RECORDED(static_phase_start)
RECORDED(static_phase_stop)
RECORDED(dynamic_timer_start)
RECORDED(dynamic_timer_stop)
RECORDED(dynamic_phase_start)
RECORDED(dynamic_phase_stop)
RECORDED(register_event)
RECORDED(register_context_event)
RECORDED(event)
RECORDED(context_event)

/* What TAU alone does. */
STUB(tau_profile_init_, NULL)
STUB(tau_init_, NULL)
STUB(tau_profile_exit_, NULL)
STUB(tau_profile_set_node_, NULL)
STUB(tau_profile_set_context_, NULL)
STUB(tau_profile_set_thread_, NULL)
STUB(tau_register_thread_, NULL)
STUB(tau_enable_instrumentation_, NULL)
STUB(tau_disable_instrumentation_, NULL)
STUB(tau_enable_group_, NULL)
STUB(tau_disable_group_, NULL)
STUB(tau_enable_group_name_, NULL)
STUB(tau_disable_group_name_, NULL)
STUB(tau_enable_all_groups_, NULL)
STUB(tau_disable_all_groups_, NULL)
STUB(tau_db_dump_, NULL)
STUB(tau_db_dump_prefix_, NULL)
STUB(tau_db_purge_, NULL)
STUB(tau_report_statistics_, NULL)
STUB(tau_report_thread_statistics_, NULL)
STUB(tau_profile_snapshot_, NULL)
STUB(tau_metadata_, NULL)
STUB(tau_phase_metadata_, NULL)
STUB(tau_context_metadata_, NULL)
STUB(tau_track_memory_, NULL)
STUB(tau_track_memory_here_, NULL)
STUB(tau_track_memory_headroom_, NULL)
STUB(tau_track_memory_headroom_here_, NULL)
STUB(tau_enable_tracking_memory_, NULL)
STUB(tau_disable_tracking_memory_, NULL)
STUB(tau_set_interrupt_interval_, NULL)
STUB(tau_trace_sendmsg_, NULL)
STUB(tau_trace_recvmsg_, NULL)
