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
}

// A location is a thread that called MPI.
type location struct {
	track    efficiency.Track
	chunks   int // that are added,
	row      int // and so many rows of the next,
	noBurst  int // and of its rows without a burst
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

// take takes the sums of a thread whose calls are kept on its node.
func (l *location) take(v *store.StandingView) {
	for _, x := range v.Sums {
		if n := len(l.sums); n > 0 && x.Until < l.sums[n-1].Until || x.Until < l.begun.Until {
			continue // of an earlier stream
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
	at := l.first
	for row := range v.Chunks[0].Path[:min(initWithin, len(v.Chunks[0].Path))] {
		at += v.Chunks[0].Burst[row] + v.Chunks[0].Call[row]
		if f := m.function(v.Chunks[0].Path[row]); f == mpicall.Init.String() || f == mpicall.InitThread.String() {
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
	last := len(c.Path) - 1
	if m.function(c.Path[last]) != mpicall.Finalize.String() {
		return 0, false
	}
	return v.Last - c.Call[last], true
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

// A Stretch is a part of the run's time.
type Stretch struct{ BeginNS, UntilNS int64 }

// Agree is the stretch that the threads of all collectors have reported of: from the begin of main of the world that
// was first, to its end. before is the stretch agreed on before: it never becomes shorter. False: it has not begun.
func Agree(before Stretch, all ...Report) (s Stretch, ended, known bool) {
	worlds := make(map[string]*World)
	until, latest := int64(never), int64(math.MinInt64)
	for i := range all {
		until, latest = min(until, all[i].UntilNS), max(latest, all[i].LatestNS)
		for _, w := range all[i].Worlds {
			own := worlds[w.Name]
			if own == nil {
				worlds[w.Name] = &w
				continue
			}
			if w.BeginNS != never && (own.BeginNS == never || w.BeginNS > own.BeginNS) {
				own.BeginNS = w.BeginNS
			}
			own.FirstNS, own.EndNS = min(own.FirstNS, w.FirstNS), min(own.EndNS, w.EndNS)
		}
	}
	var first *World
	for _, w := range worlds {
		if first == nil || w.FirstNS < first.FirstNS || w.FirstNS == first.FirstNS && w.Name < first.Name {
			first = w
		}
	}
	if first == nil {
		return Stretch{}, false, false
	}
	s.BeginNS = first.BeginNS
	if s.BeginNS == never {
		s.BeginNS = first.FirstNS
	}
	if ended = until == never; ended {
		until = latest
	}
	if first.EndNS <= until {
		until, ended = first.EndNS, true
	}
	s.UntilNS = until
	if s.BeginNS == before.BeginNS && !ended {
		s.UntilNS = max(s.UntilNS, before.UntilNS)
	}
	return s, ended, s.UntilNS > s.BeginNS
}

// To adds up what the threads that were looked at did in a stretch.
func (m *Meter) To(s Stretch) *efficiency.Recent {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.finished {
		return nil
	}
	again := s.BeginNS != m.stretch.BeginNS || s.UntilNS < m.stretch.UntilNS
	m.stretch = s
	r := efficiency.NewRecent(s.BeginNS, s.UntilNS)
	for i := range m.views {
		v := &m.views[i]
		l := m.locations[v.Ring]
		if l == nil || !l.looked {
			continue
		}
		line := lineOf(v)
		if again || !l.tracked {
			l.restart(line, s.BeginNS)
		}
		l.track.Fit(line)
		l.to(v, line.TicksAt(s.UntilNS))
		r.Add(v.Node, &l.track)
	}
	return r
}

// restart has all that is still there added again.
func (l *location) restart(line efficiency.Line, beginNS int64) {
	l.track.Begin(line, beginNS)
	l.tracked, l.at = true, l.first
	l.chunks, l.row, l.noBurst = 0, 0, 0
	if l.begun.Until > 0 { // of what is added only the sum is left
		l.sums = slices.Insert(l.sums, 0, l.begun)
		l.begun = store.Sums{}
	}
}

// to adds what the thread did up to a tick.
func (l *location) to(v *store.StandingView, end uint64) {
	if v.OnNode {
		l.toSums(end)
	} else if !l.toCalls(v, end) {
		return
	}
	if !holds(v, l.at) {
		return
	}
	s := &v.Standing
	switch {
	case s.State == moriensv1.Standing_STATE_INSIDE && s.Enter >= l.at:
		l.track.Add(efficiency.Computing, l.at, min(s.Enter, s.Ticks, end))
		l.track.Add(efficiency.MPI, s.Enter, min(s.Ticks, end))
	case s.State == moriensv1.Standing_STATE_OUTSIDE:
		at := l.at
		if s.Enter >= at && s.Exit >= s.Enter {
			l.track.Add(efficiency.Computing, at, min(s.Enter, s.Ticks, end))
			l.track.Add(efficiency.MPI, s.Enter, min(s.Exit, s.Ticks, end))
			at = s.Exit
		}
		l.track.Add(efficiency.Computing, at, min(s.Ticks, end))
	}
}

// toCalls adds calls with the bursts before them, and reports whether all that have arrived are added.
func (l *location) toCalls(v *store.StandingView, end uint64) bool {
	for ; l.chunks < len(v.Chunks); l.chunks, l.row, l.noBurst = l.chunks+1, 0, 0 {
		c := &v.Chunks[l.chunks]
		if l.row == 0 {
			l.at = c.Origin
		}
		at, noBurst := l.at, c.NoBurst[l.noBurst:]
		row := l.row
		for ; row < len(c.Burst) && at < end; row++ {
			if from, room := l.track.Room(); at >= from {
				at, row, noBurst = l.sum(c, row, noBurst, at, min(room, end))
				if row == len(c.Burst) || at >= end {
					break
				}
			}
			enter := at + c.Burst[row]
			exit := enter + c.Call[row]
			without := len(noBurst) > 0 && int(noBurst[0]) == row
			if !without {
				l.track.Add(efficiency.Computing, at, min(enter, end))
			}
			if enter < end {
				l.track.Add(efficiency.MPI, enter, min(exit, end))
			}
			if exit > end {
				break // what is left of it follows
			}
			if without {
				noBurst = noBurst[1:]
			}
			at = exit
		}
		l.at, l.row, l.noBurst = at, row, len(c.NoBurst)-len(noBurst)
		if row < len(c.Burst) {
			return false
		}
	}
	return true
}

// sum adds the rows that are in the latest bin whole, as nearly all are, from one on. It returns the tick after them,
// the next row, and what of noBurst is of that and later ones.
func (l *location) sum(c *store.Chunk, row int, noBurst []uint32, at, room uint64) (uint64, int, []uint32) {
	var computing, mpi uint64
	next := len(c.Burst)
	if len(noBurst) > 0 {
		next = int(noBurst[0])
	}
	calls := c.Call[:len(c.Burst)]
	for ; row < len(calls); row++ {
		burst, call := c.Burst[row], calls[row]
		exit := at + burst + call
		if exit > room {
			break
		}
		if row == next {
			burst, next, noBurst = 0, len(c.Burst), noBurst[1:]
			if len(noBurst) > 0 {
				next = int(noBurst[0])
			}
		}
		computing += burst
		mpi += call
		at = exit
	}
	l.track.Sum(at, computing, mpi)
	return at, row, noBurst
}

// toSums adds sums, each evenly over its time.
func (l *location) toSums(end uint64) {
	for len(l.sums) > 0 {
		x := l.sums[0]
		before := l.begun
		if x.Begin != before.Begin { // the first, or of an agent that was started again
			before = store.Sums{Begin: x.Begin, Until: x.Begin}
		}
		if x.Computing < before.Computing || x.MPI < before.MPI {
			before.Computing, before.MPI = x.Computing, x.MPI
		}
		l.track.Spread(before.Until, x.Until, x.Computing-before.Computing, x.MPI-before.MPI, end)
		if x.Until > end {
			return
		}
		l.begun, l.at = x, x.Until
		l.sums = l.sums[1:]
	}
}
