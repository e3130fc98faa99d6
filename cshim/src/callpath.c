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

/* A known path. Its frames are those of the stack, whose recursion is not folded. */
struct moriens_chain {
	uint64_t hash; /* of the addresses */
	uint32_t path;
	uint16_t count; /* 0 = no entry */
	bool rules;     /* there is one for each frame: the path can be followed */
	struct moriens_rule_entry frame[];
};

static size_t chain_bytes(uint32_t depth)
{
	return sizeof(struct moriens_chain) + depth * sizeof(struct moriens_rule_entry);
}

struct moriens_path_cache *moriens_path_cache_new(uint32_t depth, uintptr_t low, uintptr_t high)
{
	size_t rules = depth == 1 ? 0 : RULES * sizeof(struct moriens_rule_entry);
	size_t chains = depth == 1 ? 0 : CHAINS * chain_bytes(depth);
	size_t bytes = sizeof(struct moriens_path_cache) + rules + chains;
	struct moriens_path_cache *cache = moriens_os_memory(bytes);

	if (cache == NULL)
		return NULL;
	cache->depth = depth;
	cache->bytes = bytes;
	cache->stack_low = low;
	cache->stack_high = high;
	cache->rules = (struct moriens_rule_entry *)(cache + 1);
	cache->chains = (struct moriens_chain *)((char *)(cache + 1) + rules);
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
	memset(cache->last, 0, sizeof cache->last);
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

static inline struct moriens_chain *chain_entry(struct moriens_path_cache *cache, uint64_t hash)
{
	return (struct moriens_chain *)((char *)cache->chains + (hash >> 32 & (CHAINS - 1)) * chain_bytes(cache->depth));
}

static inline const struct moriens_chain **last_entry(struct moriens_path_cache *cache, uintptr_t site)
{
	return &cache->last[(site ^ site >> 8) & (MORIENS_SITE_CACHE - 1)];
}

/* A frame that a walk has come to. */
struct place {
	uintptr_t address; /* at which it continues */
	uintptr_t stack, frame_pointer;
	uintptr_t top; /* of the stack */
};

enum step {
	STEP_DONE,
	STEP_END,     /* the stack ends */
	STEP_NO_RULE, /* or it is no rule for what was found */
};

READS_STACK static inline struct place innermost(const struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame)
{
	return (struct place){
		.address = site,
		.stack = frame + 2 * sizeof(word), /* once the wrapper has returned */
		.frame_pointer = *(const stack_word *)frame,
		.top = frame - cache->stack_low < cache->stack_high - cache->stack_low ? cache->stack_high : UINTPTR_MAX,
	};
}

/* Goes on to the caller of a frame; at is as it was unless that is done. */
READS_STACK static inline enum step step_out(struct place *at, const struct moriens_rule *rule)
{
	uintptr_t caller = at->stack;

	if (rule->base == MORIENS_RULE_FRAME) {
		/* It points into its own frame, or hand-written code has used the register for something else. */
		if (unlikely(at->frame_pointer < at->stack || at->frame_pointer - at->stack > 1u << 24))
			return STEP_NO_RULE;
		caller = at->frame_pointer;
	} else if (unlikely(rule->base != MORIENS_RULE_STACK)) {
		return rule->base == MORIENS_RULE_OUTERMOST ? STEP_END : STEP_NO_RULE;
	}
	uintptr_t stack = caller + (uintptr_t)rule->end;
	if (unlikely(stack > at->top))
		return STEP_END;
	uintptr_t address = ((const stack_word *)stack)[-1];
	if (unlikely(address == 0))
		return STEP_END;
	at->address = address;
	if (rule->saved != 0)
		at->frame_pointer = *(const stack_word *)(stack + (uintptr_t)(intptr_t)rule->saved);
	at->stack = stack;
	return STEP_DONE;
}

/* Whether the stack is that of a path. If it is not, same is how many frames are, and at the first one that is not. */
READS_STACK static inline bool follow(const struct moriens_path_cache *cache, const struct moriens_chain *path, struct place *at, uint32_t *same)
{
	uint32_t n = 0;

	for (; n < path->count && path->frame[n].address == at->address; n++) {
		if (n + 1 == cache->depth)
			return true;
		enum step step = step_out(at, &path->frame[n].rule);
		if (unlikely(step != STEP_DONE)) {
			if (step == STEP_END && n + 1 == path->count)
				return true;
			break;
		}
	}
	*same = n;
	return false;
}

enum walked {
	WALKED_WHOLE,
	WALKED_UNKNOWN, /* the last address has no entry */
	WALKED_NO_RULE, /* the last address has none */
};

/* Fills chain[0 … *count - 1] from number *count on, at which the walk is, and stops where the depth, the stack or
 * the rules end. */
READS_STACK static inline enum walked walk(struct moriens_path_cache *cache, struct place at, uintptr_t *chain, uint32_t *count, uint64_t *hash)
{
	enum walked end = WALKED_WHOLE;
	uint64_t h = *hash;
	uint32_t n = *count;

	for (;;) {
		chain[n++] = at.address;
		h = moriens_path_hash(h, at.address);
		if (n == cache->depth)
			break;
		const struct moriens_rule_entry *entry = rule_entry(cache, at.address);
		if (unlikely(entry->address != at.address)) {
			end = WALKED_UNKNOWN;
			break;
		}
		enum step step = step_out(&at, &entry->rule);
		if (unlikely(step != STEP_DONE)) {
			end = step == STEP_END ? WALKED_WHOLE : WALKED_NO_RULE;
			break;
		}
	}
	*count = n;
	*hash = h;
	return end;
}

static enum walked walk_all(struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame, uintptr_t *chain, uint32_t *count, uint64_t *hash)
{
	*count = 0;
	*hash = 0;
	return walk(cache, innermost(cache, site, frame), chain, count, hash);
}

static inline bool is_chain(const struct moriens_chain *entry, const uintptr_t *chain, uint32_t count, uint64_t hash)
{
	uint32_t same = 0;

	if (entry->hash != hash || entry->count != count)
		return false;
	while (same < count && entry->frame[same].address == chain[same])
		same++;
	return same == count;
}

static void fill(struct moriens_chain *entry, const uintptr_t *chain, uint32_t count, uint64_t hash, uint32_t path)
{
	entry->hash = hash;
	entry->path = path;
	entry->count = (uint16_t)count;
	entry->rules = false;
	for (uint32_t i = 0; i < count; i++)
		entry->frame[i] = (struct moriens_rule_entry){.address = chain[i]};
}

/* The number of a path that is not folded. Many that are not alike are so when folded, and then found here. */
static uint32_t number_folded(struct moriens_path_cache *cache, const uintptr_t *chain, uint32_t count)
{
	uintptr_t folded[MORIENS_MAX_CALLPATH];
	uint64_t hash = 0;

	memcpy(folded, chain, count * sizeof *chain);
	uint32_t left = moriens_paths_fold(folded, count);
	if (left == count)
		return moriens_paths_intern(&moriens_run.paths, chain, count);
	for (uint32_t i = 0; i < left; i++)
		hash = moriens_path_hash(hash, folded[i]);
	struct moriens_chain *entry = chain_entry(cache, hash);
	if (!is_chain(entry, folded, left, hash))
		fill(entry, folded, left, hash, moriens_paths_intern(&moriens_run.paths, folded, left));
	return entry->path;
}

/* Gives a path the rules of its frames, where they have led a walk through it. */
static void give_rules(struct moriens_path_cache *cache, struct moriens_chain *entry)
{
	uint32_t needed = entry->count < cache->depth ? entry->count : entry->count - 1u;

	for (uint32_t i = 0; i < needed; i++) {
		const struct moriens_rule_entry *known = rule_entry(cache, entry->frame[i].address);
		if (known->address != entry->frame[i].address || known->rule.base == MORIENS_RULE_NONE)
			return;
		entry->frame[i].rule = known->rule;
	}
	entry->rules = true;
}

/* The path of a chain that is right. */
static inline const struct moriens_chain *known_path(struct moriens_path_cache *cache, const uintptr_t *chain, uint32_t count, uint64_t hash)
{
	struct moriens_chain *entry = chain_entry(cache, hash);

	if (unlikely(!is_chain(entry, chain, count, hash))) {
		uint32_t path = number_folded(cache, chain, count);
		fill(entry, chain, count, hash, path);
		give_rules(cache, entry);
	}
	return entry;
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

/* A rule was wrong. The paths that were followed by it are forgotten. */
static void distrust(struct moriens_path_cache *cache, uintptr_t address)
{
	rule_entry(cache, address)->rule.base = MORIENS_RULE_NONE;
	memset(cache->last, 0, sizeof cache->last);
	memset(cache->chains, 0, CHAINS * chain_bytes(cache->depth));
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
		end = walk_all(cache, site, frame, walked, &steps, hash);
	}
	count = by_libunwind(cache, site, chain, hash);
	while (same < count && same < steps && chain[same] == walked[same])
		same++;
	if (same != steps || (same != count && end == WALKED_WHOLE))
		distrust(cache, walked[same - 1]);
	return count;
}

/* The path of a stack of which a walk that ended like this has found so much. */
static const struct moriens_chain *find_path(struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame, uintptr_t *chain,
	uint32_t count, uint64_t hash, enum walked end)
{
	if (unlikely(end == WALKED_UNKNOWN))
		count = learn_path(cache, site, frame, chain, count, &hash);
	else if (unlikely(end == WALKED_NO_RULE))
		count = by_libunwind(cache, site, chain, &hash);
	return known_path(cache, chain, count, hash);
}

uint32_t moriens_path_deep(struct moriens_path_cache *cache, uintptr_t site, uintptr_t frame)
{
	const struct moriens_chain **entry = last_entry(cache, site), *last = *entry;
	struct place at = innermost(cache, site, frame);
	uintptr_t chain[MORIENS_MAX_CALLPATH];
	uint64_t hash = 0;
	uint32_t count = 0, path;

	if (unlikely(cache->python != NULL) && moriens_python_path(cache->python, site, cache->depth, &path))
		return path;
	if (likely(last != NULL) && likely(follow(cache, last, &at, &count)))
		return last->path;
	for (uint32_t i = 0; i < count; i++) {
		chain[i] = last->frame[i].address;
		hash = moriens_path_hash(hash, chain[i]);
	}
	enum walked end = walk(cache, at, chain, &count, &hash);
	if (unlikely(end == WALKED_UNKNOWN) && moriens_python_meet(&cache->python, site, cache->depth, &path))
		return path;
	last = find_path(cache, site, frame, chain, count, hash, end);
	*entry = last->rules ? last : NULL;
	return last->path;
}
