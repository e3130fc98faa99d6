package rebuild

import (
	"cmp"
	"math"
	"slices"
	"time"

	"moriens/internal/anchor"
	"moriens/internal/team"
	"moriens/trace"
)

// sample is collective: it says of each message of a run, whose transfers are not all here call by call, in which
// window it was sent, and with which probability it is here: both its sides are. A process that has all its transfers
// here has those of each window; of one that has not those of the windows by which clocks are compared are here. Of
// one of which others were fetched too that is not known: the weight of its messages is 0. compared is, by thread that
// is here, its time in those windows.
func sample(u *unpacked, c *communicators, messages []trace.Message) (list []trace.Sampled, compared [][]trace.Compared, err error) {
	of := make([]windows, len(u.Processes))
	fetched := make([]bool, len(u.Processes))
	compared = make([][]trace.Compared, len(u.run.Threads))
	for i := range u.Processes {
		if u.Mine(i) {
			of[i] = c.windowsOf(i, u.run)
			fetched[i] = slices.ContainsFunc(u.Processes[i].Threads, func(t int) bool { return u.frozen.HasFetched(u.Rings[t]) })
		}
	}
	for i := range u.Processes {
		if p := &u.Processes[i]; u.Mine(i) && (p.Whole || !fetched[i]) {
			of[i].compare(p, u.run.Threads, compared)
		}
	}
	// Of both sides of each message, the window; -1: not known. Who has the calls says it.
	sides := make([]int64, 2*len(messages))
	for k := range messages {
		m := &messages[k]
		for side, at := range [2]struct {
			thread int
			ns     int64
		}{{m.From, m.SendNS}, {m.To, m.RecvNS}} {
			i := u.ProcessOf[at.thread]
			switch {
			case !u.Mine(i):
			case fetched[i] && !u.Processes[i].Whole:
				sides[2*k+side] = -1
			default:
				sides[2*k+side] = int64(of[i].at(at.ns))
			}
		}
	}
	if err := u.Team.AllReduce(sides, team.Sum); err != nil {
		return nil, nil, err
	}
	list = make([]trace.Sampled, len(messages))
	for k := range messages {
		from, to := sides[2*k], sides[2*k+1]
		if list[k].Window = uint64(max(from, 0)); from < 0 || to < 0 {
			continue
		}
		part := func(thread int) bool { return !u.Processes[u.ProcessOf[thread]].Whole } // of the windows are here
		sender, receiver := part(messages[k].From), part(messages[k].To)
		list[k].Weight = 1
		if sender {
			list[k].Weight /= anchor.ID(from).Share()
		}
		if receiver && !(sender && from == to) {
			list[k].Weight /= anchor.ID(to).Share()
		}
	}
	return list, compared, nil
}

// windows are where those of a process begin, ascending: at its first call, and behind each anchor that ends one.
type windows []windowBegin

type windowBegin struct {
	ns     int64
	window anchor.ID
}

// windowsOf are those of a process whose calls are here, as its agent has cut them: calls of its threads that follow
// an anchor belong to the next window.
func (c *communicators) windowsOf(process int, run *trace.Run) windows {
	p := &c.threads.Processes[process]
	all := make(map[int32]bool) // communicators of all ranks
	for number, m := range c.own[process] {
		if anchor.OfAllRanks(m.Info, int64(p.Info.Size)) {
			all[c.index[process][number]] = true
		}
	}
	type passed struct {
		ns      int64
		comm    int32
		ordinal int64
	}
	var anchors []passed
	begin := int64(math.MaxInt64)
	for _, i := range p.Threads {
		t := &run.Threads[i]
		if t.Calls.Len() > 0 {
			begin = min(begin, t.Calls.EnterNS[0])
		}
		x := &t.Collectives
		for k, comm := range x.Comm {
			if all[comm] && !x.Started(k) {
				anchors = append(anchors, passed{t.Calls.ExitNS[x.Call[k]], comm, x.Ordinal[k]})
			}
		}
	}
	slices.SortStableFunc(anchors, func(a, b passed) int { return cmp.Compare(a.ns, b.ns) })
	list := windows{{begin, 0}}
	had, total := make(map[int32]int64), uint64(0)
	for _, a := range anchors {
		n := a.ordinal + 1
		if n <= had[a.comm] {
			continue
		}
		total += uint64(n - had[a.comm])
		had[a.comm] = n
		if w := anchor.After(total); w > list[len(list)-1].window {
			list = append(list, windowBegin{a.ns, w})
		}
	}
	return list
}

// compare finds the time of a process's threads in windows of which it has messages: those in which it has posted some.
// Of one of which all transfers are here, that is all of its windows.
func (w windows) compare(p *Process, threads []trace.Thread, compared [][]trace.Compared) {
	has := make(map[anchor.ID]bool)
	if !p.Whole {
		for _, i := range p.Threads {
			t := &threads[i]
			for k, call := range t.Transfers.Call {
				if kind := t.Transfers.Kind[k]; kind == trace.Sent || kind == trace.Received {
					has[w.at(t.Calls.EnterNS[call])] = true
				}
			}
		}
	}
	for _, i := range p.Threads {
		t := &threads[i]
		next := 0 // of the collectives, the first behind the call before
		at := 0   // of the windows, the one that the call is in
		var list []trace.Compared
		for row, enterNS := range t.Calls.EnterNS {
			for at+1 < len(w) && w[at+1].ns <= enterNS {
				at++
			}
			window := w[at].window.At(time.Duration(enterNS - w[at].ns))
			for next < t.Collectives.Len() && int(t.Collectives.Call[next]) < row-1 {
				next++
			}
			if !p.Whole && !has[window] {
				continue
			}
			n := len(list) - 1
			if n < 0 || list[n].Window != uint64(window) {
				beginNS := enterNS
				if row > 0 {
					beginNS = t.Calls.ExitNS[row-1]
					met := next < t.Collectives.Len() && int(t.Collectives.Call[next]) == row-1
					if met && (n < 0 || list[n].EndNS < beginNS) {
						beginNS = t.Calls.EnterNS[row-1]
					}
				}
				list = append(list, trace.Compared{BeginNS: beginNS, Window: uint64(window)})
				n++
			}
			list[n].EndNS = t.Calls.ExitNS[row]
		}
		compared[i] = list
	}
}

// at is the window of a call that begins at a time.
func (w windows) at(ns int64) anchor.ID {
	i, _ := slices.BinarySearchFunc(w[1:], ns+1, func(b windowBegin, ns int64) int { return cmp.Compare(b.ns, ns) })
	return w[i].window.At(time.Duration(ns - w[i].ns))
}
