#include "fortran.h"

__attribute__((noinline)) void moriens_fortran_enter(struct moriens_span *span, enum moriens_call call, const void *site, const void *frame)
{
	moriens_enter(span, call, site, frame);
}

__attribute__((noinline)) void moriens_fortran_exit(struct moriens_span *span)
{
	moriens_exit(span);
}

__attribute__((noinline)) void moriens_fortran_enter_poll(struct moriens_span *span, enum moriens_call call, const void *site, const void *frame)
{
	moriens_enter_poll(span, call, site, frame);
}

__attribute__((noinline)) bool moriens_fortran_polled(struct moriens_span *span, int result, word found)
{
	return moriens_polled(span, result, (const int *)found);
}
