package ring

import (
	"bytes"
	"fmt"
	"strings"
	"sync/atomic"
	"syscall"
	"unsafe"

	"moriens/internal/shmabi"
)

// Identity is who a process is. It never changes. Texts are valid UTF-8.
type Identity struct {
	ID         uint64 // random
	Rank       int    // in MPI_COMM_WORLD
	Size       int
	PID        int    // for people
	Clock      uint32 // what its ticks are: shmabi.ClockTSC, …
	World      string // the launcher's name for the world; empty if it gives none
	Parent     string // host/pid/start time of the parent process
	Host       string
	Executable string
	Library    string   // first line of MPI_Get_library_version
	Events     []string // that are counted, in the order of Record.Counts
	// Unavailable are the events that are not counted though they were asked for, each as "name: reason" or "name".
	Unavailable []string
}

// State is how far a process has got.
type State uint32

const (
	Setup     State = shmabi.ProcessSetup
	Running   State = shmabi.ProcessRunning
	Finalized State = shmabi.ProcessFinalized // MPI_Finalize has returned
	Aborted   State = shmabi.ProcessAborted   // it has called MPI_Abort
)

// Losses is what a process could not record, besides what its rings dropped.
type Losses struct {
	Threads       int           // that have, or should have had, a ring
	ThreadsFailed int           // of these, those for which no ring could be made
	Fault         syscall.Errno // why, for the latest of them
	Unrecorded    uint64        // calls of threads without a ring
	PathsLost     uint64        // call paths that the log had no room for
	NamesLost     uint64        // marks whose name it had none for
	CommsLost     uint64        // communicators, windows and files that it had none for
}

// What a process can count at most, whatever it does: more is damage.
const (
	maxThreads = 1 << 20
	maxErrno   = 4095
	// MaxCount is that of calls, and of what belongs to calls: at a hundred million in a second it takes a month.
	MaxCount = 1 << 48
)

// maxProcessBytes bounds what a process file may ask us to map.
const maxProcessBytes = 1 << 30

// Process reads one process file. One goroutine at a time may use it.
type Process struct {
	Identity

	name   string
	m      *mapping
	header *shmabi.Process
	log    []byte
	read   uint64 // bytes of the log that were decoded
	torn   bool   // the file is not all there any more
	err    error  // nothing more of the log can be decoded
}

// OpenProcess maps the process file at path. It keeps the file open until Close, for Alive.
func OpenProcess(path string) (*Process, error) {
	m, err := mapFile(path, maxProcessBytes, 0, false)
	if err != nil {
		return nil, err
	}
	p := &Process{name: path, m: m, header: at[shmabi.Process](m, 0)}
	if err := p.check(); err != nil {
		m.close()
		return nil, err
	}
	return p, nil
}

func (p *Process) check() error {
	h := *p.header
	switch {
	case h.Magic != shmabi.ProcessMagic:
		return corrupt(p.name, "magic %#x", h.Magic)
	case h.Abi != shmabi.Version:
		return corrupt(p.name, "layout version %d, this agent reads %d", h.Abi, shmabi.Version)
	case h.Header_bytes != shmabi.HeaderBytes:
		return corrupt(p.name, "header of %d bytes", h.Header_bytes)
	case h.Log_bytes != uint64(len(p.m.data)-shmabi.HeaderBytes):
		return corrupt(p.name, "%d bytes for a log of %d", len(p.m.data), h.Log_bytes)
	case h.Rank < 0 || h.Size <= h.Rank:
		return corrupt(p.name, "rank %d of %d", h.Rank, h.Size)
	case h.Clock < shmabi.ClockTSC || h.Clock > shmabi.ClockMonotonicRaw:
		return corrupt(p.name, "clock %d", h.Clock)
	}
	p.log = p.m.data[shmabi.HeaderBytes:]
	p.Identity = Identity{
		ID:         h.Process,
		Rank:       int(h.Rank),
		Size:       int(h.Size),
		PID:        int(h.Pid),
		Clock:      h.Clock,
		World:      text(h.World[:]),
		Parent:     text(h.Parent[:]),
		Host:       text(h.Host[:]),
		Executable: text(h.Executable[:]),
		Library:    text(h.Mpi_library[:]),
	}
	p.Events = fields(text(h.Events[:]), ',')
	p.Unavailable = fields(text(h.Unavailable[:]), '\n')
	if len(p.Events) > shmabi.MaxEvents {
		return corrupt(p.name, "%d events", len(p.Events))
	}
	return nil
}

// fields is nil where there are none.
func fields(text string, separator rune) []string {
	list := strings.FieldsFunc(text, func(r rune) bool { return r == separator })
	if len(list) == 0 {
		return nil
	}
	return list
}

// text is what stands before the first NUL.
func text(chars []int8) string {
	raw := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(chars))), len(chars))
	if end := bytes.IndexByte(raw, 0); end >= 0 {
		raw = raw[:end]
	}
	return strings.ToValidUTF8(string(raw), "\uFFFD")
}

// guard calls look, which reads the file, unless it is not all there any more.
func (p *Process) guard(look func()) {
	if p.torn {
		return
	}
	if err := Guard(look); err != nil {
		p.torn, p.err = true, fmt.Errorf("%s: %w", p.name, err)
	}
}

// Err is what is wrong with the file, as far as it was read; it wraps ErrCorrupt.
func (p *Process) Err() error { return p.err }

// State is how far the process has got.
func (p *Process) State() (s State) {
	p.guard(func() { s = State(atomic.LoadUint32(&p.header.State)) })
	return s
}

// Over reports whether MPI has ended for good: the process may live on, and nothing more will arrive from it. The same
// holds where its file was truncated.
func (p *Process) Over() bool {
	over := true
	p.guard(func() { over = atomic.LoadUint32(&p.header.Over) != 0 })
	return over
}

// Threads is how many threads have, or will have at once, a ring. Where the number is damaged none is expected.
func (p *Process) Threads() (threads int) {
	p.guard(func() {
		// In this order: a thread is counted before it is known to have failed.
		failed := atomic.LoadUint32(&p.header.Threads_failed)
		if all := atomic.LoadUint32(&p.header.Threads); failed <= all && all <= maxThreads {
			threads = int(all - failed)
		}
	})
	return threads
}

// Losses is what could not be recorded so far. Of figures that cannot be true, which Damaged names, it has 0.
func (p *Process) Losses() Losses {
	l, _ := p.losses()
	return l
}

// Damaged says how many figures of Losses cannot be true, and which; it wraps ErrCorrupt.
func (p *Process) Damaged() (figures int, err error) {
	_, wrong := p.losses()
	if len(wrong) > 0 {
		err = corrupt(p.name, "counts that are not what it lost: %s", strings.Join(wrong, ", "))
	}
	return len(wrong), err
}

func (p *Process) losses() (l Losses, wrong []string) {
	sound := func(name string, value, limit uint64) uint64 {
		if value <= limit {
			return value
		}
		wrong = append(wrong, fmt.Sprintf("%s is %d", name, value))
		return 0
	}
	p.guard(func() {
		h := p.header
		failed := uint64(atomic.LoadUint32(&h.Threads_failed)) // first, as for Threads
		threads := sound("the number of threads", uint64(atomic.LoadUint32(&h.Threads)), maxThreads)
		l = Losses{
			Threads:       int(threads),
			ThreadsFailed: int(sound("that of threads without a ring", failed, threads)),
			Fault:         syscall.Errno(sound("the reason of that", uint64(atomic.LoadUint32(&h.Fault)), maxErrno)),
			Unrecorded:    sound("the number of calls of such threads", atomic.LoadUint64(&h.Unrecorded), MaxCount),
			PathsLost:     sound("that of call paths without room", atomic.LoadUint64(&h.Paths_lost), MaxCount),
			NamesLost:     sound("that of marks whose name had none", atomic.LoadUint64(&h.Names_lost), MaxCount),
			CommsLost:     sound("that of communicators without room", atomic.LoadUint64(&h.Comms_lost), MaxCount),
		}
	})
	return l, wrong
}

// Alive reports whether the process still runs: whether the lock on its file is held.
func (p *Process) Alive() (bool, error) {
	alive, err := locked(p.m.file)
	if err != nil {
		return false, fmt.Errorf("ring: lock of %s: %w", p.name, err)
	}
	return alive, nil
}

// Close unmaps the file and keeps it.
func (p *Process) Close() error {
	if err := p.m.close(); err != nil {
		return fmt.Errorf("ring: %s: %w", p.name, err)
	}
	return nil
}
