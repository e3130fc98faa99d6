package refine_test

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/dbscan"
	"moriens/analysis/refine"
	"moriens/internal/team"
)

func drawBursts(t *rapid.T) refine.Bursts {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	kinds := rapid.IntRange(1, 6).Draw(t, "kinds")
	ladder := []float64{.02, .05, .3, 1}[:rapid.IntRange(1, 4).Draw(t, "steps")]
	groups := rapid.IntRange(1, 3).Draw(t, "groups")
	var b refine.Bursts
	b.Groups = make([]refine.Group, groups)
	for range rapid.IntRange(1, 4).Draw(t, "threads") {
		for i := range rapid.IntRange(0, 60).Draw(t, "bursts") {
			row := int32(len(b.DurationNS))
			b.DurationNS = append(b.DurationNS, random.Int64N(100))
			if random.IntN(20) == 0 {
				continue // in no group
			}
			kind := i % kinds
			g := &b.Groups[kind%groups]
			g.Rows = append(g.Rows, row)
			g.Points.Coords = append(g.Points.Coords, float64(kind)/4+.05*random.NormFloat64())
		}
		b.Ends = append(b.Ends, len(b.DurationNS))
	}
	for i := range b.Groups {
		g := &b.Groups[i]
		g.Points.Dims, g.MinPts, g.Eps = 1, rapid.IntRange(1, 5).Draw(t, "minPts"), ladder[:1+random.IntN(len(ladder))]
		var err error
		if g.Index, err = dbscan.NewShared(team.Solo{}, g.Points, 1); err != nil {
			t.Fatal(err)
		}
	}
	return b
}

func drawOptions(t *rapid.T) refine.Options {
	o := refine.Options{
		Strict: rapid.Bool().Draw(t, "strict"), Freeze: rapid.SampledFrom([]float64{0, .5, 1}).Draw(t, "freeze"),
		Workers: rapid.IntRange(1, 3).Draw(t, "workers"),
	}
	if rapid.Bool().Draw(t, "rare") {
		o.RareMinPts = func(int) int { return 3 }
	}
	return o
}

// The tree and the labels agree: every level holds all bursts, nodes get as many as their parents give, and frozen
// nodes do not change.
func TestTreeAddsUp(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, o := drawBursts(t), drawOptions(t)
		in := 0
		for _, g := range b.Groups {
			in += len(g.Rows)
		}
		r := run(t, b, o)
		for i, level := range r.Tree.Levels {
			sum := 0
			given := make(map[int32]int)
			for k, n := range level.Nodes {
				sum += n.Bursts
				if k > 0 && level.Nodes[k-1].ID >= n.ID || n.Bursts == 0 {
					t.Fatalf("level %d: %+v", i, level.Nodes)
				}
				from := 0
				for _, p := range n.Parents {
					given[p.ID] += p.Bursts
					from += p.Bursts
				}
				if i > 0 && from != n.Bursts || i == 0 && n.Parents != nil {
					t.Fatalf("level %d: %+v has %d bursts of its parents", i, n, from)
				}
			}
			if sum != in {
				t.Fatalf("level %d has %d bursts of %d", i, sum, in)
			}
			if i == 0 {
				continue
			}
			for _, n := range r.Tree.Levels[i-1].Nodes {
				if given[n.ID] != n.Bursts {
					t.Fatalf("level %d: %+v gives %d bursts", i, n, given[n.ID])
				}
				if n.Frozen && n.ID != refine.Noise && !slices.ContainsFunc(level.Nodes, func(m refine.Node) bool { return m.ID == n.ID && m.Bursts == n.Bursts }) {
					t.Fatalf("level %d: frozen %+v is gone", i, n)
				}
			}
		}
		count, time := make(map[int32]int), make(map[int32]int64)
		for row, label := range r.Labels {
			count[label]++
			time[label] += b.DurationNS[row]
		}
		if count[refine.Absent] != len(b.DurationNS)-in {
			t.Fatalf("%d absent bursts", count[refine.Absent])
		}
		for _, n := range r.Nodes {
			if count[n.ID] != n.Bursts || time[n.ID] != n.TimeNS {
				t.Fatalf("%+v: by the labels %d bursts of %d ns", n, count[n.ID], time[n.ID])
			}
			if r.Score.Defined() && n.Score != r.Score.Labels[n.ID].Score {
				t.Fatalf("%+v: score %v", n, r.Score.Labels[n.ID].Score)
			}
			delete(count, n.ID)
		}
		delete(count, refine.Absent)
		delete(count, refine.Noise)
		if len(count) > 0 {
			t.Fatalf("labels without a node: %v", count)
		}
	})
}

// The first level is DBSCAN. So is each later one, of the bursts that it clusters again.
func TestFirstLevelIsDBSCAN(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := drawBursts(t)
		for i := range b.Groups {
			b.Groups[i].Eps = b.Groups[i].Eps[:1]
		}
		r := run(t, b, refine.Options{Workers: 2})
		for _, g := range b.Groups {
			if len(g.Rows) < g.MinPts {
				continue
			}
			want, err := dbscan.Cluster(g.Points, g.Eps[0], g.MinPts, 1)
			if err != nil {
				t.Fatal(err)
			}
			same := make(map[int32]int32)
			for i, row := range g.Rows {
				id, seen := same[want.Labels[i]]
				if !seen {
					id = r.Labels[row]
					same[want.Labels[i]] = id
				}
				if r.Labels[row] != id || (id == refine.Noise) != (want.Labels[i] == dbscan.Noise) {
					t.Fatalf("row %d: label %d, DBSCAN says %d", row, r.Labels[row], want.Labels[i])
				}
			}
		}
	})
}

func TestWorkersDoNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, o := drawBursts(t), drawOptions(t)
		o.Workers = 1
		want := run(t, b, o)
		o.Workers = 4
		if got := run(t, b, o); !slices.Equal(got.Labels, want.Labels) || len(got.Tree.Levels) != len(want.Tree.Levels) || got.Tree.Why != want.Tree.Why {
			t.Fatalf("%+v, with 4 workers %+v", want.Tree, got.Tree)
		}
	})
}

// The same threads in another order come to the same clusters, steps and scores.
func TestThreadOrderDoesNotMatter(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, o := drawBursts(t), drawOptions(t)
		want := run(t, b, o)

		order := make([]int, len(b.Ends))
		for i := range order {
			order[i] = i
		}
		order = rapid.Permutation(order).Draw(t, "order")
		var c refine.Bursts
		to := make([]int32, len(b.DurationNS)) // where a row goes
		for _, from := range order {
			begin := 0
			if from > 0 {
				begin = b.Ends[from-1]
			}
			for row := begin; row < b.Ends[from]; row++ {
				to[row] = int32(len(c.DurationNS))
				c.DurationNS = append(c.DurationNS, b.DurationNS[row])
			}
			c.Ends = append(c.Ends, len(c.DurationNS))
		}
		for _, g := range b.Groups {
			type burst struct {
				row int32
				x   float64
			}
			var bursts []burst
			for i, row := range g.Rows {
				bursts = append(bursts, burst{to[row], g.Points.Coords[i]})
			}
			slices.SortFunc(bursts, func(x, y burst) int { return int(x.row - y.row) })
			h := refine.Group{Eps: g.Eps, MinPts: g.MinPts, Points: dbscan.Points{Dims: 1}}
			for _, x := range bursts {
				h.Rows, h.Points.Coords = append(h.Rows, x.row), append(h.Points.Coords, x.x)
			}
			var err error
			if h.Index, err = dbscan.NewShared(team.Solo{}, h.Points, 1); err != nil {
				t.Fatal(err)
			}
			c.Groups = append(c.Groups, h)
		}
		got := run(t, c, o)
		for row, label := range want.Labels {
			if got.Labels[to[row]] != label {
				t.Fatalf("burst %d: %d, in another order %d", row, label, got.Labels[to[row]])
			}
		}
		if math.Float64bits(got.Score.Global) != math.Float64bits(want.Score.Global) || !reflect.DeepEqual(got.Tree.Chosen, want.Tree.Chosen) || got.Tree.Why != want.Tree.Why {
			t.Fatalf("%v %+v, in another order %v %+v", want.Score.Global, want.Tree, got.Score.Global, got.Tree)
		}
	})
}
