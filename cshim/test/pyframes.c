/*
 * What pyframe.c makes of memory that a test has written.
 *
 *	pyframes lines             of standard input: lines "first-line bytes-of-code table", the table in hexadecimal;
 *	                           says the line of each instruction
 *	pyframes layout VERSION T   whether the frames of that Py_Version are known, with t of one without the global lock
 *	pyframes damage VERSION SEED N  has a stack of two frames read, then N times one that is damaged
 */
#include "pyframe.h"
#include "os.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define ARENA (4u * 4096u)

static int say_lines(void)
{
	static uint8_t table[1u << 16];
	static char hex[2 * sizeof table + 1];
	unsigned first, code, byte;

	while (scanf("%u %u %131072s", &first, &code, hex) == 3) {
		size_t bytes = strlen(hex) / 2;
		for (size_t i = 0; i < bytes && sscanf(hex + 2 * i, "%2x", &byte) == 1; i++)
			table[i] = (uint8_t)byte;
		for (uint32_t at = 0; at < code; at += 2)
			printf("%" PRIu32 "%c", moriens_python_line(table, bytes, first, at), at + 2 < code ? ' ' : '\n');
	}
	return 0;
}

static uint64_t fake_runtime[73]; /* a _Py_DebugOffsets of 3.13 */

static void make_runtime(unsigned long version, bool free_threaded)
{
	static const struct {
		int word;
		uint64_t offset;
	} offsets[] = {{23, 72}, {29, 8}, {30, 0}, {31, 56}, {33, 70}, {35, 112}, {37, 128}, {38, 136}, {39, 68}, {43, 200}, {45, 8}, {65, 16}, {66, 32}, {68, 32}, {69, 16}, {70, 40}};

	memcpy(fake_runtime, "xdebugpy", 8);
	fake_runtime[1] = version;
	fake_runtime[2] = free_threaded;
	for (size_t i = 0; i < sizeof offsets / sizeof offsets[0]; i++)
		fake_runtime[offsets[i].word] = offsets[i].offset;
}

static int say_layout(unsigned long version)
{
	struct moriens_python p;
	char why[160] = "";
	bool known = moriens_python_layout(&p, version, (uintptr_t)fake_runtime, why, sizeof why);

	printf("%s\n", known ? "known" : why);
	return 0;
}

/* Objects in the arena, from its start; a page that cannot be read follows. */
static char *arena;
static size_t used;

static uintptr_t room(size_t bytes)
{
	uintptr_t at = (uintptr_t)arena + used;

	used += (bytes + 15) & ~(size_t)15;
	if (used > ARENA)
		abort();
	return at;
}

static void put(uintptr_t at, uintptr_t value)
{
	memcpy((void *)at, &value, sizeof value);
}

static uintptr_t make_text(const struct moriens_python *p, const char *text)
{
	uintptr_t o = room(p->text_ascii + strlen(text) + 1);

	put(o + p->object_type, p->text_type);
	put(o + p->text_length, strlen(text));
	*(uint32_t *)(o + p->text_state) = 1u << 2 | 1u << 5 | 1u << 6;
	strcpy((char *)(o + p->text_ascii), text);
	return o;
}

static uintptr_t make_code(const struct moriens_python *p, const char *file, const char *function, int first)
{
	/* An instruction, one on the next line, and 8 three lines further. */
	static const uint8_t table[] = {0x80, 0, 0xd8, 4, 9, 0xef, 6};
	uintptr_t code = room(p->code_instructions + 64u), lines = room(p->bytes_content + sizeof table);

	put(code + p->object_type, p->code_type);
	put(code + p->object_size, 16); /* instructions */
	*(int *)(code + p->code_line) = first;
	put(code + p->code_file, make_text(p, file));
	put(code + p->code_function, make_text(p, function));
	put(code + p->code_lines, lines);
	put(lines + p->object_type, p->bytes_type);
	put(lines + p->object_size, sizeof table);
	memcpy((void *)(lines + p->bytes_content), table, sizeof table);
	return code;
}

static uintptr_t make_frame(const struct moriens_python *p, uintptr_t code, uint32_t at, uintptr_t previous, uint8_t owner)
{
	uintptr_t frame = room(96);

	put(frame + p->frame_code, code);
	put(frame + p->frame_instruction, code + p->code_instructions + at);
	put(frame + p->frame_previous, previous);
	*(uint8_t *)(frame + p->frame_owner) = owner;
	return frame;
}

/* A thread that is in b.step, called by C code that the module a called, after the interpreter's own start. */
static uintptr_t make_thread(const struct moriens_python *p)
{
	used = 0;
	memset(arena, 0, ARENA);
	uintptr_t start = make_frame(p, make_code(p, "<frozen runpy>", "start", 1), 0, 0, 0);
	uintptr_t a = make_frame(p, make_code(p, "/home/a.py", "<module>", 1), 4, start, 0);
	uintptr_t c = p->has_cframe && p->frame_owner == 69 ? a : make_frame(p, 0x5555, 0, a, 3);
	uintptr_t b = make_frame(p, make_code(p, "b.py", "b.step", 10), 18, c, 1);
	uintptr_t thread = room(256);

	if (p->has_cframe) {
		uintptr_t cframe = room(32);
		put(cframe + p->cframe_frame, b);
		b = cframe;
	}
	put(thread + p->thread_frame, b);
	return thread;
}

/* Says what is read, or only counts it. */
static enum moriens_python_step read_all(const struct moriens_python *p, uintptr_t thread, bool say)
{
	struct moriens_python_place place;
	enum moriens_python_step step = MORIENS_PYTHON_WRONG;
	bool wrong;
	uintptr_t frame = moriens_python_frame(p, thread, &wrong);

	for (int i = 0; !wrong && i < 64; i++) {
		step = moriens_python_step(p, &frame, &place);
		if (step != MORIENS_PYTHON_PLACE)
			break;
		if (strlen(place.file) >= sizeof place.file || strlen(place.function) >= sizeof place.function)
			abort();
		if (say)
			printf("%s:%" PRIu32 " %s\n", place.file, place.line, place.function);
	}
	return step;
}

static uint64_t drawn;

static uint64_t draw(uint64_t below)
{
	drawn = drawn * 6364136223846793005u + 1442695040888963407u;
	return (drawn >> 33) % below;
}

static uintptr_t strange_word(void)
{
	switch (draw(8)) {
	case 0: return 0;
	case 1: return draw(4096);
	case 2: return (uintptr_t)arena + ARENA - 8 * draw(8);      /* where what follows cannot be read */
	case 3: return (uintptr_t)0x8000000000000000u + draw(4096) * 8; /* no address at all */
	case 4: return ~(uintptr_t)0 - draw(64);
	case 5: return (uintptr_t)1 << draw(64);
	case 6: return draw(UINT32_MAX) << 20;
	default: return (uintptr_t)arena + 8 * draw(ARENA / 8); /* another object, or the middle of one */
	}
}

static int damage(unsigned long version, uint64_t seed, unsigned rounds)
{
	struct moriens_python p;
	unsigned wrong = 0;
	char why[160];

	if (!moriens_python_layout(&p, version, (uintptr_t)fake_runtime, why, sizeof why))
		return 1;
	static uint64_t types[3];
	p.code_type = (uintptr_t)&types[0];
	p.text_type = (uintptr_t)&types[1];
	p.bytes_type = (uintptr_t)&types[2];
	drawn = seed;
	if (read_all(&p, make_thread(&p), true) != MORIENS_PYTHON_END)
		return 1;
	for (unsigned i = 0; i < rounds; i++) {
		uintptr_t thread = make_thread(&p);
		for (uint64_t n = 1 + draw(3); n > 0; n--)
			put((uintptr_t)arena + 8 * draw(used / 8), strange_word());
		wrong += read_all(&p, thread, false) == MORIENS_PYTHON_WRONG;
	}
	/* The offsets of another version. */
	for (unsigned i = 0; i < rounds; i++) {
		struct moriens_python other = p;
		uintptr_t thread = make_thread(&p);
		uint16_t *offsets[] = {&other.thread_frame, &other.frame_code, &other.frame_instruction, &other.frame_previous, &other.code_line, &other.code_file,
			&other.code_function, &other.code_lines, &other.code_instructions, &other.object_type, &other.object_size, &other.text_length, &other.text_ascii};
		*offsets[draw(sizeof offsets / sizeof offsets[0])] = (uint16_t)draw(4096);
		read_all(&other, thread, false);
	}
	printf("%s\n", wrong > rounds / 20 && wrong < rounds ? "survived" : "no damage was found, or all was");
	return 0;
}

int main(int argc, char **argv)
{
	arena = mmap(NULL, ARENA + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (arena == MAP_FAILED || mprotect(arena + ARENA, 4096, PROT_NONE) != 0)
		return 1;
	if (argc == 2 && strcmp(argv[1], "lines") == 0)
		return say_lines();
	if (argc == 4 && strcmp(argv[1], "layout") == 0) {
		make_runtime(0x030d00f0, strcmp(argv[3], "t") == 0);
		return say_layout(strtoul(argv[2], NULL, 0));
	}
	if (argc == 5 && strcmp(argv[1], "damage") == 0) {
		make_runtime(0x030d00f0, false);
		return damage(strtoul(argv[2], NULL, 0), strtoull(argv[3], NULL, 10), (unsigned)atoi(argv[4]));
	}
	return 2;
}
