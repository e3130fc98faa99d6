/*
 * How to step from a frame of the stack to its caller's, as the compiler has written it down in
 * .eh_frame (the Linux Standard Base's form of DWARF's call frame information).
 *
 * Only what compilers make of ordinary functions is understood: the frame ends a constant number of bytes above
 * the stack pointer or the frame pointer, and the caller's frame pointer is unchanged or saved at a fixed place.
 * Functions that align their stack, signal frames and code made at run time are not; for them there is libunwind.
 */
#ifndef MORIENS_UNWIND_H
#define MORIENS_UNWIND_H

#include "base.h"
#include "module.h"

#define MORIENS_MAX_CALLPATH 64u /* frames */

enum moriens_rule_base {
	MORIENS_RULE_NONE = 0, /* not known, or not of the form above */
	MORIENS_RULE_STACK,    /* the frame ends at the stack pointer + end */
	MORIENS_RULE_FRAME,    /* at the frame pointer + end */
	MORIENS_RULE_OUTERMOST, /* no caller: the outermost function */
};

/* Holds for one return address: there, and nowhere else in its function. */
struct moriens_rule {
	uint8_t base;
	int16_t saved; /* the caller's frame pointer lies this far from the frame's end; 0 = it is unchanged */
	int32_t end;   /* the return address is the last word before the frame's end */
};

/* The rule for a return address that lies in this module. */
struct moriens_rule moriens_unwind_rule(const struct moriens_module *module, uintptr_t address);

/* Loads libunwind. False: this machine has none. */
bool moriens_unwind_load(void);

/*
 * The return addresses from site outwards by libunwind, at most count; returns how many, at least 1. site is the
 * return address of the wrapper that is under way, so that the shim's own frames can be determined and left out.
 */
uint32_t moriens_unwind_backtrace(uintptr_t site, uintptr_t *chain, uint32_t count);

#endif
