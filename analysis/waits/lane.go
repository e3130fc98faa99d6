package waits

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"
)

// A lane is what Solve has of a thread: its calls, and what it does between them.
type lane struct {
	*Thread
	rows []int32 // of its calls, where it has some of the thread's alone: the others are among what is between; nil = all
	tally
	// By row the key of what the thread does from the exit of the call before it to its entry, and behind them of what
	// follows the last; several: pieces has them.
	gap    []int32
	pieces map[int32][]piece
	last   int64 // end of the run: what follows the last call ends there
}

// several stands in the place of a key for several.
const several = -1

// A piece is a part of a gap, by time.
type piece struct {
	key int32
	ns  int64
}

func (l *lane) calls() int { return len(l.EnterNS) }

// row is that of a call among the thread's.
func (l *lane) row(call int32) int32 {
	if l.rows == nil {
		return call
	}
	return l.rows[call]
}

// gapNS is from when to when the thread is in no call before one, or behind the last.
func (l *lane) gapNS(row int) Span {
	s := Span{0, l.last}
	if row > 0 {
		s.BeginNS = l.ExitNS[row-1]
	}
	if row < len(l.EnterNS) {
		s.EndNS = l.EnterNS[row]
	}
	return s
}

// eachPiece hands out what the thread does in a gap, by time.
func (l *lane) eachPiece(row int, give func(key int32, ns int64)) {
	if l.gap[row] == several {
		for _, p := range l.pieces[int32(row)] {
			give(p.key, p.ns)
		}
		return
	}
	if s := l.gapNS(row); s.EndNS > s.BeginNS {
		give(l.gap[row], s.EndNS-s.BeginNS)
	}
}

// check says what of the thread does not fit together.
func (t *Thread) check(run *Run) error {
	n, bursts, c := len(t.EnterNS), len(t.StartNS), &t.Collectives
	operations := len(c.Call)
	short := func(columns ...int) bool {
		return slices.ContainsFunc(columns, func(k int) bool { return k != operations })
	}
	optional := func(length int, there bool) int {
		if there {
			return length
		}
		return operations
	}
	switch {
	case len(t.ExitNS) != n || len(t.Path) != n:
		return errors.New("the columns of its calls differ in length")
	case len(t.DurationNS) != bursts || len(t.Cluster) != bursts:
		return errors.New("the columns of its bursts differ in length")
	case short(len(c.Comm), len(c.Sent), len(c.Received), len(c.Root), optional(len(c.Ordinal), c.Ordinal != nil), optional(len(c.Done), c.Done != nil), optional(len(c.Instance), c.Instance != nil)):
		return errors.New("the columns of its collectives differ in length")
	case n >= math.MaxInt32:
		return fmt.Errorf("%d calls are more than there can be", n)
	case t.Node < 0 || run.Clock != nil && int(t.Node) >= len(run.Clock):
		return fmt.Errorf("it is on node %d of %d", t.Node, len(run.Clock))
	}
	for i := range t.EnterNS {
		switch {
		case t.ExitNS[i] < t.EnterNS[i] || t.EnterNS[i] < 0 || t.ExitNS[i] > run.DurationNS || i > 0 && t.EnterNS[i] < t.ExitNS[i-1]:
			return fmt.Errorf("call %d lasts less than 0 ns, is outside of the run, or begins before the one before it ends", i)
		case int(t.Path[i]) >= len(run.Functions):
			return fmt.Errorf("call %d is of call path %d of %d", i, t.Path[i], len(run.Functions))
		}
	}
	for i, d := range t.DurationNS {
		if d < 0 || i > 0 && t.StartNS[i] < t.StartNS[i-1]+t.DurationNS[i-1] {
			return fmt.Errorf("burst %d lasts less than 0 ns, or begins before the one before it ends", i)
		}
		if t.Cluster[i] < leastLabel || int(t.Cluster[i]) > run.Clusters {
			return fmt.Errorf("burst %d is in cluster %d of %d", i, t.Cluster[i], run.Clusters)
		}
	}
	for i := range t.Known {
		if w := &t.Known[i]; int(w.Row) >= n || w.Row < 0 || int(w.For) >= len(run.Threads) || w.For < 0 || w.Kind == None || w.Kind >= Kinds {
			return fmt.Errorf("known wait %d is of a call, a thread or a kind that is not there", i)
		}
	}
	for i := range c.Call {
		if int(c.Call[i]) >= n || c.Done != nil && int(c.Done[i]) >= n || int(c.Comm[i]) >= len(run.Comms) {
			return fmt.Errorf("collective %d is of a call or a communicator that is not there", i)
		}
		if i > 0 && c.Call[i] < c.Call[i-1] {
			return fmt.Errorf("collective %d is of call %d, the one before it of call %d: they are not in the order of calls", i, c.Call[i], c.Call[i-1])
		}
	}
	return nil
}

// newLane finds what a thread does between its calls. What it computes has a code of label and call path.
func newLane(t *Thread, durationNS int64, code func(label int32, path uint32) int32) lane {
	l := lane{Thread: t, last: durationNS, gap: make([]int32, len(t.EnterNS)+1)}
	burst := 0
	for row := range l.gap {
		s, path := l.gapNS(row), uint32(0)
		if row < len(t.Path) {
			path = t.Path[row]
		}
		for burst < len(t.StartNS) && t.StartNS[burst]+t.DurationNS[burst] <= s.BeginNS {
			burst++ // it has no time, or lies in a call
		}
		if burst < len(t.StartNS) && t.StartNS[burst] == s.BeginNS && t.DurationNS[burst] == s.EndNS-s.BeginNS {
			l.gap[row] = code(t.Cluster[burst], path)
			continue
		}
		l.put(row, l.between(s, burst, path, code))
	}
	return l
}

// put sets what is in a gap.
func (l *lane) put(row int, list []piece) {
	switch len(list) {
	case 0:
		l.gap[row] = outsideKey
	case 1:
		l.gap[row] = list[0].key
	default:
		l.gap[row] = several
		if l.pieces == nil {
			l.pieces = make(map[int32][]piece)
		}
		l.pieces[int32(row)] = list
	}
}

// between is what the thread does in a gap in which there are other things than one burst; burst is the first that may
// be in it.
func (l *lane) between(s Span, burst int, path uint32, code func(label int32, path uint32) int32) (list []piece) {
	add := func(key int32, ns int64) {
		if last := len(list) - 1; last >= 0 && list[last].key == key {
			list[last].ns += ns
		} else if ns > 0 {
			list = append(list, piece{key, ns})
		}
	}
	atNS := s.BeginNS
	for ; burst < len(l.StartNS) && l.StartNS[burst] < s.EndNS; burst++ {
		begin, end := max(l.StartNS[burst], atNS), min(l.StartNS[burst]+l.DurationNS[burst], s.EndNS)
		if end <= begin {
			continue
		}
		l.empty(Span{atNS, begin}, add)
		add(code(l.Cluster[burst], path), end-begin)
		atNS = end
	}
	l.empty(Span{atNS, s.EndNS}, add)
	return list
}

// empty is time without calls and bursts: not recorded, or not kept.
func (l *lane) empty(s Span, add func(key int32, ns int64)) {
	if l.Kept == nil {
		add(outsideKey, s.EndNS-s.BeginNS)
		return
	}
	i := sort.Search(len(l.Kept), func(i int) bool { return l.Kept[i].EndNS > s.BeginNS })
	for ; s.BeginNS < s.EndNS; i++ {
		kept := Span{s.EndNS, s.EndNS}
		if i < len(l.Kept) {
			kept = Span{min(max(l.Kept[i].BeginNS, s.BeginNS), s.EndNS), min(l.Kept[i].EndNS, s.EndNS)}
		}
		add(notKeptKey, kept.BeginNS-s.BeginNS)
		add(outsideKey, kept.EndNS-kept.BeginNS)
		s.BeginNS = kept.EndNS
	}
}
