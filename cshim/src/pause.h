/* Whether the program has paused recording by MPI_Pcontrol(0), on all threads of the process. */
#ifndef MORIENS_PAUSE_H
#define MORIENS_PAUSE_H

#include "base.h"

extern MORIENS_HIDDEN bool moriens_pause; /* atomic */

void moriens_set_pause(bool paused);

MORIENS_HOT bool moriens_paused(void)
{
	return __atomic_load_n(&moriens_pause, __ATOMIC_RELAXED);
}

#endif
