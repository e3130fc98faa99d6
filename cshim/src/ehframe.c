#include "ehframe.h"

#include <string.h>

/* Linux Standard Base, DWARF exception header encoding. */
enum {
	ENCODED_SIGNED = 0x08,
	ENCODED_BYTES_2 = 0x02,
	ENCODED_BYTES_4 = 0x03,
	ENCODED_BYTES_8 = 0x04,
	ENCODED_FROM_HERE = 0x10,
	ENCODED_FROM_HEADER = 0x30,
};

uint64_t moriens_eh_fixed(struct moriens_eh *r, size_t bytes)
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

uint64_t moriens_eh_unsigned(struct moriens_eh *r)
{
	uint64_t v = 0, byte;
	int shift = 0;

	do {
		byte = moriens_eh_fixed(r, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	return v;
}

int64_t moriens_eh_signed(struct moriens_eh *r)
{
	uint64_t v = 0, byte;
	int shift = 0;

	do {
		byte = moriens_eh_fixed(r, 1);
		if (shift < 64)
			v |= (byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80);
	if ((byte & 0x40) && shift < 64)
		v |= ~(uint64_t)0 << shift;
	return (int64_t)v;
}

void moriens_eh_skip(struct moriens_eh *r, uint64_t bytes)
{
	if (bytes > (uint64_t)(r->end - r->at)) {
		r->bad = true;
		r->at = r->end;
	} else {
		r->at += bytes;
	}
}

uintptr_t moriens_eh_pointer(struct moriens_eh *r, uint8_t encoding)
{
	uintptr_t here = (uintptr_t)r->at;
	uint64_t v;

	switch (encoding & 0x0f) {
	case 0:
	case ENCODED_BYTES_8:
	case ENCODED_BYTES_8 | ENCODED_SIGNED:
		v = moriens_eh_fixed(r, 8);
		break;
	case ENCODED_BYTES_4:
		v = moriens_eh_fixed(r, 4);
		break;
	case ENCODED_BYTES_4 | ENCODED_SIGNED:
		v = (uint64_t)(int64_t)(int32_t)moriens_eh_fixed(r, 4);
		break;
	case ENCODED_BYTES_2:
		v = moriens_eh_fixed(r, 2);
		break;
	case ENCODED_BYTES_2 | ENCODED_SIGNED:
		v = (uint64_t)(int64_t)(int16_t)moriens_eh_fixed(r, 2);
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

struct moriens_eh moriens_eh_entry(const uint8_t *at)
{
	uint32_t bytes;

	memcpy(&bytes, at, sizeof bytes);
	if (bytes == 0 || bytes == UINT32_MAX)
		return (struct moriens_eh){.bad = true};
	return (struct moriens_eh){.at = at + sizeof bytes, .end = at + sizeof bytes + bytes};
}

const uint8_t *moriens_eh_find(const uint8_t *header, uintptr_t address)
{
	struct {
		int32_t start, description; /* from the header's own address */
	} row;
	struct moriens_eh r = {.at = header, .end = header + 4 + 2 * sizeof(uint64_t)};
	uint8_t start_encoding, count_encoding;
	uint64_t count, low = 0;
	const uint8_t *table;

	if (moriens_eh_fixed(&r, 1) != 1)
		return NULL;
	start_encoding = (uint8_t)moriens_eh_fixed(&r, 1);
	count_encoding = (uint8_t)moriens_eh_fixed(&r, 1);
	if (moriens_eh_fixed(&r, 1) != (ENCODED_FROM_HEADER | ENCODED_BYTES_4 | ENCODED_SIGNED))
		return NULL;
	moriens_eh_pointer(&r, start_encoding);
	count = moriens_eh_pointer(&r, count_encoding);
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
