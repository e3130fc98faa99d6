// Package ringwriter writes process files and rings with the shim's own code and with time stamps that a test chooses.
// Only tests and benchmarks import it.
//
// The C files here are links to cshim/src, so that the go command notices when they change.
//
// A Process stands for one MPI process.
package ringwriter

/*
#cgo CFLAGS: -std=c11 -D_GNU_SOURCE -O2 -Wall -Wextra -Werror
#include <stdlib.h>
#include "paths.h"
#include "process.h"
#include "ring.h"

static bool ring_enter(struct moriens_writer *w, uint64_t enter, uint16_t call, uint32_t path, const int64_t *counts, uint32_t n)
{
	if (!moriens_ring_open(w, enter, call, path))
		return false;
	for (uint32_t i = 0; i < n; i += MORIENS_SLOT_EVENTS) {
		struct moriens_counters *slot = moriens_ring_extend(w);
		if (slot == NULL) {
			moriens_ring_drop(w);
			return false;
		}
		*slot = (struct moriens_counters){.kind = MORIENS_SLOT_COUNTERS};
		while (slot->count < MORIENS_SLOT_EVENTS && i + slot->count < n) {
			slot->value[slot->count] = counts[i + slot->count];
			slot->count++;
		}
	}
	moriens_ring_commit(w);
	return true;
}

static void ring_exit(struct moriens_writer *w, uint64_t exit)
{
	moriens_ring_exit(w, exit);
}

static void ring_return(struct moriens_writer *w, uint64_t exit)
{
	moriens_ring_return(w, exit);
}

static bool ring_poll(struct moriens_writer *w, uint64_t enter, uint16_t call, uint32_t path)
{
	return moriens_ring_poll(w, enter, call, path);
}

static void ring_polled(struct moriens_writer *w, uint64_t exit)
{
	moriens_ring_polled(w, exit);
}

static uint32_t define_name(struct moriens_process_file *file, uint32_t number, const void *text, size_t bytes)
{
	struct moriens_log_name name = {
		.entry = {
			.bytes = (uint32_t)((sizeof name + bytes + 7) & ~(size_t)7),
			.kind = MORIENS_LOG_NAME,
			.length = (uint16_t)bytes,
		},
		.name = number,
	};

	return moriens_process_log(file, &name, sizeof name, text, bytes) ? number : 0;
}

static void ring_mark(struct moriens_writer *w, uint64_t time, uint16_t what, uint32_t name, int64_t value)
{
	moriens_ring_mark(w, time, what, name, value);
}

static void ring_mark_counted(struct moriens_writer *w, uint64_t time, uint16_t what, uint32_t name, const int64_t *counts, uint32_t n)
{
	struct moriens_mark mark = {.time = time, .what = what, .name = name};

	moriens_ring_mark_counted(w, &mark, counts, n);
}

static void ring_commit(struct moriens_writer *w)
{
	moriens_ring_commit(w);
}

static void ring_publish(struct moriens_writer *w)
{
	moriens_ring_end_polls(w);
}

static uint64_t ring_free(const struct moriens_writer *w)
{
	uint64_t tail = __atomic_load_n(&w->ring->tail, __ATOMIC_ACQUIRE);

	return w->mask + 1 - (w->head - (tail > w->first ? tail : w->first));
}
*/
import "C"

import (
	"fmt"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"unsafe"

	"moriens/internal/mpicall"
	"moriens/internal/shmabi"
)

// Identity is what a process file says of its process. Zero values are filled in as noted.
type Identity struct {
	Rank, Size int // Size 0: Rank + 1
	World      string
	Parent     string
	Host       string // empty: "host"
	Executable string // empty: "/bin/app"
	Library    string // empty: "MPI"
	PID        int
	Clock      uint32 // of shmabi; 0: ClockMonotonicRaw
	LogBytes   int    // 0: 64 KiB
	// Events are separated by commas; Unavailable are lines of "name: reason".
	Events, Unavailable string
}

// Process writes one process file.
type Process struct {
	id        uint64
	file      *C.struct_moriens_process_file
	paths     *C.struct_moriens_paths
	directory C.int
	bell      *C.char // path of the file
	dir       *C.char // and of the directory
	rings     []*Ring
	names     uint32 // defined so far
}

// New creates the directory where it is missing, and a process file in state RUNNING in it.
func New(dir string, identity Identity) (*Process, error) {
	p := &Process{
		file:  (*C.struct_moriens_process_file)(C.calloc(1, C.sizeof_struct_moriens_process_file)),
		paths: (*C.struct_moriens_paths)(C.calloc(1, C.sizeof_struct_moriens_paths)),
	}
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	if errno := C.moriens_os_open_directory(path, &p.directory); errno != 0 {
		return nil, fmt.Errorf("ringwriter: %s: %w", dir, syscall.Errno(errno))
	}
	id := identity.c()
	p.id = uint64(id.process)
	p.bell, p.dir = C.CString(filepath.Join(dir, p.FileName())), C.CString(dir)
	logBytes := identity.LogBytes
	if logBytes == 0 {
		logBytes = 64 << 10
	}
	if errno := C.moriens_process_create(p.file, p.directory, C.size_t(logBytes), &id); errno != 0 {
		return nil, fmt.Errorf("ringwriter: %w", syscall.Errno(errno))
	}
	if errno := C.moriens_paths_init(p.paths, p.file, 1); errno != 0 {
		return nil, fmt.Errorf("ringwriter: %w", syscall.Errno(errno))
	}
	C.moriens_process_set_state(p.file, C.MORIENS_PROCESS_RUNNING)
	if errno := C.moriens_process_publish(p.file, p.directory); errno != 0 {
		return nil, fmt.Errorf("ringwriter: %w", syscall.Errno(errno))
	}
	return p, nil
}

func (identity Identity) c() C.struct_moriens_identity {
	id := C.struct_moriens_identity{
		process: C.moriens_os_random(),
		rank:    C.int32_t(identity.Rank),
		size:    C.int32_t(identity.Size),
		pid:     C.uint32_t(identity.PID),
		clock:   C.uint32_t(identity.Clock),
	}
	if identity.Size == 0 {
		id.size = id.rank + 1
	}
	if identity.Clock == 0 {
		id.clock = shmabi.ClockMonotonicRaw
	}
	setText(id.world[:], identity.World, "")
	setText(id.parent[:], identity.Parent, "")
	setText(id.host[:], identity.Host, "host")
	setText(id.executable[:], identity.Executable, "/bin/app")
	setText(id.mpi_library[:], identity.Library, "MPI")
	setText(id.events[:], identity.Events, "")
	setText(id.unavailable[:], identity.Unavailable, "")
	return id
}

func setText(to []C.char, text, otherwise string) {
	if text == "" {
		text = otherwise
	}
	for i := 0; i < len(text) && i < len(to)-1; i++ {
		to[i] = C.char(text[i])
	}
}

// ID is the process's random number.
func (p *Process) ID() uint64 { return p.id }

// FileName is the name of the process file in its directory.
func (p *Process) FileName() string { return fmt.Sprintf("%016x.process", p.id) }

// Module defines a module in the log and gives its number, 0 if the log is full.
func (p *Process) Module(path string, buildID []byte) uint32 {
	text := C.CString(path)
	defer C.free(unsafe.Pointer(text))
	id := C.CBytes(buildID)
	defer C.free(id)
	return uint32(C.moriens_paths_define_module(p.paths, text, (*C.uint8_t)(id), C.uint32_t(len(buildID))))
}

// Frame is a return address as an offset into a module, or a place.
type Frame struct {
	Module uint32
	Place  uint32
	Offset uint64
}

// Place defines a line of an interpreter's program, where it is new, and gives its number, 0 if there is no room.
func (p *Process) Place(file, function string, line uint32) uint32 {
	f, g := C.CString(file), C.CString(function)
	defer C.free(unsafe.Pointer(f))
	defer C.free(unsafe.Pointer(g))
	return uint32(C.moriens_paths_place(p.paths, f, g, C.uint32_t(line)))
}

// Path defines a call path, innermost frame first, and gives its number, 0 if the log is full.
func (p *Process) Path(frames ...Frame) uint32 {
	c := make([]C.struct_moriens_log_frame, len(frames)+1)
	for i, f := range frames {
		c[i] = C.struct_moriens_log_frame{module: C.uint32_t(f.Module), place: C.uint32_t(f.Place), offset: C.uint64_t(f.Offset)}
	}
	return uint32(C.moriens_paths_define(p.paths, &c[0], C.uint16_t(len(frames))))
}

// Name defines the name of a phase or an event and gives its number, 0 if the log is full.
func (p *Process) Name(text string) uint32 {
	c := C.CBytes([]byte(text))
	defer C.free(c)
	p.names++
	return uint32(C.define_name(p.file, C.uint32_t(p.names), c, C.size_t(len(text))))
}

// Note leaves a line for the user.
func (p *Process) Note(text string) {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	C.moriens_process_note(p.file, c)
}

// Unseen leaves a line that says which calls are not recorded.
func (p *Process) Unseen(text string) {
	c := C.CString(text)
	defer C.free(unsafe.Pointer(c))
	C.moriens_process_unseen(p.file, c)
}

// ThreadFailed counts a thread that could get no ring, and calls that it made.
func (p *Process) ThreadFailed(errno syscall.Errno, calls int) {
	h := p.header()
	atomic.AddUint32(&h.Threads, 1)
	atomic.AddUint32(&h.Threads_failed, 1)
	atomic.StoreUint32(&h.Fault, uint32(errno))
	atomic.AddUint64(&h.Unrecorded, uint64(calls))
}

func (p *Process) header() *shmabi.Process {
	return (*shmabi.Process)(unsafe.Pointer(p.file.header))
}

// Finalize does what the shim does when MPI_Finalize has returned: it closes the rings, wakes their reader and says so.
func (p *Process) Finalize() {
	for _, r := range p.rings {
		r.Close()
	}
	C.moriens_os_ring(p.bell)
	C.moriens_process_set_state(p.file, C.MORIENS_PROCESS_FINALIZED)
}

// Abort does what the shim does before MPI_Abort.
func (p *Process) Abort() {
	C.moriens_process_set_state(p.file, C.MORIENS_PROCESS_ABORTED)
}

// Exit ends the process, in whatever state it is: its lock is released. Neither it nor its rings may
// be used afterwards.
func (p *Process) Exit() {
	for _, r := range p.rings {
		C.moriens_ring_unmap(r.writer)
		C.free(unsafe.Pointer(r.writer))
	}
	p.rings = nil
	C.moriens_os_unmap(unsafe.Pointer(p.file.header), p.file.file.bytes)
	C.moriens_os_close(p.directory)
	C.moriens_os_unmap(p.paths.memory, p.paths.memory_bytes)
	C.free(unsafe.Pointer(p.paths))
	C.free(unsafe.Pointer(p.file))
	C.free(unsafe.Pointer(p.bell))
	C.free(unsafe.Pointer(p.dir))
}

// Ring writes one thread's ring.
type Ring struct {
	id     uint64
	name   string
	writer *C.struct_moriens_writer
}

// Thread creates the ring of the process's next thread, which does not grow. slots must be a power of two.
func (p *Process) Thread(slots int) (*Ring, error) { return p.GrowingThread(slots, 1) }

// GrowingThread is Thread for a ring that has room for so many areas, each twice as large as the one before it up to
// the fourth.
func (p *Process) GrowingThread(slots, areas int) (*Ring, error) {
	thread := atomic.AddUint32(&p.header().Threads, 1) - 1
	r := &Ring{
		id:     uint64(C.moriens_os_random()),
		name:   fmt.Sprintf("%016x.%d.ring", p.id, thread),
		writer: (*C.struct_moriens_writer)(C.calloc(1, C.sizeof_struct_moriens_writer)),
	}
	name := C.CString(r.name)
	defer C.free(unsafe.Pointer(name))
	var file C.struct_moriens_file
	plan := C.struct_moriens_ring_plan{slots: C.uint32_t(slots), largest: C.uint32_t(8 * slots), areas: C.uint32_t(areas)}
	if errno := C.moriens_os_create(p.directory, name, C.moriens_ring_first_bytes(plan.slots), C.moriens_ring_bytes(plan), &file); errno != 0 {
		return nil, fmt.Errorf("ringwriter: %w", syscall.Errno(errno))
	}
	identity := C.struct_moriens_ring_identity{
		ring:    C.uint64_t(r.id),
		process: C.uint64_t(p.id),
		thread:  C.uint32_t(thread),
		tid:     C.moriens_os_tid(),
		bell:    p.bell,

		directory: p.dir,
	}
	C.moriens_ring_format(r.writer, file.memory, plan, &identity)
	C.moriens_os_close(file.fd)
	if errno := C.moriens_os_publish(p.directory, name, &file); errno != 0 {
		return nil, fmt.Errorf("ringwriter: %w", syscall.Errno(errno))
	}
	p.rings = append(p.rings, r)
	return r, nil
}

// ID is the ring's random number.
func (r *Ring) ID() uint64 { return r.id }

// FileName is the name of the ring's file in its directory.
func (r *Ring) FileName() string { return r.name }

// Enter opens a record, at ticks, with the counts of the process's events in the burst before it, if any;
// false means that the ring had no room and the record was dropped.
func (r *Ring) Enter(call mpicall.ID, path uint32, ticks uint64, counts ...int64) bool {
	values := make([]C.int64_t, 0, len(counts))
	for _, v := range counts {
		values = append(values, C.int64_t(v))
	}
	return bool(C.ring_enter(r.writer, C.uint64_t(ticks), C.uint16_t(call), C.uint32_t(path), unsafe.SliceData(values), C.uint32_t(len(counts))))
}

// Commit says that the open record, to which slots were added since Enter, has all that is known at the entry.
func (r *Ring) Commit() { C.ring_commit(r.writer) }

// Exit publishes the record that is open.
func (r *Ring) Exit(ticks uint64) {
	C.ring_exit(r.writer, C.uint64_t(ticks))
}

// Call writes a whole record; false means that it was dropped.
func (r *Ring) Call(call mpicall.ID, path uint32, enter, exit uint64, counts ...int64) bool {
	if !r.Enter(call, path, enter, counts...) {
		return false
	}
	r.Exit(exit)
	return true
}

// Return says that the call of the open record has returned and was a poll that found nothing: the record is kept open
// for more of them.
func (r *Ring) Return(ticks uint64) { C.ring_return(r.writer, C.uint64_t(ticks)) }

// Poll enters one more poll of the run that is open; false means that there is no room to count it.
func (r *Ring) Poll(call mpicall.ID, path uint32, ticks uint64) bool {
	return bool(C.ring_poll(r.writer, C.uint64_t(ticks), C.uint16_t(call), C.uint32_t(path)))
}

// Polled says that it has returned and found nothing.
func (r *Ring) Polled(ticks uint64) { C.ring_polled(r.writer, C.uint64_t(ticks)) }

// Publish publishes the run that is open.
func (r *Ring) Publish() { C.ring_publish(r.writer) }

// Mark writes a mark of one of shmabi's kinds.
func (r *Ring) Mark(what uint16, name uint32, ticks uint64, value int64) {
	C.ring_mark(r.writer, C.uint64_t(ticks), C.uint16_t(what), C.uint32_t(name), C.int64_t(value))
}

// CountedMark writes a mark with what the burst has counted until then.
func (r *Ring) CountedMark(what uint16, name uint32, ticks uint64, counts ...int64) {
	values := make([]C.int64_t, 0, len(counts))
	for _, v := range counts {
		values = append(values, C.int64_t(v))
	}
	C.ring_mark_counted(r.writer, C.uint64_t(ticks), C.uint16_t(what), C.uint32_t(name), unsafe.SliceData(values), C.uint32_t(len(counts)))
}

// Segments is how many segments the ring has had, and Area which of its areas is in use.
func (r *Ring) Segments() int { return int(r.writer.segments) }

// Area is described with Segments.
func (r *Ring) Area() int { return int(r.writer.area) }

// Free is how many slots of the area in use the reader has given back, or were never used.
func (r *Ring) Free() int { return int(C.ring_free(r.writer)) }

// Skip counts a call that is not recorded because recording is paused.
func (r *Ring) Skip() { C.moriens_ring_skip(r.writer) }

// Drop gives up the record that is open.
func (r *Ring) Drop() { C.moriens_ring_drop(r.writer) }

// Close says that the ring's thread has ended.
func (r *Ring) Close() {
	C.moriens_ring_set_state(r.writer, C.MORIENS_RING_CLOSED)
}

// Fault leaves the file by which the shim says that a rank of so many could not record at all.
func Fault(dir string, rank, size, pid int, errno syscall.Errno) error {
	path := C.CString(dir)
	defer C.free(unsafe.Pointer(path))
	var directory C.int
	if e := C.moriens_os_open_directory(path, &directory); e != 0 {
		return fmt.Errorf("ringwriter: %s: %w", dir, syscall.Errno(e))
	}
	defer C.moriens_os_close(directory)
	if e := C.moriens_process_fault(directory, C.int32_t(rank), C.int32_t(size), C.uint32_t(pid), C.int(errno)); e != 0 {
		return fmt.Errorf("ringwriter: fault of rank %d: %w", rank, syscall.Errno(e))
	}
	return nil
}

// Fold folds the recursion of a chain of return addresses, as the library does; 0 marks what was left out.
func Fold(chain []uint64) []uint64 {
	c := make([]C.uintptr_t, len(chain)+1)
	for i, address := range chain {
		c[i] = C.uintptr_t(address)
	}
	folded := make([]uint64, C.moriens_paths_fold(&c[0], C.uint32_t(len(chain))))
	for i := range folded {
		folded[i] = uint64(c[i])
	}
	return folded
}

// PathOfPlaces gives the number of a path of places, innermost first, which is defined where it is new, with as many of
// them as there is room for; 0: there is none.
func (p *Process) PathOfPlaces(places ...uint32) uint32 {
	c := make([]C.uint32_t, len(places)+1)
	for i, place := range places {
		c[i] = C.uint32_t(place)
	}
	return uint32(C.moriens_paths_of_places(p.paths, &c[0], C.uint32_t(len(places))))
}
