package levels

import (
	"fmt"
	"slices"

	"moriens/analysis/period"
	"moriens/analysis/profile"
	"moriens/internal/team"
	"moriens/trace"
)

// Profile is level 1 of a run, without what it has moved where only sums have that. phases are those of iterations that
// were found in it; nil = none were. It is collective.
func Profile(run *trace.Run, owners team.Threads, phases []period.Phase, threadsAtWork int) (*Profiled, error) {
	for k := range phases {
		if len(phases[k].Threads) != len(run.Threads) {
			return nil, fmt.Errorf("profile: phase %d is of %d threads, the run has %d", k, len(phases[k].Threads), len(run.Threads))
		}
	}
	onlyMessages, err := OnlyMessages(run, owners)
	if err != nil {
		return nil, err
	}
	threads := make([]profile.Thread, len(run.Threads))
	named, err := layOut(run, owners, threadsAtWork)
	if err != nil {
		return nil, err
	}
	each(run, threadsAtWork, func(i int) {
		threads[i] = profileThread(&run.Threads[i], i, phases, run.Traffic == nil)
		if named.has(run, owners, i) {
			named.locate(i, &threads[i])
			threads[i].Context = contexts(run, &run.Threads[i].Bursts)
		}
	})
	if onlyMessages && run.Traffic == nil {
		addMessages(run, threads)
	}
	if err := named.share(owners); err != nil {
		return nil, err
	}
	sums, err := profile.Sum(threads, profile.Options{Counters: len(run.Counters), Workers: threadsAtWork, Team: owners})
	return &Profiled{sums, named}, err
}

func profileThread(t *trace.Thread, number int, phases []period.Phase, transfers bool) profile.Thread {
	b, c := &t.Bursts, &t.Calls
	p := profile.Thread{StartNS: b.StartNS, DurationNS: b.DurationNS, After: b.After, Cluster: b.Cluster, OfKind: b.Kind, Counters: b.Counters}
	p.Calls = profile.Calls{Path: c.Path, EnterNS: c.EnterNS, ExitNS: c.ExitNS, Count: c.Count}
	for k := range phases {
		loop := &phases[k].Threads[number]
		if phases[k].Iterations == 0 { // what has no iterations is in no phase of them
			p.Phases = append(p.Phases, profile.Phase{From: loop.From, To: loop.From})
			continue
		}
		p.Phases = append(p.Phases, profile.Phase{From: loop.From, To: loop.To, Begins: loop.Begins})
	}
	if phases != nil {
		locateCalls(t, &p)
	}
	if t.Transfers.Len()+t.Collectives.Calls() > 0 {
		addBytes(t, &p.Calls, transfers)
	}
	return p
}

// locateCalls says in which phase of iterations calls are: that of the burst that a call ends, the calls before the
// first burst in that one's.
func locateCalls(t *trace.Thread, p *profile.Thread) {
	b := &t.Bursts
	p.Calls.Phase = make([]int32, t.Calls.Len())
	burst, phase := 0, 0
	for k, enter := range t.Calls.EnterNS {
		for burst < b.Len() && b.StartNS[burst]+b.DurationNS[burst] <= enter {
			burst++
		}
		last := int32(max(burst-1, 0))
		for phase < len(p.Phases) && p.Phases[phase].To <= last {
			phase++
		}
		p.Calls.Phase[k] = -1
		if phase < len(p.Phases) && p.Phases[phase].From <= last {
			p.Calls.Phase[k] = int32(phase)
		}
	}
}

// addBytes adds up what calls have sent and received, by transfers only where these are all.
func addBytes(t *trace.Thread, c *profile.Calls, transfers bool) {
	c.Sent, c.Received = make([]int64, t.Calls.Len()), make([]int64, t.Calls.Len())
	if transfers {
		for k, call := range t.Transfers.Call {
			if t.Transfers.Kind[k].Outgoing() {
				c.Sent[call] += t.Transfers.Bytes[k]
			} else {
				c.Received[call] += t.Transfers.Bytes[k]
			}
		}
	}
	for k, call := range t.Collectives.Call {
		if t.Collectives.Started(k) {
			continue
		}
		c.Sent[call] += t.Collectives.Sent[k]
		c.Received[call] += t.Collectives.Received[k]
	}
}

// OnlyMessages reports whether messages alone show what a run moves between ranks: a Paraver trace of another tool does
// not say what calls move. Else messages are the transfers of their calls, and count with those.
func OnlyMessages(run *trace.Run, owners team.Threads) (bool, error) {
	transfers, err := team.Any(owners, slices.ContainsFunc(run.Threads, func(t trace.Thread) bool { return t.Transfers.Len() > 0 }))
	return len(run.Messages) > 0 && !transfers, err
}

// addMessages adds the bytes of messages to the calls in which they were sent and received.
func addMessages(run *trace.Run, threads []profile.Thread) {
	for i := range threads {
		if c := &threads[i].Calls; c.Sent == nil {
			c.Sent, c.Received = make([]int64, len(c.EnterNS)), make([]int64, len(c.EnterNS))
		}
	}
	add := func(c *profile.Calls, moved []int64, ns, bytes int64) {
		k, exact := slices.BinarySearch(c.EnterNS, ns)
		if !exact {
			k--
		}
		if k >= 0 && ns <= c.ExitNS[k] {
			moved[k] += bytes
		}
	}
	for i := range run.Messages {
		m := &run.Messages[i]
		from, to := &threads[m.From].Calls, &threads[m.To].Calls
		add(from, from.Sent, m.SendNS, m.Bytes)
		add(to, to.Received, m.RecvNS, m.Bytes)
	}
}
