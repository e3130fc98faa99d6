package program

import "testing"

// One expression holds for the peers of all ranks that make a call.
func TestPeersOf(t *testing.T) {
	for want, c := range map[string]struct {
		size  int
		ranks int
		rule  func(r int) int
	}{
		"transpose of 3×3":  {9, 9, func(r int) int { return r%3*3 + r/3 }},
		"transpose of 2×2":  {7, 4, func(r int) int { return r%2*2 + r/2 }},
		"size-1-rank":       {6, 6, func(r int) int { return 5 - r }},
		"(rank+3) mod size": {8, 8, func(r int) int { return (r + 3) % 8 }},
		"rank^4":            {16, 16, func(r int) int { return r ^ 4 }},
		"5":                 {6, 6, func(int) int { return 5 }},
	} {
		by := make(map[int][]int)
		for r := range c.ranks {
			by[r] = []int{c.rule(r)}
		}
		if p := peersOf(by, c.size, false); p.Text != want {
			t.Errorf("%q, want %q", p.Text, want)
		}
	}
	// Of two ranks of several a table says as much as most forms, and more clearly.
	for want, by := range map[string]map[int][]int{
		"0→1; 1→0":                        {0: {1}, 1: {0}},
		"0→1; 7→0":                        {0: {1}, 7: {0}},
		"rank+1":                          {2: {3}, 5: {6}},
		"6":                               {2: {6}, 5: {6}},
		"2→3 6; 3→2 7":                    {2: {3, 6}, 3: {2, 7}},
		"each of rank-1, rank+1":          {2: {1, 3}, 5: {4, 6}},
		"each of rank, rank+1":            {2: {2, 3}, 5: {5, 6}, 6: {6, 7}},
		"each of rank, rank^3":            {0: {0, 3}, 1: {1, 2}, 2: {1, 2}},
		"each of (rank, rank+1) mod size": {2: {2, 3}, 5: {5, 6}, 7: {0, 7}},
	} {
		if p := peersOf(by, 8, false); p.Text != want || !p.fits() {
			t.Errorf("%+v, want %q", p, want)
		}
	}
	// The first ranks are no square grid if one of them is not among them.
	if p := peersOf(map[int][]int{0: {0}, 1: {2}, 2: {1}, 4: {4}}, 7, false); p.Kind != peerTable {
		t.Errorf("%+v", p)
	}
}
