/*
 * moriens_tau.h: TAU's macros for C and C++, as phases and events of moriens. A program that TAU instruments, or that
 * has its macros in it, is compiled with this header in the place of TAU.h and needs no change:
 *
 *	cc -I PREFIX/include/moriens/tau ...        finds this header as TAU.h and Profile/Profiler.h
 *	cc -I cshim/include/moriens/tau ...         the same, in a clone of moriens
 *
 * There is nothing to link. As with moriens.h, in a program that runs without moriens each mark costs a load and a
 * branch; with it, marks are recorded where MORIENS_REGIONS, or `moriens run --regions`, names tau.
 *
 * Timers and phases are both phases. A phase has the name of its timer; types and groups are not recorded. Of a dynamic
 * timer's name the number that it ends with is left out: all its instances have one name ("ITERATE  51" is ITERATE).
 * Events have whole numbers.
 *
 * What marks: TAU_START, TAU_STOP; TAU_PROFILE, TAU_PHASE and the rest that lies before "What follows" below. These are
 * timers and phases by variable, by name, by scope, by handle (TAU_PROFILER_CREATE, _START, _STOP) and of several files
 * (TAU_GLOBAL_...), and events. What does not: the macros behind it, which are of TAU's own measurement. They are
 * accepted and do nothing; those that ask for a figure get 0, an empty text or NULL.
 *
 * A macro of TAU that is not in this file does not compile or link, and neither do TAU's functions: TAU_MAPPING_...,
 * TAU_GET_FUNC_VALS, TAU_GET_EVENT_VALS, Tau_start and the like. Fortran has libmoriens_tau.a instead of this file.
 * docs/annotations.md says what comes of it.
 */
#ifndef MORIENS_TAU_H
#define MORIENS_TAU_H

#include "moriens.h"

/* What the first argument of moriens_annotate_1 has besides. */
#define MORIENS_TAU_SAYS_ 0x10000u     /* it is TAU's */
#define MORIENS_TAU_NUMBERED_ 0x20000u /* the name may end with a number, which is left out */
#define MORIENS_TAU_STACK_ 0x40000u    /* the end has no name */
#define MORIENS_TAU_NAMES_ 0xff04u     /* in the place of MORIENS_SAYS_...: only a name, whose number is to be kept */

typedef unsigned long TauGroup_t;

#define TAU_DEFAULT 0xffffffffUL
#define TAU_MESSAGE 0x00000001UL
#define TAU_PAWS 0x00000002UL
#define TAU_PAWS1 TAU_PAWS
#define TAU_PAWS2 0x00000004UL
#define TAU_PAWS3 0x00000008UL
#define TAU_IO 0x00000010UL
#define TAU_FIELD 0x00000020UL
#define TAU_LAYOUT 0x00000040UL
#define TAU_SPARSE 0x00000080UL
#define TAU_DOMAINMAP 0x00000100UL
#define TAU_UTILITY 0x00000200UL
#define TAU_REGION 0x00000400UL
#define TAU_PARTICLE 0x00000800UL
#define TAU_MESH 0x00001000UL
#define TAU_SUBFIELD 0x00002000UL
#define TAU_COMMUNICATION 0x00004000UL
#define TAU_DESCRIPTOR_OVERHEAD 0x00008000UL
#define TAU_BLITZ 0x00010000UL
#define TAU_HPCXX 0x00020000UL
#define TAU_USER 0x80000000UL
#define TAU_USER1 TAU_USER
#define TAU_USER2 0x40000000UL
#define TAU_USER3 0x20000000UL
#define TAU_USER4 0x10000000UL

#ifdef __cplusplus
extern "C" {
#endif

static __inline__ void moriens_tau_named_(unsigned what, unsigned *site, const char *name, long value)
{
	moriens_annotate_function hook = MORIENS_HOOK_();

	if (hook != (moriens_annotate_function)0)
		hook(what | MORIENS_TAU_SAYS_, site, name, moriens_length_(name), value);
}

static __inline__ void moriens_tau_mark_(unsigned what, unsigned *site, long value)
{
	moriens_annotate_(what | MORIENS_TAU_SAYS_, site, (const char *)0, 0, value);
}

/* A timer whose name does not change. */
static __inline__ void moriens_tau_static_(unsigned *site, const char *name)
{
	if (*site == 0)
		moriens_tau_named_(MORIENS_TAU_NAMES_, site, name, 0);
}

static __inline__ unsigned moriens_tau_dynamic_(const char *name)
{
	unsigned site = 0;

	moriens_tau_named_(MORIENS_TAU_NAMES_ | MORIENS_TAU_NUMBERED_, &site, name, 0);
	return site;
}

/* A timer by handle: the number of its name, so that it is not NULL. */
static __inline__ void *moriens_tau_handle_(const char *name)
{
	unsigned site = 0;

	moriens_tau_named_(MORIENS_TAU_NAMES_, &site, name, 0);
	return (void *)((size_t)site << 1 | 1);
}

/* One that was not created marks nothing. */
static __inline__ void moriens_tau_handle_mark_(unsigned what, const void *handle)
{
	unsigned site = (unsigned)((size_t)handle >> 1);

	if (handle != (const void *)0)
		moriens_tau_mark_(what, &site, 0);
}

/* One of which TAU counts the instances itself. */
static __inline__ unsigned moriens_tau_counted_(const char *name)
{
	unsigned site = 0;

	moriens_tau_named_(MORIENS_TAU_NAMES_, &site, name, 0);
	return site;
}

/* The nearest whole number. */
static __inline__ long moriens_tau_whole_(double value)
{
	if (value != value)
		return 0;
	if (value >= 9223372036854775807.0)
		return 9223372036854775807L;
	if (value <= -9223372036854775807.0)
		return -9223372036854775807L - 1;
	return (long)(value < 0 ? value - 0.5 : value + 0.5);
}

#if defined(__GNUC__) && !defined(__cplusplus)
static __inline__ unsigned moriens_tau_enter_(unsigned *site, const char *name)
{
	moriens_tau_static_(site, name);
	moriens_tau_mark_(MORIENS_SAYS_BEGIN, site, 0);
	return *site;
}

static __inline__ void moriens_tau_leave_(unsigned *site)
{
	moriens_tau_mark_(MORIENS_SAYS_END, site, 0);
}
#endif

#ifdef __cplusplus
}

namespace moriens {

/* Names of TAU are char pointers, std::string and the like. */
inline const char *tau_text(const char *name) { return name; }
inline const char *tau_text(char *name) { return name; } /* also a char [N]: else it is the template's */
template <class Text> inline const char *tau_text(const Text &name) { return name.c_str(); }

template <class Text> inline unsigned tau_static(const Text &name)
{
	unsigned site = 0;

	moriens_tau_static_(&site, tau_text(name));
	return site;
}

/* A phase that ends with its scope. */
class tau_scope {
public:
	explicit tau_scope(unsigned site) : site_(site) { moriens_tau_mark_(MORIENS_SAYS_BEGIN, &site_, 0); }
	~tau_scope() { moriens_tau_mark_(MORIENS_SAYS_END, &site_, 0); }

private:
	tau_scope(const tau_scope &);
	tau_scope &operator=(const tau_scope &);

	unsigned site_;
};

} /* namespace moriens */

#define MORIENS_TAU_TEXT_(name) ::moriens::tau_text(name)
#else
#define MORIENS_TAU_TEXT_(name) (name)
#endif

#ifdef __GNUC__
#define MORIENS_TAU_UNUSED_ __attribute__((__unused__))
#else
#define MORIENS_TAU_UNUSED_
#endif

/* Some of TAU's macros end with a semicolon, and programs rely on it. */

#define TAU_START(name) moriens_tau_named_(MORIENS_SAYS_BEGIN, (unsigned *)0, MORIENS_TAU_TEXT_(name), 0)
#define TAU_STOP(name) moriens_tau_named_(MORIENS_SAYS_END, (unsigned *)0, MORIENS_TAU_TEXT_(name), 0)
#define TAU_STATIC_TIMER_START TAU_START
#define TAU_STATIC_TIMER_STOP TAU_STOP
#define TAU_STATIC_PHASE_START TAU_START
#define TAU_STATIC_PHASE_STOP TAU_STOP
#define TAU_DYNAMIC_TIMER_START(name) TAU_START(name);
#define TAU_DYNAMIC_TIMER_STOP(name) TAU_STOP(name);
#define TAU_DYNAMIC_PHASE_START(name) TAU_START(name);
#define TAU_DYNAMIC_PHASE_STOP(name) TAU_STOP(name);
#define TAU_START_TASK(name, tid) TAU_START(name)
#define TAU_STOP_TASK(name, tid) TAU_STOP(name)

/* A timer is declared here, as var##_moriens_tau_. */
#ifdef __cplusplus
#define TAU_PHASE_CREATE_STATIC(var, name, type, group) \
	static MORIENS_TAU_UNUSED_ unsigned var##_moriens_tau_ = ::moriens::tau_static(name)
#define TAU_PROFILE_TIMER(var, name, type, group) TAU_PHASE_CREATE_STATIC(var, name, type, group);
#else
#define TAU_PHASE_CREATE_STATIC(var, name, type, group) \
	static MORIENS_TAU_UNUSED_ unsigned var##_moriens_tau_; \
	moriens_tau_static_(&var##_moriens_tau_, name)
#define TAU_PROFILE_TIMER(var, name, type, group) TAU_PHASE_CREATE_STATIC(var, name, type, group);
#endif
#define TAU_PROFILE_DECLARE_TIMER(var) static MORIENS_TAU_UNUSED_ unsigned var##_moriens_tau_;
#define TAU_PROFILE_CREATE_TIMER(var, name, type, group) moriens_tau_static_(&var##_moriens_tau_, MORIENS_TAU_TEXT_(name));
#define TAU_PHASE_CREATE_DYNAMIC(var, name, type, group) \
	MORIENS_TAU_UNUSED_ unsigned var##_moriens_tau_ = moriens_tau_dynamic_(MORIENS_TAU_TEXT_(name))
#define TAU_PROFILE_TIMER_DYNAMIC(var, name, type, group) TAU_PHASE_CREATE_DYNAMIC(var, name, type, group);
#define TAU_PHASE_CREATE_DYNAMIC_AUTO(var, name, type, group) \
	MORIENS_TAU_UNUSED_ unsigned var##_moriens_tau_ = moriens_tau_counted_(MORIENS_TAU_TEXT_(name));
#define TAU_PROFILE_CREATE_DYNAMIC_AUTO TAU_PHASE_CREATE_DYNAMIC_AUTO

#define TAU_PHASE_START(var) moriens_tau_mark_(MORIENS_SAYS_BEGIN, &var##_moriens_tau_, 0)
#define TAU_PHASE_STOP(var) moriens_tau_mark_(MORIENS_SAYS_END, &var##_moriens_tau_, 0)
#define TAU_PROFILE_START(var) TAU_PHASE_START(var);
#define TAU_PROFILE_STOP(var) TAU_PHASE_STOP(var);

/* By a handle, which is a pointer of the program. */
#define TAU_PROFILER_CREATE(handle, name, type, group) handle = moriens_tau_handle_(MORIENS_TAU_TEXT_(name));
#define TAU_PROFILER_START(handle) moriens_tau_handle_mark_(MORIENS_SAYS_BEGIN, handle);
#define TAU_PROFILER_STOP(handle) moriens_tau_handle_mark_(MORIENS_SAYS_END, handle);
#define TAU_PROFILER_START_TASK(handle, tid) TAU_PROFILER_START(handle)
#define TAU_PROFILER_STOP_TASK(handle, tid) TAU_PROFILER_STOP(handle)

/* To the end of the scope. */
#ifdef __cplusplus
#define TAU_PROFILE(name, type, group) \
	static unsigned moriens_tau_site_ = ::moriens::tau_static(name); \
	::moriens::tau_scope moriens_tau_scope_(moriens_tau_site_);
#elif defined(__GNUC__)
#define TAU_PROFILE(name, type, group) \
	static unsigned moriens_tau_site_; \
	__attribute__((__cleanup__(moriens_tau_leave_), __unused__)) unsigned moriens_tau_scope_ = moriens_tau_enter_(&moriens_tau_site_, name);
#else
#define TAU_PROFILE(name, type, group)
#endif
#define TAU_PHASE TAU_PROFILE
#define TAU_DYNAMIC_PHASE TAU_PROFILE
#define TAU_DYNAMIC_PROFILE TAU_PROFILE

/* A timer of several files is a function. */
#define MORIENS_TAU_GLOBAL_(function, name) \
	unsigned *function(void); \
	unsigned *function(void) \
	{ \
		static unsigned site; \
		moriens_tau_static_(&site, MORIENS_TAU_TEXT_(name)); \
		return &site; \
	}
#define TAU_GLOBAL_PHASE(var, name, type, group) MORIENS_TAU_GLOBAL_(moriens_tau_phase_##var, name)
#define TAU_GLOBAL_PHASE_EXTERNAL(var) extern unsigned *moriens_tau_phase_##var(void)
#define TAU_GLOBAL_PHASE_START(var) { moriens_tau_mark_(MORIENS_SAYS_BEGIN, moriens_tau_phase_##var(), 0); }
#define TAU_GLOBAL_PHASE_STOP(var) { moriens_tau_mark_(MORIENS_SAYS_END, moriens_tau_phase_##var(), 0); }
#define TAU_GLOBAL_TIMER(var, name, type, group) MORIENS_TAU_GLOBAL_(moriens_tau_timer_##var, name)
#define TAU_GLOBAL_TIMER_EXTERNAL(var) extern unsigned *moriens_tau_timer_##var(void);
#define TAU_GLOBAL_TIMER_START(var) { moriens_tau_mark_(MORIENS_SAYS_BEGIN | MORIENS_TAU_STACK_, moriens_tau_timer_##var(), 0); }
#define TAU_GLOBAL_TIMER_STOP() moriens_tau_mark_(MORIENS_SAYS_END | MORIENS_TAU_STACK_, (unsigned *)0, 0);

#define TAU_REGISTER_EVENT(event, name) TAU_PROFILE_TIMER(event, name, "", TAU_DEFAULT)
#define TAU_REGISTER_CONTEXT_EVENT(event, name) TAU_REGISTER_EVENT(event, name)
#define TAU_EVENT(event, value) moriens_tau_mark_(MORIENS_SAYS_EVENT, &event##_moriens_tau_, moriens_tau_whole_((double)(value)));
#define TAU_CONTEXT_EVENT(event, value) TAU_EVENT(event, value)
#define TAU_EVENT_THREAD(event, value, tid) TAU_EVENT(event, value)
#define TAU_CONTEXT_EVENT_THREAD(event, value, tid) TAU_EVENT(event, value)
#define TAU_TRIGGER_EVENT(name, value) \
	moriens_tau_named_(MORIENS_SAYS_EVENT, (unsigned *)0, MORIENS_TAU_TEXT_(name), moriens_tau_whole_((double)(value)))
#define TAU_TRIGGER_CONTEXT_EVENT(name, value) TAU_TRIGGER_EVENT(name, value)
#define TAU_TRIGGER_EVENT_THREAD(name, value, tid) TAU_TRIGGER_EVENT(name, value)
#define TAU_TRIGGER_CONTEXT_EVENT_THREAD(name, value, tid) TAU_TRIGGER_EVENT(name, value)

/* What follows is of TAU's own measurement. */

#define TAU_PROFILE_INIT(argc, argv) ((void)(argc), (void)(argv));
#define TAU_INIT(argc, argv) ((void)(argc), (void)(argv));
#define TAU_PROFILE_EXIT(msg) ((void)(msg));
#define TAU_PROFILE_SET_NODE(node) ((void)(node));
#define TAU_PROFILE_SET_CONTEXT(context) ((void)(context));
#define TAU_PROFILE_SET_THREAD(thread) ((void)(thread));
#define TAU_PROFILE_GET_NODE() 0
#define TAU_PROFILE_GET_CONTEXT() 0
#define TAU_PROFILE_GET_THREAD() 0
#define TAU_PROFILE_STMT(stmt) stmt;
#define TAU_NEW(expr, size) expr
#define TAU_DELETE(expr, variable) expr
#define TAU_GET_PROFILE_GROUP(group) TAU_DEFAULT
#define CT(object) ""
#define TAU_TYPE_STRING(variable, text)
#define TYPE_STRING(variable, text)
#define PROFILED_BLOCK(name, type)

/* Figures of TAU's: there are none. */
#define TAU_MAX_COUNTERS 25
#define TAU_PROFILER_GET_COUNTER_INFO(counters, count) ((void)(counters), *(count) = 0);
#define TAU_PROFILER_GET_INCLUSIVE_VALUES(handle, data) ((void)(handle), *(double *)(data) = 0);
#define TAU_PROFILER_GET_EXCLUSIVE_VALUES(handle, data) ((void)(handle), *(double *)(data) = 0);
#define TAU_PROFILER_GET_CALLS(handle, data) ((void)(handle), *(long *)(data) = 0);
#define TAU_PROFILER_GET_CHILD_CALLS(handle, data) ((void)(handle), *(long *)(data) = 0);
#define TAU_PROFILER_GET_INCLUSIVE_VALUES_TASK(handle, data, tid) TAU_PROFILER_GET_INCLUSIVE_VALUES(handle, data)
#define TAU_PROFILER_GET_EXCLUSIVE_VALUES_TASK(handle, data, tid) TAU_PROFILER_GET_EXCLUSIVE_VALUES(handle, data)
#define TAU_PROFILER_GET_CALLS_TASK(handle, data, tid) TAU_PROFILER_GET_CALLS(handle, data)
#define TAU_PROFILER_GET_CHILD_CALLS_TASK(handle, data, tid) TAU_PROFILER_GET_CHILD_CALLS(handle, data)
#define TAU_QUERY_DECLARE_EVENT(event) void *event;
#define TAU_QUERY_GET_CURRENT_EVENT(event) event = (void *)0;
#define TAU_QUERY_GET_PARENT_EVENT(event) event = (void *)0;
#define TAU_QUERY_GET_EVENT_NAME(event, text) text = ((void)(event), (char *)"");
#define TAU_GET_FUNC_NAMES(list, count) ((void)(list), (count) = 0);
#define TAU_GET_COUNTER_NAMES(list, count) ((void)(list), (count) = 0);
#define TAU_GET_EVENT_NAMES(list, count) ((void)(list), (count) = 0);
#define TAU_DUMP_FUNC_NAMES()
#define TAU_DUMP_FUNC_VALS(list, count)
#define TAU_DUMP_FUNC_VALS_INCR(list, count)
#define TAU_CREATE_TASK(tid) tid = 0

#define TAU_PROFILE_TIMER_SET_NAME(t, newname)
#define TAU_PROFILE_TIMER_SET_TYPE(t, newname)
#define TAU_PROFILE_TIMER_SET_GROUP(t, id)
#define TAU_PROFILE_TIMER_SET_GROUP_NAME(t, newname)
#define TAU_PROFILE_SET_GROUP_NAME(newname)
#define TAU_REGISTER_THREAD()
#define TAU_REGISTER_FORK(nodeid, op)
#define TAU_ENABLE_INSTRUMENTATION()
#define TAU_DISABLE_INSTRUMENTATION()
#define TAU_ENABLE_GROUP(group)
#define TAU_DISABLE_GROUP(group)
#define TAU_ENABLE_GROUP_NAME(group)
#define TAU_DISABLE_GROUP_NAME(group)
#define TAU_ENABLE_ALL_GROUPS()
#define TAU_DISABLE_ALL_GROUPS()
#define TAU_DB_DUMP()
#define TAU_DB_DUMP_PREFIX(prefix)
#define TAU_DB_DUMP_INCR()
#define TAU_DB_MERGED_DUMP()
#define TAU_DB_PURGE()
#define TAU_REPORT_STATISTICS()
#define TAU_REPORT_THREAD_STATISTICS()
#define TAU_EVENT_SET_NAME(event, name)
#define TAU_EVENT_DISABLE_MIN(event)
#define TAU_EVENT_DISABLE_MAX(event)
#define TAU_EVENT_DISABLE_MEAN(event)
#define TAU_EVENT_DISABLE_STDDEV(event)
#define TAU_ENABLE_CONTEXT_EVENT(event)
#define TAU_DISABLE_CONTEXT_EVENT(event)
#define TAU_TRACK_MEMORY()
#define TAU_TRACK_MEMORY_HERE()
#define TAU_TRACK_MEMORY_FOOTPRINT()
#define TAU_TRACK_MEMORY_FOOTPRINT_HERE()
#define TAU_TRACK_MEMORY_HEADROOM()
#define TAU_TRACK_MEMORY_HEADROOM_HERE()
#define TAU_ENABLE_TRACKING_MEMORY()
#define TAU_DISABLE_TRACKING_MEMORY()
#define TAU_ENABLE_TRACKING_MEMORY_HEADROOM()
#define TAU_DISABLE_TRACKING_MEMORY_HEADROOM()
#define TAU_TRACK_POWER()
#define TAU_TRACK_POWER_HERE()
#define TAU_TRACK_LOAD()
#define TAU_TRACK_LOAD_HERE()
#define TAU_SET_INTERRUPT_INTERVAL(value)
#define TAU_PROFILE_SNAPSHOT(name)
#define TAU_PROFILE_SNAPSHOT_1L(name, expr)
#define TAU_METADATA(name, value)
#define TAU_CONTEXT_METADATA(name, value)
#define TAU_PHASE_METADATA(name, value)
#define TAU_PROFILE_PARAM1L(data, name)
#define TAU_TRACE_SENDMSG(type, destination, length)
#define TAU_TRACE_RECVMSG(type, source, length)
#define TAU_TRACE_SENDMSG_REMOTE(type, destination, length, remote)
#define TAU_TRACE_RECVMSG_REMOTE(type, source, length, remote)
#define TAU_PROFILE_CALLSTACK()
#define TAU_BCAST_DATA(bytes)
#define TAU_REDUCE_DATA(bytes)
#define TAU_ALLREDUCE_DATA(bytes)
#define TAU_ALLTOALL_DATA(bytes)
#define TAU_SCATTER_DATA(bytes)
#define TAU_GATHER_DATA(bytes)
#define TAU_ALLGATHER_DATA(bytes)
#define TAU_REDUCESCATTER_DATA(bytes)
#define TAU_SCAN_DATA(bytes)
#define TAU_DB_DUMP_PREFIX_TASK(prefix, task)
#define TAU_TRACK_MUSE_EVENTS()
#define TAU_ENABLE_TRACKING_MUSE_EVENTS()
#define TAU_DISABLE_TRACKING_MUSE_EVENTS()
#define TAU_ENABLE_TRACKING_POWER()
#define TAU_DISABLE_TRACKING_POWER()
#define TAU_ENABLE_TRACKING_LOAD()
#define TAU_DISABLE_TRACKING_LOAD()
#define TAU_SET_USER_CLOCK(value)
#define TAU_SET_USER_CLOCK_THREAD(value, tid)

#endif
