/*
 * MPI sessions: a program that uses them may never call MPI_Init. Its first MPI_Session_init then sets the
 * recording up, and the end of its last session is what MPI_Finalize is to others.
 */
#ifndef MORIENS_SESSION_H
#define MORIENS_SESSION_H

#include "record.h"

/* MPI_Session_init has returned; its record is still open. session and ierror are addresses. */
void moriens_session_opened(struct moriens_span *span, int result, word session);
void moriens_session_opened_fortran(struct moriens_span *span, word session, word ierror);

/* MPI_Session_finalize is about to be called; session is an address. */
void moriens_session_ending(struct moriens_span *span, word session);
void moriens_session_ending_fortran(struct moriens_span *span, word session);

/* MPI_Session_finalize has returned and is recorded. */
void moriens_session_closed(struct moriens_span *span, int result);

/* Sessions that are open now. */
int moriens_sessions(void);

#endif
