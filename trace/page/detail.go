package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"moriens/internal/units"
	"moriens/trace"
	"moriens/trace/pack"
	"moriens/trace/rundir"
)

// chosen is the time of each thread, by begin, of which a page has every call and burst.
type chosen map[rundir.ThreadName][]trace.Span

// in is the span of a thread that has all of a time.
func in(spans []trace.Span, beginNS, endNS int64) (s trace.Span, ok bool) {
	i := sort.Search(len(spans), func(i int) bool { return spans[i].EndNS >= endNS })
	if i == len(spans) || spans[i].BeginNS > beginNS {
		return s, false
	}
	return spans[i], true
}

// windowPoints is the part of the points that bursts of windows may take: the rest of the run is to be seen too.
const windowPoints = .75

// An amount is how much detail there is, or may be.
type amount struct{ calls, bursts int }

// add adds what a thread has from one time to another.
func (a *amount) add(t *trace.Thread, beginNS, endNS int64) {
	a.calls += countWithin(t.Calls.EnterNS, beginNS, endNS)
	a.bursts += countWithin(t.Bursts.StartNS, beginNS, endNS)
}

// fits reports whether there is no more than there may be. In traces of others there are bursts without calls.
func (a amount) fits(most amount) bool { return a.calls <= most.calls && a.bursts <= most.bursts }

// most is how much detail a page may hold.
func (b *builder) most() amount {
	return amount{b.limits.Calls, int(float64(b.limits.Points) * windowPoints)}
}

// chooseDetail takes as many windows as there is room for, those that stand for the run first, each whole; of a run
// that is kept whole its beginning.
func (b *builder) chooseDetail() chosen {
	run := b.source.Detail
	if run == nil {
		return nil
	}
	if run.Windows == nil {
		return b.chooseBeginning(run)
	}
	order := make([]int, len(run.Windows))
	has := make([]amount, len(run.Windows))
	for i := range order {
		order[i] = i
	}
	for i := range run.Threads {
		t := &run.Threads[i]
		for _, s := range t.Kept {
			has[s.Window].add(t, s.BeginNS, s.EndNS)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(run.Windows[a].Why, run.Windows[b].Why) })
	left := b.most()
	taken := make([]bool, len(order))
	out := 0
	for _, w := range order {
		if taken[w] = has[w].fits(left); taken[w] {
			left.calls -= has[w].calls
			left.bursts -= has[w].bursts
		} else {
			out++
		}
	}
	if out > 0 {
		b.leftOut("Calls are shown for %s of %s kept windows; the others are in the run directory.", units.Integer(len(order)-out), units.Integer(len(order)))
	}
	c := make(chosen)
	for i := range run.Threads {
		t := &run.Threads[i]
		for _, s := range t.Kept {
			if taken[s.Window] {
				c[rundir.NameOf(t)] = append(c[rundir.NameOf(t)], s)
			}
		}
	}
	return c
}

// chooseBeginning takes the time from the run's begin in which there are no more calls and bursts than there is room
// for.
func (b *builder) chooseBeginning(run *trace.Run) chosen {
	fits := func(endNS int64) bool {
		var has amount
		for i := range run.Threads {
			has.add(&run.Threads[i], math.MinInt64, endNS)
		}
		return has.fits(b.most())
	}
	end := int64(math.MaxInt64)
	if !fits(end) {
		// The greatest end that is not too late, to a millionth of the run.
		step := run.DurationNS/1e6 + 1
		steps := sort.Search(1e6+1, func(k int) bool { return !fits(int64(k) * step) })
		end = int64(steps-1) * step
		b.leftOut("Calls are shown for the first %.6g s of the run; the rest is in the run directory.", float64(max(end, 0))/1e9)
	}
	c := make(chosen)
	for i := range run.Threads {
		c[rundir.NameOf(&run.Threads[i])] = []trace.Span{{BeginNS: math.MinInt64, EndNS: end, Window: -1}}
	}
	return c
}

// countWithin is how many of ascending times lie from one to another.
func countWithin(ns []int64, beginNS, endNS int64) int {
	first, _ := slices.BinarySearch(ns, beginNS)
	return max(0, sort.Search(len(ns), func(i int) bool { return ns[i] > endNS })-first)
}

func (b *builder) leftOut(format string, values ...any) {
	b.doc.Detail.LeftOut = strings.TrimSpace(b.doc.Detail.LeftOut + " " + fmt.Sprintf(format, values...))
}

func (b *builder) addCalls(c chosen) {
	var thread, function, path []int32
	var enter, exit []float64
	var waits waits
	if run := b.source.Detail; run != nil {
		numbers, paths := b.numbersOf(run), b.pathsOf(run)
		functions := b.functionsOf(run)
		for i := range run.Threads {
			t := &run.Threads[i]
			spans := c[rundir.NameOf(t)]
			for k, ns := range t.Calls.EnterNS {
				if _, here := in(spans, ns, t.Calls.ExitNS[k]); !here {
					continue
				}
				thread, enter, exit = append(thread, numbers[i]), append(enter, float64(ns)), append(exit, float64(t.Calls.ExitNS[k]))
				function, path = append(function, functions[t.Calls.Path[k]]), append(path, paths[t.Calls.Path[k]])
				if w, waited := slices.BinarySearch(t.Waits.Call, uint32(k)); waited {
					waits.add(len(thread)-1, t, w, numbers)
				}
			}
		}
	}
	b.doc.Detail.Calls = len(thread)
	pack.Add(&b.columns, "calls.thread", thread)
	pack.Add(&b.columns, "calls.enter_ns", enter)
	pack.Add(&b.columns, "calls.exit_ns", exit)
	pack.Add(&b.columns, "calls.function", function)
	pack.Add(&b.columns, "calls.path", path)
	b.addWaits(&waits)
}

// functionsOf numbers the functions of a run's call paths; -1 where there is none.
func (b *builder) functionsOf(run *trace.Run) []int32 {
	known := make(map[string]int32)
	numbers := make([]int32, len(run.CallPaths))
	for i, p := range run.CallPaths {
		n, there := known[p.Function]
		switch {
		case p.Function == "":
			n = -1
		case !there:
			n = int32(len(b.doc.Functions))
			known[p.Function] = n
			b.doc.Functions = append(b.doc.Functions, p.Function)
		}
		numbers[i] = n
	}
	return numbers
}

func (b *builder) addMessages(c chosen) {
	var from, to, tag []int32
	var sent, received, bytes []float64
	if run := b.source.Detail; run != nil {
		numbers := b.numbersOf(run)
		out := 0
		for _, m := range run.Messages {
			_, left := in(c[rundir.NameOf(&run.Threads[m.From])], m.SendNS, m.SendNS)
			_, arrived := in(c[rundir.NameOf(&run.Threads[m.To])], m.RecvNS, m.PhysicalRecvNS)
			if !left || !arrived {
				continue
			}
			if len(from) == b.limits.Messages {
				out++
				continue
			}
			from, to, tag = append(from, numbers[m.From]), append(to, numbers[m.To]), append(tag, int32(min(max(m.Tag, math.MinInt32), math.MaxInt32)))
			sent, received, bytes = append(sent, float64(m.SendNS)), append(received, float64(m.PhysicalRecvNS)), append(bytes, float64(m.Bytes))
		}
		if out > 0 {
			b.leftOut("Left out: the latest %s %s.", units.Integer(out), units.Plural(out, "message"))
		}
	}
	b.doc.Detail.Messages = len(from)
	pack.Add(&b.columns, "messages.from", from)
	pack.Add(&b.columns, "messages.to", to)
	pack.Add(&b.columns, "messages.sent_ns", sent)
	pack.Add(&b.columns, "messages.received_ns", received)
	pack.Add(&b.columns, "messages.bytes", bytes)
	pack.Add(&b.columns, "messages.tag", tag)
}
