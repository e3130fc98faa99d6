package mark

import moriensv1 "moriens/proto/moriens/v1"

// Snapshot returns what Restore needs to continue after the marks formed so far.
func (f *Former) Snapshot() *moriensv1.MarkState {
	return &moriensv1.MarkState{Marks: f.marks, Last: f.last}
}

// Restore returns a Former that forms what the one of the snapshot would have formed next.
func Restore(ring uint64, s *moriensv1.MarkState) *Former {
	return &Former{ring: ring, marks: s.GetMarks(), last: s.GetLast()}
}
