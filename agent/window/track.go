package window

import (
	"cmp"
	"math"
	"slices"
	"time"

	"moriens/internal/anchor"
	moriensv1 "moriens/proto/moriens/v1"
)

// A process is one MPI process, with where its splitting into windows stands.
type process struct {
	id      uint64
	size    int32
	clock   moriensv1.Clock
	anchors anchors   // of the communicators of all ranks
	window  anchor.ID // now
	since   uint64    // ticks when it began
	began   bool      // since is known
	whole   uint64    // ticks for which no window is cut by time; 0: that is not known
	lost    anchor.ID // up to which nothing is left
	out     bool      // there is such a window
	usual   usual
	rings   []*ring
	paths   map[uint32]bool // that are defined, where all detail is kept
}

// anchors are how many each communicator of all ranks has had, by the process's own number. They are few.
type anchors struct {
	comms  []uint32
	counts []uint64
	total  uint64
}

// has reports whether a communicator is one of all ranks.
func (a *anchors) has(comm uint32) bool { return slices.Contains(a.comms, comm) }

// add adds a communicator.
func (a *anchors) add(comm uint32) { a.comms, a.counts = append(a.comms, comm), append(a.counts, 0) }

// count says that a communicator has had so many, or more.
func (a *anchors) count(comm uint32, n uint64) {
	i := slices.Index(a.comms, comm)
	if i < 0 {
		i = len(a.comms)
		a.add(comm)
	}
	if n > a.counts[i] {
		a.total += n - a.counts[i]
		a.counts[i] = n
	}
}

// A ring is one of its threads.
type ring struct {
	id       uint64
	process  *process
	rows     uint64 // so far
	edges    []edge // where its windows begin, ascending
	noted    noted
	sequence sequence // of the window so far
	ended    bool     // known where all detail is kept
}

// An edge is the row at which a window begins. Windows are few even in long runs, so all edges are kept: a receive that
// was posted hours ago belongs to its window.
type edge struct {
	row    uint64
	window anchor.ID
}

// A reading is what a clock showed beside the node's.
type reading struct {
	ticks uint64
	ns    int64
}

// define takes what describes the processes. It reports whether a later run of the agent needs it.
func (s *Store) define(m *moriensv1.ReportRequest) bool {
	switch b := m.Body.(type) {
	case *moriensv1.ReportRequest_Process:
		p := b.Process
		if s.processes[p.Process] != nil {
			return false
		}
		s.processes[p.Process] = &process{id: p.Process, size: p.Size, clock: p.Clock}
	case *moriensv1.ReportRequest_Ring:
		p := s.processes[b.Ring.Process]
		if p == nil || s.rings[b.Ring.Ring] != nil {
			return false
		}
		r := &ring{id: b.Ring.Ring, process: p}
		s.rings[r.id] = r
		p.rings = append(p.rings, r)
	case *moriensv1.ReportRequest_Communicator:
		c := b.Communicator
		if s.communicators[c.Communicator] != nil || !anchor.OfAllRanks(c, int64(c.Size)) {
			return false
		}
		s.communicators[c.Communicator] = c
	case *moriensv1.ReportRequest_Member:
		p, c := s.processes[b.Member.Process], s.communicators[b.Member.Communicator]
		if p == nil || c == nil || !anchor.OfAllRanks(c, int64(p.size)) {
			return false
		}
		if p.anchors.has(b.Member.Comm) {
			return false
		}
		p.anchors.add(b.Member.Comm)
	case *moriensv1.ReportRequest_ClockSample:
		c := b.ClockSample
		list := append(s.clocks[c.Clock], reading{c.Ticks, c.MonotonicNs})
		if len(list) > 2 {
			list = []reading{list[0], list[2]}
		}
		s.clocks[c.Clock] = list
		return true
	default:
		return s.config.Whole && s.defineWhole(m)
	}
	s.definitions = append(s.definitions, m)
	return true
}

// duration turns ticks of a clock into time; 0 as long as its rate is not known.
func (s *Store) duration(clock moriensv1.Clock, ticks uint64) time.Duration {
	if clock == moriensv1.Clock_CLOCK_MONOTONIC_RAW {
		return time.Duration(min(ticks, math.MaxInt64))
	}
	list := s.clocks[clock]
	if len(list) < 2 || list[1].ticks <= list[0].ticks || list[1].ns <= list[0].ns {
		return 0
	}
	ns := float64(ticks) * float64(list[1].ns-list[0].ns) / float64(list[1].ticks-list[0].ticks)
	return time.Duration(min(ns, 1<<62))
}

// measure finds out for how long no window of a process is cut by time: nine tenths of a part's shortest length, in
// ticks, by what is known of its clock now.
func (s *Store) measure(p *process) {
	const probe = 1 << 40
	if took := s.duration(p.clock, probe); p.whole == 0 && took > 0 {
		p.whole = uint64(probe / float64(took) * float64(anchor.ShortestPart) * .9)
	}
}

// enter begins a part of the window where the last anchor is long ago, and returns the window of a call that begins
// now.
func (s *Store) enter(p *process, ticks uint64) anchor.ID {
	if p.began && (ticks <= p.since || ticks-p.since < p.whole) {
		return p.window
	}
	return s.enterPart(p, ticks)
}

func (s *Store) enterPart(p *process, ticks uint64) anchor.ID {
	if !p.began {
		p.since, p.began = ticks, true
	}
	if ticks > p.since && ticks-p.since >= p.whole {
		p.window = max(p.window, p.window.At(s.duration(p.clock, ticks-p.since)))
	}
	return p.window
}

// pass counts an anchor, which ended at a time. It reports whether a window has ended with it.
func (p *process) pass(comm uint32, ordinal, ticks uint64) bool {
	p.anchors.count(comm, ordinal+1)
	next := anchor.After(p.anchors.total)
	if next <= p.window {
		return false
	}
	p.window, p.since, p.began = next, ticks, true
	return true
}

// begin notes the window of the next row.
func (r *ring) begin(row uint64, w anchor.ID) {
	if n := len(r.edges); n == 0 || r.edges[n-1].window < w && r.edges[n-1].row < row {
		r.edges = append(r.edges, edge{row, w})
	}
}

// cut forgets the edges from a row on.
func (r *ring) cut(row uint64) {
	i, _ := slices.BinarySearchFunc(r.edges, row, func(e edge, row uint64) int { return cmp.Compare(e.row, row) })
	r.edges = r.edges[:i]
	r.noted.edges = min(r.noted.edges, i)
}

// stretch returns the window of a row, and the rows around it that are of that window: first ≤ row < behind.
func (r *ring) stretch(row uint64) (w anchor.ID, first, behind uint64) {
	i, found := slices.BinarySearchFunc(r.edges, row, func(e edge, row uint64) int { return cmp.Compare(e.row, row) })
	if found {
		i++
	}
	behind = math.MaxUint64
	if i < len(r.edges) {
		behind = r.edges[i].row
	}
	if i == 0 {
		return r.process.window, 0, behind
	}
	return r.edges[i-1].window, r.edges[i-1].row, behind
}

// find is where a window begins, in edges.
func (r *ring) find(w anchor.ID) (i int, found bool) {
	return slices.BinarySearchFunc(r.edges, w, func(e edge, w anchor.ID) int { return cmp.Compare(e.window, w) })
}

// rowsOf are the rows of a window: first ≤ row < behind.
func (r *ring) rowsOf(w anchor.ID) (first, behind uint64, any bool) {
	i, found := r.find(w)
	if !found {
		return 0, 0, false
	}
	behind = r.rows
	if i+1 < len(r.edges) {
		behind = r.edges[i+1].row
	}
	return r.edges[i].row, behind, true
}

// track writes down where a ring stands.
func (r *ring) track() *moriensv1.WindowTrack {
	p := r.process
	t := &moriensv1.WindowTrack{
		Process: p.id, Ring: r.id, Rows: r.rows, Window: uint64(p.window), SinceTicks: p.since,
	}
	t.Comm, t.Anchors = slices.Clone(p.anchors.comms), slices.Clone(p.anchors.counts)
	return t
}

// resume continues where a ring was.
func (s *Store) resume(t *moriensv1.WindowTrack) {
	r := s.rings[t.Ring]
	if r == nil {
		return
	}
	p := r.process
	r.rows = max(r.rows, t.Rows)
	if w := anchor.ID(t.Window); w >= p.window {
		p.window, p.since, p.began = w, t.SinceTicks, t.SinceTicks != 0
	}
	for i, comm := range t.Comm {
		if i < len(t.Anchors) {
			p.anchors.count(comm, t.Anchors[i])
		}
	}
	r.sequence.torn = true
	r.noted.track = t
}
