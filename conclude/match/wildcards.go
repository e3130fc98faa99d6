package match

import (
	"cmp"
	"maps"
	"slices"
)

// Receives of which MPI returns no status. MPICH carries out MPI_Isendrecv as a schedule whose request has none; where
// the receive was from any source, or of any tag, only what its senders have sent can show which message it took.

// settleWildcards puts receives into their stream where only one can be theirs: all processes that are involved have
// received all that they were sent, and of the streams that fit one alone has more sends than receives, by as many as
// there are such receives.
func (p *Postings) settleWildcards(processes []Process) {
	whole := !slices.ContainsFunc(processes, func(x Process) bool { return !x.Whole })
	for _, w := range sortedWildcards(p.wildcards) {
		list := p.wildcards[w]
		if key, found := p.surplus(processes, w, len(list)); whole && found {
			p.streams[key].receives = append(p.streams[key].receives, list...)
			continue
		}
		for i := range list {
			p.leaveOpen(open{w.process, w.comm, w.peer, w.tag, true}, &list[i])
			p.unpaired.add(UnresolvedReceive, false, 1)
		}
	}
}

// surplus finds the stream that has n sends too many while all others that fit have none.
func (p *Postings) surplus(processes []Process, w wildcard, n int) (Stream, bool) {
	complete := func(process int32) bool { return processes[process].Gap == NoGap && processes[process].Finalized }
	if !complete(w.process) {
		return Stream{}, false
	}
	for other := range p.wildcards {
		if other != w && other.overlaps(w) {
			return Stream{}, false // which takes from the same streams, perhaps
		}
	}
	for o := range p.open {
		at := wildcard{o.process, o.comm, o.peer, o.tag}
		if !o.receive { // what it may have sent is w's, perhaps
			at = wildcard{o.peer, o.comm, o.process, o.tag}
		}
		if at.overlaps(w) {
			return Stream{}, false
		}
	}
	var found []Stream
	for key, s := range p.streams {
		if !w.fits(key) {
			continue
		}
		surplus := len(s.sends) - len(s.receives)
		if !complete(key.From) || surplus != 0 && surplus != n {
			return Stream{}, false
		}
		if surplus == n {
			found = append(found, key)
		}
	}
	if len(found) != 1 {
		return Stream{}, false
	}
	return found[0], true
}

func sortedWildcards(all map[wildcard][]Posting) []wildcard {
	return slices.SortedFunc(maps.Keys(all), func(a, b wildcard) int {
		return cmp.Or(cmp.Compare(a.process, b.process), cmp.Compare(a.comm, b.comm), cmp.Compare(a.peer, b.peer), cmp.Compare(a.tag, b.tag))
	})
}
