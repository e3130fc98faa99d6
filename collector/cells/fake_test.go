package cells

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"moriens/analysis/cell"
	"moriens/analysis/moment"
	"moriens/analysis/sequence"
	moriensv1 "moriens/proto/moriens/v1"
)

// A burst is one of a thread of a reference agent.
type burst struct {
	group    int // of the test's pairs of call paths
	at       []float64
	ns       uint64
	counters []int64 // negative = not read
	segment  uint64
}

// A reference answers as an agent does, from bursts in memory, in the plainest way.
type reference struct {
	dims     int
	side     float64
	counters []string
	by       bool // call paths count
	threads  [][]burst
	anchored bool
	parts    int // entries of a part at most
	missing  int // bursts of 7 ns that lack data

	seen     []int // bursts of each thread that have units
	unitOf   [][]int32
	units    []referenceUnit
	groups   []int
	reported []int // bursts of each thread that the latest survey has reported
	groupsN  int   // groups that it has reported
	unitsN   int
	survey   uint64
	labels   []int32
	whole    bool
	lost     map[int32]bool // units whose points are lost
}

type referenceUnit struct {
	group  int
	key    cell.Key
	at     []float64 // of a place
	parent int32     // of a place, plus 1
	split  bool
}

// update gives units to the bursts that arrived.
func (r *reference) update() {
	for t := range r.threads {
		if t == len(r.seen) {
			r.seen, r.reported, r.unitOf = append(r.seen, 0), append(r.reported, 0), append(r.unitOf, nil)
		}
		for _, b := range r.threads[t][r.seen[t]:] {
			r.unitOf[t] = append(r.unitOf[t], r.unit(b))
		}
		r.seen[t] = len(r.threads[t])
	}
}

func (r *reference) unit(b burst) int32 {
	group := 0
	if r.by {
		if group = slices.Index(r.groups, b.group); group < 0 {
			group = len(r.groups)
			r.groups = append(r.groups, b.group)
		}
	}
	key, _ := cell.KeyOf(b.at, r.side)
	for i, u := range r.units {
		if u.group == group && u.key == key && !u.split && (u.at == nil || slices.Equal(u.at, b.at)) {
			return int32(i)
		}
	}
	r.units = append(r.units, referenceUnit{group: group, key: key})
	return int32(len(r.units) - 1)
}

// columns are units with the bursts that arrived since the last report, or with all of them.
func (r *reference) columns(units []int32, whole bool) []*moriensv1.CellsAnswer {
	var list []*moriensv1.CellsAnswer
	for len(units) > 0 {
		n := min(r.parts, len(units))
		m := &moriensv1.CellsUnits{}
		last := int32(0)
		for _, unit := range units[:n] {
			m.Unit = append(m.Unit, uint32(unit-last))
			last = unit
			r.column(m, unit, whole)
		}
		units = units[n:]
		list = append(list, &moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Units{Units: m}})
	}
	return list
}

func (r *reference) column(m *moriensv1.CellsUnits, unit int32, whole bool) {
	u := r.units[unit]
	all := cell.Cell{}
	var duration moment.Exact
	counters := make([]moment.Exact, len(r.counters))
	for t, of := range r.unitOf {
		for i, at := range of {
			if at != unit {
				continue
			}
			b := r.threads[t][i]
			for j, v := range b.at {
				if all.Count == 0 {
					all.Lo[j], all.Hi[j] = v, v
				}
				all.Lo[j], all.Hi[j] = min(all.Lo[j], v), max(all.Hi[j], v)
				all.Sum[j] += v
			}
			all.Count++
			if !whole && i < r.reported[t] {
				continue
			}
			duration.Add(b.ns)
			for k, v := range b.counters {
				if v >= 0 {
					counters[k].Add(uint64(v))
				}
			}
		}
	}
	for j := range r.dims {
		m.Key, m.Lo, m.Hi, m.Sum = append(m.Key, int64(u.key[j])), append(m.Lo, all.Lo[j]), append(m.Hi, all.Hi[j]), append(m.Sum, all.Sum[j])
	}
	m.Group, m.Parent = append(m.Group, uint32(u.group)), append(m.Parent, uint32(u.parent))
	m.Count, m.TotalNs = append(m.Count, uint64(duration.N)), append(m.TotalNs, duration.Total[0])
	s := duration.Squares
	m.SquaresLow, m.SquaresMiddle, m.SquaresHigh = append(m.SquaresLow, s[0]), append(m.SquaresMiddle, s[1]), append(m.SquaresHigh, s[2])
	for _, e := range counters {
		m.Read, m.CounterLow, m.CounterHigh = append(m.Read, uint64(e.N)), append(m.CounterLow, e.Total[0]), append(m.CounterHigh, e.Total[1])
		m.CounterSquaresLow, m.CounterSquaresMiddle = append(m.CounterSquaresLow, e.Squares[0]), append(m.CounterSquaresMiddle, e.Squares[1])
		m.CounterSquaresHigh = append(m.CounterSquaresHigh, e.Squares[2])
	}
}

// answer answers in parts, without the mark of the last.
func (r *reference) answer(ask *moriensv1.CellsAsk) []*moriensv1.CellsAnswer {
	r.update()
	if ask.GetSurvey() == nil && ask.Taken != r.survey {
		return []*moriensv1.CellsAnswer{{Error: "the survey is not known"}}
	}
	switch b := ask.Body.(type) {
	case *moriensv1.CellsAsk_Survey:
		return r.surveyed(b.Survey)
	case *moriensv1.CellsAsk_Split:
		return r.split(b.Split)
	case *moriensv1.CellsAsk_Relabel:
		return r.relabel(b.Relabel)
	case *moriensv1.CellsAsk_Want:
		return r.want(b.Want)
	}
	return r.sum()
}

func (r *reference) surveyed(ask *moriensv1.CellsSurvey) []*moriensv1.CellsAnswer {
	whole := ask.After == 0 || ask.After != r.survey
	s := &moriensv1.CellsSurveyed{
		Whole: whole, Spec: fmt.Sprint("side ", r.side), Dims: uint32(r.dims), Side: r.side, Counter: r.counters, Dimensions: "a,b,c,d"[:2*r.dims-1],
		Missing: uint64(r.missing), MissingNs: 7 * uint64(r.missing), Bursts: uint64(r.missing), TimeNs: 7 * uint64(r.missing),
	}
	if whole {
		clear(r.reported)
		r.groupsN, r.unitsN = 0, 0
	}
	for _, g := range r.groups[r.groupsN:] {
		s.Before, s.After, s.Example = append(s.Before, uint64(1000+g)), append(s.After, uint64(2000+g)), append(s.Example, 5)
		s.BeforePath, s.AfterPath = append(s.BeforePath, uint32(g)), append(s.AfterPath, uint32(g+1))
		s.BeforeFunction, s.AfterFunction = append(s.BeforeFunction, 3), append(s.AfterFunction, 4)
	}
	var units []int32
	for t, of := range r.unitOf {
		if len(of) == 0 {
			continue
		}
		s.Process, s.Threads, s.Anchored = append(s.Process, uint64(t)), append(s.Threads, 1), append(s.Anchored, 0)
		if r.anchored {
			s.Anchored[len(s.Anchored)-1] = 1
		}
		for i, b := range r.threads[t] {
			s.Bursts++
			s.TimeNs += b.ns
			if i >= r.reported[t] {
				units = append(units, of[i])
			}
		}
	}
	for i := r.unitsN; i < len(r.units); i++ { // also those that have been split since
		units = append(units, int32(i))
	}
	slices.Sort(units)
	r.survey++
	s.Survey = r.survey
	answers := []*moriensv1.CellsAnswer{{Body: &moriensv1.CellsAnswer_Surveyed{Surveyed: s}}}
	if len(s.Before) > 1 { // in two parts
		rest := &moriensv1.CellsSurveyed{
			Survey: s.Survey, Before: s.Before[1:], After: s.After[1:], Example: s.Example[1:], BeforePath: s.BeforePath[1:], AfterPath: s.AfterPath[1:],
			BeforeFunction: s.BeforeFunction[1:], AfterFunction: s.AfterFunction[1:],
		}
		s.Before, s.After, s.Example, s.BeforePath, s.AfterPath = s.Before[:1], s.After[:1], s.Example[:1], s.BeforePath[:1], s.AfterPath[:1]
		s.BeforeFunction, s.AfterFunction = s.BeforeFunction[:1], s.AfterFunction[:1]
		answers = append(answers, &moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Surveyed{Surveyed: rest}})
	}
	answers = append(answers, r.columns(slices.Compact(units), whole)...)
	copy(r.reported, r.seen)
	r.groupsN, r.unitsN = len(r.groups), len(r.units)
	return answers
}

func (r *reference) split(ask *moriensv1.CellsSplit) []*moriensv1.CellsAnswer {
	var unknown []uint32
	first, unit := len(r.units), int32(0)
	for _, difference := range ask.Unit {
		unit += int32(difference)
		if r.lost[unit] {
			unknown = append(unknown, uint32(unit))
			continue
		}
		r.units[unit].split = true
		for t, of := range r.unitOf {
			for i, at := range of {
				if at == unit {
					of[i] = r.place(unit, r.threads[t][i].at)
				}
			}
		}
	}
	var places []int32
	for i := first; i < len(r.units); i++ {
		places = append(places, int32(i))
	}
	r.unitsN = len(r.units)
	answers := r.columns(places, true)
	return append(answers, &moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Units{Units: &moriensv1.CellsUnits{Unknown: unknown}}})
}

func (r *reference) place(parent int32, at []float64) int32 {
	for i, u := range r.units {
		if u.parent == parent+1 && slices.Equal(u.at, at) {
			return int32(i)
		}
	}
	r.units = append(r.units, referenceUnit{group: r.units[parent].group, key: r.units[parent].key, at: at, parent: parent + 1})
	return int32(len(r.units) - 1)
}

// sequences are those of the threads by segment, as they are labelled.
func (r *reference) sequences() map[uint64][][]int32 {
	segments := make(map[uint64][][]int32)
	for t, of := range r.unitOf {
		own := make(map[uint64][]int32)
		for i, at := range of {
			if label := r.labels[at]; label != -1 {
				segment := r.threads[t][i].segment
				if r.whole {
					segment = 0
				}
				own[segment] = append(own[segment], label)
			}
		}
		for segment, labels := range own {
			segments[segment] = append(segments[segment], labels)
		}
	}
	return segments
}

func (r *reference) relabel(ask *moriensv1.CellsRelabel) []*moriensv1.CellsAnswer {
	if ask.Begin {
		r.labels = nil
	}
	r.labels = append(r.labels, make([]int32, len(r.units)-len(r.labels))...)
	unit := 0
	for i, difference := range ask.Unit {
		unit += int(difference)
		r.labels[unit] = ask.Label[i]
	}
	r.whole = ask.Whole
	threads := make(map[pieceKey]uint32)
	var keys []pieceKey
	for segment, list := range r.sequences() {
		for _, labels := range list {
			key := pieceKey{segment, sequence.HashOf(labels)}
			if threads[key] == 0 {
				keys = append(keys, key)
			}
			threads[key]++
		}
	}
	slices.SortFunc(keys, comparePieceKeys)
	busy := uint32(0)
	for _, of := range r.unitOf {
		if slices.ContainsFunc(of, func(at int32) bool { return r.labels[at] != -1 }) {
			busy++
		}
	}
	answers := []*moriensv1.CellsAnswer{{Body: &moriensv1.CellsAnswer_Hashes{Hashes: &moriensv1.CellsHashes{Sequences: busy}}}}
	for len(keys) > 0 {
		n := min(r.parts, len(keys))
		m := &moriensv1.CellsHashes{}
		last := uint64(0)
		for _, key := range keys[:n] {
			m.Segment, m.High, m.Low = append(m.Segment, key.segment-last), append(m.High, key.hash[0]), append(m.Low, key.hash[1])
			m.Threads = append(m.Threads, threads[key])
			last = key.segment
		}
		keys = keys[n:]
		answers = append(answers, &moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Hashes{Hashes: m}})
	}
	return answers
}

func (r *reference) want(ask *moriensv1.CellsWant) []*moriensv1.CellsAnswer {
	sequences := r.sequences()
	var answers []*moriensv1.CellsAnswer
	m := &moriensv1.CellsSequences{}
	next := func() {
		answers = append(answers, &moriensv1.CellsAnswer{Body: &moriensv1.CellsAnswer_Sequences{Sequences: m}})
		m = &moriensv1.CellsSequences{}
	}
	segment := uint64(0)
	for i, difference := range ask.Segment {
		segment += difference
		at := slices.IndexFunc(sequences[segment], func(labels []int32) bool { return sequence.HashOf(labels) == sequence.Hash{ask.High[i], ask.Low[i]} })
		var label []int32
		var length []uint32
		for _, l := range sequences[segment][at] {
			if n := len(label); n > 0 && label[n-1] == l {
				length[n-1]++
			} else {
				label, length = append(label, l), append(length, 1)
			}
		}
		m.Runs = append(m.Runs, uint32(len(label)))
		for k := range label {
			if len(m.Label) == r.parts {
				next()
			}
			m.Label, m.Length = append(m.Label, label[k]), append(m.Length, length[k])
		}
	}
	next()
	return answers
}

// sum has a row per thread and label, and one of calls.
func (r *reference) sum() []*moriensv1.CellsAnswer {
	m := &moriensv1.CellsSums{}
	r.labels = append(r.labels, make([]int32, len(r.units)-len(r.labels))...)
	for t, of := range r.unitOf {
		sums := make(map[int32]*moment.Exact)
		var labels []int32
		for i, at := range of {
			label := r.labels[at]
			if sums[label] == nil {
				sums[label] = new(moment.Exact)
				labels = append(labels, label)
			}
			sums[label].Add(r.threads[t][i].ns)
		}
		for _, label := range labels {
			e := sums[label]
			m.Ring, m.Call, m.Path, m.Function = append(m.Ring, uint64(t)), append(m.Call, false), append(m.Path, 1), append(m.Function, 2)
			m.Kind = append(m.Kind, label)
			m.Label, m.Count, m.Records = append(m.Label, label), append(m.Count, uint64(e.N)), append(m.Records, uint64(e.N))
			m.TotalNs, m.SquaresLow, m.SquaresHigh = append(m.TotalNs, e.Total[0]), append(m.SquaresLow, e.Squares[0]), append(m.SquaresHigh, e.Squares[1])
			m.MinNs, m.MaxNs = append(m.MinNs, 0), append(m.MaxNs, e.Total[0])
			for range r.counters {
				m.Read, m.Counter, m.CounterMin, m.CounterMax = append(m.Read, 0), append(m.Counter, 0), append(m.CounterMin, 0), append(m.CounterMax, 0)
				m.CounterSquaresLow, m.CounterSquaresHigh = append(m.CounterSquaresLow, 0), append(m.CounterSquaresHigh, 0)
			}
		}
	}
	return []*moriensv1.CellsAnswer{{Body: &moriensv1.CellsAnswer_Sums{Sums: m}}}
}

// crowd are agents by ID.
type crowd struct {
	agents map[uint64]*reference
	mu     sync.Mutex
	asks   []*moriensv1.CellsAsk
	change func(agent uint64, ask *moriensv1.CellsAsk, answers []*moriensv1.CellsAnswer) ([]*moriensv1.CellsAnswer, error) // nil = nothing
}

func (c *crowd) IDs() []uint64 {
	var list []uint64
	for id := range c.agents {
		list = append(list, id)
	}
	return list
}

func (c *crowd) Ask(ctx context.Context, agent uint64, ask *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	c.mu.Lock()
	c.asks = append(c.asks, ask)
	c.mu.Unlock()
	if n := max(len(ask.GetRelabel().GetUnit()), len(ask.GetWant().GetSegment())); n > askedMost {
		return fmt.Errorf("asked %d at once: want at most %d", n, askedMost)
	}
	answers := c.agents[agent].answer(ask)
	if len(answers) == 0 {
		answers = append(answers, new(moriensv1.CellsAnswer))
	}
	answers[len(answers)-1].Last = true
	if c.change != nil {
		var err error
		if answers, err = c.change(agent, ask, answers); err != nil {
			return err
		}
	}
	for _, a := range answers {
		if err := take(a); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// byNumber gives call paths other numbers than processes do.
type byNumber struct{}

func (byNumber) Path(process uint64, function, path uint32) uint32 { return 10 + path }

func takeNothing(uint64, *moriensv1.CellsSums) error { return nil }

// failing has an agent fail.
func failing(who uint64, why error) func(uint64, *moriensv1.CellsAsk, []*moriensv1.CellsAnswer) ([]*moriensv1.CellsAnswer, error) {
	return func(agent uint64, _ *moriensv1.CellsAsk, answers []*moriensv1.CellsAnswer) ([]*moriensv1.CellsAnswer, error) {
		if agent == who {
			return nil, why
		}
		return answers, nil
	}
}
