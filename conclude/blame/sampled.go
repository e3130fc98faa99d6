package blame

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"moriens/analysis/waits"
	"moriens/internal/team"
	"moriens/trace"
)

var errNoSample = errors.New("no messages are known by chance")

// Sample is collective: of a run of which some messages are known, by chance, it finds the waits of calls in compared
// windows, and of those that completed what was sent and received there. A wait in messages counts as often as its
// message stands for others, so that sums are estimates for the run. Waits at collectives are those of the whole run;
// what reaches back to before a window is not explained. Rows are those of the run; each member has the waits of its
// own threads. nil where clocks do not agree well enough: why says so.
func (b *Blame) Sample(run *trace.Run, owners team.Threads) (found *waits.Result, why string, err error) {
	if run.Traffic == nil || run.Traffic.Sample == nil || len(run.Traffic.Sample) != len(run.Messages) {
		return nil, "", errNoSample
	}
	part := *run
	part.Messages = nil
	rows := make([][]uint32, len(run.Threads))
	spans := b.spans(run, owners)
	for i := range rows {
		rows[i] = run.Threads[i].CallsIn(spans[i])
	}
	cut := part.Cut([]trace.Window{}, spans)
	cut.Messages = make([]trace.Message, 0, len(run.Messages))
	halved := make([]uint8, 0, len(run.Messages))
	for i, x := range run.Traffic.Sample {
		if n, known := x.Halved(); known {
			cut.Messages, halved = append(cut.Messages, run.Messages[i]), append(halved, n)
		}
	}
	o := b.options
	o.MovedNS, o.Phases, o.Main = 0, nil, waits.Span{EndNS: run.DurationNS}
	in := inputOf(cut, o, true)
	in.Known = true
	message := in.Message
	in.Message = func(i int) waits.Message {
		m := message(i)
		m.Halved = halved[i]
		return m
	}
	for i := range rows {
		row := 0
		for _, w := range b.Waits[i] {
			for row < len(rows[i]) && int32(rows[i][row]) < w.Row {
				row++
			}
			if row < len(rows[i]) && int32(rows[i][row]) == w.Row {
				w.Row = int32(row)
				in.Threads[i].Known = append(in.Threads[i].Known, w)
			}
		}
	}
	lanes, err := waits.Local(in, owners)
	if err = team.Explain(owners, err); err != nil {
		return nil, "", fmt.Errorf("waits of compared windows: %w", err)
	}
	if err = lanes.Merge(owners); err != nil {
		return nil, "", fmt.Errorf("waits of compared windows: %w", err)
	}
	found, err = team.First(owners, func() (*waits.Result, error) { return lanes.Solve(), nil })
	if err != nil {
		return nil, "", err
	}
	doubts := &Blame{Result: found, options: o, locations: b.locations, elapsedNS: b.elapsedNS}
	if doubts.givenUp() {
		return nil, doubts.disagreement(), nil
	}
	for i, list := range found.Waits {
		if !owners.Mine(i) {
			found.Waits[i] = nil
			continue
		}
		for k := range list {
			list[k].Row = int32(rows[i][list[k].Row])
		}
	}
	return found, "", nil
}

// spans are, by thread that is here, the time of its calls in compared windows, and of those elsewhere that completed
// messages of these.
func (b *Blame) spans(run *trace.Run, owners team.Threads) [][]trace.Span {
	spans, elsewhere := make([][]trace.Span, len(run.Threads)), make([][]trace.Span, len(run.Threads))
	for i := range run.Threads {
		if owners.Mine(i) && i < len(run.Traffic.Compared) {
			for _, x := range run.Traffic.Compared[i] {
				spans[i] = append(spans[i], trace.Span{BeginNS: x.BeginNS, EndNS: x.EndNS})
			}
		}
	}
	add := func(thread, row int) {
		c := &run.Threads[thread].Calls
		s := trace.Span{BeginNS: c.EnterNS[row], EndNS: c.ExitNS[row]}
		if k := after(spans[thread], s.BeginNS); k == 0 || spans[thread][k-1].EndNS < s.EndNS {
			elsewhere[thread] = append(elsewhere[thread], s)
		}
	}
	sent := SentRows(run)
	for i := range run.Messages {
		m := &run.Messages[i]
		if owners.Mine(m.From) && sent[i] >= 0 {
			add(m.From, int(sent[i]))
		}
		if owners.Mine(m.To) {
			if thread, row := run.Completing(m); row >= 0 {
				add(thread, row)
			}
		}
	}
	for i, list := range elsewhere {
		spans[i] = append(spans[i], list...)
		slices.SortFunc(spans[i], func(a, b trace.Span) int {
			return cmp.Or(cmp.Compare(a.BeginNS, b.BeginNS), cmp.Compare(a.EndNS, b.EndNS))
		})
		spans[i] = slices.Compact(spans[i])
	}
	return spans
}

// after is how many spans, by begin, begin at a time or before.
func after(spans []trace.Span, ns int64) int {
	k, _ := slices.BinarySearchFunc(spans, ns+1, func(s trace.Span, ns int64) int { return cmp.Compare(s.BeginNS, ns) })
	return k
}
