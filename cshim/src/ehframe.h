/*
 * Reads .eh_frame and .eh_frame_hdr, in which compilers write down for every function how its frames look: numbers,
 * addresses, entries, and the table by which an address's entry is found. What the entries say is for unwind.c to
 * understand.
 */
#ifndef MORIENS_EHFRAME_H
#define MORIENS_EHFRAME_H

#include "base.h"

#include <stddef.h>
#include <stdint.h>

/* What is being read. After a bad one all that is read is nothing. */
struct moriens_eh {
	const uint8_t *at;
	const uint8_t *end;
	bool bad; /* has read past the end, or met what is not known here */
};

/* A number of that many bytes, and DWARF's numbers of any length (LEB128). */
uint64_t moriens_eh_fixed(struct moriens_eh *r, size_t bytes);
uint64_t moriens_eh_unsigned(struct moriens_eh *r);
int64_t moriens_eh_signed(struct moriens_eh *r);

void moriens_eh_skip(struct moriens_eh *r, uint64_t bytes);

/* An address in one of the encodings of the Linux Standard Base, DWARF exception header encoding. */
uintptr_t moriens_eh_pointer(struct moriens_eh *r, uint8_t encoding);

/* An entry of .eh_frame, past its length. */
struct moriens_eh moriens_eh_entry(const uint8_t *at);

/* The frame description of the function that an address lies in, by the sorted table in .eh_frame_hdr; NULL where there
 * is none. */
const uint8_t *moriens_eh_find(const uint8_t *header, uintptr_t address);

#endif
