package trace

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// planted is a function of five calls: A, then a loop of B, a loop of C and D, then E; D follows C, E what it pleases.
func plantedCode() CodeFunction {
	matrix := func(n int, pairs ...[2]int) []byte {
		m := make([]byte, (n*n+7)/8)
		for _, p := range pairs {
			bit := p[0]*n + p[1]
			m[bit/8] |= 1 << (bit % 8)
		}
		return m
	}
	return CodeFunction{
		Module: "app", BuildID: "a", Entry: 1,
		Loops: []CodeLoop{{Parent: -1, Line: 2}, {Parent: 0, Line: 4}, {Parent: -1, Line: 9}},
		Sites: []CodeSite{{Offset: 10, Loop: -1, Column: 1}, {Offset: 20, Loop: 0, Column: 2}, {Offset: 30, Loop: 1, Column: 3}, {Offset: 40, Loop: 1, Column: 4}, {Offset: 50, Loop: 2, Column: 5}},
		Follows: [][]byte{
			matrix(5, [2]int{0, 1}, [2]int{0, 3}, [2]int{1, 3}, [2]int{3, 1}, [2]int{3, 3}, [2]int{3, 4}),
			matrix(3, [2]int{0, 1}, [2]int{0, 2}, [2]int{1, 2}, [2]int{2, 2}), matrix(2, [2]int{0, 1}), matrix(1),
		},
	}
}

// Of a function with fewer sites the rest is as it was: loops keep their order and what is round them.
func TestOnly(t *testing.T) {
	c := plantedCode()
	if d := cmp.Diff([]int{5, 3, 2, 1}, c.Within()); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff(c, c.Only(func(uint64) bool { return true })); d != "" {
		t.Errorf("all: %s", d)
	}
	got := c.Only(func(offset uint64) bool { return offset == 20 || offset == 40 })
	want := CodeFunction{
		Module: "app", BuildID: "a", Entry: 1,
		Loops:   []CodeLoop{{Parent: -1, Line: 2}, {Parent: 0, Line: 4}},
		Sites:   []CodeSite{{Offset: 20, Loop: 0, Column: 2}, {Offset: 40, Loop: 1, Column: 4}},
		Follows: [][]byte{{0b1110}, {0b1010}, {0}},
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	got = c.Only(func(offset uint64) bool { return offset == 50 })
	if d := cmp.Diff([]CodeLoop{{Parent: -1, Line: 9}}, got.Loops); d != "" || got.Sites[0].Loop != 0 || len(got.Follows) != 2 {
		t.Errorf("%+v %s", got, d)
	}
}

// A function is kept with the calls that are on call paths of its own module; one that is not known, where the module
// has frames.
func TestCodeOn(t *testing.T) {
	other := plantedCode()
	other.BuildID = "b"
	functions := []CodeFunction{plantedCode(), other, {Module: "app", BuildID: "b", Refused: "no function"}, {Module: "lib", Refused: "no function"},
		{Module: "app", BuildID: "a", Entry: 99, Refused: "too large", Sites: []CodeSite{{Offset: 60, Loop: -1, Column: 0}, {Offset: 70, Loop: -1, Column: 0}}}}
	paths := []CallPath{{}, {Function: "MPI_Send", Frames: []Frame{{Module: "app", BuildID: "a", Offset: 10}, {Module: "app", BuildID: "a", Offset: 70}}},
		{Function: "MPI_Recv", Frames: []Frame{{Module: "app", BuildID: "b", Offset: 11}, {Function: "f", Offset: 50}}}}
	got := CodeOn(paths, functions)
	if len(got) != 3 || got[0].BuildID != "a" || len(got[0].Sites) != 1 || got[1].Refused != "no function" || got[1].BuildID != "b" || len(got[2].Sites) != 1 || got[2].Sites[0].Offset != 70 {
		t.Errorf("%+v", got)
	}
	if got := CodeOn(nil, functions); got != nil {
		t.Errorf("%+v", got)
	}
}
