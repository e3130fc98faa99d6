/*
 * MPI_Pcontrol(1, "name") and MPI_Pcontrol(-1, "name") as the begin and the end of a phase, where MORIENS_PCONTROL says
 * so: the standard does not say what follows the level, and there may be nothing at all. Then the argument is whatever
 * the register held. It is read by the kernel, which does not fault; what is not a short line of text is refused and
 * counted.
 */
#include "marks.h"
#include "os.h"
#include "regions.h"

#include <string.h>

#define LONGEST 255u
#define PAGE 4096u

static uint64_t refused; /* atomic */

uint64_t moriens_pcontrol_refused(void)
{
	return __atomic_load_n(&refused, __ATOMIC_RELAXED);
}

/* How many bytes the character of UTF-8 at text has; 0: it is none, or not printable. text ends with NUL. */
static unsigned character(const unsigned char *text)
{
	unsigned bytes = text[0] < 0x80 ? 1 : text[0] < 0xc2 ? 0 : text[0] < 0xe0 ? 2 : text[0] < 0xf0 ? 3 : text[0] < 0xf5 ? 4 : 0;

	if (bytes == 1)
		return text[0] >= 0x20 && text[0] != 0x7f;
	for (unsigned i = 1; i < bytes; i++) {
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	}
	if ((text[0] == 0xe0 && text[1] < 0xa0) || (text[0] == 0xed && text[1] > 0x9f) || (text[0] == 0xf0 && text[1] < 0x90) ||
	    (text[0] == 0xf4 && text[1] > 0x8f))
		return 0;
	return bytes;
}

/* Copies the text at an address, and gives its length; 0: there is none. */
static size_t read_name(uintptr_t at, char name[LONGEST + 1])
{
	size_t have = 0;
	const char *end = NULL;

	while (end == NULL && have <= LONGEST) {
		/* The next page may not be there. */
		size_t bytes = PAGE - (at + have) % PAGE;
		if (bytes > LONGEST + 1 - have)
			bytes = LONGEST + 1 - have;
		if (at < PAGE || at > UINTPTR_MAX - PAGE || !moriens_os_read_memory(at + have, name + have, bytes))
			return 0;
		end = memchr(name + have, '\0', bytes);
		have += bytes;
	}
	if (end == NULL)
		return 0;
	for (const char *c = name; c < end;) {
		unsigned bytes = character((const unsigned char *)c);
		if (bytes == 0)
			return 0;
		c += bytes;
	}
	return (size_t)(end - name);
}

void moriens_pcontrol(int level, uintptr_t at, const void *frame)
{
	static uint32_t asked; /* atomic; 1: names no phases, 2: it does */
	uint32_t known = __atomic_load_n(&asked, __ATOMIC_RELAXED);
	char name[LONGEST + 1];
	size_t bytes;

	if (known == 0) {
		known = moriens_options_pcontrol() ? 2 : 1;
		__atomic_store_n(&asked, known, __ATOMIC_RELAXED);
	}
	if (known == 1)
		return;
	bytes = read_name(at, name);
	if (bytes == 0)
		__atomic_fetch_add(&refused, 1, __ATOMIC_RELAXED);
	else
		moriens_marks_say(level > 0 ? MORIENS_MARK_BEGIN : MORIENS_MARK_END, moriens_marks_number(name, bytes), 0, frame);
}
