package phase_test

import (
	"testing"

	"pgregory.net/rapid"

	"moriens/analysis/phase"
)

// An end ends the innermost phase of its name, however deep that lies, and only what lies beyond the limit is no phase
// of its own.
func TestNest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var n phase.Nest
		var want []uint32
		for range rapid.IntRange(0, 3*phase.MostDepth).Draw(t, "marks") {
			name := uint32(rapid.IntRange(0, 5).Draw(t, "name"))
			if rapid.IntRange(0, 9).Draw(t, "begins") > 0 {
				want = append(want, name)
				if is := n.Begin(name); is != (len(want) <= phase.MostDepth) {
					t.Fatalf("depth %d: %t", len(want), is)
				}
				continue
			}
			if rapid.IntRange(0, 20).Draw(t, "other") == 0 {
				name = 7 // which no phase has
			}
			k := len(want) - 1
			for k >= 0 && want[k] != name {
				k--
			}
			if k >= 0 {
				want = want[:k]
			}
			if got := n.End(name); got != k || n.Len() != len(want) {
				t.Fatalf("%d remain, Len %d, want %d and %d", got, n.Len(), k, len(want))
			}
		}
	})
}

// A program that begins phases and never ends them costs no more than the limit allows for each: two names in turn make
// no more paths than the limit, and ends of others beyond it look at no more names.
func TestDepthIsBounded(t *testing.T) {
	const begins = 100_000
	var s phase.Stream
	s.Begin(0)
	marks := make([]phase.Mark, 0, begins)
	for i := range begins {
		marks = append(marks, phase.Mark{NS: int64(i), Name: uint32(1 + i%2)})
	}
	x := s.Stretch(marks, begins)
	if n := len(x.Intervals); n != phase.MostDepth {
		t.Errorf("%d intervals", n)
	}
	if _, err := s.Take(x, new(phase.Records)); err != nil {
		t.Fatal(err)
	}
	if n := s.Paths().Len(); n != 1+phase.MostDepth {
		t.Errorf("%d paths", n)
	}
	// The end of one beyond the limit ends no phase, an end of one at the limit all beyond it; then there is room again.
	ends := []phase.Mark{{NS: begins, Name: 2, End: true}, {NS: begins, Name: 3, End: true}}
	for range begins/2 - phase.MostDepth/2 + 1 {
		ends = append(ends, phase.Mark{NS: begins + 1, Name: 1, End: true})
	}
	x = s.Stretch(ends, begins+2)
	for i, in := range x.Intervals[:phase.MostDepth-2] {
		if in.EndNS != begins+2 {
			t.Errorf("phase %d ends at %d", i, in.EndNS)
		}
	}
	if in := x.Intervals[phase.MostDepth-2]; in.EndNS != begins+1 || len(x.Intervals) != phase.MostDepth {
		t.Errorf("the last but one ends at %d; %d phases", in.EndNS, len(x.Intervals))
	}
	if _, err := s.Take(x, new(phase.Records)); err != nil {
		t.Fatal(err)
	}
	if x = s.Stretch([]phase.Mark{{NS: begins + 3, Name: 9}}, begins+4); len(x.Intervals) != phase.MostDepth-1 || x.Intervals[phase.MostDepth-2].Name != 9 {
		t.Errorf("%d phases", len(x.Intervals))
	}
}
