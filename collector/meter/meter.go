// Package meter measures the efficiency of a job while it runs.
//
// In come, each second, the calls that have reached the store since the last time, and where agents say that threads
// are. Out come the factors of analysis/efficiency so far and of the last minute, and which rank has been in one MPI
// call for longest. Times are ns since the epoch by each node's own clock: only the end of the run aligns clocks.
//
// Nothing is done when a message arrives. A thread's calls are added once, from the store's chunks, up to the latest
// time that all threads have reported of. Of several collectors each adds up its own threads, up to a time that the
// first one says, and sends it sums of its nodes.
package meter

import (
	"cmp"
	"math"
	"slices"
	"sync"
	"time"

	"moriens/analysis/efficiency"
	"moriens/collector/store"
	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
)

// never is a time that is not known.
const never = math.MaxInt64

// initWithin is among how many first calls of a thread MPI_Init is looked for.
const initWithin = 64

// A Store holds a run: store.Store is one.
type Store interface {
	Standings() []store.StandingView
	Function(path uint32) string
}

// A Meter measures the threads of one store.
type Meter struct {
	store Store

	mu        sync.Mutex
	finished  bool
	functions map[uint32]string // by call path
	locations map[*store.Ring]*location
	views     []store.StandingView // of the latest look
	stretch   Stretch              // of the tracks
	reader    store.Reader
}

// A location is a thread that called MPI.
type location struct {
	track    efficiency.Track
	chunks   int       // that are added,
	row      int       // and so many rows of the next,
	noBurst  int       // and of its rows without a burst
	opened   bool      // the next has begun to be added:
	whole    bool      // none of it was before what is added, so that
	before   [2]uint64 // computing and MPI that was added before it tell what is left of it
	at       uint64
	looked   bool   // for MPI_Init
	tracked  bool   // the track has begun
	initExit uint64 // 0: it is not there
	first    uint64

	begun store.Sums   // where its sums begin, and the latest that are added
	sums  []store.Sums // that are not added whole
}

// New returns a meter, which reads a store when it is asked to.
func New(s Store) *Meter {
	return &Meter{store: s, functions: make(map[uint32]string), locations: make(map[*store.Ring]*location)}
}

// Finish ends the use of the store: the end of the run takes the calls out of it.
func (m *Meter) Finish() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.finished, m.views = true, nil
}

// A Report is what the threads of a collector have reported of.
type Report struct {
	Worlds    []World // by name
	Locations int
	UntilNS   int64 // all that are alive have reported of the time until then; never: none is alive
	LatestNS  int64 // and the latest that any has reported of
	Slowest   Rank  // that has reported of the least
	Waiting   *Waiting
}

// A World is when a world of ranks was in its stretch main, as far as is known.
type World struct {
	Name    string
	FirstNS int64 // its first call
	BeginNS int64 // the latest exit of MPI_Init; never: none is known
	EndNS   int64 // the earliest entry of MPI_Finalize; never: none is known
}

// A Rank is one of a world.
type Rank struct {
	World string
	Rank  int
}

// A Waiting is a rank inside a call.
type Waiting struct {
	Rank
	Call    string
	Place   string // where it is made, as file:line; empty = not known
	Seconds float64
}

// Longer is the one of two that waits for longer; but who is in MPI_Finalize waits for the others, so that another call
// says more. Each may be nil.
func (w *Waiting) Longer(o *Waiting) *Waiting {
	finalizes := func(w *Waiting) bool { return w.Call == mpicall.Finalize.String() }
	switch {
	case w == nil:
		return o
	case o == nil:
		return w
	case finalizes(w) != finalizes(o):
		if finalizes(w) {
			return o
		}
		return w
	case o.Seconds > w.Seconds:
		return o
	}
	return w
}

// Look finds out what the threads have reported of at this moment.
func (m *Meter) Look(now time.Time) Report {
	m.mu.Lock()
	defer m.mu.Unlock()
	t := Report{UntilNS: never, LatestNS: math.MinInt64}
	if m.finished {
		return t
	}
	m.views = m.store.Standings()
	worlds := make(map[string]*World)
	for i := range m.views {
		v := &m.views[i]
		if v.NSPerTick == 0 {
			continue // without two clock samples a tick has no length yet
		}
		l := m.location(v)
		l.take(v)
		t.Waiting = t.Waiting.Longer(waiting(v, now))
		last, known := l.last(v)
		if !known {
			continue
		}
		t.Locations++
		m.lookAt(l, v, worlds)
		until := lineOf(v).At(last)
		t.LatestNS = max(t.LatestNS, until)
		if !v.Ended && until < t.UntilNS {
			t.UntilNS, t.Slowest = until, Rank{v.World, int(v.Ring.Process.Info.Rank)}
		}
	}
	for _, w := range worlds {
		t.Worlds = append(t.Worlds, *w)
	}
	slices.SortFunc(t.Worlds, func(a, b World) int { return cmp.Compare(a.Name, b.Name) })
	return t
}

func (m *Meter) location(v *store.StandingView) *location {
	l := m.locations[v.Ring]
	if l == nil {
		l = new(location)
		m.locations[v.Ring] = l
	}
	return l
}

func lineOf(v *store.StandingView) efficiency.Line {
	return efficiency.Line{Ticks: v.FirstTicks, NS: v.FirstNS, NSPerTick: v.NSPerTick}
}

// mostSums is how many sums of a thread wait to be added.
const mostSums = 64

// take takes the sums of a thread whose calls are kept on its node.
func (l *location) take(v *store.StandingView) {
	for _, x := range v.Sums {
		if n := len(l.sums); n > 0 && x.Until < l.sums[n-1].Until || x.Until < l.begun.Until {
			continue // of an earlier stream
		}
		// Where no time passes that all have reported of, the latest stand for those before.
		if n := len(l.sums); n >= mostSums && l.sums[n-1].Begin == x.Begin {
			l.sums[n-1] = x
			continue
		}
		l.sums = append(l.sums, x)
	}
}

// holds reports whether what the agent has said last of where the thread is holds after all that has arrived.
func holds(v *store.StandingView, last uint64) bool {
	s := &v.Standing
	return !s.At.IsZero() && !v.Ended && (v.OnNode || s.Rows == v.Calls) && s.Ticks >= last
}

// last is the latest tick of which the thread has reported; false where it has reported nothing.
func (l *location) last(v *store.StandingView) (ticks uint64, known bool) {
	if v.OnNode {
		latest := l.begun
		if n := len(l.sums); n > 0 {
			latest = l.sums[n-1]
		}
		if ticks = latest.Until; ticks == 0 {
			return 0, false
		}
	} else if ticks = v.Last; v.Calls == 0 {
		return 0, false
	}
	if holds(v, ticks) {
		ticks = v.Standing.Ticks
	}
	return ticks, true
}

// lookAt finds what a thread says of when its world is in main.
func (m *Meter) lookAt(l *location, v *store.StandingView, worlds map[string]*World) {
	if !l.looked {
		l.looked = true
		m.findInit(l, v)
	}
	w := worlds[v.World]
	if w == nil {
		w = &World{Name: v.World, FirstNS: never, BeginNS: never, EndNS: never}
		worlds[v.World] = w
	}
	line := lineOf(v)
	w.FirstNS = min(w.FirstNS, line.At(l.first))
	if l.initExit > 0 && (w.BeginNS == never || line.At(l.initExit) > w.BeginNS) {
		w.BeginNS = line.At(l.initExit)
	}
	if enter, closes := m.finalizes(v); closes {
		w.EndNS = min(w.EndNS, line.At(enter))
	}
}

// findInit finds the first MPI_Init of a thread.
func (m *Meter) findInit(l *location, v *store.StandingView) {
	if v.OnNode {
		l.first = l.sums[0].Begin
		if v.Ring.Info.Thread == 0 {
			l.initExit = l.first
		}
		return
	}
	l.first = v.Chunks[0].Origin
	at, x := l.first, m.reader.Ticks(&v.Chunks[0])
	for row, path := range x.Path[:min(initWithin, len(x.Path))] {
		at += x.Burst[row] + x.Call[row]
		if f := m.function(path); f == mpicall.Init.String() || f == mpicall.InitThread.String() {
			l.initExit = at
			return
		}
	}
}

// finalizes returns when a thread has entered MPI_Finalize, if it has.
func (m *Meter) finalizes(v *store.StandingView) (enter uint64, does bool) {
	if s := &v.Standing; s.Call == mpicall.Finalize && (v.OnNode || holds(v, v.Last)) {
		return s.Enter, true
	}
	if len(v.Chunks) == 0 {
		return 0, false
	}
	c := &v.Chunks[len(v.Chunks)-1]
	if m.function(c.LastPath) != mpicall.Finalize.String() {
		return 0, false
	}
	return v.Last - c.LastCall, true
}

func (m *Meter) function(path uint32) string {
	f, known := m.functions[path]
	if !known {
		f = m.store.Function(path)
		m.functions[path] = f
	}
	return f
}

// waiting is the call that a thread is in, as far as is known. It is as long as the agent has seen it, and has said no
// other: the job may hang, and the agent with it.
func waiting(v *store.StandingView, now time.Time) *Waiting {
	s := &v.Standing
	if s.State != moriensv1.Standing_STATE_INSIDE || s.Enter == 0 || s.Ticks < s.Enter || !holds(v, v.Last) || v.Ring.Process.End != nil {
		return nil
	}
	seconds := float64(s.Ticks-s.Enter)*v.NSPerTick/1e9 + max(0, now.Sub(s.At).Seconds())
	return &Waiting{Rank{v.World, int(v.Ring.Process.Info.Rank)}, s.Call.String(), s.Place, seconds}
}
