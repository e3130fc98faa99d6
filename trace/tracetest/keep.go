package tracetest

import (
	"slices"

	"pgregory.net/rapid"

	"moriens/trace"
)

// Keep draws windows of a run, from none to three, and drops what lies outside of them. Windows may touch, and threads
// have no part in any.
func Keep(t *rapid.T, run *trace.Run) {
	run.Windows = []trace.Window{}
	for range rapid.IntRange(0, 3).Draw(t, "windows") {
		run.Windows = append(run.Windows, trace.Window{
			Phase:  rapid.IntRange(-1, 2).Draw(t, "phase"),
			Why:    trace.Why(rapid.IntRange(int(trace.Representative), int(trace.CriticalPath)).Draw(t, "why")),
			Reason: rapid.SampledFrom([]string{"", "iterations 412-413 of phase 1: nearest its median", "rank 7: 2.1 x → «slow»", "a: b, c: 1 to 2 ns"}).Draw(t, "reason"),
		})
	}
	for i := range run.Threads {
		th := &run.Threads[i]
		th.EndNS = max(th.BeginNS, th.EndNS)
		run.DurationNS = max(run.DurationNS, th.EndNS)
		th.Kept = spans(t, th, len(run.Windows))
		keepCalls(th)
		keepBursts(th)
		keepCritical(th)
		for _, s := range th.Kept {
			w := &run.Windows[s.Window]
			if len(w.Threads) == 0 {
				w.BeginNS, w.EndNS = s.BeginNS, s.EndNS
			}
			w.BeginNS, w.EndNS = min(w.BeginNS, s.BeginNS), max(w.EndNS, s.EndNS)
			if !slices.Contains(w.Threads, i) {
				w.Threads = append(w.Threads, i)
			}
		}
	}
	run.Messages = slices.DeleteFunc(run.Messages, func(m trace.Message) bool {
		return !Within(&run.Threads[m.From], m.SendNS, m.SendNS) || !Within(&run.Threads[m.To], m.RecvNS, m.RecvNS)
	})
	run.SummariseClusters()
}

// Within reports whether a time of a thread lies in one of the spans that it keeps.
func Within(th *trace.Thread, beginNS, endNS int64) bool {
	return slices.ContainsFunc(th.Kept, func(s trace.Span) bool { return s.BeginNS <= beginNS && endNS <= s.EndNS })
}

// spans draws what a thread keeps, between edges of its calls; not where a call or burst of zero length lies, which
// could be on either side.
func spans(t *rapid.T, th *trace.Thread, windows int) []trace.Span {
	edges := slices.Concat([]int64{th.BeginNS, th.EndNS}, th.Calls.EnterNS, th.Calls.ExitNS)
	slices.Sort(edges)
	edges = slices.DeleteFunc(slices.Compact(edges), func(ns int64) bool {
		for i, enter := range th.Calls.EnterNS {
			if enter == ns && th.Calls.ExitNS[i] == ns {
				return true
			}
		}
		for i, start := range th.Bursts.StartNS {
			if start == ns && th.Bursts.DurationNS[i] == 0 {
				return true
			}
		}
		return false
	})
	var kept []trace.Span
	for from := 0; windows > 0 && from < len(edges) && rapid.Bool().Draw(t, "more"); {
		begin := rapid.IntRange(from, len(edges)-1).Draw(t, "span begins")
		end := rapid.IntRange(begin, len(edges)-1).Draw(t, "span ends")
		kept = append(kept, trace.Span{BeginNS: edges[begin], EndNS: edges[end], Window: rapid.IntRange(0, windows-1).Draw(t, "window")})
		from = max(end, begin+1)
	}
	return kept
}

// pick returns the values at places.
func pick[T any](column []T, places []int) []T {
	if column == nil {
		return nil
	}
	picked := make([]T, len(places))
	for i, k := range places {
		picked[i] = column[k]
	}
	return picked
}

func keepCalls(th *trace.Thread) {
	var rows []int
	row := make(map[uint32]uint32)
	c := &th.Calls
	for i := range c.EnterNS {
		if Within(th, c.EnterNS[i], c.ExitNS[i]) {
			row[uint32(i)] = uint32(len(rows))
			rows = append(rows, i)
		}
	}
	c.Unfinished = c.Unfinished && len(rows) > 0 && rows[len(rows)-1] == c.Len()-1
	c.EnterNS, c.ExitNS, c.Path, c.Count = pick(c.EnterNS, rows), pick(c.ExitNS, rows), pick(c.Path, rows), pick(c.Count, rows)

	var collectives []int
	x := &th.Collectives
	for i, call := range x.Call {
		if _, kept := row[call]; kept {
			collectives = append(collectives, i)
		}
	}
	x.Call, x.Comm, x.Ordinal = pick(x.Call, collectives), pick(x.Comm, collectives), pick(x.Ordinal, collectives)
	x.Sent, x.Received, x.Root = pick(x.Sent, collectives), pick(x.Received, collectives), pick(x.Root, collectives)
	for i, call := range x.Call {
		x.Call[i] = row[call]
	}

	var waits []int
	w := &th.Waits
	for i, call := range w.Call {
		if _, kept := row[call]; kept {
			waits = append(waits, i)
		}
	}
	w.Call, w.Kind, w.UntilNS, w.For = pick(w.Call, waits), pick(w.Kind, waits), pick(w.UntilNS, waits), pick(w.For, waits)
	for i, call := range w.Call {
		w.Call[i] = row[call]
	}

	var transfers []int
	f := &th.Transfers
	for i, call := range f.Call {
		if _, kept := row[call]; kept {
			transfers = append(transfers, i)
		}
	}
	f.Call, f.Kind, f.Peer, f.PeerWorld = pick(f.Call, transfers), pick(f.Kind, transfers), pick(f.Peer, transfers), pick(f.PeerWorld, transfers)
	f.Tag, f.Comm, f.Bytes, f.Done = pick(f.Tag, transfers), pick(f.Comm, transfers), pick(f.Bytes, transfers), pick(f.Done, transfers)
	for i, call := range f.Call {
		f.Call[i] = row[call]
		if done, kept := row[uint32(f.Done[i])]; f.Done[i] >= 0 && kept {
			f.Done[i] = int32(done)
		} else {
			f.Done[i] = -1
		}
	}
}

// Refine draws by which nodes of a refinement the bursts went, and of which kinds they and the clusters are.
func Refine(t *rapid.T, run *trace.Run) {
	run.Lineages = []string{"", "1", "0 2:1"}
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for range b.Len() {
			b.Lineage = append(b.Lineage, uint32(rapid.IntRange(0, len(run.Lineages)-1).Draw(t, "lineage")))
		}
	}
	if rapid.Bool().Draw(t, "by kinds") {
		kinds(t, run)
	}
}

func kinds(t *rapid.T, run *trace.Run) {
	for i := range run.Threads {
		b := &run.Threads[i].Bursts
		for k := range b.Len() {
			b.Kind = append(b.Kind, int32(rapid.IntRange(-3, len(run.Clusters)).Draw(t, "kind")))
			if b.Cluster[k] < trace.LabelNoise {
				b.Kind[k] = b.Cluster[k]
			}
		}
	}
	for i := range run.Clusters {
		c := &run.Clusters[i]
		c.Kinship = trace.Kinship{MedianNS: 1 + c.MeanNS, Core: .01, Predicted: -1, Valley: -1, KindBursts: 10 + i, KindNS: 9_000_000 * int64(i), DisturbedBursts: i, DisturbedNS: 7_000_000 * int64(i), ExtraNS: 3_000_000 * int64(i)}
		if i > 0 && rapid.Bool().Draw(t, "variant") {
			c.VariantOf, c.DistinctBy, c.DistinctFrom, c.Why, c.Valley = 1, "chance", 1, "variant of 1: predicted to 0 %", .125
			c.InTime = trace.Stretch{BeginNS: 0, EndNS: 1 + int64(i)}
		} else {
			c.Predicted = rapid.SampledFrom([]float64{-1, 0, .97}).Draw(t, "predicted")
		}
	}
}

func keepBursts(th *trace.Thread) {
	var rows []int
	b := &th.Bursts
	for i, start := range b.StartNS {
		if Within(th, start, start+b.DurationNS[i]) {
			rows = append(rows, i)
		}
	}
	b.StartNS, b.DurationNS, b.Cluster = pick(b.StartNS, rows), pick(b.DurationNS, rows), pick(b.Cluster, rows)
	b.Before, b.After, b.Phase, b.Weight = pick(b.Before, rows), pick(b.After, rows), pick(b.Phase, rows), pick(b.Weight, rows)
	b.Lineage, b.Kind = pick(b.Lineage, rows), pick(b.Kind, rows)
	for k := range b.Counters {
		b.Counters[k] = pick(b.Counters[k], rows)
	}
}
