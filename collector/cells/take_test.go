package cells

import (
	"bytes"
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protodelim"

	moriensv1 "moriens/proto/moriens/v1"
)

// two are the bursts of an agent whose answers the tests spoil: two groups, three micro-cells, one counter.
func two() *reference {
	at := func(group int, x, y float64, ns uint64, segment uint64) burst {
		return burst{group: group, at: []float64{x, y}, ns: ns, counters: []int64{int64(ns) + 3}, segment: segment}
	}
	return &reference{dims: 2, side: 1, counters: []string{"A"}, by: true, anchored: true, parts: 9, threads: [][]burst{
		{at(0, .1, .1, 5, 0), at(0, .2, .2, 6, 0), at(1, 1.1, 0, 7, 1)}, {at(0, .1, .1, 5, 0), at(1, 1.1, 0, 7, 1), at(1, 2.1, 0, 9, 1)},
	}}
}

// steps are all requests of a Coordinator, one after the other.
func steps(t testing.TB, c *Coordinator) error {
	set, err := c.Survey(t.Context(), byNumber{})
	if err != nil {
		return err
	}
	labels, final := make([]int32, len(set.Units)), make([]int32, len(set.Units))
	var split []int32
	for i, u := range set.Units {
		labels[i], final[i] = int32(i%2), 1
		if !u.Place {
			split = append(split, int32(i))
		}
	}
	if _, err := c.Score(t.Context(), labels, 2, 1); err != nil {
		return err
	}
	places, err := c.Split(t.Context(), split)
	if err != nil {
		return err
	}
	for _, p := range places {
		final = append(final, make([]int32, len(p))...)
	}
	for i := range final {
		final[i] = 1
	}
	if err := c.Label(t.Context(), final); err != nil {
		return err
	}
	return c.Sums(t.Context(), takeNothing)
}

// Any mistake in an answer is reported, and the agent left out.
func TestSpoiltAnswers(t *testing.T) {
	if err := steps(t, New(&crowd{agents: map[uint64]*reference{1: two()}}, quiet)); err != nil {
		t.Fatal("sound answers: ", err)
	}
	head := func(change func(*moriensv1.CellsSurveyed)) func(*moriensv1.CellsAnswer) {
		return func(a *moriensv1.CellsAnswer) {
			if s := a.GetSurveyed(); s != nil && s.Spec != "" {
				change(s)
			}
		}
	}
	rest := func(change func(*moriensv1.CellsSurveyed)) func(*moriensv1.CellsAnswer) {
		return func(a *moriensv1.CellsAnswer) {
			if s := a.GetSurveyed(); s != nil && s.Spec == "" {
				change(s)
			}
		}
	}
	unitsWith := func(change func(*moriensv1.CellsUnits)) func(*moriensv1.CellsAnswer) {
		return func(a *moriensv1.CellsAnswer) {
			if u := a.GetUnits(); u != nil && len(u.Unit) > 0 && u.Parent[0] == 0 {
				change(u)
			}
		}
	}
	places := func(change func(*moriensv1.CellsUnits)) func(*moriensv1.CellsAnswer) {
		return func(a *moriensv1.CellsAnswer) {
			if u := a.GetUnits(); u != nil && len(u.Unit) > 0 && u.Parent[0] > 0 {
				change(u)
			}
		}
	}
	hashes := func(change func(*moriensv1.CellsHashes)) func(*moriensv1.CellsAnswer) {
		return func(a *moriensv1.CellsAnswer) {
			if h := a.GetHashes(); h != nil && len(h.High) > 0 {
				change(h)
			}
		}
	}
	found := func(change func(*moriensv1.CellsSequences)) func(*moriensv1.CellsAnswer) {
		return func(a *moriensv1.CellsAnswer) {
			if s := a.GetSequences(); s != nil {
				change(s)
			}
		}
	}
	sums := func(change func(*moriensv1.CellsSums)) func(*moriensv1.CellsAnswer) {
		return func(a *moriensv1.CellsAnswer) {
			if s := a.GetSums(); s != nil {
				change(s)
			}
		}
	}
	for _, x := range []struct {
		want  string
		spoil func(*moriensv1.CellsAnswer)
	}{
		{"the agent reports: no room", func(a *moriensv1.CellsAnswer) { a.Error = "no room" }},
		{"has no end", func(a *moriensv1.CellsAnswer) { a.Last = false }},
		{"after the last part", func(a *moriensv1.CellsAnswer) { a.Last = true }},
		{"no number", head(func(s *moriensv1.CellsSurveyed) { s.Survey = 0 })},
		{"0 dimensions", head(func(s *moriensv1.CellsSurveyed) { s.Dims = 0 })},
		{"no rank has connected", head(func(s *moriensv1.CellsSurveyed) { s.Dims, s.Bursts = 0, 0 })},
		{"9 dimensions", head(func(s *moriensv1.CellsSurveyed) { s.Dims = 9 })},
		{"side NaN", head(func(s *moriensv1.CellsSurveyed) { s.Side = math.NaN() })},
		{"side +Inf", head(func(s *moriensv1.CellsSurveyed) { s.Side = math.Inf(1) })},
		{"columns of groups", head(func(s *moriensv1.CellsSurveyed) { s.AfterFunction = nil })},
		{"want one length", head(func(s *moriensv1.CellsSurveyed) { s.Anchored = nil })},
		{"lack data", head(func(s *moriensv1.CellsSurveyed) { s.Missing = s.Bursts + 1 })},
		{"no cell can hold", head(func(s *moriensv1.CellsSurveyed) { s.Outside = s.Missing + 1 })},
		{"ns of bursts", head(func(s *moriensv1.CellsSurveyed) { s.TimeNs = math.MaxUint64 })},
		{"was not made", head(func(s *moriensv1.CellsSurveyed) { s.Whole = false })},
		{"have anchors", head(func(s *moriensv1.CellsSurveyed) { s.Anchored[0] = 2 })},
		{"threads have bursts", head(func(s *moriensv1.CellsSurveyed) { s.Threads[0] = 7 })},
		{"want 5 with", head(func(s *moriensv1.CellsSurveyed) { s.Bursts = 5 })},
		{"has 3 dimensions", head(func(s *moriensv1.CellsSurveyed) { s.Dimensions = "a,b,c" })},
		{"is there twice", head(func(s *moriensv1.CellsSurveyed) { s.Dimensions = "a,a" })},
		{"group 1 of 1", rest(func(s *moriensv1.CellsSurveyed) { *s = moriensv1.CellsSurveyed{Survey: s.Survey} })},
		{"groups of survey 2 in survey 1", rest(func(s *moriensv1.CellsSurveyed) { s.Survey++ })},
		{"columns of groups", rest(func(s *moriensv1.CellsSurveyed) { s.BeforePath = nil })},
		{"entries of squares_high", unitsWith(func(u *moriensv1.CellsUnits) { u.SquaresHigh = nil })},
		{"entries of read", unitsWith(func(u *moriensv1.CellsUnits) { u.Read = append(u.Read, 1) })},
		{"could not be split", unitsWith(func(u *moriensv1.CellsUnits) { u.Unknown = []uint32{0} })},
		{"in their order", unitsWith(func(u *moriensv1.CellsUnits) { u.Unit[0] = 4e9 })},
		{"there twice", unitsWith(func(u *moriensv1.CellsUnits) { u.Unit[1] = 0 })},
		{"32 bits", unitsWith(func(u *moriensv1.CellsUnits) { u.Key[0] = 1 << 40 })},
		{"a box from", unitsWith(func(u *moriensv1.CellsUnits) { u.Lo[0] = math.NaN() })},
		{"a box from", unitsWith(func(u *moriensv1.CellsUnits) { u.Lo[0], u.Hi[0] = u.Hi[0], u.Lo[0] })},
		{"a box from", unitsWith(func(u *moriensv1.CellsUnits) { u.Hi[0] = math.Inf(1) })},
		{"have the mean", unitsWith(func(u *moriensv1.CellsUnits) { u.Sum[0] = math.NaN() })},
		{"have the mean", unitsWith(func(u *moriensv1.CellsUnits) { u.Sum[0] += 5 })},
		{"bursts received", unitsWith(func(u *moriensv1.CellsUnits) { u.Count[0] = math.MaxUint64 })},
		{"durations: no ", unitsWith(func(u *moriensv1.CellsUnits) { u.TotalNs[0] = 1 << 50 })},
		{"want 6 with", unitsWith(func(u *moriensv1.CellsUnits) { u.SquaresHigh[0], u.TotalNs[0] = 1<<40, 1<<50 })},
		{"bursts have A", unitsWith(func(u *moriensv1.CellsUnits) { u.Read[0] = 9 })},
		{"A: no ", unitsWith(func(u *moriensv1.CellsUnits) { u.CounterHigh[0] = 1 })},
		{"A: no numbers", unitsWith(func(u *moriensv1.CellsUnits) { u.Read[0], u.CounterLow[0] = 0, 0 })},
		{"is from unit 2", places(func(u *moriensv1.CellsUnits) { u.Parent[0] = 3 })},
		{"is from unit 4294967295", places(func(u *moriensv1.CellsUnits) { u.Parent[0] = 0 })},
		{"places for", places(func(u *moriensv1.CellsUnits) { u.Parent = u.Parent[1:] })},
		{"has the number 0", places(func(u *moriensv1.CellsUnits) { u.Unit[0] = 0 })},
		{"at one place", places(func(u *moriensv1.CellsUnits) { u.Hi[0] += .01 })},
		{"its unit in group", places(func(u *moriensv1.CellsUnits) { u.Group[0]++ })},
		{"the places of unit", places(func(u *moriensv1.CellsUnits) { u.Count[0]++ })},
		{"the places of unit", places(func(u *moriensv1.CellsUnits) { u.Lo[0] -= .01; u.Hi[0] -= .01 })},
		{"it was not to be", func(a *moriensv1.CellsAnswer) {
			if u := a.GetUnits(); u != nil && len(u.Unit) == 0 {
				u.Unknown = []uint32{7}
			}
		}},
		{"nothing is said", places(func(u *moriensv1.CellsUnits) { *u = moriensv1.CellsUnits{} })},
		{"columns of hashes", hashes(func(h *moriensv1.CellsHashes) { h.Low = nil })},
		{"a sequence of segment", hashes(func(h *moriensv1.CellsHashes) { h.Segment[0] = 1 << 40 })},
		{"not in their order", hashes(func(h *moriensv1.CellsHashes) { h.High[0] = math.MaxUint64 })},
		{"a sequence of 3 threads", hashes(func(h *moriensv1.CellsHashes) { h.Threads[0] = 3 })},
		{"a sequence of 0 threads", hashes(func(h *moriensv1.CellsHashes) { h.Threads[0] = 0 })},
		{"sequences of 2 threads", func(a *moriensv1.CellsAnswer) {
			if h := a.GetHashes(); h != nil {
				h.Sequences = 9
			}
		}},
		{"labels of", found(func(s *moriensv1.CellsSequences) { s.Length = nil })},
		{"a run of label", found(func(s *moriensv1.CellsSequences) { s.Label[0] = 2 })},
		{"a run of 0 bursts", found(func(s *moriensv1.CellsSequences) { s.Length[0] = 0 })},
		{"a run of 4294967295 bursts", found(func(s *moriensv1.CellsSequences) { s.Length[0] = math.MaxUint32 })},
		{"with the hash", found(func(s *moriensv1.CellsSequences) { s.Length[0]++ })},
		{"are missing", found(func(s *moriensv1.CellsSequences) { s.Runs[len(s.Runs)-1]++ })},
		{"of the wanted sequences are missing", found(func(s *moriensv1.CellsSequences) { *s = moriensv1.CellsSequences{} })},
		{"than were wanted", found(func(s *moriensv1.CellsSequences) { s.Runs = append(s.Runs, 0) })},
		{"than the sequences have", found(func(s *moriensv1.CellsSequences) { s.Label, s.Length = append(s.Label, 0), append(s.Length, 1) })},
		{"entries of function", sums(func(s *moriensv1.CellsSums) { s.Function = nil })},
		{"entries of counter_max", sums(func(s *moriensv1.CellsSums) { s.CounterMax = nil })},
		{"records of", sums(func(s *moriensv1.CellsSums) { s.Records[0]++ })},
		{"records of", sums(func(s *moriensv1.CellsSums) { s.MaxNs[0] = s.TotalNs[0] + 1 })},
		{"has label -4", sums(func(s *moriensv1.CellsSums) { s.Label[0] = -4 })},
		{"1 phases, 0 and 0 times", sums(func(s *moriensv1.CellsSums) { s.Phase = []uint32{0} })},
		{"0 phases, 1 and 0 times", sums(func(s *moriensv1.CellsSums) { s.MovedNs = []int64{1} })},
		{"and -9223372036854775808 of other phases", sums(func(s *moriensv1.CellsSums) {
			s.Phase, s.MovedNs, s.EstimatedNs = make([]uint32, len(s.Ring)), make([]int64, len(s.Ring)), make([]uint64, len(s.Ring))
			s.MovedNs[0], s.CounterMoved = math.MinInt64, make([]int64, len(s.Read))
		})},
		{"1 names of 2 phase paths", sums(func(s *moriensv1.CellsSums) {
			s.Phases = []*moriensv1.CellsPhases{{Parent: []uint32{0, 0}, Name: []uint32{1}}}
		})},
		{"columns of phases have 1 and 0 entries", sums(func(s *moriensv1.CellsSums) { s.Phases = []*moriensv1.CellsPhases{{Path: []uint32{0}}} })},
		{"counter 0 is of", sums(func(s *moriensv1.CellsSums) { s.Read[0], s.CounterMin[0] = 1, 1 })},
	} {
		c := &crowd{agents: map[uint64]*reference{1: two()}}
		c.change = func(_ uint64, _ *moriensv1.CellsAsk, answers []*moriensv1.CellsAnswer) ([]*moriensv1.CellsAnswer, error) {
			for _, a := range answers {
				x.spoil(a)
			}
			return answers, nil
		}
		coordinator := New(c, quiet)
		err := steps(t, coordinator)
		if err == nil || !strings.Contains(err.Error(), x.want) || len(coordinator.Left()) != 1 {
			t.Errorf("want %q, left out %v: %v", x.want, coordinator.Left(), err)
		}
	}
}

// An agent that makes its units in another way than most threads' is left out, and the others are not.
func TestOtherUnits(t *testing.T) {
	at := burst{at: []float64{1}, ns: 5}
	c := New(&crowd{agents: map[uint64]*reference{
		1: {dims: 1, side: 2, parts: 9, threads: [][]burst{{at}}}, 2: {dims: 1, side: 1, parts: 9, threads: [][]burst{{at}, {at}}},
	}}, quiet)
	s, err := c.Survey(t.Context(), byNumber{})
	if err != nil || s.Threads != 2 || s.Side != 1 || len(c.Left()) != 1 || c.Left()[0].Agent != 1 {
		t.Errorf("%v, %+v, %v", err, s, c.Left())
	}
}

// A request for units that do not exist is an error of the caller.
func TestWrongUnits(t *testing.T) {
	c := New(&crowd{agents: map[uint64]*reference{1: two()}}, quiet)
	s, err := c.Survey(t.Context(), byNumber{})
	if err != nil || len(s.Units) != 3 || !s.Units[1].Place || s.Units[0].Place {
		t.Fatal(err, s)
	}
	from := c.Source(t.Context(), 1)
	for _, split := range [][]int32{{-1}, {3}, {0, 0}, {1}} {
		if _, err := from.Split(split); err == nil || errors.Is(err, ErrLeft) {
			t.Errorf("units %v are split: %v", split, err)
		}
	}
	for _, labels := range [][]int32{{0, 1}, {0, 1, 2}, {0, -2, 1}} {
		if _, err := from.Score(labels, 2); err == nil || errors.Is(err, ErrLeft) {
			t.Errorf("labels %v are taken: %v", labels, err)
		}
	}
	if c.Whole() {
		t.Error("anchors do not count, though there is one world")
	}
	c.Worlds()
	if _, err := c.Survey(t.Context(), byNumber{}); err != nil || !c.Whole() {
		t.Error("anchors count, though there are several worlds: ", err)
	}
}

// A tape answers what is asked with what is on it, each time up to a last part.
type tape []*moriensv1.CellsAnswer

func (t *tape) IDs() []uint64 { return []uint64{1} }

func (t *tape) Ask(_ context.Context, _ uint64, _ *moriensv1.CellsAsk, take func(*moriensv1.CellsAnswer) error) error {
	for len(*t) > 0 {
		a := (*t)[0]
		*t = (*t)[1:]
		if err := take(a); err != nil || a.Last {
			return err
		}
	}
	return nil
}

// Whatever an agent answers, there is no panic, and what it is asked next is sound.
func FuzzTake(f *testing.F) {
	all := &crowd{agents: map[uint64]*reference{1: two()}}
	var session bytes.Buffer
	all.change = func(_ uint64, _ *moriensv1.CellsAsk, answers []*moriensv1.CellsAnswer) ([]*moriensv1.CellsAnswer, error) {
		for _, a := range answers {
			if _, err := protodelim.MarshalTo(&session, a); err != nil {
				f.Fatal(err)
			}
		}
		return answers, nil
	}
	if err := steps(f, New(all, quiet)); err != nil {
		f.Fatal(err)
	}
	f.Add(session.Bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		answers := new(tape)
		for from := bytes.NewReader(data); ; {
			a := new(moriensv1.CellsAnswer)
			if protodelim.UnmarshalFrom(from, a) != nil {
				break
			}
			*answers = append(*answers, a)
		}
		c := New(answers, quiet)
		if err := steps(t, c); err != nil {
			return
		}
		for _, u := range c.units {
			if u.Cell.Count < 0 || u.Duration.N != u.Cell.Count || u.Cell.Count > 0 && math.IsNaN(u.Duration.Std()) {
				t.Errorf("%+v", u)
			}
		}
	})
}

// What fuzzing starts from is a sound session: spoiling nothing, it is taken to its end.
func TestUnspoiltAnswersAreTaken(t *testing.T) {
	all := &crowd{agents: map[uint64]*reference{1: two()}}
	answers := new(tape)
	all.change = func(_ uint64, _ *moriensv1.CellsAsk, list []*moriensv1.CellsAnswer) ([]*moriensv1.CellsAnswer, error) {
		*answers = append(*answers, list...)
		return list, nil
	}
	if err := steps(t, New(all, quiet)); err != nil {
		t.Fatal(err)
	}
	if err := steps(t, New(answers, quiet)); err != nil || len(*answers) > 0 {
		t.Error(err, len(*answers))
	}
}
