package match

import "cmp"

// A Place is a call of the run.
type Place struct {
	Thread int32
	Row    uint32
}

// Compare orders places by thread, then by row.
func (p Place) Compare(q Place) int {
	return cmp.Or(cmp.Compare(p.Thread, q.Thread), cmp.Compare(p.Row, q.Row))
}

// A Stream is the messages from one process to another that never overtake each other: those of one communicator
// and one tag (MPI-4.1, section 3.5).
type Stream struct {
	Comm     uint64 // id
	From, To int32  // processes
	Tag      int32
	Channel  int64 // of partitioned messages; -1
}

// A Posting is a send or a receive, by the calls that posted and completed it.
type Posting struct {
	Thread, DoneThread int32
	Row                uint32
	DoneRow            int64 // -1: no known one
	Bytes              uint64
	Ordinal            uint64 // of its kind in its stream, plus 1; 0: not known
	AtMost             bool   // Bytes is the size of the buffer of a receive
	StartNS, EndNS     int64  // of the posting call
	fate               fate
}

// A fate is what the matching makes of a posting.
type fate uint8

const (
	unmatched fate = iota
	paired
	concurrent // calls of several threads, or one that starts several, leave the order open
	mismatched // the bytes of the two sides differ: records contradict each other
)

// takes says whether a receive can have received what was sent, by its bytes.
func (receive *Posting) takes(send *Posting) bool {
	return send.Bytes == receive.Bytes || receive.AtMost && send.Bytes < receive.Bytes
}

// sides are the postings of a stream.
type sides struct {
	sends, receives []Posting
}

// A Pair is a send and its receive, by the calls that posted them and the one that completed the receive.
type Pair struct {
	Send, Receive, Done Place
	Tag                 int32
	Bytes               uint64
	SentNS              int64 // entry of the send, by its node's clock
}

func pairOf(key Stream, send, receive *Posting) Pair {
	return Pair{
		Place{send.Thread, send.Row}, Place{receive.Thread, receive.Row}, Place{receive.DoneThread, uint32(receive.DoneRow)}, key.Tag, send.Bytes, send.StartNS,
	}
}
