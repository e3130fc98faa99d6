package match

// A Reason is why a send or receive has no counterpart.
type Reason string

// All reasons, as the manifest has them.
const (
	Missing           Reason = "records are missing"
	Unrecorded        Reason = "the other side has not recorded"
	OtherWorld        Reason = "the other side is in another MPI world, which is not known"
	UnknownComm       Reason = "its communicator is not known"
	Concurrent        Reason = "the order is ambiguous: several threads, or one call that starts several"
	Mismatch          Reason = "the bytes of both sides differ"
	UnendedNearby     Reason = "the completion of similar ones was not recorded"
	Unended           Reason = "its completion was not recorded"
	UnresolvedReceive Reason = "MPI did not report the received message"
	ManyPeers         Reason = "a rank has more peers than it has room to count each of them"
	NoCounterpart     Reason = "no counterpart on the other side"
)

var reasons = [...]Reason{
	Missing, Unrecorded, OtherWorld, UnknownComm, Concurrent, Mismatch, UnendedNearby, Unended, UnresolvedReceive, ManyPeers, NoCounterpart,
}

// Unpaired counts sends and receives without a counterpart.
type Unpaired map[Reason]Count

// A Count is a number of sends and of receives.
type Count struct{ Sends, Receives int64 }

func (u Unpaired) add(why Reason, send bool, n int64) {
	c := u[why]
	if send {
		c.Sends += n
	} else {
		c.Receives += n
	}
	u[why] = c
}

// addFate counts a posting if it has no counterpart; rest is the reason where its fate gives none.
func (u Unpaired) addFate(f fate, rest Reason, send bool) {
	switch f {
	case paired:
	case concurrent:
		u.add(Concurrent, send, 1)
	case mismatched:
		u.add(Mismatch, send, 1)
	default:
		u.add(rest, send, 1)
	}
}

// rest is why what is left between two processes has no counterpart; near says that postings like it have no known end.
func rest(from, to Process, near bool) Reason {
	switch {
	case from.Gap != NoGap || to.Gap != NoGap:
		return Missing
	case near:
		return UnendedNearby
	}
	return NoCounterpart
}
