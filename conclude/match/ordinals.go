package match

import "moriens/internal/team"

// pairByOrdinals pairs those postings of a stream of which both sides have the ordinal, each once. What is left may
// have its counterpart among what is not here.
func pairByOrdinals(key Stream, s *sides) (pairs []Pair) {
	receives, received := make(map[uint64]*Posting), make(map[uint64]int)
	for i := range s.receives {
		o := &s.receives[i]
		receives[o.Ordinal] = o
		received[o.Ordinal]++
	}
	sent := make(map[uint64]int)
	for i := range s.sends {
		sent[s.sends[i].Ordinal]++
	}
	for i := range s.sends {
		o := &s.sends[i]
		// Of several with one ordinal none is known to have it.
		if r := receives[o.Ordinal]; r != nil && o.Ordinal > 0 && sent[o.Ordinal] == 1 && received[o.Ordinal] == 1 && r.DoneRow >= 0 && r.takes(o) {
			pairs, _ = join(pairs, key, o, r)
		}
	}
	return pairs
}

// Ordinals are postings of which the ordinal is known, counted from the begin of the run: only those are the same on
// both sides where a part of the run is here.
type Ordinals map[message]*messageSides

// A message is the k-th of its stream.
type message struct {
	Stream
	ordinal uint64
}

// messageSides are the postings that are the send and the receive of a message: the last of each, and how many there
// are.
type messageSides struct {
	send, receive   Posting
	sends, receives int
}

// Add takes in a posting with an ordinal.
func (l Ordinals) Add(key Stream, send bool, o Posting) {
	s := l.of(message{key, o.Ordinal})
	if send {
		s.send, s.sends = o, s.sends+1
	} else {
		s.receive, s.receives = o, s.receives+1
	}
}

func (l Ordinals) of(key message) *messageSides {
	s := l[key]
	if s == nil {
		s = new(messageSides)
		l[key] = s
	}
	return s
}

// Match is collective: it pairs messages of which each side has one posting, with the same bytes. Each member has those
// that it receives. It uses up the ordinals.
func (l Ordinals) Match(t team.Team, processes []Process) ([]Pair, error) {
	if err := l.deliver(t, processes); err != nil {
		return nil, err
	}
	var pairs []Pair
	for key, s := range l {
		if s.sends == 1 && s.receives == 1 && s.send.Bytes == s.receive.Bytes {
			pairs = append(pairs, pairOf(key.Stream, &s.send, &s.receive))
		}
	}
	return pairs, nil
}

// messageWidth is how many numbers the sends of one message take.
const messageWidth = 9

// deliver brings sends to the members that have the processes which receive.
func (l Ordinals) deliver(t team.Team, processes []Process) error {
	if t.Size() == 1 {
		return nil
	}
	parts := make([][]int64, t.Size())
	for key, s := range l {
		to, o := processes[key.To].Owner, &s.send
		if to == t.Rank() {
			continue
		}
		parts[to] = append(parts[to], int64(key.Comm), int64(key.From), int64(key.To), int64(key.Tag), int64(key.ordinal), int64(s.sends),
			int64(o.Thread), int64(o.Row), int64(o.Bytes))
		delete(l, key)
	}
	lists, err := team.Exchange(t, parts)
	if err != nil {
		return err
	}
	for _, rows := range lists {
		for ; len(rows) >= messageWidth; rows = rows[messageWidth:] {
			key := message{Stream{uint64(rows[0]), int32(rows[1]), int32(rows[2]), int32(rows[3]), -1}, uint64(rows[4])}
			s := l.of(key)
			s.send, s.sends = Posting{Thread: int32(rows[6]), Row: uint32(rows[7]), Bytes: uint64(rows[8])}, s.sends+int(rows[5])
		}
	}
	return nil
}
