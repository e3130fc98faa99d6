package rundir

import (
	"fmt"
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"moriens/trace"
)

type fatal interface {
	Helper()
	Fatal(...any)
	Fatalf(string, ...any)
}

func sameRun(t fatal, want, got *trace.Run) {
	t.Helper()
	samePaths(t, want, got)
	withTransfers := slices.ContainsFunc(want.Threads, func(t trace.Thread) bool { return t.Transfers.Len() > 0 })
	if d := cmp.Diff(comparable(want, withTransfers), comparable(got, withTransfers), cmpopts.EquateEmpty(), cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-12, 1e-3)); d != "" {
		t.Fatalf("read back (+) differs from what was written (-):\n%s", d)
	}
}

// sameNumbers checks that every call path is as it was, frames, name and number, and that calls and bursts have the
// numbers that they had.
func sameNumbers(t fatal, want, got *trace.Run) {
	t.Helper()
	if d := cmp.Diff(want.CallPaths, got.CallPaths, cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("call paths read back (+) differ from what was written (-):\n%s", d)
	}
	if d := cmp.Diff(want.Names(), got.Names()); d != "" {
		t.Fatalf("names read back (+) differ from what was written (-):\n%s", d)
	}
	k := 0
	for _, w := range want.Threads {
		if w.Calls.Len()+w.Bursts.Len() == 0 && want.Windows == nil {
			continue
		}
		g := got.Threads[k]
		k++
		if d := cmp.Diff([][]uint32{w.Calls.Path, w.Bursts.Before, w.Bursts.After}, [][]uint32{g.Calls.Path, g.Bursts.Before, g.Bursts.After}, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("thread %d: call paths of calls, before and after bursts read back (+) are not those written (-):\n%s", k-1, d)
		}
	}
	for i, w := range want.Clusters {
		if d := cmp.Diff([][]trace.PathCount{w.Before, w.After}, [][]trace.PathCount{got.Clusters[i].Before, got.Clusters[i].After}, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("cluster %d (-) has become (+)\n%s", w.ID, d)
		}
	}
}

// samePaths checks that calls and bursts have the call paths that they had: the numbers may differ, and of a call that
// touches no burst only what a Paraver trace says is known.
func samePaths(t fatal, want, got *trace.Run) {
	t.Helper()
	number := make(map[uint32]uint32)
	same := func(a, b uint32) {
		if n, known := number[a]; known && n != b {
			t.Fatalf("call path %d, %v, has become both %v and %v", a, want.CallPaths[a], got.CallPaths[n], got.CallPaths[b])
		}
		number[a] = b
		if want.CallPaths[a].Function != got.CallPaths[b].Function || len(want.CallPaths[a].Frames) > 0 && len(got.CallPaths[b].Frames) == 0 {
			t.Fatalf("call path %v has become %v", want.CallPaths[a], got.CallPaths[b])
		}
	}
	clustered := make(map[uint32]bool)
	for _, c := range want.Clusters {
		for _, p := range slices.Concat(c.Before, c.After, c.WholeBefore, c.WholeAfter) {
			clustered[p.Path] = true
		}
	}
	k := 0
	for _, w := range want.Threads {
		if w.Calls.Len()+w.Bursts.Len() == 0 && want.Windows == nil {
			continue
		}
		g := got.Threads[k]
		k++
		for i := range w.Bursts.Before {
			same(w.Bursts.Before[i], g.Bursts.Before[i])
			same(w.Bursts.After[i], g.Bursts.After[i])
			if was, is := nodes(want, &w.Bursts, i), nodes(got, &g.Bursts, i); was != is {
				t.Fatalf("burst %d of thread %d went by the nodes %q, and goes by %q", i, k-1, was, is)
			}
		}
		for i, p := range w.Calls.Path {
			if want.CallPaths[p].Function != got.CallPaths[g.Calls.Path[i]].Function {
				t.Fatalf("call %d of thread %d was %v, and is %v", i, k-1, want.CallPaths[p], got.CallPaths[g.Calls.Path[i]])
			}
		}
	}
	seen := make(map[uint32]uint32)
	for a, b := range number {
		if other, twice := seen[b]; twice {
			t.Fatalf("call paths %v and %v have become one, %v", want.CallPaths[a], want.CallPaths[other], got.CallPaths[b])
		}
		seen[b] = a
		if d := cmp.Diff(fromClusters(want.CallPaths[a]), fromClusters(got.CallPaths[b]), cmpopts.EquateEmpty()); clustered[a] && d != "" {
			t.Fatalf("call path %d (-) has become (+)\n%s", a, d)
		}
	}
}

// fromClusters is what clusters.json alone reports a call path.
func fromClusters(p trace.CallPath) trace.CallPath {
	p.Frames = slices.Clone(p.Frames)
	for i := range p.Frames {
		p.Frames[i].FirstFile, p.Frames[i].FirstLine, p.Frames[i].Inlined = "", 0, nil
	}
	return p
}

func nodes(run *trace.Run, b *trace.Bursts, i int) string {
	if b.Lineage == nil {
		return ""
	}
	return run.Lineages[b.Lineage[i]]
}

// comparable is a run without call paths, nodes, names of marks instead of their numbers, and without what no file
// holds; without transfers where those of messages alone are known, which is for TestTransfersComeBack.
func comparable(run *trace.Run, transfers bool) any {
	c := *run
	c.Start = run.Start.UTC().Truncate(time.Minute)
	c.CallPaths, c.PathNames, c.MarkNames, c.Lineages = nil, nil, nil, nil
	c.Worlds, c.Threads, c.Clusters, c.Messages = nil, nil, nil, nil
	for _, w := range run.Worlds {
		w.MPILibrary = ParseMPILibrary(w.MPILibrary).String()
		c.Worlds = append(c.Worlds, w)
	}
	for _, x := range run.Clusters {
		for _, list := range []*[]trace.PathCount{&x.Before, &x.After, &x.WholeBefore, &x.WholeAfter} {
			var counts []trace.PathCount
			for _, p := range *list {
				counts = append(counts, trace.PathCount{Bursts: p.Bursts})
			}
			*list = counts
		}
		c.Clusters = append(c.Clusters, x)
	}
	var marks []string
	place := make([]int, len(run.Threads))
	for i, t := range run.Threads {
		if t.Calls.Len()+t.Bursts.Len() == 0 && run.Windows == nil {
			place[i] = -1
			continue
		}
		place[i] = len(c.Threads)
		for _, p := range t.Phases {
			marks = append(marks, fmt.Sprintf("%v: phase %q depth %d from %d to %d, %t", NameOf(&t), run.MarkNames[p.Name], p.Depth, p.BeginNS, p.EndNS, p.Unfinished))
		}
		for _, e := range t.Events {
			marks = append(marks, fmt.Sprintf("%v: event %q at %d, %d", NameOf(&t), run.MarkNames[e.Name], e.TimeNS, e.Value))
		}
		t.Phases, t.Events = nil, nil
		t.Bursts.Kind = t.Bursts.Kinds()
		t.Calls.Path, t.Bursts.Before, t.Bursts.After, t.Bursts.Lineage = nil, nil, nil, nil
		if !slices.ContainsFunc(t.Calls.Count, func(n int64) bool { return n != 1 }) {
			t.Calls.Count = nil
		}
		if !transfers {
			t.Transfers = trace.Transfers{}
		}
		if !slices.ContainsFunc(t.Transfers.PeerWorld, func(w int32) bool { return int(w) != t.World }) {
			t.Transfers.PeerWorld = nil
		}
		x := t.Collectives
		t.Collectives.Ordinal = nil
		t.Collectives.Comm, t.Collectives.Root = slices.Clone(x.Comm), slices.Clone(x.Root)
		for k, comm := range x.Comm {
			root := int32(-1)
			if comm >= 0 {
				g := run.Communicators[comm]
				own := int32(slices.Index(g.Ranks, t.Rank))
				switch {
				case g.World != t.World || g.Window || g.File:
					t.Collectives.Comm[k] = -1
				case x.Root[k] == -3 && g.Inter:
					root = -3
				case own >= 0 && (x.Root[k] == own || x.Root[k] == -3):
					root = own
				}
			}
			t.Collectives.Root[k] = root
		}
		c.Threads = append(c.Threads, t)
	}
	for i := range c.Threads {
		w := &c.Threads[i].Waits
		w.For = slices.Clone(w.For)
		for k, thread := range w.For {
			if thread >= 0 {
				w.For[k] = int32(place[thread])
			}
		}
	}
	c.Communicators = nil
	for _, x := range run.Communicators {
		if x.Window || x.File {
			x.Ranks, x.Inter = nil, false
		}
		c.Communicators = append(c.Communicators, x)
	}
	for _, m := range run.Messages {
		m.From, m.To, m.LateNS = place[m.From], place[m.To], 0
		c.Messages = append(c.Messages, m)
	}
	return struct {
		Run   trace.Run
		Marks []string
	}{c, marks}
}
