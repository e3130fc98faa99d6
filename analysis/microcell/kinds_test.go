package microcell_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"moriens/analysis/grouping"
	"moriens/analysis/kinds"
	"moriens/analysis/kinds/plant"
	"moriens/analysis/microcell"
	"moriens/analysis/sequence"
	"moriens/analysis/space"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/team"
	"moriens/internal/testenv"
)

// nodes are members that have the bursts of some threads each, behind one that knows the units.
type nodes struct {
	mu     sync.Mutex // of memory
	memory *memory
	set    microcell.Set
	of     []int32 // by thread: its node, from 0
	o      grouping.Options
}

func newNodes(t testing.TB, b grouping.Bursts, o grouping.Options, members int) *nodes {
	side := grouping.MostSide(o.Dims, o.Resolution)
	n := &nodes{o: o}
	n.set, n.memory = summed(t, b, o, side, nil)
	for thread := range b.ThreadEnds {
		n.of = append(n.of, int32(thread*members/len(b.ThreadEnds)))
	}
	return n
}

// Score implements microcell.Source.
func (n *nodes) Score([]int32, int) (*sequence.Score, error) {
	return nil, fmt.Errorf("kinds are not found by the score")
}

// Split implements microcell.Source.
func (n *nodes) Split(units []int32) ([][]microcell.Unit, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.memory.Split(units)
}

// A perBurst is what is found of a burst.
type perBurst struct{ label, kind int32 }

// found has a first member and the nodes find kinds. bursts are by row of the run.
func (n *nodes) found(t testing.TB, members int) (*microcell.Result, []perBurst) {
	t.Helper()
	owners := make([]int32, len(n.of))
	for thread, node := range n.of {
		owners[thread] = node + 1
	}
	k, err := microcell.NewKinds(n.set, n, n.o)
	if err != nil {
		t.Fatal(err)
	}
	k.At = func(_ int, unit int32) (int32, bool) { return unit, true }
	k.Anchored = n.memory.bursts.Anchors != nil
	bursts := make([]perBurst, n.memory.bursts.Len())
	results, err := mpixtest.Run(members+1, func(m team.Team) (*microcell.Result, error) {
		all := team.Threads{Team: m, Of: owners}
		if m.Rank() == 0 {
			return k.Find(all)
		}
		member, rows := n.member(k, all)
		r, err := member.Find(n.o)
		if err != nil {
			return nil, err
		}
		for i, row := range rows {
			bursts[row] = perBurst{r.Labels[i], r.Kinds[i]}
		}
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return results[0], bursts
}

// member has the bursts of a node's threads.
func (n *nodes) member(k *microcell.Kinds, all team.Threads) (*microcell.Member, []int) {
	b := &n.memory.bursts
	groups, groupOf := k.Groups()
	short := k.Short()
	m := &microcell.Member{Bursts: kinds.Bursts{
		Dims: len(n.o.Dims), Timed: grouping.Timed(n.o.Dims), Side: n.set.Side, Steady: grouping.Steady(n.o.Dims), Groups: len(groups), Nodes: all.Of, Team: all,
	}}
	for _, g := range groups {
		own := *g
		m.Groups = append(m.Groups, &own)
	}
	var rows []int
	begin := 0
	for thread, end := range b.ThreadEnds {
		place := []int{0} // of the thread's bursts
		first := len(rows)
		for row := begin; row < end; row++ {
			if unit := n.memory.unit[row]; all.Mine(thread) && unit >= 0 && !short[unit] {
				rows = append(rows, row)
			}
			place = append(place, len(rows)-first)
		}
		if b.Anchors != nil {
			var anchors []sequence.Anchor
			for _, a := range b.Anchors[thread] {
				if all.Mine(thread) {
					anchors = append(anchors, sequence.Anchor{At: place[a.At], Event: a.Event})
				}
			}
			m.Bursts.Anchors = append(m.Bursts.Anchors, anchors)
		}
		m.Bursts.Ends = append(m.Bursts.Ends, len(rows))
		begin = end
	}
	for _, row := range rows {
		u := &n.set.Units[n.memory.unit[row]]
		m.Bursts.Cell = append(m.Bursts.Cell, u.Cell.Key[:len(n.o.Dims)]...)
		m.Bursts.Group = append(m.Bursts.Group, groupOf[u.Group])
		m.Step = append(m.Step, uint16(kinds.Step(b.DurationNS[row])))
		if !m.Bursts.Timed {
			m.Bursts.Length = append(m.Bursts.Length, grouping.LengthCell(b.DurationNS[row], n.set.Side))
		}
		if n.o.By == grouping.ByNone && b.Before != nil {
			m.Bursts.Call = append(m.Bursts.Call, int64(b.Before[row])<<32|int64(b.After[row]))
		}
	}
	if m.Bursts.Timed {
		m.Bursts.Length = m.Bursts.Cell
	}
	m.Units = func() ([]int32, []microcell.Unit) {
		n.mu.Lock()
		defer n.mu.Unlock()
		of := make([]int32, len(rows))
		in := make(map[int32][]int32)
		for i, row := range rows {
			of[i] = n.memory.unit[row]
			in[of[i]] = append(in[of[i]], int32(row))
		}
		units := make([]microcell.Unit, len(n.memory.units))
		for unit, list := range in {
			units[unit] = n.memory.sum(microcell.Unit{}, list)
		}
		return of, units
	}
	return m, rows
}

var (
	logDuration = []space.Dim{{Num: space.Duration, Scale: space.Log}}
	byCounters  = []space.Dim{{Num: "PAPI_TOT_INS", Scale: space.Log}, {Num: "PAPI_TOT_INS", Den: "PAPI_TOT_CYC"}}
)

// Members that know micro-cells, and the first of them no burst at all, find what one process finds that has all
// bursts: clusters, kinds and figures.
func TestKindsOfCells(t *testing.T) {
	seed := testenv.Seed(t)
	for _, tt := range []struct {
		name    string
		run     plant.Params
		by      grouping.By
		o       grouping.Options
		members []int
	}{
		{"four kinds, a slow rank", plant.FourKinds(seed, 120, plant.Load4), grouping.ByCalls, grouping.Options{}, []int{1, 2, 3, 4, 5}},
		{"four kinds under load", plant.FourKinds(seed+1, 120, plant.Load20), grouping.ByCalls, grouping.Options{}, []int{2}},
		{"classes of ranks", plant.Classes(seed+2, 150, plant.Quiet), grouping.ByCalls, grouping.Options{}, []int{2}},
		{"a rare kind", plant.Rare(seed+3, 6, 20, 1.5, plant.Quiet), grouping.ByCalls, grouping.Options{}, []int{2}},
		{"turns", plant.Turns(seed+4, 150), grouping.ByCalls, grouping.Options{}, []int{2}},
		{"all calls together", plant.FourKinds(seed+5, 60, plant.Load4), grouping.ByNone, grouping.Options{}, []int{3}},
		{"counters", plant.ByCounters(seed+6, 60, plant.Load20), grouping.ByNone, grouping.Options{}, []int{1, 5}},
		{"density alone", plant.FourKinds(seed+7, 100, plant.Load4), grouping.ByCalls, grouping.Options{Kinds: grouping.KindsByDensity}, []int{4}},
		{"unaligned", plant.FourKinds(seed+8, 300, plant.Load4), grouping.ByCalls, grouping.Options{Unaligned: true, Unstrated: true}, []int{5}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.run.Anchors = true
			run := tt.run.Run()
			o := tt.o
			o.Dims, o.By, o.JobThreads, o.Workers = logDuration, tt.by, len(run.ThreadEnds), 2
			if run.Counters != nil {
				o.Dims = byCounters
			}
			for _, members := range tt.members {
				n := newNodes(t, run.Bursts(), o, members)
				b := run.Bursts()
				b.Nodes = n.of
				want, err := grouping.Compute(b, o)
				if err != nil {
					t.Fatal(err)
				}
				got, bursts := n.found(t, members)
				sameKinds(t, want, got, bursts)
			}
		})
	}
}

// sameKinds compares.
func sameKinds(t *testing.T, want *grouping.Result, got *microcell.Result, bursts []perBurst) {
	t.Helper()
	if !got.Certificate.Exact {
		t.Logf("%d bursts in question", got.Certificate.Bursts)
	}
	differ := 0
	for i, x := range bursts {
		if x.label != want.Labels[i] || x.kind != want.Kinds[i] {
			if differ++; differ < 5 {
				t.Logf("burst %d: cluster %d, kind %d: want %d, %d", i, x.label, x.kind, want.Labels[i], want.Kinds[i])
			}
		}
	}
	if differ > 0 {
		t.Errorf("%d of %d bursts have another cluster or kind, %d in question", differ, len(bursts), got.Certificate.Bursts)
	}
	if len(got.Clusters) != len(want.Clusters) {
		t.Fatalf("%d clusters, want %d", len(got.Clusters), len(want.Clusters))
	}
	for i := range got.Clusters {
		x, y := &got.Clusters[i], &want.Clusters[i]
		if x.Bursts != y.Bursts || x.Kind != y.Kind || x.Eps != y.Eps || x.MinPts != y.MinPts || x.MedianNS != y.MedianNS || x.Core != y.Core || x.Why != y.Why ||
			x.Disturbed.Bursts != y.Disturbed.Bursts || fmt.Sprint(x.Predicted, x.Valley, x.Before, x.After) != fmt.Sprint(y.Predicted, y.Valley, y.Before, y.After) {
			t.Errorf("cluster %d:\n%+v\nwant\n%+v", i+1, x, y)
		}
		if off := float64(x.TimeNS-y.TimeNS) / float64(y.TimeNS); off > .001 || off < -.001 {
			t.Errorf("cluster %d: %d ns, want %d", i+1, x.TimeNS, y.TimeNS)
		}
	}
	if got.Noise.Bursts != want.Noise.Bursts || got.Clustered.Bursts != want.Clustered.Bursts || !slices.Equal(got.Speed, want.Speed) {
		t.Errorf("noise %+v, clustered %+v, speed %v: want %+v, %+v, %v", got.Noise, got.Clustered, got.Speed, want.Noise, want.Clustered, want.Speed)
	}
	// Times of kinds that share a cell are right to a thousandth. Where columns are equally good, the alignment depends on
	// these times. The shuffled order is drawn again.
	for _, x := range []struct{ got, want, off float64 }{{got.Score, want.Score, .01}, {got.Shuffled, want.Shuffled, .03}, {got.Predicted, want.Predicted, 1e-6}} {
		if d := x.got - x.want; d > x.off || d < -x.off || (x.got != x.got) != (x.want != x.want) {
			t.Errorf("score, shuffled and predicted %v, want %v", []float64{got.Score, got.Shuffled, got.Predicted}, []float64{want.Score, want.Shuffled, want.Predicted})
		}
	}
	if len(got.Tree.Levels) != len(want.Tree.Levels) || got.Tree.Why != want.Tree.Why {
		t.Errorf("%q, want %q", got.Tree.Why, want.Tree.Why)
	}
}
