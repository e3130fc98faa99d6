package clock

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// Two nodes of two threads each, which come at 10 and 20, 12 and 25, and leave at 31 and 30, 33 and 32.
func TestBoundsOfCollectives(t *testing.T) {
	var threads []Thread
	var members []Member
	for i, at := range [][2]int64{{10, 31}, {20, 30}, {12, 33}, {25, 32}} {
		threads = append(threads, Thread{Node: i / 2, EnterNS: []int64{at[0]}, ExitNS: []int64{at[1]}})
		members = append(members, Member{Place{int32(i), 0}, Place{int32(i), 0}})
	}
	for name, tt := range map[string]struct {
		flow    Flow
		root    int
		broken  int64 // a time that no clock can have had
		want    []Bound
		refused int
	}{
		"all":                 {AllToAll, 0, 0, []Bound{{0, 1, 20, 32}, {1, 0, 25, 30}}, 0},
		"from a root":         {FromRoot, 2, 0, []Bound{{1, 0, 12, 30}}, 0},
		"to a root":           {ToRoot, 2, 0, []Bound{{0, 1, 20, 33}}, 0},
		"prefix":              {Prefix, 0, 0, []Bound{{0, 1, 20, 33}}, 0},
		"all, last not":       {AllToAll, 0, 25, []Bound{{0, 1, 20, 32}, {1, 0, 12, 30}}, 1},
		"all, first not":      {AllToAll, 0, 30, []Bound{{0, 1, 20, 32}, {1, 0, 25, 31}}, 1},
		"from a root, it not": {FromRoot, 2, 12, nil, 1},
		"prefix, one not":     {Prefix, 0, 33, nil, 1},
	} {
		traffic := Traffic{Collectives: []Collective{{Flow: tt.flow, Root: tt.root, Members: members}}}
		bounds, refused := traffic.Bounds(threads, func(_ int, ns int64) bool { return ns != tt.broken }, 1)
		if d := cmp.Diff(tt.want, bounds); d != "" || refused != tt.refused {
			t.Errorf("%s: %d refused\n%s", name, refused, d)
		}
	}
	if bounds, _ := (&Traffic{Collectives: []Collective{{}}}).Bounds(threads, always, 1); len(bounds) > 0 {
		t.Errorf("a collective of nobody says %v", bounds)
	}
}

// Whatever one member's call says of that of another node, by way of the root where there is one, follows from the
// bounds, each of which is of two calls of which one waits for the other; and any number of workers finds the same.
func TestBoundsAreTightest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.IntRange(2, 4).Draw(t, "nodes")
		threads := make([]Thread, rapid.IntRange(2, 9).Draw(t, "threads"))
		rows := rapid.IntRange(1, 4).Draw(t, "rows")
		for i := range threads {
			threads[i].Node = rapid.IntRange(0, nodes-1).Draw(t, "node")
			for range rows {
				threads[i].EnterNS = append(threads[i].EnterNS, rapid.Int64Range(0, 50).Draw(t, "enter"))
				threads[i].ExitNS = append(threads[i].ExitNS, rapid.Int64Range(0, 50).Draw(t, "exit"))
			}
		}
		var traffic Traffic
		for row := range rows {
			c := Collective{Flow: Flow(rapid.IntRange(0, 3).Draw(t, "flow")), Root: rapid.IntRange(0, len(threads)-1).Draw(t, "root")}
			for i := range threads {
				p := Place{int32(i), int32(row)}
				c.Members = append(c.Members, Member{p, p})
			}
			one := Traffic{Collectives: []Collective{c}}
			bounds, _ := one.Bounds(threads, always, 1)
			type pair struct{ from, to int }
			said := make(map[pair]Bound)
			for _, b := range bounds {
				said[pair{b.From, b.To}] = b
			}
			hub := threads[c.Root].Node
			for i := range threads {
				for k := range threads {
					from, to := threads[i].Node, threads[k].Node
					waits := c.Flow == AllToAll && (from == hub || to == hub) || c.Flow == FromRoot && i == c.Root && k != i || c.Flow == ToRoot && k == c.Root && k != i
					if !waits || from == to {
						continue
					}
					b, has := said[pair{from, to}]
					if !has || b.SendNS < threads[i].EnterNS[row] || b.RecvNS > threads[k].ExitNS[row] {
						t.Fatalf("flow %d: member %d says of member %d: %d, %d; said is %+v", c.Flow, i, k, threads[i].EnterNS[row], threads[k].ExitNS[row], b)
					}
				}
			}
			for _, b := range bounds {
				sent, received := int64(math.MinInt64), int64(math.MaxInt64)
				for i := range threads {
					if threads[i].Node == b.From && threads[i].EnterNS[row] == b.SendNS {
						sent = b.SendNS
					}
					if threads[i].Node == b.To && threads[i].ExitNS[row] == b.RecvNS {
						received = b.RecvNS
					}
				}
				if sent != b.SendNS || received != b.RecvNS {
					t.Fatalf("flow %d: nobody came or left as %+v says", c.Flow, b)
				}
			}
			traffic.Collectives = append(traffic.Collectives, c)
		}
		want, _ := traffic.Bounds(threads, always, 1)
		for _, workers := range []int{0, 2, 16} {
			got, _ := traffic.Bounds(threads, always, workers)
			if d := cmp.Diff(want, got); d != "" {
				t.Fatalf("%d workers: %s", workers, d)
			}
		}
	})
}
