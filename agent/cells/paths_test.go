package cells

import (
	"testing"

	moriensv1 "moriens/proto/moriens/v1"
)

// Frames are distinguished by what identifies them: a line of an interpreter's program by itself, a return address not
// by what is known of it.
func TestHashFrames(t *testing.T) {
	line := func(file, function string, line uint32) *moriensv1.Frame {
		return &moriensv1.Frame{File: file, Function: function, Line: line}
	}
	hashes := make(map[uint64][]*moriensv1.Frame)
	for _, frames := range [][]*moriensv1.Frame{
		{},
		{{}},
		{line("a.py", "f", 7)},
		{line("a.py", "f", 8)},
		{line("b.py", "f", 7)},
		{line("a.py", "g", 7)},
		{line("a.p", "yf", 7)},
		{{Module: "/opt/app", Offset: 16}},
		{{Module: "/opt/app", Offset: 32}},
	} {
		h := hashPlace(frames)
		if hashes[h] != nil {
			t.Errorf("%v and %v have one hash", hashes[h], frames)
		}
		hashes[h] = frames
		if len(frames) > 0 && hashPlace(append(frames, line("a.py", "f", 8))) != h {
			t.Errorf("%v has another hash with a caller", frames)
		}
	}
}
