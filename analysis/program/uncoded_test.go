package program

import (
	"slices"
	"testing"
)

// The share of the calls without a call path, and of those on whose paths functions without machine code are.
func TestMissing(t *testing.T) {
	in := PlantedInput(2, 100, true)
	in.Functions[1].Code, in.Functions[1].Unknown = nil, "gone"
	in.Paths = append(in.Paths, Path{MPI: "MPI_Wait", Lost: true})
	lost, halo, all := 0, 0, 0
	for i := range in.Threads {
		c := &in.Threads[i].Calls
		c.Path[len(c.Path)-2] = uint32(len(in.Paths) - 1)
		for _, p := range c.Path {
			all++
			if in.Paths[p].Lost {
				lost++
			}
			if len(in.Paths[p].Steps) == 2 {
				halo++
			}
		}
	}
	s, err := Build(in)
	if err != nil {
		t.Fatal(err)
	}
	p := s.Solve()
	want := []string{
		percent(int64(lost), int64(all)) + " of the MPI calls (2) have no call path: where they are is not known.",
		"The machine code of halo is not known (gone): loops there are by the order of lines. On call paths of " + percent(int64(halo), int64(all)) + " of the MPI calls.",
	}
	if !slices.Equal(p.Why, want) {
		t.Errorf("%q, want %q", p.Why, want)
	}
}
