package page

import (
	"cmp"
	"slices"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/pack"
	"moriens/trace/rundir"
)

// waits are those of a page's calls.
type waits struct {
	call, whom []int32
	kind       []uint8
	ns         []float64
}

// add adds a wait of a thread; numbers are those of the run's threads.
func (w *waits) add(call int, t *trace.Thread, row int, numbers []int32) {
	of := &t.Waits
	w.call, w.whom = append(w.call, int32(call)), append(w.whom, numbers[of.For[row]])
	w.kind, w.ns = append(w.kind, uint8(of.Kind[row])), append(w.ns, float64(of.UntilNS[row]-t.Calls.EnterNS[of.Call[row]]))
}

func (b *builder) addWaits(w *waits) {
	if b.doc.Detail.Waits = len(w.call); len(w.call) == 0 {
		return
	}
	pack.Add(&b.columns, "waits.call", w.call)
	pack.Add(&b.columns, "waits.kind", w.kind)
	pack.Add(&b.columns, "waits.ns", w.ns)
	pack.Add(&b.columns, "waits.for", w.whom)
}

// A leg is a part of the critical path: a thread has it for a time.
type leg struct {
	thread         int32
	beginNS, endNS int64
}

// addCritical takes the critical path of the run. If it has more legs than there is room for, it takes those of the
// time of which calls are here.
func (b *builder) addCritical(c chosen) {
	run := b.source.Detail
	if run == nil {
		return
	}
	legs := b.legs(run, func(*trace.Thread) []trace.Span { return nil })
	if len(legs) > b.limits.Critical {
		legs = b.legs(run, func(t *trace.Thread) []trace.Span { return append([]trace.Span{}, c[rundir.NameOf(t)]...) })
		b.leftOut("The critical path is exact where calls are.")
	}
	if out := len(legs) - b.limits.Critical; out > 0 {
		legs = legs[:b.limits.Critical]
		b.leftOut("Left out: the latest %s %s of it.", units.Integer(out), units.Plural(out, "part"))
	}
	if b.doc.Detail.Critical = len(legs); len(legs) == 0 {
		return
	}
	thread := make([]int32, len(legs))
	begin, length := make([]float64, len(legs)), make([]float64, len(legs))
	for i, l := range legs {
		thread[i], begin[i], length[i] = l.thread, float64(l.beginNS), float64(l.endNS-l.beginNS)
	}
	pack.Add(&b.columns, "critical.thread", thread)
	pack.Add(&b.columns, "critical.begin_ns", begin)
	pack.Add(&b.columns, "critical.ns", length)
}

// legs are the parts of the critical path, by time, within the spans of each thread; nil: all of its time.
func (b *builder) legs(run *trace.Run, within func(*trace.Thread) []trace.Span) []leg {
	numbers := b.numbersOf(run)
	var legs []leg
	for i := range run.Threads {
		t := &run.Threads[i]
		spans := within(t)
		whole := spans == nil
		for _, s := range t.Critical {
			if whole {
				legs = append(legs, leg{numbers[i], s.BeginNS, s.EndNS})
			}
			for len(spans) > 0 && spans[0].EndNS <= s.BeginNS {
				spans = spans[1:]
			}
			for _, k := range spans {
				if k.BeginNS >= s.EndNS {
					break
				}
				legs = append(legs, leg{numbers[i], max(s.BeginNS, k.BeginNS), min(s.EndNS, k.EndNS)})
			}
		}
	}
	slices.SortFunc(legs, func(a, b leg) int {
		return cmp.Or(cmp.Compare(a.beginNS, b.beginNS), cmp.Compare(a.endNS, b.endNS), cmp.Compare(a.thread, b.thread))
	})
	return legs
}
