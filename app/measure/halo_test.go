package measure

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"moriens/agent/ring"
	"moriens/analysis/grouping"
	"moriens/analysis/program"
	"moriens/analysis/represent"
	"moriens/analysis/space"
	"moriens/collector"
	"moriens/conclude"
	"moriens/conclude/retention"
	"moriens/cshim/ringwriter"
	"moriens/internal/shmabi"
	"moriens/internal/stage"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// A halo is a planted job that exchanges halos on a grid, to the nanosecond: in the first half of its iterations each
// rank exchanges once and averages once, ten calls in all, in the second half twice, nineteen; one rank is slow
// throughout, and in one iteration another one averages five times as long.
type halo struct {
	ranks, iterations int
	slow              int // rank; -1 = none
	odd, oddRank      int
}

// unusual is the planted halo with everything that must be found in it.
var unusual = halo{ranks: 8, iterations: 1000, slow: 5, odd: 321, oddRank: 2}

const haloIterationNS = 4_000_000

func (h halo) beginNS(iteration int) uint64 { return 1_001_000_000 + uint64(iteration)*haloIterationNS }

// writer writes the calls of one rank.
type writer struct {
	t      *testing.T
	ring   *ringwriter.Ring
	ns     uint64 // so far
	counts []int64
	paths  map[string]uint32 // of the places that call
	random *rand.Rand
}

// haloEvents are counted in each burst.
const haloEvents = "PAPI_TOT_INS,PAPI_TOT_CYC"

// compute takes about so long, within a hundredth, at 2.5 cycles a nanosecond and so many instructions a cycle.
func (w *writer) compute(ns, ipc float64) {
	took := uint64(ns * (.99 + .02*w.random.Float64()))
	cycles := 2.5 * float64(took)
	w.counts = []int64{int64(cycles * ipc * (.99 + .02*w.random.Float64())), int64(cycles)}
	w.ns += took
}

func (w *writer) call(name string, ns uint64, m ringwriter.Meaning) {
	w.t.Helper()
	m.Counts, w.counts = w.counts, nil
	if !w.ring.CallMeaning(named(w.t, name), w.paths[name], w.ns, w.ns+ns, m) {
		w.t.Fatal("the ring is full")
	}
	w.ns += ns
}

// neighbours are those of a rank in a grid of two rows, -1 where it ends: above, below, to the left, to the right. What
// one sends to the left comes from the right of another.
func (h halo) neighbours(rank int) [4]int {
	columns := h.ranks / 2
	list := [4]int{rank - columns, rank + columns, rank - 1, rank + 1}
	if rank%columns == 0 {
		list[2] = -1
	}
	if rank%columns == columns-1 {
		list[3] = -1
	}
	if list[1] >= h.ranks {
		list[1] = -1
	}
	return list
}

// exchange swaps edges with the neighbours, until a time by which all have entered it; where there is none the calls
// are made all the same, with MPI_PROC_NULL.
func (h halo) exchange(w *writer, rank int, untilNS uint64) {
	const bytes = 8208
	var done []shmabi.Request
	for k, peer := range h.neighbours(rank) {
		if peer >= 0 {
			w.call("MPI_Irecv", 400, transfer(uint32(ring.Received), uint64(k+1), int32(peer), int32(k^1), 1, bytes))
			done = append(done, shmabi.Request{Request: uint64(k + 1), Bytes: bytes, Source: int32(peer), Tag: int32(k ^ 1)})
		} else {
			w.call("MPI_Irecv", 400, ringwriter.Meaning{})
		}
		w.compute(600, .5)
	}
	for k, peer := range h.neighbours(rank) {
		if peer >= 0 {
			w.call("MPI_Isend", 900, transfer(uint32(ring.Sent), uint64(k+5), int32(peer), int32(k), 1, bytes))
			done = append(done, shmabi.Request{Request: uint64(k + 5)})
		} else {
			w.call("MPI_Isend", 900, ringwriter.Meaning{})
		}
		w.compute(700, .5)
	}
	w.call("MPI_Waitall", untilNS-w.ns, completed(done...))
}

func (h halo) sweep(w *writer, rank, iteration int, ns, ipc float64) {
	if rank == h.slow {
		ns *= 1.5
	}
	if rank == h.oddRank && iteration == h.odd {
		ns *= 5
	}
	w.compute(ns, ipc)
}

// rank writes all that a rank does.
func (h halo) rank(w *writer, rank int) {
	w.ns = 1_000_000_000
	w.counts = nil
	w.call("MPI_Init", 100_000, ringwriter.Meaning{})
	w.compute(50_000, .9)
	w.call("MPI_Barrier", h.beginNS(0)-w.ns, collective(0, 1, 0, 0))
	for i := range h.iterations {
		w.compute(2000, .7)
		h.exchange(w, rank, h.beginNS(i)+100_000)
		if i < h.iterations/2 {
			h.sweep(w, rank, i, 600_000, 1.1)
		} else {
			h.sweep(w, rank, i, 900_000, 1.6)
			h.exchange(w, rank, h.beginNS(i)+2_000_000)
			h.sweep(w, rank, i, 900_000, 1.6)
		}
		w.call("MPI_Allreduce", h.beginNS(i+1)-w.ns, collective(uint32(i+1), 1, 8, 8))
	}
	w.compute(5000, .7)
	w.call("MPI_Finalize", 1000, ringwriter.Meaning{})
}

// plant has the ranks run on two nodes, and returns when everything arrived and nothing more is accepted; the agents
// keep running.
func (h halo) plant(t *testing.T) (*collector.Collector, held) {
	t.Helper()
	c, err := collector.Start(collector.Config{Journal: t.TempDir() + "/journal", Run: "run1", Listen: "127.0.0.1:0", Log: quiet, Options: byDefault, Linger: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	nodes := []*rig{newNode(t, c, nil), newNode(t, c, nil)}
	for rank := range h.ranks {
		r := nodes[rank*len(nodes)/h.ranks]
		p := r.process(ringwriter.Identity{Rank: rank, Size: h.ranks, World: "w", Events: haloEvents})
		p.Comm(worldOf(rank, h.ranks))
		w := &writer{t: t, ring: r.thread(p, 1<<17), paths: make(map[string]uint32), random: rand.New(rand.NewPCG(uint64(rank), 5))}
		module := p.Module("/opt/halo", []byte{1, 2})
		for i, name := range []string{"MPI_Irecv", "MPI_Isend", "MPI_Waitall", "MPI_Allreduce", "MPI_Barrier", "MPI_Init", "MPI_Finalize"} {
			w.paths[name] = p.Path(ringwriter.Frame{Module: module, Offset: uint64(0x1000 + 16*i)})
		}
		h.rank(w, rank)
		p.Finalize()
	}
	for _, r := range nodes {
		r.node.JobOver()
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := c.WaitAgents(ctx); err != nil {
		t.Fatal(err)
	}
	frozen := c.Freeze("")
	t.Cleanup(func() {
		c.Release()
		for _, r := range nodes {
			if err := <-r.done; err != nil {
				t.Error(err)
			}
		}
		c.Close(collector.Outcome{})
	})
	return c, hold(frozen)
}

// byDefault is how the command line clusters.
var byDefault = grouping.Options{By: grouping.ByAuto, Filter: space.Filter{Auto: true}, Workers: 2}

// keepByDefault is what it keeps.
var keepByDefault = retention.Options{Budget: retention.DefaultBudget, Windows: represent.DefaultWindows, Outliers: -1, Workers: 2}

// writeRun ends a run that has been frozen and writes its directory.
func writeRun(t *testing.T, c *collector.Collector, f held, keep retention.Options) (dir string, m *rundir.Manifest) {
	t.Helper()
	r, err := conclude.Conclude(t.Context(), conclude.End{
		Frozen: f.again(), Job: conclude.Job{Run: "run1"}, Options: byDefault, Keep: keep, Stages: stage.New(0), Windows: c.Windows(),
	})
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	if _, err := rundir.Write(&r.Content, dir); err != nil {
		t.Fatal(err)
	}
	if m, err = rundir.ReadManifest(dir); err != nil {
		t.Fatal(err)
	}
	rundirtest.CheckWaits(t, dir)
	rundirtest.CheckPairs(t, dir)
	rundirtest.CheckPhases(t, dir)
	return dir, m
}

// Of a stencil code with a change of phase in the middle, a slow rank and one odd iteration both phases are found to
// the iteration, the slow rank and the iteration are kept with the reason why, the directory is a hundredth of the full
// one, and what is rebuilt from its files is right within a hundredth.
func TestPlantedHalo(t *testing.T) {
	h := unusual
	c, frozen := h.plant(t)
	dir, m := writeRun(t, c, frozen, keepByDefault)
	fullDir, full := writeRun(t, c, frozen, retention.Options{All: true, Workers: 2})
	if len(m.Reduction.Missing) > 0 || full.Kept.Bursts != m.Bursts || m.Bursts != h.bursts() {
		t.Errorf("missing %q; %d bursts, %d of them in the full directory, planted %d", m.Reduction.Missing, m.Bursts, full.Kept.Bursts, h.bursts())
	}

	h.checkPhases(t, m)
	slow := slices.IndexFunc(m.Kept.Outliers, func(o rundir.Outlier) bool { return o.Rank == h.slow })
	if slow < 0 || !strings.Contains(m.Kept.Outliers[slow].Reason, "is waited for") {
		t.Errorf("the slow rank is not among the outliers, or for another reason: %+v", m.Kept.Outliers)
	}
	for phase := 1; phase <= 2; phase++ {
		if !slices.ContainsFunc(m.Kept.Windows, func(w rundir.Window) bool {
			return w.Phase == phase && w.Why == "outlier" && w.EndNS-w.BeginNS > haloIterationNS && slices.Contains(w.Threads, rundir.ThreadName{Rank: h.slow})
		}) {
			t.Errorf("phase %d: no window of the slow rank", phase)
		}
	}
	oddNS := int64(h.beginNS(h.odd) - h.originNS())
	if !slices.ContainsFunc(m.Kept.Windows, func(w rundir.Window) bool {
		return w.Why == "anomaly" && w.BeginNS <= oddNS+1000 && oddNS+3_000_000 <= w.EndNS && slices.Contains(w.Threads, rundir.ThreadName{Rank: h.oddRank}) &&
			strings.Contains(w.Reason, fmt.Sprintf("iteration %d of phase 1", h.odd)) && strings.Contains(w.Reason, fmt.Sprintf("on rank %d", h.oddRank))
	}) {
		t.Errorf("the odd iteration is not kept: %+v", m.Kept.Windows)
	}

	if kept, all := bytesOf(t, dir), bytesOf(t, fullDir); kept*100 > all || kept > int64(retention.DefaultBudget) || kept != m.Reduction.Bytes {
		t.Errorf("%d bytes of %d are kept; the manifest says %d", kept, all, m.Reduction.Bytes)
	}
	for _, e := range []rundir.Errors{m.Reduction.Error.Windows, m.Reduction.Error.Weighted} {
		for _, k := range e.Clusters {
			if k.ID > 0 && !(k.Time <= .01) || !(e.Time <= .01) {
				t.Errorf("cluster %d is off by %v, the total by %v", k.ID, k.Time, e.Time)
			}
		}
	}
	samePartners(t, dir, fullDir)
	exact, rebuilt := timeByCluster(t, fullDir), timeByCluster(t, dir)
	if len(exact) != len(rebuilt) {
		t.Errorf("%d clusters, %d rebuilt", len(exact), len(rebuilt))
	}
	for id, ns := range exact {
		if id > 0 && math.Abs(rebuilt[id]/ns-1) > .01 {
			t.Errorf("cluster %d took %v ns, by bursts.parquet %v", id, ns, rebuilt[id])
		}
	}
}

func (h halo) originNS() uint64 { return 1_000_000_000 }

// bursts is how many the job has.
func (h halo) bursts() int { return h.ranks * (1 + h.iterations/2*10 + h.iterations/2*19 + 1) }

// checkPhases expects the two planted phases, each with half of the iterations from where they began to where they
// ended, and no other repetition.
func (h halo) checkPhases(t *testing.T, m *rundir.Manifest) {
	t.Helper()
	half := h.iterations / 2
	planted := []struct{ first, period int }{{0, 10}, {half, 19}}
	found := slices.DeleteFunc(slices.Clone(m.Kept.Phases), func(p rundir.Iterations) bool { return p.Iterations == 0 })
	if len(found) != len(planted) {
		t.Fatalf("%d phases with iterations: %+v", len(found), m.Kept.Phases)
	}
	for i, p := range found {
		want := planted[i]
		begin, end := int64(h.beginNS(want.first)-h.originNS()), int64(h.beginNS(want.first+half)-h.originNS())
		// The time line of nodes may give way by what their clocks' bounds leave open.
		if p.Iterations != half || p.PeriodBursts != want.period || p.Threads != h.ranks || !near(p.BeginNS, begin, 5000) || !near(p.EndNS, end, 5000) ||
			!near(p.MedianNS, haloIterationNS, 5000) || !(p.Agreement > .99) {
			t.Errorf("phase %d: %+v, want %d iterations of %d bursts from %d to %d", i, p, half, want.period, begin, end)
		}
	}
}

func near(a, b, within int64) bool { return a-b <= within && b-a <= within }

// bytesOf is what all files below a directory have.
func bytesOf(t *testing.T, dir string) int64 {
	t.Helper()
	sum := int64(0)
	if err := filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	return sum
}

// timeByCluster adds up what bursts.parquet says, each burst by its weight.
func timeByCluster(t *testing.T, dir string) map[int32]float64 {
	t.Helper()
	run, err := parquet.ReadFile(filepath.Join(dir, rundir.BurstsFile))
	if err != nil {
		t.Fatal(err)
	}
	sum := make(map[int32]float64)
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k, ns := range b.DurationNS {
			weight := 1.
			if b.Weight != nil {
				weight = b.Weight[k]
			}
			sum[b.Cluster[k]] += weight * float64(ns)
		}
	}
	return sum
}

// samePartners checks that the program of a run of which some messages are kept has the partners and the bytes of the
// one of which all are.
func samePartners(t *testing.T, dir, full string) {
	t.Helper()
	type line struct {
		function, file, comm string
		line                 int
		count                int64
	}
	partnersOf := func(dir string) (found map[line]string, why []string) {
		text, err := rundir.ReadProgram(dir)
		if err != nil {
			t.Fatal(err)
		}
		p, err := program.Read(text)
		if err != nil {
			t.Fatal(err)
		}
		found = make(map[line]string)
		program.Walk(p.Body, func(n *program.Node, _ []*program.Node) {
			if n.Kind == program.KindMPI && len(n.Peers) > 0 {
				found[line{n.Function, n.File, n.Comm, n.Line, n.Count}] += fmt.Sprintf("%+v %+v\n", n.Peers, *n.Bytes)
			}
		})
		return found, p.Why
	}
	got, why := partnersOf(dir)
	want, _ := partnersOf(full)
	if len(want) == 0 || !maps.Equal(got, want) {
		t.Errorf("partners with windows alone:\n%v\nwith all messages:\n%v", got, want)
	}
	if slices.Contains(why, program.WhySampled) {
		t.Errorf("%q", why)
	}
}
