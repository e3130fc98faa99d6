/*
 * NVTX's ranges that are pushed and popped. Those that are started and ended may cross and change threads: they are no
 * phases.
 *
 * Programs of version 2 are linked to libnvToolsExt.so, whose functions are exported here and go on to it. Version 3 is
 * a header without a library: the first call of each object that was compiled with it opens what NVTX_INJECTION64_PATH
 * names and calls its InitializeInjectionNvtx2, which puts functions into that object's table. Where that is this
 * library, no other tool has these calls.
 */
#include "marks.h"
#include "regions.h"

#include <string.h>
#include <wchar.h>

/* The values and layouts below are those of NVTX's public headers. */
struct nvtx_attributes {
	uint16_t version, size;
	uint32_t category;
	int32_t color_type;
	uint32_t color;
	int32_t payload_type;
	int32_t reserved;
	uint64_t payload;
	int32_t message_type;
	union {
		const char *text;
		const wchar_t *wide;
		uintptr_t registered;
	} message;
};

enum nvtx_message { NVTX_TEXT = 1, NVTX_WIDE = 2, NVTX_REGISTERED = 3 };
enum nvtx_module { NVTX_CORE = 1, NVTX_CORE2 = 5 };
enum nvtx_core { NVTX_PUSH_EX = 8, NVTX_PUSH_A = 9, NVTX_PUSH_W = 10, NVTX_POP = 11 };
enum nvtx_core2 { NVTX_DOMAIN_PUSH_EX = 4, NVTX_DOMAIN_POP = 5, NVTX_REGISTER_A = 10, NVTX_REGISTER_W = 11, NVTX_CREATE_A = 12, NVTX_CREATE_W = 13 };

#define NVTX_TABLE_CALLBACKS 1u
#define NVTX_ATTRIBUTES_BYTES 48u

_Static_assert(sizeof(struct nvtx_attributes) == NVTX_ATTRIBUTES_BYTES, "of versions 1 to 3");

struct nvtx_callbacks {
	size_t bytes;
	int (*table_of)(int module, moriens_function ***table, unsigned *entries);
};

typedef const void *(*nvtx_tables)(uint32_t id);

#define NO_NAME "NVTX range"
#define LONGEST 4096u

static uint32_t text_number(const char *text)
{
	return text != NULL ? moriens_marks_number(text, strlen(text)) : moriens_marks_number(NO_NAME, sizeof NO_NAME - 1);
}

/* Writes text as UTF-8, and gives its length. A longer one is cut. */
static size_t narrow(const wchar_t *wide, char text[LONGEST])
{
	size_t bytes = 0;

	for (; *wide != L'\0' && bytes + 4 <= LONGEST; wide++) {
		uint32_t c = (uint32_t)*wide;
		if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
			c = 0xfffd;
		unsigned more = c < 0x80 ? 0 : c < 0x800 ? 1 : c < 0x10000 ? 2 : 3;
		static const uint8_t first[] = {0, 0xc0, 0xe0, 0xf0};
		text[bytes++] = (char)(first[more] | c >> 6 * more);
		while (more-- > 0)
			text[bytes++] = (char)(0x80 | (c >> 6 * more & 0x3f));
	}
	return bytes;
}

static MORIENS_COLD uint32_t wide_number(const wchar_t *wide)
{
	char text[LONGEST];

	if (wide == NULL)
		return text_number(NULL);
	return moriens_marks_number(text, narrow(wide, text));
}

/* A registered text is known where this library has given it its handle. */
static uint32_t attributes_number(const struct nvtx_attributes *a, bool registers)
{
	if (a == NULL || a->size < NVTX_ATTRIBUTES_BYTES)
		return text_number(NULL);
	switch (a->message_type) {
	case NVTX_TEXT:
		return text_number(a->message.text);
	case NVTX_WIDE:
		return wide_number(a->message.wide);
	case NVTX_REGISTERED:
		return registers && a->message.registered != 0 ? (uint32_t)(a->message.registered >> 1) : text_number(NULL);
	}
	return text_number(NULL);
}

static bool ours(const void *frame)
{
	return moriens_regions_ours(MORIENS_REGIONS_NVTX, frame);
}

/* The default domain is 0, as a handle that is not 0 is another. */
static uintptr_t stack_of(const void *domain)
{
	return domain != NULL ? (uintptr_t)domain : MORIENS_REGIONS_NVTX;
}

/* A function of version 2. number is evaluated where the range is recorded. */
#define NVTX_PUSHES(function, parameters, types, arguments, domain, number) \
	MORIENS_EXPORTS(int, function, parameters, MORIENS_REGIONS_NVTX, true) \
	static int moriens_here_##function parameters \
	{ \
		const void *frame = __builtin_frame_address(0); \
		int(*next) types = (int(*) types)moriens_regions_next(&moriens_foreign_##function, __builtin_return_address(0)); \
		bool recorded = ours(frame); \
		int level = MORIENS_NO_LEVEL; \
		if (next != NULL) { \
			uintptr_t outer = moriens_regions_pass(frame); \
			level = next arguments; \
			moriens_regions_passed(outer); \
		} \
		int own = recorded ? moriens_regions_push(stack_of(domain), number, frame) : MORIENS_NO_LEVEL; \
		return next != NULL ? level : own; \
	}
NVTX_PUSHES(nvtxRangePushA, (const char *text), (const char *), (text), NULL, text_number(text))
NVTX_PUSHES(nvtxRangePushW, (const wchar_t *wide), (const wchar_t *), (wide), NULL, wide_number(wide))
NVTX_PUSHES(nvtxRangePushEx, (const struct nvtx_attributes *a), (const struct nvtx_attributes *), (a), NULL, attributes_number(a, false))
NVTX_PUSHES(nvtxDomainRangePushEx, (const void *domain, const struct nvtx_attributes *a), (const void *, const struct nvtx_attributes *), (domain, a), domain,
	attributes_number(a, false))

#define NVTX_POPS(function, parameters, types, arguments, domain) \
	MORIENS_EXPORTS(int, function, parameters, MORIENS_REGIONS_NVTX, true) \
	static int moriens_here_##function parameters \
	{ \
		const void *frame = __builtin_frame_address(0); \
		int(*next) types = (int(*) types)moriens_regions_next(&moriens_foreign_##function, __builtin_return_address(0)); \
		int own = ours(frame) ? moriens_regions_pop(stack_of(domain), frame) : MORIENS_NO_LEVEL; \
		if (next == NULL) \
			return own; \
		uintptr_t outer = moriens_regions_pass(frame); \
		int level = next arguments; \
		moriens_regions_passed(outer); \
		return level; \
	}
NVTX_POPS(nvtxRangePop, (void), (void), (), NULL)
NVTX_POPS(nvtxDomainRangePop, (const void *domain), (const void *), (domain), domain)

/* What version 3 calls. */

static int push_text(const char *text)
{
	return moriens_regions_push(stack_of(NULL), text_number(text), __builtin_frame_address(0));
}

static int push_wide(const wchar_t *wide)
{
	return moriens_regions_push(stack_of(NULL), wide_number(wide), __builtin_frame_address(0));
}

static int push_attributes(const struct nvtx_attributes *a)
{
	return moriens_regions_push(stack_of(NULL), attributes_number(a, true), __builtin_frame_address(0));
}

static int pop(void)
{
	return moriens_regions_pop(stack_of(NULL), __builtin_frame_address(0));
}

static int domain_push(const void *domain, const struct nvtx_attributes *a)
{
	return moriens_regions_push(stack_of(domain), attributes_number(a, true), __builtin_frame_address(0));
}

static int domain_pop(const void *domain)
{
	return moriens_regions_pop(stack_of(domain), __builtin_frame_address(0));
}

static uintptr_t register_text(const void *domain, const char *text)
{
	(void)domain;
	return (uintptr_t)text_number(text) << 1 | 1;
}

static uintptr_t register_wide(const void *domain, const wchar_t *wide)
{
	(void)domain;
	return (uintptr_t)wide_number(wide) << 1 | 1;
}

/* A domain of the same name is the same in all objects: its handle is a hash of it. */
static uintptr_t domain_of(const char *text, size_t bytes)
{
	uint64_t hash = 0xcbf29ce484222325u;

	for (size_t i = 0; i < bytes; i++)
		hash = (hash ^ (uint8_t)text[i]) * 0x100000001b3u;
	return (uintptr_t)hash | 1;
}

static uintptr_t create_domain(const char *text)
{
	return text != NULL ? domain_of(text, strlen(text)) : 0;
}

static MORIENS_COLD uintptr_t create_domain_wide(const wchar_t *wide)
{
	char text[LONGEST];

	return wide != NULL ? domain_of(text, narrow(wide, text)) : 0;
}

struct nvtx_slot {
	unsigned id;
	moriens_function function;
};

static const struct nvtx_slot core[] = {
	{NVTX_PUSH_EX, (moriens_function)push_attributes},
	{NVTX_PUSH_A, (moriens_function)push_text},
	{NVTX_PUSH_W, (moriens_function)push_wide},
	{NVTX_POP, (moriens_function)pop},
};

static const struct nvtx_slot core2[] = {
	{NVTX_DOMAIN_PUSH_EX, (moriens_function)domain_push},
	{NVTX_DOMAIN_POP, (moriens_function)domain_pop},
	{NVTX_REGISTER_A, (moriens_function)register_text},
	{NVTX_REGISTER_W, (moriens_function)register_wide},
	{NVTX_CREATE_A, (moriens_function)create_domain},
	{NVTX_CREATE_W, (moriens_function)create_domain_wide},
};

static bool fill(const struct nvtx_callbacks *callbacks, int module, const struct nvtx_slot *slot, size_t count)
{
	moriens_function **table = NULL;
	unsigned entries = 0;

	if (callbacks->table_of(module, &table, &entries) == 0 || table == NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		if (slot[i].id < entries && table[slot[i].id] != NULL)
			*table[slot[i].id] = slot[i].function;
	}
	return true;
}

/* 0: no tool is there, and NVTX calls nothing from then on. */
MORIENS_PUBLIC int InitializeInjectionNvtx2(nvtx_tables tables);
MORIENS_PUBLIC int InitializeInjectionNvtx2(nvtx_tables tables)
{
	const struct nvtx_callbacks *callbacks;

	if (!moriens_regions_on(MORIENS_REGIONS_NVTX) || tables == NULL)
		return 0;
	callbacks = tables(NVTX_TABLE_CALLBACKS);
	if (callbacks == NULL || callbacks->bytes < sizeof *callbacks)
		return 0;
	return fill(callbacks, NVTX_CORE, core, sizeof core / sizeof core[0]) &&
		fill(callbacks, NVTX_CORE2, core2, sizeof core2 / sizeof core2[0]);
}
