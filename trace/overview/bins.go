package overview

import "moriens/trace"

// Bins cut a time from 0 into equal parts.
type Bins struct {
	Count int
	EndNS int64 // at least 1
}

// Edge is the first nanosecond of a bin. The quotient and the rest are taken apart because the product may overflow.
func (b Bins) Edge(bin int) int64 {
	n := int64(b.Count)
	return b.EndNS/n*int64(bin) + b.EndNS%n*int64(bin)/n
}

// Of is the bin of a time.
func (b Bins) Of(ns int64) int {
	bin := min(b.Count-1, max(0, int(float64(ns)/float64(b.EndNS)*float64(b.Count))))
	for bin > 0 && ns < b.Edge(bin) {
		bin--
	}
	for bin < b.Count-1 && ns >= b.Edge(bin+1) {
		bin++
	}
	return bin
}

// InMPI stands for the time in MPI calls where labels of bursts stand for the others.
const InMPI int32 = -99

// InLost stands for the time between two calls in which there were others without a record.
const InLost int32 = -98

// Each cuts the calls, bursts and losses of a thread at the edges of the bins, and hands out the parts in the order of
// time: InMPI, InLost or the label of a burst, and how long it lasts in the bin.
func (b Bins) Each(t *trace.Thread, add func(bin int, label int32, ns int64)) {
	spread := spread(b, add)
	call, burst, lost := 0, 0, 0
	for call < t.Calls.Len() || burst < t.Bursts.Len() || lost < len(t.Lost) {
		if lost < len(t.Lost) && (call == t.Calls.Len() || t.Lost[lost].BeginNS < t.Calls.EnterNS[call]) &&
			(burst == t.Bursts.Len() || t.Lost[lost].BeginNS < t.Bursts.StartNS[burst]) {
			spread(InLost, t.Lost[lost].BeginNS, t.Lost[lost].EndNS)
			lost++
			continue
		}
		if burst == t.Bursts.Len() || call < t.Calls.Len() && t.Calls.EnterNS[call] <= t.Bursts.StartNS[burst] {
			spread(InMPI, t.Calls.EnterNS[call], t.Calls.ExitNS[call])
			call++
			continue
		}
		start := t.Bursts.StartNS[burst]
		spread(t.Bursts.Cluster[burst], start, start+t.Bursts.DurationNS[burst])
		burst++
	}
}

// EachWait cuts the waits of a thread likewise: of the time that Each hands out as InMPI, what is waiting.
func (b Bins) EachWait(t *trace.Thread, add func(bin int, kind trace.WaitKind, ns int64)) {
	spread := spread(b, add)
	for i, call := range t.Waits.Call {
		spread(t.Waits.Kind[i], t.Calls.EnterNS[call], t.Waits.UntilNS[i])
	}
}

// EachCritical cuts what the critical path has of a thread likewise.
func (b Bins) EachCritical(t *trace.Thread, add func(bin int, ns int64)) {
	spread := spread(b, func(bin int, _ struct{}, ns int64) { add(bin, ns) })
	for _, s := range t.Critical {
		spread(struct{}{}, s.BeginNS, s.EndNS)
	}
}

// spread returns what cuts a time at the edges of the bins. It is quickest for times in their order.
func spread[K any](b Bins, add func(bin int, what K, ns int64)) func(what K, fromNS, toNS int64) {
	bin := 0
	return func(what K, fromNS, toNS int64) {
		for fromNS < toNS {
			// Most things begin where the one before them has ended.
			if bin >= b.Count || fromNS < b.Edge(bin) || fromNS >= b.Edge(bin+1) {
				bin = b.Of(fromNS)
			}
			end := min(toNS, b.Edge(bin+1))
			if end <= fromNS {
				end = toNS // beyond the last bin
			}
			add(bin, what, end-fromNS)
			fromNS = end
		}
	}
}
