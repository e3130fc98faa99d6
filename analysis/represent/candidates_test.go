package represent_test

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"moriens/analysis/represent"
)

// ranksOf adds up what the threads of a run compute, and how long others wait for them.
func ranksOf(run represent.Run, clusters int) represent.Ranks {
	var r represent.Ranks
	for c := range int32(clusters) {
		r.Quantities = append(r.Quantities, represent.Quantity{Cluster: c + 1})
	}
	for i := range run.Threads {
		row := make([]float64, clusters)
		for b, c := range run.Threads[i].Cluster {
			if c > 0 {
				row[c-1] += float64(run.Threads[i].DurationNS[b])
			}
		}
		r.Values = append(r.Values, row...)
	}
	return r
}

func burstBytes(w *represent.Window, thread int) int64 {
	return 100 * int64(w.Behind[thread]-w.First[thread])
}

func neighbours(ranks int) func(w *represent.Window, thread int) []int32 {
	return func(w *represent.Window, thread int) []int32 {
		if w.Phase == 0 {
			return nil
		}
		return []int32{int32((thread + ranks - 1) % ranks), int32((thread + 1) % ranks)}
	}
}

// The whole way of the program: its slow rank and its anomaly are kept, for the right reasons, and the peers of
// all.
func TestHaloIsKept(t *testing.T) {
	run := halo(8)
	classes, err := represent.Classify(ranksOf(run, 6), represent.ClassOptions{Outliers: -1})
	if err != nil {
		t.Fatal(err)
	}
	if len(classes.Classes) != 1 || len(classes.Outliers) != 1 || classes.Outliers[0].Thread != 5 ||
		!strings.HasPrefix(classes.Outliers[0].Reason, "spends 30 % more time in cluster 2 than its class's median (657 ms, median 505 ms)") {
		t.Fatalf("%+v", classes)
	}
	f := find(t, run, represent.FindOptions{})
	list := represent.Candidates(classes, f, represent.Keeping{Bytes: burstBytes, Peers: neighbours(8)}, nil)
	c := choose(t, list, mib)
	if len(c.Dropped) != 0 {
		t.Errorf("%+v", c.Dropped)
	}
	exemplar := int32(classes.Classes[0].Exemplar)
	whys := make(map[represent.Why]int)
	for _, p := range c.Kept {
		whys[p.Why]++
		switch p.Why {
		case represent.Representative:
			if !slices.Contains(p.Threads, exemplar) || p.Reason != f.Windows[p.Window].Reason {
				t.Errorf("%+v", p)
			}
		case represent.Outlier:
			if !slices.Equal(p.Threads, []int32{5}) || !strings.HasPrefix(p.Reason, "rank 5 spends 30 % more time in cluster 2") {
				t.Errorf("%+v", p)
			}
		case represent.Anomaly:
			if p.Window != len(f.Windows) || !slices.Contains(p.Threads, 3) || !slices.Contains(p.Threads, exemplar) {
				t.Errorf("%+v", p)
			}
		case represent.Fallback: // output, which rank 0 alone makes
			if !slices.Equal(p.Threads, []int32{0}) {
				t.Errorf("%+v", p)
			}
		case represent.Peer:
			if !strings.HasPrefix(p.Reason, "exchanges messages with rank ") {
				t.Errorf("%+v", p)
			}
		}
	}
	if whys[represent.Representative] != 3 || whys[represent.Outlier] != 3 || whys[represent.Anomaly] != 1 || whys[represent.Fallback] != 1 || whys[represent.Peer] < 3 {
		t.Errorf("%v", whys)
	}
	all := int64(0)
	for i := range run.Threads {
		all += 100 * int64(len(run.Threads[i].Cluster))
	}
	if bytes := bytesOf(c.Kept); bytes*100 > all {
		t.Errorf("%d bytes of %d are kept", bytes, all)
	}
}

// Without iterations what fits is kept, of all threads.
func TestAperiodicIsKept(t *testing.T) {
	random := rand.New(rand.NewPCG(9, 1))
	p := newPlan(6)
	for range 100 {
		for th := range 6 {
			p.burst(th, int32(1+random.IntN(4)), int64(1+random.IntN(3))*ms)
		}
	}
	classes, err := represent.Classify(ranksOf(p.run, 4), represent.ClassOptions{Outliers: -1})
	if err != nil {
		t.Fatal(err)
	}
	f := find(t, p.run, represent.FindOptions{})
	list := represent.Candidates(classes, f, represent.Keeping{Bytes: burstBytes, Peers: neighbours(6)}, nil)
	if c := choose(t, list, mib); bytesOf(c.Kept) != 6*100*100 || len(c.Dropped) != 0 {
		t.Errorf("%d bytes, %+v", bytesOf(c.Kept), c.Dropped)
	}
	for budget := int64(0); budget < 6*100*100; budget += 7000 {
		c := choose(t, list, budget)
		if bytes := bytesOf(c.Kept); bytes > budget || bytes < budget-16*100 {
			t.Errorf("%d bytes of %d", bytes, budget)
		}
		if n := len(pairs(c.Kept)); n > 0 && n <= len(f.Windows) {
			for _, part := range c.Kept {
				if !slices.Contains(part.Threads, int32(classes.Classes[0].Exemplar)) {
					t.Errorf("%d bytes: %+v", budget, part)
				}
			}
		}
	}
}
