/*
 * From a call to the number of its path, by what the calling thread has met before.
 *
 * With a depth of 1 a path is the wrapper's return address, and a lookup is one comparison.
 *
 * Deeper paths are walked at every call, by one rule (unwind.h) for each return address. The walk follows the path that
 * the call site had last: it has the rules beside the addresses, so that a frame takes a load and a comparison, and a
 * walk that ends where that path ends has compared all of it. Where it departs, the rules are looked up from there on,
 * and what was read from the stack is found by its hash and compared whole with a known path. Why walk again, when the
 * places of the return addresses could be remembered with the wrapper's frame and only compared? Because it would be
 * wrong: the return address and the stack pointer do not say where the caller's own return address lies. After
 *
 *	void f(size_t n) { char *p = alloca(n); … MPI_Barrier(…); }
 *
 * is called with n = 64 by g, and later with n = 80 by h, whose frame is 16 bytes smaller, the wrapper's frame and
 * return address are the same, and where g's call left its return address there is now a hole in f's p, which
 * still holds it. All remembered places match, and the path is wrong.
 *
 * The walk has no such hole. Claim: chain[0 … i] are the return addresses of the frames that are there, and stack and
 * frame pointer are those that frame i had. For i = 0 the compiler gives all three (the wrapper keeps a frame pointer,
 * so that its frame starts with the caller's). Step: the instruction at which frame i continues decides by which rule
 * it lies on the stack. The rule uses only those two registers and words of the frame itself, which is in place until
 * the function returns. So what is read is the return address, and never a leftover. A function for which no rule is
 * known, or for which libunwind says something else, ends the walk, and libunwind finds that path at each of its
 * calls.
 *
 * Recursion is folded (moriens_paths_fold) when a path is met for the first time in a thread, before it gets its
 * number.
 *
 * A walk that comes to the end of the thread's stack stops there. Frames on another stack, such as a coroutine's, have
 * no such bound.
 *
 * Calls that Python's binding of MPI makes have the Python lines instead (python.h).
 *
 * No lock and no allocation but at a path's first call in a thread, and in a thread that meets more
 * paths than its cache holds.
 */
#ifndef MORIENS_CALLPATH_H
#define MORIENS_CALLPATH_H

#include "base.h"
#include "module.h"
#include "paths.h"
#include "unwind.h"

#define MORIENS_SITE_CACHE 256u /* entries, a power of two: more MPI call sites than most programs have */

struct moriens_site_entry {
	uintptr_t site;
	uint32_t path;
};

/* One thread's. */
struct moriens_path_cache {
	uint64_t unloads; /* moriens_module_unloads when it was last emptied */
	uint32_t depth;
	struct moriens_site_entry site[MORIENS_SITE_CACHE]; /* depth 1 */
	const struct moriens_chain *last[MORIENS_SITE_CACHE]; /* deeper: the path that a site had last, NULL = none */
	struct moriens_rule_entry *rules;
	struct moriens_chain *chains; /* by the hash of their addresses */
	uintptr_t stack_low, stack_high; /* of the thread's own stack */
	size_t bytes;      /* of all this */
	struct moriens_python_cache *python; /* NULL: no call has come from a Python program */
};

/* NULL: no memory. The thread's stack is between low and high; both 0: that is not known. */
struct moriens_path_cache *moriens_path_cache_new(uint32_t depth, uintptr_t low, uintptr_t high);
void moriens_path_cache_free(struct moriens_path_cache *cache);

/* Where frame is the wrapper's own frame, which begins with its caller's frame pointer. */
uint32_t moriens_path_deep(struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame);
uint32_t moriens_path_miss(struct moriens_path_cache *cache, struct moriens_site_entry *entry, uintptr_t site);
void moriens_path_cache_empty(struct moriens_path_cache *cache);

/* The number of the path of the call that returns to site. */
MORIENS_HOT uint32_t moriens_path_of(struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame)
{
	if (unlikely(cache->unloads != __atomic_load_n(&moriens_module_unloads, __ATOMIC_RELAXED)))
		moriens_path_cache_empty(cache);
	if (unlikely(cache->depth != 1))
		return moriens_path_deep(cache, site, frame);
	/* Return addresses of one program differ in their low bits most. */
	struct moriens_site_entry *entry = &cache->site[(site ^ site >> 8) & (MORIENS_SITE_CACHE - 1)];
	return likely(entry->site == site) ? entry->path : moriens_path_miss(cache, entry, site);
}

#endif
