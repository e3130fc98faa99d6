package conclude

import (
	order "cmp"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	keeping "moriens/agent/cells"
	"moriens/analysis/grouping"
	"moriens/analysis/space"
	"moriens/collector/store"
	"moriens/conclude/retention"
	"moriens/internal/section/sectiontest"
	"moriens/internal/stage"
	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/parquet"
	"moriens/trace/rundir"
	"moriens/trace/rundir/rundirtest"
)

// fixed are options that say what a neighbourhood is, and micro-cells that allow for it.
func fixed(eps float64, minPts int) (grouping.Options, keeping.Config) {
	dims, _ := space.Parse("duration:log")
	o := grouping.Options{Dims: dims, By: grouping.ByCalls, Fixed: &grouping.Density{Eps: eps, MinPts: minPts}, Workers: 1}
	return o, keeping.Config{Dims: dims, By: grouping.ByCalls, Side: eps / 4.001}
}

// Where everything of all ranks is fetched in the end the run is the same as when the bursts arrive as usual: the same
// clusters, the same labels, the same figures.
func TestCellsOfADrawnRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := drawRecord(t)
		for _, a := range r.agents { // what is sent twice is held once, and all count the same
			for _, m := range a.messages {
				if p := m.GetProcess(); p != nil {
					p.Events = []string{"PAPI_TOT_INS"}
				}
			}
			a.messages = slices.DeleteFunc(a.messages, func(m said) bool { return m.GetSections() != nil })
			for _, p := range a.kept {
				if len(p.Sections) > 0 {
					at := slices.IndexFunc(a.messages, func(o said) bool {
						return o.GetRingEnd() != nil && o.GetRingEnd().Ring == p.Process
					})
					a.messages = slices.Insert(a.messages, at, said{ReportRequest: sectiontest.Message(p.Sections)})
				}
			}
		}
		seed := rapid.Uint64().Draw(t, "order")
		o, config := fixed(.4, 3)
		all := retention.Options{All: true}
		want, err := Conclude(t.Context(), End{Frozen: r.frozen(t, rand.New(rand.NewPCG(seed, 1)), func(int) bool { return true }), Options: o, Keep: all, Stages: stage.New(0)})
		if err != nil {
			t.Fatal(err)
		}
		f, agents := r.keptBack(t, rand.New(rand.NewPCG(seed, 1)), config)
		got, err := Conclude(t.Context(), End{Frozen: f, Options: o, Keep: all, Stages: stage.New(0), Cells: &CellsOptions{Agents: agents}})
		if err != nil {
			t.Fatal(err)
		}
		want.Describe()
		got.Describe()
		sameWays(t, want.Run, got.Run)
		for i := range want.Run.Threads { // with cells it is not known who waited for whom
			want.Run.Threads[i].Waits, want.Run.Threads[i].Critical = trace.Waits{}, nil
		}
		if d := cmp.Diff(want.Run.Threads, got.Run.Threads, cmpopts.EquateEmpty()); d != "" {
			t.Fatalf("threads differ (-as usual +cells):\n%s", d)
		}
		sameClusters(t, want, got)
	})
}

// sameWays compares how bursts went through the refinement. Clusters of one group have their numbers there in the order
// in which they are met, which is another one for cells.
func sameWays(t rapid.TB, want, got *trace.Run) {
	t.Helper()
	to, from := make(map[string]string), make(map[string]string)
	for i := range want.Threads {
		x, y := &want.Threads[i].Bursts, &got.Threads[i].Bursts
		if len(x.Lineage) != len(y.Lineage) {
			t.Fatalf("thread %d: ways of %d bursts, want %d", i, len(y.Lineage), len(x.Lineage))
		}
		for k := range x.Lineage {
			a, b := want.Lineages[x.Lineage[k]], got.Lineages[y.Lineage[k]]
			if was, known := to[a]; known && was != b {
				t.Fatalf("thread %d, burst %d went %q and %q, others %q and %q", i, k, a, b, a, was)
			}
			if was, known := from[b]; known && was != a {
				t.Fatalf("thread %d, burst %d went %q and %q, others %q and %q", i, k, a, b, was, b)
			}
			to[a], from[b] = b, a
		}
		x.Lineage, y.Lineage = nil, nil
	}
}

// unnumbered are the steps of a refinement without the numbers of their nodes.
func unnumbered(levels []rundir.Level) []rundir.Level {
	levels = slices.Clone(levels)
	for i := range levels {
		nodes := slices.Clone(levels[i].Nodes)
		for k := range nodes {
			nodes[k].ID, nodes[k].Parents = min(nodes[k].ID, 1), nil
		}
		slices.SortFunc(nodes, func(a, b rundir.Node) int {
			return order.Or(order.Compare(a.Group, b.Group), order.Compare(a.Bursts, b.Bursts), order.Compare(a.Seconds, b.Seconds))
		})
		levels[i].Nodes = nodes
	}
	return levels
}

// withoutWhole are clusters without their whole call paths, which with cells are those of the bursts that were kept,
// and without what they cost, which is taken from efficiency.json and waits.json: with cells these are of another part
// of the run, or not known (docs/cells.md).
func withoutWhole(clusters []rundir.Cluster) []rundir.Cluster {
	clusters = slices.Clone(clusters)
	for i := range clusters {
		clusters[i].WholeBefore, clusters[i].WholeAfter = nil, nil
		clusters[i].LostSeconds, clusters[i].WaitCosts = nil, nil
	}
	return clusters
}

// sameClusters compares what two runs say of clusters and of all ranks.
func sameClusters(t rapid.TB, want, got *Result) {
	approximately := cmp.Comparer(func(a, b rundir.Number) bool {
		d := float64(a - b)
		return a == b || a != a && b != b || max(d, -d) <= 1e-9*max(float64(a), float64(b))
	})
	x, y := *want.Clusters, *got.Clusters
	x.Clusters, y.Clusters = withoutWhole(x.Clusters), withoutWhole(y.Clusters)
	y.Algorithm, y.Cells, y.Resolution = x.Algorithm, nil, x.Resolution
	x.Refinement.Levels, y.Refinement.Levels = unnumbered(x.Refinement.Levels), unnumbered(y.Refinement.Levels)
	if d := cmp.Diff(&x, &y, approximately); d != "" {
		t.Fatalf("clusters.json differs (-as usual +cells):\n%s", d)
	}
	m, n := want.Manifest, got.Manifest
	for _, pair := range [][2]any{
		{m.Ranks, n.Ranks}, {m.MPICalls, n.MPICalls}, {m.Bursts, n.Bursts}, {m.Dropped, n.Dropped}, {m.Hosts, n.Hosts}, {m.Worlds, n.Worlds}, {m.Losses, n.Losses},
		{m.ComputingSeconds, n.ComputingSeconds}, {m.Messages.Sends, n.Messages.Sends}, {m.Empty, n.Empty},
	} {
		if d := cmp.Diff(pair[0], pair[1], approximately); d != "" {
			t.Fatalf("manifest.json differs (-as usual +cells):\n%s", d)
		}
	}
}

// concludeCells ends a run whose bursts were kept on their nodes, and writes it.
func concludeCells(t *testing.T, f store.Frozen, agents keepingAgents, o grouping.Options, keep retention.Options) (*Result, string) {
	t.Helper()
	options := &CellsOptions{Agents: agents}
	if agents == nil {
		options.Agents = nil
	}
	r, err := Conclude(t.Context(), End{Frozen: f, Options: o, Keep: keep, Stages: stage.New(0), Cells: options})
	if r == nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "run")
	if err := rundir.Create(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := rundir.Write(&r.Content, dir); err != nil {
		t.Fatal(err)
	}
	rundirtest.CheckPhasesIfKnown(t, dir)
	return r, dir
}

// profileOf reads the rows of a profile that are of threads, without what distinguishes parts of the run, and without
// bytes.
func profileOf(p *parquet.Profile) map[string]parquet.ProfileRow {
	rows := make(map[string]parquet.ProfileRow)
	for _, r := range p.Rows {
		if r.Kind != parquet.ProfileComputation && r.Kind != parquet.ProfileMPI {
			continue
		}
		key := fmt.Sprint(r.Kind, r.World, r.Rank, r.Thread, r.CallPath, r.Cluster)
		sum, known := rows[key]
		if !known {
			r.Iterations, r.SentBytes, r.ReceivedBytes, r.InTraffic, r.Counters = -1, 0, 0, false, nil
			rows[key] = r
			continue
		}
		sum.Count, sum.Records, sum.TimeNS = sum.Count+r.Count, sum.Records+r.Records, sum.TimeNS+r.TimeNS
		sum.MinNS, sum.MaxNS, sum.SquaresNS2 = min(sum.MinNS, r.MinNS), max(sum.MaxNS, r.MaxNS), sum.SquaresNS2+r.SquaresNS2
		rows[key] = sum
	}
	return rows
}

// Most ranks are kept as totals only: these are the classes, and clusters, calls and times of all are what they are
// when the bursts arrive as usual. The directory can be read back.
func TestCellsInSum(t *testing.T) {
	const ranks = 12
	r := planted(t, ranks, 60)
	o, config := fixed(.1, 4)
	keep := retention.Options{Budget: units.Bytes(1 << 20), Outliers: -1}
	whole := func(int) bool { return true }
	want, err := Conclude(t.Context(), End{Frozen: r.frozen(t, rand.New(rand.NewPCG(1, 1)), whole), Options: o, Keep: keep, Stages: stage.New(0)})
	if err != nil {
		t.Fatal(err)
	}
	want.Describe()
	f, agents := r.keptBack(t, rand.New(rand.NewPCG(1, 1)), config)
	got, dir := concludeCells(t, f, agents, o, keep)
	if c := got.Manifest.Cells; c.RanksInFull < 3 || c.RanksInFull > 4 || c.RanksInSum != ranks-c.RanksInFull || c.RanksSilent != 0 || !c.Exact || len(c.Unanswered) > 0 || c.Agents != 2 ||
		c.BytesDown == 0 || c.BytesUp == 0 || c.HeldBytes == 0 || c.BurstsAstray > 0 {
		t.Errorf("%+v", c)
	}
	sameClusters(t, want, got)
	if d := cmp.Diff(sizes(want), sizes(got)); d != "" {
		t.Errorf("classes differ (-as usual +cells):\n%s", d)
	}
	if d := cmp.Diff(profileOf(want.Levels.Profile), profileOf(got.Levels.Profile), cmpopts.EquateApprox(1e-12, 0)); d != "" {
		t.Errorf("the profile differs (-as usual +cells):\n%s", d)
	}
	if n := len(got.Levels.Structure.Threads); n != got.Manifest.Cells.RanksInFull {
		t.Errorf("the structure is of %d threads, %d ranks are in full", n, got.Manifest.Cells.RanksInFull)
	}
	run, m, c, err := rundir.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Threads) != ranks || m.Ranks != ranks || m.Cells == nil || c.Cells == nil || !c.Cells.Certificate.Exact || c.Algorithm != "dbscan on micro-cells" {
		t.Errorf("%d threads of %d ranks, %+v, %+v", len(run.Threads), m.Ranks, m.Cells, c.Cells)
	}
}

// sizes are those of the classes, and who the outliers are.
func sizes(r *Result) (list []string) {
	for _, c := range r.Manifest.Kept.Classes {
		list = append(list, fmt.Sprint("class ", c.Size, c.Threads))
	}
	for _, o := range r.Manifest.Kept.Outliers {
		list = append(list, "outlier "+o.Short(false))
	}
	return list
}

// Whatever is missing, there is a run directory with what is known, which says what is not.
func TestCellsWithout(t *testing.T) {
	o, config := fixed(.1, 4)
	keep := retention.Options{Budget: units.Bytes(1 << 20), Outliers: -1}
	tests := []struct {
		name          string
		without       func(agents keepingAgents)
		nobody        bool
		full, sum, no int
		said          string
		clusters      bool
	}{
		{"all of one node", func(agents keepingAgents) { agents[1].gone = true }, false, 1, 5, 6, "micro-cells are missing for ranks on 1 host whose agent did not answer: n0: it had disconnected", true},
		{"all agents", func(agents keepingAgents) { agents[1].gone, agents[2].gone = true, true }, false, 0, 0, 12, "the bursts are in no clusters: collector/cells: no agent has sent", false},
		{"anybody to ask", func(keepingAgents) {}, true, 0, 0, 12, "there are no agents to ask for micro-cells", false},
		{"all windows", func(agents keepingAgents) { agents[1].held, agents[2].held = nil, nil }, false, 0, 12, 0, "", true},
		{"some windows", func(agents keepingAgents) {
			for _, a := range agents {
				for process, messages := range a.held {
					a.held[process] = slices.Delete(messages, 2, 6) // the second window and the third
				}
			}
		}, false, 3, 9, 0, "MPI calls in 3 stretches: their nodes had no space", true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f, agents := planted(t, 12, 60).keptBack(t, rand.New(rand.NewPCG(1, 1)), config)
			tt.without(agents)
			if tt.nobody {
				agents = nil
			}
			r, dir := concludeCells(t, f, agents, o, keep)
			if c := r.Manifest.Cells; c.RanksInFull != tt.full || c.RanksInSum != tt.sum || c.RanksSilent != tt.no {
				t.Errorf("%+v", c)
			}
			said := strings.Join(slices.Concat(r.Manifest.Notes, r.Manifest.Reduction.Missing), "\n")
			if !strings.Contains(said, tt.said) {
				t.Errorf("%q lacks %q", said, tt.said)
			}
			if (len(r.Run.Clusters) > 0) != tt.clusters || (r.Manifest.Empty == "") != tt.clusters {
				t.Errorf("%d clusters; empty: %q", len(r.Run.Clusters), r.Manifest.Empty)
			}
			if r.Manifest.Ranks != 12 || r.Manifest.Losses.RanksMissing != 0 {
				t.Errorf("%d ranks, %+v", r.Manifest.Ranks, r.Manifest.Losses)
			}
			if _, m, _, err := rundir.Read(dir); err != nil || m.Ranks != 12 {
				t.Errorf("%v, %+v", err, m)
			}
		})
	}
}

// Without time for any stage there is a run directory too.
func TestCellsWithoutTime(t *testing.T) {
	o, config := fixed(.1, 4)
	f, agents := planted(t, 4, 20).keptBack(t, rand.New(rand.NewPCG(1, 1)), config)
	r, err := Conclude(t.Context(), End{
		Frozen: f, Options: o, Keep: retention.Options{Budget: retention.DefaultBudget}, Stages: stage.New(time.Nanosecond), Cells: &CellsOptions{Agents: agents},
	})
	if err == nil || r == nil || len(r.Run.Clusters) > 0 || !strings.Contains(strings.Join(r.Manifest.Notes, "\n"), "the bursts are in no clusters") {
		t.Errorf("%v, %+v", err, r)
	}
}

// Bursts that no cell can hold lack data, in the sums of all ranks and in what is fetched of some, and the user learns
// how many they are and why.
func TestCellsOutside(t *testing.T) {
	const iterations = 60
	dims, _ := space.Parse("duration:lin")
	const side = 1.2e6 / (1 << 31) // ns; some of rank 3 take 1.6 ms, all others less
	o := grouping.Options{Dims: dims, By: grouping.ByCalls, Fixed: &grouping.Density{Eps: 2e4, MinPts: 4}, Workers: 1}
	f, agents := planted(t, 12, iterations).keptBack(t, rand.New(rand.NewPCG(1, 1)), keeping.Config{Dims: dims, By: grouping.ByCalls, Side: side})
	r, _ := concludeCells(t, f, agents, o, retention.Options{All: true})
	const outside = iterations - 1 // its first call has no burst before it
	if c := r.Manifest.Cells; c.OutsideBursts != outside || c.BurstsAstray != 0 {
		t.Errorf("%d bursts outside, want %d; %d astray", c.OutsideBursts, outside, c.BurstsAstray)
	}
	missing := 0
	for i := range r.Run.Threads {
		for _, label := range r.Run.Threads[i].Bursts.Cluster {
			if label == trace.LabelMissing {
				missing++
			}
		}
	}
	if total := r.Clusters.Total; missing != outside || total.MissingBursts != outside {
		t.Errorf("of all bursts %d lack data, of those that were fetched %d, want %d", total.MissingBursts, missing, outside)
	}
	if said, want := strings.Join(r.Manifest.Notes, "\n"), "in no micro-cell, counted as missing data: 59 bursts; the values are too large for cells of side"; !strings.Contains(said, want) {
		t.Errorf("%q lacks %q", said, want)
	}
}
