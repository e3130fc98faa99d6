package ringwriter

/*
#include "process.h"
#include "ring.h"

#include <stdlib.h>
#include <string.h>

static bool ring_add(struct moriens_writer *w, const void *slot)
{
	void *to = moriens_ring_extend(w);

	if (to != NULL)
		memcpy(to, slot, MORIENS_SLOT_BYTES);
	return to != NULL;
}
*/
import "C"

import (
	"unsafe"

	"moriens/internal/shmabi"
)

// Add adds a slot to the record that is open; false means that there is no room for it.
func Add[T shmabi.Transfer | shmabi.Collective | shmabi.Request](r *Ring, slot T) bool {
	bytes := C.CBytes(unsafe.Slice((*byte)(unsafe.Pointer(&slot)), shmabi.SlotBytes))
	defer C.free(bytes)
	return bool(C.ring_add(r.writer, bytes))
}

// Log appends an entry to the log, as it is; false means that the log is full.
func (p *Process) Log(entry []byte) bool {
	bytes := C.CBytes(entry)
	defer C.free(bytes)
	return bool(C.moriens_process_log(p.file, bytes, C.size_t(len(entry)), bytes, 0))
}
