package trace

import (
	"fmt"
	"slices"
	"testing"
)

// frames are call paths' of one letter each, innermost first; . is folded recursion.
func framesOf(text string) (frames []Frame) {
	for _, c := range text {
		if c == '.' {
			frames = append(frames, Frame{Function: Folded})
			continue
		}
		frames = append(frames, Frame{Module: "app", Offset: uint64(c), Function: string(c)})
	}
	return frames
}

func pathsOf(list ...string) []CallPath {
	paths := []CallPath{{}}
	for _, text := range list {
		paths = append(paths, CallPath{Function: "MPI_" + text[:1], Frames: framesOf(text[1:])})
	}
	return paths
}

// Call paths that differ in callers alone have one place, which the frames stand for that all of them share.
func TestPlaces(t *testing.T) {
	for _, tt := range []struct {
		paths, shared, names []string
		places               []uint32 // with the shared ones behind
	}{
		{
			paths: []string{"Aabc", "Aabd", "Aabde", "Babc", "Adbc"}, shared: []string{"Aab"},
			places: []uint32{0, 6, 6, 6, 4, 5, 6},
			names:  []string{"?", "MPI_A@a<…<c", "MPI_A@a<…<d", "MPI_A@a<…<d<e", "MPI_B@a", "MPI_A@d", "MPI_A@a"},
		},
		{ // one is what they share
			paths: []string{"Aab", "Aabcdx", "Aabcdy"}, places: []uint32{0, 1, 1, 1},
			names: []string{"?", "MPI_A@a", "MPI_A@a<…<c<…<x", "MPI_A@a<…<c<…<y"},
		},
		{ // of one frame, and of none
			paths: []string{"Aa", "A", "B", "Ba"}, places: []uint32{0, 1, 2, 3, 4}, names: []string{"?", "MPI_A@a", "MPI_A", "MPI_B", "MPI_B@a"},
		},
		{ // recursion
			paths: []string{"Aar.rx", "Aarx", "Aar.ry"}, shared: []string{"Aar"}, places: []uint32{0, 4, 4, 4, 4},
			names: []string{"?", "MPI_A@a<…<…<…<x", "MPI_A@a<…<x", "MPI_A@a<…<…<…<y", "MPI_A@a"},
		},
	} {
		t.Run(fmt.Sprint(tt.paths), func(t *testing.T) {
			r := Run{CallPaths: pathsOf(tt.paths...)}
			r.AddSharedPaths()
			want := append(pathsOf(tt.paths...), pathsOf(tt.shared...)[1:]...)
			if !slices.EqualFunc(r.CallPaths, want, func(a, b CallPath) bool {
				return a.Function == b.Function && slices.EqualFunc(a.Frames, b.Frames, func(f, g Frame) bool { return f.Same(&g) })
			}) {
				t.Errorf("shared %+v", r.CallPaths[1+len(tt.paths):])
			}
			if got := r.Places(); !slices.Equal(got, tt.places) {
				t.Errorf("places %d, want %d", got, tt.places)
			}
			if got := r.Names(); !slices.Equal(got, tt.names) {
				t.Errorf("names %q, want %q", got, tt.names)
			}
			if more := SharedPaths(r.CallPaths); len(more) > 0 {
				t.Errorf("then shared too: %+v", more)
			}
		})
	}
	others := Run{CallPaths: pathsOf("Aab", "Aac"), WholePaths: true}
	if others.AddSharedPaths(); !slices.Equal(others.Places(), []uint32{0, 1, 2}) {
		t.Errorf("places in another tool's trace %d", others.Places())
	}
}

// The name of a place, and what the runs of its call paths are called by, do not depend on how many frames there are.
func TestNamesByDepth(t *testing.T) {
	whole := pathsOf("Aabcd", "Aabce", "Aabf", "Aagh", "Bxyz", "Byyz", "Cxyz")
	var first map[string]bool
	for depth := 1; depth <= 4; depth++ {
		r := Run{CallPaths: []CallPath{{}}}
		for _, p := range whole[1:] {
			p.Frames = p.Frames[:min(depth, len(p.Frames))]
			if !slices.ContainsFunc(r.CallPaths, func(q CallPath) bool {
				return q.Function == p.Function && common(p.Frames, q.Frames) == max(len(p.Frames), len(q.Frames))
			}) {
				r.CallPaths = append(r.CallPaths, p)
			}
		}
		r.AddSharedPaths()
		names := r.Names()
		unique := slices.Compact(slices.Sorted(slices.Values(names)))
		if len(unique) != len(names) {
			t.Errorf("names %q", names)
		}
		places := make(map[string]bool)
		for _, at := range r.Places() {
			places[names[at]] = true
		}
		if depth == 1 {
			first = places
		}
		if fmt.Sprint(places) != fmt.Sprint(first) {
			t.Errorf("places of %d frames %v, of one %v", depth, places, first)
		}
	}
}
