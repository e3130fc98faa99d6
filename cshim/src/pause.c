#include "pause.h"

bool moriens_pause;

MORIENS_COLD void moriens_set_pause(bool paused)
{
	__atomic_store_n(&moriens_pause, paused, __ATOMIC_RELAXED);
}
