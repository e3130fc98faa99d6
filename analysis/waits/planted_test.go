package waits

import (
	"fmt"
	"testing"

	"moriens/internal/team"
)

// recorded carries out a program, and returns what was recorded of it.
func recorded(t fatal, m *machine) *Run {
	t.Helper()
	if err := m.run(); err != nil {
		t.Fatalf("%v", err)
	}
	return m.recorded()
}

// solve carries out a program, and returns what was found of it; what must hold of every run is tested.
func solve(t fatal, m *machine) (*Run, *Result) {
	t.Helper()
	run := recorded(t, m)
	return run, solved(t, run)
}

type fatal interface {
	Helper()
	Fatalf(format string, args ...any)
}

func solved(t fatal, run *Run) *Result {
	t.Helper()
	lanes, err := Local(run, team.Threads{})
	if err != nil {
		t.Fatalf("%v", err)
	}
	r := lanes.Solve()
	sums(t, run, r)
	return r
}

// sums tests the identities: charges and what is not explained are the waits, the path is the run, and every call is
// its wait and its residual.
func sums(t fatal, run *Run, r *Result) {
	t.Helper()
	var waits, charges, inMessages, forMessages, path, shares int64
	for i, list := range r.Waits {
		for k, w := range list {
			ns := w.UntilNS - run.Threads[i].EnterNS[w.Row]
			if waits += ns; w.Kind.InMessages() {
				inMessages += ns << w.Halved
			}
			if ns <= 0 || w.UntilNS > run.Threads[i].ExitNS[w.Row] || k > 0 && list[k-1].Row >= w.Row {
				t.Fatalf("thread %d: wait %+v of a call from %d to %d", i, w, run.Threads[i].EnterNS[w.Row], run.Threads[i].ExitNS[w.Row])
			}
		}
	}
	for _, c := range r.Causes {
		if c.NS < 0 || c.DirectNS < 0 || c.DirectNS > c.NS {
			t.Fatalf("%+v", c)
		}
		charges += c.NS
		forMessages += c.Messages.NS
		if m := c.Messages; m.NS < 0 || m.DirectNS > m.NS || m.Waits > c.Waits {
			t.Fatalf("%+v", c)
		}
	}
	if inMessages != r.MessagesWaitNS || forMessages+r.MessagesUnexplainedNS != inMessages {
		t.Fatalf("waits in messages %d, in sum %d; charges %d, unexplained %d", inMessages, r.MessagesWaitNS, forMessages, r.MessagesUnexplainedNS)
	}
	apart := waits
	for _, n := range r.NotExplained {
		apart += n.NS
	}
	if apart > r.MPINS {
		t.Fatalf("waits of %d ns and %+v in %d ns of MPI", waits, r.NotExplained, r.MPINS)
	}
	if waits != r.WaitNS || charges+r.UnexplainedNS != waits {
		t.Fatalf("waits %d, in sum %d; charges %d, unexplained %d", waits, r.WaitNS, charges, r.UnexplainedNS)
	}
	for i, p := range r.Path {
		if path += p.EndNS - p.BeginNS; i > 0 && p.BeginNS != r.Path[i-1].EndNS {
			t.Fatalf("the path goes from %+v to %+v", r.Path[i-1], p)
		}
	}
	for _, x := range r.Shares {
		shares += x.NS
	}
	length := run.DurationNS
	if len(run.Threads) == 0 || run.Known { // then not all that it goes through is here
		length = 0
	}
	if path != length || shares != length {
		t.Fatalf("the path is %d ns, of parts of %d ns; the run %d", path, shares, run.DurationNS)
	}
	for _, l := range r.Links {
		if l.NS != l.ComputingNS+l.MPINS+l.OutsideNS+l.HandedOnNS+l.NotExplained && r.UnexplainedNS == 0 {
			t.Fatalf("%+v", l)
		}
	}
}

// kinds are the waits in sum, by kind.
func kinds(run *Run, r *Result) map[Kind]int64 {
	sums := make(map[Kind]int64)
	for i, list := range r.Waits {
		for _, w := range list {
			sums[w.Kind] += w.UntilNS - run.Threads[i].EnterNS[w.Row]
		}
	}
	return sums
}

// caused are the charges by thread and cluster; of MPI the cluster is 1000, of what is outside 2000.
func caused(r *Result) byCluster {
	sums := make(byCluster)
	for _, c := range r.Causes {
		sums.add(r, c.Thread, c.Key, c.NS)
	}
	return sums
}

// pathOf is what the critical path has, likewise.
func pathOf(r *Result) byCluster {
	sums := make(byCluster)
	for _, c := range r.Shares {
		sums.add(r, c.Thread, c.Key, c.NS)
	}
	return sums
}

func (sums byCluster) add(r *Result, thread, key int32, ns int64) {
	k := r.Keys[key]
	cluster := k.Cluster
	switch k.What {
	case MPI:
		cluster = 1000
	case Outside:
		cluster = 2000
	}
	sums[[2]int32{thread, cluster}] += ns
}

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if g, w := fmt.Sprint(got), fmt.Sprint(want); g != w {
		t.Errorf("%s: %s, want %s", what, g, w)
	}
}

type byKind = map[Kind]int64
type byCluster map[[2]int32]int64
