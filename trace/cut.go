package trace

import (
	"cmp"
	"slices"
)

// Cut returns the part of a run that lies in windows. kept has for each thread the spans of its time, by begin, apart,
// each in one of the windows. Calls with their waits, bursts, transfers, collectives and messages that do not lie in a
// span as a whole are left out. So are phases that touch none, and events, pauses and losses that lie in none. The
// critical path is cut at the ends of spans. The rest is shared with the run, or copied. The run is not changed.
func (r *Run) Cut(windows []Window, kept [][]Span) *Run {
	c := *r
	c.Windows = windows
	c.Threads = make([]Thread, len(r.Threads))
	for i := range r.Threads {
		c.Threads[i] = r.Threads[i].cut(kept[i])
	}
	c.Messages = nil
	for _, m := range r.Messages {
		if within(kept[m.From], m.SendNS, max(m.SendNS, m.PhysicalSendNS)) && within(kept[m.To], m.RecvNS, max(m.RecvNS, m.PhysicalRecvNS)) {
			c.Messages = append(c.Messages, m)
		}
	}
	if r.Traffic != nil { // of these messages windows decide, and not chance
		traffic := *r.Traffic
		traffic.Sample, traffic.Compared, c.Traffic = nil, nil, &traffic
	}
	return &c
}

// within reports whether one of the spans has all of a time.
func within(kept []Span, beginNS, endNS int64) bool {
	i, found := slices.BinarySearchFunc(kept, beginNS, func(s Span, ns int64) int { return cmp.Compare(s.BeginNS, ns) })
	if found && endNS <= kept[i].EndNS {
		return true
	}
	// Of one that begins at the end of another, what takes no time lies in both.
	return i > 0 && endNS <= kept[i-1].EndNS
}

// CallsIn are the rows of the calls of a thread that Cut leaves.
func (t *Thread) CallsIn(kept []Span) []uint32 {
	return rowsWithin(kept, t.Calls.EnterNS, func(i int) int64 { return t.Calls.ExitNS[i] })
}

// cut is what of a thread lies in spans.
func (t *Thread) cut(kept []Span) Thread {
	c := *t
	c.Kept = kept
	calls := t.CallsIn(kept)
	c.Calls = Calls{
		EnterNS: pick(t.Calls.EnterNS, calls), ExitNS: pick(t.Calls.ExitNS, calls), Path: pick(t.Calls.Path, calls), Count: pick(t.Calls.Count, calls),
		Unfinished: t.Calls.Unfinished && len(calls) > 0 && int(calls[len(calls)-1]) == t.Calls.Len()-1,
	}
	c.Bursts = t.Bursts.rows(rowsWithin(kept, t.Bursts.StartNS, func(i int) int64 { return t.Bursts.StartNS[i] + t.Bursts.DurationNS[i] }))
	c.Transfers = t.Transfers.of(calls)
	c.Collectives = t.Collectives.of(calls)
	c.Waits = t.Waits.of(calls)
	c.Critical = cutStretches(t.Critical, kept)
	c.Pauses = slices.DeleteFunc(slices.Clone(t.Pauses), func(p Pause) bool { return !within(kept, p.BeginNS, p.EndNS) })
	c.Lost = slices.DeleteFunc(slices.Clone(t.Lost), func(s Span) bool { return !within(kept, s.BeginNS, s.EndNS) })
	c.Events = slices.DeleteFunc(slices.Clone(t.Events), func(e Event) bool { return !within(kept, e.TimeNS, e.TimeNS) })
	c.cutPhases(kept)
	c.Readings = t.Readings.cut(kept)
	return c
}

func (r *Readings) cut(kept []Span) Readings {
	rows := rowsWithin(kept, r.TimeNS, func(i int) int64 { return r.TimeNS[i] })
	if len(rows) == 0 {
		return Readings{}
	}
	c := Readings{TimeNS: pick(r.TimeNS, rows)}
	for _, column := range r.Counters {
		c.Counters = append(c.Counters, pick(column, rows))
	}
	return c
}

// rowsWithin are the rows that lie in spans, of which the begins ascend.
func rowsWithin(kept []Span, beginNS []int64, endNS func(row int) int64) []uint32 {
	var rows []uint32
	for _, s := range kept {
		first, _ := slices.BinarySearch(beginNS, s.BeginNS)
		for i := first; i < len(beginNS) && beginNS[i] <= s.EndNS; i++ {
			if n := len(rows); endNS(i) <= s.EndNS && (n == 0 || rows[n-1] < uint32(i)) {
				rows = append(rows, uint32(i))
			}
		}
	}
	return rows
}

// pick takes some rows of a column, which may be nil.
func pick[T any](column []T, rows []uint32) []T {
	if column == nil {
		return nil
	}
	some := make([]T, len(rows))
	for k, i := range rows {
		some[k] = column[i]
	}
	return some
}

// rows takes some of the bursts.
func (b *Bursts) rows(rows []uint32) Bursts {
	c := Bursts{
		StartNS: pick(b.StartNS, rows), DurationNS: pick(b.DurationNS, rows), Before: pick(b.Before, rows), After: pick(b.After, rows),
		Cluster: pick(b.Cluster, rows), Kind: pick(b.Kind, rows), Weight: pick(b.Weight, rows), Lineage: pick(b.Lineage, rows), Phase: pick(b.Phase, rows),
		Counters: make([][]int64, len(b.Counters)),
	}
	for k, column := range b.Counters {
		c.Counters[k] = pick(column, rows)
	}
	some := rowsOf(rows, b.InCalls.Burst)
	c.InCalls.Burst = pick(b.InCalls.Burst, some)
	for i := range c.InCalls.Burst {
		c.InCalls.Burst[i] = renumber(rows, c.InCalls.Burst[i])
	}
	for _, column := range b.InCalls.Counters {
		c.InCalls.Counters = append(c.InCalls.Counters, pick(column, some))
	}
	return c
}

// of takes the transfers that some calls, ascending, have posted.
func (t *Transfers) of(calls []uint32) Transfers {
	rows := rowsOf(calls, t.Call)
	c := Transfers{
		Call: pick(t.Call, rows), Kind: pick(t.Kind, rows), Peer: pick(t.Peer, rows), PeerWorld: pick(t.PeerWorld, rows), Tag: pick(t.Tag, rows),
		Comm: pick(t.Comm, rows), Bytes: pick(t.Bytes, rows), Done: pick(t.Done, rows),
	}
	for i := range c.Call {
		c.Call[i] = renumber(calls, c.Call[i])
	}
	renumberDone(calls, c.Done)
	return c
}

// renumberDone gives a column of calls, -1 = none, their places among some; those that are not there are none.
func renumberDone(calls []uint32, column []int32) {
	for i, call := range column {
		if done, here := slices.BinarySearch(calls, uint32(max(call, 0))); here && call >= 0 {
			column[i] = int32(done)
		} else {
			column[i] = -1
		}
	}
}

// of takes the collectives that some calls, ascending, are or have started.
func (x *Collectives) of(calls []uint32) Collectives {
	rows := rowsOf(calls, x.Call)
	c := Collectives{
		Call: pick(x.Call, rows), Comm: pick(x.Comm, rows), Ordinal: pick(x.Ordinal, rows), Sent: pick(x.Sent, rows),
		Received: pick(x.Received, rows), Root: pick(x.Root, rows), Done: pick(x.Done, rows), Instance: pick(x.Instance, rows),
	}
	for i := range c.Call {
		c.Call[i] = renumber(calls, c.Call[i])
	}
	renumberDone(calls, c.Done)
	return c
}

// of takes the waits of some calls, ascending.
func (w *Waits) of(calls []uint32) Waits {
	rows := rowsOf(calls, w.Call)
	c := Waits{Call: pick(w.Call, rows), Kind: pick(w.Kind, rows), UntilNS: pick(w.UntilNS, rows), For: pick(w.For, rows)}
	for i := range c.Call {
		c.Call[i] = renumber(calls, c.Call[i])
	}
	return c
}

// cutStretches is what spans have of stretches. Where spans touch, a stretch goes on from one into the next.
func cutStretches(stretches []Stretch, kept []Span) []Stretch {
	var list []Stretch
	k := 0
	for _, s := range stretches {
		for k < len(kept) && kept[k].EndNS <= s.BeginNS {
			k++
		}
		for i := k; i < len(kept) && kept[i].BeginNS < s.EndNS; i++ {
			x := Stretch{max(s.BeginNS, kept[i].BeginNS), min(s.EndNS, kept[i].EndNS)}
			switch n := len(list); {
			case x.BeginNS == x.EndNS:
			case n > 0 && list[n-1].EndNS == x.BeginNS:
				list[n-1].EndNS = x.EndNS
			default:
				list = append(list, x)
			}
		}
	}
	return list
}

// rowsOf are the rows of some calls, ascending, in a column of calls.
func rowsOf(calls, column []uint32) []uint32 {
	var rows []uint32
	for i, call := range column {
		if _, here := slices.BinarySearch(calls, call); here {
			rows = append(rows, uint32(i))
		}
	}
	return rows
}

// renumber is the place of a call among some.
func renumber(calls []uint32, call uint32) uint32 {
	i, _ := slices.BinarySearch(calls, call)
	return uint32(i)
}

// cutPhases leaves out the phases that touch no span.
func (t *Thread) cutPhases(kept []Span) {
	number := make([]int32, len(t.Phases))
	var phases []Phase
	for i, p := range t.Phases {
		// A phase that lies round another touches what that touches, so that no burst loses its own.
		k, _ := slices.BinarySearchFunc(kept, p.BeginNS, func(s Span, ns int64) int { return cmp.Compare(s.EndNS, ns) })
		if k < len(kept) && kept[k].BeginNS <= p.EndNS {
			number[i] = int32(len(phases))
			phases = append(phases, p)
		}
	}
	t.Phases = phases
	for k, p := range t.Bursts.Phase {
		if p >= 0 {
			t.Bursts.Phase[k] = number[p]
		}
	}
}
