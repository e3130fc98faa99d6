package retention

import (
	"context"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"moriens/analysis/represent"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/rundir"
)

// plant is a run in which each iteration of each rank has two bursts, of clusters 1 and 2, and meets the others; change
// is how a burst differs from what is usual.
func plant(ranks, iterations int, change func(rank, iteration int, usualNS int64) int64) *trace.Run {
	run := &trace.Run{
		Nodes: []trace.Node{{Name: "alpha"}}, Worlds: []trace.World{{Executable: "/opt/app", Size: ranks}},
		CallPaths: []trace.CallPath{{}, {Function: "MPI_Init"}, {Function: "MPI_Sendrecv"}, {Function: "MPI_Allreduce"}, {Function: "MPI_Finalize"}},
		Clusters:  []trace.Cluster{{ID: 1, Eps: .1, MinPts: 4}, {ID: 2, Eps: .1, MinPts: 4}},
	}
	world := trace.Communicator{ID: 1}
	for rank := range ranks {
		world.Ranks = append(world.Ranks, rank)
	}
	run.Communicators = []trace.Communicator{world}
	run.Threads = make([]trace.Thread, ranks)
	now := int64(0) // when all are through with an iteration
	for rank := range ranks {
		t := &run.Threads[rank]
		*t = trace.Thread{Rank: rank}
		t.Calls = trace.Calls{EnterNS: []int64{0}, ExitNS: []int64{1000}, Path: []uint32{1}}
	}
	now = 1000
	burst := func(t *trace.Thread, cluster int32, path uint32, ns int64) {
		last := t.Calls.Len() - 1
		b := &t.Bursts
		b.StartNS, b.DurationNS = append(b.StartNS, t.Calls.ExitNS[last]), append(b.DurationNS, ns)
		b.Before, b.After, b.Cluster = append(b.Before, t.Calls.Path[last]), append(b.After, path), append(b.Cluster, cluster)
		enter := t.Calls.ExitNS[last] + ns
		t.Calls.EnterNS, t.Calls.ExitNS, t.Calls.Path = append(t.Calls.EnterNS, enter), append(t.Calls.ExitNS, enter+1000), append(t.Calls.Path, path)
	}
	for i := range iterations {
		latest := int64(0)
		for rank := range ranks {
			t := &run.Threads[rank]
			burst(t, 1, 2, change(rank, i, 100_000))
			burst(t, 2, 3, 30_000)
			latest = max(latest, t.Calls.EnterNS[t.Calls.Len()-1])
		}
		now = latest + 1000
		for rank := range ranks {
			t := &run.Threads[rank]
			t.Calls.ExitNS[t.Calls.Len()-1] = now
			c := &t.Collectives
			c.Call, c.Comm, c.Ordinal = append(c.Call, uint32(t.Calls.Len()-1)), append(c.Comm, 0), append(c.Ordinal, int64(i))
			c.Sent, c.Received, c.Root = append(c.Sent, 8), append(c.Received, 8), append(c.Root, -1)
		}
	}
	for rank := range ranks {
		t := &run.Threads[rank]
		burst(t, 2, 4, 30_000)
		t.EndNS = t.Calls.ExitNS[t.Calls.Len()-1]
		run.DurationNS = max(run.DurationNS, t.EndNS)
	}
	run.SummariseClusters()
	return run
}

func usual(_, _ int, ns int64) int64 { return ns }

// reduce decides what is kept of a run, and writes that.
func reduce(t interface {
	Fatal(...any)
	TempDir() string
}, run *trace.Run, o Options) (*rundir.Content, int64) {
	c := &rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}
	if err := Reduce(context.Background(), stage.New(0), c, o, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Write(c, t.TempDir()); err != nil {
		t.Fatal(err)
	}
	return c, c.Manifest.Reduction.Bytes
}

// checkCauses compares the causes of outliers, and their clusters, with the sentences.
func checkCauses(t *testing.T, outliers []rundir.Outlier) {
	t.Helper()
	for _, o := range outliers {
		named := o.Cluster > 0 && (strings.Contains(o.Reason, fmt.Sprintf("time in cluster %d ", o.Cluster)) || strings.Contains(o.Reason, fmt.Sprintf("time in kind %d ", o.Cluster)))
		if o.Cause == "" || named != (o.Cause == "computing" && !strings.Contains(o.Reason, "bursts in no cluster")) {
			t.Errorf("cause %q, cluster %d: %s", o.Cause, o.Cluster, o.Reason)
		}
	}
}

// The slow rank and the odd iteration are kept, the iterations are all found, and the stated error is small.
func TestReduce(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	run := plant(8, 500, func(rank, iteration int, ns int64) int64 {
		ns += random.Int64N(ns / 100)
		if rank == 3 {
			ns += ns / 2
		}
		if rank == 6 && iteration == 321 {
			ns *= 8
		}
		return ns
	})
	c, _ := reduce(t, run, Options{Budget: DefaultBudget, Windows: 2, Outliers: -1, Workers: 2})
	k, r := &c.Manifest.Kept, &c.Manifest.Reduction
	iterations := 0
	for _, p := range k.Phases {
		iterations += p.Iterations
	}
	if iterations < 499 || iterations > 501 {
		t.Errorf("%d iterations: %+v", iterations, k.Phases)
	}
	if !slices.ContainsFunc(k.Outliers, func(o rundir.Outlier) bool { return o.Rank == 3 }) && !slices.ContainsFunc(k.Classes, func(c rundir.Class) bool { return c.Size == 1 && c.Exemplar.Rank == 3 }) {
		t.Errorf("outliers %+v, classes %+v", k.Outliers, k.Classes)
	}
	checkCauses(t, k.Outliers)
	for rank, why := range map[int]string{3: "", 6: "anomaly"} {
		if !slices.ContainsFunc(k.Windows, func(w rundir.Window) bool {
			return (why == "" || w.Why == why) && slices.Contains(w.Threads, rundir.ThreadName{Rank: rank})
		}) {
			t.Errorf("no %s window of rank %d: %+v", why, rank, k.Windows)
		}
	}
	if r.Error == nil || r.Error.Weighted.Time > .01 || r.Error.Weighted.WorstTime > .01 || r.Error.Windows.WorstTime > .01 || r.Error.Represented < .99 || len(r.Missing) > 0 {
		t.Errorf("error %+v; missing %q", r.Error, r.Missing)
	}
	if len(k.Windows) != len(c.Kept.Windows) || k.SampledOf+k.Bursts != c.Manifest.Bursts {
		t.Errorf("%d windows of %d; %d bursts and a sample of %d, of %d", len(k.Windows), len(c.Kept.Windows), k.Bursts, k.SampledOf, c.Manifest.Bursts)
	}
	weights := 0.
	for i := range c.Rows.Threads {
		for _, w := range c.Rows.Threads[i].Bursts.Weight {
			weights += w
		}
	}
	if int(weights) != c.Manifest.Bursts {
		t.Errorf("the weights come to %v of %d bursts", weights, c.Manifest.Bursts)
	}
}

// One rank, three iterations, no iteration at all, ranks that do nothing: something useful is kept of each.
func TestSmallRuns(t *testing.T) {
	for name, run := range map[string]*trace.Run{
		"one rank": plant(1, 100, usual), "three iterations": plant(4, 3, usual), "no iteration": plant(2, 0, usual),
		"random": plant(3, 200, func(rank, i int, ns int64) int64 {
			return ns + int64(rand.New(rand.NewPCG(uint64(rank), uint64(i))).Int64N(50*ns))
		}),
	} {
		c, bytes := reduce(t, run, Options{Budget: 1 << 20, Windows: 2, Outliers: -1})
		if bytes > 1<<20 || c.Manifest.Kept.Bursts == 0 || len(c.Manifest.Reduction.Missing) > 0 {
			t.Errorf("%s: %d bytes, %d bursts in %d windows; missing %q", name, bytes, c.Manifest.Kept.Bursts, len(c.Kept.Windows), c.Manifest.Reduction.Missing)
		}
	}
	nothing := &trace.Run{CallPaths: []trace.CallPath{{}}, Worlds: []trace.World{{Size: 1}}, Threads: []trace.Thread{{}}}
	if c, _ := reduce(t, nothing, Options{Budget: DefaultBudget}); len(c.Kept.Windows) > 0 {
		t.Errorf("of nothing: %+v", c.Kept.Windows)
	}
}

// Whatever the budget, it holds, or what every run has exceeds it by itself, and that is reported. What the manifest
// reports of clusters, counters and windows is part of it, and what is left of it is not left empty.
func TestBudgetHolds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	run := plant(6, 150, func(_, _ int, ns int64) int64 { return ns/2 + random.Int64N(2*ns) })
	for i := range 8 {
		run.Counters = append(run.Counters, trace.Counter{Name: fmt.Sprintf("PAPI_COUNTER_%d", i)})
	}
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k := range b.Len() {
			b.Cluster[k] = int32(k%12 + 1)
		}
		for range run.Counters {
			counts := make([]int64, b.Len())
			for k := range counts {
				counts[k] = random.Int64N(1 << 40)
			}
			b.Counters = append(b.Counters, counts)
		}
	}
	for id := int32(3); id <= 12; id++ {
		run.Clusters = append(run.Clusters, trace.Cluster{ID: id, Eps: .1, MinPts: 4})
	}
	run.SummariseClusters()
	least, bytes := reduce(t, run, Options{Budget: 0, Outliers: -1})
	m := &least.Manifest.Reduction
	if len(least.Kept.Windows) > 0 || len(m.Missing) != 1 || !strings.Contains(m.Missing[0], "too little") || len(least.Manifest.Notes) > 0 {
		t.Errorf("in no byte: %d windows; missing %q; notes %q", len(least.Kept.Windows), m.Missing, least.Manifest.Notes)
	}
	if m.BudgetBytes == nil || *m.BudgetBytes != 0 || m.Error == nil || m.Error.Weighted.Time != 1 {
		t.Errorf("in no byte: budget %v, error %+v", m.BudgetBytes, m.Error)
	}
	if k := &least.Manifest.Kept; len(k.Dropped) != mostDropped || k.MoreDropped == 0 {
		t.Errorf("in no byte: %d and %d more dropped", len(k.Dropped), k.MoreDropped)
	}
	holds := func(rt interface {
		Fatal(...any)
		Fatalf(string, ...any)
		TempDir() string
	}, budget int64, windows, outliers int) {
		c, got := reduce(rt, run, Options{Budget: units.Bytes(budget), Windows: windows, Outliers: outliers})
		if got > budget || len(c.Kept.Windows) == 0 && budget > bytes+60_000 {
			rt.Fatalf("%d bytes of %d; %d windows; missing %q", got, budget, len(c.Kept.Windows), c.Manifest.Reduction.Missing)
		}
	}
	// What the first choice takes is just too much: the next one is another.
	for extra := int64(60_001); extra < 66_000; extra += 1000 {
		holds(t, bytes+extra, 1, 0)
	}
	rapid.Check(t, func(rt *rapid.T) {
		holds(dirs{rt, t}, rapid.Int64Range(bytes+20_000, 4*bytes).Draw(rt, "budget"), rapid.IntRange(1, 5).Draw(rt, "windows"), rapid.IntRange(-1, 3).Draw(rt, "outliers"))
	})
}

type dirs struct {
	*rapid.T
	t *testing.T
}

func (d dirs) TempDir() string { return d.t.TempDir() }

// Without time for anything a whole directory is written, which says what it lacks: levels, sizes, and with them
// windows.
func TestWithoutTime(t *testing.T) {
	run := plant(4, 50, usual)
	c := &rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}
	c.Manifest.Reduction.Missing = []string{"what was missing before"}
	Reduce(t.Context(), stage.New(time.Nanosecond), c, Options{Budget: DefaultBudget, Outliers: -1}, nil)
	dir := t.TempDir()
	if _, err := rundir.Write(c, dir); err != nil {
		t.Fatal(err)
	}
	_, m, _, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(c.Kept.Windows) > 0 {
		t.Errorf("%d windows of unknown size", len(c.Kept.Windows))
	}
	said := strings.Join(m.Reduction.Missing, "\n")
	for _, want := range []string{
		"what was missing before", "iterations are not known: periods: ", "profile.parquet is missing and the reconstruction error", "structure.json is missing", "ranks are not distinguished: classes: ",
		"the size of rows in files is not known, so none are kept: size: ", "no windows in full detail: windows: ",
	} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is not once in %q", want, said)
		}
	}
}

// What a window's reason says of when it is, its times say too: those of a run without iterations, which begin with a
// rank's MPI_Init, say nothing of it. Those that are not kept have no times but in their reason.
func TestReasonsSayWhenOnce(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	run := plant(3, 20, func(_, _ int, ns int64) int64 { return ns / 2 * (1 + random.Int64N(9)) })
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k := range b.Len() {
			b.Cluster[k] = int32(1 + random.IntN(2))
		}
	}
	run.SummariseClusters()
	c, _ := reduce(t, run, Options{Budget: DefaultBudget, Outliers: -1})
	begin := false
	for _, w := range c.Manifest.Kept.Windows {
		begin = begin || w.BeginNS == 0
		if !strings.HasPrefix(w.Reason, "in phase 0") {
			t.Errorf("%s, %d to %d ns: %q", w.Why, w.BeginNS, w.EndNS, w.Reason)
		}
	}
	if !begin {
		t.Errorf("no window has the begin of the run: %+v", c.Manifest.Kept.Windows)
	}
	c, _ = reduce(t, run, Options{Budget: 0, Outliers: -1})
	if len(c.Manifest.Kept.Dropped) == 0 {
		t.Error("nothing is dropped")
	}
	for _, d := range c.Manifest.Kept.Dropped {
		if !regexp.MustCompile(`^[\d.]+ to [\d.]+ (us|ms), in phase 0`).MatchString(d.Reason) {
			t.Errorf("dropped: %q", d.Reason)
		}
	}
}

// Spans of a thread lie apart and together hold what the parts hold; what two parts have goes to the more important
// one.
func TestPlace(t *testing.T) {
	run := plant(4, 50, usual)
	bursts := int32(run.Threads[0].Bursts.Len())
	rapid.Check(t, func(t *rapid.T) {
		var parts []part
		want := make([]map[int32]int, len(run.Threads)) // per thread and burst: the most important part that has it
		for i := range want {
			want[i] = make(map[int32]int)
		}
		for number := range rapid.IntRange(1, 6).Draw(t, "parts") {
			w := &represent.Window{First: make([]int32, 4), Behind: make([]int32, 4)}
			p := part{window: w}
			for thread := range int32(4) {
				w.First[thread] = rapid.Int32Range(0, bursts).Draw(t, "first")
				w.Behind[thread] = rapid.Int32Range(w.First[thread], bursts).Draw(t, "behind")
				if rapid.Bool().Draw(t, "in") {
					p.Threads = append(p.Threads, thread)
					for b := w.First[thread]; b < w.Behind[thread]; b++ {
						if _, taken := want[thread][b]; !taken {
							want[thread][b] = number
						}
					}
				}
			}
			parts = append(parts, p)
		}
		windows, kept, order, err := place(run, team.Threads{}, parts)
		if err != nil {
			t.Fatal(err)
		}
		for i, spans := range kept {
			lastNS := run.Threads[i].BeginNS
			has := make(map[int32]int)
			for _, s := range spans {
				if s.BeginNS < lastNS || s.EndNS < s.BeginNS || s.EndNS > run.Threads[i].EndNS {
					t.Fatalf("thread %d: span %+v after %d", i, s, lastNS)
				}
				lastNS = s.EndNS
				if w := windows[s.Window]; !slices.Contains(w.Threads, i) {
					t.Fatalf("thread %d has a span of window %d, which names %v", i, s.Window, w.Threads)
				}
				b := &run.Threads[i].Bursts
				for k := range b.Len() {
					if b.StartNS[k] >= s.BeginNS && b.StartNS[k]+b.DurationNS[k] <= s.EndNS {
						has[int32(k)] = order[s.Window]
					}
				}
			}
			for b, number := range want[i] {
				if got, there := has[b]; !there || got != number {
					t.Fatalf("thread %d, burst %d: in part %d (%v), want %d", i, b, got, there, number)
				}
			}
			if len(has) != len(want[i]) {
				t.Fatalf("thread %d: %d bursts, want %d", i, len(has), len(want[i]))
			}
		}
	})
}

// A collective call that one thread lacks is no meeting, and those after the end of a thread are those of the others.
func TestMeetings(t *testing.T) {
	run := plant(3, 6, usual)
	drop := func(thread int, from, to int) {
		c := &run.Threads[thread].Collectives
		c.Call, c.Comm, c.Ordinal = slices.Delete(c.Call, from, to), slices.Delete(c.Comm, from, to), slices.Delete(c.Ordinal, from, to)
		c.Sent, c.Received, c.Root = slices.Delete(c.Sent, from, to), slices.Delete(c.Received, from, to), slices.Delete(c.Root, from, to)
	}
	drop(1, 2, 3) // records of it were lost
	drop(2, 4, 6) // it has died
	m, err := findMeetings(run, team.Threads{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(m.ordinals, []int64{0, 1, 3, 4, 5}) {
		t.Errorf("ordinals %v", m.ordinals)
	}
	if before := m.before(); !slices.Equal(before[0], []int32{2, 4, 8, 10, 12}) || !slices.Equal(before[2], []int32{2, 4, 8}) {
		t.Errorf("bursts before meetings: %v", before)
	}
}

// Of a trace that has messages and not what calls move, the messages show which ranks send more; of one that has both
// they do not count twice.
func TestMovedByMessages(t *testing.T) {
	run := plant(4, 3, usual)
	run.Messages = []trace.Message{{From: 1, To: 2, Bytes: 1000}, {From: 1, To: 3, Bytes: 500}}
	if sent, received, err := movedByMessages(run, team.Threads{}); err != nil || !slices.Equal(sent, []int64{0, 1500, 0, 0}) || !slices.Equal(received, []int64{0, 0, 1000, 500}) {
		t.Errorf("sent %v, received %v", sent, received)
	}
	run.Threads[1].Transfers.Call = []uint32{1}
	if sent, received, err := movedByMessages(run, team.Threads{}); err != nil || slices.Max(sent) != 0 || slices.Max(received) != 0 {
		t.Errorf("beside transfers: sent %v, received %v", sent, received)
	}
}
