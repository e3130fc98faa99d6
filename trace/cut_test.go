package trace_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"moriens/trace"
	"moriens/trace/tracetest"
)

// holds says by looking at all spans whether one has all of a time.
func holds(kept []trace.Span, beginNS, endNS int64) bool {
	return slices.ContainsFunc(kept, func(s trace.Span) bool { return s.BeginNS <= beginNS && endNS <= s.EndNS })
}

// What a cut holds is what lies in the spans, in the same order, with rows that name the same calls and phases as
// before.
func TestCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := tracetest.Completed(t, tracetest.Run(t))
		windows := []trace.Window{{Why: trace.Representative, Reason: "a test"}}
		kept := make([][]trace.Span, len(run.Threads))
		for i := range run.Threads {
			th := &run.Threads[i]
			addTransfers(t, th)
			at := th.BeginNS - 1
			for at <= th.EndNS && rapid.Bool().Draw(t, "span") {
				begin := rapid.Int64Range(at, th.EndNS+1).Draw(t, "begin")
				end := rapid.Int64Range(begin, th.EndNS+1).Draw(t, "end")
				kept[i] = append(kept[i], trace.Span{BeginNS: begin, EndNS: end})
				at = end + 1
			}
		}
		cut := run.Cut(windows, kept)
		if d := cmp.Diff(windows, cut.Windows); d != "" {
			t.Fatal(d)
		}
		for i := range run.Threads {
			compareCut(t, &run.Threads[i], &cut.Threads[i], kept[i])
		}
		var messages []trace.Message
		for _, m := range run.Messages {
			if holds(kept[m.From], m.SendNS, max(m.SendNS, m.PhysicalSendNS)) && holds(kept[m.To], m.RecvNS, max(m.RecvNS, m.PhysicalRecvNS)) {
				messages = append(messages, m)
			}
		}
		if d := cmp.Diff(messages, cut.Messages); d != "" {
			t.Fatal(d)
		}
	})
}

// A cut has the readings in its spans.
func TestCutReadings(t *testing.T) {
	run := &trace.Run{Counters: make([]trace.Counter, 2), Threads: []trace.Thread{{
		EndNS: 100, Readings: trace.Readings{TimeNS: []int64{1, 10, 10, 20, 21, 90}, Counters: [][]int64{{1, 2, 3, 4, 5, 6}, {7, 8, 9, 10, 11, trace.NoCount}}},
	}}}
	kept := [][]trace.Span{{{BeginNS: 10, EndNS: 20}, {BeginNS: 80, EndNS: 100}}}
	want := trace.Readings{TimeNS: []int64{10, 10, 20, 90}, Counters: [][]int64{{2, 3, 4, 6}, {8, 9, 10, trace.NoCount}}}
	if d := cmp.Diff(want, run.Cut(nil, kept).Threads[0].Readings); d != "" {
		t.Error(d)
	}
	if got := run.Cut(nil, [][]trace.Span{{{BeginNS: 30, EndNS: 40}}}).Threads[0].Readings; got.Len() != 0 || got.Counters != nil {
		t.Errorf("%+v", got)
	}
}

// addTransfers has calls of a thread post and complete transfers.
func addTransfers(t *rapid.T, th *trace.Thread) {
	x := &th.Transfers
	for call := range th.Calls.Len() {
		for rapid.IntRange(0, 2).Draw(t, "posts") > 0 {
			x.Call = append(x.Call, uint32(call))
			x.Done = append(x.Done, int32(rapid.IntRange(-1, th.Calls.Len()-1).Draw(t, "done")))
			x.Bytes, x.Kind = append(x.Bytes, int64(len(x.Bytes))), append(x.Kind, trace.Sent)
			x.Peer, x.Tag, x.Comm = append(x.Peer, 1), append(x.Tag, 2), append(x.Comm, -1)
		}
	}
}

func compareCut(t *rapid.T, whole, cut *trace.Thread, kept []trace.Span) {
	number := make(map[uint32]int32) // of kept calls
	calls := 0
	for i, enter := range whole.Calls.EnterNS {
		if !holds(kept, enter, whole.Calls.ExitNS[i]) {
			continue
		}
		if calls >= cut.Calls.Len() || cut.Calls.EnterNS[calls] != enter || cut.Calls.ExitNS[calls] != whole.Calls.ExitNS[i] || cut.Calls.Path[calls] != whole.Calls.Path[i] {
			t.Fatalf("call %d is not the cut's call %d", i, calls)
		}
		number[uint32(i)] = int32(calls)
		calls++
	}
	if calls != cut.Calls.Len() {
		t.Fatalf("%d calls, want %d", cut.Calls.Len(), calls)
	}
	if _, last := number[uint32(whole.Calls.Len()-1)]; cut.Calls.Unfinished != (whole.Calls.Unfinished && last) {
		t.Fatal("the unfinished call is not where it was")
	}
	bursts := 0
	for i, start := range whole.Bursts.StartNS {
		if !holds(kept, start, start+whole.Bursts.DurationNS[i]) {
			continue
		}
		b := &cut.Bursts
		if bursts >= b.Len() || b.StartNS[bursts] != start || b.DurationNS[bursts] != whole.Bursts.DurationNS[i] || b.Cluster[bursts] != whole.Bursts.Cluster[i] {
			t.Fatalf("burst %d is not the cut's burst %d", i, bursts)
		}
		for c := range b.Counters {
			if b.Counters[c][bursts] != whole.Bursts.Counters[c][i] {
				t.Fatalf("counter %d of burst %d", c, i)
			}
		}
		if whole.Bursts.Phase != nil && whole.Bursts.Phase[i] >= 0 {
			if was, is := whole.Phases[whole.Bursts.Phase[i]], cut.Phases[b.Phase[bursts]]; was != is {
				t.Fatalf("burst %d was in %+v, is in %+v", i, was, is)
			}
		}
		bursts++
	}
	if bursts != cut.Bursts.Len() {
		t.Fatalf("%d bursts, want %d", cut.Bursts.Len(), bursts)
	}
	waits := 0
	for i, call := range whole.Waits.Call {
		now, here := number[call]
		if !here {
			continue
		}
		x, w := &cut.Waits, &whole.Waits
		if waits >= x.Len() || x.Call[waits] != uint32(now) || x.Kind[waits] != w.Kind[i] || x.UntilNS[waits] != w.UntilNS[i] || x.For[waits] != w.For[i] {
			t.Fatalf("wait %d is not the cut's %d", i, waits)
		}
		waits++
	}
	if waits != cut.Waits.Len() {
		t.Fatalf("%d waits, want %d", cut.Waits.Len(), waits)
	}
	compareCutPath(t, whole, cut, kept)
	transfers := 0
	for i, call := range whole.Transfers.Call {
		now, here := number[call]
		if !here {
			continue
		}
		done, ended := number[uint32(max(whole.Transfers.Done[i], 0))]
		if !ended || whole.Transfers.Done[i] < 0 {
			done = -1
		}
		x := &cut.Transfers
		if x.Call[transfers] != uint32(now) || x.Done[transfers] != done || x.Bytes[transfers] != whole.Transfers.Bytes[i] || x.Peer[transfers] != whole.Transfers.Peer[i] {
			t.Fatalf("transfer %d is not the cut's %d", i, transfers)
		}
		transfers++
	}
	collectives := 0
	for i, call := range whole.Collectives.Call {
		now, here := number[call]
		if !here {
			continue
		}
		if x := &cut.Collectives; x.Call[collectives] != uint32(now) || x.Ordinal[collectives] != whole.Collectives.Ordinal[i] {
			t.Fatalf("collective %d is not the cut's %d", i, collectives)
		}
		if x := &cut.Collectives; x.Done != nil {
			done, ended := number[uint32(max(whole.Collectives.Done[i], 0))]
			if !ended || whole.Collectives.Done[i] < 0 {
				done = -1
			}
			if x.Done[collectives] != done || x.Instance[collectives] != whole.Collectives.Instance[i] {
				t.Fatalf("collective %d was completed by %d, start %d", i, x.Done[collectives], x.Instance[collectives])
			}
		} else if whole.Collectives.Done != nil {
			t.Fatal("which calls completed collectives is not known any more")
		}
		collectives++
	}
	if transfers != cut.Transfers.Len() || collectives != cut.Collectives.Len() {
		t.Fatalf("%d transfers, want %d; %d collectives, want %d", cut.Transfers.Len(), transfers, cut.Collectives.Len(), collectives)
	}
}

// compareCutPath checks at each time at which anything begins or ends whether the critical path of the cut is there:
// where that of the whole is, in a span. Its parts are apart.
func compareCutPath(t *rapid.T, whole, cut *trace.Thread, kept []trace.Span) {
	on := func(list []trace.Stretch, at int64) bool {
		return slices.ContainsFunc(list, func(s trace.Stretch) bool { return s.BeginNS <= at && at < s.EndNS })
	}
	var times []int64
	for _, s := range slices.Concat(whole.Critical, cut.Critical) {
		times = append(times, s.BeginNS, s.EndNS)
	}
	for _, s := range kept {
		times = append(times, s.BeginNS, s.EndNS)
	}
	for _, at := range times {
		in := slices.ContainsFunc(kept, func(s trace.Span) bool { return s.BeginNS <= at && at < s.EndNS })
		if got, want := on(cut.Critical, at), in && on(whole.Critical, at); got != want {
			t.Fatalf("at %d ns the path is on the cut thread: %t, want %t", at, got, want)
		}
	}
	for i, s := range cut.Critical {
		if s.EndNS <= s.BeginNS || i > 0 && s.BeginNS <= cut.Critical[i-1].EndNS {
			t.Fatalf("parts %v of the path", cut.Critical)
		}
	}
}
