package waits

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Rank 1 computes for longer, twice: rank 0 waits from 100 to 300 and from 410 to 510. What of it lies in main counts
// there, with its causes and its part of the path.
func TestMainClosed(t *testing.T) {
	m := newMachine(2)
	m.residual = 10
	m.do(0, compute(1, 100), barrier(), compute(2, 100), barrier())
	m.do(1, compute(1, 300), barrier(), compute(2, 200), barrier())
	if err := m.run(); err != nil {
		t.Fatal(err)
	}
	run := m.recorded()
	run.Main = Span{250, 450}
	r := solved(t, run)
	if r.WaitNS != 300 || r.MainWaitNS != 50+40 {
		t.Fatalf("waits of %d ns, %d in main", r.WaitNS, r.MainWaitNS)
	}
	want := map[int32][3]int64{1: {200, 50, 50}, 2: {100, 40, 140}} // by cluster: charged, that in main, on the path in main
	for cluster, x := range want {
		var got [3]int64
		for _, c := range r.Causes {
			if r.Keys[c.Key].Cluster == cluster {
				got[0], got[1] = got[0]+c.NS, got[1]+c.Main.NS
			}
		}
		for _, s := range r.Shares {
			if r.Keys[s.Key].Cluster == cluster && r.Keys[s.Key].What == Computing {
				got[2] += s.MainNS
			}
		}
		if got != x {
			t.Errorf("cluster %d: %v, not %v", cluster, got, x)
		}
	}
}

// Two parts of a run have its waits and its path together, and what is charged to anything in one of them adds up.
func TestMainParts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := random(t)
		if err := m.run(); err != nil {
			t.Fatal(err)
		}
		run := m.recorded()
		for i := range run.Threads { // some waits are shorter than clocks agree
			run.Threads[i].Node = int32(i % 2)
		}
		run.UncertaintyNS = slices.Repeat([]int64{rapid.Int64Range(0, 5).Draw(t, "uncertainty")}, 2)
		cut := rapid.Int64Range(0, run.DurationNS).Draw(t, "cut")
		var waits, path, linked, unexplained, uncertain, inMPI int64
		for _, run.Main = range []Span{{0, cut}, {cut, run.DurationNS}} {
			r := solved(t, run)
			charged, direct, on := r.MainUnexplainedNS, int64(0), int64(0)
			for _, c := range r.Causes {
				if charged += c.Main.NS; c.Main.NS < 0 || c.Main.NS > c.NS || c.Main.DirectNS < 0 || c.Main.DirectNS > c.DirectNS || c.Main.Waits > c.Waits || c.Main.MoreNS > c.MoreNS {
					t.Fatalf("%+v", c)
				}
				direct += c.Main.DirectNS
			}
			for _, s := range r.Shares {
				if on += s.MainNS; s.MainNS < 0 || s.MainNS > s.NS {
					t.Fatalf("%+v", s)
				}
			}
			if charged != r.MainWaitNS || direct > charged || on != run.Main.EndNS-run.Main.BeginNS {
				t.Fatalf("within %v: %d ns are charged, %d directly, of %d; a path of %d ns", run.Main, charged, direct, r.MainWaitNS, on)
			}
			for _, l := range r.Links {
				if x := l.Main; x.NS > l.NS || x.Waits > l.Waits || x.ComputingNS+x.MPINS+x.OutsideNS+x.HandedOnNS+x.NotExplained > x.NS {
					t.Fatalf("%+v", l)
				}
				linked += l.Main.NS
			}
			for _, n := range r.NotExplained {
				unexplained += n.MainNS
			}
			if whole := total(r); run.Main.EndNS == run.DurationNS && run.Main.BeginNS == cut && (linked != whole[0] || unexplained != whole[1]) {
				t.Fatalf("links and what is not explained: %d and %d ns, together %d", linked, unexplained, whole)
			}
			for _, d := range r.Direct {
				if d.MainWaits > d.Waits || r.Keys[d.Key].What == NotKept {
					t.Fatalf("%+v", d)
				}
			}
			uncertain += r.MainUncertainNS
			if run.Main.EndNS == run.DurationNS && run.Main.BeginNS == cut && uncertain != r.UncertainNS {
				t.Fatalf("%d ns are uncertain, in both parts %d", r.UncertainNS, uncertain)
			}
			waits, path, inMPI = waits+r.MainWaitNS, path+on, inMPI+r.MainMPINS
			if waits > r.WaitNS || run.Main.EndNS == run.DurationNS && run.Main.BeginNS == cut && (waits != r.WaitNS || path != run.DurationNS || inMPI != r.MPINS) {
				t.Fatalf("%d ns of waits of %d, a path of %d of %d, %d of %d in MPI", waits, r.WaitNS, path, run.DurationNS, inMPI, r.MPINS)
			}
		}
	})
}

// total is how long links wait, and calls that are not explained take.
func total(r *Result) (ns [2]int64) {
	for _, l := range r.Links {
		ns[0] += l.NS
	}
	for _, n := range r.NotExplained {
		ns[1] += n.NS
	}
	return ns
}
