// Package match pairs the sends and receives of a run by their order. Postings by stream come in; pairs and the reasons
// why others have none go out. Times are nanoseconds by the clock of the node of each call, amounts are bytes.
//
// It knows processes and threads by number only, and neither a store nor a trace. Where the processes are spread over a
// team its members exchange sends here.
package match

import "moriens/internal/team"

// A Matching is the result for all messages of a run.
type Matching struct {
	Pairs           []Pair // whose receiver this member has, in no order
	Sends, Receives int64  // of all members
	Unpaired        Unpaired
}

// Match pairs the run's sends with its receives: in each stream the first with the first, the second with the second
// and so on, since messages of one stream do not overtake each other and receives that fit them take them in the order
// in which they were posted. The message that a wildcard took counts. Where records are missing on either side the
// order holds from the beginning to the first gap and, if both processes have called MPI_Finalize, by when everything
// that was sent has been received, from the end back to the last. Between two gaps nothing is paired: a message can be
// under way across any collective, so that equal numbers of sends and receives between two of them prove nothing.
//
// Where not all of a process's transfers are here the order proves nothing, and a send goes with the receive of the
// same ordinal.
//
// It is collective: each member pairs the streams that end at its processes. It uses up the postings.
func Match(t team.Team, processes []Process, p *Postings) (*Matching, error) {
	if err := p.shareOpen(t); err != nil {
		return nil, err
	}
	if err := p.deliver(t, processes); err != nil {
		return nil, err
	}
	p.settleWildcards(processes)
	m := &Matching{Unpaired: p.unpaired}
	for key, s := range p.streams {
		if !processes[key.From].Whole || !processes[key.To].Whole {
			m.Pairs = append(m.Pairs, pairByOrdinals(key, s)...)
			continue
		}
		s.sends, s.receives = inOrder(s.sends), inOrder(s.receives)
		m.Pairs = append(m.Pairs, pairInOrder(ends{
			stream: key, from: processes[key.From], to: processes[key.To], sendGap: p.gapOf(processes, key, false), receiveGap: p.gapOf(processes, key, true),
		}, s, m.Unpaired)...)
	}
	var err error
	m.Sends, m.Receives, err = total(t, p.sends, p.receives, m.Unpaired)
	return m, err
}
