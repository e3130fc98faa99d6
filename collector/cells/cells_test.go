package cells

import (
	"context"
	"errors"
	"log/slog"
	"math"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/cell"
	"moriens/analysis/microcell"
	"moriens/analysis/moment"
	"moriens/analysis/refine"
	"moriens/analysis/sequence"
)

var quiet = slog.New(slog.DiscardHandler)

// drawCrowd draws agents with threads, a part of whose bursts is there; more adds the rest.
func drawCrowd(t *rapid.T) (c *crowd, more func()) {
	was := askedMost
	t.Cleanup(func() { askedMost = was })
	askedMost = rapid.SampledFrom([]int{1, 2, was}).Draw(t, "most asked at once")
	c = &crowd{agents: make(map[uint64]*reference)}
	dims := rapid.IntRange(1, 3).Draw(t, "dims")
	side := rapid.SampledFrom([]float64{.5, .3, 1}).Draw(t, "side")
	counters := []string{"A", "B"}[:rapid.IntRange(0, 2).Draw(t, "counters")]
	by, anchored := rapid.Bool().Draw(t, "by calls"), rapid.Bool().Draw(t, "anchored")
	segments := 1
	if anchored {
		segments = rapid.IntRange(1, 4).Draw(t, "segments")
	}
	rest := make(map[uint64][][]burst)
	for a := range rapid.IntRange(1, 4).Draw(t, "agents") {
		id := uint64(a+1) << 40
		r := &reference{dims: dims, side: side, counters: counters, by: by, anchored: anchored, parts: rapid.IntRange(1, 5).Draw(t, "parts"), missing: rapid.IntRange(0, 2).Draw(t, "missing")}
		for range rapid.IntRange(0, 4).Draw(t, "threads") {
			var all []burst
			for s := range segments {
				for range rapid.IntRange(0, 5).Draw(t, "bursts") {
					all = append(all, drawBurst(t, dims, len(counters), s))
				}
			}
			n := rapid.IntRange(0, len(all)).Draw(t, "now")
			r.threads = append(r.threads, all[:n:n])
			rest[id] = append(rest[id], all)
		}
		c.agents[id] = r
	}
	return c, func() {
		for id, threads := range rest {
			c.agents[id].threads = threads
		}
	}
}

func drawBurst(t *rapid.T, dims, counters, segment int) burst {
	b := burst{group: rapid.IntRange(0, 2).Draw(t, "group"), ns: rapid.SampledFrom([]uint64{0, 1, 1000, 1 << 50}).Draw(t, "ns"), segment: uint64(segment)}
	for range dims {
		b.at = append(b.at, rapid.SampledFrom([]float64{-1.3, 0, .1, .11, .3, .9, 2}).Draw(t, "at"))
	}
	for range counters {
		b.counters = append(b.counters, rapid.SampledFrom([]int64{-1, 0, 5, math.MaxInt64}).Draw(t, "counter"))
	}
	return b
}

// bursts are those of all agents, thread after thread.
func (c *crowd) bursts() (threads [][]burst) {
	for _, id := range slices.Sorted(slices.Values(c.IDs())) {
		threads = append(threads, c.agents[id].threads...)
	}
	return threads
}

// groupOf is a burst's pair of call paths, as the Coordinator's are numbered.
func groupOf(b burst, by bool) microcell.Group {
	if !by {
		return microcell.Group{}
	}
	return microcell.Group{Before: uint32(10 + b.group), After: uint32(10 + b.group + 1)}
}

// unitOf is the unit in which the test finds a burst, without the Coordinator's maps.
func unitOf(units []microcell.Unit, groups []microcell.Group, b burst, by bool, side float64) int {
	key, _ := cell.KeyOf(b.at, side)
	place := -1
	found := -1
	for i, u := range units {
		if groups[u.Group] != groupOf(b, by) || u.Cell.Count == 0 || u.Cell.Key != key {
			continue
		}
		if found = i; u.Place && slices.Equal(u.Cell.Lo[:len(b.at)], b.at) {
			place = i
		}
	}
	if place >= 0 {
		return place
	}
	return found
}

// checkUnits compares units with the bursts.
func checkUnits(t *rapid.T, c *crowd, groups []microcell.Group, units []microcell.Unit) {
	var any *reference
	for _, any = range c.agents {
	}
	want := make([]microcell.Unit, len(units))
	for i, u := range units {
		want[i] = microcell.Unit{Group: u.Group, Cell: cell.Cell{Key: u.Cell.Key}, Counters: make([]moment.Exact, len(any.counters))}
	}
	for _, thread := range c.bursts() {
		for _, b := range thread {
			i := unitOf(units, groups, b, any.by, any.side)
			if i < 0 {
				t.Fatalf("no unit has %+v", b)
			}
			u := &want[i]
			u.Duration.Add(b.ns)
			for k, v := range b.counters {
				if v >= 0 {
					u.Counters[k].Add(uint64(v))
				}
			}
			for j, v := range b.at {
				if u.Cell.Count == 0 {
					u.Cell.Lo[j], u.Cell.Hi[j] = v, v
				}
				u.Cell.Lo[j], u.Cell.Hi[j] = min(u.Cell.Lo[j], v), max(u.Cell.Hi[j], v)
				u.Cell.Sum[j] += v
			}
			u.Cell.Count++
			u.Place = u.Cell.Lo == u.Cell.Hi
		}
	}
	for i, u := range units {
		for j := range u.Cell.Sum {
			if math.Abs(u.Cell.Sum[j]-want[i].Cell.Sum[j]) > 1e-9 {
				t.Errorf("unit %d: sum %v, want %v", i, u.Cell.Sum, want[i].Cell.Sum)
			}
		}
		u.Cell.Sum, want[i].Cell.Sum = [cell.MaxDims]float64{}, [cell.MaxDims]float64{}
		if !reflect.DeepEqual(u, want[i]) {
			t.Errorf("unit %d:\n%+v, want\n%+v", i, u, want[i])
		}
	}
}

// However many surveys the data arrives in, the units are those of the bursts, and those that one survey reports.
func TestSurvey(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		crowd, more := drawCrowd(t)
		c := New(crowd, quiet)
		s, err := c.Survey(t.Context(), byNumber{})
		if err != nil {
			t.Fatal(err)
		}
		checkUnits(t, crowd, s.Groups, s.Units)
		more()
		if s, err = c.Survey(t.Context(), byNumber{}); err != nil || len(c.Left()) > 0 {
			t.Fatal(err, c.Left())
		}
		checkUnits(t, crowd, s.Groups, s.Units)
		bursts, timeNS, missing, threads := 0, uint64(0), 0, 0
		for _, r := range crowd.agents {
			missing += r.missing
			for _, thread := range r.threads {
				threads += min(len(thread), 1)
				for _, b := range thread {
					bursts++
					timeNS += b.ns
				}
			}
		}
		if s.Bursts != bursts+missing || uint64(s.TimeNS) != timeNS+7*uint64(missing) || s.Missing.Bursts != missing || s.Missing.TimeNS != 7*int64(missing) || s.Threads != threads {
			t.Errorf("%d bursts, %d ns, missing %+v, %d threads: want %d, %d, %d, %d", s.Bursts, s.TimeNS, s.Missing, s.Threads, bursts, timeNS, missing, threads)
		}
		fresh := New(crowd, quiet)
		again, err := fresh.Survey(t.Context(), byNumber{})
		if err != nil || !sameUnits(s.Units, again.Units) {
			t.Errorf("%v, asked for at once:\n%+v, want\n%+v", err, again, s)
		}
	})
}

// sameUnits reports whether units are equal but for how their groups are numbered; the tests' groups have one numbering
// where they are in one order.
func sameUnits(a, b []microcell.Unit) bool { return reflect.DeepEqual(a, b) }

// score is that of the bursts themselves.
func score(t *rapid.T, c *crowd, groups []microcell.Group, units []microcell.Unit, labels []int32, count int) *sequence.Score {
	threads := sequence.Threads{Count: count}
	for _, id := range slices.Sorted(slices.Values(c.IDs())) {
		r := c.agents[id]
		for _, thread := range r.threads {
			begin := len(threads.Labels)
			var anchors []sequence.Anchor
			for _, b := range thread {
				for uint64(len(anchors)) < b.segment {
					anchors = append(anchors, sequence.Anchor{At: len(threads.Labels) - begin, Event: uint64(len(anchors))})
				}
				if label := labels[unitOf(units, groups, b, r.by, r.side)]; label != refine.Absent {
					threads.Labels, threads.DurationNS = append(threads.Labels, label), append(threads.DurationNS, int64(b.ns))
				}
			}
			for len(anchors) < 3 {
				anchors = append(anchors, sequence.Anchor{At: len(threads.Labels) - begin, Event: uint64(len(anchors))})
			}
			threads.Ends = append(threads.Ends, len(threads.Labels))
			if r.anchored {
				threads.Anchors = append(threads.Anchors, anchors)
			}
		}
	}
	s, err := sequence.Align(threads, 1)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func drawLabels(t *rapid.T, n int) (labels []int32, count int) {
	count = rapid.IntRange(1, 4).Draw(t, "labels")
	for range n {
		labels = append(labels, int32(rapid.IntRange(-1, count-1).Draw(t, "label")))
	}
	return labels, count
}

// The score of labels is that of the bursts themselves, through splits and further surveys; what is known is not asked
// for again; the places are those of the bursts.
func TestScoreAndSplit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		crowd, more := drawCrowd(t)
		c := New(crowd, quiet)
		for range 2 {
			s, err := c.Survey(t.Context(), byNumber{})
			if err != nil {
				t.Fatal(err)
			}
			units := s.Units
			for range 3 {
				labels, count := drawLabels(t, len(units))
				from := c.Source(t.Context(), 2)
				got, err := from.Score(labels, count)
				if err != nil {
					t.Fatal(err)
				}
				compareScores(t, got, score(t, crowd, s.Groups, units, labels, count))
				before := c.Traffic()
				if again, err := from.Score(labels, count); err != nil || !reflect.DeepEqual(clean(again), clean(got)) {
					t.Errorf("asked again: %v, %+v, want %+v", err, again, got)
				}
				if now := c.Traffic(); now.Want != before.Want {
					t.Errorf("the same sequences were asked for again: %+v, before %+v", now.Want, before.Want)
				}
				for _, ask := range crowd.asks[len(crowd.asks)-len(crowd.agents):] {
					if r := ask.GetRelabel(); r == nil || len(r.Unit) > 0 && !r.Begin {
						t.Errorf("labels that are known go down again: %v", ask)
					}
				}
				var split []int32
				for i, u := range units {
					if u.Cell.Count > 0 && !u.Place && rapid.Bool().Draw(t, "split") {
						split = append(split, int32(i))
					}
				}
				places, err := from.Split(split)
				if err != nil || len(places) != len(split) {
					t.Fatal(err, len(places))
				}
				units = apply(units, split, places)
				checkUnits(t, crowd, s.Groups, units)
				checkLocate(t, c, crowd, s.Groups, units)
			}
			more()
		}
	})
}

// apply does with a list of units what package microcell does.
func apply(units []microcell.Unit, split []int32, places [][]microcell.Unit) []microcell.Unit {
	units = slices.Clone(units)
	for i, at := range split {
		if places[i] == nil {
			continue
		}
		u := &units[at]
		*u = microcell.Unit{Group: u.Group, Cell: cell.Cell{Key: u.Cell.Key}, Counters: make([]moment.Exact, len(u.Counters))}
		units = append(units, places[i]...)
	}
	return units
}

// checkLocate has every burst be where the test finds it, and a little beside it as well.
func checkLocate(t *rapid.T, c *Coordinator, crowd *crowd, groups []microcell.Group, units []microcell.Unit) {
	for _, r := range crowd.agents {
		for _, thread := range r.threads {
			for _, b := range thread {
				g := groupOf(b, r.by)
				want := unitOf(units, groups, b, r.by, r.side)
				if got, ok := c.Locate(g.Before, g.After, b.at); !ok || int(got) != want {
					t.Fatalf("%+v is in unit %d, %v: want %d", b, got, ok, want)
				}
				if _, ok := c.Locate(g.Before+9, g.After, b.at); ok {
					t.Fatal("a unit of call paths that nothing has")
				}
				beside := slices.Clone(b.at)
				beside[0] += 1e-9
				if got, ok := c.Locate(g.Before, g.After, beside); !ok || int(got) != want {
					t.Fatalf("beside %+v is unit %d, %v: want %d", b, got, ok, want)
				}
			}
		}
	}
}

// clean makes NaN comparable, and leaves out what a run that ends idle does not have.
func clean(s *sequence.Score) sequence.Score {
	out := *s
	out.Labels = slices.Clone(s.Labels)
	for i := range out.Labels {
		if math.IsNaN(out.Labels[i].Score) {
			out.Labels[i].Score = -1
		}
	}
	if math.IsNaN(out.Global) {
		out.Global = -1
	}
	return out
}

// compareScores compares scores but for segments in which no thread does anything, of which the last ones are not
// reported.
func compareScores(t *rapid.T, got, want *sequence.Score) {
	g, w := clean(got), clean(want)
	if w.Segments < g.Segments {
		t.Errorf("%d segments, want %d", g.Segments, w.Segments)
	}
	g.Distinct += w.Segments - g.Segments // one each
	g.Segments = w.Segments
	if !reflect.DeepEqual(g, w) {
		t.Errorf("score\n%+v, want\n%+v", g, w)
	}
}

// Units whose points an agent does not hold remain whole, also at the agents that do.
func TestPointsAreLost(t *testing.T) {
	at := func(v float64) burst { return burst{at: []float64{v}, ns: 5} }
	one := &reference{dims: 1, side: 1, parts: 9, threads: [][]burst{{at(.1), at(.2), at(1.1), at(1.2)}}}
	two := &reference{dims: 1, side: 1, parts: 9, threads: [][]burst{{at(.2), at(.3), at(1.1), at(1.2)}}, lost: map[int32]bool{0: true}}
	c := New(&crowd{agents: map[uint64]*reference{1: one, 2: two}}, quiet)
	if _, err := c.Survey(t.Context(), byNumber{}); err != nil {
		t.Fatal(err)
	}
	places, err := c.Split(t.Context(), []int32{0, 1})
	if err != nil || len(places) != 2 || places[0] != nil || len(places[1]) != 2 || places[1][0].Cell.Count != 2 {
		t.Fatalf("%v, %+v", err, places)
	}
	if unit, ok := c.Locate(0, 0, []float64{.2}); !ok || unit != 0 {
		t.Errorf("unit %d, %v", unit, ok)
	}
	s, err := c.Score(t.Context(), []int32{0, 1, 1, 2}, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	if s.Labels[0].Bursts != 4 || s.Labels[1].Bursts != 2 || s.Labels[2].Bursts != 2 || s.Global != 1 || s.Distinct != 1 {
		t.Errorf("%+v", s)
	}
}

// An agent that does not answer is left out and said; what is computed with its bursts ends, and the next survey is
// without them, and with them when it answers again.
func TestAgentIsLeftOut(t *testing.T) {
	at := func(v float64) burst { return burst{at: []float64{v}, ns: 5} }
	all := &crowd{agents: map[uint64]*reference{}}
	for id := range uint64(3) {
		all.agents[id+1] = &reference{dims: 1, side: 1, parts: 9, threads: [][]burst{{at(.1), at(1.1)}}}
	}
	c := New(all, quiet)
	gone := errors.New("gone")
	steps := []struct {
		name string
		do   func() error
	}{
		{"score", func() error { _, err := c.Score(t.Context(), []int32{0, 1}, 2, 1); return err }},
		{"split", func() error { _, err := c.Split(t.Context(), []int32{0}); return err }},
		{"label", func() error { return c.Label(t.Context(), []int32{1, -2}) }},
		{"sums", func() error { return c.Sums(t.Context(), takeNothing) }},
	}
	for _, s := range steps {
		all.change = nil
		for _, r := range all.agents {
			*r = reference{dims: 1, side: 1, parts: 9, threads: [][]burst{{at(.1), at(1.1), at(.2)}}, survey: r.survey + 10}
		}
		set, err := c.Survey(t.Context(), byNumber{})
		if err != nil || set.Bursts != 9 || len(c.Left()) > 0 {
			t.Fatal(s.name, err, set, c.Left())
		}
		if err := c.Label(t.Context(), []int32{1, 2}); err != nil {
			t.Fatal(s.name, err)
		}
		all.change = failing(2, gone)
		if err := s.do(); !errors.Is(err, ErrLeft) || !errors.Is(err, gone) {
			t.Errorf("%s: %v", s.name, err)
		}
		if left := c.Left(); len(left) != 1 || left[0].Agent != 2 || !errors.Is(left[0].Err, gone) {
			t.Errorf("%s: %v", s.name, left)
		}
		if set, err = c.Survey(t.Context(), byNumber{}); err != nil || set.Bursts != 6 || set.Threads != 2 || len(c.Left()) != 1 {
			t.Errorf("%s: %v, %+v, %v", s.name, err, set, c.Left())
		}
	}
	delete(all.agents, 3)
	if set, err := c.Survey(t.Context(), byNumber{}); err != nil || set.Bursts != 3 || len(c.Left()) != 2 {
		t.Errorf("%v, %+v, %v", err, set, c.Left())
	}
	delete(all.agents, 1)
	if set, err := c.Survey(t.Context(), byNumber{}); err == nil || !errors.Is(err, gone) {
		t.Errorf("no agent answers: %v, %+v", err, set)
	}
}

// A caller that gives up waiting gets that as an error, and no agent is blamed.
func TestGivenUp(t *testing.T) {
	all := &crowd{agents: map[uint64]*reference{1: {dims: 1, side: 1, parts: 9, threads: [][]burst{{{at: []float64{1}, ns: 1}}}}}}
	c := New(all, quiet)
	ctx, giveUp := context.WithCancel(t.Context())
	if _, err := c.Survey(ctx, byNumber{}); err != nil {
		t.Fatal(err)
	}
	giveUp()
	if _, err := c.Score(ctx, []int32{0}, 1, 1); !errors.Is(err, context.Canceled) || errors.Is(err, ErrLeft) || len(c.Left()) > 0 {
		t.Error(err, c.Left())
	}
	if s, err := c.Survey(t.Context(), byNumber{}); err != nil || s.Bursts != 1 {
		t.Error(err, s)
	}
}
