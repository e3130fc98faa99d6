#include "unwind.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* The shim's own frames below the wrapper's caller. */
#define OWN_FRAMES 12

static int (*backtrace_by_libunwind)(void **, int);

bool moriens_unwind_load(void)
{
	static const char *const names[] = {"libunwind.so.8", "libunwind.so.1", "libunwind.so"};
	/* ISO C has no conversion from an object's address to a function's; POSIX promises that it works. */
	union {
		void *object;
		int (*function)(void **, int);
	} symbol = {NULL};

	for (size_t i = 0; i < sizeof names / sizeof names[0] && symbol.object == NULL; i++) {
		void *library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
		if (library != NULL)
			symbol.object = dlsym(library, "unw_backtrace"); /* LLVM's library of that name has none */
	}
	backtrace_by_libunwind = symbol.function;
	return symbol.object != NULL;
}

uint32_t moriens_unwind_backtrace(uintptr_t site, uintptr_t *chain, uint32_t count)
{
	void *raw[OWN_FRAMES + MORIENS_MAX_CALLPATH];
	int n = backtrace_by_libunwind(raw, (int)(OWN_FRAMES + count));
	int first = 0;
	uint32_t found = 0;

	while (first < n && (uintptr_t)raw[first] != site)
		first++;
	for (int i = first; i < n && found < count && raw[i] != NULL; i++)
		chain[found++] = (uintptr_t)raw[i];
	if (found == 0)
		chain[found++] = site;
	return found;
}

#ifdef __x86_64__

/* DWARF 4, section 7.23. */
enum {
	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_GNU_ARGS_SIZE = 0x2e,
	/* in the upper two bits of the byte, with an operand in the lower six */
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
};

/* System V psABI for x86-64, figure 3.36. */
enum {
	REGISTER_RBP = 6,
	REGISTER_RSP = 7,
	REGISTER_RETURN = 16,
};

/* Linux Standard Base, DWARF exception header encoding. */
enum {
	ENCODED_SIGNED = 0x08,
	ENCODED_BYTES_2 = 0x02,
	ENCODED_BYTES_4 = 0x03,
	ENCODED_BYTES_8 = 0x04,
	ENCODED_FROM_HERE = 0x10,
	ENCODED_FROM_HEADER = 0x30,
};

struct reader {
	const uint8_t *at;
	const uint8_t *end;
	bool bad; /* has read past the end, or met what this file does not know */
};

static uint64_t fixed(struct reader *r, size_t bytes)
{
	uint64_t v = 0;

	if (bytes > (size_t)(r->end - r->at)) {
		r->bad = true;
		r->at = r->end;
		return 0;
	}
	memcpy(&v, r->at, bytes);
	r->at += bytes;
	return v;
}

static uint64_t unsigned_number(struct reader *r)
{
	uint64_t v = 0, byte;
	int shift = 0;

	do {
		byte = fixed(r, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

static int64_t signed_number(struct reader *r)
{
	uint64_t v = 0, byte;
	int shift = 0;

	do {
		byte = fixed(r, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if ((byte & 0x40) && shift < 64)
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

static void skip(struct reader *r, uint64_t bytes)
{
	if (bytes > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		r->at = r->end;
	} else {
		r->at += bytes;
	}
}

static uintptr_t pointer(struct reader *r, uint8_t encoding)
{
	uintptr_t here = (uintptr_t)r->at;
	uint64_t v;

	switch (encoding & 0x0f) {
	case 0:
	case ENCODED_BYTES_8:
	case ENCODED_BYTES_8 | ENCODED_SIGNED:
		v = fixed(r, 8);
		break;
	case ENCODED_BYTES_4:
		v = fixed(r, 4);
		break;
	case ENCODED_BYTES_4 | ENCODED_SIGNED:
		v = (uint64_t)(int64_t)(int32_t)fixed(r, 4);
		break;
	case ENCODED_BYTES_2:
		v = fixed(r, 2);
		break;
	case ENCODED_BYTES_2 | ENCODED_SIGNED:
		v = (uint64_t)(int64_t)(int16_t)fixed(r, 2);
		break;
	default:
		r->bad = true;
		return 0;
	}
	if ((encoding & 0x70) == ENCODED_FROM_HERE)
		return (uintptr_t)(here + v);
	if ((encoding & 0x70) != 0)
		r->bad = true;
	return (uintptr_t)v;
}

/* An entry of .eh_frame, past its length. */
static struct reader entry_at(const uint8_t *at)
{
	uint32_t bytes;

	memcpy(&bytes, at, sizeof bytes);
	if (bytes == 0 || bytes == UINT32_MAX)
		return (struct reader){.bad = true};
	return (struct reader){.at = at + sizeof bytes, .end = at + sizeof bytes + bytes};
}

/* The frame description of the function that an address lies in, by the sorted table in .eh_frame_hdr; NULL where there is none. */
static const uint8_t *find_description(const uint8_t *header, uintptr_t address)
{
	struct {
		int32_t start, description; /* from the header's own address */
	} row;
	struct reader r = {.at = header, .end = header + 4 + 2 * sizeof(uint64_t)};
	uint8_t start_encoding, count_encoding;
	uint64_t count, low = 0;
	const uint8_t *table;

	if (fixed(&r, 1) != 1)
		return NULL;
	start_encoding = (uint8_t)fixed(&r, 1);
	count_encoding = (uint8_t)fixed(&r, 1);
	if (fixed(&r, 1) != (ENCODED_FROM_HEADER | ENCODED_BYTES_4 | ENCODED_SIGNED))
		return NULL;
	pointer(&r, start_encoding);
	count = pointer(&r, count_encoding);
	if (r.bad || count == 0)
		return NULL;
	table = r.at;
	for (uint64_t high = count; low < high;) {
		uint64_t middle = low + (high - low) / 2;
		memcpy(&row, table + middle * sizeof row, sizeof row);
		if ((uintptr_t)header + (uintptr_t)(intptr_t)row.start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == 0)
		return NULL;
	memcpy(&row, table + (low - 1) * sizeof row, sizeof row);
	return header + row.description;
}

/* What an instruction sequence has said of the frame so far. */
struct state {
	struct {
		enum { SAME, SAVED, OTHER } how;
		int64_t offset;
	} frame_pointer, return_address;
	uint64_t base; /* register */
	int64_t end;
	bool understood; /* the end of the frame */
};

struct description {
	uint64_t code_unit;
	int64_t data_unit;
	uint64_t return_register;
	uint8_t encoding;
	bool augmented;
	bool signal;
	struct reader instructions; /* common ones */
};

static struct description common_part(const uint8_t *at)
{
	struct description d = {0};
	struct reader r = entry_at(at);
	const char *text;

	if (r.bad || fixed(&r, 4) != 0) {
		d.instructions.bad = true;
		return d;
	}
	uint64_t version = fixed(&r, 1);
	text = (const char *)r.at;
	size_t length = strnlen(text, (size_t)(r.end - r.at));
	skip(&r, length + 1);
	d.code_unit = unsigned_number(&r);
	d.data_unit = signed_number(&r);
	d.return_register = version == 1 ? fixed(&r, 1) : unsigned_number(&r);
	if ((version != 1 && version != 3) || (length > 0 && text[0] != 'z'))
		r.bad = true;
	if (length > 0 && !r.bad) {
		uint64_t bytes = unsigned_number(&r);
		struct reader more = r;
		d.augmented = true;
		skip(&r, bytes);
		more.end = r.at;
		for (size_t i = 1; i < length && !more.bad; i++) {
			switch (text[i]) {
			case 'R':
				d.encoding = (uint8_t)fixed(&more, 1);
				break;
			case 'P': {
				uint8_t encoding = (uint8_t)fixed(&more, 1);
				pointer(&more, encoding & 0x0f);
				break;
			}
			case 'L':
				fixed(&more, 1);
				break;
			case 'S':
				d.signal = true;
				break;
			default:
				more.bad = true;
			}
		}
		r.bad = r.bad || more.bad;
	}
	d.instructions = r;
	return d;
}

static void set_register(struct state *s, uint64_t reg, int how, int64_t offset)
{
	if (reg == REGISTER_RBP) {
		s->frame_pointer.how = how;
		s->frame_pointer.offset = offset;
	} else if (reg == REGISTER_RETURN) {
		s->return_address.how = how;
		s->return_address.offset = offset;
	}
}

static void restore(struct state *s, const struct state *initial, uint64_t reg)
{
	if (reg == REGISTER_RBP)
		s->frame_pointer = initial->frame_pointer;
	else if (reg == REGISTER_RETURN)
		s->return_address = initial->return_address;
}

/* Executes instructions for all places up to address; start is the function's. False: met something unknown. */
static bool execute(struct reader r, const struct description *d, struct state *s, const struct state *initial,
	uintptr_t start, uintptr_t address)
{
	struct state remembered[8];
	size_t depth = 0;
	uintptr_t place = start;

	while (r.at < r.end && !r.bad && place <= address) {
		uint8_t op = (uint8_t)fixed(&r, 1);
		uint64_t reg = op & 0x3f;
		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			place += reg * d->code_unit;
			continue;
		case CFA_OFFSET:
			set_register(s, reg, SAVED, (int64_t)unsigned_number(&r) * d->data_unit);
			continue;
		case CFA_RESTORE:
			restore(s, initial, reg);
			continue;
		default:
			break;
		}
		switch (op) {
		case CFA_NOP:
			break;
		case CFA_SET_LOC:
			place = pointer(&r, d->encoding);
			break;
		case CFA_ADVANCE_LOC1:
			place += fixed(&r, 1) * d->code_unit;
			break;
		case CFA_ADVANCE_LOC2:
			place += fixed(&r, 2) * d->code_unit;
			break;
		case CFA_ADVANCE_LOC4:
			place += fixed(&r, 4) * d->code_unit;
			break;
		case CFA_OFFSET_EXTENDED:
			reg = unsigned_number(&r);
			set_register(s, reg, SAVED, (int64_t)unsigned_number(&r) * d->data_unit);
			break;
		case CFA_OFFSET_EXTENDED_SF:
			reg = unsigned_number(&r);
			set_register(s, reg, SAVED, signed_number(&r) * d->data_unit);
			break;
		case CFA_RESTORE_EXTENDED:
			restore(s, initial, unsigned_number(&r));
			break;
		case CFA_UNDEFINED:
			set_register(s, unsigned_number(&r), OTHER, 0);
			break;
		case CFA_SAME_VALUE:
			set_register(s, unsigned_number(&r), SAME, 0);
			break;
		case CFA_REGISTER:
			reg = unsigned_number(&r);
			if (reg == REGISTER_RETURN)
				return false;
			unsigned_number(&r);
			set_register(s, reg, OTHER, 0);
			break;
		case CFA_REMEMBER_STATE:
			if (depth == sizeof remembered / sizeof remembered[0])
				return false;
			remembered[depth++] = *s;
			break;
		case CFA_RESTORE_STATE:
			if (depth == 0)
				return false;
			*s = remembered[--depth];
			break;
		case CFA_DEF_CFA:
			s->base = unsigned_number(&r);
			s->end = (int64_t)unsigned_number(&r);
			s->understood = true;
			break;
		case CFA_DEF_CFA_SF:
			s->base = unsigned_number(&r);
			s->end = signed_number(&r) * d->data_unit;
			s->understood = true;
			break;
		case CFA_DEF_CFA_REGISTER:
			s->base = unsigned_number(&r);
			break;
		case CFA_DEF_CFA_OFFSET:
			s->end = (int64_t)unsigned_number(&r);
			break;
		case CFA_DEF_CFA_OFFSET_SF:
			s->end = signed_number(&r) * d->data_unit;
			break;
		case CFA_DEF_CFA_EXPRESSION:
			s->understood = false;
			skip(&r, unsigned_number(&r));
			break;
		case CFA_EXPRESSION:
		case CFA_VAL_EXPRESSION:
			reg = unsigned_number(&r);
			if (reg == REGISTER_RETURN)
				return false;
			skip(&r, unsigned_number(&r));
			set_register(s, reg, OTHER, 0);
			break;
		case CFA_VAL_OFFSET:
		case CFA_VAL_OFFSET_SF:
			reg = unsigned_number(&r);
			if (reg == REGISTER_RETURN)
				return false;
			unsigned_number(&r);
			set_register(s, reg, OTHER, 0);
			break;
		case CFA_GNU_ARGS_SIZE:
			unsigned_number(&r);
			break;
		default:
			return false;
		}
	}
	return !r.bad;
}

static struct moriens_rule rule_of(const struct state *s)
{
	struct moriens_rule rule = {.base = MORIENS_RULE_NONE};

	if (s->return_address.how == OTHER) {
		rule.base = MORIENS_RULE_OUTERMOST;
		return rule;
	}
	if (!s->understood || s->return_address.how != SAVED || s->return_address.offset != -(int64_t)sizeof(word) ||
	    s->end < (int64_t)sizeof(word) || s->end > 1 << 24 || s->frame_pointer.how == OTHER)
		return rule;
	if (s->frame_pointer.how == SAVED) {
		if (s->frame_pointer.offset >= 0 || s->frame_pointer.offset < INT16_MIN)
			return rule;
		rule.saved = (int16_t)s->frame_pointer.offset;
	}
	rule.end = (int32_t)s->end;
	if (s->base == REGISTER_RSP)
		rule.base = MORIENS_RULE_STACK;
	else if (s->base == REGISTER_RBP)
		rule.base = MORIENS_RULE_FRAME;
	return rule;
}

struct moriens_rule moriens_unwind_rule(const struct moriens_module *module, uintptr_t address)
{
	const struct moriens_rule none = {.base = MORIENS_RULE_NONE};
	const uint8_t *at = module->frames == 0 ? NULL : find_description((const uint8_t *)module->frames, address - 1);
	struct state s = {.frame_pointer = {.how = SAME}}, initial;

	if (at == NULL)
		return none;
	struct reader r = entry_at(at);
	const uint8_t *common = r.at;
	uint64_t back = fixed(&r, 4);
	if (r.bad || back == 0)
		return none;
	struct description d = common_part(common - back);
	if (d.instructions.bad || d.signal || d.return_register != REGISTER_RETURN)
		return none;
	uintptr_t start = pointer(&r, d.encoding);
	uint64_t bytes = pointer(&r, d.encoding & 0x0f);
	if (d.augmented)
		skip(&r, unsigned_number(&r));
	/* A return address points past its call, which may be the last instruction of the function. */
	if (r.bad || address - 1 < start || address - 1 - start >= bytes)
		return none;
	if (!execute(d.instructions, &d, &s, &s, 0, 0))
		return none;
	initial = s;
	if (!execute(r, &d, &s, &initial, start, address - 1))
		return none;
	return rule_of(&s);
}

#else

/* Rules here would need the place of the link register too; libunwind finds every path. */
struct moriens_rule moriens_unwind_rule(const struct moriens_module *module, uintptr_t address)
{
	(void)module;
	(void)address;
	return (struct moriens_rule){.base = MORIENS_RULE_NONE};
}

#endif
