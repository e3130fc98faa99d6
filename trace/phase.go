package trace

import (
	"iter"
	"strings"
)

// MostPhaseDepth is how deep phases of a thread lie in each other at most. What lies deeper is part of the phase at
// that depth.
const MostPhaseDepth = 256

// A Phase is a part of a thread's time that the program has named. The phases of a thread nest properly: two of them
// lie one inside the other or apart.
type Phase struct {
	Name           uint32 // index into Run.MarkNames
	Depth          int32  // 0 = outermost
	BeginNS, EndNS int64
	// The program never ended it: its end is the thread's, or that of a phase round it.
	Unfinished bool
}

// An Event is something that a thread has said, with a value.
type Event struct {
	Name   uint32 // index into Run.MarkNames
	TimeNS int64
	Value  int64
}

// Readings are what bursts of a thread had counted when phases began or ended in them, since their own begin. All
// columns have one length.
type Readings struct {
	TimeNS   []int64   // ascending; of several at one time the last one counts
	Counters [][]int64 // one column per Run.Counters; NoCount where a value is missing
}

// Len returns the number of readings.
func (r *Readings) Len() int { return len(r.TimeNS) }

// A Pause is the time between two recorded calls of a thread in which the program had paused recording.
type Pause struct{ BeginNS, EndNS int64 }

// EachPhase hands out the begins and the ends of the thread's phases, one after the other, so that they nest.
func (t *Thread) EachPhase(begin, end func(p *Phase)) {
	var open []*Phase // outermost first
	endTo := func(depth int) {
		for len(open) > depth {
			p := open[len(open)-1]
			open = open[:len(open)-1]
			end(p)
		}
	}
	for i := range t.Phases {
		p := &t.Phases[i]
		endTo(int(p.Depth))
		begin(p)
		open = append(open, p)
	}
	endTo(0)
}

// LocatePhases finds out in which phase each burst of the thread lies: of the innermost phases in its time, and of the
// time outside of all, the one that has most of it; the earlier one where two have the same.
func (t *Thread) LocatePhases() {
	t.Bursts.Phase = nil
	if len(t.Phases) == 0 {
		return
	}
	t.Bursts.Phase = make([]int32, t.Bursts.Len())
	w := phaseWalk{phases: t.Phases}
	for k, begin := range t.Bursts.StartNS {
		end := begin + t.Bursts.DurationNS[k]
		var held map[int32]int64 // only where several take turns
		w.moveTo(begin)
		most := w.innermost()
		for from := begin; from < end; {
			to := min(end, w.nextNS(end))
			if here := w.innermost(); held != nil || to < end {
				if held == nil {
					held = make(map[int32]int64)
				}
				held[here] += to - from
				if held[here] > held[most] {
					most = here
				}
			}
			from = to
			w.moveTo(from)
		}
		t.Bursts.Phase[k] = most
	}
}

// InnermostPhase returns what gives the index of the innermost phase at moments in ascending order, -1 = none. A phase
// ends before the moment of its end.
func (t *Thread) InnermostPhase() func(ns int64) int32 {
	w := phaseWalk{phases: t.Phases}
	return func(ns int64) int32 {
		w.moveTo(ns)
		return w.innermost()
	}
}

// A phaseWalk goes through a thread's phases in the order of time.
type phaseWalk struct {
	phases []Phase
	next   int     // not begun yet
	open   []int32 // outermost first
}

// innermost is the phase at the present moment, -1 = none.
func (w *phaseWalk) innermost() int32 {
	if len(w.open) == 0 {
		return -1
	}
	return w.open[len(w.open)-1]
}

// nextNS is when the next phase begins or ends, otherwise where that is never.
func (w *phaseWalk) nextNS(otherwise int64) int64 {
	at := otherwise
	if w.next < len(w.phases) {
		at = w.phases[w.next].BeginNS
	}
	if n := len(w.open); n > 0 {
		at = min(at, w.phases[w.open[n-1]].EndNS)
	}
	return at
}

// moveTo goes on to a moment, not before the present one: phases that end then have ended, those that begin then have
// begun.
func (w *phaseWalk) moveTo(ns int64) {
	for {
		n := len(w.open)
		switch {
		case n > 0 && w.phases[w.open[n-1]].EndNS <= ns && (w.next == len(w.phases) || w.phases[w.open[n-1]].EndNS <= w.phases[w.next].BeginNS):
			w.open = w.open[:n-1]
		case w.next < len(w.phases) && w.phases[w.next].BeginNS <= ns:
			w.open = append(w.open, int32(w.next))
			w.next++
		default:
			return
		}
	}
}

// PhasePath is the text of a phase with those round it, outermost first: their names with "/" between; "/" and "\" in a
// name have a "\" before them.
func PhasePath(names ...string) string {
	escaped := make([]string, len(names))
	for i, name := range names {
		escaped[i] = phaseEscaper.Replace(name)
	}
	return strings.Join(escaped, "/")
}

// PhaseNames are the names of a PhasePath.
func PhaseNames(path string) (names []string) {
	for name := range PhasesOf(path) {
		names = append(names, name)
	}
	return names
}

// PhasesOf hands out the names of a PhasePath, outermost first, each with the path that ends with it, a part of the
// text: of paths of any depth they take the memory of the names.
func PhasesOf(path string) iter.Seq2[string, string] {
	return func(yield func(name, path string) bool) {
		var name strings.Builder
		for i := 0; i < len(path); i++ {
			switch c := path[i]; {
			case c == '/':
				if !yield(name.String(), path[:i]) {
					return
				}
				name.Reset()
			case c == '\\' && i+1 < len(path):
				i++
				name.WriteByte(path[i])
			default:
				name.WriteByte(c)
			}
		}
		yield(name.String(), path)
	}
}

var phaseEscaper = strings.NewReplacer("/", `\/`, `\`, `\\`)
