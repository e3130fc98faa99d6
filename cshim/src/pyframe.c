#include "pyframe.h"
#include "os.h"

#include <stdio.h>
#include <string.h>

#define OWNED_BY_C 3u /* FRAME_OWNED_BY_CSTACK: where C code has entered the interpreter, no code of Python's; from 3.12 on */
#define MAX_FRAMES 2000u /* of one stack that are looked at: sys.getrecursionlimit() is 1000 */
#define MAX_TABLE (8u << 20)
#define MAX_OFFSET 4096u
#define MAX_NAME 4096u /* bytes of a file's name */
#define SOME_TABLE 64u /* bytes of a line table that distinguish it from one that lay there before: of the first 20 instructions and more */
#define PAGE 4096u

/* File names of modules that are compiled into the interpreter, which no user has. */
static const char frozen[8] = {'<', 'f', 'r', 'o', 'z', 'e', 'n', ' '};

static const struct moriens_python python_3_11 = {
	.has_cframe = true, .thread_frame = 56, .cframe_frame = 8,
	.frame_code = 32, .frame_instruction = 56, .frame_previous = 48, .frame_owner = 69,
	.code_line = 72, .code_file = 112, .code_function = 128, .code_lines = 136, .code_instructions = 184,
	.object_type = 8, .object_size = 16, .bytes_content = 32, .text_length = 16, .text_state = 32, .text_ascii = 48, .text_compact = 72,
};

static const struct moriens_python python_3_12 = {
	.has_cframe = true, .thread_frame = 56, .cframe_frame = 0,
	.frame_code = 0, .frame_instruction = 56, .frame_previous = 8, .frame_owner = 70,
	.code_line = 68, .code_file = 112, .code_function = 128, .code_lines = 136, .code_instructions = 192,
	.object_type = 8, .object_size = 16, .bytes_content = 32, .text_length = 16, .text_state = 32, .text_ascii = 40, .text_compact = 56,
};

/* Words of 3.13's _Py_DebugOffsets, by their order. */
enum offsets_3_13 {
	COOKIE = 0,
	VERSION = 1,
	FREE_THREADED = 2,
	THREAD_FRAME = 23,
	FRAME_PREVIOUS = 29,
	FRAME_CODE = 30,
	FRAME_INSTRUCTION = 31,
	FRAME_OWNER = 33,
	CODE_FILE = 35,
	CODE_FUNCTION = 37,
	CODE_LINES = 38,
	CODE_LINE = 39,
	CODE_INSTRUCTIONS = 43,
	OBJECT_TYPE = 45,
	BYTES_SIZE = 65,
	BYTES_CONTENT = 66,
	TEXT_STATE = 68,
	TEXT_LENGTH = 69,
	TEXT_ASCII = 70,
	OFFSETS_3_13 = 73,
};

/* Into *to, and clears *sound where it cannot be one. */
static uint16_t offset(uint64_t raw, bool *sound)
{
	if (raw > MAX_OFFSET)
		*sound = false;
	return (uint16_t)raw;
}

/* false: the interpreter does not say its offsets. */
static bool layout_3_13(struct moriens_python *p, unsigned long version, uintptr_t runtime, bool *free_threaded)
{
	uint64_t w[OFFSETS_3_13];
	bool sound = true;

	if (!moriens_os_read_memory(runtime, w, sizeof w) || memcmp(&w[COOKIE], "xdebugpy", 8) != 0 || w[VERSION] != version)
		return false;
	*free_threaded = w[FREE_THREADED] != 0;
	*p = (struct moriens_python){
		.thread_frame = offset(w[THREAD_FRAME], &sound),
		.frame_code = offset(w[FRAME_CODE], &sound),
		.frame_instruction = offset(w[FRAME_INSTRUCTION], &sound),
		.frame_previous = offset(w[FRAME_PREVIOUS], &sound),
		.frame_owner = offset(w[FRAME_OWNER], &sound),
		.code_line = offset(w[CODE_LINE], &sound),
		.code_file = offset(w[CODE_FILE], &sound),
		.code_function = offset(w[CODE_FUNCTION], &sound),
		.code_lines = offset(w[CODE_LINES], &sound),
		.code_instructions = offset(w[CODE_INSTRUCTIONS], &sound),
		.object_type = offset(w[OBJECT_TYPE], &sound),
		.object_size = offset(w[BYTES_SIZE], &sound),
		.bytes_content = offset(w[BYTES_CONTENT], &sound),
		.text_length = offset(w[TEXT_LENGTH], &sound),
		.text_state = offset(w[TEXT_STATE], &sound),
		.text_ascii = offset(w[TEXT_ASCII], &sound),
		.text_compact = offset(w[TEXT_ASCII] + 16, &sound), /* the length of its UTF-8, and where that is */
	};
	return sound;
}

bool moriens_python_layout(struct moriens_python *p, unsigned long version, uintptr_t runtime, char *why, size_t bytes)
{
	unsigned minor = version >> 16 & 0xff;
	bool known = version >> 24 == 3 && sizeof(uintptr_t) == 8 && (version & 0xf0) >= 0xc0; /* a candidate's layout is the release's */
	bool free_threaded = false;

	if (known && minor == 11)
		*p = python_3_11;
	else if (known && minor == 12)
		*p = python_3_12;
	else
		known = known && minor == 13 && layout_3_13(p, version, runtime, &free_threaded);
	if (known && free_threaded)
		snprintf(why, bytes, "frames of free-threaded CPython %lu.%u are not supported", version >> 24, minor);
	else if (!known)
		snprintf(why, bytes, "frames of CPython %lu.%u.%lu are not supported, only those of 3.11 to 3.13", version >> 24, minor, version >> 8 & 0xff);
	return known && !free_threaded;
}

static bool read_word(uintptr_t from, uintptr_t *to)
{
	return moriens_os_read_memory(from, to, sizeof *to);
}

uintptr_t moriens_python_frame(const struct moriens_python *p, uintptr_t thread, bool *wrong)
{
	uintptr_t frame = 0;

	*wrong = !read_word(thread + p->thread_frame, &frame) || (p->has_cframe && !read_word(frame + p->cframe_frame, &frame));
	return *wrong ? 0 : frame;
}

static bool is_a(const struct moriens_python *p, uintptr_t object, uintptr_t type)
{
	uintptr_t its;

	return object % sizeof its == 0 && read_word(object + p->object_type, &its) && its == type;
}

struct text {
	uintptr_t characters;
	uint64_t length;
	uint32_t width; /* bytes of each */
	bool ascii;
};

static bool read_text(const struct moriens_python *p, uintptr_t object, struct text *t)
{
	uint32_t state;

	if (!is_a(p, object, p->text_type) || !read_word(object + p->text_length, &t->length) ||
	    !moriens_os_read_memory(object + p->text_state, &state, sizeof state))
		return false;
	/* interned: 2 bits, kind: 3, compact: 1, ascii: 1 */
	bool compact = (state >> 5 & 1) != 0;
	t->ascii = (state >> 6 & 1) != 0;
	t->width = state >> 2 & 7;
	t->characters = object + (t->ascii ? p->text_ascii : p->text_compact);
	return compact && (t->width == 1 || t->width == 2 || t->width == 4) && (!t->ascii || t->width == 1) && t->length < 1u << 30;
}

/* 1 or 2 bytes of a character of one byte, up to 3 of one of two, up to 4 of others. */
static size_t put_utf8(char *to, uint32_t c)
{
	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000)) /* Python keeps bytes that are no text as surrogates */
		c = 0xfffd;
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	size_t bytes = c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;
	for (size_t i = bytes - 1; i > 0; i--, c >>= 6)
		to[i] = (char)(0x80 | (c & 0x3f));
	to[0] = (char)((bytes == 2 ? 0xc0 : bytes == 3 ? 0xe0 : 0xf0) | c);
	return bytes;
}

/* Puts a text into a buffer, or as many of its characters as fit there for certain: the last ones, or the first. */
static bool copy_text(const struct text *t, char *to, size_t bytes, bool last)
{
	uint8_t raw[1024];
	size_t fits = (bytes - 1) / (t->ascii ? 1 : t->width == 1 ? 2 : t->width == 2 ? 3 : 4);
	size_t count = t->length < fits ? t->length : fits;
	size_t room = sizeof raw / t->width;
	uintptr_t from = t->characters + (last ? t->length - count : 0) * t->width;

	if (count > room) {
		from += last ? (count - room) * t->width : 0;
		count = room;
	}
	if (!moriens_os_read_memory(from, raw, count * t->width))
		return false;
	for (size_t i = 0; i < count; i++) {
		uint32_t c = 0;
		memcpy(&c, raw + i * t->width, t->width); /* little endian, as all that is recorded */
		to += put_utf8(to, c == 0 || (t->ascii && c > 0x7f) ? '?' : c);
	}
	*to = '\0';
	return true;
}

static bool is_frozen(const struct text *t)
{
	char start[sizeof frozen];

	return t->width == 1 && t->length >= sizeof start && moriens_os_read_memory(t->characters, start, sizeof start) &&
		memcmp(start, frozen, sizeof start) == 0;
}

/* Whether the bytes can be read where they are. */
static bool is_readable(uintptr_t from, size_t bytes)
{
	uint8_t byte;

	for (size_t at = 0; at < bytes; at += PAGE)
		if (!moriens_os_read_memory(from + at, &byte, 1))
			return false;
	return bytes == 0 || moriens_os_read_memory(from + bytes - 1, &byte, 1);
}

struct frame {
	uintptr_t code, instruction, previous;
	uint8_t owner;
};

static bool read_frame(const struct moriens_python *p, uintptr_t at, struct frame *f)
{
	return at % sizeof at == 0 && read_word(at + p->frame_code, &f->code) && read_word(at + p->frame_instruction, &f->instruction) &&
		read_word(at + p->frame_previous, &f->previous) && moriens_os_read_memory(at + p->frame_owner, &f->owner, 1);
}

/* false: this is no code object that the frame can be in. *frozen_code: and it is of no user's file. */
static bool read_place(const struct moriens_python *p, const struct frame *f, struct moriens_python_place *place, bool *frozen_code)
{
	uintptr_t file, function, lines, size, instructions;
	struct text file_text, function_text;
	int32_t first;

	if (!is_a(p, f->code, p->code_type) || !read_word(f->code + p->code_file, &file) || !read_word(f->code + p->code_function, &function) ||
	    !read_word(f->code + p->code_lines, &lines) || !read_word(f->code + p->object_size, &instructions) ||
	    !moriens_os_read_memory(f->code + p->code_line, &first, sizeof first))
		return false;
	/* Each instruction has 2 bytes. A frame that has not begun is one before them. */
	uintptr_t at = f->instruction - (f->code + p->code_instructions);
	if (instructions > 1u << 30 || (at >= 2 * instructions && at != (uintptr_t)-2) || at % 2 != 0 || first < 0)
		return false;
	if (!read_text(p, file, &file_text) || !read_text(p, function, &function_text) || !is_a(p, lines, p->bytes_type) ||
	    !read_word(lines + p->object_size, &size) || size > MAX_TABLE || !is_readable(lines + p->bytes_content, size))
		return false;
	*frozen_code = is_frozen(&file_text) || at == (uintptr_t)-2;
	if (*frozen_code)
		return true;
	place->line = moriens_python_line((const uint8_t *)(lines + p->bytes_content), size, (uint32_t)first, (uint32_t)at);
	return copy_text(&file_text, place->file, sizeof place->file, true) &&
		copy_text(&function_text, place->function, sizeof place->function, false);
}

enum moriens_python_step moriens_python_step(const struct moriens_python *p, uintptr_t *frame, struct moriens_python_place *place)
{
	for (uint32_t steps = 0; *frame != 0 && steps < MAX_FRAMES; steps++) {
		struct frame f;
		bool frozen_code = false;
		if (!read_frame(p, *frame, &f))
			return MORIENS_PYTHON_WRONG;
		*frame = f.previous;
		if (f.owner == OWNED_BY_C)
			continue;
		if (f.owner > OWNED_BY_C || !read_place(p, &f, place, &frozen_code))
			return MORIENS_PYTHON_WRONG;
		if (!frozen_code)
			return MORIENS_PYTHON_PLACE;
	}
	return MORIENS_PYTHON_END;
}

/* Objects of the interpreter, whatever it has stored there. */
typedef uint64_t __attribute__((may_alias)) object_word;
typedef int32_t __attribute__((may_alias)) object_int;
#define READS_OBJECTS __attribute__((no_sanitize_address))

READS_OBJECTS static inline uint64_t word_at(uintptr_t address)
{
	return *(const object_word *)address;
}

static inline uint64_t mixed(uint64_t h, uint64_t value)
{
	h = (h ^ value) * 0x9e3779b97f4a7c15u;
	return h ^ h >> 32;
}

#define NO_HASH (~(uint64_t)0)

/* All of it, by two sums that the processor can do at a time. */
READS_OBJECTS static uint64_t mix_characters(uint64_t h, uintptr_t at, size_t bytes)
{
	uint64_t a = h, b = ~h, last = 0;

	for (; bytes >= 2 * sizeof a; at += 2 * sizeof a, bytes -= 2 * sizeof a) {
		a = (a ^ word_at(at)) * 0x9e3779b97f4a7c15u;
		b = (b ^ word_at(at + sizeof a)) * 0xc4ceb9fe1a85ec53u;
	}
	if (bytes >= sizeof a) {
		a = (a ^ word_at(at)) * 0x9e3779b97f4a7c15u;
		at += sizeof a;
		bytes -= sizeof a;
	}
	for (size_t i = 0; i < bytes; i++)
		last |= (uint64_t)((const uint8_t *)at)[i] << 8 * i;
	return mixed(mixed(a, b >> 29 ^ b), last);
}

/* A text's address is not enough: what lay there may be gone, and another of that length may lie there. Python
 * knows a hash of most texts, and behind the length has it. */
READS_OBJECTS static inline uint64_t mix_text(const struct moriens_python *p, uint64_t h, uintptr_t text)
{
	uint64_t length = word_at(text + p->text_length), hash = word_at(text + p->text_length + sizeof length);

	if (likely(hash != NO_HASH))
		return mixed(mixed(h, length), hash);
	uint32_t state = (uint32_t)word_at(text + p->text_state);
	bool ascii = (state >> 6 & 1) != 0;
	uint64_t bytes = length * (state >> 2 & 7);
	return mix_characters(mixed(h, length), text + (ascii ? p->text_ascii : p->text_compact), bytes < MAX_NAME ? bytes : MAX_NAME);
}

READS_OBJECTS uint64_t moriens_python_key(const struct moriens_python *p, uintptr_t thread, uint32_t count)
{
	uintptr_t frame = word_at(thread + p->thread_frame);
	uint64_t h = 0, no_place;
	uint32_t n = 0;

	memcpy(&no_place, frozen, sizeof no_place);
	if (p->has_cframe)
		frame = word_at(frame + p->cframe_frame);
	for (uint32_t steps = 0; frame != 0 && n < count && steps < MAX_FRAMES; steps++, frame = word_at(frame + p->frame_previous)) {
		if (*(const uint8_t *)(frame + p->frame_owner) == OWNED_BY_C)
			continue;
		uintptr_t code = word_at(frame + p->frame_code);
		uintptr_t file = word_at(code + p->code_file), function = word_at(code + p->code_function), lines = word_at(code + p->code_lines);
		if (word_at(file + p->text_ascii) == no_place) /* there is room for a word, however short the name */
			continue;
		h = mixed(mixed(h, code), word_at(frame + p->frame_instruction));
		uint64_t table = word_at(lines + p->object_size);
		h = mixed(h, (uint64_t)(uint32_t)*(const object_int *)(code + p->code_line) << 32 ^ table);
		h = mix_characters(h, lines + p->bytes_content, table < SOME_TABLE ? table : SOME_TABLE);
		h = mix_text(p, h, file);
		h = mix_text(p, h, function);
		n++;
	}
	return n == 0 ? 0 : h | 1;
}

/* A number in pieces of 6 bits, the lowest first; false: the table ends in it. */
static bool read_varint(const uint8_t *table, size_t bytes, size_t *i, uint32_t *value)
{
	*value = 0;
	for (unsigned shift = 0; *i < bytes; shift += 6) {
		uint8_t piece = table[(*i)++];
		if (shift < 32)
			*value |= (uint32_t)(piece & 63) << shift;
		if ((piece & 64) == 0)
			return true;
	}
	return false;
}

/* Its lowest bit is the sign. */
static bool read_signed(const uint8_t *table, size_t bytes, size_t *i, int64_t *value)
{
	uint32_t coded;

	if (!read_varint(table, bytes, i, &coded))
		return false;
	*value = (coded & 1) != 0 ? -(int64_t)(coded >> 1) : (int64_t)(coded >> 1);
	return true;
}

/*
 * CPython's Objects/locations.md. An entry is for up to 8 instructions of 2 bytes: a byte 1ccccnnn (code,
 * instructions less one), then as the
 * code says. Columns and end lines are passed over.
 */
uint32_t moriens_python_line(const uint8_t *table, size_t bytes, uint32_t first, uint32_t at)
{
	int64_t line = first;
	uint64_t end = 0; /* of the instructions up to here, in bytes of code */

	for (size_t i = 0; i < bytes;) {
		uint8_t head = table[i++];
		unsigned code = head >> 3 & 15;
		int64_t lines = 0;
		uint32_t passed;
		bool whole = (head & 0x80) != 0;
		end += 2 * (uint64_t)((head & 7) + 1);
		if (code < 10) { /* columns in one more byte */
			i += 1;
		} else if (code < 13) { /* 0 to 2 lines further, and columns */
			lines = code - 10;
			i += 2;
		} else if (code == 13) {
			whole = whole && read_signed(table, bytes, &i, &lines);
		} else if (code == 14) {
			whole = whole && read_signed(table, bytes, &i, &lines);
			for (int k = 0; k < 3; k++)
				whole = whole && read_varint(table, bytes, &i, &passed);
		}
		if (!whole || i > bytes)
			return 0;
		line += lines;
		if (at < end)
			return code == 15 || line < 1 || line > INT32_MAX ? 0 : (uint32_t)line;
	}
	return 0;
}
