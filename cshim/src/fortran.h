/*
 * Wrappers of the Fortran bindings: one record each, as for C, around the MPI library's function of the same symbol.
 * Every argument is an address or the length of a text, and is passed on unchanged: only the library's own Fortran
 * function recognizes MPI_IN_PLACE, MPI_BOTTOM and array descriptors. The C functions that it calls are not outermost,
 * so they make no record.
 */
#ifndef MORIENS_FORTRAN_H
#define MORIENS_FORTRAN_H

#include "meaning.h"
#include "resolve.h"

/* Out of line, for there are over a thousand Fortran wrappers. */
void moriens_fortran_enter(struct moriens_span *span, enum moriens_call call, const void *site, const void *frame);
void moriens_fortran_exit(struct moriens_span *span);
void moriens_fortran_enter_poll(struct moriens_span *span, enum moriens_call call, const void *site, const void *frame);
bool moriens_fortran_polled(struct moriens_span *span, int result, word found);

/* What a text holds without the blanks at its end, which are no part of it in Fortran. */
static inline size_t moriens_trimmed(word text, word length)
{
	while (length > 0 && ((const char *)text)[length - 1] == ' ')
		length--;
	return length;
}

/* The error that a call left in ierror, which may be absent in mpi_f08; it then ended the program if it failed. */
static inline int moriens_fortran_error(word ierror)
{
	return ierror != 0 ? *(const int *)ierror : 0;
}

/* The wrapper of a call under a Fortran symbol. Steps are described in cshim/gen/clang.go. */
#define MORIENS_FORTRAN_STEPS(call, symbol, parameters, arguments, before, returned, after) \
	MORIENS_PUBLIC void symbol parameters \
	{ \
		static moriens_function known; \
		const void *site = __builtin_return_address(0); \
		void (*real) parameters = (void (*) parameters)moriens_real_fortran(&known, #symbol, site); \
		struct moriens_span span; \
\
		moriens_fortran_enter(&span, MORIENS_CALL_##call, site, __builtin_frame_address(0)); \
		moriens_commit(&span); \
		before; \
		real arguments; \
		returned; \
		moriens_fortran_exit(&span); \
		after; \
	}

/* Of a call that records nothing but that it was made. */
#define MORIENS_FORTRAN_PLAIN(call, symbol, parameters, arguments) \
	MORIENS_FORTRAN_STEPS(call, symbol, parameters, arguments, (void)0, (void)0, (void)0)

/* Of one that means something: cshim/gen/meaning.go. We must know whether it has succeeded even where ierror is
 * absent. */
#define MORIENS_FORTRAN(call, symbol, parameters, arguments, given, results) \
	MORIENS_PUBLIC void symbol parameters \
	{ \
		static moriens_function known; \
		const void *site = __builtin_return_address(0); \
		void (*real) parameters = (void (*) parameters)moriens_real_fortran(&known, #symbol, site); \
		struct moriens_span span; \
		int result = 0; \
\
		if (ierror == 0) \
			ierror = (word)&result; \
		moriens_fortran_enter(&span, MORIENS_CALL_##call, site, __builtin_frame_address(0)); \
		given; \
		moriens_commit(&span); \
		real arguments; \
		result = *(const int *)ierror; \
		results; \
		moriens_fortran_exit(&span); \
	}

/* The wrapper of a polling call: see polls.h. found is a LOGICAL, which is 0 where it is false, or a number. */
#define MORIENS_FORTRAN_POLL(call, symbol, parameters, arguments, found, given, results) \
	MORIENS_PUBLIC void symbol parameters \
	{ \
		static moriens_function known; \
		const void *site = __builtin_return_address(0); \
		void (*real) parameters = (void (*) parameters)moriens_real_fortran(&known, #symbol, site); \
		struct moriens_span span; \
		int result = 0; \
\
		if (ierror == 0) \
			ierror = (word)&result; \
		moriens_fortran_enter_poll(&span, MORIENS_CALL_##call, site, __builtin_frame_address(0)); \
		given; \
		real arguments; \
		result = *(const int *)ierror; \
		if (moriens_fortran_polled(&span, result, found)) { \
			results; \
			moriens_fortran_exit(&span); \
		} \
	}

/* The other names of the wrapper mpi_x_: libraries have one function for all compilers that they serve, and
 * Open MPI has it under two names more. */
#define MORIENS_FORTRAN_NAME(symbol, other) \
	extern MORIENS_PUBLIC __typeof__(symbol) other __attribute__((alias(#symbol)));
#define MORIENS_FORTRAN_NAMES(symbol, a, b, c, d) \
	MORIENS_FORTRAN_NAME(symbol, a) \
	MORIENS_FORTRAN_NAME(symbol, b) \
	MORIENS_FORTRAN_NAME(symbol, c) \
	MORIENS_FORTRAN_NAME(symbol, d)

#endif
