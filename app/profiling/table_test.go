package profiling

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
	"testing"

	googlecmp "github.com/google/go-cmp/cmp"

	"moriens/trace"
	"moriens/trace/calltree"
	"moriens/trace/parquet"
	"moriens/trace/rundir/rundirtest"
)

// ask answers a question of a planted directory.
func ask(t *testing.T, s *Source, q Question) *Answer {
	t.Helper()
	q.Dir, q.Top = s.Dir, -1
	if q.By != ByIteration {
		q.Found = -1
	}
	a, err := Ask(q)
	if err != nil {
		t.Fatalf("%+v: %v", q, err)
	}
	return a
}

// A reading is the test's own: by the text of a row, and by rank, its exclusive and inclusive time, calls, and further
// values.
type reading map[string]map[int32][readMPI + 1]int64

func (r reading) add(name string, rank int32, column int, x int64) {
	if r[name] == nil {
		r[name] = make(map[int32][readMPI + 1]int64)
	}
	v := r[name][rank]
	v[column] += x
	r[name][rank] = v
}

// leafOf names what a row is of, in flat tables.
func leafOf(r *parquet.ProfileRow, by By) string {
	switch r.Kind {
	case parquet.ProfileMPI, parquet.ProfileTraffic:
		function, _, _ := strings.Cut(r.CallPath, "@")
		return map[By]string{ByCallPath: r.CallPath, ByCluster: "MPI"}[by] + map[bool]string{true: function}[by != ByCallPath && by != ByCluster]
	case parquet.ProfileComputation:
		return map[int32]string{1: "Cluster 1", 2: "Cluster 2", 3: "Cluster 3", 4: "Cluster 4", -1: "Noise"}[r.Cluster]
	case parquet.ProfilePaused:
		return "Paused"
	case parquet.ProfileUnrecorded:
		return "Unrecorded"
	}
	return ""
}

const (
	readExclusive = iota
	readInclusive
	readCalls
	readValue
	readValueInside
	readMPI
)

// read makes of rows what a table by calls, call paths, functions, phases or clusters has.
func read(p *rundirtest.Profiled, by By, value func(r *parquet.ProfileRow) int64) reading {
	all := make(reading)
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		leaf := leafOf(r, by)
		add := func(name string, own bool, ns int64) {
			if own {
				all.add(name, r.Rank, readExclusive, ns)
				all.add(name, r.Rank, readValue, value(r))
			}
			all.add(name, r.Rank, readInclusive, ns)
			all.add(name, r.Rank, readValueInside, value(r))
		}
		var names []string
		if r.InPhase {
			names = trace.PhaseNames(r.Phase)
		}
		if r.Kind == parquet.ProfilePhase {
			if by == ByPhase {
				all.add(strings.Join(names, ">"), r.Rank, readCalls, r.Records)
			}
			continue
		}
		if by == ByPhase {
			for n := range len(names) + 1 {
				name := strings.Join(names[:n], ">")
				add(name, n == len(names), r.TimeNS)
				if r.Kind == parquet.ProfileMPI {
					all.add(name, r.Rank, readMPI, r.TimeNS)
				}
			}
			leaf = strings.Join(append(names, leaf), ">")
		}
		add(leaf, true, r.TimeNS)
		all.add(leaf, r.Rank, readCalls, r.Count)
		if by == ByFunctions {
			n := 0
			calls := strings.Split(frames[r.CallPath], " > ")
			switch {
			case r.Kind == parquet.ProfileMPI:
				n = len(calls) - 1
			case r.Kind == parquet.ProfileComputation && r.Context > 0:
				n = int(r.Context)
			}
			seen := make(map[string]bool)
			for _, f := range calls[:n] {
				f = strings.TrimPrefix(f, "function:")
				f, _, _ = strings.Cut(f, "@")
				if !seen[f] { // descend is round itself
					add(f, false, r.TimeNS)
				}
				seen[f] = true
			}
		}
	}
	return all
}

// spread is the statistics of a column over so many ranks, computed in another way than the package does.
func (r reading) spread(name string, column, ranks int) Spread {
	s := Spread{Least: math.MaxInt64, Most: -1}
	mean, squares := new(big.Rat), new(big.Rat)
	for rank := range int32(ranks) {
		x := r[name][rank][column]
		s.Sum += x
		if x > s.Most {
			s.Most, s.MostOf.Rank = x, rank
		}
		s.Least = min(s.Least, x)
		mean.Add(mean, big.NewRat(x, int64(ranks)))
	}
	for rank := range int32(ranks) {
		d := new(big.Rat).Sub(big.NewRat(r[name][rank][column], 1), mean)
		squares.Add(squares, d.Mul(d, d))
	}
	s.Mean, _ = mean.Float64()
	variance, _ := squares.Quo(squares, big.NewRat(int64(ranks), 1)).Float64()
	s.Std = math.Sqrt(variance)
	return s
}

func alike(a, b Spread) bool {
	a.MostOf.Host = ""
	near := func(x, y float64) bool { return math.Abs(x-y) <= 1e-12*max(math.Abs(x), math.Abs(y)) }
	return a.Sum == b.Sum && a.Most == b.Most && a.Least == b.Least && a.MostOf == b.MostOf && near(a.Mean, b.Mean) && near(a.Std, b.Std)
}

// rowName is the name of a row in a reading.
func rowName(r *Row, by By) string {
	if by == ByPhase {
		return strings.Join(r.Stack, ">")
	}
	return r.Name
}

var metrics = map[string]func(r *parquet.ProfileRow) int64{
	"time": func(*parquet.ProfileRow) int64 { return 0 },
	"calls": func(r *parquet.ProfileRow) int64 {
		if r.Kind == parquet.ProfileMPI {
			return r.Count
		}
		return 0
	},
	"bytes": func(r *parquet.ProfileRow) int64 { return r.SentBytes + r.ReceivedBytes },
	"PAPI_TOT_CYC": func(r *parquet.ProfileRow) int64 {
		if r.Kind == parquet.ProfileComputation {
			return r.Counters[1].Sum
		}
		return 0
	},
}

// Every figure of every row is that of the planted rows, for each --by and --metric; the rows add up to the total.
func TestTables(t *testing.T) {
	const ranks = 7
	p := rundirtest.Profile(ranks)
	for i := range p.Profile.Rows { // one rank lacks something
		if r := &p.Profile.Rows[i]; r.Rank == 2 && r.CallPath == rundirtest.Read {
			r.Phase, r.CallPath, r.SentBytes = rundirtest.XSolve, rundirtest.SendX, 17
			r.ReceivedBytes = 0
			break
		}
	}
	p.Seal()
	s := plant(t, p)
	for _, by := range []By{ByCall, ByCallPath, ByFunctions, ByPhase, ByCluster} {
		for metric, value := range metrics {
			want := read(p, by, value)
			a := ask(t, s, Question{By: by, Metric: metric})
			got := make(map[string]bool)
			var ns, values, phasesNS, phasesValues int64
			for i := range a.Table.Rows {
				r := &a.Table.Rows[i]
				name := rowName(r, by)
				got[name] = true
				for column, of := range []Spread{r.ExclusiveNS, r.InclusiveNS, r.Calls, r.Exclusive, r.Inclusive} {
					if column >= readValue && metric == "time" {
						continue
					}
					if want := want.spread(name, column, ranks); !alike(of, want) {
						t.Errorf("%s, %s: %q: column %d is %+v, want %+v", by, metric, name, column, of, want)
					}
				}
				if r.Type == calltree.Phase || r.Type == calltree.Program {
					if want := want.spread(name, readMPI, ranks); by == ByPhase && !alike(r.MPINS, want) {
						t.Errorf("%s: %q: in MPI %+v, want %+v", by, name, r.MPINS, want)
					}
					phasesNS, phasesValues = phasesNS+r.ExclusiveNS.Sum, phasesValues+r.Exclusive.Sum
				} else {
					ns, values = ns+r.ExclusiveNS.Sum, values+r.Exclusive.Sum
				}
			}
			for name := range want {
				if !got[name] {
					t.Errorf("%s: no row %q", by, name)
				}
			}
			total := &a.Table.Total
			if ns != total.InclusiveNS.Sum || values != total.Inclusive.Sum || a.Table.Threads != ranks || a.Table.Ranks != ranks {
				t.Errorf("%s, %s: rows add up to %d ns, %d; the total has %d ns, %d", by, metric, ns, values, total.InclusiveNS.Sum, total.Inclusive.Sum)
			}
			if by == ByPhase && (phasesNS != ns || phasesValues != values) {
				t.Errorf("%s: phases add up to %d ns, %d; the rows in them to %d ns, %d", metric, phasesNS, phasesValues, ns, values)
			}
		}
	}
}

// Computation is shown by kind, under the number of the cluster that stands for it; as a tree its variants and
// disturbed bursts are in it.
func TestKinds(t *testing.T) {
	const ranks = 3
	p := rundirtest.Profile(ranks)
	want := make(map[string]int64)
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		if r.Kind != parquet.ProfileComputation {
			continue
		}
		switch r.Cluster {
		case 2, trace.LabelNoise:
			r.OfKind = 1
		}
		kind := ClusterName(r.Cluster)
		if r.OfKind > 0 {
			kind = ClusterName(r.OfKind)
		}
		want[kind] += r.TimeNS
		switch r.Cluster {
		case 3, 4: // alone
		case 1:
			want[kind+">"+kind+" itself"] += r.TimeNS
		default:
			want[kind+">"+map[int32]string{2: "Cluster 2", trace.LabelNoise: "Disturbed"}[r.Cluster]] += r.TimeNS
		}
	}
	p.Seal()
	s := plant(t, p)
	for _, q := range []Question{{By: ByCluster}, {By: ByCall}, {By: ByCallPath}, {By: ByPhase, Nested: true}, {By: ByCluster, Nested: true}} {
		got := make(map[string]int64)
		for _, r := range ask(t, s, q).Table.Rows {
			switch {
			case r.Type != calltree.Cluster:
			case q.By == ByCluster:
				got[strings.Join(r.Stack, ">")] += r.InclusiveNS.Sum
			default:
				got[r.Name] += r.InclusiveNS.Sum
			}
		}
		want := maps.Clone(want)
		if q.By != ByCluster || !q.Nested {
			maps.DeleteFunc(want, func(name string, _ int64) bool { return strings.Contains(name, ">") })
		}
		if d := googlecmp.Diff(want, got); d != "" || len(want) < 3 {
			t.Errorf("%s (-want +got):\n%s", q.By, d)
		}
	}
}

// Instructions per cycle are quotients of sums, and statistics those of ranks that have cycles.
func TestRatio(t *testing.T) {
	p := rundirtest.Profile(3)
	for i := range p.Profile.Rows {
		r := &p.Profile.Rows[i]
		if r.Kind != parquet.ProfileComputation {
			continue
		}
		r.Counters[0].Sum, r.Counters[1].Sum = int64(r.Rank)*300, 100*int64(r.Rank)
		if r.Rank == 2 {
			r.Counters[1].Sum = 400
		}
		if r.Cluster == 3 {
			r.Counters[0].Missing = 1 // of instructions alone
		}
	}
	a := ask(t, plant(t, p), Question{By: ByCall, Metric: metricIPC})
	for i := range a.Table.Rows {
		r := &a.Table.Rows[i]
		x := r.ExclusiveRatio
		switch {
		case r.Type != calltree.Cluster || r.Cluster == 3:
			if !math.IsNaN(x.Overall) || x.Threads != 0 {
				t.Errorf("%s: %+v", r.Name, x)
			}
		case math.Abs(x.Overall-900./500) > 1e-12 || x.Mean != 2.25 || x.Most != 3 || x.Least != 1.5 || x.Std != .75 || x.MostOf.Rank != 1 || x.Threads != 2 || math.Abs(x.Of(Imbalance)-3/2.25) > 1e-12:
			t.Errorf("%s: %+v", r.Name, x)
		}
	}
}

// Rows are in the order that is asked for, by the statistic that is asked for.
func TestOrder(t *testing.T) {
	s := plant(t, rundirtest.Profile(5))
	for _, by := range []By{ByCall, ByCallPath, ByFunctions, ByCluster} {
		for _, stat := range []Stat{Sum, Mean, Most, Least, Std, Imbalance} {
			for _, sort := range []Sort{"", SortInclusive, SortExclusive, SortCalls, SortName} {
				a := ask(t, s, Question{By: by, Stat: stat, Sort: sort})
				key := func(r Row) float64 {
					x := map[Sort]float64{SortInclusive: r.InclusiveNS.Of(stat), SortExclusive: r.ExclusiveNS.Of(stat), SortCalls: r.Calls.Of(stat)}
					if sort == "" {
						if by == ByFunctions {
							return x[SortInclusive]
						}
						return x[SortExclusive]
					}
					return x[sort]
				}
				if !slices.IsSortedFunc(a.Table.Rows, func(x, y Row) int {
					if sort == SortName {
						return strings.Compare(x.Name, y.Name)
					}
					k, l := key(x), key(y)
					if math.IsNaN(k) || math.IsNaN(l) {
						return cmp.Compare(fmt.Sprint(math.IsNaN(k)), fmt.Sprint(math.IsNaN(l)))
					}
					return cmp.Compare(l, k)
				}) {
					t.Errorf("%s, %s, %q: not in order", by, stat, sort)
				}
			}
		}
	}
	a := ask(t, s, Question{By: ByCallPath, Nested: true, Sort: SortName})
	for i, r := range a.Table.Rows[1:] {
		if before := a.Table.Rows[i]; r.Depth > before.Depth+1 || r.Depth > before.Depth && !slices.Equal(r.Stack[:r.Depth-1], before.Stack) {
			t.Errorf("%v behind %v", r.Stack, before.Stack)
		}
	}
}

// Ranks and nodes have what their rows add up to.
func TestShares(t *testing.T) {
	p := rundirtest.Profile(6)
	s := plant(t, p)
	for _, by := range []By{ByRank, ByNode} {
		want := make(map[string]Share)
		for i := range p.Profile.Rows {
			r := &p.Profile.Rows[i]
			name := fmt.Sprint(r.Rank)
			if by == ByNode {
				name = map[bool]string{true: "na", false: "nb"}[r.Rank < 4]
			}
			x := want[name]
			switch r.Kind {
			case parquet.ProfilePhase:
				continue
			case parquet.ProfileMPI:
				x.MPINS, x.Calls = x.MPINS+r.TimeNS, x.Calls+r.Count
			case parquet.ProfileComputation:
				x.ComputingNS += r.TimeNS
			case parquet.ProfilePaused:
				x.PausedNS += r.TimeNS
			case parquet.ProfileUnrecorded:
				x.UnrecordedNS += r.TimeNS
			}
			x.NS, x.Value = x.NS+r.TimeNS, x.Value+r.SentBytes+r.ReceivedBytes
			want[name] = x
		}
		a := ask(t, s, Question{By: by, Metric: metricBytes})
		if len(a.Table.Shares) != len(want) {
			t.Errorf("%s: %d of %d", by, len(a.Table.Shares), len(want))
		}
		for _, x := range a.Table.Shares {
			name := fmt.Sprint(x.Rank)
			if by == ByNode {
				name = x.Host
			}
			w := want[name]
			if x.NS != w.NS || x.ComputingNS != w.ComputingNS || x.MPINS != w.MPINS || x.PausedNS != w.PausedNS || x.UnrecordedNS != w.UnrecordedNS || x.Calls != w.Calls || x.Value != w.Value || x.OtherNS != 0 {
				t.Errorf("%s %s: %+v, want %+v", by, name, x, w)
			}
		}
	}
	if a := ask(t, s, Question{By: ByNode}); a.Table.Shares[0].Ranks != 4 || a.Table.Shares[1].Ranks != 2 {
		t.Errorf("%+v", a.Table.Shares)
	}
}
