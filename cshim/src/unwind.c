#include "unwind.h"
#include "ehframe.h"

#include <string.h>

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
	struct moriens_eh instructions; /* common ones */
};

static struct description common_part(const uint8_t *at)
{
	struct description d = {0};
	struct moriens_eh r = moriens_eh_entry(at);
	const char *text;

	if (r.bad || moriens_eh_fixed(&r, 4) != 0) {
		d.instructions.bad = true;
		return d;
	}
	uint64_t version = moriens_eh_fixed(&r, 1);
	text = (const char *)r.at;
	size_t length = strnlen(text, (size_t)(r.end - r.at));
	moriens_eh_skip(&r, length + 1);
	d.code_unit = moriens_eh_unsigned(&r);
	d.data_unit = moriens_eh_signed(&r);
	d.return_register = version == 1 ? moriens_eh_fixed(&r, 1) : moriens_eh_unsigned(&r);
	if ((version != 1 && version != 3) || (length > 0 && text[0] != 'z'))
		r.bad = true;
	if (length > 0 && !r.bad) {
		uint64_t bytes = moriens_eh_unsigned(&r);
		struct moriens_eh more = r;
		d.augmented = true;
		moriens_eh_skip(&r, bytes);
		more.end = r.at;
		for (size_t i = 1; i < length && !more.bad; i++) {
			switch (text[i]) {
			case 'R':
				d.encoding = (uint8_t)moriens_eh_fixed(&more, 1);
				break;
			case 'P': {
				uint8_t encoding = (uint8_t)moriens_eh_fixed(&more, 1);
				moriens_eh_pointer(&more, encoding & 0x0f);
				break;
			}
			case 'L':
				moriens_eh_fixed(&more, 1);
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
static bool execute(struct moriens_eh r, const struct description *d, struct state *s, const struct state *initial,
	uintptr_t start, uintptr_t address)
{
	struct state remembered[8];
	size_t depth = 0;
	uintptr_t place = start;

	while (r.at < r.end && !r.bad && place <= address) {
		uint8_t op = (uint8_t)moriens_eh_fixed(&r, 1);
		uint64_t reg = op & 0x3f;
		switch (op & 0xc0) {
		case CFA_ADVANCE_LOC:
			place += reg * d->code_unit;
			continue;
		case CFA_OFFSET:
			set_register(s, reg, SAVED, (int64_t)moriens_eh_unsigned(&r) * d->data_unit);
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
			place = moriens_eh_pointer(&r, d->encoding);
			break;
		case CFA_ADVANCE_LOC1:
			place += moriens_eh_fixed(&r, 1) * d->code_unit;
			break;
		case CFA_ADVANCE_LOC2:
			place += moriens_eh_fixed(&r, 2) * d->code_unit;
			break;
		case CFA_ADVANCE_LOC4:
			place += moriens_eh_fixed(&r, 4) * d->code_unit;
			break;
		case CFA_OFFSET_EXTENDED:
			reg = moriens_eh_unsigned(&r);
			set_register(s, reg, SAVED, (int64_t)moriens_eh_unsigned(&r) * d->data_unit);
			break;
		case CFA_OFFSET_EXTENDED_SF:
			reg = moriens_eh_unsigned(&r);
			set_register(s, reg, SAVED, moriens_eh_signed(&r) * d->data_unit);
			break;
		case CFA_RESTORE_EXTENDED:
			restore(s, initial, moriens_eh_unsigned(&r));
			break;
		case CFA_UNDEFINED:
			set_register(s, moriens_eh_unsigned(&r), OTHER, 0);
			break;
		case CFA_SAME_VALUE:
			set_register(s, moriens_eh_unsigned(&r), SAME, 0);
			break;
		case CFA_REGISTER:
			reg = moriens_eh_unsigned(&r);
			if (reg == REGISTER_RETURN)
				return false;
			moriens_eh_unsigned(&r);
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
			s->base = moriens_eh_unsigned(&r);
			s->end = (int64_t)moriens_eh_unsigned(&r);
			s->understood = true;
			break;
		case CFA_DEF_CFA_SF:
			s->base = moriens_eh_unsigned(&r);
			s->end = moriens_eh_signed(&r) * d->data_unit;
			s->understood = true;
			break;
		case CFA_DEF_CFA_REGISTER:
			s->base = moriens_eh_unsigned(&r);
			break;
		case CFA_DEF_CFA_OFFSET:
			s->end = (int64_t)moriens_eh_unsigned(&r);
			break;
		case CFA_DEF_CFA_OFFSET_SF:
			s->end = moriens_eh_signed(&r) * d->data_unit;
			break;
		case CFA_DEF_CFA_EXPRESSION:
			s->understood = false;
			moriens_eh_skip(&r, moriens_eh_unsigned(&r));
			break;
		case CFA_EXPRESSION:
		case CFA_VAL_EXPRESSION:
			reg = moriens_eh_unsigned(&r);
			if (reg == REGISTER_RETURN)
				return false;
			moriens_eh_skip(&r, moriens_eh_unsigned(&r));
			set_register(s, reg, OTHER, 0);
			break;
		case CFA_VAL_OFFSET:
		case CFA_VAL_OFFSET_SF:
			reg = moriens_eh_unsigned(&r);
			if (reg == REGISTER_RETURN)
				return false;
			moriens_eh_unsigned(&r);
			set_register(s, reg, OTHER, 0);
			break;
		case CFA_GNU_ARGS_SIZE:
			moriens_eh_unsigned(&r);
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
	const uint8_t *at = module->frames == 0 ? NULL : moriens_eh_find((const uint8_t *)module->frames, address - 1);
	struct state s = {.frame_pointer = {.how = SAME}}, initial;

	if (at == NULL)
		return none;
	struct moriens_eh r = moriens_eh_entry(at);
	const uint8_t *common = r.at;
	uint64_t back = moriens_eh_fixed(&r, 4);
	if (r.bad || back == 0)
		return none;
	struct description d = common_part(common - back);
	if (d.instructions.bad || d.signal || d.return_register != REGISTER_RETURN)
		return none;
	uintptr_t start = moriens_eh_pointer(&r, d.encoding);
	uint64_t bytes = moriens_eh_pointer(&r, d.encoding & 0x0f);
	if (d.augmented)
		moriens_eh_skip(&r, moriens_eh_unsigned(&r));
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
