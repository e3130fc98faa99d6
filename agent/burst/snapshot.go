package burst

import moriensv1 "moriens/proto/moriens/v1"

// Snapshot returns what Restore needs to continue after the rows formed so far.
func (f *Former) Snapshot() *moriensv1.BurstState {
	return &moriensv1.BurstState{Calls: f.calls, LastExit: f.lastExit, Started: f.started, Lost: f.lost, Paused: f.paused}
}

// Restore returns a Former that forms what the one of the snapshot would have formed next.
func Restore(ring uint64, events int, s *moriensv1.BurstState) *Former {
	return &Former{
		ring: ring, events: events, calls: s.GetCalls(), lastExit: s.GetLastExit(), started: s.GetStarted(), lost: s.GetLost(), paused: s.GetPaused(),
	}
}
