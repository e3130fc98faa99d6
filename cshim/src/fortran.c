#include "fortran.h"

__attribute__((noinline)) void moriens_fortran_enter(struct moriens_span *span, enum moriens_call call, const void *site, const void *frame)
{
	moriens_enter(span, call, site, frame);
}

__attribute__((noinline)) void moriens_fortran_exit(struct moriens_span *span)
{
	moriens_exit(span);
}
