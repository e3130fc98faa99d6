/*
 * moriens.h: tell moriens what a program is doing.
 *
 *	MORIENS_BEGIN("solve");             a phase of the calling thread begins; phases nest
 *	MORIENS_EVENT("residual", n);       something happened, with a whole number
 *	MORIENS_END("solve");               the innermost phase of that name ends
 *
 *	moriens_begin(name);                the same with names that are known at run time only:
 *	moriens_end(name);                  NUL-terminated, they need not outlive the call
 *	moriens_event(name, n);
 *
 *	{ MORIENS_PHASE("solve"); ... }     C++: a phase that ends with its scope
 *	moriens::phase p(name);             likewise, with a char pointer or a std::string
 *
 * This header is all there is: nothing to link, C89 to C23, C++98 and later, gcc and clang. In a program that
 * runs without moriens each of them costs a load and a branch. With it, a few ns and the reading of a clock.
 * Where the compiler or the system is another one, and where MORIENS_DISABLE is defined, they do nothing.
 *
 * Any thread may use them, at any time but in signal handlers. docs/annotations.md says how they are used.
 */
#ifndef MORIENS_H
#define MORIENS_H

#include <stddef.h>

/* What a mark says: the first argument of moriens_annotate_1. */
#define MORIENS_SAYS_BEGIN 0xff01u
#define MORIENS_SAYS_END 0xff02u
#define MORIENS_SAYS_EVENT 0xff03u

#ifdef __cplusplus
extern "C" {
#endif

/* libmoriens.so defines this; site, where it is not NULL, keeps the number of a name that never changes. */
typedef void (*moriens_annotate_function)(unsigned what, unsigned *site, const char *name, size_t bytes, long value);

#if defined(MORIENS_DISABLE) || !defined(__GNUC__) || !defined(__linux__) || !defined(__LP64__)
#define MORIENS_HOOK_() ((moriens_annotate_function)0)
#elif defined(__x86_64__) || defined(__aarch64__)
/*
 * The address of a function that may not be there. By the compiler's own weak attribute, a program that is not
 * position-independent would be given the answer of its link editor, "not there", for good. An entry of the global
 * offset table is filled in by the dynamic loader, however the code is compiled.
 */
static __inline__ moriens_annotate_function moriens_hook_(void)
{
	moriens_annotate_function hook;

#if defined(__x86_64__)
	__asm__(".weak moriens_annotate_1\n\t"
		"{movq moriens_annotate_1@GOTPCREL(%%rip), %0|mov %0, QWORD PTR moriens_annotate_1@GOTPCREL[rip]}" : "=r"(hook));
#else
	__asm__(".weak moriens_annotate_1\n\tadrp %0, :got:moriens_annotate_1\n\tldr %0, [%0, #:got_lo12:moriens_annotate_1]" : "=r"(hook));
#endif
	return hook;
}
#define MORIENS_HOOK_() moriens_hook_()
#else
extern void moriens_annotate_1(unsigned, unsigned *, const char *, size_t, long) __attribute__((__weak__));
#define MORIENS_HOOK_() (&moriens_annotate_1)
#endif

static __inline__ void moriens_annotate_(unsigned what, unsigned *site, const char *name, size_t bytes, long value)
{
	moriens_annotate_function hook = MORIENS_HOOK_();

	if (hook != (moriens_annotate_function)0)
		hook(what, site, name, bytes, value);
}

static __inline__ size_t moriens_length_(const char *name)
{
	size_t length = 0;

	while (name[length] != '\0')
		length++;
	return length;
}

static __inline__ void moriens_annotate_named_(unsigned what, const char *name, long value)
{
	moriens_annotate_function hook = MORIENS_HOOK_();

	if (hook != (moriens_annotate_function)0)
		hook(what, (unsigned *)0, name, moriens_length_(name), value);
}

static __inline__ void moriens_begin(const char *name)
{
	moriens_annotate_named_(MORIENS_SAYS_BEGIN, name, 0);
}

static __inline__ void moriens_end(const char *name)
{
	moriens_annotate_named_(MORIENS_SAYS_END, name, 0);
}

static __inline__ void moriens_event(const char *name, long value)
{
	moriens_annotate_named_(MORIENS_SAYS_EVENT, name, value);
}

#ifdef __cplusplus
}
#endif

/* name must be a string literal: its number is asked for once. */
#define MORIENS_ANNOTATE_(what, name, value) \
	do { \
		static unsigned moriens_site_; \
		moriens_annotate_(what, &moriens_site_, "" name, sizeof("" name) - 1, value); \
	} while (0)
#define MORIENS_BEGIN(name) MORIENS_ANNOTATE_(MORIENS_SAYS_BEGIN, name, 0)
#define MORIENS_END(name) MORIENS_ANNOTATE_(MORIENS_SAYS_END, name, 0)
#define MORIENS_EVENT(name, value) MORIENS_ANNOTATE_(MORIENS_SAYS_EVENT, name, value)

#ifdef __cplusplus
namespace moriens {

/* A phase from its construction to its destruction, on one thread. */
class phase {
public:
	explicit phase(const char *name) : own_(0), site_(&own_)
	{
		moriens_annotate_(MORIENS_SAYS_BEGIN, site_, name, moriens_length_(name), 0);
	}

	/* std::string, std::string_view and the like. */
	template <class Text> explicit phase(const Text &name) : own_(0), site_(&own_)
	{
		moriens_annotate_(MORIENS_SAYS_BEGIN, site_, name.data(), name.size(), 0);
	}

	phase(unsigned *site, const char *name, size_t bytes) : own_(0), site_(site)
	{
		moriens_annotate_(MORIENS_SAYS_BEGIN, site_, name, bytes, 0);
	}

	/* By the number, for the text may be gone by now. */
	~phase() { moriens_annotate_(MORIENS_SAYS_END, site_, (const char *)0, 0, 0); }

private:
	phase(const phase &);
	phase &operator=(const phase &);

	unsigned own_;
	unsigned *site_;
};

} /* namespace moriens */

#define MORIENS_PHASE_2_(name, n) \
	static unsigned moriens_site_##n; \
	::moriens::phase moriens_phase_##n(&moriens_site_##n, "" name, sizeof("" name) - 1)
#define MORIENS_PHASE_(name, n) MORIENS_PHASE_2_(name, n)
#define MORIENS_PHASE(name) MORIENS_PHASE_(name, __COUNTER__)
#endif

#endif
