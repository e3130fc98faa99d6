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

__attribute__((noinline)) void moriens_fortran_exit_poll(struct moriens_span *span, word ierror, word found)
{
	moriens_exit_poll(span, moriens_fortran_error(ierror), (const int *)found);
}
