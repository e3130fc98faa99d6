package store

import (
	"fmt"
	"math"
	"path/filepath"
	"strconv"
	"time"

	"moriens/internal/mpicall"
	moriensv1 "moriens/proto/moriens/v1"
	"moriens/trace"
)

// maxSums is how many sums of a ring wait to be taken: one arrives each second.
const maxSums = 64

// A Standing is where a thread was when its agent looked last. It is for figures of the run in progress alone.
type Standing struct {
	At    time.Time // when that arrived; zero: never
	Rows  uint64    // of the ring by then; what is below holds as long as it has no more
	Ticks uint64    // when the agent looked
	State moriensv1.Standing_State
	Enter uint64     // of the call that it is in, or of a run of polls that is not over; 0: there is none
	Exit  uint64     // of the latest poll of such a run
	Call  mpicall.ID // that
	Place string     // where it is made, as file:line; empty = not known
}

// Sums are what a thread did up to a time, of an agent that keeps its calls.
type Sums struct{ Begin, Until, Computing, MPI uint64 }

// Stand takes what an agent says of where its threads are. Entries that cannot be true are left out.
func (s *Store) Stand(a *Agent, m *moriensv1.Standing, now time.Time) error {
	n := len(m.Ring)
	for _, column := range []int{len(m.Rows), len(m.Ticks), len(m.State), len(m.Enter), len(m.Exit), len(m.Function), len(m.Path)} {
		if column != n {
			return fmt.Errorf("a standing of %d rings has a column of %d", n, column)
		}
	}
	sums := len(m.Until) > 0
	if sums && (len(m.Begin) != n || len(m.Until) != n || len(m.Computing) != n || len(m.Mpi) != n) {
		return fmt.Errorf("a standing of %d rings has sums of %d, %d, %d and %d", n, len(m.Begin), len(m.Until), len(m.Computing), len(m.Mpi))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.frozen {
		return nil
	}
	for i, id := range m.Ring {
		r := s.rings[id]
		if r == nil || r.Process.Agent != a || m.Ticks[i] > maxTicks || m.Enter[i] > maxTicks || m.Exit[i] > maxTicks || m.Function[i] > math.MaxUint16 {
			continue // of a ring whose announcement is on its way
		}
		x := Standing{At: now, Rows: m.Rows[i], Ticks: m.Ticks[i], State: m.State[i]}
		if call := mpicall.ID(m.Function[i]); m.Enter[i] > 0 && call.Known() {
			x.Enter, x.Exit, x.Call = m.Enter[i], m.Exit[i], call
			x.Place = placeOf(r.Process.local[m.Path[i]].frames)
			if m.Longest == id && m.Place != "" {
				x.Place = m.Place
			}
		}
		r.standing = x
		if sums && m.Until[i] > 0 {
			r.addSums(Sums{m.Begin[i], m.Until[i], m.Computing[i], m.Mpi[i]})
		}
	}
	return nil
}

// placeOf is where the first frame of a call path is, as far as that shows without its program's symbols.
func placeOf(frames []trace.Frame) string {
	if len(frames) == 0 || frames[0].File == "" {
		return ""
	}
	if frames[0].Line == 0 {
		return filepath.Base(frames[0].File)
	}
	return filepath.Base(frames[0].File) + ":" + strconv.Itoa(frames[0].Line)
}

// addSums keeps sums that can be true; of those that nobody takes, the latest.
func (r *Ring) addSums(x Sums) {
	if x.Begin > x.Until || x.Until > maxTicks || x.Computing > x.Until-x.Begin || x.MPI > x.Until-x.Begin-x.Computing {
		return
	}
	if n := len(r.sums); n > 0 && r.sums[n-1] == x {
		return
	}
	if len(r.sums) == maxSums {
		r.sums[maxSums-1] = x
		return
	}
	r.sums = append(r.sums, x)
}

// A StandingView is what is known of a ring at one moment.
type StandingView struct {
	RingView
	Calls       uint64 // rows of its chunks
	Last        uint64 // ticks at the end of them
	Ended       bool   // nothing more follows
	OnNode      bool   // its calls are kept there, and Sums has what arrived since this was asked last
	Sums        []Sums
	Standing    Standing
	World, Node string
}

// Standings returns what is known of every ring, in order of arrival. It takes the sums: there is one who asks.
func (s *Store) Standings() []StandingView {
	s.mu.Lock()
	defer s.mu.Unlock()
	views := make([]StandingView, len(s.ringOrder))
	for i, r := range s.ringOrder {
		p := r.Process
		v := &views[i]
		v.RingView = RingView{Ring: r, Chunks: r.Chunks}
		v.fit(p.Agent.Samples[p.Info.Clock])
		v.Calls, v.Ended, v.OnNode = r.Calls, r.End != nil || p.End != nil, p.CallsOnNode()
		_, v.Last = r.Span()
		v.Sums, r.sums = r.sums, nil
		v.Standing = r.standing
		v.World, v.Node = p.Info.World, p.Agent.Hello.Host
		if v.World == "" {
			v.World = p.Info.Parent
		}
	}
	return views
}
