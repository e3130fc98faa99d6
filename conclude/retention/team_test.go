package retention

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/grouping"
	"moriens/app/report"
	"moriens/conclude/clustering"
	"moriens/internal/mpix"
	"moriens/internal/mpix/mpixtest"
	"moriens/internal/stage"
	"moriens/internal/team"
	"moriens/internal/testenv"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/prv"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
	"moriens/trace/tracetest"
)

// tester is a test, or a check of rapid.
type tester interface {
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// A spread is how many members of a team there are, and who has which threads.
type spread struct {
	members int
	owners  []int32
}

// writeRun decides what is kept of a run and returns the files that one of the members writes, by name.
func writeRun(t tester, run *trace.Run, clusters rundir.Clusters, over spread, o Options, detail func(*trace.Run) Detail) map[string][]byte {
	dir, err := os.MkdirTemp("/dev/shm", "moriens-retention-") // there syncing costs nothing
	if err != nil {
		dir, err = os.MkdirTemp("", "moriens-retention-")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	if err := mpix.Each(over.members, func(m mpix.Transport) error {
		own := clusters
		c := &rundir.Content{Run: run, Manifest: new(rundir.Manifest), Clusters: &own}
		if over.members > 1 {
			c.Team = team.Threads{Team: m, Of: over.owners}
			c.Run = partOfRun(run, over.owners, int32(m.Rank()))
		}
		var d Detail
		if detail != nil {
			d = detail(c.Run)
		}
		if err := Reduce(context.Background(), stage.Shared(0, m), c, o, d); err != nil || m.Rank() != 0 {
			return err
		}
		c.Report = report.Of(c)
		_, err := rundir.Write(c, dir)
		return err
	}); err != nil {
		t.Fatalf("%d members: %v", over.members, err)
	}
	if t, is := t.(testing.TB); is { // not one that draws
		rundirtest.CheckPhasesIfKnown(t, dir)
	}
	files := make(map[string][]byte)
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		files[name], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// partOfRun is what a member has of a run.
func partOfRun(run *trace.Run, owners []int32, rank int32) *trace.Run {
	part := *run
	part.Threads = slices.Clone(run.Threads)
	for i := range part.Threads {
		if t := &part.Threads[i]; owners[i] != rank {
			*t = trace.Thread{World: t.World, Rank: t.Rank, Thread: t.Thread, Node: t.Node, BeginNS: t.BeginNS, EndNS: t.EndNS}
		}
	}
	return &part
}

// compareFiles says in which files two run directories differ, and where.
func compareFiles(t tester, got, want map[string][]byte, what string) {
	for name, text := range want {
		other, there := got[name]
		if !there {
			t.Fatalf("%s: no %s", what, name)
		}
		if bytes.Equal(other, text) {
			continue
		}
		at := 0
		for at < min(len(other), len(text)) && other[at] == text[at] {
			at++
		}
		around := func(text []byte) []byte { return text[max(0, at-200):min(len(text), at+200)] }
		t.Fatalf("%s: %s is another one from byte %d of %d on:\n%q\nwant\n%q", what, name, at, len(text), around(other), around(text))
	}
	if len(got) != len(want) {
		t.Fatalf("%s: %d files, want %d", what, len(got), len(want))
	}
}

// checkTeams compares what several members write with what one does, for any distribution of the threads.
func checkTeams(t tester, run *trace.Run, clusters rundir.Clusters, o Options, detail func(*trace.Run) Detail, owners ...[]int32) {
	want := writeRun(t, run, clusters, spread{members: 1}, o, detail)
	for _, of := range owners {
		members := 2
		if len(of) > 0 {
			members = max(2, int(slices.Max(of))+1)
		}
		got := writeRun(t, run, clusters, spread{members, of}, o, detail)
		compareFiles(t, got, want, fmt.Sprintf("%d members, threads at %v, budget %v", members, of, o.Budget))
	}
}

// However the threads of a run are distributed, the members of a team write the directory that one process writes.
func TestTeam(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Run(t)
		var detail func(*trace.Run) Detail
		if rapid.Bool().Draw(t, "traffic") {
			detail = leaveTransfers(t, run)
		}
		members := rapid.Int32Range(2, 4).Draw(t, "members")
		owners := rapid.SliceOfN(rapid.Int32Range(0, members-1), len(run.Threads), len(run.Threads)).Draw(t, "owners")
		o := Options{
			All:     rapid.IntRange(0, 5).Draw(t, "all") == 0,
			Budget:  units.Bytes(rapid.SampledFrom([]int{1 << 10, 30 << 10, 60 << 10, 100 << 10, 64 << 20}).Draw(t, "budget")),
			Windows: 2, Outliers: -1, Workers: 2,
		}
		checkTeams(t, run, rundir.Clusters{}, o, detail, owners)
	})
}

// elsewhere has the transfers of windows that a run lacks.
type elsewhere struct{ transfers []trace.Transfers }

func (e *elsewhere) Fetch(context.Context, [][]trace.Span) []string { return nil }

func (e *elsewhere) Lacking([][]trace.Span) (int64, []string) { return 0, nil }

func (e *elsewhere) Add(run *trace.Run) *trace.Run {
	with := *run
	with.Threads = slices.Clone(run.Threads)
	for i := range with.Threads {
		if t := &with.Threads[i]; t.Calls.Len() > 0 {
			t.Transfers = e.transfers[i]
		}
	}
	return &with
}

// leaveTransfers takes the later transfers out of a run, which then has sums of all, and returns what gives them back.
func leaveTransfers(t *rapid.T, run *trace.Run) func(*trace.Run) Detail {
	part := rapid.Float64Range(0, 1).Draw(t, "part of the transfers")
	all := &elsewhere{make([]trace.Transfers, len(run.Threads))}
	run.Traffic = new(trace.Traffic)
	for i := range run.Threads {
		th := &run.Threads[i]
		x := &th.Transfers
		all.transfers[i] = *x
		if n := len(run.Traffic.Ranks); n == 0 || run.Traffic.Ranks[n-1].World != th.World || run.Traffic.Ranks[n-1].Rank != th.Rank {
			run.Traffic.Ranks = append(run.Traffic.Ranks, trace.RankTraffic{World: th.World, Rank: th.Rank})
		}
		r := &run.Traffic.Ranks[len(run.Traffic.Ranks)-1]
		routes := slices.Collect(r.EachRoute)
		for k := range x.Call {
			r.Sites = append(r.Sites, trace.TrafficSite{Kind: x.Kind[k], Path: th.Calls.Path[x.Call[k]], Count: 1, Bytes: x.Bytes[k]})
			routes = append(routes, trace.TrafficRoute{Kind: x.Kind[k], Peer: x.Peer[k], Comm: x.Comm[k], Count: 1, Bytes: x.Bytes[k]})
		}
		r.Routes = slices.Values(routes)
		n := int(part * float64(x.Len()))
		first := trace.Transfers{Call: x.Call[:n], Kind: x.Kind[:n], Peer: x.Peer[:n], Tag: x.Tag[:n], Comm: x.Comm[:n], Bytes: x.Bytes[:n], Done: x.Done[:n]}
		if x.PeerWorld != nil {
			first.PeerWorld = x.PeerWorld[:n]
		}
		th.Transfers = first
	}
	return func(*trace.Run) Detail { return all }
}

// A run with iterations, classes, outliers and anomalies, of which more is dropped than kept.
func TestTeamPlanted(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	run := plant(9, 300, func(rank, iteration int, ns int64) int64 {
		ns += random.Int64N(ns / 20)
		if rank == 3 {
			ns += ns / 2
		}
		if rank == 6 && iteration == 121 {
			ns *= 8
		}
		return ns
	})
	for _, budget := range []units.Bytes{60 << 10, 150 << 10, DefaultBudget} {
		checkTeams(t, run, rundir.Clusters{}, Options{Budget: budget, Windows: 2, Outliers: -1, Workers: 2}, nil,
			[]int32{0, 0, 0, 1, 0, 1, 1, 1, 0}, []int32{2, 2, 2, 2, 2, 2, 2, 2, 2}, []int32{3, 1, 0, 0, 3, 1, 1, 0, 0})
	}
}

// A run of a real program, whose messages alone are known.
func TestTeamEpoch(t *testing.T) {
	read, err := prv.ReadFile(testenv.RealTrace(t, "epoch_4proc.prv.gz"), prv.Options{})
	if err != nil {
		t.Fatal(err)
	}
	clustered, err := clustering.Cluster(read.Run, grouping.Options{Workers: 2})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range []Options{{Budget: 200 << 10, Windows: 2, Outliers: -1, Workers: 2}, {Budget: DefaultBudget, Windows: 2, Outliers: -1, Workers: 2}} {
		checkTeams(t, read.Run, *clustered.Clusters, o, nil, []int32{0, 1, 1, 0}, []int32{2, 2, 0, 2}, []int32{1, 1, 1, 1})
	}
}

// A member without time has all go without: a whole directory is written, which says what it lacks.
func TestTeamWithoutTime(t *testing.T) {
	run := plant(5, 40, usual)
	of := []int32{0, 1, 2, 1, 0}
	over, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("the batch system ends the job"))
	dir := t.TempDir()
	manifest, err := mpixtest.Run(3, func(m team.Team) (*rundir.Manifest, error) {
		ctx := context.Background()
		if m.Rank() == 1 {
			ctx = over
		}
		c := &rundir.Content{Run: partOfRun(run, of, int32(m.Rank())), Team: team.Threads{Team: m, Of: of}, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}
		err := Reduce(ctx, stage.Shared(0, m), c, Options{Budget: DefaultBudget, Windows: 2, Outliers: -1, Workers: 2}, nil)
		if err == nil && m.Rank() == 0 {
			c.Report = report.Of(c)
			_, err = rundir.Write(c, dir)
		}
		return c.Manifest, err
	})
	if err != nil {
		t.Fatal(err)
	}
	m := manifest[0]
	if len(m.Reduction.Missing) < 5 || len(m.Kept.Windows) > 0 || m.Bursts != 5*81 || m.MPICalls["MPI_Allreduce"] != 5*40 {
		t.Errorf("missing %q, windows %v, %d bursts, calls %v", m.Reduction.Missing, m.Kept.Windows, m.Bursts, m.MPICalls)
	}
	for _, name := range []string{rundir.ManifestFile, rundir.ClustersFile, rundir.OverviewFile, rundir.ScatterFile, rundir.TimelineFile, rundir.ReportFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
}

// A leaver is a member that ends in the middle of it.
type leaver struct {
	mpix.Transport
	calls int // that it has left
}

var errLeft = errors.New("the member has ended")

func (l *leaver) call() error {
	if l.calls--; l.calls < 0 {
		l.Close()
		return errLeft
	}
	return nil
}

func (l *leaver) AllGather(mine []byte) ([][]byte, error) {
	if err := l.call(); err != nil {
		return nil, err
	}
	return l.Transport.AllGather(mine)
}

func (l *leaver) AllToAll(parts [][]byte) ([][]byte, error) {
	if err := l.call(); err != nil {
		return nil, err
	}
	return l.Transport.AllToAll(parts)
}

func (l *leaver) AllReduce(values []int64, op team.Op) error {
	if err := l.call(); err != nil {
		return err
	}
	return l.Transport.AllReduce(values, op)
}

// Wherever a member ends, the others do not wait for it, and all report that nothing may be written.
func TestTeamLost(t *testing.T) {
	run := plant(6, 30, func(rank, iteration int, ns int64) int64 { return ns + int64(rank*iteration)*1000 })
	of := []int32{0, 1, 2, 1, 0, 2}
	for calls := 0; ; calls++ {
		members := mpix.Local(3)
		errs := make([]error, len(members))
		var wg sync.WaitGroup
		left := &leaver{members[calls%3], calls}
		members[calls%3] = left
		for rank, m := range members {
			wg.Go(func() {
				defer m.Close()
				c := &rundir.Content{Run: partOfRun(run, of, int32(rank)), Team: team.Threads{Team: m, Of: of}, Manifest: new(rundir.Manifest), Clusters: new(rundir.Clusters)}
				errs[rank] = Reduce(context.Background(), stage.Shared(0, m), c, Options{Budget: 100 << 10, Windows: 2, Outliers: -1, Workers: 2}, nil)
			})
		}
		wg.Wait()
		if left.calls >= 0 { // it was connected to the end
			if err := errors.Join(errs...); err != nil {
				t.Error(err)
			}
			if calls < 50 {
				t.Errorf("all was done after %d calls", calls)
			}
			return
		}
		for rank, err := range errs {
			if err == nil {
				t.Errorf("member %d does not know that member %d has ended after %d calls", rank, calls%3, calls)
			}
		}
	}
}
