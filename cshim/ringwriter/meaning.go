package ringwriter

/*
#include "process.h"
#include "ring.h"

static bool ring_open(struct moriens_writer *w, uint64_t enter, uint16_t call, uint32_t path, const struct moriens_slot *more, uint32_t n)
{
	if (!moriens_ring_open(w, enter, call, path))
		return false;
	for (uint32_t i = 0; i < n; i++) {
		struct moriens_slot *slot = moriens_ring_extend(w);
		if (slot == NULL) {
			moriens_ring_drop(w);
			return false;
		}
		*slot = more[i];
	}
	moriens_ring_commit(w);
	return true;
}
*/
import "C"

import (
	"slices"
	"unsafe"

	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// Meaning is what a call means, slot by slot.
type Meaning struct {
	Counts      []int64 // of the process's events in the burst before the call
	Transfers   []shmabi.Transfer
	Collectives []shmabi.Collective
	Requests    []shmabi.Request
}

func (m Meaning) slots() []C.struct_moriens_slot {
	var slots []C.struct_moriens_slot
	for values := range slices.Chunk(m.Counts, shmabi.SlotEvents) {
		c := C.struct_moriens_counters{kind: shmabi.SlotCounters, count: C.uint32_t(len(values))}
		for i, v := range values {
			c.value[i] = C.int64_t(v)
		}
		slots = append(slots, *(*C.struct_moriens_slot)(unsafe.Pointer(&c)))
	}
	for i := range m.Transfers {
		slots = append(slots, *(*C.struct_moriens_slot)(unsafe.Pointer(&m.Transfers[i])))
	}
	for _, c := range m.Collectives {
		c.Kind = shmabi.SlotCollective
		slots = append(slots, *(*C.struct_moriens_slot)(unsafe.Pointer(&c)))
	}
	for _, q := range m.Requests {
		q.Kind = shmabi.SlotRequest
		slots = append(slots, *(*C.struct_moriens_slot)(unsafe.Pointer(&q)))
	}
	return slots
}

// EnterMeaning opens a record that shows what its call means; false means that it was dropped.
func (r *Ring) EnterMeaning(call mpicall.ID, path uint32, enter uint64, m Meaning) bool {
	slots := m.slots()
	return bool(C.ring_open(r.writer, C.uint64_t(enter), C.uint16_t(call), C.uint32_t(path), unsafe.SliceData(slots), C.uint32_t(len(slots))))
}

// CallMeaning writes a whole record that shows what its call means; false means that it was dropped.
func (r *Ring) CallMeaning(call mpicall.ID, path uint32, enter, exit uint64, m Meaning) bool {
	if !r.EnterMeaning(call, path, enter, m) {
		return false
	}
	r.Exit(exit)
	return true
}

// Comm is a communicator, a window or a file in a process's log.
type Comm struct {
	Number, Flags uint32
	ID            uint64
	Rank          int
	Size, Peers   int // Peers 0: Size
	Ranks         []Ranks
	Origin        *shmabi.LogOrigin // of one with ranks of several worlds, and
	OriginText    string
}

// Ranks are ranks of MPI_COMM_WORLD: First, First + Stride, …
type Ranks struct {
	First, Stride int32
	Count         uint32
}

// Comm defines a communicator in the log; false means that it has no room.
func (p *Process) Comm(c Comm) bool {
	ranks := make([]C.struct_moriens_log_ranks, len(c.Ranks)+1)
	for i, r := range c.Ranks {
		ranks[i] = C.struct_moriens_log_ranks{first: C.int32_t(r.First), stride: C.int32_t(r.Stride), count: C.uint32_t(r.Count)}
	}
	if c.Peers == 0 {
		c.Peers = c.Size
	}
	rest := unsafe.Slice((*byte)(unsafe.Pointer(&ranks[0])), len(c.Ranks)*C.sizeof_struct_moriens_log_ranks)
	if c.Origin != nil {
		c.Flags |= shmabi.CommMet
		c.Origin.Length = uint32(len(c.OriginText))
		rest = append(slices.Clone(rest), make([]byte, -len(rest)&7)...)
		rest = append(rest, unsafe.Slice((*byte)(unsafe.Pointer(c.Origin)), shmabi.LogOriginBytes)...)
		rest = append(rest, c.OriginText...)
	}
	entry := C.struct_moriens_log_comm{
		comm: C.uint32_t(c.Number), flags: C.uint32_t(c.Flags), id: C.uint64_t(c.ID),
		rank: C.int32_t(c.Rank), size: C.uint32_t(c.Size), peers: C.uint32_t(c.Peers),
	}
	entry.entry = C.struct_moriens_log_entry{
		bytes: C.uint32_t((C.sizeof_struct_moriens_log_comm + len(rest) + 7) &^ 7), kind: shmabi.LogCommKind, length: C.uint16_t(len(c.Ranks)),
	}
	return bool(C.moriens_process_log(p.file, unsafe.Pointer(&entry), C.sizeof_struct_moriens_log_comm, unsafe.Pointer(unsafe.SliceData(rest)), C.size_t(len(rest))))
}
