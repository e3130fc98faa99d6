package sequence

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

func matchesOf(e *editor, first, second []int32) []match {
	return e.matches(len(first), len(second), func(i, j int) bool { return first[i] == second[j] })
}

// In one window the script is a shortest one: it leaves as many pairs as the longest common subsequence has.
func TestShortestScript(t *testing.T) {
	var e editor
	rapid.Check(t, func(t *rapid.T) {
		labels := rapid.SliceOfN(rapid.Int32Range(0, 3), 0, 40)
		first, second := labels.Draw(t, "first"), labels.Draw(t, "second")
		longest := make([]int, len(second)+1) // common subsequence of the labels of first so far, by length of second
		for _, label := range first {
			before := slices.Clone(longest)
			for j, other := range second {
				longest[j+1] = max(longest[j], before[j+1])
				if label == other {
					longest[j+1] = before[j] + 1
				}
			}
		}
		last := match{-1, -1}
		got := matchesOf(&e, first, second)
		for _, m := range got {
			if m.column <= last.column || m.burst <= last.burst || first[m.column] != second[m.burst] {
				t.Fatalf("%v and %v: %v", first, second, got)
			}
			last = m
		}
		if want := longest[len(second)]; len(got) != want {
			t.Fatalf("%v and %v: %v, want %d pairs", first, second, got, want)
		}
	})
}

// Where sequences differ too much for a window the next ones go down the middle, so that what is the same between them
// is found.
func TestWindowsGoDownTheMiddle(t *testing.T) {
	const apart = windowEdits * 3 / 2
	same := slices.Repeat([]int32{1, 2, 3}, 50)
	first := slices.Concat(slices.Repeat([]int32{0}, apart), same, slices.Repeat([]int32{0}, apart))
	second := slices.Concat(slices.Repeat([]int32{4}, apart), same, slices.Repeat([]int32{4}, apart))
	got := matchesOf(new(editor), first, second)
	if len(got) != len(same) {
		t.Fatalf("%d pairs, want %d", len(got), len(same))
	}
	for i, m := range got {
		if want := int32(apart + i); m != (match{want, want}) {
			t.Fatalf("pair %d is %v, want %d of both", i, m, want)
		}
	}
}
