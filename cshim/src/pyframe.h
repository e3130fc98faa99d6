/*
 * Reads from CPython's memory at which line of which file a thread is, without asking the interpreter: MPI is
 * called with its lock released, and its functions may not be called then.
 *
 *	thread state ─▶ (cframe ─▶) frame ─▶ code object ─▶ file name, function's name, line table
 *	                              │ instruction
 *	                              ▼
 *	                            caller's frame
 *
 * These structures are private to CPython and differ between its minor versions. What is known is 3.11 and 3.12,
 * whose offsets are written here, and 3.13, which says its own (_Py_DebugOffsets). Nothing that is found by them is
 * believed before it was read without a risk (moriens_os_read_memory) and was of the type that it should be; only
 * when all of one stack was may moriens_python_key read directly.
 *
 * Objects that a thread's own frames refer to are kept while that thread is in a call of its own: the frames hold
 * references to the code objects that run.
 */
#ifndef MORIENS_PYFRAME_H
#define MORIENS_PYFRAME_H

#include "base.h"

/* Offsets in bytes. */
struct moriens_python {
	uintptr_t code_type, text_type, bytes_type; /* addresses of type objects */

	bool has_cframe;       /* the thread state holds the address of something that holds the frame's */
	uint16_t thread_frame; /* in the thread state, that, or the frame's */
	uint16_t cframe_frame;
	uint16_t frame_code, frame_instruction, frame_previous, frame_owner;
	uint16_t code_line, code_file, code_function, code_lines, code_instructions;
	uint16_t object_type, object_size;
	uint16_t bytes_content;
	uint16_t text_length, text_state;
	uint16_t text_ascii, text_compact; /* where characters begin, of ASCII and of others */
};

struct moriens_python_place {
	char file[1024];    /* UTF-8, NUL-terminated, cut at its start where too long */
	char function[256]; /* qualified: Solver.step; cut at its end */
	uint32_t line;      /* from 1; 0 = unknown */
};

enum moriens_python_step {
	MORIENS_PYTHON_PLACE,
	MORIENS_PYTHON_END,   /* there are no more frames */
	MORIENS_PYTHON_WRONG, /* this is not the memory of that version of CPython */
};

/* version is Py_Version, runtime the address of _PyRuntime. False, and why: it is none whose frames are known here. */
bool moriens_python_layout(struct moriens_python *p, unsigned long version, uintptr_t runtime, char *why, size_t bytes);

/* The innermost frame of a thread state; 0: none, *wrong: or it cannot be read. */
uintptr_t moriens_python_frame(const struct moriens_python *p, uintptr_t thread, bool *wrong);

/* Where the innermost frame from *frame outwards is that has a place in a file that a user knows; *frame
 * becomes its caller's. */
enum moriens_python_step moriens_python_step(const struct moriens_python *p, uintptr_t *frame, struct moriens_python_place *place);

/* Distinguishes the innermost frames of a thread that have such places, at most so many, from all others; 0:
 * there is none. Only after MORIENS_PYTHON_PLACE
 * and no MORIENS_PYTHON_WRONG. */
uint64_t moriens_python_key(const struct moriens_python *p, uintptr_t thread, uint32_t count);

/* The line of the instruction at a byte of the code, by a code object's co_linetable and co_firstlineno; 0:
 * the table does not say. */
uint32_t moriens_python_line(const uint8_t *table, size_t bytes, uint32_t first, uint32_t at);

#endif
