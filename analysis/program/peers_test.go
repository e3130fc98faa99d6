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

// Ranks without a partner are those that the expression leaves without one; else it says that there are some.
func TestPeersOfFewer(t *testing.T) {
	none := []int{procNull}
	for want, by := range map[string]map[int][]int{
		"rank+1":                   {0: {1}, 1: {2}, 2: {3}, 3: none},
		"rank+1, or none":          {0: {1}, 1: none, 2: {3}, 3: {4}, 4: none, 5: none},
		"+1 in dimension 1 of 2×3": {0: {1}, 1: {2}, 2: none, 3: {4}, 4: {5}, 5: none},
		"rank-3":                   {0: none, 1: none, 2: none, 3: {0}, 4: {1}, 5: {2}},
		"5, or none":               {0: {5}, 1: {5}, 2: none, 3: {5}},
		"rank^1, or none":          {0: {1}, 1: {0}, 2: none, 3: {2}},
		"MPI_PROC_NULL":            {0: none, 1: none},
	} {
		size := 6
		if len(by) == 4 && want == "rank+1" {
			size = 4
		}
		if p := peersOf(by, size, false); p.Text != want || !p.fits() {
			t.Errorf("%+v, want %q", p, want)
		}
	}
}

// A neighbour is found in each dimension of a grid, periodic or not.
func TestPeersInGrids(t *testing.T) {
	const size = 24
	for text, grid := range map[string]struct{ stride, n int }{
		"+1 in dimension 1 of 6×4":   {1, 4},
		"+1 in dimension 1 of 2×3×4": {4, 3},
		"+1 in dimension 1 of 2×4×3": {3, 4},
	} {
		periodic, ending := make(map[int][]int), make(map[int][]int)
		for r := range size {
			at := r / grid.stride % grid.n
			periodic[r] = []int{r + ((at+1)%grid.n-at)*grid.stride}
			if ending[r] = periodic[r]; at == grid.n-1 {
				ending[r] = []int{procNull}
			}
		}
		for want, by := range map[string]map[int][]int{text: ending, text + ", periodic": periodic} {
			if p := peersOf(by, size, false); p.Text != want || !p.fits() {
				t.Errorf("%+v, want %q", p, want)
			}
		}
	}
}
