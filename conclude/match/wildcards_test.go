package match

import "testing"

// Receives without a status may have taken of one stream where they can have been of one sender's to one process, with
// one tag.
func TestWildcardsOverlap(t *testing.T) {
	one := wildcard{process: 0, comm: 7, peer: 0, tag: 0}
	for _, tt := range []struct {
		other wildcard
		want  bool
	}{
		{one, true},
		{wildcard{0, 7, -1, -1}, true},
		{wildcard{0, 7, 1, 0}, false},
		{wildcard{0, 7, 0, 1}, false},
		{wildcard{1, 7, 0, 0}, false},
		{wildcard{0, 8, 0, 0}, false},
	} {
		if one.overlaps(tt.other) != tt.want || tt.other.overlaps(one) != tt.want {
			t.Errorf("%+v and %+v: %v", one, tt.other, !tt.want)
		}
	}
}
