#include "callpath.h"
#include "os.h"
#include "python.h"
#include "run.h"

#include <string.h>

#define RULES 1024u /* per thread, a power of two */
#define RULE_PROBES 8u
#define CHAINS 512u /* per thread, a power of two */

/* An address of which it is known that it has no rule has an entry with MORIENS_RULE_NONE. */
struct moriens_rule_entry {
	uintptr_t address; /* 0 = no entry */
	struct moriens_rule rule;
};

/* The stack's words, whatever the program has stored there. */
typedef uintptr_t __attribute__((may_alias)) stack_word;

/* Frames of the program are read on purpose. The words are where its compiler says, never in what ASan guards. */
#define READS_STACK __attribute__((no_sanitize_address))

static size_t chain_words(uint32_t depth)
{
	return depth + 2;
}

struct moriens_path_cache *moriens_path_cache_new(uint32_t depth)
{
	size_t rules = depth == 1 ? 0 : RULES * sizeof(struct moriens_rule_entry);
	size_t chains = depth == 1 ? 0 : CHAINS * chain_words(depth) * sizeof(uintptr_t);
	size_t bytes = sizeof(struct moriens_path_cache) + rules + chains;
	struct moriens_path_cache *cache = moriens_os_memory(bytes);

	if (cache == NULL)
		return NULL;
	cache->depth = depth;
	cache->bytes = bytes;
	cache->rules = (struct moriens_rule_entry *)(cache + 1);
	cache->chains = (uintptr_t *)((char *)(cache + 1) + rules);
	return cache;
}

void moriens_path_cache_free(struct moriens_path_cache *cache)
{
	moriens_python_free(cache->python);
	moriens_os_unmap(cache, cache->bytes);
}

MORIENS_COLD void moriens_path_cache_empty(struct moriens_path_cache *cache)
{
	cache->unloads = __atomic_load_n(&moriens_module_unloads, __ATOMIC_ACQUIRE);
	memset(cache->site, 0, sizeof cache->site);
	memset(cache->rules, 0, cache->bytes - sizeof *cache);
	moriens_python_forget(cache->python);
}

MORIENS_COLD uint32_t moriens_path_miss(struct moriens_path_cache *cache, struct moriens_site_entry *entry, uintptr_t site)
{
	uint32_t path;

	if (moriens_python_path(cache->python, site, 1, &path))
		return path;
	moriens_module_look_for_unloads();
	if (moriens_python_meet(&cache->python, site, 1, &path))
		return path;
	path = moriens_paths_intern(&moriens_run.paths, &site, 1);
	if (!moriens_python_owns(cache->python, site)) /* else the next call from there may have a Python line */
		*entry = (struct moriens_site_entry){site, path};
	return path;
}

/* The entry of an address, or where it would be. Neighbours are searched: two addresses of one path must not drive
 * each other out at every call. */
static inline struct moriens_rule_entry *rule_entry(struct moriens_path_cache *cache, uintptr_t address)
{
	uint32_t home = (uint32_t)((address * 0x9e3779b97f4a7c15u) >> 32);

	for (uint32_t i = 0; i < RULE_PROBES; i++) {
		struct moriens_rule_entry *entry = &cache->rules[(home + i) & (RULES - 1)];
		if (likely(entry->address == address || entry->address == 0))
			return entry;
	}
	return &cache->rules[home & (RULES - 1)];
}

static inline uintptr_t *chain_entry(struct moriens_path_cache *cache, uint64_t hash)
{
	return &cache->chains[(hash >> 32 & (CHAINS - 1)) * chain_words(cache->depth)];
}

enum walked {
	WALKED_WHOLE,
	WALKED_UNKNOWN, /* the last address has no entry */
	WALKED_NO_RULE, /* the last address has none */
};

/* Fills chain[0 … *count - 1], and stops where the depth, the stack or the rules end. */
READS_STACK static inline enum walked walk(struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame, uintptr_t *chain,
	uint32_t *count, uint64_t *hash)
{
	uintptr_t address = site;
	uintptr_t stack = frame + 2 * sizeof(word); /* once the wrapper has returned */
	uintptr_t frame_pointer = *(const stack_word *)frame;
	uint64_t h = moriens_path_hash(0, address);
	uint32_t n = 1;
	enum walked end = WALKED_WHOLE;

	chain[0] = address;
	while (n < cache->depth) {
		const struct moriens_rule_entry *entry = rule_entry(cache, address);
		if (unlikely(entry->address != address)) {
			end = WALKED_UNKNOWN;
			break;
		}
		uintptr_t caller = stack;
		if (entry->rule.base == MORIENS_RULE_FRAME) {
			/* It points into its own frame, or hand-written code has used the register for something else. */
			if (unlikely(frame_pointer < stack || frame_pointer - stack > 1u << 24)) {
				end = WALKED_NO_RULE;
				break;
			}
			caller = frame_pointer;
		} else if (unlikely(entry->rule.base != MORIENS_RULE_STACK)) {
			if (entry->rule.base == MORIENS_RULE_NONE)
				end = WALKED_NO_RULE;
			break;
		}
		stack = caller + (uintptr_t)entry->rule.end;
		address = ((const stack_word *)stack)[-1];
		if (address == 0)
			break;
		if (entry->rule.saved != 0)
			frame_pointer = *(const stack_word *)(stack + (uintptr_t)(intptr_t)entry->rule.saved);
		chain[n++] = address;
		h = moriens_path_hash(h, address);
	}
	*count = n;
	*hash = h;
	return end;
}

/* The path of a chain that is right. */
static inline uint32_t number_of(struct moriens_path_cache *cache, const uintptr_t *chain, uint32_t count, uint64_t hash)
{
	uintptr_t *entry = chain_entry(cache, hash);
	uint32_t same = 0;

	if (likely(entry[0] == count))
		while (same < count && entry[2 + same] == chain[same])
			same++;
	if (unlikely(same != count)) {
		entry[1] = moriens_paths_intern(&moriens_run.paths, chain, count);
		entry[0] = count;
		memcpy(&entry[2], chain, count * sizeof *chain);
	}
	return (uint32_t)entry[1];
}

static void learn(struct moriens_path_cache *cache, uintptr_t address)
{
	struct moriens_rule_entry *entry = rule_entry(cache, address);
	struct moriens_module module;

	entry->rule = (struct moriens_rule){.base = MORIENS_RULE_NONE};
	if (moriens_module_find(address, &module))
		entry->rule = moriens_unwind_rule(&module, address);
	entry->address = address;
}

/* Fills chain with what libunwind says. */
static uint32_t by_libunwind(const struct moriens_path_cache *cache, uintptr_t site, uintptr_t *chain, uint64_t *hash)
{
	uint32_t count = moriens_unwind_backtrace(site, chain, cache->depth);

	*hash = 0;
	for (uint32_t i = 0; i < count; i++)
		*hash = moriens_path_hash(*hash, chain[i]);
	return count;
}

/*
 * Some address was met for the first time: learns the rules of this stack, and believes them if they lead where
 * libunwind comes out. Fills chain with what libunwind says.
 */
MORIENS_COLD static uint32_t learn_path(struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame, uintptr_t *chain,
	uint32_t count, uint64_t *hash)
{
	uintptr_t walked[MORIENS_MAX_CALLPATH];
	uint32_t steps = count, same = 0;
	enum walked end = WALKED_UNKNOWN;

	moriens_module_look_for_unloads();
	memcpy(walked, chain, count * sizeof *chain);
	for (uint32_t tries = 0; end == WALKED_UNKNOWN && tries < MORIENS_MAX_CALLPATH; tries++) {
		learn(cache, walked[steps - 1]);
		end = walk(cache, site, frame, walked, &steps, hash);
	}
	count = by_libunwind(cache, site, chain, hash);
	while (same < count && same < steps && chain[same] == walked[same])
		same++;
	if (same != steps || (same != count && end == WALKED_WHOLE))
		rule_entry(cache, walked[same - 1])->rule.base = MORIENS_RULE_NONE;
	return count;
}

uint32_t moriens_path_deep(struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame)
{
	uintptr_t chain[MORIENS_MAX_CALLPATH];
	uint32_t count, path;
	uint64_t hash;

	if (unlikely(cache->python != NULL) && moriens_python_path(cache->python, site, cache->depth, &path))
		return path;
	enum walked end = walk(cache, site, frame, chain, &count, &hash);
	if (unlikely(end == WALKED_UNKNOWN) && moriens_python_meet(&cache->python, site, cache->depth, &path))
		return path;
	if (unlikely(end == WALKED_UNKNOWN))
		count = learn_path(cache, site, frame, chain, count, &hash);
	else if (unlikely(end == WALKED_NO_RULE))
		count = by_libunwind(cache, site, chain, &hash);
	return number_of(cache, chain, count, hash);
}
