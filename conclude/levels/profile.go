package levels

import (
	"fmt"
	"slices"
	"sync"

	"moriens/analysis/period"
	"moriens/analysis/phase"
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
	for i := range threads {
		threads[i] = profileThread(&run.Threads[i], i, phases)
	}
	if onlyMessages && run.Traffic == nil {
		addMessages(run, threads)
	}
	memory := sync.Pool{New: func() any { return new(filling) }}
	fill := func(i int, t *profile.Thread) func() {
		x := memory.Get().(*filling)
		x.fill(t, &run.Threads[i], phases != nil, run.Traffic == nil)
		if named.has(run, owners, i) {
			named.locate(i, t, &x.located)
			x.context = contexts(run, &run.Threads[i].Bursts, x.context)
			t.Context = x.context
		}
		return func() { memory.Put(x) }
	}
	sums, err := profile.Sum(threads, profile.Options{Counters: len(run.Counters), Workers: threadsAtWork, Team: owners, Fill: fill})
	if err != nil {
		return nil, err
	}
	if err := named.share(owners); err != nil {
		return nil, err
	}
	return &Profiled{sums, named}, nil
}

// A filling has memory for what a thread has while it is summed.
type filling struct {
	located        phase.Located
	context, phase []int32
	sent, received []int64
}

// fill says in which phase of iterations calls are, and what they have moved.
func (x *filling) fill(to *profile.Thread, t *trace.Thread, iterations, transfers bool) {
	n := t.Calls.Len()
	if iterations {
		x.phase = slices.Grow(x.phase[:0], n)[:n]
		to.Calls.Phase = x.phase
		locateCalls(t, to)
	}
	if t.Transfers.Len()+t.Collectives.Calls() == 0 {
		return
	}
	c := &to.Calls
	if c.Sent == nil { // else it has the bytes of messages
		x.sent, x.received = slices.Grow(x.sent[:0], n)[:n], slices.Grow(x.received[:0], n)[:n]
		clear(x.sent)
		clear(x.received)
		c.Sent, c.Received = x.sent, x.received
	}
	addBytes(t, c, transfers)
}

func profileThread(t *trace.Thread, number int, phases []period.Phase) profile.Thread {
	b, c := &t.Bursts, &t.Calls
	p := profile.Thread{StartNS: b.StartNS, DurationNS: b.DurationNS, After: b.After, Cluster: b.Cluster, OfKind: b.Kind, Counters: b.Counters}
	p.Readings = profile.Readings{NS: t.Readings.TimeNS, Counters: t.Readings.Counters}
	p.Calls = profile.Calls{Path: c.Path, EnterNS: c.EnterNS, ExitNS: c.ExitNS, Count: c.Count}
	for k := range phases {
		loop := &phases[k].Threads[number]
		if phases[k].Iterations == 0 { // what has no iterations is in no phase of them
			p.Phases = append(p.Phases, profile.Phase{From: loop.From, To: loop.From})
			continue
		}
		p.Phases = append(p.Phases, profile.Phase{From: loop.From, To: loop.To, Begins: loop.Begins})
	}
	return p
}

// locateCalls says in which phase of iterations calls are: that of the burst that a call ends, the calls before the
// first burst in that one's.
func locateCalls(t *trace.Thread, p *profile.Thread) {
	b := &t.Bursts
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

// addBytes adds what calls have sent and received, by transfers only where these are all.
func addBytes(t *trace.Thread, c *profile.Calls, transfers bool) {
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
