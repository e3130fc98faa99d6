package agent

import (
	"context"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"time"

	"moriens/agent/ring"
	"moriens/agent/symbol"
	"moriens/internal/mpicall"
	"moriens/internal/section"
	moriensv1 "moriens/proto/moriens/v1"
)

const (
	// standEvery is the time between two reports of where the threads are. Each entry has some 40 bytes, 60 with sums.
	standEvery = time.Second
	// placeAfter is for how long a thread must have been in a call for the line of that call to be looked up while the job
	// runs: as long as it takes until somebody is shown it. Reading the debugging information of a large program takes
	// seconds, and one who waits so long has them.
	placeAfter = 10 * time.Second
	// initWithin is among how many first rows of a thread MPI_Init is looked for.
	initWithin = 64
)

// standing is the report of where the threads are.
type standing struct {
	next   time.Time
	places placer
}

// stands is where a thread was at the latest look.
type stands struct {
	rows  uint64    // of it
	enter uint64    // of the call that it was in; 0: none
	since time.Time // when it was seen there first
}

// site remembers where the calls of a path are made.
func (a *Process) site(p ring.Path) {
	if len(p.Frames) > 0 && p.Frames[0].Place == 0 {
		a.sites[p.ID] = p.Frames[0]
	}
}

// stand reports to the collector where the threads are that have read nothing since the last time; of an agent that
// keeps calls on its node all of them, with sums.
func (n *Node) stand(now time.Time) {
	if now.Before(n.standing.next) {
		return
	}
	n.standing.next = now.Add(standEvery)
	m := &moriensv1.Standing{}
	var longest struct {
		process *Process
		thread  *thread
		path    uint32
	}
	for _, a := range n.agents {
		if a.out.ended || a.ended {
			continue
		}
		for _, t := range a.threads {
			quiet := t.stands.rows == t.former.Calls()
			t.stands.rows = t.former.Calls()
			if !quiet && n.config.Cells == nil {
				continue
			}
			in, state, ticks := n.lookAt(a, t)
			if ticks == 0 {
				continue
			}
			if in.Enter == 0 || in.Exit > 0 {
				t.stands.since = time.Time{}
			} else if t.stands.since.IsZero() || t.stands.enter != in.Enter {
				t.stands.since, t.stands.enter = now, in.Enter
			}
			if since := t.stands.since; !since.IsZero() && now.Sub(since) >= placeAfter && (longest.thread == nil || since.Before(longest.thread.stands.since)) {
				longest.process, longest.thread, longest.path = a, t, in.Path
			}
			m.Ring, m.Rows, m.Ticks, m.State = append(m.Ring, t.reader.ID), append(m.Rows, t.former.Calls()), append(m.Ticks, ticks), append(m.State, state)
			m.Enter, m.Exit = append(m.Enter, in.Enter), append(m.Exit, in.Exit)
			m.Function, m.Path = append(m.Function, uint32(in.Call)), append(m.Path, in.Path)
			if n.config.Cells != nil {
				s := &t.sums
				m.Begin, m.Until, m.Computing, m.Mpi = append(m.Begin, s.begin), append(m.Until, s.until), append(m.Computing, s.computing), append(m.Mpi, s.mpi)
			}
		}
	}
	if t := longest.thread; t != nil {
		m.Longest, m.Place = t.reader.ID, n.standing.places.of(longest.process, longest.path)
	}
	n.up.ReportStanding(m)
}

// lookAt is where a thread is, and when that was; 0: it is about to be read.
func (n *Node) lookAt(a *Process, t *thread) (in ring.Inside, state moriensv1.Standing_State, ticks uint64) {
	if t.corrupt != nil {
		return in, state, 0
	}
	now, err := n.config.Clocks.Now(a.process.Clock) // before the look: what begins in between is no part of it
	if err != nil {
		return in, state, 0
	}
	quiet, missed := false, uint64(0)
	t.guard(func() {
		in, quiet = t.reader.Inside()
		missed = t.reader.Missed()
	})
	switch {
	case t.corrupt != nil || in.Enter > now+clockSlack || in.Exit > now+clockSlack || in.Enter > 0 && !in.Call.Known():
		return ring.Inside{}, state, 0
	case !quiet && n.config.Cells == nil:
		return in, state, 0
	case t.finalized && n.config.Cells != nil: // main is over for it
		return ring.Inside{Enter: t.sums.until, Call: mpicall.Finalize}, moriensv1.Standing_STATE_INSIDE, now
	case !quiet: // with the sums alone
		return ring.Inside{}, moriensv1.Standing_STATE_UNSPECIFIED, max(1, t.sums.until)
	case missed != t.covered:
		return ring.Inside{}, moriensv1.Standing_STATE_UNSPECIFIED, now
	}
	if in.Path != 0 && !a.log.paths[in.Path] {
		a.out.begin()
		n.define(a)
		if !a.log.paths[in.Path] {
			in.Path = 0
		}
	}
	state = moriensv1.Standing_STATE_OUTSIDE
	if in.Enter > 0 && in.Exit == 0 {
		state = moriensv1.Standing_STATE_INSIDE
	}
	return in, state, now
}

// sums are what a thread did since the exit of MPI_Init, or its first row, in ticks.
type sums struct {
	begin, until, computing, mpi uint64
	rows                         int // the first initWithin
	closed                       bool
}

// add adds the rows of a block from one on. MPI_Finalize is no part of main.
func (s *sums) add(b *section.Block, from int) {
	if from == b.Rows || s.closed {
		return
	}
	if s.until == 0 {
		s.begin, s.until = b.Origin, b.Origin
	}
	at, _ := slices.BinarySearch(b.NoBurst, uint32(from))
	noBurst := b.NoBurst[at:]
	for row := from; row < b.Rows; row++ {
		s.until += b.Burst[row]
		if len(noBurst) > 0 && int(noBurst[0]) == row {
			noBurst = noBurst[1:]
		} else {
			s.computing += b.Burst[row]
		}
		call := mpicall.ID(b.Sites[b.Site[row]].Function)
		if call == mpicall.Finalize {
			s.closed = true
			return
		}
		s.until += b.Call[row]
		s.mpi += b.Call[row]
		if s.rows < initWithin {
			s.rows++
			if call == mpicall.Init || call == mpicall.InitThread {
				s.begin, s.computing, s.mpi = s.until, 0, 0
			}
		}
	}
}

// A placer looks up where calls are made, one at a time, beside the agent's work.
type placer struct {
	mu    sync.Mutex
	busy  bool
	known map[placeKey]string
}

type placeKey struct {
	module, buildID string
	offset          uint64
}

// of is where a path's calls are made, as file:line; empty: it is not known, or not yet.
func (p *placer) of(a *Process, path uint32) string {
	frame, known := a.sites[path]
	m := a.modules[frame.Module]
	if !known || m.Path == "" {
		return ""
	}
	key := placeKey{m.Path, string(m.BuildID), frame.Offset}
	p.mu.Lock()
	defer p.mu.Unlock()
	if place, known := p.known[key]; known || p.busy {
		return place
	}
	p.busy = true
	go func() {
		place := find(key)
		p.mu.Lock()
		defer p.mu.Unlock()
		if p.known == nil {
			p.known = make(map[placeKey]string)
		}
		p.known[key], p.busy = place, false
	}()
	return ""
}

func find(key placeKey) string {
	ctx, cancel := context.WithTimeout(context.Background(), resolveGrace)
	defer cancel()
	m := symbol.Open(key.module, []byte(key.buildID))
	defer m.Close()
	place := m.Resolve(ctx, []uint64{key.offset})[0]
	switch {
	case place.File == "":
		return place.Function
	case place.Line == 0:
		return filepath.Base(place.File)
	}
	return filepath.Base(place.File) + ":" + strconv.Itoa(place.Line)
}
