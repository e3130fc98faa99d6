package placement_test

import (
	"testing"

	"moriens/analysis/placement"
	"moriens/internal/testenv"
)

// Groups of ranks fit hosts whose rooms differ: in blocks, in turn, or as they lie. Bisections often miss such a plan:
// it is the best of the candidates that is the answer, whichever it is.
func TestBestCandidate(t *testing.T) {
	r := testenv.Drawer(testenv.Seed(t), t.Name())
	for range 20 {
		var room []int32
		ranks := 0
		for range 5 {
			room = append(room, int32(2+r.IntN(12)))
			ranks += int(room[len(room)-1])
		}
		shuffled := placement.Blocks(room)
		r.Shuffle(ranks, func(i, k int) { shuffled[i], shuffled[k] = shuffled[k], shuffled[i] })
		plans := [3][]int32{placement.Blocks(room), placement.RoundRobin(room), shuffled}
		for _, planted := range plans {
			var edges []placement.Edge
			for a := range int32(ranks) {
				for b := range a {
					switch same := planted[a] == planted[b]; {
					case same:
						edges = append(edges, placement.Edge{A: a, B: b, Weight: float64(1 + r.IntN(3))})
					case r.IntN(4) == 0:
						edges = append(edges, placement.Edge{A: b, B: a, Weight: float64(1 + r.IntN(3))})
					}
				}
			}
			without, err := placement.Advise(ranks, edges, room, nil)
			if err != nil {
				t.Fatal(err)
			}
			p, err := placement.Advise(ranks, edges, room, shuffled)
			if err != nil {
				t.Fatal(err)
			}
			checkPlan(t, p, edges, room)
			for i, of := range plans {
				if b := recount(edges, of); b < p.Between {
					t.Fatalf("plan %d has %g between hosts, the advice %g", i, b, p.Between)
				} else if i < 2 && b < without.Between {
					t.Fatalf("plan %d has %g between hosts, the advice without the present one %g", i, b, without.Between)
				}
			}
		}
	}
}
