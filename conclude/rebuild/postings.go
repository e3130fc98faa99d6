package rebuild

import (
	"fmt"
	"math"
	"strings"

	"moriens/conclude/match"
	moriensv1 "moriens/proto/moriens/v1"
)

// matchMessages is collective: it pairs the sends and receives of the run. It also returns the processes with their
// gaps.
func matchMessages(u *unpacked, c *communicators) (*match.Matching, []match.Process, error) {
	processes := u.forMatching()
	for i := range processes {
		if u.Mine(i) {
			processes[i].Gap = u.gapOf(i)
		}
	}
	if err := match.ShareGaps(u.Team, processes); err != nil {
		return nil, nil, err
	}
	p := match.NewPostings()
	for i := range processes {
		if !u.Mine(i) {
			continue
		}
		for _, thread := range u.Processes[i].Threads {
			post(p, u, c, thread, processes[i].Gap)
		}
	}
	m, err := match.Match(u.Team, processes, p)
	return m, processes, err
}

// forMatching are the run's processes as the matching has them, before anybody has looked for gaps.
func (h *Threads) forMatching() []match.Process {
	list := make([]match.Process, len(h.Processes))
	for i := range list {
		p := &h.Processes[i]
		list[i] = match.Process{Owner: p.Agent.Member, Whole: p.Whole, Finalized: p.End.GetHow() == moriensv1.ProcessEnd_HOW_FINALIZED}
	}
	return list
}

// gapOf finds the time from the first to the last gap in the records of a process.
func (u *unpacked) gapOf(i int) match.Gap {
	p := &u.Processes[i]
	gap := match.NoGap
	if p.TransfersEnd == nil || len(p.Agent.Refused) > 0 || p.End.GetThreadsFailed() > 0 {
		return match.Anywhere
	}
	for _, fault := range p.Agent.Faults { // a ring that could not even be opened is named in the text alone
		if strings.Contains(fault.Corrupt, fmt.Sprintf("%016x", p.Info.Process)) {
			return match.Anywhere
		}
	}
	for _, r := range p.Rings {
		if r.Calls == 0 && len(r.Gaps.Before) > 0 {
			gap = match.Anywhere
		}
	}
	for _, thread := range p.Threads {
		calls, r := &u.run.Threads[thread].Calls, u.Rings[thread]
		for _, row := range r.Gaps.Before {
			own := match.Anywhere
			if row > 0 {
				own.StartNS = calls.ExitNS[row-1]
			}
			if row < r.Calls {
				own.EndNS = calls.EnterNS[row]
			}
			gap = gap.Union(own)
		}
		for _, row := range r.Gaps.Inside {
			gap = gap.Union(match.Gap{StartNS: calls.EnterNS[row], EndNS: calls.ExitNS[row]})
		}
	}
	return gap
}

// post adds the sends and receives of a thread, whose process has these gaps.
func post(to *match.Postings, u *unpacked, c *communicators, thread int, gap match.Gap) {
	of := u.ProcessOf[thread]
	p, calls := &u.Processes[of], &u.run.Threads[thread].Calls
	chunks := u.frozen.Transfers(u.Rings[thread])
	for k := range chunks {
		x := &chunks[k]
		for i := range x.Len() {
			send := x.Kind[i] == uint8(moriensv1.Transfers_KIND_SENT)
			if !send && x.Kind[i] != uint8(moriensv1.Transfers_KIND_RECEIVED) {
				continue
			}
			member, known := c.member(of, x.Comm[i])
			if !known {
				to.AddUnpaired(match.UnknownComm, send)
				continue
			}
			row, other := x.Row[i], int32(-1)
			if x.Peer[i] >= 0 {
				peer := c.peer(of, x.Comm[i], x.Peer[i])
				if why := peer.unpaired(member); why != "" {
					to.AddUnpaired(why, send)
					continue
				}
				other = int32(peer.process)
			}
			o := match.Posting{
				Thread: int32(thread), DoneThread: int32(thread), Row: row, DoneRow: x.Done[i], Bytes: x.Bytes[i], AtMost: x.Unreported[i],
				StartNS: calls.EnterNS[row], EndNS: calls.ExitNS[row],
			}
			if !p.TransfersEnd.GetOrdinalsVoid() {
				o.Ordinal = x.OrdinalOf(i)
			}
			if r := x.DoneRing[i]; r != nil {
				o.DoneThread = int32(u.threadOf[r])
			}
			if calls.Unfinished && int(row) == calls.Len()-1 { // its end was not seen
				o.EndNS = math.MaxInt64
			}
			channel := int64(-1)
			if its, partitioned := x.Channel[i]; partitioned {
				channel = int64(its)
			}
			to.Add(match.Transfer{Posting: o, Process: int32(of), Peer: other, Comm: member.Info.Id, Tag: x.Tag[i], Channel: channel, Send: send}, gap)
		}
	}
}
