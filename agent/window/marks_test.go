package window

import (
	"math"
	"testing"

	"moriens/internal/anchor"
)

// About an eighth of the marked windows of a class goes at a time, one at least, until there are none.
func TestLower(t *testing.T) {
	s := &Store{config: Config{Run: "run"}, marks: make(map[key]mark), below: [classes]uint64{math.MaxUint64, math.MaxUint64, math.MaxUint64}}
	const windows = 100
	for w := range anchor.ID(windows) {
		s.marks[key{1, w}] = mark{class: classes - 1}
		s.marks[key{2, w}] = mark{class: classes - 2} // whose bound is unchanged
	}
	for left := windows; left > 0; {
		s.below[classes-1] = s.lower(classes - 1)
		local := 0
		for k, m := range s.marks {
			if m.class == classes-1 && s.hash(k.window) <= s.below[m.class] {
				local++
			}
		}
		if local != left*7/8 {
			t.Fatalf("%d of %d stay, want %d", local, left, left*7/8)
		}
		left = local
	}
	if got := s.lower(classes - 1); got != 0 {
		t.Errorf("with no window left the bound is %d", got)
	}
}
